"""`depyf` and `python -m depyf`: the wheel's door to the core's command."""

import ast
import ctypes
import importlib.util
import json
import marshal
import os
import py_compile
import re
import shutil
import subprocess
import sys
import warnings
import struct
import zipfile

import depyf
import pytest
import pythons
from pythons import native

from tests.interpreters import native_command


def run(*arguments, env=None, cwd=None, before=None):
    return subprocess.run(
        [sys.executable, "-m", "depyf", *arguments],
        env=env,
        cwd=cwd and str(cwd),
        preexec_fn=before,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


@pytest.fixture
def pyc(tmp_path):
    source = tmp_path / "mod.py"
    source.write_text("def f(a, b):\n    return a + b\n\n\nprint(f(1, 2))\n")
    return py_compile.compile(str(source), cfile=str(tmp_path / "mod.pyc"), doraise=True)


def test_decompile_prints_the_source(pyc):
    done = run("decompile", pyc)
    assert done.returncode == 0, done.stderr
    assert "def f(a, b):\n    return a + b\n" in done.stdout
    assert "print(f(1, 2))" in done.stdout


def test_dis_names_operations(pyc):
    done = run("dis", pyc)
    assert done.returncode == 0, done.stderr
    assert "LOAD_CONST" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_python_that_cannot_be_started_is_not_called_missing(tmp_path):
    import resource

    here = sys.version_info[1]
    found = {one: path for one, path in pythons.INTERPRETERS.interpreters().items() if one != here}
    if not found:
        pytest.skip("one CPython only")
    (tmp_path / "m.py").write_text("x = 1\n")
    make = "import py_compile; py_compile.compile('m.py', 'm.pyc', doraise=True)"
    minor, python = min(found.items())
    subprocess.run([python, "-c", make], cwd=str(tmp_path), check=True)
    few = (6, 6)
    done = run(
        "decompile",
        "m.pyc",
        cwd=tmp_path,
        before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
    )
    assert (done.returncode, done.stdout) == (0, "x = 1\n"), done.stderr
    assert "CPython 3.%d could not be started (Too many open files)" % minor in done.stderr
    assert "was not found" not in done.stderr


def test_compare_tells_files_apart(pyc, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("def f(a, b):\n    return b + a\n\n\nprint(f(1, 2))\n")
    other_pyc = py_compile.compile(str(other), cfile=str(tmp_path / "other.pyc"), doraise=True)
    assert run("compare", pyc, pyc).returncode == 0
    different = run("compare", pyc, other_pyc)
    assert different.returncode == 1
    assert "different" in different.stdout


@pytest.mark.parametrize(
    "one, other, verdict",
    [
        ("def f(a, *, b=2): return b", "def f(a, *, b=3): return b", "different"),
        ("def f(a, b=(x, 2)): return b", "def f(a, b=(x, 3)): return b", "different"),
        ("def f(b=((x, 1), 2)): pass", "def f(b=((x, 1, 1), 2)): pass", "different"),
        ("a.b = {'k': 1, 'm': x}", "a.b = {'k': 2, 'm': x}", "different"),
        ("a.b = {'k': 1, 'k': x}", "a.b = {'k': 2, 'k': x}", "unproven"),
        ("a.b = {1: 1, True: x}", "a.b = {1: 2, True: x}", "unproven"),
        ("def f(a): return -a", "def f(a): return +a", "different"),
        ("def f(a):\n  b = a.c\n  return -b", "def f(a):\n  b = a.c\n  return +b", "different"),
        ("def f(a): return not a", "def f(a): return not not not a", "unproven"),
        ("def f(a): return -'a'", "def f(a): return -'b'", "unproven"),
        ("def f(): return 1 / 0", "def f(): return 2 / 0", "unproven"),
        ("def f(a): return +(True if a else False)", "def f(a): return 1 if a else 0", "unproven"),
        ("def f(): x = yield 1", "def f():\n  for i in (1,): x = yield i", "unproven"),
        ("def f(a, b): return (a, b)", "def f(a, b): return (a,) + (b,)", "unproven"),
    ],
)
def test_compare_looks_into_defaults_and_displays(one, other, verdict, tmp_path):
    files = []
    for name, text in (("a", one), ("b", other)):
        (tmp_path / (name + ".py")).write_text(text + "\n")
        files.append(str(tmp_path / (name + ".pyc")))
        py_compile.compile(str(tmp_path / (name + ".py")), cfile=files[-1], doraise=True)
    done = run("compare", *files)
    assert done.stdout.startswith(verdict + ":"), done
    assert done.returncode == {"different": 1, "unproven": 3}[verdict]


OPTIMIZED = """def f(x):
    if not x:
        raise AssertionError('m')
    return x


class B:
    __doc__ = 'kept'
"""


@pytest.mark.parametrize("level", [1, 2])
def test_a_name_that_tells_the_level_is_believed(level, tmp_path):
    (tmp_path / "mod.py").write_text(OPTIMIZED)
    name = tmp_path / ("mod.cpython-3%d.opt-%d.pyc" % (sys.version_info[1], level))
    py_compile.compile(str(tmp_path / "mod.py"), cfile=str(name), doraise=True, optimize=level)
    done = run("decompile", str(name))
    assert done.returncode == 0 and "proven (identical)" in done.stderr, done.stderr
    assert "assert " not in done.stdout
    if level == 2:
        assert done.stdout == OPTIMIZED


def test_wrong_input_is_exit_code_2(tmp_path):
    bad = tmp_path / "bad.pyc"
    bad.write_bytes(b"not a pyc")
    for arguments in (["decompile", str(bad)], ["decompile", str(tmp_path / "missing")], ["nope"]):
        done = run(*arguments)
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.strip()
        assert "Traceback" not in done.stderr


def test_console_script_is_installed():
    script = os.path.join(os.path.dirname(sys.executable), "depyf")
    if not os.path.exists(script):
        pytest.skip("depyf is not installed into this interpreter's environment")
    done = subprocess.run([script, "--help"], stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0 and "decompile" in done.stdout


def test_modules_by_name_are_found_and_not_imported(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "inner.py").write_text("print('imported too')\nVALUE = 7\n")
    environment = dict(
        os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    )
    done = run("decompile", "-m", "pack.inner", env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "print('imported too')\nVALUE = 7\n"
    assert not (package / "__pycache__").exists()
    for name in ("pack.missing", "missing", "sys"):
        done = run("decompile", "-m", name, env=environment)
        assert done.returncode == 2 and name in done.stderr, done


def test_zip_files_are_folders(pyc, tmp_path):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "pack/__pycache__/mod.cpython-39.pyc", zipfile.ZIP_STORED)
        file.write(pyc, "other.pyc", zipfile.ZIP_STORED)
        file.writestr("readme.txt", "no bytecode")
    done = run("decompile", str(archive), "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    found = sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")
    )
    assert found == [os.path.join("other.py"), os.path.join("pack", "mod.py")]
    data = archive.read_bytes()
    for cut in (30, 60, len(data) // 2, len(data) - 30):
        bad = tmp_path / "cut.zip"
        bad.write_bytes(data[:cut] + data[-22:])
        done = run("decompile", str(bad), "-o", str(tmp_path / "again"))
        assert (
            done.returncode in (1, 2)
            and "cut.zip" in done.stderr
            and "Traceback" not in done.stderr
        ), done


def test_a_zip_file_that_was_cut_off_is_called_one(pyc, tmp_path):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "mod.pyc", zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes()[:-30])
    done = run("dis", str(archive))
    assert done.returncode == 2 and "damaged zip file" in done.stderr, done
    assert "--python" not in done.stderr


def test_deflated_members(pyc, tmp_path):
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "mod.pyc", zipfile.ZIP_DEFLATED)
    archive.write_bytes(b"#!/usr/bin/env python3\n" + archive.read_bytes())
    done = run("decompile", str(archive))
    assert (done.returncode == 0 and "return a + b" in done.stdout) or "zlib" in done.stderr, done


NOWHERE = {"DEPYF_PYTHONS": "", "PATH": "", "PYENV_ROOT": os.devnull, "HOME": os.devnull}


@pytest.mark.parametrize("name", ["../outside.pyc", "/outside.pyc", "a/../../outside.pyc"])
def test_members_that_would_lead_out_of_the_folder_are_refused_by_name(pyc, tmp_path, name):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "inside.pyc", zipfile.ZIP_STORED)
        info = zipfile.ZipInfo("x")
        info.filename = name  # ZipFile.write would take the slash away
        with open(pyc, "rb") as stream:
            file.writestr(info, stream.read())
    out = tmp_path / "deep" / "out"
    done = run("decompile", str(archive), "-o", str(out))
    assert done.returncode == 1 and "leads out of the folder" in done.stderr
    assert "%s/%s" % (archive, name) in done.stderr
    assert "1 could not be read" in done.stderr
    assert [path.name for path in tmp_path.rglob("*.py")].count("inside.py") == 1
    assert not list(tmp_path.rglob("outside.py")) and not os.path.exists("/outside.py")
    done = run("dis", str(archive))
    assert done.returncode == 1 and done.stderr.count(name) == 1, done.stderr


