"""What a run comes to: times, causes by what they cost, and how its functions, graphs and kernels
follow each other.
"""

from depyf.report.overview.avoided import Row, avoidable, overlap
from depyf.report.overview.costs import Cause, alike, causes, compiled_times, is_normal, joined
from depyf.report.overview.durations import PHASES, count_kernels, phases, seconds
from depyf.report.overview.guards import attribute_of, of_object
from depyf.report.overview.node import Node
from depyf.report.overview.nodes import counts, named_apart, nodes_of, numpy_draws, object_draws
from depyf.report.overview.ranks import divergence

__all__ = [
    "PHASES",
    "Cause",
    "Node",
    "Row",
    "alike",
    "attribute_of",
    "avoidable",
    "causes",
    "compiled_times",
    "count_kernels",
    "counts",
    "divergence",
    "is_normal",
    "joined",
    "named_apart",
    "nodes_of",
    "numpy_draws",
    "object_draws",
    "of_object",
    "overlap",
    "phases",
    "seconds",
]
