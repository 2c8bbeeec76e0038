"""Which function a code object is, in the words of who wrote it.

Its qualified name, its module, and the wrapper that a decorator put around it.

Nothing of the program is called: only dictionaries of classes and modules are looked into.
"""

import types
from typing import Any, Dict, List, NamedTuple, Optional

_VARARGS, _VARKEYWORDS = 0x4, 0x8
#: decorators around one function
_MOST_LAYERS = 20


class Origin(NamedTuple):
    """qualname: `LlamaModel.forward`; module: where it was written.

    through: the wrapper's own name, "" for none.
    """

    qualname: str
    module: str
    through: str


def origin_of(
    code: types.CodeType, held: Optional[Dict[str, Any]], scope: Optional[Dict[str, Any]]
) -> Origin:
    """`held` are the variables of a frame of `code`, `scope` its globals; both may be unknown."""
    held, scope = held or {}, scope or {}
    outermost = _attribute_with(code, held) or _with_code(scope.get(code.co_name), code)
    if outermost is None:
        outermost = _wrapped_by(code, held)
    if outermost is not None:
        name = _without_locals(outermost.__qualname__)
        through = code.co_name if name.rpartition(".")[2] != code.co_name else ""
        return Origin(name, str(outermost.__module__ or ""), through)
    name = _without_locals(getattr(code, "co_qualname", code.co_name))
    return Origin(name, str(scope.get("__name__") or ""), "")


def _without_locals(qualname: str) -> str:
    """`main.<locals>.Model.forward` is Model.forward for who reads the name of a file."""
    return qualname.rpartition("<locals>.")[2] or qualname


def _functions_in(value: Any) -> List[types.FunctionType]:
    """A function and what it wraps, outermost first."""
    found: List[types.FunctionType] = []
    while len(found) < _MOST_LAYERS:
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif type(value) is property:
            value = value.fget
        if type(value) is types.MethodType:
            value = value.__func__
        if type(value) is not types.FunctionType or value in found:
            break
        found.append(value)
        value = value.__dict__.get("__wrapped__")
    return found


def _with_code(value: Any, code: types.CodeType) -> Optional[types.FunctionType]:
    """The outermost function of `value`, if one of its layers runs `code`."""
    layers = _functions_in(value)
    return layers[0] if any(layer.__code__ is code for layer in layers) else None


def _attribute_with(code: types.CodeType, held: Dict[str, Any]) -> Optional[types.FunctionType]:
    """The method of the first argument's class that runs `code`."""
    if not code.co_argcount or code.co_varnames[0] not in held:
        return None
    first = held[code.co_varnames[0]]
    for kind in type.__dict__["__mro__"].__get__(first if isinstance(first, type) else type(first)):
        for value in list(type.__dict__["__dict__"].__get__(kind).values()):
            found = _with_code(value, code)
            if found is not None:
                return found
    return None


def _wrapped_by(code: types.CodeType, held: Dict[str, Any]) -> Optional[types.FunctionType]:
    """The only function among the free variables of a wrapper, which takes any arguments."""
    if not (code.co_flags & _VARARGS and code.co_flags & _VARKEYWORDS):
        return None
    functions = [
        layers[0]
        for name in code.co_freevars
        for layers in [_functions_in(held.get(name))]
        if layers
    ]
    return functions[0] if len(functions) == 1 else None
