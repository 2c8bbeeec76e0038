"""Tests and patterns as wide as a keyword are plain.

An implicit jump has the columns of the test before it, which must not be taken for a written
`return`, `break`, `continue` or `pass`.
"""

import os
import subprocess

import pytest
from pythons import INTERPRETERS, VERSIONS, path_of

COMMAND = INTERPRETERS.native_command()

# widths 4 to 9
TESTS = ("a.b", "a.bc", "abcde", "not a", "a == b", "f(a+1)", "(a, b)", "a.b == 1", "a in (b,)")
PATTERNS = (
    *("None", "A(1)", "[1]", "[1,2]", "A(1,2)", "[1, 2]", "A(p=1)", "(1, y)", "'abcd'"),
    *("A.b.cd", "{1: 2}", "1 | 22", "[1, *r]", "A(p=[1])", "A(p=1) if x", "[1, 2] | 3"),
)
BODIES = ("return 1", "return", "return x", "pass", "k()", "raise x")
IF = "if {0}: {1}", "if {0}:\n    {1}", "if {0}: {1}\nelse: m()", "if {0}:\n    {1}\nm()"
MATCH = "match x:\n    case {0}: {1}", "match x:\n    case {0}:\n        {1}"
AROUND = "{0}", "for i in x:\n    {0}", "while x:\n    {0}", "{0}\nm(2)"


def functions(version):
    shapes = [(TESTS, IF)] + ([(PATTERNS, MATCH)] if int(version[2:]) >= 10 else [])
    texts = []
    for conditions, forms in shapes:
        for condition in conditions:
            for body in BODIES:
                for form in forms:
                    for around in AROUND:
                        inside = form.format(condition, body)
                        indent = "\n    " if "\n    {0}" in around else "\n"
                        text = around.replace("{0}", inside.replace("\n", indent))
                        lines = "\n".join("    " + line for line in text.split("\n"))
                        texts.append("def f%d(x):\n%s\n" % (len(texts), lines))
    return texts


@pytest.mark.skipif(COMMAND is None, reason="needs the native program depyf (DEPYF_BUILD_DIR)")
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_as_wide_as_a_keyword_is_plain(version, tmp_path):
    python = path_of(version)
    source, compiled = tmp_path / "widths.py", tmp_path / "widths.pyc"
    source.write_text("\n".join(functions(version)))
    make = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)"
    subprocess.run([python, "-W", "ignore", "-c", make, str(source), str(compiled)], check=True)
    done = subprocess.run(
        [COMMAND, "decompile", str(compiled)],
        env=dict(os.environ, DEPYF_PYTHONS=python),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0 and "proven (" in done.stderr, done.stderr[-2000:]
    assert "ladder" not in done.stderr and "names that the source had not" not in done.stderr
