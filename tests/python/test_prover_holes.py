"""What the prover once accepted although a program tells the two apart, and what it refused for
nothing.
"""

import dis
import functools
import importlib.util
import marshal
import math
import os
import struct
import subprocess
import sys
import types
import warnings

import depyf
import pytest
import pythons
from depyf import _core
from depyf.code_edit import replace
from depyf.recompile import recompile

PROVEN = ("identical", "exact", "equivalent")


def function(source, **objects):
    """The code of `f` in `source`, with `objects` where its constants hold their names."""
    module = compile(source, "<test>", "exec")
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == "f")

    def placed(one):
        if type(one) is tuple:
            return tuple(map(placed, one))
        return objects.get(one, one) if type(one) is str else one

    return replace(code, co_consts=tuple(map(placed, code.co_consts)))


def run(code, *arguments, **names):
    return types.FunctionType(code, dict(names, __builtins__=__builtins__))(*arguments)


def accepted(a, b, **options):
    return _core.compare(a, b, **options)[0] in PROVEN


# ---------------------------------------------------------------- NaN
ONE, OTHER = float("nan"), float("nan")
PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
LIST = "def f(): return ['A', 'B']"
TUPLES = "def f(): return [('A', 1), ('B', 1)]"


@pytest.mark.parametrize("source", [LIST, TUPLES])
def test_one_nan_is_not_two(source):
    once, twice = function(source, A=ONE, B=ONE), function(source, A=ONE, B=OTHER)
    assert not accepted(once, twice) and not accepted(twice, once)
    assert accepted(once, function(source, A=OTHER, B=OTHER))


@pytest.mark.parametrize("other", [-ONE, PAYLOAD, math.inf])
def test_sign_and_payload_of_a_nan_count(other):
    assert not accepted(function(LIST, A=ONE), function(LIST, A=other))


def test_a_nan_that_both_know_stands_for_itself():
    assert not accepted(function(LIST, A=ONE, B=OTHER), function(LIST, A=OTHER, B=ONE))


def test_nans_are_told_apart_where_the_ways_of_a_choice_meet():
    third, fourth = float("nan"), float("nan")
    chosen = function(
        "def f(c):\n    x = 'A' if c else 'B'\n    return [x, 'A', -x]", A=ONE, B=OTHER
    )
    text = "def f(c):\n    x = 'A' if c else 'B'\n    y = '%s'\n    return [x, y, -x]"
    assert accepted(chosen, function(text % "A", A=third, B=fourth))
    assert not accepted(chosen, function(text % "B", A=third, B=fourth))
    assert not accepted(chosen, function(text % "A", A=third, B=third))


def test_only_the_first_of_two_stores_to_one_local_counts_for_nothing():
    once = function("def f(p, q):\n    x = q\n    return g(x, x)")
    for text, same in (
        ("x, x = p, q", True),
        ("x, x = q, p", False),
        ("x = p; g(); x = q", False),
        ("x = p; del x; x = q", False),
        ("x = p; y = x; x = q; x = y", False),
    ):
        twice = function("def f(p, q):\n    %s\n    return g(x, x)" % text)
        for found in (depyf.compare(once, twice), depyf.compare(twice, once)):
            assert (found.verdict in PROVEN) is same, (text, found)
            assert not same or "freed" in found.ignored


def test_complex_nans_are_compared():
    a = function("def f(): return 'A'", A=complex(ONE, 1))
    assert accepted(a, function("def f(): return 'A'", A=complex(OTHER, 1)))
    assert not accepted(a, function("def f(): return 'A'", A=complex(1, ONE)))


@pytest.mark.parametrize("value", [ONE, complex(ONE, 1), (ONE, 1)])
def test_recompiled_code_holds_the_very_nan(value):
    code = function("def f(): return ['A', 'A', 'B']", A=value, B=OTHER)
    result = recompile(code)
    assert result.proven, result.detail
    first, second, third = run(result.code)
    assert first is value and second is value and third is OTHER


# ---------------------------------------------------------------- sets
ORDERS = [
    ("def f(): return [i for i in {8, 0}]", "def f(): return [i for i in {0, 8}]"),
    ("def f(): return list({8, 0})", "def f(): return list({0, 8})"),
    ("def f(): return list({*(8, 0, 16)})", "def f(): return list({*(0, 8, 16)})"),
]


@pytest.mark.parametrize("a, b", ORDERS)
def test_the_order_of_insertion_into_a_set_counts(a, b):
    assert run(function(a)) != run(function(b))
    assert not accepted(function(a), function(b))


def test_what_is_only_searched_has_no_order():
    a, b = "def f(x): return x in {8, 0, 1}", "def f(x): return x in {0, 1, 8}"
    assert accepted(function(a), function(b))


@pytest.mark.parametrize("shown", ["{0, 17, 2, 3, 4}", "{*(0, 17, 2, 3, 4)}", "{8, 0, 16}"])
def test_a_set_keeps_its_order_through_the_decompiler(shown):
    code = function("def f(): return list(%s)" % shown)
    result = recompile(code)
    assert result.proven and run(result.code) == run(code), result.source


def test_items_one_by_one_are_not_an_update_with_a_frozenset():
    a, b = "def f(): return list({0, 17, 2, 3, 4})", "def f(): return list({*(0, 17, 2, 3, 4)})"
    one, other = function(a), function(b)
    assert accepted(one, other) <= (run(one) == run(other))


# ---------------------------------------------------------------- who sees locals
TEMPORARY = "def f(g):\n tmp_1 = g()\n __compiled_fn_0\n return %s\n"
DROPPED = "def f(g):\n g()\n __compiled_fn_0\n return %s\n"
LOOKS = ["locals()", "vars()", "dir()", "eval('tmp_1')", "b.locals()", "sys._getframe().f_locals"]


@pytest.mark.parametrize("look", LOOKS + ["getattr(b, 'locals')()"])
@pytest.mark.parametrize("dynamo", [True, False])
def test_a_local_stays_where_the_code_looks_at_its_locals(look, dynamo):
    a, b = function(TEMPORARY % look), function(DROPPED % look)
    assert not accepted(a, b, dynamo=dynamo) and not accepted(b, a, dynamo=dynamo)


def test_a_local_stays_where_an_alias_of_locals_may_be_called():
    a = "def f(g):\n __temp_1 = g()\n h = look()\n return h, __temp_1\n"
    one, other = function(a), function(a.replace("__temp_1", "t"))
    assert not depyf.compare(one, other)


def test_recompile_knows_an_alias_in_the_globals():
    code = function("def f(g):\n tmp_1 = g()\n __compiled_fn_0\n return sorted(look())\n")
    scope = {"look": locals, "__compiled_fn_0": print}
    result = recompile(code, dynamo=True, scope=scope)
    names = run(result.code or code, int, **scope)
    assert names == run(code, int, **scope) == ["g", "tmp_1"]


def test_a_local_of_the_program_is_not_torchs_temporary():
    code = function("def f(g, r):\n tmp_1 = g()\n __compiled_fn_0\n return r()\n")
    text = recompile(code, dynamo=True, own_locals=("tmp_1",)).source
    assert "tmp_1 = " in text


@pytest.mark.parametrize("look", LOOKS)
def test_a_literal_in_a_temporary_stays_where_the_code_looks_at_its_locals(look):
    a = function("def f(g):\n tmp_1 = 7\n g(tmp_1)\n __compiled_fn_0\n return %s\n" % look)
    b = function("def f(g):\n g(7)\n __compiled_fn_0\n return %s\n" % look)
    assert not accepted(a, b, dynamo=True) and not accepted(b, a, dynamo=True)


def test_a_literal_in_a_temporary_is_the_literal():
    text = "def f(g):\n __compiled_fn_0\n tmp_1 = %s\n g()\n return g[tmp_1]\n"
    result = recompile(function(text % 7), dynamo=True)
    assert result.proven and "g[7]" in result.source and "= 7" not in result.source
    # not what is made anew by each use, and not a NaN
    assert not accepted(function(text % "[]"), function(text.replace("g[tmp_1]", "g[[]]") % 7))
    other = function("def f(g):\n __compiled_fn_0\n g()\n return g[8]\n")
    assert not accepted(function(text % 7), other, dynamo=True)


