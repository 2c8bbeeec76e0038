"""The forms of a guard that failed, each with what says it in words."""

import re
from typing import Callable, Dict, Match, Optional, Sequence, Tuple

from depyf.advice import conditions
from depyf.report.words.breaks import Said
from depyf.report.words.rows import (
    CONSTANT_OF_FLOAT,
    EQUAL,
    IN_MODULES,
    KEPT,
    advise,
    argument_of,
    condition_row,
    is_argument,
    is_of_float,
    keys_row,
    length_row,
    marks_of,
    type_row,
    value_row,
    with_article,
)
from depyf.report.words.stacks import is_dumped
from depyf.trace.guard_text import part_in_words

_TENSOR = re.compile(
    r"^tensor '(?P<name>.*?)' (?P<what>size|stride|rank|dtype|dispatch key set|requires_grad"
    r"|device)(?: index)? mismatch"
    r"(?: at index (?P<index>\d+))?\.\s*expected (?P<before>.*?)(?:, actual (?P<after>.*))?$",
    re.DOTALL | re.IGNORECASE,
)
_DEVICE = re.compile(
    r"^tensor '(?P<name>.*?)"
    r"' Tensor device index mismatch\. Expected device index to be (?P<before>.*?)"
    r", but got (?P<after>.*)$"
)
_TYPE = re.compile(
    r"^expected type of '(?P<name>.*?)' to be (?:a tensor type|<class 'torch\.Tensor'>), ?'? ?"
    r"but found (?P<after>.*)$"
)
_STATE = re.compile(r"^GLOBAL_STATE changed: (?P<what>.*)$", re.DOTALL)
_KEY = re.compile(r"^KeyError on (?P<name>.*)$", re.DOTALL)
_TYPE_ID = re.compile(
    r"^___check_type_id\((?P<name>.*), \d+\)(?:, type=<class '(?P<before>.*?)'>)?", re.DOTALL
)
_OBJ_ID = re.compile(
    r"^___check_obj_id\((?P<name>.*), \d+\)(?:, type=<class '(?P<type>.*?)'>)?", re.DOTALL
)
#: how torch tells that what was a function is none
_NO_FUNCTION = re.compile(r"^CodeGuardAccessor: Not a function on (?P<name>.+)\.__code__$")
_HASATTR = re.compile(r"^(?P<not>not )?hasattr\((?P<name>.*), (?P<key>'\w+')\)$", re.DOTALL)
_IN_SET = re.compile(
    r"^(?P<not>not )?(?:frozen)?set\.__contains__\((?P<name>[^(),]+), (?P<item>.+)\)$", re.DOTALL
)
#: how torch tells that a dict has another number of keys than that
_KEYS = re.compile(r"^len\((?P<name>.*)\) != (?P<before>\d+)$", re.DOTALL)
_CONTAINS = re.compile(
    r"^(?P<not>not )?___dict_contains\((?P<key>'[^']*'|-?\d+), (?P<name>[^()]+)\)$"
)
_KEYS_CHANGED = re.compile(r"___dict_contains|not in")
_LENGTH = re.compile(
    r"^len\((?P<name>.*)\) == (?P<before>\d+)$|^not (?P<empty>[\w.\[\]'\"]+)$", re.DOTALL
)
#: how torch asks for the number of items that an iterator has left; `.0` is that of a comprehension
_ITEMS = re.compile(r"^___tuple_iterator_len\((?P<name>.+)\) == (?P<before>\d+)$", re.DOTALL)
#: and where an itertools.count stands, with its step
_COUNT = re.compile(r"^___normalize_count_iter\((?P<name>.+)\) == \((?P<before>[^,()]+), [^()]+\)$")
#: how torch's optimizers ask whether a parameter has its state yet
_OPTIMIZER_STATE = re.compile(
    r"\bstate\[.*(\bparam_groups\[|\bdict\.keys\([^()]*\.state\)|\.state\.keys\(\))"
)
_NONE = re.compile(r"^(?P<name>\S+) is (?P<not>not )?None$")
#: that two names are of one object, and how torch tells that it found one tensor for two
_SAME = re.compile(r"^(?P<one>[^\s()]+) is (?P<other>[^\s()]+)$")
_TWICE = re.compile(r'^Duplicate tensors found: \["(?P<one>[^"]+)", "(?P<other>[^"]+)"\]$')
_RANGE = re.compile(r"\.size\(\)\[\d+\]|<=|>=|\bNe\(|\bEq\(|!=|<|>| % ")
_OF_SHAPE = re.compile(r"\.(size|stride|storage_offset)\(\)")
_FROM_TWO = re.compile(r"^2 <= (?P<name>\S+)\.size\(\)\[(?P<index>\d+)\]$")
_OFFSET = re.compile(r"(?<![\w.\]])(?P<name>\w+)\.storage_offset\(\)")
#: parts of torch's state that a program sets once, and does not switch back and forth
SETTINGS = frozenset(
    (
        "default_dtype",
        "num_threads",
        "deterministic_algorithms",
        "deterministic_algorithms_warn_only",
        "allow_tf32",
        "allow_fp16_reduce",
        "allow_bf16_reduce",
    )
)


