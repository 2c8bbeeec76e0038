"""Rows of lists that `.tolist()` makes of tensors."""

from depyf.advice import helps, row
from depyf.advice.breaks.elements import of_number

_TOLIST = """
@torch.compile(backend="eager")
def f(x):
    first = (x + 1).tolist()[0]
    return x * first

result = f(torch.ones(3))
"""
_LENGTHS = """
@torch.compile(backend="eager")
def f(x, lengths):
    parts = torch.split(x, lengths.tolist())
    return torch.stack([part.sum(0) for part in parts])

x = torch.arange(12.0).view(6, 2)
result = [f(x, torch.tensor(one)) for one in ([2, 4], [3, 3], [4, 2])]
"""
_RETURNED_LIST = """
@torch.compile(backend="eager")
def f(x):
    order = x.argsort()
    names = order.tolist()
    return names, x * 2

result = [f(torch.ones(size)) for size in (4, 5, 6)]
"""
_SKIPPED_PARTS = """
@torch.compile(backend="eager")
def f(x, lengths):
    found = []
    for part in torch.split(x, lengths.tolist()):
        if part.numel() == 0:
            continue
        found.append(part.max() * 2)
    return torch.stack(found)

x = torch.arange(12.0)
result = [f(x, torch.tensor(one)) for one in ([2, 4, 6], [0, 6, 6], [4, 5, 3])]
"""
#: the same for either row of lists of integers
_RETURN = (
    "If only the caller needs the list, return the tensor, and call .tolist() outside of the "
    "compiled function."
)
_RETURNED = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.argsort(), x * 2

result = []
for size in (4, 5, 6):
    order, doubled = f(torch.ones(size))
    result.append((order.tolist(), doubled))
"""

LISTS = (
    of_number(
        "size by numbers",
        "A tensor's values are converted to Python numbers, so Python must wait for them, and {at} "
        "decides on a size that they determine. torch's capture_scalar_outputs does not help: "
        "with it, torch stops tracing at {at}, and where that is in a loop, it leaves the whole "
        "function uncompiled.",
        [
            helps(
                "Leave the code that makes the numbers uncompiled, with the decision at {at}, and "
                "compile the functions that compute with the tensors of such sizes, with "
                "dynamic=True.",
                _SKIPPED_PARTS,
                """
@torch.compile(backend="eager", dynamic=True)
def largest(part):
    return part.max() * 2

def f(x, lengths):
    found = []
    for part in torch.split(x, lengths.tolist()):
        if part.numel() == 0:
            continue
        found.append(largest(part))
    return torch.stack(found)

x = torch.arange(12.0)
result = [f(x, torch.tensor(one)) for one in ([2, 4, 6], [0, 6, 6], [4, 5, 3])]
""",
            ),
        ],
        where=r"\n\? line \d+ decides on a size by it",
        names=r"\n\? (?P<at>line \d+) decides on a size by it",
    ),
    row(
        "list of floats",
        "A tensor of floats or bools is converted to a list of Python values, so Python must "
        "wait for it. torch's capture_scalar_outputs does not help: here it works for integers "
        "only.",
        [
            helps(
                "Keep the tensor, and take its elements by index. Where Python decides by one, the "
                "break is there then: return a mask of the elements, and decide behind the call.",
                _TOLIST,
                _TOLIST.replace(".tolist()", ""),
            ),
        ],
        ids=("GB0109",),
        reason=r"^Tensor\.tolist\(\) with non-integer",
    ),
    of_number(
        "list of integers",
        "A tensor is converted to a list of Python numbers, so Python must wait for their values.",
        [
            helps(
                _RETURN,
                _RETURNED_LIST.replace("(4, 5, 6)", "(4, 4)"),
                _RETURNED.replace(", dynamic=True", "").replace("(4, 5, 6)", "(4, 4)"),
            ),
            helps(
                "torch._dynamo.config.capture_scalar_outputs = True keeps .tolist() in the graph, "
                "unless Python needs one of the numbers, or a size that they determine, for a "
                "branch, a range or a sort. The number of elements is a constant then: torch "
                "compiles all of the function again for each other one.",
                _LENGTHS,
                "torch._dynamo.config.capture_scalar_outputs = True\n" + _LENGTHS,
                "torch._dynamo.config.capture_scalar_outputs = True",
            ),
        ],
        where=r"\n\? makes a list",
    ),
    row(
        "list of any length",
        "A tensor whose size may change is converted "
        "to a list of Python numbers, so Python must wait for their values. With torch's "
        "capture_scalar_outputs, torch compiles all of the function for each length of the list.",
        [helps(_RETURN, _RETURNED_LIST, _RETURNED)],
    ),
)
