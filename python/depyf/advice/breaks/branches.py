"""Rows of branches that a tensor's value decides, and of comparisons of tensors."""

from typing import Iterable

from depyf.advice import OF_LIST, OUTSIDE, PRINTS, Help, Row, helps, row
from depyf.advice.breaks.selected import EMPTY, OF_PARTS, PARTS, replaced

_BRANCH = """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 1

result = [f(torch.ones(3)), f(-torch.ones(3) * 4)]
"""
_DRAWN_BRANCH = """
import random
random.seed(0)

@torch.compile(backend="eager")
def f(x):
    if random.uniform(0, 1) < 0.5:
        return x + 1
    return x * 2

result = [f(torch.full((3,), 3.0)) for _ in range(6)]
"""
_DRAWN_ROUNDS = """
import random
random.seed(0)

@torch.compile(backend="eager")
def f(x):
    while random.uniform(0, 1) < 0.6:
        x = x + 1
    return x

result = [f(torch.ones(3)) for _ in range(4)]
"""
_BRANCH_LIST = """
@torch.compile(backend="eager")
def f(xs, limit):
    norm = sum(x.sum() for x in xs)
    if norm > limit:
        xs = [x * (limit / norm) for x in xs]
    return xs

result = [f([torch.ones(3), torch.ones(2)], 1.0), f([torch.ones(3)], 9.0)]
"""
_RAISES = """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    if torch.isnan(y).any():
        raise ValueError("a logarithm of a negative number")
    return y

result = f(torch.ones(3))
"""
_PRINTS = """
@torch.compile(backend="eager")
def f(x):
    norm = x.norm()
    if norm > 3:
        print("clipped")
        x = x * 0.5
    return x + 1

result = [f(torch.ones(3)), f(torch.ones(3) * 4)]
"""
_ITEM_CAPTURED = """
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x, limit):
    if limit.item() > 0.5:
        return x.relu()
    return x + 1

result = [f(torch.ones(3), torch.tensor(limit)) for limit in (0.2, 0.9)]
"""
_RAISES_CAPTURED = """
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x):
    top = x.max().item()
    if top > 100:
        raise ValueError("too large")
    return x / top

result = f(torch.ones(3))
"""
_ASSERT = """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    assert not torch.isnan(y).any(), "a logarithm of a negative number"
    return y * 2

result = f(torch.ones(3))
"""
_SIZES_CAPTURED = """
torch._dynamo.config.capture_dynamic_output_shape_ops = True
sizes = []

@torch.compile(backend="eager")
def f(x):
    rows = torch.where(x > 0)[0]
    out = torch.zeros(6)
    if rows.numel() == 0:
        return out
    sizes.append(1)
    return out.index_add(0, rows, x[rows] * 2)

result = [f(torch.arange(6.0) - 2)]
"""
_SKIPPED = """
@torch.compile(backend="eager")
def f(x):
    mask = x > 2
    if not mask.any():
        return x
    y = x.clone()
    y[mask] = 1.0
    return y

result = [f(torch.arange(3.0)), f(torch.arange(3.0) + 1)]
"""
_NUMPY = """
import numpy

@torch.compile(backend="eager")
def f(x, limit):
    y = x + 1
    middle = numpy.percentile(y.numpy(), 50)
    return y * 2 if middle > limit else y

result = [f(torch.ones(3), 3.0), f(torch.ones(3) * 4, 3.0)]
"""
_FLOAT_OF_SIDE = """
@torch.compile(backend="aot_eager")
def f(x, low):
    y = x * 2
    if (y < low).any():
        y = y.clamp(min=low)
    return y + 1

result = [f(torch.ones(3), low) for low in (0.5, 1.0, 1.25, 1.5, 1.75, 3.0)]
"""
_JOINED = """
@torch.compile(backend="eager")
def f(x, name):
    y = x + 1
    if y.sum() > 7 and name.startswith("q") and not y.max() > 9:
        y = y * 2
    return y

result = [f(torch.ones(3) * value, name) for name in ("q", "r") for value in (1, 2, 9)]
"""
_EQUAL = """
@torch.compile(backend="eager")
def f(x, y):
    if torch.equal(x, y):
        return x * 2
    return x - y

result = [f(torch.ones(3), torch.ones(3)), f(torch.ones(3), torch.zeros(3))]
"""
_ANY = """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    if any(row.sum() > 5 for row in y):
        return y - 1
    return y

result = [f(torch.ones(2, 3)), f(torch.ones(2, 3) * 0.5)]
"""


