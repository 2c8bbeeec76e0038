"""Code objects: their source, bytecode and signature as text, and names for their constants."""

import dis
import functools
import inspect
import linecache
import os
import sys
import tokenize
import types
import weakref
from io import StringIO
from typing import Any, Dict, List, Optional, Tuple

from depyf import _core
from depyf.assembler import Assembly, Instruction
from depyf.code_edit import rebuilt, with_consts
from depyf.interrupts import pass_on
from depyf.model import Constants
from depyf.plain import attribute_of, file_of, is_one_of, name_of, text_of
from depyf.trace.names import RESUME_CODE


def lines_of(filename: str) -> List[str]:
    """The lines of a file of the program; raises what reading it raises."""
    # what linecache knows; a file that it has not read yet is not put into it, since it belongs to
    # the program
    known = dict.get(linecache.cache, filename)
    if known is not None and len(known) > 1:
        return list(known[2])
    try:
        with tokenize.open(filename) as stream:
            return stream.readlines()
    except OSError:
        pass_on()
        if known is None:
            raise
    return str(known[0]() or "").splitlines(True)  # of a loader that has not been asked yet


#: path of a dumped file -> its code, which takes the file out of linecache when it goes
_shown_to_tracebacks: Dict[str, "weakref.ReferenceType[types.CodeType]"] = {}


def known_to_tracebacks(path: str, text: str, code: types.CodeType) -> None:
    """Puts a dumped file into linecache, as a traceback of its frames would, while `code` lives.

    Torch makes such tracebacks while it compiles. It would read the file by functions that the
    program may have replaced.
    """
    cache = getattr(sys.modules.get("linecache"), "cache", None)
    if isinstance(cache, dict):
        found = os.stat(path)
        lines = [line + "\n" for line in text.split("\n")]
        if lines[-1] == "\n":
            lines.pop()
        cache[path] = found.st_size, found.st_mtime, lines, path
        # The code may go at any time. What is called then must be no Python code: a signal handler
        # of the program that raises in there would be lost. The reference is the default of `pop`.
        forget = functools.partial(dict.pop, cache, path)
        _shown_to_tracebacks[path] = weakref.ref(code, forget)


def left_to_tracebacks(path: str) -> None:
    """Takes a dumped file out of linecache: from now on a traceback reads it from the disk.

    Torch keeps some code for as long as the process runs, with which its lines would stay.
    """
    cache = getattr(sys.modules.get("linecache"), "cache", None)
    if _shown_to_tracebacks.pop(path, None) is not None and isinstance(cache, dict):
        dict.pop(cache, path, None)


def own_code_from(original: types.CodeType, made: types.CodeType) -> int:
    """The first line of the function's own code with which the code that torch made of it goes on;
    0 where torch made all of it itself, or of the function's own only the line of a break.
    """
    own, kept = (
        {line for _, line in dis.findlinestarts(code) if line} - {made.co_firstlineno}
        for code in (original, made)
    )
    lines = own & kept
    return min(lines) if len(lines) > 1 else 0


def source_of(code: types.CodeType) -> str:
    """The source text of a code object from its file, empty when there is none."""
    try:
        lines = lines_of(file_of(code))
        if not lines or not 1 <= code.co_firstlineno <= len(lines):
            return ""
        return (
            inspect.cleandoc("\n" + "".join(inspect.getblock(lines[code.co_firstlineno - 1 :])))
            + "\n"
        )
    except Exception:
        pass_on()
        return ""


def bytecode_text(code: types.CodeType) -> str:
    """The disassembly of a code object and of those inside it, with the line that names its
    variables.
    """
    head = "# %s: flags=%#x args=%d varnames=%r cellvars=%r freevars=%r\n" % (
        name_of(code),
        code.co_flags,
        code.co_argcount,
        code.co_varnames,
        code.co_cellvars,
        code.co_freevars,
    )
    try:
        return head + str(_core.listing(code))
    except Exception:  # what the core cannot decode, or a Python that it does not know
        pass_on()
        out = StringIO()
        dis.dis(_with_shown_constants(code), file=out)
        return head + out.getvalue()


class _Shown:
    """Stands for a constant in a disassembly.

    The repr of an object that Dynamo puts there may be long, slow, or raise.
    """

    def __init__(self, value: Any) -> None:
        named = text_of(type.__dict__["__name__"].__get__(type(value)))
        self._text = "<%s at %#x>" % (named, id(value))

    def __repr__(self) -> str:
        return self._text


def findable(value: Any) -> Optional[str]:
    """An expression that finds this very object in a full_code file; None where it has no name."""
    kind, torch = type(value), sys.modules.get("torch")
    if torch is not None and is_one_of(kind, (torch.dtype, torch.layout, torch.memory_format)):
        return repr(value)
    if torch is not None and kind is torch.device:
        return "torch.device(%r)" % str(value)
    if kind is types.ModuleType:
        name, parts = value.__name__, []
    else:
        if not is_one_of(kind, (type, types.FunctionType, types.BuiltinFunctionType)):
            return None
        name, qualified = value.__module__, value.__qualname__
        if not isinstance(name, str) or not isinstance(qualified, str) or name == "__main__":
            return None
        parts = qualified.split(".")
    found: Any = sys.modules.get(name)
    for part in parts:
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return "__find(%s)" % ", ".join(map(repr, [name] + parts)) if found is value else None


