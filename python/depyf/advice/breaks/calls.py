"""Rows of calls that torch cannot trace: clocks, draws, prints, builtins, methods, context
managers, operators.
"""

from typing import Iterable

from depyf.advice import Help, Row, helps, row

_PRINT = """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    print("the sum is", y)
    return y + 1

result = f(torch.ones(3))
"""
_PRINT_SHAPE = """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    print("the shape is", y.shape)
    return y + 1

result = f(torch.ones(3))
"""
_RANDOM = """
import random
random.seed(0)

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * random.random()

result = [f(torch.ones(3)) for _ in range(3)]
"""
#: what ends advice to draw earlier than the program does
_IN_ORDER = " Results change where other draws then come in another order."
_DRAWN_ELEMENTS = """
import random
random.seed(0)
operations = [torch.sin, torch.cos]

@torch.compile(backend="eager")
def f(x):
    for one in random.sample(operations, 1):
        x = one(x)
    return x

result = [f(torch.ones(3)) for _ in range(4)]
"""
_GENERATOR = """
drawn_by = torch.Generator().manual_seed(0)

@torch.compile(backend="eager")
def f(x):
    noisy = x + torch.randn(3, generator=drawn_by)
    return torch.multinomial(noisy.softmax(0), 1, generator=drawn_by)

result = [f(torch.ones(3)) for _ in range(3)]
"""
_CLOCK = """
import time

@torch.compile(backend="eager")
def f(x):
    begin = time.perf_counter()
    y = (x + 1) * 2
    return y, time.perf_counter() - begin

result = f(torch.ones(3))[0]
"""
_BUILTIN = """
import time

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    time.sleep(0)
    return y * 2

result = f(torch.ones(3))
"""
_METHOD = """
import io
file = io.StringIO("12")

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    number = int(file.read())
    return y * number

result = f(torch.ones(3))
"""
_RANGES = """
import numpy

@torch.compile(backend="eager")
def f(x):
    ends = numpy.array([0, 2, 4])
    table = numpy.zeros(4)
    for row in (0, 1):
        for at in range(ends[row], ends[row + 1]):
            table[at] = row + at
    return x * torch.from_numpy(table)

result = f(torch.ones(4))
"""
_OPEN = """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    open("/dev/null").close()
    return y * 2

result = f(torch.ones(3))
"""
_LOCK = """
import threading
lock = threading.Lock()

@torch.compile(backend="eager")
def f(x):
    with lock:
        y = x + 1
    return y * 2

result = f(torch.ones(3))
"""
_CACHED_PROPERTY = """
import functools

class Scaled:
    @functools.cached_property
    def scale(self):
        return 2.0

scaled = Scaled()

@torch.compile(backend="eager")
def f(x):
    return x.sin() * scaled.scale

result = f(torch.ones(3))
"""
_ENABLED = """
@torch.compile(backend="eager")
def f(x, step):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=step != 3):
        return x @ x

result = [f(torch.ones(2, 2), step) for step in range(3)]
"""
_DRAWN_TO_A_SIZE = """
import random
rng = random.Random(0)

@torch.compile(backend="eager", dynamic=True)
def f(x):
    top = rng.randint(0, x.shape[0] - 4)
    return x[top : top + 4] * 2

result = [f(torch.ones(size, 3)) for size in (8, 10, 12)]
"""
_CAUSAL = """
from torch.nn.functional import scaled_dot_product_attention

@torch.compile(backend="eager", dynamic=True)
def f(x):
    return scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1) * 2

result = [f(torch.ones(1, size, 4)) for size in (3, 4)]
"""
_CLOCK_DECIDES = """
import time
end = time.monotonic() + 1000

@torch.compile(backend="eager")
def f(x):
    if time.monotonic() > end:
        return x
    return x + 1

result = f(torch.ones(3))
"""


