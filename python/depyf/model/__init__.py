"""What a run of torch.compile produced, as plain data.

A `Run` holds the functions that were compiled, a `Function` its entries (one per compile), an
`Entry` everything that is known of that compile. Code objects and graph modules are held weakly, so
that a run keeps nothing alive that torch would have freed. The same data as JSON is documented in
docs/run_schema.md. Nothing here knows torch or files: readers (`trace`, `torch.capture`) fill the
model, and writers (`torch.dump`, `report`, `torch.notebook`) register in `Writers`.
"""

from depyf.model.entry import Entry, Mark, sorted_artifacts, spans
from depyf.model.facts import Artifact, Constants, GraphBreak, Guard, Problem, Rest, Saved
from depyf.model.live import LiveObject
from depyf.model.run import Function, Run
from depyf.model.titles import (
    RESUMED,
    TRACED_BACKWARD,
    backward_of,
    is_backward_pass,
    resumed_after,
    told_apart,
)
from depyf.model.writers import Writers

__all__ = [
    "RESUMED",
    "TRACED_BACKWARD",
    "Artifact",
    "Constants",
    "Entry",
    "Function",
    "GraphBreak",
    "Guard",
    "LiveObject",
    "Mark",
    "Problem",
    "Rest",
    "Run",
    "Saved",
    "Writers",
    "backward_of",
    "is_backward_pass",
    "resumed_after",
    "sorted_artifacts",
    "spans",
    "told_apart",
]
