"""Compile time that could be saved, by what it was for."""

import re
from typing import Any, Collection, Dict, Iterator, List, Sequence, Set, Tuple

from depyf import advice
from depyf.report import savings
from depyf.report.overview.costs import restarted, restarted_for_a_float
from depyf.report.overview.durations import spent_on
from depyf.report.overview.guards import attribute_of
from depyf.report.overview.node import Node
from depyf.report.words.rows import VALUE_KEPT, named_or_kept
from depyf.report.words.stacks import in_library, short_place

#: see `avoidable`
Row = Dict[str, Any]
#: seconds of a compile from which on a cache or a worker could have saved something worth a row
_WORTH = 0.1
#: what a row of `avoidable` is called
_RESTARTED = "analysis that torch discarded and restarted"
_COMPILED_AGAIN = "compiles of a function that was compiled before"
_SAME_GRAPH = "graphs that were compiled before, for another function"
_GUARDS = "guards that took long to build"
_MISSED = "graphs that were not in torch's caches"
_KERNELS = "kernels (C++, Triton) that were in no cache"
_IN_TURN = "kernels that were compiled one after the other, without workers"
_NO_BACKWARD = "graphs that torch's cache does not keep, as no backward pass followed"
_KEEP = (
    "A run that begins without torch's cache, as in CI or in a new container, makes them again: "
    "keep the folder (TORCHINDUCTOR_CACHE_DIR), or carry it by "
    "torch.compiler.save_cache_artifacts() and load_cache_artifacts()."
)
_HELP = {
    _SAME_GRAPH: (
        "Compile one function for all of them, such as the forward of one layer's class, and pass "
        "it what differs: its graph is compiled once."
    ),
    _MISSED: _KEEP,
    _KERNELS: _KEEP,
    _NO_BACKWARD: (
        "Each process prepares these again: of a graph with gradients, torch saves what "
        "AOTAutograd made only once its backward pass is compiled, and none was in this run. "
        "Where none is wanted, as in inference, call the compiled function under "
        "torch.no_grad() or torch.inference_mode()."
    ),
    _IN_TURN: (
        "torch._inductor.config.compile_threads (TORCHINDUCTOR_COMPILE_THREADS) is 1: with more, "
        "torch compiles them in parallel."
    ),
}
_NOT_KEPT = "Each process does this again. What torch names is what this cache cannot keep."
_CACHE_OFF = (
    "Each process compiles these again. Torch's cache of graphs is switched off in this run: "
    "torch._inductor.config.fx_graph_cache, TORCHINDUCTOR_FX_GRAPH_CACHE, or "
    "torch._inductor.config.force_disable_caches."
)
_OFF = "FX graph cache is not enabled"


