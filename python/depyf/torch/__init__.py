"""Looking into torch.compile: capture, dump, debug. Importing this package does not import torch."""

# The submodules `capture` and `debug` share their names with the public functions. They are imported here, once, and the
# functions are bound after that; inside the package write `from depyf.torch.capture import ...`, which asks sys.modules.
from depyf.torch.capture import (
    DepyfWarning,
    capture,
    explain_call,
    install,
    prepare_debug,
    uninstall,
)
from depyf.torch.debug import debug

__all__ = [
    "DepyfWarning",
    "capture",
    "debug",
    "explain_call",
    "install",
    "prepare_debug",
    "uninstall",
]
