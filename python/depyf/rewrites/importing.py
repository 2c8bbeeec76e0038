"""Calls `__import__('a', None, None, (), 0)` as the import that they stand for.

Torch imports a module in the middle of an expression. Source has the operation only in a statement,
so the decompiled text calls the function behind it; here the call becomes the operation, which asks
no global `__import__`. `verify` proves what this makes.
"""

import dis
import sys
import types
from typing import Any, List, Optional

from depyf.assembler import Instruction
from depyf.rewrites.listing import Listing

_OP = dis.opmap
_IMPORT, _CONST = _OP["IMPORT_NAME"], _OP["LOAD_CONST"]
_NAME = "__import__"
_GLOBAL = _OP["LOAD_GLOBAL"]
_SMALL_INT = _OP.get("LOAD_SMALL_INT", -1)
_BUILD_TUPLE, _PUSH_NULL = _OP["BUILD_TUPLE"], _OP.get("PUSH_NULL", -1)
_CALLS = tuple(_OP[name] for name in ("CALL_FUNCTION", "CALL") if name in _OP)
_PRECALL = _OP.get("PRECALL", -1)
#: from 3.11 on the lowest bit of LOAD_GLOBAL says whether a NULL is pushed, too
_NAME_SHIFT = 1 if "PUSH_NULL" in _OP else 0
#: from 3.15 on its two lowest bits say that it is not lazy, as a call is not
_IMPORT_SHIFT, _EAGER = (2, 2) if sys.version_info >= (3, 15) else (0, 0)


def import_as(made: Listing, original: Listing) -> bool:
    """Calls of `__import__` with constants become the operation that `original` has."""
    code, names = made.code, made.names
    if _NAME not in names or _IMPORT not in original.operations:
        return False
    listing, joins, changed = made.instructions, made.joins, False
    for at, one in enumerate(listing):
        if one.op != _GLOBAL or names[one.argument >> _NAME_SHIFT] != _NAME:
            continue
        rest = [i for i in range(at + 1, min(at + 9, len(listing))) if listing[i].op != _PUSH_NULL]
        rest = [i for i in rest if listing[i].op != _PRECALL][:6]
        if len(rest) < 6 or not joins.isdisjoint(range(at + 1, rest[5] + 1)):
            continue
        call = listing[rest[5]]
        values = [_constant(code, listing[i]) for i in rest[:5]]
        if call.op not in _CALLS or call.argument != 5 or None in values:
            continue
        name, *scopes = [value[0] for value in values[:3] if value]
        if type(name) is not str or scopes != [None, None]:
            continue
        if name not in names:
            names.append(name)
        items, level = listing[rest[3]], listing[rest[4]]
        items.op, items.argument, level.op, level.argument = (
            level.op,
            level.argument,
            items.op,
            items.argument,
        )
        made.drop(i for i in range(at, rest[5]) if i not in rest[3:5])
        made.put(rest[5], _IMPORT, names.index(name) << _IMPORT_SHIFT | _EAGER)
        changed = True
    return changed


def _constant(code: types.CodeType, one: Instruction) -> Optional[List[Any]]:
    """The constant that is loaded, in a list; None for anything else."""
    if one.op == _CONST:
        return [code.co_consts[one.argument]]
    if one.op == _SMALL_INT:
        return [one.argument]
    return [()] if one.op == _BUILD_TUPLE and not one.argument else None
