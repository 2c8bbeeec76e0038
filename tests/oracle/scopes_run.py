"""Decompiles random programs about scopes, runs both the program and what came back, and compares
what they did.

Few names, bound and read in every way that Python has, in scopes in one another: walruses in
comprehensions, generator expressions and class headers, `nonlocal` and `global`, classes in
everything, comprehensions in class bodies, private names, `del`, names that exec makes, lambdas
with defaults; from 3.12 on type parameters with bounds, constraints and (3.13+) defaults, in
functions, classes and aliases in one another, and annotations that use them. Runs under any CPython
from 3.7 on.

    python3.X scopes_run.py DEPYF [COUNT [SEED [LADDER]]] [--check LIMIT]
            DEPYF is the native command

Prints the seed and how many programs needed which fallback; fails where a result does not compile,
does something else than its program, or is not decompiled. With --optimize each program is compiled with -O or -OO,
and some of the statements of its classes and functions stand under `if __debug__:`: what the
compiler removes still decides where names are found. With --check the output is proven, as `depyf
decompile` does unless told otherwise: prints how many programs' plain forms, and how many programs
in any form, were not proven, and fails where the latter are more than LIMIT. UNPROVEN=1 lists them
all.
"""

import argparse
import importlib.util
import marshal
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter

MINOR = sys.version_info[1]
SHOWN = int(os.environ.get("SHOWN", "3"))
NAMES = ["a", "b", "c", "x", "__p", "iter"]  # the text of L5 and L6 calls iter itself
# `_0` is what the text of a dispatch loop calls `.0`.
OWN = re.compile(r"__temp|_temp_|__function_\d|^[._]0$")


