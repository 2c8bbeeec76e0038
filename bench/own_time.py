#!/usr/bin/env python3
"""What capturing adds to a block, within one process: depyf's own processor time beside the rest.

The ratio is (all) / (all without depyf's functions). It has none of the noise of two processes that
are compared, and misses what depyf costs elsewhere (memory, imports).

    python bench/own_time.py --workload many --compiles 60 --way prepare_debug
"""

import argparse
import contextlib
import importlib
import json
import os
import sys
import tempfile
import time

SOURCE = """\
def f{i}(x):
    y = x + {i}
    if y.sum() > {i}:
        y = y * {i}
    return y.sin()
"""


def many(count):
    """`count` functions with a graph break each: two compiles for each of them."""
    import linecache

    import torch

    for i in range(count):
        text, name = SOURCE.format(i=i), "<many %d>" % i
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope = {}
        exec(compile(text, name, "exec"), scope)
        torch.compile(scope["f%d" % i], backend="eager")(torch.ones(3))


def other(workload):
    """A workload of bench/overhead.py."""
    import torch

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import overhead

    function, calls, _ = overhead.WORKLOADS[workload]()
    compiled = torch.compile(function, backend="eager")
    for arguments in calls:
        compiled(*arguments)


class Clock:
    """Adds up the processor time of functions that it wraps, the outermost ones alone."""

    def __init__(self):
        self.seconds = {}
        self._inside = False
        self._wrapped = []

    def wrap(self, owner, name):
        real = getattr(owner, name)

        def timed(*arguments, **keywords):
            if self._inside:
                return real(*arguments, **keywords)
            self._inside, begin = True, time.thread_time()
            try:
                return real(*arguments, **keywords)
            finally:
                spent = time.thread_time() - begin
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
                self._inside = False

        setattr(owner, name, timed)
        self._wrapped.append((owner, name, real))

    def close(self):
        """Takes the wrappers away."""
        for owner, name, real in self._wrapped:
            setattr(owner, name, real)


def watched():
    """A clock of all through which depyf is called while a block is open."""
    package = importlib.import_module("depyf.torch.capture")
    clock = Clock()
    for name in ("hooked", "offered", "traced", "fused", "logged"):
        clock.wrap(package.Hub, name)
    for name in ("__enter__", "__exit__"):
        clock.wrap(package.capture, name)
    return clock


def main():
    """Runs one workload in one way and prints the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--workload", default="many", choices=["many", "toy", "recompiles", "encoder"]
    )
    parser.add_argument("--compiles", type=int, default=60, help="functions of `many`")
    parser.add_argument("--way", default="prepare_debug", choices=["capture", "prepare_debug"])
    parser.add_argument("--no-page", action="store_true", help="prepare_debug(..., page=False)")
    options = parser.parse_args()

    import depyf.torch  # noqa: F401
    import torch._dynamo  # noqa: F401

    import depyf

    clock = watched()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        begin = time.thread_time()
        if options.way == "capture":
            stack.enter_context(depyf.capture())
        else:
            stack.enter_context(depyf.prepare_debug(folder, page=not options.no_page))
        if options.workload == "many":
            many(options.compiles)
        else:
            other(options.workload)
        stack.close()
        total = time.thread_time() - begin
    own = sum(clock.seconds.values())
    rounded = {name: round(value, 3) for name, value in clock.seconds.items()}
    print(
        json.dumps(
            {"ratio": round(total / (total - own), 3), "seconds": round(total, 3), "own": rounded}
        )
    )


if __name__ == "__main__":
    main()
