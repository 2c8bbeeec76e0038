"""What Dynamo must not look at: depyf itself, and debuggers."""

import sys
import types
from collections import deque
from itertools import repeat
from typing import Any, Callable, Iterable, List, Set, TypeVar

from depyf.torch.compat.probes import DYNAMO_HOOKS, _found, probe

_Function = TypeVar("_Function", bound=Callable[..., Any])


_SWITCH = "switch of Dynamo's evaluation of frames"


def find_set_eval_frame() -> Any:
    def find() -> Any:
        from torch._C._dynamo import eval_frame  # torch 2.6 has it nowhere else

        return eval_frame.set_eval_frame

    return probe(_SWITCH, find)


#: tells Dynamo to skip code objects
_Skip = Callable[[Iterable[types.CodeType]], None]


def _skip(below: str) -> _Skip:
    """`below`: the action for what the frames of the code call."""
    from torch._C._dynamo import eval_frame as native

    action = native._FrameAction
    strategy = native._FrameExecStrategy(action.SKIP, getattr(action, below))
    change = native.set_code_exec_strategy

    def skip_all(codes: Iterable[types.CodeType]) -> None:
        deque(map(change, codes, repeat(strategy)), maxlen=0)

    return skip_all


def _each(skip: Callable[[types.CodeType], None]) -> _Skip:
    def skip_all(codes: Iterable[types.CodeType]) -> None:
        for code in codes:
            skip(code)

    return skip_all


def _skip_code() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import skip_code

        try:
            return _skip("DEFAULT")
        except (ImportError, AttributeError):
            return _each(skip_code)  # of torch before 2.7

    return probe("code that Dynamo skips", find)


def _skip_callees() -> Any:
    return probe("code below which Dynamo compiles nothing", lambda: _skip("SKIP"))


#: methods that a debugger enters when a program stops, and which run none of its code by themselves
_STOPS = (
    ("bdb", "Bdb", ("trace_dispatch",)),
    ("bdb", "_MonitoringTracer", ("call_callback", "line_callback", "return_callback")),
    ("pydevd", "PyDB", ("do_wait_suspend", "set_suspend", "process_internal_commands")),
)


def hide_debuggers() -> None:
    """Keeps Dynamo from compiling what a debugger runs while the program stands in compiled code.

    What is compiled there takes numbers of graphs, and can fail where the debugger must not.
    """
    import bdb  # noqa: F401  a debugger may be loaded later, by breakpoint()

    skip = _skip_callees()
    for module, owner, names in _STOPS if skip is not None else ():
        found = getattr(sys.modules.get(module), owner, None)
        for name in names:
            function = getattr(found, name, None)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if type(code) is types.CodeType:
                skip((code,))


def untraced(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Calls a function; Dynamo looks at no frame of it, nor of what it calls, though torch runs
    compiled code in this thread.

    What calls this must be known to `hide_from_dynamo`.
    """
    change = _found.get(_SWITCH)
    if change is None:
        change = find_set_eval_frame() if DYNAMO_HOOKS in sys.modules else None
        if change is None:
            return function(*arguments, **keywords)
    before = change(None)
    try:
        return function(*arguments, **keywords)
    finally:
        change(before)


def not_traced(function: _Function) -> _Function:
    """Where the program compiles a function that calls this one, the graph ends before the call.

    Dynamo would look into it, and warn of what it does not know there.
    """
    setattr(function, "_torchdynamo_disable", True)
    return function


_hidden: Set[str] = set()


#: packages that run no code of a program: what calls into them from outside of depyf calls what the
#: package itself has
_CLOSED = ("depyf.advice.", "depyf.advise.", "depyf.report.", "depyf.summary.")


def hide_from_dynamo() -> None:
    """Tells Dynamo to skip every function of depyf that is loaded by now; nothing where Dynamo is
    not loaded.

    Under compiled autograd Dynamo looks at each frame that runs while a backward is compiled. A
    closed package is hidden by its doors, below which Dynamo looks at nothing, where torch can.
    """
    skip = _skip_code() if DYNAMO_HOOKS in sys.modules else None
    if skip is None:
        return
    skip_below = _skip_callees()
    codes: List[types.CodeType] = []
    # a program has thousands of modules: a list of pairs would cost a collection or two
    for name in [one for one in list(sys.modules) if one.startswith("depyf")]:
        module = sys.modules.get(name)  # a program may have put something else there
        if type(module) is not types.ModuleType or name in _hidden or name[5:6] not in ("", "."):
            continue
        _hidden.add(name)
        if skip_below is not None and name + "." in _CLOSED:
            skip_below([code for code in _doors_of(module) if _is_own(code)])
        elif skip_below is None or not name.startswith(_CLOSED):
            codes += _codes_of(module)
    code_type = types.CodeType
    codes = [code for code in codes if _is_own(code)]
    while codes:
        skip(codes)
        codes = [one for code in codes for one in code.co_consts if type(one) is code_type]


#: the folder of depyf, as its code names it
_FOLDER = _skip.__code__.co_filename[: -len("torch/compat/unseen.py")]


def _is_own(code: types.CodeType) -> bool:
    """Is it of a file of depyf, or made for one class of it? A method that the standard library
    gives to classes (`_replace` of a named tuple) has one code for those of the program, too.
    """
    file = code.co_filename
    return file.startswith(_FOLDER) or (file[:1] == "<" and not file.startswith("<frozen "))


def _doors_of(package: types.ModuleType) -> List[types.CodeType]:
    """The code of the functions that a package has, and of methods of its classes, whichever of its
    modules defines them.
    """
    within = package.__name__
    found = []
    for one in vars(package).values():
        if type(one) in (type, types.FunctionType) and one.__module__.startswith(within):
            members = vars(one).values() if type(one) is type else (one,)
            found += [each.__code__ for each in members if type(each) is types.FunctionType]
    return found


def _codes_of(module: types.ModuleType) -> List[types.CodeType]:
    """The code of every function that a module defines, and of methods, without nested ones."""
    name = module.__name__
    codes: List[types.CodeType] = []
    pending: List[Any] = list(vars(module).values())
    function = types.FunctionType
    for one in pending:
        kind = type(one)
        if kind is function:
            if one.__module__ == name:
                codes.append(getattr(one, "__wrapped__", one).__code__)
        elif kind in _PLAIN:
            continue
        elif kind is property:
            pending.extend((one.fget, one.fset))
        elif kind is staticmethod or kind is classmethod:
            pending.append(one.__func__)
        elif kind.__module__ == "typing":
            continue
        elif getattr(one, "__module__", None) == name:
            if isinstance(one, type):
                pending.extend(vars(one).values())
            else:  # such as what functools.lru_cache makes
                pending.append(getattr(one, "__wrapped__", None))
    return codes


#: most values of a module or a class
_PLAIN = frozenset((str, int, tuple, dict, type(None), types.ModuleType, types.BuiltinFunctionType))
