"""A program that hangs or is killed inside its block leaves what it had compiled: it is the one that somebody wants to look at."""

import os
import signal
import subprocess
import sys
import time

import pytest

from depyf import report, summary

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
    assert "still running, or was killed" in summary.summary(found)
    # torch's caches are gone, and with them the guards; the trace had them
    entry = next(one for one in found["functions"] if one["name"] == "first")["entries"][0]
    assert any(guard["source"] == "L['x']" for guard in entry["guards"])
    page = report.build(dump).read_text()
    assert "is not finished" in page and "x.sin() + 1" in page


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
