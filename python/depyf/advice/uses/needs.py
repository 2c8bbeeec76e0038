"""For what a program needs the number in a tensor: a test, an index, a text, a list."""

import ast
from typing import Any, Dict, Iterator, List, Set, Tuple

from depyf.advice.uses.containers import GROWS, makes_container
from depyf.advice.uses.following import (
    first_needing,
    gives_number,
    makes_number,
    parts_of_number,
    turns_into_number,
    where_kept,
    where_needed,
    where_used,
)
from depyf.advice.uses.names import (
    assigned,
    container_of,
    imported,
    is_size,
    made_of,
    method_of,
    named_as,
    names_in,
    of_module,
    path_of,
    unwrapped,
)
from depyf.advice.uses.trees import (
    HAS_ENDS,
    function_around,
    function_starting_at,
    innermost,
    last_line,
    parsed,
    read_at,
    statement_at,
    walked,
)


def decided_at(file: str, line: int) -> int:
    """The line that needs the Python number that a line makes of a tensor: a branch, a loop, an
    assertion, an element of a list, an order; 0 where there is none, or the source is not there.

    The names that the line assigns are followed to the end of the function, and one call deep into
    functions of the same file.
    """
    return where_used(file, line, _item_needs)


def printed_at(file: str, line: int) -> int:
    """The line that prints the Python number that a line makes of a tensor; 0 as above."""
    return where_used(file, line, _printed)


def used_beside_print(file: str, line: int) -> Tuple[int, List[int]]:
    """(line that makes a Python number of a tensor, the other lines that use it), where a line
    makes or prints such a number; (0, []) for none, or where nothing else uses it.
    """
    function = read_at(file, line)[1]
    for node in filter(turns_into_number, walked(function)):
        printed = printed_at(file, node.lineno)
        statement = statement_at(function, node.lineno)
        if not printed or statement is None or line not in (node.lineno, printed):
            continue
        names = assigned(statement)
        lines = {
            int(one.lineno)
            for one in walked(function)
            if isinstance(getattr(one, "ctx", None), ast.Load) and path_of(one) in names
            if one.lineno > last_line(statement) and one.lineno != printed
        }
        if lines:
            return int(node.lineno), sorted(lines)
    return 0, []


def indexed_at(file: str, line: int) -> int:
    """The line that has the Python number that a line makes of a tensor as one of several indices,
    as in `x[:, n]`; 0 as above.
    """
    return where_used(file, line, _indices)


def indexes_tensor(file: str, line: int, name: str) -> bool:
    """Whether a name is an index in the function around a line, and of tensors alone: of buffers,
    or of what the file makes with torch.
    """
    tree, function = read_at(file, line)
    if tree is None or function is None:
        return False
    indexed = [
        node.value
        for node in walked(function)
        if isinstance(node, ast.Subscript) and path_of(unwrapped(node.slice)) == name
    ]
    return bool(indexed) and all(_is_tensor(tree, one) for one in indexed)


def assigned_at(file: str, line: int) -> Set[str]:
    """The names and paths of attributes that a line assigns."""
    function = read_at(file, line)[1]
    statement = statement_at(function, line) if function is not None else None
    return assigned(statement) if statement is not None else set()


def holds_tensor(file: str, node: Any) -> bool:
    """Whether what an expression names is plainly a tensor: see `_is_tensor`."""
    tree = parsed(file)
    return tree is not None and _is_tensor(tree, node)


def _is_tensor(tree: ast.Module, node: Any) -> bool:
    """Whether the file registers a buffer of that name, or makes it with torch."""
    for one in walked(tree):
        if isinstance(one, ast.Call) and method_of(one) == "register_buffer" and one.args:
            if getattr(one.args[0], "value", getattr(one.args[0], "s", None)) == (
                getattr(node, "attr", "")
            ):
                return True
    made: List[Any] = list(made_of(tree, node))
    return bool(made) and all(
        isinstance(one, ast.Call) and of_module(tree, path_of(one.func)).startswith("torch.")
        for one in made
    )


def picked_at(file: str, line: int) -> int:
    """The line, if it makes no number itself, and picks an element by what it computes, or by a
    name: where torch makes a number of a tensor there, it is that index; 0 as above.
    """
    found = 0
    for node in walked(read_at(file, line)[1]):
        if isinstance(node, ast.expr) and node.lineno <= line <= last_line(node):
            if turns_into_number(node):
                return 0
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                index = unwrapped(node.slice)
                several = index.elts if isinstance(index, ast.Tuple) else [index]
                if any(hasattr(one, "lineno") and names_in(one) for one in several):
                    found = int(node.lineno)
    return found


