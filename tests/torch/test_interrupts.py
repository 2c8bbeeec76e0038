"""A signal handler of the program that raises an exception ends what the program does, also where
depyf works at that moment."""

import ast
import functools
import linecache
import logging
import os
import pathlib
import signal
import sys
import time
import traceback

import depyf
import pytest
import torch
from depyf import files
from depyf.torch import codes

pytestmark = pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="CPython 3.8 on")

CATCH_ALL = {"Exception", "BaseException", "OSError"}  # the last one is also that of an alarm


class OutOfTime(Exception):
    pass


class TimeOfSystem(TimeoutError):
    pass


def raises(number, frame):
    raise OutOfTime("now")


def raises_system(number, frame):
    raise TimeOfSystem("now")


class Handlers:
    def method(self, number, frame):
        raises(number, frame)

    __call__ = method


class Made:
    def __init__(self, number, frame):
        raises(number, frame)


class MadeByNew:
    def __new__(cls, number, frame):
        raises(number, frame)


class Kind(type):
    def __call__(cls, number, frame):
        raises(number, frame)


class OfKind(metaclass=Kind):
    pass


class Static:
    @staticmethod
    def __call__(number, frame):
        raises(number, frame)


class Partial(functools.partial):
    pass


@functools.lru_cache(maxsize=None)
def cached(number, frame):
    raises(number, frame)


def stops(number, frame):
    raise StopIteration("now")


def with_more(more, number, frame):
    raises(number, frame)


HANDLERS = {
    "function": (raises, OutOfTime),
    "method": (Handlers().method, OutOfTime),
    "object": (Handlers(), OutOfTime),
    "partial": (functools.partial(with_more, 1), OutOfTime),
    "of the system": (raises_system, TimeOfSystem),
    "class": (Made, OutOfTime),
    "class with __new__": (MadeByNew, OutOfTime),
    "class of a metaclass": (OfKind, OutOfTime),
    "object with a static method": (Static(), OutOfTime),
    "kind of partial": (Partial(with_more, 1), OutOfTime),
    "cached": (cached, OutOfTime),
}

#: where the signal comes: depyf's function that is called just then
PLACES = [
    "depyf.recompile:recompile",
    "depyf.recompiling.attempt:compile_function",
    "depyf.torch.capture.session:source_of",
    "depyf.torch.compat:frame_globals",
    "depyf.torch.compat:hooks_behind",
    "depyf.torch.compat:graph_outputs",
    "depyf.torch.capture.hub:Session.on_trace",
    "depyf.recompile:write_atomically",
    "depyf.torch.capture.session:known_to_tracebacks",
    "depyf.torch.journal:append_text",
    "depyf.torch.compat.frames:_text_of_one",
]


def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y.sin()


def kinds(error):
    found = []
    while error is not None:
        found.append(type(error))
        error = error.__cause__ or error.__context__
    return found


