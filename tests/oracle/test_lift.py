"""lift/ against the interpreters: lift_subject.py runs small programs natively and by their lifted
text, under every interpreter found.
"""

import functools
import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import SUPPORTED, interpreters, native_command  # noqa: E402

SUBJECT = os.path.join(HERE, "lift_subject.py")

# No compiler emits these, or they are the interpreter's own.
NEVER = {
    "CACHE": "inline caches",
    "NOP": "up to 3.9 the compiler removes all",
    "RESERVED": "no instruction",
    "ENTER_EXECUTOR": "made by the optimiser at run time",
    "EXIT_INIT_CHECK": "in the interpreter's own code",
    "INTERPRETER_EXIT": "in the interpreter's own code",
    "TRACE_RECORD": "made by the optimiser at run time",
}


@functools.lru_cache(maxsize=None)
def command():
    """The `depyf` program, else the installed package's command."""
    if native_command():
        return [native_command()]
    try:
        import depyf  # noqa: F401
    except ImportError:
        pytest.skip(
            "neither the program depyf is built (cmake --build build) nor the package installed"
        )
    return [sys.executable, "-m", "depyf"]


def run_subject(minor, *arguments):
    run = subprocess.run(
        [interpreters()[minor], "-W", "ignore", SUBJECT] + [str(a) for a in arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


def compare(minor, folder, alter=None):
    run_subject(minor, "compile", folder)
    for name in sorted(os.listdir(str(folder))):
        if not name.endswith(".pyc"):
            continue
        path = os.path.join(str(folder), name)
        dump = subprocess.run(
            command() + ["dump", "--stage", "lift", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert dump.returncode == 0, dump.stderr + dump.stdout[-2000:]
        with open(path[: -len("pyc")] + "lift", "w", encoding="utf-8") as out:
            out.write(alter(dump.stdout) if alter else dump.stdout)
    return json.loads(run_subject(minor, "run", folder))


def skip_without(minor):
    if minor not in interpreters():
        pytest.skip(
            "no CPython 3.%d found (DEPYF_PYTHONS, PATH and PYENV_ROOT are looked at)" % minor
        )


@pytest.mark.parametrize("minor", SUPPORTED, ids=["3.%d" % m for m in SUPPORTED])
def test_lifted_programs_do_what_the_interpreter_does(minor, tmp_path):
    skip_without(minor)
    told = compare(minor, tmp_path)
    assert told["failures"] == []
    assert told["programs"] > 100 and told["runs"] > 2000
    missing = set(told["missing"]) - set(NEVER)
    assert not missing, "no program of lift_subject.py executes these opcodes: %s" % sorted(missing)


# Mistakes that lift could make, put into its text: each must be noticed.
MISTAKES = {
    "operands swapped": lambda text: re.sub(
        r"(BINARY[^(\n]*) \((v\d+), (v\d+)\)", r"\1 (\3, \2)", text
    ),
    "in place for binary": lambda text: text.replace(" = INPLACE", " = BINARY"),
    "branch arms swapped": lambda text: re.sub(
        r"(branch \S+) \? (.+) : (.+)", r"\1 ? \3 : \2", text
    ),
    "unpacking the other way round": lambda text: re.sub(r"v(\d+)\.0\b", r"v\1.1", text),
    "is not for is": lambda text: re.sub(r"= IS \(", "= IS 1 (", text),
    "handler forgotten": lambda text: re.sub(r"  protected by .*", "", text),
    "store dropped": lambda text: re.sub(r"  v\d+ = STORE_SUBSCR .*\n", "", text),
}


@pytest.mark.slow  # each runs the programs again
@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_is_noticed(mistake, tmp_path):
    minor = next((m for m in (11, 12, 10, 9, 13, 14) if m in interpreters()), None)
    if minor is None:
        pytest.skip("no CPython found")
    assert compare(minor, tmp_path, MISTAKES[mistake])["failures"]
