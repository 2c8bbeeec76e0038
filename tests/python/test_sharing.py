"""What repeats in a dump's file stands there once; readers get all of it, and hostile tables are bounded."""

import copy
import json

import pytest

from depyf import sharing


def guard(text, kind, source, **more):
    made = {
        "text": text,
        "kind": kind,
        "source": source,
        "comment": "# x = layer(x)  # a.py:3 in f",
    }
    return dict(made, **dict({"expression": text, "user_stack": []}, **more))


def model(layers):
    """The entry of a model: each layer is asked the same, and is in two graphs."""
    guards = [guard("grad_mode() == True", "GLOBAL_STATE", "", user_stack=["a.py:1"])]
    rows = [["l_x_", "input", 0, 0, 0, 0, []]]
    places = [["", 0, ""], ["/srv/model.py", 35, "forward"]]
    modules = [""]
    for layer in range(layers):
        source = "L['self']._modules['layers']._modules['%d']" % layer
        size = "size=[%d, 8]" % layer if layer % 7 == 0 else "size=[8, 8]"
        guards += [
            guard("type(%s) == 1234" % source, "TYPE_MATCH", source, expression=None),
            guard("check(%s.weight, %s)" % (source, size), "TENSOR_MATCH", source + ".weight"),
        ]
        modules.append("layers.%d" % layer)
        rows.append(["linear_%d" % layer, "op", 1, 0, layer + 1, 1, [layer]])
    graph = {
        "nodes": rows,
        "targets": ["L_x_", "torch.nn.functional.linear"],
        "shapes": ["f32[8, 8]"],
        "modules": modules,
        "places": places,
    }
    origins = {"linear_%d" % layer: "linear_0" for layer in range(layers)}
    artifacts = [
        {"stage": "Captured_Graph", "structure": graph, "origins": {}},
        {"stage": "Forward_graph", "structure": copy.deepcopy(graph), "origins": origins},
        {"stage": "kernel", "structure": {}, "origins": {}},
    ]
    return {"compile_id": "0/0", "guards": guards, "artifacts": artifacts}


def document(*entries):
    return {"functions": [{"name": "f", "entries": list(entries)}], "unattributed": []}


@pytest.mark.parametrize("layers", [3, 400])
def test_a_file_is_read_as_it_was_written(layers):
    told = document(model(layers))
    before = copy.deepcopy(told)
    text = sharing.dumps(sharing.packed(told))
    assert told == before
    if layers > 100:
        assert len(text) < 0.2 * len(json.dumps(told))
    else:
        assert json.loads(text) == told  # a small one is spelled out
    read = json.loads(text)
    sharing.unpack(read)
    assert read == told


def test_texts_with_the_mark_of_a_source_stay_as_they_are():
    entry = model(400)
    entry["guards"][5]["text"] += " \x01"
    read = json.loads(sharing.dumps(sharing.packed(document(entry))))
    sharing.unpack(read)
    assert read == document(entry)


def damaged():
    table = {"kinds": ["k"], "comments": ["c"], "stacks": [[]], "texts": ["\x01 is"]}
    yield dict(table, sources=[[0, "x"]], rows=[[0, 0, 0, 0, 0, 0]])  # of itself
    yield dict(table, sources=[[-1, "x"]], rows=[[0, 7, 0, 0, 0, 0]])
    yield dict(table, sources=[[-1, "x"]], rows=[[0, -2, 0, 0, 0, 0]])
    yield dict(table, sources=[[-1, 5]], rows=[[0, 0, 0, 0, 0, 0]])
    yield dict(table, sources=7, rows=None)
    yield {}
    doubled = [[-1, "x" * 1000]] + [[number, "x" * 1000] for number in range(2000)]
    many = dict(table, texts=["\x01" * 2000], sources=doubled)
    yield dict(many, rows=[[2000, 0, 0, 0, 0, 0]] * 1000)  # 4 TB


@pytest.mark.parametrize("table", list(damaged()))
def test_damaged_tables_are_left_out(table):
    read = document({"guards": table, "artifacts": []})
    sharing.unpack(read)
    assert read["functions"][0]["entries"][0]["guards"] == []


@pytest.mark.parametrize(
    "rows", [[[0, 9, 0, 0, 0, 0]], [[5, 0, 0, 0, 0, 0]], 3, [[0]], [["a"] * 6]]
)
def test_damaged_graphs_are_left_out(rows):
    artifacts = [{"structure": {"rows": rows}, "origins": [0, 9]}, None, {"origins": {"a": "b"}}]
    tables = {"names": ["a"], "targets": ["t"], "shapes": ["s"], "modules": [""], "places": [[]]}
    read = document({"guards": [], "artifacts": artifacts, "graph_tables": tables})
    sharing.unpack(read)
    found = read["functions"][0]["entries"][0]["artifacts"]
    assert found[0] == {"structure": {}, "origins": {}} and found[2]["origins"] == {"a": "b"}


@pytest.mark.parametrize(
    "read", [None, [], {"functions": 1}, {"functions": [None, {"entries": [3]}]}]
)
def test_what_is_no_document_stays_as_it_is(read):
    before = copy.deepcopy(read)
    sharing.unpack(read)
    assert read == before
