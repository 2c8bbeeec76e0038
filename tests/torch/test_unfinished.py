"""A program that hangs or is killed inside its block leaves what it had compiled: it is the one
that somebody wants to look at.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
from programs import TORCH, readme_of

from depyf import cli, report, summary
from depyf.report import words

PROGRAM = """
import os, sys, time
import torch
import depyf

def first(x):
    return x.sin() + 1

def second(x):
    if x.sum() > 0:
        return x.cos()
    return x

with depyf.prepare_debug(sys.argv[1]):
    torch.compile(first, backend="eager")(torch.ones(3))
    time.sleep(0.5)
    torch.compile(second, backend="eager")(torch.ones(3))
    open(sys.argv[1] + ".ready", "w").close()
    time.sleep(600)
"""


def test_a_killed_program_leaves_a_report(tmp_path):
    pytest.importorskip("jinja2")
    (tmp_path / "program.py").write_text(PROGRAM)
    dump = tmp_path / "dump"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), str(dump)], env=environment
    )
    try:
        while not os.path.exists(str(dump) + ".ready"):
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    found = summary.load(str(dump))
    assert found["open"] is True and "first" in [
        function["name"] for function in found["functions"]
    ]
    told = summary.summary(found)
    assert "still running, or was killed" in told
    assert not (dump / "README.md").exists()
    assert "README.md, which `depyf report` writes, too" in told
    # torch's caches are gone, and with them the guards; the trace had them
    entry = next(one for one in found["functions"] if one["name"] == "first")["entries"][0]
    assert any(guard["source"] == "L['x']" for guard in entry["guards"])
    page = report.build(dump).read_text()
    assert "is not finished" in page and "x.sin() + 1" in page
    assert cli.main(["report", str(dump)]) == 0
    readme = readme_of(dump)
    assert "had been killed" in readme and "## `first`" in readme and "## `second`" in readme
    assert "[__transformed_code_0_for_first.py](__transformed_code_0_for_first.py): " in readme
    assert "- 0 guards" not in readme and "graph break at " in readme


FULL = """
import resource, sys
import torch
import depyf

def first(x):
    return x.sin() + 1

with depyf.prepare_debug(sys.argv[1]):
    torch.compile(first, backend="eager")(torch.ones(3))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX")
def test_a_dump_that_found_no_room_says_so_and_keeps_what_it_had(run_script, tmp_path):
    dump = tmp_path / "dump"
    run_script(FULL, str(dump))
    found = summary.load(str(dump))
    assert [function["name"] for function in found["functions"]] == ["first"]
    told = summary.summary(found)
    assert "the dump is incomplete: " in told and "File too large" in told, told
    assert "killed" not in told


ENDED_BETWEEN = """
import sys, threading
import torch
import depyf

begun, ended = threading.Event(), threading.Event()

def wait(guards):
    begun.set()
    ended.wait(60)
    return [True for _ in guards]

@torch.compile(backend="eager", options={"guard_filter_fn": wait})
def first(x):
    return x.sin() + 1

thread = threading.Thread(target=lambda: print(first(torch.zeros(1))))
with depyf.prepare_debug(sys.argv[1]):
    thread.start()
    begun.wait(60)
ended.set()
thread.join()
"""


@pytest.mark.skipif(TORCH < (2, 8), reason="torch has no guard_filter_fn")
def test_a_compile_that_the_block_did_not_see_end_is_not_called_dropped(run_script, tmp_path):
    dump = tmp_path / "dump"
    assert run_script(ENDED_BETWEEN, str(dump)).stdout == "tensor([1.])\n"
    told = readme_of(dump)
    assert "torch was given it" in told and words.UNFINISHED in told
    assert "dropped this entry" not in told and "guards\n" not in told.split(words.UNFINISHED)[1]
    full = (dump / "full_code_for_first_0.py").read_text()
    compile(full, "full_code", "exec")
    assert words.UNFINISHED in " ".join(full.replace("#", "").split())
    assert "Has no compiled entry whose guards are known" in full


AROUND = """
import sys, threading
import torch
import depyf

begun, go_on = threading.Event(), threading.Event()
graphs = []

def backend(module, inputs):
    graphs.append(module)
    if len(graphs) == int(sys.argv[2]):
        begun.set()
        go_on.wait(60)
    return module.forward

@torch.compile(backend=backend)
def first(x):
    x = x.sin() + 1
    print("broken")
    return x * 2

thread = threading.Thread(target=lambda: print(first(torch.zeros(1))))
if sys.argv[3] == "before":
    thread.start()
    begun.wait(60)
with depyf.prepare_debug(sys.argv[1]):
    if sys.argv[3] != "before":
        thread.start()
        begun.wait(60)
    if sys.argv[3] != "after":
        go_on.set()
        thread.join()
go_on.set()
thread.join()
print(first(torch.zeros(2)))
"""
OF_THEM = "broken\ntensor([2.])\nbroken\ntensor([2., 2.])\n"


@pytest.mark.skipif(TORCH < (2, 6), reason="torch does not tell where a compile began")
@pytest.mark.parametrize("graph, name", [("1", "`first`"), ("2", "`first, resumed after line 19`")])
def test_a_compile_during_which_the_block_ended_is_named(run_script, tmp_path, graph, name):
    dump = tmp_path / "dump"
    assert run_script(AROUND, str(dump), graph, "after").stdout == OF_THEM
    told = readme_of(dump)
    section = told.split("\n### %s, compile " % name)[1].split("\n#")[0]
    assert words.RUNNING in section
    # torch makes code for the resume function later, and did trace it
    assert "ran as plain Python" not in told and "no code`" not in told
    assert ("continues in %s (compile 1/0)" % name in told) == (graph == "2")
    for path in dump.glob("*.py"):
        text = " ".join(path.read_text().replace("#", "").split())
        assert "ran as plain Python" not in text and "raised an exception" not in text
        full_of_both = path.name.startswith("full_code") and graph == "2"
        assert not full_of_both or words.RUNNING in text
    shown = summary.summary(summary.load(str(dump)))
    assert "unknown code" not in shown


@pytest.mark.skipif(TORCH < (2, 6), reason="torch does not tell where a compile began")
def test_a_compile_that_began_before_the_block_is_captured_from_there_on(run_script, tmp_path):
    dump = tmp_path / "dump"
    assert run_script(AROUND, str(dump), "1", "before").stdout == OF_THEM
    found = summary.load(str(dump))
    begun, rest = (function["entries"][0] for function in found["functions"])
    assert not [one for one in begun["artifacts"] if one["stage"] == "Captured_Graph"]
    assert [one for one in rest["artifacts"] if one["stage"] == "Captured_Graph"]
    assert begun["replaced"] and rest["replaced"] and begun["guards"] and rest["guards"]
