"""Random programs whose dumps say what ran: a short form of scripts/ran (`ran.py`)."""

import os
import random

import pytest

pytest.importorskip("torch")

from programs import TORCH  # noqa: E402
from ran import check, rows_of, run, wrong_in  # noqa: E402

COUNT = int(os.environ.get("DEPYF_RAN_PROGRAMS", "6"))
#: the same programs each time, or those of a number, or others each time: "random"
SEED = os.environ.get("DEPYF_RAN_SEED", "1020")
SEED = random.SystemRandom().randrange(10**6) if SEED == "random" else int(SEED)


@pytest.mark.skipif(TORCH < (2, 13), reason="how older torch cuts a graph is another")
@pytest.mark.parametrize("number", range(COUNT))
def test_what_a_dump_says_of_a_run_happened(number, tmp_path):
    print("python tests/torch/ran.py %d all" % (SEED + number))
    assert check(SEED + number, str(tmp_path)) == []


def test_a_row_over_two_lines_is_one():
    readme = "## What runs\n\n```text\nf 0/0 → graph\n    → ▷ g\n  ▷ h 1/0 → graph\n```\n"
    assert rows_of(readme) == [(0, "f 0/0 → graph → ▷ g"), (1, "▷ h 1/0 → graph")]


_WRONG = (
    ("· not called", "· plain Python"),
    ("· plain Python", "· not called"),
    ("constants under this entry's guards: n is 3", "constants under this entry's guards: n is 4"),
    ("constants under this entry's guards: n is 3", "nothing of what a guard asks"),
)
_PROGRAM = """
import torch

@torch.compile(backend="eager", dynamic=False)
def f(x, n):
    if x.sum() > 0:
        raise ValueError("large")
    return x * n

try:
    f(torch.ones(3), 3)
except ValueError:
    pass
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="how older torch cuts a graph is another")
def test_a_dump_that_says_what_did_not_happen_is_noticed(tmp_path):
    ran = run(_PROGRAM, os.path.realpath(tmp_path))
    assert list(wrong_in(ran, os.path.realpath(tmp_path))) == []
    noticed = 0
    for path in sorted((tmp_path / "dump").glob("*")):
        if path.suffix not in (".py", ".md"):
            continue
        text = path.read_text()
        for right, wrong in _WRONG:
            if right in text:
                path.write_text(text.replace(right, wrong))
                assert list(wrong_in(ran, os.path.realpath(tmp_path))), (path.name, wrong)
                path.write_text(text)
                noticed += 1
    assert noticed >= 2
