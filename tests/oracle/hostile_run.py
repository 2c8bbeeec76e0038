#!/usr/bin/env python3
"""A hostile attack on the prover: code that no compiler makes, against what it was made from.

Each pair is a function of TEMPLATES and the same after one to three changes of its bytes: another
operand or operation, two neighbours exchanged, a row of the exception table moved, the bit of a row
that asks for the position of the instruction, a constant that is nearly the same, other flags,
counts, names, another order of variables. What the prover accepts runs in several worlds
(attack_run.py), in the first of them again with an exception at each effect in turn; generators and
coroutines are driven. All of it runs in a child process: changed code may take CPython down, and if
the prover accepted it, that is a finding.

Runs under any CPython from 3.7 on that can import depyf; `scripts/attack --hostile` starts it for
several.

    python3.X tests/oracle/hostile_run.py --seed 1 --first 0 --count 100000
"""

import dis
import os
import random
import signal
import struct
import sys
import types
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack_run as base  # noqa: E402
from depyf import _core  # noqa: E402
from depyf.code_edit import replace  # noqa: E402

VERSION = sys.version_info[:2]
PROVEN = ("identical", "exact", "equivalent")
WORLDS = 3
WARM = 12  # runs after which CPython has specialised what it can
EFFECTS = 24  # at most so many of them raise, one in each run
SECONDS = 10  # for all runs of one pair

