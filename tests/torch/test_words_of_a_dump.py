"""What a reader of a dump meets in its files, and what the files say of it."""

import html
import re
import sys
import warnings

import pytest

import depyf
from depyf.report import document, words
from depyf.report.overview import nodes_of
from depyf.report.page import front
from depyf.report.page.view import failure_in_head

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402


def unwrapped(text):
    """Comments as one line."""
    return " ".join(re.sub(r"\n *#", "", text).split())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x).relu()


@pytest.fixture(scope="module")
def backward(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backward")
    torch._dynamo.reset()
    net, autograd = Net(), torch._dynamo.compiled_autograd
    enable = getattr(autograd, "_enable", None) or autograd.enable  # its name in torch 2.4
    with depyf.prepare_debug(str(folder)):
        out = torch.compile(net, backend="aot_eager")(torch.ones(2, 3))
        with enable(torch.compile(backend="aot_eager")):
            out.sum().backward()
    torch._dynamo.reset()
    if not list(folder.glob("*backward_of*")):
        assert not any("eval_with_key" in path.read_text() for path in folder.glob("*.md"))
        pytest.skip("this torch has no compiled autograd")
    return folder


TITLE = "backward of Net.forward (compiled autograd)"


def test_a_backward_pass_is_called_so(backward):
    text = readme_of(backward)
    assert "## `%s`\n\na whole backward pass" % TITLE in text
    assert "### `%s`, compile !0" % TITLE in text
    assert "`no code`" not in text and "eval_with_key" not in text
    assert "Compile !0/1/0 is" in text or "Compile !0/2/0 is" in text
    (path,) = backward.glob("__transformed_code_0_for_backward_of_Net_forward.py")
    assert path.read_text().startswith("# %s\n" % TITLE)
    (path,) = backward.glob("full_code_for_backward_of_Net_forward_0.py")
    assert path.read_text().startswith('"""What torch.compile made of %s' % TITLE)


def test_it_is_drawn_below_its_tracing_after_the_forward(backward):
    nodes = {node.key: node for node in nodes_of(document.load_all(str(backward)))}
    assert {node.title for key, node in nodes.items() if key.startswith("!")} == {TITLE}
    made = next(node for key, node in nodes.items() if re.match("!0/", key))
    assert made.outer is nodes["!0"] and nodes["0/0"].began < nodes["!0"].began <= made.began
    page = (backward / "index.html").read_text()
    assert "unknown code" not in page and ">forward<" not in page
    assert not re.search(r'class="facts">:', page)


def several(a, b, c):
    def log(x):
        print("sum")
        return x

    return log(a + b) * log(b + c) - log(c * a)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        torch.compile(several, backend="eager")(*[torch.ones(3)] * 3)
    torch._dynamo.reset()
    return folder


def test_the_rests_of_one_line_are_told_apart(broken):
    headings = re.findall(r"(?m)^## `(several, .*)`$", readme_of(broken))
    headings = [one for one in headings if "resumed" in one]
    assert len(headings) > 1 and len(set(headings)) == len(headings)
    count = len(headings)
    assert any("(1st of %d)" % count in one for one in headings)
    (path,) = broken.glob("full_code_for_several_0.py")
    for one in headings:
        assert "# ---- %s -" % one in path.read_text()
        assert "%s" % one.partition(", ")[2] in (broken / "index.html").read_text()


def test_breaks_are_told_in_plain_words_and_never_cut(broken):
    (path,) = broken.glob("full_code_for_several_0.py")
    for text in (readme_of(broken), unwrapped(path.read_text())):
        assert ": The program prints a message in the middle of the graph (torch: " in text
    found = {"reason": "Cannot go on. Graph break encountered:", "location": "a.py:3"}
    found["explanation"] = "Something is in the way."
    assert words.of_break(found)["what"] == "Something is in the way."


def test_the_names_of_torch_that_occur_are_explained(broken):
    text = readme_of(broken)
    table = text[text.index("## Names of torch's") : text.index("## `several`")]
    sources = "".join(path.read_text() for path in broken.glob("__transformed_code_*"))
    for name in ("___stack0", "__nested_resume_fns", "pregraph_record", "builtins_dict"):
        assert ("`%s`" % name in table) == (name in sources), name
    assert "call_size" not in table
    example = re.search(r"`(__resume_at_\d+_\d+)`", table).group(1)
    assert example in sources


def several_times(x, why):
    print(why)
    return x + len(why)


def test_a_rest_goes_on_with_its_line_or_with_another(broken, tmp_path):
    goes_on = re.compile(r"resumed after line (\d+)(?: \([^()]*\))?, (with the rest|from line \d+)")
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(several_times, backend="eager")(torch.ones(3), "a")
    first = several_times.__code__.co_firstlineno
    in_log = several.__code__.co_firstlineno + 5
    for folder, said in (
        (broken, (str(in_log), "with the rest")),
        (tmp_path, (str(first + 1), "from line %d" % (first + 2))),
    ):
        texts = [unwrapped(path.read_text()) for path in folder.glob("__transformed_code_*")]
        found = goes_on.findall("".join(texts))
        assert said in found
        assert all(one[1] != "from line %s" % one[0] for one in found)


def test_a_reason_that_all_earlier_compiles_have_is_told_once(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(several_times, backend="eager")
        for why in ("a", "bc", "def", "ghij"):
            compiled(torch.ones(3), why)
    text = readme_of(tmp_path)
    section = text.partition("### `__transformed_code_3_for_")[2].partition("\n#")[0]
    assert section.count("compiled again because") == 1
    assert re.search(r"; likewise 2 more compiles \(\d/1, \d/0\)", section)


def ends(x):
    y = x + 1
    torch._dynamo.graph_break()
    for _ in range(2):
        torch._dynamo.graph_break()
    return y, "the end"


def test_full_code_has_the_code_of_what_torch_gave_up(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(ends, backend="eager")(torch.ones(3))
    (path,) = tmp_path.glob("full_code_for_ends_0.py")
    text = path.read_text()
    name = re.search(r"# (__resume_at_\w+): torch skips it", text).group(1)
    assert re.search(r"(?m)^def %s\(" % name, text)
    body = text[text.index("def __original_code_for%s(" % name) :]
    assert "'the end'" in body.partition("# ----")[0]
    names = {"__name__": "full"}
    exec(compile(text, str(path), "exec"), names)
    assert callable(names[name])


def kinds(n, x):
    return x + 1 if type(n) is int else x * n.bit_length()


def test_a_guard_with_the_number_of_an_object_is_told_in_words(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(kinds, backend="eager", dynamic=False)(True, torch.ones(3))
        torch.compile(several_times, backend="eager")(torch.ones(3), "a")
    texts = [path.read_text() for path in tmp_path.glob("full_code_*.py")]
    rows = [row for text in texts for row in text.split("\n")]
    told = 0
    for before, row in zip(rows, rows[1:]):
        if re.match(r" +and ___check_(type|obj)_id\(", row):
            assert " is of type " in before + row or " same object as before" in before + row, row
            told += 1
    assert told and max(map(len, rows)) <= 120


class Inner(torch.nn.Module):
    def step(self, x, tag):
        h = x.sin()
        torch._dynamo.graph_break()
        return h.cos(), tag

    def forward(self, x):
        y, tag = self.step(x, "t")
        return y * 2 + len(tag)


class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) + x


@pytest.mark.skipif(
    not hasattr(torch._dynamo.config, "nested_graph_breaks"), reason="torch has no such setting"
)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no qualified name")
def test_the_rests_of_callers_are_named_after_the_function_that_holds_the_line(tmp_path):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(nested_graph_breaks=True), depyf.prepare_debug(str(tmp_path)):
        torch.compile(Whole(), backend="eager")(torch.ones(3))
    (path,) = tmp_path.glob("__transformed_code_0_for_Whole_forward.py")
    readme = readme_of(tmp_path)
    (full,) = tmp_path.glob("full_code_for_Whole_forward_*.py")
    line = Inner.forward.__code__.co_firstlineno + 1
    for text in (unwrapped(path.read_text()), readme, full.read_text()):
        assert "Inner.forward, resumed after line %d" % line in text
        assert "Inner.step, resumed after line %d" % (line - 4) in text
        assert "Whole.forward, resumed after line %d" % line not in text
    for text in (unwrapped(path.read_text()), readme, unwrapped(full.read_text())):
        assert "is given it and calls it: torch traced it there" in text
        assert "ran as plain Python" not in text
    assert "is given it and calls it" in (tmp_path / "index.html").read_text()


def raising(x):
    y = x + 1
    print("mid")
    return y * 2


def test_an_exception_that_ended_the_block_is_told(tmp_path):
    torch._dynamo.reset()
    with pytest.raises(ValueError):
        with depyf.prepare_debug(str(tmp_path)):
            torch.compile(raising, backend="eager")(torch.ones(3))
            raise ValueError("no such `thing`")
    readme = readme_of(tmp_path)
    assert "The block ended with an exception of the program: ValueError: no such `thing`" in readme
    page = (tmp_path / "index.html").read_text()
    assert "ended with an exception of the program" in page and "ValueError: no such" in page


def test_the_text_of_an_exception_is_not_asked_of_the_program(tmp_path):
    asked = []

    class Own(Exception):
        def __str__(self):
            asked.append(1)
            return "own"

    torch._dynamo.reset()
    for number, error in enumerate((Own("mine"), SystemExit(0))):
        folder = tmp_path / str(number)
        with pytest.raises(type(error)):
            with depyf.prepare_debug(str(folder)):
                torch.compile(raising, backend="eager")(torch.ones(3))
                raise error
        said = "ended with an exception" in readme_of(folder)
        assert said == (number == 0)
    assert "Own: mine" in readme_of(tmp_path / "0") and not asked


def test_a_compile_that_failed_says_so_where_it_is_shown(tmp_path):
    def broken(graph, inputs):
        raise RuntimeError("no `such` backend")

    def double(x):
        return x * 2

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        with pytest.raises(Exception):
            torch.compile(double, backend=broken)(torch.ones(2))
    (node,) = nodes_of(document.load_all(str(tmp_path)))
    assert failure_in_head(node) in (
        "compile failed, exception ended the call",
        "compile failed, not compiled",
    )


def test_no_check_mark_where_nothing_is_proven():
    class Made:
        entry = {"name": "f", "verdict": "unproven", "breaks": [], "failure": ""}
        breaks, reasons, is_limit = [], [], False

    tile = front.figures([Made()])[-1]
    assert (tile["mark"], tile["number"], tile["tone"]) == ("✕", "0 of 1", "warn")
    Made.entry = dict(Made.entry, verdict="exact")
    assert front.figures([Made()])[-1]["mark"] == "✓"


def test_a_killed_dump_names_the_files_that_are_there(tmp_path):
    (tmp_path / "depyf.json").write_text('{"schema": "depyf.run", "open": true, "process": 1}')
    (tmp_path / "__transformed_code_0_for_f.py").write_text("def f(): pass\n")
    with pytest.raises(Exception, match="1 file of a compile .* there: __transformed_code_0_for_f"):
        document.load_all(str(tmp_path))


def test_what_to_change_and_what_runs_uncompiled_stand_before_what_was_compiled(tmp_path):
    def told(x):
        for _ in range(2):
            x = x * 2
            torch._dynamo.graph_break()
        return x

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(told, backend="eager")(torch.ones(3))
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
    text = readme_of(tmp_path)
    headings = re.findall(r"(?m)^## (.*)$", text)
    assert headings[:2] == ["What to change first", "Compiles that made no code for a function"]
    assert headings[-1].startswith("`")  # a function
    (change,) = re.findall(r"(?m)^\d+\. .*$", text)
    assert change.startswith("1. ") and change.endswith(" Change: Remove that call.")
    assert "runs uncompiled at each call because of it" in change


def _several_breaks(x):
    torch._dynamo.graph_break()
    y = x + 1
    print(y.sum().item(), y.mean().item())
    for _ in range(2):
        y = y * 2
    print("end")


def test_the_files_of_the_rests_of_one_line_say_which_of_them_they_are(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(_several_breaks, backend="eager")(torch.ones(3))
    first = _several_breaks.__code__.co_firstlineno
    texts = {path.name: path.read_text() for path in tmp_path.glob("__transformed_code_*.py")}
    told = {name: " ".join(text.replace("\n#", " ").split()) for name, text in texts.items()}
    title = "_several_breaks, resumed after line %d" % (first + 3)
    own = {re.search(r"This is %s( \(\d\w\w of \d\))?" % title, text) for text in told.values()}
    numbers = sorted(one.group(1) for one in own if one)
    assert len(numbers) > 1 and len(set(numbers)) == len(numbers), told
    called = {
        one for text in told.values() for one in re.findall("is %s( [(].*?[)])" % title, text)
    }
    assert called == set(numbers)
    readme = readme_of(tmp_path)
    assert all("## `%s%s`" % (title, number) in readme for number in numbers)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="older bytecode does not tell")
def test_a_rest_of_which_nothing_of_the_line_is_left_begins_at_the_next(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(_several_breaks, backend="eager")(torch.ones(3))
    first = _several_breaks.__code__.co_firstlineno
    texts = [path.read_text() for path in tmp_path.glob("__transformed_code_*.py")]
    told = " ".join("\n".join(texts).replace("\n#", " ").split())
    assert "resumed after line %d, from line %d on" % (first + 1, first + 2) in told
    assert "resumed after line %d, where nothing is left to do" % (first + 6) in told
    assert "after line %d, with the rest" % (first + 1) not in told
    assert "*" not in "".join(line for text in texts for line in text.split("\n") if "#" in line)


class _Refused(Exception):
    pass


def _refuse(x):
    if x.shape[0] > 2:
        raise _Refused("too many rows: %d" % x.shape[0])
    return x


def _shaped(x):
    return (x + 1).reshape(7, 11)


@pytest.mark.parametrize(
    "function, fullgraph, said, line",
    (
        (lambda x: _refuse(x + 1), False, "_Refused('too many rows: 3')", 2),
        (lambda x: _refuse(x + 1), True, "_Refused('too many rows: 3')", 2),
        (_shaped, False, "is invalid for input of size 3", 1),
    ),
)
def test_an_exception_of_the_program_is_named_with_its_line(
    tmp_path, function, fullgraph, said, line
):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        with pytest.raises(Exception):
            torch.compile(function, backend="eager", fullgraph=fullgraph)(torch.ones(3))
    line += (_shaped if function is _shaped else _refuse).__code__.co_firstlineno
    nodes = nodes_of(document.load_all(str(tmp_path)))
    failure = nodes[0].failure
    if failure is None or said not in failure["raw"]:
        pytest.skip("this torch does not tell the exception")
    assert said in failure["why"] and failure["line"] == line
    assert "makes a string" not in failure["why"]
    readme = readme_of(tmp_path)
    told = [one for one in readme.splitlines() if one.startswith("- no code at ")]
    assert any(":%d: " % line in one and said in one for one in told), readme


def test_a_number_that_differs_beside_a_size_is_told_with_it(tmp_path):
    def scaled(x, scale):
        return x * scale

    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(scaled, backend="eager")
        for size, scale in ((4, 2.0), (6, 3.0)):
            compiled(torch.ones(size), scale)
    text = readme_of(tmp_path)
    (why,) = re.findall(r"(?m)^- compiled again because: (.*)$", text)
    names = ("x.size(0)", "4", "6"), ("scale", "2.0", "3.0")
    if "x.size(0)" not in why:
        names = names[::-1]
    assert "`%s` was %s, is %s" % names[0] in why, why
    # the first where torch makes one of the two symbolic
    told = "beside it, `%s` was %s, is %s" % names[1], "`%s`, which was %s, is %s, too" % names[1]
    assert any(one in why for one in told), why


def test_the_page_advises_for_a_branch_that_raises_what_the_readme_does(tmp_path):
    def checked(x):
        if x.sum() > 100:
            raise ValueError("too large")
        return x * 2

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(checked, backend="eager")(torch.ones(3))
    text = readme_of(tmp_path)
    (change,) = re.findall(r"(?m)^\d+\. .* Change: (.*)$", text)
    page = html.unescape((tmp_path / "index.html").read_text())
    begin = change.partition("`")[0][:60]
    assert begin in page and not change.startswith("torch.where")
    assert "torch.where(" in change or "torch.where(condition" not in page


def test_code_that_torch_threw_away_is_said_to_run_nowhere(tmp_path, monkeypatch):
    from torch._dynamo.guards import CheckFunctionManager

    def fails(*_, **__):
        raise AssertionError("Guard failed on the same frame it was created.")

    monkeypatch.setattr(CheckFunctionManager, "__init__", fails)
    with depyf.prepare_debug(str(tmp_path)) as run:
        with pytest.raises(Exception, match="Guard failed on the same frame"):
            torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert any(entry.path and entry.failure for entry in run.entries())
    said = readme_of(tmp_path)
    assert "neither it nor torch's bytecode runs" in said
    assert "torch runs its own bytecode\n" not in said


def test_each_failed_write_is_listed_once(tmp_path, monkeypatch):
    from depyf.torch.dump import writer

    write = writer.write_atomically

    def full(path, *arguments):
        if "Captured_Graph" in path:
            raise OSError(27, "File too large")
        return write(path, *arguments)

    monkeypatch.setattr(writer, "write_atomically", full)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with depyf.prepare_debug(str(tmp_path)):
            torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    said = readme_of(tmp_path)
    listed = [line for line in said.splitlines() if "was not written" in line]
    assert listed and len(listed) == len(set(listed))
