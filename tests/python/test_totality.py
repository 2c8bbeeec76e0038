"""Code that no compiler writes becomes source that compiles and does the same, under each
interpreter found here.

The long form: tests/oracle/total_run.py DEPYF graph 100000 (and `source 10000 0 5`) and
ordinary_run.py DEPYF function 4000 under each interpreter.
"""

import os
import py_compile
import random
import subprocess
import sys
import textwrap

import depyf
import pytest
from pythons import ROOT, VERSIONS, native, path_of

from tests.forms import LONG
from tests.interpreters import native_command

sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from obfuscate import Obfuscator  # noqa: E402


def run(version, *arguments, runner="total_run.py"):
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    done = subprocess.run(
        [
            path_of(version),
            "-I",
            "-W",
            "ignore",
            os.path.join(ROOT, "tests", "oracle", runner),
            command,
        ]
        + [str(a) for a in arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_random_graphs(version):
    out = run(version, "graph", 150, 0)
    # Some of them have no plain structure: the ladder was climbed.
    assert "ladder L5" in out


@pytest.mark.parametrize("version", VERSIONS)
def test_graph_whose_break_hid_statements(version):
    run(version, "graph", 1, 8400550)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_junk_is_seen_through(version):
    run(version, "junk", 150, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_obfuscated_programs_are_seen_through(version):
    run(version, "obfuscated", 60, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_source(version):
    run(version, "source", 300 if LONG else 120, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_source_through_the_dispatch_loop(version):
    assert "ladder L5" in run(version, "source", 100, 0, 5)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_source_rebuilt_from_bytes(version):
    assert "ladder L6" in run(version, "source", 60, 0, 6)


@pytest.mark.parametrize(
    "kind", ["function", "class", "module", "small", "ends", "cleanups", "rare"]
)
@pytest.mark.parametrize("version", VERSIONS)
def test_random_ordinary_code(version, kind):
    count = (
        (400 if LONG else 160) if kind in ("small", "ends", "cleanups") else (100 if LONG else 40)
    )
    run(version, kind, count, 0, runner="ordinary_run.py")


@pytest.mark.parametrize("version", VERSIONS)
def test_kept_functions(version):
    run(version, "kept")


def nested_finally(depth):
    lines = [" " * i + line for i in range(depth) for line in ("try: a()", "finally:")]
    return "\n".join(lines) + "\n" + " " * depth + "a()\n"


FINALLY = textwrap.indent(nested_finally(14), " ")
STAR = "try:\n q\nexcept* q and 9223372036854775807:\n pass\n"
#: Versions, and code that has no form of its own above its bytes. From 3.9 on it is the compiler
#: that copies `finally` bodies, and no such code is written.
BYTES_ALONE = {
    "finally_bodies": ((7, 8), "def f(a):\n" + FINALLY),
    "finally_bodies_in_class": (
        (7, 8),
        "def f(a):\n class C(a):\n" + textwrap.indent(FINALLY, " "),
    ),
    "generic_class": ((12, 15), "class x[T: int]:\n y: T = 1\n" + textwrap.indent(STAR, " ")),
    "generic_class_in_function": (
        (12, 15),
        "def f(q):\n class x[T: int]:\n  y = T\n" + textwrap.indent(STAR, "  "),
    ),
    "class_in_generic_class": (
        (12, 15),
        "class F[T]:\n class x(T):\n  y: T = 1\n" + textwrap.indent(STAR, "  "),
    ),
    "conditional_annotations": (
        (14, 15),
        "class F:\n class x:\n" + textwrap.indent(STAR.replace(" q\n", " w.p: q\n", 1), "  "),
    ),
}


@pytest.mark.parametrize("name", BYTES_ALONE)
@pytest.mark.parametrize("version", VERSIONS)
def test_valid_code_is_never_left_out(version, name, tmp_path):
    (first, last), source = BYTES_ALONE[name]
    if not first <= int(version.split(".")[1]) <= last:
        pytest.skip("another version's code")
    program = (
        "import importlib.util, marshal, sys; sys.stdout.buffer.write(importlib.util.MAGIC_NUMBER"
        " + bytes(12) + marshal.dumps(compile(sys.argv[1], 'm', 'exec')))"
    )
    (tmp_path / "m.pyc").write_bytes(
        subprocess.check_output([path_of(version), "-c", program, source])
    )
    done = native("decompile", str(tmp_path / "m.pyc"), env={"DEPYF_PYTHONS": path_of(version)})
    assert "not decompiled" not in done.stderr, done.stderr
    assert done.returncode == 0 or "<module>: ladder L6" in done.stderr, done.stderr


def test_a_definition_that_lies_too_deep_leaves_its_neighbours_alone(tmp_path):
    deep = "".join(" " * i + "def f%d():\n" % i for i in range(98)) + " " * 98 + "return 1\n"
    beside = (
        "def plain(a):\n"
        + "".join("    " * i + "for x%d in a:\n" % i for i in range(1, 12))
        + "    " * 12
        + "print(x1, x11)\n"
    )
    (tmp_path / "m.py").write_text(beside + "\n\n" + deep)
    py_compile.compile(str(tmp_path / "m.py"), cfile=str(tmp_path / "m.pyc"), doraise=True)
    done = native("decompile", "--no-check", str(tmp_path / "m.pyc"))
    assert done.stdout.startswith(beside), done.stdout[:2000]
    compile(done.stdout, "m.py", "exec")


def test_another_reading_than_the_first_is_a_note():
    def chosen(x):
        for y in x:
            if y:
                g(y)  # noqa: F821
            else:
                h(y)  # noqa: F821

    assert depyf.decompile(chosen.__code__).diagnostics == []
    for seed in range(6):  # strings and numbers that are compared are among them
        code = Obfuscator(random.Random(seed), chosen.__code__, 0.5).run()
        text = depyf.decompile(code)
        [(kind, name, _, message)] = text.diagnostics
        assert (kind, message) == ("note", "read with all hints, straightened")
        assert name.endswith("chosen") and text.proven, (seed, text)
        assert "while" not in text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_module_whose_statements_no_source_holds_is_bytes(version, tmp_path):
    """Tools that write trees can import from a module without a name, which has no syntax."""
    program = (
        "import ast, importlib.util, marshal, sys\n"
        "tree = ast.parse('from os import path\\nf(path)')\n"
        "tree.body[0].module = ''\n"
        "code = marshal.dumps(compile(tree, 'm', 'exec'))\n"
        "sys.stdout.buffer.write(importlib.util.MAGIC_NUMBER + bytes(12) + code)"
    )
    written = subprocess.check_output([path_of(version), "-c", program])
    (tmp_path / "m.pyc").write_bytes(written)
    done = native("decompile", str(tmp_path / "m.pyc"), env={"DEPYF_PYTHONS": path_of(version)})
    compile(done.stdout, "m.py", "exec")
    assert done.returncode == 1 and "<module>: ladder L6" in done.stderr, done.stderr
