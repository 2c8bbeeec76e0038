"""Random programs with graph breaks inside everything that a function can hold: `text_of(seed)`.

Each text has a function `f(x, n, log)` and what it needs; `python drawn.py SEED` shows one. Names
with an underscore in front are loop counters, so that every loop ends. With `lives=True`
(`python drawn.py SEED lives`), tensors and objects are watched: `LIVES` then tells where each died,
what is alive at places, and numbers of references. With `loops=True` (`python drawn.py SEED loops`),
f is a loop that breaks the graph by the tests of tensors, as solvers do.
"""

import random
import sys

HEAD = """import asyncio, collections, contextlib, dataclasses, functools, itertools, torch

graph_out_0 = 5
tmp_1 = [1]


@torch._dynamo.disable
def outside(value, *rest, **more):
    return value * 2 + len(rest) + len(more)


@torch._dynamo.disable
def note(log, *what):
    log.append(repr([tuple(w.shape) if isinstance(w, torch.Tensor) else w for w in what]))
    return len(what)


class Context:
    def __init__(self, log, swallows=False):
        self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append("in")
        return 2

    def __exit__(self, kind, error, trace):
        self.log.append("out" if kind is None else kind.__name__)
        return self.swallows


@contextlib.contextmanager
def managed(log, value):
    log.append("begin")
    try:
        yield value
    finally:
        log.append("end")


@dataclasses.dataclass
class Point:
    a: object
    b: int = 3

    @property
    def both(self):
        torch._dynamo.graph_break()
        return self.a + self.b

    def __add__(self, other):
        return Point(self.a + other, self.b + 1)


class Base:
    def __init__(self, k):
        self.k = k

    def go(self, x, *rest, scale=2):
        torch._dynamo.graph_break()
        return x * scale + self.k + len(rest)


class Derived(Base):
    def __init__(self, k):
        super().__init__(k + 1)

    def go(self, x, *rest, **more):
        return super().go(x, *rest, **more) + 1


def numbers(n):
    for _i in range(n):
        yield _i + 1


async def later(x, k):
    torch._dynamo.graph_break()
    return x + k


def now(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
"""

#: what a program with `lives=True` has besides: everything here writes into LIVES, which no traced code uses
WATCHES = """

import gc, sys, weakref

LIVES = []
ALIVE = weakref.WeakValueDictionary()


class Dies:
    def __init__(self, name, value=None):
        self.name, self.value = name, value

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        pass

    def __iter__(self):
        return iter((1, 2))

    def __add__(self, other):
        return other

    __radd__ = __add__

    def __call__(self, value):
        return value

    def __del__(self):
        LIVES.append("end " + self.name)


class Failure(ValueError):
    pass


@torch._dynamo.disable
def made(name, value=None):
    LIVES.append("made " + name)
    ALIVE[len(LIVES)] = one = Dies(name, value)
    return one


@torch._dynamo.disable
def watch(name, value):
    LIVES.append("watch " + name)
    if isinstance(value, (torch.Tensor, Dies)):
        weakref.finalize(value, LIVES.append, "end " + name + "'s value")
        ALIVE[len(LIVES)] = value
    return value


@torch._dynamo.disable
def drop(name, *values):
    LIVES.append("drop " + name)


@torch._dynamo.disable
def refs(name, *values):
    gc.collect()  # torch's cycles end here and nowhere else
    kinds = torch.Tensor, Dies
    LIVES.append((name, len(ALIVE), *[sys.getrefcount(v) for v in values if isinstance(v, kinds)]))
    return 1


@torch._dynamo.disable
def fail(name, value):
    LIVES.append("fail " + name)
    raise Failure(name)


def each(value):
    yield value
    torch._dynamo.graph_break()
    yield 2
"""