def avoidable(nodes: Sequence[Node], spared: Collection[str] = ()) -> List[Row]:
    """Compile time that could be saved: rows of what, seconds, count, torch's own details, nodes,
    and what helps.

    A second can stand in two rows: a recompile may itself have started its analysis again. `each`
    are a row's (seconds, node), for `overlap`.

    Args:
        spared: the keys of the recompiles that the advice for a graph break removes.
    """
    found: Dict[str, Row] = {}

    def add(what: str, seconds: float, node: Node, detail: str = "") -> None:
        row = found.setdefault(
            what, {"what": what, "seconds": 0.0, "count": 0, "details": [], "nodes": []}
        )
        row["seconds"] += seconds
        row["count"] += 1
        if detail and detail not in row["details"]:
            row["details"].append(detail)
        row["nodes"].append((seconds, node))

    graphs: Dict[str, Set[str]] = {}  # of each: the functions, by their part of the compile id
    for node in nodes:
        if node.failure:
            continue  # it left nothing, in no cache either; all of its time stands at the failure
        entry, metrics = node.entry, node.entry.get("metrics") or {}
        restarts = metrics.get("restart_reasons")
        if isinstance(restarts, list) and restarts:
            lost = restarted(node)
            reasons = [_named_class(str(reason).split("\n")[0])[:160] for reason in restarts]
            add(_RESTARTED, lost, node, ", ".join(reasons[:3]))
        if node.reasons:
            add(_COMPILED_AGAIN, node.seconds, node)
        _add_caches(node, add)
        graph = next(
            (
                UNIQUE.sub("", str(one.get("text") or ""))
                for one in entry.get("artifacts") or ()
                if one.get("stage") == "Captured_Graph"
            ),
            "",
        )
        shape = re.sub(r"(?m)#.*$", "", graph)
        function = str(entry.get("compile_id")).partition("/")[0]
        functions = graphs.setdefault(shape, set())
        # what compiles one function again stands at its recompiles
        if shape and functions and function not in functions:
            add(_SAME_GRAPH, node.seconds, node)
        functions.add(function)
        guards = spent_on(entry, "build_guards")
        if guards > 0.05 * node.seconds and guards > 0.1:
            add(_GUARDS, guards, node)
    rows = [row for row in found.values() if row["seconds"] >= 0.005]
    for row in rows:
        row["each"] = row["nodes"]
        row["nodes"] = [node for _, node in sorted(row["nodes"], key=lambda one: -one[0])]
        if row["what"] == _COMPILED_AGAIN:
            row["help"] = _of_recompiles(row["nodes"], spared)
        elif row["what"] == _GUARDS:
            row["help"] = _of_guards(row["nodes"], nodes)
        elif row["what"] == _RESTARTED:
            row["help"] = _of_restarts(row["nodes"])
        else:
            off = row["details"] == [_OFF]
            row["help"] = _HELP.get(row["what"], _CACHE_OFF if off else _NOT_KEPT)
    # of guards of a function that was compiled once nothing can be saved
    rows = [row for row in rows if row["help"] or row["what"] != _GUARDS]
    return sorted(rows, key=lambda row: -row["seconds"])


def overlap(rows: Sequence[Row]) -> str:
    """What a heading adds where rows of `avoidable` are not to be summed; "" where no compile
    stands in two of them.
    """
    spent: Dict[str, List[float]] = {}
    limits: Dict[str, float] = {}
    for row in rows:
        for value, node in row["each"]:
            spent.setdefault(node.key, []).append(value)
            limits[node.key] = node.seconds
    if all(len(values) == 1 for values in spent.values()):
        return ""
    saved = sum(min(sum(values), limits[key]) for key, values in spent.items())
    return (
        ", at most %.2f s in these rows together, as a compile can count in several; what graph "
        "breaks and failures cost is counted apart" % saved
    )


def _of_recompiles(nodes: Sequence[Node], spared: Collection[str]) -> str:
    """Where the advice for recompiles is, and for how many."""
    normal = [one for one in nodes if one.reasons[0]["row"] in advice.NO_ACTION + advice.NORMAL]
    helped = [one for one in nodes if one.reasons[0]["help"] and one not in normal]
    left = [one for one in nodes if one not in normal + helped]
    inside = [one for one in left if savings.made_inside(one)]
    gone = [one for one in left if one.key in spared and one not in inside]
    others = [one for one in left if one not in gone + inside]
    if len(helped) == len(nodes):
        return "The advice for each is at the recompiles."
    said = []
    if helped:
        said.append("the advice for %d is at the recompiles" % len(helped))
    if gone:
        said.append("the advice for %d is at a graph break (%s)" % (len(gone), _ids(gone)))
    if normal:
        said.append("%d %s no action (%s)" % (len(normal), _need(normal), _ids(normal)))
    if inside:
        told = "%d would not be needed without a graph break (%s)"
        said.append(told % (len(inside), _ids(inside)))
    if others:
        said.append("for %d there is no advice that was tested (%s)" % (len(others), _ids(others)))
    return "Of the %s: %s." % (_compiles(len(nodes)), "; ".join(said))


def _need(nodes: Sequence[Node]) -> str:
    return "needs" if len(nodes) == 1 else "need"


def _compiles(count: int) -> str:
    return "1 compile" if count == 1 else "%d compiles" % count


