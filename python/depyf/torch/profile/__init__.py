"""Where the time of a compiled call goes: guards, Python between graphs, wrappers, graphs.

Built on torch.profiler, whose events nest: what an event took beside those inside it belongs to one
part, so the parts of a run add up to all of it.
"""

from depyf.torch.profile.figures import (
    PARTS,
    DeviceTime,
    EntryTime,
    OperatorTime,
    Profile,
    Timing,
)
from depyf.torch.profile.measuring import profile, watch

__all__ = [
    "PARTS",
    "DeviceTime",
    "EntryTime",
    "OperatorTime",
    "Profile",
    "Timing",
    "profile",
    "watch",
]
