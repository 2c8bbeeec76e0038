"""Rows of operations whose result has a shape by a tensor's values."""

from typing import Iterable

from depyf.advice import Help, Row, helps, row
from depyf.advice.breaks.selected import EMPTY, OF_PARTS, PARTS, replaced

_NONZERO = """
@torch.compile(backend="eager")
def f(x):
    return x[x > 0].sum()

result = f(torch.tensor([1.0, -2.0, 3.0]))
"""
_EMPTY_SPLIT = EMPTY.replace("torch._dynamo.config.capture_dynamic_output_shape_ops = True\n", "")
_COUNTED = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.load = [0, 0]

    def forward(self, x):
        rows = torch.where(x > 0)[0]
        out = torch.zeros(5)
        if rows.numel() == 0:
            return out
        self.load[0] += int(rows.numel())
        return out.index_add(0, rows, x[rows])

model = torch.compile(Model(), backend="eager")
result = [model(torch.arange(5.0) - count) for count in range(4)]
"""
_SIZES = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = []

    def forward(self, x):
        rows = torch.where(x > 0)[0]
        out = torch.zeros(6)
        if rows.numel() == 0:
            return out
        self.sizes.append(rows.numel())
        return out.index_add(0, rows, x[rows] * 2)

model = torch.compile(Model(), backend="eager")
result = [model(torch.arange(6.0) - count) for count in range(6)]
"""
_BINCOUNT = """
@torch.compile(backend="eager")
def f(x):
    counts = torch.bincount(x, minlength=4)
    return torch.where(counts.max() > 2, counts * 2, counts + 1)

result = [f(torch.tensor(x)) for x in ([0, 1, 1], [2, 3, 2])]
"""
_WEIGHED = """
@torch.compile(backend="eager")
def f(x, weights):
    sums = torch.bincount(x, weights, minlength=4)
    return torch.where(sums.max() > 2, sums * 2, sums + 1)

result = [f(torch.tensor(x), torch.ones(3)) for x in ([0, 1, 1], [2, 3, 2])]
"""
_UNIQUE = """
@torch.compile(backend="eager")
def f(x):
    return torch.unique(x) * 2

result = [f(torch.tensor(x)) for x in ([0, 1, 1], [2, 3, 1])]
"""
_UNIQUE_DECIDES = """
@torch.compile(backend="eager")
def f(x):
    found = torch.unique(x)
    if len(found) > 2:
        return x * 2
    return x + 1

result = [f(torch.tensor(x)) for x in ([0, 1, 1], [2, 3, 1])]
"""
_REPEATED = """
@torch.compile(backend="eager")
def f(x, times):
    return torch.repeat_interleave(x, times) * 2

result = f(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]))
"""
_LISTED = """
@torch.compile(backend="eager")
def f(x):
    places = torch.nonzero(x > 0).squeeze(-1).tolist()
    return x * 2, places

result = f(torch.tensor([1.0, -2.0, 3.0]))
"""
_CTC = """
inputs = [torch.linspace(-1, 1, 120).view(3, 8, 5) * k for k in (1, 2)]
targets = torch.tensor([[1, 2], [2, 3], [4, 1]])
lengths = torch.tensor([2, 2, 1])

@torch.compile(backend="eager")
def f(x, given):
    kept = torch.div(given + 1, 2, rounding_mode="floor")
    logs = x.log_softmax(-1).transpose(0, 1)
    return torch.nn.functional.ctc_loss(logs, targets, kept, lengths)

result = [f(x, torch.tensor([15, 13, 11])) for x in inputs]
"""
#: what is to be done before torch's setting for such operations, where the run has code at which
#: torch raises an error with it
LISTED_FIRST = (
    "First change {at}, where Python makes a list of such a result: the setting applies to the "
    "whole program, and with it torch may raise an error there. Then "
)
#: what comes with torch's setting for operations whose result has a shape by a tensor's values
_ALL_SUCH = (
    "The setting applies to all such operations of the program. torch may raise an error where "
    "Python needs the result of one of them, for example for .tolist(), a range or a branch."
)


def _captured(program: str) -> Help:
    """Torch's setting that keeps an operation in the graph whose result has a shape that depends on
    values.
    """
    setting = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    text = setting + " keeps it in the graph. " + _ALL_SUCH
    return helps(text, program, setting + "\n" + program, setting)


def _shape(key: str, words: str, help: Iterable[Help], where: str = "", names: str = "") -> Row:
    """A row of an operation whose result has a shape by the values of a tensor."""
    return row(
        key,
        words,
        help,
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=where,
        names=names,
    )


