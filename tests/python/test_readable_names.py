"""Dynamo's code as a person would write it: a statement for each value, names from their paths."""

import ast
import random
import re
import sys
import types

import pytest

from depyf import _core
from depyf.recompile import Hints, recompile

pytestmark = pytest.mark.skipif(sys.version_info < (3, 8), reason="written with `:=`")

UUID = "08bd1bbe_7986_4d33_9050_4343e4dbddfa"
UTILS = "__import_torch_dot__dynamo_dot_utils"


def code_of(text):
    scope = {}
    exec(compile(text, "<dynamo>", "exec"), scope)
    return scope["f"].__code__


def readable(text, own_locals=(), **hints):
    code = code_of(text)
    result = recompile(code, dynamo=True, own_locals=own_locals, hints=Hints(**hints))
    assert result.proven, (result.detail, result.source)
    return result


def lines(result):
    """The function's own lines."""
    rows = result.source.splitlines()
    return [row[4:] for row in rows if row.startswith("    ")]


def test_a_model_reads_as_a_person_would_write_it():
    result = readable(
        "def f(self, *args, **kwargs):\n"
        "    tmp_1 = %(utils)s.record_pregraph_bytecode_enter()\n"
        "    graph_out_0 = __compiled_fn_3_%(uuid)s(\n"
        "        %(utils)s.call_size((tmp_2 := kwargs['input_ids']), 1), tmp_2,\n"
        "        (tmp_3 := self._modules['layers']._modules['0']._modules)['q']._parameters['weight'],\n"
        "        tmp_3['k']._parameters['weight'],\n"
        "        self._modules['layers']._modules['1']._modules['q']._parameters['weight'],\n"
        "        ___module_torch_139870171827712_c1._as_tensor_fullprec(self.norm.eps))\n"
        "    del tmp_2\n"
        "    del tmp_3\n"
        "    x = __resume_at_8_4([], [], graph_out_0[0], y=graph_out_0[1])\n"
        "    del graph_out_0\n"
        "    return x\n" % {"uuid": UUID, "utils": UTILS},
        callee_parameters={"__resume_at_8_4": ("___stack0", "___stack1", "logits")},
    )
    assert lines(result)[2:5] == [
        "input_ids = kwargs['input_ids']",
        "input_ids_size_1 = call_size(input_ids, 1)",
        "layers_0_modules = self._modules['layers']._modules['0']._modules",
    ], result.source
    assert "    torch._as_tensor_fullprec(self.norm.eps)," in lines(result)
    assert result.readable == {
        "dynamo_utils": UTILS,
        "__compiled_fn_3": "__compiled_fn_3_" + UUID,
        "torch": "___module_torch_139870171827712_c1",
    }
    for given, real in result.readable.items():
        shown = real.replace("139870171827712", "…")  # an id says nothing to a reader
        assert "# %s is torch's %s\n" % (given, shown) in result.source
        assert real in result.code.co_names and given not in result.code.co_names
    assert "layers_0_modules" in result.code.co_varnames
    assert "del input_ids, layers_0_modules" in result.source


def test_a_name_leaves_room_for_the_attribute_that_is_set():
    attribute = "a_keyword_for_the_sum_of_all_the_values_of_what_comes_out_at_the_end"
    result = readable(
        "def f(x):\n"
        "    graph_out_0 = __compiled_fn_3(x)\n"
        "    tmp_1 = (tmp_2 := ALongNameOfAnOutputWithPoolingAndStates).__new__(tmp_2)\n"
        "    tmp_1.%s = graph_out_0[0]\n"
        "    return tmp_1, tmp_1\n" % attribute
    )
    assert any("." + attribute in line for line in lines(result)), result.source
    assert max(map(len, result.source.splitlines())) <= 100, result.source


COPIES = (
    "def f(self, x, state):\n"
    "    y = __compiled_fn_3_%(uuid)s(\n"
    "        %(utils)s.call_size((tmp_2 := x), 0), tmp_2, (tmp_3 := state)[0], tmp_3[1],\n"
    "        (tmp_4 := self).weight, tmp_4.bias)\n"
    "    del tmp_2\n"
    "    del tmp_3\n"
    "    del tmp_4\n"
    "    %(then)s\n"
    "    self.y = state[0].y = y\n"
    "    self = self\n"
    "    return self.g(x, y)\n"
)


