"""scripts/python_coverage: every opcode of every version is decompiled and exercised by a committed
file.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "python_coverage")


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, SCRIPT] + list(arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def test_nothing_is_missing():
    done = run("--all", "--missing")
    assert done.returncode == 0, done.stdout.decode()
    assert len(done.stdout.decode().splitlines()) == 9


def test_running_python():
    done = run()
    version = "Python 3.%d: " % sys.version_info[1]
    assert done.stdout.decode().startswith(version)
    assert "LOAD_CONST" in done.stdout.decode()


def test_a_missing_opcode_is_reported(tmp_path):
    """Without the test files every opcode is reported, and the exit status says so."""
    opcodes = tmp_path / "src" / "opcode"
    (opcodes / "tables").mkdir(parents=True)
    for name in ("semantics.def", os.path.join("tables", "py311.def")):
        with open(os.path.join(ROOT, "src", "opcode", name)) as file:
            text = file.read()
        (opcodes / name).write_text(text.replace("ROW(POP_TOP,", "ROW(POP_TIP,"))
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "python_coverage"
    with open(SCRIPT) as file:
        script.write_text(file.read())
    done = subprocess.run(
        [sys.executable, str(script), "3.11", "--missing"],
        stdout=subprocess.PIPE,
    )
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert [line for line in lines if "POP_TOP" in line][0].split()[2:4] == ["NOT", "DECOMPILED"]
    assert [line for line in lines if " LOAD_CONST " in line][0].endswith("NOT EXERCISED")
