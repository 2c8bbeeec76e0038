"""The first value at which two stages differ, and the node at fault."""

import contextlib
import operator
from typing import Any, Dict, List, Optional, Tuple

from depyf.torch import compat
from depyf.torch.numbers.nodes import place_of, tensors_in
from depyf.torch.numbers.recorded import Measure, Outcome, RanGraph, Value, differing_pairs
from depyf.torch.numbers.results import Parting, statistics


def first_parting(one: Outcome, other: Outcome, measure: Measure) -> Optional[Parting]:
    parted = None
    for what, name, a, b in differing_pairs(one, other):
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
    # results differ: which node is at fault?
    if one.name == "eager":
        found = _against_eager(one, other, measure)
    elif other.name == "inductor":
        found = _against_aot(one, other, measure)
    else:
        found = _against_captured(one, other, measure)
    if found is None:
        parted.note = (
            "no single node differs beyond the tolerance; the difference accumulates, or "
            "arises outside of the graphs"
        )
        return parted
    found.stage, found.before = other.name, one.name
    return found


def _parting(
    graph: RanGraph, value: Value, one: Any, other: Any, measure: Measure, names: Tuple[str, str]
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
        **place_of(value.stack),
    )


def _ordered(outcome: Outcome) -> List[RanGraph]:
    # forward graphs in the order in which they ran, then backward graphs in theirs
    return list(outcome.graphs.values())


def _against_eager(one: Outcome, other: Outcome, measure: Measure) -> Optional[Parting]:
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
                    "no call made this value when the function ran eagerly; the nearest one is "
                    "shown"
                    if known
                    else "no call made a value of this shape when the function ran eagerly"
                )
                return found
    return None


def _against_captured(one: Outcome, other: Outcome, measure: Measure) -> Optional[Parting]:
    """The first captured node whose value none of the AOT nodes that come from it has."""
    for graph in _ordered(other):
        if graph.direction != "forward":
            continue
        captured = one.graphs.get(graph.key)
        if captured is None:
            continue
        of: Dict[str, List[Value]] = {}
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
    # the forward graphs agree: the first backward graph that differs is the origin
    for graph in _ordered(other):
        if graph.direction == "backward" and graph.values:
            for name, a in one.gradients.items():
                b = other.gradients.get(name)
                if b is not None and measure(a, b)[2]:
                    parted = _parting(
                        graph,
                        Value(name, "", None, []),
                        a,
                        b,
                        measure,
                        (one.name, other.name),
                    )
                    parted.what = "gradient"
                    return parted
    return None


def _against_aot(one: Outcome, other: Outcome, measure: Measure) -> Optional[Parting]:
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
    reference: RanGraph,
    graph: RanGraph,
    value: Value,
    expected: Value,
    measure: Measure,
    names: Tuple[str, str],
) -> Parting:
    """Which node of a kernel it is: inductor compiles each of them by itself, on what the AOT graph
    made.
    """
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
        Value(name, node.operation, node.stack, [], (), value.kernel, value.kernel_nodes),
        a,
        b,
        measure,
        (names[0], names[1] + ", by itself"),
    )
    alone.alone = True
    return alone


def _alone(
    reference: RanGraph, names: List[str], measure: Measure
) -> Optional[Tuple[str, Any, Any]]:
    """The first of some nodes that inductor computes differently from what it is given; None when
    there is none.

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
        for one, other in zip(known[name].tensors, tensors_in(result)):
            if one.shape == other.shape and measure(one, other)[2]:
                return name, one, other
    return None
