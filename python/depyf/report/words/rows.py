"""Rows of `depyf.advice.recompiles` for a recompile: which one it is, and the names in it."""

import re
from functools import lru_cache
from typing import Optional, Sequence, Set, Tuple

from depyf.advice import recompiles as guard_rows
from depyf.advice import uses
from depyf.report.words.breaks import Said, advice_of
from depyf.report.words.stacks import short_place

EQUAL = re.compile(r"^(?P<name>[^=<>!]+?) == (?P<before>.+)$", re.DOTALL)
#: how torch writes the value at a position of a dict, such as the outputs of a model
_VALUE_AT = re.compile(r"\bdict\.__getitem__\((\w+), list\(dict\.keys\(\1\)\)\[(\d+)\]\)")


_LOCAL_OR_GLOBAL = re.compile(r"\b[LG]\['(\w+)'\]")


@lru_cache(maxsize=1024)  # the guards of two compiles are compared one by one
def short(text: str) -> str:
    """A guard's text with `x` for `L['x']`, as torch itself writes reasons from 2.7 on."""
    named = _LOCAL_OR_GLOBAL.sub(r"\1", text)
    return _VALUE_AT.sub(r"list(\1.values())[\2]", named)


#: what torch calls a value that stood on the stack at a graph break, and one of a caller's frame
KEPT = re.compile(r"___stack\d+\b|__(?:nested|resume)_frame_values\b(?:\[\d+\])*")
#: of a value that has no name in the program
VALUE_KEPT = "a value kept across the graph break"


def named_or_kept(name: str) -> str:
    """A value as it is named in a sentence: torch's own name for one stands in no source."""
    return VALUE_KEPT if KEPT.search(name) else "`%s`" % name


def with_article(name: str) -> str:
    return ("an " if name[:1] in "aeiou" else "a ") + name


#: a line that adds to a set, and a set as a guard has it
_ADDS = re.compile(r"\.(add|discard|remove)\(")
_IS_SET = re.compile(r"set\(\)$|\{[^:]*\}$")


def advise(found: Said, key: str, **names: str) -> None:
    if key == "number condition" and uses.chooses_number(found["file"], found["line"]):
        key = "number that chooses"
    elif key == "number condition" and uses.shows_at(found["file"], found["line"]):
        key = "number that decides what is shown"
    elif key == "number condition" and uses.acts_at(found["file"], found["line"]):
        key = "number that decides what is done"
    elif key in ("counter", "float attribute") and _is_of_filled_dict(found):
        key = "growing dict"
    elif key == "value" and _ADDS.search(found["source"]) and _IS_SET.match(found["before"]):
        key = "growing set"
    row = guard_rows.BY_KEY[key]
    names = dict({"name": argument_of(found["name"]), "before": found["before"]}, **names)
    if not _is_programs(names["name"], found["parameters"]) and not is_of_global(found):
        names["name"] = ""  # advice that needs the name is not given
    if names["name"]:
        names.setdefault("tensor", "torch.tensor(%s)" % names["name"])
    names.setdefault("maker", "the code makes")
    names.setdefault("instead", "instead, if the operator accepts a tensor")
    if names["name"] and names["name"].isidentifier() and "variable" not in names:
        names["variable"] = names["name"]
    setting = _SETTING.search(found["raw"])  # torch names it where it is what helps
    # a symbolic number on which the program decides is a constant again
    decides = bool(setting or key == "counter") and decides_on(found)
    if key == "counter":
        each = uses.is_of_each_object(found["file"], found["name"])
        if decides and is_length(found):
            key = "integer used as a constant"
        elif each and (decides or found["name"].startswith("self.")):
            key = "value of each object"
        elif decides and _only_indexes(found):
            key, decides = "counter that indexes", False
        elif decides:
            key = "counter that decides"
        elif uses.bounds_at(found["file"], found["line"], found["name"]):
            key = "counter that bounds"
            names["at"] = short_place(
                found["file"], uses.bounds_at(found["file"], found["line"], found["name"])
            )
        elif _IN_DICT.match(found["name"]) and _changes_others(found):
            key = "counter in a dict"
            names["owner"] = found["name"].partition("[")[0]
        row = guard_rows.BY_KEY[key]
    if key == "dict that is given keys":
        given_keys = uses.keys_given(found["file"], found["line"], found["name"])
        names["keys"] = ", ".join(repr(one) for one in given_keys)
    # a number that is counted up under a key which is computed stays one with the setting, too
    counts = _COUNTED_BY_KEY.match(found["source"])
    # and torch takes no number of a global as symbolic
    helps = setting and not decides and not counts and not is_of_global(found)
    names["setting"] = setting.group() if setting and helps else ""
    given = advice_of(row, names)
    found.update(row=key, help=[text for text, _ in given], patches=[patch for _, patch in given])


#: a value of a dict, of which torch tells the place alone
_IN_VALUES = re.compile(r"^list\((?P<owner>[\w.]+)\.values\(\)\)\[\d+\]$")
#: and one of a dict by its key, of a dict that no caller gives
_OF_OWN_DICT = re.compile(r"^(?P<owner>\w+(\.\w+)+)\['[^']*'\]$")


