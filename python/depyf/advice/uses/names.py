"""What names and calls in a program's source stand for: modules, what a name is bound to."""

import ast
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Set, Tuple

from depyf.advice.uses.trees import (
    SCOPES,
    function_starting_at,
    functions_of,
    last_line,
    parsed,
    read_at,
    walked,
)


def unwrapped(index: Any) -> Any:
    """An index, which CPython up to 3.8 has in a node of its own."""
    return index.value if type(index).__name__ == "Index" else index


def targets_of(node: Any) -> List[Any]:
    """The targets of an assignment as they are written: a tuple is one."""
    return list(getattr(node, "targets", None) or [node.target])


def sets_part(node: ast.AST) -> bool:
    """Whether a statement assigns to an attribute or an element."""
    return isinstance(node, (ast.Assign, ast.AugAssign)) and any(
        isinstance(one, (ast.Attribute, ast.Subscript)) for one in targets_of(node)
    )


def stores_of(node: ast.AST) -> Iterator[Tuple[Any, Any]]:
    """(target, value) of each assignment of a statement, those of tuples one by one."""
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield node.target, node.value or ast.Constant(None)
        return
    if not isinstance(node, ast.Assign):
        return
    value: Any = node.value
    for target in node.targets:
        if isinstance(target, ast.Tuple):
            values = getattr(value, "elts", [value] * len(target.elts))
            yield from zip(target.elts, values)
        else:
            yield target, value


def of_module(tree: Any, called: str) -> str:
    """A function as its module names it: `numpy.log` for `np.log`."""
    root, dot, rest = called.partition(".")
    return imported(tree).get(root, "") + dot + rest if root else ""