class Program:
    """One program that is being drawn."""

    def __init__(self, seed, version=None):
        self.draw = random.Random(seed)
        self.version = version or sys.version_info[:2]
        self.count = 0

    def name(self, start="v"):
        self.count += 1
        return "%s%d" % (start, self.count)

    def number(self):
        return self.draw.choice(["n", "n + 1", "2", "len(log)", "0", "1.5", "x.shape[0]"])

    def value(self, deep=2):
        """An expression that is a tensor, or can be added to one."""
        draw = self.draw
        if deep == 0:
            return draw.choice(["x", "x", "x + 1", "n", "x.sin()", "2.5"])
        a, b = self.value(deep - 1), self.value(deep - 1)
        _i = self.name("_i")
        kinds = [
            "(%s + %s)" % (a, b),
            "outside(%s)" % a,
            "outside(%s, %s, k=%s)" % (a, b, self.number()),
            "outside(*(%s, %s), **{'p': %s, 'q': 1})" % (a, b, self.number()),
            "outside(*[%s], 3, *(1, 2), r=%s, **dict(s=2))" % (a, self.number()),
            "outside(**{'value': %s, 'w': %s})" % (a, self.number()),
            "sum([outside(%s, %s) for %s in range(2)])" % (a, _i, _i),
            "sum(outside(%s) for %s in (3, 5, 7))" % (a, _i),
            "[%s, outside(%s)][0]" % (a, b),
            "{'a': %s, **{'b': outside(%s)}}['a']" % (a, b),
            "(lambda q, *r, w=%s: q + w + len(r))(%s, 1)" % (self.number(), a),
            "(lambda: outside(%s))()" % a,
            "(%s if n > 1 else outside(%s))" % (a, b),
            "(%s if x.sum() > 1 else %s)" % (a, b),
            "(n and outside(%s))" % a,
            "Base(%s).go(%s, 1, scale=3)" % (self.number(), a),
            "Derived(2).go(%s)" % a,
            "Point(%s).both" % a,
            "(Point(%s) + n).a" % a,
            "functools.partial(outside, w=3)(%s)" % a,
            "max(n, 2) * %s" % a,
            "now(later(%s, n))" % a,
            "len({1, n, outside(n)}) * %s" % a,
            "len(f'{n!r:>4}|{outside(n)!s}|{x.shape[0]:03d}') * %s" % a,
            "torch.cat([%s + x, outside(x)])[:3]" % a,
            "(-%s if not n else %s[...])" % (a, "x"),
            "next(iter([outside(%s), 2]))" % a,
            "(lambda *a, **k: outside(*a, **k))(%s, z=1)" % a,
            "[*map(outside, (%s, 2))][0]" % a,
            "dict(zip('ab', [%s, outside(%s)]))['b']" % (a, b),
        ]
        if self.version >= (3, 8):
            w = self.name("w")
            kinds += ["((%s := outside(%s)) + %s)" % (w, a, w)]
        return draw.choice(kinds)

    def iterable(self):
        return self.draw.choice(
            [
                "range(2)",
                "(3, 5, 7)",
                "[1, 2]",
                "'ab'",
                "{'a': 1, 'b': 2}.items()",
                "zip((1, 2), [3, 4])",
                "enumerate((4, 5))",
                "numbers(2)",
                "reversed([1, 2])",
                "map(lambda v: v + 1, (1, 2))",
                "itertools.chain((1,), [2])",
                "filter(None, (0, 1, 2))",
                "iter((n, 2))",
            ]
        )

    def block(self, deep, loop=False):
        lines = []
        for _ in range(self.draw.randint(1, 3)):
            lines += self.statement(deep, loop)
        return ["    " + line for line in lines]

    def statement(self, deep, loop):
        draw = self.draw
        simple = [self.stop, self.stop, self.assign, self.assign, self.effect, self.text]
        simple += [self.unpack, self.iterator, self.display, self.swap]
        compound = [self.with_, self.with_, self.try_, self.try_, self.for_, self.for_]
        compound += [self.if_, self.function, self.while_, self.match, self.class_]
        if loop and draw.random() < 0.15:
            return ["if n > 2:", "    " + draw.choice(["break", "continue"])]
        if draw.random() < 0.03:
            return ["if n == %d:" % draw.randint(0, 3), "    return x, n, log"]
        return draw.choice(simple if deep == 0 or draw.random() < 0.5 else compound)(
            *(() if deep == 0 else ()), deep=deep
        )

    # ---- statements without others inside

    def stop(self, deep):
        return [
            self.draw.choice(
                [
                    "torch._dynamo.graph_break()",
                    "note(log, n, x)",
                    "log.append(note(log, n))",
                    "x = outside(x)",
                ]
            )
        ]

    def assign(self, deep):
        left = self.draw.choice(["x = ", "x = ", "x += ", "y = x = "])
        return [left + self.value() + " + x * 0"]

    def effect(self, deep):
        v = self.name()
        return self.draw.choice(
            [
                ["log.append(n)"],
                ["%s = Base(n)" % v, "%s.k += 1" % v, "x = %s.go(x)" % v],
                ["%s = []" % v, "%s.append(x)" % v, self.stop(0)[0], "%s.append(outside(n))" % v]
                + ["x = x + len(%s)" % v],
                ["%s = {}" % v, "%s['k'] = outside(x)" % v, "x = %s['k']" % v],
                ["setattr(HOLDER, '0', n)", self.stop(0)[0], "x = x + getattr(HOLDER, '0')"],
                ["%s = x" % v, self.stop(0)[0], "del %s" % v],
                ["assert n < 100, f'{n}'"],
                ["assert n != 3, f'{n!r} is bad'"],
                ["%s = collections.deque([n, 1])" % v, "%s.appendleft(outside(n))" % v]
                + ["x = x + %s[0]" % v],
            ]
        )

    def text(self, deep):
        v = self.name("s")
        form = self.draw.choice(
            [
                "f'{n!r}'",
                "f'{n!r:>6}|{n!s}|{n!a}'",
                "f'{n:>{n + 3}}{x.shape[0]!r}'",
                "f'{log!r}{n}'",
                "'%s|%d' % (n, outside(n))",
                "'{}-{k}'.format(n, k=outside(n))",
                "f'{outside(n)!r}{{}}'",
                "f'{n!r}' + f'{outside(n)}'",
            ]
        )
        return ["%s = %s" % (v, form), self.stop(0)[0], "x = x + len(%s)" % v]

    def unpack(self, deep):
        a, b, c = self.name(), self.name(), self.name()
        return [
            "%s, (%s, *%s) = outside(n), (n, x, *[2, 3])" % (a, b, c),
            self.stop(0)[0],
            "x = x + %s + %s + len(%s)" % (a, b, c),
        ]

    def swap(self, deep):
        a, b = self.name(), self.name()
        return ["%s, %s = outside(x), n" % (a, b), "%s, %s = %s, %s" % (a, b, b, a)] + [
            self.stop(0)[0],
            "x = %s + %s" % (a, b),
        ]

    def iterator(self, deep):
        it = self.name("it")
        return [
            "%s = iter(%s)" % (it, self.draw.choice(["(3, 5, 7)", "[x, n, 2]", "range(5)"])),
            "x = x + next(%s)" % it,
            self.stop(0)[0],
            "x = x + next(%s, 0) + outside(n)" % it,
            self.draw.choice(["x = x + sum(%s)" % it, "pass"]),
        ]

    def display(self, deep):
        v = self.name("d")
        return [
            "%s = %s"
            % (
                v,
                self.draw.choice(
                    [
                        "{'a': n, **{'b': outside(n)}, 'c': 2}",
                        "[n, *[1, outside(n)], *(2, 3)]",
                        "{n, 1, *(2, outside(n))}",
                        "(n, *[outside(n)])",
                        "{str(_k): outside(_k) for _k in range(3)}",
                        "{_k % 2 for _k in range(3) if outside(_k)}",
                        "[(_k, _j) for _k in range(2) for _j in 'ab' if outside(_k) or True]",
                        "{**{str(_k): n for _k in range(20)}, 'z': outside(n)}",
                        "sorted({3, 1, 2}, key=lambda v: -v)",
                    ]
                ),
            ),
            self.stop(0)[0],
            "x = x + len(%s)" % v,
        ]

    # ---- statements with others inside

    def with_(self, deep):
        c = self.name("c")
        head = self.draw.choice(
            [
                "with Context(log) as %s:" % c,
                "with Context(log, True):",
                "with managed(log, n) as %s:" % c,
                "with torch.no_grad():",
                "with torch.enable_grad(), Context(log):",
                "with torch.autocast('cpu', enabled=False):",
                "with contextlib.nullcontext(x) as %s:" % c,
                "with contextlib.suppress(ValueError):",
                "with torch.set_grad_enabled(n > 1):",
            ]
        )
        return [head] + self.block(deep - 1)

    def raises(self):
        return self.draw.choice(
            [
                ["    if n == %d:" % self.draw.randint(0, 3), "        raise ValueError(n)"],
                ["    {}[n]" if self.draw.random() < 0.5 else "    int('z')"],
                [],
                [],
            ]
        )

    def try_(self, deep):
        lines = ["try:"] + self.block(deep - 1) + self.raises()
        kind = self.draw.randrange(5)
        if kind != 0:
            clause = self.draw.choice(
                ["except ValueError:", "except (ValueError, KeyError) as e:", "except Exception:"]
            )
            lines += [clause] + self.block(deep - 1)
            if " as e" in clause:
                lines += ["    log.append(type(e).__name__)"]
            if self.draw.random() < 0.1:
                lines += ["    raise"]
            if kind == 1:
                lines += ["else:"] + self.block(deep - 1)
        if kind in (0, 2):
            lines += ["finally:"] + self.block(deep - 1)
        return lines

    def for_(self, deep):
        i = self.name("i")
        lines = ["for %s in %s:" % (i, self.iterable())] + self.block(deep - 1, loop=True)
        if self.draw.random() < 0.2:
            lines += ["else:"] + self.block(deep - 1)
        return lines

    def while_(self, deep):
        i = self.name("_n")
        return ["%s = 0" % i, "while %s < 2:" % i, "    %s += 1" % i] + self.block(deep - 1, True)

    def if_(self, deep):
        test = self.draw.choice(
            ["n > 1", "x.sum() > 2", "outside(n) > 2 and x.max() > 0", "not n", "n in (1, 2)"]
        )
        lines = ["if %s:" % test] + self.block(deep - 1)
        if self.draw.random() < 0.6:
            lines += ["else:"] + self.block(deep - 1)
        return lines

    def function(self, deep):
        g, k = self.name("g"), self.name("k")
        head = self.draw.choice(["x, *r, w=n", "x, q=2", "x"])
        lines = ["%s = n" % k, "def %s(%s):" % (g, head)]
        if self.draw.random() < 0.5:
            lines += ["    nonlocal %s" % k, "    %s += 1" % k]
        else:
            lines += ["    x = x + %s" % k]
        lines += self.block(deep - 1) + ["    return x"]
        return lines + [
            self.draw.choice(["x = %s(x)" % g, "x = outside(%s(x)) + %s" % (g, k)]),
            "x = x[0] if isinstance(x, tuple) else x",
        ]

    def match(self, deep):
        if self.version < (3, 10):
            return self.if_(deep)
        lines = ["match %s:" % self.draw.choice(["n", "(n, 1)", "{'a': n}", "Point(x, n)"])]
        for case in ("1", "(2, _)", "{'a': 3, **rest}", "Point(b=2)", "_"):
            if case == "_" or self.draw.random() < 0.5:
                lines += ["    case %s:" % case]
                lines += ["    " + line for line in self.block(deep - 1)]
        return lines

    def class_(self, deep):
        c = self.name("C")
        return [
            "class %s(Base):" % c,
            "    size = n",
            "    def go(self, x):",
            "        torch._dynamo.graph_break()",
            "        return super().go(x) + self.size",
            "x = %s(1).go(x)" % c,
        ]


