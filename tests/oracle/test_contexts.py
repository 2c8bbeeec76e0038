"""Each construct in each context is plain and proven: contexts_run.py, which has the explanation,
at depth 1.
"""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import interpreters, native_command  # noqa: E402


@pytest.mark.parametrize("minor", sorted(interpreters()))
def test_constructs_in_contexts(minor):
    if native_command() is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    done = subprocess.run(
        [interpreters()[minor], os.path.join(HERE, "contexts_run.py"), native_command()],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
