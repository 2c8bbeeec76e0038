"""One golden file for each construct of the language: input and expected output are the same text.

tests/golden/NAME.py is compiled by every interpreter that is found, decompiled, and must come back as it stands,
comments apart (`text`); what comes back must be the same program (`code`, by tests/judge.py). Where the text
legitimately differs, NAME.expected.py holds what is printed. Both kinds of file may hold

    # python: >=3.8        in the first line: the versions that have the construct
    # if >=3.12            lines for some versions only (>=, <=, >, <, ==, !=), up to
    # end

What does not work yet is listed in known_failures.txt, `VERSION text|code NAME` a line; an entry that works fails the
run, so that the list only shrinks. `pytest tests/golden --update-golden` rewrites the list, and the expected texts of
files that have one.
"""
import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import SUPPORTED, interpreters, native_command  # noqa: E402

KNOWN_FAILURES = os.path.join(HERE, "known_failures.txt")
CONDITION = re.compile(r"(>=|<=|<|>|==|!=)\s*3\.(\d+)$")
COMPARISONS = {">=": int.__ge__, "<=": int.__le__, "<": int.__lt__, ">": int.__gt__, "==": int.__eq__, "!=": int.__ne__}

COMPILE = """
import importlib.util, marshal, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    source, target = line.rstrip("\\n").split("\\t")
    with open(source, "rb") as f:
        code = compile(f.read(), "golden.py", "exec", dont_inherit=True)
    with open(target, "wb") as f:
        f.write(importlib.util.MAGIC_NUMBER + b"\\0" * 12 + marshal.dumps(code))
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def holds(condition, minor):
    """Does `>=3.8` (several, joined by commas, all) hold for 3.minor?"""
    for part in condition.split(","):
        match = CONDITION.match(part.strip())
        assert match, "expected a condition such as >=3.8, found %r" % part
        if not COMPARISONS[match.group(1)](minor, int(match.group(2))):
            return False
    return True


def for_version(text, minor):
    """The lines that count for a version: None where the file has no such version."""
    lines = text.split("\n")
    if lines[0].startswith("# python:") and not holds(lines[0][len("# python:"):], minor):
        return None
    out, keep = [], True
    for line in lines:
        word = line.strip()
        if word.startswith("# if "):
            keep = holds(word[5:], minor)
        elif word == "# end":
            keep = True
        elif keep:
            out.append(line)
    return "\n".join(out)


def without_comments(text):
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    return "\n".join(lines).strip("\n") + "\n"


def golden_names():
    return sorted(name[:-3] for name in os.listdir(HERE)
                  if name.endswith(".py") and not name.startswith(("test_", "conftest")) and not name.endswith(".expected.py"))


def cases():
    for minor in sorted(interpreters()):
        for name in golden_names():
            if for_version(read(os.path.join(HERE, name + ".py")), minor) is not None:
                yield minor, name


def known_failures():
    entries = set()
    if os.path.exists(KNOWN_FAILURES):
        for line in read(KNOWN_FAILURES).split("\n"):
            line = line.split("#")[0].split()
            if line:
                entries.add((int(line[0].split(".")[1]), line[1], line[2]))
    return entries


class Run:
    """What one version makes of all golden files: printed texts and the judge's rows."""

    def __init__(self, minor, folder):
        python = interpreters()[minor]
        names = [name for version, name in cases() if version == minor]
        pycs, outputs, sources = {}, {}, {}
        for name in names:
            sources[name] = os.path.join(folder, name + ".in.py")
            with open(sources[name], "w", encoding="utf-8") as f:
                f.write(for_version(read(os.path.join(HERE, name + ".py")), minor))
            pycs[name] = os.path.join(folder, name + ".pyc")
            outputs[name] = os.path.join(folder, "out", name + ".py")
        lines = "".join("%s\t%s\n" % (sources[n], pycs[n]) for n in names)
        subprocess.run([python, "-c", COMPILE], input=lines, universal_newlines=True, check=True, env=dict(os.environ, PYTHONHASHSEED="0"))
        command = [native_command(), "decompile", "--no-check"] + [pycs[n] for n in names] + ["-o", os.path.join(folder, "out"), "-j", "2"]
        self.process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=300)
        judge = os.path.join(os.path.dirname(HERE), "judge.py")
        lines = "".join("%s\t%s\n" % (pycs[n], outputs[n]) for n in names)
        judged = subprocess.run([python, "-W", "ignore", judge, "-O", "0"], input=lines, stdout=subprocess.PIPE, universal_newlines=True, check=True)
        rows = [json.loads(line) for line in judged.stdout.split("\n") if line]
        self.rows = {name: row for name, row in zip(names, rows)}
        self.texts = {name: read(outputs[name]) if os.path.exists(outputs[name]) else "" for name in names}

    def failure(self, kind, name, minor):
        """None, or what is wrong."""
        if kind == "text":
            expected, printed = expected_text(name, minor), without_comments(self.texts[name])
            if expected == printed:
                return None
            return "expected:\n%s\nprinted:\n%s" % (expected, self.texts[name])
        row = self.rows[name]
        if row["lenient"]:
            return None
        if not row["compiles"]:
            return "the output does not compile: %s, line %s: %s" % (row.get("error"), row.get("error_line"), row.get("error_text"))
        wrong = ["%s, line %d: %s: %s" % (code[0], code[1], code[4], code[5]) for code in row["codes"] if not code[3]]
        wrong += ["a code object too many: " + path for path in row["extra"]]
        return "\n".join(wrong) + "\nprinted:\n" + self.texts[name]


