"""Advice that holds by what a program does with a value in other lines than the one torch names."""

import pytest

pytest.importorskip("torch")

from followed import run  # noqa: E402

from programs import TORCH  # noqa: E402

from depyf import advise  # noqa: E402
from depyf.advise.wording import saving  # noqa: E402
from depyf.report.overview.holders import holder_at  # noqa: E402

pytestmark = pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")

HEAD = "import random\nimport torch\n\n"
COMPILED = '@torch.compile(backend="eager")\n'


def told_of(text, tmp_path):
    """(the changes of a program, all that is told of them)."""
    advice = run(HEAD + text, str(tmp_path / "program.py")).advice
    return advice.listed(), advise.text(advice.document, advice=advice)


SORTED = (
    COMPILED
    + """def f(x):
    out = []
    for v in x:
        out.append((round(v.item(), 4), 1))
    return %s

f(torch.arange(3.0))
"""
)


@pytest.mark.parametrize(
    "order, breaks",
    [
        ("sorted(out, key=lambda p: (-p[0], p[1]))", True),
        ("max(out, key=lambda p: p[0])", True),
        ("sorted(out)", True),
        ("max([p[0] for p in out])", False),
        ("sorted([x.shape[0], 2])", False),
    ],
)
def test_the_line_that_sorts_what_keeps_a_tensors_numbers_is_named_without_a_figure(
    order, breaks, tmp_path
):
    (change,), told = told_of(SORTED % order, tmp_path)
    assert ("may save or cost compile time" == saving(change)) == breaks
    assert ("program.py:9: torch traces up to there" in told) == breaks
    assert ("unrolls the loop" in told) != breaks


LEFT = (
    """def part(x, h):
    y = x + h * x.sin()
    err = max(float((y - x).abs().max()) for _ in range(2))
    return y, %s

"""
    + COMPILED
    + """def f(x, h):
    while True:
        y, err = part(x, h)
        if err <= 0.1:
            break
        h = h * 0.5
    return y + 1

f(torch.ones(3), 0.5)
"""
)


@pytest.mark.parametrize("given, ends", [("err * h", True), ("h * 0.01", False)])
def test_a_loop_that_a_called_functions_number_ends_is_not_said_to_be_unrolled(
    given, ends, tmp_path
):
    told = told_of(LEFT % given, tmp_path)[1]
    assert ("compile a function that makes one round" in told) == ends
    assert not ends or "unrolls the loop" not in told


DRAWN = (
    COMPILED
    + """def weather(t):
    level = (torch.sin(t) + 0.2 * %s).relu()
    level = level * 2
    return round(level.item(), 2)

"""
    + COMPILED
    + """def choose(x, w):
    best = int(x.argmax())
    return x[best] * w.sum()

for n in range(2):
    weather(torch.ones(()) * n), choose(torch.arange(4.0) * n, torch.ones(4))
"""
)


@pytest.mark.parametrize("draw, at", [("random.random()", 0), ("random.uniform(0, 1)", 6)])
def test_a_draw_is_to_be_changed_before_the_setting_only_where_torch_traces_it(draw, at, tmp_path):
    changes, told = told_of(DRAWN % draw, tmp_path)
    item = next(one for one in changes if one.row == "item")
    assert ("First change program.py:%d, where Python draws" % at in item.advice) == bool(at)
    assert "where Python draws a random number" in told or not at
    assert ("level" in told) or "random.random" in told or at


SIZED = (
    COMPILED.replace('"eager"', '"eager", dynamic=True')
    + """def crop(img):
    top = %s
    return img[top : top + 4] * 2

rng = random.Random(2)
for n in (8, 10):
    crop(torch.ones(n, 3))
"""
)


def test_a_number_drawn_up_to_a_size_is_drawn_before_the_call(tmp_path):
    (change,), told = told_of(SIZED % "rng.randint(0, img.shape[0] - 4)", tmp_path)
    assert change.advice.startswith("Draw the number before the call")
    assert "program.py:6 torch raises an exception to the program." in told
    assert "uncompiled" not in told and saving(change) == "no figure"


