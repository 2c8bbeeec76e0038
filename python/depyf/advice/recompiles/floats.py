"""Rows of floats, among them learning rates."""

from depyf.advice import helps, row

#: what is said of a float where a tensor in its place would break the graph
OF_TENSOR = " As a tensor it would break the graph where the code decides on it."
_DROPOUT = """
@torch.compile(backend="aot_eager")
def f(x, p):
    return torch.nn.functional.dropout(x, p)

result = []
for p in (0.25, 0.5, 0.75):
    y = f(torch.ones(8), p)
    result.append(((y == 0) | (y == 1 / (1 - p))).all())
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
_SCHEDULE = """
class State:
    def __init__(self):
        self.rate = 0.5

@torch.compile(backend="aot_eager")
def f(state, x):
    if state.rate < 0.01:
        x = x * 0
    x = x * state.rate
    state.rate *= 0.5
    return x

state = State()
result = [f(state, torch.ones(3)) for _ in range(4)] + [torch.ones(1) * state.rate]
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
ROWS = (
    row(
        "float used as a constant",
        "",
        [
            helps(
                "dynamic=True does not help: {maker} {name} a constant. Pass {tensor} {instead}.",
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
        "float that is set and decides",
        "",
        [
            helps(
                "dynamic=True does not help as long as the function sets {name}: a float that it "
                "sets becomes a Python number after the call, which is a constant of the graph. "
                "Set {name} outside of the compiled function, and give its torch.compile "
                "dynamic=True.",
                _SCHEDULE,
                _SCHEDULE.replace("    state.rate *= 0.5\n", "")
                .replace('backend="aot_eager"', 'backend="aot_eager", dynamic=True')
                .replace(
                    "result = [f(state, torch.ones(3)) for _ in range(4)]",
                    "result = []\nfor _ in range(4):\n    result.append(f(state, torch.ones(3)))\n"
                    "    state.rate *= 0.5\nresult = result",
                ),
            )
        ],
    ),
    row(
        "float attribute used as a constant",
        "",
        [
            helps(
                "dynamic=True does not help: {maker} {name} a constant. Where the program sets "
                "it, make it a tensor {instead}.",
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
                "s) * cross_entropy(x, y) - s * log_softmax(x, 1).mean() is the same, if classes "
                "have no weights and no label is ignored.",
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
        "learning rate",
        "",
        [
            helps(
                "Give the optimizer its learning rate as a tensor, lr=torch.tensor(LR) in place "
                "of lr=LR: a scheduler then changes the value of the tensor, for which "
                "nothing recompiles. Results may differ in their last digits, as the tensor has "
                "fewer than a float of Python's.",
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
                "torch.compile(dynamic=True) makes it symbolic from the first call on." + OF_TENSOR,
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
)
