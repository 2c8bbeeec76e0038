"""Rows of sparse tensors, of which torch compiles nothing."""

from depyf.advice import helps, row
from depyf.advice.breaks.calls import of_untraced

_MADE = """
@torch.compile(backend="eager")
def f(places, values, x):
    y = torch.tanh(x)
    a = torch.sparse_coo_tensor(places, values, (3, 3))
    return torch.relu(torch.sparse.mm(a, y) + 1)

places = torch.tensor([[0, 1, 2], [2, 0, 1]])
result = f(places, torch.arange(3.0), torch.arange(6.0).view(3, 2))
"""
_PASSED = """
@torch.compile(backend="eager")
def f(a, x):
    y = torch.tanh(x)
    return torch.relu(torch.sparse.mm(a, y) + 1)

a = torch.eye(3).to_sparse()
result = f(a, torch.arange(6.0).view(3, 2))
"""
_PARTS = """
@torch.compile(backend="eager")
def first(x):
    return torch.tanh(x)

@torch.compile(backend="eager")
def rest(x):
    return torch.relu(x + 1)

def f(a, x):
    return rest(torch.sparse.mm(a, first(x)))
"""
_OUTSIDE = (
    "Leave what makes the sparse tensor and what computes with it out of the compiled function, "
    "and compile the code before and after that, which has dense tensors alone."
)

ROWS = (
    of_untraced(
        "sparse tensor that is made",
        "torch does not trace `{name}`, which makes a sparse tensor. torch compiles no code that "
        "has a sparse tensor, so to pass its result to the compiled function does not help.",
        [
            helps(
                _OUTSIDE,
                _MADE,
                _PARTS
                + """
places = torch.tensor([[0, 1, 2], [2, 0, 1]])
a = torch.sparse_coo_tensor(places, torch.arange(3.0), (3, 3))
result = f(a, torch.arange(6.0).view(3, 2))
""",
            )
        ],
        where=r"`torch\.[\w.]*\bsparse_\w+_tensor\.?`",
    ),
    row(
        "sparse tensor",
        "The code has a sparse tensor, of which torch compiles nothing. The lines that have one "
        "run as plain Python.",
        [
            helps(
                _OUTSIDE,
                _PASSED,
                _PARTS
                + """
a = torch.eye(3).to_sparse()
result = f(a, torch.arange(6.0).view(3, 2))
""",
            )
        ],
        ids=("GB0015",),
        reason=r"sparse Tensor",
        where=r"does not support sparse Tensors",
    ),
)
