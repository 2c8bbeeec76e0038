"""`depyf run`: a program that was not touched, run while depyf looks.

The program sees what it would see without depyf: `sys.argv`, `sys.path`, a `__main__` module of its
own, its own exit
code, its own traceback. What depyf has to say goes to standard error.
"""

import builtins
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
import time
import types
from typing import TYPE_CHECKING, Any, Dict, List, Optional, TextIO, Tuple

from depyf import summary
from depyf.imports import WhenImported
from depyf.messages import StandardError
from depyf.terminal import hyperlinks, parse_place, place, shown
from depyf.trace.names import resume_title

if TYPE_CHECKING:
    from types import TracebackType

    from depyf.model import Entry, Function, Run

#: what runs as __main__: its code, the attributes of its module, the first entry of sys.path
Program = Tuple[types.CodeType, Dict[str, Any], str]

#: exit code of a program that ended well and compiled more than --max-... allow
OVER_BUDGET = 3


class LaunchError(Exception):
    """The program cannot be started; nothing was run."""

    code = 2


class NoMainModule(LaunchError):
    """There is nothing to run where the command line says; python tells that and ends with 1."""

    code = 1


def _script(path: str) -> Program:
    """(code, attributes of __main__, first entry of sys.path) of a script, of standard input
    ("-"), or of a folder or zip file with __main__.py.
    """
    full = _absolute(path) if sys.version_info >= (3, 9) else path
    attributes: Dict[str, Any] = {"__file__": full, "__spec__": None, "__package__": None}
    attributes["__cached__"] = None
    if path == "-":
        attributes["__file__"] = "<stdin>"
        attributes["__loader__"] = importlib.machinery.BuiltinImporter
        source = sys.stdin.buffer.read() if sys.stdin is not None else b""
        return compile(source, "<stdin>", "exec", dont_inherit=True), attributes, ""
    if _holds_modules(path):
        spec = importlib.machinery.PathFinder.find_spec("__main__", [full])
        if spec is None or spec.loader is None:
            raise NoMainModule("can't find '__main__' module in %r" % full)
        return _code_of(spec.loader, "__main__"), _attributes_of(spec), full
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError as error:
        raise LaunchError(
            "can't open file %r: [Errno %s] %s" % (_absolute(path), error.errno, error.strerror)
        )
    if path.endswith(".pyc"):
        attributes["__loader__"] = importlib.machinery.SourcelessFileLoader("__main__", full)
        code = _code_of(attributes["__loader__"], "__main__")
    else:
        attributes["__loader__"] = importlib.machinery.SourceFileLoader("__main__", full)
        code = compile(source, full, "exec", dont_inherit=True)
    return code, attributes, os.path.dirname(os.path.realpath(path))


def _holds_modules(path: str) -> bool:
    """Whether Python imports from a path, as it does from a folder or a zip file."""
    for hook in list(sys.path_hooks):
        try:
            hook(path)
            return True
        except ImportError:
            continue
    return False


def _attributes_of(spec: importlib.machinery.ModuleSpec) -> Dict[str, Any]:
    return {
        "__file__": spec.origin,
        "__spec__": spec,
        "__package__": spec.parent,
        "__loader__": spec.loader,
        "__cached__": spec.cached,
    }


def _absolute(path: str) -> str:
    """The path from the root, as CPython makes it (`_Py_abspath`); as it is where the working
    folder was deleted.
    """
    try:
        return os.path.abspath(path) if os.name == "nt" else os.path.join(os.getcwd(), path)
    except OSError:
        return path


def _code_of(loader: Any, name: str) -> types.CodeType:
    code: Optional[types.CodeType] = loader.get_code(name)
    if code is None:
        raise NoMainModule("No code object available for %s" % name)
    return code


def _module(name: str) -> Program:
    """The same for `-m name`."""
    import runpy

    # the function of Python itself, with its messages; what a package raises passes through
    find: Any = getattr(runpy, "_get_module_details")
    sys.path.insert(0, os.getcwd())  # packages are looked up there first, as `python -m` does
    try:
        _, spec, code = find(name, NoMainModule)
    finally:
        del sys.path[0]
    attributes = _attributes_of(spec)
    return code, attributes, os.getcwd()


