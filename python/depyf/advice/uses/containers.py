"""What a program does with lists, dicts and the attributes of objects."""

import ast
import textwrap
from typing import Any, Dict, FrozenSet, Iterator, List, Set, Tuple

from depyf.advice.uses.names import (
    container_of,
    given_by,
    is_of_numbers,
    is_size,
    made_of,
    method_of,
    named_as,
    names_in,
    of_module,
    path_of,
    stores_of,
    targets_of,
    unwrapped,
)
from depyf.advice.uses.trees import (
    SCOPES,
    class_around,
    function_starting_at,
    innermost,
    last_line,
    nodes_at,
    only_named,
    parsed,
    read_at,
    tree_of,
    walked,
)


def counted_at(file: str, line: int) -> List[int]:
    """The lines, in the function around a line, that add to a number of its object, or to one in a
    list of it.
    """
    tree, function = read_at(file, line)
    found = []
    for node in walked(function):
        if isinstance(node, ast.AugAssign):
            target: Any = node.target
            target = target.value if isinstance(target, ast.Subscript) else target
            if path_of(target).startswith("self.") and counts(tree, node.target):
                found.append(node.lineno)
    return sorted(found)


def makes_dict(node: Any) -> bool:
    """Whether an expression calls a class of Python's containers."""
    func = getattr(node, "func", None)
    return getattr(func, "attr", getattr(func, "id", "")) in _MAKE_CONTAINERS


_MAKE_CONTAINERS = ("defaultdict", "Counter", "OrderedDict", "dict", "list", "deque")


def counts(tree: Any, target: Any) -> bool:
    """Whether the file makes a target of numbers, or one in a list of numbers."""
    if isinstance(target, ast.Subscript):
        lists: List[Any] = list(made_of(tree, target.value))
        lists = [one.left if isinstance(one, ast.BinOp) else one for one in lists]  # [0] * 4
        return bool(lists) and all(map(is_of_numbers, lists))
    made: List[Any] = list(made_of(tree, target))
    return bool(made) and all(
        isinstance(one, ast.Constant) and isinstance(one.value, (int, float)) for one in made
    )


#: methods by which a list, deque or set grows
GROWS = frozenset("append appendleft extend extendleft insert add".split())


_ADD_TO = ("heappush", "insort", "insort_left", "insort_right")  # functions that add to a list


def spelt_at(file: str, line: int, name: str) -> bool:
    """Whether an f-string of a line holds a number that a guard names."""
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    return any(
        isinstance(node, ast.FormattedValue) and bool(names & names_in(node.value))
        for node in walked(function)
        if getattr(node, "lineno", 0) == line
    )


def container_uses(file: str, line: int, name: str) -> Set[str]:
    """What the function around a line does with a container: "grows", "shown" (printed or logged,
    or only asked for that), "length" (and nothing else of it), "end" (of elements those that are
    counted from the end), "part" (slices that are), "all" (anything else). A test of what it is,
    such as `is None`, is no use.

    Args:
        file, line: of the program, a line of the function.
        name: as a guard names it, such as `self.seen`.
    Returns:
        None of them where its source is not there, or names it otherwise.
    """
    function = read_at(file, line)[1]
    if function is None:
        return set()
    return _own_uses(function, name)


def _own_uses(function: Any, name: str) -> Set[str]:
    """As `container_uses`, of a function."""
    parents = {one: node for node in walked(function) for one in ast.iter_child_nodes(node)}
    base = name.partition("[")[0]  # of `stats['loss']` the list, not the dict around it
    names = {one + name[len(base) :] for one in named_as(function, base)}
    found = set()
    for node in walked(function):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and _keyed(node) in names:
            if isinstance(node.ctx, ast.Load) and not _asks_what_it_is(parents.get(node)):
                found.add(_use_of(node, parents))
    return found


