"""Torch's code may import a module in the middle of an expression; no statement is that."""

import builtins

import pytest
import torch
import torch.utils._pytree as pytree

import depyf


class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other


@pytest.fixture
def registered():
    pytree.register_pytree_node(
        Pair, lambda pair: ([pair.one, pair.other], None), lambda items, _: Pair(*items)
    )
    yield
    if hasattr(pytree, "_deregister_pytree_node"):
        pytree._deregister_pytree_node(Pair)
    else:  # of torch before 2.8
        del pytree.SUPPORTED_NODES[Pair]


def to_the_end(pair, x):
    return pytree.tree_map(lambda tensor: tensor + x, pair)


def with_a_break(pair, x):
    pair = pytree.tree_map(lambda tensor: tensor + 1, pair)
    torch._dynamo.graph_break()
    return Pair(pair.one * x, pair.other)


@pytest.mark.parametrize("function", [to_the_end, with_a_break])
def test_a_class_that_torch_finds_by_an_import_is_proven(function, registered, tmp_path):
    pair, x = Pair(torch.ones(2), torch.zeros(2)), torch.ones(2)
    plain = function(pair, x)
    with depyf.prepare_debug(str(tmp_path)) as run:
        found = torch.compile(function, backend="eager")(pair, x)
    assert type(found) is Pair
    assert torch.equal(found.one, plain.one) and torch.equal(found.other, plain.other)
    assert not run.problems
    for entry in run.entries():
        assert entry.replaced and entry.verdict in ("exact", "equivalent"), entry.detail
        assert "value(" not in entry.source


def test_what_runs_asks_no_global_of_the_program(registered, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "__import__", lambda *names: pytest.fail("it was called"))
    with depyf.prepare_debug(str(tmp_path)) as run:
        compiled = torch.compile(to_the_end, backend="eager")
        found = compiled(Pair(torch.ones(2), torch.zeros(2)), torch.ones(2))
    assert torch.equal(found.one, torch.full((2,), 2.0))
    if any("__import__(" in entry.source for entry in run.entries()):
        assert builtins.__import__ is not globals()["__import__"]
