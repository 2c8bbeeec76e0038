"""`install` and `uninstall` under the name of the module that held them in the original, and the
bytecode hook that they stand for.
"""

import types

from depyf.torch import install, uninstall
from depyf.torch.capture.hub import log_source

__all__ = ["install", "pytorch_bytecode_src_hook", "uninstall"]


def pytorch_bytecode_src_hook(code: types.CodeType, new_code: types.CodeType) -> None:
    """A bytecode hook of torch that writes the source of `new_code` into torch's log of bytecode
    (TORCH_LOGS=+bytecode), and replaces nothing.
    """
    log_source(new_code, {})
