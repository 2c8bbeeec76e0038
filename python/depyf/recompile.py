"""Code objects compiled from decompiled source, proven to do what the original does.

Nothing is executed on the way: the source is parsed and compiled, and the two code objects are
compared by `depyf._core.compare`.
"""

import __future__

import os
import re
import sys
import types
from collections import namedtuple
from types import MappingProxyType
from typing import (
    Any,
    Container,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from depyf import _core
from depyf.assembler import with_locals
from depyf.compiling import Loud
from depyf.converting import converted_as
from depyf.displays import built_at_once
from depyf.filling import filled_in_place
from depyf.importing import imported_as
from depyf.files import write_atomically
from depyf.code_edit import (
    CannotEdit,
    place_constants,
    reorder_cells,
    replace,
    with_consts,
    with_variables,
)
from depyf.interrupts import pass_on
from depyf.plain import name_of, plain_dict
from depyf.terminal import shown
from depyf.frame_contract import argument_names, violation
from depyf.function_source import (
    FACTORY,
    Misfit,
    as_module,
    compile_function,
    identifier,
    qualname_of,
    spelt_variables,
    without_nonlocals,
)
from depyf.legend import (
    UNCOPIED,
    base_class_note,
    cell_note,
    contents_note,
    copied_back_note,
    legend,
    lifetime_note,
    own_value_note,
    random_note,
    table_of_globals,
    table_of_parameters,
    unused_note,
    unused_result_note,
    with_named_objects,
    wrapped,
)
from depyf.lifetimes import consume, consume_as, held_longer, starred_as, used_locals
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

PROVEN = ("identical", "exact", "equivalent")
_NAMED_LIKE_TORCHS = re.compile(r"__(import_.|(compiled_fn|resume_at)_\d)")
# Functions that show the locals of the frame that calls them.
_OBSERVERS = (locals, vars, dir, eval, exec, sys._getframe)


class Own(NamedTuple):
    """Names of the program itself, whatever they look like."""

    locals: Tuple[str, ...] = ()
    globals: Tuple[str, ...] = ()


_NO_NAMES = Own()


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


def _notes_of_torch(source: str, code: types.CodeType, updated: Mapping[str, int]) -> str:
    """Comment lines on what torch's code does for which Python has no plain words."""
    own_values = own_value_note(source, _cells(code))
    texts = cell_note(source), own_values, unused_note(source), random_note(source)
    more = (
        copied_back_note(source),
        base_class_note(source),
        contents_note(source),
        unused_result_note(source, updated),
    )
    return "".join(texts + more)


def _cells(code: types.CodeType) -> Set[str]:
    """The variables of a function and of those in it that several functions share."""
    inner = (one for one in code.co_consts if type(one) is types.CodeType)
    return {*code.co_cellvars, *code.co_freevars}.union(*map(_cells, inner))


def recompile(
    original_code: types.CodeType,
    *,
    reference: Optional[types.CodeType] = None,
    filename_template: Optional[str] = None,
    path: Optional[str] = None,
    filename: Optional[str] = None,
    name: Optional[str] = None,
    indentation: int = 4,
    temp_prefix: str = "__temp_",
    callee_parameters: Any = None,
    dynamo: bool = False,
    scope: Optional[Dict[str, Any]] = None,
    own_locals: Iterable[str] = (),
    installed: Optional[Container[str]] = None,
    callee_results: Any = None,
    on_stack: Mapping[str, str] = MappingProxyType({}),
    updated: Mapping[str, int] = MappingProxyType({}),
    about: str = "",
    notes: str = "",
) -> Recompiled:
    """Decompile `original_code` and compile the result into a code object that can replace it.

    The result has the arguments, free and cell variables, name and flags of `original_code`, or of
    `reference` where that is given, in the same order. Its constants that are no literals are the
    very objects of the original. `name` names the function in the source. With `filename_template`,
    whose `%s` becomes that name, the source is written there in one step, so that a debugger finds
    the lines that run; a source that is not proven says so in its first line, and `code` is None.
    `path` is such a file's path as it is. Without either, `filename` is the code's file name.
    `dynamo` says that torch wrote the code, also where no name in it does, and that the globals in
    it which have names of torch's are those that torch installed. `installed` are those that it did
    install for this compile; where that is not known, what `scope`, the globals of the frame, holds
    is looked up. Others are the program's. `own_locals` are names of locals that the program has
    itself, which count also where they look like torch's. `callee_parameters` and `callee_results`
    map global names of functions to names of their parameters, and of graphs to names of their
    outputs.
    `on_stack` tells of parameters what they are given, and `updated` of graphs how many tensors
    they change in place. `about` stands in the first lines, as comments, and `notes` as comments at
    the end.

    Raises DecompilationError for bytecode that cannot be read, OSError where the file cannot be
    written.
    """
    scope = plain_dict(scope) if issubclass(type(scope), dict) else scope
    reference = original_code if reference is None else reference
    function_name = name or identifier(name_of(reference))
    if filename_template is not None:
        path = filename_template.replace("%s", function_name)
    if path is not None:
        path = filename = os.path.abspath(path)

    own_globals = tuple(_program_globals(original_code, installed, scope))
    program_locals = own_locals = _program_locals(original_code, own_locals, scope)
    if dynamo:
        # Without them, what they keep alive in torch's code would die earlier.
        own_locals += tuple(_core.kept_temporaries(original_code, own_globals))
    result: Optional[Recompiled] = None
    # The readable form first; then the faithful one, which keeps temporaries and frozensets.
    for faithful in (False, True):
        names: Dict[str, str] = {}
        readable: List[Tuple[str, str, bool]] = []
        wanted: Dict[str, Any] = {}
        if dynamo and not faithful:
            wanted = {"readable": readable, "program_locals": program_locals}
        decompiled = _decompiled(
            original_code,
            faithful,
            dynamo,
            names,
            indentation=indentation,
            temp_prefix=temp_prefix,
            name=function_name,
            callee_parameters=callee_parameters or {},
            own_locals=own_locals,
            own_globals=own_globals,
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
            Own(own_locals, own_globals),
            readable,
            about,
            notes,
            filename=filename,
            on_stack=on_stack,
            updated=updated,
        )
        # Where neither is proven, the readable one is shown.
        if result is None or attempt.proven:
            result = attempt
        if attempt.proven:
            break
    assert result is not None
    if path is not None:
        try:
            write_atomically(path, result.source)
        except FileNotFoundError:
            pass_on()
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_atomically(path, result.source)
    return result


def _decompiled(
    code: types.CodeType, faithful: bool, dynamo: bool, names: Dict[str, str], **options: Any
) -> Any:
    """The text of `code` with its line map, constants and diagnostics.

    Args:
        faithful: keep temporaries and frozensets.
        dynamo: torch wrote the code.
        names: takes the names that no source can hold.
        options: the others of `_core.decompile`.
    """
    return _core.decompile(
        code,
        keep_temporaries=faithful,
        set_literals=not faithful,
        dynamo=dynamo,
        renamed=names,
        # Which NaNs are one object counts: `nan in l`, `d[nan]`.
        nan_literals=False,
        # Names of torch's are believed where they make the source readable, which is proven.
        ordinary=faithful and not dynamo,
        **options,
    )


def _program_locals(
    code: types.CodeType, named: Iterable[str], scope: Optional[Mapping[str, Any]]
) -> Tuple[str, ...]:
    """Locals that are the program's own: those `named`, and all where it can look at its locals."""
    observed = scope is not None and _names_observer(scope, code)
    return tuple(named) + (code.co_varnames if observed else ())


def _program_globals(
    code: types.CodeType,
    installed: Optional[Container[str]],
    scope: Optional[Mapping[str, Any]],
) -> Iterable[str]:
    """The program's own among the globals in `code` that are named like those that torch installs;
    none where neither what is installed nor the globals are known."""
    codes = [code]
    while codes:
        one = codes.pop()
        codes += [const for const in one.co_consts if type(const) is types.CodeType]
        for name in one.co_names:
            if not _NAMED_LIKE_TORCHS.match(name) or name == "__import__":
                continue
            if installed is not None:
                if name not in installed:
                    yield name
            elif scope is not None and not _as_installed(name, scope.get(name)):
                yield name


def _as_installed(name: str, value: Any) -> bool:
    """Whether `value` is of the kind that torch installs under such a name."""
    if name.startswith("__import_"):
        return issubclass(type(value), types.ModuleType)
    return callable(value) or type(value) is types.CodeType


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
    own: Own = _NO_NAMES,
    readable: Sequence[Tuple[str, str, bool]] = (),
    about: str = "",
    notes: str = "",
    trusted: bool = False,
    warns: bool = False,
    filename: Optional[str] = None,
    on_stack: Mapping[str, str] = MappingProxyType({}),
    updated: Mapping[str, int] = MappingProxyType({}),
) -> Recompiled:
    # `trusted`: globals named like torch's are torch's, also where `dynamo` is not said; `warns`:
    # nobody hears what CPython says of the source
    source, line_map, constants, diagnostics = decompiled
    names = {} if names is None else names
    verdict, detail, code = "failed", "", None
    consumed: Tuple[str, ...] = ()
    uncopied = False
    filename = filename or "<decompiled %s>" % function_name
    flags = original.co_flags & _FUTURE_FLAGS
    cells, frees = spelt_variables(reference, source, names)
    globals_of_torch = {given: real for given, real, is_global in readable if is_global}
    if dynamo:
        source, constants = with_named_objects(source, constants)
    try:
        if dynamo:
            source, line_map = without_nonlocals(source, line_map)
        source, added_lines = as_module(source, frees, filename, flags, indentation)
        line_map = _shifted(line_map, added_lines)
        arguments_of_torch = argument_names(reference)
        parameters = [row[:2] for row in readable if row[1] in arguments_of_torch and not row[2]]
        head = _head(about, globals_of_torch, frees if dynamo else (), bool(added_lines))
        head += table_of_parameters(parameters, on_stack)
        source, line_map = _below(head, source, line_map)
        arguments = (source, original, cells, frees, filename, flags, function_name, names)
        try:
            candidate = compile_function(*arguments, with_warnings=warns)
        except Loud:
            if dynamo:
                raise  # in the user's program, where nobody asked for a warning
            candidate = compile_function(*arguments, with_warnings=True)
        candidate = _with_docstring(candidate, original)
        torchs = {given: real for given, real, _ in readable}
        candidate = with_variables(candidate, torchs, globals_of_torch)
        candidate = _fit(candidate, reference, constants)
        if dynamo:
            candidate, uncopied = without_copies(candidate, original)
            candidate, consumed, verdict, detail = _with_lifetimes(candidate, original, own)
        else:
            dressed = _dressed(candidate, original)
            verdict, detail = _core.compare(
                original, dressed, dynamo=trusted, own_locals=own.locals
            )
            candidate = dressed if reference is original else candidate
        # A debugger shows the locals by the names that the source has.
        shown_names = {real: given for given, real, is_global in readable if not is_global}
        consumed = tuple(shown_names.get(name, name) for name in consumed)
        for real in arguments_of_torch:  # they are the same in every frame of the function
            shown_names.pop(real, None)
        if dynamo or reference is not original:
            candidate = _dressed(candidate, reference)
        candidate = with_variables(candidate, shown_names)
        if verdict in PROVEN:
            code = candidate
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        pass_on()
        detail = "the decompiled source does not compile: %s" % error
        # A file that is no valid Python would trouble whoever reads the whole folder.
        source = "".join("# " + line for line in source.splitlines(True))
    except Misfit as error:
        detail = str(error)
    except CannotEdit as error:
        detail = "the compiled code cannot be fitted to the original: %s" % error
    if code is None:
        source, line_map = _below(_not_proven(verdict, detail), source, line_map)
    return Recompiled(
        code,
        source
        + notes
        + (_notes_of_torch(source, original, updated) if dynamo else "")
        + legend(source, constants, names)
        + lifetime_note(consumed)
        + uncopied * UNCOPIED,
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


def _head(
    about: str, globals_of_torch: Dict[str, str], frees: Sequence[str], in_factory: bool
) -> str:
    """Comment lines above a function.

    Args:
        about: lines that stand first, "" for none.
        globals_of_torch: name in the source -> the name that torch gave it.
        frees: free variables to be named.
        in_factory: the function stands in one that has them.
    """
    head = "".join(wrapped(shown(line)) for line in about.splitlines())
    head += table_of_globals(globals_of_torch)
    if frees:
        said = "free variables of the function: %s" % ", ".join(frees)
        if in_factory:
            said += ". It sets some, so %s stands around it." % FACTORY
        head += wrapped(said)
    return head


def _not_proven(verdict: str, detail: str) -> str:
    return "# NOT PROVEN to do what the bytecode does (%s): %s\n" % (
        verdict,
        shown(" ".join(detail.split())),
    )


def _below(head: str, source: str, line_map: LineMap) -> Tuple[str, LineMap]:
    """A source and its line map, with the lines of `head` above it."""
    return head + source, _shifted(line_map, head.count("\n"))


def _with_lifetimes(
    code: types.CodeType, original: types.CodeType, own: Own
) -> Tuple[types.CodeType, Tuple[str, ...], str, str]:
    """`code` with values that end where those of torch's `original` do, the locals that are cleared
    for it, and the verdict about it with its detail.

    Modules are imported and values converted by the operation, containers filled in place, large
    displays built at once, and calls starred, as torch's only where the proof fails without; for
    calls, it says which correspond. Calls that give away what those of torch's keep are starred at
    once: without, there is no proof.
    """
    kept = used_locals(original)
    candidate, consumed, is_starred = consume_as(code, original, kept)
    candidate, verdict, detail, calls = _prove(candidate, original, own)
    if is_starred and verdict not in PROVEN:
        candidate, consumed = consume(code, kept)
        candidate, verdict, detail, calls = _prove(candidate, original, own)
    for change in (imported_as, converted_as, filled_in_place, built_at_once):
        if verdict in PROVEN:
            break
        changed = change(code, original)
        if changed is not code:
            code = changed
            candidate, consumed = consume(code, kept)
            candidate, verdict, detail, calls = _prove(candidate, original, own)
    if verdict not in PROVEN:
        starred = starred_as(candidate, original, calls)
        if starred is not candidate:
            candidate, verdict, detail, _ = _prove(starred, original, own)
    candidate, verdict, detail = _held_as_torchs(candidate, verdict, detail, original, own)
    return candidate, consumed, verdict, detail


#: proofs that are tried to find which values torch's stack holds for longer
_MOST_HELD = 100
_DROPPED = re.compile(
    r"at offset (\d+) / (\d+): .*the first holds a value that the second has drop"
)


def _held_as_torchs(
    code: types.CodeType,
    verdict: str,
    detail: str,
    original: types.CodeType,
    own: Own,
) -> Tuple[types.CodeType, str, str]:
    """`code` whose values live as long as torch's stack holds them, the verdict and its detail; all
    as given if that is not found.

    The proof ends at the first operation during which only torch's code holds some value. So each
    step lets one value live until that operation has run, or two of them, and counts if the proof
    then comes further.
    """
    found, reason = code, detail
    left = _MOST_HELD
    while True:
        missing = _DROPPED.match(reason)
        if missing is None:
            return code, verdict, detail
        before = int(missing.group(1))
        waiting = [(found, int(missing.group(2)), 1)]
        further = None
        while waiting and further is None:
            base, offset, values = waiting.pop(0)
            for held in held_longer(base, offset):
                left -= 1
                if left < 0:
                    return code, verdict, detail
                candidate, verdict_of_it, told, _ = _prove(held, original, own)
                if verdict_of_it in PROVEN:
                    return candidate, verdict_of_it, told
                place = _DROPPED.match(told)
                if place is not None and int(place.group(1)) > before:
                    further, reason = held, told
                    break
                if place is not None and int(place.group(1)) == before and values == 1:
                    waiting.append((held, int(place.group(2)), 2))
        if further is None:
            return code, verdict, detail
        found = further


def _prove(
    candidate: types.CodeType, original: types.CodeType, own: Own
) -> Tuple[types.CodeType, str, str, List[Tuple[int, int]]]:
    """What may stand in for torch's `original`, or `candidate`; the verdict about it, its detail,
    and the offsets of calls of both that correspond."""
    verdict = detail = ""
    calls: List[Tuple[int, int]] = []
    for one in _with_own_functions(candidate, original):
        candidate, calls = one, []
        verdict, detail = _core.compare(
            original,
            _dressed(candidate, original),
            dynamo=True,
            lifetimes=True,
            own_locals=own.locals,
            own_globals=own.globals,
            calls=calls,
        )
        if verdict in PROVEN:
            break
    return candidate, verdict, detail, calls


def _shifted(line_map: LineMap, lines: int) -> LineMap:
    return [(entry[0] + lines,) + tuple(entry[1:]) for entry in line_map] if lines else line_map


def _with_docstring(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """`code` with the docstring of `original`, of which the readable source has the first line."""
    shorter, whole = code.co_consts[:1], original.co_consts[:1]
    if isinstance(shorter[0], str) and isinstance(whole[0], str) and shorter[0].endswith("..."):
        return with_consts(code, whole + code.co_consts[1:])
    return code


def _fit(
    code: types.CodeType, reference: types.CodeType, constants: Mapping[str, Any]
) -> types.CodeType:
    """`code` as a drop-in for `reference`. Raises Misfit or CannotEdit."""
    if (code.co_flags ^ reference.co_flags) & ~(_ADOPTED_FLAGS | _CO_HAS_DOCSTRING):
        raise Misfit("co_flags is %#x, expected %#x" % (code.co_flags, reference.co_flags))
    for what in ("co_cellvars", "co_freevars"):
        variables, expected = getattr(code, what), getattr(reference, what)
        if variables != expected and sorted(variables) != sorted(expected):
            raise Misfit("%s is %r, expected %r" % (what, variables, expected))
    code = place_constants(code, constants)
    code = reorder_cells(code, reference.co_cellvars, reference.co_freevars)
    arguments, found = argument_names(reference), argument_names(code)
    if len(found) == len(arguments) and found != arguments:
        # Names that no source can spell, such as `.0`; locals are reached by position.
        code = replace(code, co_varnames=arguments + code.co_varnames[len(arguments) :])
        found = arguments
    if found == arguments:
        # The original's locals have the slots that they had: torch fills them from another frame.
        code = with_locals(code, reference.co_varnames)
    wrong = violation(reference, code)
    if wrong is not None:
        raise Misfit("the recompiled code has another frame: " + wrong)
    return code


def _with_own_functions(code: types.CodeType, original: types.CodeType) -> Iterable[types.CodeType]:
    """`code` with the code objects of `original` for its functions; then `code` itself.

    Torch compiles such a function for each code object that it has: with others, a program would
    compile more often and a function would say another file. Each is proven to be the same first.
    """
    unused = [one for one in original.co_consts if type(one) is types.CodeType]

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
        consts = tuple(own(one) if type(one) is types.CodeType else one for one in code.co_consts)
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
        changes["co_qualname"] = qualname_of(like)
    return replace(code, **changes)
