"""Whether Python needs the number that a line makes of a tensor, read from the program's source."""

import ast
import os
import re
import sys

import pytest

from depyf.advice import uses
from depyf.advice.uses import trees

pytestmark = pytest.mark.skipif(sys.version_info < (3, 8), reason="no ends of nodes before 3.8")

#: the line that makes the number is the one with HERE, the one that needs it that with NEEDS
NEEDED = """
class Model:
    def forward(self, x):
        self.seen, _ = int(x.sum()), 1  # HERE
        assert not self.seen < 3  # NEEDS
        return x
---
def f(x):
    n = x.item()  # HERE
    m = n * 2
    return x if m > 3 else x + 1  # NEEDS
---
def f(x):
    if x.max().item() > 3:  # HERE NEEDS
        return x
---
def f(x):
    n = int(x.argmax())  # HERE
    for _ in range(n):  # NEEDS
        x = x + 1
    return x
---
TABLE = [1, 2, 3]
def f(x):
    n = x.item()  # HERE
    return x * TABLE[n]  # NEEDS
---
def f(x):
    return x * {0: 1, 1: 2}[x.item()]  # HERE NEEDS
---
class Env:
    def step(self, action):
        return 1 if action == 1 else 2  # NEEDS

def f(x, env):
    action = int(x.argmax())  # HERE
    return env.step(action)
---
def f(x):
    n = x.item()  # HERE
    assert n > 0 and n < 9  # NEEDS
    return x
---
def f(x):
    n = x.item()  # HERE
    assert n > 0, f"is {n}"  # NEEDS
    return x
---
def f(x):
    kept = {"n": x.item()}  # HERE
    return x if kept["n"] > 3 else x + 1  # NEEDS
---
def f(xs):
    return max(xs, key=lambda x: x.sum().item())  # HERE NEEDS
---
def f(xs):
    xs.sort(key=lambda x: float(x.sum()))  # HERE NEEDS
    return xs[0]
---
def f(x, ids):
    kept = []
    for value, i in zip(x, ids.tolist()):  # HERE
        if i == 1:  # NEEDS
            continue
        kept.append(value)
    return torch.stack(kept)
---
def f(x):
    rows = x.tolist()  # HERE
    for n, (a, b) in enumerate(rows):
        y = x + n
        x = y if b else -y  # NEEDS
    return x
---
def f(x, ids):
    kept = [value for value, i in zip(x, ids.tolist()) if i != 1]  # HERE NEEDS
    return torch.stack(kept)
---
def f(x, ids):
    kept = [value for value, i in zip(x, ids.tolist())]  # HERE
    return torch.stack(kept)
---
def f(x, ids):
    return [
        x[n]
        for n, i in enumerate(ids.tolist())  # HERE
        if i > 2  # NEEDS
    ]
---
def f(x, ids):
    rows = ids.tolist()  # HERE
    y = x * 2
    return [value for value, i in zip(y, rows) if i]  # NEEDS
---
def f(x, ids):
    doubled = [2 * i for i in ids.tolist()]  # HERE
    y = x * 2
    return y if doubled[0] > 3 else x  # NEEDS
---
def f(x, ids):
    for n, (row, i) in enumerate(list(zip(x, ids.tolist()))):  # HERE
        if i == n:  # NEEDS
            x = x + row
    return x
---
def f(x, ids):
    for i in map(int, ids):  # HERE
        if i == 1:  # NEEDS
            x = x + 1
    return x
---
def f(x, ids):
    names = {row: i for row, i in enumerate(ids.tolist())}  # HERE
    return x if names[0] else -x  # NEEDS
"""
PRINTED = """
def f(x):
    print("mean", x.mean().item())  # HERE NEEDS
---
def f(x):
    mean = float(x.mean())  # HERE
    y = x * 2
    print(f"mean {mean:.3f}")  # NEEDS
    return y
---
def f(x):
    mean = x.mean().item()  # HERE
    return x * mean
---
def f(x):
    mean = x.mean().item()  # HERE
    y = x.sub(mean)
    print(y)
    return y
---
def f(x, log):
    mean = x.mean().item()  # HERE
    log.info(mean)
    print("done")
---
def f(x):
    seen = int(x.sum())  # HERE
    y = x.cos()
    print("cosines", y)
    return y
"""
INDEXED = """
def f(x, at):
    return x[:, int(at)]  # HERE NEEDS
---
def f(x, at):
    n = at.item()  # HERE
    return x[0, n]  # NEEDS
---
def f(x, at):
    return x[int(at)]  # HERE
---
def f(x, at):
    return x[:, : at.item()]  # HERE
"""

