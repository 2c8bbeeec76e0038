"""What a call gives a parameter of a function, read in the source of the code that calls it."""

import ast
import builtins
from typing import Any, Iterator, List, Optional, Set, Tuple

from depyf.advice import uses

#: (file, line)
Place = Tuple[str, int]


def handed_on(called_at: Place, function_at: Place, name: str) -> str:
    """The parameter of the calling function that a call hands on, or of which it hands on an
    attribute or an element, and to which the function assigns nothing.

    Args:
        called_at: of the call.
        function_at: where the function that is called begins.
        name: as a guard names it, such as `scale` or `batch['x']`.
    Returns:
        "" where it hands on none, and where a source is not there.
    """
    function, values = _values(called_at, function_at, name)
    roots = {_root(value) for value in values}
    if function is None or len(roots) != 1:
        return ""
    root = roots.pop()
    own = parameters_of(function) - {"self"} - _stored(function) - _inner(function)
    return root if root in own else ""


def reached_by(called_at: Place, function_at: Place, name: str) -> Tuple[str, bool]:
    """(the name by which the calling function reaches what a function has as a parameter, or the
    object of a method; whether that is a global): ("", False) where its source does not tell.

    Args: as of `handed_on`.
    """
    function, values = _values(called_at, function_at, name)
    roots = {_root(value) for value in values}
    if function is None and is_of_object(name):
        function = uses.function_around(*called_at)
        roots = _objects_called(function, called_at) if function is not None else set()
    if function is None or len(roots) != 1:
        return "", False
    root = roots.pop()
    for _ in range(_MOST_NAMES):  # `block` of `for block in self.blocks` is of `self`
        sources = {_root(one) for one in _given_to(function, root)} - {root}
        if len(sources) != 1:
            break
        root = sources.pop()
    local = parameters_of(function) | _stored(function) | _inner(function)
    known = root in local or not root
    return root, not known and not uses.is_free(called_at[0], called_at[1], root)


#: names of one object that are followed
_MOST_NAMES = 4


def _objects_called(function: Any, called_at: Place) -> Set[str]:
    """The names of the objects that the calls of a line call, or call a method of."""
    tree = uses.parsed(called_at[0])
    imported = uses.imported(tree) if tree is not None else {}
    line = called_at[1]
    return {
        _root(one.func)
        for one in ast.walk(function)
        if isinstance(one, ast.Call) and one.lineno <= line <= uses.last_line(one)
    } - {"", *imported, *dir(builtins)}


def _given_to(function: Any, name: str) -> List[ast.expr]:
    """What a function assigns to a name of its own, or loops over with it."""
    found: List[ast.expr] = []
    for one in ast.walk(function):
        if isinstance(one, ast.Assign) and [getattr(to, "id", "") for to in one.targets] == [name]:
            found.append(one.value)
        elif isinstance(one, (ast.For, ast.comprehension)) and name in _stored(one.target):
            called = getattr(getattr(one.iter, "func", None), "id", "")
            given = getattr(one.iter, "args") if called == "enumerate" else [one.iter]
            found += given[:1]
    return found


def made_inside(called_at: Place, function_at: Place, name: str) -> bool:
    """Whether it is the code that calls a function that makes a parameter differ from call to call:
    a constant in one of several calls, or what a loop around the call changes. Taken into the graph
    of that code, the function has no compile for each. False where a source is not there.
    """
    function, values = _values(called_at, function_at, name)
    if function is None:
        return False
    if len(values) > 1 and all(_is_constant(value) for value in values):
        return True
    if is_of_object(name) and len({_path(value) for value in values} - {""}) > 1:
        return True  # one method of several objects that the function names
    line = called_at[1]
    changed: Set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.For, ast.While)) and node.lineno <= line <= uses.last_line(node):
            changed |= _stored(node) - _elements_given(function, node)
        elif isinstance(node, ast.comprehension):
            changed |= _stored(node)
    return any(_names(value) & _made_of(function, changed) for value in values)


def _elements_given(function: Any, loop: Any) -> Set[str]:
    """The names that a loop has for the elements of what its function is given: in the graph of the
    loop, too, torch guards each of them.
    """
    own = parameters_of(function) - {"self"} - _stored(function)
    over = getattr(loop, "iter", None)
    if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "enumerate" and over.args:
        over = over.args[0]
    if over is None or _root(over) not in own:
        return set()
    within = set().union(*(_stored(one) for one in loop.body)) if loop.body else set()
    return _stored(loop.target) - within


