"""find_nonfinite and compare_stages: the right node is named, and nothing of the program is
changed.
"""

import json
import os
import re


import depyf
import pytest
from forms import long_form
from programs import readme_of
import torch
from depyf.torch import compat
from depyf.torch.numbers import stages

HERE = os.path.basename(__file__)


def line_of(text):
    with open(__file__, encoding="utf-8") as stream:
        return next(number for number, line in enumerate(stream, 1) if text in line)


class Net(torch.nn.Module):
    """State of every kind: parameters, a buffer that changes, random numbers, plain attributes, a
    list.
    """

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.dropout = torch.nn.Dropout(0.4)
        self.calls = 0
        self.history = []
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x, scale=1.0):
        self.calls += 1
        self.history.append(self.calls)
        self.total = self.total + 1
        y = torch.nn.functional.silu(self.linear(x))  # silu here
        return torch.sin(self.dropout(self.norm(y)) * scale)  # sin here


class Unchanged:
    """Checks that a module, its gradients and the random state are as they were."""

    def __init__(self, module):
        self.module = module
        for parameter in module.parameters():
            parameter.grad = torch.randn_like(parameter)
        self.values = {name: value.clone() for name, value in module.state_dict().items()}
        self.gradients = [parameter.grad for parameter in module.parameters()]
        self.copies = [gradient.clone() for gradient in self.gradients]
        self.identities = {name: id(value) for name, value in module.named_buffers()}
        self.random = torch.get_rng_state()

    def check(self):
        for name, value in self.module.state_dict().items():
            assert torch.equal(value, self.values[name]), name
        assert {name: id(value) for name, value in self.module.named_buffers()} == self.identities
        for parameter, gradient, copy in zip(self.module.parameters(), self.gradients, self.copies):
            assert parameter.grad is gradient and torch.equal(gradient, copy)
        assert self.module.calls == 0 and self.module.history == []
        assert torch.equal(torch.get_rng_state(), self.random)


def test_the_first_nan_in_forward():
    def function(x, w):
        h = x @ w
        shifted = h - h.max()
        root = torch.sqrt(shifted)  # root here
        return root.sum()

    report = depyf.find_nonfinite(function, torch.randn(4, 3), torch.randn(3, 5))
    found = report.first
    assert report and found is report.first_nan
    assert (found.node, found.operation, found.direction) == ("root", "torch.sqrt", "forward")
    assert found.kind == "NaN" and os.path.basename(found.path) == HERE
    assert found.line == line_of("# root here") and "torch.sqrt(shifted)" in found.code
    assert [one.name for one in found.inputs] == ["shifted"]
    assert (
        found.inputs[0].maximum == 0 and found.inputs[0].minimum < 0 and found.inputs[0].is_finite
    )
    assert found.output.nan == 19 and found.output.elements == 20
    text = str(report)
    assert "root" in text and "%s:%d" % (HERE, found.line) in text and "19 NaN" in text


def test_the_first_infinity_and_nan_in_backward():
    def function(x):
        return torch.sqrt((x * x).sum(1)).sum()  # norm here

    x = torch.zeros(2, 3, requires_grad=True)
    report = depyf.find_nonfinite(function, x)
    assert x.grad is None
    assert report.first.direction == "backward" and report.first.kind == "infinity"
    assert report.first.operation == "SqrtBackward0" and report.first.line == line_of("# norm here")
    assert any(one.name == "saved result" and one.zeros == 2 for one in report.first.inputs)
    assert report.first_nan.operation == "MulBackward0"
    assert not depyf.find_nonfinite(function, x, backward=False)


def test_the_value_that_is_shown_is_the_one_that_holds_the_nan():
    def loss(x, weight, bias):
        return torch.nn.functional.linear(x, weight, bias).sum() * float("inf")

    # the gradient of the bias is infinite, that of the weight holds NaN as well
    x, weight, bias = (
        torch.tensor([[1.0, 0.0]]),
        torch.ones(1, 2, requires_grad=True),
        torch.ones(1, requires_grad=True),
    )
    report = depyf.find_nonfinite(loss, x, weight, bias)
    shown = [
        one
        for one in (report.first, report.first_nan)
        if one is not None and one.direction == "backward" and "NaN" in one.kind
    ]
    assert shown and all(one.output.nan for one in shown), str(report)


def test_infinity_on_purpose_is_told_apart_from_the_nan():
    def function(x):
        mask = torch.full((3, 3), float("-inf")).triu(1)
        torch._dynamo.graph_break()
        good = torch.softmax(x + mask, -1)
        return good + torch.softmax(torch.full_like(x, float("-inf")), -1)  # softmax here

    report = depyf.find_nonfinite(function, torch.randn(3, 3))
    assert report.graphs == 2
    assert report.first is report.first_nan
    assert report.first_nan.kind == "NaN" and report.first_nan.graph == 1
    assert report.first_nan.line == line_of("# softmax here")
    assert report.mask.kind == "infinity" and report.mask.graph == 0
    text = str(report)
    assert text.index("NaN made by softmax") < text.index("-inf on purpose, as a mask?")
    assert text.count("infinity made by") == 0 and text.count("as a mask") == 1


