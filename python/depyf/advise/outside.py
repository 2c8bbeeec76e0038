"""What stays uncompiled where the code before and after some lines is compiled by itself."""

import ast
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from depyf.advice import OUTSIDE, breaks, settings_in, uses
from depyf.advise.change import Change
from depyf.advise.staying import failing_in, met_at, removed_by
from depyf.advise.uncompiled import BACKWARD


class Call(NamedTuple):
    """A call of the program's own function that is to stay outside of compiled code."""

    file: str
    line: int
    #: the function; "" for the rest of a function behind a break at the line
    spelt: str
    #: what it changes from its own value (`_changed_by`); "" for none, and of the rest of a
    #: function then: it decides on a number
    counted: str
    #: whether torch compiled it, again and again
    seen: bool


def kept_out(change: Change, nodes: Sequence[Any]) -> Tuple[Call, ...]:
    """The calls in the code around what a change takes out that torch did not compile, or compiles
    again for a reason that stays: compiled with that code, they may cost more than it saves.
    """
    if change.kind == "recompile":
        return _deciding_behind(change) + _counting_behind(change)
    if not _compiles_around(change):
        return _counting_behind(change)
    compiled: Dict[Any, List[Any]] = {}
    for node in nodes:
        compiled.setdefault(node.place[0], []).append(node)
    removed = removed_by(change) | {one.caller[:2] for one in (change,) + change.also}
    found: Dict[Tuple[str, int, str], Call] = {}
    for failing in failing_in(change):
        for node in failing.cause["nodes"]:
            file = node.place[0]
            begin = node.resumes_at if node.is_resume else 0
            function = uses.function_around(file, met_at(node)[1] or failing.line)
            for call, called in _own_calls(file, function):
                if call.lineno <= begin or (file, call.lineno) in removed:
                    continue
                lines = range(min(uses.first_lines(called)), uses.last_line(called) + 1)
                own = [one for one in compiled.get(file, ()) if one.place[1] in lines]
                made = [one for one in own if not one.failure and not one.is_empty]
                again = [one for one in made if one.reasons and one.key not in change.each]
                if again or not made:
                    spelt = uses.path_of(call.func)
                    told = Call(file, call.lineno, spelt, _counted(file, called), bool(again))
                    found.setdefault(told[:3], told)
    return tuple(found.values())


def rests(change: Change) -> Dict[Tuple[str, int], bool]:
    """Whether what follows a branch can run before its test, by (file, line) of where it begins,
    where a change has the condition tested outside of the compiled function.
    """
    found: Dict[Tuple[str, int], bool] = {}
    for one in (change,) + change.also:
        at = one.line
        if one.row == "item that decides":
            at = uses.decided_at(one.file, one.line)
            tested = one.advice in [each.text for each in breaks.BY_KEY[one.row].help[1:]]
            tested = tested and uses.in_same_function(one.file, one.line, at)
        else:
            tested = one.kind != "recompile" and one.advice.startswith(OUTSIDE)
        line, before = uses.rest_after(one.file, at) if tested and one.file else (0, True)
        if line:
            found[one.file, line] = before
    return found


def _counting_behind(change: Change) -> Tuple[Call, ...]:
    """The rests of functions behind the breaks of a change that had nothing to compile, so that
    torch leaves them alone, and that change something from its own value: compiled with what is
    before the break, they may take a compile for each value.
    """
    every = [one for one in (change,) + change.also if one.kind == "break"]
    every = [one for one in every if one.row != BACKWARD]  # what follows it goes outside, too
    found: Dict[Tuple[str, int], Call] = {}
    for node in [each for one in every for cause in one.cause["nodes"] for each in cause.children]:
        file, begin = node.place[0], node.resumes_at
        function = uses.function_around(file, begin) if node.is_empty and begin else None
        counted = _counted(file, function, begin) if function is not None else ""
        if counted:
            found.setdefault((file, begin), Call(file, begin, "", counted, False))
    return tuple(found.values())


def _deciding_behind(change: Change) -> Tuple[Call, ...]:
    """The rests of functions that had nothing to compile, so that torch leaves them alone, and that
    decide on a number which a change makes symbolic from the start: torch then compiles them, again
    for other decisions.
    """
    found: Dict[Tuple[str, int], Call] = {}
    for one in (change,) + change.also if "dynamic=True" in change.advice else ():
        name = one.cause["reason"]["name"] if one.kind == "recompile" else ""
        for node in {each for made in one.cause["nodes"] for each in made.children if name}:
            file, begin = node.place[0], node.resumes_at
            if node.is_empty and begin and uses.needed_at(file, begin, name) > begin:
                found.setdefault((file, begin), Call(file, begin, "", "", False))
    return tuple(found.values())


def _compiles_around(change: Change) -> bool:
    """Whether a change has the code before and after some lines compiled by itself."""
    said = change.cause["break" if change.kind == "break" else "failure"]
    row = (
        breaks.LIBRARY.key if said.get("foreign") and not settings_in(change.advice) else change.row
    )
    return row in breaks.COMPILE_AROUND


def _own_calls(file: str, function: Any) -> Iterator[Tuple[ast.Call, Any]]:
    """(call, function) of what a function calls of its file: of the only one of that name."""
    tree = uses.parsed(file)
    if function is None or tree is None:
        return
    modules = uses.imported(tree)
    for node in uses.walked(function):
        spelt = uses.path_of(node.func) if isinstance(node, ast.Call) else ""
        root, _, rest = spelt.partition(".")
        called = uses.only_named(tree, (rest or root).rpartition(".")[2])
        if called not in (None, function) and not (rest and root in modules):
            yield node, called


def counts_in(failing: Sequence[Change]) -> Tuple[Tuple[str, int, str], ...]:
    """(file, line, name) of what the functions that torch gave up change from its own value:
    compiled, they may be compiled for each value.
    """
    found: Dict[Tuple[str, int, str], None] = {}
    for node in (node for one in failing for node in one.cause["nodes"]):
        file, line = met_at(node)
        changed = _changed_by(file, uses.function_around(file, line)) if line else ()
        for at, name in [one for one in changed if one[0] != line][:1]:
            found[file, at, name] = None
    return tuple(found)


#: methods that make a container longer
_LENGTHEN = ("append", "appendleft", "extend", "insert")


def _changed_by(file: str, function: Any) -> Iterator[Tuple[int, str]]:
    """(line, name) of what a function changes from its own value and that outlives the call: an
    attribute or a variable of another scope, as a counter, and a list that it makes longer. Of a
    tensor no value takes a compile.
    """
    nodes = list(uses.walked(function)) if function is not None else []
    declared = {one for node in nodes if isinstance(node, _DECLARE) for one in node.names}
    own = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } - declared
    for node in nodes:
        if isinstance(node, ast.AugAssign):
            kept = isinstance(node.target, ast.Attribute)
            kept |= isinstance(node.target, ast.Name) and node.target.id in declared
            if kept and not uses.holds_tensor(file, node.target):
                yield node.lineno, uses.path_of(node.target)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = uses.path_of(node.func.value) if node.func.attr in _LENGTHEN else ""
            if name and name.partition(".")[0] not in own:
                yield node.lineno, name


_DECLARE = (ast.Global, ast.Nonlocal)


def _counted(file: str, function: Any, after: int = 0) -> str:
    """The first that a function changes after a line from its own value; "" for none."""
    found = (name for line, name in _changed_by(file, function) if line > after)
    return next(found, "")
