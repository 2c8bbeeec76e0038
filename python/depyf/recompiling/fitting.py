"""A compiled source as a drop-in for the code object that it stands for."""

import __future__

import functools
import operator
import types
from typing import Any, Dict, Mapping

from depyf.assembler import with_locals
from depyf.code_edit import place_constants, reorder_cells, replace, with_consts
from depyf.frame_contract import argument_names, violation
from depyf.function_source import Misfit, qualname_of

_CO_NESTED = 0x10
_CO_NOFREE = 0x40
_CO_ITERABLE_COROUTINE = 0x100
_CO_METHOD = 0x8000000
_CO_HAS_DOCSTRING = 0x4000000
# Flags with which a source is compiled. Nested scopes share their bit with CO_NESTED, and
# barry_as_FLUFL changes how `!=` is spelt.
FUTURE_FLAGS = functools.reduce(
    operator.or_,
    [
        getattr(__future__, name).compiler_flag
        for name in __future__.all_feature_names
        if name not in ("nested_scopes", "barry_as_FLUFL")
    ],
)
_ALL_FUTURE_FLAGS = FUTURE_FLAGS | __future__.barry_as_FLUFL.compiler_flag
# Flags that follow from where a function stands or what marked it, not from what it does.
_ADOPTED_FLAGS = _CO_NESTED | _CO_NOFREE | _CO_ITERABLE_COROUTINE | _CO_METHOD | _ALL_FUTURE_FLAGS


def with_docstring(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """`code` with the docstring of `original`, of which the readable source has the first line."""
    shorter, whole = code.co_consts[:1], original.co_consts[:1]
    if isinstance(shorter[0], str) and isinstance(whole[0], str) and shorter[0].endswith("..."):
        return with_consts(code, whole + code.co_consts[1:])
    return code


def fit(
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


def dressed(code: types.CodeType, like: types.CodeType) -> types.CodeType:
    """`code` with the names and those flags of `like` that do not change what it does."""
    changes: Dict[str, Any] = {
        "co_name": like.co_name,
        "co_flags": code.co_flags & ~_ADOPTED_FLAGS | like.co_flags & _ADOPTED_FLAGS,
    }
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = qualname_of(like)
    return replace(code, **changes)
