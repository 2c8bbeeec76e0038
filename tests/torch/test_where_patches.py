"""A branch and torch.where in its place, run with and without gradients: the patch changes neither
results nor what requires a gradient, which gradients there are, and what the arguments hold.
"""

import ast
import os
import random

import pytest

torch = pytest.importorskip("torch")


from depyf.advice import uses  # noqa: E402
from depyf.advise.branch_patch import with_where  # noqa: E402

pytestmark = pytest.mark.skipif(not uses.HAS_ENDS, reason="no patch without the ends of nodes")

BEFORE = (
    "y = x",
    "y = x * 2",
    "y = x + w",
    "y = x.detach()",
    "y = x.clone()",
    "y = torch.zeros_like(x)",
    "y = x.data",
    "y = x.sigmoid()\n    y = y * w",
    "y = x * 2\n    y += w",
    "y = x * 2\n    y.mul_(w)",
    "x = x.detach()\n    y = x.sin()",
    "y = x.sin()\n    x = x.detach()",
    "with torch.no_grad():\n        y = x * 2",
    "w = w.detach()\n    y = x * w",
    "y = twice(x)",
    "y = x.view(-1)",
)
TESTS = (
    "x.sum() > 0",
    "(w > 0).all()",
    "not (x > 0).any()",
    "torch.isnan(y).any()",
    "bad",
    "y.abs().max() == float('inf')",
    "(y != y).any()",
)
SIDES = (
    "y",
    "x",
    "y * 2",
    "x - 1",
    "y + w",
    "y * y",
    "-x",
    "y.abs()",
    "y.detach()",
    "y.detach() * w",
    "y.data",
    "y.clone()",
    "torch.zeros_like(y)",
    "torch.ones_like(x) * 2",
    "y.clamp(min=0.5)",
    "y.clamp(min=w)",
    "torch.where(y > 0, y, x)",
    "torch.sin(y)",
    "twice(y)",
    "F.relu(y, inplace=True)",
    "torch.abs(y, out=w)",
    "y.real",
    "y.requires_grad_()",
    "self.relu(y)",
)
BRANCHES = (
    "if {test}:\n        y = {a}\n    {after}\n    return y",
    "if {test}:\n        y = {a}\n    {after}\n    return y",
    "if {test}:\n        y = {a}\n    else:\n        y = {b}\n    {after}\n    return y",
    "if {test}:\n        return {a}\n    return {b}",
)
AFTER = ("pass", "y = y + 1", "y.add_(1)", "y += 1", "F.relu(y, inplace=True)", "x.mul_(2)")
HEADS = ("", "", "", "@torch.no_grad()\n", "@torch.inference_mode(False)\n")


def drawn(seed):
    """(source of a function f(self, x, w), the line of its branch)"""
    draw = random.Random(seed)
    branch = draw.choice(BRANCHES).format(
        test=draw.choice(TESTS[: draw.choice((3, 7))]),
        a=draw.choice(SIDES),
        b=draw.choice(SIDES),
        after=draw.choice(AFTER),
    )
    before = draw.choice(BEFORE) + "\n    bad = (y - y).isnan().any()\n    k = x.abs() + w.abs()\n"
    head = "import torch\nimport torch.nn.functional as F\n\n%sdef f(self, x, w):\n    " % (
        draw.choice(HEADS)
    )
    source = "%s%s    %s\n" % (head, before, branch)
    return source, source[: source.index("    if ")].count("\n") + 1


def twice(x):
    return x.detach() * 2


def observed(source, value, required, makes):
    """What a call shows: the result, what requires a gradient, the gradients, and the arguments."""
    space = {"twice": twice}
    exec(source, space)
    itself = torch.nn.Module()
    itself.relu = torch.nn.ReLU(inplace=True)
    leaves = [torch.tensor(value), torch.tensor([2.0, 0.5, 1.0])]
    for one, is_required in zip(leaves, required):
        one.requires_grad_(is_required)
    given = [makes(leaves[0]), leaves[1] * 1]
    try:
        result = space["f"](itself, *given)
        known = [result.dtype, result.shape, result.requires_grad]
        if result.requires_grad:
            result.sum().backward()
    except RuntimeError as error:
        return [type(error)]
    return (
        known
        + [result.detach(), given[0].detach(), given[1].detach()]
        + [one.grad for one in leaves]
    )


