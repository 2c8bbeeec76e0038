"""The generated opcode tables and the compiled fixtures are what each interpreter found here gives."""

import os
import subprocess
import sys

import pytest
from pythons import ROOT, VERSIONS, found

GENERATOR = os.path.join(ROOT, "scripts", "generate_opcode_tables")
TABLES = os.path.join(ROOT, "src", "opcode", "tables")
FIXTURES = os.path.join(ROOT, "tests", "fixtures", "bytecode")


FOUND = found()


@pytest.mark.parametrize("version", VERSIONS)
def test_table_is_committed(version):
    with open(os.path.join(TABLES, "py%s.def" % version.replace(".", ""))) as file:
        text = file.read()
    assert "under CPython %s." % version in text.splitlines()[0]
    assert "OPCODE(" in text


@pytest.mark.parametrize("version", VERSIONS)
def test_table_is_fresh(version):
    if version not in FOUND:
        pytest.skip("no interpreter of %s found (PATH, PYENV_ROOT, DEPYF_PYTHONS)" % version)
    made = subprocess.check_output([FOUND[version], "-I", GENERATOR, "--print-table"]).decode()
    with open(os.path.join(TABLES, "py%s.def" % version.replace(".", ""))) as file:
        assert file.read() == made, "run scripts/generate_opcode_tables"


@pytest.mark.parametrize("version", VERSIONS)
def test_fixtures_are_there(version):
    minor = int(version.split(".")[1])
    for name in os.listdir(FIXTURES):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(FIXTURES, name), encoding="utf-8") as file:
            first = file.readline()
        needs = int(first.split(".")[1]) if first.startswith("# needs 3.") else 7
        assert os.path.exists(os.path.join(FIXTURES, version, name + "c")) == (minor >= needs), name


@pytest.mark.parametrize("version", VERSIONS)
def test_fixtures_are_of_their_source(version):
    """Other patch releases may compile differently in detail, so only the names and constants of
    the code objects are compared.
    """
    if version not in FOUND:
        pytest.skip("no interpreter of %s found (PATH, PYENV_ROOT, DEPYF_PYTHONS)" % version)
    program = """
import marshal, os, sys
folder, version = sys.argv[1:]
def names(code):
    return [code.co_name, code.co_names, code.co_varnames, [names(c) for c in code.co_consts if hasattr(c, "co_code")]]
for name in sorted(os.listdir(os.path.join(folder, version))):
    with open(os.path.join(folder, version, name), "rb") as file:
        committed = marshal.loads(file.read()[16:])
    with open(os.path.join(folder, name[:-1]), "rb") as file:
        text = file.read()
    mode = "single" if text.startswith(b"# mode single") else "exec"
    compiled = compile(text, name[:-1], mode, dont_inherit=True)
    assert names(committed) == names(compiled), name
"""
    subprocess.check_call([FOUND[version], "-I", "-W", "ignore", "-c", program, FIXTURES, version])


def test_changed_table_is_noticed(tmp_path):
    """The check can fail: a copy with one changed row is reported."""
    if not FOUND:
        pytest.skip("no interpreter found")
    version = sorted(FOUND)[0]
    folder = tmp_path / "scripts"
    folder.mkdir()
    with open(GENERATOR) as file:
        (folder / "generate_opcode_tables").write_text(file.read())
    tables = tmp_path / "src" / "opcode" / "tables"
    tables.mkdir(parents=True)
    with open(os.path.join(TABLES, "py%s.def" % version.replace(".", ""))) as file:
        (tables / ("py%s.def" % version.replace(".", ""))).write_text(
            file.read().replace("POP_TOP", "POP_TIP")
        )
    run = subprocess.run(
        [sys.executable, str(folder / "generate_opcode_tables"), "--check", FOUND[version]],
        stdout=subprocess.PIPE,
    )
    assert run.returncode == 1
    assert ("%s: differs" % version) in run.stdout.decode()
