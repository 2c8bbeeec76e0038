"""Every construct in every context, and in every two of them: what follows it, what it stands in,
and what protects it.

Random programs meet a pair of these seldom. Each is an asynchronous function of its own, whose
names mean nothing: it is decompiled, and must be plain and proven. Runs under any CPython from 3.7
on.

    python3.X contexts_run.py DEPYF [DEPTH]     DEPYF is the native command; DEPTH: contexts in one
                                                another, 1 or 2

Prints what was not plain or not proven, and fails where there is any at depth 1. Depth 2 has 66,000
functions (3.11+).
"""

import itertools
import os
import py_compile
import subprocess
import sys
import tempfile
import textwrap
import warnings

CONSTRUCTS = {
    7: r"""
f(x)
---
return f(x)
---
return
---
raise E(x)
---
y = f(x)
---
x += f(y)
---
del x
---
await f(x)
---
y = await f(x)
---
yield_ = f(x)
---
x and f(y)
---
y = x if z else f(y)
---
f(x, 's' if y else 's')
---
f(*('s', None), k=x if y else z)
---
return f(*('s', None), k=x < y < 2)
---
y, z = x < c < 2
---
y = z = x if c else f(y)
---
x, *y = x and (c < f(y) < 2)
---
return x and f(y)
---
return x if z else y
---
assert x, y
---
y = [a for a in x if a]
---
y = [a async for a in x if a]
---
return [f(a) async for a in x]
---
[f(a) for a in x]
---
y = {a: b for a in x for b in a}
---
y = (a for a in x)
---
y = (lambda q: q + x)
---
x, y = y, x
---
x, *y = f(x)
---
y = a < x < f(z)
---
if a < x < z: f(x)
---
pass
---
for a in x: f(a)
---
for a in x:
    if a: break
else: f(y)
---
for a in x:
    if a: continue
    f(a)
---
for a in x:
    if f(a): return a
---
async for a in x: f(a)
---
async for a in x:
    if a: break
else: f(y)
---
async for a in x:
    if f(a): return a
---
while x: f(x)
---
while True:
    if f(x): break
---
while x:
    if f(x): return y
---
with x as y: f(y)
---
with x: return f(y)
---
async with x as y: f(y)
---
async with x: return f(y)
---
with x, y as a: f(a)
---
try: f(x)
except E: g(x)
---
try: f(x)
except E as e: g(e)
---
try: f(x)
except E: return 1
---
try: return f(x)
except E: pass
---
try: f(x)
finally: g(x)
---
try: return f(x)
finally: g(x)
---
try: f(x)
except E: g(x)
else: h(x)
finally: k(x)
---
try: f(x)
except E: raise
---
try: f(x)
except E as e: raise F from e
---
try: f(x)
except: pass
---
if x: f(x)
elif y: g(y)
---
if x: return f(x)
else: g(y)
---
if x:
    if y: f(x)
---
def q(a=x): return a, y
---
class Q(x): a = y
---
import os.path as y
---
from os import path
---
global gg
gg = x
---
x.y: int = f(x)
---
f(*x, **y)
---
f(f"{x!r:>{y}}")
---
x[y] += 1
---
x.y -= f(y)
---
while x and f(y) or z: g(x)
---
if not (x and (y or z)): f(x)
---
x = y = f(x)
---
f((x or 0) + 1)
---
return (1 if x else 0) * 60 + y
---
raise
""",
    8: r"""
if (y := f(x)) and y > 1: g(y)
---
y = [b := f(a) for a in x]
---
while (y := f(x)): g(y)
""",
    10: r"""
y = f(*('s', x), k='s' if y else 's')
---
match x:
    case 1: f(x)
    case [a, *b] if a: g(b)
    case _: h(x)
---
match x:
    case {"a": y}: return y
    case A(b=z): pass
---
match x:
    case 1 | 2: f(x)
""",
    11: r"""
try: f(x)
except* E as e: g(e)
---
try: f(x)
except* E: g(x)
finally: h(x)
""",
}

