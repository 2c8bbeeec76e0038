"""Which depyf an environment holds: this project, or the one that has the name on PyPI."""

import os
import sys
from typing import List, Tuple

from depyf import __version__


def description() -> str:
    """The answer of `depyf --version`: version, project and folder; and what else is installed.

    The original project has the same distribution and package name, so that an installation that
    went past pip (`--target`, a copied folder, conda beside pip) can leave parts of both.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    lines = [
        "depyf " + __version__,
        "the implementation with a C++ core, in %s; PyPI's depyf is another project" % here,
    ]
    for version, folder in _others(here):
        lines.append(
            "warning: depyf %s is installed, too, in %s; only one can be imported: "
            "run `%s -m pip uninstall depyf` until none is left, then install the one you want"
            % (version, folder, os.path.basename(sys.executable))
        )
    return "\n".join(lines)


def _others(here: str) -> List[Tuple[str, str]]:
    """(version, folder) of each distribution named depyf but the one that `here` belongs to."""
    try:
        from importlib.metadata import distributions
    except ImportError:  # 3.7
        return []
    found = set()
    for distribution in distributions(name="depyf"):
        folder = str(distribution.locate_file("depyf"))
        if distribution.version != __version__ or not _same(folder, here):
            found.add((distribution.version, folder))
    return sorted(found)


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
