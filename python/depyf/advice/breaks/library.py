"""The row of lines that are a library's."""

from depyf.advice import helps, row

#: in place of advice about the line that broke, where that is not the reader's
LIBRARY = row(
    "in a library",
    "The line is in a library.",
    [
        helps(
            "The line is in a library: leave the call at {caller} out of the compiled function, "
            "and compile the code before and after it separately.",
            """
from torch.nn.utils import clip_grad_norm_
weight = torch.ones(3, requires_grad=True)
weight.grad = torch.full((3,), 4.0)

@torch.compile(backend="eager")
def step(x):
    y = x * 2
    norm = clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)
    return y * norm

result = step(torch.ones(3))
""",
            """
from torch.nn.utils import clip_grad_norm_
weight = torch.ones(3, requires_grad=True)
weight.grad = torch.full((3,), 4.0)

@torch.compile(backend="eager")
def before(x):
    return x * 2

@torch.compile(backend="eager")
def after(y, norm):
    return y * norm

y = before(torch.ones(3))
norm = clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)
result = after(y, norm)
""",
        )
    ],
)
