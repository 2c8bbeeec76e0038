"""What `depyf run --advise` lists: each change once, and only changes."""

import ast
import difflib
import re
from types import SimpleNamespace

import pytest
from depyf import advise, summary, terminal
from depyf.advice import NO_ACTION, OF_LIST, OUTSIDE, breaks, given, recompiles, uses
from depyf.advise import joining, patches
from depyf.advise.wording import saving
from depyf.launch.progress import Progress
from depyf.model import Entry, Function, Run
from depyf.report import overview, savings, words
from depyf.report.page import front

#: reasons for which each has advice of its own
REASONS = ("x == 2", "mask is None", "tensor 'x' rank mismatch. expected 1, actual 2")
SMALL = "tensor 'x' size mismatch at index 0. expected 1, actual 4"
LIMIT = "FailOnRecompileLimitHit: recompile_limit reached"


def compiled(path, line, seconds, **more):
    """One compile of the function at a line."""
    metrics = {"duration_us": seconds * 1e6, "co_name": "f"}
    metrics.update(co_filename=str(path), co_firstlineno=line)
    made = {"compile_id": "%d/1" % line, "name": "", "metrics": metrics}
    return dict({"breaks": [], "reasons": [], "artifacts": [], "guards": []}, **dict(made, **more))


def again(path, line, seconds, reason):
    return compiled(path, line, seconds, reasons=["0/0: " + reason])


def run_of(entries, **more):
    return dict({"functions": [], "unattributed": entries}, **more)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_one_setting_for_three_lines_is_one_change(tmp_path):
    program = tmp_path / "items.py"
    program.write_text("import torch\n\ndef loss(x):\n    return x.item()\n")
    functions = []
    for line, cost in ((4, 0.25), (5, 0.5), (6, 2.0)):
        location = "%s:%d" % (program, line)
        name = "torch_dynamo_resume_in_loss_at_%d" % line
        first = compiled(program, line, 1, breaks=[dict(ITEM, location=location)], calls=[name])
        resumed = dict(compiled(program, line, cost), compile_id="%d/0" % (line + 10))
        functions += [
            {"name": "loss", "filename": str(program), "firstlineno": line, "entries": [first]},
            {
                "name": name,
                "global_name": name,
                "is_resume": True,
                "filename": str(program),
                "firstlineno": line,
                "entries": [resumed],
            },
        ]
    run = run_of([], program=str(program), functions=functions)
    (change,) = advise.changes(run)
    # joined, the parts on both sides of a break take less by half of the shorter one
    assert change.seconds == (0.25 + 0.5 + 1) / 2 and change.line == 6
    text = advise.text(run)
    assert text.count("+torch._dynamo.config.capture_scalar_outputs = True") == 1
    lines = text.splitlines()
    assert lines[0].startswith("1. up to 0.88 s") and lines[0].endswith("items.py:6")
    assert [line.strip() for line in lines if line.startswith("   also ")] == [
        "also %s, for the same reason" % terminal.place(str(program), line) for line in (5, 4)
    ]


def test_one_advice_without_a_patch_is_one_change_with_the_words_of_each():
    reasons = ("x == 2", "y == 3")
    run = run_of([again("/a/b.py", 1, 0.5, reasons[0]), again("/a/b.py", 1, 0.25, reasons[1])])
    run["unattributed"][1]["compile_id"] = "1/2"
    (change,) = advise.changes(run)
    assert change.seconds == 0.75 and not change.patch
    text = advise.text(run)
    assert text.count("change: ") == 1
    assert "x was 2" in text and "also /a/b.py:1  y was 3" in text


def test_many_places_of_one_change_are_counted():
    run = run_of([again("/a/b.py", line, 1.0 + line, "x == 2") for line in range(1, 31)])
    told = [one for one in advise.text(run).splitlines() if one.startswith("   also ")]
    assert (
        told[0] == "   also /a/b.py:29, for the same reason"
        and told[-1] == "   also 25 more"
        and len(told) == 5
    )


def test_where_a_line_makes_two_lists_the_floats_are_not_said_to_decide(tmp_path):
    program = tmp_path / "lists.py"
    program.write_text(
        "def f(x, ids):\n    for a, i in zip(x.tolist(), ids.tolist()):\n        if i == 1:\n"
        "            continue\n        kept.append(a)\n    return x\n"
    )
    floats = {"reason": "Tensor.tolist() with non-integer tensor", "url": "gb0109.html"}
    rows = []
    for met in (floats, {"reason": "Tensor.item() call with capture_scalar_outputs=False"}):
        met = dict(met, location="%s:2" % program)
        rows += [
            one.row for one in advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
        ]
    assert rows == ["list of floats", "item that decides"]


def test_what_is_not_shown_is_counted():
    entries = [again("/a/b.py", 1 + at, 1.0, REASONS[at]) for at in range(3)]
    entries.append(compiled("/a/b.py", 9, 9.0, breaks=[dict(ITEM, location="/a/b.py:9")]))
    lines = advise.text(run_of(entries)).splitlines()
    assert "and 1 more: depyf run --breaks" in lines
    lines = advise.text(run_of(entries), most=2).splitlines()
    assert "and 2 more: depyf run --breaks or --recompiles" in lines
    lines = advise.text(run_of(entries), most=4).splitlines()
    assert not [one for one in lines if one.startswith("and ")]
    lines = advise.text(dict(run_of(entries), folder="/a/dump"), most=2).splitlines()
    assert "and 2 more: depyf report --advise /a/dump" in lines  # and no further run


def test_what_needs_no_action_takes_no_place():
    entries = [again("/a/b.py", 1, 9.0, SMALL), again("/a/b.py", 2, 8.0, "2 <= x.size()[0]")]
    entries += [again("/a/b.py", 3 + number, 1.0, one) for number, one in enumerate(REASONS)]
    found = advise.changes(run_of(entries))
    assert sorted(one.line for one in found) == [3, 4, 5]
    assert "needs no action" not in advise.text(run_of(entries)).partition("what needs no")[0]
    assert advise.changes(run_of(entries[:2])) == []


def test_rows_that_say_that_nothing_is_to_be_done_are_known_as_such():
    rows = breaks.ROWS + recompiles.ROWS
    assert {row.key for row in rows if any("no action" in help.text for help in row.help)} == set(
        NO_ACTION
    )


def test_a_limit_is_listed_only_where_its_recompile_is_not():
    reached = compiled("/a/b.py", 1, 0.5, failure=LIMIT)
    recompile = dict(again("/a/b.py", 1, 2.0, "x == 2"), compile_id="1/2")
    (change,) = advise.changes(run_of([reached, recompile]))
    assert change.kind == "recompile" and change.seconds == 2.0
    (change,) = advise.changes(run_of([reached]))
    assert change.row == "limit"
    # of another function
    other = again("/a/b.py", 2, 2.0, "x == 2")
    assert [one.line for one in advise.changes(run_of([reached, other]))] == [2, 1]


def test_a_recompile_at_which_torch_gave_up_is_always_listed_and_says_so():
    reached = compiled("/a/b.py", 1, 0.5, failure=LIMIT)
    recompile = dict(again("/a/b.py", 1, 2.0, "x == 2"), compile_id="1/2")
    costlier = [again("/a/b.py", 5 + n, 9.0, one) for n, one in enumerate(REASONS[1:])]
    run = run_of([dict(reached, reasons=["1/2: x == 3"]), recompile] + costlier)
    found = advise.changes(run, most=2)
    assert [one.gave_up for one in found] == [0, 1]
    told = advise.text(run, most=2)
    assert "stopped compiling the function after 1 compile: calls" in told and "uncompiled" in told
    text = summary.recompiles_text(run)
    assert "x was 2" in text and "x was 3" not in text
    assert "torch stopped compiling f at its next compile" in text
    assert summary.counts(run)["recompiles"] == 1 + len(costlier)


def test_a_number_that_fits_only_where_a_condition_holds_is_told_so():
    """As of `for _ in range(max(lengths))`, where torch makes a constant of what is computed."""
    made = "  # for _ in range(max(lengths)):  # a/b.py:2 in f"
    second = again("/a/b.py", 1, 1.0, "lengths[1] == 2" + made)
    second["guards"] = [
        {"text": "___check_type_id(L['lengths'][1], 7), type=<class 'int'>"},
        {"text": "max(3, L['lengths'][1]) == 3"},
    ]
    third = dict(again("/a/b.py", 1, 2.0, "max(3, lengths[1]) == 3" + made), compile_id="1/2")
    third["guards"] = [second["guards"][0], {"text": "max(3, L['lengths'][1]) == 5"}]
    (change,) = advise.changes(run_of([second]))
    assert change.words == (
        "`lengths[1]` was 2, is another number; from here on any number fits for which "
        "`max(3, lengths[1]) == 3` holds"
    )
    assert "dynamic=True) skips" in change.advice
    # the condition failed again: any number was none of what came
    (change,) = advise.changes(run_of([second, third]))
    assert change.seconds == 3.0 and change.row == "integer used as a constant"
    assert change.advice.startswith("dynamic=True does not help")
    # the other way round the second compile is for another of the values
    second["reasons"] = ["0/0: lengths[1] == 5" + made]
    (change,) = advise.changes(run_of([second]))
    assert (
        "was 5, is another number; the compile for it fits the numbers for which "
        "`max(3, lengths[1]) == 3` holds" in change.words
    )
    assert change.advice.startswith("dynamic=True does not help")


def test_a_number_that_became_one_of_another_type_is_told_as_such():
    entry = again("/a/b.py", 1, 1.0, "x == 3")
    entry["guards"] = [{"text": "___check_type_id(L['x'], 7), type=<class 'float'>"}]
    (change,) = advise.changes(run_of([entry]))
    assert change.words == "`x` was 3, an int, is a float" and change.row == "type"
    # a constant of the new type is guarded by its value alone
    entry["guards"] = [{"text": "L['x'] == 3.0"}]
    (change,) = advise.changes(run_of([entry]))
    assert change.words == "`x` was 3, an int, is a float" and change.row == "type"
    assert "unrolls" not in change.advice
    entry["guards"] = [{"text": "___check_type_id(L['x'], 7), type=<class 'int'>"}]
    (change,) = advise.changes(run_of([entry]))
    assert change.row == "integer" and "any number fits" in change.words


def test_a_compile_that_does_not_read_a_number_does_not_fit_any():
    entry = again("/a/b.py", 1, 1.0, "self.at == 0")
    entry["guards"] = [{"text": "L['push'] == False"}, {"text": "not hasattr(L['self'], 'at')"}]
    (change,) = advise.changes(run_of([entry]))
    assert change.words == "`self.at` was 0, is another number; this compile does not depend on it"
    entry["guards"] += [{"text": "___check_type_id(L['self'].at, 7), type=<class 'int'>"}]
    (change,) = advise.changes(run_of([entry]))
    assert change.words == "`self.at` was 0, is another number; from here on any number fits"


LIBRARY = "/env/lib/python3.11/site-packages/torch/optim/adam.py"


def test_a_place_in_a_library_has_the_line_of_the_program_that_calls_it(tmp_path):
    stack = ["%s:7 in step: opt.step()" % (tmp_path / "train.py"), LIBRARY + ":214 in step: x"]
    run = run_of([dict(again(LIBRARY, 214, 1.0, REASONS[0]), user_stack=stack)])
    lines = advise.text(run).splitlines()
    assert lines[0].endswith("adam.py:214")
    assert lines[1].split() == ["called", "from", "train.py:7:", "opt.step()"]
    assert "    called from train.py:7: opt.step()" in summary.recompiles_text(run)


def test_a_setting_brings_the_import_that_it_needs(tmp_path):
    program = tmp_path / "logs.py"
    program.write_text("import torch\nfrom loggers import log\n\ndef f(x):\n    log.info(x)\n")
    met = {
        "reason": "logging.Logger method not supported for non-export cases",
        "explanation": "",
        "hints": ["Add the logging method to `torch._dynamo.config.ignore_logger_methods`."],
        "location": "%s:5" % program,
        "user_stack": ['File "%s", line 5, in f' % program, "  log.info(x)"],
    }
    entry = compiled(program, 4, 1.0, breaks=[met])
    (change,) = advise.changes(run_of([entry], program=str(program)))
    added = [line for line in change.patch.splitlines() if line.startswith("+")][1:]
    setting = "torch._dynamo.config.ignore_logger_methods.add(logging.Logger.info)"
    assert added == ["+import logging", "+", "+" + setting]
    assert change.words == "`log.info` logs a message in the middle of the graph."


NET = """import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x

{0}
"""


@pytest.mark.parametrize(
    "made, patched",
    [
        ("net = torch.compile(Net())", "net = torch.compile(Net(), dynamic=True)"),
        ("net = torch.compile(Net().eval(), mode='max-autotune')", "max-autotune', dynamic=True)"),
        ("net = Net()\nnet = torch.compile(net)", "net = torch.compile(net, dynamic=True)"),
        (
            "net = Net()\nnet.forward = torch.compile(net.forward)",
            "torch.compile(net.forward, dynamic=True)",
        ),
        ("net = torch.compile(Other())", ""),
        # both share the compiles of one code object
        (
            "a = torch.compile(Net())\nb = torch.compile(Net())",
            "a = torch.compile(Net(), dynamic=True)\nb = torch.compile(Net(), dynamic=True)",
        ),
    ],
)
def test_a_module_is_compiled_for_all_sizes_where_it_is_made(tmp_path, made, patched):
    program = tmp_path / "net.py"
    program.write_text(NET.format(made))
    size = "tensor 'x' size mismatch at index 0. expected 4, actual 5"
    (change,) = advise.changes(run_of([again(program, 4, 1.0, size)], program=str(program)))
    added = [line[1:] for line in change.patch.splitlines() if line.startswith("+")][1:]
    assert "\n".join(added).endswith(patched) if patched else added == [], added


_CLOSURE = """import torch

def maker(scale):
    {0}def step(x):
        return x * scale

    return step

{1}
"""


@pytest.mark.parametrize(
    "decorator, made, patched",
    [
        ("@torch.compile\n    ", "a, b = maker(1), maker(2)", "    @torch.compile(dynamic=True)"),
        (
            "",
            "a = torch.compile(maker(1))\nb = torch.compile(maker(2))",
            "a = torch.compile(maker(1), dynamic=True)\nb = torch.compile(maker(2), dynamic=True)",
        ),
        (
            "",
            "one = maker(1)\na = torch.compile(one)\nb = torch.compile(other())",
            "a = torch.compile(one, dynamic=True)",
        ),
    ],
)
def test_a_patch_is_for_each_function_that_one_code_object_makes(
    tmp_path, decorator, made, patched
):
    program = tmp_path / "closure.py"
    program.write_text(_CLOSURE.format(decorator, made))
    size = "tensor 'x' size mismatch at index 0. expected 4, actual 5"
    (change,) = advise.changes(run_of([again(program, 4, 1.0, size)], program=str(program)))
    added = [line[1:] for line in change.patch.splitlines() if line.startswith("+")][1:]
    assert "\n".join(added) == patched


