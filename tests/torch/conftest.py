"""What the tests of depyf.torch share: fresh processes with cold caches, and a torch without
leftovers.
"""

import gc
import os

import pytest
import warm
from processes import environment

torch = pytest.importorskip("torch")

HERE = os.path.dirname(os.path.abspath(__file__))


def pytest_collection_modifyitems(items):
    from releases import mark_later

    mark_later([item for item in items if str(item.fspath).startswith(HERE)])


@pytest.fixture(scope="session", autouse=True)
def frozen():
    """What all tests share is none that a collection of garbage is to look through."""
    warm.measure_guards_cheaply()
    gc.collect()
    gc.freeze()


@pytest.fixture
def as_torch_is(monkeypatch):
    """Without what makes the other tests quick: torch changes filters of warnings for moments,
    which a thread meets more often where guards are measured and garbage is collected in no time.
    """
    measure = getattr(torch._dynamo.guards, "profile_guard_manager", None)
    if hasattr(measure, "torchs"):
        monkeypatch.setattr(torch._dynamo.guards, "profile_guard_manager", measure.torchs)
    gc.unfreeze()
    yield
    gc.freeze()


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
    """Runs a program text in a process of its own and returns its output; its caches are those of
    this test.

    fresh: the process imports torch itself; otherwise it begins with an imported torch
    """

    def run(text, *arguments, cache=None, check=True, stdin=None, fresh=False, **extra):
        script = tmp_path / "program.py"
        script.write_text(text)
        environ = environment(cache or tmp_path / "cache", **extra)
        done = warm.run([script, *arguments], environ, cwd=tmp_path, input=stdin, fresh=fresh)
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run
