"""Operations of torch's code for which Python has no words: what the source says becomes them.

Each module has one rewrite, a change of instructions in their places; the proof says whether what
they make does the same as torch's code.
"""

from depyf.rewrites.converting import convert_as
from depyf.rewrites.displays import build_at_once
from depyf.rewrites.filling import fill_in_place
from depyf.rewrites.importing import import_as
from depyf.rewrites.listing import Listing, Rewrite, rewritten
from depyf.rewrites.unpacking import pass_without_copy

#: what is tried in this order where the proof fails without
WHERE_UNPROVEN = (import_as, convert_as, fill_in_place, build_at_once)

__all__ = [
    "WHERE_UNPROVEN",
    "Listing",
    "Rewrite",
    "build_at_once",
    "convert_as",
    "fill_in_place",
    "import_as",
    "pass_without_copy",
    "rewritten",
]
