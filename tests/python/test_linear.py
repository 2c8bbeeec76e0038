"""Cost grows with the size of the input, not with its square: functions with very many statements
of one kind.
"""

import os
import resource
import subprocess
import sys

import pytest

from tests.interpreters import interpreters, native_command

COMMAND = native_command()
FEW, MANY = 8000, 40000  # both larger than the caches, so that a statement of either costs the same
STATEMENTS = {
    "assert": "    assert a\n",
    "assignment": "    a, b = b, a\n",
    "augmented assignment": "    a.b += 1\n",
    "comprehension": "    a = [b.c for b in a if b]\n",
    "conditional expression": "    a = a if b else b\n",
    "if": "    if a:\n        b(a)\n    else:\n        a(b)\n",
    "loop": "    for b in a:\n        if b:\n            break\n        a(b)\n",
    "while": "    while a:\n        a(b)\n",
    "except": "    try:\n        a()\n    except ValueError:\n        a(b)\n",
    "finally": "    try:\n        a()\n    finally:\n        a(b)\n",
    "or": "    a = a and b or not a\n",
    "with": "    with a:\n        a(b)\n",
    "return": "    if a == b:\n        return a(b)\n",
    # as in code that a program makes: lines tell nothing
    "endless on one line": "    while True:\n        if a.b: break\n        a(b)\n",
}


COMPILE = """
import ast, importlib.util, marshal, sys
text = "def f(a, b):\\n" + sys.argv[1] * int(sys.argv[2])
if sys.argv[4].endswith("on one line"):  # a tree takes three times as long
    text = ast.parse(text)
    for node in ast.walk(text):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset, node.end_col_offset = 0, 1
code = compile(text, "many.py", "exec", dont_inherit=True)
with open(sys.argv[3], "wb") as file:
    file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


def seconds(path):
    """Processor time of one run; what else the machine does must not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [COMMAND, "decompile", "--no-check", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
@pytest.mark.skipif(
    COMMAND is None or os.name != "posix", reason="needs the native program depyf (DEPYF_BUILD_DIR)"
)
@pytest.mark.parametrize("kind", sorted(STATEMENTS))
def test_five_times_the_statements_take_about_five_times_as_long(kind, tmp_path):
    python = sys.executable
    if (
        kind == "comprehension"
    ):  # elsewhere each is a code object of its own, which compile() takes very long for
        inlining = [interpreters()[minor] for minor in (12, 13, 14, 15) if minor in interpreters()]
        if not inlining:
            pytest.skip("no CPython that inlines comprehensions, 3.12 or later, is found")
        python = inlining[0]
    paths = [str(tmp_path / ("many%d.pyc" % count)) for count in (FEW, MANY)]
    for count, path in zip((FEW, MANY), paths):
        made = [python, "-c", COMPILE, STATEMENTS[kind], str(count), path, kind]
        subprocess.run(made, check=True)
    few = max(min(seconds(paths[0]) for _ in range(3)), 0.02)
    for _ in range(3):
        many = seconds(paths[1])
        if many < 2.5 * MANY / FEW * few:
            return
    pytest.fail("%d: %.2f s, %d: %.2f s" % (FEW, few, MANY, many))