@lru_cache(maxsize=16)
def imported(tree: ast.Module) -> Dict[str, str]:
    """What a file imports, by the names that it gives."""
    found = {}
    for node in walked(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                found[one.asname or one.name] = "%s.%s" % (node.module, one.name)
    return found


def is_size(node: Any) -> bool:
    """Whether an expression is plainly a size of a tensor or a list."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in ("size", "numel", "len")


def is_of_numbers(node: ast.AST) -> bool:
    """Whether a list, tuple or dict is written with numbers alone."""
    kept = node.elts if isinstance(node, (ast.List, ast.Tuple)) else getattr(node, "values", ())
    return bool(kept) and all(
        isinstance(one, ast.Constant) and isinstance(one.value, (int, float))
        for one in (each.operand if isinstance(each, ast.UnaryOp) else each for each in kept)
    )


def named_as(function: Any, name: str) -> Set[str]:
    """How a function names what a guard names: an attribute, by its own name."""
    last = name.rpartition(".")[2]
    ends = "." + last if "." in name else ""
    return {one for one in names_in(function) if one == name or ends and one.endswith(ends)}


def is_free(file: str, line: int, name: str) -> bool:
    """Whether a name is, in the function around a line, a variable of a function around that."""
    tree, function = read_at(file, line)
    if tree is None or function is None or not name.isidentifier():
        return False
    outer = [one for one in functions_of(tree) if one is not function and function in walked(one)]
    return not _binds(function, name) and any(_binds(one, name) for one in outer)


def is_dispatched(file: str, line: int, name: str) -> bool:
    """Whether the function around a line, or the file where there is none, gives a name as the
    first argument to a function of the file that `functools.singledispatch` made.
    """
    tree, function = read_at(file, line)
    made = {one.name for one in functions_of(tree) if any(map(_dispatches, one.decorator_list))}
    for node in walked(function or tree):
        if isinstance(node, ast.Call) and node.args and name in names_in(node.args[0]):
            if (method_of(node) or getattr(node.func, "id", "")) in made:
                return True
    return False


def _dispatches(decorator: Any) -> bool:
    called = path_of(decorator).split(".")[-1]
    return called in ("singledispatch", "singledispatchmethod")


def returns_what_it_got(file: str, line: int) -> bool:
    """Whether the function that begins at a line does nothing but return arguments."""
    function = function_starting_at(file, line)
    body = [one for one in function.body if not _is_constant(one)] if function else []
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return False
    given = body[0].value
    every = given.elts if isinstance(given, ast.Tuple) else [given]
    return all(isinstance(one, ast.Name) and _is_given(function, one.id) for one in every)


def _is_constant(statement: Any) -> bool:
    """Whether a statement is a docstring or `...`."""
    return isinstance(statement, ast.Expr) and not list(ast.iter_child_nodes(statement.value))


def _is_given(function: Any, name: str) -> bool:
    given = function.args
    return name in [
        one.arg for one in given.args + given.kwonlyargs + getattr(given, "posonlyargs", [])
    ]


def _binds(function: Any, name: str) -> bool:
    given = function.args
    every = given.args + given.kwonlyargs + getattr(given, "posonlyargs", [])
    stored = [one.id for one in _own(function) if isinstance(getattr(one, "ctx", None), ast.Store)]
    return name in [one.arg for one in every] or name in stored


def _own(function: Any) -> Iterator[ast.Name]:
    """The names in a function, without those in functions inside of it."""
    work = list(function.body)
    while work:
        node = work.pop()
        if isinstance(node, ast.Name):
            yield node
        if not isinstance(node, (*SCOPES, ast.Lambda)):
            work += ast.iter_child_nodes(node)


def given_names(file: str, line: int) -> Set[str]:
    """The names, and paths of attributes, that the calls of a line are given."""
    tree = parsed(file) if file and line else None
    found: Set[str] = set()
    for node in walked(tree):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            for one in list(node.args) + [each.value for each in node.keywords]:
                found |= names_in(one)
    return found


def method_of(call: ast.Call) -> str:
    """The name of the method that a call calls; "" for what is none."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def given_by(call: ast.Call, function: Any) -> Dict[str, ast.expr]:
    """What a call gives the parameters of a function, as far as it writes them out."""
    arguments = function.args
    names = [one.arg for one in getattr(arguments, "posonlyargs", []) + arguments.args]
    found: Dict[str, ast.expr] = {}
    for name, value in zip(names[_count_of_bound(names, call, function) :], call.args):
        if isinstance(value, ast.Starred):
            break
        found[name] = value
    found.update({one.arg: one.value for one in call.keywords if one.arg})
    return found


def _count_of_bound(names: List[str], call: ast.Call, function: Any) -> int:
    """How many of a function's parameters a call does not write: the object, or the class, whose
    method it is; 0 where the method is called as a function, `Model.forward(model, x)`.
    """
    if names[:1] == ["ctx"] and getattr(call.func, "attr", "") == "apply":
        return 1  # of a torch.autograd.Function
    if names[:1] not in (["self"], ["cls"]):
        return 0
    if isinstance(call.func, ast.Name) and call.func.id == function.name:
        return 0
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_class = isinstance(owner, ast.Name) and owner.id[:1].isupper()
    return 0 if of_class and names[0] == "self" else 1


def made_of(tree: Any, node: ast.AST) -> Iterator[ast.AST]:
    """What a value is: itself, or what the file assigns to its name."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        yield node
        return
    name = node.id if isinstance(node, ast.Name) else node.attr
    for one in walked(tree):
        if isinstance(one, (ast.Assign, ast.AnnAssign)):
            for to, value in stores_of(one):
                if name == getattr(to, "id", getattr(to, "attr", "")):
                    yield value


def path_of(node: ast.AST) -> str:
    """`self.count` for an attribute of a name; "" for other expressions."""
    parts: List[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id] + parts[::-1]) if isinstance(node, ast.Name) else ""


def container_of(node: Any) -> Any:
    """The container of containers that an element is of: `stats` for `stats["loss"]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def assigned(statement: ast.stmt) -> Set[str]:
    """The names and paths of attributes that a statement assigns; of `self.count` not `self`."""
    work = list(getattr(statement, "targets", None) or [getattr(statement, "target", None)])
    found = set()
    while work:
        target = work.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            work.extend(target.elts)
        elif isinstance(target, ast.Starred):
            work.append(target.value)
        elif target is not None:
            found.add(path_of(target))
    return found - {""}


def names_in(node: ast.AST) -> Set[str]:
    """The names and paths of attributes in an expression."""
    found = {path_of(one) for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))}
    return found - {""}


def keys_changed(file: str, line: int, owner: str) -> Set[str]:
    """The keys, as they are written, of a dict that the function around a line counts up."""
    return {
        ast.dump(unwrapped(one.target.slice))
        for one in walked(read_at(file, line)[1])
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Subscript)
        if path_of(one.target.value) == owner
    }