def test_a_copy_of_an_argument_is_the_argument():
    text = COPIES % {"uuid": UUID, "utils": UTILS, "then": "pass"}
    result = readable(text)
    body = "\n".join(lines(result))
    assert "state_0, state_1 = state[0], state[1]" in body, result.source
    assert re.findall(r"^\w+ = (?:x|self|state)$", body, re.M) == ["self = self"]
    assert not re.search(r"^del ", body, re.M)
    assert "self.weight" in body and "self.bias" in body


@pytest.mark.parametrize("call", ["__resume_at_8_4((x,))", "(tmp_4 := __resume_at_8_4((x,)))"])
def test_what_a_function_of_a_closure_is_given_has_the_names_of_its_parameters(call):
    result = readable(
        "def f(x):\n"
        "    graph_out_0 = __compiled_fn_3_%s(x)\n"
        "    y = %s([], [], x, (tmp_3 := graph_out_0[0]), tmp_3.item())\n"
        "    del tmp_3%s\n"
        "    del graph_out_0\n"
        "    return y\n" % (UUID, call, ", tmp_4" * ("tmp_4" in call)),
        callee_parameters={"__resume_at_8_4()": ("fns", "values", "___stack0", "loss", "scale")},
    )
    body = lines(result)
    assert "loss = graph_out[0]" in body and "scale = loss.item()" in body, result.source
    assert "y = resume_at_8_4(fns, values, x, loss, scale)" in body


def test_digits_at_the_end_of_a_resume_function_are_no_address():
    name = "__resume_at_112_3_5b3bd430_dfd0_48a2_9910_62a727670027"
    result = readable("def f(x):\n    return %s(x)\n" % name)
    assert result.readable == {} and "return %s(x)" % name in result.source


def test_the_name_of_a_value_has_no_address():
    result = readable(
        "def f(x):\n"
        "    graph_out_0 = __compiled_fn_3_%s(x)\n"
        "    tmp_2 = ___module_iter_139833972003584_c2((graph_out_0[0], graph_out_0[1]))\n"
        "    del graph_out_0\n"
        "    return x(tmp_2, tmp_2)\n" % UUID
    )
    assert "iterator = iter((graph_out[0], graph_out[1]))" in lines(result), result.source


@pytest.mark.parametrize("then", ["x = None", "del x", "for x in y: pass"])
def test_a_copy_of_what_changes_stays(then):
    text = COPIES % {"uuid": UUID, "utils": UTILS, "then": then}
    result = readable(text.replace("return self.g(x, y)", "return self.g(y)"))
    body = "\n".join(lines(result))
    assert re.search(r"^\w+ = x$", body, re.M), result.source
    assert not re.search(r"^\w+_1 = (self|state)$", body, re.M)


def test_a_copy_that_keeps_its_value_from_its_end_stays():
    result = readable(
        "def f(self, x):\n"
        "    y = g((tmp_1 := self), tmp_1.a, __compiled_fn_3_%s(x))\n"
        "    self, x = [y, *x]\n"
        "    return self.h(x)\n" % UUID
    )
    assert "self_1 = self" in lines(result) and "graph_out" not in result.source


@pytest.mark.parametrize("then, same", [("pass", True), ("x = g()", False), ("del x", False)])
def test_an_argument_lives_while_its_parameter_holds_it(then, same):
    """A variable that keeps a copy keeps nothing alive, unless the parameter lets go of it."""
    text = "def f(x):\n    %s\n    %s\n    g()\n    %sg()\n"
    copied = code_of(text % ("tmp_1 = x", then, "del tmp_1; "))
    plain = code_of(text % ("pass", then, ""))
    options = {"dynamo": True, "lifetimes": True, "own_locals": ("x",), "calls": []}
    assert (_core.compare(copied, plain, **options)[0] == "equivalent") == same
    assert (_core.compare(plain, copied, **options)[0] == "equivalent") == same


