"""What a program does with a value: read from its source, nothing is run."""

import ast
import linecache
import os
import textwrap
import tokenize
from functools import lru_cache
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from depyf import compiling

_MOST = 4 * 2**20  # bytes of a source file that is read
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
#: whether nodes tell their last line, as from Python 3.8 on
_HAS_ENDS = "end_lineno" in ast.stmt._attributes


def parsed(file: str) -> Optional[ast.Module]:
    """The syntax tree of a program's file; None where it cannot be read."""
    cached = linecache.cache.get(file)
    if cached is not None and len(cached) == 4 and cached[1] is None:  # code of exec, in no file
        return tree_of("".join(cached[2]))
    try:
        state = os.stat(file)
        # a dump names files, and may be anybody's: a device or a pipe would never end
        if not os.path.isfile(file) or state.st_size > _MOST:
            return None
        return _of_file(file, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=16)
def _of_file(file: str, changed: int, size: int) -> Optional[ast.Module]:
    try:
        with tokenize.open(file) as stream:
            return tree_of(stream.read())
    except (OSError, SyntaxError, ValueError, UnicodeError):
        return None


@lru_cache(maxsize=16)
def tree_of(source: str) -> Optional[ast.Module]:
    """The syntax tree of a text; None where it is none of Python's."""
    try:
        return compiling.places_of(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=256)
def walked(tree: Optional[ast.AST]) -> Tuple[Any, ...]:
    """All nodes of a file or function, outer ones first, none of None; kept, as a report asks often
    of few.
    """
    return tuple(ast.walk(tree)) if tree is not None else ()


@lru_cache(maxsize=16)
def functions_of(tree: Optional[ast.Module]) -> Tuple[Any, ...]:
    """The functions of a file, outer ones first."""
    return tuple(node for node in walked(tree) if isinstance(node, _SCOPES))


def decided_at(file: str, line: int) -> int:
    """The line that needs the Python number that a line makes of a tensor: a branch, a loop, an
    assertion, an element of a list, an order; 0 where there is none, or the source is not there.

    The names that the line assigns are followed to the end of the function, and one call deep into
    functions of the same file.
    """
    return _used_at(file, line, _item_needs)


def printed_at(file: str, line: int) -> int:
    """The line that prints the Python number that a line makes of a tensor; 0 as above."""
    return _used_at(file, line, _printed)


def indexed_at(file: str, line: int) -> int:
    """The line that has the Python number that a line makes of a tensor as one of several indices,
    as in `x[:, n]`; 0 as above.
    """
    return _used_at(file, line, _indices)


def picked_at(file: str, line: int) -> int:
    """The line, if it makes no number itself, and picks an element by what it computes, or by a
    name: where torch makes a number of a tensor there, it is that index; 0 as above.
    """
    found = 0
    for node in walked(_read_at(file, line)[1]):
        if isinstance(node, ast.expr) and node.lineno <= line <= last_line(node):
            if _turns_into_number(node):
                return 0
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                index = unwrapped(node.slice)
                several = index.elts if isinstance(index, ast.Tuple) else [index]
                if any(hasattr(one, "lineno") and _names(one) for one in several):
                    found = int(node.lineno)
    return found


def ends_loop_around(file: str, line: int) -> int:
    """The line, in the innermost loop around a line, that ends a round or the loop by a Python
    number that another line than this makes of a tensor; 0 as above.
    """
    loops = [at for kind, at in uncut_around(file, line) if kind != "try"]
    for node in walked(_read_at(file, line)[1]) if loops else ():
        if isinstance(node, (ast.For, ast.While)) and node.lineno == loops[-1]:
            inside = range(node.body[0].lineno, last_line(node) + 1)
            for one in values_needed_in(file, line):
                decided = decided_at(file, one) if one in inside and one != line else 0
                if decided in inside and ends_round(file, decided):
                    return decided
    return 0


def stored_at(file: str, line: int) -> int:
    """The line, if it stores into an element of an array that numpy made in the same function, by
    an index that it computes; 0 as above.
    """
    tree, function = _read_at(file, line)
    if tree is None or function is None:
        return 0
    of_numpy = {one for one, module in imported(tree).items() if module.split(".")[0] == "numpy"}
    arrays: Set[str] = set()
    for node in walked(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if path_of(node.value.func).split(".")[0] in of_numpy:
                arrays |= _assigned(node)
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
    tree, function = _read_at(file, line)
    if tree is None or function is None:
        return 0
    drawn: Dict[str, int] = {}  # name -> where its number is drawn

    def found_in(node: Any) -> int:
        for one in ast.walk(node):
            if isinstance(one, ast.Call) and _draws(tree, one):
                return one.lineno
            if isinstance(one, ast.Name) and one.id in drawn:
                return drawn[one.id]
        return 0

    for node in sorted(filter(_is_assignment, walked(function)), key=lambda one: one.lineno):
        if last_line(node) < line and node.value is not None and found_in(node.value):
            drawn.update(dict.fromkeys(_assigned(node), found_in(node.value)))
    found = 0
    for node in walked(function):
        if isinstance(node, ast.expr) and node.lineno <= line <= last_line(node):
            if _turns_into_number(node) and not found_in(node):
                return 0
            if isinstance(node, (ast.Call, ast.Name)):
                found = found or found_in(node)
    return found


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
        for one in _made(tree, owner)
    )


def appended_at(file: str, line: int) -> int:
    """The line that appends the Python number that a line makes of a tensor to a list that is not
    the function's own; 0 as above.
    """
    return _used_at(file, line, _appended)


def ordered_at(file: str, line: int) -> int:
    """The line that sorts, or picks the largest or smallest, by the Python number that a line makes
    of a tensor; 0 as above.
    """
    function = _read_at(file, line)[1]
    for node in walked(function):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            if any(path_of(key) in _KEYS_OF_NUMBERS for key in _keys_of(node)):
                return node.lineno
    return _used_at(file, line, _ordered)


#: functions by whose results tensors are ordered as Python numbers
_KEYS_OF_NUMBERS = ("float", "int", "torch.Tensor.item")


def counted_at(file: str, line: int) -> List[int]:
    """The lines, in the function around a line, that add to a number of its object, or to one in a
    list of it.
    """
    tree, function = _read_at(file, line)
    found = []
    for node in walked(function):
        if isinstance(node, ast.AugAssign):
            target: Any = node.target
            target = target.value if isinstance(target, ast.Subscript) else target
            if path_of(target).startswith("self.") and _counts(tree, node.target):
                found.append(node.lineno)
    return sorted(found)