@pytest.mark.parametrize("verb", ["run", "report", "diff"])
def test_the_native_command_says_what_needs_the_package(verb):
    for words in ([verb, "x"], [verb, "--help"], [verb]):
        done = native(*words)
        assert done.returncode == 2 and done.stdout == ""
        assert "'%s'" % verb in done.stderr and "package" in done.stderr


def test_an_unknown_command_is_answered_with_all_of_this_one():
    done = run("wrong-word")
    assert done.returncode == 2
    assert all(verb in done.stderr for verb in ("run", "report", "diff", "decompile", "dump"))
    assert "unknown option '--versoin'" in run("--versoin").stderr
    done = native("wrong-word")
    assert done.returncode == 2 and "decompile" in done.stderr and "report" not in done.stderr


def test_output_is_proven_without_being_asked(pyc):
    done = run("decompile", pyc, env=dict(os.environ, **NOWHERE))
    assert done.returncode == 0 and "mod.pyc: proven (" in done.stderr, done
    assert done.stdout == run("decompile", "--no-check", pyc).stdout
    assert run("decompile", "--no-check", pyc).stderr == "depyf: %s: not checked\n" % pyc
    assert run("decompile", "--check", pyc).stderr == done.stderr
    done = run("decompile", "--format", "json", pyc)
    check = json.loads(done.stdout)["check"]
    assert check["proven"] is True and check["verdict"] in ("identical", "exact", "equivalent")


@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_what_a_proof_leaves_out_is_said_with_every_verdict(version, tmp_path):
    """Without the comment the class stands on another line, which `__firstlineno__` tells."""
    python = pythons.path_of(version)
    for name in ("one", "two", "plain"):
        (tmp_path / (name + ".py")).write_text(
            "x = 1\n" if name == "plain" else "# a comment\n\n\nclass C:\n    x = 1\n"
        )
        compiling = "import py_compile as p; p.compile('%s.py', '%s.pyc')" % (name, name)
        subprocess.run([python, "-c", compiling], cwd=str(tmp_path), check=True)
    environment = dict(NOWHERE, DEPYF_PYTHONS=python)
    lines = "ignored: the line numbers that classes have in `__firstlineno__`"
    one, two, plain = (str(tmp_path / name) for name in ("one.pyc", "two.pyc", "plain.pyc"))
    said = native("decompile", one, env=environment).stderr
    assert re.search(r"one.pyc: proven \((identical|exact)\); %s\n" % lines, said), said
    out = str(tmp_path / "out")
    said = native("decompile", one, two, plain, "-o", out, env=environment).stderr
    assert "  what the proofs leave out, and of which files:\n" in said, said
    assert said.endswith("    %s: %s, %s\n" % (lines, one, two)), said
    said = native("decompile", plain, "-o", out, "--force", env=environment).stderr
    assert "1 proven" in said and "leave out" not in said, said


