"""Edits of compiled code objects that the compiler itself cannot be asked for.

Each keeps the number of code units, so line tables, exception tables and jumps stay right.
"""

import dis
import opcode
import operator
import sys
import types
from typing import Any, Callable, Collection, Dict, Iterator, List, Mapping, Sequence, Tuple

_OP = opcode.opmap
_EXTENDED_ARG = _OP["EXTENDED_ARG"]
_CACHE = _OP.get("CACHE")
_NOP = _OP["NOP"]
_LOAD_CONST = _OP["LOAD_CONST"]
_HAS_FREE = frozenset(dis.hasfree)
_HAS_LOCAL = frozenset(dis.haslocal)
# Where fast locals, cells and free variables share one array (3.11 on), an argument indexes it.
_ONE_ARRAY = sys.version_info >= (3, 11)
# LOAD_GLOBAL's lowest bit asks for a NULL beside the value: below it up to 3.12, above it from
# 3.13.
_NULL_BIT = sys.version_info >= (3, 11)
_NULL_ABOVE = sys.version_info >= (3, 13)


#: makes a code object, whose constants are done, into another
Rebuild = Callable[[types.CodeType, Tuple[Any, ...]], types.CodeType]


class CannotEdit(Exception):
    """The edit does not fit into the code units that are there."""


def replace(code: types.CodeType, **changes: Any) -> types.CodeType:
    """`code.replace(**changes)`, also on 3.7, which has no such method."""
    if sys.version_info >= (3, 8):
        return code.replace(**changes)
    names = (
        "co_argcount co_kwonlyargcount co_nlocals co_stacksize co_flags co_code co_consts co_names "
        "co_varnames co_filename co_name co_firstlineno co_lnotab co_freevars co_cellvars"
    ).split()
    return types.CodeType(*[changes.get(name, getattr(code, name)) for name in names])


def instructions(bytecode: bytes) -> Iterator[Tuple[int, int, int, int]]:
    """(first unit, last unit, opcode, argument) of each instruction; EXTENDED_ARG included."""
    argument = first = 0
    for unit, (op, low) in enumerate(zip(bytecode[::2], bytecode[1::2])):
        argument |= low
        if op == _EXTENDED_ARG:
            argument <<= 8
            continue
        yield first, unit, op, argument
        argument, first = 0, unit + 1


def encode(op: int, argument: int) -> List[Tuple[int, int]]:
    """The units of one instruction."""
    units = [(op, argument & 0xFF)]
    argument >>= 8
    while argument:
        units.insert(0, (_EXTENDED_ARG, argument & 0xFF))
        argument >>= 8
    return units


def _write(bytecode: bytearray, first: int, count: int, units: List[Tuple[int, int]]) -> None:
    """Put `units` at code unit `first`, NOPs after them up to `count` units."""
    if len(units) > count:
        raise CannotEdit("%d code units where %d are needed" % (count, len(units)))
    units = units + [(_NOP, 0)] * (count - len(units))
    for i, (op, low) in enumerate(units):
        bytecode[2 * (first + i)] = op
        bytecode[2 * (first + i) + 1] = low


