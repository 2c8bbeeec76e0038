"""Rows of what tensors and modules do in a graph that torch cannot: backward, resize, copies."""

from depyf.advice import helps, row

_PARAMETER = """
@torch.compile(backend="eager")
def f(x):
    weight = torch.nn.Parameter(x * 2)
    return weight + 1

result = f(torch.ones(3)).detach()
"""
_BACKWARD = """
@torch.compile(backend="eager")
def f(x):
    (x * x).sum().backward()
    return x.grad * 2

result = f(torch.ones(3, requires_grad=True))
"""
_GRADIENT = """
@torch.compile(backend="eager")
def f(x):
    (slope,) = torch.autograd.grad((x * x).sum(), x)
    return slope * 2

result = f(torch.ones(3, requires_grad=True))
"""
_TWICE = """
@torch.compile(backend="aot_eager")
def f(x):
    (slope,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    return (slope * slope).sum()

x = torch.ones(3, requires_grad=True)
f(x).backward()
result = x.grad
"""
_OF_GRADIENTS = r"torch\.autograd\.grad` with `?torch\._dynamo\.config\.trace_autograd_ops=False"
_LEAK = """
@torch.compile(backend="eager")
def f(x):
    y = x.clone().requires_grad_()
    return y * 2

result = f(torch.ones(3)).detach()
"""
ROWS = (
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
        "backward",
        "The compiled function runs a backward pass.",
        [
            helps(
                "Call .backward() outside of the compiled function: torch compiles the backward "
                "graph of a compiled forward, too. What follows it goes with it: compile what "
                "computes there, such as the optimizer's step, by itself.",
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
        ],
        ids=("GB0123",),
        reason=r"Tensor\.backward",
    ),
    row(
        "gradient of a gradient",
        "The compiled function calls torch.autograd.grad with create_graph=True.",
        [
            helps(
                "torch.func.grad(function)(x), where function(x) is the sum, keeps it in the "
                "graph.",
                _TWICE,
                """
@torch.compile(backend="aot_eager")
def f(x):
    slope = torch.func.grad(lambda one: (one ** 3).sum())(x)
    return (slope * slope).sum()

x = torch.ones(3, requires_grad=True)
f(x).backward()
result = x.grad
""",
            ),
        ],
        ids=("GB9186",),
        reason=_OF_GRADIENTS,
        where=r"\? creates a graph of the gradient",
    ),
    row(
        "gradient",
        "The compiled function calls torch.autograd.grad.",
        [
            # not trace_autograd_ops: torch then traces .backward() as well, and of a loss that came
            # into the graph from outside it traces nothing, so that no parameter has a gradient
            helps(
                "Return what is differentiated, and call torch.autograd.grad outside of the "
                "compiled function: torch compiles the backward graph of a compiled forward, too.",
                _GRADIENT,
                """
@torch.compile(backend="eager")
def f(x):
    return (x * x).sum()

x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad(f(x), x)
result = slope * 2
""",
            ),
        ],
        ids=("GB9186",),
        reason=_OF_GRADIENTS,
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
                "torch._dynamo.config.allow_rnn = True adds them to the graphs where no gradient "
                "is computed. Of an LSTM that is trained, torch may raise an exception then.",
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
