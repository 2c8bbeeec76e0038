"""From a Python object to the source of its bytecode."""

import functools
import types

try:
    from depyf import _core
except ImportError as _error:
    if "_core" not in str(_error):
        raise
    raise ImportError(
        "depyf's compiled part depyf._core cannot be loaded (%s); install the package with "
        "`pip install .` in the checkout, which needs a C++20 compiler" % _error
    ) from _error

DecompilationError = _core.DecompilationError
__version__ = _core.__version__

_METHOD_WRAPPERS = (staticmethod, classmethod)
_LRU_CACHE_WRAPPER = type(functools.lru_cache()(lambda: None))
# Objects that run a code object, by the attribute that holds it.
_CODE_ATTRIBUTES = ("gi_code", "ag_code", "cr_code", "f_code")
# More layers than this (partial of partial ...) are a cycle.
_MAX_LAYERS = 100


def code_of(obj):
    """The code object that runs when `obj` is called.

    Takes functions, methods, code objects, static and class methods, `functools.partial` and
    `lru_cache` wrappers, generators, coroutines, frames, and objects with a `__call__` written in
    Python. Raises TypeError for everything else, and says what to pass instead.
    """
    current = obj
    for _ in range(_MAX_LAYERS):
        if isinstance(current, types.CodeType):
            return current
        if isinstance(current, types.FunctionType):
            return current.__code__
        if isinstance(current, types.MethodType):
            current = current.__func__
        elif isinstance(current, _METHOD_WRAPPERS):
            current = current.__func__
        elif isinstance(current, functools.partial):
            current = current.func
        elif isinstance(current, functools.partialmethod):
            current = current.func
        elif isinstance(current, _LRU_CACHE_WRAPPER):
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
                return code
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
    raise TypeError("%s wraps more than %d callables in each other" % (_describe(obj), _MAX_LAYERS))


_C_CALLABLES = (
    types.BuiltinFunctionType,
    type(str.join),
    type(object.__init__),
    type("".__str__),
    type(dict.__dict__["fromkeys"]),
)


def _running_code(obj):
    for name in _CODE_ATTRIBUTES:
        code = getattr(type(obj), name, None) and getattr(obj, name)
        if isinstance(code, types.CodeType):
            return code
    return None


def _describe(obj):
    kind = type(obj).__name__
    return ("an " if kind[:1] in "aeiouAEIOU" else "a ") + kind


def decompile(obj, indentation=4, temp_prefix="__temp_", name=None):
    """The source of `obj`'s bytecode, as a string.

    `obj`: see `code_of`. `name` replaces the function's own name. Objects among the constants that
    have no literal (modules, functions ...) appear as names such as `__const_7__`. Nothing is
    executed. Raises TypeError for an object without bytecode, DecompilationError for bytecode
    that cannot be read.
    """
    return decompile_with_constants(obj, indentation, temp_prefix, name)[0]


def decompile_with_constants(obj, indentation=4, temp_prefix="__temp_", name=None):
    """What `decompile` returns, and a dict of the names such as `__const_7__` to their objects."""
    source, _, constants, _ = _core.decompile(code_of(obj), indentation, temp_prefix, name, line_map=False)
    return source, constants


def disassemble(obj):
    """The instructions of `obj`, decoded the way the decompiler sees them, as text."""
    return _core.disassemble(code_of(obj))


class CompareResult(tuple):
    """What `compare` found: (verdict, detail), true when the two are proven to do the same."""

    __slots__ = ()

    @property
    def verdict(self):
        """'identical', 'exact', 'equivalent' or 'different'."""
        return self[0]

    @property
    def detail(self):
        """For 'different', the first place where the two part."""
        return self[1]

    def __bool__(self):
        return self[0] != "different"


def compare(code_a, code_b, names=True):
    """Prove, without running them, that two functions or code objects do the same thing.

    Returns a CompareResult. Constants count by type and value (0.0 is not -0.0, 1 is not True),
    other objects by identity. With `names=False`, names of functions and docstrings do not count.
    """
    return CompareResult(_core.compare(code_of(code_a), code_of(code_b), names))


class Decompiler:
    """Decompiles one function; the interface that programs written for the original depyf use."""

    def __init__(self, code):
        """`code`: anything that `decompile` takes."""
        self.code = code_of(code)

    def decompile(self, indentation=4, temp_prefix="__temp_", overwite_fn_name=None):
        """The source; `overwite_fn_name` (sic) replaces the function's name."""
        return _core.decompile(self.code, indentation, temp_prefix, overwite_fn_name, line_map=False)[0]

    @staticmethod
    def decompile_and_compile_like(
        code_to_decompile,
        reference_code,
        indentation=4,
        temp_prefix="__temp_",
        filepath_template=None,
    ):
        """Decompile one code object and compile it so that it can stand in for another.

        The result has the arguments, cell variables and free variables of `reference_code`, in
        its order, and does what `code_to_decompile` does, which is proven first. With
        `filepath_template`, its `%s` becomes the function's name and the source is written there.
        Raises DecompilationError when the proof fails.
        """
        from depyf.recompile import recompile

        result = recompile(
            code_of(code_to_decompile),
            reference=code_of(reference_code),
            filename_template=filepath_template,
            indentation=indentation,
            temp_prefix=temp_prefix,
        )
        if result.code is None:
            raise DecompilationError(
                "the decompiled %s is not proven to do what its bytecode does: %s"
                % (result.function_name, result.detail)
            )
        return result.code

    @staticmethod
    def supported_opnames():
        """Names of the running Python's opcodes that can be decompiled, sorted."""
        return _core.supported_opnames()

    def __repr__(self):
        return "Decompiler(%r)" % self.code
