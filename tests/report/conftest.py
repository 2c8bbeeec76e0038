"""What the tests of the report share: a browser, pages that ask nothing of any network, and real
dumps.
"""

import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from depyf import sharing

pytest.importorskip("jinja2")

HERE = os.path.dirname(os.path.abspath(__file__))


def unpacked(path):
    """The text of a page, and behind it all that it holds packed, by the page's own description of
    it.
    """
    text = Path(path).read_text()
    blocks = re.findall(r'<script type="text/plain" data-pack="\w+"[^>]*>([^<]*)</script>', text)
    return "\n".join([text, *(zlib.decompress(base64.b64decode(one)).decode() for one in blocks)])


class Screen:
    """One page in the browser, with all that it asked for and complained about."""

    def __init__(self, page, pictures):
        self.page = page
        self.requests = []
        self.complaints = []
        self.dialogs = []
        self._pictures = pictures
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def open(self, path, route=""):
        self.page.goto(Path(path).resolve().as_uri() + ("#" + route if route else ""))
        if self.page.evaluate("document.documentElement.classList.contains('js')"):
            self.until("document.documentElement.dataset.ready === 'true'")
            self.painted()
        return self.page

    def painted(self):
        """Waits until the browser has painted what a click or a key changed. Texts have
        `content-visibility: auto`, so the sizes of lines are known only after the first frame.
        """
        self.page.evaluate(
            """() => new Promise((done) =>
              requestAnimationFrame(() => requestAnimationFrame(done)))"""
        )

    def until(self, condition):
        """Waits until an expression, or what a function returns, is true; Playwright's own way
        evaluates in the page, which the page's policy forbids.
        """
        end = time.monotonic() + 60
        while not (condition() if callable(condition) else self.page.evaluate(condition)):
            assert time.monotonic() < end, "never true: %s; at %s" % (condition, self.page.url)
            self.page.wait_for_timeout(50)

    def go(self, route):
        """Goes to a route of the page as a link would; returns the milliseconds until it was laid
        out.
        """
        elapsed = self.page.evaluate(
            """async (route) => {
              const start = performance.now();
              await new Promise((done) => { addEventListener("hashchange", done, {once: true}); location.hash = route; });
              document.body.offsetHeight;
              return performance.now() - start;
            }""",
            route,
        )
        self.painted()
        return elapsed

    def picture(self, name):
        if self._pictures:
            self.page.screenshot(path=str(self._pictures / (name + ".png")))


@pytest.fixture(scope="session")
def pictures():
    """Where screenshots go: DEPYF_SCREENSHOTS names a folder; without it none are taken."""
    folder = os.environ.get("DEPYF_SCREENSHOTS")
    if not folder:
        return None
    os.makedirs(folder, exist_ok=True)
    return Path(folder)


@contextlib.contextmanager
def _screen(browser, pictures, **options):
    context = browser.new_context(viewport={"width": 1500, "height": 950}, **options)
    context.set_default_timeout(60000)
    screen = Screen(context.new_page(), pictures)
    try:
        yield screen
    finally:
        context.close()
    elsewhere = [url for url in screen.requests if not re.match(r"(file|data|about):", url)]
    assert not elsewhere, elsewhere
    assert len([url for url in screen.requests if url.startswith("file:")]) <= 4, screen.requests
    assert not screen.complaints, screen.complaints
    assert not screen.dialogs, screen.dialogs


@pytest.fixture
def screen(browser, pictures):
    """A page with scripts. After the test: nothing was requested, nothing was complained about."""
    with _screen(browser, pictures) as found:
        yield found


@pytest.fixture
def screen_without_scripts(browser, pictures):
    with _screen(browser, pictures, java_script_enabled=False) as found:
        yield found


@pytest.fixture
def dark_screen(browser, pictures):
    with _screen(browser, pictures, color_scheme="dark") as found:
        yield found


@pytest.fixture(scope="session")
def dumps(tmp_path_factory):
    """Dumps of real runs, all made by one process: see program.py."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("dumps")
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
    environment["TORCH_TRACE"] = str(folder / "trace")
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "program.py"), str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def manifest(dumps):
    def read(name):
        document = json.loads((dumps / name / "depyf.json").read_text())
        sharing.unpack(document)
        return document

    return read
