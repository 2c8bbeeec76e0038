"""Programs whose classes have methods that torch alone does not call get the same results inside a
block.
"""

import contextlib
import enum
import linecache
import logging
import threading
import types

import depyf
import pytest
import torch
from depyf.recompile import PROVEN
from programs import TORCH

WAYS = ("capture", "prepare_debug")


@contextlib.contextmanager
def nobody_listens():
    """Takes pytest's handlers off torch's trace, for which torch itself makes all records."""
    logger = logging.getLogger("torch.__trace")
    before, logger.handlers = logger.handlers, []
    try:
        yield
    finally:
        logger.handlers = before


def with_depyf(way, tmp_path, action):
    """What `action` gives inside a block, and the run."""
    torch._dynamo.reset()
    block = depyf.capture() if way == "capture" else depyf.prepare_debug(str(tmp_path / "dump"))
    with nobody_listens(), block as run:
        return action(), run


def plainly(action):
    torch._dynamo.reset()
    with nobody_listens():
        return action()


def outcome(call, *arguments):
    try:
        return call(*arguments).tolist()
    except BaseException as error:
        return type(error), str(error)


def registry(on_repr):
    class Registry(type):
        def __repr__(cls):
            on_repr(cls)
            return "<%s>" % cls.__name__

        __str__ = __repr__

    class Settings(metaclass=Registry):
        ready = False

        def __init__(self):
            self.k = 2

    def used(x, settings):
        y = x * settings.k
        torch._dynamo.graph_break()
        return y + (1000 if type(settings).ready else 1)

    call = torch.compile(used, backend="eager")
    return [outcome(call, torch.ones(1), Settings()) for _ in range(3)]


def marks(cls):
    cls.ready = True


def interrupts(cls):
    raise KeyboardInterrupt


@pytest.mark.parametrize("on_repr", [marks, interrupts])
@pytest.mark.parametrize("way", WAYS)
def test_types_are_named_without_their_metaclass(tmp_path, way, on_repr):
    want = plainly(lambda: registry(on_repr))
    have, run = with_depyf(way, tmp_path, lambda: registry(on_repr))
    assert have == want
    assert not run.problems
    if TORCH >= (2, 13):  # an earlier torch asks the metaclass itself, or has no such guard
        assert want == [[3.0]] * 3
        guards = [str(guard) for entry in run.entries() for guard in entry.guards]
        assert any("Settings" in guard for guard in guards)


@pytest.mark.parametrize("way", WAYS)
def test_a_lock_that_the_caller_holds_is_not_taken(tmp_path, way):
    lock, free = threading.Lock(), []

    def takes(cls):
        free.append(lock.acquire(timeout=1))
        if free[-1]:
            lock.release()

    def action():
        with lock:
            return registry(takes)

    assert plainly(action) == [[3.0]] * 3
    asked = len(free)
    assert with_depyf(way, tmp_path, action)[0] == [[3.0]] * 3
    assert len(free) == 2 * asked
    assert asked == 0 or TORCH < (2, 13)  # an earlier torch asks the metaclass itself


@pytest.mark.parametrize("way", WAYS)
def test_a_guard_tree_is_the_text_of_torch(tmp_path, way):
    class Color(enum.Enum):
        RED = 1

    def used(x, color, table):
        return x + table["k"] if color is Color.RED else x

    from torch._dynamo import guards

    def action():
        texts = []
        init = guards.CheckFunctionManager.__init__

        def keeps(self, *arguments, **keywords):
            init(self, *arguments, **keywords)
            texts.append(str(self.guard_manager))

        guards.CheckFunctionManager.__init__ = keeps
        try:
            torch.compile(used, backend="eager")(torch.ones(1), Color.RED, {"k": 2})
        finally:
            guards.CheckFunctionManager.__init__ = init
        return texts

    from depyf.torch import compat

    take, made = compat.payload_of, []

    def keeps_payload(record):
        found = take(record)
        if record.name == "dynamo_cpp_guards_str":
            made.append(found)
        return found

    compat.payload_of = keeps_payload
    try:
        texts, _ = with_depyf(way, tmp_path, action)
    finally:
        compat.payload_of = take
    assert len(made) == len(texts) == 1
    named = type.__repr__(Color)
    want, have = texts[0].replace("<enum 'Color'>", named), made[0].partition("\nGuard latency")[0]
    # an earlier torch asks the metaclass when it makes the guard
    assert (have if TORCH >= (2, 13) else have.replace("<enum 'Color'>", named)) == want


