"""The documentation is true: every block of Python runs, every command ends as it should, every
link leads somewhere.
"""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import warm
from processes import environment, guards_tell_their_lines, named_regions

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md"] + sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page, *languages):
    return [
        text
        for language, text in FENCE.findall(page.read_text(encoding="utf-8"))
        if language in languages
    ]


def site_pages():
    return [page for page in PAGES if page.name != "README.md" and blocks(page, "python")]


@pytest.mark.parametrize("page", site_pages(), ids=lambda page: page.stem)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    if page.stem == "numbers" and not hasattr(torch.compiler, "is_compiling"):
        pytest.skip("the page asks torch.compiler.is_compiling, which this torch lacks")
    if page.stem == "slow_program" and not named_regions():
        pytest.skip("this torch's profiler does not say which compiled code runs")
    monkeypatch.chdir(tmp_path)
    program = tmp_path / (page.stem + "_page.py")  # all blocks of a page are one program
    program.write_text("\n".join(blocks(page, "python")))
    runpy.run_path(str(program), run_name="page")


# Runs each command in a fork of one process that has loaded torch already.
RUNNER = """
import json, os, shlex, sys
import torch, torch._dynamo, depyf.cli, depyf.torch
for command in json.load(sys.stdin):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            sys.argv = shlex.split(command)
            code = depyf.cli.main(sys.argv[1:]) or 0
        except SystemExit as error:
            code = error.code or 0
        except BaseException as error:
            sys.stderr.write("%r\\n" % error)
        sys.stdout.flush(); sys.stderr.flush()
        os._exit(code)
    print("CODE", command, "=", os.waitpid(child, 0)[1] >> 8, flush=True)
"""


def test_commands_run(tmp_path):
    commands = [
        line
        for page in PAGES
        for text in blocks(page, "sh")
        for line in text.splitlines()
        if line.startswith("depyf ")
    ]
    assert len(commands) > 8
    toy = (ROOT / "examples" / "toy.py").read_text()
    assert "@torch.compile\n" in toy
    # the commands of the pages are the same with a backend that is quick
    (tmp_path / "toy.py").write_text(
        toy.replace("@torch.compile\n", '@torch.compile(backend="eager")\n')
    )
    recompile = (ROOT / "examples" / "recompile.py").read_text()
    (tmp_path / "recompile.py").write_text(recompile)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "recompile.py").write_text(recompile)
    (tmp_path / "slow.py").write_text((ROOT / "examples" / "slow.py").read_text())
    environ = environment(tmp_path / "cache", BROWSER="true")
    done = warm.run(["-c", RUNNER], environ, cwd=tmp_path, input=json.dumps(commands))
    assert done.returncode == 0, done.stderr
    ends = dict(re.findall(r"^CODE (.*) = (\d+)$", done.stdout, re.MULTILINE))
    assert list(ends) == list(dict.fromkeys(commands))
    wrong = {command: code for command, code in ends.items() if code != "0"}
    assert not wrong, (wrong, done.stderr)
    # what the pages say that these commands print
    assert "size mismatch at index 0. expected 8, actual 16" in done.stderr
    place = ", guarded at recompile.py:9" if guards_tell_their_lines() else ""
    # torch up to 2.5 names it as guards do
    assert "(scale == 2)" + place in done.stderr.replace("L['scale']", "scale")
    assert "Data-dependent branching" in done.stderr and "no differences" in done.stdout
    assert (tmp_path / "depyf_dump" / "index.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"^[a-z]+:", target):
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in navigation, page
    for name in re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE):
        module, _, attribute = name.rpartition(".")
        found = __import__(module, fromlist=[attribute])
        assert getattr(found, attribute).__doc__, name


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings_handlers.python")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=str(ROOT),
        env=dict(environment(tmp_path / "cache"), NO_MKDOCS_2_WARNING="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
    text = (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
    assert "find_nonfinite" in text and "largest differences" in text  # from a docstring


def test_the_programs_that_pages_run_stand_on_a_page_as_they_are():
    names = set()
    for page in PAGES:
        for text in blocks(page, "sh"):
            names.update(re.findall(r"^depyf run .*?(\w+\.py)$", text, re.MULTILINE))
    shown = blocks(ROOT / "docs" / "programs.md", "python")
    examples = {path.name: path.read_text() for path in (ROOT / "examples").glob("*.py")}
    assert names and {examples[name] for name in names} <= set(shown)
