"""Frames that torch fills by position: functions with many locals, cells and each kind of argument,
under a checking allocator.
"""

import pytest

PROGRAM = """
import gc
import linecache
import os
import sys

import depyf
import torch
import torch._dynamo

torch._dynamo.config.cache_size_limit = 64


def function(text, name="f"):
    filename = "<text %d>" % len(linecache.cache)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"__name__": "text", "torch": torch}
    exec(compile(text, filename, "exec"), names)
    return names[name]


BREAK = "torch._dynamo.graph_break()"


def locals_text(count, parameters="x"):
    lines = ["def f(%s):" % parameters, "    y = x + 1", "    " + BREAK]
    if "args" in parameters:
        lines.append("    y = y + args[0] + len(kwargs)")
    lines += ["    a%d = y * %d" % (i, i + 1) for i in range(count)]
    lines.append("    return %s" % ("a%d.sum() + a0" % (count - 1) if count else "y.sum()"))
    return "\\n".join(lines) + "\\n"


def cells_text(count):
    lines = ["def f(x, k):", "    y = x + 1"]
    lines += ["    c%d = y * %d" % (i, i) for i in range(count)]
    lines += ["    def inner(z):", "        return z * k" + "".join(" + c%d" % i for i in range(count))]
    lines += ["    " + BREAK]
    lines += ["    a%d = inner(y) + %d" % (i, i) for i in range(count + 1)]
    lines += ["    return a%d.sum() + k" % count]
    return "\\n".join(lines) + "\\n"


def closure_text(count):
    head = ", ".join("b%d=%d" % (i, i) for i in range(count))
    lines = ["def outer(%s):" % head, "    def f(x):", "        y = x + 1", "        " + BREAK]
    lines += ["        a%d = y + b%d" % (i, i) for i in range(count)]
    lines += ["        return a%d.sum()" % (count - 1), "    return f", "f = outer()"]
    return "\\n".join(lines) + "\\n"


one = torch.ones(3)
CASES = [(locals_text(count), (one,), {}) for count in (0, 1, 16, 32, 300)]
CASES += [(cells_text(count), (one, 3), {}) for count in (0, 1, 16, 32)]
CASES += [(closure_text(count), (one,), {}) for count in (1, 16, 32)]
CASES += [
    (locals_text(32, "x, /, y=2"), (one,), {}),
    (locals_text(32, "*, x, k=1"), (), {"x": one}),
    (locals_text(16, "x, *args, k, **kwargs"), (one, 4), {"k": 2, "other": 5}),
    (locals_text(32, "w, /, x, *args, k=3, **kwargs"), (1, one, 5), {"k": 2, "q": 1}),
]
if not os.environ.get("DEPYF_TEST_LONG"):
    CASES = CASES[::2]
plain, replaced = [], []
for text, arguments, keywords in CASES:
    torch._dynamo.reset()
    plain.append(torch.compile(function(text), backend="eager")(*arguments, **keywords))
with depyf.prepare_debug("dump") as run:
    for text, arguments, keywords in CASES:
        torch._dynamo.reset()
        compiled = torch.compile(function(text), backend="eager")
        for _ in range(5):
            result = compiled(*arguments, **keywords)
        replaced.append(result)
        gc.collect()
for case, one, other in zip(CASES, plain, replaced):
    assert torch.equal(one, other), case[0]
entries = [entry for found in run.functions for entry in found.entries]
for entry in entries:
    assert "another frame" not in entry.detail, (entry.name, entry.detail)
print("replaced", sum(entry.replaced for entry in entries), "of", len(entries))
"""


@pytest.mark.parametrize("allocator", ["debug"])
def test_torch_fills_the_frames_of_replaced_code(run_script, allocator):
    found = run_script(PROGRAM, PYTHONMALLOC=allocator)
    replaced, total = map(int, found.stdout.split("replaced ")[1].split(" of "))
    assert replaced == total
