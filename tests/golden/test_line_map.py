"""The line map, against CPython's own compiler: where the decompiled source compiles to the very same bytecode, the lines that
the compiler gives the instructions are the lines on which the map has to place them."""
import collections
import dis
import glob
import importlib.util
import json
import marshal
import os
import subprocess
import sys
import sysconfig
import types

import pytest

from tests.interpreters import native_command

COMMAND = native_command()
MODULES = "argparse ast asyncio.tasks bdb calendar collections configparser contextlib csv dataclasses difflib functools heapq inspect".split()


def sources():
    here = os.path.dirname(os.path.abspath(__file__))
    golden = [path for path in sorted(glob.glob(os.path.join(here, "*.py"))) if not os.path.basename(path).startswith(("test_", "conftest"))]
    library = sysconfig.get_paths()["stdlib"]
    named = [os.path.join(library, *name.split(".")) for name in MODULES]
    return golden + [path + ".py" if os.path.exists(path + ".py") else os.path.join(path, "__init__.py") for path in named]


def codes(code):
    """`code` and everything nested in it, outermost first."""
    found = [code]
    for one in found:
        found.extend(const for const in one.co_consts if isinstance(const, types.CodeType))
    return found


@pytest.mark.skipif(COMMAND is None, reason="needs the native program depyf (DEPYF_BUILD_DIR)")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs co_positions and co_qualname, which 3.11 brought")
def test_every_instruction_lies_on_the_line_that_the_compiler_gives_it(tmp_path):
    count = agree = 0
    apart = collections.Counter()
    for path in sources():
        with open(path, "rb") as file:
            text = file.read()
        try:
            original = compile(text, path, "exec", dont_inherit=True)
        except SyntaxError:
            continue  # a golden file of another version
        pyc = tmp_path / "original.pyc"
        pyc.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(original))
        done = subprocess.run([COMMAND, "decompile", "--no-check", "--format", "json", str(pyc)], stdout=subprocess.PIPE, check=False)
        result = json.loads(done.stdout.decode("utf-8"))
        again = compile(result["source"], path, "exec", dont_inherit=True)
        total = result["source"].count("\n")
        places = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in result["lines"]:
            assert 1 <= row["line"] <= max(total, 1)
            for offset in row["offsets"]:
                places[row["code"]][offset].append(row["line"])
        names = collections.Counter(code.co_qualname for code in codes(original))
        for before, after in zip(codes(original), codes(again)):
            for instruction in dis.get_instructions(before):
                on = places[before.co_qualname][instruction.offset]
                assert len(on) == names[before.co_qualname] or (on and names[before.co_qualname] > 1), (path, before.co_qualname, instruction)
            if before.co_code != after.co_code or before.co_qualname != after.co_qualname or names[before.co_qualname] > 1:
                continue
            for instruction in dis.get_instructions(after):
                line = instruction.positions.lineno
                if line:
                    count += 1
                    same = line == places[before.co_qualname][instruction.offset][0]
                    agree += same
                    apart[instruction.opname] += not same
    assert count > 10000
    assert agree >= 0.96 * count, "%d of %d agree; apart: %s" % (agree, count, apart.most_common(8))
