"""What torch.where and torch.cond change beside values where they take the place of a branch."""

from depyf.advice import helps

_CUT_OFF = """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    if y.sum() > 5:
        y = y.detach()
    return y

result = [f(torch.full((2,), value, requires_grad=True)).requires_grad for value in (1.0, 4.0)]
"""
_NOT_FINITE = """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    if torch.isnan(y):
        y = torch.zeros_like(y)
    return y

result = []
for value in (1.0, -4.0):
    x = torch.full((), value, requires_grad=True)
    (f(x) + x).backward()
    result.append(x.grad)
"""
_STAYS = """
@torch.compile(backend="eager")
def f(x):
    if x.norm() > 3:
        x = x * 0.5
    return x

result = []
x = torch.ones(3)
for _ in range(3):
    y = f(x)
    y += 0.5
    result.append(x.tolist())
"""

#: what is said beside torch.where and torch.cond of a side that carries another gradient
OF_GRADIENTS = helps(
    " In training, what has a gradient on one side alone gets zeros in place of None where the "
    "other is taken, so that weight decay and momentum change it: if that matters, leave the "
    "branch outside of the compiled function.",
    _CUT_OFF,
    """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y, y.sum() > 5

result = []
for value in (1.0, 4.0):
    y, large = f(torch.full((2,), value, requires_grad=True))
    result.append((y.detach() if large else y).requires_grad)
""",
)
#: and of a condition that finds what is not finite
OF_NAN = helps(
    " The condition asks for NaN or infinite values: they stay in the gradient, also where the "
    "side with them is not taken. In training, replace the input of the operation that makes "
    "them, or leave the branch outside of the compiled function.",
    _NOT_FINITE,
    """
@torch.compile(backend="eager")
def f(x):
    return torch.where(x > 0, x, 1.0).log() * (x > 0)

result = []
for value in (1.0, -4.0):
    x = torch.full((), value, requires_grad=True)
    (f(x) + x).backward()
    result.append(x.grad)
""",
)
#: and of a side that is a tensor of the caller as it is
OF_KEPT = helps(
    " The result is a tensor of its own also where `{name}` stays as it is: a later change of the "
    "result in place no longer reaches `{name}`.",
    _STAYS,
    """
@torch.compile(backend="eager")
def f(x):
    return x * 0.5, x.norm() > 3

result = []
x = torch.ones(3)
for _ in range(3):
    half, large = f(x)
    y = half if large else x
    y += 0.5
    result.append(x.tolist())
""",
)
