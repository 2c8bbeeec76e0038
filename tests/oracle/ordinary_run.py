"""Decompiles random code as people write it, compiles the result, and asks `depyf compare` whether
it is the same.

total_run.py draws what no person and no compiler writes, and runs it; the code here is too ordinary
to be run (its names mean nothing), but is what libraries are full of: methods, attributes,
comprehensions, conditions, loops, handlers, context managers, patterns, generators and coroutines,
in functions, classes and modules. A statement that only dead code would follow ends its body, as in
a person's code. Runs under any CPython from 3.7 on. The kind `small` is functions of few statements
which do nothing but call: every way in which two or three statements stand in or behind each other,
of which none may need the dispatch loop. `ends` is the same of modules and class bodies whose last
statement is a loop that `break` leaves, and `cleanups` of functions of one loop, with `finally`
bodies that hold statements. `rare` is functions with the forms of RARE too: a form that
is added there leaves the programs of all other kinds as they are, since a seed then draws the same.

    python3.X ordinary_run.py DEPYF function|class|module|small|ends|cleanups|rare [COUNT [SEED]]
            DEPYF is the native command

DEPYF_OTHER_RELEASE may name a CPython of the same version, which then compiles the output: what two
patch releases make of a source is proven the same. Prints the seed, the verdicts and how many
needed the dispatch loop; fails where an output does not compile, or is different and yet has plain
structure.
"""

import ast
import glob
import os
import py_compile
import random
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter

MINOR = sys.version_info[1]
SHOWN = int(os.environ.get("SHOWN", "3"))

# Forms, with their weights. <e> is an expression, <o> one that may be an operand, <c> a condition,
# <t> one that may be an operand, <p> a pattern, <n> the next number, <body> statements, <loop>
# those of a loop, <plain> some that never leave what holds them.
LEAVES = ["a", "b", "c", "x", "y", "n", "items", "self.p", "self.q", "1", "'s'", "None"]
EXPRESSIONS = [
    (6, "f(<e>)"), (5, "self.m(<e>, <e>)"), (4, "x.h()"), (10, "<o> + x"), (5, "n * <o>"), (6, "items[<e>]"), (6, "[k + 1 for k in <o>]"),
    (3, "[f(k) for k in <o> if k and not x]"), (4, "(<o> if <c> else <o>)"), (4, "(<c>)"), (4, "{0: <e>, 1: <e>}"), (4, "f'{x.y}-{n!r}'"), (2, "lambda v: <o>"),
    (4, "any(k == x for k in <o>)"), (1, "(not (0j and (<e>)))"), (1, "(1 + (5 or (<e>)))"), (5, "(<e>, <e>)"),
]  # fmt: skip
if sys.version_info >= (3, 10):
    # Before, the peephole optimizer leads no jump past a test with an EXTENDED_ARG in front of it:
    # one source calls __bool__ twice at one offset and once at another, which the prover refuses.
    EXPRESSIONS += [
        (1, "((<o> if <c> else <t> and <t>) or <o>)"),
        (1, "((<t> or <t> if <c> else <o>) and <o>)"),
    ]