def _named_class(reason: str) -> str:
    """`TensorifyScalarRestartAnalysis` of `<class 'torch._dynamo.exc.TensorifyScalarRestart…'>`."""
    return re.sub(r"^<class '(?:\w+\.)*(\w+)'>$", r"\1", reason)


#: torch's cache of what AOTAutograd makes of a graph
_OF_AOT = "aotautograd_cache"


def _add_caches(node: Node, add: Any) -> None:
    """What torch's caches could have saved of one compile."""
    results: Dict[str, Set[str]] = {}
    not_kept: Dict[str, str] = {}  # an analysis that began again asked the same cache again
    for event in node.entry.get("cache") or ():
        cache = str(event.get("cache"))
        results.setdefault(cache, set()).add(str(event.get("result")))
        if event.get("result") == "bypass":
            # an address says nothing to a reader, and would make two rows of one
            said = re.sub(r" at 0x[0-9a-f]+", "", str(event.get("cache_bypass_reason") or ""))
            said = " ".join(said.split()) or "no reason given"
            not_kept.setdefault(cache, said[:200])
    aot = node.phases.get("aot", 0.0)
    graph = sum(node.phases.get(name, 0.0) for name in ("inductor", "kernels", "autotuning"))
    # each of two caches that were asked keeps its own part; one alone keeps all
    parts = {_OF_AOT: aot} if len(results) > 1 else {}
    for cache, said in not_kept.items():
        spent = parts.get(cache, graph if parts else aot + graph)
        spent = spent if parts else spent or node.seconds
        add("compiles that %s could not keep" % cache, spent, node, said)
    missed = {one for one, met in results.items() if "miss" in met and one not in not_kept}
    spent = sum(parts.get(one, graph) for one in missed) if parts else aot + graph
    if _OF_AOT in missed and _waits_for_backward(node):
        missed.discard(_OF_AOT)
        spent -= aot
        add(_NO_BACKWARD, aot, node)
    kernels = node.phases.get("kernels", 0.0)
    if missed and spent > _WORTH:
        add(_MISSED, spent, node)
    elif kernels > _WORTH:
        add(_KERNELS, kernels, node)
    settings = (node.entry.get("metrics") or {}).get("settings")
    files = [row for row in node.entry.get("events") or () if row and row[0] == "compile_file"]
    if isinstance(settings, dict) and settings.get("compile_threads") == 1:
        if kernels > _WORTH and len(files) > 1:
            add(_IN_TURN, kernels, node)


def _waits_for_backward(node: Node) -> bool:
    """Whether a compile has a backward graph that torch did not compile in this run."""
    stages = [one.get("stage") for one in node.entry.get("artifacts") or ()]
    compiled = max(stages.count("AFTER_POST_GRAD"), stages.count("fx_graph_runnable")) > 1
    return "Backward_graph" in stages and not compiled and not node.entry.get("backward_metrics")


#: compiles that are named in a sentence; the rest is counted
_NAMED = 4


def _ids(nodes: Sequence[Node]) -> str:
    more = len(nodes) - _NAMED
    return ", ".join([node.key for node in nodes[:_NAMED]] + ["%d more" % more] * (more > 0))


#: how torch names a symbol for a float
_OF_NUMPY = re.compile(r"^___from_numpy\((.*)\)\.item\(\)$")  # a scalar of NumPy
_OF_FLOAT = re.compile(r"^zu?f\d+$")


#: floats that are named in a sentence; the rest is counted
_NAMED_FLOATS = 4


