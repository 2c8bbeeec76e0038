"""Random programs with advice that has no patch, each with the change that its words ask for.

`case_of(seed)` draws a program of a shape with the same program after the change, as a reader would
write it; `wrong_of(seed)` runs both and gives what was told and did not come true. Where the words
have an "if" or an "or", each side is a shape. `python followed_by_hand.py SEED` shows both
programs.
"""

import os
import random
import re
import sys
import tempfile
from collections import namedtuple

from followed import gone, run, same

#: `row` of the advice, `told`: patterns of what is said of it, `stays`: whether what it is about is
#: said to stay
Case = namedtuple("Case", "before after row told stays")

#: what computes with `y` and changes nothing else
PLAIN = ("y = y.sin()", "y = y * 0.5 + 1", "y = y.tanh() - 0.25", "y = torch.relu(y) + y")
#: a value of all of `y`
REDUCED = ("y.sum()", "y.mean()", "y.abs().max()", "(y * y).sum()")

COMPILED = '@torch.compile(backend="eager")\n'
CALLS = "for k in range(%d):\n    x = torch.linspace(-2, 2, %d) * (k + 1)\n"


def _lines(*lines):
    return "".join(line + "\n" for line in lines)


def _function(name, parameters, *lines):
    body = [one for each in lines for one in (each if isinstance(each, list) else [each])]
    return COMPILED + "def %s(%s):\n" % (name, parameters) + _lines(*("    " + one for one in body))


class Drawn:
    """What the shapes have in common, of one seed."""

    def __init__(self, drawn):
        self.drawn = drawn
        self.limit = drawn.choice((-0.5, 0.0, 0.5, 1.5))
        self.first = ["y = x * %s" % drawn.choice((1, 2, 0.5))] + self.plain()
        self.reduced = drawn.choice(REDUCED)
        self.rest = [drawn.choice(PLAIN)] + self.plain()
        self.calls = CALLS % (drawn.choice((4, 5)), drawn.choice((3, 4)))

    def plain(self):
        return [self.drawn.choice(PLAIN) for _ in range(self.drawn.randint(0, 2))]


def appended(one):
    kept = one.drawn.choice(("[]", "collections.deque(maxlen=9)"))
    head = "import collections\nkept = %s\n" % kept
    end = "print('result', len(kept), float(sum(kept)))\n"
    before = _function(
        "f", "x", one.first, "kept.append(%s)" % one.reduced, one.rest, "return y.sum()"
    )
    after = _function(
        "f", "x", one.first, "value = %s" % one.reduced, one.rest, "return y.sum(), value"
    )
    return Case(
        head + before + one.calls + "    print('result', f(x).item())\n" + end,
        head
        + after
        + one.calls
        + "    y, value = f(x)\n    kept.append(value)\n    print('result', y.item())\n"
        + end,
        "growing list",
        ["append outside of the compiled function"],
        False,
    )


def counted(one):
    head = "class Stats:\n    steps = %s\nstats = Stats()\n"
    end = "print('steps', %s)\n"
    called = "    print('result', f(x).item())\n"
    uses = one.drawn.choice(("y = y * stats.steps", "y = y + stats.steps"))
    counts = ["stats.steps += 1", uses]
    f = _function("f", "x", one.first, counts, one.rest, "return y.sum()")
    calls = one.calls + called
    before = head % "0" + f + calls + end % "stats.steps"
    told = ["make it a tensor", "or keep it out of the compiled function"]
    if one.drawn.random() < 0.5:  # the first of two choices, with a reader
        after = head % "torch.tensor(0)" + f + calls + end % "int(stats.steps)"
        told.append(
            r"Other code reads it as a number, at \S+: there, write int\(\.\.\.\) around it"
        )
    else:
        uses = uses.replace("stats.steps", "steps")
        f = _function("f", "x, steps", one.first, uses, one.rest, "return y.sum()")
        called = called.replace("f(x)", "f(x, torch.tensor(stats.steps))")
        after = head % "0" + f + one.calls + "    stats.steps += 1\n" + called + end % "stats.steps"
    return Case(before, after, "counter", told, False)


def looped(one):
    head = "kept = set()\n"
    end = "print('result', len(kept), sum(kept))\n"
    test = ["if y[i] > %s:" % one.limit, "    kept.add(i)"]
    loop = "for i in range(3):"
    before = _function(
        "f", "x", one.first, loop, ["    " + each for each in test], one.rest, "return y.sum()"
    )
    after = _function("f", "x", one.first, "tested = y", one.rest, "return y.sum(), tested")
    loop = _lines("    total, y = f(x)", "    " + loop, *("        " + each for each in test))
    told = ["Do the loop outside of the compiled function", "return the tensors that it reads"]
    return Case(
        head + before + one.calls + "    print('result', f(x).item())\n" + end,
        head + after + one.calls + loop + "    print('result', total.item())\n" + end,
        "branch",
        told,
        False,
    )


