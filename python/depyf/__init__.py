"""depyf: decompile Python bytecode, and see what torch.compile makes of a program.

Importing this package loads neither torch nor anything slow: names are fetched when first used.

PYTEST_DONT_REWRITE: it has a plugin of pytest, which warns of a plugin's modules that are imported
before it starts, as under `depyf run -m pytest`, unless they say this.
"""

import sys

from depyf import own

TYPE_CHECKING = False  # as type checkers read it; `typing` is not loaded for it
if TYPE_CHECKING:
    from typing import Any

    from depyf import (
        cli as cli,
    )
    from depyf import (
        code_transform as code_transform,
    )
    from depyf import (
        decompiler as decompiler,
    )
    from depyf import (
        explain as explain,
    )
    from depyf import (
        optimization as optimization,
    )
    from depyf import (
        recompile as recompile,
    )
    from depyf import (
        torch as torch,
    )
    from depyf import (
        utils as utils,
    )
    from depyf.decompiler import (
        CompareResult,
        DecompilationError,
        Decompiler,
        compare,
        decompile,
        disassemble,
    )
    from depyf.installed import __version__
    from depyf.torch.capture import capture, explain_call, install, prepare_debug, uninstall
    from depyf.torch.debug import debug
    from depyf.torch.expect import expect
    from depyf.torch.numbers import compare_stages, find_nonfinite
    from depyf.torch.profile import profile

__all__ = [
    "CompareResult",
    "DecompilationError",
    "Decompiler",
    "__version__",
    "capture",
    "compare",
    "compare_stages",
    "debug",
    "decompile",
    "disassemble",
    "expect",
    "explain_call",
    "find_nonfinite",
    "install",
    "prepare_debug",
    "profile",
    "uninstall",
]

# Public name -> module that holds it.
_LAZY = {
    "CompareResult": "depyf.decompiler",
    "DecompilationError": "depyf.decompiler",
    "Decompiler": "depyf.decompiler",
    "__version__": "depyf.installed",
    "compare": "depyf.decompiler",
    "decompile": "depyf.decompiler",
    "disassemble": "depyf.decompiler",
}
# The same for names that need torch.
_LAZY_TORCH = {
    "capture": "depyf.torch",
    "compare_stages": "depyf.torch.numbers",
    "debug": "depyf.torch",
    "expect": "depyf.torch.expect",
    "explain_call": "depyf.torch",
    "find_nonfinite": "depyf.torch.numbers",
    "install": "depyf.torch",
    "prepare_debug": "depyf.torch",
    "profile": "depyf.torch.profile",
    "uninstall": "depyf.torch",
}
_LAZY_MODULES = (
    "cli",
    "code_transform",
    "decompiler",
    "explain",
    "optimization",
    "recompile",
    "torch",
    "utils",
)


def _fetch(name: str) -> "Any":
    module = _LAZY.get(name) or _LAZY_TORCH.get(name)
    if module is None and name not in _LAZY_MODULES:
        raise AttributeError("module 'depyf' has no attribute %r" % name)
    # A plain `import depyf.x` would bind `depyf.recompile` to the module and hide the function of
    # that name, so modules are reached through importlib and the result is stored here.
    import importlib

    if module is None:
        return importlib.import_module("depyf." + name)
    try:
        value = getattr(importlib.import_module(module), name)
    except ImportError as error:
        if name not in _LAZY_TORCH or (error.name or "").split(".")[0] != "torch":
            raise
        raise ImportError(
            "depyf.%s needs PyTorch, which is not installed for %s; install it with "
            "`pip install torch` (2.2 or later; faster with --no-compile)" % (name, sys.executable),
            name=error.name,
        ) from error
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker sees the imports above, and what they lack is a mistake
    __getattr__ = _fetch


# before the program puts functions of its own in their place
own.remember()


def __dir__() -> "list[str]":
    return sorted(__all__)
