"""Capturing torch.compile: the data of the bytecode hook and of the structured trace, joined into a
`Run`.

No function of torch is patched but one by which backends format graphs.
"""

from depyf.torch.capture.doors import (
    capture,
    explain_call,
    install,
    prepare_debug,
    rank_folder,
    uninstall,
)
from depyf.torch.capture.hub import Hub, follow_in_child, open_runs
from depyf.torch.capture.session import Session
from depyf.torch.capture.warned import DepyfWarning, warn

__all__ = [
    "DepyfWarning",
    "Hub",
    "Session",
    "capture",
    "explain_call",
    "follow_in_child",
    "install",
    "open_runs",
    "prepare_debug",
    "rank_folder",
    "uninstall",
    "warn",
]