def test_a_mask_alone_is_no_finding_and_other_infinity_is():
    def attention(x, keep):
        scores = (x @ x.T).masked_fill(~keep, float("-inf"))
        return torch.softmax(scores / 2, -1)

    keep = torch.ones(3, 3, dtype=torch.bool).tril()
    report = depyf.find_nonfinite(attention, torch.randn(3, 3), keep)
    assert not report and "but for -inf in what looks like a mask" in str(report)
    assert "masked_fill" in str(report)

    def logarithm(x, keep):
        scores = torch.log(x * 0)  # log here
        return scores.masked_fill(~keep, float("-inf"))

    report = depyf.find_nonfinite(logarithm, torch.ones(3, 3), keep)
    assert report.first.line == line_of("# log here") and report.first.kind == "infinity"

    def overflow(x, keep):
        large = torch.exp(x * 1000)  # exp here
        return large - large

    report = depyf.find_nonfinite(overflow, torch.ones(3, 3), keep)
    assert report.first.line == line_of("# exp here") and report.first_nan is not report.first
    assert str(report).index("NaN made by") < str(report).index("infinity made by")


def test_inputs_that_hold_nan_are_named_as_the_user_calls_them():
    net = Net()
    report = depyf.find_nonfinite(net, torch.full((2, 6), float("nan")))
    assert report.first.is_input and report.first.node == "input x"
    with torch.no_grad():
        net.linear.weight[0, 0] = float("inf")
    report = depyf.find_nonfinite(net, torch.ones(2, 6))
    if getattr(torch._dynamo.config, "inline_inbuilt_nn_modules", False):
        assert report.first.is_input and report.first.node == "input self.linear.weight", (
            report.first.node
        )
    else:  # before torch 2.5 a module of torch's own is one node, which has its parameters itself
        assert not report.first.is_input and report.first.node.endswith("linear"), report.first.node


def test_in_place_writes_and_memory_that_nobody_wrote():
    def function(x):
        box = torch.empty_like(x)
        box.fill_(2.0)
        box[0] = x[0] / 0  # write here
        return box * 2

    report = depyf.find_nonfinite(function, torch.ones(3))
    assert report.first.line == line_of("# write here") and "truediv" in report.first.operation


def test_dynamic_shapes_and_finite_programs():
    def function(x):
        return x.reshape(-1, x.shape[0]).mean(0) * x.shape[1]

    compiled = torch.compile(function, backend="eager")
    report = depyf.find_nonfinite(compiled, torch.randn(3, 4), dynamic=True)
    assert not report and report.graphs == 1 and report.nodes > 3
    assert "every value was finite" in str(report)


def test_modules_are_not_changed_and_keep_their_compiles():
    net = Net()
    compiled = torch.compile(net, backend="eager")
    with torch.random.fork_rng():
        compiled(torch.ones(2, 6))
    net.calls, net.history, net.total = 0, [], torch.zeros(())
    unchanged = Unchanged(net)
    assert not depyf.find_nonfinite(
        compiled, torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    )
    unchanged.check()
    with depyf.capture() as run, torch.random.fork_rng():
        compiled(torch.ones(2, 6))
    assert run.functions == []  # nothing is compiled again


