"""Rows of functions that torch has no tensor for: of numpy, of math, texts, seeds, and those
that are disabled.
"""

from depyf.advice import helps, row

_INTERP = """
import numpy

@torch.compile(backend="eager")
def f(x):
    y = torch.from_numpy(numpy.interp((x + 1).numpy(), [0, 1, 2], [0, 10, 20]))
    return y * 2

result = f(torch.ones(3))
"""
_BETA = """
import numpy
numpy.random.seed(0)

@torch.compile(backend="eager")
def f(x, y):
    share = float(numpy.random.beta(0.5, 0.5))
    return x * share + y * (1 - share)

result = [f(torch.ones(3), torch.zeros(3)) for _ in range(3)]
"""
_FACTORIAL = """
import math

@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    y = x + 1
    return y / math.factorial(count)

result = [f(torch.ones(3), count) for count in (3, 4)]
"""
_GOOD = """
import math

@torch.compile(backend="eager")
def f(x):
    total = x.sum()
    value = total.item()
    good = math.isfinite(value)
    return total * 2, good

result = [f(torch.full((2,), size)) for size in (3.0, 4.0, 5.0)]
"""
_DISABLED = """
@torch.compiler.disable
def helper(x):
    return x.tanh()

@torch.compile(backend="eager")
def f(x):
    return helper(x + 1) * 2

result = f(torch.ones(3))
"""
FORMAT = """
@torch.compile(backend="eager", dynamic=True)
def f(x, count):
    y = x + 1
    name = "step %d" % count
    return y * 2, name

result = [f(torch.ones(3), count)[0] for count in (2, 3)]
"""
FORMATTED_OUTSIDE = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    y = x + 1
    return y * 2

result = [(f(torch.ones(3)), f"step {count}")[0] for count in (2, 3)]
"""
_SORT = """
@torch.compile(backend="eager", dynamic=True)
def f(xs):
    xs.sort(key=lambda x: x.shape[0])
    return torch.cat(xs) * 2

result = [f([torch.arange(left), torch.arange(right)]) for left, right in ((3, 2), (4, 5))]
"""
ROWS = (
    # a method may give another result at each call: a custom operator must not hold it
    row(
        "method of numpy",
        "torch has no equivalent of `{called}`, so the graph cannot contain the call.",
        [
            helps(
                "Call `{called}` before the compiled function, and pass its result, a number as "
                "a tensor: torch.tensor(...). Do not make it a custom operator if it draws "
                "random numbers or depends on more than its arguments: torch may merge equal "
                "calls.",
                _BETA,
                """
import numpy
numpy.random.seed(0)

@torch.compile(backend="eager")
def f(x, y, share):
    return x * share + y * (1 - share)

result = []
for _ in range(3):
    share = torch.tensor(float(numpy.random.beta(0.5, 0.5)))
    result.append(f(torch.ones(3), torch.zeros(3), share))
""",
            )
        ],
        ids=("GB0294",),
        reason=r"numpy function unsupported",
        where=r"numpy function:? <(bound|built-in) method|\n> .*\b(np|numpy)\.random\.",
    ),
    row(
        "numpy function",
        "torch has no equivalent of `{called}`, so the graph cannot contain the call.",
        [
            helps(
                "If the result depends only on the arguments (no random numbers, no file), wrap "
                "the call in a custom operator: torch.library.custom_op, with register_fake for "
                "the shape of its result. The graph can contain that operator. Otherwise do not, "
                "because torch may merge equal calls.",
                _INTERP,
                """
import numpy

