"""`depyf` and `python -m depyf`: the wheel's door to the core's command."""

import json
import os
import py_compile
import shutil
import subprocess
import sys
import zipfile

import pytest


def run(*arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "depyf", *arguments],
        env=env,
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


def test_modules_by_name_are_found_and_not_imported(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "inner.py").write_text("print('imported too')\nVALUE = 7\n")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = run("decompile", "-m", "pack.inner", env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "print('imported too')\nVALUE = 7\n"
    assert not (package / "__pycache__").exists()
    for name in ("pack.missing", "missing", "sys"):
        done = run("decompile", "-m", name, env=environment)
        assert done.returncode == 2 and name in done.stderr, done


def test_zip_files_are_folders(pyc, tmp_path):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "pack/__pycache__/mod.cpython-39.pyc", zipfile.ZIP_STORED)
        file.write(pyc, "other.pyc", zipfile.ZIP_STORED)
        file.write(pyc, "../outside.pyc", zipfile.ZIP_STORED)
        file.writestr("readme.txt", "no bytecode")
    done = run("decompile", str(archive), "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    found = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*"))
    assert found == [os.path.join("other.py"), os.path.join("pack", "mod.py")]
    assert not (tmp_path / "outside.py").exists()
    data = archive.read_bytes()
    for cut in (30, 60, len(data) // 2, len(data) - 30):
        bad = tmp_path / "cut.zip"
        bad.write_bytes(data[:cut] + data[-22:])
        done = run("decompile", str(bad), "-o", str(tmp_path / "again"))
        assert done.returncode in (1, 2) and "cut.zip" in done.stderr and "Traceback" not in done.stderr, done


def test_deflated_members(pyc, tmp_path):
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "mod.pyc", zipfile.ZIP_DEFLATED)
    archive.write_bytes(b"#!/usr/bin/env python3\n" + archive.read_bytes())
    done = run("decompile", str(archive))
    assert (done.returncode == 0 and "return a + b" in done.stdout) or "zlib" in done.stderr, done


def test_check_compiles_and_compares(pyc, tmp_path):
    environment = dict(os.environ, DEPYF_PYTHONS=sys.executable)
    done = run("decompile", "--check", pyc, env=environment)
    assert done.returncode == 0
    assert "mod.pyc: identical" in done.stderr or "mod.pyc: exact" in done.stderr
    done = run("decompile", "--check", "--format", "json", pyc, env=environment)
    assert json.loads(done.stdout)["check"]["verdict"] in ("identical", "exact")
    done = run("decompile", "--check", pyc, env=dict(os.environ, DEPYF_PYTHONS="", PATH="", PYENV_ROOT=str(tmp_path)))
    assert done.returncode == 0 and "not checked: no python" in done.stderr, done


def test_json_holds_source_lines_and_diagnostics(pyc):
    result = json.loads(run("decompile", "--format", "json", pyc).stdout)
    lines = result["source"].splitlines()
    row = next(row for row in result["lines"] if row["code"] == "f")
    assert lines[row["line"] - 1].strip() == "return a + b" or lines[row["line"] - 1].startswith("def f")
    assert row["offsets"] and row["original_line"] in (1, 2)
    assert result["diagnostics"] == []


def test_dump_formats(pyc):
    rows = [json.loads(line) for line in run("dump", "--stage", "flow", "--format", "json", pyc).stdout.splitlines()]
    assert sorted(row["code"] for row in rows) == ["<module>", "f"]
    assert all(row["stage"] == "flow" and row["blocks"] for row in rows)
    dot = run("dump", "--stage", "lift", "--format", "dot", "--code", "f", pyc).stdout
    assert dot.startswith('digraph "f" {') and dot.rstrip().endswith("}")
    assert run("dump", "--stage", "print", "--format", "dot", pyc).returncode == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(shell):
    script = run("completion", shell).stdout
    assert all(command in script for command in ("decompile", "dis", "dump", "compare"))
    if shutil.which(shell):
        assert subprocess.run([shutil.which(shell), "-n"], input=script.encode()).returncode == 0
    assert run("completion", "tcsh").returncode == 2


def test_no_colours_where_there_is_no_terminal(pyc):
    done = run("decompile", "--check", pyc, env=dict(os.environ, DEPYF_PYTHONS=sys.executable))
    assert "\x1b" not in done.stdout + done.stderr
