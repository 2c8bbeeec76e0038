"""The public doors: `capture`, `prepare_debug`, `explain_call`, `install`."""

import contextlib
import os
from typing import Any, Callable, Dict, Optional

from depyf import own
from depyf.interrupts import pass_on
from depyf.model import Run
from depyf.plain import is_one_of
from depyf.terminal import shown
from depyf.torch import compat
from depyf.torch.capture.hub import hub
from depyf.torch.capture.session import Session
from depyf.torch.capture.warned import warn
from depyf.torch.dump import DUMP_LIMIT, DumpWriter, EarlierDump
from depyf.torch.fullcode import forget_texts


class capture:
    """Records what torch.compile makes inside the block, as a `Run`; writes no files and replaces
    no code.

    Example:
        >>> with depyf.capture() as run:
        ...     compiled(x)
        >>> run.functions[0].entries[0].source

    Args:
        caches: False turns torch's compile caches off inside the block, so that every stage is
            computed.
    Raises:
        ImportError: on entering, when torch is not installed.
    """

    @compat.not_traced
    def __init__(self, caches: bool = True) -> None:
        self._caches = caches
        self._session: Optional[Session] = None
        self._stack: Optional[contextlib.ExitStack] = None

    def _writer(self) -> Any:
        return None

    def _options(self) -> Dict[str, Any]:
        return {}

    @compat.not_traced
    def __enter__(self) -> Run:
        torch = compat.require_torch()
        return compat.untraced(self._open, torch)

    def _open(self, torch: Any) -> Run:
        if self._session is not None:
            raise RuntimeError(
                "this block is already open; make another one with depyf.%s(...)"
                % type(self).__name__
            )
        own.keep()
        session = Session(self._writer(), caches=self._caches, **self._options())
        session.run.torch_version = str(torch.__version__)
        try:
            compat.hide_from_dynamo()
            compat.hide_debuggers()
            compat.probe_all()
            session.run.unavailable = compat.unavailable()
        except Exception as error:
            pass_on()
            session.failed("looking at what this torch offers", error)
        stack = contextlib.ExitStack()
        if not self._caches:
            stack.enter_context(compat.caches_off())
        self._session, self._stack = session, stack
        if session.writer is not None:
            session.writer.opened(session)
        try:
            hub.add(session)
        except Exception as error:
            pass_on()
            session.failed("watching torch", error)
        return session.run

    @compat.not_traced
    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        session, stack = self._session, self._stack
        if session is None:
            return
        self._session, self._stack = None, None
        if value is not None:
            session.run.error = compat.untraced(_told, value)
            if session.run.error:
                compat.untraced(session.raised, trace)
        compat.untraced(self._close, session, stack)

    @staticmethod
    def _close(session: Session, stack: Optional[contextlib.ExitStack]) -> None:
        try:
            hub.remove(session)
        except Exception as error:
            pass_on()
            session.failed("ending the watch on torch", error)
        try:
            if stack is not None:
                stack.close()
        except Exception as error:
            pass_on()
            session.problem("turning torch's caches on again", str(error))
        session.finish()
        if not hub.watches():
            forget_texts()
        if session.awaits_backward():
            hub.linger(session)


#: types whose text is no code of the program
_PLAIN = (str, int, float, bool)


def _told(error: BaseException) -> str:
    """The type of an exception that ends a block and its message, as far as no code of the program
    makes it; "" for an exit that is no failure.
    """
    arguments = BaseException.__dict__["args"].__get__(error)
    kind = type.__dict__["__name__"].__get__(type(error))
    if issubclass(type(error), (SystemExit, GeneratorExit)):
        code = arguments[0] if arguments else None
        if code is None or type(code) is int and code == 0:
            return ""
    said = [str(one) for one in arguments if is_one_of(type(one), _PLAIN)]
    return ": ".join([kind] + [", ".join(said)] * bool(said))


def rank_folder(folder: str) -> str:
    """`folder/rank_N` in a process of a distributed job of several, else `folder`.

    torchrun and its like tell each process its rank by RANK and WORLD_SIZE; where a program starts
    its own processes, the process group knows.
    """
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    try:
        group = compat.process_group()
    except Exception as error:
        pass_on()
        warn("depyf: the rank of this process is not known: %r" % error)
        group = None
    if group is not None:
        rank, size = str(group[0]), str(group[1])
    if rank.isdigit() and size.isdigit() and int(size) > 1:
        return os.path.join(folder, "rank_%d" % int(rank))
    return folder


