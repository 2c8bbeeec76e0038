"""The printer against CPython's own parser: source -> ast -> our tree -> text -> ast must close,
for every interpreter found.
"""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import ROOT, SUPPORTED, interpreters  # noqa: E402

# Modules that together hold every kind of syntax, large constants, odd strings and deep nesting.
MODULES = [
    "ast",
    "asyncio.tasks",
    "calendar",
    "dataclasses",
    "decimal",
    "difflib",
    "encodings.idna",
    "html.entities",
    "inspect",
    "statistics",
    "textwrap",
    "typing",
    "zipfile",
]

FILES = """
import importlib.util, sys
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name.replace("decimal", "_pydecimal"))
    if spec and spec.origin and spec.origin.endswith(".py"):
        print(spec.origin)
"""


def oracle_program():
    folders = [os.environ.get("DEPYF_BUILD_DIR"), os.path.join(ROOT, "build")]
    build = os.path.join(ROOT, "build")
    if os.path.isdir(build):
        folders += [os.path.join(build, name) for name in sorted(os.listdir(build))]
    found = [os.path.join(f, "depyf_print_oracle") for f in folders if f]
    return next((path for path in found if os.path.isfile(path)), None)


@pytest.mark.parametrize("minor", SUPPORTED, ids=["3.%d" % m for m in SUPPORTED])
def test_printed_trees_parse_back(minor):
    if minor not in interpreters():
        pytest.skip(
            "no CPython 3.%d found (DEPYF_PYTHONS, PATH and PYENV_ROOT are looked at)" % minor
        )
    program = oracle_program()
    if program is None:
        pytest.skip("depyf_print_oracle is not built (cmake --build build)")
    python = interpreters()[minor]
    files = subprocess.run(
        [python, "-c", FILES] + MODULES, stdout=subprocess.PIPE, universal_newlines=True, check=True
    ).stdout.split()
    golden = os.path.join(os.path.dirname(HERE), "golden")
    files += sorted(
        os.path.join(golden, name)
        for name in os.listdir(golden)
        if name.endswith(".py") and not name.startswith(("test_", "conftest"))
    )
    printed = print_and_parse(python, program, files)
    assert printed > 50  # files of other versions do not parse and are left out


@pytest.mark.parametrize("minor", SUPPORTED, ids=["3.%d" % m for m in SUPPORTED])
def test_every_expression_in_every_place(minor, tmp_path):
    """Parentheses stand wherever the grammar of that version asks for them."""
    if minor not in interpreters():
        pytest.skip(
            "no CPython 3.%d found (DEPYF_PYTHONS, PATH and PYENV_ROOT are looked at)" % minor
        )
    program = oracle_program()
    if program is None:
        pytest.skip("depyf_print_oracle is not built (cmake --build build)")
    python = interpreters()[minor]
    files = subprocess.run(
        [python, "-W", "ignore", os.path.join(HERE, "expression_places.py"), str(tmp_path)],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=True,
    ).stdout.split()
    assert len(files) > 10
    assert print_and_parse(python, program, files) == len(files)


def print_and_parse(python, program, files):
    """How many files were printed from their trees; each must parse to the same tree again."""
    run = subprocess.run(
        [python, "-W", "ignore", os.path.join(HERE, "ast_stream.py"), program] + files,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    assert run.returncode == 0, run.stdout
    return int(run.stdout.strip().split("\n")[-1].split()[0])
