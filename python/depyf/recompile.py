"""Code objects compiled from decompiled source, proven to do what the original does.

Nothing is executed on the way: the source is parsed and compiled, and the two code objects are
compared by `depyf._core.compare`.
"""

import __future__

import ast
import keyword
import os
import re
import sys
import textwrap
import types
from collections import deque, namedtuple
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, cast

from depyf import _core
from depyf.assembler import with_locals
from depyf.compiling import Loud, compile_text, compile_tree, parse
from depyf.files import write_atomically
from depyf.code_edit import (
    CannotEdit,
    place_constants,
    rename_qualified,
    reorder_cells,
    replace,
    with_consts,
    with_names,
    with_variables,
)
from depyf.terminal import shown
from depyf.frame_contract import argument_names, violation
from depyf.lifetimes import consume, used_locals
from depyf.unpacking import without_copies

_CO_NESTED = 0x10
_CO_NOFREE = 0x40
_CO_ITERABLE_COROUTINE = 0x100
_CO_METHOD = 0x8000000
_CO_HAS_DOCSTRING = 0x4000000
# Flags with which a source is compiled. Nested scopes share their bit with CO_NESTED, and
# barry_as_FLUFL changes how `!=` is spelt.
_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    if _name not in ("nested_scopes", "barry_as_FLUFL"):
        _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag
_ALL_FUTURE_FLAGS = _FUTURE_FLAGS | __future__.barry_as_FLUFL.compiler_flag
# Flags that follow from where a function stands or what marked it, not from what it does.
_ADOPTED_FLAGS = _CO_NESTED | _CO_NOFREE | _CO_ITERABLE_COROUTINE | _CO_METHOD | _ALL_FUTURE_FLAGS

#: line, bytecode offsets, original line and qualified name of each statement
LineMap = List[Tuple[Any, ...]]

# The function's name while it is compiled: it must not capture a name that the body uses.
_BODY = "__depyf_body__"
_FACTORY = "__depyf_factory__"

# To ask a later Python for `ast.Str` makes it warn, and 3.14 has none.
_LITERAL = ast.Constant if sys.version_info >= (3, 8) else ast.Str

PROVEN = ("identical", "exact", "equivalent")
# Functions that show the locals of the frame that calls them.
_OBSERVERS = (locals, vars, dir, eval, exec, sys._getframe)


class Recompiled(
    namedtuple(
        "Recompiled",
        "code source path verdict detail function_name line_map constants diagnostics names "
        "readable",
    )
):
    """What `recompile` made.

    code: the drop-in code object, None where it is not proven to do the same;
    source: the text, as in the file; path: the file, or None;
    verdict: 'identical', 'exact', 'equivalent'; 'unproven', 'different', or 'failed' where there is
    nothing to compare; detail: why, in words;
    function_name: its name in the source;
    line_map: list of (line, bytecode offsets, original line, qualified name);
    constants: placeholder name in the source -> the object that stands there;
    diagnostics: list of (kind, qualified name, offset, message);
    names: name in the source -> the name of the bytecode that no source can hold;
    readable: name of a global in the source -> the name that torch gave it, which the code has.
    """

    __slots__ = ()

    @property
    def proven(self) -> bool:
        """Whether `code` is there to be used."""
        return self.code is not None


