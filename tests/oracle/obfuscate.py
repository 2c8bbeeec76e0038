"""What simple obfuscators do to compiled code: any code object, under any CPython from 3.7 on, with
junk between its operations.

The junk is jumps to and fro, NOPs, values pushed and popped, branches on constants whose other way
is never taken, and straight code moved to the end (`obfuscated`). What the code does stays the
same; rows, handlers and positions follow their operations.
"""

import dis
import opcode
import sys
import types

MINOR = sys.version_info[1]
OPS = opcode.opmap
UNIT = 2 if MINOR >= 10 else 1  # what an argument of a jump counts, in bytes
JUMPS = frozenset(opcode.hasjrel) | frozenset(opcode.hasjabs)

#: Nothing is put before these: the interpreter looks for them behind or before another operation.
STUCK = frozenset(
    "CACHE CALL CLEANUP_THROW COPY_FREE_VARS END_ASYNC_FOR END_FOR END_SEND GEN_START GET_AWAITABLE GET_YIELD_FROM_ITER "
    "JUMP_BACKWARD_NO_INTERRUPT KW_NAMES MAKE_CELL POP_ITER PRECALL PUSH_EXC_INFO RESUME RETURN_GENERATOR SEND "
    "SETUP_ANNOTATIONS YIELD_FROM YIELD_VALUE LOAD_FAST_AND_CLEAR NOT_TAKEN".split()
)


def cache_entries(name):
    if MINOR < 11:
        return 0
    entries = opcode._inline_cache_entries
    return entries[OPS[name]] if isinstance(entries, list) else dict(entries).get(name, 0)


class Instr:
    """One operation; `target` is another one, `handler` (3.11+) is (operation, depth, lasti)."""

    __slots__ = ("name", "arg", "target", "handler", "place", "at", "size")

    def __init__(self, name, arg=0, target=None, handler=None, place=None):
        self.name, self.arg, self.target, self.handler, self.place = (
            name,
            arg,
            target,
            handler,
            place,
        )

    def measure(self, wide):
        """Jumps always get an EXTENDED_ARG (or two), so that sizes do not depend on where they
        lead.
        """
        prefixes = 1 + wide if self.target is not None else 0
        while self.arg >> 8 * (prefixes + 1) and self.target is None:
            prefixes += 1
        self.size = 2 * (prefixes + 1 + cache_entries(self.name))
        return self.size

    def data(self):
        arg = self.arg
        if self.target is not None:
            to, behind = self.target.at, self.at + self.size
            absolute = MINOR < 11 and OPS[self.name] in opcode.hasjabs
            arg = (to if absolute else abs(to - behind)) // UNIT
        prefixes = self.size // 2 - 1 - cache_entries(self.name)
        out = bytearray()
        for k in range(prefixes, 0, -1):
            out += bytes([OPS["EXTENDED_ARG"], arg >> 8 * k & 255])
        return out + bytes([OPS[self.name], arg & 255]) + bytes(2 * cache_entries(self.name))


def rows_of(code):
    """[(begin, end, target, depth, lasti)] of the exception table, in bytes."""
    data, at, rows = getattr(code, "co_exceptiontable", b""), 0, []

    def number():
        nonlocal at
        value, more = data[at] & 63, data[at] & 64
        at += 1
        while more:
            value, more = value << 6 | data[at] & 63, data[at] & 64
            at += 1
        return value

    while at < len(data):
        begin, size, target, depth = number(), number(), number(), number()
        rows.append((2 * begin, 2 * (begin + size), 2 * target, depth >> 1, depth & 1))
    return rows


def places_of(code):
    """{offset: (line, end line, column, end column)}, or (line,) up to 3.10."""
    if MINOR >= 11:
        return {2 * i: place for i, place in enumerate(code.co_positions())}
    starts, line, out = dict(dis.findlinestarts(code)), None, {}
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        out[offset] = (line,)
    return out


def read(code):
    """The operations of a code object, in order."""
    found, order, rows, places = {}, [], rows_of(code), places_of(code)
    prefixes = []
    for one in dis.get_instructions(code):
        if one.opname == "CACHE":
            continue
        if one.opname == "EXTENDED_ARG":
            prefixes.append(one.offset)
            continue
        new = Instr(one.opname, one.arg or 0, place=places.get(one.offset))
        for offset in prefixes + [one.offset]:
            found[offset] = new
        prefixes = []
        order.append((one, new))
    for one, new in order:
        if one.opcode in JUMPS:
            new.target = found[one.argval]
        covering = [row for row in rows if row[0] <= one.offset < row[1]]
        if covering:
            _, _, target, depth, lasti = covering[-1]
            new.handler = (found[target], depth, lasti)
    return [new for _, new in order]


def varint(value):
    out = []
    while value > 63:
        out.append(value & 63 | 64)
        value >>= 6
    return bytes(out + [value])


