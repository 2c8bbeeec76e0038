"""`prepare_debug` and `debug` under the name of the module that held them in the original."""

from depyf.torch import debug, prepare_debug

__all__ = ["debug", "prepare_debug"]
