"""What the page shows of one compile: JSON for its script, values for the template."""

import re
from operator import itemgetter
from typing import Any, Dict, List, Optional

from depyf.report import overview, words
from depyf.report.overview import Node
from depyf.report.page.front import Row
from depyf.report.page.sources import Parents, source_of
from depyf.report.page.tabs import TITLES, guard_lines, link_to, texts_of
from depyf.report.texts import Pool
from depyf.schema import Document

_VERDICTS = {
    "exact": ("✓", "proven exact", "good"),
    "equivalent": ("✓", "proven equivalent", "good"),
    "unproven": ("≠", "not proven, torch's own bytecode runs", "bad"),
    "different": ("≠", "not proven, torch's own bytecode runs", "bad"),
    "refused": ("≡", "kept as torch made it", "mild"),
}
_EVENTS = 400
#: links of one compile to its callers, and to what it calls: with hundreds of entries each would
#: link to each
_LINKS = 32


def _script_data(node: Node, texts: List[Row], guards: Optional[int], first_line: int) -> Row:
    """What the page's script knows of one compile (`View` in web/src/types.ts).

    Args:
        texts: its rows; guards: the number of the text of its guards.
        first_line: of the source in its file, 0 where it was not read from there.
    """
    entry = node.entry
    callers = sorted(node.callers, key=lambda one: one is not node.parent)[:_LINKS]
    return {
        "key": node.key,
        "id": entry.get("compile_id"),
        "rank": node.run.get("rank"),
        "name": node.title,
        "file": node.place[0],
        "line": node.place[1],
        "resumes": node.resumes_at,
        "first": first_line,
        "number": node.number,
        "of": node.of,
        "siblings": [one.key for one in node.siblings],
        "failed": _failed(node),
        "graph": entry.get("graph_name"),
        "callers": [one.key for one in callers] + ([node.outer.key] if node.outer else []),
        "calls": [
            [(one.function or {}).get("global_name"), one.key] for one in node.children[:_LINKS]
        ],
        "warm": _warm(entry),
        "failure": failure_in_head(node),
        "reset": node.reset,
        "breaks": [
            {"what": one["what"], "why": one["why"], "file": one["file"], "line": one["line"]}
            for one in node.breaks
        ],
        "texts": texts,
        "guards": guards,
        "guard_count": len(entry.get("guards") or ()),
        "lines": [[row[0], row[1]] for row in entry.get("line_map") or () if len(row) >= 2],
        "events": _events(entry),
        "phases": [
            [label, node.phases[name], name]
            for name, label, _ in overview.PHASES
            if name in node.phases
        ],
    }


def failure_in_head(node: Node) -> str:
    """What a compile that failed came to, in a few words; "" of others."""
    if node.failure is None or not node.entry.get("failure"):
        return ""
    said = "recompile limit reached, " if node.is_limit else "compile failed, "
    return said + words.outcome(node.failure)


def view_of(node: Node, pool: Pool, parents: Parents, folder: str, budget: List[int]) -> Row:
    """All that the page shows of one compile: JSON for the script, values for the template."""
    entry = node.entry
    known = len(pool.texts)
    source, first_line, origin = source_of(node, parents)
    texts = texts_of(node, source, origin, pool, folder, budget)
    guards = entry.get("guards") or ()
    guard_text = pool.add(guard_lines(guards)) if guards else None
    path = (node.function or {}).get("path")
    full = link_to(node.run, path, folder)
    verdict = _VERDICTS.get(str(entry.get("verdict")), _VERDICTS["refused"])
    shown_from = first_line if origin in ("file", "lines") else 0
    return {
        "node": node,
        "entry": entry,
        "data": _script_data(node, texts, guard_text, shown_from),
        "verdict": verdict if entry.get("name") else None,
        "texts": texts,
        "guards": guard_text,
        "guard_count": len(guards),
        "source_lines": (shown_from, shown_from + len(source.splitlines()) if shown_from else 0),
        "own": "%d %d" % (known, len(pool.texts)),
        "full": full,
        "full_name": path,
        "missing": _missing(entry),
        "stack": [
            re.sub(r": *$", "", frame)
            for frame in node.stack
            if "/torch/_dynamo/" not in frame and "/torch/nn/modules/module.py" not in frame
        ],
    }


def _warm(entry: Document) -> str:
    """The caches of a compile of which torch no longer knows what its nodes were made of, or ""."""
    artifacts = entry.get("artifacts") or ()
    if any(
        one["origins"] or one["stage"] == "inductor_provenance_tracking_node_mappings"
        for one in artifacts
    ):
        return ""
    if not any(one["kind"] == "kernel" for one in artifacts):
        return ""
    return " and ".join(
        sorted({event["cache"] for event in entry.get("cache") or () if event["result"] == "hit"})
    )


def _failed(node: Node) -> List[Row]:
    """The guards of this entry that failed later: what torch said when it compiled again."""
    found = []
    for later in node.siblings[node.number :]:
        for reason in later.reasons:
            if reason["tried"] == str(node.entry.get("compile_id")):
                tensor = reason["name"] if reason["failed"].startswith("tensor '") else ""
                found.append(
                    {
                        "guard": reason["failed"],
                        "tensor": tensor,
                        "words": reason["words"],
                        "key": later.key,
                    }
                )
    return found


def _missing(entry: Document) -> Dict[str, List[str]]:
    """Reason -> stages that are missing for it."""
    found: Dict[str, List[str]] = {}
    for stage, reason in (entry.get("missing") or {}).items():
        found.setdefault(str(reason), []).append(TITLES.get(stage, stage.replace("_", " ")))
    return found


def _events(entry: Document) -> List[List[Any]]:
    """torch's longest compile events: name, start, length (microseconds) and depth."""
    events = [
        row for row in entry.get("events") or () if isinstance(row, (list, tuple)) and len(row) >= 3
    ]
    if not events:
        return []
    kept = sorted(events, key=itemgetter(2), reverse=True)[:_EVENTS]
    start = min(map(itemgetter(1), kept))
    kept.sort(key=itemgetter(1))
    rows: List[List[Any]] = []
    open_until: List[float] = []
    for row in kept:
        name, begin, length = row[:3]
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        rows.append([str(name), round(begin - start), round(length), len(open_until)])
        open_until.append(begin + length)
    return rows
