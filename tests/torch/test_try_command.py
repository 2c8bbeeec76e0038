"""`depyf try`: each change with a patch is run on the program, and told by what the run found."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

pytest.importorskip("torch")

from processes import environment  # noqa: E402
from programs import TORCH  # noqa: E402

from depyf.trying.comparing import difference, own_lines, varying  # noqa: E402
from depyf.trying.patching import applied  # noqa: E402
from depyf.trying.runs import Counts, Outcome, Runner  # noqa: E402
from depyf.trying.verdict import is_less, verdict  # noqa: E402

PROGRAM = """import torch
from torch._dynamo.utils import counters

torch.manual_seed(0)

@torch.compile(backend="eager")
def f(x, n):
    if x.sum() > 0:
        x = x + 1
    else:
        x = x - 1
    return x * n

for k in range(4):
    print("loss", f(torch.randn(k + 2), 0.1 * k).sum().item())
"""


def try_on(tmp_path, text, *words, options=()):
    """(exit code, standard output, standard error) of `depyf try` on a program of this text."""
    (tmp_path / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "try", *options, *(words or ("program.py",))],
        cwd=str(tmp_path),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
def test_changes_that_help_are_kept_and_written_as_one_patch(tmp_path):
    code, out, err = try_on(tmp_path, PROGRAM, options=("--patch", "helps.patch"))
    assert code == 0, err
    # on a busy machine, compiling may take longer in one run than in another
    kept = (
        r"(?m)^   tried.*: it helps(, but compiling took longer in this run)?\n +it prints the same"
    )
    assert len(re.findall(kept, out)) == 2
    assert re.search(r"(?m)^as it is: \d compiles, 2 graph breaks, \d recompiles?, ", out), out
    assert re.search(r"(?m)^with changes 1 and 2: 1 compile, 0 graph breaks, 0 recompiles, ", out)
    assert (tmp_path / "program.py").read_text() == PROGRAM  # nothing of the user's is changed
    assert sorted(os.listdir(str(tmp_path))) == ["helps.patch", "program.py"]
    patch = (tmp_path / "helps.patch").read_text()
    (text,) = applied(
        patch.replace("a/program.py", "a" + str(tmp_path / "program.py")), {}
    ).values()
    assert 'backend="eager", dynamic=True)' in text and "torch.where(x.sum() > 0, x + 1" in text


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
def test_a_change_after_which_the_program_prints_something_else_is_not_kept(tmp_path):
    text = PROGRAM.replace("k + 2", "3").replace("0.1 * k", "1.0")
    text += 'print("graphs:", counters["stats"]["unique_graphs"])\n'
    code, out, err = try_on(tmp_path, text, options=("--patch", "helps.patch"))
    said = r"it does not do the same: line 5 that it prints is `graphs: \d`, was `graphs: \d`"
    assert re.search(said, out) and "tried: it is not kept" in out, out
    assert "no change that was tried helps" in out
    assert code == 1 and "helps.patch was not written, as no change helped" in err
    assert not (tmp_path / "helps.patch").exists()


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
def test_a_module_of_the_program_is_patched_where_it_is_imported(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    model = "# coding: latin-1\n# \xe9\n" + PROGRAM.partition("for k in")[0]
    (package / "model.py").write_bytes(model.encode("latin-1"))
    text = (
        "import time, torch\nfrom package.model import f\n"
        "for k in range(4): print(f(torch.ones(3), 1.0).sum().item(), time.perf_counter())\n"
    )
    (package / "__main__.py").write_text(text)
    code, out, err = try_on(tmp_path, text, "-m", "package")
    assert code == 0, err
    assert "--- a/package/model.py" in out
    assert re.search(
        r"it prints the same; 4 numbers or lines that differ from run to run were not compared", out
    ), out


def test_a_program_that_cannot_start_is_told_as_its_own_error(tmp_path):
    code, out, err = try_on(tmp_path, "", "missing.py")
    assert (code, out) == (2, "") and "can't open file" in err and "missing.py" in err
    code, out, err = try_on(tmp_path, "", "-")
    assert code == 2 and "cannot be run twice" in err
    code, out, err = try_on(tmp_path, "print(1)\n")
    assert code == 0 and "nothing was tried: no change has a patch" in out


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_as_ctrl_c_does(number, tmp_path):
    text = (
        "import time\ntry:\n    open('began', 'w').close()\n    time.sleep(60)\n"
        "finally:\n    open('ended', 'w').close()\n"
    )
    (tmp_path / "program.py").write_text(text)
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "depyf", "try", "program.py"],
        cwd=str(tmp_path),
        env=dict(environment(tmp_path), TMPDIR=str(tmp_path / "tmp")),
        stderr=subprocess.DEVNULL,
        # a shell's background jobs ignore it, and so do their children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (tmp_path / "began").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait() in (128 + number, -number)
    assert (tmp_path / "ended").exists() and not list((tmp_path / "tmp").glob("depyf*"))


def outcome(*output, code=0, errors=(), breaks=0):
    entry = {"compile_id": "0/0", "breaks": [{"reason": "r"}] * breaks}
    document = {"functions": [], "unattributed": [entry]}
    return Outcome(code, list(output), list(errors), 1.0, document, [])


def never():
    raise AssertionError("the program is not to be run again")


def test_a_run_that_fails_or_takes_too_long_is_told():
    before = outcome("loss 1.5")
    told = verdict(before, outcome(code=1, errors=["Traceback", "ValueError: no", ""]), never)
    assert told == (False, "it is not kept", ["it ended with exit code 1: ValueError: no"])
    told = verdict(before, outcome(code=-11), never)
    assert told == (False, "it is not kept", ["it ended by signal 11"])
    told = verdict(before, outcome(code=None), never)
    assert not told.kept and told.rows[0].startswith("it was stopped after")


def test_what_differs_from_run_to_run_does_not_count():
    before, after = outcome("a 1.5", "took 3.1 s"), outcome("a 1.5", "took 9.9 s")
    told = verdict(before, after, lambda: outcome("a 1.5", "took 4.2 s"))
    assert told.rows[0] == (
        "it prints the same; 1 number or line that differs from run to run was not compared"
    )
    told = verdict(before, outcome("a 1.6", "took 9.9 s"), lambda: outcome("a 1.5", "took 4.2 s"))
    assert told == (
        False,
        "it is not kept",
        ["it does not do the same: line 1 that it prints is `a 1.6`, was `a 1.5`"],
    )
    told = verdict(before, outcome("a 1.5"), lambda: before)
    assert "line 2 that it prints is missing, was `took 3.1 s`" in told.rows[0]
    told = verdict(before, outcome("b"), lambda: outcome("c", "d", "e"))
    assert told.rows[0] == "it prints another number of lines from run to run: not compared"


def test_only_what_could_be_compared_is_said_to_help():
    broken = outcome("1.0", breaks=1)
    assert verdict(broken, outcome("1.0"), never)[:2] == (True, "it helps")
    assert verdict(broken, outcome("1.0", breaks=1), never)[:2] == (False, "it is not kept")
    silent = outcome(breaks=1)
    unknown = "torch does less; whether the program does the same is not known"
    assert verdict(silent, outcome(), never)[:2] == (True, unknown)
    assert verdict(broken, outcome("2.0"), lambda: outcome("1", "2"))[:2] == (True, unknown)
    assert verdict(broken._replace(code=1), outcome("1.0"), never)[:2] == (True, "it helps")
    slow = outcome("1.0")
    slow.document["unattributed"][0]["metrics"] = {"entire_frame_compile_time_s": 2}
    told = "it helps, but compiling took longer in this run"
    assert verdict(broken, slow, never)[:2] == (True, told)


#: a list whose length changes is kept across the break, so only a rest of the function is given up;
#: with the setting, its length is a constant of the whole function
LISTS = """import torch

