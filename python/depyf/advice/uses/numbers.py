"""Where the numbers of a program are: written, passed, given to functions outside of torch."""

import ast
from typing import Any, Iterator, List, Sequence, Set, Tuple

from depyf.advice.tensor_arguments import TAKE_TENSORS
from depyf.advice.uses.names import (
    assigned,
    container_of,
    given_by,
    imported,
    is_of_numbers,
    made_of,
    method_of,
    named_as,
    names_in,
    of_module,
    path_of,
    stores_of,
    unwrapped,
)
from depyf.advice.uses.containers import is_dict, makes_dict
from depyf.advice.uses.following import (
    first_needing,
    parts_of_number,
    where_needed,
    where_used,
)
from depyf.advice.uses.needs import DRAW, indices_of, tests_of
from depyf.advice.uses.shapes import numbers_needed
from depyf.advice.uses.trees import (
    HAS_ENDS,
    functions_of,
    innermost,
    last_line,
    only_named,
    parsed,
    read_at,
    walked,
)


def equals_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that decides on a name by a test that may ask
    for one value, as a range alone makes no constant; 0 for none.
    """
    return where_needed(file, line, name, _equalities_of)


def selects_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that picks an element of a container that the file
    makes with a name; 0 as above.
    """
    return where_needed(file, line, name, indices_of)


