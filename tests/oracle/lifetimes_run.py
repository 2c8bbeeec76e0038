#!/usr/bin/env python3
"""An attack on what the prover says about lifetimes: one random program in two spellings, and when
what it makes ends.

A program makes values, uses them, and keeps them on the stack, in displays, in locals of its own,
in cells and in temporaries, through loops, handlers, `with` and `yield`; each spelling names other
values, copies other locals and drops others. What the prover accepts as code that may run in
torch's place runs in several worlds, and again with an exception raised at every effect in turn.
What is compared: the effects, and between which two of them each value ends. What ends when an
exception leaves the function is not: its traceback keeps the locals, and the stack is gone.

Runs under any CPython from 3.8 on that can import depyf; `scripts/attack --lifetimes` starts it for
several.

    python3.X tests/oracle/lifetimes_run.py --seed 1 --first 0 --count 10000
"""

import argparse
import copy
import random
import sys
import time
import types
import warnings
import weakref

from depyf import _core
from depyf.lifetimes import consume, used_locals

PROVEN = ("identical", "exact", "equivalent")
ARGUMENTS = ("v0", "v1", "v2")
OWN = ("w0", "w1")  # locals that both spellings have
NAMES = ARGUMENTS + OWN
WORLDS = 2
EFFECTS = 14
STEPS = 60


class Drawn:
    """A program: lists of statements, each a tuple that begins with its kind."""

    def __init__(self, rng):
        self.rng = rng
        self.generates = rng.random() < 0.2
        self.captures = rng.random() < 0.15

    def program(self):
        begin = [("store", name, self.expression(2)) for name in self.first()]
        return begin + self.body(self.rng.choice((0, 2, 2)))

    def first(self):
        """The locals that a program stores into before anything else."""
        names = [name for name in OWN if self.rng.random() < 0.9]
        return names + [self.rng.choice(ARGUMENTS)] * (self.rng.random() < 0.4)

    def expression(self, depth):
        rng = self.rng
        kind = rng.random()
        if depth <= 0 or kind < 0.25:
            return ("make",)
        if kind < 0.45:
            return ("use", self.several(depth, 0))
        if kind < 0.65:
            items = self.several(depth, 1)
            return ("item", items, rng.randrange(len(items)))
        if kind < 0.75:
            return (rng.choice(("list", "tuple")), self.several(depth, 0))
        if self.captures and kind < 0.8:
            return ("use", [("capture", rng.choice(NAMES))])
        if kind < 0.9:
            return ("name", rng.choice(NAMES))
        return ("if",) + tuple(self.expression(depth - 1) for _ in range(3))

    def several(self, depth, least):
        return [self.expression(depth - 1) for _ in range(self.rng.randrange(least, least + 3))]

    def body(self, depth, loop=False):
        return [self.statement(depth, loop) for _ in range(self.rng.randrange(1, 4))]

    def statement(self, depth, loop):
        rng = self.rng
        kind = rng.random()
        if self.generates and kind < 0.2:
            return ("yield", rng.choice(("", *NAMES)), self.expression(2))
        if kind < 0.25:
            return ("store", rng.choice(NAMES), self.expression(2))
        if kind < 0.3:
            return ("delete", rng.choice(NAMES))
        if depth <= 0 or kind < 0.6:
            return ("expression", self.expression(2))
        if kind < 0.68:
            return (
                "if",
                self.expression(1),
                self.body(depth - 1, loop),
                self.body(depth - 1, loop),
            )
        if kind < 0.76:
            return ("for", rng.choice(NAMES), self.expression(1), self.body(depth - 1, True))
        if kind < 0.79:
            return ("while", ("use", self.several(1, 0)), self.body(depth - 1, True))
        if kind < 0.88:
            opened = rng.choice(("finally:", "except Stop:", "except Stop as w1:"))
            return ("try", self.body(depth - 1, loop), opened, self.body(depth - 1))
        if kind < 0.93:
            return (
                "with",
                rng.choice(("", *NAMES)),
                self.expression(1),
                self.body(depth - 1, loop),
            )
        if kind < 0.97:
            return ("return", self.expression(2))
        return ("break",) if loop else ("store", "v0", ("name", "None"))


def bound_in(statements):
    """The names that the statements store or delete."""
    found = set()
    for one in statements:
        if one[0] in ("store", "for", "delete", "yield", "with"):
            found.add(one[1])
        if one[0] == "try" and one[2].endswith(" w1:"):
            found.add("w1")
        for part in one[1:]:
            if isinstance(part, list) and one[0] in ("if", "for", "while", "try", "with"):
                found |= bound_in(part)
    return found