def alone(monkeypatch):
    """Nobody but depyf listens to torch's trace: pytest does."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "handlers", [])


@pytest.fixture
def alarm():
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.signal(signal.SIGALRM, before)


def comes():
    signal.raise_signal(signal.SIGALRM)


def comes_in_generator():
    list(comes() for _ in range(1))


def signalled_once(monkeypatch, place, come=comes):
    """Lets the signal come when depyf calls `place` next."""
    module, name = place.split(":")
    owner = sys.modules[module]
    if "." in name:
        within, name = name.split(".")
        owner = getattr(owner, within)
    real = getattr(owner, name)
    left = [1]

    def interrupted(*arguments, **named):
        if left:
            left.pop()
            come()
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)
    return left


def compile_interrupted(monkeypatch, tmp_path, place, handler, wanted, come=comes):
    import depyf.torch.capture.hub  # noqa: F401

    torch._dynamo.reset()
    alone(monkeypatch)
    signal.signal(signal.SIGALRM, handler)
    compiled = torch.compile(f, backend="eager")
    with depyf.prepare_debug(str(tmp_path / "dump")):
        left = signalled_once(monkeypatch, place, come)
        with pytest.raises(Exception) as caught:
            compiled(torch.ones(2))
        assert not left
        assert wanted in kinds(caught.value)
        again = compiled(torch.ones(2))
    assert torch.equal(again, torch.full((2,), 2.0).sin())


@pytest.mark.parametrize("kind", HANDLERS)
def test_what_a_handler_raises_reaches_the_program(monkeypatch, tmp_path, alarm, kind):
    compile_interrupted(monkeypatch, tmp_path, PLACES[0], *HANDLERS[kind])


@pytest.mark.parametrize("place", PLACES[1:])
def test_at_whatever_depyf_does(monkeypatch, tmp_path, alarm, place):
    compile_interrupted(monkeypatch, tmp_path, place, *HANDLERS["of the system"])


@pytest.mark.parametrize("place", [PLACES[0], PLACES[5]])
def test_a_generator_makes_another_exception_of_it(monkeypatch, tmp_path, alarm, place):
    compile_interrupted(monkeypatch, tmp_path, place, stops, StopIteration, come=comes_in_generator)


def test_no_function_formats_exceptions_that_may_lose_one(monkeypatch):
    """Those of traceback catch what a handler raises meanwhile."""
    asked = []
    real = traceback.format_exc

    def format_exc(*arguments, **named):
        asked.append(arguments)
        return real(*arguments, **named)

    alone(monkeypatch)
    monkeypatch.setattr(traceback, "format_exc", format_exc)
    torch._dynamo.reset()
    torch.compile(f, backend="eager")(torch.ones(2))
    plain = len(asked)
    torch._dynamo.reset()
    with depyf.capture() as run:
        torch.compile(f, backend="eager")(torch.ones(2))
    assert len(asked) == 2 * plain
    (found,) = [one for entry in run.entries() for one in entry.breaks]
    assert "graph_break" in found.text and "Unsupported: " in found.text
    assert "Traceback (most recent call last):" in found.text


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="Linux tells the descriptors")
def test_an_interrupted_write_leaves_no_descriptor(tmp_path, alarm):
    """The signal comes at any point of it, so many writes are tried."""
    raised = []

    def in_files(number, frame):
        if frame is not None and frame.f_code.co_filename == files.__file__:
            raised.append(number)
            raise OutOfTime("now")

    before = len(os.listdir("/proc/self/fd"))
    signal.signal(signal.SIGALRM, in_files)
    end = time.monotonic() + 20
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.00013)
    try:
        while len(raised) < 1000 and time.monotonic() < end:
            try:
                files.write_atomically(str(tmp_path / "text"), "text")
                files.append_text(str(tmp_path / "lines"), "text")
            except OutOfTime:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_python_code_runs_when_dumped_code_goes(tmp_path):
    """What a handler raised in the callback of a weak reference would be lost."""
    path = tmp_path / "text.py"
    path.write_text("x = 1\n")
    code = compile("x = 1\n", str(path), "exec")
    codes.known_to_tracebacks(str(path), "x = 1\n", code)
    assert str(path) in linecache.cache
    called = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: called.append(event))
    try:
        del code
    finally:
        sys.setprofile(before)
    assert str(path) not in linecache.cache
    assert "call" not in called


def test_an_exception_that_the_program_handles_is_not_raised_again(monkeypatch, tmp_path, alarm):
    def failing(*arguments, **named):
        raise ValueError("of depyf alone")

    torch._dynamo.reset()
    signal.signal(signal.SIGALRM, raises)
    monkeypatch.setattr(depyf.recompile, "recompile", failing)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run, pytest.warns(UserWarning):
        try:
            signal.raise_signal(signal.SIGALRM)
        except OutOfTime:
            result = torch.compile(f, backend="eager")(torch.ones(2))
    assert torch.equal(result, torch.full((2,), 2.0).sin())
    assert any("of depyf alone" in problem.message for problem in run.problems)


def test_each_place_that_catches_all_passes_these_on():
    folder = pathlib.Path(depyf.__file__).parent
    paths = sorted((folder / "torch/capture").glob("*.py"))
    paths += sorted((folder / "torch/compat").glob("*.py"))
    paths += sorted((folder / "torch/dump").glob("*.py"))
    paths += [folder / "torch" / name for name in ("codes.py", "guards.py")]
    paths += sorted((folder / "recompiling").glob("*.py"))
    paths += [folder / "files.py", folder / "recompile.py"]
    lacking, found = [], 0
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = [
            one for body in tree.body if not isinstance(body, ast.Try) for one in ast.walk(body)
        ]
        for one in inside:
            if isinstance(one, ast.ExceptHandler) and not CATCH_ALL.isdisjoint(
                getattr(name, "id", "") for name in ast.walk(one.type or one)
            ):
                found += 1
                first = ast.unparse(one.body[0])
                if first != "pass_on()" and not any(
                    isinstance(x, ast.Raise) for x in ast.walk(one)
                ):
                    lacking.append("%s:%d" % (path.name, one.lineno))
    assert found > 40
    assert lacking == []
