"""What is said beside torch.where and torch.cond of a number that a side gives to the caller."""

from depyf.advice import helps

_SCALED = """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    scale = 1.0
    if y.sum() > 9:
        y = x + 1
        scale = 0.5
    return y, scale

result = [f(torch.ones(3) * value) for value in (1, 2)]
"""
OF_RETURNED = helps(
    " The Python number that a side gives ({names}), and that the function returns, is a tensor "
    "then: where the caller needs a number, call .item() on it there.",
    _SCALED,
    """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    large = y.sum() > 9
    return torch.where(large, x + 1, y), torch.where(large, 0.5, 1.0)

result = []
for value in (1, 2):
    y, scale = f(torch.ones(3) * value)
    result.append((y, scale.item()))
""",
)
