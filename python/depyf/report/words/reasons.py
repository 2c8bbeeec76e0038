"""Recompiles in plain words: which guard of an entry failed, which line made it, and what helps.

The words and the advice are rows of `depyf.advice.recompiles`.
"""

import ast
import re
from typing import Any, Callable, Dict, Iterable, List, Match, Optional, Sequence, Set, Tuple

from depyf.advice import conditions, uses
from depyf.advice import recompiles as guard_rows
from depyf.report.words.breaks import Said, advice_of
from depyf.report.words.stacks import FRAME, in_library, short_place, users_line
from depyf.trace.guard_text import part_in_words

_TRIED = re.compile(r"^(?P<entry>!?[\w/!]+/\d+): (?P<rest>.*)$", re.DOTALL)
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
EQUAL = re.compile(r"^(?P<name>[^=<>!]+?) == (?P<before>.+)$", re.DOTALL)
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
#: how torch's optimizers ask whether a parameter has its state yet
_OPTIMIZER_STATE = re.compile(
    r"\bstate\[.*(\bparam_groups\[|\bdict\.keys\([^()]*\.state\)|\.state\.keys\(\))"
)
_NONE = re.compile(r"^(?P<name>\S+) is (?P<not>not )?None$")
_RANGE = re.compile(r"\.size\(\)\[\d+\]|<=|>=|\bNe\(|\bEq\(|!=|<|>| % ")
_OF_SHAPE = re.compile(r"\.(size|stride|storage_offset)\(\)")
_FROM_TWO = re.compile(r"^2 <= (?P<name>\S+)\.size\(\)\[(?P<index>\d+)\]$")
_OFFSET = re.compile(r"(?<![\w.\]])(?P<name>\w+)\.storage_offset\(\)")
_PLACE = re.compile(r"# (?P<file>\S+?):(?P<line>\d+) in [^\s(]")
_STACK_PLACE = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)\n\s*(?P<code>.*)'
)


#: how torch writes the value at a position of a dict, such as the outputs of a model
_VALUE_AT = re.compile(r"\bdict\.__getitem__\((\w+), list\(dict\.keys\(\1\)\)\[(\d+)\]\)")


def short(text: str) -> str:
    """A guard's text with `x` for `L['x']`, as torch itself writes reasons from 2.7 on."""
    named = re.sub(r"\b[LG]\['(\w+)'\]", r"\1", text)
    return _VALUE_AT.sub(r"list(\1.values())[\2]", named)


#: what torch calls a value that stood on the stack at a graph break, and one of a caller's frame
KEPT = re.compile(r"___stack\d+\b|__(?:nested|resume)_frame_values\b(?:\[\d+\])*")


def of_reason(
    text: str,
    source: str = "",
    line: int = 0,
    parameters: Optional[Sequence[str]] = None,
    given: Sequence[ast.expr] = (),
) -> Said:
    """What one reason of a recompile says: why one of the entries that were there did not fit.

    Args:
        text: the reason as torch words it, such as "0/0: tensor 'x' size mismatch at index 0.
            expected 2, actual 3".
        source, line: of a resume function: its decompiled source, and the line of its break.
        given: of a resume function: what the code that calls it gives it.
        parameters: of a resume function: those of the function that it continues. What else it is
            given are locals of that function, for which no caller can do anything.
    Returns:
        A dict: `tried` (compile id), `failed` (the guard), `kind`, `name`, `words`, `before`,
        `after`, `help`, `file`, `line`, `source`: of the line that made the guard (see
        `place_reason`), `caller` as of a break, `raw`, `parameters`, `of_another` (whether the
        entry was made for another object), `beside` (the name of another value that was a constant
        in both), `own` (what helps besides what helps that one).
    """
    match = _TRIED.match(text)
    tried, rest = (match.group("entry"), match.group("rest")) if match else ("", text)
    # torch's comment: the line of code, then its place
    comment = rest.find("#") + 1
    place = _PLACE.search(rest, comment) if comment else None
    code = rest[comment : place.start()] if place else ""
    stack = None
    for stack in _STACK_PLACE.finditer(rest):
        pass
    seen = stack or place
    guard = rest.split("\n", 1)[0]
    guard = short(re.split(r"(?<!\s)\s{2,}# ", guard, maxsplit=1)[0].strip())
    found: Said = {
        "tried": tried,
        "failed": guard,
        "kind": "guard",
        "name": "",
        "words": "",
        "before": "",
        "after": "",
        "row": "",
        "help": [],
        "patches": [],
        "file": stack.group("file") if stack else place.group("file") if place else "",
        "line": int(seen.group("line")) if seen else 0,
        "source": (stack.group("code") if stack else code).strip(),
        "caller": ("", 0, ""),
        "raw": text,
        "parameters": parameters,
        "of_another": False,
        "beside": "",
        "own": "",
    }
    _describe(found, guard)
    if found["row"] in _OF_CACHE and not _is_argument(found["name"]):
        if _CACHE.search(found["name"]):
            advise(found, "cache state")
    if KEPT.search(guard):
        _name_kept(found, source, line, given)
    return found


