"""Resume functions: which ones code calls, what it hands to them, and what torch made of them."""

import types
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import depyf.legend
from depyf.advice import uses
from depyf.interrupts import pass_on
from depyf.model import RESUMED, Entry, Function, LiveObject, Rest, Run, resumed_after, told_apart
from depyf.plain import attribute_of, file_of, name_of
from depyf.report import words
from depyf.report.overview import named_apart
from depyf.terminal import shown
from depyf.torch import compat
from depyf.torch.capture.contexts import note_of_contexts, note_of_modes, note_of_unread
from depyf.torch.capture.functions import Functions
from depyf.torch.capture.heads import file_name
from depyf.torch.codes import ONLY_RETURNS, resume_code, resume_line
from depyf.torch.handed import (
    given_to_rest,
    names_of_callers,
    names_of_rest,
    parameters_of_rest,
    words_for_stack,
)
from depyf.torch.origin import Origin, origin_of
from depyf.trace.names import (
    COMPILED_FUNCTION,
    RESUME_FUNCTION,
    resumed,
    safe_name,
    short_graph_name,
)


class Rests(Functions):
    """The functions of a block with what links them to the rests behind their graph breaks."""

    def __init__(self, numbers: Dict[str, int]) -> None:
        super().__init__(numbers)
        # global of a resume function -> what calls it, and by which global
        self._givers: Dict[str, List[Tuple[Entry, str]]] = {}
        self._apart: Dict[str, str] = {}  # see `rests_apart`

    def _read_names(
        self, entry: Entry, new_code: types.CodeType, scope: Optional[Dict[str, Any]]
    ) -> None:
        for name in new_code.co_names:
            if COMPILED_FUNCTION.match(name):
                entry.global_name = name
                entry.graph_name = short_graph_name(name)
                if scope is not None:
                    module = compat.graph_module_of(scope.get(name))
                    if module is not None:
                        entry._graph_module = LiveObject(module)
            elif RESUME_FUNCTION.match(name):
                entry.calls.append(name)
                installed = scope.get(name) if scope is not None else None
                resumed = resume_code(installed)
                if resumed is not None:
                    kind = "code" if resumed is installed else "function"
                    if attribute_of(installed, "__code__", resumed) is not resumed:
                        kind = "factory"
                    self._installed(entry, resumed, name, kind)
                first = entry.aliases.get(name, name)
                self._givers.setdefault(first, []).append((entry, name))

    def _installed(self, entry: Entry, code: types.CodeType, name: str, kind: str) -> None:
        """Notes that a global, which an entry calls, holds the code of a resume function."""
        known = self._resume_names.get(id(code))
        if known is None or known[0].get() is not code:
            self._resume_names[id(code)] = (LiveObject(code), name, kind)
        elif name != known[1]:
            entry.aliases[name] = known[1]

    def _read_rests(
        self,
        entry: Entry,
        function: Function,
        code: types.CodeType,
        new_code: types.CodeType,
        scope: Optional[Dict[str, Any]],
    ) -> None:
        """Notes which resume functions an entry calls and, if it is one itself, its first line."""
        if function.is_resume:
            told, _, known = self._rest_of(entry, function, code)
            entry._goes_on = told if known or function.global_name else ""
        called_codes = [
            (name, resume_code(scope.get(name)) if scope is not None else None)
            for name in entry.calls
        ]
        called_codes += [
            ("The function that is created in here", one)
            for one in new_code.co_consts
            if type(one) is types.CodeType
        ]
        for name, rest in called_codes:
            if rest is not None and resumed(name_of(rest))[0]:
                if self._continues(function, rest):
                    entry._broke_at = resumed(name_of(rest))[1] or rest.co_firstlineno
                told, files, _ = self._rest_of(entry, function, rest)
                known_as = self._resume_names.get(id(rest))
                kind = known_as[2] if known_as and known_as[0].get() is rest else ""
                entry._rests.append(Rest(name, told, files, LiveObject(rest), kind))

    def _rest_of(
        self, entry: Entry, function: Function, code: types.CodeType
    ) -> Tuple[str, str, bool]:
        """The title of a resume function, the names of its files, and whether its first line is
        known.
        """
        parent, line = resumed(name_of(code))
        if self._continues(function, code):
            whole, through = entry.qualname or function.qualname or parent, function.through
        else:  # of a function that this one calls, and whose frame torch has traced into it
            original = compat.continued(code)
            origins = {one.origin for one in self._owners_of(code)}
            if not origins and original is not None:
                origins = {origin_of(original, None, None)}
            found = origins.pop() if len(origins) == 1 else Origin(parent, "", "")
            whole, through = found.qualname, found.through
        part = Function(name_of(code), whole, through=through, is_resume=True)
        part.firstlineno = line or code.co_firstlineno
        title = part.title
        if through:  # the line is of the wrapper's file, and no reader knows where that is
            after = resumed_after("", part.firstlineno)
            title = title.replace(after, "%s of %s" % (after, file_name(code)), 1)
        at = resume_line(code)
        if at == ONLY_RETURNS:
            title += ", where nothing is left to do"
        elif at and at == part.firstlineno:
            title += ", with the rest of that line first"
        elif at and at < part.firstlineno and _leaves_at(code, part.firstlineno, at):
            title += ", from the end of the `with` of line %d on" % at
        elif at:
            title += ", from line %d on" % at
        files = "__transformed_code_K_for_%s.py, K counting from 0" % safe_name(part.stem())
        return title, files, bool(at)

    @staticmethod
    def _continues(function: Function, code: types.CodeType) -> bool:
        """Whether the code of a resume function goes on with a function, and not with one that
        torch has traced into it.
        """
        original, own = compat.continued(code), function.code
        if original is not None and own is not None:
            return original is (compat.continued(own) or own)
        name = resumed(function.name)[0] or function.name
        return name == resumed(name_of(code))[0] and function.filename == file_of(code)

    def _handed(
        self,
        function: Function,
        code: types.CodeType,
        new_code: types.CodeType,
        scope: Optional[Dict[str, Any]],
    ) -> Tuple[Dict[str, Sequence[str]], Dict[str, str]]:
        """Names of what graph breaks hand over: to the resume functions that code calls, as
        `DynamoNaming::parameters` has them, and to itself; and what of the latter was on the stack,
        as the code that gives it has it.
        """
        names: Dict[str, Sequence[str]] = {}
        told: Dict[str, str] = {}
        for name, rest in compat.resume_codes(new_code, scope).items():
            names[name] = parameters_of_rest(rest)
            names[name + "[]"] = names_of_rest(rest)
        if not function.is_resume:
            return {name: tuple(row) for name, row in names.items()}, told
        names["__resume_frame_values"] = names_of_rest(code)
        names.update(names_of_callers(compat.frame_locals()))
        known = self._resume_names.get(id(code))
        giver = self._giver(known[1]) if known and known[0].get() is code else None
        given = given_to_rest(giver[0].source, giver[1]) if giver is not None else []
        names[""] = words_for_stack(code, given)
        parameters = [one for one in code.co_varnames[: code.co_argcount]][2:]
        told = {one: said for one, said in zip(parameters, given) if one.startswith("___stack")}
        return {name: tuple(row) for name, row in names.items()}, told

    def _giver(self, name: str) -> Optional[Tuple[Entry, str]]:
        """Whose code calls the resume function that is being compiled, and by which global; None
        where that is not known.
        """
        givers = self._givers.get(name, [])
        if len(givers) == 1:
            return givers[0]
        by_code = {id(one[0]._code.get()): one for one in givers}
        above = map(id, compat.calling_codes())
        return next((by_code[one] for one in above if one in by_code), None)

    def _notes(
        self, entry: Entry, function: Function, names: Dict[str, List[str]], ended: bool
    ) -> str:
        """Comments that say which resume functions an entry calls, where their code is, and what
        torch made of them.

        Args:
            names: what `Run.resume_names` gives.
            ended: whether the block has ended, so that all is known; torch compiles a resume
                function at a call, and a program that is killed has told no more.
        """
        texts = []
        if entry._goes_on:
            own = function.global_name or ""
            called = " The code that calls it names it %s." % _listed(names.get(own, [own]))
            called = called if own else ""
            goes_on = told_apart(entry._goes_on, self._apart.get(own, ""))
            texts.append("This is %s.%s" % (goes_on, called))
        for rest in entry._rests:
            code = rest._code.get()
            known = self._functions.get(id(code))
            compiled = known if known is not None and known.code is code is not None else None
            said = (
                "torch compiles it when it is called, and its code is then in %s. If there is no "
                "such file, it was not called yet, or torch made no code for it." % rest.files
            )
            if ended or compiled is not None:
                given_up = self._given_up(code) if ended else {}
                outer = self._traced_into(entry, rest.name)
                compiles = _entries_for(entry.qualname or function.qualname, compiled)
                well = ended and not self.run.error
                running = ended and self._is_running(entry.aliases.get(rest.name, rest.name))
                known_calls = entry.rests_called.get(rest.name)
                said = _resume_function_note(
                    compiles, given_up, len(entry._rests), outer, well, known_calls, running
                )
            known_as = entry.aliases.get(rest.name, rest.name)
            title = told_apart(rest.title, self._apart.get(known_as, ""))
            texts.append("%s is %s. %s" % (rest.name, title, said[0].upper() + said[1:]))
        if entry.runs_on:
            said = words.runs_on_from(entry.runs_on)
            texts.append(said[0].upper() + said[1:])
        if ended:
            texts.append(self._note_of_contexts(entry, function))
            texts.append(note_of_modes(entry))
            unread = note_of_unread(entry) if function.is_resume else ""
            texts.append(unread)
        texts = [one for one in texts if one]
        return "\n" + "".join(depyf.legend.wrapped(shown(one)) for one in texts) if texts else ""

    @staticmethod
    def _note_of_contexts(entry: Entry, function: Function) -> str:
        code = function.code
        original = compat.continued(code) or code if code is not None else None
        line = entry._broke_at or resumed(function.name)[1]
        return note_of_contexts(entry.source, original, line) if original and line else ""

    def _traced_into(self, entry: Entry, name: str) -> str:
        """The compiled resume function that is given another one as a caller's, which it calls."""
        outer = words.given_to(entry.source, name)
        for rest in entry._rests:
            known = self._functions.get(id(rest._code.get()))
            if rest.name == outer and known is not None and known.code is rest._code.get():
                return outer
        return ""

    def _is_running(self, name: str) -> bool:
        """Whether torch was compiling a resume function, by its first global, at the end."""
        return any(
            one.resumes == name and one.detail == words.RUNNING for one in self.run.unattributed
        )

    def _note_calls_of_rests(self, function: Function, entry: Entry) -> None:
        """Notes, of resume functions that an entry calls and that have no compile, whether torch
        looked at a call. It does not look at files that it skips, and a reset makes it forget.
        """
        for rest in entry._rests:
            code, own = rest._code.get(), function.code
            if code is None or own is None or id(code) in self._functions:
                continue
            if self._is_running(entry.aliases.get(rest.name, rest.name)):
                continue
            if file_of(code) == function.filename and compat.was_looked_at(own):
                called = compat.was_looked_at(code)
                if called is not None:
                    entry.rests_called[rest.name] = called


