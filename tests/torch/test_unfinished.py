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
    page = report.build(dump).read_text()
    assert "is not finished" in page and "x.sin() + 1" in page