class Spelling:
    """One of many texts of a program."""

    def __init__(self, rng):
        self.rng, self.seed = rng, rng.random()
        self.ways = rng.choice((0, 0.3, 0.8)), rng.choice((0, 0, 0.3, 0.8))
        self.named, self.copied = self.ways
        self.statements, self.other = 0, -1
        self.copies = {}  # of a local: the temporary that has the same value
        self.idle = []  # temporaries of this block that nothing reads any more
        self.temporaries = 0
        self.lines = []

    def near(self):
        """Another spelling, in which one statement is spelt in another way."""
        near = copy.copy(self)
        near.lines, near.copies, near.idle = [], {}, []
        near.temporaries, near.statements = 0, 0
        near.other = random.Random(self.seed).randrange(self.statements)
        return near

    def text(self, program):
        self.line(0, "def f(%s):" % ", ".join(ARGUMENTS))
        self.body(1, program)
        return "\n".join(self.lines) + "\n"

    def line(self, deep, text):
        self.lines.append("    " * deep + text)

    def keep(self, deep, text):
        """`text` in a temporary."""
        name = self.temporary()
        self.line(deep, "%s = %s" % (name, text))
        self.idle.append(name)
        return name

    def temporary(self):
        self.temporaries += 1
        return "tmp_%d" % self.temporaries

    def operands(self, deep, items):
        """In order: some first ones in temporaries, the others where they are."""
        count = self.rng.randrange(len(items) + 1) if self.rng.random() < self.named else 0
        out = [self.keep(deep, self.expression(deep, one)) for one in items[:count]]
        return out + [self.plain(one) for one in items[count:]]

    def expression(self, deep, one):
        """Its text; what comes before it is written as statements."""
        kind = one[0]
        if kind == "use":
            return self.call(self.operands(deep, one[1]))
        if kind in ("list", "tuple"):
            return self.display(kind, self.operands(deep, one[1]))
        if kind == "item":
            return self.item(deep, one[1], one[2])
        if kind == "if" and self.rng.random() < 0.5:
            test = self.expression(deep, one[1])
            name = self.temporary()
            for start, value in (("if %s:" % test, one[2]), ("else:", one[3])):
                self.line(deep, start)
                self.line(deep + 1, "%s = %s" % (name, self.expression(deep + 1, value)))
            return name
        return self.plain(one)

    def item(self, deep, items, index):
        """One item of a display that nobody else knows: a spelling may do without the display."""
        rng = self.rng
        if rng.random() < 0.5:
            kind = rng.choice(("list", "tuple"))
            return "%s[%d]" % (self.display(kind, self.operands(deep, items)), index)
        found = ""
        for i, one in enumerate(items):
            text = self.expression(deep, one)
            if i == index:
                found = text if i == len(items) - 1 else self.keep(deep, text)
            elif rng.random() < 0.5:
                self.line(deep, text)
            else:
                self.keep(deep, text)
        return found

    @staticmethod
    def display(kind, items):
        inside = ", ".join(items)
        return "[%s]" % inside if kind == "list" else "(%s)" % (inside + "," * (len(items) == 1))

    def call(self, items):
        """A starred call keeps its arguments until it returns where a plain one gives them away."""
        if self.rng.random() < 0.8:
            return "use(%s)" % ", ".join(items)
        return "use(*%s)" % self.display(self.rng.choice(("list", "tuple")), items)

    def plain(self, one):
        """One expression, as it is."""
        kind = one[0]
        if kind == "make":
            return "make()"
        if kind == "name":
            held = self.copies.get(one[1])
            return held if held and self.rng.random() < 0.6 else one[1]
        if kind == "capture":
            return "lambda: " + one[1]
        if kind == "use":
            return "use(%s)" % ", ".join(map(self.plain, one[1]))
        if kind == "item":
            return "%s[%d]" % (self.display("list", list(map(self.plain, one[1]))), one[2])
        if kind == "if":
            return "(%s if %s else %s)" % tuple(self.plain(one[i]) for i in (2, 1, 3))
        return self.display(kind, list(map(self.plain, one[1])))

    def body(self, deep, statements):
        """A block of statements; what is a copy in it is none behind it."""
        copies, idle = dict(self.copies), self.idle
        self.idle = []
        for one in statements:
            self.statement(deep, one)
            if self.idle and self.rng.random() < 0.1:
                gone = self.idle.pop(self.rng.randrange(len(self.idle)))
                self.line(deep, self.rng.choice(("del %s", "%s = None")) % gone)
        self.copies, self.idle = copies, idle

    def store(self, deep, name, one):
        text = self.expression(deep, one)
        self.copies.pop(name, None)
        if self.rng.random() < self.copied / 3:  # what it has until now stays in a temporary
            form = self.rng.choice(("{1}, {0} = {0}, {2}", "{0}, {1} = {2}, {0}"))
            self.idle.append(self.temporary())
            self.line(deep, form.format(name, self.idle[-1], text))
            return
        if self.rng.random() >= self.copied:
            self.line(deep, "%s = %s" % (name, text))
            return
        held = self.temporary()
        forms = ("{1} = {2}", "{0} = {1}"), ("{0} = {2}", "{1} = {0}"), ("{0} = {1} = {2}",)
        for form in self.rng.choice(forms + (("{1} = {0} = {2}",),)):
            self.line(deep, form.format(name, held, text))
        self.copies[name] = held

    def forget(self, statements):
        for name in bound_in(statements):
            self.copies.pop(name, None)

    def statement(self, deep, one):
        kind, number = one[0], self.statements
        self.statements += 1
        other = number == self.other
        self.rng = random.Random("%r %d %s" % (self.seed, number, other))
        self.named, self.copied = (0.5, 0.9) if other else self.ways
        if kind == "store":
            self.store(deep, one[1], one[2])
        elif kind == "expression":
            self.line(deep, self.expression(deep, one[1]))
        elif kind == "yield":
            text = "yield " + self.expression(deep, one[2])
            self.line(deep, "%s = %s" % (one[1], text) if one[1] else text)
            self.forget([one])
        elif kind == "delete":
            self.line(deep, "del " + one[1] if self.rng.random() < 0.97 else "pass")
            self.copies.pop(one[1], None)
        elif kind == "return":
            self.line(deep, "return " + self.expression(deep, one[1]))
        elif kind == "if":
            self.line(deep, "if %s:" % self.expression(deep, one[1]))
            self.body(deep + 1, one[2])
            self.line(deep, "else:")
            self.body(deep + 1, one[3])
            self.forget([one])
        elif kind == "for":
            start = "for %s in several(%s):" % (one[1], self.expression(deep, one[2]))
            self.block(deep, start, one, one[3])
        elif kind == "while":
            self.forget([one])
            self.block(deep, "while %s:" % self.plain(one[1]), one, one[2])
        elif kind == "with":
            start = "with manager(%s)" % self.expression(deep, one[2])
            self.block(deep, start + (" as %s:" % one[1] if one[1] else ":"), one, one[3])
        elif kind == "try":
            self.block(deep, "try:", one, one[1])
            self.line(deep, one[2])
            self.body(deep + 1, one[3])
            self.forget([one])
        else:
            self.line(deep, kind)

    def block(self, deep, start, one, statements):
        self.forget([one])
        self.line(deep, start)
        self.body(deep + 1, statements)


