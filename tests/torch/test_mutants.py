"""A decompiler that errs: each wrong source is refused by the prover, and torch keeps its own
bytecode.

The decompiled text is changed on its way to the proof, as a bug in the printer or the structurer
would change it.
"""

import importlib
import re
import types

import pytest
import torch

import depyf
from depyf.torch import DepyfWarning

SINK = []


def branchy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def constants(a, b):
    x = a + b
    SINK.append(x)
    return [x, 0.0, 1, "text", (True, None)], {"k": a * 2}


def effects(a, b):
    a.mark = 1
    b.mark = 2
    torch._dynamo.graph_break()
    return a + b


def swap(first, second):
    """A change that exchanges two pieces of the text."""
    return lambda text: text.replace(first, "\0").replace(second, first).replace("\0", second)


def substitute(pattern, replacement, count=1):
    """A change by regular expression."""
    return lambda text: re.sub(pattern, replacement, text, count=count)


def swap_resumes(text):
    """Exchanges the two resume functions that the branch calls."""
    names = sorted(set(re.findall(r"__resume_at_\w+", text)))
    return swap(names[0], names[1])(text) if len(names) == 2 else text


def share_a_list(text):
    """Passes one list where two were passed: it has escaped, so that both would see a change to it."""
    return re.sub(
        r"^( *)return (__resume_at_\w+)\(\[\], \[\], ",
        r"\1shared = []\n\1return \2(shared, shared, ",
        text,
        flags=re.M,
    )


def drop_a_del(text):
    """Leaves a result of the graph alive for longer."""
    return re.sub(r"(?m)^ *del graph_out(?:_\d+)?\n", "", text)


def exchange_outputs(text):
    """Takes the first output of the graph for the second, and the other way round."""
    return substitute(r"(\w+), (\w+) = (__compiled_fn_)", r"\2, \1 = \3")(swap("[0]", "[1]")(text))


#: what not every torch writes: a change -> the text that it is made to
NOT_EVERYWHERE = {share_a_list: "([], [], ", drop_a_del: "del graph_out"}

#: a statement that has an effect and no result
EFFECT = r"(?m)^( *[ab]\.mark = .\n)"


MUTANTS = [
    (
        "arguments of the graph swapped",
        branchy,
        substitute(r"(__compiled_fn_\w+)\(a, b\)", r"\1(b, a)"),
    ),
    ("branch flipped", branchy, substitute(r"\bif (\w+):", r"if not \1:")),
    ("resume functions swapped", branchy, swap_resumes),
    ("wrong output of the graph", branchy, exchange_outputs),
    ("a del dropped", branchy, drop_a_del),
    ("a list that has escaped", branchy, share_a_list),
    (
        "argument of the resume function swapped",
        branchy,
        substitute(r"(__resume_at_\w+\((?:\[\], \[\], )?)b, (\w+)\)", r"\1\2, b)"),
    ),
    (
        "argument replaced by a constant",
        branchy,
        substitute(r"(__resume_at_\w+\((?:\[\], \[\], )?)b, ", r"\1None, "),
    ),
    ("an effect left out", effects, substitute(EFFECT, "")),
    ("an effect doubled", effects, substitute(EFFECT, r"\1\1")),
    ("a call left out", effects, substitute(r"\w+\(\), a, b", "None, a, b")),
    ("an effect moved", effects, substitute(EFFECT + EFFECT[4:], r"\2\1")),
    ("0.0 for -0.0", constants, substitute(r"(?<![\d.])0\.0", "-0.0")),
    ("True for 1", constants, substitute(r"0\.0, 1\b", "0.0, True")),
    ("another string", constants, substitute("'text'|\"text\"", "'texts'")),
    (
        "a tuple for a list",
        constants,
        substitute(r"\[(graph_out(?:_\d+)?\[0\], 0\.0, .*?\))\]", r"(\1)"),
    ),
    ("another key", constants, substitute("'k'|\"k\"", "'q'")),
    (
        "stores to attributes swapped",
        effects,
        lambda text: text.replace("'mark', 1", "'mark', 3").replace(".mark = 1", ".mark = 3"),
    ),
]


@pytest.mark.parametrize("what, function, change", MUTANTS, ids=[mutant[0] for mutant in MUTANTS])
def test_a_wrong_source_is_refused(tmp_path, monkeypatch, what, function, change):
    def call():
        torch._dynamo.reset()
        inputs = torch.linspace(-2, 2, 4), torch.ones(4)
        return torch.compile(function, backend="eager")(*inputs)

    needed = NOT_EVERYWHERE.get(change)
    if needed is not None:
        with depyf.capture() as run:
            call()
        if needed not in run.function(function.__name__).entries[0].source:
            pytest.skip("this torch writes no %r" % needed)
    module = importlib.import_module("depyf.recompile")
    core, changed = module._core, []

    def decompile(code, *arguments, **keywords):
        source, *rest = core.decompile(code, *arguments, **keywords)
        if code.co_name != function.__name__:
            return (source, *rest)
        wrong = change(source)
        if wrong != source:
            changed.append((source, wrong))
        return (wrong, *rest)

    monkeypatch.setattr(
        module, "_core", types.SimpleNamespace(**dict(vars(core), decompile=decompile))
    )

    with pytest.warns(DepyfWarning, match="keeps its own bytecode"):
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            have = call()
    monkeypatch.undo()
    assert changed, "the change found nothing to change in what was decompiled"
    entry = run.function(function.__name__).entries[0]
    assert entry.verdict in ("unproven", "different", "refused"), changed[-1]
    assert not entry.replaced
    assert repr(have) == repr(call())
