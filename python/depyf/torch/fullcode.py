"""full_code_for_<function>: one Python file that shows what torch's frame evaluation does for a
compiled function.
"""

import ast
import builtins
import functools
import importlib
import itertools
import pprint
import re
import sys
import textwrap
import types
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from depyf import legend
from depyf.compiling import compile_text, parse
from depyf.decompiler import decompile_with_constants
from depyf.function_source import identifier, is_writable
from depyf.interrupts import pass_on
from depyf.model import (
    Constants,
    Entry,
    Function,
    GraphBreak,
    Guard,
    LiveObject,
    Rest,
    Run,
    told_apart,
)
from depyf.plain import file_of, name_of
from depyf.report import words
from depyf.report.overview import Node, nodes_of
from depyf.terminal import parse_place
from depyf.torch import compat, guards
from depyf.torch.codes import known_constants, signature_of
from depyf.trace import guard_text
from depyf.trace.guard_text import (
    MARK,
    parsed_expression,
    state_in_words,
    state_of,
    tensor_in_words,
)
from depyf.trace.names import safe_name

_INDENT = "    "
_tokens = itertools.count()
#: guard managers by the token that a full_code file carries, so that the file can ask them while
#: they live
_managers: Dict[str, LiveObject] = {}

#: where the objects are that stand in transformed code, by the same token: code objects that hold
#: them, and their ids by name
_holders: Dict[str, Tuple[LiveObject, LiveObject, Dict[str, int]]] = {}

#: names that the guards of a full_code file call and this module supplies through `link`
_HELPERS = (
    "__check_tensor",
    "__check_no_aliasing",
    "__saved_tensors_hooks",
    "__global_state",
    "__checked_by_torch",
)


# ---- what a full_code file calls -----------------------------------------------------------------


def checked_by_torch(token: str, values: Dict[str, Any]) -> bool:
    """Asks torch's own guard manager.

    Guards that only it can check are taken to hold once it is gone.
    """
    known = _managers.get(token)
    manager = known.get() if known is not None else None
    if manager is None:
        return True
    return compat.guards_hold(manager, values)


def constant(token: str, name: str) -> Any:
    """The object that transformed code holds as a constant and that has no name of its own.

    Raises:
        LookupError: the code has died, or it was another process that compiled it.
    """
    code, own, names = _holders.get(token) or (LiveObject(), LiveObject(), {})
    work = [holder for holder in (code.get(), own.get()) if holder is not None]
    while work:
        for value in work.pop().co_consts:
            inside = [value]
            while inside:
                one = inside.pop()
                if id(one) == names[name]:
                    return one
                if type(one) is tuple or type(one) is frozenset:
                    inside.extend(one)
                elif type(one) is types.CodeType:
                    work.append(one)
    raise LookupError(
        "%s is an object of the process that compiled this code, and that code no longer exists"
        % name
    )


def find(module: str, *names: str) -> Any:
    """The attribute of a module that `names` lead to; the module itself without any."""
    found = importlib.import_module(module)
    for name in names:
        found = getattr(found, name)
    return found


def with_cells(factory: Callable[..., Any], cells: Iterable[Any]) -> Any:
    """The function that `factory` returns, with these cells as its parameters instead of new ones.

    Functions that are defined beside it in the factory share the cells too.
    """
    code = factory.__code__
    given = dict(zip(code.co_varnames[: code.co_argcount], cells))
    made: Dict[int, Any] = {}

    def bind(function: types.FunctionType) -> types.FunctionType:
        closure = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name in given:
                closure.append(given[name])
                continue
            if id(cell) not in made:
                made[id(cell)] = cell
                content = cell.cell_contents
                if type(content) is types.FunctionType and content.__qualname__.startswith(
                    factory.__qualname__ + "."
                ):
                    cell.cell_contents = bind(content)
            closure.append(made[id(cell)])
        bound = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            tuple(closure),
        )
        bound.__kwdefaults__ = function.__kwdefaults__
        return bound

    return bind(factory(*[None] * code.co_argcount))


def link(
    names: Dict[str, Any],
    module: str,
    token: str = "",
    of_torch: Optional[Dict[str, str]] = None,
) -> None:
    """Supplies what the code in a full_code file uses: guard helpers, and the globals of the module
    it came from.

    Args:
        names: the file's globals; what is there already stays.
        module: name of the module in which the functions were defined. Its graphs and resume
            functions are there only in the process that compiled them.
        token: which guard manager knows those globals; not every function was defined in a module.
        of_torch: names in the file for globals that torch named, and torch's names.
    """
    supplied: Dict[str, Any] = dict(compat.guard_closure_variables())
    supplied.update(
        {
            "__check_tensor": guards.check_tensor,
            "__check_no_aliasing": guards.check_no_aliasing,
            "__saved_tensors_hooks": guards.saved_tensors_hooks,
            "__global_state": compat.global_state,
            "__checked_by_torch": checked_by_torch,
            "__unmarked": guards.unmarked,
            "__with_cells": with_cells,
            "__constant": constant,
            "__find": find,
        }
    )
    supplied["torch"] = compat.require_torch()
    supplied["__builtin_iter__"] = builtins.iter
    known = _managers.get(token)
    home = compat.guard_globals(known.get()) if known is not None else None
    if home is None and module in sys.modules:
        home = vars(sys.modules[module])
    if home is not None:
        supplied.update({name: value for name, value in home.items() if name not in _MODULE_NAMES})
    for given, real in (of_torch or {}).items():
        if real in supplied:
            names[given] = supplied[real]
    # guards look at the globals of the program itself, which change while it runs
    names.setdefault("__home__", home if home is not None else names)
    for name, value in supplied.items():
        names.setdefault(name, value)


_MODULE_NAMES = frozenset(
    (
        "__name__",
        "__file__",
        "__spec__",
        "__loader__",
        "__doc__",
        "__package__",
        "__path__",
        "__cached__",
        "__builtins__",
    )
)


