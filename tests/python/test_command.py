"""`depyf` and `python -m depyf`: the wheel's door to the core's command."""

import os
import py_compile
import subprocess
import sys

import pytest


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "depyf", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


@pytest.fixture
def pyc(tmp_path):
    source = tmp_path / "mod.py"
    source.write_text("def f(a, b):\n    return a + b\n\n\nprint(f(1, 2))\n")
    return py_compile.compile(str(source), cfile=str(tmp_path / "mod.pyc"), doraise=True)


def test_decompile_prints_the_source(pyc):
    done = run("decompile", pyc)
    assert done.returncode == 0, done.stderr
    assert "def f(a, b):\n    return a + b\n" in done.stdout
    assert "print(f(1, 2))" in done.stdout


def test_dis_names_operations(pyc):
    done = run("dis", pyc)
    assert done.returncode == 0, done.stderr
    assert "LOAD_CONST" in done.stdout


def test_compare_tells_files_apart(pyc, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("def f(a, b):\n    return b + a\n\n\nprint(f(1, 2))\n")
    other_pyc = py_compile.compile(str(other), cfile=str(tmp_path / "other.pyc"), doraise=True)
    assert run("compare", pyc, pyc).returncode == 0
    different = run("compare", pyc, other_pyc)
    assert different.returncode == 1
    assert "different" in different.stdout


def test_wrong_input_is_exit_code_2(tmp_path):
    bad = tmp_path / "bad.pyc"
    bad.write_bytes(b"not a pyc")
    for arguments in (["decompile", str(bad)], ["decompile", str(tmp_path / "missing")], ["nope"]):
        done = run(*arguments)
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.strip()
        assert "Traceback" not in done.stderr


def test_console_script_is_installed():
    script = os.path.join(os.path.dirname(sys.executable), "depyf")
    if not os.path.exists(script):
        pytest.skip("depyf is not installed into this interpreter's environment")
    done = subprocess.run([script, "--help"], stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0 and "decompile" in done.stdout
