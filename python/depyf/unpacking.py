"""Calls `f(*a, **k)` that pass `k` itself, as Dynamo's code does.

From 3.9 on source merges `k` into an empty dict, which is passed: BUILD_MAP 0, k, DICT_MERGE 1,
CALL_FUNCTION_EX. A resume function that takes over in the middle of such a call has the merged dict
among its arguments and calls with that very object. Source has no words for this, so the two
instructions become NOPs; `verify` proves that both sides then pass the same.
"""

import dis
import sys
import types
from typing import List, Optional, Tuple

from depyf.assembler import Assembly, Instruction

_OP = dis.opmap
_MERGE, _BUILD_MAP = _OP.get("DICT_MERGE", -1), _OP["BUILD_MAP"]
_CALL, _NOP = _OP["CALL_FUNCTION_EX"], _OP["NOP"]
_IGNORED = frozenset(_OP[name] for name in ("EXTENDED_ARG", "PUSH_NULL", "NOP") if name in _OP)


def without_copies(code: types.CodeType, original: types.CodeType) -> Tuple[types.CodeType, bool]:
    """`code` with its calls of one mapping as in `original`, and whether one had to change."""
    if sys.version_info < (3, 9) or _CALL not in original.co_code[::2]:
        return code, False
    if _MERGE not in code.co_code[::2]:  # nothing is merged
        return code, False
    wanted = [_merge_of(each, at) is not None for each, at in _calls(Assembly(original))]
    assembly = Assembly(code)
    calls = _calls(assembly)
    if any(wanted) and len(wanted) != len(calls):
        return code, False  # which is which
    if not any(wanted):
        wanted = [False] * len(calls)
    changed = False
    for merges, (instructions, at) in zip(wanted, calls):
        merge = _merge_of(instructions, at)
        if merges or merge is None:
            continue
        first = _start(instructions, merge)
        if first is None:
            continue
        for one in (instructions[first], instructions[merge]):
            one.op, one.argument = _NOP, 0
        changed = True
    return (assembly.assemble(), True) if changed else (code, False)


def _calls(assembly: Assembly) -> List[Tuple[List[Instruction], int]]:
    """The calls with a mapping, in order."""
    found = []
    for at, one in enumerate(assembly.instructions):
        # From 3.14 on each has one, which may be NULL.
        if one.op == _CALL and (one.argument & 1 or sys.version_info >= (3, 14)):
            if at and assembly.instructions[at - 1].op not in _IGNORED:
                found.append((assembly.instructions, at))
    return found


def _merge_of(instructions: List[Instruction], call: int) -> Optional[int]:
    """Where the DICT_MERGE is whose result the call takes, or None."""
    one = instructions[call - 1]
    return call - 1 if one.op == _MERGE and one.argument == 1 else None


def _start(instructions: List[Instruction], merge: int) -> Optional[int]:
    """Where the empty dict is made into which one value is merged, or None."""
    missing = 1
    for at in range(merge - 1, 0, -1):
        one = instructions[at]
        if one.target is not None:
            return None
        missing -= one.stack_effect()
        if missing == 0:
            before = instructions[at - 1]
            return at - 1 if before.op == _BUILD_MAP and before.argument == 0 else None
    return None