def test_the_readable_source_has_the_first_line_of_a_docstring():
    rows = "\n".join("    row %d" % i for i in range(9))
    code = function(
        'def f(x):\n    """All about f.\n\n%s\n    """\n    __compiled_fn_0\n    return x, "row"\n'
        % rows
    )
    result = recompile(code, dynamo=True)
    assert result.proven and result.code.co_consts[0] == code.co_consts[0]
    assert '"""All about f. ..."""' in result.source and "row 3" not in result.source
    only = function('def f(x):\n    """All about f.\n\n    More.\n    """\n')
    result = recompile(only, dynamo=True)
    assert result.proven and "\n    return None\n" in result.source
    assert "More." in recompile(only).source


def test_names_of_locals_that_nobody_sees_do_not_count():
    comprehensions = "def f(x): return [i for i in x]", "def f(x): return [j for j in x]"
    for a, b in [
        comprehensions,
        ("def f(x):\n y = x + 1\n return y", "def f(x): return x + 1"),
    ]:
        for one, other in ((a, b), (b, a)):
            assert depyf.compare(function(one), function(other))
    said = depyf.compare(*map(function, comprehensions))
    assert "'i'" in said.ignored and "'j'" in said.ignored


# ---------------------------------------------------------------- cells, functions, reserved names
CELLS = (
    "def f(i, xs): return [(lambda: i, (lambda: i).__closure__[0]) for i in xs]",
    "def f(i, xs):\n t = (lambda: i).__closure__[0]\n return [(lambda: i, t) for i in xs]\n",
)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are functions")
def test_a_comprehension_has_a_cell_of_its_own():
    one, other = map(function, CELLS)
    assert not accepted(one, other) and not accepted(other, one)


def test_a_comprehension_over_cells_is_proven_whatever_their_slots():
    a = "def f(xs):\n a = 1\n return [lambda: i for i in xs]"
    b = "def f(xs):\n b = 1\n a = b\n return [lambda: i for i in xs]"
    assert depyf.compare(function(a), function(b)).verdict == "equivalent"


MADE = "(lambda: 0).__class__(x, (lambda: 0).__globals__, None, None, (y,))"


def test_making_a_function_of_what_is_no_code_raises():
    source = "def f(x, y):\n try: r = %s\n except TypeError: r = %%d\n return r\n" % MADE
    assert not accepted(function(source % 1), function(source % 2))
    one = function("def f(x, y): return %s.__closure__[0]" % MADE)
    assert not accepted(one, function("def f(x, y): return y"))


@pytest.mark.parametrize("closure", ["k", "k, other"])
@pytest.mark.parametrize("before", ["", "y = g(x)\n  "])
def test_a_function_of_a_live_code_object_with_a_closure_is_proven(closure, before):
    # torch 2.2 makes the resume functions of a closure so, behind the call that breaks the graph
    source = "def f(g, x, k, other):\n def m(y=0):\n  %sdef resume_in_m(z): return z, %s\n" % (
        before,
        closure,
    )
    source += "  return resume_in_m(y)\n return m\n"
    code = function(source)
    inner = next(one for one in code.co_consts if isinstance(one, types.CodeType))
    found = recompile(inner, dynamo=True, own_locals=("resume_in_m",))
    if sys.version_info >= (3, 11):  # before, the qualified name is told, and the local keeps it
        assert found.proven, found.detail
    assert "resume_in_m" in found.source


def test_names_of_torchs_are_names_like_others():
    a = function("def f(g): return (__compiled_fn_1, g())")
    b = function("def f(g):\n t = g()\n return (__compiled_fn_1, t)")
    assert not depyf.compare(a, b)
    assert accepted(a, b, dynamo=True)


def test_a_name_counts_as_torchs_only_where_torch_put_it():
    code = function("def f(g):\n t = (__import_m, g())\n return t")
    for scope in ({"__import_m": math}, {"__import_m": 1}, {}):
        assert recompile(code, dynamo=True, scope=scope).proven


# ---------------------------------------------------------------- three answers
def test_a_reason_tells_different_from_not_proven():
    different = depyf.compare(function("def f(x): return x.a"), function("def f(x): return x.b"))
    assert different.verdict == "different" and "x.a" in different.detail
    one = function("def f(x):\n y = g(x)\n return y")
    unproven = depyf.compare(one, function("def f(x):\n z = g(x)\n h()\n return z"))
    assert unproven.verdict != "identical" and not unproven


def test_a_function_that_only_returns_a_constant():
    a, b = "def f(): return 1", "def f():\n x = 1\n return x"
    assert depyf.compare(function(a), function(b))


def outer(value):
    def inner(a=value, *, k=value):
        return a, k, value

    return inner


def test_defaults_and_closures_of_functions_count():
    assert depyf.compare(outer(1), outer(1)) and not depyf.compare(outer(1), outer(2))
    assert depyf.compare(outer(1), outer(2)).verdict == "different"
    assert depyf.compare(outer(1), outer(True)).verdict == "different"
    assert depyf.compare(outer([]), outer([])).verdict == "unproven"
    assert "share no variables" in depyf.compare(outer(1), outer(1)).ignored


def test_globals_of_functions_count():
    code = function("def f(): return K")
    made = [types.FunctionType(code, {"K": value}) for value in (1, 1, 2)]
    assert depyf.compare(made[0], made[1]) and "globals" in depyf.compare(made[0], made[1]).ignored
    assert depyf.compare(made[0], made[2]).verdict == "different"


def test_globals_and_builtins_that_code_does_not_read_do_not_count():
    def compared(text, *namespaces):
        code = function(text)
        made = [types.FunctionType(code, dict(names)) for names in namespaces]
        return depyf.compare(*made)

    bare = {"__builtins__": {"len": len}}
    assert compared("def f(x): return x", {}, bare)
    assert compared("def f(x): return x.K", {"K": 1}, {"K": 2})
    assert compared("def f():\n    global K\n    K = 1", {"K": 1}, {"K": 2})
    for text in (
        "def f():\n    class A: pass",
        "def f():\n    def g():\n        class A: pass\n    return g",
        "def f():\n    import os",
        "def f():\n    import os.path as x",
        "def f():\n    from os import path",
    ):
        assert compared(text, {}, bare).verdict == "different", text
    for text in (
        "def f(x): return x.K + K",
        "def f(x):\n    class A: x = K",
        "def f():\n    global K\n    del K",
        "def f(x): return lambda: K",
        "def f(x): return [%s]" % ", ".join("x.a%d, a%d" % (i, i) for i in range(300)) + " + K",
    ):
        names = dict.fromkeys(("a%d" % i for i in range(300)), 0)
        names.update(__name__="m", __builtins__=__builtins__)
        assert compared(text, dict(names, K=1), dict(names, K=1)), text
        assert compared(text, dict(names, K=1), names).verdict == "different", text


#: statements behind which nothing is ever reached, or one way of a test alone
NEVER_PASSED = (
    *("for i in 1: pass", "x = 1; i = [j for j in x]", "i, j = 1", "i, j = (1, 2, 3)", "1 .x"),
    *("1[0]", "x = 1()", "x = None; x()", "1 + 's'", "x = 's'; x + 1", "1 / 0", "x = -'s'"),
    *("x = {}; x[1]", "with 1: pass", "del g; g", "del g; del g", "x = 1; x.y = 2"),
    *("(a,).nope(1)", "x = {}; x.nope(a)", "[a](1)", "x = (a, g); x[0] = 1", "i, = a, g"),
    *("[*1]", "{*1, a}", "{**1}", "f'{1:q}'", "f'{[]:q}'", "g(*1)", "g(**1)"),
    *("{[]: a}", "{a, {}}", "x, y = (a, a, a)", "x = lambda: 1\n    if x: return 0"),
    *("x = (i for i in a)\n    if x: return 0", "x = f'z{a}'\n    if x: return 0"),
    *("x = []\n    if not x: return 0", "while not {}: pass"),
    "i = 0\n    while i < 9: i += 1\n    if i < 9: return 1",
)
#: others, behind which a program sees the difference
PASSED = (
    *("for i in a: pass", "for i in (1, 2): g(i)", "i, j = 1, 2", "x = []; x.append(a)"),
    *("x = ', '.join(a)", "n = 0\n    for i in a: n += i", "x = 1 + a", "x = {1: 2}[a]"),
    *("if a < 1: return 0", "with a: pass", "x, y = g(), 1; x + y", "a.b[1] = g(2)"),
    *("[*a]", "f'{a:q}'", "g(*a)", "g(*(1, 2))", "[1, 2, 3, *a]"),
    *("x = {(a, 1): g}", "x = [i for i in a]; g(x)", "x = (lambda: a)()"),
    *("x = {}; x[a] = g", "x = {a}; x.add(g)", "for i in [a, g]: pass"),
    "x = False\n    for i in a: x = True\n    if x: return 0",
)
#: code in a block that nothing enters
NEVER_ENTERED = ("x = []\n    if x:", "for i in {}:", "x = {}\n    for i in x:", "while []:")