def looped_with_work(one):
    start = ["for i in range(3):"]
    each = one.rest + ["if %s > %s:" % (one.reduced, one.limit), "    print('large')"]
    indented = ["    " + line for line in each]
    before = _function("f", "x", one.first, start, indented, "return y.sum()")
    body = COMPILED + "def one_round(y):\n" + _lines(*indented, "    return y")
    after = body + _function("f", "x", one.first, start, "    y = one_round(y)", "return y.sum()")
    calls = one.calls + "    print('result', f(x).item())\n"
    told = ["The function with the loop stays uncompiled", r"(?m)^\d+\. no figure"]
    return Case(before + calls, after + calls, "branch", told, True)


def left_by_round(one):
    start = ["for i in range(3):"]
    each = one.rest + ["if %s > %s:" % (one.reduced, one.limit), "    break"]
    before = _function("f", "x", one.first, start, ["    " + it for it in each], "return y.sum()")
    round_of = _function("one_round", "y", one.rest, "return y, %s > %s" % (one.reduced, one.limit))
    begin = _function("begin", "x", one.first, "return y")
    after = begin + round_of + "def f(x):\n    y = begin(x)\n    for i in range(3):\n"
    after += (
        "        y, done = one_round(y)\n        if done:\n            break\n    return y.sum()\n"
    )
    calls = one.calls + "    print('result', f(x).item())\n"
    return Case(before + calls, after + calls, "branch", ["one round"], False)


def raised(one):
    test = "%s.isnan()" % one.reduced
    calls = one.calls + "    print('result', f(x).item())\n"
    before = _function(
        "f",
        "x",
        one.first,
        "if %s:" % test,
        "    raise ValueError('not a number')",
        one.rest,
        "return y.sum()",
    )
    inner = _function(
        "computed", "x", one.first, "bad = %s" % test, one.rest, "return y.sum(), bad"
    )
    after = inner + "def f(x):\n    y, bad = computed(x)\n    if bad:\n"
    after += "        raise ValueError('not a number')\n    return y\n"
    told = ["return the condition as well", "can be computed before the test, in the same function"]
    return Case(before + calls, after + calls, "branch", told, False)


def returned_before_an_effect(one):
    head = "class Box:\n    skipped = 0\nbox, w = Box(), torch.ones(())\n"
    end = "print('result', box.skipped, w.item())\n"
    calls = one.calls + "    print('result', f(x).item())\n" + end
    before = _function(
        "f",
        "x",
        one.first,
        "loss = %s" % one.reduced,
        "if loss > %s:" % one.limit,
        "    box.skipped += 1",
        "    return loss",
        one.rest,
        "w.sub_(y.sum())",
        "return loss",
    )
    first = _function(
        "begin", "x", one.first, "loss = %s" % one.reduced, "return y, loss, loss > %s" % one.limit
    )
    second = _function("rest", "y", one.rest, "w.sub_(y.sum())")
    after = first + second + "def f(x):\n    y, loss, skip = begin(x)\n    if skip:\n"
    after += "        box.skipped += 1\n    else:\n        rest(y)\n    return loss\n"
    told = ["return the condition as well", "becomes a second function", r"(?m)^\d+\. no figure"]
    return Case(head + before + calls, head + after + calls, "branch", told, False)


def _counted_side(one, change, after, told):
    head = "class Box:\n    count = 0\nbox = Box()\n"
    test = "%s > %s" % (one.reduced, one.limit)
    sides = ["if %s:" % test, "    box.count += 1"] + ["    " + each for each in change]
    before = _function("f", "x", one.first, sides, one.rest, "return y.sum()")
    calls = one.calls + "    print('result', f(x).item())\nprint('result', box.count)\n"
    told = ["return the condition as well", told]
    return Case(head + before + calls, head + after + calls, "branch", told, False)


def counted_beside(one):
    test, change = "%s > %s" % (one.reduced, one.limit), one.drawn.choice(PLAIN)
    after = _function("begin", "x", one.first, "return y, %s" % test)
    after += _function("rest", "y", one.rest, "return y.sum()")
    after += "def f(x):\n    y, large = begin(x)\n    if large:\n        box.count += 1\n"
    after += "        %s\n    return rest(y)\n" % change
    return _counted_side(one, [change], after, "becomes a second function")


