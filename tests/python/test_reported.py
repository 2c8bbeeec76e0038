"""Programs that were once reported: what comes back does the same, is proven, and has the form that
a person would write.

Each stands with the versions on which it was wrong; all of a version are compiled, decompiled,
checked and run together.
"""

import json
import os
import re
import subprocess

import pytest
from pythons import ROOT, VERSIONS, path_of

from tests.interpreters import native_command

LOOP_IN_CLASS = """
class Reader:
    while True:
        if ready():
            try:
                item = fetch()
            except KeyError:
                break
        print("round")
    print("left")
"""
LOOP_IN_SCRIPT = """
def unused(): pass
while True:
    if ready():
        try:
            item = fetch()
        except KeyError:
            break
    print("round")
"""
LOOP_WITH = """
while True:
    with opened("f") as stream:
        if stream.read():
            break
    print("again")
"""
FUTURE = """
from __future__ import annotations
one: Named(fields=[("a", "b")])
two: [("k", 1)]
three: Table[("k", 1)]
four: [(1, 2), 3]
def f(a: [(1, 2)], b: {"k": [("x",)]}) -> call([(1, 2)]): pass
print(__annotations__, f.__annotations__)
"""
ARMS = """
def added(a, b): return a + (1 if b else 0) * 60
def both(a): return (0 if a else 1) + 5
def one(a, b): return f(a, (b if b is not None else 0) | 2148401152)
def down(a): return (7 if a else -7) // 2, (7 if a else -7) % 3
def signed(a): return -(a if a else 1)
def raised(a): raise ValueError((1 if a else -2) * 60)
def f(a, b): return a, b
for a in (0, 3):
    print(added(a, a), both(a), one(a, None), one(a, 5), down(a), signed(a))
    try:
        raised(a)
    except ValueError as error:
        print(error)
"""
ASYNC_HANDLER = """
class Items:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        self.n -= 1
        if self.n < 0: raise StopAsyncIteration
        return self.n
async def f(a):
    try:
        print(1 // a)
    except ZeroDivisionError as error:
        async for x in Items(3):
            print(x, error)
    print("between")
    try:
        print(1 // a)
    except ZeroDivisionError as error:
        found = [x async for x in Items(4) if x]
        print(found, error)
        return found
    else:
        async for x in Items(3):
            break
    finally:
        try:
            print(2 // a)
        except ZeroDivisionError:
            async for x in Items(2):
                print(x)
            else:
                print("end")
        print("last")
for a in (0, 1):
    try:
        f(a).send(None)
    except StopIteration as stop:
        print(stop.value)
"""
RAISING_FINALLY = """
log = []
try:
    class A:
        try:
            [log.append(x) for x in (1, 2, None) if x if log or x]
        finally:
            raise KeyError(len(log))
except KeyError as error:
    print(error)
"""
RAISING_FINALLY_OF_STAR = """
def f(log, wrong):
    try:
        log.missing
    except AttributeError:
        try:
            raise wrong
        except* KeyError:
            log and log.append(1)
        except* ValueError:
            [log.append(x) for x in (2, 3)]
        finally:
            raise TypeError(log)
for wrong in (KeyError(), ValueError(), OSError()):
    try:
        f([0], wrong)
    except TypeError as error:
        print(error)
"""
ANNOTATION_BESIDE_MATCH = """
class A:
    match 5:
        case int() | str():
            pass
    y: int = 2
print(A.y, A.__annotations__)
match 5:
    case int() | str():
        pass
z: str = 'z'
"""
LOOP_IN_HANDLER = """
def f(wrong, rounds):
    try:
        raise wrong
    except KeyError:
        while True:
            try:
                print(rounds.pop())
            finally:
                print("round")
            if not rounds:
                break
    except ValueError:
        while True:
            pass
            if rounds.pop():
                break
for wrong in (KeyError(), ValueError(), OSError()):
    rounds = [1, 0]
    try:
        f(wrong, rounds)
    except OSError as error:
        print(repr(error))
    print(rounds)
"""
LOOP_IN_TWO_TRIES = """
def f(values, wrong):
    try:
        try:
            while True:
                if values.pop(): break
        finally:
            print("left", values)
    except wrong:
        print("empty")
    print("end")
for values in ([1, 0], [0]):
    for wrong in (IndexError, KeyError):
        try:
            f(list(values), wrong)
        except IndexError as error:
            print(error)
"""
ODD = "an attribute named if"  # getattr(o, "if") is not proven to be the attribute
ODD_NAME = "o = Open()\nsetattr(o, 'PLACE', 5)\nprint(o.PLACE, getattr(o, 'PLACE'))\n"

