"""What the prover accepts behaves the same: a short form of prover_run.py, which has its
explanation, and the pairs of prover_pairs.py.
"""

import os
import sys
import warnings

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import attack_run  # noqa: E402
import lifetimes_run  # noqa: E402
import prover_pairs  # noqa: E402
import prover_run  # noqa: E402


def test_what_is_accepted_behaves_the_same():
    verdicts, wrong = prover_run.run(0, 1500)
    assert wrong == {}
    assert verdicts["equivalent"] > 100 and verdicts["different"] + verdicts["unproven"] > 300, (
        verdicts
    )


def test_the_world_tells_programs_apart():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        pairs = [pair for pair in map(prover_run.pair, range(400)) if pair]
        codes = [(prover_run.code_of(one), prover_run.code_of(other)) for one, other in pairs]
    told = sum(
        any(
            prover_run.behaviour(one, seed) != prover_run.behaviour(other, seed)
            for seed in range(5)
        )
        for one, other in codes
    )
    assert told > len(codes) / 8, (told, len(codes))
    assert all(prover_run.behaviour(one, 1) == prover_run.behaviour(one, 1) for one, _ in codes)


@pytest.mark.slow
def test_pairs_that_differ_a_little_are_told_apart():
    assert len(prover_pairs.all_pairs()) > 350
    assert prover_pairs.failures() == []


def test_every_rule_has_such_pairs():
    folder = os.path.join(HERE, "..", "..", "src", "simplify")
    rules = {name[: -len(".cpp")] for name in os.listdir(folder) if name.endswith(".cpp")}
    named = {name.split(":")[0] for name in prover_pairs.written_pairs()}
    assert rules - {"simplify", "facts", "displays"} <= named  # displays: prover_pairs.PAIRS


@pytest.mark.slow
def test_an_attack_finds_nothing():
    verdicts, wrong = attack_run.run(1, 0, 1200)
    assert wrong == {}
    assert verdicts["equivalent"] > 80 and verdicts["different"] > 20, verdicts


def test_the_attack_tells_programs_apart():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = [drawn[2] for drawn in (attack_run.pair(5, n) for n in range(600)) if drawn]
        told = sum(bool(attack_run.difference(codes)) for codes in pairs)
    assert told > len(pairs) / 6, (told, len(pairs))


@pytest.mark.skipif(sys.version_info < (3, 8), reason="nothing is consumed there")
def test_what_may_run_in_torch_s_place_keeps_values_as_long():
    verdicts, wrong = lifetimes_run.run(1, 0, 120)
    assert wrong == {}
    assert verdicts["equivalent"] > 8 and verdicts["unproven"] > 20, verdicts
    told = sum(bool(lifetimes_run.difference(lifetimes_run.pair(2, n)[1])) for n in range(40))
    assert told > 5