FILLED = (
    "from collections import Counter\nNAMES = ['a', 'b', 'c']\n\n"
    + COMPILED
    + """def board(x, served, at):
    y = x.sin()
    served[NAMES[at]] += 1
    return y + 1

served = Counter()
for n in range(6):
    board(torch.ones(3), served, n % 3)
"""
)


def test_a_dict_that_the_function_counts_in_is_filled_outside_of_it(tmp_path):
    changes, told = told_of(FILLED, tmp_path)
    assert "remove the keys" not in told
    (change,) = [one for one in changes if one.row == "growing dict"]
    assert change.shown_at[1] == 10


BY_CONTEXT = (
    """from contextlib import contextmanager

@contextmanager
def section(name, totals):
    start = len(totals)
    yield
    totals.append((name, start))

"""
    + COMPILED
    + """def energy(x, totals):
    with section("energy", totals):
        y = x.sin()
    return y.sum()

totals = []
for _ in range(4):
    energy(torch.ones(3), totals)
"""
)


def test_a_list_to_which_a_context_manager_appends_is_appended_to_outside(tmp_path):
    (change,), _ = told_of(BY_CONTEXT, tmp_path)
    assert "append outside of the compiled function" in change.advice
    assert change.shown_at[1] == 14


COUNTED = """import itertools

calls = itertools.count()

@torch.compile(backend="eager")
def f(x):
    next(calls)
    return x * 2

for _ in range(4):
    f(torch.ones(3))
"""


def test_an_itertools_count_is_told_where_it_is_advanced(tmp_path):
    (change,), _ = told_of(COUNTED, tmp_path)
    assert "the itertools.count `calls` was at 0" in change.words
    assert open(change.shown_at[0]).readlines()[change.shown_at[1] - 1].strip() == "next(calls)"


FIRST = (
    COMPILED
    + """def f(x):
    total = x.sum().item()
    return x[int(total), 1] * 2

@torch.compile(backend="eager")
def g(x, seen):
    seen.append(x.sum().item())
    return x + 1

f(torch.ones(4, 4) / 8)
seen = []
for _ in range(3):
    g(torch.ones(3), seen)
"""
    + COMPILED
    + """def h(x):
    return x * x.sum().item()

h(torch.ones(3))
"""
)


def test_what_is_to_be_changed_first_is_not_counted_again_as_more(tmp_path):
    changes, _ = told_of(FIRST, tmp_path)
    (item,) = [one for one in changes if one.row == "item"]
    assert "First change " in item.advice
    listed = changes.index(item)
    for one in changes[listed + 1 :]:
        if one.row.startswith("item "):
            assert one.seconds < 0.005


PICKED = (
    COMPILED
    + """def pick(x, table, at):
    return x * table[at.item()]

"""
    + COMPILED
    + """def check(x, low):
    if x.shape[0] > low:
        raise ValueError("too low: %.2f" % float(x.min()))
    return x.sqrt()

"""
    + COMPILED
    + """def same(x):
    return x

for n in range(3):
    pick(torch.ones(2), [1.0, 2.0, 3.0], torch.tensor(n)), same(torch.ones(2))
    try:
        check(torch.ones(3), 2)
    except ValueError:
        pass
"""
)


def test_no_setting_is_advised_for_a_number_that_picks_or_makes_a_string(tmp_path):
    changes, told = told_of(PICKED, tmp_path)
    rows = {one.row for change in changes for one in (change,) + change.also}
    assert {"item in a text", "item that picks an element"} <= rows and "item" not in rows
    assert "capture_scalar_outputs = True" not in told
    assert "be the first one" not in told