#: name: (first version, last, program)
PROGRAMS = {
    "conditional expression of constants as an operand": (7, 15, ARMS),
    "async for in an exception handler": (7, 15, ASYNC_HANDLER),
    "finally that raises in a class": (7, 15, RAISING_FINALLY),
    "finally that raises behind except*": (11, 15, RAISING_FINALLY_OF_STAR),
    "annotation behind a match": (10, 15, ANNOTATION_BESIDE_MATCH),
    "endless loop in a handler": (7, 15, LOOP_IN_HANDLER),
    "endless loop in two try statements": (7, 15, LOOP_IN_TWO_TRIES),
    "loop that ends a class": (7, 15, LOOP_IN_CLASS),
    "loop that ends a script": (7, 15, LOOP_IN_SCRIPT),
    "loop around a with that ends a script": (7, 15, LOOP_WITH),
    "filter with a constant in a function": (
        7, 15, "def f(xs):\n    ys = [x for x in xs if (8 if x is None else x)]\n    return ys\nprint(f([None, 0, 2]))\n",
    ),
    "filter with a constant, returned": (7, 15, "def f(xs): return [x for x in xs if (8 if x is None else x)]\nprint(f([None, 0, 2]))\n"),
    "filter with a constant in a class": (7, 15, "class A:\n    l = [i for i in (1, None) if (8 if i is None else i)]\nprint(A.l)\n"),
    "filter with a constant in a module": (7, 15, "xs = [None, 0, 2]\nprint([x for x in xs if (8 if x is None else x)])\n"),
    "generic function with an annotated local": (12, 15, "def f[T](v: tuple[T]) -> T:\n    y: T = v[0]\n    return y\nprint(f((1,)))\n"),
    "generator expression as a base": (
        7, 15, "class Meta:\n    def __mro_entries__(self, bases): return (object,)\ntry:\n    class A((b for b in [1])): ...\n"
        "except TypeError as error: print('TypeError')\n",
    ),
    "conditional base beside a loop": (
        7, 15, "import sys\nclass A(dict if sys.version_info > (3, 5) else list):\n    y = 1\n    def m(self): return self.y\n"
        "print(A().m())\nn = 0\nwhile True:\n    if len('a'):\n        try:\n            n += 1\n            1 / (n - 3)\n"
        "        except ZeroDivisionError:\n            break\n    print(n)\n",
    ),
    "conditional base beside cells": (
        7, 15, "def f(xs, base):\n    total = 0\n    class K(base if xs else object):\n        z = 7\n        def get(self): return self.z, total\n"
        "    ys = [x for x in xs if (4 if x is None else x)]\n    total = len(ys)\n    g = (lambda: total) if ys else None\n"
        "    return K().get(), ys, g and g()\nprint(f([None, 1, 0], dict))\n",
    ),
    "attribute as the target of a comprehension": (
        7, 15, "class Q: pass\ndef f(a, q):\n    r = [q.x for q.x in a]\n    return locals()\nprint(sorted(f([1, 2], Q())))\nq = Q()\n"
        "r = [q.x for q.x in (1, 2)]\nprint(sorted(k for k in globals() if not k.startswith('__') or 'temp' in k))\n",
    ),
    "annotation of an attribute": (
        7, 15, "class X: pass\nx = X()\nx.y: int = 2\nprint('__conditional_annotations__' in globals(), '__annotate__' in globals())\n",
    ),
    "annotation under a condition": (
        7, 15, "import sys\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    if sys.version_info >= (3, 1):\n"
        "        y: int\n    z: int\nprint(P(1, 2, 3))\n",
    ),
    "tuples in future annotations": (7, 15, FUTURE),
    "annotated global of a function": (
        7, 15, "x: int = {}\ndef f():\n    global x\n    if not x:\n        for a in x: x[a] = 1\n    return x.get(1)\nprint(f())\n",
    ),
    "cell that nothing captures": (
        7, 15, "def f(a): return lambda b: (b, 0 and (lambda: b), a)\nprint(f(1)(2))\ndef g(a):\n    if 0: (lambda: a)\n    return a\nprint(g(1))\n",
    ),
    "negated constants": (7, 15, "print(not not not 2.0, not not 1, not None, not ())\n"),
    "annotations that nothing keeps": (
        7, 15, "class A:\n    (x): int = 5\nclass B:\n    (x): int\n    def f(self): return 1\nprint(A.x, B().f())\n",
    ),
    "chained walrus as a base": (8, 15, "class A(x := (y := object)):\n    z = 1\nprint(A.z, x is y)\n"),
    "constants nobody reads beside a chain of targets": (
        7, 15, "def f():\n    b = c = 5\n    1 if 0 else 2\n    1 if 0 else 2\n    return b, c\nprint(f())\n",
    ),
    "tests of constants beside constants nobody reads": (
        7, 15, "def f():\n    1 if 0 else 2\n    1 if 0 else 2\n    if 1 == 2: print(1)\n    elif 1 is None: print(2)\n    else: print(3)\nf()\n",
    ),
    "pattern of a constant beside constants nobody reads": (
        10, 15, "def f():\n    1 if 0 else 2\n    1 if 0 else 2\n    match 1:\n        case None: print(1)\n        case _: print(2)\nf()\n",
    ),
    "display in a chained comparison beside a dropped store": (
        7, 15, "g = print\ndef f(a=()):\n    g(() == a is not [])\n    b, b = (None, g())\nf()\n",
    ),
    "display in a chained comparison in a handler": (
        7, 15, "def f(d, a):\n    try:\n        1 if 0 else 2\n        d.x\n    except AttributeError:\n"
        "        if (lambda: ())() == a is not {}:\n            print('is not')\nf(1, ())\nf(1, 2)\n",
    ),
    "unequal as the future spells it": (14, 15, "from __future__ import barry_as_FLUFL\nprint(1 <> 2, f'{1 <> 1}')\n"),
    "local of the name that assert raises": (
        7, 15, "def f(x):\n    AssertionError = ValueError\n    assert x, 'a'\n    raise AssertionError('b')\n"
        "for x in 0, 1:\n    try: f(x)\n    except Exception as error: print(type(error), error)\n",
    ),
    "chained walrus in a generator": (
        8, 15, "def f():\n    if any((k := (v := x)) for x in ['ok']):\n        print(k, v)\nf()\n",
    ),
}  # fmt: skip

