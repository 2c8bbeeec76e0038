"""scripts/figures: the published figures, and by name what is not proven."""

import os
import subprocess
import sys

import pytest
from pythons import ROOT

from tests.interpreters import load_script, native_command


def test_figures_replace_those_of_the_file(tmp_path):
    command = native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "good.py").write_text("def f(a):\n    return a + 1\n")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    version = "%d.%d" % sys.version_info[:2]
    done = subprocess.run(
        [sys.executable, os.path.join(str(ROOT), "scripts", "figures"), "--versions", version]
        + ["--levels", "0,2", "--sample", "1", "--set", "Mine=%s" % (tmp_path / "set")]
        + ["--depyf", command, "-o", str(page)],
        env=dict(os.environ, DEPYF_PYTHONS=sys.executable),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "## The standard libraries" in text and "## Mine" in text and "a sample of 1" in text
    row = "| %s | 2 | all | all | 100 / 100 | 100 / 100 | 100 / 100 | 4 | none |" % version
    assert row in text.split("## Mine")[1] and "Not proven: none." in text


def test_what_is_not_proven_is_named():
    figures = load_script("figures")
    result = {"files": [{"pyc": "1", "source": "/lib/a/b.py"}, {"pyc": "2", "source": "/lib/c.py"}]}
    checks = {
        "1": {"proven": False, "verdict": "different", "detail": "in <module>/f: a `call`"},
        "2": None,
        "3": {"proven": True, "verdict": "exact", "detail": ""},
        "4": {"proven": False, "verdict": "not checked", "detail": "CPython 3.9 was not found"},
    }
    assert figures.named("3.9", [(result, checks), (result, {"2": None})], [0, 1]) == [
        "- 3.9 plain, -O `/lib/c.py`: no output",
        "- 3.9 plain `lib/a/b.py`: in <module>/f: a 'call'",
    ]
