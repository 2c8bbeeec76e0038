"""Distributed jobs."""

import sys
from typing import Optional, Tuple

from depyf.interrupts import pass_on


def process_group() -> Optional[Tuple[int, int]]:
    """(rank, number of processes) of the default process group, None before it was made."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
    except Exception:
        pass_on()
    return None
