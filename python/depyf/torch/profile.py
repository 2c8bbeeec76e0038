"""Where the time of a compiled call goes: guards, Python between graphs, wrappers, graphs.

Built on torch.profiler, whose events nest: what an event took beside those inside it belongs to one
part, so the parts of a run add up to all of it.
"""

import bisect
import inspect
import statistics
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from depyf.model import Saved
from depyf.report import runtime
from depyf.terminal import shown, short_path
from depyf.torch import compat
from depyf.torch.capture import capture, open_runs
from depyf.torch.memory import Memory, of_call, shown_bytes
from depyf.trace.names import resume_title
from depyf.trace.operator_lines import lines_of

_ALL = "depyf: all calls"
_REGION = "Torch-Compiled Region"  # up to torch 2.4 that alone, without the compile
_REGION_OF = _REGION + ": "
#: the parts of a call in their order, with what they are called where they are shown
PARTS = runtime.PARTS


def _part(name: str, inside: str) -> str:
    """The part to which an event belongs by its name.

    Args:
        name: the event's.
        inside: the part of the event around it.
    """
    if name.endswith("(dynamo_timed)") or inside == "compiling":
        return "compiling"
    if name in _WAITS:
        return "waiting"
    if name == "TorchDynamo Cache Lookup":
        return "guards"
    if name.startswith(_REGION) or name == "Pregraph bytecode":
        return "python"
    if name.startswith("AOTDispatcher Runtime Wrapper"):
        return "wrappers"
    if name.startswith("## Call CompiledFxGraph"):
        return "graphs"
    if name.startswith("autograd::engine") or name.endswith("Backward") or "Backward0" in name:
        return "autograd"
    if "::" in name:  # aten::add; inside of a graph it is the graph's
        return inside if inside in ("graphs", "operators") else "operators"
    return inside


