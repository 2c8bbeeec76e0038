"""Rows of numbers of tensors by which Python picks an element, that it puts into a
dict, or of which it makes a string.
"""

from typing import Iterable

from depyf.advice import Help, Row, helps, row

_TEXT = """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    return y + 1, "the mean is %.2f" % y.mean().item()

result = [f(torch.ones(3))[0], f(torch.zeros(3))[0]]
"""
_COUNTED = """
from collections import Counter

counts = Counter()

@torch.compile(backend="eager")
def f(x):
    counts.update(x.tolist())
    return x * 2

result = [f(torch.tensor([1, 2])) for _ in range(3)]
result.append(torch.tensor([counts[1], counts[2]]))
"""
_METERED = """
class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

meter = Meter()

@torch.compile(backend="eager")
def f(x):
    for _ in range(1):
        meter.update(x.mean().item())
    return x * 2

result = [f(torch.ones(3)) for _ in range(4)]
"""
_METER = """
class Meter:
    def __init__(self):
        self.count = 0
"""
_BESIDE_A_COUNTER = (
    _METER
    + """
meter = Meter()

@torch.compile(backend="eager")
def f(x):
    for _ in range(2):
        x = x * x.mean().item()
        meter.count += 1
    return x

result = [f(torch.ones(3)) for _ in range(4)]
"""
)
_OF_MATH = """
import math

@torch.compile(backend="eager")
def f(x):
    total = x.sum().item()
    return x * 2, math.exp(-total)

result = [f(torch.full((2,), size)) for size in (0.5, 0.25)]
"""
_ELEMENT = """
@torch.compile(backend="eager")
def f(x, table, at):
    return x * table[at.item()]

result = [f(torch.ones(3), [1.0, 2.0, 3.0], torch.tensor(at)) for at in (0, 1, 2)]
"""
_BESIDE = """
@torch.compile(backend="aot_eager")
def f(x, step):
    change = float(x.abs().max().sqrt())
    return min(max(change, 0.5 * step), 2.0 * step)

result = [f(torch.ones(3), step) for step in (0.1, 0.2, 0.4)]
"""
#: torch's reasons where a program asks for the number in a tensor
MAKES_A_NUMBER = r"Tensor\.item|capture_scalar_outputs|Data dependent operator|^Tensor\.tolist"


def of_number(key: str, words: str, help: Iterable[Help], where: str = "", names: str = "") -> Row:
    """A row of what makes a Python number of a tensor."""
    return row(
        key, words, help, ids=("GB0124", "GB0033"), reason=MAKES_A_NUMBER, where=where, names=names
    )