@pytest.mark.parametrize("statement", NEVER_PASSED + PASSED)
def test_what_stands_behind_a_statement_that_nothing_passes_is_not_different(statement):
    text = "def f(a, g):\n    %s\n    return %d\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [function(text % (statement, value)) for value in (1, 2)]
    verdict = depyf.compare(*made).verdict
    assert verdict == ("different" if statement in PASSED else "unproven")


def test_what_is_decided_behind_a_difference_does_not_count():
    one, other = (function("def f(a, g):\n    g(%d)\n    return [] or {}.nope" % n) for n in (1, 2))
    assert depyf.compare(one, other).verdict == "different"
    one, other = (
        function("def f(a, g):\n    while g():\n        g(%d)\n        [].nope" % n) for n in (1, 2)
    )
    assert depyf.compare(one, other).verdict == "unproven"


@pytest.mark.parametrize("head", NEVER_ENTERED)
def test_what_stands_in_a_block_that_nothing_enters_is_not_different(head):
    one, other = (function("def f(a, g):\n    %s\n        g(%d)" % (head, n)) for n in (1, 2))
    assert depyf.compare(one, other).verdict == "unproven"


def closures(cells_f, cells_g):
    def both():
        a = b = 0

        def step():
            nonlocal a, b
            a += 1
            b += 2
            return a, b

        return step

    made = both()
    parts = (made.__code__, made.__globals__, "step", None)
    return [types.FunctionType(*parts, tuple(cells)) for cells in (cells_f, cells_g)]


@pytest.mark.skipif(sys.version_info < (3, 8), reason="types.CellType")
def test_closures_that_share_variables_in_another_way_are_not_proven():
    c = [types.CellType(0) for _ in range(4)]
    assert depyf.compare(*closures((c[0], c[1]), (c[0], c[1]))).verdict == "identical"
    for first, second in [((0, 0), (0, 1)), ((0, 0), (2, 3)), ((0, 1), (1, 0)), ((0, 1), (2, 0))]:
        found = depyf.compare(*closures([c[i] for i in first], [c[i] for i in second]))
        assert not found and "share" in found.detail, (first, second, found)
    apart = depyf.compare(*closures((c[0], c[1]), (c[2], c[3])))
    assert apart and "share no variables" in apart.ignored
    one = depyf.compare(*closures((c[0], c[1]), (c[0], c[3])))
    assert one and "share not these: b" in one.ignored, one.ignored
    assert depyf.compare(*closures((c[0], c[0]), (c[2], c[2])))


def test_globals_that_compute_values_or_are_read_by_name_are_not_proven():
    class Computing(dict):
        def __missing__(self, name):
            raise AssertionError("compare() runs nothing")

        get = __getitem__ = __missing__

    plain = function("def f(): return K")
    computed = [types.FunctionType(plain, kind(K=1)) for kind in (dict, Computing)]
    assert depyf.compare(*computed).verdict == "unproven"
    for text in ("eval(k)", "globals()[k]", "exec(k)"):
        code = function("def f(k): return %s" % text)
        made = [types.FunctionType(code, {"x": value}) for value in (1, 1, 2)]
        assert depyf.compare(made[0], made[1])
        found = depyf.compare(made[0], made[2])
        assert found.verdict == "unproven" and "globals" in found.detail, found
    odd = [
        types.FunctionType(plain, {"K": 1, "__builtins__": Computing(len=n)}) for n in (len, print)
    ]
    assert depyf.compare(*odd).verdict == "unproven"


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_local_that_is_tested_under_not_may_be_borrowed_on_one_side_alone(version, tmp_path):
    """The first statement keeps its load, and CPython 3.14 borrows no local behind it."""
    source, compiled = tmp_path / "m.py", tmp_path / "m.pyc"
    source.write_text("def f(a):\n    1 if 0 else 2\n    return (not a and n) or a\n")
    program = "import py_compile, sys; py_compile.compile(*sys.argv[1:], doraise=True)"
    subprocess.run([pythons.path_of(version), "-c", program, source, compiled], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", compiled], capture_output=True, text=True
    )
    assert ": proven (equivalent)" in done.stderr, done.stderr


@pytest.mark.parametrize("version", ["3.9", "3.12", "3.14"])
def test_the_verdict_names_what_bytes_that_run_inside_a_function_show(version, tmp_path):
    program = "%s f(v):\n odd = 1\n x = locals(), v\n v = None\n %s\n"
    said = decompiled(version, tmp_path, program % ("def", "return x")).stderr
    assert "keep their arguments alive until they return" in said, said
    assert "taken for granted" in said and "__import__" in said and "gi_frame" not in said, said
    said = decompiled(version, tmp_path, program % ("def", "yield x")).stderr
    assert "(gi_frame, gi_yieldfrom)" in said, said
    said = decompiled(version, tmp_path, program % ("async def", "yield x")).stderr
    assert "inspect.isasyncgenfunction" in said and "gi_frame" not in said, said


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_class_rebuilt_from_bytes_that_loses_its_static_attributes_is_not_proven(
    version, tmp_path
):
    source, compiled = tmp_path / "m.py", tmp_path / "m.pyc"
    source.write_text("class A:\n    def f(self):\n        self.a = 1\n        self.later = 2\n")
    subprocess.run(
        [pythons.path_of(version), "-c", WITH_A_NAME_NO_SOURCE_HAS, str(source), str(compiled)],
        check=True,
    )
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", str(compiled)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 1, done.stdout
    assert "not proven" in done.stderr and "__static_attributes__" in done.stderr


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
@pytest.mark.parametrize("body, kept", [("self.q = 1", False), ("pass", True)])
def test_what_a_class_rebuilt_from_bytes_has_as_static_attributes_is_what_its_body_ends_with(
    version, body, kept, tmp_path
):
    compiled = tmp_path / "m.pyc"
    program = "import sys\n" + REBUILT_CLASS
    subprocess.run([pythons.path_of(version), "-c", program, body, str(compiled)], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", str(compiled)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert ("rebuilds it from its bytes" in done.stdout) is kept, done.stdout
    assert (done.returncode == 0) is kept, done.stderr


# A class body in which a value that nothing needs lies on the stack over the compiler's last stores:
# no structure has it there, and it stands between the store and the return.
REBUILT_CLASS = """
import dis, importlib.util, marshal, types

def changed(code):
    consts = tuple(changed(one) if type(one) is types.CodeType else one for one in code.co_consts)
    code = code.replace(co_consts=consts)
    if code.co_name != "C":
        return code
    raw = bytearray(code.co_code)
    at = raw.rfind(bytes([dis.opmap["STORE_NAME"], code.co_names.index("__static_attributes__")]))
    push, pop = (dis.opmap["LOAD_CONST"], 0), (dis.opmap["POP_TOP"], 0)
    raw[at + 2:at + 2] = bytes(push + pop)
    raw[at - 2:at - 2] = bytes(push + pop)
    return code.replace(co_code=bytes(raw), co_stacksize=code.co_stacksize + 2)

source = "class C:\\n def m(self):\\n  %s\\n" % sys.argv[1]
with open(sys.argv[2], "wb") as file:
    code = changed(compile(source, "m.py", "exec"))
    file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


# compiles one file; the attribute `later` of its class has then a name that no source can set
WITH_A_NAME_NO_SOURCE_HAS = """
import importlib.util, marshal, sys

def changed(value):
    if isinstance(value, type(changed.__code__)):
        return value.replace(co_consts=tuple(map(changed, value.co_consts)))
    if isinstance(value, tuple) and "later" in value:
        return tuple("l r" if one == "later" else one for one in value)
    return value

with open(sys.argv[1]) as file:
    code = compile(file.read(), sys.argv[1], "exec")
with open(sys.argv[2], "wb") as file:
    file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(changed(code)))
