"""Most functions of a library come back as they were written, statement by statement."""

import os
import re
import subprocess

import pytest

from tests.interpreters import interpreters, native_command

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

COMMAND = native_command()
# In percent, some points below what bench/readability.py shows.
LEAST = {9: 80, 10: 80, 11: 90, 12: 90, 13: 90, 14: 90, 15: 90}


@pytest.mark.skipif(COMMAND is None, reason="needs the native program depyf (DEPYF_BUILD_DIR)")
@pytest.mark.parametrize("minor", sorted(LEAST), ids=["3.%d" % minor for minor in sorted(LEAST)])
def test_functions_have_the_tree_of_their_source(minor):
    python = interpreters().get(minor)
    if python is None:
        pytest.skip("no CPython 3.%d found (DEPYF_PYTHONS, PATH and PYENV_ROOT are looked at)" % minor)
    made = subprocess.run(
        [python, os.path.join(ROOT, "bench", "readability.py"), "--depyf", COMMAND, "--files", "25"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )
    assert made.returncode == 0, made.stderr
    share = re.search(r"of their source \(([\d.]+) %\)", made.stdout)
    assert share and float(share.group(1)) >= LEAST[minor], made.stdout