def is_assigned(function_at: Place, name: str) -> bool:
    """Whether a function assigns to one of its parameters; True where its source is not there."""
    function = uses.function_starting_at(*function_at)
    return function is None or name.partition("[")[0].partition(".")[0] in _stored(function)


def comes_from(at: Place, name: str) -> bool:
    """Whether a function computes a name from what it assigns at a line; True where its source is
    not there. What is `nonlocal` or `global` has its value from an earlier call.
    """
    function = uses.function_around(*at)
    if function is None:
        return True
    kept = [one for one in ast.walk(function) if isinstance(one, (ast.Nonlocal, ast.Global))]
    if any(name.partition("[")[0].partition(".")[0] in one.names for one in kept):
        return False
    assigned: Set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            if node.lineno <= at[1] <= uses.last_line(node):
                assigned |= _stored(node)
    return name.partition("[")[0].partition(".")[0] in _made_of(function, assigned)


def made_before(at: Place, name: str) -> List[int]:
    """The lines, up to that of a graph break, at which a function makes what has a name, so that it
    is made in each call; [] where some line gives the name to what may be there before: what an
    argument, an object or a global holds.
    """
    function = uses.function_around(*at)
    root = name.partition("[")[0].partition(".")[0]
    return _made_lines(function, root, at[1], set()) if function is not None else []


def made_by_caller(called_at: Place, function_at: Place, name: str) -> bool:
    """Whether the code that calls a function makes what it gives a parameter, in each call of its
    own; False where its source is not there.
    """
    function, values = _values(called_at, function_at, name)
    if function is None or is_of_object(name):
        return False
    for one in [each for value in values for each in _choices(value)]:
        made = _made_lines(function, one.id, called_at[1], set()) if _is_name(one) else ()
        if _is_there(one) or _is_name(one) and not made:
            return False
    return True


def _is_name(node: Any) -> bool:
    return isinstance(node, ast.Name)


def _made_lines(function: Any, root: str, last: int, asked: Set[str]) -> List[int]:
    """As `made_before`; `asked` are the names of which it is asked already."""
    asked.add(root)
    lines = []
    for node in _own_nodes(function):
        if isinstance(node, (ast.Nonlocal, ast.Global)) and root in node.names:
            return []
        if getattr(node, "lineno", 0) > last:
            continue
        pairs = list(uses.stores_of(node)) if isinstance(node, (ast.Assign, ast.AnnAssign)) else []
        if type(node).__name__ == "NamedExpr":  # which CPython up to 3.7 does not have
            pairs = [(node.target, node.value)]
        values = [value for target, value in pairs if getattr(target, "id", "") == root]
        for value in values:
            for one in _choices(value):
                if (
                    _is_name(one)
                    and one.id not in asked
                    and not (_made_lines(function, one.id, last, asked))
                ):
                    return []
            if any(map(_is_there, _choices(value))):
                return []
            lines.append(int(node.lineno))
        if not pairs and not values and root in _bound_by(node):
            return []  # an element, or what a context manager gives
    return lines


def _own_nodes(function: Any) -> Iterator[Any]:
    """The nodes of a function, without those of functions and comprehensions in it."""
    work = list(ast.iter_child_nodes(function))
    while work:
        node = work.pop()
        if not isinstance(node, (*uses.SCOPES, ast.Lambda, ast.ClassDef, ast.comprehension)):
            yield node
            work += ast.iter_child_nodes(node)


def _choices(value: Any) -> List[Any]:
    """The expressions of which one is the value of an expression."""
    if isinstance(value, ast.IfExp):
        return _choices(value.body) + _choices(value.orelse)
    if isinstance(value, ast.BoolOp):
        return [one for each in value.values for one in _choices(each)]
    return [value]


def _is_there(value: Any) -> bool:
    """Whether an expression may give what is there before: an attribute, an element."""
    if isinstance(value, ast.Subscript):
        return not isinstance(uses.unwrapped(value.slice), (ast.Slice, ast.Tuple))
    return isinstance(value, (ast.Attribute, ast.Starred, ast.Await, ast.Yield, ast.YieldFrom))


