"""Inductor: compiling one graph, and what its scheduler made."""

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from depyf.interrupts import pass_on
from depyf.torch.compat.probes import note_unavailable
from depyf.torch.compat.switches import caches_off


def inductor_compile(module: Any, example_inputs: Any, inner: Callable[..., Any]) -> Any:
    """Compiles a captured graph by inductor, with `inner(graph module, inputs, **options)` for each
    graph it is split into.
    """
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(module, example_inputs, inner_compile=inner)


def inductor_inner(module: Any, example_inputs: Any, options: Dict[str, Any]) -> Any:
    """What inductor generates for one graph: a callable that takes a list, which it empties."""
    from torch._inductor.compile_fx import compile_fx_inner

    return compile_fx_inner(module, example_inputs, **options)


@contextlib.contextmanager
def inductor_as_eager_random() -> Iterator[None]:
    """Inside the block inductor draws random numbers as eager mode does, and reads and writes no
    cache.
    """
    import warnings

    import torch._inductor.config as inductor

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="dynamo_pgo")  # one more cache that is off
        with caches_off(), inductor.patch(fallback_random=True):
            yield


class Schedule:
    """What inductor's scheduler made of one graph.

    Attributes:
        groups: nodes of the graph that are computed together, in the order in which they run.
        buffers: buffer -> (the node whose value it holds or None, number of its group).
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.groups: List[List[str]] = []
        self.buffers: Dict[str, Tuple[Optional[str], int]] = {}


@contextlib.contextmanager
def inductor_schedule(found: Schedule) -> Iterator[None]:
    """Fills `found` with what inductor schedules inside the block."""
    import torch._inductor.config as inductor

    if not hasattr(inductor, "_post_fusion_custom_pass"):
        note_unavailable("inductor's schedule", "this torch has no pass after fusion")
        yield
        return
    previous = inductor._post_fusion_custom_pass

    def after_fusion(nodes: List[Any]) -> List[Any]:
        nodes = previous(nodes) if previous is not None else nodes
        try:
            found.clear()  # inductor may start over
            for group in nodes:
                members: Dict[str, None] = {}
                for one in _flat(group):
                    for origin in sorted(getattr(one.node, "origins", None) or ()):
                        if origin.op not in ("placeholder", "output"):
                            members[origin.name] = None
                    for buffer in one.get_outputs():
                        origin = buffer.node.get_origin_node()
                        found.buffers[buffer.get_name()] = (
                            origin.name if origin is not None else None,
                            len(found.groups),
                        )
                found.groups.append(list(members))
        except Exception as error:
            pass_on()
            note_unavailable("inductor's schedule", "%s: %s" % (type(error).__name__, error))
        return nodes

    with inductor.patch(_post_fusion_custom_pass=after_fusion):
        yield


def _flat(group: Any) -> List[Any]:
    # kernels that were fused again hold fused kernels
    found, work = [], [group]
    while work:
        one = work.pop()
        parts = list(one.get_nodes())
        if len(parts) == 1 and parts[0] is one:
            found.append(one)
        else:
            work.extend(part for part in reversed(parts) if part is not one)
    return found
