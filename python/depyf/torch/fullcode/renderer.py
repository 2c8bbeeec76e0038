"""A full_code file as a whole: its head, a section for each function, what the code uses."""

import itertools
import re
import types
from typing import Dict, FrozenSet, List, Optional, Sequence, Set

from depyf import legend
from depyf.decompiler import decompile_with_constants
from depyf.interrupts import pass_on
from depyf.model import Entry, Function, Rest, Run
from depyf.plain import file_of, name_of
from depyf.report import words
from depyf.report.overview import Node
from depyf.torch.codes import known_constants, signature_of
from depyf.torch.fullcode.code import FileNames
from depyf.torch.fullcode.conditions import known_names
from depyf.torch.fullcode.linking import forget_gone
from depyf.torch.fullcode.reasons import (
    breaks_in_words,
    nodes_by_entry,
    reached_from,
    reasons_in_words,
    reasons_of_failures,
)
from depyf.torch.fullcode.rows import (
    WIDTH,
    call_on_rows,
    in_comment,
    in_docstring,
    on_lines,
    on_rows,
)
from depyf.torch.fullcode.section import section_of
from depyf.torch.fullcode.source import function_in
from depyf.trace import guard_text

#: numbers of files, with which the tokens in them begin
_tokens = itertools.count()


def _first_rows(function: Function) -> List[str]:
    """The first sentence of a file, on two rows where it is too wide for one."""
    said = '"""What torch.compile made of %s' % in_docstring(function.title)
    where = "(%s), as Python." % in_docstring(function.where)
    if len(said) + len(where) < WIDTH:
        return [said + " " + where]
    return [said, *([where] if len(where) <= WIDTH else where.rsplit(" ", 2)[:1] + ["as Python."])]


