"""What several folders of tests share: one browser, one store of kernels, two workers.

Playwright's loop is that of the process, so a run starts it once.
"""

import os
import shutil
import subprocess
import time

import pytest
from kernel_compiler import install as install_kernel_compiler

HERE = os.path.dirname(os.path.abspath(__file__))

# Files whose tests have nothing in common: the workers of pytest-xdist share out the tests. Any
# other file is worked on by one worker, since its tests share what is slow to make.
SHARED_OUT = {
    "test_compiling.py",
    "test_failures.py",
    "test_flow_run.py",
    "test_lift.py",
    "test_totality.py",
}
# What takes longest begins first, so that no worker is left alone with it at the end.
FIRST = ["report", "torch", "python", "oracle", "golden"]


def pytest_configure(config):
    install_kernel_compiler(
        os.path.join(
            os.environ.get("DEPYF_BUILD_DIR") or os.path.dirname(HERE) + "/build", "kernels"
        )
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if not getattr(config.option, "loadgroup", False):  # set in workers of --dist loadgroup
        return
    for item in items:
        # all that looks at the dumps of tests/report, or through the browser, is one group
        if {"dumps", "browser"} & set(item.fixturenames):
            group = "browser"
        elif item.path.name in SHARED_OUT:
            continue
        else:
            group = item.path.name
        item.add_marker(pytest.mark.xdist_group(group))

    def rank(item):
        folder = item.path.parent.name
        return FIRST.index(folder) if folder in FIRST else len(FIRST)

    items.sort(key=rank)


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
