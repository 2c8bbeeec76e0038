"""Pairs of functions that are nearly the same and behave differently: the prover may accept none of
them.

The pairs here are about what displays, tests of identity and handlers do. The folder `pairs` has a
file for each other rule of src/simplify and for what src/verify decides itself; a pair there is `=
name` or `= 3.X name` (not before 3.X), the body of `f(a, b, g)`, a line `-`, and another body. Runs
under any CPython from 3.7 on that can import depyf: each pair is run on arguments that record what
is done to them until the two differ, so that no pair is here for nothing, and compared both ways
round, as code of Dynamo's and as any other.

    python3.X tests/oracle/prover_pairs.py
"""

import dis
import glob
import os
import random
import re
import sys
import types
import warnings

from depyf import _core

PAIRS = {
    "set: another item": ("def f(): return {1, 2, 3}", "def f(): return {1, 2, 4}"),
    "set: one more": ("def f(): return {1, 2, 3}", "def f(): return {1, 2, 3, 4}"),
    "set: 1 or True": ("def f(): return {1, 2, 3}", "def f(): return {True, 2, 3}"),
    "set: 1 or 1.0": ("def f(): return {1, 2, 3}", "def f(): return {1.0, 2, 3}"),
    "set: 1 then True": ("def f(): return {1, True, 'x'}", "def f(): return {True, 1, 'x'}"),
    "set: 1 then 1.0": ("def f(): return {1, 1.0}", "def f(): return {1.0, 1}"),
    "set: 0 then False": ("def f(): return {0, False}", "def f(): return {False, 0}"),
    "set: 0.0 then -0.0": ("def f(): return {0.0, -0.0}", "def f(): return {-0.0, 0.0}"),
    "set: tuples with 1 and True": (
        "def f(): return {(1,), (True,)}",
        "def f(): return {(True,), (1,)}",
    ),
    "set: tuples with zeros": (
        "def f(): return {(0.0,), (-0.0,)}",
        "def f(): return {(-0.0,), (0.0,)}",
    ),
    "set: tuple item": ("def f(): return {(1,), 2, 3}", "def f(): return {(1.0,), 2, 3}"),
    "set: calls in another order": (
        "def f(a, b): return {a(), b()}",
        "def f(a, b): return {b(), a()}",
    ),
    "set: locals in another order": ("def f(x, y): return {x, y}", "def f(x, y): return {y, x}"),
    "set: str and bytes": ("def f(): return {'a', 'b', 'c'}", "def f(): return {'a', b'b', 'c'}"),
    "set or frozenset": (
        "def f(g): return g({1, 2, 3})",
        "def f(g): return g(frozenset({1, 2, 3}))",
    ),
    "set or tuple": ("def f(g): return g({1, 2, 3})", "def f(g): return g((1, 2, 3))"),
    "empty set or list": ("def f(): return {*()}", "def f(): return [*()]"),
    "empty set or dict": ("def f(): return {*()}", "def f(): return {}"),
    "empty set: star of a local": ("def f(x): return {*x}", "def f(x): return {*()}"),
    "empty set: star of two": ("def f(x): return {*(), *x}", "def f(x): return {*()}"),
    "empty set, shared": (
        "def f():\n __temp_1 = {*()}\n return [__temp_1, __temp_1]",
        "def f(): return [{*()}, {*()}]",
    ),
    "set, shared": (
        "def f():\n __temp_1 = {1, 2, 3}\n return [__temp_1, __temp_1]",
        "def f(): return [{1, 2, 3}, {1, 2, 3}]",
    ),
    "set changed": (
        "def f(g):\n __temp_1 = {1, 2, 3}\n __temp_1.add(4)\n g()\n return __temp_1",
        "def f(g):\n __temp_1 = {1, 2, 3}\n g()\n return __temp_1",
    ),
    "set changed later": (
        "def f(g):\n __temp_1 = {1, 2, 3}\n __temp_1.add(4)\n g(__temp_1)\n return __temp_1",
        "def f(g):\n __temp_1 = {1, 2, 3}\n g(__temp_1)\n __temp_1.add(4)\n return __temp_1",
    ),
    "set in a set's place": (
        "def f(g): return g({1, 2, 3}, {4, 5, 6})",
        "def f(g): return g({4, 5, 6}, {1, 2, 3})",
    ),
    "set is itself": (
        "def f():\n __temp_1 = {1, 2, 3}\n return __temp_1 is __temp_1",
        "def f():\n return {1, 2, 3} is {1, 2, 3}",
    ),
    "set made before an exception": (
        "def f(g):\n try:\n  __temp_1 = {*g()}\n except E: return 1\n return __temp_1",
        "def f(g):\n __temp_1 = {*g()}\n return __temp_1",
    ),
    "update of what escaped": (
        "def f(g):\n __temp_1 = {*()}\n g(__temp_1)\n __temp_1.update((1, 2, 3))\n return __temp_1",
        "def f(g):\n __temp_1 = {1, 2, 3}\n g(__temp_1)\n return __temp_1",
    ),
    "set in augmented assignment": (
        "def f(x):\n x |= {1, 2, 3}\n return x",
        "def f(x):\n x = x | {1, 2, 3}\n return x",
    ),
    "set of nan or inf": ("def f(): return {1e999, 2.0}", "def f(): return {-1e999, 2.0}"),
    "set of big ints": ("def f(): return {10**30, 1, 2}", "def f(): return {-10**30, 1, 2}"),
    "set of surrogates": (
        "def f(): return {'\\ud800', 'a', 'b'}",
        "def f(): return {'\\ud801', 'a', 'b'}",
    ),
    "set of nuls": ("def f(): return {'a\\0', 'a', 'b'}", "def f(): return {'a\\0b', 'a', 'b'}"),
    "set of None and Ellipsis": ("def f(): return {None, ..., 1}", "def f(): return {None, 1}"),
    "dict: order of constant keys": (
        "def f(): return {1: 'a', 2: 'b'}",
        "def f(): return {2: 'b', 1: 'a'}",
    ),
    "dict: values swapped": (
        "def f(a, b): return {1: a, 2: b}",
        "def f(a, b): return {1: b, 2: a}",
    ),
    "dict: key 1 or True": ("def f(a): return {1: a}", "def f(a): return {True: a}"),
    "dict: key 1 or 1.0": ("def f(a): return {1: a}", "def f(a): return {1.0: a}"),
    "dict: key 0.0 or -0.0": ("def f(a): return {0.0: a}", "def f(a): return {-0.0: a}"),
    "dict: equal keys, first one stays": (
        "def f(a, b): return {1: a, True: b}",
        "def f(a, b): return {True: a, 1: b}",
    ),
    "dict: equal keys, only one": (
        "def f(a, b): return {1: a, True: b}",
        "def f(a, b): return {True: b}",
    ),
    "dict: equal keys, last value counts": (
        "def f(a, b): return {1: a, 1: b}",
        "def f(a, b): return {1: a}",
    ),
    "dict: zeros": (
        "def f(a, b): return {0.0: a, -0.0: b}",
        "def f(a, b): return {-0.0: a, 0.0: b}",
    ),
    "dict: equal keys, values": (
        "def f(a, b): return {1: a, 1.0: b, True: a}",
        "def f(a, b): return {1: a, 1.0: b, True: b}",
    ),
    "dict: merged in another order": (
        "def f(a, b): return {**{1: a}, **{1.0: b}}",
        "def f(a, b): return {**{1.0: b}, **{1: a}}",
    ),
    "dict: merged, equal keys": (
        "def f(a, b): return {**{1: a}, **{1.0: b}}",
        "def f(a, b): return {1.0: b}",
    ),
    "dict: merged after": (
        "def f(a, b): return {**{1: a}, 2: b}",
        "def f(a, b): return {2: b, **{1: a}}",
    ),
    "dict: unpacked local first": (
        "def f(a, b): return {**a, 1: b}",
        "def f(a, b): return {1: b, **a}",
    ),
    "dict: unpacked between": (
        "def f(a, b): return {1: b, **a, 2: b}",
        "def f(a, b): return {1: b, 2: b, **a}",
    ),
    "dict: calls in another order": (
        "def f(a, b): return {1: a(), 2: b()}",
        "def f(a, b): return {2: b(), 1: a()}",
    ),
    "dict: call order, same dict": (
        "def f(a, b): return {1: a(), 2: b()}",
        "def f(a, b):\n __temp_1 = b()\n return {1: a(), 2: __temp_1}",
    ),
    "dict: merged, calls": (
        "def f(a, b): return {1: a(), **{2: b()}}",
        "def f(a, b):\n __temp_1 = {2: b()}\n return {1: a(), **__temp_1}",
    ),
    "dict: key is a local": (
        "def f(x, y): return {x: 1, y: 2}",
        "def f(x, y): return {y: 2, x: 1}",
    ),
    "dict: local and constant key": (
        "def f(x): return {x: 1, 1: 2}",
        "def f(x): return {1: 2, x: 1}",
    ),
    "dict: hash of a local before the next value": (
        "def f(x, g): return {**{x: 1}, 2: g()}",
        "def f(x, g):\n __temp_1 = g()\n return {**{x: 1}, 2: __temp_1}",
    ),
    "dict: unhashable dropped": ("def f(x, g):\n {x: 1}\n return g()", "def f(x, g): return g()"),
    "dict: tuple key with a list": (
        "def f(x, g):\n {(x,): 1}\n return g()",
        "def f(x, g): return g()",
    ),
    "dict: merged mapping of a local": (
        "def f(x): return {**{**x}, 1: 2}",
        "def f(x): return {**{1: 2}, **x}",
    ),
    "dict: escaped copy": (
        "def f(g):\n __temp_1 = {1: 2}\n return [{**__temp_1}, __temp_1]",
        "def f(g):\n __temp_1 = {1: 2}\n return [__temp_1, __temp_1]",
    ),
    "dict: copy or itself": (
        "def f(g):\n __temp_1 = {1: 2}\n __temp_2 = {**__temp_1}\n __temp_2[3] = 4\n return [__temp_1, __temp_2]",
        "def f(g):\n __temp_1 = {1: 2}\n __temp_2 = __temp_1\n __temp_2[3] = 4\n return [__temp_1, __temp_2]",
    ),
    "dict: used twice": (
        "def f(g):\n __temp_1 = {1: 2}\n return [{**__temp_1, 3: 4}, {**__temp_1}]",
        "def f(g):\n __temp_1 = {1: 2}\n return [{**__temp_1, 3: 4}, {**__temp_1, 3: 4}]",
    ),
    "dict: steps after an exception": (
        "def f(g):\n __temp_1 = {1: 2}\n try: __temp_1[3] = g()\n except E: pass\n return __temp_1",
        "def f(g):\n try: return {1: 2, 3: g()}\n except E: pass\n return {}",
    ),
    "keywords: the same twice": (
        "def f(g, a, b): return g(**{'x': a}, **{'x': b})",
        "def f(g, a, b): return g(x=b)",
    ),
    "keywords: the same twice in one": (
        "def f(g, a, b): return g(**{**{'x': a}, 'x': b})",
        "def f(g, a, b): return g(**{'x': a}, x=b)",
    ),
    "keywords: one in one": (
        "def f(g, a, b): return g(**{'x': a, 'x': b})",
        "def f(g, a, b): return g(x=a)",
    ),
    "keywords: key that is no text": (
        "def f(g, a): return g(**{1: a})",
        "def f(g, a): return g(**{'1': a})",
    ),
    "keywords: order": (
        "def f(g, a, b): return g(**{'x': a}, y=b)",
        "def f(g, a, b): return g(y=b, **{'x': a})",
    ),
    "keywords: call order": (
        "def f(g, a, b): return g(**{'x': a()}, y=b())",
        "def f(g, a, b):\n __temp_1 = b()\n return g(**{'x': a()}, y=__temp_1)",
    ),
    "keywords: kept": (
        "def f(g, a):\n __temp_1 = {'x': a}\n return [g(**__temp_1), __temp_1]",
        "def f(g, a):\n return [g(x=a), {'y': a}]",
    ),
    "is: arms": (
        "def f(x, y, g, h):\n if x is y: g()\n else: h()",
        "def f(x, y, g, h):\n if x is not y: g()\n else: h()",
    ),
    "is: arms of a value": (
        "def f(x, y, g, h): return g() if x is y else h()",
        "def f(x, y, g, h): return g() if x is not y else h()",
    ),
    "is: value": ("def f(x, y): return x is y", "def f(x, y): return x is not y"),
    "is: operands": ("def f(x, y, g): return x() is y()", "def f(x, y, g): return y() is x()"),
    "is not: operands in a test": (
        "def f(x, y, g):\n if x() is not y(): g()",
        "def f(x, y, g):\n if y() is not x(): g()",
    ),
    "is not: value kept": (
        "def f(x, y, g):\n __temp_1 = x is not y\n if __temp_1: g()\n return __temp_1",
        "def f(x, y, g):\n __temp_1 = x is y\n if not __temp_1: g()\n return __temp_1",
    ),
    "is not: and": (
        "def f(x, y, g):\n if x is not y and g(): return 1\n return 2",
        "def f(x, y, g):\n if x is y or g(): return 2\n return 1",
    ),
    "is not: or": (
        "def f(x, y, g):\n if x is not y or g(): return 1\n return 2",
        "def f(x, y, g):\n if x is y and g(): return 2\n return 1",
    ),
    "is not: or of a value": (
        "def f(x, y, g): return x is not y or g()",
        "def f(x, y, g): return x is y or g()",
    ),
    "is not: not": (
        "def f(x, y, g):\n if not x is not y: g()",
        "def f(x, y, g):\n if x is not y: g()",
    ),
    "is not: not of a value": (
        "def f(x, y): return not x is not y",
        "def f(x, y): return x is not y",
    ),
    "is not None": (
        "def f(x, g, h):\n if x is not None: g()\n else: h()",
        "def f(x, g, h):\n if x is not None: h()\n else: g()",
    ),
    "is not None or False": (
        "def f(x, g, h):\n if x is not None: g()\n else: h()",
        "def f(x, g, h):\n if x is not False: g()\n else: h()",
    ),
    "is not None or !=": (
        "def f(x, g, h):\n if x is not None: g()\n else: h()",
        "def f(x, g, h):\n if x != None: g()\n else: h()",
    ),
    "is None: effect before": (
        "def f(x, g, h):\n if x is None: g()\n h()",
        "def f(x, g, h):\n if x is not None: h()\n else:\n  h()\n  g()",
    ),
    "is not: loop": (
        "def f(x, y, g):\n while x is not y:\n  x = g()\n return x",
        "def f(x, y, g):\n while x is y:\n  x = g()\n return x",
    ),
    "is not: do while": (
        "def f(x, y, g):\n while x is not y: x = g()",
        "def f(x, y, g):\n while True:\n  x = g()\n  if x is y: break",
    ),
    "is not: handler": (
        "def f(x, g, h):\n try:\n  if g() is not x: h()\n except E: return 1",
        "def f(x, g, h):\n try: __temp_1 = g()\n except E: return 1\n if __temp_1 is not x: h()",
    ),
    "is not: assert": (
        "def f(x, y, g):\n assert x is not y, g()",
        "def f(x, y, g):\n assert x is y, g()",
    ),
    "is not: comprehension": (
        "def f(x, y): return [i for i in x if i is not y]",
        "def f(x, y): return [i for i in x if i is y]",
    ),
    "is not: tested twice": (
        "def f(x, y, g, h):\n if x is not y: g()\n if x is not y: h()",
        "def f(x, y, g, h):\n if x is not y:\n  g()\n  h()\n else: h()",
    ),
    "is not: stored between": (
        "def f(x, y, g):\n __temp_1 = x is not y\n x = y\n if __temp_1: g()\n return x",
        "def f(x, y, g):\n x = y\n if x is not y: g()\n return x",
    ),
    "is not: fresh": ("def f(x, g):\n if [] is not x: g()", "def f(x, g):\n if x is not x: g()"),
    "is: fresh dict None": (
        "def f(x, g):\n __temp_1 = {1: x}\n if __temp_1 is not None: g()\n return __temp_1",
        "def f(x, g):\n __temp_1 = {1: x}\n if __temp_1 is None: g()\n return __temp_1",
    ),
    "is: fresh sets": (
        "def f(g):\n if {1, 2, 3} is {1, 2, 3}: g()",
        "def f(g):\n if {1, 2, 3} is not {1, 2, 3}: g()",
    ),
    "is: constants": ("def f(g):\n if None is not True: g(1)", "def f(g):\n if None is True: g(1)"),
    "walrus is not": (
        "def f(x, y, g):\n __temp_1 = g()\n if __temp_1 is not y: return __temp_1\n return x",
        "def f(x, y, g):\n __temp_1 = g()\n if __temp_1 is not y: return x\n return __temp_1",
    ),
    "set in a handler's reach": (
        "def f(x, g):\n try: return {x, 1}\n except TypeError: return 1",
        "def f(x, g):\n return {x, 1}",
    ),
    "display before try": (
        "def f(x, g):\n __temp_1 = {x: 1}\n try: return g(__temp_1)\n except TypeError: return 1",
        "def f(x, g):\n try: return g({x: 1})\n except TypeError: return 1",
    ),
    "local seen by the handler": (
        "def f(g):\n y = 1\n try:\n  y = {1: 2, 3: g()}\n except E: return y\n return y",
        "def f(g):\n y = 1\n try:\n  y = {1: 2}\n  y[3] = g()\n except E: return y\n return y",
    ),
    "slice of -0.0": ("def f(x): return x[0.0:1]", "def f(x): return x[-0.0:1]"),
    "frozenset order in a tuple": (
        "def f(x): return (x in {1, 2}, x in {3, 4})",
        "def f(x): return (x in {3, 4}, x in {1, 2})",
    ),
    "in set or in tuple": ("def f(x): return x in {1, 2}", "def f(x): return x in (1, 2)"),
    "for over a set": (
        "def f(g):\n for i in {1, 2, 3}: g(i)",
        "def f(g):\n for i in {1, 2, 4}: g(i)",
    ),
    "for over a list": (
        "def f(g):\n for i in [1, 2, 3]: g(i)",
        "def f(g):\n for i in [1, 3, 2]: g(i)",
    ),
}


