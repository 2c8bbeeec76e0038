"""A decorator's wrapper: one code object that torch compiles for each function that it is around."""

import functools
import os
import runpy
import sys

import pytest

import depyf
from depyf.report import document
from depyf.report.overview import causes, nodes_of

torch = pytest.importorskip("torch")

from programs import readme_of  # noqa: E402


def announced(func):
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        out = func(self, *args, **kwargs)
        print("after", func.__name__)
        return out

    return wrapper


def announced_first(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        print("with", len(args))
        return func(*args, **kwargs)

    return wrapper


class Pair(torch.nn.Module):
    @announced
    def second(self, x):
        return x * 2

    @announced
    def forward(self, x):
        y = self.second(x)
        return y + 1


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)), depyf.capture() as run:
        torch.compile(Pair(), backend="eager")(torch.ones(3))
    return folder, run


def wrappers(run):
    return [one for one in run.functions if one.name == "wrapper" and not one.is_resume]


def test_the_code_of_a_wrapper_has_the_name_of_what_it_was_called_for(dumped):
    folder, run = dumped
    (wrapper,) = wrappers(run)
    for entry in wrapper.entries:
        title = wrapper.title_of(entry)
        # forward was called first; what it calls has a graph of its own
        name = "Pair.second" if entry.graph_name else "Pair.forward"
        assert title == name + ", through wrapper"
        assert entry.name.endswith("_for_" + name.replace(".", "_"))
        said = "# %s (%s:%d)\n" % (title, os.path.basename(__file__), wrapper.firstlineno)
        assert (folder / (entry.name + ".py")).read_text().startswith(said)
    assert wrapper.title == "Pair.forward and Pair.second, through wrapper"
    assert "## `%s`" % wrapper.title in readme_of(folder)
    assert wrapper.title in (folder / "full_code_for_Pair_forward_0.py").read_text()


def test_so_has_the_rest_of_it_after_a_break(dumped):
    folder, run = dumped
    (rest,) = [one for one in run.functions if "_in_wrapper_at" in one.name]
    title = "Pair.forward, resumed after line %d, through wrapper" % rest.firstlineno
    assert [rest.title_of(one) for one in rest.entries] == [title]
    assert rest.title == title and "## `%s`" % title in readme_of(folder)
    text = (folder / (rest.entries[0].name + ".py")).read_text()
    here = os.path.basename(__file__)
    assert text.startswith("# %s (%s:" % (title, here))
    told = title.replace(", through", " of %s, through" % here)  # whose line it is
    assert "# This is %s" % told in text.replace("\n# ", " ").replace(" This is", "\n# This is")
    texts = [path.read_text() for path in folder.glob("*transformed_code*")]
    assert not any("is wrapper, resumed" in text for text in texts)


class Halves(torch.nn.Module):
    """Both methods reach a function by way of a wrapper that torch gave up."""

    def __init__(self):
        super().__init__()
        self.left, self.right = Half(), OtherHalf()

    def forward(self, x):
        x = self.left(x)
        torch._dynamo.graph_break()
        return self.right(x)


def guarded(func):
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        try:
            print("before", func.__name__)
            return func(self, *args, **kwargs)
        finally:
            del args

    return wrapper


class Half(torch.nn.Module):
    @guarded
    def forward(self, x):
        return x.sin()


class OtherHalf(torch.nn.Module):
    @guarded
    def forward(self, x):
        return x.cos()


def test_no_function_is_joined_to_the_wrapper_of_another():
    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(Halves(), backend="eager")(torch.ones(3))
    nodes = nodes_of(document.load_all(run))
    left = next(one for one in nodes if one.title == "Half.forward" and not one.through)
    right = next(one for one in nodes if one.title == "OtherHalf.forward" and not one.through)
    assert left.outer.through == "wrapper" and left.outer.title == "Half.forward"
    assert right.outer.title == "Halves.forward" and right.outer.is_resume


