"""Guards that failed: what a changed size, type, value or object asks for, and the pairs.

Which row a guard has is decided by its text in `depyf.report.words`, by the row's key. `{name}` is
the thing as torch names it, `{variable}` the same where it is one plain name, `{index}` a
dimension, `{before}` a value, `{marks}` are calls that mark sizes as dynamic.
"""

from depyf.advice import helps, row
from depyf.advice.breaks import FORMAT, FORMATTED_OUTSIDE

_PARITY = """
@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    if count % 2 == 0:
        return x * 2
    return x + count

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
"""
_PARITY_OF_COUNTER = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if (1 + self.calls) % 2 == 0:
            return x * 2
        return x + 1

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(4)]
"""
_TABLE = """
table = [0.5, 1.0, 1.5, 2.0]

@torch.compile(backend="eager", dynamic=True)
def f(x, index):
    return x * table[index]

result = [f(torch.ones(3), index) for index in (1, 2, 3)]
"""
_ROW_AT = """
@torch.compile(backend="eager")
def f(x, at):
    return x[at] * 2

result = [f(torch.arange(12.0).view(3, 4), torch.tensor(at)) for at in (0, 1, 2)]
"""
_DROPOUT = """
@torch.compile(backend="aot_eager")
def f(x, p):
    return torch.nn.functional.dropout(x, p)

result = []
for p in (0.25, 0.5, 0.75):
    y = f(torch.ones(8), p)
    result.append(((y == 0) | (y == 1 / (1 - p))).all())
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
_LENGTH_OF = """
seen = []

@torch.compile(backend="eager")
def f(x):
    seen.append(x.sum())
    return x * len(seen)

result = [f(torch.ones(3)) for _ in range(4)]
"""
_END_OF = """
seen = []

@torch.compile(backend="eager")
def f(x):
    if len(seen) > 2:
        x = x - seen[-1]
    seen.append(x.mean())
    return x * 2

result = [f(torch.ones(3)) for _ in range(4)]
"""
_PART_OF = """
seen = []

@torch.compile(backend="eager")
def f(x):
    seen.append(x.mean())
    return x * 2 - sum(seen[-3:])

result = [f(torch.ones(3)) for _ in range(4)]
"""
_SHOWN_OF = """
seen = []

@torch.compile(backend="eager")
def f(x):
    seen.append(x.sum())
    if len(seen) > 5:
        print("the last", sum(seen[-4:]))
    return x * 2

result = [f(torch.ones(3)) for _ in range(4)]
"""
_ALL_OF = """
seen = []

@torch.compile(backend="eager")
def f(x):
    seen.append(x.sum())
    return x + sum(seen)

result = [f(torch.ones(3)) for _ in range(4)]
"""
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
_FILLED_TO_THE_END = """
@torch.compile(backend="eager", dynamic=True)
def attend(x, keys, position):
    keys[:, position : position + 1] = x
    seen = keys[:, : position + 1]
    return torch.softmax(x @ seen.transpose(1, 2), -1) @ seen

keys = torch.zeros(2, 6, 4)
result = [attend(torch.ones(2, 1, 4) + at, keys, at) for at in range(2, 6)]
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
_CACHE = """
class Cache:
    def __init__(self):
        self.keys = torch.zeros(1, 2, 4)

    def update(self, key):
        self.keys = torch.cat([self.keys, key], dim=1)
        return self.keys

@torch.compile(backend="eager")
def step(cache, key):
    return cache.update(key).sum()

cache = Cache()
result = [step(cache, torch.ones(1, 1, 4)) for _ in range(4)]
"""
_RANK = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

result = f(torch.ones(6)).sum() + f(torch.ones(2, 3)).sum()
"""
_DTYPE = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

result = [f(torch.ones(3)), f(torch.ones(3, dtype=torch.float64)).float()]
"""
_GRAD = """
weight = torch.ones(3, requires_grad=True)

@torch.compile(backend="eager")
def f(x):
    return x * weight

last = torch.ones(3, requires_grad=True)
for x in (torch.ones(3), last):
    f(x).sum().backward()
result = [weight.grad, last.grad]
"""
_INFERENCE = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

with torch.no_grad():
    result = [f(torch.ones(3))]
with torch.inference_mode():
    result.append(f(torch.ones(3)))
"""
_POWER = """
import math

@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    return x / math.pow((5 + step) / 6, 0.5)

result = [f(torch.ones(3), step) for step in (2, 3, 4)]
"""
_ATTRIBUTE = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 0.5

    def forward(self, x):
        return x * self.scale

model = Model()
compiled = torch.compile(model, backend="eager")
result = []
for scale in (0.5, 1.5, 2.5):
    model.scale = scale
    result.append(compiled(torch.ones(3)))
"""
_FILLED = """
class Cache:
    def __init__(self):
        self.is_initialized = False

    def update(self, key, position):
        if not self.is_initialized:
            self.keys = torch.zeros(1, 8, 4)
            self.is_initialized = True
        self.keys.index_copy_(1, position, key)
        return self.keys

@torch.compile(backend="eager")
def step(cache, key, position):
    return cache.update(key, position).sum()

