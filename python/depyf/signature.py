"""What a function object has beside its code: defaults and annotations, as source.

Nothing of the objects is executed: no `__repr__`, no properties, no lazy annotations.
"""

import __future__

import ast
import builtins
import math
import types
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from depyf.plain import default_values, is_one_of, module_of, plain_dict

_CO_VARARGS = 0x4
_CO_VARKEYWORDS = 0x8

# A longer text is described in a comment instead; a deeper one may hold itself.
_MAX_LENGTH = 200
_MAX_DEPTH = 8
_SHORT_INT_BITS = 600
_CONTAINERS = (tuple, list, set, dict)
_ATOMS = (int, float, complex, str, bytes, bool, type(None))
_FUNCTION_TYPES = (types.FunctionType, types.BuiltinFunctionType)
_ALIASES = tuple(
    getattr(types, name) for name in ("GenericAlias", "UnionType") if hasattr(types, name)
)


def signature(
    function: types.FunctionType, code: types.CodeType
) -> Tuple[Tuple[str, ...], List[str]]:
    """(texts, comments) for the head of `function`.

    `texts` holds an annotation and a default for each parameter as they are written, and the
    annotation of the result; an empty text stands for none. `comments` says which of them have
    no literal and no name.
    """
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    order = list(positional)
    if code.co_flags & _CO_VARARGS:
        order.append(rest.pop(0))
    order += keyword_only
    if code.co_flags & _CO_VARKEYWORDS:
        order.append(rest.pop(0))

    defaults = default_values(function)
    namer = _Namer(function.__globals__, defaults.values())
    annotations = _annotations(function, code, namer)

    texts: List[str] = []
    comments: List[str] = []
    for name in order:
        texts.append(_annotation(annotations, name, "annotation of " + name, comments))
        if name in defaults:
            text = namer.text(defaults[name])
            if text is None:
                text = "..."
                comments.append(
                    "default of %s: %s, where `...` stands" % (name, describe(defaults[name]))
                )
            texts.append(text)
        else:
            texts.append("")
    texts.append(_annotation(annotations, "return", "annotation of the result", comments))
    return tuple(texts), comments


def has_texts_as_annotations(code: types.CodeType) -> bool:
    """Whether `from __future__ import annotations` stands in the module of `code`."""
    return bool(code.co_flags & __future__.annotations.compiler_flag)


def describe(value: object) -> str:
    """`<object of type Foo>`, without asking the object."""
    return "<object of type %s>" % _type_name(type(value))


def _type_name(kind: type) -> str:
    name = type.__dict__["__qualname__"].__get__(kind)
    return "".join(c if c.isprintable() else "?" for c in name)


def _annotation(annotations: Mapping[str, Any], name: str, what: str, comments: List[str]) -> str:
    text, value = annotations.get(name, ("", None))
    if text is None:
        comments.append("%s: %s" % (what, describe(value)))
        return ""
    return text


def _annotations(
    function: types.FunctionType, code: types.CodeType, namer: "_Namer"
) -> Dict[str, Any]:
    """Name -> (text or None, value)."""
    if "__wrapped__" in function.__dict__:
        return {}  # functools.wraps copied those of another function
    as_text = has_texts_as_annotations(code)
    annotate = getattr(function, "__annotate__", None)
    if isinstance(annotate, types.FunctionType):  # from 3.14 on they are computed when asked for
        return _returned_dict(annotate.__code__, as_text)
    found = function.__annotations__
    if type(found) is not dict:
        return {}
    result = {}
    for name, value in found.items():
        result[name] = (_spelling(value, as_text, namer.text(value), None), value)
    return result


def _spelling(
    value: object, as_text: bool, text: Optional[str], otherwise: Optional[str]
) -> Optional[str]:
    """How an annotation is written.

    Args:
        value: the annotation.
        as_text: annotations of the module are texts.
        text: what stands for the value.
        otherwise: what stands for a text that is no expression.
    """
    if not as_text or type(value) is not str:
        return text
    return value if _is_expression(value) else otherwise


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return "\n" not in text and len(text) <= _MAX_LENGTH


