"""What the sides of a program's branches do."""

import ast
from typing import Any, Iterator, List, Optional, Set, Tuple

from depyf.advice.uses.containers import CONTAINERS, GROWS, counts, makes_dict, shows
from depyf.advice.uses.names import (
    container_of,
    made_of,
    method_of,
    names_in,
    path_of,
    sets_part,
    unwrapped,
)
from depyf.advice.uses.needs import tests_of, values_needed_in
from depyf.advice.uses.trees import last_line, nodes_at, parsed, read_at, walked


def left_out_at(file: str, line: int) -> List[int]:
    """The lines that change a container or an attribute, and that the branch of a line leaves out
    on one side.
    """
    tree, function = read_at(file, line)
    found: Set[int] = set()
    for node in walked(function):
        for name in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, name, None)
            for place, one in enumerate(block if isinstance(block, list) else ()):
                if isinstance(one, ast.If) and one.test.lineno <= line <= last_line(one.test):
                    for side in _left_out(function, one, block[place + 1 :]):
                        kept = [each for each in ast.walk(side) if _is_kept(tree, each)]
                        found |= {getattr(each, "lineno", 0) for each in kept}
    return sorted(found)


def numbers_returned(file: str, line: int) -> List[str]:
    """The Python numbers that a side of the branch at a line plainly gives a name, and the function
    returns, in a tuple, list or dict as well, by these names; and those that a side returns itself.
    """
    function = read_at(file, line)[1]
    given: Set[str] = set()
    found: Set[str] = set()
    for node in _branches(file, line):
        for one in [each for side in (node.body, node.orelse) for each in side]:
            if isinstance(one, ast.Assign) and _number(one.value):
                given |= {each.id for each in one.targets if isinstance(each, ast.Name)}
            elif isinstance(one, ast.Return) and one.value is not None:
                found |= set(map(_number, _parts(one.value)))
    for node in walked(function):
        if isinstance(node, ast.Return) and node.value is not None:
            found |= given & {path_of(one) for one in _parts(node.value)}
    return sorted(found - {""})


def _number(node: Any) -> str:
    """A number as it is written; "" for what is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return "-" + inner if inner else ""
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return repr(value) if isinstance(value, (bool, int, float)) else ""


def _parts(value: Any) -> List[Any]:
    """What is returned, or what a tuple, list or dict that is returned holds."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return list(value.elts)
    return list(value.values) if isinstance(value, ast.Dict) else [value]


#: statements of a side that only leaves code out
_LEAVE = (ast.Return, ast.Continue, ast.Break, ast.Pass)


def replaced_at(file: str, line: int) -> bool:
    """Whether a decision whether there is anything does more, where there is nothing, than to leave
    code out: it puts something else in its place, tells of it, or raises.
    """
    return any(
        not isinstance(one, _LEAVE)
        for node in _branches(file, line)
        for one in (_side_for_none(node) or ())
    )


def skips_at(file: str, line: int) -> bool:
    """Whether a branch that asks whether a mask keeps anything only returns what has a name where
    it does not, or only leaves out what computes with that mask.
    """
    for node in _branches(file, line):
        empty = _side_for_none(node)
        if empty is None or left_out_at(file, line):
            continue
        if len(empty) == 1 and isinstance(empty[0], ast.Return):
            return isinstance(empty[0].value, (ast.Name, type(None)))
        masks = names_in(node.test)
        if not empty and all(_selects(one, masks) for one in node.body):
            return True
    return False


def _selects(statement: ast.stmt, masks: Set[str]) -> bool:
    """Whether an assignment takes, or changes, the elements alone that a mask keeps."""
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and masks & names_in(node.slice):
            return True
        if isinstance(node, ast.Call) and method_of(node) in ("where", "masked_fill"):
            if any(masks & names_in(one) for one in node.args[:1]):
                return True
    return False


def joins_tests(file: str, line: int) -> bool:
    """Whether what a line tests is no value of its own: Python makes it with `and`, `or` or `not`,
    or of several comparisons, and asks each part for True or False.
    """
    tree = parsed(file) if file and line else None
    for node in nodes_at(tree, line):
        for test in tests_of(node):
            if test.lineno <= line <= last_line(test):
                if isinstance(test, ast.BoolOp) or isinstance(getattr(test, "op", None), ast.Not):
                    return True
                if isinstance(test, ast.Compare) and len(test.ops) > 1:
                    return True
    return False


def _branches(file: str, line: int) -> Iterator[ast.If]:
    tree = parsed(file) if file and line else None
    for node in nodes_at(tree, line):
        if isinstance(node, ast.If) and node.test.lineno <= line <= last_line(node.test):
            yield node


