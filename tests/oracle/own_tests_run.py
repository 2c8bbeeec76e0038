"""Runs CPython's own tests of the language, as they are and as `depyf decompile` gives them back,
and compares.

    python3 own_tests_run.py DEPYF PYTHON [NAME ...]     DEPYF is the native command, NAME a module
                                                         of Lib/test

Each module is compiled by PYTHON, decompiled and checked; then `python -m unittest` runs both
texts. A test that fails only as decompiled fails the run, unless it is about the lines of its own
source (LINES): the text that comes back has others. Runs under CPython 3.7 or later; for 3.14 and
3.15, DEPYF_PYTHONS names the interpreter for the check.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

NAMES = """
abc annotationlib asyncgen augassign binop bool builtin call class collections compare complex contextlib
contextlib_async copy coroutines dataclasses decorators descr dictcomps dynamic enum except_star exceptions extcall
finally float fstring funcattrs functools generators genexps global grammar itertools keywordonlyarg lambda listcomps
metaclass named_expressions nonlocal opcodes patma pep646_syntax positional_only_arg pow raise scope setcomps
string_literals subclassinit super syntax try tstring type_aliases type_annotations type_params typing
unicode_identifiers unpack unpack_ex with yield_from
""".split()

# What these assert are line numbers of their own file, or its lines in a traceback.
LINES = {
    "test_contextmanager_traceback",
    "test_exit_exception_traceback",
    "test_lineno_in_finally_normal",
    "test_only_default_capture",
    "test_only_default_wildcard",
    "test_origin_tracking_warning",
    "test_unreachable_code",
}


def tried(python, path):
    """(what unittest says it ran, names of the tests that failed) of the module at `path`."""
    folder, name = os.path.split(path)
    done = subprocess.run(
        [python, "-m", "unittest", name[:-3]],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.M)
    failed = set(re.findall(r"^(?:ERROR|FAIL): (\w+)", done.stderr, re.M))
    return int(ran.group(1)) if ran else done.stderr[-500:], failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("depyf", metavar="DEPYF")
    parser.add_argument("python", metavar="PYTHON")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", default=["test_" + name for name in NAMES]
    )
    options = parser.parse_args()
    library = subprocess.check_output(
        [options.python, "-c", "import os, test; print(os.path.dirname(test.__file__))"],
        universal_newlines=True,
    ).strip()
    modules = tests = about_lines = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            source = os.path.join(library, name + ".py")
            compiled = os.path.join(folder, name + ".pyc")
            compiler = "import py_compile, sys; py_compile.compile(*sys.argv[1:], doraise=True)"
            if not os.path.exists(source):
                continue
            subprocess.run(
                [options.python, "-W", "ignore", "-c", compiler, source, compiled], check=True
            )
            texts = [
                os.path.join(folder, kind, name, name + ".py") for kind in ("source", "decompiled")
            ]
            for text in texts:
                os.makedirs(os.path.dirname(text))
            shutil.copy(source, texts[0])
            with open(texts[1], "wb") as file:
                subprocess.run(
                    [options.depyf, "decompile", "--no-check", compiled],
                    stdout=file,
                    stderr=subprocess.DEVNULL,
                )
            (expected, failing), (ran, failed) = [tried(options.python, text) for text in texts]
            modules, tests = modules + 1, tests + (ran if isinstance(ran, int) else 0)
            about_lines += len((failed - failing) & LINES)
            extra = sorted(failed - failing - LINES)
            if extra or ran != expected:
                wrong.append(
                    "%s: ran %s, expected %s; %s" % (name, ran, expected, ", ".join(extra))
                )
                print(wrong[-1], flush=True)
    print(
        "%d modules, %d tests; %d fail that are about lines, %d modules differ"
        % (modules, tests, about_lines, len(wrong))
    )
    return 1 if wrong or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