def reads():
    """The results of a function whose globals note each read, and the reads."""

    class Globals(dict):
        told = []

        def __getitem__(self, name):
            self.told.append(name.partition("_at_")[0].rstrip("0123456789abcdef_-"))
            return dict.__getitem__(self, name)

    scope = Globals(brk=torch._dynamo.graph_break)
    text = "def used(x):\n    y = x + 1\n    brk()\n    return y * two\n"
    filename = "<text that reads globals>"  # torch up to 2.12 wraps a function without source
    linecache.cache[filename] = len(text), None, text.splitlines(True), filename
    exec(compile(text, filename, "exec"), scope)
    dict.__setitem__(scope, "two", 2)
    call = torch.compile(dict.__getitem__(scope, "used"), backend="eager")
    found = [outcome(call, torch.ones(1)) for _ in range(2)]
    return found, Globals.told


@pytest.mark.parametrize("way", WAYS)
def test_globals_of_a_class_are_read_as_torch_reads_them(tmp_path, way):
    want = plainly(reads)
    have, run = with_depyf(way, tmp_path, reads)
    assert have == want
    entries = list(run.entries())
    assert entries and {entry.verdict for entry in entries} <= set(PROVEN)
    assert not run.problems
    if way == "prepare_debug":
        assert not any(entry.replaced for entry in entries)
        assert all("__getitem__" in entry.detail for entry in entries)


class Limit:
    """What a backend returns; it ends the program where it is asked for attributes too often."""

    asked = 0
    most = 0

    def __init__(self, module, examples):
        self.module = module

    def __call__(self, *arguments):
        return self.module(*arguments)

    def __getattr__(self, name):
        Limit.asked += 1
        if Limit.most and Limit.asked > Limit.most:
            raise SystemExit("too many")
        raise AttributeError(name)


@pytest.mark.parametrize("way", WAYS)
def test_a_callable_of_a_backend_is_asked_for_no_more_attributes(tmp_path, way):
    def action():
        Limit.asked = 0
        call = torch.compile(lambda x: x.sin() + 1, backend=Limit)
        return [outcome(call, torch.zeros(2)) for _ in range(2)], Limit.asked

    Limit.most = 0
    want = plainly(action)
    assert with_depyf(way, tmp_path, action)[0] == want
    Limit.most = want[1]
    assert with_depyf(way, tmp_path / "again", action)[0] == want


class Watched(Exception):
    def __getattribute__(self, name):
        if name in ("__cause__", "__context__"):
            raise SystemExit("asked")
        return super().__getattribute__(name)


@pytest.mark.parametrize("way", WAYS)
def test_the_exception_of_a_backend_is_passed_on(tmp_path, way):
    def refuses(module, examples):
        raise Watched("no")

    def action():
        return outcome(torch.compile(lambda x: x + 1, backend=refuses), torch.ones(2))

    want = plainly(action)
    have, _ = with_depyf(way, tmp_path, action)
    assert have == want
    assert want[0] is torch._dynamo.exc.BackendCompilerFailed


class Name(str):
    def __str__(self):
        raise SystemExit("asked")


@pytest.mark.parametrize("way", WAYS)
def test_names_of_a_subclass_of_str_are_not_asked(tmp_path, way):
    def used(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    def action():
        found = []
        for code, scope in (
            (used.__code__.replace(co_name=Name("abc")), globals()),
            (used.__code__.replace(), dict(globals(), __name__=Name("module"))),
        ):
            call = torch.compile(types.FunctionType(code, scope), backend="eager")
            found.append(outcome(call, torch.ones(1)))
        return found

    want = plainly(action)
    assert with_depyf(way, tmp_path, action)[0] == want


def told_of_tensors(repr_of):
    class Class(type(torch.Tensor)):
        def __repr__(cls):
            repr_of("class")
            return "class"

    class Meta:
        def __repr__(self):
            repr_of("meta")
            return "meta"

        def __eq__(self, other):
            return type(other) is Meta

        __hash__ = None

    class Wrapper(torch.Tensor, metaclass=Class):
        @staticmethod
        def __new__(cls, inner, meta):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner, meta):
            self.inner, self.meta = inner, meta

        def __tensor_flatten__(self):
            return ["inner"], self.meta

        @staticmethod
        def __tensor_unflatten__(inner, meta, size, stride):
            return Wrapper(inner["inner"], meta)

        @classmethod
        def __torch_dispatch__(cls, func, types, args, kwargs=None):
            plain = [one.inner if isinstance(one, Wrapper) else one for one in args]
            found = func(*plain, **(kwargs or {}))
            return Wrapper(found, Meta()) if isinstance(found, torch.Tensor) else found

        def __repr__(self):
            repr_of("tensor")
            return "tensor"

    call = torch.compile(lambda x: x.sin() * 2, backend="aot_eager")
    return outcome(lambda x: call(x).inner, Wrapper(torch.zeros(2), Meta()))


@pytest.mark.parametrize("way", WAYS)
def test_what_tensors_hold_is_told_without_their_methods(tmp_path, way):
    called = []
    want = plainly(lambda: told_of_tensors(called.append))
    before = len(called)
    have, run = with_depyf(way, tmp_path, lambda: told_of_tensors(called.append))
    assert (have, called[before:]) == (want, called[:before])
    assert not run.problems
