"""What the guards and symbols of a compile ask for, and in what two compiles differ."""

import re
from typing import TYPE_CHECKING, Dict, List, Optional, Set, Tuple

from depyf.advice import conditions, uses
from depyf.report import words
from depyf.report.overview.cached import constants_of_hit
from depyf.report.overview.durations import whole_number
from depyf.schema import Document
from depyf.trace.frames import parse_comment

if TYPE_CHECKING:
    from depyf.report.overview.node import Node


def state_guard(entry: Document) -> str:
    """The guard of a compile on torch's global state, as text; "" for none."""
    for guard in entry.get("guards") or ():
        if guard.get("kind") == "GLOBAL_STATE":
            return str(guard.get("text") or "")
    return ""


_SIZES = re.compile(r"^check_tensor\((?P<name>[^,]+), .*?\bsize=\[(?P<sizes>[^\]]*)\]", re.DOTALL)


def sizes_of(entry: Document) -> Dict[Tuple[str, int], str]:
    """(tensor, dimension) -> the size that the guards of a compile ask for."""
    found = {}
    for guard in entry.get("guards") or ():
        match = _SIZES.match(words.short(str(guard.get("text") or "")))
        if match is not None:
            for index, size in enumerate(match.group("sizes").split(",")):
                found[match.group("name"), index] = size.strip()
    return found


_OF_OBJECT = (
    re.compile(r"^check_tensor\((?P<name>self\b[^,]*), Parameter, .*size=(?P<value>\[.*?\])"),
    re.compile(
        r"^(?P<name>self\.[^=<>!]+?) == (?P<value>-?\d[\w.+-]*|[bB]?['\"].*|True|False)$", re.S
    ),
    re.compile(r"^___check_obj_id\((?P<name>self\.[^,]+), (?P<value>\d+)\)"),
    re.compile(r"^___check_type_id\((?P<name>self\.[^,]+), \d+\), type=<class '(?P<value>.*?)'>"),
    re.compile(r"^(?P<name>self\.\S+) is (?P<value>None)$"),
)
#: how torch names an attribute of a module that holds another, a parameter, or a buffer
_HELD = re.compile(r"\._(?:modules|parameters|buffers)\['(\w+)'\]")


def attribute_of(name: str) -> str:
    """An attribute as a program spells it: `self.linear` for `self._modules['linear']`."""
    return _HELD.sub(r".\1", words.short(name))


def of_object(entry: Document) -> Dict[str, str]:
    """Attribute of the object whose method was compiled, as a program spells it -> what the guards
    ask for: a value, a type, which object it is, the sizes of a parameter.
    """
    found: Dict[str, str] = {}
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        for match in filter(None, (form.match(text) for form in _OF_OBJECT)):
            value = match.group("value")
            if text.startswith("___check_obj_id"):
                value = words.OBJECT + value
            found.setdefault(attribute_of(match.group("name")), value)
            break
    return found


_SYMBOL = re.compile(r"^(?P<name>.+)\.size\(\)\[(?P<index>\d+)\]$")


def symbolic(entry: Document) -> Set[Tuple[str, int]]:
    """(tensor, dimension) of the sizes of which torch made a symbol for a compile. Of sizes that
    are equal it makes one for the first alone, and a symbol may be a constant in the end.
    """
    sources = [words.short(str(one.get("source") or "")) for one in entry.get("symbols") or ()]
    found = [one for one in map(_SYMBOL.match, sources) if one is not None]
    return {(one.group("name"), int(one.group("index"))) for one in found}


_LENGTH = re.compile(r"^(?:len\((?P<name>[^=<>!]+)\) == (?P<count>\d+)|not (?P<empty>[^=<>!]+))$")
_VALUE = re.compile(
    r"^(?P<name>[^=<>!]+?) == (?P<value>-?\d[\w.+-]*|[bB]?['\"].*|True|False)$", re.S
)