def _branch(key: str, words: str, help: Iterable[Help], where: str = "", names: str = "") -> Row:
    """A row of a jump that a tensor decides."""
    return row(
        key,
        words,
        help,
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=where,
        names=names,
    )


#: what is said beside torch.where and torch.cond of a side that gives a float which changes to an
#: operator: computed in the graph at each call, the side has a compile for each value
OF_FLOATS = helps(
    " First make {names} a tensor where the program sets or passes it, torch.tensor(VALUE) in "
    "place of VALUE{hedge}: a side gives it to {called} at {at}, which may make a number a "
    "constant of the graph, so that torch compiles for each value once the side is in the graph.",
    _FLOAT_OF_SIDE,
    """
@torch.compile(backend="aot_eager")
def f(x, low):
    y = x * 2
    return torch.where((y < low).any(), y.clamp(min=low), y) + 1

result = [f(torch.ones(3), torch.tensor(low)) for low in (0.5, 1.0, 1.25, 1.5, 1.75, 3.0)]
""",
)
#: what is said beside torch.where and torch.cond of a condition that they do not take as it is
OF_CONDITIONS = (
    helps(
        " The condition is one tensor: between tests of tensors, each in parentheses, write `&` "
        "for `and`, `|` for `or`, `~` for `not`, and test what is no tensor with an `if` of its "
        "own.",
        _JOINED,
        """
@torch.compile(backend="eager")
def f(x, name):
    y = x + 1
    if name.startswith("q"):
        y = torch.where((y.sum() > 7) & ~(y.max() > 9), y * 2, y)
    return y

result = [f(torch.ones(3) * value, name) for name in ("q", "r") for value in (1, 2, 9)]
""",
    ),
    helps(
        " The condition is a NumPy value: write torch.as_tensor(condition) in its place.",
        _NUMPY,
        """
import numpy

@torch.compile(backend="eager")
def f(x, limit):
    y = x + 1
    middle = numpy.percentile(y.numpy(), 50)
    return torch.where(torch.as_tensor(middle > limit), y * 2, y)

result = [f(torch.ones(3), 3.0), f(torch.ones(3) * 4, 3.0)]
""",
    ),
)

#: what Python's random decides: torch calls its number a tensor
BY_DRAWN_NUMBERS = (
    _branch(
        "loop by a drawn number",
        "The number of iterations depends on a random number that {at} draws with Python's random "
        "inside of the compiled function. torch does not draw it while it traces.",
        [
            helps(
                "Leave the loop out of the compiled function, with what it draws, and compile a "
                "function that makes one round.",
                _DRAWN_ROUNDS,
                """
import random
random.seed(0)

@torch.compile(backend="eager")
def one(x):
    return x + 1

def f(x):
    while random.uniform(0, 1) < 0.6:
        x = one(x)
    return x

result = [f(torch.ones(3)) for _ in range(4)]
""",
            ),
        ],
        where=r"(?s)\n> while\b.*\n\? drawn at ",
        names=r"\n\? drawn at (?P<at>.+)",
    ),
    _branch(
        "branch on a drawn number",
        "The branch depends on a random number that {at} draws with Python's random inside of the "
        "compiled function, and on no tensor. torch does not draw it while it traces.",
        [
            helps(
                "Draw the number and decide before the call, and pass True or False: torch "
                "compiles once for each of the two.",
                _DRAWN_BRANCH,
                """
import random
random.seed(0)

@torch.compile(backend="eager")
def f(x, heads):
    return x + 1 if heads else x * 2

result = [f(torch.full((3,), 3.0), random.random() < 0.5) for _ in range(6)]
""",
            ),
        ],
        where=r"\n\? drawn at ",
        names=r"\n\? drawn at (?P<at>.+)",
    ),
)