def test_a_wrapper_is_not_called_by_the_name_of_a_method_that_it_may_not_be():
    def shared(one, other):
        def wrapper(*args, **kwargs):
            return one(*args, **kwargs) + other(*args, **kwargs)

        return wrapper

    def sines(x):
        return x.sin()

    def cosines(x):
        return x.cos()

    class Both:
        method = staticmethod(shared(sines, cosines))

    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(shared(cosines, sines), backend="eager")(torch.ones(3))
    (function,) = run.functions
    if sys.version_info >= (3, 11):  # where code objects know their qualified names
        assert function.title.endswith("shared.<locals>.wrapper"), function.title
    assert Both.method is not None


def first_told(func):
    @functools.wraps(func)
    def forward(*args, **kwargs):
        print("before", func.__qualname__)
        return func(*args, **kwargs)

    return forward


class Base(torch.nn.Module):
    @first_told
    def forward(self, x):
        return x + 3


class Derived(Base):
    @first_told
    def forward(self, x):
        return super().forward(x) * 2


def test_a_wrapper_that_breaks_first_and_has_the_name_of_the_method(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)), depyf.capture() as run:
        torch.compile(Derived(), backend="eager")(torch.ones(3))
    titles = {}
    for function in run.functions:
        for entry in function.entries:
            titles[entry.compile_id] = function.title_of(entry) or function.title
            path = tmp_path / (entry.name + ".py")
            said = "# %s (" % function.title_of(entry)
            if not function.through:
                said = "# %s\n" % function.title_of(entry)
            assert (path.read_text().startswith(said)) == bool(function.title_of(entry))
    rests = [one for one in titles.values() if "resumed after" in one and "through" in one]
    assert sorted(one.partition(",")[0] for one in rests) == ["Base.forward", "Derived.forward"]
    wrapped = [one for one in titles.values() if one.endswith(", through forward")]
    assert {"Base.forward, through forward", "Derived.forward, through forward"} <= set(wrapped)
    # a code file of the rest is named after the function that it belongs to, and found from there
    (path,) = tmp_path.glob("__transformed_code_0_for_Base_forward.py")
    text = " ".join(path.read_text().replace("\n# ", " ").split())
    assert "torch_dynamo_resume_in_Base_forward_at" in text
    assert "torch_dynamo_resume_in_Derived_forward_at" not in text
    readme = readme_of(tmp_path)
    assert "## `Derived.forward and Base.forward, through forward`" in readme
    # the file of the method, which has a number since the wrapper's has its name, says what it is
    (path,) = tmp_path.glob("__transformed_code_1_for_Derived_forward.py")
    here = sys.modules[__name__].__file__
    line = Derived.forward.__wrapped__.__code__.co_firstlineno
    assert path.read_text().startswith("# Derived.forward (%s:%d)\n" % (here, line))


def test_a_recompile_for_another_function_of_the_wrapper_has_no_advice(dumped):
    nodes = nodes_of(document.load_all(dumped[1]))
    (reason,) = [one for node in nodes for one in node.reasons]
    said = "`func` is `Pair.second`, was `Pair.forward`: one wrapper serves both"
    assert reason["words"].startswith(said) and not reason["help"]
    assert "keep one." not in (dumped[0] / "index.html").read_text()


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(4, size), torch.nn.Linear(size, 4)

    def forward(self, x):
        return self.outer(self.inner(x))


