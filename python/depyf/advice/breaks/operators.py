"""Rows of operators of the program's own."""

from depyf.advice import helps, row

_FAKE = """
@torch.library.custom_op("advice::before", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@torch.compile(backend="eager")
def f(x):
    return twice(x.sin()) + 1

result = f(torch.ones(3))
"""
_FAKE_OF_LIBRARY = """
library = torch.library.Library("own_library", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")

@torch.compile(backend="eager")
def f(x):
    return torch.ops.own_library.twice(x.sin()) + 1

result = f(torch.ones(3))
"""
ROWS = (
    row(
        "no fake kernel",
        "The operator `{name}` has no kernel for fake tensors, so torch cannot determine the "
        "shape of its result.",
        [
            helps(
                "Register one: `@{name}.register_fake` on a function that returns an empty "
                "tensor of the result's shape.",
                _FAKE,
                _FAKE.replace("advice::before", "advice::after").replace(
                    "\n@torch.compile",
                    "\n@twice.register_fake\ndef _(x):\n    return "
                    "torch.empty_like(x)\n\n@torch.compile",
                ),
            )
        ],
        ids=("GB4315", "GB0112", "GB0090", "GB0064", "GB0087"),
        reason=r"fake tensor|fake impl",
        where=r"no fake impl registered|register_fake",
        names=r"`(?P<name>[\w.]+)\.register_fake`",
    ),
    row(
        "no fake kernel in a library",
        "The operator `{space}::{operator}` has no kernel for fake tensors, so torch cannot "
        "determine the shape of its result.",
        [
            helps(
                'Register one: `@torch.library.register_fake("{space}::{operator}")` on a '
                "function of the same parameters that returns an empty tensor of the result's "
                "shape.",
                _FAKE_OF_LIBRARY,
                _FAKE_OF_LIBRARY.replace(
                    "\n@torch.compile",
                    '\n@torch.library.register_fake("own_library::twice")\ndef _(x):\n    return '
                    "torch.empty_like(x)\n\n@torch.compile",
                ),
            )
        ],
        ids=("GB0090",),
        reason=r"does not support running with fake",
        where=r"unsupported operator: (?!aten\.|prims?\.)",
        names=r"unsupported operator: (?P<space>\w+)\.(?P<operator>\w+)",
    ),
)