#: (first version, body of `def f(a, b)` or of `async def f(a, b)`)
TEMPLATES = [
    ((3, 7), "try:\n  g(a)\n except E:\n  h(b)\n return a"),
    ((3, 7), "try:\n  g(a)\n except E as e:\n  h(b)\n finally:\n  g(1)\n return b"),
    ((3, 7), "with a as x:\n  g(x)\n return h(b)"),
    ((3, 7), "with a, b as y:\n  return g(y)"),
    (
        (3, 7),
        "for i in (1, 2, 3):\n  try:\n   if g(i): continue\n   h(i)\n  finally:\n   g()\n return a",
    ),
    ((3, 7), "while g(a):\n  try:\n   h()\n  except E:\n   break\n else:\n  g(2)\n return b"),
    (
        (3, 7),
        "try:\n  try:\n   g(a)\n  except E:\n   raise E from None\n except E as e:\n"
        "  h(b)\n return b",
    ),
    ((3, 7), "x = yield a\n try:\n  y = yield g(x)\n except E:\n  yield h(1)\n return b"),
    ((3, 7), "try:\n  yield from g(a)\n finally:\n  h(b)\n yield (1, 2)"),
    ((3, 7), "x = [i for i in a if g(i)]\n return [(lambda: i) for i in (1, 2)] + [x]"),
    (
        (3, 7),
        "return [g(i, j) for i in (1, 2) for j in a if j], {k: h(k) for k in b}, "
        "{i for i in (1, 2)}",
    ),
    ((3, 7), "try:\n  x = [g(i) for i in a]\n except E:\n  x = 1\n return x, [b for b in b]"),
    ((3, 7), "x = 1\n def inner():\n  nonlocal x\n  x = g(x)\n  return x, b\n return inner"),
    (
        (3, 7),
        "x, y = a, b\n def inner(q=g(x), *c, k=h(y)):\n  return q, x, y, c, k\n return inner",
    ),
    (
        (3, 7),
        "class C(g(a).__class__ if 0 else object):\n  x = h(b)\n"
        "  def m(self): return __class__, b\n  y = [x for x in (1, 2)]\n return C",
    ),
    ((3, 7), "class C:\n  a = a\n  try:\n   b = g(b)\n  except E:\n   c = 1\n return C, C"),
    ((3, 7), "return g(a[1:2], b[::2], a[h():], (1, 2, 3)[b])"),
    ((3, 7), "a[1] = g(b)\n a.p += 1\n b[g(1):2] = a\n del a[h(1)]\n return a.p"),
    (
        (3, 7),
        "return [0.0, -0.0, 1, True, 1.0, 'k', b'k', (1, True), (0.0, -0.0), None, 2j, -0.0j]",
    ),
    ((3, 7), "x = 'NaN0'\n return [x, 'NaN0', 'NaN1', ('NaN0', 1)], x in [x, g(x)]"),
    ((3, 7), "return [i for i in {8, 0, 16}], a in {0, 8, 'k'}, [i for i in (8, 0)]"),
    ((3, 7), "x = g(a)\n y = L()\n del x\n return y, locals(), h(b)"),
    ((3, 7), "return a if g(a) and (h(b) or a) else (not b), a < b < g(1), a is not None"),
    ((3, 7), "x, *y = g(a), b, 1, 2\n [u, (v, w)] = y[0], (1, 2)\n return u, v, w, x, y"),
    ((3, 7), "return g(a, *b, k=h(1), **{'q': a}), h(*[a, b]), g(x=a, y=b), a.append(b)"),
    ((3, 7), "return f'{a!r:>3}{g(b)}|{b:{a}}', '%s' % 1, -g(a), ~1, +1"),
    (
        (3, 7),
        "n = 0\n for i in (1,) * 60:\n  if i < 2: n += i == 1\n  n -= (i >= 2) + (i != 1)\n"
        " return n <= 60, g(n > 3)",
    ),
    ((3, 7), "x = [a]\n y = x\n z = [h(y), x, x := g(1)] if 0 else x\n del x\n return y, z, L()")
    if VERSION >= (3, 8)
    else ((3, 7), "x = [a]\n y = x\n del x\n return y, L()"),
    ((3, 7), "x = a.p\n x(b)\n a.q(x, h.p(1)).r(k=b)\n return x"),
    ((3, 7), "global u\n u = g(a)\n del u\n assert h(b), g(1)\n return u"),
    ((3, 7), "import m.n as x\n return x"),
    (
        (3, 8),
        "if (x := g(a)) and (y := h(x)):\n  return [z := i for i in (1, 2)], x, y\n return (x, z)",
    ),
    (
        (3, 10),
        "match a:\n  case [x, 1, *y] if g(x): return y\n"
        "  case {'k': z, **r}: return z, r\n  case 1 | True | None: return h(1)\n"
        "  case str(): return 2\n  case _: return b",
    ),
    (
        (3, 10),
        "match g(a):\n  case (x, y) | [x, y, _]:\n   h(x)\n  case 'k' as z: pass\n return x",
    ),
    (
        (3, 11),
        "try:\n  g(a)\n except* E as e:\n  h(b)\n except* T:\n  g(1)\n else:\n  g(2)\n return b",
    ),
    (
        (3, 11),
        "for i in (1, 2):\n  try:\n   g(a)\n  except* E:\n   h(b)\n  finally:\n   g(i)\n return b",
    ),
    (
        (3, 12),
        "def inner[T: g(a), *P](x: T = h(b)) -> T:\n  return x\n"
        " return inner, inner.__type_params__",
    ),
    ((3, 12), "class C[T]:\n  x: T = g(a)\n type A[Q] = C[Q]\n return C, A.__value__"),
    ((3, 13), "def inner[T = g(a)](): return T.__default__\n return inner"),
    ((3, 14), "t = t'{a}x{g(b)!r:>{a}}'\n return t.strings, [i.value for i in t.interpolations]"),
    ((3, 14), "class C:\n  if g(a): x: h(1) = 1\n  y: int = 2\n return C"),
    ((3, 7), "async def\n x = await g(a)\n return await b, x"),
    ((3, 7), "async def\n async with a as x:\n  g(x)\n return b"),
    ((3, 7), "async def\n async for i in a:\n  if g(i): break\n else:\n  h(1)\n return b"),
    ((3, 7), "async def\n try:\n  async with a, b:\n   await g(1)\n except E:\n  return h(2)"),
    ((3, 7), "async def\n yield g(a)\n async for i in b:\n  yield i\n"),
    ((3, 7), "async def\n return [i async for i in a if await g(i)]"),
]


def source(template):
    start, rest = (
        ("async def", template[len("async def\n") :])
        if template.startswith("async")
        else ("def", " " + template)
    )
    return "%s f(a, b):\n%s\n" % (start, rest)


def code_of(template, nans):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return base.code_of(source(template), nans)