class Writer:
    """Random code; `asks` is how many statements are still to come."""

    def __init__(self, rng, removes=False):
        self.rng = rng
        self.dead = random.Random(str(rng.getstate()))  # a seed's program keeps its shape
        self.removes = removes  # some statements are what -O removes
        self.asks = rng.choice([6, 10, 16])
        self.number = 0
        self.params = []  # type parameters that can be read here

    def name(self):
        return self.rng.choice(NAMES)

    def target(self):
        return self.rng.choice([self.name()] * 8 + ["%s, %s" % (self.name(), self.name()), "box.v"])

    def condition(self, depth, walrus=True):
        e = self.expression
        forms = [
            "%s", "not (%s)", "(%s) or True", "(%s) and (%s) or True",
            "(4 if (%s) is None else (%s))", "(%s) and (%s)",
            "(True if (%s) else (%s))", "(False if (%s) else (%s))",
        ]  # fmt: skip
        form = self.rng.choice(forms)
        return form % tuple(e(depth - 1, walrus) for _ in range(form.count("%s")))

    def clauses(self, depth):
        text = "for %s in (%s, 1, None)" % (self.target(), self.expression(depth - 1, walrus=False))
        if self.rng.random() < 0.2:
            text += " for %s in (0, 2)" % self.name()
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            text += " if " + self.condition(depth - 1)
        return text

    def expression(self, depth, walrus=True):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            return rng.choice(NAMES * 2 + ["1", "None", "'s'"])
        e = lambda: self.expression(depth - 1, walrus)  # noqa: E731
        choice = rng.randrange(14)
        if choice < 2 and walrus and MINOR >= 8:
            return "(%s := %s)" % (self.name(), e())
        if choice == 2 and walrus and MINOR >= 8:
            return "(%s := (%s := %s))" % (self.name(), self.name(), e())
        if choice == 3:
            return "[%s %s]" % (e(), self.clauses(depth))
        if choice == 4:
            return "list(%s %s)" % (e(), self.clauses(depth))
        if choice == 5:
            return "{1: %s %s}" % (e(), self.clauses(depth))
        if choice == 6:
            return "(lambda %s=%s: %s)()" % (self.name(), e(), e())
        if choice == 7:
            return "(lambda: %s)()" % e()
        if choice == 8:
            never = "(%s) and False" % e() if rng.random() < 0.1 else ""
            return "(%s if %s else %s)" % (e(), never or self.condition(depth, walrus), e())
        if choice == 9:
            return "(%s, %s)" % (e(), e())
        if choice == 10:
            return "any((%s) is None %s)" % (e(), self.clauses(depth))
        if choice == 11:
            return "names(locals())"
        if choice == 12:
            return "(%s, %s)" % (rng.choice(["(%s or %s)", "(%s and %s)"]) % (e(), e()), e())
        return "log(%s)" % e()

    def body(self, depth, indent, kind):
        lines = []
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            if self.removes and self.rng.random() < 0.15:
                lines += [indent + "if __debug__:"] + self.removed(depth, indent + "    ", kind)
            else:
                lines += self.statement(depth, indent, kind)
        return lines

    def removed(self, depth, indent, kind):
        if kind == "class" and self.rng.random() < 0.5:
            own = ["def m(self): super()", "y = lambda: __class__", "def m(self): pass"]
            return [indent + self.rng.choice(own)]
        return self.statement(depth, indent, kind)

    def type_parameters(self, often):
        """`[T: a, *U]`, and the names in it."""
        rng = self.rng
        if MINOR < 12 or rng.random() > often:
            return "", []
        items, names, default = [], rng.sample(["T", "U", "a", "b"], rng.choice([1, 1, 2])), False
        for name in names:
            star = rng.choice(["", "", "", "", "*", "**"])
            item = star + name
            if not star and rng.random() < 0.5:
                value = self.expression(2, walrus=False)
                item += ": " + rng.choice(["int", "(%s)" % value, "(%s, str)" % value])
            default = default or rng.random() < 0.3
            if default and MINOR >= 13:
                item += " = " + rng.choice(["int", "(%s)" % self.expression(2, walrus=False)])
            items.append(item)
        return "[%s]" % ", ".join(items), names

    def annotation(self, names):
        if names and self.rng.random() < 0.6:
            return self.rng.choice(names)
        return self.rng.choice(["int", "'t'", "(%s)" % self.expression(1, walrus=False)])

    def declared(self, indent, kind):
        lines = []
        names = self.rng.sample(NAMES, 2)
        if self.rng.random() < 0.25:
            lines.append(indent + "global " + names[0])
        if self.rng.random() < 0.25:
            lines.append(indent + "nonlocal " + names[1])
        return lines

    def statement(self, depth, indent, kind):
        rng, e, self.asks = self.rng, self.expression, self.asks - 1
        inner = indent + "    "
        choice = (
            rng.randrange(18 if MINOR >= 12 else 17)
            if depth > 0 and self.asks > 0
            else rng.randrange(8)
        )
        if choice < 3:
            return [indent + "%s = %s" % (self.target(), e(3))]
        if choice < 5:
            if rng.random() < 0.1:  # whose value nothing reads
                form = rng.choice(["(%s or %s) or None", "(%s or %s) and 1", "(%s and %s) or 2"])
                return [indent + form % (e(2), e(2))]
            return [indent + "log(%s)" % e(3)]
        if choice == 5:
            return [indent + rng.choice(["del %s" % self.name(), "%s += 1" % self.name()])]
        if choice == 6:
            if kind == "function":
                return [indent + "return " + e(2)] if rng.random() < 0.3 else [indent + "pass"]
            text = "exec('%s = 5')" % rng.choice(NAMES[:4])
            if kind == "class" and self.dead.random() < 0.5:
                text = "log(1 if True else __class__)"
            return [indent + text]
        if choice == 7:
            value = rng.choice(["", " = " + e(2)])
            if MINOR < 14 and kind != "function" and not value:
                value = " = 1"
            name, annotation = self.name(), rng.choice(["int", "'t'"])
            if self.dead.random() < 0.3:
                annotation = "(int if True else %s)" % self.dead.choice(NAMES)
            return [indent + "%s: %s%s" % (name, annotation, value)]
        if choice < 11:
            self.number += 1
            name = "f%d" % self.number
            generic, params = self.type_parameters(0.5)
            known, self.params = self.params, self.params + params
            parameters = "%s=%s" % (self.name(), e(2)) if rng.random() < 0.4 else ""
            if rng.random() < 0.3:
                parameters = "%s: %s = %s" % (self.name(), self.annotation(self.params), e(2))
            result = " -> " + self.annotation(self.params) if rng.random() < 0.2 else ""
            lines = [indent + "@log"] if rng.random() < 0.15 else []
            lines += [indent + "def %s%s(%s)%s:" % (name, generic, parameters, result)]
            lines += self.declared(inner, "function") + self.body(depth - 1, inner, "function")
            if params:
                lines.append(
                    inner + rng.choice(["b: %s = 1", "log(str(%s))", "pass # %s"]) % params[0]
                )
            self.params = known
            lines += self.annotated_again(indent, name)
            if generic or result or ": " in parameters:
                lines.append(indent + "log(typed(%s))" % name)
            call = ["log(%s())" % name, "log(%s())" % name, "log([%s() for %s in (1, 2)])" % (name, self.name())]  # fmt: skip
            return lines + self.guarded(indent, rng.choice(call))
        if choice < 14:
            self.number += 1
            name = rng.choice(["C%d", "_D%d"]) % self.number
            base = "object"
            if rng.random() < 0.5:
                base = "(%s if %s else %s)" % ("object", e(2), "Base")
            if MINOR >= 8 and rng.random() < 0.3:
                base = rng.choice(["(a := Base)", "x := (b := Base)", "(log(c := 2), Base)[1]"])
            generic, params = self.type_parameters(0.4)
            known, self.params = self.params, self.params + params
            if params and rng.random() < 0.5:
                base = "Base[%s]" % params[0]
            lines = [indent + "@log"] if rng.random() < 0.15 else []
            lines += [indent + "class %s%s(%s):" % (name, generic, base)]
            lines += self.declared(inner, "class") + self.body(depth - 1, inner, "class")
            if self.params and rng.random() < 0.4:
                lines += [
                    inner + "def m(self, %s: %s): return str(%s)"
                    % (self.name(), self.annotation(self.params), rng.choice(self.params)),
                    inner + "log(typed(m))",
                ]  # fmt: skip
            self.params = known
            lines += self.annotated_again(indent, name)
            if generic:
                lines.append(indent + "log(typed(%s))" % name)
            return lines + [indent + "log(names(vars(%s)), %s.__qualname__)" % (name, name)]
        if choice == 17:
            self.number += 1
            generic, params = self.type_parameters(0.7)
            value = self.annotation(self.params + params)
            return [
                indent + "type A%d%s = (%s, %s)" % (self.number, generic, value, e(2, False)),
                indent + "log(typed(A%d))" % self.number,
            ]
        if choice == 14:
            return [indent + "if %s:" % e(2)] + self.body(depth - 1, inner, kind)
        if choice == 15:
            return [indent + "for %s in (1, 2):" % self.target()] + self.body(
                depth - 1, inner, kind
            )
        lines = [indent + "try:"] + self.body(depth - 1, inner, kind)
        if MINOR >= 11 and kind == "class" and self.dead.random() < 0.1:  # needs bytes
            return lines + [indent + "except* a and 9223372036854775807:", inner + "pass"]
        return lines + [indent + "except Exception as %s:" % self.name()] + self.body(depth - 1, inner, kind)  # fmt: skip

    def annotated_again(self, indent, name):
        """What was just defined has a statement of its own that annotates it, or an import has."""
        if self.dead.random() >= 0.08:
            return []
        annotated = self.dead.choice([name, name, "sys", "path"])
        imported = {"sys": ["import sys"], "path": ["from os import path"]}.get(annotated, [])
        return [indent + line for line in imported + [annotated + ": int"]]

    def guarded(self, indent, text):
        return [indent + "try: " + text, indent + "except Exception as e: log(type(e).__name__)"]


