"""What a dump holds is shown as text, whatever it is: an injection in every field, controls,
surrogates, huge constants.
"""

import importlib
import json
import os
import random
import re
import shutil
import time

import pytest

import depyf
from depyf import cli, files, report, summary
from depyf.report import tracelog, words
from tests.report.conftest import unpacked

NASTY = (
    "</script></style></textarea></title></pre></template><script>window.pwned=1</script>"
    "<img src=x onerror='window.pwned=1'><svg onload=window.pwned=1><iframe src='https://example.com/'></iframe>"
    "<a href='javascript:window.pwned=1'>x</a><link rel=stylesheet href=https://example.com/x.css>"
    "]]>--><!--{{ 191**9 }}{% raw %}\"'`&lt;\x00\x07\x1b[31m\x7f\x85\u2028\u202e\ud800x\udfff\ufeff\U0001f600"
)
#: fields in which the capture layer finds its way; all others get the injection
STRUCTURE = {
    "schema",
    "schema_version",
    "path",
    "stage",
    "kind",
    "verdict",
    "result",
    "source_origin",
}


def poisoned(value, key=""):
    if isinstance(value, dict):
        return {
            name + (NASTY if key in ("missing", "unavailable", "metrics") else ""): poisoned(
                one, name
            )
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [poisoned(one, key) for one in value]
    if isinstance(value, str) and key not in STRUCTURE:
        return value + NASTY
    return value


@pytest.fixture(params=["plain", "packed"])
def packing(request, monkeypatch):
    """Small pages hold their texts as text, others compressed; both for the same dumps."""
    render = importlib.import_module("depyf.report.page.render")
    monkeypatch.setattr(render, "_PLAIN", 1 << 30 if request.param == "plain" else 0)
    return request.param


@pytest.fixture(params=["toy", "recompiles"])
def hostile(request, dumps, tmp_path, packing):
    folder = tmp_path / "dump"
    shutil.copytree(str(dumps / request.param), str(folder))
    document = poisoned(json.loads((folder / "depyf.json").read_text()))
    document["problems"] = [{"where": NASTY, "message": NASTY, "detail": NASTY}]
    document["unavailable"] = {NASTY: NASTY}
    for function in document["functions"]:
        for entry in function["entries"]:
            entry["failure"] = NASTY
            entry["missing"] = {NASTY: NASTY}
            entry["symbols"] = [{"symbol": NASTY, "source": NASTY, "val": NASTY, "vr": NASTY}]
            entry["events"] = [[NASTY, 0, 1000], [NASTY + "2", 10, 500]]
            for artifact in entry["artifacts"]:
                artifact["stage"] += NASTY if artifact["kind"] == "text" else ""
                artifact["note"] = NASTY
                file = folder / artifact["path"]
                file.write_text(
                    file.read_text() + "\n" + NASTY.encode("utf-8", "replace").decode() + "\n"
                )
    (folder / "depyf.json").write_text(json.dumps(document))
    return folder


def test_an_injection_in_every_field_stays_text(screen, hostile):
    path = report.build(hostile)
    page = screen.open(path)
    assert "</script>" in page.locator("#overview").inner_text()
    keys = re.findall(r'data-key="([^"]*)"', path.read_text())
    assert keys
    for key in keys:
        for tab in ("code", "why", "graph", "guards", "time", "bytecode", "files"):
            screen.go("compile/%s/%s" % (key, tab))
            assert page.locator("#panel").inner_text().strip() or tab == "graph"
        screen.go("compile/%s/why" % key)
        assert "window.pwned=1</script>" in page.locator("#panel").text_content()
        screen.go("compile/%s/code" % key)
        assert "window.pwned=1</script>" in page.locator(".pane").first.text_content()
        for option in page.locator(".pane").first.locator("option").all():
            page.locator(".pane").first.locator("select").select_option(
                option.get_attribute("value")
            )
    screen.go("search/" + "window.pwned")
    page.locator(".results li").first.wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    assert (
        page.locator(
            "iframe, object, embed, img, link[rel=stylesheet], a[href^='javascript']"
        ).count()
        == 0
    )
    # the page's own two: the first in its head
    assert page.locator("script").count() == 2
    screen.picture("hostile")


def test_an_injection_stays_text_without_scripts_too(screen_without_scripts, hostile, packing):
    path = report.build(hostile)
    # packed texts are letters and digits until a script makes text of them
    assert path.read_text() != unpacked(path)
    page = screen_without_scripts.open(path)
    assert page.locator(".unscripted").count() == (packing == "packed")
    text = page.locator("body").text_content()
    assert "window.pwned=1</script>" in text
    assert (
        "{{ 191**9 }}" in text and str(191**9) not in text
    )  # a figure no time or hash has by chance
    assert "\\u202e" in text and "\u202e" not in text  # the direction of writing is not turned
    assert "\u2400" in text and "\\ud800" in text
    assert page.locator("iframe, img").count() == 0


def test_the_policy_forbids_networks_and_inline_handlers(dumps):
    text = (dumps / "toy" / "index.html").read_text()
    policy = text.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy and "sha256-" in policy


def test_a_constant_of_ten_megabytes_is_shown_and_does_not_block(screen, dumps, tmp_path):
    folder = tmp_path / "dump"
    shutil.copytree(str(dumps / "recompiles"), str(folder))
    document = json.loads((folder / "depyf.json").read_text())
    huge = "x = '%s'\n" % ("<b>" * 3500000)
    entry = document["functions"][0]["entries"][0]
    entry["source"] = "y = 1\n" + huge
    entry["guards"][0]["text"] = entry["guards"][0]["expression"] = "L['x'] == " + huge
    (folder / "depyf.json").write_text(json.dumps(document))
    page = screen.open(report.build(folder))
    screen.go("compile/0/0/code/code")
    pane = page.locator(".pane", has=page.locator("select option[value=code]:checked"))
    assert "more characters" in pane.inner_text()
    assert page.evaluate("document.querySelectorAll('b').length") < 100
    screen.go("compile/0/0/guards")
    assert "more characters" in page.locator(".guards").inner_text()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"schema": "other"}',
        '{"schema": "depyf.run", "open": true, "process": 1}',
    ],
)
def test_a_manifest_that_is_none_is_an_error_with_a_reason(tmp_path, content):
    (tmp_path / "depyf.json").write_text(content)
    with pytest.raises(report.ReportError):
        report.build(tmp_path)