def of_untraced(key: str, words: str, help: Iterable[Help], where: str = "") -> Row:
    """A row of a function that torch is marked not to trace, whose name is filled in as `name`."""
    return row(
        key,
        words,
        help,
        ids=("GB0007", "GB0008", "GB0009", "GB0177"),
        reason=r"marked as skipped|skip calling|SkipFilesVariable|skipped",
        where=where,
        names=r"(?:function|builtin|extension|operator) `(?P<name>[^`]+)`",
    )


_OF_SKIPPED = ("GB0007", "GB0008", "GB0009", "GB0059", "GB0177", "GB9193")
_SKIPPED = r"marked as skipped|skip calling|SkipFilesVariable|skipped|builtin"
_CLOCKS = (
    r"`(?P<name>time\.(?:time|perf_counter|monotonic|process_time|thread_time)(?:_ns)?)"
    r"(?:\.|\(\))?`"
)
ROWS = (
    row(
        "clock that decides",
        "`{name}` reads a clock, which torch does not trace, and {at} decides by it.",
        [
            helps(
                "Read the clock and decide before the call of the compiled function, and pass "
                "True or False: torch compiles once for each of the two.",
                _CLOCK_DECIDES,
                """
import time
end = time.monotonic() + 1000

@torch.compile(backend="eager")
def f(x, late):
    return x if late else x + 1

result = f(torch.ones(3), time.monotonic() > end)
""",
            )
        ],
        ids=_OF_SKIPPED,
        reason=_SKIPPED,
        where=_CLOCKS + r"(?s:.*)\n\? line \d+ decides by the time",
        names=_CLOCKS + r"(?s:.*)\n\? (?P<at>line \d+) decides by the time",
    ),
    row(
        "clock",
        "`{name}` reads a clock, which torch does not trace.",
        [
            helps(
                "Read the clock before and after the call of the compiled function. The "
                "difference is the time of the whole function. On a GPU, the program must first "
                "wait for the GPU: torch.cuda.synchronize().",
                _CLOCK,
                """
import time

@torch.compile(backend="eager")
def f(x):
    return (x + 1) * 2

begin = time.perf_counter()
result = f(torch.ones(3))
seconds = time.perf_counter() - begin
""",
            )
        ],
        ids=_OF_SKIPPED,
        reason=_SKIPPED,
        where=_CLOCKS,
        names=_CLOCKS,
    ),
    of_untraced(
        "element drawn by Python",
        "torch does not trace `{name}`, which draws from a list.",
        [
            helps(
                "Call `{name}` outside of the compiled function, and pass what is drawn, a number "
                "as a tensor. Where functions are drawn, compile each of them, and call what is "
                "drawn outside of compiled code: torch compiles a function again for each other "
                "one that it is given." + _IN_ORDER,
                _DRAWN_ELEMENTS,
                """
import random
random.seed(0)
operations = [torch.compile(one, backend="eager") for one in (torch.sin, torch.cos)]

def f(x):
    for one in random.sample(operations, 1):
        x = one(x)
    return x

result = [f(torch.ones(3)) for _ in range(4)]
""",
            )
        ],
        where=r"`(<unknown module>\.Random|random)\.(sample|choices?)\.?`",
    ),
    of_untraced(
        "drawn by Python",
        "torch does not trace `{name}`, which draws a random number.",
        [
            helps(
                "Call `{name}` outside of the compiled function, and pass its result. Pass a "
                "number as a tensor: a Python number is a constant at first, so a second number "
                "compiles again. If a branch decides on it, decide outside, and pass True or "
                "False." + _IN_ORDER,
                _RANDOM,
                """
import random
random.seed(0)

@torch.compile(backend="eager")
def f(x, drawn):
    y = x + 1
    return y * drawn

result = [f(torch.ones(3), torch.tensor(random.random())) for _ in range(3)]
""",
            )
        ],
        where=r"`(<unknown module>\.Random|random)\.(?!seed\b)\w+\.?`",
    ),
    row(
        "drawn with a generator",
        "The call is given a torch.Generator, which torch cannot pass to an operator of the graph.",
        [
            helps(
                "Draw with the generator outside of the compiled function: before the call, and "
                "pass what is drawn, or after it, from what the function returns.",
                _GENERATOR,
                """
drawn_by = torch.Generator().manual_seed(0)

@torch.compile(backend="eager")
def f(x, noise):
    return (x + noise).softmax(0)

result = []
for _ in range(3):
    probabilities = f(torch.ones(3), torch.randn(3, generator=drawn_by))
    result.append(torch.multinomial(probabilities, 1, generator=drawn_by))
""",
            )
        ],
        ids=("GB0055",),
        reason=r"^Failed to convert args/kwargs to proxy",
        where=r"\n\? is given a torch\.Generator",
    ),
    of_untraced(
        "not traced",
        "torch does not trace `{name}`: it is not Python code, or is marked as skipped.",
        [
            helps(
                "Call `{name}` outside of the compiled function, and pass its result.",
                _BUILTIN,
                """
import time

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

time.sleep(0)
result = f(torch.ones(3))
""",
            )
        ],
    ),
    row(
        "print of other values",
        "In the middle of the graph, the program prints more than tensors, strings and constants.",
        [
            helps(
                "Print outside of the compiled function, or after it. If a later line changes the "
                "tensor in place, return a clone that is made before that line.",
                _PRINT_SHAPE,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    return y, y + 1

y, result = f(torch.ones(3))
print("the shape is", y.shape)
""",
            ),
            helps(
                "Print an f-string of it, and a tensor in place of its .item(): "
                "torch._dynamo.config.reorderable_logging_functions.add(print) lets torch print "
                "that at the end of the graph, as it is then. It cannot print a number that "
                "changes from call to call.",
                _PRINT_SHAPE,
                "torch._dynamo.config.reorderable_logging_functions.add(print)\n"
                + _PRINT_SHAPE.replace('"the shape is", y.shape', 'f"the shape is {y.shape}"'),
            ),
        ],
        ids=("GB0059",),
        reason=r"reorder a debugging function|builtin|call_function BuiltinVariable\(print\)",
        where=r"\bprint`? with argument types \[(?!(?:'(?:str|Tensor|Parameter|int|float|bool"
        r"|NoneType|dtype|device)'(?:, )?)*\])|\n\? prints a number"
        r"|can only reorder functions (where|that are called)",
    ),
    row(
        "print",
        "The program prints a message in the middle of the graph.",
        [
            helps(
                "Print outside of the compiled function, or after it. If a later line changes the "
                "tensor in place, return a clone that is made before that line.",
                _PRINT,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    return y, y + 1

y, result = f(torch.ones(3))
print("the sum is", y)
""",
            ),
            helps(
                "torch._dynamo.config.reorderable_logging_functions.add(print) lets torch print "
                "tensors and constants at the end of the graph, as they are then. A number "
                "that changes from call to call still breaks the graph. Inside of a "
                "torch.autograd.Function the message is lost.",
                _PRINT,
                "torch._dynamo.config.reorderable_logging_functions.add(print)\n" + _PRINT,
                "torch._dynamo.config.reorderable_logging_functions.add(print)",
            ),
        ],
        ids=("GB0059",),
        reason=r"reorderable|debugging function|builtin|call_function BuiltinVariable\(print\)",
        where=r"builtin (?:operator )?`?print\b|builtin print\b|'print'|reorderable logging",
    ),
    row(
        "range of a computed number",
        "The graph cannot contain a `range` of numbers that are computed in it, as those of a "
        "NumPy array are.",
        [
            helps(
                "Compute once, outside of the compiled function, what the loop fills, and pass it "
                "as a tensor.",
                _RANGES,
                _RANGES.replace('@torch.compile(backend="eager")\ndef f(x):', "def weights():")
                .replace(
                    "    return x * torch.from_numpy(table)",
                    '    return torch.from_numpy(table)\n\n@torch.compile(backend="eager")\n'
                    "def f(x, weights):\n    return x * weights",
                )
                .replace("f(torch.ones(4))", "f(torch.ones(4), weights())"),
            )
        ],
        ids=("GB0059",),
        reason=r"Failed to trace builtin operator",
        where=r"builtin operator `range`",
    ),
    row(
        "builtin",
        "The graph cannot contain a call of `{name}`.",
        [
            helps(
                "Call `{name}` outside of the compiled function, and pass its result.",
                _OPEN,
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

open("/dev/null").close()
result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0059",),
        reason=r"Failed to trace builtin operator",
        names=r"builtin operator `(?P<name>[^`]+)`",
    ),
    row(
        "method",
        "The graph cannot contain a call of `{name}`.",
        [
            helps(
                "Call `{name}` outside of the compiled function, and pass its result.",
                _METHOD,
                """
import io
file = io.StringIO("12")

@torch.compile(backend="eager")
def f(x, number):
    y = x + 1
    return y * number

result = f(torch.ones(3), int(file.read()))
""",
            )
        ],
        ids=("GB0156",),
        reason=r"Unsupported method call",
        names=r"method `(?P<name>[^`]+)` of class",
    ),
    row(
        "cached property",
        "functools.cached_property takes a lock where it computes its value, which Dynamo cannot "
        "keep in the graph.",
        [
            helps(
                "Read the property once before the compiled function is called, as where the "
                "object is made: what reads it then finds the value in the object.",
                _CACHED_PROPERTY,
                _CACHED_PROPERTY.replace("scaled = Scaled()", "scaled = Scaled()\nscaled.scale"),
            )
        ],
        ids=("GB0142", "GB0066"),
        reason=r"context manager|GenericContextWrappingVariable",
        where=r"\bfunctools\.py:\d+\n> with self\.lock\b",
    ),
    row(
        "context manager",
        "Dynamo cannot keep this `with` block in the graph, or a break inside it cannot be "
        "resumed.",
        [
            helps(
                "Enter the context outside of the compiled function.",
                _LOCK,
                """
import threading
lock = threading.Lock()

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

with lock:
    result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0142", "GB0066"),
        reason=r"context manager|GenericContextWrappingVariable",
        # at any other line the block is only around what breaks the graph
        where=r"^(?!Graph break under )|\n> (async )?with\b",
    ),
    row(
        "bool of a size",
        "An operator needs True or False, but gets a comparison of a dynamic size, which torch "
        "has not evaluated.",
        [
            helps(
                "Evaluate it: is_causal=True if x.shape[1] > 1 else False, with a compile for "
                "each. In eager mode the comparison is no error.",
                _CAUSAL,
                _CAUSAL.replace("x.shape[1] > 1", "True if x.shape[1] > 1 else False"),
            )
        ],
        ids=("GB0112",),
        reason=r"^TypeError when making fake tensor call",
        where=r"must be bool, not SymBool|\n> .*\bis_causal\s*=[^,)]*[<>=!]",
    ),
    row(
        "drawn up to a size",
        "Python's random draws a number up to one that differs from call to call, for which torch "
        "needs a constant.",
        [
            helps(
                "Draw the number before the call, and pass it as an argument, with "
                "torch.compile(..., dynamic=True): without it, a second number compiles again.",
                _DRAWN_TO_A_SIZE,
                """
import random
rng = random.Random(0)

@torch.compile(backend="eager", dynamic=True)
def f(x, top):
    return x[top : top + 4] * 2

result = [f(torch.ones(size, 3), rng.randint(0, size - 4)) for size in (8, 10, 12)]
""",
            )
        ],
        reason=r"SymNodeVariable\(\) is not a constant",
        where=r"\n\? line \d+ draws up to it",
    ),
    row(
        "number as a constant",
        "The code needs a constant here, but the number differs from call to call.",
        [
            helps(
                "Decide on the number before the call, and pass True or False: these are "
                "constants, with a compile for each.",
                _ENABLED,
                _ENABLED.replace("f(x, step)", "f(x, on)")
                .replace("enabled=step != 3", "enabled=on")
                .replace("(torch.ones(2, 2), step)", "(torch.ones(2, 2), step != 3)"),
            )
        ],
        reason=r"SymNodeVariable\(\) is not a constant",
    ),
)
