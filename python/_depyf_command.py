"""Where the command `depyf` starts: beside the package, since PyPI's `depyf` has a package of the
same name. Where Python finds that one first, or its files lie over those of this one, this says so.

PYTEST_DONT_REWRITE: see `depyf`.
"""

import sys

TYPE_CHECKING = False  # as type checkers read it; `typing` is not loaded for it
if TYPE_CHECKING:
    from typing import Any, List, Optional

#: a string in `__init__.py` of this project, source or bytecode, and in no other's
_OURS = b"depyf.installed"


def main(argv: "Optional[List[str]]" = None) -> int:
    """The `depyf` command; returns its exit code, 2 where another package is in the way."""
    problem = _problem()
    if problem is None:
        from depyf.cli import main as command

        return command(argv)
    try:
        sys.stderr.write("depyf: %s\n" % problem)
    except (OSError, ValueError, AttributeError):
        pass  # standard error is closed or full
    return 2


def _problem() -> "Optional[str]":
    """Why `import depyf` is not this project; None where it is."""
    import os

    again = (
        "run `%s -m pip uninstall depyf` until none is left, and install the one you want."
        % sys.executable
    )
    spec = _spec()
    if spec is None:
        return "Python finds no package depyf; " + again
    places = list(spec.submodule_search_locations or [])
    if spec.origin in (None, "namespace"):
        where = ascii(", ".join(places))[1:-1]
        return "the package in %s is not whole: it has no __init__.py; %s" % (where, again)
    try:
        if _OURS in spec.loader.get_data(spec.origin):
            return None
    except (AttributeError, OSError):
        return None  # the module has no file: the import reports the error
    folder = ascii(os.path.dirname(spec.origin))[1:-1]
    if any(os.path.exists(os.path.join(place, "cli.py")) for place in places):
        return (
            "files of two projects lie in one folder, %s: those of PyPI's depyf over those of the "
            "implementation with a C++ core, which this command belongs to. Neither works as it "
            "should; %s" % (folder, again)
        )
    return (
        "this command belongs to the implementation with a C++ core, but Python finds another "
        "package depyf first: %s\n"
        "Only one of the two can be imported. Take that folder off sys.path (PYTHONPATH), or %s"
        % (folder, again)
    )


def _spec() -> "Any":
    """How Python finds `depyf`. importlib.util would import more than all of this file does."""
    loaded = sys.modules.get("depyf")  # `python -m depyf` has begun with it
    if loaded is not None:
        return loaded.__spec__
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find("depyf", None) if find is not None else None
        if spec is not None:
            return spec
    return None


if __name__ == "__main__":
    sys.exit(main())
