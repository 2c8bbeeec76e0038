"""The short form of bench/models: two models of transformers, where that is installed."""

import importlib.util
import json
import os

import pytest
import warm
from forms import some_of
from processes import environment

RUN = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "bench", "models", "run.py")


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed"
)
@pytest.mark.parametrize(
    "model, way",
    some_of([("LlamaForCausalLM", "statements"), ("BertForMaskedLM", "training")], 2),
)
def test_model_is_replaced_proven_and_equal(tmp_path, model, way):
    rows = tmp_path / "rows.jsonl"
    command = [RUN, "--models", model, "--ways", way, "--json", rows]
    done = warm.run(command, environment(tmp_path / "cache"))
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = [json.loads(line) for line in rows.read_text().splitlines()]
    assert row["codes"] >= 1 and row["replaced"] == row["codes"]
    if way == "statements":
        assert row["breaks"] > 10
