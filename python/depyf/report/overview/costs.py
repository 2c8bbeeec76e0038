"""What to look at first: breaks, recompiles and failures by the seconds that they cost."""

from typing import Any, Dict, List, Sequence, Set, Tuple

from depyf import advice
from depyf.report import savings
from depyf.report.overview.durations import seconds_in
from depyf.report.overview.node import Node

#: see `causes`
Cause = Dict[str, Any]


def joined(one: Dict[str, float], other: Dict[str, float]) -> Dict[str, float]:
    """The seconds of two of `Cause["each"]` together: a part of a compile is within all of it."""
    return dict(one, **{key: max(value, one.get(key, 0.0)) for key, value in other.items()})


def causes(nodes: Sequence[Node]) -> List[Cause]:
    """What to look at first: breaks, recompiles and failures, each with the seconds it cost.

    The costliest come first, failures before others of the same cost; what torch does by design
    comes last. `restarted` of a break are the seconds of analysis that torch discarded there,
    which `cost` leaves out: they are a part of the compile that has the break. `each` are the
    seconds, by the key of the compile that took them: what two causes cost together is no sum where
    both cost a part of one compile. Those of a break are what its removal saves, which is less than
    `cost`: see `savings`. `discarded` of a break are those of the analysis alone.
    """
    found: Dict[Tuple[Any, ...], Cause] = {}

    def add(identity: Tuple[Any, ...], node: Node, cost: float, cause: Cause) -> None:
        known = found.get(identity)
        if known is None:
            cause.update(cost=0.0, nodes=[], count=0, each={})
            known = found[identity] = cause
        known["cost"] += cost
        known["count"] += 1
        known["nodes"].append(node)
        if cause["kind"] != "break":  # which costs the compiles after it
            known["each"][node.key] = cost

    charged: Set[str] = set()
    identity: Tuple[Any, ...]
    for node in nodes:
        for graph_break in node.cuts:
            after = {child.key: child for child in node.children if child.key not in charged}
            charged |= set(after)
            functions = {id(child.function) for child in after.values()}
            identity = ("break", graph_break["file"], graph_break["line"], graph_break["what"])
            empty: Cause = {"resumed": 0, "resume_functions": set(), "restarted": 0.0}
            cause = dict(empty, kind="break", **{"break": graph_break})
            add(identity, node, sum(child.seconds for child in after.values()), cause)
            found[identity]["resumed"] += len(after)
            # the analysis up to the first break, which torch begins again to cut the graph there
            if graph_break is node.cuts[0] and not node.failure:
                lost = 0.0 if restarted_for_a_float(node) else restarted(node)
                found[identity]["restarted"] += lost
                found[identity]["each"][node.key] = lost
            found[identity]["resume_functions"] |= functions
        # at the limit nothing is compiled: why not stands at the compiles before, if it is the same
        if node.reasons and not node.reasons[0].get("listed"):
            reason = node.reasons[0]
            filename, line = node.place
            identity = (
                "recompile",
                filename,
                line,
                reason["kind"],
                reason["name"],
                reason["row"],  # what needs no action is no part of what helps
                reason["failed"] if reason["kind"] == "guard" else "",
            )
            add(identity, node, node.seconds, {"kind": "recompile", "reason": reason})
        if node.failure:
            filename, line = node.place
            identity = ("failure", filename, line, node.failure["what"], node.failure["line"])
            add(identity, node, node.seconds, {"kind": "failure", "failure": node.failure})
    for cause in found.values():
        if cause["kind"] == "break":
            cause["discarded"] = cause["each"]
            cause["each"] = savings.without_breaks([cause])
    return sorted(found.values(), key=_importance)


#: places of one cause from which on it is said once, with its places after it
_ALIKE = 3


def compiled_times(nodes: Sequence[Node], function: Node) -> int:
    """How many of the nodes are compiles of the function of one of them."""
    made = [one for one in nodes if one.frame == function.frame and not one.failure]
    return len({one.entry.get("compile_id") or one.key for one in made})


def alike(found: Sequence[Cause]) -> List[Cause]:
    """Causes of which the same is said, joined: what 160 functions have in common is read once.

    Args:
        found: those of `causes`.
    Returns:
        The causes in their order, with `places`: all of the causes that stand for this one, the
        costliest first.
    """
    groups: Dict[Tuple[Any, ...], List[Cause]] = {}
    for cause in found:
        said = cause.get("reason") or cause.get("break") or cause["failure"]
        text = said["words"] if cause["kind"] == "recompile" else said["why"]
        what = said.get("what", said.get("kind"))
        groups.setdefault((cause["kind"], what, text, tuple(said["help"])), []).append(cause)
    rows = []
    for group in groups.values():
        lines = {
            (one["failure"]["file"], one["failure"]["line"]) for one in group if "failure" in one
        }
        if len(group) < (2 if len(lines) == 1 else _ALIKE):  # a line that ends several compiles
            rows += [dict(cause, places=[cause]) for cause in group]
            continue
        nodes = [node for cause in group for node in cause["nodes"]]
        total = {name: sum(cause[name] for cause in group) for name in ("cost", "count")}
        total["resumed"] = sum(cause.get("resumed", 0) for cause in group)
        total["resume_functions"] = set().union(
            *(cause.get("resume_functions", ()) for cause in group)
        )
        line = lines.pop() if len(lines) == 1 else ("", 0)
        rows.append(dict(group[0], places=group, nodes=nodes, line=line[1] and line, **total))
    return sorted(rows, key=_importance)


def _importance(cause: Cause) -> Tuple[bool, float, int]:
    order = {"failure": 0, "break": 1, "recompile": 1}
    return is_normal(cause), -cause["cost"], order[cause["kind"]]


def is_normal(cause: Cause) -> bool:
    """Whether one of `causes` is what torch does by design."""
    said = cause.get("reason") or cause.get("break") or cause["failure"]
    return said["row"] in advice.NORMAL


def restarted(node: Node) -> float:
    """Seconds of analysis that torch discarded when it restarted a compile."""
    metrics = node.entry.get("metrics") or {}
    if not metrics.get("restart_reasons"):
        return 0.0  # torch tells a time of compiles that had no restart, too
    return seconds_in(
        metrics, "dynamo_compile_time_before_restart_us", "dynamo_time_before_restart_s"
    )


def restarted_for_a_float(node: Node) -> bool:
    """Whether torch began the analysis of a compile again since it could not make a float a tensor:
    it finds that out in the whole graph, so that the seconds are not those of a graph break.
    """
    found = (node.entry.get("metrics") or {}).get("restart_reasons")
    return isinstance(found, list) and any("TensorifyScalarRestart" in str(one) for one in found)
