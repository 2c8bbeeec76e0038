"""Random programs with breaks inside everything: equal results, equal frames, all replaced
(`drawn.py`).
"""

import gc
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
LIVES_COUNT = int(os.environ.get("DEPYF_DRAWN_LIVES", "1"))
LOOPS_COUNT = int(os.environ.get("DEPYF_DRAWN_LOOPS", "2"))
#: of this number and the next one, torch's stack holds values over a test
FIRST_LOOP = 125
#: the same programs each time, or those of a number, or others each time: "random"
SEED = os.environ.get("DEPYF_DRAWN_SEED", "0")
SEED = random.SystemRandom().randrange(10**6) if SEED == "random" else int(SEED)


def outcome(text, name):
    """What the program does for three numbers, which frames torch transformed, and what it told of
    lives.
    """
    from torch._dynamo.convert_frame import register_bytecode_hook

    torch._dynamo.reset()
    filename = "<drawn %s>" % name
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"__name__": "drawn"}
    exec(compile(text, filename, "exec"), names)
    found, frames, lives = [], [], names.get("LIVES", [])
    handle = register_bytecode_hook(lambda code, new_code: frames.append(code.co_name))
    try:
        function = torch.compile(names["f"], backend="eager")
        for n in (1, 2, 3):
            log = []
            lives.append("call %d" % n)
            try:
                result = function(torch.arange(1.0, 4.0), n, log)
            except Exception as error:
                result = type(error).__name__, str(error)[:60]
            lives.append("returned")
            found.append((repr(result), log))
            del result
    finally:
        handle.remove()
    return found, frames, list(lives)


def deaths(lives):
    """What was told of lives without numbers of references; what ends at one moment is sorted."""
    found, ends = [], []
    for one in lives + [""]:
        if one[0:4] == "end ":
            ends.append(one)
        else:
            found += sorted(ends) + [one if isinstance(one, str) else one[:2]]
            ends = []
    return found


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
    all_replaced(run)


@pytest.mark.skipif(TORCH < ARE_FOR, reason="an older torch keeps some values itself")
@pytest.mark.parametrize("number", range(LOOPS_COUNT))
def test_drawn_loop(tmp_path, number):
    seed = SEED + FIRST_LOOP + number
    text = text_of(seed, loops=True)
    print("python tests/torch/drawn.py %d loops" % seed)
    plain = outcome(text, seed)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        replaced = outcome(text, seed)
    assert replaced == plain
    all_replaced(run)


def all_replaced(run):
    for entry in run.entries():
        if entry.hooked:
            assert entry.replaced, (entry.name, entry.verdict, entry.detail, entry.source)


@pytest.mark.skipif(TORCH < ARE_FOR, reason="an older torch keeps some values itself")
@pytest.mark.parametrize("number", range(LIVES_COUNT))
def test_values_of_a_drawn_program_die_at_their_places(tmp_path, number):
    seed = SEED + number
    text = text_of(seed, lives=True)
    print("python tests/torch/drawn.py %d lives" % seed)
    gc.collect()
    gc.freeze()  # the program collects at its places, which takes long with all of torch's objects
    gc.disable()
    try:
        plain = outcome(text, seed)
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            replaced = outcome(text, seed)
        if deaths(replaced[2]) != deaths(plain[2]):
            plain = outcome(text, seed)  # what another program left behind ended in the first
    finally:
        gc.enable()
        gc.unfreeze()
    assert replaced[0] == plain[0]
    all_replaced(run)
    assert deaths(replaced[2]) == deaths(plain[2])
