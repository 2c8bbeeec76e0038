"""Transformed code of models reads as a person would write it; bench/readable_dumps.py counts more
models.
"""

import collections
import functools
import re
import sys
from pathlib import Path

import pytest
import torch
import torch.utils.checkpoint
from programs import TORCH, readme_of

import depyf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import readable_dumps  # noqa: E402


class ALongNameOfAnOutputWithPoolingAndCrossAttentionsAndHiddenStatesAndMuchMore:
    def __init__(self, **found):
        self.__dict__.update(found)


class LongInner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a_projection_of_the_queries_and_keys_for_all_heads_together = torch.nn.Linear(3, 3)
        self.b_projection_of_the_queries_and_keys_for_all_heads_together = torch.nn.Linear(3, 3)

    def forward(self, x):
        first = self.a_projection_of_the_queries_and_keys_for_all_heads_together(x)
        return first + self.b_projection_of_the_queries_and_keys_for_all_heads_together(x)


class LongNames(torch.nn.Module):
    def __init__(self):
        super().__init__()
        blocks = {"feature_number_%d_of_the_first_group_of_all_features" % i: i for i in range(2)}
        for name in blocks:
            blocks[name] = torch.nn.Sequential(LongInner(), LongInner())
        self.blocks_with_a_name_that_is_longer_than_what_anybody_writes = torch.nn.ModuleDict(
            blocks
        )

    def forward(self, x):
        for block in self.blocks_with_a_name_that_is_longer_than_what_anybody_writes.values():
            x = block(x)
        with torch.no_grad():
            if x is not None:
                torch._dynamo.graph_break()
        return ALongNameOfAnOutputWithPoolingAndCrossAttentionsAndHiddenStatesAndMuchMore(
            a_keyword_for_the_sum_of_all_the_values_of_what_comes_out_at_the_end=x.sum(), logits=x
        )


def layers_of_attention():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


@pytest.mark.parametrize(
    "model, x",
    [(LongNames, (2, 3)), (layers_of_attention, (2, 5, 16)), (None, (2, 3, 32, 32))],
    ids=["long names", "attention", "convolutions"],
)
def test_no_line_is_too_wide_and_no_name_is_generic(tmp_path, model, x):
    torch._dynamo.reset()
    inputs = {"pixels": torch.randn(x)} if model is None else {}
    model = readable_dumps.resnet()[0] if model is None else model()
    arguments = () if inputs else (torch.randn(x),)
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(model, backend="aot_eager")(*arguments, **inputs)
    found = readable_dumps.measure(str(tmp_path))
    assert found["codes"]
    if torch.__version__ >= "2.8":  # before, the graph held the parameters itself
        assert found["locals"] > 5
    assert found["unproven"] == found["kept"] == 0
    assert found["wide"] == found["targets"] == found["walruses"] == found["generic"] == 0, found
    for path in tmp_path.glob("__transformed_code_*.py"):
        wide = [line for line in path.read_text().splitlines() if len(line) > 100]
        # the function's own name may be longer than a line
        assert not [line for line in wide if not line.startswith(("#", "def "))]


def test_what_is_counted():
    found = readable_dumps.count(
        "def f(x):\n    tmp_1 = value = (y := x)\n    a, b, c, d, e = x\n    return %s\n"
        % ("z" * 99)
    )
    assert (found["wide"], found["targets"], found["walruses"]) == (1, 1, 1)
    assert found["generic_names"] == ["tmp_1", "value"] and found["locals"] == 8


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def without_wraps(function):
    def wrapped(self, x):
        return function(self, x)

    return wrapped


class First(torch.nn.Module):
    @decorated
    def forward(self, x):
        return x + 1


class Second(torch.nn.Module):
    @without_wraps
    def forward(self, x):
        return x + 2


class Third(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return x + 3


class Called:
    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args):
        return self.function(*args)


@Called
def called(x):
    return x + 4


@decorated
def plain(x):
    return x + 5


@decorated
def breaking(x):
    torch._dynamo.graph_break()
    return x + 6