class Lives(Program):
    """A program that watches where its values die."""

    def __init__(self, seed, version=None):
        super().__init__(seed, version)
        self.held = []  # names of locals that may hold something watched

    def tag(self):
        self.count += 1
        return "'%d'" % self.count

    def some(self):
        return self.draw.choice(self.held) if self.held else "x"

    def value(self, deep=2):
        draw = self.draw
        if deep == 0 or draw.random() < 0.4:
            return super().value(deep)
        a, b = self.value(deep - 1), self.value(deep - 1)
        _i = self.name("_i")
        t, u = self.tag(), self.tag()
        return draw.choice(
            [
                "watch(%s, %s + x)" % (t, a),
                "(watch(%s, x + 1) + %s)" % (t, a),
                "outside(watch(%s, x + 2), made(%s), w=%s)" % (t, u, a),
                "outside(%s, watch(%s, x * 3), refs(%s, x))" % (a, t, u),
                "(made(%s) + %s)" % (t, a),
                "(%s + made(%s))" % (a, t),
                "made(%s)(%s)" % (t, a),
                "(made(%s) and %s)" % (t, a),
                "(%s if made(%s, x) else %s)" % (a, t, b),
                "(lambda q, r: q + refs(%s, r))(%s, made(%s))" % (t, a, u),
                "(lambda q: refs(%s, q) + q)(watch(%s, x * 4))" % (t, u),
                "outside(*[%s, made(%s)], **{'k': watch(%s, x - 1)})" % (a, t, u),
                "sum([outside(watch(%s, x + %s)) for %s in range(2)])" % (t, _i, _i),
                "sum(len(v.name) for v in [made(%s), made(%s)])" % (t, u),
                "made(%s, %s).value" % (t, a),
                "next(each(watch(%s, x * 5)))" % t,
                "Base(made(%s)).go(%s)" % (t, a),
                "[made(%s), outside(%s)][1]" % (t, a),
                "(made(%s), %s, refs(%s, x))[1]" % (t, a, u),
                "{'k': made(%s), 'x': %s}['x']" % (t, a),
            ]
        )

    def statement(self, deep, loop):
        draw = self.draw
        if draw.random() < 0.4:
            return super().statement(deep, loop)
        simple = [self.hold, self.hold, self.let_go, self.let_go, self.look, self.look, self.both]
        compound = [self.holding, self.raising, self.closing, self.going, self.yielding]
        return draw.choice(simple if deep == 0 or draw.random() < 0.6 else compound)(deep=deep)

    def hold(self, deep):
        v = self.name("h")
        form = self.draw.choice(
            [
                "made(%s)" % self.tag(),
                "made(%s, x)" % self.tag(),
                "watch(%s, x + 1)" % self.tag(),
                "watch(%s, torch.cat([x, x]))[:3]" % self.tag(),
                "[watch(%s, x * 2), made(%s)]" % (self.tag(), self.tag()),
                "x * 2",
                "(made(%s), n)" % self.tag(),
                "{'a': made(%s)}" % self.tag(),
                "Base(made(%s))" % self.tag(),
                self.some(),
            ]
        )
        self.held.append(v)
        # bound on every way to where it may be deleted
        return ["%s = None" % v, "%s = %s" % (v, form)]

    def let_go(self, deep):
        v = self.some()
        if v == "x":
            return ["x = x + 1"]
        return self.draw.choice(
            [
                ["%s = None" % v],
                ["%s = watch(%s, x + 3)" % (v, self.tag())],
                ["%s = made(%s, %s)" % (v, self.tag(), v)],
                ["del %s" % v, "refs(%s, x)" % self.tag(), "%s = n" % v],
                ["%s = n; torch._dynamo.graph_break()" % v],
                ["drop(%s, %s); %s = None" % (self.tag(), v, v)],
                ["%s, x = x, %s + x * 0" % (v, self.value(1))],
            ]
        )

    def look(self, deep):
        return self.draw.choice(
            [
                ["refs(%s, x, %s)" % (self.tag(), self.some())],
                ["x = x + refs(%s, x, %s)" % (self.tag(), self.some())],
                ["torch._dynamo.graph_break()", "refs(%s, %s)" % (self.tag(), self.some())],
            ]
        )

    def both(self, deep):
        a, b = self.name("h"), self.name("h")
        lines = ["%s, %s = made(%s), watch(%s, x + 1)" % (a, b, self.tag(), self.tag())]
        lines += self.look(0) + ["%s, %s = %s, %s" % (a, b, b, a)] + self.look(0)
        return lines + ["del %s" % a] + self.look(0) + ["del %s" % b]

    def holding(self, deep):
        return ["with made(%s) as %s:" % (self.tag(), self.name("c"))] + self.block(deep - 1)

    def raising(self, deep):
        lines = ["try:"] + self.block(deep - 1)
        lines += ["    fail(%s, watch(%s, x + 4))" % (self.tag(), self.tag())]
        lines += ["except Failure%s:" % self.draw.choice(["", " as e"])]
        lines += self.block(deep - 1)
        return lines + self.look(0)

    def closing(self, deep):
        c, g = self.name("h"), self.name("g")
        lines = ["%s = made(%s)" % (c, self.tag()), "def %s(x):" % g]
        lines += self.block(deep - 1) + ["    return refs(%s, x, %s)" % (self.tag(), c)]
        return lines + ["x = x + len(repr(%s(x)))" % g, "%s = None" % c] + self.look(0)

    def going(self, deep):
        i = self.name("h")
        head = "for %s in [made(%s), watch(%s, x + 1)]:" % (i, self.tag(), self.tag())
        return [head] + self.block(deep - 1, loop=True) + ["%s = None" % i] + self.look(0)

    def yielding(self, deep):
        g = self.name("h")
        lines = ["%s = each(made(%s))" % (g, self.tag()), "next(%s)" % g] + self.look(0)
        return lines + self.draw.choice([["del %s" % g], ["next(%s)" % g, "%s = 0" % g]])