"""


@pytest.mark.parametrize("version", ["3.9", "3.12", "3.14"])
def test_a_function_rebuilt_from_bytes_keeps_its_docstring(version, tmp_path):
    source, compiled = tmp_path / "m.py", tmp_path / "m.pyc"
    source.write_text(
        "def f(v):\n    'doc of f'\n    return v\nasync def g(v):\n    'doc of g'\n    yield v\n"
        "print(f.__doc__, g.__doc__)\n"
    )
    python = pythons.path_of(version)
    compiler = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2])"
    subprocess.run([python, "-c", compiler, str(source), str(compiled)], check=True)
    command = [sys.executable, "-m", "depyf", "decompile", "--ladder", "6", str(compiled)]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    assert text.count(b"rebuilds it from its bytes") == 2
    assert subprocess.check_output([python, "-"], input=text) == b"doc of f doc of g\n"


# compiles one file, in which N becomes one NaN object, and `odd` a name that no source can hold:
# where a function gives its locals, only its bytes do what it does
WITH_ONE_NAN = """
import ast, importlib.util, marshal, sys
nan = float("nan")
class Renamed(ast.NodeTransformer):
    def visit_Name(self, node):
        if node.id == "odd": node.id = "if"
        return ast.copy_location(ast.Constant(value=nan, kind=None), node) if node.id == "N" else node
    def visit_Tuple(self, node):
        self.generic_visit(node)
        if not all(isinstance(item, ast.Constant) for item in node.elts): return node
        value = tuple(item.value for item in node.elts)
        return ast.copy_location(ast.Constant(value=value, kind=None), node)
code = compile(Renamed().visit(ast.parse(open(sys.argv[1]).read())), "m.py", "exec")
with open(sys.argv[2], "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


def decompiled(version, tmp_path, program):
    source, compiled = tmp_path / "m.py", tmp_path / "m.pyc"
    source.write_text(program)
    python = pythons.path_of(version)
    subprocess.run([python, "-c", WITH_ONE_NAN, str(source), str(compiled)], check=True)
    return subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", str(compiled)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


ONLY_BYTES = "\n odd = 1\n return locals(), "


@pytest.mark.parametrize("version", ["3.8", "3.12", "3.14"])
@pytest.mark.parametrize(
    "f, rest",
    [
        ("N", "def g(): return N\nprint(f()[1] is g())"),
        ("(N, 1)", "def g(): return (N, 2)\nprint(f()[1][0] is g()[0])"),
        ("N", "print(f()[1] is N)"),
        ("N", "print(f()[1] is f()[1], f()[1] in [f()[1]])"),
        ("lambda: (1, (N,))", "print(f()[1]() == f()[1]())"),
    ],
)
def test_bytes_give_no_constant_that_is_a_nan_of_others(version, f, rest, tmp_path):
    program = "def f():" + ONLY_BYTES + "%s\n%s\n"
    said = decompiled(version, tmp_path, program % (f, rest))
    assert said.returncode == 1 and "not proven" in said.stderr, said.stderr
    said = decompiled(version, tmp_path, (program % (f, rest)).replace("N", "1.5"))
    assert said.returncode == 0 and "rebuilds it" in said.stdout, said.stderr


@pytest.mark.parametrize("version", ["3.8", "3.12", "3.14"])
@pytest.mark.parametrize(
    "line, proven",
    [
        ("__import__ = g", False),
        ("globals()['__import__'] = g", False),
        ("import builtins as b; b.__import__ = g", False),
        ("__builtins__ = {}", False),
        ("globals()['getattr'] = g", True),
    ],
)
def test_what_bytes_are_read_with_is_not_replaced(version, line, proven, tmp_path):
    program = "def f(v):" + ONLY_BYTES + "v\n%s\n" % line
    said = decompiled(version, tmp_path, program)
    assert (said.returncode == 0) == proven, said.stderr
    assert proven or "not proven" in said.stderr, said.stderr


def test_type_parameters_that_are_not_compared_are_named():
    names = {}
    if sys.version_info >= (3, 12):
        exec("def f[T](a): pass\ndef g(a): pass\ng.__qualname__ = 'f'", names)
    else:
        names["f"], names["g"] = (lambda a: a), (lambda a: a)
        names["f"].__type_params__ = (1,)
    assert "type parameters" in depyf.compare(names["f"], names["g"]).detail


# ---------------------------------------------------------------- what nobody counts is said
def source_function(source):
    names = {}
    exec(source, names)
    return names["f"]


@pytest.mark.parametrize(
    "a, b",
    [
        ("[a(), b()]", "a(); b()"),
        ("return [a(), b()][1]", "a(); return b()"),
        ("{'x': a(), 'y': b()}", "a(); b()"),
        ("a() is b()", "a(); b()"),
    ],
)
def test_when_values_die_is_said_to_be_ignored(a, b):
    said = depyf.compare(*(source_function("def f(a, b):\n " + body) for body in (a, b)))
    assert said.verdict != "identical" and said.verdict != "exact"
    assert not said or "when values that no variable holds are freed" in said.ignored


def test_a_temporary_that_keeps_its_value_is_named():
    code = function("def f(y, g):\n x, x = g(1), (y := y)\n g(2)\n return y\n")
    source = depyf.decompile(code)
    for name in ("__temp_0", "__temp_1"):
        assert name not in source or "'%s'" % name in source.detail, source


@pytest.mark.parametrize("target", ["b[(y := g(1))]", "(y := g(1)).a", "b[(i := 0):(y := g(1))]"])
def test_a_walrus_in_the_target_of_an_augmented_assignment(target):
    source = depyf.decompile(function("def f(b, g):\n    %s += 1\n    y = None\n" % target))
    assert target + " += 1" in source and "__temp_" not in source
    assert source.verdict == "identical" and not source.detail


def test_the_order_in_which_a_set_is_searched_is_said_to_be_ignored():
    a, b = (function("def f(x): return x in {%s}" % one) for one in ("-1, -2", "-2, -1"))
    found = depyf.compare(a, b)
    assert found.verdict == "equivalent" and "order" in found.ignored
    assert depyf.compare(a, a) == ("identical", "")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before, the flags make the generator")
def test_flags_that_do_not_say_what_a_call_returns():
    plain = function("def f(): return 3")
    generator = function("def f(): yield 1")
    asynchronous = function("async def f(): yield 1")
    broken = [
        replace(plain, co_flags=plain.co_flags | 0x20),
        replace(generator, co_flags=generator.co_flags & ~0x20),
        replace(generator, co_flags=asynchronous.co_flags),
        replace(asynchronous, co_flags=generator.co_flags),
    ]
    for code in broken:
        assert not depyf.decompile(code).proven
        assert depyf.compare(code, code).verdict == "identical"
    for code in (generator, asynchronous):
        assert depyf.decompile(code).verdict == "identical"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, each read looks")
def test_a_local_that_is_read_unset_is_no_python():
    code = function("def f(x): return x")
    broken = replace(code, co_argcount=0)
    assert not depyf.decompile(broken).proven
    loop = "def f(n):\n for i in n:\n  try: j = i\n  except n: pass\n  else: del i\n  print(j)\n"
    assert depyf.decompile(function(loop)).proven


def test_names_that_the_source_cannot_have_are_said():
    code = function("def f(x): return x")
    odd = replace(code, co_name="a b", co_varnames=(".0",))
    source = depyf.decompile(odd)
    assert source.proven and "'a b'" in source.detail and "'.0'" in source.detail
    assert recompile(odd).code.co_varnames == (".0",)


def test_what_is_around_functions_is_said():
    class Bound:
        def method(self):
            return 1

    one, other = Bound(), Bound()
    assert "bound" in depyf.compare(one.method, other.method).ignored
    assert depyf.compare(one.method, one.method).ignored == ""
    partials = [functools.partial(outer(1), value) for value in (1, 2)]
    assert "functools.partial" in depyf.compare(*partials).ignored
    assert not depyf.compare(functools.partial(outer(1)), functools.partial(outer(2)))
    generators = [(lambda: (yield))() for _ in range(2)]
    assert "generator" in depyf.compare(*generators).ignored


@pytest.mark.parametrize("what", ["__name__", "__qualname__", "__doc__", "__module__"])
def test_names_of_functions_that_differ_are_said(what):
    one, other = (source_function("def f(): return 1") for _ in range(2))
    before = depyf.compare(one, other).ignored
    setattr(other, what, "other")
    assert depyf.compare(one, other).ignored != before


def test_a_nan_that_is_another_object_is_said():
    for pair in ((ONE, OTHER), ((ONE,), (OTHER,)), (frozenset({ONE}), frozenset({OTHER}))):
        a, b = (function("def f(): return 'K'", K=value) for value in pair)
        assert "NaN" in depyf.compare(a, b).ignored
        assert depyf.compare(a, a).ignored == ""


def test_variables_that_hold_two_nans_are_not_proven():
    def outer(x):
        return lambda: x

    for a, b in (
        (ONE, OTHER),
        ((1, ONE), (1, OTHER)),
        (complex(0, ONE), complex(0, OTHER)),
    ):
        found = depyf.compare(outer(a), outer(b))
        assert found.verdict == "unproven" and "another object" in found.detail
        assert depyf.compare(outer(a), outer(a))
    assert depyf.compare(outer(complex(1, ONE)), outer(complex(2, ONE))).verdict == "different"
    assert depyf.compare(outer(1.0), outer(ONE)).verdict == "different"


# ---------------------------------------------------------------- what CPython believes
HANDLERS = """
import dis, sys, types, warnings
warnings.simplefilter("ignore")
from depyf import _core
from depyf.code_edit import replace

def function(source):
    module = compile(source, "<test>", "exec")
    return next(c for c in module.co_consts if isinstance(c, types.CodeType))

def verdict(a, b):
    return _core.compare(a, b, True, decompiled=False)[0]

def operands(code, name, *others):
    raw = bytearray(code.co_code)
    for one in dis.get_instructions(code):
        if one.opname == name:
            for other in others:
                if other != raw[one.offset + 1]:
                    changed = bytearray(raw)
                    changed[one.offset + 1] = other
                    yield replace(code, co_code=bytes(changed))

def swapped(code, name, other):
    raw = bytearray(code.co_code)
    for one in dis.get_instructions(code):
        if one.opname == name:
            changed = bytearray(raw)
            changed[one.offset] = dis.opmap[other]
            after = one.offset + 2
            while after < len(raw) and raw[after] == dis.opmap.get("CACHE"):
                changed[after] = dis.opmap["NOP"]
                changed[one.offset + 1] -= other.startswith("JUMP_BACKWARD")
                after += 2
            yield replace(code, co_code=bytes(changed))

CLEANUP = function("def f(a, b):\\n try:\\n  a()\\n except E as e:\\n  b()\\n finally:\\n  b(1)\\n")
WITH = function("def f(a, b):\\n with a as x:\\n  b(x)\\n return 1\\n")
"""
TABLES = ["3.11", "3.12", "3.13", "3.14", "3.15"]


@pytest.mark.parametrize("version", TABLES)
def test_what_a_reraise_takes_for_a_position_is_one(version):
    said = pythons.run(
        version,
        HANDLERS + "for code in (CLEANUP, WITH):\n"
        "    for other in operands(code, 'RERAISE', 1, 2, 3, 255):\n"
        "        print(verdict(code, other), verdict(other, code))\n",
    )
    assert set(said.split()) == {"unproven"}, said


@pytest.mark.parametrize("version", ["3.7", "3.10"])
def test_the_place_of_an_argument_that_is_a_cell_is_empty(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a):\\n return [b for b in c if a]\\n')\n"
        "raw = bytearray(code.co_code)\n"
        "raw[0] = dis.opmap['LOAD_FAST']\n"
        "print(dis.opname[code.co_code[0]], verdict(code, replace(code, co_code=bytes(raw))))\n",
    )
    assert said.split() in (["LOAD_CLOSURE", "unproven"], ["LOAD_CLOSURE", "different"]), said


