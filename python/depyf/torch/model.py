"""The classes of `depyf.model` under the name that the documentation gives them."""

from depyf.model import (
    Artifact,
    Constants,
    Entry,
    Function,
    GraphBreak,
    Guard,
    LiveObject,
    Mark,
    Problem,
    Run,
    spans,
)

__all__ = [
    "Artifact",
    "Constants",
    "Entry",
    "Function",
    "GraphBreak",
    "Guard",
    "LiveObject",
    "Mark",
    "Problem",
    "Run",
    "spans",
]
