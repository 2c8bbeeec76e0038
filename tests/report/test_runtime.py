"""The view of run time: what `depyf.profile` measured, for the run and for each entry."""

import inspect
import json
import math

import pytest

import depyf
from depyf import report
from depyf.report import runtime
from tests.report.test_hostile import NASTY

torch = pytest.importorskip("torch")


def toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        compiled = torch.compile(toy, backend="eager")
        found = depyf.profile(compiled, torch.randn(10), torch.ones(10), calls=20)
    if not found.entries:
        pytest.skip("this torch names its events in other ways")
    return folder, found


def test_the_overview_leads_to_what_each_entry_took(screen, profiled):
    folder, found = profiled
    page = screen.open(folder / "index.html")
    card = page.locator("#overview .runtime")
    told = card.text_content()
    assert "20 calls of toy" in told and found.verdict in told
    assert card.locator("table.parts tbody tr").count() == sum(
        1 for seconds in found.parts.values() if seconds > 0
    )
    shares = card.locator("table.parts td.num:last-child").all_inner_texts()
    assert math.isclose(sum(float(one.rstrip(" %")) for one in shares), 100, abs_tol=6)
    assert "one call" in page.locator("table.functions thead").inner_text()
    links = page.locator("table.functions a[href$='/run']")
    assert links.count() == 2  # toy, and what is left of it after line 17
    links.first.click()
    page.locator("#panel .parts").first.wait_for()
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Run time"
    view = page.locator("#panel").inner_text()
    assert "this entry ran 20 times" in view and "guards: is there an entry" in view
    assert found.verdict in view
    screen.picture("run_time")
    line = page.locator("#panel table a[href*='/code/source/L']").first
    number = int(line.inner_text().rpartition(":")[2])
    line.click()
    pinned = page.locator(".pane .pin").first
    pinned.wait_for()
    first = toy.__code__.co_firstlineno
    source = inspect.getsource(toy).splitlines()
    assert source[number - first].strip() in pinned.inner_text()


def test_it_needs_no_scripts(screen_without_scripts, profiled):
    folder, _ = profiled
    page = screen_without_scripts.open(folder / "index.html")
    assert page.locator(".run-block .parts").first.is_visible()


def test_a_profile_of_any_shape_makes_a_page(profiled, tmp_path):
    folder, _ = profiled
    document = json.loads((folder / "depyf.json").read_text())
    whole = document["profiles"][0]
    junk = [None, -1, "x", [], {}, [[]], [{}], True, 10**400, float("nan"), {"guards": "x"}]
    for value in junk:
        for key in whole:
            document["profiles"] = [dict(whole, **{key: value}), value]
            (tmp_path / "depyf.json").write_text(json.dumps(document))
            report.build(tmp_path)
        for key in whole["entries"][0]:
            entry = dict(whole["entries"][0], **{key: value})
            document["profiles"] = [dict(whole, entries=[entry, value])]
            (tmp_path / "depyf.json").write_text(json.dumps(document))
            report.build(tmp_path)


def test_names_in_a_profile_stay_text(screen, profiled, tmp_path):
    folder, _ = profiled
    document = json.loads((folder / "depyf.json").read_text())
    (profile,) = document["profiles"]
    profile["function"] = NASTY
    profile["cudagraph_skips"] = [NASTY]
    profile["parts"][NASTY] = 1.0
    for one in profile["entries"] + profile["operators"]:
        one["name"] = one["place"] = one["device"] = NASTY
    (tmp_path / "depyf.json").write_text(json.dumps(document))
    page = screen.open(report.build(tmp_path))
    assert page.locator(".runtime").first.text_content().count("window.pwned=1</script>") >= 4
    page.locator("table.functions a[href$='/run']").first.click()
    page.locator("#panel .parts").first.wait_for()
    assert "window.pwned=1</script>" in page.locator("#panel").text_content()
    assert page.evaluate("window.pwned") is None and page.locator("img, iframe").count() == 0


def test_times_and_bytes_are_said_in_their_unit():
    assert [runtime.short_time(one) for one in (0, 2e-7, 1.5e-5, 0.0123, 2.5)] == [
        "0",
        "0.20 µs",
        "15 µs",
        "12.3 ms",
        "2.5 s",
    ]
    assert [runtime.short_bytes(one) for one in (12, 2048, 3 << 20)] == [
        "12 bytes",
        "2 KiB",
        "3 MiB",
    ]