@torch.library.custom_op("advice::interpolated", mutates_args=())
def interpolated(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(numpy.interp(x.numpy(), [0, 1, 2], [0, 10, 20]))

@interpolated.register_fake
def _(x):
    return torch.empty_like(x, dtype=torch.float64)

@torch.compile(backend="eager")
def f(x):
    return interpolated(x + 1) * 2

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0294",),
        reason=r"numpy function unsupported",
        names=r"<(?:function|ufunc|class|built-in function) '?(?P<name>[\w.]+)",
    ),
    row(
        "function of a computed number",
        "The graph cannot contain `{called}` of a number that changes from call to call.",
        [
            helps(
                "Return what the number is computed from, and call `{called}` outside of the "
                "compiled function. What needs its result becomes a second function.",
                _GOOD,
                """
import math

@torch.compile(backend="eager")
def f(x):
    total = x.sum()
    return total * 2, total

result = []
for size in (3.0, 4.0, 5.0):
    doubled, total = f(torch.full((2,), size))
    result.append((doubled, math.isfinite(total.item())))
""",
            )
        ],
    ),
    row(
        "function of a number",
        "The graph cannot contain `{called}` of a number that changes from call to call.",
        [
            helps(
                "Call `{called}` before the compiled function, and pass its result.",
                _FACTORIAL,
                """
import math

@torch.compile(backend="eager", dynamic=True)
def f(x, product):
    y = x + 1
    return y / product

result = [f(torch.ones(3), math.factorial(count)) for count in (3, 4)]
""",
            )
        ],
        ids=("GB0208",),
        reason=r"op returned non-Tensor",
        where=r"\n> .*\bmath\.\w+\(",
        names=r"\n> .*?\b(?P<name>math\.\w+)\(",
    ),
    row(
        "sort",
        "Python sorts by a key that is a tensor, or a size that changes from call to call.",
        [
            helps(
                "Sort outside of the compiled function, and pass the sorted list.",
                _SORT,
                _SORT.replace("    xs.sort(key=lambda x: x.shape[0])\n", "").replace(
                    "f([torch.arange(left), torch.arange(right)])",
                    "f(sorted([torch.arange(left), torch.arange(right)], key=len))",
                ),
            )
        ],
        ids=("GB0207",),
        reason=r"^sort with non-constant keys",
    ),
    row(
        "text of a number",
        "The program makes a string of a number that changes from call to call, and the graph "
        "cannot contain that.",
        [
            helps(
                "Make the string outside of the compiled function, before or after the call.",
                FORMAT,
                FORMATTED_OUTSIDE,
            )
        ],
        ids=("GB0021", "GB0059", "GB0088", "GB6053"),
        reason=r"^BUILD_STRING type error|^Observed exception$",
        where=r"^BUILD_STRING"
        r"|^(?!Failed to trace builtin)(?s:.*)\n> .*([\"']\s*%\s*[\w(]|[\"']\.format\()"
        r"|builtin operator `(str|repr|format)` with argument types \['(int|float)'\]"
        r"|SymNodeVariable has tp_repr\b",
    ),
    row(
        "seed",
        "`{name}` changes the state of torch's random number generator, which torch does not "
        "trace.",
        [
            helps(
                "Call `{name}` before the compiled function.",
                """
@torch.compile(backend="eager")
def f(x):
    torch.manual_seed(0)
    return x + 1

result = f(torch.ones(3))
""",
                """
@torch.compile(backend="eager")
def f(x):
    return x + 1

torch.manual_seed(0)
result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0007", "GB0008", "GB7650"),
        reason=r"marked as skipped|torch\.Generator method",
        where=r"function `(manual_seed|seed)`|torch\.Generator\.\w+\(\)",
        names=r"function `(?P<name1>manual_seed|seed)`|(?P<name2>torch\.Generator\.\w+)\(\)",
    ),
    row(
        "disabled",
        "torch.compiler.disable excludes `{name}` from compilation.",
        [
            helps(
                "Remove torch.compiler.disable from `{name}`, if the reason for it no longer "
                "exists.",
                _DISABLED,
                _DISABLED.replace("@torch.compiler.disable\n", ""),
            ),
            helps(
                "Move the call out of the compiled function.",
                _DISABLED,
                """
@torch.compiler.disable
def helper(x):
    return x.tanh()

@torch.compile(backend="eager")
def first(x):
    return x + 1

@torch.compile(backend="eager")
def second(x):
    return x * 2

result = second(helper(first(torch.ones(3))))
""",
            ),
        ],
        ids=("GB0098", "GB0099"),
        reason=r"torch\.compiler\.disable",
        names=r"function `?<(?:function|bound method) (?P<name>[\w.<>]+)",
    ),
)
