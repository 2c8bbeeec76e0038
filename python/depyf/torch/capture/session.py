"""One open block: joins what it captures of each compile into a run."""

import functools
import os
import re
import sys
import time
import types
from traceback import format_exception
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import depyf.legend
import depyf.recompile
from depyf.decompiler import decompile_with_constants
from depyf.frame_contract import file_is_text, violation
from depyf.interrupts import pass_on
from depyf.model import (
    RESUMED,
    Artifact,
    Entry,
    Function,
    LiveObject,
    Problem,
    Rest,
    backward_of,
    is_backward_pass,
    resumed_after,
    told_apart,
)
from depyf.plain import attribute_of, file_of, name_of, text_of
from depyf.report import words
from depyf.report.overview import nodes_of
from depyf.terminal import parse_place, shown
from depyf.torch import compat, guards
from depyf.torch.capture.warned import log, warn
from depyf.torch.codes import (
    ONLY_RETURNS,
    bytecode_text,
    resume_line,
    known_constants,
    known_to_tracebacks,
    left_to_tracebacks,
    own_code_from,
    resume_code,
    signature_of,
    source_of,
)
from depyf.torch.handed import (
    given_to_rest,
    names_of_callers,
    names_of_rest,
    parameters_of_rest,
    words_for_stack,
)
from depyf.torch.fullcode import defaults_of
from depyf.torch.graph_structure import captured_inputs, operation, structure
from depyf.torch.origin import Origin, is_wrapper, origin_of, wrapped_by
from depyf.trace.breaks import own_place, parse_break
from depyf.trace.graph_rows import OPERATION
from depyf.trace.guard_text import (
    ModuleFiles,
    guards_of_tree_text,
    make_guard,
    name_whole_paths,
)
from depyf.trace.names import (
    COMPILED_FUNCTION,
    RESUME_CODE,
    RESUME_FUNCTION,
    resumed,
    safe_name,
    short_graph_name,
)
from depyf.trace.records import Records, Resets
from depyf.trace.vocabulary import GRAPH_STAGES, stack_lines


#: of this process: blocks tell of one run of numbers
_RESETS = Resets()


def _size(count: int) -> str:
    return "%d MiB" % (count >> 20) if count >= 1 << 20 else "%d bytes" % count


class _Owner(NamedTuple):
    """One function for which a code object was compiled: a wrapper's is compiled for several."""

    code: LiveObject
    firstlineno: int
    variables: Dict[str, LiveObject]  # the free ones, which tell the functions apart
    origin: Origin

    def fits(self, held: Dict[str, Any]) -> bool:
        """Whether a frame with these variables may belong to it."""
        for name, known in self.variables.items():
            value = known.get()
            if value is not None and name in held and value is not held[name]:
                return False
        return True


