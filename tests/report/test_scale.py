"""A run of a thousand compiles: the first view and each other one come at once."""

import copy
import json
import time

from depyf import report
from depyf.report import document, page


def many(dumps, count):
    """A document with `count` compiles, each with texts of its own."""
    one = document.load_all(dumps / "toy")[0]
    function = next(row for row in one["functions"] if not row["is_resume"])
    run = dict(one, functions=[])
    for number in range(count):
        new = copy.deepcopy(function)
        new["name"] = "function_%d" % number
        entry = new["entries"][0]
        entry["compile_id"] = "%d/0" % number
        entry["calls"] = []
        for artifact in entry["artifacts"]:
            artifact["text"] += "\n# of compile %d\n" % number
        run["functions"].append(new)
    return run


def test_a_thousand_compiles(screen, dumps, tmp_path):
    run = many(dumps, 1000)
    size = sum(len(artifact["text"]) for f in run["functions"] for e in f["entries"] for artifact in e["artifacts"])
    start = time.process_time()
    text = page.render([run], str(tmp_path))
    took = time.process_time() - start
    path = tmp_path / "index.html"
    page.write(str(path), text)
    assert len(text) <= 3 * size and took < 20
    start = time.process_time()
    browser = screen.open(path)
    paint = browser.evaluate("performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]")
    visits = [screen.go("compile/%d/0%s" % (number, tab)) for number in (1, 500, 999) for tab in ("", "/guards", "/files", "/graph")]
    visits.append(screen.go("search/zzz"))
    print(json.dumps({"texts": size, "page": len(text), "made_s": round(took, 2), "first_paint_ms": paint, "views_ms": [round(one) for one in visits]}))
    # what is wanted is 1000 ms and 100 ms; a machine that does other things as well takes longer
    assert paint < 4000, paint
    assert sorted(visits)[len(visits) // 2] < 400, visits
    assert browser.locator(".functions tbody tr:visible").count() == 0
    screen.go("")
    assert browser.locator(".functions tbody tr:visible").count() == 100
    browser.get_by_text("Show all 1000").last.click()
    assert browser.locator(".functions tbody tr:visible").count() == 1000
    assert report.PAGE == "index.html"