# ---------------------------------------------------------------- changes of code
TAKES_OPERAND = set(getattr(dis, "hasarg", ())) or set(range(dis.HAVE_ARGUMENT, 256))
SIBLINGS = [
    "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT",
    "POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE",
    "JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP",
    "LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_FAST_AND_CLEAR",
    "LOAD_FAST LOAD_CLOSURE LOAD_DEREF LOAD_CLASSDEREF",
    "STORE_FAST DELETE_FAST STORE_DEREF",
    "LOAD_NAME LOAD_GLOBAL LOAD_FROM_DICT_OR_GLOBALS",
    "STORE_NAME STORE_GLOBAL DELETE_NAME DELETE_GLOBAL",
    "BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_STRING",
    "LIST_EXTEND LIST_APPEND SET_UPDATE SET_ADD",
    "DICT_MERGE DICT_UPDATE",
    "POP_TOP NOP PUSH_NULL POP_EXCEPT PUSH_EXC_INFO POP_BLOCK ROT_TWO ROT_THREE DUP_TOP",
    "GET_ITER GET_YIELD_FROM_ITER GET_AITER UNARY_NOT UNARY_NEGATIVE UNARY_INVERT TO_BOOL GET_LEN",
    "END_ASYNC_FOR RERAISE END_FINALLY",
    "LOAD_METHOD LOAD_ATTR",
    "YIELD_VALUE YIELD_FROM RETURN_VALUE",
    "SETUP_FINALLY SETUP_EXCEPT SETUP_WITH SETUP_ASYNC_WITH NOP",
    "CHECK_EXC_MATCH CHECK_EG_MATCH IS_OP",
    "CLEANUP_THROW END_SEND END_FOR POP_ITER NOP",
    "MATCH_SEQUENCE MATCH_MAPPING",
    "MAKE_CELL COPY_FREE_VARS NOP",
    "RETURN_GENERATOR NOP",
    "WITH_EXCEPT_START NOP",
    "BINARY_ADD BINARY_SUBTRACT INPLACE_ADD BINARY_SUBSCR",
]
SHUFFLES = {"RERAISE", "COPY", "SWAP", "POP_EXCEPT", "WITH_EXCEPT_START", "END_ASYNC_FOR", "CALL"}
MOVES = {"CALL", "CALL_METHOD", "CALL_FUNCTION", "COPY", "SWAP", "ROT_N", "LIST_APPEND"}
JUMPS = ("JUMP", "POP_JUMP")
FIELDS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_stacksize")
FLAGS = (0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x80, 0x100, 0x200, 0x4000000)


def siblings():
    found = {}
    for line in SIBLINGS:
        known = [dis.opmap[name] for name in line.split() if name in dis.opmap]
        for one in known:
            found.setdefault(one, []).extend(other for other in known if other != one)
    return found


def places(code):
    """(offset, opcode) of the instructions, caches left out."""
    if VERSION < (3, 11):
        return [(i, code.co_code[i]) for i in range(0, len(code.co_code), 2)]
    return [(one.offset, one.opcode) for one in dis.get_instructions(code)]


def rows_of(table):
    """(begin, length, target, depth and bit) of the rows of an exception table, in code units."""
    out, row, number = [], [], 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            row.append(number)
            number = 0
            if len(row) == 4:
                out.append(row)
                row = []
    return out


def table_of(rows):
    out = bytearray()
    for row in rows:
        for i, number in enumerate(row):
            parts = [number & 63]
            while number > 63:
                number >>= 6
                parts.append(number & 63 | 64)
            if i == 0:
                parts[-1] |= 128
            out.extend(reversed(parts))
    return bytes(out)


def shared(rng, value):
    """A tuple that holds itself twice, level by level; test_shared_references.py has deeper ones in
    files, as CPython walks through each that it makes code of."""
    for _ in range(rng.randint(1, 12)):
        value = (value, value)
    return value


def near(rng, value):
    """A constant that is nearly the same."""
    kind = type(value)
    if kind is not tuple and rng.random() < 0.03:
        return shared(rng, value)
    if kind is tuple and value:
        i = rng.randrange(len(value))
        return value[:i] + (near(rng, value[i]),) + value[i + 1 :]
    if kind is frozenset:
        items = list(value)
        rng.shuffle(items)
        return frozenset(items if rng.random() < 0.7 else items[1:])
    if kind is float and value != value:
        other = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 + rng.randrange(2)))[0]
        return rng.choice((-value, other, float("nan")))
    if kind is complex:
        return rng.choice(
            (-value, complex(value.real, -value.imag), complex(-value.real, value.imag))
        )
    if kind in (int, float, bool):
        near_ones = [1, True, 1.0, 0, False, 0.0, -0.0, -1, 2, None]
        return rng.choice([one for one in near_ones if repr(one) != repr(value)])
    if kind is str:
        return rng.choice((value + "q", value.encode(), "k", "a"))
    if kind is bytes:
        return value.decode("latin-1")
    return rng.choice((None, 0, False, Ellipsis, (), "k"))


