"""Patch releases of one version of CPython may compile a source to other bytecode.

The files of tests/fixtures/patches are those of tests/fixtures/bytecode, compiled by another patch
release (Debian's python3.13 3.13.5, and the free-threaded build of 3.13.15), which calls `iter`
twice where 3.13.0 calls it once.
"""

import glob
import os
import re

import pytest
import pythons
from pythons import native

FIXTURES = os.path.join(pythons.ROOT, "tests", "fixtures")
FILES = sorted(glob.glob(os.path.join(FIXTURES, "patches", "*", "*.pyc")))


def of_the_first_release(path):
    version = os.path.basename(os.path.dirname(path)).rpartition(".")[0]
    return os.path.join(FIXTURES, "bytecode", version, os.path.basename(path))


def number_of(version, name):
    table = os.path.join(
        pythons.ROOT, "src", "opcode", "tables", "py%s.def" % version.replace(".", "")
    )
    with open(table) as file:
        return int(re.search(r"OPCODE\( *(\d+), %s," % name, file.read()).group(1))


def text(path):
    return native("decompile", "--no-check", path).stdout


@pytest.mark.parametrize("path", FILES, ids=os.path.basename)
def test_a_patch_release_gives_the_same_source(path):
    assert text(path) == text(of_the_first_release(path)) != ""


@pytest.mark.parametrize("path", FILES, ids=os.path.basename)
def test_it_is_proven_by_another_patch_release(path):
    pythons.path_of("3.13")
    done = native("decompile", path)
    assert done.returncode == 0 and "not proven" not in done.stderr, done.stderr
    done = native("compare", of_the_first_release(path), path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_proof_says_what_it_ignores():
    (path,) = [one for one in FILES if os.path.basename(one) == "core.pyc"]
    assert "a second call of `iter` in comprehensions" in (
        native("compare", of_the_first_release(path), path).stdout
    )


def test_a_comprehension_has_its_own_cell_beside_a_type_parameter(tmp_path):
    """LOAD_FAST_AND_CLEAR of the one variable, MAKE_CELL of the other: no cell is another program."""
    (path,) = [one for one in FILES if os.path.basename(one) == "scopes.pyc"]
    with open(of_the_first_release(path), "rb") as file:
        data = file.read()
    clear, make, nop = (
        number_of("3.13", name) for name in ("LOAD_FAST_AND_CLEAR", "MAKE_CELL", "NOP")
    )
    before, after = bytes([clear, 0, make, 1]), bytes([clear, 0, nop, 0])
    assert before in data
    changed = tmp_path / "scopes.pyc"
    changed.write_bytes(data.replace(before, after, 1))
    done = native("compare", str(changed), path)
    assert done.returncode == 3 and done.stdout.startswith("unproven"), done.stdout + done.stderr
