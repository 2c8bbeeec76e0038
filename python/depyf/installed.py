"""Which depyf an environment holds: its compiled part and version, and whether this project or the
one that has the name on PyPI.

`depyf --version` loads this module, so it imports little.
"""

import os
import sys

from depyf import paths

try:
    from depyf import _core as _core
except ImportError as _error:
    # a library that it needs may be what is missing: the message has that one's name alone
    if "_core" not in "%s %s" % (_error, _error.name):
        raise
    _here = os.path.dirname(os.path.abspath(__file__))
    if not os.path.isdir(_here):
        _advice = "Python cannot load an extension module from a zip file: unpack it"
    elif "subinterpreters" in str(_error):
        _advice = "CPython 3.12 loads it in the main interpreter alone, 3.13 and later in each"
    elif "failed to map segment" in str(_error):
        _advice = "is this folder on a file system that is mounted with `noexec`?"
    else:
        _advice = (
            "install the package with pip, from a wheel for this system (manylinux for glibc, "
            "musllinux for musl) or from a checkout"
        )
    raise ImportError(
        "depyf's compiled part depyf._core cannot be loaded from %s (%s); %s"
        % (_here, _error, _advice)
    ) from _error

TYPE_CHECKING = False  # as type checkers read it; `typing` takes longer to load than all of this
if TYPE_CHECKING:
    from typing import List, Set, Tuple

__version__ = _core.__version__


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


def _others(here: str) -> "List[Tuple[str, str]]":
    """(version, folder) of each distribution named depyf but the one that `here` belongs to."""
    if _alone(here):
        return []
    found = set()
    for version, folder in _distributions():
        # an editable installation has its metadata apart from the package
        is_package = os.path.isfile(os.path.join(folder, "__init__.py"))
        if version != __version__ or (is_package and not _same(folder, here)):
            found.add((version, folder))
    return sorted(found)


def _distributions() -> "List[Tuple[str, str]]":
    """(version, folder) of each distribution named depyf."""
    try:
        from importlib.metadata import distributions
    except ImportError:  # 3.7
        return [
            (name[len("depyf-") : -len(".dist-info")], os.path.join(place, "depyf"))
            for place in sys.path
            if os.path.isdir(place or ".")
            for name in os.listdir(place or ".")
            if name.startswith("depyf-") and name.endswith(".dist-info")
        ]
    found = distributions(name="depyf")
    return [(one.version, str(one.locate_file("depyf"))) for one in found]


def _alone(here: str) -> bool:
    """Whether names of folders alone tell that only the distribution of `here` is installed.

    importlib.metadata takes three times as long to load as Python to start.
    """
    if any(
        hasattr(finder, "find_distributions")
        and getattr(finder, "__name__", "") != "PathFinder"  # of CPython, for folders and archives
        for finder in sys.meta_path
    ):
        return False
    own = os.path.join(os.path.dirname(here), "depyf-%s.dist-info" % __version__)
    seen: "Set[str]" = set()
    for place in sys.path:
        place = paths.real(place or ".")
        if place in seen:
            continue
        seen.add(place)
        try:
            names = os.listdir(place)
        except NotADirectoryError:  # an archive may hold distributions
            return False
        except OSError:
            continue
        for name in names:
            lowered = name.lower()
            if (
                lowered.startswith("depyf")
                and lowered.endswith(("-info", ".egg"))
                and not _same(os.path.join(place, name), own)
            ):
                return False
            if lowered == "egg-info" or lowered.endswith(".egg"):
                return False
    return True


def _same(one: str, other: str) -> bool:
    return paths.real(one) == paths.real(other)