TESTS = ["a", "x", "n", "items", "self.ok", "x.y", "f(x)"]
CONDITIONS = [
    (3, "a == 1"), (3, "n < b"), (2, "self.p >= self.q"), (4, "x is None"), (4, "x is not None"), (3, "a in items"), (2, "a not in self.q"), (6, "not <t>"),
    (9, "<t> and <t>"), (9, "<t> or <t>"), (3, "0 < a <= n"), (3, "isinstance(x, (int, str))"), (1, "<o> == a is not []"), (1, "a is {}"),
]  # fmt: skip
PATTERNS = [
    "1", "'s'", "None", "[a, b]", "[1, *b]", "{'k': a}", "P(a)", "P(x=1, y=b)", "1 | 2", "int() as a", "A.b", "(1, [c, _])", "[P(), *_]", "str(a)",
    "{'k': 1, **c}", "-1", "[P(u=1) | None, a]",
]  # fmt: skip
SIMPLE = [
    (12, "a = <e>"), (12, "x = <e>"), (6, "b = <e>"), (8, "f(<e>)"), (7, "self.m(<e>)"), (4, "a += <e>"), (3, "self.p += <e>"), (3, "x[0] += <e>"), (5, "self.q = <e>"),
    (3, "a, b = b, a"), (2, "a, b = f(x)"), (2, "assert <c>"), (2, "assert <c>, 'm'"), (1, "del x[0]"), (1, "del self.p"), (4, "x[<e>] = <e>"), (2, "import os"),
    (3, "yield <e>"), (2, "a = yield <e>"), (3, "await f(x)"), (2, "a = await x.g()"), (2, "pass"), (3, "a = b = <e>"), (2, "a = b = 5; 1 if 0 else 2; 1 if 0 else 2"),
    (1, "AssertionError = <e>"), (1, "for x in {}: pass"), (1, "async for x in []: pass"), (1, "await [k for k in <o>]"), (1, "a = await {k: k async for k in <o>}"),
]  # fmt: skip
if sys.version_info >= (3, 12):  # comprehensions are part of the code around them
    SIMPLE += [
        (1, "[<o> async for k in f(lambda: k)]"),
        (1, "a = {<o> async for k, v in f(lambda: (k, v))}"),
        (1, "x.y and [k for k, v in items]"),
        (1, "f(x) if <c> else {k: v for k, v in items}"),
    ]
