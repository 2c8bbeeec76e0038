"""full_code_for_*: valid Python whose dispatcher takes the entry that torch takes."""

import copy
import importlib.util
import inspect
import random
import re
import sys
import traceback
import types

import depyf
import pytest
import torch
import warm
from processes import environment
from depyf.torch import compat
from depyf.torch.fullcode import constant, with_cells
from depyf.trace.guard_text import make_guard, name_whole_paths
from programs import PROGRAMS, TORCH

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
        if compat.guards_hold(entry.guard_manager, values):
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


def blocks_around_a_loop(x, last):
    with torch.no_grad():
        for j in (0, 1):
            with torch.enable_grad():
                torch._dynamo.graph_break()
                if j == last:
                    return x + j
    return x


def test_a_resume_function_with_an_iterator_between_two_blocks_has_its_source(tmp_path):
    """Torch's own code for it has two depths of the stack where a `with` swallows an exception."""
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        torch.compile(blocks_around_a_loop, backend="eager", dynamic=False)(torch.ones(2), 1)
    assert not run.problems
    path = tmp_path / "dump" / "full_code_for_blocks_around_a_loop_0.py"
    if not path.exists():
        (given_up,) = [one for one in run.entries() if one.breaks]
        assert given_up.code is None and "in a for/while loop" in given_up.breaks[0].text
        pytest.skip("this torch makes no code of it at all")
    text, module = path.read_text(), load(path)
    resumed = [
        one for name, one in vars(module).items() if name.startswith("__original_code_for__")
    ]
    if not resumed:
        pytest.skip("this torch does not go on inside of a loop")
    assert "NotImplementedError" not in text
    values = {"x": torch.ones(2), "last": 1, "j": 0, "___stack3": None}
    entered = []

    class Block:
        def __init__(self, *_):
            entered.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.left = exception[0]

    def call(**others):
        names = inspect.signature(resumed[0]).parameters
        blocks = {"___stack0": Block, "___stack1": iter((1,)), "___stack2": Block}
        given = {**values, **blocks, **others}
        return resumed[0](*(given.get(name, []) for name in names))

    assert call().tolist() == [2, 2] and [one.left for one in entered] == [None, None]
    del entered[:]
    # torch's own code for CPython 3.14 calls the outer block itself in place of its `__exit__`
    raised = (
        (TypeError, "not callable") if sys.version_info >= (3, 14) else (RuntimeError, "Boolean")
    )
    with pytest.raises(raised[0], match=raised[1]):
        call(j=torch.ones(2))
    assert [one.left for one in entered if hasattr(one, "left")][-1] is RuntimeError


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


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = torch.nn.Linear(3, 3), 0

    def forward(self, x):
        self.calls += 1
        return self.layer(x) * self.calls


def counted(net, x):
    return net(x) + 1


def test_guards_that_all_entries_have_are_written_once(tmp_path):
    net, x = Counting(), torch.ones(2, 3)
    run, module = dumped(tmp_path, counted, [((net, x), {}), ((net, x), {}), ((net, x), {})])
    entries = run.function("counted").entries
    assert len(entries) == 3
    text = (tmp_path / "dump" / "full_code_for_counted_0.py").read_text()
    assert text.count("def __guards_of_all_for_counted(") == 1
    shared, *own = re.split(r"(?m)^def __guard_\d_for_counted\(", text)
    assert len(own) == 3
    for entry, part in zip(run.function("counted")._order, own):
        part = part.partition("\ndef ")[0]
        assert "L['net'].calls == %d" % entry.index in part
        assert "and __guards_of_all_for_counted(L, G)" in part
    # torch 2.2 has the sizes of all tensors in one guard, whose text has none
    of_size = "size=[2, 3]" if TORCH >= (2, 4) else "__unmarked(L['x'], 'dynamic')"
    assert of_size in shared and of_size not in "".join(own)
    for calls in range(4):  # the last is that of no entry
        net.calls = calls
        want = torch_takes(run, "counted", {"net": net, "x": x})
        _, names = taken(module, module.counted, (net, x), {})
        last = "original_code" if want is None else "transformed_code_%d" % want
        assert names[:1] == ["__%s_for_counted" % last]
    assert want is None
    net.calls, other = 1, torch.ones(5, 3)  # a guard that all have fails
    assert taken(module, module.counted, (net, other), {})[1] == ["__original_code_for_counted"]


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
    factory = vars(module)["__closure_of_counting"]
    count = 1
    function = with_cells(factory, counting.__closure__)
    result, names = taken(module, function, (torch.ones(2),), {})
    assert torch.equal(result, torch.full((2,), 4.0))
    assert count == 2
    assert names[0] == "__transformed_code_0_for_counting"
    # up to torch 2.9 a resume function with free variables is made of a constant, so no name of the
    # file stands for it
    found = [one.name for one in run.functions if one.is_resume and one.global_name]
    assert len(names) == 1 + len(found) and all(
        name.startswith("__transformed") for name in names
    ), names


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


