"""Code objects compiled from decompiled source, proven to do what the original does.

Nothing is executed on the way: the source is parsed and compiled, and the two code objects are
compared by `depyf._core.compare`.
"""

import os
import re
import sys
import types
from typing import Any, Container, Dict, Iterable, List, Mapping, Optional, Tuple

from depyf import _core
from depyf.files import write_atomically
from depyf.function_source import identifier
from depyf.interrupts import pass_on
from depyf.plain import code_objects, name_of, plain_dict
from depyf.recompiling.attempt import Recompiled as Recompiled
from depyf.recompiling.attempt import attempt_of
from depyf.recompiling.hints import NO_HINTS
from depyf.recompiling.hints import Hints as Hints
from depyf.recompiling.proving import PROVEN as PROVEN
from depyf.recompiling.proving import Own

_NAMED_LIKE_TORCHS = re.compile(r"__(import_.|(compiled_fn|resume_at)_\d)")
# Functions that show the locals of the frame that calls them.
_OBSERVERS = (locals, vars, dir, eval, exec, sys._getframe)


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
    dynamo: bool = False,
    scope: Optional[Dict[str, Any]] = None,
    own_locals: Iterable[str] = (),
    installed: Optional[Container[str]] = None,
    hints: Hints = NO_HINTS,
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
    itself, which count also where they look like torch's. `hints` make the text readable.

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
    options: Dict[str, Any] = dict(
        indentation=indentation,
        temp_prefix=temp_prefix,
        name=function_name,
        callee_parameters=dict(hints.callee_parameters),
        own_locals=own_locals,
        own_globals=own_globals,
        callee_results=dict(hints.callee_results),
    )
    told: Dict[str, Any] = dict(filename=filename, hints=hints)
    # The readable form first; then the faithful one, which keeps temporaries and frozensets.
    result = _attempt(original_code, reference, path, False, dynamo, program_locals, options, told)
    if not result.proven:
        faithful = _attempt(original_code, reference, path, True, dynamo, (), options, told)
        # Where neither is proven, the readable one is shown.
        result = faithful if faithful.proven else result
    if path is not None:
        _write(path, result.source)
    return result


def _attempt(
    code: types.CodeType,
    reference: types.CodeType,
    path: Optional[str],
    faithful: bool,
    dynamo: bool,
    program_locals: Tuple[str, ...],
    options: Dict[str, Any],
    told: Dict[str, Any],
) -> Recompiled:
    """Decompiles `code`, compiles the text and proves it.

    Args:
        faithful, dynamo, options: as for `_decompiled`.
        program_locals: locals that the readable form does not rename.
        told: the file's name and the hints, as `attempt_of` takes them.
    """
    names: Dict[str, str] = {}
    readable: List[Tuple[str, str, bool]] = []
    wanted: Dict[str, Any] = {}
    if dynamo and not faithful:
        wanted = {"readable": readable, "program_locals": program_locals}
    decompiled = _decompiled(code, faithful, dynamo, names, **options, **wanted)
    return attempt_of(
        code,
        reference,
        path,
        decompiled,
        options["name"],
        options["indentation"],
        dynamo,
        names,
        Own(options["own_locals"], options["own_globals"]),
        readable,
        **told,
    )


def _write(path: str, text: str) -> None:
    try:
        write_atomically(path, text)
    except FileNotFoundError:
        pass_on()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, text)


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
    for one in code_objects(code):
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