@pytest.mark.parametrize(
    "head, made, patched",
    [
        (
            "from torch import compile as tc",
            "@tc(backend='eager')",
            "backend='eager', dynamic=True)",
        ),
        ("import torch as t", "@t.compile", "@t.compile(dynamic=True)"),
        ("import torch\njit = torch.compile", "@jit()", "@jit(dynamic=True)"),
        (
            "import functools, torch\njit = functools.partial(torch.compile, mode='default')",
            "@jit",
            "@jit(dynamic=True)",
        ),
        (
            "from torch import compile\nfrom functools import partial as p\njit = p(compile)",
            "@jit",
            "@jit(dynamic=True)",
        ),
        ("import functools, torch\njit = functools.partial(print, 1)", "@jit", ""),
    ],
)
def test_a_name_for_torchs_compile_is_known(tmp_path, head, made, patched):
    program = tmp_path / "named.py"
    text = head + "\n\n" + made + "\ndef f(x):\n    return x\n"
    program.write_text(text)
    line = text.split("@")[0].count("\n") + 1
    size = "tensor 'args' size mismatch at index 0. expected 4, actual 5"
    (change,) = advise.changes(run_of([again(program, line, 1.0, size)], program=str(program)))
    added = [line for line in change.patch.splitlines() if line.startswith("+")][1:]
    assert added[-1].endswith(patched) if patched else added == [], added


def test_a_module_of_torchs_is_placed_where_the_program_calls_it(tmp_path):
    program = tmp_path / "linear.py"
    program.write_text("import torch\nnet = torch.compile(torch.nn.Linear(3, 3))\nnet(x)\n")
    inner = "/lib/python3/site-packages/torch/_dynamo/external_utils.py"
    entry = again(inner, 67, 1.0, "tensor 'args[0]' size mismatch at index 0. expected 2, actual 3")
    entry["user_stack"] = [str(program) + ":3 in <module>: net(x)", inner + ":67 in inner: "]
    run = run_of([entry], program=str(program))
    (change,) = advise.changes(run)
    assert (change.file, change.line) == (str(program), 3)
    assert "+net = torch.compile(torch.nn.Linear(3, 3), dynamic=True)" in change.patch
    assert "external_utils" not in advise.text(run) + summary.recompiles_text(run)


def test_a_size_of_1_elsewhere_is_told_beside_the_size_that_torch_names():
    def guards(x, y):
        form = "check_tensor(L['%s'], Tensor, torch.float32, device=None, size=[%s], stride=[1])"
        return [{"text": form % ("x", x)}, {"text": form % ("y", y)}]

    reason = "tensor 'x' size mismatch at index 0. expected 4, actual 5"
    for before, listed in ((1, False), (3, True)):
        first = dict(compiled("/a/b.py", 1, 1.0, guards=guards(4, before)), compile_id="0/0")
        second = dict(again("/a/b.py", 1, 1.0, reason), guards=guards(None, None))
        second["compile_id"] = "0/1"
        function = {"name": "f", "filename": "/a/b.py", "firstlineno": 1}
        run = run_of([], functions=[dict(function, entries=[first, second])])
        assert bool(advise.changes(run)) == listed
        told = "y.size(0), which was 1, is another, too"
        assert (told in advise.text(run)) == (not listed)


def test_the_learning_rate_becomes_a_tensor_where_the_optimizer_is_made(tmp_path, monkeypatch):
    program = tmp_path / "own" / "train.py"
    program.parent.mkdir()
    program.write_text("import torch\nopt = torch.optim.AdamW(weights, lr=1e-3)\n")
    guard = "self.param_groups[0]['lr'] == 0.00087"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (change,) = advise.changes(run_of([again(LIBRARY, 214, 1.0, guard)], program=str(program)))
    assert "+opt = torch.optim.AdamW(weights, lr=torch.tensor(1e-3))" in change.patch
    assert "0.00087" not in change.advice
    # a name that `patch -p1` takes in the root
    assert change.patch.splitlines()[0] == "--- a" + str(program)


def test_a_recompile_that_needs_no_action_hides_no_other_of_the_same_function():
    apart = again("/a/b.py", 1, 2.0, "n != 1")
    decided = dict(again("/a/b.py", 1, 0.5, "n >= 0 and n <= x.size()[0]"), compile_id="1/2")
    run = run_of([apart, decided])
    (change,) = advise.changes(run)
    assert (change.row, change.seconds) == ("shape condition", 0.5)
    assert "what needs no action:\n     2.00 s" in advise.text(run)


def test_where_there_is_no_advice_torchs_own_hints_are_told(tmp_path):
    met = {"reason": "odd", "explanation": "An odd thing.", "hints": ["Do it otherwise."]}
    met["location"] = "/a/b.py:7"
    entry = compiled("/a/b.py", 1, 1.0, breaks=[met, dict(met, reason="other", hints=[])])
    assert advise.changes(run_of([entry])) == []
    lines = advise.text(run_of([entry])).splitlines()
    at = lines.index("torch's own hints, where there is no advice that was tested:")
    assert lines[at + 1].endswith("/a/b.py:7  An odd thing.")
    assert lines[at + 2].strip() == "Do it otherwise."


@pytest.mark.parametrize(
    "asked, index",
    [
        ("len(kept) == 0", 0),
        ("not kept.numel()", 0),
        ("len(kept) > 2", 1),
        ("kept.shape[0] == x.shape[0]", 1),
    ],
)
def test_what_decides_on_how_many_there_are_is_no_question_whether_there_is_any(
    tmp_path, asked, index
):
    program = tmp_path / "kept.py"
    program.write_text(
        "def f(x, mask):\n    kept = x[mask]\n    if %s:\n        return x\n" % asked
    )
    met = {"reason": "Dynamic shape operator", "location": "%s:2" % program}
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.row == "dynamic shape that decides"
    assert change.advice == breaks.BY_KEY[change.row].help[index].text


@pytest.mark.parametrize(
    "side, advised",
    [("break", breaks.LEAVES), ("continue", breaks.LEAVES), ("print(x)", breaks.LOOP)],
)
def test_a_condition_in_a_loop_is_not_advised_to_be_returned(tmp_path, side, advised):
    program = tmp_path / "rounds.py"
    program.write_text(
        "def f(x):\n    for _ in range(3):\n        if x.any():\n            %s\n        x = x + 1\n"
        "    return x\n" % side
    )
    met = dict(BRANCH, location="%s:3" % program, text="graph break in loop\n" + BRANCH["reason"])
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.advice == advised.help[0].text


@pytest.mark.parametrize(
    "body, advised",
    [
        ("if x[i]:\n            self.kept.append(i)", breaks.ROUNDS),
        ("x = x * 2\n        if x.any():\n            self.kept.append(x)", breaks.ROUNDS),
        ("x = x * 2\n        if x.any():\n            self.count += 1", breaks.ROUNDS),
        ("x = x * 2\n        if x.any():\n            kept.append(x)", breaks.LOOP),
    ],
)
def test_only_a_round_that_torch_need_not_compile_again_is_to_be_a_function(
    tmp_path, body, advised
):
    program = tmp_path / "rounds.py"
    program.write_text(
        "def f(self, x):\n    kept = []\n    for i in range(3):\n        %s\n    return x, kept\n"
        % body
    )
    line = program.read_text()[: program.read_text().index("if x")].count("\n") + 1
    met = dict(BRANCH, location="%s:%d" % (program, line))
    met["text"] = "graph break in loop\n" + BRANCH["reason"]
    failure = "Unsupported: " + BRANCH["reason"]
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met], failure=failure)]))
    assert change.advice == advised.help[0].text


@pytest.mark.parametrize("body, told", [("x = x + 1\n        print(i)", True), ("print(i)", False)])
def test_a_loop_without_anything_to_compile_is_not_to_be_a_function(tmp_path, body, told):
    program = tmp_path / "rounds.py"
    program.write_text("def f(x):\n    for i in range(3):\n        %s\n    return x\n" % body)
    line = program.read_text().count("\n") - 1
    said = {"reason": "print", "text": "graph break in loop", "location": "%s:%d" % (program, line)}
    assert any("a separate function" in one for one in words.of_break(said)["help"]) == told


def test_a_branch_around_a_loop_that_appends_is_nothing_for_torch_where(tmp_path):
    program = tmp_path / "around.py"
    program.write_text(
        "def f(self, x):\n    done = x > 0\n    if done.any():\n        for b in range(3):\n"
        "            self.kept.append(b)\n        x = x.masked_fill(done, 0)\n    return x\n"
    )
    met = dict(BRANCH, location="%s:3" % program)
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.advice.startswith(OUTSIDE)


@pytest.mark.parametrize(
    "rest, begin",
    [
        ("return x", "torch.where(condition"),
        ("x = x * 2\n    return x", "torch.where(condition"),
        ("warn(x)\n    return x", OUTSIDE),
        ("if x.sum() > 9:\n        raise ValueError\n    return x", OUTSIDE),
    ],
)
def test_what_follows_a_side_that_returns_is_the_other_side(tmp_path, rest, begin):
    program = tmp_path / "returned.py"
    program.write_text("def f(x):\n    if x.any():\n        return x + 1\n    %s\n" % rest)
    met = dict(BRANCH, location="%s:2" % program)
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.advice.startswith(begin)


@pytest.mark.parametrize(
    "test, met", [("x.any()", "BRANCH"), ("x.item() == 0", "ITEM")], ids=["branch", "item"]
)
def test_a_side_that_returns_from_a_loop_is_nothing_for_torch_where(tmp_path, test, met):
    program = tmp_path / "retried.py"
    program.write_text(
        "def f(x):\n    for _ in range(3):\n        if %s:\n            return x\n"
        "        x = x * 2\n    return x\n" % test
    )
    met = dict({"BRANCH": BRANCH, "ITEM": ITEM}[met], location="%s:3" % program)
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.advice == breaks.LEAVES.help[0].text


@pytest.mark.parametrize(
    "used, is_where",
    [
        ("q[n:] = 0", False),
        ("q[:, a : a + n] = 0", False),
        ("q = q[n]", False),
        ("q = q.view(n, 2)", False),
        ("q = q + sum(range(n))", False),
        ("note = f'{n}'", False),
        ("q = q * n", True),
        ("q = q[:2] * n", True),
    ],
)
@pytest.mark.parametrize("made", ["a = q.sum().item()", "a = q.sum()"])
def test_a_number_that_is_decided_and_bounds_a_slice_is_nothing_for_torch_where(
    tmp_path, made, used, is_where
):
    program = tmp_path / "bounds.py"
    program.write_text(
        "def f(q, n):\n    %s\n    if a > n:\n        n = 9 - n\n    %s\n    return q\n"
        % (made, used)
    )
    if "item" in made:
        met = dict(ITEM, location="%s:2" % program)
    else:
        met = dict(BRANCH, location="%s:3" % program)
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert ("torch.where" in change.advice) is is_where, change.advice


def test_a_setting_that_may_end_in_an_error_is_no_patch(tmp_path):
    program = tmp_path / "route.py"
    met = {"reason": "Dynamic shape operator", "location": "%s:4" % program}
    for more, patched in (("", True), (", x.bincount().tolist()", False)):
        program.write_text("import torch\n\ndef f(x):\n    y = x.nonzero()\n    return y" + more)
        (change,) = advise.changes(run_of([compiled(program, 3, 1.0, breaks=[met])]))
        assert bool(change.patch) == patched and "may raise an error" in change.advice