def expected_text(name, minor):
    other = os.path.join(HERE, name + ".expected.py")
    path = other if os.path.exists(other) else os.path.join(HERE, name + ".py")
    return without_comments(for_version(read(path), minor))


_runs = {}


@pytest.fixture
def run(request, tmp_path_factory):
    if native_command() is None:
        pytest.skip("no depyf program is built (cmake --build build), and none is in PATH")

    def of(minor):
        if minor not in _runs:
            _runs[minor] = Run(minor, str(tmp_path_factory.mktemp("golden-3.%d" % minor)))
        return _runs[minor]
    return of


KNOWN = known_failures()


@pytest.mark.parametrize("minor", SUPPORTED, ids=["3.%d" % m for m in SUPPORTED])
@pytest.mark.parametrize("kind", ["text", "code"])
def test_golden(minor, kind, run, request):
    if minor not in interpreters():
        pytest.skip("no CPython 3.%d found (DEPYF_PYTHONS, PATH and PYENV_ROOT are looked at)" % minor)
    result = run(minor)
    broken, mended = [], []
    failures = {}
    for name in result.texts:
        failures[name] = result.failure(kind, name, minor)
        known = (minor, kind, name) in KNOWN
        if failures[name] and not known:
            broken.append("%s: %s" % (name, failures[name]))
        if not failures[name] and known:
            mended.append(name)
    if request.config.getoption("--update-golden"):
        update(minor, kind, failures, result)
        return
    message = ""
    if broken:
        message += "%d golden files fail (3.%d, %s):\n\n%s\n" % (len(broken), minor, kind, "\n".join(broken))
    if mended:
        message += "these work now: take them out of known_failures.txt (pytest tests/golden --update-golden): " + ", ".join(mended)
    assert not message, message


def update(minor, kind, failures, result):
    if kind == "text":
        for name, failure in failures.items():
            other = os.path.join(HERE, name + ".expected.py")
            if failure and os.path.exists(other):
                text = read(other)
                if "# if " not in text:
                    header = text.split("\n")[0] + "\n" if text.startswith("#") else ""
                    with open(other, "w", encoding="utf-8") as f:
                        f.write(header + without_comments(result.texts[name]))
                    failures[name] = None
    entries = {e for e in known_failures() if e[:2] != (minor, kind)}
    entries |= {(minor, kind, name) for name, failure in failures.items() if failure}
    with open(KNOWN_FAILURES, "w", encoding="utf-8") as f:
        f.write("# What does not come back yet: VERSION, text (another text) or code (another program), golden file.\n")
        for m, k, n in sorted(entries):
            f.write("3.%d %s %s\n" % (m, k, n))


def test_known_failures_name_golden_files():
    """A list entry for a file or version that does not exist would hide nothing and never go away."""
    names = set(golden_names())
    wrong = [e for e in KNOWN if e[2] not in names or e[0] not in SUPPORTED or e[1] not in ("text", "code")]
    assert not wrong
