"""The run of the tests itself: a worker that dies costs one test."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed (requirements-test.txt)")
pytestmark = pytest.mark.slow  # each test is a run of pytest with workers

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

CONFTEST = """
import pytest, sys
sys.path.insert(0, %r)
from scheduling import scheduler

@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduler(config, log)
"""
# The worker that dies of its first test is dead before it is sent the third.
SENDS_LATE = """
import time
from xdist.workermanage import WorkerController

send = WorkerController.send_runtest_some

def late(self, indices):
    self.sent = getattr(self, "sent", 0) + 1
    if self.sent > 2:
        time.sleep(1)
    send(self, indices)

WorkerController.send_runtest_some = late
"""
PASSES = "def test_%s():\n    pass\n"
DIES = "def test_%s():\n    import os\n    os.abort()\n"


def run(folder, files, workers=2, more=""):
    """What pytest says of a suite: {file: a word for each of its tests, "." or "x" where the worker
    dies}.
    """
    (folder / "conftest.py").write_text(CONFTEST % TESTS + more)
    for name, tests in files.items():
        text = [(DIES if one == "x" else PASSES) % number for number, one in enumerate(tests)]
        (folder / ("test_%s.py" % name)).write_text("\n".join(text))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", "-rfEp"]
        + ["-n", str(workers), "--dist", "loadscope", "--no-loadscope-reorder", "."],
        cwd=str(folder),
        env=dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=240,
    )
    said = {}
    for word, test in re.findall(r"^(PASSED|FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE):
        said.setdefault(test, []).append(word)
    return said, done


SUITES = {
    "files of one test": ({"a": "x", "b": ".", "c": ".", "d": "x", "e": ".", "f": "."}, 2, ""),
    "several in both workers": ({"a": ".x.x.", "b": "..x.", "c": "..", "d": "...x"}, 2, ""),
    "dead before it is sent the next": (
        {"a": "x", "b": ".", "c": ".", "d": ".", "e": ".", "f": "."},
        2,
        SENDS_LATE,
    ),
}


@pytest.mark.parametrize("files, workers, more", list(SUITES.values()), ids=list(SUITES))
def test_a_worker_that_dies_costs_one_test(tmp_path, files, workers, more):
    said, done = run(tmp_path, files, workers, more)
    expected = {
        "test_%s.py::test_%d" % (name, number): ["FAILED" if one == "x" else "PASSED"]
        for name, tests in files.items()
        for number, one in enumerate(tests)
    }
    assert said == expected, done.stdout
    assert done.returncode == 1
