"""Rows of numbers that Python needs of a tensor: `.item()`, an index, a test, a list."""

from depyf.advice import helps, row
from depyf.advice.breaks.elements import BY_VALUE, MAKES_A_NUMBER, of_number
from depyf.advice.breaks.indices import INDICES
from depyf.advice.breaks.listed import LISTS

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
_PICKS_LARGEST = """
@torch.compile(backend="eager")
def f(named):
    doubled = {name: x * 2 for name, x in named.items()}
    largest = max(doubled, key=lambda name: doubled[name].sum().item())
    return doubled[largest]

result = f({name: torch.full((2,), value) for name, value in (("a", 3.0), ("b", 1.0))})
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
_HOOKED = """
seen = []
layer = torch.nn.Linear(3, 3)
torch.nn.init.constant_(layer.weight, 0.5)
torch.nn.init.constant_(layer.bias, 1.0)

def watch(module, args, output):
    seen.append(output.sum().item())

hook = layer.register_forward_hook(watch)

@torch.compile(backend="eager")
def f(x):
    return layer(x) * 2

result = [f(torch.ones(3)) for _ in range(3)]
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
#: what is to be done before the setting that keeps `.item()` in the graph, where the run has code
#: of which it does not keep it
DECIDED_FIRST = (
    "First change {at}, where Python needs such a number: the setting applies to the whole "
    "program, and with it the graph breaks there, too. Then "
)
#: as above, where with the setting torch compiles for each value of such a number
VALUED_FIRST = (
    "First change {at}, where Python needs such a number: the setting applies to the whole "
    "program, and with it torch compiles again for each value there. Then "
)
#: as above, where a list takes such a number
LENGTHENED_FIRST = (
    "First change {at}, where a list takes such a number: the setting applies to the whole "
    "program, and with it torch compiles again for each length of the list. Then "
)
#: as above, where what stays between calls is a number that such a number, or a counter, updates
COUNTED_FIRST = (
    "First change {at}, where Python updates a number that stays between calls: the setting "
    "applies to the whole program, and with it torch may compile again at each call there. Then "
)
#: as above, where it has code at which torch raises an error with the setting
DRAWN_FIRST = (
    "First change {at}, where Python draws a random number: the setting applies to the whole "
    "program, and with it torch may raise an error there, or leave the function uncompiled. Then "
)


#: what is said beside an advice to print elsewhere a number that is computed with, too
ALSO_USED = helps(
    " The number is used at {lines}, too: leave out what makes it at {at}, compute with the tensor "
    "there, return that as well, and print it outside of the compiled function.",
    """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    mean = y.mean().item()
    print("the mean is", mean)
    return y / mean

result = [f(torch.ones(3)), f(torch.zeros(3))]
""",
    """
@torch.compile(backend="eager")
def f(x):
    y = x.cos()
    mean = y.mean()
    return y / mean, mean

result = []
for x in (torch.ones(3), torch.zeros(3)):
    y, mean = f(x)
    print("the mean is", mean.item())
    result.append(y)
""",
)


