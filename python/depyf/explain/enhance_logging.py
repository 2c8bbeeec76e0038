"""`install` and `uninstall` under the name of the module that held them in the original."""

from depyf.torch import install, uninstall

__all__ = ["install", "uninstall"]
