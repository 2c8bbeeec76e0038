"""What a graph break hands over: the values with which a resume function goes on, by the names that
the program or the code of the caller has for them.
"""

import ast
import builtins
import re
import types
from typing import Any, Dict, List, Optional, Tuple

from depyf import _core, compiling
from depyf.interrupts import pass_on
from depyf.plain import attribute_of
from depyf.torch.codes import resume_code

#: the parameters of a resume function in front of what it goes on with: of its callers
_OF_CALLERS = ("__nested_resume_fns", "__nested_frame_values")
#: the parameter that is a list of all that it goes on with
_IN_LIST = "__resume_frame_values"
_STACK = "___stack"
#: characters of an expression that is told
_MOST = 60

_PROLOGUE = "(__is_tracing_resume_prologue)"
_JUMP = re.compile(r"^[\s\d>]*JUMP_(?:FORWARD|ABSOLUTE)\b.*\(to (\d+)\)$", re.M)
_OPERATION = re.compile(r"^[\s\d>]*?\d+ ([A-Z][A-Z_0-9]+) *(?:-?\d+ ?)?(?:\((.*)\))?$", re.M)
_STORES = frozenset(("STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "STORE_NAME"))
_NOTHING = frozenset(("NOP", "CACHE", "EXTENDED_ARG", "RESUME", "NOT_TAKEN"))


def parameters_of_rest(code: types.CodeType) -> Tuple[str, ...]:
    """The parameters of a resume function; those that were on the stack by `names_of_rest`."""
    given = code.co_varnames[: code.co_argcount]
    if _IN_LIST in given:
        return given
    count = sum(one in _OF_CALLERS for one in given[:2])
    named = names_of_rest(code)
    return given[:count] + tuple(
        name or one for one, name in zip(given[count:], named + [""] * len(given))
    )


def names_of_rest(code: types.CodeType) -> List[str]:
    """What a resume function calls the values that it goes on with, in their order: those of the
    stack, then the variables. A value of the stack has the name of the variable to which it is
    assigned first; "" where it is assigned to none.
    """
    given = [one for one in code.co_varnames[: code.co_argcount] if one not in _OF_CALLERS]
    found = ["" if one.startswith(_STACK) else one for one in given]
    if all(found) and found != [_IN_LIST]:
        return found
    try:
        text = str(_core.listing(code))
    except Exception:  # what the core cannot decode
        pass_on()
        return found
    jump = _JUMP.search(text, text.rfind(_PROLOGUE)) if _PROLOGUE in text else None
    if jump is None:
        return [] if found == [_IN_LIST] else found
    if found == [_IN_LIST]:
        found = _names_in_list(text[: jump.start()])
    at = next((n for n, one in enumerate(found) if one), len(found))
    for name in _stored_first(text, jump.group(1)):
        at -= 1
        if at >= 0 and name not in found:
            found[at] = name
    return found


def _names_in_list(beginning: str) -> List[str]:
    """The variables to which the beginning of a resume function assigns what is in its list."""
    rows = [match.groups() for match in _OPERATION.finditer(beginning)]
    found = []
    for (_, what), _, (name, _), (then, variable) in zip(rows, rows[1:], rows[2:], rows[3:]):
        if what == _IN_LIST and name in ("BINARY_SUBSCR", "BINARY_OP"):
            found.append((variable or "") if then in _STORES else "")
    return found


def _stored_first(text: str, offset: str) -> List[str]:
    """The variables to which code assigns what is on the stack, before it does anything else."""
    place = re.search(r"^[\s\d>]*?\b%s [A-Z]" % offset, text, re.M)
    found: List[str] = []
    for match in _OPERATION.finditer(text, place.start() if place is not None else len(text)):
        name, what = match.groups()
        if name in _NOTHING:
            continue
        stored = (what or "").split(", ")
        if name == "STORE_FAST_STORE_FAST":
            found += stored
        elif name == "STORE_FAST_LOAD_FAST":
            found += stored[:1]
            break
        elif name in _STORES:
            found += stored
        else:
            break
    return [one for one in found if one.isidentifier()]


def names_of_callers(held: Optional[Dict[str, Any]]) -> Dict[str, List[str]]:
    """The variables of the callers with which a resume function is given their rests.

    Args:
        held: the locals of its frame.
    Returns:
        Names by `__nested_frame_values[0]` and so on.
    """
    found = {}
    functions = (held or {}).get(_OF_CALLERS[0])
    for number, function in enumerate(functions if type(functions) is list else ()):
        code = resume_code(function)
        if code is not None and attribute_of(function, "__code__", code) is code:
            found["%s[%d]" % (_OF_CALLERS[1], number)] = names_of_rest(code)
    return found


def words_for_stack(code: types.CodeType, given: List[str]) -> List[str]:
    """Words for the parameters of a resume function that were on the stack, "" for each other.

    Args:
        given: what the code that calls it gives for each, as `given_to_rest` has it.
    """
    words = []
    said = iter(given)
    for real, name in zip(code.co_varnames, parameters_of_rest(code)):
        told = "" if real in _OF_CALLERS else next(said, "")
        if not real.startswith(_STACK):
            words.append("")
        else:
            words.append(name if name != real else _word(told))
    on_stack = [n for n, one in enumerate(code.co_varnames[: len(words)]) if one.startswith(_STACK)]
    if on_stack and not words[on_stack[-1]]:
        words[on_stack[-1]] = _name_of_parts(code)
    return words


def _name_of_parts(code: types.CodeType) -> str:
    """A name for what a break gives, where the code behind takes it apart at once: of
    `hidden, _ = f(x)` hidden_and_more. "" where it does not.
    """
    try:
        text = str(_core.listing(code))
    except Exception:  # what the core cannot decode
        pass_on()
        return ""
    jump = _JUMP.search(text, text.rfind(_PROLOGUE)) if _PROLOGUE in text else None
    place = re.search(r"^[\s\d>]*?\b%s [A-Z]" % jump.group(1), text, re.M) if jump else None
    first = _OPERATION.search(text, place.start()) if place is not None else None
    while first is not None and first.group(1) in _NOTHING:
        first = _OPERATION.search(text, first.end())
    if first is None or first.group(1) != "UNPACK_SEQUENCE":
        return ""
    stored = _OPERATION.search(text, first.end())
    if stored is None or not stored.group(1).startswith("STORE_FAST"):
        return ""
    name = (stored.group(2) or "").split(", ")[0]
    return name + "_and_more" if name.isidentifier() and name.strip("_") else ""


def _word(told: str) -> str:
    """A name for an expression, "" where it tells none."""
    text = re.match(r"'([^'\\]*)'$", told)
    if text is not None:
        words = re.sub(r"\W+", "_", text.group(1).lower()).strip("_")[:20].strip("_")
        return words + "_text" if words.isidentifier() and words.isascii() else "text"
    called = re.match(r"([\w.\[\]']+)\(.*\)$", told)
    path = called.group(1) if called is not None else told
    last = re.match(r"(?:.*[.'\]])??([A-Za-z]\w*)(?:'?\])?$", path) or re.match(r".*?(\w+)$", path)
    if last is None or not re.match(r"[\w.\[\]']+$", path):
        return ""
    word = last.group(1) + ("_result" if called is not None else "")
    if hasattr(builtins, word):
        word = "builtin_" + word
    return word if word.isidentifier() and word.isascii() and not word.startswith("__") else ""


_BUILTIN = re.compile(r"\bbuiltins_dict\w*\['(\w+)'\]")


#: a call whose first argument is a list
_CALL_WITH_LIST = re.compile(r"\b(\w+)\(\s*\[")
_STORED = re.compile(r"(?m)^ *(\w+) = (.+)$")


def given_to_rest(source: str, name: str) -> List[str]:
    """What code gives a resume function to go on with, as its source has it; [] where it has no
    such call.

    Args:
        source: of the code.
        name: the global by which it calls the function.
    """
    for match in _CALL_WITH_LIST.finditer(source):
        if match.group(1).lstrip("_") != name.lstrip("_"):
            continue
        lines = source[source.index("(", match.start()) :].split("\n")
        text = "f"
        for line in lines[:100]:
            text += line
            if text.count("(") > text.count(")"):
                continue
            try:
                call = compiling.places_of(text).body[0].value  # type: ignore[attr-defined]
            except (SyntaxError, ValueError, RecursionError, MemoryError, AttributeError):
                pass_on()
                continue
            stored: Dict[str, List[str]] = {}
            for given, value in _STORED.findall(source):
                stored.setdefault(given, []).append(value)
            return [_told(stored, one) for one in getattr(call, "args", ())[2:]]
    return []


def _told(stored: Dict[str, List[str]], value: ast.expr, steps: int = 3) -> str:
    """An expression of a source, short, without the names that torch's code gives to its parts.

    Args:
        stored: name -> what the source assigns to it, line by line.
    """
    unparse = getattr(ast, "unparse", None)  # from Python 3.9 on
    if unparse is None:
        return ""
    text = str(unparse(value))

    def made(match: "re.Match[str]") -> str:
        values = stored.get(match.group(), ())
        known = values[0] if len(values) == 1 else ""
        if not known or len(known) > _MOST or known.count("(") != known.count(")"):
            return match.group()
        return known if re.match(r"[\w.]+(?:\['\w+'\])?$", known) else match.group()

    for _ in range(steps):
        text = re.sub(r"(?<![\w.'\"])[A-Za-z_]\w*(?!\w*['\"(=])", made, text)
        text = re.sub(r"(?<![\w.'\"])\w+(?=\()", made, text)
        text = _BUILTIN.sub(r"\1", text)
    # a value of the caller's own stack has no name that tells more
    return text if len(text) <= _MOST and not re.search(r"\b%s\d" % _STACK, text) else ""