ROWS = (
    row(
        "number drawn by Python",
        "{at} draws a random number with Python's random inside of the compiled function. torch "
        "makes a tensor of it, and cannot use that where the number is needed. torch's "
        "capture_scalar_outputs does not help: with it, torch raises an error, or leaves the "
        "function uncompiled.",
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
        reason=MAKES_A_NUMBER + r"|^unimplemented builtin op on tensor arguments",
        where=r"\n\? line \d+ draws it",
        names=r"\n\? (?P<at>line \d+) draws it",
    ),
    of_number(
        "item that picks the largest",
        "A tensor's value is converted to a Python number, and {at} picks the largest or smallest "
        "by that number, so Python must wait for the graph. torch's capture_scalar_outputs does "
        "not help: with it, torch stops tracing at {at}.",
        [
            helps(
                "Return the elements and, as tensors, what they are compared by, and pick outside "
                "of the compiled function.",
                _PICKS_LARGEST,
                """
@torch.compile(backend="eager")
def f(named):
    doubled = {name: x * 2 for name, x in named.items()}
    return doubled, {name: x.sum() for name, x in doubled.items()}

doubled, sums = f({name: torch.full((2,), value) for name, value in (("a", 3.0), ("b", 1.0))})
result = doubled[max(sums, key=lambda name: sums[name].item())]
""",
            ),
        ],
        where=r"\n\? line \d+ picks the largest by it",
        names=r"\n\? (?P<at>line \d+) picks the largest by it",
    ),
    of_number(
        "item that orders",
        "A tensor's value is converted to a Python number, and {at} orders by that number, so "
        "Python must wait for the graph. torch's capture_scalar_outputs does not help: with it, "
        "torch stops tracing at {at}.",
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
        where=r"\n\? line \d+ orders by it",
        names=r"\n\? (?P<at>line \d+) orders by it",
    ),
    of_number(
        "item that decides",
        "A tensor's value is converted to a Python number, and {at} needs that number, so Python "
        "must wait for the graph. torch's capture_scalar_outputs does not help: with it, torch "
        "stops tracing at {at}.",
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
        where=r"\n\? line \d+ needs it",
        names=r"\n\? (?P<at>line \d+) needs it",
    ),
    of_number(
        "drawn number",
        "numpy draws a random number inside of the compiled function. torch makes a tensor of "
        "it, and Python must wait for its value.",
        [
            helps(
                "Draw the number before the call, and pass it as an argument. If a branch decides "
                "on it, decide there, too, and pass True or False.",
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
        where=r"\n> .*\b(np|numpy)\.random\.",
    ),
    of_number(
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
        where=r"\n\? line \d+ stores by it",
        names=r"\n\? (?P<at>line \d+) stores by it",
    ),
    of_number(
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
                "tensor at the end of the graph, as it is then.",
                _PRINT_ITEM,
                "torch._dynamo.config.reorderable_logging_functions.add(print)\n"
                + _PRINT_ITEM.replace(".item()", ""),
            ),
        ],
        where=r"\n\? line \d+ prints it",
        names=r"\n\? (?P<at>line \d+) prints it",
    ),
    *INDICES,
    of_number(
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
        where=r"\n\? line \d+ asserts it",
        names=r"\n\? (?P<at>line \d+) asserts it",
    ),
    of_number(
        "item in a list by a hook",
        "A forward hook converts a tensor's value to a Python number, which {at} adds to a list, "
        "so Python must wait for the value. torch's capture_scalar_outputs does not help: the "
        "list is guarded by its length.",
        [
            helps(
                "Take the hook off the compiled module. Return what it looks at from the compiled "
                "function, beside the result, and append outside. Return nothing from the hook "
                "itself: what a forward hook returns replaces the module's output.",
                _HOOKED,
                _HOOKED.replace("hook = layer.register_forward_hook(watch)\n\n", "").replace(
                    "    return layer(x) * 2\n\nresult = [f(torch.ones(3)) for _ in range(3)]",
                    "    hidden = layer(x)\n    return hidden * 2, hidden\n\nresult = []\n"
                    "for _ in range(3):\n    y, hidden = f(torch.ones(3))\n"
                    "    watch(layer, (), hidden)\n    result.append(y)",
                ),
            ),
        ],
        where=r"\n\? in a forward hook[^?]*\n\? line \d+ appends it",
        names=r"\n\? (?P<at>line \d+) appends it",
    ),
    of_number(
        "item in a list",
        "A tensor's value is converted to a Python number, which {at} adds to a list, so Python "
        "must wait for the value. torch's capture_scalar_outputs does not help: the list is "
        "guarded by its length, and by the numbers in it.",
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
        where=r"\n\? line \d+ appends it",
        names=r"\n\? (?P<at>line \d+) appends it",
    ),
    *BY_VALUE,
    *LISTS,
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
    of_number(
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
                "unless Python needs the number for a branch, a range, a sort or an element of a "
                "list.",
                _ITEM,
                "torch._dynamo.config.capture_scalar_outputs = True\n" + _ITEM,
                "torch._dynamo.config.capture_scalar_outputs = True",
            ),
        ],
    ),
)
