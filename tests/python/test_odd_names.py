"""Names of the bytecode that no source can hold: keywords, `0`, `a b`, what NFKC changes."""

import json
import os
import subprocess

import pytest

import depyf
import depyf.code_edit
from pythons import INTERPRETERS, VERSIONS, path_of, run

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
       "\x1b[31m", "'\"\\", "None", "\udc80", "stages.0", "@pytest_ar", "__debug__"]
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


PROVEN = (
    PRELUDE
    + r"""
import importlib.util, os, random
# Every place where a name can stand that source can say otherwise.
EXPRESSIONS = ["%s.A", "%s.A(1, key=2)", "h(%s.A, [i.A for i in %s.B])", "%s.B if %s.A else 1", "%s(KW=1)",
               "%s(1, *h(), KW=2)", "%s(KW=1, **h)", "getattr(%s, 'A', 1)", "lambda p: p.A.B(%s)"]
STATEMENTS = ["o.A = E", "o.x.A = h(E)", "del o.A", "x = E", "h(E)", "if E: o.A = 1",
              "try:\n    h(E)\nexcept o.A:\n    o.B = E", "while E:\n    h(o.A)", "with E as y:\n    h(y.A)"]
GLOBALS = ["h(G)", "x = G", "G = E", "for G in E: pass"]
def program(random):
    def expression(deep):
        text = random.choice(EXPRESSIONS)
        # 3.12 and 3.13 store `getattr` as a local where such a one is inlined in a class.
        if deep and "[" in text: text = "%s.A"
        return text.replace("%s", random.choice(["o", "h", "G" if sys.version_info >= (3, 8) else "o"]))
    def body(deep, lines):
        out = []
        for _ in range(random.randrange(1, 4)):
            text = random.choice(STATEMENTS + (GLOBALS if sys.version_info >= (3, 8) else []))
            for line in text.replace("E", expression(lines == ["x = 1"])).split("\n"): out.append(line)
        if lines: out[:0] = lines
        return ["    " * deep + line for line in out]
    lines = body(0, [])
    lines += ["def f(o, v):"] + body(1, ["global G", "o.A = v"])
    lines += ["class C:"] + body(1, ["x = 1"])
    if random.random() < 0.2: lines += ["def getattr(*a): return a", "def globals(): return {}"]
    return lines
# Imports, drawn apart from the rest: before all else, where functions may rely on them, or later.
READS = {"builtins": ["h(I.x)", "o.A = I.B(o)", "h('o' in I.locals(), [I.y for i in o])"],
         "os.path": ["h(I.x)", "x = I", "o.A = I.B(o)"], "h.q.r": ["h(I)", "o.A = I.B(o)"]}
def with_imports(lines, random):
    if sys.version_info < (3, 8) or random.random() < 0.5: return lines
    place, module = random.choice([0, len(lines)]), random.choice(sorted(READS))
    statement = "import %s as I" % module
    lines[place:place] = [statement] * random.choice([1, 1, 2])
    lines += ["def g(o, v):"] + ["    " + random.choice(READS[module]) for i in range(random.choice([1, 3]))]
    if random.random() < 0.3: lines += ["def h():", "    global I", "    " + statement]
    if random.random() < 0.2: lines += ["class D:", "    " + statement]
    return lines
BINDERS = ["globals()[h] = o", "vars().update(h)", "exec(h)", "import builtins as b; b.setattr = o",
           "def g(): from sys import modules", "from h import *", "h.__dict__[o] = 1"]
folder, seed, count, binds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), len(sys.argv) > 4
for number in range(count):
    draw = random.Random(seed + number)
    source = "\n".join(with_imports(program(draw), random.Random("%d" % (seed + number)))) + "\n"
    if binds: source += draw.choice(BINDERS) + "\n"
    odd = draw.sample(["if", "0", "a b", "x-y", "None", "@p", "stages.0", "\ufb01"], 5)
    table = dict(zip(["A", "B", "KW", "G"], odd), I="@i")
    code = renamed(compile(source, "m.py", "exec"), table)
    with open(os.path.join(folder, "m%d.pyc" % (seed + number)), "wb") as f:
        f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
print("ok")
"""
)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_what_the_printer_writes_for_odd_names_is_proven(version, tmp_path):
    command = INTERPRETERS.native_command()
    if command is None:
        pytest.skip("the depyf program is not built")
    seed = int(os.environ.get("DEPYF_SEED", "1"))
    count = int(os.environ.get("DEPYF_COUNT", "20"))
    folder = tmp_path / "in"
    folder.mkdir()
    assert run(version, PROVEN, str(folder), str(seed), str(count)).endswith("ok\n")
    done = subprocess.run(
        [command, "decompile", str(folder), "-o", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
    )  # fmt: skip
    said = done.stdout.decode()
    assert done.returncode == 0 and "%d proven" % count in said, (seed, said)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_drawn_module_that_may_bind_builtins_is_not_proven_by_them(version, tmp_path):
    command = INTERPRETERS.native_command()
    if command is None:
        pytest.skip("the depyf program is not built")
    seed = int(os.environ.get("DEPYF_SEED", "1"))
    count = int(os.environ.get("DEPYF_COUNT", "10"))
    run(version, PROVEN, str(tmp_path), str(seed), str(count), "binds")
    for number in range(seed, seed + count):
        done = subprocess.run(
            [command, "decompile", str(tmp_path / ("m%d.pyc" % number))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
            env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
        )  # fmt: skip
        # Each has a function `f` that sets an odd attribute.
        proven = done.returncode == 0
        assert not proven or "rebuilds it from its bytes" in done.stdout, (number, done.stdout)


BINDERS = r"""
import builtins
globals()["%(name)s"] = wrong
globals().update(%(name)s=wrong)
vars()["%(name)s"] = wrong
locals()["%(name)s"] = wrong
exec("%(name)s = wrong")
eval("globals().update(%(name)s=wrong)")
exec(compile("%(name)s = wrong", "", "exec"))
import builtins as b; b.%(name)s = wrong
import builtins as b; setattr(b, "%(name)s", wrong)
import builtins as b; vars(b)["%(name)s"] = wrong
import builtins as b; b.locals()["%(name)s"] = wrong
import builtins as b; put = b.locals; put()["%(name)s"] = wrong
import builtins as b; class_of = lambda m: type(m).__setattr__(m, "%(name)s", wrong); class_of(b)
import builtins as b; b.__dict__["%(name)s"] = wrong
import importlib; importlib.import_module("builtins").%(name)s = wrong
__import__("builtins").%(name)s = wrong
import sys; sys.modules["builtins"].%(name)s = wrong
import sys; setattr(sys.modules[__name__], "%(name)s", wrong)
import sys; sys._getframe().f_globals["%(name)s"] = wrong
import sys; getattr(sys, "modules")["builtins"].%(name)s = wrong
wrong.__globals__["%(name)s"] = wrong
getattr(wrong, "__globals__")["%(name)s"] = wrong
print.__self__.%(name)s = wrong
import operator; operator.attrgetter("__globals__")(wrong)["%(name)s"] = wrong
from unittest import mock; p = mock.patch("builtins.%(name)s", wrong); p.start()
""".strip().split("\n")[1:]

# What the printer calls for an odd name, and a function that needs it.
USES = {
    "getattr": "def f(o): return o.ODD\nfound = f(o)",
    "setattr": "def f(o): o.ODD = 7\nf(o)",
    "delattr": "def f(o): del o.ODD\nf(o)",
    "globals": "def f():\n global ODD\n ODD = 7\nf()",
    "eval": "def f():\n global ODD\n return ODD\nfound = f()",
    "compile": "def f():\n return ODD\nfound = f()",
    "locals": "class A:\n ODD = 7\nfound = dir(A)",
    "exec": "def f():\n global ODD\n import os as ODD\nf()",
}

REBOUND = (
    PRELUDE
    + r"""
import importlib.util, json, os
folder, programs = sys.argv[1], json.loads(sys.argv[2])
for number, text in enumerate(programs):
    code = renamed(compile(text, "m.py", "exec"), {"ODD": "if"})
    with open(os.path.join(folder, "m%03d.pyc" % number), "wb") as f:
        f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""
)


def decompiled(version, folder, *programs):
    """[(is it proven, text, what was said)] of programs in which ODD is a name no source holds."""
    command = INTERPRETERS.native_command()
    if command is None:
        pytest.skip("the depyf program is not built")
    run(version, REBOUND, str(folder), json.dumps(programs))
    out = []
    for number in range(len(programs)):
        done = subprocess.run(
            [command, "decompile", str(folder / ("m%03d.pyc" % number))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
            env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
        )  # fmt: skip
        out.append((done.returncode == 0, done.stdout, done.stderr))
    return out


@pytest.mark.parametrize("version", ["3.8", "3.12", "3.14"])
@pytest.mark.parametrize("name", sorted(USES))
def test_a_builtin_that_the_module_may_bind_proves_no_name(version, name, tmp_path):
    start = "def wrong(*a, **k): return 'WRONG'\nclass O: pass\no = O()\no.ODD = 5\n"
    if name in ("eval", "compile"):
        start += "globals()['if'] = 5\n"
    programs = [
        "%s%s\n%s\n" % (start, text % {"name": name}, USES[name])
        for text in (BINDERS[::4] if version != "3.12" else BINDERS)
    ]
    for program, (proven, text, said) in zip(programs, decompiled(version, tmp_path, *programs)):
        reads = "%s(" % name in text.split("def f", 1)[-1].split("class A", 1)[-1]
        assert not (proven and reads), (program, text, said)
        assert "rebuilds it from its bytes" in text or "may bind with" in said, (program, said)


# A class body looks for the builtins in the namespace that a metaclass gives it, first.
NAMESPACES = [
    "class M(type):\n    %s\n" % line
    for line in (
        "def __prepare__(n, b): return GIVEN",
        "__prepare__ = classmethod(lambda m, n, b: GIVEN)",
        "pass\nM.__prepare__ = classmethod(lambda m, n, b: GIVEN)",
    )
] + ["class M(type): pass\nsetter = type.__dict__\n"]  # a module that may bind by other means
BODY = """
GIVEN = {name + rest: lambda *a: {"if": "WRONG"} for name, rest in zip(
    ["get", "set", "loc", "ev", "comp", "glob", "ex", "__imp"],
    ["attr", "attr", "als", "al", "ile", "als", "ec", "ort__"])}
class O: pass
o = O()
o.ODD = 5
def made(v):
    class Plain:
        held = v
        ODD = 1
        x = o.ODD
    class C(Plain, metaclass=M):
        held = v
        x = o.ODD
        o.ODD = v
        ODD = 4
        y = ODD
        z = [q.ODD for q in [o]]
    return C, Plain
for A in made(7): print(A.x, o.ODD, A.held, getattr(A, "if", None))
print(made(7)[0].y, made(7)[0].z)
"""


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_class_body_with_a_namespace_of_its_own_finds_the_builtins(version, tmp_path):
    programs = [start + BODY for start in NAMESPACES]
    for number, (proven, text, said) in enumerate(decompiled(version, tmp_path, *programs)):
        both = [
            PRELUDE + "exec(renamed(compile(%r, 'm', 'exec'), {'ODD': 'if'}), {'__name__': 'm'})",
            "exec(compile(%r, 'm', 'exec'), {'__name__': 'm'})",
        ]
        wanted = run(version, both[0] % programs[number])
        assert "WRONG" not in wanted and run(version, both[1] % text) == wanted, (text, wanted)
        if number == len(NAMESPACES) - 1:
            assert not proven or "rebuilds it" in text, text
        else:
            assert proven and "(lambda: getattr)()(o, 'if')" in text, (text, said)
            assert "taken for granted" in said and "getattr" in said.split("granted")[1], said
            assert "        x = getattr(o, 'if')" in text, text  # of a class with no bases


@pytest.mark.parametrize("version", ["3.8", "3.12", "3.14"])
@pytest.mark.parametrize(
    "line",
    [
        "import types; print(types.FunctionType(f.__code__, {})(o))",
        "print(type(f)(f.__code__, {})(o))",
        "import gc; gc.get_referents(f)",
        "import ctypes",
        "import pickle",
        "from pickle import loads",
    ],
)
def test_what_gives_a_function_other_globals_binds_builtins(version, line, tmp_path):
    program = "def f(o): return o.ODD\n%s\n" % line
    [(proven, text, said)] = decompiled(version, tmp_path, program)
    assert not proven or ("rebuilds it" in text and "taken for granted" in said), (text, said)
    [(proven, text, said)] = decompiled(version, tmp_path, program.replace("ODD", "even"))
    assert proven and "taken for granted" not in said, (text, said)


DEBUG = [
    "def f(ODD): return ODD\nprint(f(1))",
    "def f(*, ODD=2): return ODD\nprint(f(ODD=1))",
    "def f(**k): return k\nprint(f(ODD=2))",
    "def f():\n global ODD\n ODD = 4\n return ODD\nprint(f())",
    "ODD = 1\nprint(ODD)",
    "print([ODD for ODD in (1, 2)])",
    "class O: pass\no = O()\no.ODD = 4\nprint(o.ODD)\ndel o.ODD\nprint(vars(o))",
    "class O: ODD = 4\nprint(vars(O)['ODD'])",
    "def f():\n ODD = 1\n def g():\n  nonlocal ODD\n  ODD += 1\n  return ODD\n return g()\nprint(f())",
    "def ODD(): return 1\nprint(ODD())",
    "import os as ODD\nprint(ODD.name)",
    "for ODD in (1, 2): print(ODD)",
    "with open('/dev/null') as ODD: print(ODD.name)",
]


@pytest.mark.parametrize("version", VERSIONS)
def test_debug_is_a_name_that_no_source_can_store(version):
    program = (
        PRELUDE
        + """
import contextlib, io
from depyf import _core
def outcome(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {"__name__": "m"})
    return out.getvalue()
for source in %r:
    code = renamed(compile(source, "m", "exec"), {"ODD": "__debug__"})
    text = _core.decompile(code)[0]
    found = outcome(compile(text, "m", "exec"))
    assert found == outcome(code), (source, text, found)
print("ok")
"""
        % DEBUG
    )
    if version == "3.7":  # where code objects cannot be changed by the text
        program = program.replace(repr(DEBUG), repr(DEBUG[:3] + DEBUG[6:7]))
    assert run(version, program).endswith("ok\n")


def test_a_live_function_that_the_text_reaches_a_name_for_is_not_called_different():
    def f(o):
        return o.ODD

    f.__code__ = depyf.code_edit.replace(f.__code__, co_names=("if",))
    found = depyf.decompile(f)
    assert found.verdict == "unproven" and "getattr(o, 'if')" in found, found.detail
    found = depyf.decompile(
        depyf.code_edit.replace(compile("o.ODD", "m", "exec"), co_names=("o", "if"))
    )
    assert found.verdict == "unproven", found.detail


def test_a_module_that_binds_nothing_so_keeps_the_readable_form(tmp_path):
    plain = (
        "import re\npattern = re.compile('x')\nclass O: pass\no = O()\n"
        "o.compiled = getattr(o, 'x', 1)\n"
        + "\n".join(USES.values())
        + "\nif __name__ == '__main__': f(o)\n"
    )
    [(proven, text, said)] = decompiled("3.12", tmp_path, plain)
    assert proven and "return getattr(o, 'if')" in text and "rebuilds it" not in text, (text, said)
    assert "setattr(o, 'if', 7)" in text and "locals()['if'] = 7" in text, text


def test_computed_keys_beside_another_mapping_stay_in_a_display_of_their_own():
    def calls(f, k, m, o):
        f(**{k: 1}, **m)
        f(**{1: 2, "a": 3}, **m)
        f(*o, **{k: 1, "b": 2}, **m)

    found = depyf.decompile(calls)
    assert found.proven, found
    assert "f(**{k: 1}, **m)" in found


@pytest.mark.parametrize("version", VERSIONS)
def test_reading_the_attribute_debug_needs_no_builtin(version, tmp_path):
    source = "import builtins\n\n\ndef f(o):\n    return o.__debug__, o.a.__debug__(1), builtins.__debug__\n"
    [(proven, text, said)] = decompiled(version, tmp_path, source)
    assert proven and text == source, (text, said)


REWRITTEN = """
import builtins as B
import _pytest.assertion.rewrite as R
import os

def test(a, b=2):
    l1 = a.path
    l2 = l1 == b
    if not l2:
        l3 = R._call_reprcompare(("==",), (l2,), ("%(py0)s == %(py2)s",), (l1, b)) % {
            "py0": R._saferepr(a) if "a" in B.locals() or R._should_repr_global_name(a) else "a",
            "py2": R._saferepr(l1),
        }
        raise AssertionError(R._format_explanation(l3))
    l1 = l2 = None
    return a

class Test:
    def test(self):
        l1 = self.x
        l2 = l1()
        if not l2:
            raise AssertionError(R._format_explanation(R._saferepr(l2)))
        l1 = l2 = None
"""
ASSERTIONS = (
    PRELUDE
    + r"""
import importlib.util
table = {"B": "@py_builtins", "R": "@pytest_ar", "l1": "@py_assert1", "l2": "@py_assert2", "l3": "@py_format3"}
code = renamed(compile(sys.argv[2], "m.py", "exec"), table)
with open(sys.argv[1], "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""
)


def said_of(version, path):
    """(is it proven, the text, what was said)"""
    command = INTERPRETERS.native_command()
    if command is None:
        pytest.skip("the depyf program is not built")
    done = subprocess.run(
        [command, "decompile", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
        env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
    )  # fmt: skip
    return done.returncode == 0, done.stdout, done.stderr


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_assertions_that_pytest_rewrote_are_plain_and_proven(version, tmp_path):
    run(version, ASSERTIONS, str(tmp_path / "m.pyc"), REWRITTEN)
    proven, text, said = said_of(version, tmp_path / "m.pyc")
    assert proven and "marshal" not in text, (text, said)
    assert "import _pytest.assertion.rewrite as x" in text
    assert "if 'a' in globals()['@py_builtins'].locals()" in text, text


@pytest.mark.parametrize("local", ["py_assert1", "_py_assert1", "@py_assert1"])
def test_a_renamed_local_that_the_code_asks_for_by_name_is_not_proven(local, tmp_path):
    source = REWRITTEN.replace('"a" in B.locals()', "%r in B.locals()" % local)
    run("3.11", ASSERTIONS, str(tmp_path / "m.pyc"), source)
    proven, text, said = said_of("3.11", tmp_path / "m.pyc")
    renamed = "'%s' in" % local in text and " %s = " % local in text
    assert not (proven and (renamed or local.startswith("@")) and "marshal" not in text), text


def test_modules_that_this_pytest_rewrites(tmp_path):
    rewrite = pytest.importorskip("_pytest.assertion.rewrite")
    import ast
    import importlib.util
    import marshal
    import sys

    version = "%d.%d" % sys.version_info[:2]
    if version not in VERSIONS[1:]:
        pytest.skip("this CPython is none of those that are tested")
    for name in ("test_growth.py", "test_odd_names.py", "test_dis.py", "test_words.py"):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            source = file.read()
        tree = ast.parse(source)
        rewrite.rewrite_asserts(tree, source)
        code = compile(tree, path, "exec", dont_inherit=True)
        (tmp_path / "m.pyc").write_bytes(
            importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
        )
        _, text, said = said_of(version, tmp_path / "m.pyc")
        assert "exec(\n    __import__('marshal')" not in text, (name, said)
