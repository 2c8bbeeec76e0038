"""Which line of a program needs a value that another line has: the names that hold it are
followed.
"""

import ast
from typing import Any, Callable, Iterator, List, Set

from depyf.advice.uses.containers import GROWS
from depyf.advice.uses.names import (
    assigned,
    container_of,
    given_by,
    method_of,
    named_as,
    names_in,
    path_of,
    targets_of,
)
from depyf.advice.uses.trees import (
    HAS_ENDS,
    last_line,
    nodes_at,
    only_named,
    read_at,
    statement_at,
    walked,
)

#: the expressions of a node that need a value
Needs = Callable[[ast.Module, ast.AST], Iterator[Any]]


def where_needed(file: str, line: int, name: str, needs: Needs) -> int:
    """The line that needs what the function around a line names as a guard does; 0 for none."""
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    if tree is None or function is None or not names or not HAS_ENDS:
        return 0
    return first_needing(tree, function, names, function.lineno, needs, deep=True, whole=True)


def where_used(file: str, line: int, needs: Needs) -> int:
    """The line that needs the Python number that a line makes of a tensor; 0 for none."""
    tree, function = read_at(file, line)
    if function is None and tree is not None and HAS_ENDS:  # a lambda of the module
        around = [one for one in nodes_at(tree, line) if isinstance(one, ast.Lambda)]
        function = around[-1] if around else None
    if tree is None or function is None or not HAS_ENDS:
        return 0
    for node in walked(function):
        for test in needs(tree, node):
            if test.lineno <= line <= last_line(test) and makes_number(test):
                return int(test.lineno)
    for node in walked(function):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            found = _decided_in_call(tree, node, set(), needs, True)
            if found:
                return found
    statement: Any = statement_at(function, line)
    names: Set[str] = set()
    if statement is not None and statement.value is not None and _holds(statement.value, set()):
        names = assigned(statement)
    for node in walked(function):
        if isinstance(node, ast.For) and node.iter.lineno <= line <= last_line(node.iter):
            names |= _elements(node.target, node.iter, set())
        elif isinstance(node, _COMPREHENSIONS) and node.lineno <= line <= last_line(node):
            own = _elements_of(node, set())
            for one in walked(node) if own else ():
                for test in needs(tree, one):
                    if _holds(test, own):
                        return int(test.lineno)
    return (
        first_needing(tree, function, names, line, needs, deep=True, numbers=True) if names else 0
    )


def where_kept(file: str, line: int, needs: Needs) -> int:
    """As `where_used`, in the same function alone, of what keeps the number in a container, too."""
    tree, function = read_at(file, line)
    if tree is None or function is None or not HAS_ENDS:
        return 0
    names: Set[str] = set()

    def keeps(node: Any) -> bool:
        parts: List[Any] = list(ast.walk(node))
        calls = [one for one in parts if turns_into_number(one)]
        here = any(one.lineno <= line <= last_line(one) for one in calls)
        return here and _holds(node, set()) or bool(names) and _holds(node, names)

    nodes: List[Any] = [one for one in walked(function) if hasattr(one, "lineno")]
    before = None
    while before != names:
        before = set(names)
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                if node.value is not None and keeps(node.value):
                    names |= assigned(node) | {
                        path_of(container_of(one)) for one in targets_of(node)
                    }
            elif isinstance(node, ast.For) and names:
                names |= _elements(node.target, node.iter, names)
            elif isinstance(node, ast.Call) and method_of(node) in GROWS:
                if any(map(keeps, node.args)):
                    names.add(path_of(container_of(getattr(node.func, "value", None))))
        names.discard("")
    found = [one for node in nodes for one in needs(tree, node) if keeps(one)]
    return min((int(one.lineno) for one in found), default=0)