class prepare_debug(capture, contextlib.ContextDecorator):
    """Records what torch.compile makes inside the block, and writes it to a folder as files that a
    debugger can step through.

    Each transformed code object is replaced by code compiled from its decompiled source in the
    folder, after a proof that both do the same; where there is no proof torch keeps its own. Inside
    `depyf.debug()` afterwards, breakpoints in those files stop. The block can be nested, used from
    threads, entered and left by hand, and put around a function as a decorator.

    Args:
        dump_src_dir: the folder; made when it does not exist. What an earlier run left there is
            replaced. In a distributed job of several processes each writes `rank_N` in it.
        clean_wild_fx_code: kept for programs that pass it; no unattributed graph code is written,
            so there is none to clean.
        log_bytecode: also write the bytecode of each function before and after, as text.
        caches: False turns torch's compile caches off inside the block, so that every stage is
            computed.
        existing: what to do with an earlier dump in the folder: "replace" it, write to a "number"ed
            folder beside it, or "keep" it and write nothing. Blocks of one process that name one
            folder share it.
        limit: bytes of files and texts after which nothing more goes into the dump, and torch
            keeps its own code for what it compiles then; None for no limit. A warning and the
            dump's problems say when it is reached.
        page: False leaves the page out; `depyf report FOLDER` makes it from the dump.
    Raises:
        ImportError: on entering, when torch is not installed.
        ValueError: `existing` is none of these, or `limit` is negative.
    """

    @compat.not_traced
    def __init__(
        self,
        dump_src_dir: Any,
        clean_wild_fx_code: bool = True,
        log_bytecode: bool = False,
        *,
        caches: bool = True,
        existing: str = "replace",
        limit: Optional[int] = DUMP_LIMIT,
        page: bool = True,
    ) -> None:
        super().__init__(caches=caches)
        if limit is not None and limit < 0:
            raise ValueError("limit=%r: must be a number of bytes, or None for no limit" % (limit,))
        if existing not in ("replace", "number", "keep"):
            raise ValueError('existing=%r: must be "replace", "number" or "keep"' % (existing,))
        self._folder = os.fspath(dump_src_dir)
        self._log_bytecode = log_bytecode
        self._existing = existing
        self._limit = limit
        self._page = page

    def _writer(self) -> Any:
        try:
            return DumpWriter(
                rank_folder(self._folder),
                existing=self._existing,
                limit=self._limit,
                page=self._page,
            )
        except EarlierDump as error:
            warn("depyf: nothing is dumped to %s: %s" % (self._folder, error))
            return None
        except Exception as error:  # the system refuses it, or no file can have that name
            pass_on()
            warn(
                "depyf: cannot write to %s (%s): nothing is dumped and the program goes on; give "
                "prepare_debug a folder "
                "that can be written" % (shown(str(self._folder)), error)
            )
            return None

    def _options(self) -> Dict[str, Any]:
        return {"log_bytecode": self._log_bytecode}


def explain_call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Run:
    """Calls a function once under torch.compile, and returns what was compiled.

    Args:
        fn: a function, module or compiled callable; a function or module that is not compiled is
            compiled with default options.
        args, kwargs: its arguments.
    Returns:
        The run; `run.result` is the result of the call.
    Raises:
        ImportError: torch is not installed.
        Exception: what the call raises.
    """
    # another name than `depyf.explain`, which is a package of the original project
    torch = compat.require_torch()
    compiled = fn if compat.is_compiled(fn) else torch.compile(fn)
    with capture() as run:
        result = compiled(*args, **kwargs)
    run.result = result  # type: ignore[attr-defined]
    return run


def install() -> None:
    """Prints the decompiled source after each "MODIFIED BYTECODE" in the log of
    TORCH_LOGS=+bytecode.

    Raises:
        ImportError: torch is not installed.
    """
    compat.require_torch()
    hub.print_source(1)


def uninstall() -> None:
    """Undoes `install`; does nothing if it was not called."""
    hub.print_source(-1)
