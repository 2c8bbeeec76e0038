"""Rows of compiles as a whole: the limit, nothing to compile, tools that are missing, the
backend.
"""

from depyf.advice import helps, row

_BACKEND = """
def lowered(graph, inputs):
    raise RuntimeError("this backend cannot lower the graph")

@torch.compile(backend=lowered)
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NO_COMPILER = """
import torch._inductor.config

torch._inductor.config.cpp.cxx = ("no-such-compiler",)

@torch.compile
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NO_HEADERS = """
from torch._inductor.exc import CppCompileError

def lowered(graph, inputs):
    raise CppCompileError(["g++"], "x.cpp:1: fatal error: Python.h: No such file or directory")

@torch.compile(backend=lowered)
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NO_TRITON = """
def lowered(graph, inputs):
    raise RuntimeError("Cannot find a working triton installation.")

@torch.compile(backend=lowered)
def f(x):
    return x.sin() + 1

result = f(torch.ones(3))
"""
_NOTHING_ON_A_SIDE = """
import random

limit = [2.0]

@torch.compile(backend="eager")
def f(x):
    if random.random() < limit[0]:
        return 0
    return x * 2

result = [f(torch.ones(3))]
limit[0] = -1.0
result.append(f(torch.ones(3)))
"""
_NOTHING = """
@torch.compile(backend="eager")
def f(values, step):
    return [value + step for value in values]

counts = f([1, 2], 3)
result = f([torch.ones(3)], 3)
"""
_NOTHING_ANY_MORE = """
@torch.compile(backend="eager", dynamic=False)
def f(x, k):
    return x if k == 2 else x + k

result = [f(torch.ones(3), k) for k in (3, 2, 3)]
"""
ROWS = (
    row(
        "limit",
        "The function reached torch's recompile limit: calls that fit none of its compiles run "
        "uncompiled.",
        [
            helps(
                "Remove the cause of the recompiles (`depyf run --recompiles` lists it): a "
                "higher limit only delays this.",
                """
torch._dynamo.config.recompile_limit = 2

@torch.compile(backend="eager")
def f(x, name):
    return x + len(name)

result = [f(torch.ones(3), "n" * size) for size in range(2, 6)]
""",
                """
torch._dynamo.config.recompile_limit = 2

@torch.compile(backend="eager", dynamic=True)
def f(x, length):
    return x + length

result = [f(torch.ones(3), len("n" * size)) for size in range(2, 6)]
""",
            )
        ],
        ids=("GB0039",),
        reason=r"recompile[_ ]limit|cache_size_limit",
    ),
    row(
        "nothing to compile",
        "The call that torch traced has no operation on tensors to compile. torch runs the "
        "function as plain Python from then on, also for calls with tensors.",
        [
            helps(
                "If later calls compute with tensors, let such a call be the first one, and call "
                "the function without torch.compile for calls without tensors.",
                _NOTHING,
                """
def plain(values, step):
    return [value + step for value in values]

f = torch.compile(plain, backend="eager")
counts = plain([1, 2], 3)
result = f([torch.ones(3)], 3)
""",
            )
        ],
        reason=r"^nothing to compile$",
    ),
    row(
        "nothing to compile any more",
        "The call that torch traced has no operation on tensors to compile. torch runs the "
        "function as plain Python from then on, and none of the compiles that it made before.",
        [
            helps(
                "Decide in front of the compiled function: call it only where it has tensors to "
                "compute with.",
                _NOTHING_ANY_MORE,
                """
@torch.compile(backend="eager", dynamic=False)
def f(x, k):
    return x + k

x = torch.ones(3)
result = [x if k == 2 else f(x, k) for k in (3, 2, 3)]
""",
            )
        ],
        reason=r"^nothing to compile, and what was compiled before no longer runs$",
    ),
    row(
        "nothing to compile on a side",
        "The first call took a side of this branch that has nothing to compile. torch runs the "
        "rest of the function as plain Python from then on: {other} is never compiled.",
        [
            helps(
                "Decide before the call, and compile what {other} computes as a separate "
                "function; or let the first call take that side.",
                _NOTHING_ON_A_SIDE,
                """
import random

@torch.compile(backend="eager")
def f(x):
    return x * 2

result = [0 if random.random() < limit else f(torch.ones(3)) for limit in (2.0, -1.0)]
""",
            )
        ],
        reason=r"^nothing to compile, and line \d+ is never compiled$",
        names=r"nothing to compile, and (?P<other>line \d+) is never compiled",
    ),
    row(
        "no compiler",
        "Inductor needs a C++ compiler for its kernels (Triton needs one for C), and found none.",
        [
            helps(
                "Install g++ or clang++ (set CXX and CC if they are not in PATH), or run without "
                'Inductor: torch.compile(..., backend="aot_eager"), or depyf run --backend '
                "aot_eager.",
                _NO_COMPILER,
                _NO_COMPILER.replace("@torch.compile", '@torch.compile(backend="aot_eager")'),
                'torch.compile(..., backend="aot_eager")',
            )
        ],
        reason=r"InvalidCxxCompiler|Failed to find C compiler",
    ),
    row(
        "no Python.h",
        "Inductor needs Python's header files to compile its kernels, and they are not installed.",
        [
            helps(
                "Install them (Debian and Ubuntu: python3-dev; Fedora: python3-devel), or run "
                'without Inductor: torch.compile(..., backend="aot_eager"), or depyf run '
                "--backend aot_eager.",
                _NO_HEADERS,
                _NO_HEADERS.replace("backend=lowered", 'backend="aot_eager"'),
                'torch.compile(..., backend="aot_eager")',
            )
        ],
        reason=r"fatal error: '?Python\.h",
    ),
    row(
        "no Triton",
        "Inductor makes its kernels for GPUs with Triton, and found no Triton that works.",
        [
            helps(
                "Install the one that this PyTorch was built for (pip install triton), or run "
                'without Inductor: torch.compile(..., backend="aot_eager"), or depyf run '
                "--backend aot_eager.",
                _NO_TRITON,
                _NO_TRITON.replace("backend=lowered", 'backend="aot_eager"'),
                'torch.compile(..., backend="aot_eager")',
            )
        ],
        reason=r"Cannot find a working triton installation",
    ),
    row(
        "backend",
        "The backend raised an exception.",
        [
            helps(
                'Try backend="eager", then "aot_eager": the first one that fails, too, shows '
                "which part of torch fails.",
                _BACKEND,
                _BACKEND.replace("backend=lowered", 'backend="eager"'),
                'torch.compile(..., backend="eager")',
            )
        ],
        reason=r"^BackendCompilerFailed",
    ),
)
