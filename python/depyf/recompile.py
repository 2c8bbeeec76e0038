"""Code objects compiled from decompiled source, proven to do what the original does.

Nothing is executed on the way: the source is parsed and compiled, and the two code objects are
compared by `depyf._core.compare`.
"""

import __future__

import ast
import keyword
import os
import re
import tempfile
import types
from collections import deque, namedtuple

from depyf import _core
from depyf.code_edit import (
    CannotEdit,
    place_constants,
    rename_qualified,
    reorder_cells,
    replace,
)

_CO_NESTED = 0x10
_CO_NOFREE = 0x40
_CO_ITERABLE_COROUTINE = 0x100
_CO_METHOD = 0x8000000
_CO_HAS_DOCSTRING = 0x4000000
_CO_VARARGS = 0x4
_CO_VARKEYWORDS = 0x8
# Flags with which a source is compiled. Nested scopes share their bit with CO_NESTED, and
# barry_as_FLUFL changes how `!=` is spelt.
_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    if _name not in ("nested_scopes", "barry_as_FLUFL"):
        _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag
_ALL_FUTURE_FLAGS = _FUTURE_FLAGS | __future__.barry_as_FLUFL.compiler_flag
# Flags that follow from where a function stands or what marked it, not from what it does.
_ADOPTED_FLAGS = (
    _CO_NESTED | _CO_NOFREE | _CO_ITERABLE_COROUTINE | _CO_METHOD | _ALL_FUTURE_FLAGS
)

# The function's name while it is compiled: it must not capture a name that the body uses.
_BODY = "__depyf_body__"
_FACTORY = "__depyf_factory__"

PROVEN = ("identical", "exact", "equivalent")


class Recompiled(
    namedtuple(
        "Recompiled",
        "code source path verdict detail function_name line_map constants diagnostics",
    )
):
    """What `recompile` made.

    code: the drop-in code object, None where it is not proven to do the same;
    source: the text, as in the file; path: the file, or None;
    verdict: 'identical', 'exact', 'equivalent', 'different', or 'failed' where there is nothing
    to compare; detail: why, in words;
    function_name: its name in the source;
    line_map: list of (line, bytecode offsets, original line, qualified name);
    constants: placeholder name in the source -> the object that stands there;
    diagnostics: list of (kind, qualified name, offset, message).
    """

    __slots__ = ()

    @property
    def proven(self):
        """Whether `code` is there to be used."""
        return self.code is not None


def recompile(
    original_code,
    *,
    reference=None,
    filename_template=None,
    name=None,
    indentation=4,
    temp_prefix="__temp_",
    callee_parameters=None,
    dynamo=False
):
    """Decompile `original_code` and compile the result into a code object that can replace it.

    The result has the arguments, free and cell variables, name and flags of `original_code`, or
    of `reference` where that is given, in the same order. Its constants that are no literals are
    the very objects of the original. `name` names the function in the source. With
    `filename_template`, whose `%s` becomes that name, the source is written there in one step,
    so that a debugger finds the lines that run; a source that is not proven says so in its first
    line, and `code` is None. `dynamo` says that torch wrote the code, also where no name in it does.

    Raises DecompilationError for bytecode that cannot be read, OSError where the file cannot be
    written.
    """
    reference = original_code if reference is None else reference
    function_name = name or _identifier(reference.co_name)
    path = None
    if filename_template is not None:
        path = os.path.abspath(filename_template.replace("%s", function_name))

    result = None
    # The readable form first; then the faithful one, which keeps temporaries and frozensets.
    for faithful in (False, True):
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
        )
        attempt = _attempt(
            original_code, reference, path, decompiled, function_name, indentation, dynamo
        )
        # Where neither is proven, the readable one is shown.
        if result is None or attempt.proven:
            result = attempt
        if attempt.proven:
            break
    if path is not None:
        _write_atomically(path, result.source)
    return result


def _attempt(original, reference, path, decompiled, function_name, indentation, dynamo):
    source, line_map, constants, diagnostics = decompiled
    verdict, detail, code = "failed", "", None
    filename = path or "<decompiled %s>" % function_name
    flags = original.co_flags & _FUTURE_FLAGS
    try:
        source, added_lines = _as_module(source, reference, filename, flags, indentation)
        if added_lines:
            line_map = _shifted(line_map, added_lines)
        candidate = _compile(source, original, reference, filename, flags, function_name)
        candidate = _fit(candidate, reference, constants)
        verdict, detail = _core.compare(original, _dressed(candidate, original), dynamo=dynamo)
        candidate = _dressed(candidate, reference)
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
            " ".join(detail.split()),
        )
        source = header + source
        line_map = _shifted(line_map, 1)
    return Recompiled(
        code,
        source + _legend(source, constants),
        path,
        verdict,
        detail,
        function_name,
        line_map,
        constants,
        diagnostics,
    )


class _Misfit(Exception):
    """The compiled function differs from the original in what no edit changes."""


def _identifier(name):
    """`name`, or where it is no identifier (`<lambda>`) the nearest one."""
    spelt = re.sub(r"\W", "_", name).strip("_") if not name.isidentifier() else name
    if not spelt.isidentifier() or keyword.iskeyword(spelt):
        spelt = "_" + spelt
    return spelt


def _shifted(line_map, lines):
    return [(entry[0] + lines,) + tuple(entry[1:]) for entry in line_map]


def _legend(source, constants):
    """Comment lines that say which object each placeholder in `source` is."""
    lines = [
        "#   %s: %s\n" % (placeholder, _brief(value))
        for placeholder, value in constants.items()
        if placeholder in source
    ]
    if not lines:
        return ""
    return "\n# Objects that the bytecode itself holds, by the names that stand for them above:\n" + (
        "".join(lines)
    )


