"""The structure of a live graph as plain data: nodes, edges, shapes, modules and source lines.

The text that torch prints of a graph is for people; what reads a graph takes this. The form is that
of `structure` in docs/run_schema.md: strings that repeat stand in tables, and inputs are numbers of
nodes. Only the public interface of torch.fx is used, and nothing of the graph is kept alive.
"""

import re
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from depyf.torch.graph_writes import DEEPEST, KINDS, graph_writes, inner_graphs
from depyf.trace.frames import frames_of_text
from depyf.trace.graph_rows import HELD, INPUT, OPERATION, PARAMETER, Table

_DTYPE = re.compile(r"([a-z]+)(\d.*)?$")
_ITEM = re.compile(r"""\._modules\['([^']*)'\]|\['([^']*)'\]|\[(\d+)\]""")
_DTYPES = {
    "float": "f",
    "bfloat": "bf",
    "int": "i",
    "uint": "u",
    "complex": "c",
    "bool": "b",
}


def captured_inputs(artifacts: Iterable[Any]) -> List[Tuple[str, str]]:
    """Kind and target of each input of the captured graph, in order.

    The inputs of later graphs refer to them by number.
    """
    for artifact in artifacts:
        if artifact.stage == "Captured_Graph" and artifact.structure:
            rows, targets = artifact.structure["nodes"], artifact.structure["targets"]
            return [
                (row[1], targets[row[2]])
                for row in rows
                if row[1] in (INPUT, PARAMETER) and not row[6]
            ]
    return []


def structure(
    graph_module: Any, inputs: Sequence[Tuple[str, str]] = (), depth: int = 0
) -> Dict[str, Any]:
    """What the graph of a `torch.fx.GraphModule` consists of.

    Args:
        graph_module: None gives an empty structure.
        inputs: `captured_inputs` of the graph that it was made of: its inputs get their names and
            kinds.
        depth: how many graphs it is inside of.
    Returns:
        `nodes`: rows of name, kind, numbers in `targets`, `shapes`, `modules` and `places`, and a
        list of the numbers of the nodes that it reads, in the order of its arguments; these
        tables; `writes`, rows of a node that writes into values, the nodes that these are of, and
        those that read them next. Where there are any, `inner`: the structures of the graphs that
        its operations are given, by their names.
    """
    if graph_module is None:
        return {}
    targets, shapes, modules, places = Table(), Table(), Table(), Table()
    numbers: Dict[str, int] = {}
    rows: List[List[Any]] = []
    for node in graph_module.graph.nodes:
        numbers[node.name] = len(rows)
        kind, target = _kind(node), _target(node)
        number = getattr(node.meta.get("desc"), "idx", None)
        if node.op == "placeholder" and isinstance(number, int) and 0 <= number < len(inputs):
            if type(node.meta["desc"]).__name__ == "PlainAOTInput":
                kind, target = inputs[number]
        rows.append(
            [
                node.name,
                kind,
                targets.add(target),
                shapes.add(_shape(node.meta.get("example_value", node.meta.get("val")))),
                modules.add(_module(node)),
                places.add(_place(node.meta.get("stack_trace"))),
                [numbers[one.name] for one in node.all_input_nodes if one.name in numbers],
            ]
        )
    found: Dict[str, Any] = {
        "nodes": rows,
        "targets": targets.rows,
        "shapes": shapes.rows,
        "modules": modules.rows,
        "places": [list(row) for row in places.rows],
        "writes": graph_writes(graph_module),
    }
    inner: Dict[str, Any] = {}
    for node in graph_module.graph.nodes if depth < DEEPEST else ():
        for name, module in inner_graphs(node, graph_module):
            if name not in inner:
                inner[name] = structure(module, depth=depth + 1)
    if inner:
        found["inner"] = inner
    return found


def operation(node: Any) -> Tuple[str, List[str]]:
    """The target of a node, and the lines of the stack that it is from."""
    stack = node.meta.get("stack_trace")
    return _target(node), stack.splitlines() if isinstance(stack, str) else []


def _kind(node: Any) -> str:
    if node.op == "placeholder" and HELD.search(str(node.target)):
        return PARAMETER
    return KINDS.get(node.op, OPERATION)


def _target(node: Any) -> str:
    target = node.target
    if isinstance(target, str):  # a method, a submodule, or what an input is called
        return "." + target if node.op == "call_method" else target
    if not hasattr(target, "__name__"):
        return str(target)
    if hasattr(target, "overloadpacket") or type(target).__name__ == "OpOverload":
        return str(target)  # aten.add.Tensor
    module = getattr(target, "__module__", None) or "torch"
    module = "operator" if module == "_operator" else module
    if module.startswith("torch._C"):
        module = "torch" + module[len("torch._C") :]
    return "%s.%s" % (module, target.__name__)


def _shape(value: Any) -> str:
    """dtype and size as torch prints them, such as `f32[2, 8]`; else the type or the number."""
    if value is None:
        return ""
    if isinstance(value, (tuple, list)):
        return "(%s)" % ", ".join(_shape(one) for one in value[:8])
    dtype, size = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or size is None:
        return str(value)[:40] if not hasattr(value, "__dict__") else type(value).__name__
    name = str(dtype).rpartition(".")[2]
    match = _DTYPE.match(name)
    if match and match.group(1) in _DTYPES:
        name = _DTYPES[match.group(1)] + (match.group(2) or ("8" if name == "bool" else ""))
    return "%s[%s]" % (name, ", ".join(str(one) for one in size))


def _module(node: Any) -> str:
    """The path of the module that the node is of, or that the forward node of a gradient is of."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not isinstance(stack, dict) or not stack or node.op in ("placeholder", "output"):
        return ""
    last = list(stack.values())[-1]
    path = last[0] if isinstance(last, tuple) and last else ""
    return clean_module(path) if isinstance(path, str) else ""


def clean_module(path: str) -> str:
    """A module's path without where its root is found: `L['self'].layers.0` is `layers.0`."""
    path = re.sub(r"^[LG]\['\w+'\]", "", path)
    path = _ITEM.sub(lambda found: "." + next(part for part in found.groups() if part), path)
    return path.strip(".")


def _place(stack_trace: Any) -> Tuple[Any, ...]:
    """File, line and function of the innermost frame of a node's stack."""
    if not isinstance(stack_trace, str):
        return ("", 0, "")
    frames = frames_of_text(stack_trace)
    return frames[-1][:3] if frames else ("", 0, "")