def counted_alone(one):
    test = "large = %s > %s" % (one.reduced, one.limit)
    after = _function("computed", "x", one.first, test, one.rest, "return y.sum(), large")
    after += "def f(x):\n    y, large = computed(x)\n    if large:\n        box.count += 1\n"
    after += "    return y\n"
    return _counted_side(one, [], after, "can be computed before the test, in the same function")


def drawn_inside(one):
    draw, seed = "random.uniform(0, 1) < 0.5", one.drawn.randrange(9)
    head = "import random\nrandom.seed(%d)\n" % seed
    sides = ["if %s:", "    y = y + 1", "else:", "    y = y * 2"]
    before = _function(
        "f", "x", one.first, [sides[0] % draw] + sides[1:], one.rest, "return y.sum()"
    )
    after = _function(
        "f", "x, heads", one.first, [sides[0] % "heads"] + sides[1:], one.rest, "return y.sum()"
    )
    calls = one.calls + "    print('result', f(%s).item())\n"
    told = ["Draw the number and decide before the call, and pass True or False"]
    return Case(
        head + before + calls % "x",
        head + after + calls % ("x, " + draw),
        "branch on a drawn number",
        told,
        False,
    )


def drawn_rounds(one):
    draw = "random.uniform(0, 1) < %s" % one.drawn.choice((0.4, 0.6))
    head = "import random\nrandom.seed(%d)\n" % one.drawn.randrange(9)
    each = ["    " + it for it in one.rest]
    before = _function("f", "x", one.first, "while %s:" % draw, each, "return y.sum()")
    begin = _function("begin", "x", one.first, "return y")
    after = begin + _function("one_round", "y", one.rest, "return y")
    after += "def f(x):\n    y = begin(x)\n    while %s:\n        y = one_round(y)\n" % draw
    after += "    return y.sum()\n"
    calls = one.calls + "    print('result', f(x).item())\n"
    told = ["Leave the loop out of the compiled function, with what it draws"]
    return Case(head + before + calls, head + after + calls, "loop by a drawn number", told, False)


def printed_side(one):
    test, change = "%s > %s" % (one.reduced, one.limit), one.drawn.choice(("y * 0.5", "y - 1"))
    before = _function(
        "f",
        "x",
        one.first,
        "if %s:" % test,
        "    print('changed')",
        "    y = %s" % change,
        one.rest,
        "return y.sum()",
    )
    inner = _function(
        "computed",
        "x",
        one.first,
        "large = %s" % test,
        "y = torch.where(large, %s, y)" % change,
        one.rest,
        "return y.sum(), large",
    )
    after = inner + "def f(x):\n    y, large = computed(x)\n    if large:\n"
    after += "        print('changed')\n    return y\n"
    calls = one.calls + "    print('result', f(x).item())\n"
    return Case(before + calls, after + calls, "branch", ["take that out first"], False)


def _skipped(one, test, computed, without):
    calls = one.calls + "    print('result', f(x).sum().item())\n"
    mask = "mask = y > %s" % one.limit
    before = _function("f", "x", one.first, mask, test, computed, "return y")
    after = _function("f", "x", one.first, mask, without, "return y")
    told = ["Remove the branch if what it leaves out changes nothing", "Otherwise, as for a mean"]
    return Case(before + calls, after + calls, "branch that skips", told, False)


def skipped_for_nothing(one):
    change = "y = torch.where(mask, y * 2, y)"
    return _skipped(one, ["if not mask.any():", "    return y"], change, change)


def skipped_for_a_mean(one):
    mean = "y - (y * mask).sum() / mask.sum()"
    test = ["if not mask.any():", "    return y"]
    return _skipped(one, test, "y = " + mean, "y = torch.where(mask.any(), %s, y)" % mean)


def passed_number(one):
    low = one.drawn.randint(1, 2)
    draw = "random.randint(%d, %d)" % (low, low + 3)
    head = "import random\nrandom.seed(%d)\n" % one.drawn.randrange(9)
    ends = "return (y * torch.arange(len(x))).sum()"
    before = _function("f", "x", one.first, "y = y.roll(%s)" % draw, one.rest, ends)
    after = _function("f", "x, count", one.first, "y = y.roll(count)", one.rest, ends)
    after = after.replace('"eager"', '"eager", dynamic=True')
    calls = one.calls + "    print('result', f(%s).item())\n"
    told = [r"Draw the number before the call, and pass it as an argument, with torch\.compile\("]
    return Case(
        head + before + calls % "x",
        head + after + calls % ("x, " + draw),
        "number drawn by Python",
        told,
        False,
    )


