"""From a Python object to the source of its bytecode."""

import functools
import sys
import types
from typing import Any, Container, Dict, List, Optional, Tuple

from depyf.installed import _core
from depyf.plain import name_of
from depyf.signature import around, has_texts_as_annotations, signature
from depyf.terminal import shown
from depyf.torch_wrappers import behind

__all__ = [
    "CompareResult",
    "DecompilationError",
    "DecompiledSource",
    "Decompiler",
    "add_indentation",
    "compare",
    "decompile",
    "disassemble",
    "get_function_signature",
    "remove_indentation",
]

DecompilationError = _core.DecompilationError


def _begin(error: Exception, message: str = "", *more: object) -> None:
    Exception.__init__(error, message, *more)


# The extension makes the type; programs written for the original give and read its text by name.
setattr(DecompilationError, "__init__", _begin)
setattr(DecompilationError, "message", property(lambda error: error.args[0] if error.args else ""))

_METHOD_WRAPPERS = (staticmethod, classmethod)
_LRU_CACHE_WRAPPER = type(functools.lru_cache()(lambda: None))
# Objects that run a code object, by the attribute that holds it.
_CODE_ATTRIBUTES = ("gi_code", "ag_code", "cr_code", "f_code")
# More layers than this (partial of partial ...) are a cycle.
_MAX_LAYERS = 100


def code_of(obj: object) -> types.CodeType:
    """The code object that runs when `obj` is called.

    Takes functions, methods, code objects, static and class methods, `functools.partial` and
    `lru_cache` wrappers, generators, coroutines, frames, and objects with a `__call__` written in
    Python. Of what torch.compile made, the user's function; of a torch.nn.Module, its `forward`.
    Raises TypeError for everything else, and says what to pass instead.
    """
    return _unwrapped(obj)[0]


def _unwrapped(
    obj: object,
) -> Tuple[types.CodeType, Optional[types.FunctionType], List[str]]:
    """(code object, function or None, what is around it in words)."""
    layers: List[str] = []
    current: Any = obj
    for _ in range(_MAX_LAYERS):
        if type(current) is types.CodeType:
            return current, None, layers
        found = behind(current)
        if found is not None:
            current = found[0]
            layers += [found[1]] if found[1] else []
        elif isinstance(current, types.FunctionType):
            return current.__code__, current, layers
        elif isinstance(current, types.MethodType):
            current = current.__func__
        elif isinstance(current, _METHOD_WRAPPERS):
            layers.append(type(current).__name__)
            current = current.__func__
        elif isinstance(current, functools.partial):
            layers.append("functools.partial")
            current = current.func
        elif isinstance(current, functools.partialmethod):
            layers.append("functools.partialmethod")
            current = current.func
        elif isinstance(current, _LRU_CACHE_WRAPPER):
            layers.append("functools.lru_cache")
            current = current.__wrapped__
        elif isinstance(current, property):
            raise TypeError(
                "a property holds up to three functions; pass one of them, such as prop.fget"
            )
        elif isinstance(current, type):
            raise TypeError(
                "class %s has no bytecode of its own; pass one of its methods, such as %s.__init__"
                % (current.__qualname__, current.__qualname__)
            )
        elif isinstance(current, _C_CALLABLES):
            raise TypeError(
                "%s is written in C and has no bytecode; only functions written in Python can be "
                "decompiled" % (getattr(current, "__qualname__", None) or type(current).__name__)
            )
        else:
            code = _running_code(current)
            if code is not None:
                return code, None, layers
            # Looked up as the interpreter does: on the type, not on its metaclass.
            kinds = [vars(kind) for kind in type(current).__mro__ if "__call__" in vars(kind)]
            if not kinds:
                raise TypeError(
                    "expected a function, method, code object or callable object, got %s, which "
                    "is not callable" % _describe(current)
                )
            call = kinds[0]["__call__"]
            if isinstance(call, _C_CALLABLES):
                raise TypeError(
                    "calling %s runs code written in C, which has no bytecode" % _describe(current)
                )
            current = call
    raise TypeError("%s is a chain of more than %d wrappers" % (_describe(obj), _MAX_LAYERS))


