"""Graph breaks and compiles that failed: torch's number or name, plain words, and the pairs."""

from typing import List

from depyf.advice import NORMAL, OF_LIST, OUTSIDE, Help, helps, row

_BRANCH = """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 1

result = [f(torch.ones(3)), f(-torch.ones(3) * 4)]
"""
_BRANCH_LIST = """
@torch.compile(backend="eager")
def f(xs, limit):
    norm = sum(x.sum() for x in xs)
    if norm > limit:
        xs = [x * (limit / norm) for x in xs]
    return xs

result = [f([torch.ones(3), torch.ones(2)], 1.0), f([torch.ones(3)], 9.0)]
"""
_RAISES = """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    if torch.isnan(y).any():
        raise ValueError("a logarithm of a negative number")
    return y

result = f(torch.ones(3))
"""
_ITEM = """
@torch.compile(backend="eager")
def f(x):
    scale = x.sum().item()
    return x * scale

result = f(torch.ones(3))
"""
_ITEM_DECIDES = """
@torch.compile(backend="eager")
def f(x):
    total = x.sum().item()
    if total > 5:
        return x * 2
    return x + 1

result = [f(torch.ones(3)), f(torch.ones(3) * 4)]
"""
_ITEM_ORDERS = """
@torch.compile(backend="eager")
def f(xs):
    return torch.stack(sorted(xs, key=lambda x: float(x.sum())))

result = f([torch.full((2,), value) for value in (3.0, 1.0, 2.0)])
"""
_WHILE = """
@torch.compile(backend="eager")
def f(x):
    while (x * x - 2).abs().max() > 1e-4:
        x = x - (x * x - 2) / (2 * x)
    return x

result = f(torch.tensor([1.0, 3.0]))
"""
_NONZERO = """
@torch.compile(backend="eager")
def f(x):
    return x[x > 0].sum()

result = f(torch.tensor([1.0, -2.0, 3.0]))
"""
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
_PRINT_ITEM = """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    print("the mean is", y.mean().item())
    return y + 1

result = [f(torch.ones(3)), f(torch.zeros(3))]
"""
_APPENDED = """
seen = []

@torch.compile(backend="eager")
def f(x):
    seen.append(float(x.sum()))
    return x * 2

result = [f(torch.ones(3)) for _ in range(3)]
"""
_INDEX = """
@torch.compile(backend="eager")
def f(x, at):
    column = x[:, int(at)]
    return column * 2

result = [f(torch.arange(12.0).view(3, 4), torch.tensor(at)) for at in (0, 1, 2)]
"""
_PICKED = """
@torch.compile(backend="eager")
def f(x, ats):
    at = ats[1]
    picked = x[1, at]
    return picked * 2

result = [f(torch.arange(12.0).view(3, 4), torch.tensor([0, at])) for at in (1, 2)]
"""
_TOLIST = """
@torch.compile(backend="eager")
def f(x):
    first = (x + 1).tolist()[0]
    return x * first

result = f(torch.ones(3))
"""
_NEXT = """
batches = iter([torch.ones(3), torch.zeros(3)])

@torch.compile(backend="eager")
def f(x):
    return x + next(batches)

result = [f(torch.ones(3)) for _ in range(2)]
"""
_PARAMETER = """
@torch.compile(backend="eager")
def f(x):
    weight = torch.nn.Parameter(x * 2)
    return weight + 1

result = f(torch.ones(3)).detach()
"""
_NUMPY_INDEX = """
import numpy

@torch.compile(backend="eager")
def f(x):
    keep = numpy.ones(4, dtype=numpy.float32)
    for at in (0.2, 0.8):
        keep[numpy.abs(numpy.linspace(0, 1, 4) - at).argmin()] = 0.5
    return x * torch.as_tensor(keep)

result = f(torch.ones(4))
"""
_ITEM_CAPTURED = """
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x, limit):
    if limit.item() > 0.5:
        return x.relu()
    return x + 1

result = [f(torch.ones(3), torch.tensor(limit)) for limit in (0.2, 0.9)]
"""
_DRAWN = """
import numpy

@torch.compile(backend="eager")
def f(x):
    count = numpy.random.randint(2, 3)
    return x.roll(int(count)) * 2

result = f(torch.arange(4.0))
"""
_DRAWN_BY_PYTHON = """
import random
random.seed(0)

@torch.compile(backend="eager")
def f(x):
    return x.roll(random.randint(2, 9)) * 2

result = [f(torch.arange(4.0)) for _ in range(3)]
"""
_NDINDEX = """
import numpy
grid = numpy.ndindex(2, 2)

@torch.compile(backend="eager", dynamic=True)
def f(x):
    for row, column in grid:
        x = x * 2 + row - column
    return x

result = f(torch.ones(3))
"""
_GENERATOR = """
@torch.compile(backend="eager")
def f(x, steps):
    for step in steps:
        x = x + step
    return x

result = f(torch.ones(3), (torch.ones(3) * count for count in range(3)))
"""
_INTERP = """
import numpy

@torch.compile(backend="eager")
def f(x):
    y = torch.from_numpy(numpy.interp((x + 1).numpy(), [0, 1, 2], [0, 10, 20]))
    return y * 2

result = f(torch.ones(3))
"""
_BETA = """
import numpy
numpy.random.seed(0)

@torch.compile(backend="eager")
def f(x, y):
    share = float(numpy.random.beta(0.5, 0.5))
    return x * share + y * (1 - share)

result = [f(torch.ones(3), torch.zeros(3)) for _ in range(3)]
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
_CLOCK = """
import time

@torch.compile(backend="eager")
def f(x):
    begin = time.perf_counter()
    y = (x + 1) * 2
    return y, time.perf_counter() - begin

result = f(torch.ones(3))[0]
"""
_FACTORIAL = """
import math

@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    y = x + 1
    return y / math.factorial(count)

result = [f(torch.ones(3), count) for count in (3, 4)]
"""
_ASSERT = """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    assert not torch.isnan(y).any(), "a logarithm of a negative number"
    return y * 2

result = f(torch.ones(3))
"""
_LOG = """
import logging
log = logging.getLogger("a program")

@torch.compile(backend="eager")
def f(x):
    log.info("a step")
    return x + 1

result = f(torch.ones(3))
"""
_LOG_ASKED = """
import logging
log = logging.getLogger("a program")

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    if log.isEnabledFor(logging.DEBUG):
        y = y * 2
    return y

result = f(torch.ones(3))
"""
_WARN = """
import warnings

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    warnings.warn("a step")
    return y * 2

result = f(torch.ones(3))
"""
_LOG_FUNCTION = """
import logging

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    logging.warning("a step")
    return y * 2

result = f(torch.ones(3))
"""
_DISABLED = """
@torch.compiler.disable
def helper(x):
    return x.tanh()

@torch.compile(backend="eager")
def f(x):
    return helper(x + 1) * 2

result = f(torch.ones(3))
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
_SCHEDULER = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

@torch.compile(backend="eager")
def step():
    optimizer.step()

for _ in range(3):
    weight.grad = torch.ones(3)
    step()
    scheduler.step()
result = weight.detach()
"""
_TRAINING = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))

@torch.compile(backend="eager")
def step(x):
    optimizer.zero_grad()
    (x * weight).sum().backward()
    optimizer.step()
    scheduler.step()

for _ in range(3):
    step(torch.ones(3))
result = weight.detach()
"""
_DDP = """
import tempfile
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

store = dist.FileStore(tempfile.mktemp(), 1)
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
torch.manual_seed(0)
model = torch.compile(DistributedDataParallel(torch.nn.Linear(3, 3)), backend="eager")
result = model(torch.ones(2, 3)).detach()
dist.destroy_process_group()
"""
FORMAT = """
@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    y = x + 1
    name = "step %d" % count
    return y * 2, name

result = [f(torch.ones(3), count)[0] for count in (2, 3)]
"""
FORMATTED_OUTSIDE = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    y = x + 1
    return y * 2

result = [(f(torch.ones(3)), f"step {count}")[0] for count in (2, 3)]
"""
_SORT = """
@torch.compile(backend="eager", dynamic=True)
def f(xs):
    xs.sort(key=lambda x: x.shape[0])
    return torch.cat(xs) * 2

result = [f([torch.arange(left), torch.arange(right)]) for left, right in ((3, 2), (4, 5))]
"""
_LOADER = """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2)

@torch.compile(backend="eager")
def epoch(weight):
    total = torch.zeros(())
    for (batch,) in loader:
        total = total + (batch * weight).sum()
    return total

