"""The first operation that made NaN or infinity."""

import contextlib
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from depyf.torch import compat
from depyf.torch.capture import open_runs
from depyf.torch.numbers.nodes import (
    UNWRITTEN,
    differentiable,
    element_text,
    gradients_of,
    has_positive_infinity,
    input_name,
    nonfinite_kind,
    operation_of,
    parameter_names,
    place_of,
    tensors_in,
    watching_interpreter,
)
from depyf.torch.numbers.results import Nonfinite, NonfiniteReport, statistics
from depyf.torch.state import OwnCompiles, State, fresh_function
from depyf.torch_wrappers import unwrapped


class _Finder:
    """A backend that runs captured graphs node by node and looks at every value."""

    def __init__(self, tell: Any = None, parameters: Sequence[str] = ()) -> None:
        self.report = NonfiniteReport()
        self._tell = tell
        self._parameters = parameters
        self._watcher = watching_interpreter()

    def backend(self, module: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
        """To be passed to torch.compile."""
        number = self.report.graphs
        self.report.graphs += 1
        state = {"calls": 0}
        # torch drops what it knows of inputs once the graph is compiled
        names = {
            node.name: input_name(node, self._parameters)
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
            masks: Set[Any] = set()
            watcher = self._watcher(
                module,
                lambda node, values, inputs: self._seen(
                    number,
                    call,
                    edges,
                    kinds,
                    masks,
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

    def _found_mask(self, finding: Nonfinite) -> None:
        self.report.mask = finding

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
        masks: Set[Any],
        name: str,
        node: Any,
        values: List[Any],
        inputs: List[Any],
    ) -> None:
        self.report.nodes += 1
        operation = operation_of(node)
        if not UNWRITTEN.search(operation):
            kind = nonfinite_kind(values)
            seen = {id(value) for value in values}
            written = {
                one
                for one, value in inputs
                if any(id(tensor) in seen for tensor in tensors_in(value))
            }
            is_mask = kind == "infinity" and _is_mask(node, values, inputs, written, kinds, masks)
            if is_mask:
                masks.add(node)
                masks.update(written)
            if self.report.mask is None if is_mask else self._wanted(kind):
                # what was not finite before is not this node's doing, but it may turn infinity into
                # NaN; of what the node wrote to, only what was seen before it tells
                known = [
                    kinds.get(one, "")
                    if one in written
                    else nonfinite_kind(list(tensors_in(value)))
                    for one, value in inputs
                ]
                came = " and ".join(
                    word for word in ("NaN", "infinity") if any(word in one for one in known)
                )
                if node.op in ("placeholder", "get_attr") or kind != came or "NaN" not in came:
                    worst = _worst(values)
                    is_input = node.op in ("placeholder", "get_attr")
                    (self._found_mask if is_mask else self._found)(
                        Nonfinite(
                            node=name,
                            operation=operation,
                            direction="forward",
                            graph=graph,
                            kind=kind,
                            call=call,
                            is_input=is_input,
                            output=statistics(node.name, worst),
                            element="" if written else element_text(node, worst, dict(inputs)),
                            inputs=[
                                statistics(
                                    one.name + (", written to" if one in written else ""), value
                                )
                                for one, found in inputs
                                for value in (
                                    [found] if not isinstance(found, (list, tuple)) else found
                                )
                            ],
                            **({} if is_input else place_of(node.stack_trace)),
                        )
                    )
            kinds[node] = kind
            kinds.update(dict.fromkeys(written, kind))
        self._watch_backward(graph, call, edges, node, values)

    def _watch_backward(
        self, graph: int, call: int, edges: Dict[int, Any], node: Any, values: List[Any]
    ) -> None:
        """Hooks every autograd node that a graph's node made: those reached from its results and
        not known before.
        """
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
                kind = nonfinite_kind(list(tensors_in(passed_on)))
                if not self._wanted(kind):
                    return
                came = nonfinite_kind(list(tensors_in(came_in)))
                if came and (kind == came or "NaN" in came):
                    return
                worst = _worst(list(tensors_in(passed_on)))
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
                        inputs=[statistics("gradient", one) for one in tensors_in(came_in)] + saved,
                        **place_of(node.stack_trace),
                    )
                )
            except Exception as error:  # the user's backward goes on
                self.report.notes.append(
                    "the backward pass of %s was not checked: %s" % (node.name, error)
                )

        function.register_hook(after)


def _is_mask(
    node: Any,
    values: Sequence[Any],
    inputs: Sequence[Any],
    written: Set[Any],
    kinds: Dict[Any, str],
    masks: Set[Any],
) -> bool:
    """Whether the infinity that a node made is that of a mask: -inf alone, which is an input, was
    filled in as a constant, or comes from a mask.
    """
    if any(has_positive_infinity(one) for one in values):
        return False
    if node.op in ("placeholder", "get_attr"):
        return True
    came = [
        one
        for one, value in inputs
        if (kinds.get(one) if one in written else nonfinite_kind(list(tensors_in(value))))
    ]
    if came:
        return all(one in masks for one in came)
    given = list(node.args) + list(node.kwargs.values())
    return any(isinstance(one, float) and one == float("-inf") for one in given)


def _worst(tensors: Sequence[Any]) -> Any:
    """The first tensor with NaN, else the first with infinity."""
    kinds = [nonfinite_kind([tensor]) for tensor in tensors]
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


def find_nonfinite(
    fn: Callable[..., Any],
    *args: Any,
    dynamic: Optional[bool] = None,
    backward: Optional[bool] = None,
    **kwargs: Any,
) -> NonfiniteReport:
    """Runs what torch.compile captures of a function node by node and names the first node that
    made NaN or infinity.

    The function runs once, with the captured graphs interpreted and not compiled further; gradients
    are computed through them. Its state is as before afterwards: parameters, buffers, gradients,
    attributes, random numbers.

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
    target = unwrapped(fn)
    finder = _Finder(parameters=parameter_names(target, len(args)))
    state = State(target, args, kwargs)
    with OwnCompiles():
        try:
            compiled = torch.compile(
                fresh_function(target), backend=finder.backend, dynamic=dynamic
            )
            result = compiled(*args, **kwargs)
            outputs = differentiable(result)
            if backward is not False and outputs:
                gradients_of(outputs, state.leaves())
        except Exception as error:
            finder.report.error = "%s: %s" % (type(error).__name__, error)
            if finder.report.first is None:
                raise
        finally:
            state.restore()
    _keep(finder.report, str(getattr(target, "__qualname__", type(target).__qualname__)))
    return finder.report


def _keep(report: NonfiniteReport, function: str) -> None:
    """Leaves what was found in the blocks that are open, and so in their dumps."""
    found = {"function": function, "found": bool(report), "text": str(report)}
    for run in open_runs():
        run.nonfinite.append(found)


class watch_nonfinite:
    """Inside the block everything that is compiled runs node by node, and the first NaN or infinity
    is told.

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
        _keep(self.report, "")