def test_free_variables_are_a_comment():
    code = code_of(
        "def outer(func):\n"
        "    def f(x):\n"
        "        return __compiled_fn_1(func(x))[0]\n"
        "    return f\n"
        "f = outer(len)\n"
    )
    result = recompile(code, dynamo=True)
    assert result.proven and result.code.co_freevars == ("func",)
    assert "# free variables of the function: func\ndef f(x):\n" in result.source


def test_names_of_the_program_stay():
    """What Dynamo's code takes for its own is never what the program has."""
    result = readable(
        "def f(x, torch):\n"
        "    tmp_1 = ___module_torch_139870171827712_c1.sin\n"
        "    graph_out_0 = __compiled_fn_1(tmp_1(x), torch.cos, tmp_1)\n"
        "    tmp_7 = graph_out_0[0]\n"
        "    del graph_out_0\n"
        "    return tmp_7, input_ids\n",
        own_locals=("x", "torch", "tmp_7"),
    )
    assert result.readable == {"torch_1": "___module_torch_139870171827712_c1"}
    assert "tmp_7 = " in result.source and "def f(x, torch):" in result.source


class Writer:
    """Random code as Dynamo writes it: shared values in locals, a graph, what follows it."""

    WORDS = "model layers 0 1 attn q_proj weight bias norm __x _y Output in tmp graph_out".split()

    def __init__(self, source):
        self.source = source
        self.held = []
        self.count = 0

    def path(self):
        start = self.source.choice(["self", "kwargs", "x"] + self.held)
        for _ in range(self.source.randrange(1, 4)):
            word = self.source.choice(self.WORDS)
            kind = self.source.choice(["['%s']", "['%s']", ".%s", "._modules['%s']"])
            if kind == ".%s" and not (word.isidentifier() and word != "in"):
                kind = "['%s']"
            start += kind % word
        return start

    def value(self):
        text = self.path()
        if self.source.random() < 0.3:
            text = "%s.call_size(%s, %d)" % (UTILS, text, self.source.randrange(3))
        if self.source.random() < 0.4:
            self.count += 1
            name = "tmp_%d" % self.count
            text = "(%s := %s)" % (name, text)
            self.held.append(name)
        return text

    def function(self):
        rows = ["def f(self, x, **kwargs):"]
        rows.append("    graph_out_0 = __compiled_fn_3_%s(" % UUID)
        rows += ["        %s," % self.value() for _ in range(self.source.randrange(1, 30))]
        rows.append("    )")
        self.source.shuffle(self.held)
        rows += ["    del %s" % name for name in self.held]
        self.held = []
        if self.source.random() < 0.5:
            rows.append("    x.y = graph_out_0[%d]" % self.source.randrange(3))
        outputs = ["graph_out_0[%d]" % i for i in range(self.source.randrange(1, 7))]
        if self.source.random() < 0.5:
            rows.append("    if %s:" % outputs[0])
            rows.append("        return __resume_at_4_1(%s)" % ", ".join(outputs))
        rows.append("    return __resume_at_8_2(%s)" % ", ".join(outputs))
        return "\n".join(rows) + "\n"


def test_random_code_has_no_walrus_and_fits_its_lines():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    for number in range(30):
        text = Writer(random.Random("%d %d" % (seed, number))).function()
        result = readable(text)
        assert readable(text).source == result.source
        for node in ast.walk(ast.parse(result.source)):
            assert not isinstance(node, ast.NamedExpr), result.source
            if isinstance(node, ast.Assign):
                assert len(node.targets) == 1, result.source
                assert len(getattr(node.targets[0], "elts", ())) <= 4, result.source
        assert max(map(len, result.source.splitlines())) <= 100, result.source
        assert not re.search(r"\btmp_\d+\b", result.source)
        assert "139870171827712" not in result.source


