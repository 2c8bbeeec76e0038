"""Rows of sizes, strides and ranks of tensors."""

from depyf.advice import helps, row

_SIZE = """
@torch.compile(backend="eager")
def f(x):
    return x + 1

result = [f(torch.ones(size, 3)) for size in (4, 5, 6)]
"""
_SIZES = """
@torch.compile(backend="eager")
def f(x, y):
    return (x - y).sum()

result = [f(torch.ones(size, 3), torch.zeros(size, 3)) for size in (4, 5, 6)]
"""
_SMALL = """
@torch.compile(backend="eager")
def f(x):
    return x + 1

result = [f(torch.ones(size, 3)) for size in (4, 1)]
"""
_RANGE = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.view(x.shape[0], -1) + 1

result = [f(torch.ones(size, 3, 3)) for size in (2, 1)]
"""
_DECIDED = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    if x.shape[0] > 5:
        return x * 2
    return x + x.shape[0]

result = [f(torch.ones(size)) for size in (3, 7)]
"""
_LARGE_IMAGE = """
layer = torch.nn.Conv2d(3, 2, 3, padding="same", bias=False).requires_grad_(False)
torch.nn.init.ones_(layer.weight)

@torch.compile(backend="eager", dynamic=True)
def f(x):
    return layer(x) + 1

result = [f(torch.ones(1, 3, size, size)) for size in (64, 96)]
"""
_EQUAL = """
@torch.compile(backend="eager", dynamic=True)
def f(x, y):
    return x.sum() + y.sum()

result = [f(torch.ones(left), torch.ones(right)) for left, right in ((4, 4), (4, 6), (5, 3))]
"""
_SQUARE = """
weight = torch.ones(3, 2)

@torch.compile(backend="eager", dynamic=True)
def f(x):
    return (x @ weight).sum()

result = [f(torch.ones(size, 3)) for size in (3, 4, 5)]
"""
_DUCK_AGAIN = "torch.fx.experimental._config.use_duck_shape = True"
_STRIDE = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x + 1

result = [f(torch.ones(4, 4)), f(torch.ones(4, 4).T)]
"""
_LAST = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

result = [f(torch.ones(1, length, 3)[:, -1]) for length in (4, 1)]
"""
_CLONED = ".clone(memory_format=torch.contiguous_format)"
_RANK = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

result = f(torch.ones(6)).sum() + f(torch.ones(2, 3)).sum()
"""
_UNROLLED = """
@torch.compile(backend="eager")
def f(x):
    total = torch.zeros(3)
    for index in range(x.shape[0]):
        total = total * 0.5 + x[index]
    return total

result = [f(torch.ones(size, 3)) for size in (3, 4, 5)]
"""
_LISTED = """
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x):
    order = x.argsort()
    names = order.tolist()
    return names, x * 2

result = [f(torch.ones(size)) for size in (4, 5, 6)]
"""
_STATIC = """
@torch.compile(backend="eager", dynamic=False)
def f(x):
    return x + 1

result = [f(torch.ones(size, 3)) for size in (4, 5)]
"""
_NOT_AUTOMATIC = """
torch._dynamo.config.automatic_dynamic_shapes = False

@torch.compile(backend="eager")
def f(x):
    return x + 1

result = [f(torch.ones(size, 3)) for size in (4, 5)]
"""
_MASKS = """
masks = {}

@torch.compile(backend="eager")
def f(x):
    size = x.shape[0]
    if size not in masks:
        masks[size] = torch.ones(size, size).tril()
    return masks[size] @ x

result = [f(torch.ones(size, 2)) for size in (3, 4, 5)]
"""
_COUNTED_SIZES = """
from collections import defaultdict

sizes = defaultdict(int)

@torch.compile(backend="eager")
def f(x):
    sizes[x.shape[0]] += 1
    return x.sum()

result = [f(torch.ones(size, 2)) for size in (3, 4, 5)]
"""
_WINDOW = """
import numpy

@torch.compile(backend="eager")
def f(x):
    size = x.shape[0]
    return x * torch.from_numpy(numpy.hanning(size))

result = [f(torch.ones(size)) for size in (4, 5, 6)]
"""
_UNBOUND = """
@torch.compile(backend="eager")
def f(x):
    rows = x.unbind()
    total = torch.zeros(3)
    for row in rows:
        total = total * 0.5 + row
    return total

result = [f(torch.ones(size, 3)) for size in (3, 4, 5)]
"""
_SMALL_TEXT = (
    "torch compiles the sizes 0 and 1 separately. One compile for size 1 and one for the others "
    "is normal and needs no action; padding to a size of at least 2 before the call avoids it."
)
# without a patch: where the code branches on the size, the mark makes breaks and more compiles
_UNBACKED_TEXT = (
    "Only if the code does not branch on the size: "
    "torch._dynamo.decorators.mark_unbacked({variable}, {index}) before the call."
)
ROWS = (
    row(
        "size",
        "",
        [
            helps(
                "torch.compile(..., dynamic=True) compiles once for all sizes of 2 or more of "
                "all inputs that the code treats alike, as long as sizes that were equal stay "
                "equal.",
                _SIZE,
                _SIZE.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
            # mark_dynamic raises where torch finds that a size is that of an input without a mark
            helps(
                "{marks} before the first call has torch compile once for all sizes of 2 or more "
                "of {this} alone.",
                _SIZES,
                """