class Stop(Exception):
    pass


class Long(BaseException):
    pass


class World:
    """Its values say in `log` when they end; raises at effect number `bad`."""

    def __init__(self, seed, bad):
        self.rng, self.bad = random.Random(seed), bad
        self.log, self.effects, self.made = [], 0, 0
        world = self

        class Thing:
            def __bool__(self):
                world.effect("test")
                return world.rng.random() < 0.5

        class Manager:
            def __enter__(self):
                world.effect("enter")
                return world.watched(Thing())

            def __exit__(self, *_):
                world.effect("exit")
                return world.rng.random() < 0.3

        class Several:
            left = 2

            def __iter__(self):
                return self

            def __next__(self):
                world.effect("next")
                self.left -= 1
                if self.left < 0:
                    raise StopIteration
                return world.watched(Thing())

        def use(*values):
            world.effect("use %d" % len(values))
            del values
            world.log.append("used")
            return world.watched(Thing())

        def manager(_):
            world.effect("manager")
            return world.watched(Manager())

        def several(_):
            world.effect("several")
            return world.watched(Several())

        def make():
            world.effect("make")
            return world.watched(Thing())

        class Owner:
            def use(self, *values):
                world.effect("use %d" % len(values))
                del values
                world.log.append("used")
                return world.watched(Thing())

        if seed % 2:
            use = Owner().use  # from 3.12 on a starred call of a function gives its arguments away
        self.names = {"make": make, "use": use, "several": several, "Stop": Stop}
        self.names["manager"] = manager
        self.arguments = [self.watched(Thing()) for _ in ARGUMENTS]

    def watched(self, value):
        self.made += 1
        weakref.finalize(value, self.log.append, "end %d" % self.made)
        return value

    def effect(self, what):
        self.effects += 1
        self.log.append(what)
        if self.effects == self.bad:
            raise Stop
        if self.effects > STEPS:
            raise Long


