"""Random programs whose advice is followed: `text_of(seed)` draws one, `follow(seed)` tries it.

A program compiles a module, and some another function with which it shares a helper, and calls them
with other values in each round. It prints a result for each round and what is left in the end. The
changes of `depyf.advise` that have a patch are followed in the order of the list, each on top of
those before it, as a reader would. `python followed.py SEED` shows a program.
"""

import contextlib
import io
import linecache
import logging
import math
import os
import random
import re
import sys
import tempfile
import warnings
from collections import namedtuple

#: what a method of the module does, by name; {x} is the tensor
BODY = {
    "argument float": "x = x * t\n",
    "argument integer": "x = x + n\n",
    "counter": "self.steps += 1\nx = x * self.steps\n",
    "counter that decides": "self.rounds += 1\nif self.rounds > 2:\n    x = x * 2\n",
    "counter alone": "self.calls += 1\n",
    "item": "total = x.mean().item()\nx = x * total\n",
    "item that decides": "low = x.min()\nif low.item() > 0.5:\n    low = low * 2\nx = x + low\n",
    "item that decides, else": "if x.sum().item() > 0:\n    x = x + 1\nelse:\n    x = x - 1\n",
    "branch": "if x.sum() > 0:\n    x = x + 1\n",
    "branch, else": "if x.mean() > 0:\n    x = x.sin()\nelse:\n    x = x.cos()\n",
    "list": "self.kept.append(n)\n",
    "list that is read": "self.seen.append(n)\nx = x + len(self.seen)\n",
    "print": "print('mean', x.mean())\n",
    "logger": "log.info('of %d rows', x.shape[0])\n",
    "logger of a value": "log.warning('mean %s', x.mean())\n",
    "nonzero": "y = x[x > 0.3]\nx = x + y.sum()\n",
    "loop": "for i in range(n % 3):\n    x = x + i\n",
    "root": "x = x / math.sqrt(t + 1)\n",
    "helper": "x = self.helper(x, n)\n",
    "shared": "x = scaled(x, n)\n",
    "attribute": "x = x * self.decay\n",
    "dictionary": "self.stats['calls'] = self.stats.get('calls', 0) + 1\n",
    "features": "for name in extra:\n    x = x + extra[name]\n",
    "feature": "if 'late' in extra:\n    x = x + extra['late']\n",
    "size that decides": "if x.shape[0] > 5:\n    x = x * 2\n",
    "flag": "x = x.relu() if flag else x.tanh()\n",
}
HELPERS = (
    "return x.sin() * n\n",
    "print('helper', x.shape)\nreturn x.cos()\n",
    "most = x.max().item()\nreturn x / (most + 1)\n",
    "if x.mean() > 0:\n    x = x * 0.5\nreturn x\n",
    "log.info('scaled by %s', n)\nreturn x * (n + 1)\n",
)
SIZES = ("4", "4 + k", "4 + k % 2", "1 + k", "1 if k == 0 else 4", "1 + k % 2")
FLOATS = ("0.5", "0.1 * k + 0.05", "0.5 ** k", "math.cos(0.1 * k)")
INTEGERS = ("3", "k + 2", "k", "k % 2")
FLAGS = ("True", "k % 2 == 0")
EXTRA = (
    "{'first': torch.ones(3)}",
    "{name: torch.ones(3) for name in ('first', 'second', 'late')[: 1 + k % 3]}",
    "{'first' if k % 2 else 'late': torch.ones(3)}",
)

HEAD = """import logging
import math
import torch

log = logging.getLogger("program")


def scaled(x, n):
%s

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.steps, self.rounds, self.calls = 0, 0, 0
        self.decay, self.kept, self.seen, self.stats = 0.5, [], [], {}

    def helper(self, x, n):
%s
    def forward(self, x, t, n, flag, extra):
        x = self.layer(x)
%s        return x


torch.manual_seed(0)
net = Net()
run = torch.compile(net, backend="eager")
"""
#: the module that is compiled, as the compiled function reaches it by a global
BY_GLOBAL = """
@torch.compile(backend="eager")
def run(x, t, n, flag, extra):
    return net(x, t, n, flag, extra)
"""
SECOND = """

@torch.compile(backend="eager")
def score(x, n):
    x = scaled(x, n)
    return x.mean()


"""
UPDATE = """optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


@torch.compile(backend="eager")
def update():
    optimizer.step()


"""
#: what is left in the end, whatever kind of number it has become
END = """print("result", float(net.steps), float(net.rounds), float(net.calls))
print("result", len(net.kept), len(net.seen), net.stats.get("calls", 0))
"""


