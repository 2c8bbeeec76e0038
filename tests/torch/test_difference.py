"""`depyf diff` and the comparison of ranks: what is a difference, what is none, and how it is said."""

import copy
import os
import re
import subprocess
import sys

import depyf
import pytest
import torch
import warm
from processes import environment
from depyf import cli, difference, difference_page, summary
from depyf.difference.texts import Texts


def first(x, flag=False):
    y = x.sin()
    if flag:
        y = y + 1
    torch._dynamo.graph_break()
    return y * 2


def dump(folder, *calls, functions=(first,)):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        for function in functions:
            compiled = torch.compile(function, backend="eager")
            for arguments in calls:
                compiled(*arguments)
    return str(folder)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    base = tmp_path_factory.mktemp("dumps")

    def other(x):
        return x + 3

    return {
        "a": dump(base / "a", (torch.ones(3),)),
        # a compile before it counts torch's numbers up
        "same": dump(base / "same", (torch.ones(3),), functions=(first,)),
        "changed": dump(base / "changed", (torch.ones(3), True)),
        "more": dump(base / "more", (torch.ones(3),), (torch.ones(4),), functions=(first, other)),
        "base": base,
    }


def run_diff(capsys, *arguments):
    code = cli.main(["diff", *map(str, arguments)])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_the_same_program_twice(dumps, capsys):
    code, out, _ = run_diff(capsys, dumps["a"], dumps["same"])
    assert code == 0 and "no differences" in out


def test_a_function_that_is_compiled_after_another_is_the_same(dumps, capsys):
    """Torch's number of it, which its files tell, is another."""
    base = dumps["base"]
    dump(base / "behind", (torch.ones(3),), functions=(lambda x: x - 1, first))
    code, out, _ = run_diff(capsys, dumps["a"], base / "behind")
    assert code == 1 and "+ function, compiled once" in out
    assert "~ " not in out and "first" not in out, out


def test_a_changed_graph(dumps, capsys):
    code, out, _ = run_diff(capsys, dumps["a"], dumps["changed"])
    assert code == 1
    assert "~ Captured_Graph" in out and "first  (" in out
    assert any(line.strip().startswith("+") and "y + 1" in line for line in out.splitlines()), out


def test_appeared_and_vanished(dumps, capsys):
    code, out, _ = run_diff(capsys, dumps["a"], dumps["more"])
    assert code == 1
    assert "+ function, compiled 2 times" in out and "other" in out
    # torch 2.2 goes on counting after torch._dynamo.reset()
    assert re.search(r"\+ compile \d+/1, because", out) and "size mismatch" in out
    code, back, _ = run_diff(capsys, dumps["more"], dumps["a"])
    assert code == 1 and "- function, compiled 2 times" in back


def test_errors_have_their_own_exit_code(dumps, capsys, tmp_path):
    code, _, err = run_diff(capsys, dumps["a"], tmp_path)
    assert code == 2 and "prepare_debug" in err
    for text, word in (
        ("{", "not a JSON document"),
        ("[]", "expected a document"),
        ('{"schema": "depyf.run", "schema_version": 99}', "later depyf"),
        ('{"schema": "depyf.run", "open": true}', "incomplete"),
        ('{"schema": "depyf.run", "schema_version": 1, "functions": [{}]}', "damaged"),
    ):
        (tmp_path / "depyf.json").write_text(text)
        code, _, err = run_diff(capsys, dumps["a"], tmp_path)
        assert code == 2 and word in err, (text, err)


