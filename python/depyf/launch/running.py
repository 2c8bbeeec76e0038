"""`depyf run`: the program, and what looks at it while it runs."""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, TextIO

from depyf import paths, summary
from depyf.files import temporary_folder
from depyf.imports import WhenImported
from depyf.launch.folders import dump_folder
from depyf.launch.program import LaunchError, install_hook, program_of, run_as_main
from depyf.launch.progress import Progress
from depyf.launch.told import Output, tell
from depyf.messages import StandardError
from depyf.trying.texts import install

if TYPE_CHECKING:
    from depyf.model import Run

#: exit code of a program that ended well and compiled more than --max-... allow
OVER_BUDGET = 3


def _require_torch() -> None:
    from depyf.torch import compat

    try:
        if importlib.util.find_spec("torch") is None:
            compat.require_torch()
    except ImportError as error:
        raise LaunchError(str(error))


class _Recording:
    """What looks at the program while it runs, and what is said of it at the end."""

    def __init__(self, options: Any, folder: Optional[str], program: str, stream: TextIO) -> None:
        from depyf.torch.capture import capture, prepare_debug

        self._options = options
        self._program = program
        self._stream = stream
        self._process = os.getpid()
        self._block: Any  # one of the two context managers
        if folder is not None:
            page = options.texts is None
            self._block = prepare_debug(paths.absolute(folder), caches=options.caches, page=page)
        else:
            self._block = capture(caches=options.caches)
        self._workers: Any = None  # the folder of their dumps, where there is no other
        self.follower: Any = None
        if options.follow:
            self._follow(folder)
        self._output = Output() if options.json else None
        self._finder: Any = None
        if options.find_nonfinite:
            from depyf.torch.numbers import watch_nonfinite

            self._finder = watch_nonfinite(stream)
        self.progress, self.opened = Progress(), contextlib.ExitStack()

    def _follow(self, folder: Optional[str]) -> None:
        import tempfile

        from depyf.follow import Follower

        if folder is None:
            try:
                self._workers = tempfile.TemporaryDirectory(prefix="depyf-", dir=temporary_folder())
            except OSError as error:
                raise LaunchError(
                    "there is no folder for what processes of the program compile: %s; set TMPDIR "
                    "to one that can be written, or give --no-follow; nothing was run"
                    % (error.strerror or error)
                )
            folder = self._workers.name
        self.follower = Follower(folder, self._options.caches)

    def begin(self) -> None:
        """Opens all that needs torch, which the program has now."""
        if os.getpid() != self._process:  # the program forked before it imported torch
            if self.follower is not None:
                self.follower.open_block()
            return
        try:
            self._open()
        except Exception as error:  # the program goes on
            self._stream.write(
                "depyf run: nothing is captured: %s: %s\n" % (type(error).__name__, error)
            )
        if self._options.backend:
            from depyf.torch import compat

            try:
                self.opened.enter_context(compat.forced_backend(self._options.backend))
            except RuntimeError as error:  # the program goes on, with its own backend
                self._stream.write("depyf run: --backend is ignored: %s\n" % error)

    def _open(self) -> None:
        run = self.opened.enter_context(self._block)
        run.program = self._program
        run._advice = []
        self.progress.begin(run)
        if self._finder is not None:
            self.opened.enter_context(self._finder)
        if self._options.profile:
            from depyf.torch.profile import watch

            self.progress.profile = self.opened.enter_context(watch(run))

    def ensure_begun(self) -> None:
        """The same for a program that has ended and never imported torch."""
        if self.progress.run is None and os.getpid() == self._process:
            with self._harmless("the recording"), _folder_that_exists():
                self.begin()

    def await_threads(self) -> None:
        """Ends the program's threads as Python does at its end, before depyf's own end.

        Only where depyf is what this process runs, and torch is there: no thread pool can be used
        after this, and torch cannot be imported.
        """
        ends = getattr(sys.modules.get("threading"), "_shutdown", None)
        if not self._options.is_process or os.getpid() != self._process or ends is None:
            return
        if "torch" not in sys.modules:
            return
        try:
            ends()
        except BaseException as error:  # such as Ctrl-C; Python tells it and goes on
            trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
            _tell_unraised(error, trace)

    def __enter__(self) -> "_Recording":
        if self.follower is not None:
            self.follower.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        """Ends all that looks at the program."""
        for one in (self.follower, self.progress, self.opened):
            with self._harmless("the end of the recording"):
                if one is not None:
                    one.__exit__(*raised)

    def end(self) -> List[str]:
        """Says what was recorded, and returns which budgets were exceeded, in words."""
        exceeded: List[str] = []
        if os.getpid() != self._process:
            return exceeded  # a child that the program forked says nothing
        if self.progress.run is not None:
            with self._harmless("the summary"):
                self._tell(self.progress.run, exceeded)
        if self._workers is not None:
            with self._harmless("to remove a temporary folder"):
                self._workers.cleanup()
        return exceeded

    @contextlib.contextmanager
    def _harmless(self, what: str) -> Iterator[None]:
        """An error of depyf after the program's end is told, and changes no exit code."""
        try:
            yield
        except Exception as error:
            self._stream.write("depyf: %s failed: %s: %s\n" % (what, type(error).__name__, error))

    def _tell(self, run: "Run", exceeded: List[str]) -> None:
        try:
            sys.stdout.flush()
        except Exception:
            pass
        if self._options.texts is not None:
            return  # `depyf try` reads the dump
        found: List[Dict[str, Any]] = []
        if self.follower is not None:
            from depyf import follow

            found = follow.documents(self.follower.folder)
        exceeded += _over_budget(run, self._options, found)
        tell(run, self._options, found, self._finder, self._output, self._stream, exceeded)
        profile = self.progress.profile
        if profile is not None and profile.found is not None:
            self._stream.write("%s\n" % profile.found)
        told = ["depyf run: " + text for text in exceeded]
        told += filter(None, [summary.numbers_explained("\n".join(told))])
        self._stream.write("".join(text + "\n" for text in told))


