"""In which order a file has the items of a set of constants.

Up to 3.10 it is the order of the set in the process that compiled. Later, marshal sorts the items
by bytes that tell which of them that process used elsewhere: the same source gives either order.
"""

import os
import subprocess

import pytest
from pythons import INTERPRETERS, VERSIONS, path_of

COMMAND = INTERPRETERS.native_command()
MAKE = """
import importlib.util, marshal, sys
texts = ["5.4", "6.10", "6.21", "7.30", "9.9"]
items = ", ".join("('%s', 'e%s')" % (text, text) for text in texts)
code = compile("def f(): return {%s}\\n" % items, "sets.py", "exec")
function = [each for each in code.co_consts if hasattr(each, "co_code")][0]
constants = [each for each in function.co_consts if isinstance(each, frozenset)][0]
header = importlib.util.MAGIC_NUMBER + bytes(12)

def order(data):
    return sorted(texts, key=lambda text: data.find(text.encode()))

first = marshal.dumps(code)
for item in constants:
    held = item, item[0]
    second = marshal.dumps(code)
    if order(first) != order(second):
        break
else:
    sys.exit("each time the same order")
for path, data in (sys.argv[1], first), (sys.argv[2], second):
    with open(path, "wb") as file:
        file.write(header + data)
"""

pytestmark = pytest.mark.skipif(
    COMMAND is None, reason="needs the native program depyf (DEPYF_BUILD_DIR)"
)
SORTED = [version for version in VERSIONS if int(version[2:]) >= 11]


def compare(python, a, b):
    return subprocess.run(
        [COMMAND, "compare", str(a), str(b)],
        env=dict(os.environ, DEPYF_PYTHONS=python),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )


@pytest.mark.parametrize("version", SORTED)
def test_an_order_that_the_compilers_process_gave_is_left_out_and_said(version, tmp_path):
    python = path_of(version)
    a, b = tmp_path / "a.pyc", tmp_path / "b.pyc"
    made = subprocess.run(
        [python, "-c", MAKE, str(a), str(b)], stderr=subprocess.PIPE, universal_newlines=True
    )
    assert made.returncode == 0, made.stderr
    done = compare(python, a, b)
    assert done.returncode == 0 and "equivalent" in done.stdout, done.stdout
    assert "the order of a set of constants in the file" in done.stdout
    assert "the order" not in compare(python, a, a).stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_small_integers_in_another_order_are_not_the_same_set(version, tmp_path):
    python = path_of(version)
    source, a, b = tmp_path / "s.py", tmp_path / "a.pyc", tmp_path / "b.pyc"
    source.write_text("def f():\n    for x in {101, 109, 117}:\n        g(x)\n")
    make = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)"
    subprocess.run([python, "-c", make, str(source), str(a)], check=True)
    data = a.read_bytes()
    mark = data[data.index(b"\x65\0\0\0") - 1 : data.index(b"\x65\0\0\0")]
    first, second = mark + b"\x65\0\0\0", mark + b"\x6d\0\0\0"
    assert data.count(first) == data.count(second) == 1
    swapped = data.replace(first, b"first").replace(second, first).replace(b"first", second)
    b.write_bytes(swapped)
    done = compare(python, a, b)
    assert done.returncode != 0, done.stdout
