"""Records of torch's trace, and texts of its log, joined by compile into a run."""

import json
import re
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from depyf.interrupts import pass_on
from depyf.model import Artifact, Entry, LiveObject, Mark, Run, Saved
from depyf.trace.breaks import parse_break
from depyf.trace.logged import read_logged
from depyf.trace.names import safe_name
from depyf.trace.saved import saved_for_backward
from depyf.trace.vocabulary import (
    CACHE_EVENT,
    GRAPH_STAGES,
    SKIPPED_ARTIFACTS,
    frames_named,
    stack_lines,
    without_configuration,
)

#: stages that torch does not compute where a cache had the graph
_NOT_MADE = (
    "BEFORE_PRE_GRAD",
    "AFTER_PRE_GRAD",
    "BEFORE_JOINT",
    "AFTER_JOINT",
    "BEFORE_POST_GRAD",
    "AFTER_POST_GRAD",
    "Forward_graph",
    "fx_graph_runnable",
    "kernel",
    "ir_pre_fusion",
    "ir_post_fusion",
)
#: in torch's text of an error: the stack of the operation of the graph that raised it
_OF_OPERATION = re.compile(r"^Original traceback:\n((?: +.*\n)+)", re.MULTILINE)
#: and the lines of the program that torch was tracing
_USER_CODE = re.compile(r"^from user code:\n((?: +\S.*(?:\n|$))+)", re.MULTILINE)
#: what is kept of a record about one of torch's caches
_CACHE_KEYS = (
    "key",
    "cache_state",
    "cache_bypass_reason",
    "cache_status_detailed",
    "time_saved_ns",
)


class _Record:
    """One record of the trace: its kind, name, metadata and payload."""

    __slots__ = ("kind", "name", "details", "metadata", "payload", "attempt")

    def __init__(
        self,
        kind: str,
        name: str,
        details: Dict[str, Any],
        metadata: Dict[str, Any],
        payload: Optional[str],
        attempt: int,
    ) -> None:
        self.kind = kind
        self.name = name
        self.details = details
        self.metadata = metadata
        self.payload = payload
        self.attempt = attempt


class Resets:
    """Counts the calls of torch._dynamo.reset(), after which torch numbers compiles from 0 again.

    Torch tells nobody of them: a function that is compiled for the first time, with a number that
    is not above those before, comes after one.
    """

    def __init__(self) -> None:
        self.count = 0
        self._latest = -1  # number of the last function that was compiled for the first time
        self._begun = LiveObject()

    def begins(self, context: Any, compile_id: str, again: bool = False) -> int:
        """Notes that a compile begins, and returns the count. Sessions may share this object, and
        tell of one compile in turn.

        Args:
            again: an earlier compile has the same number.
        """
        number = _FIRST_COMPILE.match(compile_id)
        if number is None or (context is not None and self._begun.get() is context):
            return self.count
        if again or int(number.group(1)) <= self._latest:
            self.count += 1
        self._latest, self._begun = int(number.group(1)), LiveObject(context)
        return self.count


#: the first compile of a function
_FIRST_COMPILE = re.compile(r"(?:!\d+/)?(\d+)/0$")


#: torch 2.4 writes the type of an exception as this
_CLASS = re.compile(r"<class '(?:.*\.)?(\w+)'>$")

#: what a compile failed of that has its reasons and no beginning
AT_LIMIT = "RecompileLimitExceeded: the recompile limit was reached"


