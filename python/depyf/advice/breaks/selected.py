"""What branches and shapes have in common where elements are selected that may be none."""

from typing import List

from depyf.advice import Help, helps

EMPTY = """
torch._dynamo.config.capture_dynamic_output_shape_ops = True

@torch.compile(backend="eager")
def f(x):
    rows = torch.where(x > 0)[0]
    out = torch.zeros(3)
    if rows.numel() == 0:
        return out
    return out.index_add(0, rows, x[rows])

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""
PARTS = """
sizes = []

@torch.compile(backend="eager", dynamic=True)
def part(x):
    return x * 2

def f(x):
    rows = torch.where(x > 0)[0]
    out = torch.zeros(6)
    if rows.numel() == 0:
        return out
    sizes.append(rows.numel())
    return out.index_add(0, rows, part(x[rows]))

result = [f(torch.arange(6.0) - count) for count in range(6)]
"""
_REPLACED = """
@torch.compile(backend="eager")
def f(x):
    rows = x[x > 0]
    if rows.numel() == 0:
        rows = torch.full((1,), 0.5)
    return (rows * 2).sum()

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""
_REPLACED_CAPTURED = "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n" + _REPLACED
_REPLACED_PARTS = """
@torch.compile(backend="eager", dynamic=True)
def part(rows):
    return (rows * 2).sum()

def f(x):
    rows = x[x > 0]
    if rows.numel() == 0:
        rows = torch.full((1,), 0.5)
    return part(rows)

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""
_REPLACED_MASK = """
@torch.compile(backend="eager")
def f(x):
    mask = x > 0
    return torch.where(mask.any(), (torch.where(mask, x, 0.0) * 2).sum(), 1.0)

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""


def replaced(at: bool) -> List[Help]:
    """What helps where an empty selection has something else in its place.

    Args:
        at: whether the line that decides is another one, which has a name.
    """
    before = _REPLACED if at else _REPLACED_CAPTURED
    return [
        helps(
            "Do not remove the decision%s: for an empty selection it does more than skip. Leave "
            "the code that selects elements uncompiled, with the decision, and compile the "
            "functions that compute with the selected elements, with dynamic=True."
            % (" at {at}" if at else ""),
            before,
            _REPLACED_PARTS,
        ),
        helps(
            "Keep the shape fixed: compute with a mask in place of the selected elements, and "
            "take torch.where(mask.any(), a, b), where b is the result for an empty selection.",
            before,
            _REPLACED_MASK,
        ),
    ]


OF_PARTS = (
    "Leave the code that selects elements uncompiled, and compile the functions that compute "
    "with the selected elements, with dynamic=True. Do not remove the branch: for an empty "
    "selection it also skips code that changes a list, a dict or an attribute ({left})."
)
