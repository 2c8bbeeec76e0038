"""Numbers that went wrong: the first operation that made NaN or infinity, and the first at which two stages part."""

import contextlib
import operator
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.compiling import parse
from depyf.terminal import place, shown
from depyf.torch import compat
from depyf.torch.state import OwnCompiles, State, fresh_function, unwrap

__all__ = [
    "Nonfinite",
    "NonfiniteReport",
    "Parting",
    "Stage",
    "StageComparison",
    "TensorStatistics",
    "compare_stages",
    "find_nonfinite",
]


# ---- what is reported --------------------------------------------------------------------------------------------------


@dataclass
class TensorStatistics:
    """What a tensor (or a number) looks like. Minimum, maximum and mean are those of its finite elements."""

    name: str
    dtype: str = ""
    shape: Tuple[int, ...] = ()
    device: str = ""
    elements: int = 0
    nan: int = 0
    infinite: int = 0
    zeros: int = 0
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    mean: Optional[float] = None
    value: Optional[str] = None  # of a number that is no tensor

    @property
    def is_finite(self) -> bool:
        """True when no element is NaN or infinite."""
        return not self.nan and not self.infinite

    def __str__(self) -> str:
        if self.value is not None:
            return "%s = %s" % (self.name, self.value)
        text = "%s: %s%s" % (self.name, self.dtype, list(self.shape))
        if self.device and self.device != "cpu":
            text += " " + self.device
        if self.minimum is not None:
            text += ", %.6g to %.6g, mean %.6g" % (self.minimum, self.maximum, self.mean)
        for count, word in ((self.zeros, "zero"), (self.nan, "NaN"), (self.infinite, "infinite")):
            if count:
                text += ", %d %s" % (count, word)
        return text


def statistics(name: str, value: Any) -> TensorStatistics:
    """The statistics of a tensor or number; what cannot be computed stays empty."""
    import torch

    if not isinstance(value, torch.Tensor):
        return TensorStatistics(name, value=repr(value)[:80])
    found = TensorStatistics(
        name,
        str(value.dtype).replace("torch.", ""),
        tuple(int(size) for size in value.shape),
        str(value.device),
        int(value.numel()),
    )
    with contextlib.suppress(Exception), torch.no_grad():
        numbers = value.detach()
        if numbers.is_complex():
            numbers = numbers.abs()
        numbers = numbers.to(torch.float64 if numbers.device.type != "mps" else torch.float32)
        finite = numbers[torch.isfinite(numbers)]
        found.nan = int(torch.isnan(numbers).sum())
        found.infinite = int(torch.isinf(numbers).sum())
        found.zeros = int((numbers == 0).sum())
        if finite.numel():
            found.minimum, found.maximum = float(finite.min()), float(finite.max())
            found.mean = float(finite.mean())
    return found


@dataclass
class _Place:
    node: str
    operation: str
    direction: str  # "forward" or "backward"
    graph: int  # which captured graph, in order of compilation
    path: Optional[str] = None
    line: Optional[int] = None
    code: str = ""
    stack: List[str] = field(default_factory=list)

    def _place_text(self) -> str:
        if self.path is None:
            return ""
        return "  at %s: %s" % (place(self.path, self.line), shown(self.code))

    def _stack_text(self) -> List[str]:
        return (
            ["  called from"] + ["    " + shown(frame) for frame in self.stack[:-1]]
            if len(self.stack) > 1
            else []
        )


@dataclass
class Nonfinite(_Place):
    """A node of a captured graph that made NaN or infinity, or an input that held it already.

    Attributes:
        kind: "NaN", "infinity" or "NaN and infinity".
        call: how often the graph had been called before.
        is_input: the value came in from outside of the captured graphs.
        output: statistics of what the node made (in backward: of the gradient that it passed on).
        inputs: statistics of what went in (in backward: the gradients that came in, and what forward saved).
    """

    kind: str = ""
    call: int = 0
    is_input: bool = False
    output: Optional[TensorStatistics] = None
    inputs: List[TensorStatistics] = field(default_factory=list)

    def __str__(self) -> str:
        if self.is_input:
            lines = [
                "%s came in as %s of captured graph %d" % (self.kind, shown(self.node), self.graph)
            ]
        else:
            lines = [
                "%s made by %s (%s) in the %s of captured graph %d%s"
                % (
                    self.kind,
                    shown(self.node),
                    shown(self.operation),
                    self.direction,
                    self.graph,
                    ", call %d" % (self.call + 1) if self.call else "",
                )
            ]
        if self.path:
            lines.append(self._place_text())
        if self.output is not None:
            lines.append("  out  %s" % self.output)
        lines += ["  in   %s" % one for one in self.inputs]
        return "\n".join(lines + self._stack_text())