class Session(Records):
    """One open block: collects events into its `run` and, when it has a folder, writes the dump."""

    def __init__(self, writer: Any = None, log_bytecode: bool = False, caches: bool = True) -> None:
        super().__init__()
        self._resets = _RESETS
        self.writer = writer
        self.log_bytecode = log_bytecode
        self.caches = caches
        self.process = os.getpid()
        self._functions: Dict[int, Function] = {}
        # name and file -> the functions for which code of this name was compiled
        self._owners: Dict[Tuple[str, str], List[_Owner]] = {}
        # id of a function's code -> the code, and its latest compile, where that made no code
        self._without_code: Dict[int, Tuple[LiveObject, Entry]] = {}
        # id of a resume function's code -> the code, the first global that holds it, and how
        self._resume_names: Dict[int, Tuple[LiveObject, str, str]] = {}
        self._givers: Dict[str, Entry] = {}  # global of a resume function -> what calls it
        self._apart: Dict[str, str] = {}  # see `_rests_apart`
        self._numbers: Dict[str, int] = writer.numbers if writer is not None else {}
        self._awaited: Optional[List[Entry]] = None
        self._warned: Set[Any] = set()
        self._full: Optional[Problem] = None  # the dump has reached its limit
        self._left_out = 0  # code objects that torch made since then
        self._shown: List[str] = []  # files that tracebacks find in linecache

    # -- problems

    def problem(self, where: str, message: str, detail: str = "") -> None:
        """Adds an entry to the run's problems, and warns once for each `where`."""
        with self._lock:
            self.run.problems.append(Problem(where, message, detail))
            first = where not in self._warned
            self._warned.add(where)
        if first:
            warn(
                "depyf: %s: %s%s"
                % (
                    where,
                    message,
                    " (%s)" % detail.strip().splitlines()[-1] if detail.strip() else "",
                )
            )

    def interned_names(self) -> Dict[int, str]:
        """What the numbers stand for with which torch's trace names files."""
        return compat.interned_names()

    def failed(self, where: str, error: Exception) -> None:
        """Adds an exception to the run's problems; never raises."""
        try:
            text = "%s: %s" % (type(error).__name__, error)
        except Exception:  # an exception class of the program, whose text cannot be computed
            pass_on()
            text = type(error).__name__
        try:
            detail = "".join(format_exception(type(error), error, error.__traceback__))
        except Exception:  # traceback calls functions that the program may have replaced
            pass_on()
            detail = text
        try:
            self.problem(where, text, detail)
        except Exception:
            pass_on()
            log.debug("depyf: %s failed: %s", where, text)

    def not_told(
        self,
        kind: str,
        metadata: Dict[str, Any],
        error: Exception,
        context: Any,
        compile_id: str,
    ) -> None:
        """Notes that formatting a record of torch's trace raised an exception."""
        with self._lock:
            if not self._takes(context, compile_id):
                return
            details = metadata.get(kind)
            inside = kind in ("artifact", "graph_dump") and isinstance(details, dict)
            name = str(details.get("name", "")) if inside and details else kind
            stage = "kernel" if name == "inductor_output_code" else GRAPH_STAGES.get(name)
            self.entry_of(context, compile_id).missing[stage or safe_name(name)] = (
                "torch could not write its text: %s" % type(error).__name__
            )
        self.failed("reading torch's trace record %s" % name, error)

    def origins(self, entry: Entry, name: str) -> Dict[str, str]:
        """Node -> node of the captured graph, for the graph that is being traced under `name`."""
        found: Dict[str, str] = {}
        if GRAPH_STAGES[name] == "Captured_Graph":
            return found
        for node in compat.traced_graph(compat.traced_module(name)):
            if node.origin:
                found[node.name] = node.origin
                if not node.backward and node.sequence >= 0:
                    # an operation without gradient has the number of the next one that has a
                    # gradient
                    entry.sequences[node.sequence] = node.origin
            elif node.backward and node.sequence in entry.sequences:
                found[node.name] = entry.sequences[node.sequence]
        return found

    def failing_operation(self) -> Tuple[str, List[str]]:
        """The operation that raised the current exception, and its stack; only the stack while
        Dynamo traces.
        """
        error = sys.exc_info()[1]
        try:
            node = compat.failing_node(error)
            return ("", compat.frames_of_failure(error)) if node is None else operation(node)
        except Exception as error:
            pass_on()
            compat.note_unavailable("failing operation", "%s: %s" % (type(error).__name__, error))
            return "", []

    def structure(self, entry: Entry, name: str) -> Dict[str, Any]:
        """Nodes and edges of the graph that is being traced under `name`; empty without it."""
        return self._structure_of(entry, compat.traced_module(name))

    @staticmethod
    def _structure_of(entry: Entry, graph_module: Any) -> Dict[str, Any]:
        try:
            return structure(graph_module, captured_inputs(entry.artifacts))
        except Exception as error:
            pass_on()
            compat.note_unavailable("structure of graphs", "%s: %s" % (type(error).__name__, error))
            return {}

    def compile_ended(self, entry: Entry) -> None:
        """Handles the end of a compile, or of that of its backward."""
        if not entry.hooked and not entry.qualname:
            self._name_unfinished(entry)
        if self.writer is not None:
            self.writer.compile_ended(self, entry)

    def came_late(self, entry: Entry) -> None:
        """Handles a record after the block: a backward that torch compiled when first needed."""
        if self.writer is not None:
            self.writer.late(self, entry)

    # -- the limit

    def _closed_to_more(self) -> bool:
        return self._full is not None

    def has_room(self, context: Any, compile_id: str) -> bool:
        """Whether the dump takes more of this compile; one that has begun is written whole."""
        if self._full is None and self.writer is not None and self.writer.is_full():
            self._full = Problem(
                "the limit of the dump",
                "its files and texts have reached %s: it contains no later compile, and torch "
                "runs its own code for those; prepare_debug(..., limit=BYTES) sets another limit"
                % _size(self.writer.limit),
            )
            self.run.problems.append(self._full)
            warn("depyf: %s: %s" % (self._full.where, self._full.message))
        return self._full is None or self.is_begun(context, compile_id)

    def _origin(self, code: types.CodeType, scope: Optional[Dict[str, Any]]) -> Optional[Origin]:
        try:
            held = compat.frame_locals() or {}
            if RESUME_CODE.match(name_of(code)):
                return self._origin_of_rest(code, held)
            found = origin_of(code, held, scope)
            variables = {name: LiveObject(held[name]) for name in code.co_freevars if name in held}
            owner = _Owner(LiveObject(code), code.co_firstlineno, variables, found)
            known = self._owners.setdefault((name_of(code), file_of(code)), [])
            if not any(
                (one.code.get(), one.origin) == (code, found) and one.fits(held) for one in known
            ):
                known.append(owner)
            return found
        except Exception as error:  # names are for reading only
            pass_on()
            self.problem("naming %s" % name_of(code), "%s: %s" % (type(error).__name__, error))
            return None

    def _origin_of_rest(self, code: types.CodeType, held: Dict[str, Any]) -> Optional[Origin]:
        """Which function a resume function continues, as far as compiles before it told."""
        owners = self._owners_of(code)
        original = compat.continued(code)
        if not owners and original is not None:  # torch has traced it into its callers
            return origin_of(original, held, None)
        fitting = list(dict.fromkeys(one.origin for one in owners if one.fits(held)))
        if len(fitting) == 1:
            return fitting[0]
        through = next((one.origin.through for one in owners if one.origin.through), "")
        named = wrapped_by(code, held) if through else None
        if named is not None:
            return Origin(named[0], named[1], through)
        return Origin(through, owners[0].origin.module, "") if through else None

    def _owners_of(self, code: types.CodeType) -> List[_Owner]:
        """The functions for which that was compiled which a resume function continues."""
        known = self._owners.get((resumed(name_of(code))[0], file_of(code)), [])
        original = compat.continued(code)
        if original is not None:
            return [one for one in known if one.code.get() is original]
        # Its first line is that of the break: the last function of the name that begins before.
        before = [one for one in known if one.firstlineno <= code.co_firstlineno]
        last = max((one.firstlineno for one in before), default=0)
        return [one for one in before if one.firstlineno == last]

    def _name_unfinished(self, entry: Entry) -> None:
        """Names the function of a compile that made no code, so no bytecode hook was called."""
        code = compat.frame_code()
        if code is None:
            return
        self._without_code[id(code)] = (LiveObject(code), entry)
        if not entry.user_stack:  # of a function at its limit torch tells no beginning
            own = {"filename": file_of(code), "line": code.co_firstlineno, "name": name_of(code)}
            frames = [*compat.calling_frames(), dict(own, loc="")]
            entry.user_stack = stack_lines(frames, self.interned_names())
        if RESUME_CODE.match(name_of(code)):
            whole, line = resumed(name_of(code))
            rest = self._origin(code, None)
            name, entry.through = (rest.qualname, rest.through) if rest else (whole, "")
            entry.qualname = resumed_after(name, line or code.co_firstlineno)
            known = self._resume_names.get(id(code))
            if known is not None and known[0].get() is code:
                entry.resumes = known[1]
            return
        found = self._origin(code, compat.frame_globals())
        if found is not None:
            entry.qualname, entry.through = found.qualname, found.through

    def _entry_qualname(
        self, function: Function, code: types.CodeType, scope: Optional[Dict[str, Any]]
    ) -> str:
        """The function for which a wrapper was compiled this time, if it is another than before."""
        original = compat.continued(code) or code if function.is_resume else code
        if not function.through and not is_wrapper(original):
            return ""
        found = self._origin(code, scope)
        if found is None:
            return ""
        function.through = function.through or found.through
        return found.qualname if found.qualname != function.qualname else ""

    def _name_function(
        self,
        function: Function,
        code: types.CodeType,
        scope: Optional[Dict[str, Any]],
        entry: Optional[Entry],
    ) -> None:
        is_traced = not function.is_resume and _TRACED_FILE.match(file_of(code))
        if entry is not None and is_traced and _TRACED_BACKWARD.match(entry.compile_id):
            function.qualname = self._backward_pass(entry)
            origin = Origin(function.qualname, "", "")
            owner = _Owner(LiveObject(code), code.co_firstlineno, {}, origin)
            self._owners.setdefault((name_of(code), file_of(code)), []).append(owner)
            return
        if not function.is_resume:
            found = self._origin(code, scope)
            if found is not None:
                function.qualname, function.module, function.through = found
            return
        # It continues a function that was compiled before, or that broke at once.
        here = self._origin(code, scope)
        outer = here.qualname if here is not None else ""
        if here is None:  # the part in front of the break had nothing to compile
            prefix = text_of(getattr(code, "co_qualname", "")).rpartition("<locals>.")[2]
            name = resumed(name_of(code))[0]
            outer = prefix[: -len(name_of(code))] + name if "." in prefix else ""
        if outer:
            function.qualname = outer
        if here is not None:
            function.module, function.through = here.module, here.through

    def _backward_pass(self, entry: Entry) -> str:
        """What a backward pass is called: its graph tells the lines of which it is the backward."""
        lines = _lines_of(entry)
        forwards = [
            function.qualname or function.name
            for function in self.run.functions
            if not is_backward_pass(function.qualname)
            and any(lines & _lines_of(one) for one in function.entries)
        ]
        return backward_of(list(dict.fromkeys(forwards)))

    def _function(
        self,
        code: types.CodeType,
        scope: Optional[Dict[str, Any]] = None,
        entry: Optional[Entry] = None,
    ) -> Function:
        function = self._functions.get(id(code))
        if function is not None and function.code is code:
            return function
        function = Function(
            name=name_of(code),
            filename=file_of(code),
            firstlineno=code.co_firstlineno,
            is_resume=bool(RESUME_CODE.match(name_of(code))),
        )
        self._name_function(function, code, scope, entry)
        function._code = LiveObject(code)
        function._signature = signature_of(code)
        known = self._resume_names.get(id(code))
        if known is not None and known[0].get() is code:
            function.global_name, function._installed_as = known[1], known[2]
        function.index = self._number("full", safe_name(function.stem()))
        self._functions[id(code)] = function
        self.run.functions.append(function)
        return function

    def _number(self, kind: str, name: str) -> int:
        key = kind + ":" + name
        number = self._numbers.get(key, 0)
        self._numbers[key] = number + 1
        return number

    # -- events

    def on_bytecode(
        self,
        code: types.CodeType,
        new_code: types.CodeType,
        context: Any,
        compile_id: str,
        attempt: int,
        scope: Optional[Dict[str, Any]],
        shared: Dict[str, Any],
    ) -> Optional[types.CodeType]:
        """Handles one transformed code object.

        Returns the code that torch shall run instead, or None.
        """
        with self._lock:
            if not self.has_room(context, compile_id):
                self._left_out += 1
                return None
            entry = self.entry_of(context, compile_id)
            if entry in self.run.unattributed:
                self.run.unattributed.remove(entry)
            function = self._function(code, scope, entry)
            self._without_code.pop(id(code), None)
            if scope is not None and not function._globals_name:
                function._globals_name = text_of(scope.get("__name__"))
            entry.qualname = self._entry_qualname(function, code, scope)
            name = safe_name(function.stem(entry.qualname))
            entry.index = self._number("transformed", name)
            entry.name = "__transformed_code_%d_for_%s" % (entry.index, name)
            entry.attempt = max(entry.attempt, attempt)
            entry.hooked = True
            entry._home = text_of(scope.get("__name__")) if scope is not None else ""
            function.entries.append(entry)
            self._read_names(entry, new_code, scope)
            self._read_rests(entry, function, code, new_code, scope)
            if not entry.reasons:
                entry.reasons = compat.recompile_reasons()
            graph_break = compat.graph_break_at_hand() if not entry.breaks else None
            if graph_break is not None:
                entry.breaks.append(parse_break(graph_break, attempt))
            if entry.breaks and not entry.calls and not entry._rests:
                entry.runs_on = own_code_from(code, new_code)
        if not function.source:
            self._original_source(function, code)
        if not function._bytecode:
            function._bytecode = shared.get("original_bytecode") or bytecode_text(code)
        entry.original_bytecode = function._bytecode
        entry.transformed_bytecode = shared.setdefault(
            "transformed_bytecode", None
        ) or bytecode_text(new_code)
        shared["original_bytecode"], shared["transformed_bytecode"] = (
            entry.original_bytecode,
            entry.transformed_bytecode,
        )
        try:
            replacement = self._decompile(entry, code, new_code, shared)
        except BaseException as error:
            entry.detail = "interrupted by %s" % type(error).__name__
            raise
        entry._hooks_behind = list(shared.get("hooks_behind") or ())
        owner = shared.get("owner")
        if owner is None and entry.replaced and self.writer is not None:
            shared["owner"] = (replacement, "the block that writes to %s" % self.writer.folder)
        elif owner is not None:
            entry.replaced_by, replacement = owner[1], owner[0]
        entry._torch_code = LiveObject(new_code)
        entry._code = LiveObject(replacement if replacement is not None else new_code)
        if self.writer is not None:
            self.writer.entry_seen(self, function, entry)
        if compat.trace_logger() is None:
            self.compile_ended(entry)  # torch up to 2.2 tells of no end; the code is there
        return replacement if owner is None else None

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
                self._givers[name] = entry
                installed = scope.get(name) if scope is not None else None
                resumed = resume_code(installed)
                if resumed is not None:
                    kind = "code" if resumed is installed else "function"
                    if attribute_of(installed, "__code__", resumed) is not resumed:
                        kind = "factory"
                    self._installed(entry, resumed, name, kind)

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
                known_calls = entry.rests_called.get(rest.name)
                said = _resume_function_note(
                    compiles, given_up, len(entry._rests), outer, well, known_calls
                )
            known_as = entry.aliases.get(rest.name, rest.name)
            title = told_apart(rest.title, self._apart.get(known_as, ""))
            texts.append("%s is %s. %s" % (rest.name, title, said[0].upper() + said[1:]))
        if entry.runs_on:
            said = words.runs_on_from(entry.runs_on)
            texts.append(said[0].upper() + said[1:])
        return "\n" + "".join(depyf.legend.wrapped(shown(one)) for one in texts) if texts else ""

    def _traced_into(self, entry: Entry, name: str) -> str:
        """The compiled resume function that is given another one as a caller's, which it calls."""
        outer = words.given_to(entry.source, name)
        for rest in entry._rests:
            known = self._functions.get(id(rest._code.get()))
            if rest.name == outer and known is not None and known.code is rest._code.get():
                return outer
        return ""

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
            title = title.replace(after, "%s of %s" % (after, _file_of(code)), 1)
        at = resume_line(code)
        if at == ONLY_RETURNS:
            title += ", where nothing is left to do"
        elif at and at == part.firstlineno:
            title += ", with the rest of that line first"
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

    def _original_source(self, function: Function, code: types.CodeType) -> None:
        if not function.is_resume:
            function.source = source_of(code)
            function.source_origin = "file" if function.source else ""
        if not function.source:
            try:
                function.source, constants = decompile_with_constants(code)
                function.source_origin = "decompiled"
                function._constants = known_constants(constants)
            except Exception as error:
                pass_on()
                self.problem(
                    "decompiling the original of %s" % function.name,
                    str(error) or type(error).__name__,
                )

    def _decompile(
        self, entry: Entry, code: types.CodeType, new_code: types.CodeType, shared: Dict[str, Any]
    ) -> Optional[types.CodeType]:
        owner = "recompiled" not in shared
        if owner:
            shared["recompiled"] = None
            shared["recompiled"] = self._recompile(entry, code, new_code, shared)
        recompiled = shared["recompiled"]
        if recompiled is None:
            entry.verdict, entry.detail = "refused", shared.get("refused", "")
            return None
        entry.source = recompiled.source or ""
        entry._notes = shared.get("notes", "")
        entry._constants = known_constants(recompiled.constants)
        entry.names = dict(recompiled.readable)
        # equal byte by byte is the strongest form of exact; nothing to compare is a refusal
        entry.verdict = {"identical": "exact", "failed": "refused"}.get(
            recompiled.verdict, recompiled.verdict
        )
        entry.detail = recompiled.detail or ""
        entry.line_map = [(row[0], row[2]) for row in recompiled.line_map if row[2]]
        if entry.verdict not in ("exact", "equivalent"):
            if owner:
                self.problem(
                    "proving %s" % entry.name,
                    "%s; torch keeps its own bytecode" % entry.verdict,
                    entry.detail,
                )
            return None
        # without a file there is nothing to step through, so torch may as well run its own
        if not owner or self.writer is None or not recompiled.path:
            return None
        entry.code_path = recompiled.path
        return self._replacement(
            entry, code, new_code, recompiled, observed=bool(shared.get("observed"))
        )

    def _recompile(
        self, entry: Entry, code: types.CodeType, new_code: types.CodeType, shared: Dict[str, Any]
    ) -> Optional[depyf.recompile.Recompiled]:
        """Recompiles torch's `new_code`; None, with the reason in `shared`, if that fails."""
        template = self.writer.template() if self.writer is not None else None
        function = self._functions[id(code)]
        about = function.title_of(entry)
        if about and function.through:
            about += " (%s:%d)" % (_file_of(code), code.co_firstlineno)
        about = "\n".join(filter(None, (about, _extent(entry, function), _defaults(function))))
        try:
            names, stack = self._handed(function, code, new_code, shared.get("scope"))
            outputs = compat.graph_outputs(new_code, shared.get("scope"))
            if entry.global_name and not outputs.get(entry.global_name):
                outputs[entry.global_name] = _outputs_of(entry)
            notes = shared["notes"] = self._notes(entry, function, {}, ended=False)
            recompile = functools.partial(
                depyf.recompile.recompile,
                new_code,
                name=entry.name,
                callee_parameters=names,
                callee_results=outputs,
                dynamo=True,
                scope=shared.get("scope"),
                own_locals=code.co_varnames,
                installed=compat.installed_globals(),
                on_stack=stack,
                updated=_updated_by(entry),
                about=about,
                notes=notes,
            )
            try:
                return recompile(filename_template=template)
            except OSError as error:
                pass_on()
                if template is None:
                    raise
                self.problem("writing the dump", "%s.py was not written: %s" % (entry.name, error))
                return recompile()
        except Exception as error:
            pass_on()
            shared["refused"] = "%s: %s" % (type(error).__name__, error)
            self.problem("decompiling %s" % entry.name, shared["refused"])
            return None

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
        giver = self._givers.get(known[1]) if known and known[0].get() is code else None
        given = given_to_rest(giver.source, known[1]) if giver is not None and known else []
        names[""] = words_for_stack(code, given)
        parameters = [one for one in code.co_varnames[: code.co_argcount]][2:]
        told = {one: said for one, said in zip(parameters, given) if one.startswith("___stack")}
        return {name: tuple(row) for name, row in names.items()}, told

    def raised(self, trace: Optional[types.TracebackType]) -> None:
        """Notes whose code raised the exception that ends the block, with its traceback."""
        try:
            frames = []
            while type(trace) is types.TracebackType:
                frames.append((trace.tb_frame.f_code, trace.tb_lineno or 0))
                trace = trace.tb_next
            if frames:
                self.run.raised_at = self._raised_at(frames)
        except Exception as error:
            pass_on()
            self.failed("reading the traceback of %s" % self.run.error, error)

    def _raised_at(self, frames: List[Tuple[types.CodeType, int]]) -> Dict[str, Any]:
        made = {id(entry.code): (function, entry) for function, entry in self._with_code()}
        code, line = frames[-1]
        function, entry = made.get(id(code), (None, None))
        by = "program"
        if entry is not None:
            by = "generated"
        elif words.is_of_torch(file_of(code)):
            by = "torch"
        place, program = (file_of(code), line), ""
        if entry is not None and function is not None:
            program = _program_line(entry, function, line)
        elif by == "torch":
            own = [
                (made.get(id(one), (None, None)), one, at)
                for one, at in frames
                if not words.is_of_torch(file_of(one))
            ]
            for (of, known), one, at in own[-1:]:
                program = "%s:%d" % (file_of(one), at)
                if known is not None and of is not None:
                    program = _program_line(known, of, at)
        title = function.title_of(entry) or function.title if function and entry else ""
        return {
            "by": by,
            "file": place[0],
            "line": place[1],
            "function": title,
            "program": program,
        }

    def _with_code(self) -> Iterator[Tuple[Function, Entry]]:
        for function in self.run.functions:
            for entry in function.entries:
                if entry.code is not None:
                    yield function, entry

    def _replacement(
        self,
        entry: Entry,
        code: types.CodeType,
        new_code: types.CodeType,
        recompiled: depyf.recompile.Recompiled,
        observed: bool,
    ) -> Optional[types.CodeType]:
        """The code that runs in place of torch's `new_code`; None if torch cannot use it."""
        replacement: Optional[types.CodeType] = recompiled.code
        if replacement is None:
            return None
        if compat.replaces_serialised_code():
            entry.detail = "torch serialises this code (caching_precompile), so it keeps its own"
            return None
        if observed:
            entry.detail = (
                "the globals are of a class with its own __getitem__ or __missing__, which could "
                "tell in which order they are read"
            )
            return None
        for whose, one in (("program's file", code), ("dump's folder", replacement)):
            if not file_is_text(one):
                entry.detail = "torch cannot write the name of the %s, which is not UTF-8" % whose
                return None
        # Torch fills the frame from that of the user's code. If torch's own code does not fit the
        # user's (it always should), the replacement is compared with torch's code alone.
        layout = violation(new_code if violation(code, new_code) else code, replacement)
        if layout is not None:
            entry.verdict, entry.detail = (
                "refused",
                "the recompiled code has another frame: " + layout,
            )
            self.problem("replacing %s" % entry.name, entry.detail)
            return None
        entry.replaced = True
        try:
            known_to_tracebacks(recompiled.path, entry.source, replacement)
            self._shown.append(recompiled.path)
        except OSError:  # it is gone already; who looks for it is told so then
            pass_on()
        return replacement

    def on_formatted(
        self, name: str, graph_module: Any, context: Any, compile_id: str, attempt: int
    ) -> None:
        """A backend asked torch to format a graph under its own name, as vLLM's does."""
        with self._lock:
            entry = self.entry_of(context, compile_id)
            self._add(
                entry,
                Artifact(
                    safe_name(name),
                    "graph",
                    attempt=attempt,
                    origin="backend",
                    structure=self._structure_of(entry, graph_module),
                ),
                compat.readable_graph(graph_module),
            )

    # -- the end

    def finish(self) -> None:
        """Reads data that is complete only now, and writes the rest of the dump; never raises."""
        try:
            if self._full is not None and self._left_out:
                self._full.message += "; %d code objects were left out" % self._left_out
            self.collect_guards()
            self._note_skipped_functions()
            self._name_backward_passes()
            for entry in self.run.unattributed:
                entry.detail = entry.detail or _why_unattributed(entry)
            self.run.unavailable = compat.unavailable()
            self.run.finished = time.time()
            if self.writer is not None:
                self.writer.closed(self)
        except Exception as error:
            pass_on()
            self.failed("finishing", error)
        while self._shown:
            left_to_tracebacks(self._shown.pop())

    def _note_skipped_functions(self) -> None:
        """Notes each function that torch no longer compiles, and adds notes on resume functions to
        the code that calls them.
        """
        for function in self.run.functions:
            function.given_up = self._given_up(function.code)
            for entry in function.entries:
                self._note_calls_of_rests(function, entry)
        names = self.run.resume_names()
        self._apart = self._rests_apart()
        for function in self.run.functions:
            for entry in function.entries:
                notes = self._notes(entry, function, names, ended=True) if entry._notes else ""
                if notes != entry._notes and entry.source.count(entry._notes) == 1:
                    entry.source = entry.source.replace(entry._notes, notes)
                    entry._notes = notes
                    if self.writer is not None:
                        self.writer.source_changed(entry)

    def _note_calls_of_rests(self, function: Function, entry: Entry) -> None:
        """Notes, of resume functions that an entry calls and that have no compile, whether torch
        looked at a call. It does not look at files that it skips, and a reset makes it forget.
        """
        for rest in entry._rests:
            code, own = rest._code.get(), function.code
            if code is None or own is None or id(code) in self._functions:
                continue
            if file_of(code) == function.filename and compat.was_looked_at(own):
                called = compat.was_looked_at(code)
                if called is not None:
                    entry.rests_called[rest.name] = called

    def _rests_apart(self) -> Dict[str, str]:
        """What tells resume functions of one title apart, as the report says it: by global."""
        codes: Dict[str, Set[str]] = {}
        for entry in self.run.entries():
            for rest in entry._rests:
                match = RESUMED.search(rest.title)  # what follows, the report does not say
                title = rest.title[: match.end()] if match else rest.title
                codes.setdefault(title, set()).add(entry.aliases.get(rest.name, rest.name))
        if all(len(names) == 1 for names in codes.values()):
            return {}
        found: Dict[str, str] = {}
        try:
            nodes = nodes_of([self.run.to_json()])
        except Exception:  # to build the page fails in the same way, and is told
            pass_on()
            return {}
        for node in nodes:
            name = (node.function or {}).get("global_name") or node.entry.get("resumes")
            if name and node.apart:
                found[name] = node.apart
        return found

    def _name_backward_passes(self) -> None:
        """Names what compiled autograd traced after the function that torch compiled of it."""
        for entry in self.run.unattributed:
            if not re.match(r"!\d+$", entry.compile_id):
                continue
            entry.qualname = entry.qualname or backward_of([])
            for function in self.run.functions:
                for one in function.entries:
                    own = one.compile_id.startswith(entry.compile_id + "/")
                    if own and is_backward_pass(function.qualname) and not function.is_resume:
                        entry.qualname = function.qualname
                        entry.detail = entry.detail or (
                            "compiled autograd traced a whole backward pass, of which compile %s "
                            "made code" % one.compile_id
                        )

    def _given_up(self, code: Optional[types.CodeType]) -> Dict[str, str]:
        failed = self._without_code.get(id(code))
        if failed is None or failed[0].get() is not code or code is None:
            return {}
        return words.given_up(failed[1].to_json())

    def awaits_backward(self) -> bool:
        """True while a captured graph has a backward that inductor has not compiled yet.

        To be asked after the block.
        """
        if self._awaited is None:
            self._awaited = list(self.run.entries())
        while self._awaited and not _awaits_backward(self._awaited[-1]):
            self._awaited.pop()
        return bool(self._awaited)

    def _notice_other_code(self, entry: Entry, running: Any) -> None:
        # another hook, which torch calls after depyf's, has the last word
        ours = entry.code
        if running is None or running is ours or running is entry._torch_code.get():
            return
        if ours is None and not entry.replaced:
            return
        if not entry.replaced_by:
            name = " or ".join(entry._hooks_behind) or "a bytecode hook that is not known here"
            entry.replaced_by = "%s, from %s" % (name, file_of(running))
        entry.replaced, entry._code = False, LiveObject(running)

    def collect_guards(self) -> None:
        """Reads the guards of every entry from torch's caches, in torch's order, or from the trace
        where they are gone.
        """
        with self._lock:
            files = list(dict.fromkeys(function.filename for function in self.run.functions))
            modules = ModuleFiles()
            for function in self.run.functions:
                code = function.code
                kept = compat.cache_entries(code) if code is not None else None
                found = kept or []
                order: Dict[int, int] = {}
                all_known = kept is not None
                for position, cache_entry in enumerate(found):
                    entry = _matching(function, cache_entry)
                    if entry is None:
                        all_known = False
                        continue
                    order[id(entry)] = position
                    self._notice_other_code(entry, getattr(cache_entry, "code", None))
                    entry.invalidated = compat.is_invalidated(cache_entry)
                    manager = compat.entry_guard_manager(cache_entry)
                    entry._guard_manager = LiveObject(manager)
                    try:
                        entry.guards = guards.guards_of(manager)
                    except Exception as error:
                        pass_on()
                        self.problem(
                            "reading the guards of %s" % entry.name,
                            str(error) or type(error).__name__,
                        )
                for entry in function.entries:
                    # without its code, only that another compile has its number tells
                    entry.dropped = all_known and id(entry) not in order and not entry.failure
                    entry.dropped |= code is None and entry.resets < _RESETS.count
                    if not entry.guards and entry.guard_tree:
                        entry.guards = guards_of_tree_text(entry.guard_tree, guards.known_state())
                    elif not entry.guards:
                        entry.guards = [
                            make_guard(text, state=guards.known_state())
                            for text in entry._logged_guards
                            if text != "GUARDS:"
                        ]
                    name_whole_paths(entry.guards, [function.filename] + files, modules)
                function._order = sorted(
                    function.entries, key=lambda one: order.get(id(one), len(order) + one.index)
                )