def _asked(entry: Document) -> Dict[Tuple[str, str], Tuple[str, Document]]:
    """("value" or "length", name) -> (the one that the guards of a compile ask for, the guard)."""
    found = {}
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        value, length = _VALUE.match(text), _LENGTH.match(text)
        if length is not None:
            name = length.group("name") or length.group("empty")
            found["length", name] = length.group("count") or "0", guard
        elif value is not None:
            found["value", value.group("name")] = value.group("value"), guard
    return found


def values_asked(entry: Document) -> Dict[Tuple[str, str], str]:
    """("value" or "length", name) -> the one that the guards of a compile ask for."""
    return {key: value for key, (value, _) in _asked(entry).items()}


def constant_beside(
    reason: words.Said, tried: Document, entry: Document, source: str, place: Tuple[str, int]
) -> Optional[words.Said]:
    """What is said of another value or length for which the entry that was tried was made, and the
    one that was made is for another; None where there is none. Torch names only the first guard
    that fails.
    """
    now = _asked(entry)
    for (what, name), (asked, guard) in _asked(tried).items():
        if name == words.short(reason["name"]) or now.get((what, name), (asked,))[0] == asked:
            continue
        if words.is_dumped(asked):
            continue
        stack = "\n".join(map(str, guard.get("user_stack") or ()))
        text = "%s  %s\n%s" % (guard["text"], guard.get("comment") or "", stack)
        other = words.of_reason(text, parameters=reason["parameters"])
        if not other["name"]:
            continue  # computed from several values: a condition, and no value of its own
        other["after"] = now[what, name][0]
        words.describe_constant(other, source=source, place=place, known=known_of(entry))
        return other
    return None


#: what a guard asks for: one value, None, or what a tensor is
_IS_VALUE = re.compile(
    r"^(?P<name>[^=<>!(]+?) "
    r"(?:== (?P<value>-?\d[\w.+-]*|['\"].*['\"]|True|False)|is (?P<none>None))$"
)
_IS_TENSOR = re.compile(
    r"^check_tensor\((?P<name>[^,]+), .*?\), torch\.(?P<dtype>\w+), "
    r".*?requires_grad=(?P<grad>\w+)"
)
_OF_PROGRAM = re.compile(r"^(?!_)[A-Za-z]\w*(\.(?!_)\w+|\[(\d+|'\w+')\])*$")


def _asked_of(entry: Document) -> Dict[Tuple[str, str], str]:
    """("value", "dtype" or "grad", name) -> what the guards of a compile ask for."""
    found: Dict[Tuple[str, str], str] = {}
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        value, tensor = _IS_VALUE.match(text), _IS_TENSOR.match(text)
        if value is not None and not words.is_dumped(text):
            found["value", attribute_of(value.group("name"))] = value.group("value") or "None"
        elif tensor is not None:
            for what in ("dtype", "grad"):
                found[what, tensor.group("name")] = tensor.group(what)
    for symbol in entry.get("symbols") or ():
        name = words.short(str(symbol.get("source") or "")) if isinstance(symbol, dict) else ""
        found.setdefault(("value", name), "")
    return found


def differing_in(
    reason: words.Said, tried: Document, entry: Document
) -> List[Tuple[str, str, str]]:
    """(name, before, after) of what else two compiles ask for differently than what a reason names:
    the earlier one would not fit if the reason alone were gone. `after` is "" for any number.
    """
    now = _asked_of(entry)
    own = attribute_of(reason["name"])
    found = []
    for (what, name), before in _asked_of(tried).items():
        after = now.get((what, name), before)
        if not before or after == before or name == own:
            continue  # any number fits the earlier one; what it asks of it is a condition
        if not after and (before in ("0", "1") or reason["row"] in words.SYMBOLIC):
            continue  # what makes one number symbolic makes the others so
        if _OF_PROGRAM.match(name) and ("None" not in (before, after) or what == "value"):
            form = "requires_grad=%s" if what == "grad" else "%s"
            found.append((name, form % before, form % after if after else ""))
    found += _lengths_in(own, tried, entry)
    told = {own} | {name for name, _, _ in found}
    opposed = _opposed_in(told, tried, entry)
    failed = words.short(reason["failed"]) if not own else ""  # a condition, told as it is
    return found + [one for one in opposed if one[0] not in failed]