#: identifiers in the name of a value that say nothing of which value it is
_NO_NAMES = frozenset(("L", "G", "self", "size", "stride", "dim", "len", "args", "kwargs"))


def names_its_value(found: Said) -> bool:
    """Whether the line that torch recorded for a guard names the value, as far as it is known:
    torch may record the line that it was at when it looked at the value first.
    """
    told = re.match(r"`([^`]+)`", found["words"])
    text = argument_of(found["name"]) + " " + (told.group(1) if told else "")
    named = set(re.findall(r"[^\W\d]\w*", text)) - _NO_NAMES
    return not found["source"] or bool(named & set(re.findall(r"[^\W\d]\w*", found["source"])))


def guarded_at(found: Said, at: str) -> str:
    """How the line is told that torch recorded for a guard.

    Args:
        found: what `of_reason` says.
        at: the place of the line.
    """
    if names_its_value(found):
        return "guarded at " + at
    return "for which torch recorded %s, `%s`" % (at, found["source"])


def place_reason(found: Said, stacks: Iterable[Sequence[Any]]) -> None:
    """Names the line that made a condition on a shape, and completes the name of its file, whose
    beginning torch leaves out.

    Args:
        found: what `of_reason` says.
        stacks: of the lines that made guards of the entry that was tried, outermost frame first.
    """
    if not found["line"]:
        return
    for stack in stacks:
        paths = [
            frame.group("path")
            for frame in (FRAME.match(str(text)) for text in stack)
            if frame is not None
            and int(frame.group("number") or 0) == found["line"]
            and str(frame.group("path")).endswith(found["file"])
        ]
        if paths:
            found["file"] = str(paths[-1])
            at = found["file"], found["line"]
            if found["row"] == "counter" and uses.sets_key_at(*at, of_size=True):
                advise(found, "size as a key", at=short_place(*at))
            elif found["row"] == "counter":
                advise(found, "counter")  # what the program does with it can be read now
            elif found["row"] in _LENGTHS:
                advise(found, _length_row(found))
            elif found["row"] == "keys" and found["name"]:
                advise(found, _keys_row(found))
            if in_library(found["file"]):
                found["caller"] = users_line(stack)
            break
    if found["row"] == "shape condition" and in_library(found["file"]):
        advise(found, "condition of a library")
    describe_rate(found, found["caller"][0])
    if found["row"] == "number condition" and _IS_CONSTANT.search(found["failed"]):
        called = uses.math_at(found["file"], found["line"])
        if called:
            advise(found, _OF_MATH, called=called)
            found["words"] = found["words"].replace("condition on a number", "constant of a number")
    if found["kind"] == "shape condition" and found["source"]:
        # torch tells of a size of 0 or 1 at its first use, which need not decide anything
        how = "; the size is first used" if found["row"] == "size from 2" else ", decided"
        how = ", made" if found["row"] == _OF_MATH else how
        made = short_place(found["file"], found["line"]), found["source"]
        found["words"] += how + " at %s: `%s`" % made
        if found["caller"][1]:
            file, line, code = found["caller"]
            called_at = short_place(file, line)
            found["words"] += ", called from your line %s: `%s`" % (called_at, code.strip())