def sorted_by_key(one):
    order = one.drawn.choice(("sorted(out, key=lambda p: -p[0])", "min(out, key=lambda p: p[0])"))
    loop = ["out = []", "for i in range(3):", "    out.append((round(y[i].item(), 3), i))"]
    before = _function("f", "x", one.first, loop, "return %s" % order)
    setting = "torch._dynamo.config.capture_scalar_outputs = True\n"
    calls = one.calls + "    print('result', *torch.tensor(f(x)).flatten().tolist())\n"
    told = [r"(?m)^\d+\. may save or cost compile time", r"then the graph breaks at \S+:%d: "]
    told[1] %= before[: before.index(order)].count("\n") + 3
    return Case(before + calls, setting + before + calls, "item", told, False)


def left_by_call(one):
    inner = "def part(y, k):\n" + _lines(*("    " + it for it in one.rest))
    inner += "    low = %s\n    return y, float(low) - k\n" % one.reduced
    start = ["k = 0", "while True:", "    y, low = part(y, k)"]
    each = ["    if low <= %s or k > 3:" % one.limit, "        break", "    k = k + 1"]
    before = inner + _function("f", "x", one.first, start, each, "return y.sum()")
    begin = _function("begin", "x", one.first, "return y")
    made = COMPILED + inner.replace("float(low) - k", "low")
    after = begin + made + "def f(x):\n    y, k = begin(x), 0\n    while True:\n"
    after += "        y, low = part(y, 0)\n        if float(low) - k <= %s or k > 3:\n" % one.limit
    after += "            break\n        k = k + 1\n    return y.sum()\n"
    calls = one.calls + "    print('result', f(x).item())\n"
    return Case(before + calls, after + calls, "item", ["one round"], False)


def drawn_up_to_a_size(one):
    draw = one.drawn.choice(("rng.randint(0, %s - 2)", "rng.randrange(%s - 1)"))
    head = "import random\nrng = random.Random(%d)\n" % one.drawn.randrange(9)
    tried = "try:\n    print('result', f(torch.ones(5)).item())\nexcept Exception:\n    pass\n"
    rest = [one.rest, "return (y * torch.arange(len(y))).sum()"]
    before = _function(
        "f", "x", one.first, "top = %s" % draw % "x.shape[0]", "y = y[top : top + 2]", *rest
    )
    after = _function("f", "x, top", one.first, "y = y[top : top + 2]", *rest)
    before = before.replace('"eager"', '"eager", dynamic=True')
    after = after.replace('"eager"', '"eager", dynamic=True')
    made = "top = %s\n" % draw % "5"
    told = ["Draw the number before the call", "torch raises an exception to the program"]
    called = made + "f(torch.ones(5), top)\n"
    return Case(head + before + tried, head + after + called, "drawn up to a size", told, False)


def counted_by_key(one):
    head = "import collections\nserved = collections.Counter()\nnames = ('a', 'b', 'c')\n"
    before = _function(
        "f", "x, at", one.first, "served[names[at]] += 1", one.rest, "return y.sum()"
    )
    after = _function("f", "x", one.first, one.rest, "return y.sum()")
    end = "print('result', *served.values())\n"
    called = "    print('result', f(%s).item())\n"
    calls = one.calls + called % "x, k % 3"
    outside = one.calls + "    served[names[k % 3]] += 1\n" + called % "x" + end
    told = ["A dict that the function fills"]
    return Case(head + before + calls + end, head + after + outside, "growing dict", told, False)


def appended_by_context(one):
    head = "import contextlib\nkept = []\n"
    head += "@contextlib.contextmanager\ndef section(name, kept):\n    start = len(kept)\n"
    head += "    yield\n    kept.append((name, start))\n"
    inside = ["with section('f', kept):"] + ["    " + it for it in one.rest]
    before = _function("f", "x, kept", one.first, inside, "return y.sum()")
    after = _function("f", "x", one.first, one.rest, "return y.sum()")
    end = "print('result', len(kept))\n"
    calls = one.calls + "    print('result', f(x, kept).item())\n" + end
    outside = one.calls + "    with section('f', kept):\n"
    outside += "        print('result', f(x).item())\n" + end
    told = ["append outside of the compiled function"]
    return Case(head + before + calls, head + after + outside, "growing list", told, False)