# ---- text ----------------------------------------------------------------------------------------


def _comment(text: str) -> str:
    return " ".join(text.replace("\0", "\\0").split())


def _because(guard: Guard) -> str:
    """The user's code and place because of which a guard is there, on one line."""
    told = _comment(guard.comment.lstrip("# ").partition("\nUser stack trace:")[0])
    return re.sub(r" \(HINT: [^()]*\)", "", told)


def _key(function: Function) -> str:
    return function.global_name or safe_name(function.name)


def _shown_name(function: Function) -> str:
    return function.global_name or identifier(safe_name(function.name))


def defaults_of(function: Function) -> Dict[str, str]:
    """`=value` by parameter, as far as the source has literals: a code object, unlike its function,
    knows no defaults.
    """
    if function.is_resume or function.source_origin != "file":
        return {}
    node = _function_in(function.source, safe_name(function.name))[0]
    if node is None:
        return {}
    found: Dict[str, str] = {}

    def note(parameter: ast.arg, value: Optional[ast.expr]) -> bool:
        try:
            found[parameter.arg] = "=%r" % (ast.literal_eval(value),)  # type: ignore[arg-type]
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass_on()
            return False
        return True

    # a parameter without default cannot follow one with
    positional = node.args.posonlyargs + node.args.args
    for parameter, value in zip(reversed(positional), reversed(node.args.defaults)):
        if not note(parameter, value):
            break
    for parameter, one in zip(node.args.kwonlyargs, node.args.kw_defaults):
        note(parameter, one)
    return found


def _names_in(signature: Dict[str, Any]) -> Iterable[str]:
    for found in signature.values():
        yield from [found] if isinstance(found, str) else found or ()


class _Signature:
    """Parameters of a code object, as text for a header and for a call that passes them on."""

    def __init__(self, function: Function) -> None:
        signature = function._signature or {}
        self._renamed: Dict[str, str] = {}
        self._real = set(_names_in(signature))
        positional_only = [self._name(name) for name in signature.get("positional_only", ())]
        positional = [self._name(name) for name in signature.get("positional", ())]
        keyword_only = [self._name(name) for name in signature.get("keyword_only", ())]
        varargs, varkeywords = signature.get("varargs"), signature.get("varkeywords")
        self.free = [self._name(name) for name in signature.get("free", ())]
        default = defaults_of(function)
        header: List[str] = [name + default.get(name, "") for name in positional_only]
        if positional_only and sys.version_info >= (3, 8):
            header.append("/")
        header += [name + default.get(name, "") for name in positional]
        call = positional_only + positional
        if varargs:
            header.append("*" + self._name(varargs))
            call.append("*" + self._name(varargs))
        elif keyword_only:
            header.append("*")
        header += [name + default.get(name, "") for name in keyword_only]
        call += ["%s=%s" % (name, name) for name in keyword_only]
        if varkeywords:
            header.append("**" + self._name(varkeywords))
            call.append("**" + self._name(varkeywords))
        self.header = header
        self.call = call
        self.parameters = positional_only + positional + keyword_only
        self.parameters += [self._name(name) for name in (varargs, varkeywords) if name]

    def _name(self, name: str) -> str:
        shown = name
        if not name.isidentifier():
            shown = "implicit" + re.sub(r"\W", "", name)
        elif not is_writable(name):
            shown = identifier(name + "_")
        while self._renamed.get(shown, name) != name or (shown != name and shown in self._real):
            shown += "_"
        self._renamed[shown] = name
        return shown

    def frame_locals(self, text_of_guards: str) -> List[str]:
        """The items of a dict display of the frame's locals.

        Free variables only where a guard reads them, they may be unbound.
        """
        names = list(self.parameters)
        names += [
            name
            for name in self.free
            if re.search(r"L\[(['\"])%s\1\]" % re.escape(name), text_of_guards)
        ]
        return ["%r: %s" % (self._renamed[name], name) for name in names]


#: what only torch's own check can answer: its state, or how the call at hand came about
_ASKED_OF_TORCH = {
    "___check_global_state",
    "___check_torch_function_mode_stack",
    "___check_tensors",
    "___skip_backend_check",
    "___compile_config_hash",
}


def _known_names() -> FrozenSet[str]:
    known = set(dir(builtins)) | {"L", "G"} | set(_HELPERS)
    known.update(compat.guard_closure_variables())
    known.add("torch")
    return frozenset(known - _ASKED_OF_TORCH)


def _evaluable(expression: str, known: FrozenSet[str]) -> bool:
    parsed = parsed_expression(expression)
    return parsed is not None and parsed[0] <= known


_SOURCE = re.compile(r"""[LG]\[(?:'[^']*'|"[^"]*")\]""")
_STATE = re.compile(r"^__global_state\(\) == (?P<state>\{.*\})$", re.DOTALL)
_WIDTH = 100
#: lines of the program that are named for one group of guards
_CAUSES = 3


class _States:
    """States of torch that guards compare with, each written once in a file."""

    def __init__(self) -> None:
        self.names: Dict[str, str] = {}  # text -> name

    def name(self, text: str) -> str:
        return self.names.setdefault(text, "__state_%d" % len(self.names))


def _by_source(checked: List[Guard]) -> List[Tuple[str, List[Guard]]]:
    """Guards in groups by what they look at; "" for torch's own state."""
    found: Dict[str, List[Guard]] = {}
    for guard in checked:
        names = sorted(set(_SOURCE.findall(guard.expression or "")))
        found.setdefault(names[0] if len(names) == 1 else " ".join(names), []).append(guard)
    return list(found.items())