def describe_rate(found: Said, caller: str) -> None:
    """Says where the program writes the learning rate itself: a tensor that the optimizer is given
    at first would be replaced there.

    Args:
        found: the reason.
        caller: a file of the reader's own that led to it, "" for none.
    """
    if found["row"] != "learning rate":
        return
    for file in (found["file"], caller):
        line = 0 if in_library(file) else uses.rate_written_at(file)
        if line:
            advise(found, "learning rate that is written", at=short_place(file, line))
            return


#: rows of numbers of which a tensor is to be made where the program sets them
_MADE_TENSORS = (
    "counter",
    "float attribute",
    "float attribute in a function of math",
    "float attribute used as a constant",
    "float that is set",
)
_READ_AS_NUMBER = (
    " Other code reads it as a number, at %s: there, write float(...) around it, or keep the "
    "number, too, under another name."
)


def name_readers(found: Iterable[Said]) -> None:
    """Says, where a number is to become a tensor, which other lines of its file want the number.

    Args:
        found: the reasons of one run.
    """
    for one in found:
        if one["row"] not in _MADE_TENSORS or in_library(one["file"]):
            continue
        lines = uses.readers_of(one["file"], one["line"], one["name"])
        told = _READ_AS_NUMBER % ", ".join(short_place(one["file"], at) for at in lines)
        one["help"] = [
            text + told if lines and " a tensor" in text and told not in text else text
            for text in one["help"]
        ]


def name_decided(found: Sequence[Said]) -> None:
    """Says of a number on which some line of the run decides what helps there, wherever else torch
    compiled again for it.

    Args:
        found: the reasons of one run.
    """
    by_place: Dict[Tuple[str, str, str], List[Said]] = {}
    for one in found:
        if one["row"] in ("counter", "counter that decides"):
            of = one["name"], one["file"], uses.class_at(one["file"], one["line"])
            by_place.setdefault(of, []).append(one)
    for group in by_place.values():
        if any(one["row"] == "counter that decides" for one in group):
            for one in group:
                if one["row"] == "counter":
                    advise(one, "counter that decides")


def _name_kept(found: Said, source: str, line: int, given: Sequence[ast.expr]) -> None:
    """Says what a value on the stack is, or in the frame of a caller: torch's name for it stands in
    no source of the user's.
    """
    at = "the graph break at line %d" % line if line else "a graph break"
    kept = "a value kept across " + at

    def named(match: Match[str]) -> str:
        kept_as = match.group().strip("`")
        stored = re.search(r"(?m)^\s*(\w+) = %s\s*$" % re.escape(kept_as), source)
        name = stored.group(1) if stored else _given_as(kept_as, given)
        if not match.group().startswith("`"):
            return name or match.group()
        return "`%s`, kept across %s," % (name, at) if name else kept

    form = r"`(?:%s)`|%s" % (KEPT.pattern, KEPT.pattern)
    words = re.sub(form, named, found["words"]).rstrip(",")
    words = re.sub(r"`(?:%s)\.([\w.]+(?:\(\d+\))?)`" % KEPT.pattern, r"`\1` of " + kept, words)
    left = KEPT.search(words)
    if left:
        words += ", where `%s` is %s" % (left.group(), kept)
    found["words"] = words
    # what helps says what to pass or to write for a name: here nobody passes or names anything
    found.update(help=[], patches=[])


def _given_as(kept: str, given: Sequence[ast.expr]) -> str:
    """The variable that stands for `__nested_frame_values[1][0]` where the code that calls a resume
    function gives it; "" for none.
    """
    numbers = [int(one) for one in re.findall(r"\[(\d+)\]", kept)]
    value: Any = given[1] if len(given) > 1 and kept.startswith("__nested_frame_values[") else None
    for number in numbers:
        if not isinstance(value, ast.List) or number >= len(value.elts):
            return ""
        value = value.elts[number]
    return value.id if isinstance(value, ast.Name) else ""