def signed(value):
    return varint(-value << 1 | 1 if value < 0 else value << 1)


def positions(code, instrs):
    """The table of lines: co_lnotab up to 3.9, co_linetable from 3.10 on."""
    out, line = bytearray(), code.co_firstlineno
    if MINOR < 10:
        begin = 0
        for one in instrs:
            at = one.place and one.place[0]
            if not at or at == line:
                continue
            delta, gap = at - line, one.at - begin
            while gap > 255:
                out += bytes([255, 0])
                gap -= 255
            while not -128 <= delta <= 127:
                step = 127 if delta > 0 else -128
                out += bytes([gap, step & 255])
                gap, delta = 0, delta - step
            out += bytes([gap, delta & 255])
            line, begin = at, one.at
        return bytes(out)
    for one in instrs:
        at = one.place and one.place[0]
        if MINOR == 10:
            delta = at - line if at else 0
            while not -127 <= delta <= 127:
                step = 127 if delta > 0 else -127
                out += bytes([0, step & 255])
                delta -= step
            out += bytes([one.size, delta & 255 if at else 128])
        else:
            units = one.size // 2
            while units:
                part = min(8, units)
                units -= part
                if not at:
                    out += bytes([0x80 | 15 << 3 | part - 1])
                    continue
                _, end, column, end_column = one.place
                whole = None not in (end, column, end_column) and end >= at
                out += bytes([0x80 | (14 if whole else 13) << 3 | part - 1]) + signed(at - line)
                if whole:
                    out += varint(end - at) + varint(column + 1) + varint(end_column + 1)
                line = at
        line = at or line
    return bytes(out)