def joined_with_python(one):
    test, change = "%s > %s" % (one.reduced, one.limit), one.drawn.choice(PLAIN)
    asked = one.drawn.choice(('name == "a"', 'name.startswith("a")', "name in names"))
    both = one.drawn.choice(("%s and %s" % (test, asked), "%s and %s" % (asked, test)))
    head = 'names = {"a"}\n'
    sides = ["if %s:" % both, "    " + change]
    chosen = ["if %s:" % asked, "    y = torch.where(%s, %s, y)" % (test, change[len("y = ") :])]
    before = _function("f", "x, name", one.first, sides, one.rest, "return y.sum()")
    after = _function("f", "x, name", one.first, chosen, one.rest, "return y.sum()")
    calls = one.calls + "    print('result', f(x, 'ab'[k % 2]).item())\n"
    told = [r"torch\.where\(.*test what is no tensor with an if of its own"]
    return Case(head + before + calls, head + after + calls, "branch", told, False)


def tested_by_numpy(one):
    head, change = "import numpy as np\n", one.drawn.choice(PLAIN)
    made = one.drawn.choice(("np.percentile(y.numpy(), 50)", "np.max(np.abs(y.numpy()))"))
    first = one.first + ["q = %s" % made]
    sides = ["if q > limit:", "    " + change]
    chosen = "y = torch.where(torch.as_tensor(q > limit), %s, y)" % change[len("y = ") :]
    before = _function("f", "x, limit", first, sides, one.rest, "return y.sum()")
    after = _function("f", "x, limit", first, chosen, one.rest, "return y.sum()")
    calls = one.calls + "    print('result', f(x, %s).item())\n" % one.limit
    told = [r"depends on a NumPy value", r"write torch\.as_tensor\(condition\)"]
    return Case(head + before + calls, head + after + calls, "branch", told, False)


def carried_over_a_list(one):
    change = one.drawn.choice(
        (
            "y = torch.tanh(y + t)",
            "y = y * 0.5 + t",
            "y = t - y.cos()",
            "z = y + t",
            "y = t * y + t",
        )
    )
    rounds = [change] + ["y = z.sin()"] * change.startswith("z")
    loop = ["for t in given:"] + ["    " + each for each in rounds]
    before = _function("f", "x, given", one.first, loop, "return y.sum()")
    loop = ["for t in given:", "    y = body(y, t)"]
    whole = _function("f", "x, given", one.first, loop, "return y.sum()")
    after = _function("body", "y, t", rounds, "return y") + whole[len(COMPILED) :]
    calls = one.calls + "    print('result', f(x, list(x[: k + 1])).item())\n"
    told = ["Compile the loop's body as a separate function", "(?s)^(?!.*stack the elements)"]
    return Case(before + calls, after + calls, "length of a recurrence", told, False)


def counted_behind_a_property(one):
    most = one.drawn.choice((2, 3))
    head = (
        "class Box:\n    at = 0\n    @property\n    def full(self): return self.at >= %d\n" % most
    )
    head += "box = Box()\n"
    counts = ["if box.full:", "    box.at = 0", "box.at += 1"]
    before = _function("f", "x", one.first, counts, "y = y * box.at", one.rest, "return y.sum()")
    after = _function("f", "x, at", one.first, "y = y * at", one.rest, "return y.sum()")
    calls = "    print('result', f(x).item())\n"
    outside = _lines(*("    " + each for each in counts))
    passed = outside + calls.replace("f(x)", "f(x, torch.tensor(box.at))")
    told = [r"Python needs the value of box\.at", "(?s)^(?!.*make it a tensor)"]
    before, after = head + before + one.calls + calls, head + after + one.calls + passed
    return Case(before, after, "counter that decides", told, False)


def counted_beside_a_list(one):
    head = "class Box:\n    at = 0\nbox, kept = Box(), []\n"
    counts = ["box.at += 1", "y = y * box.at"]
    one.drawn.shuffle(one.rest)
    keeps = "kept.append(1.5)"
    before = _function("f", "x", one.first, counts, keeps, one.rest, "return y.sum()")
    after = _function("f", "x", one.first, counts, one.rest, "return y.sum()")
    calls = one.calls + "    print('result', f(x).item())\n"
    passed = calls + "    " + keeps + "\n"
    end = "print('result', len(kept))\n"
    head_after = head.replace("at = 0", "at = torch.tensor(0)")
    told = [r"beside it, len\(kept\) was \d, is \d"]
    return Case(
        head + before + calls + end, head_after + after + passed + end, "counter", told, False
    )


def raised_in_a_context(one):
    """A number that torch keeps in its graph, and tests inside of a `with` that it cannot cut."""
    head = "torch._dynamo.config.capture_scalar_outputs = True\nclass Timed:\n"
    head += "    def __enter__(self): return self\n    def __exit__(self, *error): return False\n"
    first = ["m = %s.item()" % one.reduced, "if m > 99999:", "    raise ValueError(m)"]
    inside = ["with Timed():"] + ["    " + each for each in first + one.rest]
    before = _function("f", "x", one.first, inside, "return y.sum()")
    inside = ["with Timed():"] + ["    " + each for each in ["m = %s" % one.reduced] + one.rest]
    after = _function("computed", "x", one.first, inside, "return y.sum(), m > 99999")
    after += "def f(x):\n    y, bad = computed(x)\n    if bad:\n        raise ValueError()\n"
    calls = one.calls + "    print('result', f(x).item())\n"
    told = ["return the condition as well", "(?s)^(?!.*Enter the context outside)"]
    after = head + after + "    return y\n" + calls
    return Case(head + before + calls, after, "branch on a number", told, False)


