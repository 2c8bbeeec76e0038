"""full_code_for_*: valid Python whose dispatcher takes the entry that torch takes."""

import importlib.util
import sys

import depyf
import pytest
import torch

FACTOR = 3


def shapes(x):
    return x * FACTOR


def branchy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def flagged(x, flag, table):
    if flag:
        return x + table["k"]
    return x - 1


def signature(a, *rest, key=1, **more):
    return a * key + sum(rest) + len(more)


def load(path):
    spec = importlib.util.spec_from_file_location("full_code_under_test", str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dumped(tmp_path, function, calls):
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        compiled = torch.compile(function, backend="eager", dynamic=False)
        for arguments, keywords in calls:
            compiled(*arguments, **keywords)
    return run, load(tmp_path / "dump" / ("full_code_for_%s_0.py" % function.__name__))


def taken(module, function, arguments, keywords):
    """The names of the functions of the file that ran, in order."""
    names = []

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename == module.__file__:
            names.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        result = function(*arguments, **keywords)
    finally:
        sys.setprofile(None)
    return result, [name for name in names if name.startswith(("__transformed", "__original"))]


def torch_takes(run, name, values):
    """The index of the entry whose guard manager accepts these locals, asked in torch's own order."""
    for entry in run.function(name)._order:
        if entry.guard_manager.check(values):
            return entry.index
    return None


@pytest.mark.parametrize(
    "x",
    [
        torch.ones(3),
        torch.ones(4),
        torch.ones(3, dtype=torch.float64),
        torch.ones(9),
        torch.ones(3, requires_grad=True),
        5,
    ],
)
def test_dispatcher_takes_torchs_entry(tmp_path, x):
    run, module = dumped(
        tmp_path,
        shapes,
        [
            ((torch.ones(3),), {}),
            ((torch.ones(4),), {}),
            ((torch.ones(3, dtype=torch.float64),), {}),
        ],
    )
    assert len(run.function("shapes").entries) == 3
    want = torch_takes(run, "shapes", {"x": x})
    result, names = taken(module, module.shapes, (x,), {})
    expected = (
        "__original_code_for_shapes" if want is None else "__transformed_code_%d_for_shapes" % want
    )
    assert names == [expected]
    assert torch.equal(torch.as_tensor(result), torch.as_tensor(shapes(x)))


@pytest.mark.parametrize("sign", [1, -1])
def test_resume_functions_are_dispatched_too(tmp_path, sign):
    a, b = torch.linspace(-1, 1, 4), torch.ones(4)
    run, module = dumped(tmp_path, branchy, [((a, b), {}), ((a, -b), {})])
    result, names = taken(module, module.branchy, (a, sign * b), {})
    assert torch.equal(result, branchy(a, sign * b))
    assert len(names) == 2 and all(name.startswith("__transformed") for name in names)


def test_text_reads_top_down(tmp_path):
    a, b = torch.linspace(-1, 1, 4), torch.ones(4)
    dumped(tmp_path, branchy, [((a, b), {}), ((a, -b), {})])
    text = (tmp_path / "dump" / "full_code_for_branchy_0.py").read_text()
    order = [
        "def branchy(",
        "def __guard_0_for_branchy(",
        "def __transformed_code_0_for_branchy(",
        "def __original_code_for_branchy(",
        "def __resume_at_",
    ]
    positions = [text.index(one) for one in order]
    assert positions == sorted(positions)
    assert text.count("\ndef __resume_at_") == 2


def test_values_in_dicts_and_flags_decide(tmp_path):
    x = torch.ones(2)
    calls = [((x, True, {"k": 1}), {}), ((x, True, {"k": 2}), {}), ((x, False, {"k": 2}), {})]
    run, module = dumped(tmp_path, flagged, calls)
    for arguments in [
        (x, True, {"k": 1}),
        (x, True, {"k": 2}),
        (x, False, {"k": 5}),
        (x, True, {"k": 9}),
    ]:
        want = torch_takes(run, "flagged", dict(zip(("x", "flag", "table"), arguments)))
        result, names = taken(module, module.flagged, arguments, {})
        expected = (
            "__original_code_for_flagged"
            if want is None
            else "__transformed_code_%d_for_flagged" % want
        )
        assert names == [expected]
        assert torch.equal(result, flagged(*arguments))


def test_every_kind_of_parameter(tmp_path):
    arguments, keywords = (torch.ones(2), torch.ones(2)), {"key": 2, "extra": 1}
    run, module = dumped(tmp_path, signature, [(arguments, keywords)])
    result, names = taken(module, module.signature, arguments, keywords)
    assert names == ["__transformed_code_0_for_signature"]
    assert torch.equal(result, signature(*arguments, **keywords))


@pytest.mark.skipif(
    tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 9),
    reason="up to torch 2.8 a resume function with a closure is a constant, which a full_code file does not have",
)
def test_closures_share_their_cells(tmp_path):
    count = 1

    def counting(x):
        nonlocal count
        y = x + count
        torch._dynamo.graph_break()
        count = count + 1
        return y * count

    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        torch.compile(counting, backend="eager")(torch.ones(2))
    module = load(tmp_path / "dump" / "full_code_for_counting_0.py")
    from depyf.torch.fullcode import with_cells

    factory = vars(module)["__closure_of_counting"]
    count = 1
    function = with_cells(factory, counting.__closure__)
    result, names = taken(module, function, (torch.ones(2),), {})
    assert torch.equal(result, torch.full((2,), 4.0))
    assert count == 2
    assert len(names) == 2 and all(name.startswith("__transformed") for name in names), names


def test_dump_src_reads_torchs_caches_after_the_fact():
    a, b = torch.linspace(-1, 1, 4), torch.ones(4)
    compiled = torch.compile(branchy, backend="eager")
    compiled(a, b), compiled(a, -b)
    text = depyf.explain.dump_src(branchy.__code__, sys.modules[__name__])
    compile(text, "dump_src", "exec")
    assert "def __guard_0_for_branchy(" in text and text.count("\ndef __resume_at_") == 2
    with pytest.raises(ValueError, match="compiled nothing"):
        depyf.explain.dump_src(load, globals())
    with pytest.raises(TypeError):
        depyf.explain.dump_src(3, globals())
