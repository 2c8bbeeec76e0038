"""Functions of Python's math in a program: which number a line gives one."""

import ast
from typing import Any, FrozenSet, Iterator, Optional, Sequence, Set, Tuple

from depyf.advice.uses.following import where_used
from depyf.advice.uses.names import assigned, names_in, of_module, path_of, unwrapped
from depyf.advice.uses.trees import function_around, last_line, parsed, read_at, walked

#: functions of math that torch computes in its graph of a number which it does not know yet
_SYMBOLIC = frozenset(
    "acos asin atan ceil cos cosh floor log2 prod radians sin sinh sqrt tan tanh trunc".split()
)
#: and those that it does not, and has for tensors under the same name
_OF_TENSORS = frozenset(
    "acosh asinh atanh erf erfc exp exp2 expm1 isfinite isinf isnan lgamma log log10 log1p".split()
)


def given_to_math_at(file: str, line: int) -> int:
    """The line that gives a function of math, which torch does not compute in its graph, the Python
    number that a line makes of a tensor; 0 where there is none, or the source is not there.
    """
    return where_used(file, line, _needs)


def math_called_at(file: str, line: int) -> Tuple[str, str]:
    """(such a function of math that a line calls, torch's for tensors or "")."""
    tree = parsed(file)
    for name, _ in _calls(tree, function_around(file, line)):
        if name[1] <= line <= name[2]:
            own = name[0].rpartition(".")[2]
            return name[0], "torch." + own if own in _OF_TENSORS else ""
    return "", ""


def _needs(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    for _, call in _calls(tree, node) if isinstance(node, ast.Call) else ():
        yield from call.args


def _calls(tree: Any, node: Any) -> Iterator[Tuple[Tuple[str, int, int], ast.Call]]:
    """((function, first and last line), call) of such functions of math in a node."""
    every: Sequence[Any] = [node] if isinstance(node, ast.Call) else walked(node)
    for one in every if tree is not None else ():
        called = path_of(one.func) if isinstance(one, ast.Call) else ""
        if of_module(tree, called).startswith("math."):
            if called.rpartition(".")[2] not in _SYMBOLIC:
                yield (called, one.lineno, last_line(one)), one


def computed_of(file: str, line: int) -> Optional[Set[str]]:
    """The parameters of which a line, with what it names of the function, computes the numbers that
    it gives such functions; None where they come from anything else that the function does.
    """
    tree, function = read_at(file, line)
    calls = [call for at, call in _calls(tree, function) if at[1] <= line <= at[2]]
    if function is None or not calls:
        return set()
    known: Set[str] = set()
    for call in calls:
        if not all(_comes_from(tree, function, one, known, frozenset()) for one in call.args):
            return None
    return known


#: expressions that compute of what they are made of alone
_OF_PARTS = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.List, ast.Tuple, ast.UnaryOp)
#: functions that make numbers of numbers, and methods that tell one of a tensor
_OF_NUMBERS = frozenset("abs float int len max min pow round sum".split())
_TELL = frozenset("dim item numel size".split())


def _comes_from(
    tree: Any, function: Any, node: Any, known: Set[str], within: FrozenSet[str]
) -> bool:
    """Whether an expression is made of parameters, of attributes and globals that the function does
    not assign, and of constants; the parameters are added to `known`.

    Args:
        within: the names whose values are looked at.
    """

    def comes(one: Any) -> bool:
        return _comes_from(tree, function, one, known, within)

    if isinstance(node, ast.Call):
        of_math = of_module(tree, path_of(node.func)).startswith("math.")
        if of_math or getattr(node.func, "id", "") in _OF_NUMBERS:
            return all(map(comes, node.args))
        owner = getattr(node.func, "value", None)
        named = isinstance(owner, (ast.Name, ast.Attribute, ast.Subscript))
        tells = getattr(node.func, "attr", "") in _TELL
        return named and tells and all(map(comes, [owner] + list(node.args)))
    if isinstance(node, ast.Subscript):
        return comes(node.value) and comes(unwrapped(node.slice))
    if isinstance(node, _OF_PARTS):
        inner = ast.iter_child_nodes(node)
        return all(comes(one) for one in inner if isinstance(one, ast.expr))
    path = path_of(node)
    if not path:
        return isinstance(node, ast.Constant)
    root = path.partition(".")[0]
    is_given = root in _parameters(function)
    if path in within or root in within:
        return is_given  # it is computed from what it was
    for one in walked(function):
        if _stores(one) & {path, root}:
            value = getattr(one, "value", None)
            if value is None or not _comes_from(tree, function, value, known, within | {path}):
                return False
    known |= {root} if is_given and root != "self" else set()
    return True


def _stores(node: Any) -> Set[str]:
    """The names that a statement, a loop, a `with` or a `:=` assigns."""
    if isinstance(node, ast.withitem):
        return names_in(node.optional_vars) if node.optional_vars is not None else set()
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
        return assigned(node)
    own = isinstance(node, ast.comprehension) or type(node).__name__ == "NamedExpr"
    return names_in(node.target) if own else set()


def _parameters(function: Any) -> Set[str]:
    return {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