@dataclass(repr=False)
class NonfiniteReport:
    """What `find_nonfinite` found.

    Attributes:
        first: the first node that made NaN or infinity; None when all is finite.
        first_nan: the first that made NaN, where that is another one: masks are often filled with infinity on purpose.
        graphs: captured graphs that ran.
        nodes: nodes that were looked at, each run counted.
        error: what ended the run early.
        notes: what could not be looked at.
    """

    first: Optional[Nonfinite] = None
    first_nan: Optional[Nonfinite] = None
    graphs: int = 0
    nodes: int = 0
    error: Optional[str] = None
    notes: List[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.first is not None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        head = "depyf: %d nodes of %d captured graph%s were run" % (
            self.nodes,
            self.graphs,
            "" if self.graphs == 1 else "s",
        )
        if not self.graphs:
            head = "depyf: no graph was captured, so nothing was looked at"
        if self.first is None:
            parts = [head + ("" if not self.graphs else ": every value was finite")]
        else:
            parts = [head, str(self.first)]
            if self.first_nan is not None and self.first_nan is not self.first:
                parts += ["and the first NaN:", str(self.first_nan)]
        if self.error:
            parts.append("the run ended with %s" % shown(self.error))
        return "\n".join(parts + self.notes)


@dataclass
class Parting(_Place):
    """A value at which one stage parts from the one before it.

    Attributes:
        stage: the stage that differs from `before`.
        what: "value", "gradient", "result" or "side effect".
        absolute, relative: the largest differences.
        one, other: statistics of the value in the two stages.
        kernel: name of the kernel that the value comes from, where inductor made it.
        kernel_nodes: the nodes that this kernel computes.
        alone: for a kernel: True when the node also differs when inductor compiles it by itself, False when it differs only
            inside the kernel, None when that was not tried.
    """

    stage: str = ""
    before: str = ""
    what: str = "value"
    absolute: float = 0.0
    relative: float = 0.0
    one: Optional[TensorStatistics] = None
    other: Optional[TensorStatistics] = None
    kernel: Optional[str] = None
    kernel_nodes: List[str] = field(default_factory=list)
    alone: Optional[bool] = None
    note: str = ""

    def __str__(self) -> str:
        lines = [
            "%s parts from %s at the %s of %s%s%s"
            % (
                self.stage,
                self.before,
                self.what,
                shown(self.node),
                " (%s)" % shown(self.operation) if self.operation else "",
                " in the %s of captured graph %d" % (self.direction, self.graph)
                if self.graph >= 0
                else "",
            ),
            "  differs by %.3g (%.3g relative)" % (self.absolute, self.relative),
        ]
        if self.path:
            lines.append(self._place_text())
        if self.kernel:
            lines.append(
                "  kernel %s%s"
                % (
                    shown(self.kernel),
                    ", which computes %s" % _some(self.kernel_nodes) if self.kernel_nodes else "",
                )
            )
        if self.alone is not None:
            lines.append(
                "  compiled by itself the operation %s"
                % ("differs as well" if self.alone else "agrees: the kernel as a whole is at fault")
            )
        lines += ["  %s" % one for one in (self.one, self.other) if one is not None]
        if self.note:
            lines.append("  " + self.note)
        return "\n".join(lines + self._stack_text())


@dataclass
class Stage:
    """One way of running the function.

    Attributes:
        name: "eager", "captured graph", "AOT graph" or "inductor".
        graphs: graphs that ran.
        difference: largest difference of results and gradients to those of "eager"; None when it could not run.
        error: why it could not run.
    """

    name: str
    graphs: int = 0
    difference: Optional[float] = None
    error: Optional[str] = None


@dataclass(repr=False)
class StageComparison:
    """What `compare_stages` found.

    Attributes:
        stages: the stages in the order in which they ran.
        first: the first place where a stage parts from the one before it beyond the tolerance; None when none does.
        result: what the function returned, run eagerly.
    """

    stages: List[Stage] = field(default_factory=list)
    first: Optional[Parting] = None
    result: Any = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.first is not None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = []
        for stage in self.stages:
            text = "  %-14s  " % stage.name
            if stage.error:
                text += "could not run: " + shown(stage.error)
            elif stage.name == "eager":
                text += "the reference"
            else:
                text += "%d graph%s, results differ by at most %.3g" % (
                    stage.graphs,
                    "" if stage.graphs == 1 else "s",
                    stage.difference or 0.0,
                )
            lines.append(text)
        if self.first is not None:
            lines.append(str(self.first))
        elif all(stage.error is None for stage in self.stages):
            lines.append("all stages agree within the tolerance")
        return "\n".join(lines)


def _some(names: List[str], most: int = 12) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (" and %d more" % more if more > 0 else "")


# ---- nodes and places --------------------------------------------------------------------------------------------------

_FRAME = re.compile(r'^\s*File "(?P<path>.*)", line (?P<line>\d+), in (?P<name>.*)$')
_OWN = re.compile(r"[/\\]depyf[/\\]torch[/\\](state|numbers)\.py$")


def user_stack(text: Optional[str]) -> List[Tuple[str, int, str, str]]:
    """(path, line, function, code) for each frame of a node's stack trace, outermost first."""
    frames: List[Tuple[str, int, str, str]] = []
    for line in (text or "").splitlines():
        match = _FRAME.match(line)
        if match:
            frames.append((match.group("path"), int(match.group("line")), match.group("name"), ""))
        elif frames and not frames[-1][3] and line.strip(" ^~"):
            frames[-1] = frames[-1][:3] + (line.strip(),)
    return [frame for frame in frames if not _OWN.search(frame[0])]


def _where(text: Optional[str]) -> Dict[str, Any]:
    frames = user_stack(text)
    if not frames:
        return {}
    path, line, _, code = frames[-1]
    return {
        "path": path,
        "line": line,
        "code": code,
        "stack": ["%s in %s: %s" % (place(one[0], one[1]), one[2], one[3]) for one in frames],
    }


def operation_of(node: Any) -> str:
    """What a node calls, as a reader would write it."""
    target = node.target
    if node.op == "call_method":
        return "Tensor.%s" % target
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None) or str(target)
    home = getattr(target, "__module__", "") or ""
    text = str(target)
    if text.startswith("aten."):
        return text
    if home in ("_operator", "builtins", "torch._C._nn", "torch._ops", ""):
        return name
    if home.startswith("torch.nn.functional") or home.startswith("torch"):
        return "%s.%s" % (home.replace("torch._VF", "torch"), name)
    return name


