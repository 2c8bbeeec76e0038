"""Worker processes of a program that `depyf run` runs: what they compile is dumped too.

A process that is forked, by os.fork or by multiprocessing, opens a block of its own when it first
compiles; a worker that multiprocessing spawns, when it has imported torch. So does a Python that
the program starts by subprocess. Each writes to `worker_PID` in the folder of the program's dump.
"""

import glob
import inspect
import json
import multiprocessing.util
import os
import re
import shutil
import subprocess
import sys
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from depyf import summary
from depyf.imports import WhenImported
from depyf.messages import complain
from depyf.schema import MANIFEST, Document

_PREFIX = "worker_"
#: its sitecustomize.py runs first in a Python that is started with it in PYTHONPATH
_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")
_PYTHON = re.compile(r"(^|[/\\\s])(python|pypy)[\d.]*(\.exe)?(\s|$)")
#: torch's own compile workers have nothing to show; `depyf run` looks for itself
_OF_TORCH = re.compile(r"[/\\]torch[/\\]_inductor[/\\]|torch\._inductor\.")


class Follower:
    """Follows the workers of this process while the block is open.

    Args:
        folder: where their dumps go, as folders of their own.
        caches: False turns torch's compile caches off in them.
        nested: this process is itself a worker that is followed.
    """

    def __init__(self, folder: str, caches: bool = True, nested: bool = False) -> None:
        self.folder = os.path.abspath(folder)
        self.caches = caches
        self.nested = nested
        self._popen: Optional[Callable[[], None]] = None
        self._restore: Optional[Callable[[], None]] = None
        self._waiting: Optional[WhenImported] = None
        self._open = False

    def __enter__(self) -> "Follower":
        self._open = True
        for old in folders(self.folder) if not self.nested else ():
            shutil.rmtree(old, ignore_errors=True)
        self._popen = _watch_popen(self.folder, self.caches)
        if hasattr(os, "register_at_fork"):
            # never taken back, so it must not keep this alive
            found = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forked(found()))
        if "multiprocessing.spawn" in sys.modules:
            self._hand_over()
        else:
            self._waiting = WhenImported("multiprocessing.spawn", self._hand_over)
        return self

    def __exit__(self, *_: Any) -> None:
        self._open = False
        if self._popen is not None:
            self._popen()
        if self._waiting is not None:
            self._waiting.remove()
        if self._restore is not None:
            self._restore()

    def in_child(self) -> None:
        """Opens a block of this process, a forked one, when it first compiles, if it has torch.

        What waits in the parent for the import of torch waits in this process, too.
        """
        capture = sys.modules.get("depyf.torch.capture")
        if self._open and capture is not None and "torch" in sys.modules:
            capture.follow_in_child(self.open_block)

    def open_block(self) -> None:
        """Opens a block of this process, which has imported torch."""
        _open_block(self.folder, self.caches)

    def _hand_over(self) -> None:
        # what is unpickled in a spawned worker before its main module runs
        import multiprocessing.spawn as spawn

        original = spawn.get_preparation_data

        def get_preparation_data(name: str) -> Dict[str, Any]:
            data = original(name)
            data["depyf"] = _Stowaway(self.folder, self.caches)
            return data

        spawn.get_preparation_data = get_preparation_data

        def restore() -> None:
            if spawn.get_preparation_data is get_preparation_data:
                spawn.get_preparation_data = original

        self._restore = restore


def _forked(follower: Optional[Follower]) -> None:
    # also in a child of subprocess that has a `preexec_fn`: nothing is imported here
    if follower is not None:
        follower.in_child()


def _watch_popen(folder: str, caches: bool) -> Callable[[], None]:
    """Lets Pythons that are started by subprocess be followed; returns what ends that."""
    original = subprocess.Popen.__init__
    signature = inspect.signature(original)
    told = json.dumps({"folder": folder, "caches": caches})

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
            if _is_python(bound.arguments):
                given = bound.arguments.get("env")
                env = dict(os.environ if given is None else given)
                path = [_CHILD] + ([env["PYTHONPATH"]] if env.get("PYTHONPATH") else [])
                env.update(PYTHONPATH=os.pathsep.join(path), DEPYF_FOLLOW=told)
                bound.arguments["env"] = env
                args, kwargs = bound.args[1:], bound.kwargs
        except Exception:
            pass  # the program's own mistake, which Popen tells of; or the child goes alone
        original(self, *args, **kwargs)

    setattr(subprocess.Popen, "__init__", __init__)

    def restore() -> None:
        if subprocess.Popen.__init__ is __init__:
            setattr(subprocess.Popen, "__init__", original)

    return restore


