"""Rows of numbers of tensors, and of tensors, that are an index."""

from depyf.advice import helps
from depyf.advice.breaks.elements import of_number

_INDEX = """
@torch.compile(backend="eager")
def f(x, keep):
    at = int(keep.sum())
    y = x * 2
    return y[:, at // 2] + 1

result = [f(torch.arange(12.0).view(3, 4), torch.arange(4) < size) for size in (2, 4, 1)]
"""
_INDEX_BESIDE = """
@torch.compile(backend="eager", dynamic=True)
def f(x, keep):
    at = int(keep.sum())
    values, places = x.topk(at, -1)
    return places[:, at // 2] * 2

result = [f(torch.arange(12.0).view(3, 4), torch.arange(4) < size) for size in (2, 4, 3)]
"""
_PICKED = """
@torch.compile(backend="eager")
def f(x, ats):
    at = ats[1]
    picked = x[1, at]
    return picked * 2

result = [f(torch.arange(12.0).view(3, 4), torch.tensor([0, at])) for at in (1, 2)]
"""
#: what is said beside an advice to index with a tensor of a number that is needed elsewhere, too
ALSO_NEEDED = helps(
    " The number itself is needed at {lines}: there, write int(...) around the tensor. That breaks "
    "the graph there without torch._dynamo.config.capture_scalar_outputs = True, with which it "
    "does not, unless Python decides by it.",
    _INDEX_BESIDE,
    "torch._dynamo.config.capture_scalar_outputs = True\n"
    + _INDEX_BESIDE.replace("int(keep.sum())", "keep.sum()")
    .replace("topk(at, -1)", "topk(int(at), -1)")
    .replace("places[:, at // 2]", "places[:, (at // 2).unsqueeze(0)][:, 0]"),
)

INDICES = (
    of_number(
        "item as an index",
        "A tensor's value is converted to a Python number, which {at} uses as one of several "
        "indices. torch's capture_scalar_outputs does not help: with it, torch raises an error "
        "where compiled code computes the tensor, and compiles for each value of an argument.",
        [
            helps(
                "Leave out what makes the number, index with the tensor as one of one dimension, "
                "which picks elements in the graph, and take the one: "
                "x[:, at.unsqueeze(0)][:, 0] in place of x[:, at]. It has to be one of integers.",
                _INDEX,
                _INDEX.replace("int(keep.sum())", "keep.sum()").replace(
                    "y[:, at // 2]", "y[:, (at // 2).unsqueeze(0)][:, 0]"
                ),
            ),
        ],
        where=r"\n\? line \d+ indexes with it",
        names=r"\n\? (?P<at>line \d+) indexes with it",
    ),
    of_number(
        "tensor as an index",
        "A tensor that the graph computes is the index of one element, for which torch converts "
        "it to a Python number. torch's capture_scalar_outputs does not help: with it, the graph "
        "breaks here, too.",
        [
            helps(
                "Index with a tensor of one dimension, which picks elements in the graph, and "
                "take the one: x[j, at.unsqueeze(0)][0] in place of x[j, at], and "
                "x[:, at.unsqueeze(0)][:, 0] in place of x[:, at].",
                _PICKED,
                _PICKED.replace("x[1, at]", "x[1, at.unsqueeze(0)][0]"),
            ),
        ],
        where=r"\n\? line \d+ picks with it",
    ),
)