def _returned_dict(code: types.CodeType, as_text: bool) -> Dict[str, Any]:
    """The dict that the function of `code` returns, as texts; `as_text`: of annotations that are
    texts themselves.
    """
    from depyf import _core

    try:
        tree = ast.parse(_core.decompile(code, line_map=False)[0])
    except (_core.DecompilationError, SyntaxError, ValueError, RecursionError):
        return {}
    shown: Dict[Any, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values):
                text = ast.unparse(value)
                constant = value.value if isinstance(value, ast.Constant) else None
                text = _spelling(constant, as_text, text, text) or text
                if isinstance(key, ast.Constant) and len(text) <= _MAX_LENGTH:
                    shown[key.value] = (text, None)
    return shown


def _shared(values: Iterable[Any]) -> Set[int]:
    """Ids of the containers that stand in several places of the values."""
    seen: Set[int] = set()
    shared: Set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if not is_one_of(type(value), _CONTAINERS):
            continue
        if id(value) in seen:
            shared.add(id(value))
            continue
        seen.add(id(value))
        pending.extend(value)
        if type(value) is dict:
            pending.extend(value.values())
    return shared


def _keeps_order(value: Set[Any]) -> bool:
    """Whether a set that is made of the items in their order has them in that order."""
    if not all(is_one_of(type(one), _ATOMS) for one in value):
        return False
    again: Set[Any] = set()
    for one in value:
        again.add(one)
    return list(map(id, again)) == list(map(id, value))


