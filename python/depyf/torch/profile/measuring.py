"""Measures a compiled function, or a whole program."""

import inspect
import time
from typing import Any, Callable, Dict, List, Optional

from depyf.terminal import short_path
from depyf.torch import compat
from depyf.torch.capture import capture, open_runs
from depyf.torch.memory import Memory, of_call
from depyf.torch.profile.events import ALL_CALLS, REGION, Sums, Within, sums_of
from depyf.torch.profile.figures import EntryTime, Profile, Timing
from depyf.trace.names import resume_title
from depyf.trace.operator_lines import lines_of


def _sorted_entries(sums: Sums, run: Any) -> List[EntryTime]:
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


def _fill_operators(found: EntryTime, entry: Any, sums: Sums) -> None:
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
    compiled and `calls` times eager, in turns, and `calls` times under torch.profiler. Two more
    calls of each kind tell what memory it needs.

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
    written = compat.as_written(fn)
    for _ in range(calls):
        _timed(fn, args, kwargs, wait, seconds["compiled"])
        with compat.eager():
            _timed(written, args, kwargs, wait, seconds["eager"])
    with _profiler(torch) as profiler:
        # the first call under a profiler is slower, and so is the end of the first range
        with torch.profiler.record_function("depyf: warm up"):
            fn(*args, **kwargs)
            wait()
        around = time.perf_counter()
        with torch.profiler.record_function(ALL_CALLS):
            begun = time.perf_counter()
            for _ in range(calls):
                fn(*args, **kwargs)
            wait()
            whole = time.perf_counter() - begun
        outside = time.perf_counter() - around - whole
    memory: Dict[str, Optional[Memory]] = {}
    memory["compiled"] = of_call(torch, lambda: fn(*args, **kwargs))
    with compat.eager():
        memory["eager"] = of_call(torch, lambda: written(*args, **kwargs))
    sums, range_seconds = sums_of(Within(profiler))
    # The begin and the end of the range itself are no part of the calls. They are long where the
    # system runs another process then.
    edges = min(max(0.0, range_seconds - whole), outside, sums.parts.get("other", 0.0))
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
        self._range = compat.require_torch().autograd.profiler.record_function(ALL_CALLS)
        self._range.__enter__()
        return self

    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        if kind is None:
            _synchronize(compat.require_torch())()  # kernels that still run are the program's
        self._range.__exit__(None, None, None)
        whole = time.perf_counter() - self._begun
        self._profiler.__exit__(None, None, None)
        sums, _ = sums_of(Within(self._profiler))
        rows = sorted(sums.operators.values(), key=lambda row: -row.seconds)
        entries = _sorted_entries(sums, self._run)
        self.found = Profile(0, whole, sums.parts, entries, rows)
        self.found.cudagraph_skips = _skips(self._run)
        self.found.device = sums.device_time()
        if self._run is not None:
            self._run.profiles.append(self.found.to_json())


def _timed(fn: Any, args: Any, kwargs: Any, wait: Any, into: List[float]) -> None:
    begun = time.perf_counter()
    fn(*args, **kwargs)
    wait()
    into.append(time.perf_counter() - begun)


def _runs_compiled(torch: Any, fn: Any, args: Any, kwargs: Any) -> bool:
    # what was compiled before is not compiled again, and still runs
    with _profiler(torch) as profiler:
        fn(*args, **kwargs)
    return any(event.name.startswith(REGION) for event in profiler.events())