#: a last statement whose argument is a conditional expression
LAST = [
    "def f(x, z): print(f'{x}' if x else f'{z}')",
    "import sys\ndef f(x, z):\n    if x: sys.exit(f'{x}' if x else f'{z}')\n    raise SystemExit(f'{x}' if x else f'{z}')",
    "def f(x, z):\n    for i in x:\n        print(f'{i:>3}' if i else f'{z}')",
    "x = z = 1\nprint('a' if x else 'b')",
    "x = z = 1\nprint(x.real if x else z.imag)",
    "x = z = 1\nprint('yes' if x else f'{z} no')",
    "x = z = 1\nprint(f'{x} yes' if x else 'no')",
    "x = z = 1\nprint(x + 1 if x else z + 2)",
    "x = z = 1\nprint(str(x) if x else repr(z))",
    "x = z = 1\nif x:\n    print(f'{x} yes' if x else f'{z} no')",
    "x = z = 1\nif x:\n    print()\n    print(f'{x} yes' if x else f'{z} no', file=None)",
    "import sys\nx = z = 1\nif x:\n    sys.exit(f'{x}' if x else f'{z}')",
]
# 3.10 has rows only, and prints a temporary here.
PROGRAMS["conditional argument before return"] = (
    11,
    15,
    "def f(x, z):\n    print(f'{x:>3}' if x else f'{z}')\n    return\n",
)
for _number, _text in enumerate(LAST):
    PROGRAMS["conditional argument %d" % _number] = (7, 15, _text + "\n")