#: rows of what changes when a cache of keys and values is filled
_OF_CACHE = (
    "flag",
    "none",
    "value",
    "text",
    "counter",
    "integer",
    "keys",
    "length",
    "other length",
    "given or None",
    "tensor or not",
)


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


def _describe(found: Said, guard: str) -> None:
    """Says in words which guard failed, by the first form of `_FORMS` that it has."""
    for match_of, describe in _FORMS:
        match = match_of(guard)
        if match is not None:
            describe(found, match)
            return
    found["words"] = "the guard `%s` no longer holds" % guard


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
    advise(found, "member of a set" if _of_set(match.group("type") or "") else "object")


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
    thing = "module" if _IN_MODULES.search(name) else "element"
    had = _IN_MODULES.sub("", name) or name, _counted(found["before"], thing)
    found["words"] = "`%s` had %s, has another %s" % (
        had + ("number" if thing == "module" else "length",)
    )
    advise(found, _length_row(found))


def _describe_number_of_keys(found: Said, match: Match[str]) -> None:
    found.update(kind="container", name=match.group("name"), before=match.group("before"))
    if _IN_MODULES.search(found["name"]):
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
        advise(found, _keys_row(found))
        return
    found["name"] = one.group("name")
    change = "not in `%s`, now is" if one.group("not") else "in `%s`, no longer is"
    found["words"] = "the key %s was %s" % (one.group("key"), change % found["name"])
    added = one.group("not") and found["name"].endswith(".__dict__")
    advise(found, "attribute that is added" if added else _keys_row(found))


def _value_was(guard: str) -> Optional[Match[str]]:
    """The match of a guard that a value is equal to a constant, which nothing computes."""
    match = EQUAL.match(guard)
    if match is None or ".size()" in guard or conditions.is_computed(match.group("name")):
        return None
    return match


def _describe_value(found: Said, match: Match[str]) -> None:
    name = match.group("name").strip()
    found.update(kind="value", name=name, before=match.group("before"))
    found["words"] = "`%s` was %s, is another value" % (name, found["before"])
    if name.endswith(".item()"):
        advise(found, "tensor as an index", name=argument_of(name[: -len(".item()")]))
        return
    at = _KEY_AT.match(name)
    if at is not None:
        advise(found, "key at a place", name=argument_of(at.group("name")))
        return
    advise(found, _value_row(name, found["before"], "G['%s']" % name in found["raw"]))
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
            of_argument = _is_argument(found["name"]) and not is_global
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


def _describe_freed(found: Said, match: Match[str]) -> None:
    found.update(kind="object", name=match.group("name"))
    found["words"] = "an object that the compile depended on was freed: `%s`" % found["name"]


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


def with_article(name: str) -> str:
    return ("an " if name[:1] in "aeiou" else "a ") + name


def advise(found: Said, key: str, **names: str) -> None:
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
        elif decides:
            key = "counter that decides"
        elif _IN_DICT.match(found["name"]) and _changes_others(found):
            key = "counter in a dict"
            names["owner"] = found["name"].partition("[")[0]
        row = guard_rows.BY_KEY[key]
    if key == "dict that is given keys":
        given_keys = uses.keys_given(found["file"], found["line"], found["name"])
        names["keys"] = ", ".join(repr(one) for one in given_keys)
    # a number of a container that is counted up stays one: with the setting, the graph computes it
    counts = re.match(r"^[\w.]+\[[^\]]*\]\s*[-+*/]=", found["source"])
    names["setting"] = setting.group() if setting and not decides and not counts else ""
    given = advice_of(row, names)
    found.update(row=key, help=[text for text, _ in given], patches=[patch for _, patch in given])


def decides_on(found: Said) -> bool:
    """Whether Python needs the value that a guard asks for, as a branch does."""
    if DECIDES.match(found["source"]) and _may_name(found) or picks_element(found):
        return True
    return bool(uses.needed_at(found["file"], found["line"], found["name"]))


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


_FREED = re.compile(r"^Cache line invalidated because (?P<name>.+) got deallocated$")
_APART = re.compile(r"^(?P<name>[\w.\[\]']+) != [01]$|^2 <= (?P<other>[\w.\[\]']+)$")


