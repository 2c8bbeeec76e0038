"""What differs between two dumps, and between the ranks of one distributed run.

Both sides are documents of docs/run_schema.md. Functions are matched by name and file, compiles by
what they made, and texts are compared after `normal` took out what differs from run to run: numbers
in names that torch counts up, object ids, places in files, paths of caches.
"""

from depyf.difference.comparing import compare
from depyf.difference.normal_form import normal
from depyf.difference.ranks import RankGroups, compare_ranks
from depyf.difference.result import Change, Difference, Total

__all__ = [
    "Change",
    "Difference",
    "RankGroups",
    "Total",
    "compare",
    "compare_ranks",
    "normal",
]
