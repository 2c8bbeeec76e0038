"""A function that torch compiles no more: full_code, the code that calls it and README.md say so."""

import os
import re
import runpy

import pytest

import depyf
from depyf import advise, summary
from depyf.report import document, overview

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else ""
    with torch._dynamo.config.patch({limit or "cache_size_limit": 2}):
        yield
    torch._dynamo.reset()


def dump(folder, function, calls):
    with depyf.prepare_debug(str(folder)) as run:
        compiled = torch.compile(function, backend="eager", dynamic=False)
        for call in calls:
            compiled(torch.ones(3), call)
    return run


def one(folder, pattern):
    (path,) = folder.glob(pattern)
    return " ".join(re.sub(r"\n *#", "", path.read_text()).split())


def test_a_function_at_its_limit_keeps_what_it_has(tmp_path):
    def often(x, k):
        return x * k

    dump(tmp_path, often, range(5))
    text = one(tmp_path, "full_code_for_*often_0.py")
    assert "torch no longer compiles it (compile 0/2 reached the recompile limit)" in text
    assert "(x, k) # plain Python" in text and "torch would compile again" not in text
    assert text.count("if __guard_") == 2
    readme = readme_of(tmp_path)
    assert (
        "\n\nTorch no longer compiles it (compile 0/2 reached the recompile limit): calls" in readme
    )
    assert "compile failed" not in readme
    assert "an earlier compile does not fit: 0/1: `k` was 1" in readme
    page = (tmp_path / "index.html").read_text()
    assert "torch compiles only functions with a torch.compile of their own." in page


def test_the_page_of_calls_beyond_the_limit_says_what_is_so(tmp_path):
    """No compile was made for them, and what they call may be compiled."""
    seen = []

    def backend(graph, inputs):
        seen.append(inputs)
        return graph.forward

    inner = torch.compile(lambda x: x.sin(), backend=backend)

    @torch.compile(backend="eager", dynamic=False)
    def first(x, width):
        return inner(x * width)

    @torch.compile(backend="eager", dynamic=False)
    def second(x, width):
        return x + width

    with depyf.prepare_debug(str(tmp_path)):
        for width in range(5, 10):
            first(torch.ones(3), width)
            second(torch.ones(3), width)
    assert seen  # compiled from a call beyond the limit alone
    readme = readme_of(tmp_path).partition("\n## What this torch does not offer\n")[0]
    full = one(tmp_path, "full_code_for_*first_0.py")
    for text in (readme, full):
        assert "functions with a torch.compile of their own." in text
        assert "compiles nothing" not in text
    page = (tmp_path / "index.html").read_text()
    assert "2 functions</b>" in page and "because of</b>" not in page
    assert "skips the first step" not in page and "With dynamic=True, one compile serves" in page
    assert page.count("Compiled again: ") == 2
    assert page.count("An earlier compile does not fit: ") == 2
    assert "which Inductor makes into kernels" not in page
    cards = re.findall(r"recompile</span>.*?</div>\s*<div class=\"cost\">(.*?)</div>", page, re.S)
    assert len(cards) == 2 and not any("compiles" in card for card in cards)


def test_a_function_that_fails_once_runs_no_earlier_compile(tmp_path):
    graphs = []

    def backend(graph, inputs):
        def run(*values):
            graphs.append(1)
            return graph(*values)

        return run

    def once(x, k):
        if k == 1:
            for _ in range(2):
                torch._dynamo.graph_break()
            return x
        return x + k

    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(once, backend=backend, dynamic=False)
        for k in (0, 1, 0):
            compiled(torch.ones(3), k)
    assert len(graphs) == 1  # what full_code says is what torch does
    text = one(tmp_path, "full_code_for_*once_0.py")
    assert "torch skips it (compile 0/1 failed): it runs as plain Python from then on" in text
    assert "__transformed_code_0_for_" in text and "if __guard_" not in text
    assert "compile 0/0, which torch no longer tries" in text


