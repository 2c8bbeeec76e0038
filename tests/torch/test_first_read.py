"""What a reader who does not know a program takes from its dump: where it goes on after a break,
which compile a file is, and advice that can be followed.
"""

import contextlib
import html
import re
import warnings

import pytest

import depyf
from depyf import advise, summary
from depyf.report import words

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402

LATER = tuple(int(one) for one in torch.__version__.split(".")[:2]) >= (2, 12)
later = pytest.mark.skipif(not LATER, reason="how this torch cuts a graph is another")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def dump(folder, function, *calls, **options):
    with depyf.prepare_debug(str(folder)) as run:
        compiled = torch.compile(function, backend="eager", **options)
        for call in calls:
            compiled(*call)
    return run


def one(folder, pattern):
    (path,) = folder.glob(pattern)
    return " ".join(re.sub(r"\n *#", "", path.read_text()).split())


def page_of(folder):
    return html.unescape((folder / "index.html").read_text())


@contextlib.contextmanager
def block():
    yield


def within(x, limit):
    y = (x + 1) * 2
    with block():
        z = y * 2
        print(float(z.sum()) > limit)
    return z + y


def first_line(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


@later
def test_code_behind_a_break_in_with_is_told_to_be_plain_python(tmp_path):
    run = dump(tmp_path, within, (torch.ones(3), 1.0))
    (entry,) = [one for one in run.entries() if one.runs_on]
    line = first_line(within, "with block")
    assert entry.runs_on == line and not entry.calls
    said = "rom line %d on the function's own code runs, as plain Python at each call" % line
    for name in ("__transformed_code_0_for_*within.py", "full_code_for_*within_0.py", "README.md"):
        assert said in one(tmp_path, name), name
    text = page_of(tmp_path)
    assert said in text and "plain Python from line %d on" % line in text
    assert "in a resume function ▷, or, where torch makes none, in the function's own code" in text


def of_each(x, which):
    y = (x + 1) * 2
    whole = torch.unique(which)
    of_all = torch.stack([y * one for one in whole])
    return of_all + 1


@later
@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_code_behind_a_break_without_with_or_try_is_not_told_to_be_in_one(tmp_path):
    run = dump(tmp_path, of_each, (torch.ones(3), torch.arange(4)), dynamic=True)
    (entry,) = [one for one in run.entries() if one.runs_on]
    assert entry.runs_on == first_line(of_each, "torch.stack")
    said = one(tmp_path, "__transformed_code_0_for_*of_each.py")
    assert "torch makes no resume function for this break" in said
    assert "the break is inside of" not in said + one(tmp_path, "README.md")


def test_a_break_with_a_resume_function_is_not_said_to_have_none(tmp_path):
    def plain(x):
        y = (x + 1) * 2
        print(y.shape)
        torch._dynamo.graph_break()
        return y + 1

    def last(x):
        y = (x + 1) * 2
        with torch.no_grad():
            return print(
                y,
                x,
            )

    for number, function in enumerate((plain, last)):
        run = dump(tmp_path / str(number), function, (torch.ones(3),))
        assert not any(entry.runs_on for entry in run.entries())
        text = page_of(tmp_path / str(number))
        assert "own code runs, as plain Python" not in text and "where torch makes none" not in text


@later
def test_a_value_written_back_is_not_said_to_be_shared(tmp_path):
    dump(tmp_path, within, (torch.ones(3), 1.0))
    text = one(tmp_path, "__transformed_code_0_for_*within.py")
    assert "`limit = limit` changes nothing: behind the graph, torch writes" in text
    assert "inner functions" not in text


def shown(x):
    print(x.shape)
    return x + 1


def loop(x):
    for _ in range(2):
        x = shown(x)
    return x


def stopped(x):
    y = (x + 1) * 2
    torch._dynamo.graph_break()
    return len(str(y.shape))


@later
def test_the_overview_has_a_tree_of_what_runs(tmp_path):
    dump(tmp_path, loop, (torch.ones(3),))
    text = readme_of(tmp_path)
    rows = text.partition("## What runs")[2].partition("```text\n")[2].partition("```")[0]
    rows = [row for row in rows.split("\n") if row]
    assert rows[0].startswith("loop 0/0 → ✕ not compiled"), text
    assert rows[1].startswith("  ⤷ shown 1/0 → ") and "✂ line" in rows[1]
    assert all(len(row) <= 100 for row in rows)
    assert "The seconds are those of compiling" in text
    assert "log lines of the program that show `%(filename)s`" in text
    assert "- Captured_Graph: the graph as Dynamo traced it" in text


@later
def test_full_code_says_why_a_function_is_skipped_and_how_a_break_is_reached(tmp_path):
    def outer(x):
        y = shown(x + 1)
        return y * 2

    dump(tmp_path / "skipped", loop, (torch.ones(3),))
    text = one(tmp_path / "skipped", "full_code_for_*shown_0.py")
    assert "compiles the function again; this file runs the original there" in text

    def rest_in_loop(x):
        y = x + 1
        torch._dynamo.graph_break()
        for _ in range(2):
            torch._dynamo.graph_break()
            y = y + 1
        return y

    dump(tmp_path / "rest", rest_in_loop, (torch.ones(3),))
    text = one(tmp_path / "rest", "full_code_for_*rest_in_loop_0.py")
    assert re.search(
        r"torch skips it \(compile \d+/0 failed\).* It was stopped at \S+:\d+: "
        r".* It is in the `for` of line",
        text,
    ), text
    dump(tmp_path / "reached", outer, (torch.ones(3),))
    text = one(tmp_path / "reached", "full_code_for_*outer_0.py")
    line = first_line(outer, "shown(x + 1)")
    assert re.search(r"graph break at \S+, reached from \S+:%d: " % line, text), text


@later
def test_a_number_that_torch_computes_from_sizes_is_said_to_be_another_number(tmp_path):
    def grid(x, height, width):
        return x.view(height, width) * 2

    calls = [(torch.ones(size * 8), size, 8) for size in (8, 12)] + [(torch.ones(144), 12, 12)]
    dump(tmp_path, grid, *calls)
    text = one(tmp_path, "README.md")
    assert not re.search(r"is \(x\.size", text), text


def test_the_overview_says_which_side_of_a_branch_a_rest_is(tmp_path):
    def branch(x):
        if x.sum() > 0:
            x = x + 1
        else:
            x = x - 1
        return x * 2

    dump(tmp_path, branch, (torch.ones(3),), (-torch.ones(3),))
    text = one(tmp_path, "README.md")
    for line in ("x = x + 1", "x = x - 1"):
        assert ", from line %d on, called as `__resume_at_" % first_line(branch, line) in text, text


@later
def test_a_rest_that_came_to_nothing_is_told_where_it_is_called(tmp_path):
    dump(tmp_path, stopped, (torch.ones(3),))
    text = one(tmp_path, "README.md")
    form = r"- continues in `stopped, resumed after line \d+` \(compile 1/0: nothing to compile\)"
    assert re.search(form, text), text


def test_a_shared_variable_is_told_from_others():
    from depyf.legend import own_value_note

    source = "def f():\n    rest = rest\n    x = x\n    y = y\n"
    note = " ".join(own_value_note(source, {"rest"}).replace("\n#", " ").split())
    assert "`rest = rest` changes nothing: inner functions share this variable" in note
    assert "`x = x` and `y = y` change nothing: behind the graph, torch writes" in note


def test_a_call_of_a_graph_for_nothing_is_told():
    from depyf.legend import graph_calls_note

    note = graph_calls_note("def f(x):\n    __compiled_fn_3(x)\n    return None\n")
    assert "Nothing below uses what `__compiled_fn_3` returns" in note
    (note,) = {graph_calls_note("    __compiled_fn_3(x)\n", {"__compiled_fn_3": 16})}
    assert "`__compiled_fn_3` changes 16 tensors in place" in note
    assert graph_calls_note("def f(x):\n    y = __compiled_fn_3(x)\n    return y\n") == ""


def test_a_graph_that_works_in_place_is_said_to_do_so(tmp_path):
    weights = [torch.ones(3), torch.ones(2)]

    def step(x):
        for one in weights:
            one.add_(x.sum())

    dump(tmp_path / "all", step, (torch.ones(3),))
    code = one(tmp_path / "all", "__transformed_code_0_for_*step.py")
    assert "changes 2 tensors in place" in code and "Nothing below uses what it returns" in code

    def returned(x):
        step(x)
        return x + 1

    dump(tmp_path / "used", returned, (torch.ones(3),))
    code = one(tmp_path / "used", "__transformed_code_0_for_*returned.py")
    assert "changes 2 tensors in place" in code and "Nothing below uses" not in code


def test_a_readme_says_what_differs_in_the_warnings_of_a_program(tmp_path):
    def warned(x):
        warnings.warn("small")
        return x + 1

    def quiet(x):
        return x + 1

    for function in (warned, quiet):
        folder = tmp_path / function.__name__
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dump(folder, function, (torch.ones(3),))
        text = readme_of(folder)
        assert ("a warning that the program shows once" in text) == (function is warned)


def test_a_readme_lists_the_compiles_of_a_function_without_a_break(tmp_path):
    def scaled(x, flag):
        return x * 2 if flag else x + 1

    dump(tmp_path, scaled, (torch.ones(3), True), (torch.ones(3), False))
    rows = readme_of(tmp_path).partition("## What runs")[2]
    assert "scaled 0/0 → " in rows and "↻ scaled 0/1 → " in rows


def test_a_break_in_a_method_of_the_same_name_has_its_class(tmp_path):
    class Inner(torch.nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            for _ in range(2):
                x = self.inner(x)
            return x

    dump(tmp_path, Outer(), (torch.ones(3),))
    rows = readme_of(tmp_path).partition("## What runs")[2].splitlines()
    (row,) = [one for one in rows if "not compiled" in one and "✂" in one][:1]
    assert row.rstrip().endswith("in Inner.forward"), row


def test_a_row_of_many_boxes_goes_on_below():
    from depyf.report import flow

    lines = flow._in_rows(["▷ " + "f" * 60 + " 1/0", "__compiled_fn_3 · 2 ops", "✂ line 44"], "  ")
    assert [len(one) <= 100 for one in lines] == [True] * len(lines)
    assert lines[-1].strip().endswith("✂ line 44") and lines[-1].startswith("      → ")


def test_a_graph_that_writes_to_many_inputs_names_some_as_examples(tmp_path):
    weights = [torch.ones(3) for _ in range(8)]

    def step(x):
        for one in weights:
            one.add_(x.sum())

    dump(tmp_path, step, (torch.ones(3),))
    text = one(tmp_path, "*Captured_Graph*.py").replace("\n#", "")
    assert "It writes to 8 of its inputs, besides what it returns, such as" in text


def test_a_file_says_which_compile_it_is_and_where_it_ends(tmp_path):
    def two(x):
        y = (x + 1) * 2
        torch._dynamo.graph_break()
        return y + 1

    dump(tmp_path, two, (torch.ones(3),))
    line = first_line(two, "graph_break")
    head = (tmp_path.glob("__transformed_code_0_for_*two.py").__next__()).read_text()
    assert head.startswith("# compile 0/0: up to the graph break at line %d\n" % line)
    rest = (tmp_path.glob("__transformed_code_0_for_*resume*.py").__next__()).read_text()
    assert "# compile 1/0: to the end of the function, without a graph break\n" in rest


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = None

    def forward(self, x):
        return x * 2 if self.kind is None else x * 3


@later
def test_another_value_that_changes_too_is_told_with_the_advice(tmp_path):
    module = Gated()

    def f(x):
        return module(x)

    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(f, backend="eager")
        compiled(torch.ones(3))
        module.kind = "given"
        compiled(torch.ones(3, requires_grad=True))
    (change,) = advise.changes(summary.load(str(tmp_path)))
    assert "kind" in change.words and "kind" in change.advice
    readme = readme_of(tmp_path).split("## ")[1]
    assert "kind" in readme


def test_what_does_not_change_is_not_told_with_the_advice(tmp_path):
    def f(x, k):
        return x * k

    dump(tmp_path, f, (torch.ones(3), 2), (torch.ones(4), 2))
    (change,) = advise.changes(summary.load(str(tmp_path)))
    assert "spares no compile" not in change.advice


def test_no_advice_names_what_is_torchs():
    from depyf.advice import keep_to_program

    said = {
        "help": [
            "call __nested_frame_values[1][0].requires_grad_()",
            "call w.f()",
            "pass ___stack0",
        ],
        "patches": ["a", "b", ""],
    }
    keep_to_program(said)
    assert said == {"help": ["call w.f()"], "patches": ["b"]}


NESTED = """
import torch, depyf

def inner(x, scale):
    y = torch.sin(x) * scale
    print("inner")
    return y + scale

def middle(x, w):
    a = inner(x, 2.0)
    b = torch.mm(a, w)
    print("middle")
    return b, a

def outer(x, w):
    b, a = middle(x * 2, w)
    return a + b
"""


@later
def test_a_value_of_a_callers_frame_is_named_as_the_program_names_it(tmp_path):
    path = tmp_path / "nested_program.py"
    path.write_text(NESTED)
    scope = {"__name__": "nested_program"}
    exec(compile(NESTED, str(path), "exec"), scope)
    with torch._dynamo.config.patch(nested_graph_breaks=True):
        grad = torch.randn(4, 4, requires_grad=True)
        calls = (torch.randn(4, 4), grad), (torch.randn(4, 4), torch.randn(4, 4))
        dump(tmp_path / "dump", scope["outer"], *calls)
    readme = readme_of(tmp_path / "dump")
    assert "`w`, kept across the graph break at line" in readme
    first = readme.split("## Names")[0]
    assert "nested_frame_values" not in first and "___stack" not in first


def test_the_page_has_the_order_and_the_figures_of_readme(tmp_path):
    def f(x, k):
        y = (x + 1) * k
        print(y.shape)
        return y * 2

    dump(tmp_path, f, (torch.ones(3), 2), (torch.ones(3), 3), dynamic=False)
    readme = readme_of(tmp_path).split("## What to change first")[1].split("## ")[0]
    told = re.findall(r"(?m)^\d\. (.+?), \S+?:(\d+): ", readme)
    assert len(told) > 1
    listed = page_of(tmp_path).split('id="h-causes"')[1].split("</ol>")[0]
    shown = re.findall(r'<div class="cost"><b>(up to [^<]+|no compile time|may[^<]+)</b>', listed)
    assert [saved for saved, _ in told] == shown[: len(told)]


def test_that_an_exception_came_is_said_only_where_that_is_possible(tmp_path):
    def note(x):
        float(x.abs().max())

    dump(tmp_path / "well", note, (torch.ones(3),))
    torch._dynamo.reset()
    with pytest.raises(ZeroDivisionError):
        with depyf.prepare_debug(str(tmp_path / "badly")):
            torch.compile(note, backend="eager")(torch.ones(3))
            raise ZeroDivisionError
    names = "README.md", "__transformed_code_0_for_*note.py"
    for folder in (tmp_path / "well", tmp_path / "badly"):
        for name in names:
            told = " ".join(one(folder, name).replace("\n#", "").split())
            assert "since an exception came" not in told
            assert "found no tensor and no module among its variables. A call" in told
    # where torch does not tell of the call
    assert "since an exception came first" in words.no_compile_of_rest(1)
