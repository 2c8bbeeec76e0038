"""What reads a value that was written into stands behind the write, and graphs in graphs are there."""

import re

import pytest
import torch
from programs import TORCH

import depyf
from depyf.torch.graph_structure import structure


def structure_of(function, *arguments):
    """The structure of the graph that Dynamo captures of a function."""
    torch._dynamo.reset()
    found = []

    def backend(graph_module, inputs):
        found.append(structure(graph_module))
        return graph_module.forward

    torch.compile(function, backend=backend, fullgraph=True)(*arguments)
    return found[0]


def orders(found):
    """Pairs of a write and what reads the value next, by operator."""
    names = [found["targets"][row[2]].rpartition(".")[2] for row in found["nodes"]]
    return {(names[one], names[at]) for one, _, next_ in found.get("writes", ()) for at in next_}


def written(found):
    rows = found["nodes"]
    return {rows[at][0] for _, into, _ in found.get("writes", ()) for at in into}


def test_what_reads_an_item_that_was_set_stands_behind_the_write():
    def inverse(perm):
        inv_perm = torch.empty_like(perm)
        inv_perm[perm] = torch.arange(perm.size(0))
        return inv_perm + 1

    found = structure_of(inverse, torch.tensor([2, 0, 1]))
    assert orders(found) == {("setitem", "add")}
    assert written(found) == {"inv_perm"}


def test_a_write_into_a_view_is_one_into_what_it_views():
    def scaled(x):
        y = x.clone()
        y[0].mul_(2)
        y.view(-1).add_(1)
        return y.sum()

    found = structure_of(scaled, torch.ones(2, 3))
    assert orders(found) == {("mul_", "view"), ("add_", "sum")}
    assert written(found) == {"y"}


def test_what_comes_before_a_write_or_reads_its_result_needs_no_order():
    def plain(x):
        y = x.clone()
        before = y.sin()
        return before + y.relu_()

    assert orders(structure_of(plain, torch.ones(3))) == set()


def test_what_is_written_into_an_input_goes_to_the_caller():
    def update(x, step):
        x.copy_(x - step)
        return step * 2

    found = structure_of(update, torch.ones(3), torch.ones(3))
    assert orders(found) == {("copy_", "output")}


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: torch.add(x, 1, out=y),
        lambda y, x: torch.nn.functional.relu(y, inplace=True),
        lambda y, x: torch.relu_(y),
        lambda y, x: y.index_put_((torch.tensor([0]),), x[:1]),
        lambda y, x: torch.ops.aten.add_.Tensor(y, x),
        lambda y, x: torch._foreach_add_([y], 1),
        lambda y, x: y.__iadd__(x),
    ],
)
def test_each_way_of_writing_is_one(write):
    def function(x):
        y = torch.zeros_like(x)
        write(y, x)
        return y * 2

    found = structure_of(function, torch.ones(3))
    assert {after for _, after in orders(found)} == {"mul"}


@pytest.mark.skipif(TORCH < (2, 4), reason="torch.library.custom_op came with torch 2.4")
def test_a_custom_operator_that_says_so_writes():
    @torch.library.custom_op("depyf_writes::fill", mutates_args=("out",))
    def fill(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(x)

    def function(x):
        y = torch.empty_like(x)
        fill(x, y)
        return y * 2

    found = structure_of(function, torch.ones(3))
    assert {after for _, after in orders(found)} == {"mul"}
    assert len(found["writes"]) == 1 and written(found) == {"y"}


def test_graphs_in_a_graph_have_their_own_nodes_and_edges():
    def function(x, w):
        return torch.cond(x.sum() > 0, lambda x: (x @ w).relu(), lambda x: x - 1, (x,))

    found = structure_of(function, torch.ones(3, 4), torch.ones(4, 4))
    inner = found["inner"]
    assert len(inner) == 2
    operators = [
        [one["targets"][row[2]].rpartition(".")[2] for row in one["nodes"] if row[1] == "op"]
        for one in inner.values()
    ]
    assert operators == [["matmul", "relu"], ["sub"]]
    names = {row[0]: row[6] for row in next(iter(inner.values()))["nodes"]}
    assert len(names["matmul"]) == 2


def test_the_file_of_a_graph_says_what_it_updates(tmp_path):
    torch._dynamo.reset()
    values, other = [torch.ones(3), torch.ones(2)], torch.ones(3)

    def update(values, other):
        torch._foreach_add_(values, 1)
        made = other * 2
        made.add_(1)
        return made

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(update, backend="eager")(values, other)
    (path,) = tmp_path.glob("*.Captured_Graph.0.py")
    comment, rest = path.read_text().split("import torch", 1)
    told = comment.replace("\n#", "").rstrip()
    begin, _, names = told.partition("It writes to what it is given, besides what it returns: ")
    assert names.rstrip(".").split(", ") == re.findall(r"\b(l_values_\d_) = L_values", rest), (
        comment
    )