def printed_and_used(one):
    shown = one.drawn.choice(("print('m', m)", "print(f'm {m:.3f}')"))
    uses = one.drawn.choice(("y = y - m", "y = y * m + 1"))
    first = one.first + ["m = %s.item()" % one.reduced, shown, uses]
    before = _function("f", "x", first, one.rest, "return y.sum()")
    first = one.first + ["m = %s" % one.reduced, uses]
    after = _function("f", "x", first, one.rest, "return y.sum(), m")
    calls = one.calls + "    print('result', f(x).item())\n"
    outside = "    y, m = f(x)\n    m = m.item()\n    %s\n    print('result', y.item())\n" % shown
    told = ["The number is used at line", "return that as well"]
    return Case(before + calls, after + one.calls + outside, "item that is printed", told, False)


def given_as_a_constant_too(one):
    """A float that a graph multiplies with, and gives an operator as a constant: Inductor's cache
    loses the guard of it, so the results to compare with are those without a compile.
    """
    number = one.drawn.choice(("t", "1 - t"))
    both = "y.mul(t).add_(x, alpha=%s)", "y * t + x.clamp(max=%s)"
    uses = ["y = " + one.drawn.choice(both) % number]
    before = _function("f", "x, t", one.first, uses, one.rest, "return y.sum()")
    before = before.replace('"eager"', '"inductor"')
    plain = before.partition("\n")[2].replace("def f", "def plain")
    calls = one.calls + "    t = (k + 1) / 16\n"  # exact, as torch asks for 1 - t == …
    made = calls + "    f(x, t)\n    print('result', plain(x, t).item())\n"
    passed = calls + "    print('result', f(x, torch.tensor(t)).item())\n"
    told = [r"Pass torch\.tensor\(t\) instead", "(?s)^(?!.*makes it symbolic)"]
    row = "float used as a constant"
    return Case(before + plain + made, before + passed, row, told, False)


def set_and_decided(one):
    """A float that the function sets and decides on, in some beside a count, under AOTAutograd."""
    decides = one.drawn.choice(("if box.rate < 0.001:", "if box.rate > 5:"))
    sets = one.drawn.choice(("box.rate *= 0.5", "box.rate = box.rate / 2", "box.rate -= 0.01"))
    counts = ["box.at += 1", "y = y * box.at"] if one.drawn.random() < 0.5 else []
    head = "class Box: pass\nbox = Box()\nbox.at, box.rate = 0, 0.5\n"
    uses = counts + [decides, "    y = y * 0", "y = y * box.rate"]
    before = _function("f", "x, box", one.first, uses, [sets], one.rest, "return y.sum()")
    before = before.replace('"eager"', '"aot_eager"')
    after = before.replace("    %s\n" % sets, "").replace(
        '"aot_eager"', '"aot_eager", dynamic=True'
    )
    calls = one.calls + "    print('result', f(x, box).item())\n"
    end = "print('result', float(box.rate))\n"
    told = [r"Set box\.rate outside", "(?s)^(?!.*makes it symbolic)"]
    row = "float that is set and decides"
    return Case(
        head + before + calls + end,
        head + after + calls + "    %s\n" % sets + end,
        row,
        told,
        False,
    )


def picked_and_in_math(one):
    """A number that picks an element and goes into a function of math, or does that alone."""
    picks = one.drawn.random() < 0.5
    wave = one.drawn.choice(("math.sin(n * 0.5)", "math.cos(n)", "math.exp(-n)"))
    head = "import math\ntable = []\nfor k in range(9):\n    table.append(k + 0.5)\n"
    uses = ["y = y * table[n]"] * picks + ["y = y + %s" % wave]
    before = _function("f", "x, n", one.first, uses, one.rest, "return y.sum()")
    uses = ["y = y * value"] * picks + ["y = y + wave"]
    after = _function("f", "x, value, wave", one.first, uses, one.rest, "return y.sum()")
    calls = one.calls + "    n = k + 2\n    print('result', f(x, n).item())\n"
    tensors = "f(x, torch.tensor(table[n]), torch.tensor(%s))" % wave
    passed = calls.replace("f(x, n)", tensors)
    row = "integer that %sa function of math is given" % ("picks and that " * picks)
    told = ["(?s)^(?!.*makes it symbolic)", "(?s)^(?!.*movedim)"]
    return Case(head + before + calls, head + after + passed, row, told, False)


