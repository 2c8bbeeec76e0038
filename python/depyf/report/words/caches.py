"""Of which graph the answers of inductor's cache are."""

from typing import Any, List, Mapping, Sequence


def graphs_asked_for(events: Sequence[Mapping[str, Any]], has_backward: bool) -> List[str]:
    """Of which graph each answer of inductor's cache is: "forward" or "backward", "" for other
    caches and where torch made a forward graph alone.

    Args:
        events: the answers of all caches of a compile, in torch's order: forward comes first.
        has_backward: whether the compile has a backward graph.
    """
    asked = [
        event.get("key") if event.get("cache") == "fx_graph_cache" else None for event in events
    ]
    keys = [key for key in dict.fromkeys(asked) if key]
    if not has_backward or len(keys) != 2:  # an analysis that begins again may ask for others
        return [""] * len(events)
    which = {keys[0]: "forward", keys[1]: "backward"}
    return [which[key] if key else "" for key in asked]