class Records:
    """Reads records and texts into the entries of its `run`, in the order in which they come.

    A live session and the reader of a log derive from it.
    """

    def __init__(self) -> None:
        self.run = Run()
        self.open = False
        #: entries of which more became known, by id; who saves them takes them out
        self.changed: Dict[int, Entry] = {}
        self._lock = threading.RLock()
        self._by_context: Dict[int, Tuple[LiveObject, Entry]] = {}
        self._by_id: Dict[str, Entry] = {}
        self._resets = Resets()
        self._early: List[Any] = []  # a compile id and the marks that came before its first record

    # -- what those that derive from it know better

    def problem(self, where: str, message: str, detail: str = "") -> None:
        """Something that could not be done."""
        raise NotImplementedError

    def interned_names(self) -> Dict[int, str]:
        """What the numbers stand for with which torch's trace names files."""
        return {}

    def origins(self, entry: Entry, name: str) -> Dict[str, str]:
        """Node -> node of the captured graph, for a graph that is being traced."""
        return {}

    def structure(self, entry: Entry, name: str) -> Dict[str, Any]:
        """Nodes and edges of a graph that is being traced, where the graph itself is there."""
        return {}

    def failing_operation(self) -> Tuple[str, List[str]]:
        """The operation of a graph at which the exception that is passing was raised, and the
        stack of its line; "" and [] where that is not known.
        """
        return "", []

    def has_room(self, context: Any, compile_id: str) -> bool:
        """Whether more of this compile is taken."""
        return True

    def compile_ended(self, entry: Entry) -> None:
        """Everything of a compile, or of its backward, is there."""

    def came_late(self, entry: Entry) -> None:
        """A record came after the end of what is read here."""

    def _closed_to_more(self) -> bool:
        return False

    # -- joining

    def is_begun(self, context: Any, compile_id: str) -> bool:
        if context is None:  # a backward that is compiled later
            return compile_id in self._by_id
        found = self._by_context.get(id(context))
        return found is not None and found[0].get() is context

    def entry_of(self, context: Any, compile_id: str) -> Entry:
        if context is not None:
            known = self._by_context.get(id(context))
            if known is not None and known[0].get() is context:
                self.changed[id(known[1])] = known[1]
                return known[1]
        entry = self._by_id.get(compile_id)
        # ids start again after torch._dynamo.reset(); a context that was not seen before is then
        # another compile
        if entry is None or (context is not None and entry.finished):
            if entry is not None and entry.resets == self._resets.count:
                self._resets.begins(context, compile_id, again=True)
            entry = Entry(compile_id=compile_id, resets=self._resets.count)
            self._by_id[compile_id] = entry
            self.run.unattributed.append(entry)
        self.changed[id(entry)] = entry
        if context is not None:
            self._by_context[id(context)] = (LiveObject(context), entry)
        return entry

    # -- events

    def on_event(self, mark: Mark, context: Any, compile_id: str) -> None:
        """Handles the begin or end of one of torch's own timed events."""
        with self._lock:
            known = self._by_context.get(id(context)) if context is not None else None
            entry = known[1] if known is not None and known[0].get() is context else None
            if entry is None:
                if self._closed_to_more():
                    return
                entry = self._by_id.get(compile_id)
                if entry is None or (entry.finished and context is not None):
                    # the compile is not known yet, or is another one of that id
                    self._early = (
                        self._early if self._early[:1] == [compile_id] else [compile_id]
                    ) + [mark]
                    return
            if self._early:
                if self._early[0] == compile_id:
                    entry.marks.extend(self._early[1:])
                self._early = []
            entry.marks.append(mark)

    def _takes(self, context: Any, compile_id: str) -> bool:
        """Whether a record belongs here: after the end, only of what began before."""
        begun = self.open or self.is_begun(context, compile_id)
        return begun and self.has_room(context, compile_id)

    def on_trace(
        self,
        kind: str,
        metadata: Dict[str, Any],
        payload: Optional[str],
        context: Any,
        compile_id: str,
        attempt: int,
    ) -> None:
        """Handles one record of torch's structured trace."""
        with self._lock:
            if not self._takes(context, compile_id):
                return
            entry = self.entry_of(context, compile_id)
            if kind == "dynamo_start" and not attempt:
                entry.resets = self._resets.begins(context, compile_id)
            if attempt > entry.attempt and not entry.hooked:
                # Dynamo starts the frame again; what the abandoned attempt made is not what runs
                entry.attempt = attempt
                entry.artifacts = [kept for kept in entry.artifacts if kept.attempt >= attempt]
                entry.symbols, entry.sizes, entry.sequences = [], {}, {}
                entry.conditions = []
                entry.saved = None
            details = metadata.get(kind)
            details = details if isinstance(details, dict) else {}
            name = str(details.get("name", "")) if kind in ("artifact", "graph_dump") else kind
            self._record(entry, _Record(kind, name, details, metadata, payload, attempt))
            if not self.open:
                self.came_late(entry)

    def _record(self, entry: Entry, record: _Record) -> None:
        handler = _HANDLERS.get(record.name)
        if handler is not None:
            handler(self, entry, record)
        elif record.name in GRAPH_STAGES:
            self._on_graph(entry, record)
        elif record.kind == "graph_dump":
            self._on_graph_dump(entry, record)
        elif CACHE_EVENT.match(record.name):
            self._on_cache(entry, record)
        elif record.kind == "artifact":
            self._on_artifact(entry, record)

    def _on_graph(self, entry: Entry, record: _Record) -> None:
        if record.payload is None:
            return
        if record.name == "dynamo_output_graph":
            entry.sizes = dict(record.details.get("sizes") or {})
        artifact = Artifact(
            GRAPH_STAGES[record.name],
            "graph",
            attempt=record.attempt,
            note=str(record.metadata.get("subgraph_name", "") or ""),
            origins=self.origins(entry, record.name),
            structure=self.structure(entry, record.name),
        )
        self._add(entry, artifact, record.payload)
        if artifact.stage == "Backward_graph":
            forward = [one for one in entry.artifacts if one.stage == "Forward_graph"]
            before = forward[-1].text if forward else ""
            entry.saved = entry.saved or Saved()
            entry.saved.add(saved_for_backward(record.payload, entry.symbols, before))

    def _on_graph_dump(self, entry: Entry, record: _Record) -> None:
        if record.payload is not None:
            stage = safe_name(record.name or "graph")
            self._add(entry, Artifact(stage, "graph", attempt=record.attempt), record.payload)

    def _on_kernel(self, entry: Entry, record: _Record) -> None:
        if record.payload is None:
            return
        path = record.details.get("file_path") or record.details.get("filename")
        artifact = Artifact("kernel", "kernel", attempt=record.attempt, source_path=path)
        self._add(entry, artifact, record.payload)

    def _on_start(self, entry: Entry, record: _Record) -> None:
        entry.user_stack = stack_lines(record.details.get("stack"), self.interned_names())
        if entry.failure == AT_LIMIT:
            entry.failure = ""

    def _on_break(self, entry: Entry, record: _Record) -> None:
        if record.payload is None:
            return
        found = parse_break(record.payload, record.attempt)
        # torch starts a frame again because of a break, and reports this break a second time
        for known in entry.breaks:
            if (known.reason, known.location) == (found.reason, found.location):
                if found.text.startswith(known.text):  # and that it is in a loop
                    known.text = found.text
                return
        entry.breaks.append(found)

    def _on_reasons(self, entry: Entry, record: _Record) -> None:
        if record.payload is None:
            return
        try:
            reasons = json.loads(record.payload)
        except ValueError:
            pass_on()
            reasons = [record.payload]
        entry.reasons.extend(map(str, reasons if isinstance(reasons, list) else [reasons]))
        if not entry.user_stack:
            # torch up to 2.6 looks at the limit next, tells nothing of it, and then begins
            entry.failure = entry.failure or AT_LIMIT

    def _on_guard_tree(self, entry: Entry, record: _Record) -> None:
        if record.payload is not None:
            entry.guard_tree = record.payload

    def _on_symbol(self, entry: Entry, record: _Record) -> None:
        symbol = {key: value for key, value in record.details.items() if key != "stack"}
        if "user_stack" in symbol:
            symbol["user_stack"] = frames_named(symbol["user_stack"], self.interned_names())
        entry.symbols.append(symbol)

    def _on_condition(self, entry: Entry, record: _Record) -> None:
        stack = stack_lines(record.details.get("user_stack"), self.interned_names())
        if stack and stack not in entry.conditions:
            entry.conditions.append(stack)

    def _on_metrics(self, entry: Entry, record: _Record) -> None:
        entry.metrics = without_configuration(record.details)
        entry.finished = True
        if entry.failure == AT_LIMIT:
            entry.failure = ""
        failure = record.details.get("fail_type")
        told = _CLASS.match(str(failure))
        failure = told.group(1) if told else failure
        if entry.hooked and record.details.get("has_guarded_code") is False:
            entry.replaced = False  # torch has installed nothing, neither its code nor depyf's
        if failure:
            entry.failure = "%s: %s" % (failure, record.details.get("fail_reason") or "")
            entry.failure_operation, stack = self.failing_operation()
            if not stack:  # torch drops what its graph's nodes know once a compile has failed
                told = _OF_OPERATION.search(entry.failure)
                stack = told.group(1).splitlines() if told else []
            entry.failure_stack = stack or entry.failure_stack
        elif not record.details.get("has_guarded_code"):
            # torch tells of exceptions alone; it writes its figures while this one passes
            raised = sys.exc_info()[1]
            if isinstance(raised, (KeyboardInterrupt, SystemExit)):
                entry.failure = "%s: the compile was interrupted" % type(raised).__name__
        self._stages_not_made(entry)
        self.compile_ended(entry)

    def _on_backward_metrics(self, entry: Entry, record: _Record) -> None:
        entry.backward_metrics = without_configuration(record.details)
        self.compile_ended(entry)

    def _on_cache(self, entry: Entry, record: _Record) -> None:
        match = CACHE_EVENT.match(record.name)
        if match is None:
            return
        event = {"cache": match.group("cache"), "result": match.group("result")}
        try:
            more = json.loads(record.payload) if record.payload else {}
        except ValueError:
            pass_on()
            more = {}
        for key in _CACHE_KEYS:
            if isinstance(more, dict) and more.get(key) is not None:
                event[key] = more[key]
        entry.cache.append(event)

    def _on_artifact(self, entry: Entry, record: _Record) -> None:
        if record.name == "dynamo_error" and record.payload is not None:
            told = _USER_CODE.search(record.payload)
            entry.failure_stack = told.group(1).splitlines() if told else []
        if record.payload is None or SKIPPED_ARTIFACTS.match(record.name):
            return
        kind = "json" if record.details.get("encoding") == "json" else "text"
        artifact = Artifact(safe_name(record.name), kind, attempt=record.attempt)
        self._add(entry, artifact, record.payload)

    def _add(self, entry: Entry, artifact: Artifact, text: str) -> None:
        same = [known for known in entry.artifacts if known.stage == artifact.stage]
        if any(known._text == text and known.kind == "graph" for known in same):
            return  # torch emits some graphs under two names
        artifact.index = len(same)
        artifact._text = text
        entry.artifacts.append(artifact)

    def on_text(self, stage: str, text: str, context: Any, compile_id: str, attempt: int) -> None:
        """Handles a text that torch logs and does not trace."""
        with self._lock:
            if not self._takes(context, compile_id):
                return
            self._add(
                self.entry_of(context, compile_id),
                Artifact(stage, "text", attempt=attempt, origin="log"),
                text,
            )

    def on_log(
        self,
        kind: str,
        text: str,
        figures: Dict[str, Any],
        context: Any,
        compile_id: str,
        attempt: int,
    ) -> None:
        """Handles a text, or figures, that stand in for a record where torch traces none."""
        name, payload = (kind, text) if figures else read_logged(kind, text)
        with self._lock:
            if not self._takes(context, compile_id):
                return
            if kind == "guards":
                self.entry_of(context, compile_id)._logged_guards.append(text)
            elif name:
                record = _Record(name, name, figures, {}, payload, attempt)
                self._record(self.entry_of(context, compile_id), record)

    def _stages_not_made(self, entry: Entry) -> None:
        hit = [event["cache"] for event in entry.cache if event["result"] == "hit"]
        if not hit:
            return
        present = {artifact.stage for artifact in entry.artifacts}
        reason = (
            "torch's %s had this graph, so torch did not compute this stage; caches=False "
            "computes it" % " and ".join(sorted(set(hit)))
        )
        for stage in _NOT_MADE:
            if stage not in present:
                entry.missing[stage] = reason


_HANDLERS: Dict[str, Callable[[Records, Entry, _Record], None]] = {
    "inductor_output_code": Records._on_kernel,
    "dynamo_start": Records._on_start,
    "dynamo_graph_break_reason": Records._on_break,
    "recompile_reasons": Records._on_reasons,
    "dynamo_cpp_guards_str": Records._on_guard_tree,
    "create_symbol": Records._on_symbol,
    "guard_added_fast": Records._on_condition,
    "create_unbacked_symbol": Records._on_symbol,
    "compilation_metrics": Records._on_metrics,
    "bwd_compilation_metrics": Records._on_backward_metrics,
}