ROWS = (
    _branch(
        "branch that replaces",
        "The branch depends on a number that a tensor's values determine, such as the number of "
        "elements that a mask keeps.",
        replaced(False),
        where=r"(?s)\n\? decided by a number.*\n\? does more than skip",
    ),
    _branch(
        "branch that skips",
        "The branch depends on a tensor's value, which is known only after the graph has run.",
        [
            helps(
                "Remove the branch if what it leaves out changes nothing where the mask keeps no "
                "element, as for `x[mask] = value`, torch.where(mask, a, b), and a sum over the "
                "mask. Otherwise, as for a mean, which is NaN for no element: "
                "torch.where(mask.any(), a, b).",
                _SKIPPED,
                _SKIPPED.replace("    if not mask.any():\n        return x\n", ""),
            ),
            helps(
                "torch.cond(condition, a_function, another, operands) if a side is expensive: it "
                "computes only one side.",
                _SKIPPED,
                """
@torch.compile(backend="eager")
def f(x):
    mask = x > 2

    def set_to_one(x):
        return torch.where(mask, 1.0, x)

    return torch.cond(mask.any(), set_to_one, lambda x: x.clone(), (x,))

result = [f(torch.arange(3.0)), f(torch.arange(3.0) + 1)]
""",
            ),
        ],
        where=r"\n\? skips what a mask keeps",
    ),
    _branch(
        "branch that leaves out more",
        "The branch depends on a number that a tensor's values determine, such as the number of "
        "elements that a mask keeps.",
        [
            helps(
                OF_PARTS,
                _SIZES_CAPTURED,
                PARTS.replace("for count in range(6)", "for count in (2,)"),
            )
        ],
        where=r"\n\? decided by a number\n\? leaves out [line \d,]+",
        names=r"\n\? leaves out (?P<left>[line \d,]+)",
    ),
    _branch(
        "branch on a number",
        "The branch depends on a number that a tensor's values determine, such as the number of "
        "elements that a mask keeps.",
        [
            helps(
                "If the branch only skips an empty tensor, remove it: most operations accept a "
                "tensor without elements (max, min and argmax do not).",
                EMPTY,
                EMPTY.replace("    if rows.numel() == 0:\n        return out\n", ""),
            ),
            helps(
                "Decide with a tensor, torch.where(condition, a, b): leave out the .item(), or "
                "use mask.sum() in place of the number of elements that a mask keeps.",
                _ITEM_CAPTURED,
                _ITEM_CAPTURED.replace(
                    "    if limit.item() > 0.5:\n        return x.relu()\n    return x + 1\n",
                    "    return torch.where(limit > 0.5, x.relu(), x + 1)\n",
                ),
            ),
            helps(
                OUTSIDE + " prints, counts, leaves a loop or returns no tensor: return the "
                "condition as well, as a tensor, and test it outside of the compiled function.",
                _RAISES_CAPTURED,
                """
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x):
    top = x.max()
    return x / top, top > 100

result, bad = f(torch.ones(3))
if bad:
    raise ValueError("too large")
""",
            ),
        ],
        where=r"\n\? decided by a number",
    ),
    _branch(
        "assert",
        "The assertion needs a tensor's value in a form that torch cannot keep in the graph.",
        [
            helps(
                "Assert a tensor: write ~ in place of not, & in place of and, | in place of or, "
                "as in `assert ~torch.isnan(x).any()`. torch keeps such an assertion in the "
                "graph. If it fails, it raises RuntimeError in place of AssertionError.",
                _ASSERT,
                _ASSERT.replace("not torch.isnan(y)", "~torch.isnan(y)"),
            ),
            helps(
                "Return the condition as well, and assert it outside of the compiled function.",
                _ASSERT,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    return y * 2, torch.isnan(y).any()

result, bad = f(torch.ones(3))
assert not bad, "a logarithm of a negative number"
""",
            ),
        ],
        where=r"\n> assert\b",
    ),
    _branch(
        "any or all",
        "Python's any() and all() need the value of one tensor after another. These values are "
        "known only after the graph has run.",
        [
            helps(
                "Test all of them at once as a tensor, (y.sum(1) > 5).any(), or "
                "torch.stack(LIST).any() for a list of tensors, and decide with torch.where.",
                _ANY,
                """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return torch.where((y.sum(1) > 5).any(), y - 1, y)

result = [f(torch.ones(2, 3)), f(torch.ones(2, 3) * 0.5)]
""",
            ),
            helps(
                "If a side of the branch does more than compute a value, return the tensor of "
                "bools, and decide outside of the compiled function.",
                _ANY,
                """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y, (y.sum(1) > 5).any()

result = []
for x in (torch.ones(2, 3), torch.ones(2, 3) * 0.5):
    y, large = f(x)
    result.append(y - 1 if large else y)
""",
            ),
        ],
        where=r"polyfills[/\\](builtins|__init__)\.py:\d+\n> (if|elif) (not )?elem\b"
        r"|in <genexpr>, code:[^\n]*(?<![.\w])(any|all)\(",
    ),
    _branch(
        "branch",
        "The branch depends on {of}, which is known only after the graph has run.",
        [
            helps(
                "torch.where(condition, a, b) if both sides are cheap, have one shape, and only "
                "compute. Of two dtypes, the result has the one that holds both.",
                _BRANCH,
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return torch.where(y.sum() > 0, y * 2, y - 1)

result = [f(torch.ones(3)), f(-torch.ones(3) * 4)]
""",
                "torch.where(CONDITION, A, B)",
            ),
            helps(
                "torch.cond(condition, a_function, another, operands) if a side is expensive: it "
                "computes only one side.",
                _BRANCH,
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,))

result = [f(torch.ones(3)), f(-torch.ones(3) * 4)]
""",
            ),
            helps(
                PRINTS + " beside what it computes, take that out first: return the condition as "
                "well, and print outside of the compiled function. Then compute with "
                "torch.where(condition, a, b).",
                _PRINTS,
                """
@torch.compile(backend="eager")
def f(x):
    norm = x.norm()
    return torch.where(norm > 3, x * 0.5, x) + 1, norm > 3

result = []
for x in (torch.ones(3), torch.ones(3) * 4):
    y, clipped = f(x)
    if clipped:
        print("clipped")
    result.append(y)
""",
            ),
            helps(
                OUTSIDE + " prints, counts, leaves a loop or returns no tensor: return the "
                "condition as well, and test it outside of the compiled function.",
                _RAISES,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    return y, torch.isnan(y).any()

result, bad = f(torch.ones(3))
if bad:
    raise ValueError("a logarithm of a negative number")
""",
            ),
            helps(
                OF_LIST + " of tensors, use torch.where for each of them.",
                _BRANCH_LIST,
                """
@torch.compile(backend="eager")
def f(xs, limit):
    norm = sum(x.sum() for x in xs)
    return [torch.where(norm > limit, x * (limit / norm), x) for x in xs]

result = [f([torch.ones(3), torch.ones(2)], 1.0), f([torch.ones(3)], 9.0)]
""",
            ),
            helps(
                "If the condition does not need the tensor's value, decide on a shape or a "
                "Python value instead.",
                """
@torch.compile(backend="eager")
def f(x, mask):
    if mask.any():
        return x * mask
    return x

result = f(torch.ones(3), torch.tensor([1, 0, 1]))
""",
                """
@torch.compile(backend="eager")
def f(x, mask):
    if mask is not None:
        return x * mask
    return x

result = f(torch.ones(3), torch.tensor([1, 0, 1]))
""",
            ),
        ],
        names=r"\n\? tests (?P<of>.+)",
    ),
    row(
        "tensors that are compared",
        "Python needs a bool from a comparison of two tensors, so it must wait for their values.",
        [
            helps(
                "Compare them as tensors, (x == y).all() or torch.isclose(x, y).all(), and "
                "decide with torch.where.",
                _EQUAL,
                """
@torch.compile(backend="eager")
def f(x, y):
    return torch.where((x == y).all(), x * 2, x - y)

result = [f(torch.ones(3), torch.ones(3)), f(torch.ones(3), torch.zeros(3))]
""",
            ),
            helps(
                "Compare them outside of the compiled function.",
                _EQUAL,
                """
@torch.compile(backend="eager")
def f(x, y, same):
    return x * 2 if same else x - y

pairs = [(torch.ones(3), torch.ones(3)), (torch.ones(3), torch.zeros(3))]
result = [f(x, y, torch.equal(x, y)) for x, y in pairs]
""",
            ),
        ],
        ids=("GB0033",),
        reason=r"Data dependent operator",
        where=r"\baten\.(equal|allclose)\.",
    ),
)
