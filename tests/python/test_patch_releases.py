"""Patch releases of one version of CPython may compile a source to other bytecode.

The files of tests/fixtures/patches are those of tests/fixtures/bytecode, compiled by another patch
release (the free-threaded build of Debian's python3.13 3.13.15), which calls `iter` twice where
3.13.0 calls it once.
"""

import glob
import os

import pytest
import pythons
from pythons import native

FIXTURES = os.path.join(pythons.ROOT, "tests", "fixtures")
FILES = sorted(glob.glob(os.path.join(FIXTURES, "patches", "*", "*.pyc")))


def of_the_first_release(path):
    version = os.path.basename(os.path.dirname(path)).rpartition(".")[0]
    return os.path.join(FIXTURES, "bytecode", version, os.path.basename(path))


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