@pytest.mark.parametrize(
    "make, title",
    [
        (First, "First.forward, through wrapper"),
        (Second, "Second.forward, through wrapped"),
        (Third, "Third.forward, through "),
        (lambda: called, "called, through "),
        (lambda: functools.partial(called), "called, through "),
        (lambda: plain, "plain, through wrapper"),
    ],
    ids=["wraps", "no wraps", "torch's", "callable", "partial", "function"],
)
def test_a_decorated_function_is_called_by_its_own_name(tmp_path, capsys, make, title):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(make(), backend="eager")(torch.ones(3))
    (entry,) = run.entries()
    name = title.partition(",")[0].replace(".", "_")
    assert entry.name == "__transformed_code_0_for_" + name
    assert entry.source.startswith("# " + title)
    assert run.functions[0].title.startswith(title)
    assert name in run.functions[0].path
    assert title.partition(",")[0] in readme_of(tmp_path)


class InLoop(torch.nn.Module):
    """torch gives a frame up whose loop breaks, and makes no code for it."""

    @decorated
    def forward(self, x):
        for _ in range(2):
            torch._dynamo.graph_break()
        return x.sin()


def test_a_function_that_was_not_compiled_is_called_by_its_own_name(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(InLoop(), backend="eager")(torch.ones(3))
    failed = [one for one in run.unattributed if one.failure]
    assert failed and {one.qualname for one in failed} == {"InLoop.forward"}
    assert "InLoop.forward" in readme_of(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert ">InLoop.forward</a>" in page and ">wrapper</a>" not in page


def broken(x):
    torch._dynamo.graph_break()
    return x + 6


def around(function):
    def wrapper(x):
        y = function(x)
        return y * 2 if isinstance(y, torch.Tensor) else function

    return wrapper


def test_what_a_function_returned_is_no_second_one_of_it(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(around(broken), backend="eager")(torch.ones(3))
    entry = next(iter(run.entries()))  # the wrapper, which goes on where its function broke
    assert re.search(r"^    y = function(_1)?\(", entry.source, re.MULTILINE)
    assert "function_1 = function(" not in entry.source


def test_a_wrapper_of_two_functions_is_called_by_each(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(plain, backend="eager")(torch.ones(3))
        torch.compile(breaking, backend="eager")(torch.ones(3))
    (wrapper,) = [one for one in run.functions if one.name == "wrapper"]
    assert wrapper.title == "plain and breaking, through wrapper"
    assert [one.name.partition("_for_")[2] for one in wrapper.entries] == ["plain", "breaking"]
    assert wrapper.to_json()["entries"][1]["qualname"] == "breaking"
    names = sorted(path.name for path in tmp_path.glob("__transformed_code_*"))
    assert "__transformed_code_0_for_plain.py" in names
    assert "__transformed_code_0_for_breaking.py" in names


def test_a_function_that_rebinds_a_free_variable_has_no_wide_line(tmp_path):
    torch._dynamo.reset()
    count_of_all_the_calls_so_far = 0

    def consume(x, the_first_argument, the_second_argument, another_one):
        torch._dynamo.graph_break()
        return x + the_first_argument + the_second_argument + another_one

    def function(x, arguments):
        nonlocal count_of_all_the_calls_so_far
        count_of_all_the_calls_so_far += 1
        torch._dynamo.graph_break()
        return consume(
            x,
            the_first_argument=arguments["one"],
            the_second_argument=1,
            another_one=arguments["b"],
        )

    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(function, backend="eager")(torch.ones(3), {"one": 1, "b": 2})
    assert count_of_all_the_calls_so_far == 1 and all(one.replaced for one in run.entries())
    assert any("__depyf_factory__" in one.source for one in run.entries())
    assert not [row for one in run.entries() for row in one.source.splitlines() if len(row) > 100]


def test_what_the_bytecode_holds_of_torch_is_told_by_its_value():
    from depyf.legend import legend

    held = {"__const_0__": torch.device("cpu"), "__const_1__": torch.float16}
    told = legend("f(__const_0__, __const_1__)", held, {})
    assert "__const_0__: device cpu" in told and "__const_1__: dtype torch.float16" in told


def counting(x):
    count = 1

    def more():
        nonlocal count
        count += 1
        return count

    torch._dynamo.graph_break()
    return x * more()


def test_what_is_given_a_variable_itself_is_said_to_share_it():
    torch._dynamo.reset()
    with depyf.capture() as run:
        assert torch.compile(counting, backend="eager")(torch.ones(3)).tolist() == [2, 2, 2]
    entry = run.function("counting").entries[0]
    assert "(lambda: count).__closure__[0]" in entry.source.partition("\n# `")[0]
    assert "is the variable itself (its cell)" in entry.source
    assert entry.verdict in ("exact", "equivalent")


def kept_by_a_function(x, heat=1.0):
    def scaled(y):
        return y / heat

    y = scaled(x)
    torch._dynamo.graph_break()
    return scaled(y)


def test_a_variable_that_is_set_to_its_own_value_is_explained():
    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(kept_by_a_function, backend="eager")(torch.ones(3))
    entry = run.function("kept_by_a_function").entries[0]
    if torch.__version__ >= "2.13":
        assert "    heat = heat\n" in entry.source
    if "    heat = heat\n" in entry.source:
        assert "`heat = heat` changes nothing" in entry.source
    assert entry.verdict in ("exact", "equivalent")


def test_outputs_are_called_as_in_the_graph_also_where_no_graph_module_runs(tmp_path):
    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(4)

        def forward(self, x):
            print("part", self.norm(x).softmax(-1), "of it")
            return x

    def backend(graph, inputs):
        return lambda *values: graph(*values)

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(Norm(), backend=backend)(torch.ones(2, 4))
    torch._dynamo.reset()
    (path,) = tmp_path.glob("__transformed_code_0_for_*Norm_forward.py")
    assert "output_0" not in path.read_text()
    assert re.search(r"\bsoftmax\w* = graph_out\[0\]|'part', graph_out\[0\]", path.read_text())


def recomputed(x, w):
    def block(y):
        return torch.relu(y @ w) @ w

    return torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum()


def test_an_output_is_never_called_as_one_of_a_graph_inside_of_the_graph():
    torch._dynamo.reset()
    with depyf.capture() as run:
        compiled = torch.compile(recomputed, backend="aot_eager")
        compiled(torch.ones(2, 4, requires_grad=True), torch.ones(4, 4))
    (entry,) = run.function("recomputed").entries
    inner = re.findall(r"(?m)^ {12}return \((\w+),\)", entry.graphs["Captured_Graph"])
    assert inner and not re.search(r"\b%s\b" % inner[0], entry.source)
    assert re.search(r"(?m)^    return (sum_1|graph_out\[0\]|result)$", entry.source)


class Counted:
    count = 0


COUNTED, WEIGHT = Counted(), torch.ones(3, 3)


def scores(x):
    found = torch.nn.functional.linear(x, WEIGHT)
    COUNTED.count = 3
    COUNTED.last = found
    return found.softmax(-1)


def test_what_a_function_returns_is_called_as_in_the_graph():
    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(scores, backend="eager")(torch.ones(2, 3))
    (entry,) = run.function("scores").entries
    assert entry.verdict in ("exact", "equivalent")
    assert "result" not in entry.source
    if torch.__version__ >= "2.13":
        assert "    return softmax\n" in entry.source


def test_objects_that_have_a_name_are_called_by_it(tmp_path):
    from depyf.legend import with_named_objects

    held = {
        "__const_0__": super,
        "__const_1__": torch.float32,
        "__const_2__": torch.device("cpu"),
        "__const_3__": torch.device("cpu"),
        "__const_4__": object(),
    }
    text = "x = __const_0__(c, __const_1__, __const_2__,\n    __const_3__, __const_4__, torch_float32)\n"
    source, named = with_named_objects(text, held)
    assert source == (
        "x = builtins_super(c, torch_float32_1, torch_device_cpu,\n"
        "    torch_device_cpu_1, __const_4__, torch_float32)\n"
    )
    assert list(map(id, named.values())) == list(map(id, held.values()))

    class Base(torch.nn.Module):
        def forward(self, x):
            torch._dynamo.graph_break()
            return x * 2

    class Derived(Base):
        def forward(self, x):
            return super().forward(x) + 1

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)), depyf.capture() as run:
        result = torch.compile(Derived(), backend="eager")(torch.ones(2))
    assert torch.equal(result, torch.full((2,), 3.0))
    entry = next(one for one in run.entries() if one.name.endswith("_for_Derived_forward"))
    if "super" in entry.source:
        assert "builtins_super(__class__, self)" in entry.source and "__const_" not in entry.source
        assert "builtins_super: type <class 'super'>" in entry.source
    assert entry.verdict in ("exact", "equivalent")


def test_the_table_of_torchs_names_has_no_ids():
    from depyf.legend import table_of_globals

    names = {"iter_1": "___module_iter_139796341887744_c67", "g": "__compiled_fn_2_83ae2102"}
    assert table_of_globals(names) == (
        "# iter_1 is torch's ___module_iter_…_c67\n# g is torch's __compiled_fn_2_83ae2102\n"
    )


class Gate(torch.nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x * 2


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.dropout = Gate(), torch.nn.Dropout(0.0)

    def forward(self, x, log):
        log.append(x.shape[0])
        log.append(len(log))
        hidden = self.dropout(self.gate(x + 1))
        many = [one for one, _ in zip(hidden.tolist(), [1]) if bool(hidden.sum() > 0)]
        return hidden, hidden.cos(), many


def rest_of_varargs(function):
    def wrapper(*args, **kwargs):
        (first,) = args
        out = function(*args, **kwargs)
        torch._dynamo.graph_break()
        return out.cos(), first.sin()

    return wrapper


def sources_of(folder):
    return "\n".join(one.read_text() for one in sorted(folder.glob("__transformed_code_*.py")))


@pytest.mark.skipif(torch.__version__ < "2.9", reason="other values are on the stack at a break")
def test_what_is_on_the_stack_has_the_name_of_what_it_is(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(Gated(), backend="eager")(torch.ones(3), [])
    told = sources_of(tmp_path)
    assert re.search(r"# gate_result is torch's ___stack\d \(.*on the stack at the break\)", told)
    assert not re.search(r"(?m)^(?!#).*___stack|\b(bool|zip|func)_1\b|\bfunction = ", told)
    assert "log[:] = log_items" in told or "log[:] = [" in told


@pytest.mark.skipif(torch.__version__ < "2.9", reason="other values are on the stack at a break")
def test_a_free_variable_and_a_tuple_have_names_that_say_what_they_are(tmp_path):
    torch._dynamo.reset()
    function = rest_of_varargs(torch._dynamo.disable(lambda x: x + 1))
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(function, backend="eager")(torch.ones(3))
    told = sources_of(tmp_path)
    assert re.search(r"(?m)^ +first = args\[0\]$", told), told
    assert re.search(r"(?m)^ +outer_function = function$", told), told
    assert re.search(r"(?m)^ +return cos_and_sin$", told), told
    assert not re.search(r"\b(result|args_0|cells|function_1) = ", told), told


def discounted(values, gamma, mode="sum", mask=None, unread=7, **options):
    if mask is not None:
        values = values * mask
    values = values * gamma
    if options:
        values = values + 1
    return values.sum() if mode == "sum" else values


def test_arguments_that_are_constants_are_told(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(discounted, backend="eager", dynamic=False)(torch.ones(3), 0.99)
    told = re.search(r"# constants under this entry's guards: (.*)", sources_of(tmp_path))
    assert told is not None
    assert "gamma is 0.99" in told[1] and "mode is 'sum'" in told[1] and "None for mask" in told[1]
    assert "unread" not in told[1]


def test_no_argument_is_told_to_be_a_constant_that_is_none(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(lambda x, n: x * n, backend="eager", dynamic=True)(torch.ones(3), 5)
    assert "constants under" not in sources_of(tmp_path)


def scaled(x):
    y = x + 1
    with torch.no_grad():
        torch._dynamo.graph_break()
        z = y * 2
    return z + y


@pytest.mark.skipif(torch.__version__ < "2.9", reason="contexts are written in another way")
def test_a_context_that_torch_leaves_at_a_break_is_told_by_its_line(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(scaled, backend="eager")(torch.ones(3, requires_grad=True))
    text = " ".join(sources_of(tmp_path).replace("#", " ").split())
    line = scaled.__code__.co_firstlineno + 2
    assert "`with torch.no_grad()` of test_readable.py:%d" % line in text


def test_many_freed_locals_are_counted():
    from depyf import legend

    told = legend.lifetime_note(["params_%d_grad" % number for number in range(59)])
    assert "params_0_grad" in told and "48 more" in told and told.count("\n") < 6


def test_a_path_is_not_broken_at_its_hyphens():
    from depyf import legend

    path = "/usr/lib/python3.11/site-packages/torch/nn/modules/module-list.py:12"
    assert any(path in row for row in legend.rows("and of: self[name] = v  # " + path, 75))


class Attention(torch.nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x * 2, None


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        hidden, _ = self.attention(x + 1)
        return hidden + x


@pytest.mark.skipif(torch.__version__ < "2.9", reason="other values are on the stack at a break")
def test_what_a_break_hands_over_to_be_taken_apart_has_the_name_of_a_part():
    from depyf.torch.handed import words_for_stack

    torch._dynamo.reset()
    codes = []
    hook = torch._dynamo.convert_frame.register_bytecode_hook(lambda code, _: codes.append(code))
    try:
        torch.compile(Residual(), backend="eager")(torch.ones(3))
    finally:
        hook.remove()
    (rest,) = [
        one
        for one in codes
        if "resume_in" in one.co_name
        and "residual" not in one.co_name
        and "___stack0" in one.co_varnames
        and "x" in one.co_varnames
        and one.co_firstlineno > Residual.forward.__code__.co_firstlineno
    ]
    assert "hidden_and_more" in words_for_stack(rest, [])
    told = words_for_stack(rest, ["self._modules['attention'](add)"])
    assert "attention_result" in told and "hidden_and_more" not in told


@pytest.mark.skipif(
    tuple(int(one) for one in torch.__version__.split(".")[:2]) < (2, 13),
    reason="how older torch traces an optimizer is another",
)
def test_the_state_of_an_optimizer_is_named_by_the_place_of_its_key(tmp_path):
    torch._dynamo.reset()
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()

    with depyf.prepare_debug(str(tmp_path)) as run:
        compiled = torch.compile(step, backend="eager")
        for _ in range(3):
            compiled(torch.ones(2, 3))
    told = "".join(one.source for one in run.entries() if "dict_keys_getitem" in one.source)
    assert re.search(r"state_1_update = state\[dict_keys_getitem\(state, 1\)\]\.update", told)
    assert re.search(r"state_2_update\(new_state_2\)", told)
    assert "state_key_0 = dict_keys_getitem(state, 0)" in told
    assert not re.search(r"(?m)^ *(value|mapping|dict_keys_getitem_result)(_\d+)? = ", told)


@pytest.mark.parametrize("kind", ["defaultdict(int, {})", "OrderedDict({})", "Counter({})"])
def test_a_change_of_a_class_of_dicts_leaves_readable_names(kind, tmp_path):
    torch._dynamo.reset()
    kind = kind.replace("{}", "{'a': 1, 'b': 1}")
    stats = eval("collections." + kind, {"collections": collections})

    def step(x):
        stats["a"] += 1
        return x + 1

    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(step, backend="eager")(torch.ones(2))
    entries = list(run.entries())
    assert len(entries) == 1 or TORCH < (2, 8)  # an earlier one breaks at a Counter
    for entry in entries:
        assert entry.replaced and (entry.names or TORCH < (2, 8))
        assert not re.search(r"\btmp_\d|__temp_\d|^ *stats_2 = ", entry.source)


class Base:
    def fn(self, x):
        return x * 2


class Sub(Base):
    @functools.wraps(Base.fn)
    def fn(self, x):
        torch._dynamo.graph_break()
        return super().fn(x) - 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no qualified name")
def test_a_method_that_has_the_name_of_another_one_keeps_its_own(tmp_path):
    """`functools.wraps` gives a function the name of another real one, which it does not wrap."""
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(Sub().fn, backend="eager")(torch.ones(3))
    assert [one.qualname for one in run.functions] == ["Sub.fn", "Sub.fn"]
    assert not any(one.through for one in run.functions)
    assert (tmp_path / "full_code_for_Sub_fn_0.py").exists()