def left_out_at(file: str, line: int) -> List[int]:
    """The lines that change a container or an attribute, and that the branch of a line leaves out
    on one side.
    """
    tree, function = _read_at(file, line)
    found: Set[int] = set()
    for node in walked(function):
        for name in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, name, None)
            for place, one in enumerate(block if isinstance(block, list) else ()):
                if isinstance(one, ast.If) and one.test.lineno <= line <= last_line(one.test):
                    for side in _left_out(function, one, block[place + 1 :]):
                        kept = [each for each in ast.walk(side) if _is_kept(tree, each)]
                        found |= {getattr(each, "lineno", 0) for each in kept}
    return sorted(found)


#: statements of a side that only leaves code out
_LEAVE = (ast.Return, ast.Continue, ast.Break, ast.Pass)


def replaced_at(file: str, line: int) -> bool:
    """Whether a decision whether there is anything does more, where there is nothing, than to leave
    code out: it puts something else in its place, tells of it, or raises.
    """
    return any(
        not isinstance(one, _LEAVE)
        for node in _branches(file, line)
        for one in (_side_for_none(node) or ())
    )


def skips_at(file: str, line: int) -> bool:
    """Whether a branch that asks whether a mask keeps anything only returns what has a name where
    it does not, or only leaves out what computes with that mask.
    """
    for node in _branches(file, line):
        empty = _side_for_none(node)
        if empty is None or left_out_at(file, line):
            continue
        if len(empty) == 1 and isinstance(empty[0], ast.Return):
            return isinstance(empty[0].value, (ast.Name, type(None)))
        masks = _names(node.test)
        if not empty and all(_selects(one, masks) for one in node.body):
            return True
    return False


def _selects(statement: ast.stmt, masks: Set[str]) -> bool:
    """Whether an assignment takes, or changes, the elements alone that a mask keeps."""
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and masks & _names(node.slice):
            return True
        if isinstance(node, ast.Call) and _method(node) in ("where", "masked_fill"):
            if any(masks & _names(one) for one in node.args[:1]):
                return True
    return False


def _branches(file: str, line: int) -> Iterator[ast.If]:
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, ast.If) and node.test.lineno <= line <= last_line(node.test):
            yield node


def _side_for_none(node: ast.If) -> Optional[List[Any]]:
    """The side of a branch that is taken where there is nothing; None where it asks for anything
    else than whether there is something.
    """
    test: Any = node.test
    swapped = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    test = test.operand if swapped else test
    if isinstance(test, ast.Compare):
        limit: Any = test.comparators[0]
        met = type(test.ops[0]).__name__, getattr(limit, "value", None)
        if len(test.ops) > 1 or met not in _NONE + _SOME:
            return None
        swapped ^= met in _NONE
    elif not isinstance(test, ast.Call):
        return None
    elif _method(test) != "any" and getattr(test.func, "id", "") != "len":
        return None
    return node.body if swapped else node.orelse


#: comparisons of a count that hold where there is nothing, and where there is something
_NONE = (("Eq", 0), ("LtE", 0), ("Lt", 1))
_SOME = (("NotEq", 0), ("Gt", 0), ("GtE", 1))


def _left_out(function: Any, branch: ast.If, below: List[Any]) -> List[Any]:
    """The statements that a branch leaves out on one side or the other.

    Args:
        function: around the branch.
        below: the statements of its block that follow it.
    """
    sides: List[Any] = branch.body + branch.orelse
    if isinstance(branch.body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise)):
        sides = sides + below
    if isinstance(branch.body[-1], ast.Return):
        sides = sides + [one for one in function.body if one.lineno > last_line(branch)]
    return sides


def _is_kept(tree: Any, node: Any) -> bool:
    """Whether a node changes a container or an attribute."""
    if isinstance(node, ast.Call):
        return _method(node) in _GROWS | {"update", "setdefault"}
    targets = list(node.targets) if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign):
        targets = [node.target]
        if path_of(_whole(node.target)).startswith("self.") and _counts(tree, node.target):
            return False  # nothing is added for what is empty
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(node, ast.Assign):
            return True
        if isinstance(target, ast.Subscript):
            made = list(_made(tree, target.value))
            if made and all(isinstance(one, _CONTAINERS) or _makes_dict(one) for one in made):
                return True
    return False


def _makes_dict(node: Any) -> bool:
    """Whether an expression calls a class of Python's containers."""
    func = getattr(node, "func", None)
    return getattr(func, "attr", getattr(func, "id", "")) in _MAKE_CONTAINERS


_MAKE_CONTAINERS = ("defaultdict", "Counter", "OrderedDict", "dict", "list", "deque")


def _counts(tree: Any, target: Any) -> bool:
    """Whether the file makes a target of numbers, or one in a list of numbers."""
    if isinstance(target, ast.Subscript):
        lists: List[Any] = list(_made(tree, target.value))
        lists = [one.left if isinstance(one, ast.BinOp) else one for one in lists]  # [0] * 4
        return bool(lists) and all(map(_is_of_numbers, lists))
    made: List[Any] = list(_made(tree, target))
    return bool(made) and all(
        isinstance(one, ast.Constant) and isinstance(one.value, (int, float)) for one in made
    )


def asserted_at(file: str, line: int) -> int:
    """The line that asserts something of the Python number that a line makes of a tensor; 0 as
    above.
    """
    return _used_at(file, line, _asserted)


def sized_at(file: str, line: int) -> int:
    """The line that decides on the size of what a line assigns; 0 as above."""
    tree, function = _read_at(file, line)
    statement = _statement(function, line) if function is not None else None
    if tree is None or statement is None or not hasattr(statement, "end_lineno"):
        return 0
    return _decided(tree, function, _assigned(statement), line, _sizes, deep=True)


def needed_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that needs the value of a name: as `decided_at`."""
    return _needed_at(file, line, name, _python_needs)


def ranged_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that has a range of that length; 0 as above."""
    return _needed_at(file, line, name, _ranges)


