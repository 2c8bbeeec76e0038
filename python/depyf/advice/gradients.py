"""What torch.where in place of a branch changes beside values: gradients, and which tensor is kept.

A program is only read: `carried` and `kept` name what its text shows.
"""

import ast
import re
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple

from depyf.advice import sides, uses
from depyf.advice.given import parameters_of

#: calls whose result carries no gradient of what they take
_CUT = frozenset(
    "detach zeros_like ones_like full_like empty_like rand_like randn_like new_zeros new_ones "
    "new_full new_empty new_tensor zeros ones full empty tensor arange eye linspace rand randn "
    "randint randperm argmax argmin argsort nonzero item tolist numel size dim bool int long "
    "len".split()
)
#: attributes of a tensor that carry none
_CUT_ATTRIBUTES = ("data", "shape", "dtype", "device", "grad")
#: what a function has that decides by itself which tensors carry gradients
_MODES = frozenset(
    "no_grad inference_mode enable_grad set_grad_enabled requires_grad requires_grad_".split()
)
#: calls that give a part, or another view, of the tensor itself
_VIEWS = frozenset(
    "view reshape flatten squeeze unsqueeze transpose permute contiguous expand detach t "
    "narrow select unbind split chunk float half double int long bool to".split()
)
_ASK_FOR_NAN = frozenset("isnan isinf isfinite isposinf isneginf".split())


def carried(function: Any, node: ast.AST, line: int) -> FrozenSet[str]:
    """The names of what the gradient of an expression reaches: empty where it has none.

    Args:
        function: the tree of the function around the expression.
        line: of the branch whose side it is.
    """
    loops = [one for one in uses.walked(function) if isinstance(one, (ast.For, ast.While))]
    again = any(one.lineno <= line <= uses.last_line(one) for one in loops)
    return frozenset(_carried(function, node, float("inf") if again else line, 9))


def _carried(function: Any, node: Any, line: float, deep: int) -> Set[str]:
    found: Set[str] = set()
    parts: List[Any] = []
    if isinstance(node, ast.Name):
        value = _made_once(function, node.id, line) if deep else None
        if value is not None:
            return _carried(function, value, line, deep - 1)
        return set() if node.id in sides.MODULES else {node.id}
    if isinstance(node, ast.Compare):
        return found
    if isinstance(node, ast.Attribute):
        return found if node.attr in _CUT_ATTRIBUTES else {uses.path_of(node) or "." + node.attr}
    if isinstance(node, ast.Subscript):
        parts = [node.value]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.Call):
        name = uses.method_of(node) or getattr(node.func, "id", "")
        if name == "float" and isinstance(node.func, ast.Name):
            return found
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        made_with_one = any(one.arg == "requires_grad" for one in node.keywords)
        if (name in _CUT or name in sides.TESTS) and not made_with_one:
            return found
        is_module = isinstance(of, ast.Name) and of.id in sides.MODULES
        given = list(node.args)[is_module and name == "where" :]
        parts = given + [one.value for one in node.keywords]
        if made_with_one or not is_module and name not in sides.KNOWN:
            found.add((uses.path_of(node.func) or name) + "()")  # it may have parameters
        elif of is not None and not is_module:
            parts.append(of)
    elif not isinstance(node, ast.Constant):
        parts = list(ast.iter_child_nodes(node))
    for one in parts:
        if isinstance(one, ast.expr):
            found |= _carried(function, one, line, deep)
    return found


def _made_once(function: Any, name: str, line: float) -> Optional[ast.expr]:
    """What a function assigns to a name that it sets at one place before a line and changes
    nowhere, of what is known to carry gradients on or not; else None.
    """
    given = parameters_of(function)
    assigned = _only_assigned(function, name, line) if not _has_modes(function) else None
    if assigned is None:
        return None
    value: ast.expr = assigned.value
    if name in given and (assigned not in function.body or line == float("inf")):
        return None  # it may be what was given
    for node in uses.walked(value):
        if isinstance(node, ast.Call):
            called = uses.method_of(node)
            if called not in sides.KNOWN and called not in _CUT and called not in sides.TESTS:
                return None
        elif isinstance(node, ast.Name) and node.id not in sides.MODULES:
            most = 0 if node.id in given else 1
            if len(_stores(function, node.id, line)) > most or _changed(function, node.id, 0):
                return None
    return value


def _has_modes(function: Any) -> bool:
    for one in uses.walked(function):  # no generator, which is a call for each node
        if getattr(one, "attr", getattr(one, "id", getattr(one, "arg", ""))) in _MODES:
            return True
    return False


