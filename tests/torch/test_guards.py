"""Guards: all of them are found, and each is Python where it can be."""

import ast

import depyf
import pytest
import torch
from depyf.torch.compat import guard_root
from depyf.torch.fullcode import conditions
from depyf.torch.guards import check_no_aliasing, check_tensor
from depyf.trace import guard_text
from depyf.trace.guard_text import expression_of, guards_of_tree_text, split_comment


def captured(function, *arguments, **keywords):
    with depyf.capture() as run:
        torch.compile(function, backend="eager", **keywords)(*arguments)
    return run.functions[0].entries[0]


def with_a_tree(entry):
    """The entry; a torch whose guards are one function of Python has no guard for each tensor."""
    if guard_root(entry.guard_manager) is None:
        pytest.skip("this torch has no tree of guards")
    return entry


def test_contents_of_dicts_are_found():
    entry = captured(lambda x, d: x * d["scale"] + len(d), torch.ones(2), {"scale": 3, "other": 4})
    assert any(guard.text.replace('"', "'") == "L['d']['scale'] == 3" for guard in entry.guards)
    ordered = captured(
        lambda x, d: [x * value for value in d.values()], torch.ones(2), {"scale": 3, 7: 4}
    )
    texts = [guard.text for guard in ordered.guards]
    assert any("== 3" in text for text in texts) and any("== 4" in text for text in texts)


def test_symbolic_shapes_are_found():
    entry = captured(lambda x: x * x.shape[0], torch.ones(5), dynamic=True)
    assert any("L['x'].size()[0]" in guard.text for guard in entry.guards)


def test_relational_guards_appear_once():
    entry = with_a_tree(
        captured(lambda a, b, c: a + b + c, torch.ones(2), torch.ones(2), torch.ones(2))
    )
    aliasing = [guard for guard in entry.guards if "check_no_aliasing" in guard.text]
    assert len(aliasing) == 1


def test_the_text_of_a_tree_tells_the_same():
    entry = with_a_tree(captured(lambda x, d: x * d["scale"], torch.ones(2), {"scale": 3}))
    from_text = guards_of_tree_text(entry.guard_tree)
    assert sorted(guard.text for guard in from_text) == sorted(guard.text for guard in entry.guards)


def test_comments_are_split_outside_strings():
    assert split_comment("L['#a'] == '# b'  # user code # file") == (
        "L['#a'] == '# b'",
        "# user code # file",
    )
    assert split_comment("x == 1") == ("x == 1", "")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("L['x'] == 2", "L['x'] == 2"),
        (
            "___check_obj_id(G['torch'], 12), type=<class 'module'>",
            "___check_obj_id(G['torch'], 12)",
        ),
        (
            "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None",
            "__saved_tensors_hooks() == None",
        ),
        ("check_no_aliasing(L['a'], L['b'])", "__check_no_aliasing(L['a'], L['b'])"),
        ("something that is no Python", None),
        ("check_tensor(L['x'], not closed", None),
        ("", None),
    ],
)
def test_expressions(text, expected):
    assert expression_of(text) == expected


def test_tensor_guard_becomes_a_call():
    text = (
        "check_tensor(L['a'], Tensor, DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), torch.float32, "
        "device=None, requires_grad=False, size=[10, None], stride=[1, None])"
    )
    expression = expression_of(text)
    ast.parse(expression, mode="eval")
    values = {"L": {"a": torch.ones(10, 3)}, "torch": torch, "__check_tensor": check_tensor}
    assert eval(expression.replace("stride=[1, None]", "stride=[3, None]"), values) is True
    assert eval(expression, values) is False


@pytest.mark.parametrize(
    "other",
    [
        torch.ones(3, dtype=torch.float64),
        torch.ones(4),
        torch.ones(3, 1),
        torch.ones(3, requires_grad=True),
        torch.nn.Parameter(torch.ones(3), requires_grad=False),
        torch.ones(6)[::2],
    ],
)
def test_tensor_check_decides_as_torch_does(other):
    function = torch.compile(lambda x: x + 1, backend="eager")
    with depyf.capture() as run:
        function(torch.ones(3))
    entry = with_a_tree(run.functions[0].entries[0])
    guard = next(guard for guard in entry.guards if guard.kind == "TENSOR_MATCH")
    values = {"torch": torch, "__check_tensor": check_tensor}
    assert eval(guard.expression, dict(values, L={"x": torch.ones(3)}))
    assert not eval(guard.expression, dict(values, L={"x": other}))
    assert entry.guard_manager.check({"x": torch.ones(3)}) and not entry.guard_manager.check(
        {"x": other}
    )


def test_aliasing():
    one = torch.ones(2)
    assert check_no_aliasing(one, torch.ones(2)) and not check_no_aliasing(one, one)


@pytest.mark.parametrize(
    "text",
    [
        "L['self']._modules['12']._parameters['weight'] is a[3]",
        "a[0] if b['7'] else c[10]['0']",
        "a['007'] or b[007]",
        "'['5']'",
        "x[lambda: y[2]]",
        "[1]",
        "f'{x[3]}[4]'",
        "a[5'] ['5]",
    ],
)
def test_what_an_expression_reads_does_not_depend_on_the_number_of_an_item(text):
    found = guard_text.parsed_expression(text)
    assert found == guard_text._parsed.__wrapped__(text)


def test_a_guard_of_a_symbol_without_a_line_asks_for_no_report():
    text = "L['y'].size()[0] == L['x'].size()[0]  # (unknown var s48, please file a bug)"
    guard = guard_text.make_guard(text)
    assert guard.text == "L['y'].size()[0] == L['x'].size()[0]" and guard.comment == ""


def test_full_code_tells_locals_from_globals_and_each_condition_once():
    group = [guard_text.make_guard(text) for text in ("L['n'] == 2", "L['n'] == 2")]
    for one in group:
        one.expression = one.text
    (asked,) = conditions._conditions(group, conditions.States())
    assert asked == ("L['n'] == 2", "", group)
    heading = conditions._heading("G['model'] L['x'] L['y']", group)
    assert heading[0] == "x, y, global model"