def same(one, other):
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, equal_nan=True)
    return one is other or not isinstance(one, torch.Tensor) and one == other


CALLS = [
    (value, required, makes)
    for value, makes in (
        ([1.0, 2.0, 3.0], lambda x: x * 1),
        ([-1.0, -2.0, -0.5], lambda x: x * 1),
        ([-1.0, 2.0, 0.0], lambda x: x.log()),
    )
    for required in ((True, True), (True, False), (False, True), (False, False))
]


def changed_by(source, line, without=""):
    """(the patched source, what differs), ("", []) where no patch is written.

    Args:
        without: which arguments require no gradient.
    """
    patched = with_where(source, ast.parse(source), line, True, False, frozenset(without))
    if patched is None:
        return "", []
    calls = [
        one for one in CALLS if not [n for n, yes in zip("xw", one[1]) if yes and n in without]
    ]
    if not any(one in source.partition(" if ")[2] for one in ("isnan", "bad", "inf", "!=")):
        calls = [one for one in calls if one[0][-1]]  # that a NaN spreads then is told with each
    found = []
    for value, required, makes in calls:
        was, now = (observed(text, value, required, makes) for text in (source, patched))
        # what raises an error with gradients is no program
        if len(was) > 1 and not (len(was) == len(now) and all(map(same, was, now))):
            found.append((value, required, was, now))
    return patched, found


@pytest.mark.parametrize("without", ["", "w", "xw"])
def test_a_patch_with_torch_where_changes_no_gradient(without):
    start = int(os.environ.get("DEPYF_WHERE_SEED", "0"))
    count = 0
    for seed in range(start, start + int(os.environ.get("DEPYF_WHERE_PROGRAMS", "800"))):
        source, line = drawn(seed)
        patched, found = changed_by(source, line, without)
        count += bool(patched)
        assert not found, "%d\n%s\n%s\n%s" % (seed, source, patched, found[0])
    assert count > 20


def of(*lines):
    body = "\n    ".join(("y = x * 2",) + lines)
    source = "import torch\n\ndef f(self, x, w):\n    %s\n    return y\n" % body
    return source, 5


@pytest.mark.parametrize(
    "lines, patched",
    [
        (("if x.sum() > 0:", "    y = y.abs()"), True),
        (("if x.sum() > 0:", "    return x + 1"), True),
        (("if x.sum() > 0:", "    y = y.detach()"), False),
        (("if x.sum() > 0:", "    y = y.data"), False),
        (("if x.sum() > 0:", "    y = torch.zeros_like(y)"), False),
        (("if x.sum() > 0:", "    return y + w"), False),
        (("if torch.isnan(y).any():", "    y = y.abs()"), False),
        (("if not torch.isfinite(y).all():", "    y = y.abs()"), False),
    ],
)
def test_a_patch_is_written_where_both_sides_carry_one_gradient(lines, patched):
    source, line = of(*lines)
    written, found = changed_by(source, line)
    assert bool(written) == patched and not found
    # without gradients, each of them changes nothing; an attribute is never known
    if "data" not in source:
        written, found = changed_by(source, line, "xw")
        assert written and not found


@pytest.mark.parametrize("name, is_patched", [("y", True), ("x", False)])
def test_no_patch_is_written_where_the_argument_is_changed_in_place_later(name, is_patched):
    source, line = of("if x.sum() > 0:", "    %s = %s.abs()" % (name, name), "%s.add_(1)" % name)
    written, found = changed_by(source, line)
    assert bool(written) == is_patched and not found
