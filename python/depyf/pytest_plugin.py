"""A pytest plugin: `pytest --depyf DIR` leaves a dump for each failing test that used
torch.compile.

Each test starts with an empty torch._dynamo, so that what it uses is compiled in it and not taken
over from an earlier test, and runs inside `depyf.capture`; what was captured is written only when
the test fails. A test with the mark `@pytest.mark.depyf(breaks=0, recompiles=0)` fails where
torch.compile does more than that. Without either nothing is imported.
"""

import hashlib
import os
import re
from typing import Any, Generator, Iterator, List, Tuple

import pytest

_KEY = "_depyf_capture"
_EXPECT = "depyf.torch.expect"
_TRACE = re.compile(r"^DEBUG +torch\.__trace:.*\n?", re.MULTILINE)


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Adds --depyf."""
    group = parser.getgroup("depyf", "torch.compile")
    group.addoption(
        "--depyf",
        metavar="DIR",
        default=None,
        help="leave a dump of what torch.compile made in DIR/<test> for each failing test that "
        "used it",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: "pytest.Item") -> Generator[None, Any, None]:
    """Holds a marked test to the numbers that its mark allows."""
    mark = item.get_closest_marker("depyf")
    if mark is None:
        yield
        return
    from depyf.torch import compat
    from depyf.torch.expect import Exceeded, expect

    try:
        block = expect(*mark.args, **mark.kwargs)
    except (TypeError, ValueError) as error:
        wrong = "@pytest.mark.depyf: " + str(error).replace("expect.__init__() ", "")
        pytest.fail(wrong.replace("__init__() ", ""), pytrace=False)  # up to CPython 3.9
    compat.forget_everything()  # what an earlier test compiled is compiled here again
    block.__enter__()
    outcome = yield
    try:
        block.__exit__(*(outcome.excinfo or (None, None, None)))
    except Exceeded as error:
        if not hasattr(outcome, "force_exception"):  # an old pluggy
            raise
        outcome.force_exception(_without_traceback(error))


def _without_traceback(error: Any) -> BaseException:
    """The same exception as one that pytest shows by its message alone: its frames are depyf's."""
    shown = type("Exceeded", (type(error), pytest.fail.Exception), {"__module__": _EXPECT})
    made: Any = shown.__new__(shown, str(error))
    made.args, made.run, made.msg, made.pytrace = error.args, error.run, str(error), False
    return made  # type: ignore[no-any-return]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: "pytest.Item", call: Any) -> Generator[None, Any, None]:
    """Leaves torch's trace out of the log of a test, marked or with a block of its own in it.

    pytest listens to loggers that do not propagate as well, and the trace is not for readers.
    """
    outcome = yield
    report = outcome.get_result()
    kept = [
        (title, _TRACE.sub("", text) if title.startswith("Captured log") else text)
        for title, text in report.sections
    ]
    report.sections = [(title, text) for title, text in kept if text]


def pytest_configure(config: "pytest.Config") -> None:
    """Registers the mark, and the part that does the work, where it was asked for."""
    config.addinivalue_line(
        "markers",
        "depyf(breaks=None, recompiles=None, compile_seconds=None): what torch.compile may do",
    )
    folder = config.getoption("--depyf")
    if not folder:
        return
    try:
        from depyf.torch import compat

        compat.require_torch()
    except ImportError as error:
        raise pytest.UsageError("--depyf: %s" % error)
    # a worker of pytest-xdist gets the option from the process that started it, in the same folder
    config.pluginmanager.register(_Dumper(os.path.abspath(folder)), "depyf-dumper")


def folder_name(nodeid: str) -> str:
    """A name for a test's folder: readable, short, and of its own."""
    name = re.sub(r"[^\w.\[\]-]+", "_", nodeid.replace("/", ".").replace("::", "-")).strip("_.")
    if len(name) > 100 or name != nodeid:
        digest = hashlib.sha256(nodeid.encode("utf-8", "backslashreplace")).hexdigest()[:6]
        name = name[:100] + "-" + digest
    return name


class _Dumper:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._dumps: List[Tuple[str, str]] = []

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_setup(self, item: "pytest.Item") -> Iterator[None]:
        from depyf.torch import compat
        from depyf.torch.capture import capture

        block = capture()
        try:
            compat.forget_everything()
            setattr(item, _KEY, (block, block.__enter__()))
        except Exception as error:  # a test must not fail for this
            item.warn(pytest.PytestWarning("--depyf: nothing is captured: %s" % error))
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: "pytest.Item", call: Any
    ) -> Generator[None, Any, None]:
        # while the traceback still holds the test's frame, and with it what it compiled
        found = getattr(item, _KEY, None)
        over = call.when == "call" or call.excinfo is not None
        if found is not None and over:
            delattr(item, _KEY)
            found[0].__exit__(None, None, None)
        outcome = yield
        report = outcome.get_result()
        if found is None or not over or not report.failed:
            return
        run = found[1]
        if not run.functions and not run.unattributed:
            return
        folder = os.path.join(self._folder, folder_name(item.nodeid))
        try:
            folder = run.dump(folder)
        except Exception as error:
            report.sections.append(
                ("depyf", "the dump failed: %s: %s" % (type(error).__name__, error))
            )
            return
        from depyf import launch, summary

        text = summary.summary(run.to_json(), launch.page_of(folder) or folder)
        report.sections.append(("depyf", text))
        self._dumps.append((item.nodeid, folder))

    def pytest_runtest_teardown(self, item: "pytest.Item") -> None:
        found = getattr(item, _KEY, None)
        if found is not None:  # skipped before it ran
            delattr(item, _KEY)
            found[0].__exit__(None, None, None)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._dumps:
            terminalreporter.section("depyf")
            for nodeid, folder in self._dumps:
                terminalreporter.write_line("%s: %s" % (nodeid, folder))