def _lengths_in(own: str, tried: Document, entry: Document) -> List[Tuple[str, str, str]]:
    """As `differing_in`, of the containers that have other lengths, but for that of the reason."""
    now = _asked(entry)
    lengths = [(name, count) for (what, name), (count, _) in _asked(tried).items() if what == _LEN]
    return [
        ("len(%s)" % name, before, now[_LEN, name][0])
        for name, before in lengths
        if name != own and _OF_PROGRAM.match(name)
        if now.get((_LEN, name), (before,))[0] != before
    ]


_LEN = "length"


def _conditions(entry: Document) -> List[str]:
    """The conditions on symbolic numbers that hold for the values that a compile is for."""
    guards = [one for one in entry.get("guards") or () if not one.get("source")]
    texts = [one.get("text") or "" for one in guards if one.get("kind") in _OF_NUMBERS]
    return [words.short(str(one)) for one in texts]


#: kinds of the guards that are conditions on symbolic numbers
_OF_NUMBERS = ("LAMBDA_GUARD", "SHAPE_ENV")


def excludes_size(entry: Document, name: str, index: int, size: str, file: str) -> bool:
    """Whether a condition that a file made on a size, symbolic in a compile, excludes a size for
    which an earlier compile was made: no compile is for both, symbolic from the start or not.
    What a loop that torch unrolls takes of it only bounds it: a larger size fits.
    """
    spelt = "%s.size()[%d]" % (words.short(name), index)
    for guard in entry.get("guards") or ():
        if guard.get("kind") not in _OF_NUMBERS or guard.get("source"):
            continue
        made = parse_comment(str(guard.get("comment") or ""))
        if made is None or not file.endswith(made.path):
            continue
        text = words.short(str(guard.get("text") or ""))
        if conditions.holds(text, spelt, size) is False:
            bounds = re.match(r"^\d+ <= %s$" % re.escape(spelt), text)
            if not (bounds and uses.indexes_in_loop(file, made.line, words.short(name))):
                return True
    return False


def _constants(entry: Document) -> Dict[str, str]:
    """The numbers and sizes that are constants of a compile, as conditions spell them."""
    asked = _asked(entry).items()
    found = {name: value for (what, name), (value, _) in asked if what == "value"}
    found.update(
        ("%s.size()[%d]" % (name, index), size) for (name, index), size in sizes_of(entry).items()
    )
    single = {name: value for name, value in found.items() if not conditions.is_computed(name)}
    return {name: value for name, value in single.items() if words.is_number(value)}


def _opposed_in(told: Set[str], tried: Document, entry: Document) -> List[Tuple[str, str, str]]:
    """As `differing_in`, of the conditions on numbers that hold for the call which made a compile,
    and not for the earlier compile, as torch checks them after all else; and of numbers of keys.
    """
    now = _conditions(entry)
    found = [
        (_SPELT_SIZE.sub(r"size(\1)", name), value, "")
        for name, value in _constants(tried).items()
        if any(conditions.holds(one, name, value) is False for one in now)
    ]
    keys, keys_now = counts_of_keys(tried), counts_of_keys(entry)
    for name, count in keys.items():
        if keys_now.get(name, count) != count:
            found.append(("len(%s)" % name, str(count), str(keys_now[name])))
    later = [each for one in now for each in conditions.comparisons(one)]
    for one in [each for text in _conditions(tried) for each in conditions.comparisons(text)]:
        other = next((each for each in later if conditions.exclude(one, each)), None)
        if other is not None and one[1] == other[1] == "==":
            found.append((re.sub(r"^\(([^()]*)\)$", r"\1", one[0]), one[2], other[2]))
        elif other is not None:
            found.append((" ".join(one), "True", "False"))
    known = [re.compile(r"(?<![\w.\]])%s(?!\w)" % re.escape(one)) for one in told if one]
    return [one for one in found if not any(each.search(one[0]) for each in known)]