#: compiles of what compiled autograd traced, and the name of the file of what torch traced
_TRACED_BACKWARD = re.compile(r"!\d+/")
_TRACED_FILE = re.compile(r"<eval_with_key>")


def _lines_of(entry: Entry) -> Set[Tuple[str, int]]:
    """The lines of which the captured graph has operations, as (file, line)."""
    found: Set[Tuple[str, int]] = set()
    for artifact in entry.artifacts:
        if artifact.stage == "Captured_Graph":
            found |= {(row[0], row[1]) for row in artifact.structure.get("places") or () if row[1]}
    return {one for one in found if not _TRACED_FILE.match(one[0])}


def _updated_by(entry: Entry) -> Dict[str, int]:
    """How many tensors the graph of an entry changes in place, by the graph's name; {} where that
    is not known.
    """
    for artifact in entry.artifacts:
        nodes = artifact.structure.get("nodes") or ()
        if artifact.stage == "Captured_Graph" and nodes and entry.graph_name:
            written = {one for _, into, _ in artifact.structure.get("writes") or () for one in into}
            given = [one for one in written if one < len(nodes) and nodes[one][1] != OPERATION]
            return {entry.graph_name: len(given)}
    return {}


#: how Dynamo names an input of a graph, which may be an output, too
_INPUT = re.compile(r"^[lL]_(\w+?)_$")
_RETURNS = re.compile(r"^( *)return (.+?);?$", re.MULTILINE)