#: programs whose transformed code holds objects, has closures, or whose guards look into dicts and symbolic shapes
DISPATCHED = (
    "break_data_dependent_chain",
    "break_with_nonlocal",
    "break_in_inner_function_of_closure",
    "break_with_every_kind_of_parameter",
    "break_with_three_hundred_locals",
    "break_under_torch_function_mode_and_device",
    "break_in_two_contexts",
    "constants_of_each_kind",
    "functions_with_defaults_are_returned",
    "recompile_shape",
    "recompile_dtype_and_type",
    "recompile_attribute",
    "recompile_global",
    "recompile_dict_contents",
    "recompile_closure_cell",
    "recompile_with_breaks",
    "marked_dynamic",
    "dynamic_shapes",
    "dynamic_shapes_with_break",
)


@pytest.mark.parametrize("name", DISPATCHED)
def test_every_call_of_a_program_is_dispatched_as_torch_does(tmp_path, name):
    program = next(one for one in PROGRAMS if one.name == name)
    if TORCH < program.since:
        pytest.skip("torch %d.%d does not compile this" % TORCH)
    calls = []

    def compiled(function, **options):
        result = torch.compile(function, backend=program.backend, **options)

        def call(*arguments, **keywords):
            if isinstance(function, types.FunctionType):
                calls.append((function, copy.deepcopy((arguments, keywords))))
            return result(*arguments, **keywords)

        return call

    torch.manual_seed(0)
    random.seed(0)
    try:
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            program.run(compiled)
    except Exception as error:
        if TORCH >= (2, 13):
            raise
        pytest.skip("torch.compile raises %s here" % type(error).__name__)
    asked = 0
    for function, given in calls:
        found = [one for one in run.functions if one.code is function.__code__]
        if not found:  # torch made nothing of it
            continue
        module = load(tmp_path / "dump" / found[0].path)
        if function.__closure__:
            factory = vars(module)["__closure_of_%s" % found[0].name]
            dispatcher = with_cells(factory, function.__closure__)
        else:
            dispatcher = getattr(module, found[0].name)
        arguments, keywords = copy.deepcopy(given)
        bound = inspect.signature(function).bind(*arguments, **keywords)
        bound.apply_defaults()
        values = dict(bound.arguments)
        values.update(
            zip(
                function.__code__.co_freevars,
                (cell.cell_contents for cell in function.__closure__ or ()),
            )
        )
        want = next(
            (
                entry.index
                for entry in found[0]._order
                if compat.guards_hold(entry.guard_manager, values)
            ),
            None,
        )
        _result, names = taken(module, dispatcher, arguments, keywords)
        expected = "__original" if want is None else "__transformed_code_%d_for" % want
        assert names and names[0].startswith(expected), (want, names)
        asked += 1
    assert asked or TORCH < (2, 13)


def test_what_ends_a_line_of_text_but_not_of_python():
    from depyf.torch.fullcode import function_text

    source = "# a\x0cb\r\ndef f(x):\r    y = 'a\u2028b' # \x1c\n    return y\n\ndef g(): pass\n"
    text = function_text(source, "f", "h")
    assert text == "def h(x):\n    y = 'a\u2028b' # \x1c\n    return y\n"


