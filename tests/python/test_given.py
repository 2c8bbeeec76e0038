"""What a call gives a parameter, read in the source of the code that calls."""

import textwrap

import pytest

from depyf.advice import given
from depyf.report import words

CALLED = """
def scaled(x, scale, /, rest=None):
    return x * scale

class Model:
    def forward(self, x, scale):
        return x * scale

    @classmethod
    def make(cls, x, scale):
        return x * scale
"""


@pytest.mark.parametrize(
    "begins, call, handed_on",
    [
        ("def scaled", "scaled(x, width)", "width"),
        ("def scaled", "scaled(x, width, *rest)", "width"),
        ("def scaled", "scaled(*rest, width)", ""),
        ("def forward", "model.forward(x, width)", "width"),
        ("def forward", "model.forward(x, scale=width)", "width"),
        ("def forward", "Model.forward(model, x, width)", "width"),
        ("def forward", "Model.forward(model, width, 2)", ""),
        ("def make", "Model.make(x, width)", "width"),
        ("def make", "model.make(x, width)", "width"),
    ],
)
def test_the_parameter_that_a_call_hands_on(tmp_path, begins, call, handed_on):
    source = textwrap.dedent(CALLED) + "\ndef step(model, x, width, rest):\n    return %s\n" % call
    program = tmp_path / "program.py"
    program.write_text(source)
    lines = source.splitlines()
    at = str(program), len(lines)
    where = str(program), next(i for i, one in enumerate(lines, 1) if begins in one)
    if "make" in begins:
        where = where[0], where[1] - 1  # a function begins at its first decorator
    assert given.handed_on(at, where, "scale") == handed_on


@pytest.mark.parametrize("kind", ["object", "value"])
def test_an_object_is_told_without_its_address(kind):
    found = words.of_reason("0/0: self.bias == True", "", 0, ["self", "x"])
    found.update(kind=kind, name="self.bias")
    words.describe_other_object(found, "self.act", words.OBJECT + "140", words.OBJECT + "141")
    assert found["words"].startswith("`self.act` is another object than before")
    words.describe_other_object(found, "self.act", "None", words.OBJECT + "141")
    assert found["words"].startswith("`self.act` was None, is an object")
    assert "14" not in found["words"] + found["before"] + found["after"]