def _input_name(node: Any, parameters: Sequence[str] = ()) -> str:
    """The input that a placeholder stands for, as the user calls it."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    text = node.name
    if source is not None:
        with contextlib.suppress(Exception):
            text = compat.readable_source(
                str(source.name() if callable(source.name) else source.name)
            )
    match = re.match(r"^args\[(\d+)\]", text)  # what `fresh_function` hands on
    if match and int(match.group(1)) < len(parameters):
        text = parameters[int(match.group(1))] + text[match.end() :]
    text = re.sub(r"^kwargs\['(\w+)'\]", r"\1", text)
    return "input %s" % re.sub(r"^fn\b", "self", text)


def _parameter_names(target: Any, count: int) -> List[str]:
    import inspect

    try:
        function = getattr(target, "forward", target)
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    names = [
        one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    rest = [one.name for one in found if one.kind == one.VAR_POSITIONAL]
    if rest:
        names += ["%s[%d]" % (rest[0], position) for position in range(count - len(names))]
    return names


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    work = [value]
    while work:
        found = work.pop()
        if isinstance(found, torch.Tensor):
            yield found
        elif isinstance(found, (list, tuple)):
            work.extend(reversed(found))
        elif isinstance(found, dict):
            work.extend(reversed(list(found.values())))


def _kind(tensors: Sequence[Any]) -> str:
    import torch

    nan = infinite = False
    for tensor in tensors:
        if (
            not (tensor.is_floating_point() or tensor.is_complex())
            or tensor.layout != torch.strided
        ):
            continue
        try:
            with torch.no_grad():
                found = tensor.detach()
                if found.element_size() == 1:  # float8 knows few operations
                    found = found.to(torch.float32)
                if bool(torch.isfinite(found).all()):
                    continue
                nan = nan or bool(torch.isnan(found).any())
                infinite = infinite or bool(torch.isinf(found).any())
        except (RuntimeError, NotImplementedError, TypeError):
            continue
    return " and ".join(word for word, there in (("NaN", nan), ("infinity", infinite)) if there)


_version_of = operator.attrgetter("_version")


def _versions(tensors: Sequence[Any]) -> List[Optional[int]]:
    found: List[Optional[int]] = []
    for tensor in tensors:
        try:
            found.append(_version_of(tensor))
        except (RuntimeError, AttributeError):
            found.append(None)
    return found


#: what these return is memory that nobody has written yet
_UNWRITTEN = re.compile(
    r"(^|[._])(empty|new_empty|empty_like|empty_strided|new_empty_strided|resize_)($|[._])"
)


def _interpreter() -> Any:
    import torch.fx

    class Watcher(torch.fx.Interpreter):
        """Runs a graph node by node and shows each node's value, or what it wrote to, to `seen`."""

        def __init__(self, module: Any, seen: Callable[[Any, List[Any], List[Any]], None]) -> None:
            super().__init__(module)
            self.extra_traceback = False
            self._seen = seen

        def run_node(self, n: Any) -> Any:
            if n.op == "output":
                return super().run_node(n)
            inputs: List[Any] = []
            torch.fx.map_arg(
                (n.args, n.kwargs), lambda one: inputs.append((one, self.env.get(one)))
            )
            tensors = [one for _, value in inputs for one in _tensors(value)]
            before = _versions(tensors)
            result = super().run_node(n)
            written = [
                tensor
                for tensor, old, now in zip(tensors, before, _versions(tensors))
                if old != now
            ]
            self._seen(n, list(_tensors(result)) + written, inputs)
            return result

    return Watcher


# ---- NaN and infinity --------------------------------------------------------------------------------------------------