def test_a_function_with_nothing_to_compile(tmp_path):
    def sometimes(x, k):
        if k == 1:
            return x
        return x + k

    dump(tmp_path, sometimes, (0, 1, 2))
    text = one(tmp_path, "full_code_for_*sometimes_0.py")
    assert "torch skips it (compile 0/1 found nothing to compile)" in text
    readme = " ".join(readme_of(tmp_path).split())
    assert (
        "Torch skips it (compile 0/1 found nothing to compile): it runs as plain Python" in readme
    )
    assert "torch ran it from this file up to compile 0/1, and no longer tries it" in readme
    assert "torch runs it from this file" not in readme
    assert "0/1 → ✕ not compiled: its earlier compiles no longer run" in readme
    document = summary.load(str(tmp_path))
    said = summary.summary(document)
    assert re.search(r"runs uncompiled: \S*sometimes \S+, from compile 0/1 on", said)
    assert "torch runs 0 of them, and no longer tries 1" in said
    advised = advise.text(document)
    assert re.search(r"sometimes runs uncompiled at each call from compile 0/1 on because", advised)
    assert "Decide in front of the compiled function" in advised
    assert "let such a call be the first one" not in advised + said + readme


def test_a_function_that_never_had_anything_to_compile_is_told_of(tmp_path):
    def numbers(values, step):
        return [value + step for value in values]

    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(numbers, backend="eager")
        compiled([1, 2], 3)
        compiled([torch.ones(2)], 3)  # torch does not look at it again
    page = (tmp_path / "index.html").read_text()
    assert "runs the function as plain Python from then on" in page
    document = summary.load(str(tmp_path))
    said = summary.summary(document)
    assert "not compiled  " in said and "no operation on tensors to compile" in said
    assert "because of line" not in said
    assert "no operation on tensors to compile" in advise.text(document)


def test_a_side_that_the_first_call_did_not_take_is_told_of(tmp_path):
    """What follows a break has nothing to compile there, so torch never looks at the other side."""
    side = [2.0]
    drawn = torch.compiler.disable(lambda: 0.5)

    def act(x, k):
        if drawn() < side[0]:
            return k
        return (x * 2).sum()

    def only_prints(x, k):
        y = x * 2
        if drawn() < side[0]:
            print("the end", y)
        return y

    with depyf.prepare_debug(str(tmp_path)):
        for function in (act, only_prints):
            compiled = torch.compile(function, backend="eager")
            compiled(torch.ones(3), 1)
            side[0] = -1.0
            compiled(torch.ones(3), 1)
            side[0] = 2.0
    line = act.__code__.co_firstlineno + 3
    document = summary.load(str(tmp_path))
    told = "line %d is never compiled" % line
    assert told in summary.summary(document)
    assert "compile what line %d computes as a separate function" % line in advise.text(document)
    assert told in summary.breaks_text(document)
    told_of_others = summary.breaks_text(document).replace(told, "")
    assert "is never compiled" not in told_of_others


def test_a_side_that_is_a_function_of_its_own_is_not_said_to_stay_uncompiled(tmp_path):
    """A tensor decides, so torch compiles each side apart, whichever comes first."""

    def stops(x, limit):
        total = (x * 2).sum()
        if total > limit:
            return None, total
        return x * 2 + total, total

    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(stops, backend="eager")
        compiled(torch.ones(3), torch.tensor(0.0))
        compiled(torch.ones(3), torch.tensor(9.0))
    document = summary.load(str(tmp_path))
    assert any("nothing to compile" in one["detail"] for one in document["unattributed"])
    assert any(one["is_resume"] for one in document["functions"])  # the other side
    for told in (summary.summary, summary.breaks_text, advise.text):
        assert "is never compiled" not in told(document)


def test_what_the_exception_of_a_compile_ended_is_compiled_again(tmp_path):
    def failing(graph, inputs):
        raise ValueError("not today")

    def called(x, k):
        return x + k

    torch.compile(called, backend="eager", dynamic=False)(torch.ones(3), 0)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(called, backend="eager", dynamic=False)(torch.ones(3), 0)
        with pytest.raises(Exception):
            torch.compile(called, backend=failing, dynamic=False)(torch.ones(3), 1)
    assert [function.given_up for function in run.functions] == [{}]


