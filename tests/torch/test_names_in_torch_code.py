"""Names in torch's code that no source can hold, and names of the user that look like Dynamo's."""

import ast
import sys
import types

import pytest
import torch

import depyf
from depyf import code_edit


graph_out_0 = 300


__compiled_fn_2 = 7
__resume_at_0_0 = 5
__import_torch = 3


def __compiled_fn_1(x):
    return x + 1


@torch._dynamo.disable
def __resume_at_7_7(x):
    return x + 1


class Box:
    pass


def replaced(folder, function, *arguments):
    """Results with depyf are those without; every code object is proven and replaced."""
    torch._dynamo.reset()
    plain = torch.compile(function, backend="eager")(*arguments)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)) as run:
        result = torch.compile(function, backend="eager")(*arguments)
    assert torch.equal(plain, result)
    entries = run.entries()
    assert entries
    for entry in entries:
        assert entry.replaced, (entry.name, entry.verdict, entry.detail, entry.source)
    return entries


def test_attributes_that_are_keywords_or_signs(tmp_path):
    box = Box()

    def f(x):
        y = x + 1
        setattr(box, "def", y)
        setattr(box, "@pytest_ar", y * 2)
        torch._dynamo.graph_break()
        setattr(box, "0", y * 3)
        return y * 4

    replaced(tmp_path, f, torch.ones(3))
    assert vars(box)["0"].tolist() == [6, 6, 6] and vars(box)["def"].tolist() == [2, 2, 2]


def test_globals_that_have_names_of_torchs(tmp_path):
    def values(x):
        y = x * 2
        torch._dynamo.graph_break()
        return __compiled_fn_1(y) + __resume_at_0_0

    def between_breaks(x):
        y = x * 2
        print(y + __compiled_fn_2, __import_torch)
        return y * 3

    def called_at_a_break(x):
        y = x * 2
        z = [y, __resume_at_7_7(y), y]
        del y
        return z[0] * 3 + z[1]

    def stored(x):
        global __compiled_fn_2
        y = x * 2
        __compiled_fn_2 = 8
        torch._dynamo.graph_break()
        __compiled_fn_2 += 1
        return y * 3

    for function in (values, between_breaks, called_at_a_break, stored):
        for entry in replaced(tmp_path / function.__name__, function, torch.ones(3)):
            # what is torch's has a shorter name, and what is the program's its own
            assert not set(entry.names.values()) & set(globals())
    assert __compiled_fn_2 == 9


def test_a_global_with_a_name_of_torchs_is_read_when_the_program_reads_it():
    """It may be another one after a call, unlike those that torch installs."""

    def first(f, __resume=None):
        one = __compiled_fn_1
        f()
        return one(3)

    def second(f, __resume=None):
        f()
        return __compiled_fn_1(3)

    from depyf import _core

    named = {"co_name": "f"}
    if sys.version_info >= (3, 11):
        named["co_qualname"] = "f"

    def verdict(**names):
        return _core.compare(
            first.__code__.replace(**named),
            second.__code__.replace(**named),
            dynamo=True,
            **names,
        )[0]

    assert verdict(own_globals=("__compiled_fn_1",)) in ("unproven", "different")


def test_a_global_that_has_the_name_of_the_graphs_outputs(tmp_path):
    def f(x):
        global graph_out_0
        y = x + 1
        torch._dynamo.graph_break()
        graph_out_0 = 7
        return y * 2

    replaced(tmp_path, f, torch.ones(3))
    assert graph_out_0 == 7


def test_conversions_in_a_text_before_a_break(tmp_path):
    def f(x, n):
        s = f"{n:>5}|{n!r}|{x.shape[0]:03d}"
        torch._dynamo.graph_break()
        return x + len(s)

    def g(x, n):
        s = f"{n!r}"
        torch._dynamo.graph_break()
        return x + len(s)

    for function in (f, g):
        for n in (1, 22, 333):
            replaced(tmp_path / ("%s%d" % (function.__name__, n)), function, torch.ones(2), n)


RESUMED = """\
def resumed(a):
    __is_tracing_resume_prologue = True
    __is_tracing_resume_prologue = False
    if a:
        a.first
    else:
        a.second
    %s
"""


@pytest.mark.skipif(sys.version_info < (3, 10), reason="code objects tell no lines")
@pytest.mark.parametrize(
    "rest, line",
    [
        ("for b in a.third:\n        b.first()\n    return a", 8),
        # up to 3.10, `try` is an operation
        (
            "try:\n        a.third()\n    finally:\n        a.fourth()\n    return a",
            8 + (sys.version_info >= (3, 11)),
        ),
    ],
)
def test_a_resume_function_goes_on_at_the_line_of_its_first_operation(rest, line):
    from depyf.torch.codes import resume_line

    scope = {}
    exec(RESUMED % rest, scope)
    assert resume_line(scope["resumed"].__code__) == line
    assert resume_line(replaced.__code__) == 0  # torch puts no beginning before it


LABELS = ["a", "b"]


def test_only_what_is_spelt_as_a_class_is_named_one(tmp_path):
    def f(x):
        torch._dynamo.graph_break()
        box = Box()
        box.x = x * 2
        return box.x + len(LABELS[int(x.sum())])

    replaced(tmp_path, f, torch.ones(1))
    text = "\n".join(one.read_text() for one in tmp_path.glob("__transformed_*.py"))
    assert "LABELS" in text and "labels_class" not in text


def test_names_that_source_gives_otherwise_are_names_of_files_and_functions(tmp_path):
    """Python normalises names in source (NFKC), and some letters are in no identifier."""

    def f(x, scale=2):
        odd = x + 1
        torch._dynamo.graph_break()
        return odd * scale

    with depyf.prepare_debug(str(tmp_path)) as run:
        for name in ("\uff11", "\ufb01", "\u2460\u2461", "x\u0301\u0323", "a b"):
            local = tuple(name if one == "odd" else one for one in f.__code__.co_varnames)
            code = code_edit.replace(f.__code__, co_name=name, co_varnames=local)
            function = types.FunctionType(code, globals(), "f", (2,))
            assert torch.compile(function, backend="eager")(torch.ones(1)).item() == 4
    entries = list(run.entries())
    assert len(entries) == 10 and run.problems == []
    for entry in entries:
        assert entry.replaced and "def %s(" % entry.name in entry.source
    for path in tmp_path.glob("full_code*.py"):
        assert ast.parse(path.read_text(encoding="utf-8")).body[1:], path