#: how torch tells that it found no guard of which it could say that it failed
_NO_GUARD = "Unexpected recompilation: runtime guards failed even though they passed"
_NONE_NAMED = (
    "torch names no guard that failed: when it looked for the reason, all guards of the earlier "
    "compile held"
)


def describe(found: Said, guard: str) -> None:
    """Says in words which guard failed, by the first form of `_FORMS` that it has."""
    if guard.startswith(_NO_GUARD):
        found["words"] = _NONE_NAMED
        return
    for match_of, say in _FORMS:
        match = match_of(guard)
        if match is not None:
            say(found, match)
            return
    error = _NO_ATTRIBUTE.match(guard)
    if error is not None:
        kind, named = error.groups()
        what = "None" if kind == "NoneType" else with_article(kind)
        found["words"] = _NOT_EVALUATED % (named, what)
        return
    found["words"] = "the guard `%s` no longer holds" % guard


#: the exception that torch has as a reason where it could not evaluate a guard
_NO_ATTRIBUTE = re.compile(r"^'(\w+)' object has no attribute '(\w+)'$")
_NOT_EVALUATED = (
    "a guard of that compile asks for `%s` of a value that is %s now, and so could not be evaluated"
)


def is_not_evaluated(found: Said) -> bool:
    """Whether torch tells of a reason only that a guard could not be evaluated."""
    return bool(_NO_ATTRIBUTE.match(found["failed"]))


def _describe_type(found: Said, match: Match[str]) -> None:
    found.update(kind="type", name=match.group("name"), after=match.group("after"))
    named = re.match(r"^<class '(.*)'>$", found["after"])
    found["after"] = named.group(1) if named else found["after"]
    none = found["after"] == "NoneType"
    found["words"] = "`%s` was a tensor, is %s" % (
        found["name"],
        "None" if none else found["after"],
    )
    advise(found, "none" if none else "tensor or not")


def _describe_state(found: Said, match: Match[str]) -> None:
    what = match.group("what").strip()
    found.update(kind="global state", name=what)
    parts = what.split()
    found["words"] = "torch's global state changed: %s" % (
        ", ".join(map(part_in_words, parts)) or "unknown"
    )
    advise(found, "setting" if parts and SETTINGS.issuperset(parts) else "global state")


def _describe_missing_key(found: Said, match: Match[str]) -> None:
    found.update(kind="container", name=match.group("name"))
    found["words"] = "the key `%s` no longer exists" % found["name"]
    advise(found, "keys")