def _trim(error: BaseException) -> None:
    """Takes the frames that lead to the program off the head of a traceback."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code is _run_as_main.__code__ or code is _module.__code__:
            error.__traceback__ = trace.tb_next
        trace = trace.tb_next


def _run_as_main(
    code: types.CodeType, attributes: Dict[str, Any], first_path: str, arguments: List[str]
) -> None:
    # The module stays __main__ after its code has run: exit handlers and threads of the program
    # still use it.
    main = types.ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__dict__["__annotations__"] = {}
    main.__dict__.update(attributes)
    if sys.version_info >= (3, 15):
        main.__dict__.pop("__cached__", None)
    main.__dict__["__builtins__"] = builtins  # the module itself, as python gives it
    sys.modules["__main__"] = main
    sys.argv[:] = arguments
    # what stands there now is the folder of the depyf command, or of `python -m depyf`
    safe = getattr(sys.flags, "safe_path", False)
    if sys.path and not safe:
        sys.path[0] = first_path
    elif not safe:
        sys.path.insert(0, first_path)
    exec(code, main.__dict__)


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


def _title(function: "Function", entry: "Entry") -> str:
    whole = function.qualname, function.firstlineno
    return function.title_of(entry) or resume_title(function.name, *whole) or function.title


class _Progress:
    """Says on standard error what is being compiled, while that takes long; on a terminal also
    that PyTorch is being imported.
    """

    def __init__(self, stream: TextIO, patience: float = 2.0) -> None:
        self.run: Optional["Run"] = None  # set when there is one
        self.imports = False  # whether the program has yet to import torch
        self.profile: Any = None  # what watches where time goes, where it was asked for
        self._stream = stream
        self._patience = patience
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="depyf progress", daemon=True)
        self._shown = False
        try:
            self._terminal = bool(stream.isatty())
        except Exception:
            self._terminal = False

    def __enter__(self) -> "_Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        self._clear()

    def imported(self) -> None:
        """The program has torch now: the line that said so is gone before the program goes on."""
        self.imports = False
        self._clear()

    def _clear(self) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()
        self._shown = False

    def _watch(self) -> None:
        first_seen: Dict[int, float] = {}
        told: Dict[int, float] = {}
        while not self._stop.wait(0.5):
            try:
                now = time.monotonic()
                current = self._current()
                if current is None:
                    self._clear()
                    continue
                key, text = current
                took = now - first_seen.setdefault(key, now)
                # a terminal shows one line that changes; a log gets a line now and then
                if took < self._patience or (
                    not self._terminal and now - told.get(key, now - 30) < 30
                ):
                    continue
                told[key] = now
                line = "depyf: %s, %.0f s" % (text, took)
                self._stream.write("\r\033[K" + line[:100] if self._terminal else line + "\n")
                self._stream.flush()
                self._shown = True
            except Exception:
                return  # a closed stream; progress is not worth an error

    def _current(self) -> Optional[Tuple[int, str]]:
        if self.run is None:
            # the module is there from the beginning of its import on
            importing = self.imports and self._terminal and "torch" in sys.modules
            return (0, "Python imports PyTorch") if importing else None
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


class _Output:
    """Standard output for JSON alone: whatever the program writes there goes to standard error."""

    def __init__(self) -> None:
        self._own: Optional[int] = None
        try:
            sys.stdout.flush()
            if sys.stdout.fileno() == 1:
                self._own = os.dup(1)  # which no process that the program starts inherits
                if sys.stderr is not None:
                    os.dup2(2, 1)
                else:  # it was closed when this process began
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, 1)
                    os.close(nowhere)
        except (OSError, ValueError, AttributeError):
            pass  # it is no file: the program and depyf write to it, one after the other

    def write(self, text: str) -> None:
        if sys.stdout is None:  # `print` would say nothing
            raise OSError("standard output is closed, so there is no JSON")
        if self._own is None:
            print(text, flush=True)
            return
        with os.fdopen(self._own, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")


def _program(options: Any) -> Tuple[Program, List[str]]:
    """The program of a command line, and its `sys.argv`."""
    if options.module is not None:
        sys.argv[:] = ["-m"] + options.module[1:]  # as the package of the module sees it
        program = _module(options.module[0])
        return program, [program[1]["__file__"]] + options.module[1:]
    return _script(options.program[0]), list(options.program)


def _require_torch() -> None:
    from depyf.torch import compat

    try:
        if importlib.util.find_spec("torch") is None:
            compat.require_torch()
    except ImportError as error:
        raise LaunchError(str(error))


def _dump_folder(options: Any, program: str, stream: TextIO) -> Optional[str]:
    """Where the dump is written; None for a run of which only text is wanted."""
    folder: Optional[str] = options.dump
    only_text = options.breaks or options.recompiles or options.guards is not None or options.json
    if folder is None and not (only_text or options.advise):
        folder = _own_folder("depyf_dump", program, options.force, stream)
    elif folder is not None and not options.force:
        other = _dumped_program(folder)
        if other and not _same_program(other, program):
            raise LaunchError(
                "--dump %s holds the dump of %s; --force overwrites it; nothing was run"
                % (folder, shown(other))
            )
    refused = _cannot_write(folder) if folder is not None else ""
    if refused:
        raise LaunchError("--dump %s: %s; nothing was run" % (folder, refused))
    return folder


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
            self._block = prepare_debug(os.path.abspath(folder), caches=options.caches)
        else:
            self._block = capture(caches=options.caches)
        self._workers: Any = None  # the folder of their dumps, where there is no other
        self.follower: Any = None
        if options.follow:
            self._follow(folder)
        self._output = _Output() if options.json else None
        self._finder: Any = None
        if options.find_nonfinite:
            from depyf.torch.numbers import watch_nonfinite

            self._finder = watch_nonfinite(stream)
        self.progress, self.opened = _Progress(stream), contextlib.ExitStack()

    def _follow(self, folder: Optional[str]) -> None:
        import tempfile

        from depyf.follow import Follower

        if folder is None:
            try:
                self._workers = tempfile.TemporaryDirectory(prefix="depyf-")
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
        self.progress.imported()
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
        run = self.progress.run = self.opened.enter_context(self._block)
        run.program = self._program
        run._advice = []
        if self._finder is not None:
            self.opened.enter_context(self._finder)
        if self._options.profile:
            from depyf.torch.profile import watch

            self.progress.profile = self.opened.enter_context(watch(run))

    def ensure_begun(self) -> None:
        """The same for a program that has ended and never imported torch."""
        if self.progress.run is None and os.getpid() == self._process:
            self.begin()

    def end(self) -> List[str]:
        """Says what was recorded, and returns which budgets were exceeded, in words."""
        exceeded: List[str] = []
        if os.getpid() != self._process:
            return exceeded  # a child that the program forked says nothing
        if self.progress.run is not None:
            exceeded = self._tell(self.progress.run)
        if self._workers is not None:
            self._workers.cleanup()
        return exceeded

    def _tell(self, run: "Run") -> List[str]:
        try:
            sys.stdout.flush()
        except Exception:
            pass
        found: List[Dict[str, Any]] = []
        if self.follower is not None:
            from depyf import follow

            found = follow.documents(self.follower.folder)
        exceeded = _over_budget(run, self._options, found)
        _finish(run, self._options, found, self._finder, self._output, self._stream, exceeded)
        profile = self.progress.profile
        if profile is not None and profile.found is not None:
            self._stream.write("%s\n" % profile.found)
        told = ["depyf run: " + text for text in exceeded]
        told += filter(None, [summary.numbers_explained("\n".join(told))])
        self._stream.write("".join(text + "\n" for text in told))
        return exceeded


def run(options: Any) -> int:
    """Runs a program as `depyf run` was told.

    Args:
        options: those of the command line, see depyf.cli.
    Returns:
        The exit code when the program ended without one of its own; its exceptions, SystemExit too,
        pass through.
    """
    err: Any = StandardError(sys.stderr)
    try:
        (code, attributes, first_path), arguments = _program(options)
        _require_torch()
        folder = _dump_folder(options, arguments[0], err)
        recording = _Recording(options, folder, arguments[0], err)
    except LaunchError as error:
        err.write("depyf run: %s\n" % error)
        return error.code
    except SyntaxError as error:
        _install_hook(error if options.module is None else None)
        raise
    except BaseException:  # of a package of the program
        _install_hook()
        raise
    _install_hook()
    exceeded: List[str] = []
    try:
        with recording.opened, recording.progress, recording.follower or contextlib.nullcontext():
            # the program imports torch when it wants to: what it does before, such as setting
            # variables that torch reads, counts
            waiting = None
            if "torch" in sys.modules:
                recording.begin()
            else:
                waiting = WhenImported("torch", recording.begin)
                recording.progress.imports = True
            try:
                _run_as_main(code, attributes, first_path, arguments)
            except BaseException:
                _install_hook()  # in front of the one that the program may have set
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


def _dumped_program(folder: str) -> str:
    """The program whose dump a folder holds, "" where it holds none."""
    from depyf.torch.capture import rank_folder

    try:
        return str(summary.load(rank_folder(folder)).get("program") or "")
    except (summary.DumpError, RecursionError):
        return ""


def _same_program(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _own_folder(name: str, program: str, force: bool, stream: TextIO) -> str:
    """`name`, or where that holds the dump of another program, `name` with a number after it."""
    if force:
        return name
    taken = ""
    for number in range(1, 1000):
        folder = name if number == 1 else "%s_%d" % (name, number)
        other = _dumped_program(folder)
        if not other or _same_program(other, program):
            break
        taken = taken or other
    if folder != name:
        stream.write(
            "depyf run: %s holds the dump of %s; this one goes to %s\n"
            % (name, shown(taken), folder)
        )
    return folder


def _cannot_write(folder: str) -> str:
    """Why a folder, which is made where it is missing, cannot be written; "" where it can."""
    from depyf.files import require_writable

    try:
        os.makedirs(folder, exist_ok=True)
        require_writable(folder)
        return ""
    except OSError as error:
        return error.strerror or str(error)


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


def _install_hook(bare: Optional[BaseException] = None) -> None:
    # the interpreter prints the traceback, with the program's own hook where it set one; that of
    # `bare` has no frames
    previous = getattr(sys, "excepthook", None)
    if not callable(previous):
        return  # Python says so

    def hook(
        kind: "type[BaseException]", error: BaseException, trace: Optional["TracebackType"]
    ) -> None:
        _trim(error)
        if error is bare:
            error.__traceback__ = None
        previous(kind, error, error.__traceback__)

    sys.excepthook = hook


def _finish(
    found: "Run",
    options: Any,
    workers: List[Dict[str, Any]],
    finder: Any,
    output: Optional[_Output],
    stream: TextIO,
    exceeded: List[str],
) -> None:
    from depyf.follow import merged
    from depyf.report.base import PAGE

    links = hyperlinks(stream)
    advice = (found._advice or [None])[0] if not workers else None
    document = merged(dict(found.to_json(), folder=found.folder), workers)
    lacks = summary.unwritten(found._unwritten)
    if lacks:
        where = place(str(found.folder), None, links)
        lacks = "depyf: the dump in %s is incomplete: %s\n" % (where, lacks)
    try:
        if output is not None:
            stream.write(lacks)
            output.write(_json_text(found, workers))
            return
        texts = []
        if options.breaks:
            texts.append(summary.breaks_text(document, links))
        if options.recompiles:
            texts.append(summary.recompiles_text(document, links))
        if options.guards is not None:
            texts.append(summary.guards_text(document, options.guards, links))
        texts += filter(None, [summary.numbers_explained("\n".join(texts))])
        stream.write("".join(text + "\n" for text in texts))
        if finder is not None:
            stream.write(str(finder.report) + "\n")
        if options.advise:
            from depyf import advise

            stream.write(advise.text(document, links, advice=advice) + "\n")
        # one that could not be written may lie there from an earlier run
        page = None if PAGE in found._unwritten else page_of(found.folder)
        if options.breaks or options.recompiles or options.guards is not None or options.advise:
            if lacks:
                stream.write(lacks)
            elif found.folder is not None:
                stream.write("depyf: %s\n" % place(str(page or found.folder), None, links))
            return
        if workers:
            stream.write("depyf: of %d processes:\n" % (len(workers) + 1))
            page = _page_of_all(found, workers) or page
        told = [  # below, in full
            kind
            for kind, name in (("break", "graph break"), ("recompile", "recompile"))
            if any(name in text.partition(",")[0] and ":\n" in text for text in exceeded)
        ]
        whole = None if lacks else page or found.folder
        stream.write(summary.summary(document, whole, links, told, advice) + "\n" + lacks)
        if options.open and (page or not lacks):
            open_page(page, found.folder, stream)
    except Exception as error:
        stream.write("depyf: the summary failed: %s: %s\n" % (type(error).__name__, error))


def _json_text(run: "Run", workers: List[Dict[str, Any]]) -> str:
    document = run.to_json()
    if workers:
        document["workers"] = [
            {key: value for key, value in one.items() if key != "folder"} for one in workers
        ]
    return json.dumps(document, default=repr)


def _page_of_all(run: "Run", workers: List[Dict[str, Any]]) -> Optional[str]:
    """One page for the program and its workers, where a page can be written."""
    from depyf import report
    from depyf.report.base import PAGE

    if run.folder is None:
        return None
    try:
        sources = [run.folder] if run.functions or run.unattributed else []
        sources += [one["folder"] for one in workers]
        return str(report.build(sources, os.path.join(run.folder, PAGE)))
    except Exception:  # the page of the program alone stays
        return None


def page_of(folder: Optional[str]) -> Optional[str]:
    """The page of a dump, None where none was written."""
    if folder is None:
        return None
    from depyf.report import document

    page = document.page_of(folder)
    return page if os.path.exists(page) else None


def open_page(page: Optional[str], folder: Optional[str], stream: TextIO) -> None:
    """Opens the page in the user's browser, or says why not."""
    import webbrowser
    from pathlib import Path

    target = page or (os.path.join(folder, "README.md") if folder else None)
    if target is None:
        stream.write("depyf: there is nothing to open\n")
        return
    if not webbrowser.open(Path(target).absolute().as_uri()):
        stream.write(
            "depyf: no browser was found; open %s\n" % place(target, None, hyperlinks(stream))
        )