def program(rng, optimize=0):
    while True:
        writer = Writer(rng, optimize > 0)
        lines = []
        while writer.asks > 0:
            lines += ["try:"] + writer.statement(3, "    ", "module")
            lines += ["except Exception as e: log(type(e).__name__)"]
        text = "\n".join(lines) + "\n"
        # 3.12 mangles names behind a generic class as if they stood in it.
        if MINOR == 12 and "__p" in text and re.search(r"class \w+\[", text):
            continue
        try:
            return text, compile(text, "program", "exec", dont_inherit=True, optimize=optimize)
        except SyntaxError:
            continue


class Base:
    def __class_getitem__(cls, item):
        return cls


PARTS = ("__bound__", "__constraints__", "__default__", "__value__", "__annotations__")


def typed(value):
    """What its type parameters, its annotations and its value are, and what those raise."""
    found = []
    for one in (value, *getattr(value, "__type_params__", ())):
        for part in PARTS:
            try:
                found.append((str(part), shown(getattr(one, part, None))))
            except Exception as error:
                found.append((part, type(error).__name__))
    return str(found)


class Box:
    pass


def shown(value, depth=0):
    if isinstance(value, (int, str, type(None))):
        return repr(value)
    if isinstance(value, (list, tuple)) and depth < 3:
        return "%s%s" % (type(value).__name__, [shown(v, depth + 1) for v in value])
    if isinstance(value, dict) and depth < 3:
        return str(sorted((str(k), shown(v, depth + 1)) for k, v in value.items()))
    return getattr(value, "__qualname__", type(value).__name__)


