"""A decompiler that errs: each wrong source is refused by the prover, and torch keeps its own bytecode.

The decompiled text is changed on its way to the proof, as a bug in the printer or the structurer would change it.
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


PASSES_LISTS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 9)


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


def move_first_effect_last(text):
    """Runs the first statement that only calls something after the statement that follows it."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines[:-1]):
        if (
            re.match(r"    [\w.]+\(.*\)\n$", line)
            and lines[number + 1].startswith("    ")
            and "return" not in lines[number + 1]
        ):
            lines[number], lines[number + 1] = lines[number + 1], lines[number]
            break
    return "".join(lines)


MUTANTS = [
    (
        "arguments of the graph swapped",
        branchy,
        substitute(r"(__compiled_fn_\w+)\(a, b\)", r"\1(b, a)"),
    ),
    ("branch flipped", branchy, substitute(r"\bif (\w+):", r"if not \1:")),
    ("resume functions swapped", branchy, swap_resumes),
    ("wrong output of the graph", branchy, swap("[0]", "[1]")),
    ("a del dropped", branchy, lambda text: re.sub(r"(?m)^ *del graph_out_0\n", "", text)),
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
    (
        "an effect left out",
        branchy,
        lambda text: re.sub(
            r"(?m)^ *__import_\w+\.record_pregraph_bytecode_exit\(.*\)\n", "", text
        ),
    ),
    (
        "an effect doubled",
        branchy,
        lambda text: re.sub(
            r"(?m)^( *__import_\w+\.record_pregraph_bytecode_exit\(.*\)\n)", r"\1\1", text
        ),
    ),
    ("an effect moved", branchy, move_first_effect_last),
    ("0.0 for -0.0", constants, substitute(r"(?<![\d.])0\.0", "-0.0")),
    ("True for 1", constants, substitute(r"0\.0, 1\b", "0.0, True")),
    ("another string", constants, substitute("'text'|\"text\"", "'texts'")),
    ("a tuple for a list", constants, substitute(r"\[(graph_out_0\[0\], 0\.0, .*?\))\]", r"(\1)")),
    ("another key", constants, substitute("'k'|\"k\"", "'q'")),
    (
        "stores to attributes swapped",
        effects,
        lambda text: text.replace("'mark', 1", "'mark', 3").replace(".mark = 1", ".mark = 3"),
    ),
]


@pytest.mark.parametrize("what, function, change", MUTANTS, ids=[mutant[0] for mutant in MUTANTS])
def test_a_wrong_source_is_refused(tmp_path, monkeypatch, what, function, change):
    if change is share_a_list and not PASSES_LISTS:
        pytest.skip("this torch passes no lists to resume functions")
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

    def call():
        torch._dynamo.reset()
        inputs = torch.linspace(-2, 2, 4), torch.ones(4)
        return torch.compile(function, backend="eager")(*inputs)

    with pytest.warns(DepyfWarning, match="keeps its own bytecode"):
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            have = call()
    monkeypatch.undo()
    assert changed, "the change found nothing to change in what was decompiled"
    entry = run.function(function.__name__).entries[0]
    assert entry.verdict in ("different", "refused"), changed[-1]
    assert not entry.replaced
    assert repr(have) == repr(call())