def test_an_exception_in_a_library_is_told_with_the_line_that_leads_there(tmp_path):
    program, inner = tmp_path / "p.py", tmp_path / "lib" / "python3.11" / "site-packages" / "l.py"
    inner.parent.mkdir(parents=True)
    inner.write_text("def g(x):\n    try:\n        x.y\n    except KeyError:\n        pass\n")
    program.write_text("def f(x):\n    g(x)\n")
    frames = [(program, 2, "f", "g(x)"), (inner, 3, "g", "x.y")]
    stack = [one for frame in frames for one in ('File "%s", line %d, in %s' % frame[:3], frame[3])]
    said = "Developer debug context: raised exception AttributeError()"
    met = {"reason": "Observed exception", "text": said, "hints": ["a hint"], "user_stack": stack}
    met.update(location="%s:3" % inner, explanation="Dynamo found no exception handler.")
    told = advise.text(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert "raises AttributeError() while torch traces it.\n" in told
    assert "called from your line p.py:2: g(x)\n" in told


def test_a_function_whose_loop_stays_uncompiled_has_no_figure(tmp_path):
    program = tmp_path / "rounds.py"
    program.write_text(
        "def f(x):\n    for _ in range(3):\n        if x.any():\n            print(x)\n        x = x + 1\n"
        "    return x\n"
    )
    met = dict(BRANCH, location="%s:3" % program, text="graph break in loop\n" + BRANCH["reason"])
    failure = "Unsupported: " + BRANCH["reason"]
    text = advise.text(run_of([compiled(program, 1, 1.0, breaks=[met], failure=failure)]))
    assert text.startswith("1. no figure  ") and "uncompiled at each call because of it" in text
    assert "The function with the loop stays uncompiled" in text


def test_what_needs_no_action_is_told_as_such():
    text = advise.text(run_of([again("/a/b.py", 1, 9.0, SMALL)]))
    assert text.startswith(
        "nothing to advise\nwhat needs no action:\n     9.00 s  /a/b.py:1  x.size"
    )
    filled = "kwargs['past_key_values'].layers[0].is_initialized == False"
    text = advise.text(run_of([again("/a/b.py", 1, 9.0, filled)]))
    assert "torch.where" not in text and "one compile for each is normal" in text


def test_what_has_no_name_in_the_program_is_not_advised_to_be_changed():
    for name in ("args[0]", "kwargs['x']"):
        size = "tensor '%s' size mismatch at index 0. expected 4, actual 5" % name
        text = advise.text(run_of([again("/a/b.py", 1, 9.0, size)]))
        assert "change: torch.compile(..., dynamic=True)" in text and "mark_" not in text
        small = "tensor '%s' size mismatch at index 0. expected 4, actual 1" % name
        assert "mark_unbacked" not in advise.text(run_of([again("/a/b.py", 1, 9.0, small)]))


BRANCH = {"reason": "Data-dependent branching", "explanation": "", "hints": []}


@pytest.mark.parametrize(
    "side, rest",
    [
        ("raise ValueError(x)", "return x"),
        ("return None", "return x"),
        ("print(x)", "return x"),
        ("return x, 1", "return x, 2"),
        ("box.skipped += 1\n        return x", "return x * 2"),
        ("box.modes['calm'] += 1\n        x = x * 2", "return x"),
        ("box.rate = max(box.rate * 0.9, 0.5)\n        x = x * 2", "return x"),
        ("box.count = box.count + 1\n        x = x * 2", "return x"),
        ("if y:\n            box.count += 1\n        x = x * 2", "return x"),
    ],
)
def test_torch_where_is_not_advised_for_what_is_no_value(tmp_path, side, rest):
    program = tmp_path / "sides.py"
    program.write_text(
        "import torch\n\ndef f(x):\n    if x.any():\n        %s\n    %s\n" % (side, rest)
    )
    met = dict(BRANCH, location="%s:4" % program)
    (change,) = advise.changes(run_of([compiled(program, 3, 1.0, breaks=[met])]))
    assert change.advice.startswith(OUTSIDE) and not change.patch


@pytest.mark.parametrize("side", ["self.h = x * 2", "self.h += x", "y[0] = x.sum()"])
def test_torch_where_is_advised_for_a_tensor_that_an_object_holds(tmp_path, side):
    program = tmp_path / "sides.py"
    program.write_text("def f(self, x, y):\n    if x.any():\n        %s\n    return x\n" % side)
    met = dict(BRANCH, location="%s:2" % program)
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.advice.startswith("torch.where")


@pytest.mark.parametrize(
    "before, branch",
    [
        ("g = [x]", "if x.any():\n        g = [y * 2 for y in g]"),  # a list is no tensor
        ("g = x", "if x.any():\n        g = g + 1\n    else:\n        g = (x, x)"),
        ("y = x", "if x.any():\n        g = y + 1"),  # nothing that g is otherwise
    ],
)
def test_a_patch_with_torch_where_has_two_tensors(tmp_path, before, branch):
    program = tmp_path / "sides.py"
    program.write_text(
        "import torch\n\ndef f(x):\n    %s\n    %s\n    return g\n" % (before, branch)
    )
    met = dict(BRANCH, location="%s:5" % program)
    (change,) = advise.changes(run_of([compiled(program, 3, 1.0, breaks=[met])]))
    assert not change.patch


@pytest.mark.parametrize(
    "branch, patch",
    [
        ("if x.any():\n        x = x * 2", "x = torch.where(x.any(), x * 2, x)"),
        ("if not x.all():\n        x = x * 2", "x = torch.where(x.all(), x, x * 2)"),
        ("if (x > 0).any() | (x < -1).any():\n        x = x.abs()", "x = torch.where("),
        ("if ok:\n        x = -x + 2", "x = torch.where(ok, -x + 2, x)"),
        ("if x.sum() > 0 and x.min() > 0:\n        x = x * 2", ""),  # `and` asks for a bool
        ("if x.sum():\n        x = x * 2", ""),  # a number is no condition
        ("if x.any():\n        x = x[:1]", ""),  # another shape
        ("if x.any():\n        x = x @ x", ""),
        ("if x.any():\n        x = x[rows]", ""),  # may raise where it is not chosen
        ("if x.any():\n        x = x / norm", ""),  # NaN gradients
        ("if x.any():\n        x = x.log()", ""),
        ("if x.any():\n        x = x.half()", ""),  # another dtype
        ("if x.any():\n        x = x.mul_(2)", ""),  # it does more than compute
        ("if x.any():\n        x = self.norm(x)", ""),
        ("if x.any():\n        x = note(x)", ""),
        ("if x.any():\n        x = torch.rand(3)", ""),
        ("if x.any():\n        n = n + 1", ""),  # a Python number
        ("if x.any():\n        return 1.0\n    return 0.0", ""),
    ],
)
def test_a_patch_with_torch_where_changes_no_result(tmp_path, branch, patch):
    program = tmp_path / "sides.py"
    program.write_text(
        "import torch\n\ndef f(self, x, rows, norm, n=0):\n    ok = x.sum() > 0\n    %s\n"
        "    return x\n" % branch
    )
    met = dict(BRANCH, location="%s:5" % program)
    (change,) = advise.changes(run_of([compiled(program, 3, 1.0, breaks=[met])]))
    added = [line for line in change.patch.splitlines() if line.startswith("+")][1:]
    assert added[0].strip("+ ").startswith(patch) if patch else not change.patch, change.patch


def test_a_patch_is_at_the_line_of_the_branch_behind_a_form_feed(tmp_path):
    program = tmp_path / "sides.py"
    lines = ["import torch", "name = 'Zoë\x0c\u2028'", "\x0c", "", "def f(x, größe):"]
    lines += ["    if größe.any() | x.any():", "        x = x * 2", "    return x", ""]
    program.write_text("\n".join(lines), encoding="utf-8")
    met = dict(BRANCH, location="%s:6" % program)
    (change,) = advise.changes(run_of([compiled(program, 5, 1.0, breaks=[met])]))
    gone = [line[1:] for line in change.patch.split("\n") if line.startswith("-")][1:]
    assert gone == lines[5:7]
    assert "+    x = torch.where(größe.any() | x.any(), x * 2, x)\n" in change.patch


def guards_of(names, dtype="torch.float32", requires_grad=False):
    """Guards of tensors, as torch 2.13 writes them."""
    text = "check_tensor(L['%s'], Tensor, DispatchKeySet(CPU), %s, device=None, requires_grad=%s, "
    return [
        {"text": text % (name, dtype, requires_grad) + "size=[3], stride=[1])"} for name in names
    ]


@pytest.mark.parametrize(
    "branch, of_floats, patched",
    [
        ("y = x + 1\n    if ok:\n        return y * 2\n    return y - x", False, True),
        (
            "count = (x > 0).sum()\n    if ok:\n        return count + 1\n    return y * 2",
            True,
            False,
        ),
        ("n = x.argmax()\n    if ok:\n        x = n * x\n    x = x", True, False),
        # integers become floats in one of the sides
        ("if ok:\n        x = -x / 2", False, False),
        ("if ok:\n        x = -x / 2", True, True),
        ("if ok:\n        x = x.sigmoid()", False, False),
        ("if ok:\n        x = x.sigmoid()", True, True),
        ("if ok:\n        x = x * 0.5", False, False),
        ("if ok:\n        return x.abs() * y\n    return x.abs()", False, False),
        ("if ok:\n        return x.abs() * y\n    return x.abs()", True, True),  # no gradients
        ("y = x.sum()\n    if ok:\n        return y * 0.5\n    return y.abs()", True, True),
    ],
)
def test_a_patch_with_torch_where_has_two_sides_of_one_dtype(tmp_path, branch, of_floats, patched):
    program = tmp_path / "sides.py"
    program.write_text(
        "import torch\n\ndef f(x, y):\n    ok = x.sum() > 0\n    z = y.abs()\n    %s\n"
        "    return x\n" % branch
    )
    line = program.read_text().split("if ok")[0].count("\n") + 1
    met = dict(BRANCH, location="%s:%d" % (program, line))
    dtype = "torch.float32" if of_floats else "torch.int64"
    entry = compiled(program, 3, 1.0, breaks=[met], guards=guards_of("xy", dtype))
    (change,) = advise.changes(run_of([entry]))
    assert ("torch.where(ok" in change.patch) == patched
    assert "dtype" in change.advice


ITEM = {
    "reason": "Unsupported Tensor.item() call with capture_scalar_outputs=False",
    "explanation": "Dynamo does not support tracing `Tensor.item()`",
    "url": "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html",
}


@pytest.mark.parametrize(
    "before, after",
    [
        ("import torch\nimport os\n", "f(1)\n"),
        ("import torch\n", "f(1)\nimport math\n"),  # what follows runs too late
        ("import os\nimport torch\nfrom math import pi\n", "if True:\n    f(1)\nimport sys\n"),
    ],
)
def test_a_setting_stands_before_what_runs(tmp_path, before, after):
    program = tmp_path / "setting.py"
    program.write_text(before + "def f(x):\n    return x.item() * 2\n" + after)
    line = before.count("\n") + 2
    met = dict(ITEM, location="%s:%d" % (program, line))
    document = dict(run_of([compiled(program, line - 1, 1.0, breaks=[met])]), program=str(program))
    (change,) = advise.changes(document)
    added = change.patch.splitlines()
    position = next(i for i, row in enumerate(added) if row.startswith("+torch._dynamo.config"))
    assert added[position - 2].strip() == before.splitlines()[-1]
    assert added[position + 1].strip() == "def f(x):"


PRINTED = {
    "reason": "Failed to trace builtin operator",
    "explanation": "Dynamo does not know how to trace builtin operator `print`",
    "hints": [],
}


@pytest.mark.parametrize(
    "text, line, met, begin",
    [
        # torch.where for each; the list itself is no tensor
        ("def f(x, g):\n    if x.any():\n        g = [y * 2 for y in g]\n", 2, BRANCH, OF_LIST),
        # what another function decides, no tensor can
        (
            "def f(x, env):\n    n = x.item()\n    return env.step(n)\n\n"
            "class Env:\n    def step(self, n):\n        return 1 if n else 2\n",
            2,
            ITEM,
            "If the result of the decision is not a tensor",
        ),
        # nor whether something is printed, or how often a loop runs
        (
            "def f(x):\n    if x[0].item() == 1:\n        print(x)\n    return x\n",
            2,
            ITEM,
            "If the result of the decision is not a tensor",
        ),
        (
            "def f(x):\n    n = x.item()\n    for _ in range(n):\n        x = x + 1\n    return x\n",
            2,
            ITEM,
            "If the result of the decision is not a tensor",
        ),
        (
            "def f(x):\n    n = x.item()\n    return x if n else -x\n",
            2,
            ITEM,
            "Decide with a tensor",
        ),
        # torch would lose the message
        (
            "class C(torch.autograd.Function):\n    def forward(ctx, x):\n        print(x)\n",
            3,
            PRINTED,
            "Print outside",
        ),
        # the graph's end would show what was changed in place after the line
        ("def f(x):\n    print(x)\n    x.add_(1)\n", 2, PRINTED, "Print outside"),
        ("def f(x):\n    print(x[:2])\n    g(x)\n", 2, PRINTED, "Print outside"),
        ("def f(x):\n    print(x + 1)\n    print(x)\n", 2, PRINTED, "Print outside"),
        ("def f(x):\n    print(x.sum())\n", 2, PRINTED, "torch._dynamo.config.reorderable"),
    ],
)
def test_the_advice_is_one_that_can_be_followed_there(tmp_path, text, line, met, begin):
    program = tmp_path / "program.py"
    program.write_text("import torch\n\n" + text)
    met = dict(met, location="%s:%d" % (program, line + 2))
    run = run_of([compiled(program, 3, 1.0, breaks=[met])], program=str(program))
    (change,) = advise.changes(run)
    assert change.advice.startswith(begin)


def test_what_saves_most_stands_first_also_where_a_compile_for_each_is_normal():
    entries = [again("/a/b.py", 1, 9.0, "flag == True"), again("/a/c.py", 2, 1.0, REASONS[2])]
    assert [one.row for one in advise.changes(run_of(entries))] == ["flag", "rank"]


@pytest.mark.parametrize("cost, chosen", [(2.5, "break"), (9.0, "recompile")])
def test_the_seconds_of_a_break_count_twice_since_it_costs_time_at_each_call(cost, chosen):
    broken = dict(compiled("/a/b.py", 1, 9.0, breaks=[dict(ITEM, location="/a/b.py:4")]), name="g")
    broken["metrics"].update(restart_reasons=["item"], dynamo_compile_time_before_restart_us=2e6)
    broken.update(replaced=True, verdict="exact")
    run = run_of([broken, again("/a/c.py", 2, cost, REASONS[2])])
    assert advise.changes(run, most=1)[0].kind == chosen
    # what is chosen stands in the order of what it saves
    assert [one.kind for one in advise.changes(run)] == ["recompile", "break"]


def test_what_runs_uncompiled_stands_first_and_says_why_it_is_listed():
    failed = compiled(
        "/a/b.py", 1, 0.02, failure="Unsupported: Dynamo does not trace RNN, GRU, or LSTM"
    )
    failed["breaks"] = [{"reason": "RNN, GRU, or LSTM", "text": failed["failure"]}]
    costlier = [again("/a/b.py", 5 + n, 9.0 - n, one) for n, one in enumerate(REASONS)]
    run = run_of([failed] + costlier)
    assert [one.line for one in advise.changes(run)] == [1, 5, 6]
    told = advise.text(run)
    assert told.count(" f runs uncompiled at each call because of it") == 1
    # compiled, as then it is, it may take longer
    assert (
        told.index("1. no figure") < told.index("uncompiled at each") < told.index("up to 9.00 s")
    )


def test_a_break_after_which_much_is_compiled_is_told_with_what_its_removal_saves(tmp_path):
    program = tmp_path / "broken.py"
    program.write_text("def f(x):\n    y = x + 1\n    y.item()\n    return x * 2\n")
    name = "torch_dynamo_resume_in_f_at_3"
    location = "%s:3" % program
    first = compiled(program, 1, 0.5, breaks=[dict(ITEM, location=location)], calls=[name])
    rests = [dict(compiled(program, 1, 4.0), compile_id="1/0")]
    rests += [
        dict(
            again(program, 1, 4.0, "tensor 'x' rank mismatch. expected 1, actual 2"), compile_id=one
        )
        for one in ("1/1", "1/2")
    ]
    place = {"filename": str(program), "firstlineno": 1}
    functions = [
        dict(place, name="f", entries=[first]),
        dict(place, name=name, global_name=name, is_resume=True, entries=rests),
    ]
    run = run_of([], functions=functions)
    told = advise.text(run, most=1)
    assert "broken.py:3" not in told.partition("breaks that are not listed")[0]
    below = told.partition("breaks that are not listed")[2]
    assert re.search(r"   up to \d+\.\d\d s  broken.py:3  A tensor's value is converted to", below)
    assert "12.00 s  broken.py" not in below  # one number: what the removal saves
    assert "breaks that are not listed" not in advise.text(run)  # all are listed


def test_a_key_that_came_is_named():
    text = advise.text(run_of([again("/a/b.py", 1, 9.0, "not ___dict_contains('labels', batch)")]))
    assert "the key 'labels' was not in batch, now is" in text


def test_a_break_that_ends_a_function_is_told_apart_from_the_same_elsewhere():
    looped = "%s\n  Skipping the frame: graph break in a for/while loop" % ITEM["reason"]
    breaks_met = [dict(ITEM, location="/a/b.py:3", text=text) for text in ("", looped)]
    entries = [compiled("/a/b.py", line, 1.0, breaks=[one]) for line, one in enumerate(breaks_met)]
    assert summary.breaks_text(run_of(entries)).count("torch skips the whole function") == 1


SIZE = "tensor 'x' size mismatch at index 1. expected 3, actual 4"


@pytest.mark.parametrize(
    "reason, guard, row",
    [
        (SIZE, "check_tensor(L['x'], Tensor, torch.float32, size=[2, 4], stride=[4, 1])", "size"),
        (
            "count == 2  # for i in range(count):  # b.py:3 in f",
            "L['count'] == 3",
            "integer",
        ),
        ("limit == 0.5", "L['limit'] == 1.5", "float"),
        ("self.limit == 0.5", "L['self'].limit == 1.5", "float attribute"),
    ],
)
def test_what_is_a_constant_again_is_not_advised_to_be_made_symbolic(reason, guard, row):
    def change_of(text):
        entry = dict(again("/a/b.py", 1, 9.0, reason), guards=[{"text": text}])
        return advise.changes(run_of([entry]))[0]

    change = change_of(guard)
    assert change.row == row + " used as a constant" and "do" in change.advice
    assert "is for that value only" in change.words and "not help" in change.advice
    other = guard.replace("[2, 4]", "[2, None]").replace("L['", "L['other_")
    assert change_of(other).row == row


def test_a_normal_recompile_of_what_torch_keeps_on_its_stack_is_left_out():
    small = "tensor '___stack0' size mismatch at index 0. expected 4, actual 1"
    assert advise.text(run_of([again("/a/b.py", 1, 9.0, small)])).startswith("nothing to advise")


def test_of_several_entries_that_of_the_same_mode_tells_the_cause():
    mode, size = "0/1: GLOBAL_STATE changed: grad_mode ", "0/0: " + REASONS[2]
    (change,) = advise.changes(run_of([compiled("/a/b.py", 1, 1.0, reasons=[mode, size])]))
    assert change.row == "rank"
    (change,) = advise.changes(run_of([compiled("/a/b.py", 1, 1.0, reasons=[mode])]))
    assert change.row == "global state"


@pytest.mark.parametrize("kind", ["a tensor type, '", "<class 'torch.Tensor'>,"])
def test_a_tensor_that_is_not_given_any_more_is_one_change_with_that_it_is_given(kind):
    found = "expected type of 'mask' to be %s but found <class 'NoneType'>" % kind
    entries = [again("/a/b.py", 1, 1.0, found), again("/a/b.py", 2, 1.0, "mask is None")]
    (change,) = advise.changes(run_of(entries))
    assert len(change.also) == 1 and "`mask` was a tensor, is None" in (
        change.words,
        change.also[0].words,
    )


def test_the_analysis_that_began_again_at_a_break_is_a_part_of_what_the_break_costs():
    first = dict(compiled("/a/b.py", 1, 9.0, breaks=[dict(ITEM, location="/a/b.py:4")]), name="g")
    first["metrics"].update(restart_reasons=["item"], dynamo_compile_time_before_restart_us=4e6)
    first.update(replaced=True, verdict="exact")
    (change,) = advise.changes(run_of([first]))
    assert change.seconds == 4.0
    text = advise.text(run_of([first]))
    assert "up to 4.00 s" in text and "4.00 s  analysis that torch discarded" in text


def test_the_analysis_that_begins_again_at_a_later_break_instead_is_not_saved(tmp_path):
    program = tmp_path / "later.py"
    program.write_text("def f(x):\n    a = x.item()\n    print(1)\n    return x * a\n")
    names = ["torch_dynamo_resume_in_f_at_%d" % line for line in (2, 3)]
    breaks = [dict(ITEM, location="%s:2" % program), dict(PRINTED, location="%s:3" % program)]
    first = compiled(program, 1, 9.0, breaks=breaks[:1], calls=names[:1])
    first["metrics"].update(restart_reasons=["item"], dynamo_compile_time_before_restart_us=8e6)
    first.update(name="g", replaced=True, verdict="exact", compile_id="0/0")
    rests = [
        dict(compiled(program, 1, 0.5, breaks=breaks[1:], calls=names[1:]), compile_id="1/0"),
        dict(compiled(program, 1, 0.25), compile_id="2/0"),
    ]
    place = {"filename": str(program), "firstlineno": 1}
    functions = [dict(place, name="f", entries=[first])]
    for name, rest in zip(names, rests):
        functions.append(dict(place, name=name, global_name=name, is_resume=True, entries=[rest]))
    run = run_of([], functions=functions)
    cost = {one.line: one.seconds for one in advise.changes(run)}
    assert cost[2] == 0.25  # half of the rest that is joined with what is before the break
    rests[0]["breaks"] = []
    assert {one.line: one.seconds for one in advise.changes(run)}[2] > 8


def test_the_functions_that_run_uncompiled_are_named_first():
    reached = compiled("/a/b.py", 1, 0.5, failure=LIMIT, qualname="Model.hook")
    failed = compiled("/a/b.py", 5, 0.5, failure="Unsupported: x", qualname="Model.forward")
    second = summary.summary(run_of([failed, reached])).splitlines()[1]
    assert second == (
        "       runs uncompiled: Model.forward %s; Model.hook %s, for calls that fit none of its "
        "compiles (recompile limit)"
        % (terminal.place("/a/b.py", 5, False), terminal.place("/a/b.py", 1, False))
    )
    assert "runs uncompiled" not in summary.summary(run_of([again("/a/b.py", 1, 1.0, "x == 2")]))


def test_functions_of_libraries_are_counted_apart():
    library = "/env/lib/python3.11/site-packages/torch/optim/adam.py"
    own, theirs = compiled("/a/b.py", 1, 1.0, failure=LIMIT), compiled(library, 3, 1.0)
    theirs["failure"] = "Unsupported: x"
    first = [summary.summary(run_of(one)).splitlines()[0] for one in ([own, theirs], [theirs])]
    assert "2 compiles of 1 function and 1 of libraries" in first[0]
    assert "1 compile of 1 function of libraries" in first[1]
    made = compiled("<string>", 1, 1.0, failure=LIMIT)
    assert "1 compile of 1 function in" in summary.summary(run_of([made]))


def test_the_rest_of_a_function_is_no_function_of_the_program():
    whole = dict(compiled("/a/b.py", 1, 1.0), name="a", replaced=True, verdict="exact")
    rest = compiled("/a/b.py", 3, 1.0)
    rest["metrics"]["co_name"] = "torch_dynamo_resume_in_f_at_3"
    assert summary.counts(run_of([whole, rest]))["functions"] == 1
    empty, failed = (
        compiled("/a/b.py", 5, 1.0),
        compiled("/a/b.py", 7, 1.0, failure="Unsupported: x"),
    )
    first = summary.summary(run_of([empty, failed])).splitlines()[0]
    assert first.endswith("1 of them failed, 1 of them had nothing to compile")
    assert "nothing to compile" not in summary.summary(run_of([whole, empty])).splitlines()[0]


def test_an_analysis_that_began_again_for_a_float_would_do_so_without_the_break():
    first = compiled("/a/b.py", 1, 9.0, breaks=[dict(ITEM, location="/a/b.py:4")], name="g")
    first["metrics"].update(restart_reasons=["item"], dynamo_compile_time_before_restart_us=2e6)
    again = compiled("/a/b.py", 7, 9.0, breaks=[dict(ITEM, location="/a/b.py:9")], name="h")
    reasons = ["item", "<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>"]
    again["metrics"].update(restart_reasons=reasons, dynamo_compile_time_before_restart_us=2e6)
    text = advise.text(run_of([first, again]))
    assert "analysis that torch discarded and restarted: item and for 1 other reason" in text
    assert (
        "Of the 2 compiles that began again, 1 (1/1) did so at a graph break (without it, torch does "
        "so at the next, if there is one); 1 (7/1) did so because of a float (TensorifyScalarRestartAnalysis). Torch took the float"
    ) in text


def symbol_of(source, value, file, line):
    stack = [{"filename": file, "line": line, "name": "f", "loc": "y = x * self.m"}]
    return {"symbol": "zf1", "val": value, "source": source, "user_stack": stack}


@pytest.mark.parametrize("second, fixed", [("0.9", True), ("0.8", False)])
def test_the_floats_of_the_program_for_which_an_analysis_began_again_are_named(second, fixed):
    library = "/lib/python3.11/site-packages/torch/nn/modules/sparse.py"
    entries = []
    for number, value in ((5, "0.9"), (7, second)):
        entry = compiled("/a/b.py", number, 9.0, name="h")
        entry["metrics"].update(restart_reasons=["TensorifyScalarRestartAnalysis"])
        entry["metrics"].update(dynamo_compile_time_before_restart_us=2e6)
        entry["symbols"] = [
            symbol_of("L['self']._modules['%s'].norm_type" % one, "2.0", library, 189)
            for one in "abcdef"
        ]
        entry["symbols"].append(symbol_of("L['self'].m", value, "/a/b.py", 46))
        entries.append(entry)
    text = advise.text(run_of(entries))
    assert "because of the floats `self.m` at b.py:46, " in text and ", 3 more (Tens" in text
    assert ("specialize_float = True" in text) == fixed


def test_a_float_that_a_break_left_has_no_name_of_torch(tmp_path):
    entry = compiled("/a/b.py", 5, 9.0, name="h")
    entry["metrics"].update(restart_reasons=["TensorifyScalarRestartAnalysis"])
    entry["metrics"].update(dynamo_compile_time_before_restart_us=2e6)
    entry["symbols"] = [symbol_of("L['___stack1']", "0.9", "/a/b.py", 46)]
    text = advise.text(run_of([entry]))
    assert "because of a value kept across the graph break at b.py:46 (Tensorify" in text
    assert "___stack" not in text


def test_of_modules_that_are_compiled_one_by_one_each_has_its_own_value(tmp_path):
    program = tmp_path / "blocks.py"
    program.write_text(
        "class Block:\n"
        "    def __init__(self, act, width):\n"
        "        self.act, self.width = act, width\n"
        "        self.calls = 0\n\n"
        "    def forward(self, x):\n"
        "        return x if self.act == 'none' else -x\n"
    )
    stack = (
        '  # return x if  # %s:7 in forward\nUser stack trace:\n  File "%s", line 7, in forward\n'
    )
    reason = "self.act == 'none'" + stack % (program, program)
    first = dict(compiled(program, 6, 1.0), compile_id="0/0", name="a")
    again = compiled(program, 6, 2.0, reasons=["0/0: " + reason])
    function = {"name": "forward", "filename": str(program), "firstlineno": 6}
    function.update(is_resume=False, entries=[first, dict(again, compile_id="0/1", name="b")])
    for each in function["entries"]:
        each.update(replaced=True, verdict="exact")
    (change,) = advise.changes(run_of([], functions=[function]))
    assert (
        change.row == "value of each object"
        and "compile the code that calls all of them" in change.advice
    )
    program.write_text(program.read_text() + "\nblock = Block('none', 3)\nblock.act = 'relu'\n")
    run = run_of([], functions=[function])
    assert advise.changes(run) == []
    assert (
        "The string selects what is computed" in advise.text(run).partition("needs no action:")[2]
    )


def test_a_text_that_picks_one_of_several_modules_takes_no_place(tmp_path):
    program = tmp_path / "heads.py"
    program.write_text(
        "class Net:\n    def forward(self, x, task):\n        return self.heads[task](x)\n"
    )
    stack = (
        "  # return self._modules[key]  # nn/modules/container.py:555 in __getitem__\n"
        'User stack trace:\n  File "%s", line 3, in forward\n    return self.heads[task](x)\n'
        '  File "/x/site-packages/torch/nn/modules/container.py", line 555, in __getitem__\n'
        "    return self._modules[key]\n"
    )
    reason = "task == 'topic'" + stack % program
    run = run_of([dict(again(program, 2, 2.0, reason), compile_id="0/1")])
    assert advise.changes(run) == []
    assert "task was 'topic'" in advise.text(run).partition("what needs no action:")[2]
    program.write_text(program.read_text().replace("(x)\n", "(x) * len(task)\n"))
    assert [one.row for one in advise.changes(run)] == ["text"]


def test_a_branch_on_a_number_that_asks_for_none_alone_is_advised_to_be_removed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "def f(x):\n    if x > 0.1:\n        x = 2\n    if x == 0:\n        return\n"
    )
    first = [
        words.of_break(
            {
                "reason": "Data-dependent branching",
                "location": "%s:%d" % (program, line),
                "text": "attempted to jump with SymNodeVariable",
                "url": "gb0170.html",
            }
        )["help"]
        for line in (2, 4)
    ]
    assert first[0][0].startswith("Decide with a tensor") and first[1][0].startswith(
        "If the branch only"
    )


