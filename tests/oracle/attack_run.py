#!/usr/bin/env python3
"""An attack on the prover: near-equal pairs of random programs; what it accepts is run until the
two differ.

Beside what prover_run.py draws there are generators (driven by next, send, throw and close),
closures, comprehensions, sets and NaNs among the constants, locals() under its own and another
name, and names of torch's. Each accepted pair runs in several worlds, and in the first ones again
with an exception raised at every effect in turn. What is compared: each operation and test of
truth, the order in which sets give their items, which lists, dicts and NaNs are one object, what
locals() shows, how the program ends and what exceptions stand behind the one that it ends with.

Runs under any CPython from 3.7 on that can import depyf; `scripts/attack` starts it for several.

    python3.X tests/oracle/attack_run.py --seed 1 --first 0 --count 100000
"""

import argparse
import os
import random
import sys
import time
import types
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prover_run as base  # noqa: E402
from depyf import _core  # noqa: E402

PROVEN = ("identical", "exact", "equivalent")
WORLDS = 4
INJECTED_WORLDS = 1
STEPS = 40
NANS = ("'NaN0'", "'NaN1'")
SETS = (
    "{8, 0}",
    "{0, 8}",
    "{0, 17, 2}",
    "{17, 0, 2}",
    "{*(0, 17, 2)}",
    "{*(17, 0, 2)}",
    "{1, True}",
)
SETS += ("{0, 17, 2, 3, 4}", "{*(0, 17, 2, 3, 4)}", "{8, 0, 16}", "{0, 16, 8}", "{*(8, 0), *(16,)}")
DYNAMOS = ("__compiled_fn_1", "__resume_at_2_3", "__import_m")
STRICT, DECOMPILED, DYNAMO = range(3)