CONTEXTS = {
    7: r"""
HERE
k(x)
---
if c:
    HERE
k(x)
---
if c:
    HERE
else:
    k(x)
---
if c:
    k(x)
else:
    HERE
return c
---
for i in c:
    HERE
k(x)
---
for i in c:
    if i: continue
    HERE
---
for i in c:
    HERE
    break
else:
    k(x)
---
for i in c: k(i)
else:
    HERE
---
while c:
    HERE
k(x)
---
while True:
    HERE
    if c: break
---
async for i in c:
    HERE
k(x)
---
try:
    HERE
except C:
    k(x)
---
try:
    HERE
except C as c:
    k(c)
k(x)
---
try:
    k(x)
except C:
    HERE
---
try:
    k(x)
except C as c:
    HERE
k(x)
---
while (True if c else k(x)):
    HERE
k(c)
---
while z:
    try:
        if k(x): break
    except C:
        HERE
    k(c)
    return y
k(z)
---
while z:
    HERE
    try:
        if k(x): break
        k(y)
    except C: pass
    raise y
return z
---
try:
    k(x)
except C:
    HERE
except D:
    k(x)
else:
    k(c)
---
try:
    k(x)
except C: pass
else:
    HERE
k(c)
---
try:
    k(x)
finally:
    HERE
---
try:
    return k(x)
finally:
    HERE
---
try:
    HERE
finally:
    k(x)
---
try:
    HERE
except C: k(x)
finally:
    k(c)
k(x)
---
try:
    k(x)
except C as c:
    k(c)
finally:
    HERE
k(x)
---
with c as d:
    HERE
k(x)
---
with c:
    HERE
---
async with c as d:
    HERE
k(x)
""",
    10: r"""
match c:
    case 1:
        HERE
    case [i, *j]:
        k(i)
k(x)
---
match c:
    case [i] if i:
        k(x)
    case _:
        HERE
""",
    11: r"""
try:
    HERE
except* C:
    k(x)
k(c)
---
try:
    k(x)
except* C as c:
    HERE
k(x)
""",
}


def of_version(table):
    rows = (
        row
        for minor, text in table.items()
        if minor <= sys.version_info[1]
        for row in text.split("---\n")
    )
    return [row.strip("\n") for row in rows]


def put(context, inner):
    lines = []
    for line in context.split("\n"):
        columns = line[: len(line) - len(line.lstrip())]
        lines.append(textwrap.indent(inner, columns) if line.strip() == "HERE" else line)
    return "\n".join(lines)


def functions(depth):
    warnings.simplefilter("ignore")
    number = 0
    for contexts in itertools.product(of_version(CONTEXTS), repeat=depth):
        for text in of_version(CONSTRUCTS):
            for context in contexts:
                text = put(context, text)
            number += 1
            function = "async def f%d(c, x, y, z):\n%s\n" % (number, textwrap.indent(text, "    "))
            try:
                compile(function, "function", "exec")
            except SyntaxError:
                continue
            yield function


def write(folder, depth, each=400):
    """Modules of that many functions, compiled."""
    made = functions(depth)
    for number in itertools.count():
        some = list(itertools.islice(made, each))
        if not some:
            return
        path = os.path.join(folder, "m%d.py" % number)
        with open(path, "w") as f:
            f.write("\n".join(some))
        py_compile.compile(path, path + "c", doraise=True)


def main(depyf, depth=1):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, depth)
        paths = os.pathsep.join([sys.executable, os.environ.get("DEPYF_PYTHONS", "")])
        done = subprocess.run(
            [depyf, "decompile", folder, "-o", os.path.join(folder, "out"), "-j", "2"],
            env=dict(os.environ, DEPYF_PYTHONS=paths),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
    wrong = [
        line for line in done.stderr.split("\n") if ": ladder L5" in line or ": ladder L6" in line
    ]
    print("\n".join(wrong + [line for line in done.stderr.split("\n") if " decompiled" in line]))
    unproven = done.returncode != 0 or "not checked" in done.stderr
    return 1 if depth == 1 and (wrong or unproven) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
