"""How long a page takes to open: from the start of the navigation until the overview is drawn and
answers. The figures of docs/cost.md.

Usage: python bench/opening.py PAGE... [--rounds 7]

Each round is a fresh browser, so that nothing of the page is cached. "usable" is when the page's
script is done, two more frames were drawn and a task got its turn: a click made before it waits
until then.
"""

import argparse
import pathlib
import shutil
import statistics
import sys

USABLE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const turn = () => new Promise((done) => setTimeout(done, 0));
  while (document.documentElement.dataset.ready !== "true") await turn();
  const ready = performance.now();
  await frame(); await frame(); await turn();
  return [ready, performance.now(), document.querySelectorAll("*").length];
}"""


def opened(playwright, executable, page):
    """Milliseconds from the navigation's start until the script was done, and until the page was
    usable; its elements.
    """
    browser = playwright.chromium.launch(
        executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
    )
    try:
        shown = browser.new_page(viewport={"width": 1500, "height": 950})
        shown.goto("data:text/html,<p>nothing")
        shown.wait_for_timeout(300)
        shown.goto(pathlib.Path(page).resolve().as_uri(), wait_until="commit")
        return shown.evaluate(USABLE)
    finally:
        browser.close()


def main():
    """Prints one row for each page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        sys.exit("error: there is no Chromium (Debian, Ubuntu: apt-get install chromium)")
    print("| page | bytes | elements | script done, ms | usable, ms | best | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with sync_playwright() as playwright:
        for page in options.pages:
            rows = [opened(playwright, executable, page) for _ in range(options.rounds)]
            ready, usable, elements = zip(*rows)
            print(
                "| %s | %d | %d | %.0f | %.0f | %.0f | %.0f |"
                % (
                    page,
                    pathlib.Path(page).stat().st_size,
                    elements[0],
                    statistics.median(ready),
                    statistics.median(usable),
                    min(usable),
                    max(usable),
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
