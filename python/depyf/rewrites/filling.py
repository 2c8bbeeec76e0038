"""Calls `a.extend(b)` and `a.update(b)` of a list or dict that was built empty, as torch fills one.

A list that contains itself has to exist before its items do, so torch builds it empty, keeps it in
a local, builds its items and adds them by LIST_EXTEND. Source has this operation only inside of a
display, so the decompiled text calls the method, which does the same for a list or dict; here the
call becomes the operation. `verify` proves what this makes.
"""

import dis
import sys
from typing import List

from depyf.assembler import Instruction
from depyf.rewrites.listing import Listing

_OP = dis.opmap
_POP, _STORE = _OP["POP_TOP"], _OP["STORE_FAST"]
#: what makes a container, its method, and the operation that does the same
_KINDS = [
    (_OP["BUILD_LIST"], "extend", _OP.get("LIST_EXTEND", -1)),
    (_OP["BUILD_MAP"], "update", _OP.get("DICT_UPDATE", -1)),
]
_LOADS = tuple(_OP[name] for name in ("LOAD_FAST", "LOAD_FAST_BORROW") if name in _OP)
# From 3.12 on the lowest bit of LOAD_ATTR says whether a method is meant.
_METHOD = _OP.get("LOAD_METHOD", -1)
_ATTRIBUTE = _OP["LOAD_ATTR"]
_CALLS = frozenset(_OP[name] for name in ("CALL_METHOD", "CALL") if name in _OP)
_PRECALL = _OP.get("PRECALL", -1)


def fill_in_place(made: Listing, original: Listing) -> bool:
    """Containers that are built empty are filled by the operation that `original` has."""
    if sys.version_info < (3, 9):  # no such operation
        return False
    used, names = original.operations, made.names
    kinds = [kind for kind in _KINDS if kind[2] in used and kind[1] in names]
    if not kinds:
        return False
    listing, changed = made.instructions, False
    for build, method, operation in kinds:
        built = {
            one.argument
            for before, one in zip(listing, listing[1:])
            if one.op == _STORE and before.op == build and not before.argument
        }
        for at, one in enumerate(listing[:-1]):
            if one.op not in _LOADS or one.argument not in built:
                continue
            if not _loads_method(names, listing[at + 1], method):
                continue
            call = made.call_of(at + 1, _CALLS, _PRECALL)
            if call is None or not _drops_result(made, call):
                continue
            made.drop([at + 1] + [call - 1] * (listing[call - 1].op == _PRECALL))
            made.put(call, operation, 1)
            changed = True
    return changed


def _drops_result(made: Listing, call: int) -> bool:
    listing = made.instructions
    after = call + 1
    return after < len(listing) and listing[after].op == _POP and after not in made.joins


def _loads_method(names: List[str], one: Instruction, method: str) -> bool:
    if one.op == _METHOD:
        return names[one.argument] == method
    return (
        sys.version_info >= (3, 12)
        and one.op == _ATTRIBUTE
        and one.argument & 1 == 1
        and names[one.argument >> 1] == method
    )