@pytest.mark.parametrize(
    "source",
    [
        "# head\n\ndef f(x):\n    return x\n\n# a note\n#   more of it\n",
        "def f(\n    x,\n    y,\n):\n    z = (\n        x +\n        y\n    )\n    return z\n",
        "def outer(x):\n    def f(y):\n        # said\n        return x, y\n        # end\n"
        "    return f\n",
        "def f(x):\n    if x:\n# at the margin\n        x = 1\n\n    # the end\nf(2)\n",
        "def f(x):\n    y = '''a\nb'''\n    return y\n",
        "def f(x):\n    y = 'a\\\nb'\n    return y\nz = 1\n",
        "def f(x):\n    def f(y):\n        return y\n    return f\n",
        "def f(x): return x\ny = 2\n",
        "def fg(x):\n    return x\ndef f(y):\n    return fg(y)",
    ],
)
def test_a_printed_function_is_found_without_its_tree(source):
    from depyf.torch.fullcode.source import function_text, printed_function

    assert printed_function(source, "f") == function_text(source, "f", "f")


class Unnamed:
    pass


def test_objects_without_a_name_are_those_of_the_bytecode():
    device, unnamed = torch.device("cpu"), Unnamed()

    def outer(x):
        return x

    replaced = outer.__code__.replace(co_consts=(None, (unnamed, outer.__code__)))
    from depyf.torch.codes import findable
    from depyf.torch.fullcode import linking
    from depyf.torch.model import LiveObject

    assert findable(torch.float32) == "torch.float32"
    assert findable(device) == "torch.device('cpu')"
    assert findable(torch.nn.functional) == "__find('torch.nn.functional')"
    assert (
        findable(torch.nn.Linear.forward)
        == "__find('torch.nn.modules.linear', 'Linear', 'forward')"
    )
    assert findable(outer) is None and findable(unnamed) is None
    linking.holders["test"] = (
        LiveObject(replaced),
        LiveObject(),
        {"__const_0__": id(unnamed), "__const_1__": id(device)},
    )
    try:
        assert constant("test", "__const_0__") is unnamed
        with pytest.raises(LookupError, match="__const_1__"):
            constant("test", "__const_1__")
        del replaced
        with pytest.raises(LookupError, match="__const_0__ is an object of the process"):
            constant("test", "__const_0__")
    finally:
        del linking.holders["test"]


def test_objects_in_shared_code_are_found_in_as_many_steps_as_there_are_objects():
    """Code that holds the same code twice, 40 levels deep, and a tuple that does 10 levels deep."""
    from depyf.torch.fullcode import linking
    from depyf.torch.model import LiveObject

    unnamed = Unnamed()
    held = (unnamed, 1)
    for _ in range(10):
        held = (held, held)
    code = (lambda: torch).__code__.replace(co_consts=(held,))
    for _ in range(40):
        code = code.replace(co_consts=(code, code))
    linking.holders["test"] = (
        LiveObject(code),
        LiveObject(),
        {"__const_0__": id(unnamed), "__const_1__": id(linking)},
    )
    try:
        assert constant("test", "__const_0__") is unnamed
        with pytest.raises(LookupError, match="__const_1__"):
            constant("test", "__const_1__")
    finally:
        del linking.holders["test"]


