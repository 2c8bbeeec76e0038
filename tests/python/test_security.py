"""What docs/security.md promises and no other test shows."""

import ast
import os
import random
import subprocess
import sys
import warnings

import depyf
import pytest
import pythons
from depyf import files, terminal

_PACKAGE = os.path.dirname(os.path.abspath(files.__file__))

#: file -> calls that run or import what is named at run time, and why that is no input's
_KNOWN = {
    ("launch/program.py", "exec"),  # `depyf run`: the program that the user gave to be run
    ("__init__.py", "import_module"),  # depyf's own modules, from a table
    ("explain/__init__.py", "import_module"),  # depyf's own modules, two names
    ("launch/program.py", "runpy"),  # finds the module of `depyf run -m`, which the user asks for
    ("torch/debug.py", "exec"),  # a constant text, placed at the user's line for breakpoint()
    ("torch/fullcode/linking.py", "import_module"),  # written into a file that the user may run
}


def risky_calls(path, name):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            attribute = getattr(node.func, "attr", "")
            if called in ("eval", "exec", "__import__"):
                yield name, called
            if attribute in ("import_module", "run_path", "run_module"):
                yield name, attribute
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [one.name for one in node.names] + [getattr(node, "module", None)]
            for one in names:
                if one in ("pickle", "marshal", "shelve", "dill", "runpy"):
                    yield name, one


def test_nothing_of_the_input_is_run_or_imported():
    found = set()
    for folder, _, names in os.walk(_PACKAGE):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                short = os.path.relpath(path, _PACKAGE).replace(os.sep, "/")
                found.update(risky_calls(path, short))
    # marshal writes a code object for the core to read, it reads nothing
    assert {one for one in found if one != ("cli.py", "marshal")} == _KNOWN


@pytest.mark.skipif(not hasattr(os, "symlink") or sys.platform == "win32", reason="no links")
def test_a_link_in_a_dumps_place_is_replaced_and_not_followed(tmp_path):
    victim, link = tmp_path / "victim", tmp_path / "README.md"
    victim.write_text("mine")
    os.symlink(str(victim), str(link))
    files.write_atomically(str(link), "dump")
    assert victim.read_text() == "mine"
    assert link.read_text() == "dump" and not link.is_symlink()
    assert sorted(os.listdir(str(tmp_path))) == ["README.md", "victim"]


@pytest.mark.parametrize(
    "text", ["\033[31mred", "\033]8;;http://x\007", "a\rb", "\u202eabc", "\x9b1m"]
)
def test_what_is_printed_moves_no_cursor(text):
    shown = terminal.shown(text)
    assert not any(ord(one) < 32 or 0x7F <= ord(one) < 0xA0 or one == "\u202e" for one in shown)