BY_VALUE = (
    of_number(
        "item in a dict",
        "A tensor's values are converted to Python numbers, with which {at} updates a dict, so "
        "Python must wait for the values.",
        [
            helps(
                "Return the tensor. Convert it, and update the dict, outside of the compiled "
                "function.",
                _COUNTED,
                """
from collections import Counter

counts = Counter()

@torch.compile(backend="eager")
def f(x):
    return x * 2

result = []
for _ in range(3):
    seen = torch.tensor([1, 2])
    result.append(f(seen))
    counts.update(seen.tolist())
result.append(torch.tensor([counts[1], counts[2]]))
""",
            ),
        ],
        where=r"\n\? line \d+ puts into a dict it",
        names=r"\n\? (?P<at>line \d+) puts into a dict it",
    ),
    of_number(
        "item that updates a number",
        "A tensor's value is converted to a Python number, with which {at} updates what Python "
        "keeps between calls, so Python must wait for the value. torch's capture_scalar_outputs "
        "may not help: with it, torch guards the numbers that are kept, and may compile again at "
        "each call.",
        [
            helps(
                "Return the tensor. Convert it, and update what is kept, outside of the compiled "
                "function.",
                _METERED,
                """
class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

meter = Meter()

@torch.compile(backend="eager")
def f(x):
    return x * 2, x.mean()

result = []
for _ in range(4):
    y, mean = f(torch.ones(3))
    meter.update(mean.item())
    result.append(y)
""",
            ),
        ],
        where=r"\n\? line \d+ updates a number with it",
        names=r"\n\? (?P<at>line \d+) updates a number with it",
    ),
    of_number(
        "item in a text",
        "A tensor's value is converted to a Python number, of which {at} makes a string, so Python "
        "must wait for the value. torch's capture_scalar_outputs does not help: the graph cannot "
        "contain that string.",
        [
            helps(
                "Return the tensor, and make the string outside of the compiled function.",
                _TEXT,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    return y + 1, y.mean()

result = []
for x in (torch.ones(3), torch.zeros(3)):
    y, mean = f(x)
    text = "the mean is %.2f" % mean.item()
    result.append(y)
""",
            ),
        ],
        where=r"\n\? line \d+ formats it",
        names=r"\n\? (?P<at>line \d+) formats it",
    ),
    of_number(
        "item in a function of math",
        "A tensor's value is converted to a Python number, which {at} gives to {taker}, so Python "
        "must wait for the value. torch's capture_scalar_outputs does not help: with it, torch "
        "stops tracing at {at}.",
        [
            helps(
                "Return the tensor, and call {taker} on its .item() outside of the compiled "
                "function.",
                _OF_MATH,
                """
import math

@torch.compile(backend="eager")
def f(x):
    return x * 2, x.sum()

result = []
for size in (0.5, 0.25):
    y, total = f(torch.full((2,), size))
    result.append((y, math.exp(-total.item())))
""",
            ),
            helps(
                "Where a tensor can take its place, keep the value a tensor, with {torch} for "
                "{taker}.",
                _OF_MATH.replace("x * 2, math.exp(-total)", "x * math.exp(-total)"),
                _OF_MATH.replace("x * 2, math.exp(-total)", "x * torch.exp(-total)").replace(
                    ".item()", ""
                ),
            ),
        ],
        where=r"\n\? line \d+ gives to math it",
        names=r"\n\? (?P<at>line \d+) gives to math it\n\? calls (?P<taker>[\w.]+), for tensors "
        r"(?P<torch>[\w.]*)",
    ),
    of_number(
        "item that picks an element",
        "A tensor's value is converted to a Python number, by which {at} picks an element, so "
        "Python must wait for the value.",
        [
            helps(
                "Pick from a tensor: torch.index_select(table, 0, at.reshape(1))[0] in place of "
                "table[at.item()]. Of a list of numbers make a tensor before the call.",
                _ELEMENT,
                _ELEMENT.replace(
                    "table[at.item()]", "torch.index_select(table, 0, at.reshape(1))[0]"
                ).replace("[1.0, 2.0, 3.0]", "torch.tensor([1.0, 2.0, 3.0])"),
            ),
        ],
        where=r"\n\? line \d+ picks an element by it",
        names=r"\n\? (?P<at>line \d+) picks an element by it",
    ),
    of_number(
        "item beside a number",
        "A tensor's value is converted to a Python number, and {at} computes from it and from "
        "another number of Python's, so Python must wait for the value. With torch's "
        "capture_scalar_outputs, torch compiles for each value of that other number, where the "
        "result is no tensor.",
        [
            helps(
                "Return the tensor, and compute the number outside of the compiled function.",
                _BESIDE,
                """
@torch.compile(backend="aot_eager")
def f(x):
    return x.abs().max().sqrt()

result = []
for step in (0.1, 0.2, 0.4):
    change = float(f(torch.ones(3)))
    result.append(min(max(change, 0.5 * step), 2.0 * step))
""",
            ),
        ],
        where=r"\n\? line \d+ takes a number beside it",
        names=r"\n\? (?P<at>line \d+) takes a number beside it",
    ),
    of_number(
        "item beside a counter",
        "A tensor's value is converted to a Python number inside of a loop, so the function runs "
        "as plain Python, and so does {at}, which updates a number that stays between calls. "
        "torch's capture_scalar_outputs alone does not help: with it, torch guards that number, "
        "and may compile again at each call.",
        [
            helps(
                "Keep the value a tensor, and update the number outside of the compiled function.",
                _BESIDE_A_COUNTER,
                _METER
                + """
meter = Meter()

@torch.compile(backend="eager")
def f(x):
    for _ in range(2):
        x = x * x.mean()
    return x

result = []
for _ in range(4):
    result.append(f(torch.ones(3)))
    meter.count += 2
""",
            ),
        ],
        where=r"\n\? \S+ counts",
        names=r"\n\? (?P<at>\S+) counts",
    ),
)