#: the operators of which torch knows the result with that setting
_KNOWN = (
    "_unique",
    "_unique2",
    "bincount",
    "index",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique_consecutive",
    "unique_dim",
)


ROWS = (
    _shape(
        "dynamic shape in a list",
        "The shape of the result depends on a tensor's values, and {at} makes a Python list of it. "
        "torch's capture_dynamic_output_shape_ops does not help: with it, torch raises an error.",
        [
            helps(
                "Return the tensor, and call .tolist() outside of the compiled function.",
                _LISTED,
                """
@torch.compile(backend="eager")
def f(x):
    return x * 2, x > 0

doubled, positive = f(torch.tensor([1.0, -2.0, 3.0]))
result = doubled, torch.nonzero(positive).squeeze(-1).tolist()
""",
            ),
        ],
        where=r"\n\? line \d+ lists it",
        names=r"\n\? (?P<at>line \d+) lists it",
    ),
    _shape(
        "shape that torch does not know",
        "The shape of the result of {operator} depends on a tensor's values. torch's "
        "capture_dynamic_output_shape_ops does not help: with it, torch knows no shape either.",
        [
            helps(
                "Return what the operator is given, and call it outside of the compiled function.",
                _CTC,
                """
inputs = [torch.linspace(-1, 1, 120).view(3, 8, 5) * k for k in (1, 2)]
targets = torch.tensor([[1, 2], [2, 3], [4, 1]])
lengths = torch.tensor([2, 2, 1])

@torch.compile(backend="eager")
def f(x, given):
    kept = torch.div(given + 1, 2, rounding_mode="floor")
    return x.log_softmax(-1).transpose(0, 1), kept

result = []
for x in inputs:
    logs, kept = f(x, torch.tensor([15, 13, 11]))
    result.append(torch.nn.functional.ctc_loss(logs, targets, kept, lengths))
""",
            ),
        ],
        where=r"\baten\.(?!(%s)\.)\w+" % "|".join(_KNOWN),
        names=r"\baten\.(?P<operator>\w+)",
    ),
    _shape(
        "sums of weights",
        "torch.bincount returns one sum of weights for each value from 0 to the greatest one, so "
        "the shape of its result depends on a tensor's values.",
        [
            helps(
                "If the number of values is known, add the weights with index_add in a tensor of "
                "that size and of their dtype. Its shape is static: torch.zeros(COUNT)"
                ".index_add(0, x, weights).",
                _WEIGHED,
                _WEIGHED.replace(
                    "torch.bincount(x, weights, minlength=4)",
                    "torch.zeros(4).index_add(0, x, weights)",
                ),
            ),
            _captured(_WEIGHED),
        ],
        where=r"aten\.bincount\b[\s\S]*\n\? has weights",
    ),
    _shape(
        "counted values",
        "torch.bincount returns one count for each value from 0 to the greatest one, so the "
        "shape of its result depends on a tensor's values.",
        [
            helps(
                "If the number of values is known, count them with index_add in a tensor of that "
                "size. Its shape is static: torch.zeros(COUNT, dtype=torch.int64).index_add(0, "
                "x, torch.ones_like(x)) for an x of int64.",
                _BINCOUNT,
                _BINCOUNT.replace(
                    "torch.bincount(x, minlength=4)",
                    "torch.zeros(4, dtype=torch.int64).index_add(0, x, torch.ones_like(x))",
                ),
            ),
            _captured(_BINCOUNT),
        ],
        where=r"aten\.bincount\b",
    ),
    _shape(
        "repeated elements",
        "The length of the result of torch.repeat_interleave depends on a tensor's values.",
        [
            helps(
                "If the length is known before the call, pass it: output_size=LENGTH.",
                _REPEATED,
                _REPEATED.replace("(x, times)", "(x, times, output_size=6)").replace(
                    "def f(x, times, output_size=6)", "def f(x, times)"
                ),
            ),
            _captured(_REPEATED),
        ],
        where=r"aten\.repeat_interleave\b",
    ),
    _shape(
        "distinct values that decide",
        "The number of distinct values that torch.unique finds depends on a tensor's values, and "
        "{at} decides on it. torch's capture_dynamic_output_shape_ops does not help: with it, "
        "torch stops tracing there.",
        [
            helps(
                "Call it before the compiled function, and pass its result, or the result of the "
                "decision.",
                _UNIQUE_DECIDES,
                """
@torch.compile(backend="eager")
def f(x, many):
    if many:
        return x * 2
    return x + 1

inputs = [torch.tensor(x) for x in ([0, 1, 1], [2, 3, 1])]
result = [f(x, len(torch.unique(x)) > 2) for x in inputs]
""",
            ),
        ],
        where=r"(?s)aten\._?unique.*\n\? line \d+ asks for its size",
        names=r"\n\? (?P<at>line \d+) asks for its size",
    ),
    _shape(
        "distinct values",
        "The number of distinct values that torch.unique finds depends on a tensor's values.",
        [
            _captured(_UNIQUE),
            helps(
                "Call it before the compiled function, and pass its result.",
                _UNIQUE,
                _UNIQUE.replace("torch.unique(x) * 2", "x * 2").replace(
                    "f(torch.tensor(x))", "f(torch.unique(torch.tensor(x)))"
                ),
            ),
        ],
        where=r"aten\._?unique",
    ),
    _shape(
        "dynamic shape that is replaced",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        replaced(True),
        where=r"(?s)\n\? line \d+ asks for its size.*\n\? does more than skip",
        names=r"\n\? (?P<at>line \d+) asks for its size",
    ),
    _shape(
        "dynamic shape that leaves out more",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        [helps(OF_PARTS, _SIZES, PARTS)],
        where=r"\n\? line \d+ asks for its size\n\? leaves out [line \d,]+",
        names=r"(?s)\n\? (?P<at>line \d+) asks for its size\n\? leaves out (?P<left>[line \d,]+)",
    ),
    _shape(
        "dynamic shape that is counted",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        [
            helps(
                "If the decision only skips an empty tensor, remove it: most operations accept a "
                "tensor without elements (max, min and argmax do not). Make each number of the "
                "module that a call changes ({counted}) a tensor (a buffer). A Python number is "
                "a constant of the graph, so each call would compile the whole function again. "
                "torch._dynamo.config.capture_dynamic_output_shape_ops = True then keeps the "
                "operation in the graph. " + _ALL_SUCH,
                _COUNTED,
                "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n"
                + _COUNTED.replace(
                    "self.load = [0, 0]",
                    'self.register_buffer("load", torch.zeros(2, dtype=torch.int64))',
                )
                .replace("        if rows.numel() == 0:\n            return out\n", "")
                .replace("int(rows.numel())", "rows.numel()"),
            ),
            helps(
                "A mask with torch.where keeps the shape fixed. mask.sum() is the number of "
                "elements that the mask keeps, as a tensor: torch.where can decide on it, and a "
                "buffer can count it.",
                _COUNTED,
                """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("load", torch.zeros(2, dtype=torch.int64))

    def forward(self, x):
        mask = x > 0
        self.load[0] += mask.sum()
        return torch.where(mask, x, 0.0)

model = torch.compile(Model(), backend="eager")
result = [model(torch.arange(5.0) - count) for count in range(4)]
""",
            ),
        ],
        where=r"(?s)\n\? line \d+ asks for its size\n\? [line \d,]+ counts",
        names=r"(?s)\n\? (?P<at>line \d+) asks for its size\n\? (?P<counted>[line \d,]+) counts",
    ),
    _shape(
        "dynamic shape that decides",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        [
            helps(
                "If the decision only skips an empty tensor, remove it: most operations accept a "
                "tensor without elements (max, min and argmax do not, and a mean of it is NaN). "
                "torch._dynamo.config.capture_dynamic_output_shape_ops = True then keeps the "
                "operation in the graph. " + _ALL_SUCH,
                _EMPTY_SPLIT,
                EMPTY.replace("    if rows.numel() == 0:\n        return out\n", ""),
            ),
            helps(
                "A mask with torch.where keeps the shape fixed. mask.sum() is the number of "
                "elements that the mask keeps, as a tensor on which torch.where can decide.",
                _EMPTY_SPLIT,
                """
@torch.compile(backend="eager")
def f(x):
    return torch.where(x > 0, x, 0.0)

result = [f(torch.ones(3)), f(-torch.ones(3))]
""",
            ),
        ],
        where=r"\n\? line \d+ asks for its size",
        names=r"\n\? (?P<at>line \d+) asks for its size",
    ),
    _shape(
        "dynamic shape",
        "The shape of the result depends on a tensor's values.",
        [
            _captured(_NONZERO),
            helps(
                "A mask with torch.where keeps the shape fixed.",
                _NONZERO,
                """
@torch.compile(backend="eager")
def f(x):
    return torch.where(x > 0, x, 0).sum()

result = f(torch.tensor([1.0, -2.0, 3.0]))
""",
            ),
        ],
    ),
)
