"""What a program calls: torch.compile, the mode of a module, packed sequences."""

import ast
from typing import Any, Iterator, List, Set

from depyf.advice.uses.names import imported, method_of, of_module, path_of
from depyf.advice.uses.trees import (
    function_around,
    function_starting_at,
    last_line,
    parsed,
    read_at,
    walked,
)


def mode_switched_at(file: str) -> int:
    """The first line of a file that does nothing but call `eval()` of an object; 0 for none."""
    lines = [
        node.lineno
        for node in walked(parsed(file))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if method_of(node.value) == "eval" and not node.value.args
    ]
    return min(lines, default=0)


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
    return any(isinstance(one, ast.Call) and method_of(one) == method for one in nodes)


def packs_sequences(file: str, line: int) -> bool:
    """Whether the function around a line packs sequences for an RNN, or unpacks those of one."""
    called = {
        path_of(node.func).rpartition(".")[2]
        for node in walked(read_at(file, line)[1])
        if isinstance(node, ast.Call)
    }
    return bool(called & {"pack_padded_sequence", "pack_sequence", "pad_packed_sequence"})


def creates_graph(file: str, line: int) -> bool:
    """Whether a call of `grad` on a line makes a graph of the gradient, for another one of it."""
    return any(
        each.arg == "create_graph" and getattr(each.value, "value", True) is not False
        for node in walked(read_at(file, line)[1])
        if isinstance(node, ast.Call) and method_of(node) == "grad"
        if node.lineno <= line <= last_line(node)
        for each in node.keywords
    )


def in_autograd_function(file: str, line: int) -> bool:
    """Whether a line is of a method of a torch.autograd.Function, by how its class is written."""
    classes = _autograd_functions(parsed(file))
    return any(one.lineno <= line <= last_line(one) for one in classes)


#: what shows its arguments: a function, and the methods of a logger
_SHOWS = frozenset("print debug info warning error critical exception log".split())


#: methods of a tensor whose results share no memory with it
_MAKES = frozenset(
    "all amax amin any clone item max mean min norm numel prod size std sum var".split()
)


def shows_its_own(file: str, called: str) -> bool:
    """Whether each call of a function, by the end of its name, shows nothing that a later line can
    change in place: constants, texts, and what an operation in the call itself makes.
    """
    return all(
        _is_own(each)
        for node in walked(parsed(file))
        if isinstance(node, ast.Call)
        if (method_of(node) or getattr(node.func, "id", "")) == called
        for each in node.args
    )


def _is_own(node: ast.expr) -> bool:
    made = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.Constant)
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "dtype", "device", "ndim")
    return isinstance(node, made) or isinstance(node, ast.Call) and method_of(node) in _MAKES


def only_shown(file: str, line: int, name: str) -> bool:
    """Whether the function at a line uses what has a name in calls that print or log alone."""
    function = function_starting_at(file, line) or function_around(file, line)
    shown: Set[int] = set()
    used = [one for one in walked(function) if path_of(one) == name]
    for node in walked(function):
        if isinstance(node, ast.Call):
            if getattr(node.func, "id", getattr(node.func, "attr", "")) in _SHOWS:
                shown.update(id(one) for each in node.args for one in ast.walk(each))
    return bool(used) and all(id(one) in shown for one in used)


def forward_of(tree: Any, name: str) -> Any:
    """The `forward` that `apply` of a torch.autograd.Function of this name calls; None for none."""
    classes = [one for one in _autograd_functions(tree) if one.name == name]
    methods = classes[0].body if len(classes) == 1 else []
    return next((one for one in methods if getattr(one, "name", "") == "forward"), None)


def _autograd_functions(tree: Any) -> Iterator[ast.ClassDef]:
    for node in walked(tree):
        if isinstance(node, ast.ClassDef):
            names = [getattr(one, "attr", getattr(one, "id", "")) for one in node.bases]
            if "Function" in names:
                yield node


_CHECKPOINTS = ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")


def checkpoints_in(file: str, line: int) -> List[int]:
    """The lines of the function around a line that call torch.utils.checkpoint."""
    tree, function = read_at(file, line)
    modules = imported(tree) if tree is not None else {}
    found = set()
    for node in walked(function):
        called = path_of(node.func) if isinstance(node, ast.Call) else ""
        root, dot, rest = called.partition(".")
        if modules.get(root, root) + dot + rest in _CHECKPOINTS:
            found.add(node.lineno)
    return sorted(found)