def _indented(text, by):
    return "".join(" " * by + line for line in text.splitlines(True))


def text_of(seed):
    """The program of a number."""
    drawn = random.Random(seed)
    names = drawn.sample(sorted(BODY), drawn.randint(2, 5))
    body = "".join(BODY[name] for name in names)
    helpers = [drawn.choice(HELPERS) for _ in range(2)]
    text = HEAD % (_indented(helpers[0], 4), _indented(helpers[1], 8), _indented(body, 8))
    second = "shared" in names or drawn.random() < 0.15
    trains = drawn.random() < 0.2
    text += SECOND * second + UPDATE * trains
    rounds = []
    if drawn.random() < 0.3:
        rounds.append("net.decay = 0.5 / (k + 1)\n")
    size, number = drawn.choice(SIZES), drawn.choice(INTEGERS)
    values = (size, drawn.choice(FLOATS), number, drawn.choice(FLAGS), drawn.choice(EXTRA))
    called = "run(torch.randn(%s, 3), %s, %s, %s, extra)" % values[:4]
    rounds.append("extra = %s\n" % values[4])
    if trains:
        rounds.append("loss = %s.sum()\nloss.backward()\nupdate()\n" % called)
        rounds.append("optimizer.zero_grad()\nscheduler.step()\nprint('result', k, loss.item())\n")
    else:
        rounds.append("with torch.no_grad():\n    print('result', k, %s.sum().item())\n" % called)
    if second:
        one = "score(torch.randn(%s, 2), %s)" % (drawn.choice(SIZES), number)
        rounds.append("with torch.no_grad():\n    print('result', k, %s.item())\n" % one)
    text += "for k in range(%d):\n" % drawn.choice((3, 4, 6)) + _indented("".join(rounds), 4)
    if drawn.random() < 0.2:
        text = text.replace('\nrun = torch.compile(net, backend="eager")\n', BY_GLOBAL)
    return text + END


#: `result`: the numbers that were printed as results, `error`: an exception's repr or "", `advice`:
#: an `Advice` of the run, `shown`: the other lines that were printed
Run = namedtuple("Run", "result error advice shown")


def run(text, path):
    """What a program does, in this process; torch's settings that it changes are restored."""
    import depyf
    import torch
    import torch.fx.experimental._config as shapes
    from depyf.advise.listing import Advice
    from test_advice import restore, settings

    with open(path, "w") as file:
        file.write(text)
    linecache.checkcache()
    torch._dynamo.reset()
    kept = [(module, settings(module)) for module in (torch._dynamo.config, shapes)]
    names = ("reorderable_logging_functions", "ignore_logging_functions")
    sets = [getattr(torch._dynamo.config, name, set()) for name in names]
    held = [set(one) for one in sets]
    printed, error = io.StringIO(), ""
    logging.disable(logging.WARNING)
    try:
        with depyf.capture() as found, contextlib.redirect_stdout(
            printed
        ), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(text, path, "exec"), {"__name__": "program"})
            except Exception as raised:
                error = repr(raised)[:300]
        advice = Advice(dict(found.to_json(), program=path))
    finally:
        logging.disable(logging.NOTSET)
        for one, before in zip(sets, held):
            one.clear()
            one.update(before)
        for module, before in kept:
            restore(module, before)
    rows = re.findall(r"(?m)^result (.*)", printed.getvalue())
    shown = [one for one in printed.getvalue().splitlines() if not one.startswith("result ")]
    return Run([float(each) for row in rows for each in row.split()], error, advice, shown)


def _by_hand(text, rows):
    """The text with what is told to be done beside the patch: dynamic=True of other functions."""
    for name in re.findall(r"the torch\.compile of (\w+)[^ ]* dynamic=True, too", "\n".join(rows)):
        made = (
            r"torch\.compile\(net, " if name == "Net" else r"@torch\.compile\((?=[^\n]*\ndef %s\b)"
        )
        made = made.replace("%s", name)
        text = re.sub(made, lambda match: match.group() + "dynamic=True, ", text, count=1)
    return text


def _recompiled(node):
    """What a compile is made again for: the function, the line after which it goes on, the row, and
    the value.
    """
    behind = linecache.getline(node.place[0], node.resumes_at).strip() if node.is_resume else ""
    return [(str(node.title), behind, one["row"], one["name"]) for one in node.reasons[:1]]


