"""What Dynamo must not look at: depyf itself, and debuggers."""

import sys
import types
from typing import Any, Callable, List, Set, TypeVar

from depyf.torch.compat.probes import DYNAMO_HOOKS, probe

_Function = TypeVar("_Function", bound=Callable[..., Any])


def find_set_eval_frame() -> Any:
    def find() -> Any:
        from torch._dynamo import eval_frame

        return getattr(eval_frame, "set_eval_frame")

    return probe("switch of Dynamo's evaluation of frames", find)


def _skip_code() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import skip_code

        return skip_code

    return probe("code that Dynamo skips", find)


def _skip_what_is_called() -> Any:
    def find() -> Any:
        from torch._C._dynamo import eval_frame as native

        action = native._FrameAction.SKIP
        strategy = native._FrameExecStrategy(action, action)
        return lambda code: native.set_code_exec_strategy(code, strategy)

    return probe("code below which Dynamo compiles nothing", find)


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

    skip = _skip_what_is_called()
    for module, owner, names in _STOPS if skip is not None else ():
        found = getattr(sys.modules.get(module), owner, None)
        for name in names:
            function = getattr(found, name, None)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if isinstance(code, types.CodeType):
                skip(code)


def untraced(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Calls a function; Dynamo looks at no frame of it, nor of what it calls, though torch runs
    compiled code in this thread.

    What calls this must be known to `hide_from_dynamo`.
    """
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


def hide_from_dynamo() -> None:
    """Tells Dynamo to skip every function of depyf that is loaded by now; nothing where Dynamo is
    not loaded.

    Under compiled autograd Dynamo looks at each frame that runs while a backward is compiled.
    """
    skip = _skip_code() if DYNAMO_HOOKS in sys.modules else None
    if skip is None:
        return
    for name, module in list(sys.modules.items()):
        if name in _hidden or not (name == "depyf" or name.startswith("depyf.")):
            continue
        _hidden.add(name)
        pending: List[Any] = [one for one in vars(module).values() if _is_of(one, name)]
        for one in pending:
            if isinstance(one, type):
                pending.extend(part for part in vars(one).values() if _is_of(part, name))
            elif isinstance(one, property):
                pending.extend(part for part in (one.fget, one.fset) if part is not None)
            elif isinstance(one, types.CodeType):
                skip(one)
                pending.extend(part for part in one.co_consts if isinstance(part, types.CodeType))
            else:
                function = getattr(one, "__wrapped__", getattr(one, "__func__", one))
                code = getattr(function, "__code__", None)
                if isinstance(code, types.CodeType):
                    pending.append(code)


def _is_of(value: Any, module: str) -> bool:
    if isinstance(value, property):
        return True
    value = getattr(value, "__func__", value)
    return (isinstance(value, type) or callable(value)) and getattr(
        value, "__module__", None
    ) == module
