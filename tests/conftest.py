"""What several folders of tests share: one browser, one store of kernels, two workers.

Playwright's loop is that of the process, so a run starts it once.
"""

import os
import re
import shutil
import subprocess
import time

import pytest
from kernel_compiler import install as install_kernel_compiler
from scheduling import scheduler

HERE = os.path.dirname(os.path.abspath(__file__))

# What Chromium does beside showing a page, which takes half of the processor time of a new tab.
NEEDLESS = (
    "SpareRendererForSitePerProcess",
    "BackForwardCache",
    "PaintHolding",
    "Translate",
    "OptimizationHints",
    "MediaRouter",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "LensOverlay",
)

# What takes longest begins first, so that no worker is left alone with it at the end.
FIRST = ["report", "torch", "python", "oracle", "golden"]


def pytest_configure(config):
    install_kernel_compiler(
        os.path.join(
            os.environ.get("DEPYF_BUILD_DIR") or os.path.dirname(HERE) + "/build", "kernels"
        )
    )


def pytest_collection_modifyitems(items):
    # processes that collect other names cannot share the tests
    addressed = [item.nodeid for item in items if re.search(r"\bat 0x[0-9a-f]+", item.nodeid)]
    if addressed:
        raise pytest.UsageError("the name of a test has an address: " + addressed[0])
    if "PYTEST_XDIST_WORKER" in os.environ:
        rank = {folder: number for number, folder in enumerate(FIRST)}
        items.sort(key=lambda item: rank.get(item.path.parent.name, len(FIRST)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduler(config, log)


def _start(executable, folder):
    """Starts Chromium and returns its process and the address of its debugging port."""
    process = subprocess.Popen(
        [
            executable,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-features=" + ",".join(NEEDLESS),
            "--disable-breakpad",
            "--disable-sync",
            "--metrics-recording-only",
            "--disable-extensions",
            "--no-first-run",
            "--user-data-dir=" + str(folder),
            "--remote-debugging-port=0",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    port = folder / "DevToolsActivePort"
    end = time.monotonic() + 180
    while time.monotonic() < end and process.poll() is None:
        if port.exists() and port.read_text().strip():
            return process, "http://127.0.0.1:" + port.read_text().split()[0]
        time.sleep(0.2)
    process.kill()
    raise RuntimeError("Chromium did not start")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Debian's Chromium, driven by Playwright."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (requirements-test.txt)"
    )
    executable = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if executable is None:
        pytest.skip("no Chromium (Debian, Ubuntu: apt-get install chromium)")
    process, address = _start(executable, tmp_path_factory.mktemp("chromium"))
    try:
        with api.sync_playwright() as playwright:
            yield playwright.chromium.connect_over_cdp(address, timeout=120000)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
