"""The change that comes first is of what differs in every earlier compile, whatever torch names."""

import pytest

pytest.importorskip("torch")

from followed import run  # noqa: E402

from programs import TORCH  # noqa: E402

pytestmark = pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")

FILLED = "A dict that the function fills is guarded by its contents"
BLOCKS = "; it differs in every earlier compile, so no other change spares this one"
COUNTED = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.%(seen)s = {}
    def forward(self, batch, threshold):
        h = 0
        for name, value in batch.items():
            %(fill)s
            h = h + value.clamp(min=threshold)
        return h

model = torch.compile(Model(), backend="eager")
for i in range(4):
    batch = {"user": torch.ones(3), "age": torch.ones(3)}
    if i %% 2:
        batch = dict(reversed(list(batch.items())))
    model(batch, 0.5)
"""
GLOBAL = """
totals = {}

@torch.compile(backend="eager")
def f(x, kind):
    key = kind + "!"
    totals[key] = totals.get(key, 0) + 1
    return x * len(kind)

for kind in ("a", "bb", "a", "bb"):
    f(torch.ones(3), kind)
"""


def advice_of(text, tmp_path):
    return run("import torch\n" + text, str(tmp_path / "program.py")).advice


@pytest.mark.parametrize(
    "seen, fill",
    [
        ("seen", "self.seen[name] = self.seen.get(name, 0) + 1"),
        ("counts", "self.counts[name] = 1 + self.counts.get(name, 0)"),
    ],
)
def test_a_dict_that_the_function_fills_comes_before_the_order_of_keys(seen, fill, tmp_path):
    advice = advice_of(COUNTED % {"seen": seen, "fill": fill}, tmp_path)
    listed = advice.listed()
    assert listed[0].advice.startswith(FILLED)
    assert listed[0].words.startswith("`self.%s" % seen) and BLOCKS in listed[0].words
    assert not any("same order" in one.advice for one in listed)
    assert sum(one.advice.startswith(FILLED) for one in listed) == 1
    # what is said holds: the keys in one order spare none of the compiles, the dict outside does
    text = COUNTED % {"seen": seen, "fill": fill}
    sorted_keys = text.replace("model(batch,", "model(dict(sorted(batch.items())),")
    assert len(advice_of(sorted_keys, tmp_path).nodes) == len(advice.nodes)
    outside = COUNTED % {"seen": seen, "fill": "pass"}
    assert len(advice_of(outside, tmp_path).nodes) < len(advice.nodes)


def test_a_dict_that_stays_the_same_blocks_nothing(tmp_path):
    text = COUNTED % {"seen": "seen", "fill": "self.seen[name] = 1"}
    text = text.replace("seen = {}", "seen = {'user': 1, 'age': 1}")
    listed = advice_of(text, tmp_path).listed()
    assert listed and not any(BLOCKS in one.words for one in listed)


def test_a_dict_that_a_caller_gives_is_none_that_the_function_keeps(tmp_path):
    text = """
@torch.compile(backend="eager")
def f(x, kind, seen):
    seen[kind + "!"] = seen.get(kind + "!", 0) + 1
    return x * len(kind)

for kind in ("a", "bb", "ccc"):
    f(torch.ones(3), kind, {kind + "!": len(kind)})
"""
    listed = advice_of(text, tmp_path).listed()
    assert not any(BLOCKS in one.words for one in listed)


def test_a_global_that_the_function_fills_comes_first_too(tmp_path):
    listed = advice_of(GLOBAL, tmp_path).listed()
    assert listed[0].advice.startswith(FILLED)
