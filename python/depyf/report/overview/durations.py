"""What a compile took: the seconds of its phases, from torch's metrics and events."""

import re
from typing import Dict

from depyf import schema
from depyf.schema import Document

_KERNEL = re.compile(
    r"^\w+ = async_compile\.|^\s+(\w+ = )?(extern_kernels|torch\.ops\.\w+)\.\w+", re.MULTILINE
)
#: phases of a compile in their order, with what they are called on the page
PHASES = (
    ("dynamo", "Dynamo", "traces Python bytecode into a graph"),
    ("aot", "AOTAutograd", "makes forward and backward graphs of it"),
    ("backend", "Backend", "what the backend does with the graph, without AOTAutograd"),
    ("inductor", "Inductor", "lowers the graphs and generates kernels"),
    ("kernels", "Kernel compiler", "compiles what Inductor generated (C++, Triton)"),
    (
        "autotuning",
        "Autotuning",
        "compiles candidates for a kernel, runs them and takes the fastest",
    ),
    (
        "backward",
        "Backward",
        "the backend's work on a backward graph that was compiled when it was first needed",
    ),
)


def seconds_in(metrics: Document, *names: str) -> float:
    """The first of these figures that torch tells, in seconds; 0 for none."""
    for name in names:
        value = metrics.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15:
            return value / 1e6 if name.endswith("_us") else float(value)
    return 0.0


def whole_number(value: object) -> int:
    """A count or a line that torch tells; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


#: torch's events that a compiler of kernels takes, as in web/src/events.ts
_COMPILER = re.compile(
    r"(compile_file|async_compile|triton|CachingAutotuner|PyCodeCache|TritonBundler)", re.IGNORECASE
)
#: and those of candidates for a kernel: compiling them counts as a part of it
_TUNING = re.compile(
    r"\w+_template_|benchmark_|CachingAutotuner\.(benchmark|coordinate|combo)"
    r"|collective_compute_do"
)
_BACKWARD = re.compile(r"(^|[._])(backward|bw_compiler)")


def _seconds_of(entry: Document, *kinds: "re.Pattern[str]") -> float:
    """Seconds that torch's events of these kinds cover, those of a backward left out."""
    events = [
        (row[1], row[1] + row[2], str(row[0]))
        for row in entry.get("events") or ()
        if len(row) == 3 and all(isinstance(value, (int, float)) for value in row[1:])
    ]
    backward = [(start, end) for start, end, name in events if _BACKWARD.search(name)]
    total, reached = 0.0, float("-inf")
    for start, end, name in sorted(events):
        if any(kind.match(name) for kind in kinds) and not any(
            first <= start and end <= last for first, last in backward
        ):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
    return total / 1e6


#: torch's events inside AOTAutograd, and what it leaves, also when it comes from a cache
_AOT = re.compile(r"create_aot_dispatcher|aot_|AOTAutograd")
_OF_AOT = frozenset(schema.STAGES) - {"Captured_Graph"}


def _ran_aot(entry: Document) -> bool:
    """Whether the backend used AOTAutograd; torch's metrics count any backend's time as its."""
    names = [str(row[0]) for row in entry.get("events") or () if row]
    names += [str(one.get("stage") or "") for one in entry.get("artifacts") or ()]
    return not _OF_AOT.isdisjoint(names) or any(map(_AOT.match, names))


def phases(entry: Document) -> Dict[str, float]:
    """Seconds of each phase of one compile, from torch's compilation metrics and events: phase ->
    seconds.
    """
    metrics = entry.get("metrics") or {}
    total = seconds_in(
        metrics, "dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s", "duration_us"
    )
    backend = seconds_in(
        metrics, "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s"
    )
    inductor = seconds_in(metrics, "inductor_cumulative_compile_time_us", "inductor_compile_time_s")
    waited = seconds_in(metrics, "triton_compile_time_us")
    tuning = kernels = 0.0
    if inductor > 0:  # of which they are parts
        tuning = min(_seconds_of(entry, _TUNING), inductor)
        # torch's own sum is the time that it waited for compilers at the end alone
        compilers = _seconds_of(entry, _COMPILER, _TUNING) - tuning
        kernels = min(max(waited, compilers), inductor - tuning)
    backward = seconds_in(
        entry.get("backward_metrics") or {},
        "duration_us",
        "inductor_cumulative_compile_time_us",
        "inductor_compile_time_s",
    )
    found = {
        "dynamo": max(0.0, total - backend),
        "aot" if inductor > 0 or _ran_aot(entry) else "backend": max(0.0, backend - inductor),
        "inductor": max(0.0, inductor - kernels - tuning),
        "kernels": kernels,
        "autotuning": tuning,
        "backward": backward,
    }
    return {name: round(value, 6) for name, value in found.items() if value > 0}


def seconds(entry: Document) -> float:
    """Seconds of one compile, its backward included."""
    return sum(phases(entry).values())


def count_kernels(entry: Document) -> int:
    """Kernels that the generated code of one compile defines or calls in libraries."""
    return sum(
        len(_KERNEL.findall(artifact.get("text") or ""))
        for artifact in entry.get("artifacts", ())
        if artifact.get("kind") == "kernel"
    )


def spent_on(entry: Document, *names: str) -> float:
    """Seconds of torch's timed events of these names in one compile."""
    return sum(
        row[2] / 1e6
        for row in entry.get("events") or ()
        if len(row) == 3 and row[0] in names and isinstance(row[2], (int, float))
    )
