"""Random programs with breaks inside everything: equal results, equal frames, all replaced (`drawn.py`)."""

import linecache
import os
import random

import depyf
import pytest
import torch
from drawn import text_of
from programs import TORCH

#: an older torch raises errors of its own in some of these programs
ARE_FOR = (2, 13)
COUNT = int(os.environ.get("DEPYF_DRAWN_PROGRAMS", "3"))
SEED = int(os.environ.get("DEPYF_DRAWN_SEED", random.SystemRandom().randrange(10**6)))


def outcome(text, name):
    """What the program does for three numbers, and which frames torch transformed."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    torch._dynamo.reset()
    filename = "<drawn %s>" % name
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"__name__": "drawn"}
    exec(compile(text, filename, "exec"), names)
    found, frames = [], []
    handle = register_bytecode_hook(lambda code, new_code: frames.append(code.co_name))
    try:
        function = torch.compile(names["f"], backend="eager")
        for n in (1, 2, 3):
            log = []
            try:
                result = function(torch.arange(1.0, 4.0), n, log)
            except Exception as error:
                result = type(error).__name__, str(error)[:60]
            found.append((repr(result), log))
    finally:
        handle.remove()
    return found, frames


@pytest.mark.parametrize("number", range(COUNT))
def test_drawn_program(tmp_path, number):
    seed = SEED + number
    text = text_of(seed)
    print("python tests/torch/drawn.py %d" % seed)
    plain = outcome(text, seed)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        replaced = outcome(text, seed)
    assert replaced[0] == plain[0]
    if TORCH >= ARE_FOR:
        assert replaced[1] == plain[1]
    for entry in run.entries():
        if entry.hooked:
            assert entry.replaced, (entry.name, entry.verdict, entry.detail, entry.source)