cache = Cache()
result = [step(cache, torch.ones(1, 1, 4), torch.tensor([index])) for index in range(4)]
"""
_MODE = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

with torch.no_grad():
    result = [f(torch.ones(3))]
result.append(f(torch.ones(3)))
"""
_SETTING = """
@torch.compile(backend="eager")
def f(x):
    return x * 2

x = torch.ones(3)
result = [f(x)]
torch.set_default_dtype(torch.float64)
result.append(f(x))
torch.set_default_dtype(torch.float32)
"""
_KEYS = """
@torch.compile(backend="eager")
def f(batch):
    y = batch["x"] * 2
    return y + batch["bias"] if "bias" in batch else y

result = [f({"x": torch.ones(3), "bias": torch.ones(3)}), f({"x": torch.ones(3)})]
"""
_ADDED = """
class Settings:
    def __init__(self):
        self.scale = 2

@torch.compile(backend="eager", dynamic=True)
def f(x, settings):
    if hasattr(settings, "offset"):
        x = x + settings.offset - settings.offset
    return x * settings.scale

settings = Settings()
result = [f(torch.ones(3), settings)]
settings.offset = 2
result.append(f(torch.ones(3), settings))
"""
_TYPE = """
@torch.compile(backend="eager", dynamic=True)
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), 2), f(torch.ones(3), 2.0)]
"""
_CONTAINER = """
@torch.compile(backend="eager")
def f(x, past):
    return x + past[0]

result = [f(torch.ones(3), past) for past in ((torch.ones(3),), [torch.ones(3)])]
"""
_GIVEN = """
@torch.compile(backend="eager")
def f(x, past):
    return x * 1 if past is None else x + past[0]

result = [f(torch.ones(3), past) for past in ((torch.ones(3),), None)]
"""
_TENSOR_TYPE = """
@torch.compile(backend="eager")
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.tensor(2.0)), f(torch.ones(3), 2.0)]
"""
_OBJECT = """
@torch.compile(backend="eager")
def f(x, function):
    return function(x) + 1

result = [f(torch.ones(3), eval("lambda x: x * 2")) for _ in range(3)]
"""
_STACK = """
@torch.compile(backend="eager")
def f(tensors):
    return torch.stack(tensors).sum(0)

result = [f([torch.ones(3)] * count) for count in (2, 3, 4)]
"""
_HISTORY = """
history = []

@torch.compile(backend="eager")
def f(x):
    total = x.sum()
    history.append(total)
    return total

result = [f(torch.ones(3)) for _ in range(4)]
"""
_LENGTH = """
@torch.compile(backend="eager")
def f(tensors):
    total = 0
    for tensor in tensors:
        total = total + tensor
    return total

result = [f([torch.ones(3)] * count) for count in (2, 3, 4)]
"""
_SCHEDULED = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

@torch.compile(backend="eager")
def step():
    optimizer.step()

for _ in range(3):
    weight.grad = torch.ones(3)
    step()
    scheduler.step()
result = weight.detach()
"""
_RATE = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)

@torch.compile(backend="eager")
def step():
    optimizer.step()

for rate in (0.1, 0.05, 0.01):
    optimizer.param_groups[0]["lr"] = rate
    weight.grad = torch.ones(3)
    step()
result = weight.detach()
"""
_FLOAT = """
@torch.compile(backend="eager")
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), scale) for scale in (0.5, 1.5, 2.5)]
"""
_TEMPERATURE = """
@torch.compile(backend="eager")
def f(x, heat):
    if heat == 0:
        return x * 0
    return x / heat

result = [f(torch.ones(3), heat) for heat in (0.5, 1.5, 2.5)]
"""
_COUNTER = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(4)]
"""
_LAYERS = """
class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    @torch.compile(backend="eager")
    def forward(self, x):
        return x * self.index + 1

layers = torch.nn.ModuleList(Layer(index) for index in range(2, 6))
result = torch.ones(3)
for layer in layers:
    result = layer(result)
"""
_SCALES = """
class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    @torch.compile(backend="eager")
    def forward(self, x, scales):
        return x * scales[self.index]

layers = torch.nn.ModuleList(Layer(index) for index in range(4))
scales = [torch.full((3,), 2.0)] * 4
result = torch.ones(3)
for layer in layers:
    result = layer(result, scales)
"""
_CLOCKED = """
class State:
    def __init__(self):
        self.time = 0.0

@torch.compile(backend="aot_eager")
def f(state, x):
    state.time += 0.25
    return x * 2

state = State()
result = [f(state, torch.ones(3)) for _ in range(4)] + [torch.ones(1) * float(state.time)]
"""
_MEANS = """
@torch.compile(backend="eager")
def f(stats, x):
    stats["sum"] = stats["sum"] + x
    stats["mean"] = stats["sum"] / 2
    return x * 2

stats = {"sum": torch.zeros(3)}
result = [f(stats, torch.ones(3)) for _ in range(2)] + [stats["mean"]]
"""
_FILLED_BY_KEY = """
@torch.compile(backend="eager")
def f(x, cache):
    for key in ("a", "b"):
        if key in cache:
            x = x + cache[key]
        cache[key] = x
    return x * 2

cache = {}
result = [f(torch.ones(3), cache) for _ in range(3)]
"""
_SKIPPED = """
@torch.compile(backend="eager")
def f(x, skipped):
    for index in range(3):
        if index not in skipped:
            x = x * 2 + index
    return x

result = [f(torch.ones(3), {number}) for number in range(3)]
"""
_ORDER = """
@torch.compile(backend="eager")
def f(batch):
    return sum(value * 2 for value in batch.values())

x, y = torch.ones(3), torch.zeros(3)
result = [f({"x": x, "y": y}), f({"y": y, "x": x})]
"""
_MEMBER = """
import enum

class Mode(enum.Enum):
    FAST = 2
    SLOW = 3

@torch.compile(backend="eager")
def f(x, mode):
    return x * mode.value

result = [f(torch.ones(3), mode) for mode in Mode]
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
_MEMO = """
memo = {}

@torch.compile(backend="eager")
def f(x, place):
    memo[place] = x * 2
    return memo[place]

result = [f(torch.ones(3), "a"), f(torch.ones(3), "a")]
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
_TEXT = """
@torch.compile(backend="eager")
def f(x, name):
    return x * len(name)

result = [f(torch.ones(3), name) for name in ("ab", "abc", "abcd")]
"""
_CHOOSING = """
heads = {"plain": torch.abs, "other": torch.neg, "third": torch.exp}

@torch.compile(backend="eager")
def f(x, kind):
    return heads[kind](x.sin())

result = [f(torch.ones(3), kind) for kind in heads]
"""
_VALUE = """
@torch.compile(backend="eager")
def f(x, kind):
    return x * kind.itemsize

result = [f(torch.ones(3), kind) for kind in (torch.float32, torch.float64)]
"""
_FLAG = """
@torch.compile(backend="eager")
def f(x, flag):
    return x * 2 if flag else x + 1