def lines_of_sides(file: str, line: int) -> Set[int]:
    """The lines of the sides of the branches whose test is at a line."""
    tree = parsed(file) if file and line else None
    found: Set[int] = set()
    for node in nodes_at(tree, line):
        if isinstance(node, ast.If) and node.test.lineno <= line <= last_line(node.test):
            sides: List[Any] = node.body + node.orelse
        elif isinstance(node, ast.IfExp):
            sides = [node.body, node.orelse]
        else:
            continue
        found.update(at for one in sides for at in range(one.lineno, last_line(one) + 1))
    return found


def _side_for_none(node: ast.If) -> Optional[List[Any]]:
    """The side of a branch that is taken where there is nothing; None where it asks for anything
    else than whether there is something.
    """
    test: Any = node.test
    swapped = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    test = test.operand if swapped else test
    if isinstance(test, ast.Compare):
        limit: Any = test.comparators[0]
        met = type(test.ops[0]).__name__, getattr(limit, "value", None)
        if len(test.ops) > 1 or met not in _NONE + _SOME:
            return None
        swapped ^= met in _NONE
    elif not isinstance(test, ast.Call):
        return None
    elif method_of(test) != "any" and getattr(test.func, "id", "") != "len":
        return None
    return node.body if swapped else node.orelse


#: comparisons of a count that hold where there is nothing, and where there is something
_NONE = (("Eq", 0), ("LtE", 0), ("Lt", 1))
_SOME = (("NotEq", 0), ("Gt", 0), ("GtE", 1))


def _left_out(function: Any, branch: ast.If, below: List[Any]) -> List[Any]:
    """The statements that a branch leaves out on one side or the other.

    Args:
        function: around the branch.
        below: the statements of its block that follow it.
    """
    sides: List[Any] = branch.body + branch.orelse
    if isinstance(branch.body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise)):
        sides = sides + below
    if isinstance(branch.body[-1], ast.Return):
        sides = sides + [one for one in function.body if one.lineno > last_line(branch)]
    return sides


def rest_after(file: str, line: int) -> Tuple[int, bool]:
    """(line, whether it can run before the test): the first line of what a function computes behind
    the branch of a line, and whether that changes nothing that lasts longer than the call and needs
    nothing of what a side assigns. (0, True) for none.
    """
    tree, function = read_at(file, line)
    for node in walked(function):
        if not isinstance(node, ast.If) or not node.test.lineno <= line <= last_line(node.test):
            continue
        ends = last_line(node)
        below = [one for one in walked(function) if getattr(one, "lineno", 0) > ends]
        computed = sorted({one.lineno for one in below if _computes(one)})
        if not computed:
            return 0, True
        sides = [one for side in node.body + node.orelse for one in ast.walk(side)]
        leaves = any(isinstance(one, (ast.Return, ast.Continue, ast.Break)) for one in sides)
        raised = any(isinstance(one, ast.Raise) for one in sides)
        lasts = (leaves or raised) and any(_lasts(tree, one) for one in below)
        inside = any(
            isinstance(one, (ast.For, ast.While)) and one.lineno < line <= last_line(one)
            for one in walked(function)
        )
        return computed[0], not (lasts or inside or _decides(sides, below))
    return 0, True


def _decides(sides: List[Any], below: List[Any]) -> bool:
    """Whether what follows a branch reads what its sides set, or add to."""
    set_there: Set[str] = set()
    for one in sides:
        if isinstance(getattr(one, "ctx", None), ast.Store):
            set_there.add(path_of(container_of(one)))
        elif isinstance(one, ast.Call) and method_of(one) in GROWS | {"update", "setdefault"}:
            set_there.add(path_of(container_of(getattr(one.func, "value", None))))
    read = {path_of(one) for one in below if isinstance(getattr(one, "ctx", None), ast.Load)}
    given = {path_of(each) for one in below if isinstance(one, ast.Call) for each in one.args}
    whole = {one.partition(".")[0] for one in set_there - {""}}
    return bool(set_there & (read - {""}) or whole & given)


def _computes(node: ast.AST) -> bool:
    """Whether a node may compute with tensors: a call that neither shows nor keeps something, or an
    operator.
    """
    if isinstance(node, ast.Call):
        return not shows(node) and method_of(node) not in GROWS
    return isinstance(node, ast.BinOp)


def _lasts(tree: Any, node: Any) -> bool:
    """Whether a node changes what may live longer than the call: also a tensor in place."""
    if isinstance(node, ast.Call) and method_of(node).endswith("_"):
        return True
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    return stored and isinstance(node, (ast.Attribute, ast.Subscript)) or _is_kept(tree, node)


def _is_kept(tree: Any, node: Any) -> bool:
    """Whether a node changes a container or an attribute."""
    if isinstance(node, ast.Call):
        return method_of(node) in GROWS | {"update", "setdefault"}
    targets = list(node.targets) if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign):
        targets = [node.target]
        if path_of(container_of(node.target)).startswith("self.") and counts(tree, node.target):
            return False  # nothing is added for what is empty
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(node, ast.Assign):
            return True
        if isinstance(target, ast.Subscript):
            made = list(made_of(tree, target.value))
            if made and all(isinstance(one, CONTAINERS) or makes_dict(one) for one in made):
                return True
    return False


