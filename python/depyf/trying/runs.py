"""Runs of a program in processes of their own, each with empty caches of torch's."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from depyf.schema import Document
from depyf.trying.texts import write_texts

#: (file, name) of a function: a change moves its lines
Named = Tuple[str, str]


class Counts(NamedTuple):
    """What torch did in a run, in numbers."""

    compiles: int
    breaks: int
    recompiles: int
    #: functions that it gave up
    uncompiled: int
    #: of compiling
    seconds: float
    #: (file, name) of the functions that it gave up as a whole
    whole: FrozenSet[Named]
    #: and of those of which it gave up what follows a graph break
    rests: FrozenSet[Named]
    #: how often it compiled each function from its begin on
    often: Mapping[Named, int]


class Outcome(NamedTuple):
    """What a run of a program left."""

    #: the exit code, None where the run was stopped because it took too long
    code: Optional[int]
    #: the lines that the program printed
    output: List[str]
    #: those of standard error
    errors: List[str]
    #: its whole time
    seconds: float
    #: that of its dump, None where it left none
    document: Optional[Document]
    #: those of its processes
    workers: List[Document]


#: a run with a change may take so many times as long as the first, and so many seconds more
_TIMES, _MORE = 5, 60
#: seconds that a program has to end after it was interrupted
_TO_END = 5


def counts_of(outcome: Outcome) -> Counts:
    """What torch did in a run, in numbers."""
    from depyf.report import overview

    own = [] if outcome.document is None else [outcome.document]
    nodes = overview.nodes_of(own + outcome.workers)
    compiles, recompiles, breaks = overview.counts(nodes)
    given_up = [one for one in nodes if one.failure and one.failure["row"] != "nothing to compile"]
    return Counts(
        compiles,
        breaks,
        recompiles,
        len({one.frame for one in given_up}),
        sum(one.seconds for one in nodes),
        frozenset(_named(one) for one in given_up if not one.is_resume),
        frozenset(_named(one.whole()) for one in given_up if one.is_resume),
        Counter(_named(one) for one in nodes if not one.failure and not one.is_resume),
    )


def _named(node: Any) -> Named:
    return node.place[0], node.title


class Runner:
    """Runs a program as it is and with changed texts, in a temporary folder's dumps and caches.

    Args:
        words: the program, as `depyf run` takes it.
        options: options of `depyf run` for each run, such as `--backend eager`.
    """

    def __init__(self, words: Sequence[str], options: Sequence[str]) -> None:
        self._words = list(words)
        self._options = list(options)
        self._made = 0
        self._limit: Optional[float] = None
        self._folder: Any = None

    def __enter__(self) -> "Runner":
        from depyf.files import temporary_folder

        self._folder = tempfile.TemporaryDirectory(prefix="depyf-try-", dir=temporary_folder())
        return self

    def __exit__(self, *raised: Any) -> None:
        self._folder.cleanup()

    def run(self, texts: Mapping[str, str] = {}) -> Outcome:
        """Runs the program once.

        Args:
            texts: in place of those of files, by absolute path.
        """
        self._made += 1
        base = os.path.join(self._folder.name, "run_%d" % self._made)
        os.mkdir(base)
        sources, dump = os.path.join(base, "texts.json"), os.path.join(base, "dump")
        write_texts(sources, texts)
        command = [sys.executable, "-m", "depyf", "run", "--dump", dump, "--texts", sources]
        begun = time.monotonic()
        streams = [os.path.join(base, name) for name in ("output", "errors")]
        with open(streams[0], "wb") as output, open(streams[1], "wb") as errors:
            process = subprocess.Popen(
                command + self._options + self._words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=_environment(base),
                start_new_session=True,  # so that its processes can be ended with it
            )
            code: Optional[int] = None
            try:
                code = process.wait(self._limit)
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end(process)
        seconds = time.monotonic() - begun
        if self._limit is None:
            self._limit = _TIMES * seconds + _MORE
        lines = [_lines_of(path) for path in streams]
        return Outcome(code, lines[0], lines[1], seconds, *_documents(dump))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process that still runs, and those that it has started."""
    if process.poll() is not None:
        return
    if os.name != "posix":
        process.kill()
        process.wait()
        return
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does, so that it can end by itself
    try:
        process.wait(_TO_END)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):  # they have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Has SIGTERM and SIGHUP end this process by an exception in the block, so that the program
    that it runs is ended, too.
    """

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {
        number: signal.signal(number, end) for number in map(signal.Signals.__getitem__, names)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _environment(base: str) -> Dict[str, str]:
    caches = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
    made = {name: os.path.join(base, folder) for name, folder in caches.items()}
    return dict(os.environ, **made)


def _lines_of(path: str) -> List[str]:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read().splitlines()


def _documents(dump: str) -> Tuple[Optional[Document], List[Document]]:
    """The documents of a program and of its workers."""
    from depyf import follow, summary

    try:
        return summary.load(dump), follow.documents(dump)
    except summary.DumpError:
        return None, []
