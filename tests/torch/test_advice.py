"""Advice is tested by following it: each pair of `depyf.advice` runs, the problem is gone, and the
results are equal.
"""

import ast
import contextlib
import itertools
import json
import linecache
import logging
import os
import re
import runpy
import sys
import warnings

import pytest

pytest.importorskip("torch")
import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._inductor.config  # noqa: E402

from even_times import evenly_timed  # noqa: E402
from programs import TORCH  # noqa: E402

import depyf  # noqa: E402
from depyf import advice, advise, compiling, summary  # noqa: E402
from depyf.advice import breaks, recompiles, tensor_arguments, uses  # noqa: E402
from depyf.advise import order, wording  # noqa: E402
from depyf.report import overview, words  # noqa: E402

#: what helps changes with torch; the pairs are those of the torch that the project is pinned to
PINNED = TORCH >= (2, 13)
#: row -> (the first torch that has the problem of its pair, the first that has it no more)
MET_IN = {
    "branch on a drawn number": ((2, 13), (2, 15)),
    "length of a list in a new object": ((2, 13), (2, 15)),
    "loop by a drawn number": ((2, 13), (2, 15)),
    "drawn by Python": ((2, 13), (2, 15)),
    "element drawn by Python": ((2, 13), (2, 15)),
    "integer in a text": ((2, 15), (9, 0)),
    "nothing to compile on a side": ((2, 13), (2, 15)),
    "range of a computed number": ((2, 13), (2, 15)),
    "tensor as an index": ((2, 13), (2, 15)),
}
#: row -> the first CPython that has the problem of its pair no more
PYTHON_WITHOUT = {"cached property": (3, 12)}  # functools.cached_property takes no lock there
_CONTAINERS = ("reorderable_logging_functions", "ignore_logging_functions")
_SETTINGS = (torch._dynamo.config, torch._inductor.config)


def settings(module):
    copy = getattr(module, "get_config_copy", None) or module.shallow_copy_dict
    return copy()


def restore(module, kept):
    """What a program sets is none of the next one's: `patch()` gives back only what it was told of."""
    now = settings(module)
    changed = {key: value for key, value in kept.items() if now[key] != value}
    if changed:
        module.load_config(changed)


_libraries = itertools.count()


def run(text, name, eager=False, seed=0):
    """(what the program left as `result`, the nodes of its compiles); a program that raises leaves
    None.
    """
    torch._dynamo.reset()
    torch.manual_seed(seed)
    # a file that linecache knows: torch and depyf read the lines of a program
    filename = "/tmp/%s.py" % name.replace(" ", "_").replace("/", "_")
    # a process defines the operators of a library once
    text = text.replace("own_library", "own_library_%d" % next(_libraries))
    linecache.cache[filename] = len(text), None, text.splitlines(True), filename
    scope = {"__name__": "program", "torch": torch}
    config = torch._dynamo.config
    kept = {key: set(getattr(config, key)) for key in _CONTAINERS if hasattr(config, key)}
    values = [(module, settings(module)) for module in _SETTINGS]
    logging.disable(logging.WARNING)
    try:
        with depyf.capture() as found:
            with torch.compiler.set_stance("force_eager") if eager else contextlib.nullcontext():
                try:
                    exec(compile(text, filename, "exec"), scope)
                except Exception:
                    scope.pop("result", None)
        nodes = overview.nodes_of([found.to_json()])  # reads the lines of the program, too
    finally:
        logging.disable(logging.NOTSET)
        linecache.cache.pop(filename, None)
        for key, value in kept.items():
            getattr(config, key).clear()
            getattr(config, key).update(value)
        for module, each in values:
            restore(module, each)
    return scope.get("result"), nodes


def test_a_setting_of_one_program_is_none_of_the_next():
    before = settings(torch._inductor.config)
    run("import torch._inductor.config\ntorch._inductor.config.cpp.cxx = ('absent',)\n", "settings")
    assert settings(torch._inductor.config) == before


_known = {}


def before_of(row, help):
    if help.before not in _known:
        eager = run(help.before.replace("advice::before", "advice::eager"), row.key, eager=True)[0]
        _known[help.before] = eager, run(help.before, row.key + " before")[1]
    return _known[help.before]


def met(nodes, key):
    """What is said of the breaks and failures, or of the recompiles, that have this row."""
    said = [one for node in nodes for one in node.breaks + node.reasons[:1]]
    said += [node.failure for node in nodes if node.failure]
    return [one for one in said if one["row"] == key]


def pairs(rows):
    return [
        pytest.param(row, help, id="%s-%d" % (row.key, index))
        for row in rows
        for index, help in enumerate(row.help)
    ]


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
@pytest.mark.parametrize("row, help", pairs(breaks.ROWS + recompiles.ROWS))
def test_a_program_that_follows_the_advice_no_longer_has_the_problem(row, help):
    since, until = MET_IN.get(row.key, ((2, 13), (9, 0)))
    if not since <= TORCH < until:
        pytest.skip("this torch has another answer to the program")
    if sys.version_info[:2] >= PYTHON_WITHOUT.get(row.key, (9, 0)):
        pytest.skip("this CPython does not do what the row is about")
    wanted, nodes = before_of(row, help)
    found = met(nodes, row.key)
    assert found, "the problem does not show: %s" % [
        one["raw"][:300] for node in nodes for one in node.breaks + node.reasons
    ]
    # the advice is what a reader of that program's report is given, with its own names
    start = help.text.partition("{")[0]
    assert any(text.startswith(start) for one in found for text in one["help"]), found[0]["help"]
    assert not any("{" in text for one in found for text in one["help"] + one["patches"])
    result, after = run(help.after, row.key + " after")
    assert not met(after, row.key)
    if row in recompiles.ROWS:
        assert not [reason["raw"] for node in after for reason in node.reasons]
    assert wanted is not None
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
@pytest.mark.parametrize("help", breaks.OF_CONDITIONS, ids=("joined", "numpy"))
def test_a_condition_that_is_no_tensor_is_told_beside_torch_where(help):
    wanted, nodes = before_of(breaks.BY_KEY["branch"], help)
    for found in met(nodes, "branch"):
        choosing = [one for one in found["help"] if "torch.where" in one or "torch.cond" in one]
        assert choosing and all(help.text in one for one in choosing)
        assert not any("torch.where" in one for one in found["patches"]) or "NumPy" not in help.text
    result, after = run(help.after, "condition after")
    assert met(nodes, "branch") and not met(after, "branch")
    torch.testing.assert_close(result, wanted)


BESIDE_VALUES = (breaks.OF_GRADIENTS, breaks.OF_NAN, breaks.OF_KEPT)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
@pytest.mark.parametrize("help", BESIDE_VALUES, ids=("gradients", "nan", "kept"))
def test_what_torch_where_changes_beside_values_is_told_with_it(help):
    wanted, nodes = before_of(breaks.BY_KEY["branch"], help)
    told = help.text.replace("{name}", "x")
    for found in met(nodes, "branch"):
        choosing = [one for one in found["help"] if "torch.where" in one or "torch.cond" in one]
        assert choosing and all(told in one for one in choosing)
    result, after = run(help.after, "beside values after")
    assert met(nodes, "branch") and not met(after, "branch")
    assert result == wanted


@pytest.mark.parametrize(
    "lines, told",
    [
        ("y = x * 2; if ok: y = y.abs()", ()),
        ("if ok: x = x.abs()", ("kept",)),
        ("y = x; if ok: y = y.abs()", ("kept",)),
        ("y = x.view(-1); if ok: y = y.abs()", ("kept",)),
        ("y = x.abs(); x = x * 2; if ok: x = y * 2", ()),
        ("y = x * 2; if ok: y = self.net(y)", ("gradients",)),
        ("y = x * 2; if ok: y = y.data", ("gradients", "kept")),
        ("y = x * 2; if ok: y = y + w", ("gradients",)),
        ("y = x * 2; if ok: y = y * scale", ()),  # it may be a number
        ("y = x * 2; if ok: y = torch.zeros_like(y)", ("gradients",)),
        ("y = x * 2; if ok: y = [one * 2 for one in y]", ()),
        ("y = x * 2; if torch.isnan(y).any(): y = y.abs()", ("nan",)),
        ("y = x * 2; bad = ~y.isfinite().all(); if bad: y = y.abs()", ("nan",)),
        ("y = x * 2; if y.max() == float('inf'): y = y.abs()", ("nan",)),
        ("x = torch.where(x.isnan(), 0, x); y = x * 2; if y.sum() > 0: y = y.abs()", ()),
    ],
)
def test_of_a_side_no_more_is_told_than_its_source_shows(tmp_path, lines, told):
    program = tmp_path / "sides.py"
    body = lines.replace("; ", "\n    ").replace(": ", ":\n        ")
    for head, expected in (
        ("", told),
        ("@torch.no_grad()\n", [one for one in told if one == "kept"]),
    ):
        program.write_text(
            "%sdef f(self, x, w, scale):\n    ok = x.sum() > w.sum()\n    %s\n    return x\n"
            % (head, body)
        )
        line = 1 + program.read_text().split("    if ")[0].count("\n")
        said = {"reason": "Data-dependent branching", "location": "%s:%d" % (program, line)}
        (text,) = [one for one in words.of_break(said)["help"] if one.startswith("torch.where")]
        found = [
            name
            for name, one in zip(("gradients", "nan", "kept"), BESIDE_VALUES)
            if one.text.partition("{")[0] in text
        ]
        assert found == list(expected)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_number_that_a_side_returns_is_said_to_become_a_tensor():
    help, key = breaks.OF_RETURNED, "branch"
    wanted, nodes = before_of(breaks.BY_KEY[key], help)
    told = help.text.replace("{names}", "scale")
    (said,) = met(nodes, key)
    choosing = [one for one in said["help"] if "torch.where" in one or "torch.cond" in one]
    assert choosing and all(told in one for one in choosing)
    result, after = run(help.after, "returned after")
    assert not met(after, key) and result[1][1] == wanted[1][1] == 0.5
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_number_that_is_printed_is_said_to_be_used_by_other_lines_too():
    help, key = breaks.ALSO_USED, "item that is printed"
    wanted, nodes = before_of(breaks.BY_KEY[key], help)
    (found,) = met(nodes, key)
    assert "used at line 6, too: leave out what makes it at line 4" in found["help"][0]
    assert "{" not in found["help"][0]
    result, after = run(help.after, "printed after")
    assert not [one for node in after for one in node.breaks + node.reasons]
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_number_that_indexes_is_said_to_be_needed_by_other_lines_as_a_number():
    help, key = breaks.ALSO_NEEDED, "item as an index"
    wanted, nodes = before_of(breaks.BY_KEY[key], help)
    (found,) = met(nodes, key)
    assert help.text.replace("{lines}", "line 4") in found["help"][0]
    result, after = run(help.after, "needed after")
    assert not [one for node in after for one in node.breaks + node.reasons]
    torch.testing.assert_close(result, wanted)


def test_texts_that_choose_modules_are_no_data_and_nobody_passes_a_free_variable():
    nodes = run(
        """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.ModuleDict({"a": torch.nn.Sigmoid(), "b": torch.nn.Tanh()})
        self.order = ["a", "b"]
    def forward(self, x):
        for key in self.order:
            x = self.gates[key](x) + x
        return x

net = Net()
compiled = torch.compile(net, backend="eager")
compiled(torch.ones(3))
net.order.reverse()
compiled(torch.ones(3))
""",
        "keys of modules",
    )[1]
    assert [one["row"] for node in nodes for one in node.reasons] == ["text that chooses"]
    nodes = run(
        """
def make(scale):
    @torch.compile(backend="eager")
    def scaled(x):
        return x * scale
    return scaled

for one in (make(1), make(2.5)):
    one(torch.ones(3))
""",
        "closures of one code",
    )[1]
    (reason,) = [one for node in nodes for one in node.reasons]
    assert not reason["help"] and "a variable of the function around" in reason["words"]


_MAKE = frozenset("arange empty full ones rand randn zeros Linear LayerNorm".split())


def _numbers(node):
    numbers = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return [one for one in numbers if type(one.value) in (int, float) and one.value > 2]


