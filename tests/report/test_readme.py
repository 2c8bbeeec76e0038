"""The path in README.md from the program to the answer of "why did this recompile?"."""

import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def commands():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as stream:
        text = stream.read()
    block = re.search(r"Why did this recompile\?.*?```\w*\n(.*?)```", text, re.DOTALL).group(1)
    return block.splitlines()


def test_the_commands_answer_why_it_recompiled(screen, tmp_path):
    pytest.importorskip("torch")
    install, torch, *runs = commands()
    assert install == "pip install ." and torch.startswith("pip install torch") and len(runs) == 2
    environment = dict(os.environ, BROWSER="true")  # a browser that shows nothing
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.symlink(os.path.join(ROOT, "examples"), str(tmp_path / "examples"))
    for run in runs:
        done = subprocess.run(
            [sys.executable, "-m"] + run.split(),
            cwd=str(tmp_path),
            env=environment,
            timeout=600,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )
        assert done.returncode == 0, done.stdout
    page = screen.open(tmp_path / "depyf_dump" / "index.html")
    causes = "\n".join(page.locator(".cause").all_text_contents())
    assert "x.size(0) was 8, is 16" in causes and "mark_dynamic(x, 0)" in causes
    assert "scale was 2" in causes and "recompile.py" in causes
    assert "x.dtype was float32, is float64" in causes and "grad_mode" in causes
    screen.picture("readme")