def _bound_by(node: Any) -> Set[str]:
    """The names that a statement binds without an assignment."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return _stored(node.target)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        every = [one.optional_vars for one in node.items if one.optional_vars is not None]
        return set().union(*map(_stored, every)) if every else set()
    return set()


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def is_of_object(name: str) -> bool:
    """Whether it is an attribute of the object of a method."""
    return name.startswith("self.")


def _path(value: ast.AST) -> str:
    """`self.layers[0].norm` of an expression of names and constants; "" for others."""
    if isinstance(value, ast.Subscript):
        index = uses.unwrapped(value.slice)
        inner = _path(value.value) if _is_constant(index) else ""
        return "%s[%s]" % (inner, ast.dump(index)) if inner else ""
    if isinstance(value, ast.Attribute):
        inner = _path(value.value)
        return "%s.%s" % (inner, value.attr) if inner else ""
    return value.id if isinstance(value, ast.Name) else ""


def _object_of(call: ast.Call, called: Any) -> ast.expr:
    """The object of which a call calls a method, or that it calls itself."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == called.name:
        return call.func.value
    return call.func


def _is_constant(value: ast.AST) -> bool:
    return isinstance(value, ast.Constant) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant)
    )


def _made_of(function: Any, names: Set[str]) -> Set[str]:
    """The names, and those of what a function computes from them."""
    known = set(names)
    while True:
        found = set(known)
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value:
                if _names(node.value) & known:
                    found |= _stored(node)
        if found == known:
            return known
        known = found


def _values(called_at: Place, function_at: Place, name: str) -> Tuple[Any, List[ast.expr]]:
    """(the function around a call, what its calls of a function give a parameter): that of the
    line first, then those of its other lines.
    """
    function = uses.function_around(*called_at)
    called = uses.function_starting_at(*function_at)
    if function is None or called is None or function is called:
        return None, []
    parameter = name.partition("[")[0].partition(".")[0]
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    by_name = [one for one in calls if _called(one) == called.name]
    line = called_at[1]
    at = [one for one in by_name if one.lineno <= line <= uses.last_line(one)]
    applied = [one for one in calls if _applies(function_at[0], one, called)]
    if not at and applied:  # a rest that runs as plain Python is placed where it begins
        by_name = at = applied
    if not at:
        # by another name, as an object that is called: the only such call of the line
        of_line = [one for one in calls if one.lineno <= line <= uses.last_line(one)]
        if len(of_line) > 1:  # methods are called by their names
            of_line = [one for one in of_line if isinstance(one.func, ast.Name)]
        by_name = at = of_line[:2]
        if len(at) != 1:
            return None, []
    every = at + [one for one in by_name if one not in at]
    if is_of_object(name):
        found: List[Optional[ast.expr]] = [_object_of(one, called) for one in every]
    else:
        found = [uses.given_by(one, called).get(parameter) for one in every]
    values = [one for one in found if one is not None]
    return (function, values) if values and found[0] is not None else (None, [])


def _applies(file: str, call: ast.Call, called: Any) -> bool:
    """Whether a call is `apply` of the torch.autograd.Function whose `forward` a function is."""
    tree = uses.parsed(file)
    if tree is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "apply":
        return False
    forward = uses.forward_of(tree, uses.path_of(call.func.value))
    return forward is not None and uses.first_line(forward) == uses.first_line(called)


def _root(value: ast.AST) -> str:
    """The name of which an expression is an attribute or element by a constant; "" for others."""
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        if isinstance(value, ast.Subscript) and not _is_constant(uses.unwrapped(value.slice)):
            return ""
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _names(node: ast.AST) -> Set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _stored(node: ast.AST) -> Set[str]:
    """The names to which a node assigns."""
    found = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    }
    return found


def _inner(function: Any) -> Set[str]:
    """The names of functions that a function defines."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {one.name for one in ast.walk(function) if isinstance(one, kinds)} - {function.name}


def parameters(function_at: Place) -> List[str]:
    """The parameters of the function that begins at a place; [] where its source is not there."""
    function = uses.function_starting_at(*function_at)
    return sorted(parameters_of(function)) if function is not None else []


def parameters_of(function: Any) -> Set[str]:
    """The parameters of a function's tree, with those for any number of arguments."""
    arguments = function.args
    more = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    given = arguments.args + arguments.kwonlyargs + getattr(arguments, "posonlyargs", []) + more
    return {one.arg for one in given}
