"""Generators and coroutines that are rebuilt from their bytes (L6): the text delegates to them, so a
proof holds only where no caller can tell, whatever it throws in.
"""

import random
import subprocess
import sys

import pytest
import pythons

VERSIONS = ["3.8", "3.10", "3.11", "3.12", "3.14"]

# compiles one file, in which `odd` becomes a name that no source can hold: a function that stores to
# it and asks for its locals has only bytes
COMPILED = """
import ast, importlib.util, marshal, sys
class Renamed(ast.NodeTransformer):
    def visit_Name(self, node):
        if node.id == "odd": node.id = "if"
        return node
code = compile(Renamed().visit(ast.parse(open(sys.argv[1]).read())), "m.py", "exec")
with open(sys.argv[2], "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


def rebuilt(version, folder, program):
    """The program, what the command says of it where it has only bytes."""
    source, compiled = folder / "m.py", folder / "m.pyc"
    source.write_text(program.replace(":\n", ":\n    odd = locals()\n", 1))
    python = pythons.path_of(version)
    subprocess.run([python, "-c", COMPILED, str(source), str(compiled)], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", str(compiled)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    # What is not proven with its bytes either stays plain.
    assert done.returncode == (0 if "rebuilds it from its bytes" in done.stdout else 1), done.stderr
    return done


HANDLERS = {
    "except": "    try:\n        %s\n    except GeneratorExit:\n        return 1",
    "bare": "    try:\n        %s\n    except:\n        pass",
    "finally": "    try:\n        %s\n    finally:\n        return 1",
    "with": "    with c:\n        %s",
    "handled": "    try:\n        g()\n    except E:\n        %s",
}


@pytest.mark.parametrize("handler", sorted(HANDLERS))
@pytest.mark.parametrize(
    "head, stop", [("def", "yield x"), ("async def", "await x"), ("def", "yield from x")]
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_around_a_stop_is_not_proven(version, head, stop, handler, tmp_path):
    said = rebuilt(version, tmp_path, "%s f(x):\n%s\n" % (head, HANDLERS[handler] % stop))
    assert said.returncode == 1, said.stderr


@pytest.mark.parametrize("stop", ["return (yield from x)", "await x", "async for y in x: pass"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_delegated_to_may_raise_when_it_is_closed(version, stop, tmp_path):
    head = "def" if "yield" in stop else "async def"
    said = rebuilt(version, tmp_path, "%s f(x):\n    %s\n" % (head, stop))
    assert said.returncode == 1, said.stderr


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    for y in x:\n        z = yield y\n    return z\n",
        "async def f(x):\n    return x\n",
        "async def f(x):\n    try:\n        return g(x)\n    except E:\n        return 1\n",
        # An async generator is handed out as it is.
        "async def f(x):\n    try:\n        yield await x\n    except GeneratorExit:\n        return\n",
        "def f(x):\n    try:\n        return g(x)\n    except GeneratorExit:\n        return 1\n",
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_without_them_it_is_proven(version, program, tmp_path):
    said = rebuilt(version, tmp_path, program)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("version", ["3.8", "3.10"])
def test_it_counts_where_plain_source_needs_the_form(version, tmp_path):
    loop = "def f():\n    for x in {-1, -2, 7}:\n"
    said = rebuilt(version, tmp_path, loop + "        yield x\n")
    assert said.returncode == 0, said.stderr
    said = rebuilt(
        version,
        tmp_path,
        loop
        + "        try:\n            yield x\n        except GeneratorExit:\n            return\n",
    )
    assert said.returncode == 1, said.stderr


# ---------------------------------------------------------------- drawn at random


def statement(rng, depth, coroutine):
    """Lines of one statement."""
    stop = "r = await P(%d)" if coroutine else rng.choice(("r = yield %d", "r = yield from P(%d)"))
    kind = rng.choice(("stop", "stop", "note", "raise", "loop", "try", "try", "with", "return"))
    if depth == 0 and kind in ("loop", "try", "with"):
        kind = "stop"
    number = rng.randrange(100)
    if kind == "stop":
        return [stop % number]
    if kind == "note":
        return ["note(%d)" % number]
    if kind == "raise":
        names = ("E", "StopIteration", "GeneratorExit", "ValueError")
        return ["if number(%d): raise %s(%d)" % (number, rng.choice(names), number)]
    if kind == "return":
        return ["if number(%d): return %d" % (number, number)]

    def inner():
        lines = [
            one for _ in range(rng.randrange(1, 3)) for one in statement(rng, depth - 1, coroutine)
        ]
        return ["    " + one for one in lines]

    if kind == "loop":
        return ["for i in range(2):"] + inner()
    if kind == "with":
        return ["with C(%d):" % number] + inner()
    end = rng.choice(("except GeneratorExit as e:", "except:", "except E as e:", "finally:"))
    return ["try:"] + inner() + [end] + inner()


def program(rng):
    coroutine = rng.random() < 0.4
    handlers = rng.random() < 0.5
    lines = []
    while len(lines) < 3:
        lines += statement(rng, 2 if handlers else 0, coroutine)
    if not coroutine and rng.random() < 0.7:  # without a delegation
        lines = [one.replace("yield from P", "yield ") for one in lines]
    lines += [] if coroutine else ["yield"]
    return "%s f():\n    r = None\n%s\n" % (
        "async def" if coroutine else "def",
        "\n".join("    " + one for one in lines),
    )


# Prints what each of the pairs of texts, on lines of their own as repr, does otherwise.
DRIVEN = """
import ast, random, sys, warnings
warnings.simplefilter("ignore")
class E(Exception): pass