def exception_table(instrs):
    out, at = bytearray(), 0

    def number(value, first=0):
        parts = [value & 63]
        while value > 63:
            value >>= 6
            parts.append(value & 63)
        parts.reverse()
        for i, part in enumerate(parts):
            out.append(part | (64 if i + 1 < len(parts) else 0) | (first if i == 0 else 0))

    while at < len(instrs):
        end, handler = at + 1, instrs[at].handler
        while end < len(instrs) and instrs[end].handler == handler:
            end += 1
        if handler is not None:
            begin, last = instrs[at].at, instrs[end - 1]
            number(begin // 2, 128)
            number((last.at + last.size - begin) // 2)
            number(handler[0].at // 2)
            number(handler[1] << 1 | handler[2])
        at = end
    return bytes(out)


def written(code, instrs, consts):
    """A code object with these operations."""
    wide = len(instrs) > 8000
    for again in range(2):
        at = 0
        for one in instrs:
            one.at = at
            at += one.measure(wide)
        for one in instrs:  # which way a jump goes is known only now
            if MINOR >= 11 and one.name in ("JUMP_FORWARD", "JUMP_BACKWARD"):
                one.name = "JUMP_FORWARD" if one.target.at > one.at else "JUMP_BACKWARD"
    data = b"".join(bytes(one.data()) for one in instrs)
    lines = positions(code, instrs)
    size = code.co_stacksize + 6
    if MINOR < 8:
        return types.CodeType(
            code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, size, code.co_flags, data, consts, code.co_names,
            code.co_varnames, code.co_filename, code.co_name, code.co_firstlineno, lines, code.co_freevars, code.co_cellvars,
        )  # fmt: skip
    changes = dict(co_code=data, co_consts=consts, co_stacksize=size)
    changes["co_lnotab" if MINOR < 10 else "co_linetable"] = lines
    if MINOR >= 11:
        changes["co_exceptiontable"] = exception_table(instrs)
    return code.replace(**changes)


def comparison():
    """The argument of `==` before a branch."""
    code = compile("if a == b:\n c", "obfuscate", "exec")
    return next(i.arg for i in dis.get_instructions(code) if i.opname == "COMPARE_OP")


EQUAL = comparison()
JUMP = "JUMP_FORWARD" if MINOR >= 11 else "JUMP_ABSOLUTE"
BRANCH = "POP_JUMP_%sIF_%%s" % ("FORWARD_" if MINOR == 11 else "")
DUP = ("COPY", 1) if "COPY" in OPS else ("DUP_TOP", 0)
SWAP = ("SWAP", 2) if "SWAP" in OPS else ("ROT_TWO", 0)
KINDS = "nop pop dup swap jump noop truth equal moved".split()


class Obfuscator:
    """Draws junk for one code object. `density`: how often there is some before an operation."""

    def __init__(self, rng, code, density, kinds=KINDS):
        self.rng, self.code, self.density, self.kinds = rng, code, density, kinds
        self.consts, self.moved = list(code.co_consts), []

    def wanted(self, one):
        """Is there to be junk before this operation?"""
        return self.rng.random() < self.density

    def const(self, value):
        for i, one in enumerate(self.consts):
            if type(one) is type(value) and one == value and i > 0:
                return Instr("LOAD_CONST", i)
        self.consts.append(value)
        return Instr("LOAD_CONST", len(self.consts) - 1)

    def dead(self, over):
        """What stands on the way that is never taken."""
        pop = Instr("POP_TOP")
        kind = self.rng.choice(["return", "over", "raise"])
        junk = [self.const(self.rng.choice([None, 5, "k"])), pop]
        if kind == "over":
            return junk + [Instr(JUMP, target=over)]
        if kind == "raise":
            return junk + [self.const(None), Instr("RAISE_VARARGS", 1)]
        return junk + [self.const(None), Instr("RETURN_VALUE")]

    def junk(self, over):
        """Operations that do nothing and go on to `over`."""
        kind, pop = self.rng.choice(self.kinds), Instr("POP_TOP")
        if kind == "nop":
            return [Instr("NOP") for _ in range(self.rng.randrange(1, 6))]
        if kind == "pop":
            return [self.const(7), pop]
        if kind == "dup":
            return [self.const(7), Instr(*DUP), Instr("POP_TOP"), pop]
        if kind == "swap":
            swaps = [Instr(*SWAP), Instr(*SWAP)]
            return [self.const(7), self.const("k")] + swaps + [Instr("POP_TOP"), pop]
        if kind == "noop":
            return [Instr(JUMP, target=over)]
        if kind == "jump":
            back = Instr(JUMP, target=over)
            there = Instr(JUMP, target=back)
            return [Instr(JUMP, target=there), back, there]
        if kind == "truth":
            truth = self.rng.random() < 0.5
            head = [self.const(truth), Instr(BRANCH % ("TRUE" if truth else "FALSE"), target=over)]
            return head + self.dead(over)
        if kind == "equal":
            values = self.rng.choice([(7, 7, "TRUE"), (7, 8, "FALSE"), ("k", "k", "TRUE")])
            head = [self.const(values[0]), self.const(values[1]), Instr("COMPARE_OP", EQUAL)]
            return head + [Instr(BRANCH % values[2], target=over)] + self.dead(over)
        return []

    def run(self):
        instrs = read(self.code)
        out, began = [], False
        entry = {}  # what stands in for an operation where a jump leads to it
        at = 0
        while at < len(instrs):
            one = instrs[at]
            began = began or MINOR < 11 or one.name == "RESUME"
            free = began and one.name not in STUCK and self.wanted(one)
            # The value that RETURN_GENERATOR leaves goes at once; 3.13 jumps over the POP_TOP
            # behind END_FOR.
            free = free and not (at and instrs[at - 1].name in ("RETURN_GENERATOR", "END_FOR"))
            if free:
                junk = self.junk(one)
                for extra in junk:
                    extra.handler = one.handler
                    extra.place = self.rng.choice([one.place, one.place, None])
                if junk:
                    entry[id(one)] = junk[0]
                    out += junk
                else:
                    end = self.straight(instrs, at)
                    if end > at:
                        back = Instr(JUMP, target=instrs[end], handler=one.handler)
                        there = Instr(JUMP, target=one, handler=one.handler, place=one.place)
                        entry[id(one)] = there
                        out.append(there)
                        self.moved += instrs[at:end] + [back]
                        at = end
                        continue
            out.append(one)
            at += 1
        inside = set(map(id, self.moved))
        junk_jumps = {id(one) for one in out + self.moved} - set(map(id, instrs))
        for one in out + self.moved:
            # Jumps of the program lead to the junk before what they led to; those of the junk know
            # better.
            if one.target is not None and (id(one) not in junk_jumps or id(one) in inside):
                one.target = entry.get(id(one.target), one.target)
            if one.handler is not None:
                target = one.handler[0]
                one.handler = (entry.get(id(target), target),) + one.handler[1:]
        return written(self.code, out + self.moved, tuple(self.consts))

    def straight(self, instrs, at):
        """Where the straight code that begins at `at` and can move ends."""
        end, most = at, at + self.rng.randrange(1, 6)
        targets = {id(one.target) for one in instrs if one.target is not None}
        targets |= {id(one.handler[0]) for one in instrs if one.handler is not None}
        while end < min(most, len(instrs) - 1):
            one = instrs[end]
            if one.target is not None or one.name in STUCK or id(one) in targets and end > at:
                break
            if one.name.startswith(("RETURN", "RAISE", "RERAISE", "POP_BLOCK", "END_FINALLY")):
                break
            if one.handler != instrs[at].handler:
                break
            end += 1
        if instrs[end].name in STUCK or instrs[end - 1].name == "END_FOR":
            return at
        return end


def obfuscated(code, rng, density=0.3, kinds=KINDS):
    """`code`, and the code objects in it, with junk."""
    consts = tuple(
        obfuscated(one, rng, density, kinds) if isinstance(one, types.CodeType) else one
        for one in code.co_consts
    )
    made = Obfuscator(rng, code, density, kinds)
    made.consts = list(consts)
    return made.run()
