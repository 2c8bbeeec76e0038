"""Rows of what a tensor is (dtype, requires_grad), and of the modes and settings of a call."""

from depyf.advice import helps, row

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
ROWS = (
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
                "calls: backward() then computes a gradient of {name}, too. Do not call "
                ".detach(): it would cut gradients that the program may need.",
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
    row("optimizer's state", "", []),
    row("training mode", "", []),  # train() and eval() each have code of their own,
)