COMPOUND = [
    (14, "if <c>:\n    <body>"), (8, "if <c>:\n    <body>\nelse:\n    <body>"), (5, "if <c>:\n    <body>\nelif <c>:\n    <body>"),
    (4, "if <c>:\n    <body>\nelif <c>:\n    <body>\nelse:\n    <body>"), (10, "for x in <e>:\n    <loop>"), (3, "for a, b in <e>:\n    <loop>\nelse:\n    <body>"),
    (2, "async for x in f(x):\n    <loop>"), (5, "while <c>:\n    <loop>"), (2, "while True:\n    <loop>"), (1, "while <c>:\n    <loop>\nelse:\n    <body>"),
    (6, "try:\n    <body>\nexcept E:\n    <body>"), (1, "try:\n    <body>\nexcept <c>:\n    <body>"), (1, "try:\n    <body>\nexcept <c> as e:\n    <body>"),
    (4, "try:\n    <body>\nexcept E as e:\n    <body>\nexcept (F, G):\n    <body>"),
    (2, "try:\n    <body>\nexcept E:\n    <body>\nexcept:\n    <body>\nelse:\n    <body>"), (2, "try:\n    <body>\nexcept E as e:\n    <body>\nfinally:\n    <plain>"),
    (3, "try:\n    <body>\nfinally:\n    <plain>"), (6, "with f(x) as a:\n    <body>"), (3, "with self.lock, g(1) as b:\n    <body>"), (2, "async with f(x) as a:\n    <body>"),
]  # fmt: skip
SINCE = {
    8: [
        (3, "if (k := <e>):\n    <body>"),
        (1, "if x:\n    a = b = (k := (<o> not in -1e999))"),
        (1, "for x in [a, b] if 4 else False:\n    <loop>"),
    ],
    10: [
        (5, "match <e>:\n    case <p>:\n        <body>\n    case <p> if <c>:\n        <body>"),
        (4, "match <e>:\n    case <p>:\n        <body>\n    case _:\n        <body>"),
        (
            1,
            "1 if 0 else 2; 1 if 0 else 2\nmatch 1:\n    case <p>:\n        <body>\n    case _:\n        <body>",
        ),
    ],
    11: [(1, "try:\n    f(x)\nexcept* E as e:\n    g(x)")],
}
# Forms of the kind `rare`, by the version that has them.
RARE_SIMPLE = {
    7: [
        (4, "x.y and 1e309"),
        (3, "a = <o> if __debug__ else <o>"),
    ],
    10: [  # see EXPRESSIONS
        (4, "x.y and f(x) or self.q"),
        (3, "x.y or x and f(x) or self.q"),
    ],
}
RARE = {
    10: [
        (4, "try:\n    f(x)\nfinally:\n    x.y and f(x) or self.q\n    <plain>"),
        (6, "match f(<e>):\n    case k if <c>:\n        <body>\n    case <p>:\n        <body>"),
        (6, "match <e>:\n    case <p> if False:\n        <body>\n    case <p>:\n        <body>"),
        (
            4,
            "match <e>:\n    case <p> if __debug__:\n        <body>\n"
            "    case <p> if <t> and not __debug__:\n        <body>\n    case <p>:\n        <body>",
        ),
        (
            4,
            "match <e>:\n    case <p> if <t> and 0:\n        <body>\n"
            "    case k if False:\n        <body>\n    case <p>:\n        <body>\n"
            "    case _:\n        <body>",
        ),
    ],
    11: [(6, "try:\n    f(x)\nexcept* <c> as e:\n    g(x)")],
    14: [(6, "try:\n    f(x)\nfinally:\n    k: lambda: x.y")],
}
SMALL = [
    (3, "if f<n>():\n    <body>"), (3, "if f<n>():\n    <body>\nelse:\n    <body>"), (2, "while f<n>():\n    <loop>"), (2, "while True:\n    <loop>"),
    (3, "for x in f<n>():\n    <loop>"), (1, "for x in f<n>():\n    <loop>\nelse:\n    <body>"), (2, "with f<n>():\n    <body>"),
    (2, "try:\n    <body>\nexcept E:\n    <body>"), (1, "try:\n    <body>\nexcept E as e:\n    <body>"), (1, "try:\n    <body>\nexcept:\n    <body>"),
    (2, "try:\n    <body>\nexcept E:\n    <body>\nelse:\n    <body>"), (2, "try:\n    <body>\nfinally:\n    f<n>()"),
    (1, "try:\n    <body>\nexcept E:\n    <body>\nfinally:\n    f<n>()"),
]  # fmt: skip
LOOPS = [form for form in SMALL if "<loop>" in form[1]]
CLEANUPS = SMALL + [
    (4, "try:\n    <body>\nfinally:\n    <plain>"), (3, "try:\n    <body>\nexcept E:\n    <body>\nfinally:\n    <plain>"),
    (3, "try:\n    <body>\nexcept E as e:\n    <body>\nelse:\n    <body>\nfinally:\n    <plain>"), (2, "with f<n>() as x:\n    <body>"),
]  # fmt: skip
SMALL_MATCH = (2, "match f<n>():\n    case 1:\n        <body>\n    case [x]:\n        <body>")
ENDS = [
    "return",
    "return <e>",
    "return <e>",
    "raise ValueError(x)",
    "raise E from x",
    "raise <c>",
    "raise E from <c>",
]
JUMPS = ["break", "continue"]
#: Kinds of few statements: none may need the dispatch loop.
FEW = ("small", "ends", "cleanups")


def in_this_version(forms):
    return [form for minor, added in forms.items() if MINOR >= minor for form in added]


