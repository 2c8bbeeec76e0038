"""Names mean the same in decompiled source: kept programs, and random ones from
tests/oracle/scopes_run.py.

The long form: tests/oracle/scopes_run.py DEPYF 5000 under each interpreter.
"""

import functools
import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import SUPPORTED, interpreters, native_command  # noqa: E402

ORACLE = os.path.join(os.path.dirname(HERE), "oracle", "scopes_run.py")
LINE_TABLES = os.path.join(os.path.dirname(HERE), "oracle", "line_tables_run.py")
SYMTABLES = os.path.join(os.path.dirname(HERE), "oracle", "symtable_run.py")

#: A folder; sources by name on standard input.
COMPILE_ALL = """
import importlib.util, json, marshal, sys
for name, source in json.load(sys.stdin).items():
    with open("%s/%s.pyc" % (sys.argv[1], name), "wb") as f:
        f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, "p", "exec")))
"""

COMPILE = """
import importlib.util, marshal, sys
with open(sys.argv[1], "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(sys.stdin.read(), "p", "exec")))
"""

# What each was printed as once ran differently: first version, program.
PROGRAMS = {
    "conditional_filter_in_function": (
        7,
        """
def f(fields):
    return [x for x in fields if (4 if x is None else x)]
print(f([None, 0, 3]))
""",
    ),
    "conditional_filter_in_class": (
        7,
        """
class A:
    l = [i for i in (1, None) if (4 if i is None else i)]
print(A.l, hasattr(A, "i"))
""",
    ),
    "conditional_filter_in_module": (
        7,
        """
fields = [None, 0, 3]
print([g for g in fields if (4 if g is None else g)])
""",
    ),
    "future_import": (
        7,
        """\"\"\"Of this text the module makes __doc__.\"\"\"
from __future__ import annotations
def f(a: b.c):
    return a
print(f(1), f.__annotations__, __doc__)
""",
    ),
    "class_declares_what_a_method_takes_from_outside": (
        7,
        """
x = 1
def f():
    x = 2
    class C:
        global x
        y = x
        def m(self, a=x): return x, a
    return C
print(f().y, f()().m())
""",
    ),
    "class_declares_what_its_annotations_name": (
        12,
        """
x = int
def f():
    x = 2
    class C:
        global x
        type A = x
        def m[T](self, a: x) -> x: return x
    return C
print(f()().m(1), f().m.__annotations__, f().A.__value__)
""",
    ),
    "constraints_and_bounds": (
        12,
        """
def f[T: ((None and log(T)), str), U: (1 or T, 2)](): pass
def g[T: ((1, 2) if True else T), U: (1, 2)](): pass
type A[T] = (1 or T, 2)
print([(t.__bound__, t.__constraints__) for h in (f, g) for t in h.__type_params__], A.__value__)
""",
    ),
    "alias_of_no_expression": (
        12,
        """
class B: pass
def f(b, x):
    type A = (b, {1: x for b.v in ((1, 2), None) if (False if x else None)})
    return A
print(f(B(), 0).__value__[1], f(B(), 1).__name__)
""",
    ),
    "annotation_behind_inlined_comprehension": (  # CPython 3.14+ takes `b` for one of the class
        12,
        """
def show(value):
    try:
        return str(value())
    except Exception as error:
        return type(error).__name__
def make(b):
    class A:
        l = [k for b in (1, 2) for k in (b,)]
        def m(self, x: b): return 1
    return A
A = make(int)
print(A.l, show(lambda: A.m.__annotations__))
""",
    ),
    "private_names_in_a_generic_header": (
        13,
        """
__p, __x = int, 5
class D:
    class C[T: __p, __U: __U](list[lambda: (__x, __U)]):
        __m = 1
        def f(self) -> __U: return __T
    __k = 2
C = D.C
print(C.__type_params__, C.__type_params__[0].__bound__, C.__orig_bases__[0].__args__[0](),
      sorted(k for k in vars(C) if k.endswith("m")), sorted(k for k in vars(D) if k.endswith("k")))
""",
    ),
    "conditional_base_beside_dispatch_loop": (
        7,
        """
import sys
class C(dict if sys.version_info > (3, 5) else list):
    y = 1
    def m(self): return self.y
print(C().m(), C.__name__, C.__qualname__)
n = 0
def ready(): return True
while True:
    if ready():
        try:
            n += 1
            1 / (n - 3)
        except ZeroDivisionError:
            break
    print(n)
""",
    ),
    "conditional_base_in_function": (
        7,
        """
def fun(fields, base):
    total = 0
    class K(base if fields else object):
        z = 7
        def get(self): return self.z, total
    flds = [f for f in fields if (4 if f is None else f)]
    total = len(flds)
    g = (lambda: total) if flds else None
    return K().get(), flds, g and g()
print(fun([None, 1, 0], dict))
""",
    ),
    "chained_walrus_base": (
        8,
        """
class C(x := (y := object)):
    z = 1
print(C.z, x, y)
""",
    ),
    "chained_walrus_in_generator": (
        8,
        """
def f():
    if any((key := (value := x)) for x in ["ok"]):
        print(key, value)
f()
""",
    ),
    "annotation_behind_code": (
        7,
        """
class C:
    a: 't' = 1
b: int = 2
print(sorted(C.__annotations__), sorted(globals().get('__annotations__') or ['b']), b)
""",
    ),
    "annotated_name_that_a_class_declares": (
        7,
        """
n: int = 3
print(n)
class C:
    global n
""",
    ),
    "generator_that_never_yields": (
        7,
        """
print(list(c for b in () if None), list((lambda: (yield) if None else 3)()))
""",
    ),
    "lambdas_of_the_same_bytes": (
        7,
        """
def f(c): return (lambda: 1) if c else (lambda: 2)
def g(a, c):
    k = (lambda: 1) if c else (lambda: 1.0)
    return k
print(f(1)(), f(0)(), g(1, 1)(), g(1, 0)())
""",
    ),
    "names_of_builtins": (
        7,
        """
import marshal as __function_0, sys as set
iter = 5
class C:
    list, dict, object, NameError, BaseException = 1, 2, 3, 4, 5
    def g(self, s):
        locals = map = 3
        try:
            return [i for i in s if not {**{}, i: i} in (4,)], {i for i in s}, locals
        finally:
            [i for i in s]
print(C().g([1, 2]), C.list, [i for i in (1, 2)], list(i for i in (3, 4)))
print([n for n in list(globals()) if n.startswith("__function")])
""",
    ),
    "type_parameter_in_local_annotation": (
        12,
        """
def second[T](var: tuple[T]) -> T:
    y: T = var[0]
    return y
print(second((1,)), second.__type_params__)
""",
    ),
}

