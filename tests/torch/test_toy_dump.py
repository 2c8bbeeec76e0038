"""The dump of the toy example with inductor: names, validity, readability, truth, and the second
run with warm caches.
"""

import json
import py_compile
import re
from pathlib import Path

import pytest
import torch
import torch._inductor.config as inductor
import warm
from processes import environment
from programs import TORCH, readme_of

HERE = Path(__file__).parent
STAGES = [
    "Captured_Graph.0",
    "Forward_graph.0",
    "AFTER_POST_GRAD.0",
    "kernel_0",
]
# what inductor is given; before torch 2.7 it neither traces nor logs that
STAGES += ["BEFORE_PRE_GRAD.0"] if TORCH >= (2, 7) else []


def run_toy(folder, cache, *more, backend="inductor"):
    done = warm.run([HERE / "toy.py", backend, folder, *more], environment(cache))
    assert done.returncode == 0, done.stderr
    assert "DepyfWarning" not in done.stderr, done.stderr
    return folder


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    base = tmp_path_factory.mktemp("toy")
    cold = run_toy(base / "cold", base / "cache", base / "results.pt")
    warm = run_toy(base / "warm", base / "cache")
    return {"cold": cold, "warm": warm, "results": base / "results.pt", "cache": base / "cache"}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def entries(folder):
    run = json.loads((folder / "depyf.json").read_text())
    return [entry for function in run["functions"] for entry in function["entries"]]


def test_files_have_the_names_that_users_know(dumps):
    found = names(dumps["cold"])
    assert "full_code_for_toy_example_0.py" in found
    assert "__transformed_code_0_for_toy_example.py" in found
    for number in (0, 1):
        # torch 2.2 does not name the line
        pattern = re.compile(
            r"__transformed_code_%d_for_(torch_dynamo_resume_in_toy_example_at_\d+|resume_in_toy_example)\.py"
            % number
        )
        assert [name for name in found if pattern.fullmatch(name)], number
    graphs = sorted({name.split(".")[0] for name in found if name.startswith("__compiled_fn_")})
    assert len(graphs) == 3 and all(re.fullmatch(r"__compiled_fn_\d+", name) for name in graphs)
    for graph in graphs:
        for stage in STAGES:
            assert "%s.%s.py" % (graph, stage) in found
    assert not [name for name in found if name.startswith(".depyf-")]


def test_readable_names_stand_for_those_that_the_bytecode_has(dumps):
    for entry in entries(dumps["cold"]):
        assert entry["names"] or TORCH < (2, 8)  # an earlier one gives its graphs short names
        for given, real in entry["names"].items():
            # the head of the file says the same
            assert "# %s is torch's %s\n" % (given, real) in entry["source"]
            code = re.sub(r"#.*", "", entry["source"])
            assert re.search(r"\b%s\b" % given, code) and real not in code
            assert "(%s)" % real in re.sub(r"NULL, |, NULL", "", entry["transformed_bytecode"])


def test_captured_graphs_are_tables_in_one_file(dumps):
    found = [name for name in names(dumps["cold"]) if name.endswith(".Captured_Graph.0.py")]
    text = (dumps["cold"] / "Captured_Graph.tables.txt").read_text()
    tables = dict(re.findall(r"^# (\S+)\n(.*?)\n\n", text, re.M | re.S))
    assert sorted(tables) == sorted(name[:-3] for name in found)
    for table in tables.values():
        head, *rows = table.splitlines()
        assert head.split() == "name dtype shape stride device computed by".split()
        assert rows and all("f32" in row or "b8" in row for row in rows)


@pytest.mark.parametrize("which", ["cold", "warm"])
def test_every_python_file_compiles(dumps, which, tmp_path):
    files = sorted(dumps[which].glob("*.py"))
    assert len(files) > 10
    for path in files:
        py_compile.compile(str(path), cfile=str(tmp_path / "out.pyc"), doraise=True)


def test_every_code_object_is_proven_and_replaced(dumps):
    found = entries(dumps["cold"])
    assert len(found) == 3
    for entry in found:
        assert entry["verdict"] in ("exact", "equivalent"), entry["detail"]
        assert entry["replaced"]
        assert Path(entry["code_path"]).name == entry["path"]


def test_transformed_code_reads_well(dumps):
    text = (dumps["cold"] / "__transformed_code_0_for_toy_example.py").read_text()
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    # from torch 2.15 on the code asks whether a profiler listens, which takes six lines more
    assert len(lines) <= 12 + 6 * ("_is_profiler_enabled" in text), text
    assert "\n".join(lines).count("__resume_at_") == 2
    # each is followed to its file from here
    assert text.count("toy_example, resumed after line ") == 2
    told = " ".join(text.replace("\n#", "").split())
    files = re.findall(r"Its code is in (__transformed_code_\d+_for_\w+\.py)\.", told)
    assert all((dumps["cold"] / file).exists() for file in files)
    uncalled = told.count("Torch compiled nothing of it: it was not called, or")
    assert len(files) + uncalled == 2 and files
    assert "extend" not in text and "__temp_" not in text and "[:" not in text
    assert re.search(r"^    if ", text, re.MULTILINE)


def test_results_equal_those_of_plain_torch_compile(dumps):
    import toy

    plain = toy.main(torch.compile(toy.toy_example))
    for have, want in zip(torch.load(dumps["results"]), plain):
        assert torch.equal(have, want)


def test_warm_caches_are_listed(dumps):
    if not inductor.fx_graph_cache:
        pytest.skip("this torch uses its caches only where a program turns them on")
    readme = readme_of(dumps["warm"])
    for entry, before in zip(entries(dumps["warm"]), entries(dumps["cold"])):
        hits = {event["cache"] for event in entry["cache"] if event["result"] == "hit"}
        assert hits & {"aotautograd_cache", "fx_graph_cache"}
        stages = {artifact["stage"] for artifact in entry["artifacts"]}
        assert {"Captured_Graph", "Forward_graph", "kernel"} <= stages
        not_made = {artifact["stage"] for artifact in before["artifacts"]} - stages
        assert not_made and not_made <= set(entry["missing"])
        for stage in not_made:
            assert re.search(r"\n- not there: [^;]*\b%s\b" % stage, readme)


def test_break_and_guards_are_recorded(dumps):
    first = entries(dumps["cold"])[0]
    found = first["breaks"][0]
    assert "ata-dependent" in found["reason"] or "jump" in found["reason"], found["reason"]
    # what torch says, in the version at hand
    assert bool(found["hints"]) == ("Hint:" in found["text"])
    assert bool(found["url"]) == ("For more details" in found["text"])
    assert not found["url"] or found["url"].startswith("https://")
    assert any("L['b']" in guard["text"] for guard in first["guards"])


def test_caches_can_be_turned_off(run_script, dumps, tmp_path):
    run_script(
        "import depyf, torch\n"
        "with depyf.prepare_debug('dump', caches=False):\n"
        "    torch.compile(lambda x: x.sin() + 1)(torch.ones(3))\n"
        "import torch._inductor.config as config\n"
        "assert not getattr(config, 'force_disable_caches', False)\n",
        cache=dumps["cache"],
    )
    assert list((tmp_path / "dump").glob("*.%s.py" % STAGES[-1]))
