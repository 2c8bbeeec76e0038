"""What torch made of a function, as text: `dump_src`, and what the files it writes call."""

from typing import Any

__all__ = ["dump_src", "link"]


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


def link(names: Any, module: str, token: str = "", of_torch: Any = None) -> None:
    """Supplies the names that a full_code file uses; see `depyf.torch.fullcode.link`."""
    from depyf.torch.fullcode import link as implementation

    implementation(names, module, token, of_torch)
