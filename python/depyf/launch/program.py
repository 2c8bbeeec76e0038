"""The program of a command line, a script or a module, and how it runs as `__main__`."""

import builtins
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from depyf import _core, paths

if TYPE_CHECKING:
    from types import TracebackType


#: what runs as __main__: its code, the attributes of its module, the first entry of sys.path
Program = Tuple[types.CodeType, Dict[str, Any], Optional[str]]


class LaunchError(Exception):
    """The program cannot be started; nothing was run."""

    code = 2


class NoMainModule(LaunchError):
    """There is nothing to run where the command line says; python tells that and ends with 1."""

    code = 1


def _script(path: str, texts: Mapping[str, str] = {}) -> Program:
    """(code, attributes of __main__, first entry of sys.path) of a script, of standard input
    ("-"), or of a folder or zip file with __main__.py.

    Args:
        texts: in place of those of files, by absolute path.
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
        text = texts.get(os.path.abspath(path)) if texts else None
        code = compile(source if text is None else text, full, "exec", dont_inherit=True)
    return code, attributes, os.path.dirname(paths.real(path))


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


def module_of(name: str) -> Program:
    """The same for `-m name`."""
    import runpy

    # the function of Python itself, with its messages; what a package raises passes through
    find: Any = getattr(runpy, "_get_module_details")
    try:
        folder: Optional[str] = os.getcwd()
    except OSError:  # it was removed; Python then looks the module up in the others alone
        folder = None
    if folder is not None:
        sys.path.insert(0, folder)  # packages are looked up there first, as `python -m` does
    try:
        _, spec, code = find(name, NoMainModule)
    finally:
        if folder is not None:
            del sys.path[0]
    return code, _attributes_of(spec), folder


def _trim(error: BaseException) -> None:
    """Takes the frames that lead to the program off the head of a traceback."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code is run_as_main.__code__ or code is module_of.__code__:
            error.__traceback__ = trace.tb_next
        trace = trace.tb_next


def run_as_main(
    code: types.CodeType,
    attributes: Dict[str, Any],
    first_path: Optional[str],
    arguments: List[str],
) -> None:
    """Runs a program as `__main__`."""
    # The module stays __main__ after its code has run: exit handlers and threads of the program
    # still use it.
    main = types.ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__dict__["__annotations__"] = {}
    main.__dict__["__builtins__"] = builtins  # the module itself, as python gives it
    main.__dict__.update(attributes)
    if sys.version_info >= (3, 15):
        main.__dict__.pop("__cached__", None)
    sys.modules["__main__"] = main
    sys.argv[:] = arguments
    # what stands there now is the folder of the depyf command, or of `python -m depyf`
    safe = getattr(sys.flags, "safe_path", False)
    if not safe:
        sys.path[:1] = [] if first_path is None else [first_path]
    exec(code, main.__dict__)


def program_of(options: Any, texts: Mapping[str, str] = {}) -> Tuple[Program, List[str]]:
    """The program of a command line, and its `sys.argv`.

    Args:
        texts: in place of those of files, by absolute path.
    """
    if options.module is not None:
        sys.argv[:] = ["-m"] + options.module[1:]  # as the package of the module sees it
        program = module_of(options.module[0])
        return program, [program[1]["__file__"]] + options.module[1:]
    return _script(options.program[0], texts), list(options.program)


def install_hook(bare: Optional[BaseException] = None) -> None:
    """Takes depyf's frames off the traceback of an exception that ends the program."""

    # the interpreter prints the traceback, with the program's own hook where it set one; that of
    # `bare` has no frames
    def prepare(error: BaseException) -> None:
        _trim(error)
        if error is bare:
            error.__traceback__ = None

    previous = getattr(sys, "excepthook", _without_hook)
    sys.excepthook = _core.excepthook(prepare, previous)


def _without_hook(
    kind: "type[BaseException]", error: BaseException, trace: Optional["TracebackType"]
) -> None:
    """What the interpreter does where the program has deleted `sys.excepthook`."""
    if sys.stderr is not None:
        sys.stderr.write("sys.excepthook is missing\n")
    sys.__excepthook__(kind, error, trace)