class Endless(BaseException):
    pass


def run(code):
    """What it did, and its names at the end."""
    done = []

    def log(*values):
        if len(done) > 400:
            raise Endless
        done.append([shown(v) for v in values])
        return values[0]

    def names(space):
        keys = (k for k in space if not k.startswith("__") or k == "__p")
        return sorted(k for k in keys if not OWN.search(k))

    space = {"log": log, "names": names, "typed": typed, "Base": Base, "Box": Box, "box": Box()}
    space["__name__"] = "m"
    try:
        exec(code, space)
    except Endless:
        pass
    except BaseException as e:
        done.append(type(e).__name__)
    done.append([(k, shown(space[k])) for k in names(space)])
    done.append(shown(getattr(space.get("box"), "v", "none")))
    return done


def run_apart(code):
    """run() in a process of its own; None where that ended by a signal."""
    sys.stdout.flush()
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(sink, "wb") as f:
            f.write(marshal.dumps(run(code)))
        os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as f:
        done = f.read()
    _, status = os.waitpid(child, 0)
    return marshal.loads(done) if status == 0 else None


def unproven(stderr):
    """The numbers of the programs of which standard error says that the plain form was not proven,
    and that none is; and what it says.
    """
    said, last = {}, {}
    for number, what in re.findall(
        r"/p(\d+)(?:\.opt-\d)?\.pyc: ((?:the plain form was )?not proven.*)", stderr
    ):
        said[int(number)] = what
        if "this form is proven" not in what:
            last[int(number)] = what
    return said, last


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("depyf")
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("seed", type=int, nargs="?", default=random.randrange(10**9))
    parser.add_argument("ladder", nargs="?")
    parser.add_argument("--check", type=int, metavar="LIMIT")
    parser.add_argument("--optimize", type=int, default=0, choices=[0, 1, 2])
    options = parser.parse_args()
    seed = options.seed
    print("3.%d seed %d" % (MINOR, seed), flush=True)
    failures, rungs = 0, Counter()
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        level = ".opt-%d" % options.optimize if options.optimize else ""  # as the command knows it
        os.mkdir(os.path.join(folder, "in"))
        for number in range(options.count):
            text, code = program(random.Random(seed + number), options.optimize)
            path = os.path.join(folder, "in", "p%d%s.pyc" % (number, level))
            with open(path, "wb") as f:
                f.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
            programs[number] = text, code
        out = os.path.join(folder, "out")
        command = [options.depyf, "decompile", os.path.join(folder, "in"), "-o", out, "-j", "1"]
        if options.ladder:
            command += ["--ladder", options.ladder]
        environment = dict(os.environ)
        if options.check is None:
            command += ["--no-check"]
        else:
            paths = [sys.executable, environment.get("DEPYF_PYTHONS", "")]
            environment["DEPYF_PYTHONS"] = os.pathsep.join(filter(None, paths))
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        stderr = done.stderr.decode()
        for line in stderr.splitlines():  # any valid code has a form
            if "not decompiled" in line:
                failures += 1
                print(line)
        for rung in re.findall(r"ladder (L\d)|scopes: ", stderr):
            rungs[rung or "scopes"] += 1
        for number, (text, code) in programs.items():
            try:
                with open(os.path.join(out, "p%d%s.py" % (number, level)), encoding="utf-8") as f:
                    back = f.read()
                again = compile(
                    back, "program", "exec", dont_inherit=True, optimize=options.optimize
                )
                expected, got = run_apart(code), run_apart(again)
                if expected is None:  # the program itself ends the interpreter (3.13.0)
                    continue
            except (OSError, SyntaxError, SystemError) as error:
                back, expected, got = locals().get("back", ""), "", repr(error)
            if expected == got:
                continue
            failures += 1
            if failures <= SHOWN:
                print("---- seed %d\n%s---- came back as\n%s" % (seed + number, text, back))
                print("---- expected %s\n---- got %s" % (expected, got))
    print("%d programs, %d failures, %s" % (options.count, failures, dict(rungs)))
    if options.check is not None:
        checked = " proven" in stderr and "not checked because" not in stderr
        plain, none = unproven(stderr)
        print("not proven: %d plain forms, %d programs" % (len(plain), len(none)))
        for number in sorted(plain if os.environ.get("UNPROVEN") else none):
            print("    seed %d: %s" % (seed + number, plain[number]))
        failures += len(none) > options.check or not checked
    return 1 if failures else 0


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    sys.exit(main())
