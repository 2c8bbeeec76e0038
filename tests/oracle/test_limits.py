"""Code whose printed form would go beyond what CPython's parser and compiler take: it must compile,
and do the same.

The syntax trees are built here, because no source text could say them: brackets nested more than
200 deep, 100 levels of indentation, definitions within definitions.
"""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import interpreters, native_command  # noqa: E402

BUILD = r"""
import ast, importlib.util, marshal, sys
def function(body):
    module = ast.parse("def f(a):\n    pass\n")
    module.body[0].body = body
    return ast.fix_missing_locations(module)
def name(text): return ast.Name(text, ast.Load())
def nest(wrap, n):
    e = name("a")
    for i in range(n): e = wrap(e, i)
    return [ast.Return(e)]
def ifs(n):
    body = [ast.parse("t.append('in')").body[0]]
    for i in range(n):
        s = ast.parse("if t: pass\nelse: t.append('no')").body[0]
        s.body = body
        body = [s, ast.parse("t.append(%d)" % i).body[0]]
    return body
def defs(n):
    body = [ast.parse("t.append('in')").body[0]]
    for i in range(n):
        f = ast.parse("def g%d(): pass" % i).body[0]
        f.body = body
        body = [f, ast.parse("g%d()" % i).body[0]]
    return body
trees = {
    "ifs": ifs(150),
    "definitions": defs(120),
    "tuples": nest(lambda e, i: ast.Tuple([e, name("b")], ast.Load()), 250),
    "right": nest(lambda e, i: ast.BinOp(name("b"), ast.Sub(), e), 400),
    "left": nest(lambda e, i: ast.BinOp(e, ast.Sub(), name("b")), 400),
    "calls": nest(lambda e, i: ast.Call(name("g"), [e], []), 250),
    "conditional": nest(lambda e, i: ast.IfExp(name("b" if i % 3 else "z"), e, name("b")), 250),
    "boolean": nest(lambda e, i: ast.BoolOp(ast.Or() if i % 2 else ast.And(), [name("b" if i % 2 == 0 else "z"), e]), 250),
    "lambdas": nest(lambda e, i: ast.Call(ast.parse("lambda: 0", mode="eval").body, [], []) if i == 0 else ast.UnaryOp(ast.USub(), e), 250),
}
for key, tree in trees.items():
    with open("%s/%s.pyc" % (sys.argv[1], key), "wb") as f:
        f.write(importlib.util.MAGIC_NUMBER + b"\0" * 12 + marshal.dumps(compile(function(tree), "limits.py", "exec")))
"""

RUN = r"""
import marshal, sys
def flat(x):
    out = []
    while isinstance(x, tuple) and len(x) == 2:
        out.append(x[1])
        x = x[0]
    return x, out
def outcome(code):
    t = [1]
    space = {"t": t, "b": 3, "z": 0, "g": lambda x: x + 1}
    exec(code, space)
    return flat(space["f"](5)), t
with open(sys.argv[1], "rb") as f:
    before = outcome(marshal.loads(f.read()[16:]))
with open(sys.argv[2], encoding="utf-8") as f:
    after = outcome(compile(f.read(), "printed.py", "exec"))
assert before == after, (before, after)
"""


@pytest.mark.parametrize("minor", sorted(interpreters()))
def test_limits_of_the_parser(minor, tmp_path):
    python = interpreters()[minor]
    subprocess.run([python, "-c", BUILD, str(tmp_path)], check=True)
    names = sorted(name for name in os.listdir(str(tmp_path)) if name.endswith(".pyc"))
    assert len(names) == 9
    for name in names:
        pyc, source = str(tmp_path / name), str(tmp_path / (name[:-4] + ".py"))
        printed = subprocess.run(
            [native_command(), "decompile", "--no-check", pyc],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        with open(source, "wb") as f:
            f.write(printed.stdout)
        run = subprocess.run(
            [python, "-c", RUN, pyc, source],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )
        assert run.returncode == 0, "%s under 3.%d:\n%s" % (name, minor, run.stdout[-2000:])


# How often each may stand in itself: about what the parser of each version takes.
DEEP = {
    "call": ("f(", "1", ")"),
    "list": ("[", "y", "]"),
    "subscript": ("a[", "y", "]"),
    "keyword": ("f(a=", "1", ")"),
    "brackets": ("1 - (", "y", ")"),
    "choice": ("a if b else ", "c", ""),
    "power": ("a ** ", "c", ""),
}


@pytest.mark.parametrize("minor", sorted(interpreters()))
def test_what_the_parser_takes_is_proven(minor, tmp_path):
    brackets = 79 if minor == 7 else 89 if minor == 8 else 190
    for name, (begin, middle, end) in DEEP.items():
        times = brackets if end else 500
        text = "x = " + begin * times + middle + end * times + "\n"
        with open(str(tmp_path / (name + ".py")), "w") as f:
            f.write(text)
    python = interpreters()[minor]
    subprocess.run([python, "-m", "compileall", "-q", "-b", str(tmp_path)], check=True)
    paths = [str(tmp_path / (name + ".pyc")) for name in sorted(DEEP)]
    done = subprocess.run(
        [native_command(), "decompile", *paths, "-o", str(tmp_path / "out")],
        env=dict(os.environ, DEPYF_PYTHONS=python),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert "%d proven" % len(DEEP) in done.stderr, done.stderr[-2000:]
    assert "__temp" not in done.stderr, done.stderr[-2000:]