def retried(one):
    start = ["for i in range(3):"]
    test = ["if %s.item() > %s:" % (one.reduced, one.limit), "    return y.sum()"]
    noted = ["kept.append(i)", one.drawn.choice(PLAIN)]
    head = "kept = []\n"
    end = "print('result', len(kept))\n"
    calls = one.calls + "    print('result', f(x).item())\n" + end
    indented = ["    " + each for each in one.rest + test + noted]
    before = _function("f", "x", one.first, start, indented, "return y.sum() - 1")
    body = COMPILED + "def one_round(y):\n"
    body += _lines(*("    " + each for each in one.rest), "    return y, %s" % one.reduced)
    test[0] = "if value.item() > %s:" % one.limit
    indented = ["    " + each for each in ["y, value = one_round(y)"] + test + noted]
    after = body + _function("f", "x", one.first, start, indented, "return y.sum() - 1")
    after = after.replace(COMPILED + "def f", "def f")
    told = ["Leave the loop out of the compiled function"]
    return Case(head + before + calls, head + after + calls, "item that decides", told, False)


def bounded(one):
    made = "at = int(%s) %% 3" % one.reduced
    test = ["n = 2", "if at + n > 3:", "    n = 3 - at"]
    used = ["y[at:at + n] = y[:n] * 2"]
    calls = one.calls + "    print('result', f(x).item())\n"
    before = _function("f", "x", one.first, made, test, used, one.rest, "return y.sum()")
    first = COMPILED + "def first(x):\n"
    first += _lines(*("    " + each for each in one.first), "    return y, %s" % one.reduced)
    rest = COMPILED + "def rest(y, at, n):\n"
    rest += _lines(*("    " + each for each in used + one.rest), "    return y.sum()")
    called = ["y, value = first(x)", made.replace(one.reduced, "value"), *test]
    f = "def f(x):\n" + _lines(*("    " + each for each in [*called, "return rest(y, at, n)"]))
    told = ["call .item\\(\\) and decide outside", "becomes a second function"]
    told.append(r"(?s)^(?!.*also removes: [^\n]* at, )")
    return Case(before + calls, first + rest + f + calls, "item that decides", told, False)


def picked_and_indexes(one):
    head = "times = torch.tensor([3, 2, 1, 0]).tolist()\nlevels = torch.linspace(0.9, 0.1, 4)\n"
    used = ["y = y * levels[t]", one.drawn.choice(("y = y + t", "y = y - 2 * t"))]
    tested = ["if t > 1:", "    y = y * 0.5"] * (one.drawn.random() < 0.5)
    calls = one.calls + "    print('result', f(x, k % 4).item())\n"
    before = _function(
        "f", "x, k", one.first, "t = times[k]", used, tested, one.rest, "return y.sum()"
    )
    after = _function(
        "f",
        "x, t, level, large",
        one.first,
        used[0].replace("levels[t]", "level"),
        used[1],
        ["y = torch.where(large, y * 0.5, y)"] * bool(tested),
        one.rest,
        "return y.sum()",
    )
    outer = "def f(x, k):\n" + _lines(
        "    t = times[k]", "    return inner(x, torch.tensor(t), levels[t], torch.tensor(t > 1))"
    )
    told = ["Pass a number as a tensor only to what computes with it"]
    after = after.replace("def f(", "def inner(") + outer
    return Case(
        head + before + calls,
        head + after + calls,
        "integer that picks what Python needs",
        told,
        False,
    )


def sized_by_numbers(one):
    listed = "sizes.tolist()"
    split = one.drawn.choice(("torch.split(y, %s)", "y.split(%s)")) % listed
    tested = one.drawn.choice(("part.numel() == 0", "len(part) == 0", "part.shape[0] < 1"))
    skips = ["    if %s:" % tested, "        continue"]
    loop = [one.drawn.choice(("for part in parts:", "for i, part in enumerate(parts):"))] + skips
    made = ["parts = %s" % split]
    if one.drawn.random() < 0.3:
        made = ["lengths = %s" % listed, "parts = y.split(lengths)"]
    before = _function(
        "f",
        "x, sizes",
        one.first,
        made,
        "total = y.new_zeros(())",
        loop,
        "    total = total + part.max()",
        "return total",
    )
    compiled = COMPILED.replace(")", ", dynamic=True)")
    first = compiled + "def first(x):\n" + _lines(*("    " + it for it in [*one.first, "return y"]))
    rest = compiled + "def largest(part, total):\n    return total + part.max()\n"
    body = ["y = first(x)", *made, "total = y.new_zeros(())", *loop]
    body += ["    total = largest(part, total)", "return total"]
    after = first + rest + "def f(x, sizes):\n" + _lines(*("    " + each for each in body))
    calls = "for k in range(4):\n    x, sizes = torch.linspace(-2, 2, 9), [k, 7 - k, 2]\n"
    calls += "    print('result', f(x, torch.tensor(sizes)).item())\n"
    told = ["Leave the code that makes the numbers uncompiled, with the decision at line"]
    told.append("capture_scalar_outputs does not help: with it, torch stops tracing at line")
    return Case(before + calls, after + calls, "size by numbers", told, False)