@pytest.mark.parametrize("version", TABLES)
def test_the_bit_that_asks_for_a_position_counts(version):
    said = pythons.run(
        version,
        HANDLERS + "for code in (CLEANUP, WITH):\n"
        "    table, found = bytearray(code.co_exceptiontable), 0\n"
        "    numbers = [i for i, byte in enumerate(table) if not byte & 64]\n"
        "    for i in numbers[3::4]:\n"
        "        changed = bytes(table[:i]) + bytes([table[i] ^ 1]) + bytes(table[i + 1:])\n"
        "        print(verdict(code, replace(code, co_exceptiontable=changed)))\n",
    )
    assert len(said.split()) > 4 and set(said.split()) == {"unproven"}, said


@pytest.mark.parametrize("version", ["3.11", "3.14"])
def test_a_handler_that_restores_nothing_counts(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a, b):\\n for i in a:\\n  try:\\n   b(i)\\n'\n"
        "                '  finally:\\n   b()\\n return a\\n')\n"
        "table = code.co_exceptiontable\n"
        "last = max(i for i, byte in enumerate(table) if byte & 128)\n"
        "print(verdict(code, replace(code, co_exceptiontable=table[:last])))\n",
    )
    assert said.split() == ["unproven"], said


@pytest.mark.parametrize("version", TABLES)
def test_a_row_that_leads_nowhere_is_not_told_apart_but_unproven(version):
    said = pythons.run(
        version,
        HANDLERS + "table = bytearray(CLEANUP.co_exceptiontable)\n"
        "rows = [i for i, byte in enumerate(table) if byte & 128]\n"
        "at = next(i for i in range(rows[0], len(table)) if i - rows[0] == 2)\n"
        "table[at] = 63\n"
        "print(verdict(CLEANUP, replace(CLEANUP, co_exceptiontable=bytes(table))))\n",
    )
    assert said.split() == ["unproven"], said


@pytest.mark.parametrize("version", TABLES)
def test_a_loop_that_lets_no_signal_in_is_not_one_that_does(version):
    said = pythons.run(
        version,
        HANDLERS + "spin = function('def f(a):\\n while True:\\n  pass\\n')\n"
        "calls = function('def f(a):\\n while True: a()\\n')\n"
        "for code in (spin, calls):\n"
        "    for other in swapped(code, 'JUMP_BACKWARD', 'JUMP_BACKWARD_NO_INTERRUPT'):\n"
        "        print(verdict(code, other))\n",
    )
    assert said.split() == ["unproven", "exact"], said


@pytest.mark.parametrize("version", TABLES)
def test_what_close_and_send_read_from_a_yield_counts(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a):\\n try:\\n  yield a\\n finally:\\n  a()\\n')\n"
        "for other in operands(code, 'RESUME', 0, 3, 4, 5, 9, 255):\n"
        "    print(verdict(code, other))\n"
        "for other in operands(code, 'YIELD_VALUE', 1) if sys.version_info >= (3, 12) else ():\n"
        "    print(verdict(code, other))\n"
        "for name in ('RESUME', 'YIELD_VALUE'):\n"
        "    for other in swapped(code, name, 'NOP'):\n"
        "        print(verdict(code, other))\n",
    )
    assert set(said.split()) == {"unproven"}, said


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.14"])
def test_code_that_says_its_stack_is_smaller_than_it_is_is_not_proven(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a, b): return a(b, [1, b, a(2)])')\n"
        "print(verdict(code, replace(code, co_stacksize=code.co_stacksize + 1)))\n"
        "print(verdict(code, replace(code, co_stacksize=2)))\n",
    )
    assert said.split()[0] in PROVEN and said.split()[1] == "unproven", said


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_what_the_compiler_makes_is_not_refused(version):
    """A larger stack makes the prover look at all that CPython believes."""
    said = pythons.run(
        version,
        HANDLERS + "sources = [\n"
        "    'async def f(a, b):\\n async for x in a: b(x)\\n else: b()\\n',\n"
        "    'async def f(a, b):\\n async with a as x: await b(x)\\n return [y async for y in a]\\n',\n"
        "    'def f(a, b):\\n for i in a:\\n  try: b(i)\\n  except (T, E) as e: continue\\n'\n"
        "    '  finally: b([j for j in a])\\n',\n"
        "    'f = lambda: (yield)', 'f = lambda a: (yield from a())',\n"
        "    'async def f(a): return (x async for x in a)',\n"
        "    'f = lambda a: (x async for x in a)' if sys.version_info >= (3, 8) else 'f = lambda: 1',\n"
        "]\n"
        "if sys.version_info >= (3, 11):\n"
        "    sources.append('def f(a, b):\\n for i in a:\\n  try: b(i)\\n  except* T as e: b(e)\\n'\n"
        "                   '  except* E: b()\\n  finally: b(2)\\n')\n"
        "def grown(code):\n"
        "    return replace(code, co_stacksize=code.co_stacksize + 1, co_consts=tuple(\n"
        "        grown(c) if isinstance(c, types.CodeType) else c for c in code.co_consts))\n"
        "for source in sources:\n"
        "    code = function(source)\n"
        "    said = _core.compare(code, grown(code), True, decompiled=False)\n"
        "    print(*((said[0],) if said[0] == 'identical' else (said, source)))\n",
    )
    assert set(said.split()) == {"identical"}, said