class Writer:
    """Random code of one kind ("function", "class", "module", one of FEW, or "rare"); `asks` is how
    many statements are still to come.
    """

    def __init__(self, rng, kind):
        self.rng, self.kind, self.number = rng, kind, 0
        function = kind in ("function", "rare")
        self.yields = function and rng.random() < 0.15
        self.awaits = function and rng.random() < 0.15
        if kind in FEW:
            self.asks = rng.randrange(3, 9)
            self.simple = [(1, "f<n>()")]
            forms = CLEANUPS if kind == "cleanups" else SMALL
            self.compound = forms + [SMALL_MATCH] * (MINOR >= 10)
            self.ends = ["raise E"] if kind == "ends" else ["return", "return x", "raise E"]
        else:
            self.asks = rng.choice([4, 8, 12, 16])
            rare = kind == "rare"
            self.simple = SIMPLE + in_this_version(RARE_SIMPLE) * rare
            self.compound = COMPOUND + in_this_version(SINCE) + in_this_version(RARE) * rare
            self.ends = ENDS if function else ENDS[3:]

    def draw(self, forms):
        """One of the weighted forms that such code may hold."""
        while True:
            (form,) = self.rng.choices([form for _, form in forms], [weight for weight, _ in forms])
            if ("yield" not in form or self.yields) and (
                not re.search("await|async", form) or self.awaits
            ):
                return form

    def expression(self, depth, leaves=LEAVES, forms=EXPRESSIONS):
        if depth == 0 or self.rng.random() < 0.35:
            return self.rng.choice(leaves)
        return self.fill(self.draw(forms), depth - 1)

    def operand(self, *arguments):
        text = self.expression(*arguments)
        return "(%s)" % text if " " in text and text[0] not in "([{" else text

    def fill(self, form, depth):
        """The form with everything put in that stands within a line."""
        made = {
            "e": lambda: self.expression(depth),
            "o": lambda: self.operand(depth),
            "c": lambda: self.expression(depth, TESTS, CONDITIONS),
            "t": lambda: self.operand(depth, TESTS, CONDITIONS),
            "p": lambda: self.rng.choice(PATTERNS),
            "n": self.next_number,
        }
        return re.sub("<([eoctpn])>", lambda found: made[found.group(1)](), form)

    def next_number(self):
        self.number += 1
        return str(self.number)

    def body(self, depth, loop, leaves):
        """Lines of some statements; `loop`: in one, `leaves`: the last may leave what holds them."""
        lines, count = (
            [],
            self.rng.choice([1, 1, 1, 2] if self.kind in FEW else [1, 1, 2, 2, 3, 4]),
        )
        for left in range(count, 0, -1):
            lines += self.statement(depth, loop, leaves and left == 1)
            if never_goes_on(lines):
                break
        return lines

    def statement(self, depth, loop, leaves):
        if leaves and self.rng.random() < 0.3:
            end = self.fill(self.rng.choice(self.ends + JUMPS * 2 * loop), 1)
            return ["return" if end.startswith("return") and self.yields and self.awaits else end]
        self.asks -= 1
        if depth == 0 or self.asks <= 0 or self.rng.random() < 0.4:
            return [self.fill(self.draw(self.simple), 2)]
        return self.compound_of(self.compound, depth, loop)

    def compound_of(self, forms, depth, loop):
        lines = []
        for line in self.fill(self.draw(forms), 2).split("\n"):
            kind = line.strip()
            if kind in ("<body>", "<loop>", "<plain>"):
                inside = self.body(
                    depth - 1, kind != "<plain>" and (loop or kind == "<loop>"), kind != "<plain>"
                )
                lines += [line[: line.index("<")] + one for one in inside]
            else:
                lines.append(line)
        return lines

    def loop_with_break(self):
        while True:
            self.asks = self.rng.randrange(3, 9)
            lines = self.compound_of(LOOPS, 4, False)
            if has_break(ast.parse("\n".join(lines)).body[0].body):
                return lines

    def text(self):
        if self.kind == "ends":
            lines = self.statement(1, False, False) + self.loop_with_break()
            if self.rng.random() < 0.5:
                return "\n".join(lines) + "\n"
            return "class C:\n%s\n" % textwrap.indent("\n".join(lines), "    ")
        if self.kind == "cleanups":
            lines = self.compound_of(LOOPS, 4, False)
        else:
            lines = self.body(4, False, False)
        if not never_goes_on(lines):
            lines += self.body(4, False, True)
        if self.kind == "module":
            return "\n".join(lines) + "\n"
        head = (
            "class C:"
            if self.kind == "class"
            else "%sdef f(self, x, n=1, *items):" % ("async " if self.awaits else "")
        )
        return "%s\n%s\n" % (head, textwrap.indent("\n".join(lines), "    "))


def never_goes_on(lines):
    """Is what would follow these statements dead code?"""
    tree = ast.parse("async def f():\n while x:\n" + textwrap.indent("\n".join(lines), "  "))
    return leaves_body(tree.body[0].body[0].body)