def test_counts_and_seconds_by_phase_come_first(dumps, capsys, tmp_path):
    one, other = (copy.deepcopy(summary.load(dumps[name])) for name in ("a", "more"))
    entry = other["functions"][0]["entries"][0]
    entry["metrics"] = {
        "duration_us": 9e6,
        "dynamo_cumulative_compile_time_us": 9e6,
        "aot_autograd_cumulative_compile_time_us": 7e6,
    }
    result = difference.compare(one, other)
    rows = {cells[0]: cells[1:] for cells in (total.cells() for total in result.totals)}
    compiles = [sum(len(f["entries"]) for f in run["functions"]) for run in (one, other)]
    assert rows["compiles"] == (*map(str, compiles), "+%d" % (compiles[1] - compiles[0]))
    assert rows["graph breaks"][:2] == ("1", "2") and rows["recompiles"][2].startswith("+")
    assert rows["Backend"][1].startswith("7.") and rows["Backend"][2].startswith("+")
    lines = result.text().splitlines()
    seconds = float(rows["compiling"][1].split()[0])
    phases = [total.b for total in result.totals if total.kind == "phase"]
    assert abs(sum(phases) - seconds) < 0.01
    assert lines[3].split() == ["-", "+"] and lines[4].split()[0] == "compiles"
    assert "<th scope=row>Backend</th>" in difference_page.page([result])


def test_the_page_shows_hostile_text_as_text(dumps, tmp_path, capsys):
    document = summary.load(dumps["a"])
    hostile = copy.deepcopy(document)
    payload = "</pre><script>alert(1)</script>\x1b[31m\udc80"
    function = hostile["functions"][0]
    function["source"] += payload
    function["entries"][0]["source"] = payload
    function["entries"][0]["breaks"][0]["reason"] = payload
    hostile["functions"].append(dict(copy.deepcopy(function), name=payload, filename=payload))
    result = difference.compare(document, hostile)
    page = difference_page.page([result])
    assert "<script" not in page and "&lt;script&gt;" in page and "default-src 'none'" in page
    assert "\x1b" not in page and "\x1b" not in result.text()
    difference_page.write_page(str(tmp_path / "page.html"), [result])
    code, out, _ = run_diff(capsys, dumps["a"], dumps["changed"], "--page", tmp_path / "diff.html")
    assert code == 1 and "diff.html" in out
    text = (tmp_path / "diff.html").read_text()
    assert "y + 1" in text and "class=add" in text


def test_a_manifest_does_not_lead_out_of_its_dump(dumps, tmp_path):
    document = summary.load(dumps["a"])
    (tmp_path / "secret.py").write_text("secret")
    document["folder"] = str(tmp_path / "dump")
    os.mkdir(document["folder"])
    assert Texts(document, False).read("../secret.py") == ""


def test_lines_that_moved_and_functions_counted_otherwise_are_no_other_reason_to_recompile(dumps):
    document = summary.load(dumps["more"])
    moved = copy.deepcopy(document)
    entries = [
        entry
        for function in moved["functions"]
        for entry in function["entries"]
        if entry["reasons"]
    ]
    for entry in entries:
        counted = [
            re.sub(r"^\d+/", "7/", reason) for reason in entry["reasons"]
        ]  # torch up to 2.5 names no compile
        entry["reasons"] = [reason + "  # y = x  # where/b.py:99 in f" for reason in counted]
    assert entries and difference.compare(document, moved).changes == []
    entries[0]["reasons"][0] = "7/0: n == 3"
    (change,) = difference.compare(document, moved).changes
    assert change.what == "reason of the recompile" and any(
        "n was 3" in line for line in change.lines
    )


def test_a_reader_that_stops_reading_is_no_error(dumps, tmp_path):
    page = tmp_path / "page.html"
    command = (
        "'%s' -m depyf diff --lines 500 --page '%s' '%s' '%s' | head -1; exit ${PIPESTATUS[0]}"
        % (
            sys.executable,
            page,
            dumps["a"],
            dumps["changed"],
        )
    )
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.stdout.startswith("- ") and done.stderr == ""
    assert done.returncode == 1 and page.exists()  # as if all had been read


