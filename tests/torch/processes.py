"""Fresh processes with cold caches, and functions made from texts, for the tests of depyf.torch.

A module of its own and no part of conftest.py: several folders of tests have a `conftest`, and
which of them `import conftest` finds depends on the folders that a run names.
"""

import linecache
import os
import sys

import pytest

torch = pytest.importorskip("torch")


def environment(cache, **extra):
    """The environment of a fresh process that finds the same depyf and has its own caches of torch."""
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    found["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    found.update(extra)
    return found


def function_of(text, name):
    """The function of that name in a text, which has its source: torch up to 2.9 wraps a function
    that has none.
    """
    filename = "<text %d of %s>" % (len(linecache.cache), name)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"__name__": "text", "torch": torch}
    exec(compile(text, filename, "exec"), names)
    return names[name]


def guards_tell_their_lines():
    """Whether the torch at hand knows from which line of the user's code the guard on an argument
    comes; 2.8 does not.
    """
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


def named_regions():
    """The names of compiled code that torch's own profiler tells."""
    function = torch.compile(lambda x: x + 1, backend="eager")
    function(torch.ones(3))
    with torch.profiler.profile() as profiler:
        function(torch.ones(3))
    names = {event.name for event in profiler.events()}
    return [name for name in names if name.startswith("Torch-Compiled Region: ")]
