"""The part of a full_code file that is of one function: the dispatcher, the compiled code with
its guards, the original.
"""

import textwrap
from typing import Dict, FrozenSet, List

from depyf import legend
from depyf.function_source import identifier
from depyf.model import Entry, Function, told_apart
from depyf.report import words
from depyf.torch.fullcode.code import FileNames, original_text, transformed_text
from depyf.torch.fullcode.conditions import (
    Guards,
    guard_function,
    in_common,
    shared_function,
)
from depyf.torch.fullcode.linking import managers
from depyf.torch.fullcode.rows import INDENT, WIDTH, call_on_rows, docstring_rows, in_comment
from depyf.torch.fullcode.signature import Signature
from depyf.trace.names import safe_name


def _key(function: Function) -> str:
    return function.global_name or safe_name(function.name)


def _shown_name(function: Function) -> str:
    return function.global_name or identifier(safe_name(function.name))


def _guard_name(entry: Entry, key: str) -> str:
    return "__guard_%d_for_%s" % (entry.index, key)


def _dispatcher(
    function: Function,
    signature: Signature,
    entries: List[Entry],
    original_name: str,
    resets: Dict[int, str],
    whys: Dict[str, str],
) -> List[str]:
    """The rows of a function that tries the compiled entries in order, and then runs the original.

    Args:
        signature: its own.
        entries: in the order in which torch tries them.
        original_name: the name of the original function in the file.
        resets: of entries, by their ids, before or after which torch._dynamo.reset() they are.
        whys: by compile id, why a compile came to nothing.
    """
    key = _key(function)
    text_of_guards = "\n".join(
        [guard.expression or guard.text for entry in entries for guard in entry.guards]
    )
    frame_name = "L" if "L" not in signature.parameters + signature.free else "___frame_locals"
    width = WIDTH - 4 * bool(signature.free)  # it then stands inside of another function
    rows = call_on_rows("def " + _shown_name(function), signature.header, ":", width)
    rows += docstring_rows(_purpose(function, entries))
    kept = signature.frame_locals(text_of_guards)
    rows += call_on_rows("    %s = " % frame_name, kept, "", width, "{}")
    gone = function.given_up
    if gone:
        said = words.from_then_on(gone, len(entries)) + whys.get(gone["compile_id"], "")
        said = in_comment(said)
        rows += ["    # " + line for line in legend.rows(said, width - 6)]
    for entry in entries:
        if gone and gone["why"] != "recompile limit":
            said = "%s: compile %s, which torch no longer tries"
            said %= entry.name, in_comment(entry.compile_id)
            rows += ["    # " + line for line in legend.rows(said, width - 6)]
            continue
        if entry.dropped:
            said = "compile %s%s: torch has dropped this entry and does not try it: %s"
            said %= in_comment(entry.compile_id), resets.get(id(entry), ""), entry.name
            rows += ["    # " + line for line in legend.rows(said, width - 6)]
            continue
        if entry._unfinished:
            said = "compile %s (%s): %s"
            said %= in_comment(entry.compile_id), entry.name, words.UNFINISHED
            rows += ["    # " + line for line in legend.rows(said, width - 6)]
            continue
        if entry.invalidated:
            rows.append(
                "    # compile %s: torch has invalidated this entry and does not try it"
                % in_comment(entry.compile_id)
            )
            continue
        graph = "graph %s" % entry.graph_name if entry.graph_name else "no graph"
        told = in_comment(entry.compile_id), graph
        holds = "%s(%s)" % (_guard_name(entry, key), frame_name)
        rows.append("    if %s:  # compile %s, %s" % ((holds,) + told))
        rows += call_on_rows("        return " + entry.name, signature.call, "", width)
    said = "  # " + ("plain Python" if gone or not entries else "torch would compile again here")
    return rows + call_on_rows("    return " + original_name, signature.call, said, width)


def _in_factory(function: Function, signature: Signature, parts: List[str]) -> str:
    """Functions with free variables, inside one that has these as parameters."""
    factory = "__closure_of_%s" % _key(function)
    shown = _shown_name(function)
    body = "\n\n".join(
        textwrap.indent(part, INDENT, lambda line: bool(line.strip())) for part in parts
    )
    share = "%s with its free variables, which the functions in here share."
    head = call_on_rows("def " + factory, signature.free, ":", WIDTH)
    text = "\n".join(head + docstring_rows(share % in_comment(function.name))) + "\n\n"
    text += body + "\n    return %s\n" % shown
    if function.is_resume and function._installed_as == "factory":
        text += "\n\ndef %s(cells):\n    return __with_cells(%s, cells)\n" % (shown, factory)
    return text


def section_of(
    function: Function,
    known: FrozenSet[str],
    prefix: str,
    names: FileNames,
    called_as: List[str],
    told_of: Dict[int, List[str]],
    apart: str,
    resets: Dict[int, str],
    whys: Dict[str, str],
) -> str:
    signature = Signature(function)
    key = _key(function)
    entries: List[Entry] = function._order or list(function.entries)
    original_name = "__original_code_for%s%s" % ("" if key.startswith("__") else "_", key)
    width = WIDTH - 4 * bool(signature.free)  # it then stands inside of another function
    guards: List[str] = []
    parts: List[str] = []
    every = [Guards(entry, known, names.states) for entry in entries]
    common, shared = in_common(every), "__guards_of_all_for_%s" % key
    if common:
        first = next(one for one in every if one.asked)
        (guards if signature.free else parts).append(shared_function(shared, first, common))
    for entry, asked in zip(entries, every):
        token = "%s/%s" % (prefix, entry.name)
        managers[token] = entry._guard_manager
        guard = guard_function(_guard_name(entry, key), entry, asked, token, common, shared)
        why = "".join(legend.wrapped(in_comment(one), width) for one in told_of.get(id(entry), ()))
        # guards ask for nothing that a factory holds
        (guards if signature.free else parts).append(guard)
        parts.append(why + transformed_text(entry, signature, token, names))
    dispatcher = _dispatcher(function, signature, entries, original_name, resets, whys)
    parts.insert(0, "\n".join(dispatcher) + "\n")
    parts.append(
        original_text(function, original_name, signature, "%s/%s" % (prefix, original_name))
    )

    title = legend.wrapped("---- %s " % in_comment(told_apart(function.title, apart)) + "-" * 4)
    title = title[:-1] + "-" * (WIDTH - len(title[title.rfind("# ----") :]) + 1) + "\n"
    where = legend.wrapped(in_comment(function.where))
    if called_as:
        where += legend.wrapped("called as " + ", ".join(called_as))
    if signature.free:
        parts = [_in_factory(function, signature, parts)] + guards
    return title + where + "\n\n" + "\n\n".join(parts)


def _purpose(function: Function, entries: List[Entry]) -> str:
    count = sum(1 for one in entries if not one.dropped and not one._unfinished)
    if any(one._unfinished for one in entries) and not count:
        return "Has no compiled entry whose guards are known, and runs the original."
    if entries and not count:
        return "Like torch: has no compiled entry any more, and runs the original."
    given_up = function.given_up and function.given_up["why"] != "recompile limit"
    if given_up or not count:
        return "Like torch: runs the original function."
    tried = (
        "the one compiled entry" if count == 1 else "%d compiled entries in torch's order" % count
    )
    return (
        "Like torch: tries %s. Where the guards of none hold, torch compiles the function again; "
        "this file runs the original there." % tried
    )
