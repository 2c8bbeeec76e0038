"""The source of a program: its functions, and texts between columns of it."""

import ast
import re
import tokenize
from functools import lru_cache
from typing import Any, Iterator, List, Optional, Tuple

from depyf.advice import uses


def text_of(file: str) -> Optional[str]:
    """The source in a file; None where it cannot be read."""
    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, ValueError, UnicodeError):
        return None


def source_of(file: str) -> Optional[Tuple[str, ast.Module]]:
    """(source, tree) of a file; None where it cannot be read."""
    source = text_of(file)
    tree = uses.parsed(file) if source is not None else None
    return (source, tree) if source is not None and tree is not None else None


def segment(source: str, node: ast.AST) -> Optional[str]:
    """The text of a node, None where this Python does not tell where nodes end."""
    line, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)  # 3.8+
    if line is None or last is None:
        return None
    lines = lines_of(source)
    found = [one.encode("utf-8") for one in lines[line - 1 : last]]  # columns count bytes
    found[-1] = found[-1][: getattr(node, "end_col_offset")]
    found[0] = found[0][getattr(node, "col_offset") :]
    return b"".join(found).decode("utf-8")


@lru_cache(maxsize=4)
def lines_of(source: str) -> Tuple[str, ...]:
    """The lines of a program with their ends, as its tree counts them: a form feed ends none."""
    return tuple(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", source))


def bodies(tree: ast.Module, line: int = 0) -> Iterator[List[Any]]:
    """Each list of statements in a program, or in what holds a line of it."""
    for node in uses.nodes_at(tree, line) if line else uses.walked(tree):
        for field in ("body", "orelse", "finalbody"):
            found = getattr(node, field, None)
            if isinstance(found, list):
                yield found


def is_function(tree: ast.Module, line: int) -> bool:
    """Whether a function begins at a line."""
    return any(uses.first_line(node) <= line <= node.lineno for node, _ in functions_of(tree))


def functions_of(tree: ast.AST) -> Iterator[Tuple[Any, Optional[ast.ClassDef]]]:
    """The functions of a program, each with the class that it is a method of."""
    methods = {
        id(one): node
        for node in uses.walked(tree)
        if isinstance(node, ast.ClassDef)
        for one in node.body
    }
    for node in uses.walked(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, methods.get(id(node))


def with_text(source: str, line: int, column: int, length: int, written: str) -> str:
    """The source with another text in place of some bytes of a line."""
    lines = list(lines_of(source))
    raw = lines[line - 1].encode("utf-8")  # columns of the tree count bytes
    raw = raw[:column] + written.encode("utf-8") + raw[column + length :]
    lines[line - 1] = raw.decode("utf-8")
    return "".join(lines)
