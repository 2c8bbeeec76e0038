"""Compares the symbol table that depyf computes of its own text (`dump --stage scopes`) with the
one that CPython makes of that text.

Runs under any CPython from 3.7 on; each file is compiled by it.

    python3.X symtable_run.py DEPYF [COUNT [SEED]] [FILE.py ...]
            without files: COUNT of the standard library's, and as many
                                                                     random programs of
                                                                     scopes_run.py

Prints the seed, and the first names that differ. Names that an inlined comprehension has as well
are left out, and scopes of annotations without names.
"""

import _symtable
import importlib.util
import marshal
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scopes_run  # noqa: E402

MINOR = sys.version_info[1]
SCOPES = {1: "local", 2: "global", 3: "implicit global", 4: "free", 5: "cell"}
# A variable that the compiler makes for itself; `_0` is what the text calls `.0`.
OWN = re.compile(
    r"\.|_0$|__class__$|__classdict__$|__conditional_annotations__$|__type_params__$|__classcell__$|_\["
)
LINE = re.compile(
    r"scope (\d+) (type parameters|\w+)(?: (?!in \d)(.+?))?(?: in (\d+))?( \(inlined\))?$"
)


class Scope:
    def __init__(self, kind, name):
        self.kind, self.name = kind, name
        self.names, self.children, self.inlined = {}, [], set()

    def key(self):
        return self.kind, self.name


def computed(text):
    """The tree that depyf's dump shows."""
    scopes, current = {}, None
    for line in text.splitlines():
        if line.startswith("  "):
            name, place = line[2:].rsplit(": ", 1)
            if not OWN.match(name):
                current.names[name] = place
            continue
        found = LINE.match(line)
        if not found:
            continue
        number, kind, name, around, inlined = found.groups()
        current = scopes[number] = Scope(kind, name if kind in ("function", "class") else "")
        current.is_inlined = bool(inlined)
        if around is not None:
            current.around = scopes[around]
            scopes[around].children.append(current)
    root = scopes["0"]
    splice(root)
    return root


def splice(root):
    """CPython drops inlined comprehensions; it makes scopes for annotations that are not there."""
    order = [root]
    for scope in order:
        order += scope.children
    for scope in reversed(order):
        children = []
        for child in scope.children:
            if child.is_inlined:
                scope.inlined |= set(child.names) | child.inlined
                children += child.children
            elif child.kind != "annotation" or child.names or child.children:
                children.append(child)
        scope.children = merged(children)


def merged(children):
    """From 3.14 on CPython has one scope for all variables that a body annotates: they count
    together.
    """
    together = [child for child in children if child.kind == "annotation"]
    if len(together) < 2:
        return children
    one = Scope("annotation", "")
    one.is_inlined = False
    for child in together:
        one.children += child.children
        one.inlined |= child.inlined
        for name, place in child.names.items():
            places = set(one.names.get(name, place).split(" or ")) | {place}
            one.names[name] = " or ".join(sorted(places))
    return [child for child in children if child.kind != "annotation"] + [one]


def expected(text):
    """The tree of CPython's own symbol table."""
    return read(_symtable.symtable(text, "<text>", "exec"))


def read(top):
    kinds = {"listcomp": "comprehension", "setcomp": "comprehension", "dictcomp": "comprehension",
             "genexpr": "comprehension", "lambda": "lambda"}  # fmt: skip
    done = Scope("module", "")
    work = [(top, done)]
    while work:
        table, scope = work.pop()
        for name, flags in table.symbols.items():
            if not OWN.match(name):
                scope.names[name] = SCOPES.get(flags >> _symtable.SCOPE_OFF & _symtable.SCOPE_MASK, "?")  # fmt: skip
        for child in table.children:
            kind, name = str(child.type), child.name.strip("<>")
            if kind == str(_symtable.TYPE_CLASS):
                made = Scope("class", name)
            elif kind == str(_symtable.TYPE_FUNCTION):
                made = Scope(kinds.get(name, "function"), "" if name in kinds else name)
            elif any(kind == str(getattr(_symtable, t, None)) for t in
                     ("TYPE_TYPE_PARAM", "TYPE_TYPE_PARAMETERS")):  # fmt: skip
                made = Scope("type parameters", "")
            else:  # annotations, and what type parameters and aliases evaluate when asked
                made = Scope("annotation", "")
            made.is_inlined = False
            scope.children.append(made)
            work.append((child, made))
    splice(done)
    return done


def canon(scope, cache):
    known = cache.get(id(scope))
    if known is None:
        children = sorted(canon(child, cache) for child in scope.children)
        known = repr((scope.kind, scope.name, sorted(scope.names.items()), children))
        cache[id(scope)] = known
    return known


def differences(mine, theirs, path=""):
    """What differs, for a reader; children are matched by kind, name and what is in them."""
    found = []
    skipped = mine.inlined
    for name in sorted(set(mine.names) | set(theirs.names)):
        if name not in skipped and mine.names.get(name) != theirs.names.get(name):
            found.append("%s: %s is %s, CPython says %s" % (path, name, mine.names.get(name), theirs.names.get(name)))  # fmt: skip
    groups = {}
    for side, scope in enumerate((mine, theirs)):
        for child in scope.children:
            groups.setdefault(child.key(), ([], []))[side].append(child)
    cache = {}
    for key, (ours, others) in sorted(groups.items(), key=repr):
        inner = "%s/%s %s" % (path, *key)
        if len(ours) != len(others):
            found.append("%s: %d scopes, CPython has %d" % (inner, len(ours), len(others)))
            continue
        for a in sorted(ours, key=lambda s: (len(s.inlined), -len(s.names), canon(s, cache))):
            every = [(differences(a, b, inner), i) for i, b in enumerate(others)]
            alike = lambda b: len(set(a.names.items()) ^ set(b.names.items()))  # noqa: E731
            best = min(every, key=lambda pair: (len(pair[0]), alike(others[pair[1]])))
            found += best[0]
            del others[best[1]]
    return found


def library():
    root = os.path.dirname(os.__file__)
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in ("site-packages", "lib2to3", "test", "idle_test", "__pycache__")]  # fmt: skip
        files += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    return sorted(files)


def main():
    arguments = sys.argv[2:]
    files = [a for a in arguments if a.endswith(".py")]
    numbers = [int(a) for a in arguments if not a.endswith(".py")]
    count = numbers[0] if numbers else 40
    seed = numbers[1] if len(numbers) > 1 else random.randrange(10**9)
    if not files:
        print("3.%d seed %d" % (MINOR, seed), flush=True)
        files = library()
        files = random.Random(seed).sample(files, min(count, len(files)))
        files += [seed + number for number in range(count)]
    failures = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        pyc = os.path.join(folder, "x.pyc")
        for path in files:
            if isinstance(path, int):
                source = scopes_run.program(random.Random(path))[0]
                path = "program of seed %d" % path
            else:
                with open(path, "rb") as f:
                    source = f.read()
            try:
                code = compile(source, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                continue
            with open(pyc, "wb") as f:
                f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
            run = lambda *a: subprocess.run([sys.argv[1], *a, pyc], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.decode()  # noqa: E731  # fmt: skip
            text = run("decompile", "--no-check")
            dump = run("dump", "--stage", "scopes", "--code", "<module>")
            found = differences(computed(dump), expected(text))
            compared += 1
            if found:
                failures += 1
                print(path)
                print("".join("    %s\n" % line for line in found[:6]), end="")
    print("%d files, %d differ" % (compared, failures))
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
