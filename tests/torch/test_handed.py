"""Values that cross a graph break have the names that the program has for them."""

import re

import pytest

import depyf

torch = pytest.importorskip("torch")


def code(path):
    """A file's lines without its comments."""
    return re.sub(r"(?m)^ *#.*\n", "", path.read_text())


def dump(tmp_path, function, *inputs, **config):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)), torch._dynamo.config.patch(**config):
        result = torch.compile(function, backend="eager")(*inputs)
    torch._dynamo.reset()
    verdicts = re.findall(r"\.py\): (\w+), torch", (tmp_path / "README.md").read_text())
    assert verdicts and set(verdicts) <= {"exact", "equivalent"}
    return result


class Probe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.name = "probe"

    def forward(self, x):
        y = x.sin()
        print(self.name, "mean", float(y.mean()))
        return y + 1


def test_a_line_that_is_resumed_reads_as_in_the_program(tmp_path, capsys):
    dump(tmp_path, Probe(), torch.ones(3))
    assert capsys.readouterr().out == "probe mean %s\n" % float(torch.ones(3).sin().mean())
    rests = "".join(map(code, tmp_path.glob("__transformed_code_*_for_torch_dynamo_resume*")))
    whole = "".join(path.read_text() for path in tmp_path.glob("__transformed_code_*"))
    assert "___stack" not in rests
    if "float_result is torch's ___stack" in whole:
        assert "name, mean_text, float_result)" in rests
        assert re.search(r"# name is torch's ___stack\d \(`self\.name`, on the stack", whole)
    for path in tmp_path.glob("__transformed_code_*"):
        assert max(map(len, path.read_text().splitlines())) <= 100


class Base(torch.nn.Module):
    def forward(self, x):
        if x.mean() > 0:
            x = x * 2
        return x


class Child(Base):
    def forward(self, x):
        product = super().forward(x)
        return product + 1


def test_what_a_call_returns_is_named_by_the_variable_that_keeps_it(tmp_path):
    dump(tmp_path, Child(), torch.ones(3))
    (path,) = tmp_path.glob("__transformed_code_0_for_Child_forward.py")
    assert "value" not in code(path)
    assert re.search(r"\bproduct\b", code(path))
    for path in tmp_path.glob("__transformed_code_0_for_torch_dynamo_resume_in_Child_forward_at*"):
        assert "___stack" not in code(path) and "product" in code(path)


def inner(x, scale):
    y = torch.sin(x) * scale
    print("inner")
    return y + scale


def middle(x, w):
    a = inner(x, 2.0)
    b = torch.mm(a, w)
    print("middle")
    return b, a


def outer(x, w):
    b, a = middle(x, w)
    return a * b


def test_variables_of_callers_have_their_names(tmp_path):
    if not hasattr(torch._dynamo.config, "nested_graph_breaks"):
        pytest.skip("this torch splits no function together with its callers")
    ones = torch.ones(2, 2)
    dump(tmp_path, outer, ones, ones, nested_graph_breaks=True)
    rests = "".join(map(code, tmp_path.glob("__transformed_code_*_for_torch_dynamo_resume*")))
    assert re.search(r"\by = __nested_frame_values\[0\]\[\d\]", rests)
    assert not re.search(r"(?<!_)nested_frame_values_\d_\d", rests)


def deletes(x, weight):
    total = x.sum() * weight
    print("deleted")
    twice = total * 2
    del total
    return twice + x


def test_values_handed_over_in_a_list_have_their_names(tmp_path):
    dump(tmp_path, deletes, torch.ones(3), torch.ones(3))
    sources = "".join(map(code, tmp_path.glob("__transformed_code_*")))
    assert "resume_frame_values_" not in sources
    if "__resume_frame_values" in sources:
        assert "total" in sources and not re.search(r"\bvalue(_\d+)?\b", sources)