_C_CALLABLES = (
    types.BuiltinFunctionType,
    type(str.join),
    type(object.__init__),
    type("".__str__),
    type(dict.__dict__["fromkeys"]),
)


def _running_code(obj: object) -> Optional[types.CodeType]:
    for name in _CODE_ATTRIBUTES:
        code = getattr(type(obj), name, None) and getattr(obj, name)
        if type(code) is types.CodeType:
            return code
    return None


def _describe(obj: object) -> str:
    kind = type(obj).__name__
    return ("an " if kind[:1] in "aeiouAEIOU" else "a ") + kind


class DecompiledSource(str):
    """Source that `decompile` made: a string that knows how far it is to be trusted.

    Attributes:
        verdict: 'identical', 'exact' or 'equivalent' where it is proven to do what the bytecode
            does; 'unproven', 'different' or 'failed' where it is not; 'not checked'.
        detail: why, in words.
        constants: placeholder name in the source -> the object that stands there.
        diagnostics: list of (kind, qualified name, offset, message), where kind is 'L1' to 'L6'
            (the form that a body took for want of a plain one), 'broken' or 'note'.
    """

    verdict = "not checked"
    detail = ""
    constants: Dict[str, Any] = {}
    diagnostics: List[Any] = []

    @property
    def proven(self) -> bool:
        """Whether the source is proven to do what the bytecode does."""
        return self.verdict in ("identical", "exact", "equivalent")


def decompile(
    code: object,
    indentation: int = 4,
    temp_prefix: str = "__temp_",
    name: Optional[str] = None,
    check: bool = True,
) -> DecompiledSource:
    """Decompiles bytecode and returns the source; nothing of it is executed.

    For a function, the source includes defaults and annotations. Comments name the values that
    have no literal and no name, what wraps the function, and the variables that it has from a
    function around it, without which the source may not compile or read globals instead. The code
    of a class, a constant of its module, is shown as the class without its bases. Constants without
    a literal (modules, functions ...) appear as names such as `__const_7__`.

    With `check`, the source is compiled and proven equivalent to the bytecode. If the proof fails,
    a form that keeps temporaries is tried. If that fails, too, the first line of the result is a
    comment that says so. For code that torch made, the proof assumes the globals that torch adds,
    and `detail` says so. A check takes about 0.4 ms for a function of usual size; decompiling takes
    0.04 ms.

    Args:
        code: a function, a code object, or any other object that `code_of` accepts.
        indentation: columns of one level.
        temp_prefix: how generated names of temporaries begin.
        name: replaces the name of the function; None keeps it.
        check: whether to prove the result.
    Returns:
        A `DecompiledSource`: a string with the attributes `verdict` and `detail`.
    Raises:
        TypeError: the object has no bytecode.
        DecompilationError: the bytecode cannot be read.
    """
    found, function, layers = _unwrapped(code)
    texts, comments = _beside_the_code(found, function, layers)
    options = (indentation, temp_prefix, name)
    made = _core.decompile(found, *options, line_map=False, signature=texts)
    outcome = ("not checked", "")
    if check:
        outcome = _prove(found, made, indentation)
        if outcome[0] not in _PROOFS and _uses_torchs_globals(found):
            trusting = _prove(found, made, indentation, trusted=True)
            if trusting[0] in _PROOFS:
                outcome = trusting[0], "; ".join(filter(None, [trusting[1], _TORCHS_GLOBALS]))
        if outcome[0] in ("unproven", "different", "failed"):
            faithful = _core.decompile(
                found,
                *options,
                keep_temporaries=True,
                set_literals=False,
                line_map=False,
                signature=texts,
                ordinary=True,
            )
            second = _prove(found, faithful, indentation)
            if second[0] not in ("unproven", "different", "failed"):
                made, outcome = faithful, second
    if outcome[0] in ("unproven", "different", "failed"):
        comments = [
            "NOT PROVEN to do what the bytecode does: " + " ".join(outcome[1].split())
        ] + comments
    if _shows_texts_as_annotations(found, made[0]):
        comments.append("annotations are texts: from __future__ import annotations")
    text = DecompiledSource("".join("# %s\n" % shown(line) for line in comments) + made[0])
    text.verdict, text.detail = outcome
    needed = around(found) if found.co_freevars and text.proven else []
    if needed:
        said = "taken for granted: the text has %s" % " and ".join(needed)
        text.detail += ("; " if text.detail else "") + said
    lost = _lost_names(found, name)
    if lost and text.proven:
        said = "ignored: names that no source can hold: " + ", ".join(map(ascii, lost))
        text.detail += ("; " if text.detail else "") + said
    text.constants, text.diagnostics = made[2], made[3]
    return text


