"""Code objects taken apart into instructions, changed, and put together again.

Jumps, the exception table and the line table follow what is inserted. CPython 3.7 to 3.15; the
bytecode is that of the running interpreter.
"""

import dis
import opcode
import sys
import types
from itertools import accumulate
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from depyf.code_edit import CannotEdit, encode, instructions, replace

_OP = opcode.opmap
_CACHE, _EXTENDED_ARG = _OP.get("CACHE", -1), _OP["EXTENDED_ARG"]
_HAS_FREE = frozenset(dis.hasfree)
_TAKES_ARGUMENT = frozenset(getattr(dis, "hasarg", range(dis.HAVE_ARGUMENT, 256)))
_HAS_LOCAL = frozenset(dis.haslocal)
_ABSOLUTE = frozenset(dis.hasjabs)
_RELATIVE = frozenset(dis.hasjrel)
_JUMPS = _ABSOLUTE | _RELATIVE
# Jumps count code units from 3.10 on, bytes before.
_JUMP_UNIT = 1 if sys.version_info >= (3, 10) else 2
_ONE_ARRAY = sys.version_info >= (3, 11)
#: a unit that adds nothing to an argument
_EXTENSION = bytes((_EXTENDED_ARG, 0))


def _pair(name: str) -> Tuple[int, ...]:
    """The two instructions that a superinstruction such as STORE_FAST_LOAD_FAST stands for."""
    at = name.index("_FAST") + len("_FAST")
    if name[at:].startswith("_BORROW"):
        at += len("_BORROW")
    return _OP[name[:at]], _OP[name[at + 1 :]]


# Superinstructions on two locals, which have four bits for each (3.13 on).
_PAIRS = {op: _pair(opcode.opname[op]) for op in _HAS_LOCAL if opcode.opname[op].count("_FAST") > 1}


class Instruction:
    """One instruction, the one it jumps to, and its inline caches.

    A jump's argument is recomputed.
    """

    __slots__ = ("op", "argument", "target", "caches", "unit", "end")

    def __init__(self, op: int, argument: int = 0) -> None:
        self.op = op
        self.argument = argument
        self.target: Optional["Instruction"] = None
        self.caches = b""
        self.unit = self.end = 0

    @property
    def name(self) -> str:
        """The operation's name."""
        return opcode.opname[self.op]

    def stack_effect(self, **jump: bool) -> int:
        """By how many values it makes the stack higher.

        Args:
            jump: as `dis.stack_effect` takes it, from 3.8 on.
        """
        argument = self.argument if self.op in _TAKES_ARGUMENT else None
        return dis.stack_effect(self.op, argument, **jump)


