"""The page of a log of TORCH_TRACE, which torch wrote for a program that knows nothing of depyf:
what its data say.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from processes import environment, guards_tell_their_lines
from programs import TORCH

from depyf.torch import compat

pytest.importorskip("jinja2")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAM = """
import runpy, sys
runpy.run_path(sys.argv[1])["main"]()
assert "depyf" not in sys.modules
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """The compiles of an example's log, as the page shows them."""
    from depyf import report
    from depyf.report import document, overview

    if compat.trace_logger() is None:
        pytest.skip("this torch writes no such log")
    base = tmp_path_factory.mktemp("trace")

    def read(name, backend):
        program = base / (name + ".py")
        text = (EXAMPLES / (name + ".py")).read_text()
        program.write_text(
            text.replace("@torch.compile\n", '@torch.compile(backend="%s")\n' % backend)
        )
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(program)],
            env=environment(base / "cache", TORCH_TRACE=str(base / name)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1200,
        )
        assert done.returncode == 0, done.stdout
        (log,) = (base / name).iterdir()
        (run,) = document.load_all(log)
        assert run["problems"] == [] and run["unattributed"] == []
        assert report.build(log, base / (name + ".html")).is_file()
        return overview.nodes_of([run])

    return read


def guards_of(node):
    return [guard["text"].replace('"', "'") for guard in node.entry["guards"]]


def graphs_of(node):
    return {
        artifact["stage"]: artifact["text"]
        for artifact in node.entry["artifacts"]
        if artifact["kind"] == "graph"
    }


def test_breaks_guards_and_graphs(nodes):
    found = nodes("toy", "aot_eager")
    first, rests = found[0], found[1:]
    assert first.function["name"] == "toy_example" and first.place[0].endswith("toy.py")
    assert len(rests) == 2 and all(node.is_resume and node.title == "toy_example" for node in rests)
    assert (
        "abs" in graphs_of(first)["Captured_Graph"] and "abs" in graphs_of(first)["Forward_graph"]
    )
    assert all("mul" in graphs_of(node)["Forward_graph"] for node in rests)
    for name in "ab":
        assert [
            text
            for text in guards_of(first)
            if text.startswith("check_tensor(L['%s'], Tensor" % name)
        ]
    assert (
        len([text for text in guards_of(first) if "alias" in text]) == 1
    )  # over both, so under each in torch's tree
    assert all(guards_of(node) for node in rests)
    assert all(node.phases["dynamo"] > 0 and node.phases["aot"] > 0 for node in found)
    assert not [node for node in found if node.entry["failure"] or node.reasons]
    if TORCH < (2, 6):
        pytest.skip("this torch traces no reasons of graph breaks")
    (graph_break,) = first.breaks
    lines = (EXAMPLES / "toy.py").read_text().splitlines()
    assert graph_break["source"] == "if b.sum() < 0:"
    assert lines[graph_break["line"] - 1].strip() == graph_break["source"]
    assert graph_break["file"].endswith("toy.py") and "ata-dependent" in graph_break["what"]
    assert sorted(node.key for node in first.children) == sorted(node.key for node in rests)
    assert not any(node.breaks for node in rests)


def test_recompiles(nodes):
    found = nodes("recompile", "eager")
    assert [node.title for node in found] == ["scaled_mean"] * 5
    assert all(graphs_of(node)["Captured_Graph"] for node in found)
    assert all(
        [text for text in guards_of(node) if text.startswith("check_tensor(L['x'], Tensor")]
        for node in found
    )
    assert "L['scale'] == 2" in guards_of(found[0]) and "L['scale'] == 2" not in guards_of(found[2])
    if TORCH < (2, 6):
        pytest.skip("this torch traces no reasons of recompiles")
    assert not found[0].reasons
    first = [node.reasons[0] for node in found[1:]]
    assert [reason["kind"] for reason in first] == ["size", "value", "dtype", "global state"]
    assert first[0]["words"] == "`x.size(0)` was 8, is 16"
    assert (first[1]["name"], first[1]["before"]) == ("scale", "2")
    assert (first[2]["before"], first[2]["after"]) == ("float32", "float64")
    assert first[3]["name"] == "grad_mode"
    # each entry that was tried says why it did not fit
    assert [len(node.reasons) for node in found[1:]] == [1, 2, 3, 4]
    if guards_tell_their_lines():
        assert first[1]["source"] == "return (x * scale).mean(0)"
