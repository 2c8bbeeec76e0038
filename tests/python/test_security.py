"""What docs/security.md promises and no other test shows."""

import ast
import os
import subprocess
import sys

import pytest
from depyf import files, terminal

_PACKAGE = os.path.dirname(os.path.abspath(files.__file__))

#: file -> calls that run or import what is named at run time, and why that is no input's
_KNOWN = {
    ("launch.py", "exec"),  # `depyf run`: the program that the user gave to be run
    ("__init__.py", "import_module"),  # depyf's own modules, from a table
    ("torch/fullcode.py", "import_module"),  # written into a file that the user may run
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