def _is_of_filled_dict(found: Said) -> bool:
    """Whether a number is one of a dict that the function fills: no tensor can take its place."""
    within = _IN_VALUES.match(found["name"]) or _OF_OWN_DICT.match(found["name"])
    return bool(within and uses.fills_at(found["file"], found["line"], within.group("owner")))


def _only_indexes(found: Said) -> bool:
    """Whether a number is needed as the index of a tensor alone."""
    at = found["file"], found["line"], found["name"]
    needed = uses.needed_at(*at) or DECIDES.match(found["source"])
    return not needed and uses.indexes_tensor(*at)


def decides_on(found: Said) -> bool:
    """Whether Python needs the value that a guard asks for, as a branch does."""
    if DECIDES.match(found["source"]) and _may_name(found) or picks_element(found):
        return True
    at = found["file"], found["line"], found["name"]
    return bool(uses.needed_at(*at)) or uses.returned_to_decide(*at)


def _changes_others(found: Said) -> bool:
    """Whether the function changes more than one number of the dict that a guard is about."""
    owner = found["name"].partition("[")[0]
    return len(uses.keys_changed(found["file"], found["line"], owner)) > 1


def _may_name(found: Said) -> bool:
    """Whether the line of a guard may be about its value: a graph that is cut there guards what the
    lines below it use, too.
    """
    words_of = re.findall(r"\w+", found["name"])
    line = found["line"]
    named = uses.lines_naming(found["file"], line, words_of[-1]) if words_of else []
    return not named or line in named


DECIDES = re.compile(r"(if|elif|while|assert|for)\b|return .*\bif\b")
#: a line that counts up a number of a container, at a place that is no constant
_COUNTED_BY_KEY = re.compile(r"^[\w.]+\[(?!('[^']*'|\"[^\"]*\"|-?\d+)\])[^\]]*\]\s*[-+*/]=")
#: a number of a dict by its key
_IN_DICT = re.compile(r"^[A-Za-z][\w.]*\['[^']*'\]$")
_SETTING = re.compile(r"allow_unspec_int_on_nn_module")


def _is_programs(name: str, parameters: Optional[Sequence[str]]) -> bool:
    """Whether a caller has a name for it: arguments of a wrapper that takes any have none, nor has
    a local that is kept across a break.
    """
    if parameters is not None and name.isidentifier() and name not in parameters:
        return False
    return not is_handed_on(name) and not KEPT.search(name)


def is_of_global(found: Said) -> bool:
    """Whether a reason is about what a global of the program holds."""
    return bool(re.search(r"\bG\[", found["raw"].partition("#")[0]))


def is_handed_on(name: str) -> bool:
    """Whether a name is that of an argument of a wrapper which takes any."""
    return bool(re.match(r"^args\[\d+\]|^kwargs\[", name))


#: the name of a module within another one
_MODULE = re.compile(r"\._modules\['[^']*'\]$")


def type_row(before: str, after: str, name: str) -> str:
    """The row of a changed type, by the types and the name of what has it; `after` is "" where it
    is not known.
    """
    containers = ("tuple", "list")
    if before in containers and after in containers:
        return "container's type"
    if "NoneType" in (before, after):
        return "given or None"
    return "class of a module" if _MODULE.search(name) else "type"


#: of a float from which a number is computed that goes where no tensor can
CONSTANT_OF_FLOAT = "what is computed from this float is a constant of the graph"
_TENSORIFY = "_tensorify_python_scalars.py"


def is_of_float(text: str) -> bool:
    """Whether a guard, with its comment, is of a float that torch could not make a tensor: it then
    asks for the number that is computed from it.
    """
    return _TENSORIFY in text


_APART = re.compile(r"^(?P<name>[\w.\[\]']+) != [01]$|^2 <= (?P<other>[\w.\[\]']+)$")


def condition_row(found: Said, guard: str) -> str:
    """The row of a condition on a number: one that the program asks for, or an operator that treats
    0 and 1 apart.
    """
    match = _APART.match(guard)
    if match is None or DECIDES.match(found["source"]):
        return "number condition"
    name = match.group("name") or match.group("other")
    decided = uses.tested_at(found["file"], found["line"], name)
    return "number condition" if decided else "number 0 or 1"


def is_length(found: Said) -> bool:
    """Whether a value tells how often a loop runs."""
    if re.search(r"\bfor\b.*\brange\(|^while\b", found["source"]):
        return True
    return bool(uses.ranged_at(found["file"], found["line"], found["name"]))


def picks_element(found: Said) -> bool:
    """Whether the line that made a guard picks an element with the value."""
    index = r"[\w)\]]\[\s*%s\s*\]" % re.escape(found["name"])
    return bool(re.search(index, found["source"]) or _PICKS.search(found["file"]))


#: sizes that are marked one by one; for more, dynamic=True is the shorter way
_MOST_MARKS = 4


