"""depyf._core: live code objects in, tuples out, no leak, no crash."""

import enum
import dis
import gc
import io
import re
import sys
import time
import tracemalloc
import types

import pytest

from depyf import _core
from depyf.code_edit import replace


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    pass


def returns_constant(value):
    """A code object that returns `value`, which need not be a literal."""

    def function():
        return "placeholder"

    code = function.__code__
    consts = tuple(value if c == "placeholder" else c for c in code.co_consts)
    return replace(code, co_consts=consts)


def nested(depth):
    value = ()
    for _ in range(depth):
        value = (value,)
    return value


def shared(depth):
    value = ()
    for _ in range(depth):
        value = (value, value)
    return value


NOT_LITERALS = [
    sys,
    len,
    {},
    [],
    set(),
    int,
    range(3),
    Colour.RED,
    Text("x"),
    (1, sys),
    ((Colour.RED,), 2),
    frozenset([Text("x")]),
    slice(sys, None),
    nested(200),
    shared(20),
    object(),
]
LITERALS = [
    None,
    True,
    False,
    0,
    -1,
    1 << 70,
    -(1 << 70),
    2.5,
    -0.0,
    1j,
    complex(-0.0, 2),
    "text",
    "\ud800 a lone surrogate",
    b"\x00\xff",
    ...,
    (),
    (1, (2, "x"), None),
]


@pytest.mark.parametrize("value", NOT_LITERALS, ids=lambda v: type(v).__name__)
def test_what_is_no_literal_is_kept_by_identity(value):
    source, _, constants, _ = _core.decompile(returns_constant(value), name="f")
    ((placeholder, kept),) = [(n, c) for n, c in constants.items() if c is value]
    assert kept is value
    assert placeholder in source


@pytest.mark.parametrize("value", LITERALS, ids=repr)
def test_literals_are_printed(value):
    source, _, constants, _ = _core.decompile(returns_constant(value), name="f")
    assert not constants
    namespace = {}
    exec(source, namespace)
    result = namespace["f"]()
    assert (type(result), repr(result)) == (type(value), repr(value))


@pytest.mark.skipif(sys.version_info < (3, 8), reason="code.replace came with 3.8")
def test_code_rebuilt_from_its_bytes_has_its_live_objects():
    def function(x):
        return x, "first", 5, "second"

    one, other = object(), sys
    held = {"first": one, "second": other}
    code = function.__code__
    code = replace(code, co_consts=tuple(held.get(c, c) for c in code.co_consts))
    source, _, constants, _ = _core.decompile(code, name="f", ladder=6)
    assert "marshal" in source
    namespace = dict(constants)
    exec(source, namespace)
    assert namespace["f"](1) == (1, one, 5, other)


def test_a_frozenset_is_a_literal_only_behind_in():
    def function(x):
        return x in {1, 2}

    code = function.__code__
    assert any(type(c) is frozenset for c in code.co_consts)
    source, _, constants, _ = _core.decompile(code)
    assert "x in {1, 2}" in source and not constants
    source, _, constants, _ = _core.decompile(code, set_literals=False)
    assert list(constants.values()) == [frozenset([1, 2])]


def test_placeholders_avoid_names_that_the_code_uses():
    def function(__const_3__):
        return __const_3__, __const_7__, "placeholder"  # noqa: F821

    code = function.__code__
    code = replace(code, co_consts=tuple(sys if c == "placeholder" else c for c in code.co_consts))
    source, _, constants, _ = _core.decompile(code)
    assert list(constants) == ["__const_8__"]
    assert "__const_8__" in source


def test_nesting_costs_no_stack():
    code = returns_constant(None)
    for _ in range(3000):
        code = replace(returns_constant(None), co_consts=(None, code))
    verdict, _ = _core.compare(code, code)
    assert verdict not in ("unproven", "different")
    # Freed level by level: CPython's own deallocation of such a chain is recursive.
    while code is not None:
        code = next((c for c in code.co_consts if isinstance(c, types.CodeType)), None)


@pytest.mark.parametrize(
    "value", [None, 1, "text", len, returns_constant], ids=lambda v: type(v).__name__
)
def test_other_input_is_a_type_error(value):
    for call in (_core.decompile, lambda v: _core.compare(v, v)):
        with pytest.raises(TypeError, match="expected a code object or the bytes of a .pyc"):
            call(value)


@pytest.mark.parametrize("data", [b"", b"\x00", b"not a pyc file at all", b"\xa7\x0d\x0d\x0a" * 5])
def test_bytes_that_are_no_pyc_are_refused(data):
    with pytest.raises(_core.DecompilationError):
        _core.decompile(data)