class Assembly:
    """The instructions of one code object, in order, with what is needed to write them again."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        bytecode = code.co_code
        operations, low = bytecode[::2], bytecode[1::2]
        self._units = count = len(operations)
        listed: List[Instruction] = []
        jumps: List[Instruction] = []
        starts: Dict[int, Instruction] = {}
        unit = first = argument = 0
        new = object.__new__
        while unit < count:
            op = operations[unit]
            argument |= low[unit]
            unit += 1
            if op == _EXTENDED_ARG:
                argument <<= 8
                continue
            current = new(Instruction)  # without the call of __init__, which takes as long again
            current.op, current.argument, current.target = op, argument, None
            after = unit
            while unit < count and operations[unit] == _CACHE:
                unit += 1
            current.caches = bytecode[2 * after : 2 * unit] if unit > after else b""
            current.unit, current.end = first, unit
            starts[first] = current
            listed.append(current)
            if op in _JUMPS:
                jumps.append(current)
            first, argument = unit, 0
        for current in jumps:
            unit = _target(current)
            if unit not in starts:
                raise CannotEdit("%s leads into an instruction" % current.name)
            current.target = starts[unit]
        self.instructions = listed
        self._old = [(one, one.unit, one.end) for one in listed]
        if not _PAIRS.keys().isdisjoint(operations):
            self._split_pairs()

    def _split_pairs(self) -> None:
        def split(current: Instruction) -> List[Instruction]:
            if current.op not in _PAIRS:
                return [current]
            one, other = _PAIRS[current.op]
            second = Instruction(other, current.argument & 15)
            second.unit, second.end = current.unit, current.end
            current.op, current.argument = one, current.argument >> 4
            return [current, second]

        self.rewrite(split)

    def rewrite(self, change: Callable[[Instruction], List[Instruction]]) -> None:
        """Put `change(instruction)` in each one's place; the first of that list must be itself.

        What is inserted after an instruction has its location and its exception handlers. The
        interpreter takes it that nothing stands between PRECALL and CALL (3.11), and END_FOR and
        POP_TOP (3.13).
        """
        self.instructions = [one for current in self.instructions for one in change(current)]

    def put_behind(self, additions: Dict[int, List[Instruction]]) -> None:
        """Put `additions[i]` after the instruction `i`; see `rewrite`."""
        listed = self.instructions
        made: List[Instruction] = []
        begin = 0
        for at in sorted(additions):
            made += listed[begin : at + 1]
            made += additions[at]
            begin = at + 1
        self.instructions = made + listed[begin:]

    def put_before(self, additions: Dict[int, List[Instruction]]) -> None:
        """Put `additions[id(instruction)]` before it.

        What jumped to it jumps to the first of them.
        """
        for at in reversed(range(len(self.instructions))):
            current = self.instructions[at]
            added = additions.get(id(current))
            if not added:
                continue
            moved = Instruction(current.op, current.argument)
            moved.target, moved.caches = current.target, current.caches
            moved.unit, moved.end = current.unit, current.end
            first = added[0]
            current.op, current.argument = first.op, first.argument
            current.target, current.caches = None, b""
            self.instructions[at + 1 : at + 1] = added[1:] + [moved]

    def jumps_and_targets(self) -> Set[int]:
        """The places of the instructions that jump and of those that are jumped to."""
        targets = {id(one.target) for one in self.instructions if one.target is not None}
        return {at for at, one in enumerate(self.instructions) if one.target or id(one) in targets}

    def handlers(self) -> Dict[int, Instruction]:
        """id(instruction) -> where an exception in it leads; those that leave the frame lack.

        Up to 3.10 a protected block is what stands between its SETUP instruction and its handler.
        """
        found = {}
        if sys.version_info >= (3, 11):
            if not self.code.co_exceptiontable:
                return found
            starts = {first: one for one, first, _ in self._old}
            by_unit = {}
            for start, length, target, _ in _rows(self.code.co_exceptiontable):
                for unit in range(start, start + length):
                    by_unit[unit] = starts[target]
            for one in self.instructions:
                if one.unit in by_unit:
                    found[id(one)] = by_unit[one.unit]
            return found
        open_blocks: List[Instruction] = []
        for one in self.instructions:
            while open_blocks and open_blocks[-1] is one:
                open_blocks.pop()
            if open_blocks:
                found[id(one)] = open_blocks[-1]
            if one.target and one.name in ("SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"):
                open_blocks.append(one.target)
        return found

    def assemble(self, **changes: Any) -> types.CodeType:
        """The code object of these instructions, with `changes` to its other attributes."""
        listed = self.instructions
        index = {id(one): i for i, one in enumerate(listed)}
        jumps = [(i, one, index[id(one.target)]) for i, one in enumerate(listed) if one.target]
        for _, one, _ in jumps:
            one.argument = 0  # as short as it can be
        encoded = [
            bytes((one.op, one.argument)) if one.argument < 256 else _encoded(one.op, one.argument)
            for one in listed
        ]
        while True:
            sizes = [len(data) + len(one.caches) for one, data in zip(listed, encoded)]
            starts = [0] + [end // 2 for end in accumulate(sizes)]
            grown = False
            for i, current, target in jumps:
                data = _encoded(current.op, _jump_argument(current, starts[i + 1], starts[target]))
                missing = len(encoded[i]) - len(data)
                grown = grown or missing < 0
                encoded[i] = _EXTENSION * (missing // 2) + data
            if not grown:
                break
        # Old code unit -> where it is now. An entry of a line table may end within the caches.
        moved = [0] * (self._units + 1)
        for current, first, end in self._old:
            i = index[id(current)]
            start = moved[first] = starts[i]
            if end > first + 1:
                behind = starts[i + 1]
                units = range(behind - (end - first - 1), behind)
                moved[first + 1 : end] = (
                    units if units[0] >= start else [max(one, start) for one in units]
                )
        moved[self._units] = starts[-1]
        code = self.code
        changes["co_code"] = b"".join(
            [data + one.caches if one.caches else data for one, data in zip(listed, encoded)]
        )
        if sys.version_info >= (3, 11):
            changes["co_linetable"] = _locations(code.co_linetable, moved)
            changes["co_exceptiontable"] = _handlers(code.co_exceptiontable, moved)
        elif sys.version_info >= (3, 10):
            changes["co_linetable"] = _line_ranges(code.co_linetable, moved)
        else:
            changes["co_lnotab"] = _line_steps(code.co_lnotab, moved)
        return replace(code, **changes)


def _encoded(op: int, argument: int) -> bytes:
    """One instruction without its caches."""
    if argument < 256:
        return bytes((op, argument))
    return b"".join(map(bytes, encode(op, argument)))


def _target(jump: Instruction) -> int:
    if jump.op in _ABSOLUTE:
        return jump.argument // _JUMP_UNIT
    distance = jump.argument // _JUMP_UNIT
    return jump.end + (-distance if "JUMP_BACKWARD" in jump.name else distance)


def _jump_argument(jump: Instruction, after: int, target: int) -> int:
    if jump.op in _ABSOLUTE:
        return target * _JUMP_UNIT
    distance = (after - target) if "JUMP_BACKWARD" in jump.name else (target - after)
    if distance < 0:
        raise CannotEdit("%s would lead the other way" % jump.name)
    return distance * _JUMP_UNIT


def _moved_steps(table: bytes, moved: List[int]) -> Iterator[Tuple[int, int]]:
    """The pairs (bytes, lines) of a table, each with the bytes that its code has now."""
    old = new = 0
    for step, lines in zip(table[::2], table[1::2]):
        old += step
        distance = 2 * moved[old // 2] - new
        new += distance
        yield distance, lines


def _line_steps(table: bytes, moved: List[int]) -> bytes:
    """co_lnotab up to 3.9: (bytes on, lines on), of which no address step exceeds 255."""
    result = bytearray()
    for distance, lines in _moved_steps(table, moved):
        while distance > 255:
            result += b"\xff\x00"
            distance -= 255
        result += bytes((distance, lines))
    return bytes(result)


def _line_ranges(table: bytes, moved: List[int]) -> bytes:
    """co_linetable of 3.10: (bytes covered, lines on; -128 means none)."""
    result = bytearray()
    for distance, lines in _moved_steps(table, moved):
        while distance > 254:
            result += bytes((254, lines))
            distance -= 254
            lines = lines if lines == 128 else 0
        result += bytes((distance, lines))
    return bytes(result)


def _locations(table: bytes, moved: List[int]) -> bytes:
    """co_linetable from 3.11 on: entries of up to eight units, each a step from the one before."""
    result = bytearray()
    old = new = at = 0
    while at < len(table):
        kind, units = table[at] >> 3 & 15, (table[at] & 7) + 1
        end = at + 1
        while end < len(table) and not table[end] & 0x80:
            end += 1
        entry, at = at, end
        old = min(old + units, len(moved) - 1)
        left = moved[old] - new
        new = moved[old]
        if left == units:  # as it was
            result += table[entry:end]
            continue
        rest = table[entry + 1 : end]
        if left == 0:
            left = units  # a table longer than the code
        while left:
            part = min(left, 8)
            result.append(0x80 | kind << 3 | part - 1)
            result += rest
            left -= part
            # What follows stays on the line reached.
            if 10 <= kind <= 12:
                kind = 10
            elif kind in (13, 14):
                skip = next(i for i, byte in enumerate(rest) if not byte & 0x40) + 1
                rest = b"\x00" + rest[skip:]
    return bytes(result)


def _rows(table: bytes) -> List[List[int]]:
    """The entries of co_exceptiontable: start, length, target, depth and lasti; in code units."""
    rows: List[List[int]] = []
    number = 0
    for byte in table:
        if byte & 0x80:
            rows.append([])
            number = 0
        number = number << 6 | byte & 0x3F
        if not byte & 0x40:
            rows[-1].append(number)
            number = 0
    return rows


def _handlers(table: bytes, moved: List[int]) -> bytes:
    """co_exceptiontable: (start, length, target, depth and lasti), six bits a byte, high first."""
    result = bytearray()
    for start, length, target, depth in _rows(table):
        fields = (moved[start], moved[start + length] - moved[start], moved[target], depth)
        for position, number in enumerate(fields):
            digits = [number & 0x3F]
            number >>= 6
            while number:
                digits.insert(0, number & 0x3F | 0x40)
                number >>= 6
            if position == 0:
                digits[0] |= 0x80
            result += bytes(digits)
    return bytes(result)


def named_locals(code: types.CodeType) -> Set[int]:
    """The numbers of the locals that the instructions of `code` name."""
    operations, low = code.co_code[::2], code.co_code[1::2]
    if _EXTENDED_ARG not in operations and _PAIRS.keys().isdisjoint(operations):
        return {number for op, number in zip(operations, low) if op in _HAS_LOCAL}
    found: Set[int] = set()
    for _, _, op, argument in instructions(code.co_code):
        if op in _PAIRS:
            found.update((argument >> 4, argument & 15))
        elif op in _HAS_LOCAL:
            found.add(argument)
    return found


def with_locals(code: types.CodeType, names: Tuple[str, ...]) -> types.CodeType:
    """`code` with `names` as its first locals, in that order; those that it has beside follow.

    Its arguments must be the first of `names` already.
    """
    if code.co_varnames[: len(names)] == names:
        return code
    given = set(names)
    local_names = names + tuple(name for name in code.co_varnames if name not in given)
    positions = {}

    def layout(variables: Tuple[str, ...]) -> List[str]:
        if not _ONE_ARRAY:
            return list(variables)
        known = set(variables)
        cells = [name for name in code.co_cellvars if name not in known]
        return list(variables) + cells + list(code.co_freevars)

    for index, name in enumerate(layout(local_names)):
        positions[name] = index
    moved = [positions[name] for name in layout(code.co_varnames)]
    changes: Dict[str, Any] = {"co_varnames": local_names, "co_nlocals": len(local_names)}
    bytecode = _renumbered(code.co_code, moved)
    if bytecode is not None:
        return replace(code, co_code=bytecode, **changes)
    assembly = Assembly(code)
    for current in assembly.instructions:
        if current.op in _HAS_LOCAL or (_ONE_ARRAY and current.op in _HAS_FREE):
            current.argument = moved[current.argument]
    return assembly.assemble(**changes)


def _renumbered(bytecode: bytes, moved: List[int]) -> Optional[bytes]:
    """`bytecode` with the numbers of its variables as in `moved`, where each instruction keeps its
    length; else None."""
    if len(moved) > 256 or max(moved, default=0) > 255 or _EXTENDED_ARG in bytecode[::2]:
        return None
    result = bytearray(bytecode)
    for at in range(0, len(bytecode), 2):
        op, argument = bytecode[at], bytecode[at + 1]
        if op in _PAIRS:
            one, other = moved[argument >> 4], moved[argument & 15]
            if one > 15 or other > 15:
                return None
            result[at + 1] = one << 4 | other
        elif op in _HAS_LOCAL or (_ONE_ARRAY and op in _HAS_FREE):
            result[at + 1] = moved[argument]
    return bytes(result)
