"""depyf.decompile and the names that programs written for the original depyf call."""

import functools
import re
import sys
import types

import pytest

import depyf
from depyf import Decompiler, code_transform, utils
from depyf.decompiler import code_of


def plain(a, b=2, *rest, key=None, **more):
    return a + b


class Class:
    def method(self):
        return 1

    @classmethod
    def class_method(cls):
        return 2

    @staticmethod
    def static_method():
        return 3

    @property
    def prop(self):
        return 4

    def __call__(self):
        return 5


class Inherits(Class):
    pass


class NotCallable:
    pass


@functools.lru_cache(maxsize=None)
def cached(n):
    return n


def generator():
    yield 1


TAKEN = [
    (plain, plain),
    (plain.__code__, plain),
    (lambda x: x, None),
    (Class.method, Class.method),
    (Class().method, Class.method),
    (Class.class_method, Class.__dict__["class_method"].__func__),
    (Class.__dict__["static_method"], Class.static_method),
    (Class(), Class.__call__),
    (Inherits(), Class.__call__),
    (functools.partial(plain, 1), plain),
    (functools.partial(functools.partial(Class().method)), Class.method),
    (cached, cached.__wrapped__),
    (generator(), generator),
    (Class.prop.fget, Class.prop.fget),
]


@pytest.mark.parametrize("thing, function", TAKEN, ids=lambda v: type(v).__name__)
def test_every_kind_of_callable_is_taken(thing, function):
    code = code_of(thing)
    if function is not None:
        assert code is function.__code__
    source = depyf.decompile(thing)
    assert any(isinstance(c, types.CodeType) for c in compile(source, "x", "exec").co_consts)


