"""The frame that torch fills (docs/frame_contract.md), and code objects taken apart and put
together.
"""

import dis
import sys
import types

import pytest

from depyf.assembler import Assembly, Instruction, with_locals
from depyf.frame_contract import violation
from depyf.recompile import recompile

NOP = dis.opmap["NOP"]


def many(x, *args, key=1, **kwargs):
    unused_2 = total = key
    for i in range(3):
        try:
            total += [x + i for _ in args][i] / kwargs["by"]
        except (IndexError, KeyError) as error:
            total += len(str(error))
        finally:
            total = total if i else -total
    unused_2 = total
    return unused_2, (lambda: (x, total))()


def fewer(x, *args, key=1, **kwargs):
    return x


def other(y, *args, key=1, **kwargs):
    return y


def generator(x, *args, key=1, **kwargs):
    yield x


def no_keywords(x, *args, key=1):
    return x


def cells(x, *args, key=1, **kwargs):
    return lambda: key


@pytest.mark.parametrize(
    "function, words",
    [
        (fewer, "locals are"),
        (other, "arguments are"),
        (generator, "CO_GENERATOR is set"),
        (no_keywords, "CO_VARKEYWORDS is missing"),
        (cells, "co_cellvars is"),
    ],
)
def test_another_frame_is_told(function, words):
    def original(x, *args, key=1, **kwargs):
        a = b = x
        return a, b

    assert words in violation(original.__code__, function.__code__)
    assert violation(original.__code__, original.__code__) is None


def test_the_recompiled_code_has_the_locals_of_the_reference():
    def reference(x, y):
        first = second = third = x
        return first + second + third + y

    def transformed(x, y):
        third = x
        return third

    result = recompile(transformed.__code__, reference=reference.__code__)
    assert result.proven
    assert result.code.co_varnames == reference.__code__.co_varnames
    assert types.FunctionType(result.code, {})(3, 4) == 3


def instructions(code):
    """Each instruction but fillers, with where it jumps to, its place in the source and its
    handlers.
    """
    lines, line, found, index = dict(dis.findlinestarts(code)), None, [], {}
    places = list(code.co_positions()) if sys.version_info >= (3, 11) else None
    for one in dis.get_instructions(code):
        line = lines.get(one.offset, line)
        index[one.offset] = len(found)
        if one.opname not in ("NOP", "EXTENDED_ARG", "CACHE"):
            found.append((one, places[one.offset // 2] if places else line))
    jumps = set(dis.hasjabs) | set(dis.hasjrel)
    rows = [
        (one.opname, index[one.argval] if one.opcode in jumps else one.argval, place)
        for one, place in found
    ]
    if sys.version_info >= (3, 11):
        for one in dis._parse_exception_table(code):
            end = index.get(one.end, len(found))
            rows.append((index[one.start], end, index[one.target], one.depth, one.lasti))
    return rows


@pytest.mark.parametrize("count", [1, 3, 20, 300])
def test_what_is_inserted_moves_jumps_handlers_and_lines(count):
    before = Assembly(many.__code__).assemble()
    assembly = Assembly(many.__code__)
    fillers = [Instruction(NOP) for _ in range(count)]
    assembly.rewrite(lambda one: [one] + fillers * one.name.startswith(("LOAD_F", "STORE_F")))
    after = assembly.assemble()
    assert len(after.co_code) > len(before.co_code) + count
    assert instructions(after) == instructions(before)
    function = types.FunctionType(after, globals(), argdefs=(), closure=None)
    function.__kwdefaults__ = {"key": 1}
    for arguments, keywords in (((1,), {}), ((2, 3, 4), {"by": 2}), ((0.5, 1, 2, 3), {"key": 7})):
        assert function(*arguments, **keywords) == many(*arguments, **keywords)


@pytest.mark.parametrize("count", [0, 5, 300])
def test_more_locals_leave_the_function_as_it_is(count):
    code = many.__code__
    arguments = code.co_varnames[:4]
    names = arguments + tuple("local_%d" % i for i in range(count)) + ("total", "unused_2")
    padded = with_locals(code, names)
    assert padded.co_varnames[: len(names)] == names
    assert set(padded.co_varnames) >= set(code.co_varnames)
    function = types.FunctionType(padded, globals())
    function.__kwdefaults__ = {"key": 1}
    for arguments, keywords in (((1,), {}), ((2, 3, 4), {"by": 2})):
        assert function(*arguments, **keywords) == many(*arguments, **keywords)
