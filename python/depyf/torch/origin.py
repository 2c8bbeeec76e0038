"""Which function a code object is, in the words of who wrote it.

Its qualified name, its module, and the wrapper that a decorator put around it.

Nothing of the program is called: only dictionaries of classes and modules are looked into.
"""

import functools
import types
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from depyf.plain import is_one_of, name_of, qualified_name_of, text_of

_VARARGS, _VARKEYWORDS = 0x4, 0x8
#: the flag of a class that is not static data of C, to which no function of Python can be added
_HEAP_TYPE = 1 << 9
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
    found, layer = _attribute_with(code, held)
    if found is None:
        function, layer = _with_code(scope.get(name_of(code)), code, held)
        if function is None and code.co_freevars:
            function, layer = _global_with(code, held, scope)
        found = _named(function) if function is not None else None
    # a wrapper may have the name of what it is around
    wraps = layer is not None and len(_functions_in(layer)) > 1 and not _stands_alone(code)
    if found is None and is_wrapper(code):
        found = wrapped_by(code, held)
        wraps = found is not None
    if found is not None:
        name, module = found
        wraps = wraps or name.rpartition(".")[2] != name_of(code)
        return Origin(name, module, name_of(code) if wraps else "")
    name = qualified_name_of(code)
    # of a wrapper, the decorator's name is all that a reader knows
    name = name if is_wrapper(code) else _without_locals(name)
    return Origin(name, text_of(scope.get("__name__")), "")


def is_wrapper(code: types.CodeType) -> bool:
    """Whether it may be that of a decorator's wrapper, which takes any arguments."""
    return bool(code.co_freevars and code.co_flags & _VARARGS and code.co_flags & _VARKEYWORDS)


#: descriptors of classes that are written in C, which hold no function of Python
_NATIVE = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.GetSetDescriptorType,
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.MemberDescriptorType,
)


def _without_locals(qualname: str) -> str:
    """`main.<locals>.Model.forward` is Model.forward for who reads the name of a file."""
    return qualname.rpartition("<locals>.")[2] or qualname


def _functions_in(value: Any) -> List[types.FunctionType]:
    """A function and what it wraps, outermost first."""
    found: List[types.FunctionType] = []
    while len(found) < _MOST_LAYERS:
        if issubclass(type(value), (staticmethod, classmethod)):
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


_Layers = Tuple[Optional[types.FunctionType], Optional[types.FunctionType]]


def _with_code(value: Any, code: types.CodeType, held: Dict[str, Any]) -> _Layers:
    """The outermost function of `value` and its layer to which a frame of `code` belongs, if one
    of its layers does.
    """
    layers = _functions_in(value)
    for layer in layers:
        if layer.__code__ is code and _shares_variables(layer, held):
            return layers[0], layer
    return None, None


def _global_with(code: types.CodeType, held: Dict[str, Any], scope: Dict[str, Any]) -> _Layers:
    """As `_with_code`, of the global whose frame it is: a decorated function has another name than
    the wrapper. (None, None) where several may be.
    """
    found: _Layers = (None, None)
    for value in list(scope.values()):
        function, layer = _with_code(value, code, held)
        if layer is None or layer is found[1]:
            continue
        if found[1] is not None:
            return None, None
        found = function, layer
    return found


def _shares_variables(function: types.FunctionType, held: Dict[str, Any]) -> bool:
    """Whether the free variables of a function are those of a frame of its code: all functions that
    one decorator wraps have one code.
    """
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            if name in held and cell.cell_contents is not held[name]:
                return False
        except ValueError:  # it has no value, and that of the frame has one
            return False
    return True


def _stands_alone(code: types.CodeType) -> bool:
    """Whether a method of a class or a function of a module has this code, as it was written: the
    wrapper of a decorator is made in a function. Python before 3.11 does not tell.
    """
    name = text_of(getattr(code, "co_qualname", ""))
    return bool(name) and ("<locals>" not in name or "." in _without_locals(name))


def _named(function: types.FunctionType) -> Tuple[str, str]:
    for one in _functions_in(function):
        # functools.wraps gave it the name of another function, such as the base class's
        if "__wrapped__" in one.__dict__ and _stands_alone(one.__code__):
            module = text_of(one.__globals__.get("__name__"))
            return _without_locals(qualified_name_of(one.__code__)), module
    return _without_locals(text_of(function.__qualname__)), text_of(function.__module__)


def _attribute_with(
    code: types.CodeType, held: Dict[str, Any]
) -> Tuple[Optional[Tuple[str, str]], Optional[types.FunctionType]]:
    """Name and module of the method of the first argument's class whose frame it is, and the layer
    of it that has the code; None where several may be.
    """
    if not code.co_argcount or code.co_varnames[0] not in held:
        return None, None
    first = held[code.co_varnames[0]]
    owner = first if issubclass(type(first), type) else type(first)
    known: Optional[types.FunctionType] = None
    told: Optional[Tuple[str, str]] = None
    for kind in type.__dict__["__mro__"].__get__(owner):
        if not type.__dict__["__flags__"].__get__(kind) & _HEAP_TYPE:
            continue  # written in C, as the base of a tensor's class, which has hundreds of members
        for key, value in list(type.__dict__["__dict__"].__get__(kind).items()):
            if is_one_of(type(value), _NATIVE):  # most of what a tensor's class has
                continue
            found, layer = _with_code(value, code, held)
            if found is None or layer is known:
                continue
            if told is not None:
                return None, None
            name, module = _named(found)
            if "." not in name and key != name and isinstance(key, str):
                # a decorator's wrapper, whose name says nothing of the method
                name, module = "%s.%s" % (_class_name(kind), key), _module_of(kind)
            known, told = layer, (name, module)
    return told, known


def _class_name(kind: type) -> str:
    return _without_locals(text_of(type.__dict__["__qualname__"].__get__(kind)))


def _module_of(kind: type) -> str:
    found = type.__dict__["__dict__"].__get__(kind).get("__module__")
    return found if type(found) is str else ""


def _callable_named(value: Any) -> Optional[Tuple[str, str]]:
    """Name and module of a function, of what `partial` holds, or of an object that is called."""
    for _ in range(_MOST_LAYERS):
        layers = _functions_in(value)
        if layers:
            return _named(layers[0])
        kind = type(value)
        if kind is functools.partial:
            value = functools.partial.__dict__["func"].__get__(value)
            continue
        if issubclass(kind, type):
            return None
        kept = _dictionary(value)
        if type(kept.get("__wrapped__")) is types.FunctionType:
            value = kept["__wrapped__"]  # functools.update_wrapper(self, function)
            continue
        for one in type.__dict__["__mro__"].__get__(kind):
            members = type.__dict__["__dict__"].__get__(one)
            # torch's modules are called by `__call__` of their base, which runs `forward`
            if "forward" in members or type(members.get("__call__")) is types.FunctionType:
                method = "forward" if "forward" in members else "__call__"
                return "%s.%s" % (_class_name(kind), method), _module_of(kind)
        return None
    return None


def _dictionary(value: Any) -> Dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def wrapped_by(code: types.CodeType, held: Dict[str, Any]) -> Optional[Tuple[str, str]]:
    """The only callable among the free variables of a wrapper, or of the rest of one behind a graph
    break.
    """
    found = [_callable_named(held[name]) for name in code.co_freevars if name in held]
    names = [one for one in found if one is not None]
    return names[0] if len(names) == 1 else None
