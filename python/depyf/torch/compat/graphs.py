"""Graphs and their nodes, and where a node came from."""

import functools
import re
import sys
from typing import Any, Callable, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from depyf.interrupts import pass_on
from depyf.plain import cause_of, context_of, name_of, text_of, traceback_of
from depyf.torch.compat.probes import probe


class TracedNode(NamedTuple):
    """A node of a graph that torch has just traced, by what torch keeps of where it came from."""

    name: str
    origin: str  # the node of Dynamo's graph that it was made of; empty where torch does not tell
    sequence: int  # torch.autograd's number of the operation; -1 where there is none
    backward: bool  # made for the gradient of the operation with that number


def failing_node(error: Optional[BaseException]) -> Any:
    """The node of a graph at which an exception was raised while the graph was walked, as
    AOTAutograd and inductor do; None where there was none.
    """
    import torch.fx

    found, seen = None, 0
    while error is not None and found is None and seen < 8:
        traced = traceback_of(error)
        while traced is not None:
            code = traced.tb_frame.f_code
            if name_of(code) == "run_node" and code.co_argcount == 2:
                itself, node = (traced.tb_frame.f_locals.get(one) for one in code.co_varnames[:2])
                if issubclass(type(itself), torch.fx.Interpreter) and issubclass(
                    type(node), torch.fx.Node
                ):
                    found = node
            traced = traced.tb_next
        error, seen = cause_of(error) or context_of(error), seen + 1
    return found


def sources_of(node: Any) -> Tuple[str, ...]:
    """The names of the nodes that torch made a node of, as it lists them: as objects, up to 2.5 as
    pairs.
    """
    chain = node.meta.get("from_node") or ()
    return tuple(str(one[0]) if isinstance(one, tuple) else str(one.name) for one in chain)


def origin_of(node: Any) -> str:
    """The name of the node of Dynamo's graph that a node was made of.

    Empty where torch does not tell.
    """
    source, chain = None, node.meta.get("from_node")
    if chain and isinstance(chain[0], tuple):  # the oldest comes first
        return str(chain[0][0])
    while chain:
        source = chain[-1]
        chain = getattr(source, "from_node", None)
    return str(getattr(source, "name", ""))


def traced_module(name: str) -> Any:
    """The graph module whose text is being traced under this name, for a handler of the structured
    trace.

    A record holds the text alone. The graph is a variable of the function that traces, two calls
    up. None where that function has no graph: on a hit in one of torch's caches, or in a torch that
    keeps it elsewhere.
    """

    def find() -> Any:
        from torch.fx import GraphModule

        return GraphModule

    module = probe("graphs behind traced texts", find)
    frame: Any = sys._getframe(1)
    for _ in range(24):
        if frame is None or name_of(frame.f_code) == "trace_structured":
            break
        frame = frame.f_back
    if (
        module is None
        or frame is None
        or name_of(frame.f_code) != "trace_structured"
        or frame.f_back is None
    ):
        return None
    found = {
        key: value
        for key, value in frame.f_back.f_locals.items()
        if issubclass(type(value), module)
    }
    if (
        len({id(value) for value in found.values()}) > 1
    ):  # forward and backward are traced side by side
        found = {
            key: value
            for key, value in found.items()
            if key.startswith("bw") == ("backward" in name)
        }
    if len({id(value) for value in found.values()}) != 1:
        return None
    return next(iter(found.values()))


def traced_graph(graph_module: Any) -> List[TracedNode]:
    """The nodes of a graph with the captured graph's nodes that they came from; none of None."""
    nodes = []
    for node in graph_module.graph.nodes if graph_module is not None else ():
        if node.op in ("placeholder", "output"):
            continue
        sequence = node.meta.get("seq_nr")
        nodes.append(
            TracedNode(
                node.name,
                origin_of(node),
                sequence if isinstance(sequence, int) else -1,
                "fwd_source_fn_stack" in node.meta,
            )
        )
    return nodes


def memory_of(tensors: Iterable[Any]) -> FrozenSet[int]:
    """The addresses of the storages of tensors, which views share with what they view."""
    import torch

    found = set()
    with torch._C.DisableTorchFunction():  # no code of the program's tensors
        for tensor in tensors:
            try:
                found.add(tensor.untyped_storage()._cdata)
            except Exception:  # a layout without one, such as a sparse tensor's
                pass_on()
    return frozenset(found)


def readable_graph(graph_module: Any) -> str:
    """The text of a graph module as torch prints it."""
    try:
        return graph_module.print_readable(
            print_output=False, include_stride=True, include_device=True
        )
    except TypeError:  # a torch before 2.5
        return graph_module.print_readable(print_output=False)


def watch_formatted_graphs(tell: Callable[[str, Any], None]) -> Optional[Callable[[], None]]:
    """Tells of each graph that code outside of torch formats by `lazy_format_graph_code`.

    The function does what it did; vLLM's backend calls it so that depyf sees its graphs.

    Args:
        tell: called with the name and the graph module; must not raise.
    Returns:
        What puts the function back; None while Dynamo is not imported, or where it has none.
    """
    utils: Any = sys.modules.get("torch._dynamo.utils")
    original = getattr(utils, "lazy_format_graph_code", None)
    if original is None:
        return None

    def lazy_format_graph_code(name: str, gm: Any, *arguments: Any, **keywords: Any) -> Any:
        caller = text_of(dict.get(sys._getframe(1).f_globals, "__name__"))
        if not caller.startswith("torch."):
            tell(name, gm)
        return original(name, gm, *arguments, **keywords)

    functools.update_wrapper(lazy_format_graph_code, original)
    setattr(utils, "lazy_format_graph_code", lazy_format_graph_code)

    def restore() -> None:
        # what somebody else has put there meanwhile stays
        if utils.lazy_format_graph_code is lazy_format_graph_code:
            setattr(utils, "lazy_format_graph_code", original)

    return restore


def readable_source(name: str) -> str:
    """The name of an input as the user wrote it: `x` for `L['x']`, `self.weight` for torch's longer
    forms.
    """
    name = re.sub(r"\.__dict__\['(\w+)'\]", r".\1", name)
    name = re.sub(r"\._modules\['(\w+)'\]", r".\1", name)
    name = re.sub(r"\._(?:parameters|buffers)\['(\w+)'\]", r".\1", name)
    return re.sub(r"^[LG]\['(\w+)'\]", r"\1", name)