@contextlib.contextmanager
def _folder_that_exists() -> Iterator[None]:
    """The root is the current folder in the block if there is none.

    Torch is imported there: oneMKL ends a process that loads it without a current folder.
    """
    back = None
    try:
        os.getcwd()
    except OSError:
        with contextlib.suppress(OSError):
            back = os.open(os.curdir, os.O_RDONLY)
            os.chdir(os.sep)
    try:
        yield
    finally:
        if back is not None:
            os.chdir(back)
            os.close(back)


def _tell_unraised(error: BaseException, trace: Any) -> None:
    """What Python does with an exception that ends the wait for the program's threads."""
    import traceback
    import types

    owner = sys.modules["threading"]
    hook = getattr(sys, "unraisablehook", None)
    if hook is not None and hook is not getattr(sys, "__unraisablehook__", None):
        told = dict(exc_type=type(error), exc_value=error, exc_traceback=trace)
        hook(types.SimpleNamespace(err_msg=None, object=owner, **told))
    elif sys.stderr is not None:
        sys.stderr.write("Exception ignored in: %r\n" % owner)
        traceback.print_exception(type(error), error, trace)


def run(options: Any) -> int:
    """Runs a program as `depyf run` was told.

    Args:
        options: those of the command line, see depyf.cli; `is_process` says whether this process
            ends after the command.
    Returns:
        The exit code when the program ended without one of its own; its exceptions, SystemExit too,
        pass through.
    """
    err: Any = StandardError(sys.stderr)
    try:
        texts = {} if options.texts is None else install(options.texts)
        (code, attributes, first_path), arguments = program_of(options, texts)
        _require_torch()
        folder = dump_folder(options, arguments[0], err)
        recording = _Recording(options, folder, arguments[0], err)
    except LaunchError as error:
        err.write("depyf run: %s\n" % error)
        return error.code
    except SyntaxError as error:
        install_hook(error if options.module is None else None)
        raise
    except BaseException:  # of a package of the program
        install_hook()
        raise
    exceeded: List[str] = []
    try:
        with recording:
            # the program imports torch when it wants to: what it does before, such as setting
            # variables that torch reads, counts
            waiting = None
            if "torch" in sys.modules:
                recording.begin()
            else:
                waiting = WhenImported("torch", recording.begin)
            try:
                run_as_main(code, attributes, first_path, arguments)
                recording.await_threads()
            except SystemExit:
                install_hook()
                recording.await_threads()
                raise
            except BaseException:
                install_hook()  # in front of the one that the program may have set
                raise
            finally:
                if waiting is not None:
                    waiting.remove()
                recording.ensure_begun()
    finally:
        exceeded = recording.end()
        if exceeded:
            _leave_with(sys.exc_info()[1])
    return OVER_BUDGET if exceeded else 0


def _leave_with(raised: Optional[BaseException]) -> None:
    # a program that failed by itself keeps its own exit code and its traceback
    if raised is None or (isinstance(raised, SystemExit) and raised.code in (None, 0)):
        raise SystemExit(OVER_BUDGET) from None


def _over_budget(run: "Run", options: Any, workers: List[Dict[str, Any]]) -> List[str]:
    wanted = {
        "breaks": options.max_breaks,
        "recompiles": options.max_recompiles,
        "compile_seconds": options.max_compile_seconds,
    }
    if all(limit is None for limit in wanted.values()):
        return []
    from depyf.follow import merged

    told = [] if options.json else [one for one in ("breaks", "recompiles") if vars(options)[one]]
    return summary.over_budget(merged(run.to_json(), workers), told=told, **wanted)
