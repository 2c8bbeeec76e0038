"""What repeats in a dump's file stands there once; readers get all of it, and hostile tables are
bounded.
"""

import base64
import copy
import json
import zlib

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
        "writes": [[2, [0], [3]]],
    }
    body = {"nodes": rows[:2], "places": places}
    body.update(targets=graph["targets"], shapes=graph["shapes"], modules=modules[:2])
    graph["inner"] = {"body_0": body}
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
    text = sharing.file_text(told)
    assert told == before
    if layers > 100:
        assert len(text) < 0.2 * len(json.dumps(told))
    else:
        assert json.loads(text) == told  # a small one is spelled out
    read = json.loads(text)
    sharing.unpack(read)
    assert read == told


def several(count):
    entries = []
    for number in range(count):
        entry = model(3)
        entry.update(source="def f(x): ...", compile_id="%d/0" % number, metrics={"number": number})
        entry["transformed_bytecode"] = "".join(
            "%6d LOAD_FAST %d (x)\n" % (offset, number) for offset in range(500)
        )
        entries.append(entry)
    return document(*entries)


def test_what_programs_read_is_deflated_where_it_is_much():
    few, many = several(2), several(40)
    assert json.loads(sharing.file_text(few)) == few
    many["unattributed"] = [model(400)]
    before = copy.deepcopy(many)
    text = sharing.file_text(many)
    assert many == before and len(text) < 0.1 * len(json.dumps(many))
    read = json.loads(text)
    entry = read["functions"][0]["entries"][7]  # what people look for stands there as it is
    assert entry["source"] == "def f(x): ..." and entry["artifacts"][2] == {"stage": "kernel"}
    sharing.unpack(read)
    assert read == many


@pytest.mark.parametrize(
    "rows", ["no base64", "AAAA", None, [], 7, [None], [[]], [[3, 3]], "bomb", "cut"]
)
def test_damaged_deflated_rows_are_left_out(rows, monkeypatch):
    text = rows
    if isinstance(rows, list) or rows in ("bomb", "cut"):
        held = b" " * 10**6 + b"[]" if rows == "bomb" else json.dumps(rows).encode()
        packed = zlib.compress(held)[: -3 if rows == "cut" else None]
        text = base64.b64encode(packed).decode()
    monkeypatch.setattr(sharing, "_MOST", 10**5)
    read = document({"compile_id": "0/0", "artifacts": [{"stage": "kernel"}, None]}, {"index": 1})
    read["deflated"] = text
    sharing.unpack(read)
    first, second = read["functions"][0]["entries"]
    assert first["guards"] == second["guards"] == [] and second["index"] == 1
    assert first["transformed_bytecode"] == "" and first["artifacts"][0]["origins"] == {}
    assert "deflated" not in read


def test_texts_with_the_mark_of_a_source_stay_as_they_are():
    entry = model(400)
    entry["guards"][5]["text"] += " \x01"
    read = json.loads(sharing.file_text(document(entry)))
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