def test_the_code_that_calls_a_resume_function_says_what_became_of_it(tmp_path):
    def parts(x, k):
        y = x + 1
        torch._dynamo.graph_break()
        return y * k

    def uncalled(x, k):
        if x.sum() > k:
            return x + 1
        return x - 1

    dump(tmp_path / "parts", parts, range(4))
    text = one(tmp_path / "parts", "__transformed_code_0_for_*parts.py")
    pattern = (
        r"Its code is in __transformed_code_K_for_(\w+)\.py, K being 0 and 1 "
        r"\(compiles (\d+)/0 and \2/1\)\. "
    )
    told = re.search(pattern + r"Torch no longer compiles it \(compile", text)
    for k in range(2):
        name = "__transformed_code_%d_for_%s.py" % (k, told.group(1))
        assert (tmp_path / "parts" / name).exists()
    torch._dynamo.reset()
    dump(tmp_path / "uncalled", uncalled, (0,))
    text = one(tmp_path / "uncalled", "__transformed_code_0_for_*uncalled.py")
    told = " ".join(text.replace("\n#", "").split())
    assert told.count("Torch made no code for it, since it saw no call of it.") == 1
    assert text.count("Its code is in __transformed_code_0_for_") == 1


def test_what_is_left_with_nothing_to_compile_is_not_said_to_be_uncalled(tmp_path):
    ran = []

    def note(x, seen):
        seen["m"] = x.mean()
        if x.isnan().any():
            ran.append("nan")
        ran.append("rest")

    dump(tmp_path, note, ({}, {}))
    assert ran == ["rest", "rest"]
    texts = {
        name: one(tmp_path, name)
        for name in (
            "__transformed_code_0_for_*note.py",
            "full_code_for_*note_0.py",
            "README.md",
            "depyf.json",
            "index.html",
        )
    }
    for name, text in texts.items():
        assert "not called while" not in text, name
    ran = (
        "orch made no code for it and did not trace it: it found no tensor and no module among its "
        "variables. A call that reaches it runs as plain Python."
    )
    for name in list(texts)[:3]:
        told = " ".join(texts[name].replace("\n#", "").split())
        assert ran in told and "orch made no code for it, since it saw no call of it." in told, name
    rests = sorted(set(re.findall(r"__resume_at_\d+_\d+", texts["full_code_for_*note_0.py"])))
    assert len(rests) == 2
    for rest in rests:
        assert "- continues in `%s` (" % rest in texts["README.md"]
    row = r"▷ (?:%s) · (not called|plain Python)" % "|".join(rests)
    assert set(re.findall(row, texts["index.html"])) == {"not called", "plain Python"}


