"""Names in torch's code that no source can hold, and names of the user that look like Dynamo's."""

import torch

import depyf


graph_out_0 = 300


class Box:
    pass


def replaced(folder, function, *arguments):
    """Results with depyf are those without; every code object is proven and replaced."""
    torch._dynamo.reset()
    plain = torch.compile(function, backend="eager")(*arguments)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)) as run:
        result = torch.compile(function, backend="eager")(*arguments)
    assert torch.equal(plain, result)
    entries = run.entries()
    assert entries
    for entry in entries:
        assert entry.replaced, (entry.name, entry.verdict, entry.detail, entry.source)
    return entries


def test_attributes_that_are_keywords_or_signs(tmp_path):
    box = Box()

    def f(x):
        y = x + 1
        setattr(box, "def", y)
        setattr(box, "@pytest_ar", y * 2)
        torch._dynamo.graph_break()
        setattr(box, "0", y * 3)
        return y * 4

    replaced(tmp_path, f, torch.ones(3))
    assert vars(box)["0"].tolist() == [6, 6, 6] and vars(box)["def"].tolist() == [2, 2, 2]


def test_a_global_that_has_the_name_of_the_graphs_outputs(tmp_path):
    def f(x):
        global graph_out_0
        y = x + 1
        torch._dynamo.graph_break()
        graph_out_0 = 7
        return y * 2

    replaced(tmp_path, f, torch.ones(3))
    assert graph_out_0 == 7


def test_conversions_in_a_text_before_a_break(tmp_path):
    def f(x, n):
        s = f"{n:>5}|{n!r}|{x.shape[0]:03d}"
        torch._dynamo.graph_break()
        return x + len(s)

    def g(x, n):
        s = f"{n!r}"
        torch._dynamo.graph_break()
        return x + len(s)

    for function in (f, g):
        for n in (1, 22, 333):
            replaced(tmp_path / ("%s%d" % (function.__name__, n)), function, torch.ones(2), n)