def changed(rng, code):
    """(what was done, `code` after one change of it or of a function in it), or None."""
    inner = [i for i, one in enumerate(code.co_consts) if isinstance(one, types.CodeType)]
    if inner and rng.random() < 0.5:
        i = rng.choice(inner)
        found = changed(rng, code.co_consts[i])
        if found is None:
            return None
        consts = code.co_consts[:i] + (found[1],) + code.co_consts[i + 1 :]
        return found[0], replace(code, co_consts=consts)
    kind = rng.choice(KINDS)
    return kind(rng, code)


def caches():
    """{opcode: code units behind it}"""
    import opcode

    counts = getattr(opcode, "_inline_cache_entries", {})
    named = counts.items() if hasattr(counts, "items") else enumerate(counts)  # 3.15: frozendict
    return {dis.opmap.get(one, one): count for one, count in named}


def patched(code, offset, *values, counts=caches()):  # noqa: B008
    raw = bytearray(code.co_code)
    raw[offset : offset + len(values)] = bytes(values)
    at = 0
    while at < len(raw):
        at += 2 + 2 * counts.get(raw[at], 0)
    if at > len(raw):
        # CPython itself writes behind the end of such code when it makes the object.
        raise ValueError("the code ends in the middle of an instruction")
    return replace(code, co_code=bytes(raw))


def other_operand(rng, code):
    found = [one for one in places(code) if one[1] in TAKES_OPERAND]
    if not found:
        return None
    offset, op = rng.choice(found)
    old = code.co_code[offset + 1]
    new = rng.choice((old + 1, old - 1, old ^ 1, old + 2, rng.randrange(6))) & 255
    return "operand %d of %s at %d" % (new, dis.opname[op], offset), patched(code, offset + 1, new)


def other_shuffle(rng, code):
    found = [one for one in places(code) if dis.opname[one[1]] in SHUFFLES]
    if not found:
        return None
    offset, op = rng.choice(found)
    new = rng.choice((0, 1, 2, 3, 4, 5, 255))
    return "operand %d of %s at %d" % (new, dis.opname[op], offset), patched(code, offset + 1, new)


def other_operation(rng, code, known=siblings()):  # noqa: B008
    found = [one for one in places(code) if one[1] in known]
    if not found:
        return None
    op = rng.choice(sorted({op for _, op in found}))  # rare ones get their share
    offset = rng.choice([at for at, one in found if one == op])
    new = rng.choice(known[op])
    operand = code.co_code[offset + 1] if new in TAKES_OPERAND else 0
    what = "%s becomes %s at %d" % (dis.opname[op], dis.opname[new], offset)
    return what, patched(code, offset, new, operand)


def any_operation(rng, code):
    offset, op = rng.choice(places(code))
    names = [
        n
        for n, o in dis.opmap.items()
        if o < 256 and not n.startswith(("INSTRUMENTED", "<", "ENTER_EXECUTOR", "RESERVED"))
    ]
    name = rng.choice(sorted(names))
    return "%s becomes %s at %d" % (dis.opname[op], name, offset), patched(
        code, offset, dis.opmap[name]
    )


def neighbours(rng, code):
    found = places(code)
    i = rng.randrange(len(found))
    if i + 1 == len(found) or found[i + 1][0] != found[i][0] + 2:
        return None
    at, raw = found[i][0], code.co_code
    what = "%s and %s at %d exchanged" % (dis.opname[found[i][1]], dis.opname[found[i + 1][1]], at)
    return what, patched(code, at, raw[at + 2], raw[at + 3], raw[at], raw[at + 1])


def without(rng, code):
    offset, op = rng.choice(places(code))
    return "%s at %d dropped" % (dis.opname[op], offset), patched(code, offset, dis.opmap["NOP"], 0)


JUMPS_BY = set(dis.hasjrel) | set(getattr(dis, "hasjump", ()))
STEP = 2 if VERSION < (3, 10) else 1  # what jumps count: bytes or code units


