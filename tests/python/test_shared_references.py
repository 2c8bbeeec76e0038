"""A file shares objects by reference, a text does not: what nests in itself twice doubles with each
level.
"""

import dis
import importlib.util
import json
import marshal
import random
import struct
import subprocess
import types

import depyf
import pytest
from depyf import _core
from depyf.code_edit import replace, with_names
from depyf.recompiling.attempt import _cells

from tests.interpreters import native_command

SECONDS = 20  # CPU; without a bound there is no end
DEPTH = 40  # levels: 2 ** 40 objects
ONE, TWO, NAN = b"i\1\0\0\0", b"i\2\0\0\0", b"g" + struct.pack("<d", float("nan"))
REFERENCE, TUPLE, SET_OF_ONE = b"r", b"\xa9", b">\1\0\0\0" + ONE


def reference(index):
    return REFERENCE + struct.pack("<I", index)


def shared_tuples(depth, leaf, uses=2):
    """Marshalled: `x = (leaf,)`, then so many times `x = (x, x)`."""
    ends = (reference(i) * (uses - 1) for i in range(depth, 0, -1))
    return (TUPLE + bytes([uses])) * depth + TUPLE + b"\1" + leaf + b"".join(ends)


def flat(code):
    """Without references, so that those put into it are counted from 0."""
    return marshal.dumps(code, 2)


def split(data, *texts):
    """What lies around the marshalled texts, each of which stands there once."""
    parts = []
    for text in texts:
        before, _, data = data.partition(struct.pack("<I", len(text)) + text.encode())
        parts.append(before[:-1])  # without the type of the object
    return [*parts, data]


def module_with(constant, source="x = '@@@@'\n"):
    before, after = split(flat(compile(source, "m.py", "exec")), "@@@@")
    return before + constant + after


def function_in(source):
    found = compile(source, "m.py", "exec").co_consts
    return next(one for one in found if isinstance(one, types.CodeType))