result = epoch(torch.ones(2))
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
_FAKE = """
@torch.library.custom_op("advice::before", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@torch.compile(backend="eager")
def f(x):
    return twice(x.sin()) + 1

result = f(torch.ones(3))
"""
_BACKWARD = """
@torch.compile(backend="eager")
def f(x):
    (x * x).sum().backward()
    return x.grad * 2

result = f(torch.ones(3, requires_grad=True))
"""
_LEAK = """
@torch.compile(backend="eager")
def f(x):
    y = x.clone().requires_grad_()
    return y * 2

result = f(torch.ones(3)).detach()
"""
_BACKEND = """
def lowered(graph, inputs):
    raise RuntimeError("this backend cannot lower the graph")

@torch.compile(backend=lowered)
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NO_COMPILER = """
import torch._inductor.config

torch._inductor.config.cpp.cxx = ("no-such-compiler",)

@torch.compile
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NO_HEADERS = """
from torch._inductor.exc import CppCompileError

def lowered(graph, inputs):
    raise CppCompileError(["g++"], "x.cpp:1: fatal error: Python.h: No such file or directory")

@torch.compile(backend=lowered)
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NO_TRITON = """
def lowered(graph, inputs):
    raise RuntimeError("Cannot find a working triton installation.")

@torch.compile(backend=lowered)
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_EMPTY = """
torch._dynamo.config.capture_dynamic_output_shape_ops = True

@torch.compile(backend="eager")
def f(x):
    rows = torch.where(x > 0)[0]
    out = torch.zeros(3)
    if rows.numel() == 0:
        return out
    return out.index_add(0, rows, x[rows])

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""
_EMPTY_SPLIT = _EMPTY.replace("torch._dynamo.config.capture_dynamic_output_shape_ops = True\n", "")
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
_SIZES_CAPTURED = """
torch._dynamo.config.capture_dynamic_output_shape_ops = True
sizes = []

@torch.compile(backend="eager")
def f(x):
    rows = torch.where(x > 0)[0]
    out = torch.zeros(6)
    if rows.numel() == 0:
        return out
    sizes.append(1)
    return out.index_add(0, rows, x[rows] * 2)

result = [f(torch.arange(6.0) - 2)]
"""
_PARTS = """
sizes = []

@torch.compile(backend="eager", dynamic=True)
def part(x):
    return x * 2

def f(x):
    rows = torch.where(x > 0)[0]
    out = torch.zeros(6)
    if rows.numel() == 0:
        return out
    sizes.append(rows.numel())
    return out.index_add(0, rows, part(x[rows]))

result = [f(torch.arange(6.0) - count) for count in range(6)]
"""
_SKIPPED = """
@torch.compile(backend="eager")
def f(x):
    mask = x > 2
    if not mask.any():
        return x
    y = x.clone()
    y[mask] = 1.0
    return y

result = [f(torch.arange(3.0)), f(torch.arange(3.0) + 1)]
"""
_REPLACED = """
@torch.compile(backend="eager")
def f(x):
    rows = x[x > 0]
    if rows.numel() == 0:
        rows = torch.full((1,), 0.5)
    return (rows * 2).sum()

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""
_REPLACED_CAPTURED = "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n" + _REPLACED
_REPLACED_PARTS = """
@torch.compile(backend="eager", dynamic=True)
def part(rows):
    return (rows * 2).sum()

def f(x):
    rows = x[x > 0]
    if rows.numel() == 0:
        rows = torch.full((1,), 0.5)
    return part(rows)

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""
_REPLACED_MASK = """
@torch.compile(backend="eager")
def f(x):
    mask = x > 0
    return torch.where(mask.any(), (torch.where(mask, x, 0.0) * 2).sum(), 1.0)

result = [f(torch.ones(3)), f(-torch.ones(3))]
"""


def _replaced(at: bool) -> List[Help]:
    """What helps where an empty selection has something else in its place.

    Args:
        at: whether the line that decides is another one, which has a name.
    """
    before = _REPLACED if at else _REPLACED_CAPTURED
    return [
        helps(
            "Do not remove the decision%s: for an empty selection it does more than skip. Leave "
            "the code that selects elements uncompiled, with the decision, and compile the "
            "functions that compute with the selected elements, with dynamic=True."
            % (" at {at}" if at else ""),
            before,
            _REPLACED_PARTS,
        ),
        helps(
            "Keep the shape fixed: compute with a mask in place of the selected elements, and "
            "take torch.where(mask.any(), a, b), where b is the result for an empty selection.",
            before,
            _REPLACED_MASK,
        ),
    ]


_OF_PARTS = (
    "Leave the code that selects elements uncompiled, and compile the functions that compute "
    "with the selected elements, with dynamic=True. Do not remove the branch: for an empty "
    "selection it also skips code that changes a list, a dict or an attribute ({left})."
)
_EQUAL = """
@torch.compile(backend="eager")
def f(x, y):
    if torch.equal(x, y):
        return x * 2
    return x - y

result = [f(torch.ones(3), torch.ones(3)), f(torch.ones(3), torch.zeros(3))]
"""
_ENABLED = """
@torch.compile(backend="eager")
def f(x, step):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=step != 3):
        return x @ x

result = [f(torch.ones(2, 2), step) for step in range(3)]
"""
_ANY = """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    if any(row.sum() > 5 for row in y):
        return y - 1
    return y

result = [f(torch.ones(2, 3)), f(torch.ones(2, 3) * 0.5)]
"""
_CAUSAL = """
from torch.nn.functional import scaled_dot_product_attention

@torch.compile(backend="eager", dynamic=True)
def f(x):
    return scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1) * 2

result = [f(torch.ones(1, size, 4)) for size in (3, 4)]
"""
_MEMBER_OF = """
@torch.compile(backend="eager")
def f(x, stops):
    y = x + 1
    if x[0] in stops:
        return y * 0
    return y

result = [f(torch.tensor([first, 3]), torch.tensor([1, 5])) for first in (1, 2)]
"""
_ASSERTED = """
@torch.compile(backend="eager")
def f(x):
    top = x.max().item()
    assert top > 0, "nothing is positive"
    return x * top

result = f(torch.ones(3))
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
_NOTHING_ON_A_SIDE = """
import random

limit = [2.0]

@torch.compile(backend="eager")
def f(x):
    if random.random() < limit[0]:
        return 0
    return x * 2

result = [f(torch.ones(3))]
limit[0] = -1.0
result.append(f(torch.ones(3)))
"""
_NOTHING = """
@torch.compile(backend="eager")
def f(values, step):
    return [value + step for value in values]

counts = f([1, 2], 3)
result = f([torch.ones(3)], 3)
"""
_LOOP = """
@torch.compile(backend="eager")
def f(x):
    for i in range(3):
        x = x + 1
        print(i)
    return x

result = f(torch.ones(3))
"""

#: torch's reasons where a program asks for the number in a tensor
_MAKES_A_NUMBER = r"Tensor\.item|capture_scalar_outputs|Data dependent operator|^Tensor\.tolist"
#: what comes with torch's setting for operations whose result has a shape by a tensor's values
_ALL_SUCH = (
    "The setting applies to all such operations of the program. torch may raise an error where "
    "Python needs the result of one of them, for example for .tolist(), a range or a branch."
)


#: what is to be done before the setting that keeps `.item()` in the graph, where the run has code
#: of which it does not keep it
DECIDED_FIRST = (
    "First change {at}, where Python needs such a number: the setting applies to the whole "
    "program, and with it the graph breaks there, too. Then "
)
#: as above, where it has code at which torch raises an error with the setting
DRAWN_FIRST = (
    "First change {at}, where Python draws a random number: the setting applies to the whole "
    "program, and with it torch raises an error there. Then "
)


def _captured(program: str) -> Help:
    """Torch's setting that keeps an operation in the graph whose result has a shape that depends on
    values.
    """
    setting = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    text = setting + " keeps it in the graph. " + _ALL_SUCH
    return helps(text, program, setting + "\n" + program, setting)


# a row of its own: torch.where and torch.cond, which help a branch, do not repeat anything
WHILE = row(
    "while",
    "The number of iterations depends on a tensor's value, which is known only after the graph "
    "has run. So torch cannot keep the loop in a graph.",
    [
        helps(
            "torch._higher_order_ops.while_loop(condition, body, (x, …)) keeps the loop in the "
            "graph. Both functions take the tensors that change, and the body returns them as a "
            "tuple.",
            _WHILE,
            """
from torch._higher_order_ops import while_loop

@torch.compile(backend="eager")
def f(x):
    def condition(x):
        return (x * x - 2).abs().max() > 1e-4

    def body(x):
        return (x - (x * x - 2) / (2 * x),)

    (x,) = while_loop(condition, body, (x,))
    return x

result = f(torch.tensor([1.0, 3.0]))
""",
        ),
        helps(
            "Evaluate the condition once per several iterations only: a `for` loop with a fixed "
            "number of iterations stays in the graph as a whole.",
            _WHILE,
            """
@torch.compile(backend="eager")
def rounds(x):
    for _ in range(4):
        x = x - (x * x - 2) / (2 * x)
    return x, (x * x - 2).abs().max() > 1e-4

x, more = torch.tensor([1.0, 3.0]), True
while more:
    x, more = rounds(x)
result = x
""",
        ),
    ],
    ids=("GB0170",),
    reason=r"^(generic_jump|Data-dependent branching)",
    where=r"\n> while\b",
)

