"""`torch.where` in place of a branch."""

import ast
from typing import AbstractSet, Any, List, Optional

from depyf.advice import gradients, sides, uses
from depyf.advise.source import bodies, lines_of, segment


def with_where(
    source: str,
    tree: ast.Module,
    line: int,
    is_float: bool,
    of_item: bool = False,
    without: AbstractSet[str] = frozenset(),
) -> Optional[str]:
    """`if C: t = a` as `t = torch.where(C, a, t)`; with `else: t = b`, or two returns, likewise.

    Args:
        of_item: whether the condition compares the .item() of a tensor, which is then left out.
        without: the names of what is known to require no gradient.
    """
    for body in bodies(tree, line):
        for index, node in enumerate(body):
            if isinstance(node, ast.If) and node.lineno == line and hasattr(node, "end_lineno"):
                following = body[index + 1] if index + 1 < len(body) else None
                made = _where_of(source, tree, node, following, is_float, without)
                return made if not of_item or made is None else _without_item(source, made, node)
    return None


def _without_item(source: str, made: str, node: Any) -> Optional[str]:
    """A changed source without the .item() of the name that its new condition compares; None where
    that is not a part of each side, as only then it has the shape of the result.
    """
    asked = _asked_item(node.test)
    chosen = [one.value for one in node.body + node.orelse if hasattr(one, "value")]
    of_sides = [{one.id for one in ast.walk(each) if isinstance(one, ast.Name)} for each in chosen]
    lines = list(lines_of(made))
    at = node.lineno - 1
    found = "where(%s.item() " % asked
    if not asked or found not in lines[at] or not all(asked in names for names in of_sides):
        return None
    lines[at] = lines[at].replace(found, "where(%s " % asked, 1)
    return "".join(lines) if ".item()" not in lines[at] else None


def _asked_item(test: ast.expr) -> str:
    """The name whose .item() is on the left of a comparison; "" for none."""
    left = test.left if isinstance(test, ast.Compare) else None
    if isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute) and not left.args:
        return getattr(left.func.value, "id", "") if left.func.attr == "item" else ""
    return ""


def _function_around(tree: ast.Module, node: Any) -> Any:
    """The innermost function around a statement, or None."""
    nodes = uses.nodes_at(tree, node.lineno)
    around = [one for one in nodes if isinstance(one, uses.SCOPES) and one.lineno <= node.lineno]
    return max(around, key=lambda one: one.lineno) if around else None


def _carries_the_same(
    function: Any, node: Any, chosen: List[Any], without: AbstractSet[str]
) -> bool:
    """Whether the result of a branch has a gradient, and what it reaches has one, whichever side is
    chosen: of torch.where, both are reached, by zeros where a side is not chosen.
    """
    carried = [gradients.carried(function, one, node.lineno) for one in chosen]
    is_off = gradients.is_off(function, node.lineno, *chosen)
    if is_off or is_off is None and (carried[0] | carried[1]) - without:
        return bool(is_off)
    if (carried[0] ^ carried[1]) - without:
        return False
    # zeros times infinity are NaN in what made the side that is not chosen
    return not (carried[0] - without) or not gradients.asks_for_nan(function, node.test)


def _where_of(
    source: str,
    tree: ast.Module,
    node: Any,
    following: Any,
    is_float: bool,
    without: AbstractSet[str],
) -> Optional[str]:
    if len(node.body) != 1 or len(node.orelse) > 1:
        return None
    function = _function_around(tree, node)
    asked = sides.condition_of(function, node.test) if function is not None else None
    if asked is None:
        return None
    then, last = node.body[0], node.end_lineno
    chosen: List[Any] = []
    begin = ""
    if isinstance(then, ast.Assign) and len(then.targets) == 1:
        target = then.targets[0]
        if not isinstance(target, ast.Name):
            return None
        begin = target.id + " = "
        if not node.orelse:  # the name must have a value before
            known = target.id in sides.bound(function, node.lineno)
            chosen = [then.value, target] if known else []
        else:
            other = node.orelse[0]
            same = (
                isinstance(other, ast.Assign)
                and len(other.targets) == 1
                and isinstance(other.targets[0], ast.Name)
                and other.targets[0].id == target.id
            )
            chosen = [then.value, other.value] if same else []
    elif isinstance(then, ast.Return):
        other = node.orelse[0] if node.orelse else following
        if isinstance(other, ast.Return):
            chosen = [then.value, other.value]
            begin, last = "return ", other.end_lineno
    if not chosen or not all(chosen) or not sides.are_plain(function, *chosen):
        return None
    if not sides.have_one_dtype(function, is_float, *chosen):
        return None  # torch.where would give the dtype that holds both
    if not _carries_the_same(function, node, chosen, without):
        return None
    name = begin.partition(" = ")[0] if " = " in begin else ""
    held = [gradients.kept(function, one, node.lineno) is not False for one in chosen]
    if any(held) and gradients.changed_behind(function, node, name):
        return None  # the change would reach another tensor
    condition, swapped = asked
    parts = [segment(source, one) for one in [condition] + chosen[:: -1 if swapped else 1]]
    lines = list(lines_of(source))
    written = "%s%storch.where(%s)\n" % (" " * node.col_offset, begin, ", ".join(map(str, parts)))
    return "".join(lines[: node.lineno - 1] + [written] + lines[last:])
