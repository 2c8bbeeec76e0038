"""Adds up the events of torch.profiler, which nest."""

import bisect
from typing import Any, Dict, Iterable, List, Optional, Tuple

from depyf.torch.profile.figures import DeviceTime, EntryTime, OperatorTime

ALL_CALLS = "depyf: all calls"
REGION = "Torch-Compiled Region"  # up to torch 2.4 that alone, without the compile
_REGION_OF = REGION + ": "


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
    if name.startswith(REGION) or name == "Pregraph bytecode":
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


#: parts that are not of the entry in which they happen
_NOT_OF_ENTRY = ("guards", "compiling")
#: name, begin and end in microseconds
Event = Tuple[str, float, float]
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


class Sums:
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

    def add(self, events: Iterable[Event]) -> None:
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


def sums_of(profiler: Any, thread: Optional[int] = None) -> Tuple["Sums", float]:
    """What the events of a finished torch.profiler come to, and how long all calls took.

    Args:
        profiler: a `torch.profiler.profile` that has ended.
        thread: only this thread's; that of the calls where it is None and there is one.
    """
    threads: Dict[int, List[Event]] = {}
    sums, all_calls, caller = Sums(), 0.0, thread
    for event in profiler.events():
        span = event.time_range
        device = str(getattr(event, "device_type", "")).rpartition(".")[2].lower()
        if device not in ("cpu", ""):
            if not event.name.startswith(("depyf: ", REGION)):
                sums.add_kernel(event.name, span.start, span.end, device)
            continue
        if event.name in _GRAPH_LAUNCHES:
            sums.graphs += 1
        if event.name == ALL_CALLS:
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


def _run_for(caller: List[Event], other: List[Event]) -> List[Event]:
    """The events of autograd's thread for a device that the caller waited for.

    The backward of tensors on a GPU runs in such a thread, which does nothing else
    (torch/csrc/autograd/engine.cpp). Both lists are sorted by begin.
    """
    begins = [start for _, start, _ in caller]
    found: List[Event] = []
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


class Within:
    """The events of a profiler that lie within the range around all calls."""

    def __init__(self, profiler: Any) -> None:
        events = list(profiler.events())
        spans = [one.time_range for one in events if one.name == ALL_CALLS]
        first, last = min(one.start for one in spans), max(one.end for one in spans)
        self._events = [
            one for one in events if first <= one.time_range.start and one.time_range.end <= last
        ]

    def events(self) -> List[Any]:
        return self._events