def _stores(function: Any, name: str, before: float) -> List[Any]:
    nodes = [one for one in uses.walked(function) if isinstance(one, ast.Name) and one.id == name]
    return [one for one in nodes if one.lineno < before and not isinstance(one.ctx, ast.Load)]


def _only_assigned(function: Any, name: str, line: float) -> Any:
    """The one assignment to a name before a line, which nothing changes in place; else None."""
    stored = _stores(function, name, line)
    if len(stored) == 1 and not _changed(function, name, 0):
        for node in uses.walked(function):
            if isinstance(node, ast.Assign) and node.targets == stored:
                return node
    return None


def _changed(function: Any, name: str, behind: int) -> bool:
    """Whether a function changes in place what has a name, on a line behind another."""
    for node in uses.walked(function):
        if getattr(node, "lineno", 0) <= behind:
            continue
        if isinstance(node, ast.Call) and uses.method_of(node).endswith("_"):
            if _root(node.func) == name:
                return True
        elif isinstance(node, ast.AugAssign) and _root(node.target) == name:
            return True
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load) and _root(node) == name:
                return True
    return False


def _root(node: Any) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return str(getattr(node, "id", ""))


def changed_behind(function: Any, node: Any, name: str) -> bool:
    """Whether a function may change in place what a branch gives a name: that name, or anything by
    a method or an argument for it.
    """
    loops = [one for one in uses.walked(function) if isinstance(one, (ast.For, ast.While))]
    inside = any(one.lineno <= node.lineno <= uses.last_line(one) for one in loops)
    behind = 0 if inside else uses.last_line(node)
    if name and _changed(function, name, behind):
        return True
    calls = [one for one in uses.walked(function) if isinstance(one, ast.Call)]
    return any(
        uses.method_of(one).endswith("_")
        or any(each.arg in ("inplace", "out") for each in one.keywords)
        for one in calls
        if one.lineno > behind
    )


def asks_for_nan(function: Any, test: ast.AST, deep: int = 3) -> bool:
    """Whether a condition asks for NaN or infinite values."""
    for node in uses.walked(test):
        if isinstance(node, ast.Call):
            name = uses.method_of(node) or getattr(node.func, "id", "")
            text = node.args[0] if name == "float" and node.args else None
            if name in _ASK_FOR_NAN or isinstance(getattr(text, "value", None), str):
                return True
        elif isinstance(node, ast.Compare):
            if ast.dump(node.left) == ast.dump(node.comparators[0]):
                return True
        elif getattr(node, "attr", getattr(node, "id", "")) in ("inf", "nan"):
            return True
        if isinstance(node, ast.Name) and deep:
            values = sides.assigned_to(function, node.id)
            if any(_is_answer(one) and asks_for_nan(function, one, deep - 1) for one in values):
                return True
    return False


def _is_answer(node: Any) -> bool:
    """Whether an expression is the answer of a test, or how often it holds."""
    while isinstance(node, ast.Call) and uses.method_of(node) in ("any", "all", "sum", "item"):
        node = node.func.value  # type: ignore[attr-defined]
        if isinstance(node, ast.Name) and node.id in sides.MODULES:
            return True
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.BoolOp)):
        return any(map(_is_answer, ast.iter_child_nodes(node)))
    called = uses.method_of(node) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Compare) or called in _ASK_FOR_NAN


def kept(function: Any, node: Any, line: int, deep: int = 3) -> Optional[bool]:
    """Whether an expression is a tensor as it was before a line, which something outside of the
    function may hold: an argument, an attribute, an element, or a view of one. None where that is
    not known.
    """
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return True
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant)):
        return False
    if isinstance(node, ast.Call):
        name = uses.method_of(node)
        if name in _VIEWS and isinstance(node.func, ast.Attribute):
            return kept(function, node.func.value, line, deep) if deep else None
        return False if name in sides.KNOWN or name in _CUT else None
    if not isinstance(node, ast.Name) or not deep:
        return None
    stored = _stores(function, node.id, line)
    is_given = node.id in parameters_of(function)
    if not stored:
        return True if is_given else None
    values: List[Any] = []
    for one in uses.walked(function):
        if isinstance(one, ast.Assign) and any(each in stored for each in one.targets):
            values.append(one)
        elif isinstance(one, ast.For) and one.target in stored:
            return True
    sure = [one for one in values if one in function.body]
    if sure:
        first = max(one.lineno for one in sure)
        values, is_given = [one for one in values if one.lineno >= first], False
    found = [kept(function, one.value, one.lineno, deep - 1) for one in values]
    if is_given or True in found:
        return True
    return None if None in found or not found else False


