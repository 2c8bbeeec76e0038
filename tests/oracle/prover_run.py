#!/usr/bin/env python3
"""The prover against the interpreter: random pairs of programs that differ a little. What it
accepts must behave the same.

A program gets functions and objects that write down what is done with them (`World`): calls with
their arguments and which object is in which, attributes, items, tests, comparisons, formats,
context managers. They answer by chance, from a seed, change what they are given, rebind a global,
and raise. Two programs behave the same when what was written down and how they end is the same for
every seed.

    python tests/oracle/prover_run.py --first 0 --count 100000
"""

import argparse
import random
import re
import sys
import types
import warnings

from depyf import _core

LOCALS = ("x", "y", "__temp_1", "__temp_2")
NAMES = ("a", "b") + LOCALS + ("u", "v")
CONSTANTS = ("0", "1", "-1", "2", "None", "True", "'k'", "'q'", "1.0", "()", "(1, 2)")
STARTS = ("a", "b", "a", "b", "[a]", "[a, b]", "{'k': b}", "(a, b)", "g(a)", "1")
FIXED = frozenset("is not and or if else lambda del pass append reverse global return".split())
WORD = re.compile(r"__temp_\d|'\w+'|\w+|\s+|.")
#: a call, a display, a load that may be kept in a temporary before the statement
PART = re.compile(r"\b[gh]\(\)|\[\w+\]|\(\w+,\)|\{'\w': \w+\}|\ba\.p|\bu\b")
SEEDS = 25
STEPS = 60