def display(items):
    return "def f(a, b, g): return {%s}" % ", ".join(items)


# CPython builds a display of more than 15 pairs in steps.
KEYS = ["'k%d': %d" % (i, i) for i in range(18)]
CALLS = ["'k%d': g(%d)" % (i, i) for i in range(18)]
PAIRS.update(
    {
        "large dict: two pairs swapped": (
            display(KEYS),
            display(KEYS[:15] + [KEYS[16], KEYS[15]] + KEYS[17:]),
        ),
        "large dict: one value": (display(KEYS), display(KEYS[:16] + ["'k16': 99"] + KEYS[17:])),
        "large dict: one key again": (display(KEYS), display(KEYS[:16] + ["'k0': 16"] + KEYS[17:])),
        "large dict: one pair less": (display(KEYS), display(KEYS[:17])),
        "large dict: calls swapped": (
            display(CALLS),
            display(CALLS[:15] + ["'k15': g(16)", "'k16': g(15)"] + CALLS[17:]),
        ),
        "large dict: equal keys at the ends": (
            display(["1: a"] + KEYS + ["True: b"]),
            display(["True: a"] + KEYS + ["1: b"]),
        ),
        "large dict: the later of equal keys dropped": (
            display(["1: a"] + KEYS + ["1: b"]),
            display(["1: a"] + KEYS),
        ),
        "large dict: the earlier of equal keys dropped": (
            display(["1: a"] + KEYS + ["1: b"]),
            display(KEYS + ["1: b"]),
        ),
        "large dict: a key from outside": (display(["a: 1"] + KEYS), display(KEYS + ["a: 1"])),
        "large dict: a mapping from outside": (display(["**a"] + KEYS), display(KEYS + ["**a"])),
    }
)


FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pairs")


def written_pairs():
    """The pairs of the folder: `file: name` -> two texts."""
    pairs = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.txt"))):
        with open(path, encoding="utf-8") as file:
            for text in re.split("^= ", file.read(), flags=re.M)[1:]:
                name, bodies = text.split("\n", 1)
                since = re.match(r"3\.(\d+) ", name)
                if since and sys.version_info[1] < int(since.group(1)):
                    continue
                one, other = (
                    "def f(a, b, g):\n" + re.sub("^", " ", body.rstrip("\n"), flags=re.M)
                    for body in bodies.split("\n-\n")
                )
                pairs["%s: %s" % (os.path.basename(path)[: -len(".txt")], name)] = one, other
    return pairs


class Failed(Exception):
    pass


class Endless(BaseException):
    pass


class Record(list):
    def __init__(self):
        self.names = {"E": Failed, "G": 0, "__builtins__": __builtins__, "__name__": "pairs"}

    def append(self, event):
        list.append(self, event)
        if len(self) > 60:
            raise Endless


class Thing:
    """What is done to it is recorded. The one named "u" has no hash and is false, a call of
    "raises" fails, one of "q" changes the lists that it is given, and any call changes the global
    G."""

    def __init__(self, record, name):
        self.__dict__.update(record=record, name=name)

    def __call__(self, *args, **kwargs):
        self.record.append(("call", self.name, repr(args), repr(list(kwargs.items()))))
        self.record.names["G"] += 1
        if self.name == "raises":
            raise Failed
        if self.name == "q":
            for arg in args:
                change(arg)
        return Thing(self.record, "r" + self.name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.record.append(("attribute", self.name, name))
        return Thing(self.record, "a" + self.name)

    def __setattr__(self, name, value):
        self.record.append(("set attribute", self.name, name, repr(value)))
        change(value)

    def __delattr__(self, name):
        self.record.append(("delete attribute", self.name, name))

    def __hash__(self):
        self.record.append(("hash", self.name))
        if self.name == "u":
            raise TypeError
        return hash(self.name)

    def __bool__(self):
        self.record.append(("bool", self.name))
        return self.name != "u"

    def __eq__(self, other):
        self.record.append(("eq", self.name))
        return self is other

    def __ne__(self, other):
        self.record.append(("ne", self.name))
        return self is not other

    def __lt__(self, other):
        self.record.append(("lt", self.name))
        return Thing(self.record, "u" if self.name == "p" else "lt")

    def __gt__(self, other):
        self.record.append(("gt", self.name))
        return Thing(self.record, "gt")

    def __repr__(self):
        return self.name

    def __format__(self, how):
        self.record.append(("format", self.name, how))
        return self.name

    def __iter__(self):
        self.record.append(("iter", self.name))
        return iter([Thing(self.record, self.name + "1"), 2])

    def __enter__(self):
        self.record.append(("enter", self.name))
        return Thing(self.record, "e")

    def __exit__(self, *error):
        self.record.append(("exit", self.name, error[0] and error[0].__name__))
        return self.name == "q"

    def keys(self):
        self.record.append(("keys", self.name))
        return ["k1", 1]

    def __getitem__(self, item):
        self.record.append(("get", self.name, repr(item)))
        return self.name

    def __setitem__(self, item, value):
        self.record.append(("set", self.name, repr(item), repr(value)))

    def __delitem__(self, item):
        self.record.append(("delete", self.name, repr(item)))

    def __contains__(self, item):
        self.record.append(("contains", self.name))
        return True

    def __neg__(self):
        self.record.append(("neg", self.name))
        return self

    def __pos__(self):
        self.record.append(("pos", self.name))
        return self

    def __add__(self, other):
        self.record.append(("add", self.name, repr(other)))
        return Thing(self.record, "+")

    def __sub__(self, other):
        self.record.append(("sub", self.name, repr(other)))
        return Thing(self.record, "-")

    def __iadd__(self, other):
        self.record.append(("iadd", self.name, repr(other)))
        return self

    def __or__(self, other):
        self.record.append(("or", self.name))
        return Thing(self.record, "o")

    def __ior__(self, other):
        self.record.append(("ior", self.name))
        return self


def change(value):
    """Changes a list that somebody else has, and the lists in it."""
    if isinstance(value, list):
        for part in value:
            change(part)
        value.insert(0, "changed")


def shown(value, seen):
    """The value as text: which of its parts are one object, and no order of sets."""
    if id(value) in seen:
        return "#%d" % seen[id(value)]
    if not isinstance(value, (list, tuple, set, frozenset, dict)):
        return repr(value)
    if not isinstance(value, (tuple, frozenset)):
        seen[id(value)] = len(seen)
    if isinstance(value, dict):
        return str([(shown(k, seen), shown(v, seen)) for k, v in value.items()])
    parts = [shown(part, seen) for part in value]
    return type(value).__name__ + str(
        sorted(parts) if isinstance(value, (set, frozenset)) else parts
    )


def behaviour(code, seed):
    """What the function returns or raises, and what it does to arguments drawn by `seed`."""
    rng, record = random.Random(seed), Record()
    one = Thing(record, "s")
    pool = [
        *(lambda name=name: Thing(record, name) for name in ("p", "q", "raises", "u")),
        *(lambda value=value: value for value in (one, one, None, 1, False)),
        *(list, lambda: {1: 5}),
    ]
    args = [rng.choice(pool)() for _ in range(code.co_argcount)]
    try:
        result = shown(types.FunctionType(code, record.names)(*args), {})
    except (Exception, Endless) as error:
        causes = error.__cause__, error.__context__
        result = [type(e).__name__ for e in (error, *causes)], error.__suppress_context__
    return result, list(record), record.names["G"]


def function(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        module = compile(source, "<pair>", "exec")
    return next(c for c in module.co_consts if isinstance(c, types.CodeType))


def assembled():
    """Pairs that no compiler writes."""
    ops = dis.opmap

    def code(*instructions, table=None):
        changes = {"co_code": bytes(b for i in instructions for b in i), "co_stacksize": 8}
        if table is not None:
            changes["co_exceptiontable"] = bytes(table)
        return function("def f(a, b):\n return a, 7, 8").replace(**changes)

    def op(name, arg=0):
        return [ops[name], arg]

    if sys.version_info < (3, 8):
        return {}
    first, returned = op("LOAD_FAST"), op("RETURN_VALUE")
    both = [op("LOAD_FAST"), op("LOAD_FAST", 1)]
    slices = [*both, op("BUILD_SLICE", 2)]
    end = [op("POP_TOP"), first, returned]
    pairs = {
        "texts joined that are none": (
            code(*both, op("BUILD_STRING", 2), *end),
            code(*both, op("POP_TOP"), *end),
        ),
        "a list that grows under another": (
            code(
                op("BUILD_LIST"), op("BUILD_LIST"), first, op("LIST_APPEND", 2), *end[:1], returned
            ),
            code(op("BUILD_LIST"), returned),
        ),
        "a map that grows under another": (
            code(op("BUILD_MAP"), op("BUILD_MAP"), *both, op("MAP_ADD", 2), *end[:1], returned),
            code(op("BUILD_MAP"), returned),
        ),
    }
    # A function put together from its code, as Dynamo does: what lift() sees as one operation.
    lambdas = function("def f(a): return (lambda: (a, E)), (lambda: (E, a))")
    bodies = [c for c in lambdas.co_consts if isinstance(c, types.CodeType)]

    def made(
        names="(lambda: 0).__globals__", name="None", defaults="None", closure="a", body=bodies[0]
    ):
        text = (
            "def f(a, b, g):\n"
            " k = (lambda: 0).__class__('code', %s, %s, %s, (lambda: %s).__closure__)\n"
            " return k(), k.__name__, k.__defaults__"
        )
        whole = function(text % (names, name, defaults, closure))
        return whole.replace(co_consts=tuple(body if c == "code" else c for c in whole.co_consts))

    for part, other in [
        ("names", "{}"),
        ("name", "'k'"),
        ("defaults", "()"),
        ("closure", "b"),
        ("body", bodies[1]),
    ]:
        pairs["a function of its code: other " + part] = made(), made(**{part: other})
    if sys.version_info < (3, 12):
        pairs["a slice without a hash"] = (
            code(*slices, first, op("BUILD_MAP", 1), *end),
            code(*slices, *end),
        )
    if sys.version_info[:2] == (3, 11):
        # One handler, which returns what lies below it on the stack: at first `a`, then `b` or `a`
        # again. `-a` raises in neither, `-b` may.
        def handled(then):
            body = [
                op("RESUME"), first, first, op("UNARY_NEGATIVE"), op("POP_TOP"), op("JUMP_FORWARD"),
                op("POP_TOP"), op("LOAD_FAST", then), op("LOAD_FAST", 1), op("UNARY_NEGATIVE"), op("POP_TOP"),
                *end[:1], first, returned,
                op("PUSH_EXC_INFO"), op("POP_TOP"), op("POP_EXCEPT"), returned,
            ]  # fmt: skip
            # rows: begin | 128, length, handler, depth * 2
            return code(*body, table=[2 | 128, 3, 14, 2, 8 | 128, 3, 14, 2])

        pairs["what lies below a handler"] = (handled(0), handled(1))
    return pairs


def all_pairs():
    """(name, code, code)"""
    texts = dict(PAIRS, **written_pairs())
    pairs = {name: (function(one), function(other)) for name, (one, other) in texts.items()}
    pairs.update(assembled())
    return [(name, one, other) for name, (one, other) in pairs.items()]


def failures():
    """What is wrong with which pair."""
    out = []
    for name, one, other in all_pairs():
        apart = sum(behaviour(one, seed) != behaviour(other, seed) for seed in range(400))
        if apart < 4:  # a pair that few worlds tell apart passes and fails by chance
            out.append("%s: %d of 400 worlds tell the two apart" % (name, apart))
        for a, b in ((one, other), (other, one)):
            if any(
                _core.compare(a, b, dynamo=by)[0] not in ("unproven", "different")
                for by in (True, False)
            ):
                out.append("%s: accepted" % name)
    return out


if __name__ == "__main__":
    problems = failures()
    print(
        "3.%d: %d pairs; %s"
        % (sys.version_info[1], len(all_pairs()), "; ".join(problems) or "none accepted")
    )
    sys.exit(1 if problems else 0)
