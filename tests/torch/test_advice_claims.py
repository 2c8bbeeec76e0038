"""What the texts of advice claim beyond what their pairs show: each claim is tried."""

import re

import pytest

pytest.importorskip("torch")

from test_advice import MET_IN, PINNED, before_of, met, run, with_other_sizes  # noqa: E402

from programs import TORCH  # noqa: E402

from depyf.advice import breaks, recompiles  # noqa: E402

#: a sentence that says of dynamic=True that it leaves the problem
_NOT_BY_DYNAMIC = re.compile(
    r"dynamic=True (and mark_dynamic )?(does|do) not help|with dynamic=True, too"
    r"|nor dynamic=True helps"
)
#: one that says it of a setting, and what is left with it
_NOT_BY_SETTING = re.compile(r"\b(capture_\w+|allow_rnn) does not help: (?P<left>[^.]*)")


def recompiled(nodes):
    return sum(bool(node.reasons) for node in nodes)


def broken(nodes):
    return sum(len(node.breaks) for node in nodes)


def of_rows(rows, pattern):
    """(row, help) whose words or advice make a claim, where this torch has the problem."""
    found = []
    for row in rows:
        since, until = MET_IN.get(row.key, ((2, 13), (9, 0)))
        for index, help in enumerate(row.help):
            claims = pattern.search(row.words) and index == 0 or pattern.search(help.text)
            if claims and since <= TORCH < until:
                found.append(pytest.param(row, help, id="%s-%d" % (row.key, index)))
    return found


def with_dynamic(program):
    """A program whose functions are compiled with dynamic=True."""
    return re.sub(r'backend="(\w+)"(, dynamic=\w+)?', r'backend="\1", dynamic=True', program)


@pytest.mark.skipif(not PINNED, reason="the claims are of torch 2.13")
@pytest.mark.parametrize("row, help", of_rows(recompiles.ROWS, _NOT_BY_DYNAMIC))
def test_dynamic_shapes_leave_the_recompiles_of_which_the_advice_says_so(row, help):
    nodes = before_of(row, help)[1]
    after = run(with_dynamic(help.before), row.key + " dynamic")[1]
    assert met(after, row.key)
    assert recompiled(after) >= recompiled(nodes)


@pytest.mark.skipif(not PINNED, reason="the claims are of torch 2.13")
@pytest.mark.parametrize("row, help", of_rows(breaks.ROWS, _NOT_BY_SETTING))
def test_a_setting_leaves_what_the_advice_says_of_it(row, help):
    claim = _NOT_BY_SETTING.search(row.words) or _NOT_BY_SETTING.search(help.text)
    setting = "torch._dynamo.config.%s = True\n" % claim.group(1)
    result, after = run(setting + help.before, row.key + " set")
    left = claim.group("left")
    if "raises an error" in left:
        assert result is None
    elif re.search("compiles for each value|guarded by its length", left):
        assert recompiled(after) > 1
    else:  # torch stops tracing there, the graph breaks there
        assert broken(after) or any(node.failure for node in after)


def every_pair(rows):
    return of_rows(rows, re.compile(""))


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
@pytest.mark.parametrize("row, help", every_pair(breaks.ROWS + recompiles.ROWS))
def test_what_the_advice_removes_stays_away_for_other_sizes(row, help):
    after = with_other_sizes(help.before, help.after)[1]
    nodes = run(after, row.key + " varied", seed=7)[1]
    assert not met(nodes, row.key)
    # with other sizes, the inputs of two ranks have other numbers of elements
    assert row in breaks.ROWS or row.key == "rank" or not recompiled(nodes)


@pytest.mark.skipif(not PINNED, reason="the claim is of torch 2.13")
def test_with_the_setting_torch_compiles_for_each_number_beside_that_of_a_tensor():
    (help,) = breaks.BY_KEY["item beside a number"].help
    setting = "torch._dynamo.config.capture_scalar_outputs = True\n"
    assert recompiled(run(setting + help.before, "beside a number")[1]) == 2


@pytest.mark.skipif(not PINNED, reason="the claim is of torch 2.13")
def test_torch_where_alone_compiles_for_each_float_that_a_side_gives_to_clamp():
    help = breaks.OF_FLOATS
    wanted, nodes = run(help.before, "float of a side")
    (broke,) = {each for one in nodes for said in one.breaks for each in said["help"][:1]}
    assert "First make `low` a tensor" in broke
    result, after = run(help.after, "float of a side after")
    assert len(after) == 1 and not broken(after) and broken(nodes)
    for one, other in zip(result, wanted):
        assert one.equal(other)
    alone = help.after.replace("torch.tensor(low)", "low")
    assert alone != help.after
    assert recompiled(run(alone, "float of a side alone")[1]) > recompiled(nodes)


def test_a_result_that_is_not_used_leaves_zeros_as_gradients():
    import torch

    from depyf.advice.breaks import LEAVES, ROUNDS
    from depyf.advice.breaks.loops import OF_UNUSED

    assert all(OF_UNUSED in one.help[0].text for one in (LEAVES, ROUNDS))

    def both(x, used, unused):
        return x * used, x * unused

    gradients = []
    for f in (both, torch.compile(both, backend="aot_eager")):
        used, unused = (torch.ones(3, requires_grad=True) for _ in range(2))
        f(torch.ones(3), used, unused)[0].sum().backward()
        gradients.append(
            (used.grad.tolist(), None if unused.grad is None else unused.grad.tolist())
        )
    assert gradients == [([1.0] * 3, None), ([1.0] * 3, [0.0] * 3)]
