"""The folder of a dump: which files in it are of one, who writes there now, and what the blocks of
a process share.
"""

import contextlib
import os
import re
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Set

from depyf.files import MANIFEST_LIMIT, parse_json, read_text
from depyf.interrupts import pass_on
from depyf.schema import MANIFEST, SCHEMA

OVERVIEW = "README.md"
#: spaces after the first manifests: room to say in it why a dump is not complete, for which a full
#: disk has no block
ROOM_FOR_WHY = 1000
_OURS = re.compile(
    r"^(__compiled_fn_\d+(_\w+)?\..+|__compile_\w+\..+|__transformed_code_\d+_for_.+\.(py|txt)"
    r"|full_code_for_.+_\d+\.py|Captured_Graph\.tables\.txt"
    r"|depyf(\.\d+)?\.json|depyf\.\d+\.jsonl|(depyf-)?README(\.\d+)?\.md|\.depyf-.*)$"
)
TITLE = "# What torch.compile made"
#: files that are rewritten many times; their content is counted when it is captured
OFTEN = re.compile(r"^(depyf(\.\d+)?\.json|(depyf-)?README(\.\d+)?\.md|full_code_for_.+)$")


class Shared:
    """What the blocks that write to one folder in one process share: names and numbers in use, and
    whose depyf.json is.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.begun = time.time()
        self.lock = threading.RLock()
        self.claimed: Set[str] = set()
        self.numbers: Dict[str, int] = {}
        self.blocks = 0
        self.size = 0  # of what was written and of what the manifest holds
        self.overview = "README"
        self.written: Dict[int, str] = {}  # block -> the name under which its manifest stands now
        self.texts: Dict[str, int] = {}  # file of an artifact -> hash of its text
        self.journals: Dict[int, str] = {}  # open block -> the file that holds what it has seen

    def forget(self) -> None:
        """Forgets the files, which somebody has removed; the numbers go on, since code that still
        runs may have come from them.
        """
        self.claimed.clear()
        self.texts.clear()
        self.written.clear()
        self.size = 0

    def earlier(self, block: int) -> List[str]:
        """Manifests of blocks that were entered before `block`. One that was entered later and has
        written its manifest already lay inside it, so that `block` has recorded all of it, too.
        """
        return [
            name for one, name in sorted(self.written.items()) if one < block and name != MANIFEST
        ]


#: by real path; a forked process writes to folders of its own
_used_here: Dict[str, Shared] = {}
#: held by who takes a folder
used_lock = threading.Lock()


def shared_of(folder: str) -> Optional[Shared]:
    """What the blocks of this process share there; None where none has written there."""
    found = _used_here.get(os.path.realpath(folder))
    return found if found is not None and found.process == os.getpid() else None


def take(folder: str) -> Shared:
    """Begins a dump of this process in a folder."""
    shared = _used_here[os.path.realpath(folder)] = Shared()
    return shared


def forget_removed() -> None:
    """Forgets folders that are gone."""
    # Programs that dump into temporary folders. Not all are looked at for each block, since most
    # may still exist: the two latest, and in turn two of the others.
    paths = list(_used_here)
    for path in paths[-2:] + paths[:-2][:2]:
        shared = _used_here[path]
        if not shared.journals and not os.path.isdir(path):
            del _used_here[path]
        elif path in paths[:2]:
            _used_here[path] = _used_here.pop(path)  # others come first the next time


def manifest_of(folder: str) -> Dict[str, Any]:
    """That of the dump there; {} where there is none that can be read."""
    try:
        manifest = parse_json(read_text(os.path.join(folder, MANIFEST), MANIFEST_LIMIT))
    except (OSError, ValueError):
        pass_on()
        return {}
    return manifest if isinstance(manifest, dict) else {}


def is_ours(folder: str, name: str) -> bool:
    """Whether a file is of a dump; a README that somebody else wrote stays."""
    if not _OURS.match(name):
        return False
    if not name.startswith("README"):
        return True
    try:
        return read_text(os.path.join(folder, name)).startswith(TITLE)
    except OSError:
        pass_on()
        return False


def process_lives(process: int) -> bool:
    """Whether another process runs, where the system can tell."""
    if process == os.getpid() or os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass_on()
        return True
    return True


def being_written(begun: float, **more: Any) -> Dict[str, Any]:
    """The manifest of a dump whose block is open."""
    return dict({"schema": SCHEMA, "open": True, "process": os.getpid(), "begun": begun}, **more)


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Holds a lock that other processes on this machine respect, where the system has such locks.

    Leaves no file.
    """
    descriptor = None
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except (ImportError, OSError):
        pass_on()
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
