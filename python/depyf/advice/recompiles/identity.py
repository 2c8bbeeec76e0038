"""Recompiles for an object other than before, by identity."""

from depyf.advice import helps, row

_OBJECT = """
@torch.compile(backend="eager")
def f(x, function):
    return function(x) + 1

result = [f(torch.ones(3), eval("lambda x: x * 2")) for _ in range(3)]
"""
_TWICE = """
@torch.compile(backend="eager")
def f(x, h, c):
    return x * h + c

zeros = torch.zeros(3)
result = [f(torch.ones(3), *pair) for pair in ((zeros, zeros), (torch.ones(3), torch.zeros(3)))]
"""
_OPTIMIZERS = """
first, second = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.zeros(2))
optimizers = [torch.optim.SGD([one], lr=0.1) for one in (first, second)]

@torch.compile(backend="eager")
def step(optimizer):
    optimizer.step()

for one, optimizer in zip((first, second), optimizers):
    one.grad = torch.ones_like(one)
    step(optimizer)
result = [first.detach(), second.detach()]
"""
_FREED = """
weight = torch.nn.Parameter(torch.ones(3))

@torch.compile(backend="eager")
def step(optimizer):
    optimizer.step()

for _ in range(3):
    weight.grad = torch.ones(3)
    step(torch.optim.SGD([weight], lr=0.1))
result = weight.detach()
"""

ROWS = (
    row(
        "object",
        "",
        [
            helps(
                "If the program makes an object (module, function, callable) for each call, keep "
                "one. Of objects that exist side by side, each has a compile of its own, which is "
                "normal.",
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
        "one object for two",
        "",
        [
            helps(
                "Code for one object that is passed twice does not fit two. Pass two at each call: "
                "of a tensor that is not changed in place, a clone.",
                _TWICE,
                _TWICE.replace("(zeros, zeros)", "(zeros, zeros.clone())"),
            )
        ],
    ),
    row(
        "another optimizer",
        "",
        [
            helps(
                "Each optimizer has a compile of its own, which is normal and needs no action. "
                "Optimizers of one class that step together can be one, with a parameter group "
                "for each: that takes one compile.",
                _OPTIMIZERS,
                """
first, second = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.zeros(2))
both = torch.optim.SGD([{"params": [first]}, {"params": [second]}], lr=0.1)

@torch.compile(backend="eager")
def step(optimizer):
    optimizer.step()

for one in (first, second):
    one.grad = torch.ones_like(one)
step(both)
result = [first.detach(), second.detach()]
""",
            )
        ],
    ),
    row(
        "object that was freed",
        "",
        [
            helps(
                "The compiled code was for one object, which the program dropped and made again. "
                "Make it once, before the compiled function is called for the first time, and keep "
                "it. An object that is kept keeps its state, too, such as an optimizer's momentum.",
                _FREED,
                _FREED.replace(
                    "\nfor _", "\noptimizer = torch.optim.SGD([weight], lr=0.1)\nfor _"
                ).replace("step(torch.optim.SGD([weight], lr=0.1))", "step(optimizer)"),
            )
        ],
    ),
)