def test_a_manifest_of_any_shape_makes_a_page(tmp_path):
    junk = [None, 1, -5, 1.5, True, "x", [], {}, [[]], [{}], {"a": 1}, 10**400]
    shapes = [
        "functions",
        "unattributed",
        "problems",
        "unavailable",
        "started",
        "torch_version",
        "earlier",
    ]
    for value in junk:
        for key in shapes:
            (tmp_path / "depyf.json").write_text(
                json.dumps({"schema": "depyf.run", "functions": [], key: value})
            )
            report.build(tmp_path)
        entry = {
            name: value
            for name in (
                "compile_id",
                "guards",
                "breaks",
                "artifacts",
                "metrics",
                "events",
                "line_map",
                "calls",
            )
        }
        entry.update(
            {
                name: value
                for name in (
                    "cache",
                    "symbols",
                    "missing",
                    "reasons",
                    "user_stack",
                    "source",
                    "name",
                )
            }
        )
        function = {
            name: value
            for name in ("name", "filename", "firstlineno", "source", "is_resume", "path")
        }
        function["entries"] = [entry, value]
        (tmp_path / "depyf.json").write_text(
            json.dumps({"schema": "depyf.run", "functions": [function, value]})
        )
        report.build(tmp_path)


def test_no_file_outside_the_dump_is_read(tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    folder = tmp_path / "dump"
    folder.mkdir()
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), ".."):
        artifact = {"stage": "Captured_Graph", "kind": "graph", "path": path}
        document = {
            "schema": "depyf.run",
            "functions": [{"name": "f", "entries": [{"artifacts": [artifact]}]}],
            "earlier": [path],
        }
        (folder / "depyf.json").write_text(json.dumps(document))
        assert "the secret" not in unpacked(report.build(folder))