def _brief(value):
    """A description that runs none of the object's own code."""
    kind = type(value)
    text = ""
    if kind is types.ModuleType or kind is types.FunctionType:
        text = value.__name__
    elif kind is type:
        text = type.__repr__(value)
    elif kind is types.BuiltinFunctionType:
        text = value.__qualname__
    elif kind in (tuple, list, dict, set, frozenset):
        text = "of length %d" % len(value)
    return " ".join(("%s %s" % (kind.__qualname__, text)).split())[:90]


def _as_module(source, reference, filename, flags, indentation):
    """`source` so that it is a valid file: a function that rebinds free variables needs a scope.

    Returns it with the number of lines put in front.
    """
    if reference.co_freevars:
        try:
            compile(source, filename, "exec", flags, True, 0)
        except SyntaxError:
            head = "def %s(%s):\n" % (_FACTORY, ", ".join(reference.co_freevars))
            return head + _indented(source, " " * indentation), 1
    return source, 0


def _indented(source, margin):
    """`source` one level deeper; the inside of strings that span lines stays as it is."""
    import io
    import tokenize

    inside = set()
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


def _compile(source, original, reference, filename, flags, function_name):
    """The code object of `source`'s function, with exactly the variables of `reference`."""
    cells, frees = set(reference.co_cellvars), set(reference.co_freevars)
    if not frees:
        module = compile(source, filename, "exec", flags, True, 0)
        code = _find(module, function_name)
        if code is not None and set(code.co_cellvars) == cells and not code.co_freevars:
            return rename_qualified(code, _qualname(code), _original_qualname(original))
    tree = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, True, 0)
    _declare(tree, function_name, reference)
    code = _find(compile(tree, filename, "exec", flags, True, 0), _BODY)
    prefix = _FACTORY + ".<locals>." + _BODY if frees else _BODY
    return rename_qualified(code, prefix, _original_qualname(original))


def _qualname(code):
    return getattr(code, "co_qualname", code.co_name)


def _original_qualname(code):
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


def _find(code, name):
    pending = deque([code])
    while pending:
        current = pending.popleft()
        nested = [c for c in current.co_consts if isinstance(c, types.CodeType)]
        for candidate in nested:
            if candidate.co_name == name:
                return candidate
        pending.extend(nested)
    return None


def declaration(local_names, cells, frees):
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


def _declare(tree, function_name, reference):
    """Rename the function in `tree` to _BODY and give it the variables of `reference`."""
    owner = tree
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
    text = declaration((), reference.co_cellvars, reference.co_freevars)
    extra = ast.parse(text).body
    for statement in extra:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                ast.copy_location(node, body[start])
    function.body = body[:start] + extra + body[start:]
    if reference.co_freevars and owner is tree:
        factory = ast.parse("def %s(%s): pass" % (_FACTORY, ", ".join(reference.co_freevars)))
        factory.body[0].body = [function]
        owner.body[owner.body.index(function)] = factory.body[0]


def _function_in(owner, name):
    for statement in reversed(owner.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == name:
            return statement
    return None


def first_statement(body):
    """Index of the first statement behind a docstring and `global` and `nonlocal` declarations.

    No name may be used before such a declaration of it. Never past the last statement.
    """
    index = 0
    while index < len(body) - 1 and (
        isinstance(body[index], (ast.Global, ast.Nonlocal)) or _is_docstring(body[index])
    ):
        index += 1
    return index


def _is_docstring(statement):
    return isinstance(statement, ast.Expr) and isinstance(
        statement.value, (ast.Constant, getattr(ast, "Str", ast.Constant))
    )


def _fit(code, reference, constants):
    """`code` as a drop-in for `reference`. Raises _Misfit or CannotEdit."""
    for what in ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"):
        found, expected = getattr(code, what, 0), getattr(reference, what, 0)
        if found != expected:
            raise _Misfit("%s is %d, expected %d" % (what, found, expected))
    if (code.co_flags ^ reference.co_flags) & ~(_ADOPTED_FLAGS | _CO_HAS_DOCSTRING):
        raise _Misfit("co_flags is %#x, expected %#x" % (code.co_flags, reference.co_flags))
    for what in ("co_cellvars", "co_freevars"):
        found, expected = getattr(code, what), getattr(reference, what)
        if sorted(found) != sorted(expected):
            raise _Misfit("%s is %r, expected %r" % (what, found, expected))
    code = place_constants(code, constants)
    code = reorder_cells(code, reference.co_cellvars, reference.co_freevars)
    if code.co_cellvars != reference.co_cellvars or code.co_freevars != reference.co_freevars:
        raise _Misfit("the order of cell variables %r is not reached" % (reference.co_cellvars,))

    arguments = code.co_argcount + code.co_kwonlyargcount
    arguments += bool(code.co_flags & _CO_VARARGS) + bool(code.co_flags & _CO_VARKEYWORDS)
    if code.co_varnames[:arguments] != reference.co_varnames[:arguments]:
        # Names that no source can spell, such as `.0`; locals are reached by position.
        names = reference.co_varnames[:arguments] + code.co_varnames[arguments:]
        code = replace(code, co_varnames=names)
    return code


def _dressed(code, like):
    """`code` with the names and those flags of `like` that do not change what it does."""
    changes = {
        "co_name": like.co_name,
        "co_flags": code.co_flags & ~_ADOPTED_FLAGS | like.co_flags & _ADOPTED_FLAGS,
    }
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = like.co_qualname
    return replace(code, **changes)


def _write_atomically(path, text):
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".depyf-", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp makes private files; a dump is as readable as any other file of the user.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