def rests_apart(run: Run) -> Dict[str, str]:
    """What tells resume functions of one title apart, as the report says it: by global."""
    codes: Dict[str, Set[str]] = {}
    for entry in run.entries():
        for rest in entry._rests:
            match = RESUMED.search(rest.title)  # what follows, the report does not say
            title = rest.title[: match.end()] if match else rest.title
            codes.setdefault(title, set()).add(entry.aliases.get(rest.name, rest.name))
    if all(len(names) == 1 for names in codes.values()):
        return {}
    found: Dict[str, str] = {}
    try:
        nodes = named_apart(run.to_json())
    except Exception:  # to build the page fails in the same way, and is told
        pass_on()
        return {}
    for node in nodes:
        name = (node.function or {}).get("global_name") or node.entry.get("resumes")
        if name and node.apart:
            found[name] = node.apart
    return found


def _leaves_at(code: types.CodeType, line: int, at: int) -> bool:
    """Whether an earlier line than a break is that of a `with` around it: what has that line there
    is what leaves the `with`.
    """
    return at in uses.contexts_around(file_of(code), line)


def _listed(names: List[str]) -> str:
    """Names as a list in words."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def _files_of(entries: List[Entry]) -> str:
    if len(entries) == 1:
        return entries[0].name + ".py"
    by_tail: Dict[str, List[Entry]] = {}
    for entry in entries:
        by_tail.setdefault(entry.name.partition("_for_")[2], []).append(entry)
    return _listed(
        [
            "__transformed_code_K_for_%s.py, K being %s (compiles %s)"
            % (
                tail,
                _listed([str(one.index) for one in found]),
                _listed([one.compile_id for one in found]),
            )
            for tail, found in by_tail.items()
        ]
    )


def _entries_for(qualname: str, function: Optional[Function]) -> List[Entry]:
    """The compiles of a resume function; of that of a wrapper those for one function alone, as far
    as there are any.
    """
    entries = function.entries if function is not None else []
    own = [
        one
        for one in entries
        if function is not None
        and function.through
        and (one.qualname or function.qualname) == qualname
    ]
    return own or entries


def _resume_function_note(
    entries: List[Entry],
    given_up: Dict[str, str],
    rests: int,
    outer: str,
    ended_well: bool,
    called: Optional[bool],
    running: bool,
) -> str:
    """A sentence that says where the code of a resume function is, or why there is none.

    Args:
        entries: its compiles.
        rests: the number of resume functions that the calling code calls.
        outer: the one that is given it and calls it, or "".
        ended_well: whether no exception ended the block.
        called: whether torch looked at a call of it; None where that is not known.
        running: whether torch was compiling it when the block ended.
    """
    if not entries and not given_up:
        return words.no_compile_of_rest(rests, outer, ended_well, called, running)
    told = "its code is in %s." % _files_of(entries) if entries else ""
    if given_up:
        gone = words.from_then_on(given_up, len(entries))
        told += (" " + gone[0].upper() + gone[1:]) if told else gone
    return told