@dataclass
class Timing:
    """Seconds of one call: the median of many, and the quartiles around it."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(seconds: List[float]) -> "Timing":
        """The timing of measured calls."""
        if len(seconds) < 2:
            return Timing(seconds[0], seconds[0], seconds[0])
        low, median, high = statistics.quantiles(seconds, n=4)
        return Timing(median, low, high)

    def __str__(self) -> str:
        return "%s (%s to %s)" % (_time(self.median), _time(self.low), _time(self.high))


@dataclass
class OperatorTime:
    """One operator or kernel that ran by itself."""

    name: str
    calls: int
    seconds: float
    device: str = "cpu"
    lines: List[str] = field(default_factory=list)  # of the program, which it computes


@dataclass
class DeviceTime:
    """What a device with a queue of its own, such as a GPU, did in all calls.

    Attributes:
        busy: seconds in which at least one kernel or copy ran.
        kernels: how many of them ran.
        device: "cuda", for example.
        graphs: how many CUDA graphs were launched.
    """

    busy: float
    kernels: int
    device: str
    graphs: int = 0


@dataclass
class EntryTime:
    """What one compiled entry took in all calls, in seconds, without the entries that it calls."""

    compile_id: str
    name: str = ""
    place: str = ""
    calls: int = 0
    parts: Dict[str, float] = field(default_factory=dict)
    guard_seconds: Optional[float] = None  # one check of the guards, where torch measured it
    saved: Optional[Saved] = None  # what its backward graph needs kept, where it was seen
    operators: List[OperatorTime] = field(default_factory=list)  # the costliest first

    @property
    def seconds(self) -> float:
        """All that it took."""
        return sum(self.parts.values())


@dataclass
class Profile:
    """Where the time of a compiled function goes; `str` of it is a table.

    Attributes:
        calls: how many calls were looked at; 0 for a whole program.
        whole: seconds of all these calls by the clock, with torch's profiler at work.
        parts: what the parts of `PARTS` took of it, in seconds; they add up to `whole`.
        entries: each compiled entry that ran, the costliest first.
        operators: operators and kernels by themselves, the costliest first.
        compiled, eager: one call without the profiler, compiled and not, measured in turns.
        compiled_memory, eager_memory: what one call needs; None where it was not measured.
        cudagraph_skips: why torch ran graphs of this function without CUDA graphs.
        device: what a GPU did in all calls; None where none did anything.
        function: the name of what was called; "" for a whole program.
    """

    calls: int
    whole: float
    parts: Dict[str, float]
    entries: List[EntryTime]
    operators: List[OperatorTime]
    compiled: Optional[Timing] = None
    eager: Optional[Timing] = None
    compiled_memory: Optional[Memory] = None
    eager_memory: Optional[Memory] = None
    cudagraph_skips: List[str] = field(default_factory=list)
    function: str = ""
    device: Optional[DeviceTime] = None

    def to_json(self) -> Dict[str, Any]:
        """The same as plain data; docs/run_schema.md describes it."""

        def plain(found: Any) -> Any:
            return None if found is None else dict(vars(found))

        return {
            "function": self.function,
            "calls": self.calls,
            "whole": self.whole,
            "parts": dict(self.parts),
            "entries": [
                dict(
                    vars(one),
                    parts=dict(one.parts),
                    saved=plain(one.saved),
                    operators=[plain(row) for row in one.operators],
                )
                for one in self.entries
            ],
            "operators": [plain(one) for one in self.operators],
            "compiled": plain(self.compiled),
            "eager": plain(self.eager),
            "memory": {"compiled": plain(self.compiled_memory), "eager": plain(self.eager_memory)},
            "cudagraph_skips": list(self.cudagraph_skips),
            "device": plain(self.device),
        }

    @property
    def verdict(self) -> str:
        """Whether compiled is faster than eager, as far as the noise tells."""
        if self.compiled is None or self.eager is None:
            return ""
        fast, slow = sorted((self.compiled, self.eager), key=lambda one: one.median)
        if fast.high >= slow.low:
            return "compiled and eager take the same time, within the noise"
        ratio = slow.median / max(fast.median, 1e-12)
        how = "faster" if fast is self.compiled else "slower"
        return "compiled is %.2f times %s than eager" % (ratio, how)

    def __str__(self) -> str:
        lines = []
        if self.compiled is not None:
            lines.append("one call, compiled  %s" % self.compiled)
        if self.eager is not None:
            lines += ["one call, eager     %s" % self.eager, self.verdict]
        lines += self._memory_lines()
        head = "%d calls, %s each under the profiler" % (self.calls, self._each(self.whole))
        if not self.calls:
            head = "the whole program, %s under the profiler" % self._each(self.whole)
        lines += ["", head]
        for part, words in PARTS:
            seconds = self.parts.get(part, 0.0)
            if seconds:
                share = 100 * seconds / max(self.whole, 1e-12)
                lines.append("%5.1f %%  %10s  %s" % (share, self._each(seconds), words))
        plain = self.to_json()
        computed = runtime.device_row(plain)
        if computed is not None:
            figures = (computed["share"], _time(computed["each"]), computed["words"])
            lines.append("%5.1f %%  %10s  %s" % figures)
        lines += self._entry_lines()
        titles = _distinct_names([runtime.kernel_title(row.name) for row in self.operators[:10]])
        width = max([32, *map(len, titles)])
        if titles:
            lines += ["", "%-*s calls       each" % (width, "operators and kernels")]
        for title, row in zip(titles, self.operators):
            each = _time(row.seconds / max(row.calls, 1))
            text = "%-*s %5d %10s  %s" % (width, title, row.calls, each, _places(row.lines))
            lines.append(shown(text).rstrip())
        told = runtime.conclusions(plain)
        return "\n".join(lines + [""] * bool(told) + [shown(text) for text in told])

    def _entry_lines(self) -> List[str]:
        """A row for each entry, with the columns that have a figure."""
        kept = [
            (words, names)
            for words, names in _COLUMNS
            if any(one.parts.get(name) for one in self.entries for name in names)
        ]
        head = "".join("  %10s" % words for words, _ in [("each", ())] + kept)
        labels = ["[%s] %s" % (one.compile_id, one.name) for one in self.entries[:20]]
        width = max(32, *map(len, labels)) if labels else 32
        lines = ["", "%-*s calls%s" % (width, "entries", head)] if labels else []
        for label, one in zip(labels, self.entries):
            count = max(one.calls, 1)
            sums = [one.seconds]
            sums += [sum(one.parts.get(name, 0.0) for name in names) for _, names in kept]
            times = "".join("  %10s" % (_time(cell / count) if cell else "-") for cell in sums)
            row = "%-*s %5d%s  %s" % (width, label, one.calls, times, one.place)
            lines.append(shown(row).rstrip())
        return lines

    def _memory_lines(self) -> List[str]:
        rows = [("compiled", self.compiled_memory), ("eager", self.eager_memory)]
        told = [
            "%s %s at most, %s after the call"
            % (what, shown_bytes(one.peak), shown_bytes(one.kept))
            for what, one in rows
            if one is not None
        ]
        lines = ["memory of one call: " + "; ".join(told)] if told else []
        for one in self.entries:
            if one.saved is None or not one.saved.tensors:
                continue
            more = ", %d more of unknown size" % one.saved.unknown if one.saved.unknown else ""
            lines.append(
                "[%s] keeps %s of what it computes for its backward, and %s of its inputs%s"
                % (
                    one.compile_id,
                    shown_bytes(one.saved.computed_bytes),
                    shown_bytes(one.saved.input_bytes),
                    more,
                )
            )
        return lines + [shown("no CUDA graph: " + text) for text in self.cudagraph_skips]

    def _each(self, seconds: float) -> str:
        return _time(seconds / max(self.calls, 1))


#: columns of entries: what they are called, and the parts that they add up
_COLUMNS = (
    ("guards", ("guards",)),
    ("Python", ("python", "wrappers")),
    ("computing", ("graphs", "operators", "autograd", "waiting")),
)


def _places(lines: List[str]) -> str:
    """Lines of the program behind an operator, the first of them."""
    more = ", and %d more" % (len(lines) - 2) if len(lines) > 2 else ""
    return ", ".join(lines[:2]) + more


def _distinct_names(names: List[str], width: int = 48) -> List[str]:
    """The names cut to about `width` characters, and to more where two would be the same."""
    longest = max(map(len, names), default=0)
    for size in range(width, longest):
        found = [one if len(one) <= size else one[: size - 1] + "…" for one in names]
        if len(set(found)) == len(set(names)):
            return found
    return names


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return "%.1f us" % (seconds * 1e6)
    return "%.2f ms" % (seconds * 1e3) if seconds < 1 else "%.2f s" % seconds


#: parts that are not of the entry in which they happen
_NOT_OF_ENTRY = ("guards", "compiling")


#: name, begin and end in microseconds
_Event = Tuple[str, float, float]
_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")
#: calls of CUDA and HIP that return when the device has computed
_WAITS = frozenset(
    prefix + what
    for prefix in ("cuda", "hip")
    for what in ("DeviceSynchronize", "StreamSynchronize", "EventSynchronize")
)


class _Open:
    """An event whose end has not come yet."""

    __slots__ = ("end", "inner", "name", "part", "region", "start")

    def __init__(self, name: str, start: float, end: float, part: str, region: str) -> None:
        self.name, self.start, self.end = name, start, end
        self.part, self.region, self.inner = part, region, 0.0


class _Sums:
    """Adds up what events took beside those inside them."""

    def __init__(self) -> None:
        self.parts: Dict[str, float] = {}
        self.entries: Dict[str, EntryTime] = {}
        self.operators: Dict[Tuple[str, str], OperatorTime] = {}
        self.of_entries: Dict[Tuple[str, str], OperatorTime] = {}  # by compile id and name
        self.on_device: List[Tuple[float, float, str]] = []  # begin, end in microseconds, device
        self.graphs = 0  # launches of CUDA graphs

    def _close(self, one: _Open) -> None:
        own = max(0.0, one.end - one.start - one.inner) / 1e6
        self.parts[one.part] = self.parts.get(one.part, 0.0) + own
        if one.region:
            parts = self.entry(one.region).parts
            parts[one.part] = parts.get(one.part, 0.0) + own

    def entry(self, compile_id: str) -> EntryTime:
        return self.entries.setdefault(compile_id, EntryTime(compile_id))

    def add(self, events: Iterable[_Event]) -> None:
        """Adds the events of one thread: name, begin and end in microseconds, sorted by begin."""
        stack: List[_Open] = []
        waiting: List[_Open] = []  # lookups whose region has not begun: guards belong to it
        for name, start, end in events:
            while stack and stack[-1].end <= start:
                self._close(stack.pop())
            if stack:
                end = min(end, stack[-1].end)  # clocks of events differ by less than they show
                stack[-1].inner += max(0.0, end - start)
            inside = stack[-1].part if stack else "other"
            region = stack[-1].region if stack else ""
            part = _part(name, inside)
            if name.startswith(_REGION_OF):
                region = name[len(_REGION_OF) :].split(" ")[0]
                entry = self.entry(region)
                entry.calls += 1
                for lookup in waiting:
                    took = (lookup.end - lookup.start) / 1e6
                    entry.parts["guards"] = entry.parts.get("guards", 0.0) + took
                waiting = []
            # the guards are the next entry's, and compiling is no run of the entry around it
            opened = _Open(name, start, end, part, "" if part in _NOT_OF_ENTRY else region)
            if part == "guards":
                waiting = [opened]
            if part == "operators" and inside != "operators":
                row = self.operators.setdefault((name, "cpu"), OperatorTime(name, 0, 0.0))
                row.calls += 1
                row.seconds += (end - start) / 1e6
            # also what generated code calls in libraries, but not what an operator calls
            if "::" in name and opened.region and not (stack and "::" in stack[-1].name):
                row = self.of_entries.setdefault((region, name), OperatorTime(name, 0, 0.0))
                row.calls += 1
                row.seconds += (end - start) / 1e6
            stack.append(opened)
        while stack:
            self._close(stack.pop())

    def add_kernel(self, name: str, start: float, end: float, device: str) -> None:
        """A kernel on a device of its own, which runs beside the threads of the processor.

        Args:
            name: the kernel's, or what a copy is called.
            start, end: in microseconds.
            device: "cuda", for example.
        """
        row = self.operators.setdefault((name, device), OperatorTime(name, 0, 0.0, device))
        row.calls += 1
        row.seconds += (end - start) / 1e6
        self.on_device.append((start, end, device))

    def device_time(self) -> Optional[DeviceTime]:
        """What the device did: kernels of several streams that run at once count once."""
        if not self.on_device:
            return None
        busy, until = 0.0, float("-inf")
        for start, end, _ in sorted(self.on_device):
            busy += max(0.0, end - max(start, until))
            until = max(until, end)
        return DeviceTime(busy / 1e6, len(self.on_device), self.on_device[0][2], self.graphs)


def sums_of(profiler: Any, thread: Optional[int] = None) -> Tuple["_Sums", float]:
    """What the events of a finished torch.profiler come to, and how long all calls took.

    Args:
        profiler: a `torch.profiler.profile` that has ended.
        thread: only this thread's; that of the calls where it is None and there is one.
    """
    threads: Dict[int, List[_Event]] = {}
    sums, all_calls, caller = _Sums(), 0.0, thread
    for event in profiler.events():
        span = event.time_range
        device = str(getattr(event, "device_type", "")).rpartition(".")[2].lower()
        if device not in ("cpu", ""):
            if not event.name.startswith(("depyf: ", _REGION)):
                sums.add_kernel(event.name, span.start, span.end, device)
            continue
        if event.name in _GRAPH_LAUNCHES:
            sums.graphs += 1
        if event.name == _ALL:
            all_calls, caller = (span.end - span.start) / 1e6, event.thread
        threads.setdefault(event.thread, []).append((event.name, span.start, span.end))
    for events in threads.values():
        events.sort(key=lambda row: (row[1], -row[2]))
    if caller is None:
        for events in threads.values():
            sums.add(events)
    elif caller in threads:
        own = threads.pop(caller)
        others = [one for events in threads.values() for one in _run_for(own, events)]
        sums.add(sorted(own + others, key=lambda row: (row[1], -row[2])))
    return sums, all_calls


def _run_for(caller: List[_Event], other: List[_Event]) -> List[_Event]:
    """The events of autograd's thread for a device that the caller waited for.

    The backward of tensors on a GPU runs in such a thread, which does nothing else
    (torch/csrc/autograd/engine.cpp). Both lists are sorted by begin.
    """
    begins = [start for _, start, _ in caller]
    found: List[_Event] = []
    until = float("-inf")
    waits = False
    for event in other:
        name, start, end = event
        if start >= until:  # nothing of this thread is around it
            if not name.startswith("autograd::engine"):
                return []
            until = end
            waits = bisect.bisect_left(begins, start) == bisect.bisect_right(begins, end)
        if waits:
            found.append(event)
    return found


def _sorted_entries(sums: _Sums, run: Any) -> List[EntryTime]:
    for function in run.functions if run is not None else ():
        for entry in function.entries:
            found = sums.entries.get(entry.compile_id)
            if found is None:
                continue
            whole = entry.qualname or function.qualname
            title = resume_title(function.name, whole, function.firstlineno)
            found.name = title or whole or function.name
            found.place = "%s:%d" % (short_path(function.filename), function.firstlineno)
            latency = entry.metrics.get("guard_latency_us")
            found.guard_seconds = latency / 1e6 if isinstance(latency, (int, float)) else None
            found.saved = entry.saved
            _fill_operators(found, entry, sums)
    return sorted(sums.entries.values(), key=lambda one: -one.seconds)


def _fill_operators(found: EntryTime, entry: Any, sums: _Sums) -> None:
    """The operators of an entry with the lines that they compute, also in the sums of all."""
    lines = lines_of((one.stage, one.text or "") for one in entry.artifacts)
    rows = [row for (key, _), row in sums.of_entries.items() if key == found.compile_id]
    found.operators = sorted(rows, key=lambda row: -row.seconds)
    for row in found.operators:
        row.lines = lines.get(row.name, [])
    for row in sums.operators.values():
        # a kernel's name is of its compile; an operator's only where this entry ran it
        if row.device != "cpu" or any(one.name == row.name for one in rows):
            row.lines += [one for one in lines.get(row.name, ()) if one not in row.lines]


def _synchronize(torch: Any) -> Callable[[], None]:
    return torch.cuda.synchronize if torch.cuda.is_available() else lambda: None


def _profiler(torch: Any) -> Any:
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    options: Dict[str, Any] = {}
    if "acc_events" in inspect.signature(torch.profiler.profile.__init__).parameters:
        options["acc_events"] = True  # else torch warns that events of earlier cycles are lost
    return torch.profiler.profile(activities=kinds, **options)


def profile(fn: Callable[..., Any], *args: Any, calls: int = 100, **kwargs: Any) -> Profile:
    """Says where the time of a compiled function goes, and whether it is faster than eager.

    The function is called three times to compile what there is to compile, then `calls` times
    compiled and `calls` times eager, in turns, and `calls` times under torch.profiler.

    Example:
        >>> print(depyf.profile(model, x))

    Args:
        fn: a compiled function or module, or a function that calls one, such as a training step.
            What runs no compiled code is compiled with default options.
        calls: how many calls are measured.
    Raises:
        ImportError: torch is not installed.
        ValueError: `calls` is less than 1.
    """
    torch = compat.require_torch()
    if calls < 1:
        raise ValueError("calls=%r: must be 1 or more" % (calls,))
    wait = _synchronize(torch)
    with capture() as run:
        if not compat.is_compiled(fn):
            fn(*args, **kwargs)
            if not run.functions and not _runs_compiled(torch, fn, args, kwargs):
                fn = torch.compile(fn)
        for _ in range(3):
            fn(*args, **kwargs)
        wait()
    seconds: Dict[str, List[float]] = {"compiled": [], "eager": []}
    for _ in range(calls):
        _timed(fn, args, kwargs, wait, seconds["compiled"])
        with compat.eager():
            _timed(fn, args, kwargs, wait, seconds["eager"])
    with _profiler(torch) as profiler:
        # the first call under a profiler is slower, and so is the end of the first range
        with torch.profiler.record_function("depyf: warm up"):
            fn(*args, **kwargs)
            wait()
        with torch.profiler.record_function(_ALL):
            begun = time.perf_counter()
            for _ in range(calls):
                fn(*args, **kwargs)
            wait()
            whole = time.perf_counter() - begun
    memory: Dict[str, Optional[Memory]] = {}
    memory["compiled"] = of_call(torch, lambda: fn(*args, **kwargs))
    with compat.eager():
        memory["eager"] = of_call(torch, lambda: fn(*args, **kwargs))
    sums, range_seconds = sums_of(_Within(profiler))
    # the begin and the end of the range itself stand outside of the clock
    edges = min(max(0.0, range_seconds - whole), 1e-4, sums.parts.get("other", 0.0))
    sums.parts["other"] = sums.parts.get("other", 0.0) - edges
    found = Profile(
        calls,
        whole,
        sums.parts,
        _sorted_entries(sums, run),
        sorted(sums.operators.values(), key=lambda row: -row.seconds),
        Timing.of(seconds["compiled"]),
        Timing.of(seconds["eager"]),
        memory["compiled"],
        memory["eager"],
        _skips(run),
        _name_of(fn),
        sums.device_time(),
    )
    for open_run in open_runs():
        open_run.profiles.append(found.to_json())
    return found


def _name_of(fn: Any) -> str:
    for _ in range(20):
        fn = getattr(fn, "_orig_mod", None) or getattr(fn, "__wrapped__", None) or fn
    return str(getattr(fn, "__qualname__", "") or type(fn).__qualname__).rpartition("<locals>.")[2]


def _skips(run: Any) -> List[str]:
    """Why graphs of a run have no CUDA graph, in torch's words, once each."""
    found: Dict[str, None] = {}
    for entry in run.entries() if run is not None else ():
        for metrics in (entry.metrics, entry.backward_metrics):
            reason = (metrics or {}).get("cudagraph_skip_reason")
            if reason:
                found[" ".join(str(reason).split())] = None
    for reason in run.cudagraph_skips if run is not None else ():
        found[reason] = None
    return list(found)


