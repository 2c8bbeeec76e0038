"""Values die where they die with torch's own code: weak references, and so memory, tell no
difference.
"""

import gc
import random
import sys
import warnings
import weakref

import depyf
import pytest
import torch
from forms import some_of
from processes import function_of
from programs import PROGRAMS, TORCH

WATCHED = some_of(PROGRAMS, 7)


def in_order(log):
    """The log with what ends at one moment sorted: a tuple lets go of its items from the last to
    the first, a call from the first on.
    """
    found, ends = [], []
    for one in log + [""]:
        if one.startswith("end "):
            ends.append(one)
        else:
            found += sorted(ends) + [one]
            ends = []
    return found[:-1]


def observed(compile_and_run, backend):
    """The order of calls of graphs and of the deaths of what they returned, while the program runs."""
    log = []
    numbers = iter(range(10**6))

    def watching(graph, inputs, **options):
        compiled = torch._dynamo.lookup_backend(backend)(graph, inputs, **options)
        number = next(numbers)

        def call(*arguments):
            log.append("call %d" % number)
            results = compiled(*arguments)
            for index, one in enumerate(results if isinstance(results, (list, tuple)) else ()):
                if isinstance(one, torch.Tensor):
                    weakref.finalize(one, log.append, "end %d.%d" % (number, index))
            return results

        return call

    torch._dynamo.reset()
    torch.manual_seed(0)
    random.seed(0)
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compile_and_run(
                lambda function, **options: torch.compile(function, backend=watching, **options)
            )
        log.append("returned")
        del result
        log.append("result dropped")
        return in_order(log)
    finally:
        gc.enable()


@pytest.mark.parametrize("program", WATCHED, ids=[program.name for program in WATCHED])
def test_every_value_dies_where_it_does_with_torch_alone(tmp_path, program):
    if TORCH < program.since:
        pytest.skip("torch %d.%d does not compile this" % TORCH)
    try:
        plain = observed(program.run, program.backend)
    except Exception as error:
        pytest.skip("%s: %s" % (type(error).__name__, str(error)[:80]))
    with depyf.prepare_debug(str(tmp_path / "dump")):
        replaced = observed(program.run, program.backend)
    if replaced != plain:
        # torch 2.2 guards less on what it compiles first, so that plain runs of one program differ
        # too
        plain = observed(program.run, program.backend)
    assert replaced == plain


LIVES = """
def f(x):
    a = x * 2
    note(a)
    b = a + 1
    del a
    mark("after del a")
    return b * 2
"""


def test_a_value_that_is_handed_to_a_resume_function_is_let_go(tmp_path):
    def log_of():
        torch._dynamo.reset()
        log = []
        function = function_of(LIVES, "f")
        function.__globals__["note"] = torch._dynamo.disable(
            lambda one: weakref.finalize(one, log.append, "a freed") and None
        )
        function.__globals__["mark"] = torch._dynamo.disable(log.append)
        torch.compile(function, backend="eager")(torch.ones(3))
        return log

    plain = log_of()
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        assert log_of() == plain
    # Other versions of torch call in ways that keep it.
    if TORCH >= (2, 13) and sys.version_info < (3, 12):
        assert plain == ["a freed", "after del a"]
    assert all(entry.replaced for entry in run.entries() if entry.hooked)


KEPT = """
def f(x, r):
    r = r - 0.5 * x
    rs = r @ r
    best = rs * 2
    last = r + 1
    while rs > 1e-3:
        x = x + r
        r = 0.5 * r
        new = r @ r
        last = r + best
        rs = new
        best = rs * 2
    return x
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="an older torch hands over other values")
def test_what_a_test_finds_alive(tmp_path):
    """Torch's stack holds values over the test of a loop that only the next iteration sets: rs,
    best and last. What the test runs sees them."""

    def watching(graph, inputs, **options):
        def call(*arguments):
            results = list(graph(*arguments))
            references = [weakref.ref(one) for one in results[1:]]

            class Condition(torch.Tensor):
                def __bool__(self):
                    alive = [one() is not None for one in references]
                    log.append((len(alive), alive))
                    with torch._C.DisableTorchFunctionSubclass():
                        return super().__bool__()

            if not results[0].dim() and results[0].dtype is torch.bool:
                results[0] = results[0].as_subclass(Condition)
            for index, one in enumerate(results[1:]):
                weakref.finalize(one, log.append, "end %d" % index)
            return tuple(results)

        return call

    def log_of():
        torch._dynamo.reset()
        log.clear()
        function = torch.compile(function_of(KEPT, "f"), backend=watching)
        function(torch.ones(3), torch.ones(3))
        return in_order_of(log)

    def in_order_of(told):
        return in_order([one if isinstance(one, str) else repr(one) for one in told])

    log = []
    plain = log_of()
    assert any("True, True, True, True" in one for one in plain)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        assert log_of() == plain
    hooked = [entry for entry in run.entries() if entry.hooked]
    assert len(hooked) > 1
    assert all(entry.replaced for entry in hooked), [entry.detail for entry in hooked]


def chain(breaks):
    lines = ["def f(x):"]
    for i in range(breaks):
        before = "a%d" % (i - 1) if i else "x"
        lines += ["    a%d = %s * 2" % (i, before), "    probe(a%d)" % i]
        lines += ["    a%d = a%d + 1" % (i, i), "    del " + before]
    return "\n".join(lines + ["    return a%d.sum()" % (breaks - 1)]) + "\n"


def test_no_more_tensors_are_alive_at_once(tmp_path):
    """20 breaks with one tensor each: with locals that stay, all of them would be alive at the end."""

    def most_alive():
        torch._dynamo.reset()
        alive, most = weakref.WeakValueDictionary(), []
        function = function_of(chain(20), "f")

        def probe(one):
            alive[id(one)] = one
            most.append(len(alive))

        function.__globals__["probe"] = torch._dynamo.disable(probe)
        with torch.no_grad():
            torch.compile(function, backend="eager")(torch.ones(8))
        return max(most)

    plain = most_alive()
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        assert most_alive() == plain
    assert all(entry.replaced for entry in run.entries() if entry.hooked)


TRAINING = """
def step(model, data, optimizer):
    out = model[0](data)
    torch._dynamo.graph_break()
    out = torch.relu(out)
    torch._dynamo.graph_break()
    loss = model[2](out).pow(2).sum()
    torch._dynamo.graph_break()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()
"""


def test_the_memory_of_a_training_step(tmp_path):
    """The bytes of all tensors that are alive when the last layer runs, which is where a step has
    most.
    """

    def most_bytes():
        torch._dynamo.reset()
        torch.manual_seed(0)
        most = []

        def size(one):
            try:
                return one.numel() * one.element_size()
            except RuntimeError:  # torch 2.2 holds one without a type
                return 0

        def measure(*_):
            tensors = [one for one in gc.get_objects() if type(one) is torch.Tensor]
            most.append(sum(map(size, tensors)))

        model = torch.nn.Sequential(
            torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        optimizer.step = torch._dynamo.disable(lambda real=optimizer.step: (measure(), real()))
        compiled = torch.compile(function_of(TRAINING, "step"), backend="eager")
        for _ in range(3):
            gc.collect()
            compiled(model, torch.ones(512, 64), optimizer)
        return max(most)

    plain = most_bytes()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        replaced = most_bytes()
    assert plain > 512 * 64 * 4
    assert replaced <= plain * 1.03
