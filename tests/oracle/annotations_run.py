"""Random annotations under `from __future__ import annotations`: is each kept as the same text?

CPython stores such an annotation as a text that it writes itself, which is not always source of
that text. This compiles random ones, decompiles the module, compiles what came back and compares
the stored texts, one by one.

    python annotations_run.py [--seed N] [--count N] [VERSION...]
            e.g. 3.8 3.14; all that are found if none
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from interpreters import interpreters, native_command  # noqa: E402

# Runs under the interpreter: keeps the annotations that compile; prints what a module stores.
CHILD = """
import importlib.util, json, marshal, sys, warnings
warnings.simplefilter("ignore")
FUTURE = "from __future__ import annotations\\n"
def code_of(text):
    try:
        return compile(text, "x.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
def stored(code):
    names = {"x%d" % i for i in range(10000)}
    return sorted(c for c in code.co_consts if isinstance(c, str) and c not in names)
if sys.argv[1] == "make":
    with open(sys.argv[2]) as f:
        lines = f.read().split("\\n")
    lines = [line for line in lines if code_of(FUTURE + "x: " + line)]
    text = FUTURE + "".join("x%d: %s\\n" % (i, line) for i, line in enumerate(lines))
    with open(sys.argv[3], "wb") as f:
        f.write(importlib.util.MAGIC_NUMBER + b"\\0" * 12 + marshal.dumps(code_of(text)))
    print(json.dumps([lines, stored(code_of(text))]))
else:
    with open(sys.argv[2], "rb") as f:
        lines = f.read().decode().split("\\n")
    broken = [line for line in lines if line.startswith("x") and not code_of(FUTURE + line)]
    code = code_of("\\n".join(line for line in lines if line not in set(broken)))
    print(json.dumps([broken, stored(code)]))
"""

ATOMS = [
    "a",
    "b.c",
    "1",
    "-1",
    "1.5",
    "1e400",
    "2j",
    '"s"',
    "'q\"t'",
    '"it\'s"',
    'b"x"',
    "...",
    "None",
    "()",
    "[]",
    "{}",
    '"\\n"',
    "'\\\\'",
    "'é'",
]
# `@` stands for an expression in parentheses, `#` for the parts of an f-string.
FORMS = """
(@)[@]|(@)[@, @]|(@)[(@, @)]|(@)[@:@]|(@)[@:@, @]|(@)[@,]|[@]|[(@, @)]|(@, @)|(@,)|{@}|{@: @}|{**@}|[*@]
@(@)|@(@, *@, k=@, **@)|@(@ for x in @)|[@ for x in @ if @]|{@: @ for x, y in @}|(@).n|@ + @|@ ** @|@ and @
@ not in @|@ < @ < @|-@|not @|@ if @ else @|lambda: @|lambda a, b=@, *c, d=@, **k: @|@ in {1, 2}|@ in [1, 2]
f"#"|f'''#'''|f"#" "text"|(@)[(y := @)]|(y := @)|(@)[*@]|t"#"
""".replace("\n", "|").strip("|")


def expression(rng, depth):
    if depth <= 0 or rng.random() < 0.1:
        return rng.choice(ATOMS)
    out = ""
    for c in rng.choice(FORMS.split("|")):
        if c == "@":
            out += "(%s)" % expression(rng, depth - 1)
        elif c == "#":
            out += fields(rng, min(depth - 1, 1))
        else:
            out += c
    return out


def fields(rng, depth):
    out = ""
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.4:
            out += rng.choice(["x", "'", "{{", "}}", " ", "\\n"])
        else:
            inner = expression(rng, depth)
            form = rng.choice(["", "!r", "!s"]) + rng.choice(["", "", ":>3", ":{a}"])
            out += "{ (%s)%s}" % (inner, form)
    return out


def run(minor, seed, count):
    """(how many texts, those that did not come back) of one version."""
    import json

    rng = random.Random(seed)
    python = interpreters()[minor]
    with tempfile.TemporaryDirectory() as folder:
        source, pyc = os.path.join(folder, "in.txt"), os.path.join(folder, "x.pyc")
        out = os.path.join(folder, "x.py")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(expression(rng, rng.randint(1, 3)) for _ in range(count)))
        environment = dict(os.environ, PYTHONUTF8="1", PYTHONHASHSEED="0")

        def child(*arguments):
            text = subprocess.run(
                [python, "-c", CHILD] + list(arguments),
                stdout=subprocess.PIPE,
                check=True,
                env=environment,
                timeout=300,
            ).stdout
            return json.loads(text)

        _, texts = child("make", source, pyc)
        command = [native_command(), "decompile", "--no-check", pyc]
        with open(out, "wb") as file:
            subprocess.run(command, stdout=file, check=True, timeout=300)
        broken, again = child("read", out)
        return len(texts), broken + sorted(set(texts) - set(again))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("versions", nargs="*")
    options = parser.parse_args()
    minors = [int(v.split(".")[1]) for v in options.versions] or sorted(interpreters())
    failed = False
    for minor in minors:
        total, lost = run(minor, options.seed, options.count)
        print("3.%d: %d texts, %d lost" % (minor, total, len(lost)))
        for text in lost[:10]:
            print("    " + text)
        failed = failed or bool(lost)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