_PACKED = """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)
model = torch.nn.GRU(3, 4, batch_first=True)

@torch.compile(backend="eager")
def f(x, lengths):
    packed = pack_padded_sequence(x * 2, lengths, batch_first=True, enforce_sorted=False)
    y, _ = pad_packed_sequence(model(packed)[0], batch_first=True)
    return y.sin()

result = f(torch.ones(2, 3, 3), torch.tensor([2, 3])).detach()
"""
_UNPACKED = """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)
model = torch.nn.GRU(3, 4, batch_first=True)

@torch.compile(backend="eager")
def before(x):
    return x * 2

@torch.compile(backend="eager")
def after(y):
    return y.sin()

def f(x, lengths):
    packed = pack_padded_sequence(before(x), lengths, batch_first=True, enforce_sorted=False)
    y, _ = pad_packed_sequence(model(packed)[0], batch_first=True)
    return after(y)

result = f(torch.ones(2, 3, 3), torch.tensor([2, 3])).detach()
"""

ROWS = (
    WHILE,
    row(
        "packed sequence",
        "torch traces neither pack_padded_sequence nor an RNN, GRU or LSTM whose input is a "
        "packed sequence.",
        [
            helps(
                "Pack, call the RNN, GRU or LSTM, and unpack outside of the compiled function. "
                "Compile the code before and after them separately. allow_rnn does not help: "
                "with packed sequences the graph breaks at their lengths.",
                _PACKED,
                _UNPACKED,
            )
        ],
        ids=("GB0007", "GB0014", "GB0148"),
        reason=r"RNN, GRU, (or|and) LSTM|marked as skipped",
        where=r"\n\? packs sequences",
    ),
    row(
        "branch that replaces",
        "The branch depends on a number that a tensor's values determine, such as the number of "
        "elements that a mask keeps.",
        _replaced(False),
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=r"(?s)\n\? decided by a number.*\n\? does more than skip",
    ),
    row(
        "branch that skips",
        "The branch depends on a tensor's value, which is known only after the graph has run.",
        [
            helps(
                "Remove the branch if what it leaves out changes nothing where the mask keeps no "
                "element, as for `x[mask] = value`, torch.where(mask, a, b), and a sum over the "
                "mask. Otherwise, as for a mean, which is NaN for no element: "
                "torch.where(mask.any(), a, b).",
                _SKIPPED,
                _SKIPPED.replace("    if not mask.any():\n        return x\n", ""),
            ),
            helps(
                "torch.cond(condition, a_function, another, operands) if a side is expensive: it "
                "computes only one side.",
                _SKIPPED,
                """
@torch.compile(backend="eager")
def f(x):
    mask = x > 2

    def set_to_one(x):
        return torch.where(mask, 1.0, x)

    return torch.cond(mask.any(), set_to_one, lambda x: x.clone(), (x,))

result = [f(torch.arange(3.0)), f(torch.arange(3.0) + 1)]
""",
            ),
        ],
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=r"\n\? skips what a mask keeps",
    ),
    row(
        "branch that leaves out more",
        "The branch depends on a number that a tensor's values determine, such as the number of "
        "elements that a mask keeps.",
        [
            helps(
                _OF_PARTS,
                _SIZES_CAPTURED,
                _PARTS.replace("for count in range(6)", "for count in (2,)"),
            )
        ],
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=r"\n\? decided by a number\n\? leaves out [line \d,]+",
        names=r"\n\? leaves out (?P<left>[line \d,]+)",
    ),
    row(
        "branch on a number",
        "The branch depends on a number that a tensor's values determine, such as the number of "
        "elements that a mask keeps.",
        [
            helps(
                "If the branch only skips an empty tensor, remove it: most operations accept a "
                "tensor without elements (max, min and argmax do not).",
                _EMPTY,
                _EMPTY.replace("    if rows.numel() == 0:\n        return out\n", ""),
            ),
            helps(
                "Decide with a tensor, torch.where(condition, a, b): leave out the .item(), or "
                "use mask.sum() in place of the number of elements that a mask keeps.",
                _ITEM_CAPTURED,
                _ITEM_CAPTURED.replace(
                    "    if limit.item() > 0.5:\n        return x.relu()\n    return x + 1\n",
                    "    return torch.where(limit > 0.5, x.relu(), x + 1)\n",
                ),
            ),
        ],
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=r"\n\? decided by a number",
    ),
    row(
        "assert",
        "The assertion needs a tensor's value in a form that torch cannot keep in the graph.",
        [
            helps(
                "Assert a tensor: write ~ in place of not, & in place of and, | in place of or, "
                "as in `assert ~torch.isnan(x).any()`. torch keeps such an assertion in the "
                "graph. If it fails, it raises RuntimeError in place of AssertionError.",
                _ASSERT,
                _ASSERT.replace("not torch.isnan(y)", "~torch.isnan(y)"),
            ),
            helps(
                "Return the condition as well, and assert it outside of the compiled function.",
                _ASSERT,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    return y * 2, torch.isnan(y).any()

result, bad = f(torch.ones(3))
assert not bad, "a logarithm of a negative number"
""",
            ),
        ],
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=r"\n> assert\b",
    ),
    row(
        "any or all",
        "Python's any() and all() need the value of one tensor after another. These values are "
        "known only after the graph has run.",
        [
            helps(
                "Test all of them at once as a tensor, (y.sum(1) > 5).any(), or "
                "torch.stack(LIST).any() for a list of tensors, and decide with torch.where.",
                _ANY,
                """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return torch.where((y.sum(1) > 5).any(), y - 1, y)

result = [f(torch.ones(2, 3)), f(torch.ones(2, 3) * 0.5)]
""",
            ),
            helps(
                "If a side of the branch does more than compute a value, return the tensor of "
                "bools, and decide outside of the compiled function.",
                _ANY,
                """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y, (y.sum(1) > 5).any()

result = []
for x in (torch.ones(2, 3), torch.ones(2, 3) * 0.5):
    y, large = f(x)
    result.append(y - 1 if large else y)
""",
            ),
        ],
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
        where=r"polyfills[/\\](builtins|__init__)\.py:\d+\n> (if|elif) (not )?elem\b"
        r"|in <genexpr>, code:[^\n]*(?<![.\w])(any|all)\(",
    ),
    row(
        "branch",
        "The branch depends on a tensor's value, which is known only after the graph has run.",
        [
            helps(
                "torch.where(condition, a, b) if both sides are cheap, have one shape, and only "
                "compute. It computes both sides. Of two dtypes, the result has the one that "
                "holds both. A side that divides by 0 makes NaN gradients even where it is not "
                "chosen.",
                _BRANCH,
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return torch.where(y.sum() > 0, y * 2, y - 1)

result = [f(torch.ones(3)), f(-torch.ones(3) * 4)]
""",
                "torch.where(CONDITION, A, B)",
            ),
            helps(
                "torch.cond(condition, a_function, another, operands) if a side is expensive: it "
                "computes only one side.",
                _BRANCH,
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,))

result = [f(torch.ones(3)), f(-torch.ones(3) * 4)]
""",
            ),
            helps(
                OUTSIDE + " prints, leaves a loop or returns no tensor: return the condition as "
                "well, and test it outside of the compiled function.",
                _RAISES,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.log()
    return y, torch.isnan(y).any()

result, bad = f(torch.ones(3))
if bad:
    raise ValueError("a logarithm of a negative number")
""",
            ),
            helps(
                OF_LIST + " of tensors, use torch.where for each of them.",
                _BRANCH_LIST,
                """
@torch.compile(backend="eager")
def f(xs, limit):
    norm = sum(x.sum() for x in xs)
    return [torch.where(norm > limit, x * (limit / norm), x) for x in xs]

result = [f([torch.ones(3), torch.ones(2)], 1.0), f([torch.ones(3)], 9.0)]
""",
            ),
            helps(
                "If the condition does not need the tensor's value, decide on a shape or a "
                "Python value instead.",
                """
@torch.compile(backend="eager")
def f(x, mask):
    if mask.any():
        return x * mask
    return x

result = f(torch.ones(3), torch.tensor([1, 0, 1]))
""",
                """
@torch.compile(backend="eager")
def f(x, mask):
    if mask is not None:
        return x * mask
    return x

result = f(torch.ones(3), torch.tensor([1, 0, 1]))
""",
            ),
        ],
        ids=("GB0170",),
        reason=r"^(generic_jump|Data-dependent branching)",
    ),
    row(
        "tensors that are compared",
        "Python needs a bool from a comparison of two tensors, so it must wait for their values.",
        [
            helps(
                "Compare them as tensors, (x == y).all() or torch.isclose(x, y).all(), and "
                "decide with torch.where.",
                _EQUAL,
                """
@torch.compile(backend="eager")
def f(x, y):
    return torch.where((x == y).all(), x * 2, x - y)

result = [f(torch.ones(3), torch.ones(3)), f(torch.ones(3), torch.zeros(3))]
""",
            ),
            helps(
                "Compare them outside of the compiled function.",
                _EQUAL,
                """
@torch.compile(backend="eager")
def f(x, y, same):
    return x * 2 if same else x - y

pairs = [(torch.ones(3), torch.ones(3)), (torch.ones(3), torch.zeros(3))]
result = [f(x, y, torch.equal(x, y)) for x, y in pairs]
""",
            ),
        ],
        ids=("GB0033",),
        reason=r"Data dependent operator",
        where=r"\baten\.(equal|allclose)\.",
    ),
    row(
        "number drawn by Python",
        "{at} draws a random number with Python's random inside of the compiled function. torch "
        "makes a tensor of it, and cannot use that where the number is needed. torch's "
        "capture_scalar_outputs does not help: with it, torch raises an error.",
        [
            helps(
                "Draw the number before the call, and pass it as an argument, with "
                "torch.compile(..., dynamic=True): without it, a second number compiles again.",
                _DRAWN_BY_PYTHON,
                """
import random
random.seed(0)

@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    return x.roll(count) * 2

result = [f(torch.arange(4.0), random.randint(2, 9)) for _ in range(3)]
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER + r"|^unimplemented builtin op on tensor arguments",
        where=r"\n\? line \d+ draws it",
        names=r"\n\? (?P<at>line \d+) draws it",
    ),
    row(
        "item that orders",
        "A tensor's value is converted to a Python number, and {at} orders by that number, so "
        "Python must wait for the graph. torch's capture_scalar_outputs does not help: with it, "
        "torch stops tracing at that line.",
        [
            helps(
                "Order with a tensor: torch.stack(keys).argsort() gives the order, and "
                "torch.stack(elements)[order] the ordered elements, if all have one shape.",
                _ITEM_ORDERS,
                """
@torch.compile(backend="eager")
def f(xs):
    stacked = torch.stack(xs)
    return stacked[stacked.sum(1).argsort()]

result = f([torch.full((2,), value) for value in (3.0, 1.0, 2.0)])
""",
            ),
            helps(
                "If they have different shapes, order them before the call of the compiled "
                "function.",
                _ITEM_ORDERS,
                """
@torch.compile(backend="eager")
def f(xs):
    return torch.stack(xs)

xs = [torch.full((2,), value) for value in (3.0, 1.0, 2.0)]
result = f(sorted(xs, key=lambda x: float(x.sum())))
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ orders by it",
        names=r"\n\? (?P<at>line \d+) orders by it",
    ),
    row(
        "item that decides",
        "A tensor's value is converted to a Python number, and {at} needs that number, so Python "
        "must wait for the graph. torch's capture_scalar_outputs does not help: with it, torch "
        "stops tracing at that line.",
        [
            helps(
                "Decide with a tensor: torch.where(condition, a, b), or torch.cond.",
                _ITEM_DECIDES,
                """
@torch.compile(backend="eager")
def f(x):
    return torch.where(x.sum() > 5, x * 2, x + 1)

result = [f(torch.ones(3)), f(torch.ones(3) * 4)]
""",
            ),
            helps(
                "If the result of the decision is not a tensor, return the tensor, and call "
                ".item() and decide outside of the compiled function.",
                _ITEM_DECIDES,
                """
@torch.compile(backend="eager")
def first(x):
    return x.sum()

@torch.compile(backend="eager")
def large(x):
    return x * 2

@torch.compile(backend="eager")
def small(x):
    return x + 1

def f(x):
    return large(x) if first(x).item() > 5 else small(x)

result = [f(torch.ones(3)), f(torch.ones(3) * 4)]
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ needs it",
        names=r"\n\? (?P<at>line \d+) needs it",
    ),
    row(
        "drawn number",
        "numpy draws a random number inside of the compiled function. torch makes a tensor of "
        "it, and Python must wait for its value.",
        [
            helps(
                "Draw the number before the call, and pass it as an argument.",
                _DRAWN,
                """
import numpy

@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    return x.roll(count) * 2

result = f(torch.arange(4.0), int(numpy.random.randint(2, 3)))
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n> .*\b(np|numpy)\.random\.",
    ),
    row(
        "index into numpy's array",
        "{at} stores into an element of numpy's array whose index numpy computes. torch makes "
        "tensors of both, so Python must wait for the index. torch's capture_scalar_outputs does "
        "not help: with it, torch stops tracing at that line.",
        [
            helps(
                "If the array does not depend on a tensor, make it before the call, and pass it "
                "as a tensor.",
                _NUMPY_INDEX,
                """
import numpy

def kept():
    keep = numpy.ones(4, dtype=numpy.float32)
    for at in (0.2, 0.8):
        keep[numpy.abs(numpy.linspace(0, 1, 4) - at).argmin()] = 0.5
    return torch.as_tensor(keep)

@torch.compile(backend="eager")
def f(x, keep):
    return x * keep

result = f(torch.ones(4), kept())
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ stores by it",
        names=r"\n\? (?P<at>line \d+) stores by it",
    ),
    row(
        "item that is printed",
        "A tensor's value is converted to a Python number, which {at} prints. torch's "
        "capture_scalar_outputs does not help: torch cannot print such a number later.",
        [
            helps(
                "Print outside of the compiled function, or after it.",
                _PRINT_ITEM,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    return y + 1, y.mean()

result = []
for x in (torch.ones(3), torch.zeros(3)):
    y, mean = f(x)
    print("the mean is", mean.item())
    result.append(y)
""",
            ),
            helps(
                "Print the tensor in place of its .item(): "
                "torch._dynamo.config.reorderable_logging_functions.add(print) lets torch print a "
                "tensor at the end of the graph.",
                _PRINT_ITEM,
                "torch._dynamo.config.reorderable_logging_functions.add(print)\n"
                + _PRINT_ITEM.replace(".item()", ""),
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ prints it",
        names=r"\n\? (?P<at>line \d+) prints it",
    ),
    row(
        "item as an index",
        "A tensor's value is converted to a Python number, which {at} uses as one of several "
        "indices. torch's capture_scalar_outputs does not help: with it, torch compiles for each "
        "value.",
        [
            helps(
                "Index with the tensor in place of the number, as in x[:, at].",
                _INDEX,
                _INDEX.replace("int(at)", "at"),
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ indexes with it",
        names=r"\n\? (?P<at>line \d+) indexes with it",
    ),
    row(
        "tensor as an index",
        "A tensor that the graph computes is the index of one element, for which torch converts "
        "it to a Python number. torch's capture_scalar_outputs does not help: with it, the graph "
        "breaks here, too.",
        [
            helps(
                "Index with a tensor of one dimension, which picks elements in the graph, and "
                "take the one: x[j, at.unsqueeze(0)][0] in place of x[j, at].",
                _PICKED,
                _PICKED.replace("x[1, at]", "x[1, at.unsqueeze(0)][0]"),
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ picks with it",
    ),
    row(
        "item that is asserted",
        "A tensor's value is converted to a Python number, and {at} asserts something about it, "
        "so Python must wait for the value.",
        [
            helps(
                "Keep the value a tensor, in the assertion as well. The assertion is then in the "
                "graph, and raises RuntimeError in place of AssertionError. If the program needs "
                "the AssertionError, assert outside of the compiled function.",
                _ASSERTED,
                _ASSERTED.replace(".item()", ""),
            ),
            helps(
                "torch._dynamo.config.capture_scalar_outputs = True keeps .item() in the graph, "
                "and the assertion with it. A failed assertion then raises RuntimeError, without "
                "the message of the program.",
                _ASSERTED,
                "torch._dynamo.config.capture_scalar_outputs = True\n" + _ASSERTED,
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ asserts it",
        names=r"\n\? (?P<at>line \d+) asserts it",
    ),
    row(
        "item in a list",
        "A tensor's value is converted to a Python number, which {at} adds to a list, so Python "
        "must wait for the value. torch's capture_scalar_outputs does not help: the list is "
        "guarded by its length, as is a list of tensors.",
        [
            helps(
                "Return the tensor. Convert it to a number and append that outside of the "
                "compiled function.",
                _APPENDED,
                """
seen = []

@torch.compile(backend="eager")
def f(x):
    return x * 2, x.sum()

result = []
for _ in range(3):
    y, total = f(torch.ones(3))
    seen.append(float(total))
    result.append(y)
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
        where=r"\n\? line \d+ appends it",
        names=r"\n\? (?P<at>line \d+) appends it",
    ),
    row(
        "list of floats",
        "A tensor of floats or bools is converted to a list of Python values, so Python must "
        "wait for it. torch's capture_scalar_outputs does not help: here it works for integers "
        "only.",
        [
            helps(
                "Keep the tensor, and take its elements by index.",
                _TOLIST,
                _TOLIST.replace(".tolist()", ""),
            ),
        ],
        ids=("GB0109",),
        reason=r"^Tensor\.tolist\(\) with non-integer",
    ),
    row(
        "member of a tensor",
        "`in` tests in Python whether a tensor holds a value, so Python must wait for the "
        "tensor. torch's capture_scalar_outputs does not help: with it, torch stops tracing "
        "where the result decides.",
        [
            helps(
                "Test with a tensor, (stops == x[0]).any() or torch.isin(x, stops), and decide "
                "with torch.where.",
                _MEMBER_OF,
                """
@torch.compile(backend="eager")
def f(x, stops):
    y = x + 1
    return torch.where((stops == x[0]).any(), y * 0, y)

result = [f(torch.tensor([first, 3]), torch.tensor([1, 5])) for first in (1, 2)]
""",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=r"Tensor\.item|capture_scalar_outputs|Data dependent operator",
        where=r"\n> (?!.*(\.item\(|\bint\(|\bfloat\(|\bbool\(|\bfor\b)).*\bin\b",
    ),
    row(
        "item",
        "A tensor's value is converted to a Python number, so Python must wait for the value.",
        [
            helps(
                "Keep the value a tensor: most operators accept a zero-dimensional tensor in "
                "place of a number.",
                _ITEM,
                """
@torch.compile(backend="eager")
def f(x):
    scale = x.sum()
    return x * scale

result = f(torch.ones(3))
""",
            ),
            helps(
                "torch._dynamo.config.capture_scalar_outputs = True keeps .item() in the graph, "
                "unless Python needs the number for a branch, a range or an element of a list.",
                _ITEM,
                "torch._dynamo.config.capture_scalar_outputs = True\n" + _ITEM,
                "torch._dynamo.config.capture_scalar_outputs = True",
            ),
        ],
        ids=("GB0124", "GB0033"),
        reason=_MAKES_A_NUMBER,
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"aten\.bincount\b[\s\S]*\n\? has weights",
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"aten\.bincount\b",
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"aten\.repeat_interleave\b",
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"(?s)aten\._?unique.*\n\? line \d+ asks for its size",
        names=r"\n\? (?P<at>line \d+) asks for its size",
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"aten\._?unique",
    ),
    row(
        "dynamic shape that is replaced",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        _replaced(True),
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"(?s)\n\? line \d+ asks for its size.*\n\? does more than skip",
        names=r"\n\? (?P<at>line \d+) asks for its size",
    ),
    row(
        "dynamic shape that leaves out more",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        [helps(_OF_PARTS, _SIZES, _PARTS)],
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"\n\? line \d+ asks for its size\n\? leaves out [line \d,]+",
        names=r"(?s)\n\? (?P<at>line \d+) asks for its size\n\? leaves out (?P<left>[line \d,]+)",
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"(?s)\n\? line \d+ asks for its size\n\? [line \d,]+ counts",
        names=r"(?s)\n\? (?P<at>line \d+) asks for its size\n\? (?P<counted>[line \d,]+) counts",
    ),
    row(
        "dynamic shape that decides",
        "The shape of the result depends on a tensor's values, and {at} decides on that shape.",
        [
            helps(
                "If the decision only skips an empty tensor, remove it: most operations accept a "
                "tensor without elements (max, min and argmax do not, and a mean of it is NaN). "
                "torch._dynamo.config.capture_dynamic_output_shape_ops = True then keeps the "
                "operation in the graph. " + _ALL_SUCH,
                _EMPTY_SPLIT,
                _EMPTY.replace("    if rows.numel() == 0:\n        return out\n", ""),
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
        where=r"\n\? line \d+ asks for its size",
        names=r"\n\? (?P<at>line \d+) asks for its size",
    ),
    row(
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
        ids=("GB0036",),
        reason=r"^Dynamic shape operator$|^dynamic shape operator",
    ),
    row(
        "optimizer's break",
        "torch's optimizer breaks the graph here on purpose, so that torch compiles its step "
        "separately. The break costs one more analysis of the code before it at each compile, "
        "and nothing at calls. It needs no action.",
        [],
        ids=("GB0025",),
        reason=r"graph_break\(\)",
        where=r"torch[/\\]optim[/\\]optimizer\.py",
    ),
    row(
        "graph_break",
        "The program breaks the graph here: it calls torch._dynamo.graph_break().",
        [
            helps(
                "Remove that call.",
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 3

result = f(torch.ones(3))
""",
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 3

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0025",),
        reason=r"graph_break\(\)",
    ),
    row(
        "lr_scheduler",
        "A scheduler of torch.optim.lr_scheduler wraps `{name}`, and torch does not trace that "
        "wrapper.",
        [
            helps(
                "Before the scheduler is made, replace the optimizer's step by a compiled one, "
                "optimizer.step = types.MethodType(torch.compile(type(optimizer).step), "
                "optimizer), and call optimizer.step() outside of compiled functions. The "
                "scheduler, which counts the calls of the step, then gives no warning.",
                _SCHEDULER,
                """
import types
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1))
compiled = torch.compile(type(optimizer).step, backend="eager")
optimizer.step = types.MethodType(compiled, optimizer)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

for _ in range(3):
    weight.grad = torch.ones(3)
    optimizer.step()
    scheduler.step()
result = weight.detach()
""",
            ),
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `[^`]*` in file `[^`]*lr_scheduler\.py`",
        names=r"function `(?P<name>[^`]+)` in file",
    ),
    row(
        "DDP",
        "torch does not trace the bookkeeping of DistributedDataParallel. It compiles the "
        "wrapped module separately.",
        [
            helps(
                "Compile the module before it is wrapped, "
                "DistributedDataParallel(torch.compile(model)), if torch need not split the "
                "graph at the buckets of gradients.",
                _DDP,
                _DDP.replace(
                    "torch.compile(DistributedDataParallel(torch.nn.Linear(3, 3)), "
                    'backend="eager")',
                    "DistributedDataParallel(torch.compile(torch.nn.Linear(3, 3), "
                    'backend="eager"))',
                ),
            )
        ],
        ids=("GB0007", "GB0008", "GB0156"),
        reason=r"marked as skipped|Unsupported method call",
        where=r"nn[/\\]parallel[/\\]distributed\.py|DistributedDataParallel\._inside_ddp_forward",
    ),
    row(
        "training step",
        "torch does not trace `{called}` by design: the call belongs outside of the compiled "
        "function.",
        [
            helps(
                "Compile the function that computes the loss. Compile the optimizer's step "
                "separately: before a scheduler is made, optimizer.step = "
                "types.MethodType(torch.compile(type(optimizer).step), optimizer). Leave "
                ".backward(), zero_grad(), GradScaler and schedulers outside.",
                _TRAINING,
                """
import types
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
compiled = torch.compile(type(optimizer).step, backend="eager")
optimizer.step = types.MethodType(compiled, optimizer)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))

@torch.compile(backend="eager")
def loss_of(x):
    return (x * weight).sum()

for _ in range(3):
    optimizer.zero_grad()
    loss_of(torch.ones(3)).backward()
    optimizer.step()
    scheduler.step()
result = weight.detach()
""",
            ),
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `(\w*Optimizer\.zero_grad|GradScaler\.\w+|\w*(Scheduler|LR)\w*\.step)`",
        names=r"function `(?P<name>[\w.]+)`",
    ),
    row(
        "data loader",
        "`{name}` runs Python code that loads data, which torch does not trace.",
        [
            helps(
                "Loop over the data outside of the compiled function, and compile the function "
                "that takes one batch.",
                _LOADER,
                """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2)

@torch.compile(backend="eager")
def step(total, batch, weight):
    return total + (batch * weight).sum()

result = torch.zeros(())
for (batch,) in loader:
    result = step(result, batch, torch.ones(2))
""",
            )
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `(\w*DataLoader\w*)\.",
        names=r"function `(?P<name>[^`]+)`",
    ),
    row(
        "next",
        "The program calls next() on a `{name}`, and torch cannot trace how that makes its next "
        "value.",
        [
            helps(
                "Call next() before the compiled function, and pass its result.",
                _NEXT,
                _NEXT.replace("f(x)", "f(x, batch)")
                .replace("next(batches)", "batch")
                .replace("f(torch.ones(3))", "f(torch.ones(3), next(batches))"),
            ),
        ],
        ids=("GB4347", "GB9493"),
        reason=r"missing tp_iternext",
        where=r"\n> .*\bnext\(",
        names=r"next\(\) on (?P<name>\w+)|'(?P<name1>\w+)' implements '__next__'",
    ),
    row(
        "parameter",
        "The compiled function makes a torch.nn.Parameter.",
        [
            helps(
                "Make it outside of the compiled function, and pass it.",
                _PARAMETER,
                """
@torch.compile(backend="eager")
def f(weight):
    return weight + 1

result = f(torch.nn.Parameter(torch.ones(3) * 2)).detach()
""",
            ),
            helps(
                "torch._dynamo.config.graph_break_on_nn_param_ctor = False keeps it in the graph.",
                _PARAMETER,
                "torch._dynamo.config.graph_break_on_nn_param_ctor = False\n" + _PARAMETER,
                "torch._dynamo.config.graph_break_on_nn_param_ctor = False",
            ),
        ],
        ids=("GB0264",),
        reason=r"`torch\.nn\.Parameter\(\)` constructor with Dynamo",
    ),
    row(
        "iterator that is not traced",
        "The loop iterates over a `{name}`, whose code torch does not trace.",
        [
            helps(
                "Loop over it outside of the compiled function, and compile the loop's body as a "
                "separate function.",
                _NDINDEX,
                """
import numpy
grid = numpy.ndindex(2, 2)

@torch.compile(backend="eager", dynamic=True)
def body(x, row, column):
    return x * 2 + row - column

result = torch.ones(3)
for row, column in grid:
    result = body(result, row, column)
""",
            )
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `[^`]*\.__(iter|next)__`",
        names=r"function `(?P<name>[\w.]+)\.__(?:iter|next)__`",
    ),
    row(
        "iterator",
        "The loop iterates over a `{name}`, and torch cannot trace how that makes its values.",
        [
            helps(
                "Pass list(...) of it: torch accepts a list in place of a generator, a file or "
                "another iterator.",
                _GENERATOR,
                _GENERATOR.replace("(torch.ones(3) *", "[torch.ones(3) *").replace(
                    "range(3)))", "range(3)])"
                ),
            ),
            helps(
                "Loop over it outside of the compiled function, and compile the loop's body as a "
                "separate function.",
                _GENERATOR,
                """
@torch.compile(backend="eager")
def body(x, step):
    return x + step

result = torch.ones(3)
for step in (torch.ones(3) * count for count in range(3)):
    result = body(result, step)
""",
            ),
        ],
        ids=("GB0116", "GB0811"),
        reason=r"missing tp_iter",
        where=r"missing tp_iter|how to wrap <class '\w*_?iterator'>",
        names=r"UserDefinedObjectVariable\((?P<name>\w+)\)|wrap <class '(?P<name1>\w+)'>",
    ),
    # a method may give another result at each call: a custom operator must not hold it
    row(
        "method of numpy",
        "torch has no equivalent of `{called}`, so the graph cannot contain the call.",
        [
            helps(
                "Call `{called}` before the compiled function, and pass its result, a number as "
                "a tensor: torch.tensor(...). Do not make it a custom operator if it draws "
                "random numbers or depends on more than its arguments: torch may merge equal "
                "calls.",
                _BETA,
                """
import numpy
numpy.random.seed(0)

@torch.compile(backend="eager")
def f(x, y, share):
    return x * share + y * (1 - share)

result = []
for _ in range(3):
    share = torch.tensor(float(numpy.random.beta(0.5, 0.5)))
    result.append(f(torch.ones(3), torch.zeros(3), share))
""",
            )
        ],
        ids=("GB0294",),
        reason=r"numpy function unsupported",
        where=r"numpy function:? <(bound|built-in) method|\n> .*\b(np|numpy)\.random\.",
    ),
    row(
        "numpy function",
        "torch has no equivalent of `{called}`, so the graph cannot contain the call.",
        [
            helps(
                "If the result depends only on the arguments (no random numbers, no file), wrap "
                "the call in a custom operator: torch.library.custom_op, with register_fake for "
                "the shape of its result. The graph can contain that operator. Otherwise do not, "
                "because torch may merge equal calls.",
                _INTERP,
                """
import numpy

@torch.library.custom_op("advice::interpolated", mutates_args=())
def interpolated(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(numpy.interp(x.numpy(), [0, 1, 2], [0, 10, 20]))

@interpolated.register_fake
def _(x):
    return torch.empty_like(x, dtype=torch.float64)

@torch.compile(backend="eager")
def f(x):
    return interpolated(x + 1) * 2

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0294",),
        reason=r"numpy function unsupported",
        names=r"<(?:function|ufunc|class|built-in function) '?(?P<name>[\w.]+)",
    ),
    row(
        "function of a number",
        "The graph cannot contain `{called}` of a number that changes from call to call.",
        [
            helps(
                "Call `{called}` before the compiled function, and pass its result.",
                _FACTORIAL,
                """
import math

@torch.compile(backend="eager", dynamic=True)
def f(x, product):
    y = x + 1
    return y / product

result = [f(torch.ones(3), math.factorial(count)) for count in (3, 4)]
""",
            )
        ],
        ids=("GB0208",),
        reason=r"op returned non-Tensor",
        where=r"\n> .*\bmath\.\w+\(",
        names=r"\n> .*?\b(?P<name>math\.\w+)\(",
    ),
    row(
        "sort",
        "Python sorts by a key that is a tensor, or a size that changes from call to call.",
        [
            helps(
                "Sort outside of the compiled function, and pass the sorted list.",
                _SORT,
                _SORT.replace("    xs.sort(key=lambda x: x.shape[0])\n", "").replace(
                    "f([torch.arange(left), torch.arange(right)])",
                    "f(sorted([torch.arange(left), torch.arange(right)], key=len))",
                ),
            )
        ],
        ids=("GB0207",),
        reason=r"^sort with non-constant keys",
    ),
    row(
        "text of a number",
        "The program makes a string of a number that changes from call to call, and the graph "
        "cannot contain that.",
        [
            helps(
                "Make the string outside of the compiled function, before or after the call.",
                FORMAT,
                FORMATTED_OUTSIDE,
            )
        ],
        ids=("GB0021", "GB0059", "GB0088", "GB6053"),
        reason=r"^BUILD_STRING type error|^Observed exception$",
        where=r"^BUILD_STRING"
        r"|^(?!Failed to trace builtin)(?s:.*)\n> .*([\"']\s*%\s*[\w(]|[\"']\.format\()"
        r"|builtin operator `(str|repr|format)` with argument types \['(int|float)'\]"
        r"|SymNodeVariable has tp_repr\b",
    ),
    row(
        "seed",
        "`{name}` changes the state of torch's random number generator, which torch does not "
        "trace.",
        [
            helps(
                "Call `{name}` before the compiled function.",
                """
@torch.compile(backend="eager")
def f(x):
    torch.manual_seed(0)
    return x + 1

result = f(torch.ones(3))
""",
                """
@torch.compile(backend="eager")
def f(x):
    return x + 1

torch.manual_seed(0)
result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0007", "GB0008", "GB7650"),
        reason=r"marked as skipped|torch\.Generator method",
        where=r"function `(manual_seed|seed)`|torch\.Generator\.\w+\(\)",
        names=r"function `(?P<name1>manual_seed|seed)`|(?P<name2>torch\.Generator\.\w+)\(\)",
    ),
    row(
        "disabled",
        "torch.compiler.disable excludes `{name}` from compilation.",
        [
            helps(
                "Remove torch.compiler.disable from `{name}`, if the reason for it no longer "
                "exists.",
                _DISABLED,
                _DISABLED.replace("@torch.compiler.disable\n", ""),
            ),
            helps(
                "Move the call out of the compiled function.",
                _DISABLED,
                """
@torch.compiler.disable
def helper(x):
    return x.tanh()

@torch.compile(backend="eager")
def first(x):
    return x + 1

@torch.compile(backend="eager")
def second(x):
    return x * 2

result = second(helper(first(torch.ones(3))))
""",
            ),
        ],
        ids=("GB0098", "GB0099"),
        reason=r"torch\.compiler\.disable",
        names=r"function `?<(?:function|bound method) (?P<name>[\w.<>]+)",
    ),
    row(
        "log that is asked",
        "`{called}` tests in the middle of the graph whether a logger is enabled.",
        [
            helps(
                "Test before the compiled function is called, and pass the result: it is a "
                "constant of the graph.",
                _LOG_ASKED,
                _LOG_ASKED.replace("def f(x)", "def f(x, asked)")
                .replace("if log.isEnabledFor(logging.DEBUG)", "if asked")
                .replace("f(torch.ones(3))", "f(torch.ones(3), log.isEnabledFor(logging.DEBUG))"),
            ),
            helps(
                "torch._dynamo.config.{setting}.add(logging.Logger.{method}) leaves `{method}` "
                "of all loggers out of compiled code: it returns None there, as if the logger "
                "were disabled.",
                _LOG_ASKED,
                "import logging\n"
                "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.isEnabledFor)\n"
                + _LOG_ASKED,
                "torch._dynamo.config.{setting}.add(logging.Logger.{method})",
            ),
        ],
        ids=("GB0291",),
        reason=r"logging\.Logger|logger",
        where=r"\n> .*\.(isEnabledFor|getEffectiveLevel)\(",
        names=r"torch\._dynamo\.config\.(?P<setting>ignore_\w+)",
    ),
    row(
        "log",
        "`{called}` logs a message in the middle of the graph.",
        [
            helps(
                "Log outside of the compiled function, or after it.",
                _LOG,
                """
import logging
log = logging.getLogger("a program")

@torch.compile(backend="eager")
def f(x):
    return x + 1

result = f(torch.ones(3))
log.info("a step")
""",
            ),
            helps(
                "torch._dynamo.config.{setting}.add(logging.Logger.{method}) leaves "
                "`{method}` of all loggers out of compiled code: its messages are lost there.",
                _LOG,
                "import logging\n"
                "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.info)\n" + _LOG,
                "torch._dynamo.config.{setting}.add(logging.Logger.{method})",
            ),
        ],
        ids=("GB0291",),
        reason=r"logging\.Logger|logger",
        names=r"torch\._dynamo\.config\.(?P<setting>ignore_\w+)",
    ),
    row(
        "log function",
        "`{called}` logs a message in the middle of the graph.",
        [
            helps(
                "Log outside of the compiled function, or after it.",
                _LOG_FUNCTION,
                """
import logging

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

result = f(torch.ones(3))
logging.warning("a step")
""",
            ),
            helps(
                "torch._dynamo.config.reorderable_logging_functions.add({called}) lets torch log "
                "at the end of the graph. It cannot log a number that changes from call to call.",
                _LOG_FUNCTION,
                "import logging\n"
                "torch._dynamo.config.reorderable_logging_functions.add(logging.warning)\n"
                + _LOG_FUNCTION,
                "torch._dynamo.config.reorderable_logging_functions.add({called})",
            ),
        ],
        reason=r".",
        where=r"[/\\]lib[/\\]python[\d.]+[/\\]logging[/\\]__init__\.py",
    ),
    row(
        "warning",
        "`{called}` warns in the middle of the graph.",
        [
            helps(
                "Warn outside of the compiled function, or after it.",
                _WARN,
                """
import warnings

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

result = f(torch.ones(3))
warnings.warn("a step")
""",
            ),
            helps(
                "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn) lets "
                "torch warn at the end of the graph. The message cannot contain a number that "
                "changes from call to call.",
                _WARN,
                "import warnings\n"
                "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)\n" + _WARN,
                "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)",
            ),
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"`_?warnings\.warn`|function `warn` in file `[^`]*warnings\.py`",
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
        ids=("GB0007", "GB0008", "GB0009", "GB0059", "GB0177", "GB9193"),
        reason=r"marked as skipped|skip calling|SkipFilesVariable|skipped|builtin",
        where=r"`time\.(time|perf_counter|monotonic|process_time|thread_time)(_ns)?(\.|\(\))?`",
        names=r"`(?P<name>time\.\w+)(\.|\(\))?`",
    ),
    row(
        "drawn by Python",
        "torch does not trace `{name}`, which draws a random number.",
        [
            helps(
                "Call `{name}` outside of the compiled function, and pass its result. Pass a "
                "number as a tensor: a Python number is a constant at first, so a second number "
                "compiles again. If a branch decides on it, decide outside, and pass True or "
                "False.",
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
        ids=("GB0007", "GB0008", "GB0009", "GB0177"),
        reason=r"marked as skipped|skip calling|SkipFilesVariable|skipped",
        where=r"`(<unknown module>\.Random|random)\.(?!seed\b)\w+\.?`",
        names=r"(?:function|builtin|extension|operator) `(?P<name>[^`]+)`",
    ),
    row(
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
        ids=("GB0007", "GB0008", "GB0009", "GB0177"),
        reason=r"marked as skipped|skip calling|SkipFilesVariable|skipped",
        names=r"(?:function|builtin|extension|operator) `(?P<name>[^`]+)`",
    ),
    row(
        "print of other values",
        "In the middle of the graph, the program prints more than tensors, strings and constants.",
        [
            helps(
                "Print outside of the compiled function, or after it.",
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
                "that at the end of the graph. It cannot print a number that changes from call "
                "to call.",
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
                "Print outside of the compiled function, or after it.",
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
                "tensors and constants at the end of the graph. A number that changes from call "
                "to call still breaks the graph. Inside of a torch.autograd.Function the message "
                "is lost.",
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
        "no fake kernel",
        "The operator `{name}` has no kernel for fake tensors, so torch cannot determine the "
        "shape of its result.",
        [
            helps(
                "Register one: `@{name}.register_fake` on a function that returns an empty "
                "tensor of the result's shape.",
                _FAKE,
                _FAKE.replace("advice::before", "advice::after").replace(
                    "\n@torch.compile",
                    "\n@twice.register_fake\ndef _(x):\n    return "
                    "torch.empty_like(x)\n\n@torch.compile",
                ),
            )
        ],
        ids=("GB4315", "GB0112", "GB0090", "GB0064", "GB0087"),
        reason=r"fake tensor|fake impl",
        where=r"no fake impl registered|register_fake",
        names=r"`(?P<name>[\w.]+)\.register_fake`",
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
    row(
        "limit",
        "The function reached torch's recompile limit: calls that fit none of its compiles run "
        "uncompiled.",
        [
            helps(
                "Remove the cause of the recompiles (`depyf run --recompiles` lists it): a "
                "higher limit only delays this.",
                """
torch._dynamo.config.recompile_limit = 2

@torch.compile(backend="eager")
def f(x, name):
    return x + len(name)

result = [f(torch.ones(3), "n" * size) for size in range(2, 6)]
""",
                """
torch._dynamo.config.recompile_limit = 2

@torch.compile(backend="eager", dynamic=True)
def f(x, length):
    return x + length

result = [f(torch.ones(3), len("n" * size)) for size in range(2, 6)]
""",
            )
        ],
        ids=("GB0039",),
        reason=r"recompile[_ ]limit|cache_size_limit",
    ),
    row(
        "nothing to compile",
        "The call that torch traced has no operation on tensors to compile. torch runs the "
        "function as plain Python from then on, also for calls with tensors.",
        [
            helps(
                "If later calls compute with tensors, let such a call be the first one, and call "
                "the function without torch.compile for calls without tensors.",
                _NOTHING,
                """
def plain(values, step):
    return [value + step for value in values]

f = torch.compile(plain, backend="eager")
counts = plain([1, 2], 3)
result = f([torch.ones(3)], 3)
""",
            )
        ],
        reason=r"^nothing to compile$",
    ),
    row(
        "nothing to compile on a side",
        "The first call took a side of this branch that has nothing to compile. torch runs the "
        "rest of the function as plain Python from then on: {other} is never compiled.",
        [
            helps(
                "Decide before the call, and compile what {other} computes as a separate "
                "function; or let the first call take that side.",
                _NOTHING_ON_A_SIDE,
                """
import random

@torch.compile(backend="eager")
def f(x):
    return x * 2

result = [0 if random.random() < limit else f(torch.ones(3)) for limit in (2.0, -1.0)]
""",
            )
        ],
        reason=r"^nothing to compile, and line \d+ is never compiled$",
        names=r"nothing to compile, and (?P<other>line \d+) is never compiled",
    ),
    row(
        "no compiler",
        "Inductor needs a C++ compiler for its kernels (Triton needs one for C), and found none.",
        [
            helps(
                "Install g++ or clang++ (set CXX and CC if they are not in PATH), or run without "
                'Inductor: torch.compile(..., backend="aot_eager"), or depyf run --backend '
                "aot_eager.",
                _NO_COMPILER,
                _NO_COMPILER.replace("@torch.compile", '@torch.compile(backend="aot_eager")'),
                'torch.compile(..., backend="aot_eager")',
            )
        ],
        reason=r"InvalidCxxCompiler|Failed to find C compiler",
    ),
    row(
        "no Python.h",
        "Inductor needs Python's header files to compile its kernels, and they are not installed.",
        [
            helps(
                "Install them (Debian and Ubuntu: python3-dev; Fedora: python3-devel), or run "
                'without Inductor: torch.compile(..., backend="aot_eager"), or depyf run '
                "--backend aot_eager.",
                _NO_HEADERS,
                _NO_HEADERS.replace("backend=lowered", 'backend="aot_eager"'),
                'torch.compile(..., backend="aot_eager")',
            )
        ],
        reason=r"fatal error: '?Python\.h",
    ),
    row(
        "no Triton",
        "Inductor makes its kernels for GPUs with Triton, and found no Triton that works.",
        [
            helps(
                "Install the one that this PyTorch was built for (pip install triton), or run "
                'without Inductor: torch.compile(..., backend="aot_eager"), or depyf run '
                "--backend aot_eager.",
                _NO_TRITON,
                _NO_TRITON.replace("backend=lowered", 'backend="aot_eager"'),
                'torch.compile(..., backend="aot_eager")',
            )
        ],
        reason=r"Cannot find a working triton installation",
    ),
    row(
        "backend",
        "The backend raised an exception.",
        [
            helps(
                'Try backend="eager", then "aot_eager": the first one that fails, too, shows '
                "which part of torch fails.",
                _BACKEND,
                _BACKEND.replace("backend=lowered", 'backend="eager"'),
                'torch.compile(..., backend="eager")',
            )
        ],
        reason=r"^BackendCompilerFailed",
    ),
    row(
        "backward",
        "The compiled function runs a backward pass.",
        [
            helps(
                "Call .backward() outside of the compiled function: torch compiles the backward "
                "graph of a compiled forward, too.",
                _BACKWARD,
                """
@torch.compile(backend="eager")
def f(x):
    return (x * x).sum()

x = torch.ones(3, requires_grad=True)
f(x).backward()
result = x.grad * 2
""",
            ),
            helps(
                # no patch: where the loss came from another graph, the program gets no gradients
                "If no other graph break is between the loss and this line, "
                "torch._dynamo.config.trace_autograd_ops = True keeps it in the graph. After "
                "another break, as at GradScaler.scale(), the gradients would be lost.",
                _BACKWARD,
                "torch._dynamo.config.trace_autograd_ops = True\n" + _BACKWARD,
            ),
        ],
        ids=("GB0123",),
        reason=r"Tensor\.backward",
    ),
    row(
        "requires_grad_",
        "The compiled function calls requires_grad_() on a tensor, and that tensor leaves the "
        "function.",
        [
            helps(
                "Call requires_grad_() before the compiled function.",
                _LEAK,
                """
@torch.compile(backend="eager")
def f(y):
    return y * 2

result = f(torch.ones(3).clone().requires_grad_()).detach()
""",
            ),
            helps(
                "Return .detach() of it, if only the value is needed.",
                _LEAK,
                """
@torch.compile(backend="eager")
def f(x):
    y = x.clone().requires_grad_()
    return (y * 2).detach()

result = f(torch.ones(3))
""",
            ),
        ],
        ids=("GB8985", "GB7324"),
        reason=r"requires_grad_\(\)",
    ),
    row(
        "rnn",
        "Dynamo leaves torch.nn.RNN, GRU and LSTM out of its graphs.",
        [
            helps(
                "torch._dynamo.config.allow_rnn = True adds them to the graphs (torch calls it "
                "experimental).",
                """
torch.manual_seed(0)
model = torch.nn.LSTM(3, 4)

@torch.compile(backend="eager")
def f(x):
    return model(x)[0].sin()

result = f(torch.ones(2, 1, 3)).detach()
""",
                """
torch._dynamo.config.allow_rnn = True
torch.manual_seed(0)
model = torch.nn.LSTM(3, 4)

@torch.compile(backend="eager")
def f(x):
    return model(x)[0].sin()

result = f(torch.ones(2, 1, 3)).detach()
""",
                "torch._dynamo.config.allow_rnn = True",
            )
        ],
        ids=("GB0014", "GB0148"),
        reason=r"RNN, GRU, (or|and) LSTM",
    ),
    row(
        "class",
        "The compiled function defines a class.",
        [
            helps(
                "Define the class outside of the compiled function.",
                """
@torch.compile(backend="eager")
def f(x):
    class Settings:
        scale = 2
    return x * Settings.scale

result = f(torch.ones(3))
""",
                """
class Settings:
    scale = 2

@torch.compile(backend="eager")
def f(x):
    return x * Settings.scale

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB8977", "GB0075"),
        reason=r"__build_class__|LOAD_BUILD_CLASS",
    ),
    row(
        "deepcopy",
        "The compiled function copies a tensor by copy.deepcopy.",
        [
            helps(
                "tensor.clone() copies it in the graph.",
                """
import copy

@torch.compile(backend="eager")
def f(x):
    return copy.deepcopy(x) + 1

result = f(torch.ones(3))
""",
                """
@torch.compile(backend="eager")
def f(x):
    return x.clone() + 1

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB4198", "GB0179"),
        reason=r"copy\.deepcopy",
    ),
    row(
        "resize_",
        "The compiled function resizes a tensor in place.",
        [
            helps(
                "Make another tensor by view, reshape or new_empty instead.",
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    y.resize_(2, 2)
    return y * 2

result = f(torch.ones(4))
""",
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    y = y.reshape(2, 2)
    return y * 2

result = f(torch.ones(4))
""",
            )
        ],
        ids=("GB0126", "GB0127"),
        reason=r"Tensor\.resize_",
    ),
    row(
        "random_",
        "torch does not trace Tensor.random_.",
        [
            helps(
                "torch.randint draws the same numbers into another tensor.",
                """
@torch.compile(backend="eager")
def f(x):
    return x + torch.empty_like(x).random_(3, 4)

result = f(torch.ones(3))
""",
                """
@torch.compile(backend="eager")
def f(x):
    return x + torch.randint(3, 4, x.shape)

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0107",),
        reason=r"Tensor\.random_",
    ),
)

BY_KEY = {one.key: one for one in ROWS}

#: what a backend lacks on this machine, which its exception tells somewhere in its text
MISSING_TOOLS = tuple(one for one in ROWS if one.key in ("no compiler", "no Python.h", "no Triton"))

#: what a break in a loop adds to the row of the break itself: torch cannot cut a graph there
LOOP = row(
    "loop",
    "It is inside a loop, where torch cannot split a graph.",
    [
        helps(
            "Make the loop's body a separate function: torch compiles that function, and splits "
            "its graph at this line.",
            _LOOP,
            """
def body(x, i):
    x = x + 1
    print(i)
    return x

@torch.compile(backend="eager")
def f(x):
    for i in range(3):
        x = body(x, i)
    return x

result = f(torch.ones(3))
""",
        )
    ],
    ids=("GB7000",),
    reason=r"graph break in (a for/while )?loop",
)

_LEAVES = """
@torch.compile(backend="eager")
def f(x):
    for _ in range(5):
        x = x * 2
        if x.sum().item() > 20:
            break
    return x + 1

result = f(torch.ones(3))
"""

# a function of the loop's body would be taken into the loop again, with its break
LEAVES = row(
    "loop that is left",
    "It is inside a loop, where torch cannot split a graph.",
    [
        helps(
            "Leave the loop out of the compiled function: compile a function that makes one round "
            "and returns the tensor, call it in the loop, and decide there. A function that the "
            "compiled loop calls does not help: torch takes its body into the loop.",
            _LEAVES,
            """
@torch.compile(backend="eager")
def body(x):
    x = x * 2
    return x, x.sum()

@torch.compile(backend="eager")
def rest(x):
    return x + 1

x = torch.ones(3)
for _ in range(5):
    x, total = body(x)
    if total.item() > 20:
        break
result = rest(x)
""",
        )
    ],
    ids=("GB7000",),
    reason=r"graph break in (a for/while )?loop",
)

#: rows of what Python decides by a tensor's value: in a loop, the next round needs the decision
DECIDE = (
    "branch",
    "branch on a number",
    "branch that leaves out more",
    "branch that replaces",
    "branch that skips",
    "any or all",
    "tensors that are compared",
    "member of a tensor",
    "item that decides",
)

#: rows of branches whose first advice is for those that ask whether there is anything at all
OF_NONE = ("branch on a number", "dynamic shape that decides", "dynamic shape that is counted")

#: rows whose advice is about the compiled function or a setting, and not about the line that broke
AROUND = NORMAL + (
    "lr_scheduler",
    "DDP",
    "training step",
    "data loader",
    "limit",
    "nothing to compile",
    "nothing to compile on a side",
    "backend",
    "backward",
    "rnn",
    "packed sequence",
    "no fake kernel",
)

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