def inserted(rng, code, counts=caches()):  # noqa: B008
    """EXTENDED_ARG 0 or NOP before an instruction: to the interpreter, which looks at some units
    itself, that is another unit there. Jumps to the instruction go to what is inserted or, past a
    NOP, to the instruction.
    """
    found = places(code)
    op = rng.choice(sorted({op for _, op in found}))  # rare ones get their share
    at = rng.choice([at for at, one in found if one == op]) // 2
    name = rng.choice(("EXTENDED_ARG", "NOP"))
    skips = name == "NOP" and rng.random() < 0.5

    def moved(unit, target=False):
        return unit + (unit > at or (unit == at and not (target and not skips)))

    raw = bytearray(code.co_code)
    for offset, one in found:
        if one not in JUMPS_BY and one not in dis.hasjabs:
            continue
        if offset and raw[offset - 2] == dis.EXTENDED_ARG:
            return None
        unit, old = offset // 2, raw[offset + 1] // STEP
        if one in dis.hasjabs:
            new = moved(old, True)
        else:
            behind = unit + 1 + counts.get(one, 0)
            sign = -1 if "BACKWARD" in dis.opname[one] else 1
            new = sign * (moved(behind + sign * old, True) - moved(unit) - (behind - unit))
        if not 0 <= new * STEP < 256:
            return None
        raw[offset + 1] = new * STEP
    raw[2 * at : 2 * at] = bytes((dis.opmap[name], 0))
    changes = {"co_code": bytes(raw)}
    rows = rows_of(getattr(code, "co_exceptiontable", b""))
    if rows:
        ends = [(moved(row[0], True), moved(row[0] + row[1], True)) for row in rows]
        rows = [
            [begin, end - begin, moved(row[2], True), row[3]]
            for (begin, end), row in zip(ends, rows)
        ]
        changes["co_exceptiontable"] = table_of(rows)
    return "%s before %s at %d" % (name, dis.opname[op], 2 * at), replace(code, **changes)


def other_depth_and_way(rng, code):
    """What a call or a move takes, and the way from there: where ways meet, their stacks differ."""
    moves = [one for one in places(code) if dis.opname[one[1]] in MOVES]
    jumps = [one for one in places(code) if dis.opname[one[1]].startswith(JUMPS)]
    if not moves or not jumps:
        return None
    (at, move), (jump_at, jump) = rng.choice(moves), rng.choice(jumps)
    old = code.co_code[at + 1]
    new = max(0, old + rng.choice((1, -1, -1, 2, -2))) & 255
    other = patched(code, at + 1, new)
    what = "operand %d of %s at %d; " % (new, dis.opname[move], at)
    before = at - 4  # 3.11: a call begins with a PRECALL of the same operand
    if dis.opname[move] == "CALL" and dis.opname[code.co_code[before]] == "PRECALL":
        other = patched(other, before + 1, new)
    if rng.random() < 0.6:
        what += "%s at %d dropped" % (dis.opname[jump], jump_at)
        return what, patched(other, jump_at, dis.opmap["NOP"], 0)
    to = max(0, code.co_code[jump_at + 1] + rng.choice((1, -1, 2, -2))) & 255
    what += "operand %d of %s at %d" % (to, dis.opname[jump], jump_at)
    return what, patched(other, jump_at + 1, to)


def other_row(rng, code):
    rows = rows_of(getattr(code, "co_exceptiontable", b""))
    if not rows:
        return None
    i, kind = rng.randrange(len(rows)), rng.randrange(8)
    row, step = rows[i], rng.choice((1, -1, 2, -2))
    if kind in (0, 1):
        what, row[3] = "bit for the position flipped", row[3] ^ 1
    elif kind == 2:
        what, row[3] = "depth", max(0, row[3] + 2 * rng.choice((1, -1)))
    elif kind == 3:
        what, row[0], row[1] = "begin", max(0, row[0] + step), max(0, row[1] - step)
    elif kind == 4:
        what, row[1] = "end", max(0, row[1] + step)
    elif kind == 5:
        what, row[2] = "target", max(0, row[2] + step)
    elif kind == 6:
        what = "dropped"
        del rows[i]
    else:
        j = rng.randrange(len(rows))
        what, rows[i][2], rows[j][2] = "targets exchanged", rows[j][2], rows[i][2]
    return "row %d: %s" % (i, what), replace(code, co_exceptiontable=table_of(rows))