def _describe_type_id(found: Said, match: Match[str]) -> None:
    found.update(kind="type", name=match.group("name"), before=match.group("before") or "")
    found["words"] = "`%s` %s, is of another type" % (
        found["name"],
        "was %s" % with_article(found["before"]) if found["before"] else "changed its type",
    )
    advise(found, type_row(found["before"], "", found["name"]))


def _describe_object(found: Said, match: Match[str]) -> None:
    found.update(kind="object", name=match.group("name"))
    found["words"] = "`%s` is another object than before" % found["name"]
    of_type = match.group("type") or ""
    if of_type.startswith("torch.optim."):
        found["words"] = "`%s` is another optimizer than before" % found["name"]
        advise(found, "another optimizer")
        return
    advise(found, "member of a set" if _of_set(of_type) else "object")


def _describe_optimizer_state(found: Said, _: Match[str]) -> None:
    found.update(kind="container")
    found["words"] = "the first step() makes the optimizer's state; one more compile is normal"
    advise(found, "optimizer's state")


def _counted(number: str, what: str) -> str:
    return "%s %s%s" % (number, what, "" if number == "1" else "s")


def _describe_length(found: Said, match: Match[str]) -> None:
    name = match.group("name") or str(match.groupdict().get("empty"))
    found.update(kind="container", name=name, before=match.group("before") or "0")
    if name == "kwargs":
        given = _counted(found["before"], "keyword argument")
        found["words"] = "the call had %s, has another number" % given
        advise(found, "keys")
        return
    thing = "module" if IN_MODULES.search(name) else "element"
    had = IN_MODULES.sub("", name) or name, _counted(found["before"], thing)
    found["words"] = "`%s` had %s, has another %s" % (
        had + ("number" if thing == "module" else "length",)
    )
    advise(found, length_row(found))


def _describe_items(found: Said, match: Match[str]) -> None:
    name, before = match.group("name"), match.group("before")
    what = "what the comprehension goes over" if name == ".0" else "the iterator `%s`" % name
    had = "had %s, has more or fewer" % _counted(before, "item")
    found.update(kind="items", words="%s %s" % (what, had))


def _describe_count(found: Said, match: Match[str]) -> None:
    name, before = match.group("name"), match.group("before")
    found.update(kind="items", name=name)
    words = "the itertools.count `%s` was at %s, is at another number"
    found["words"] = words % (argument_of(name), before)
    advise(found, "itertools.count")


def _describe_number_of_keys(found: Said, match: Match[str]) -> None:
    found.update(kind="container", name=match.group("name"), before=match.group("before"))
    if IN_MODULES.search(found["name"]):
        _describe_length(found, match)
        return
    had = found["name"], _counted(found["before"], "key")
    found["words"] = "`%s` had %s, has more or fewer" % had
    advise(found, "keys")


def _describe_keys(found: Said, match: Match[str]) -> None:
    found.update(kind="container")
    found["words"] = "the keys of a dict changed: `%s` does not hold" % match.string
    one = _CONTAINS.match(match.string)
    if one is None:
        advise(found, keys_row(found))
        return
    found["name"] = one.group("name")
    change = "not in `%s`, now is" if one.group("not") else "in `%s`, no longer is"
    found["words"] = "the key %s was %s" % (one.group("key"), change % found["name"])
    added = one.group("not") and found["name"].endswith(".__dict__")
    advise(found, "attribute that is added" if added else keys_row(found))


def _value_was(guard: str) -> Optional[Match[str]]:
    """The match of a guard that a value is equal to a constant, which nothing computes."""
    match = EQUAL.match(guard)
    if match is None or ".size()" in guard or conditions.is_computed(match.group("name")):
        return None
    return match


_OF_DUMP = (
    "; that is a file of depyf's dump, which logging takes for the file of its caller: without "
    "depyf it is the program's, and this recompile is none"
)