def tested_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that decides on a name: a branch, a loop, an
    assertion; 0 as above.
    """
    return _needed_at(file, line, name, _tests_of)


#: methods by which a list, deque or set grows
_GROWS = frozenset("append appendleft extend extendleft insert add".split())


def spelt_at(file: str, line: int, name: str) -> bool:
    """Whether an f-string of a line holds a number that a guard names."""
    tree, function = _read_at(file, line)
    names = _named(function, name) if function is not None else set()
    return any(
        isinstance(node, ast.FormattedValue) and bool(names & _names(node.value))
        for node in walked(function)
        if getattr(node, "lineno", 0) == line
    )


def container_uses(file: str, line: int, name: str) -> Set[str]:
    """What the function around a line does with a container: "grows", "shown" (printed or logged,
    or only asked for that), "length" (and nothing else of it), "end" (of elements those that are
    counted from the end), "part" (slices that are), "all" (anything else).

    Args:
        file, line: of the program, a line of the function.
        name: as a guard names it, such as `self.seen`.
    Returns:
        None of them where its source is not there, or names it otherwise.
    """
    function = _read_at(file, line)[1]
    if function is None:
        return set()
    parents = {one: node for node in walked(function) for one in ast.iter_child_nodes(node)}
    base = name.partition("[")[0]  # of `stats['loss']` the list, not the dict around it
    names = {one + name[len(base) :] for one in _named(function, base)}
    found = set()
    for node in walked(function):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and _keyed(node) in names:
            if isinstance(node.ctx, ast.Load):
                found.add(_use_of(node, parents))
    return found


def owner_uses(caller_at: Tuple[str, int], used_at: Tuple[str, int], name: str) -> Set[str]:
    """What the methods of an object do with its container that a function calls, as
    `container_uses` has it.

    Args:
        caller_at: (file, line) where the function begins.
        used_at: of a line in a method that uses the container.
        name: of the container as the function names it, such as `log.items`.
    """
    owner, _, kept = name.rpartition(".")
    file, line = used_at
    tree = parsed(file)
    classes = [
        one
        for one in walked(tree)
        if isinstance(one, ast.ClassDef) and one.lineno <= line <= last_line(one)
    ]
    caller = function_starting_at(*caller_at)
    if not owner or not classes or caller is None:
        return set()
    methods = {one.name: one for one in classes[-1].body if isinstance(one, _SCOPES)}
    work = list(_called_on(caller, _named(caller, owner)))
    found: Set[str] = set()
    seen: Set[str] = set()
    while work:
        method = methods.get(work.pop())
        if method is not None and method.name not in seen:
            seen.add(method.name)
            found |= container_uses(file, method.body[0].lineno, "self." + kept)
            work += _called_on(method, {"self"})
    return found


def _begins(function: Any) -> int:
    """The line where a function begins, with its decorators."""
    return min([function.lineno] + [one.lineno for one in function.decorator_list])


#: methods of an object that Python calls for an expression on it
_SPECIAL = {"len": "__len__", "bool": "__bool__", "iter": "__iter__"}


def _called_on(function: Any, names: Set[str]) -> Iterator[str]:
    """The methods of an object, by its names, that a function calls, those of operators too."""
    for node in walked(function):
        if isinstance(node, ast.Attribute) and path_of(node.value) in names:
            yield node.attr
        elif isinstance(node, ast.Call) and any(path_of(one) in names for one in node.args):
            yield _SPECIAL.get(getattr(node.func, "id", ""), "__iter__")
        elif isinstance(node, ast.Subscript) and path_of(node.value) in names:
            yield "__getitem__"
        elif isinstance(node, ast.For) and path_of(node.iter) in names:
            yield "__iter__"
        elif isinstance(node, ast.comprehension) and path_of(node.iter) in names:
            yield "__iter__"
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and path_of(node.test) in names:
            yield from ("__bool__", "__len__")


#: methods of loggers that write a message
_LOGS = frozenset("critical debug error exception info log warning write".split())


def _shows(node: Any) -> bool:
    """Whether a node is a call that prints or logs, or a branch that does nothing else."""
    if isinstance(node, ast.If):
        return all(isinstance(one, ast.Expr) and _shows(one.value) for one in node.body) and (
            not node.orelse
        )
    if not isinstance(node, ast.Call):
        return False
    return getattr(node.func, "id", "") == "print" or _method(node) in _LOGS


def _is_shown(node: Any, parents: Any) -> bool:
    """Whether an expression is read only to be printed or logged, or to decide whether to."""
    while node is not None and not isinstance(node, ast.stmt):
        if _shows(node):
            return True
        node = parents.get(node)
    return isinstance(node, ast.If) and _shows(node)


def unwrapped(index: Any) -> Any:
    """An index, which CPython up to 3.8 has in a node of its own."""
    return index.value if type(index).__name__ == "Index" else index


def _use_of(node: Any, parents: Any) -> str:
    if _is_shown(node, parents):
        return "shown"
    parent = parents.get(node)
    if isinstance(parent, ast.Attribute):
        called = isinstance(parents.get(parent), ast.Call) and parents[parent].func is parent
        return "grows" if called and parent.attr in _GROWS else "all"
    if isinstance(parent, ast.Call) and getattr(parent.func, "id", "") == "len":
        return "length"
    if isinstance(parent, ast.Subscript) and parent.value is node:
        index = unwrapped(parent.slice)
        kind = "end"
        if isinstance(index, ast.Slice) and index.upper is None:
            index, kind = index.lower, "part"
        return kind if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) else "all"
    asked = isinstance(parent, (ast.If, ast.While, ast.IfExp)) and parent.test is node
    negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    return "length" if asked or negated else "all"


def readers_of(file: str, line: int, name: str) -> List[int]:
    """The lines that read an attribute, or an element of it, for something else than arithmetic:
    to print or round it, to write it into a file, to list the elements of its container. Those of
    the function around a line are left out, as what calls torch.

    Args:
        name: as a guard names it, such as `self.weights['pde']`.
    """
    tree, function = _read_at(file, line)
    path, _, rest = name.partition("[")
    owner, _, last = path.rpartition(".")
    if tree is None or function is None or not owner:
        return []
    within = _class_around(tree, function)
    parents = {one: node for node in walked(tree) for one in ast.iter_child_nodes(node)}
    own = set(map(id, walked(function)))
    found = set()
    for node in walked(tree):
        if isinstance(node, ast.Attribute) and node.attr == last and id(node) not in own:
            around = _around(tree, node.lineno)
            of_self = getattr(node.value, "id", "") == "self" and owner == "self"
            if of_self and _class_around(tree, around) is not within:
                continue
            if isinstance(node.ctx, ast.Load) and _reads(tree, node, parents, bool(rest)):
                found.add(node.lineno)
    return sorted(found)


def mode_switched_at(file: str) -> int:
    """The first line of a file that does nothing but call `eval()` of an object; 0 for none."""
    lines = [
        node.lineno
        for node in walked(parsed(file))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if _method(node.value) == "eval" and not node.value.args
    ]
    return min(lines, default=0)


def class_at(file: str, line: int) -> str:
    """The class whose method is around a line; "" for none."""
    tree, function = _read_at(file, line)
    around = _class_around(tree, function) if tree is not None else None
    return around.name if around is not None else ""


def _class_around(tree: ast.Module, function: Any) -> Any:
    for node in walked(tree):
        if isinstance(node, ast.ClassDef) and function in node.body:
            return node
    return None


#: functions of Python that take a number, and give something that is no tensor or print it
_TAKE_NUMBERS = frozenset("float format int print repr round sorted str".split())
#: methods to which a number is given to be kept or written
_KEEP = _LOGS | {"add_scalar", "append", "dump", "dumps", "format", "log_dict", "writerow"}


def _reads(tree: ast.Module, node: Any, parents: Any, is_container: bool) -> bool:
    """Whether an attribute is read for something else than arithmetic.

    Args:
        is_container: whether the number is an element of it.
    """
    at, whole = node, is_container
    while at in parents and not isinstance(at, ast.stmt):
        below, at = at, parents[at]
        if isinstance(at, ast.Subscript) and at.value is below:
            whole = False
        elif isinstance(at, ast.FormattedValue):
            return True
        elif isinstance(at, (ast.comprehension, ast.For)) and at.iter is below:
            return True
        elif isinstance(at, ast.BinOp) and isinstance(at.op, ast.Mod):
            if isinstance(getattr(at.left, "value", getattr(at.left, "s", None)), str):
                return True
        elif isinstance(at, ast.Call) and at.func is not below:
            called = path_of(at.func)
            if of_module(tree, called).partition(".")[0] == "torch":
                return False
            if called in _TAKE_NUMBERS or _method(at) in _KEEP:
                return True
            if whole and called not in ("len", "sum"):
                return True
    return False


def keys_given(file: str, line: int, name: str) -> List[str]:
    """The keys, texts that stand in the source, that the function around a line gives to a dict
    and reads nowhere; [] where it gives it others, too.
    """
    function = _read_at(file, line)[1]
    names = _named(function, name) if function is not None else set()
    if function is None:
        return []
    changed = {id(node.target) for node in walked(function) if isinstance(node, ast.AugAssign)}
    given: List[str] = []
    read = set()
    for node in walked(function):
        if not isinstance(node, ast.Subscript) or path_of(node.value) not in names:
            continue
        index = unwrapped(node.slice)
        key = index.value if isinstance(index, ast.Constant) else None
        if isinstance(node.ctx, ast.Load) or id(node) in changed:
            read.add(key)
        elif isinstance(key, str):
            given.append(key)
        elif isinstance(node.ctx, ast.Store):
            return []
    return [key for key in dict.fromkeys(given) if key not in read]


def tests_and_fills(file: str, line: int, name: str) -> bool:
    """Whether the function around a line asks whether a dict has a key, and gives it keys."""
    tree, function = _read_at(file, line)
    if tree is None or function is None:
        return False
    asked = filled = False
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            asked = asked or path_of(node.comparators[0]) == name
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            filled = filled or path_of(node.value) == name
    return asked and filled


def sets_in(source: str, name: str) -> bool:
    """Whether a function, given its source, assigns to what has this name."""
    tree = tree_of(textwrap.dedent(source))
    for node in ast.walk(tree) if tree is not None else ():
        targets: List[Any] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        if any(path_of(target) == name for target in targets):
            return True
    return False


def sets_at(file: str, line: int, attribute: str) -> bool:
    """Whether a statement that begins at a line sets an attribute of an object."""
    return any(
        isinstance(target, ast.Attribute) and target.attr == attribute
        for node in walked(parsed(file) if file and line else None)
        if getattr(node, "lineno", 0) == line
        for target, _ in stores_of(node)
    )


def is_of_each_object(file: str, name: str) -> bool:
    """Whether an attribute has the value that its object was made with, such as the index of a
    layer: one that a file sets in `__init__` alone, from what that is given.
    """
    tree = parsed(file) if file else None
    attribute = name.rpartition(".")[2] if "." in name else ""
    if tree is None or not attribute.isidentifier():
        return False
    given: Dict[int, Set[str]] = {}  # what `__init__` is given, by the statements of that
    for function in walked(tree):
        if isinstance(function, _SCOPES) and function.name == "__init__":
            arguments = function.args.args[1:] + function.args.kwonlyargs
            names = {one.arg for one in arguments}
            given.update((id(node), names) for node in walked(function))
    stores = [
        bool(given.get(id(node), set()) & _names(value))
        for node in walked(tree)
        for target, value in stores_of(node)
        if isinstance(target, ast.Attribute) and target.attr == attribute
    ]
    return bool(stores) and all(stores)


def asks_for_none(file: str, line: int) -> bool:
    """Whether a branch at a line asks whether there is anything at all; True where its source is
    not there.
    """
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, (ast.If, ast.IfExp)) and node.test.lineno == line:
            asked = [one for one in ast.walk(node.test) if isinstance(one, ast.Compare)]
            return all(any(map(_is_none, [one.left] + one.comparators)) for one in asked)
    return True


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


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


def picks_number(file: str, line: int, name: str) -> bool:
    """Whether the function around a line picks, with a name, an element of a container that the
    file writes as one of numbers.
    """
    tree, function = _read_at(file, line)
    names = _named(function, name) if function is not None else set()
    for node in walked(function):
        if isinstance(node, ast.Subscript) and names & _names(node.slice):
            made = list(_made(tree, node.value))
            if made and all(_is_of_numbers(one) for one in made):
                return True
    return False


def rate_written_at(file: str) -> int:
    """The line at which a file writes a learning rate into an optimizer that is not computed from
    the one before, as `group["lr"] = rate` does; 0 where there is none.
    """
    tree = parsed(file) if file else None
    return rate_written(tree) if tree is not None else 0


def rate_written(tree: ast.Module) -> int:
    """As `rate_written_at`, of a program's tree."""
    for node in walked(tree):
        if isinstance(node, ast.Assign) and any(map(_is_rate, node.targets)):
            if not any(_is_rate(one) or _is_tensor(one) for one in ast.walk(node.value)):
                return node.lineno
    return 0