def test_progress_names_a_function_alike_at_each_of_its_compiles():
    run = Run()
    function = Function("forward", "Decoder.forward")
    function.entries.append(Entry("0/0", name="a", finished=True))
    rest = Function("torch_dynamo_resume_in_step_at_9", "step", firstlineno=9, is_resume=True)
    rest.entries.append(Entry("2/0", name="b", finished=True))
    run.functions += [function, rest]
    progress = Progress()
    progress.run = run
    for compile_id, frame, name in (
        ("0/1", "/a/b.py:4 in forward: ", "Decoder.forward"),
        ("1/0", "/a/b.py:9 in torch_dynamo_resume_in_step_at_9: ", "step, resumed after line 9"),
        ("2/1", "", "step, resumed after line 9"),
    ):
        entry = Entry(compile_id, user_stack=[frame])
        run.unattributed[:] = [entry]
        assert progress._current()[1].startswith("compiling %s [%s]" % (name, compile_id))


def rest_of(line, number, seconds, *reasons, **more):
    """A compile of the rest of a function after a break, as torch numbers them."""
    made = compiled("/a/b.py", line, seconds, reasons=list(reasons), **more)
    made["metrics"]["co_name"] = "torch_dynamo_resume_in_f_at_%d" % line
    return dict(made, compile_id="%d/%d" % (line, number))


def test_what_a_limit_costs_are_the_recompiles_of_its_reason():
    entries = [rest_of(7, 0, 8.0), rest_of(7, 1, 4.0, "7/0: flag == True")]
    entries += [
        rest_of(7, n, 1.5, "7/%d: len(seen) == %d  # seen.append(x)  # /a/b.py:8 in f" % (n - 1, n))
        for n in range(2, 6)
    ]
    last = rest_of(7, 6, 0.25, "7/5: len(seen) == 6  # seen.append(x)  # /a/b.py:8 in f")
    growing, flag = advise.changes(run_of(entries + [dict(last, failure=LIMIT)]))
    assert growing.row == "growing list" and growing.seconds == 4 * 1.5 and growing.gave_up
    assert flag.row == "flag" and flag.seconds == 4.0
    # where there is no advice for the reason, the limit stands for the recompiles
    entries = [
        dict(one, reasons=[each.partition(": ")[0] + ": odd(seen)" for each in one["reasons"]])
        for one in entries[:1] + entries[2:] + [last]
    ]
    run = run_of(entries[:-1] + [dict(entries[-1], failure=LIMIT)])
    (change,) = advise.changes(run)
    assert change.row == "limit" and change.seconds == 4 * 1.5 + 0.25
    assert advise.text(run).startswith("1. 6.25 s spent")
    assert "no advice that was tested:" not in advise.text(run)
    # where torch tells no reason, what failed is all that is known
    alone = rest_of(7, 6, 0.25, failure=LIMIT)
    assert [one.seconds for one in advise.changes(run_of([alone]))] == [0.25]


def broken_function(*lines, seconds, restarted):
    """Compiles of a function with a break at each line, and of its rests, in a document."""
    functions = []
    for at, line in enumerate(lines):
        name = "torch_dynamo_resume_in_f_at_%d"
        made = compiled("/a/b.py", line, seconds, breaks=[dict(ITEM, location="/a/b.py:%d" % line)])
        made["metrics"].update(restart_reasons=["item"])
        made["metrics"].update(dynamo_compile_time_before_restart_us=restarted * 1e6)
        made.update(name="g%d" % at, calls=[name % line], compile_id="%d/0" % at)
        function = {"name": "f", "filename": "/a/b.py", "firstlineno": line, "entries": [made]}
        function.update(is_resume=at > 0, global_name=name % lines[at - 1] if at else "")
        if at:
            function["name"] = function["global_name"]
        functions.append(function)
        made.update(replaced=True, verdict="exact")
    return run_of([], functions=functions)


