"""Calls `repr(x)` and `ascii(x)` as the conversion that they stand for.

Torch may break a graph between the two halves of `f"{x!r}"` (3.13 on). An f-string has both, so the
decompiled text calls the builtin; here the call becomes the operation, which asks no global.
`verify` proves what this makes.
"""

import dis

from depyf.rewrites.listing import Listing

_OP = dis.opmap
_GLOBAL = _OP["LOAD_GLOBAL"]
_CALLS = frozenset([_OP.get("CALL", -1)])
_CONVERT = _OP.get("CONVERT_VALUE", -1)
_CONVERSIONS = {"repr": 2, "ascii": 3}


def convert_as(made: Listing, original: Listing) -> bool:
    """Calls of `repr` and `ascii` become the operation that `original` has."""
    if _CONVERT < 0 or _CONVERT not in original.operations:  # none before 3.13
        return False
    changed = False
    for at, one in enumerate(made.instructions):
        if one.op != _GLOBAL or not one.argument & 1:  # with a NULL for the call
            continue
        conversion = _CONVERSIONS.get(made.names[one.argument >> 1])
        call = made.call_of(at, _CALLS) if conversion is not None else None
        if conversion is None or call is None:
            continue
        made.drop([at])
        made.put(call, _CONVERT, conversion)
        changed = True
    return changed