def _is_rate(node: Any) -> bool:
    if not isinstance(node, ast.Subscript):
        return False
    index = unwrapped(node.slice)
    return isinstance(index, ast.Constant) and index.value == "lr"


def _is_tensor(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and path_of(node.func) in ("torch.tensor", "torch.as_tensor")


#: parameters of torch's functions that take a Python number and no tensor
_TAKES_NUMBERS = frozenset(
    "alpha beta delta dropout_p eps label_smoothing lambd lower margin max_norm max_val min_val "
    "momentum nan negative_slope neginf norm_type p posinf scale_factor threshold upper "
    "value".split()
)
#: and the places where such functions take one of those without its name
_PLACES_OF_NUMBERS = {
    "alpha_dropout": (1,),
    "celu": (1,),
    "dropout": (1,),
    "dropout1d": (1,),
    "dropout2d": (1,),
    "dropout3d": (1,),
    "elu": (1,),
    "feature_alpha_dropout": (1,),
    "full_like": (1,),
    "group_norm": (4,),
    "hardshrink": (1,),
    "hardtanh": (1, 2),
    "layer_norm": (4,),
    "leaky_relu": (1,),
    "nan_to_num": (1, 2, 3),
    "new_full": (1,),
    "rms_norm": (3,),
    "softplus": (1, 2),
    "softshrink": (1,),
    "threshold": (1, 2),
}


def number_parameter(file: str, line: int, name: str) -> Tuple[str, str]:
    """(function, parameter) of torch that a line gives a value for which it takes a Python number
    and no tensor, as `cross_entropy` and `label_smoothing`; ("", "") where it gives it to none.

    A parameter that is given without its name is "".
    """
    tree = parsed(file) if file and line else None
    own = {one.name for one in functions_of(tree)}
    function = _around(tree, line) if tree is not None else None
    names = _named(function, name) if function is not None else set()
    for node in walked(function):
        if not isinstance(node, ast.Call) or not node.lineno <= line <= last_line(node):
            continue
        called = path_of(node.func).rpartition(".")[2] or _method(node)
        if called in own or not called:
            continue
        for one in node.keywords:
            if one.arg in _TAKES_NUMBERS and path_of(one.value) in names:
                return called, str(one.arg)
        for place in _PLACES_OF_NUMBERS.get(called, ()):
            if place < len(node.args) and path_of(node.args[place]) in names:
                return called, ""
    return "", ""


def gives_more(file: str, line: int, called: str, parameters: Sequence[str]) -> bool:
    """Whether a call of a function on a line gives it anything but some parameters, of which it
    takes all but the last without a name.
    """
    return any(
        len(one.args) >= len(parameters)
        or any(isinstance(each, ast.Starred) for each in one.args)
        or not {each.arg for each in one.keywords} <= set(parameters)
        for one in walked(parsed(file) if file and line else None)
        if isinstance(one, ast.Call) and one.lineno <= line <= last_line(one)
        if (path_of(one.func).rpartition(".")[2] or _method(one)) == called
    )


#: modules whose functions compute with Python's numbers, or with arrays of their own
OF_PYTHON = ("cmath", "math", "numpy", "scipy")


def body_line(file: str, line: int) -> int:
    """The first line of the body of the function that begins at a line, with its decorators; 0
    where there is none.
    """
    tree = parsed(file) if file and line else None
    for one in functions_of(tree):
        if _begins(one) <= line <= one.body[0].lineno:
            return int(one.body[0].lineno)
    return 0


def outside_call(file: str, line: int) -> str:
    """The function of math, numpy or scipy that a line calls with something that is not written out
    there, as the program spells it; "" for none.
    """
    return next((name for name, _ in _outside_calls(file, line, line)), "")


def number_lines(file: str, line: int, name: str = "") -> List[int]:
    """The lines, in the function around a line, where a tensor in place of a Python number may
    break the graph: they call a function of math, or make another number or a text of it.

    Args:
        name: of the number; "" for what a function of math on that line is given.
    """
    tree, function = _read_at(file, line)
    if tree is None or function is None or not _HAS_ENDS:
        return []
    names = _named(function, name)
    for _, call in () if name else _outside_calls(file, line, line):
        names |= {one for given in call.args for one in _names(given)}
    found = {
        call.lineno
        for _, call in _outside_calls(file, function.lineno, last_line(function))
        if any(names & _names(one) for one in call.args)
    }
    for node in walked(function):
        if isinstance(node, ast.FormattedValue) and path_of(node.value) in names:
            found.add(node.lineno)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _NEED_NUMBERS:
            if any(path_of(one) in names for one in node.args):
                found.add(node.lineno)
    return sorted(found)


#: functions of Python that make another number or a text of one
_NEED_NUMBERS = ("int", "float", "bool", "range", "str")


def _outside_calls(file: str, first: int, last: int) -> Iterator[Tuple[str, ast.Call]]:
    """(function as it is spelt, call) of the calls of math, numpy or scipy on some lines."""
    tree = parsed(file) if file and first else None
    for node in walked(tree):
        if isinstance(node, ast.Call) and first <= node.lineno and last_line(node) <= last:
            called = path_of(node.func)
            if of_module(tree, called).partition(".")[0] in OF_PYTHON:
                if any(not isinstance(one, ast.Constant) and _names(one) for one in node.args):
                    yield called, node


def numpy_draw_at(file: str, line: int) -> str:
    """The function of numpy.random that a line calls, as the program spells it; "" for none."""
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            called = path_of(node.func)
            if of_module(tree, called).startswith("numpy.random."):
                return called
    return ""


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


def values_needed_in_sides(file: str, line: int) -> List[int]:
    """The lines in the sides of a branch at which torch breaks its graph where it traces them, too:
    those of `values_needed_in`, and those that set an element whose place argmax or argmin tells.
    """
    needed = set(values_needed_in(file, line))
    found = set()
    for node in _branches(file, line):
        for one in (each for side in node.body + node.orelse for each in ast.walk(side)):
            if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
                index = unwrapped(one.slice)
                if isinstance(index, ast.Call) and _method(index) in ("argmax", "argmin"):
                    found.add(one.lineno)
        first, last = node.body[0].lineno, last_line(node)
        found |= {one for one in needed if first <= one <= last}
    return sorted(found)


def math_at(file: str, line: int) -> str:
    """The function of math that a line calls with a value that is computed there; "" for none."""
    tree = parsed(file) if file and line else None
    for called, call in _outside_calls(file, line, line):
        if of_module(tree, called).startswith("math."):
            return called
    return ""


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


def loop_at(file: str, line: int) -> bool:
    """Whether a line has the head of a loop, or a range."""
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, (ast.For, ast.While)):
            head: Any = node.iter if isinstance(node, ast.For) else node.test
            if node.lineno <= line <= last_line(head):
                return True
        if isinstance(node, ast.comprehension):
            if node.iter.lineno <= line <= last_line(node.iter):
                return True
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
            if node.lineno <= line <= last_line(node):
                return True
    return False


