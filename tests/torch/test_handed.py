"""Values that cross a graph break have the names that the program has for them."""

import html
import inspect
import re

import pytest

import depyf

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402


def code(path):
    """A file's lines without its comments."""
    return re.sub(r"(?m)^ *#.*\n", "", path.read_text())


def dump(tmp_path, function, *inputs, **config):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)), torch._dynamo.config.patch(**config):
        result = torch.compile(function, backend="eager")(*inputs)
    torch._dynamo.reset()
    verdicts = re.findall(r"\.py\): (\w+), torch", readme_of(tmp_path))
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
        assert re.search(r"# name is torch's ___stack\d \(`self\.name` in the calling", whole)
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


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, line in enumerate(lines) if text in line)


def test_a_break_below_a_method_of_that_name_is_told_with_the_line_that_led_there(tmp_path):
    dump(tmp_path, Child(), torch.ones(3))
    readme = readme_of(tmp_path)
    own, there = line_of(Child, "product = "), line_of(Base, "if x.mean()")
    assert "%s:%d, reached from %s:%d: " % (__file__, there, __file__, own) in readme
    assert re.search(
        r"- continues in `Child\.forward, resumed after line %d` \(compile \d/0\)" % own, readme
    )
    (path,) = tmp_path.glob("__transformed_code_0_for_Child_forward.py")
    head = "up to the graph break at line %d (test_handed.py:%d)\n" % (own, there)
    assert head in path.read_text()


def converts(x, text):
    y = x + 1
    print(1, sep=text)
    return y


def calls(x, text):
    return torch.nn.Linear(3, 3)(x)


def ended(tmp_path, function, *inputs):
    torch._dynamo.reset()
    with pytest.raises(Exception):
        with depyf.prepare_debug(str(tmp_path)):
            torch.compile(converts, backend="eager")(torch.ones(3), " ")
            function(*inputs)
    torch._dynamo.reset()
    page = html.unescape((tmp_path / "index.html").read_text())
    return readme_of(tmp_path), page


def test_an_exception_that_code_of_torchs_raised_is_none_of_the_program(tmp_path, capsys):
    compiled = torch.compile(converts, backend="eager")
    readme, page = ended(tmp_path / "made", compiled, torch.ones(3), 1)
    at = "%s:%d" % (__file__, line_of(converts, "sep=text"))
    said = r"__transformed_code_\d_for_\w+\.py:\d+ raised it, which is code that torch made of "
    assert "an exception of the program" not in readme
    assert "The block ended with an exception: TypeError: sep must be None or a string" in readme
    for text in (readme, page):
        assert re.search(said + r"converts", text)
        assert "The line of the program that it is for is %s." % at in text
    readme, page = ended(tmp_path / "torch", calls, torch.ones(4), "")
    at = "%s:%d" % (__file__, line_of(calls, "Linear"))
    for text in (readme, page):
        assert re.search(
            r"torch's own code raised it \(linear\.py:\d+\), called from %s\." % at, text
        )
        assert "an exception of the program" not in text


def branches(x, log):
    y = x + 1
    if y.sum() > 0:
        log.append(1)
        return None
    return y * 2


def test_a_rest_that_was_called_is_told_from_one_that_was_not(tmp_path):
    dump(tmp_path, branches, torch.ones(3), [])
    readme = readme_of(tmp_path)
    assert "either no call reached it" not in readme and "Either torch" not in readme
    assert "torch made no code for it, since it saw no call of it." in readme


def tuned(x, limit, *, weight=2.5, bias=None):
    y = x * weight
    print("tuned")
    with torch.no_grad():
        print("inside")
        z = y + 1
    return z if bias is None else z + bias


def test_a_dump_says_what_torch_left_out_of_a_function(tmp_path):
    dump(tmp_path, tuned, torch.ones(3), 1)
    (path,) = tmp_path.glob("__transformed_code_0_for_tuned.py")
    assert "# defaults in the program: weight=2.5, None for bias\n" in path.read_text()
    (whole,) = tmp_path.glob("full_code_for_tuned_0.py")
    text = whole.read_text()
    assert text.count("= True\n") == 0 or "is torch's own mark" in text
    if "raise None" in text:
        assert "`raise None` is torch's text for a place that nothing reaches." in text
    lines = text.split("\n")
    rows = re.findall(r"(?m)^# line +(\d+): ( *)(.+)$", text)
    assert len(rows) > 3
    for number, _, title in rows:
        there = lines[int(number) - 1]
        what = {"compile": "def __transformed", "the function itself": "def __original"}
        assert what.get(title.split(" ")[0], what.get(title, title)) in there
    sources = [line for line in lines if __file__ not in line]
    assert max(map(len, sources)) <= 100


def test_a_tuple_has_not_the_name_of_one_of_its_items(tmp_path):
    def attended(x):
        print("attended")
        return x * 2, x.sum()

    def layer(x):
        output, weights = attended(x)
        return output + 1

    dump(tmp_path, layer, torch.ones(3))
    (path,) = tmp_path.glob("__transformed_code_0_for_torch_dynamo_resume_in_*layer_at_*.py")
    text = code(path)
    assert "__nested_frame_values, attended_result" in text
    assert "attended_result_0 = attended_result[0]" in text
    assert not re.search(r"\boutput\b", text)
