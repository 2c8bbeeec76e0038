"""CPython's own tests of the language pass as decompiled (own_tests_run.py, in short)."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import interpreters, native_command  # noqa: E402

MODULES = ["test_scope", "test_generators", "test_listcomps", "test_extcall", "test_except_star"]


@pytest.mark.parametrize("minor", [8, 12, 14], ids=["3.8", "3.12", "3.14"])
def test_tests_of_the_language_pass_as_decompiled(minor):
    python = interpreters().get(minor)
    if python is None or native_command() is None:
        pytest.skip("no CPython 3.%d, or no depyf program" % minor)
    if subprocess.run(
        [python, "-c", "import test.test_scope"], stderr=subprocess.DEVNULL
    ).returncode:
        pytest.skip("this CPython has no tests")
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "own_tests_run.py"), native_command(), python]
        + MODULES,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stdout
