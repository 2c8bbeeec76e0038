"""What the operations of a live graph write into, and who reads it later.

A write is `x[i] = y`, `add_`, `out=`, a custom operator that says so in its schema, or an operation
that is given a graph with one.
"""

import re
from typing import Any, Dict, FrozenSet, Iterator, List, Sequence, Tuple

from depyf.torch.compat.graphs import memory_of
from depyf.trace.graph_rows import IN_PLACE, INPUT, OPERATION, OUTPUT, PARAMETER, Writes

#: what the kinds of nodes are called in torch.fx
KINDS = {"placeholder": INPUT, "get_attr": PARAMETER, "output": OUTPUT}
_OPERATOR = re.compile(r"i(?:add|sub|mul|matmul|truediv|floordiv|mod|pow|lshift|rshift|and|or|xor)")
#: functions that update their second and third argument where their sixth is true
_STATISTICS = {"batch_norm": "training", "instance_norm": "use_input_stats"}
#: operators that run a kernel of the program's own: which arguments it writes into is in its code
_KERNELS = ("triton_kernel_wrapper_mutation",)
#: how deep graphs stand in graphs
DEEPEST = 8


def graph_writes(graph_module: Any, depth: int = 0) -> List[List[Any]]:
    """The writes of a graph in its order: `writes` of docs/run_schema.md.

    Args:
        depth: how many graphs it is inside of.
    """
    numbers: Dict[Any, int] = {}
    found = Writes()
    for node in graph_module.graph.nodes:
        numbers[node] = len(numbers)
        found.add(
            numbers[node],
            KINDS.get(node.op, OPERATION),
            [numbers[one] for one in node.all_input_nodes],
            [numbers[one] for one in _written(node, graph_module, depth)],
            _memory(node),
        )
    return found.rows()


def inner_graphs(node: Any, graph_module: Any) -> List[Tuple[str, Any]]:
    """Name and graph module of each graph that an operation is given."""
    held = [one for one in node.all_input_nodes if one.op == "get_attr"]
    if not held:
        return []
    from torch.fx import GraphModule

    values = [
        (one.target, _attribute(graph_module, one.target))
        for one in held
        if isinstance(one.target, str)
    ]
    return [(name, value) for name, value in values if issubclass(type(value), GraphModule)]


def _attribute(owner: Any, path: str) -> Any:
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def _written(node: Any, graph_module: Any, depth: int) -> List[Any]:
    """The nodes that an operation writes into."""
    found = list(_written_arguments(node))
    inner = inner_graphs(node, graph_module) if depth < DEEPEST else []
    if not inner:
        return found
    graphs = {name for name, _ in inner}
    given = [
        one
        for one in _nodes((node.args, node.kwargs))
        if not (one.op == "get_attr" and one.target in graphs)
    ]
    for _, module in inner:
        own = list(module.graph.nodes)
        changed = {own[one] for _, into, _ in graph_writes(module, depth + 1) for one in into}
        held = [one for one in own if one.op == "placeholder"]
        # the operands come last, behind such as a condition
        for placeholder, one in zip(reversed(held), reversed(given)):
            if placeholder in changed:
                found.append(one)
    return found


def _nodes(value: Any) -> Iterator[Any]:
    """The nodes in an argument, which may be a list or dict of them."""
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _nodes(one)
    elif isinstance(value, dict):
        yield from _nodes(list(value.values()))
    elif hasattr(value, "all_input_nodes"):
        yield value


def _tensors(value: Any) -> Iterator[Any]:
    from torch import Tensor

    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, Tensor):
        yield value


def _memory(node: Any) -> FrozenSet[Any]:
    """The memory of a node's tensors, which views share; empty where the node has no value."""
    return memory_of(_tensors(node.meta.get("example_value", node.meta.get("val"))))


def _may_be_tensor(node: Any) -> bool:
    value = node.meta.get("example_value", node.meta.get("val"))
    return value is None or any(True for _ in _tensors(value))


def _written_arguments(node: Any) -> Iterator[Any]:
    if node.op not in ("call_function", "call_method"):
        return
    for one in _nodes(list(_written_values(node))):
        if _may_be_tensor(one):
            yield one


def _written_values(node: Any) -> Iterator[Any]:
    """The arguments that a node's operation writes into."""
    target = node.target
    yield node.kwargs.get("out")
    if node.op == "call_method":
        if IN_PLACE.fullmatch(target) or target == "__setitem__":
            yield node.args[:1]
        return
    schemas = _schemas(target)
    if schemas:
        yield from _by_schema(node, schemas)
        return
    name = getattr(target, "__name__", "")
    if name in _KERNELS:
        yield node.kwargs.get("kwargs")
    elif getattr(target, "__module__", None) == "_operator":
        if name == "setitem" or _OPERATOR.fullmatch(name):
            yield node.args[:1]
    elif IN_PLACE.fullmatch(name) or _given(node, "inplace") is True:
        yield node.args[:1] or node.kwargs.get("input")
    elif name in _STATISTICS and _given(node, _STATISTICS[name]) is True:
        yield [_given(node, one) for one in ("running_mean", "running_var")]


def _given(node: Any, parameter: str) -> Any:
    """What a function of Python is given for a parameter."""
    if parameter in node.kwargs:
        return node.kwargs[parameter]
    code = getattr(node.target, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    at = names.index(parameter) if parameter in names else len(node.args)
    return node.args[at] if at < len(node.args) else None


def _schemas(target: Any) -> Sequence[Any]:
    """The schemas of an operator of torch's dispatcher, of each overload where none was chosen."""
    schema = getattr(target, "_schema", None)
    if schema is not None:
        return [schema]
    if not hasattr(target, "overloads") or not hasattr(target, "_qualified_op_name"):
        return []
    return [getattr(target, name)._schema for name in target.overloads()]


def _by_schema(node: Any, schemas: Sequence[Any]) -> Iterator[Any]:
    for schema in schemas:
        arguments = schema.arguments
        names = {one.name for one in arguments}
        plain = [one for one in arguments if not one.kwarg_only]
        if len(node.args) > len(plain) or not names.issuperset(node.kwargs):
            continue
        values = dict(zip((one.name for one in plain), node.args))
        values.update(node.kwargs)
        for one in arguments:
            if one.alias_info is not None and one.alias_info.is_write and one.name in values:
                yield values[one.name]
        return