def test_somebody_elses_index_is_left_alone(dumps, tmp_path):
    folder = tmp_path / "dump"
    shutil.copytree(str(dumps / "nothing"), str(folder))
    (folder / "index.html").write_text("<p>my site")
    assert report.build(folder).name == "depyf.html"
    assert (folder / "index.html").read_text() == "<p>my site"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_no_link_or_pipe_in_a_dump_is_read(tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    folder = tmp_path / "dump"
    folder.mkdir()
    os.symlink(str(tmp_path / "secret.txt"), str(folder / "link.py"))
    os.mkfifo(str(folder / "pipe.py"))
    artifacts = [
        {"stage": "Captured_Graph", "kind": "graph", "path": path}
        for path in ("link.py", "pipe.py")
    ]
    document = {
        "schema": "depyf.run",
        "functions": [{"name": "f", "entries": [{"artifacts": artifacts}]}],
        "earlier": ["link.py", "pipe.py"],
    }
    (folder / "depyf.json").write_text(json.dumps(document))
    assert "the secret" not in unpacked(report.build(folder))
    (folder / "depyf.json").unlink()
    os.symlink(str(tmp_path / "secret.txt"), str(folder / "depyf.json"))
    with pytest.raises((OSError, report.ReportError)):
        report.build(folder)


@pytest.mark.parametrize("depth", [100, 900, 200000])
def test_json_that_is_nested_deeply_is_an_error_with_a_reason(tmp_path, depth):
    nested = '{"schema": "depyf.run", "functions": [], "x": %s%s}' % ("[" * depth, "]" * depth)
    (tmp_path / "depyf.json").write_text(nested)
    for read in (report.build, summary.load):
        try:
            read(tmp_path)
        except (report.ReportError, summary.DumpError) as error:
            assert depth > 900 and "nested too deeply" in str(error)
    # another program's dump there is no reason to stop this one
    with depyf.prepare_debug(str(tmp_path)) as run:
        pass
    assert run.problems == []


def test_a_file_larger_than_the_page_takes_is_named_and_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FILE_LIMIT", 1000)
    (tmp_path / "large").write_text("x" * 1001)
    with pytest.raises(OSError, match="larger than 1000 bytes"):
        files.read_text(str(tmp_path / "large"), 1000)


def log_line(metadata):
    return "V0101 00:00:00.000000 1 torch/x.py:1] %s\n" % json.dumps(metadata)


def test_a_log_of_hostile_size_is_cut_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(tracelog, "PAYLOAD_LIMIT", 10000)
    monkeypatch.setattr(tracelog, "LOG_LIMIT", 200000)
    start = {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    graph = dict(start, dynamo_output_graph={"sizes": {}}, has_payload="x")
    del graph["dynamo_start"]
    path = tmp_path / "trace.log"
    with open(str(path), "w") as file:
        file.write(log_line(start))
        file.write(log_line(graph) + "\tclass G:\n" + "\t    pass\n" * 5000)  # a long record
        file.write("\t" + "y" * 50000 + "\n")  # a long line
        file.write(log_line({"deep": 1})[:-2] + ', "x": ' + "[" * 9000 + "\n")  # cut and nested
        for number in range(1000):  # many records
            file.write(log_line(dict(graph, frame_compile_id=number)) + "\tclass G:\n" * 100)
    document = tracelog.read(str(path))
    told = " ".join(problem["message"] for problem in document["problems"])
    assert "a record is larger than" in told and "a line is longer than" in told
    assert "the rest is not read" in told
    assert sum(len(row["artifacts"]) for row in document["unattributed"]) < 300


def test_records_of_torch_up_to_2_6_are_read_as_those_of_later_ones(tmp_path):
    compiles = [{"frame_id": 0, "frame_compile_id": number, "attempt": 0} for number in (0, 1, 2)]
    start = {"dynamo_start": {"stack": [{"line": 2, "name": "f", "filename": 0, "loc": "x"}]}}
    reasons = {"artifact": {"name": "recompile_reasons", "encoding": "json"}, "has_payload": "x"}
    failed = {"fail_type": "<class 'torch._dynamo.exc.Unsupported'>", "fail_reason": "no"}
    log = log_line({"str": ["/a/b.py", 0]}) + log_line(dict(start, **compiles[0]))
    log += log_line(dict({"compilation_metrics": failed}, **compiles[0]))
    # the reasons come before the start, and only a compile at the limit has none
    for compile_id, more in ((compiles[1], [start]), (compiles[2], [])):
        log += log_line(dict(reasons, **compile_id)) + '\t["n == 2"]\n'
        log += "".join(log_line(dict(record, **compile_id)) for record in more)
    (tmp_path / "trace.log").write_text(log)
    found = tracelog.read(str(tmp_path / "trace.log"))
    entries = found["functions"][0]["entries"] + found["unattributed"]
    failures = {one["compile_id"]: one["failure"] for one in entries}
    assert (failures["0/0"], failures["0/1"]) == ("Unsupported: no", "")
    assert words.is_limit(failures["0/2"])


# ---- the text ------------------------------------------------------------------------------------


def changed(document, draw):
    """A copy of the document with a value of another type in one place."""
    found = json.loads(json.dumps(document))
    at = found
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = draw.choice(keys)
        if not (isinstance(at[key], (dict, list)) and at[key]) or draw.random() < 0.1:
            break
        at = at[key]
    at[key] = draw.choice([None, 7, -1.5, "con", [], {}, [7], {"a": 7}, True, "x" * 999])
    return found


def test_a_dump_with_a_value_of_another_type_is_shown_or_called_damaged(dumps, tmp_path, capsys):
    seed = random.SystemRandom().randrange(10**6)
    draw = random.Random(seed)
    document = json.loads((dumps / "recompiles" / "depyf.json").read_text())
    for number in range(150):
        (tmp_path / "depyf.json").write_text(json.dumps(changed(document, draw)))
        code = cli.main(["report", "--text", str(tmp_path)])
        told = capsys.readouterr().err
        assert code == 0 or (code == 2 and told), (seed, number, code)


def test_a_page_that_cannot_be_written_is_named_and_may_be_written_elsewhere(
    dumps, tmp_path, capsys
):
    dump = tmp_path / "dump"
    shutil.copytree(str(dumps / "recompiles"), str(dump))
    (dump / "index.html").unlink()
    (dump / "index.html").mkdir()
    assert cli.main(["report", str(dump)]) == 1
    out, told = capsys.readouterr()
    assert (
        "%s: Is a directory; `--page FILE`" % (dump / "index.html") in told and ".tmp" not in told
    )
    assert "compiles" in out
    page = tmp_path / "page.html"
    assert cli.main(["report", "--page", str(page), str(dump)]) == 0
    assert str(page) in capsys.readouterr().out and "<html" in page.read_text()[:200]
    assert cli.main(["report", "--page", str(page / "x"), str(dump)]) == 1
    assert "%s: Not a directory\n" % (page / "x") in capsys.readouterr().err
    assert cli.main(["report", "--text", "--page", str(page), str(dump)]) == 2


def test_the_text_of_a_reason_takes_time_as_it_is_long():
    for part in (" # ", " ", "# a:1 in ", 'File "', "L['x'] "):
        begin = time.process_time()
        words.of_reason("0/0: " + part * (60000 // len(part)))
        summary.reason_parts("0/0: " + part * (60000 // len(part)))
        assert time.process_time() - begin < 2, part


def test_a_block_of_a_folder_counts_once(dumps, tmp_path):
    document = json.loads((dumps / "recompiles" / "depyf.json").read_text())
    (tmp_path / "depyf.1.json").write_text(json.dumps(document))
    # another block, whose compiles began later
    for _, entry in summary.all_entries(document):
        entry["metrics"]["start_time_us"] += 1000000
    document["earlier"] = ["depyf.json"] + ["depyf.1.json"] * 1000 + [[]]
    (tmp_path / "depyf.json").write_text(json.dumps(document))
    found = summary.load(str(tmp_path))
    assert len(found["functions"]) == 2 * len(document["functions"])


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_a_rank_that_is_a_link_is_no_rank(dumps, tmp_path):
    os.symlink(str(dumps / "recompiles"), str(tmp_path / "rank_0"))
    assert summary.ranks(str(tmp_path)) == {}


def test_the_readme_of_a_dump_that_is_open_is_written_and_keeps_to_text(dumps, tmp_path, capsys):
    folder = tmp_path / "dump"
    shutil.copytree(str(dumps / "recompiles"), str(folder))
    readme = folder / "README.md"
    whole = readme.read_text()
    readme.unlink()
    assert cli.main(["report", str(folder)]) == 0 and not readme.exists()  # its user removed it
    document = json.loads((folder / "depyf.json").read_text())
    document["open"] = True
    (folder / "depyf.json").write_text(json.dumps(document))
    assert cli.main(["report", str(folder)]) == 0
    again = readme.read_text()
    assert "had been killed" in again
    titles = re.compile("(?m)^#.*|^.*compiled again because.*|^.*: equivalent, torch runs.*")
    assert titles.findall(again) == titles.findall(whole)

    document = poisoned(document)
    document["functions"][0]["entries"][0]["path"] = "x.py)[y](javascript:alert(1)"
    (folder / "depyf.json").write_text(json.dumps(document))
    assert cli.main(["report", str(folder)]) == 0  # the one that it had written is made anew
    hostile = readme.read_text()
    assert "window.pwned" in hostile and "](javascript" not in hostile
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", hostile)

    readme.write_text("somebody else's")
    assert cli.main(["report", str(folder)]) == 0
    assert readme.read_text() == "somebody else's"
    assert (folder / "depyf-README.md").read_text() == hostile