def with_other_sizes(*programs):
    """The programs with other numbers wherever one is a size of a tensor or layer in any."""
    sizes = set()
    for node in (one for program in programs for one in ast.walk(ast.parse(program))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _MAKE:
            sizes.update(one.value for argument in node.args for one in _numbers(argument))
    texts = []
    for program in programs:
        tree = ast.parse(program)
        for one in _numbers(tree):
            one.value += 2 if one.value in sizes else 0
        texts.append(ast.unparse(tree))
    return texts


def left_and_told(text, name, **how):
    """(what a program leaves as its result, the warnings that it gives)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(text, name, **how)[0]
    told = [str(one.message) for one in caught if one.category is not DeprecationWarning]
    return result, {re.sub(r"\d+", "N", one) for one in told}


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
@pytest.mark.parametrize("row, help", pairs(breaks.ROWS + recompiles.ROWS))
def test_advice_that_is_followed_holds_for_other_inputs_and_warns_of_nothing(row, help):
    """What the sizes of a program do not allow is tried with another seed alone."""
    seed = {"seed": 7}
    same = help.before.replace("advice::before", "advice::eager")
    eager, before, after = with_other_sizes(same, help.before, help.after)
    wanted, told = left_and_told(eager, row.key, eager=True, **seed)
    if wanted is None or run(after, row.key + " eager", eager=True, **seed)[0] is None:
        before, after = help.before, help.after
        wanted, told = left_and_told(same, row.key, eager=True, **seed)
    result, more = left_and_told(after, row.key + " other", **seed)
    torch.testing.assert_close(result, wanted)
    if more - told:  # what torch says of the program as it was is not of the change
        told |= left_and_told(before, row.key + " other before", **seed)[1]
    assert not more - told


@pytest.mark.skipif(not PINNED, reason="the table is of torch 2.13")
@pytest.mark.parametrize("name", sorted(tensor_arguments.TAKE_TENSORS))
def test_what_takes_a_tensor_in_place_of_a_float_takes_it_in_a_graph(name):
    call = tensor_arguments.TAKE_TENSORS[name]
    assert re.search(r"\b%s\(" % name, call)
    text = (
        '@torch.compile(backend="aot_eager")\ndef f(x, y, v):\n    return %s\n'
        "x, y = torch.arange(1.0, 4.0), torch.full((3,), 2.0)\n"
        "result = [f(x, y, %s) for v in (0.1, 0.25, 0.5)]\n"
    )
    result, nodes = run(text % (call, "torch.tensor(v)"), "tensor " + name)
    assert [len(one.breaks) for one in nodes] == [0]
    wanted, _ = run(text % (call, "v"), "float " + name, eager=True)
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the words are those of torch 2.13")
@pytest.mark.parametrize("call, told", [("x.clamp(max=n)", True), ("F.elu(x, n)", False)])
def test_a_tensor_is_advised_only_for_what_takes_one(call, told):
    text = (
        "import torch.nn.functional as F\n"
        '@torch.compile(backend="aot_eager")\ndef f(x, n):\n    return %s + 1\n'
        "result = [f(torch.ones(3), n) for n in (0.1, 0.2, 0.3)]\n"
    )
    nodes = run(text % call, "a float")[1]
    found = [
        one for node in nodes for one in node.reasons if one["row"] == "float used as a constant"
    ]
    assert found or not told
    assert all(
        any("torch.tensor(n) instead" in text for text in one["help"]) == told for one in found
    )
    assert not any("if the operator" in text for one in found for text in one["help"])


LOGGED = """
import logging
log = logging.getLogger("a program")

class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(2):
            x = x * x.sum().item()
        log.warning("a step %s", x)
        return x

result = torch.compile(Model(), backend="eager")(torch.ones(3))
"""


@pytest.mark.skipif(not PINNED, reason="the words are those of torch 2.13")
def test_logging_that_torch_compiles_by_itself_has_no_setting_that_has_no_effect():
    nodes = run(LOGGED, "logged alone")[1]
    found = [one for node in nodes for one in node.breaks if one["row"].startswith("log")]
    assert found
    for one in found:
        assert one["help"] == [
            "Log outside of the compiled function, or after it. If a later line changes the "
            "tensor in place, return a clone that is made before that line."
        ], one
        assert one["why"].startswith("The line that logs runs as plain Python, so torch compiles")
    explanation = "Dynamo does not know how to trace the builtin `time.time.` This is skipped."
    said = dict(found[0], row="log function", explanation="", raw=explanation)
    words.describe_logged_alone(said, "Logger.makeRecord", logging.__file__)
    assert said["why"].endswith("by itself, and does not trace `time.time`.")


@pytest.mark.skipif(not PINNED, reason="the settings are of torch 2.13")
def test_only_a_function_that_torch_can_call_later_is_advised_for_it():
    text = LOGGED.replace("        for _ in range(2):\n            x = x * x.sum().item()\n", "")
    for called, setting in (("log.warning", "ignore"), ("logging.warning", "reorderable")):
        nodes = run(text.replace("log.warning", called), called)[1]
        told = [patch for node in nodes for one in node.breaks for patch in one["patches"] if patch]
        assert [one.partition("config.")[2].partition("_")[0] for one in told] == [setting], told


@pytest.mark.skipif(not PINNED, reason="the words are those of torch 2.13")
def test_nothing_is_advised_to_be_returned_by_a_forward_hook():
    hooked = breaks.BY_KEY["item in a list by a hook"].help[0].before
    nodes = run(hooked, "a hook")[1]
    (found,) = [one for one in nodes[0].breaks + [nodes[0].failure] if one][:1]
    assert found["row"] == "item in a list by a hook"
    assert not any("Return the tensor" in text for text in found["help"])


def test_each_piece_of_advice_stands_alone():
    rows = (
        breaks.ROWS + recompiles.ROWS + (breaks.LOOP, breaks.LEAVES, breaks.ROUNDS, breaks.LIBRARY)
    )
    begins = [help.text.split()[0].lower() for row in rows for help in row.help]
    assert not {"or", "and", "also", "otherwise", "else"} & set(begins)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_loop_whose_body_is_a_function_is_compiled_again():
    (help,) = breaks.LOOP.help
    wanted, nodes = before_of(breaks.LOOP, help)
    assert [text for one in met(nodes, "print") for text in one["help"]][-1] == help.text
    result, after = run(help.after, "loop after")
    torch.testing.assert_close(result, wanted)

    def operations(found):
        return sum(node.operations or 0 for node in found)

    assert operations(after) > operations(nodes)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_loop_that_decides_outside_of_the_compiled_function_leaves_one_compile():
    (help,) = breaks.ROUNDS.help
    wanted, nodes = before_of(breaks.ROUNDS, help)
    assert [text for one in met(nodes, "branch") for text in one["help"]][-1] == help.text
    result, after = run(help.after, "rounds after")
    torch.testing.assert_close(result, wanted)
    assert len(after) == 1 and not after[0].breaks and not after[0].failure


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_line_in_a_library_is_not_to_be_edited():
    (help,) = breaks.LIBRARY.help
    wanted, nodes = before_of(breaks.LIBRARY, help)
    (found,) = met(nodes, "branch")
    assert found["file"].endswith("clip_grad.py")
    line = help.before.splitlines().index(
        "    norm = clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)"
    )
    at = "%s:%d" % (os.path.basename(found["caller"][0]), line + 1)
    assert found["help"] == [help.text.format(caller=at)] and found["patches"] == [""]
    result, after = run(help.after, "library after")
    assert not [one for node in after for one in node.breaks]
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_the_function_that_is_not_traced_is_named_where_a_line_calls_two():
    text = """
weight = torch.ones(3, requires_grad=True)
scaler = torch.amp.GradScaler("cpu")

@torch.compile(backend="eager")
def f(x):
    scaler.scale((x * weight).sum()).backward()

result = f(torch.ones(3))
"""
    found = met(run(text, "two calls")[1], "training step")
    assert found and all(
        one["why"].startswith("torch does not trace `scaler.scale`") for one in found
    )


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_number_that_an_operator_is_given_is_kept_in_the_graph_by_the_setting():
    text = """
@torch.compile(backend="eager")
def f(x, edges):
    count = int(edges.max()) + 1
    degree = torch.bincount(edges, minlength=count).clamp(min=1)
    return x / degree if degree.shape[0] == x.shape[0] else x

result = f(torch.ones(5), torch.tensor([1, 4, 4]))
"""
    wanted, nodes = run(text, "count before")
    (said,) = met(nodes, "item")
    cuts = [one for node in nodes for one in node.breaks]
    result, after = run("%s\n" % said["patches"][1] + text, "count after")
    assert len([one for node in after for one in node.breaks]) == len(cuts) - 1
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_an_assertion_in_the_graph_raises_what_the_advice_says():
    (help, _) = breaks.BY_KEY["assert"].help
    program = help.after.replace("torch.ones(3)", "-torch.ones(3)")
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="a logarithm of a negative"):
        exec(program, {"torch": torch})
    assert "raises RuntimeError in place" in help.text


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_setting_helps_in_a_library_too():
    text = """
exec(compile("def total(x):\\n    return x.sum().item()", "/lib/site-packages/a.py", "exec"))

@torch.compile(backend="eager")
def f(x):
    return x * total(x)

result = f(torch.ones(3))
"""
    found = met(run(text, "item in a library")[1], "item")
    assert found  # that of f, and what torch says of the called function by itself
    for one in found:
        assert one["patches"] == ["torch._dynamo.config.capture_scalar_outputs = True", ""]
        assert "leave the call at item_in_a_library.py:6 out of" in one["help"][1]


def test_each_of_torchs_graph_breaks_has_a_row_or_torchs_own_hints():
    path = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")
    if not os.path.exists(path):
        pytest.skip("this torch ships no registry of graph breaks")
    with open(path, encoding="utf-8") as stream:
        registry = json.load(stream)
    assert len(registry) > 100
    for number, versions in registry.items():
        for one in versions[:1]:
            said = words.of_break(
                {
                    "reason": one["Gb_type"],
                    "explanation": one["Explanation"],
                    "hints": one["Hints"],
                    "url": "https://example.invalid/gb/%s.html" % number.lower(),
                }
            )
            assert said["code"] == number
            assert said["why"]
            assert said["help"] == [] or said["row"] or number in breaks.LOOP.ids
            # what torch says is shown word for word, whatever the row says
            assert set(said["hints"]) <= set(one["Hints"])
            misleads = said["row"] in advice.WITHOUT_HINTS
            assert bool(said["hints"]) == (bool(one["Hints"]) and not misleads)


def test_the_numbers_of_the_rows_are_torchs():
    path = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")
    if not os.path.exists(path) or not PINNED:
        pytest.skip("the rows have the numbers of a later torch")
    with open(path, encoding="utf-8") as stream:
        registry = json.load(stream)
    known = {number for one in breaks.ROWS + (breaks.LOOP,) for number in one.ids}
    if TORCH < (2, 15):
        known -= {"GB9193", "GB9493"}
    assert known <= set(registry)


@pytest.mark.parametrize(
    "guard, key",
    [
        ("2 <= x.size()[0]", "size from 2"),
        ("2 <= x.size()[0] <= 5", "shape condition"),
        ("tensor 'x' size mismatch at index 0. expected 4, actual 1", "size 0 or 1"),
        ("tensor 'x' size mismatch at index 0. expected 4, actual 5", "size"),
        (
            "tensor 'past_key_values.layers[0].keys' stride mismatch at index 1. expected 4, actual 5",
            "growing cache",
        ),
        ("tensor 'self.weight' stride mismatch at index 1. expected 4, actual 5", ""),
        ("self.param_groups[0]['lr'] == 0.001", "learning rate"),
        ("len(batch) != 2", "keys"),
        # dynamic=True does not make an element of a dict symbolic
        ("stats['steps'] == 0", "counter"),
        ("list(dict.keys(batch))[0] == 'x'", "key at a place"),
        ("___check_obj_id(mode, 140440714136144), type=<class '__main__.Mode'>", "member of a set"),
        ("___check_obj_id(act, 140440714136144), type=<class 'function'>", "object"),
        ("___check_obj_id(g, 140440714136144), type=<class 'torch._C.Generator'>", "object"),
        # nor a global of the module
        ("G['steps'] == 0", "counter"),
        ("G['scale'] == 0.5", "float attribute"),
        # what is computed from a number is no number that a caller gives
        ("(n % 3) == 0", "number condition"),
        ("((1 + s.n) % 2) != 0", "number condition"),
        ("(x.size()[0] % 3) == 0", "shape condition"),
        ("x['a % b'] == 2", "counter"),
        ("n != 1", "number 0 or 1"),
        ("2 <= s.n", "number 0 or 1"),
        ("n != 3", "number condition"),
        ("n != 1  # if n == 1:  # a.py:7 in f", "number condition"),
        ("at.item() == 1", "tensor as an index"),
        ("not ___dict_contains('n', s.__dict__)", "attribute that is added"),
    ],
)
def test_advice_fits_what_the_reader_can_do(guard, key):
    said = words.of_reason("0/0: " + guard)
    assert said["row"] == key
    assert bool(said["help"]) == bool(key)
    if key.startswith("size"):
        wanted = "dynamic=True) compiles" if key == "size" else "needs no action; padding"
        assert ("maybe_mark_dynamic(x, 0)" in said["help"][-1]) == (key == "size")
        assert wanted in said["help"][0] and "mark_unbacked" not in said["help"][0]
        unbacked = [text for text in said["help"] if "mark_unbacked(x, 0)" in text]
        assert len(unbacked) == (key != "size")
        assert all(text.startswith("Only if the code does not branch") for text in unbacked)


def test_a_float_on_which_a_branch_decides_is_not_said_to_be_an_operators():
    text = """
class Model(torch.nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    @torch.compile(backend="eager")
    def forward(self, x):
        if self.rate == 0.0:
            return x + 1
        return x * x.new_empty(3).bernoulli_(1 - self.rate)

result = [Model(rate)(torch.ones(3)) for rate in (0.5, 0.0)]
"""
    _, nodes = run(text, "branch on a rate")
    (said,) = [one for node in nodes for one in node.reasons]
    assert said["row"] == "number condition"
    assert not any("operator" in one or "tensor where" in one for one in said["help"])


def test_each_reason_of_a_recompile_stands_in_its_group(tmp_path):
    text = """
@torch.compile(backend="eager")
def f(batch):
    x = batch["x"] + 1
    return x.masked_fill(batch["mask"], 0) if "mask" in batch else x

mask = torch.ones(3, dtype=torch.bool)
result = [f({"x": torch.ones(3)}), f({"x": torch.ones(3), "mask": mask}), f({"x": torch.ones(2)})]
"""
    document = run_of_program(text, tmp_path / "program.py")
    told = summary.recompiles_text(document)
    ids = [entry["compile_id"] for one in document["functions"] for entry in one["entries"]]
    assert "compiled again 2 times" in told
    for later, earlier, words_ in (
        (1, 0, "the key 'mask' was not in batch"),
        (2, 1, "the key 'mask' was in batch"),
        (2, 0, "batch['x'].size(0) was 3, is 2"),
    ):
        assert "[%s] %s: %s" % (ids[later], ids[earlier], words_) in told
    (change,) = advise.changes(document)
    assert change.words.endswith(
        "did not fit for other reasons, too: `batch['x'].size(0)` was 3, is 2"
    )


def test_a_run_in_which_nothing_was_compiled_says_so(tmp_path):
    text = """
layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))

@torch.compile(backend="eager")
def f(x):
    for layer in layers:
        x = layer(x)
        if x.sum() > 0:
            continue
    return x

result = f(torch.ones(3))
"""
    for program, nothing in ((text, True), (text.replace("x.sum()", "x.dim()"), False)):
        document = run_of_program(program, tmp_path / "program.py")
        assert ("torch compiled nothing" in summary.recompiles_text(document)) == nothing
        assert ("torch compiled nothing" in summary.breaks_text(document)) == nothing


@pytest.mark.parametrize(
    "shapes, marks",
    [
        ("(size, 3), (size, 3)", ["x, 0", "y, 0"]),
        ("(size, size), (1, 1)", ["x, 0", "x, 1"]),
        ("(size, 3), (4, 3)", []),  # the size is another input's in the first call alone
    ],
)
def test_sizes_that_change_together_are_marked_together(tmp_path, shapes, marks):
    program = tmp_path / "together.py"
    text = """import torch

@torch.compile(backend="eager")
def f(x, y):
    return x.sum() - y.sum()

for size in (4, 5, 6):
    x, y = map(torch.ones, (%s))
    f(x, y)
"""
    program.write_text(text % shapes)
    torch._dynamo.reset()
    with depyf.capture() as found:
        runpy.run_path(str(program))
    (said,) = met(overview.nodes_of([found.to_json()]), "size")
    calls = ["torch._dynamo.maybe_mark_dynamic(%s)" % one for one in marks or ["x, 0"]]
    assert said["patches"] == ["torch.compile(..., dynamic=True)", " and ".join(calls)]
    marked = advise.patches._with_marks(
        program.read_text(), advise.source.source_of(str(program))[1], 4, said["patches"][1]
    )
    program.write_text(marked)
    torch._dynamo.reset()
    with depyf.capture() as found:
        runpy.run_path(str(program))
    assert not [one for node in overview.nodes_of([found.to_json()]) for one in node.reasons]


_WIDTHS = """
torch.manual_seed(0)

class Layer(torch.nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.linear = torch.nn.Linear(before, after)

    def forward(self, x):
        return self.linear(x).relu()

widths = (2, 3, 4, 5)
layers = torch.nn.Sequential(*map(Layer, widths, widths[1:]))
for layer in layers:
    layer.compile(backend="eager")
result = torch.ones(3, 2)
with torch.no_grad():
    for layer in layers:
        result = layer(result)
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_layers_of_several_widths_are_compiles_of_one_method_for_several_objects():
    wanted, nodes = run(_WIDTHS, "widths")
    found = met(nodes, "value of each object")
    assert len(found) == 2 and len(nodes) == 3
    for said in found:
        assert "one method serves several objects" in said["words"]
        assert (
            "self.linear.bias" in said["words"] and "compile the code that calls" in said["help"][0]
        )
    whole = _WIDTHS.replace(
        "for layer in layers:\n    layer.compile(", "layers = torch.compile(layers, "
    )
    whole = whole.replace("for layer in layers:\n        result = layer(", "result = layers(")
    result, after = run(whole, "widths after")
    assert len(after) == 1
    torch.testing.assert_close(result, wanted)


_AVERAGES = """
class Average:
    def __init__(self, size, decay):
        self.value, self.decay, self.calls = torch.nn.Parameter(torch.zeros(size)), decay, 0

    @torch.compile(backend="eager")
    def step(self, x):
        self.calls += 1
        with torch.no_grad():
            self.value.mul_(self.decay).add_(x.sum() * self.calls)

averages = [Average(3, 0.9), Average(4, 0.5)]
for _ in range(4):
    for one in averages:
        one.step(torch.ones(2))
result = [one.value.detach() for one in averages]
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_objects_whose_loop_is_compiled_are_passed_to_it():
    wanted, nodes = run(_AVERAGES, "averages")
    (said,) = met(nodes, "value of each object")[:1]
    assert "takes them as an argument" in said["help"][0]
    followed = _AVERAGES.replace('    @torch.compile(backend="eager")\n', "")
    loop = "    for one in averages:\n        one.step(torch.ones(2))\n"
    whole = (
        '@torch.compile(backend="eager", dynamic=True)\ndef step(averages):\n' + loop + "\nfor _"
    )
    followed = followed.replace(loop, "    step(averages)\n").replace("for _", whole, 1)
    result, after = run(followed, "averages after")
    assert len(after) == 1 < len(nodes)
    torch.testing.assert_close(result, wanted)


_FLAGS = """
class Block(torch.nn.Module):
    def __init__(self, bias, act):
        super().__init__()
        self.bias, self.act = bias, act

    def forward(self, x):
        if self.bias:
            x = x + 1
        return x.relu() if self.act == "relu" else x.tanh()

blocks = [Block(at % 2 == 0, "relu" if at < 2 else "tanh") for at in range(4)]
for block in blocks:
    block.compile(backend="eager")

def whole(x):
    for block in blocks:
        x = block(x)
    return x

result = whole(torch.ones(3))
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_objects_that_differ_in_several_attributes_are_one_change(tmp_path):
    torch._dynamo.reset()
    program = tmp_path / "program.py"
    program.write_text("import torch\n" + _FLAGS)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(program))
    document = dict(summary.load(str(tmp_path / "dump")), program=str(program))
    (change,) = advise.changes(document)
    told = [one.words for one in (change,) + change.also]
    assert {one.split("`")[1] for one in told} == {"self.bias", "self.act"}
    assert change.advice.startswith(told[0].split("`")[1] + " is set when its object is made")
    wanted, before = run(_FLAGS, "flags")
    followed = _FLAGS.replace('    block.compile(backend="eager")', "    pass")
    result, after = run(
        followed.replace("def whole", '@torch.compile(backend="eager")\ndef whole'), "flags after"
    )
    assert len(before) == 4 and len(after) == 1
    torch.testing.assert_close(result, wanted)


