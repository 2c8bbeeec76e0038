"""Reads of the program's objects that call none of its methods.

The class of an object, of an exception or of a dictionary of globals may have methods of its own,
which count their calls, take locks or raise.
"""

import types

TYPE_CHECKING = False  # as type checkers read it; `typing` is not loaded with the package
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Set

_MISSING = object()
#: descriptors that are written in C, of which those of the program's objects run no Python
_NATIVE = (types.GetSetDescriptorType, types.MemberDescriptorType)


def code_objects(code: types.CodeType) -> "List[types.CodeType]":
    """`code` and every code object among its constants, at any depth, outermost first. One that
    several share is in the list once.
    """
    found: "List[types.CodeType]" = []
    pending = [code]
    seen: "Set[int]" = set()  # by id: `__eq__` of code objects compares all of two
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        found.append(current)
        nested = [one for one in current.co_consts if type(one) is types.CodeType]
        pending.extend(reversed(nested))
    return found


def is_one_of(kind: type, kinds: "Iterable[type]") -> bool:
    """Whether a type is among others; `in` may call `__eq__` or `__hash__` of its metaclass."""
    for one in kinds:
        if kind is one:
            return True
    return False


def text_of(value: "Any") -> str:
    """A text as an exact str; "" for what is no text."""
    if type(value) is str:
        return value
    return str.__str__(value) if issubclass(type(value), str) else ""


def name_of(code: types.CodeType) -> str:
    """The name of a code object."""
    return text_of(code.co_name)


def qualified_name_of(code: types.CodeType) -> str:
    """The qualified name of a code object; its name where this Python keeps no other."""
    return text_of(getattr(code, "co_qualname", code.co_name))


def file_of(code: types.CodeType) -> str:
    """The name of the file of a code object."""
    return text_of(code.co_filename)


def plain_dict(value: "Any") -> "Optional[Dict[str, Any]]":
    """A dictionary that has no methods of a class of the program: itself, or a copy of one that
    has; None for what is no dictionary.
    """
    if type(value) is dict:
        return value
    return dict(dict.items(value)) if issubclass(type(value), dict) else None


def observes_reads(scope: "Any") -> bool:
    """Whether Python calls a method of the program where code with these globals reads one."""
    kind = type(scope)
    if kind is dict or not issubclass(kind, dict):
        return False
    found = member_of(kind, "__getitem__")
    return found is not dict.__dict__["__getitem__"] or member_of(kind, "__missing__") is not None


def attribute_of(value: "Any", name: str, default: "Any" = None) -> "Any":
    """An attribute that an object or its class holds; `default` for one that has to be computed."""
    kind = type(value)
    found = member_of(kind, name)
    if is_one_of(type(found), _NATIVE):
        try:
            return found.__get__(value, kind)
        except AttributeError:
            return default
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        held = None
    if issubclass(type(held), dict):
        own = dict.get(held, name, _MISSING)
        if own is not _MISSING:
            return own
    if found is None or member_of(type(found), "__get__") is not None:
        return default
    return found


def member_of(kind: "Any", name: str, default: "Any" = None) -> "Any":
    """What a class or one that it inherits from holds under a name."""
    for one in type.__dict__["__mro__"].__get__(kind):
        members = type.__dict__["__dict__"].__get__(one)
        if name in members:
            return members[name]
    return default


def cause_of(error: BaseException) -> "Optional[BaseException]":
    """The exception that another one names as its cause."""
    found: "Optional[BaseException]" = _CAUSE.__get__(error)
    return found


def context_of(error: BaseException) -> "Optional[BaseException]":
    """The exception that was at hand when another one was raised."""
    found: "Optional[BaseException]" = _CONTEXT.__get__(error)
    return found


def traceback_of(error: BaseException) -> "Optional[types.TracebackType]":
    """Where an exception was raised."""
    found: "Optional[types.TracebackType]" = _TRACEBACK.__get__(error)
    return found


def hides_context(error: BaseException) -> bool:
    """Whether a traceback leaves out the context of an exception."""
    return bool(_SUPPRESS.__get__(error))


_CAUSE = BaseException.__dict__["__cause__"]
_CONTEXT = BaseException.__dict__["__context__"]
_TRACEBACK = BaseException.__dict__["__traceback__"]
_SUPPRESS = BaseException.__dict__["__suppress_context__"]


def class_name(kind: type) -> str:
    """The qualified name of a class with its module, as a traceback has it."""
    name = text_of(type.__dict__["__qualname__"].__get__(kind))
    module = module_of(kind)
    return name if module in ("", "builtins", "__main__") else "%s.%s" % (module, name)


def module_of(kind: type) -> str:
    """The module of a class."""
    return text_of(type.__dict__["__module__"].__get__(kind))


def exception_said(error: BaseException) -> str:
    """What `str` makes of an exception, unless its class has a method of the program for that."""
    kind = type(error)
    for one in type.__dict__["__mro__"].__get__(kind):
        made = type.__dict__["__dict__"].__get__(one).get("__str__")
        if made is None:
            continue
        if type(made) is types.FunctionType:
            home = text_of(dict.get(made.__globals__, "__name__")).partition(".")[0]
            if home != "torch":
                made = BaseException.__str__
        break
    arguments = _ARGUMENTS.__get__(error)
    if all(is_one_of(type(one), _EXACT) for one in arguments):
        return text_of(made(error))
    return ", ".join(
        str(one) if is_one_of(type(one), _EXACT) else type.__repr__(type(one)) for one in arguments
    )


_ARGUMENTS = BaseException.__dict__["args"]
_EXACT = (str, int, float, bool, bytes, type(None))


def default_values(function: types.FunctionType) -> "Dict[str, Any]":
    """The default of each parameter that has one. As in a call (CPython's `initialize_locals`), the
    last of `__defaults__` belongs to the last positional parameter, and of `__kwdefaults__` the
    names of keyword-only parameters count.
    """
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    given = function.__defaults__ or ()
    found = dict(zip(reversed(positional), reversed(given)))
    for name, value in (plain_dict(function.__kwdefaults__) or {}).items():
        if type(name) is str and name in keyword_only:
            found[name] = value
    return found


def surplus_defaults(function: types.FunctionType) -> bool:
    """Whether the function has a default that no parameter takes."""
    given = len(function.__defaults__ or ()) + len(plain_dict(function.__kwdefaults__) or {})
    return given > len(default_values(function))