def indexed_by_several(one):
    index = one.drawn.choice(("at // 2", "at - at // 2 - 1"))
    form, taken = one.drawn.choice((("z[:, %s]", "[:, 0]"), ("z[%s, :]", "[0]")))
    made, start = "at = int((y * y > -1).sum())", ["z = torch.outer(y, y)"]
    calls = one.calls + "    print('result', f(x).item())\n"
    used = "y = y + " + form % index
    before = _function("f", "x", one.first, start, made, used, one.rest, "return y.sum()")
    made = "at = (y * y > -1).sum()"
    used = "y = y + " + form % ("(%s).unsqueeze(0)" % index) + taken
    after = _function("f", "x", one.first, start, made, used, one.rest, "return y.sum()")
    told = [r"x\[:, at.unsqueeze\(0\)\]\[:, 0\] in place of x\[:, at\]"]
    return Case(before + calls, after + calls, "item as an index", told, False)


SHAPES = (
    appended,
    counted,
    looped,
    left_by_round,
    raised,
    returned_before_an_effect,
    counted_beside,
    counted_alone,
    drawn_inside,
    drawn_rounds,
    printed_side,
    skipped_for_nothing,
    skipped_for_a_mean,
    passed_number,
    sorted_by_key,
    left_by_call,
    drawn_up_to_a_size,
    counted_by_key,
    appended_by_context,
    joined_with_python,
    tested_by_numpy,
    carried_over_a_list,
    counted_behind_a_property,
    counted_beside_a_list,
    raised_in_a_context,
    printed_and_used,
    given_as_a_constant_too,
    set_and_decided,
    picked_and_in_math,
    looped_with_work,
    retried,
    bounded,
    picked_and_indexes,
    sized_by_numbers,
    indexed_by_several,
)


def case_of(seed):
    """The case of a number: the shapes come in turn."""
    case = SHAPES[seed % len(SHAPES)](Drawn(random.Random(seed)))
    head = "import torch\ntorch.manual_seed(0)\n"
    return case._replace(before=head + case.before, after=head + case.after)


def wrong_of(seed, folder=None, case=None):
    """What was told of a case and did not come true, [] for none; `case`: that of the number."""
    case = case or case_of(seed)
    with tempfile.TemporaryDirectory() as own:
        base = os.path.join(folder or own, "by_hand_%d" % seed)
        return _wrong(case, base)


def _wrong(case, base):
    from depyf import advise
    from depyf.advise.wording import compiles_removed

    before = run(case.before, base + ".py")
    if before.error:
        raise RuntimeError("the drawn program raises " + before.error)
    changes = before.advice.listed(9)
    about = [one for one in changes if case.row in [each.row for each in (one,) + one.also]]
    if not about:
        return ["no such advice: %s" % [one.row for one in changes]]
    text = advise.text(before.advice.document, most=9, advice=before.advice)
    wrong = ["not told: " + one for one in case.told if not re.search(one, text)]
    after = run(case.after, base + "_after.py")
    if after.error:
        return wrong + ["raises " + after.error]
    if not same(before.result, after.result) or before.shown != after.shown:
        wrong.append("other results: %s, %s" % (before.result, after.result))
    left = gone(about[0], before, after)
    if bool(left) != case.stays:
        wrong.append("told to stay: %s, stays: %s" % (case.stays, left))
    told = " ".join(compiles_removed(about[0], before.advice.nodes, set()))
    more = re.search(r"compiles, (\d+)", told)
    made, left = (len(one.advice.nodes) for one in (before, after))
    if more and left > made - int(more.group(1)):
        wrong.append("%d of %d compiles left, %s told to go" % (left, made, more.group(1)))
    return wrong


if __name__ == "__main__":
    print("# before\n%s\n# after\n%s" % case_of(int(sys.argv[1]))[:2], end="")
