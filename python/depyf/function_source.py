"""A function's source, compiled with exactly the cell and free variables that are asked for."""

import ast
import functools
import keyword
import re
import sys
import types
from collections import deque
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Set, Tuple, cast

from depyf import _core
from depyf.code_edit import rename_qualified, with_names
from depyf.compiling import compile_text, compile_tree, parse, walk

# The function's name while it is compiled: it must not capture a name that the body uses.
_BODY = "__depyf_body__"
FACTORY = "__depyf_factory__"

# To ask a later Python for `ast.Str` makes it warn, and 3.14 has none.
_LITERAL = ast.Constant if sys.version_info >= (3, 8) else ast.Str


class Misfit(Exception):
    """The compiled function differs from the original in what no edit changes."""


def identifier(name: str) -> str:
    """`name`, or where it is no identifier (`<lambda>`) the nearest one."""
    if is_writable(name):
        return name
    spelt = re.sub(r"[^0-9A-Za-z_]", "_", name).strip("_")[:60]
    return spelt if is_writable(spelt) else "_" + spelt


@functools.lru_cache(maxsize=4096)
def is_writable(name: str) -> bool:
    """Does `name` in a source give this very name?"""
    if not name.isidentifier() or keyword.iskeyword(name) or name == "__debug__":
        return False
    if name.isascii():
        return True
    import unicodedata

    return unicodedata.normalize("NFKC", name) == name


def spelt_variables(
    reference: types.CodeType, source: str, names: Dict[str, str]
) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """The cell and the free variables of `reference` as the source calls them.

    Those that it does not mention get a name in `names` where they need one.
    """
    if not reference.co_cellvars and not reference.co_freevars:
        return (), ()
    spelt = {name: spelling for spelling, name in names.items()}
    number = 0
    for name in reference.co_cellvars + reference.co_freevars:
        if name in spelt or is_writable(name):
            continue
        while "_variable_%d" % number in source:
            number += 1
        spelt[name] = "_variable_%d" % number
        names[spelt[name]] = name
        number += 1
    cells = tuple(spelt.get(name, name) for name in reference.co_cellvars)
    return cells, tuple(spelt.get(name, name) for name in reference.co_freevars)


def without_nonlocals(source: str, line_map: Any) -> Tuple[str, Any]:
    """`source` without the `nonlocal` lines of a function that assigns none of these variables.

    `compile_function` makes them free variables all the same; what is left is a valid file.
    """
    if "nonlocal" not in source:
        return source, line_map
    tree = parse(source, "<decompiled>", 0)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return source, line_map
    function = tree.body[0]
    bound: Set[Optional[str]] = set()
    for node in walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.ExceptHandler):
            bound.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not function:
            return source, line_map
    lines = source.splitlines(True)
    for statement in function.body:
        if isinstance(statement, ast.Nonlocal) and not bound.intersection(statement.names):
            gone = statement.lineno
            del lines[gone - 1]
            line_map = [
                (entry[0] - (entry[0] > gone),) + tuple(entry[1:])
                for entry in line_map
                if entry[0] != gone
            ]
            return "".join(lines), line_map
    return source, line_map


def as_module(
    source: str, frees: Sequence[str], filename: str, flags: int, indentation: int
) -> Tuple[str, int]:
    """`source` so that it is a valid file: a function that rebinds free variables needs a scope.

    Returns it with the number of lines put in front.
    """
    if frees and "nonlocal" in source:
        try:
            compile_text(source, filename, flags, to_run=False)
        except SyntaxError:
            head = "def %s(%s):\n" % (FACTORY, ", ".join(frees))
            return head + indented(source, " " * indentation), 1
    return source, 0


def indented(source: str, margin: str) -> str:
    """`source` one level deeper; the inside of strings that span lines stays as it is."""
    import io
    import tokenize

    inside: Set[int] = set()
    open_fstrings = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind.endswith("STRING_START"):  # f-strings and t-strings, 3.12 on
            open_fstrings.append(token.start[0])
        elif kind.endswith("STRING_END"):
            inside.update(range(open_fstrings.pop() + 1, token.end[0] + 1))
    lines = source.splitlines(True)
    return "".join(
        line if number in inside or not line.strip() else margin + line
        for number, line in enumerate(lines, 1)
    )


