"""What a stage of the compiler computes, value by value, while it runs."""

import functools
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from depyf.compiling import parse
from depyf.plain import file_of, name_of
from depyf.torch import compat
from depyf.torch.numbers.nodes import (
    UNWRITTEN,
    operation_of,
    tensors_in,
    versions_of,
    watching_interpreter,
)

#: dtype -> (relative, absolute) tolerance: what reordering sums and keeping intermediates in
#: float32 explains
_TOLERANCE = {
    "float64": (1e-7, 1e-9),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (3e-2, 1e-2),
    "complex128": (1e-7, 1e-9),
    "complex64": (1e-4, 1e-5),
}


class Measure:
    def __init__(self, relative: Optional[float], absolute: Optional[float]) -> None:
        self._relative, self._absolute = relative, absolute

    def __call__(self, one: Any, other: Any) -> Tuple[float, float, bool]:
        """(largest absolute difference, largest relative one, beyond the tolerance)."""
        import torch

        if one.shape != other.shape:
            return float("inf"), float("inf"), True
        if not one.numel():
            return 0.0, 0.0, False
        relative, absolute = _TOLERANCE.get(str(one.dtype).replace("torch.", ""), (0.0, 0.0))
        relative = self._relative if self._relative is not None else relative
        absolute = self._absolute if self._absolute is not None else absolute
        with torch.no_grad():
            wide = torch.complex128 if one.is_complex() or other.is_complex() else torch.float64
            if one.device.type == "mps":
                wide = torch.float32
            a, b = one.detach().to(wide), other.detach().to(one.device, wide)
            same = (a == b) | (torch.isnan(a) & torch.isnan(b))
            difference = torch.where(same, torch.zeros_like(a.abs()), (a - b).abs())
            beyond = ~same & ~(difference <= absolute + relative * a.abs())
            finite = difference[torch.isfinite(difference)]
            largest = float(finite.max()) if finite.numel() else 0.0
            if finite.numel() != difference.numel():
                largest = float("inf")
            share = difference / a.abs().clamp_min(1e-30)
            share = share[torch.isfinite(share)]
            return largest, float(share.max()) if share.numel() else largest, bool(beyond.any())


@dataclass
class Value:
    """What one node of one graph made in one call."""

    name: str
    operation: str
    stack: Optional[str]
    tensors: List[Any]
    sources: Tuple[str, ...] = ()  # nodes of the captured graph that it comes from
    kernel: Optional[str] = None
    kernel_nodes: List[str] = field(default_factory=list)


@dataclass
class RanGraph:
    """One call of one graph: its values in the order in which they were made."""

    number: int
    direction: str
    call: int
    values: List[Value] = field(default_factory=list)
    inputs: Dict[str, Any] = field(default_factory=dict)
    module: Any = None

    @property
    def key(self) -> Tuple[int, str, int]:
        return (self.number, self.direction, self.call)


@dataclass
class Outcome:
    """What one stage made."""

    name: str
    results: List[Any] = field(default_factory=list)
    gradients: Dict[str, Any] = field(default_factory=dict)
    effects: Dict[str, Any] = field(default_factory=dict)
    graphs: Dict[Tuple[int, str, int], RanGraph] = field(default_factory=dict)
    calls: List[Value] = field(default_factory=list)  # eager: every call of a torch function
    count: int = 0
    error: Optional[str] = None
    raw: Any = None


def copy_of(tensor: Any) -> Any:
    return tensor.detach().clone()


def _note(graph: RanGraph, node: Any, values: List[Any], lowered: bool = False) -> None:
    """Keeps what an operation of the graph made; in a lowered one with the nodes it comes from."""
    if node.op not in ("placeholder", "get_attr") and not UNWRITTEN.search(operation_of(node)):
        tensors = [copy_of(value) for value in values]
        sources = compat.sources_of(node) if lowered else ()
        graph.values.append(
            Value(node.name, operation_of(node), node.stack_trace, tensors, sources)
        )