def test_the_code_that_runs_does_the_same():
    text = (
        "def f(self, **kwargs):\n"
        "    graph_out_0 = __compiled_fn_1_%s((tmp_1 := kwargs['a'])['b'], tmp_1)\n"
        "    del tmp_1\n"
        "    return graph_out_0[0], graph_out_0[1]\n" % UUID
    )
    scope = {"__compiled_fn_1_" + UUID: lambda *values: values}
    result = readable(text)
    function = types.FunctionType(result.code, scope)
    assert function(1, a={"b": 2}) == (2, {"b": 2})


@pytest.mark.parametrize("word", ["tmp", "graph_out", "random_values", "value", "tmp_1"])
@pytest.mark.parametrize("count", [2, 300])
def test_many_values_of_one_name_are_numbered(word, count):
    """Also where a number behind the name would make it one of dynamo's own."""
    text = "def f(x):\n"
    for i in range(count):
        text += "    tmp_%d = x.%s\n    print(tmp_%d, tmp_%d)\n" % (i + 2, word, i + 2, i + 2)
    text += "    return [%s]\n" % ", ".join("tmp_%d" % (i + 2) for i in range(count))
    result = readable(text)
    given = [line.split(" = ")[0] for line in lines(result) if " = " in line]
    assert len(set(given)) == count
    assert all(word in name for name in given), given[:3]


@pytest.mark.parametrize("kind", ("text", "bytes"))
def test_long_strings_are_split_between_their_escapes(kind):
    seed = 1717
    draw = random.Random(seed)
    pieces = ["word ", "\n", "\\", "'", '"', "x", "{y} "]
    pieces += ["é", "\u200b", "\U000e0001", "日"] if kind == "text" else ["\x00", "\xff"]
    for _ in range(60):
        value = "".join(draw.choice(pieces) for _ in range(draw.randrange(60, 400)))
        value = value.encode("latin-1") if kind == "bytes" else value
        for form in ("return %r", "g(%r)", "return g(1, a=%r %% x)", "return x[%r]", "x.y(%r, 2)"):
            text = "def f(x):\n    if x:\n        " + form % value
            result = readable(text)
            wide = [row for row in result.source.splitlines() if len(row) > 100]
            assert not wide, (seed, result.source)
            constants = [
                n.value for n in ast.walk(ast.parse(result.source)) if isinstance(n, ast.Constant)
            ]
            assert value in constants, (seed, result.source)


GOLDEN = """\
def f(self, logger):
    logger.warning_once(
        'In a future release of this library In a future release of this library In a future '
        'release of this library In a future release of this library ',
    )
    return (
        self.named[
            f'{self.x} a b c'
            + (
                'In a future release of this library In a future release of this library In a '
                'future release of this library In a future release of this library '
            )
        ],
        [y + 1 for y in self],
    )
"""


def test_a_long_string_is_written_as_adjacent_ones():
    words = "In a future release of this library " * 4
    said = readable(
        "def f(self, logger):\n"
        "    logger.warning_once(%r)\n"
        "    return self.named[f'{self.x} a b c' + %r], [y + 1 for y in self]\n" % (words, words)
    ).source
    assert said == GOLDEN, said


def test_what_says_as_much_as_a_name_gets_none():
    result = readable(
        "def f(rewards):\n"
        "    graph_out_0 = __compiled_fn_3_%s(\n"
        "        torch._as_tensor_fullprec((tmp_1 := rewards)[1]),\n"
        "        torch._as_tensor_fullprec(tmp_1[0]))\n"
        "    del tmp_1\n"
        "    tmp_2 = __resume_at_8_4((rewards,))\n"
        "    return tmp_2([], [], graph_out_0[0], rewards.pop())\n" % UUID,
        callee_parameters={"__resume_at_8_4()": ("__nested_resume_fns", "__nested_frame_values")},
    )
    assert result.source.count("torch._as_tensor_fullprec(rewards[") == 2, result.source
    assert "torch_as_tensor_fullprec" not in result.source
    assert "([], [], " in result.source and " = []" not in result.source