class Writer(base.Writer):
    """Adds to the programs of prover_run.py what its own list does not have."""

    def __init__(self, rng, mode, generator):
        super().__init__(rng)
        self.mode, self.generator = mode, generator

    def expression(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.7:
            return super().expression(depth)

        def inner():
            return self.expression(depth - 1)

        choices = [
            lambda: rng.choice(NANS),
            lambda: "[%s, %s]" % (rng.choice(NANS), rng.choice(NANS)),
            lambda: "(%s, %s)" % (rng.choice(NANS), rng.choice(NANS + ("1",))),
            lambda: "(%s in [%s, %s])" % (rng.choice(NANS), rng.choice(NANS), inner()),
            lambda: rng.choice(SETS),
            lambda: "[i for i in %s]" % rng.choice(SETS),
            lambda: "(%s in %s)" % (inner(), rng.choice(SETS)),
            lambda: "[%s for %s in %s]" % (rng.choice(("i", "x", "g(i)")), "i", inner()),
            lambda: "[(lambda: i) for i in %s]" % rng.choice(("(1, 2)", inner())),
            lambda: "[(lambda: %s) for %s in (1, 2)]" % ((rng.choice(("x", "y")),) * 2),
            lambda: "{k: %s for k in (1, 2)}" % inner(),
            lambda: "(lambda q=%s: (q, %s))" % (inner(), rng.choice(("x", "b", "q"))),
            lambda: "(%s %s %s)" % (inner(), rng.choice("+-*"), inner()),
            lambda: "(-%s)" % inner(),
            lambda: "(%s < %s < %s)" % (inner(), inner(), inner()),
            lambda: "(%s is%s [%s])" % (inner(), rng.choice(("", " not")), rng.choice("ab")),
            lambda: "(%s < %s is%s [])" % (inner(), inner(), rng.choice(("", " not"))),
            lambda: "((lambda: 0).__class__(%s, (lambda: 0).__globals__, None, None, (%s,)))"
            % (inner(), inner()),
        ]
        if self.mode == STRICT:
            choices += [lambda: rng.choice(("locals()", "L()", "g(L())", "K.locals()"))] * 2
        if self.mode == DYNAMO:
            choices += [lambda: "%s(%s)" % (rng.choice(DYNAMOS), inner())] * 2
            choices += [lambda: rng.choice(DYNAMOS)]
        if self.generator:
            choices += [lambda: "(yield %s)" % inner()] * 4
            choices += [lambda: "(yield from %s)" % rng.choice(("(1, 2)", "[a, b]", inner()))]
        return rng.choice(choices)()

    def statement(self, depth):
        rng = self.rng
        if rng.random() < 0.8:
            return super().statement(depth)
        local, value = rng.choice(base.LOCALS), self.expression(1)
        choice = rng.randrange(9 if depth > 0 else 5)
        if choice == 0:
            return ["%s %s= %s" % (local, rng.choice("+-"), value)]
        if choice == 1:
            return ["raise %s" % rng.choice(("E", "E(1)", "E from None", value))]
        if choice == 2:
            return ["tmp_1 = %s" % value] if self.mode == DYNAMO else ["t = %s" % value]
        if choice == 3:
            return ["%s = %s" % (rng.choice(("x", "y")), rng.choice(("a", "b", "1", "x")))] * 2
        if choice == 4:
            return ["return %s" % value] if not self.generator else ["yield %s" % value]
        if choice == 5:
            return ["def inner():", ["nonlocal x", "x = %s" % self.plain(), "return x"]]
        if choice == 6:
            return ["for i in %s:" % rng.choice(SETS), ["g(i)"] + self.body(depth - 1)]
        opened = [
            "try:",
            self.body(depth - 1),
            rng.choice(("except E as e:", "except (E, TypeError):")),
        ]
        opened += [self.body(depth - 1)]
        if choice == 8:
            opened += ["finally:", self.body(depth - 1)]
        return opened

    def plain(self):
        generator, self.generator = self.generator, False
        value = self.expression(1)
        self.generator = generator
        return value


class World(base.World):
    """Raises at effect number `bad`, and never else."""

    def __init__(self, seed, bad):
        self.bad, self.effects = bad, 0
        super().__init__(seed)
        note, answer = self.note, self.answer

        def binary(what):
            return lambda *operands: note(what, *operands) or answer()

        for name in "add radd sub rsub mul rmul lt gt neg iadd isub".split():
            setattr(self.kind, "__%s__" % name, binary(name))
        self.kind.__contains__ = (
            lambda thing, one: note("in", thing, one) or self.rng.random() < 0.5
        )
        self.globals["L"] = self.globals["locals"] = locals
        self.globals["K"] = types.SimpleNamespace(locals=locals)
        for name in DYNAMOS:
            self.globals[name] = self.function(name)

    def note(self, *what):
        self.effects += 1
        if self.effects > STEPS:
            raise base.Long
        self.log.append([self.shown(one) for one in what])
        if self.effects == self.bad:
            raise base.E

    def shown(self, value, depth=0):
        kind = type(value)
        if depth == 0:
            self.seen = set()
        if kind is float and value != value:
            self.kept.append(value)
            return "nan", self.numbers.setdefault(id(value), len(self.numbers)), str(value)
        if kind in (set, frozenset):
            return kind.__name__, [self.shown(one, depth + 1) for one in value]
        if kind is dict and value and all(type(key) is str for key in value):
            # locals() gives them in the order of the slots
            self.kept.append(value)
            if id(value) in self.seen:
                return ("dict",)
            self.seen.add(id(value))
            items = sorted(value.items())
            return "dict", depth < 6 and [self.shown(one, depth + 1) for one in items]
        if (
            kind is types.FunctionType
            and depth < 3
            and value.__code__.co_name in ("<lambda>", "inner")
        ):
            return "function", value.__code__.co_name, value.__doc__
        if kind is base.E or kind is base.Long:
            return (kind.__name__,)
        return super().shown(value, depth)


def chain(error):
    """Types of an exception and of those behind it."""
    out = []
    while error is not None and len(out) < 8:
        out.append((type(error).__name__, error.__suppress_context__, error.__cause__ is not None))
        error = error.__context__
    return out


def finished(world, value):
    """What the program gave back, and for what can be called or driven how that goes."""
    world.log.append(["end", world.shown(value)])
    called = 0
    pending, seen = [value], set()
    while pending and called < 6:
        one = pending.pop()
        if type(one) in (list, tuple):
            if id(one) not in seen:  # a list may hold itself
                pending.extend(one[:4])
            seen.add(id(one))
        elif type(one) is types.FunctionType and one.__code__.co_name in ("<lambda>", "inner"):
            called += 1
            try:
                world.log.append(["called", world.shown(one())])
            except Exception as error:
                world.log.append(["called", chain(error)])


def drive(world, generator, seed):
    """next, send, throw and close in an order that the seed gives."""
    rng = random.Random(seed * 7 + 1)
    for _ in range(8):
        action = rng.choice(("next", "next", "send", "throw", "close", "next"))
        try:
            if action == "next":
                got = next(generator)
            elif action == "send":
                got = generator.send(rng.choice((None, world.things[0])))
            elif action == "throw":
                got = generator.throw(rng.choice((base.E, ValueError, GeneratorExit))())
            else:
                got = generator.close()
        except base.Long:
            raise
        except BaseException as error:
            value = getattr(error, "value", None)
            world.log.append([action, "raised", chain(error), world.shown(value)])
            if generator.gi_frame is None:
                return
        else:
            world.log.append([action, world.shown(got)])


def behaviour(code, seed, bad=0):
    """(log, number of effects) of one run."""
    world = World(seed, bad)
    try:
        result = types.FunctionType(code, world.globals)(*world.things[1:])
        if type(result) is types.GeneratorType:
            drive(world, result, seed)
        else:
            finished(world, result)
    except base.Long:
        world.log.append("long")
    except Exception as error:
        world.log.append(["raised", chain(error)])
    return world.log, world.effects


def difference(codes):
    """Where the two behave differently; '' where they do not."""
    for seed in range(WORLDS):
        one, effects = behaviour(codes[0], seed)
        other, _ = behaviour(codes[1], seed)
        if one != other:
            return "world %d:\n  %s\n  %s" % (seed, one, other)
        for bad in range(1, min(effects, STEPS) + 1) if seed < INJECTED_WORLDS else ():
            one, other = behaviour(codes[0], seed, bad)[0], behaviour(codes[1], seed, bad)[0]
            if one != other:
                return "world %d, exception at effect %d:\n  %s\n  %s" % (seed, bad, one, other)
    return ""


def code_of(text, nans):
    return with_nans(base.code_of(text), nans)


def with_nans(code, nans):
    """`code` with the objects in `nans` where its constants hold their names."""

    def replaced(one):
        if type(one) is str:
            return nans.get(one, one)
        if type(one) is tuple:
            return tuple(map(replaced, one))
        return with_nans(one, nans) if isinstance(one, types.CodeType) else one

    consts = tuple(map(replaced, code.co_consts))
    if all(a is b for a, b in zip(consts, code.co_consts)):
        return code
    if sys.version_info >= (3, 8):
        return code.replace(co_consts=consts)
    from depyf.code_edit import replace

    return replace(code, co_consts=consts)


def pair(seed, number):
    """(mode, texts, codes) of the pair of that number; None where it does not compile."""
    rng = random.Random("%d/%d" % (seed, number))
    mode = number % 3
    body = Writer(rng, mode, rng.random() < 0.3).function()
    changed = base.mutated(rng, body)
    if rng.random() < 0.5:
        respell(rng, changed)
    texts = base.text_of(body), base.text_of(changed)
    if texts[0] == texts[1]:
        return None
    nans = {"NaN0": float("nan"), "NaN1": float("nan")}
    try:
        codes = [code_of(text, nans) for text in texts]
    except SyntaxError:
        return None
    if mode == DECOMPILED and rng.random() < 0.5:
        codes[1] = decompiled(rng, codes[1]) or codes[1]
    return mode, texts, codes


def decompiled(rng, code):
    """`code` through the decompiler, on a rung of its ladder."""
    try:
        text, _, constants, _ = _core.decompile(
            code, name="f", ladder=rng.choice((0, 5)), keep_temporaries=rng.random() < 0.3
        )
        if constants:
            return None
        return base.code_of(text)
    except (SyntaxError, ValueError, _core.DecompilationError):
        return None


#: small changes that keep or nearly keep what a program does
RESPELLED = (
    ("'NaN0'", "'NaN1'"),
    ("{8, 0}", "{0, 8}"),
    ("{0, 17, 2}", "{*(0, 17, 2)}"),
    ("{*(17, 0, 2)}", "{*(0, 17, 2)}"),
    ("{8, 0, 16}", "{*(8, 0), *(16,)}"),
    ("i for i in", "j for j in"),
    ("L()", "locals()"),
    ("__temp_1", "t"),
    ("x", "y"),
    ("E as e", "E"),
    ("E from None", "E"),
    ("__compiled_fn_1", "__resume_at_2_3"),
    ("yield from (1, 2)", "yield (1, 2)"),
    ("(lambda: x)", "(lambda: y)"),
    ("+=", "-="),
)


def respell(rng, body):
    old, new = rng.choice(RESPELLED)
    if rng.random() < 0.5:
        old, new = new, old
    everywhere = rng.random() < 0.5
    for inner in base.bodies(body):
        for i, one in enumerate(inner):
            if isinstance(one, str) and old in one:
                inner[i] = one.replace(old, new) if everywhere else one.replace(old, new, 1)
                if not everywhere:
                    return


def check(seed, number):
    """The verdict on the pair of that number, and what is wrong with it; None where there is no
    pair.
    """
    drawn = pair(seed, number)
    if drawn is None:
        return None
    mode, texts, codes = drawn
    if number % 2:
        codes.reverse()
    verdict, detail = _core.compare(
        codes[0], codes[1], dynamo=mode == DYNAMO, decompiled=mode != STRICT
    )
    if verdict not in PROVEN:
        if verdict == "different":
            return verdict, ""
        return verdict, ""
    wrong = difference(codes)
    if wrong:
        wrong = "%s%s\n%s (%s, mode %d)\n%s" % (texts + (verdict, detail, mode, wrong))
    return verdict, wrong


def run(seed, first, count, until=float("inf")):
    """(how often each verdict was given, {number: what is wrong}, pairs that were looked at)."""
    verdicts, wrong, number = {}, {}, first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + count):
            found = check(seed, number)
            if found is None:
                continue
            verdicts[found[0]] = verdicts.get(found[0], 0) + 1
            if found[1]:
                wrong[number] = found[1]
            if time.time() > until:
                break
    return verdicts, wrong


def main(run=run, description=__doc__, kind="", of_wrong=lambda seed, number: ""):
    """Runs an attack as the options say and prints its line of figures.

    `run(seed, first, count)` gives how often each verdict came and the wrong pairs with their
    reason; `of_wrong(seed, number)` is what is printed of a wrong pair before its reason.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--show", type=int, default=3, help="wrong pairs that are printed")
    options = parser.parse_args()
    started = time.time()
    verdicts, wrong = run(options.seed, options.first, options.count)
    for number, what in list(wrong.items())[: options.show]:
        head = "WRONG %d/%d" % (options.seed, number)
        print("%s%s\n%s" % (head, of_wrong(options.seed, number), what))
    print(
        "%d.%d%s seed %d, %d to %d: %d pairs, %s; %d wrong; %.0f s"
        % (
            sys.version_info[0],
            sys.version_info[1],
            kind,
            options.seed,
            options.first,
            options.first + options.count - 1,
            sum(verdicts.values()),
            ", ".join("%d %s" % (n, word) for word, n in sorted(verdicts.items())),
            len(wrong),
            time.time() - started,
        )
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