def test_optimizers_closures_and_globals_are_put_back():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    steps = 0

    def step(x):
        nonlocal steps
        steps += 1
        optimizer.zero_grad()
        loss = ((weight * x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    before = weight.detach().clone()
    assert not depyf.find_nonfinite(step, torch.ones(3))
    assert torch.equal(weight.detach(), before) and weight.grad is None
    assert steps == 0 and not optimizer.state


def test_errors_of_the_function_are_the_callers():
    def function(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        depyf.find_nonfinite(function, torch.ones(2))
    with pytest.raises(KeyError, match="mine"):
        depyf.compare_stages(function, torch.ones(2))


@pytest.fixture
def without_inductor(monkeypatch):
    monkeypatch.setattr(stages, "STAGES", stages.STAGES[:3])


def test_a_graph_that_differs_from_eager(without_inductor):
    is_compiling = getattr(
        torch.compiler, "is_compiling", torch._dynamo.is_compiling
    )  # public from 2.3 on

    def function(x):
        y = x.sin()
        if is_compiling():
            y = y + 1e-2  # only compiled
        return y * 3

    found = depyf.compare_stages(function, torch.linspace(-1, 1, 5))
    assert found and found.first.stage == "captured graph" and found.first.before == "eager"
    assert found.first.line == line_of("# only compiled")
    assert found.first.absolute == pytest.approx(1e-2, rel=1e-3)
    assert torch.equal(found.result, torch.linspace(-1, 1, 5).sin() * 3)
    assert [stage.name for stage in found.stages] == ["eager", "captured graph", "AOT graph"]


def test_a_wrong_decomposition(without_inductor, monkeypatch):
    from torch._inductor import decomposition

    silu = torch.ops.aten.silu.default
    monkeypatch.setitem(decomposition.decompositions, silu, lambda x: x * torch.sigmoid(x * 1.05))
    decomposition.fast_random_decomps.cache_clear()
    net = Net()
    unchanged = Unchanged(net)
    found = depyf.compare_stages(net, torch.linspace(-1, 1, 24).reshape(4, 6))
    unchanged.check()
    decomposition.fast_random_decomps.cache_clear()
    assert found.first.stage == "AOT graph", str(found)
    assert found.first.line == line_of("# silu here") and "silu" in found.first.operation
    assert "aten." in found.first.note
    assert found.stages[1].difference == 0


def test_stages_that_agree(without_inductor):
    net = Net()
    unchanged = Unchanged(net)
    found = depyf.compare_stages(
        net, torch.randn(4, 6, generator=torch.Generator().manual_seed(2)), dynamic=True
    )
    unchanged.check()
    assert not found and all(stage.error is None for stage in found.stages)
    assert "all stages agree" in str(found)


def test_a_wrong_kernel(monkeypatch):
    from torch._inductor import lowering

    sin = torch.ops.aten.sin.default
    right = lowering.lowerings[sin]
    monkeypatch.setitem(lowering.lowerings, sin, lambda x: right(lowering.mul(x, 1.02)))

    def function(x):
        return torch.sin(x * 2).exp() + 1  # wrong kernel

    found = depyf.compare_stages(function, torch.linspace(-2, 2, 10))
    first = found.first
    assert first.stage == "inductor" and first.before == "AOT graph", str(found)
    if "inductor's schedule" in compat.unavailable():
        assert first.node == "the result"
        return
    assert first.node == "sin" and first.alone is True and first.line == line_of("# wrong kernel")
    assert re.match(r"cpp_fused_.*sin", first.kernel) and "sin" in first.kernel_nodes
    assert found.stages[2].difference < 1e-6 < found.stages[3].difference


@long_form
def test_a_wrong_kernel_in_backward(monkeypatch):
    from torch._inductor import lowering

    cos = torch.ops.aten.cos.default
    right = lowering.lowerings[cos]
    monkeypatch.setitem(lowering.lowerings, cos, lambda x: right(lowering.mul(x, 1.02)))
    net = Net()
    unchanged = Unchanged(net)
    found = depyf.compare_stages(net, torch.linspace(-1, 1, 24).reshape(4, 6))
    unchanged.check()
    assert found.first.stage == "inductor" and found.first.direction == "backward", str(found)
    assert found.first.node == "cos" and found.first.line == line_of("# sin here")
    assert "cos" in found.first.kernel


@pytest.mark.parametrize("form", ["statement", "assignment"])
def test_an_operation_that_writes_to_its_own_input_is_named(form):
    def function(x):
        x.mul_(0)
        if form == "assignment":
            x = x.div_(x)
        else:
            x.div_(x)
        return x + 1

    x = torch.ones(3)
    found = depyf.find_nonfinite(function, x)
    assert found.first is not None and "div_" in found.first.operation and found.first.kind == "NaN"
    assert torch.equal(x, torch.ones(3))


def quotient(a, b):
    return a / b


def logarithm(a, b):
    return torch.log(a - 2) + b


def of_rows(a, b):
    return torch.softmax(a * float("-inf"), -1) + b


def whole(a, b):
    return a.sum() / b.sum()


@pytest.mark.parametrize(
    "function, told",
    [
        (quotient, "first at [0, 1]: 0 / 0"),
        (logarithm, "first at [0, 0]: log(-1)"),
        (of_rows, "first at [0, 1]: 0 * -inf"),
        (whole, "first at the only element: 1 / 0"),
    ],
)
def test_what_was_computed_at_the_first_element_is_told(function, told):
    report = depyf.find_nonfinite(function, torch.tensor([[1.0, 0.0]]), torch.zeros(1, 2))
    assert told in str(report)


def test_of_an_operator_on_many_elements_only_the_place_is_told():
    report = depyf.find_nonfinite(
        lambda a: torch.softmax(a, -1), torch.full((2, 3), float("-inf")), backward=False
    )
    assert report.first_nan.element == "[0, 0]"


def test_what_was_found_stays_in_the_dump(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        depyf.find_nonfinite(quotient, torch.zeros(1, 2), torch.zeros(1, 2))
    (found,) = json.loads((tmp_path / "depyf.json").read_text())["nonfinite"]
    assert found["found"] and found["function"] == "quotient"
    assert "0 / 0" in found["text"] and "0 / 0" in readme_of(tmp_path)
    assert "first at [0, 0]: 0 / 0" in (tmp_path / "index.html").read_text()