def key_at(file: str, line: int) -> bool:
    """Whether a line looks something up in a container, or asks whether it is there."""
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, ast.Compare) and node.lineno <= line <= last_line(node):
            if any(isinstance(one, (ast.In, ast.NotIn)) for one in node.ops):
                return True
        if isinstance(node, ast.Call) and _method(node) in ("get", "setdefault"):
            if node.lineno <= line <= last_line(node):
                return True
        if isinstance(node, ast.Subscript) and node.lineno <= line <= last_line(node):
            if _is_dict(tree, node.value):
                return True
    return False


def sets_key_at(file: str, line: int, of_size: bool = False) -> bool:
    """Whether a line sets an element of a dict under a key that is no constant.

    Args:
        of_size: that the key is plainly a size: what `.size(0)`, `.shape[0]`, `len()` or
            `.numel()` gives, or a name for that.
    """
    tree, function = _read_at(file, line)
    for node in walked(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if node.lineno <= line <= last_line(node) and _is_dict(tree, node.value):
                key = unwrapped(node.slice)
                if isinstance(key, ast.Name) and function is not None:
                    values = [
                        value
                        for one in walked(function)
                        for to, value in stores_of(one)
                        if getattr(to, "id", "") == key.id
                    ]
                else:
                    values = [key]
                if not isinstance(key, ast.Constant) and (not of_size or any(map(is_size, values))):
                    return True
    return False


def is_size(node: Any) -> bool:
    """Whether an expression is plainly a size of a tensor or a list."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in ("size", "numel", "len")


#: what makes a dict, but for a display
_DICTS = ("dict", "defaultdict", "Counter", "OrderedDict")


def _is_dict(tree: Any, node: Any) -> bool:
    """Whether the file makes a dict of what a name, or an attribute, is."""
    return any(
        isinstance(one, (ast.Dict, ast.DictComp))
        or isinstance(one, ast.Call)
        and path_of(one.func).rpartition(".")[2] in _DICTS
        for one in _made(tree, node)
    )


def _is_of_numbers(node: ast.AST) -> bool:
    kept = node.elts if isinstance(node, (ast.List, ast.Tuple)) else getattr(node, "values", ())
    return bool(kept) and all(
        isinstance(one, ast.Constant) and isinstance(one.value, (int, float))
        for one in (each.operand if isinstance(each, ast.UnaryOp) else each for each in kept)
    )


def _named(function: Any, name: str) -> Set[str]:
    """How a function names what a guard names: an attribute, by its own name."""
    last = name.rpartition(".")[2]
    ends = "." + last if "." in name else ""
    return {one for one in _names(function) if one == name or ends and one.endswith(ends)}


def _needed_at(file: str, line: int, name: str, needs: "_Needs") -> int:
    tree, function = _read_at(file, line)
    names = _named(function, name) if function is not None else set()
    if tree is None or function is None or not names or not _HAS_ENDS:
        return 0
    return _decided(tree, function, names, function.lineno, needs, deep=True, whole=True)


def given_names(file: str, line: int) -> Set[str]:
    """The names, and paths of attributes, that the calls of a line are given."""
    tree = parsed(file) if file and line else None
    found: Set[str] = set()
    for node in walked(tree):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            for one in list(node.args) + [each.value for each in node.keywords]:
                found |= _names(one)
    return found


def prints_number(file: str, line: int) -> bool:
    """Whether a line prints a Python number that it, or a line before it, makes of a tensor."""
    function = _read_at(file, line)[1]
    for node in walked(function):
        if isinstance(node, ast.Call) and node.lineno <= line and _makes_number(node):
            if printed_at(file, node.lineno) == line:
                return True
    return False


#: the expressions of a node that need a value
_Needs = Callable[[ast.Module, ast.AST], Iterator[Any]]


def _used_at(file: str, line: int, needs: _Needs) -> int:
    tree, function = _read_at(file, line)
    if tree is None or function is None or not _HAS_ENDS:
        return 0
    for node in walked(function):
        for test in needs(tree, node):
            if test.lineno <= line <= last_line(test) and _makes_number(test):
                return int(test.lineno)
    statement: Any = _statement(function, line)
    if statement is None or statement.value is None or not _holds(statement.value, set()):
        return 0
    names = _assigned(statement)
    return _decided(tree, function, names, line, needs, deep=True, numbers=True) if names else 0


def in_same_function(file: str, line: int, other: int) -> bool:
    """Whether two lines of a file are of one function; True where its source is not there."""
    tree = parsed(file)
    return tree is None or _around(tree, line) is _around(tree, other)


def uncut_around(file: str, line: int) -> List[Tuple[str, int]]:
    """The loops and `try` statements of its function around a line, outermost first: `for`, `while`
    or `try`, and its line. Torch cannot cut a graph in them.
    """
    tree = parsed(file) if file and line else None
    work: List[Any] = [_around(tree, line)] if tree is not None else []
    found = []
    while work:
        node = work.pop()
        for child in ast.iter_child_nodes(node) if node is not None else ():
            if not isinstance(child, ast.stmt) and not isinstance(child, ast.ExceptHandler):
                continue
            if not child.lineno <= line <= last_line(child) or isinstance(child, _SCOPES):
                continue
            if isinstance(child, (ast.For, ast.While, ast.Try)):
                found.append((type(child).__name__.lower(), child.lineno))
            work.append(child)
    return found


def computed_after(file: str, line: int) -> int:
    """The first line on a side of the branch of a line, or below it, that computes something of
    what its function is given; 0 where there is none, or the line decides nothing.
    """
    function = _read_at(file, line)[1]
    nodes = walked(function)
    if not any(
        isinstance(one, ast.If) and one.test.lineno <= line <= last_line(one.test) for one in nodes
    ):
        return 0
    given = {one.arg for one in nodes if isinstance(one, ast.arg)} - {"self"}
    found = 0
    for one in nodes:
        if isinstance(one, ast.Call):
            taken = list(one.args) + [each.value for each in one.keywords]
            taken += [one.func.value] if isinstance(one.func, ast.Attribute) else []
        elif isinstance(one, ast.BinOp):
            taken = [one.left, one.right]
        else:
            continue
        if one.lineno > line and not _shows(one) and any(given & _names(each) for each in taken):
            found = min(found or one.lineno, one.lineno)
    return found


def only_chooses(file: str, line: int, name: str) -> bool:
    """Whether the function around a line uses a value only to choose what is computed: it compares
    it with constants, or calls what a container has by it, as `self.heads[task](x)` does.
    """
    function = _read_at(file, line)[1]
    above = {id(inner): node for node in walked(function) for inner in ast.iter_child_nodes(node)}
    chooses = False
    for node in walked(function):
        if path_of(node) != name or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        outer: Any = above.get(id(node))
        if type(outer).__name__ == "Index":  # up to 3.8
            outer = above.get(id(outer))
        further: Any = above.get(id(outer))
        if isinstance(outer, ast.Subscript) and outer.value is not node:
            if not isinstance(further, ast.Call) or further.func is not outer:
                return False
        elif isinstance(outer, ast.Compare):
            others = [one for one in [outer.left] + outer.comparators if one is not node]
            if not all(isinstance(one, (ast.Constant, ast.Tuple)) for one in others):
                return False
        elif isinstance(outer, (ast.Return, ast.Dict, ast.Tuple)):
            continue  # it is handed on as it is
        else:
            return False
        chooses = True
    return chooses


def ends_round(file: str, line: int) -> bool:
    """Whether a line decides whether a loop goes on: a side of its branch leaves the loop, goes to
    its next round, or returns; or it is the condition of a `while`.
    """
    ends = (ast.Break, ast.Continue, ast.Return)
    for node in walked(parsed(file)):
        if isinstance(node, ast.While) and node.test.lineno <= line <= last_line(node.test):
            return True
        if isinstance(node, ast.If) and node.test.lineno <= line <= last_line(node.test):
            sides = node.body + node.orelse
            return any(isinstance(one, ends) for side in sides for one in ast.walk(side))
    return False


def _computes_nothing(node: Any) -> bool:
    """Whether a statement only keeps, or tests, what has a name, as code around a call does."""
    plain = (ast.Break, ast.Continue, ast.Pass)
    if isinstance(node, ast.If):
        asked = [one for one in ast.walk(node.test) if isinstance(one, (ast.Call, ast.BinOp))]
        return not asked and all(map(_computes_nothing, node.body + node.orelse))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        return _method(call) == "append" and all(isinstance(one, ast.Name) for one in call.args)
    if isinstance(node, (ast.Return, ast.Assign)):
        names = (ast.Name, ast.Tuple, ast.Constant)
        return node.value is None or isinstance(node.value, names)
    return isinstance(node, plain)


def calls_alone(file: str, line: int) -> bool:
    """Whether all that the body of the innermost loop around a line computes is one call."""
    tree = parsed(file)
    loops = [one for one in uncut_around(file, line) if one[0] != "try"]
    for node in walked(tree) if tree is not None and loops else ():
        if isinstance(node, (ast.For, ast.While)) and node.lineno == loops[-1][1]:
            body: List[Any] = [one for one in node.body if not _computes_nothing(one)]
            kinds = (ast.Expr, ast.Assign, ast.Return)
            return (
                len(body) == 1
                and isinstance(body[0], kinds)
                and isinstance(body[0].value, ast.Call)
            )
    return False


def compiles(file: str) -> bool:
    """Whether a file asks torch to compile something."""
    tree = parsed(file) if file else None
    return any(
        is_compile(node)
        or (isinstance(node, ast.Name) and of_module(tree, node.id) == "torch.compile")
        for node in walked(tree)
    )


def is_compile(node: ast.AST) -> bool:
    """Whether an expression is torch's `compile`, or a module's."""
    is_named_so = isinstance(node, ast.Attribute) and node.attr == "compile"
    return is_named_so and path_of(node) != "re.compile"


def calls(file: str, method: str) -> bool:
    """Whether a file calls a method of that name."""
    tree = parsed(file)
    nodes = walked(tree)
    return any(isinstance(one, ast.Call) and _method(one) == method for one in nodes)


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def packs_sequences(file: str, line: int) -> bool:
    """Whether the function around a line packs sequences for an RNN, or unpacks those of one."""
    called = {
        path_of(node.func).rpartition(".")[2]
        for node in walked(_read_at(file, line)[1])
        if isinstance(node, ast.Call)
    }
    return bool(called & {"pack_padded_sequence", "pack_sequence", "pad_packed_sequence"})


def in_autograd_function(file: str, line: int) -> bool:
    """Whether a line is of a method of a torch.autograd.Function, by how its class is written."""
    tree = parsed(file)
    for node in walked(tree):
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= last_line(node):
            names = [getattr(one, "attr", getattr(one, "id", "")) for one in node.bases]
            if "Function" in names:
                return True
    return False


def _read_at(file: str, line: int) -> Tuple[Optional[ast.Module], Optional[Any]]:
    """(the syntax tree of a program's file, the innermost function in it that holds a line); None
    for what is not there.
    """
    tree = parsed(file) if file and line else None
    return tree, _around(tree, line) if tree is not None else None


def function_around(file: str, line: int) -> Optional[Any]:
    """The innermost function that holds a line; None where its source is not there."""
    return _read_at(file, line)[1]


def first_lines(function: Any) -> Iterator[int]:
    """The lines at which a function may be said to begin: its decorators', and up to its body."""
    yield from range(_begins(function), function.body[0].lineno + 1)


def function_starting_at(file: str, line: int) -> Optional[Any]:
    """The innermost function that begins at a line, with its decorators; None where there is
    none.
    """
    found = None
    for node in functions_of(parsed(file) if file and line else None):
        if _begins(node) <= line <= node.body[0].lineno:
            if found is None or _begins(node) >= _begins(found):
                found = node
    return found


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
    if names[:1] not in (["self"], ["cls"]):
        return 0
    if isinstance(call.func, ast.Name) and call.func.id == function.name:
        return 0
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_class = isinstance(owner, ast.Name) and owner.id[:1].isupper()
    return 0 if of_class and names[0] == "self" else 1


def _around(tree: ast.Module, line: int) -> Optional[Any]:
    """The innermost function that holds a line."""
    found = None
    for node in functions_of(tree):
        if node.lineno <= line <= last_line(node):
            if found is None or node.lineno >= found.lineno:
                found = node
    return found


def last_line(node: Any) -> int:
    return int(getattr(node, "end_lineno", None) or node.lineno)


def _statement(function: Any, line: int) -> Optional[ast.stmt]:
    """The statement without others inside that holds a line."""
    for node in walked(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            if node.lineno <= line <= last_line(node):
                return node
    return None


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
    if isinstance(node, ast.Subscript) and _is_container(tree, node.value):
        index = unwrapped(node.slice)
        if hasattr(index, "lineno") and not isinstance(index, (ast.Slice, ast.Tuple)):
            yield index


def _ordered(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What `max`, `min` and sorting compare."""
    yield from (one.body for one in _keys_of(node) if isinstance(one, ast.Lambda))


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


def _sizes(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The expressions on the size of which a node decides."""
    for test in tests_of(node):
        for one in ast.walk(test):
            if isinstance(one, ast.Attribute) and one.attr in (
                "shape",
                "size",
                "numel",
                "nelement",
            ):
                yield one.value
            elif isinstance(one, ast.Call) and getattr(one.func, "id", "") == "len":
                yield from one.args


def _printed(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The expressions that a node prints."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
        yield from node.args


def _appended(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node adds to a container that lives longer than the function."""
    if isinstance(node, ast.Call) and _method(node) in _GROWS:
        kept = path_of(_whole(node.func.value)) if isinstance(node.func, ast.Attribute) else ""
        function = _around(tree, node.lineno)
        own = {
            name
            for one in walked(function)
            if isinstance(one, (ast.Assign, ast.AnnAssign))
            for name in _assigned(one)
        }
        if kept and kept not in own:
            yield from node.args


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


_CONTAINERS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)


def _is_container(tree: ast.Module, node: ast.AST) -> bool:
    """Whether a value is a list, tuple or dict by how it is written, or by what the file assigns to
    its name.
    """
    made = list(_made(tree, node))
    return bool(made) and all(isinstance(one, _CONTAINERS) or _makes_list(one) for one in made)


def _makes_list(node: Any) -> bool:
    """Whether an expression calls what gives a list or tuple of Python's."""
    if not isinstance(node, ast.Call):
        return False
    return _method(node) == "tolist" or getattr(node.func, "id", "") in ("list", "sorted", "tuple")


def _made(tree: Any, node: ast.AST) -> Iterator[ast.AST]:
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
        elif isinstance(one, _OF_NUMBERS):
            work += ast.iter_child_nodes(one)
    return False


def _makes_number(test: ast.AST) -> bool:
    """Whether an expression turns something into a Python number."""
    return any(map(_turns_into_number, ast.walk(test)))


def _turns_into_number(node: Any) -> bool:
    """Whether a node is a call that turns something into a Python number."""
    name = node.func if isinstance(node, ast.Call) else None
    if isinstance(name, ast.Attribute):
        return name.attr in ("item", "tolist")
    return isinstance(name, ast.Name) and name.id in _MAKE_NUMBERS


def path_of(node: ast.AST) -> str:
    """`self.count` for an attribute of a name; "" for other expressions."""
    parts: List[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id] + parts[::-1]) if isinstance(node, ast.Name) else ""


def _whole(node: Any) -> Any:
    """The container of containers that an element is of: `stats` for `stats["loss"]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _keyed(node: Any) -> str:
    """As `path_of`, with the keys that stand in the source, as a guard writes them."""
    keys = ""
    while isinstance(node, ast.Subscript):
        index = unwrapped(node.slice)
        if not isinstance(index, ast.Constant) or not path_of(_whole(node)):
            return ""
        keys = "[%r]%s" % (index.value, keys)
        node = node.value
    path = path_of(node)
    return path + keys if path else ""


def _assigned(statement: ast.stmt) -> Set[str]:
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


def _names(node: ast.AST) -> Set[str]:
    found = {path_of(one) for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))}
    return found - {""}


def _is_identity(test: ast.AST) -> bool:
    """Whether a test asks which object it is, which no value decides."""
    return isinstance(test, ast.Compare) and all(
        isinstance(one, (ast.Is, ast.IsNot)) for one in test.ops
    )


def _decided(
    tree: ast.Module,
    function: Any,
    names: Set[str],
    after: int,
    needs: _Needs,
    deep: bool,
    whole: bool = False,
    numbers: bool = False,
) -> int:
    """The first line below line `after` in a function that needs the value of a name.

    With `whole`, what is computed from other names, too, is another value. With `numbers`, what a
    function makes of a number is one no more: it may be a tensor.
    """

    def depends(node: Any) -> bool:
        return _holds(node, names) if numbers else bool(names & _names(node))

    names = set(names)
    nodes: List[Any] = [
        one for one in walked(function) if getattr(one, "lineno", 0) > after and one is not function
    ]
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
        for test in needs(tree, node):
            if not _is_identity(test) and depends(test):
                return int(test.lineno)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            used = _names(node.value)
            if whole:  # a length is no other value, nor is `self` of `self.count` another name
                used = _names_but_of_lengths(node.value)
                used = {one for one in used if not any(it.startswith(one + ".") for it in used)}
            if (bool(used) and used <= names) if whole else depends(node.value):
                names |= _assigned(node)
        elif deep and isinstance(node, ast.Call):
            found = _decided_in_call(tree, node, names, needs, numbers)
            if found:
                return found
    return 0


def _names_but_of_lengths(node: ast.AST) -> Set[str]:
    """The names of an expression, as `_names`, without those that `len` alone is given."""
    found: Set[str] = set()
    work: List[ast.AST] = [node]
    while work:
        one = work.pop()
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "len":
            continue
        path = path_of(one)
        if path:
            found |= _names(one)
        else:
            work += ast.iter_child_nodes(one)
    return found


def _decided_in_call(
    tree: ast.Module, call: ast.Call, names: Set[str], needs: _Needs, numbers: bool
) -> int:
    """The line that needs it, in the only function of the file that a call can mean."""
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", "")
    called = [one for one in functions_of(tree) if one.name == name]
    if len(called) != 1:
        return 0
    passed = {
        key
        for key, value in given_by(call, called[0]).items()
        if (_holds(value, names) if numbers else names & _names(value))
    }
    if path_of(call.func) == "self.%s" % name:  # the same object
        passed |= {one for one in names if one.startswith("self.")}
    if not passed:
        return 0
    at = called[0].lineno
    return _decided(tree, called[0], passed, at, needs, deep=False, numbers=numbers)
