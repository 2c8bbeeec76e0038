"""Random programs of which a dump tells what ran: `text_of(seed)` draws one, `check(seed)` runs it
and compares what its dump says with what a profiler saw.

A program compiles a function that calls others, with graph breaks in them, in a `with`, in a loop,
behind a `try`; some sides are never taken, some calls raise. `python ran.py SEED` shows a program,
`python ran.py SEED all` also what its dump says and what ran.
"""

import ast
import contextlib
import io
import os
import random
import re
import sys
import tempfile
import warnings
from collections import namedtuple

HEAD = """import collections
import contextlib
import functools
import torch
from torch.utils.checkpoint import checkpoint

rounds = 0
scale = 3
kept = []


stats = {}


Point = collections.namedtuple("Point", "rate at")
points = [Point(0.5, 1), Point(2, 3)]


class Meter:
    total, count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1


meter = Meter()


class Keep:
    count = 0

    def value(self, x):
        return h(x)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@contextlib.contextmanager
def managed(value):
    yield value


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.factor, self.count, self.store = %(factor)s, 0, {"a": 4}

    def forward(self, x):
%(layer)s        return self.linear(x) * self.factor

    def helped(self, x, k):
        self.count += 1
        x = h(x) * k
        return x + self.count

    @property
    def both(self):
        torch._dynamo.graph_break()
        return self.factor


class Base:
    def fn(self, x):
        return x * 2


class Sub(Base):
    @functools.wraps(Base.fn)
    def fn(self, x):
        torch._dynamo.graph_break()
        return super().fn(x) - 1


torch.manual_seed(0)
layer = Layer()
plain = torch.nn.Linear(3, 3)
"""

