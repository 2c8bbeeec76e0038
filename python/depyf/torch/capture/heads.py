"""The head of a file of transformed code, and what is known of its graph before there is code."""

import collections
import enum
import inspect
import os
import re
import types
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Tuple

from depyf.interrupts import pass_on
from depyf.model import Entry, Function
from depyf.plain import attribute_of, class_name, file_of, is_one_of, member_of
from depyf.terminal import shown
from depyf.trace.frames import parse_place
from depyf.torch.fullcode import defaults_of
from depyf.trace.breaks import own_place
from depyf.trace.graph_rows import OPERATION
from depyf.trace.names import resumed

#: how Dynamo names an input of a graph, which may be an output, too
_INPUT = re.compile(r"^[lL]_(\w+?)_$")


_RETURNS = re.compile(r"^( *)return (.+?);?$", re.MULTILINE)


def outputs_of(entry: Entry) -> Tuple[str, ...]:
    """The names of the captured graph's outputs, from its text, which exists before the code."""
    texts = [one._text or "" for one in entry.artifacts if one.stage == "Captured_Graph"]
    found = _RETURNS.findall(texts[-1]) if texts else []
    # the graphs inside of it, such as a branch of torch.cond, are classes inside of its class
    outermost = min(found, key=lambda one: len(one[0]), default=("", ""))
    told = re.match(r"\(([\w, ]*)\)\s*$", outermost[1])
    names = [one.strip() for one in told.group(1).split(",") if one.strip()] if told else []
    return tuple(_INPUT.sub(r"\1", one) for one in names)


def updated_by(entry: Entry) -> Dict[str, int]:
    """How many tensors the graph of an entry changes in place, by the graph's name; {} where that
    is not known.
    """
    for artifact in entry.artifacts:
        nodes = artifact.structure.get("nodes") or ()
        if artifact.stage == "Captured_Graph" and nodes and entry.graph_name:
            written = {one for _, into, _ in artifact.structure.get("writes") or () for one in into}
            given = [one for one in written if one < len(nodes) and nodes[one][1] != OPERATION]
            return {entry.graph_name: len(given)}
    return {}


#: characters of a source in which its parameters are looked for
_HEAD_OF_SOURCE = 4000


def _defaults(function: Function) -> str:
    """A sentence on the default values that the program's function has, and code of torch's not."""
    if function._defaults is None:
        found: Dict[str, str] = {}
        if re.search(r"\bdef\b[^:]*=", function.source[:_HEAD_OF_SOURCE]):
            try:
                found = defaults_of(function)
            except Exception:  # a source that is none of Python's
                pass_on()
        told = [name + value for name, value in found.items() if value != "=None"]
        told += ["None for %s" % ", ".join(n for n, value in found.items() if value == "=None")] * (
            "=None" in found.values()
        )
        function._defaults = "defaults in the program: %s" % ", ".join(told) if told else ""
    return function._defaults


#: columns of a line of a file's head, behind its `# `
_HEAD = 98


def _extent(entry: Entry, function: Function) -> str:
    """Which compile the code of an entry is, and how far it goes, on one line."""
    first = "compile %s: " % entry.compile_id
    if not entry.breaks:
        return first + "to the end of the function, without a graph break"
    found = entry.breaks[-1]
    own = own_place(found, function.filename, (function.name, resumed(function.name)[0]))
    own = (function.filename, entry._broke_at) if entry._broke_at else own
    inner = parse_place(found.location)
    at = " at line %d" % own[1] if own is not None else ""
    beside = ""
    if inner is not None and inner != own:
        beside = " (%s:%d)" % (os.path.basename(inner[0]), inner[1])
    said = "%sup to the graph break%s" % (first, at)
    if entry.runs_on:
        said = "%sup to line %d, then plain Python, for the graph break%s"
        said %= first, entry.runs_on, at
    room = _HEAD - len(said)
    return said + (beside if len(shown(beside)) <= room else beside[: room - 1] + "…")


def file_name(code: types.CodeType) -> str:
    """The name of the file of a code object, without its folders."""
    return os.path.basename(file_of(code))


#: an argument or a global, and what it holds: entries of dictionaries, elements, attributes
_ARGUMENT = re.compile(
    r"([LG])\['(\w+)'\]((?:\['[\w .-]+'\]|\[\d+\]|\.(?!__(?!self__))[A-Za-z_]\w*){0,4})$"
)
_STEP = re.compile(r"\['([^']+)'\]|\[(\d+)\]|\.(\w+)")
#: characters of a value, and values, that a line tells
_MOST_OF_VALUE, _MOST_VALUES = 40, 10
_MISSING = object()
#: what a function of the program that asks for sizes has among its names
_ASKS_FOR_SIZES = frozenset(("shape", "size", "numel"))
#: of the frame that is compiled: its variables, and its globals
Scopes = Tuple[Dict[str, Any], Dict[str, Any]]


