"""The two halves of `f'{x!r}'`, apart as torch has them around a graph break (3.13 on)."""

import pytest
import pythons

# The function with one operation less: what it gives, and what its decompiled text gives. The
# text that `repr` makes is of a class of its own, which an f-string would format once more.
PROGRAM = """
import dis

class Text(str):
    def __format__(self, spec):
        return "formatted"

class Shown:
    def __repr__(self):
        return Text("shown")
    __str__ = __repr__
    def __format__(self, spec):
        return "as it is"

def without(name, text):
    namespace = {}
    exec(text, namespace)
    code = namespace["f"].__code__
    ops = bytearray(code.co_code)
    for at in range(0, len(ops), 2):
        if dis.opname[ops[at]] == name:
            ops[at:at + 2] = bytes([dis.opmap["NOP"], 0])
    return code.replace(co_code=bytes(ops))

for text in sys.argv[2:]:
    code = without(sys.argv[1], "def f(x, g=str):\\n    return " + text)
    source = depyf.decompile(code)
    namespace = {}
    exec(str(source), namespace)
    given = [f(Shown(), repr) for f in (type(dis.dis)(code, {}), namespace["f"])]
    same = given[0] == given[1] and type(given[0]) is type(given[1])
    print(same, source.proven)
"""

TEXTS = ["f'{x!r}'", "f'a{x!r}'", "f'{x!r}b{x!s}'", "g(f'{x!a}')", "f'{x!r:>5}'"]


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_value_that_is_formatted_but_not_converted_is_plain(version):
    said = pythons.run(version, PROGRAM, "CONVERT_VALUE", *TEXTS)
    assert said.split() == ["True"] * 2 * len(TEXTS), said


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_value_that_is_converted_but_not_formatted_is_no_f_string(version):
    said = pythons.run(version, PROGRAM, "FORMAT_SIMPLE", *TEXTS[:4])
    same, proven = said.split()[::2], said.split()[1::2]
    assert all(one == "True" for one, other in zip(same, proven) if other == "True"), said
    assert "False" in same, said