def _describe_value(found: Said, match: Match[str]) -> None:
    name = match.group("name").strip()
    found.update(kind="value", name=name, before=match.group("before"))
    found["words"] = "`%s` was %s, is another value" % (name, found["before"])
    if is_dumped(found["before"]):
        found["words"] += _OF_DUMP
        return
    if name.endswith(".item()"):
        advise(found, "tensor as an index", name=argument_of(name[: -len(".item()")]))
        return
    at = _KEY_AT.match(name)
    if at is not None:
        advise(found, "key at a place", name=argument_of(at.group("name")))
        return
    advise(found, value_row(name, found["before"], "G['%s']" % name in found["raw"]))
    if found["row"] == "learning rate":
        found["words"] = "the optimizer's learning rate " + found["words"].partition("` ")[2]


def _describe_none(found: Said, match: Match[str]) -> None:
    found.update(kind="value", name=match.group("name"))
    change = "given, now is None" if match.group("not") else "None, now is given"
    found["words"] = "`%s` was %s" % (found["name"], change)
    advise(found, "none")


def _describe_no_function(found: Said, match: Match[str]) -> None:
    found.update(kind="type", name=match.group("name"), before="function")
    found["words"] = "`%s` was a function, is of another type" % found["name"]


def _describe_attribute(found: Said, match: Match[str]) -> None:
    found.update(kind="value", name=match.group("name"))
    added = match.group("not")
    change = (
        "had no attribute %s, now has it" if added else "had the attribute %s, no longer has it"
    )
    found["words"] = "`%s` %s" % (found["name"], change % match.group("key"))
    if added:
        advise(found, "attribute that is added")


def _condition(guard: str) -> Optional[Match[str]]:
    """A match in a guard that is a condition on numbers: a range, or an equality of what is
    computed.
    """
    match = EQUAL.match(guard)
    if match is not None and conditions.is_computed(match.group("name")):
        return match
    return _RANGE.search(guard)


def _describe_condition(found: Said, match: Match[str]) -> None:
    guard = match.string
    found.update(kind="shape condition", name="")
    if "# duck sizing added this equality" in found["raw"]:
        found["words"] = (
            "torch gave two sizes that were equal at the first call one symbol, and they are no "
            "longer equal: `%s`" % guard
        )
        sizes = re.findall(r"([\w.\[\]']+)\.size\(\)\[(\d+)\]", guard)
        equal = [(name, int(index)) for name, index in sizes]
        advise(found, "equal sizes", marks=marks_of(equal, found["parameters"]))
        return
    if is_of_float(found["raw"]):
        names = conditions.names(guard)
        if len(names) == 1:
            (found["name"],) = names
            told = found["name"], guard, CONSTANT_OF_FLOAT
            found["words"] = "`%s` is a number for which `%s` no longer holds; %s" % told
            is_global = bool(re.search(r"\bG\[", found["raw"]))
            of_argument = is_argument(found["name"]) and not is_global
            kind = "float" if of_argument else "float attribute"
            advise(found, kind + " used as a constant")
        else:  # no advice was tested for several floats
            floats = ", ".join("`%s`" % one for one in sorted(names))
            found["words"] = "`%s` no longer holds, a constant of the floats %s" % (
                guard,
                floats,
            )
        return
    of_shape = bool(_OF_SHAPE.search(guard)) and not KEPT.search(guard)
    what = "shape" if of_shape else "number"
    found["words"] = "a condition on a %s no longer holds: `%s`" % (what, guard)
    low = _FROM_TWO.match(guard)
    offset = _OFFSET.search(guard)
    if low is not None:
        advise(found, "size from 2", **low.groupdict())
    elif offset is not None and ".size()" not in guard:
        advise(found, "storage offset", **offset.groupdict())
    else:
        filled = _filled(guard)
        if filled is not None:
            advise(found, "full cache", **filled)
        if not found["help"]:
            advise(found, "shape condition" if of_shape else condition_row(found, guard))