def asks_for_none(file: str, line: int) -> bool:
    """Whether a branch at a line asks whether there is anything at all; True where its source is
    not there.
    """
    tree = parsed(file) if file and line else None
    for node in nodes_at(tree, line):
        if isinstance(node, (ast.If, ast.IfExp)) and node.test.lineno == line:
            asked = [one for one in ast.walk(node.test) if isinstance(one, ast.Compare)]
            return all(any(map(_is_none, [one.left] + one.comparators)) for one in asked)
    return True


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def values_needed_in_sides(file: str, line: int) -> List[int]:
    """The lines in the sides of a branch at which torch breaks its graph where it traces them, too:
    those of `values_needed_in`, and those that set an element whose place argmax or argmin tells.
    """
    needed = set(values_needed_in(file, line))
    found = set()
    for node in _branches(file, line):
        for one in (each for side in node.body + node.orelse for each in ast.walk(side)):
            if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
                index = unwrapped(one.slice)
                if isinstance(index, ast.Call) and method_of(index) in ("argmax", "argmin"):
                    found.add(one.lineno)
        first, last = node.body[0].lineno, last_line(node)
        found |= {one for one in needed if first <= one <= last}
    return sorted(found)


def elements_choose(file: str, line: int, owner: str) -> bool:
    """Whether the function around a line goes through a list, and uses its elements as
    `only_chooses` says.
    """
    targets = [
        getattr(node.target, "id", "")
        for node in walked(read_at(file, line)[1])
        if isinstance(node, ast.For) and path_of(node.iter) == owner
    ]
    return bool(targets) and all(one and only_chooses(file, line, one) for one in targets)


def shows_at(file: str, line: int) -> bool:
    """Whether the branch of a line does nothing but print or log."""
    return any(
        isinstance(node, ast.If) and node.test.lineno == line and shows(node)
        for node in _branches(file, line)
    )


def acts_at(file: str, line: int) -> bool:
    """Whether a side of the branch at a line calls something for what it does, raises, or sets an
    attribute or an element, as torch.where cannot.
    """
    return any(
        isinstance(one, ast.Raise)
        or isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Call)
        or sets_part(one)
        for node in _branches(file, line)
        for side in node.body + node.orelse
        for one in ast.walk(side)
    )


def chooses_number(file: str, line: int) -> bool:
    """Whether what a line decides is only which whole number a call is given, or whether a call is
    given the number that is tested for 0: torch.where chooses between tensors.
    """
    tree = parsed(file) if file and line else None
    nodes = [one for one in nodes_at(tree, line) if getattr(one, "lineno", 0) == line]
    tests = [one for one in nodes if isinstance(one, (ast.If, ast.IfExp, ast.While, ast.Assert))]
    if len(tests) != 1:
        return False
    test: Any = tests[0]
    if isinstance(test, ast.IfExp):
        return _is_whole(test.body) and _is_whole(test.orelse) and _is_argument(nodes, test)
    named = path_of(test.test) if isinstance(test, ast.If) else ""
    given = [each for side in test.body for each in _given_in(side)] if named else []
    return any(path_of(each) == named for each in given)


def _is_whole(node: ast.expr) -> bool:
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and not isinstance(value, bool)


def _is_argument(nodes: List[Any], node: ast.expr) -> bool:
    """Whether an expression is an argument of a call among some nodes."""
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    return any(node in one.args or node in [each.value for each in one.keywords] for one in calls)


def _given_in(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement's calls are given."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            yield from node.args
            yield from (one.value for one in node.keywords)


def only_chooses(file: str, line: int, name: str) -> bool:
    """Whether the function around a line uses a value only to choose what is computed: it compares
    it with constants, or calls what a container has by it, as `self.heads[task](x)` does.
    """
    function = read_at(file, line)[1]
    above = {id(inner): node for node in walked(function) for inner in ast.iter_child_nodes(node)}
    chooses = False
    for node in walked(function):
        if path_of(node) != name or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        outer: Any = above.get(id(node))
        if type(outer).__name__ == "Index":  # up to 3.8
            outer = above.get(id(outer))
        further: Any = above.get(id(outer))
        if isinstance(outer, ast.Subscript) and outer.value is not node:
            if not isinstance(further, ast.Call) or further.func is not outer:
                return False
        elif isinstance(outer, ast.Compare):
            others = [one for one in [outer.left] + outer.comparators if one is not node]
            if not all(isinstance(one, (ast.Constant, ast.Tuple)) for one in others):
                return False
        elif isinstance(outer, (ast.Return, ast.Dict, ast.Tuple)):
            continue  # it is handed on as it is
        else:
            return False
        chooses = True
    return chooses
