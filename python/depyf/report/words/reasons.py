"""Recompiles in plain words: which guard of an entry failed, which line made it, and what helps.

The words and the advice are rows of `depyf.advice.recompiles`, which `rows` chooses; `forms` reads
the guard.
"""

import ast
import re
from typing import Any, Dict, Iterable, List, Match, Optional, Sequence, Tuple

from depyf.advice import uses
from depyf.report.words.breaks import Said
from depyf.report.words.forms import CACHE, describe
from depyf.report.words.rows import (
    KEPT,
    advise,
    argument_of,
    is_argument,
    keys_row,
    length_row,
    short,
)
from depyf.report.words.stacks import in_library, short_place, users_line
from depyf.trace.frames import frames_of_text, parse_comment, parse_frame

#: torch's own function around a bound method that is compiled, which has it as `fn`
_WRAPPED = re.compile(r"[/\\]torch[/\\]_dynamo[/\\]external_utils\.py\", line \d+, in inner\b")
_TRIED = re.compile(r"^(?P<entry>!?[\w/!]+/\d+): (?P<rest>.*)$", re.DOTALL)


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
    comment = rest.find("#")
    place = parse_comment(rest[comment:]) if comment >= 0 else None
    # code that exec was given, as a dataclass's __init__, has no text in a stack
    known = [frame for frame in frames_of_text(rest) if frame.code]
    seen = known[-1] if known else place
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
        "file": seen.path if seen else "",
        "line": seen.line if seen else 0,
        "source": ((seen.code or "") if seen else "").strip(),
        "caller": ("", 0, ""),
        "raw": text,
        "parameters": parameters,
        "of_another": False,
        "beside": "",
        "differing": [],
        "own": "",
    }
    describe(found, guard)
    if found["row"] in _OF_CACHE and not is_argument(found["name"]):
        if CACHE.search(found["name"]):
            advise(found, "cache state")
    if KEPT.search(guard):
        _name_kept(found, source, line, given)
    return found


def name_object_of_method(found: Said) -> None:
    """Calls the object of a bound method, which torch has in a function of its own, as the method
    does.
    """
    if _WRAPPED.search(found["raw"]):
        found["words"] = _ITS_OBJECT.sub("self", found["words"])
        found["help"] = [_ITS_OBJECT.sub("self", one) for one in found["help"]]


_ITS_OBJECT = re.compile(r"(?<![\w.])fn\.__self__\b")
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


def of_which_guard(found: Said) -> str:
    """What stands before the guard that torch names, where the words are about another one: "" for
    a guard of what they name.
    """
    told = "the first guard of that compile that fails: "
    return told if found["of_another"] and found["name"] not in found["failed"] else ""


def guarded_at(found: Said, at: str) -> str:
    """How the line is told that torch recorded for a guard, behind the words: "" where these tell
    a line themselves.

    Args:
        found: what `of_reason` says.
        at: the place of the line.
    """
    if names_its_value(found):
        return ", guarded at " + at
    if re.search(r"decided at |kept across \w+ graph break at line \d+", found["words"]):
        return ""
    return ", which torch first saw around %s, `%s`" % (at, found["source"])


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
            frame.path
            for frame in (parse_frame(str(text)) for text in stack)
            if frame is not None
            and frame.code is not None
            and frame.line == found["line"]
            and frame.path.endswith(found["file"])
        ]
        if paths:
            found["file"] = paths[-1]
            at = found["file"], found["line"]
            if found["row"] == "counter" and uses.sets_key_at(*at, of_size=True):
                advise(found, "size as a key", at=short_place(*at))
            elif found["row"] == "counter":
                advise(found, "counter")  # what the program does with it can be read now
            elif found["row"] == "number condition":
                advise(found, "number condition")  # as above
            elif found["row"] in _LENGTHS:
                advise(found, length_row(found))
            elif found["row"] == "keys" and found["name"]:
                advise(found, keys_row(found))
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
            found["words"] += ", called from %s: `%s`" % (called_at, code.strip())


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
    " Other code reads it as a number, at %s: there, write %s(...) around it, or keep the "
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
        places = ", ".join(short_place(one["file"], at) for at in lines)
        whole = re.match(r"-?\d+$", one["before"])
        told = _READ_AS_NUMBER % (places, "int" if whole else "float")
        one["help"] = [
            text + told if lines and " a tensor" in text and told not in text else text
            for text in one["help"]
        ]


def describe_container(found: Said, function_at: Tuple[str, int]) -> None:
    """Says what helps against a container that the function itself fills, where the line that torch
    recorded does not tell: none, or a library's.
    """
    file, line = function_at[0], uses.body_line(*function_at)
    if not line or found["line"] and not in_library(found["file"]):
        return
    if found["row"] in _LENGTHS and uses.grows_in_call(file, line, found["name"]):
        advise(found, "growing list")
    elif found["row"] == "keys" and uses.fills_at(file, line, found["name"], told=True):
        advise(found, "growing dict")


#: rows of an integer that changes at each call, each with advice that holds for those before, too
_OF_COUNTERS = ("counter", "counter that bounds", "counter that indexes", "counter that decides")


def name_decided(found: Sequence[Said]) -> None:
    """Says of a number on which some line of the run decides what helps there, wherever else torch
    compiled again for it.

    Args:
        found: the reasons of one run.
    """
    by_place: Dict[Tuple[str, str, str], List[Said]] = {}
    for one in found:
        if one["row"] in _OF_COUNTERS:
            of = one["name"], one["file"], uses.class_at(one["file"], one["line"])
            by_place.setdefault(of, []).append(one)
    for group in by_place.values():
        row = max((one["row"] for one in group), key=_OF_COUNTERS.index)
        for one in group:
            if one["row"] != row:
                advise(one, row)


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
    words = _POSITION.sub("[...]", found["words"]).replace(".__self__.", ".")
    words = re.sub(form, named, _KEYS.sub(r"list(\1)", words)).rstrip(",")
    words = re.sub(r"`(?:%s)\.([\w.]+(?:\(\d+\))?)`" % KEPT.pattern, r"`\1` of " + kept, words)
    short: Dict[str, str] = {}
    for one in KEPT.findall(words):
        short.setdefault(one, "kept_%d" % (len(short) + 1) if short else "kept")
    words = KEPT.sub(lambda match: short[match.group()], words)
    if short:
        called = " and ".join("`%s`" % one for one in short.values())
        are = "is a value" if len(short) == 1 else "are values"
        words += ", where %s %s kept across %s" % (called, are, at)
    found["words"] = words
    # what helps says what to pass or to write for a name: here nobody passes or names anything
    found.update(help=[], patches=[])


#: how torch writes the key at a position of a dict as an index, and the keys of one
_POSITION = re.compile(r"\[list\(dict\.keys\([^()]*\)\)\[\d+\]\]")
_KEYS = re.compile(r"\blist\(dict\.keys\(([^()]*)\)\)")


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
    "length of a recurrence",
    "other length",
    "given or None",
    "tensor or not",
)
#: the row of a number of which a function of math makes a constant
_OF_MATH = "number in a function of math"
#: a guard that something computed has one value
_IS_CONSTANT = re.compile(r" == -?[\d.]+(e[-+]?\d+)?$")
#: rows of a changed length that go by the source line alone
_LENGTHS = (
    "growing list",
    "growing dict",
    "length",
    "length of a recurrence",
    "other length",
)