def numbers_given(file: str, line: int) -> Set[str]:
    """The names to which a line assigns Python numbers that a function of the file makes of
    tensors, and returns to it.
    """
    tree, function = read_at(file, line)
    statement: Any = statement_at(function, line) if function is not None else None
    call = getattr(statement, "value", None)
    if tree is None or not isinstance(call, ast.Call):
        return set()
    called = only_named(tree, getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    names: Set[str] = set()
    for node in walked(called):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            if _holds(node.value, set()) or names and _holds(node.value, names):
                names |= assigned(node)

    def is_number(value: Any) -> bool:
        return _holds(value, set()) or bool(names) and _holds(value, names)

    found: Set[str] = set()
    targets = [each for one in targets_of(statement) for each in getattr(one, "elts", [one])]
    for node in walked(called):
        if isinstance(node, ast.Return) and node.value is not None:
            values = getattr(node.value, "elts", [node.value])
            if len(values) != len(targets):
                values = [node.value] * len(targets)
            pairs = zip(targets, values)
            found |= {path_of(to) for to, value in pairs if is_number(value)}
    return found - {""}


#: expressions that are numbers where what they are made of is, and texts of such
_OF_NUMBERS = (
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.Dict,
    ast.FormattedValue,
    ast.IfExp,
    ast.JoinedStr,
    ast.List,
    ast.Set,
    ast.Starred,
    ast.Tuple,
    ast.UnaryOp,
)
#: functions that make a number of a tensor
_MAKE_NUMBERS = ("int", "float", "bool")
#: functions that make numbers or lists of numbers
_GIVE_NUMBERS = frozenset("abs bool dict float int list max min pow range round sum tuple".split())


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _elements_of(node: Any, names: Set[str]) -> Set[str]:
    """The names to which a comprehension gives such numbers: as for `_elements`."""
    found: Set[str] = set()
    for one in node.generators:
        found |= _elements(one.target, one.iter, names)
        found |= _elements(one.target, one.iter, found) if found else set()
    return found


def _holds(node: Any, names: Set[str]) -> bool:
    """Whether an expression is, or keeps, a Python number: one of those names, or what it makes of
    a tensor. What other functions make of a number may be a tensor.
    """
    work = [node]
    while work:
        one = work.pop()
        if isinstance(one, (ast.Name, ast.Attribute)):
            if path_of(one) in names:
                return True
        elif isinstance(one, ast.Subscript):
            work.append(one.value)
        elif isinstance(one, ast.Call):
            function: Any = one.func
            is_method = isinstance(function, ast.Attribute)
            called = function.attr if is_method else getattr(function, "id", "")
            if not names and called in (("item", "tolist") if is_method else _MAKE_NUMBERS):
                return True
            if is_method and called in ("get", "format"):
                work += [function.value] + list(one.args)
            elif not is_method and called in _GIVE_NUMBERS:
                work += one.args
            elif is_method and path_of(function.value) == "math":
                work += one.args
            elif called == "map" and len(one.args) > 1:
                if not names and getattr(one.args[0], "id", "") in _MAKE_NUMBERS:
                    return True
        elif isinstance(one, _OF_NUMBERS):
            work += ast.iter_child_nodes(one)
        elif isinstance(one, _COMPREHENSIONS):
            own = _elements_of(one, names)
            made = [one.key, one.value] if isinstance(one, ast.DictComp) else [one.elt]
            if any(own and _holds(each, own) or _holds(each, names) for each in made):
                return True
    return False


def _elements(target: Any, iterable: Any, names: Set[str]) -> Set[str]:
    """The names to which a loop gives what is, or keeps, such a number: as for `_holds`."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    called = getattr(iterable.func, "id", "") if isinstance(iterable, ast.Call) else ""
    if called == "range":
        return set()
    if called in ("zip", "enumerate", "reversed", "sorted", "list", "tuple"):
        given = iterable.args
        pairs = [(target, one) for one in given]
        if called == "enumerate" and len(parts) == 2:
            pairs = [(parts[1], one) for one in given[:1]]
        elif called == "zip" and len(parts) == len(given):
            pairs = list(zip(parts, given))
        return set().union(*(_elements(to, one, names) for to, one in pairs))
    stored = {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    return stored if _holds(iterable, names) else set()


def makes_number(test: ast.AST) -> bool:
    """Whether an expression turns something into a Python number."""
    return any(map(turns_into_number, ast.walk(test)))


def turns_into_number(node: Any) -> bool:
    """Whether a node is a call that turns something into a Python number."""
    name = node.func if isinstance(node, ast.Call) else None
    if isinstance(name, ast.Attribute):
        return name.attr in ("item", "tolist")
    return isinstance(name, ast.Name) and name.id in _MAKE_NUMBERS


def parts_of_number(node: Any) -> Iterator[Any]:
    """The parts of an expression that are, or give, the number that it is or keeps: not what a
    function other than of numbers, or a method of a tensor, is given.
    """
    work = [node]
    while work:
        one = work.pop()
        yield one
        if not isinstance(one, ast.Call):
            work += list(ast.iter_child_nodes(one))
        elif gives_number(one):
            work += one.args


def gives_number(call: ast.Call) -> bool:
    """Whether a call is of a function that gives numbers or lists of numbers."""
    return getattr(call.func, "id", "") in _GIVE_NUMBERS


def _is_identity(test: ast.AST) -> bool:
    """Whether a test asks which object it is, which no value decides."""
    return isinstance(test, ast.Compare) and all(
        isinstance(one, (ast.Is, ast.IsNot)) for one in test.ops
    )


def first_needing(
    tree: ast.Module,
    function: Any,
    names: Set[str],
    after: int,
    needs: Needs,
    deep: bool,
    whole: bool = False,
    numbers: bool = False,
) -> int:
    """The first line below line `after` in a function that needs the value of a name.

    With `whole`, what is computed from other names, too, is another value. With `numbers`, what a
    function makes of a number is one no more: it may be a tensor.
    """

    def depends(node: Any) -> bool:
        return _holds(node, names) if numbers else bool(names & names_in(node))

    names = set(names)
    nodes: List[Any] = [
        one for one in walked(function) if getattr(one, "lineno", 0) > after and one is not function
    ]
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
        if numbers and isinstance(node, _COMPREHENSIONS):
            names |= _elements_of(node, names)
            tests = [each for one in node.generators for each in needs(tree, one)]
            if any(map(depends, tests)):
                return int(next(filter(depends, tests)).lineno)
        for test in needs(tree, node):
            if not _is_identity(test) and depends(test):
                return int(test.lineno)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            used = names_in(node.value)
            if whole:  # a length is no other value, nor is `self` of `self.count` another name
                used = _names_but_of_lengths(node.value)
                used = {one for one in used if not any(it.startswith(one + ".") for it in used)}
            if (bool(used) and used <= names) if whole else depends(node.value):
                names |= assigned(node)
        elif numbers and isinstance(node, ast.For):
            names |= _elements(node.target, node.iter, names)
        elif deep and isinstance(node, ast.Call):
            found = _decided_in_call(tree, node, names, needs, numbers)
            if found:
                return found
    return 0


def _names_but_of_lengths(node: ast.AST) -> Set[str]:
    """The names of an expression, as `names_in`, without those that `len` alone is given."""
    found: Set[str] = set()
    work: List[ast.AST] = [node]
    while work:
        one = work.pop()
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "len":
            continue
        path = path_of(one)
        if path:
            found |= names_in(one)
        else:
            work += ast.iter_child_nodes(one)
    return found


def _decided_in_call(
    tree: ast.Module, call: ast.Call, names: Set[str], needs: Needs, numbers: bool
) -> int:
    """The line that needs it, in the only function of the file that a call can mean."""
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", "")
    called = only_named(tree, name)
    if called is None:
        return 0
    passed = {
        key
        for key, value in given_by(call, called).items()
        if (_holds(value, names) if numbers else names & names_in(value))
    }
    if path_of(call.func) == "self.%s" % name:  # the same object
        passed |= {one for one in names if one.startswith("self.")}
    if not passed:
        return 0
    at = called.lineno
    return first_needing(tree, called, passed, at, needs, deep=False, numbers=numbers)