class _Namer:
    """Spells objects as literals, or as the names that a function's globals have for them."""

    def __init__(self, namespace: Mapping[str, Any], values: Iterable[Any] = ()) -> None:
        """`values`: all that will be spelled."""
        self.namespace = plain_dict(namespace) or {}
        self.shared = _shared(values)

    def text(self, value: Any, depth: int = 0) -> Optional[str]:
        """An expression for `value`, or None."""
        if depth > _MAX_DEPTH:
            return None
        text = self._literal(value, depth)
        if text is None:
            text = self._name(value)
        if text is None:
            text = self._generic(value, depth)
        return text if text is None or len(text) <= _MAX_LENGTH else None

    def _literal(self, value: Any, depth: int) -> Optional[str]:
        kind = type(value)
        if value is None or value is Ellipsis or kind is bool:
            return "..." if value is Ellipsis else repr(value)
        if kind is int:
            return repr(value) if value.bit_length() <= _SHORT_INT_BITS else None
        if kind is float:
            return repr(value) if math.isfinite(value) else None
        if kind is complex:
            return self._complex(value)
        if kind is str or kind is bytes:
            return repr(value) if len(value) <= _MAX_LENGTH else None
        if not is_one_of(kind, _CONTAINERS) or len(value) > _MAX_LENGTH:
            return None
        holds = any(is_one_of(type(one), _CONTAINERS) for one in value)
        if id(value) in self.shared and (holds or kind is not tuple):
            return None  # each literal would be another object
        if kind is set and not _keeps_order(value):
            return None
        if kind is dict:
            parts = [
                (self.text(key, depth + 1), self.text(item, depth + 1))
                for key, item in value.items()
            ]
            if any(None in part for part in parts):
                return None
            return "{%s}" % ", ".join("%s: %s" % part for part in parts)
        items = self._texts(value, depth)
        if items is None or (kind is set and not items):
            return None
        inside = ", ".join(items)
        if kind is tuple:
            return "(%s,)" % inside if len(items) == 1 else "(%s)" % inside
        return "[%s]" % inside if kind is list else "{%s}" % inside

    def _complex(self, value: complex) -> Optional[str]:
        """`-1j` has a real part of -0.0, and no sum of literals has one of 0.0 beside -1j."""
        if not math.isfinite(value.real + value.imag):
            return None
        for text in (repr(value), "-%r" % complex(0.0, abs(value.imag))):
            if repr(ast.literal_eval(text)) == repr(value):
                return text
        name = self._name(complex)
        return None if name is None else "%s(%r, %r)" % (name, value.real, value.imag)

    def _texts(
        self, values: Iterable[Any], depth: int, as_types: bool = False
    ) -> Optional[List[str]]:
        """An expression for each of `values`, or None where one has none.

        `as_types`: they stand within a type, where None means its own type.
        """
        texts = []
        for value in values:
            is_none = as_types and value is type(None)
            text = "None" if is_none else self.text(value, depth + 1)
            if text is None:
                return None
            texts.append(text)
        return texts

    def _name(self, value: Any) -> Optional[str]:
        from depyf.function_source import is_writable  # it takes longer to load than all of this

        if value is type(None):
            type_name = self._name(type)
            return None if type_name is None else type_name + "(None)"
        name = None
        if issubclass(type(value), type):
            name = type.__dict__["__name__"].__get__(value)
        elif is_one_of(type(value), _FUNCTION_TYPES):
            name = value.__name__
        if name is not None and not is_writable(name):
            name = None
        if name is not None:
            if self.namespace.get(name) is value:
                return name
            if name not in self.namespace and vars(builtins).get(name) is value:
                return name
        modules = []
        for known, found in list(self.namespace.items()):
            if type(known) is not str or known.startswith("__") or not is_writable(known):
                continue
            if found is value:
                return known
            if type(found) is types.ModuleType:
                modules.append((known, found))
        for known, module in modules:
            if name is not None and vars(module).get(name) is value:
                return known + "." + name
        return None

    def _generic(self, value: Any, depth: int) -> Optional[str]:
        """`list[int]`, `int | None`, `Optional[int]`."""
        kind = type(value)
        if is_one_of(kind, _ALIASES):
            items = self._texts(value.__args__, depth, True)
            if not items:
                return None
            if kind.__name__ in ("UnionType", "Union"):
                return " | ".join(items)
            origin = self._name(value.__origin__)
            return None if origin is None else "%s[%s]" % (origin, ", ".join(items))
        if module_of(kind) != "typing" or "__args__" not in getattr(value, "__dict__", ()):
            return None
        import typing

        inside = vars(value)
        arguments, name = inside["__args__"], inside.get("_name")
        if inside.get("__origin__") is typing.Union:
            name = "Union"
            if len(arguments) == 2 and arguments[1] is type(None):
                name, arguments = "Optional", arguments[:1]
        origin = self._typing_name(name)
        if origin is None or type(arguments) is not tuple or not arguments:
            return None
        items = self._texts(arguments, depth, True)
        if items is None:
            return None
        if name == "Callable" and arguments[0] is not Ellipsis:
            items = ["[%s]" % ", ".join(items[:-1]), items[-1]]
        return "%s[%s]" % (origin, ", ".join(items))

    def _typing_name(self, name: Any) -> Optional[str]:
        import typing

        value = vars(typing).get(name)
        if type(name) is not str or value is None:
            return None
        if self.namespace.get(name) is value:
            return name
        for known, found in list(self.namespace.items()):
            if found is typing and type(known) is str:
                return known + "." + name
        return None


# Free variables of the compiler's own, which a class binds.
_OF_CLASSES = ("__class__", "__classdict__", "__conditional_annotations__")


def around(code: types.CodeType) -> List[str]:
    """What has to be around the text of `code`, in words: alone, it does not compile where it
    assigns to a variable of another function, and reads globals instead of such variables.
    """
    free = code.co_freevars
    names = [name for name in free if name.isidentifier() and name not in _OF_CLASSES]
    needed = ["a function around it that binds " + ", ".join(names)] if names else []
    return needed + ["a class around it"] * any(name in _OF_CLASSES for name in free)