def test_an_analysis_that_began_again_for_a_float_is_not_counted_for_a_break():
    run = broken_function(3, seconds=4.0, restarted=3.0)
    metrics = run["functions"][0]["entries"][0]["metrics"]
    metrics["restart_reasons"] = ["item", "<class 'torch._dynamo.exc.TensorifyScalarRestart'>"]
    assert [one.seconds for one in advise.changes(run)] == [0.0]
    assert "3.00 s  analysis that torch discarded" in advise.text(run)


def test_each_second_of_a_change_counts_once_and_no_change_saves_more_than_all():
    # what follows one break holds another, at which its own analysis began again
    run = broken_function(3, 5, 7, seconds=4.0, restarted=3.0)
    (change,) = advise.changes(run)
    assert len(change.also) == 2
    assert change.seconds == 3.0 + 3.0 + 3.0  # where it began again is more than half of a compile
    assert "together" not in advise.text(run)  # one change alone


def test_what_changes_save_is_no_more_together_than_without_all_of_them():
    run = broken_function(3, 5, seconds=4.0, restarted=3.0)
    first = run["functions"][0]["entries"][0]
    second = dict(first, compile_id="0/1", reasons=["0/0: " + REASONS[2]])
    run["functions"][0]["entries"].append(second)
    lines = advise.text(run).splitlines()
    # 3 of the 4 s of the recompile are the analysis that began again at the break
    assert [one.seconds for one in advise.changes(run)] == [9.0, 1.0]
    assert [one.alone for one in advise.changes(run)] == [9.0, 4.0]
    assert "2. up to 1.00 s more" in [one.partition("  ")[0] for one in lines]
    told = "together up to 10.00 of the 12.00 s of compiling: each counts what those above it leave"
    assert told in lines
    # the rows below the changes overlap, too: 0/1 is a recompile that began again
    assert "compile time by what it was for, where a compile can count in several rows:" in lines
    assert sum(" s of compiling" in one or " in all" in one for one in lines) == 1  # one total
    apart = run_of([again("/a/b.py", 1, 2.0, "x == 2"), again("/a/c.py", 2, 1.0, REASONS[2])])
    assert "together" not in advise.text(apart) and "in all" not in advise.text(apart)
    assert " more" not in advise.text(apart)


def test_a_change_of_which_others_leave_nothing_takes_no_place_of_the_first():
    # each compile of the one function has two reasons; without either none is made
    def made(at, seconds):
        return {"%d/1" % at: seconds}

    given = {name: None for name in advise.Change._fields}
    given.update(kind="recompile", row="", also=(), gone=(), unsure=(), gave_up=0, alone=0.0)
    every = [
        advise.Change(**dict(given, line=1, each=dict(made(1, 4.0), **made(2, 4.0)), cause={})),
        advise.Change(**dict(given, line=2, each=made(1, 4.0), cause={})),
        advise.Change(**dict(given, line=3, each=made(2, 3.5), cause={})),
        advise.Change(**dict(given, line=4, each=made(3, 1.0), cause={})),
        advise.Change(**dict(given, line=5, each=made(4, 0.5), cause={})),
    ]
    every = [one._replace(seconds=sum(one.each.values())) for one in every]
    found = advise.order.taken_one_by_one(every, {}, advise.order.rank_of, 3)
    assert [(one.line, one.seconds) for one in found] == [(1, 8.0), (4, 1.0), (5, 0.5)]


def test_the_advice_of_recompiles_is_pointed_to_only_where_there_is_some():
    entries = [again("/a/b.py", 1, 2.0, "x == 2"), again("/a/b.py", 2, 1.0, SMALL)]
    assert "The advice for each is at the recompiles." in advise.text(run_of(entries[:1]))
    unknown = again("/a/b.py", 3, 3.0, "___unknown_guard(x)")
    assert (
        "Of the 3 compiles: the advice for 1 is at the recompiles; 1 needs no action (2/1); for 1 "
        "there is no advice that was tested (3/1)." in advise.text(run_of(entries + [unknown]))
    )
    assert "at the recompiles" not in advise.text(run_of([unknown]))


def test_a_recompile_of_several_causes_stands_by_the_seconds_of_all_without_a_figure():
    also = {"differing": ["CALLS"]}
    node = SimpleNamespace(reasons=[also])
    shared = change_of(1, {"0/1": 0.0})._replace(cause={"nodes": [node], "cost": 9.0})
    other = change_of(2, {"1/1": 1.0})
    order = advise.order.Order([other, shared])
    found = advise.order.taken_one_by_one([other, shared], {}, order.by_saving)
    assert [one.line for one in found] == [1, 2]
    assert saving(shared) == "no figure"
    also["differing"] = []
    assert [
        one.line for one in advise.order.taken_one_by_one([shared, other], {}, order.by_saving)
    ] == [2, 1]


def test_of_a_function_it_is_told_once_that_torch_gave_it_up():
    entries = [
        dict(again("/a/b.py", 1, 1.0 + n, one), compile_id="1/%d" % (n + 1))
        for n, one in enumerate(REASONS)
    ]
    reached = dict(compiled("/a/b.py", 1, 0.5, failure=LIMIT), compile_id="1/4")
    text = advise.text(run_of(entries + [reached]))
    assert (
        text.count("after 3 compiles") == 1
        and text.count("The seconds were spent") == 1
        and text.count("stopped compiling the function: see 1") == 2
    )


def test_other_reasons_of_a_recompile_are_told_in_a_sentence_of_their_own():
    entry = again("/a/b.py", 1, 1.0, SIZE)
    entry["guards"] = [
        {"text": "check_tensor(L['x'], Tensor, torch.float32, size=[2, 4], stride=[4, 1])"}
    ]
    entry["reasons"].append("0/1: self.count == 2")
    (change,) = advise.changes(run_of([entry]))
    assert change.words.endswith(
        "is for that value only. Earlier compiles did not fit for other reasons, too: "
        "`self.count` was 2, is another number"
    )


def called_at_a_break(tmp_path, body):
    """A run of a function that torch gave up at a break in its loop, and of one that it calls,
    which recompiles for its argument.
    """
    program = tmp_path / "b.py"
    program.write_text("def h(scale):\n    return scale * 2\n\n" + body)
    at = body[: body.index("h(")].count("\n") + 4
    looped = dict(ITEM, location="%s:%d" % (program, at))
    outer = compiled(program, 4, 1.0, breaks=[looped], failure="Unsupported: " + ITEM["reason"])
    outer.update(compile_id="1/0", user_stack=["%s:4 in g: " % program], qualname="g")
    inner = [
        dict(compiled(program, 1, 2.0), compile_id="2/0", name="c"),
        dict(again(program, 1, 3.0, "scale == 2"), compile_id="2/1", name="d"),
    ]
    stack = ["%s:%d in g: h(x)" % (program, at), "%s:1 in h: " % program]
    for one in inner:
        one.update(user_stack=list(stack), replaced=True, verdict="exact")
    function = {"name": "h", "filename": str(program), "firstlineno": 1, "entries": inner}
    return run_of([outer], functions=[function])


def test_a_recompile_for_what_a_loop_of_compiled_code_makes_goes_away_with_the_break(tmp_path):
    run = called_at_a_break(tmp_path, "def g(x):\n    for n in (2, 3):\n        h(n)\n")
    (change,) = advise.changes(run)
    assert change.kind != "recompile" and [one.line for one in change.gone] == [1]
    assert change.seconds == 1.0 + 3.0
    assert "also removes: b.py:1  scale was 2" in advise.text(run)
    # what an object holds is guarded in the code that takes the function in, too
    run["functions"][0]["entries"][1]["reasons"] = ["2/0: self.scale == 2"]
    assert len(advise.changes(run)) == 2


def test_a_recompile_for_what_compiled_code_hands_on_does_not_go_away(tmp_path):
    run = called_at_a_break(tmp_path, "def g(n):\n    for x in (2, 3):\n        h(n)\n")
    found = advise.changes(run)
    assert sorted(one.kind for one in found) == ["failure", "recompile"]
    assert "goes away" not in advise.text(run)


def test_a_recompile_without_advice_is_told_with_its_seconds():
    entries = [again("/a/b.py", 9, 3.0, "odd(x)"), again("/a/c.py", 9, 1.0, SIZE)]
    text = advise.text(run_of(entries))
    told = text.partition("recompiles for which there is no advice that was tested:\n")[2]
    assert told.splitlines()[0] == "     3.00 s  /a/b.py:9  the guard odd(x) no longer holds"


def test_one_advice_takes_one_place_also_where_only_one_of_its_patches_can_be_written(tmp_path):
    program = tmp_path / "net.py"
    program.write_text(NET.format("net = torch.compile(Net())\n\ndef helper(x):\n    return x"))
    entries = [again(program, line, 1.0, SIZE) for line in (4, 9)]
    (change,) = advise.changes(run_of(entries, program=str(program)))
    assert change.patch and change.seconds == 2.0 and [one.line for one in change.also] == [9]
    told = [one.strip() for one in advise.text(run_of(entries, program=str(program))).splitlines()]
    assert "not in the patch: give the torch.compile of f dynamic=True, too: net.py:9" in told
    # a setting is for the whole program
    both = advise.text(run_of([again(program, line, 1.0, "self.n == 2") for line in (4, 9)]))
    assert "not in the patch" not in both


@pytest.mark.parametrize("packs", [True, False])
def test_a_setting_for_an_rnn_is_not_advised_where_sequences_are_packed(tmp_path, packs):
    program = tmp_path / "packing.py"
    given = "pack_padded_sequence(x, lengths)" if packs else "x"
    program.write_text(
        "import torch\n\ndef f(x, lengths):\n    y = %s\n    return rnn(y)\n" % given
    )
    failure = "Unsupported: Attempted to wrap RNN, GRU, or LSTM"
    met = {"reason": "Attempted to wrap RNN, GRU, or LSTM", "text": failure}
    met["location"] = "%s:5" % program
    entry = compiled(program, 3, 1.0, failure=failure, breaks=[met])
    (change,) = advise.changes(run_of([entry], program=str(program)))
    assert change.row == ("packed sequence" if packs else "rnn")
    assert ("torch._dynamo.config.allow_rnn = True" in change.advice) != packs
    assert not change.patch  # an LSTM that is trained may end in an exception with it
    assert not packs or change.advice.startswith(
        "Pack, call the RNN, GRU or LSTM, and unpack outside"
    )


@pytest.mark.parametrize("kind", ["float", "int"])
def test_a_number_of_a_tensor_is_not_said_to_take_a_compile_for_each_value(tmp_path, kind):
    program = tmp_path / "observed.py"
    program.write_text("def f(x):\n    m = %s(x.max())\n    return x * m\n" % kind)
    met = dict(ITEM, location="%s:2" % program)
    broken = compiled(program, 1, 1.0, breaks=[met])
    size = again(program, 1, 2.0, "tensor 'x' size mismatch at index 0. expected 34, actual 28")
    text = advise.text(run_of([broken, size], program=str(program)))
    assert "first: " not in text and "dynamic=True" in text


def test_a_recompile_is_shown_at_the_line_that_changes_the_value(tmp_path):
    program = tmp_path / "counting.py"
    program.write_text("def f(self, x):\n    x = x + 1\n    self.count += 1\n    return x\n")
    reason = "self.count == 0  # self.count += 1  # %s:3 in f" % program
    for place, line in ((program, 3), ("/lib/python3.11/site-packages/torch/a.py", 1)):
        run = run_of([again(program, 1, 1.0, reason.replace(str(program), str(place)))])
        text = advise.text(run)
        assert text.startswith("1. up to 1.00 s  counting.py:%d\n" % line), text
        assert "up to 1.00 s  recompile  counting.py:%d " % line in summary.summary(run)


def test_a_constant_that_is_computed_from_several_floats_is_not_said_to_be_decided_on():
    reason = "(m + self.high) == 2.125  # (fx/passes/_tensorify_python_scalars.py:429 in _impl)"
    said = words.of_reason("0/0: " + reason)
    assert "a constant of the floats `m`, `self.high`" in said["words"] and not said["help"]


def test_a_line_that_torch_gives_up_in_a_loop_has_one_change(tmp_path):
    program = tmp_path / "rounds.py"
    program.write_text(
        "def one(x):\n    if x.sum().item() > 3:\n        return x, True\n    return x, False\n\n"
        "def f(x):\n    for _ in range(3):\n        x, stop = one(x)\n        if stop:\n"
        "            break\n    return x\n"
    )
    met = dict(ITEM, location="%s:2" % program)
    looped = dict(met, text="graph break in loop\n" + ITEM["reason"])
    looped["user_stack"] = [
        'File "%s", line 8, in f' % program,
        'File "%s", line 2, in one' % program,
    ]
    failure = "Unsupported: " + looped["text"]
    entries = [
        compiled(program, 6, 1.0, failure=failure, breaks=[looped]),
        compiled(program, 1, 3.0, breaks=[met]),
    ]
    run = run_of(entries, program=str(program))
    (change,) = advise.changes(run)
    assert change.advice == breaks.LEAVES.help[0].text
    assert advise.text(run).count("change: ") == 1


def in_comprehension(tmp_path):
    """A run in which torch gives a function up, and then compiles its comprehension by itself."""
    program = tmp_path / "named.py"
    program.write_text(
        "def f(x, names):\n    for _ in range(3):\n        x = x + 1\n"
        "        if x.sum().item() > 9:\n            break\n    return [names[k] for k in x.tolist()]\n"
    )
    looped = dict(ITEM, location="%s:4" % program, text="graph break in loop\n" + ITEM["reason"])
    looped["user_stack"] = ['File "%s", line 4, in f' % program]
    failure = "Unsupported: " + looped["text"]
    outer = compiled(program, 1, 1.0, failure=failure, breaks=[looped])
    outer["reasons"] = ["0/0: ___check_global_state() grad_mode"]
    met = {
        "reason": "Unsupported next(): missing tp_iternext",
        "explanation": "Dynamo does not support next() on list_iterator.",
        "url": "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0811.html",
        "hints": ["Add tp_iternext_impl to this VariableTracker subclass."],
        "location": "%s:6" % program,
        "text": "Unsupported next(): missing tp_iternext",
    }
    inner = compiled(program, 6, 0.25, failure="Unsupported: " + met["text"], breaks=[met])
    inner["metrics"]["co_name"] = "<listcomp>"
    inner["user_stack"] = ['File "%s", line 6, in f' % program]
    return run_of([outer, inner], program=str(program))


