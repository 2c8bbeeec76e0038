"""Source-level fitting of a function to a bytecode, as programs for the original depyf use it."""

import ast
import types
from typing import Any, Iterable, Optional

from depyf.compiling import parse
from depyf.function_source import FACTORY, declaration, first_statement, function_in, indented


def fix_irregular_code(
    old_bytecode: types.CodeType,
    src_code: str,
    add_local_variables: Optional[Iterable[str]] = None,
    add_cellvars: Optional[Iterable[str]] = None,
) -> str:
    """`src_code` changed so that its function compiles to the variables of `old_bytecode`.

    The function in `src_code` gets the same cell and free variables as the code object
    `old_bytecode`, and those named in `add_local_variables` and `add_cellvars`, by statements in a
    dead branch that compile to nothing; where there are free variables it is put inside a helper
    function that binds them. Returns the source text; compile it and take the code object with the
    function's name from `depyf.utils.collect_all_code_objects`. The compiler sorts cell and free
    variables by name, and up to 3.9 it makes no local of a name that only a dead branch assigns, so
    that `add_local_variables` adds none; `depyf.recompile.recompile` keeps any order and all of
    them, and proves its result.
    Raises SyntaxError for source that cannot be parsed, ValueError where it holds no function.
    """
    tree = parse(src_code)
    functions = [s for s in tree.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not functions:
        raise ValueError("the source holds no function definition at its outermost level")
    function = function_in(tree, old_bytecode.co_name) or functions[-1]
    cells = list(old_bytecode.co_cellvars)
    cells += [name for name in add_cellvars or () if name not in cells]
    text = declaration(add_local_variables or (), cells, old_bytecode.co_freevars)
    if text:
        src_code = _insert(src_code, function, text)
    if old_bytecode.co_freevars:
        head = "def %s(%s):\n" % (FACTORY, ", ".join(old_bytecode.co_freevars))
        src_code = head + indented(src_code, "    ")
    return src_code


def add_indentation(code: str, indentation: int = 4) -> str:
    """`code` with every line moved to the right by so many columns; each line ends in a newline."""
    return "".join("%s%s\n" % (" " * indentation, line) for line in code.splitlines())


def remove_indentation(code: str, indentation: int = 4) -> str:
    """`code` with every line moved to the left by up to so many columns of spaces; each line ends
    in a newline.
    """
    lines = []
    for line in code.splitlines():
        margin = len(line) - len(line.lstrip(" "))
        lines.append(line[min(margin, indentation) :] + "\n")
    return "".join(lines)


def _insert(source: str, function: Any, text: str) -> str:
    """`source` with the lines of `text` as the first statements of `function`'s body."""
    body = function.body
    first = body[first_statement(body)]
    # Decorators stand above `def` and `class`, before the statement's own line.
    decorators = getattr(first, "decorator_list", None) or [first]
    line = min(node.lineno for node in decorators + [first])
    lines = source.splitlines(True)
    before = lines[line - 1][: first.col_offset]
    if before.strip():  # `def f(): return 1`: the body starts on the line of `def`
        encoded = lines[line - 1].encode("utf-8")
        head, tail = encoded[: first.col_offset].decode("utf-8"), encoded[first.col_offset :]
        margin = " " * (function.col_offset + 4)
        lines[line - 1 : line] = [head.rstrip() + "\n", margin + tail.decode("utf-8")]
        line += 1
    else:
        margin = before
    lines[line - 1 : line - 1] = [margin + added for added in text.splitlines(True)]
    return "".join(lines)