def test_truncated_bytecode_is_refused_or_marked():
    def function(a):
        return [a.b(x) for x in range(10)]

    code = function.__code__
    # Cut between instructions: CPython 3.11 itself writes past the end of co_code where an inline
    # cache is cut off (deopt_code).
    for length in [instruction.offset for instruction in dis.get_instructions(code)]:
        broken = replace(code, co_code=code.co_code[:length])
        try:
            source, _, _, diagnostics = _core.decompile(broken)
        except _core.DecompilationError as error:
            assert str(error)
        else:
            compile(source, "<decompiled>", "exec")


def test_indentation_has_bounds():
    for indentation in (0, -1, 17):
        with pytest.raises(ValueError, match="indentation is"):
            _core.decompile(returns_constant(1), indentation)


def test_error_type_is_public_and_no_base_error():
    import depyf

    assert depyf.DecompilationError is _core.DecompilationError
    assert issubclass(depyf.DecompilationError, Exception)
    assert repr(depyf.DecompilationError) == "<class 'depyf.DecompilationError'>"


def test_no_leak():
    code = returns_constant((sys, {}))
    marker = object()
    other = returns_constant(marker)
    for _ in range(20):  # caches fill
        _core.decompile(code, name="f")
        _core.compare(code, other)
    references = sys.getrefcount(marker), sys.getrefcount(code)
    rounds = []
    tracemalloc.start()
    try:
        for _ in range(5):
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(100):
                _core.decompile(code, name="f")
                _core.compare(code, other)
                try:
                    _core.decompile(b"broken")
                except _core.DecompilationError:
                    pass
            gc.collect()
            rounds.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert min(rounds) < 2000, (
        rounds
    )  # a leak is in each of them, what the rest of the process does is not
    assert (sys.getrefcount(marker), sys.getrefcount(code)) == references


def many_kinds(x, *others, key=2):
    """All kinds of operands: constants, names, variables, cells, jumps, handlers, prefixes."""
    import os.path as place

    try:
        for y in others:
            if x.attribute > key and y is not None:
                x = {y: [key, lambda: x], "b": b"b", 1.5: place.join(y, sep=y)}
    except (ValueError, TypeError) as error:
        raise RuntimeError(error) from None
    with x as (first, *rest):
        return f"{first!r:>{key}}", [each for each in rest if each in x]


def expected_listing(code):
    """(line where one begins, offset, opcode, operand) as dis tells."""
    rows, prefix, line = [], None, None
    for each in dis.get_instructions(code):
        if each.opname == "EXTENDED_ARG":
            prefix = each if prefix is None else prefix
            begun = prefix
            continue
        begun, prefix = prefix or each, None
        at = begun.starts_line
        if sys.version_info >= (3, 13):
            at = begun.line_number if begun.starts_line else None
        shown = at if at is not None and at != line else None
        line = line if at is None else at
        rows.append((shown, begun.offset, each.opname, each.arg))
    return rows


def test_a_listing_has_what_dis_has():
    long = "\n".join(["def long(a):"] + ["    a.b%d()" % i for i in range(300)] + ["    return a"])
    scope = {}
    exec(long, scope)
    for function in (many_kinds, scope["long"]):
        code = function.__code__
        text = _core.listing(code).split("\nDisassembly of ")[0]
        found = []
        for row in text.splitlines():
            match = re.match(
                r" *(\d+)?(?:  >>|    )? +(\d+) ([A-Z]\w+) *(\d+)?(?: \((.*)\))?$", row
            )
            if match:
                line, offset, name, operand, _ = match.groups()
                found.append(
                    (line and int(line), int(offset), name, int(operand) if operand else None)
                )
        expected = expected_listing(code)
        assert [row[1:3] for row in found] == [row[1:3] for row in expected]
        assert [row[3] for row in found if row[3]] == [row[3] for row in expected if row[3]]
        assert [row[0] for row in found if row[0]] == [row[0] for row in expected if row[0]]
    text = _core.listing(many_kinds.__code__)
    for shown in ("(x", "('b')", "b'b'", "1.5", "(>", "RuntimeError", "(repr", "(to "):
        assert shown in text, (shown, text)


def test_a_listing_names_objects_by_type_and_id_and_shows_long_texts():
    thing = {}
    assert "<dict at %#x>" % id(thing) in _core.listing(returns_constant(thing))
    assert "long " * 500 in _core.listing(returns_constant("long " * 500))


def test_a_listing_is_made_where_dis_is_slow():
    best = {}
    for name, call in (
        ("listing", lambda: _core.listing(many_kinds.__code__)),
        ("dis", lambda: dis.dis(many_kinds.__code__, file=io.StringIO())),
    ):
        times = []
        for _ in range(5):
            start = time.process_time()
            for _ in range(10):
                call()
            times.append(time.process_time() - start)
        best[name] = min(times)
    assert best["listing"] * 4 < best["dis"], best