def is_off(function: Any, line: int, *chosen: Any) -> Optional[bool]:
    """Whether what is chosen at a line requires no gradient, as the function around it turns them
    off; None where it does, and a tensor that was made before keeps its own.
    """
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in uses.walked(function)}
    whole = any(map(_turns_off, function.decorator_list))
    blocks = [one for one in uses.walked(function) if isinstance(one, ast.With)]
    around = any(
        node.lineno < line <= uses.last_line(node)
        and any(_turns_off(one.context_expr) for one in node.items)
        for node in blocks
    )
    if not whole and not around:
        return False
    if names & {"enable_grad", "set_grad_enabled", "requires_grad", "requires_grad_"}:
        return None
    computed = [
        not isinstance(one, (ast.Name, ast.Attribute, ast.Subscript))
        or whole
        and kept(function, one, line) is False
        for one in chosen
    ]
    return True if all(computed) else None


def _turns_off(node: Any) -> bool:
    """Whether an expression is torch.no_grad() or torch.inference_mode()."""
    if isinstance(node, ast.Call):
        if node.args or node.keywords:
            return False  # inference_mode(False)
        node = node.func
    return getattr(node, "attr", "") in ("no_grad", "inference_mode")


#: what a branch chooses: (its statement, one expression, the other)
Chosen = Tuple[Any, Any, Any]


def chosen_at(file: str, line: int) -> Tuple[Any, List[Chosen]]:
    """(function, what its branch at a line chooses between), for names that a side sets, and for
    what both sides return.
    """
    tree = uses.parsed(file) if file and line else None
    nodes = uses.nodes_at(tree, line)
    around = [one for one in nodes if isinstance(one, uses.SCOPES)]
    found: List[Chosen] = []
    for outer in nodes:
        if isinstance(outer, ast.IfExp) and outer.lineno <= line <= uses.last_line(outer):
            found.append((outer, outer.body, outer.orelse))
        for field in ("body", "orelse", "finalbody"):
            value: Any = getattr(outer, field, None)
            body: List[Any] = value if isinstance(value, list) else []
            for at, node in enumerate(body):
                if isinstance(node, ast.If) and node.test.lineno <= line:
                    if line <= uses.last_line(node.test):
                        found += _chosen(node, body[at + 1 : at + 2])
    return (max(around, key=lambda one: one.lineno) if around else None), found


def gradients_differ(function: Any, node: Any, one: Any, other: Any) -> bool:
    """Whether a side of a branch carries a gradient that the other does not, for certain: one has
    none, or calls what may have parameters, or computes with a tensor alone.
    """
    lists = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda, ast.List)
    if any(isinstance(each, lists) for side in (one, other) for each in uses.walked(side)):
        return False
    if is_off(function, node.lineno) is not False:
        return False
    carries, others = (carried(function, side, node.lineno) for side in (one, other))
    tensors = sides.tensors_of(function)
    if any(re.match(r"self\..*\(\)$", one) for one in carries ^ others):
        return True
    if not (carries and others):
        of_both = {
            each.id for side in (one, other) for each in uses.walked(side) if hasattr(each, "id")
        }
        return bool(carries or others) and bool(of_both & tensors or _has_dot(carries | others))
    given = {each for each in parameters_of(function) if not _stores(function, each, node.lineno)}
    return carries | others <= given and bool((carries ^ others) & tensors)


def _has_dot(names: FrozenSet[str]) -> bool:
    return any("." in one for one in names)


def _chosen(node: Any, following: List[Any]) -> List[Chosen]:
    then, other = _set_in(node.body), _set_in(node.orelse)
    if "return" in then:
        behind = other if node.orelse else _set_in(following)
        return [(node, then["return"], behind["return"])] if "return" in behind else []
    unset = {name: ast.Name(name, ast.Load()) for name in {**then, **other}}
    return [
        (node, then.get(name, unset[name]), other.get(name, unset[name])) for name in sorted(unset)
    ]


def _set_in(body: List[Any]) -> Dict[str, Any]:
    """What a side gives to names, and returns, as "return"."""
    found: Dict[str, Any] = {}
    for one in body:
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            if isinstance(one.targets[0], ast.Name):
                found[one.targets[0].id] = one.value
        elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            before = found.get(one.target.id, ast.Name(one.target.id, ast.Load()))
            found[one.target.id] = ast.BinOp(before, one.op, one.value)
        elif isinstance(one, ast.Return) and one.value is not None:
            found["return"] = one.value
    return found