def test_a_comprehension_that_torch_compiles_by_itself_goes_with_what_its_function_breaks_at(
    tmp_path,
):
    run = in_comprehension(tmp_path)
    nodes = overview.nodes_of([run])
    assert nodes[1].failure["row"] == "iterator" and not nodes[1].failure["help"]
    nodes[1].outer = nodes[0]
    causes = overview.causes(nodes)
    found = advise.finding.changes_of(run, nodes, causes)
    (change,) = advise.listing._listed(found, 3)
    assert change.advice == breaks.LEAVES.help[0].text
    assert [one.line for one in change.gone] == [6]
    told_of = advise.terminal._told_of([change])
    assert not advise.terminal._hinted(causes, told_of, False)
    # and a compile that failed is told once
    assert not advise.terminal._without_advice(found, causes, told_of, False)


def test_one_compile_for_each_class_of_a_module_needs_no_action():
    reason = "___check_type_id(self._modules['body']._modules['1'], 1), type=<class 'nn.Tanh'>"
    run = run_of([again("/a/b.py", 1, 1.0, reason)])
    (node,) = overview.nodes_of([run])
    assert node.reasons[0]["row"] == "class of a module"
    assert not advise.changes(run) and "what needs no action:" in advise.text(run)


@pytest.mark.parametrize("first, saved", [(0.5, 0.5), (9.0, 2.0)])
def test_symbolic_sizes_save_the_compile_for_one_size(first, saved):
    reason = "tensor 'x' size mismatch at index 0. expected 34, actual 28"
    entries = [
        dict(compiled("/a/b.py", 1, first), compile_id="0/0"),
        dict(again("/a/b.py", 1, 2.0, reason), compile_id="0/1"),
    ]
    (change,) = advise.changes(run_of(entries))
    assert "dynamic=True" in change.advice and change.seconds == saved


def test_a_limit_reached_by_a_value_that_a_break_keeps_names_that_break():
    name = "torch_dynamo_resume_in_f_at_46"
    freed = "Cache line invalidated because L['___stack0'] got deallocated"
    again_at = [again("/a/b.py", 46, 0.5, freed) for _ in range(2)]
    reached = compiled("/a/b.py", 46, 0.5, failure=LIMIT)
    for number, one in enumerate(again_at + [reached], 1):
        one["compile_id"] = "6/%d" % number
    function = {"name": name, "global_name": name, "is_resume": True, "source": ""}
    function.update(filename="/a/b.py", firstlineno=46, entries=again_at + [reached])
    (change,) = [one for one in advise.changes(run_of([], functions=[function])) if one.advice]
    assert change.advice.startswith("Remove the graph break at /a/b.py:46, as the advice")


def test_a_change_has_one_number_however_many_are_told():
    entries = [again("/a/b.py", at, 1.0 + at, reason) for at, reason in enumerate(REASONS, 1)]
    # a function that runs uncompiled is among the first, whatever it saves
    failed = compiled("/a/b.py", 9, 0.02, failure="Unsupported: RNN, GRU, or LSTM")
    failed["breaks"] = [{"reason": "RNN, GRU, or LSTM", "text": failed["failure"]}]
    entries.append(failed)
    numbers = {}
    for most in (3, 4, 100):
        text = advise.text(run_of(entries), most=most)
        numbers[most] = re.findall(r"(?m)^\d+\. .*$", text)
        assert [one.line for one in advise.changes(run_of(entries), most)] == [
            int(one.rpartition(":")[2]) for one in numbers[most]
        ]
    assert len(numbers[100]) == len(entries)
    assert numbers[100][:3] == numbers[3] and numbers[100][:4] == numbers[4]


DRAG = """import torch

class Water:
    def __init__(self, drag):
        self.drag = drag

    def step(self, x):
        return self.damped(x * self.drag)

    def damped(self, x):
        {0}
        return x

step = torch.compile(Water(0.0).step)
"""


@pytest.mark.parametrize("body, row", [("if self.drag > 0: x = -x", True), ("x = -x", False)])
def test_no_tensor_is_advised_for_an_attribute_on_which_a_method_decides(tmp_path, body, row):
    program = tmp_path / "water.py"
    program.write_text(DRAG.format(body))
    reason = "self.drag == 0.0  # return self.damped(x * self.drag)  # %s:8 in step" % program
    (change,) = advise.changes(run_of([again(program, 7, 1.0, reason)], program=str(program)))
    assert (change.row == "float that decides") is row
    helped = change.cause["reason"]["help"]
    assert any("a tensor where the program sets it" in one for one in helped) is not row


COUNTED = """import torch

class Sampler:
    def __init__(self):
        self.at, self.times = 0, []

    def step(self, x):
        last = self.at + 1 >= len(self.times)
        self.at += 1
        return self.scaled(x) if last else x

    def scaled(self, x):
        return x * self.at
"""


def test_what_decides_on_a_number_is_known_wherever_else_the_number_is_used(tmp_path):
    program = tmp_path / "sampler.py"
    program.write_text(COUNTED)
    form = "self.at == 0  # %s  # %s:%d in %s"
    lines = COUNTED.splitlines()
    told = [form % (lines[at - 1].strip(), program, at, "f") for at in (8, 13)]
    run = run_of([again(program, at, 1.0, one) for at, one in zip((7, 12), told)])
    found = advise.Advice(run).listed()
    every = [one for each in found for one in (each,) + each.also]
    assert [one.row for one in every] == ["counter that decides"] * 2
    assert "make it a tensor" not in advise.text(run)


def change_of(line, each, gave_up=0, function=None):
    given = {name: None for name in advise.Change._fields}
    given.update(kind="recompile", row="", file="/a/b.py", also=(), gone=(), unsure=(), alone=0.0)
    given.update(line=line, each=each, gave_up=gave_up, function=function, seconds=0.0, cause={})
    return advise.Change(**given)


def test_of_a_function_that_torch_gave_up_one_cause_is_first_and_others_by_what_they_save():
    given_up = [change_of(at, {"0/%d" % at: 3.0 - at}, 8, "f") for at in (1, 2)]
    others = [change_of(at, {"%d/1" % at: float(at)}, 0, "g") for at in (3, 4, 5)]
    order = advise.order.Order(given_up + others)
    found = advise.order.taken_one_by_one(given_up + others, {}, order.rank, 3, order.told)
    assert [one.line for one in found] == [1, 5, 4]


def test_what_saves_about_the_same_stands_by_the_number_of_compiles_then_by_place():
    def ordered(first, second, third):
        every = [
            change_of(1, {"1/1": first}),
            change_of(2, {"2/1": second}),
            change_of(3, {"3/1": third / 2, "3/2": third / 2}),
            change_of(4, {"4/1": 90.0}),
        ]
        order = advise.order.Order(every)
        return [one.line for one in advise.order.taken_one_by_one(every, {}, order.by_saving)]

    for seconds in ((2.2, 2.3, 2.2), (2.3, 2.2, 2.2), (2.2, 2.2, 2.3)):
        assert ordered(*seconds) == [4, 3, 1, 2]


TWO = """import torch

class Water:
    @torch.compile
    def step(self, x):
        y = x.sum().item()
        return self.speed(x) * y

    def speed(self, x):
        return x * 2

@torch.compile
def energy(x):
    return x.sum()
"""


def test_each_compiled_function_of_a_change_has_its_own_patch(tmp_path):
    program = tmp_path / "two.py"
    program.write_text(TWO)
    name = "torch_dynamo_resume_in_step_at_6"
    first = compiled(program, 4, 1, breaks=[dict(ITEM, location="%s:6" % program)], calls=[name])
    place = {"filename": str(program)}
    rest = dict(place, name=name, global_name=name, is_resume=True, firstlineno=6)
    rest["entries"] = [dict(again(program, 6, 4.0, SIZE), compile_id="5/1")]
    whole = dict(place, name="step", firstlineno=4, entries=[first])
    other = dict(place, name="energy", firstlineno=12, entries=[again(program, 12, 2.0, SIZE)])
    run = run_of([], functions=[whole, rest, other], program=str(program))
    found = [one for one in advise.changes(run) if one.kind == "recompile"]
    assert [(one.line, one.seconds, one.also) for one in found] == [(6, 4.0, ()), (12, 2.0, ())]
    assert "+    @torch.compile(dynamic=True)\n     def step" in found[0].patch
    assert "+@torch.compile(dynamic=True)\n def energy" in found[1].patch


@pytest.mark.parametrize("head, inside", [("for x in xs", False), ("for x in split(xs)", True)])
def test_a_size_of_what_the_caller_gives_a_loop_is_no_reason_of_the_loop(tmp_path, head, inside):
    program = tmp_path / "loop.py"
    text = "def net(x):\n    return x\n\ndef step(xs):\n    %s:\n        net(x).item()\n" % head
    program.write_text(text)
    found = given.made_inside((str(program), 6), (str(program), 1), "x")
    assert found is inside


CONDITION = (
    "3*x.size()[2]*x.size()[3] <= 20480  # return F.conv2d(  # "
    "lib/python3/site-packages/torch/nn/modules/conv.py:560 in _conv_forward"
)


def test_what_a_library_decides_on_takes_no_place_of_what_the_program_can_change():
    other = again("/a/b.py", 2, 1.0, REASONS[2])
    run = run_of([again("/a/b.py", 1, 9.0, CONDITION), other])
    assert [one.line for one in advise.changes(run)] == [2]
    told = advise.text(run).partition("what needs no action:")[2]
    assert "     9.00 s  /a/b.py:1  " in told and "A library decides on this size" in told
    # what the program's own line decides, it can change
    path = "lib/python3/site-packages/torch/nn/modules/conv.py:560"
    own = again("/a/b.py", 1, 9.0, CONDITION.replace(path, "b.py:4"))
    assert [one.line for one in advise.changes(run_of([own, other]))] == [1, 2]


@pytest.mark.parametrize("rest, first", [("return x + 1", 2), ("return x[x > 0]", 4)])
def test_what_runs_uncompiled_for_another_line_too_is_not_first_for_the_one(tmp_path, rest, first):
    program = tmp_path / "kept.py"
    program.write_text("def f(x):\n    y = x.item()\n    x = x * y\n    %s\n" % rest)
    failed = compiled(program, 1, 0.02, failure="Unsupported: Tensor.item")
    failed["breaks"] = [dict(ITEM, location="%s:2" % program, text=failed["failure"])]
    entries = [again("/a/b.py", 4 + n, 9.0 - n, one) for n, one in enumerate(REASONS)]
    changes = advise.changes(run_of([failed] + entries), most=1)
    assert changes[0].line == first


def test_a_patch_of_a_setting_is_for_the_program_wherever_its_dump_is_read(tmp_path, monkeypatch):
    program = tmp_path / "made" / "numbers.py"
    program.parent.mkdir()
    program.write_text("import torch\n\ndef f(x):\n    return x.item() + 1\n")
    cut = dict(ITEM, location="%s:4" % program)
    run = run_of([compiled(program, 3, 1.0, breaks=[cut])], program="numbers.py")
    (change,) = advise.changes(run)
    assert "+torch._dynamo.config.capture_scalar_outputs = True" in change.patch


def test_the_summary_the_advice_the_readme_and_the_page_have_one_order_and_one_figure(tmp_path):
    entries = [
        again("/a/b.py", 1, 9.0, "tensor 'x' size mismatch at index 0. expected 4, actual 5")
    ]
    entries += [again("/a/b.py", 2, 3.0, CONDITION), again("/a/b.py", 3, 2.0, REASONS[2])]
    entries += [compiled("/a/b.py", 4, 0.5, failure="Unsupported: RNN, GRU, or LSTM")]
    run = run_of(entries, program="/a/b.py")
    listed = advise.Advice(run)
    order = [(9.0, 1), (2.0, 3)]
    assert listed.listed()[0].line == 4  # it raises
    assert [(one.seconds, one.line) for one in listed.listed()][1:] == order
    figures = ["up to 9.00 s", "up to 2.00 s"]
    told = summary.summary(run)
    assert [one.strip()[:12] for one in told.splitlines() if "recompile  " in one] == figures
    assert re.findall(r"(?m)^\d\. (up to \S+ s)", advise.text(run))[:2] == figures
    assert [one.split(", ")[0][3:] for one in listed.brief()][1:] == figures
    rows = front.cause_rows(listed)
    assert [one["saved"] for one in rows[1:3]] == figures
    # each help that the summary gives is that of the change
    assert "help: " + listed.listed()[1].advice.replace("`", "") in told


def test_the_changes_of_a_run_are_found_once_for_its_files(tmp_path, monkeypatch):
    found = []
    real = advise.listing.changes_of
    monkeypatch.setattr(
        advise.listing, "changes_of", lambda *given: found.append(1) or real(*given)
    )
    run = run_of([again("/a/b.py", 1, 9.0, "x == 2")])
    listed = advise.Advice(run)
    for tell in (listed.brief, listed.ranked, listed.heads):
        tell()
    advise.text(run, advice=listed)
    summary.summary(run, advice=listed)
    front.cause_rows(listed)
    assert len(found) == 1


@pytest.mark.parametrize(
    "side, seconds, breaks_at",
    [
        ("y = y * 2", "up to ", 0),
        ("y[0] = 1.0", "up to ", 0),
        ("y[x.argmax()] = 1.0", "may save or cost", 6),
    ],
)
def test_a_side_that_breaks_the_graph_itself_is_told_to_stay(tmp_path, side, seconds, breaks_at):
    program = tmp_path / "sides.py"
    text = (
        "import torch\n\ndef f(x):\n    y = x + 1\n    if y.sum() == 0:\n        %s\n    return y\n"
    )
    program.write_text(text % side)
    met = dict(BRANCH, location="%s:5" % program)
    broken = compiled(program, 3, 1.0, breaks=[met])
    broken["metrics"].update(restart_reasons=["x"], dynamo_compile_time_before_restart_us=5e5)
    told = advise.text(run_of([broken, again(program, 3, 0.1, "x == 2")]))
    assert re.search(r"(?m)^\d\. %s.*sides.py:5$" % seconds, told), told
    assert ("then the graph breaks at sides.py:%d" % breaks_at in told) == bool(breaks_at)


def test_a_loop_that_torch_unrolls_once_nothing_keeps_its_function_out_is_named(tmp_path):
    program = tmp_path / "loops.py"
    program.write_text(
        "def f(xs):\n    n = 0\n    for x in xs:\n        n += x.item()\n    return n\n"
    )
    failed = compiled(program, 1, 0.5, failure="Unsupported: Tensor.item")
    stack = ['  File "%s", line 4, in f\n    n += x.item()\n' % program]
    met = dict(ITEM, location="%s:4" % program, text=failed["failure"], user_stack=stack)
    failed["breaks"] = [met]
    (change,) = advise.changes(run_of([failed]))
    (told,) = advise.wording._unrolled(change._replace(advice="a setting"), False) or [""]
    assert told.startswith("then torch unrolls the loop at loops.py:3: ")


@pytest.mark.parametrize("head, told", [("for x in xs", True), ("while xs.sum() > n", False)])
def test_a_while_is_not_said_to_be_unrolled_as_it_may_break_in_each_round(tmp_path, head, told):
    program = tmp_path / "loops.py"
    program.write_text("def f(xs, n):\n    %s:\n        n += xs.item()\n    return n\n" % head)
    failed = compiled(program, 1, 0.5, failure="Unsupported: Tensor.item")
    stack = ['  File "%s", line 3, in f\n    n += xs.item()\n' % program]
    met = dict(ITEM, location="%s:3" % program, text=failed["failure"], user_stack=stack)
    failed["breaks"] = [met]
    (change,) = advise.changes(run_of([failed]))
    rows = advise.wording._unrolled(change._replace(advice="a setting"), False)
    assert bool(rows) == told


