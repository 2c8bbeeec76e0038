"""What the end of a block costs, counted in calls of Python functions, which a busy machine leaves
as they are.
"""

import linecache
import sys
from collections import Counter

import depyf
import torch
import toy
from programs import TORCH


def of_toy():
    """The toy example, compiled."""
    toy.main(torch.compile(toy.toy_example, backend="eager"))


def of_many_files():
    """Twenty functions with a graph break each, each in a file of its own."""
    for i in range(20):
        name = "<one of many %d>" % i
        lines = [
            "def f(x):\n",
            "    if x.sum() > %d:\n" % i,
            "        x = x + 1\n",
            "    return x\n",
        ]
        linecache.cache[name] = (1, None, lines, name)
        scope = {}
        exec(compile("".join(lines), name, "exec"), scope)
        torch.compile(scope["f"], backend="eager")(torch.ones(3))


def calls_at_the_end(folder, run=of_toy):
    """The Python functions that are entered when a block around `run` ends."""
    torch._dynamo.reset()
    entered = []

    def profile(frame, event, _):
        if event == "call":
            entered.append(frame.f_code.co_name)

    block = depyf.prepare_debug(str(folder))
    block.__enter__()
    try:
        run()
    finally:
        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            block.__exit__(None, None, None)
        finally:
            sys.setprofile(before)
    return entered


def test_the_end_of_a_block_enters_few_functions(tmp_path):
    calls_at_the_end(tmp_path / "first")  # what a process loads and compiles once
    entered = calls_at_the_end(tmp_path / "second")
    assert len(entered) < 17000, Counter(entered).most_common(8)


def test_each_source_is_parsed_once(tmp_path):
    entered = Counter(calls_at_the_end(tmp_path, of_many_files))
    # what an earlier torch tells of a line is parsed in a second form, since the first is no code
    most = 50 if TORCH >= (2, 13) else 70
    assert entered["of_break"] == 20 and entered["places_of"] < most, entered.most_common(8)
