"""Text parsed and compiled without a warning of CPython's, and without a look at the filters of
`warnings`.

The compiler warns of what is probably a mistake, such as `x is 1`; where the program has made
warnings errors, it fails instead. The filters belong to the whole process and every thread of it,
and a change of them makes Python show again what it has shown already. So they stay as they are,
and code that CPython would warn of is given to it in another spelling that compiles to the same.
"""

import ast
import io
import re
import sys
import tokenize
import types
from typing import Any, Iterable, Iterator, List, Match, Set

from depyf import _core
from depyf.interrupts import pass_on

_GAP = r"(?:[\s\\]|#[^\n]*\n)*"
#: what the parser warns of: escapes that are none, a number that runs into a keyword
_PARSER = re.compile(
    r"\\[^\\'\"abfnrtvxNuU0-7\n\r]|\\[4-7][0-7][0-7]|\\[NuU]"
    r"|(?<!\w)\.?\d[\w.]*(?:and|else|for|if|in|is|not|or)\b"
)
#: what the compiler may warn of; what matches it in vain costs time only
_COMPILER = re.compile(
    r"[)\]}'\"]" + _GAP + r"[(\[]"  # a display or literal that is called, or asked for an item
    r"|(?<!\w)\.?\d[\w.]*" + _GAP + r"[(\[]"
    r"|(?:\b(?:None|True|False|__debug__)|\.\.\.)" + _GAP + r"[(\[]"
    # a tuple that is asserted may be computed, from `2 * (1, 2)`
    r"|\bassert\b(?!" + _GAP + r"(?!True\b|False\b|__debug__\b)[A-Za-z_])"
    r"|~"  # of a constant that is true or false
    r"|\bfinally\b"
)
_IS = re.compile(r"\bis\b")
_IS_NONE = re.compile(
    r"(?<![\w.'\"])(?!(?:None|True|False|__debug__)\b)[A-Za-z_]\w* is (?:not )?None\b"
)
#: strings of one line, in a text without escapes and long strings
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
#: a text in which _STRING could match something else, or hide code
_HARD_STRINGS = re.compile(r"\\|\"\"\"|'''|\b[rR]?[fFtT][rR]?[\"']")
_ESCAPE = re.compile(r"\\(?:\r\n|[0-7]{1,3}|[\s\S])")
_NAMED = re.compile(r"\\N\{[^{}]*\}")