class Loops(Program):
    """A loop whose number of iterations torch cannot know, with in-place operators: a solver.

    What one iteration computes has several names, is kept for the next one, or is dropped.
    """

    #: tensors like x, and tensors of one number
    vectors = ["x", "r", "p", "q"]
    numbers_ = ["rs", "new", "best"]

    def __init__(self, seed, version=None):
        super().__init__(seed, version)
        # torch leaves a loop to Python whose body breaks the graph by anything but a test
        self.breaks = self.draw.random() < 0.15

    def vector(self, deep=1):
        draw = self.draw
        if deep == 0:
            return draw.choice(self.vectors)
        a, b = self.vector(deep - 1), self.vector(deep - 1)
        s = draw.choice(self.numbers_ + ["0.5", "2", "n"])
        forms = ["(0.5 * %s)" % a, "(%s - 0.5 * %s)" % (a, b), "(%s - 0.25 * %s)" % (a, b)]
        forms += [
            "%s.clone()" % a,
            "(%s * (%s * 0.01))" % (a, s),
            "torch.where(%s > 0, %s, 0.5 * x)" % (a, b),
            "%s.sin()" % a,
        ]
        forms += ["(x + 1)", "(%s / (1 + %s.abs()))" % (a, b), "(0.5 * x + n)"]
        return draw.choice(forms)

    def scalar(self):
        a, b = self.vector(0), self.vector(0)
        forms = ["%s @ %s" % (a, b), "%s.sum()" % a, "%s.norm()" % a, "%s.abs().max()" % a]
        return self.draw.choice(forms + ["(%s * %s).mean()" % (a, b), "rs * 0.5", "new"])

    def test(self, likely=None):
        """A test of a tensor; `likely`: whether it mostly holds."""
        v, s = self.vector(0), self.draw.choice(self.numbers_)
        if likely is None or self.draw.random() < 0.15:
            likely = self.draw.random() < 0.5
        op, limit = self.draw.choice([("<", "1000"), (">", "0.0001")][:: 1 if likely else -1])
        if not likely:
            op = "<" if op == ">" else ">"
        forms = ["%s %s %s" % (s, op, limit), "%s.sqrt() %s %s" % (s, op, limit)]
        forms += ["%s.abs().sum() %s %s" % (v, op, limit), "%s.abs().max() %s %s" % (v, op, limit)]
        forms += ["(n > 1 or k < 5) and %s %s %s" % (s, op, limit)]
        forms += ["%s.isfinite().all()" % v if likely else "not %s.isfinite().all()" % v]
        forms += ["(%s > 0).any() or %s > k" % (v, s) if likely else "(%s > 900).any()" % v]
        forms += ["%s %s %s and %s < 900" % (s, op, limit, s)]
        if self.breaks:
            forms += ["torch.allclose(%s, x)" % v, "%s.item() %s %s" % (s, op, limit)]
        return self.draw.choice(forms)

    def step(self):
        draw = self.draw
        v, s = draw.choice(self.vectors), draw.choice(self.numbers_)
        breaks = [["note(log, n, k)"], ["%s = outside(%s)" % (v, v)]] if self.breaks else []
        return draw.choice(
            breaks
            + [
                ["%s += %s" % (v, self.vector())],
                ["%s -= %s" % (v, self.vector())],
                ["%s *= 0.5" % v],
                ["%s = %s" % (v, self.vector(2))],
                ["%s = %s" % (s, self.scalar())],
                ["new = %s" % self.scalar(), "rs = new"],
                ["new = r @ r", "p = r + new / (rs + 1) * p", "rs = new"],
                ["r, q = q, %s" % self.vector()],
                ["best, rs = rs, %s" % self.scalar()],
                ["%s[0] = %s" % (v, self.scalar())],
                ["%s.add_(%s)" % (v, self.vector(0))],
                ["k += 1"],
                ["kept.append(%s)" % v],
                ["a = %s" % self.scalar(), "%s = %s / (a.abs() + 1)" % (v, v), "del a"],
            ]
        )

    def leave(self):
        return self.draw.choice(
            ["break", "break", "continue", "return x, n, log", "return r", "raise ValueError(k)"]
        )

    def block(self, deep, loop=False):
        lines = []
        for _ in range(self.draw.randint(1, 4)):
            lines += self.statement(deep, loop)
        return ["    " + line for line in lines]

    def statement(self, deep, loop):
        draw = self.draw
        if loop and draw.random() < 0.25:
            return ["if %s:" % self.test(False), "    " + self.leave()]
        if deep == 0 or draw.random() < 0.8:
            return self.step()
        return draw.choice([self.loop, self.attempt, self.either, self.either])(deep)

    def either(self, deep):
        both = self.draw.choice([[], self.step()])
        lines = ["if %s:" % self.test()] + ["    " + line for line in both]
        lines += self.block(deep - 1)
        if both or self.draw.random() < 0.5:
            lines += ["else:"] + ["    " + line for line in both] + self.block(deep - 1)
        return lines

    def attempt(self, deep):
        lines = ["try:"] + self.block(deep - 1)
        if self.draw.random() < 0.5:
            lines += ["    if %s:" % self.test(), "        raise ValueError(k)"]
        if self.draw.random() < 0.3:
            return lines + ["finally:"] + self.block(deep - 1)
        return lines + ["except ValueError:"] + self.block(deep - 1)

    def loop(self, deep):
        i = self.name("_n")
        kind = self.draw.randrange(8)
        if kind == 0:
            lines = ["for %s in range(3):" % i]
        elif kind == 1:
            lines = ["%s = 0" % i, "while %s:" % self.test(True)]
            lines += ["    %s += 1" % i, "    if %s > 3:" % i, "        break"]
        elif kind == 2:
            lines = ["%s = 0" % i, "while %s < 3 and (%s):" % (i, self.test(True))]
            lines += ["    %s += 1" % i]
        else:
            # Where a value is set behind one test and before the next one, torch keeps it over the
            # first and hands it to neither way.
            lines = ["%s = 0" % i, "while (%s) and %s < 3:" % (self.test(True), i)]
            lines += ["    %s += 1" % i]
        lines += self.block(deep - 1, loop=True)
        if self.draw.random() < 0.25:
            lines += ["else:"] + self.block(deep - 1)
        return lines

    def body(self):
        """The statements of the function."""
        lines = ["k, kept = 0, []", "r = x - 0.5", "p, q = r.clone(), x", "rs = new = r @ r"]
        lines += [self.draw.choice(["best = rs", "best = rs * 2", "p = r + 1"]) for _ in "ab"]
        lines += ["best = p.sum()"] + self.loop(self.draw.randint(1, 2))
        for _ in range(self.draw.randint(0, 2)):
            lines += self.statement(1, False)
        end = self.draw.choice(["x, k, log", "x + len(kept), k", "(r, p, q, rs, new, best)", "x"])
        return lines + ["return " + end]


def text_of(seed, version=None, lives=False, loops=False):
    """The text of the program `seed`, for CPython `version` (default: the running one)."""
    program = (Loops if loops else Lives if lives else Program)(seed, version)
    if loops:
        lines = ["def f(x, n, log):"] + ["    " + line for line in program.body()]
        return HEAD + "\n\n" + "\n".join(lines) + "\n"
    body = []
    for _ in range(3):
        body += program.statement(3, False)
    body += ["return x, n, log"]
    lines = ["def f(x, n, log):"] + ["    " + line for line in body]
    return HEAD + lives * WATCHES + "\n\nHOLDER = Base(0)\n\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    kinds = {"lives": "lives" in sys.argv, "loops": "loops" in sys.argv}
    print(text_of(int(sys.argv[1]), **kinds)[len(HEAD) :])
