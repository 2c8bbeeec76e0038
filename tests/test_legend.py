"""What stands beside a source for the objects that it cannot spell."""

import collections
import types

import pytest

from depyf.legend import (
    declared_note,
    legend,
    random_note,
    table_of_globals,
    unused_note,
    wrapped,
)

Stats = collections.namedtuple("Stats", "mean count")


def rest(x):
    return [one for one in x]


class Thing:
    def act(self):
        pass


def told(value):
    return legend("use(__const_0__)", {"__const_0__": value}, {}).strip().split(": ", 2)[-1]


@pytest.mark.parametrize(
    "value, text",
    [
        (rest.__code__, "code of rest, line %d" % rest.__code__.co_firstlineno),
        (Stats._make, "method Stats._make"),
        (Thing().act, "method Thing.act"),
        (globals(), "globals of the module " + __name__),
        ({"__name__": __name__}, "dict of length 1"),
        ((1, 2), "tuple of length 2"),
        (types, "module types"),
    ],
)
def test_an_object_is_told_by_what_it_is(value, text):
    assert told(value) == text


def test_the_code_of_a_resume_function_is_told_by_its_function():
    space = {}
    exec("def torch_dynamo_resume_in_step_at_22(): pass", space)
    code = space["torch_dynamo_resume_in_step_at_22"].__code__
    assert told(code) == "code of step, resumed after line 22"


def test_sizes_are_told_by_their_numbers():
    torch = pytest.importorskip("torch")
    assert told(torch.Size([3, 4])) == "Size [3, 4]"


def test_what_never_runs_is_explained():
    source = "def f(x, n):\n    if False:\n        y = None\n        lambda: (n, y)\n    return x\n"
    assert unused_note(source).replace("\n# ", " ").endswith("bytecode does: n, y.\n")
    assert unused_note("def f(x):\n    return x\n") == ""


def test_numbers_that_python_draws_are_explained():
    note = random_note("def f(x):\n    values = __gen_rand_values_34()\n    return g(values[0])\n")
    assert "`__gen_rand_values_34()` draws the random numbers" in note and "`random`" in note
    assert random_note("def f(x):\n    return x\n") == ""


def test_no_line_is_too_wide():
    long = "__builtins_dict_of_" + "a_module_with_a_long_name_" * 2 + "and_a_longer_tail_"
    table = table_of_globals({"short": "real", "name": long, long[:70]: long + "1" * 90})
    assert table.startswith("# short is torch's real\n# name is torch's\n#   %s\n" % long)
    placeholders = {"__const_%d__" % one: range(10**one) for one in range(3)}
    placeholders["__a_placeholder_with_a_name_of_its_own__"] = Stats._make
    text = table + legend(" ".join(placeholders), placeholders, {"it": "x" * 150})
    text += wrapped("A file: /%s/program.py:12" % ("a_folder_in_a_folder" * 6))
    assert max(map(len, text.splitlines())) <= 100
    assert "x" * 90 in legend("it", {}, {"it": "x" * 150}).replace("\n#     ", "")


def test_what_declares_variables_is_said_to_never_run():
    source = (
        "def f(state):\n    if False:\n        j = None\n        k = None\n"
        "    return (lambda: j).__closure__[0], (lambda: k).__closure__[0]\n"
    )
    told = declared_note(source)
    assert "never runs" in told and told.rstrip().endswith("j, k.")
    assert all(line.startswith("#") for line in told.strip("\n").split("\n"))
    cells = "def f(j):\n    if False:\n        j = None\n        lambda: j\n    return j\n"
    assert declared_note(cells) == ""  # unused_note() tells of these
    assert declared_note("def f():\n    if False:\n        j\n") == ""