DISPATCHED = """import functools

@functools.singledispatch
def enc(v, x):
    return x + 1

@enc.register
def _(v: int, x):
    return x * v

@enc.register
def _(v: str, x):
    return x - len(v)

use = torch.compile(lambda v, x: enc(v, x).relu(), backend="eager")
for v in (2, "ab", 3, 1.5, "abc"):
    use(v, torch.ones(3))
"""


def test_a_type_that_selects_a_function_is_not_advised_to_be_the_same(tmp_path):
    assert "the same type" not in told_of(DISPATCHED, tmp_path)[1]


CLAMPED = """class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= ctx.limit), None

class Block(torch.nn.Module):
    limit = 5.0
    def forward(self, x):
        return Clamp.apply(x, self.limit)

block = Block()
f = torch.compile(block, backend="aot_eager")
for at in range(4):
    block.limit = 5.0 - at / 4
    f(torch.ones(3, requires_grad=True)).sum().backward()
"""


def test_a_float_that_is_set_on_another_object_is_not_said_to_be_set(tmp_path):
    (change,), told = told_of(CLAMPED, tmp_path)
    assert "the function sets" not in told
    assert "clamp at program.py:9 makes self.limit a constant" in change.advice


METER = """class Meter:
    def __init__(self):
        self.values = {"a": 0.0}

    def update(self, a, b=0):
        self.values["a"] += a

class Trainer:
    def __init__(self):
        self.meter = Meter()

    @torch.compile(backend="aot_eager")
    def step(self, x):
        y = x * 2
        %s
        return y * self.meter.values["a"]

trainer = Trainer()
for at in range(4):
    trainer.step(torch.full((3,), float(at + 1)))
"""


def test_the_object_of_a_method_that_a_break_keeps_is_named_as_the_program_has_it(tmp_path):
    _, told = told_of(METER % "self.meter.update(y.sum().item())", tmp_path)
    assert "self.meter.values['a'] was" in told
    assert "kept.values" not in told


