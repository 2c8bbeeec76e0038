"""A run in a notebook: the example is executed, and its lists are used in JupyterLab and in what
nbconvert exports.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import depyf
import pytest
import torch
from processes import environment
from depyf.torch import notebook
from depyf.torch.model import GraphBreak

EXAMPLE = Path(__file__).parents[2] / "examples" / "explain.ipynb"
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=1>\x1b[31m\udc80\"'&"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp("notebook")
    # a kernel of this very interpreter, whatever kernels the user has
    kernel = folder / "data" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "Python 3", "language": "python"})
    )
    before = dict(os.environ)
    os.environ.update(
        environment(
            folder / "cache",
            JUPYTER_DATA_DIR=str(folder / "data"),
            JUPYTER_RUNTIME_DIR=str(folder / "runtime"),
            JUPYTER_CONFIG_DIR=str(folder / "config"),
            IPYTHONDIR=str(folder / "ipython"),
        )
    )
    try:
        document = nbformat.read(str(EXAMPLE), as_version=4)
        nbclient.NotebookClient(
            document,
            timeout=1200,
            startup_timeout=600,
            resources={"metadata": {"path": str(folder)}},
        ).execute()
        nbformat.write(document, str(folder / "explain.ipynb"))
        yield folder, document
    finally:
        os.environ.clear()
        os.environ.update(before)


def outputs(document):
    return [output for cell in document.cells for output in cell.get("outputs", ())]


def test_the_example_runs_and_shows_the_run(executed):
    _, document = executed
    pages = [
        output["data"]["text/html"]
        for output in outputs(document)
        if "text/html" in output.get("data", {})
    ]
    assert len(pages) == 1
    for word in (
        "toy_example",
        "Captured Graph",
        "guards (",
        "torch_dynamo_resume_in_toy_example",
        "0/1",
    ):
        assert word in pages[0], word
    printed = "".join(output.get("text", "") for output in outputs(document))
    assert "break: Data-dependent branching" in printed and "size mismatch" in printed
    assert "def __transformed_code_0_for_toy_example(a, b):" in printed
    assert "NaN made by sqrt (torch.sqrt)" in printed


def pick(root):
    """Goes through the three lists and checks that each choice shows its text, and nothing else."""
    function, entry, artifact = (root.locator("select").nth(number) for number in range(3))
    visible = root.locator("details:not([hidden])")
    assert function.locator("option").all_text_contents()[0].startswith("toy_example")
    assert visible.count() == 1 and "__compiled_fn_" in visible.locator("pre").inner_text()
    artifact.select_option(label="Captured Graph")
    assert visible.count() == 1 and "torch.abs" in visible.locator("pre").inner_text()
    entry.select_option(label="0/1")  # the same kind of text of the other compile
    assert artifact.evaluate("list => list.selectedOptions[0].text") == "Captured Graph"
    assert (
        "s" in visible.locator("pre").inner_text()
        and "torch.abs" in visible.locator("pre").inner_text()
    )
    artifact.select_option(label="why it recompiled")
    assert "size mismatch" in visible.locator("pre").inner_text()
    function.select_option(index=1)
    assert artifact.locator("option").all_text_contents()[0].startswith("decompiled code")
    assert (
        visible.count() == 1
        and "torch_dynamo_resume_in_toy_example" in visible.locator("pre").inner_text()
    )


def test_the_lists_in_an_exported_page(executed, browser, tmp_path):
    nbconvert = pytest.importorskip("nbconvert")
    _, document = executed
    html, _ = nbconvert.HTMLExporter(embed_images=True).from_notebook_node(document)
    (tmp_path / "explain.html").write_text(html, encoding="utf-8")
    page = browser.new_page()
    page.route(
        re.compile("^https?:"), lambda route: route.abort()
    )  # fonts and MathJax of nbconvert
    page.goto((tmp_path / "explain.html").as_uri(), wait_until="domcontentloaded")
    pick(page.locator(".depyf-run"))
    page.close()
    # with scripts off every text is there to be unfolded
    page = browser.new_context(java_script_enabled=False).new_page()
    page.route(re.compile("^https?:"), lambda route: route.abort())
    page.goto((tmp_path / "explain.html").as_uri(), wait_until="domcontentloaded")
    assert page.locator(".depyf-run details").count() > 10
    assert not page.locator(".depyf-run select").first.is_visible()
    part = page.locator(".depyf-run details").first
    part.locator("summary").click()
    assert "__compiled_fn_" in part.locator("pre").inner_text()
    page.close()


def test_the_lists_in_jupyterlab(executed, browser):
    pytest.importorskip("jupyterlab")
    folder, _ = executed
    subprocess.run(
        [sys.executable, "-m", "jupyter", "trust", "explain.ipynb"],
        cwd=str(folder),
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=600,
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(str(folder / "server.log"), "wb") as log:
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyter",
                "lab",
                "--no-browser",
                "--allow-root",
                "--ip=127.0.0.1",
            ]
            + ["--port=%d" % port, "--IdentityProvider.token=secret", "--ServerApp.root_dir=."],
            cwd=str(folder),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        address = "http://127.0.0.1:%d/" % port
        deadline = time.time() + 600
        while True:
            try:
                urllib.request.urlopen(address + "api?token=secret", timeout=30).close()
                break
            except OSError:
                assert server.poll() is None and time.time() < deadline, (
                    folder / "server.log"
                ).read_text()
                time.sleep(0.5)
        page = browser.new_page()
        page.set_default_timeout(300000)
        page.goto(address + "doc/tree/explain.ipynb?token=secret", wait_until="domcontentloaded")
        root = page.locator(".depyf-run")
        root.locator("select").first.wait_for()
        pick(root)
        page.close()
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # its kernels too
        server.wait(timeout=60)


def test_hostile_text_is_text(browser, tmp_path):
    def function(x):
        return x + 1

    with depyf.capture() as run:
        torch.compile(function, backend="eager")(torch.ones(2))
    entry = run.functions[0].entries[0]
    run.functions[0].name = run.functions[0].source = HOSTILE
    entry.source = entry.detail = entry.compile_id = HOSTILE
    entry.breaks = [GraphBreak(reason=HOSTILE)]
    entry.reasons, entry.failure, entry.missing = [HOSTILE], HOSTILE, {HOSTILE: HOSTILE}
    for guard in entry.guards:
        guard.text = guard.comment = HOSTILE
    for artifact in entry.artifacts:
        artifact.stage, artifact._text = HOSTILE, HOSTILE
    html = run._repr_html_()
    assert html.count("<script>") == 1 and "<img" not in html and "\x1b" not in html
    (tmp_path / "page.html").write_text(
        "<!doctype html><meta charset=utf-8>" + html, encoding="utf-8"
    )
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert "<img src=x" in page.locator("details:not([hidden]) pre").inner_text()
    page.close()


def test_functions_and_entries_show_themselves_too_and_are_short_in_a_terminal(browser, tmp_path):
    def function(x, loud):
        if loud:
            print("loud")
        return x + 1

    with depyf.capture() as run:
        compiled = torch.compile(function, backend="eager")
        for loud in (False, True):
            compiled(torch.ones(2), loud)
    found = run.function("function")
    assert len(repr(run)) < 100 and "recompile" in repr(run) and "graph break" in repr(run)
    assert re.match(r"<Function function, .*test_notebook\.py:\d+: 2 entries>$", repr(found))
    assert re.match(r"<Entry 0/1 of function: \w+, .*1 graph break", repr(found.entries[1]))
    page = browser.new_page()
    (tmp_path / "page.html").write_text(
        "<meta charset=utf-8><div id=run>%s</div><div id=function>%s</div><div id=entry>%s</div>"
        % (run._repr_html_(), found._repr_html_(), found.entries[1]._repr_html_()),
        encoding="utf-8",
    )
    page.goto((tmp_path / "page.html").as_uri())
    assert any(
        "resumed after line" in name
        for name in page.locator("#run select").first.locator("option").all_text_contents()
    )
    assert page.locator("#function select").nth(1).locator("option").all_text_contents() == [
        "0/0",
        "0/1",
    ]
    lists = page.locator("#entry select")
    assert lists.nth(1).locator("option").all_text_contents() == ["0/1"]
    lists.nth(2).select_option(label="why it recompiled")
    text = page.locator("#entry details:not([hidden]) pre").inner_text()
    assert "loud was False, is" in text.replace("`", "") and "torch's message:" in text
    lists.nth(2).select_option(label="graph breaks")
    assert "What helps: " in page.locator("#entry details:not([hidden]) pre").inner_text()
    code = page.locator("#run details:not([hidden]) pre")
    assert "mono" in code.evaluate("pre => getComputedStyle(pre).fontFamily").lower()
    page.close()


def test_large_texts_are_cut_and_say_so():
    def function(x):
        return x + 1

    with depyf.capture() as run:
        torch.compile(function, backend="eager")(torch.ones(2))
    run.functions[0].entries[0].source = "a" * (notebook.TEXT_LIMIT + 5)
    html = run._repr_html_()
    assert (
        "cut here at %d of %d characters" % (notebook.TEXT_LIMIT, notebook.TEXT_LIMIT + 5) in html
    )
    assert "a" * (notebook.TEXT_LIMIT + 1) not in html
    with depyf.capture() as empty:
        pass
    assert "torch compiled nothing" in empty._repr_html_() and "<script" not in empty._repr_html_()