def _broken(nodes, row, source):
    """The lines of the breaks of some code, and of what was given up for them."""
    met = [one for node in nodes for one in node.breaks]
    met += [node.failure for node in nodes if node.failure and not node.is_limit]
    return {one["line"] for one in met if (one["row"], one["source"]) == (row, source)}


def gone(change, before, after, by_hand=()):
    """What a change is about or also removes, and is met after it.

    Args:
        by_hand: what is told of lines that are not in the patch; what goes with these stays.
    """
    from depyf.advise.change import shown_at
    from depyf.terminal import place

    left = []
    unchanged = {one.rpartition(": ")[2] for one in by_hand}
    for one in (change,) + change.gone:
        if one is not change and place(*shown_at(one), False) in unchanged:
            continue
        if one.kind == "recompile":
            (key,) = _recompiled(one.cause["nodes"][0])
            nodes = [each for each in after.advice.nodes if not each.is_limit]
            found = any(key in _recompiled(each) for each in nodes)
        else:
            said = one.cause.get("break") or one.cause["failure"]
            key = (one.row, said["source"])
            lines = [_broken(each.advice.nodes, *key) for each in (before, after)]
            found = len(lines[1]) >= len(lines[0]) > 0
        left += ["stays: %s" % (key,)] * found
    return left


def same(one, other):
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-3) or a != a and b != b
        for a, b in zip(one, other)
    )


#: a change that was followed: its number in the list, its words, the compiles before it and after
#: it, those that it was said to remove, `wrong`: what did not come true
Followed = namedtuple("Followed", "number told before after promised patch wrong")


def follow(seed, folder=None):
    """What became of the changes of a drawn program that have a patch, in the order of the list.

    Returns:
        A `Followed` for each. What is asserted of each: the program raises nothing, prints the same
        numbers and takes no more compiles than before; what the change is about and what it "also
        removes" is met no more; and of the compiles that are told to be "because of this", and of
        those of the changes followed before, at least so many are gone. A change that counts what
        those above it leave is held to its number only where these were followed; one of which it
        is told that it may cost compiles, and those after it, are held to no number. Seconds are
        told as "up to", and are asserted of none: the times of two runs differ by more.
    """
    text = text_of(seed)
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(tempfile.TemporaryDirectory())
        return _follow(text, os.path.join(folder, "program_%d" % seed))


def _follow(text, base):
    from depyf.advise.change import is_late
    from depyf.advise.wording import compiles_removed, not_patched, patch_now, saving
    from depyf.trying.patching import with_hunks

    first = run(text, base + ".py")
    if first.error:
        raise RuntimeError("the drawn program raises " + first.error)
    top = first.advice.listed(3)[:3]
    found, counted, promised = [], set(), 0
    before, skipped, late = first, False, False
    for number, change in enumerate(top, 1):
        told = " ".join(compiles_removed(change, first.advice.nodes, counted))
        shown = patch_now(change, top[: number - 1])
        new = with_hunks(text, change.patch) if shown else None
        if new is None:
            skipped = True
            if shown:
                print("no place for the patch of", number, change.row)
            continue
        by_hand = not_patched(change, first.advice.nodes, False)
        text = _by_hand(new, by_hand)
        after = run(text, "%s_%d.py" % (base, number))
        counts = [len(one.advice.nodes) for one in (first, before, after)]
        more = re.search(r"compiles, (\d+)", told)
        own = int(more.group(1)) if more else 0
        if not skipped or change.alone - change.seconds < 0.005:
            promised += own
        wrong = []
        if after.error:
            wrong.append("raises " + after.error)
        elif not same(first.result, after.result):
            wrong.append("other results: %s, %s" % (first.result, after.result))
        else:
            wrong += gone(change, before, after, by_hand)
            if counts[2] > counts[1] and not is_late(change):
                wrong.append("%d compiles, %d before" % (counts[2], counts[1]))
            if counts[2] > counts[0] - promised and not (late or is_late(change)):
                form = "%d of %d compiles left, %d told to go"
                wrong.append(form % (counts[2], counts[0], promised))
        words = "%s %s: %s" % (change.kind, change.row, saving(change))
        found.append(Followed(number, words, counts[1], counts[2], own, change.patch, wrong))
        before, late = after, late or is_late(change)
    return found


if __name__ == "__main__":
    print(text_of(int(sys.argv[1])), end="")
