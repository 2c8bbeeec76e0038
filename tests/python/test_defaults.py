"""The defaults that depyf.decompile shows of a function are the function's."""

import pytest

import depyf

pytest.importorskip("hypothesis")
from hypothesis import given, settings, strategies  # noqa: E402

_FLOATS = strategies.floats(allow_nan=False, allow_infinity=False)
_NUMBERS = strategies.one_of(
    strategies.integers(),
    _FLOATS,
    strategies.builds(complex, _FLOATS, _FLOATS),
    strategies.builds(complex, *[strategies.sampled_from([0.0, -0.0, 1.0, -1.0])] * 2),
)
_ATOMS = strategies.one_of(
    _NUMBERS,
    strategies.sampled_from([None, type(None), True, False, ..., int, "", b"", ()]),
    strategies.text(max_size=5),
    strategies.binary(max_size=5),
)


def _exactly(value):
    """What tells the value from others, signs of zeros and types included."""
    inside = value.items() if type(value) is dict else value
    if type(value) in (tuple, list, dict):
        return type(value), [_exactly(one) for one in inside]
    return type(value), repr(value)


@given(
    strategies.recursive(
        _ATOMS,
        lambda inside: strategies.one_of(
            strategies.lists(inside, max_size=3),
            strategies.lists(inside, max_size=3).map(tuple),
            strategies.dictionaries(strategies.text(max_size=3), inside, max_size=2),
        ),
        max_leaves=6,
    )
)
@settings(max_examples=200, deadline=None)
def test_a_default_that_is_shown_is_the_default(value):
    def f(a=value):
        return a

    source = depyf.decompile(f)
    if "# default of a: " in source:
        return  # said to have no literal
    namespace = {}
    exec(compile(source, "x", "exec"), namespace)
    assert _exactly(namespace["f"].__defaults__[0]) == _exactly(value), str(source)


def test_an_object_that_several_defaults_hold_is_no_literal():
    row, pair = [0], ([0],)

    def f(a=row, *, b=row):
        return a is b

    def g(a=[row] * 2, b=(1, 2), c=[0]):
        return a[0] is a[1]

    def h(a=pair, b=pair):
        return a[0] is b[0]

    for function in (f, g, h):
        assert "# default of a: <object of type " in depyf.decompile(function), function
    assert "b=(1, 2), c=[0])" in depyf.decompile(g)


def test_a_set_that_is_shown_has_its_order():
    large = set(range(64))
    for number in range(64):
        large.discard(number)
    large.update((32, 1))

    def f(a=large, b={2, 1}):
        return a

    source = depyf.decompile(f)
    assert list(large) == [1, 32]
    namespace = {}
    exec(source, namespace)
    shown = namespace["f"].__defaults__
    assert shown[0] is ... or list(shown[0]) == list(large)
    assert list(shown[1]) == [1, 2]


def test_a_global_that_source_cannot_name_stands_for_no_default():
    value = object()
    space = {"\ufb01": value, "if": value, "fi": 3, "value": value}
    exec("def f(a=value): return a\ndel value", space)
    assert "# default of a: <object of type object>" in depyf.decompile(space["f"])