def other_constant(rng, code):
    consts = list(code.co_consts)
    found = [i for i, one in enumerate(consts) if not isinstance(one, types.CodeType)]
    if not found:
        return None
    i, j = rng.choice(found), rng.choice(found)
    if rng.random() < 0.3:
        consts[i], consts[j] = consts[j], consts[i]
        what = "constants %d and %d exchanged" % (i, j)
    else:
        consts[i] = near(rng, consts[i])
        what = "constant %r for %r" % (consts[i], code.co_consts[i])
    return what, replace(code, co_consts=tuple(consts))


def other_name(rng, code):
    field = rng.choice(("co_names", "co_varnames", "co_cellvars", "co_freevars"))
    names = list(getattr(code, field))
    if not names:
        return None
    i, j = rng.randrange(len(names)), rng.randrange(len(names))
    if rng.random() < 0.6:
        names[i], names[j] = names[j], names[i]
    else:
        names[i] = rng.choice(("a", "b", "x", "y", "g", "h", "q", "p", names[i] + "_"))
    return "%s %s" % (field, names), replace(code, **{field: tuple(names)})


def other_field(rng, code):
    if rng.random() < 0.5:
        bit = rng.choice(FLAGS)
        return "flag %#x" % bit, replace(code, co_flags=code.co_flags ^ bit)
    field = rng.choice([one for one in FIELDS if hasattr(code, one)])
    value = max(0, getattr(code, field) + rng.choice((1, -1)))
    return "%s %d" % (field, value), replace(code, **{field: value})


KINDS = [other_operand] * 3 + [other_shuffle] * 2 + [other_operation] * 4 + [any_operation]
KINDS += [neighbours, without, without] + [other_row] * 3 + [other_constant] * 2
KINDS += [other_name] * 2 + [other_field]
KINDS += [other_depth_and_way] * 2
KINDS += [inserted] * 4


# ---------------------------------------------------------------- worlds
class World(base.World):
    """Also awaits, and gives classes what they need."""

    def __init__(self, seed, bad):
        super().__init__(seed, bad)
        note, answer, things = self.note, self.answer, self.things

        def paused(thing):
            note("await", thing)
            note("sent", (yield 1))
            return answer()

        def noting(what):
            return (
                lambda thing, *rest: note(what, thing, [one for one in rest if one is None])
                or things[0]
            )

        left = [3]

        def following(thing):
            note("anext", thing)
            left[0] -= 1
            if left[0] < 0:
                raise StopAsyncIteration
            return things[left[0] % 3]

        self.kind.__await__ = paused
        self.kind.__aenter__, self.kind.__aexit__ = noting("aenter"), noting("aexit")
        self.kind.__aiter__, self.kind.__anext__ = noting("aiter"), following

        def imported(name, names, given, wanted, level):
            note("import", name, wanted, level)
            return things[0]

        self.kind.__repr__ = lambda thing: note("repr", thing) or "R"
        self.globals["T"] = TypeError
        self.globals["__name__"] = "m"
        self.globals["__builtins__"] = {
            "__build_class__": __build_class__,
            "__import__": imported,
            "object": object,
            "int": int,
            "str": str,
        }

    def shown(self, value, depth=0):
        if isinstance(value, type) and value is not self.kind and depth < 3:
            kept = sorted(
                (name, self.shown(one, depth + 1))
                for name, one in vars(value).items()
                if not name.startswith("__")
            )
            return "class", value.__name__, [one.__name__ for one in value.__bases__], kept
        return super().shown(value, depth)


def drive(world, coroutine, seed):
    """send and throw until the coroutine ends."""
    rng = random.Random(seed * 11 + 5)
    for _ in range(12):
        try:
            if rng.random() < 0.2:
                got = coroutine.throw(base.base.E())
            else:
                got = coroutine.send(None)
        except base.base.Long:
            raise
        except BaseException as error:
            world.log.append([base.chain(error), world.shown(getattr(error, "value", None))])
            return
        world.log.append(["paused", world.shown(got)])
    coroutine.close()


