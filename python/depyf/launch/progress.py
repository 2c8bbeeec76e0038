"""What is said while a compile takes long."""

import _signal
import _thread
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from depyf.terminal import shown
from depyf.trace.frames import parse_place
from depyf.trace.names import resume_title

if TYPE_CHECKING:
    from depyf.model import Entry, Function, Run

#: how far a compile is, by the last stage that torch told of; torch's names say little to a reader
_SO_FAR = {
    "": "Dynamo traces it",
    "Captured_Graph": "the graph is captured",
    "BEFORE_PRE_GRAD": "the graph is captured",
    "AFTER_PRE_GRAD": "AOTAutograd traces the captured graph",
    "Joint_graph": "the joint forward and backward graph is made",
    "BEFORE_JOINT": "the joint forward and backward graph is made",
    "AFTER_JOINT": "the joint forward and backward graph is made",
    "Forward_graph": "the forward graph is made",
    "Backward_graph": "the backward graph is made",
    "BEFORE_POST_GRAD": "Inductor lowers the graph",
    "AFTER_POST_GRAD": "Inductor lowers the graph",
    "ir_pre_fusion": "Inductor fuses operations",
    "ir_post_fusion": "Inductor writes the kernels",
    "kernel": "the kernels are written",
}


def _identity(descriptor: int) -> Any:
    """Which file a descriptor is of; None where it is closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_rdev


def _title(function: "Function", entry: "Entry") -> str:
    whole = function.qualname, function.firstlineno
    return function.title_of(entry) or resume_title(function.name, *whole) or function.title


class Progress:
    """Says on the terminal that is standard error what is being compiled, while that takes long.

    Where standard error is no terminal, there is no thread, and nothing is said. The thread takes
    no signal, and its lines go to the terminal alone: not to a file that the program puts in place
    of standard error meanwhile. A line stands by itself, so that it overwrites nothing.
    """

    def __init__(self, descriptor: int = 2, patience: float = 5.0) -> None:
        self.run: Optional["Run"] = None  # set when there is one
        self.profile: Any = None  # what watches where time goes, where it was asked for
        self._descriptor = descriptor
        self._patience = patience
        self._process = os.getpid()
        self._stop = threading.Event()
        self._ended: Any = None  # a lock that the thread holds while it runs
        self._own: Optional[int] = None  # a descriptor of the same terminal
        self._file: Any = None

    def begin(self, run: "Run") -> None:
        """Begins to watch a run."""
        self.run = run
        try:
            if os.isatty(self._descriptor):
                self._start()
        except Exception:  # no threads or descriptors are left; progress is not worth an error
            self._release()

    def _start(self) -> None:
        import fcntl  # not where there are no terminals of this kind

        self._file = _identity(self._descriptor)
        how = fcntl.F_DUPFD_CLOEXEC
        try:  # a high number: the program gets those that it gets without depyf
            self._own = fcntl.fcntl(self._descriptor, how, 500)
        except OSError:
            self._own = fcntl.fcntl(self._descriptor, how, 3)
        lock = _thread.allocate_lock()
        lock.acquire()
        # a thread inherits the mask; what is read first is what stands at the end in any case
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        try:
            _signal.pthread_sigmask(_signal.SIG_BLOCK, signal.valid_signals())
            # no threading.Thread, which `threading.enumerate` of the program would tell
            _thread.start_new_thread(self._watch, (lock,))
            self._ended = lock
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._ended is not None and os.getpid() == self._process:
            self._stop.set()
            if self._ended.acquire(timeout=5):
                self._ended = None
        if self._ended is None or os.getpid() != self._process:
            self._release()

    def _release(self) -> None:
        own, self._own = self._own, None
        if own is not None and _identity(own) == self._file:
            os.close(own)

    def _watch(self, lock: Any) -> None:
        first_seen: Dict[int, float] = {}
        told: Dict[int, float] = {}
        try:
            while not self._stop.wait(0.5):
                now = time.monotonic()
                current = self._current()
                if current is None:
                    continue
                key, text = current
                took = now - first_seen.setdefault(key, now)
                if took >= self._patience and now - told.get(key, now - 30) >= 30:
                    told[key] = now
                    self._say("depyf: %s, %.0f s" % (text, took))
        except Exception:
            pass  # a closed terminal; progress is not worth an error
        finally:
            lock.release()

    def _say(self, line: str) -> None:
        own = self._own
        if own is None or not _identity(own) == _identity(self._descriptor) == self._file:
            return
        # the line end first: the program's own line may be unfinished
        os.write(own, ("\n%s\n" % line).encode("utf-8", "backslashreplace"))

    def _current(self) -> Optional[Tuple[int, str]]:
        if self.run is None:
            return None
        for function in list(self.run.functions):
            for entry in list(function.entries):
                if not entry.finished:
                    return id(entry), self._text(_title(function, entry), entry)
        for entry in list(self.run.unattributed):
            if not entry.finished:
                return id(entry), self._text(self._name_of(entry), entry)
        return None

    def _name_of(self, entry: "Entry") -> str:
        """The function of a compile whose code is not there yet: that of earlier ones of the same
        number, else by the innermost frame.
        """
        frame = entry.compile_id.rpartition("/")[0]
        for function in list(self.run.functions if self.run is not None and frame else ()):
            for one in list(function.entries):
                if one.compile_id.rpartition("/")[0] == frame:
                    return _title(function, one)
        inner = entry.user_stack[-1].partition(": ")[0] if entry.user_stack else ""
        name = inner.rpartition(" in ")[2]
        found = parse_place(inner)
        return resume_title(name, "", found[1] if found else 0) or name

    @staticmethod
    def _text(name: str, entry: "Entry") -> str:
        stage = entry.artifacts[-1].stage if entry.artifacts else ""
        done = _SO_FAR.get(stage, "so far made: " + stage.replace("_", " "))
        return "compiling %s [%s] (%s)" % (shown(name or "?"), entry.compile_id, done)