class Renderer:
    """Writes the full_code files of one run; what they have in common is computed once.

    Args:
        run: the run.
        nodes: what `nodes_by_entry` gives for it, where that is known.
    """

    def __init__(self, run: Run, nodes: Optional[Dict[int, Node]] = None) -> None:
        # a program that compiled nothing need not have loaded Dynamo
        self._known: FrozenSet[str] = known_names() if run.functions else frozenset()
        self._by_name: Dict[str, List[Function]] = {}
        for candidate in run.functions:
            if candidate.global_name is not None:
                self._by_name.setdefault(candidate.global_name, []).append(candidate)
        self._names = run.resume_names()
        self._ended_well = not run.error
        if nodes is None:
            nodes = nodes_by_entry(run)
        self._nodes = nodes
        # of each resume function, by its first global, the first compile of a frame of it
        self._resuming: Dict[str, Node] = {}
        for of_frame in nodes.values():
            if of_frame.entry.get("resumes"):
                self._resuming.setdefault(of_frame.entry["resumes"], of_frame)
        self._told: Dict[int, List[str]] = {}
        self._resets = {one: ", " + node.reset for one, node in nodes.items() if node.reset}
        owners = {id(entry): one for one in run.functions for entry in one.entries}
        for entry in run.entries():
            node = nodes.get(id(entry))
            told = ["compiled again because: " + one for one in reasons_in_words(entry, node)]
            for one, why in zip(entry.breaks, breaks_in_words(entry, node)):
                reached = reached_from(one, owners.get(id(entry)), entry)
                told.append("graph break at %s%s: %s" % (one.location or "?", reached, why))
            if entry.runs_on:
                told.append("not compiled: " + words.runs_on_from(entry.runs_on))
            self._told[id(entry)] = told
        compiled = {one.global_name for one in run.functions}
        self._whys = reasons_of_failures(list(nodes.values()))
        #: resume functions for which torch made no code, by their first global
        self._given_up = {
            entry.resumes: words.given_up(entry.to_json())
            for entry in run.unattributed
            if entry.resumes and entry.resumes not in compiled
        }
        self._running = {
            one.resumes for one in run.unattributed if one.detail == words.RUNNING and one.resumes
        }
        forget_gone()

    def called_functions(self, function: Function) -> List[Function]:
        """The function and the resume functions that are reached from it, each once, top down."""
        found: List[Function] = []
        seen: Set[int] = set()
        work = [function]
        while work:
            current = work.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            found.append(current)
            called: List[Function] = []
            for entry in current.entries:
                for name in entry.called():
                    called.extend(self._by_name.get(name, ()))
            work.extend(reversed(called))
        return found

    def _apart(self, function: Function) -> str:
        """What tells it from another resume function of the same line."""
        node = self._nodes.get(id(function.entries[0])) if function.entries else None
        if node is None and function.global_name:  # torch made no code of it
            node = self._resuming.get(function.global_name)
        return node.apart if node is not None else ""

    def _uncompiled(
        self, functions: Sequence[Function], codes: Dict[str, str]
    ) -> Dict[str, Function]:
        """The resume functions that the code of `functions` calls and of which torch made no code,
        as functions that have no compile: by the first global that holds their code.
        """
        found: Dict[str, Function] = {}
        for function in functions:
            for entry in function.entries:
                for rest in entry._rests:
                    name, code = codes.get(rest.name, ""), rest._code.get()
                    if not name or name in found or name in self._by_name or code is None:
                        continue
                    found[name] = _plain(function, entry, rest, name, code)
                    found[name].given_up = self._given_up.get(name) or {}
        return found

    def render(self, function: Function) -> str:
        """The text of full_code_for_<function>: valid Python, top down.

        The resume functions that its code calls come after it.
        """
        prefix = "%d" % next(_tokens)
        functions = self.called_functions(function)
        codes = {
            name: entry.aliases.get(name, name)
            for one in functions
            for entry in one.entries
            for name in entry.calls
        }
        plain = self._uncompiled(functions, codes)
        reached = {one.global_name for one in functions}
        head = _head(function) + self._without_code(functions, codes, reached)
        names = FileNames()
        sections = [
            section_of(
                one,
                self._known,
                prefix,
                names,
                self._names.get(one.global_name or "", []),
                self._told,
                self._apart(one),
                self._resets,
                self._whys,
            )
            for one in functions + list(plain.values())
        ]
        same = {name: codes[name] for name in sorted(codes) if codes[name] in reached.union(plain)}
        body = "\n\n".join(sections) + "\n".join(_tail(function, prefix, names, same))
        ids = {entry.name: entry.compile_id for one in functions for entry in one.entries}
        return "\n".join(head + _contents(body, len(head), ids)) + "\n" + body

    def _without_code(
        self, functions: Sequence[Function], codes: Dict[str, str], reached: Set[Optional[str]]
    ) -> List[str]:
        """Comments on the resume functions that have no code in the file, and why."""
        given_up = sorted(name for name in codes if codes[name] in self._given_up)
        missing = sorted(name for name in codes if codes[name] not in reached.union(self._given_up))
        callers = {
            name: entry for one in functions for entry in one.entries for name in entry.calls
        }
        said_of: Dict[str, List[str]] = {}
        for name in missing:
            entry = callers[name]
            outer = words.given_to(entry.source, name)
            outer = "" if outer in missing else outer
            said = words.no_compile_of_rest(
                len(entry.calls), outer, self._ended_well, entry.rests_called.get(name)
            )
            said_of.setdefault(said, []).append(name)
        rows = []
        for why, missed in said_of.items():
            said = "%s: %s" % (", ".join(missed), why)
            rows += ["# " + line for line in legend.rows(in_comment(said), 98)] + [""]
        for name in given_up:
            gone = self._given_up[codes[name]]
            said = "its compile raised an exception."
            if codes[name] in self._running:
                said = words.RUNNING + "."
            if gone:
                said = words.from_then_on(gone, 0) + self._whys.get(gone["compile_id"], "")
            rows += ["# " + line for line in legend.rows(in_comment(name + ": " + said), 98)]
        return rows + [""] * bool(given_up)