# Runs under each version. `compile`: FOLDER gets NAME.pyc of the programs in stdin. `run`: prints
# {name: what each prints}.
WORK = r"""
import contextlib, importlib.util, io, json, marshal, os, random, sys, types, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[3])
class Stream:
    def __init__(self): self.left = 2
    def __enter__(self): return self
    def __exit__(self, *kind): print("exit", kind[0])
    def read(self):
        self.left -= 1
        return self.left == 0
class Open: pass
def names():
    state = {"left": 3, "stream": Stream()}
    def fetch():
        state["left"] -= 1
        if state["left"] == 0: raise KeyError
        return state["left"]
    def ready():
        print("ready")
        return True
    return dict(fetch=fetch, ready=ready, opened=lambda name: state["stream"], Open=Open, __name__="m")
def outcome(text):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try: exec(text if isinstance(text, types.CodeType) else compile(text, "m", "exec"), names())
        except (Exception, SystemExit) as error: print("raised", type(error).__name__, error)
    return out.getvalue()
def renamed(code, old, new):
    from obfuscate import read, written
    consts = tuple(new if one == old else one for one in code.co_consts)
    made = written(code, read(code), consts)
    names = tuple(new if one == old else one for one in code.co_names)
    if hasattr(made, "replace"): return made.replace(co_names=names)
    return types.CodeType(
        0, 0, 0, made.co_stacksize, made.co_flags, made.co_code, consts, names, (), "m", "<module>", 1, made.co_lnotab)
def with_junk(text, before, kinds):
    from obfuscate import Obfuscator, read
    code = compile(text, "m", "exec")
    class Here(Obfuscator):
        def wanted(self, one):
            name = code.co_names[one.arg] if one.name == "LOAD_NAME" else ""
            return before in (one.name, name)
    return Here(random.Random(1), code, 1.0, kinds).run()
SPECIAL = {
    "an attribute named if": lambda: renamed(compile(ODD_NAME, "m", "exec"), "PLACE", "if"),
    "a jump to the next operation in a handler": lambda: with_junk(
        "try:\n    fetch(1)\nexcept TypeError:\n    print(2)\nprint(3)\n", "TypeError", ["noop"]),
    "a decided branch before a class is made": lambda: with_junk(
        "class C(object):\n    x = 1\nprint(C.x)\n", "MAKE_FUNCTION", ["truth"]),
}
ODD_NAME = sys.argv[4]
given = json.load(sys.stdin)
if sys.argv[1] == "compile":
    codes = {name: compile(text, "m", "exec") for name, text in given.items()}
    codes.update((name, make()) for name, make in SPECIAL.items())
    for name, code in codes.items():
        with open(os.path.join(sys.argv[2], name + ".pyc"), "wb") as f:
            f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    json.dump({name: outcome(code) for name, code in codes.items()}, sys.stdout)
else:
    json.dump({name: outcome(text) for name, text in given.items()}, sys.stdout)
"""


