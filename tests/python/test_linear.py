"""Cost grows with the size of the input, not with its square: functions with very many statements of one kind."""
import importlib.util
import marshal
import os
import resource
import subprocess

import pytest

from tests.interpreters import native_command

COMMAND = native_command()
STATEMENTS = {
    "assignment": "    a, b = b, a\n",
    "if": "    if a:\n        b(a)\n    else:\n        a(b)\n",
    "loop": "    for b in a:\n        if b:\n            break\n        a(b)\n",
    "while": "    while a:\n        a(b)\n",
    "except": "    try:\n        a()\n    except ValueError:\n        a(b)\n",
    "finally": "    try:\n        a()\n    finally:\n        a(b)\n",
    "with": "    with a:\n        a(b)\n",
    "return": "    if a == b:\n        return a(b)\n",
}


def seconds(path):
    """Processor time of one run; what else the machine does must not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([COMMAND, "decompile", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.skipif(COMMAND is None or os.name != "posix", reason="needs the native program depyf (DEPYF_BUILD_DIR)")
@pytest.mark.parametrize("kind", sorted(STATEMENTS))
def test_ten_times_the_statements_take_about_ten_times_as_long(kind, tmp_path):
    times = []
    for count in (1000, 10000):
        code = compile("def f(a, b):\n" + STATEMENTS[kind] * count, "many.py", "exec", dont_inherit=True)
        path = tmp_path / ("many%d.pyc" % count)
        path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        times.append(min(seconds(path) for _ in range(2)))
    assert times[1] < 30 * max(times[0], 0.02), times