def grows_in_call(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that gives a container to a function of the file
    which adds to it; 0 for none.
    """
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    for node in walked(function):
        given = list(node.args) if isinstance(node, ast.Call) else []
        given += [one.value for one in node.keywords] if given or isinstance(node, ast.Call) else []
        if any(path_of(one) in names for one in given):
            called = only_named(tree, method_of(node) or getattr(node.func, "id", ""))
            for to, value in given_by(node, called).items() if called is not None else ():
                used = path_of(value) in names and _own_uses(called, to)
                if used and "grows" in used:
                    return int(node.lineno)
    return 0


def _asks_what_it_is(node: Any) -> bool:
    """Whether an expression compares by identity, or asks for the type: it reads no element."""
    if isinstance(node, ast.Compare):
        return all(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops)
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("id", "isinstance", "type")
    return False


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
    methods = {one.name: one for one in classes[-1].body if isinstance(one, SCOPES)}
    work = list(_called_on(caller, named_as(caller, owner)))
    found: Set[str] = set()
    seen: Set[str] = set()
    while work:
        method = methods.get(work.pop())
        if method is not None and method.name not in seen:
            seen.add(method.name)
            found |= container_uses(file, method.body[0].lineno, "self." + kept)
            work += _called_on(method, {"self"})
    return found


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


def put_at(file: str, line: int, name: str) -> bool:
    """Whether a line adds what has a name to a set."""
    return any(
        method_of(node) in ("add", "discard") and name in map(path_of, node.args)
        for node in nodes_at(parsed(file) if file and line else None, line)
        if isinstance(node, ast.Call)
    )


def shows(node: Any) -> bool:
    """Whether a node is a call that prints or logs, or a branch that does nothing else."""
    if isinstance(node, ast.If):
        return all(isinstance(one, ast.Expr) and shows(one.value) for one in node.body) and (
            not node.orelse
        )
    if not isinstance(node, ast.Call):
        return False
    return getattr(node.func, "id", "") == "print" or method_of(node) in _LOGS


def _is_shown(node: Any, parents: Any) -> bool:
    """Whether an expression is read only to be printed or logged, or to decide whether to."""
    while node is not None and not isinstance(node, ast.stmt):
        if shows(node):
            return True
        node = parents.get(node)
    return isinstance(node, ast.If) and shows(node)


def _use_of(node: Any, parents: Any) -> str:
    if _is_shown(node, parents):
        return "shown"
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and node in parent.args[:1]:
        if (method_of(parent) or getattr(parent.func, "id", "")) in _ADD_TO:
            return "grows"
    if isinstance(parent, ast.Attribute):
        called = isinstance(parents.get(parent), ast.Call) and parents[parent].func is parent
        return "grows" if called and parent.attr in GROWS else "all"
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
    tree, function = read_at(file, line)
    path, _, rest = name.partition("[")
    owner, _, last = path.rpartition(".")
    if tree is None or function is None or not owner:
        return []
    within = class_around(tree, function)
    parents = {one: node for node in walked(tree) for one in ast.iter_child_nodes(node)}
    own = set(map(id, walked(function)))
    found = set()
    for node in walked(tree):
        if isinstance(node, ast.Attribute) and node.attr == last and id(node) not in own:
            around = innermost(tree, node.lineno)
            of_self = getattr(node.value, "id", "") == "self" and owner == "self"
            if of_self and class_around(tree, around) is not within:
                continue
            if isinstance(node.ctx, ast.Load) and _reads(tree, node, parents, bool(rest)):
                found.add(node.lineno)
    return sorted(found)


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
            if called in _TAKE_NUMBERS or method_of(at) in _KEEP:
                return True
            if whole and called not in ("len", "sum"):
                return True
    return False


def keys_given(file: str, line: int, name: str) -> List[str]:
    """The keys, texts that stand in the source, that the function around a line gives to a dict
    and reads nowhere; [] where it gives it others, too.
    """
    function = read_at(file, line)[1]
    names = named_as(function, name) if function is not None else set()
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
    tree, function = read_at(file, line)
    if tree is None or function is None:
        return False
    asked = filled = False
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            asked = asked or path_of(node.comparators[0]) == name
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            filled = filled or path_of(node.value) == name
    return asked and filled


def fills_at(file: str, line: int, name: str, told: bool = False) -> int:
    """The first line, in the function around a line, that gives a dict a key which no source tells,
    with `told` any key; 0 for none.
    """
    function = read_at(file, line)[1]
    names = named_as(function, name) if function is not None else set()
    found = [
        int(node.lineno)
        for node in walked(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and path_of(node.value) in names
        and (told or not isinstance(unwrapped(node.slice), ast.Constant))
    ]
    found += [
        int(node.lineno)
        for node in walked(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("update", "setdefault") and path_of(node.func.value) in names
        if told or any(not isinstance(each, (ast.Dict, ast.Constant)) for each in node.args[:1])
    ]
    return min(found, default=0)


def counts_at(file: str, line: int, name: str) -> int:
    """The first line, in the function around a line, that computes an element of a dict, by a key
    which no source tells, from the dict itself; 0 for none.
    """
    function = read_at(file, line)[1]
    names = named_as(function, name) if function is not None else set()
    found = []
    for node in walked(function):
        for target, value in stores_of(node):
            if isinstance(target, ast.Subscript) and path_of(target.value) in names:
                read = {path_of(one) for one in ast.walk(value)} & names
                own = isinstance(node, ast.AugAssign) or bool(read)
                if own and not isinstance(unwrapped(target.slice), ast.Constant):
                    found.append(int(node.lineno))
    return min(found, default=0)


def is_dict(tree: Any, node: ast.AST) -> bool:
    """Whether a value is a dict of Python's by all that the file assigns to its name."""
    made = list(made_of(tree, node))
    return bool(made) and all(
        isinstance(one, (ast.Dict, ast.DictComp))
        or isinstance(one, ast.Call)
        and getattr(one.func, "attr", getattr(one.func, "id", "")) in _DICTS
        for one in made
    )


def sets_in(source: str, name: str) -> bool:
    """Whether a function, given its source, assigns to what has this name."""
    tree = tree_of(textwrap.dedent(source))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            if any(path_of(target) == name for target in targets_of(node)):
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


def attributes_set(source: str) -> FrozenSet[str]:
    """The attributes that torch's code for a function sets: by a statement, or by what it calls in
    place of `setattr`.
    """
    found: Set[str] = set()
    tree = tree_of(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and "setattr" in path_of(node.func):
            named = [getattr(one, "value", getattr(one, "s", None)) for one in node.args]
            found.update(one for one in named if isinstance(one, str))
    return frozenset(found)


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
        if isinstance(function, SCOPES) and function.name == "__init__":
            arguments = function.args.args[1:] + function.args.kwonlyargs
            names = {one.arg for one in arguments}
            given.update((id(node), names) for node in walked(function))
    stores = [
        bool(given.get(id(node), set()) & names_in(value))
        for node in walked(tree)
        for target, value in stores_of(node)
        if isinstance(target, ast.Attribute) and target.attr == attribute
    ]
    return bool(stores) and all(stores)


def used_in_turn(file: str, line: int) -> bool:
    """Whether the objects of the method that begins at a line are used one after the other: one
    line of the file makes them, in a function or a loop that calls the method, and hands them on to
    nothing else.
    """
    tree, method = parsed(file) if file else None, function_starting_at(file, line)
    around = class_around(tree, method) if tree is not None and method is not None else None
    made = [
        node
        for node in walked(tree)
        if around is not None and isinstance(node, ast.Call) and path_of(node.func) == around.name
    ]
    if tree is None or method is None or len(made) != 1:
        return False
    scope = innermost(tree, made[0].lineno)
    known: Any = scope  # what has the name that holds them
    if scope is None:  # the loop at the module's level
        known = tree
        scope = next((one for one in walked(tree) if _is_loop_with(one, made[0])), None)
    stored = [one for one in walked(scope) if getattr(one, "value", None) is made[0]]
    target = stored[0].targets[0] if stored and isinstance(stored[0], ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    calls = {id(one.func): one for one in walked(scope) if isinstance(one, ast.Call)}
    owners = {id(one.value): one for one in walked(scope) if isinstance(one, ast.Attribute)}
    called = False
    for node in walked(known):
        if isinstance(node, ast.Name) and node.id == target.id and node is not target:
            owner = owners.get(id(node))
            if owner is not None and owner.attr != method.name:
                continue  # another attribute or method
            if id(owner or node) not in calls:
                return False
            called = True
    return called


def _is_loop_with(node: ast.AST, inner: ast.AST) -> bool:
    return isinstance(node, (ast.For, ast.While)) and any(one is inner for one in ast.walk(node))


def key_at(file: str, line: int) -> bool:
    """Whether a line looks something up in a container, or asks whether it is there."""
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, ast.Compare) and node.lineno <= line <= last_line(node):
            if any(isinstance(one, (ast.In, ast.NotIn)) for one in node.ops):
                return True
        if isinstance(node, ast.Call) and method_of(node) in ("get", "setdefault"):
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
    tree, function = read_at(file, line)
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


#: what makes a dict, but for a display
_DICTS = ("dict", "defaultdict", "Counter", "OrderedDict")


def _is_dict(tree: Any, node: Any) -> bool:
    """Whether the file makes a dict of what a name, or an attribute, is."""
    return any(
        isinstance(one, (ast.Dict, ast.DictComp))
        or isinstance(one, ast.Call)
        and path_of(one.func).rpartition(".")[2] in _DICTS
        for one in made_of(tree, node)
    )


CONTAINERS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)


def makes_container(tree: ast.Module, node: ast.AST) -> bool:
    """Whether a value is a list, tuple or dict by how it is written, or by what the file assigns to
    its name.
    """
    made = list(made_of(tree, node))
    return bool(made) and all(isinstance(one, CONTAINERS) or _makes_list(one) for one in made)


def _makes_list(node: Any) -> bool:
    """Whether an expression calls what gives a list or tuple of Python's."""
    if not isinstance(node, ast.Call):
        return False
    return method_of(node) == "tolist" or getattr(node.func, "id", "") in (
        "list",
        "sorted",
        "tuple",
    )


def _keyed(node: Any) -> str:
    """As `path_of`, with the keys that stand in the source, as a guard writes them."""
    keys = ""
    while isinstance(node, ast.Subscript):
        index = unwrapped(node.slice)
        if not isinstance(index, ast.Constant) or not path_of(container_of(node)):
            return ""
        keys = "[%r]%s" % (index.value, keys)
        node = node.value
    path = path_of(node)
    return path + keys if path else ""