_LAYERED = """
class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x, cache):
        key = f"layer{self.index}"
        if key in cache:
            x = x + cache[key].sum(0)
        cache[key] = torch.cat([cache[key], x[None]]) if key in cache else x[None]
        return x * 2

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(map(Layer, range(4)))

    def forward(self, x, cache):
        for layer in self.layers:
            x = layer(x, cache)
        return x

model = Model()
for layer in model.layers:
    layer.compile(backend="eager")
result = []
for _ in range(2):
    cache = {}
    result += [model(torch.ones(3), cache) for _ in range(4)]
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_what_layers_of_one_class_differ_in_is_told_though_torch_names_another_guard():
    torch._dynamo.reset()
    wanted, nodes = run(_LAYERED, "layered")
    first = [node.reasons[0] for node in nodes[1:4]]
    assert [one["words"].split(":")[0] for one in first] == [
        "`self.index` was %d, is %d" % (at, at + 1) for at in range(3)
    ]
    of_cache = [one for node in nodes for one in node.reasons if one["name"] == "cache"]
    assert {one["row"] for one in of_cache} == {"dict that is filled"}
    whole = _LAYERED.replace("for layer in model.layers:\n    layer", "model")
    result, after = run(whole, "layered after")
    assert len(after) < len(nodes) / 2
    assert not met(after, "value of each object")
    torch.testing.assert_close(result, wanted)
    keys = "cache = {f'layer{at}': torch.zeros(0, 3) for at in range(4)}"
    result, after = run(whole.replace("cache = {}", keys), "layered keys")
    assert not met(after, "dict that is filled") and not met(after, "keys")
    torch.testing.assert_close(result, wanted)


_SAMPLER = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, ids):
        self.calls += 1
        return ids * 2

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(2, size)) for size in range(4, 9)]
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_value_that_changes_beside_another_stands_in_one_change(tmp_path):
    torch._dynamo.reset()
    program = tmp_path / "program.py"
    program.write_text("import torch\n" + _SAMPLER)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(program))
    document = dict(summary.load(str(tmp_path / "dump")), program=str(program))
    (change,) = advise.changes(document)
    assert "allow_unspec_int_on_nn_module" in change.advice and change.patch
    assert change.advice.count("And for `ids`: torch.compile(..., dynamic=True)") == 1
    assert "`self.calls`, which was 0, is 1, too" in change.also[0].words
    wanted, before = run(_SAMPLER, "sampler")
    setting = "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
    result, after = run(setting + _SAMPLER.replace('"eager"', '"eager", dynamic=True'), "followed")
    assert len(before) == 5 and len(after) == 1
    torch.testing.assert_close(result, wanted)


_RAGGED = """
torch.manual_seed(0)
lin = torch.nn.Linear(8, 4)

def f(xs):
    return torch.stack([lin(x).mean(0) for x in xs]).sum()

f = torch.compile(f, backend="eager", dynamic=True)
result = [f([torch.ones(n, 8), torch.ones(n + 1, 8)]).detach() for n in (8, 4, 6)]
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_size_that_equals_a_constant_one_is_not_told_to_be_made_dynamic_again():
    wanted, nodes = run(_RAGGED, "ragged")
    (said,) = [one for node in nodes for one in node.reasons]
    assert said["row"] == "equal sizes" and "`xs[0].size(1)`, which was equal" in said["words"]
    assert not [one for one in said["help"] if "dynamic=True" in one]
    setting = said["patches"][0]
    again = "\n%s" % setting.replace("False", "True")
    result, after = run("%s\n%s%s" % (setting, _RAGGED, again), "ragged after")
    assert len(after) == 1 and len(nodes) == 2
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_symbolic_size_that_a_branch_made_a_constant_is_told_with_its_place():
    text = """
@torch.compile(backend="eager", dynamic=True)
def f(x):
    if x.shape[0] == 4:
        return x * 2
    return x + 1

result = [f(torch.ones(size, 3)) for size in (4, 5, 6)]
"""
    (said,) = [one for node in run(text, "decided size")[1] for one in node.reasons]
    assert said["row"] == "shape condition"
    assert said["words"].endswith("became a constant at decided_size.py:4")


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
@pytest.mark.parametrize("first, dynamic", [(0, False), (1, False), (2, True)])
def test_a_cache_of_length_0_or_1_gains_nothing_by_dynamic_sizes(first, dynamic):
    text = """
class Cache:
    def __init__(self):
        self.keys = torch.zeros(1, %d, 4)

@torch.compile(backend="eager"%s)
def step(cache, key):
    cache.keys = torch.cat([cache.keys, key], dim=1)
    return cache.keys.sum()

cache = Cache()
result = [step(cache, torch.ones(1, 1, 4)) for _ in range(5)]
"""
    nodes = run(text % (first, ""), "cache from %d" % first)[1]
    after = run(text % (first, ", dynamic=True"), "dynamic cache from %d" % first)[1]
    assert (len(after) < len(nodes)) == dynamic
    for node in nodes + after:
        for said in node.reasons:
            assert any("dynamic=True" in one for one in said["help"]) == dynamic, said["words"]


@pytest.mark.parametrize(
    "line, row",
    [
        ("while n > 1:", "integer used as a constant"),
        ("for _ in range(n):", "integer used as a constant"),
        ("if n == 3:", "number condition"),
        ("if n:", "number condition"),
        ("if n > 3:", "integer of an operator"),  # a range makes no constant
        ("y = self.layers[n](x)", "integer that picks"),
        ("y = x.sum(n)", "integer of an operator"),
    ],
)
def test_a_number_that_is_a_constant_again_has_the_row_of_what_uses_it(line, row):
    said = words.of_reason("0/0: n == 2  # %s  # a.py:7 in f" % line)
    words.describe_constant(said)
    assert said["row"] == row and not any(said["patches"])


@pytest.mark.parametrize(
    "body, needing",
    [
        ("y = x * rates[k]", ""),
        ("t = rates[k]\n    y = x * t\n    y = y[:2]", ""),
        ("t = rates[k]\n    y = x[t]", "5"),
        ("t = rates[k]\n    y = x[:, :t]", "5"),
        ("t = rates[k]\n    y = x if t > 0 else -x", "5"),
        ("t = rates[k + 1] if k < 3 else 0\n    y = x * t", "4"),
        (
            "t = rates[k]\n    y = x * t\n    for _ in range(t): y = y * 2\n    note = f'{t}'",
            "6 and 7",
        ),
        ("y = x[rates[k]]", "4"),
        ("y = x * rates[k] if k else x", "4"),
        ("y = shifted(x, rates[k])", "9"),
        ("t = rates[k]\n    y = shifted(x, t)", "9"),
        ("t = rates[k]\n    y = scaled(x, t)", ""),
    ],
)
def test_a_number_that_python_needs_is_not_advised_to_be_a_tensor(tmp_path, body, needing):
    program = tmp_path / "picks.py"
    text = "rates = list(map(int, '0123'))\n\ndef f(x, k):\n    %s\n    return y\n" % body
    while text.count("\n") < 7:
        text += "\n"
    program.write_text(
        text
        + "def shifted(x, by):\n    return x.roll(by)\n\ndef scaled(x, by):\n    return x * by\n"
    )
    said = words.of_reason("0/0: k == 7  # %s  # %s:4 in f" % (body.split("\n")[0], program))
    words.describe_constant(said)
    assert ("Pass a number as a tensor;" in said["help"][0]) == (not needing), said["help"]
    assert not needing or "at picks.py:%s." % needing in said["help"][0], said["help"]


@pytest.mark.parametrize(
    "test, row",
    [
        ("k > 0", "integer that picks what Python needs"),
        ("0 < k <= 5 and x.dim() > 1", "integer that picks what Python needs"),
        ("k == 5", "number condition"),
    ],
)
def test_a_number_that_picks_is_no_constant_because_of_a_range(tmp_path, test, row):
    program = tmp_path / "picks.py"
    program.write_text(
        "rates = [0.1 * i for i in range(9)]\n\ndef f(x, k):\n    t = float(k)\n"
        "    y = x * rates[k]\n    if %s:\n        y = y + t\n    return y\n" % test
    )
    said = words.of_reason("0/0: k == 7  # t = float(k)  # %s:4 in f" % program)
    words.describe_constant(said)
    assert said["row"] == row


@pytest.mark.parametrize(
    "line, setting",
    [("self.steps += 1", True), ("if self.steps == 0:", False), ("k = keys[self.steps]", False)],
)
def test_a_setting_for_integers_is_advised_where_nothing_is_decided_on_them(line, setting):
    guard = "0/0: self.steps == 0  # %s  # a.py:7 in f\n set allow_unspec_int_on_nn_module" % line
    said = words.of_reason(guard)
    assert said["row"] == ("counter" if setting else "counter that decides")
    assert any("unspec" in one for one in said["help"]) == setting


_BANK = """
class Ring(torch.nn.Module):
    def __init__(self):
        self.register_buffer("bank", torch.zeros(4, 3))
        self.rows = [1, 2]
    def forward(self, x):
        %s
        self.at = (self.at + 1) %% 4
"""


@pytest.mark.parametrize(
    "line, row",
    [
        ("self.bank[self.at] = x", "counter that indexes"),
        ("y = self.rows[self.at] * x", "counter that decides"),
        ("self.bank[self.at] = x if self.at else x + 1", "counter that decides"),
    ],
)
def test_a_counter_that_is_the_index_of_a_tensor_can_be_a_tensor(tmp_path, line, row):
    program = tmp_path / "ring.py"
    program.write_text(_BANK % line)
    told = "0/0: self.at == 0  # %s  # %s:7 in forward\n set allow_unspec_int_on_nn_module"
    found = [words.of_reason(told % (line, program))]
    assert found[0]["row"] == row
    assert ("index_copy_" in found[0]["help"][0]) == (row == "counter that indexes")
    told = "0/0: self.at == 0  # %s  # %s:8 in forward\n set allow_unspec_int_on_nn_module"
    found.append(words.of_reason(told % ("self.at = (self.at + 1) % 4", program)))
    words.name_decided(found)
    assert [one["row"] for one in found] == [row] * 2


def test_an_expression_is_not_advised_to_be_marked_unbacked():
    size = "tensor 'kwargs['input_ids']' size mismatch at index 1. expected 5, actual 1"
    for guard in (size, "2 <= kwargs['input_ids'].size()[1]"):
        said = words.of_reason("0/0: " + guard)
        assert "needs no action" in said["help"][0]
        assert "mark_unbacked" not in str(said["help"] + said["patches"])


@pytest.mark.parametrize(
    "line, key",
    [
        ("history.append(loss.item())", "growing list"),
        ("for tensor in tensors:", "length"),
        ("torch.stack(tensors)", "other length"),
        ("memo[x.data_ptr()] = x * 2", "growing dict"),
        ("if memo[key] == x:", "other length"),
    ],
)
def test_a_loop_is_named_only_where_the_line_has_one(line, key):
    said = words.of_reason("0/1: len(xs) == 1  # %s  # a.py:7 in f" % line)
    assert said["row"] == key
    assert ("loop" in said["help"][0]) == (key == "length")


def test_the_first_step_of_an_optimizer_is_told_as_such():
    program = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
step = torch.compile(optimizer.step, backend="eager")
for _ in range(3):
    weight.grad = torch.ones(3)
    step()
"""
    said = [one for node in run(program, "momentum")[1] for one in node.reasons]
    if PINNED:
        assert said
    assert not [one["failed"] for one in said if one["row"] != "optimizer's state"]


def test_a_class_that_is_not_traced_is_named_as_the_program_calls_it():
    said = "the function `tqdm.__new__` in file `/p/tqdm/std.py` should not be traced."
    found = words.of_break(
        {"reason": "Attempted to call function marked as skipped", "explanation": said, "hints": []}
    )
    assert found["help"] == ["Call `tqdm` outside of the compiled function, and pass its result."]


CHANGING = """
import logging, warnings

@torch.compile(backend="eager")
def f(x, step):
    y = x + 1
    CALL
    return y * 2