def texts_for_code(code, *texts):
    """With texts where it has code objects among its constants."""
    left = iter(texts)
    consts = (next(left) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return replace(code, co_consts=tuple(consts))


def shared_code(depth, leaf="pass", template="def a():\n def b(): pass\n def q(): pass\n"):
    """A module with functions that hold the same function twice, so many levels deep."""
    outer = texts_for_code(compile("def a(): pass", "m.py", "exec"), "@@@@")
    before, after = split(flat(outer), "@@@@")
    body = flat(texts_for_code(function_in(template), "@@1@", "@@2@"))
    first, middle, last = split(body, "@@1@", "@@2@")
    kind = bytes([first[0] | 0x80])
    inner = flat(function_in("def b(): " + leaf))
    ends = (middle + reference(i + 1) + last for i in range(depth - 1, -1, -1))
    whole = (kind + first[1:]) * depth + bytes([inner[0] | 0x80]) + inner[1:] + b"".join(ends)
    return before + whole + after


def run(folder, *arguments):
    resource = pytest.importorskip("resource")

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    command = native_command()
    if command is None:
        pytest.skip("the native command is not built")
    return subprocess.run(
        [command, *map(str, arguments)],
        cwd=str(folder),
        preexec_fn=limit,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


def write(path, data):
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + data)
    return path.name


def drawn(rng):
    """What shares references, of any depth up to 40."""
    depth = rng.randint(1, DEPTH)
    if rng.random() < 0.3:
        return shared_code(depth, rng.choice(("pass", "return 1")))
    leaf = rng.choice((ONE, NAN, SET_OF_ONE, b"N"))
    source = rng.choice(("x = '@@@@'\n", "x = y in '@@@@'\n", "f(('@@@@', 1), y)[1:]\n"))
    return module_with(shared_tuples(depth, leaf, rng.randint(2, 4)), source)


@pytest.mark.parametrize("options", [(), ("--no-check",)])
@pytest.mark.parametrize("make", ["tuples", "code"])
@pytest.mark.parametrize("depth", [16, DEPTH])
def test_what_is_too_large_as_text_is_rebuilt_from_its_bytes(make, depth, options, tmp_path):
    data = module_with(shared_tuples(depth + 4, ONE)) if make == "tuples" else shared_code(depth)
    done = run(tmp_path, "decompile", *options, write(tmp_path / "a.pyc", data))
    assert done.returncode in (0, 1), done.stderr
    assert "when they are written out" in done.stderr
    assert "marshal" in done.stdout and len(done.stdout) < 400000


def test_small_shared_objects_are_written_out(tmp_path):
    done = run(tmp_path, "decompile", write(tmp_path / "a.pyc", module_with(shared_tuples(2, ONE))))
    assert (done.returncode, done.stdout) == (0, "x = (((1,), (1,)), ((1,), (1,)))\n"), done.stderr


@pytest.mark.parametrize("seed", range(12))
def test_drawn_references_end_in_time(seed, tmp_path):
    rng = random.Random(seed)
    one = write(tmp_path / "a.pyc", drawn(rng))
    other = write(tmp_path / "b.pyc", drawn(rng))
    for words in (("decompile", one), ("decompile", "--no-check", other), ("dis", one)):
        assert run(tmp_path, *words).returncode in (0, 1), words
    assert run(tmp_path, "compare", one, one).returncode in (0, 3)
    assert run(tmp_path, "compare", one, other).returncode in (0, 1, 3)


@pytest.mark.parametrize(
    "one, other, returncode",
    [
        (module_with(shared_tuples(DEPTH, ONE)), module_with(shared_tuples(DEPTH, ONE)), 0),
        (module_with(shared_tuples(DEPTH, ONE)), module_with(shared_tuples(DEPTH, TWO)), 1),
        (module_with(shared_tuples(DEPTH, NAN)), module_with(shared_tuples(DEPTH, NAN)), 0),
        (shared_code(DEPTH), shared_code(DEPTH), 0),
        (shared_code(DEPTH), shared_code(DEPTH, "return 1"), 1),
    ],
    ids=["tuples", "other tuples", "NaNs", "code", "other code"],
)
def test_files_with_shared_objects_are_compared_without_writing_them_out(
    one, other, returncode, tmp_path
):
    names = write(tmp_path / "a.pyc", one), write(tmp_path / "b.pyc", other)
    done = run(tmp_path, "compare", *names)
    assert done.returncode == returncode, done.stdout + done.stderr


def nested(depth, leaf):
    value = (leaf,)
    for _ in range(depth):
        value = (value, value)
    return value


def with_default(value):
    def f(a=value):
        return a

    return f


def test_default_values_are_compared_without_writing_them_out():
    one, two = with_default(nested(DEPTH, 1)), with_default(nested(DEPTH, 2))
    assert depyf.compare(one, with_default(nested(DEPTH, 1))).verdict in ("identical", "exact")
    assert depyf.compare(one, two).verdict == "different"


def test_live_constants_that_are_too_large_as_text_are_objects():
    code = function_in("def f(): return '@@@@'")

    def of(leaf):  # CPython walks such constants, so they are not deeper
        value = nested(20, leaf)
        return replace(code, co_consts=tuple(value if c == "@@@@" else c for c in code.co_consts))

    assert _core.compare(of(1), of(2))[0] in ("unproven", "different")
    assert len(depyf.decompile(of(1), check=False)) < 1000


def test_live_code_that_is_too_large_as_text_is_an_error():
    code = marshal.loads(shared_code(12)).co_consts[0]
    assert isinstance(code, types.CodeType)
    with pytest.raises(depyf.DecompilationError, match="when they are written out"):
        depyf.decompile(code)
    assert depyf.compare(code, code).verdict == "identical"


def test_a_module_that_runs_its_bytes_is_not_called_different(tmp_path):
    source = "from __future__ import annotations\nx = '@@@@'\n"
    data = module_with(shared_tuples(DEPTH, ONE), source)
    done = run(tmp_path, "decompile", "--format", "json", write(tmp_path / "a.pyc", data))
    assert json.loads(done.stdout)["check"]["verdict"] == "unproven", done.stdout


def test_definitions_in_copies_of_finally_bodies_are_counted_as_they_are_written(tmp_path):
    """The compiler makes three copies of each body, so that the innermost function has 3 ** 9."""
    source = "".join(
        "{0}def f{1}(a):\n{0}    try:\n{0}        if a: return a()\n{0}    finally:\n".format(
            " " * 8 * level, level
        )
        for level in range(9)
    )
    data = marshal.dumps(compile(source + " " * 72 + "def g(): pass\n", "m.py", "exec"))
    done = run(tmp_path, "decompile", write(tmp_path / "a.pyc", data))
    assert "marshal" not in done.stdout and done.stdout.count("def ") == 10, done.stderr
    assert "proven (" in done.stderr and done.returncode == 0


@pytest.mark.skipif("SWAP" not in dis.opmap, reason="written for 3.11 and later")
def test_a_module_with_names_of_depyfs_is_not_called_different(tmp_path):
    code = compile("a, b = x\n", "m.py", "exec")
    at = next(i.offset for i in dis.get_instructions(code) if i.opname == "STORE_NAME")
    swap = bytes([dis.opmap["SWAP"], 2])
    code = replace(code, co_code=code.co_code[:at] + swap + code.co_code[at:])
    data = marshal.dumps(code)
    done = run(tmp_path, "decompile", "--format", "json", write(tmp_path / "a.pyc", data))
    told = json.loads(done.stdout)
    assert "__temp_0" in told["source"]
    assert told["check"]["verdict"] == "unproven", done.stdout


TUPLES = 10  # CPython itself looks at each element of the constants that it makes code of


def live_shared_code():
    """Code that holds the same code twice, and so on, and a tuple of such a shape."""
    code = replace(function_in("def b(): return x"), co_consts=(nested(TUPLES, "text"),))
    for _ in range(DEPTH):
        code = replace(code, co_consts=(code, code))
    return code


def test_names_in_shared_live_objects_are_changed_once():
    code = live_shared_code()
    changed = with_names(code, {"text": "words", "x": "y"})
    for _ in range(DEPTH):
        assert changed.co_consts[0] is changed.co_consts[1]
        changed = changed.co_consts[0]
    assert changed.co_names == ("y",)
    found = changed.co_consts[0]
    for _ in range(TUPLES):
        assert found[0] is found[1]
        found = found[0]
    assert found == ("words",)


def test_cells_of_shared_live_code_are_found_once():
    assert _cells(live_shared_code()) == set()