def test_while_the_block_is_open_nothing_is_said_of_the_future(tmp_path):
    def open_parts(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(open_parts, backend="eager")(torch.ones(3))
        before = (next(tmp_path.glob("__transformed_code_0_for_*open_parts.py"))).read_text()
    after = (next(tmp_path.glob("__transformed_code_0_for_*open_parts.py"))).read_text()
    # true also where the program is killed before or after the call
    said = " ".join(before.replace("\n#", "").split())
    assert "Torch compiles it when it is called, and its code is then in" in said
    assert "it was not called yet, or torch made no code for it." in said
    assert "Its code is in __transformed_code_0" in " ".join(after.replace("\n#", "").split())
    code, _, _ = before.partition("\n# __resume_at")
    assert after.startswith(code)  # lines stay where a debugger looks for them


def test_each_name_of_a_resume_function_is_told_where_it_is_read(tmp_path):
    def renamed(x, k):
        y = x + k
        torch._dynamo.graph_break()
        return y * 2

    dump(tmp_path, renamed, (0, 1))
    called = set()
    for path in tmp_path.glob("__transformed_code_*_renamed.py"):
        called |= set(re.findall(r"return (__resume_at_\w+)\(", path.read_text()))
    if len(called) < 2:
        pytest.skip("this torch installs no second name")
    resumed = one(tmp_path, "__transformed_code_0_for_torch_dynamo_resume_in_*renamed_at_*.py")
    whole = one(tmp_path, "full_code_for_*renamed_0.py")
    readme = readme_of(tmp_path)
    for name in called:
        assert name in resumed.partition("The code that calls it names it")[2]
        assert name in whole.partition("called as ")[2][:200]
        assert "`%s`" % name in readme.partition("called as ")[2].partition("\n")[0]


def test_readme_names_whole_paths_and_the_line_that_leads_to_a_break(tmp_path):
    class Inside(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = torch.nn.Linear(3, 3)

        def forward(self, x):
            torch._dynamo.graph_break()
            return self.part(x)

    inside = Inside()

    def outside(x, size):
        y = inside(x[:size])
        return y + 1

    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(outside, backend="eager", dynamic=False)
        for size in (2, 3):
            compiled(torch.ones(4, 3), size)
    readme = readme_of(tmp_path)
    begin = outside.__code__.co_firstlineno
    within = Inside.forward.__code__.co_firstlineno + 1
    assert (
        "graph break at %s:%d, reached from %s:%d: "
        % (
            __file__,
            within,
            __file__,
            begin + 1,
        )
        in readme
    )
    for place in re.findall(r"(?:guarded at|first saw around) (\S+):\d+", readme):
        assert os.path.isabs(place) and os.path.exists(place)
    assert "first saw around " + torch.nn.modules.linear.__file__ in readme
    assert readme.count("[Captured_Graph]") == readme.count("\n- graphs: ") > 0


def test_what_a_guard_of_an_object_holds_is_not_the_object(tmp_path):
    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.weight * x

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(Holder(), backend="eager")(torch.ones(3))
    (whole,) = tmp_path.glob("full_code_for_*Holder_forward_0.py")
    text = whole.read_text()
    assert "# self, with 1 tensor in it\n" in text
    assert "# x: float32 Tensor on CPU, size [3]\n" in text


def test_the_files_of_many_compiles_are_told_in_one_line(tmp_path):
    def many(x, k):
        y = x + 1
        torch._dynamo.graph_break()
        return y * k

    with torch._dynamo.config.patch(
        {
            (
                "recompile_limit"
                if hasattr(torch._dynamo.config, "recompile_limit")
                else "cache_size_limit"
            ): 8
        }
    ):
        dump(tmp_path, many, range(4))
    text = one(tmp_path, "__transformed_code_0_for_*many.py")
    told = re.search(
        r"Its code is in __transformed_code_K_for_(\w+)\.py, K being 0, 1, 2 and 3 \(", text
    )
    for k in range(4):
        assert (tmp_path / ("__transformed_code_%d_for_%s.py" % (k, told.group(1)))).exists()


@pytest.mark.parametrize("branch", [False, True])
def test_a_break_in_a_loop_is_not_said_to_be_nothing_to_compile(tmp_path, branch):
    """Torch up to 2.4 tells of it in its log alone: of a branch, and of a second compile."""
    count = 2

    def rounds(x, k):
        for _ in range(count):
            x = x + k
            if branch and x.sum() > 0:
                x = x * 2
            elif not branch:
                torch._dynamo.graph_break()
        return x

    def other(x, k):
        return rounds(x, k)

    with depyf.prepare_debug(str(tmp_path)):
        for function in (rounds, other):
            for _ in range(2):  # what torch knows of the first is gone
                torch._dynamo.reset()
                torch.compile(function, backend="eager")(torch.ones(3), 1)
    nodes = overview.nodes_of([document.fit(document.load(str(tmp_path)))])
    found = [node for node in nodes if node.called in ("rounds", "other")]
    assert len(found) >= 4, [node.called for node in nodes]
    for node in found:
        assert not node.failure or node.failure["row"] != "nothing to compile"
        assert node.breaks, node.called
        assert all(one["line"] for one in node.breaks)
    assert "found nothing to compile" not in readme_of(tmp_path)


def test_a_break_that_is_called_in_a_loop_or_a_try_is_told_with_its_way(tmp_path):
    def sample(x):
        return x * x.max().item()

    def rollout(x, k):
        for _ in range(2):
            try:
                x = sample(x)
            except ValueError:
                x = x + 1
        return x

    first = rollout.__code__.co_firstlineno
    dump(tmp_path, rollout, (1,))
    readme = readme_of(tmp_path)
    if "`try` of line" not in readme:
        pytest.skip("this torch does not give the function up")
    here = os.path.basename(__file__)
    said = "It is reached by way of %s:%d, %s:%d; the first is in the `try` of line %d in the " % (
        here,
        first + 3,
        here,
        first - 2,
        first + 2,
    )
    said += "`for` of line %d, where torch cannot split a graph, so torch skips the whole" % (
        first + 1
    )
    assert said in readme
    page = (tmp_path / "index.html").read_text().replace("&#39;", "'")
    assert said in re.sub("</?code>", "`", page)


def test_the_only_rest_of_a_function_is_not_said_to_be_uncalled_perhaps(tmp_path):
    seen = []

    def note(x, _):
        seen.append(float(x.abs().max()))

    dump(tmp_path, note, (0,))
    assert seen == [1.0]
    for name in ("__transformed_code_0_for_*note.py", "full_code_for_*note_0.py", "README.md"):
        told = " ".join(one(tmp_path, name).replace("\n#", "").split())
        assert "did not trace it: it found no tensor" in told, name
        assert "nothing to compile" not in told, name
        assert "no call reached it" not in told, name


TWO_ON_A_LINE = """
import torch

seen = []


@torch.compile(backend="eager")
def f(a, va, b, vb):
    y = (a[va] - b[vb]).mean()
    seen.append(y)
    return y + 1


a, b = torch.ones(4), torch.ones(4)
for _ in range(6):
    f(a, a > 0, b, b > 0)
"""


def test_two_rests_behind_one_line_are_two_functions(tmp_path):
    """torch counts the compiles of each by itself, and so does what depyf says."""
    program = tmp_path / "program.py"
    program.write_text(TWO_ON_A_LINE)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(program))
    document = summary.load(str(tmp_path / "dump"))
    text = summary.recompiles_text(document)
    (told,) = re.findall(r"torch stopped compiling (.+) at its next compile \[(\S+)\]: (.*)", text)
    assert told == (
        "f, resumed after line 9 (2nd of 2)",
        "2/2",
        "calls that fit none of its 2 compiles run uncompiled",
    )
    assert "f, resumed after line 9 (2nd of 2) compiled again [2/1]" in text


def test_what_made_torch_compile_again_up_to_a_limit_is_the_change(tmp_path):
    """Where there is advice for the reason of the recompiles, the limit is no change of its own."""
    program = tmp_path / "program.py"
    program.write_text(TWO_ON_A_LINE)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(program))
    document = summary.load(str(tmp_path / "dump"))
    found = advise.changes(document)
    first = found[0]
    assert first.row == "growing list" and "`seen` had 0 elements, has 1" in first.words
    assert "limit" not in [one.row for one in found]
    assert first.advice.startswith(
        "A list or deque to which each call appends is guarded by its length, "
    )