def consumed(generator, world):
    """Asks the generator for its values; throws into it, or closes it."""
    while True:
        kind = world.rng.random()
        try:
            if kind < 0.8:
                item = next(generator)
            elif kind < 0.95:
                item = generator.throw(Stop)
            else:
                generator.close()
                return
        except StopIteration:
            return
        world.log.append("yielded")
        del item
        world.log.append("asked")


def behaviour(code, seed, bad):
    """The effects, and in order of number what ends between two of them."""
    world = World(seed, bad)
    try:
        function, given = types.FunctionType(code, world.names), world.arguments
        made = function(
            given.pop(0), given.pop(0), given.pop(0)
        )  # from here on the parameters alone have them
        if code.co_flags & 0x20:
            consumed(made, world)
        del made
        world.log.append("returned")
    except (Stop, Long, NameError, RuntimeError):
        world.log = [*world.log]  # what ends from here on does not count
        while world.log and world.log[-1].startswith("end "):
            world.log.pop()
    out, ends = [], []
    for one in [*world.log, ""]:
        if one.startswith("end "):
            ends.append(one)
        else:
            out += [*sorted(ends), one]
            ends = []
    return out


def difference(codes):
    """Where values of the two end at different effects; '' where they do not."""
    for bad in range(EFFECTS):
        for seed in range(WORLDS):
            one, other = (behaviour(code, seed, bad) for code in codes)
            if one != other:
                return "world %d, exception at effect %d:\n  %s\n  %s" % (seed, bad, one, other)
    return ""


def pair(seed, number):
    """(texts, codes) of the pair of that number. Torch's code clears its temporaries itself,
    mostly.
    """
    rng = random.Random("lifetimes %d/%d" % (seed, number))
    program = Drawn(rng).program()
    spelling = Spelling(rng)
    texts = [spelling.text(program)]
    texts.append((spelling.near() if rng.random() < 0.6 else Spelling(rng)).text(program))
    if rng.random() < 0.5:
        texts.reverse()
    codes = []
    for text in texts:
        names = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 3.14 and later: `return` in `finally`
            exec(compile(text, "<drawn>", "exec"), names)
        codes.append(names["f"].__code__)
    if rng.random() < 0.6:
        codes[0] = consume(codes[0], frozenset(NAMES))[0]
    kept = used_locals(codes[0]) if rng.random() < 0.3 else frozenset(NAMES)
    codes[1] = consume(codes[1], kept)[0]
    return texts, codes


def check(seed, number):
    """The verdict on the pair of that number, and what is wrong with it."""
    texts, codes = pair(seed, number)
    verdict, detail = _core.compare(
        codes[0], codes[1], dynamo=number % 2 == 0, decompiled=True, lifetimes=True
    )
    wrong = difference(codes) if verdict in PROVEN else ""
    if wrong:
        wrong = "%s%s%s (%s)\n%s" % (texts[0], texts[1], verdict, detail, wrong)
    return verdict, wrong


def run(seed, first, count):
    """(how often each verdict was given, {number: what is wrong})."""
    verdicts, wrong = {}, {}
    for number in range(first, first + count):
        verdict, what = check(seed, number)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        if what:
            wrong[number] = what
    return verdicts, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--show", type=int, default=3, help="wrong pairs that are printed")
    options = parser.parse_args()
    started = time.time()
    verdicts, wrong = run(options.seed, options.first, options.count)
    for number, what in list(wrong.items())[: options.show]:
        print("WRONG %d/%d\n%s" % (options.seed, number, what))
    print(
        "%d.%d lifetimes, seed %d, %d to %d: %s; %d wrong; %.0f s"
        % (
            sys.version_info[0],
            sys.version_info[1],
            options.seed,
            options.first,
            options.first + options.count - 1,
            ", ".join("%d %s" % (n, word) for word, n in sorted(verdicts.items())),
            len(wrong),
            time.time() - started,
        )
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
