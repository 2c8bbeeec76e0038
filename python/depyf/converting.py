"""Calls `repr(x)` and `ascii(x)` as the conversion that they stand for.

Torch may break a graph between the two halves of `f"{x!r}"` (3.13 on). An f-string has both, so the
decompiled text calls the builtin; here the call becomes the operation, which asks no global.
`verify` proves what this makes.
"""

import dis
import types
from typing import List, Optional, Set

from depyf.assembler import Assembly, Instruction

_OP = dis.opmap
_NOP, _GLOBAL, _CALL = _OP["NOP"], _OP["LOAD_GLOBAL"], _OP.get("CALL", -1)
_CONVERT = _OP.get("CONVERT_VALUE", -1)
_CONVERSIONS = {"repr": 2, "ascii": 3}


def converted_as(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """`code` whose calls of `repr` and `ascii` are the operation that `original` has."""
    if _CONVERT < 0 or _CONVERT not in original.co_code[::2]:  # none before 3.13
        return code
    assembly = Assembly(code)
    listing = assembly.instructions
    joins = assembly.jumps_and_targets()
    changed = False
    for at, one in enumerate(listing):
        if one.op != _GLOBAL or not one.argument & 1:  # with a NULL for the call
            continue
        conversion = _CONVERSIONS.get(code.co_names[one.argument >> 1])
        end = _call_of(listing, joins, at)
        if conversion is None or end is None:
            continue
        one.op, one.argument, one.caches = _NOP, 0, b""
        call = listing[end]
        call.op, call.argument, call.caches = _CONVERT, conversion, b""
        changed = True
    return assembly.assemble() if changed else code


def _call_of(listing: List[Instruction], joins: Set[int], start: int) -> Optional[int]:
    """The call of what is loaded at `start`, if it has one argument."""
    depth = 0  # values above the function and its NULL
    for at in range(start + 1, len(listing)):
        one = listing[at]
        if at in joins:
            return None
        if depth == 1 and one.op == _CALL:
            return at if one.argument == 1 else None
        depth += one.stack_effect()
        if depth < 0:
            return None
    return None
