"""What a measurement comes to, and its tables."""

import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from depyf.model import Saved
from depyf.report import runtime
from depyf.terminal import shown
from depyf.torch.memory import Memory, shown_bytes

#: the parts of a call in their order, with what they are called where they are shown
PARTS = runtime.PARTS


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