class Recorder:
    """Makes the backends of the stages and keeps what their graphs made."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._watcher = watching_interpreter()
        self._number = -1

    def _begin(self, number: int, direction: str, calls: Dict[str, int]) -> RanGraph:
        call = calls.get(direction, 0)
        calls[direction] = call + 1
        graph = RanGraph(number, direction, call)
        self.outcome.graphs[graph.key] = graph
        return graph

    def captured(self, module: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
        """Backend: the captured graph, node by node."""
        self._number += 1
        self.outcome.count += 1
        number = self._number
        calls: Dict[str, int] = {}

        def run(*args: Any) -> Any:
            graph = self._begin(number, "forward", calls)

            def seen(node: Any, values: List[Any], _: List[Any]) -> None:
                _note(graph, node, values)

            return self._watcher(module, seen).run(*args)

        return run

    def lowered(self, compile_inner: Callable[..., Any]) -> Callable[..., Any]:
        """Backend: what inductor is given, as `compile_inner` makes each of its graphs run."""

        def backend(module: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
            self._number += 1
            self.outcome.count += 1
            number = self._number
            calls: Dict[str, int] = {}

            def inner(graph_module: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
                direction = "backward" if options.get("is_backward") else "forward"
                run = compile_inner(graph_module, inputs, options)

                def call(arguments: List[Any]) -> Any:
                    return run(self._begin(number, direction, calls), arguments)

                call._boxed_call = True  # type: ignore[attr-defined]
                return call

            return compat.inductor_compile(module, example_inputs, inner)

        return backend

    def interpreted(self, module: Any, inputs: Any, options: Dict[str, Any]) -> Callable[..., Any]:
        """An AOT graph, node by node."""
        import torch

        def run(graph: RanGraph, arguments: List[Any]) -> Any:
            def seen(node: Any, values: List[Any], _: List[Any]) -> None:
                _note(graph, node, values, lowered=True)

            graph.module = module
            values = list(arguments)
            arguments.clear()
            names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
            graph.inputs = {
                name: copy_of(value) if isinstance(value, torch.Tensor) else value
                for name, value in zip(names, values)
            }
            watcher = self._watcher(module, seen)
            # a boxed calling convention takes all outputs as a list
            found = watcher.run(*values, enable_io_processing=False)
            return found

        return run

    def generated(self, module: Any, inputs: Any, options: Dict[str, Any]) -> Callable[..., Any]:
        """What inductor generates, with each buffer looked at after the kernel that wrote it."""
        nodes = {
            node.name: (operation_of(node), node.stack_trace)
            for node in module.graph.nodes
            if node.op not in ("placeholder", "output")
        }
        schedule = compat.Schedule()
        with compat.inductor_schedule(schedule):
            compiled = compat.inductor_inner(module, inputs, options)

        def run(graph: RanGraph, arguments: List[Any]) -> Any:
            done = [0]

            def seen(kernel: str, buffers: List[Tuple[str, Any]]) -> None:
                # a kernel computes all groups up to the last one whose buffer it writes
                numbers = [
                    schedule.buffers[name][1] for name, _ in buffers if name in schedule.buffers
                ]
                last = max(numbers + [done[0] - 1]) + 1
                group = [name for one in schedule.groups[done[0] : last] for name in one]
                done[0] = last
                order = {name: position for position, name in enumerate(schedule.buffers)}
                for buffer, tensor in sorted(buffers, key=lambda one: order.get(one[0], -1)):
                    origin = schedule.buffers.get(buffer, (None, 0))[0] or ""
                    operation, stack = nodes.get(origin, ("", None))
                    graph.values.append(
                        Value(origin, operation, stack, [copy_of(tensor)], (), kernel, group)
                    )

            with _KernelWatch(seen):
                return compiled(arguments)

        return run


class _KernelWatch:
    """Follows the wrapper that inductor generated, line by line, in this thread.

    After each line that calls a kernel, the buffers which that line writes are shown: a buffer is
    written by the first line
    that passes it to a kernel, or that assigns it.
    """

    def __init__(self, seen: Callable[[str, List[Tuple[str, Any]]], None]) -> None:
        self._seen = seen
        self._previous: Any = None

    def __enter__(self) -> "_KernelWatch":
        self._previous = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(self._previous)

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        if not re.match(r"^(call|partition_\d+)$", name_of(frame.f_code)):
            return None
        held = functools.partial(dict.__contains__, frame.f_globals)
        if not held("async_compile") and not held("extern_kernels"):
            return None
        statements = _kernel_statements(frame.f_code)
        if not statements:
            return None
        done: Set[Any] = set()
        state: Dict[str, Any] = {"line": None}

        def line(frame: Any, event: str, _: Any) -> Any:
            statement = statements.get(state["line"])
            if statement is not None and (
                event != "line" or statements.get(frame.f_lineno) is not statement
            ):
                state["line"] = None
                kernel, names = statement
                written = [
                    (name, frame.f_locals[name])
                    for name in dict.fromkeys(names)
                    if name not in done and hasattr(frame.f_locals.get(name), "detach")
                ]
                done.update(name for name, _ in written)
                self._seen(kernel, written)
            if event == "line":
                state["line"] = frame.f_lineno
            return line if event in ("line", "call") else None

        return line


_statements: Dict[Any, Dict[int, Tuple[str, List[str]]]] = {}


_BUFFER = re.compile(r"^buf\d+$")


_NO_KERNEL = re.compile(r"^(assert_|empty_strided|reinterpret_tensor|get_raw_stream|del\b|alloc_)")


def _kernel_statements(code: Any) -> Dict[int, Tuple[str, List[str]]]:
    """Line -> (kernel, buffers) for each statement of a generated wrapper that calls a kernel."""
    if code in _statements:
        return _statements[code]
    import ast
    import linecache

    found: Dict[int, Tuple[str, List[str]]] = {}
    try:
        tree = parse("".join(linecache.getlines(file_of(code))))
    except (SyntaxError, ValueError):
        tree = ast.parse("")
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Expr, ast.Assign)) or not isinstance(node.value, ast.Call):
            continue
        kernel = ast.unparse(node.value.func) if hasattr(ast, "unparse") else ""
        if _NO_KERNEL.match(kernel):
            continue
        kernel = re.sub(r"\.run$", "", kernel)
        names = [
            name.id
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and _BUFFER.match(name.id)
        ]
        entry = (kernel, names)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            found[line] = entry
    _statements[code] = found
    return found


def eager_calls(outcome: Outcome) -> Any:
    from torch.overrides import TorchFunctionMode

    class Calls(TorchFunctionMode):
        """Keeps what every call of a torch function returned, or wrote to."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            tensors = list(tensors_in((list(args), kwargs or {})))
            before = versions_of(tensors)
            result = func(*args, **(kwargs or {}))
            written = [
                tensor
                for tensor, old, now in zip(tensors, before, versions_of(tensors))
                if old != now
            ]
            outcome.calls.append(
                Value(
                    getattr(func, "__name__", ""),
                    "",
                    None,
                    [copy_of(one) for one in list(tensors_in(result)) + written],
                )
            )
            return result

    return Calls()


def differing_pairs(one: Outcome, other: Outcome) -> Iterator[Tuple[str, str, Any, Any]]:
    for position, (a, b) in enumerate(zip(one.results, other.results)):
        yield "result", "result %d" % position if len(one.results) > 1 else "the result", a, b
    for what, left, right in (
        ("side effect", one.effects, other.effects),
        ("gradient", one.gradients, other.gradients),
    ):
        for name in left:
            if name in right:
                yield what, name, left[name], right[name]