#: what functions do with x; T is a bound, drawn so that one side may never be taken
BODIES = (
    "x = x + 1\n",
    "x = x.sin()\n",
    "if x.sum() > T:\n    x = x - 1\n",
    "if x.sum() > T:\n    return x.cos()\n",
    "if x.sum() > T:\n    x = x * 2\nelse:\n    x = x + 2\n",
    "print('mean', x.shape)\nx = x * 2\n",
    "x = x * x.mean().item()\n",
    "torch._dynamo.graph_break()\nx = x + 1\n",
    "if x.sum() > T:\n    raise ValueError('large')\nx = x + 1\n",
    "for i in range(2):\n    x = x + i\n    torch._dynamo.graph_break()\n",
    "with torch.no_grad():\n    y = x.mean()\n    if y > T:\n        x = x - y\n",
)
#: what the compiled function does; `h` and `g` are functions, `n` a number, `flag` a bool
STEPS = {
    "call": "x = h(x)\n",
    "call twice": "x = h(x) + h(x + 1)\n",
    "other": "x = g(x * n)\n",
    "with": "with Keep():\n    x = h(x)\n",
    "managed": "with managed(1) as one:\n    x = g(x) + one\n",
    "no_grad": "with torch.no_grad():\n    x = h(x + 1)\n",
    "autocast": "with torch.autocast('cpu', enabled=False):\n    x = g(x + 1)\n",
    "loop": "for i in range(2):\n    x = h(x + i)\n",
    "try": "try:\n    x = h(x)\nexcept ValueError:\n    x = g(x)\n",
    "finally": "try:\n    x = g(x)\nfinally:\n    seen.append(n)\n",
    "counter": "nonlocal calls\ncalls += 1\nx = x * calls\n",
    "counter that decides": "nonlocal best\ns = x.sum()\nif best is None or s > best:\n"
    "    best = s\n",
    "global": "x = x * scale\n",
    "number": "x = x + n\n",
    "flag": "x = x.relu() if flag else x.tanh()\n",
    "flag that breaks": "if flag:\n    torch._dynamo.graph_break()\n    x = x + 1\n",
    "lambda": "x = (lambda a: h(a) * 2)(x)\n",
    "sorted": "rows = sorted([x, x + 1], key=lambda row: float(row.sum()))\nx = rows[0]\n",
    "reduce": "x = functools.reduce(lambda a, b: a + b, [x, x * 2], 0)\n",
    "generator": "for part in parts(x):\n    x = x + part\n",
    "sum of generator": "x = x + sum(h(part) for part in (x, x + 1))\n",
    "checkpoint": "x = checkpoint(h, x, use_reentrant=False)\n",
    "checkpoint in loop": "for i in range(2):\n    x = checkpoint(h, x, use_reentrant=False)\n"
    "    torch._dynamo.graph_break()\n",
    "module": "x = layer(x)\n",
    "plain module": "x = plain(x)\n",
    "options": "if options:\n    x = x + options['late']\n",
    "none": "if mask is not None:\n    x = x * mask\n",
    "inner": "def inner(a):\n    torch._dynamo.graph_break()\n    return a + n\nx = inner(x)\n",
    "break": "torch._dynamo.graph_break()\n",
    "print": "print('row', n)\n",
    "item": "total = x.mean().item()\nx = x * total\n",
    "branch": "if x.sum() > T:\n    x = x + 1\n",
    "raise": "if x.sum() > T:\n    raise ValueError('large')\n",
    "list": "seen.append(n)\nx = x + len(seen)\n",
    "list of the program": "kept.append(n)\nx = x + len(kept)\n",
    "sizes": "x = x.reshape(x.size(0), x.shape[1])\n",
    "disabled": "x = outside(x)\n",
    "deeper": "x = deep(x, n)\n",
    "deeper by keyword": "x = deep(x, k=n, flag=not flag)\n",
    "rest of arguments": "x = many(x, n, late=flag)\n",
    "recursion": "x = again(x, n % 3)\n",
    "method": "x = layer.helped(x, n)\n",
    "comprehension": "rows = [h(x + i) for i in range(2)]\nx = rows[0] + rows[1]\n",
    "map": "x = x + sum(map(h, (x, x * 2)))\n",
    "partial": "x = functools.partial(deep, k=n)(x)\n",
    "property": "x = x * layer.both\n",
    "second": "x = x + second(x, n)\n",
    "nested with": "with Keep():\n    with torch.no_grad():\n        x = x + 1\n        if x.sum() > T:\n"
    "            x = h(x)\n",
    "try that breaks": "try:\n    if x.sum() > T:\n        raise ValueError('inside')\n    x = x + 1\n"
    "except ValueError:\n    x = h(x)\n",
    "while": "k = 0\nwhile k < n % 3:\n    x = g(x)\n    k += 1\n",
    "dictionary": "stats[n % 2] = stats.get(n % 2, 0) + 1\nx = x + stats[n % 2]\n",
    "counter of a class": "Keep.count += 1\nx = x + Keep.count\n",
    "global counter": "global rounds\nrounds += 1\nx = x * rounds\n",
    "wrapped": "x = wrapped(x)\n",
    "object": "x = x + Keep().value(x)\n",
    "assert": "assert x.sum() < 1000, 'large'\n",
    "size": "if x.shape[0] > 2:\n    x = h(x)\n",
    "backward": "w = x.detach().requires_grad_()\ng(w).sum().backward()\n",
}
#: the same, one in front of those in some programs
FIRST = (
    "if not flag:\n    return x\n",
    "if n == 1:\n    return x\n",
    "for key in options:\n    x = x + 1\n",
    "if n != 1 and n != 3:\n    x = x + 2\n",
    "x = Sub().fn(x)\n",
    "if any(row.mean() > T for row in (x, x + 1)):\n    x = x + 1\n",
    "x = x * points[0].rate + points[1].at\n",
    "layer.store['a'] = layer.store['a'] + 2\nx = x + layer.store['a']\n",
    "meter.update(float(x.detach().sum()))\n",
)
HOOKS = (
    "",
    "plain.register_forward_pre_hook(lambda module, args: (args[0] * 2,))\n",
    "layer.register_forward_hook(lambda module, args, out: out + 1)\n",
    "layer.linear.register_forward_hook(lambda module, args, out: print('hook'))\n",
)
BOUNDS = ("-100", "0", "5", "100")
INTEGERS = ("3", "k + 2", "k", "k % 2")


def _indented(text, by):
    return "".join(" " * by + line for line in text.splitlines(True))


