"""Numbers that went wrong.

`find_nonfinite` finds the first operation that made NaN or infinity, and `compare_stages` the first
at which two stages of the compiler part.
"""

from depyf.torch.numbers.nonfinite import find_nonfinite, watch_nonfinite
from depyf.torch.numbers.results import (
    Nonfinite,
    NonfiniteReport,
    Parting,
    Stage,
    StageComparison,
    TensorStatistics,
)
from depyf.torch.numbers.stages import compare_stages

__all__ = [
    "Nonfinite",
    "NonfiniteReport",
    "Parting",
    "Stage",
    "StageComparison",
    "TensorStatistics",
    "compare_stages",
    "find_nonfinite",
    "watch_nonfinite",
]