def _describe_member(found: Said, match: Match[str]) -> None:
    found.update(kind="container", name=match.group("name"))
    was, now = ("was not", "now is") if match.group("not") else ("was", "no longer is")
    told = match.group("item"), was, match.group("name"), now
    found["words"] = "`%s` %s in `%s`, %s" % told
    advise(found, "what a set holds")


def _describe_two(found: Said, match: Match[str]) -> None:
    names = match.group("one"), match.group("other")
    changed = "one object, are two" if match.re is _SAME else "two tensors, are one"
    found.update(kind="object", name=names[0])
    found["words"] = "`%s` and `%s` were " % names + changed
    advise(found, "one object for two")


def _describe_freed(found: Said, match: Match[str]) -> None:
    found.update(kind="object", name=match.group("name"))
    found["words"] = "an object that the compile depended on was freed: `%s`" % found["name"]
    advise(found, "object that was freed")


_SIZE_OF = re.compile(r"(?P<name>[a-zA-Z_][\w.\[\]'\"]*)\.size\(\)\[(?P<index>\d+)\]")


def _filled(guard: str) -> Optional[Dict[str, str]]:
    """The tensor, its dimension and the number that tells how much of it is read, of a condition
    that a slice is not all of the tensor; None for other conditions.
    """
    sides = guard.split(" != ")
    if len(sides) != 2 or re.search(r"[\w\])]\(", _SIZE_OF.sub("", guard)):
        return None  # what is called gives no position
    sizes = [set(_SIZE_OF.findall(side)) for side in sides]
    numbers = [set(re.findall(r"[a-zA-Z_][\w.]*", _SIZE_OF.sub("", side))) for side in sides]
    whole = 1 if numbers[0] else 0  # the side that has no number
    own = sizes[whole] - sizes[1 - whole]
    if len({name for one in sizes for name, _ in one}) != 1 or len(own) != 1:
        return None
    if numbers[whole] or len(numbers[1 - whole]) != 1:
        return None
    ((name, index),) = own
    position = numbers[1 - whole].pop()
    return {"name": argument_of(name), "index": index, "position": argument_of(position)}


def _of_set(kind: str) -> bool:
    """Whether torch asks which object of a type it is because there are a few of them for good: of
    a program's own types it asks so of the members of an enum alone.
    """
    own = "." in kind and not kind.startswith(("torch.", "functools."))
    return kind == "type" or own


_FREED = re.compile(r"^Cache line invalidated because (?P<name>.+) got deallocated$")


def describe_sizes(found: Said, changed: Sequence[Tuple[str, int]]) -> None:
    """Names all dimensions to be marked as dynamic: a mark of one of several that change together
    spares no compile.

    Args:
        found: the reason, of a changed size.
        changed: (tensor, dimension) of each that changed.
    """
    marks = marks_of(changed, found["parameters"])
    this = "this dimension" if len(changed) == 1 else "these dimensions"
    advise(found, "size", marks=marks, this=this)


def describe_stride(found: Said, size: str) -> None:
    """Advises on a changed stride of a dimension of one element, which .contiguous() leaves as it
    is.

    Args:
        found: the reason.
        size: of that dimension, "" where it is not known.
    """
    if found["row"] == "stride" and size in ("0", "1"):
        advise(found, "stride of one element")


#: how torch names a key of a dict by its place
_KEY_AT = re.compile(r"^list\(dict\.keys\((?P<name>.*)\)\)\[\d+\]$")
#: what attributes of a cache of keys and values are called in libraries
CACHE = re.compile(r"cache|past_key_values|\.(keys|values)(\[|$)", re.IGNORECASE)


def _size_row(name: str, before: str, after: str) -> str:
    if not is_argument(name) and CACHE.search(name):
        return "growing cache"
    return "size 0 or 1" if before in ("0", "1") or after in ("0", "1") else "size"


