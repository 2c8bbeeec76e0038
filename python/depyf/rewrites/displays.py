"""Displays `{k: v, ...}` and `{a, ...}` of many items that hash them at the end, as torch does.

CPython adds the items of a large display one by one, so it hashes one before it reads the next. In
torch's code all of them wait on the stack. A hash may run code of the program, so the two are not
the same. `verify` proves what this makes of the source's displays.
"""

import dis
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from depyf.assembler import Instruction
from depyf.rewrites.listing import Listing

_OP = dis.opmap
_NOP = _OP["NOP"]
#: what makes a display, adds an item to one, and adds the items of another; values in an item
_KINDS = [
    (_OP["BUILD_MAP"], _OP["MAP_ADD"], _OP.get("DICT_UPDATE", -1), 2),
    (_OP["BUILD_SET"], _OP["SET_ADD"], _OP.get("SET_UPDATE", -1), 1),
]
_BORROW, _LOAD = _OP.get("LOAD_FAST_BORROW", -1), _OP["LOAD_FAST"]


class _Display(NamedTuple):
    start: int  # the instruction that makes it, empty
    end: int  # the last one that adds to it
    gone: List[int]
    items: int


def build_at_once(made: Listing, original: Listing) -> bool:
    """Displays of many items are built at once, where `original` builds such ones."""
    added_to = made.operations
    if not any(kind[1] in added_to for kind in _KINDS):
        return False
    listing = original.instructions
    kinds = []
    for kind in _KINDS:
        sizes = [one.argument for one in listing if one.op == kind[0] and one.argument]
        # the compiler itself builds those at once whose items take half of thirty slots
        if any(size * kind[3] > 30 for size in sizes) and kind[1] in added_to:
            kinds.append(kind)
    if not kinds:
        return False
    listing, joins = made.instructions, made.joins
    changes: Dict[int, Instruction] = {}
    for build, add, update, width in kinds:
        continued: Dict[int, bool] = {}
        for start, one in enumerate(listing):
            if one.op != build or one.argument or start in continued:
                continue
            display = _display(listing, joins, start, (build, add, update), width)
            if display is None:
                continue
            for at in display.gone:
                changes[at] = Instruction(_NOP)
                continued[at] = True
            changes[display.end] = Instruction(build, display.items)
            for at in range(start, display.end):
                if listing[at].op == _BORROW:  # it now waits on the stack
                    changes[at] = Instruction(_LOAD, listing[at].argument)
            made.more_stack += display.items * width
    for at, change in changes.items():
        made.put(at, change.op, change.argument)
    return bool(changes)


def _display(
    listing: List[Instruction], joins: Set[int], start: int, kind: Tuple[int, int, int], width: int
) -> Optional[_Display]:
    """The display that begins empty at `start`; None if nothing is added to it in one go.

    Those of more than seventeen pairs are made in parts, each of which is added to the first.
    """
    build, add, update = kind
    depth = 1  # values on the stack from the display on
    items, end, part = 0, start, 0
    gone: List[int] = []
    parts: List[int] = []  # what makes the part that is being read, and adds to it
    for at in range(start + 1, len(listing)):
        one = listing[at]
        if at in joins:
            break
        before = depth
        depth += one.stack_effect()
        if depth < 1:
            break
        if one.op == add and one.argument == 1 and depth == 1:
            items, end, gone = items + 1, at, gone + [at]
        elif one.op == build and not one.argument and before == 1 and update != -1:
            part, parts = 0, [at]
        elif one.op == add and one.argument == 1 and depth == 2 and parts:
            part, parts = part + 1, parts + [at]
        elif one.op == build and one.argument and depth == 2:
            part, parts = one.argument, [at]
        elif one.op == update and one.argument == 1 and depth == 1:
            if not parts or parts[-1] != at - 1:
                break
            items, end, gone = items + part, at, gone + parts + [at]
    return _Display(start, end, [start] + gone, items) if items else None
