"""What the writer and the readers of a dump agree on; docs/run_schema.md describes the document.

Runs on Python 3.7, without torch.
"""

from typing import Any, Dict

#: the document of docs/run_schema.md, or a part of it
Document = Dict[str, Any]

#: the file of a dump that holds the document
MANIFEST = "depyf.json"
SCHEMA = "depyf.run"
SCHEMA_VERSION = 3

#: the stages of one graph in the order in which torch makes them; stages not named here follow in
#: order of arrival
STAGES = (
    "Captured_Graph",
    "BEFORE_PRE_GRAD",
    "AFTER_PRE_GRAD",
    "Joint_graph",
    "Forward_graph",
    "Backward_graph",
    "BEFORE_JOINT",
    "AFTER_JOINT",
    "BEFORE_POST_GRAD",
    "AFTER_POST_GRAD",
    "kernel",
)


def seconds(entry: Dict[str, Any]) -> float:
    """The seconds that torch spent on one compile, its backward included."""
    total = 0.0
    for metrics in (entry.get("metrics") or {}, entry.get("backward_metrics") or {}):
        value = metrics.get("duration_us")
        if isinstance(value, (int, float)) and value:
            total += value / 1e6
        else:
            value = metrics.get("entire_frame_compile_time_s")
            if isinstance(value, (int, float)):
                total += value
    return total
