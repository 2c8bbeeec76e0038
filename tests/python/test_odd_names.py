"""Names of the bytecode that no source can hold: keywords, `0`, `a b`, what NFKC changes."""

import pytest

from pythons import VERSIONS, run

# What the programs below start with: `renamed(code, {"name": "odd name"})` edits a code object and
# those in it, as hand-written bytecode, AST tools and Dynamo make them.
PRELUDE = r"""
import types, marshal
def constant(value, table):
    if isinstance(value, types.CodeType): return renamed(value, table)
    if type(value) is str:
        found = table.get(value, value)
        if '.<locals>.' in value: found = '.'.join(table.get(part, part) for part in value.split('.'))
        return found
    if type(value) is tuple: return tuple(constant(item, table) for item in value)
    return value
def renamed(code, table):
    from depyf.code_edit import replace
    def names(what): return tuple(table.get(name, name) for name in getattr(code, what))
    changes = {what: names(what) for what in ("co_names", "co_varnames", "co_cellvars", "co_freevars")}
    changes["co_consts"] = tuple(constant(value, table) for value in code.co_consts)
    changes["co_name"] = table.get(code.co_name, code.co_name)
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = ".".join(table.get(part, part) for part in code.co_qualname.split("."))
    return replace(code, **changes)
def function(source, table, name="f"):
    space = {}
    exec(source, space)
    made = space[name]
    made.__code__ = renamed(made.__code__, table)
    return made
ODD = ["if", "0", "a b", "a_b", "a-b", "\ufb01", "fi", "", "\u212b", "x\u0301\u0323", "x!" * 300, "a\nb",
       "\x1b[31m", "'\"\\", "None", "\udc80", "stages.0", "@pytest_ar"]
"""

RECOMPILED = (
    PRELUDE
    + r"""
from depyf.recompile import recompile
SOURCE = '''
def f(p, *q, r=1, **s):
    t = p.attr
    p.attr = t + G
    p.method(kw=t, other=2)
    del p.gone
    c = r
    def inner(u=c):
        nonlocal c
        c = u, G
        return [v for v in (u, c)]
    global W
    W = inner
    return t, c, inner, {k: k.attr for k in q}, s
'''
old = ["attr", "G", "method", "kw", "gone", "c", "u", "inner", "W", "k", "t", "p", "r", "f", "v"]
for first in range(len(ODD)):
    table = {name: ODD[(first + i) % len(ODD)] for i, name in enumerate(old)}
    code = function(SOURCE, table).__code__
    found = recompile(code)
    assert found.proven, (first, ascii(found.detail)[:300], ascii(found.source)[:900])
    assert found.verdict in ("identical", "exact"), found.verdict
    def same(a, b):
        for what in "co_name co_names co_varnames co_cellvars co_freevars".split():
            # what the compiler interns in another order is the same set
            assert sorted(getattr(a, what)) == sorted(getattr(b, what)), (what, [[ascii(n[:9]) for n in getattr(c, what)] for c in (a, b)])
        inner_a = [c for c in a.co_consts if isinstance(c, types.CodeType)]
        inner_b = [c for c in b.co_consts if isinstance(c, types.CodeType)]
        assert len(inner_a) == len(inner_b)
        for x, y in zip(inner_a, inner_b): same(x, y)
    same(code, found.code)
    compile(found.source, "f", "exec")
    assert "\x1b" not in found.source and len(found.source) < 20000
print("ok")
"""
)


@pytest.mark.parametrize("version", VERSIONS)
def test_recompiled_code_has_the_exact_names(version):
    assert run(version, RECOMPILED).endswith("ok\n")


FREE = (
    PRELUDE
    + r"""
from depyf.recompile import recompile
SOURCE = '''
def outer(a, b):
    def g(c):
        nonlocal a
        a = a.attr + c
        return lambda: (a,), lambda: b, lambda: c
    return g
'''
for odd in ODD:
    space = {}
    exec(SOURCE, space)
    table = {"a": odd, "attr": odd, "c": "lambda", "b": "b c"}
    code = [c for c in renamed(space["outer"].__code__, table).co_consts if isinstance(c, types.CodeType)][0]
    found = recompile(code)
    assert found.proven, (ascii(odd), ascii(found.detail)[:300], ascii(found.source)[:900])
    assert found.code.co_freevars == code.co_freevars and found.code.co_cellvars == code.co_cellvars
# A variable of the reference that the code itself does not use.
reference = renamed(space["outer"].__code__, {"a": "a", "b": "class"})
found = recompile(reference)
assert found.proven and found.code.co_cellvars == reference.co_cellvars
print("ok")
"""
)


@pytest.mark.parametrize("version", VERSIONS)
def test_recompiled_cells_and_free_variables(version):
    assert run(version, FREE).endswith("ok\n")


MODULES = (
    PRELUDE
    + r"""
from depyf import _core
import contextlib, io
SOURCES = ['''
class O: pass
o = O()
o.attr = 1
print(o.attr, sorted(vars(o)))
o.attr, other = 5, 6
G = [o.attr]
def f(p, *, kw=3):
    p.attr = log(kw)
    p.attr = 4
    del p.attr
    p.attr = kw
    return p.attr, G
def log(x):
    print("log", type(x).__name__)
    return x
print(f(o, kw=4))
print(f(p=log(o), kw=log(5)))
''', '''
def missing():
    try:
        return G
    except NameError as error:
        return str(error)
print(missing())
G = 1
print(missing())
del G
print(missing())
''', '''
class O:
    attr = 1
    other = attr + 1
    def method(self):
        return self.attr, self.method
o = O()
o.attr += 2
print(o.attr, O.other, [name for name in sorted(vars(O)) if name[:2] != "__"])
for o.attr in range(3): print(o.attr)
print([k for k in dict(kw=1)], o.method()[1].__name__)
''', '''
def getattr(*a): return "mine"
class O: pass
O.attr = 2
G = O.attr
print(G, getattr())
''', '''
class C:
    def f(self):
        self.attr = 1
        return sorted(vars(self))
print(C().f())
''']
TABLES = [{name: ODD[(first + i) % len(ODD)] for i, name in enumerate(["attr", "G", "kw"])}
          for first in range(len(ODD))]
TABLES += [{"G": "if", "other": "0"}, {"method": "class", "attr": "__x"}, {"p": "in", "o": "a b"}]
def outcome(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, {"__name__": "m", "__builtins__": __builtins__})
        except Exception as error:
            print("raised", type(error).__name__, error)
    return out.getvalue()
for source in SOURCES:
    for table in TABLES:
        code = renamed(compile(source, "m", "exec"), table)
        text = _core.decompile(code)[0]
        text.encode("utf-8")
        assert "\x1b" not in text
        expected = outcome(code)
        found = outcome(compile(text, "m", "exec"))
        assert found == expected, (source[:40], ascii(table), ascii(text), ascii(expected), ascii(found))
plain = "def f(o, G): o.attr = 1; return o.attr, G"
text = _core.decompile(renamed(compile(plain, "m", "exec"), {"attr": "if"}))[0]
assert "getattr(o, 'if')" in text and "setattr(o, 'if', 1)" in text, text
print("ok")
"""
)


@pytest.mark.parametrize("version", VERSIONS)
def test_decompiled_programs_do_what_their_bytecode_does(version):
    assert run(version, MODULES).endswith("ok\n")
