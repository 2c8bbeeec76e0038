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
    assert same[0] == same[3] == "True", said
    assert all(one == "True" for one, other in zip(same, proven) if other == "True"), said


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
@pytest.mark.parametrize("builtin", ["repr", "ascii"])
def test_a_file_that_converts_without_formatting_is_proven(version, builtin, tmp_path):
    target = str(tmp_path / "m.pyc")
    writes = PROGRAM.split("for text in")[0] + (
        "import marshal, importlib.util\n"
        "code = without('FORMAT_SIMPLE', \"def f(x):\\n    return f'{x!%s}'\")\n"
        "module = compile('def f(x): pass', 'm.py', 'exec')\n"
        "consts = tuple(code if type(c) is type(code) else c for c in module.co_consts)\n"
        "data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(module.replace(co_consts=consts))\n"
        "open(%r, 'wb').write(data)\n" % (builtin[0], target)
    )
    pythons.run(version, writes)
    done = pythons.native("decompile", "--check", target)
    assert "return %s(x)" % builtin in done.stdout, done.stdout
    assert "proven (equivalent)" in done.stderr and builtin in done.stderr, done.stderr


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_method_rebuilt_from_bytes_leaves_the_static_attributes_of_its_class(version, tmp_path):
    target = str(tmp_path / "m.pyc")
    text = "class C:\n    def f(self, repr):\n        self.x = f'{repr!r}'\n"
    # `repr` is a variable there, so no text converts by the builtin.
    writes = (
        "import dis, marshal, importlib.util\n"
        "module = compile(%r, 'm.py', 'exec')\n"
        "def without(code):\n"
        "    ops = bytearray(code.co_code)\n"
        "    for at in range(0, len(ops), 2):\n"
        "        if dis.opname[ops[at]] == 'FORMAT_SIMPLE':\n"
        "            ops[at:at + 2] = bytes([dis.opmap['NOP'], 0])\n"
        "    consts = tuple(without(c) if type(c) is type(code) else c for c in code.co_consts)\n"
        "    return code.replace(co_code=bytes(ops), co_consts=consts)\n"
        "data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(without(module))\n"
        "open(%r, 'wb').write(data)\n" % (text, target)
    )
    pythons.run(version, writes)
    done = pythons.native("decompile", "--check", target)
    assert "self.x = None" in done.stdout and "marshal" in done.stdout, done.stdout
    assert "proven (equivalent)" in done.stderr, done.stderr


RECOMPILED = (
    PROGRAM.split("for text in")[0]
    + """
from depyf.rewrites import convert_as, rewritten

for text in sys.argv[1:]:
    code = without("FORMAT_SIMPLE", "def f(x, g):\\n    return " + text)
    namespace = {}
    exec(str(depyf.decompile(code)), namespace)
    text_code = namespace["f"].__code__
    (made,) = rewritten(text_code, code, [convert_as])
    namespace["repr"] = namespace["ascii"] = None  # is asked by the text alone
    given = [type(f)(made, namespace)(Shown(), str) for f in (namespace["f"],)]
    print(made is not text_code, depyf.compare(made, code).verdict, *given)
"""
)


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_what_torch_runs_converts_by_the_operation(version):
    said = pythons.run(version, RECOMPILED, "f'{x!r}'", "f'{g(x)[1:]!r}'", "g(f'{x!a}')")
    rows = [line.split() for line in said.splitlines()]
    assert [row[2] for row in rows] == ["shown", "'hown'", "shown"], said
    assert all(row[0] == "True" and row[1] in ("identical", "exact", "equivalent") for row in rows)
