"""`pytest --depyf DIR`, as its users run it."""

import json

import warm
from processes import environment

TESTS = """
import pytest, torch

def double(x):
    if x.sum() > 0:
        return x * 2
    return x * 3

@pytest.mark.parametrize("shape", [3, "a/b"])
def test_fails(shape):
    compiled = torch.compile(double, backend="eager")
    assert compiled(torch.ones(2)).sum() == 5

def test_passes():
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    assert compiled(torch.ones(2)).sum() == 4

def test_fails_without_compile():
    assert False

@pytest.fixture
def broken():
    torch.compile(double, backend="eager")(torch.ones(2))
    raise ValueError("in the fixture")

def test_broken_fixture(broken):
    pass

def test_skipped():
    pytest.skip("no reason")
"""


def test_failing_tests_that_compile_leave_a_dump(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    done = warm.run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--depyf", "dumps"]
        # an installed depyf brings the plugin itself
        + ([] if _installed() else ["-p", "depyf.pytest_plugin"]),
        environment(tmp_path / "cache"),
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout
    assert "3 failed, 1 passed, 1 skipped, 1 error" in done.stdout, done.stdout
    folders = sorted(path.name for path in (tmp_path / "dumps").iterdir())
    assert len(folders) == 3, folders
    assert [name for name in folders if name.startswith("test_some.py-test_fails[3]-")]
    assert [name for name in folders if name.startswith("test_some.py-test_broken_fixture-")]
    for folder in (tmp_path / "dumps").iterdir():
        document = json.loads((folder / "depyf.json").read_text())
        assert document["functions"][0]["name"] == "double"
        assert document["functions"][0]["entries"][0]["guards"]
        assert str(folder) in done.stdout
    assert "graph break" in done.stdout and "torch.__trace" not in done.stdout


def _installed():
    from importlib.metadata import entry_points

    found = entry_points()
    found = (
        found.select(group="pytest11") if hasattr(found, "select") else found.get("pytest11", [])
    )
    return any(one.name == "depyf" for one in found)


MARKED = """
import pytest, torch

def double(x):
    if x.sum() > 0:
        return x * 2
    return x * 3

@pytest.mark.depyf(breaks=0)
def test_breaks():
    torch.compile(double, backend="eager")(torch.ones(2))

@pytest.mark.depyf(breaks=1, recompiles=0)
def test_is_allowed_one():
    torch.compile(double, backend="eager")(torch.ones(2))

@pytest.mark.depyf(breaks=0)
def test_fails_by_itself():
    torch.compile(double, backend="eager")(torch.ones(2))
    assert False, "its own"

@pytest.mark.depyf(breaks=0)
@pytest.mark.xfail(raises=AssertionError, strict=True)
def test_is_expected_to_break():
    torch.compile(double, backend="eager")(torch.ones(2))

@pytest.mark.depyf(brakes=0)
def test_has_a_typo():
    pass

@pytest.mark.depyf(recompiles=-1)
def test_has_no_number():
    pass
"""


def test_a_marked_test_may_break_no_more_than_its_mark_says(tmp_path):
    (tmp_path / "test_marked.py").write_text(MARKED)
    done = warm.run(
        ["-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider"]
        + ([] if _installed() else ["-p", "depyf.pytest_plugin"]),
        environment(tmp_path / "cache"),
        cwd=tmp_path,
    )
    assert "4 failed, 1 passed, 1 xfailed" in done.stdout, done.stdout
    assert "1 graph break, 0 allowed" in done.stdout and "test_marked.py:5" in done.stdout
    # what was over the budget, and none of the plugin's own code
    failure = done.stdout.partition("_ test_breaks _")[2].splitlines()
    assert failure[1] == "torch.compile: 1 graph break, 0 allowed:", failure
    assert "pytest_plugin.py" not in done.stdout and "expect.py" not in done.stdout
    assert "@pytest.mark.depyf: got an unexpected keyword argument 'brakes'" in done.stdout
    assert "@pytest.mark.depyf: recompiles=-1 is not a number of 0 or more" in done.stdout
    assert "AssertionError: its own" in done.stdout and "torch.__trace" not in done.stdout


REPLACED = """
import os, sys
import pytest, torch

def double(x):
    if x.sum() > 0:
        return x * 2
    return x * 3

def test_compiles():
    assert torch.compile(double, backend="eager")(torch.ones(2)).sum() == 4

def test_compiles_nothing():
    pass

def test_fails_anyway():
    torch.compile(double, backend="eager")(torch.ones(2))
    assert False

def test_tells_depyf():
    assert "depyf.torch.capture" not in sys.modules

def test_dies_with_depyf_when_it_is_alone():
    if "depyf.torch.capture" in sys.modules and os.environ.get("DEPYF_REPLACE_OUTCOMES"):
        os._exit(3)
    assert "depyf.torch.capture" not in sys.modules

def test_fails_the_first_time():
    if not os.path.exists("seen"):
        open("seen", "w").close()
        assert False
"""


def run_replaced(folder, text, *options):
    (folder / "test_some.py").write_text(text)
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "depyf.testing.replace", "--depyf-replace-figures", "figures.json"]
    return warm.run(command, environment(folder / "cache"), cwd=folder)


def test_a_suite_runs_with_replaced_code_and_only_failures_of_its_own_count(tmp_path):
    done = run_replaced(tmp_path, REPLACED)
    assert done.returncode == 1, done.stdout
    found = json.loads((tmp_path / "figures.json").read_text())
    counts = [found[name] for name in ("tests", "compiling", "transformed", "replaced", "failed")]
    assert counts == [6, 1, 2, 2, 4] and found["refused"] == {}, done.stdout
    assert found["counted"] == [
        "test_some.py::test_tells_depyf",
        "test_some.py::test_dies_with_depyf_when_it_is_alone",
    ]
    assert found["unstable"] == ["test_some.py::test_fails_the_first_time"]
    assert "only with depyf: test_some.py::test_tells_depyf" in done.stdout
    assert "2 code objects transformed, 2 replaced, 0 not" in done.stdout


def test_a_suite_that_fails_without_depyf_too_passes(tmp_path):
    text = "import torch\n\ndef test_fails():\n    assert False\n"
    done = run_replaced(tmp_path, text)
    assert done.returncode == 0, done.stdout
    assert "1 fail without it too" in done.stdout