@pytest.mark.skipif(os.name == "nt", reason="no such names")
def test_a_file_whose_name_has_a_line_break_is_proven_by_another_process(pyc, tmp_path):
    named = tmp_path / "a\nfile.pyc"
    shutil.copy(pyc, str(named))
    done = native("decompile", str(named), env=dict(os.environ, DEPYF_PYTHONS=sys.executable))
    assert done.returncode == 0 and "proven (" in done.stderr, done


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("option", ["--version", "--help"])
@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_what_depyf_says_of_itself_is_written_or_a_failure(option, output):
    command = '"$0" -m depyf %s %s' % (option, output)
    done = subprocess.run(["sh", "-c", command, sys.executable], stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"the output is not complete" in done.stderr, done
    assert b"Traceback" not in done.stderr


def test_a_zip_file_cannot_hold_the_compiled_part(tmp_path):
    archive = tmp_path / "z.zip"
    with zipfile.ZipFile(str(archive), "w") as members:
        folder = os.path.dirname(depyf.__file__)
        for name in os.listdir(folder):
            if name.endswith(".py"):
                members.write(os.path.join(folder, name), "depyf/" + name)
    done = run("--version", env=dict(os.environ, PYTHONPATH=str(archive)))
    assert done.returncode == 2 and "unpack it" in done.stderr, done
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["--version", "dis x.pyc", "nonsense", "--help"])
def test_a_compiled_part_that_does_not_load_is_named_by_each_command(words, tmp_path):
    shutil.copytree(os.path.dirname(depyf.__file__), str(tmp_path / "depyf"))
    for binary in (tmp_path / "depyf").glob("_core.*so"):
        binary.write_bytes(b"of another system")
    done = run(*words.split(), env=dict(os.environ, PYTHONPATH=str(tmp_path)))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert (
        "compiled part depyf._core cannot be loaded from %s" % (tmp_path / "depyf") in done.stderr
    )


def test_wrong_calls_say_what_is_right_in_few_lines(tmp_path):
    assert "usage: depyf run" in run("run", "--bogus").stderr
    assert "folder's name is empty" in run("decompile", "x.pyc", "-o", "").stderr
    bare = native()
    assert bare.returncode == 2 and bare.stdout == ""
    assert bare.stderr.startswith("usage: depyf decompile PATH")
    assert len(bare.stderr.splitlines()) < 10 and "depyf --help" in bare.stderr
    assert len(run().stderr.splitlines()) < 20
    source = tmp_path / "spam.py"
    source.write_text("x = 1\n")
    done = run("decompile", str(source))
    assert done.returncode == 2 and "spam.py: this is Python source already" in done.stderr, done


def test_interpreters_are_given_as_programs_or_as_folders(pyc, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / ("python%d.%d" % sys.version_info[:2])).symlink_to(sys.executable)
    for given in (sys.executable, str(tmp_path / "bin"), str(tmp_path)):
        done = native("decompile", pyc, env=dict(NOWHERE, DEPYF_PYTHONS=given))
        assert done.returncode == 0 and "mod.pyc: proven (" in done.stderr, done


@pytest.mark.skipif(
    sys.version_info < (3, 8), reason="before, no code awaits outside of a function"
)
def test_await_outside_of_a_function_comes_back_and_is_not_checked(tmp_path):
    """As `python -m asyncio` and notebooks compile it: no plain compile() takes the source."""
    text = "await f(x)\nasync for i in y:\n    print(i)\nz = [i async for i in y]\n"
    flags = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
    code = compile(text, "cell.py", "exec", flags=flags)
    path = tmp_path / "cell.pyc"
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    done = run("decompile", str(path))
    assert done.stdout == text
    assert done.returncode == 0
    assert "not checked because it has `await` outside of a function" in done.stderr


def test_what_has_no_interpreter_is_not_checked_and_no_failure(pyc, tmp_path):
    name = "CPython %d.%d" % sys.version_info[:2]
    done = native("decompile", pyc, env=NOWHERE)
    assert done.returncode == 0, done
    assert "mod.pyc: not checked because %s was not found" % name in done.stderr
    for number in range(3):
        shutil.copy(pyc, str(tmp_path / ("copy%d.pyc" % number)))
    done = native("decompile", str(tmp_path), "-o", str(tmp_path / "out"), env=NOWHERE)
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1, done
    assert "4 files: 4 decompiled; 4 not checked because %s was not found" % name in done.stderr
    done = run("decompile", str(tmp_path), "-o", str(tmp_path / "out"), "-j", "3")
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1, done
    assert "4 files: 4 decompiled; 4 proven" in done.stderr