def id_of(value):
    """A test's name has no address: the workers of pytest-xdist must agree on it."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize(
    "thing, message",
    [
        (len, "len is written in C"),
        (str.join, "str.join is written in C"),
        ([].append, "append is written in C"),
        (int, "class int has no bytecode of its own"),
        (Class, "pass one of its methods, such as Class.__init__"),
        (functools.partial(len), "len is written in C"),
        (Class.prop, "prop.fget"),
        (3, "got an int, which is not callable"),
        ("text", "got a str, which is not callable"),
        (NotCallable(), "got a NotCallable, which is not callable"),
        (None, "got a NoneType, which is not callable"),
        (functools.cmp_to_key(plain), "written in C"),
    ],
    ids=id_of,
)
def test_what_has_no_bytecode_is_refused_with_a_reason(thing, message):
    for call in (depyf.decompile, Decompiler, depyf.disassemble):
        with pytest.raises(TypeError, match=message):
            call(thing)


def test_endless_wrapping_is_refused():
    partial = functools.partial(plain)
    partial.__setstate__((partial, (), {}, {}))
    with pytest.raises(TypeError, match="chain of more than 100"):
        depyf.decompile(partial)


def test_decompiler_interface_of_the_original():
    decompiler = Decompiler(plain.__code__)
    text = decompiler.decompile(indentation=2, temp_prefix="__t_", overwite_fn_name="other_name")
    assert text.startswith("def other_name(a, b")
    assert "\n  return a + b" in text
    assert Decompiler(plain).decompile() == depyf.decompile(plain)
    names = Decompiler.supported_opnames()
    assert {"LOAD_CONST", "RETURN_VALUE", "LOAD_GLOBAL"} <= set(names)
    assert names == sorted(names) and not any(name.startswith("<") for name in names)


def test_decompilers_of_one_code_object_are_equal():
    one, same, other = Decompiler(plain), Decompiler(plain.__code__), Decompiler(lambda: 1)
    assert one == same and hash(one) == hash(same) == id(plain.__code__)
    assert one != other and one != plain.__code__ and len({one, same, other}) == 2


def test_collect_all_code_objects():
    def outer():
        def inner():
            return [x for x in (lambda: ())()]

        return inner, lambda: 1

    found = utils.collect_all_code_objects(outer.__code__)
    assert found[0] is outer.__code__
    assert {"outer", "inner", "<lambda>"} <= {code.co_name for code in found}
    assert len(found) == len(set(map(id, found)))


def test_decompile_ensure_never_raises():
    assert utils.decompile_ensure(plain, "other").startswith("def other(")
    assert "Failed to decompile." in utils.decompile_ensure(len)
    assert "Failed to decompile." in utils.decompile_ensure(None)
    compile(utils.decompile_ensure(None), "text", "exec")


def test_safe_create_directory(tmp_path):
    target = tmp_path / "a" / "b"
    utils.safe_create_directory(str(target))
    utils.safe_create_directory(str(target))
    assert target.is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="exists and is not a folder"):
        utils.safe_create_directory(str(tmp_path / "file"))


def enclosed():
    y, z = 1, 2

    def function(a, b):
        q = a
        return (lambda: (a, q)), y, z

    return function


@pytest.mark.parametrize(
    "source",
    [
        "def function(a, b):\n    return a + b\n",
        'def function(a, b):\n    """A docstring\n  over two lines."""\n    return a + b\n',
        "def function(a, b): return a + b\n",
        "def function(a, b):\n    @staticmethod\n    def g():\n        return 1\n    return a + b\n",
        "def function(a, b):\n    nonlocal z\n    z = 4\n    return a + b\n",
    ],
)
def test_fix_irregular_code_gives_the_variables(source):
    old = enclosed().__code__
    text = code_transform.fix_irregular_code(old, source, ["local_1"], ["cell_1"])
    (code,) = [
        c
        for c in utils.collect_all_code_objects(compile(text, "text", "exec"))
        if c.co_name == "function"
    ]
    assert code.co_freevars == old.co_freevars == ("y", "z")
    assert set(code.co_cellvars) == {"a", "q", "cell_1"}
    if sys.version_info >= (
        3,
        10,
    ):  # up to 3.9 the compiler drops a dead branch before it counts locals
        assert "local_1" in code.co_varnames
    closure = enclosed().__closure__
    assert types.FunctionType(code, {"staticmethod": staticmethod}, "f", None, closure)(2, 3) == 5


def test_fix_irregular_code_refuses_other_source():
    with pytest.raises(ValueError, match="no function"):
        code_transform.fix_irregular_code(plain.__code__, "x = 1\n")
    with pytest.raises(SyntaxError):
        code_transform.fix_irregular_code(plain.__code__, "def (:\n")


def twin(a, b=2, *rest, key=None, **more):
    return a + b


def other(a, b=2, *rest, key=None, **more):
    return b + a


def test_compare_is_false_only_for_different_code():
    assert depyf.compare(plain, plain).verdict == "identical"
    assert depyf.compare(plain, twin, names=False)
    named = depyf.compare(plain, twin, names=True)
    assert not named and "twin" in named.detail
    said = depyf.compare(plain, twin)
    assert said and "'twin'" in said.ignored
    different = depyf.compare(plain, other, names=False)
    assert not different
    assert different.verdict == "different" and different.detail


class Odd:
    def __repr__(self):
        raise AssertionError("nothing of the user's may run")

    __eq__ = __hash__ = __len__ = __bool__ = __repr__


SENTINEL = Odd()


def literals(a, b=3, *c, k="q", m=(1, [None], {"x": -1.5})):
    return a


def annotated(a: int, b: "later" = Odd(), *c: Odd, d: Odd = SENTINEL, **kw: SENTINEL) -> str:  # noqa: F821
    return a


def unnamed(a, *, b: 1 = 2) -> (3, "x"):  # noqa: F821
    return a


def decorator(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@decorator
def decorated(args: int, b=1):
    return b


@functools.lru_cache(maxsize=None)
def with_default(n=1):
    return n


def test_a_function_shows_its_defaults_and_annotations():
    head = "def literals(a, b=3, *c, k='q', m=(1, [None], {'x': -1.5})):"
    assert depyf.decompile(literals).splitlines()[0] == head
    lines = depyf.decompile(unnamed).splitlines()
    assert lines[0] == "def unnamed(a, *, b: 1 = 2) -> (3, 'x'):"
    source = depyf.decompile(annotated)
    assert source.startswith("# default of b: <object of type Odd>")
    for part in ("a: int", "b: 'later' = ...", "*c: Odd", "d: Odd = SENTINEL", "-> str:"):
        assert part in source
    assert "**kw: SENTINEL" in source
    assert depyf.decompile(literals.__code__).startswith("def literals(a, b, *c, k, m):")
    namespace = {}
    exec(compile(depyf.decompile(literals), "x", "exec"), namespace)
    assert namespace["literals"].__defaults__ == literals.__defaults__
    assert namespace["literals"].__kwdefaults__ == literals.__kwdefaults__


def test_annotations_that_are_texts_are_said():
    text = "from __future__ import %s\ndef f(a: 'Later'):\n    def g(b: Later): return b\n    return g\n"
    for name, said in (("annotations", True), ("print_function", False)):
        namespace = {}
        exec(compile(text % name, "m", "exec"), namespace)
        source = depyf.decompile(namespace["f"])
        assert ("# annotations are texts: from __future__ import annotations" in source) == said
        assert source.proven and "def f(a: 'Later')" in source, source


def test_what_no_source_can_name_is_said():
    def inner(a=object(), b=float("nan"), c=1) -> Odd():
        return a

    source = depyf.decompile(inner)
    assert "# default of a: <object of type object>" in source
    assert "# default of b: <object of type float>" in source
    assert "def inner(a=..., b=..., c=1)" in source
    if sys.version_info < (3, 14):
        assert "# annotation of the result: <object of type Odd>" in source
    else:
        assert "-> Odd():" in source
    inner.__defaults__ = (1, 2, 3, 4, 5)
    assert "def inner(a=3, b=4, c=5)" in depyf.decompile(inner)
    endless = []
    endless.append(endless)
    inner.__defaults__ = (endless,)
    assert "# default of c: <object of type list>" in depyf.decompile(inner)


def test_the_code_of_a_class_is_shown_as_the_class():
    text = (
        "class A(B):\n    x = 1\n\n    def f(self):\n        return [self.x for _ in __class__.y]\n"
    )
    (code,) = (c for c in compile(text, "m", "exec").co_consts if hasattr(c, "co_code"))
    source = depyf.decompile(code)
    assert source.strip() == text.replace("(B)", "").strip()
    assert source.verdict in ("identical", "exact")


def test_what_is_around_a_function_is_said():
    source = depyf.decompile(decorated)
    first, needed, second = source.splitlines()[:3]
    assert needed == "# needs a function around it that binds function"
    assert first.startswith("# what ") and "put around decorated (its __wrapped__)" in first
    assert sys.version_info < (3, 11) or "decorator put" in first
    assert second == "def wrapper(*args, **kwargs):"
    source = depyf.decompile(with_default)
    assert source.startswith("# inside functools.lru_cache\ndef with_default(n=1):")
    assert depyf.decompile(functools.partial(literals, 1)).startswith("# inside functools.partial")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are computed from 3.14 on")
def test_annotations_that_were_not_computed_are_shown_and_stay_so():
    namespace = {}
    exec("def f(a: missing.name, *, b: 1 // 0 = 1) -> list[later]:\n    return a\n", namespace)
    head = depyf.decompile(namespace["f"]).splitlines()[0]
    assert head == "def f(a: missing.name, *, b: 1 // 0 = 1) -> list[later]:"


def closing():
    count = 0

    def inner(step=1):
        nonlocal count
        count += step
        return count

    return inner


@pytest.mark.parametrize("thing", [plain, Class.method, closing(), generator, enclosed], ids=id_of)
def test_source_knows_that_it_is_proven(thing):
    source = depyf.decompile(thing)
    assert source.proven and source.verdict in ("identical", "exact", "equivalent")
    free = depyf.decompiler.code_of(thing).co_freevars
    assert isinstance(source, str) and source.startswith("#") == bool(free)
    unchecked = depyf.decompile(thing, check=False)
    assert unchecked == source and unchecked.verdict == "not checked" and not unchecked.proven


def reading():
    count, other = 0, 1

    def inner():
        return lambda: count + other

    return inner


@pytest.mark.parametrize("made, names", [(closing(), "count"), (reading(), "count, other")])
def test_source_says_which_variables_a_function_around_it_has(made, names):
    source = depyf.decompile(made)
    needed = "a function around it that binds " + names
    assert source.splitlines()[0] == "# needs " + needed
    assert source.detail == "taken for granted: the text has " + needed
    whole = "def around():\n    %s = None\n" % " = ".join(names.split(", "))
    whole += "".join("    %s\n" % line for line in source.splitlines()) + "    return inner\n"
    namespace = {}
    exec(whole, namespace)
    assert depyf.compare(namespace["around"]().__code__, made.__code__)


def test_source_says_that_it_stands_in_a_class():
    class Parent(Class):
        def method(self):
            return super().method()

    source = depyf.decompile(Parent.method)
    assert source.splitlines()[0] == "# needs a class around it"
    assert source.detail == "taken for granted: the text has a class around it"
    assert not depyf.decompile(plain).detail


def test_a_module_is_proven_without_a_word(recwarn):
    assert depyf.decompile(
        compile("import os\nfor x in os.sep:\n    print(x)\n", "m", "exec")
    ).proven
    code = compile("def f(x):\n    return x is\\\n 'name'\n", "m", "exec")
    recwarn.clear()
    assert depyf.decompile(code).proven and not recwarn.list


def test_source_that_is_not_proven_says_so(monkeypatch):
    from depyf import decompiler

    class Core:
        """The core, with a printer that is wrong about one number."""

        def __getattr__(self, name):
            return getattr(_core, name)

        def decompile(self, *args, **kwargs):
            made = _core.decompile(*args, **kwargs)
            return (made[0].replace("return 1", "return 2"),) + made[1:]

    from depyf import _core

    monkeypatch.setattr(decompiler, "_core", Core())
    source = depyf.decompile(Class.method)
    assert source.verdict == "different" and not source.proven and source.detail
    assert source.startswith("# NOT PROVEN to do what the bytecode does: ")
    assert depyf.decompile(Class.method, check=False).startswith("def method(self):")


@pytest.mark.parametrize(
    "test", ["%s is b", "%s is not b, 'no'", "%s in b", "%s is None", "%s == b"]
)
def test_many_asserts_are_not_nested(test):
    text = "def f(a, b):\n" + "".join(
        "    assert %s\n" % (test % ("a[%d]" % i)) for i in range(150)
    )
    scope = {}
    exec(compile(text, "asserts.py", "exec", optimize=0), scope)
    source = depyf.decompile(scope["f"])
    assert str(source) == text
    assert source.proven


STATEMENTS = {
    "try and except": " try: a()\n except E: b()\n",
    "try and finally": " try: a()\n finally: c()\n",
    "try, except and finally": " try: a()\n except E: b()\n finally: c()\n",
    "with": " with a: b()\n",
    "with in try": " try:\n  with a: b()\n finally: c()\n",
    "if": " if a: b()\n else: c()\n",
    "for": " for i in a:\n  if i: break\n else: c()\n",
    "conditions": " z = a and b or c\n",
}


@pytest.mark.parametrize("statement", list(STATEMENTS.values()), ids=list(STATEMENTS))
def test_the_time_for_a_row_of_statements_grows_with_its_length(statement):
    import time

    def seconds(count):
        scope = {}
        exec("def f():\n" + statement * count, scope)
        taken = []
        for _ in range(3):
            begin = time.process_time()
            depyf.decompile(scope["f"], check=False)
            taken.append(time.process_time() - begin)
        return min(taken)

    assert (
        seconds(3200) < 10 * seconds(800) + 0.05
    )  # 16 times as long where it grows with the square


@pytest.mark.parametrize(
    "body",
    [
        "tmp_0 = x = tmp_0",
        "if a: tmp_0 = a()\n tmp_0 = x = tmp_0",
        "tmp_0 = tmp_0 = tmp_0\n del tmp_0\n graph_out_0 = x = graph_out_0",
        "tmp_1 = a = [a, tmp_1][1]",
    ],
)
def test_a_local_of_torch_that_may_be_unset_is_assigned_to_itself(body):
    from depyf import _core

    scope = {}
    exec("def f(a):\n __compiled_fn_1\n %s\n return a\n" % body, scope)
    for dynamo in (False, True):
        compile(_core.decompile(scope["f"].__code__, dynamo=dynamo)[0], "<f>", "exec")
