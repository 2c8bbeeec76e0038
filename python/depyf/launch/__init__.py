"""`depyf run`: a program that was not touched, run while depyf looks.

The program sees what it would see without depyf: `sys.argv`, `sys.path`, a `__main__` module of its
own, its own exit code, its own traceback. What depyf has to say goes to standard error.
"""

from depyf.launch.program import LaunchError, NoMainModule, Program
from depyf.launch.running import OVER_BUDGET, run
from depyf.launch.told import open_page, page_of

__all__ = [
    "OVER_BUDGET",
    "LaunchError",
    "NoMainModule",
    "Program",
    "open_page",
    "page_of",
    "run",
]