def counts_of_keys(entry: Document) -> Dict[str, int]:
    """Dictionary -> how many keys the guards of a compile ask for, where code goes through them."""
    found: Dict[str, int] = {}
    for guard in entry.get("guards") or ():
        match = _KEY_AT.match(words.short(str(guard.get("text") or "")))
        if match is not None:
            name = match.group("name")
            found[name] = max(found.get(name, 0), int(match.group("at")) + 1)
    return found


_KEY_AT = re.compile(r"^list\(dict\.keys\((?P<name>[^()]+)\)\)\[(?P<at>\d+)\] == ")
_SPELT_SIZE = re.compile(r"size\(\)\[(\d+)\]$")


def asked_for(entry: Document, name: str) -> str:
    """The value, as text, that the guards of a compile ask for of a name; "" where they do not."""
    return _asked_of(entry).get(("value", attribute_of(name)), "")


def numbers_beside(
    reason: words.Said, tried: Document, entry: Document
) -> List[Tuple[str, str, str]]:
    """(name, before, after) of the numbers that were constants of the earlier compile and had other
    values at the call that made this one, for which they are any numbers.
    """
    now = {
        words.short(str(one.get("source") or "")): str(one.get("val"))
        for one in entry.get("symbols") or ()
        if isinstance(one, dict)
    }
    own = words.short(reason["name"])
    return [
        (name, before, now[name])
        for (what, name), before in _asked_of(tried).items()
        if what == "value" and name in now and name != own and _OF_PROGRAM.match(name)
        if words.is_number(before) and words.is_number(now[name]) and before != now[name]
    ]


def small_beside(tried: Document, entry: Document) -> Optional[Tuple[str, int, str]]:
    """(tensor, dimension, size) of one that had a size of 0 or 1 in the entry that was tried, and
    has another in the one that was made: torch names only the first that differs.
    """
    now = sizes_of(entry)
    for (name, index), size in sizes_of(tried).items():
        if size in ("0", "1") and now.get((name, index), size) != size:
            return name, index, size
    return None


def state_of(reason: words.Said, entry: Optional[Document]) -> str:
    """The state for which an entry is made of what a reason names, of those that torch compiles
    apart: given or None, a value, a size of 0 or 1; "" where its guards do not tell.
    """
    if entry is None:
        return ""
    name = words.short(reason["name"])
    at = re.search(r"mismatch at index (\d+)", reason["failed"])
    if reason["kind"] == "size" and at is not None:
        size = sizes_of(entry).get((name, int(at.group(1))), "")
        return size if size in ("", "0", "1") else "from 2"
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        if text.startswith("check_tensor(%s," % name):
            return "given"
        if text == name + " is None":
            return "None"
        if text.startswith("%s == " % name):
            return text
    return ""


def changed_sizes(tried: Document, entry: Document) -> List[Tuple[str, int]]:
    """(tensor, dimension) of each that has another size, or any, in the entry that was made."""
    now = sizes_of(entry)
    return [one for one, size in sizes_of(tried).items() if now.get(one, size) != size]


def has_size(reason: words.Said, entry: Document) -> bool:
    """Whether the guards of a compile ask for that size alone for which it was made."""
    match = re.search(r"mismatch at index (\d+)", reason["failed"])
    if match is None:
        return False
    for guard in entry.get("guards") or ():
        found = _SIZES.match(words.short(str(guard.get("text") or "")))
        if found is not None and found.group("name") == words.short(reason["name"]):
            sizes = [one.strip() for one in found.group("sizes").split(",")]
            return sizes[int(match.group(1)) : int(match.group(1)) + 1] == [reason["after"]]
    return False


def made_at(reason: words.Said, entry: Document) -> str:
    """The end of the place that made what a reason names a constant of an entry, as `f.py:12`; ""
    where torch does not tell.
    """
    wanted = "%s == %s" % (words.short(reason["name"]), reason["after"])
    for guard in entry.get("guards") or ():
        made = parse_comment(str(guard.get("comment") or ""))
        if made and words.short(str(guard.get("text") or "")) == wanted:
            return "%s:%d" % made[:2]
    return ""