result = [f(torch.ones(3), flag) for flag in (True, False)]
"""
_NONE = """
@torch.compile(backend="eager")
def f(x, mask):
    if mask is not None:
        x = x * mask
    return x + 1

result = [f(torch.ones(3), None), f(torch.ones(3), torch.ones(3))]
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
_TEXTS = """
table = {"a": torch.ones(3), "b": torch.ones(3) * 2, "c": torch.zeros(3)}

@torch.compile(backend="eager")
def f(x, places):
    for place in places:
        x = x + table[place]
    return x

result = [f(torch.ones(3), list(places)) for places in ("ab", "abc", "bcac")]
"""
_KEPT = """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    total = y.sum().item()
    return y * total

result = [f(torch.ones(3) * scale) for scale in (1, 2, 3)]
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
_TIMES = """
@torch.compile(backend="eager")
def f(x, count):
    for _ in range(count):
        x = x * 0.5 + 1
    return x

result = [f(torch.ones(3), count) for count in (2, 3, 4)]
"""
_SMOOTHING = """
@torch.compile(backend="aot_eager")
def f(x, y, smoothing):
    return torch.nn.functional.cross_entropy(x, y, label_smoothing=smoothing)

x, y = torch.arange(6.0).reshape(2, 3), torch.tensor([0, 2])
result = [f(x, y, smoothing) for smoothing in (0.1, 0.2, 0.3)]
"""
_SLOPE = """
@torch.compile(backend="aot_eager")
def f(x, slope):
    return torch.nn.functional.leaky_relu(x, slope)

result = [f(torch.arange(-2.0, 2.0), slope) for slope in (0.1, 0.2, 0.3)]
"""
_CLASSES = """
@torch.compile(backend="eager")
def f(model, x):
    return model(x) * 2