def recompile(
    original_code: types.CodeType,
    *,
    reference: Optional[types.CodeType] = None,
    filename_template: Optional[str] = None,
    name: Optional[str] = None,
    indentation: int = 4,
    temp_prefix: str = "__temp_",
    callee_parameters: Any = None,
    dynamo: bool = False,
    scope: Optional[Dict[str, Any]] = None,
    own_locals: Iterable[str] = (),
    callee_results: Any = None,
    about: str = "",
) -> Recompiled:
    """Decompile `original_code` and compile the result into a code object that can replace it.

    The result has the arguments, free and cell variables, name and flags of `original_code`, or
    of `reference` where that is given, in the same order. Its constants that are no literals are
    the very objects of the original. `name` names the function in the source. With
    `filename_template`, whose `%s` becomes that name, the source is written there in one step,
    so that a debugger finds the lines that run; a source that is not proven says so in its first
    line, and `code` is None. `dynamo` says that torch wrote the code, also where no name in it does,
    and that the globals in it which have names of torch's are those that torch installed. With
    `scope`, the globals of the frame, that is looked up. `own_locals` are names of locals that the
    program has itself, which count also where they look like torch's. `callee_parameters` and
    `callee_results` map global names of functions to names of their parameters, and of graphs to
    names of their outputs. `about` stands in the first line, as a comment.

    Raises DecompilationError for bytecode that cannot be read, OSError where the file cannot be
    written.
    """
    reference = original_code if reference is None else reference
    function_name = name or _identifier(reference.co_name)
    path = None
    if filename_template is not None:
        path = os.path.abspath(filename_template.replace("%s", function_name))

    own_locals = tuple(own_locals)
    if scope is not None:
        dynamo = dynamo and _holds_installed(scope, original_code)
        if _names_observer(scope, original_code):
            own_locals += original_code.co_varnames
    program_locals = own_locals
    if dynamo:
        # Without them, what they keep alive in torch's code would die earlier.
        own_locals += tuple(_core.kept_temporaries(original_code))
    result: Optional[Recompiled] = None
    # The readable form first; then the faithful one, which keeps temporaries and frozensets.
    for faithful in (False, True):
        names: Dict[str, str] = {}
        readable: List[Tuple[str, str, bool]] = []
        wanted: Dict[str, Any] = {}
        if dynamo and not faithful:
            wanted = {"readable": readable, "program_locals": program_locals}
        decompiled = _core.decompile(
            original_code,
            indentation,
            temp_prefix,
            function_name,
            faithful,
            not faithful,
            callee_parameters or {},
            0,
            dynamo,
            True,
            (),
            names,
            # Which NaNs are one object counts: `nan in l`, `d[nan]`.
            nan_literals=False,
            # Names of torch's are believed where they make the source readable, which is proven.
            ordinary=faithful and not dynamo,
            own_locals=own_locals,
            callee_results=callee_results or {},
            **wanted,
        )
        attempt = _attempt(
            original_code,
            reference,
            path,
            decompiled,
            function_name,
            indentation,
            dynamo,
            names,
            own_locals,
            readable,
            about,
        )
        # Where neither is proven, the readable one is shown.
        if result is None or attempt.proven:
            result = attempt
        if attempt.proven:
            break
    assert result is not None
    if path is not None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, result.source)
    return result


def _holds_installed(scope: Mapping[str, Any], code: types.CodeType) -> bool:
    """Whether every global of torch's naming that `code` uses is in `scope` as torch installs it."""
    for name in code.co_names:
        value = scope.get(name)
        if re.match(r"__import_.", name) and name != "__import__":
            if not isinstance(value, types.ModuleType):
                return False
        elif re.match(r"__(compiled_fn|resume_at)_\d", name) and not (
            callable(value) or isinstance(value, types.CodeType)
        ):
            return False
    return True


def _names_observer(scope: Mapping[str, Any], code: types.CodeType) -> bool:
    """Whether a global that `code` uses is, by whatever name, a function that shows locals."""
    values = [scope[name] for name in code.co_names if name in scope]
    return any(value is observer for value in values for observer in _OBSERVERS)