def test_many_guards_are_one_change_and_the_page_has_no_empty_lines_between(dumps):
    document = summary.load(dumps["a"])
    grown = copy.deepcopy(document)
    entry = grown["functions"][0]["entries"][0]
    guard = entry["guards"][0]
    entry["guards"] = entry["guards"] + [
        dict(guard, text="L['x%d'] == 1" % number) for number in range(50)
    ]
    result = difference.compare(document, grown)
    (change,) = [one for one in result.changes if one.what.startswith("guards: ")]
    assert change.what == "guards: 0 vanished, 50 appeared" and len(change.lines) == 50
    page = difference_page.page([result])
    assert "</span>\n<span" not in page and page.count("class=add") == 50 and "1 changed" in page
    few = copy.deepcopy(document)
    few["functions"][0]["entries"][0]["guards"].append(dict(guard, text="L['y'] == 1"))
    assert [one.what for one in difference.compare(document, few).changes] == ["guard: L['y'] == 1"]


def test_normal_texts():
    normal = difference.normal
    assert normal("__compiled_fn_1_b78d4202_a8dd_4677_9732_564736b9768f(a)") == "__compiled_fn(a)"
    assert normal("___check_obj_id(L['f'], 140123456789)") == "___check_obj_id(L['f'], ID)"
    assert normal("# File: /a/b/toy.py:5 in f, code: x") == normal(
        "# File: /c/toy.py:9 in f, code: x"
    )
    assert normal("x[3] + 12345") == "x[3] + 12345"
    assert normal("device='cuda:1'", ranks=True) == normal("device='cuda:0'", ranks=True)
    assert normal("device='cuda:1'") != normal("device='cuda:0'")


def test_guards_that_nothing_is_marked_are_one_line_for_each_tensor(dumps):
    document = summary.load(dumps["a"])
    more = copy.deepcopy(document)
    guards = more["functions"][0]["entries"][0]["guards"]
    for mark in ("dynamic", "unbacked", "strict_unbacked"):
        text = "hasattr(L['mask'], '_dynamo_%s_indices') == False" % mark
        guards.append(dict(guards[0], text=text))
    (change,) = difference.compare(document, more).changes
    assert change.sign == "+" and "3 guards that no size is marked" in change.what
    assert change.what.endswith("of L['mask']") and "hasattr" not in str(change)


def test_lines_that_have_guards_are_named_where_the_one_asked_for_has_none():
    guards = [
        {"text": "L['n'] == 1", "kind": "", "comment": "# y = x * n  # home/me/train.py:7 in f"},
        {"text": "a", "kind": "", "comment": "# if b:  # nn/modules/linear.py:9 in g"},
    ]
    function = {
        "name": "f",
        "filename": "/home/me/train.py",
        "entries": [{"compile_id": "0/0", "guards": guards}],
    }
    document = {"functions": [function], "unattributed": []}
    assert summary.guards_text(document, "7") == "f [0/0] L['n'] == 1"
    assert (
        summary.guards_text(document, "8")
        == "no guards from line 8; there are guards from train.py:7"
    )
    assert (
        summary.guards_text({"functions": [], "unattributed": []}, "8") == "no guards from line 8"
    )


def test_summary_is_ten_lines_at_most_and_true(dumps):
    document = summary.load(dumps["more"])
    text = summary.summary(document, "page.html")
    assert len(text.splitlines()) <= 10
    assert "of 2 functions" in text and "2 recompiles" in text or "3 recompiles" in text, text
    empty = dict(document, functions=[], unattributed=[])
    assert "torch compiled nothing" in summary.summary(empty)


def test_reasons_name_the_line_that_made_the_guard():
    reason = '0/1: scale == 2  # return (x * scale)  # b.py:9 in f\nUser stack trace:\n  File "/a/b.py", line 9, in f'
    assert summary.reason_parts(reason) == ("0/1: scale == 2", ("/a/b.py", 9))
    assert summary.reason_parts("0/0: size  mismatch") == ("0/0: size mismatch", None)
    shortened = "0/0: scale == 2   # return x * scale  # a/b.py:9 in f"
    assert summary.reason_parts(shortened, "/home/a/b.py") == (
        "0/0: scale == 2",
        ("/home/a/b.py", 9),
    )
    assert summary.reason_parts(shortened, "/home/a/c.py") == ("0/0: scale == 2", None)