@pytest.mark.parametrize(
    "body, begin",
    [
        ("x, n = g(x), n + 1", "torch._higher_order_ops.while_loop("),
        ("x += 1; show(x)", "Leave the loop out"),
        ("x = x * 2\n        if n > 9:\n            raise ValueError", "Leave the loop out"),
        ("self.x = x = x * 2", "Leave the loop out"),
    ],
)
def test_a_loop_that_does_more_than_compute_is_nothing_for_while_loop(tmp_path, body, begin):
    program = tmp_path / "rounds.py"
    program.write_text("def f(self, x, n):\n    while x.sum() < 9:\n        %s\n" % body)
    stack = ['  File "%s", line 2, in f' % program, "    while x.sum() < 9:"]
    met = {"reason": "Data-dependent branching", "url": "gb0170.html", "user_stack": stack}
    met["location"] = "%s:2" % program
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.row == "while" and change.advice.startswith(begin)


@pytest.mark.parametrize("test", ["torch.isfinite(x)", "not torch.isfinite(x)", "not x.any()"])
def test_a_negated_test_of_a_tensor_is_a_break_to_come(tmp_path, test):
    program = tmp_path / "tests.py"
    program.write_text("def f(x):\n    x = torch.sin(x)\n    if %s:\n        raise E\n" % test)
    assert uses.breaks_in(str(program), 2, False) == [3]


@pytest.mark.parametrize("fills", ["kept.update(xs)", "kept[n] = 1"])
def test_a_number_of_a_dict_that_the_function_fills_is_to_be_made_no_tensor(tmp_path, fills):
    program = tmp_path / "counts.py"
    program.write_text("kept = {}\n\ndef f(xs, n):\n    %s\n" % fills)
    form = (
        "0/0: dict.__getitem__(G['kept'], list(dict.keys(G['kept']))[0]) == %s  # %s  # %s:4 in f"
    )
    for value in ("1", "0.5"):
        said = words.of_reason(form % (value, fills, program))
        assert said["row"] == "growing dict", said


ROUNDS = (
    "import torch\n\ndef shown(x):\n    print(x)\n    return x\n\n"
    "def f(xs):\n    for x in xs:\n        n = x.item()\n        x = shown(x)\n%s    return n\n"
)


def given_up_in_a_loop(tmp_path, more, **shown):
    """A run of a function that torch gave up at `.item()` in a loop, and of one that it calls."""
    program = tmp_path / "rounds.py"
    program.write_text(ROUNDS % more)
    stack = ['  File "%s", line 9, in f\n    n = x.item()\n' % program]
    met = dict(ITEM, location="%s:9" % program, user_stack=stack)
    outer = compiled(program, 7, 1.0, breaks=[met], failure="Unsupported: Tensor.item")
    outer.update(compile_id="1/0", qualname="f", user_stack=["%s:7 in f: " % program])
    at = ["%s:10 in f: x = shown(x)" % program, "%s:3 in shown: " % program]
    inner = dict(compiled(program, 3, 2.0), compile_id="2/0", name="c", user_stack=at)
    inner = dict(inner, replaced=True, verdict="exact", **shown)
    function = {"name": "shown", "filename": str(program), "firstlineno": 3, "entries": [inner]}
    return run_of([outer], functions=[function])


@pytest.mark.parametrize(
    "more, met, left",
    [
        ("", True, "the next break there is rounds.py:4: until it is removed, too, "),
        ("        if x.sum().mean() > 1:\n            break\n", False, "may be rounds.py:11: "),
        ("        print(n)\n", False, "the next break there may be rounds.py:11: "),
        ("    print(n)\n", False, ""),
        ("    else:\n        print(n)\n", False, ""),
    ],
)
def test_a_change_after_which_another_break_keeps_a_function_uncompiled_has_no_figure(
    tmp_path, more, met, left
):
    prints = {"location": "%s:4" % (tmp_path / "rounds.py"), "reason": "Failed to trace print"}
    run = given_up_in_a_loop(tmp_path, more, breaks=[prints] if met else [])
    told = advise.text(run)
    assert (left in told) if left else ("the next break" not in told)
    assert ("1. no figure yet" in told) == bool(left)
    assert ("then torch unrolls" in told) == (not left)
    readme = "\n".join(advise.Advice(run).brief())
    assert ("no figure yet, " in readme) == bool(left)
    assert (left[:1].upper() + left[1:] in readme) or not left.startswith("the next")


@pytest.mark.parametrize("stays, gone", [(False, [1]), (True, [])])
def test_a_recompile_stays_where_another_break_keeps_what_calls_it_uncompiled(
    tmp_path, stays, gone
):
    body = "def g(x):\n    for n in (2, 3):\n        h(n)\n"
    body += "        if x.sum().mean() > n:\n            break\n" if stays else ""
    run = called_at_a_break(tmp_path, body)
    stack = ['  File "%s", line 6, in g\n    h(n)\n' % (tmp_path / "b.py")]
    run["unattributed"][0]["breaks"][0]["user_stack"] = stack
    run["unattributed"][0]["metrics"]["co_name"] = "g"
    found = advise.changes(run)
    assert [one.line for change in found for one in change.gone] == gone
    assert ("also removes" in advise.text(run)) == bool(gone)
    told = [gone_with for _, _, gone_with in advise.Advice(run).ranked().values()]
    assert any(one.startswith("Nothing is left") for one in told) == bool(gone)


def test_what_compiles_the_rest_again_and_again_comes_before_the_break_in_front_of_it(tmp_path):
    program = tmp_path / "grows.py"
    program.write_text(
        "def f(x):\n    x = x + 1\n    y = x.item()\n    seen.append(y)\n    return y\n"
    )
    name = "torch_dynamo_resume_in_f_at_3"
    met = dict(ITEM, location="%s:3" % program)
    whole = dict(compiled(program, 1, 1.0, breaks=[met], calls=[name]), compile_id="1/0", name="c")
    rests = [dict(compiled(program, 3, 1.0), compile_id="2/0", name="d")]
    for size in (1, 2, 3):
        reason = "2/%d: len(self.seen) == %d" % (size - 1, size - 1)
        rests.append(dict(again(program, 3, 1.0, ""), reasons=[reason], name="d%d" % size))
        rests[-1]["compile_id"] = "2/%d" % size
    functions = [
        {"name": "f", "filename": str(program), "firstlineno": 1, "entries": [whole]},
        dict(name=name, global_name=name, is_resume=True, entries=rests),
    ]
    functions[1].update(filename=str(program), firstlineno=3)
    run = run_of([], functions=functions)
    recompile, cut = advise.changes(run)
    assert (recompile.kind, cut.kind) == ("recompile", "break")
    told = advise.text(run)
    assert "2. no figure yet  grows.py:3\n" in told and "up to" in told.partition("\n")[0]
    assert (
        "first the change for grows.py:" in told and "compile the whole function as often" in told
    )
    # what the function itself is compiled again for, too, it would be compiled for anyway
    whole_again = dict(again(program, 1, 1.0, ""), reasons=["1/0: len(self.seen) == 0"], name="e")
    functions[0]["entries"].append(dict(whole_again, compile_id="1/1"))
    told = advise.text(run)
    assert "first the change" not in told
    # with which a run after a change can be compared
    assert told.endswith(
        "\nthis run: 6 compiles, 4 recompiles, 1 graph break; after a change, compare these"
    )


def test_of_several_lines_of_one_change_the_one_that_costs_most_is_named():
    said = {"reason": "item", "text": "call_function item"}
    found = []
    for line, spent in ((3, 0.1), (4, 2.0), (5, 0.5)):
        one = compiled("/a/b.py", line, 3.0, breaks=[dict(ITEM, location="/a/b.py:%d" % line)])
        one["metrics"].update(restart_reasons=[said["reason"]])
        one["metrics"]["dynamo_compile_time_before_restart_us"] = spent * 1e6
        found.append(dict(one, replaced=True, verdict="exact"))
    (change,) = advise.changes(run_of(found))
    assert change.line == 4 and [one.line for one in change.also] == [5, 3]


BACKWARD = {"reason": "Unsupported Tensor.backward() call", "explanation": "no", "hints": []}


def test_two_backward_passes_of_one_compiled_graph_are_told_beside_the_exception():
    text = "RuntimeError: Trying to backward through the graph a second time (or ...)"
    cuts = [dict(BACKWARD, location="/a/b.py:%d" % line) for line in (4, 9)]
    runs = [run_of([compiled("/a/b.py", 1, 1.0, breaks=cuts[:n])], error=text) for n in (1, 2)]
    one, both = map(advise.text, runs)
    assert "the exception" not in one
    assert both.startswith("the exception: .backward() is called at /a/b.py:4 and /a/b.py:9. ")
    assert "call .backward() once, on the sum of the losses" in both


GRADIENT = {
    "reason": "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`",
    "explanation": "no",
    "hints": ["Change `torch._dynamo.config.trace_autograd_ops` to `True`."],
}


@pytest.mark.parametrize("found", [BACKWARD, GRADIENT])
def test_torch_is_not_told_to_trace_backward_which_may_train_nothing(found):
    cut = dict(found, location="/a/b.py:9", hints=["Set torch._dynamo.trace_autograd_ops=True"])
    run = run_of([compiled("/a/b.py", 1, 1.0, breaks=[cut])])
    (change,) = advise.changes(run)
    assert change.advice and not change.patch
    assert "trace_autograd_ops = " not in advise.text(run)
    assert not overview.nodes_of([run])[0].breaks[0]["hints"]


@pytest.mark.parametrize("given", ["create_graph=True", "create_graph=twice", "retain_graph=True"])
def test_of_a_graph_that_is_differentiated_twice_the_second_gradient_is_told(given, tmp_path):
    program = tmp_path / "b.py"
    program.write_text(
        "def f(x):\n    y = x.sum()\n    g, = torch.autograd.grad(\n        y, x, %s)\n"
        "    g.sum().backward()\n" % given
    )
    cuts = [dict(GRADIENT, location="%s:4" % program), dict(BACKWARD, location="%s:5" % program)]
    text = (
        "RuntimeError: torch.compile with aot_autograd does not currently support double backward"
    )
    at = {"by": "torch", "program": "%s:5" % program}
    entry = compiled(program, 1, 1.0, breaks=cuts)
    run = dict(run_of([entry], program=str(program), error=text), raised_at=at)
    ended = [one for one in advise.changes(run) if one.ended]
    twice = given.startswith("create_graph")
    assert [one.row for one in ended] == ["gradient of a gradient"] * twice
    told = "The program ended with an exception, as a compiled graph was differentiated twice."
    assert (told in advise.text(run)) == twice
    assert "in code that torch made here" not in advise.text(run)


PACKED = {
    "reason": "Attempted to wrap RNN, GRU, or LSTM",
    "explanation": "Dynamo does not support RNN, GRU, or LSTM.",
    "url": "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0014.html",
}
COUNTING = """class Stats:
    def update(self):
        self.steps += 1

class Net:
    def forward(self, x):
        y = self.rnn(pack_padded_sequence(x))
        self.stats.update()
        return y
"""


def test_a_call_that_ran_uncompiled_is_not_to_be_compiled_with_the_code_around_it(tmp_path):
    program = tmp_path / "b.py"
    program.write_text(COUNTING)
    cut = dict(PACKED, location="%s:7" % program)
    outer = compiled(program, 6, 1.0, breaks=[cut], failure="Unsupported: " + PACKED["reason"])
    told = advise.text(run_of([outer])).splitlines()
    assert told[0].startswith("1. no figure  ") and told[0].endswith("b.py:7")
    (row,) = [one for one in told if "leave the call" in one]
    assert "leave the call self.stats.update(...) at b.py:8 outside, too" in row
    assert "runs uncompiled in this run, and changes self.steps" in row
    # where it is compiled once, all can be compiled together
    inner = dict(compiled(program, 2, 0.5), name="c", compile_id="3/0")
    text = advise.text(run_of([outer, inner]))
    assert text.startswith("1. no figure") and "leave the call" not in text
    recompiled = dict(again(program, 2, 0.5, "self.steps == 1"), name="d", compile_id="3/1")
    text = advise.text(run_of([outer, inner, recompiled]))
    assert "no figure  " in text and "outside, too: torch compiles it again and again" in text


def test_what_stays_beside_a_value_of_a_break_is_not_removed_with_the_break(tmp_path):
    program = tmp_path / "b.py"
    program.write_text("def f(x, log):\n    log['a'] = x.item()\n    return x * log['a']\n")
    location = "%s:2" % program
    name = "torch_dynamo_resume_in_f_at_2"
    of_object = "___stack0.__self__.ema[list(dict.keys(___stack0.__self__.ema))[0]] is None"
    texts = ["___stack0 == 0.5", "___stack0 == 0.5\nlen(log) == 0", of_object, "___stack0[1] == 2"]
    shown = []
    for reason in texts:
        first = compiled(program, 1, 1.0, breaks=[dict(ITEM, location=location)], calls=[name])
        rest = [dict(compiled(program, 2, 1.0), compile_id="5/0", name="r")]
        rest.append(dict(compiled(program, 2, 1.0), compile_id="5/1", name="s"))
        rest[1]["reasons"] = ["5/0: " + one for one in reason.splitlines()[:1]]
        functions = [
            {"name": "f", "filename": str(program), "firstlineno": 1, "entries": [first]},
            {
                "name": name,
                "global_name": name,
                "is_resume": True,
                "filename": str(program),
                "firstlineno": 2,
                "entries": rest,
            },
        ]
        nodes = overview.nodes_of([run_of([], functions=functions)])
        (recompile,) = [one for one in nodes if one.reasons]
        recompile.reasons[0]["beside"] = "log" if "log" in reason else ""
        cause = {"break": nodes[0].breaks[0], "nodes": nodes[:1]}
        shown.append(savings.is_of_break(recompile, cause))
    assert shown == [True, False, False, True]


def test_a_function_of_logging_is_told_at_the_line_that_logs(tmp_path, monkeypatch):
    program = tmp_path / "b.py"
    program.write_text("def f(x):\n    log.info(x)\n")
    file = "/usr/lib/python3.11/logging/__init__.py"
    stack = ['File "%s", line 2, in f' % program, "  log.info(x)"]
    entries = []
    for line, name in ((1488, "info"), (1622, "_log")):
        inside = stack + ['File "%s", line %d, in %s' % (file, line, name), "  msg"]
        met = {
            "reason": "logging.Logger method not supported for non-export cases",
            "explanation": "",
            "hints": [],
            "location": "%s:%d" % (file, line),
            "user_stack": inside,
        }
        entries.append(compiled(file, line, 1.0, breaks=[met], user_stack=inside))
    told = advise.text(run_of(entries)).splitlines()
    assert told[0].endswith("b.py:2") and told[1].startswith("   The line that logs runs as plain")
    assert not any("__init__.py" in one or one.startswith("   also") for one in told[:4])


