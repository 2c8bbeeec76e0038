"""Rows of numbers of objects and globals that a function counts up."""

from depyf.advice import helps, row

_BOUND = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.done = 0

    def forward(self, x):
        places = torch.arange(self.done, self.done + x.shape[0])
        self.done += x.shape[0]
        return x + torch.sin(places)

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(4)]
"""
_COUNT = """
import itertools

calls = itertools.count(2)

@torch.compile(backend="eager")
def f(x):
    return x * next(calls)

result = [f(torch.ones(3)) for _ in range(4)]
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
_COUNTS = """
counts = {"calls": 0, "large": 0}

@torch.compile(backend="eager")
def f(x):
    counts["calls"] += 1
    counts["large"] += 2
    return x.sum() + 1

result = [f(torch.ones(3)) for _ in range(4)]
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
_ROW_OF_BUFFER = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", torch.zeros(4, 3))
        self.at = 0

    def forward(self, x):
        self.bank[self.at] = x
        self.at = (self.at + 1) % 4
        return self.bank.sum(0)

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(4)]
"""

_SHOWS = """
@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    y = x * step
    if step % 2 == 0:
        print("an even step")
    return y + 1

result = [f(torch.ones(3), step) for step in (2, 3, 4, 5)]
"""
_PUT = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen, self.table = set(), [0.5 * k for k in range(9)]

    def forward(self, x, step):
        self.seen.add(step)
        return x * self.table[step]

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3), step) for step in (2, 3, 4, 5)]
"""
_SET = """
seen = set()

@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    seen.add(step)
    return x * step

result = [f(torch.ones(3), step) for step in (2, 3, 4, 5)]
"""
_SET_OUTSIDE = """
seen = set()

@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    return x * step

result = []
for step in (2, 3, 4, 5):
    seen.add(step)
    result.append(f(torch.ones(3), step))
"""
_DOES = """
total = torch.zeros(())

@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    y = x * step
    if step % 2 == 0:
        total.add_(y.sum())
    return y

result = [f(torch.ones(3), step) for step in (2, 3, 4, 5)] + [total]
"""
ROWS = (
    row(
        "number that decides what is done",
        "",
        [
            helps(
                "The code decides on the number what it does, so torch compiles for each side, "
                "with dynamic=True, too. To avoid one compile, decide and do it outside of the "
                "compiled function.",
                _DOES,
                """
total = torch.zeros(())

@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    return x * step

result = []
for step in (2, 3, 4, 5):
    y = f(torch.ones(3), step)
    if step % 2 == 0:
        total.add_(y.sum())
    result.append(y)
result.append(total)
""",
            ),
        ],
    ),
    row(
        "number that decides what is shown",
        "",
        [
            helps(
                "The code decides on the number whether to print or log, so torch compiles for "
                "each side, with dynamic=True, too. Decide and print or log outside of the "
                "compiled function.",
                _SHOWS,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x, step):
    return x * step + 1

result = []
for step in (2, 3, 4, 5):
    result.append(f(torch.ones(3), step))
    if step % 2 == 0:
        print("an even step")
""",
            ),
        ],
    ),
    row(
        "growing set",
        "",
        [
            helps(
                "A set that the function fills is guarded by what it holds: add to it outside of "
                "the compiled function.",
                _SET,
                _SET_OUTSIDE,
            ),
        ],
    ),
    row(
        "integer in a set",
        "",
        [
            helps(
                "The code puts {name} into a set, which needs its value. Do that outside of the "
                "compiled function, and what picks an element with it, too: pass the element.",
                _PUT,
                """
class Model(torch.nn.Module):
    def forward(self, x, factor):
        return x * factor

model = torch.compile(Model(), backend="eager")
seen, table, result = set(), [0.5 * k for k in range(9)], []
for step in (2, 3, 4, 5):
    seen.add(step)
    result.append(model(torch.ones(3), torch.tensor(table[step])))
""",
            ),
        ],
    ),
    row(
        "counter",
        "",
        [
            helps(
                "An integer attribute, global or element of a container is a constant of the "
                "graph. If it changes at each call, torch compiles at each call: make it a tensor "
                "(a buffer), or keep it out of the compiled function.",
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
                "torch._dynamo.config.{setting} = True makes integer attributes of modules, and "
                "integers in their lists and dicts, symbolic from the second value on; with "
                "torch.compile(dynamic=True), from the first on.",
                _COUNTER,
                "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
                + _COUNTER.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch._dynamo.config.{setting} = True",
            ),
        ],
    ),
    row(
        "counter in a dict",
        "",
        [
            helps(
                "A number of a dict is a constant of the graph, and as long as the function "
                "changes one of {owner}, torch may guard all of them. Change {owner} outside of "
                "the compiled function, all of its numbers.",
                _COUNTS,
                """
counts = {"calls": 0, "large": 0}

@torch.compile(backend="eager")
def f(x):
    return x.sum() + 1

result = []
for _ in range(4):
    counts["calls"] += 1
    counts["large"] += 2
    result.append(f(torch.ones(3)))
""",
            ),
        ],
    ),
    row(
        "counter that bounds",
        "",
        [
            helps(
                "An integer attribute or global is a constant of the graph. As a tensor it would "
                "break the graph at {at}, where it is a size or a bound. Keep it out of the "
                "compiled function: make what is made with it before the call, and pass that "
                "tensor.",
                _BOUND,
                """
class Model(torch.nn.Module):
    def forward(self, x, places):
        return x + torch.sin(places)

model = torch.compile(Model(), backend="eager")
result, done = [], 0
for _ in range(4):
    x = torch.ones(3)
    result.append(model(x, torch.arange(done, done + x.shape[0])))
    done += x.shape[0]
""",
            ),
            helps(
                "torch._dynamo.config.{setting} = True makes integer attributes of modules "
                "symbolic from the second value on; with torch.compile(dynamic=True), from the "
                "first on.",
                _BOUND,
                "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
                + _BOUND.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch._dynamo.config.{setting} = True",
            ),
        ],
    ),
    row(
        "counter that indexes",
        "",
        [
            helps(
                "An integer attribute is a constant of the graph, also as the index of a tensor. "
                "Make it a tensor of one element (a buffer). Write the row at it with "
                "index_copy_(0, …), and read one with index_select(0, …): with [ ], torch would "
                "still compile for each number.",
                _ROW_OF_BUFFER,
                """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", torch.zeros(4, 3))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        self.bank.index_copy_(0, self.at, x[None])
        self.at.copy_((self.at + 1) % 4)
        return self.bank.sum(0)

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(4)]
""",
            ),
            helps(
                "torch._dynamo.config.{setting} = True makes integer attributes of modules "
                "symbolic from the second value on; with torch.compile(dynamic=True), from the "
                "first on.",
                _ROW_OF_BUFFER,
                "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
                + _ROW_OF_BUFFER.replace('backend="eager"', 'backend="eager", dynamic=True'),
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
        "itertools.count",
        "",
        [
            helps(
                "torch compiles for each number at which an itertools.count stands. Advance it "
                "outside of the compiled function. If the function uses the number, pass it as an "
                "argument of a function compiled with dynamic=True.",
                _COUNT,
                """
import itertools

calls = itertools.count(2)

@torch.compile(backend="eager", dynamic=True)
def f(x, call):
    return x * call

result = [f(torch.ones(3), next(calls)) for _ in range(4)]
""",
            )
        ],
    ),
)
