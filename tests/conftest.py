"""What several folders of tests share: one browser for the whole run.

Playwright's loop is that of the process, so a run starts it once.
"""

import shutil
import subprocess
import time

import pytest


def _start(executable, folder):
    """Starts Chromium and returns its process and the address of its debugging port."""
    process = subprocess.Popen(
        [
            executable,
            "--headless=new",
            "--no-sandbox",
            "--no-zygote",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
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
