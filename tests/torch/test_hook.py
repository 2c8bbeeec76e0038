"""The bytecode hook: nothing that goes wrong in it reaches torch or the program, and unproven code
is not used.
"""

import sys

import depyf
import depyf.torch.model
import pytest
import torch
from programs import readme_of
from depyf.torch import DepyfWarning


def branchy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


INPUTS = [(torch.linspace(-2, 2, 5), torch.ones(5)), (torch.linspace(-2, 2, 5), -torch.ones(5))]


def results():
    torch._dynamo.reset()
    function = torch.compile(branchy, backend="eager")
    return [function(*pair) for pair in INPUTS]


def assert_same(have, want):
    assert len(have) == len(want)
    assert all(torch.equal(one, other) for one, other in zip(have, want))


@pytest.fixture
def recompile_module():
    import importlib

    return importlib.import_module("depyf.recompile")


@pytest.mark.parametrize(
    "error",
    [RuntimeError("inside"), RecursionError(), MemoryError(), AssertionError(), SystemError("x")],
)
def test_an_error_in_the_decompiler_is_a_warning_and_a_row(
    tmp_path, monkeypatch, recompile_module, error
):
    plain = results()

    def fail(*arguments, **keywords):
        raise error

    monkeypatch.setattr(recompile_module, "recompile", fail)
    with pytest.warns(DepyfWarning), depyf.prepare_debug(str(tmp_path / "dump")) as run:
        have = results()
    assert_same(have, plain)
    assert run.problems and all(
        entry.verdict == "refused" and not entry.replaced for entry in run.entries()
    )
    text = (tmp_path / "dump" / "__transformed_code_0_for_branchy.py").read_text()
    assert "torch runs its own bytecode" in text and "POP_JUMP" in text
    compile(text, "dumped", "exec")


def test_an_error_in_the_session_is_a_warning_and_a_row(tmp_path, monkeypatch):
    import importlib

    session = (
        importlib.import_module("depyf.torch.capture").Session
        if False
        else sys.modules["depyf.torch.capture"].Session
    )
    plain = results()
    monkeypatch.setattr(session, "_read_names", lambda *arguments: 1 / 0)
    with pytest.warns(DepyfWarning), depyf.prepare_debug(str(tmp_path / "dump")) as run:
        have = results()
    assert_same(have, plain)
    assert any("ZeroDivisionError" in problem.message for problem in run.problems)


def test_an_error_in_the_trace_handler_is_a_warning_and_a_row(tmp_path, monkeypatch):
    session = sys.modules["depyf.torch.capture"].Session
    plain = results()
    monkeypatch.setattr(session, "_record", lambda *arguments: 1 / 0)
    with pytest.warns(DepyfWarning), depyf.prepare_debug(str(tmp_path / "dump")) as run:
        have = results()
    assert_same(have, plain)
    assert run.problems


