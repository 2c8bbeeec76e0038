"""Rows of integers: arguments, attributes, counters, and conditions on them."""

from depyf.advice import helps, row
from depyf.advice.breaks.functions import FORMAT, FORMATTED_OUTSIDE

_CHOOSES = """
@torch.compile(backend="eager", dynamic=True)
def f(x, n):
    return x.topk(3 if n > 3 else 2).values * 2

result = [f(torch.ones(4), n) for n in (2, 3, 4)]
"""
_PARITY = """
@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    if count % 2 == 0:
        return x * 2
    return x + count

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
"""
_TABLE = """
table = [0.5, 1.0, 1.5, 2.0]

@torch.compile(backend="eager", dynamic=True)
def f(x, index):
    return x * table[index]

result = [f(torch.ones(3), index) for index in (1, 2, 3)]
"""
_LEVELS = """
times = torch.tensor([3, 2, 1, 0]).tolist()
levels = torch.linspace(0.9, 0.1, 4)

@torch.compile(backend="eager")
def f(x, index):
    time = times[index]
    return x * levels[time] + time

result = [f(torch.ones(3), index) for index in (1, 2, 3)]
"""
_ROW_AT = """
@torch.compile(backend="eager")
def f(x, at):
    return x[at] * 2

result = [f(torch.arange(12.0).view(3, 4), torch.tensor(at)) for at in (0, 1, 2)]
"""
_ROWS_OF = """
@torch.compile(backend="eager", dynamic=True)
def f(x, rows):
    return x.view(rows, -1, 2).transpose(0, 1) + 1

x = torch.arange(24)
result = [f(x, rows) for rows in (2, 3, 1)]
"""
_DIMENSION = """
@torch.compile(backend="eager", dynamic=True)
def f(x, dimension):
    return x.cumsum(dimension)

x = torch.arange(8.0).reshape(2, 2, 2)
result = [f(x, dimension) for dimension in (0, 1, 2)]
"""
_WAVE = """
import math

@torch.compile(backend="eager")
def f(x, step):
    return x * math.sin(step * 0.5)

result = [f(torch.ones(3), step) for step in (2, 3, 4)]
"""
_WAVE_OF_TABLE = """
import math

table = []
for value in (0.5, 1.0, 1.5, 2.0):
    table.append(value)

@torch.compile(backend="eager", dynamic=True)
def f(x, index):
    return x * table[index] * math.sin(index * 0.5)

result = [f(torch.ones(3), index) for index in (1, 2, 3)]
"""
_POWER = """
import math

@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    return x / math.pow((5 + step) / 6, 0.5)

result = [f(torch.ones(3), step) for step in (2, 3, 4)]
"""
_PICKED = """
torch.manual_seed(0)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
        self.requires_grad_(False)

    def forward(self, x, index):
        return self.layers[index](x)

model = torch.compile(Model(), backend="eager")
result = torch.ones(3)
for index in range(4):
    result = model(result, index)
"""
_INTEGER_IN_FUNCTION = """
import math

@torch.compile(backend="eager")
def f(x, count):
    return x / math.factorial(count)

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
"""
_INTEGER = """
@torch.compile(backend="eager")
def f(x, count):
    return x * count

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
"""
_TIMES = """
@torch.compile(backend="eager")
def f(x, count):
    for _ in range(count):
        x = x * 0.5 + 1
    return x

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
"""
_OF_OBJECT = """
class Count:
    def __init__(self):
        self.steps = 0

@torch.compile(backend="eager")
def f(x, count):
    count.steps += 1
    return x * count.steps

count = Count()
result = [f(torch.ones(3), count) for _ in range(4)]
"""
#: what is to be done before a number becomes symbolic, where the run has code that makes a string
#: of one
FORMATTED_FIRST = (
    "First change {at}, where a string is made of a number: make it outside of the compiled "
    "function. In the code that torch makes around a graph break, a symbolic number may stand in "
    "place of its string, and the program then ends with an exception or shows something else. "
    "Then "
)
ROWS = (
    row(
        "integer used as a constant",
        "",
        [
            helps(
                "dynamic=True does not help: the code makes {name} a constant, for example as "
                "the length of a loop, which torch unrolls. Compile the loop's body as a "
                "separate function, and take torch.compile off the function around the loop, which "
                "would take the body in. Or compute with a tensor.",
                _TIMES,
                """
@torch.compile(backend="eager")
def body(x):
    return x * 0.5 + 1

def f(x, count):
    for _ in range(count):
        x = body(x)
    return x

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
""",
            ),
        ],
    ),
    row(
        "integer that picks",
        "",
        [
            helps(
                "dynamic=True does not help: the code selects an element of a list with {name}, "
                "so torch compiles for each element. Select it outside of the compiled function. "
                "Pass a number as a tensor; of modules, compile the element: layers of one class "
                "and size share a compile.",
                _PICKED,
                _PICKED.replace('torch.compile(Model(), backend="eager")', "Model()").replace(
                    "result = torch.ones(3)",
                    'for layer in model.layers:\n    layer.compile(backend="eager")\n'
                    "result = torch.ones(3)",
                ),
            ),
        ],
    ),
    row(
        "integer that picks what Python needs",
        "",
        [
            helps(
                "dynamic=True does not help: the code selects an element with {name}, so torch "
                "compiles for each, and needs the value of a number at {needing}. Select it "
                "outside of the compiled function, and do there what those lines do with it: pass "
                "the tensor that it selects, the text, the result of a test (of True and False, "
                "torch compiles for both, unless it is a tensor for torch.where). Pass a number as "
                "a tensor only to what computes with it; of modules, compile the element.",
                _LEVELS,
                _LEVELS.replace("    time = times[index]\n", "")
                .replace("def f(x, index):", "def f(x, time, level):")
                .replace("x * levels[time]", "x * level")
                .replace("= [f(torch.ones(3), index) for index in (1, 2, 3)]", "= []")
                + "for index in (1, 2, 3):\n    time = times[index]\n"
                + "    result.append(f(torch.ones(3), torch.tensor(time), levels[time]))\n",
            ),
        ],
    ),
    row(
        "integer in a function",
        "",
        [
            helps(
                "With dynamic=True, the graph breaks instead: the code calls a function with "
                "{name} that no graph can contain. Call it before the compiled function, and "
                "pass its result as a tensor.",
                _INTEGER_IN_FUNCTION,
                """
import math

@torch.compile(backend="eager")
def f(x, product):
    return x / product

result = [f(torch.ones(3), torch.tensor(math.factorial(count))) for count in (2, 3, 4)]
""",
            ),
        ],
    ),
    row(
        "integer attribute",
        "",
        [
            helps(
                "torch.compile(dynamic=True) makes it symbolic from the first call on.",
                _OF_OBJECT,
                _OF_OBJECT.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
        ],
    ),
    row(
        "number in a function of math",
        "",
        [
            helps(
                "There is no branch: {called} makes a constant of the number that it is given, so "
                "torch compiles for each value, with dynamic=True, too. Call {called} before the "
                "compiled function, and pass its result as a tensor.",
                _POWER,
                _POWER.replace("x / math.pow((5 + step) / 6, 0.5)", "x / length")
                .replace("def f(x, step)", "def f(x, length)")
                .replace("step) for", "torch.tensor(math.pow((5 + step) / 6, 0.5))) for"),
            )
        ],
    ),
    row(
        "integer that a function of math is given",
        "",
        [
            helps(
                "The code calls {called} with {name} at {at}. Call it before the compiled "
                "function, and pass its result as a tensor: not all that compiles has a symbolic "
                "number for it.",
                _WAVE,
                _WAVE.replace("x * math.sin(step * 0.5)", "x * wave")
                .replace("def f(x, step)", "def f(x, wave)")
                .replace("step) for", "torch.tensor(math.sin(step * 0.5))) for"),
            )
        ],
    ),
    row(
        "integer that picks and that a function of math is given",
        "",
        [
            helps(
                "dynamic=True does not help: the code selects an element with {name}, so torch "
                "compiles for each. Outside of the compiled function, select it and call {called} "
                "at {at}, and each function of math that is given the element. Pass the results as "
                "tensors.",
                _WAVE_OF_TABLE,
                _WAVE_OF_TABLE.replace("def f(x, index)", "def f(x, value, wave)")
                .replace("table[index] * math.sin(index * 0.5)", "value * wave")
                .replace(
                    "f(torch.ones(3), index)",
                    "f(torch.ones(3), torch.tensor(table[index]), "
                    "torch.tensor(math.sin(index * 0.5)))",
                ),
            )
        ],
    ),
    row(
        "number condition",
        "",
        [
            helps(
                "The code decides on the number, so torch compiles for each side, with "
                "dynamic=True, too. To avoid one compile, decide before the call, and pass the "
                "result as a tensor, for torch.where(result, a, b).",
                _PARITY,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x, count, even):
    return torch.where(even, x * 2, x + count)

result = [f(torch.ones(3), count, torch.tensor(count % 2 == 0)) for count in (2, 3, 4)]
""",
            )
        ],
    ),
    row(
        "number that chooses",
        "",
        [
            helps(
                "The code decides on the number, and passes a number of Python's on. So one "
                "compile for each side is normal and needs no action; a separate function for "
                "each side, chosen before the call, avoids it.",
                _CHOOSES,
                """
def with_at_most(count):
    @torch.compile(backend="eager", dynamic=True)
    def f(x):
        return x.topk(count).values * 2

    return f

few, many = with_at_most(2), with_at_most(3)
result = [(many if n > 3 else few)(torch.ones(4)) for n in (2, 3, 4)]
""",
            )
        ],
    ),
    row(
        "number 0 or 1",
        "",
        [
            helps(
                "torch's operators have special cases for the numbers 0 and 1, as for sizes. So "
                "one compile for each and one for the others is normal and needs no action; a "
                "branch before the call, with a separate function for that number, avoids it.",
                _ROWS_OF,
                _ROWS_OF.replace(
                    "f(x, rows) for",
                    "f(x, rows) if rows > 1 else x.view(1, -1, 2).transpose(0, 1) + 1 for",
                ),
            )
        ],
    ),
    row(
        "integer in a text",
        "",
        [
            helps(
                "dynamic=True does not help: the code makes a string of {name}, so torch compiles "
                "for each value. Make the string outside of the compiled function, before or "
                "after the call.",
                FORMAT.replace('"step %d" % count', 'f"step {count}"'),
                FORMATTED_OUTSIDE,
            )
        ],
    ),
    row(
        "integer of an operator",
        "",
        [
            helps(
                "dynamic=True does not help: an operator or a function needs {name} as a "
                "constant (a dimension, a number of groups, a key). One compile for each value "
                "is normal. If it is a dimension, pass a copy that has it in front to avoid "
                "this: x.movedim({name}, 0).clone(memory_format=torch.contiguous_format).",
                _DIMENSION,
                _DIMENSION.replace("f(x, dimension):", "f(x):")
                .replace("x.cumsum(dimension)", "x.cumsum(0)")
                .replace(
                    "f(x, dimension) for",
                    "f(x.movedim(dimension, 0).clone(memory_format=torch.contiguous_format))"
                    ".movedim(0, dimension) for",
                ),
            )
        ],
    ),
    row(
        "tensor as an index",
        "",
        [
            helps(
                "torch makes a constant of a zero-dimensional tensor that is the only index: "
                "index_select(0, {name}.reshape(1)).squeeze(0) in place of [{name}] accepts each "
                "index from 0 on (a negative one raises an error).",
                _ROW_AT,
                _ROW_AT.replace("x[at]", "x.index_select(0, at.reshape(1)).squeeze(0)"),
            ),
        ],
    ),
    row(
        "number that is picked",
        "",
        [
            helps(
                "dynamic=True does not help: the code selects an element of a container of "
                "Python numbers with {name}, so torch compiles for each. Make the container a "
                "tensor, pass torch.tensor({name}), and select with torch.take(container, "
                "{name}).",
                _TABLE,
                _TABLE.replace("[0.5, 1.0, 1.5, 2.0]", "torch.tensor([0.5, 1.0, 1.5, 2.0])")
                .replace("table[index]", "torch.take(table, index)")
                .replace("f(torch.ones(3), index)", "f(torch.ones(3), torch.tensor(index))"),
            ),
        ],
    ),
    row(
        "integer",
        "",
        [
            helps(
                "The first integer is a constant, and from the second on it is symbolic: "
                "torch.compile(dynamic=True) skips the first step.",
                _INTEGER,
                _INTEGER.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
        ],
    ),
)
