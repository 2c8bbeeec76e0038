"""Rows of loops, in which torch cannot split a graph."""

from depyf.advice import helps, row

#: of a compiled function with several results, of which a round may use one alone
OF_UNUSED = (
    " In training, the parameters of a result that is not used get zeros as their gradients where "
    "they had None, and an optimizer changes them then, with momentum or weight decay."
)
_WHILE = """
@torch.compile(backend="eager")
def f(x):
    while (x * x - 2).abs().max() > 1e-4:
        x = x - (x * x - 2) / (2 * x)
    return x

result = f(torch.tensor([1.0, 3.0]))
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
#: what a break in a loop adds to the row of the break itself: torch cannot cut a graph there
LOOP = row(
    "loop",
    "It is inside a loop, where torch cannot split a graph.",
    [
        helps(
            "Make the loop's body a separate function: torch compiles that function, and splits "
            "its graph at this line. The function with the loop stays uncompiled. Leave it there "
            "to append to lists: the length of a list that the body is given takes a compile.",
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
# a function that the loop calls is compiled by itself, and the loop runs as Python
LEAVES = row(
    "loop that is left",
    "It is inside a loop, where torch cannot split a graph.",
    [
        helps(
            "Leave the loop out of the compiled function: compile a function that makes one round "
            "and returns the tensor, call it in the loop, and decide there. If the loop stays in "
            "the compiled function, torch compiles such a function by itself, too, and runs the "
            "loop around it as Python." + OF_UNUSED,
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
_ROUNDS = """
finished = []

@torch.compile(backend="eager")
def f(x):
    top = (x * 2).sin()
    done = top > 0.2
    for i in range(3):
        if done[i]:
            finished.append(top[i].item())
    return top.masked_fill(done, -1.0)

result = [f(torch.arange(3.0) + step) for step in range(3)], finished
"""
# a function of such a body would be compiled for each number that it is given, or that it keeps
ROUNDS = row(
    "loop that decides",
    "It is inside a loop, where torch cannot split a graph.",
    [
        helps(
            "Do the loop outside of the compiled function: return the tensors that it reads, and "
            "decide there. What needs the result of the loop becomes a second function; where a "
            "round computes with tensors, compile a function that does that and returns them."
            + OF_UNUSED,
            _ROUNDS,
            """
finished = []

@torch.compile(backend="eager")
def f(x):
    top = (x * 2).sin()
    done = top > 0.2
    return top, done, top.masked_fill(done, -1.0)

result = []
for step in range(3):
    top, done, masked = f(torch.arange(3.0) + step)
    for i in range(3):
        if done[i]:
            finished.append(top[i].item())
    result.append(masked)
result = result, finished
""",
        )
    ],
    ids=("GB7000",),
    reason=r"graph break in (a for/while )?loop",
)