def _is_python(arguments: Mapping[str, Any]) -> bool:
    """Whether what Popen is given starts a Python whose compiles are to be seen."""
    command = arguments.get("args")
    given = [command] if isinstance(command, (str, bytes, os.PathLike)) else command or ()
    words = [os.fsdecode(word) for word in given]
    if not words:
        return False
    whole = " ".join(words)
    if _OF_TORCH.search(whole) or re.search(r"(^|\s)-m\s+depyf(\s|$)", whole):
        return False
    program = os.fsdecode(arguments["executable"]) if arguments.get("executable") else words[0]
    if arguments.get("shell"):
        found = _PYTHON.search(whole)
        return found is not None and not _is_isolated(whole[found.end() :].split())
    if program != sys.executable and not _PYTHON.search(program):
        return False
    return not _is_isolated(words[1:])


def _is_isolated(words: Sequence[str]) -> bool:
    """Whether a Python with these arguments reads no PYTHONPATH or no sitecustomize (-I, -E, -S).

    Nothing there would take out of its environment what this module puts into it.
    """
    expected = iter(words)
    for word in expected:
        if not re.match(r"-[A-Za-z?]", word):
            return False  # the program, or -- and the program
        for place, letter in enumerate(word[1:], 1):
            if letter in "IES":
                return True
            if letter in "cm":
                return False
            if letter in "WX":  # the rest of the word, or the next one, is its value
                if place == len(word) - 1:
                    next(expected, None)
                break
    return False


def begin_in_child(told: str) -> None:
    """Follows this process, a Python that was started by subprocess.

    Args:
        told: what the parent wrote to its environment.
    """
    try:
        wanted = json.loads(told)
        follower = Follower(wanted["folder"], wanted["caches"], nested=True)
        follower.__enter__()
        WhenImported("torch", lambda: _open_block(follower.folder, follower.caches))
    except Exception as error:  # the program goes on
        complain("depyf run: a process is not captured: %s\n" % error)


class _Stowaway:
    """Begins to look when it is unpickled, which is in a worker."""

    def __init__(self, folder: str, caches: bool) -> None:
        self.folder, self.caches = folder, caches

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)

        def begin() -> None:
            _open_block(self.folder, self.caches)

        try:
            if "torch" in sys.modules:
                begin()
            else:
                WhenImported("torch", begin)
        except Exception as error:  # the worker goes on
            complain("depyf run: a worker is not captured: %s\n" % error)


def _open_block(folder: str, caches: bool) -> None:
    from depyf.torch.capture import prepare_debug

    own = os.path.join(folder, "%s%d" % (_PREFIX, os.getpid()))
    block = prepare_debug(own, caches=caches)
    run = block.__enter__()
    process = os.getpid()

    def close() -> None:
        if os.getpid() != process:
            return
        block.__exit__(None, None, None)
        if not run.functions and not run.unattributed:
            shutil.rmtree(own, ignore_errors=True)

    # a worker leaves by os._exit, where no function of atexit runs
    multiprocessing.util.Finalize(None, close, exitpriority=1)


def folders(folder: str) -> List[str]:
    """The folders of the workers' dumps in the folder of a program's dump."""
    found = glob.glob(os.path.join(glob.escape(folder), _PREFIX + "*"))
    return sorted(own for own in found if os.path.exists(os.path.join(own, MANIFEST)))


def documents(folder: str, tidy: bool = True) -> List[Document]:
    """The dumps of the workers that compiled something.

    Args:
        folder: that of the program's dump.
        tidy: take the folders of the others away.
    """
    found = []
    for own in folders(folder):
        try:
            document = summary.load(own)
        except summary.DumpError:
            document = {}
        if document.get("functions") or document.get("unattributed"):
            found.append(document)
        elif tidy:
            shutil.rmtree(own, ignore_errors=True)
    return sorted(found, key=lambda one: int(one.get("process") or 0))


def merged(document: Document, workers: List[Document]) -> Document:
    """The document of a program together with those of its workers."""
    if not workers:
        return document
    whole = dict(document)
    for key in ("functions", "unattributed", "problems"):
        whole[key] = sum([one.get(key) or [] for one in [document] + workers], [])
    return whole