# What -O removes of each was all that took the class, or its namespace, from its cell.
REMOVED = {
    "super": (7, "class A:\n    if __debug__:\n        def m(self): super()\n    x = 1\n"),
    "class": (
        7,
        "class A:\n    def n(self): pass\n    if __debug__:\n        f = lambda: __class__\n",
    ),
    "type_parameter": (
        12,
        "class A:\n    x = 1\n    if __debug__:\n        def m[T](self): pass\n",
    ),
    "alias": (
        12,
        "class A:\n    if __debug__:\n        type X = int\n    def n(self): return __class__\n",
    ),
    "annotation": (
        7,
        "x: int = 1\nif __debug__:\n    x: int\nclass A:\n    if __debug__:\n        y: str\n",
    ),
    "attribute": (
        8,
        "class A:\n    if __debug__:\n        def m(self): self.q = self.__r = 1\n    x = 1\n"
        "class B:\n    def m(self):\n        if __debug__: self.q = 1\n        self.s = 1\n"
        "        class C:\n            def n(self): raise E; self.t = 1\n",
    ),
    "both": (12, "class A:\n    _ = 1\n    if __debug__:\n        def m[T](self): super()\n"),
}


@functools.lru_cache(maxsize=None)
def output(python, source):
    done = subprocess.run(
        [python, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60
    )
    assert not done.stderr, done.stderr.decode() + source
    return done.stdout


@pytest.fixture(params=SUPPORTED, ids=lambda minor: "3.%d" % minor)
def python(request):
    """The minor version and path of each CPython that is found."""
    if request.param not in interpreters():
        pytest.skip("no CPython 3.%d" % request.param)
    if native_command() is None:
        pytest.skip("no native command was built")
    return request.param, interpreters()[request.param]


@pytest.mark.parametrize("ladder", [0, 5])
def test_kept_programs(python, ladder, tmp_path):
    """Each does the same as what comes back of it, in the forms of both rungs of the ladder."""
    minor, path = python
    sources = {name: source for name, (since, source) in PROGRAMS.items() if minor >= since}
    compiled, back = tmp_path / "compiled", tmp_path / "back"
    compiled.mkdir()
    subprocess.run(
        [path, "-c", COMPILE_ALL, str(compiled)], input=json.dumps(sources).encode(), check=True
    )
    subprocess.run(
        [native_command(), "decompile", "--no-check", "--ladder", str(ladder), str(compiled),
         "-o", str(back)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
    )  # fmt: skip
    for name, source in sources.items():
        text = (back / (name + ".py")).read_text(encoding="utf-8")
        assert output(path, text) == output(path, source), "%s\n%s" % (name, text)


def test_cells_that_removed_code_took(python, tmp_path):
    """A class is plain and proven where nothing that is left takes what it keeps in a cell."""
    minor, path = python
    for name, (since, source) in REMOVED.items():
        if minor < since:
            continue
        compiled = tmp_path / (name + ".pyc")
        subprocess.run(
            [path, "-O", "-c", COMPILE, str(compiled)], input=source.encode(), check=True
        )
        done = subprocess.run(
            [native_command(), "decompile", str(compiled)], env=dict(os.environ, DEPYF_PYTHONS=path),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
        )  # fmt: skip
        said = done.stderr.decode()
        assert " proven (" in said and "ladder" not in said, said + done.stdout.decode()


def test_what_a_removed_function_declares_global(python, tmp_path):
    """Its code is left among the constants, and its declaration is not in the text."""
    path = str(tmp_path / "p.pyc")
    program = """
b = 1
def f(y):
    b = y
    while '':
        def g():
            global b
            return b, y
    else:
        raise b
        def h():
            global b
            return b, y
        return
    b
"""
    subprocess.run([python[1], "-c", COMPILE, path], input=program.encode(), check=True)
    command = [native_command(), "decompile", "--check", path]
    environment = dict(os.environ, DEPYF_PYTHONS=python[1])
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
    assert b"exec" not in done.stdout


@pytest.mark.parametrize("ladder", [0, 5])
def test_random_programs(python, ladder):
    """A short run of the random programs."""
    _, path = python
    done = subprocess.run(
        [path, ORACLE, native_command(), "50" if ladder else "100", "100", str(ladder)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()


def test_random_programs_are_proven(python):
    """A short run of the random programs, proven; so many are not: it only gets less.

    Modules that may bind builtins dynamically are among these: `locals` in them may be another one.
    """
    minor, path = python
    limit = {12: 2, 13: 2}.get(minor, 0)
    for count, optimize in (("40", "0"), ("20", "1")):
        done = subprocess.run(
            [path, ORACLE, native_command(), count, "1000"]
            + ["--check", str(limit), "--optimize", optimize],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout.decode()


def test_the_symbol_table_is_that_of_cpython(python):
    """A short run over the standard library and random programs; the long form: symtable_run.py
    DEPYF 1000.
    """
    _, path = python
    done = subprocess.run(
        [path, SYMTABLES, native_command(), "8", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()


def test_line_tables_change_no_meaning(python):
    """A short run with garbage in place of line tables; the long form: line_tables_run.py DEPYF
    1000.
    """
    _, path = python
    done = subprocess.run(
        [path, LINE_TABLES, native_command(), "10", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()