result = [f(torch.ones(3), step) for step in range(4)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
@pytest.mark.parametrize(
    "call, patched",
    [
        ('print("step", step, y.mean())', False),
        ('warnings.warn(f"step {step}")', False),
        ('logging.warning("step %d", step)', False),
        ('print("mean", y.mean())', True),
    ],
)
def test_what_tells_a_number_that_changes_is_not_advised_to_be_put_off(tmp_path, call, patched):
    program = tmp_path / "telling.py"
    program.write_text("import torch\n" + CHANGING.replace("CALL", call))
    torch._dynamo.reset()
    with torch._dynamo.config.patch(), depyf.capture() as found:
        runpy.run_path(str(program))
    document = dict(found.to_json(), program=str(program))
    told = [one for one in advise.changes(document) if one.kind == "break"]
    assert told and any("reorderable" in one.patch for one in told) == patched


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
@pytest.mark.parametrize(
    "value, key",
    [
        ("y.shape", "print of other values"),
        ("[y.sum()]", "print of other values"),
        ("{'mean': y.mean()}", "print of other values"),
        ("y.mean(), y.dtype, 1.5, None", "print"),
    ],
)
def test_a_print_that_torch_cannot_put_off_is_not_advised_to_be_put_off(value, key):
    text = breaks.BY_KEY["print"].help[0].before.replace('"the sum is", y', value)
    nodes = run(text, "a print of " + key)[1]
    (said,) = met(nodes, key)
    assert any(said["patches"]) == (key == "print")
    # and where the setting is there already, it is not advised once more
    set_already = breaks.BY_KEY["print"].help[1].after.replace('"the sum is", y', value)
    nodes = run(set_already, "a print put off")[1]
    assert [one["row"] for node in nodes for one in node.breaks] == [key] * (key != "print")


@pytest.mark.skipif(not PINNED, reason="earlier ones tell of no lines")
def test_an_operator_without_fake_kernel_names_the_readers_line():
    text = breaks.BY_KEY["no fake kernel"].help[0].before.replace("::before", "::line")
    (node,) = run(text, "no fake kernel")[1]
    assert node.failure["row"] == "no fake kernel"
    file, line, code = node.failure["caller"]
    assert (os.path.basename(file), code) == ("no_fake_kernel.py", "return twice(x.sin()) + 1")
    assert text.splitlines()[line - 1].strip() == code


@pytest.mark.skipif(not PINNED, reason="earlier ones tell of no operator")
def test_an_operator_of_a_library_without_fake_kernel_is_named_as_it_is_registered():
    text = breaks.BY_KEY["no fake kernel in a library"].help[0].before
    nodes = run(text, "no fake kernel in a library")[1]
    (said,) = met(nodes, "no fake kernel in a library")
    (name,) = re.findall(r"`(own_library_\d+::twice)`", said["why"])
    assert '@torch.library.register_fake("%s")' % name in said["help"][0]


@pytest.mark.skipif(not PINNED, reason="earlier ones compile an optimizer otherwise")
@pytest.mark.parametrize("key", ["object that was freed", "another optimizer"])
def test_of_an_optimizer_each_function_that_it_passes_through_says_the_same(key):
    nodes = run(recompiles.BY_KEY[key].help[0].before, key)[1]
    told = [one for node in nodes for one in node.reasons[:1]]
    assert len(told) > 2 and {one["row"] for one in told} == {key}
    assert all(one["help"] == [recompiles.BY_KEY[key].help[0].text] for one in told)


def test_a_function_of_random_is_named_as_the_program_names_it():
    (reason, said) = (
        "Attempted to call function marked as skipped",
        "Dynamo does not know how to trace the builtin `<unknown module>.Random.random.`",
    )
    found = words.of_break({"reason": reason, "explanation": said, "hints": []})
    assert found["row"] == "drawn by Python" and "`random.random`" in found["why"]
    (help,) = found["help"]
    assert help.startswith("Call `random.random` outside of the compiled function, and pass its")


def test_what_gives_another_result_each_time_is_not_advised_to_be_a_custom_operator():
    said = "Dynamo does not know how to trace the builtin `%s.`"
    hint = "If it is an extension, please wrap it into a PyTorch-understood custom operator"
    for name in ("time.time", "<unknown module>.Random.random"):
        reason = "Attempted to call function marked as skipped"
        found = {"reason": reason, "explanation": said % name, "hints": [hint]}
        told = words.of_break(found)
        assert "custom" not in str(told["help"] + told["hints"]) and told["help"]
    reason = "attempted to trace numpy function unsupported by PyTorch"
    drawn = "numpy function: <bound method RandomState.beta of RandomState(MT19937) at 0x7F>"
    told = words.of_break({"reason": reason, "explanation": drawn, "hints": []})
    assert told["row"] == "method of numpy" and "wrap" not in str(told["help"])


PYTHON = "/opt/python/lib/python3.11/json/encoder.py"


@pytest.mark.parametrize(
    "said, stack, name",
    [
        # a method of torch's or Python's library, behind a function that the program calls
        (
            "method `__new__` of class `type`",
            ["/a/b.py", "  s = json.dumps(x)", "      ^^^^^^^^^^^^^", PYTHON, "  e(x)", "  ^^^^"],
            "json.dumps",
        ),
        ("Python builtin `_json.scan`.", ["/a/b.py", "  y = scan(x)"], "scan"),
        ("Python builtin `_json.scan`.", [], "json.scan"),
        # two calls on the line: which of them it is, only torch says
        ("Python builtin `time.sleep`.", ["/a/b.py", "  a(x); b(x)"], "time.sleep"),
        ("method `close` of class `Pool`", ["/a/b.py", "  self.pool.close()"], "self.pool.close"),
    ],
)
def test_what_is_called_has_the_name_that_the_program_calls_it_by(said, stack, name):
    lines = ['File "%s", line 3, in f' % one if one.startswith("/") else one for one in stack]
    method = "method" in said
    found = words.of_break(
        {
            "reason": "Unsupported method call"
            if method
            else "Attempted to call function marked as skipped",
            "explanation": "Dynamo does not know how to trace " + said,
            "hints": [],
            "user_stack": lines,
        }
    )
    assert "`%s`" % name in found["why"]
    assert found["help"][0].startswith("Call `%s` outside" % name)


def test_what_torch_does_by_design_is_no_problem_of_the_program():
    guard = "len(self.state[list(dict.keys(self.state))[0]]) != 0"
    mode = words.of_reason("0/0: model._modules['1'].training == False")
    assert (mode["row"], mode["help"]) == ("training mode", [])
    assert "`model._modules['1'].training` was False" in mode["words"]
    state = words.of_reason("0/0: " + guard)
    assert "optimizer's state; one more compile is normal" in state["words"]
    assert guard not in state["words"] and state["help"] == []
    found = {
        "reason": "Call to `torch._dynamo.graph_break()`",
        "location": "/t/torch/optim/optimizer.py:70",
        "hints": ["Remove the `torch._dynamo.graph_break()` call."],
    }
    entry = {"compile_id": "0/0", "metrics": {}, "artifacts": [], "guards": [], "reasons": []}
    first = dict(entry, name="", breaks=[found])
    document = {"functions": [], "unattributed": [first]}
    assert "hint" not in summary.breaks_text(document)
    assert summary.over_budget(document, breaks=0) == []
    first["breaks"].append(dict(found, location="/a/b.py:3"))
    (told,) = summary.over_budget(document, breaks=0)
    assert told.startswith("1 graph break, 0 allowed") and "b.py:3" in told
    assert "optimizer.py" not in told
    # however long it took, it stands behind what can be mended
    again = dict(entry, name="", breaks=[], reasons=["0/0: " + guard])
    again["metrics"] = {"duration_us": 3e6}
    size = dict(again, reasons=["0/0: tensor 'x' rank mismatch. expected 1, actual 2"])
    size["metrics"] = {"duration_us": 1e6}
    causes = overview.causes(overview.nodes_of([dict(document, unattributed=[again, size])]))
    assert [one["reason"]["row"] for one in causes] == ["rank", "optimizer's state"]


RANK = "tensor 'x' rank mismatch. expected 1, actual 2"


def test_changes_stand_with_what_raises_first_then_in_the_order_of_what_they_save():
    entries = []
    for number, cost in enumerate((0.1, 3.4, 1.0)):
        metrics = {"duration_us": cost * 1e6, "co_name": "f", "co_filename": "/a/b.py"}
        metrics["co_firstlineno"] = number + 1
        one = {"compile_id": "%d/1" % number, "metrics": metrics, "name": "", "breaks": []}
        reason = "0/0: " + ("x == 2", RANK, "x == 2")[number]
        entries.append(dict(one, artifacts=[], guards=[], reasons=[reason]))
    entries[0].update(reasons=[], failure="Unsupported: Call to `torch._dynamo.graph_break()`")
    document = {"functions": [], "unattributed": entries}
    assert [one.seconds for one in advise.changes(document)] == [0.1, 3.4, 1.0]
    # what runs uncompiled costs time at each call, so it is listed whatever it saves
    assert sorted(one.seconds for one in advise.changes(document, most=2)) == [0.1, 3.4]
    lines = [line.strip() for line in summary.summary(document).splitlines()]
    told = [re.match(r"(up to \S+ s|no figure)  ", line) for line in lines]
    # of what torch raises to the program, nothing is spared: without it the compile goes on
    assert [one.group(1) for one in told if one] == ["no figure", "up to 3.40 s", "up to 1.00 s"]


def test_code_that_an_inner_block_replaced_is_counted_as_such():
    one = {"compile_id": "0/0", "metrics": {}, "name": "f", "replaced": False, "verdict": "exact"}
    one["replaced_by"] = "the block that writes to /tmp/inner"
    document = {"functions": [], "unattributed": [one]}
    told = summary.summary(document)
    assert "torch runs 0 of them, 1 of another block of the program" in told
    assert "inner" not in summary.summary(dict(document, unattributed=[dict(one, replaced_by="")]))


def test_names_that_torch_gave_stand_in_the_words():
    def said(reason, explanation, number):
        return words.of_break(
            {
                "reason": reason,
                "explanation": explanation,
                "url": "https://example.invalid/gb/%s.html" % number,
            }
        )

    skipped = "Dynamo developers have intentionally marked that the function `Adam.step` in file `/t/torch/optim/lr_scheduler.py` should not be traced."
    found = said("Attempted to call function marked as skipped", skipped, "gb0007")
    assert found["row"] == "lr_scheduler" and found["why"].endswith(
        "wraps `Adam.step`, and torch does not trace that wrapper."
    )
    found = said("Attempted to call function marked as skipped", "no names here", "gb0007")
    assert found["why"] == "no names here" and found["help"] == []
    fake = "got RuntimeError('There was no fake impl registered for <CustomOpDef(my::nofake)>. Please use `nofake.register_fake` to add an fake impl.')"
    found = said("RuntimeError when making fake tensor call", fake, "gb4315")
    assert "`@nofake.register_fake`" in found["help"][0]
    assert advice.filled("{a} and {b}", {"a": "1"}) is None


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_scheduler_does_not_warn_of_a_step_that_was_compiled_as_advised(recwarn):
    (help,) = breaks.BY_KEY["lr_scheduler"].help
    wanted, _ = run(help.before, "a scheduler", eager=True)
    recwarn.clear()
    result, _ = run(help.after, "a scheduler, compiled")
    torch.testing.assert_close(result, wanted)
    assert not [one for one in recwarn if "lr_scheduler" in str(one.message)]


BESIDE = """
class Config:
    def __init__(self, scale, steps):
        self.scale, self.steps = scale, steps

@torch.compile(backend="eager")
def f(x, config):
    for _ in range(config.steps):
        x = x * config.scale + 1
    return x

result = [f(torch.ones(3), Config(1.0 + index / 2, 2 + index)) for index in range(3)]
"""


_LEVELS = """
import math

class Denoiser(torch.nn.Module):
    def forward(self, x, level):
        angle = math.log(level)
        return x * angle / math.sqrt(level ** 2 + 1)

denoiser = Denoiser()

@torch.compile(backend="aot_eager")
def step(x, sigma):
    x = x + 1
    if sigma > 0:
        x = denoiser(x, sigma)
    return x

result = [step(torch.ones(3), sigma) for sigma in (4.0, 2.0, 1.5, 0.5)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_the_function_that_makes_a_float_a_constant_is_named_with_what_takes_no_tensor():
    wanted, nodes = run(_LEVELS, "levels")
    said = [node.reasons[0] for node in nodes[1:]]
    assert [one["row"] for one in said] == ["float in a function"] * 3
    for one in said:
        assert "math.log at levels.py:6 makes its argument a constant" in one["help"][0]
        assert one["help"][0].endswith("may break the graph at levels.py:6, 7 and 14.")
        assert not any(one["patches"])
    # as a tensor, which was advised before, it does
    tensors = run(_LEVELS.replace("ones(3), sigma)", "ones(3), torch.tensor(sigma))"), "level")[1]
    assert [one for node in tensors for one in node.breaks]
    # with the results passed in, the number is symbolic from the second call on
    text = _LEVELS.replace("angle = math.log(level)", "angle, level = level").replace(
        "denoiser(x, sigma)", "denoiser(x, (angle, sigma))"
    )
    text = text.replace("step(x, sigma)", "step(x, sigma, angle)")
    text = text.replace("ones(3), sigma)", "ones(3), sigma, torch.tensor(math.log(sigma)))")
    result, after = run(text, "angles")
    assert len(after) == 2 and not [one for node in after for one in node.breaks]
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
@pytest.mark.parametrize(
    "body, row, at",
    [
        ("window(n)", "size in a function", "numpy.hanning at sizes.py:5"),
        ("sum(row for row in x)", "size of a loop", "the loop at sizes.py:11"),
        ("by_size.get(n, 2.0)", "size that is looked up", "sizes.py:11 looks up"),
    ],
)
def test_the_line_that_makes_a_size_a_constant_is_named(body, row, at):
    text = """
import numpy

def window(n):
    return torch.from_numpy(numpy.hanning(n))

by_size = {4: 1.0}
@torch.compile(backend="eager")
def f(x):
    n = x.shape[0]
    return x * %s

result = [f(torch.ones(size)) for size in (4, 5, 6)]
"""
    nodes = run(text % body, "sizes")[1]
    said = [node.reasons[0] for node in nodes[1:]]
    assert [one["row"] for one in said] == [row] * 2
    assert all(at in one["help"][0] for one in said)
    assert not any("pad to one size" in text for one in said for text in one["help"])


_LIBRARY = """
def wrapper(**kwargs):
    return step(**kwargs)

def step(tokens, past):
    return past.update(tokens).sum()

class Cache:
    def __init__(self, keys):
        self.keys = keys

    def update(self, key):
        self.keys = torch.cat([self.keys, key], dim=1)
        return self.keys
"""
_GENERATES = """import torch
from library import Cache, wrapper

forward = torch.compile(wrapper, backend="eager")


@torch.compile(backend="eager")
def pick(x):
    return x * 2


cache = Cache(torch.zeros(1, 3, 4))
for length in (2, 2, 4, 5):
    pick(forward(tokens=torch.ones(1, length, 4), past=cache))
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_sizes_that_a_librarys_wrapper_hands_on_have_advice_for_the_readers_compile(
    tmp_path, monkeypatch
):
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "library.py").write_text("import torch\n" + _LIBRARY)
    monkeypatch.syspath_prepend(str(library))

    def advised(text, name):
        torch._dynamo.reset()
        program = tmp_path / (name + ".py")
        program.write_text(text)
        with depyf.prepare_debug(str(tmp_path / name)):
            runpy.run_path(str(program))
        document = dict(summary.load(str(tmp_path / name)), program=str(program))
        of_it = [one for one in overview.nodes_of([document]) if one.title != "pick"]
        return advise.changes(document), of_it

    found, nodes = advised(_GENERATES, "before")
    assert len(nodes) == 3
    assert [node.reasons[0]["row"] for node in nodes[1:]] == ["growing cache", "size"]
    changed = '+forward = torch.compile(wrapper, backend="eager", dynamic=True)'
    (one,) = [one for one in found if changed in one.patch]
    # a compile for all sizes stays
    assert 0 < one.seconds <= sum(node.seconds for node in nodes[1:])
    text = _GENERATES.replace('wrapper, backend="eager"', 'wrapper, backend="eager", dynamic=True')
    assert len(advised(text, "after")[1]) == 1


_SCALAR = """
@torch.compile(backend="eager")
def f(x):
    scale = x.sum().item()
    y = x * scale
    peak = y.abs().max().item()
    if peak > 10:
        y = y / peak
    return y * 2

result = [f(torch.ones(3) * scale) for scale in (1.0, 4.0)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_setting_for_the_whole_program_names_the_line_for_which_it_does_not_help():
    nodes = run(_SCALAR, "scalar")[1]
    (said,) = met(nodes, "item")
    (text,) = [one for one, patch in zip(said["help"], said["patches"]) if patch]
    assert text.startswith("First change scalar.py:7, where Python needs such a number")
    setting = "torch._dynamo.config.capture_scalar_outputs = True\n"
    assert [one for node in run(setting + _SCALAR, "set")[1] for one in node.breaks]
    changed = _SCALAR.replace(".max().item()", ".max()").replace(
        "    if peak > 10:\n        y = y / peak\n",
        "    y = torch.where(peak > 10, y / peak, y)\n",
    )
    wanted = run(_SCALAR, "scalar", eager=True)[0]
    result, after = run(setting + changed, "both")
    assert not [one for node in after for one in node.breaks]
    torch.testing.assert_close(result, wanted)


_SCALAR_BESIDE = """
seen = []

@torch.compile(backend="eager")
def scaled(x):
    scale = x.sum().item()
    return x * scale

@torch.compile(backend="eager")
def taken(x, table, at):
    %s
    return x * 2

