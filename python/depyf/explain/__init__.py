"""What torch made of a function, as text: `dump_src`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from depyf.explain import enable_debugging as enable_debugging
    from depyf.explain import enhance_logging as enhance_logging

__all__ = ["dump_src"]


def _fetch(name: str) -> Any:
    # both need torch, and are reached as attributes by programs written for the original
    if name in ("enable_debugging", "enhance_logging"):
        import importlib

        return importlib.import_module("depyf.explain." + name)
    raise AttributeError("module 'depyf.explain' has no attribute %r" % name)


if not TYPE_CHECKING:
    __getattr__ = _fetch


def dump_src(original_code: Any, module: Any) -> str:
    """The text of `full_code_for_<function>` for a function that torch.compile has compiled in this
    process.

    Args:
        original_code: the function, or its code object as it was before torch.compile.
        module: the module, or its globals, in which torch installed graphs and resume functions.
    Returns:
        Python source: a dispatcher, and for each compiled entry its guards and its transformed
        code.
    Raises:
        ImportError: torch is not installed.
        TypeError: the first argument has no code object.
        ValueError: torch has compiled nothing for it.
    """
    from depyf.torch.explain import dump_src as implementation

    return implementation(original_code, module)


def _link(names: Any, module: str, token: str = "", of_torch: Any = None) -> None:
    """What a full_code file calls, so that its names are there; see `depyf.torch.fullcode.link`."""
    from depyf.torch.fullcode import link as implementation

    implementation(names, module, token, of_torch)