def test_a_function_with_escapes_in_its_names_and_strings_prints_none(tmp_path):
    script = tmp_path / "hostile.py"
    script.write_text(
        "import depyf\n"
        "def f(x):\n"
        "    return x.attribute, '\\033[31m', b'\\x9b', x\n"
        "replaced = f.__code__.replace(co_name='\\033[31mred', co_names=('\\033]0;title\\007',))\n"
        "print(depyf.decompile(replaced))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert b"\033" not in done.stdout and b"\x9b" not in done.stdout
    assert b"\033" not in done.stderr.replace(b"\\033", b"")


#: what moves a cursor, begins a control sequence (ESC, CSI), turns the direction of text or ends a line
HOSTILE = ["\x1b[2J", "\x9b2J", "\u202e", "\u2028", "\r", "\x00", "\x7f", "\nall fine"]


def _renamed(code, names):
    """The code with other names of locals, cells and functions, its own code objects too."""

    def of(group):
        return tuple(names.get(one, one) for one in group)

    new = dict(
        co_name=names.get(code.co_name, code.co_name),
        co_varnames=of(code.co_varnames),
        co_cellvars=of(code.co_cellvars),
        co_freevars=of(code.co_freevars),
        co_consts=tuple(
            _renamed(one, names)
            if hasattr(one, "co_code")
            else names.get(one, one)
            if type(one) is str
            else one
            for one in code.co_consts
        ),
    )
    if hasattr(code, "co_qualname"):
        new["co_qualname"] = names.get(code.co_name, code.co_qualname)
    return code.replace(**new)


@pytest.mark.skipif(sys.version_info < (3, 8), reason="code.replace")
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_names_of_the_input_cannot_steer_the_terminal(tmp_path, text):
    import importlib.util
    import marshal

    source = (
        "def outer():\n    def inner():\n        nonlocal kept\n        kept = 2\n"
        "    kept = 1\n    inner()\n    try:\n        kept\n    except E as caught:\n        pass\n"
        "    return kept\n"
    )
    names = {one: text + one for one in ("outer", "inner", "kept", "caught")}
    code = _renamed(compile(source, "q", "exec"), names)
    path = tmp_path / "q.pyc"
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    known = set(" \n\t")
    for verb in (["decompile"], ["dis"], ["dump", "--stage", "lift"], ["compare", str(path)]):
        done = subprocess.run(
            [sys.executable, "-m", "depyf"] + verb + [str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for said in (done.stdout, done.stderr):
            said = said.decode("utf-8")
            assert not [one for one in said if not one.isprintable() and one not in known], said
        lines = done.stderr.decode("utf-8").splitlines()
        assert not [one for one in lines if one.startswith("all fine")], lines


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("verb", [["decompile"], ["dis"], ["dump", "--stage", "lift"]])
def test_output_that_cannot_be_written_is_no_success(tmp_path, verb):
    import py_compile

    source, path = tmp_path / "q.py", tmp_path / "q.pyc"
    source.write_text("def f(x):\n    return x\n")
    py_compile.compile(str(source), str(path))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "depyf"] + verb + [str(path)],
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert b"standard output cannot be written" in done.stderr


#: what a text of the file may hold where the compiler puts the source of an annotation
PIECES = ("int", "evil()", "=", ":", ";", "\n", "(", ")", "[", "]", ",", " ", "#", "'", '"', "f'")
PIECES += ("{", "}", "lambda", "\\", "def g", "->", "yield", "*", "if", "else", "pass", "3")


@pytest.mark.parametrize("source", ["x: QQ", "class C:\n x: QQ", "def f(a: QQ, *b, c=1) -> QQ: 0"])
def test_a_text_in_an_annotations_place_is_not_run(source):
    """`from __future__ import annotations` makes texts of annotations; a file may hold any text."""
    seed = random.randrange(10**6)
    draw = random.Random(seed)
    for _ in range(400):
        between, after = (draw.choices(PIECES, k=draw.randrange(count)) for count in (4, 3))
        text = "".join([draw.choice(["int", "a[0]", "'x'"]), *between, "evil()", *after])
        tree = ast.parse("from __future__ import annotations\n" + source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "QQ":
                node.id = text
        printed = str(depyf.decompile(compile(tree, "m.py", "exec"), check=False))
        called = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                exec(printed, {"evil": lambda: called.append(text), "__name__": "m"})
        except (SyntaxError, NameError):  # `a if b` is no annotation
            pass
        assert not called, (seed, text, printed)


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_the_text_of_a_t_strings_field_is_not_run_in_place_of_its_value(version, tmp_path):
    program = (
        "import ast, marshal, sys, importlib.util as util\n"
        "tree = ast.parse('x = 1\\ny = t\"{x}\"')\n"
        "for node in ast.walk(tree):\n"
        "    if isinstance(node, ast.Interpolation): node.str = sys.argv[2]\n"
        "code = marshal.dumps(compile(tree, 'm.py', 'exec'))\n"
        "open(sys.argv[1], 'wb').write(util.MAGIC_NUMBER + bytes(12) + code)\n"
    )
    kept = {"x": True, " x ": True, "(x)": True, "evil()": False, "x()": False, "y": False}
    for text, keeps in kept.items():
        path = tmp_path / "m.pyc"
        subprocess.run([pythons.path_of(version), "-c", program, path, text], check=True)
        done = pythons.native("decompile", "--no-check", str(path))
        assert "y = t'{%s}'" % (text if keeps else "x") in done.stdout, done.stdout