def _attempt(
    original: types.CodeType,
    reference: types.CodeType,
    path: Optional[str],
    decompiled: Any,
    function_name: str,
    indentation: int,
    dynamo: bool,
    names: Optional[Dict[str, str]] = None,
    own_locals: Iterable[str] = (),
    readable: Sequence[Tuple[str, str, bool]] = (),
    about: str = "",
) -> Recompiled:
    source, line_map, constants, diagnostics = decompiled
    names = {} if names is None else names
    verdict, detail, code = "failed", "", None
    consumed: Tuple[str, ...] = ()
    uncopied = False
    filename = path or "<decompiled %s>" % function_name
    flags = original.co_flags & _FUTURE_FLAGS
    cells, frees = _spelt_variables(reference, source, names)
    globals_of_torch = {given: real for given, real, is_global in readable if is_global}
    try:
        if dynamo:
            source, line_map = _without_nonlocals(source, line_map)
        source, added_lines = _as_module(source, frees, filename, flags, indentation)
        if added_lines:
            line_map = _shifted(line_map, added_lines)
        head = _wrapped(shown(about)) if about else ""
        head += _table_of_globals(globals_of_torch)
        if dynamo and frees and not added_lines:
            head += _wrapped("free variables of the function: %s" % ", ".join(frees))
        source = head + source
        line_map = _shifted(line_map, head.count("\n"))
        arguments = (source, original, cells, frees, filename, flags, function_name, names)
        try:
            candidate = _compile(*arguments)
        except Loud:
            if dynamo:
                raise  # in the user's program, where nobody asked for a warning
            with_warnings = True
            candidate = _compile(*arguments, with_warnings=with_warnings)
        torchs = {given: real for given, real, _ in readable}
        candidate = with_variables(candidate, torchs, globals_of_torch)
        candidate = _fit(candidate, reference, constants)
        if dynamo:
            candidate, uncopied = without_copies(candidate, original)
            candidate, consumed = consume(candidate, used_locals(original))
        for one in _with_own_functions(candidate, original) if dynamo else (candidate,):
            candidate = one
            verdict, detail = _core.compare(
                original,
                _dressed(candidate, original),
                dynamo=dynamo,
                lifetimes=dynamo,
                own_locals=own_locals,
            )
            if verdict in PROVEN:
                break
        # A debugger shows the locals by the names that the source has.
        shown_names = {real: given for given, real, is_global in readable if not is_global}
        consumed = tuple(shown_names.get(name, name) for name in consumed)
        candidate = with_variables(_dressed(candidate, reference), shown_names)
        if verdict in PROVEN:
            code = candidate
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        detail = "the decompiled source does not compile: %s" % error
        # A file that is no valid Python would trouble whoever reads the whole folder.
        source = "".join("# " + line for line in source.splitlines(True))
    except _Misfit as error:
        detail = str(error)
    except CannotEdit as error:
        detail = "the compiled code cannot be fitted to the original: %s" % error
    if code is None:
        header = "# NOT PROVEN to do what the bytecode does (%s): %s\n" % (
            verdict,
            shown(" ".join(detail.split())),
        )
        source = header + source
        line_map = _shifted(line_map, 1)
    return Recompiled(
        code,
        source
        + _legend(source, constants, names)
        + _lifetime_note(consumed)
        + uncopied * _UNCOPIED,
        path,
        verdict,
        detail,
        function_name,
        line_map,
        constants,
        diagnostics,
        names,
        globals_of_torch,
    )


def _table_of_globals(names: Dict[str, str]) -> str:
    """Comment lines that say which of torch's globals the names in the source stand for."""
    return "".join("# %s is torch's %s\n" % pair for pair in names.items())


class _Misfit(Exception):
    """The compiled function differs from the original in what no edit changes."""


def _identifier(name: str) -> str:
    """`name`, or where it is no identifier (`<lambda>`) the nearest one."""
    if _is_writable(name):
        return name
    spelt = re.sub(r"[^0-9A-Za-z_]", "_", name).strip("_")[:60]
    return spelt if _is_writable(spelt) else "_" + spelt


def _shifted(line_map: LineMap, lines: int) -> LineMap:
    return [(entry[0] + lines,) + tuple(entry[1:]) for entry in line_map]


def _spelt_variables(
    reference: types.CodeType, source: str, names: Dict[str, str]
) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """The cell and the free variables of `reference` as the source calls them.

    Those that it does not mention get a name in `names` where they need one.
    """
    spelt = {name: spelling for spelling, name in names.items()}
    number = 0
    for name in reference.co_cellvars + reference.co_freevars:
        if name in spelt or _is_writable(name):
            continue
        while "_variable_%d" % number in source:
            number += 1
        spelt[name] = "_variable_%d" % number
        names[spelt[name]] = name
        number += 1
    cells = tuple(spelt.get(name, name) for name in reference.co_cellvars)
    return cells, tuple(spelt.get(name, name) for name in reference.co_freevars)


def _is_writable(name: str) -> bool:
    """Does `name` in a source give this very name?"""
    if not name.isidentifier() or keyword.iskeyword(name):
        return False
    if all(ord(character) < 128 for character in name):
        return True
    import unicodedata

    return unicodedata.normalize("NFKC", name) == name


