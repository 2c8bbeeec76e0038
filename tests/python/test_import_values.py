"""An import in the middle of an expression, which no statement is: torch writes such ones."""

import os
import subprocess

import pytest
from pythons import INTERPRETERS, VERSIONS, path_of, run

# Each `import a as m` before a use of m becomes the value itself; the list of names is built.
WRITTEN = r"""
import importlib.util, marshal, opcode, os, sys
from depyf.assembler import Assembly, Instruction
OP = opcode.opmap
def as_value(code):
    assembly = Assembly(code)
    listing = assembly.instructions
    for at, one in enumerate(listing[:-2]):
        if one.op == OP["IMPORT_NAME"] and listing[at + 1].name == "STORE_FAST":
            names = listing[at - 1]
            names.op, names.argument = OP["BUILD_TUPLE"], 0
            for gone in listing[at + 1 : at + 3]:
                gone.op, gone.argument = OP["NOP"], 0
    consts = tuple(as_value(c) if hasattr(c, "co_code") else c for c in code.co_consts)
    return assembly.assemble(co_consts=consts)
folder, head = sys.argv[1:]
text = head + "def f(x):\n    import json as m\n    return m.decoder.JSONDecoder, x\n"
code = as_value(compile(text, "m.py", "exec"))
names = {}
exec(code, names)
assert names["f"](1)[0].__name__ == "JSONDecoder"
with open(os.path.join(folder, "m.pyc"), "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


def decompiled(version, folder, head=""):
    command = INTERPRETERS.native_command()
    if command is None:
        pytest.skip("the depyf program is not built")
    run(version, WRITTEN, str(folder), head)
    done = subprocess.run(
        [command, "decompile", str(folder / "m.pyc")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, DEPYF_PYTHONS=path_of(version)),
    )
    return done.returncode == 0, done.stdout, done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_an_import_that_is_a_value_is_proven(version, tmp_path):
    proven, text, said = decompiled(version, tmp_path)
    assert "return __import__('json', None, None, (), 0).decoder.JSONDecoder, x" in text
    assert proven and "taken for granted" in said and "__import__" in said


@pytest.mark.parametrize("head", ["def __import__(*a): return 1\n", "from os import *\n"])
def test_a_module_that_may_bind_the_function_proves_no_import(head, tmp_path):
    proven, text, said = decompiled("3.11", tmp_path, head)
    assert "different" not in said
    assert "rebuilds it from its bytes" in text or ("__import__('json'" in text and not proven)
