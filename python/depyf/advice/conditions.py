"""Conditions on numbers, as the guards of a compile state them: the expressions that they test, and
whether a number fulfils them. Nothing of them is run: they are read as arithmetic.
"""

import ast
import re
from typing import Any, Callable, Dict, List, Optional, Pattern, Set, Tuple

from depyf import compiling

_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_OPERATOR = re.compile(r"//|[%*/]|\s[-+]\s|^-\w|\(-\w|\b(Mod|PythonMod|FloorDiv|Max|Min)\(")
_MOST = 2**62  # numbers of a guard are of 64 bits


def is_computed(name: str) -> bool:
    """Whether what a guard asks for is computed from a value, as `(n % 3)` is."""
    return bool(_OPERATOR.search(_TEXT.sub("", name)))


def holds(condition: str, name: str, value: str) -> Optional[bool]:
    """Whether a condition of a guard holds where a name has a value; None where the condition asks
    for anything else, too.

    Args:
        condition: such as "(n % 3) == 0".
        name: such as "n" or "s.n".
        value: a number as text.
    """
    text, count = _named(name).subn("(%s)" % value, condition)
    if not count:
        return None
    try:
        found = _value(compiling.places_of(text.strip()).body[0])
    except (ArithmeticError, IndexError, SyntaxError, TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, bool) else None


def asks_of(condition: str, name: str) -> bool:
    """Whether a guard is a condition on what has a name, perhaps on other things, too."""
    if re.match(r"___(?!stack\d)", condition) or not _named(name).search(condition):
        return False
    return bool(re.search(r"\s(==|!=|<=?|>=?)\s", condition))


#: what has a value, with its attributes and elements, and is not called
_NAME = re.compile(r"(?<![\w.\])])[A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*(?![\w(.\[])")


def names(condition: str) -> Set[str]:
    """What a condition of a guard is on: {"norm.count"} of "(1.0 + norm.count) == 2.5"."""
    return set(_NAME.findall(condition)) - {"and", "or", "not"}


#: what a condition compares, how, and with what
Comparison = Tuple[str, str, str]
_OPERATORS = re.compile(r"\s(==|!=|<=|<|>=|>)\s")
_JOINED = re.compile(r"\b(and|or|not|if|is|in)\b|['\"]")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def comparisons(condition: str) -> List[Comparison]:
    """The comparisons of a condition, with a number on the right side where one side is a number:
    ("n", ">=", "2") and ("n", "<=", "5") of "2 <= n <= 5"; none of what joins conditions.
    """
    parts = _OPERATORS.split(condition.strip())
    if _JOINED.search(condition):
        return []
    found = []
    for at in range(0, len(parts) - 2, 2):
        left, how, right = parts[at : at + 3]
        turned = _number(left) is not None
        found.append((right, _TURNED[how], left) if turned else (left, how, right))
    return found


def exclude(one: Comparison, other: Comparison) -> bool:
    """Whether no value fulfils two comparisons."""
    a, b = _number(one[2]), _number(other[2])
    if one[0] != other[0] or None in (a, b) and one[2] != other[2]:
        return False
    if a is None or b is None:
        a = b = 0.0  # both are compared with the same
    for how, value, against, bound in ((one[1], a, other[1], b), (other[1], b, one[1], a)):
        if how == "==" and not _COMPARE[_NODES[against]](value, bound):
            return True
        if how in ("<", "<=") and against in (">", ">="):
            return value < bound or value == bound and (how, against) != ("<=", ">=")
    return False


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _named(name: str) -> Pattern[str]:
    return re.compile(r"(?<![\w.\]])%s(?![\w.\[])" % re.escape(name))


_COMPUTE: Dict[Any, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Mod: lambda a, b: a % b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a / b,
}
_COMPARE: Dict[Any, Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
_NODES = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
#: sympy's functions of two numbers
_CALLS: Dict[str, Callable[[Any, Any], Any]] = {
    "Mod": _COMPUTE[ast.Mod],
    "PythonMod": _COMPUTE[ast.Mod],
    "FloorDiv": _COMPUTE[ast.FloorDiv],
    "Max": max,
    "Min": min,
    "Eq": _COMPARE[ast.Eq],
    "Ne": _COMPARE[ast.NotEq],
}


def _value(node: Any) -> Any:
    """The value of an expression of numbers; ValueError for all else."""
    if isinstance(node, ast.Expr):
        return _value(node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTE:
        found = _COMPUTE[type(node.op)](_value(node.left), _value(node.right))
        if abs(found) < _MOST:
            return found
    if isinstance(node, ast.BoolOp):
        # all of them: one that is not known leaves the whole unknown
        found = [bool(_value(one)) for one in node.values]
        return all(found) if isinstance(node.op, ast.And) else any(found)
    if isinstance(node, ast.Compare) and all(type(one) in _COMPARE for one in node.ops):
        given = [_value(one) for one in [node.left] + node.comparators]
        pairs = zip(node.ops, given, given[1:])
        return all(_COMPARE[type(op)](left, right) for op, left, right in pairs)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
        if node.func.id in _CALLS and not node.keywords:
            return _CALLS[node.func.id](*map(_value, node.args))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id in ("max", "min") and len(node.args) > 1:
            return (max if node.func.id == "max" else min)(map(_value, node.args))
    raise ValueError("not a number")
