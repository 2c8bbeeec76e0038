"""The trees of a program's files: where its functions and statements begin and end."""

import ast
import linecache
import os
import tokenize
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Optional, Tuple

from depyf import compiling

_MOST = 4 * 2**20  # bytes of a source file that is read
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*SCOPES, ast.ClassDef)
#: whether nodes tell their last line, as from Python 3.8 on
HAS_ENDS = "end_lineno" in ast.stmt._attributes


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
        text = _text_of(file, state.st_mtime_ns, state.st_size)
        return tree_of(text) if text is not None else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _text_of(file: str, changed: int, size: int) -> Optional[str]:
    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, ValueError, UnicodeError):
        return None


#: trees that are kept, by their texts
_trees: Dict[str, Optional[ast.Module]] = {}
#: characters of the texts whose trees are kept
_MOST_KEPT = 2**21
_UNKNOWN: Any = object()


def tree_of(source: str) -> Optional[ast.Module]:
    """The syntax tree of a text; None where it is none of Python's."""
    kept = _trees.get(source, _UNKNOWN)
    if kept is not _UNKNOWN:
        found: Optional[ast.Module] = kept
        return found
    try:
        tree: Optional[ast.Module] = compiling.places_of(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if sum(map(len, list(_trees)), len(source)) > _MOST_KEPT:
        _trees.clear()
    _trees[source] = tree
    return tree


@lru_cache(maxsize=256)
def walked(tree: Optional[ast.AST]) -> Tuple[Any, ...]:
    """All nodes of a file or function, outer ones first, none of None; kept, as a report asks often
    of few.
    """
    return tuple(compiling.walk(tree)) if tree is not None else ()


@lru_cache(maxsize=256)
def functions_of(tree: Optional[ast.Module]) -> Tuple[Any, ...]:
    """The functions of a file, outer ones first."""
    return tuple(compiling.functions_in(tree)) if tree is not None else ()


@lru_cache(maxsize=256)
def nodes_at(tree: Optional[ast.Module], line: int) -> Tuple[Any, ...]:
    """The nodes of a file that hold a line, outer ones first, and those that have no lines; none of
    None.
    """
    found: List[Any] = [tree] if tree is not None else []
    for node in found:
        for value in compiling.values_of(node):
            for one in value if type(value) is list else (value,):
                if isinstance(one, ast.AST) and _holds(one, line):
                    found.append(one)
    return tuple(found)


def _holds(node: Any, line: int) -> bool:
    first = first_line(node) if isinstance(node, DEFINITIONS) else getattr(node, "lineno", line)
    return first <= line <= (getattr(node, "end_lineno", None) or line)


def only_named(tree: Optional[ast.Module], name: Optional[str]) -> Any:
    """The function of a file with a name, if there is one and no other; else None."""
    found = [one for one in functions_of(tree) if one.name == name]
    return found[0] if len(found) == 1 else None


def first_line(statement: Any) -> int:
    """The line at which a statement begins, a function or class with its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno] + [one.lineno for one in decorators])


def class_at(file: str, line: int) -> str:
    """The class whose method is around a line; "" for none."""
    tree, function = read_at(file, line)
    around = class_around(tree, function) if tree is not None else None
    return around.name if around is not None else ""


def class_around(tree: ast.Module, function: Any) -> Any:
    """The class that a function is a method of; None where it is none."""
    for node in walked(tree):
        if isinstance(node, ast.ClassDef) and function in node.body:
            return node
    return None


def body_line(file: str, line: int) -> int:
    """The first line of the body of the function that begins at a line, with its decorators; 0
    where there is none.
    """
    tree = parsed(file) if file and line else None
    for one in functions_of(tree):
        if first_line(one) <= line <= one.body[0].lineno:
            return int(one.body[0].lineno)
    return 0


def in_same_function(file: str, line: int, other: int) -> bool:
    """Whether two lines of a file are of one function; True where its source is not there."""
    tree = parsed(file)
    return tree is None or innermost(tree, line) is innermost(tree, other)


def read_at(file: str, line: int) -> Tuple[Optional[ast.Module], Optional[Any]]:
    """(the syntax tree of a program's file, the innermost function in it that holds a line); None
    for what is not there.
    """
    tree = parsed(file) if file and line else None
    return tree, innermost(tree, line) if tree is not None else None


def function_around(file: str, line: int) -> Optional[Any]:
    """The innermost function that holds a line; None where its source is not there."""
    return read_at(file, line)[1]


def first_lines(function: Any) -> Iterator[int]:
    """The lines at which a function may be said to begin: its decorators', and up to its body."""
    yield from range(first_line(function), function.body[0].lineno + 1)


def lines_naming(file: str, line: int, name: str) -> List[int]:
    """The lines of the function around a line that have a name, an attribute or a key of it."""
    found = set()
    for node in walked(function_around(file, line)):
        told = getattr(node, "id", "") or getattr(node, "attr", "") or getattr(node, "value", "")
        if told == name and hasattr(node, "lineno"):
            found.add(int(node.lineno))
    return sorted(found)


def function_starting_at(file: str, line: int) -> Optional[Any]:
    """The innermost function that begins at a line, with its decorators; None where there is
    none.
    """
    found = None
    for node in functions_of(parsed(file) if file and line else None):
        if first_line(node) <= line <= node.body[0].lineno:
            if found is None or first_line(node) >= first_line(found):
                found = node
    return found


def innermost(tree: ast.Module, line: int) -> Optional[Any]:
    """The innermost function that holds a line."""
    found = None
    for node in functions_of(tree):
        if node.lineno <= line <= last_line(node):
            if found is None or node.lineno >= found.lineno:
                found = node
    return found


def last_line(node: Any) -> int:
    return int(getattr(node, "end_lineno", None) or node.lineno)


def statement_at(function: Any, line: int) -> Optional[ast.stmt]:
    """The statement without others inside that holds a line."""
    for node in walked(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            if node.lineno <= line <= last_line(node):
                return node
    return None
