"""Lists and dicts that contain themselves, or each other, while a graph break lies between."""

import collections

import pytest
import torch

import depyf


class Box:
    pass


def a_list(x):
    kept = [1]
    kept.append(kept)
    torch._dynamo.graph_break()
    kept.append(x + 1)
    return kept[1] is kept, kept[2] * 2


def a_dict(x):
    kept = {"x": x + 1}
    kept["self"] = kept
    y = x * 3
    torch._dynamo.graph_break()
    kept["y"] = y
    return kept["self"] is kept, kept["x"] + kept["y"]


def two_lists(x):
    one = [x]
    other = [one, x * 2]
    one.append(other)
    torch._dynamo.graph_break()
    return one[1] is other, other[0] is one, one[0] + 1


def a_list_and_a_dict(x):
    one = []
    other = {"one": one}
    one.append(other)
    one.append(x + 1)
    torch._dynamo.graph_break()
    return one[0]["one"] is one, one[1] * 2


def an_object_and_a_dict(x):
    box = Box()
    box.kept = {"box": box}
    box.kept["kept"] = box.kept
    torch._dynamo.graph_break()
    return box.kept["box"] is box, box.kept["kept"] is box.kept, x + 1


def with_a_set(x):
    numbers = {1, 2}
    kept = [numbers]
    kept.append(kept)
    torch._dynamo.graph_break()
    return kept[0] is numbers, kept[1] is kept, x + 1


def in_a_tuple(x):
    kept = []
    kept.append((kept, x + 1))
    torch._dynamo.graph_break()
    return kept[0][0] is kept, kept[0][1] + 1


def an_item_stored(x):
    kept = [0, 1]
    kept[0] = kept
    torch._dynamo.graph_break()
    kept[1] = x + 1
    return kept[0] is kept, kept[1]


def nested(x):
    kept = []
    for _ in range(3):
        kept = [kept]
        kept.append(kept)
    torch._dynamo.graph_break()
    return kept[1] is kept, x + 1


def in_a_closure(x):
    kept = []
    kept.append(kept)

    def inner():
        return kept

    torch._dynamo.graph_break()
    return inner()[0] is kept, x + 1


def a_default_dict(x):
    kept = collections.defaultdict(list)
    kept["self"].append(kept)
    kept["x"] = x + 1
    torch._dynamo.graph_break()
    return kept["self"][0] is kept, x + 1


def of_the_caller(x):
    def fill(x, items, table):
        items.append(items)
        table["self"] = table
        table["x"] = x + 1
        torch._dynamo.graph_break()
        return items[-1] is items, table["self"] is table, table["x"] * 2

    return fill(x, [1], {})


PROGRAMS = (
    a_list,
    a_dict,
    two_lists,
    a_list_and_a_dict,
    an_object_and_a_dict,
    with_a_set,
    in_a_tuple,
    an_item_stored,
    nested,
    in_a_closure,
    a_default_dict,
    of_the_caller,
)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda one: one.__name__)
def test_code_with_a_container_in_itself_is_replaced(tmp_path, function):
    torch._dynamo.reset()
    plain = torch.compile(function, backend="eager")(torch.ones(3))
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        result = torch.compile(function, backend="eager")(torch.ones(3))
    assert str(plain) == str(result)
    entries = [entry for entry in run.entries() if entry.name]
    assert entries
    for entry in entries:
        assert entry.replaced, (entry.name, entry.verdict, entry.detail, entry.source)