def lines_needing_pick(file: str, line: int, name: str) -> List[int]:
    """The lines, in the function around a line and in what it calls with it, that need the value of
    an element that the function picks with a name, or that decide on the name: an index, a bound, a
    test, a text.
    """
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    if tree is None or function is None or not names:
        return []

    def picks(node: Any) -> bool:
        return any(
            isinstance(one, ast.Subscript)
            and not isinstance(one.ctx, ast.Store)
            and names & names_in(one.slice)
            for one in ast.walk(node)
        )

    def gives_pick(node: Any) -> bool:
        return any(isinstance(one, ast.Subscript) and picks(one) for one in parts_of_number(node))

    found = set()
    picked: Set[str] = set()
    for node in walked(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            picked |= assigned(node) if gives_pick(node.value) else set()
        elif isinstance(node, ast.Call):
            called = only_named(tree, method_of(node) or getattr(node.func, "id", ""))
            given = given_by(node, called) if called is not None else {}
            passed = {key for key, value in given.items() if gives_pick(value)}
            if passed:
                at = int(called.lineno)
                found.add(
                    first_needing(tree, called, passed, at, _pick_needs, deep=False, numbers=True)
                )
        found |= {int(one.lineno) for one in numbers_needed(tree, node) if picks(one)}
        found |= {int(one.lineno) for one in _tests_and_texts(tree, node) if names & names_in(one)}
    at = int(function.lineno)
    while at and picked:
        at = first_needing(tree, function, picked, at, _pick_needs, deep=True, numbers=True)
        if at in found:
            break
        found.add(at)
    return sorted(found - {0})


def _tests_and_texts(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    yield from tests_of(node)
    if isinstance(node, ast.FormattedValue):
        yield node.value


def _pick_needs(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    yield from tests_of(node)
    yield from numbers_needed(tree, node)


def _equalities_of(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The tests of a node, without their parts that ask whether a number is in a range."""
    work = list(tests_of(node))
    for one in work:
        if isinstance(one, ast.BoolOp):
            work += one.values
        elif isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not):
            work.append(one.operand)
        elif not isinstance(one, ast.Compare) or not all(isinstance(a, _ORDER) for a in one.ops):
            yield one


_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def put_into_dict_at(file: str, line: int) -> int:
    """The line that updates a dict with numbers that a line makes of a tensor; 0 for none."""
    return where_used(file, line, _updated)


def _updated(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "update" and is_dict(tree, node.func.value):
            yield from node.args


def updated_at(file: str, line: int) -> int:
    """The line that updates with the number that a line makes of a tensor what stays between calls:
    an attribute, a global or an element that is a number, or an object with a method `update`; 0
    for none.
    """
    return where_used(file, line, _updates)


def counted_near(file: str, line: int) -> int:
    """The first line, in the function around a line or in one of the file that it calls, that
    updates a number which stays between calls; 0 for none.
    """
    tree, function = read_at(file, line)
    if tree is None or function is None:
        return 0
    called = [
        only_named(tree, method_of(one) or getattr(one.func, "id", ""))
        for one in walked(function)
        if isinstance(one, ast.Call)
    ]
    for each in [function] + called:
        for node in walked(each):
            if any(_updated_numbers(tree, node)):
                return int(node.lineno)
    return 0


def _updates(tree: ast.Module, node: Any) -> Iterator[Any]:
    """As `_updated_numbers`, and what the method `update` of a class of another file is given."""
    yield from _updated_numbers(tree, node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "update" and all(one.name != "update" for one in functions_of(tree)):
            yield from node.args


def _updated_numbers(tree: ast.Module, node: Any) -> Iterator[Any]:
    """What a statement updates a number with that stays between calls."""
    if not isinstance(node, (ast.Assign, ast.AugAssign)):
        return
    for target, value in stores_of(node):
        whole = container_of(target)
        again = isinstance(node, ast.AugAssign) or path_of(whole) in names_in(value)
        if again and _stays(tree, whole, node.lineno) and _is_number(tree, target):
            yield value


def _stays(tree: ast.Module, whole: Any, line: int) -> bool:
    """Whether what a function assigns to, or to an element of, is not its own."""
    if isinstance(whole, ast.Attribute):
        return bool(path_of(whole))
    name, function = path_of(whole), innermost(tree, line)
    outer = {
        each
        for one in walked(function)
        if isinstance(one, (ast.Global, ast.Nonlocal))
        for each in one.names
    }
    own = {
        each
        for one in walked(function)
        if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        for each in assigned(one)
    }
    return bool(name) and (name in outer or name not in own)


def _is_number(tree: ast.Module, target: Any) -> bool:
    """Whether the file makes a target, or what it is an element of, of numbers and of no tensor."""
    made = list(made_of(tree, container_of(target)))
    if any(one.partition(".")[0] in ("torch", "nn") for each in made for one in names_in(each)):
        return False
    if isinstance(target, ast.Subscript):
        return any(
            is_of_numbers(one) or isinstance(one, ast.Dict) or makes_dict(one) for one in made
        )
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, (int, float)) for one in made
    )


def picks_number(file: str, line: int, name: str) -> bool:
    """Whether the function around a line picks, with a name, an element of a container that the
    file writes as one of numbers.
    """
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    for node in walked(function):
        if isinstance(node, ast.Subscript) and names & names_in(node.slice):
            made = list(made_of(tree, node.value))
            if made and all(is_of_numbers(one) for one in made):
                return True
    return False


def picks_at(file: str, line: int, name: str) -> bool:
    """Whether a line has a subscript of which a name is the whole index."""
    tree, function = read_at(file, line)
    names = named_as(function, name) if function is not None else set()
    return any(
        isinstance(node, ast.Subscript) and path_of(unwrapped(node.slice)) in names
        for node in walked(function)
        if getattr(node, "lineno", 0) == line
    )


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
    function = innermost(tree, line) if tree is not None else None
    names = named_as(function, name) if function is not None else set()
    for node in walked(function):
        if not isinstance(node, ast.Call) or not node.lineno <= line <= last_line(node):
            continue
        called = path_of(node.func).rpartition(".")[2] or method_of(node)
        if called in own or not called:
            continue
        for one in node.keywords:
            takes_tensor = called in TAKE_TENSORS
            if one.arg in _TAKES_NUMBERS and not takes_tensor and _is_of(one.value, names):
                return called, str(one.arg)
        for place in _PLACES_OF_NUMBERS.get(called, ()):
            if place < len(node.args) and path_of(node.args[place]) in names:
                return called, ""
    return "", ""


def _is_of(value: ast.AST, names: Set[str]) -> bool:
    """Whether a value is one that has a name, or is computed from one, as 1 - decay."""
    if isinstance(value, ast.BinOp):
        return _is_of(value.left, names) or _is_of(value.right, names)
    return path_of(value) in names


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
        if (path_of(one.func).rpartition(".")[2] or method_of(one)) == called
    )


#: modules whose functions compute with Python's numbers, or with arrays of their own
OF_PYTHON = ("cmath", "math", "numpy", "scipy")


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
    tree, function = read_at(file, line)
    if tree is None or function is None or not HAS_ENDS:
        return []
    names = named_as(function, name)
    for _, call in () if name else _outside_calls(file, line, line):
        names |= {one for given in call.args for one in names_in(given)}
    found = {
        call.lineno
        for _, call in _outside_calls(file, function.lineno, last_line(function))
        if any(names & names_in(one) for one in call.args)
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
                if any(not isinstance(one, ast.Constant) and names_in(one) for one in node.args):
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


def object_draw_at(file: str, line: int) -> str:
    """The method of an object, named as those of `random.Random`, that a line calls to draw a
    number, as the program spells it; "" for none, and for functions of modules.
    """
    tree = parsed(file) if file and line else None
    for node in walked(tree):
        if isinstance(node, ast.Call) and node.lineno <= line <= last_line(node):
            called = path_of(node.func)
            if method_of(node) in DRAW and called.partition(".")[0] not in ("", *imported(tree)):
                return called
    return ""


def math_at(file: str, line: int) -> str:
    """The function of math that a line calls with a value that is computed there; "" for none."""
    tree = parsed(file) if file and line else None
    for called, call in _outside_calls(file, line, line):
        if of_module(tree, called).startswith("math."):
            return called
    return ""