@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_a_test_takes_a_bool(version):
    said = pythons.run(
        version,
        HANDLERS + "jump = function('def f(a, b):\\n with a: b()\\n return 1\\n')\n"
        "for other in swapped(jump, 'TO_BOOL', 'NOP'):\n"
        "    raw = bytearray(other.co_code)\n"
        "    for one in dis.get_instructions(jump):\n"
        "        if one.opname == 'TO_BOOL':\n"
        "            for i in range(one.offset, one.offset + 8, 2): raw[i] = dis.opmap['NOP']\n"
        "    print(verdict(jump, replace(other, co_code=bytes(raw))))\n",
    )
    assert set(said.split()) == {"unproven"}, said


@pytest.mark.parametrize("version", ["3.7", "3.8"])
def test_what_a_finally_body_finds_on_the_stack_counts(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a, b):\\n with a, b as y:\\n  return a(y)\\n')\n"
        "for other in operands(code, 'POP_FINALLY', 0, 1):\n"
        "    print(verdict(code, other), verdict(other, code))\n"
        "drop = function('def f(a, b):\\n try:\\n  a()\\n finally:\\n  b(1, 2)\\n')\n"
        "larger = replace(drop, co_stacksize=20)\n"
        "for other in list(swapped(larger, 'POP_TOP', 'NOP'))[1:]:  # of the body alone\n"
        "    print(verdict(larger, other))\n"
        "for other in swapped(larger, 'LOAD_CONST', 'ROT_TWO'):\n"
        "    print(verdict(larger, other))\n",
    )
    assert not set(said.split()) & set(PROVEN) and "unproven" in said, said


@pytest.mark.parametrize("version", ["3.8", "3.12"])
def test_two_locals_of_one_name_are_not_taken_for_two_names(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a, b):\\n x = a\\n y = [x]\\n del x\\n return y, a()')\n"
        "twice = tuple('b' if n == 'x' else n for n in code.co_varnames)\n"
        "print(verdict(code, replace(code, co_varnames=twice)))\n",
    )
    assert said.split() == ["unproven"], said


EMPTY = "def f(a):\n if 0: empty = 1\n i = a\n return i, sorted(locals())"
LAST = "def f(a):\n i = a\n if 0: empty = 1\n return i, sorted(locals())"


@pytest.mark.parametrize("source, proven", [(EMPTY, True), (LAST, False)])
def test_a_local_that_never_has_a_value_may_have_the_name_of_a_later_one(source, proven):
    """So are resume functions of torch 2.15 that go on behind a comprehension."""
    code = function(source)
    assert code.co_varnames.index("empty")  # also where nothing stores it
    code = replace(code, co_varnames=tuple(n.replace("empty", "i") for n in code.co_varnames))
    result = recompile(code)
    assert result.proven == proven, result.detail
    if proven:
        assert result.code.co_varnames == code.co_varnames
        assert run(result.code, 3) == run(code, 3) == (3, ["a", "i"])


@pytest.mark.parametrize("version", ["3.8", "3.12"])
def test_bits_of_an_operand_that_no_compiler_writes_count(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a, b): return a(*b)')\n"
        "for other in operands(code, 'CALL_FUNCTION_EX', 2):\n"
        "    print(verdict(code, other))\n",
    )
    assert said.split() == ["unproven"], said


@pytest.mark.parametrize("version", TABLES[1:])
def test_the_results_that_a_comparison_holds_for_count(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(a, b): return a < b')\n"
        "for one in dis.get_instructions(code):\n"
        "    if one.opname == 'COMPARE_OP':\n"
        "        raw = bytearray(code.co_code)\n"
        "        for bit in (1, 2, 4, 8):\n"
        "            raw[one.offset + 1] ^= bit\n"
        "            print(verdict(code, replace(code, co_code=bytes(raw))))\n",
    )
    assert said.split() == ["unproven"] * 4, said


@pytest.mark.parametrize("version", ["3.7", "3.10", "3.12", "3.14"])
def test_half_of_a_method_is_no_value(version):
    said = pythons.run(
        version,
        HANDLERS + "code = replace(function('def f(a): return a.p'), co_stacksize=20)\n"
        "calls = replace(function('def f(a): a.p(1)'), co_stacksize=20)\n"
        "if sys.version_info < (3, 12):\n"
        "    others = swapped(code, 'LOAD_ATTR', 'LOAD_METHOD')\n"
        "else:\n"
        "    others = operands(code, 'LOAD_ATTR', 1)\n"
        "for other in others:\n"
        "    print(verdict(code, other))\n"
        "print(verdict(calls, replace(calls, co_stacksize=21)) == 'identical')\n",
    )
    assert said.split() == ["unproven", "True"], said


@pytest.mark.parametrize("version", TABLES)
def test_what_may_be_no_object_on_one_way_is_not_dropped(version):
    """A call that leaves its NULL on the stack, and a way from there to what drops a value."""
    said = pythons.run(
        version,
        HANDLERS
        + "code = function('def f(a, b):\\n for i in (1, 2):\\n  try: g(a)\\n  except* E: h(b)\\n"
        "  finally: g(i)\\n return b')\n"
        "code = replace(code, co_stacksize=code.co_stacksize + 3)\n"
        "for call in operands(code, 'CALL', 0):\n"
        "    if sys.version_info < (3, 12):\n"
        "        raw = bytearray(call.co_code)\n"
        "        at = next(i for i in range(0, len(raw), 2) if raw[i] != code.co_code[i] or\n"
        "                  raw[i + 1] != code.co_code[i + 1])\n"
        "        raw[at - 3] = 0  # PRECALL\n"
        "        call = replace(call, co_code=bytes(raw))\n"
        "    for other in swapped(call, 'JUMP_FORWARD', 'NOP'):\n"
        "        print(verdict(code, other), verdict(other, code))\n",
    )
    assert len(said.split()) >= 4 and not set(said.split()) & set(PROVEN), said


@pytest.mark.parametrize("version", ["3.7", "3.8"])
def test_the_end_of_a_with_takes_the_exception_from_the_stack(version):
    """WITH_CLEANUP_START leaves two values, of which a plain operation takes only one."""
    said = pythons.run(
        version,
        HANDLERS + "texts = ['with a as x: return b(x)', 'with a: b()', 'with a, b as x: b(x)',\n"
        "         'for i in b:\\n  with a: break']\n"
        "for text in texts:\n"
        "    code = function('def f(a, b):\\n ' + text)\n"
        "    code = replace(code, co_stacksize=code.co_stacksize + 3)\n"
        "    for other in swapped(code, 'WITH_CLEANUP_FINISH', 'POP_TOP'):\n"
        "        print(verdict(code, other), verdict(other, other))\n",
    )
    assert len(said.split()) >= 10 and not {"exact", "equivalent"} & set(said.split()), said
    assert "identical" not in said.split()[::2], said


