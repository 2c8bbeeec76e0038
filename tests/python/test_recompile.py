"""recompile: proven drop-ins, by identity of constants, order of cells, flags and names."""

import __future__

import dis
import os
import stat
import sys
import types
import warnings

import pytest

import depyf
import pythons
from depyf import Decompiler, _core
from depyf import recompile as module
from depyf.code_edit import CannotEdit, place_constants, reorder_cells, replace
from depyf.recompile import recompile

KEPT = "co_name co_argcount co_kwonlyargcount co_cellvars co_freevars co_flags".split()


def check(function, *arguments):
    """Recompile, require a proof, compare the frames' layout and what a call returns."""
    original = function.__code__
    result = recompile(original)
    assert result.proven, (result.detail, result.source)
    assert result.verdict in module.PROVEN
    for attribute in KEPT:
        assert getattr(result.code, attribute) == getattr(original, attribute), attribute
    if sys.version_info >= (3, 11):
        assert result.code.co_qualname == original.co_qualname
    replaced = types.FunctionType(
        result.code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    replaced.__kwdefaults__ = function.__kwdefaults__
    assert replaced(*arguments) == function(*arguments)
    return result


def test_plain_function():
    def function(a, b=3, *rest, key=1, **more):
        x = a / (abs(b) + 1)
        if x < 0:
            x = x * -1
        return [x, rest, key, sorted(more)]

    result = check(function, -1, 2, 3)
    assert result.function_name == "function"
    assert result.source.startswith("def function(a, b")


def test_closure_with_cells_and_free_variables():
    y, z = 1, 2

    def function(a, b):
        q = a

        def inner():
            return a, q, y

        return inner(), z, b

    check(function, 4, 5)


def test_variables_that_the_body_does_not_use_exist_all_the_same():
    y, z = 1, 2

    def shape(a, b):
        q = a
        return (lambda: (a, q)), y, z

    def body(a, b):
        return a + b

    result = recompile(body.__code__, reference=shape.__code__)
    # Another layout of the frame is another function, for a prover that looks at cells too.
    if result.proven:
        assert result.code.co_cellvars == shape.__code__.co_cellvars == ("a", "q")
        assert result.code.co_freevars == shape.__code__.co_freevars == ("y", "z")
        code = result.code
        function = types.FunctionType(code, {}, "f", None, shape.__closure__)
        assert function(2, 3) == 5
    else:
        assert result.verdict in ("unproven", "different")


def test_rebinding_a_free_variable():
    count = 0

    def function(step):
        nonlocal count
        count += step
        return count >= step

    result = check(function, 1)
    compile(result.source, "file", "exec")


def test_names_in_the_body_are_not_captured_by_the_function_name():
    z = 1

    def recursive(n):
        return n if n == 0 else len([recursive_global(n - 1)]) + z  # noqa: F821

    globals()["recursive_global"] = lambda n: n
    result = recompile(recursive.__code__, name="recursive_global")
    assert result.proven, result.detail
    assert "recursive_global" in result.code.co_names


def test_qualified_names_of_inner_functions_are_kept():
    def function():
        def inner():
            return None

        class Inner:
            def method(self):
                return None

        return inner.__qualname__, Inner.method.__qualname__

    check(function)


def test_generator_coroutine_and_lambda_kinds_are_kept():
    def generator(n):
        for i in range(n):
            yield i

    async def coroutine(x):
        await x

    async def async_generator(x):
        yield x

    for function in (generator, coroutine, async_generator, lambda x: x + 1):
        result = recompile(function.__code__)
        assert result.proven, (result.detail, result.source)
        assert result.code.co_flags == function.__code__.co_flags
        assert result.code.co_name == function.__code__.co_name


def test_future_flags_are_kept():
    source = "def f(x):\n    y: int = x\n    def g(a: int): return a\n    return g\n"
    flag = __future__.annotations.compiler_flag
    namespace = {}
    exec(compile(source, "m", "exec", flag, True), namespace)
    code = namespace["f"].__code__
    assert code.co_flags & flag
    result = recompile(code)
    assert result.proven, (result.detail, result.source)
    assert result.code.co_flags & flag
    inner = types.FunctionType(result.code, {})(1)
    assert inner.__annotations__ == {"a": "int"}


class Callable:
    def __call__(self, *arguments):
        return arguments

    def __eq__(self, other):
        raise AssertionError("constants are compared by identity")

    __hash__ = None


def with_constants(function, **objects):
    """`function`'s code with string constants replaced by objects, as Dynamo holds them."""
    code = function.__code__

    def swap(code):
        return replace(
            code,
            co_consts=tuple(
                swap(c)
                if isinstance(c, types.CodeType)
                else objects[c]
                if type(c) is str and c in objects
                else c
                for c in code.co_consts
            ),
        )

    return swap(code)


def test_constants_are_kept_by_identity():
    table, call = {}, Callable()

    text = (
        "def function(a):\n"
        "    x = 'TABLE'\n"
        "    y = 'CALL'(a)\n"
        "    z = [('TABLE', i) for i in range(2)]\n"
        "    return x, y, 'OS'.path, z, (lambda: 'CALL')()\n"
    )
    namespace = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 'CALL'(a): "perhaps you missed a comma"
        exec(text, namespace)
    function = namespace["function"]
    code = with_constants(function, TABLE=table, CALL=call, OS=os)
    result = recompile(code)
    assert result.proven, (result.detail, result.source)
    x, y, path, z, inner = types.FunctionType(result.code, {"range": range})(7)
    assert x is table and y == (7,) and path is os.path
    assert z[0][0] is table and z[1] == (table, 1) and inner is call
    assert "__const_" in result.source and "module os" in result.source
    assert not [n for n in dis_names(result.code) if n.startswith("__const_")]


def dis_names(code):
    """Global names that the instructions of `code` really load."""
    return {
        i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


def test_a_frozenset_as_a_value_is_kept_by_identity():
    value = frozenset(["a", 1])

    def function():
        return "VALUE"

    result = recompile(with_constants(function, VALUE=value))
    assert result.proven, (result.detail, result.source)
    assert types.FunctionType(result.code, {})() is value


def test_many_object_constants():
    count = 600 if sys.version_info >= (3, 11) else 200
    source = "def f():\n    return [%s]\n" % ", ".join("__const_%d__" % i for i in range(count))
    objects = {"__const_%d__" % i: object() for i in range(count)}
    namespace = {}
    exec(source, namespace)
    placed = place_constants(namespace["f"].__code__, objects)
    assert types.FunctionType(placed, {})() == list(objects.values())


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_code_edits_under_each_python(version):
    assert pythons.run(version, EDITS) == "edited\n"


EDITS = """
import dis, types
from depyf.code_edit import place_constants, reorder_cells, replace, rename_qualified
class Callable:
    def __call__(self, *a): return a
    def __eq__(self, other): raise AssertionError
    __hash__ = None
def body(a):
    return (__const_0__, __const_1__.path, __const_2__(a), __const_2__(__const_0__),
            [__const_0__ for _ in (1, 2)], (lambda: __const_2__)())
import os
objects = {"__const_0__": {}, "__const_1__": os, "__const_2__": Callable()}
out = types.FunctionType(place_constants(body.__code__, objects), {})(4)
assert out[0] is objects["__const_0__"] and out[1] is os.path and out[2] == (4,)
assert out[3][0] is out[0] and all(x is out[0] for x in out[4])
assert out[5] is objects["__const_2__"]

def make():
    z = 1; y = 3
    def f(a, unused):
        q = 5; p = 6
        def g():
            nonlocal p
            p += 1
            return q, p, a
        return a, y, z, q, g(), p
    return f
f = make(); code = f.__code__
# From 3.11 on an argument's cell is the argument's own slot, so it cannot come behind others.
cells = ("a", "q", "p") if sys.version_info >= (3, 11) else code.co_cellvars[::-1]
turned = reorder_cells(code, cells, code.co_freevars[::-1])
assert turned.co_freevars == ("z", "y") and turned.co_cellvars == cells != code.co_cellvars
assert types.FunctionType(turned, {}, "f", None, f.__closure__[::-1])(9, 0) == f(9, 0)
back = reorder_cells(turned, code.co_cellvars, code.co_freevars)
assert back.co_code == code.co_code

def outer():
    def inner():
        class C:
            def m(self): pass
        return C.m.__qualname__
    return inner.__qualname__, inner()
renamed = rename_qualified(outer.__code__, "outer", "A.b")
assert types.FunctionType(renamed, {"__name__": "m", "__builtins__": __builtins__})() == (
    "A.b.<locals>.inner", "A.b.<locals>.inner.<locals>.C.m")
print("edited")
"""


def test_a_cell_operand_that_does_not_fit_is_refused():
    names = ["v%03d" % i for i in range(300)]
    source = "def f(%s):\n    return lambda: (%s)\n" % (", ".join(names), ", ".join(names))
    namespace = {}
    exec(source, namespace)
    code = namespace["f"].__code__.co_consts
    inner = next(c for c in code if isinstance(c, types.CodeType))
    with pytest.raises(CannotEdit):
        reorder_cells(inner, inner.co_cellvars, inner.co_freevars[::-1])


def sample(a, b):
    return a - b


def test_file_is_what_runs(tmp_path):
    template = str(tmp_path / "folder" / "code_%s.py")
    result = recompile(sample.__code__, filename_template=template, name="shown")
    assert result.proven
    assert result.path == str(tmp_path / "folder" / "code_shown.py")
    assert result.code.co_filename == result.path
    assert result.code.co_name == "sample"
    with open(result.path) as file:
        text = file.read()
    assert text == result.source and text.startswith("def shown(a, b):\n")
    lines = {line for _, line in dis.findlinestarts(result.code)}
    assert "return a - b" in text.splitlines()[max(lines) - 1]
    assert os.listdir(str(tmp_path / "folder")) == ["code_shown.py"]
    assert stat.S_IMODE(os.stat(result.path).st_mode) & 0o400
    for line, offsets, original_line, name in result.line_map:
        assert 1 <= line <= len(text.splitlines())
        assert all(0 <= offset < len(sample.__code__.co_code) for offset in offsets)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder_is_an_os_error(tmp_path):
    os.chmod(str(tmp_path), 0o500)
    with pytest.raises(OSError):
        recompile(sample.__code__, filename_template=str(tmp_path / "x" / "%s.py"))


def test_a_file_in_the_way_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        recompile(sample.__code__, filename_template=str(tmp_path / "file" / "%s.py"))
    assert (tmp_path / "file").read_text() == ""


WRONG = [
    ("def sample(a, b):\n    return b - a\n", "different"),
    ("def sample(a, b):\n    return a + b\n", "different"),
    ("def sample(a, b, c):\n    return a - b\n", "failed"),
    ("def sample(a, *b):\n    return a - b\n", "failed"),
    ("def sample(a, b):\n    yield a - b\n", "failed"),
    ("def sample(a, b):\n    return a -\n", "failed"),
    ("def another(a, b):\n    return a - b\n", "failed"),
    ("x = 1\n", "failed"),
]


@pytest.mark.parametrize("source, verdict", WRONG)
def test_what_is_not_proven_is_not_returned(monkeypatch, tmp_path, source, verdict):
    """A decompiler that is wrong: its text is shown as not proven, and no code comes back."""

    class Liar:
        compare = staticmethod(_core.compare)

        @staticmethod
        def decompile(*_, **__):
            return source, [(1, (0,), 1, "sample")], {}, []

    monkeypatch.setattr(module, "_core", Liar)
    result = recompile(sample.__code__, filename_template=str(tmp_path / "%s.py"))
    assert result.code is None and not result.proven
    assert result.verdict == verdict and result.detail
    with open(result.path) as file:
        text = file.read()
    assert text.startswith("# NOT PROVEN") and text == result.source
    assert result.line_map[0][0] == 2
    compile(text, result.path, "exec")
    with pytest.raises(depyf.DecompilationError, match="not proven"):
        Decompiler.decompile_and_compile_like(sample.__code__, sample.__code__)


def test_decompile_and_compile_like(tmp_path):
    z = 1

    def reference(a, b):
        return a - b - z

    for template, name in [("x_%d.py", "x_0"), ("y_%s.py", "y_0"), ("new/dir_%i.py", "dir_0")]:
        code = Decompiler.decompile_and_compile_like(
            reference.__code__, reference.__code__, filepath_template=str(tmp_path / template)
        )
        assert code.co_freevars == ("z",)
        path = tmp_path / template.replace(template[template.index("%") :][:2], "0")
        assert code.co_filename == str(path)
        assert "def %s(a, b):" % name in path.read_text()
        assert types.FunctionType(code, {}, "f", None, reference.__closure__)(5, 2) == 2


def test_no_file_is_written_over_by_the_next(tmp_path):
    def made(template):
        code = Decompiler.decompile_and_compile_like(
            sample.__code__, sample.__code__, filepath_template=template
        )
        return os.path.basename(code.co_filename)

    assert [made(str(tmp_path / "x_%d.py")) for _ in range(3)] == ["x_0.py", "x_1.py", "x_2.py"]
    assert [made(str(tmp_path / "lone.py")) for _ in range(2)] == ["lone.py"] * 2
    assert made(tmp_path / "a-b %d.py") == "a-b 0.py"
    assert "def a_b_0(" in (tmp_path / "a-b 0.py").read_text()


def test_code_without_a_file_has_the_file_name_of_the_original():
    code = Decompiler.decompile_and_compile_like(sample.__code__, sample.__code__)
    assert code.co_filename == "noname" and code.co_name == "sample"


def test_nothing_is_executed(monkeypatch):
    def function(trap):
        trap.sprung = True
        raise SystemExit

    import builtins

    def forbidden(*_):
        raise AssertionError("recompile must not run code")

    monkeypatch.setattr(builtins, "exec", forbidden)
    monkeypatch.setattr(builtins, "eval", forbidden)
    assert recompile(function.__code__).proven
