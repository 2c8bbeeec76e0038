"""What one call of `depyf.decompile` costs beside the core, counted in calls of Python functions."""

import sys

import pytest

import depyf


def method(self, items, limit=3):
    """Doc."""
    total = 0
    for item in items:
        if item > limit and not isinstance(item, str) and total[1:2] is not None:
            total += item
    return [one for one in items if one != total]


def calls_of(function):
    """How many Python functions are entered when it is called for the second time."""
    function()
    entered = []

    def profile(frame, event, _):
        if event == "call":
            entered.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize("check, most", [(False, 15), (True, 75)])
def test_a_call_enters_few_functions_beside_the_core(check, most):
    entered = calls_of(lambda: depyf.decompile(method.__code__, check=check))
    assert len(entered) <= most, entered


def test_what_cpython_would_warn_of_is_proven_as_it_is_written(recwarn):
    scope = {}
    exec("def f(x):\n    return x[1:2] is (1, 2), [1, 2][x], (lambda: 1)()\n", scope)
    recwarn.clear()
    assert depyf.decompile(scope["f"]).proven
    assert not recwarn.list
