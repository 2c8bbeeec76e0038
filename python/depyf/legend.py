"""Comment lines around a decompiled source: what its names and placeholders stand for."""

import builtins
import functools
import re
import sys
import textwrap
import types
from types import MappingProxyType
from typing import Any, Container, Dict, Iterable, List, Mapping, Sequence, Tuple

from depyf.model import resumed_after
from depyf.plain import is_one_of, name_of, qualified_name_of, text_of
from depyf.trace.names import resumed

_WIDTH = 100


def table_of_globals(names: Dict[str, str]) -> str:
    """Comment lines that say which of torch's globals the names in the source stand for.

    The id of an object in one of torch's names, which is another in each process, is left out.
    """
    shown = ((given, _ID.sub("_…", real)) for given, real in names.items())
    return "".join(_fitting("%s is torch's %s" % pair) for pair in shown)


def table_of_parameters(names: Sequence[Tuple[str, str]], given: Mapping[str, str]) -> str:
    """Comment lines that say which of torch's parameters the names in a source stand for.

    Args:
        names: pairs of a name in the source and torch's, which the frame has.
        given: by torch's names, what the code that calls the function gives for them.
    """
    if not names and not given:
        return ""
    lines = []
    renamed = {real for _, real in names}
    for name, real in names:
        said = given.get(real) or ""
        beside = "`%s` in the calling code, " % said if said and said != name else ""
        lines.append("%s is torch's %s (%son the stack at the break)" % (name, real, beside))
    for real, said in given.items():
        if said and real not in renamed:
            told = "%s is `%s` in the calling code, on the stack at the break"
            lines.append(told % (real, said))
    return "".join(_fitting(line) for line in lines)


def _fitting(text: str, begin: str = "# ") -> str:
    """A row of a table as a comment line, or as several of which none is too wide."""
    if len(begin + text) <= _WIDTH:
        return "%s%s\n" % (begin, text)
    first, *more = rows(text, _WIDTH - len(begin) - 2)
    return "%s%s\n" % (begin, first) + "".join("%s  %s\n" % (begin, one) for one in more)


#: the number of an object, as torch puts it into the names of globals
_ID = re.compile(r"_\d{12,}(?=_c\d+$)")


