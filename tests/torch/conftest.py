"""What the tests of depyf.torch share: fresh processes with cold caches, and a torch without leftovers."""

import subprocess
import sys

import pytest
from processes import environment

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def run_script(tmp_path):
    """Runs a program text in a fresh process and returns its output; its caches are those of this test."""

    def run(text, *arguments, cache=None, check=True, stdin=None, **extra):
        script = tmp_path / "program.py"
        script.write_text(text)
        done = subprocess.run(
            [sys.executable, str(script)] + [str(argument) for argument in arguments],
            env=environment(cache or tmp_path / "cache", **extra),
            cwd=str(tmp_path),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=1200,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run
