"""Rows of lists, by their length."""

from depyf.advice import helps, row

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
_STACK = """
@torch.compile(backend="eager")
def f(tensors):
    return torch.stack(tensors).sum(0)

result = [f([torch.ones(3)] * count) for count in (2, 3, 4)]
"""
_IN_NEW_OBJECT = """
from dataclasses import dataclass, replace

@dataclass
class State:
    total: torch.Tensor
    seen: list

@torch.compile(backend="eager")
def f(state, x):
    return replace(state, total=state.total + x)

state = State(torch.zeros(3), [])
result = []
for _ in range(4):
    state = f(state, torch.ones(3))
    state.seen.append(state.total)
    result.append(state.total)
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
_CARRIED = """
@torch.compile(backend="eager")
def f(state, inputs):
    for one in inputs:
        state = torch.tanh(state + one) * 0.5
    return state

result = [f(torch.ones(3), [torch.ones(3)] * count) for count in (2, 3, 4)]
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
ROWS = (
    row(
        "length",
        "",
        [
            helps(
                "torch unrolls each loop over it, so it compiles for each length. If all "
                "elements have one shape, stack them into one tensor for all of these loops.",
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
        "length of a recurrence",
        "",
        [
            helps(
                "torch unrolls the loop over it, so it compiles for each length. Each round "
                "computes with what the one before left, so a tensor of all elements has the same "
                "loop, and padding changes the result. Compile the loop's body as a separate "
                "function, and take torch.compile off the function around the loop, which would "
                "take the body in.",
                _CARRIED,
                """
@torch.compile(backend="eager")
def body(state, one):
    return torch.tanh(state + one) * 0.5

def f(state, inputs):
    for one in inputs:
        state = body(state, one)
    return state

result = [f(torch.ones(3), [torch.ones(3)] * count) for count in (2, 3, 4)]
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
        "growing list",
        "",
        [
            helps(
                "A list or deque to which each call appends is guarded by its length, and by each "
                "number in it: append outside of the compiled function. Do not read the list "
                "inside, nor give it to an object that is made there, as dataclasses.replace does.",
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
                "A list or deque to which each call appends is guarded by its length. The "
                "function only prints or logs what it reads of the list: append and print outside "
                "of the compiled function, which returns the values to append.",
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
        "length of a list in a new object",
        "",
        [
            helps(
                "torch guards the length of a list that the function gives to an object that it "
                "makes, as dataclasses.replace does. If nothing else in the function uses the "
                "list, keep it out of what the function is given.",
                _IN_NEW_OBJECT,
                """
from dataclasses import dataclass, replace

@dataclass
class State:
    total: torch.Tensor

@torch.compile(backend="eager")
def f(state, x):
    return replace(state, total=state.total + x)

seen = []
state = State(torch.zeros(3))
result = []
for _ in range(4):
    state = f(state, torch.ones(3))
    seen.append(state.total)
    result.append(state.total)
""",
            )
        ],
    ),
    row(
        "other length",
        "",
        [
            helps(
                "A container is guarded by its length, so torch compiles for each length. If all "
                "elements have one shape, stack them into one tensor before the call.",
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
)
