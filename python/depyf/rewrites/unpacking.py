"""Calls `f(*a, **k)` that pass `k` itself, as Dynamo's code does.

From 3.9 on source merges `k` into an empty dict, which is passed: BUILD_MAP 0, k, DICT_MERGE 1,
CALL_FUNCTION_EX. A resume function that takes over in the middle of such a call has the merged dict
among its arguments and calls with that very object. Source has no words for this, so the two
instructions become NOPs; `verify` proves that both sides then pass the same.
"""

import dis
import sys
from typing import List, Optional

from depyf.assembler import Instruction
from depyf.rewrites.listing import Listing

_OP = dis.opmap
_MERGE, _BUILD_MAP = _OP.get("DICT_MERGE", -1), _OP["BUILD_MAP"]
_CALL = _OP["CALL_FUNCTION_EX"]
_IGNORED = frozenset(_OP[name] for name in ("EXTENDED_ARG", "PUSH_NULL", "NOP") if name in _OP)


def pass_without_copy(made: Listing, original: Listing) -> bool:
    """Calls of one mapping pass it as those of `original` do."""
    if sys.version_info < (3, 9) or _CALL not in original.operations:
        return False
    if _MERGE not in made.operations:  # nothing is merged
        return False
    theirs, listing = original.instructions, made.instructions
    wanted = [_merge_of(theirs, at) is not None for at in _calls(theirs)]
    calls = _calls(listing)
    if any(wanted) and len(wanted) != len(calls):
        return False  # which is which
    if not any(wanted):
        wanted = [False] * len(calls)
    changed = False
    for merges, at in zip(wanted, calls):
        merge = _merge_of(listing, at)
        if merges or merge is None:
            continue
        first = _start(listing, merge)
        if first is None:
            continue
        made.drop([first, merge])
        changed = True
    return changed


def _calls(listing: List[Instruction]) -> List[int]:
    """The calls with a mapping, in order."""
    return [
        at
        for at, one in enumerate(listing)
        # From 3.14 on each has one, which may be NULL.
        if one.op == _CALL and (one.argument & 1 or sys.version_info >= (3, 14))
        if at and listing[at - 1].op not in _IGNORED
    ]


def _merge_of(listing: List[Instruction], call: int) -> Optional[int]:
    """Where the DICT_MERGE is whose result the call takes, or None."""
    one = listing[call - 1]
    return call - 1 if one.op == _MERGE and one.argument == 1 else None


def _start(listing: List[Instruction], merge: int) -> Optional[int]:
    """Where the empty dict is made into which one value is merged, or None."""
    missing = 1
    for at in range(merge - 1, 0, -1):
        one = listing[at]
        if one.target is not None:
            return None
        missing -= one.stack_effect()
        if missing == 0:
            before = listing[at - 1]
            return at - 1 if before.op == _BUILD_MAP and before.argument == 0 else None
    return None
