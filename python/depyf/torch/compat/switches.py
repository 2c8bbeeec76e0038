"""Switches of torch: caches, what is compiled, and by which backend."""

import contextlib
import os
from typing import Any, Callable, Iterator

from depyf.torch.compat.probes import probe


def _cache_switches() -> Any:
    def find() -> Any:
        switches = []
        import torch._inductor.config as inductor

        for name, value in (("force_disable_caches", True), ("fx_graph_cache", False)):
            if hasattr(inductor, name):
                switches.append((inductor, name, value))
        import torch._functorch.config as functorch

        if hasattr(functorch, "enable_autograd_cache"):
            switches.append((functorch, "enable_autograd_cache", False))
        if not switches:
            raise AttributeError("torch has no switch for its compile caches")
        return switches

    return probe("switches of torch's caches", find)


@contextlib.contextmanager
def caches_off() -> Iterator[None]:
    """torch's compile caches are off inside the block and as before after it."""
    with contextlib.ExitStack() as stack:
        for config, name, value in _cache_switches() or ():
            stack.enter_context(config.patch(**{name: value}))
        yield


def find_set_stance() -> Any:
    def find() -> Any:
        import torch

        return torch.compiler.set_stance

    return probe("compiler stance", find)


@contextlib.contextmanager
def no_compile() -> Iterator[None]:
    """Compiled code runs inside the block and nothing is compiled.

    What fits no entry runs as written.
    """
    set_stance = find_set_stance()
    if set_stance is not None:
        with set_stance("eager_on_recompile"):
            yield
        return
    with _run_only():
        yield


#: the name of the one function that Dynamo is to compile, which it reads from the environment at
#: each compile
_ONLY_FUNCTION = "TORCHDYNAMO_DEBUG_FUNCTION"


@contextlib.contextmanager
def _run_only() -> Iterator[None]:
    # before 2.6 each optimised function installs its own callback when it is called, so the one
    # place that all of them ask is the callback's own question which function is to be compiled;
    # the compile limit, which it asks for next, makes torch 2.2 fail on code that was never
    # compiled
    before = os.environ.get(_ONLY_FUNCTION)
    os.environ[_ONLY_FUNCTION] = "<none>"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ONLY_FUNCTION]
        else:
            os.environ[_ONLY_FUNCTION] = before


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Inside the block compiled functions run as they were written."""
    set_stance = find_set_stance()
    if set_stance is None:
        yield
        return
    with set_stance("force_eager"):
        yield


@contextlib.contextmanager
def forced_backend(backend: Callable[..., Any]) -> Iterator[None]:
    """Inside the block every torch.compile uses this backend.

    Raises:
        RuntimeError: this torch cannot do that.
    """
    set_stance = find_set_stance()
    try:
        stance = set_stance(force_backend=backend) if set_stance is not None else None
    except TypeError:
        stance = None
    if stance is None:
        raise RuntimeError("this torch has no torch.compiler.set_stance(force_backend=...)")
    with stance:
        yield
