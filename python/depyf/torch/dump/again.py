"""README.md of a dump whose program did not write it: from what the folder holds."""

import inspect
import os
import re
from typing import Any, Callable, Dict, Optional, TypeVar

from depyf import advise
from depyf.files import read_text, write_atomically
from depyf.interrupts import pass_on
from depyf.model import Artifact, Entry, Function, GraphBreak, Guard, Problem, Run
from depyf.report import document
from depyf.report.overview import nodes_of
from depyf.schema import Document
from depyf.terminal import shown
from depyf.torch.dump.folder import OVERVIEW, is_ours
from depyf.torch.dump.readme import overview
from depyf.torch.dump.readme_texts import NOT_ENDED

_Kind = TypeVar("_Kind")
#: the name of a file of a dump, as a link in Markdown may have it
_PLAIN_NAME = re.compile(r"[^/\\:()\[\]<>\s]+\Z")


def write_missing_overview(folder: str) -> Optional[str]:
    """Writes README.md of a dump of which the block has not ended, if it is not there.

    One that was written so before is written again, since the dump may have grown.

    Returns:
        The path of the file, or None where there was nothing to write.
    Raises:
        OSError: it cannot be written.
        ReportError: the folder holds no dump.
    """
    (found,) = document.load_all(folder)[:1]
    if not found["open"]:
        return None
    name = OVERVIEW
    if os.path.lexists(os.path.join(folder, name)) and not is_ours(folder, name):
        name = "depyf-" + OVERVIEW
    path = os.path.join(folder, name)
    if os.path.lexists(path) and not _says_not_ended(path):
        return None
    # whoever wrote the dump may have put controls of a terminal into it
    text = "\n".join(map(shown, overview_of(found).split("\n")))
    write_atomically(path, text, "backslashreplace")
    return path


def overview_of(found: Document) -> str:
    """README.md from a document of `depyf.report.document.load_all`."""
    run = run_of(found)
    nodes = nodes_of([found])
    advised = []
    try:
        advised = advise.Advice(found, nodes).brief()
    except Exception:
        pass_on()  # the page fails in the same way, and is told
    by_entry = {id(entry): node for entry, node in zip(run.entries(), nodes)}
    return overview(run, by_entry, advised, ended=not found["open"])


def run_of(found: Document) -> Run:
    """The run that a document of `depyf.report.document.load_all` tells of, without what lives in
    the process alone.
    """
    run = _made(Run, found)
    run.problems = [_made(Problem, row) for row in found["problems"]]
    run.unattributed = [_entry_of(row) for row in found["unattributed"]]
    run.functions = []
    for row in found["functions"]:
        function = _made(Function, row, path=_file(row["path"]))
        function.entries = [_entry_of(one) for one in row["entries"]]
        run.functions.append(function)
    return run


def _entry_of(row: Document) -> Entry:
    entry = _made(Entry, row, path=_file(row["path"]), saved=None)
    entry.guards = [_made(Guard, one) for one in row["guards"]]
    entry.breaks = [_made(GraphBreak, one) for one in row["breaks"]]
    entry.artifacts = [_made(Artifact, one, path=_file(one["path"])) for one in row["artifacts"]]
    return entry


def _made(kind: Callable[..., _Kind], row: Document, **more: Any) -> _Kind:
    """A `kind` with those of its public fields that the row has."""
    names = {name for name in inspect.signature(kind).parameters if not name.startswith("_")}
    given: Dict[str, Any] = {key: value for key, value in row.items() if key in names}
    given.update(more)
    return kind(**given)


def _file(name: Any) -> Optional[str]:
    # the name comes from the dump, which may be anybody's
    return name if isinstance(name, str) and _PLAIN_NAME.match(name) else None


def _says_not_ended(path: str) -> bool:
    try:
        return NOT_ENDED in read_text(path)
    except OSError:
        pass_on()
        return False
