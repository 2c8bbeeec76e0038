"""README.md of a dump: the section of one compile."""

from typing import Any, Dict, List, Mapping, Optional, Sequence

from depyf.model import Entry, Function, is_backward_pass, sorted_artifacts
from depyf.report import words
from depyf.report.overview import Node
from depyf.terminal import on_one_line
from depyf.torch.dump.readme_texts import as_code
from depyf.torch.fullcode import breaks_in_words, reached_from, reasons_in_words


def _why_no_code(entry: Entry, node: Optional[Node]) -> List[str]:
    """Why a compile came to nothing, and what its function's calls come to."""
    if node is None or node.failure is None:
        return ["- torch's words: %s" % " ".join((entry.failure or "").split())]
    said = node.failure
    if node.is_limit:  # the function's own section, or that of the code which calls it, has more
        gone = words.given_up(node.entry)
        return ["- " + words.from_then_on(gone, 1)]
    where = " at %s:%d" % (said["file"], said["line"]) if said["file"] and said["line"] else ""
    then = said["then"] or ("" if said["raised"] else "The function runs as plain Python.")
    return ["- no code%s: %s" % (where, said["why"])] + ["- " + then] * bool(then)


def _asked_for(cache: str, events: Sequence[Mapping[str, Any]], entry: Entry) -> str:
    """Of how many graphs the answers of a cache are, where there are several: a graph and its
    backward graph are asked for one by one, and an analysis that begins again asks again.
    """
    keys = [event.get("key") for event in events]
    if len(events) < 2 or not all(keys):
        return ""
    restarted = bool((entry.metrics or {}).get("restart_reasons"))
    again = ", as the analysis began again" if restarted else ""
    if len(set(keys)) == 1:
        return " (the same graph, asked for again%s)" % again
    backward = any(one.stage == "Backward_graph" for one in entry.artifacts)
    if cache == "fx_graph_cache" and backward and len(set(keys)) == 2:
        return ""  # each says of which it is
    return " (%d graphs%s)" % (len(set(keys)), again)


def overview_entry(
    entry: Entry, node: Optional[Node], function: Optional[Function] = None
) -> List[str]:
    """The lines on one compile, of which `node` is what the report says."""
    name = entry.name or entry.qualname or "no code"
    if node is not None and not entry.name and entry.qualname:
        name = node.called + node.beside
    reset = ", " + node.reset if node is not None and node.reset else ""
    lines = ["### %s, compile %s%s" % (as_code(name), entry.compile_id, reset), ""]
    if not entry.name and node is not None and node.place[1] and not is_backward_pass(name):
        lines += [on_one_line("%s:%d" % node.place), ""]
    lines += _what_runs(entry, function)
    if entry.failure:
        lines += _why_no_code(entry, node)
    lines += _what_happened(entry, node, function)
    lines += _from_caches(entry) + _links(entry)
    if entry.guards or entry.path and not entry._unfinished:
        lines.append("- %d guards" % len(entry.guards))
    lines.append("")
    return lines


def _what_runs(entry: Entry, function: Optional[Function]) -> List[str]:
    """Whose code torch runs, how far it is proven, and whether torch still tries it."""
    lines = []
    gone = function.given_up if function is not None else {}
    skipped = gone["compile_id"] if gone and gone["why"] != "recompile limit" else ""
    if entry.path:
        state = "torch runs it from this file" if entry.replaced else "torch runs its own bytecode"
        if entry._unfinished:
            state = "torch was given it" if entry.replaced else "torch was given its own bytecode"
        elif skipped:
            which = "it from this file" if entry.replaced else "its own bytecode"
            state = "torch ran %s up to compile %s, and no longer tries it" % (which, skipped)
        if entry.failure and not entry.replaced:
            state = "neither it nor torch's bytecode runs"
        if entry.replaced_by:
            state = "torch %s the code of %s" % ("ran" if skipped else "runs", entry.replaced_by)
        lines.append("- [%s](%s): %s, %s" % (entry.path, entry.path, entry.verdict, state))
    if entry.detail and not entry.failure:
        proof = "proof: " if entry.path else ""  # else it says why there is no code
        lines.append("- %s%s" % (proof, " ".join(entry.detail.split())))
    if entry.dropped:
        lines.append("- torch has dropped this entry: its code no longer runs")
    if entry._unfinished:
        lines.append("- " + words.UNFINISHED)
    if entry.invalidated:
        lines.append("- torch has invalidated this entry")
    return lines


def _what_happened(entry: Entry, node: Optional[Node], function: Optional[Function]) -> List[str]:
    """Why the function was compiled again, its graph breaks, and where they continue."""
    lines = []
    for reason in reasons_in_words(entry, node):
        why = "compiled again because" if entry.path else "an earlier compile does not fit"
        lines.append("- %s: %s" % (why, reason))
    for graph_break, why in zip(entry.breaks, breaks_in_words(entry, node)):
        reached = reached_from(graph_break, function, entry)
        at = on_one_line((graph_break.location or "?") + reached)
        lines.append("- graph break at %s: %s" % (at, why))
    if entry.runs_on:
        lines.append("- not compiled: " + words.runs_on_from(entry.runs_on))
    titles = {rest.name: rest.title for rest in entry._rests}
    lines += _continued(node) if node is not None else []
    for name in node.uncompiled if node is not None else ():
        title = " (%s)" % titles[name] if name in titles else ""
        said = node.no_compile_of(name) if node is not None else ""
        lines.append("- continues in %s%s: %s" % (as_code(name), title, said))
    return lines


def _from_caches(entry: Entry) -> List[str]:
    """What torch's caches had of its graphs."""
    lines = []
    caches: Dict[str, List[Dict[str, Any]]] = {}
    for event in entry.cache:
        caches.setdefault(event["cache"], []).append(event)
    backward = any(one.stage == "Backward_graph" for one in entry.artifacts)
    for cache, events in caches.items():
        which = words.graphs_asked_for(events, backward)
        results = ", ".join(
            (of + ": " if of else "") + event["result"] for of, event in zip(which, events)
        )
        lines.append("- %s: %s%s" % (cache, results, _asked_for(cache, events, entry)))
    return lines


def _links(entry: Entry) -> List[str]:
    """Links to its files, and which are not there."""
    lines = []
    files: Dict[str, List[str]] = {}
    for artifact in sorted_artifacts(entry):
        if artifact.path:
            what = {"graph": "graphs", "kernel": "kernels"}.get(artifact.kind, "other texts")
            title = artifact.stage + (".%d" % artifact.index if artifact.index else "")
            files.setdefault(what, []).append("[%s](%s)" % (title, artifact.path))
    for what, links in files.items():
        lines.append("- %s: %s" % (what, ", ".join(links)))
    missing: Dict[str, List[str]] = {}
    for stage, reason in entry.missing.items():
        missing.setdefault(reason, []).append(stage)
    for reason, stages in missing.items():
        lines.append("- not there: %s; %s" % (", ".join(stages), reason))
    return lines


def _continued(node: Node) -> List[str]:
    """The rests of a function, behind its graph break, that torch compiled or tried to."""
    found: Dict[str, List[str]] = {}
    for child in node.children:
        made = str(child.entry.get("compile_id"))
        if child.failure is not None:
            made += ": " + words.outcome(child.failure)
        elif child.is_empty:
            made += ": nothing to compile"
        found.setdefault(as_code(child.called), []).append(made)
    return [
        "- continues in %s (compile %s)" % (name, ", ".join(made)) for name, made in found.items()
    ]
