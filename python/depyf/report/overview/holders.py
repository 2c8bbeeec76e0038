"""Names of a program for the objects of methods that stood on the stack at a graph break.

In `self.meter.update(loss.item())`, the graph breaks within the arguments: the method is on the
stack then, and torch names what its object holds by its place there, as
`___stack0.__self__.values`. The program has it as `self.meter.values`.
"""

import ast
import re
from typing import Any, Dict, Optional

from depyf.advice import given, uses
from depyf.report.overview.titled import Titled
from depyf.schema import Document

#: such a value as torch writes it in guards, and in reasons
_HOLDER = re.compile(r"(?:L\['___stack\d+'\]|___stack\d+)\.__self__(?=[.\[])")


def named_by_program(function: Document, *entries: Document) -> Document:
    """A function, with its entries or those that are given, with the program's name for the object
    of the one method on its stack in what they guard; as it is where that is not known.
    """
    told = list(entries or function.get("entries") or ())
    found = [one for one in told if isinstance(one, dict)]
    name = ""
    if function.get("is_resume") and any(map(_has_holder, found)):
        at = Titled(function, found[0])
        name = holder_at(at.place[0], at.resumes_at)
    if name:
        return dict(function, entries=[_renamed(one, name) for one in found])
    return dict(function, entries=told) if entries else function


def _has_holder(entry: Document) -> bool:
    texts = [one.get("text") for one in entry.get("guards") or () if isinstance(one, dict)]
    return any(_HOLDER.search(str(one)) for one in [*texts, *(entry.get("reasons") or ())])


def _renamed(entry: Document, name: str) -> Document:
    root, dot, rest = name.partition(".")

    def named(text: str) -> str:
        return _HOLDER.sub(
            lambda one: ("L['%s']" % root if one[0][0] == "L" else root) + dot + rest, text
        )

    def of_row(row: Any) -> Any:
        texts = [key for key in ("text", "source") if isinstance(row, dict) and row.get(key)]
        return dict(row, **{key: named(str(row[key])) for key in texts}) if texts else row

    told: Dict[str, Any] = {
        key: [of_row(one) for one in entry.get(key) or ()] for key in ("guards", "symbols")
    }
    return dict(entry, reasons=[named(str(one)) for one in entry.get("reasons") or ()], **told)


def holder_at(file: str, line: int) -> str:
    """The object, as `self.meter`, of the only method that is called at a line with what other
    calls give, by a parameter of the function; "" where there are more of them, and where a method
    may be handed on.
    """
    function = uses.function_around(file, line)
    if function is None:
        return ""
    calls = [one for one in uses.walked(function) if isinstance(one, ast.Call)]
    owners = [_owner(one) for one in calls if one.lineno <= line <= uses.last_line(one)]
    found = [one for one in owners if one is not None]
    owner = found[0] if len(found) == 1 else ""
    stored = {one.id for one in uses.walked(function) if _is_stored(one)}
    known = set(given.parameters((file, uses.first_line(function)))) - stored
    return owner if owner.partition(".")[0] in known else ""


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


def _owner(call: ast.Call) -> Optional[str]:
    """The object of the method that a call with calls in its arguments calls, "" where another
    method may be on the stack; None where it is no such call.
    """
    if getattr(call.func, "id", "") in _OF_PYTHON:
        return None
    inner = [
        each
        for one in [*call.args, *(keyword.value for keyword in call.keywords)]
        for each in ast.walk(one)
    ]
    called = {id(one.func) for one in inner if isinstance(one, ast.Call)}
    if not called:
        return None
    if any(isinstance(one, ast.Attribute) and id(one) not in called for one in inner):
        return ""
    return uses.path_of(call.func).rpartition(".")[0]


#: functions that are no methods of a program's object
_OF_PYTHON = frozenset(("abs", "bool", "float", "int", "len", "max", "min", "round", "str", "sum"))