#: graphs that AOTAutograd makes
_OF_AOT = ("Forward_graph", "AFTER_JOINT", "aot_forward_graph_fw_metadata")
_FLOAT_OR_INT = re.compile(r"^___check_type_id\((?P<name>.+), \d+\), type=<class '(float|int)'>")
_NUMBER = re.compile(r"^(?P<name>[^=<>!(]+?) == -?\d[\w.+-]*$")


#: a guard of an attribute that is a float
_FLOAT = re.compile(r"^.+\.(?P<name>\w+) == -?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)$")


def floats_set(node: "Node") -> Set[str]:
    """The attributes that a function sets and that are floats, where AOTAutograd makes its graphs:
    there, what the function sets is a constant.
    """
    if not any(one.get("stage") in _OF_AOT for one in node.entry.get("artifacts") or ()):
        return set()
    function = node.function or {}
    found = known_of(node.entry).sets | uses.attributes_set(str(function.get("source") or ""))
    if not found:  # the guards of all compiles need not be read
        return set()
    filename = str(function.get("filename"))  # of all its functions: a rest is another one
    if filename not in node.floats_in:
        node.floats_in[filename] = _guarded_floats(node.run, filename)
    return node.floats_in[filename] & found


def _guarded_floats(run: Document, filename: str) -> Set[str]:
    """The attributes that guards or symbols of any compile in a file tell to be floats."""
    floats: Set[str] = set()
    for function in run.get("functions") or ():
        same = str(function.get("filename")) == filename
        for entry in function.get("entries") or () if same else ():
            for guard in entry.get("guards") or ():
                match = _FLOAT.match(words.short(str(guard.get("text") or "")))
                floats |= {match.group("name")} if match else set()
            for symbol in entry.get("symbols") or ():
                name = words.short(str(symbol.get("source") or ""))
                if str(symbol.get("symbol")).startswith("zf") and "." in name:
                    floats.add(name.rpartition(".")[2])
    return floats


def changing_floats(node: "Node") -> Set[str]:
    """The floats of which a compile takes any, or because of which torch compiled again."""
    found = set()
    for one in node.reasons:
        if re.match(r"^-?\d+(\.\d*(e[-+]?\d+)?|e[-+]?\d+)$", one["before"]):
            found.add(words.short(one["name"]))
    for symbol in node.entry.get("symbols") or ():
        if isinstance(symbol, dict) and str(symbol.get("symbol")).startswith("zf"):
            found.add(words.short(str(symbol.get("source") or "")))
    return {one for one in found if re.match(r"^[\w.]+$", one)}


def known_of(entry: Document) -> words.Known:
    """What the guards and the symbols of a compile tell of its function."""
    guards = [words.short(str(one.get("text") or "")) for one in entry.get("guards") or ()]
    matches = [form.match(text) for text in guards for form in (_FLOAT_OR_INT, _NUMBER)]
    fixed = [attribute_of(one.group("name")) for one in matches if one is not None]
    symbols = [one for one in entry.get("symbols") or () if isinstance(one, dict)]
    sources = [attribute_of(str(one.get("source") or "")) for one in symbols]
    numbers = [one for one in sources if re.match(r"^[\w.]+$", one)]
    stacks = [words.frame_places(map(str, one)) for one in entry.get("conditions") or ()]
    for symbol in symbols:
        frames = [one for one in symbol.get("user_stack") or () if isinstance(one, dict)]
        stacks.append([(str(one.get("filename")), whole_number(one.get("line"))) for one in frames])
    double = any(re.search(r"^check_tensor\(.*\btorch\.float64\b", one) for one in guards)
    sets = uses.attributes_set(str(entry.get("source") or ""))
    more = double, tuple(map(tuple, stacks)), tuple(dict.fromkeys(fixed)), sets
    constants = constants_of_hit(entry)
    return words.Known(tuple(dict.fromkeys(numbers)), *more, constants=constants)