def leaves_body(body):
    """The same of a list of nodes, by its last one."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return True
    if isinstance(last, ast.If):
        return leaves_body(last.body) and leaves_body(last.orelse)
    if isinstance(last, ast.While):
        return getattr(last.test, "value", None) is True and not has_break(last.body)
    if isinstance(last, ast.Try):
        handlers = all(leaves_body(handler.body) for handler in last.handlers)
        return leaves_body(last.finalbody) or (
            handlers and (leaves_body(last.body) or leaves_body(last.orelse))
        )
    if type(last).__name__ == "Match":
        pattern = last.cases[-1].pattern
        takes_all = (
            last.cases[-1].guard is None
            and type(pattern).__name__ == "MatchAs"
            and pattern.pattern is None
        )
        return takes_all and all(leaves_body(case.body) for case in last.cases)
    return False


def has_break(body):
    """Does a `break` in these nodes leave the loop that they are the body of?"""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        lists = (
            ["orelse"]
            if isinstance(node, (ast.For, ast.While, ast.AsyncFor))
            else ["body", "orelse", "finalbody", "handlers", "cases"]
        )
        if any(has_break(getattr(node, name, [])) for name in lists):
            return True
    return False


def write(kind, seed):
    """Source that compiles, the same for a seed and a version of Python."""
    rng = random.Random("%s %d" % (kind, seed))
    while True:
        text = Writer(rng, kind).text()
        try:
            compile(text, "ordinary", "exec")
        except (
            SyntaxError
        ):  # what a version does not take, `continue` in a `finally` of 3.7 among it
            continue
        return text


def compile_output(path):
    """With the interpreter that DEPYF_OTHER_RELEASE names, or with this one."""
    other = os.environ.get("DEPYF_OTHER_RELEASE")
    if not other:
        py_compile.compile(path, path + "c", doraise=True)
        return
    program = (
        "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[1] + 'c', doraise=True)"
    )
    subprocess.run([other, "-I", "-c", program, path], check=True)


def main():
    command, kind = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    good = ["identical", "exact", "equivalent", "on the ladder"]
    verdicts, shown = Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            path = os.path.join(folder, "%s%d.py" % (kind, seed))
            with open(path, "w") as file:
                file.write(write(kind, seed))
            py_compile.compile(path, path + "c", doraise=True)
        out = os.path.join(folder, "out")
        done = subprocess.run(
            [command, "decompile", "--no-check", folder, "-o", out],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        on_ladder = set(re.findall(r"(\w+)\.pyc\b.*ladder L[56]", done.stderr))
        for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
            name, made = os.path.basename(path)[:-3], os.path.join(out, os.path.basename(path))
            try:
                compile_output(made)
                compared = subprocess.run(
                    [command, "compare", path + "c", made + "c"],
                    stdout=subprocess.PIPE,
                    universal_newlines=True,
                ).stdout.strip()
            except (OSError, subprocess.SubprocessError, py_compile.PyCompileError) as error:
                compared = "does not compile: %s" % error
            verdict = (
                "on the ladder"
                if name in on_ladder
                and (kind in FEW or compared.startswith(("different", "unproven")))
                else compared.split(":")[0].split()[0]
            )
            if kind == "cleanups" and verdict == "unproven":
                verdict = "on the ladder"  # where the output is checked, it becomes another form
            verdicts[verdict] += 1
            if verdict not in good[: 3 if kind in FEW else 4] and shown < SHOWN:
                shown += 1
                with open(path) as source, open(made) as output:
                    print("%s\n%s\n--- came back as\n%s" % (compared, source.read(), output.read()))
    wrong = sum(verdicts.values()) - sum(verdicts[verdict] for verdict in good)
    print(
        "3.%d %s: %d from seed %d: %s"
        % (
            MINOR,
            kind,
            count,
            first,
            ", ".join("%s %d" % item for item in sorted(verdicts.items())),
        )
    )
    unplain = kind in FEW and 100 * verdicts["on the ladder"] > count
    return 1 if wrong or unplain or not count else 0


if __name__ == "__main__":
    sys.exit(main())
