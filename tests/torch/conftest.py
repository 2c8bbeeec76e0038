"""What the tests of depyf.torch share: fresh processes with cold caches, and a torch without leftovers."""

import linecache
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def environment(cache, **extra):
    """The environment of a fresh process that finds the same depyf and has its own caches of torch."""
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    found["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    found.update(extra)
    return found


def function_of(text, name):
    """The function of that name in a text, which has its source: torch up to 2.9 wraps a function that has none."""
    filename = "<text %d of %s>" % (len(linecache.cache), name)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"__name__": "text", "torch": torch}
    exec(compile(text, filename, "exec"), names)
    return names[name]


def guards_tell_their_lines():
    """Whether the torch at hand knows from which line of the user's code the guard on an argument comes; 2.8 does not."""
    import depyf

    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(function_of("def f(x, s):\n    return x * s\n", "f"), backend="eager")(
            torch.ones(2), 2
        )
    (guard,) = [
        one
        for one in run.function("f").entries[0].guards
        if one.text.replace('"', "'") == "L['s'] == 2"
    ]
    return bool(guard.comment or guard.user_stack)


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
