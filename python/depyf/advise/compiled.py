"""Which torch.compile of a program makes which of its functions."""

import ast
from typing import Any, Dict, List, Optional, Set

from depyf.advice import uses
from depyf.advise.source import functions_of


def is_torch_compile(node: ast.AST, names: Set[str]) -> bool:
    """Whether a decorator or call is of torch.compile, of a module's `compile`, or of one of the
    names that the program has for torch.compile.
    """
    name = node.func if isinstance(node, ast.Call) else node
    return uses.is_compile(name) or uses.path_of(name) in names


def compilers(tree: ast.Module) -> Set[str]:
    """The names that a program has for torch.compile, or for a `functools.partial` of it."""
    partial, found = {"partial", "functools.partial"}, {"torch.compile"}
    for node in uses.walked(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                name = one.asname or one.name
                found |= {name + ".compile"} if one.name == "torch" else set()
                partial |= {name + ".partial"} if one.name == "functools" else set()
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                if (node.module, one.name) == ("torch", "compile"):
                    found.add(one.asname or one.name)
                elif (node.module, one.name) == ("functools", "partial"):
                    partial.add(one.asname or one.name)
    for node in uses.walked(tree):
        if isinstance(node, ast.Assign):
            value: Any = node.value
            if isinstance(value, ast.Call) and uses.path_of(value.func) in partial and value.args:
                value = value.args[0]
            if uses.path_of(value) in found:
                found |= {uses.path_of(one) for one in node.targets} - {""}
    return found


def calls_of_compiled(
    tree: ast.Module, function: Any, owner: Optional[ast.ClassDef]
) -> List[ast.Call]:
    """The calls of a function that is compiled by its decorator, or by the name that the result of
    its torch.compile has.
    """
    names = compilers(tree)
    called = set()
    if owner is None and any(is_torch_compile(one, names) for one in function.decorator_list):
        called.add(function.name)
    made = _calls_with(tree, function.name, owner.name if owner is not None else "", names)
    for node in uses.walked(tree):
        if isinstance(node, ast.Assign) and len(made) == 1 and node.value is made[0]:
            called |= {uses.path_of(one) for one in node.targets} - {""}
    return [
        node
        for node in uses.walked(tree)
        if isinstance(node, ast.Call) and uses.path_of(node.func) in called
    ]


def made_for(tree: ast.Module, line: int, calls: List[ast.Call]) -> List[ast.Call]:
    """Those of some calls whose results have the name of what a line calls."""
    called = {
        uses.path_of(node.func)
        for node in uses.walked(tree)
        if isinstance(node, ast.Call) and node.lineno == line
    }
    return [
        node.value
        for node in uses.walked(tree)
        if isinstance(node, ast.Assign)
        and node.value in calls
        and any(uses.path_of(target) in called - {""} for target in node.targets)
        and isinstance(node.value, ast.Call)
    ]


def compiles_of(tree: ast.Module, line: int) -> List[ast.AST]:
    """Each torch.compile of the function at a line, as all of them share its compiles: its
    decorator, or calls with its name, with objects of its class, with one of its methods, or with
    what the function around it returns.
    """
    names = compilers(tree)
    for node, owner in functions_of(tree):
        if uses.first_line(node) <= line <= node.lineno:
            decorators = node.decorator_list + (owner.decorator_list if owner is not None else [])
            found = [one for one in decorators if is_torch_compile(one, names)]
            owned = owner.name if owner is not None else ""
            maker = _maker_of(tree, node)
            return found[:1] or list(_calls_with(tree, node.name, owned, names, maker))
    return []


def _maker_of(tree: ast.Module, function: Any) -> str:
    """The function that defines and returns another; "" where there is none."""
    others = [one for one, _ in functions_of(tree) if one is not function]
    maker = max(
        (one for one in others if function in uses.walked(one)),
        key=lambda one: int(one.lineno),
        default=None,
    )
    if maker is None:
        return ""
    returned = [one.value for one in ast.walk(maker) if isinstance(one, ast.Return) and one.value]
    return maker.name if any(uses.path_of(one) == function.name for one in returned) else ""


def _calls_with(
    tree: ast.Module, name: str, owner: str, names: Set[str], maker: str = ""
) -> List[ast.Call]:
    """Each torch.compile whose argument is a function of that name, what the function `maker`
    returns, or an object of the class `owner`: `Net(...)`, or a name that is assigned nothing else,
    or a method of it.
    """
    made: Dict[str, Set[str]] = {}  # name -> names of what is called to make it
    for node in uses.walked(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                made.setdefault(uses.path_of(target), set()).add(_maker(node.value))
    found = []
    for node in uses.walked(tree):
        if isinstance(node, ast.Call) and is_torch_compile(node, names) and node.args:
            given = node.args[0]
            fits = False
            if owner:
                if isinstance(given, ast.Attribute) and given.attr == name:
                    given = given.value  # torch.compile(net.forward)
            else:
                fits = isinstance(given, ast.Name) and given.id == name
            by = owner or maker
            if by and not fits:
                fits = _maker(given) == by or made.get(uses.path_of(given)) == {by}
                fits = fits or made.get(uses.path_of(given)) == {by, "compile"}
            if fits:
                found.append(node)
    return found


def _maker(node: ast.AST) -> str:
    """The class that an expression calls, also as `Net().eval()` and `Net().to(device)`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            node = node.func.value
            continue
        return uses.path_of(node.func).rpartition(".")[2]
    return ""