def compile_function(
    source: str,
    original: types.CodeType,
    cells: Sequence[str],
    frees: Sequence[str],
    filename: str,
    flags: int,
    function_name: str,
    names: Mapping[str, str],
    with_warnings: bool = False,
) -> types.CodeType:
    """The code object of `source`'s function, with exactly these variables.

    Raises Loud where CPython would warn of the source, unless it may: `with_warnings`.
    """
    if not frees:
        if with_warnings:
            module = compile(source, filename, "exec", flags, True, 0)
        else:
            module = compile_text(source, filename, flags)
        code = _find(module, function_name)
        if code is not None and set(code.co_cellvars) == set(cells) and not code.co_freevars:
            code = with_names(code, names)
            return rename_qualified(code, qualname_of(code), _original_qualname(original))
    tree = parse(source, filename, flags)
    _declare(tree, function_name, cells, frees)
    if with_warnings or _core.is_quiet(source):
        module = compile(tree, filename, "exec", flags, True, 0)
    else:
        module = compile_tree(tree, filename, flags)
    body = _find(module, _BODY)
    assert body is not None  # _declare put it there
    code = with_names(body, names)
    prefix = FACTORY + ".<locals>." + _BODY if frees else _BODY
    return rename_qualified(code, prefix, _original_qualname(original))


def qualname_of(code: types.CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


def _original_qualname(code: types.CodeType) -> str:
    """`code`'s qualified name as the functions inside it have it.

    Those in a resume function are named after the function that torch took them from. Before 3.11
    nothing else knows the name.
    """
    for nested in code.co_consts:
        if type(nested) is not types.CodeType:
            continue
        end = ".<locals>." + nested.co_name
        names = (nested.co_qualname,) if hasattr(nested, "co_qualname") else code.co_consts
        for name in names:
            if type(name) is str and name.endswith(end):
                return name[: -len(end)]
    return qualname_of(code)


def _find(code: types.CodeType, name: str) -> Optional[types.CodeType]:
    pending = deque([code])
    seen: Set[int] = set()  # by id: code objects may share one
    while pending:
        current = pending.popleft()
        if id(current) in seen:
            continue
        seen.add(id(current))
        nested = [c for c in current.co_consts if type(c) is types.CodeType]
        for candidate in nested:
            if candidate.co_name == name:
                return candidate
        pending.extend(nested)
    return None


def declaration(local_names: Iterable[str], cells: Iterable[str], frees: Iterable[str]) -> str:
    """Statements that compile to nothing, but make a function have these variables.

    A name that a dead branch assigns is a local, one that a function in it reads is a cell, one
    that it reads itself and an enclosing function binds is free.
    """
    lines = ["if False:"]
    lines += ["    %s = None" % name for name in list(local_names) + list(cells)]
    if cells:
        lines.append("    (lambda: (%s,))" % ", ".join(cells))
    lines += ["    %s" % name for name in frees]
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""


def _declare(
    tree: ast.Module, function_name: str, cells: Sequence[str], frees: Sequence[str]
) -> None:
    """Rename the function in `tree` to _BODY and give it these cell and free variables."""
    owner: Any = tree
    function = function_in(owner, function_name)
    if function is None:
        for outer in tree.body:
            if isinstance(outer, ast.FunctionDef) and outer.name == FACTORY:
                owner, function = outer, function_in(outer, function_name)
    if function is None:
        raise Misfit("the source holds no function %s" % function_name)
    function.name = _BODY
    body = function.body
    # At the first statement's line: a debugger that stops there has something to show.
    start = first_statement(body)
    text = declaration((), cells, frees)
    extra = ast.parse(text).body
    for statement in extra:
        for node in walk(statement):
            if hasattr(node, "lineno"):
                ast.copy_location(node, body[start])
    function.body = body[:start] + extra + body[start:]
    if frees and owner is tree:
        factory = ast.parse("def %s(%s): pass" % (FACTORY, ", ".join(frees)))
        outer = cast(ast.FunctionDef, factory.body[0])
        outer.body = [function]
        owner.body[owner.body.index(function)] = outer


def function_in(owner: Any, name: str) -> Any:
    for statement in reversed(owner.body):
        if (
            isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
            and statement.name == name
        ):
            return statement
    return None


def first_statement(body: Sequence[ast.stmt]) -> int:
    """Index of the first statement after a docstring and `global` and `nonlocal` declarations.

    No name may be used before such a declaration of it. Never past the last statement.
    """
    index = 0
    while index < len(body) - 1 and (
        isinstance(body[index], (ast.Global, ast.Nonlocal)) or _is_docstring(body[index])
    ):
        index += 1
    return index


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, _LITERAL)
