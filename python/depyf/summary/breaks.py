"""The graph breaks of a run as text."""

from typing import Any, Dict, List, Tuple

from depyf.schema import Document
from depyf.summary.counting import all_entries, place_of_break
from depyf.terminal import place, shown


def plain(text: str) -> str:
    """A text of the report in one line, without marks."""
    return shown(" ".join(text.replace("`", "").split()))


def breaks_text(document: Document, links: bool = False, on_purpose: bool = True) -> str:
    """Each graph break once: the user's line, torch's name for it, the compiles that met it, why
    it breaks and what helps; `on_purpose`: also those that torch makes by design.
    """
    from depyf import advice
    from depyf.report import overview

    found: Dict[Any, Tuple[Dict[str, Any], List[str]]] = {}
    nodes = {id(node.entry): node for node in overview.nodes_of([document])}
    for _, entry in all_entries(document):
        node = nodes[id(entry)]
        told = list(zip(entry.get("breaks") or (), node.breaks))
        nothing = node.failure if entry.get("resumes") else None
        if nothing is not None and not entry.get("failure"):  # what a break led to
            told.append(({"location": "%(file)s:%(line)d" % nothing}, nothing))
        for graph_break, said in told:
            if not on_purpose and said["row"] in advice.NORMAL:
                continue
            where = place_of_break(graph_break, said)
            head = "%s: %s" % (
                place(where[0], where[1], links) if where else "?",
                shown(said["what"]),
            )
            what = head, said["why"], said["explanation"], said["then"]
            found.setdefault(what, (said, []))[1].append(entry["compile_id"])
    lines = []
    helped: Dict[Tuple[str, ...], str] = {}  # help that was given -> the line where
    for (head, why, explanation, then), (said, ids) in found.items():
        lines.append("%s [%s]" % (head, ", ".join(dict.fromkeys(ids))))
        if said["source"]:
            lines.append("    > " + shown(said["source"]))
        if said["caller"][1]:
            file, line, code = said["caller"]
            called = place(file, line, links), shown(code.strip())
            lines.append("    called from %s: %s" % called)
            if said["via"]:
                lines.append("    " + shown(said["via"]))
        lines.extend("    " + plain(text) for text in (why, then, explanation) if text)
        help_ = [*said["help"], *said["hints"], *filter(None, [said["url"]])]
        before = helped.setdefault(tuple(help_), head)
        if before is not head and len(help_) > 1:
            lines.append("    help: as above for " + before)
            continue
        lines.extend("    help: " + plain(hint) for hint in said["help"])
        lines.extend("    torch's hint: " + plain(hint) for hint in said["hints"])
        if said["url"]:
            lines.append("    " + shown(said["url"]))
    return "\n".join(lines + nothing_compiled(document)) if lines else "no graph breaks"


def nothing_compiled(document: Document) -> List[str]:
    """A line where torch made no code of any function: a run without recompiles may be that."""
    entries = [entry for _, entry in all_entries(document)]
    if not entries or any(entry.get("name") for entry in entries):
        return []
    return ["torch compiled nothing: each function that it tried runs as plain Python"]
