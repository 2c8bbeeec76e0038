"""Loops that only a signal ends: which handler gets it counts for a proof."""

import json
import os
import random

import pytest
import pythons

TABLE = [version for version in pythons.VERSIONS if int(version[2:]) >= 11]

BODIES = [
    "pass",
    "x = 1",
    "y = x",
    "x = (a,)",
    "x, y = y, x",
    "y = 1 - 2",
    "if x is y: y = x",
    "if x is not y: continue",
    "if a is None: break\nelse: continue",
]
HEADS = ["while True", "while a is None or a is not None", "while a is a", "while x is not None"]


def indented(text, levels=1):
    return "".join("    " * levels + line + "\n" for line in text.splitlines())


def function(lines):
    return "def f(a, x, y):\n" + indented(lines) + "    return 0\n"


def wrapped(loop, end):
    return "try:\n%s%s\n" % (indented(loop), end)


ENDS = [
    "except KeyboardInterrupt:\n    return 1",
    "except KeyboardInterrupt:\n    return 2",
    "except:\n    return 1",
    "finally:\n    a()",
]

COMPARED = """
import itertools, sys
def code(text):
    names = {}
    exec(compile(text, "<text>", "exec"), names)
    return names["f"].__code__
def proven(a, b):
    return bool(depyf.compare(code(a), code(b)))
for group in %r:
    for a, b in itertools.permutations(group, 2):
        if proven(a, b): print("proven:\\n" + a + b)
for a, b in %r:
    if not proven(a, b): print("not proven:\\n" + a + b)
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_a_handler_that_only_a_signal_reaches_counts(version):
    apart, same = [], []
    # From 3.12 on, the compiler may leave the jump back of a `while` with a test without a handler.
    for head in HEADS[:1] if version in TABLE else HEADS:
        for body in BODIES[:7]:  # the jump back of a test that continues may have no handler, too
            loop = "%s:\n    %s" % (head, body)
            apart.append([function(loop)] + [function(wrapped(loop, end)) for end in ENDS])
            # Another name, another layout, and code that nothing reaches.
            again = wrapped("z = y\n" + loop.replace("y", "z"), ENDS[0])
            same.append(
                (
                    function(wrapped("z = y\n" + loop.replace("y", "z"), ENDS[0])),
                    function(again.replace("z", "other") + "\n\nif 0:\n    print(a)"),
                )
            )
    assert pythons.run(version, COMPARED % (apart, same)).strip() == ""


class Draw:
    """A function whose loops end by a signal alone, and the same with one thing changed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ways = 0

    def block(self, depth):
        loop = "%s:\n%s" % (self.random.choice(HEADS), indented(self.inner(depth)))
        # Within a loop, a signal may also come at the call.
        return self.tried(loop, ["finally:\n    a()"])

    def tried(self, text, ends=()):
        if self.random.random() < 0.5:
            return text
        self.ways += 1
        end = self.random.choice(
            ["except KeyboardInterrupt:\n    return %d" % self.ways] * 3
            + ["except:\n    return %d" % self.ways, *ends]
        )
        return wrapped(text, end).rstrip("\n")

    def inner(self, depth):
        statements = [self.tried(self.random.choice(BODIES))]
        if self.random.random() < 0.3:
            statements.append("if a is None:\n    continue")
        if depth and self.random.random() < 0.5:
            statements.append(self.block(depth - 1))
        return "\n".join(statements)


def mutants(text, draw):
    """`text` with a handler that does another thing, without a handler, or with one more around."""
    if "return" in text:
        yield text.replace("return ", "return 1", 1)
    lines = text.splitlines()
    tries = [i for i, line in enumerate(lines) if line.strip() == "try:"]
    if tries:
        at = draw.random.choice(tries)
        margin = len(lines[at]) - len(lines[at].lstrip())
        end = next(
            i for i in range(at + 1, len(lines)) if len(lines[i]) - len(lines[i].lstrip()) == margin
        )
        body = [line[4:] for line in lines[at + 1 : end]]
        yield "\n".join(lines[:at] + body + lines[end + 2 :])
    yield wrapped(text, "except KeyboardInterrupt:\n    return 90").rstrip("\n")


RUN = """
import json, signal, sys
def raising(number, frame):
    if frame.f_code.co_name == "f":
        raise KeyboardInterrupt
    signal.setitimer(signal.ITIMER_REAL, 0.001)
signal.signal(signal.SIGALRM, raising)
def made(text):
    names = {}
    exec(compile(text, "<text>", "exec"), names)
    return names["f"]
def outcome(f):
    called = []
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        result = f(lambda: called.append(1), 1, 2)
    except KeyboardInterrupt:
        result = "raised"
    return [result, bool(called)]  # a body of `finally` may run any number of times
accepted = 0
cases = json.load(open(sys.argv[1]))
for text, others in cases:
    f = made(text)
    expected = outcome(f)
    back = depyf.decompile(f.__code__)
    if not back.startswith("# NOT PROVEN"):
        accepted += 1
        found = outcome(made(back))
        if found != expected: print(text, "comes back as", back, expected, found)
    for other in others:
        g = made(other)
        verdict = depyf.compare(f.__code__, g.__code__)
        if verdict and outcome(g) != expected:
            print("proven", verdict, text, "and", other, expected, outcome(g))
assert accepted > 0.7 * len(cases), accepted
"""


@pytest.mark.parametrize("version", TABLE)
def test_what_is_proven_takes_a_signal_alike(version, tmp_path):
    seed = int(os.environ.get("DEPYF_SIGNALS_SEED", "0")) or random.randrange(10**6)
    count = int(os.environ.get("DEPYF_SIGNALS", "40"))
    print("DEPYF_SIGNALS_SEED=%d" % seed)
    cases = []
    for number in range(count):
        draw = Draw(seed + number)
        text = draw.block(2)
        cases.append((function(text), [function(other) for other in mutants(text, draw)]))
    given = tmp_path / "cases.json"
    given.write_text(json.dumps(cases))
    assert pythons.run(version, RUN, str(given)).strip() == "", "seed %d" % seed
