"""What a run of torch.compile comes to, in a few lines of text.

Works on the document of docs/run_schema.md alone.
"""

from depyf.dumped import DumpError, load
from depyf.schema import MANIFEST
from depyf.summary.breaks import breaks_text
from depyf.summary.budget import over_budget
from depyf.summary.counting import (
    all_entries,
    break_lines,
    counts,
    graph_breaks,
    place_of_break,
    user_line,
)
from depyf.summary.guards import folded_marks, guards_text
from depyf.summary.ranks import rank_logs, rank_of, ranks
from depyf.summary.recompiles import reason_parts, recompiles_text
from depyf.summary.run import numbers_explained, summary, unwritten
from depyf.trace.guard_text import MARK

__all__ = [
    "MANIFEST",
    "MARK",
    "DumpError",
    "all_entries",
    "break_lines",
    "breaks_text",
    "counts",
    "folded_marks",
    "graph_breaks",
    "guards_text",
    "load",
    "numbers_explained",
    "over_budget",
    "place_of_break",
    "rank_logs",
    "rank_of",
    "ranks",
    "reason_parts",
    "recompiles_text",
    "summary",
    "unwritten",
    "user_line",
]