def chain(error):
    shown = []
    while error is not None and len(shown) < 6:
        shown.append((type(error).__name__, repr(error.args)))
        error = error.__context__
    return shown

def behaviour(text, seed):
    log, answers, rng = [], random.Random(seed), random.Random(seed + 1)
    class C:
        def __init__(self, n): self.n = n
        def __enter__(self): return self
        def __exit__(self, kind, value, trace):
            log.append(("exit", self.n, chain(value)))
            return self.n % 2 == 0
    class P:
        def __init__(self, n): self.n, self.left = n, 2
        def __iter__(self): return self
        __await__ = __iter__
        def __next__(self):
            self.left -= 1
            if self.left < 0: raise StopIteration(self.n)
            return self.n
        def close(self):
            log.append(("close", self.n))
            if self.n % 3 == 0: raise (GeneratorExit, StopIteration, E)[self.n // 3 % 3](self.n)
    def number(n):
        return answers.random() < 0.2
    names = {"E": E, "C": C, "P": P, "number": number, "note": log.append}
    exec(compile(text, "m.py", "exec"), names)
    made = names["f"]()
    for _ in range(6):
        what = rng.choice(("next", "next", "send", "throw", "close"))
        try:
            if what == "throw":
                kind = rng.choice((GeneratorExit, GeneratorExit, E, ValueError, StopIteration))
                got = made.throw(kind("thrown"))
            elif what == "close":
                got = made.close()
            else:
                got = made.send(None if what == "next" else 5)
            log.append((what, got))
        except BaseException as error:
            log.append((what, chain(error)))
    try:
        made.close()
    except BaseException as error:
        log.append(chain(error))
    return log

for line in sys.stdin:
    pair = ast.literal_eval(line)
    for seed in range(40):
        logs = [behaviour(text, seed) for text in pair]
        if logs[0] != logs[1]:
            print("\\n".join((pair[0], repr(logs[0]), repr(logs[1]))))
            break
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_drawn_generators_that_are_proven_do_the_same_whatever_is_thrown_in(version, tmp_path):
    rng, proven, refused = random.Random("rebuilt"), [], []
    for _ in range(24):
        source = program(rng)
        said = rebuilt(version, tmp_path, source)
        if said.returncode:
            stop = "await" if "async" in source else "yield from"
            around = source[: source.index("\n")] + "\n    return (%s g())\n" % stop
            refused.append((source, source.replace("f()", "g()", 1) + around))
        else:
            proven.append((source, said.stdout))
    assert len(proven) >= 4, len(proven)

    def otherwise(pairs):
        lines = "".join("%r\n" % (pair,) for pair in pairs)
        python = pythons.path_of(version)
        return subprocess.check_output([python, "-c", DRIVEN], input=lines, universal_newlines=True)

    assert otherwise(proven) == ""
    assert otherwise(refused) != ""  # the drive tells what delegates from what does not
