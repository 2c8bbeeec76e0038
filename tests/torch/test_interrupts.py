"""A signal handler of the program that raises an exception ends what the program does, also where
depyf works at that moment."""

import ast
import functools
import pathlib
import signal
import sys

import depyf
import pytest
import torch

pytestmark = pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="CPython 3.8 on")

CATCH_ALL = ("Exception", "BaseException")


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


def with_more(more, number, frame):
    raises(number, frame)


HANDLERS = {
    "function": (raises, OutOfTime),
    "method": (Handlers().method, OutOfTime),
    "object": (Handlers(), OutOfTime),
    "partial": (functools.partial(with_more, 1), OutOfTime),
    "of the system": (raises_system, TimeOfSystem),
}

#: where the signal comes: depyf's function that is called just then
PLACES = [
    "depyf.recompile:recompile",
    "depyf.recompile:compile_function",
    "depyf.torch.capture.session:source_of",
    "depyf.torch.compat:frame_globals",
    "depyf.torch.compat:hooks_behind",
    "depyf.torch.compat:graph_outputs",
    "depyf.torch.capture.hub:Session.on_trace",
    "depyf.recompile:write_atomically",
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


@pytest.fixture
def alarm(request):
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.signal(signal.SIGALRM, before)


def signalled_once(monkeypatch, place):
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
            signal.raise_signal(signal.SIGALRM)
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)
    return left


def compile_interrupted(monkeypatch, tmp_path, place, handler, wanted):
    import depyf.torch.capture.hub  # noqa: F401

    torch._dynamo.reset()
    signal.signal(signal.SIGALRM, handler)
    compiled = torch.compile(f, backend="eager")
    with depyf.prepare_debug(str(tmp_path / "dump")):
        left = signalled_once(monkeypatch, place)
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
    paths += [folder / "torch" / name for name in ("codes.py", "dump.py", "guards.py")]
    lacking, found = [], 0
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = [
            one for body in tree.body if not isinstance(body, ast.Try) for one in ast.walk(body)
        ]
        for one in inside:
            if isinstance(one, ast.ExceptHandler) and getattr(one.type, "id", "") in CATCH_ALL:
                found += 1
                first = ast.unparse(one.body[0])
                if first != "pass_on()" and not any(
                    isinstance(x, ast.Raise) for x in ast.walk(one)
                ):
                    lacking.append("%s:%d" % (path.name, one.lineno))
    assert found > 40
    assert lacking == []
