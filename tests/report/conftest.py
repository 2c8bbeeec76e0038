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
SIZE = {"width": 1500, "height": 950}


def unpacked(path):
    """The text of a page, and behind it all that it holds packed, by the page's own description of
    it.
    """
    text = Path(path).read_text()
    blocks = re.findall(r'<script type="text/plain" data-pack="\w+"[^>]*>([^<]*)</script>', text)
    return "\n".join([text, *(zlib.decompress(base64.b64decode(one)).decode() for one in blocks)])


class Tab:
    """One tab of the browser: a process of its own, which costs more than most tests do. Tests have
    it one after the other, each as a tab that was just opened.
    """

    #: what a large page leaves is garbage until the tab is closed
    MOST = 25

    def __init__(self, browser, options):
        self._scheme = options.get("color_scheme", "null")
        self.page = browser.new_context(viewport=SIZE, **options).new_page()
        self.page.context.set_default_timeout(60000)
        self.screen = None
        self.tests = 0
        self.used_up = False
        tell = {
            "request": lambda request: self.screen.requests.append(request.url),
            "console": lambda message: self.screen.complaints.append(message.text),
            "pageerror": lambda error: self.screen.complaints.append(str(error)),
            "dialog": lambda dialog: (self.screen.dialogs.append(dialog.message), dialog.dismiss()),
        }
        for event, told in tell.items():
            self.page.on(event, told)

    def clean(self):
        """Leaves the page of a test, and takes back what it left in the tab."""
        self.tests += 1
        self.used_up = self.used_up or self.tests >= self.MOST
        if self.used_up:
            return
        page = self.page
        if page.url.startswith("file:"):
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
        page.set_viewport_size(SIZE)
        page.emulate_media(media="null", color_scheme=self._scheme, reduced_motion="null")
        page.mouse.move(-10, -10)

    def close(self):
        self.page.context.close()


class Screen:
    """One page in the browser, with all that it asked for and complained about."""

    def __init__(self, tab, pictures):
        self.page = tab.page
        self.requests = []
        self.complaints = []
        self.dialogs = []
        self._pictures = pictures
        self._tab = tab
        tab.screen = self

    def at_start(self, script):
        """Runs a script in each page that is opened from here on, before those of the page. No
        other test gets the tab then.
        """
        self._tab.used_up = True
        self.page.add_init_script(script)

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


@pytest.fixture(scope="session")
def _tabs(browser):
    """The tabs that tests share: options of their context -> tab."""
    found = {}
    yield found
    for tab in found.values():
        tab.close()


@contextlib.contextmanager
def _screen(request, pictures, **options):
    browser, tabs = request.getfixturevalue("browser"), request.getfixturevalue("_tabs")
    key = tuple(sorted(options.items()))
    tab = tabs.pop(key, None) or Tab(browser, options)
    failed = request.session.testsfailed
    screen = Screen(tab, pictures)
    try:
        yield screen
        tab.clean()
        wrong = [url for url in screen.requests if not re.match(r"(file|data|about):", url)]
        assert not wrong, wrong
        files = [url for url in screen.requests if url.startswith("file:")]
        assert len(files) <= 4, screen.requests
        assert not screen.complaints, screen.complaints
        assert not screen.dialogs, screen.dialogs
        if not tab.used_up and request.session.testsfailed == failed:
            tabs[key] = tab
    finally:
        if key not in tabs:
            tab.close()


@pytest.fixture
def screen(request, pictures):
    """A page with scripts. After the test: nothing was requested, nothing was complained about."""
    with _screen(request, pictures) as found:
        yield found


@pytest.fixture
def screen_without_scripts(request, pictures):
    with _screen(request, pictures, java_script_enabled=False) as found:
        yield found


@pytest.fixture
def dark_screen(request, pictures):
    with _screen(request, pictures, color_scheme="dark") as found:
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
