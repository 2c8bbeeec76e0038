"""TorchCompileWrapperWithCustomDispatcher: the program chooses which compiled code runs."""

import gc
import weakref

import pytest
import torch
from depyf.optimization import TorchCompileWrapperWithCustomDispatcher


class Model(TorchCompileWrapperWithCustomDispatcher):
    def __init__(self, factor):
        self.factor = factor
        self.runs = 0
        super().__init__(
            torch.compile(self.forward, backend=self.backend, dynamic=False),
            use_custom_dispatcher=True,
        )

    @staticmethod  # torch 2.2 keeps the backend as long as the graph
    def backend(module, inputs):
        return module.forward

    def forward(self, x, extra=None):
        if extra is not None:
            return x * self.factor + extra
        return x * self.factor

    def __call__(self, x):
        if len(self.compiled_codes) < 1:
            return self.compiled_callable(x)
        with self.dispatch_to_code(0):
            return self.forward(x)


def test_the_first_code_runs_without_guards():
    model = Model(3)
    assert torch.equal(model(torch.ones(2)), torch.full((2,), 3.0))
    assert len(model.compiled_codes) == 1
    assert torch.equal(
        model(torch.ones(5)), torch.full((5,), 3.0)
    )  # another shape: a guard would have failed
    assert len(model.compiled_codes) == 1


def test_each_instance_has_its_own_codes():
    first, second = Model(2), Model(5)
    first(torch.ones(2))
    assert second.compiled_codes == []
    second(torch.ones(2))
    assert torch.equal(first(torch.ones(3)), torch.full((3,), 2.0))
    assert torch.equal(second(torch.ones(3)), torch.full((3,), 5.0))


def test_forward_is_restored_after_an_exception():
    model = Model(2)
    model(torch.ones(2))
    with pytest.raises(ZeroDivisionError), model.dispatch_to_code(0):
        1 / 0
    assert "forward" not in vars(model)
    assert torch.equal(model.forward(torch.ones(2), extra=1), torch.full((2,), 3.0))


def test_a_code_that_is_not_there_says_so():
    model = Model(2)
    with pytest.raises(IndexError, match="0 compiled code objects"), model.dispatch_to_code(0):
        pass


def test_the_object_is_freed_and_its_hook_with_it():
    from torch._dynamo import convert_frame

    torch._dynamo.reset()
    gc.collect()
    before = len(convert_frame._bytecode_hooks)
    model = Model(2)
    model(torch.ones(2))
    assert len(convert_frame._bytecode_hooks) == before + 1
    alive = weakref.ref(model)
    del model
    torch._dynamo.reset()
    gc.collect()
    assert alive() is None
    assert len(convert_frame._bytecode_hooks) == before


def test_without_custom_dispatch_torch_decides():
    class Plain(TorchCompileWrapperWithCustomDispatcher):
        def __init__(self):
            super().__init__(
                torch.compile(self.forward, backend="eager"), use_custom_dispatcher=False
            )

        def forward(self, x):
            return x + 1

    plain = Plain()
    assert torch.equal(plain(torch.ones(2)), torch.full((2,), 2.0))
    assert plain.compiled_codes == []


def test_the_example_runs_without_guards_and_faster():
    import importlib.util
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "examples" / "custom_dispatch.py"
    spec = importlib.util.spec_from_file_location("custom_dispatch", str(path))
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    def sum_up(module, inputs):
        # one addition for all layers, as inductor would make it, without its compiler
        numbers = [node.args[1] for node in module.graph.nodes if node.op == "call_function"]
        return lambda x: (x + sum(numbers),)

    # how much faster depends on how long this torch takes to check a hundred guards
    assert max(example.main(2000, backend=sum_up) for _ in range(3)) > 1.5


def test_a_block_is_entered_again_inside_itself():
    model = Model(2)
    model(torch.ones(2))
    with model.dispatch_to_code(0):
        with model.dispatch_to_code(0):
            assert torch.equal(model.forward(torch.ones(1)), torch.full((1,), 2.0))
        assert "forward" in vars(model)
    assert "forward" not in vars(model)
