"""Several threads of one process use depyf. A free-threaded CPython has no GIL that orders them."""

import argparse
import os
import subprocess
import sys
import sysconfig
import textwrap
import threading
import types

import depyf
import pythons
import pytest
from depyf import _core

THREADS = 8


def functions():
    """Code objects of functions of the standard library, those of classes among them."""
    found = []
    for module in (argparse, textwrap, threading, types):
        for owner in [module] + [v for v in vars(module).values() if isinstance(v, type)]:
            for value in vars(owner).values():
                if isinstance(value, types.FunctionType):
                    found.append(value.__code__)
    assert len(found) > 200
    return found


def in_threads(work):
    """What each thread returned; all begin at the same moment."""
    barrier, results = threading.Barrier(THREADS), [None] * THREADS

    def run(number):
        barrier.wait()
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_get_what_one_thread_gets():
    codes = functions()

    def work(_):
        return [
            (_core.decompile(code)[0], _core.listing(code), _core.compare(code, code)[0])
            for code in codes
        ]

    alone = work(0)
    assert all(verdict == "identical" for _, _, verdict in alone)
    assert all(each == alone for each in in_threads(work))


def test_threads_decompile_functions():
    def text(_):
        return depyf.decompile(textwrap.dedent), depyf.decompile(argparse.ArgumentParser.parse_args)

    assert all(each == text(0) for each in in_threads(text))


def test_a_thread_changes_what_another_one_passes():
    def caller(resume):
        return resume(1, 2)

    names = {}

    def work(number):
        for i in range(500):
            if number % 2:
                names["resume" + str(i % 50)] = ("first", "second")
                names.pop("resume" + str((i * 7) % 50), None)
            else:
                assert (
                    "resume(1, 2)" in _core.decompile(caller.__code__, callee_parameters=names)[0]
                )
        return True

    assert all(in_threads(work))


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this CPython has a GIL"
)
def test_a_free_threaded_cpython_stays_without_a_gil():
    program = "import sys, depyf._core; print(sys._is_gil_enabled())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.stdout.strip() == "False"


INTERPRETERS = """
import sys
try:
    import concurrent.interpreters
    run = lambda text: concurrent.interpreters.create().exec(text)
except ImportError:
    try:
        import _interpreters as module
    except ImportError:
        import _xxsubinterpreters as module
    own_gil = {"isolated": False} if sys.version_info[:2] == (3, 12) else {}
    run = lambda text: module.run_string(module.create(**own_gil), text)
text = "import sys; sys.path.insert(0, %r)" % sys.argv[1] + sys.argv[2]
for _ in range(2):
    problem = run(text)
    assert problem is None, problem
exec(text)
"""
IN_EACH = """
import depyf
def f(a, b=2): return [x for x in a if x > b]
print(depyf.decompile(f.__code__).splitlines()[1].strip(), flush=True)
try: depyf._core.decompile(b"no file")
except depyf.DecompilationError as error: print(type(error).__name__, flush=True)
"""


@pytest.mark.parametrize("version", [v for v in pythons.VERSIONS if v not in ("3.7", "3.8")])
def test_each_interpreter_of_a_process_loads_depyf(version):
    """On 3.12, one that shares the GIL of the first."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(depyf.__file__)))
    done = pythons.run(version, INTERPRETERS, folder, IN_EACH)
    assert done.split("\n")[:-1] == ["return [x for x in a if x > b]", "DecompilationError"] * 3


def test_an_interpreter_that_cannot_load_depyf_says_which_can():
    program = """
import sys, _xxsubinterpreters as module
text = "import sys; sys.path.insert(0, %r); import depyf.installed" % sys.argv[1]
try: module.run_string(module.create(isolated=True), text)
except module.RunFailedError as error: print(error)
"""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(depyf.__file__)))
    assert "3.12 loads it in the main interpreter alone" in pythons.run("3.12", program, folder)