# ---- ranks ---------------------------------------------------------------------------------------

RANKS = """
import os, sys, time
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()

def step(x):
    y = x * 2
    if rank == 1 and "differ" in sys.argv:
        y = y.cos()
    dist.all_reduce(y)
    return y + 1

compiled = torch.compile(step, backend="eager")
print("rank", rank, compiled(torch.ones(3)).sum().item())
# torch 2.4 waits for gloo's thread without releasing the GIL, which that thread may need to drop a
# tensor of the last call: without a pause the process hangs, with or without depyf
time.sleep(1)
dist.destroy_process_group()
"""


def torchrun(tmp_path, *arguments):
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        + ["-m", "depyf", "run", "--dump", "dump", str(script), *arguments],
        env=environment(tmp_path / "cache", OMP_NUM_THREADS="1"),
        cwd=str(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout
    return tmp_path / "dump"


def test_ranks_of_torchrun(tmp_path, capsys):
    folder = torchrun(tmp_path, "differ")
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["rank_0", "rank_1"]
    assert cli.main(["report", "--text", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "rank 0" in out and "rank 1" in out and "RANKS DIFFER" in out
    assert "rank 1 unlike rank 0" in out and "cos" in out
    # the same folders as separate arguments, and each with itself
    both = [str(folder / "rank_0"), str(folder / "rank_1")]
    assert cli.main(["report", "--text"] + both) == 1
    capsys.readouterr()
    assert cli.main(["report", "--text", both[0], both[0]]) == 0
    assert "all 2 ranks compiled the same graphs" in capsys.readouterr().out


def test_collectives_are_compared(dumps):
    document = summary.load(dumps["a"])
    there = copy.deepcopy(document)
    path = os.path.join(dumps["a"], "reduced.py")
    graph = next(
        one
        for one in there["functions"][0]["entries"][0]["artifacts"]
        if one["stage"] == "Captured_Graph"
    )
    with open(os.path.join(dumps["a"], graph["path"])) as stream, open(path, "w") as out:
        out.write(
            stream.read()
            + "    # File: /torch/functional.py:9 in all_reduce, code: t = torch.ops._c10d_functional.all_reduce(\n"
            + "    y = torch.ops._c10d_functional.all_reduce.default(y, 'sum', '0')\n"
        )
    graph["path"] = "reduced.py"
    groups = difference.compare_ranks({0: document, 1: there, 2: document})
    assert groups.groups == [[0, 2], [1]]
    assert "collectives in captured graphs: none, then 1 all_reduce" in groups.text()


def test_one_rank_or_none_writes_no_folder_for_it(monkeypatch):
    from depyf.torch.capture import rank_folder

    for rank, size, expected in (
        ("", "", "d"),
        ("0", "1", "d"),
        ("1", "2", os.path.join("d", "rank_1")),
        ("x", "2", "d"),
    ):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", size)
        assert rank_folder("d") == expected


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two folders as TORCH_TRACE leaves them, with the logs of two ranks each; in the second, rank
    1 has another graph.
    """
    import subprocess
    import sys

    from depyf.torch import compat

    if compat.trace_logger() is None:
        pytest.skip("this torch writes no such logs")
    folder = tmp_path_factory.mktemp("logs")
    (folder / "program.py").write_text(
        "import torch\n"
        "def first(x):\n"
        "    return x.sin() + 1\n"
        "torch.compile(first, backend='eager')(torch.ones(3))\n"
    )
    environment = dict(os.environ, TORCH_TRACE=str(folder / "trace"))
    subprocess.run(
        [sys.executable, str(folder / "program.py")], env=environment, check=True, timeout=600
    )
    text = next((folder / "trace").iterdir()).read_text()
    for name in ("a", "b"):
        (folder / name).mkdir()
        for rank in (0, 1):
            changed = text.replace(".sin()", ".cos()") if (name, rank) == ("b", 1) else text
            (folder / name / ("dedicated_log_torch_trace_rank_%d_x.log" % rank)).write_text(changed)
    return folder


def test_logs_of_torch_trace_are_compared(logs, capsys):
    same, other = (
        logs / "a" / "dedicated_log_torch_trace_rank_0_x.log",
        logs / "b" / "dedicated_log_torch_trace_rank_1_x.log",
    )
    code, out, _ = run_diff(capsys, same, logs / "a" / "dedicated_log_torch_trace_rank_1_x.log")
    assert code == 0 and "no differences" in out
    code, out, _ = run_diff(capsys, same, other)
    assert code == 1 and "~ Captured_Graph" in out and "x.cos()" in out
    code, out, _ = run_diff(capsys, logs / "a", logs / "b")
    assert code == 1 and "rank 1" in out and out.count("no differences") == 1


def test_logs_of_ranks_are_merged(logs, capsys):
    assert cli.main(["report", "--text", str(logs / "a")]) == 0
    assert cli.main(["report", "--text", str(logs / "b")]) == 1
    out = capsys.readouterr().out
    assert "RANKS DIFFER" in out and "cos" in out


PARTS = """import torch

@torch.compile(backend="eager")
def f(x):
    x = x + 1
%s    print("one")
    x = x * 2
%s    print("three")
    return x.sin()

f(torch.ones(3))
"""


def parts(tmp_path, capsys, *sides):
    dumps = []
    for name, (first, second) in zip("ab", sides):
        (tmp_path / name).mkdir()
        program = tmp_path / name / "program.py"
        program.write_text(PARTS % (first, second))
        dumps.append(str(tmp_path / name / "dump"))
        command = ["-m", "depyf", "run", "--dump", dumps[-1], program]
        done = warm.run(command, environment(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
    code, out, _ = run_diff(capsys, *dumps)
    return out


@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="names of later torch")
def test_resume_functions_belong_together_by_the_line_that_they_go_on_after(tmp_path, capsys):
    # a break between two others, and a line above all: the two have other numbers, and are the same
    changed = "    x = x - 1\n", '    print("two")\n    x = x.cos()\n'
    out = parts(tmp_path, capsys, ("    x = x - 1\n", ""), changed)
    gone = [line for line in out.splitlines() if line.lstrip().startswith("- resume function")]
    assert not gone, out
    assert "f, resumed after line 9" in out and "resume function, compiled once" in out
    assert "f, resumed after line 11" not in out, out  # print("three"): nothing of it changed


def test_methods_of_one_name_belong_together_by_their_class():
    from depyf.difference.pairing import pair_functions

    def method(owner, name, source, line):
        given = {"name": name, "qualname": owner + "." + name, "source": source}
        return dict(given, firstlineno=line, filename="net.py", is_resume=False)

    def paired(a, b):
        found = pair_functions({"functions": a}, {"functions": b})
        return [tuple(one and one["qualname"] for one in pair) for pair in found]

    layer = method("Layer", "forward", "def forward(self, x):\n    return self.lin(x)\n", 3)
    net = method(
        "Net", "forward", "def forward(self, x):\n    for one in self.all: x = one(x)\n", 9
    )
    assert paired([layer], [net]) == [("Layer.forward", None), (None, "Net.forward")]
    assert paired([layer, net], [net, layer]) == [("Layer.forward",) * 2, ("Net.forward",) * 2]
    # a class that has another name in the second run
    block = dict(layer, qualname="Block.forward", firstlineno=12)
    assert paired([layer, net], [net, block])[0] == ("Layer.forward", "Block.forward")
    # a function that moved into another
    moved = dict(layer, qualname="main.<locals>.forward")
    assert paired([dict(layer, qualname="forward")], [moved]) == [
        ("forward", "main.<locals>.forward")
    ]
