"""Random programs whose advice is followed: a short form of scripts/follow (`followed.py`,
`followed_by_hand.py`).
"""

import os
import random

import pytest

pytest.importorskip("torch")

from followed import follow  # noqa: E402
from followed_by_hand import SHAPES, case_of, wrong_of  # noqa: E402

from programs import TORCH  # noqa: E402

COUNT = int(os.environ.get("DEPYF_FOLLOWED_PROGRAMS", "2"))
#: the same programs each time, or those of a number, or others each time: "random"
SEED = os.environ.get("DEPYF_FOLLOWED_SEED", "1020")
SEED = random.SystemRandom().randrange(10**6) if SEED == "random" else int(SEED)


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
@pytest.mark.parametrize("number", range(COUNT))
def test_advice_that_is_followed_does_what_it_tells(number, tmp_path):
    print("python tests/torch/followed.py %d" % (SEED + number))
    found = follow(SEED + number, str(tmp_path))
    assert found or os.environ.get("DEPYF_FOLLOWED_SEED")
    assert not [(one.told, one.patch, one.wrong) for one in found if one.wrong]


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
@pytest.mark.parametrize("at", range(len(SHAPES)), ids=[one.__name__ for one in SHAPES])
def test_advice_without_a_patch_does_what_it_tells_where_it_is_followed_by_hand(at, tmp_path):
    drawn = SEED if SEED != 1020 else random.SystemRandom().randrange(10**6)
    seed = drawn - drawn % len(SHAPES) + at
    print("python tests/torch/followed_by_hand.py %d" % seed)
    assert not wrong_of(seed, str(tmp_path))


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
def test_a_change_by_hand_that_is_not_made_is_noticed(tmp_path):
    for seed in range(len(SHAPES)):
        case = case_of(seed)
        if not case.stays:
            assert wrong_of(seed, str(tmp_path), case._replace(after=case.before)), seed


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
def test_of_an_integer_for_whose_first_value_nothing_is_compiled_no_saving_is_told(tmp_path):
    found = follow(4011, str(tmp_path))
    assert [one.told.rpartition(": ")[2] for one in found] == ["no figure"]
    assert not [one.wrong for one in found if one.wrong] and found[0].after > found[0].before