def with_consts(code: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
    """`code` with these constants; `code` itself where they are the ones that it has."""
    # By identity: comparing constants would run the __eq__ of whatever they are.
    if all(map(operator.is_, consts, code.co_consts)):
        return code
    return replace(code, co_consts=consts)


def rebuilt(code: types.CodeType, rebuild: Rebuild) -> types.CodeType:
    """`code` with `rebuild(code, consts)` applied to it and all code objects in it, inner first."""
    done: Dict[int, types.CodeType] = {}
    pending = [code]
    while pending:
        current = pending[-1]
        nested = [c for c in current.co_consts if type(c) is types.CodeType]
        waiting = [c for c in nested if id(c) not in done]
        if waiting:
            pending.extend(waiting)
            continue
        pending.pop()
        if id(current) not in done:
            consts = tuple(
                done[id(c)] if type(c) is types.CodeType else c for c in current.co_consts
            )
            done[id(current)] = rebuild(current, consts)
    return done[id(code)]


def place_constants(code: types.CodeType, constants: Mapping[str, Any]) -> types.CodeType:
    """`code` with loads of the global names in `constants` turned into loads of those very objects.

    `constants` maps a placeholder such as `__const_7__` to its object. A name, unlike a string,
    cannot vanish when the compiler folds constants; LOAD_GLOBAL and LOAD_CONST differ only in
    where they look. Nested code objects are treated alike. Raises CannotEdit where the operand
    does not fit.
    """
    if not constants:
        return code
    load_global = _OP["LOAD_GLOBAL"]
    load_name = _OP["LOAD_NAME"]

    def rebuild(current: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
        wanted = {i: n for i, n in enumerate(current.co_names) if n in constants}
        if not wanted:
            return with_consts(current, consts)
        placed = list(consts)
        positions: Dict[str, int] = {}
        bytecode = bytearray(current.co_code)
        for first, last, op, argument in instructions(current.co_code):
            with_null = False
            if op == load_global and _NULL_BIT:
                argument, with_null = argument >> 1, bool(argument & 1)
            elif op not in (load_global, load_name):
                continue
            if argument not in wanted:
                continue
            name = wanted[argument]
            if name not in positions:
                positions[name] = len(placed)
                placed.append(constants[name])
            units = encode(_LOAD_CONST, positions[name])
            if with_null:
                null = [(_OP["PUSH_NULL"], 0)]
                units = units + null if _NULL_ABOVE else null + units
            end = last + 1
            while _CACHE is not None and 2 * end < len(bytecode) and bytecode[2 * end] == _CACHE:
                end += 1
            _write(bytecode, first, end - first, units)
        return replace(current, co_code=bytes(bytecode), co_consts=tuple(placed))

    return rebuilt(code, rebuild)


def reorder_cells(
    code: types.CodeType, cellvars: Tuple[str, ...], freevars: Tuple[str, ...]
) -> types.CodeType:
    """`code` with `co_cellvars` and `co_freevars` in the given orders.

    The tuples must hold the same names as the code's own. Raises CannotEdit where an operand
    does not fit or belongs to an instruction with two operands.
    """
    if code.co_cellvars == cellvars and code.co_freevars == freevars:
        return code
    local_count = len(code.co_varnames)
    if _ONE_ARRAY:
        merged = set(code.co_varnames)
    else:
        merged = set()
        local_count = 0

    def layout(cells: Sequence[str], frees: Sequence[str]) -> List[str]:
        return [name for name in cells if name not in merged] + list(frees)

    position = {name: i for i, name in enumerate(layout(cellvars, freevars))}
    moved = [position[name] for name in layout(code.co_cellvars, code.co_freevars)]
    bytecode = bytearray(code.co_code)
    for first, last, op, argument in instructions(code.co_code):
        if not (op in _HAS_FREE or (_ONE_ARRAY and op in _HAS_LOCAL)):
            continue
        if opcode.opname[op].count("_FAST") > 1:
            if max(argument >> 4, argument & 15) >= local_count:
                raise CannotEdit("%s reads a cell" % opcode.opname[op])
            continue
        if argument < local_count:
            continue
        units = encode(op, local_count + moved[argument - local_count])
        # A jump may lead to the first EXTENDED_ARG; leading zeros keep the instruction's length.
        missing = last + 1 - first - len(units)
        _write(bytecode, first, last + 1 - first, [(_EXTENDED_ARG, 0)] * missing + units)
    return replace(code, co_code=bytes(bytecode), co_cellvars=cellvars, co_freevars=freevars)


def with_names(code: types.CodeType, names: Mapping[str, str]) -> types.CodeType:
    """`code` with every name that is a key of `names` replaced by what it maps to.

    Names of attributes, globals, variables and functions, and texts that hold one, such as those of
    the keywords of a call. The nested code objects are treated alike.
    """
    if not names:
        return code

    def text(value: str) -> str:
        found = names.get(value)
        if found is None and "." in value:
            found = ".".join(names.get(part, part) for part in value.split("."))
        return value if found is None else found

    made: Dict[int, Any] = {}  # by the id of a tuple: tuples may share one

    def constant(value: Any) -> Any:
        if type(value) is str:
            return names.get(value, value)
        if type(value) is not tuple or not any(type(item) in (str, tuple) for item in value):
            return value
        if id(value) not in made:
            changed = tuple(constant(item) for item in value)
            made[id(value)] = value if all(map(operator.is_, changed, value)) else changed
        return made[id(value)]

    def rebuild(current: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
        functions = {c.co_name for c in current.co_consts if type(c) is types.CodeType}
        consts = tuple(
            text(c) if type(c) is str and c.rpartition(".")[2] in functions else constant(c)
            for c in consts
        )
        changes: Dict[str, Any] = {
            what: tuple(names.get(name, name) for name in getattr(current, what))
            for what in ("co_names", "co_varnames", "co_cellvars", "co_freevars")
        }
        changes["co_name"] = text(current.co_name)
        if hasattr(current, "co_qualname"):
            changes["co_qualname"] = text(current.co_qualname)
        return replace(with_consts(current, consts), **changes)

    return rebuilt(code, rebuild)


def with_variables(
    code: types.CodeType, names: Mapping[str, str], globals_among: Collection[str] = frozenset()
) -> types.CodeType:
    """`code` with its locals that are keys of `names` renamed, and those of its globals.

    Globals, `globals_among` the keys, are renamed in the code objects inside it, too; nothing else
    there may have such a name.
    """
    if not names:
        return code
    outer = {name: real for name, real in names.items() if name in globals_among}

    def rebuild(current: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
        return replace(
            with_consts(current, consts),
            co_names=tuple(outer.get(name, name) for name in current.co_names),
        )

    renamed = rebuilt(code, rebuild) if outer else code
    local = {name: real for name, real in names.items() if name not in globals_among}
    variables = tuple(local.get(name, name) for name in renamed.co_varnames)
    return replace(renamed, co_varnames=variables) if variables != code.co_varnames else renamed


def rename_qualified(code: types.CodeType, old_prefix: str, new_prefix: str) -> types.CodeType:
    """`code` with `old_prefix + ".<locals>."` of the functions inside it replaced by the new one.

    From 3.11 on a function's qualified name is part of its code object; before, it is a constant in
    the code that makes the function. A class body stores its own in every version.
    """
    has_functions = types.CodeType in map(type, code.co_consts)
    if old_prefix == new_prefix or not (has_functions or "__qualname__" in code.co_names):
        return code
    old, new = old_prefix + ".<locals>.", new_prefix + ".<locals>."

    def rebuild(current: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
        functions = set()
        if "__qualname__" in current.co_names:
            functions.add(current.co_name)
        if sys.version_info < (3, 11):
            functions.update(c.co_name for c in consts if type(c) is types.CodeType)
        ends = tuple("." + name for name in functions)
        consts = tuple(
            new + c[len(old) :] if type(c) is str and c.startswith(old) and c.endswith(ends) else c
            for c in consts
        )
        current = with_consts(current, consts)
        if sys.version_info >= (3, 11) and current.co_qualname.startswith(old):
            current = replace(current, co_qualname=new + current.co_qualname[len(old) :])
        return current

    return rebuilt(code, rebuild)
