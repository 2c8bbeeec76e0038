"""Where the ranks of a job part."""

import re
from typing import Any, List, Sequence

from depyf.report.overview.avoided import UNIQUE, Row
from depyf.schema import Document


def divergence(runs: Sequence[Document]) -> List[Row]:
    """Where the ranks of a job part: rows of compile id, what differs, and each rank's side; empty
    where nothing does.

    Ranks agree on a compile when they compiled the same function with the same captured graph and
    the same breaks.
    """
    sides = []
    for run in runs:
        table = {}
        for function in run.get("functions", ()):
            for entry in function.get("entries", ()):
                graph = next(
                    (
                        a.get("text") or ""
                        for a in entry.get("artifacts", ())
                        if a.get("stage") == "Captured_Graph"
                    ),
                    "",
                )
                table[str(entry.get("compile_id"))] = {
                    "function": function.get("qualname") or function.get("name") or "?",
                    "graph": UNIQUE.sub("", graph),
                    "breaks": sorted(
                        "%s: %s" % (b.get("location"), b.get("reason"))
                        for b in entry.get("breaks") or ()
                    ),
                    "reasons": sorted(str(reason) for reason in entry.get("reasons") or ()),
                    "cache": sorted(
                        "%s %s" % (event.get("cache"), event.get("result"))
                        for event in entry.get("cache") or ()
                    ),
                }
        sides.append(table)
    order: List[str] = []
    for table in sides:
        order.extend(key for key in table if key not in order)
    rows = []
    for key in sorted(order, key=_id_order):
        present = [table.get(key) for table in sides]
        all_sides = [side for side in present if side is not None]
        if len(all_sides) < len(present):
            what = "compiled on some ranks only"
            cells = [
                "compiled %s" % side["function"] if side else "not compiled" for side in present
            ]
        else:
            for field, what in (
                ("function", "different functions"),
                ("graph", "different graphs"),
                ("breaks", "different graph breaks"),
                ("reasons", "different reasons to recompile"),
                ("cache", "different cache results"),
            ):
                if any(side[field] != all_sides[0][field] for side in all_sides[1:]):
                    cells = [_cell(field, side[field], all_sides[0][field]) for side in all_sides]
                    break
            else:
                continue
        rows.append({"id": key, "what": what, "cells": cells})
    return rows


def _id_order(key: str) -> List[int]:
    return [int(part) for part in re.findall(r"\d+", key)]


def _cell(field: str, value: Any, first: Any) -> str:
    if field != "graph":
        return "; ".join(value) if isinstance(value, list) else value
    lines, others = value.splitlines(), first.splitlines()
    if value == first:
        return "%d lines" % len(lines)
    for number, line in enumerate(lines):
        if number >= len(others) or others[number] != line:
            return "line %d: %s" % (number + 1, line.strip()[:160])
    return "ends after line %d" % len(lines)