def stored_at(file: str, line: int) -> int:
    """The line, if it stores into an element of an array that numpy made in the same function, by
    an index that it computes; 0 as above.
    """
    tree, function = read_at(file, line)
    if tree is None or function is None:
        return 0
    of_numpy = {one for one, module in imported(tree).items() if module.split(".")[0] == "numpy"}
    arrays: Set[str] = set()
    for node in walked(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if path_of(node.value.func).split(".")[0] in of_numpy:
                arrays |= assigned(node)
    for node in walked(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            computed = any(isinstance(one, ast.Call) for one in ast.walk(node.slice))
            here = node.lineno <= line <= last_line(node)
            if here and computed and path_of(node.value) in arrays:
                return int(node.lineno)
    return 0


def drawn_at(file: str, line: int) -> int:
    """The line that draws, with Python's `random`, the number that a line needs; 0 where it needs
    none, or makes a number of something else.
    """
    tree, function = read_at(file, line)
    if tree is None or function is None:
        return 0
    drawn: Dict[str, int] = {}  # name -> where its number is drawn

    def found_in(node: Any) -> int:
        for one in parts_of_number(node):
            if isinstance(one, ast.Call) and _draws(tree, one):
                return one.lineno
            if isinstance(one, ast.Name) and one.id in drawn:
                return drawn[one.id]
        return 0

    def calls_others(node: Any) -> bool:  # what they give may be a tensor
        parts = list(parts_of_number(node))
        calls = [one for one in parts if isinstance(one, ast.Call) and not is_size(one)]
        return any(not gives_number(one) and not _draws(tree, one) for one in calls)

    for node in sorted(filter(_is_assignment, walked(function)), key=lambda one: one.lineno):
        if last_line(node) >= line or node.value is None or calls_others(node.value):
            continue
        if found_in(node.value):
            drawn.update(dict.fromkeys(assigned(node), found_in(node.value)))
    found = 0
    for node in walked(function):
        if isinstance(node, ast.expr) and node.lineno <= line <= last_line(node):
            if turns_into_number(node) and not found_in(node):
                return 0
            if isinstance(node, (ast.Call, ast.Name)):
                found = found or found_in(node)
    return found


def draws_in(file: str, line: int) -> List[int]:
    """The lines of the function around a line that draw a number with Python's `random` in a way
    that torch traces.
    """
    tree, function = read_at(file, line)
    return sorted(
        {
            node.lineno
            for node in walked(function)
            if tree is not None and isinstance(node, ast.Call) and _draws(tree, node)
            if path_of(node.func).rpartition(".")[2] in DRAW
            and of_module(tree, path_of(node.func)) != "random.random"
        }
    )


#: the methods of `random.Random` whose calls torch traces
DRAW = ("randint", "random", "randrange", "uniform")


def _is_assignment(node: Any) -> bool:
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))


def _draws(tree: ast.Module, call: ast.Call) -> bool:
    """Whether a call draws a number with Python's `random`, or with an object of its `Random`."""
    called = path_of(call.func)
    if of_module(tree, called).startswith("random."):
        return not called.endswith(("Random", "seed"))
    owner = getattr(call.func, "value", None)
    return isinstance(owner, (ast.Name, ast.Attribute)) and any(
        isinstance(one, ast.Call) and of_module(tree, path_of(one.func)) == "random.Random"
        for one in made_of(tree, owner)
    )


def timed_at(file: str, line: int) -> int:
    """The line that decides by the clock that a line reads, or by what is computed from it; 0 as
    above. What a function other than of numbers makes of it is followed no further.
    """
    tree, function = read_at(file, line)
    if tree is None or function is None or not HAS_ENDS:
        return 0
    for node in walked(function):
        for test in tests_of(node):
            if test.lineno <= line <= last_line(test) and any(
                isinstance(one, ast.Call) and one.lineno <= line <= last_line(one)
                for one in ast.walk(test)
            ):
                return int(test.lineno)
    statement = statement_at(function, line)
    names = assigned(statement) if statement is not None else set()
    needs = _tests_of
    return (
        first_needing(tree, function, names, line, needs, deep=False, numbers=True) if names else 0
    )


def appended_at(file: str, line: int) -> int:
    """The line that appends the Python number that a line makes of a tensor to a list that is not
    the function's own; 0 as above.
    """
    return where_used(file, line, _appended)


def element_at(file: str, line: int) -> int:
    """The line that has the Python number that a line makes of a tensor as the only index, or key,
    of what is not known to be a tensor; 0 as above.
    """
    return where_used(file, line, _elements)


def text_at(file: str, line: int) -> int:
    """The line, if it makes a Python number of a tensor, and a string of that; 0 as above.

    What a later line makes a string of is not followed: it may be one that the run never reaches.
    """
    tree, function = read_at(file, line)
    for node in walked(function) if tree is not None and HAS_ENDS else ():
        for one in _formatted(node):
            if one.lineno <= line <= last_line(one) and makes_number(one):
                return line
    return 0


