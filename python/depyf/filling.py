"""Calls `a.extend(b)` and `a.update(b)` of a list or dict that was built empty, as torch fills one.

A list that contains itself has to exist before its items do, so torch builds it empty, keeps it in
a local, builds its items and adds them by LIST_EXTEND. Source has this operation only inside of a
display, so the decompiled text calls the method, which does the same for a list or dict; here the
call becomes the operation. `verify` proves what this makes.
"""

import dis
import sys
import types
from typing import List, Optional, Set, Tuple

from depyf.assembler import Assembly, Instruction

_OP = dis.opmap
_NOP, _POP = _OP["NOP"], _OP["POP_TOP"]
_STORE = _OP["STORE_FAST"]
#: what makes a container, its method, and the operation that does the same
_KINDS = [
    (_OP["BUILD_LIST"], "extend", _OP.get("LIST_EXTEND", -1)),
    (_OP["BUILD_MAP"], "update", _OP.get("DICT_UPDATE", -1)),
]
_LOADS = tuple(_OP[name] for name in ("LOAD_FAST", "LOAD_FAST_BORROW") if name in _OP)
# From 3.12 on the lowest bit of LOAD_ATTR says whether a method is meant.
_METHOD = _OP.get("LOAD_METHOD", -1)
_ATTRIBUTE = _OP["LOAD_ATTR"]
_CALLS = tuple(_OP[name] for name in ("CALL_METHOD", "CALL") if name in _OP)
_PRECALL = _OP.get("PRECALL", -1)


def filled_in_place(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """`code` whose containers that are built empty are filled by the operation of `original`."""
    if sys.version_info < (3, 9):  # no such operation
        return code
    used = set(original.co_code[::2])
    kinds = [kind for kind in _KINDS if kind[2] in used and kind[1] in code.co_names]
    if not kinds:
        return code
    assembly = Assembly(code)
    listing = assembly.instructions
    joins = assembly.jumps_and_targets()
    changed = False
    for build, method, operation in kinds:
        built = {
            one.argument
            for before, one in zip(listing, listing[1:])
            if one.op == _STORE and before.op == build and not before.argument
        }
        for at, one in enumerate(listing[:-1]):
            if one.op not in _LOADS or one.argument not in built:
                continue
            if not _loads_method(code, listing[at + 1], method):
                continue
            call = _call_of(listing, joins, at + 1)
            if call is None:
                continue
            gone, end = call
            for each in [at + 1] + gone:
                listing[each].op, listing[each].argument, listing[each].caches = _NOP, 0, b""
            listing[end].op, listing[end].argument, listing[end].caches = operation, 1, b""
            changed = True
    return assembly.assemble() if changed else code


def _loads_method(code: types.CodeType, one: Instruction, method: str) -> bool:
    if one.op == _METHOD:
        return code.co_names[one.argument] == method
    return (
        sys.version_info >= (3, 12)
        and one.op == _ATTRIBUTE
        and one.argument & 1 == 1
        and code.co_names[one.argument >> 1] == method
    )


def _call_of(
    listing: List[Instruction], joins: Set[int], start: int
) -> Optional[Tuple[List[int], int]]:
    """What else belongs to the call of the method that is loaded at `start`, and the call itself,
    if it has one argument and drops the result."""
    depth = 0  # values above the method and its object
    for at in range(start + 1, len(listing) - 1):
        one = listing[at]
        if at in joins:
            return None
        if depth == 1 and one.op in _CALLS:
            if one.argument != 1 or listing[at + 1].op != _POP or at + 1 in joins:
                return None
            precall = [at - 1] if listing[at - 1].op == _PRECALL else []
            return precall, at
        if one.op != _PRECALL:
            depth += one.stack_effect()
        if depth < 0:
            return None
    return None