def test_copies_of_one_global_are_one_local():
    result = readable(
        "def f(graph):\n"
        "    tmp_1 = discriminator\n"
        "    tmp_2 = tmp_1\n"
        "    tmp_3 = tmp_2._modules['body']\n"
        "    tmp_4 = tmp_3\n"
        "    tmp_5 = tmp_4._buffers\n"
        "    tmp_6 = tmp_5.update\n"
        "    tmp_5.clear()\n"
        "    tmp_6(graph(tmp_4))\n"
        "    return tmp_2\n"
    )
    assert not re.findall(r"^    (\w+) = (\w+)$", result.source, re.M)[1:], result.source
    assert "discriminator_1 = discriminator\n" in result.source
    assert "discriminator_2" not in result.source


def test_copies_that_are_made_at_once_are_one_local():
    """As torch's bytecode has them: the value is stored from the stack, twice."""
    result = readable(
        "def f(graph):\n"
        "    tmp_1 = tmp_2 = (tmp_9 := discriminator)\n"
        "    tmp_4 = tmp_5 = (tmp_3 := tmp_9._modules)['body']\n"
        "    tmp_6 = (tmp_7 := tmp_5._buffers).update\n"
        "    tmp_7.clear()\n"
        "    tmp_6(graph(tmp_4))\n"
        "    return graph(1)\n"
    )
    assert "tmp_" not in result.source, result.source
    assert not re.findall(r"^    (\w+) = (\w+)$", result.source, re.M)[1:], result.source


@pytest.mark.parametrize(
    "change",
    ["    del tmp_1\n", "    tmp_1 = None\n", "    for tmp_1 in graph(1): graph(tmp_2)\n"],
)
def test_a_copy_of_a_local_that_changes_keeps_its_value(change):
    result = readable(
        "def f(graph):\n"
        "    tmp_1 = graph(0)\n"
        "    tmp_2 = tmp_1\n" + change + "    graph(2)\n    graph(tmp_2)\n    return graph(tmp_2)\n"
    )
    scope = {}
    exec(result.source, scope)
    for function in (scope["f"], types.FunctionType(result.code, {})):
        seen = []
        function(lambda x: seen.append(x) or (["item"] if x == 1 else [x]))
        first = [0]
        assert seen[-2:] == [first, first], result.source


def test_no_local_is_called_like_a_builtin():
    result = readable(
        "def f(graph):\n"
        "    tmp_1 = __builtins_dict___0['int']\n"
        "    tmp_2 = graph(1)\n"
        "    tmp_3 = tmp_2['max']\n"
        "    return tmp_1(tmp_2, tmp_3, tmp_3)\n"
    )
    assert "builtin_int = builtins_dict['int']" in result.source, result.source
    assert not re.search(r"\b(int|max) = ", result.source)


def test_what_a_graph_break_hands_over_has_the_names_of_the_program():
    result = readable(
        "def f(__nested_resume_fns, __nested_frame_values, ___stack0, ___stack1, x):\n"
        "    tmp_2 = __nested_frame_values[1][1]\n"
        "    graph_out_0 = __compiled_fn_3_%s(tmp_2, tmp_2, ___stack1)\n"
        "    del tmp_2\n"
        "    tmp_4 = graph_out_0[0]\n"
        "    del graph_out_0\n"
        "    tmp_5 = x.total()\n"
        "    y = __resume_at_8_4([__resume_at_6_3], [[tmp_4, x, tmp_4]], [tmp_5, tmp_5])\n"
        "    return ___stack0(y)\n" % UUID,
        callee_parameters={
            "": ("", "", "print", "K", ""),
            "__nested_frame_values[1]": ("scale", "weights"),
            "__resume_at_8_4": ("fns", "values", "__resume_frame_values"),
            "__resume_at_8_4[]": ("total",),
            "__resume_at_6_3[]": ("loss", ""),
        },
        on_stack={"___stack0": "print", "___stack1": "self.K"},
    )
    body = lines(result)
    assert "graph_out = __compiled_fn_3(weights, weights, K)" in body, result.source
    assert "loss = graph_out[0]" in body and "total = x.total()" in body
    assert "return print_1(y)" in body
    assert "# K is torch's ___stack1 (`self.K` in the calling code, on the stack" in result.source
    assert result.code.co_varnames[2:4] == ("___stack0", "___stack1")


