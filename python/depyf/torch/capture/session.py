"""One open block: joins what it captures of each compile into a run."""

import functools
import os
import sys
import time
import types
from typing import Any, Dict, List, Optional, Tuple

import depyf.recompile
from depyf.decompiler import decompile_with_constants
from depyf.frame_contract import file_is_text, violation
from depyf.interrupts import pass_on
from depyf.model import Artifact, Entry, Function, LiveObject, Problem
from depyf.plain import text_of
from depyf.torch import compat
from depyf.torch.capture.ending import (
    name_backward_passes,
    name_running,
    raised_at,
    read_guards,
    waits_for_backward,
    why_unattributed,
)
from depyf.torch.capture.heads import about_code, outputs_of, updated_by
from depyf.torch.capture.rests import Rests, rests_apart
from depyf.torch.capture.warned import warn
from depyf.torch.codes import (
    bytecode_text,
    known_constants,
    known_to_tracebacks,
    left_to_tracebacks,
    own_code_from,
    source_of,
)
from depyf.torch.graph_structure import captured_inputs, operation, structure
from depyf.trace.breaks import parse_break
from depyf.trace.names import safe_name
from depyf.trace.records import Resets
from depyf.trace.vocabulary import GRAPH_STAGES

#: of this process: blocks tell of one run of numbers
_RESETS = Resets()


#: in the reasons of proofs that end for a word, which the program may have for another one
_NAMES_A_WORD = "the code names "


def _size(count: int) -> str:
    return "%d MiB" % (count >> 20) if count >= 1 << 20 else "%d bytes" % count


class Session(Rests):
    """One open block: collects events into its `run` and, when it has a folder, writes the dump."""

    def __init__(self, writer: Any = None, log_bytecode: bool = False, caches: bool = True) -> None:
        super().__init__(writer.numbers if writer is not None else {})
        self._resets = _RESETS
        self.writer = writer
        self.log_bytecode = log_bytecode
        self.caches = caches
        self.process = os.getpid()
        self._awaited: Optional[List[Entry]] = None
        self._full: Optional[Problem] = None  # the dump has reached its limit
        self._left_out = 0  # code objects that torch made since then
        self._shown: List[str] = []  # files that tracebacks find in linecache

    def interned_names(self) -> Dict[int, str]:
        """What the numbers stand for with which torch's trace names files."""
        return compat.interned_names()

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
            # files whose names differ in case alone are one on some systems
            entry.index = self._number("transformed", name.lower())
            entry.name = "__transformed_code_%d_for_%s" % (entry.index, name)
            entry.attempt = max(entry.attempt, attempt)
            entry.hooked = True
            entry._home = text_of(scope.get("__name__")) if scope is not None else ""
            function.entries.append(entry)
            if compat.trace_logger() is None:
                self._begun_at_hand(entry, code)
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
                    "%s; torch keeps its own bytecode: the program runs as it does without depyf, "
                    "but you cannot step through this code" % entry.verdict,
                    entry.detail,
                    short=self._why_unproven(entry),
                )
            return None
        # without a file there is nothing to step through, so torch may as well run its own
        if not owner or self.writer is None or not recompiled.path:
            return None
        entry.code_path = recompiled.path
        return self._replacement(
            entry, code, new_code, recompiled, observed=bool(shared.get("observed"))
        )

    def _why_unproven(self, entry: Entry) -> Optional[str]:
        """Where the reason stands, which speaks of bytecode; None for the warning to give it: a
        word of the program, or a block without a dump."""
        if self.writer is None or _NAMES_A_WORD in entry.detail:
            return None
        return "%s.py of the dump begins with the reason" % entry.name

    def _recompile(
        self, entry: Entry, code: types.CodeType, new_code: types.CodeType, shared: Dict[str, Any]
    ) -> Optional[depyf.recompile.Recompiled]:
        """Recompiles torch's `new_code`; None, with the reason in `shared`, if that fails."""
        template = self.writer.template() if self.writer is not None else None
        function = self._functions[id(code)]
        try:
            names, stack = self._handed(function, code, new_code, shared.get("scope"))
            outputs = compat.graph_outputs(new_code, shared.get("scope"))
            if entry.global_name and not outputs.get(entry.global_name):
                outputs[entry.global_name] = outputs_of(entry)
            notes = shared["notes"] = self._notes(entry, function, {}, ended=False)
            recompile = functools.partial(
                depyf.recompile.recompile,
                new_code,
                name=entry.name,
                dynamo=True,
                scope=shared.get("scope"),
                own_locals=code.co_varnames,
                installed=compat.installed_globals(),
                hints=depyf.recompile.Hints(
                    callee_parameters=names,
                    callee_results=outputs,
                    on_stack=stack,
                    updated=updated_by(entry),
                    about=about_code(
                        function,
                        entry,
                        code,
                        (compat.frame_locals() or {}, compat.frame_globals() or {}),
                        compat.guarded_sources(),
                    ),
                    notes=notes,
                ),
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
            if recompiled.path is not None:
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

    def raised(self, trace: Optional[types.TracebackType]) -> None:
        """Notes whose code raised the exception that ends the block, with its traceback."""
        try:
            frames = []
            while type(trace) is types.TracebackType:
                frames.append((trace.tb_frame.f_code, trace.tb_lineno or 0))
                trace = trace.tb_next
            if frames:
                self.run.raised_at = raised_at(self.run, frames)
        except Exception as error:
            pass_on()
            self.failed("reading the traceback of %s" % self.run.error, error)

    def finish(self) -> None:
        """Reads data that is complete only now, and writes the rest of the dump; never raises."""
        try:
            if self._full is not None and self._left_out:
                self._full.message += "; %d code objects were left out" % self._left_out
            self.collect_guards()
            name_running(self.run)
            self._note_skipped_functions()
            name_backward_passes(self.run)
            for entry in self.run.unattributed:
                entry.detail = entry.detail or why_unattributed(entry)
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
        self._apart = rests_apart(self.run)
        for function in self.run.functions:
            for entry in function.entries:
                notes = self._notes(entry, function, names, ended=True) if entry._notes else ""
                if notes != entry._notes and entry.source.count(entry._notes) == 1:
                    entry.source = entry.source.replace(entry._notes, notes)
                    entry._notes = notes
                    if self.writer is not None:
                        self.writer.source_changed(entry)

    def awaits_backward(self) -> bool:
        """True while a captured graph has a backward that inductor has not compiled yet.

        To be asked after the block.
        """
        try:
            tells = compat.trace_logger() is not None
        except Exception as error:
            pass_on()
            self.problem("waiting for a backward", str(error))
            return False
        if not tells:
            return False  # torch 2.2 does not tell of which compile a backward is
        if self._awaited is None:
            self._awaited = list(self.run.entries())
        while self._awaited and not waits_for_backward(self._awaited[-1]):
            self._awaited.pop()
        return bool(self._awaited)

    def collect_guards(self) -> None:
        """See `read_guards`."""
        with self._lock:
            read_guards(self.run, _RESETS, self.problem)