def _heading(source: str, group: List[Guard]) -> List[str]:
    """What a group asks, in words, and the line of the program because of which it does."""
    if not source:
        title = "how torch is set up"
        said = [state_in_words(state_of(guard.text)) for guard in group]
        title += "".join(": " + one for one in said if one)
    else:
        looked_at = source.split(" ")
        of_frame = [one[3:-2] for one in looked_at if not one.startswith("G[")]
        # behind the locals, which would read as globals, too
        title = ", ".join(of_frame + ["global " + one[3:-2] for one in looked_at if one[0] == "G"])
    tensors = [one.expression or "" for one in group if tensor_in_words(one.expression or "")]
    inside = [one for one in tensors if not one.startswith("__check_tensor(%s," % source)]
    if len(inside) < len(tensors):
        title += ": " + tensor_in_words(next(one for one in tensors if one not in inside))
    if inside and source and " " not in source:
        title += ", with %d tensor%s in it" % (len(inside), "" if len(inside) == 1 else "s")
    notes = list(dict.fromkeys(_because(guard) for guard in group if guard.comment))
    lines = legend.rows(title, _WIDTH - 14)
    if notes and source:
        lines += legend.rows("because of: " + notes[0], _WIDTH - 14)
        for note in notes[1:_CAUSES]:
            lines += legend.rows("and of: " + note, _WIDTH - 14)
        if len(notes) > _CAUSES:
            more = len(notes) - _CAUSES
            lines.append("and of %d more line%s" % (more, "" if more == 1 else "s"))
    return lines


def _conditions(group: List[Guard], states: _States) -> List[Tuple[str, str]]:
    """The expressions of a group, with what they ask in words where they have numbers of objects;
    marks of one value as one.
    """
    found: List[str] = []
    said: Dict[str, str] = {}
    marks: Dict[str, List[str]] = {}
    for guard in group:
        expression = guard.expression or ""
        mark = MARK.match(expression)
        state = _STATE.match(expression)
        if mark is not None and parsed_expression(mark.group("of")) is not None:
            if mark.group("of") not in marks:
                found.append(mark.group("of"))
            marks.setdefault(mark.group("of"), []).append(mark.group("mark"))
        elif state is not None:
            found.append("__global_state() == %s" % states.name(state.group("state")))
        else:
            one_line = " ".join(expression.split("\n")) if "\n" in expression else expression
            one_line = "(%s)" % one_line if _needs_parentheses(one_line) else one_line
            if one_line not in found:  # torch has some twice, for two reasons
                found.append(one_line)
                said[one_line] = words.identity_in_words(guard.text)
    return [
        ("__unmarked(%s, %s)" % (one, ", ".join(map(repr, marks[one]))), "")
        if one in marks
        else (one, said.get(one, ""))
        for one in found
    ]


def _with_words(rows: Sequence[str], said: str) -> List[str]:
    """The rows of a condition, with a comment on what it asks."""
    if not said:
        return list(rows)
    if len(rows) == 1 and len(rows[0]) + len(said) + 4 <= _WIDTH:
        return [rows[0] + "  # " + said]
    return ["            # " + row for row in legend.rows(said, _WIDTH - 14)] + list(rows)


@functools.lru_cache(maxsize=4096)  # entries of one function have most conditions in common
def _on_rows(condition: str) -> List[str]:
    """`and condition`, on several rows where it is too wide for one."""
    indent = " " * 12
    line = indent + "and " + condition
    if len(line) <= _WIDTH or "\n" in condition:
        return [line]
    negated = "not " if condition.startswith("not ") else ""
    try:
        tree: Any = parse(condition[len(negated) :], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass_on()
        return [line]
    if sys.version_info < (3, 8):  # no ends of nodes
        return [line]
    parts = _arguments(tree, condition[len(negated) :])
    if parts is None:
        rows = _filled(_pieces("and " + condition), _WIDTH - 16)
        return [indent + rows[0]] + [indent + _INDENT + row for row in rows[1:]]
    return _call_on_rows("%sand %s%s" % (indent, negated, parts[0]), parts[1:], "", _WIDTH)


def _arguments(tree: Any, text: str) -> Optional[List[str]]:
    """The function of a call and its arguments, as written; None where it is no plain call."""
    if not isinstance(tree, ast.Call) or not tree.args:
        return None
    if any(one.arg is None for one in tree.keywords):
        return None
    raw = text.encode("utf-8")  # in which columns are counted
    parts = [
        raw[one.col_offset : one.end_col_offset].decode("utf-8")
        for one in [tree.func] + tree.args + [one.value for one in tree.keywords]
    ]
    for at, one in enumerate(tree.keywords, len(tree.args) + 1):
        parts[at] = "%s=%s" % (one.arg, parts[at])
    return parts


def _call_on_rows(
    head: str, arguments: Sequence[str], tail: str, width: int, brackets: str = "()"
) -> List[str]:
    """`head(arguments)tail` on rows of at most `width` columns, where the arguments allow it."""
    begin, end = brackets[0], brackets[1]
    line = head + begin + ", ".join(arguments) + end + tail
    if len(line) <= width or not arguments:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()))
    pieces = []
    for number, one in enumerate(arguments, 1):
        comma = ", " if number < len(arguments) else ""
        room = width - len(indent) - 5
        pieces += [one + comma] if len(one) <= room else _pieces(one + comma)
    inside = [indent + _INDENT + row for row in _filled(pieces, width - len(indent) - 4)]
    return [head + begin] + inside + [indent + end + tail]


_TEXT_OR_GAP = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"| |\.(?=[A-Za-z_])""")


def _pieces(text: str) -> List[str]:
    """An expression in pieces, between which Python allows a line to end in brackets: at spaces,
    and before the name of an attribute.
    """
    found, at = [""], 0
    for match in _TEXT_OR_GAP.finditer(text):
        found[-1] += text[at : match.start()]
        at = match.end()
        if match.group() == ".":
            found.append(".")
        else:
            found[-1] += match.group()
            if match.group() == " ":
                found.append("")
    found[-1] += text[at:]
    return [one for one in found if one]


def _filled(pieces: Iterable[str], width: int) -> List[str]:
    """Pieces on rows, as many on one as it has room for."""
    rows = [""]
    for one in pieces:
        if rows[-1] and len(rows[-1]) + len(one.rstrip()) > width:
            rows.append("")
        rows[-1] += one
    return [row.rstrip() for row in rows]