def behaviour(code, seed, bad=0):
    """(log, number of effects) of one run."""
    world = World(seed, bad)
    try:
        result = types.FunctionType(code, world.globals)(*world.things[1:])
        kind = type(result)
        if kind is types.GeneratorType:
            base.drive(world, result, seed)
        elif kind is types.CoroutineType:
            drive(world, result, seed)
        elif kind is types.AsyncGeneratorType:
            for _ in range(4):
                drive(world, result.asend(None), seed)
        else:
            base.finished(world, result)
    except base.base.Long:
        world.log.append("long")
    except Exception as error:
        world.log.append(["raised", base.chain(error)])
    return world.log, world.effects


def difference(codes):
    """Where the two behave differently; '' where they do not."""
    for code in codes:
        for _ in range(WARM):
            behaviour(code, 0)
    for seed in range(WORLDS):
        effects = behaviour(codes[0], seed)[1]
        for bad in range(min(effects, EFFECTS) + 1) if seed == 0 else (0,):
            one, other = behaviour(codes[0], seed, bad)[0], behaviour(codes[1], seed, bad)[0]
            if one != other:
                return "world %d, exception at effect %d:\n  %s\n  %s" % (seed, bad, one, other)
    return ""


# ---------------------------------------------------------------- pairs
def pair(seed, number):
    """(what was done to it, the codes) of the pair of that number; None where there is none."""
    rng = random.Random("hostile %d/%d" % (seed, number))
    nans = {"NaN0": float("nan"), "NaN1": float("nan")}
    known = [text for since, text in TEMPLATES if since <= VERSION]
    text = rng.choice(known)
    one = code_of(text, nans)
    if rng.random() < 0.4:  # room for what no compiler leaves on the stack
        one = replace(one, co_stacksize=one.co_stacksize + 3)
    other, done = one, []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            found = changed(rng, other)
        except (ValueError, TypeError, SystemError, OverflowError, IndexError):
            continue  # CPython or the table refuses it
        if found is not None:
            done.append(found[0])
            other = found[1]
    return ("%s\n%s" % (source(text), "; ".join(done)), [one, other]) if done else None


def accepted(codes):
    """The verdict, and what the proof ignores or why there is none."""
    try:
        return _core.compare(codes[0], codes[1], True, decompiled=False)
    except _core.DecompilationError as error:
        return "corrupt", str(error)


def run_pairs(pairs):
    """{number: what is wrong} of accepted pairs, run in child processes that may die."""
    wrong, todo = {}, list(pairs)
    while todo:
        said, status = run_in_child(todo)
        for (number, _), what in zip(todo, said):
            if what:
                wrong[number] = what
        if len(said) < len(todo):
            # Whether it was this one, or an earlier one that wrote over memory: each alone.
            for one in todo[: len(said) + 1]:
                said_alone, status = run_in_child([one])
                if not said_alone:
                    wrong[one[0]] = "the process that runs it dies: status %d" % status
        todo = todo[len(said) + 1 :]
    return wrong


def run_in_child(todo):
    """(what is wrong with each pair as far as the process came, its exit status)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            with os.fdopen(writer, "w") as out:
                for _, codes in todo:
                    signal.alarm(SECONDS)
                    out.write(repr(difference(codes)) + "\n")
                    out.flush()
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as lines:
        said = [eval(line) for line in lines if line.endswith("\n")]
    return said, os.waitpid(child, 0)[1]


def run(seed, first, count, batch=200):
    """(how often each verdict was given, {number: what is wrong})."""
    verdicts, wrong, waiting = {}, {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + count):
            drawn = pair(seed, number)
            if drawn is not None:
                codes = drawn[1][::-1] if number % 2 else drawn[1]
                verdict = accepted(codes)[0]
                verdicts[verdict] = verdicts.get(verdict, 0) + 1
                if verdict in PROVEN:
                    waiting.append((number, codes))
            if len(waiting) == batch or (waiting and number == first + count - 1):
                wrong.update(run_pairs(waiting))
                waiting = []
    return verdicts, wrong


def of_wrong(seed, number):
    """The verdict of a wrong pair, and what was done to make it."""
    done, codes = pair(seed, number)
    return " %s\n%s" % (accepted(codes[::-1] if number % 2 else codes), done)


if __name__ == "__main__":
    sys.exit(base.main(run, __doc__, " hostile,", of_wrong))
