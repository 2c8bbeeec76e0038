"""The code of a function: its original, and what torch made of it."""

import ast
import re
import textwrap
import types
from typing import Any, Dict, List, Tuple

from depyf import legend
from depyf.compiling import compile_text, parse
from depyf.decompiler import decompile_with_constants
from depyf.interrupts import pass_on
from depyf.model import Constants, Entry, Function, LiveObject
from depyf.plain import name_of
from depyf.torch.codes import known_constants
from depyf.torch.fullcode.conditions import States
from depyf.torch.fullcode.linking import holders
from depyf.torch.fullcode.rows import INDENT, WIDTH, call_on_rows, in_comment
from depyf.torch.fullcode.signature import Signature
from depyf.torch.fullcode.source import function_in, function_text, printed_function
from depyf.trace.names import safe_name


def _fits(node: Any, text: str, code: types.CodeType, name: str) -> bool:
    # the user's own text is shown when it means the same here: no defaults to evaluate, no mangled
    # names, same variables
    if any(
        not isinstance(value, ast.Constant)
        for value in node.args.defaults + [one for one in node.args.kw_defaults if one]
    ):
        return False
    free = list(code.co_freevars)
    header = "def __outer(%s):\n" % ", ".join(free)
    module = compile_text(
        header + textwrap.indent(text, INDENT) + "    return %s\n" % name,
        "<original>",
        to_run=False,
    )
    outer = next(const for const in module.co_consts if type(const) is types.CodeType)
    found = next(
        (
            const
            for const in outer.co_consts
            if type(const) is types.CodeType and name_of(const) == name
        ),
        None,
    )
    return (
        found is not None
        and set(found.co_names) == set(code.co_names)
        and found.co_varnames == code.co_varnames
        and set(found.co_freevars) == set(code.co_freevars)
    )


def original_text(function: Function, name: str, signature: Signature, token: str) -> str:
    code, constants = function.code, function._constants
    text = (
        function_text(function.source, safe_name(function.name), name) if function.source else None
    )
    if function.source_origin == "file":
        try:
            node = function_in(function.source, safe_name(function.name))[0]
            if text is not None and (code is None or _fits(node, text, code, name)):
                return text
        except (SyntaxError, ValueError, StopIteration, RecursionError):
            pass_on()
        text, constants = None, {}
        if code is not None:
            try:
                decompiled, objects = decompile_with_constants(code)
                text, constants = function_text(decompiled, None, name), known_constants(objects)
            except Exception:
                pass_on()
                text = None
    if text is not None:
        whole = "def %s(%s):" % (name, ", ".join(signature.header))
        width = WIDTH - 4 * bool(signature.free)
        if len(whole) > width:
            text = text.replace(
                whole, "\n".join(call_on_rows("def " + name, signature.header, ":", width)), 1
            )
        told = _of_torchs_beginning(text, width) if function.is_resume else ""
        return told + _with_constants(text, constants, (function._code, LiveObject()), token)
    reason = "the original function has no source here"
    shown = "".join("%s# %s\n" % (INDENT, line) for line in function.source.splitlines())
    return "def %s(%s):\n%s%sraise NotImplementedError(%r)\n" % (
        name,
        ", ".join(signature.header),
        shown,
        INDENT,
        reason,
    )


_NONLOCAL = re.compile(r"(?m)^ *nonlocal (.+)$")


def _of_torchs_beginning(source: str, width: int) -> str:
    """Comment lines on what torch put into a resume function, which no program has."""
    told = []
    if "__is_tracing_resume_prologue" in source:
        told.append(
            "`__is_tracing_resume_prologue` is torch's own mark: while it is True, torch puts back "
            "what the graph break handed over, such as a `with` that was entered."
        )
    if "raise None" in source and re.search(r"(?m)^ *raise None$", source):
        told.append("`raise None` is torch's text for a place that nothing reaches.")
    for names in _NONLOCAL.findall(source) if "nonlocal" in source else ():
        unused = [one for one in names.split(", ") if len(re.findall(r"\b%s\b" % one, source)) == 1]
        if unused:
            told.append(
                "`nonlocal` keeps a free variable that the rest does not use, as torch's code does."
            )
    return "".join(legend.wrapped(one, width) for one in told)


def _with_constants(
    text: str, constants: Constants, held_by: Tuple[LiveObject, LiveObject], token: str
) -> str:
    """The text of a function with the objects that the bytecode holds as its first statements."""
    words = set(re.findall(r"\w+", text)) if constants else set()
    names = [name for name in constants if name in words]
    if not names:
        return text
    holders[token] = held_by + ({name: constants[name][1] for name in names},)
    first = parse(text).body[0].body[0]  # type: ignore[attr-defined]
    lines = text.split("\n")
    rows: List[str] = []
    for name in names:
        head, known = "%s%s = " % (" " * first.col_offset, name), constants[name][0]
        asked = call_on_rows(head + "__constant", [repr(token), repr(name)], "", WIDTH - 4)
        rows += [head + known] if known else asked
    lines[first.lineno - 1 : first.lineno - 1] = rows
    return "\n".join(lines)


class FileNames:
    """The names of one file for globals that torch named.

    Those that two entries use for two things are told apart.
    """

    def __init__(self) -> None:
        self.real: Dict[str, str] = {}
        self.states = States()

    def apply(self, text: str, names: Dict[str, str]) -> str:
        """`text` with names of this file in place of an entry's own."""
        changed = {}
        for given, real in names.items():
            name, number = given, 1
            while self.real.get(name, real) != real:
                name, number = "%s_%d" % (given, number), number + 1
            self.real[name] = real
            if name != given:
                changed[given] = name
        if not changed:
            return text
        pattern = r"(?<![.\w'\"])(%s)(?![\w'\"])" % "|".join(map(re.escape, changed))
        return re.sub(pattern, lambda match: changed[match.group(1)], text)


def transformed_text(entry: Entry, signature: Signature, token: str, names: FileNames) -> str:
    text = printed_function(entry.source, entry.name) if entry.source else None
    if text is not None:
        text = names.apply(text, entry.names)
    if text is not None and entry.verdict in ("exact", "equivalent"):
        return _with_constants(text, entry._constants, (entry._code, entry._torch_code), token)
    lines = call_on_rows("def " + entry.name, signature.header, ":", WIDTH)
    lines.append(
        "%s# torch runs its own bytecode here: %s. %s"
        % (INDENT, entry.verdict, in_comment(entry.detail))
    )
    if entry.source:
        lines.append("%s# The decompiled code, which is not proven to do the same:" % INDENT)
        lines += ["%s#   %s" % (INDENT, line) for line in entry.source.splitlines()]
    lines += ["%s#   %s" % (INDENT, line) for line in entry.transformed_bytecode.splitlines()]
    lines.append(
        "%sraise NotImplementedError(%r)" % (INDENT, "%s has no proven source" % entry.name)
    )
    return "\n".join(lines) + "\n"