class watch:
    """Looks at a whole program: the block is all of it, and `found` its `Profile` afterwards.

    Args:
        run: the `Run` of an open block, which knows the names of what is compiled in this one.
    """

    def __init__(self, run: Any) -> None:
        self._run = run
        self._profiler: Any = None
        self._begun = 0.0
        self.found: Optional[Profile] = None

    def __enter__(self) -> "watch":
        self._profiler = _profiler(compat.require_torch())
        self._profiler.__enter__()
        self._begun = time.perf_counter()
        self._range = compat.require_torch().autograd.profiler.record_function(_ALL)
        self._range.__enter__()
        return self

    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        if kind is None:
            _synchronize(compat.require_torch())()  # kernels that still run are the program's
        self._range.__exit__(None, None, None)
        whole = time.perf_counter() - self._begun
        self._profiler.__exit__(None, None, None)
        sums, _ = sums_of(_Within(self._profiler))
        rows = sorted(sums.operators.values(), key=lambda row: -row.seconds)
        entries = _sorted_entries(sums, self._run)
        self.found = Profile(0, whole, sums.parts, entries, rows)
        self.found.cudagraph_skips = _skips(self._run)
        self.found.device = sums.device_time()
        if self._run is not None:
            self._run.profiles.append(self.found.to_json())


class _Within:
    """The events of a profiler that lie within the range around all calls."""

    def __init__(self, profiler: Any) -> None:
        events = list(profiler.events())
        spans = [one.time_range for one in events if one.name == _ALL]
        first, last = min(one.start for one in spans), max(one.end for one in spans)
        self._events = [
            one for one in events if first <= one.time_range.start and one.time_range.end <= last
        ]

    def events(self) -> List[Any]:
        return self._events


def _timed(fn: Any, args: Any, kwargs: Any, wait: Any, into: List[float]) -> None:
    begun = time.perf_counter()
    fn(*args, **kwargs)
    wait()
    into.append(time.perf_counter() - begun)


def _runs_compiled(torch: Any, fn: Any, args: Any, kwargs: Any) -> bool:
    # what was compiled before is not compiled again, and still runs
    with _profiler(torch) as profiler:
        fn(*args, **kwargs)
    return any(event.name.startswith(_REGION) for event in profiler.events())