class Stack(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.blocks = torch.nn.Sequential(*[Block(2 + at) for at in range(count)])

    def forward(self, x):
        return self.blocks(x)


def test_blocks_that_a_break_parts_are_not_advised_to_be_compiled_together(tmp_path):
    torch._dynamo.reset()
    stack = Stack(4)
    stack.blocks[1].register_forward_hook(lambda module, given, out: print("block", out.shape))
    limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else ""
    with torch._dynamo.config.patch(**{limit or "cache_size_limit": 3}):
        with depyf.prepare_debug(str(tmp_path)):
            torch.compile(stack, backend="eager")(torch.ones(2, 4))
    nodes = nodes_of(document.load_all(str(tmp_path)))
    blocks = [one for one in nodes if one.title == "Block.forward"]
    if not any(one.reasons for one in blocks):
        pytest.skip("this torch traces the blocks into their caller")
    outer = next(one for one in blocks if one.outer).outer
    for node in blocks:
        # the one at the limit, too
        assert node.outer is outer, node.key
        for reason in node.reasons[:1]:
            if reason["row"] == "value of each object":
                assert not reason["help"] and "because of a graph break below" in reason["words"]
    assert any(one.is_limit for one in blocks)
    assert "Compile the code that calls all of them" not in (tmp_path / "index.html").read_text()


class Grouped(torch.nn.Module):
    """Its methods differ in how many arguments they take, which torch looks at first."""

    @announced_first
    def one(self, x):
        return x + 1

    @announced_first
    def two(self, x, y):
        return x * y

    @announced_first
    def forward(self, x):
        return self.two(self.one(x), x)


def test_a_recompile_because_another_function_takes_more_arguments_is_told_as_that():
    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(Grouped(), backend="eager")(torch.ones(3))
    reasons = [one for node in nodes_of(document.load_all(run)) for one in node.reasons]
    found = [one for one in reasons if "len(args)" in one["failed"]]
    said = "as the wrapper is called for `Grouped.%s`, and was for `Grouped.%s`: one wrapper serves"
    pairs = [("two", "forward"), ("two", "one"), ("one", "forward"), ("forward", "two")]
    assert found
    for reason in found:
        assert any(said % pair in reason["words"] for pair in pairs), reason["words"]
        assert not reason["help"]


def with_arguments_alone(func):
    @functools.wraps(func)
    def wrapper(*args):
        return func(*args) + 1

    return wrapper


@with_arguments_alone
def added(x, y):
    return x + y


@with_arguments_alone
def multiplied(x, y):
    return x * y


def test_a_wrapper_without_keywords_is_known_by_the_global_that_it_is():
    torch._dynamo.reset()
    x = torch.ones(3)
    with depyf.capture() as run:
        torch.compile(added, backend="eager")(x, x)
        torch.compile(multiplied, backend="eager")(x, x)
    nodes = nodes_of(document.load_all(run))
    assert [(node.title, node.through) for node in nodes] == [
        ("added", "wrapper"),
        ("multiplied", "wrapper"),
    ]
    (reason,) = nodes[1].reasons
    assert "is `multiplied`, was `added`: one wrapper serves both" in reason["words"]


_CACHED_LAYERS = """
import torch
from wrapping_layers import checked

class Part:
    def __init__(self):
        self.is_initialized = False

    def update(self, x):
        self.keys = torch.cat([self.keys, x]) if self.is_initialized else x
        self.is_initialized = True
        return self.keys

class Attention(torch.nn.Module):
    def __init__(self, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx

    def forward(self, x, past_key_values):
        return x + past_key_values[self.layer_idx].update(x).sum()

class Layer(torch.nn.Module):
    def __init__(self, layer_idx):
        super().__init__()
        self.attention = Attention(layer_idx)

    @checked
    def forward(self, x, past_key_values):
        return self.attention(x, past_key_values)

layers = [Layer(number) for number in range(4)]
for layer in layers:
    layer.compile(backend="eager")
past = [Part() for _ in layers]
for _ in range(2):
    x = torch.ones(3, 2)
    for layer in layers:
        x = layer(x, past_key_values=past)
"""
_CHECKED = """
import functools

def checked(func):
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        return func(self, *args, **kwargs)

    return wrapper
"""


@pytest.mark.skipif(sys.version_info < (3, 10), reason="as torch 2.13 compiles it")
def test_a_recompile_for_each_layer_is_not_said_to_need_no_action(tmp_path, monkeypatch):
    (tmp_path / "wrapping_layers.py").write_text(_CHECKED)
    (tmp_path / "layers.py").write_text(_CACHED_LAYERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        runpy.run_path(str(tmp_path / "layers.py"))
    nodes = nodes_of(document.load_all(str(tmp_path / "dump")))
    reasons = [node.reasons[0] for node in nodes if node.reasons]
    normal = [one for one in reasons if "needs no action" in " ".join(one["help"])]
    assert len(reasons) == 7 and len(normal) == 1, [one["words"] for one in reasons]
    (cause,) = [one for one in causes(nodes) if one["reason"]["row"] == "value of each object"]
    assert cause["count"] == 6 and "the module that holds them" in cause["reason"]["help"][0]