#: the row of a number of which a function of math makes a constant
_OF_MATH = "number in a function of math"
#: a guard that something computed has one value
_IS_CONSTANT = re.compile(r" == -?[\d.]+(e[-+]?\d+)?$")


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


def describe_sizes(found: Said, changed: Sequence[Tuple[str, int]]) -> None:
    """Names all dimensions to be marked as dynamic: a mark of one of several that change together
    spares no compile.

    Args:
        found: the reason, of a changed size.
        changed: (tensor, dimension) of each that changed.
    """
    marks = marks_of(changed, found["parameters"])
    this = "this one" if len(changed) == 1 else "these"
    advise(found, "size", marks=marks, this=this)


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


def describe_stride(found: Said, size: str) -> None:
    """Advises on a changed stride of a dimension of one element, which .contiguous() leaves as it
    is.

    Args:
        found: the reason.
        size: of that dimension, "" where it is not known.
    """
    if found["row"] == "stride" and size in ("0", "1"):
        advise(found, "stride of one element")


#: rows of a changed length that go by the source line alone
_LENGTHS = ("growing list", "growing dict", "length", "other length")


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


def _keys_row(found: Said) -> str:
    """The row of other keys, by what the function does with the dict."""
    fills = uses.tests_and_fills(found["file"], found["line"], found["name"])
    return "dict that is filled" if fills else "keys"


#: the dictionary of the modules in a container, such as a ModuleList
_IN_MODULES = re.compile(r"\._modules$")


def _length_row(found: Said) -> str:
    """The row of a changed length, by what the function does with the container, and by the source
    line that asked for it.
    """
    source = found["source"]
    if _IN_MODULES.search(found["name"]):
        return "number of modules"
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
    if re.search(r"\bfor\b.*\bin\b", source):
        return "length"
    grows = re.search(r"\.(append|appendleft|extend|insert|add)\(", source)
    return "growing list" if grows else "other length"


def _value_row(name: str, before: str, is_global: bool) -> str:
    if name.endswith(".training") and before in ("True", "False"):
        return "training mode"
    if re.match(r"^-?\d+\.\d*(e-?\d+)?$|^-?\d+e-?\d+$", before):
        if re.search(r"param_groups\[.*\['lr'\]$", name):
            return "learning rate"
        return "float" if _is_argument(name) and not is_global else "float attribute"
    if re.match(r"^-?\d+$", before):
        return "counter" if is_global or re.search(r"\.|\['", name) else "integer"
    if re.match(r"^[bB]?['\"]", before):
        return "text"
    return "flag" if before in ("True", "False") else "value"


#: how torch names a key of a dict by its place
_KEY_AT = re.compile(r"^list\(dict\.keys\((?P<name>.*)\)\)\[\d+\]$")
#: torch's own code that picks an element of a container of modules
_PICKS = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]container\.py$")


#: what attributes of a cache of keys and values are called in libraries
_CACHE = re.compile(r"cache|past_key_values|\.(keys|values)(\[|$)", re.IGNORECASE)


def _is_argument(name: str) -> bool:
    """Whether a program can pass something else for it: an argument by itself, and no attribute or
    element of one.
    """
    return bool(re.match(r"^\w+$", argument_of(name)))


def _size_row(name: str, before: str, after: str) -> str:
    if not _is_argument(name) and _CACHE.search(name):
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
        if _is_argument(name):
            advise(found, "stride")
        elif _CACHE.search(name):
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


def argument_of(name: str) -> str:
    match = re.match(r"^L\['(\w+)'\](.*)$", name)
    return match.group(1) + match.group(2) if match else name


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
    (_KEYS.match, _describe_number_of_keys),
    (_KEYS_CHANGED.search, _describe_keys),
    (_value_was, _describe_value),
    (_NONE.match, _describe_none),
    (_NO_FUNCTION.match, _describe_no_function),
    (_HASATTR.match, _describe_attribute),
    (_condition, _describe_condition),
    (_IN_SET.match, _describe_member),
    (_FREED.match, _describe_freed),
)