#: expressions that are never folded to a constant, and that CPython calls and indexes without a
#: word
_UNKNOWN = (ast.Name, ast.Attribute, ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
#: CPython 3.7 only warns of an assertion of a tuple
_WARNS_OF_EXPRESSIONS = sys.version_info >= (3, 8)
#: these compute `~True`
_WARNS_OF_INVERSION = (3, 12) <= sys.version_info < (3, 14)
_WARNS_OF_FINALLY = sys.version_info >= (3, 14)


class Loud(SyntaxError):
    """CPython would warn of this text, and no other spelling of it is known."""


def parse(text: str, filename: str = "<unknown>", flags: int = 0, mode: str = "exec") -> Any:
    """The tree of a text, a module's or with `mode` "eval" an expression's.

    Raises SyntaxError, ValueError, RecursionError or MemoryError, as `compile` does.
    """
    if _PARSER.search(text):
        text = _respelt(text)
    return compile(text, filename, mode, flags | ast.PyCF_ONLY_AST, True, 0)


def places_of(text: str) -> ast.Module:
    """The tree of a module's text for its names and places; what strings say may differ.

    Lines and columns are those of the text, but for columns behind a number that runs into a
    keyword. Raises what `parse` raises.
    """
    if _PARSER.search(text):
        text = _NAMED.sub(lambda found: "x" * len(found.group()), text)
        text = _ESCAPE.sub(_as_wide, text)
    tree = parse(text)
    assert isinstance(tree, ast.Module)
    return tree


def _as_wide(escape: Match[str]) -> str:
    """An escape that CPython may warn of in another spelling of the same width."""
    found = escape.group()
    kept = "\\'\"abfnrtvx\n\r0123" if len(found) == 4 else "\\'\"abfnrtvx\n\r01234567"
    return found if found[1] in kept else "x" + found[1:]


def compile_tree(
    tree: ast.Module, filename: str, flags: int = 0, to_run: bool = True
) -> types.CodeType:
    """The code object of a module's tree, which is changed on the way.

    With `to_run` false the code is to be looked at only. Raises what `parse` raises, and Loud where
    the code is to run.
    """
    _quieten(tree, to_run)
    return compile(tree, filename, "exec", flags, True, 0)


def compile_text(text: str, filename: str, flags: int = 0, to_run: bool = True) -> types.CodeType:
    """The code object of a module's text; see `compile_tree`."""
    if _core.is_quiet(text) or not (_PARSER.search(text) or _may_warn(text)):
        return compile(text, filename, "exec", flags, True, 0)
    return compile_tree(parse(text, filename, flags), filename, flags, to_run)


def is_python(text: str, filename: str = "<dump>") -> bool:
    """True when the text compiles as a module.

    Halves of characters count as the escapes that a file of the dump has for them.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    try:
        compile_text(text, filename, to_run=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        pass_on()
        return False
    return True


def _may_warn(text: str) -> bool:
    if _HARD_STRINGS.search(text) is None:
        text = _STRING.sub('""', text)  # torch annotates values with "f32[3][1]cpu"
    return _COMPILER.search(text) is not None or len(_IS.findall(text)) != len(
        _IS_NONE.findall(text)
    )


# ---- what the parser warns of ------------------------------------------------------------------


def _respelt(text: str) -> str:
    # with the escapes that are none doubled, and a space after numbers
    # not splitlines(): Python ends a line at no other character
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    edits = []  # (start, end, text instead)
    raw = [False]  # of the f-strings that are open
    before = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            kind = tokenize.tok_name[token.type]
            start = starts[token.start[0] - 1] + token.start[1]
            end = starts[token.end[0] - 1] + token.end[1]
            if kind == "STRING":
                prefix = re.split(r"['\"]", token.string, maxsplit=1)[0].lower()
                if "r" not in prefix and "\\" in token.string:
                    edits.append((start, end, _escapes(text[start:end], "b" in prefix)))
            elif kind.endswith("STRING_START"):
                raw.append("r" in token.string.lower())
            elif kind.endswith("STRING_END"):
                raw.pop()
            elif kind.endswith("STRING_MIDDLE"):
                if not raw[-1]:
                    edits.append((start, end, _escapes(text[start:end], False)))
            elif before is not None and kind == "NAME" and before == start:
                edits.append((start, start, " "))
            before = end if kind == "NUMBER" else None
    except (tokenize.TokenError, IndexError) as error:
        raise SyntaxError(str(error))
    pieces, done = [], 0
    for start, end, instead in edits:
        pieces += [text[done:start], instead]
        done = end
    return "".join(pieces + [text[done:]])


def _escapes(literal: str, is_bytes: bool) -> str:
    def instead(match: Match[str]) -> str:
        escape = match.group()
        following = escape[1]
        if following in "01234567":
            if len(escape) == 4 and int(escape[1:], 8) > 0o377:
                value = int(escape[1:], 8)
                return "\\x%02x" % (value & 0xFF) if is_bytes else "\\u%04x" % value
            return escape
        if following in "\\'\"abfnrtvx\r\n" or (following in "NuU" and not is_bytes):
            return escape
        return "\\" + escape

    return _ESCAPE.sub(instead, literal)


# ---- what the compiler warns of ----------------------------------------------------------------


def _hidden(node: Any) -> Any:
    # a conditional expression whose condition is constant compiles to its first operand
    true = ast.Constant(value=True, kind=None)
    other = ast.Constant(value=None, kind=None)
    return ast.copy_location(
        ast.IfExp(
            test=ast.copy_location(true, node), body=node, orelse=ast.copy_location(other, node)
        ),
        node,
    )


def _inverted(operand: Any) -> Any:
    # the operand of `~`, where True and False are numbers: the result is the same
    value = operand.value if isinstance(operand, ast.Constant) else None
    if getattr(operand, "id", "") == "__debug__":
        value = __debug__
    if type(value) is bool:
        return ast.copy_location(ast.Constant(value=int(value), kind=None), operand)
    return operand if _plain(operand) else _hidden(operand)


def _plain(node: ast.AST) -> bool:
    return isinstance(node, _UNKNOWN) and getattr(node, "id", "") != "__debug__"


def _is_a_fact(node: ast.AST) -> bool:
    # what may stand beside `is`: None, False, True, ...; anything that is no literal
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is Ellipsis or type(node.value) is bool
    return _plain(node) or isinstance(node, (ast.Compare, ast.Lambda))


def values_of(node: ast.AST) -> Iterable[Any]:
    """What a node of a tree holds: its fields, and numbers that are attributes beside them.

    One `ast.Load()`, `ast.Add()` and so on is in all trees of the process. Attributes that other
    packages set on it (`executing`, IPython: the parent) lead into their trees, and in circles.
    """
    return vars(node).values() if node._fields else ()


def walk(tree: ast.AST) -> List[Any]:
    """All nodes of a tree in the order of `ast.walk`, in a fraction of its calls."""
    found: List[Any] = [tree]
    for node in found:
        for value in values_of(node):
            if type(value) is list:
                for one in value:
                    if isinstance(one, ast.AST):
                        found.append(one)
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def functions_in(tree: ast.AST) -> List[Any]:
    """The functions that are defined in a tree, outer ones first; none is in an expression."""
    pending: List[Any] = [tree]
    for node in pending:
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            pending += getattr(node, block, ())
    return [node for node in pending if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


#: nodes without nodes in them that CPython could warn of
_LEAVES = (ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.alias)


def _walk(tree: Any) -> Iterator[Any]:
    # ast.walk without leaves, in half of its time
    pending = [tree]
    for node in pending:
        for value in values_of(node):
            if type(value) is list:
                pending += [
                    one
                    for one in value
                    if isinstance(one, ast.AST) and not isinstance(one, _LEAVES)
                ]
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                pending.append(value)
        yield node


def _quieten(tree: ast.AST, to_run: bool) -> None:
    in_finally: Set[int] = set()
    for node in _walk(tree):
        if isinstance(node, ast.Assert):
            if isinstance(node.test, (ast.Tuple, ast.Constant, ast.BinOp)):
                node.test = _hidden(node.test)
        elif not _WARNS_OF_EXPRESSIONS:
            continue
        elif isinstance(node, ast.Call):
            if not _plain(node.func) and not isinstance(node.func, ast.Lambda):
                node.func = _hidden(node.func)
        elif isinstance(node, ast.Subscript):
            if not _plain(node.value) and isinstance(node.ctx, ast.Load):
                node.value = _hidden(node.value)
        elif _WARNS_OF_INVERSION and isinstance(getattr(node, "op", None), ast.Invert):
            node.operand = _inverted(node.operand)
        elif isinstance(node, ast.Compare):
            if any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops):
                if not _is_a_fact(node.left):
                    node.left = _hidden(node.left)
                node.comparators = [
                    one if _is_a_fact(one) else _hidden(one) for one in node.comparators
                ]
        elif _WARNS_OF_FINALLY and getattr(node, "finalbody", None):
            _quieten_finally(node, in_finally, to_run)


def _quieten_finally(statement: Any, done: Set[int], to_run: bool) -> None:
    # CPython does not warn of a `return` in a loop, and a loop without a condition that ends at
    # once is no code
    pending = [(statement.finalbody, False)]
    while pending:
        body, in_loop = pending.pop()
        for index, node in enumerate(body):
            if id(node) in done:
                continue
            done.add(id(node))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            if isinstance(node, ast.Return) and not in_loop:
                true = ast.copy_location(ast.Constant(value=True, kind=None), node)
                loop = ast.While(test=true, body=[node], orelse=[])
                body[index] = ast.copy_location(loop, node)
            elif isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
                if to_run:
                    raise Loud(
                        "CPython warns of %r in a 'finally' block" % type(node).__name__.lower()
                    )
                body[index] = ast.copy_location(ast.Pass(), node)
            inside = in_loop or isinstance(node, (ast.While, ast.For, ast.AsyncFor))
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list):
                    pending.append((getattr(node, name), inside and name == "body"))
            for part in getattr(node, "handlers", ()) or getattr(node, "cases", ()):
                pending.append((part.body, in_loop))