def _head(function: Function) -> List[str]:
    return [
        *_first_rows(function),
        "",
        "Each function below is what torch's frame evaluation, written in C, does at a call: "
        "it tries",
        "the compiled entries in order and runs the first whose guards hold. torch moves the "
        "entry that",
        "it used to the front; the order here is that of the moment when this file was "
        "written. L and G",
        "in a guard are the frame's locals and its module's globals.",
        '"""',
        "from __future__ import annotations",
        "",
    ]


def _tail(function: Function, prefix: str, names: FileNames, same: Dict[str, str]) -> List[str]:
    """What the code of a file uses.

    Args:
        prefix: what the tokens of the file begin with.
        names: those of the file.
        same: names of resume functions, and those under which their code stands in the file.
    """
    alive = [one for one in function.entries if one.guard_manager is not None]
    known = (alive or function.entries)[:1]
    rows = [
        "",
        "",
        "# ---- what the code above uses ----",
        "from depyf.explain import _link as __link  # noqa: E402",
        "",
    ]
    for text, name in names.states.names.items():
        rows.append("%s = %s" % (name, on_lines(text)))
    for name, known_as in same.items():
        if known_as != name:
            rows.append("%s = %s  # the same code" % (name, known_as))
    where = function._globals_name or "__main__"
    token = "%s/%s" % (prefix, known[0].name) if known else ""
    given = ["globals()", repr(where), repr(token)]
    if names.real:
        begin = "__link(%s, {" % ", ".join(given)
        wide = len(begin) > WIDTH
        rows += ["__link(", *("    %s," % one for one in given), "    {"] if wide else [begin]
        pairs = ["    %r: %r," % pair for pair in names.real.items()]
        rows += ["    " * wide + pair for pair in pairs] + (["    },", ")"] if wide else ["})"])
    else:
        rows += call_on_rows("__link", given, "", WIDTH)
    return rows + [""]


#: lines of a file from which on it has a table of its parts
_LONG = 150
_PART = re.compile(
    r"# ---- (?P<title>.+?) ?-{3,}$"
    r"|\s*def (?P<code>__transformed_code_\w+|__original_code_for\w+)\("
)


def _contents(body: str, before: int, ids: Dict[str, str]) -> List[str]:
    """A table of the parts of a file, each with its line.

    Args:
        body: what comes behind the table.
        before: lines in front of it.
        ids: the compile that code is of, by the name of the code.
    """
    lines = body.split("\n")
    parts = [(number, match) for number, match in enumerate(map(_PART.match, lines), 1) if match]
    if before + len(lines) < _LONG or not parts:
        return []
    rows = []
    before += len(parts) + 2
    for number, match in parts:
        title, code = match.group("title"), match.group("code")
        if code:
            title = "the function itself"
            title = "compile %s" % ids[code] if code in ids else title
        row = "# line %6d: %s%s" % (before + number, "  " * bool(code), title)
        rows.append(row if len(row) <= WIDTH else row[: WIDTH - 1] + "…")
    return ["# What is where:"] + rows + [""]


def _plain(caller: Function, entry: Entry, rest: Rest, name: str, code: types.CodeType) -> Function:
    """A resume function of which torch made no code."""
    function = Function(
        name=name_of(code),
        filename=file_of(code),
        firstlineno=code.co_firstlineno,
        is_resume=True,
        global_name=name,
    )
    function._titled_as = rest.title
    function._code = rest._code
    function._installed_as = rest._installed_as
    function._globals_name = caller._globals_name
    function._signature = signature_of(code)
    try:
        function.source, constants = decompile_with_constants(code)
        function.source_origin = "decompiled"
        function._constants = known_constants(constants)
    except Exception:  # the file then has no code of it
        pass_on()
    return function


def render(function: Function, run: Run) -> str:
    """The text of full_code_for_<function>, see `Renderer`.

    Args:
        function: a function of the run.
        run: where the resume functions that it calls are found.
    """
    return Renderer(run).render(function)


def forget_texts() -> None:
    """Forgets what is known of guards and their texts: no run is read any more."""
    guard_text.forget_texts()
    function_in.cache_clear()
    on_rows.cache_clear()
    on_lines.cache_clear()
