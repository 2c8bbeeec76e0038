"""A run of a thousand compiles: the first view and each other one come at once."""

import runpy
import time
from pathlib import Path

from depyf.report import page
from tests.forms import LONG

FIRST = "first view of the page"
VIEWS = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "views.py"), run_name="views")


def test_a_thousand_compiles(screen, browser, dumps, tmp_path):
    run = VIEWS["multiplied"](dumps / "toy", 1000)

    def rendered(runs, place):
        size = sum(
            len(artifact["text"])
            for f in run["functions"]
            for e in f["entries"]
            for artifact in e["artifacts"]
        )
        start = time.process_time()
        text = page.render(runs, place)
        took = time.process_time() - start
        # 0.44 of the texts; 2.4 times of them while nothing was packed
        assert len(text) <= 0.7 * size and took < 20
        # before anything is drawn, the page knows that rows beyond the first hundred are not
        assert 0 < text.index("<script>%s</script>" % page.FIRST) < text.index("<body>")
        return text

    # once is enough where nothing is slow; the median of three decides
    for rounds in (3,) if LONG else (1, 3):
        timed = VIEWS["timed_views"](browser, run, tmp_path, rounds, render=rendered)
        rows = {row["view"]: row for row in timed}
        print(
            "\n".join(
                "%(view)s: %(ms).0f ms, processor %(processor).0f ms" % row for row in rows.values()
            )
        )
        # What is wanted is 1000 ms for the first view and 100 ms for any other. A machine that does
        # other things as well takes longer on the clock, and a little longer in processor time.
        slow = {name: row for name, row in rows.items() if row["processor"] > 250}
        first = slow.pop(FIRST, rows[FIRST])["ms"]
        if not slow and first < 4000:
            break
    assert not slow and first < 4000 and len(rows) > 16, (first, slow)
    shown = screen.open(tmp_path / "index.html")
    screen.go("search/zzz")
    assert shown.locator(".functions tbody tr:visible").count() == 0
    screen.go("")
    assert shown.locator(".functions tbody tr:visible").count() == 100
    count = len(run["functions"])
    shown.get_by_text("Show all %d" % count).last.click()
    screen.until("document.querySelectorAll('.functions tbody tr[data-more]').length === 0")
    assert shown.locator(".functions tbody tr:visible").count() == count