def marks_of(
    dimensions: Sequence[Tuple[str, int]], parameters: Optional[Sequence[str]] = None
) -> str:
    """Calls that mark some (tensor, dimension) as dynamic; "" where the program has no name for
    one of them, or where there are many.
    """
    names = [(argument_of(name), index) for name, index in dimensions]
    can = all(
        _is_programs(name, parameters)
        and (parameters is None or re.split(r"\W", name)[0] in parameters)
        for name, _ in names
    )
    marks = ["torch._dynamo.maybe_mark_dynamic(%s, %d)" % one for one in names]
    return " and ".join(marks) if can and len(marks) <= _MOST_MARKS else ""


def list_row(used: Set[str]) -> str:
    """The row of a list that is read in these ways, of `uses.container_uses`; "" for one that only
    grows, or of which they do not tell.
    """
    if used == {"grows", "shown"}:
        return "growing list that is shown"
    if "all" in used:
        return "growing list that is read" if "grows" in used else ""
    if not used or used == {"grows"}:
        return ""
    if "part" in used:
        return "part of a list"
    return "end of a list" if "end" in used else "length of a list"


def keys_row(found: Said) -> str:
    """The row of other keys, by what the function does with the dict."""
    fills = uses.tests_and_fills(found["file"], found["line"], found["name"])
    if fills:
        return "dict that is filled"
    filled_at = uses.fills_at(found["file"], found["line"], found["name"], told=True)
    return "growing dict" if filled_at else "keys"


_HELD_IN = re.compile(r"\._(?:modules|parameters|buffers)\['(\w+)'\]")


def with_modules(text: str) -> str:
    """A text with `self.layers[0].weight`, as a program has it, for what torch finds in the
    dictionaries of modules.
    """
    return _HELD_IN.sub(lambda one: ("[%s]" if one[1].isdigit() else ".%s") % one[1], text)


#: the dictionary of the modules in a container, such as a ModuleList
IN_MODULES = re.compile(r"\._modules$")


#: torch's own line at which the objects of a program's class are made in compiled code
_GIVEN_TO_NEW = re.compile(r"^obj\.__init__\(\*args, \*\*kwargs\)")


def length_row(found: Said) -> str:
    """The row of a changed length, by what the function does with the container, and by the source
    line that asked for it.
    """
    source = found["source"]
    if IN_MODULES.search(found["name"]):
        return "number of modules"
    if _GIVEN_TO_NEW.match(source):
        return "length of a list in a new object"
    used = uses.container_uses(found["file"], found["line"], found["name"])
    row = list_row(used)
    if row:
        return row
    if uses.tests_and_fills(found["file"], found["line"], found["name"]):
        return "dict that is filled"
    if uses.keys_given(found["file"], found["line"], found["name"]):
        return "dict that is given keys"
    if re.search(r"^[\w.]+\[[^\]=]+\]\s*[-+*/|&]?=(?!=)|\.(setdefault|update)\(", source):
        return "growing dict"
    if "grows" in used:
        return "growing list"
    if uses.grows_in_call(found["file"], found["line"], found["name"]):
        return "growing list"
    if re.search(r"\bfor\b.*\bin\b", source) and not _is_within_element(source, found["name"]):
        carries = uses.carries_at(found["file"], found["line"])
        return "length of a recurrence" if carries else "length"
    grows = re.search(r"\.(append|appendleft|extend|insert|add)\(", source)
    return "growing list" if grows else "other length"


#: a comprehension: its element, and what it goes over
_COMPREHENSION = re.compile(r"[\[({](?P<element>.*)\bfor\b.*?\bin\b(?P<over>.*)$")


def _is_within_element(source: str, name: str) -> bool:
    """Whether a line has a name in what a comprehension computes, and in nothing it goes over."""
    match = _COMPREHENSION.search(source)
    named = re.match(r"[\w.]+", name)
    if match is None or named is None:
        return False
    form = re.compile(r"(?<![\w.])%s(?!\w)" % re.escape(named.group()))
    return bool(form.search(match.group("element"))) and not form.search(match.group("over"))


def value_row(name: str, before: str, is_global: bool) -> str:
    if name.endswith(".training") and before in ("True", "False"):
        return "training mode"
    if re.match(r"^-?\d+\.\d*(e-?\d+)?$|^-?\d+e-?\d+$", before):
        if re.search(r"param_groups\[.*\['lr'\]$", name):
            return "learning rate"
        return "float" if is_argument(name) and not is_global else "float attribute"
    if re.match(r"^-?\d+$", before):
        return "counter" if is_global or re.search(r"\.|\['", name) else "integer"
    if re.match(r"^[bB]?['\"]", before):
        return "text"
    return "flag" if before in ("True", "False") else "value"


#: torch's own code that picks an element of a container of modules
_PICKS = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]container\.py$")


def is_argument(name: str) -> bool:
    """Whether a program can pass something else for it: an argument by itself, and no attribute or
    element of one.
    """
    return bool(re.match(r"^\w+$", argument_of(name)))


def argument_of(name: str) -> str:
    match = re.match(r"^L\['(\w+)'\](.*)$", name)
    return match.group(1) + match.group(2) if match else name
