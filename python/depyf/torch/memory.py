"""What compiled and eager calls need of memory."""

from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Tuple


@dataclass
class Memory:
    """Bytes of tensors during one call, beyond what there was before it.

    Attributes:
        peak: most at one moment, on all devices together unless a GPU was used.
        kept: still there when the call has returned, with its result alive.
        device: "cpu", or "cuda" where these are the figures of torch's allocator for the GPU.
    """

    peak: int
    kept: int
    device: str = "cpu"


def of_call(torch: Any, call: Callable[[], Any]) -> Optional[Memory]:
    """The memory that one call needs; None where torch does not tell.

    What a call frees of the call before it counts, as a training step does with its gradients. The
    profiler tells of that only where it saw the memory allocated, so there is a call before the one
    that is measured.

    Args:
        torch: the module.
        call: what is called, twice.
    """
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        call()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = call()
        torch.cuda.synchronize()
        after, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
        del result
        return Memory(max(0, peak - before), max(0, after - before), "cuda")
    kinds = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=kinds, profile_memory=True) as profiler:
        call()
        with torch.profiler.record_function(_MEASURED):
            pass
        result = call()
    found = _of_changes(_changes(profiler))
    del result
    return found


#: the range that ends where the call begins that is measured
_MEASURED = "depyf: memory of a call"


def _changes(profiler: Any) -> List[Tuple[int, int]]:
    """(time, bytes) of each allocation and, negative, of each that was freed, in the call that is
    measured.
    """
    results = getattr(getattr(profiler, "profiler", None), "kineto_results", None)
    events = results.events() if results is not None else ()
    begin = max([_begin(one) for one in events if one.name() == _MEASURED], default=0)
    found = [(_begin(one), one.nbytes()) for one in events if one.name() == "[memory]"]
    return [one for one in found if one[0] >= begin]


def _begin(event: Any) -> int:
    """When an event of the profiler began, in nanoseconds; torch up to 2.2 counts microseconds."""
    return int(event.start_ns() if hasattr(event, "start_ns") else 1000 * event.start_us())


def _of_changes(changes: List[Tuple[int, int]]) -> Optional[Memory]:
    if not changes:
        return None
    now = peak = 0
    for _, count in sorted(changes, key=lambda row: row[0]):
        now += count
        peak = max(peak, now)
    return Memory(peak, max(0, now))


def shown_bytes(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return "%.0f %s" % (count, unit) if unit == "B" else "%.1f %s" % (count, unit)
        count /= 1024
    return "%.2f GiB" % count