def test_a_second_run_is_asked_for_after_the_changes():
    told = advise.text(run_of([again("/a/b.py", 1, 1.0, REASONS[0])]))
    assert "\nRun again after these: what is left is ordered anew.\n" in told
    assert "Run again" not in advise.text(run_of([]))


def test_torch_where_is_always_told_with_what_it_computes():
    rows = breaks.ROWS + recompiles.ROWS + (breaks.LOOP, breaks.LEAVES, breaks.LIBRARY)
    texts = [one.text for row in rows for one in row.help if "torch.where" in one.text]
    assert len(texts) > 9
    for text in texts:
        assert text.count("omputes both") == 1 and "NaN in the side that is not taken" in text


def test_how_many_compiles_a_change_of_recompiles_removes_is_told():
    first = compiled("/a/b.py", 1, 1.0)
    entries = [dict(first, compile_id="0/0")]
    for number, cost in ((1, 1.0), (2, 2.0)):
        entries.append(dict(again("/a/b.py", 1, cost, REASONS[0]), compile_id="0/%d" % number))
    assert (
        "   of the 3 compiles, 2 are because of this" in advise.text(run_of(entries)).splitlines()
    )
    cut = dict(ITEM, location="/a/b.py:2")
    assert "because of this" not in advise.text(run_of([dict(first, breaks=[cut])]))


def test_a_branch_that_prints_beside_what_it_computes_has_the_print_leave_first(tmp_path):
    program = tmp_path / "a.py"
    sides = [
        "print(y)\n        x = x * 2",
        "log.info('a')\n        x *= 2",
        "print(y)\n        return",
    ]
    told = []
    for side in sides:
        program.write_text("def f(x, y):\n    if y.sum() > 0:\n        %s\n    return x\n" % side)
        met = dict(BRANCH, location="%s:2" % program)
        (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
        told.append(change.advice.startswith("If a side prints or logs beside what it computes"))
    assert told == [True, True, False]


@pytest.mark.parametrize(
    "branch, patched",
    [
        ("if y.item() > 0:\n        y = y.abs()", "y = torch.where(y > 0, y.abs(), y)"),
        ("if y.item() > 0:\n        y = x.abs()", ""),  # of which shape y is, is not known
        ("n = y.item()\n    if n > 0:\n        y = y.abs()", ""),
    ],
)
def test_a_branch_on_an_item_is_patched_where_what_it_asks_for_is_chosen(tmp_path, branch, patched):
    program = tmp_path / "a.py"
    program.write_text("def f(x, y):\n    y = y * x.mean()\n    %s\n    return y\n" % branch)
    met = dict(ITEM, location="%s:3" % program)
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert change.row == "item that decides"
    added = [one[1:].strip() for one in change.patch.splitlines() if one.startswith("+    ")]
    assert added == [patched] * bool(patched)


def test_what_was_spent_until_torch_gave_up_is_no_figure_of_what_is_saved():
    entries = [rest_of(7, 0, 8.0)]
    entries += [
        rest_of(7, n, 1.5, "7/%d: len(seen) == %d  # seen.append(x)  # /a/b.py:8 in f" % (n - 1, n))
        for n in range(1, 5)
    ]
    last = rest_of(7, 5, 0.25, "7/4: len(seen) == 5  # seen.append(x)  # /a/b.py:8 in f")
    assert advise.text(run_of(entries)).startswith("1. up to 6.00 s  ")
    text = advise.text(run_of(entries + [dict(last, failure=LIMIT)]))
    assert text.startswith("1. 6.00 s spent  ")
    assert "The seconds were spent, and a change may save less" in text


def test_a_compile_for_which_another_value_differs_too_is_no_saving_of_one_change():
    told = []
    for mode in "ab":
        first = dict(compiled("/a/b.py", 7, 8.0), compile_id="0/0")
        second = again("/a/b.py", 7, 2.0, "L['flag'] == True  # if flag:  # /a/b.py:8 in f")
        second["compile_id"] = "0/1"
        first["guards"] = [{"text": "L['flag'] == True"}, {"text": "L['mode'] == 'a'"}]
        second["guards"] = [{"text": "L['flag'] == False"}, {"text": "L['mode'] == '%s'" % mode}]
        of_file = {"name": "f", "filename": "/a/b.py", "firstlineno": 7}
        of_file["entries"] = [first, second]
        (change,) = advise.changes(run_of([], functions=[of_file]))
        told.append((change.seconds, "beside it, `mode` was 'a', is 'b'" in change.words))
    assert told == [(2.0, False), (0, True)]


def test_a_file_of_a_dump_in_a_record_of_logging_is_told_to_be_depyfs():
    path = "/t/d/__transformed_code_0_for_torch_dynamo_resume_in_Logger_info_at_1488.py"
    said = words.of_reason("2/0: L['pathname'] == '%s'  # /a/b.py:8 in f" % path)
    assert said["help"] == [] and "a file of depyf's dump" in said["words"]
    assert "recompile is none" in said["words"]


def test_advice_that_is_that_of_two_other_changes_is_no_third():
    def at(line, seconds, name, *more):
        reason = "len(L['%s']) == 4  # for x in %s:  # /a/b.py:8 in f" % (name, name)
        return again("/a/b.py", line, seconds, reason)

    one, other = (at(line, 1.0, "xs") for line in (7, 9))
    own = "And for `y`: another thing."
    found = []
    for change, advice in zip(
        [advise.changes(run_of([entry]))[0] for entry in (one, other, at(11, 1.0, "zs"))],
        ("A thing.", "another thing.", "A thing. " + own),
    ):
        reason = dict(change.cause["reason"], own=own if advice.endswith(own) else "")
        found.append(change._replace(advice=advice, cause=dict(change.cause, reason=reason)))
    kept = joining.without_combined(found)
    assert [one.advice for one in kept] == ["A thing.", "another thing."]
    assert [one.advice for one in kept[0].also] == ["A thing. " + own]
    assert len(joining.without_combined(found[1:])) == 2


def test_texts_of_one_list_are_one_change(tmp_path):
    first = dict(compiled("/a/b.py", 7, 8.0), compile_id="0/0")
    second = again("/a/b.py", 7, 2.0, "L['texts'][0] == 'a'  # for t in texts:  # /a/b.py:8 in f")
    second["compile_id"] = "0/1"
    for entry, values in ((first, "ab"), (second, "cd")):
        entry["guards"] = [
            {"text": "L['texts'][%d] == '%s'" % (at, value)} for at, value in enumerate(values)
        ]
    of_file = {"name": "f", "filename": "/a/b.py", "firstlineno": 7, "entries": [first, second]}
    (change,) = advise.changes(run_of([], functions=[of_file]))
    assert change.row == "texts in a list" and change.seconds == 2.0
    assert "beside it" not in change.words


@pytest.mark.parametrize(
    "body, figure, told",
    [
        # the rest changes what lasts, and is not to run where the side has returned
        (
            "    y = x.sum()\n    if not y.isfinite():\n        box.skipped += 1\n        return y\n"
            "    w.sub_(x)\n    return y\n",
            "no figure",
            "from program.py:6 on, becomes a second function",
        ),
        # what it computes with is assigned by a side
        (
            "    y = x.sum()\n    if y > 0:\n        box.skipped += 1\n        y = y * 2\n"
            "    return y + 1\n",
            "no figure",
            "from program.py:6 on, becomes a second function",
        ),
        (
            "    y = x.log()\n    if y.isnan().any():\n        raise ValueError('negative')\n"
            "    return y * 2\n",
            "no compile time",
            "from program.py:5 on, can be computed before the test",
        ),
        # a side adds to what the rest reads
        (
            "    y, kept = x.sum(), []\n    if y > 0:\n        kept.append(2)\n    return x * len(kept)\n",
            "no figure",
            "from program.py:5 on, becomes a second function",
        ),
        # a side counts in an object of which the rest reads something else
        (
            "    y = x.sum()\n    if y > 0:\n        box.skipped += 1\n    return x * box.scale\n",
            "no compile time",
            "from program.py:5 on, can be computed before the test",
        ),
        (
            "    y = x.log()\n    if y.isnan().any():\n        raise ValueError('negative')\n"
            "    return y\n",
            "no compile time",
            "",
        ),
    ],
)
def test_it_is_told_what_to_do_with_the_rest_where_a_condition_is_tested_outside(
    tmp_path, body, figure, told
):
    program = tmp_path / "program.py"
    program.write_text("def f(box, w, x):\n" + body)
    met = dict(BRANCH, location="%s:3" % program, url="https://x/gb/gb0170.html")
    name = "torch_dynamo_resume_in_f_at_3"
    entries = [
        compiled(program, 1, 1.0, breaks=[met], calls=[name]),
        compiled(program, 1, 1.0, name=name, compile_id="1/0"),
    ]
    text = advise.text(run_of(entries))
    assert "return the condition as well" in text, text
    assert told in text and "follows the branch" in text if told else "follows the" not in text, (
        text
    )
    assert text.startswith("1. " + figure), text


def test_that_torch_gave_functions_up_is_explained_once_in_a_change():
    entries = []
    for number, line in enumerate((1, 20)):
        for n in range(3):
            one = again("/a/b.py", line, 1.0, "len(self.seen) == %d" % n)
            entries.append(dict(one, compile_id="%d/%d" % (number, n + 1)))
        reached = dict(compiled("/a/b.py", line, 0.5, failure=LIMIT), compile_id="%d/4" % number)
        entries.append(reached)
    text = advise.text(run_of(entries))
    assert text.count("The seconds were spent") == 1
    assert "torch stopped compiling the function after 3 compiles, too" in text, text


LONG = '''\
import a, b; c = (1,
    2); d = 3
@one
@two(3,
     4)
class C:
    """Text
with a line of no indentation."""
    def f(self): return [
        1]
    # a comment

x = 1 \\
    + 2
if x:
    y = 1
else:
    y = 2
'''


def test_a_change_is_parsed_with_its_statement_alone():
    """As the whole file says, whichever of its lines is changed, removed or put in."""
    tree = ast.parse(LONG)
    lines = LONG.splitlines(True)
    for i, line in enumerate(lines):
        for instead in ("", "z = 1\n", "    z = 1\n", "(\n", line.replace("1", "w"), line + line):
            changed = "".join(lines[:i] + [instead] + lines[i + 1 :])
            try:
                ast.parse(changed)
                whole = True
            except SyntaxError:
                whole = False
            assert patches._compiles(LONG, tree, changed) == whole, changed
    changed = LONG.replace("+ 2", "+ 3")
    assert patches._changed_statements(LONG, tree, changed) == "x = 1 \\\n    + 3\n"


def test_a_break_without_advice_and_without_a_hint_is_named(tmp_path):
    program = tmp_path / "unknown.py"
    program.write_text("def f(x):\n    return g(x)\n")
    met = {"reason": "Nothing that anybody knows", "location": "%s:2" % program}
    entries = [compiled(program, 1, 1.0, breaks=[met])]
    lines = advise.text(run_of(entries)).splitlines()
    assert any("unknown.py:2  Nothing that anybody knows" in one for one in lines), lines


def test_a_switch_of_a_modules_mode_needs_no_action_whatever_else_differs(tmp_path):
    program = tmp_path / "modes.py"
    program.write_text("def f(x, model):\n    return model(x)\n")
    mode = "0/0: model._modules['1'].training == True"
    both = dict(compiled(program, 1, 0.5), reasons=["0/1: lr == 0.5", mode])
    text = advise.text(run_of([both]))
    assert "what needs no action:" in text and "train() and eval() each have" in text, text
    assert "model[1].training was True" in text


def _hunks_of(path, *changes):
    """A unified diff of a program, of (old, new) lines."""
    before = path.read_text().splitlines(True)
    after = [dict(changes).get(one, one) for one in before]
    return "".join(difflib.unified_diff(before, after, "a/p.py", "b/p.py", n=1))


def test_a_patch_has_no_hunk_of_one_above_it(tmp_path):
    program = tmp_path / "p.py"
    program.write_text("".join("line %d\n" % one for one in range(30)))
    first, second = ("line 3\n", "line 3\nset\n"), ("line 20\n", "LINE 20\n")
    one, both = _hunks_of(program, second), _hunks_of(program, first, second)
    left = patches.beyond(both, {1: one})
    assert left == _hunks_of(program, first)
    assert patches.beyond(one, {2: both}) == "its patch is a part of that of change 2"
    assert patches.beyond(both, {3: one.replace("p.py", "q.py")}) == both


@pytest.mark.parametrize(
    "body, is_where",
    [
        ("            y = y * 2\n", True),
        ("            y = y * 2\n            self.used[at] += 1\n", False),
        ("            rows = mask.nonzero()\n            y[rows] += 1\n", False),
    ],
)
def test_a_side_that_counts_or_scatters_is_nothing_for_torch_where(tmp_path, body, is_where):
    program = tmp_path / "side.py"
    program.write_text("def f(self, x, mask, at):\n    y = x + 1\n    if x.sum() > 1:\n%s" % body)
    met = {"reason": "Data-dependent branching", "url": "gb0170.html"}
    met["location"] = "%s:3" % program
    (change,) = advise.changes(run_of([compiled(program, 1, 1.0, breaks=[met])]))
    assert ("torch.where" in change.advice) is is_where, change.advice


@pytest.mark.parametrize(
    "line, key",
    [
        ("    y = g(x, 5 if n > 2 else 0)\n", "number that chooses"),
        ("    y = g(x, x if n > 2 else 0)\n", "number condition"),
        ("    y = x * (5 if n > 2 else 0)\n", "number condition"),
        ("    if n: y = g(x, n)\n", "number that chooses"),
        ("    if n > 2: y = g(x, n)\n", "number condition"),
        ("    if n > 2: opt.step()\n", "number that decides what is done"),
        ("    if n > 2: kept['x'] = x\n", "number that decides what is done"),
        (
            "    if n > 2:\n        with g(x): raise ValueError\n",
            "number that decides what is done",
        ),
    ],
)
def test_a_number_that_chooses_a_number_for_a_call_needs_no_tensor(tmp_path, line, key):
    program = tmp_path / "chosen.py"
    program.write_text("def f(x, n):\n" + line)
    reason = "n <= 2  # %s  # %s:2 in f" % (line.strip(), program)
    (node,) = overview.nodes_of([run_of([again(program, 1, 1.0, reason)])])
    assert node.reasons[0]["row"] == key, node.reasons[0]


def test_what_the_changes_advise_stands_first_at_a_recompile():
    run = run_of([again("/a/b.py", 1, 0.5, "self.rate == 0.5")])
    found = advise.Advice(run)
    (change,) = found.listed()
    assert found.nodes[0].reasons[0]["help"][0] == change.advice


def test_torchs_own_diagnosis_is_called_no_guard(tmp_path):
    said = "Unexpected recompilation: runtime guards failed even though they passed during "
    (node,) = overview.nodes_of([run_of([again("/a/b.py", 1, 0.5, said + "analysis. Please")])])
    assert node.reasons[0]["words"].startswith("torch names no guard that failed")