def text_of(seed):
    """The program of a number."""
    drawn = random.Random(seed)

    def bound(text):
        return re.sub(r"\bT\b", lambda _: drawn.choice(BOUNDS), text)

    def body(most):
        return bound("".join(drawn.choice(BODIES) for _ in range(drawn.randint(1, most))))

    layer = _indented(body(1), 8) if drawn.random() < 0.5 else ""
    text = HEAD % {"factor": drawn.choice(("2", "0.5")), "layer": layer}
    text += drawn.choice(HOOKS)
    for name in ("g", "h"):
        text += "\n\ndef %s(x):\n%s    return x\n" % (name, _indented(body(2), 4))
    text += "\n\ndef parts(x):\n    yield x * 2\n%s    yield x\n" % (
        "    torch._dynamo.graph_break()\n" * (drawn.random() < 0.3)
    )
    text += "\n\n@torch._dynamo.disable\ndef outside(x):\n    return h(x) + 1\n"
    for head, call in (
        ("deep(x, k=2, flag=True)", "h(x + k)"),
        ("many(x, *rest, **more)", "g(x * len(rest))"),
        ("again(x, k)", "again(x, k - 1) if k > 0 else h(x)"),
    ):
        text += "\n\ndef %s:\n%s    return %s * 2\n" % (head, _indented(body(1), 4), call)
    text += "\n\n@torch.compile(backend='eager')\ndef second(x, k):\n    return g(x) + k\n"
    text += "\n\ndef around(f):\n    @functools.wraps(f)\n    def inside(*args):\n"
    text += _indented(bound(drawn.choice(("", "print('in')\n"))), 8)
    text += "        return f(*args) + 1\n\n    return inside\n\n\n@around\ndef wrapped(x):\n"
    text += _indented(body(1), 4) + "    return x + 3\n"
    names = drawn.sample(sorted(STEPS), drawn.randint(2, 5))
    steps = "".join(STEPS[name] for name in names)
    declared = "".join(dict.fromkeys(re.findall(r"(?:nonlocal|global) \w+\n", steps)))
    steps = declared + re.sub(r"(?:nonlocal|global) \w+\n", "", steps)
    apart = random.Random("first step of %d" % seed)  # the other programs stay what they are
    if apart.random() < 0.25:
        steps = apart.choice(FIRST) + steps
    text += "\n\ndef make():\n    calls, best, seen = 0, None, []\n\n"
    text += "    def step(x, n, flag=True, mask=None, **options):\n"
    text += _indented(bound(steps), 8) + "        return x * 2\n\n    return step\n"
    dynamic = drawn.choice(("", "", ", dynamic=False", ", dynamic=True"))
    text += '\n\nrun = torch.compile(make(), backend="eager"%s)\n' % dynamic
    flag = drawn.choice(("True", "k % 2 == 0"))
    more = drawn.choice(
        ("", "", ", mask=torch.ones(3)", ", late=k", ", **({'late': 1} if k else {})")
    )
    sign = drawn.choice(("1", "k - 1", "(-1) ** k"))
    grad = drawn.choice(("", ", requires_grad=True"))
    given = "torch.ones(%s, 3%s) * (%s), %s, %s%s"
    given %= drawn.choice(("2", "2", "2 + k")), grad, sign, drawn.choice(INTEGERS), flag, more
    text += "for k in range(%d):\n    try:\n" % drawn.choice((1, 2, 3, 4, 10))
    text += "        out = run(%s)\n" % given
    if drawn.random() < 0.3:
        text += "        if out.requires_grad:\n            out.sum().backward()\n"
    text += "    except Exception as error:\n        print('raised', error)\n"
    for number in range(drawn.randint(12, 20) if drawn.random() < 0.1 else 0):
        text += "\n\n@torch.compile(backend='eager')\ndef more_%d(x):\n" % number
        text += _indented(body(2), 4) + "    return x\n\n\n"
        text += "try:\n    more_%d(torch.ones(2))\nexcept ValueError:\n    pass\n" % number
    return text


#: globals that a program changes, and that are told to be constants
CHANGED = ("rounds", "scale", "kept")
#: a call of some code that a profiler saw: `path` of the code's file, `name`, `line` of the code,
#: `code`, `values` of its variables, and the number of the call that it is below; -1 for none
Call = namedtuple("Call", "path name line code values above")