def _legend(source: str, constants: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Comment lines that say what each placeholder in `source` is."""
    return _legend_of_names(source, names) + _legend_of_constants(source, constants)


def _rows_of_legend(source: str, title: str, shown: Iterable[Tuple[str, str]]) -> str:
    """Comment lines under `title`: what each name stands for, of those that occur in `source`."""
    lines = ["#   %s: %s\n" % (name, text) for name, text in shown if name in source]
    return "\n# %s\n%s" % (title, "".join(lines)) if lines else ""


def _legend_of_names(source: str, names: Mapping[str, str]) -> str:
    shown = ((spelling, _brief_text(name)) for spelling, name in sorted(names.items()))
    title = "Names of the bytecode that no source can hold, by those that stand for them above:"
    return _rows_of_legend(source, title, shown)


def _brief_text(text: str) -> str:
    return ascii(text if len(text) <= 200 else text[:200] + "...")


def _legend_of_constants(source: str, constants: Mapping[str, Any]) -> str:
    shown = ((placeholder, _brief(value)) for placeholder, value in constants.items())
    title = "Objects that the bytecode itself holds, by the names that stand for them above:"
    return _rows_of_legend(source, title, shown)


_UNCOPIED = """
# Where torch's code passes a dict itself as keyword arguments, so does the bytecode that runs; what
# `f(**d)` compiles to would pass a copy.
"""


def _lifetime_note(names: Sequence[str]) -> str:
    """Comment lines that say which locals die earlier than the source says."""
    if not names:
        return ""
    text = (
        "The bytecode that runs clears each of these locals where it is last read, as a value on "
        "the stack of torch's code ends there: %s." % ", ".join(names)
    )
    return "\n" + _wrapped(text)


def _wrapped(text: str) -> str:
    """`text` as comment lines."""
    lines = textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)
    return "".join("# %s\n" % line for line in lines)


def _without_nonlocals(source: str, line_map: Any) -> Tuple[str, Any]:
    """`source` without the `nonlocal` lines of a function that assigns none of these variables.

    `_compile` makes them free variables all the same; what is left is a valid file.
    """
    tree = parse(source, "<decompiled>", 0)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return source, line_map
    function = tree.body[0]
    bound: Set[Optional[str]] = set()
    for node in ast.walk(function):
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


def _brief(value: Any) -> str:
    """A description that runs none of the object's own code."""
    kind = type(value)
    text = ""
    if kind is types.ModuleType or kind is types.FunctionType:
        text = value.__name__
    elif kind is type:
        text = type.__repr__(value)
    elif kind is types.BuiltinFunctionType:
        text = value.__qualname__
    elif kind in (float, complex):
        text = repr(value)
    elif kind in (tuple, list, dict, set, frozenset):
        text = "of length %d" % len(value)
    return " ".join(("%s %s" % (kind.__qualname__, text)).split())[:90]


def _as_module(
    source: str, frees: Sequence[str], filename: str, flags: int, indentation: int
) -> Tuple[str, int]:
    """`source` so that it is a valid file: a function that rebinds free variables needs a scope.

    Returns it with the number of lines put in front.
    """
    if frees:
        try:
            compile_text(source, filename, flags, to_run=False)
        except SyntaxError:
            head = "def %s(%s):\n" % (_FACTORY, ", ".join(frees))
            return head + _indented(source, " " * indentation), 1
    return source, 0


def _indented(source: str, margin: str) -> str:
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


def _compile(
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
            return rename_qualified(code, _qualname(code), _original_qualname(original))
    tree = parse(source, filename, flags)
    _declare(tree, function_name, cells, frees)
    if with_warnings:
        module = compile(tree, filename, "exec", flags, True, 0)
    else:
        module = compile_tree(tree, filename, flags)
    body = _find(module, _BODY)
    assert body is not None  # _declare put it there
    code = with_names(body, names)
    prefix = _FACTORY + ".<locals>." + _BODY if frees else _BODY
    return rename_qualified(code, prefix, _original_qualname(original))


def _qualname(code: types.CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


def _original_qualname(code: types.CodeType) -> str:
    """`code`'s qualified name as the functions inside it have it.

    Those in a resume function are named after the function that torch took them from. Before 3.11 nothing else knows the name.
    """
    for nested in code.co_consts:
        if not isinstance(nested, types.CodeType):
            continue
        end = ".<locals>." + nested.co_name
        names = (nested.co_qualname,) if hasattr(nested, "co_qualname") else code.co_consts
        for name in names:
            if type(name) is str and name.endswith(end):
                return name[: -len(end)]
    return _qualname(code)


def _find(code: types.CodeType, name: str) -> Optional[types.CodeType]:
    pending = deque([code])
    while pending:
        current = pending.popleft()
        nested = [c for c in current.co_consts if isinstance(c, types.CodeType)]
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
    function = _function_in(owner, function_name)
    if function is None:
        for outer in tree.body:
            if isinstance(outer, ast.FunctionDef) and outer.name == _FACTORY:
                owner, function = outer, _function_in(outer, function_name)
    if function is None:
        raise _Misfit("the source holds no function %s" % function_name)
    function.name = _BODY
    body = function.body
    # At the first statement's line: a debugger that stops there has something to show.
    start = first_statement(body)
    text = declaration((), cells, frees)
    extra = ast.parse(text).body
    for statement in extra:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                ast.copy_location(node, body[start])
    function.body = body[:start] + extra + body[start:]
    if frees and owner is tree:
        factory = ast.parse("def %s(%s): pass" % (_FACTORY, ", ".join(frees)))
        outer = cast(ast.FunctionDef, factory.body[0])
        outer.body = [function]
        owner.body[owner.body.index(function)] = outer


def _function_in(owner: Any, name: str) -> Any:
    for statement in reversed(owner.body):
        if (
            isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
            and statement.name == name
        ):
            return statement
    return None


def first_statement(body: Sequence[ast.stmt]) -> int:
    """Index of the first statement behind a docstring and `global` and `nonlocal` declarations.

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


def _fit(
    code: types.CodeType, reference: types.CodeType, constants: Mapping[str, Any]
) -> types.CodeType:
    """`code` as a drop-in for `reference`. Raises _Misfit or CannotEdit."""
    if (code.co_flags ^ reference.co_flags) & ~(_ADOPTED_FLAGS | _CO_HAS_DOCSTRING):
        raise _Misfit("co_flags is %#x, expected %#x" % (code.co_flags, reference.co_flags))
    for what in ("co_cellvars", "co_freevars"):
        found, expected = getattr(code, what), getattr(reference, what)
        if sorted(found) != sorted(expected):
            raise _Misfit("%s is %r, expected %r" % (what, found, expected))
    code = place_constants(code, constants)
    code = reorder_cells(code, reference.co_cellvars, reference.co_freevars)
    arguments = argument_names(reference)
    if len(argument_names(code)) == len(arguments) and argument_names(code) != arguments:
        # Names that no source can spell, such as `.0`; locals are reached by position.
        code = replace(code, co_varnames=arguments + code.co_varnames[len(arguments) :])
    if argument_names(code) == arguments:
        # The original's locals have the slots that they had: torch fills them from another frame.
        code = with_locals(code, reference.co_varnames)
    wrong = violation(reference, code)
    if wrong is not None:
        raise _Misfit("the recompiled code has another frame: " + wrong)
    return code


def _with_own_functions(code: types.CodeType, original: types.CodeType) -> Iterable[types.CodeType]:
    """`code` with the code objects of `original` for its functions; then `code` itself.

    Torch compiles such a function for each code object that it has: with others, a program would
    compile more often and a function would say another file. Each is proven to be the same first.
    """
    unused = [one for one in original.co_consts if isinstance(one, types.CodeType)]

    def own(made: types.CodeType) -> types.CodeType:
        for i, one in enumerate(unused):
            if (
                one.co_name == made.co_name
                and one.co_freevars == made.co_freevars
                and violation(one, made) is None
                and _core.compare(one, _dressed(made, one))[0] in PROVEN
            ):
                return unused.pop(i)
        return made

    if unused:
        consts = tuple(
            own(one) if isinstance(one, types.CodeType) else one for one in code.co_consts
        )
        if any(one is not other for one, other in zip(consts, code.co_consts)):
            yield with_consts(code, consts)
    yield code


def _dressed(code: types.CodeType, like: types.CodeType) -> types.CodeType:
    """`code` with the names and those flags of `like` that do not change what it does."""
    changes: Dict[str, Any] = {
        "co_name": like.co_name,
        "co_flags": code.co_flags & ~_ADOPTED_FLAGS | like.co_flags & _ADOPTED_FLAGS,
    }
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = _qualname(like)
    return replace(code, **changes)