def _outputs_of(entry: Entry) -> Tuple[str, ...]:
    """The names of the captured graph's outputs, from its text, which exists before the code."""
    texts = [one._text or "" for one in entry.artifacts if one.stage == "Captured_Graph"]
    found = _RETURNS.findall(texts[-1]) if texts else []
    # the graphs inside of it, such as a branch of torch.cond, are classes inside of its class
    outermost = min(found, key=lambda one: len(one[0]), default=("", ""))
    told = re.match(r"\(([\w, ]*)\)\s*$", outermost[1])
    names = [one.strip() for one in told.group(1).split(",") if one.strip()] if told else []
    return tuple(_INPUT.sub(r"\1", one) for one in names)


def _file_of(code: types.CodeType) -> str:
    """The name of the file of a code object, without its folders."""
    return os.path.basename(file_of(code))


def _listed(names: List[str]) -> str:
    """Names as a list in words."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def _files_of(entries: List[Entry]) -> str:
    if len(entries) == 1:
        return entries[0].name + ".py"
    by_tail: Dict[str, List[int]] = {}
    for entry in entries:
        by_tail.setdefault(entry.name.partition("_for_")[2], []).append(entry.index)
    return _listed(
        [
            "__transformed_code_K_for_%s.py, K being %s" % (tail, _listed(list(map(str, numbers))))
            for tail, numbers in by_tail.items()
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


def _defaults(function: Function) -> str:
    """A sentence on the default values that the program's function has, and code of torch's not."""
    if function._defaults is None:
        found: Dict[str, str] = {}
        if re.search(r"\bdef\b[^:]*=", function.source[:_HEAD_OF_SOURCE]):
            try:
                found = defaults_of(function)
            except Exception:  # a source that is none of Python's
                pass_on()
        told = [name + value for name, value in found.items() if value != "=None"]
        told += ["None for %s" % ", ".join(n for n, value in found.items() if value == "=None")] * (
            "=None" in found.values()
        )
        function._defaults = "defaults in the program: %s" % ", ".join(told) if told else ""
    return function._defaults


#: characters of a source in which its parameters are looked for
_HEAD_OF_SOURCE = 4000


def _program_line(entry: Entry, function: Function, line: int) -> str:
    """The line of the program, `file:line`, for which a line of the code of an entry is; "" where
    that is not known.
    """
    mapped = dict(entry.line_map) if entry.code_path else {line: line}
    found = mapped.get(line) or 0
    if found == function.firstlineno:  # torch's own operations have the first line
        names = function.name, resumed(function.name)[0]
        places = [own_place(one, function.filename, names) for one in entry.breaks]
        found = entry._broke_at
        found = found or next((place[1] for place in reversed(places) if place is not None), 0)
    return "%s:%d" % (function.filename, found) if found else ""


def _extent(entry: Entry, function: Function) -> str:
    """Which compile the code of an entry is, and how far it goes, on one line."""
    first = "compile %s: " % entry.compile_id
    if not entry.breaks:
        return first + "to the end of the function, without a graph break"
    found = entry.breaks[-1]
    own = own_place(found, function.filename, (function.name, resumed(function.name)[0]))
    own = (function.filename, entry._broke_at) if entry._broke_at else own
    inner = parse_place(found.location)
    at = " at line %d" % own[1] if own is not None else ""
    beside = ""
    if inner is not None and inner != own:
        beside = " (%s:%d)" % (os.path.basename(inner[0]), inner[1])
    said = "%sup to the graph break%s" % (first, at)
    if entry.runs_on:
        said = "%sup to line %d, then plain Python, for the graph break%s"
        said %= first, entry.runs_on, at
    room = _HEAD - len(said)
    return said + (beside if len(shown(beside)) <= room else beside[: room - 1] + "…")


#: columns of a line of a file's head, behind its `# `
_HEAD = 98


def _resume_function_note(
    entries: List[Entry],
    given_up: Dict[str, str],
    rests: int,
    outer: str,
    ended_well: bool,
    called: Optional[bool],
) -> str:
    """A sentence that says where the code of a resume function is, or why there is none.

    Args:
        entries: its compiles.
        rests: the number of resume functions that the calling code calls.
        outer: the one that is given it and calls it, or "".
        ended_well: whether no exception ended the block.
        called: whether torch looked at a call of it; None where that is not known.
    """
    if not entries and not given_up:
        return words.no_compile_of_rest(rests, outer, ended_well, called)
    told = "its code is in %s." % _files_of(entries) if entries else ""
    if given_up:
        gone = words.from_then_on(given_up, len(entries))
        told += (" " + gone[0].upper() + gone[1:]) if told else gone
    return told


def _why_unattributed(entry: Entry) -> str:
    if entry.failure:
        return "the compile failed before torch made code for a function"
    if entry.compile_id.startswith("!"):
        return "compiled autograd: a whole backward pass, which is not a function of the program"
    gone = words.given_up(entry.to_json())
    if gone:
        said = words.from_then_on(gone, 0)
        return "torch made no code for this frame (" + said.partition(" (")[2].rstrip(".")
    return (
        "torch reported only a part of this compile: it began before the block or did not end in it"
    )


def _awaits_backward(entry: Entry) -> bool:
    stages = [artifact.stage for artifact in entry.artifacts]
    return (
        "Backward_graph" in stages
        and stages.count("kernel") == 1
        and not entry.backward_metrics
        and entry.code is not None
    )


def _matching(function: Function, cache_entry: Any) -> Optional[Entry]:
    code = getattr(cache_entry, "code", None)
    if code is not None:
        for entry in function.entries:
            if entry.code is code or entry._torch_code.get() is code:
                return entry
    compile_id = compat.entry_compile_id(cache_entry)
    for entry in reversed(function.entries):
        if compile_id is not None and entry.compile_id == compile_id:
            return entry
    if compile_id is None and code is not None:  # up to torch 2.4; names of graphs are unique there
        for entry in function.entries:
            if entry.graph_name and entry.graph_name in code.co_names:
                return entry
    return None