@torch.compile(backend="eager")
def f(x, y):
    return (x - y).sum()

result = []
for size in (4, 5, 6):
    x, y = torch.ones(size, 3), torch.zeros(size, 3)
    torch._dynamo.maybe_mark_dynamic(x, 0)
    torch._dynamo.maybe_mark_dynamic(y, 0)
    result.append(f(x, y))
""",
                "{marks}",
            ),
        ],
    ),
    row(
        "size used as a constant",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help: {maker} makes the size a constant. "
                "If a loop over it does this, because torch unrolls it, compile the loop's body "
                "as a separate function.",
                _UNBOUND,
                """
@torch.compile(backend="eager")
def body(total, row):
    return total * 0.5 + row

def f(x):
    total = torch.zeros(3)
    for row in x.unbind():
        total = body(total, row)
    return total

result = [f(torch.ones(size, 3)) for size in (3, 4, 5)]
""",
            ),
        ],
    ),
    row(
        "size of a list",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help: .tolist() at {at} makes the size a "
                "constant. If only the caller needs the list, return the tensor, and call "
                ".tolist() outside of the compiled function.",
                _LISTED,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.argsort(), x * 2

result = []
for size in (4, 5, 6):
    order, doubled = f(torch.ones(size))
    result.append((order.tolist(), doubled))
""",
            ),
        ],
    ),
    row(
        "size of a loop",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help: torch unrolls the loop at {at}, "
                "which makes the size a constant. Compile the loop's body as a separate function, "
                "and take torch.compile off the function around the loop, which would take the "
                "body in.",
                _UNROLLED,
                """
@torch.compile(backend="eager")
def body(total, row):
    return total * 0.5 + row

def f(x):
    total = torch.zeros(3)
    for index in range(x.shape[0]):
        total = body(total, x[index])
    return total

result = [f(torch.ones(size, 3)) for size in (3, 4, 5)]
""",
            ),
        ],
    ),
    row(
        "size that is looked up",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help: {at} looks up an element of a dict "
                "or a set by the size, which makes it a constant. Look it up before the call, "
                "and pass the result to a function compiled with dynamic=True.",
                _MASKS,
                """
masks = {}

def mask_of(size):
    if size not in masks:
        masks[size] = torch.ones(size, size).tril()
    return masks[size]

@torch.compile(backend="eager", dynamic=True)
def f(x, mask):
    return mask @ x

result = [f(torch.ones(size, 2), mask_of(size)) for size in (3, 4, 5)]
""",
            ),
        ],
    ),
    row(
        "size as a key",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help alone: {at} sets an element of a dict "
                "under the size as its key. Python needs the number for that, so torch makes a "
                "constant of it and compiles for each size. Set the element before or after the "
                "call, outside of the compiled function, and compile that with dynamic=True.",
                _COUNTED_SIZES,
                """
sizes = {}

def count(x):
    sizes[x.shape[0]] = sizes.get(x.shape[0], 0) + 1
    return x

@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.sum()

result = [f(count(torch.ones(size, 2))) for size in (3, 4, 5)]
""",
            ),
        ],
    ),
    row(
        "size in a function",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help: {called} at {at} makes the size a "
                "constant. Call it before the compiled function, and pass its result as a tensor "
                "to a function compiled with dynamic=True.",
                _WINDOW,
                """
import numpy

@torch.compile(backend="eager", dynamic=True)
def f(x, window):
    return x * window

result = [f(torch.ones(size), torch.from_numpy(numpy.hanning(size))) for size in (4, 5, 6)]
""",
            ),
        ],
    ),
    row(
        "given dynamic=False",
        "",
        [
            helps(
                "torch.compile was given dynamic=False, which makes each size and number a "
                "constant. With dynamic=True, one compile serves all of 2 or more; without the "
                "option, they are dynamic from the second compile on.",
                _STATIC,
                _STATIC.replace("dynamic=False", "dynamic=True"),
                "torch.compile(..., dynamic=True)",
            ),
        ],
    ),
    row(
        "not dynamic",
        "",
        [
            helps(
                "Automatic dynamic shapes were off for this compile: by dynamic=False of "
                "torch.compile or by torch._dynamo.config.automatic_dynamic_shapes. With "
                "dynamic=True, one compile serves all sizes and numbers of 2 or more.",
                _NOT_AUTOMATIC,
                _NOT_AUTOMATIC.replace('"eager"', '"eager", dynamic=True'),
            ),
        ],
    ),
    row(
        "size 0 or 1",
        "",
        [
            helps(
                _SMALL_TEXT,
                _SMALL,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x + 1

result = []
for size in (4, 1):
    x = torch.ones(size, 3)
    padded = torch.cat([x, x]) if size < 2 else x
    result.append(f(padded)[:size])
""",
            ),
            helps(
                _UNBACKED_TEXT,
                _SMALL,
                """
@torch.compile(backend="eager")
def f(x):
    return x + 1

result = []
for size in (4, 1):
    x = torch.ones(size, 3)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    result.append(f(x))
""",
            ),
        ],
    ),
    row(
        "size from 2",
        "",
        [
            helps(
                _SMALL_TEXT,
                _RANGE,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.view(x.shape[0], -1) + 1

result = []
for size in (2, 1):
    x = torch.ones(size, 3, 3)
    padded = torch.cat([x, x]) if size < 2 else x
    result.append(f(padded)[:size])
""",
            ),
            helps(
                _UNBACKED_TEXT,
                _RANGE,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.view(x.shape[0], -1) + 1

result = []
for size in (2, 1):
    x = torch.ones(size, 3, 3)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    result.append(f(x))
""",
            ),
        ],
    ),
    row(
        "equal sizes",
        "",
        [
            helps(
                "Set `torch.fx.experimental._config.use_duck_shape = False` before the first "
                "call: sizes that happen to be equal then have separate symbols.",
                _EQUAL,
                "torch.fx.experimental._config.use_duck_shape = False" + _EQUAL + _DUCK_AGAIN,
                "torch.fx.experimental._config.use_duck_shape = False",
            ),
            helps(
                "Mark each size before the first call, which also gives equal sizes separate "
                "symbols: {marks}.",
                _SQUARE,
                _SQUARE.replace(
                    "result = [f(torch.ones(size, 3)) for size in (3, 4, 5)]",
                    """
result = []
for size in (3, 4, 5):
    x = torch.ones(size, 3)
    torch._dynamo.maybe_mark_dynamic(x, 0)
    torch._dynamo.maybe_mark_dynamic(x, 1)
    result.append(f(x))
""",
                ),
            ),
        ],
    ),
    row(
        "shape condition",
        "",
        [
            helps(
                "The code, or an operation with a special case for size 1, decides on this size, "
                "so torch compiles for each side. To avoid it, compute what differs before the "
                "call, or compute both sides.",
                _DECIDED,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x, large):
    return torch.where(large, x * 2, x + x.shape[0])

result = [f(torch.ones(size), torch.tensor(size > 5)) for size in (3, 7)]
""",
            )
        ],
    ),
    row(
        "condition of a library",
        "",
        [
            helps(
                "A library decides on this size, for example for a faster way to compute the same, "
                "and no line of the program does. One compile for each side is normal and needs "
                "no action; inputs of one size, for example padded before the call, avoid it.",
                _LARGE_IMAGE,
                _LARGE_IMAGE.replace(
                    "f(torch.ones(1, 3, size, size))",
                    "f(torch.nn.functional.pad(torch.ones(1, 3, size, size), (0, 96 - size) * 2))"
                    "[..., :size, :size]",
                ),
            )
        ],
    ),
    row(
        "stride",
        "",
        [
            helps(
                "Pass {name}.contiguous(), so that the memory layout is the same at each call.",
                _STRIDE,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x + 1

result = [f(torch.ones(4, 4).contiguous()), f(torch.ones(4, 4).T.contiguous())]
""",
                "{name} = {name}.contiguous()",
            )
        ],
    ),
    row(
        "stride of one element",
        "",
        [
            helps(
                "Pass {name}.clone(memory_format=torch.contiguous_format), so that the memory "
                "layout is the same at each call. That dimension has one element, and "
                ".contiguous() does not change its stride.",
                _LAST,
                _LAST.replace("[:, -1])", "[:, -1]%s)" % _CLONED),
                "{name} = {name}.clone(memory_format=torch.contiguous_format)",
            )
        ],
    ),
    row(
        "storage offset",
        "",
        [
            helps(
                "{name} starts at another offset of its memory than before, as a slice does: "
                "pass {name}.clone(memory_format=torch.contiguous_format), which starts at 0.",
                _LAST.replace('"eager"', '"eager", dynamic=True'),
                _LAST.replace('"eager"', '"eager", dynamic=True').replace(
                    "[:, -1])", "[:, -1]%s)" % _CLONED
                ),
                "{name} = {name}.clone(memory_format=torch.contiguous_format)",
            )
        ],
    ),
    row(
        "rank",
        "",
        [
            helps(
                "torch compiles for each number of dimensions: reshape to one number of "
                "dimensions before the call.",
                _RANK,
                """
@torch.compile(backend="eager")
def f(x):
    return x * 2

result = f(torch.ones(6).reshape(-1)).sum() + f(torch.ones(2, 3).reshape(-1)).sum()
""",
            )
        ],
    ),
)