def test_an_instance_is_not_called_a_class():
    result = readable(
        "def f(output):\n"
        "    tmp_1 = type(output)\n"
        "    tmp_2 = tmp_1.__new__(tmp_1)\n"
        "    tmp_3 = type(tmp_2).__mro__[2]\n"
        "    tmp_3.clear(tmp_2)\n"
        "    for k, v in ___module_collections_139870171827712_c1.OrderedDict({}).items():\n"
        "        tmp_3.__setitem__(tmp_2, k, v)\n"
        "    return tmp_2\n"
    )
    body = lines(result)
    assert body[:4] == [
        "output_class = type(output)",
        "new_output = output_class.__new__(output_class)",
        "base_class = type(new_output).__mro__[2]",
        "base_class.clear(new_output)",
    ], result.source
    said = " ".join(result.source.replace("\n#", "").split())
    assert "`base_class` is `collections.OrderedDict`" in said


def test_what_an_inner_function_is_called_is_its_name():
    result = readable(
        "def f(register, code):\n"
        "    tmp_1 = %s.variables.functions._create_nested_fn\n"
        "    tmp_2 = tmp_1(code, globals(), 'hook', None, None, None, None)\n"
        "    register(tmp_2)\n"
        "    return tmp_2\n" % UTILS
    )
    assert "return hook" in lines(result), result.source


def test_new_entries_keywords_and_cells_have_names():
    result = readable(
        "def f(func, x, **kwargs):\n"
        "    def inner():\n"
        "        return func\n"
        "    tmp_1 = kwargs.update\n"
        "    tmp_2 = {'a': x}\n"
        "    kwargs.clear()\n"
        "    tmp_1(tmp_2)\n"
        "    tmp_3 = {}\n"
        "    tmp_4 = func(x, **tmp_3)\n"
        "    return tmp_4, tmp_2, inner\n"
    )
    body = "\n".join(lines(result))
    assert "new_kwargs = {'a': x}" in body and "**keywords)" in body, result.source
    assert "mapping" not in body


def test_a_method_of_an_output_is_called_as_the_output():
    graph = "__compiled_fn_1_" + UUID
    result = readable(
        "def f(x):\n"
        "    graph_out_0 = %s(x)\n"
        "    tmp_1 = graph_out_0[0].item\n"
        "    del graph_out_0\n"
        "    return __resume_at_8_4([], [], tmp_1())\n" % graph,
        callee_results={graph: ("norm",)},
    )
    assert "norm_item = graph_out[0].item" in lines(result), result.source


def test_a_context_manager_is_called_by_what_it_is():
    result = readable(
        "def f(x):\n"
        "    graph_out_0 = __compiled_fn_1_%s(x)\n"
        "    ___context_manager_0_36 = __import_torch.set_grad_enabled(False)\n"
        "    ___context_manager_0_36.__enter__()\n"
        "    try:\n"
        "        y = x.f(graph_out_0)\n"
        "    finally:\n"
        "        ___context_manager_0_36.__exit__(None, None, None)\n"
        "    return y\n" % UUID
    )
    assert "set_grad_enabled_context.__enter__()" in lines(result), result.source


def test_contents_that_are_replaced_are_explained():
    result = readable("def f(log, x):\n    log[:] = [log[0], x]\n    return __compiled_fn_1_8(x)\n")
    said = " ".join(result.source.replace("\n#", "").split())
    assert "`log[:] = ...` gives the list all elements that it has afterwards" in said


def test_a_variable_that_is_copied_and_written_back_is_explained():
    from depyf.legend import copied_back_note

    source = (
        "def f(key, x):\n    key_1 = key\n    y = x\n    g(y)\n    key = key_1\n    return key\n"
    )
    note = " ".join(copied_back_note(source).replace("\n#", "").split())
    assert "`key_1 = key` and, later, `key = key_1`: torch keeps the value" in note
    assert copied_back_note("def f(x):\n    y = x\n    x = x\n    return y\n") == ""
    assert copied_back_note("def f(a, b):\n    t = a\n    a = b\n    b = t\n") == ""