def run(text, folder):
    """(the run, the calls of code of the program and the dump, the names of the program, what it
    printed) of a program, with a dump in `folder`/dump.
    """
    import depyf
    import torch

    program, dump = os.path.join(folder, "program.py"), os.path.join(folder, "dump")
    with open(program, "w") as file:
        file.write(text)
    torch._dynamo.reset()
    calls, frames = [], {}
    own = dump + os.sep

    def kept(value):  # what is changed later is as it was at the call
        if isinstance(value, (dict, list)):
            return value.copy()
        return dict(vars(value)) if type(value).__module__ == "program" else value

    def watch(frame, event, _):
        if event != "call":
            return
        code = frame.f_code
        path = code.co_filename
        if path != program and not path.startswith(own):
            return
        above = frame.f_back
        while above is not None and id(above) not in frames:
            above = above.f_back
        place = frames[id(above)][0] if above is not None else -1
        frames[id(frame)] = len(calls), frame
        values = {name: kept(names.get(name)) for name in CHANGED}
        values.update((name, kept(value)) for name, value in frame.f_locals.items())
        calls.append(Call(path, code.co_name, code.co_firstlineno, code, values, place))

    for one in (watch, kept):
        torch._dynamo.eval_frame.skip_code(one.__code__)
    names, printed = {"__name__": "program"}, io.StringIO()
    before = sys.getprofile()
    with depyf.prepare_debug(dump) as found, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(printed):
            sys.setprofile(watch)
            try:
                exec(compile(text, program, "exec"), names)
            finally:
                sys.setprofile(before)
    return found, calls, names, printed.getvalue()


def check(seed, folder=None):
    """What a drawn program's dump says that did not happen: a sentence for each."""
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(tempfile.TemporaryDirectory())
        folder = os.path.realpath(folder)
        return list(wrong_in(run(text_of(seed), folder), folder))


