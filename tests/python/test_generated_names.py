"""Names that the decompiler makes up are none that the program has, on every rung."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import SUPPORTED, interpreters, native_command  # noqa: E402

PROGRAM = """
__temp_0 = 1
__temp_state = 2
def f(l, __temp_1):
    __temp_2 = []
    for __temp_3 in l:
        try:
            __temp_2.append(__temp_3 / __temp_1)
        except ZeroDivisionError as __temp_exception_0:
            __temp_2.append(str(__temp_exception_0))
    return __temp_2, __temp_0, __temp_state
class C:
    __temp_4 = 3
    def __temp_raised(self):
        return self.__temp_4
    def g(self):
        __function_0_lambda = self.__temp_raised()
        return __function_0_lambda, 1
print(f([1, 2], 1), f([1], 0), C().g(), __temp_0, __temp_state)
"""

COMPILE = """
import importlib.util, marshal, sys
with open(sys.argv[1], "wb") as f:
    code = compile(sys.stdin.read(), "x.py", "exec")
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


@pytest.mark.parametrize("rung", ["0", "5", "6"])
@pytest.mark.parametrize("minor", SUPPORTED, ids=["3.%d" % m for m in SUPPORTED])
def test_names_of_the_program_are_not_taken(minor, rung, tmp_path):
    if minor not in interpreters() or native_command() is None:
        pytest.skip("no CPython 3.%d, or no depyf program" % minor)
    python, pyc = interpreters()[minor], str(tmp_path / "x.pyc")
    subprocess.run([python, "-c", COMPILE, pyc], input=PROGRAM.encode(), check=True)
    command = [native_command(), "decompile", "--no-check", "--ladder", rung, pyc]
    source = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    said = []
    for text in (PROGRAM.encode(), source):
        run = subprocess.run([python, "-"], input=text, stdout=subprocess.PIPE, check=True)
        said.append(run.stdout.decode())
    assert said[0] == said[1]


# The operands of a tuple swapped on the stack, as no compiler has them.
SWAPPED = """
import dis, importlib.util, marshal, sys
code = compile("def f(a, b):\\n    return a(), b()\\n", "x.py", "exec")
inner = code.co_consts[0]
swap = [dis.opmap["SWAP"], 2] if "SWAP" in dis.opmap else [dis.opmap["ROT_TWO"], 0]
at = [i.offset for i in dis.get_instructions(inner) if i.opname == "BUILD_TUPLE"][0]
changed = inner.co_code[:at] + bytes(swap) + inner.co_code[at:]
code = code.replace(co_consts=(inner.replace(co_code=changed),) + code.co_consts[1:])
with open(sys.argv[1], "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


@pytest.mark.parametrize("minor", SUPPORTED[1:], ids=["3.%d" % m for m in SUPPORTED[1:]])
def test_names_that_the_source_had_not_are_said(minor, tmp_path):
    if minor not in interpreters() or native_command() is None:
        pytest.skip("no CPython 3.%d, or no depyf program" % minor)
    pyc = str(tmp_path / "x.pyc")
    subprocess.run([interpreters()[minor], "-c", SWAPPED, pyc], check=True)
    done = subprocess.run(
        [native_command(), "decompile", "--no-check", pyc],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
    )  # fmt: skip
    source, said = done.stdout.decode(), done.stderr.decode()
    names = "names that the source had not: __temp_0, __temp_1"
    assert "    # depyf found no expression for a value: %s\n" % names in source
    assert "f: note: %s" % names in said
