"""Whether torch.where can take the place of a branch and change nothing: it computes both sides.

A program is only read, so what cannot be told from its text counts as unsafe.
"""

import ast
from typing import Any, Iterator, Optional, Set, Tuple

from depyf.advice import uses

#: operators whose result has the shape of what they take, and which are finite where that is; so
#: the side that is not chosen makes no NaN in a gradient
_ELEMENTWISE = frozenset(
    "abs neg sin cos tanh sigmoid relu clamp clamp_min clamp_max clone detach square erf floor "
    "ceil round sign nan_to_num zeros_like ones_like where maximum minimum".split()
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult)
#: functions whose result is a tensor of bool
TESTS = frozenset(
    "any all isnan isinf isfinite logical_and logical_or logical_not lt le gt ge eq ne".split()
)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def condition_of(function: Any, test: ast.expr) -> Optional[Tuple[ast.expr, bool]]:
    """(the part of a branch's test that torch.where takes as its condition, whether the sides
    change places), or None: `not` is for Python, `and` and `or` are too, and a number is no
    condition.

    Args:
        function: the tree of the function around the branch.
        test: what the branch asks, a tensor.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return (test.operand, True) if _is_bool(function, test.operand) else None
    return (test, False) if _is_bool(function, test) else None


def _is_bool(function: Any, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        made = list(assigned_to(function, node.id))
        return bool(made) and all(_is_bool(function, one) for one in made if one is not node)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], _ORDER)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return _is_bool(function, node.left) and _is_bool(function, node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _is_bool(function, node.operand)
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in TESTS


def are_plain(function: Any, *sides: ast.expr) -> bool:
    """Whether two sides are tensors, by how the function uses their names, and do nothing but
    compute: no calls that might do more, no other shapes, nothing that can fail or be infinite.
    """
    tensors = tensors_of(function)
    return all(_is_plain(one) and _names(one) & tensors for one in sides)


#: operators that make floats of integers, or keep a dtype of floats
_OF_FLOATS = frozenset(
    "sin cos tanh sigmoid erf exp log sqrt sum mean amax amin norm view reshape flatten squeeze "
    "unsqueeze transpose permute contiguous expand softmax".split()
)

#: operators of which what they do to a gradient is known
KNOWN = _ELEMENTWISE | _OF_FLOATS
#: arguments of operators that only compute: `inplace` and `out` change a tensor
_KEYWORDS = frozenset("min max input other".split())
#: attributes of a tensor that have another shape, dtype or gradient
_OF_TENSORS = frozenset(
    "data grad T mT H mH real imag shape dtype device ndim is_leaf requires_grad".split()
)


def have_one_dtype(function: Any, is_float: bool, *sides: ast.expr) -> bool:
    """Whether the sides have the same dtype for certain, as far as the text of a function tells.

    Args:
        function: the tree of the function around the sides.
        is_float: whether all tensors that come from outside have one dtype, of floats.
        sides: expressions of the same place, plain ones.
    """
    made_of = [_dtypes(function, one) for one in sides]
    if is_float:
        outer = {name for name in bound(function) if not list(assigned_to(function, name))}
        for names in made_of:
            from_outside = {one for one in names if one in outer or "." in one}
            names -= from_outside | {"float"}
            names |= {"float"} if from_outside else set()
    return all(one and one == made_of[0] for one in made_of)


def _dtypes(function: Any, node: ast.AST) -> Set[str]:
    """What decides an expression's dtype: names whose values have a dtype of their own, and "float"
    for what makes floats of integers.
    """
    if isinstance(node, ast.Constant):
        return {"float"} if isinstance(node.value, float) else set()
    if isinstance(node, ast.Attribute):
        return {"." + node.attr}
    if isinstance(node, ast.Name):
        return _dtypes_of_name(function, node.id)
    if isinstance(node, ast.UnaryOp):
        return _dtypes(function, node.operand)
    if isinstance(node, ast.BinOp):
        divided = {"float"} if isinstance(node.op, ast.Div) else set()
        return _dtypes(function, node.left) | _dtypes(function, node.right) | divided
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found = {"float"} if node.func.attr in _OF_FLOATS else set()
        for one in [node.func.value] + list(node.args) + [each.value for each in node.keywords]:
            found |= _dtypes(function, one)
        return found
    return set()


def _dtypes_of_name(function: Any, name: str) -> Set[str]:
    """Those of what the function assigns to a name once, of names that it assigns nothing to; else
    the name itself.
    """
    if name in MODULES:
        return set()
    made = list(assigned_to(function, name))
    if len(made) == 1 and _keeps_dtype(made[0]):
        used = _names(made[0]) - set(MODULES)
        if not any(True for one in used for _ in assigned_to(function, one)):
            return _dtypes(function, made[0])
    return {name}


def _keeps_dtype(node: ast.AST) -> bool:
    if isinstance(node, (ast.Name, ast.Constant)):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and _keeps_dtype(node.operand)
    if isinstance(node, ast.BinOp):
        known = isinstance(node.op, _OPERATORS + (ast.Div, ast.MatMult, ast.Pow))
        return known and _keeps_dtype(node.left) and _keeps_dtype(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        known = node.func.attr in _ELEMENTWISE or node.func.attr in _OF_FLOATS
        return known and all(map(_keeps_dtype, [node.func.value] + list(node.args)))
    return False


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Attribute):
        return node.attr not in _OF_TENSORS and _is_plain(node.value)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and _is_plain(node.operand)
    if isinstance(node, ast.BinOp):
        divides = isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant)
        nothing = divides and not getattr(node.right, "value", 0)
        known = isinstance(node.op, _OPERATORS) or divides and not nothing
        return known and _is_plain(node.left) and _is_plain(node.right)
    if isinstance(node, ast.Call):
        given = list(node.args) + [one.value for one in node.keywords]
        return (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _ELEMENTWISE
            and getattr(node.func.value, "id", "") != "self"  # a module of that name
            and all(one.arg in _KEYWORDS for one in node.keywords)
            and _is_plain(node.func.value)
            and all(map(_is_plain, given))
        )
    return False


#: modules of torch's functions, as programs name them
MODULES = ("torch", "th", "F", "nn", "np", "numpy", "math")


def tensors_of(function: Any) -> Set[str]:
    """The names of a function that are tensors: it calls a method of them, hands them to a function
    of torch, says so in an annotation, or computes them from such.
    """
    found: Set[str] = set()
    for node in uses.walked(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if isinstance(of, ast.Name) and of.id in MODULES:
                found |= {one.id for one in node.args if isinstance(one, ast.Name)}
            elif isinstance(of, ast.Name) and of.id != "self":
                found.add(of.id)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            annotation = node.annotation
            if getattr(annotation, "attr", getattr(annotation, "id", "")) == "Tensor":
                found.add(node.arg)
    numbers = {name for name in bound(function) if _is_counted(function, name)}
    for _ in range(3):
        for name in bound(function) - found:
            if any(_names(one) & found and _is_plain(one) for one in assigned_to(function, name)):
                found.add(name)
    return found - set(MODULES) - numbers


def _is_counted(function: Any, name: str) -> bool:
    """Whether a name is bound to a number somewhere."""
    given = function.args
    defaults = list(zip((given.args)[::-1], given.defaults[::-1]))
    defaults += [(one, value) for one, value in zip(given.kwonlyargs, given.kw_defaults) if value]
    made = [value for one, value in defaults if one.arg == name]
    made += assigned_to(function, name)
    return any(isinstance(one, ast.Constant) and one.value is not None for one in made)


def bound(function: Any, before: float = float("inf")) -> Set[str]:
    """The parameters of a function, and what it assigns on the lines before line `before`."""
    arguments = function.args
    found = {one.arg for one in arguments.args + arguments.kwonlyargs}
    for node in uses.walked(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.lineno < before:
                found.add(node.id)
    return found


def assigned_to(function: Any, name: str) -> Iterator[ast.expr]:
    """What a function assigns to a name by itself."""
    for node in uses.walked(function):
        if isinstance(node, ast.Assign):
            if any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
                yield node.value


def _names(node: ast.AST) -> Set[str]:
    return {one.id for one in uses.walked(node) if isinstance(one, ast.Name)}
