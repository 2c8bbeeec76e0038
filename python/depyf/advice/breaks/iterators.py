"""Rows of iterators and generators that torch does not trace."""

from depyf.advice import helps, row

_NEXT = """
batches = iter([torch.ones(3), torch.zeros(3)])

@torch.compile(backend="eager")
def f(x):
    return x + next(batches)

result = [f(torch.ones(3)) for _ in range(2)]
"""
_NDINDEX = """
import numpy
grid = numpy.ndindex(2, 2)

@torch.compile(backend="eager", dynamic=True)
def f(x):
    for row, column in grid:
        x = x * 2 + row - column
    return x

result = f(torch.ones(3))
"""
_GENERATOR = """
@torch.compile(backend="eager")
def f(x, steps):
    for step in steps:
        x = x + step
    return x

result = f(torch.ones(3), (torch.ones(3) * count for count in range(3)))
"""
ROWS = (
    row(
        "next",
        "The program calls next() on a `{name}`, and torch cannot trace how that makes its next "
        "value.",
        [
            helps(
                "Call next() before the compiled function, and pass its result.",
                _NEXT,
                _NEXT.replace("f(x)", "f(x, batch)")
                .replace("next(batches)", "batch")
                .replace("f(torch.ones(3))", "f(torch.ones(3), next(batches))"),
            ),
        ],
        ids=("GB4347", "GB9493"),
        reason=r"missing tp_iternext",
        where=r"\n> .*\bnext\(",
        names=r"next\(\) on (?P<name>\w+)|'(?P<name1>\w+)' implements '__next__'",
    ),
    row(
        "iterator that is not traced",
        "The loop iterates over a `{name}`, whose code torch does not trace.",
        [
            helps(
                "Loop over it outside of the compiled function, and compile the loop's body as a "
                "separate function.",
                _NDINDEX,
                """
import numpy
grid = numpy.ndindex(2, 2)

@torch.compile(backend="eager", dynamic=True)
def body(x, row, column):
    return x * 2 + row - column

result = torch.ones(3)
for row, column in grid:
    result = body(result, row, column)
""",
            )
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `[^`]*\.__(iter|next)__`",
        names=r"function `(?P<name>[\w.]+)\.__(?:iter|next)__`",
    ),
    row(
        "iterator",
        "The loop iterates over a `{name}`, and torch cannot trace how that makes its values.",
        [
            helps(
                "Pass list(...) of the `{name}`: torch accepts a list in place of a generator, a "
                "file or another iterator.",
                _GENERATOR,
                _GENERATOR.replace("(torch.ones(3) *", "[torch.ones(3) *").replace(
                    "range(3)))", "range(3)])"
                ),
            ),
            helps(
                "Loop over the `{name}` outside of the compiled function, and compile the loop's "
                "body as a separate function.",
                _GENERATOR,
                """
@torch.compile(backend="eager")
def body(x, step):
    return x + step

result = torch.ones(3)
for step in (torch.ones(3) * count for count in range(3)):
    result = body(result, step)
""",
            ),
        ],
        ids=("GB0116", "GB0811"),
        reason=r"missing tp_iter",
        where=r"missing tp_iter|how to wrap <class '\w*_?iterator'>",
        names=r"UserDefinedObjectVariable\((?P<name>\w+)\)|wrap <class '(?P<name1>\w+)'>",
    ),
)
