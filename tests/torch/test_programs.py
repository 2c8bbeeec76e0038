"""Everything that Dynamo does to code: each transformed code object is replaced and proven, and
results stay the same.
"""

import random
import warnings

import depyf
import pytest
import torch
from depyf.torch.capture.contexts import note_of_unread
from depyf.torch.fullcode.source import function_text, printed_function
from programs import PROGRAMS, TORCH

#: an older torch may compile less of a program, or nothing
PROGRAMS_ARE_FOR = (2, 13)


def same(one, other):
    """Equal structures: tensors by dtype and value, the rest by type and value."""
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return (
            isinstance(one, torch.Tensor)
            and isinstance(other, torch.Tensor)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and torch.equal(one.detach(), other.detach())
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    return one == other


def run(program):
    torch._dynamo.reset()
    torch.manual_seed(0)
    random.seed(0)

    def compiled(function, **options):
        return torch.compile(function, backend=program.backend, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        return program.run(compiled)


def plainly(program):
    """The result without depyf, and how many code objects torch transformed."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    seen = []
    handle = register_bytecode_hook(lambda code, new_code: seen.append(code.co_name))
    try:
        return run(program), seen
    finally:
        handle.remove()


def same_without_trees(entry):
    """What is told of an entry's code by its lines and its bytecode is what its tree tells."""
    if entry.verdict in ("exact", "equivalent"):
        known = function_text(entry.source, entry.name, entry.name)
        assert printed_function(entry.source, entry.name) == known
    told, entry.replaced, replaced = note_of_unread(entry), False, entry.replaced
    assert note_of_unread(entry) == told
    entry.replaced = replaced


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_program(tmp_path, program):
    if TORCH < program.since:
        pytest.skip("torch %d.%d does not compile this" % TORCH)
    try:
        want, frames = plainly(program)
    except Exception as error:
        if TORCH >= PROGRAMS_ARE_FOR:
            raise
        pytest.skip("plain torch.compile raises %s here" % type(error).__name__)
    if TORCH >= PROGRAMS_ARE_FOR:
        assert len(frames) >= program.frames, frames
    elif program.frames and not frames:
        pytest.skip("torch %d.%d compiles nothing of this" % TORCH)
    with depyf.prepare_debug(str(tmp_path / "dump")) as watched:
        have = run(program)
    entries = [entry for entry in watched.entries() if entry.hooked]
    for entry in entries:
        same_without_trees(entry)
    if TORCH < PROGRAMS_ARE_FOR and not (same(have, want) and len(entries) == len(frames)):
        # torch 2.2 guards less on what it compiles first, so that plain runs of one program differ
        # too
        want, frames = plainly(program)
    assert same(have, want), (have, want)
    assert [problem.message + " " + problem.detail for problem in watched.problems] == []
    assert len(entries) == len(frames)
    for entry in entries:
        assert entry.verdict in ("exact", "equivalent"), entry.name + ": " + entry.detail
        assert entry.replaced, entry.name
        assert entry.code is None or entry.code.co_filename == str(
            tmp_path / "dump" / (entry.name + ".py")
        )
    for file in (tmp_path / "dump").glob("*.py"):
        compile(file.read_text(encoding="utf-8"), str(file), "exec")