class _Finder:
    """A backend that runs captured graphs node by node and looks at every value."""

    def __init__(self, tell: Any = None, parameters: Sequence[str] = ()) -> None:
        self.report = NonfiniteReport()
        self._tell = tell
        self._parameters = parameters
        self._watcher = _interpreter()

    def backend(self, module: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
        """To be passed to torch.compile."""
        number = self.report.graphs
        self.report.graphs += 1
        state = {"calls": 0}
        # torch drops what it knows of inputs once the graph is compiled
        names = {
            node.name: _input_name(node, self._parameters)
            for node in module.graph.nodes
            if node.op == "placeholder"
        }

        def run(*args: Any) -> Any:
            call = state["calls"]
            state["calls"] += 1
            if self.report.first_nan is not None:
                return module.forward(*args)
            edges: Dict[int, Any] = {}
            kinds: Dict[Any, str] = {}
            watcher = self._watcher(
                module,
                lambda node, values, inputs: self._seen(
                    number,
                    call,
                    edges,
                    kinds,
                    names.get(node.name, node.name),
                    node,
                    values,
                    inputs,
                ),
            )
            return watcher.run(*args)

        return run

    def _found(self, finding: Nonfinite) -> None:
        if self.report.first is None:
            self.report.first = finding
            if self._tell is not None:
                with contextlib.suppress(Exception):
                    self._tell.write("depyf: %s\n" % finding)
                    self._tell.flush()
        if self.report.first_nan is None and "NaN" in finding.kind:
            self.report.first_nan = finding

    def _wanted(self, kind: str) -> bool:
        return bool(kind) and (
            self.report.first is None or (self.report.first_nan is None and "NaN" in kind)
        )

    def _seen(
        self,
        graph: int,
        call: int,
        edges: Dict[int, Any],
        kinds: Dict[Any, str],
        name: str,
        node: Any,
        values: List[Any],
        inputs: List[Any],
    ) -> None:
        self.report.nodes += 1
        operation = operation_of(node)
        if not _UNWRITTEN.search(operation):
            kind = _kind(values)
            seen = {id(value) for value in values}
            written = {
                one
                for one, value in inputs
                if any(id(tensor) in seen for tensor in _tensors(value))
            }
            if self._wanted(kind):
                # what was not finite before is not this node's doing, but it may turn infinity into NaN; of what the node wrote
                # to, only what was seen before it tells
                known = [
                    kinds.get(one, "") if one in written else _kind(list(_tensors(value)))
                    for one, value in inputs
                ]
                came = " and ".join(
                    word for word in ("NaN", "infinity") if any(word in one for one in known)
                )
                if node.op in ("placeholder", "get_attr") or kind != came or "NaN" not in came:
                    worst = _worst(values)
                    is_input = node.op in ("placeholder", "get_attr")
                    self._found(
                        Nonfinite(
                            node=name,
                            operation=operation,
                            direction="forward",
                            graph=graph,
                            kind=kind,
                            call=call,
                            is_input=is_input,
                            output=statistics(node.name, worst),
                            inputs=[
                                statistics(
                                    one.name + (", written to" if one in written else ""), value
                                )
                                for one, found in inputs
                                for value in (
                                    [found] if not isinstance(found, (list, tuple)) else found
                                )
                            ],
                            **({} if is_input else _where(node.stack_trace)),
                        )
                    )
            kinds[node] = kind
            kinds.update(dict.fromkeys(written, kind))
        self._watch_backward(graph, call, edges, node, values)

    def _watch_backward(
        self, graph: int, call: int, edges: Dict[int, Any], node: Any, values: List[Any]
    ) -> None:
        """Hooks every autograd node that a graph's node made: those reached from its results and not known before."""
        for value in values:
            start = value.grad_fn if value.requires_grad else None
            work = [start] if start is not None else []
            while work:
                function = work.pop()
                if id(function) in edges:
                    continue
                edges[id(function)] = function
                if node.op in ("placeholder", "get_attr"):
                    continue  # made before the graph
                if type(function).__name__ != "AccumulateGrad":
                    self._hook(function, graph, call, node)
                work.extend(one for one, _ in function.next_functions if one is not None)

    def _hook(self, function: Any, graph: int, call: int, node: Any) -> None:
        def after(passed_on: Any, came_in: Any) -> None:
            try:
                kind = _kind(list(_tensors(passed_on)))
                if not self._wanted(kind):
                    return
                came = _kind(list(_tensors(came_in)))
                if came and (kind == came or "NaN" in came):
                    return
                worst = _worst(list(_tensors(passed_on)))
                saved = [
                    statistics("saved " + name[len("_saved_") :], getattr(function, name))
                    for name in dir(function)
                    if name.startswith("_saved_") and _is_tensor(function, name)
                ]
                self._found(
                    Nonfinite(
                        node=node.name,
                        operation=function.name(),
                        direction="backward",
                        graph=graph,
                        kind=kind,
                        call=call,
                        output=statistics("gradient passed on", worst),
                        inputs=[statistics("gradient", one) for one in _tensors(came_in)] + saved,
                        **_where(node.stack_trace),
                    )
                )
            except Exception as error:  # the user's backward goes on
                self.report.notes.append(
                    "backward of %s was not looked at: %s" % (node.name, error)
                )

        function.register_hook(after)


def _worst(tensors: Sequence[Any]) -> Any:
    """The first tensor with NaN, else the first with infinity."""
    kinds = [_kind([tensor]) for tensor in tensors]
    return next(
        tensor
        for word in ("NaN", "infinity")
        for kind, tensor in zip(kinds, tensors)
        if word in kind
    )


def _is_tensor(function: Any, name: str) -> bool:
    import torch

    try:
        return isinstance(getattr(function, name), torch.Tensor)
    except RuntimeError:  # freed already
        return False


def _differentiable(result: Any) -> List[Any]:
    return [
        tensor
        for tensor in _result_tensors(result)
        if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    ]


def _result_tensors(result: Any) -> List[Any]:
    import torch

    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _gradients(outputs: List[Any], leaves: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Gradients of a weighted sum of the outputs; the weights are the same each time and no two alike."""
    import torch

    wanted = [(name, leaf) for name, leaf in leaves if leaf.requires_grad]
    if not outputs or not wanted:
        return {}
    weights = []
    for output in outputs:
        count = torch.arange(output.numel(), dtype=torch.float64).reshape(output.shape)
        weights.append((0.75 + 0.5 * torch.cos(count * 12.9898)).to(output.device, output.dtype))
    found = torch.autograd.grad(outputs, [leaf for _, leaf in wanted], weights, allow_unused=True)
    return {
        name: gradient.detach()
        for (name, _), gradient in zip(wanted, found)
        if gradient is not None
    }


def find_nonfinite(
    fn: Callable[..., Any],
    *args: Any,
    dynamic: Optional[bool] = None,
    backward: Optional[bool] = None,
    **kwargs: Any,
) -> NonfiniteReport:
    """Runs what torch.compile captures of a function node by node and names the first node that made NaN or infinity.

    The function runs once, with the captured graphs interpreted and not compiled further; gradients are computed through
    them. Its state is as before afterwards: parameters, buffers, gradients, attributes, random numbers.

    Example:
        >>> print(depyf.find_nonfinite(model, batch))

    Args:
        fn: a function or module, compiled or not.
        args, kwargs: its arguments.
        dynamic: as for torch.compile.
        backward: whether to compute gradients; by default where the result requires them.
    Raises:
        ImportError: torch is not installed.
    """
    torch = compat.require_torch()
    target = unwrap(fn)
    finder = _Finder(parameters=_parameter_names(target, len(args)))
    state = State(target, args, kwargs)
    with OwnCompiles():
        try:
            compiled = torch.compile(
                fresh_function(target), backend=finder.backend, dynamic=dynamic
            )
            result = compiled(*args, **kwargs)
            outputs = _differentiable(result)
            if backward is not False and outputs:
                _gradients(outputs, state.leaves())
        except Exception as error:
            finder.report.error = "%s: %s" % (type(error).__name__, error)
            if finder.report.first is None:
                raise
        finally:
            state.restore()
    return finder.report


class watch_nonfinite:
    """Inside the block everything that is compiled runs node by node, and the first NaN or infinity is told.

    Args:
        tell: a stream for the message, or None.

    Attributes:
        report: a `NonfiniteReport`.
    """

    def __init__(self, tell: Any = None) -> None:
        self._finder = _Finder(tell)
        self._stack: Any = None

    @property
    def report(self) -> NonfiniteReport:
        return self._finder.report

    def __enter__(self) -> "watch_nonfinite":
        self._stack = contextlib.ExitStack()
        try:
            self._stack.enter_context(compat.forced_backend(self._finder.backend))
        except RuntimeError as error:
            self.report.notes.append(str(error))
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()


# ---- stages ------------------------------------------------------------------------------------------------------------

#: dtype -> (relative, absolute) tolerance: what reordering sums and keeping intermediates in float32 explains
_TOLERANCE = {
    "float64": (1e-7, 1e-9),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (3e-2, 1e-2),
    "complex128": (1e-7, 1e-9),
    "complex64": (1e-4, 1e-5),
}
STAGES = ("eager", "captured graph", "AOT graph", "inductor")


class _Measure:
    def __init__(self, relative: Optional[float], absolute: Optional[float]) -> None:
        self._relative, self._absolute = relative, absolute

    def __call__(self, one: Any, other: Any) -> Tuple[float, float, bool]:
        """(largest absolute difference, largest relative one, beyond the tolerance) of two tensors."""
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
class _Value:
    """What one node of one graph made in one call."""

    name: str
    operation: str
    stack: Optional[str]
    tensors: List[Any]
    sources: Tuple[str, ...] = ()  # nodes of the captured graph that it comes from
    kernel: Optional[str] = None
    kernel_nodes: List[str] = field(default_factory=list)


@dataclass
class _Graph:
    """One call of one graph: its values in the order in which they were made."""

    number: int
    direction: str
    call: int
    values: List[_Value] = field(default_factory=list)
    inputs: Dict[str, Any] = field(default_factory=dict)
    module: Any = None

    @property
    def key(self) -> Tuple[int, str, int]:
        return (self.number, self.direction, self.call)


@dataclass
class _Outcome:
    """What one stage made."""

    name: str
    results: List[Any] = field(default_factory=list)
    gradients: Dict[str, Any] = field(default_factory=dict)
    effects: Dict[str, Any] = field(default_factory=dict)
    graphs: Dict[Tuple[int, str, int], _Graph] = field(default_factory=dict)
    calls: List[_Value] = field(default_factory=list)  # eager: every call of a torch function
    count: int = 0
    error: Optional[str] = None
    raw: Any = None


def _copy(tensor: Any) -> Any:
    return tensor.detach().clone()


class _Recorder:
    """Makes the backends of the stages and keeps what their graphs made."""

    def __init__(self, outcome: _Outcome) -> None:
        self.outcome = outcome
        self._watcher = _interpreter()
        self._number = -1

    def _begin(self, number: int, direction: str, calls: Dict[str, int]) -> _Graph:
        call = calls.get(direction, 0)
        calls[direction] = call + 1
        graph = _Graph(number, direction, call)
        self.outcome.graphs[graph.key] = graph
        return graph

    def captured(self, module: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
        """Backend: the captured graph, node by node."""
        self._number += 1
        self.outcome.count += 1
        number, calls = self._number, {}  # type: Tuple[int, Dict[str, int]]

        def run(*args: Any) -> Any:
            graph = self._begin(number, "forward", calls)

            def seen(node: Any, values: List[Any], _: List[Any]) -> None:
                if node.op in ("placeholder", "get_attr") or _UNWRITTEN.search(operation_of(node)):
                    return
                graph.values.append(
                    _Value(
                        node.name, operation_of(node), node.stack_trace, [_copy(v) for v in values]
                    )
                )

            return self._watcher(module, seen).run(*args)

        return run

    def lowered(self, compile_inner: Callable[..., Any]) -> Callable[..., Any]:
        """Backend: what inductor is given, run by what `compile_inner` makes of each of its graphs."""

        def backend(module: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
            self._number += 1
            self.outcome.count += 1
            number, calls = self._number, {}  # type: Tuple[int, Dict[str, int]]

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

        def run(graph: _Graph, arguments: List[Any]) -> Any:
            def seen(node: Any, values: List[Any], _: List[Any]) -> None:
                if node.op in ("placeholder", "get_attr") or _UNWRITTEN.search(operation_of(node)):
                    return
                graph.values.append(
                    _Value(
                        node.name,
                        operation_of(node),
                        node.stack_trace,
                        [_copy(value) for value in values],
                        compat.sources_of(node),
                    )
                )

            graph.module = module
            values = list(arguments)
            arguments.clear()
            names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
            graph.inputs = {
                name: _copy(value) if isinstance(value, torch.Tensor) else value
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

        def run(graph: _Graph, arguments: List[Any]) -> Any:
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
                        _Value(origin, operation, stack, [_copy(tensor)], (), kernel, group)
                    )

            with _KernelWatch(seen):
                return compiled(arguments)

        return run


class _KernelWatch:
    """Follows the wrapper that inductor generated, line by line, in this thread.

    After each line that calls a kernel, the buffers which that line writes are shown: a buffer is written by the first line
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
        if not re.match(r"^(call|partition_\d+)$", frame.f_code.co_name):
            return None
        if "async_compile" not in frame.f_globals and "extern_kernels" not in frame.f_globals:
            return None
        statements = _kernel_statements(frame.f_code)
        if not statements:
            return None
        done: set = set()
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
        tree = parse("".join(linecache.getlines(code.co_filename)))
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


def _eager_calls(outcome: _Outcome) -> Any:
    from torch.overrides import TorchFunctionMode

    class Calls(TorchFunctionMode):
        """Keeps what every call of a torch function returned, or wrote to."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            tensors = list(_tensors((list(args), kwargs or {})))
            before = _versions(tensors)
            result = func(*args, **(kwargs or {}))
            written = [
                tensor
                for tensor, old, now in zip(tensors, before, _versions(tensors))
                if old != now
            ]
            outcome.calls.append(
                _Value(
                    getattr(func, "__name__", ""),
                    "",
                    None,
                    [_copy(one) for one in list(_tensors(result)) + written],
                )
            )
            return result

    return Calls()


def compare_stages(
    fn: Callable[..., Any],
    *args: Any,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    dynamic: Optional[bool] = None,
    backward: Optional[bool] = None,
    **kwargs: Any,
) -> StageComparison:
    """Runs a function eagerly, as captured graph, as AOT graph and by inductor, and finds where the stages part.

    Every stage starts from the same state, random numbers included (inductor uses torch's own generators for this), and the
    state is as before afterwards. Values of all nodes are kept until the comparison is done. The stages are compiled from
    scratch, without torch's caches.

    Example:
        >>> print(depyf.compare_stages(model, batch))

    Args:
        fn: a function or module, compiled or not.
        args, kwargs: its arguments.
        rtol, atol: tolerance; by default one that fits each dtype.
        dynamic: as for torch.compile.
        backward: whether to compare gradients; by default where the result requires them.
    Raises:
        ImportError: torch is not installed.
        Exception: what the function raises when it is run eagerly.
    """
    torch = compat.require_torch()
    target = unwrap(fn)
    state = State(target, args, kwargs)
    leaves = state.leaves()
    measure = _Measure(rtol, atol)
    outcomes: List[_Outcome] = []
    comparison = StageComparison()
    with OwnCompiles() as own:
        for name in STAGES:
            outcome = _Outcome(name)
            outcomes.append(outcome)
            try:
                with contextlib.ExitStack() as stack:
                    if name == "eager":
                        stack.enter_context(compat.eager())
                        stack.enter_context(_eager_calls(outcome))
                        run = target
                    else:
                        recorder = _Recorder(outcome)
                        backend = recorder.captured
                        if name != "captured graph":
                            stack.enter_context(compat.inductor_as_eager_random())
                            compile_inner = (
                                recorder.interpreted if name == "AOT graph" else recorder.generated
                            )
                            backend = recorder.lowered(compile_inner)
                        run = torch.compile(
                            fresh_function(target), backend=backend, dynamic=dynamic
                        )
                    _run_stage(outcome, run, args, kwargs, leaves, backward)
            except Exception as error:
                if name == "eager":
                    raise
                outcome.error = "%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0])
            finally:
                state.restore()
                own.forget()
            if name == "eager":
                comparison.result = outcome.raw
            first = outcomes[0]
            stage = Stage(name, outcome.count, error=outcome.error)
            if outcome.error is None:
                stage.difference = _largest(first, outcome, measure)
            comparison.stages.append(stage)
            previous = [one for one in outcomes[:-1] if one.error is None]
            if comparison.first is None and outcome.error is None and previous:
                comparison.first = _first_parting(previous[-1], outcome, measure)
    return comparison


def _run_stage(
    outcome: _Outcome,
    run: Callable[..., Any],
    args: Any,
    kwargs: Any,
    leaves: List[Tuple[str, Any]],
    backward: Optional[bool],
) -> None:
    versions = _versions([leaf for _, leaf in leaves])
    gradients = [leaf.grad for _, leaf in leaves]
    grad_versions = _versions(
        [one if one is not None else leaf for one, (_, leaf) in zip(gradients, leaves)]
    )
    result = run(*args, **kwargs)
    if outcome.name == "eager":
        outcome.raw = result
    outputs = _differentiable(result)
    outcome.results = [_copy(tensor) for tensor in _result_tensors(result)]
    for (name, leaf), old, gradient, version in zip(leaves, versions, gradients, grad_versions):
        if _versions([leaf])[0] != old:
            outcome.effects[name] = _copy(leaf)
        if leaf.grad is not None and (
            leaf.grad is not gradient or _versions([leaf.grad])[0] != version
        ):
            outcome.gradients[name + ".grad"] = _copy(leaf.grad)
    if backward is not False and outputs:
        outcome.gradients.update(
            (name, _copy(gradient)) for name, gradient in _gradients(outputs, leaves).items()
        )


def _pairs(one: _Outcome, other: _Outcome) -> Iterator[Tuple[str, str, Any, Any]]:
    for position, (a, b) in enumerate(zip(one.results, other.results)):
        yield "result", "result %d" % position if len(one.results) > 1 else "the result", a, b
    for what, left, right in (
        ("side effect", one.effects, other.effects),
        ("gradient", one.gradients, other.gradients),
    ):
        for name in left:
            if name in right:
                yield what, name, left[name], right[name]


def _largest(one: _Outcome, other: _Outcome, measure: _Measure) -> float:
    return max([measure(a, b)[0] for _, _, a, b in _pairs(one, other)] or [0.0])


def _first_parting(one: _Outcome, other: _Outcome, measure: _Measure) -> Optional[Parting]:
    parted = None
    for what, name, a, b in _pairs(one, other):
        absolute, relative, beyond = measure(a, b)
        if beyond:
            parted = Parting(
                node=name,
                operation="",
                direction="backward" if what == "gradient" else "forward",
                graph=-1,
                stage=other.name,
                before=one.name,
                what=what,
                absolute=absolute,
                relative=relative,
                one=statistics(one.name, a),
                other=statistics(other.name, b),
            )
            break
    if parted is None:
        return None
    # results part: which node did it?
    if one.name == "eager":
        found = _against_eager(one, other, measure)
    elif other.name == "inductor":
        found = _against_aot(one, other, measure)
    else:
        found = _against_captured(one, other, measure)
    if found is None:
        parted.note = "no single node differs beyond the tolerance; the difference builds up, or is made outside of the graphs"
        return parted
    found.stage, found.before = other.name, one.name
    return found


def _parting(
    graph: _Graph, value: _Value, one: Any, other: Any, measure: _Measure, names: Tuple[str, str]
) -> Parting:
    absolute, relative, _ = measure(one, other)
    return Parting(
        node=value.name,
        operation=value.operation,
        direction=graph.direction,
        graph=graph.number,
        absolute=absolute,
        relative=relative,
        one=statistics(names[0], one),
        other=statistics(names[1], other),
        kernel=value.kernel,
        kernel_nodes=value.kernel_nodes,
        **_where(value.stack),
    )


def _ordered(outcome: _Outcome) -> List[_Graph]:
    # forward graphs in the order in which they ran, then backward graphs in theirs
    return list(outcome.graphs.values())


def _against_eager(one: _Outcome, other: _Outcome, measure: _Measure) -> Optional[Parting]:
    """The first captured node whose value no eager call made."""
    made: Dict[Tuple[Any, Any], List[Any]] = {}
    for call in one.calls:
        for tensor in call.tensors:
            made.setdefault((tensor.shape, tensor.dtype), []).append(tensor)
    for graph in _ordered(other):
        for value in graph.values:
            for tensor in value.tensors:
                known = made.get((tensor.shape, tensor.dtype), [])
                if not (tensor.is_floating_point() or tensor.is_complex()):
                    continue
                if any(not measure(candidate, tensor)[2] for candidate in known):
                    continue
                nearest = min(known, key=lambda c: measure(c, tensor)[0]) if known else tensor
                found = _parting(graph, value, nearest, tensor, measure, (one.name, other.name))
                found.note = (
                    "no call made this value when the function ran eagerly; the nearest one is shown"
                    if known
                    else "no call made a value of this shape when the function ran eagerly"
                )
                return found
    return None


def _against_captured(one: _Outcome, other: _Outcome, measure: _Measure) -> Optional[Parting]:
    """The first captured node whose value none of the AOT nodes that come from it has."""
    for graph in _ordered(other):
        if graph.direction != "forward":
            continue
        captured = one.graphs.get(graph.key)
        if captured is None:
            continue
        of: Dict[str, List[_Value]] = {}
        for value in graph.values:
            for source in value.sources[:1]:
                of.setdefault(source, []).append(value)
        for value in captured.values:
            candidates = of.get(value.name, [])
            for tensor in value.tensors:
                if not (tensor.is_floating_point() or tensor.is_complex()):
                    continue
                same = [
                    (candidate, found)
                    for candidate in candidates
                    for found in candidate.tensors
                    if found.shape == tensor.shape
                ]
                if not same or any(not measure(tensor, found)[2] for _, found in same):
                    continue
                candidate, found = same[-1]
                parted = _parting(graph, value, tensor, found, measure, (one.name, other.name))
                parted.note = "in the AOT graph: %s (%s)" % (candidate.name, candidate.operation)
                return parted
    # the forwards agree: the first gradient graph that parts is where it begins
    for graph in _ordered(other):
        if graph.direction == "backward" and graph.values:
            for name, a in one.gradients.items():
                b = other.gradients.get(name)
                if b is not None and measure(a, b)[2]:
                    parted = _parting(
                        graph,
                        _Value(name, "", None, []),
                        a,
                        b,
                        measure,
                        (one.name, other.name),
                    )
                    parted.what = "gradient"
                    return parted
    return None


def _against_aot(one: _Outcome, other: _Outcome, measure: _Measure) -> Optional[Parting]:
    """The first buffer that is not what the AOT node of its name made."""
    for graph in _ordered(other):
        reference = one.graphs.get(graph.key)
        if reference is None:
            continue
        known = {value.name: value for value in reference.values}
        for value in graph.values:
            expected = known.get(value.name)
            if expected is None or len(expected.tensors) != 1:
                continue
            a, b = expected.tensors[0], value.tensors[0]
            if a.shape != b.shape or a.dtype != b.dtype or not measure(a, b)[2]:
                continue
            return _narrowed(reference, graph, value, expected, measure, (one.name, other.name))
    return None


def _narrowed(
    reference: _Graph,
    graph: _Graph,
    value: _Value,
    expected: _Value,
    measure: _Measure,
    names: Tuple[str, str],
) -> Parting:
    """Which node of a kernel it is: inductor compiles each of them by itself, on what the AOT graph made."""
    parted = _parting(graph, value, expected.tensors[0], value.tensors[0], measure, names)
    parted.operation = parted.operation or expected.operation
    module = reference.module
    if module is None:
        return parted
    known = {one.name: one for one in reference.values}
    try:
        found = _alone(reference, value.kernel_nodes or [value.name], measure)
    except Exception as error:
        parted.note = (
            "its operations could not be compiled one by one: %s"
            % (str(error).strip().split("\n")[0])
        )
        return parted
    if found is None:
        parted.alone = False
        return parted
    name, a, b = found
    node = known[name]
    alone = _parting(
        graph,
        _Value(name, node.operation, node.stack, [], (), value.kernel, value.kernel_nodes),
        a,
        b,
        measure,
        (names[0], names[1] + ", by itself"),
    )
    alone.alone = True
    return alone


def _alone(
    reference: _Graph, names: List[str], measure: _Measure
) -> Optional[Tuple[str, Any, Any]]:
    """The first of some nodes that inductor computes differently from what it is given; None when there is none.

    All are compiled as one graph in which no node uses another one's result.
    """
    import torch.fx

    known = {value.name: value for value in reference.values}
    nodes = {node.name: node for node in reference.module.graph.nodes}
    order = {name: position for position, name in enumerate(nodes)}
    names = sorted(set(names) & set(order), key=order.__getitem__)
    graph = torch.fx.Graph()
    placeholders: Dict[str, Any] = {}
    inputs: List[Any] = []

    def known_value(node: Any) -> Any:
        if node.name in reference.inputs:
            return reference.inputs[node.name]
        tensors = known[node.name].tensors if node.name in known else []
        if len(tensors) != 1:
            raise LookupError(node.name)  # a tuple of tensors, or a number that was computed
        return tensors[0]

    wanted: List[Any] = []
    for name in names:
        node = nodes.get(name)
        if node is None or node.op != "call_function" or node.target is operator.getitem:
            continue
        if name not in known or not known[name].tensors:
            continue
        with contextlib.suppress(LookupError):
            values = {one.name: known_value(one) for one in node.all_input_nodes}
            for one, value in values.items():
                if isinstance(value, torch.Tensor) and one not in placeholders:
                    placeholders[one] = None
                    inputs.append(value)
            wanted.append(node)
    for name in placeholders:
        placeholders[name] = graph.placeholder(name)
    outputs = []
    for node in wanted:
        outputs.append(
            graph.node_copy(node, lambda one: placeholders.get(one.name) or known_value(one))
        )
        outputs[-1].meta = {}
    if not outputs:
        return None
    graph.output(tuple(outputs))
    single = torch.fx.GraphModule(reference.module, graph)
    with compat.inductor_as_eager_random(), torch.no_grad():
        results = torch.compile(single, fullgraph=True, dynamic=False)(*inputs)
    for node, result in zip(wanted, results):
        name = node.name
        for one, other in zip(known[name].tensors, _tensors(result)):
            if one.shape == other.shape and measure(one, other)[2]:
                return name, one, other
    return None