def _by_mode(before: str, after: str) -> bool:
    """Whether two sets of torch's dispatch keys differ as torch.inference_mode() makes them."""
    sets = [set(re.findall(r"\w+", text)) for text in (before, after)]
    differing = sets[0] ^ sets[1]
    return bool(differing) and all(re.match(r"ADInplace|Autograd", one) for one in differing)


_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
}


def _describe_tensor(found: Said, match: Match[str]) -> None:
    groups = match.groupdict()
    what = (groups.get("what") or "device").lower()
    name, before, after = (
        groups["name"],
        (groups.get("before") or "").strip(),
        (groups.get("after") or "").strip(),
    )
    found.update(kind=what, name=name, before=before, after=after)
    if what == "size":
        index = groups.get("index") or "0"
        found["words"] = "`%s.size(%s)` was %s, is %s" % (name, index, before, after)
        advise(found, _size_row(name, before, after), index=index)
        if found["row"] == "size":
            describe_sizes(found, [(name, int(index))])
        elif found["row"] == "growing cache" and before in ("0", "1"):
            # the compile for the next length is for any, with dynamic=True and without
            del found["help"][0], found["patches"][0]
    elif what == "stride":
        found["words"] = "`%s.stride(%s)` was %s, is %s" % (
            name,
            groups.get("index") or "0",
            before,
            after,
        )
        if is_argument(name):
            advise(found, "stride")
        elif CACHE.search(name):
            advise(found, "growing cache")
    elif what == "rank":
        found["words"] = "`%s` had %s dimension%s, has %s" % (
            name,
            before,
            "" if before == "1" else "s",
            after,
        )
        advise(found, "rank")
    elif what == "dtype":
        before, after = _DTYPES.get(before, before), _DTYPES.get(after, after)
        found.update(before=before, after=after)
        found["words"] = "`%s.dtype` was %s, is %s" % (name, before, after)
        advise(found, "dtype")
    elif what == "dispatch key set" and _by_mode(before, after):
        inside = len(after) < len(before)
        found["words"] = "`%s` %s" % (
            name,
            "is used in torch.inference_mode(), or was made in it, and was not before"
            if inside
            else "was used in torch.inference_mode(), or was made in it, and is not now",
        )
        advise(found, "inference mode")
    elif what == "requires_grad":
        before = "did" if "1" in before else "did not"
        found["words"] = "`%s` %s require grad, now does%s" % (
            name,
            before,
            " not" if before == "did" else "",
        )
        advise(found, "requires_grad")
    else:
        found["words"] = "the %s of `%s` was %s, is %s" % (
            what,
            name,
            before,
            after or "another one",
        )


#: the forms of a failed guard: what matches it, and what says it in words. The first that matches
#: counts.
_FORMS: Tuple[
    Tuple[Callable[[str], Optional[Match[str]]], Callable[[Said, Match[str]], None]], ...
] = (
    (_TENSOR.match, _describe_tensor),
    (_DEVICE.match, _describe_tensor),
    (_TYPE.match, _describe_type),
    (_STATE.match, _describe_state),
    (_KEY.match, _describe_missing_key),
    (_TYPE_ID.match, _describe_type_id),
    (_OBJ_ID.match, _describe_object),
    (_OPTIMIZER_STATE.search, _describe_optimizer_state),
    (_LENGTH.match, _describe_length),
    (_ITEMS.match, _describe_items),
    (_COUNT.match, _describe_count),
    (_KEYS.match, _describe_number_of_keys),
    (_KEYS_CHANGED.search, _describe_keys),
    (_value_was, _describe_value),
    (_NONE.match, _describe_none),
    (_SAME.match, _describe_two),
    (_TWICE.match, _describe_two),
    (_NO_FUNCTION.match, _describe_no_function),
    (_HASATTR.match, _describe_attribute),
    (_condition, _describe_condition),
    (_IN_SET.match, _describe_member),
    (_FREED.match, _describe_freed),
)