def test_checking_leaves_no_trace(tmp_path):
    """No warning about the source, nothing executed, no file written beside the output."""
    source = tmp_path / "noisy.py"
    source.write_text("import sys\nx = sys is 'name'\nopen('ran', 'w')\nraise SystemExit(3)\n")
    pyc = str(tmp_path / "noisy.pyc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        py_compile.compile(str(source), cfile=pyc, doraise=True)
    before = sorted(os.listdir(str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "depyf", "decompile", pyc],
        cwd=str(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1, done
    assert done.stderr.startswith("depyf: %s: proven (" % pyc)
    assert sorted(os.listdir(str(tmp_path))) == before


@pytest.mark.parametrize(
    "behaviour, words",
    [
        ("read line; exit 1", "ended"),
        ("exec /bin/sleep 60", "took too long"),
        ("exec /bin/cat", "no proper answer"),
        ("read line; echo done 99999999999999 0", "no proper answer"),
        ("read line; echo done 4 0; echo abc; exec /bin/cat > /dev/null", "unexpected"),
    ],
    ids=["dies", "hangs", "junk", "announces", "no-marshal"],
)
def test_a_sick_interpreter_proves_nothing(pyc, tmp_path, behaviour, words):
    version = "%d.%d" % sys.version_info[:2]
    fake = tmp_path / ("python" + version)
    fake.write_text("#!/bin/sh\necho python %s\n%s\n" % (version, behaviour))
    fake.chmod(0o755)
    environment = dict(NOWHERE, DEPYF_PYTHONS=str(fake), DEPYF_CHECK_SECONDS="5")
    done = native("decompile", pyc, env=environment)
    assert done.returncode == 1 and "return a + b" in done.stdout, done
    assert "mod.pyc: not proven: " in done.stderr
    if words != "unexpected":
        assert words in done.stderr


# Compiles as CPython does, but for a statement that it gets wrong.
WRONG_COMPILER = """#!%s
import marshal, sys
print("python 3.%%d" %% sys.version_info[1], flush=True)
for line in iter(sys.stdin.buffer.readline, b""):
    _, length, optimize, name = line.split(b" ", 3)
    source = sys.stdin.buffer.read(int(length)).replace(b"return 'plain'", b"return 'wrong'")
    if b"return 'wrong'" in source and %r:
        source = b"(" + source
    try:
        answer, word, line = marshal.dumps(compile(source, "x", "exec")), b"done", 0
    except SyntaxError as error:
        answer, word, line = str(error).encode(), b"failed", source.split(b"return 'wrong'")[0].count(b"\\n") + 1
    sys.stdout.buffer.write(b"%%s %%d %%d\\n" %% (word, len(answer), line) + answer)
    sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize("refuses", [False, True])
def test_a_function_that_is_not_proven_takes_another_form(tmp_path, refuses):
    (tmp_path / "two.py").write_text(
        "def f(a, *b, c=1):\n    return 'plain'\n\n\ndef g(x):\n    return x + 1\n"
    )
    pyc = py_compile.compile(
        str(tmp_path / "two.py"), cfile=str(tmp_path / "two.pyc"), doraise=True
    )
    fake = tmp_path / "python"
    fake.write_text(WRONG_COMPILER % (sys.executable, refuses))
    fake.chmod(0o755)
    out = tmp_path / "out"
    done = native("decompile", pyc, "-o", str(out), env=dict(NOWHERE, DEPYF_PYTHONS=str(fake)))
    assert done.returncode == 0, done
    text = (out / "two.py").read_text()
    assert "def g(x):\n    return x + 1\n" in text and "return 'plain'" not in text
    assert "the plain form was not proven" in done.stderr and "1 proven" in done.stderr
    assert "two.pyc: f (L6)" in done.stderr and "one frame deeper" in done.stderr
    namespace = {}
    exec(compile(text, "two.py", "exec"), namespace)
    assert namespace["f"](1) == "plain"


def test_a_form_is_left_for_what_its_own_code_differs_in(tmp_path):
    """Each of several functions that are not proven is named in its own reason alone."""
    (tmp_path / "two.py").write_text(
        "def f():\n    return 'plain'\n\n\ndef g(x):\n    print(x)\n    return 'plain'\n"
    )
    pyc = py_compile.compile(
        str(tmp_path / "two.py"), cfile=str(tmp_path / "two.pyc"), doraise=True
    )
    fake = tmp_path / "python"
    fake.write_text(WRONG_COMPILER % (sys.executable, False))
    fake.chmod(0o755)
    done = native("decompile", pyc, env=dict(NOWHERE, DEPYF_PYTHONS=str(fake)))
    for name in "fg":
        reason = next(row for row in done.stderr.splitlines() if ": %s: ladder L6" % name in row)
        assert "in <module>/%s: " % name in reason, reason


def test_what_stays_unproven_is_named(tmp_path):
    """A dispatch loop is not proven; it is kept, told and named, and is exit code 1."""
    (tmp_path / "two.py").write_text("def f(a):\n    return a\n")
    pyc = py_compile.compile(
        str(tmp_path / "two.py"), cfile=str(tmp_path / "two.pyc"), doraise=True
    )
    done = run("decompile", "--ladder", "5", pyc, "-o", str(tmp_path / "out"))
    lines = [line.strip() for line in done.stderr.splitlines()]
    if done.returncode == 0:
        assert "1 proven" in done.stderr
        return
    assert done.returncode == 1 and any("two.pyc: not proven: " in line for line in lines)
    assert lines[lines.index("not proven to do the same:") + 1].startswith(pyc + ": ")
    assert pyc + ": f (L5), <module> (L5)" in lines


def test_json_holds_source_lines_and_diagnostics(pyc):
    result = json.loads(run("decompile", "--format", "json", pyc).stdout)
    lines = result["source"].splitlines()
    row = next(row for row in result["lines"] if row["code"] == "f")
    assert lines[row["line"] - 1].strip() == "return a + b" or lines[row["line"] - 1].startswith(
        "def f"
    )
    assert row["offsets"] and row["original_line"] in (1, 2)
    assert result["diagnostics"] == []


def test_dump_after_each_step(tmp_path):
    source = tmp_path / "steps.py"
    source.write_text("def f(a, b):\n    return g(a if b else 1)\n")
    compiled = str(tmp_path / "steps.pyc")
    py_compile.compile(str(source), compiled)
    refused = run("dump", "--after", "nothing", compiled)
    assert refused.returncode == 2
    steps = refused.stderr.split("expected one of")[1].split("(")[0].split()
    assert steps[0] == "regions" and "expressions" in steps

    def blocks(step):
        done = run("dump", "--after", step, "--code", "f", "--format", "json", compiled)
        assert done.returncode == 0, done.stderr
        graph = json.loads(done.stdout)
        ends = [end for edge in graph["edges"] for end in (edge["from"], edge["to"])]
        assert all(end < len(graph["blocks"]) for end in ends), step
        return graph["blocks"]

    assert len(blocks(steps[0])) > 1
    assert len(blocks(steps[-1])) == 1 and "select" in blocks(steps[-1])[0]
    assert all(blocks(step) for step in steps)
    dot = run("dump", "--after", steps[0], "--code", "f", "--format", "dot", compiled).stdout
    assert dot.startswith("digraph") and "label=true" in dot
    text = run("dump", "--after", steps[0], "--code", "f", compiled).stdout
    assert "== f" in text and "branch" in text
    both = run("dump", "--after", steps[0], "--stage", "lift", compiled)
    assert both.returncode == 2 and "exclude each other" in both.stderr


def test_dump_formats(pyc):
    rows = [
        json.loads(line)
        for line in run("dump", "--stage", "flow", "--format", "json", pyc).stdout.splitlines()
    ]
    assert sorted(row["code"] for row in rows) == ["<module>", "f"]
    assert all(row["stage"] == "flow" and row["blocks"] for row in rows)
    dot = run("dump", "--stage", "lift", "--format", "dot", "--code", "f", pyc).stdout
    assert dot.startswith('digraph "f" {') and dot.rstrip().endswith("}")
    assert run("dump", "--stage", "print", "--format", "dot", pyc).returncode == 2


def long_options(shell, script, verb):
    """Those that a completion script offers for a verb."""
    if shell == "bash":
        (words,) = re.findall(r'(?m)^ +%s\) options="(.*)"' % verb, script)
        return {word for word in words.split() if word.startswith("--")}
    if shell == "zsh":
        (rows,) = re.findall(r"(?ms)^ +%s\) _arguments(.*?);;" % verb, script)
        return set(re.findall(r"--[a-z][a-z-]+(?=[\[}])", rows))
    rows = re.findall(r'(?m)from %s" .*-l ([a-z-]+)' % verb, script)
    return {"--" + name for name in rows}


def verbs():
    """(those of the core, verb of the package -> its long options), as the help has them."""
    help_ = run("--help").stdout
    named = dict.fromkeys(re.findall(r"(?m)^(?:usage:)? +depyf (\w+)", help_))
    helps = {verb: run(verb, "--help").stdout for verb in named}
    native = [verb for verb in named if helps[verb] == helps["decompile"]]
    listed = r"(?m)^ +(?:-\w, )?(--[a-z][a-z-]+)"
    return native, {
        verb: set(re.findall(listed, helps[verb])) for verb in named if verb not in native
    }


def test_verbs_are_found_in_the_help():
    native, package = verbs()
    assert {"decompile", "completion"} <= set(native) and {"run", "try"} <= set(package)
    assert all("--help" in options for options in package.values())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(shell):
    script = run("completion", shell).stdout
    native, package = verbs()
    for verb, options in package.items():
        assert long_options(shell, script, verb) == options, verb
    for verb in native:
        assert re.search(r"\b%s\b" % verb, script), verb
        if verb != "completion":  # which takes the name of a shell
            assert {"--help", "--python"} <= long_options(shell, script, verb), verb
    help_ = re.sub(r"(?s)\nexit code.*", "", run("decompile", "--help").stdout)
    with_options = [verb for verb in native if verb != "completion"]
    offered = set().union(*(long_options(shell, script, verb) for verb in with_options))
    assert offered == set(re.findall(r"--[a-z][a-z-]+", help_)) - {"--version"}
    if shutil.which(shell):
        assert subprocess.run([shutil.which(shell), "-n"], input=script.encode()).returncode == 0
    assert run("completion", "tcsh").returncode == 2


NATIVE_PROGRAM = native_command()
needs_native_program = pytest.mark.skipif(NATIVE_PROGRAM is None, reason="depyf is not built")


@needs_native_program
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_the_native_program_offers_what_it_has(shell, tmp_path):
    """Its file has a name of its own, which is what the shell completes."""
    program = tmp_path / "depyf-0.1.0-linux"
    program.symlink_to(NATIVE_PROGRAM)
    script = subprocess.check_output([str(program), "completion", shell]).decode()
    assert "@" not in script.replace('"$@"', "")
    native, package = verbs()
    assert all(word in script for word in [*native, "code"])
    with_options = [verb for verb in native if verb != "completion"]
    offered = set().union(*(long_options(shell, script, verb) for verb in with_options))
    foreign = set().union(*package.values()) - offered
    assert re.findall(r"\b(%s)\b" % "|".join(package), script) == []
    assert [one for one in foreign if re.search(r"(--|-l )%s\b" % one[2:], script)] == []
    registered = {
        "bash": "complete -o filenames -F _depyf_0_1_0_linux depyf-0.1.0-linux",
        "zsh": "compdef _depyf_0_1_0_linux depyf-0.1.0-linux",
        "fish": "complete -c depyf-0.1.0-linux -n ",
    }
    assert registered[shell] in script and "\n_depyf()" not in script
    if shutil.which(shell):
        assert subprocess.run([shutil.which(shell), "-n"], input=script.encode()).returncode == 0
    # a name that a shell would not take as it is
    odd = tmp_path / "a b;c"
    odd.symlink_to(NATIVE_PROGRAM)
    script = subprocess.check_output([str(odd), "completion", shell]).decode()
    assert "a b" not in script and ("-c depyf " in script or "_depyf depyf\n" in script)


@needs_native_program
def test_two_programs_are_completed_in_one_shell(tmp_path):
    if not shutil.which("bash"):
        pytest.skip("bash is not here")
    script = run("completion", "bash").stdout
    script += subprocess.check_output(
        ["bash", "-c", 'exec -a other-depyf "$0" completion bash', NATIVE_PROGRAM]
    ).decode()
    script += "COMP_CWORD=1; COMP_WORDS=(any r)\n"
    for function in ("_depyf", "_other_depyf"):
        script += '%s; echo "${COMPREPLY[*]}"\n' % function
    shown = subprocess.check_output(["bash", "-c", script]).decode()
    assert shown == "run report\n\n"


def completed(folder, *words):
    """What the bash script offers for the last word."""
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("bash is not here")
    script = run("completion", "bash").stdout
    script += (
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _depyf; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    return subprocess.run(
        [bash, "-c", script, "bash", "depyf", *words],
        cwd=str(folder),
        stdout=subprocess.PIPE,
        check=True,
        universal_newlines=True,
    ).stdout.splitlines()


def test_completion_keeps_names_with_blanks_whole(tmp_path):
    (tmp_path / "a b.pyc").write_bytes(b"")
    (tmp_path / "c d").mkdir()
    assert completed(tmp_path, "decompile", "a") == ["a b.pyc"]
    assert completed(tmp_path, "decompile", "-o", "c") == ["c d"]


def test_completion_offers_what_the_command_takes(tmp_path):
    (tmp_path / "eager.py").write_bytes(b"")
    assert completed(tmp_path, "run", "--backend", "ea") == ["eager"]
    assert completed(tmp_path, "decompile", "-j", "ea") == [""]
    assert completed(tmp_path, "decompile", "--format", "") == ["text", "json"]
    assert completed(tmp_path, "dump", "--format", "d") == ["dot"]
    listed = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", run("--help").stdout))
    for verb in ("decompile", "dis", "dump", "compare"):
        assert set(completed(tmp_path, verb, "-")) <= listed, verb


def test_no_colours_where_there_is_no_terminal(pyc):
    done = run("decompile", "--check", pyc, env=dict(os.environ, DEPYF_PYTHONS=sys.executable))
    assert "\x1b" not in done.stdout + done.stderr


def test_zip_bombs_are_refused_before_they_are_unpacked(tmp_path):
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(str(bomb), "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mod.pyc", b"\0" * (1 << 25))
    done = run("decompile", str(bomb), "-o", str(tmp_path / "out"))
    assert done.returncode == 2 and "more than 100 times its size" in done.stderr, done
    # a member that claims more than deflate can give
    data = bytearray(bomb.read_bytes())
    end = data.rindex(b"PK\x01\x02")
    data[end + 24 : end + 28] = struct.pack("<I", 0x7FFFFFFF)
    bomb.write_bytes(bytes(data))
    done = run("decompile", str(bomb), "-o", str(tmp_path / "out"))
    assert done.returncode in (1, 2) and "bomb.zip" in done.stderr, done
    # members that share their bytes
    with zipfile.ZipFile(str(bomb), "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m.pyc", os.urandom(3000))
    data = bomb.read_bytes()
    start = data.rindex(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    entries = data[start:end] * 2000
    bomb.write_bytes(
        data[:start]
        + entries
        + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 2000, 2000, len(entries), start, 0)
    )
    done = run("decompile", str(bomb), "-o", str(tmp_path / "out"))
    assert done.returncode == 2 and "lie in one another" in done.stderr, done
    assert not (tmp_path / "out").exists()


def test_somebody_elses_file_is_not_overwritten(pyc, tmp_path):
    """`-o .` beside the user's own sources: they stay, and the other files go on."""
    folder = tmp_path / "package"
    (folder / "__pycache__").mkdir(parents=True)
    tag = sys.implementation.cache_tag
    for name in ("mine", "other"):
        shutil.copy(pyc, str(folder / "__pycache__" / ("%s.%s.pyc" % (name, tag))))
    (folder / "mine.py").write_text("# with a comment\n")
    done = run("decompile", str(folder), "-o", str(folder))
    assert done.returncode == 1, done
    assert str(folder / "mine.py") in done.stderr and "--force" in done.stderr
    assert "2 files: 1 decompiled, 1 not written; 1 proven" in done.stderr
    assert (folder / "mine.py").read_text() == "# with a comment\n"
    assert "return a + b" in (folder / "other.py").read_text()
    assert sorted(os.listdir(str(folder))) == ["__pycache__", "mine.py", "other.py"]
    assert run("decompile", str(folder), "-o", str(folder), "--force").returncode == 0
    assert (folder / "mine.py").read_text() == (folder / "other.py").read_text()
    # what depyf wrote before is no obstacle
    assert run("decompile", str(folder), "-o", str(folder)).returncode == 0
    (folder / "mine.py").unlink()
    (folder / "mine.py").symlink_to(tmp_path / "elsewhere.py")
    assert run("decompile", str(folder), "-o", str(folder)).returncode == 1
    assert (folder / "mine.py").is_symlink() and not (tmp_path / "elsewhere.py").exists()


def test_pipes_and_standard_input_are_read(pyc, tmp_path):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(str(archive), "w") as file:
        file.write(pyc, "mod.pyc", zipfile.ZIP_STORED)
    long = tmp_path / "long.py"  # longer than a pipe holds
    long.write_text(
        "def f(a, b):\n    return a + b\n" + "".join("x%d = 1\n" % i for i in range(9999))
    )
    long_pyc = py_compile.compile(str(long), cfile=str(tmp_path / "long.pyc"), doraise=True)
    command = '"$0" -m depyf %s'
    for given in (pyc, str(archive), long_pyc):
        for how in (
            "cat '%s' | " + command % "decompile -",
            command % "decompile - < '%s'",
            "cat '%s' | " + command % "decompile /dev/stdin",
            "mkfifo pipe && { cat '%s' > pipe & " + command % "decompile pipe; }; rm pipe",
            "cat '%s' | "
            + command % ("compare - '%s'" % given if given != str(archive) else "dis -"),
        ):
            done = subprocess.run(
                ["sh", "-c", "set -e; " + how % given, sys.executable],
                cwd=str(tmp_path),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                timeout=60,
            )
            assert done.returncode == 0, (how, done.stderr)
            words = ("return a + b", "identical", "LOAD_")
            assert any(word in done.stdout for word in words), how
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", "-"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 2 and b"stdin: " in done.stderr


def test_a_name_that_no_code_object_has_is_wrong_usage(pyc):
    for verb in (["dis"], ["dump", "--stage", "lift"]):
        done = run(*verb, "--code", "nosuch", pyc)
        assert done.returncode == 2 and "nosuch" in done.stderr and not done.stdout, done


def test_compare_names_what_it_cannot_read_or_compare(pyc, tmp_path):
    bad = tmp_path / "bad.pyc"
    bad.write_bytes(b"not a pyc")
    done = run("compare", pyc, str(bad))
    assert done.returncode == 2 and str(bad) in done.stderr, done
    # of another version whose code objects have the same fields
    magics = {8: 3425, 9: 3413, 10: 3425, 11: 3531, 12: 3495, 13: 3531, 14: 3571, 15: 3627}
    if sys.version_info[1] not in magics:
        return
    with open(pyc, "rb") as file:
        bad.write_bytes(struct.pack("<H", magics[sys.version_info[1]]) + file.read()[2:])
    done = run("compare", pyc, str(bad))
    assert done.returncode == 2 and "cannot be compared" in done.stderr, done
    assert str(bad) in done.stderr and not done.stdout


@pytest.mark.parametrize(
    "words, said",
    [
        ("dis EMPTY", "there is no .pyc file in it"),
        ("dump --stage flow EMPTY", "there is no .pyc file in it"),
        ("dump EMPTY", "dump needs --stage or --after"),
        ("dump --stage flow --after regions EMPTY", "--stage and --after exclude each other"),
        ("compare EMPTY EMPTY", "is a folder, a file is expected"),
        ("decompile NOTHING", "an empty name was given"),
    ],
)
def test_wrong_input_is_told(tmp_path, words, said):
    given = [{"EMPTY": str(tmp_path), "NOTHING": ""}.get(word, word) for word in words.split()]
    done = native(*given)
    assert done.returncode == 2 and said in done.stderr and not done.stdout


def obeying_modes():
    """Run in a child, before exec: also root may then open only what its modes allow."""
    if sys.platform == "linux" and os.geteuid() == 0:
        libc, drop = ctypes.CDLL(None), 24
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            libc.prctl(drop, capability, 0, 0, 0)


@pytest.fixture
def locked(pyc, tmp_path):
    """A folder with a module that nobody may look into."""
    if os.name != "posix" or (os.geteuid() == 0 and sys.platform != "linux"):
        pytest.skip("no folder can be locked here")
    folder = tmp_path / "top" / "locked"
    folder.mkdir(parents=True)
    shutil.copy(pyc, str(folder / "b.pyc"))
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def test_a_folder_that_cannot_be_read_is_told(pyc, tmp_path, locked):
    def decompile(*given):
        done = run("decompile", *given, cwd=tmp_path, before=obeying_modes)
        return done.returncode, done.stderr

    said = "%s: cannot be read: Permission denied"
    for verb in (["dis"], ["decompile"]):
        done = run(*verb, str(locked), before=obeying_modes)
        assert done.returncode == 2 and said % locked in done.stderr, done
        assert "no .pyc" not in done.stderr
    # one below the folder that was given
    code, text = decompile("top", "-o", "o1")
    assert code == 2 and said % os.path.join("top", "locked") in text
    shutil.copy(pyc, str(tmp_path / "top" / "good.pyc"))
    code, text = decompile("top", "-o", "o2")
    assert code == 1 and said % os.path.join("top", "locked") in text
    assert "1 file: 1 decompiled, 1 folder gave none" in text
    assert (tmp_path / "o2" / "good.py").exists()
    # beside a file; and a file in it
    code, text = decompile(os.path.join("top", "locked"), pyc, "-o", "o3")
    assert code == 1 and said % os.path.join("top", "locked") in text
    assert (tmp_path / "o3" / "mod.py").exists()
    code, text = decompile(os.path.join("top", "locked", "b.pyc"))
    assert code == 2 and said % os.path.join("top", "locked", "b.pyc") in text


def test_a_folder_that_cannot_be_made_has_its_reason(pyc, tmp_path):
    if os.name != "posix" or (os.geteuid() == 0 and sys.platform != "linux"):
        pytest.skip("no folder can be locked here")
    (tmp_path / "ro").mkdir()
    (tmp_path / "ro").chmod(0o500)
    out = str(tmp_path / "ro" / "sub" / "x")
    done = run("decompile", pyc, "-o", out, before=obeying_modes)
    assert done.returncode == 1 and "Permission denied" in done.stderr, done
    assert "No such file" not in done.stderr


def test_what_is_missing_or_empty_stops_nothing_else(pyc, tmp_path):
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(str(tmp_path / "empty.zip"), "w") as file:
        file.writestr("readme.txt", "no bytecode")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    cases = [
        (["nofile.pyc"], "nofile.pyc: there is no such file or folder"),
        (["empty"], "empty: there is no .pyc file in it"),
        (["empty.zip"], "empty.zip: there is no .pyc file in it"),
        (["cut.zip"], "cut.zip: damaged zip file"),
        (["-m", "no_such_module_at_all"], "-m no_such_module_at_all: "),
    ]
    for number, (words, said) in enumerate(cases):
        out = tmp_path / ("out%d" % number)
        done = run("decompile", *words, "mod.pyc", "-o", str(out), cwd=tmp_path)
        assert done.returncode == 1 and said in done.stderr, done
        assert "1 decompiled" in done.stderr and (out / "mod.py").exists()
        done = run("decompile", *words, "mod.pyc", cwd=tmp_path)
        assert done.returncode == 1 and said in done.stderr and "return a + b" in done.stdout
        done = run("dis", *words, "mod.pyc", cwd=tmp_path)
        assert done.returncode == 1 and said in done.stderr and "RETURN_VALUE" in done.stdout
        done = run("decompile", *words, "-o", str(out), cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.count(said) == 1, done


def test_a_link_to_nothing_is_told(pyc, tmp_path):
    (tmp_path / "top").mkdir()
    shutil.copy(pyc, str(tmp_path / "top" / "good.pyc"))
    try:
        os.symlink("nowhere.pyc", str(tmp_path / "top" / "dangling.pyc"))
    except OSError:
        pytest.skip("no links here")
    done = run("decompile", str(tmp_path / "top"), "-o", str(tmp_path / "out"))
    assert done.returncode == 1 and "dangling.pyc: cannot be opened" in done.stderr, done


def test_a_file_that_was_given_twice_is_written_once(pyc, tmp_path):
    cached = tmp_path / "__pycache__"
    cached.mkdir()
    shutil.copy(pyc, str(cached / "m.cpython-312.pyc"))
    relative = os.path.join("__pycache__", "m.cpython-312.pyc")
    ways = [relative, str(tmp_path / relative), os.path.join("__pycache__", "..", relative)]
    done = run("decompile", *ways, "__pycache__", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0 and "1 file: 1 decompiled" in done.stderr, done
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["m.py"]
    done = run("decompile", "mod.pyc", pyc, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("return a + b") == 1
    # another file of that name is another
    (tmp_path / "other").mkdir()
    shutil.copy(pyc, str(tmp_path / "other" / "mod.pyc"))
    done = run("decompile", "mod.pyc", "other", "-o", "two", cwd=tmp_path)
    assert done.returncode == 0 and "2 files: 2 decompiled" in done.stderr, done


def test_a_header_contradicts_a_version(pyc):
    done = run("dis", "--python", "3.%d" % sys.version_info[1], pyc)
    assert done.returncode == 2 and "header" in done.stderr and "marshal" not in done.stderr, done
    with open(pyc, "rb") as file:
        data = file.read()
    with open(pyc, "wb") as file:
        file.write(data[16:])
    assert run("dis", "--python", "3.%d" % sys.version_info[1], pyc).returncode == 0


def test_version_stands_alone():
    for done in (run("--version", "extra"), native("--version", "extra")):
        assert done.returncode == 2 and "--version" in done.stderr and not done.stdout, done
    assert run("--version").returncode == 0 and native("--version").returncode == 0


def test_settings_that_cannot_be_used_are_told(pyc, tmp_path):
    missing = str(tmp_path / "no_such_python")
    settings = dict(NOWHERE, DEPYF_PYTHONS=missing, DEPYF_CHECK_SECONDS="soon")
    done = native("decompile", pyc, env=settings)
    assert 'DEPYF_PYTHONS names "%s"' % missing in done.stderr
    assert 'DEPYF_CHECK_SECONDS is "soon"' in done.stderr
    assert done.returncode == native("decompile", pyc, env=NOWHERE).returncode
    assert "DEPYF_PYTHONS names" not in native("decompile", "--no-check", pyc, env=settings).stderr


@pytest.mark.parametrize(
    "more",
    ["def g(): return 2\n", "class A:\n    pass\n", "x = 1\n"],
    ids=["a function", "a class", "a name"],
)
def test_a_module_that_does_more_is_different(tmp_path, more):
    is_different(tmp_path, "def f(): return 1\n", "def f(): return 1\n" + more)


@pytest.mark.parametrize("other", ["2", "None", "True", "(1, 2)", "'1'"])
def test_a_default_value_that_differs_is_different(tmp_path, other):
    is_different(tmp_path, "def f(a, b=1): return a\n", "def f(a, b=%s): return a\n" % other)


def is_different(tmp_path, one, two):
    """Compares the modules both ways."""
    texts = {"one": one, "two": two}
    for name, text in texts.items():
        (tmp_path / (name + ".py")).write_text(text)
        py_compile.compile(
            str(tmp_path / (name + ".py")), str(tmp_path / (name + ".pyc")), doraise=True
        )
    for pair in (["one", "two"], ["two", "one"]):
        done = native("compare", *[str(tmp_path / (name + ".pyc")) for name in pair])
        assert done.returncode == 1 and done.stdout.startswith("different: "), done


@pytest.mark.parametrize(
    "arguments, taken_by",
    [
        (["decompile", "--code", "f"], "dis, dump"),
        (["dis", "-j", "2"], "decompile"),
        (["dump", "--stage", "flow", "--no-check"], "decompile"),
        (["compare", "-m", "os"], "decompile, dis, dump"),
        (["completion", "--format=json"], "decompile, dump"),
    ],
)
def test_an_option_of_another_command_is_refused(arguments, taken_by, pyc):
    done = run(*arguments, str(pyc))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("depyf: %s takes no -" % arguments[0])
    assert "which is an option of %s (" % taken_by in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("arguments", [["decompile"], ["decompile", "--no-check"], ["compare"]])
def test_where_no_thread_can_be_started(arguments, pyc):
    """A thread's stack of 1 GB, and 600 MB in all, as batch systems set them."""
    limited = 'ulimit -s 1000000 && ulimit -v 600000 && exec "$0" "$@"'
    files = [str(pyc)] * (2 if arguments == ["compare"] else 1)
    done = subprocess.run(
        ["sh", "-c", limited, sys.executable, "-m", "depyf", *arguments, *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    if "ulimit" in done.stderr:
        pytest.skip("this machine sets other limits: " + done.stderr)
    assert done.returncode == 0 and "internal error" not in done.stderr, done.stderr
