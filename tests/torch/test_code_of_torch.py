"""Code objects put together as torch puts them together: each comes back, proven."""

import copy
import sys
import types

import pytest
import torch._dynamo.bytecode_transformation as bytecode

from depyf.recompile import recompile

VERSION = sys.version_info[:2]
RESUME = "__resume_at_10_1"


def one(name, *argval, **more):
    if argval:
        more["argval"] = argval[0]
    return bytecode.create_instruction(name, **more)


def const(value):
    return one("LOAD_CONST", value)


def load_global(name):
    if hasattr(bytecode, "create_load_global"):  # up to torch 2.4
        return bytecode.create_load_global(name, False)
    return one("LOAD_GLOBAL", name, **({"arg": False} if VERSION >= (3, 11) else {}))


def call(count):
    return bytecode.create_call_function(count, True)


def call_unpacked(callee, positional, mapping):
    null = [one("PUSH_NULL")] if VERSION >= (3, 11) else []
    flag = 0 if VERSION >= (3, 14) else 1
    start = callee + null if VERSION >= (3, 13) else null + callee
    return start + positional + mapping + [one("CALL_FUNCTION_EX", arg=flag)]


def f(x):
    pass


def live(added, like=f):
    """A code object `f(x)` of these instructions, with the cells of `like`."""

    def change(instructions, options, *_):
        found = [old for old in instructions if old.opname in ("MAKE_CELL", "RESUME")]
        found += added
        names, variables = list(options["co_names"]), list(options["co_varnames"])
        for each in found:
            if each.opname in ("LOAD_GLOBAL", "STORE_ATTR") and each.argval not in names:
                names.append(each.argval)
            if each.opname in ("LOAD_FAST", "STORE_FAST") and each.argval not in variables:
                variables.append(each.argval)
        options.update(co_names=tuple(names), co_varnames=tuple(variables))
        options["co_nlocals"] = len(variables)
        instructions[:] = found

    made = bytecode.transform_code_object(like.__code__, change)
    return made[0] if isinstance(made, tuple) else made


def iterator():
    return [const((3, 5, 7)), one("GET_ITER")]


def beside_arguments():
    rest = [load_global("g"), *call(0), one("LOAD_FAST", "x"), *call(3)]
    return [load_global(RESUME), *iterator(), *rest]


def of_items():
    items = [const(3), const(5), one("BUILD_TUPLE", arg=2), one("GET_ITER")]
    return [load_global(RESUME), *items, *call(1)]


def in_a_local():
    stored = [*iterator(), one("STORE_FAST", "it"), load_global(RESUME)]
    return stored + [one("LOAD_FAST", "it"), *call(1)]


def in_an_attribute():
    stored = [*iterator(), one("LOAD_FAST", "x"), one("STORE_ATTR", "it")]
    return stored + [load_global(RESUME), *call(0)]


def returned_at_the_end():
    return [load_global("__compiled_fn_1"), *call(0), one("POP_TOP"), *iterator()]


def stored_together():
    letters = [const("a"), const("b"), one("BUILD_TUPLE", arg=2), one("GET_ITER")]
    stored = [one("STORE_FAST", "both"), one("STORE_FAST", "letters"), one("STORE_FAST", "numbers")]
    load = [one("LOAD_FAST", name) for name in ("numbers", "letters", "both")]
    return [
        *iterator(),
        *letters,
        *[load_global("g"), *iterator(), *call(1)],
        *stored,
        *[load_global(RESUME), *load, *call(3)],
    ]


def stored_and_in_a_list():
    """As up to torch 2.4: the list holds what another local is given, too."""
    letters = [const("a"), const("b"), one("BUILD_TUPLE", arg=2), one("GET_ITER")]
    stored = [one("STORE_FAST", name) for name in ("pair", "letters", "numbers")]
    load = [one("LOAD_FAST", name) for name in ("numbers", "letters", "pair")]
    return [
        *iterator(),
        *[one("STORE_FAST", "tmp_0"), one("LOAD_FAST", "tmp_0")],
        *letters,
        *[one("LOAD_FAST", "tmp_0"), const((1, 3)), one("BUILD_LIST", arg=2)],
        *stored,
        *[load_global(RESUME), *load, *call(3)],
    ]


ITERATORS = [
    beside_arguments,
    of_items,
    in_a_local,
    in_an_attribute,
    returned_at_the_end,
    stored_together,
    stored_and_in_a_list,
]


def returned(code):
    globals_ = {
        RESUME: lambda *values: values,
        "__compiled_fn_1": lambda: None,
        "g": lambda *values, **named: (values, named),
    }
    box = types.SimpleNamespace()
    found = types.FunctionType(code, globals_)(box)
    found = (found, vars(box).get("it"))
    return repr([list(item) if hasattr(item, "__next__") else item for item in walk(found)])


def walk(value):
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from walk(item)
    elif not isinstance(value, types.SimpleNamespace):
        yield value


def proven(code):
    result = recompile(code, dynamo=True)
    assert result.proven, (result.detail, result.source)
    assert returned(result.code) == returned(code)
    return result


@pytest.mark.parametrize("instructions", ITERATORS)
def test_an_iterator_of_constants_is_no_tuple(instructions):
    assert "iter" in proven(live(instructions() + [one("RETURN_VALUE")])).source


def test_stores_of_locals_keep_their_order_around_that_of_a_cell():
    def like(x):
        return lambda: c  # noqa: F821
        c = x

    cell = one("LOAD_FAST" if VERSION >= (3, 13) else "LOAD_CLOSURE", "c")
    values = [load_global("g"), *call(0)] * 3
    stored = [one("STORE_FAST", "b"), one("STORE_DEREF", "c"), one("STORE_FAST", "a")]
    read = [one("LOAD_FAST", "a"), cell, one("BUILD_TUPLE", arg=1), one("LOAD_FAST", "b")]
    added = [*values, *stored, load_global(RESUME), *read, *call(3), one("RETURN_VALUE")]
    result = recompile(live([copy.copy(each) for each in added], like), dynamo=True)
    assert result.proven, (result.detail, result.source)


MAPPINGS = {
    "a map": lambda: [const("a"), one("LOAD_FAST", "x"), const("b"), const(1)]
    + [one("BUILD_MAP", arg=2)],
    "one with constant keys": lambda: [one("LOAD_FAST", "x"), const(1), const(("a", "b"))]
    + [one("BUILD_CONST_KEY_MAP", arg=2)],
}


@pytest.mark.parametrize("kind", MAPPINGS)
def test_a_call_of_nothing_and_a_dict_of_names_is_one_with_keywords(kind):
    if kind != "a map" and VERSION >= (3, 14):
        pytest.skip("CPython 3.14 has no BUILD_CONST_KEY_MAP")
    called = call_unpacked([load_global("g")], [const(())], MAPPINGS[kind]())
    source = proven(live(called + [one("RETURN_VALUE")])).source
    assert "(a=x, b=1)" in source


def test_functions_keep_the_code_objects_that_torchs_code_has():
    def f(n):
        def inner(x, k=2):
            return x + n * k

        return [inner, lambda x: x - n, lambda x: x * n], [n + i for i in range(3)]

    made = recompile(f.__code__, dynamo=True)
    assert made.proven
    own = [code for code in f.__code__.co_consts if isinstance(code, types.CodeType)]
    found = [code for code in made.code.co_consts if isinstance(code, types.CodeType)]
    assert sorted(map(id, found)) == sorted(map(id, own))
    functions, numbers = types.FunctionType(made.code, globals())(3)
    assert [each(5) for each in functions] == [11, 2, 15] and numbers == [3, 4, 5]