def known_constants(constants: Dict[str, Any]) -> Constants:
    """What a run keeps of the objects that decompiled source has names for: nothing that keeps them
    alive.
    """
    return {name: (findable(value), id(value)) for name, value in constants.items()}


def _with_shown_constants(root: types.CodeType) -> types.CodeType:
    """The code object with constants that are no literals replaced, in the code objects inside it
    too.
    """

    def literal(value: Any) -> bool:
        pending = [value]
        for item in pending:
            kind = type(item)
            if (kind is tuple or kind is frozenset) and len(pending) < 10000:
                pending.extend(item)
            elif kind is slice:
                pending += [item.start, item.stop, item.step]
            elif not is_one_of(kind, _LITERALS):
                return False
        return True

    def shown(code: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
        return with_consts(
            code,
            tuple(
                value if type(value) is types.CodeType or literal(value) else _Shown(value)
                for value in consts
            ),
        )

    return rebuilt(root, shown)


_LITERALS = (str, int, type(None), float, bool, bytes, complex, type(Ellipsis))


def signature_of(code: types.CodeType) -> Dict[str, Any]:
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    found: Dict[str, Any] = {
        "positional_only": list(names[: getattr(code, "co_posonlyargcount", 0)]),
        "positional": list(names[getattr(code, "co_posonlyargcount", 0) : code.co_argcount]),
        "keyword_only": list(names[code.co_argcount : count]),
        "varargs": None,
        "varkeywords": None,
        "free": list(code.co_freevars),
    }
    if code.co_flags & inspect.CO_VARARGS:
        found["varargs"] = names[count]
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found["varkeywords"] = names[count]
    return found


_PROLOGUE = "__is_tracing_resume_prologue"


#: what `resume_line` says of code that only returns
ONLY_RETURNS = -1
_HAS_LOCAL = frozenset(dis.haslocal)
#: operations that drop a value, or that are none
_SILENT = frozenset(
    ("POP_TOP", "NOP", "CACHE", "EXTENDED_ARG", "RESUME", "PRECALL", "NOT_TAKEN", "POP_ITER")
)
_JUMPS_ON = frozenset(("JUMP_FORWARD", "JUMP_ABSOLUTE"))
_JUMPS = _JUMPS_ON | {"JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}


def resume_line(code: types.CodeType) -> int:
    """The line at which a resume function goes on: that of the first operation that does something;
    `ONLY_RETURNS` where there is none but a return of None, 0 where its bytecode does not tell.

    Torch puts a beginning before the bytecode of the function, which ends with a jump to there.
    """
    if _PROLOGUE not in code.co_varnames:
        return 0
    try:
        lines = list(code.co_lines())
        listed = Assembly(code).instructions
    except Exception:  # no bytecode of this Python; CPython before 3.10 has no such lines
        pass_on()
        return 0
    slot = code.co_varnames.index(_PROLOGUE)
    found = [at for at, one in enumerate(listed) if one.argument == slot and one.op in _HAS_LOCAL]
    behind = listed[found[-1] :] if found else []
    jump = next((one for one in behind if one.name in _JUMPS_ON), None)
    if jump is None or jump.target is None:
        return 0
    effect = _first_effect(code.co_consts, listed[listed.index(jump.target) :])
    if effect is None:
        return ONLY_RETURNS
    return next((line or 0 for start, end, line in lines if start <= 2 * effect.unit < end), 0)


def _first_effect(consts: Tuple[Any, ...], listed: List[Instruction]) -> Optional[Instruction]:
    """The first of these operations that does something; None where a value is dropped, and then
    None returned.
    """
    first = next((one for one in listed if one.name not in ("NOP", "NOT_TAKEN")), listed[0])
    rest = (one for one in listed if one.name == "POP_TOP" or one.name not in _SILENT)
    dropped = False
    for one in rest:
        if one.name == "POP_TOP":
            dropped = True
            continue
        if not dropped:
            return first
        if one.name in _JUMPS:
            return one.target
        if one.name in ("RETURN_CONST", "LOAD_CONST") and consts[one.argument] is None:
            behind = next(rest, None)
            if one.name == "RETURN_CONST" or behind and behind.name == "RETURN_VALUE":
                return None
        return one
    return first


def resume_code(value: Any) -> Optional[types.CodeType]:
    # a resume function, from 2.9 on a factory that holds the code in a cell when there are free
    # variables, before that the bare code object
    if type(value) is types.CodeType:
        return value
    code = attribute_of(value, "__code__")
    if type(code) is not types.CodeType:
        return None
    if RESUME_CODE.match(code.co_name):
        return code
    for cell in attribute_of(value, "__closure__") or ():
        try:
            if type(cell.cell_contents) is types.CodeType:
                return cell.cell_contents
        except ValueError:
            pass
    return code