def legend(source: str, constants: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Comment lines that say what each placeholder in `source` is."""
    told = _legend_of_names(source, names) if names else ""
    return told + _legend_of_constants(source, constants) if constants else told


def with_named_objects(source: str, constants: Mapping[str, Any]) -> Tuple[str, Dict[str, Any]]:
    """A source with readable names in place of the placeholders of objects that have names, such as
    `builtins_super`, and the objects by the names that it has then.
    """
    if not constants:
        return source, {}
    taken = set(re.findall(r"\w+", source))
    named: Dict[str, Any] = {}
    for placeholder, value in constants.items():
        base = name = _name_of(value)
        number = 1
        while name in taken:
            name, number = "%s_%d" % (base, number), number + 1
        form = re.compile(r"\b%s\b" % re.escape(placeholder))
        told = form.sub(name, source) if name else source
        wide = [one for one in told.split("\n") if len(one) > _WIDTH and name and name in one]
        if not name or wide:
            named[placeholder] = value
            continue
        source = told
        taken.add(name)
        named[name] = value
    return source, named


def _name_of(value: Any) -> str:
    """An identifier that says which object it is; "" where it has no name."""
    kind, torch = type(value), _torch()
    told = ""
    if kind is type or kind is types.BuiltinFunctionType:
        name = type.__dict__["__name__"].__get__(value) if kind is type else value.__name__
        told = "builtins." + name if vars(builtins).get(name) is value else ""
    elif any(kind is vars(torch).get(name) for name in ("dtype", "layout", "memory_format")):
        told = str(value)
    elif kind is vars(torch).get("device"):
        told = "torch.device.%s" % value
    elif kind is types.MethodType:
        told = _of_method(value)
    name = re.sub(r"\W+|__+", "_", told)
    return name if name.isidentifier() and name.isascii() else ""


def _rows_of_legend(source: str, title: str, shown: Iterable[Tuple[str, str]]) -> str:
    """Comment lines under `title`: what each name stands for, of those that occur in `source`."""
    lines = [_fitting("%s: %s" % pair, "#   ") for pair in shown if pair[0] in source]
    return "\n# %s\n%s" % (title, "".join(lines)) if lines else ""


def _legend_of_names(source: str, names: Mapping[str, str]) -> str:
    shown = ((spelling, _brief_text(name)) for spelling, name in sorted(names.items()))
    title = "Names in the bytecode that no source can hold, by their replacements above:"
    return _rows_of_legend(source, title, shown)


def _brief_text(text: str) -> str:
    return ascii(text if len(text) <= 200 else text[:200] + "...")


def _legend_of_constants(source: str, constants: Mapping[str, Any]) -> str:
    shown = ((placeholder, _brief(value)) for placeholder, value in constants.items())
    title = "Objects in the bytecode, by their names above:"
    return _rows_of_legend(source, title, shown)


def _torch() -> Any:
    return sys.modules.get("torch", types)  # depyf.legend works without it


def _brief(value: Any) -> str:
    """A description that runs none of the object's own code."""
    kind = type(value)
    text = ""
    if kind is types.ModuleType or kind is types.FunctionType:
        text = value.__name__
    elif kind is type:
        text = type.__repr__(value)
    elif kind is types.BuiltinFunctionType:
        text = value.__qualname__
    elif kind is types.CodeType:
        text = _of_code(value)
    elif kind is types.MethodType:
        text = _of_method(value)
    elif kind is dict and _is_of_module(value):
        return "globals of the module %s" % value["__name__"]
    elif kind is vars(_torch()).get("Size"):
        numbers = list(tuple.__iter__(value))
        if all(type(one) is int for one in numbers):
            text = str(numbers)
    elif kind is float or kind is complex:
        text = repr(value)
    elif is_one_of(kind, (tuple, list, dict, set, frozenset)):
        text = "of length %d" % len(value)
    elif any(kind is vars(_torch()).get(name) for name in ("device", "dtype", "layout")):
        text = str(value)
    named = text_of(type.__dict__["__qualname__"].__get__(kind))
    return " ".join(("%s %s" % (named, text)).split())[:90]


def _of_code(code: types.CodeType) -> str:
    """A code object's function, and the line where it begins."""
    parent, line = resumed(name_of(code))
    if parent:
        return "of " + resumed_after(parent, line or code.co_firstlineno)
    name = qualified_name_of(code)
    return "of %s, line %d" % (name, code.co_firstlineno)


def _of_method(method: types.MethodType) -> str:
    function, owner = method.__func__, method.__self__
    if type(function) is not types.FunctionType:
        return ""
    name = function.__name__
    kind = owner if type(owner) is type else type(owner)
    return "%s.%s" % (type.__dict__["__name__"].__get__(kind), name)


def _is_of_module(names: Dict[Any, Any]) -> bool:
    name = names.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return type(module) is types.ModuleType and module.__dict__ is names


UNCOPIED = """
# Torch's code passes a dict itself as keyword arguments, and so does the bytecode that runs. The
# expression `f(**d)` would compile to bytecode that passes a copy.
"""


_CELL = re.compile(r"\(lambda: (\w+)\)\.__closure__\[0\]")


def cell_note(source: str) -> str:
    """Comment lines on how `source` writes a cell itself, for which Python has no syntax."""
    # the search for a text is many times as fast as that for an expression
    names = list(dict.fromkeys(_CELL.findall(source))) if ".__closure__[0]" in source else []
    if not names:
        return ""
    text = (
        "`(lambda: %s).__closure__[0]` is the variable itself (its cell), not its value: code that "
        "gets the cell reads and sets the same variable. The same holds for: %s."
    )
    if len(names) == 1:
        text = text.partition(" The same holds")[0]
        return "\n" + wrapped(text % names[0])
    return "\n" + wrapped(text % (names[0], ", ".join(names[1:])))


_OWN_VALUE = re.compile(r"(?m)^ *(\w+) = \1$")


def own_value_note(source: str, cells: Container[str] = ()) -> str:
    """Comment lines that say what assignments of variables to themselves are for.

    Args:
        source: the code.
        cells: the variables that other functions share.
    """
    names = list(dict.fromkeys(_OWN_VALUE.findall(source)))
    texts = []
    for shared in (True, False):
        found = ["`%s = %s`" % (name, name) for name in names if (name in cells) is shared]
        if not found:
            continue
        many = len(found) > 1
        told = " and ".join([", ".join(found[:-1]), found[-1]] if many else found)
        told += " change nothing: " if many else " changes nothing: "
        if shared:
            told += "inner functions share %s, so torch writes %s " % (
                ("these variables", "their values") if many else ("this variable", "its value")
            )
            told += "back after the graph, and %s still the same." % (
                "the values are" if many else "the value is"
            )
        else:
            told += (
                "behind the graph, torch writes the variables back that the code below uses, and "
                "%s still the same." % ("the values of these are" if many else "its value is")
            )
        texts.append("\n" + wrapped(told))
    return "".join(texts)


_COPY = re.compile(r"(?m)^ *(\w+) = (\w+)$")


def copied_back_note(source: str) -> str:
    """Comment lines on variables that are copied and set to the copy again."""
    copies: Dict[str, str] = {}  # copy -> variable
    back: Dict[str, str] = {}  # variable -> copy
    for target, value in _COPY.findall(source):
        if copies.get(value) == target != value:
            back.setdefault(target, value)
        else:
            copies.setdefault(target, value)
    if not back:
        return ""
    (name, copy), *others = back.items()
    text = (
        "`%s = %s` and, later, `%s = %s`: torch keeps the value that a variable has in front, and "
        "writes it back behind what it makes of the function, also where it is the same."
        % (copy, name, name, copy)
    )
    if others:
        text += " The same holds for: %s." % ", ".join(name for name, _ in others)
    return "\n" + wrapped(text)


_UNUSED_CELLS = re.compile(r"(?m)^ +if False:\n(?: +\w+ = None\n)* +lambda: (.+)$")


def unused_note(source: str) -> str:
    """Comment lines on the purpose of a function that `source` never creates."""
    found = _UNUSED_CELLS.search(source) if "if False:" in source else None
    if found is None:
        return ""
    names = ", ".join(re.findall(r"\w+", found.group(1)))
    text = (
        "The code below `if False:` never runs. It makes Python keep these variables in cells, "
        "which inner functions could share, as torch's bytecode does: %s." % names
    )
    return "\n" + wrapped(text)


_DECLARED = re.compile(r"(?m)^( +)if False:\n((?:\1 +\w+ = None\n)+)(?!\1 )")


def declared_note(source: str) -> str:
    """Comment lines on assignments in `source` that only make variables of names."""
    if "if False:" not in source:
        return ""
    names = [name for _, body in _DECLARED.findall(source) for name in re.findall(r"(\w+) =", body)]
    if not names:
        return ""
    text = (
        "The code below `if False:` never runs. It declares variables of the function, which binds "
        "them nowhere else itself: %s." % ", ".join(dict.fromkeys(names))
    )
    return "\n" + wrapped(text)


_UNUSED_RESULT = re.compile(r"(?m)^ *(__compiled_fn_\d+)\(")


def graph_calls_note(source: str, updated: Mapping[str, int] = MappingProxyType({})) -> str:
    """Comment lines on the calls of graphs that change tensors in place, and on those of whose
    results `source` makes nothing.

    Args:
        source: the code.
        updated: by the names of graphs in it, how many tensors each changes in place.
    """
    calls = _UNUSED_RESULT.findall(source) if "__compiled_fn_" in source else []
    names = list(dict.fromkeys(calls))
    texts = []
    for name in [one for one in updated if updated[one] and one + "(" in source]:
        text = "`%s` changes %s in place: its Captured_Graph has each of the calls that do so."
        text += " Nothing below uses what it returns." if name in names else ""
        count = updated[name]
        texts.append(text % (name, "1 tensor" if count == 1 else "%d tensors" % count))
    names = [one for one in names if not updated.get(one)]
    if names:
        many = len(names) > 1
        text = "Nothing below uses what %s %s: torch calls %s all the same." % (
            " and ".join("`%s`" % name for name in names),
            "return" if many else "returns",
            "these graphs" if many else "the graph",
        )
        texts.append(text)
    return "".join("\n" + wrapped(text) for text in texts)


_BASE_CLASS = re.compile(r"(?m)^ *(\w+) = type\((\w+)\)\.__mro__\[\d+\]\n *\1\.clear\(\2\)$")


def base_class_note(source: str) -> str:
    """Comment lines on the class whose methods torch calls to fill an object that is a dict."""
    found = list(_BASE_CLASS.finditer(source)) if ".__mro__[" in source else []
    if not found:
        return ""
    names = " and ".join(dict.fromkeys("`%s`" % one.group(1) for one in found))
    text = (
        "%s %s, from which the class of `%s` inherits: torch changes what is in the object by the "
        "methods of that class itself, and calls none that the inheriting class has in their place."
    )
    what = "is `collections.OrderedDict`" if "OrderedDict" in source else "is `dict`"
    if len({one.group(1) for one in found}) > 1:
        what = "are" + what[2:]
    return "\n" + wrapped(text % (names, what, found[0].group(2)))


_CONTENTS = re.compile(r"(?m)^ *([\w.]+)\[:\] = ")


def contents_note(source: str) -> str:
    """Comment lines on lists whose contents torch replaces as a whole."""
    names = list(dict.fromkeys(_CONTENTS.findall(source))) if "[:] = " in source else []
    if not names:
        return ""
    text = (
        "`%s[:] = ...` gives the list all elements that it has afterwards: what the program does "
        "to a list, such as `append` or `pop`, torch writes so. An element that is not among them "
        "the program took out or replaced: guards check how long the list was."
    )
    text %= names[0]
    if len(names) > 1:
        text += " The same holds for: %s." % ", ".join(names[1:])
    return "\n" + wrapped(text)


def random_note(source: str) -> str:
    """Comment lines that say what torch's function for random numbers does, where it is called."""
    found = None
    if "__gen_rand_values_" in source:
        found = re.search(r"\b__gen_rand_values_\d+(?=\()", source)
    if found is None:
        return ""
    text = (
        "`%s()` draws the random numbers for those calls of Python's `random` that are part of the "
        "graph, in their order." % found.group()
    )
    return "\n" + wrapped(text)


#: locals that a note names
_MOST_FREED = 12


def lifetime_note(names: Sequence[str]) -> str:
    """Comment lines that name the locals whose values die earlier than in the source."""
    if not names:
        return ""
    text = "Freed after their last use, as by `del`, since torch's bytecode does so: %s."
    told = list(names)
    if len(told) > _MOST_FREED:  # the code above has each of them
        more = len(told) + 1 - _MOST_FREED
        told[_MOST_FREED - 1 :] = ["and %d more of the locals above" % more]
    return "\n" + wrapped(text % ", ".join(told))


def rows(text: str, width: int, whole_words: bool = False) -> List[str]:
    """`text` on rows of at most `width` columns.

    Args:
        text: words.
        width: in columns.
        whole_words: a word that is longer than a row is not broken.
    """
    if len(text) <= width and text.isprintable() and text == text.strip():
        return [text] if text else []  # most are short, and textwrap splits them into words first
    if text.isprintable() and "  " not in text and text == text.strip():
        words = text.split(" ")
        if whole_words or max(map(len, words)) <= width:
            return _filled(words, width)
    # a path or a name is not broken at its hyphens
    return textwrap.wrap(text, width, break_long_words=not whole_words, break_on_hyphens=False)


def _filled(words: List[str], width: int) -> List[str]:
    """Words on rows of at most `width` columns; one that is wider has a row of its own."""
    found: List[str] = []
    row = words[0]
    for word in words[1:]:
        if len(row) + 1 + len(word) > width:
            found.append(row)
            row = word
        else:
            row += " " + word
    return found + [row]


@functools.lru_cache(maxsize=256)  # what the files of many compiles say is mostly the same
def wrapped(text: str, width: int = _WIDTH) -> str:
    """`text` as comment lines; only a word that is wider than a line is broken."""
    lines = rows(text, width - 2, whole_words=True)
    fitting = [part for line in lines for part in rows(line, width - 2)]
    return "".join("# %s\n" % line for line in fitting)