result = [scaled(torch.ones(3))]
result += [taken(torch.ones(3), [1.0, 2.0, 3.0], torch.tensor(at)) for at in (0, 1, 2)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
@pytest.mark.parametrize(
    "statement, said",
    [
        ("seen.append(x.sum().item())", "for each length of the list"),
        ("x = x * table[at.item()]", "for each value"),
    ],
)
def test_a_setting_under_which_torch_compiles_again_at_a_line_is_not_said_to_break_there(
    statement, said
):
    program = _SCALAR_BESIDE % statement
    nodes = run(program, "beside")[1]
    (item,) = met(nodes, "item")
    (text,) = [one for one, patch in zip(item["help"], item["patches"]) if patch]
    assert text.startswith("First change beside.py:11, where ")
    assert "torch compiles again %s" % said in text and "breaks there" not in text
    after = run("torch._dynamo.config.capture_scalar_outputs = True\n" + program, "set")[1]
    assert not [one for node in after for one in node.breaks]
    assert len([node for node in after if node.title == "taken"]) == 3


_DRAWS = """
import random
from random import randint

random.seed(0)
dice = random.Random(0)

@torch.compile(backend="eager")
def mean(x):
    return x / x.sum().item()

@torch.compile(backend="eager")
def shift(x):
    return x.roll(randint(2, 9))

@torch.compile(backend="eager")
def column(x):
    at = dice.randint(2, 9)
    x = x + 1
    return x[at]

@torch.compile(backend="eager")
def part(x):
    begin, more = random.randint(2, 9), 3
    x = x * 2
    return x[begin : begin + more]

result = [f(torch.arange(20.0)) for f in (mean, shift, column, part)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_drawn_number_is_passed_and_no_setting_advised_with_which_torch_raises():
    result, nodes = run(_DRAWS, "draws")
    assert result is not None
    said = [one for node in nodes for one in node.breaks if one["row"] == "number drawn by Python"]
    assert {one["why"].partition(" draws")[0] for one in said} == {"line 14", "line 18", "line 24"}
    assert {text.partition(",")[0] for one in said for text in one["help"]} == {
        "Draw the number before the call"
    }
    (item,) = met(nodes, "item")
    (text,) = [one for one, patch in zip(item["help"], item["patches"]) if patch]
    assert text.startswith("First change draws.py:14, draws.py:18, draws.py:24, where Python draws")
    setting = "torch._dynamo.config.capture_scalar_outputs = True\n"
    assert run(setting + _DRAWS, "set")[0] is None  # torch raises an error


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_setting_is_not_advised_before_a_drawn_number_also_where_torch_skips_the_function():
    text = _DRAWS.replace(
        "    return x / x.sum().item()\n",
        "    for _ in range(2):\n        x = x / x.sum().item()\n    return x\n",
    )
    nodes = run(text, "skipped")[1]
    said = [node.failure for node in nodes if node.failure and node.failure["row"] == "item"]
    (given,) = [
        one for each in said for one in each["help"] if "capture_scalar_outputs = True" in one
    ]
    assert given.startswith("First change skipped.py:16, ")


_WEIGHTS = """
import json

class Model:
    def __init__(self):
        self.weights = {"a": 0.5, "b": 2.0}
        self.log = []

    @torch.compile(backend="eager")
    def loss(self, x):
        return sum(self.weights[key] * x.sum() for key in ("a", "b"))

    def balance(self):
        self.weights["a"] = 0.5 * self.weights["a"] + 0.1
        self.log.append(json.dumps(self.weights))

class Other:
    def __init__(self):
        self.weights = [1.0]

    def show(self):
        return str(self.weights)

model = Model()
result = []
for _ in range(3):
    result.append(model.loss(torch.ones(3)))
    model.balance()
    text = {key: round(value, 2) for key, value in model.weights.items()}
    name = f"{model.weights['a']:.2f}"
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_where_a_number_is_to_be_a_tensor_the_other_lines_that_read_it_are_told():
    nodes = run(_WEIGHTS, "weights")[1]
    (said,) = met(nodes, "float attribute")
    told = "Other code reads it as a number, at weights.py:15, weights.py:29, weights.py:30: there"
    assert [told in text for text in said["help"]] == [True, False]  # dynamic=True keeps the number
    quiet = _WEIGHTS.replace("json.dumps(self.weights)", "1").partition("    text = ")[0]
    assert "Other code" not in met(run(quiet, "quiet")[1], "float attribute")[0]["help"][0]


_LOADS = """
from collections import defaultdict

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.load = defaultdict(int)

    def forward(self, x):
        for part in range(2):
            self.load[part] += x.shape[0]
        return x * 2

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(size)) for size in (4, 5, 6)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_dict_of_counts_is_not_advised_to_be_a_tensor_of_elements():
    nodes = run(_LOADS, "loads")[1]
    (first, second) = [node.reasons[0] for node in nodes[1:]]
    assert first["row"] == "growing dict" and second["row"] == "counter"
    assert (
        "fill the dict outside of the compiled function. And for `x`: torch.compile(..., "
        in (first["help"][0])
    )
    assert not any(first["patches"] + second["patches"])
    text = _LOADS.replace("            self.load[part] += x.shape[0]\n", "            pass\n")
    text = text.replace('"eager")', '"eager", dynamic=True)')
    assert len(run(text, "no loads")[1]) == 1


@pytest.mark.parametrize(
    "body, left",
    [
        ("if not n:\n            continue\n        self.load[e] += n", [8]),  # a key of a dict
        ("if not n:\n            continue\n        self.seen[0] += n", []),  # nothing is added
        ("if not n:\n            continue\n        sizes.append(n)", [8]),
        ("if n:\n            self.last = n", [7]),
        ("if not n:\n            continue\n        out[e] = x[n]", []),  # a tensor
        ("if not n:\n            return out\n        out = out + x", [9]),
    ],
)
def test_what_a_branch_leaves_out_beside_tensors_is_found(tmp_path, body, left):
    program = tmp_path / "program.py"
    program.write_text(
        "class Model:\n    def __init__(self):\n"
        "        self.load, self.seen = defaultdict(int), [0, 0]\n"
        "    def forward(self, x, n, out, sizes):\n      for e in range(2):\n        %s\n"
        "      sizes.append(out)\n" % body
    )
    assert uses.left_out_at(str(program), 6) == left


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_number_beside_one_that_stays_a_constant_is_not_advised_to_be_made_symbolic():
    nodes = run(BESIDE, "two numbers that change")[1]
    rows = [node.reasons[0]["row"] for node in nodes[1:]]
    assert rows == ["integer used as a constant"] * 2
    assert not [patch for node in nodes[1:] for patch in node.reasons[0]["patches"] if patch]
    assert "; `config.steps`, which was 2, is 3, too" in nodes[1].reasons[0]["words"]


KEYED = """
seen = {"a": [], "b": []}

@torch.compile(backend="eager")
def f(x, key):
    y = x * 2
    seen[key].append(y.sum())
    return y

result = [f(torch.ones(3), key) for key in "abab"]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_an_entry_for_another_text_hides_no_list_that_grows():
    nodes = run(KEYED, "lists by key")[1]
    assert [node.reasons[0]["row"] for node in nodes[1:]] == ["text"] + ["growing list"] * 2


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_what_breaks_once_it_is_symbolic_is_not_advised_to_be_made_symbolic():
    text = breaks.BY_KEY["sort"].help[0].before.replace(", dynamic=True", "")
    nodes = run(text, "sorted by sizes")[1]
    said = [node.reasons[0] for node in nodes if node.reasons and not node.is_resume]
    assert said and not [one for one in said if one["help"]]
    assert "has a graph break" in said[0]["words"]


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
@pytest.mark.parametrize(
    "head, call", [("import uuid", "str(uuid.uuid4())"), ("import os", "[os.path.exists('/x')]")]
)
def test_a_call_of_pythons_library_is_named_as_the_program_writes_it(head, call):
    text = breaks.BY_KEY["not traced"].help[0].before
    text = text.replace("import time", head).replace("time.sleep(0)", "y += len(%s)" % call)
    (said,) = met(run(text, "a call of a library")[1], "not traced")
    name = call.strip("str([])").partition("(")[0]
    assert said["help"] == [
        "Call `%s` outside of the compiled function, and pass its result." % name
    ]


COUNTED = """
class Count:
    def __init__(self):
        self.steps = 0

@torch.compile(backend="eager")
def f(x, count):
    count.steps += 1
    y = x * count.steps
    if (1 + count.steps) % 2 == 0:
        return y * 2
    return y

count = Count()
result = [f(torch.ones(3), count) for _ in range(6)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_number_that_is_specialized_by_a_branch_is_not_advised_to_be_made_symbolic():
    nodes = run(COUNTED, "a number that a branch asks for")[1]
    assert len(nodes) == 3
    for node in nodes[1:]:
        said = node.reasons[0]
        assert said["row"] == "number condition" and not any(said["patches"]), said
    assert (
        "fits the numbers for which `((2 + count.steps) % 2) != 0` holds"
        in nodes[1].reasons[0]["words"]
    )
    # nor, where it is symbolic from the start, once more
    dynamic = COUNTED.replace('"eager"', '"eager", dynamic=True')
    nodes = run(dynamic, "a number that is symbolic")[1]
    assert len(nodes) == 2 and nodes[1].reasons[0]["row"] == "number condition"


DECIDED = """
def other(x):
    count = x.shape[0] // 5
    if count == 1:
        return x * 2
    return x[:count].sum()

@torch.compile(backend="eager", dynamic=True)
def f(x):
    return other(x + 1).view(-1, 1).mean(0)

result = [f(torch.ones(size)) for size in (9, 12)]
"""


@pytest.mark.skipif(not PINNED, reason="the trace of earlier ones has no stacks of conditions")
def test_a_condition_on_a_shape_names_the_line_that_decided():
    nodes = run(DECIDED, "a condition in a function that is called")[1]
    (reason,) = nodes[1].reasons
    assert reason["words"].endswith(
        "`(x.size()[0] // 5) == 1`, decided at a_condition_in_a_function_that_is_called.py:4: "
        "`if count == 1:`"
    )
    # torch leaves out the beginning of the file's name
    assert reason["file"] == "/tmp/a_condition_in_a_function_that_is_called.py"
    stacks = nodes[0].entry["conditions"]
    assert any(" in f: " in stack[-2] and " in other: " in stack[-1] for stack in stacks)


@pytest.mark.skipif(not PINNED, reason="the trace of earlier ones has no stacks of conditions")
def test_a_condition_in_a_library_names_the_readers_line(monkeypatch):
    from depyf.report import words

    found = words.of_reason(
        "0/0: (x.size()[0] % 2) == 0  # y = x.view(2, -1)  # b/lib/one.py:7 in g (a.py:1 in b)"
    )
    library = "/usr/lib/python3/site-packages/b/lib/one.py"
    words.place_reason(
        found, [["/home/a.py:3 in f: y = g(x)", library + ":7 in g: y = x.view(2, -1)"]]
    )
    assert found["file"] == library
    assert found["words"].endswith(
        "decided at one.py:7: `y = x.view(2, -1)`, called from a.py:3: `y = g(x)`"
    )


def test_equal_sizes_are_no_condition_of_the_programs():
    text = "0/0: y.size()[0] == x.size()[0]  # duck sizing added this equality because these variables had the same size 4"
    said = words.of_reason(text)
    assert said["row"] == "equal sizes" and "use_duck_shape" in said["help"][0]


RESUMED = """
@torch.compile(backend="eager")
def f(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2

result = [f(torch.ones(size)) for size in (3, 4)]
"""


@pytest.mark.skipif(not PINNED, reason="a resume function has the name of the pinned torch")
def test_a_recompile_of_a_resume_function_says_after_which_line():
    nodes = run(RESUMED, "a resume function")[1]
    document = nodes[0].run
    assert "f, resumed after line 5 compiled again" in summary.recompiles_text(document)
    assert ": f compiled again" in summary.recompiles_text(document)


def test_a_graph_break_has_depyfs_advice_beside_torchs_hints():
    torch._dynamo.reset()
    with depyf.capture() as found:
        torch.compile(lambda x: x + 1 if x.sum() > 0 else x, backend="eager")(torch.ones(3))
    (graph_break,) = found.functions[0].entries[0].breaks
    assert graph_break.advice[0].startswith("torch.where(")
    assert not set(graph_break.advice) & set(graph_break.hints)
    assert "NoneType: None" not in graph_break.text


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_list_of_an_object_of_the_programs_own_is_judged_by_the_methods_that_are_called():
    text = """
class Log:
    def __init__(self):
        self.items = []
    def push(self, x):
        self.items.append(x)
    def __len__(self):
        return len(self.items)
    def __getitem__(self, index):
        return self.items[index]

log = Log()

@torch.compile(backend="eager")
def f(x):
    log.push(x.sum())
    return x * len(log)

result = [f(torch.ones(3)) for _ in range(3)]
"""
    found = [one for node in run(text, "own list")[1] for one in node.reasons]
    assert found and all(one["row"] == "length of a list" for one in found)
    assert "pass len(log.items) as an argument" in found[0]["help"][0]
    every = text.replace("len(log)", "log[0]")
    found = [one for node in run(every, "own list read")[1] for one in node.reasons]
    assert found and found[0]["row"] == "growing list that is read"


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_function_that_is_none_at_another_call_is_named():
    text = """
@torch.compile(backend="eager")
def f(x, hook):
    return hook(x) if hook is not None else x + 1

result = [f(torch.ones(3), lambda x: x * 2), f(torch.ones(3), None)]
"""
    found = [one for node in run(text, "no function")[1] for one in node.reasons]
    assert [one["words"] for one in found] == ["`hook` was a function, is None"]
    assert found[0]["row"] == "none"


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_number_that_a_text_is_made_of_to_find_a_module_is_needed_by_python():
    text = """
experts = torch.nn.ModuleDict({"0": torch.nn.Linear(2, 2), "1": torch.nn.Linear(2, 2)})

@torch.compile(backend="eager")
def f(x):
    which = x.argmax().item()
    return experts[str(which)](x)

result = f(torch.ones(2)).detach()
"""
    found = met(run(text, "expert")[1], "item that decides")
    assert "line 7 needs that number" in found[0]["why"]


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_advice_names_no_value_on_the_stack():
    text = """
@torch.compile(backend="eager")
def f(scores, names):
    y = scores * 2
    order = sorted(range(len(names)), key=lambda i: float(y[i]))
    return [names[i] for i in order], y * 2

result = [f(torch.tensor(s), ["a", "b"])[1] for s in ([1.0, 3.0], [3.0, 1.0])]
"""
    nodes = run(text, "order")[1]
    found = [one for node in nodes if node.is_resume for one in node.reasons]
    assert found and all(one["row"] == "kept value" for one in found)
    assert not any("___stack" in help for one in found for help in one["help"])


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_setting_that_holds_from_the_second_value_on_does_not_save_the_first_recompile(tmp_path):
    torch._dynamo.reset()
    program = tmp_path / "program.py"
    program.write_text("import torch\n" + recompiles.BY_KEY["counter"].help[0].before)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(program))
    document = dict(summary.load(str(tmp_path / "dump")), program=str(program))
    (change,) = advise.changes(document)
    assert "allow_unspec_int_on_nn_module" in change.advice
    nodes = [node for node in overview.nodes_of([document]) if node.reasons]
    assert len(nodes) == 3
    assert change.seconds == pytest.approx(nodes[1].seconds + nodes[2].seconds)


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_kept_tensor_of_another_layout_is_not_advised_to_be_a_tensor():
    text = """
@torch.compile(backend="eager")
def f(x):
    y = x.T if x[0, 0] > 0 else x * 1
    torch._dynamo.graph_break()
    return y * 2

result = [f(torch.ones(3, 3) * sign) for sign in (1, -1)]
"""
    nodes = run(text, "layout")[1]
    found = [one for node in nodes if node.is_resume for one in node.reasons]
    assert all(one["row"] != "kept value" for one in found if one["kind"] != "value")


_RATE_INSIDE = """import torch

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)


@torch.compile(backend="eager")
def step(rate):
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()


for rate in (0.1, 0.05, 0.01):
    weight.grad = torch.ones(3)
    step(rate)
"""


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_learning_rate_that_the_program_overwrites_has_no_patch(tmp_path):
    torch._dynamo.reset()
    program = tmp_path / "program.py"
    program.write_text(_RATE_INSIDE)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(program))
    document = dict(summary.load(str(tmp_path / "dump")), program=str(program))
    found = [one for one in advise.changes(document) if "learning rate" in one.row]
    assert [one.row for one in found] == ["learning rate that is written"]
    assert found[0].advice.startswith("program.py:10 writes the learning rate as a number.")
    assert not found[0].patch


def test_a_patch_of_the_learning_rate_is_for_programs_that_write_none():
    for text, patched in (
        ("optimizer = SGD(weights, lr=0.1)\n", True),
        ('optimizer = SGD(weights, lr=0.1)\ngroup["lr"] *= 0.5\n', True),
        ('optimizer = SGD(weights, lr=0.1)\ngroup["lr"] = group["lr"] * 0.5\n', True),
        ('optimizer = SGD(weights, lr=0.1)\ngroup["lr"] = rate\n', False),
    ):
        changed = advise.patches._with_rate(text, compiling.places_of(text))
        assert ("lr=torch.tensor(0.1)" in (changed or "")) == patched, text


def test_no_tensor_is_advised_for_what_torch_takes_as_a_number_alone(tmp_path):
    program = tmp_path / "program.py"
    calls = (
        ("F.cross_entropy(x, y, label_smoothing=s)", "float of label smoothing"),
        ("F.cross_entropy(x, y, weight=w, label_smoothing=s)", "float of an operator"),
        ("F.cross_entropy(x, y, w, label_smoothing=s)", "float of an operator"),
        ("F.leaky_relu(x, s)", "float of an operator"),
        ("F.layer_norm(x, (3,), None, None, s)", "float of an operator"),
        ("torch.add(x, y, alpha=s)", "float of an operator"),
        ("x.clamp(max=s)", "float used as a constant"),
        ("own(x, p=s)", "float used as a constant"),
    )
    for call, row in calls:
        program.write_text("def own(x, p): pass\n\ndef f(x, y, s):\n    return %s\n" % call)
        said = words.of_reason("0/1: s == 0.5  # return %s  # %s:4 in f" % (call, program))
        words.describe_constant(said)
        assert said["row"] == row, call
        assert ("a tensor would break" in said["help"][0]) == (row.startswith("float of"))


_TRAP = """
import math
import torch

class Trap:
    def field(self, x, t):
        phase = math.cos(2.0 * math.pi * t)
        return x * torch.tensor([1.0 + 0.1 * phase, 0.5])

    def slope(self, x, t):
        return -self.field(x, t)

    def step(self, x, t, dt):
        k = self.slope(x, t)
        BODY
        return x + dt * self.slope(x + dt * k, t + 0.5 * dt), t + dt
"""


@pytest.mark.parametrize(
    "body, row, of_t, of_dt",
    [
        ("", "float in a function of math", ["t"], ["t"]),
        ("k = k * math.exp(-dt)", "float in a function of math", ["dt", "t"], ["dt", "t"]),
        ("k = k.clamp(max=dt)", "float in a function of math", ["t"], ["dt", "t"]),
        ("if math.cos(t) > 0: k = k * 2", "float in a function that decides", [], []),
        ("if t > 0: k = k * 2", "float in a function", [], []),
        ("k = k * round(t)", "float in a function", [], []),
        ("k = k * math.gamma(t)", "float in a function", [], []),
    ],
)
def test_what_a_program_does_with_a_number_decides_what_helps(tmp_path, body, row, of_t, of_dt):
    program = tmp_path / "program.py"
    program.write_text(_TRAP.replace("BODY", body))
    begins = 1 + _TRAP[: _TRAP.index("    def step")].count("\n")
    at = str(program), begins
    for double, dtype in ((False, ""), (True, ", dtype=torch.float64")):
        for name, wanted in (("t", of_t), ("dt", of_dt)):
            said = words.of_reason("0/2: %s == 0.5  # (_dynamo/output_graph.py:3 in remove)" % name)
            said["after"] = "0.75"
            known = words.Known(("t", "dt"), double, (), (), frozenset())
            words.describe_constant(said, place=at, known=known)
            text = said["help"][0]
            assert "clamp, pow" not in text and "an operator" not in text
            if wanted:
                assert said["row"] == row
                assert "math.cos" in text and "at program.py:7" in text and "torch.cos" in text
                for one in ("t", "dt"):
                    made = "pass torch.as_tensor(%s%s) in place of %s" % (one, dtype, one)
                    assert (made in text) == (one in wanted), text
            elif name == "t":
                assert said["row"] == row


@pytest.mark.parametrize(
    "body, used",
    [
        (
            "seen.append(x)\n    if len(seen) % 8 == 0:\n        print(sum(seen[-8:]))",
            {"grows", "shown"},
        ),
        ("seen.append(x)\n    log.info('%s', seen)", {"grows", "shown"}),
        ("seen.append(x)\n    return x - sum(seen[-8:])", {"grows", "part"}),
        ("seen.append(x)\n    return x - sum(seen[:8])", {"grows", "all"}),
        (
            "seen.append(x)\n    if len(seen) > 2:\n        x = x * 2\n    return x",
            {"grows", "length"},
        ),
        ("heapq.heappush(seen, 1.0)", {"grows"}),
        ("insort(seen, 1.0)\n    return x - seen[-1]", {"grows", "end"}),
        ("heapq.heappush([], seen)", {"all"}),
        ("if seen is not None:\n        seen.append(x)", {"grows"}),
        ("if isinstance(seen, list) and seen is not x:\n        seen.append(x)", {"grows"}),
        ("if seen == [x]:\n        seen.append(x)", {"grows", "all"}),
    ],
)
def test_what_of_a_growing_list_feeds_the_function(tmp_path, body, used):
    program = tmp_path / "program.py"
    program.write_text("def f(x):\n    %s\n" % body)
    assert uses.container_uses(str(program), 2, "seen") == used


@pytest.mark.parametrize(
    "body, appended",
    [
        ("seen.append(float(x.sum()))", True),
        ("n = x.sum().item()\n    self.seen.append(n)", True),
        ("rows = []\n    rows.append(float(x.sum()))\n    return x * rows[0]", False),
        ("seen.append(x.sum())", False),
    ],
)
def test_a_number_in_a_list_that_stays_is_told_apart(tmp_path, body, appended):
    program = tmp_path / "program.py"
    program.write_text("def f(self, x):\n    %s\n" % body)
    line = 3 if body.startswith("rows") else 2
    assert bool(uses.appended_at(str(program), line)) == appended


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
@pytest.mark.parametrize(
    "made, body, name, said",
    [
        ("itertools.count()", "next(calls)", "itertools.count", "the itertools.count `calls` was"),
        ("[]", "heapq.heappush(calls, 1.0)", "growing list", "had 0 elements"),
    ],
)
def test_what_a_call_advances_or_fills_is_to_be_outside(made, body, name, said):
    program = """
import heapq
import itertools

calls = %s

@torch.compile(backend="eager")
def f(x):
    %s
    return x * 2

result = [f(torch.ones(3)) for _ in range(4)]
"""
    nodes = run(program % (made, body), "advanced")[1]
    (reason,) = [one for one in nodes[1].reasons if one["row"] == name]
    assert said in reason["words"] and "outside of the compiled function" in reason["help"][0]


_METER = """
class Meter:
    def __init__(self):
        self.total, self.n, self.last = 0.0, 0, 0.0
        self.sums = torch.zeros(3)
        self.by_name = {"a": 0.0}

    def update(self, value):
        self.total += value

    def keep(self, value):
        self.last = value

meter = Meter()
CALLBACKS = [lambda x: meter.update(x.item())]
"""


@pytest.mark.parametrize(
    "body, updated",
    [
        ("meter.total += x.sum().item()", True),
        ("v = x.sum().item()\n    meter.n += int(v)", True),
        ("meter.total = 0.9 * meter.total + 0.1 * x.sum().item()", True),
        ("meter.by_name['a'] += x.sum().item()", True),
        ("meter.update(x.sum().item())", True),
        ("v = x.sum().item()\n    meter.update(v)", True),
        ("progress.refresh(x.sum().item())", False),
        ("meter.keep(x.sum().item())", False),
        ("meter.last = x.sum().item()", False),
        ("meter.sums += x.sum().item()", False),
        ("total = 0.0\n    total += x.sum().item()", False),
    ],
)
def test_a_number_that_updates_one_which_stays_is_told_apart(tmp_path, body, updated):
    program = tmp_path / "program.py"
    program.write_text(_METER + "def f(x):\n    %s\n" % body)
    line = _METER.count("\n") + (3 if body.startswith("total") else 2)
    assert bool(uses.updated_at(str(program), line)) == updated
    assert uses.updated_at(str(program), _METER.count("\n")) == 9  # by a lambda


def test_a_method_update_of_another_file_is_taken_for_one_that_keeps_the_number(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("from m import meter\ndef f(x):\n    meter.update(x.mean().item(), 1)\n")
    assert uses.updated_at(str(program), 3) == 3


@pytest.mark.parametrize(
    "loop, row",
    [
        ("for callback in CALLBACKS:\n        callback(x.mean())", "item that updates a number"),
        (
            "for _ in range(2):\n        x = x * x.mean().item()\n        meter.n += 1",
            "item beside a counter",
        ),
        ("meter.n += 1\n    x = x * x.mean().item()", "item"),
    ],
)
def test_the_setting_for_numbers_is_not_given_where_python_counts_in_a_loop(loop, row):
    compiled = '\n@torch.compile(backend="eager")\ndef f(x):\n    %s\n    return x * 2\n' % loop
    called = "\nresult = [f(torch.ones(3)) for _ in range(4)]\n"
    beside = """
@torch.compile(backend="eager")
def g(x):
    return x * x.sum().item()

result.append(g(torch.ones(3)))
"""
    nodes = run(_METER + compiled + called + beside, "metered")[1]
    found = {one["row"]: one for node in nodes for one in node.breaks}
    assert row in found
    if row != "item":
        assert "capture_scalar_outputs = True" not in " ".join(found[row]["help"])
        assert not any(found[row]["patches"])
        (text,) = [
            one for one, patch in zip(found["item"]["help"], found["item"]["patches"]) if patch
        ]
        assert text.startswith("First change metered.py:")
        assert "where Python updates a number that stays between calls" in text


_LOOPS = """
def several(x):
    for i in range(3):
        x = x + 1
        print(i)
    return x

def one(x):
    for i in range(3):
        x = several(x)
    return x
"""


def test_a_loop_whose_body_is_a_call_is_not_advised_to_be_one(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_LOOPS)
    text = "graph break in loop"
    for line, advised in ((5, True), (10, False)):
        said = words.of_break(
            {"reason": "print", "text": text, "location": "%s:%d" % (program, line)}
        )
        assert any("a separate function" in one for one in said["help"]) == advised


def test_the_loop_of_a_library_is_not_advised_to_be_left_out(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "def gated(x):\n    if x.norm() < 3:\n        return x\n    return x * 2\n"
        "def own(x):\n    for _ in range(3):\n        x = gated(x)\n    return x\n"
    )
    (tmp_path / "site-packages").mkdir()
    library = tmp_path / "site-packages" / "layers.py"
    library.write_text("def all(x, layers):\n    for one in layers:\n        x = one(x)\n")
    frame = '  File "%s", line %d, in %s\n'
    for outer, at, advised in ((program, 7, True), (library, 3, False)):
        stack = [frame % (outer, at, "outer"), frame % (program, 2, "gated")]
        said = words.of_break(
            {
                "reason": "Data-dependent branching",
                "text": "graph break in loop",
                "location": "%s:2" % program,
                "user_stack": stack,
            }
        )
        assert any("Leave the loop out" in one for one in said["help"]) == advised
        assert said["help"][0].startswith("torch.where(condition, a, b)")


def test_the_numbers_that_a_call_changes_are_named(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "class Model:\n    def __init__(self, n):\n        self.calls = 0\n"
        "        self.load = [0] * n\n        self.total = torch.zeros(3)\n"
        "    def forward(self, x):\n        self.calls += 1\n        self.total += x\n"
        "        rows = torch.where(x > 0)[0]\n        self.load[0] += rows.numel()\n"
    )
    assert uses.counted_at(str(program), 9) == [7, 10]


def run_of_program(text, path):
    """The document of a program that ran in this process, see `evenly_timed`; from a file, since
    torch up to 2.12 wraps a function that has no source.
    """
    path.write_text(text)
    linecache.checkcache(str(path))
    torch._dynamo.reset()
    with torch._dynamo.config.patch(), depyf.capture() as found:
        exec(compile(text, str(path), "exec"), {"torch": torch, "__name__": "program"})
    return evenly_timed(dict(found.to_json(), program=str(path)))


@pytest.mark.skipif(TORCH < (2, 13), reason="the guards are of torch 2.13")
def test_what_torch_gave_up_costs_the_compiles_for_the_reason_that_is_named(tmp_path):
    text = """
seen = []

def f(x):
    y = x.sin()
    torch._dynamo.graph_break()
    seen.append(y)
    return y + len(seen)

step = torch.compile(f, backend="eager")
for _ in range(torch._dynamo.config.recompile_limit + 2):
    step(torch.ones(3))
"""
    document = run_of_program(text, tmp_path / "program.py")
    (change,) = [one for one in advise.changes(document) if one.kind == "recompile"]
    nodes = overview.nodes_of([document])
    of_it = [one for one in nodes if one.is_resume and one.reasons and not one.is_limit]
    assert len(of_it) == torch._dynamo.config.recompile_limit - 1
    assert change.seconds == pytest.approx(sum(one.seconds for one in of_it))
    assert change.seconds > 0.005 and advise.text(document).startswith(
        "1. %.2f s spent" % change.seconds
    )
    assert change.gave_up and "length of a list" in change.row


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_a_function_that_is_compiled_because_of_a_break_takes_no_place_of_its_own(tmp_path):
    text = """
def scaled(x):
    return x * x.size(0)

def parts(x):
    total = 0.0
    for n in (2, 3, 4):
        total = total + scaled(x[:n]).sum()
        if total.item() > 1e9:
            break
    return total

@torch.compile(backend="eager")
def f(x):
    return parts(x) + 1

f(torch.ones(5))
"""
    document = run_of_program(text, tmp_path / "program.py")
    found = advise.changes(document)
    line = 1 + text[: text.index("def scaled")].count("\n")
    assert line not in [one.line for one in found], advise.text(document)
    assert [one.line for one in found[0].gone] == [line]
    assert "also removes: " in advise.text(document)


_DRAFTS = """
import random

@torch.compile(backend="eager")
def verified(x, ids):
    kept = 0
    for j in range(2):
        at = ids[j]
        share = x[j, at]
        if random.random() < (share / 9).item():
            kept += 1
        else:
            return x * 2 + kept
    return x * 3

@torch.compile(backend="eager")
def mean(x):
    y = x.mean().item()
    return x * y

@torch.compile(backend="eager")
def top(x):
    y = x.max().item()
    return x * 2 if y > 2 else x

for f in (mean, top):
    f(torch.ones(3))
verified(torch.ones(3, 4), torch.tensor([0, 2]))
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_no_setting_for_numbers_is_advised_where_one_is_an_index_or_ends_the_loop(tmp_path):
    document = run_of_program(_DRAFTS, tmp_path / "drafts.py")
    found = advise.Advice(document).listed()
    setting = "capture_scalar_outputs = True"
    line = 1 + _DRAFTS[: _DRAFTS.index("share = x")].count("\n")
    at_index = [one for each in found for one in (each,) + each.also if one.line == line]
    assert at_index and not any(setting in one.advice or one.patch for one in at_index)
    assert any("Leave the loop out" in one.advice for one in at_index)


#: `%(limit)s` and `%(size)s` differ from call to call, and the loss breaks the graph
_LOSS = """
torch._dynamo.config.capture_dynamic_output_shape_ops = %(captured)s

def loss(x, limit, mask):
    y = x.clamp(-limit, limit)
    kept = (y * y)[mask]
%(branch)s
    return kept.mean()

@torch.compile(backend="aot_eager")
def step(x, limit, mask):
    return loss(x * 2, limit, mask) + 1

for n in range(5):
    size = %(size)s
    step(torch.ones(size), %(limit)s, torch.arange(size) > n)
"""
_BRANCH_OF_LOSS = "    if len(kept) == 0:\n        return y.sum() * 0.0"


def _loss(captured=False, limit="1.0 + n", size="7 + n % 3"):
    branch = "" if captured else _BRANCH_OF_LOSS
    return _LOSS % dict(captured=captured, branch=branch, limit=limit, size=size)


def compiles_saved(change, nodes):
    """How many compiles the seconds of a change are, in a document of `evenly_timed`."""
    assert {one.seconds for one in nodes} == {1.0}
    return sum(change.each.values())


def compiles_of(document):
    return [one for one in overview.nodes_of([document]) if not one.is_limit]


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_a_break_does_not_save_recompiles_for_what_the_call_passes(tmp_path):
    before = run_of_program(_loss(), tmp_path / "before.py")
    made = compiles_of(before)
    found = {one.row: one for one in advise.changes(before)}
    of_break = found["dynamic shape that decides"]
    of_limit = found["float used as a constant"]
    text = advise.text(before)
    assert "torch.tensor(limit)" in of_limit.advice
    assert "The caller passes it on: change it where `step` is called." in of_limit.advice
    # all recompiles of the loss have it as their cause, and the break takes none of them away
    again = {one.key for one in made if one.title == "loss" and one.reasons and not one.is_resume}
    assert len(again) == 4 and again == set(of_limit.each)
    assert not any("limit" in one.words for one in of_break.gone), text
    # what the break is said to save, and what following it saves
    followed = len(made) - len(compiles_of(run_of_program(_loss(True), tmp_path / "uncut.py")))
    apart = run_of_program(_loss(limit="torch.tensor(1.0 + n)"), tmp_path / "tensor.py")
    assert 0.5 <= compiles_saved(of_break, made) / followed <= 2
    left = [one["name"] for node in compiles_of(apart) for one in node.reasons]
    assert "limit" not in left
    assert 0.5 <= compiles_saved(of_limit, made) / (len(made) - len(compiles_of(apart))) <= 2


_COOLED = """
import math

class Config:
    def __init__(self):
        self.hot, self.cold = 2.0, 0.25

def heat_at(cfg, fraction):
    return cfg.hot * math.exp(fraction * math.log(cfg.cold / cfg.hot))

@torch.compile(backend="aot_eager")
def step(x, cfg, fraction):
    heat = heat_at(cfg, fraction)
    return x / heat + torch.tensor([heat, 1.0 - heat, 0.5])

cfg = Config()
result = [step(torch.ones(3), cfg, at / 8) for at in range(5)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_numbers_of_a_configuration_stay_numbers_beside_one_that_changes():
    wanted, nodes = run(_COOLED, "cooled")
    said = [one for node in nodes for one in node.reasons[:1]]
    assert len(said) == 4 and {one["row"] for one in said} == {"float in a function of math"}
    assert len({one["help"][0] for one in said}) == 1  # one variable, one change
    assert "math.exp at cooled.py:9 takes Python numbers alone" in said[0]["help"][0]
    assert "and pass torch.as_tensor(fraction) in place of fraction: one" in said[0]["help"][0]
    text = _COOLED.replace("math.exp", "torch.exp")
    result, after = run(text.replace("cfg, at / 8", "cfg, torch.as_tensor(at / 8)"), "cool")
    assert len(after) == 1 and not after[0].breaks
    torch.testing.assert_close(result, wanted)


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_patch_writes_torchs_function_and_the_tensor_that_it_takes(tmp_path):
    (change,) = advise.changes(run_of_program(_COOLED, tmp_path / "cooled.py"))
    assert (
        "\n+    return cfg.hot * torch.exp(fraction * math.log(cfg.cold / cfg.hot))" in change.patch
    )
    call = "step(torch.ones(3), cfg, torch.as_tensor(at / 8))"
    assert "\n+result = [%s for at in range(5)]" % call in change.patch
    # a call whose argument is not there to be seen has no patch
    text = _COOLED.replace("(torch.ones(3), cfg, at / 8)", "(*(torch.ones(3), cfg, at / 8))")
    (change,) = advise.changes(run_of_program(text, tmp_path / "starred.py"))
    assert change.advice and not change.patch


_RING = """import torch

class Ring(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.data = torch.zeros(64)
        self.at = 0

    def forward(self, x):
        places = (torch.arange(x.shape[0]) + self.at) % self.data.shape[0]
        self.data[places] = x
        self.at = (self.at + x.shape[0]) % self.data.shape[0]
        return self.data * 2

ring = torch.compile(Ring(), backend="eager")
for size in (20, 15, 10, 20, 10, 15):
    ring(torch.ones(size))
"""


@pytest.mark.skipif(not PINNED, reason="the guards are of torch 2.13")
def test_a_patch_has_each_part_of_what_helps_together(tmp_path):
    before = run_of_program(_RING, tmp_path / "before.py")
    change = advise.changes(before)[0]
    assert "And for `x`: torch.compile(..., dynamic=True)" in change.advice
    assert "\n+torch._dynamo.config.allow_unspec_int_on_nn_module = True" in change.patch
    assert '\n+ring = torch.compile(Ring(), backend="eager", dynamic=True)' in change.patch
    after = _RING.replace('"eager"', '"eager", dynamic=True')
    setting = "import torch\n\ntorch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
    followed = run_of_program(after.replace("import torch\n", setting), tmp_path / "after.py")
    assert len(compiles_of(before)) >= 5 and len(compiles_of(followed)) <= 2


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_a_list_that_grows_after_a_break_is_a_change_of_its_own(tmp_path):
    text = """
seen = []

@torch.compile(backend="eager")
def step(x):
    y = x.sin()
    torch._dynamo.graph_break()
    seen.append(y.sum())
    return y + 1

for _ in range(5):
    step(torch.ones(3))
"""
    before = run_of_program(text, tmp_path / "before.py")
    made = compiles_of(before)
    found = {one.kind: one for one in advise.changes(before)}
    assert found["recompile"].row == "growing list" and len(found["recompile"].each) == 4
    uncut = text.replace("    torch._dynamo.graph_break()\n", "")
    followed = len(made) - len(compiles_of(run_of_program(uncut, tmp_path / "uncut.py")))
    assert followed == 1 and compiles_saved(found["break"], made) <= 2


COMPUTED_FLOATS = """
import torch

class Norm:
    def __init__(self):
        self.count = 0.5

    def update(self):
        self.count += 1

norm = Norm()

@torch.compile(backend="aot_eager")
def counted(x):
    norm.update()
    return x / norm.count

@torch.compile(backend="aot_eager")
def clipped(x, clip):
    return x.clamp(1 - clip, 1 + clip)

result = [counted(torch.ones(3)) for _ in range(4)]
result += [clipped(torch.arange(3.0), clip) for clip in CLIPS]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_what_is_computed_from_a_float_is_not_said_to_be_decided_on(tmp_path):
    """torch asks for `(1.0 + clip) == 1.2` where it could not make the float a tensor."""
    found = {}
    for name, clips in (("numbers", "(0.2, 0.15, 0.1)"), ("tensors", "map(torch.tensor, (0.2,))")):
        torch._dynamo.reset()
        program = tmp_path / (name + ".py")
        program.write_text(COMPUTED_FLOATS.replace("CLIPS", clips))
        with depyf.prepare_debug(str(tmp_path / name)):
            runpy.run_path(str(program))
        changes = advise.changes(summary.load(str(tmp_path / name)))
        found[name] = {one.function: one for one in changes}
        assert len(changes) == len(found[name])  # each cause is a change of its own
    rows = sorted(one.row for one in found["numbers"].values())
    assert rows == ["float that is set", "float used as a constant"]
    advised = [one.advice for one in found["numbers"].values()]
    assert any("Pass torch.tensor(clip)" in one for one in advised)
    assert any("Make norm.count a tensor where it is first set" in one for one in advised)
    assert not any("decides on the number" in one for one in advised)
    assert [one.row for one in found["tensors"].values()] == ["float that is set"]


@pytest.mark.skipif(not PINNED, reason="the pairs are of torch 2.13")
def test_a_loop_that_a_tensor_ends_is_left_out_of_the_compiled_function():
    (help,) = breaks.LEAVES.help
    wanted, nodes = before_of(breaks.LEAVES, help)
    given = [one["help"] for one in met(nodes, "item that decides")]
    assert given and all(one[-1] == help.text for one in given)
    assert breaks.LOOP.help[0].text not in given[0]
    result, after = run(help.after, "left after")
    torch.testing.assert_close(result, wanted)
    assert not [one for node in after for one in node.breaks] and len(after) == 2
    # a function of the body, which the loop calls, is compiled by itself, and the loop is not
    split = """
def body(x):
    x = x * 2
    if x.sum().item() > 20:
        return x, True
    return x, False

@torch.compile(backend="eager")
def f(x):
    for _ in range(5):
        x, stop = body(x)
        if stop:
            break
    return x + 1

result = f(torch.ones(3))
"""
    result, after = run(split, "left split")
    torch.testing.assert_close(result, wanted)
    assert [one for node in after for one in node.breaks]
    (failed,) = [node.failure for node in after if node.failure]
    assert failed["help"][-1] == help.text and breaks.LOOP.help[0].text not in failed["help"]
    assert "body" in [node.title for node in after if not node.failure]


_AVERAGED = """
@torch.compile(backend="aot_eager")
def average(x, decay):
    return %s

@torch.compile(backend="aot_eager")
def step(x):
    return x * 2

for size in (3, 4, 5, 6):
    decay = size / 10
    average(torch.ones(3), decay)
    step(torch.ones(size))
%s
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the guards are of torch 2.13")
@pytest.mark.parametrize(
    "used, also, told",
    [
        ("x * decay", "", False),  # torch makes it symbolic
        ("x.clamp(max=decay)", "", False),  # of another function
        ("x.clamp(max=decay)", "average(torch.ones(4), decay)", True),
    ],
)
def test_a_float_comes_first_only_where_sizes_gain_nothing_without(tmp_path, used, also, told):
    document = run_of_program(_AVERAGED % (used, also), tmp_path / "program.py")
    text = advise.text(document)
    assert "dynamic=True) compiles once for all sizes" in text
    assert ("first: change the float at " in text) == told


@pytest.mark.skipif(TORCH < (2, 13), reason="the guards are of torch 2.13")
def test_what_comes_first_stands_above_and_a_patch_waits_for_it(tmp_path):
    program = _AVERAGED % ("x.clamp(max=decay)", "average(torch.ones(4), decay)")
    listed = advise.changes(run_of_program(program, tmp_path / "program.py"), 9)
    (held,) = [one for one in listed if one.before]
    (held_by,) = held.before
    assert "dynamic=True)" in held.advice and held_by.row.startswith("float")
    for changes in (listed, listed[::-1]):  # whichever saves more
        found = order.after_those_before(changes)
        causes = [id(one.cause) for one in found]
        assert causes.index(id(held_by.cause)) < causes.index(id(held.cause))
        assert sorted(causes) == sorted(id(one.cause) for one in listed)
        every = {key: seconds for one in listed for key, seconds in one.each.items()}
        assert sum(one.seconds for one in found) == pytest.approx(sum(every.values()))
    assert wording.patch_now(held, [held_by]) == held.patch != ""
    assert not wording.patch_now(held, [one for one in listed if one.row != held_by.row])


_FLOORED = """
log = []

def floor(p):
    return p[p > p.mean()].mean()

def gate(x):
    return x - floor(x * x)

def step(x):
    y = gate(x + 1)
%s    return y * 2

f = torch.compile(step, backend="eager")
f(torch.randn(8))
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
@pytest.mark.parametrize("later", ["", "    log.append(y.mean().item())\n"])
def test_a_size_in_the_graph_has_a_figure_where_nothing_breaks_later(tmp_path, later):
    document = run_of_program(_FLOORED % later, tmp_path / "program.py")
    text = advise.text(document)
    said = [one for one in text.splitlines() if re.match(r"\d\. .*program\.py:5$", one)]
    assert len(said) == 1 and "capture_dynamic_output_shape_ops = True" in text
    # each function around the line is traced up to the later break, too
    assert ("may save or cost compile time" in said[0]) == bool(later)
    assert ("then the graph breaks at %s:12:" % (tmp_path / "program.py") in text) == bool(later)
    assert ("up to" in said[0]) == (not later)


_TAGGER = """
import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = SET

def kept(x, at):
    where = torch.nonzero(x[:, at] > 0)
    return x[where.squeeze(1)].sum(0)

def strong(x):
    return x[x > 0.3].mean()

def score(x, at):
    return kept(x, at) * strong(x + at)

class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        y = torch.tanh(self.layers[0](x))
        first = score(y, 0)
        y = torch.tanh(self.layers[1](y))
        second = score(y, 1)
        y = torch.tanh(self.layers[2](y))
        return first + second + score(y, 2)

torch.manual_seed(0)
tagger = torch.compile(Tagger(), backend="aot_eager")
with torch.no_grad():
    result = [tagger(torch.randn(6, 4)) for _ in range(3)]
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_a_setting_that_removes_the_later_break_too_has_a_figure(tmp_path):
    before = run_of_program(_TAGGER.replace("SET", "False"), tmp_path / "before.py")
    after = run_of_program(_TAGGER.replace("SET", "True"), tmp_path / "after.py")
    made = compiles_of(before)
    followed = len(made) - len(compiles_of(after))
    assert followed > 10
    (change,) = advise.changes(before)  # what calls give in the compiled code is no other change
    assert len(change.also) == 1 and not change.unsure
    assert 0.5 <= compiles_saved(change, made) / followed <= 2
    text = advise.text(before)
    assert "may save or cost" not in text and "no advice that was tested" not in text
    assert "2 would not be needed without a graph break" in text


_STACKED = """
import torch

class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = torch.roll(self.linear(x), self.index, 0)
        BREAK
        return x + y

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(at) for at in range(10))
        self.first, self.second, self.third = list(self.layers)[:3]

    def forward(self, x):
        BODY
        return x

net = torch.compile(Net(), backend="aot_eager")
with torch.no_grad():
    result = [net(torch.ones(4, 8)) for _ in range(2)]
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
@pytest.mark.parametrize(
    "body, stopped",
    [
        ("for layer in self.layers: x = layer(x)", True),
        ("x = self.first(x); x = self.second(x)\n        x = self.third(x)", False),
    ],
)
def test_compiles_for_each_layer_go_away_with_the_break_in_it(tmp_path, body, stopped):
    text = _STACKED.replace("BODY", body)
    before = run_of_program(text.replace("BREAK", "torch._dynamo.graph_break()"), tmp_path / "a.py")
    after = compiles_of(run_of_program(text.replace("BREAK", "pass"), tmp_path / "b.py"))
    made = compiles_of(before)
    assert len(after) == 1
    (change,) = advise.changes(before)
    assert 0.5 <= compiles_saved(change, made) / (len(made) - 1) <= 2
    told = advise.text(before)
    assert "also removes: " in told and "no advice that was tested:" not in told
    # the model is compiled already
    assert "compile the code that calls all of them" not in told
    assert ("torch stopped compiling the function after 8 compiles" in told) == stopped


_EXPERTS = """
import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = SET

class Expert(torch.nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.down = torch.nn.Linear(8, rank, bias=False)
        self.up = torch.nn.Linear(rank, 8, bias=False)
        self.calls = 0

    def forward(self, x):
        self.calls += COUNTED
        return self.up(self.down(x)) * 2

class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList(Expert(2 + at) for at in range(4))

    def forward(self, x):
        out, chosen = torch.zeros_like(x), x[:, 0].long().abs() % 4
        for at, expert in enumerate(self.experts):
            rows = torch.where(chosen == at)[0]
            SKIP
            out = out.index_add(0, rows, expert(x[rows]) * x[rows, :1])
        return out

torch.manual_seed(0)
model = torch.compile(Experts(), backend="aot_eager")
with torch.no_grad():
    result = [model(torch.randn(16, 8) * 4) for _ in range(3)]
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_sizes_of_each_of_several_experts_go_away_with_the_break_around_them(tmp_path):
    text = _EXPERTS.replace("SKIP", "if rows.numel() == 0: continue").replace("SET", "False")
    before = run_of_program(text.replace("COUNTED", "0"), tmp_path / "before.py")
    (change,) = advise.changes(before)
    assert change.row == "dynamic shape that decides" and change.gone
    after = _EXPERTS.replace("SKIP", "").replace("SET", "True").replace("COUNTED", "0")
    left = compiles_of(run_of_program(after, tmp_path / "after.py"))
    made = compiles_of(before)
    assert 0.5 <= compiles_saved(change, made) / (len(made) - len(left)) <= 2
    # what each call changes stays a reason
    counted = run_of_program(text.replace("COUNTED", "1"), tmp_path / "counted.py")
    assert any("self.calls" in one.words for one in advise.changes(counted))


_BROKEN_LIBRARY = """
class Block(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        torch._dynamo.graph_break()
        return x.relu()
"""


@pytest.mark.skipif(not PINNED, reason="the frames are those of torch 2.13")
@pytest.mark.parametrize(
    "program, where",
    (
        ("call = torch.compile(Block(), backend='eager')\ncall(x)\n", None),
        (
            "block = Block()\nblock.compile(backend='eager')\ndef run():\n    block(x)\nrun()\n",
            None,
        ),
        (
            "def inner(x):\n    return Block()(x)\n"
            "@torch.compile(backend='eager')\ndef outer(x):\n    return inner(x * 2)\nouter(x)\n",
            5,
        ),
        (
            "block = Block()\n@torch.compile(backend='eager')\ndef outer(x):\n"
            "    y = x * 2\n    print()\n    return block(y)\nouter(x)\n",
            9,
        ),
    ),
)
def test_only_a_call_in_compiled_code_is_to_be_left_out_of_it(
    tmp_path, monkeypatch, program, where
):
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "broken_library.py").write_text("import torch\n" + _BROKEN_LIBRARY)
    monkeypatch.syspath_prepend(str(library))
    monkeypatch.delitem(sys.modules, "broken_library", raising=False)
    path = tmp_path / "program.py"
    path.write_text("import torch\nfrom broken_library import Block\nx = torch.ones(3)\n" + program)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(path))
    text = summary.breaks_text(summary.load(str(tmp_path / "dump")))
    assert "broken_library.py:6" in text
    told = re.findall(r"leave the call at (\S+) out", text)
    assert told == ([] if where is None else ["program.py:%d" % where] * len(told))
    assert bool(told) is (where is not None)
    (page,) = (tmp_path / "dump").glob("README.md")
    assert ("out of the compiled" in page.read_text()) <= (where is not None)


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
@pytest.mark.parametrize(
    "side, begin",
    [("x.shape[0]", "If the result of the decision is not a tensor"), ("x.mean()", "Decide with")],
)
def test_a_size_is_not_advised_to_be_decided_with_a_tensor(tmp_path, side, begin):
    text = """
@torch.compile(backend="eager")
def f(x):
    count = x.max().item()
    if count < 3:
        count = %s
    return x * count

f(torch.ones(3))
"""
    document = run_of_program(text % side, tmp_path / "decided.py")
    advised = {one.row: one.advice for one in advise.changes(document)}
    assert advised["item that decides"].startswith(begin)


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_a_function_that_a_loop_calls_is_not_advised_to_be_one(tmp_path):
    text = """
class Layer(torch.nn.Module):
    def forward(self, x):
        count = int(x.max())
        if count < x.shape[0]:
            count = x.shape[0]
        return x * count

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

torch.compile(Net(), backend="eager")(torch.ones(3))
"""
    (change,) = advise.changes(run_of_program(text, tmp_path / "layers.py"))
    assert change.advice.startswith("If the result of the decision is not a tensor, return")


_BROKEN_TWICE = """
def scaled(x):
    MESSAGE
    m = x.mean()
    if m > 10:
        x = x / 2
    return x - m

def whole(x):
    y = scaled(x)
    return (y @ y.T).relu()

f = torch.compile(whole, backend="eager")
for n in (4, 6):
    f(torch.ones(n, 8))
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_a_recompile_of_a_rest_stays_where_what_is_called_breaks_at_another_line(tmp_path):
    text = _BROKEN_TWICE.replace("MESSAGE", "print('scaled', x.shape)")
    told = advise.text(run_of_program(text, tmp_path / "a.py"), most=9)
    rest = r"y\.size\(0\) was 4, is 6\b"
    listed = r"(?m)^   (?:also \S+  )?" + rest
    assert re.search(listed, told) and "also removes" not in told, told
    # the other break is one change, which removes it
    text = _BROKEN_TWICE.replace("MESSAGE", "")
    after = advise.text(run_of_program(text, tmp_path / "b.py"), most=9)
    assert re.search(r"(?m)^   also removes: \S+  " + rest, after), after


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_what_runs_uncompiled_is_the_rest_of_a_function_where_only_that_does(tmp_path):
    text = """
def f(x):
    print("begin", x)
    for _ in range(3):
        x = x * 2
        if x.sum() > 1e9:
            break
    return x

torch.compile(f, backend="eager")(torch.ones(3))
"""
    told = advise.text(run_of_program(text, tmp_path / "a.py"))
    line = 1 + (tmp_path / "a.py").read_text().partition("print(")[0].count("\n")
    assert "The rest of f after line %d runs uncompiled at each call because of it" % line in told
    assert " f runs uncompiled" not in told


_COUNTS_AND_DECIDES = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x, n):
        for i in range(n % 3):
            x = x + i
        self.steps += 1
        return x * self.steps

run = torch.compile(Net(), backend="eager")
for n in (2, 3, 4, 5, 6, 7):
    run(torch.ones(3), n)
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the compiles are of torch 2.13")
def test_a_compile_that_a_condition_asks_for_is_told_of_no_other_change(tmp_path):
    told = advise.text(run_of_program(_COUNTS_AND_DECIDES, tmp_path / "a.py"), most=9)
    steps = [one for one in re.split(r"(?m)^(?=\d+\. )", told) if "integer attributes" in one]
    assert "self.steps was 1, is 2; beside it, n % 3 was 0, is 1" in steps[0], told
    (counted,) = re.findall(r"of the 6 compiles, (\d+) are because", steps[0])
    setting = "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
    after = run(setting + _COUNTS_AND_DECIDES, "counts and decides")[1]
    assert len(after) == 6 - int(counted)


_OTHER_TOO = """
@torch.compile(backend="eager")
def f(t, x, extra):
    x = x * t
    for name in extra:
        x = x + extra[name]
    return x

for k in range(2):
    f(k + 2, torch.ones(SIZE), {name: torch.ones(1) for name in NAMES})
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the compiles are of torch 2.13")
@pytest.mark.parametrize(
    "size, names, told",
    [
        ("1 + k", "'ab'", "beside it, x.size(0) was 1, is another"),
        ("4", "'ab'[: k + 1]", "beside it, len(extra) was 1, is 2"),
    ],
)
def test_a_number_whose_compile_something_else_asks_for_saves_none(tmp_path, size, names, told):
    text = _OTHER_TOO.replace("SIZE", size).replace("NAMES", names)
    found = advise.text(run_of_program(text, tmp_path / "a.py"))
    assert told in found, found
    assert "because of this" not in found, found


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
@pytest.mark.parametrize(
    "change, name",
    [
        ("self.rounds += 1", "self.rounds"),
        (
            "self.rounds += 1\n        if self.rounds > 2:\n            x = x * 2",
            "self.rounds",
        ),
        ("self.seen.append(1.5)", "self.seen"),
        ("losses.append(x)", "losses"),
        ("global rounds; rounds += 1", "rounds"),
        ("own = []; own.append(1.5)", ""),
        ("rounds = 1; rounds += 1", ""),
    ],
)
def test_a_break_before_a_rest_that_only_counts_has_no_figure(tmp_path, change, name):
    text = """
losses, rounds = [], 0

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rounds = 0
        self.seen = []

    def forward(self, x):
        x = x * 2
        print("of", x.shape)
        CHANGE
        return x

run = torch.compile(Net(), backend="eager")
for _ in range(4):
    run(torch.ones(3))
"""
    told = advise.text(run_of_program(text.replace("CHANGE", change), tmp_path / "a.py"))
    behind = "it changes %s, so without the break torch may compile all" % name
    assert bool(re.search(r"(?m)^1\. no figure  \S*a\.py", told)) == bool(name), told
    assert (behind in told) == bool(name), told


#: two functions with a torch.compile of their own, which share a break
_SHARING = """
def shared(x):
    print("of", x.shape)
    return x.sin()

@torch.compile(backend="eager")
def first(x):
    return shared(x) + 1

@torch.compile(backend="eager")
def second(x, n):
    return shared(x) * n

"""


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
def test_functions_that_share_compiles_are_given_dynamic_true_together(tmp_path):
    text = (
        _SHARING
        + """for n in (2, 3):
    first(torch.ones(4))
    second(torch.ones(4), n)
"""
    )
    told = advise.text(run_of_program(text, tmp_path / "a.py"))
    line = text[: text.index("def first")].count("\n") + 1
    form = r"not in the patch: give the torch\.compile of first dynamic=True, too: \S*a\.py:(\d+)"
    assert [int(one) for one in re.findall(form, told)] == [line - 1], told
    given = '@torch.compile(backend="eager", dynamic=True)\ndef '
    plain = given.replace(", dynamic=True", "")
    compiled = [
        len(
            run(
                text.replace(plain + "second", given + "second").replace(
                    plain + name, given + name
                ),
                name,
            )[1]
        )
        for name in ("second", "first")
    ]
    before = len(run(text, "shared")[1])
    assert compiled[0] >= before > compiled[1]


@pytest.mark.skipif(TORCH < (2, 13), reason="the breaks are of torch 2.13")
@pytest.mark.parametrize(
    "grad, shares", [("torch.enable_grad()", True), ("torch.no_grad()", False)]
)
def test_functions_that_have_compiles_of_their_own_need_no_dynamic_true(grad, shares, tmp_path):
    text = (
        _SHARING
        + """for n in (2, 3):
    first(torch.ones(4))
    with %s:
        second(torch.ones(4), n)
"""
    )
    told = advise.text(run_of_program(text % grad, tmp_path / "a.py"))
    assert ("not in the patch: give the torch.compile of first" in told) == shares, told


_DRAWN_TO_DECIDE = """
import random

class Coin:
    def __init__(self):
        self.source = random.Random(1)

    def toss(self):
        return self.source.uniform(0, 1)

@torch.compile(backend="eager")
def of_object(x, generator):
    if generator.random() < 0.5:
        return x + 1
    return x * 2

@torch.compile(backend="eager")
def in_method(x, coin):
    if coin.toss() < 0.5:
        return x + 1
    return x * 2

@torch.compile(backend="eager")
def of_tensor(x):
    scaled = x * random.uniform(0, 1)
    if scaled.sum() < 9:
        return x + 1
    return x * 2

coin, generator, x = Coin(), random.Random(1), torch.full((1,), 3.0)
result = [(of_object(x, generator), in_method(x, coin), of_tensor(x)) for _ in range(9)]
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_branch_on_a_drawn_number_is_said_to_be_so_where_no_tensor_decides():
    nodes = run(_DRAWN_TO_DECIDE, "decide")[1]
    said = {one["line"]: one for node in nodes for one in node.breaks}
    assert {line: one["row"] for line, one in said.items()} == {
        13: "branch on a drawn number",
        19: "branch on a drawn number",
        26: "branch",
    }
    assert "line 13 draws" in said[13]["why"] and "line 9 draws" in said[19]["why"]
    assert not any("torch.where" in text for text in said[13]["help"] + said[19]["help"])


@pytest.mark.skipif(not PINNED, reason="the fault is of the pinned torch")
def test_that_an_object_draws_the_same_number_again_is_told_where_it_does(tmp_path):
    document = run_of_program(_DRAWN_TO_DECIDE, tmp_path / "decide.py")
    (told,) = [one for one in advise.text(document).splitlines() if "results differ" in one]
    named = re.search(r"torch\.compile: (.*) gives the same number at each call", told).group(1)
    drawn = re.findall(r"[\w.]+\.(?:random|uniform)\b|:\d+", named)
    assert drawn == ["self.source.uniform", "generator.random", ":9", ":13"]
    scopes = [{"torch": torch}, {"torch": torch}]
    with torch.compiler.set_stance("force_eager"):
        exec(_DRAWN_TO_DECIDE, scopes[0])
    torch._dynamo.reset()
    exec(_DRAWN_TO_DECIDE, scopes[1])
    eager, compiled = ([[float(one) for one in row] for row in it["result"]] for it in scopes)
    for place in (0, 1):
        assert len({row[place] for row in compiled}) == 1 < len({row[place] for row in eager})


_TIMED = """
import contextlib
import time
times = []

@contextlib.contextmanager
def timer():
    begin = time.perf_counter()
    yield
    times.append(time.perf_counter() - begin)

@torch.compile(backend="eager")
def f(x):
    with timer():
        y = x * 2
        if y.sum().item() > 3:
            y = y + 1
    return y.sum().item()

result = f(torch.ones(3))
"""


@pytest.mark.skipif(not PINNED, reason="torch's words are those of the pinned torch")
def test_a_block_that_goes_with_its_clock_keeps_nothing_uncompiled(tmp_path):
    text = advise.text(run_of_program(_TIMED, tmp_path / "timed.py"))
    assert "reads a clock" in text and "the next break there" not in text, text
    after = _TIMED.replace("with timer():", "if True:")
    run_after = run_of_program(after, tmp_path / "after.py")
    assert not any(one.failure for one in overview.nodes_of([run_after]))
    printing = _TIMED.replace("begin = time.perf_counter()", "begin = print('begins') or 0")
    printing = printing.replace("time.perf_counter() - begin", "begin")
    told = advise.text(run_of_program(printing, tmp_path / "printing.py"))
    assert "reads a clock" not in told


_COUNTED_BY = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return x * self.steps

model = Model()
HOW
for _ in range(4):
    run(torch.ones(3))
"""
_BY_GLOBAL = '@torch.compile(backend="eager")\ndef run(x):\n    return model(x)\n'
_BY_ITSELF = 'run = torch.compile(model, backend="eager")\n'
_OF_INTEGERS = "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"


@pytest.mark.skipif(not PINNED, reason="the guards are of torch 2.13")
@pytest.mark.parametrize("how, helps", [(_BY_GLOBAL, False), (_BY_ITSELF, True)])
def test_a_setting_is_advised_only_where_torch_asks_for_it(tmp_path, how, helps):
    text = _COUNTED_BY.replace("HOW\n", how)
    run = run_of_program(text, tmp_path / "program.py")
    (change,) = advise.changes(run)
    assert ("allow_unspec_int_on_nn_module" in change.advice + change.patch) is helps
    after = text.replace("import torch\n", "import torch\n" + _OF_INTEGERS)
    followed = run_of_program(after, tmp_path / "after.py")
    assert (len(compiles_of(followed)) < len(compiles_of(run))) is helps
    assert _OF_INTEGERS.strip() not in advise.text(followed, most=9)


@pytest.mark.skipif(not PINNED, reason="the guards are of torch 2.13")
def test_dynamic_that_is_false_is_changed_by_a_patch(tmp_path):
    text = (
        "import torch\n\n@torch.compile(backend='eager', dynamic=False)\ndef f(x):\n"
        "    return x * 2\n\nfor n in (3, 4, 5):\n    f(torch.ones(n))\n"
    )
    (change,) = advise.changes(run_of_program(text, tmp_path / "program.py"))
    assert "\n+@torch.compile(backend='eager', dynamic=True)" in change.patch
