"""The one bytecode hook and the one handler of the trace, which serve all open blocks.

They are there only while a block is open, or a graph that was captured in one still waits for its
backward."""

import _thread
import atexit
import functools
import logging
import os
import threading
import types
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from depyf.decompiler import decompile
from depyf.interrupts import pass_on
from depyf.model import Run
from depyf.plain import name_of
from depyf.torch import compat
from depyf.torch.capture.session import Session
from depyf.torch.capture.warned import log
from depyf.trace.vocabulary import (
    SKIPPED,
    SKIPPED_ARTIFACTS,
    compile_id_of,
    read_mark,
    record_kind,
)


class _TraceHandler(logging.Handler):
    def __init__(self, hub: "Hub") -> None:
        super().__init__(level=logging.DEBUG)
        self._hub = hub

    def handle(self, record: logging.LogRecord) -> bool:  # no lock: sessions have their own
        compat.untraced(self._hub.traced, record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        compat.untraced(self._hub.traced, record)


def _raised(error: Exception) -> None:
    raise error


def _with_all_frames(details: Any) -> Any:
    """What torch tells of a compile that starts, with the callers that its stack may lack."""
    stack = details.get("stack") if isinstance(details, dict) else None
    if not isinstance(stack, list) or not all(isinstance(frame, dict) for frame in stack or [0]):
        return details
    frames, begun = compat.calling_frames(), compat.compiled_frame()
    told = [(frame.get("name"), frame.get("line")) for frame in stack]
    known = [(frame["name"], frame["line"]) for frame in frames]
    if begun is not None and told[: len(known)] == known and told[-1][0] != begun["name"]:
        # torch 2.4 has frames of its own behind the callers, and not the function
        return dict(details, stack=frames + [begun])
    told.pop()
    if told != known[: len(told)]:
        return details
    return dict(details, stack=frames + stack[-1:])


class _TakeText(logging.Filter):
    """Hands each text of a logger to `take`, which must not raise. The text goes on to the log only
    if its level was enabled before, and logging is not disabled.
    """

    def __init__(self, take: Callable[[logging.LogRecord], None], lowest: int) -> None:
        super().__init__()
        self._take = take
        self._lowest = lowest

    def filter(self, record: logging.LogRecord) -> bool:
        compat.untraced(self._take, record)
        return record.levelno >= max(self._lowest, logging.root.manager.disable + 1)


def log_source(new_code: types.CodeType, shared: Dict[str, Any]) -> None:
    """Writes the source of what torch made into torch's log of bytecode; never raises."""
    try:
        logger = compat.evaluation_log()
        if logger is None or not logger.isEnabledFor(logging.DEBUG):
            return
        recompiled = shared.get("recompiled")
        if recompiled is not None and recompiled.source:
            text = recompiled.source
        else:
            try:
                text = decompile(new_code, check=False)
            except Exception as error:
                pass_on()
                text = "# not decompiled: %s" % error
        logger.debug("possible source code:\n%s", text)
    except Exception as error:
        pass_on()
        log.debug("depyf: printing source failed: %r", error)


class Hub:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: List[Session] = []  # outermost first
        self._lingering: List[Session] = []
        self._printing = 0
        self._at_exit = False
        self._hook: Any = None
        self._handler: Optional[_TraceHandler] = None
        self._filters: List[Tuple[logging.Logger, _TakeText]] = []
        self._taken: Set[str] = set()  # kinds of texts that replace records of the trace
        self._fusion_attached = False
        self._fusion: List[Callable[[], None]] = []  # each ends the watch on one of its loggers
        self._in_child: Optional[Callable[[], None]] = None
        # thread -> records that wait for the next one
        self._held: Dict[int, List[Tuple[str, Dict[str, Any], Callable[[], Any]]]] = {}
        self._formatted: Any = None  # takes away what watches graphs that a backend formats

    def add(self, session: Session) -> None:
        with self._lock:
            session.open = True
            self._sessions.append(session)
            self._attach()
            self._finish_at_exit()

    def watches(self) -> bool:
        """Whether a block is open."""
        return bool(self._sessions)

    def remove(self, session: Session) -> None:
        for thread in list(self._held):
            self._take_held(thread)
        with self._lock:
            session.open = False
            if session in self._sessions:
                self._sessions.remove(session)
            self._attach()

    def runs(self) -> List[Run]:
        """Those of the sessions that are open in this process."""
        return [session.run for session in self._active()]

    def linger(self, session: Session) -> None:
        with self._lock:
            self._lingering.append(session)
            self._attach()
            self._finish_at_exit()

    def _finish_at_exit(self) -> None:
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self._finish)

    def _finish(self) -> None:
        # a block that was entered by hand and never left still gets its files
        process = os.getpid()
        for session in [one for one in self._sessions if one.process == process]:
            self.remove(session)
            session.finish()
        for session in [one for one in self._lingering if one.process == process]:
            self._settle(session)

    @staticmethod
    def _settle(session: Session) -> None:
        try:
            if session.writer is not None:
                session.writer.settle(session)
        except Exception as error:
            pass_on()
            session.failed("writing the dump", error)

    def print_source(self, count: int) -> None:
        with self._lock:
            self._printing = max(0, self._printing + count)
            self._attach()

    def _attach(self) -> None:
        wants_hook = bool(self._sessions) or bool(self._printing)
        if wants_hook and self._hook is None:
            self._hook = compat.register_bytecode_hook(self.hooked)
        elif not wants_hook and self._hook is not None:
            self._hook.remove()
            self._hook = None
        if self._sessions:
            self._watch_formatted()
        elif not self._sessions and self._formatted is not None:
            self._formatted()
            self._formatted = None
        wants_trace = bool(self._sessions) or bool(self._lingering)
        logger = compat.trace_logger() if wants_trace or self._handler is not None else None
        if logger is None:
            if wants_trace:
                self._attach_artifacts()
            else:
                self._release_filters()
            return
        if wants_trace and self._handler is None:
            self._handler = _TraceHandler(self)
            compat.add_trace_handler(self._handler, self.offered)
            self._attach_artifacts()
        elif not wants_trace and self._handler is not None:
            compat.remove_trace_handler(self._handler)
            self._handler = None
            self._release_filters()

    def _watch_formatted(self) -> None:
        if self._formatted is None:
            self._formatted = compat.watch_formatted_graphs(self.formatted)

    def _release_filters(self) -> None:
        for logger, taker in self._filters:
            logger.removeFilter(taker)
            for level in compat.levels_of(""):
                compat.stop_asking(logger, level)
        for end in self._fusion:
            end()
        self._filters, self._taken = [], set()
        self._fusion, self._fusion_attached = [], False

    def _take(self, kind: str, logger: logging.Logger) -> None:
        take = functools.partial(self.logged, kind)
        taker = _TakeText(take, logger.getEffectiveLevel())
        self._filters.append((logger, taker))
        logger.addFilter(taker)
        for level in compat.levels_of(kind):
            compat.ask_for(logger, level)

    def _attach_artifacts(self) -> None:
        for kind, logger in compat.artifact_loggers().items():
            if kind not in self._taken:
                self._taken.add(kind)
                self._take(kind, logger)

    def _attach_fusion(self) -> None:
        # inductor is imported when it is first used, which is after a block was opened
        with self._lock:
            if self._fusion_attached or self._handler is None:
                return
            self._fusion_attached = True
            for stage, logger in compat.fusion_loggers().items():
                take = functools.partial(self.fused, stage)
                self._fusion.append(compat.watch_fusion(logger, take))
            skips = compat.cudagraph_logger()
            if skips is not None:
                taker = _TakeText(self.skipped_cudagraph, logging.NOTSET)
                skips.addFilter(taker)
                self._fusion.append(functools.partial(skips.removeFilter, taker))

    def _active(self, lingering: bool = False) -> List[Session]:
        # a forked process inherits the blocks of its parent; their folder and their run are the
        # parent's
        process = os.getpid()
        if self._in_child is not None:
            begin, self._in_child = self._in_child, None
            begin()
        sessions = self._sessions
        if lingering and self._lingering:
            sessions = sessions + self._lingering
        return [session for session in sessions if session.process == process]

    def hooked(self, code: types.CodeType, new_code: types.CodeType) -> Optional[types.CodeType]:
        """The bytecode hook.

        An exception must not reach torch, which would pass it on to the user's program.
        """
        replacement = None
        try:
            context, compile_id, attempt = compat.current_compile()
            scope = compat.frame_globals()
            observed = compat.reads_are_observed()
        except Exception as error:
            pass_on()
            self._tell("asking torch for the compile at hand", error)
            context, compile_id, attempt, scope, observed = None, None, 0, None, False
        shared: Dict[str, Any] = {"scope": scope, "observed": observed}
        try:
            shared["hooks_behind"] = compat.hooks_behind(self.hooked)
        except Exception as error:
            pass_on()
            self._tell("asking torch for the other bytecode hooks", error)
        # the innermost block that writes files owns the replacement; without one nothing is
        # replaced
        active = self._active()
        owners = [session for session in reversed(active) if session.writer is not None]
        for session in owners + [session for session in reversed(active) if session.writer is None]:
            try:
                found = session.on_bytecode(
                    code, new_code, context, compile_id or "?", attempt, scope, shared
                )
                replacement = replacement if replacement is not None else found
            except Exception as error:
                pass_on()
                session.failed("looking at the transformed code of %s" % name_of(code), error)
        if self._printing:
            log_source(new_code, shared)
        return replacement

    def traced(self, record: logging.LogRecord) -> None:
        """The handler of the structured trace; never raises."""
        metadata = getattr(record, "metadata", None)
        if not isinstance(metadata, dict):
            return
        try:
            if compat.trace_is_held_back():
                return
        except Exception as error:
            pass_on()
            self._tell("asking for the handlers of torch's trace", error)
        kind = record_kind(metadata)
        if kind and kind not in SKIPPED:
            self._told(kind, metadata, lambda: getattr(record, "payload", None))

    def offered(self, record: compat.Offered) -> None:
        """Takes a record that torch has not made, since nobody else listens; never raises."""
        if record.name == "chromium_event":  # most records are
            self._marked(record)
            return
        if record.name in SKIPPED:
            return
        try:
            details = compat.details_of(record)
            metadata = compat.surroundings_of(record)
        except Exception as error:
            # the record counts without them: it may be the one that ends its compile
            pass_on()
            self._told(record.name, {record.name: {}}, functools.partial(_raised, error))
            return
        artifact = str(details.get("name", "")) if isinstance(details, dict) else ""
        if record.name == "artifact" and SKIPPED_ARTIFACTS.match(artifact):
            return
        metadata[record.name] = details
        self._told(record.name, metadata, functools.partial(compat.payload_of, record))

    def _marked(self, record: compat.Offered) -> None:
        """Takes the begin or the end of something that torch times.

        There are many of them for each compile, so that nothing else of them is computed.
        """
        if self._held:
            self._take_held(_thread.get_ident())
        try:
            mark = read_mark(record.payload())
            if mark is None:
                return
            context, compile_id, _ = compat.current_compile()
            if compile_id is None:
                context, compile_id = None, compile_id_of(compat.surroundings_of(record))
            if compile_id is None:
                return
            if not self._fusion_attached and compat.inductor_loaded():
                self._attach_fusion()
            for session in self._active(lingering=True):
                session.on_event(mark, context, compile_id)
        except Exception as error:
            pass_on()
            self._tell("reading torch's trace", error)

    def _told(self, kind: str, metadata: Dict[str, Any], made: Callable[[], Any]) -> None:
        """Takes a record.

        The figures of a compile come where torch drops exceptions. With them depyf writes files,
        which takes long, and a signal handler of the program may raise an exception meanwhile. So
        they wait for what torch tells next.
        """
        try:
            waits = kind == "compilation_metrics" and compat.drops_exceptions()
        except Exception as error:
            pass_on()
            self._tell("reading where torch tells the figures of a compile", error)
            waits = False
        if waits:
            held = self._held.setdefault(_thread.get_ident(), [])
            held.append((kind, metadata, made))
            return
        self._take_held(_thread.get_ident())
        self._take_record(kind, metadata, made)

    def _take_held(self, thread: int) -> None:
        for kind, metadata, made in self._held.pop(thread, ()):
            self._take_record(kind, metadata, made)

    def _take_record(self, kind: str, metadata: Dict[str, Any], made: Callable[[], Any]) -> None:
        payload: Any = None
        failure: Optional[Exception] = None
        try:
            sessions = self._active(lingering=True)
            if not sessions:
                return
            context, compile_id, attempt = compat.current_compile()
            if compile_id is None:
                compile_id = compile_id_of(metadata)
                attempt = int(metadata.get("attempt", 0))
                context = None
            if compile_id is None:
                return
            if kind == "dynamo_start":
                with self._lock:
                    self._attach_artifacts()
                    self._watch_formatted()  # Dynamo is imported when it is first used
                metadata = dict(metadata, **{kind: _with_all_frames(metadata.get(kind))})
            if not self._fusion_attached and compat.inductor_loaded():
                self._attach_fusion()
            try:
                payload = made()
                if kind != "chromium_event":
                    payload = compat.payload_text(payload)
            except Exception as error:  # of torch, or of what the program put in its place
                pass_on()
                failure = error
            if kind == "chromium_event":
                mark = read_mark(payload)
                if mark is not None:
                    for session in sessions:
                        session.on_event(mark, context, compile_id)
                return
        except Exception as error:
            pass_on()
            self._tell("reading torch's trace", error)
            return
        for session in sessions:
            try:
                if failure is not None:
                    session.not_told(kind, metadata, failure, context, compile_id)
                session.on_trace(kind, metadata, payload, context, compile_id, attempt)
            except Exception as error:
                pass_on()
                session.failed("reading torch's trace record %s" % kind, error)
        if self._lingering and kind in ("bwd_compilation_metrics", "compilation_metrics"):
            with self._lock:
                done = [one for one in self._lingering if not one.awaits_backward()]
                self._lingering = [one for one in self._lingering if one not in done]
                self._attach()
            for session in done:
                if session.process == os.getpid():
                    self._settle(session)

    def follow_in_child(self, begin: Callable[[], None]) -> None:
        """In a process that was forked: `begin` opens its block when it first compiles."""
        self._lock = threading.RLock()  # another thread of the parent may have held it
        self._in_child = begin

    def formatted(self, name: str, graph_module: Any) -> None:
        """Takes a graph that a backend formats; never raises."""
        try:
            context, compile_id, attempt = compat.current_compile()
        except Exception as error:
            pass_on()
            self._tell("asking torch for the compile at hand", error)
            return
        if compile_id is None:
            return
        for session in self._active():
            try:
                session.on_formatted(name, graph_module, context, compile_id, attempt)
            except Exception as error:
                pass_on()
                session.failed("reading the graph %r of a backend" % name, error)

    def logged(self, stage: str, record: logging.LogRecord) -> None:
        """Takes a text of torch's log; never raises."""
        try:
            if self._taken:
                with self._lock:
                    self._attach_artifacts()  # inductor is loaded when it is first used
            context, compile_id, attempt = compat.current_compile()
            if compile_id is None:
                return
            figures = compat.logged_metrics(record) if stage == compat.METRICS else {}
            if figures is None:
                return
            text = compat.logged_text(record) if not figures else ""
        except Exception as error:
            pass_on()
            self._tell("reading torch's log", error)
            return
        for session in self._active(lingering=True):
            try:
                session.on_log(stage, text, figures, context, compile_id, attempt)
            except Exception as error:
                pass_on()
                session.failed("reading torch's log of %s" % stage, error)

    def skipped_cudagraph(self, record: logging.LogRecord) -> None:
        """Takes why a graph runs without a CUDA graph; never raises."""
        try:
            text = " ".join(str(record.getMessage()).split())
            if text.startswith("skipping cudagraph"):
                for session in self._active():
                    if text not in session.run.cudagraph_skips:
                        session.run.cudagraph_skips.append(text)
        except Exception as error:
            pass_on()
            self._tell("reading torch's log of CUDA graphs", error)

    def fused(self, stage: str, write: Callable[[], str]) -> None:
        """Takes the text of inductor's IR before or after fusion; never raises."""
        sessions = self._active(lingering=True)
        try:
            context, compile_id, attempt = compat.current_compile()
            if compile_id is None or not sessions:
                return
            text = write()
        except Exception as error:
            pass_on()
            self._tell("writing inductor's %s" % stage, error)
            return
        for session in sessions:
            try:
                session.on_text(stage, text, context, compile_id, attempt)
            except Exception as error:
                pass_on()
                session.failed("reading inductor's %s" % stage, error)

    def _tell(self, where: str, error: Exception) -> None:
        for session in self._active():
            session.failed(where, error)


hub = Hub()


def open_runs() -> List[Run]:
    """What the blocks that are open in this process have seen, the outermost first."""
    return hub.runs()


def follow_in_child(begin: Callable[[], None]) -> None:
    """Opens a block of a forked process when that first compiles; see depyf.follow."""
    hub.follow_in_child(begin)