@pytest.mark.parametrize(
    "call",
    [
        "log(self.meter.update(y.sum().item()))",
        "self.meter.update(self.other, y.sum().item())",
        "torch.apply(self.meter.update, y.sum().item())",
        "self.meter.update(1)",
        "meter.update(y.sum().item())",
        "self.meters[0].update(y.sum().item())",
    ],
)
def test_where_another_method_may_be_on_the_stack_its_object_has_no_name(call, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("def f(self, y):\n    meter = self.meter\n    %s\n" % call)
    assert not holder_at(str(program), 3)


SPLIT = """calls = 0

class Encoder(torch.nn.Module):
    def forward(self, x):
        %s
        return torch.stack([part.sum() for part in x.split(4)]).sum()

f = torch.compile(Encoder(), backend="eager")
for size in (7, 4, 3, 13):
    f(torch.ones(size))
"""


@pytest.mark.parametrize("line", ["pass", "global calls; calls += 1; x = x + [1, 2] [calls > 9]"])
def test_no_mark_is_advised_for_a_size_that_the_compile_for_others_excludes(line, tmp_path):
    changes, _ = told_of(SPLIT % line, tmp_path)
    every = [each for one in changes for each in (one,) + one.also]
    assert any("size(0)` was 7, is 4" in one.words for one in every)
    assert not any("compiles once for all sizes" in one.advice for one in every)


STEP = """class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.steps = 0

    @torch.compile(backend="aot_eager")
    def step(self, x, k):
        loss = self.model(x).mean()
        loss.backward()
        if k % 2 == 1:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.steps += 1
        return loss

@torch.compile(backend="aot_eager", dynamic=False)
def total(x):
    return x.sin().sum() + x.cos().sum()

trainer = Trainer()
for k in range(4):
    print("%.4f" % trainer.step(torch.ones(2, 3), k), "%.4f" % total(torch.ones(k + 2)))
"""


def test_a_backward_pass_behind_which_a_step_runs_uncompiled_stands_first(tmp_path):
    changes, told = told_of(STEP, tmp_path)
    assert told.startswith("runs uncompiled: Trainer.step, resumed after line 13 ")
    assert changes[0].row == "backward" and len(changes) > 1
    assert "may compile all of the function" not in told


STRING = (
    """class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2


"""
    + COMPILED
    + """def step_of(critic, x, step):
    loss = critic(x).mean()
    if torch.isnan(loss):
        raise RuntimeError(f"diverged in {step}")
    if step %% 4 == 0:
        %s
    return loss


critic = Critic()
for step in range(11):
    step_of(critic, torch.ones(3), step)
print("result", critic.calls)
"""
)


@pytest.mark.parametrize(
    "shown, named",
    [
        ("print(f'[{step}] {loss.item():.3f}')", True),
        ("print(f'[{step + 1}] {loss.item():.3f}')", True),
        ("print(format(step, '03d'), loss.item())", True),
        ("print(f'{loss.item():.3f}')", False),
        ("print('step', step, loss.item())", False),
    ],
)
def test_a_string_of_a_number_is_changed_before_numbers_become_symbolic(shown, named, tmp_path):
    text = STRING % shown
    advice = run(HEAD + text, str(tmp_path / "program.py")).advice
    (change,) = [one for one in advice.listed() if "allow_unspec_int" in one.advice]
    told = advise.text(advice.document, advice=advice)
    assert ("First change program.py:20, where a string is made of a number" in told) == named
    assert ("+torch._dynamo.config.allow_unspec_int" in told) != named
    setting = HEAD + "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n" + text
    after = run(setting, str(tmp_path / "after.py"))
    assert named or not after.error and after.result == [11.0]


COMPUTED = (
    COMPILED
    + """def f(x, step, eps: float):
    number = %s
    return %s


for k in range(3):
    f(torch.arange(3.0) + k, 0.5 * k + 0.25, 0.5 * k + 0.25)
"""
)


@pytest.mark.parametrize(
    "number, given, row",
    [
        ("float(x.sum())", "min(max(number, 0.5 * step), 2.0 * step)", "item beside a number"),
        ("x.sum().item()", "number > eps", "item beside a number"),
        ("x.sum().item()", "round(number * step, 2)", "item beside a number"),
        ("max(x.sum().item(), step)", "number", "item beside a number"),
        ("int(x.argmax())", "divmod(number, 2)", "item that decides"),
        ("divmod(int(x.argmax()), 2)", "number", "item that decides"),
        ("int(x.argmax())", "[k for k in range(3) if k != number]", "item that decides"),
        ("int(x.argmax())", "not number", "item that decides"),
        ("int(x.argmax())", "{number: 1}", "item that decides"),
        ("int(x.argmax())", "any([number > 1, step > 1])", "item that decides"),
        ("x.sum().item()", "max(number, 0.5) * x", "item"),
        ("x.mean().item()", "x > number", "item"),
        ("x.sum().item()", "x.clamp(max=abs(number))", "item"),
        ("int(x.argmax())", "max(number, x.shape[0])", "item"),
        ("int(x.argmax())", "number // 2, number == 1", "item"),
    ],
)
def test_a_setting_is_advised_where_torch_keeps_what_is_computed_from_a_number(
    number, given, row, tmp_path
):
    text = (HEAD + COMPUTED % (number, given)).replace('"eager"', '"aot_eager"')
    advice = run(text, str(tmp_path / "program.py")).advice
    change = next(one for one in advice.listed() if one.kind != "recompile")
    assert change.row == row
    assert ("capture_scalar_outputs" in change.patch) == (row == "item")
    setting = HEAD + "torch._dynamo.config.capture_scalar_outputs = True\n"
    after = run(text.replace(HEAD, setting), str(tmp_path / "after.py"))
    nodes = after.advice.nodes
    kept = not any(one.breaks or one.failure for one in nodes) and len(nodes) < 3
    assert kept == (row == "item")


LAYERS = """class Layer(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, 3)

    def forward(self, x, at):
        counts = torch.bincount(at, minlength=3)
        return self.linear(x) + counts


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(2), Layer(3)])

    def forward(self, x, at):
        for k, layer in enumerate(self.layers):
            x = layer(x, at).relu()
            empty = torch.nonzero(x.sum(1) == 0).squeeze(1)
            %s
        return x


net = torch.compile(Net(), backend="eager")
for k in range(3):
    net(torch.ones(4, 2), torch.tensor([0, 1, 2, k]))
"""


@pytest.mark.parametrize(
    "rest, left",
    [
        ("if len(empty) > 0:\n                x = x.index_fill(0, empty, 0.1)", True),
        ("while empty.shape[0] > 2:\n                break", True),
        ("x = x.index_fill(0, empty, 0.1)", False),
        ("if len(x) > 0:\n                x = x + empty.shape[0]", False),
    ],
)
def test_a_branch_on_a_size_that_values_decide_is_the_next_break_of_a_loop(rest, left, tmp_path):
    text = LAYERS % rest
    changes, told = told_of(text, tmp_path)
    first = changes[0]
    assert "capture_dynamic_output_shape_ops" in first.patch
    assert bool(first.left) == left and ("also removes" in told) != left
    assert ("the next break there may be /program.py:23" in told.replace(str(tmp_path), "")) == left
    setting = HEAD + "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n"
    after = run(setting + text, str(tmp_path / "after.py"))
    uncompiled = [one for one in after.advice.nodes if one.failure and one.title == "Net.forward"]
    assert bool(uncompiled) == left


def test_what_torch_keeps_on_its_stack_is_not_told_by_torchs_name_for_it(tmp_path):
    shown = "print(f'[{step}] {loss.item():.3f}')"
    changes, told = told_of(STRING % shown, tmp_path)
    words_of = [each.words for one in changes for each in (one,) + one.also + one.gone]
    assert "___stack" not in told + "".join(words_of)
    assert any("across the graph break at line 20 was '0', a str" in one for one in words_of)


LENGTHS = """class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, a, b):
        self.seen.append(1)
        return a.sum() + b.sum() + len(self.seen)


net = torch.compile(Net(), backend="eager")
for k in range(6):
    net(torch.ones(3, 4 + k), torch.ones(max(k, 1) + 4))
"""


def test_one_help_for_two_values_beside_another_is_told_once(tmp_path):
    told = told_of(LENGTHS, tmp_path)[1]
    either = ("And for %s: torch.compile(" % one for one in ("a and b", "b and a"))
    assert any(one in told for one in either)  # what took longer stands first
    assert told.count("compiles once for all sizes") == 1, told


LIMITED = (
    "import warnings\n"
    + COMPILED.replace('"eager"', '"aot_eager"%s')
    + """def f(x, low):
    total = x * 2
    if (total < low).any():
        %s
        total = total%s
    return total + 1

for n in range(4):
    f(torch.ones(3), 0.5 * n + 1)
"""
)
SHOWN = 'warnings.warn("low")'


@pytest.mark.parametrize("dynamic", ["", ", dynamic=True"])
@pytest.mark.parametrize(
    "show, side, told",
    [
        (SHOWN, ".clamp(min=low)", "total.clamp"),
        ("total = total + 1", ".clamp(min=low)", "total.clamp"),
        (SHOWN, " + low", ""),
        (SHOWN, ".clamp(min=0.5)", ""),
    ],
)
def test_a_float_that_a_side_gives_to_an_operator_is_to_be_a_tensor_before_torch_where(
    show, side, told, dynamic, tmp_path
):
    changes = told_of(LIMITED % (dynamic, show, side), tmp_path)[0]
    branch = next(one for one in changes if one.row == "branch")
    assert "torch.where" in branch.advice
    assert ("First make `low` a tensor" in branch.advice) == bool(told)
    assert told in branch.advice and not (told and branch.patch)


@pytest.mark.parametrize("test, breaks", [("(total < low).any()", False), ("low < 2", True)])
def test_a_tensor_is_said_to_break_the_graph_only_where_a_tensor_does_not_already(
    test, breaks, tmp_path
):
    text = LIMITED.replace("(total < low).any()", test) % ("", SHOWN, " + low")
    changes, told = told_of(text, tmp_path)
    assert "dynamic=True" in told
    assert ("As a tensor it would break the graph" in told) == breaks


UNROLLED = (
    COMPILED
    + """def f(x, length):
    h = torch.zeros(2)
    for t in range(length):
        h = %s
    return h

pool = torch.randn(12, 2)
for n in (5, 5, 6, 6):
    f(pool[:n], n)
"""
)


@pytest.mark.parametrize(
    "body, decides",
    [
        ("torch.tanh(x[t] + h)", False),
        ("x[t] + h if x.shape[0] > 5 else h", True),
    ],
)
def test_the_bound_of_an_index_in_an_unrolled_loop_decides_nothing(body, decides, tmp_path):
    told = told_of(UNROLLED % body, tmp_path)[1]
    assert ("decides on this size" in told) == decides
    assert "x.size(0) was 5, is 6" in told


LISTS = (
    COMPILED
    + """def f(x, at):
    y = x.sin()
    order = %s
    listed = %s.tolist()
    return listed, y.cos() %s

for size in range(3, 3 + CALLS):
    f(torch.ones(size, 2), torch.arange(2) + size)
"""
)


@pytest.mark.parametrize("calls", (4, 12))
@pytest.mark.parametrize(
    "order, listed, behind, is_kept",
    [
        ("y.sum(1).argsort()", "order", "", False),
        ("y.sum(1).argsort() + 1", "order", "* len(listed)", False),
        ("at", "y.sum(1).argsort()", "", False),
        ("y.sum(0).argsort()", "order", "", True),
        ("at", "at", "* listed[0]", True),
        ("at * 2", "order", "* listed[1]", True),
    ],
)
def test_a_list_is_kept_in_the_graph_only_where_its_length_is_the_same(
    order, listed, behind, is_kept, calls, tmp_path
):
    """With the setting, torch compiles all of the function for each length of the list."""
    text = HEAD + (LISTS % (order, listed, behind)).replace("CALLS", str(calls))
    changes = run(text, str(tmp_path / "program.py")).advice.listed()
    (change,) = [one for one in changes if one.row.startswith("list of")]
    assert change.row == ("list of integers" if is_kept else "list of any length")
    assert bool(change.patch) == is_kept
    setting = HEAD + "torch._dynamo.config.capture_scalar_outputs = True\n"
    after = run(text.replace(HEAD, setting), str(tmp_path / "after.py")).advice
    nodes = [one for one in after.nodes if not one.failure]
    assert (len(nodes) <= 2) == is_kept  # a second one makes the size of x symbolic
    if not is_kept:
        assert {one.row for one in after.listed()} == {"size of a list"}
        returned = text.replace("listed = %s.tolist()" % listed, "listed = %s" % listed)
        if not behind:
            left = run(returned, str(tmp_path / "returned.py")).advice.nodes
            assert len(left) == 2 and not any(one.breaks for one in left)


GIVEN = (
    """import math
total = 0

def part(x, k):
    return x * math.gcd(k, 6)

"""
    + COMPILED.replace('"eager"', '"eager", dynamic=True')
    + """def f(x, n, steps):
    %s
    return x.sin(), %s

for n in range(3, 7):
    f(torch.full((n,), 1.0 + n), n, [n, 2])
"""
)


@pytest.mark.parametrize(
    "made, used, can",
    [
        ("n = n + 1", "math.gcd(n, 6)", True),
        ("k = 2 * steps[0]", "math.factorial(k)", True),
        ("k = x.shape[0]", "math.factorial(max(k, 2))", True),
        ("k = n", "part(x, k)", False),
        ("pass", "part(x, n)", True),
        ("k = x.sum().long().item()", "math.gcd(k, 6)", False),
        ("k = 1.0 / (x * 2).sum().item()", "math.isfinite(k)", False),
        ("k = [n for _ in x.split(1)][-1]", "math.gcd(k, 6)", False),
    ],
)
def test_a_function_of_math_is_called_before_only_where_its_number_is_known(
    made, used, can, tmp_path
):
    changes, told = told_of(GIVEN % (made, used), tmp_path)
    rows = {each.row for one in changes for each in (one,) + one.also}
    row = "function of a number" if can else "function of a computed number"
    assert row in rows and not rows & ({"function of a number"} - {row}), rows
    assert bool("before the compiled function, and pass its result" in told) == can


RETURNED = (
    COMPILED
    + """def f(x):
    y, scale, name = x * 2, 1.0, 3
    %s
        %s
    return %s

for value in (1, 2):
    f(torch.ones(3) * value)
"""
)


@pytest.mark.parametrize("test", ["if y.sum() > 9:", "if (y.sum() > 9).item():"])
@pytest.mark.parametrize(
    "side, value, names",
    [
        ("y = x + 1; scale = 0.5", "y, scale", "scale"),
        ("y = x + 1; scale = -0.5; name = 4", "{'y': y, 's': scale, 'n': name}", "name and scale"),
        ("y = x + 1; scale = 0.5", "y * scale", ""),
        ("return x + 1, False", "y, True", "False"),
    ],
)
def test_a_number_that_a_side_gives_to_the_caller_is_said_to_become_a_tensor(
    side, value, names, test, tmp_path
):
    told = told_of(RETURNED % (test, side, value), tmp_path)[1]
    if "torch.where" in told:
        sentence = "The Python number that a side gives (%s), and that" % names
        assert (sentence in " ".join(told.split())) == bool(names), told
        assert bool(names) or "that a side gives" not in told
    else:
        assert "return" in side and "no tensor" in told or "not a tensor" in told


COUNTS = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.seen, self.calls, self.names = {"a": 0}, [0], ["a"]

    def forward(self, x):
        %s += 1
        return self.lin(x).sum()

model = torch.compile(Model(), backend="aot_eager")
for i in range(6):
    model(torch.ones(2, 4))
"""
_SPARES = "torch._dynamo.config.allow_unspec_int_on_nn_module = True"


@pytest.mark.parametrize("counted", ["self.seen['a']", 'self.seen["a"]', "self.calls[0]"])
def test_the_setting_for_integers_is_advised_for_those_in_a_modules_containers(counted, tmp_path):
    changes, _ = told_of(COUNTS % counted, tmp_path)
    assert any(_SPARES in one.patch for one in changes)
    after = run(HEAD + _SPARES + "\n" + COUNTS % counted, str(tmp_path / "after.py"))
    assert len(after.advice.nodes) == 2


METHOD = """
class Mean:
    def __init__(self):
        self.step = 0

    %s
    def update(self, x):
        self.step += 1
        return x * self.step

mean = Mean()
update = torch.compile(mean.update, backend="eager")
for i in range(4):
    update(torch.ones(3))
"""


@pytest.mark.parametrize("decorator", ["@torch.no_grad()", "@torch.enable_grad()"])
def test_the_object_of_a_wrapped_method_has_the_name_that_the_method_has(decorator, tmp_path):
    told = told_of(METHOD % decorator, tmp_path)[1]
    assert "self.step was 0" in told and "__self__" not in told


def test_a_parameter_that_is_a_method_keeps_its_name(tmp_path):
    text = COMPILED + (
        "def f(fn, x):\n    return fn(x)\n\nclass A:\n    def __init__(self):\n"
        "        self.step = 0\n    def g(self, x):\n        self.step += 1\n"
        "        return x * self.step\n\na = A()\nfor i in range(4):\n    f(a.g, torch.ones(3))\n"
    )
    assert "fn.__self__.step was 0" in told_of(text, tmp_path)[1]