def autocasting(x, factor=2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        torch._dynamo.graph_break()
        y = y * factor
    return y


STANDING_ALONE = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("full_code", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
graphs = []
def graph(number):
    def run(*arguments):
        graphs.append(number)
        return tuple(argument @ argument for argument in arguments if isinstance(argument, torch.Tensor))
    return run
for pair in sys.argv[2].split():
    name, real = pair.split("=")
    vars(module)[name] = graph(len(graphs)) if name.startswith("__compiled_fn_") else importlib.import_module(
        real[len("__import_"):].replace("_dot_", ".")
    )
# a guard on the identity of an object holds in its own process only; the code runs, and what it
# resumes in
result = module.__transformed_code_0_for_autocasting(torch.ones(2, 2), 2)
assert result.tolist() == [[4.0, 4.0], [4.0, 4.0]] and len(graphs) == 1, (result, graphs)
assert module.autocasting(torch.ones(2, 2)).dtype is torch.bfloat16
print("finished")
"""


def test_a_file_stands_alone_when_it_is_given_the_compiled_functions(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        torch.compile(autocasting, backend="eager")(torch.ones(2, 2))
    names = {
        "%s=%s" % (entry_names.get(real, real), real)
        for entry in run.entries()
        for entry_names in [{real: given for given, real in entry.names.items()}]
        for real in entry.code.co_names
        if real.startswith(("__compiled_fn_", "__import_"))
    }
    script = tmp_path / "alone.py"
    script.write_text(STANDING_ALONE)
    path = tmp_path / "dump" / run.function("autocasting").path
    arguments = [script, path, " ".join(sorted(names))]
    done = warm.run(arguments, environment(tmp_path / "cache"), cwd=tmp_path)
    assert "finished" in done.stdout, done.stderr


def test_the_place_of_a_guard_has_its_whole_path():
    """Torch cuts from it what it shares with torch's own path, and one letter more."""

    def comment(files, text="", stack=()):
        cut = "x > 1  # total += 1  # mp/p.py:48 in run" + text
        guard = make_guard(cut, user_stack=stack)
        name_whole_paths([guard], files)
        return guard.comment

    whole, cut = "# total += 1  # /tmp/p.py:48 in run", "# total += 1  # mp/p.py:48 in run"
    stack = '\nUser stack trace:\n  File "/tmp/p.py", line 48, in run'
    frame = traceback.FrameSummary("/tmp/p.py", 48, "run", lookup_line=False)
    assert comment([], stack=[frame]) == whole
    assert comment([], stack) == whole + stack
    assert comment(["/tmp/q.py", "/tmp/p.py"]) == whole
    assert comment(["/tmp/q.py", "/other/p.py"]) == cut


def test_the_files_and_the_page_name_the_whole_path(tmp_path):
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(shapes, backend="eager")(torch.ones(3))
    (function,) = run.functions
    comments = [
        guard.comment for guard in function.entries[0].guards if "in shapes" in guard.comment
    ]
    assert comments and all("# %s:" % __file__ in comment for comment in comments)
    text = (tmp_path / function.path).read_text()
    assert "%s:" % __file__ in text.partition("because of: ")[2].partition("\n    ")[0]


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.ModuleDict({"attention_of_the_first_layer": torch.nn.Linear(3, 3)})

    def forward(self, some_long_name_of_an_input, another_input):
        layer = self.encoder["attention_of_the_first_layer"]
        rate = 1.5

        def scaled(x):
            return x * rate

        y = layer(some_long_name_of_an_input)
        torch._dynamo.graph_break()
        return scaled(y) + another_input


@pytest.mark.skipif(TORCH < (2, 8), reason="names of guards are others")
def test_no_line_of_guards_or_of_calls_is_too_wide(tmp_path):
    torch._dynamo.reset()
    x = torch.ones(2, 3)
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(Deep(), backend="eager")(x, x)
    (path,) = tmp_path.glob("full_code_for_*Deep*.py")
    text = path.read_text()
    assert "['attention_of_the_first_layer']" in text
    wide = [line for line in text.splitlines() if len(line) > 100]
    assert not wide
    compile(text, str(path), "exec")


@pytest.mark.parametrize("name", ["class", "None", "__debug__", "a b", "<lambda>", "7"])
def test_a_function_of_any_name_has_its_full_code(tmp_path, name):
    code = dispatched_anywhere.__code__.replace(co_name=name)
    function = types.FunctionType(code, globals(), name)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        torch.compile(function, backend="eager")(torch.ones(2))
    assert not run.problems
    (path,) = (tmp_path / "dump").glob("full_code_for_*.py")
    made = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    assert path.read_text(encoding="utf-8").count("\ndef ") > 1 and made.co_names


@pytest.mark.parametrize("names", [("if", "None"), ("1x", "x y"), ("xy", "x y"), ("if", "if_")])
def test_parameters_of_any_name_have_their_full_code(tmp_path, names):
    code = of_two_parameters.__code__
    code = code.replace(co_varnames=names + code.co_varnames[2:])
    torch._dynamo.reset()
    x = torch.ones(2)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        torch.compile(types.FunctionType(code, globals()), backend="eager")(2, x)
    assert not run.problems
    (path,) = (tmp_path / "dump").glob("full_code_for_*.py")
    assert torch.equal(load(path).of_two_parameters(2, x), x + 4)


def of_two_parameters(a, x):
    y = x + a
    torch._dynamo.graph_break()
    return y + a


def dispatched_anywhere(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def test_the_state_that_shared_code_reads_is_found_in_as_many_steps_as_there_is_code():
    from depyf.torch.state import State

    code = (lambda: torch).__code__.replace(co_names=("kept",))
    for _ in range(40):
        code = code.replace(co_consts=(code, code))
    kept = torch.ones(2)
    state = State(types.FunctionType(code, {"kept": kept}))
    kept.add_(1)
    state.restore()
    assert kept.tolist() == [1, 1]
