"""What the end of a block costs, counted in calls of Python functions, which a busy machine leaves
as they are.
"""

import sys
from collections import Counter

import depyf
import torch
import toy


def calls_at_the_end(folder):
    """How many Python functions are entered when a block around the toy example ends."""
    torch._dynamo.reset()
    entered = []

    def profile(frame, event, _):
        if event == "call":
            entered.append(frame.f_code.co_name)

    block = depyf.prepare_debug(str(folder))
    block.__enter__()
    try:
        toy.main(torch.compile(toy.toy_example, backend="eager"))
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