NOT_NEEDED = """
def f(x, edges):
    n = int(edges.max()) + 1  # HERE
    degree = torch.bincount(edges, minlength=n).clamp(min=1)
    return x / degree if degree.shape[0] == x.shape[0] else x
---
def f(x):
    n = x.max().item()  # HERE
    y = x * n
    return y if y.sum() > 3 else x
---
def f(x):
    n = x.max().item()  # HERE
    assert n > 0, "is 0"
    return x * n
---
def f(x):
    y = x[: int(x.max())]  # HERE
    return y if y.sum() > 3 else x
---
class Model:
    def forward(self, x):
        self.seen += int(x.sum())  # HERE
        assert self.state is not self and torch.isfinite(self.state).all()
        return x
---
def f(x):
    n = x.item()  # HERE
    return x * n
---
def f(x):
    n = x.item()  # HERE
    return x[:n]
---
def f(x):
    if x is None:
        return 0
    n = x.item()  # HERE
    return x if n is not None else 0
---
def f(x):
    n = x.item()  # HERE
    return x + 1

def g(n):
    if n:
        return 2
---
def f(x, names):
    names.append(x.item())  # HERE
    if names:
        return x
---
def f(x, ids, names):
    for name, i in zip(names, ids.tolist()):  # HERE
        x = x + i
        if name:
            return x
---
def f(x):
    for n, i in enumerate(x.tolist()):  # HERE
        x = x + i if n else x
    return x
"""


def at(text, mark):
    return next((i for i, line in enumerate(text.split("\n"), 1) if mark in line), 0)