def _constants(code: types.CodeType, held: Scopes, guarded: Mapping[str, Any]) -> str:
    """A sentence on the arguments, free variables, globals, lengths and sizes that an entry's code
    and graph have as constants.

    Args:
        code: of the program's function.
        guarded: what the entry's guards look at, as `compat.guarded_sources` gives it.
    """
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    named = code.co_varnames[:count] + code.co_freevars
    # __nested_resume_fns and its like are torch's, ___stack0 is a value of the program
    given = [one for one in named if one.startswith("___stack") or not one.startswith("__")]
    sized = not _ASKS_FOR_SIZES.isdisjoint(code.co_names)
    told: List[str] = []
    none: List[str] = []
    for source, how in guarded.items():
        match = _ARGUMENT.match(source)
        scope, name, path = match.groups() if match is not None else ("", "", "")
        if name not in given and (scope != "G" or name.startswith("__")):
            continue
        if path.endswith(".training") or "._modules[" in path:
            continue
        value = held[scope == "G"].get(name, _MISSING)
        if type(value) is dict and not value and scope == "L":
            told.append("%s is empty" % name)
        value, attribute = _reached(value, path)
        shown_as = name + path
        if type(how) is tuple:
            fixed = [(at, size) for at, size in enumerate(how) if size is not None]
            told += ["%s.size(%d) is %d" % (shown_as, *one) for one in fixed if sized]
        elif how == "identity" and scope == "L" and issubclass(type(value), enum.Enum):
            told.append("%s is %s" % (shown_as, _member(value)))
        elif how == "length" and is_one_of(type(value), (list, tuple)):
            told.append("len(%s) is %d" % (shown_as, len(value)))
        elif how != "value":
            continue
        elif value is None and not attribute:
            none.append(shown_as)
        elif is_one_of(type(value), (int, float, str) if attribute else (int, float, str, bool)):
            said = repr(value)
            if len(said) <= _MOST_OF_VALUE:
                told.append("%s is %s" % (shown_as, said))
    told += ["None for %s" % ", ".join(none)] * bool(none)
    if len(told) > _MOST_VALUES:
        told[_MOST_VALUES:] = ["%d more" % (len(told) - _MOST_VALUES)]
    return "constants under this entry's guards: %s" % ", ".join(told) if told else ""


def _member(value: enum.Enum) -> str:
    """A member of an enumeration as a program names it, or a word where it has no plain name."""
    name = attribute_of(value, "_name_")
    kind = class_name(type(value)).rpartition(".")[2]
    return "%s.%s" % (kind, name) if type(name) is str else "a member"


#: pairs of one object that a line tells
_MOST_PAIRS = 3


def _same_objects(guarded: Mapping[str, Any]) -> str:
    """A sentence on the sources that guards ask to be one object: the graph takes it once."""
    pairs = [
        "%s is %s" % tuple(_SCOPE.sub(r"\1", one) for one in sorted((how[3:], source))[::-1])
        for source, how in guarded.items()
        if type(how) is str and how.startswith("is ")
    ]
    pairs = [one for one in pairs if len(one) <= 2 * _MOST_OF_VALUE]
    if len(pairs) > _MOST_PAIRS:
        pairs[_MOST_PAIRS:] = ["%d more" % (len(pairs) - _MOST_PAIRS)]
    return "one object under this entry's guards: %s" % ", ".join(pairs) if pairs else ""


#: how a source begins
_SCOPE = re.compile(r"\b[LG]\['(\w+)'\]")


def _reached(value: Any, path: str) -> Tuple[Any, bool]:
    """(what an object holds at a path, whether it is an attribute); nothing is computed for it."""
    attribute = False
    for key, index, name in _STEP.findall(path):
        attribute = False
        field = _field(value, name) if name else -1
        if key or index and type(value) is dict:
            at = key or int(index)
            value = value.get(at, _MISSING) if type(value) is dict else _MISSING
        elif index or field >= 0:
            at = int(index or field)
            if issubclass(type(value), tuple):
                value = tuple.__getitem__(value, at) if at < tuple.__len__(value) else _MISSING
            else:
                value = value[at] if type(value) is list and at < len(value) else _MISSING
        elif type(value) is types.MethodType and name == "__self__":
            value = value.__self__
        else:
            attribute = True
            of = member_of if issubclass(type(value), type) else attribute_of
            value = of(value, name, _MISSING)
    return value, attribute


def _field(value: Any, name: str) -> int:
    """The place of a field of a named tuple; -1 for none."""
    if not issubclass(type(value), tuple) or type(member_of(type(value), name)) is not _GETTER:
        return -1
    fields = member_of(type(value), "_fields")
    plain = type(fields) is tuple and all(type(one) is str for one in fields)
    return fields.index(name) if plain and name in fields else -1


#: of what a named tuple's class has for each field
_GETTER = type(getattr(collections.namedtuple("_GETTER", "field"), "field"))


def about_code(
    function: Function,
    entry: Entry,
    code: types.CodeType,
    held: Scopes = ({}, {}),
    guarded: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """What the head of the file of an entry's code says it is of; see `_constants`."""
    title = function.title_of(entry)
    if title and function.through:
        title += " (%s:%d)" % (file_name(code), code.co_firstlineno)
    fixed = _constants(code, held, guarded)
    same = _same_objects(guarded)
    told = (title, _extent(entry, function), _defaults(function), fixed, same)
    return "\n".join(filter(None, told))