models = [torch.nn.Sequential(part) for part in (torch.nn.Tanh(), torch.nn.SiLU())]
result = [f(model, torch.ones(3)) for model in models]
"""
_BLOCK = """
class Block(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layer = torch.nn.ModuleList(torch.nn.Tanh() for _ in range(count))

    def forward(self, x):
        for one in self.layer:
            x = one(x)
        return x
"""
_MODULES = (
    _BLOCK
    + """
@torch.compile(backend="eager")
def f(model, x):
    return model(x) * 2

result = [f(Block(count), torch.ones(3)) for count in (2, 3)]
"""
)
_CLAMP = """
@torch.compile(backend="aot_eager")
def f(x, limit):
    return x.clamp(max=limit)

result = [f(torch.arange(4.0), limit) for limit in (0.5, 1.5, 2.5)]
"""
_CLAMP_ATTRIBUTE = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = 0.5

    def forward(self, x):
        return x.clamp(max=self.limit)

model = Model()
compiled = torch.compile(model, backend="aot_eager")
result = []
for limit in (0.5, 1.5, 2.5):
    model.limit = limit
    result.append(compiled(torch.arange(4.0)))
"""
_GAMMA = """
import math

@torch.compile(backend="aot_eager")
def f(x, scale):
    return x * math.gamma(scale)

result = [f(torch.ones(3), scale) for scale in (0.5, 1.5, 2.5)]
"""
_DECIDED_BY_MATH = """
import math

@torch.compile(backend="aot_eager")
def f(x, rate):
    decay = math.exp(-rate)
    if decay < 0.5:
        x = x * 0.5
    return x * decay

result = [f(torch.ones(3), rate) for rate in (0.25, 0.5, 1.5)]
"""
_PHASE = """
import math

class Field:
    def __init__(self):
        self.strength = 0.25

    def weights(self, x, t):
        phase = math.cos(2 * math.pi * t)
        return torch.tensor([1 + self.strength * phase, phase, 0.5], dtype=x.dtype)

field = Field()

def force(x, t):
    return x * field.weights(x, t)

@torch.compile(backend="aot_eager")
def f(x, t, dt):
    middle = x + 0.5 * dt * force(x, t)
    return x + dt * force(middle, t + 0.5 * dt)

x, result = torch.ones(3, dtype=torch.float64), []
for at, step in ((0.1, 0.25), (0.35, 0.25), (0.6, 0.25), (0.85, 0.25)):
    x = f(x, at, step)
    result.append(x)
"""
_DECAY = """
import math

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 0.5

    def forward(self, x):
        return x * math.log(self.rate)

model = Model()
compiled = torch.compile(model, backend="aot_eager")
result = []
for rate in (0.5, 1.5, 2.5):
    model.rate = rate
    result.append(compiled(torch.ones(3)))
"""
_MATH_TEXT = (
    "dynamic=True does not help: {called} at {at} {takes} Python numbers alone. Write {torch} "
    "there, and {tensors}: one without the other does not help."
)
_LIMITED = """
@torch.compile(backend="aot_eager")
def f(x, limit):
    if limit > 0:
        x = x.clamp(max=limit)
    return x * 2

result = [f(torch.arange(4.0), limit) for limit in (0.5, 1.5, 2.5)]
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
_TOKENIZER = """
vocabulary = {"the": 0, "cat": 1, "sat": 2}
table = torch.arange(12.0).reshape(3, 4)

def tokenize(text):
    return torch.tensor([vocabulary[word] for word in text.split()])

@torch.compile(backend="eager", dynamic=True)
def embed(text):
    return table[tokenize(text)].sum(0)

result = [embed(text) for text in ("the cat", "the cat sat", "cat the sat the")]
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
                "all inputs, as long as sizes that were equal stay equal.",
                _SIZE,
                _SIZE.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
            # mark_dynamic raises where torch finds that a size is that of an input without a mark
            helps(
                "{marks} before the first call does this for {this} only.",
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
        "size of a loop",
        "",
        [
            helps(
                "dynamic=True and mark_dynamic do not help: torch unrolls the loop at {at}, "
                "which makes the size a constant. Compile the loop's body as a separate function.",
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
        "integer used as a constant",
        "",
        [
            helps(
                "dynamic=True does not help: the code makes {name} a constant, for example as "
                "the length of a loop, which torch unrolls. Compile the loop's body as a "
                "separate function, or compute with a tensor.",
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
                "so torch compiles for each element. Select it outside of the compiled function, "
                "and compile the element: layers of one kind share a compile.",
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
        "integer in a function",
        "",
        [
            helps(
                "dynamic=True does not help: the code calls a function with {name} that no graph "
                "can contain (see the graph break there). Call it before the compiled function, "
                "and pass its result as a tensor.",
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
        "float used as a constant",
        "",
        [
            helps(
                "dynamic=True does not help: {maker} {name} a constant. Pass {tensor} instead, if "
                "the operator accepts a tensor.",
                _CLAMP,
                _CLAMP.replace("arange(4.0), limit)", "arange(4.0), torch.tensor(limit))"),
            ),
        ],
    ),
    row(
        "float in a function",
        "",
        [
            helps(
                "dynamic=True does not help: {called} at {at} makes its argument a constant. "
                "Call it before the compiled function, and pass the result as a tensor: {name} "
                "itself as a tensor may break the graph at {needing}.",
                _GAMMA,
                _GAMMA.replace("x * math.gamma(scale)", "x * scale").replace(
                    "f(torch.ones(3), scale)", "f(torch.ones(3), torch.tensor(math.gamma(scale)))"
                ),
            ),
        ],
    ),
    row(
        "float in a function that decides",
        "",
        [
            helps(
                "dynamic=True does not help: {called} at {at} makes its argument a constant. Call "
                "it before the compiled function, pass its result as a tensor, and decide there, "
                "too, what {decided} decides on it: as a tensor, it breaks the graph where Python "
                "needs it.",
                _DECIDED_BY_MATH,
                """
import math

@torch.compile(backend="aot_eager")
def f(x, decay, small):
    x = torch.where(small, x * 0.5, x)
    return x * decay

result = []
for rate in (0.25, 0.5, 1.5):
    decay = math.exp(-rate)
    result.append(f(torch.ones(3), torch.tensor(decay), torch.tensor(decay < 0.5)))
""",
            ),
        ],
    ),
    row(
        "float in a function of math",
        "",
        [
            helps(
                _MATH_TEXT,
                _PHASE,
                _PHASE.replace("math.cos(2", "torch.cos(2").replace(
                    "f(x, at, step)", "f(x, torch.as_tensor(at, dtype=torch.float64), step)"
                ),
                "{torch} in place of {called} at {at}; {given}",
            ),
        ],
    ),
    row(
        "float attribute in a function of math",
        "",
        [
            helps(
                _MATH_TEXT,
                _DECAY,
                _DECAY.replace("math.log", "torch.log").replace(
                    "model.rate = rate", "model.rate = torch.tensor(rate)"
                ),
            ),
        ],
    ),
    row(
        "float that Python needs",
        "",
        [
            helps(
                "dynamic=True does not help: {maker} {name} a constant, and as a tensor it may "
                "break the graph at {needing}. Decide or compute that before the call, and pass "
                "the result. Pass {tensor} for the operator.",
                _LIMITED,
                _LIMITED.replace("f(x, limit)", "f(x, limit, is_positive)")
                .replace("if limit > 0", "if is_positive")
                .replace("4.0), limit)", "4.0), torch.tensor(limit), limit > 0)"),
            ),
        ],
    ),
    row(
        "float that is set",
        "",
        [
            helps(
                "dynamic=True does not help: a float that the function sets becomes a Python "
                "number after the call, which is a constant of the graph. Make {name} a tensor "
                "where it is first set, or set it outside of the compiled function.",
                _CLOCKED,
                _CLOCKED.replace("self.time = 0.0", "self.time = torch.tensor(0.0)"),
            )
        ],
    ),
    row(
        "float attribute used as a constant",
        "",
        [
            helps(
                "dynamic=True does not help: {maker} {name} a constant. Make it a tensor where "
                "the program sets it, if the operator accepts a tensor.",
                _CLAMP_ATTRIBUTE,
                _CLAMP_ATTRIBUTE.replace(
                    "model.limit = limit", "model.limit = torch.tensor(limit)"
                ).replace("self.limit = 0.5", "self.limit = torch.tensor(0.5)"),
            ),
        ],
    ),
    row(
        "float of label smoothing",
        "",
        [
            helps(
                "{called} accepts {name} only as a number: a compile for each of a few values is "
                "normal, and a tensor would break the graph. With s = torch.tensor({name}), (1 - "
                "s) * cross_entropy(x, y) - s * log_softmax(x, 1).mean() is the same.",
                _SMOOTHING,
                _SMOOTHING.replace(
                    "torch.nn.functional.cross_entropy(x, y, label_smoothing=smoothing)",
                    "(1 - smoothing) * torch.nn.functional.cross_entropy(x, y) - smoothing * "
                    "torch.log_softmax(x, 1).mean()",
                ).replace("f(x, y, smoothing) for", "f(x, y, torch.tensor(smoothing)) for"),
            ),
        ],
    ),
    row(
        "float of an operator",
        "",
        [
            helps(
                "{called} accepts {name} only as a number: a compile for each of a few values is "
                "normal, and a tensor would break the graph. If there are many values, compute "
                "the same with operators that accept a tensor, such as + and *, torch.where, "
                "clamp, and pass torch.tensor({name}).",
                _SLOPE,
                _SLOPE.replace(
                    "torch.nn.functional.leaky_relu(x, slope)",
                    "torch.where(x > 0, x, x * slope)",
                ).replace("2.0), slope)", "2.0), torch.tensor(slope))"),
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
        "full cache",
        "",
        [
            helps(
                "An operator has a special case for a slice that is all of {name}, so the call "
                "in which {position} reaches the end of dimension {index} has a separate "
                "compile. Allocate {name} with at least one element more in dimension {index} "
                "than is ever filled: then no call reads all of it.",
                _FILLED_TO_THE_END,
                _FILLED_TO_THE_END.replace("torch.zeros(2, 6, 4)", "torch.zeros(2, 7, 4)"),
            )
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
        "number condition",
        "",
        [
            helps(
                "The code decides on the number, so torch compiles for each side, with "
                "dynamic=True, too. To avoid one compile, decide before the call, and pass the "
                "result as a tensor: torch.where(result, a, b) computes both sides.",
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
                "index_select(0, {name}.reshape(1)).squeeze(0) in place of [{name}] accepts any "
                "value.",
                _ROW_AT,
                _ROW_AT.replace("x[at]", "x.index_select(0, at.reshape(1)).squeeze(0)"),
            ),
        ],
    ),
    row(
        "float of dropout",
        "",
        [
            helps(
                "dropout takes {name} as a constant, with dynamic=True, too: one compile for "
                "each is normal. If there are many values, compute it with a tensor p, "
                "torch.where(torch.rand_like(x) < p, 0.0, x / (1 - p)), only in training. It "
                "draws other random numbers than dropout.",
                _DROPOUT,
                _DROPOUT.replace(
                    "torch.nn.functional.dropout(x, p)",
                    "torch.where(torch.rand_like(x) < p, 0.0, x / (1 - p))",
                ).replace("f(torch.ones(8), p)", "f(torch.ones(8), torch.tensor(p))"),
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
        "growing cache",
        "",
        [
            helps(
                "The cache grows at each call. torch.compile(..., dynamic=True) makes a length "
                "of 2 or more symbolic from the first call on; 0 and 1 have separate compiles.",
                _CACHE,
                _CACHE.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
            helps(
                "The cache grows at each call: allocate it once for the longest sequence and "
                "write into it. With transformers, "
                'generate(..., cache_implementation="static") does that.',
                _CACHE,
                """
class Cache:
    def __init__(self, length):
        self.keys = torch.zeros(1, length, 4)

    def update(self, key, position):
        self.keys.index_copy_(1, position, key)
        return self.keys

@torch.compile(backend="eager")
def step(cache, key, position):
    return cache.update(key, position).sum()

cache = Cache(8)
result = [step(cache, torch.ones(1, 1, 4), torch.tensor([2 + index])) for index in range(4)]
""",
            ),
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
    row(
        "dtype",
        "",
        [
            helps(
                "Convert {name} to one dtype before the call.",
                _DTYPE,
                """
@torch.compile(backend="eager")
def f(x):
    return x * 2

result = [f(torch.ones(3)), f(torch.ones(3, dtype=torch.float64).float())]
""",
                "{name} = {name}.to(DTYPE)",
            )
        ],
    ),
    row(
        "requires_grad",
        "",
        [
            helps(
                "torch makes one entry for tensors that require grad and one for those that do "
                "not, and both are normal. To avoid one, call {name}.requires_grad_() before all "
                "calls. Do not call .detach(): it would cut gradients that the program may need.",
                _GRAD,
                _GRAD.replace("(torch.ones(3), last)", "(torch.ones(3).requires_grad_(), last)"),
            )
        ],
    ),
    row(
        "inference mode",
        "",
        [
            helps(
                "Calls in torch.inference_mode(), and tensors made in it, need a separate entry: "
                "use torch.no_grad() in its place, or inference_mode for all calls.",
                _INFERENCE,
                _INFERENCE.replace("inference_mode", "no_grad"),
            )
        ],
    ),
    row(
        "global state",
        "",
        [
            helps(
                "Each mode has an entry, for example training and evaluation. If the modes need "
                "not differ, make all calls in the same mode, for example inside one "
                "`torch.no_grad()` or `torch.autocast`.",
                _MODE,
                """
@torch.compile(backend="eager")
def f(x):
    return x * 2

with torch.no_grad():
    result = [f(torch.ones(3)), f(torch.ones(3))]
""",
            )
        ],
    ),
    row(
        "setting",
        "",
        [
            helps(
                "Set it once, before the first call of any compiled function: each setting has "
                "an entry.",
                _SETTING,
                """
@torch.compile(backend="eager")
def f(x):
    return x * 2

x = torch.ones(3)
torch.set_default_dtype(torch.float64)
result = [f(x), f(x)]
torch.set_default_dtype(torch.float32)
""",
            )
        ],
    ),
    row(
        "keys",
        "",
        [
            helps(
                "Keep the same keys at each call: remove the keys that vary before the call of "
                "the compiled function.",
                _KEYS,
                """
@torch.compile(backend="eager")
def f(batch):
    return batch["x"] * 2 + batch["bias"]

result = [f({"x": torch.ones(3), "bias": bias}) for bias in (torch.ones(3), torch.zeros(3))]
""",
            )
        ],
    ),
    row(
        "attribute that is added",
        "",
        [
            helps(
                "Give each object all of its attributes before the first call, in __init__: an "
                "attribute that is added later causes another compile.",
                _ADDED,
                _ADDED.replace("        self.scale = 2", "        self.scale = self.offset = 2"),
            )
        ],
    ),
    row(
        "key at a place",
        "",
        [
            helps(
                "Keep the same keys in the same order at each call: dict(sorted({name}.items())) "
                "has one order.",
                _ORDER,
                _ORDER.replace('f({"y": y, "x": x})', 'f(dict(sorted({"y": y, "x": x}.items())))'),
            )
        ],
    ),
    row(
        "member of a set",
        "",
        [
            helps(
                "If {name} is one of a few values (a member of an enum, a class), one compile "
                "for each is normal. If the code uses only a result computed from it (its "
                "value), pass that as a tensor.",
                _MEMBER,
                _MEMBER.replace("x * mode.value", "x * mode").replace(
                    "(torch.ones(3), mode)", "(torch.ones(3), torch.tensor(mode.value))"
                ),
            )
        ],
    ),
    row(
        "type",
        "",
        [
            helps(
                "Pass the same type at each call; numbers that change may be passed as tensors.",
                _TYPE,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.tensor(2.0)), f(torch.ones(3), torch.tensor(2.0))]
""",
            )
        ],
    ),
    row(
        "class of a module",
        "",
        [
            helps(
                "Each class of module needs separate code: one compile for each is normal and "
                "needs no action. Code that does not call such a module can be compiled apart, "
                "once for all of them.",
                _CLASSES,
                """
@torch.compile(backend="eager")
def double(y):
    return y * 2

models = [torch.nn.Sequential(part) for part in (torch.nn.Tanh(), torch.nn.SiLU())]
result = [double(model(torch.ones(3))) for model in models]
""",
            )
        ],
    ),
    row(
        "number of modules",
        "",
        [
            helps(
                "Torch compiles the modules in a container one by one: one compile for each number "
                "of them is normal and needs no action. Code that does not call them can be "
                "compiled apart, once for all.",
                _MODULES,
                _BLOCK
                + """
@torch.compile(backend="eager")
def double(y):
    return y * 2

result = [double(Block(count)(torch.ones(3))) for count in (2, 3)]
""",
            )
        ],
    ),
    row(
        "container's type",
        "",
        [
            helps(
                "Pass the same kind of container at each call: tuple({name}), or list({name}), "
                "before the compiled function is called.",
                _CONTAINER,
                """
@torch.compile(backend="eager")
def f(x, past):
    return x + past[0]

result = [f(torch.ones(3), tuple(past)) for past in ((torch.ones(3),), [torch.ones(3)])]
""",
                "{name} = tuple({name})",
            )
        ],
    ),
    row(
        "given or None",
        "",
        [
            helps(
                "The code with and without {name} differs: one compile for each is normal. To "
                "avoid one, replace None by an empty container, or by tensors that change "
                "nothing (ones, zeros).",
                _GIVEN,
                """
@torch.compile(backend="eager")
def f(x, past):
    return x + past[0]

result = [f(torch.ones(3), past) for past in ((torch.ones(3),), (torch.zeros(3),))]
""",
            )
        ],
    ),
    row(
        "tensor or not",
        "",
        [
            helps(
                "Pass the same type at each call, or convert before the compiled function is "
                "called.",
                _TENSOR_TYPE,
                """
@torch.compile(backend="eager")
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.as_tensor(scale)) for scale in (torch.tensor(2.0), 2.0)]
""",
                "{name} = torch.as_tensor({name})",
            )
        ],
    ),
    row(
        "object",
        "",
        [
            helps(
                "Keep one object (module, function, callable) instead of making one for each call.",
                _OBJECT,
                """
@torch.compile(backend="eager")
def f(x, function):
    return function(x) + 1

def double(x):
    return x * 2

result = [f(torch.ones(3), double) for _ in range(3)]
""",
            )
        ],
    ),
    row(
        "length",
        "",
        [
            helps(
                "torch unrolls the loop over it, so it compiles for each length: stack the "
                "elements into one tensor, or pad to one length.",
                _LENGTH,
                """
@torch.compile(backend="eager", dynamic=True)
def f(stacked):
    return stacked.sum(0)

result = [f(torch.stack([torch.ones(3)] * count)) for count in (2, 3, 4)]
""",
            )
        ],
    ),
    row(
        "texts in a list",
        "",
        [
            helps(
                "torch compiles for each list of strings, by its length and by each string. Look "
                "up the numbers for the strings before the call, and pass them as one tensor to "
                "a function compiled with dynamic=True.",
                _TEXTS,
                """
table = {"a": torch.ones(3), "b": torch.ones(3) * 2, "c": torch.zeros(3)}

@torch.compile(backend="eager", dynamic=True)
def f(x, added):
    return x + added.sum(0)

result = []
for places in ("ab", "abc", "bcac"):
    result.append(f(torch.ones(3), torch.stack([table[place] for place in places])))
""",
            )
        ],
    ),
    row(
        "kept value",
        "",
        [
            helps(
                "The value comes from the code before the graph break at {at}. A tensor, or a "
                "value computed in the graph without that break, causes no recompile; a Python "
                "value passed in from outside still does.",
                _KEPT,
                _KEPT.replace(".item()", ""),
            )
        ],
    ),
    row(
        "growing list",
        "",
        [
            helps(
                "A list that grows at each call is guarded by its length: append outside of the "
                "compiled function, and do not read the list inside.",
                _HISTORY,
                """
history = []

@torch.compile(backend="eager")
def f(x):
    return x.sum()

result = []
for _ in range(4):
    total = f(torch.ones(3))
    history.append(total)
    result.append(total)
""",
            )
        ],
    ),
    row(
        "growing list that is shown",
        "",
        [
            helps(
                "A list that grows at each call is guarded by its length. The function only "
                "prints or logs what it reads of the list: append and print outside of the "
                "compiled function, which returns the values to append.",
                _SHOWN_OF,
                """
seen = []

@torch.compile(backend="eager")
def f(x):
    return x * 2, x.sum()

result = []
for _ in range(4):
    y, total = f(torch.ones(3))
    seen.append(total)
    if len(seen) > 5:
        print("the last", sum(seen[-4:]))
    result.append(y)
""",
            )
        ],
    ),
    row(
        "length of a list",
        "",
        [
            helps(
                "torch compiles for each length, wherever the list grows: pass len({name}) as an "
                "argument of a function compiled with dynamic=True, and append outside of it. If "
                "Python decides on the length, decide before the call.",
                _LENGTH_OF,
                """
seen = []

@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    return x * count, x.sum()

result = []
for _ in range(4):
    y, total = f(torch.ones(3), len(seen) + 1)
    seen.append(total)
    result.append(y)
""",
            )
        ],
    ),
    row(
        "part of a list",
        "",
        [
            helps(
                "torch compiles for each length, wherever the list grows. The function reads "
                "several elements at the end of the list: append to it, and compute what it is "
                "read for, outside of the compiled function, which returns what is appended.",
                _PART_OF,
                """
seen = []

@torch.compile(backend="eager")
def f(x):
    return x * 2, x.mean()

result = []
for _ in range(4):
    y, mean = f(torch.ones(3))
    seen.append(mean)
    result.append(y - sum(seen[-3:]))
""",
            )
        ],
    ),
    row(
        "end of a list",
        "",
        [
            helps(
                "torch compiles for each length, wherever the list grows. The function reads "
                "only the end of the list: pass that, as {name}[-1], as an argument, and append "
                "outside of the compiled function. If the code decides on the length, decide "
                "before the call.",
                _END_OF,
                """
seen = []

@torch.compile(backend="eager")
def f(x, last):
    x = x - last
    return x * 2, x.mean()

result = []
for _ in range(4):
    last = seen[-1] if len(seen) > 2 else torch.zeros(())
    y, mean = f(torch.ones(3), last)
    seen.append(mean)
    result.append(y)
""",
            )
        ],
    ),
    row(
        "growing list that is read",
        "",
        [
            helps(
                "The function reads all of a list that grows, so appending elsewhere does not "
                "help. Before the first call, make one tensor for the greatest number of "
                "elements. Write each element into it at an index that is a tensor "
                "(index_copy_), and compute with that tensor, with a mask where zeros would "
                "count.",
                _ALL_OF,
                """
seen = torch.zeros(8)

@torch.compile(backend="eager")
def f(x, at):
    seen.index_copy_(0, at, x.sum().reshape(1))
    return x + seen.sum()

result = [f(torch.ones(3), torch.tensor([index])) for index in range(4)]
""",
            )
        ],
    ),
    row(
        "dict that is given keys",
        "",
        [
            helps(
                "The function adds keys ({keys}) to {name}, and a dict without them has a "
                "separate compile. Add those keys before the first call, so that later calls "
                "need no other compile.",
                _MEANS,
                _MEANS.replace(
                    '{"sum": torch.zeros(3)}', '{"sum": torch.zeros(3), "mean": torch.zeros(3)}'
                ),
            )
        ],
    ),
    row(
        "dict that is filled",
        "",
        [
            helps(
                "The function tests whether {name} has a key, and fills it, so torch compiles "
                "for each content. Add all of its keys before the first call (an empty tensor, "
                "or one for the most that is written into it). If the keys are not known then, "
                "test and fill outside of the compiled function, and pass the result.",
                _FILLED_BY_KEY,
                _FILLED_BY_KEY.replace(
                    "cache = {}", 'cache = {key: torch.zeros(3) for key in ("a", "b")}'
                ),
            )
        ],
    ),
    row(
        "what a set holds",
        "",
        [
            helps(
                "The content of {name} decides what is computed, so one compile for each content "
                "is normal if there are few. If there are many, pass the content as a tensor of "
                "bools, and decide with that: torch.where(held[i], a, b) computes both.",
                _SKIPPED,
                """
@torch.compile(backend="eager")
def f(x, skipped):
    for index in range(3):
        x = torch.where(skipped[index], x, x * 2 + index)
    return x

result = [f(torch.ones(3), torch.arange(3) == number) for number in range(3)]
""",
            )
        ],
    ),
    row(
        "growing dict",
        "",
        [
            helps(
                "A dict that the function fills is guarded by its contents: return the values, "
                "and fill the dict outside of the compiled function.",
                _MEMO,
                """
memo = {}

@torch.compile(backend="eager")
def f(x):
    return x * 2

result = []
for _ in range(2):
    memo["a"] = f(torch.ones(3))
    result.append(memo["a"])
""",
            )
        ],
    ),
    row(
        "other length",
        "",
        [
            helps(
                "A container is guarded by its length, so torch compiles for each length: stack "
                "the elements into one tensor before the call, or pad to one length.",
                _STACK,
                """
@torch.compile(backend="eager", dynamic=True)
def f(stacked):
    return stacked.sum(0)

result = [f(torch.stack([torch.ones(3)] * count)) for count in (2, 3, 4)]
""",
            )
        ],
    ),
    row("optimizer's state", "", []),
    row("training mode", "", []),  # train() and eval() each have code of their own
    row(
        "learning rate",
        "",
        [
            helps(
                "Give the optimizer its learning rate as a tensor, lr=torch.tensor(LR) in place "
                "of lr=LR: a scheduler then changes the value of the tensor, and nothing "
                "recompiles.",
                _SCHEDULED,
                _SCHEDULED.replace("lr=0.1", "lr=torch.tensor(0.1)"),
                "lr=torch.tensor(...)",
            )
        ],
    ),
    row(
        "learning rate that is written",
        "",
        [
            helps(
                "{at} writes the learning rate as a number. Give the optimizer a tensor, "
                "lr=torch.tensor(LR) in place of lr=LR, and write into it outside of the "
                'compiled function, ["lr"].fill_(VALUE) in place of ["lr"] = VALUE. Both '
                "changes are necessary.",
                _RATE,
                _RATE.replace("lr=0.1", "lr=torch.tensor(0.1)").replace(
                    '["lr"] = rate', '["lr"].fill_(rate)'
                ),
            )
        ],
    ),
    row(
        "float",
        "",
        [
            helps(
                "The first float is a constant of the graph: pass a tensor, torch.tensor({name}), "
                "instead.",
                _FLOAT,
                """
@torch.compile(backend="eager")
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.tensor(scale)) for scale in (0.5, 1.5, 2.5)]
""",
                "{name} = torch.tensor({name})",
            ),
            helps(
                "torch.compile(dynamic=True) makes it symbolic from the first call on.",
                _FLOAT,
                _FLOAT.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
        ],
    ),
    row(
        "float that decides",
        "",
        [
            helps(
                "torch.compile(dynamic=True) makes it symbolic from the first call on. As a "
                "tensor it would break the graph where the code decides on it.",
                _TEMPERATURE,
                _TEMPERATURE.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
        ],
    ),
    row(
        "float attribute",
        "",
        [
            helps(
                "The first value of a float attribute or global is a constant of the graph: make "
                "{name} a tensor where the program sets it, torch.tensor(VALUE) in place of VALUE.",
                _ATTRIBUTE,
                _ATTRIBUTE.replace(
                    "model.scale = scale", "model.scale = torch.tensor(scale)"
                ).replace("self.scale = 0.5", "self.scale = torch.tensor(0.5)"),
            ),
            helps(
                "torch.compile(dynamic=True) makes it symbolic from the first call on.",
                _ATTRIBUTE,
                _ATTRIBUTE.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch.compile(..., dynamic=True)",
            ),
        ],
    ),
    row(
        "cache state",
        "",
        [
            helps(
                "The first call fills the cache, and later calls find it filled: one compile for "
                "each is normal and needs no action. Only a cache that is allocated before the "
                "first call, and is called with the same shapes, has one compile (with "
                "transformers, StaticCache and its early_initialization).",
                _FILLED,
                _FILLED.replace(
                    "self.is_initialized = False",
                    "self.is_initialized = True\n        self.keys = torch.zeros(1, 8, 4)",
                ),
            )
        ],
    ),
    row(
        "counter",
        "",
        [
            helps(
                "An integer attribute or global is a constant of the graph. If it changes at "
                "each call, torch compiles at each call: make it a tensor (a buffer), or keep it "
                "out of the compiled function.",
                _COUNTER,
                """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return x * self.calls

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(4)]
""",
            ),
            helps(
                "torch._dynamo.config.{setting} = True makes integer attributes of modules "
                "symbolic from the second value on; with torch.compile(dynamic=True), from the "
                "first on.",
                _COUNTER,
                "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
                + _COUNTER.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch._dynamo.config.{setting} = True",
            ),
        ],
    ),
    row(
        "counter that decides",
        "",
        [
            helps(
                "Python needs the value of {name} (for a branch, a range, an element of a list), "
                "so neither a tensor nor dynamic=True helps. Count and decide outside of the "
                "compiled function, and pass the result: as a tensor for torch.where or, with a "
                "compile for each, as True or False.",
                _PARITY_OF_COUNTER,
                """
class Model(torch.nn.Module):
    def forward(self, x, even):
        return torch.where(even, x * 2, x + 1)

model = torch.compile(Model(), backend="eager")
result = []
for calls in range(1, 5):
    result.append(model(torch.ones(3), torch.tensor((1 + calls) % 2 == 0)))
""",
            ),
        ],
    ),
    row(
        "value of each object",
        "",
        [
            helps(
                "{name} is set when its object is made, such as the index of a layer. So each "
                "object has separate compiles, and together they may reach torch's limit. "
                "Of objects that are used one after the other, such as one for each trial, these "
                "are normal. Of objects that each call uses, such as layers, compile the code "
                "that calls all of them: the module that holds them, as torch.compile(model), or "
                "a function that takes them as an argument and loops over them. torch unrolls the "
                "loop into one compile.",
                _SCALES,
                _SCALES.replace('    @torch.compile(backend="eager")\n', "")
                .replace("result = torch.ones(3)\n", "")
                .replace(
                    "for layer in layers:\n    result = layer(result, scales)",
                    '@torch.compile(backend="eager")\ndef f(x):\n    for layer in layers:\n'
                    "        x = layer(x, scales)\n    return x\n\nresult = f(torch.ones(3))",
                ),
            ),
            helps(
                "torch._dynamo.config.{setting} = True makes integer attributes of modules "
                "symbolic from the second value on; with torch.compile(dynamic=True), from the "
                "first on.",
                _LAYERS,
                "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
                + _LAYERS.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch._dynamo.config.{setting} = True",
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
    row(
        "flag",
        "",
        [
            helps(
                "Each of the two values needs separate code: one compile for each is normal. To "
                "avoid one, decide with a tensor: torch.where(flag, a, b).",
                _FLAG,
                """
@torch.compile(backend="eager")
def f(x, flag):
    return torch.where(flag, x * 2, x + 1)

result = [f(torch.ones(3), torch.tensor(flag)) for flag in (True, False)]
""",
            )
        ],
    ),
    row(
        "value",
        "",
        [
            helps(
                "If it is one of a few values (a dtype, a device), one compile for each is "
                "normal. If the code uses only a result computed from it, compute that before "
                "the call, and pass it as a tensor.",
                _VALUE,
                """
@torch.compile(backend="eager")
def f(x, size):
    return x * size

sizes = (torch.float32, torch.float64)
result = [f(torch.ones(3), torch.tensor(kind.itemsize)) for kind in sizes]
""",
            )
        ],
    ),
    row(
        "text that chooses",
        "",
        [
            helps(
                "The string selects what is computed, so one compile for each is normal and "
                "needs no action. To compile the shared code once, select outside of the "
                "compiled function.",
                _CHOOSING,
                _CHOOSING.replace("f(x, kind)", "f(x)", 1)
                .replace("heads[kind](x.sin())", "x.sin()")
                .replace("f(torch.ones(3), kind)", "heads[kind](f(torch.ones(3)))"),
            ),
        ],
    ),
    row(
        "text",
        "",
        [
            helps(
                "If the string selects what is computed, one compile for each string is normal. "
                "If the code uses only a result computed from it (its length, a number from a "
                "table), compute that before the call, and pass it as a tensor.",
                _TEXT,
                """
@torch.compile(backend="eager")
def f(x, length):
    return x * length

result = [f(torch.ones(3), torch.tensor(len(name))) for name in ("ab", "abc", "abcd")]
""",
            ),
            helps(
                "A tokenizer, or another lookup by string, belongs before the call: compile the "
                "function that takes its numbers.",
                _TOKENIZER,
                """
vocabulary = {"the": 0, "cat": 1, "sat": 2}
table = torch.arange(12.0).reshape(3, 4)

def tokenize(text):
    return torch.tensor([vocabulary[word] for word in text.split()])

@torch.compile(backend="eager", dynamic=True)
def embed(tokens):
    return table[tokens].sum(0)

result = [embed(tokenize(text)) for text in ("the cat", "the cat sat", "cat the sat the")]
""",
            ),
        ],
    ),
    row(
        "none",
        "",
        [
            helps(
                "Each of the two needs separate code: one compile for each is normal. To avoid "
                "one, replace None by a value that changes nothing (a tensor of ones or zeros, a "
                "function that returns its argument).",
                _NONE,
                """
@torch.compile(backend="eager")
def f(x, mask):
    return x * mask + 1

result = [f(torch.ones(3), torch.ones(3)), f(torch.ones(3), torch.ones(3))]
""",
            )
        ],
    ),
)

BY_KEY = {one.key: one for one in ROWS}
