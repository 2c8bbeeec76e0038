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

import depyf
import pytest
from pythons import ROOT, VERSIONS, path_of

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


@pytest.mark.parametrize("kind", ["function", "class", "module", "small", "ends"])
@pytest.mark.parametrize("version", VERSIONS)
def test_random_ordinary_code(version, kind):
    count = (400 if LONG else 160) if kind in ("small", "ends") else (100 if LONG else 40)
    run(version, kind, count, 0, runner="ordinary_run.py")


@pytest.mark.parametrize("version", VERSIONS)
def test_kept_functions(version):
    run(version, "kept")


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
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    done = subprocess.run(
        [command, "decompile", "--no-check", str(tmp_path / "m.pyc")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
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