@pytest.mark.parametrize("version", TABLES)
def test_the_length_that_match_compares_is_a_bool(version):
    said = pythons.run(
        version,
        HANDLERS + "text = 'def f(x):\\n match x:\\n  case [%s, _, *_] | [%s]: return %s'\n"
        "print(verdict(function(text % (('a',) * 3)), function(text % (('b',) * 3))))\n",
    )
    assert said.split() == ["equivalent"], said


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_the_test_that_annotations_begin_with_has_no_bool_on_both_sides(version):
    said = pythons.run(
        version,
        HANDLERS + "def annotate(text):\n"
        "    module = compile('def f(x: (%s)): pass' % text, '<test>', 'exec')\n"
        "    return next(c for c in module.co_consts if getattr(c, 'co_name', '') == '__annotate__')\n"
        "code = annotate('int and (1 or T, 2)')\n"
        "print(verdict(code, annotate('int and (1, 2)')))\n"
        "print(verdict(code, annotate('int and (1, 3)')))\n"
        "compare = next(i for i in dis.get_instructions(code) if i.opname == 'COMPARE_OP')\n"
        "for other in operands(code, 'COMPARE_OP', compare.arg | 16):\n"
        "    print(verdict(code, other), verdict(other, code))\n",
    )
    same, other, *tests = said.split()
    assert same == "equivalent" and other not in PROVEN, said
    assert len(tests) == 2 and not set(tests) & set(PROVEN), said