@torch.compile(backend="eager")
def g(x):
    names = (x * 2).argsort().tolist()
    return names, x.sin()

for n in range(3, 14):
    print(len(g(torch.ones(n))[0]))
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="torch 2.13 keeps the list in the graph")
def test_a_change_after_which_torch_gives_up_more_of_a_function_is_not_kept(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(LISTS)
    monkeypatch.chdir(tmp_path)
    setting = "import torch\ntorch._dynamo.config.capture_scalar_outputs = True\n"
    changed = LISTS.replace("import torch\n", setting, 1)
    with Runner(["program.py"], []) as runner:
        before, after = runner.run(), runner.run({str(program): changed})
    told = verdict(before, after, never)
    assert not told.kept and told.words == "it is not kept", told
    assert "torch gives up all of g, and only gave up a rest of it before" in told.rows


def compiled(name, times, seconds, breaks=0):
    """The outcome of a run that compiled a function some times, each in some seconds."""
    found = outcome("1.0", breaks=breaks)
    found.document["unattributed"][0]["compile_id"] = "1/0"
    entries = [
        {"compile_id": "0/%d" % k, "metrics": {"entire_frame_compile_time_s": seconds}}
        for k in range(times)
    ]
    place = {"filename": "/p.py", "firstlineno": 1}
    found.document["functions"] = [dict(place, name=name, qualname=name, entries=entries)]
    return found


def test_a_change_after_which_a_function_takes_more_and_longer_compiles_is_not_kept():
    told = verdict(compiled("f", 2, 1, breaks=3), compiled("f", 4, 1), never)
    assert not told.kept
    assert told.rows[-1] == ("torch compiles all of f 4 times, before 2, and compiling took longer")
    shorter = compiled("f", 4, 0.4)._replace(seconds=0.9)
    assert verdict(compiled("f", 2, 1, breaks=3), shorter, never).kept
    assert not verdict(compiled("f", 2, 1, breaks=3), compiled("f", 4, 0.4), never).kept
    assert verdict(compiled("f", 2, 1, breaks=3), compiled("f", 2, 3), never).kept


def counts(text):
    compiles, breaks, recompiles, uncompiled = map(int, text.split("/"))
    nothing = frozenset()
    return Counts(compiles, breaks, recompiles, uncompiled, 1.0, nothing, nothing, Counter())


@pytest.mark.parametrize(
    "before, after, if_longer, if_shorter",
    [  # compiles/breaks/recompiles/uncompiled
        ("4/2/1/0", "4/2/1/0", False, False),
        ("4/2/1/0", "3/2/1/0", True, True),
        ("4/2/1/0", "4/1/1/0", True, True),
        ("4/2/1/0", "3/1/0/0", True, True),
        ("4/2/1/0", "5/1/1/0", False, True),
        ("4/2/1/0", "3/3/1/0", False, True),
        ("4/2/1/0", "4/1/2/0", False, True),
        ("4/2/1/0", "4/2/0/0", False, False),
        ("4/2/1/0", "5/2/1/0", False, False),
        ("4/2/1/0", "3/1/1/1", False, False),
        ("2/1/0/1", "3/2/0/0", True, True),
        ("2/1/0/1", "2/1/0/0", True, True),
        ("2/2/0/1", "6/0/5/0", False, True),
        ("7/7/3/2", "11/10/7/0", False, True),
    ],
)
def test_where_one_count_rises_and_another_falls_the_run_is_shorter(
    before, after, if_longer, if_shorter
):
    assert is_less(counts(before), counts(after), shorter=False) == if_longer
    assert is_less(counts(before), counts(after), shorter=True) == if_shorter


def test_what_a_program_writes_to_standard_error_is_compared():
    def run(*errors, breaks=0):
        return outcome("1.0", errors=errors, breaks=breaks)

    of_others = [
        "W1129 20:55:49.123456 4711 torch/_dynamo/convert_frame.py:1] [0/8] torch._dynamo hit",
        "/v/site-packages/torch/functional.py:5: UserWarning: meshgrid",
        "  warnings.warn('meshgrid')",
        "/p.py:7: UserWarning: of an operator",
        "  y = torch.mse_loss(x, y)",
        " 12%|#  | 3/25 [00:01<00:02, 2.0it/s]",
        "Traceback (most recent call last):",
        '  File "/p.py", line 3, in f',
        "depyf: 1 compile of 1 function",
        "       2 graph breaks",
    ]
    assert own_lines(of_others) == []
    said = ["/p.py:3: UserWarning: large", "  warnings.warn('large')", "step 4 max 29"]
    before = run(*said, *of_others, breaks=1)
    moved = ["/p.py:5: UserWarning: large"] + said[1:]
    assert verdict(before, run(*moved), never).kept
    told = verdict(before, run(*said[:2]), lambda: before)
    assert told == (
        False,
        "it is not kept",
        [
            "it does not do the same: line 2 that it writes to standard error is missing, was "
            "`step 4 max 29`"
        ],
    )
    assert not verdict(before, run(said[2]), lambda: before).kept
    timed = run("at 20:55:49,123 step 1", breaks=1)
    again = run("at 20:55:52,987 step 1", breaks=1)
    assert verdict(timed, run("at 20:55:54,111 step 1"), lambda: again).kept
    assert not verdict(timed, run("at 20:55:54,111 step 2"), lambda: again).kept


#: a setting that leaves warnings of loggers out of compiled code
LOGS = """import logging, torch

log = logging.getLogger("program")

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    log.warning("a step of %d", len(x))
    return y * 2

print(f(torch.ones(3)).sum().item())
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
def test_a_change_that_loses_messages_of_the_program_is_not_kept(tmp_path):
    code, out, _ = try_on(tmp_path, LOGS)
    assert code == 0 and "ignore_logging_functions.add" in out, out
    said = "line 1 that it writes to standard error is missing, was `a step of 3`"
    assert "tried: it is not kept" in out and said in out, out


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("loss 0.123456", "loss 0.123457", True),
        ("loss 0.1234", "loss 0.1235", True),
        ("loss 0.1234", "loss 0.1244", False),
        ("1.5", "1.6", False),
        ("1.0e-3", "0.001", True),
        ("step 3", "step 4", False),
        ("nan", "1.0", False),
        ("1e999999999999 2.0", "1e999999999999 2.0", True),
        ("<object at 0x7f12ab>", "<object at 0x7fffee>", True),
        ("x1.5", "x1.6", False),
        ("tensor([1.0, 2.0])", "tensor([1.0, 2.5])", False),
    ],
    ids=range(11),
)
def test_numbers_are_the_same_where_only_rounding_differs(one, other, same):
    assert (difference([one], [other], {}).line is None) == same
    assert (varying([one], [other]) == {}) == same


def test_a_patch_is_applied_where_lines_near_it_have_changed(tmp_path):
    path = str(tmp_path / "p.py")
    patch = "--- a%s\n+++ b%s\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n" % (path, path)
    (tmp_path / "p.py").write_text("a\nb\nc\nd\n")
    assert applied(patch, {}) == {path: "a\nb\nC\nd\n"}
    assert applied(patch, {path: "new\na\nB\nc\nd\nc\n"}) == {path: "new\na\nB\nC\nd\nc\n"}
    assert applied(patch, {path: "a\nb\nx\nd\n"}) is None
    # what ends a line of text but none of Python stays
    text = "a\x0c\nb\nc\nd\nx = '\u2028\x0c\x85'\n"
    assert applied(patch, {path: text}) == {path: text.replace("c\nd", "C\nd")}