def test_keyboard_interrupt_is_the_users(tmp_path, monkeypatch, recompile_module):
    def interrupt(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(recompile_module, "recompile", interrupt)
    with pytest.raises(KeyboardInterrupt), depyf.prepare_debug(str(tmp_path / "dump")):
        results()
    monkeypatch.undo()
    assert_same(results(), [branchy(*pair) for pair in INPUTS])


@pytest.mark.parametrize("verdict", ["different", "refused"])
def test_without_a_proof_torch_keeps_its_own_bytecode(
    tmp_path, monkeypatch, recompile_module, verdict
):
    plain = results()
    real = recompile_module.recompile

    def doubt(*arguments, **keywords):
        found = real(*arguments, **keywords)
        return found._replace(code=None, verdict=verdict, detail="first difference: test")

    monkeypatch.setattr(recompile_module, "recompile", doubt)
    with pytest.warns(DepyfWarning, match="keeps its own bytecode") as warned:
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            have = results()
    assert_same(have, plain)
    said = [str(one.message) for one in warned]
    for entry in run.entries():
        # what speaks of bytecode is left to the dump
        one = [text for text in said if "proving %s: " % entry.name in text]
        assert len(one) == 1 and "first difference" not in one[0]
        assert "you cannot step through this code (%s.py of the dump" % entry.name in one[0]
        head = (tmp_path / "dump" / (entry.name + ".py")).read_text().split("\ndef ")[0]
        assert "first difference: test" in head
        assert entry.verdict == verdict and not entry.replaced
        assert entry.code.co_filename == branchy.__code__.co_filename
    assert "first difference: test" in readme_of(tmp_path / "dump")


def names_eval(x):
    y = x.sin()
    print("eval", y.shape)
    return y * 2


def test_the_warning_names_the_word_that_costs_the_proof(tmp_path):
    torch._dynamo.reset()
    with pytest.warns(DepyfWarning, match="the code names 'eval'"):
        with depyf.prepare_debug(str(tmp_path / "dump")):
            torch.compile(names_eval, backend="eager")(torch.ones(2))


def test_a_replacement_with_another_frame_is_not_given_to_torch(
    tmp_path, monkeypatch, recompile_module
):
    plain = results()
    real = recompile_module.recompile

    def reorder(*arguments, **keywords):
        found = real(*arguments, **keywords)
        names = found.code.co_varnames
        code = found.code.replace(co_varnames=tuple(reversed(names[:2])) + names[2:])
        return found._replace(code=code, verdict="equivalent", detail="")

    monkeypatch.setattr(recompile_module, "recompile", reorder)
    with pytest.warns(DepyfWarning, match="another frame"):
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            have = results()
    assert_same(have, plain)
    assert not any(entry.replaced for entry in run.entries())


def test_replaced_code_gives_the_same_results(tmp_path):
    plain = results()
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        have = results()
    assert_same(have, plain)
    assert len(list(run.entries())) == 3
    for entry in run.entries():
        assert entry.replaced and entry.verdict in ("exact", "equivalent"), entry.detail
        assert entry.code.co_filename == str(tmp_path / "dump" / (entry.name + ".py"))
    assert run.problems == []


def test_what_decompile_makes_of_transformed_code_is_proven():
    """As in vLLM's hook, where nobody says whose code it is, and no globals are at hand."""
    found = []

    def hook(old_code, new_code):
        found.append(depyf.decompile(new_code))

    handle = torch._dynamo.convert_frame.register_bytecode_hook(hook)
    try:
        results()
    finally:
        handle.remove()
    assert len(found) == 3
    for source in found:
        assert source.proven and "NOT PROVEN" not in source, source.detail
        assert "__temp_" not in source and "__compiled_fn_" in source


def test_graphs_that_a_backend_formats_as_vllms_does_are_dumped(tmp_path):
    """vLLM enters the block by hand, decompiles in a hook of its own, and formats two graphs."""
    import torch._dynamo.utils

    original = torch._dynamo.utils.lazy_format_graph_code
    formatted, sources = [], []

    def backend(graph_module, inputs):
        from torch._dynamo.utils import lazy_format_graph_code

        formatted.append(str(lazy_format_graph_code("before split", graph_module)))
        lazy_format_graph_code("after split", graph_module)
        return graph_module

    def hook(old_code, new_code):
        sources.append(depyf.decompile(new_code))

    class Wrapper:  # compiles one bound method and dispatches to its code itself
        def __init__(self):
            self.compiled = torch.compile(self.forward, fullgraph=True, backend=backend)

        def forward(self, x):
            return x + 1

    torch._dynamo.reset()
    handle = torch._dynamo.convert_frame.register_bytecode_hook(hook)
    block = depyf.prepare_debug(str(tmp_path / "dump"))
    block.__enter__()
    try:
        assert torch.equal(Wrapper().compiled(torch.ones(3)), torch.ones(3) * 2)
    finally:
        block.__exit__(None, None, None)
        handle.remove()
    assert torch._dynamo.utils.lazy_format_graph_code is original
    assert "GraphModule" in formatted[0] and "def " in sources[0]
    assert sources[0].proven, sources[0].detail
    for stage in ("before_split", "after_split"):
        (path,) = (tmp_path / "dump").glob("__compiled_fn_*.%s.0.py" % stage)
        text = path.read_text()
        assert "class " in text and "+ 1" in text