def ordered_at(file: str, line: int) -> int:
    """The line that sorts, or picks the largest or smallest, by the Python number that a line makes
    of a tensor; 0 as above.
    """
    function = read_at(file, line)[1]
    for node in walked(function):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            if any(path_of(key) in _KEYS_OF_NUMBERS for key in _keys_of(node)):
                return node.lineno
    return where_used(file, line, _ordered)


def largest_at(file: str, line: int) -> int:
    """As `ordered_at`, of a call that picks the largest or smallest alone."""
    ordered = ordered_at(file, line)
    for node in walked(read_at(file, ordered)[1] if ordered else None):
        if isinstance(node, ast.Call) and node.lineno <= ordered <= last_line(node):
            if getattr(node.func, "id", "") in ("max", "min") and _keys_of(node):
                return ordered
    return 0


def sorted_at(file: str, line: int) -> int:
    """The line, in the same function, that sorts, or picks by a key of, what keeps the Python
    number that a line makes of a tensor; 0 as above.
    """
    return where_kept(file, line, _sorted)


#: functions by whose results tensors are ordered as Python numbers
_KEYS_OF_NUMBERS = ("float", "int", "torch.Tensor.item")


def asserted_at(file: str, line: int) -> int:
    """The line that asserts something of the Python number that a line makes of a tensor; 0 as
    above.
    """
    return where_used(file, line, _asserted)


def needed_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that needs the value of a name: as `decided_at`."""
    return where_needed(file, line, name, _python_needs)


def returned_to_decide(file: str, line: int, name: str) -> bool:
    """Whether the function around a line, such as a property, returns what it computes from a name,
    and something of the file decides by a function of that name.
    """
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    returned = [one.value for one in walked(function) if isinstance(one, ast.Return) and one.value]
    if tree is None or not any(names & names_in(one) for one in returned):
        return False
    tests = [test for node in walked(tree) for test in tests_of(node)]
    name_of = getattr(function, "name", "")
    return any(
        getattr(one, "attr", getattr(one, "id", "")) == name_of
        for test in tests
        for one in ast.walk(test)
    )


def ranged_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that has a range of that length; 0 as above."""
    return where_needed(file, line, name, _ranges)


def tested_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that decides on a name: a branch, a loop, an
    assertion; 0 as above.
    """
    return where_needed(file, line, name, _tests_of)


def values_needed_in(file: str, line: int, of_numbers: bool = True) -> List[int]:
    """The lines of the function around a line that make a Python number of what they compute, or
    pick elements by a condition, so that torch may break its graph there.

    Args:
        of_numbers: whether those that make numbers are among them.
    """
    function = function_starting_at(file, line) or function_around(file, line)
    found = set()
    for node in walked(function):
        if isinstance(node, ast.Subscript) and isinstance(unwrapped(node.slice), ast.Compare):
            found.add(node.lineno)
        elif of_numbers and isinstance(node, ast.Call):
            named = getattr(node.func, "id", "") in ("int", "float", "bool") and node.args
            computed = named and any(isinstance(one, ast.Call) for one in walked(node.args[0]))
            if computed or getattr(node.func, "attr", "") in ("item", "tolist"):
                found.add(node.lineno)
    return sorted(found)


def makes_lists(file: str, line: int) -> bool:
    """Whether a line makes several lists of tensors, so that it is not told which is meant."""
    made = [
        node
        for node in walked(read_at(file, line)[1])
        if isinstance(node, ast.Call) and method_of(node) == "tolist"
        if node.lineno <= line <= last_line(node)
    ]
    return len(made) > 1


def prints_number(file: str, line: int) -> bool:
    """Whether a line prints a Python number that it, or a line before it, makes of a tensor."""
    function = read_at(file, line)[1]
    for node in walked(function):
        if isinstance(node, ast.Call) and node.lineno <= line and makes_number(node):
            if printed_at(file, node.lineno) == line:
                return True
    return False


def decides_at(file: str, line: int) -> bool:
    """Whether a line compares something; True where its source is not there."""
    function = read_at(file, line)[1]
    return function is None or any(
        isinstance(one, ast.Compare) and one.lineno <= line <= last_line(one)
        for one in walked(function)
    )


def tests_of(node: ast.AST) -> Iterator[Any]:
    """The expressions on which a node decides."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def _python_needs(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The expressions of which Python itself needs the value: what `tests_of` has, the length of a
    range, the element of a container that the program makes of Python values, what `max`, `min`
    and sorting compare.
    """
    yield from tests_of(node)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
        if name == "range" and isinstance(node.func, ast.Name):
            yield from node.args
        yield from _ordered(tree, node)
    yield from indices_of(tree, node)


def _ordered(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What `max`, `min` and sorting compare."""
    yield from (one.body for one in _keys_of(node) if isinstance(one, ast.Lambda))