def _docstring_rows(text: str) -> List[str]:
    """A sentence as the docstring of a function, on two rows where it is too wide for one."""
    lines = legend.rows(text, _WIDTH - 16, whole_words=True)
    if len(lines) < 2:
        return ['    """%s"""' % text]
    return ['    """' + lines[0]] + [_INDENT + line for line in lines[1:]] + ['    """']


def _guard_function(
    name: str, entry: Entry, known: FrozenSet[str], token: str, states: _States
) -> str:
    lines = ["def %s(L, G=None):" % name]
    lines.append(
        '    """True when compile %s may run for these locals; torch checks the same in C++."""'
        % _comment(entry.compile_id)
    )
    lines.append("    G = __home__ if G is None else G")
    lines.append("    try:")
    lines.append("        return bool(")
    lines.append("            True")
    opaque: List[Guard] = []
    checked: List[Guard] = []
    for guard in entry.guards:
        known_here = guard.expression is not None and _evaluable(guard.expression, known)
        (checked if known_here else opaque).append(guard)
    for source, group in _by_source(checked):
        lines += ["            # " + line for line in _heading(source, group)]
        for condition, said in _conditions(group, states):
            lines += _with_words(_on_rows(condition), _comment(said))
    if opaque:
        lines.append("            # checked by torch alone:")
    for guard in opaque:
        said = state_in_words(state_of(guard.text))
        text = "torch's settings: " + said if said else guard.text
        text = _comment(text) + ("  " + _comment(guard.comment) if guard.comment else "")
        wide = legend.rows(text, _WIDTH - 18, whole_words=True)
        lines += ["            #   " + row for row in wide]
    lines += _on_rows("__checked_by_torch(%r, L)" % token)
    lines.append("        )")
    lines.append("    except Exception:  # a guard that cannot be evaluated does not hold")
    lines.append("        return False")
    return "\n".join(lines) + "\n"


def _needs_parentheses(expression: str) -> bool:
    parsed = parsed_expression(expression)
    return parsed is None or parsed[1] in (ast.Or, ast.IfExp, ast.Lambda, ast.Starred)