def test_a_handler_covers_all_of_what_waits():
    """CPython 3.11 raises what is thrown into `await` where the loop of SEND jumps back."""
    said = pythons.run(
        "3.11",
        HANDLERS
        + "code = function('async def f(a):\\n try: await a\\n except E: return 1\\n return 2')\n"
        "table = code.co_exceptiontable\n"
        "rows = dis._parse_exception_table(code)\n"
        "jump = [i.offset for i in dis.get_instructions(code) if 'NO_INTERRUPT' in i.opname]\n"
        "assert rows[0].start < jump[0] < rows[0].end < 126, rows\n"
        "assert table[1] == (rows[0].end - rows[0].start) // 2, table\n"
        "for length in range(table[1], 0, -1):\n"
        "    end = rows[0].start + 2 * length\n"
        "    other = replace(code, co_exceptiontable=table[:1] + bytes([length]) + table[2:])\n"
        "    print(end > jump[0], verdict(code, other) in ('identical', 'exact', 'equivalent'))\n",
    )
    found = said.splitlines()
    assert set(found) == {"True True", "False False"}, said


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_a_local_is_borrowed_only_while_it_keeps_its_value(version):
    said = pythons.run(
        version,
        HANDLERS + "code = function('def f(x):\\n y = x\\n x = 1\\n return [x, y]')\n"
        "for other in swapped(code, 'LOAD_FAST', 'LOAD_FAST_BORROW'):\n"
        "    print(verdict(code, other))\n"
        "code = function('def f(x): return f\"{x}\" + x.p(x)')\n"
        "print(verdict(code, replace(code, co_stacksize=code.co_stacksize + 1)))\n"
        "for other in swapped(code, 'LOAD_FAST_BORROW', 'LOAD_FAST'):\n"
        "    print(verdict(code, other))\n",
    )
    assert said.split() == ["unproven"] + ["identical"] + ["exact"] * 3, said


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no caches")
def test_what_only_running_code_holds_is_not_proven(tmp_path):
    code = compile("def f(a): return a.p + a", "<test>", "exec")
    function = code.co_consts[0]
    found = [one for one in dis.get_instructions(function) if one.opname == "BINARY_OP"]
    plain = marshal.dumps(code)
    filled = bytearray(plain)
    filled[plain.index(function.co_code) + found[0].offset + 2] = 1
    for name, data in (("a", plain), ("b", plain), ("c", bytes(filled))):
        (tmp_path / (name + ".pyc")).write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + data)
    for other, word in (("b", "identical"), ("c", "unproven")):
        said = subprocess.run(
            [sys.executable, "-m", "depyf", "compare", "a.pyc", other + ".pyc"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            universal_newlines=True,
        )
        assert word in said.stdout, said.stdout


def test_a_reason_names_a_constant_of_the_interpreter():
    a, b = (
        function("def f(a):\n assert a\n return 1"),
        function("def f(a):\n if not a: g()\n return 1"),
    )
    found = _core.compare(a, b)
    assert found[0] not in PROVEN and "AssertionError" in found[1] and "LOAD_COMMON" not in found[1]


@pytest.mark.parametrize(
    "a, b",
    [
        ("x = g(a)\n return x", "return g(a)"),
        ("if a: return g(b)\n return h()", "return g(b) if a else h()"),
        ("for i in a:\n  i.x\n return 1", "for j in a:\n  j.x\n return 1"),
        ("t = (a, b)\n return t", "return (a, b)"),
    ],
)
def test_what_dies_at_the_same_places_is_not_said_to_be_ignored(a, b):
    said = depyf.compare(*(source_function("def f(a, b, g=0, h=0):\n " + body) for body in (a, b)))
    assert said and "are freed" not in said.ignored, said


@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_the_line_of_a_class_is_said_to_be_ignored(version):
    said = pythons.run(
        version,
        HANDLERS
        + "one, other = 'def f():\\n class C: pass\\n', 'def f():\\n\\n class C: pass\\n'\n"
        "print(_core.compare(function(one), function(one), True)[1])\n"
        "print(_core.compare(function(one), function(other), True)[1])\n",
    )
    assert said.splitlines()[0] == "" and "__firstlineno__" in said.splitlines()[1], said


@pytest.mark.parametrize("version", pythons.VERSIONS)
@pytest.mark.parametrize("head", ["", "class C:\n "])
def test_a_line_that_is_not_the_own_one_of_a_class_counts(version, head):
    """A program may set `__firstlineno__` itself, in a class, too."""
    said = pythons.run(
        version,
        HANDLERS + "one, other = (compile(%r %% n, 'a.py', 'exec') for n in (70, 71))\n"
        "print(*_core.compare(one, other, True))\n" % (head + "__firstlineno__ = %d"),
    )
    assert said.split()[0] == "different", said


@pytest.mark.parametrize("version", pythons.VERSIONS)
@pytest.mark.parametrize(
    "text",
    [
        "def f():\n  global __firstlineno__; __firstlineno__ = %d",
        "def f():\n  __firstlineno__ = %d\n  return lambda: __firstlineno__",
        "async def f():\n  global __firstlineno__; __firstlineno__ = %d",
    ],
)
def test_only_a_class_tells_its_own_line(version, text):
    """A function that begins at line 1 stores 1, and the same at line 2 stores 2."""
    said = pythons.run(
        version,
        HANDLERS
        + "one, other = (compile('\\n' * n + %r %% (n + 1), 'a.py', 'exec') for n in (0, 1))\n"
        "print(*_core.compare(one, other, True))\n" % text,
    )
    assert said.split()[0] not in PROVEN, said


@pytest.mark.parametrize("version", ["3.7", "3.8", "3.11", "3.12"])
def test_a_class_of_an_older_version_tells_no_line_by_itself(version):
    said = pythons.run(
        version,
        HANDLERS + "text = 'class C:\\n  __firstlineno__ = %d'\n"
        "one, other = (compile('\\n' * n + text % (n + 1), 'a.py', 'exec') for n in (0, 1))\n"
        "print(*_core.compare(one, other, True))\n",
    )
    assert said.split()[0] not in PROVEN, said


@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_the_line_of_a_class_is_its_own_however_its_body_names_it(version):
    for word in ("nonlocal", "global"):
        source = "def f():\n %s%%s class C:\n  %s __firstlineno__\n" % (
            "__firstlineno__ = 0\n" if word == "nonlocal" else "pass\n",
            word,
        )
        said = pythons.run(
            version,
            HANDLERS
            + "one, other = (compile(%r %% lines, 'a.py', 'exec') for lines in ('', '\\n'))\n"
            "print(*_core.compare(one, other, True))\n" % source,
        )
        assert said.split()[0] in ("identical", "exact", "equivalent"), said
        assert "__firstlineno__" in said, said


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_code_that_no_compiler_makes_is_not_taken_for_its_original(version):
    """A short form of scripts/attack --hostile."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hostile_run\n"
        "verdicts, wrong = hostile_run.run(20261124, 0, 500)\n"
        "print(verdicts, wrong, file=sys.stderr)\n"
        "assert not wrong and verdicts['identical'] > 20 and verdicts['unproven'] > 100"
    )
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "oracle")
    pythons.run(version, program, folder)


# ---------------------------------------------------------------- patch releases
def test_the_order_of_first_stores_does_not_count():
    """In which order a pattern's names are stored depends on the lines that it stands on."""

    def both(text):
        return [function(text.replace("STORE", store)) for store in ("a = b = x", "b = a = x")]

    slots = "def f(x):\n if 0: a = b = 1\n"
    assert accepted(*both(slots + " STORE\n return a, b"))
    assert not accepted(*both("def f(x):\n STORE\n return a, b"))  # other slots
    # what the locals held before ends, and may look at the other one
    assert not accepted(*both(slots + " a = x.n\n b = x.m\n x.g()\n STORE\n return a, b"))
    assert not accepted(*both(slots + " while x():\n  STORE\n  x(a, b)"))
    assert not accepted(*both("def f(x, a=1):\n STORE\n return a, b"))


WITHOUT_THE_EMPTY_TEXT = """
import dis
from depyf import _core
from depyf.code_edit import replace
for source in ('f"{a:>{b}}"', 'f"{a:{b}{c}}"', 'f"{a:{b}}"'):
    code = compile(source, "m", "eval")
    bytes_ = bytearray(code.co_code)
    found = list(dis.get_instructions(code))
    for load, build in zip(found, found[1:]):
        if load.argval == "" and build.opname == "BUILD_STRING":
            bytes_[load.offset] = dis.opmap["NOP"]
            bytes_[build.offset + 1] -= 1
            if build.arg == 2:
                bytes_[build.offset] = dis.opmap["NOP"]
            break
    else:
        raise AssertionError(source)
    print(_core.compare(code, replace(code, co_code=bytes(bytes_)))[0])
"""


def test_an_empty_text_at_the_end_of_a_format():
    """3.12.1 writes it, 3.12.7 does not; added to one text alone it makes a copy of another class."""
    pythons.path_of("3.12")
    assert pythons.run("3.12", WITHOUT_THE_EMPTY_TEXT).split() == [
        "equivalent",
        "equivalent",
        "unproven",
    ]


OTHER_NUMBER_OF_LOCALS = """
def gen(a):
    x = yield a
    y = yield (x, x)
    return x, y
code = gen.__code__
for count in range(code.co_nlocals + 3):
    if count == code.co_nlocals:
        continue
    try:
        other = code.replace(co_nlocals=count)
    except ValueError:
        continue
    wanted = "co_nlocals is %d and co_varnames has 3 names" % count
    result = depyf.compare(code, other)
    print(result.verdict == "unproven" and wanted in result.detail)
    try:
        print(depyf.decompile(other))
    except depyf.DecompilationError as error:
        print(wanted in str(error))
"""


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
def test_a_frame_has_the_slots_that_co_nlocals_says(version):
    # `code.replace` takes any number: with too few slots, locals lie where cells and the stack do
    assert set(pythons.run(version, OTHER_NUMBER_OF_LOCALS).split()) == {"True"}


# ---------------------------------------------------------------- units that the interpreter reads
INSERTED = """
import random, sys, types
sys.path.insert(0, sys.argv[1])
import hostile_run as hostile
from depyf import _core

#: (instruction, the one before it, body of `def f(a, b)`, what is inserted)
PLACES = (
    ("YIELD_VALUE", None, "x = yield a\\n return x", ("EXTENDED_ARG",)),
    ("YIELD_FROM", None, "return (yield from g(a))", ("EXTENDED_ARG",)),
    ("RESUME", "YIELD_VALUE", "return (yield from g(a))", ("EXTENDED_ARG", "NOP")),
    ("CALL", "PRECALL", "return g(a)", ("EXTENDED_ARG", "NOP")),
    ("END_FOR", None, "for i in a: g(i)", ("EXTENDED_ARG", "NOP")),
    ("POP_TOP", "END_FOR", "for i in a: g(i)", ("EXTENDED_ARG", "NOP")),
)
for name, behind, body, what in PLACES:
    if name not in hostile.dis.opmap or (behind and behind not in hostile.dis.opmap):
        continue
    one = hostile.code_of(body, {})
    found = set()
    for number in range(3000):
        drawn = hostile.inserted(random.Random(number), one)
        if drawn is None:
            continue
        said, other = drawn
        kind, at = said.split()[0], int(said.split()[-1])
        names = [hostile.dis.opname[op] for offset, op in hostile.places(one) if offset <= at]
        names = [n for n in names if n != "CACHE"]
        if names[-1] != name or (behind and names[-2] != behind) or kind not in what:
            continue
        if name == "END_FOR" and kind == "NOP":
            continue  # it depends on where FOR_ITER leads to
        found.add(kind)
        for pair in ((one, other), (other, one)):
            verdict = _core.compare(*pair)[0]
            assert verdict == "unproven", (said, verdict)
    assert found or (name == "POP_TOP" and hostile.VERSION != (3, 13)), name
    print(name, sorted(found))
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_what_stands_around_units_that_the_interpreter_reads_counts(version):
    oracle = os.path.join(pythons.ROOT, "tests", "oracle")
    said = pythons.run(version, INSERTED.strip(), oracle)
    assert "YIELD_VALUE" in said


# ---------------------------------------------------------------- docstrings of lambdas
LAMBDA_WITH_DOCSTRING = """
import types
from depyf import _core
from depyf.code_edit import replace
module = compile("def f(): return lambda x: x + 1", "m", "exec")
f = next(one for one in module.co_consts if type(one) is types.CodeType)
places = [i for i, one in enumerate(f.co_consts) if type(one) is types.CodeType]
inner = f.co_consts[places[0]]

def with_first(value):
    consts = (value,) + inner.co_consts[1:]
    return replace(inner, co_consts=consts)

def around(code):
    consts = list(f.co_consts)
    consts[places[0]] = code
    return replace(f, co_consts=tuple(consts))

texts = ["a docstring", "another", 5]
for one in texts:
    for other in texts:
        docs = [types.FunctionType(around(with_first(x)), {})().__doc__ for x in (one, other)]
        verdict = _core.compare(around(with_first(one)), around(with_first(other)))[0]
        assert (verdict in ("identical", "exact", "equivalent")) is (docs[0] == docs[1]), (
            one, other, verdict)
        verdict = _core.compare(with_first(one), with_first(other))[0]
        assert (verdict in ("identical", "exact", "equivalent")) is (docs[0] == docs[1]), verdict
        assert _core.compare(with_first(one), with_first(other), False)[0] == "identical"
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_the_docstring_that_other_code_gives_a_lambda_counts(version):
    pythons.run(version, LAMBDA_WITH_DOCSTRING)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_kinds_of_variables_that_no_constructor_counts_so_are_refused(version, tmp_path):
    for number, (old, new) in enumerate(
        ((b"  @", b"  \xc0"), (b"  @", b" \xa0@"), (b"  @", b"  @"))
    ):
        compiled = tmp_path / ("m%d.pyc" % number)
        program = "import sys\n" + WITH_OTHER_KINDS
        arguments = [old.hex(), new.hex(), str(compiled)]
        subprocess.run([pythons.path_of(version), "-c", program] + arguments, check=True)
        done = subprocess.run(
            [sys.executable, "-m", "depyf", "decompile", str(compiled)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        assert (done.returncode != 0) is (old != new), done.stdout
        assert ("in co_localspluskinds" in done.stderr) is (old != new), done.stderr


WITH_OTHER_KINDS = """
import importlib.util, marshal
source = "def f():\\n y, z, x = 1, 2, 3\\n return lambda: x\\n"
code = marshal.dumps(compile(source, "m.py", "exec"))
old, new = bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2])
assert code.count(b"\\3\\0\\0\\0" + old) == 1
with open(sys.argv[3], "wb") as file:
    file.write(importlib.util.MAGIC_NUMBER + bytes(12) + code.replace(old, new))
"""


WITH_LARGE_OPERANDS = """
import types
from depyf import _core

names = ", ".join("a%d" % number for number in range(300))
bodies = [
    "return g(%s)" % names,
    "return g.h(%s, x=1)" % names,
    "for i in g(%s): k(i)" % names,
    "yield from g(%s)" % names,
    "x = [k(i) for i in (%s)]; yield x" % names,
]
for body in bodies:
    module = compile("def f(%s):\\n %s\\n" % (names, body), "m.py", "exec")
    (code,) = [one for one in module.co_consts if isinstance(one, types.CodeType)]
    for one in (code, module):
        verdict = _core.compare(one, one)
        assert verdict[0] in ("identical", "exact", "equivalent"), (body[:20], verdict)
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_operands_that_need_a_prefix_are_proven(version):
    pythons.run(version, WITH_LARGE_OPERANDS)
