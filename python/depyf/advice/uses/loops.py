"""Where a program's loops begin, and what is in a round of them."""

import ast
from typing import Any, Iterator, List, Set, Tuple, Union

from depyf.advice.uses.containers import GROWS, shows
from depyf.advice.uses.following import first_needing, numbers_given, turns_into_number
from depyf.advice.uses.names import (
    assigned,
    container_of,
    method_of,
    names_in,
    path_of,
    sets_part,
    unwrapped,
)
from depyf.advice.uses.needs import decided_at, tests_of, values_needed_in
from depyf.advice.uses.trees import SCOPES, innermost, last_line, parsed, read_at, walked


def ends_loop_around(file: str, line: int) -> int:
    """The line, in the innermost loop around a line, that ends a round or the loop by a Python
    number that another line than this makes of a tensor; 0 where there is none.
    """
    loops = [at for kind, at in uncut_around(file, line) if kind != "try"]
    for node in walked(read_at(file, line)[1]) if loops else ():
        if isinstance(node, (ast.For, ast.While)) and node.lineno == loops[-1]:
            inside = range(node.body[0].lineno, last_line(node) + 1)
            for one in values_needed_in(file, line):
                decided = decided_at(file, one) if one in inside and one != line else 0
                if decided in inside and ends_round(file, decided):
                    return decided
    return 0


def ends_loop_by_call(file: str, line: int) -> int:
    """The line, in the innermost loop around a line, that ends a round or the loop by a Python
    number of a tensor that a function which the line calls gives it; 0 where there is none.
    """
    loops = [at for kind, at in uncut_around(file, line) if kind != "try"]
    names = numbers_given(file, line) if loops else set()
    tree, function = read_at(file, line)
    if tree is None or not names:
        return 0
    for node in walked(function):
        if isinstance(node, (ast.For, ast.While)) and node.lineno == loops[-1]:
            if isinstance(node, ast.While) and names & names_in(node.test):
                return node.lineno
            decided = first_needing(tree, function, names, line, _tests, deep=False, numbers=True)
            inside = node.body[0].lineno <= decided <= last_line(node)
            return decided if inside and ends_round(file, decided) else 0
    return 0


def _tests(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    yield from tests_of(node)


def loop_at(file: str, line: int) -> bool:
    """Whether a line has the head of a loop, or a range."""
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, (ast.For, ast.While)):
            head: Any = node.iter if isinstance(node, ast.For) else node.test
            if node.lineno <= line <= last_line(head):
                return True
        if isinstance(node, ast.comprehension):
            if node.iter.lineno <= line <= last_line(node.iter):
                return True
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
            if node.lineno <= line <= last_line(node):
                return True
    return False


def indexes_in_loop(file: str, line: int, name: str) -> bool:
    """Whether a line takes elements of a name by the number of a round of a loop over a range, and
    decides on no size: torch unrolls the loop, and asks only that there are as many elements.
    """
    function = read_at(file, line)[1]
    rounds: Set[str] = set()
    for node in walked(function):
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Call):
            if getattr(node.iter.func, "id", "") == "range":
                rounds.add(path_of(node.target))
    at_line = [
        one
        for one in walked(function)
        if hasattr(one, "lineno") and one.lineno <= line <= last_line(one)
    ]
    for test in (each for one in at_line for each in tests_of(one)):
        if any(map(_asks_size, ast.walk(test))):
            return False
    return any(
        isinstance(one, ast.Subscript)
        and path_of(one.value) == name
        and path_of(unwrapped(one.slice)) in rounds - {""}
        for one in at_line
    )


def _asks_size(node: Any) -> bool:
    called = getattr(node, "attr", getattr(node, "id", ""))
    return called in ("shape", "size", "numel", "len")


def carries_at(file: str, line: int) -> bool:
    """Whether each round of the loop at a line computes with what the one before left, other than a
    sum or product to which each round adds its own part: no operation on all elements does that.
    """
    for node in walked(read_at(file, line)[1] if file and line else None):
        if isinstance(node, (ast.For, ast.While)):
            head: Any = node.iter if isinstance(node, ast.For) else node.test
            if node.lineno <= line <= last_line(head):
                read: Set[str] = set()
                stored: Set[str] = set()
                _read_first(node.body, read, stored)
                return bool(read & stored)
    return False


def _read_first(body: List[Any], read: Set[str], stored: Set[str]) -> None:
    """Adds what some statements store, and what they read of it before they store it first; what
    only gathers parts does not count.
    """
    for one in body:
        inner = [
            each for name in ("body", "orelse", "finalbody") for each in getattr(one, name, ())
        ]
        parts = [each for each in ast.iter_child_nodes(one) if each not in inner]
        if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = assigned(one)
            parts = [one.value] if one.value is not None and not _gathers(one, targets) else []
        else:
            targets = set()
        for each in parts:
            read |= names_in(each) - stored
        stored |= targets
        _read_first(inner, read, stored)