def _functions_in(tree: ast.AST) -> List[Any]:
    """The functions that are defined in a tree, outer ones first; none is in an expression."""
    pending: List[Any] = [tree]
    for node in pending:
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            pending += getattr(node, block, ())
    return [node for node in pending if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


@functools.lru_cache(maxsize=64)
def _function_in(source: str, name: Optional[str]) -> Tuple[Any, str]:
    """(the tree of one function in a source, its text, dedented and without decorators)."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass_on()
        return None, ""
    functions = _functions_in(tree)
    if not functions:
        return None, ""
    chosen = next((node for node in functions if node.name == name), None)
    if chosen is None:
        chosen = min(functions, key=lambda node: node.lineno)
    # not splitlines(): a form feed or U+2028 in a text or a comment ends no line of Python
    lines = re.split("\r\n|\r|\n", source)[chosen.lineno - 1 : chosen.end_lineno]
    return chosen, textwrap.dedent("\n".join(lines)) + "\n"


_HEAD = re.compile(r"^((?:async\s+)?def\s+)\w+")


def function_text(source: str, name: Optional[str], new_name: str) -> Optional[str]:
    """The text of one function in a source, dedented, without decorators, under another name.

    None when it has none.
    """
    node, text = _function_in(source, name)
    if node is None:
        return None
    return _HEAD.sub(lambda match: match.group(1) + new_name, text, count=1)


def _fits(node: Any, text: str, code: types.CodeType, name: str) -> bool:
    # the user's own text is shown when it means the same here: no defaults to evaluate, no mangled
    # names, same variables
    if any(
        not isinstance(value, ast.Constant)
        for value in node.args.defaults + [one for one in node.args.kw_defaults if one]
    ):
        return False
    free = list(code.co_freevars)
    header = "def __outer(%s):\n" % ", ".join(free)
    module = compile_text(
        header + textwrap.indent(text, _INDENT) + "    return %s\n" % name,
        "<original>",
        to_run=False,
    )
    outer = next(const for const in module.co_consts if type(const) is types.CodeType)
    found = next(
        (
            const
            for const in outer.co_consts
            if type(const) is types.CodeType and name_of(const) == name
        ),
        None,
    )
    return (
        found is not None
        and set(found.co_names) == set(code.co_names)
        and found.co_varnames == code.co_varnames
        and set(found.co_freevars) == set(code.co_freevars)
    )


def _original(function: Function, name: str, signature: _Signature, token: str) -> str:
    code, constants = function.code, function._constants
    text = (
        function_text(function.source, safe_name(function.name), name) if function.source else None
    )
    if text is not None and function.source_origin == "file":
        try:
            node = _function_in(function.source, safe_name(function.name))[0]
            if code is None or _fits(node, text, code, name):
                return text
        except (SyntaxError, ValueError, StopIteration, RecursionError):
            pass_on()
        text, constants = None, {}
        if code is not None:
            try:
                decompiled, objects = decompile_with_constants(code)
                text, constants = function_text(decompiled, None, name), known_constants(objects)
            except Exception:
                pass_on()
                text = None
    if text is not None:
        whole = "def %s(%s):" % (name, ", ".join(signature.header))
        width = _WIDTH - 4 * bool(signature.free)
        if len(whole) > width:
            text = text.replace(
                whole, "\n".join(_call_on_rows("def " + name, signature.header, ":", width)), 1
            )
        told = _of_torchs_beginning(text, width) if function.is_resume else ""
        return told + _with_constants(text, constants, (function._code, LiveObject()), token)
    reason = "the original function has no source here"
    shown = "".join("%s# %s\n" % (_INDENT, line) for line in function.source.splitlines())
    return "def %s(%s):\n%s%sraise NotImplementedError(%r)\n" % (
        name,
        ", ".join(signature.header),
        shown,
        _INDENT,
        reason,
    )


def _of_torchs_beginning(source: str, width: int) -> str:
    """Comment lines on what torch put into a resume function, which no program has."""
    told = []
    if "__is_tracing_resume_prologue" in source:
        told.append(
            "`__is_tracing_resume_prologue` is torch's own mark: while it is True, torch puts back "
            "what the graph break handed over, such as a `with` that was entered."
        )
    if re.search(r"(?m)^ *raise None$", source):
        told.append("`raise None` is torch's text for a place that nothing reaches.")
    for names in re.findall(r"(?m)^ *nonlocal (.+)$", source):
        unused = [one for one in names.split(", ") if len(re.findall(r"\b%s\b" % one, source)) == 1]
        if unused:
            told.append(
                "`nonlocal` keeps a free variable that the rest does not use, as torch's code does."
            )
    return "".join(legend.wrapped(one, width) for one in told)


def _with_constants(
    text: str, constants: Constants, holders: Tuple[LiveObject, LiveObject], token: str
) -> str:
    """The text of a function with the objects that the bytecode holds as its first statements."""
    words = set(re.findall(r"\w+", text)) if constants else set()
    names = [name for name in constants if name in words]
    if not names:
        return text
    _holders[token] = holders + ({name: constants[name][1] for name in names},)
    first = parse(text).body[0].body[0]  # type: ignore[attr-defined]
    lines = text.split("\n")
    rows: List[str] = []
    for name in names:
        head, known = "%s%s = " % (" " * first.col_offset, name), constants[name][0]
        asked = _call_on_rows(head + "__constant", [repr(token), repr(name)], "", _WIDTH - 4)
        rows += [head + known] if known else asked
    lines[first.lineno - 1 : first.lineno - 1] = rows
    return "\n".join(lines)


class _Names:
    """The names of one file for globals that torch named.

    Those that two entries use for two things are told apart.
    """

    def __init__(self) -> None:
        self.real: Dict[str, str] = {}
        self.states = _States()

    def apply(self, text: str, names: Dict[str, str]) -> str:
        """`text` with names of this file in place of an entry's own."""
        changed = {}
        for given, real in names.items():
            name, number = given, 1
            while self.real.get(name, real) != real:
                name, number = "%s_%d" % (given, number), number + 1
            self.real[name] = real
            if name != given:
                changed[given] = name
        if not changed:
            return text
        pattern = r"(?<![.\w'\"])(%s)(?![\w'\"])" % "|".join(map(re.escape, changed))
        return re.sub(pattern, lambda match: changed[match.group(1)], text)


def _transformed(entry: Entry, signature: _Signature, token: str, names: _Names) -> str:
    text = function_text(entry.source, entry.name, entry.name) if entry.source else None
    if text is not None:
        text = names.apply(text, entry.names)
    if text is not None and entry.verdict in ("exact", "equivalent"):
        return _with_constants(text, entry._constants, (entry._code, entry._torch_code), token)
    lines = _call_on_rows("def " + entry.name, signature.header, ":", _WIDTH)
    lines.append(
        "%s# torch runs its own bytecode here: %s. %s"
        % (_INDENT, entry.verdict, _comment(entry.detail))
    )
    if entry.source:
        lines.append("%s# The decompiled code, which is not proven to do the same:" % _INDENT)
        lines += ["%s#   %s" % (_INDENT, line) for line in entry.source.splitlines()]
    lines += ["%s#   %s" % (_INDENT, line) for line in entry.transformed_bytecode.splitlines()]
    lines.append(
        "%sraise NotImplementedError(%r)" % (_INDENT, "%s has no proven source" % entry.name)
    )
    return "\n".join(lines) + "\n"


def _guard_name(entry: Entry, key: str) -> str:
    return "__guard_%d_for_%s" % (entry.index, key)


def _dispatcher(
    function: Function,
    signature: _Signature,
    entries: List[Entry],
    original_name: str,
    resets: Dict[int, str],
    whys: Dict[str, str],
) -> List[str]:
    """The rows of a function that tries the compiled entries in order, and then runs the original.

    Args:
        signature: its own.
        entries: in the order in which torch tries them.
        original_name: the name of the original function in the file.
        resets: of entries, by their ids, before or after which torch._dynamo.reset() they are.
        whys: by compile id, why a compile came to nothing.
    """
    key = _key(function)
    text_of_guards = "\n".join(
        [guard.expression or guard.text for entry in entries for guard in entry.guards]
    )
    frame_name = "L" if "L" not in signature.parameters + signature.free else "___frame_locals"
    width = _WIDTH - 4 * bool(signature.free)  # it then stands inside of another function
    rows = _call_on_rows("def " + _shown_name(function), signature.header, ":", width)
    rows += _docstring_rows(_purpose(function, entries))
    kept = signature.frame_locals(text_of_guards)
    rows += _call_on_rows("    %s = " % frame_name, kept, "", width, "{}")
    gone = function.given_up
    if gone:
        said = words.from_then_on(gone, len(entries)) + whys.get(gone["compile_id"], "")
        said = _comment(said)
        rows += ["    # " + line for line in legend.rows(said, width - 6)]
    for entry in entries:
        if gone and gone["why"] != "recompile limit":
            said = "%s: compile %s, which torch no longer tries"
            said %= entry.name, _comment(entry.compile_id)
            rows += ["    # " + line for line in legend.rows(said, width - 6)]
            continue
        if entry.dropped:
            said = "compile %s%s: torch has dropped this entry and does not try it: %s"
            said %= _comment(entry.compile_id), resets.get(id(entry), ""), entry.name
            rows += ["    # " + line for line in legend.rows(said, width - 6)]
            continue
        if entry.invalidated:
            rows.append(
                "    # compile %s: torch has invalidated this entry and does not try it"
                % _comment(entry.compile_id)
            )
            continue
        graph = "graph %s" % entry.graph_name if entry.graph_name else "no graph"
        told = _comment(entry.compile_id), graph
        holds = "%s(%s)" % (_guard_name(entry, key), frame_name)
        rows.append("    if %s:  # compile %s, %s" % ((holds,) + told))
        rows += _call_on_rows("        return " + entry.name, signature.call, "", width)
    said = "  # " + ("plain Python" if gone or not entries else "torch would compile again here")
    return rows + _call_on_rows("    return " + original_name, signature.call, said, width)


def _in_factory(function: Function, signature: _Signature, parts: List[str]) -> str:
    """Functions with free variables, inside one that has these as parameters."""
    factory = "__closure_of_%s" % _key(function)
    shown = _shown_name(function)
    body = "\n\n".join(
        textwrap.indent(part, _INDENT, lambda line: bool(line.strip())) for part in parts
    )
    share = "%s with its free variables, which the functions in here share."
    head = _call_on_rows("def " + factory, signature.free, ":", _WIDTH)
    text = "\n".join(head + _docstring_rows(share % _comment(function.name))) + "\n\n"
    text += body + "\n    return %s\n" % shown
    if function.is_resume and function._installed_as == "factory":
        text += "\n\ndef %s(cells):\n    return __with_cells(%s, cells)\n" % (shown, factory)
    return text


def _section(
    function: Function,
    known: FrozenSet[str],
    prefix: str,
    names: _Names,
    called_as: List[str],
    told_of: Dict[int, List[str]],
    apart: str,
    resets: Dict[int, str],
    whys: Dict[str, str],
) -> str:
    signature = _Signature(function)
    key = _key(function)
    entries: List[Entry] = function._order or list(function.entries)
    original_name = "__original_code_for%s%s" % ("" if key.startswith("__") else "_", key)
    width = _WIDTH - 4 * bool(signature.free)  # it then stands inside of another function
    guards: List[str] = []
    parts: List[str] = []
    for entry in entries:
        token = "%s/%s" % (prefix, entry.name)
        _managers[token] = entry._guard_manager
        guard = _guard_function(_guard_name(entry, key), entry, known, token, names.states)
        why = "".join(legend.wrapped(_comment(one), width) for one in told_of.get(id(entry), ()))
        # guards ask for nothing that a factory holds
        (guards if signature.free else parts).append(guard)
        parts.append(why + _transformed(entry, signature, token, names))
    dispatcher = _dispatcher(function, signature, entries, original_name, resets, whys)
    parts.insert(0, "\n".join(dispatcher) + "\n")
    parts.append(_original(function, original_name, signature, "%s/%s" % (prefix, original_name)))

    title = legend.wrapped("---- %s " % _comment(told_apart(function.title, apart)) + "-" * 4)
    title = title[:-1] + "-" * (_WIDTH - len(title[title.rfind("# ----") :]) + 1) + "\n"
    where = legend.wrapped(_comment(function.where))
    if called_as:
        where += legend.wrapped("called as " + ", ".join(called_as))
    if signature.free:
        parts = [_in_factory(function, signature, parts)] + guards
    return title + where + "\n\n" + "\n\n".join(parts)


def _first_rows(function: Function) -> List[str]:
    """The first sentence of a file, on two rows where it is too wide for one."""
    said = '"""What torch.compile made of %s' % _docstring(function.title)
    where = "(%s), as Python." % _docstring(function.where)
    if len(said) + len(where) < _WIDTH:
        return [said + " " + where]
    return [said, *([where] if len(where) <= _WIDTH else where.rsplit(" ", 2)[:1] + ["as Python."])]


def _purpose(function: Function, entries: List[Entry]) -> str:
    count = sum(1 for one in entries if not one.dropped)
    if entries and not count:
        return "Like torch: has no compiled entry any more, and runs the original."
    given_up = function.given_up and function.given_up["why"] != "recompile limit"
    if given_up or not count:
        return "Like torch: runs the original function."
    tried = (
        "the one compiled entry" if count == 1 else "%d compiled entries in torch's order" % count
    )
    return (
        "Like torch: tries %s. Where the guards of none hold, torch compiles the function again; "
        "this file runs the original there." % tried
    )


def _reasons_of_failures(nodes: Sequence[Node]) -> Dict[str, str]:
    """A sentence on why a compile came to nothing, by the compile id; of ids that are there twice,
    after a reset, none.
    """
    found: Dict[str, List[str]] = {}
    for node in nodes:
        said = node.failure
        if said is None or node.is_limit or node.is_empty:
            continue
        at = " at %s:%d" % (said["file"], said["line"]) if said["file"] and said["line"] else ""
        text = " It was stopped%s: %s" % (at, said["why"])
        uncut = said["then"].partition(", so ")[0]
        text += " %s." % uncut if "cannot split" in uncut else ""
        found.setdefault(str(node.entry.get("compile_id")), []).append(text)
    return {key: texts[0] for key, texts in found.items() if len(texts) == 1}


class Renderer:
    """Writes the full_code files of one run; what they have in common is computed once.

    Args:
        run: the run.
        nodes: what `nodes_by_entry` gives for it, where that is known.
    """

    def __init__(self, run: Run, nodes: Optional[Dict[int, Node]] = None) -> None:
        self._known = _known_names()
        self._by_name: Dict[str, List[Function]] = {}
        for candidate in run.functions:
            if candidate.global_name is not None:
                self._by_name.setdefault(candidate.global_name, []).append(candidate)
        self._names = run.resume_names()
        self._ended_well = not run.error
        if nodes is None:
            nodes = nodes_by_entry(run)
        self._nodes = nodes
        self._told: Dict[int, List[str]] = {}
        self._resets = {one: ", " + node.reset for one, node in nodes.items() if node.reset}
        owners = {id(entry): one for one in run.functions for entry in one.entries}
        for entry in run.entries():
            node = nodes.get(id(entry))
            told = ["compiled again because: " + one for one in reasons_in_words(entry, node)]
            for one, why in zip(entry.breaks, breaks_in_words(entry, node)):
                reached = reached_from(one, owners.get(id(entry)), entry)
                told.append("graph break at %s%s: %s" % (one.location or "?", reached, why))
            if entry.runs_on:
                told.append("not compiled: " + words.runs_on_from(entry.runs_on))
            self._told[id(entry)] = told
        compiled = {one.global_name for one in run.functions}
        self._whys = _reasons_of_failures(list(nodes.values()))
        #: resume functions for which torch made no code, by their first global
        self._given_up = {
            entry.resumes: words.given_up(entry.to_json())
            for entry in run.unattributed
            if entry.resumes and entry.resumes not in compiled
        }
        for token in [token for token, known in _managers.items() if known.get() is None]:
            del _managers[token]
        for token in [
            token
            for token, (code, own, _names) in _holders.items()
            if code.get() is None and own.get() is None
        ]:
            del _holders[token]

    def called_functions(self, function: Function) -> List[Function]:
        """The function and the resume functions that are reached from it, each once, top down."""
        found: List[Function] = []
        seen: Set[int] = set()
        work = [function]
        while work:
            current = work.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            found.append(current)
            called: List[Function] = []
            for entry in current.entries:
                for name in entry.called():
                    called.extend(self._by_name.get(name, ()))
            work.extend(reversed(called))
        return found

    def _apart(self, function: Function) -> str:
        """What tells it from another resume function of the same line."""
        node = self._nodes.get(id(function.entries[0])) if function.entries else None
        if node is None and function.global_name:  # torch made no code of it
            wanted = function.global_name
            known = (one for one in self._nodes.values() if one.entry.get("resumes") == wanted)
            node = next(known, None)
        return node.apart if node is not None else ""

    def _uncompiled(
        self, functions: Sequence[Function], codes: Dict[str, str]
    ) -> Dict[str, Function]:
        """The resume functions that the code of `functions` calls and of which torch made no code,
        as functions that have no compile: by the first global that holds their code.
        """
        found: Dict[str, Function] = {}
        for function in functions:
            for entry in function.entries:
                for rest in entry._rests:
                    name, code = codes.get(rest.name, ""), rest._code.get()
                    if not name or name in found or name in self._by_name or code is None:
                        continue
                    found[name] = _plain(function, entry, rest, name, code)
                    found[name].given_up = self._given_up.get(name) or {}
        return found

    def render(self, function: Function) -> str:
        """The text of full_code_for_<function>: valid Python, top down.

        The resume functions that its code calls come after it.
        """
        prefix = "%d" % next(_tokens)
        functions = self.called_functions(function)
        codes = {
            name: entry.aliases.get(name, name)
            for one in functions
            for entry in one.entries
            for name in entry.calls
        }
        reached = {one.global_name for one in functions}
        plain = self._uncompiled(functions, codes)
        given_up = sorted(name for name in codes if codes[name] in self._given_up)
        missing = sorted(name for name in codes if codes[name] not in reached.union(self._given_up))
        head = [
            *_first_rows(function),
            "",
            "Each function below is what torch's frame evaluation, written in C, does at a call: "
            "it tries",
            "the compiled entries in order and runs the first whose guards hold. torch moves the "
            "entry that",
            "it used to the front; the order here is that of the moment when this file was "
            "written. L and G",
            "in a guard are the frame's locals and its module's globals.",
            '"""',
            "from __future__ import annotations",
            "",
        ]
        callers = {
            name: entry for one in functions for entry in one.entries for name in entry.calls
        }
        said_of: Dict[str, List[str]] = {}
        for name in missing:
            entry = callers[name]
            outer = words.given_to(entry.source, name)
            outer = "" if outer in missing else outer
            said = words.no_compile_of_rest(
                len(entry.calls), outer, self._ended_well, entry.rests_called.get(name)
            )
            said_of.setdefault(said, []).append(name)
        for why, missed in said_of.items():
            said = "%s: %s" % (", ".join(missed), why)
            head += ["# " + line for line in legend.rows(_comment(said), 98)] + [""]
        for name in given_up:
            gone = self._given_up[codes[name]]
            said = "its compile raised an exception."
            if gone:
                said = words.from_then_on(gone, 0) + self._whys.get(gone["compile_id"], "")
            head += ["# " + line for line in legend.rows(_comment(name + ": " + said), 98)]
        if given_up:
            head.append("")
        names = _Names()
        sections = [
            _section(
                one,
                self._known,
                prefix,
                names,
                self._names.get(one.global_name or "", []),
                self._told,
                self._apart(one),
                self._resets,
                self._whys,
            )
            for one in functions + list(plain.values())
        ]
        alive = [one for one in function.entries if one.guard_manager is not None]
        known = (alive or function.entries)[:1]
        tail = [
            "",
            "",
            "# ---- what the code above uses ----",
            "from depyf.explain import _link as __link  # noqa: E402",
            "",
        ]
        for text, name in names.states.names.items():
            tail.append("%s = %s" % (name, _on_lines(text)))
        for name in sorted(codes):
            if codes[name] != name and codes[name] in reached.union(plain):
                tail.append("%s = %s  # the same code" % (name, codes[name]))
        where = function._globals_name or "__main__"
        token = "%s/%s" % (prefix, known[0].name) if known else ""
        given = ["globals()", repr(where), repr(token)]
        if names.real:
            begin = "__link(%s, {" % ", ".join(given)
            wide = len(begin) > _WIDTH
            tail += ["__link(", *("    %s," % one for one in given), "    {"] if wide else [begin]
            rows = ["    %r: %r," % pair for pair in names.real.items()]
            tail += ["    " * wide + row for row in rows] + (["    },", ")"] if wide else ["})"])
        else:
            tail += _call_on_rows("__link", given, "", _WIDTH)
        tail.append("")
        body = "\n\n".join(sections) + "\n".join(tail)
        ids = {entry.name: entry.compile_id for one in functions for entry in one.entries}
        return "\n".join(head + _contents(body, len(head), ids)) + "\n" + body


#: lines of a file from which on it has a table of its parts
_LONG = 150
_PART = re.compile(
    r"# ---- (?P<title>.+?) ?-{3,}$"
    r"|\s*def (?P<code>__transformed_code_\w+|__original_code_for\w+)\("
)


def _contents(body: str, before: int, ids: Dict[str, str]) -> List[str]:
    """A table of the parts of a file, each with its line.

    Args:
        body: what comes behind the table.
        before: lines in front of it.
        ids: the compile that code is of, by the name of the code.
    """
    lines = body.split("\n")
    parts = [(number, match) for number, match in enumerate(map(_PART.match, lines), 1) if match]
    if before + len(lines) < _LONG or not parts:
        return []
    rows = []
    before += len(parts) + 2
    for number, match in parts:
        title, code = match.group("title"), match.group("code")
        if code:
            title = "the function itself"
            title = "compile %s" % ids[code] if code in ids else title
        row = "# line %6d: %s%s" % (before + number, "  " * bool(code), title)
        rows.append(row if len(row) <= _WIDTH else row[: _WIDTH - 1] + "…")
    return ["# What is where:"] + rows + [""]


def _plain(caller: Function, entry: Entry, rest: Rest, name: str, code: types.CodeType) -> Function:
    """A resume function of which torch made no code."""
    function = Function(
        name=name_of(code),
        filename=file_of(code),
        firstlineno=code.co_firstlineno,
        is_resume=True,
        global_name=name,
    )
    function._titled_as = rest.title
    function._code = rest._code
    function._installed_as = rest._installed_as
    function._globals_name = caller._globals_name
    function._signature = signature_of(code)
    try:
        function.source, constants = decompile_with_constants(code)
        function.source_origin = "decompiled"
        function._constants = known_constants(constants)
    except Exception:  # the file then has no code of it
        pass_on()
    return function


def nodes_by_entry(run: Run, nodes: Optional[Sequence[Node]] = None) -> Dict[int, Node]:
    """What the report says of each entry, by the entry's id; {} where it cannot be made.

    Args:
        run: the run.
        nodes: those of its document, where they are known.
    """
    try:
        nodes = nodes_of([run.to_json()]) if nodes is None else nodes
        return {id(entry): node for entry, node in zip(run.entries(), nodes)}
    except Exception:  # torch's own words stand there then
        pass_on()
        return {}


def reasons_in_words(entry: Entry, node: Optional[Node]) -> List[str]:
    """Why a function was compiled again, each with its guard and the line that made it."""
    if node is None or len(node.reasons) != len(entry.reasons):
        return [" ".join(reason.split()) for reason in entry.reasons]
    # the causes: of those that are the same but for a value the first stands for all
    causes: Dict[Tuple[Any, ...], List[Any]] = {}
    for number, said in enumerate(node.reasons):
        cause = tuple(said[one] for one in ("kind", "row", "name", "file", "line"))
        if not said["name"]:
            cause += (said["words"],)
        causes.setdefault(cause, []).append(said)
    found = []
    for said, *others in causes.values():
        text = said["words"]
        if said["failed"] and "`%s`" % said["failed"] not in text:
            text += " (`%s`)" % said["failed"]
        if said["file"] and said["line"]:
            text += ", " + words.guarded_at(said, "%s:%d" % (said["file"], said["line"]))
        if others:
            tried = [one["tried"] for one in others if one["tried"]][:_TRIED]
            text += "; likewise %d more compile%s%s" % (
                len(others),
                "" if len(others) == 1 else "s",
                " (%s%s)" % (", ".join(tried), ", …" * (len(others) > len(tried))) if tried else "",
            )
        found.append((said["tried"] + ": " if said["tried"] else "") + text)
    return [" ".join(text.split()) for text in found]


def reached_from(graph_break: GraphBreak, function: Optional[Function], entry: Entry) -> str:
    """From which line of the compiled function a break is reached that is in what this calls."""
    if function is not None and entry._broke_at and graph_break is entry.breaks[-1]:
        own = function.filename, entry._broke_at
        return ", reached from %s:%d" % own if parse_place(graph_break.location) != own else ""
    frames = []
    for text in graph_break.user_stack:
        found = parse_place(text)
        if found is not None:
            frames.append(found + (text.rpartition(" in ")[2].strip(),))
    of_it = [
        at
        for at, (path, _, name) in enumerate(frames)
        if function is not None and path == function.filename and name == function.name
    ]
    if not of_it or of_it[-1] == len(frames) - 1:
        return ""
    return ", reached from %s:%d" % frames[of_it[-1]][:2]


#: compiles that are named in a line on why a function was compiled again
_TRIED = 8


def breaks_in_words(entry: Entry, node: Optional[Node]) -> List[str]:
    """Why the graph broke, for each break of a compile, and what torch calls it."""
    if node is None or len(node.breaks) != len(entry.breaks):
        return [" ".join(one.reason.split()) for one in entry.breaks]
    found = []
    for said in node.breaks:
        why, what = said["why"].rstrip("."), said["what"].rstrip(".")
        text = why if what == why else "%s (torch: %s)" % (why, what)
        found.append(" ".join(text.split()))
    return found


def render(function: Function, run: Run) -> str:
    """The text of full_code_for_<function>, see `Renderer`.

    Args:
        function: a function of the run.
        run: where the resume functions that it calls are found.
    """
    return Renderer(run).render(function)


@functools.lru_cache(maxsize=64)
def _on_lines(text: str) -> str:
    """A literal on lines that fit. Most functions of a run meet one global state."""
    return pprint.pformat(ast.literal_eval(text), width=88, compact=True)


def forget_texts() -> None:
    """Forgets what is known of guards and their texts: no run is read any more."""
    guard_text.forget_texts()
    _function_in.cache_clear()
    _on_rows.cache_clear()
    _on_lines.cache_clear()


def _docstring(text: str) -> str:
    return _comment(text).replace("\\", "\\\\").replace('"', "'")