def _symbols(nodes: Sequence[Node]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """(name as the program has it, symbol) of the floats that torch took for any number."""
    for node in nodes:
        for symbol in node.entry.get("symbols") or ():
            if isinstance(symbol, dict) and _OF_FLOAT.match(str(symbol.get("symbol") or "")):
                source = attribute_of(str(symbol.get("source") or ""))
                yield _OF_NUMPY.sub(r"\1", source), symbol


def _floats(nodes: Sequence[Node]) -> str:
    """The floats that torch took for any number in some compiles, in words: those that the program
    reads before those that a library does, with their lines.
    """
    own: Dict[str, str] = {}
    others: Dict[str, str] = {}
    for name, symbol in _symbols(nodes):
        frame = next(iter(list(symbol.get("user_stack") or ())[-1:]), None)
        file, line = (frame.get("filename"), frame.get("line")) if frame else ("", 0)
        if file and line and not in_library(str(file)):
            own.setdefault(name, " at %s" % short_place(str(file), int(line)))
        else:
            others.setdefault(name, "")
    for name in own:
        others.pop(name, None)
    named = [named_or_kept(name) + place for name, place in (*own.items(), *others.items()) if name]
    if not named or not own and len(named) > _NAMED_FLOATS:
        return "a float"
    more = len(named) - _NAMED_FLOATS
    told = named[:_NAMED_FLOATS] + ["%d more" % more] * (more > 0)
    if len(named) == 1 and named[0].startswith(VALUE_KEPT):
        return named[0]
    return "the float%s %s" % ("" if len(named) == 1 else "s", ", ".join(told))


def _vary(nodes: Sequence[Node]) -> bool:
    """Whether a float that torch took for any number had several values in the run."""
    values: Dict[str, Set[str]] = {}
    for name, symbol in _symbols(nodes):
        values.setdefault(name, set()).add(str(symbol.get("val")))
    changed = {one["name"] for node in nodes for one in node.reasons}
    return any(len(known) > 1 or name in changed for name, known in values.items())


_SPECIALIZE = (
    "; where no float of the program changes from call to call, set "
    "torch._dynamo.config.specialize_float = True: torch then compiles for each value of one."
)


def _of_restarts(nodes: Sequence[Node]) -> str:
    """What can be done about analyses that began again, by why they did."""
    of_floats = [node for node in nodes if restarted_for_a_float(node)]
    cut = [
        node
        for node in nodes
        if node not in of_floats and any(one["row"] not in advice.NORMAL for one in node.cuts)
    ]
    meant = [node for node in nodes if node.cuts and node not in cut + of_floats]
    parts = [
        (cut, "at a graph break (without it, torch does so at the next, if there is one)"),
        (meant, "at the break that torch's optimizer makes on purpose, which needs no action"),
        (of_floats, "because of %s (TensorifyScalarRestartAnalysis)" % _floats(of_floats)),
    ]
    parts = [one for one in parts if one[0]]
    told = ""
    if [len(some) for some, _ in parts] == [len(nodes)]:
        told = "%s did so %s." % ("It" if len(nodes) == 1 else "Each", parts[0][1])
    elif parts:
        said = "; ".join("%d (%s) did so %s" % (len(some), _ids(some), why) for some, why in parts)
        told = "Of the %s that began again, %s." % (_compiles(len(nodes)), said)
    if of_floats:
        told += (
            " Torch took the float for any number, could not make it a tensor in the graph, and "
            "began again with the float as a constant. Where your code passes it, pass a tensor"
        )
        # a float that varies would be compiled for each value
        told += "." if _vary(of_floats) else _SPECIALIZE
    return told


def _of_guards(long: Sequence[Node], nodes: Sequence[Node]) -> str:
    """What can be done about guards that took long to build, in words; "" where nothing can.

    `guard_filter_fn` is no help: torch asks it when the guards were built. Of a model of 150 layers
    it leaves 782 of 8,132 guards, in no less time.
    """
    count = len(long[0].entry.get("guards") or ())
    said = "%s has %s guards. " % (long[0].key, format(count, ",")) if count else ""
    again = [node for node in long if node.reasons or node.is_resume]
    if again:
        if len(long) == 1:
            return said + (
                "Torch builds them for each compile: this one would not be needed without the "
                "recompiles and graph breaks above."
            )
        return said + (
            "Torch builds them for each compile: without the recompiles and graph breaks above, "
            "of the %d compiles whose guards took long, %d would not be needed (%s)."
            % (len(long), len(again), _ids(again))
        )
    if len(long) < len(nodes):
        return said + "Torch builds them once for each compile: fewer compiles need fewer."
    return ""


#: what is another text in each run or on each rank
UNIQUE = re.compile(
    r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}|0x[0-9a-f]+|cuda:\d+|(?<=cuda)\d+"
)