class _Output:
    def __init__(self, loss):
        self.loss = loss


def test_a_rest_with_a_tensor_inside_of_an_object_is_said_to_be_not_traced(tmp_path):
    weight = torch.nn.Parameter(torch.ones(3))

    def model(x):
        print("model")
        return _Output((weight * x).sum())

    def step(x, _):
        out = model(x)
        out.loss.backward()
        return out

    dump(tmp_path, step, (0,))
    assert weight.grad is not None
    for name in ("__transformed_code_0_for_*step.py", "full_code_for_*step_0.py", "README.md"):
        told = " ".join(one(tmp_path, name).replace("\n#", "").split())
        assert "did not trace it: it found no tensor" in told, name
        assert "Torch searches lists, tuples and dicts of those, and no other objects." in told


def test_a_side_that_ran_as_plain_python_has_one_name_in_all_files(tmp_path):
    def check(x, limit):
        y = x + 1
        if y.max() > limit:
            raise ValueError("max %.1f over %s" % (float(y.max()), limit))
        return y

    with pytest.raises(ValueError):
        dump(tmp_path, check, (5, 0))
    texts = [
        one(tmp_path, name)
        for name in ("__transformed_code_0_for_*check.py", "full_code_for_*check_0.py", "README.md")
    ]
    names = [set(re.findall(r"resumed after line \d+ \(\d\w\w of 2\)", one)) for one in texts]
    assert names[0] and names[0] == names[1] == names[2], names


def test_a_function_that_is_never_compiled_is_named_also_where_no_change_is_for_it(tmp_path):
    """The break in torch's any() is at a line of the program, which README.md names, too."""

    def chosen(rows):
        total = rows[0].sum() if any(row.mean() > 0.5 for row in rows) else rows[1].sum()
        return total + 1

    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(chosen, backend="eager")([torch.ones(3), torch.ones(3)])
    if not any(entry.failure for entry in run.unattributed):
        pytest.skip("this torch splits the graph there")
    told = advise.text(summary.load(str(tmp_path)))
    place = "%s:%d" % (os.path.basename(__file__), chosen.__code__.co_firstlineno)
    assert re.search(r"^runs uncompiled: \S*chosen \S*%s$" % place, told, re.MULTILINE)
    readme = " ".join(readme_of(tmp_path).split())
    assert re.search(r"Runs uncompiled: \S*chosen \S*%s\. 1\. " % place, readme)
    line = chosen.__code__.co_firstlineno + 1
    assert "`no compile time`: " in readme and "`no figure`: " not in readme
    assert "builtins.py" in readme
    assert re.search(r", called from \S*%s:%d: " % (os.path.basename(__file__), line), readme)
