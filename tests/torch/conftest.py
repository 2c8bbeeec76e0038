"""What the tests of depyf.torch share: fresh processes with cold caches, and a torch without leftovers."""

import subprocess
import sys

import pytest
from processes import environment

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """A Dynamo without compiled code, and with its settings as they are for the next test."""
    torch._dynamo.reset()
    config = torch._dynamo.config
    settings = getattr(config, "get_config_copy", config.shallow_copy_dict)
    before = settings()
    yield
    after = settings()
    for name, value in before.items():
        if after[name] != value:
            setattr(config, name, value)
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
