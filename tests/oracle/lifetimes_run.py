#!/usr/bin/env python3
"""An attack on what the prover says about lifetimes: one random program in two spellings, and when what it makes ends.

A program makes values, uses them, and keeps them on the stack, in displays and in temporaries; each spelling names other values
and drops others. What the prover accepts as code that may run in torch's place runs in several worlds, and again with an
exception raised at every effect in turn. What is compared: the effects, and between which two of them each value ends. What ends
when an exception leaves the function is not: its traceback keeps the locals, and the stack is gone.

Runs under any CPython from 3.8 on that can import depyf; `scripts/attack --lifetimes` starts it for several.

    python3.X tests/oracle/lifetimes_run.py --seed 1 --first 0 --count 10000
"""

import argparse
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
WORLDS = 2
EFFECTS = 14
STEPS = 60


class Drawn:
    """A program: lists of statements, each a tuple that begins with its kind."""

    def __init__(self, rng):
        self.rng = rng

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
        if kind < 0.9:
            return ("name", rng.choice(ARGUMENTS))
        return ("if",) + tuple(self.expression(depth - 1) for _ in range(3))

    def several(self, depth, least):
        return [self.expression(depth - 1) for _ in range(self.rng.randrange(least, least + 3))]

    def body(self, depth, loop=False):
        return [self.statement(depth, loop) for _ in range(self.rng.randrange(1, 4))]

    def statement(self, depth, loop):
        rng = self.rng
        kind = rng.random()
        if depth <= 0 or kind < 0.35:
            return ("expression", self.expression(2))
        if kind < 0.6:
            return ("store", rng.choice(ARGUMENTS), self.expression(2))
        if kind < 0.7:
            return (
                "if",
                self.expression(1),
                self.body(depth - 1, loop),
                self.body(depth - 1, loop),
            )
        if kind < 0.8:
            return ("for", rng.choice(ARGUMENTS), self.expression(1), self.body(depth - 1, True))
        if kind < 0.9:
            opened = rng.choice(("finally:", "except Stop:"))
            return ("try", self.body(depth - 1, loop), opened, self.body(depth - 1))
        if kind < 0.95:
            return ("return", self.expression(2))
        return ("break",) if loop else ("store", "v0", ("name", "None"))


class Spelling:
    """One of many texts of a program."""

    def __init__(self, rng, named):
        self.rng, self.named = rng, named
        self.temporaries = 0
        self.lines = []

    def text(self, program):
        self.line(0, "def f(%s):" % ", ".join(ARGUMENTS))
        self.body(1, program)
        return "\n".join(self.lines) + "\n"

    def line(self, deep, text):
        self.lines.append("    " * deep + text)

    def keep(self, deep, text):
        """`text` in a temporary."""
        self.temporaries += 1
        name = "tmp_%d" % self.temporaries
        self.line(deep, "%s = %s" % (name, text))
        return name

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
            self.temporaries += 1
            name = "tmp_%d" % self.temporaries
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
            return one[1]
        if kind == "use":
            return "use(%s)" % ", ".join(map(self.plain, one[1]))
        if kind == "item":
            return "%s[%d]" % (self.display("list", list(map(self.plain, one[1]))), one[2])
        if kind == "if":
            return "(%s if %s else %s)" % tuple(self.plain(one[i]) for i in (2, 1, 3))
        return self.display(kind, list(map(self.plain, one[1])))

    def body(self, deep, statements):
        for one in statements:
            self.statement(deep, one)

    def statement(self, deep, one):
        kind = one[0]
        if kind == "expression":
            self.line(deep, self.expression(deep, one[1]))
        elif kind == "store":
            self.line(deep, "%s = %s" % (one[1], self.expression(deep, one[2])))
        elif kind == "return":
            self.line(deep, "return " + self.expression(deep, one[1]))
        elif kind == "if":
            self.line(deep, "if %s:" % self.expression(deep, one[1]))
            self.body(deep + 1, one[2])
            self.line(deep, "else:")
            self.body(deep + 1, one[3])
        elif kind == "for":
            self.line(deep, "for %s in several(%s):" % (one[1], self.expression(deep, one[2])))
            self.body(deep + 1, one[3])
        elif kind == "try":
            self.line(deep, "try:")
            self.body(deep + 1, one[1])
            self.line(deep, one[2])
            self.body(deep + 1, one[3])
        else:
            self.line(deep, kind)


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


def behaviour(code, seed, bad):
    """The effects, and in order of number what ends between two of them."""
    world = World(seed, bad)
    try:
        function, given = types.FunctionType(code, world.names), world.arguments
        function(
            given.pop(0), given.pop(0), given.pop(0)
        )  # from here on the parameters alone have them
        world.log.append("returned")
    except (Stop, Long):
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
    """(texts, codes) of the pair of that number. Torch's code clears its temporaries itself, mostly."""
    rng = random.Random("lifetimes %d/%d" % (seed, number))
    program = Drawn(rng).body(2)
    texts = [Spelling(rng, rng.choice((0, 0.3, 0.8))).text(program) for _ in range(2)]
    codes = []
    for text in texts:
        names = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 3.14 and later: `return` in `finally`
            exec(compile(text, "<drawn>", "exec"), names)
        codes.append(names["f"].__code__)
    if rng.random() < 0.7:
        codes[0] = consume(codes[0], frozenset(ARGUMENTS))[0]
    kept = used_locals(codes[0]) if rng.random() < 0.2 else frozenset(ARGUMENTS)
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
