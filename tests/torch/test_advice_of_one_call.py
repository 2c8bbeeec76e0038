"""Advice on what one call of compiled code makes itself, and a graph break hands on."""

import pytest

pytest.importorskip("torch")

from even_times import evenly_timed  # noqa: E402
from followed import run  # noqa: E402

from programs import TORCH  # noqa: E402

from depyf import advise  # noqa: E402
from depyf.advise.listing import Advice  # noqa: E402
from depyf.advise.wording import saving  # noqa: E402

pytestmark = pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")

MADE = "The value is made in the same call, up to the graph break at "
BREAK = "torch._dynamo.graph_break()"


def advice_of(text, tmp_path):
    return run("import torch\n\n" + text, str(tmp_path / "program.py")).advice


def reasons_of_rests(advice):
    """What is said of the recompiles of what follows a break, or is called by compiled code."""
    return [one.reasons[0] for one in advice.nodes if one.reasons and (one.is_resume or one.outer)]


def f(body, calls, arguments="x, n"):
    lines = ["@torch.compile(backend='eager')", "def f(%s):" % arguments]
    lines += ["    " + one for one in body] + ["for n in %s:" % calls, "    f(torch.ones(3, 3), n)"]
    return "\n".join(lines) + "\n"


NAMES = f(
    ["names = []", "if n:", "    names.append('a')", BREAK, "return x + 1, '+'.join(names)"],
    "(0, 1)",
)
PARTS = f(
    [
        "parts = [x + i for i in range(n)]",
        BREAK,
        "for one in parts:",
        "    x = x + one",
        "return x",
    ],
    "(1, 2)",
)
FOUND = f(
    [
        "found = {}",
        "for i in range(n):",
        "    found['k%d' % i] = x",
        BREAK,
        "return sum(found.values(), x)",
    ],
    "(1, 2, 3)",
)
MODE = f(["mode = 'sum' if n > 1 else 'none'", BREAK, "return x * len(mode)"], "(1, 2)")
TURNED = f(["if n:", "    x = x.rot90()", BREAK, "return x * 2"], "(0, 1)")
RAISED = f(["y = x.unsqueeze(0) if n else x * 1", BREAK, "return y * 2"], "(0, 1)")
DOUBLE = f(["if n:", "    x = x.double()", BREAK, "return x * 2"], "(0, 1)")
PART = f(["if n:", "    x = x[1:]", BREAK, "return x * 2"], "(0, 1)")
IN_HELPER = "def helper(x, names):\n    names.append('q')\n    %s\n    return x * len(names)\n" % (
    BREAK
) + f(["names = ['a'] * n", "return helper(x, names)"], "(1, 2)")


@pytest.mark.parametrize("text", [NAMES, PARTS, FOUND, MODE, TURNED, RAISED, DOUBLE, IN_HELPER])
def test_a_value_that_the_call_makes_has_no_advice_for_what_a_call_is_given(text, tmp_path):
    advice = advice_of(text, tmp_path)
    found = reasons_of_rests(advice)
    assert found
    helps = [one for each in found for one in each["help"]]
    assert helps and all(one.startswith(MADE) for one in helps)
    listed = advice.listed()
    gone = [one for change in listed for one in change.gone]
    assert {one.row for one in gone} == {"made before a break"}
    assert not any(change.advice.startswith(MADE) for change in listed)
    told = advise.text(advice.document, advice=advice)
    assert "what the value is made of still takes a compile where it differs" in told
    # and without the break, torch guards nothing of it
    without = advice_of(text.replace(BREAK, "pass"), tmp_path)
    assert not reasons_of_rests(without)


@pytest.mark.parametrize(
    "body, arguments",
    [
        (["names = n", BREAK, "return x * len(names)"], "x, n"),
        ([BREAK, "n.append(1)", "return x * len(n)"], "x, n"),
        (["names = held['n']", BREAK, "return x * len(names)"], "x, n"),
    ],
)
def test_what_a_call_is_given_is_not_said_to_be_made_in_it(body, arguments, tmp_path):
    text = "held = {'n': []}\n" + f(body, "([], [1], [1, 2])", arguments)
    text = text.replace("    f(torch", "    held['n'] = n\n    f(torch")
    found = reasons_of_rests(advice_of(text, tmp_path))
    assert found and not any(one["row"] == "made before a break" for one in found)


def test_a_size_of_what_the_call_makes_is_marked_by_no_caller(tmp_path):
    found = reasons_of_rests(advice_of(PART, tmp_path))
    assert [one["row"] for one in found] == ["size"]
    assert not any("mark_dynamic" in one for one in found[0]["help"] + found[0]["patches"])
    assert any("dynamic=True" in one for one in found[0]["help"])


def test_a_break_without_advice_leaves_the_value_as_a_change_without_a_figure(tmp_path):
    text = "class Box:\n    def __enter__(self): return self\n    def __exit__(self, *args): pass\n"
    text += NAMES.replace(BREAK, "exec('')")
    advice = advice_of(text, tmp_path)
    found = [one for one in advice.listed() if one.advice.startswith(MADE)]
    assert all(saving(one) == "no figure" for one in found)


LAYERS = """
class Layer(torch.nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = mode
    def forward(self, x):
        %s
        if self.mode == "mean":
            return x / x.mean()
        return x + x.sum()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer("mean"), Layer("sum"), Layer("max")])
    def forward(self, x):
        %s

net = torch.compile(Net(), backend="eager")
net(torch.arange(4.0))
"""
LOOP = "for layer in self.layers:\n            x = layer(x)\n        return x"
ONE_BY_ONE = "return self.layers[2](self.layers[1](self.layers[0](x)))"


@pytest.mark.parametrize("calls, why", [(LOOP, "torch gave up"), (ONE_BY_ONE, "of a graph break")])
@pytest.mark.parametrize("first", [BREAK, "print('met')", "x = x * 2; " + BREAK])
def test_the_model_that_is_compiled_is_not_to_be_compiled(first, calls, why, tmp_path):
    advice = advice_of(LAYERS % (first, calls), tmp_path)
    found = [one for node in advice.nodes for one in node.reasons if "self.mode" in one["words"]]
    assert found
    assert not any("torch.compile(model)" in text for one in found for text in one["help"])
    assert all("it has compiles of its own because " + why in one["words"] for one in found)
    assert not any("torch.compile(model)" in one.advice for one in advice.listed())


def test_the_page_has_the_patches_of_the_changes_and_ends_with_what_they_leave_nothing_of(tmp_path):
    from depyf.report import page as pages
    from depyf.report.page import front

    found = advice_of(TURNED.replace(BREAK, "print('met')"), tmp_path)
    advice = Advice(evenly_timed(found.document))
    rows = front.cause_rows(advice)
    shown = list(advice.patches().values())
    assert shown and shown == [row["patch"] for row in rows if row["patch"]]
    gone = [bool(row["gone"]) for row in rows]
    assert gone == sorted(gone) and gone[-1] and not gone[0]
    page = pages.render([advice.document], str(tmp_path), advice)
    first, *_, last = page.partition('<ol class="causes">')[2].split('<li class="cause ')[1:]
    assert "+torch._dynamo.config.reorderable_logging_functions.add(print)" in first
    assert "data-more" not in first and "data-more" in last
    assert "Show all %d" % len(rows) in page