_TORCHS_GLOBALS = (
    "ignored: when globals named like those that torch makes (__compiled_fn_1, __resume_at_30_2) "
    "are looked up"
)


def _shows_texts_as_annotations(code: types.CodeType, source: str) -> bool:
    """Whether a function's source has annotations that a statement elsewhere makes texts."""
    if not has_texts_as_annotations(code) or code.co_name == "<module>":
        return False
    import ast

    from depyf.compiling import places_of

    try:
        nodes = list(ast.walk(places_of(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(node, ast.AnnAssign)
        or (isinstance(node, ast.arg) and node.annotation is not None)
        or (isinstance(node, functions) and node.returns is not None)
        for node in nodes
    )


def _uses_torchs_globals(code: types.CodeType) -> bool:
    from depyf.trace.names import COMPILED_FUNCTION, RESUME_FUNCTION

    return any(
        COMPILED_FUNCTION.match(name) or RESUME_FUNCTION.match(name) for name in code.co_names
    )


def _dynamos(
    code: types.CodeType,
) -> Tuple[bool, Optional[Dict[str, Any]], Optional[Container[str]]]:
    """Whether `code` is taken for Dynamo's, the globals of the frame that it compiles, and which of
    them it installed for that."""
    if not _uses_torchs_globals(code) or "torch._dynamo" not in sys.modules:
        return False, None, None
    from depyf.torch import compat

    installed = compat.installed_globals()
    torchs = installed is None or any(name in installed for name in code.co_names)
    return torchs, compat.frame_globals(), installed


def _lost_names(code: types.CodeType, name: Optional[str]) -> List[str]:
    """Names of the code and its variables that its source cannot have."""
    from depyf.function_source import is_writable

    if not code.co_flags & 3 and code.co_name == "<module>":
        return []
    names = [] if name else [name_of(code)]
    names += code.co_varnames + code.co_cellvars + code.co_freevars
    return [one for one in dict.fromkeys(names) if not is_writable(one)]


def _beside_the_code(
    code: types.CodeType, function: Optional[types.FunctionType], layers: List[str]
) -> Tuple[Any, List[str]]:
    """What the code object does not have: texts for the head of the function, and comments."""
    texts: Any = ()
    comments: List[str] = []
    if layers:
        comments.append("inside " + ", ".join(layers))
    if function is not None:
        texts, missing = signature(function, code)
        comments += missing
        if "__wrapped__" in function.__dict__:
            maker = getattr(code, "co_qualname", function.__qualname__).split(".<locals>")[0]
            if maker == function.__qualname__:  # before 3.11 the code has no name of its own
                maker = "a decorator"
            comments.append(
                "what %s put around %s (its __wrapped__)" % (maker, function.__qualname__)
            )
    comments += ["needs " + what for what in around(code)] if code.co_freevars else []
    return texts, ["".join(c if c.isprintable() else "?" for c in line) for line in comments]


def _prove(code: types.CodeType, made: Any, indentation: int, trusted: bool = False) -> Any:
    """(verdict, detail) of the source `made`, compiled by this Python.

    `trusted`: globals that are named like torch's are torch's.
    """
    import re
    import warnings

    from depyf.recompiling.attempt import attempt_of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the source of others
        if not code.co_flags & 3:  # a module's, or a class's
            try:
                again = compile(made[0], code.co_filename, "exec", 0, True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                return "failed", "the decompiled source does not compile: %s" % error
            if code.co_name != "<module>":
                again = next(one for one in again.co_consts if type(one) is types.CodeType)
            return _core.compare(code, again)
        head = re.search(r"^(?:async )?def (\w+)", made[0], re.M)
        if head is None:
            return "failed", "the source has no function"
        attempt = attempt_of(
            code, code, None, made, head.group(1), indentation, False, trusted=trusted, warns=True
        )
    return attempt.verdict, attempt.detail


def decompile_with_constants(
    obj: object,
    indentation: int = 4,
    temp_prefix: str = "__temp_",
    name: Optional[str] = None,
) -> Tuple[str, Dict[str, Any]]:
    """The source as `decompile` makes it, unchecked, and name -> object for `__const_7__` ..."""
    source = decompile(obj, indentation, temp_prefix, name, check=False)
    return str(source), source.constants


def disassemble(obj: object) -> str:
    """The instructions of an object's bytecode, as the decompiler decodes them, as text.

    Args:
        obj: a function, a code object, or any other object that `code_of` accepts.
    Raises:
        TypeError: the object has no bytecode.
    """
    return str(_core.disassemble(code_of(obj)))


class CompareResult(tuple):  # type: ignore[type-arg]
    """What `compare` found: (verdict, detail), true when the two are proven to do the same."""

    __slots__ = ()

    @property
    def verdict(self) -> str:
        """'identical', 'exact' or 'equivalent': proven the same; 'unproven'; or 'different'.

        'different' has a reason by which a program tells the two apart: another constant, another
        operation, another default.
        """
        return str(self[0])

    @property
    def detail(self) -> str:
        """Where the proof ends or the two part; for a proof, what it ignores, if anything."""
        return str(self[1])

    @property
    def ignored(self) -> str:
        """What a proof ignores, in words: names of locals, globals, closures ..."""
        return str(self[1]) if self else ""

    def __bool__(self) -> bool:
        return self[0] in _PROOFS


_PROOFS = ("identical", "exact", "equivalent")


def compare(code_a: object, code_b: object, names: Optional[bool] = None) -> CompareResult:
    """Proves, without running them, that two functions or code objects do the same.

    Constants are compared by type and value (0.0 is not -0.0, 1 is not True), a NaN also by
    identity, other objects by identity. Whether two equal constants are one object is ignored. For
    functions, default values, closures and the globals that they use are compared, too. What wraps
    a function (the object of a bound method, `functools.partial`, a generator's state) is ignored,
    and `ignored` says so.

    Args:
        code_a, code_b: functions, code objects, or other objects that `code_of` accepts.
        names: True compares the names of functions and docstrings; False ignores them; None
            ignores them, and the result says whether they differ.
    Returns:
        A `CompareResult`; bytecode that cannot be read is 'unproven'.
    Raises:
        TypeError: one of the objects has no bytecode.
    """
    a, function_a, layers_a = _unwrapped(code_a)
    b, function_b, layers_b = _unwrapped(code_b)
    try:
        result = _core.compare(a, b, names is not False, decompiled=False)
        difference = result[1] if names is None and result[0] not in _PROOFS else ""
        if difference:
            result = _core.compare(a, b, False, decompiled=False)
    except _core.DecompilationError as error:
        result, difference = ("unproven", str(error)), ""
    if result[0] not in _PROOFS:
        return CompareResult(result)
    ignored = [result[1]] if result[1] else []
    if code_a is not code_b:
        from depyf.surroundings import left_out

        ignored += left_out(code_a, code_b, layers_a + layers_b)
    if names is not False:
        from depyf.surroundings import other_names

        told = other_names(function_a or a, function_b or b)
        if difference and not told:
            told = ["ignored: " + difference]
        ignored += told
    if (function_a is None) != (function_b is None):
        ignored.append("ignored: default values, closure and globals, which one of the two has not")
    if function_a is not None and function_b is not None and function_a is not function_b:
        from depyf.surroundings import compare_surroundings

        verdict, found = compare_surroundings(function_a, function_b)
        if verdict:
            return CompareResult((verdict, found[0]))
        ignored += found
    return CompareResult((result[0], "; ".join(ignored)))


def get_function_signature(code_obj: types.CodeType, overwite_fn_name: Optional[str] = None) -> str:
    """The line `def name(parameters):` of a code object, with its newline and without defaults,
    which it does not hold.

    `overwite_fn_name` (spelled as in the original project) stands in place of the code's own name.
    """
    names = list(code_obj.co_varnames)
    positional_only = getattr(code_obj, "co_posonlyargcount", 0)  # 3.8+
    count = code_obj.co_argcount
    parameters = names[:count]
    if positional_only:
        parameters.insert(positional_only, "/")
    keyword_only = names[count : count + code_obj.co_kwonlyargcount]
    rest = count + code_obj.co_kwonlyargcount
    if code_obj.co_flags & 0x04:  # CO_VARARGS
        parameters.append("*" + names[rest])
        rest += 1
    elif keyword_only:
        parameters.append("*")
    parameters += keyword_only
    if code_obj.co_flags & 0x08:  # CO_VARKEYWORDS
        parameters.append("**" + names[rest])
    return "def %s(%s):\n" % (overwite_fn_name or code_obj.co_name, ", ".join(parameters))


def add_indentation(code: str, indentation: int = 4) -> str:
    """See `depyf.code_transform`."""
    from depyf import code_transform  # it loads what decompiling does not need

    return code_transform.add_indentation(code, indentation)


def remove_indentation(code: str, indentation: int = 4) -> str:
    """See `depyf.code_transform`."""
    from depyf import code_transform

    return code_transform.remove_indentation(code, indentation)


class Decompiler:
    """Decompiles one function; the interface of the original depyf.

    Decompilers of the same code object are equal. The hash is the id of the code object.
    """

    def __init__(self, code: object) -> None:
        """`code`: any object that `decompile` accepts."""
        self.code = code_of(code)
        self._source = code

    def decompile(
        self,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        overwite_fn_name: Optional[str] = None,
    ) -> str:
        """The source, without a check; `overwite_fn_name` (sic) replaces the function's name."""
        return decompile(self._source, indentation, temp_prefix, overwite_fn_name, check=False)

    @staticmethod
    def decompile_and_compile_like(
        code_to_decompile: object,
        reference_code: object,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        filepath_template: Optional[str] = None,
    ) -> types.CodeType:
        """Decompiles a code object, and compiles the source to code that can replace another.

        If Dynamo is loaded, globals with names that Dynamo makes are assumed to be Dynamo's; inside
        a bytecode hook they are looked up in the globals of the frame.

        Args:
            code_to_decompile: the code whose behaviour the result has.
            reference_code: the code whose arguments, cell variables and free variables the result
                has, in the same order.
            indentation, temp_prefix: as for `decompile`.
            filepath_template: a path with `%d`, `%i` or `%s`, which becomes the lowest number for
                which no file exists. The source is written to that file, and the function is named
                after the file. None writes no file; the code's file name is then "noname".
        Raises:
            DecompilationError: the result is not proven equivalent.
        """
        from depyf.recompile import recompile

        code = code_of(code_to_decompile)
        dynamo, scope, installed = _dynamos(code)
        path = None if filepath_template is None else _numbered(filepath_template)
        result = recompile(
            code,
            reference=code_of(reference_code),
            path=path,
            dynamo=dynamo,
            scope=scope,
            installed=installed,
            filename="noname",
            name=None if path is None else _function_in(path),
            indentation=indentation,
            temp_prefix=temp_prefix,
        )
        if result.code is None:
            raise DecompilationError(
                "the decompiled %s is not proven to do what its bytecode does: %s"
                % (result.function_name, result.detail)
            )
        made: types.CodeType = result.code
        return made

    @staticmethod
    def supported_opnames() -> List[str]:
        """Names of the running Python's opcodes that can be decompiled, sorted."""
        return list(_core.supported_opnames())

    def __eq__(self, other: object) -> bool:
        return self.code is other.code if isinstance(other, Decompiler) else NotImplemented

    def __hash__(self) -> int:
        return id(self.code)

    def __repr__(self) -> str:
        return "Decompiler(%r)" % self.code


def _numbered(template: str) -> str:
    """`template` with the lowest number for its `%d` that gives no file that is there."""
    import os

    template, last = os.fspath(template), ""
    for number in range(sys.maxsize):
        path = template % number if "%" in template else template
        if path == last or not os.path.exists(path):
            break
        last = path
    return path


def _function_in(path: str) -> str:
    import os

    from depyf.function_source import identifier

    return identifier(os.path.splitext(os.path.basename(path))[0])
