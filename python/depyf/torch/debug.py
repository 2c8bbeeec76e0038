"""`depyf.debug`: run what was compiled, compile nothing, and stop at breakpoints in the dumped
files.
"""

import io
import os
import sys
import threading
import types
from typing import Any, Dict, List, Optional, Tuple

from depyf.compiling import compile_text
from depyf.model import LiveObject
from depyf.plain import file_of, text_of
from depyf.torch import compat


class _Graph:
    """A captured graph that can be stepped through: the live module, and where its text and its
    global are.
    """

    def __init__(self, module: Any, path: str, home: str, name: str) -> None:
        self.module = LiveObject(module)
        self.path = path
        self.home = home
        self.name = name


#: the captured graphs of every dump of this process, by id of the module
_graphs: Dict[int, _Graph] = {}
_lock = threading.RLock()


def remember_graph(module: Any, path: str, home: str, name: str) -> None:
    """Notes that a dumped file shows the `forward` of a graph module, which is held weakly.

    Args:
        module: the torch.fx.GraphModule.
        path: the file.
        home: name of the Python module in whose globals torch installed the graph.
        name: that global's name.
    """
    with _lock:
        if len(_graphs) & (len(_graphs) - 1) == 0:  # now and then, not for each of a thousand
            for key in [key for key, one in _graphs.items() if one.module.get() is None]:
                del _graphs[key]
        _graphs[id(module)] = _Graph(module, path, home, name)


def forward_code(path: str) -> Optional[types.CodeType]:
    """The code of `forward` of the first class in a dumped graph, compiled so that it names the
    file; None when absent.
    """
    try:
        with io.open(path, encoding="utf-8") as stream:
            module = compile_text(stream.read(), path)
    except (OSError, SyntaxError, ValueError):
        return None
    for body in module.co_consts:
        if type(body) is types.CodeType:
            for code in body.co_consts:
                if type(code) is types.CodeType and code.co_name == "forward":
                    return code
    return None


def same_graph(code: types.CodeType, other: types.CodeType) -> bool:
    """True when two codes of one graph differ in no more than places and annotations."""

    def calls(one: types.CodeType) -> Tuple[Any, ...]:
        return (
            one.co_argcount,
            one.co_kwonlyargcount,
            one.co_varnames,
            one.co_freevars,
            one.co_cellvars,
            set(one.co_names),
        )

    return calls(code) == calls(other)


def _someone_can_answer() -> bool:
    """Whether a stop in the debugger reaches somebody: standard input is a terminal, or an IDE's
    debugger has taken breakpoint() over.
    """
    ide = getattr(sys.breakpointhook, "__module__", None) or ""
    if ide.split(".")[0] in ("pydevd", "_pydevd_bundle", "debugpy"):
        return True
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _pause() -> None:
    """Stops in the debugger in the frame of the user's program that asked for it.

    pdb is told the frame, so that it shows none of this package's. Another debugger is asked by
    breakpoint(), and one that shows the user's code only does not stop in a file of this package:
    what calls breakpoint() is therefore compiled to be of the user's line.
    """
    frame = sys._getframe(1)
    own = (__name__, "contextlib")
    while frame.f_back is not None and text_of(dict.get(frame.f_globals, "__name__")) in own:
        frame = frame.f_back
    if sys.breakpointhook is sys.__breakpointhook__ and os.environ.get("PYTHONBREAKPOINT", "") in (
        "",
        "pdb.set_trace",
    ):
        import pdb

        pdb.Pdb().set_trace(frame)
        return
    text = "\n" * (frame.f_lineno - 1) + "__depyf_pause()"
    code = compile(text, file_of(frame.f_code), "exec", dont_inherit=True)
    exec(code, frame.f_globals, dict(frame.f_locals, __depyf_pause=breakpoint))


class debug:
    """Inside the block compiled code runs, nothing is compiled, and the dumped files can be stepped
    through.

    Breakpoints in transformed code stop under every backend; in captured graphs with the backend
    "eager"; in inductor's wrapper code in the file that torch runs, which the end of each kernel
    file in the dump names. What fits no compiled entry runs as the user wrote it. After the block
    everything is as before; only a torch before 2.6 forgets the entries of a function that was
    called in the block in a way that fits none.

    Example:
        >>> with depyf.prepare_debug("dump"):
        ...     main()
        >>> with depyf.debug():
        ...     main()

    Args:
        pause: stop in the debugger on entry (`breakpoint()`), so that breakpoints can be set in
            files that the run has just written. By default that is done where somebody can answer:
            standard input is a terminal, or an IDE's debugger runs the program.
    Raises:
        ImportError: on entering, when torch is not installed.
    """

    def __init__(self, pause: Optional[bool] = None) -> None:
        self._pause = pause
        self._restore: List[Tuple[types.FunctionType, types.CodeType]] = []
        self._globals: List[Tuple[Dict[str, Any], str, Any, Any]] = []
        self._stance: Any = None

    def __enter__(self) -> "debug":
        compat.require_torch()
        if self._stance is not None:
            raise RuntimeError("this block is already open; make another one with depyf.debug()")
        stance = compat.no_compile()
        stance.__enter__()
        self._stance = stance
        with _lock:
            for graph in _graphs.values():
                module = graph.module.get()
                if module is not None:
                    self._show(module, graph)
        if _someone_can_answer() if self._pause is None else self._pause:
            print("depyf: set breakpoints in the dumped files, then continue", flush=True)
            _pause()
        return self

    def _show(self, module: Any, graph: _Graph) -> None:
        function = getattr(type(module), "forward", None)
        if not isinstance(function, types.FunctionType):
            return
        code = forward_code(graph.path)
        if (
            code is None
            or function.__code__.co_filename == graph.path
            or not same_graph(function.__code__, code)
        ):
            return
        self._restore.append((function, function.__code__))
        compat.step_into(code)
        function.__code__ = code
        # torch wraps the graph in functions of its own; without them one step leads from the
        # transformed code into it
        home = sys.modules.get(graph.home)
        names = vars(home) if home is not None else {}
        wrapped = names.get(graph.name)
        if wrapped is not None and compat.graph_module_of(wrapped) is module:
            direct = module.forward
            self._globals.append((names, graph.name, wrapped, direct))
            names[graph.name] = direct

    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        if self._stance is None:
            return
        with _lock:
            while self._globals:
                names, name, wrapped, direct = self._globals.pop()
                if names.get(name) is direct:
                    names[name] = wrapped
            while self._restore:
                function, code = self._restore.pop()
                function.__code__ = code
        stance, self._stance = self._stance, None
        stance.__exit__(kind, value, trace)
