"""Decompiles code whose line tables are garbage: they may change how the source is laid out, never
what it does.

Runs under any CPython from 3.7 on. Random programs of scopes_run.py and, one for ten of these,
files of the standard library get line tables that are empty, random bytes, cut, have bits changed,
say one line for everything, or begin elsewhere.

    python3.X line_tables_run.py DEPYF [COUNT [SEED]]

Prints the seed; fails where a result does not compile, a program does something else, or a file is
proven to be another one. It counts what is not proven in its plain form.
"""

import importlib.util
import marshal
import os
import random
import re
import subprocess
import sys
import tempfile
import types
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scopes_run  # noqa: E402
import symtable_run  # noqa: E402

MINOR = sys.version_info[1]
# What is told from a pattern by its columns.
MATCHES = """
def f(x, low, high):
    match x:
        case 1 | 2: return "few"
        case [a, 3] if a: return a
        case {"k": v, **rest}: return v, rest
        case str() | bytes(): return "text"
    if x == -low + 1: return "low"
    elif x == high: return "high"
    if x == 5 or x == 6: return "some"
    match x:
        case 7: pass
        case b if b == -high: return b
    if x == -low and x == +low: return "none"
    return "other"
for x in (1, 2, 3, 5, 6, 7, -9, [1, 3], [0, 3], {"k": 1, "l": 2}, "s", b"", -3, 9):
    log(f(x, 4, 9))
"""
KINDS = ["own", "random", "empty", "bits", "one line", "mixed", "cut", "moved"]
FIELD = "co_linetable" if MINOR >= 10 else "co_lnotab"


def changed(code, rng, kind):
    own = getattr(code, FIELD)
    consts = tuple(changed(c, rng, kind) if isinstance(c, types.CodeType) else c for c in code.co_consts)  # fmt: skip
    how = (
        rng.choice(["random", "empty", "cut", "bits", "own", "one line"])
        if kind == "mixed"
        else kind
    )
    table, first = own, code.co_firstlineno
    if how == "random":
        table = bytes(rng.randrange(256) for _ in range(rng.choice([len(own), 7, 40])))
    elif how == "empty":
        table = b""
    elif how == "cut":
        table = own[: rng.randrange(len(own) + 1)]
    elif how == "bits":
        table = bytes(b ^ (1 << rng.randrange(8)) if rng.random() < 0.1 else b for b in own)
    elif how == "one line":
        table = one_line(code)
    elif how == "moved":
        first = rng.choice([0, 1, 5, 2**31 - 1])
    return replaced(code, consts, table, first)


def one_line(code):
    units = len(code.co_code) // 2
    if MINOR >= 11:  # entries of up to eight code units, "no column info", no change of line
        return b"".join(bytes([0x80 | 13 << 3 | (min(8, units - at) - 1), 0]) for at in range(0, units, 8))  # fmt: skip
    if MINOR == 10:
        return b"".join(bytes([min(254, 2 * (units - at)), 0]) for at in range(0, units, 127))
    return b""


def replaced(code, consts, table, first):
    if MINOR >= 8:
        return code.replace(co_consts=consts, co_firstlineno=first, **{FIELD: table})
    return types.CodeType(
        code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize, code.co_flags, code.co_code, consts,
        code.co_names, code.co_varnames, code.co_filename, code.co_name, first, table, code.co_freevars, code.co_cellvars,
    )  # fmt: skip


def decompiled(depyf, folder, *options):
    """What depyf says of each file; the sources lie in FOLDER.out."""
    command = [depyf, "decompile", folder, "-o", folder + ".out", "--force", "-j", "1", *options]
    environment = dict(os.environ, DEPYF_PYTHONS=sys.executable)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    said = {}
    for line in done.stderr.decode("utf-8", "replace").splitlines():
        found = re.search(r"/([lp]\d+)\.pyc: (.*)", line)
        if found:
            said.setdefault(found.group(1), []).append(found.group(2))
    return said


def failed(name, code, source, said):
    """Why the source is no program like the code; None where it is not known to be another one."""
    try:
        again = compile(source, "program", "exec", dont_inherit=True)
    except (SyntaxError, SystemError, ValueError) as error:
        return repr(error)
    if name.startswith("l"):
        return next((what for what in said if what.startswith("different")), None)
    expected = scopes_run.run_apart(code)
    if expected is not None and expected != scopes_run.run_apart(again):
        return "runs differently:\n" + source
    return None


def main():
    depyf = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**9)
    print("3.%d seed %d" % (MINOR, seed), flush=True)
    codes, origins = {}, {}
    files = symtable_run.library()
    for path in random.Random(seed).sample(files, min(count // 10, len(files))):
        with open(path, "rb") as f:
            try:
                codes["l%d" % len(codes)] = compile(f.read(), path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                continue
        origins["l%d" % (len(codes) - 1)] = path
    for number in range(count):
        name = "p%d" % number
        codes[name] = scopes_run.program(random.Random(seed + number))[1]
        origins[name] = "program of seed %d" % (seed + number)
    if MINOR >= 10:
        codes["p%d" % count] = compile(MATCHES, "program", "exec", dont_inherit=True)
        origins["p%d" % count] = "MATCHES"
    failures, unproven = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            here = os.path.join(folder, kind.replace(" ", "_"))
            os.mkdir(here)
            made = {name: changed(code, random.Random(seed), kind) for name, code in codes.items()}
            for name, code in made.items():
                with open(os.path.join(here, name + ".pyc"), "wb") as f:
                    f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
            # The plain forms of programs are run, and files of the library are proven.
            said = decompiled(depyf, here)
            decompiled(depyf, here, "--no-check")
            unproven[kind] = sum(any("not proven" in what for what in all_) for all_ in said.values())  # fmt: skip
            for name, code in made.items():
                with open(os.path.join(here + ".out", name + ".py"), "rb") as f:
                    source = f.read().decode("utf-8", "surrogatepass")
                what = failed(name, code, source, said.get(name, []))
                if what:
                    failures += 1
                    print("%s, line tables: %s\n    %s" % (origins[name], kind, what))
    print("%d programs, %d failures; not proven at once: %s" % (len(codes), failures, unproven))
    return 1 if failures else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