def _sorted(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node sorts, or picks the largest or smallest of by a key."""
    if isinstance(node, ast.Call):
        name = method_of(node) or getattr(node.func, "id", "")
        if name == "sort" and isinstance(node.func, ast.Attribute):
            yield node.func.value
        elif name == "sorted" or name in ("max", "min") and _keys_of(node):
            yield from node.args[:1]


def _keys_of(node: ast.AST) -> List[Any]:
    """The functions by whose results a call orders."""
    if not isinstance(node, ast.Call):
        return []
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    ordered = name in ("max", "min", "sorted", "sort")
    return [one.value for one in node.keywords if one.arg == "key"] if ordered else []


def _item_needs(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """As `_python_needs`, of a number that torch keeps in its graph: an assertion of one comparison
    stays in it, too.
    """
    if isinstance(node, ast.Assert):
        plain = isinstance(node.test, (ast.Name, ast.Attribute))
        plain = plain or isinstance(node.test, ast.Compare) and len(node.test.ops) == 1
        if plain and (node.msg is None or isinstance(node.msg, ast.Constant)):
            return
    if isinstance(node, ast.Subscript):
        yield from _texts_of(node.slice)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        yield node.left  # Python compares it with each element
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("all", "any", "divmod"):
        yield from node.args
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.Dict):
        yield from filter(None, node.keys)
    yield from _python_needs(tree, node)


def _texts_of(index: Any) -> Iterator[Any]:
    """What an index makes a text of, to find an element by it."""
    for one in ast.walk(index):
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") in ("str", "repr"):
            yield from one.args
        elif isinstance(one, ast.FormattedValue):
            yield one.value


def _ranges(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The lengths of ranges."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
        yield from node.args


def _tests_of(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    yield from tests_of(node)


def indices_of(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The index with which a node picks an element of a container that the file makes."""
    if isinstance(node, ast.Subscript) and makes_container(tree, node.value):
        index = unwrapped(node.slice)
        if hasattr(index, "lineno") and not isinstance(index, (ast.Slice, ast.Tuple)):
            yield index


def _printed(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The expressions that a node prints."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
        yield from node.args


def _appended(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node adds to a container that lives longer than the function."""
    if isinstance(node, ast.Call) and method_of(node) in GROWS:
        kept = (
            path_of(container_of(node.func.value)) if isinstance(node.func, ast.Attribute) else ""
        )
        function = innermost(tree, node.lineno)
        own = {
            name
            for one in walked(function)
            if isinstance(one, (ast.Assign, ast.AnnAssign))
            for name in assigned(one)
        }
        if kept and kept not in own:
            yield from node.args


def _elements(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The index of a node that takes one, of what is not known to be a tensor."""
    if isinstance(node, ast.Subscript) and not _is_tensor(tree, node.value):
        index = unwrapped(node.slice)
        if _is_used_as_tensor(innermost(tree, node.lineno), path_of(node.value)):
            return
        if hasattr(index, "lineno") and not isinstance(index, (ast.Slice, ast.Tuple)):
            yield index


#: attributes that tensors have, and no lists, tuples and dicts
_OF_TENSORS = frozenset(
    "abs argmax argmin argsort device dim dtype float max mean min numel reshape shape size sum to "
    "topk unsqueeze view".split()
)


def _is_used_as_tensor(function: Any, name: str) -> bool:
    """Whether a function asks what it calls by a name for what tensors have."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in _OF_TENSORS and path_of(one.value) == name
        for one in (walked(function) if name else ())
    )


def _formatted(node: ast.AST) -> Iterator[Any]:
    """What a node makes a string of: by `%` or `format` of a constant, an f-string, `str`."""
    if isinstance(node, ast.FormattedValue):
        yield node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
        yield node.right
    elif isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "format":
            if _is_text(function.value):
                yield from [*node.args, *(one.value for one in node.keywords)]
        elif isinstance(function, ast.Name) and function.id in ("str", "repr", "format"):
            yield from node.args[:1]


def _is_text(node: Any) -> bool:
    """Whether a node is a constant string; up to CPython 3.7 that is a node of its own."""
    return isinstance(getattr(node, "value", getattr(node, "s", None)), str)


def _asserted(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node asserts."""
    if isinstance(node, ast.Assert):
        yield node.test


def _indices(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The indices of a node that takes several and no slices."""
    if isinstance(node, ast.Subscript):
        index = unwrapped(node.slice)
        # up to CPython 3.8 several with a slice among them are `dims` of their own kind
        several = getattr(index, "elts" if isinstance(index, ast.Tuple) else "dims", ())
        for one in several:
            one = unwrapped(one)
            if hasattr(one, "lineno") and not isinstance(one, ast.Slice):
                yield one
