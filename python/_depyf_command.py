"""Where the command `depyf` starts: beside the package, since PyPI's `depyf` has a package of the
same name. Where Python finds that one first, this says so.
"""

import sys

TYPE_CHECKING = False  # as type checkers read it; `typing` is not loaded for it
if TYPE_CHECKING:
    from typing import List, Optional


def main(argv: "Optional[List[str]]" = None) -> int:
    """The `depyf` command; returns its exit code, 2 where another package is in the way."""
    try:
        from depyf.cli import main as command
    except ImportError:
        other = _other()
        if other is None:
            raise
        sys.stderr.write(
            "depyf: this command belongs to the implementation with a C++ core, but Python finds "
            "another package depyf first: %s\n"
            "Only one of the two can be imported. Take that folder off sys.path (PYTHONPATH), or "
            "run `%s -m pip uninstall depyf` until none is left, and install the one you want.\n"
            % (ascii(other)[1:-1], sys.executable)
        )
        return 2
    return command(argv)


def _other() -> "Optional[str]":
    """The folder of a package depyf that has no such command; None where there is none."""
    import os
    from importlib.util import find_spec

    try:
        spec = find_spec("depyf")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    folder = os.path.dirname(spec.origin)
    return None if os.path.exists(os.path.join(folder, "cli.py")) else folder


if __name__ == "__main__":
    sys.exit(main())