def work(version, what, folder, given):
    oracle = os.path.join(ROOT, "tests", "oracle")
    done = subprocess.run(
        [path_of(version), "-c", WORK, what, str(folder), oracle, ODD_NAME],
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("version", VERSIONS)
def test_reported_programs(version, tmp_path):
    command, minor = native_command(), int(version[2:])
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    given = {name: row[2] for name, row in PROGRAMS.items() if row[0] <= minor <= row[1]}
    expected = work(version, "compile", tmp_path, given)
    paths = os.environ.get("DEPYF_PYTHONS", "")
    done = subprocess.run(
        [command, "decompile", "--format", "json", str(tmp_path), "-o", str(tmp_path)],
        env=dict(os.environ, DEPYF_PYTHONS=os.pathsep.join([path_of(version), paths])),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    texts, wrong = {}, []
    for name in expected:
        with open(str(tmp_path / (name + ".json")), encoding="utf-8") as f:
            found = json.load(f)
        texts[name] = found["source"]
        if not found["check"]["proven"] and name != ODD:
            wrong.append("%s: %s\n%s" % (name, found["check"], found["source"]))
        elif re.search("__(temp|function)_|marshal", found["source"]):
            wrong.append("%s: not plain\n%s" % (name, found["source"]))
    printed = work(version, "run", tmp_path, texts)
    wrong += [
        "%s\nexpected: %s\nprinted: %s\n%s" % (name, expected[name], printed[name], texts[name])
        for name in expected
        if printed[name] != expected[name]
    ]
    assert not wrong, "\n".join(wrong) + done.stderr[-2000:]


@pytest.mark.parametrize("version", VERSIONS)
def test_order_of_locals_is_said_to_be_left_out(version, tmp_path):
    """The compiler removes `if 0: b = 1`, which named `b` first, and keeps the order."""
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    text = (
        "def f():\n    if 0: b = 1\n    a = 1\n    b = 2\n    return locals()\nprint(list(f()))\n"
    )
    printed = work(version, "compile", tmp_path, {"order": text})["order"]
    done = subprocess.run(
        [command, "decompile", str(tmp_path / "order.pyc")],
        env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    left_out = "the order in which `locals()` has the variables" in done.stderr
    assert left_out == (work(version, "run", tmp_path, {"order": done.stdout})["order"] != printed)


@pytest.mark.parametrize("version", VERSIONS)
def test_variables_of_removed_code_are_said_to_be_left_out(version, tmp_path):
    """`if 0: b = 1` is gone, but for the variable's name in the code object."""
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    text = (
        "def f(a):\n    {}: b = 1\n    return a\n"
        "print(f.__code__.co_varnames, f.__code__.co_nlocals)\n"
    )
    texts = {"removed": text.format("if 0"), "kept": text.format("if a")}
    printed = work(version, "compile", tmp_path, texts)
    for name in texts:
        done = subprocess.run(
            [command, "decompile", str(tmp_path / (name + ".pyc"))],
            env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        left_out = "variables in `co_varnames` that only removed code names" in done.stderr
        again = work(version, "run", tmp_path, {name: done.stdout})[name]
        assert left_out == (again != printed[name])
        assert left_out == (name == "removed" and version not in ("3.7", "3.8", "3.9"))


#: managers of which one method is missing, and some that tell when each is looked up
MANAGERS = """
class Enters:
    def __enter__(self): return self
class Leaves:
    def __exit__(self, *kind): pass
class Neither: pass
class Tells:
    __enter__ = property(lambda self: print("enter") or (lambda: print("entered")))
    __exit__ = property(lambda self: print("exit") or (lambda *kind: print("left", kind[0])))
    async def none(self, *kind): print("awaited", kind)
    __aenter__ = property(lambda self: print("aenter") or self.none)
    __aexit__ = property(lambda self: print("aexit") or self.none)
def plain(manager):
    with manager as a: print(a)
async def later(manager):
    async with manager as a: print(a)
for kind in Enters, Leaves, Neither, Tells:
    try: plain(kind())
    except (AttributeError, TypeError) as error: print("__enter__" in str(error), "__exit__" in str(error))
try: later(Tells()).send(None)
except StopIteration: pass
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dispatch_loop_looks_up_the_methods_of_with_in_order(version, tmp_path):
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    printed = work(version, "compile", tmp_path, {"with": MANAGERS})["with"]
    source = subprocess.run(
        [command, "decompile", "--no-check", "--ladder", "5", str(tmp_path / "with.pyc")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
    ).stdout
    found = work(version, "run", tmp_path, {"with": source})["with"]
    if 11 <= int(version[2:]) <= 13:  # a TypeError, which names only a missing __exit__
        printed = printed.replace("False False", "True False")
    assert found == printed


IN_PLACE = """
def local(a, q):
    a += [1 if q else 2]
def attribute(a, q):
    a.x += [1 if q else 2]
def item(a, q):
    a[0] += [1 if q else 2]
def glob(q):
    global kept
    kept += [1 if q else 2]
def cell(a, q):
    a += [1 if q else 2]
    return lambda: a
class Box: x = [0]
kept, box, row = [0], Box(), [[0]]
mine, plain, inner = kept, [0], row[0]
local(plain, True); local(plain, False); attribute(box, True); item(row, False); glob(True)
print(plain, Box.x, box.x is Box.x, inner, mine, cell(plain, True)() is plain)
class Body:
    before = shared = [0]
    shared += [1 if plain else 2]
    print(before)
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dispatch_loop_changes_objects_in_place(version, tmp_path):
    """Also where the operand spans blocks, so that a temporary holds the object."""
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    printed = work(version, "compile", tmp_path, {"place": IN_PLACE})["place"]
    source = subprocess.run(
        [command, "decompile", "--no-check", "--ladder", "5", str(tmp_path / "place.pyc")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
    ).stdout
    assert "__temp_state" in source
    assert work(version, "run", tmp_path, {"place": source})["place"] == printed


ASYNC_LOOPS = """
class Instance:
    def __init__(self): self.__aiter__ = self.__anext__ = None
class Once:
    left = 1
    def __aiter__(self): return self
    async def __anext__(self):
        self.left -= 1
        if self.left < 0: raise StopAsyncIteration
        return self.left
async def loop(it):
    async for x in it: print(x)
async def comp(it):
    return [x async for x in it]
for kind in Once, Instance, int:
    for f in loop, comp:
        try: f(kind()).send(None)
        except BaseException as error: print(type(error), error.args if kind is Once else "")
"""


@pytest.mark.parametrize("version", [v for v in VERSIONS if int(v[2:]) >= 10])
def test_a_dispatch_loop_looks_up_async_iterators_on_the_type(version, tmp_path):
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    printed = work(version, "compile", tmp_path, {"loops": ASYNC_LOOPS})["loops"]
    source = subprocess.run(
        [command, "decompile", "--no-check", "--ladder", "5", str(tmp_path / "loops.pyc")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
    ).stdout
    assert work(version, "run", tmp_path, {"loops": source})["loops"] == printed


#: ends that the compiler copies, of which only rows tell that they are one
COPIED_ENDS = """
def handled():
    try: a()
    except x: pass
    except: pass
    raise
def left():
    with q, a: pass
    raise a
"""
NO_ROWS = r"""
import importlib.util, marshal, sys, types
def bare(code):
    consts = tuple(bare(one) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=consts, co_linetable=b"")
code = bare(compile(sys.stdin.read(), "m", "exec"))
with open(sys.argv[1], "wb") as f: f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


@pytest.mark.parametrize("version", [v for v in VERSIONS if int(v[2:]) >= 10])
def test_copies_of_a_raise_without_rows_are_one(version, tmp_path):
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    path = str(tmp_path / "bare.pyc")
    subprocess.run(
        [path_of(version), "-c", NO_ROWS, path],
        input=COPIED_ENDS,
        universal_newlines=True,
        check=True,
    )
    source = subprocess.run(
        [command, "decompile", "--no-check", path], stdout=subprocess.PIPE, universal_newlines=True
    ).stdout
    assert "__temp" not in source and "while" not in source, source
    assert source.count("raise") == 2, source