def _gathers(node: Any, targets: Set[str]) -> bool:
    """Whether a statement adds to one name, or multiplies it by, what does not read that name."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, _GATHER) and not targets & names_in(node.value)
    value = node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, _GATHER):
        return False
    sides = [names_in(value.left), names_in(value.right)]
    return any(
        path_of(one) in targets and not targets & other
        for one, other in ((value.left, sides[1]), (value.right, sides[0]))
    )


#: operators with which the parts of a sum or product are gathered
_GATHER = (ast.Add, ast.Sub, ast.Mult)


def uncut_around(file: str, line: int) -> List[Tuple[str, int]]:
    """The loops and `try` statements of its function around a line, outermost first: `for`, `while`
    or `try`, and its line. Torch cannot cut a graph in them.
    """
    tree = parsed(file) if file and line else None
    work: List[Any] = [innermost(tree, line)] if tree is not None else []
    found = []
    while work:
        node = work.pop()
        for child in ast.iter_child_nodes(node) if node is not None else ():
            if not isinstance(child, ast.stmt) and not isinstance(child, ast.ExceptHandler):
                continue
            if not child.lineno <= line <= last_line(child) or isinstance(child, SCOPES):
                continue
            if isinstance(child, (ast.For, ast.While, ast.Try)):
                found.append((type(child).__name__.lower(), child.lineno))
            work.append(child)
    return found


def raises_at(file: str, line: int) -> bool:
    """Whether a line is of a statement that raises an exception."""
    nodes = walked(read_at(file, line)[1] if file and line else None)
    return any(isinstance(one, ast.Raise) and one.lineno <= line <= last_line(one) for one in nodes)


def withs_around(file: str, line: int) -> List[Union[ast.With, ast.AsyncWith]]:
    """The `with` statements of its function around a line, outermost first."""
    found = [
        node
        for node in walked(read_at(file, line)[1] if file and line else None)
        if isinstance(node, (ast.With, ast.AsyncWith))
        and node.body[0].lineno <= line <= last_line(node)
    ]
    return sorted(found, key=lambda node: node.lineno)


def withs_at(file: str, line: int) -> List[Union[ast.With, ast.AsyncWith]]:
    """The `with` statements that begin at a line."""
    nodes = walked(read_at(file, line)[1] if file and line else None)
    return [
        node
        for node in nodes
        if isinstance(node, (ast.With, ast.AsyncWith))
        if node.lineno <= line < node.body[0].lineno
    ]


def lines_of_block(node: Union[ast.With, ast.AsyncWith]) -> range:
    """The lines of the block of a `with` statement."""
    return range(node.body[0].lineno, last_line(node) + 1)


def contexts_around(file: str, line: int) -> List[int]:
    """The lines of the `with` statements of its function around a line, outermost first."""
    return [node.lineno for node in withs_around(file, line)]


def lines_of_statement(file: str, line: int) -> range:
    """The lines of the loop or `try` that begins at a line, without an `else` of a loop."""
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, (ast.For, ast.While, ast.Try)) and node.lineno == line:
            return range(line, last_line(node if isinstance(node, ast.Try) else node.body[-1]) + 1)
    return range(line, line + 1)


#: functions and methods of tensors whose results a branch can only be on as tensors
_REDUCED = frozenset(
    "all allclose any amax amin equal isfinite isinf isnan max mean min norm std sum var".split()
)


def breaks_in(file: str, line: int, orders: bool) -> List[int]:
    """The lines of the function around a line that break a graph, as far as its source tells: what
    prints, what branches on what is computed of all of a tensor.

    Args:
        orders: whether those that sort by a key, or pick the largest by one, are among them.
    """
    function = read_at(file, line)[1]
    nodes = walked(function)
    computed = {
        one.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if path_of(node.value.func).startswith("torch.")
        for one in node.targets
        if isinstance(one, ast.Name)
    }
    reduced: Set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_reduced(node.value, computed):
            reduced |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    found = set()
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            found.add(node.lineno)
        elif isinstance(node, ast.Call) and orders and any(map(_is_lambda, node.keywords)):
            found.add(node.lineno)
        elif isinstance(node, (ast.If, ast.While)):
            test: Any = node.test
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test = test.operand
            parts = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
            if any(
                _is_reduced(one, computed) or getattr(one, "id", "") in reduced for one in parts
            ):
                found.add(node.lineno)
    return sorted(found)


def _is_lambda(given: ast.keyword) -> bool:
    return given.arg == "key" and isinstance(given.value, ast.Lambda)


def _is_reduced(node: Any, computed: Set[str]) -> bool:
    """Whether an expression is plainly one value of a tensor, as a tensor.

    Args:
        computed: the names to which the function assigns what torch computes.
    """
    called = getattr(node, "func", None) if isinstance(node, ast.Call) else None
    if not isinstance(called, ast.Attribute) or called.attr not in _REDUCED:
        return False
    owner = path_of(called.value)
    # nothing of Python's has such a method, and what a module or an object computes is not known
    return owner == "torch" or isinstance(called.value, ast.Call) or owner in computed


def computes_alone(file: str, line: int) -> bool:
    """Whether the body of the `while` at a line does nothing but assign to names, as a function can
    that a graph holds.
    """
    tree = parsed(file) if file and line else None
    loops = [one for one in walked(tree) if isinstance(one, ast.While) and one.lineno == line]
    return all(
        isinstance(one, (ast.Assign, ast.AugAssign)) and not sets_part(one)
        for loop in loops
        for one in loop.body
    )


def computed_after(file: str, line: int) -> int:
    """The first line on a side of the branch of a line, or below it, that computes something of
    what its function is given; 0 where there is none, or the line decides nothing.
    """
    function = read_at(file, line)[1]
    nodes = walked(function)
    if not any(
        isinstance(one, ast.If) and one.test.lineno <= line <= last_line(one.test) for one in nodes
    ):
        return 0
    given = {one.arg for one in nodes if isinstance(one, ast.arg)} - {"self"}
    found = 0
    for one in nodes:
        if isinstance(one, ast.Call):
            taken = list(one.args) + [each.value for each in one.keywords]
            taken += [one.func.value] if isinstance(one.func, ast.Attribute) else []
        elif isinstance(one, ast.BinOp):
            taken = [one.left, one.right]
        else:
            continue
        if one.lineno > line and not shows(one) and any(given & names_in(each) for each in taken):
            found = min(found or one.lineno, one.lineno)
    return found


def ends_round(file: str, line: int) -> bool:
    """Whether a line decides whether a loop goes on: a side of its branch leaves the loop, goes to
    its next round, or returns; or it is the condition of a `while`.
    """
    ends = (ast.Break, ast.Continue, ast.Return)
    for node in walked(parsed(file)):
        if isinstance(node, ast.While) and node.test.lineno <= line <= last_line(node.test):
            return True
        if isinstance(node, ast.If) and node.test.lineno <= line <= last_line(node.test):
            sides = node.body + node.orelse
            return any(isinstance(one, ends) for side in sides for one in ast.walk(side))
    return False


def is_worth_a_function(file: str, line: int) -> bool:
    """Whether the body of the innermost loop around a line computes something, and is a function
    that torch need not compile again and again: it makes no number of a tensor, adds to no
    container that it has not made in the function, and changes no attribute from its own value.
    """
    tree, function = read_at(file, line)
    loops = [at for kind, at in uncut_around(file, line) if kind != "try"]
    if tree is None or not loops:
        return False
    own = {
        name
        for one in walked(function)
        if isinstance(one, (ast.Assign, ast.AnnAssign))
        for name in assigned(one)
    }
    computes = False
    for loop in walked(function):
        if not isinstance(loop, (ast.For, ast.While)) or loop.lineno != loops[-1]:
            continue
        for node in (each for one in loop.body for each in ast.walk(one)):
            if turns_into_number(node):
                return False
            if isinstance(node, ast.Call) and method_of(node) in GROWS:
                if path_of(container_of(getattr(node.func, "value", None))) not in own:
                    return False
            if isinstance(node, ast.AugAssign) and sets_part(node):
                return False
            computes = computes or _computes(node)
    return computes


def _computes(node: Any) -> bool:
    """Whether a statement computes what may be a tensor: it keeps, or returns, what a call or an
    operator gives, or calls a method that changes a tensor in place.
    """
    value = getattr(node, "value", None)
    if isinstance(node, ast.AugAssign):
        return not isinstance(value, ast.Constant)
    if isinstance(node, ast.Expr) and isinstance(value, ast.Call):
        return method_of(value).endswith("_")
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)) and any(
        isinstance(one, ast.BinOp)
        or isinstance(one, ast.Call)
        and getattr(one.func, "id", "") not in _OF_PYTHON
        for one in walked(value)
    )


#: functions of Python's that compute no tensor
_OF_PYTHON = frozenset("bool dict float int len list range repr round set sorted str tuple".split())


def _computes_nothing(node: Any) -> bool:
    """Whether a statement only keeps, or tests, what has a name, as code around a call does."""
    plain = (ast.Break, ast.Continue, ast.Pass)
    if isinstance(node, ast.If):
        asked = [one for one in ast.walk(node.test) if isinstance(one, (ast.Call, ast.BinOp))]
        return not asked and all(map(_computes_nothing, node.body + node.orelse))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        return method_of(call) == "append" and all(isinstance(one, ast.Name) for one in call.args)
    if isinstance(node, (ast.Return, ast.Assign)):
        names = (ast.Name, ast.Tuple, ast.Constant)
        return node.value is None or isinstance(node.value, names)
    return isinstance(node, plain)


def calls_alone(file: str, line: int) -> bool:
    """Whether all that the body of the innermost loop around a line computes is one call."""
    tree = parsed(file)
    loops = [one for one in uncut_around(file, line) if one[0] != "try"]
    for node in walked(tree) if tree is not None and loops else ():
        if isinstance(node, (ast.For, ast.While)) and node.lineno == loops[-1][1]:
            body: List[Any] = [one for one in node.body if not _computes_nothing(one)]
            kinds = (ast.Expr, ast.Assign, ast.Return)
            return (
                len(body) == 1
                and isinstance(body[0], kinds)
                and isinstance(body[0].value, ast.Call)
            )
    return False
