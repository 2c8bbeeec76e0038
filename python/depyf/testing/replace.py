"""A pytest plugin: `pytest -p depyf.testing.replace` runs a suite with torch's code replaced.

Each test runs inside `prepare_debug` of its own, in a folder that is removed after it. At the end
the plugin says how many code objects torch transformed, how many were replaced, and why the others
were not. A test that fails is run again without depyf, and once more with it, each in a fresh
process: only one that passes there and fails here counts, and only those make the exit status 1.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Counter, Dict, Iterator, List, Sequence

import pytest

from depyf.model import Run

_OUTCOMES = "DEPYF_REPLACE_OUTCOMES"


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Adds the options of this plugin."""
    group = parser.getgroup("depyf.testing.replace", "torch.compile with replaced code")
    group.addoption(
        "--depyf-replace-off",
        action="store_true",
        help="run the suite without depyf; the plugin itself does so with tests that failed",
    )
    group.addoption(
        "--depyf-replace-figures", metavar="FILE", help="write the figures to FILE as JSON"
    )
    group.addoption(
        "--depyf-replace-timeout",
        metavar="SECONDS",
        type=float,
        default=1800.0,
        help="how long the tests that failed may take when they are run again (default 1800)",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Registers what does the work."""
    if not config.getoption("--depyf-replace-off"):
        try:
            from depyf.torch import compat

            compat.require_torch()
        except ImportError as error:
            raise pytest.UsageError("depyf.testing.replace: %s" % error)
        if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None):
            raise pytest.UsageError("depyf.testing.replace counts in one process: leave out -n")
        config.pluginmanager.register(_Replacer(config), "depyf-replacer")
    if os.environ.get(_OUTCOMES):
        config.pluginmanager.register(_Writer(os.environ[_OUTCOMES]), "depyf-outcomes")


class _Writer:
    """Tells the process that started this one how each test ended."""

    def __init__(self, path: str) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: "pytest.TestReport") -> None:
        if report.failed or report.when == "call" or report.skipped:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps([report.nodeid, report.outcome]) + "\n")


class _Replacer:
    def __init__(self, config: "pytest.Config") -> None:
        self._config = config
        # of the folder in which pytest began: a test can leave it, and remove the one it goes to
        self._root = str(getattr(config, "rootpath", os.getcwd()))
        figures = config.getoption("--depyf-replace-figures")
        self._figures = os.path.abspath(figures) if figures else ""
        self._folder = ""
        self._failed: List[str] = []  # in the order in which they ran
        self._again: Dict[str, Dict[str, str]] = {}
        #: of code objects that torch transformed
        self.figures = {"tests": 0, "compiling": 0, "transformed": 0, "replaced": 0}
        self._refused: Counter[str] = collections.Counter()
        self._examples: Dict[str, str] = {}
        self._problems: Counter[str] = collections.Counter()

    def pytest_sessionstart(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="depyf-replace-")

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_protocol(self, item: "pytest.Item") -> Iterator[None]:
        import depyf

        folder = os.path.join(self._folder, "dump")
        block = depyf.prepare_debug(folder)
        run = block.__enter__()
        try:
            yield
        finally:
            block.__exit__(None, None, None)
            self._count(item.nodeid, run)
            shutil.rmtree(folder, ignore_errors=True)

    def _count(self, nodeid: str, run: Run) -> None:
        self.figures["tests"] += 1
        entries = [entry for function in run.functions for entry in function.entries]
        self.figures["compiling"] += bool(entries)
        self.figures["transformed"] += len(entries)
        for entry in entries:
            if entry.replaced:
                self.figures["replaced"] += 1
                continue
            reason = entry.detail or "no reason is known"
            if entry.replaced_by:
                reason = "the code of %s runs" % entry.replaced_by
            # one reason for all places at which it holds
            reason = "%s: %s" % (entry.verdict, re.sub(r"\d+", "N", " ".join(reason.split())))
            self._refused[reason[:300]] += 1
            self._examples.setdefault(reason[:300], "%s, %s" % (nodeid, entry.name))
        for problem in run.problems:
            text = "%s: %s" % (problem.where, problem.message)
            self._problems[re.sub(r"\d+", "N", " ".join(text.split()))[:300]] += 1

    def pytest_runtest_logreport(self, report: "pytest.TestReport") -> None:
        if report.failed and report.nodeid not in self._failed:
            self._failed.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: "pytest.Session", exitstatus: int) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._write_figures()  # also where the tests that failed take too long
        if self._failed and not os.environ.get(_OUTCOMES):
            for name, options in (("without", ["--depyf-replace-off"]), ("with", [])):
                self._again[name] = self._outcomes(options)
            self._write_figures()
            if exitstatus == pytest.ExitCode.TESTS_FAILED and not self._counted():
                session.exitstatus = pytest.ExitCode.OK

    def _write_figures(self) -> None:
        if self._figures:
            figures = dict(self.figures, failed=len(self._failed), counted=self._counted())
            figures.update(
                unstable=self._unstable(),
                refused=dict(self._refused),
                examples=self._examples,
                problems=dict(self._problems),
            )
            with open(self._figures, "w", encoding="utf-8") as file:
                json.dump(figures, file, indent=1)

    def _outcomes(self, options: Sequence[str]) -> Dict[str, str]:
        """Test -> how it ended; one without an outcome took its process with it."""
        descriptor, path = tempfile.mkstemp(prefix="depyf-outcomes-")
        os.close(descriptor)
        found: Dict[str, str] = {}
        try:
            missing = list(self._failed)
            while missing:
                self._run(missing, options, path)
                with open(path, encoding="utf-8") as file:
                    for line in file:
                        nodeid, outcome = json.loads(line)
                        worse = outcome == "failed" or nodeid not in found
                        found[nodeid] = outcome if worse else found[nodeid]
                left = [nodeid for nodeid in missing if nodeid not in found]
                if left:  # the process died in the first that has no outcome
                    found[left.pop(0)] = "died"
                missing = left
        finally:
            os.unlink(path)
        return found

    def _run(self, nodeids: Sequence[str], options: Sequence[str], path: str) -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "depyf.testing.replace", *options]
        environment = dict(os.environ, **{_OUTCOMES: path})
        environment["PYTHONPATH"] = os.pathsep.join(one for one in sys.path if one)
        try:
            subprocess.run(
                [*command, "-p", "no:cacheprovider", *nodeids],
                cwd=self._root,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self._config.getoption("--depyf-replace-timeout"),
            )
        except subprocess.TimeoutExpired:
            pass

    def _counted(self) -> List[str]:
        """Tests that pass without depyf and fail with it, here and when they are run again."""
        without, again = self._again.get("without", {}), self._again.get("with", {})
        return [
            nodeid
            for nodeid in self._failed
            if without.get(nodeid) == "passed" and again.get(nodeid) != "passed"
        ]

    def _unstable(self) -> List[str]:
        """Tests that pass with depyf without what ran before them."""
        again = self._again.get("with", {})
        return [nodeid for nodeid in self._failed if again.get(nodeid) == "passed"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("depyf: transformed code that was replaced")
        figures = dict(self.figures, not_replaced=sum(self._refused.values()))
        write(
            "%(tests)d tests, %(compiling)d of them compiled; "
            "%(transformed)d code objects transformed, %(replaced)d replaced, %(not_replaced)d not"
            % figures
        )
        for reason, count in self._refused.most_common():
            write("  %d not replaced, %s" % (count, reason))
            write("      first in %s" % self._examples[reason])
        for text, count in self._problems.most_common():
            write("  %d problems, %s" % (count, text))
        if self._failed:
            counted, unstable = self._counted(), self._unstable()
            write(
                "%d tests failed: %d of them pass without depyf and count, "
                "%d passed with depyf when run again, %d fail without it too"
                % (
                    len(self._failed),
                    len(counted),
                    len(unstable),
                    len(self._failed) - len(set(counted) | set(unstable)),
                )
            )
            for nodeid in counted:
                write("  only with depyf: %s" % nodeid)
            for nodeid in unstable:
                write("  not every time: %s" % nodeid)
