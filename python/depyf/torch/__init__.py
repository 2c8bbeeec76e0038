"""Capture, dump and debug torch.compile.

Importing this package does not import torch.
"""

# The submodules `capture` and `debug` share their names with the public functions. They are
# imported here, once, and the functions are bound after that; inside the package write `from
# depyf.torch.capture import ...`, which asks sys.modules.
from depyf import model, own, report
from depyf.torch import dump, notebook
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

model.Writers.dump = staticmethod(dump.dump_run)
model.Writers.page = staticmethod(report.build)
model.Writers.run_html = staticmethod(notebook.run_html)
model.Writers.function_html = staticmethod(notebook.function_html)
model.Writers.entry_html = staticmethod(notebook.entry_html)
model.Writers.advice = staticmethod(notebook.advice)
own.keep()
