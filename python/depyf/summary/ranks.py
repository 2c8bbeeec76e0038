"""The folders and logs of the ranks of one job."""

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from depyf.schema import MANIFEST


def _by_rank(folder: str, pattern: str) -> List[Tuple[int, str]]:
    """(rank number, path) of each name in the folder that the pattern matches, its first group
    being the number; by rank.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    # no link is followed: the dump may be anybody's
    paths = [(name, os.path.join(folder, name)) for name in names]
    matches = [(re.match(pattern, name), path) for name, path in paths if not os.path.islink(path)]
    return sorted((int(match.group(1)), path) for match, path in matches if match)


def rank_of(folder: Any) -> Optional[int]:
    """The rank whose folder this is, by its name; None for the dump of one process."""
    match = (
        re.match(r"^rank_(\d+)$", os.path.basename(os.path.normpath(folder))) if folder else None
    )
    return int(match.group(1)) if match else None


def ranks(folder: str) -> Dict[int, str]:
    """The ranks of a distributed run, as rank number -> folder or log of TORCH_TRACE.

    Empty for the dump of one process.
    """
    folders = _by_rank(folder, r"^rank_(\d+)$")
    return {
        rank: path for rank, path in folders if os.path.exists(os.path.join(path, MANIFEST))
    } or rank_logs(folder)


def rank_logs(folder: str) -> Dict[int, str]:
    """The logs that TORCH_TRACE wrote for the ranks of one job, as rank number -> file.

    Empty where a rank has several.
    """
    logs = _by_rank(folder, r"^dedicated_log_torch_trace_rank_(\d+)_.*\.log$")
    return dict(logs) if len(dict(logs)) == len(logs) else {}
