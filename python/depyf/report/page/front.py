"""What the page shows before a compile is opened: figures, causes, phases, functions."""

import datetime
import os
import re
from typing import Any, Dict, List, Tuple

from depyf import advise, summary
from depyf.report import overview, words
from depyf.report.overview import Node
from depyf.schema import Document

#: what the template or the script reads of one thing, by name
Row = Dict[str, Any]


def seconds_in_words(value: float) -> str:
    """Seconds as people say them."""
    if value >= 100:
        return "%d s" % round(value)
    if value >= 1:
        return "%.1f s" % value
    if value >= 0.001:
        return "%d ms" % round(value * 1000)
    return "0 ms" if value <= 0 else "<1 ms"


def short_place(pair: Tuple[str, int]) -> str:
    """The file's name and the line of a (path, line)."""
    filename, line = pair
    if filename.startswith("<eval_with_key>"):
        return "traced by torch"
    name = os.path.basename(filename) or filename
    return "%s:%d" % (name, line) if line else name


#: a path as a text has it, up to the file's name
_FOLDERS = re.compile(r"(?<!\S)(?:[A-Za-z]:)?[\\/](?:[^\s\\/:]+[\\/])+(?=[^\s\\/]+:\d+)")


def without_folders(text: str) -> str:
    """A text with the names of files in place of their paths."""
    return _FOLDERS.sub("", text)


def title_of_run(runs: List[Document]) -> str:
    """What the page is called: the program, else the first file of a compiled function."""
    if runs[0].get("program", "").endswith((".py", ".pyc")):
        return os.path.basename(runs[0]["program"])
    for run in runs:
        for function in run.get("functions", ()):
            if not function.get("is_resume") and function.get("filename"):
                return os.path.basename(function["filename"])
    return runs[0].get("label") or "torch.compile"


def time_of(run: Document) -> str:
    """When a run began, to the minute; "" where that is not known."""
    started = run.get("started")
    if not isinstance(started, (int, float)) or started <= 0:
        return ""
    try:
        # strftime would call that of the module `time`, which may be the program's own
        moment = datetime.datetime.fromtimestamp(started).timetuple()
        return "%04d-%02d-%02d %02d:%02d" % moment[:5]
    except (OverflowError, OSError, ValueError):
        return ""


def cause_rows(advice: advise.Advice) -> List[Dict[str, Any]]:
    """What to look at first, with figures and in the order of the changes of `depyf.advise`; then
    that for which there is no change, and that of which another change leaves nothing.
    """
    ranks, patches = advice.ranked(), advice.patches()
    rows = overview.alike(advice.causes)
    for row in rows:
        known = [ranks[id(one)] for one in row["places"] if id(one) in ranks]
        first = min(known, key=lambda one: one[0]) if known else (0, "", "")
        row["rank"], row["saved"], row["gone"] = first
        row["patch"] = next((patches[id(one)] for one in row["places"] if id(one) in patches), "")
    last = len(advice.causes) + 1
    return sorted(rows, key=lambda row: (bool(row["gone"]), row["rank"] or last))


def figures(nodes: List[Node]) -> List[Row]:
    """The figures at the page's head: compiles, breaks, recompiles and what else there is."""
    entries = [node.entry for node in nodes]
    breaks = sum(len(node.breaks) for node in nodes)
    # the number has a place of its own
    lines = {
        summary.place_of_break(*one)
        for node in nodes
        for one in zip(node.entry["breaks"], node.breaks)
    }
    said = summary.graph_breaks(breaks, len(lines)).split(" ", 1)[1]
    recompiles = sum(1 for node in nodes if node.reasons and not node.is_limit)
    hits = sum(
        1 for entry in entries for event in entry.get("cache") or () if event.get("result") == "hit"
    )
    failed = sum(1 for entry in entries if entry.get("failure"))
    made = [node for node in nodes if node.entry.get("name")]
    replaced = sum(1 for node in made if node.entry.get("replaced"))
    proven = sum(1 for node in made if node.entry.get("verdict") in ("exact", "equivalent"))
    tiles = [
        {
            "mark": "▣",
            "number": len(nodes),
            "label": "compile" if len(nodes) == 1 else "compiles",
            "tone": "",
        },
        {
            "mark": "✂",
            "number": breaks,
            "label": said,
            "tone": "warn" if breaks else "",
        },
        {
            "mark": "↻",
            "number": recompiles,
            "label": "recompile" if recompiles == 1 else "recompiles",
            "tone": "warn" if recompiles else "",
        },
    ]
    if failed:
        came = "compile that made no code" if failed == 1 else "compiles that made no code"
        tiles.append({"mark": "✕", "number": failed, "label": came, "tone": "bad"})
    if hits:
        tiles.append(
            {
                "mark": "⤓",
                "number": hits,
                "label": "hit%s in torch's caches of compiled graphs" % ("" if hits == 1 else "s"),
                "tone": "",
            }
        )
    if made:
        tiles.append(
            {
                "mark": "✓" if proven == len(made) else "✕",
                "number": "%d of %d" % (proven, len(made)),
                "label": "proven the same" + (", %d replaced" % replaced if replaced else ""),
                "tone": "good" if proven == len(made) else "warn",
            }
        )
    return tiles


def asked_caches(entry: Document) -> List[Tuple[Document, str]]:
    """(an answer of one of torch's caches, of which graph) for each of a compile."""
    events = entry.get("cache") or []
    backward = any(one.get("stage") == "Backward_graph" for one in entry.get("artifacts") or ())
    return list(zip(events, words.graphs_asked_for(events, backward)))


def phases(nodes: List[Node], total: float) -> List[Row]:
    """The parts of the bar of all compiles, a part for each phase."""
    sums = {
        name: sum(node.phases.get(name, 0.0) for node in nodes) for name, _, _ in overview.PHASES
    }
    bar, x = [], 0.0
    for name, label, what in overview.PHASES:
        if sums[name] > 0:
            width = 1000.0 * sums[name] / total
            bar.append(
                {
                    "name": name,
                    "label": label,
                    "what": what,
                    "seconds": sums[name],
                    "x": round(x, 2),
                    "width": round(width, 2),
                }
            )
            x += width
    return bar


def bar_of(node: Node, longest: float) -> Row:
    """The bar of one compile, as long as it took beside the longest one."""
    parts, x = [], 0.0
    for name, _, _ in overview.PHASES:
        if name in node.phases:
            width = 1000.0 * node.phases[name] / longest
            parts.append({"name": name, "x": round(x, 2), "width": round(max(width, 0.5), 2)})
            x += width
    return {"node": node, "parts": parts}


def function_rows(nodes: List[Node]) -> List[Row]:
    """Rows of the list of functions, by the time that their compiles took."""
    rows: Dict[int, Row] = {}
    for node in nodes:
        identity = id(node.function) if node.function is not None else id(node)
        row = rows.setdefault(
            identity,
            {
                "first": node,
                "nodes": [],
                "seconds": 0.0,
                "breaks": 0,
                "recompiles": 0,
                "run_seconds": 0.0,
                "run_calls": 0,
                "ran": None,
            },
        )
        row["nodes"].append(node)
        row["seconds"] += node.seconds
        row["breaks"] += len(node.breaks)
        row["recompiles"] += bool(node.reasons) and not node.is_limit
        for one in node.runtime:
            row["run_seconds"] += one["seconds"]
            row["run_calls"] += one["entry"]["calls"]
            row["ran"] = row["ran"] or node
    return sorted(rows.values(), key=lambda row: -row["seconds"])