@pytest.mark.parametrize("text", NEEDED.split("---") + NOT_NEEDED.split("---"))
def test_the_line_that_needs_the_number_is_found(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    assert uses.decided_at(str(program), at(text, "HERE")) == at(text, "NEEDS")


SIZED = """
def f(x, mask):
    kept = x[mask]  # HERE
    if len(kept) == 0:  # NEEDS
        return x
---
def f(x, mask):
    kept = x[mask]  # HERE
    n = 2
    return kept.sum() if kept.shape[0] > n else x  # NEEDS
---
def f(x, mask):
    kept = x[mask]  # HERE
    if len(x) == 0:
        return kept * kept.shape[0]
    return x
"""


ELEMENTS = """
def f(x, table, at):
    return x * table[at.item()]  # HERE NEEDS
---
def f(x, table, at):
    n = int(at)  # HERE
    y = x + 1
    return y * table[n]  # NEEDS
---
def f(x, at):
    return x[: at.item()]  # HERE
---
import torch
table = torch.arange(3.0)
def f(x, at):
    return x * table[at.item()]  # HERE
---
def f(x, table, at):
    return x * at.item() + table[0]  # HERE
---
def f(x):
    best = int(x.argmax())  # HERE
    return x[best] * 2
"""
TEXTS = """
def f(x):
    raise ValueError("too low: %.2f" % float(x.min()))  # HERE NEEDS
---
def f(x):
    return x, f"{x.min().item():.2f}"  # HERE NEEDS
---
def f(x):
    return x, "{} {n}".format(1, n=x.min().item())  # HERE NEEDS
---
def f(x):
    return x, str(x.min().item())  # HERE NEEDS
---
def f(x):
    n = x.min().item()  # HERE
    return x * n, str(x.shape)
---
def f(x, flag):
    n = x.min().item()  # HERE
    if flag:
        raise ValueError("too low: %s" % n)
    return x * n
---
def f(x):
    return x % float(x.min())  # HERE
"""


@pytest.mark.parametrize(
    "used, text",
    [(uses.printed_at, text) for text in PRINTED.split("---")]
    + [(uses.indexed_at, text) for text in INDEXED.split("---")]
    + [(uses.sized_at, text) for text in SIZED.split("---")]
    + [(uses.element_at, text) for text in ELEMENTS.split("---")]
    + [(uses.text_at, text) for text in TEXTS.split("---")],
)
def test_the_line_that_prints_or_indexes_with_or_sizes_what_is_made_is_found(tmp_path, used, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    assert used(str(program), at(text, "HERE")) == at(text, "NEEDS")
    if used is uses.printed_at:
        printing = at(text, "NEEDS") or at(text, "print(")
        assert uses.prints_number(str(program), printing) == ("NEEDS" in text)


DISPATCHED = """
import functools
from functools import singledispatch

@functools.singledispatch
def enc(v, x):
    return x + 1

@singledispatch
def dec(v, x):
    return x - 1

def plain(v, x):
    return x

use = lambda v, x: enc(v, x).relu()

def f(v, x):
    x = plain(x, v)
    return dec(v, x)

def same(x, n):
    'Nothing.'
    return n, x

def other(x):
    y = x
    return y
"""


def test_what_a_dispatch_is_given_and_functions_that_return_it_are_known(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DISPATCHED)
    asked = [("use =", "v"), ("return dec", "v"), ("return dec", "x"), ("return x + 1", "v")]
    found = [uses.is_dispatched(str(program), at(DISPATCHED, mark), name) for mark, name in asked]
    assert found == [True, True, False, False]
    begins = [at(DISPATCHED, mark) for mark in ("def same", "def plain", "def other", "def f")]
    told = [uses.returns_what_it_got(str(program), line) for line in begins]
    assert told == [True, True, False, False]


def test_what_is_no_plain_file_is_not_read(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    for path in (pipe, str(tmp_path), str(tmp_path / "missing"), "/dev/zero", "\0", "<string>", ""):
        assert uses.decided_at(path, 3) == 0
    broken = tmp_path / "broken.py"
    broken.write_bytes(b"def f(:\n\xff")
    assert uses.decided_at(str(broken), 1) == 0


IN_TURN = """
for kind in kinds:
    fit = Fit(kind)
    for _ in range(3):
        fit.go(x)
--- yes
def trial(kind):
    fit = Fit(kind)
    fit.go(x)
    return fit.count
--- yes
fits = []
for kind in kinds:
    fit = Fit(kind)
    fit.go(x)
    fits.append(fit)
--- no
fits = [Fit(kind) for kind in kinds]
for fit in fits:
    fit.go(x)
--- no
for kind in kinds:
    fit = Fit(kind)
    fit.go(x)
last = fit.go
--- no
one = Fit("a")
other = Fit("b")
one.go(other.go(x))
--- no
def trial(kind):
    fit = Fit(kind)
    return fit
--- no
"""


@pytest.mark.parametrize("case", re.findall(r"(?s)(.*?)--- (yes|no)\n", IN_TURN))
def test_objects_that_are_used_one_after_the_other_are_known(tmp_path, case):
    program = tmp_path / "program.py"
    program.write_text("class Fit:\n    def go(self, x):\n        return x\n" + case[0])
    assert uses.used_in_turn(str(program), 2) == (case[1] == "yes")


CONTAINERS = """
def f(x):
    seen.append(x)  # HERE
    return x
--- grows
def f(x):
    seen.append(x)  # HERE
    return x * len(seen)
--- grows length
def f(x):
    self.seen.append(x)  # HERE
    return x if not self.seen else self.seen[-2]
--- grows length end
def f(x):
    return x + sum(seen)  # HERE
--- all
def f(x):
    return x + seen[0]  # HERE
--- all
def f(x):
    seen.clear()
    return x + seen[-1]  # HERE
--- all end
def f(x):
    return x  # HERE
"""


@pytest.mark.parametrize("case", CONTAINERS.split("def f")[1:])
def test_what_a_function_does_with_a_container_is_told(tmp_path, case):
    text, _, wanted = case.partition("---")
    program = tmp_path / "program.py"
    program.write_text("def f" + text)
    name = "model.seen" if "self" in text else "seen"
    used = uses.container_uses(str(program), at("def f" + text, "HERE"), name)
    assert used == set(wanted.split())
    assert uses.container_uses(str(tmp_path / "missing.py"), 1, name) == set()


NAMED = """
def forward(self, x):
    self.n += 1  # HERE
    k = (self.n + 1) % 2
    if k:  # NEEDS
        return x
---
def forward(self, x):
    self.n += 1  # HERE
    x = x * self.n
    if x.sum() > 3:
        return x
---
def forward(self, x):
    for _ in range(self.n):  # HERE NEEDS
        x = x + 1
    return x
"""


@pytest.mark.parametrize("text", NAMED.split("---"))
def test_the_line_that_needs_a_name_is_found(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    for name in ("self.n", "model.layers[0].n"):
        assert uses.needed_at(str(program), at(text, "HERE"), name) == at(text, "NEEDS")
    ranged, tested = "range" in text, "NEEDS" in text and "range" not in text
    assert bool(uses.ranged_at(str(program), at(text, "HERE"), "self.n")) == ranged
    assert bool(uses.tested_at(str(program), at(text, "HERE"), "self.n")) == tested


@pytest.mark.parametrize(
    "line, found",
    [
        ("xs.sort(key=float)", 2),
        ("xs = sorted(xs, key=torch.Tensor.item)", 2),
        ("first = min(xs, key=lambda x: float(x.sum()))", 2),
        ("xs = sorted(xs, key=len)", 0),
        ("n = float(xs[0])", 0),
    ],
)
def test_an_order_by_numbers_of_tensors_is_known(tmp_path, line, found):
    program = tmp_path / "program.py"
    program.write_text("def f(xs):\n    %s\n    return xs\n" % line)
    assert uses.ordered_at(str(program), 2) == found


KEPT_UNDER_A_KEY = """
stats = {"loss": []}
def loss(x):
    stats["loss"].append(x.item())
    return x
def shown(self):
    print(self.stats["loss"])
    self.stats["loss"].append(1)
def own(x):
    kept = {"loss": []}
    kept["loss"].append(x.item())
    return kept
"""


def test_a_list_under_a_key_of_a_dict_is_a_list(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(KEPT_UNDER_A_KEY)
    assert uses.appended_at(str(program), 4) == 4
    assert uses.appended_at(str(program), 11) == 0
    assert uses.container_uses(str(program), 4, "stats['loss']") == {"grows"}
    assert uses.container_uses(str(program), 8, "self.stats['loss']") == {"shown", "grows"}
    assert uses.container_uses(str(program), 4, "stats['when']") == set()


@pytest.mark.parametrize(
    "body, chooses",
    [
        ("return heads[kind](x)", True),
        ("y = heads[kind](x) / 2\n    return {'kind': kind, 'y': y}", True),
        ("if kind == 'a':\n        x = -x\n    return x, kind", True),
        ("return x if kind in ('a', 'b') else -x", True),
        # a number that is looked up, or counted, can be computed before the call
        ("return x + heads[kind]", False),
        ("return heads[kind](x) * len(kind)", False),
        ("return other(x, kind)", False),
        ("return kind", False),
    ],
)
def test_a_text_may_only_choose_what_is_computed(tmp_path, body, chooses):
    program = tmp_path / "chosen.py"
    program.write_text("def f(x, kind, heads):\n    %s\n" % body)
    assert uses.only_chooses(str(program), 2, "kind") == chooses


def test_the_innermost_function_that_begins_at_a_line_is_taken(tmp_path):
    path = tmp_path / "nested.py"
    path.write_text("def make(scale):\n    @wrapped\n    def inner(x, k):\n        return x\n")
    assert uses.function_starting_at(str(path), 1).name == "make"
    assert [uses.function_starting_at(str(path), line).name for line in (2, 3)] == ["inner"] * 2


def test_nodes_at_a_line_are_those_that_hold_it():
    source = (
        "@wraps(lambda: 1 if DEBUG else 2)\n"
        "def f(x):\n"
        "    if (x.sum()\n"
        "            > 3):\n"
        "        def g(y):\n"
        "            return y if y else x\n"
        "        x = g(x)\n"
        "    return x\n"
    )
    tree = trees.tree_of(source)
    lines = range(1, source.count("\n") + 1)
    for line in lines:
        expected = [
            one
            for one in ast.walk(tree)
            if isinstance(one, (ast.If, ast.IfExp)) and one.lineno <= line <= one.end_lineno
        ]
        found = trees.nodes_at(tree, line)
        assert [one for one in found if isinstance(one, (ast.If, ast.IfExp))] == expected
    assert len(trees.nodes_at(tree, 7)) < len(list(ast.walk(tree))) / 2
    assert [one.name for one in trees.functions_of(tree)] == ["f", "g"]


@pytest.mark.parametrize(
    "made, line",
    [
        ("Counter()", 5),
        ("collections.defaultdict(int)", 5),
        ("{}", 5),
        ("Meter()", 0),
        ("set()", 0),
    ],
)
def test_a_dict_that_is_updated_with_numbers_of_a_tensor_is_no_meter(tmp_path, made, line):
    program = tmp_path / "counts.py"
    program.write_text("kept = %s\n\ndef f(x):\n    n = x.tolist()\n    kept.update(n)\n" % made)
    assert uses.put_into_dict_at(str(program), 4) == line
    assert uses.fills_at(str(program), 4, "kept") == 5


@pytest.mark.parametrize(
    "statement", ["seen['d'] = seen.get('d', 0) + x", "seen['d'] += x", "seen.setdefault('d', x)"]
)
def test_a_dict_whose_key_the_source_tells_is_filled_too(tmp_path, statement):
    program = tmp_path / "told.py"
    program.write_text("seen = {}\n\ndef f(x):\n    %s\n" % statement)
    assert uses.fills_at(str(program), 3, "seen") == 0
    assert uses.fills_at(str(program), 3, "seen", told=True) == 4
    assert uses.fills_at(str(program), 3, "other", told=True) == 0
