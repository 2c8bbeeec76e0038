"""What torch puts around a user's function, seen without importing torch.

`torch.compile(f)` is a function of torch's that calls `f`, and calling a module runs torch's own
`Module.__call__` before `forward`: who asks for their bytecode means the user's.
"""

import sys
import types
from typing import Any, Optional, Tuple


def behind(obj: Any) -> Optional[Tuple[Any, str]]:
    """(what the wrapper calls, the wrapper in words), or None where `obj` is no wrapper of torch's.

    Nothing of `obj` is executed: attributes are read from its dictionary and from its class.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(obj, types.FunctionType):
        inner = obj.__dict__.get("_torchdynamo_orig_callable")
        if inner is None or inner is obj:
            return None
        disabled = obj.__dict__.get("_torchdynamo_disable")
        return inner, "torch.compiler.disable" if disabled else "torch.compile"
    module = getattr(getattr(torch, "nn", None), "Module", None)
    if not isinstance(module, type):
        return None
    call = module.__call__
    if isinstance(obj, types.MethodType):
        if obj.__func__ is call and isinstance(obj.__self__, module):
            return obj.__self__, ""
        return None
    if not isinstance(obj, module):
        return None
    compiled = (obj.__dict__.get("_modules") or {}).get("_orig_mod")
    if compiled is not None and "dynamo_ctx" in obj.__dict__:
        return compiled, "torch.compile"
    if _of_class(obj, "__call__") is not call:
        return None
    forward = obj.__dict__.get("forward") or _of_class(obj, "forward")
    return (forward, "torch.nn.Module.__call__") if forward is not None else None


def unwrapped(obj: Any) -> Any:
    """What the user wrote, of something that torch.compile returned; anything else as it is."""
    while True:
        method = isinstance(obj, types.MethodType)
        found = behind(obj.__func__ if method else obj)
        if found is None or not found[1].startswith("torch.compile"):
            return obj
        obj = types.MethodType(found[0], obj.__self__) if method else found[0]


def _of_class(obj: Any, name: str) -> Any:
    for kind in type(obj).__mro__:
        if name in vars(kind):
            return vars(kind)[name]
    return None