class Writer:
    """Random functions of two arguments: a body is a list of statements, and of bodies behind what
    opens a block.
    """

    def __init__(self, rng):
        self.rng = rng

    def several(self, least, most, depth):
        return ", ".join(self.expression(depth) for _ in range(self.rng.randint(least, most)))

    def expression(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            return rng.choice(NAMES) if rng.random() < 0.85 else rng.choice(CONSTANTS)

        def inner():
            return self.expression(depth - 1)

        return rng.choice(
            (
                lambda: "[%s]" % self.several(0, 3, depth - 1),
                lambda: "(%s,)" % self.several(1, 3, depth - 1),
                lambda: (
                    "{%s: %s, 'q': %s}" % (rng.choice(("'k'", "'q'", inner())), inner(), inner())
                ),
                lambda: (
                    "[%s][%s]"
                    % (
                        self.several(1, 3, depth - 1),
                        rng.choice(("0", "1", "-1", "2", "0:1", "1:", ":", "::-1", inner())),
                    )
                ),
                lambda: "(%s, %s)[%s]" % (inner(), inner(), rng.choice(("0", "1", ":1"))),
                lambda: "g(%s)" % self.several(0, 2, depth - 1),
                lambda: "h(%s)" % self.several(0, 2, depth - 1),
                lambda: "g(*[%s])" % self.several(0, 2, depth - 1),
                lambda: "g(*%s)" % inner(),
                lambda: "g(%s, k=%s)" % (inner(), inner()),
                lambda: "g(**{'k': %s, 'q': %s})" % (inner(), inner()),
                lambda: "g(*[%s], **{'k': %s})" % (inner(), inner()),
                lambda: "g(%s, **%s)" % (inner(), rng.choice(LOCALS)),
                lambda: "(%s is %s)" % (inner(), rng.choice(("None", inner()))),
                lambda: "(not %s)" % inner(),
                lambda: "%s.p" % inner(),
                lambda: "(%s if %s else %s)" % (inner(), inner(), inner()),
                lambda: "(%s %s %s)" % (inner(), rng.choice(("and", "or")), inner()),
                lambda: "(%s == %s)" % (inner(), inner()),
                lambda: "[*%s, %s]" % (rng.choice(("(1, 2)", inner())), inner()),
                lambda: "(lambda: %s)" % rng.choice(("a", "b")),
                lambda: "f'{%s:>2}'" % inner(),  # with a format, what shows an address raises
            )
        )()

    def body(self, depth):
        return [
            one
            for _ in range(self.rng.randint(1, 5 if depth > 1 else 3))
            for one in self.statement(depth)
        ]

    def statement(self, depth):
        rng = self.rng
        local, other = rng.choice(LOCALS), rng.choice(LOCALS)
        value = self.expression(rng.randint(1, 2))
        choice = rng.randrange(20 if depth > 0 else 15)
        if choice < 7:
            return ["%s = %s" % (rng.choice(NAMES[:6]), value)]
        if choice < 9:
            return [value]
        if choice == 9:
            return [
                "%s, %s = %s" % (local, other, rng.choice((value, "[%s, %s]" % (value, local))))
            ]
        if choice == 10:
            constants = rng.choice(CONSTANTS), rng.choice(CONSTANTS)
            return ["%s = %s" % (local, constants[0]), "%s = %s" % (other, constants[1])]
        if choice == 11:
            return ["%s.p = %s" % (rng.choice("ab"), value)]
        if choice == 12:
            return ["%s[%s] = %s" % (local, rng.choice(("0", "'k'", ":")), value)]
        if choice == 13:
            return ["del %s" % local]
        if choice == 14:
            return [
                rng.choice((local + ".p(%s)", local + ".append(%s)", "[a, b].append(%s)")) % value
            ]
        opened = (
            ["if %s:" % value],
            ["for %s in %s:" % (local, rng.choice(("(1, 2)", value)))],
            ["while g():"],
            ["with a:"],
            ["try:", self.body(depth - 1), rng.choice(("except E:", "finally:"))],
        )[choice - 15]
        closed = ["else:", self.body(depth - 1)] if choice == 15 and rng.random() < 0.5 else []
        return opened + [self.body(depth - 1)] + closed

    def function(self):
        rng, body = self.rng, self.body(2)
        if rng.random() < 0.9:  # a program gets somewhere when its locals are bound
            starts = ["%s = %s" % (name, rng.choice(STARTS)) for name in LOCALS]
            rng.shuffle(starts)
            body[:0] = starts
        if rng.random() < 0.3:
            body[:0] = ["global u"]
            body.insert(rng.randrange(1, len(body)), "u = %s" % self.expression(1))
        return body + [
            "return %s" % rng.choice(("lambda: (x, a)", self.expression(2), self.expression(2)))
        ]


def text_of(body):
    """A body as the source of a function."""
    lines = ["def f(a, b):"]

    def add(statements, indentation):
        for one in statements:
            if isinstance(one, list):
                add(one, indentation + 1)
            else:
                lines.append(" " * indentation + one)

    add(body, 1)
    return "\n".join(lines) + "\n"


def copied(body):
    return [copied(one) if isinstance(one, list) else one for one in body]


def bodies(body):
    return [body] + [inner for one in body if isinstance(one, list) for inner in bodies(one)]


def mutated(rng, body):
    """A copy with a few changes; some leave the behaviour as it is, most do not."""
    body = copied(body)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        where = rng.choice(bodies(body))
        simple = [
            i for i, one in enumerate(where) if isinstance(one, str) and not one.endswith(":")
        ]
        if not simple:
            continue
        at, kind = rng.choice(simple), rng.randrange(8)
        target, _, value = where[at].partition(" = ")
        assigns = value and not target.startswith("global")
        if kind == 0 and at + 1 in simple:
            where[at], where[at + 1] = where[at + 1], where[at]
        elif kind == 1:
            where[at] = "pass"
        elif kind == 2:
            where.insert(at, where[at])
        elif kind == 3:
            parts = WORD.findall(where[at])
            words = [
                i for i, part in enumerate(parts) if re.match(r"['\w]", part) and part not in FIXED
            ]
            if words:
                parts[rng.choice(words)] = rng.choice(NAMES + ("0", "1", "'k'", "None", "g", "h"))
                where[at] = "".join(parts)
        elif kind == 4 and assigns:  # the value waits in a temporary
            where[at : at + 1] = ["__temp_3 = " + value, target + " = __temp_3"]
        elif kind == 5 and assigns and at + 1 in simple and where[at + 1].count(target) == 1:
            where[at : at + 2] = ["pass", where[at + 1].replace(target, "(%s)" % value)]
        elif kind == 6 and not where[at].startswith(
            ("del", "global")
        ):  # a part is evaluated earlier
            found = PART.search(where[at])
            if found:
                rest = where[at][: found.start()] + "__temp_4" + where[at][found.end() :]
                where[at : at + 1] = ["__temp_4 = " + found.group(), rest]
        elif kind == 7:  # another name for a temporary
            for inner in bodies(body):
                inner[:] = [
                    one if isinstance(one, list) else one.replace("__temp_1", "__temp_5")
                    for one in inner
                ]
    return body


class E(Exception):
    """What the world raises."""


class Long(BaseException):
    """Enough was seen."""


class World:
    """What a program can see and do, written down in `log`; the answers come from a seed."""

    def __init__(self, seed):
        self.rng, self.log = random.Random(seed), []
        self.numbers, self.kept = {}, []
        note, answer = self.note, self.answer

        def noting(what, answers=True):
            def method(*arguments, **keywords):
                note(what, arguments, keywords)
                return answer() if answers else None

            return method

        def get(thing, name):
            note("get", thing, name)
            return answer()

        members = {name: noting(name) for name in ("__call__", "__getitem__", "__enter__")}
        members.update({name: noting(name, False) for name in ("__setattr__", "__setitem__")})
        members.update(
            __getattr__=get,
            __bool__=lambda thing: note("bool", thing) or self.rng.random() < 0.5,
            __eq__=lambda thing, other: note("eq", thing, other) or answer(),
            __hash__=lambda thing: note("hash", thing) or 1,
            append=lambda thing, one: note("append", thing, one),
            __iter__=lambda thing: note("iter", thing) or iter((1, 2)),
            __format__=lambda thing, form: note("format", thing) or "T",
            keys=lambda thing: note("keys", thing) or ["k"],
            __exit__=lambda thing, *error: note("exit", thing, error[0]) or self.rng.random() < 0.5,
        )
        self.kind = type("Thing", (), members)
        self.things = [self.kind() for _ in range(3)]
        self.globals = {"g": self.function("g"), "h": self.function("h"), "E": E}
        self.globals.update(u=self.things[0], v=[1], __builtins__={})

    def function(self, name):
        def call(*arguments, **keywords):
            self.note(name, arguments, keywords)
            if self.rng.random() < 0.3:
                self.globals["u"] = self.answer()
            for one in arguments + tuple(keywords.values()):
                if self.rng.random() < 0.4 and len(self.log) % 2:
                    if type(one) is list and len(one) < 6:
                        one.append(self.answer())
                    elif type(one) is dict:
                        one["k"] = self.answer()
            return self.answer()

        return call

    def answer(self):
        rng = self.rng
        thing = rng.choice(self.things)  # most often: it takes part in anything
        others = (None, True, False, [thing], [thing, 1], {"k": thing}, (1, 2), 1)
        return thing if rng.random() < 0.6 else rng.choice(others)

    def note(self, *what):
        if len(self.log) > STEPS:
            raise Long
        self.log.append([self.shown(one) for one in what])
        if self.rng.random() < 0.03:
            raise E

    def shown(self, value, depth=0):
        """The value as data: type, contents, and for what can change which object it is."""
        kind = type(value)
        if depth == 0:
            self.seen = set()
        if kind is self.kind:
            return "thing", [one is value for one in self.things].index(True)
        if kind in (list, dict):
            self.kept.append(value)  # so that its id is not another object's
            number = self.numbers.setdefault(id(value), len(self.numbers))
            if number in self.seen:  # lists that hold each other have too many ways through them
                return (kind.__name__, number)
            self.seen.add(number)
            items = list(value.items()) if kind is dict else value
            return (
                kind.__name__,
                number,
                depth < 6 and [self.shown(one, depth + 1) for one in items],
            )
        if kind is tuple:
            return "tuple", [self.shown(one, depth + 1) for one in value]
        if kind in (int, float, bool, str, type(None)):
            return kind.__name__, repr(value)
        return (kind.__name__,)


def behaviour(code, seed):
    """What running the code in the world of that seed writes down, and how it ends."""
    world = World(seed)
    arguments = [world.answer(), world.answer()] if seed % 4 == 3 else world.things[1:]
    try:
        end = world.shown(types.FunctionType(code, world.globals)(*arguments))
    except Long:
        end = "long"
    except Exception as error:
        end = type(error).__name__
    return world.log, end


def code_of(text):
    module = compile(text, "<program>", "exec")
    return next(one for one in module.co_consts if isinstance(one, types.CodeType))


def pair(number):
    """The two texts of that number; None where they do not compile."""
    rng = random.Random(number)
    body = Writer(rng).function()
    texts = text_of(body), text_of(mutated(rng, body))
    try:
        for text in texts:
            code_of(text)
    except SyntaxError:
        return None
    return texts if texts[0] != texts[1] else None


def check(number):
    """The verdict on the pair of that number, and what is wrong with it; None where there is no
    pair.
    """
    texts = pair(number)
    if texts is None:
        return None
    codes = [code_of(text) for text in texts]
    if number % 2:
        codes.reverse()
    verdict = _core.compare(codes[0], codes[1], dynamo=number % 4 > 1)[0]
    if verdict not in ("unproven", "different"):
        for seed in range(SEEDS):
            one, other = (behaviour(code, seed) for code in codes)
            if one != other:
                return verdict, "%s\n%s\n%s\n%s" % (texts + (one, other))
    return verdict, ""


def run(first, count):
    """How often each verdict was given, and the wrong ones: number -> what is wrong."""
    verdicts, wrong = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for number in range(first, first + count):
            found = check(number)
            if found is None:
                continue
            verdicts[found[0]] = verdicts.get(found[0], 0) + 1
            if found[1]:
                wrong[number] = found[1]
    return verdicts, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10000)
    options = parser.parse_args()
    verdicts, wrong = run(options.first, options.count)
    for number, what in list(wrong.items())[:3]:
        print("WRONG %d\n%s" % (number, what))
    print("%s; %d wrong" % (verdicts, len(wrong)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
