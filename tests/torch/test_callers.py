"""Who called what is told by the frames of each compile: in which entry's code, in which order."""

import re

import pytest

import depyf
from depyf.report import document, flow, overview

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402


def tree_of(folder):
    """(depth, key, title) of each compile, as the page's picture has them."""
    nodes = overview.nodes_of([document.fit(document.load(str(folder)))])
    roots, children = flow._forest(nodes)
    rows, stack = [], [(root, 0) for root in reversed(roots)]
    while stack:
        node, depth = stack.pop()
        rows.append((depth, node.called, node.key))
        stack.extend((child, depth + 1) for child in reversed(children[node.key]))
    return nodes, rows


class Inner(torch.nn.Module):
    def forward(self, x):
        return x.sin()


class Outer(torch.nn.Module):
    """torch gives it up: the break is inside a loop."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        for _ in range(2):
            print("plain Python")
            x = self.inner(x)
        return x


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("callers")
    torch._dynamo.reset()
    model, part = Outer(), Inner()

    def step(x):
        y = model(x + 1)
        print("between")
        z = part(y)
        print("after")
        return z * 2

    with depyf.prepare_debug(str(folder)):
        compiled = torch.compile(step, backend="eager", dynamic=False)
        for size in (3, 4):
            compiled(torch.ones(size))
    torch._dynamo.reset()
    return folder


def test_each_compile_stands_below_the_entry_whose_code_called_it(folder):
    nodes, rows = tree_of(folder)
    again = [key for _, _, key in rows if key.endswith("/1")]
    if not again or not any(node.title == "Outer.forward" for node in nodes):
        pytest.skip("this torch compiles the program in another way")
    titles = [(depth, title.partition(", resumed")[0]) for depth, title, _ in rows]
    half = len(rows) // 2
    first, second = rows[: half + 1], rows[half + 1 :]
    step = titles[0][1]
    assert step.endswith("step")
    assert titles[: half + 1] == [
        (0, step),
        (1, "Outer.forward"),
        (2, "Inner.forward"),
        (1, step),
        (2, step),
        (3, step),
    ]
    assert all(key.endswith("/0") for _, _, key in first)
    assert all(key.endswith("/1") for _, _, key in second)
    assert [depth for depth, _, _ in second] == [0, 1, 1, 2, 3]


def test_what_a_function_without_code_calls_stands_below_it_at_each_call(folder):
    nodes, _ = tree_of(folder)
    (picture,) = flow.draw(nodes)
    rows = [(row["opens"], row["boxes"][0]["label"]) for row in picture["rows"]]
    if not any("Outer.forward" in label for _, label in rows):
        pytest.skip("this torch compiles the program in another way")
    at = [label for _, label in rows].index("⤷ Outer.forward · plain Python")
    opens, below = rows[at + 1]
    assert opens == 1 and re.match(r"↻ ⤷ Inner\.forward  \d/1$", below)


def test_the_stack_has_all_frames_at_lines_of_the_program(folder):
    nodes, _ = tree_of(folder)
    (inner,) = [one for one in nodes if one.title == "Inner.forward" and one.key.endswith("/0")]
    names = [frame.partition(": ")[0].rpartition(" in ")[2] for frame in inner.stack]
    own = [name for name in names if name in ("folder", "forward") or name.endswith("step")]
    assert [name.rpartition(".")[2] for name in own] == ["folder", "step", "forward", "forward"]
    assert not any("__transformed_code" in frame for frame in inner.stack)
    assert any(frame.endswith("y = model(x + 1)") for frame in inner.stack)


def test_resume_functions_that_torch_installs_again_are_the_same_code(folder):
    (whole,) = folder.glob("full_code_for_*step_0.py")
    text = whole.read_text()
    names = {}
    exec(compile(text.partition("# ---- what the code above uses")[0], whole.name, "exec"), names)
    assert "not called" not in text
    called = {
        word.partition("(")[0]
        for line in text.splitlines()
        if line.lstrip().startswith("return __resume_at_")
        for word in line.split()[1:2]
    }
    assert called
    for name in called:
        assert name in names or "\n%s = __resume_at_" % name in text


def test_a_resume_function_without_code_runs_as_plain_python(tmp_path):
    def given_up(x):
        print("first")
        for _ in range(2):
            print("in a loop")
            x = part(x)
        return x

    torch._dynamo.reset()
    part = Inner()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(given_up, backend="eager")(torch.ones(3))
    torch._dynamo.reset()
    (whole,) = tmp_path.glob("full_code_for_*given_up_0.py")
    nodes, rows = tree_of(tmp_path)
    resumed = [title for _, title, _ in rows if "resumed after line" in title]
    if not resumed:
        pytest.skip("this torch compiles the program in another way")
    text = " ".join(whole.read_text().replace("\n#", "").split())
    assert re.search(r"__resume_at_\w+: torch skips it \(compile \S+ failed\): it runs as", text)
    (path,) = tmp_path.glob("__transformed_code_0_for_*given_up.py")
    text = " ".join(path.read_text().replace("\n#", "").split())
    assert re.search(r"Torch skips it \(compile \S+ failed\): it runs as plain Python\.", text)
    assert "Its code is in" not in text
    assert "not called" not in whole.read_text()
    depths = {title: depth for depth, title, _ in rows}
    assert depths["Inner.forward"] == depths[resumed[0]] + 1
    readme = readme_of(tmp_path)
    assert resumed[0] in readme and "- proof: torch made no code" not in readme
    assert "- 0 guards" not in readme
    assert not re.search("^## .*torch_dynamo_resume", readme, re.M)


def test_resume_functions_of_a_branch_say_where_they_go_on(tmp_path):
    def branch(x):
        y = x.sin()
        if y.sum() > 0:
            return y + 1
        return y - 1

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(branch, backend="eager")(-torch.ones(3))
    torch._dynamo.reset()
    begin = branch.__code__.co_firstlineno
    (path,) = tmp_path.glob("__transformed_code_0_for_*branch.py")
    text = " ".join(path.read_text().replace("\n#", "").split())
    if ", from line" not in text:
        pytest.skip("this Python tells no lines of resume functions")
    taken = re.search(r"if cond: return (__resume_at_\w+)\(.*?return (__resume_at_\w+)\(", text)
    for name, line in zip(taken.groups(), (begin + 3, begin + 4)):
        said = "%s is [^ ]*branch, resumed after line %d, from line %d on\\." % (
            name,
            begin + 2,
            line,
        )
        assert re.search(said, text)
    (rest,) = tmp_path.glob("__transformed_code_0_for_torch_dynamo_resume_in_*branch_at_*.py")
    text = " ".join(rest.read_text().replace("\n#", "").split())
    said = "This is [^ ]*branch, resumed after line %d, from line %d on. The code that calls it names it %s."
    assert re.search(said % (begin + 2, begin + 4, taken.group(2)), text)
    heading = "^## `[^ ]*branch, resumed after line %d`$" % (begin + 2)
    assert re.search(heading, readme_of(tmp_path), re.M)


def test_a_call_at_a_break_is_told_at_its_own_line(tmp_path):
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    weight.grad = torch.ones(2)

    @torch.compile(backend="eager")
    def apply(optimizer):
        # the call is two lines below the decorator
        optimizer.step()

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        apply(optimizer)
    torch._dynamo.reset()
    nodes = overview.nodes_of([document.fit(document.load(str(tmp_path)))])
    step = [node for node in nodes if node.title.endswith("SGD.step")]
    if not step:
        pytest.skip("this torch compiles the program in another way")
    assert all(node.caller[2] == "optimizer.step()" for node in step)


def test_a_call_in_the_rest_of_a_function_stands_at_its_own_line(tmp_path):
    torch._dynamo.reset()
    model = Outer()

    def late(x):
        x = x + 1
        print("first")
        y = model(x)
        return y + x

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(late, backend="eager")(torch.ones(3))
    nodes, _ = tree_of(tmp_path)
    inner = [node for node in nodes if node.called == "Inner.forward"]
    assert any("late, resumed after line" in frame for frame in inner[0].stack)
    for frame in inner[0].stack:
        if "late, resumed after line" in frame:
            assert frame.endswith("y = model(x)"), frame


class Observed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        low = x.min().item()
        return self.layer(x) - low


class Observing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 4), Observed()

    def forward(self, x):
        return self.two(self.one(x).relu())


def test_a_tensor_that_compiled_code_makes_is_not_to_be_marked(tmp_path):
    model = torch.compile(Observing(), backend="eager")
    with depyf.prepare_debug(str(tmp_path)):
        for size in (8, 4, 6):
            model(torch.ones(size, 4))
    nodes = overview.nodes_of([document.fit(document.load(str(tmp_path)))])
    told = [(str(node.title), node.reasons[0]["help"]) for node in nodes if node.reasons]
    assert len(told) == 3 and all(help for _, help in told)
    marked = [title for title, help in told if any("mark_dynamic" in one for one in help)]
    assert marked == ["Observing.forward"]