def rows_of(readme):
    """(depth, text) of the rows of "What runs"; what is broken over two lines is one."""
    part = readme.partition("## What runs")[2].partition("```text\n")[2].partition("\n```")[0]
    rows = []
    for line in part.split("\n") if part else ():
        depth = len(line) - len(line.lstrip())
        if line.strip().startswith("→"):
            rows[-1] = rows[-1][0], rows[-1][1] + " " + line.strip()
        else:
            rows.append((depth // 2, line.strip()))
    return rows


_REST = re.compile(r"▷ (__resume_at_\w+) · (not called|plain Python|no compile)")
_COMPILE = re.compile(r"^(?:↻ )?(?:[▷⤷] )?(.*?) (!?\d+/\d+)(?: |$)")
_CONSTANTS = re.compile(
    r"(?m)^# constants under this entry's guards: "
    r"(.*(?:\n# (?!\w+ is (?:torch's |`)|free variables of|one object under).*)*)"
)


def wrong_in(ran, folder):
    """What a dump says that did not happen."""
    from depyf.torch.codes import resume_code

    found, calls, names, _ = ran
    dump = os.path.join(folder, "dump")
    with open(os.path.join(dump, "README.md")) as file:
        rows = rows_of(file.read())
    by_path, plain = {}, {}
    for at, call in enumerate(calls):
        (by_path if call.path.startswith(dump) else plain).setdefault(
            call.path if call.path.startswith(dump) else id(call.code), []
        ).append(at)
    entries = {one.compile_id: one for one in found.entries()}
    entries.update({one.compile_id: one for one in found.unattributed})
    yield from _rests(rows, plain, names, resume_code)
    yield from _compiles(rows, entries, by_path, calls, dump)
    yield from _plain_rows(rows, calls, dump)
    yield from _calls_made(rows, entries, by_path, calls, dump)
    with open(os.path.join(dump, "README.md")) as file:
        readme = file.read()
    yield from _reasons(readme, entries, by_path, calls, dump)
    yield from _causes(readme, found)
    yield from _skipped(readme, found, plain, by_path, dump)
    yield from _uncompiled(found, calls, dump)
    yield from _titles(found)
    for entry in found.entries():
        if entry.path:
            yield from _unread(entry, dump)
            yield from _literals(entry, dump)
            yield from _stack_values(entry, by_path, calls, dump)
            yield from _constants(entry, by_path, calls, dump)
            yield from _names(entry, by_path, calls, dump)
            yield from _sentences_of_rests(entry, plain, names, resume_code, dump)


def _rests(rows, plain, names, resume_code):
    """Rests without a compile: those that no call reached, and those that ran as plain Python."""
    for _, row in rows:
        for name, said in _REST.findall(row):
            code = resume_code(names.get(name))
            if code is None:
                continue
            count = len(plain.get(id(code), ()))
            if (said == "not called" and count) or (said == "plain Python" and not count):
                yield "%s is said to be %r and has %d calls" % (name, said, count)


def _first(entry, by_path, dump):
    """The number of the first call of an entry's code; None where there was none."""
    return min(by_path.get(os.path.join(dump, entry.path), ()), default=None)


def _compiles(rows, entries, by_path, calls, dump):
    """Each compile is a row at its first call, below the row of what was running."""
    above, before = [], {}
    for depth, row in rows:
        match = _COMPILE.match(row)
        entry = entries.get(match.group(2)) if match is not None else None
        del above[depth:]
        above += [None] * (depth - len(above)) + [entry]
        if entry is None or not entry.path or not entry.replaced or "→" not in row:
            continue
        first = _first(entry, by_path, dump)
        if first is None:
            yield "compile %s never ran" % entry.compile_id
            continue
        key = tuple(one.compile_id if one else "" for one in above[:depth])
        if before.get(key, -1) > first:
            yield "compile %s is below one that was called later" % entry.compile_id
        before[key] = first
        inner = [one for one in reversed(above[:depth]) if one and (one.replaced or one.path)]
        outer = inner[0] if inner else None
        if outer is not None and not outer.replaced:
            continue  # torch's own code, whose file did not run, and which several may call
        way = calls[first].above
        while way >= 0 and not calls[way].path.startswith(dump):
            way = calls[way].above
        path = os.path.join(dump, outer.path) if outer is not None else ""
        if path != (calls[way].path if way >= 0 else ""):
            form = "compile %s is below %s and first ran below %s"
            where = os.path.basename(calls[way].path) if way >= 0 else "the program"
            told = os.path.basename(path) or "the program"
            yield form % (entry.compile_id, told, where)


_ROW_OF_PLAIN = re.compile(
    r"(?:↻ )?(?:[▷⤷] )?(?P<name>\w[\w.]*)(?:, resumed after line (?P<line>\d+))?[^→·]*"
    r"(?: · plain Python$|\d+/\d+ → ✕ not compiled)"
)


def _plain_rows(rows, calls, dump):
    """A function that is said to be plain Python ran as that, or the rest of one."""
    plain = [one for one in calls if not one.path.startswith(dump)]
    for _, row in rows:
        match = _ROW_OF_PLAIN.match(row)
        if match is None or match.group("name").startswith("__resume_at"):
            continue
        name, line = match.group("name").split(".")[-1], match.group("line")
        name = "torch_dynamo_resume_in_%s_at_%s" % (name, line) if line else name
        if not any(one.name == name for one in plain):
            yield "%s is said to run as plain Python and did not" % name


def _calls_made(rows, entries, by_path, calls, dump):
    """What a row says that its code calls, and was compiled for another call, it called."""
    for _, row in rows:
        match = _COMPILE.match(row)
        entry = entries.get(match.group(2)) if match is not None else None
        if entry is None or not entry.path or not entry.replaced:
            continue
        own = set(by_path.get(os.path.join(dump, entry.path), ()))
        for title in re.findall(r"→ ⤷ (\S+)(?: \([^)]*\))?  ?\d+/\d+", row):
            name = title.split(".")[-1]
            if not any(one.name == name and _below(calls, one, own) for one in calls):
                yield "%s is said to call %s" % (entry.compile_id, title)


def _below(calls, call, own):
    while call.above >= 0 and call.above not in own:
        call = calls[call.above]
    return call.above in own


_REASON = re.compile(r"`([^`]+)` was ([^`,]+), is ([^`,]+?)(?:[,;:.]|$)")


def _reasons(readme, entries, by_path, calls, dump):
    """A variable that is told to have another value than for an earlier compile has it."""
    for part in readme.split("\n### ")[1:]:
        match = re.match(r".*?, compile (\S+?),?\n", part)
        entry = entries.get(match.group(1)) if match is not None else None
        first = _first(entry, by_path, dump) if entry is not None and entry.path else None
        told = re.search(r"(?m)^- compiled again because: (.*(?:\n  .*)*)", part)
        if first is None or told is None:
            continue
        said = told.group(1).replace("\n  ", " ")
        yield from _fitting(entry, said)
        for name, before, now in _KEYS.findall(said):
            known, real = _value(calls[first].values, name)
            if known and str(len(real)) != now:
                yield "%s: `%s` is told to have %s, had %d" % (
                    entry.compile_id,
                    name,
                    now,
                    len(real),
                )
        for name, before, now in _REASON.findall(said):
            known, real = _value(calls[first].values, name)
            if not known or type(real) not in (int, float, bool, str, type(None)):
                continue
            if re.match(r"[-\d.]+$|True$|False$|None$|'", now) and repr(real) != now:
                yield "%s: `%s` is told to be %s, was %r" % (entry.compile_id, name, now, real)
            if repr(real) == before:
                yield "%s: `%s` is told to have been %s, and is" % (entry.compile_id, name, before)


#: how the numbers are told that a compile fits, and what a guard asks of one
_FITS = re.compile(
    r"`(\w+)` was \S+, is another number; (?:from here on any|the compile for it fits)"
)
_ASKED = re.compile(r"L\['(\w+)'\] ((?:[<>]=?|[!=]=) -?\d[\d.]*)$")
_KEYS = re.compile(r"`(\w+)` had (\d+) keys?, has (\w+)")


def _fitting(entry, said):
    """The numbers that a compile is told to fit are those for which its guards hold."""
    for match in _FITS.finditer(said):
        name = match.group(1)
        told = re.match(r"[^`;]*for which `([^`]*)` holds", said[match.end() :])
        asked = {
            one.group(2)
            for one in (_ASKED.match(guard.text) for guard in entry.guards)
            if one is not None and one.group(1) == name
        }
        parts = told.group(1).split(" and ") if told is not None else []
        left = asked - {one.partition(name)[2].strip() for one in parts}
        if left and "decides the same" not in said and "==" not in " ".join(parts):
            yield "%s: guards ask of `%s` to be %s, too" % (entry.compile_id, name, sorted(left))


def _told_constants(text):
    """What a text says of constants, with torch's names for what was on the stack."""
    told = _CONSTANTS.search(text)
    said = re.sub(r"\n# +", " ", told.group(1)) if told is not None else ""
    for given, real in re.findall(r"(?m)^# (\w+) is torch's (___stack\d+)", text):
        said = re.sub(r"\b%s(?= is |\.|\)|,|$)" % given, real, said)
    return said


def _constants(entry, by_path, calls, dump):
    """Arguments and free variables that are told to be constants have that value at each call."""
    said = _told_constants(_text_of(entry, dump))
    for at in by_path.get(os.path.join(dump, entry.path), ()):
        values = calls[at].values
        for name, value in re.findall(r"([\w.\[\]'()]+) is ('[^']*'|[^,]+)(?:, |$)", said):
            known, real = _value(values, name)
            if not known:
                continue
            holds = len(real) == 0 if value == "empty" else repr(real) == value
            if not holds:
                yield "%s: %s is told to be %s, was %r" % (entry.path, name, value, real)
        none = re.search(r"None for ([\w, ]+)$", said)
        for name in none.group(1).split(", ") if none else ():
            if values.get(name) is not None:
                yield "%s: %s is told to be None" % (entry.path, name)


def _value(values, name):
    """(whether it is known, the value) of a variable, an entry of it, an attribute, a length."""
    inner = re.match(r"len\((.+)\)$|(.+)\.size\((\d+)\)$", name)
    if inner is not None:
        known, value = _value(values, inner.group(1) or inner.group(2))
        known = known and hasattr(value, "size" if inner.group(2) else "__len__")
        of = len if inner.group(1) else lambda tensor: tensor.size(int(inner.group(3)))
        return known, of(value) if known else None
    match = re.match(r"(\w+)(?:\['(\w+)'\]|\.(\w+))?$", name)
    if match is None or match.group(1) not in values:
        return False, None
    value, key, attribute = values[match.group(1)], match.group(2), match.group(3)
    if key:
        return key in value, value.get(key)
    if attribute:
        return type(value) is dict and attribute in value, value.get(attribute)
    return True, value


def _unread(entry, dump):
    """The parameters of a rest that its code is said not to read are those that its text never
    names.
    """
    text = _text_of(entry, dump)
    found = [
        one
        for one in ast.walk(ast.parse(text))
        if isinstance(one, ast.FunctionDef) and one.name == entry.name
    ]
    if "_for_torch_dynamo_resume_in_" not in entry.path or len(found) != 1:
        return
    named = {one.id for one in ast.walk(found[0]) if isinstance(one, ast.Name)}
    given = [one.arg for one in found[0].args.args]
    real = {one for one in given if one not in named and not re.match(r"__(nested|resume)_", one)}
    note = re.search(r"(?m)^# Nothing here reads (.*(?:\n# .*)*)", text)
    said = note.group(1).replace("\n# ", " ").partition(": torch")[0] if note is not None else ""
    told = set(re.split(r", | and ", said)) if said else set()
    for name in sorted(told ^ real):
        form = "%s: nothing is said to read %r" if name in told else "%s: nothing reads %r"
        yield form % (entry.path, name)


#: what stands for one value in a guard
_LITERAL = re.compile(
    r"([LG])\['((?!__n|__r)\w+)'\]((?:\['[\w .-]+'\]|\[\d+\]|\.(?!__(?!self__)|training\b)\w+){0,4})"
    r" == (-?\d[\d.e+-]*|'[^']*'|True|False)$"
)


def _literals(entry, dump):
    """Each number, text and bool that a guard asks of an argument, of a value on the stack at the
    break, of a global or an attribute is among the constants.
    """
    said = _told_constants(_text_of(entry, dump))
    if re.search(r"\d+ more$", said):
        return
    for guard in entry.guards:
        asked = _LITERAL.match(guard.text)
        if asked is None or asked.group(2).startswith("__import_"):
            continue
        scope, name, path, value = asked.groups()
        is_attribute = re.search(r"\.\w+$", path)
        if is_attribute and value in ("True", "False") or len(value) > 40 or "._modules[" in path:
            continue
        whole = name + path
        if "%s is %s" % (whole, value) not in said:
            yield "%s: %s, which a guard asks to be %s, is not told" % (entry.path, whole, value)


_ON_STACK = re.compile(r"(?m)^# (?:\w+ is torch's (___stack\d+) \(`|(___stack\d+) is `)([^`]+)`")


def _stack_values(entry, by_path, calls, dump):
    """What a value on the stack is said to be in the calling code, the code that calls it has: a
    literal is the value, of anything else each name is in the text.
    """
    for at in by_path.get(os.path.join(dump, entry.path), ())[:1]:
        above = calls[at].above
        text = ""
        if above >= 0 and calls[above].path.startswith(dump):
            with open(calls[above].path) as file:
                text = file.read()
        for first, second, said in _ON_STACK.findall(_text_of(entry, dump)):
            name = first or second
            if said.startswith("___stack"):
                yield "%s: %s is said to be %s" % (entry.path, name, said)
            try:
                value = ast.literal_eval(said)
            except (ValueError, SyntaxError):
                lost = [one for one in re.findall(r"\w+", said) if one not in text]
                for one in lost if text else ():
                    yield "%s: %s is said to be %s, which the caller has not" % (
                        entry.path,
                        name,
                        said,
                    )
                continue
            known, real = _value(calls[at].values, name)
            if known and repr(real) != repr(value):
                yield "%s: %s is said to be %s, was %r" % (entry.path, name, said, real)


def _causes(readme, found):
    """The line that is told as the cause of a function that runs uncompiled is one at which torch
    gave that function up.
    """
    for part in re.split(r"(?m)^(?=\d+\. )", readme.partition("## What to change first")[2]):
        part = " ".join(part.partition("\n\n")[0].split())
        told = re.search(
            r"^\d+\. [^,]+, (?:\S+, called from (?:[^:]* and )?)?program\.py:(\d+): .*?(\w[\w.]*(?:(?:, | and )\w[\w.]*)*) runs?"
            r" uncompiled at each call because of (it|[^;]+);",
            part,
        )
        if told is None:
            continue
        lines = re.findall(r":(\d+)", told.group(3)) or [told.group(1)]
        names = [one.split(".")[-1] for one in re.split(r", | and ", told.group(2))]
        for name in names:
            given_up = [one for one in found.unattributed if one.qualname.split(".")[-1] == name]
            met = {
                line
                for one in given_up
                for each in one.breaks
                for line in re.findall(r"program\.py:(\d+)|program\.py\", line (\d+)", _said(each))
            }
            met = {one or other for one, other in met}
            if met and not met.intersection(lines):
                yield "%s is said to run uncompiled because of %s, it is %s" % (name, lines, met)


def _skipped(readme, found, plain, by_path, dump):
    """Torch no longer tries the compiles of a function of which it says so, and tries those of the
    others: `step`, which the program calls from one place, runs as plain Python where it is given
    up, and not again before that.
    """
    for function in found.functions:
        own = plain.get(id(function.code), ())
        for entry in function.entries:
            if not entry.path or not entry.replaced:
                continue
            part = readme.partition("- [%s](" % entry.path)[2].partition("\n-")[0]
            part = " ".join(part.split())
            ran = by_path.get(os.path.join(dump, entry.path), ())
            if "no longer tries it" in part and own and any(at > own[0] for at in ran):
                yield "%s is said to be tried no more, and ran" % entry.path
            later = len(own) > 1 and all(at < own[0] for at in ran)
            limit = function.given_up.get("why") == "recompile limit"
            if function.name == "step" and later and not limit and "torch runs it" in part:
                yield "%s is said to run, and plain Python does" % entry.path


def _uncompiled(found, calls, dump):
    """A function that is told to run uncompiled ran so, and one that torch gave up is told."""
    from depyf import advise, summary

    document = found.to_json()
    told = re.search(r"(?m)^ +runs uncompiled: (.*)", summary.summary(document))
    told = told.group(1) if told is not None else ""
    ran = {one.name for one in calls if not one.path.startswith(dump)}
    for name in re.findall(r"(?:^|; )([\w.]+) (?!more)", told):
        if name.split(".")[-1] not in ran:
            yield "%s is said to run uncompiled and did not" % name
    advised = advise.text(document, most=100)
    for node in advise.Advice(document).nodes:
        said = node.failure
        if said is None or said["raised"] or node.is_limit or said["row"] == "nothing to compile":
            continue
        name = r"(?<!\w)%s(?!\w)" % re.escape(node.title)
        if not re.search("%s.*\\buncompiled\\b|uncompiled: .*%s|" % (name, name) + _NAMED, advised):
            yield "%s runs uncompiled, and the advice does not say so" % node.title


#: of several functions that run uncompiled, a line names the first
_NAMED = r"\b\d+ more\b.*\buncompiled|uncompiled.*\b\d+ more\b"


def _titles(found):
    """A function has the name that its code has, and not that of another one."""
    for function in found.functions:
        own = getattr(function.code, "co_qualname", "").rpartition("<locals>.")[2]
        if not own or function.is_resume or function.through:
            continue
        if function.qualname.split(".")[-1] != own.split(".")[-1]:
            yield "%s is named %s" % (own, function.qualname)
        elif "." in own and function.qualname != own:
            yield "%s is named %s" % (own, function.qualname)


def _said(met):
    return "%s\n%s" % (met.location, "\n".join(map(str, met.user_stack or ())))


def _text_of(entry, dump):
    with open(os.path.join(dump, entry.path)) as file:
        return file.read()


def _names(entry, by_path, calls, dump):
    """A name that stands for one of torch's stands for one that the code has."""
    table = re.findall(r"(?m)^# (\w+) is torch's ([\w.<>]+)$", _text_of(entry, dump))
    for at in by_path.get(os.path.join(dump, entry.path), ())[:1]:
        code = calls[at].code
        has = set(code.co_names + code.co_varnames + code.co_freevars + code.co_cellvars)
        for given, real in table:
            if real not in has:
                yield "%s: %s is told to be torch's %s" % (entry.path, given, real)


def _sentences_of_rests(entry, plain, names, resume_code, dump):
    """What the notes below code say of the calls of rests without a compile."""
    notes = re.split(r"\n# (?=__resume_at_\w+ is )", _text_of(entry, dump))[1:]
    for note in notes:
        note = note.partition("\n\n")[0].replace("\n# ", " ")
        name, _, said = note.partition(" is ")
        code = resume_code(names.get(name))
        count = len(plain.get(id(code), ())) if code is not None else None
        if count and "since it saw no call" in said:
            yield "%s: %s is said to have no call" % (entry.path, name)
        if count == 0 and "and it ran as plain Python." in said and "either" not in said:
            yield "%s: %s is said to have run" % (entry.path, name)


if __name__ == "__main__":
    print(text_of(int(sys.argv[1])), end="")
    if sys.argv[2:]:
        with tempfile.TemporaryDirectory() as kept:
            kept = os.path.realpath(kept)
            ran = run(text_of(int(sys.argv[1])), kept)
            with open(os.path.join(kept, "dump", "README.md")) as readme:
                for depth, row in rows_of(readme.read()):
                    print("  " * depth + row)
            for number, one in enumerate(ran[1]):
                print(number, one.above, os.path.basename(one.path), one.name, one.line)
            print("\n".join(wrong_in(ran, kept)))
