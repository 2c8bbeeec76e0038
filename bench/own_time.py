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

    def wrap(self, owner, name, label=None):
        """Times a function from now on, as `label`, or else as its name."""
        real, label = getattr(owner, name), label or name

        def timed(*arguments, **keywords):
            if self._inside:
                return real(*arguments, **keywords)
            self._inside, begin = True, time.thread_time()
            try:
                return real(*arguments, **keywords)
            finally:
                spent = time.thread_time() - begin
                self.seconds[label] = self.seconds.get(label, 0.0) + spent
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


def parts():
    """A clock of what depyf calls and would call in any case: torch's texts of graphs and guards,
    CPython's `compile()`, the files, and the functions in C++.
    """
    clock = Clock()
    names = {"payload_of": "torch's texts", "compile": "compile()"}
    names.update(write_atomically="files", append_text="files")
    for name, module in list(sys.modules.items()):
        for known in names if name.startswith("depyf.") else ():
            if callable(vars(module).get(known)):
                clock.wrap(module, known, names[known])
    core = sys.modules["depyf._core"]
    for name in ("decompile", "compare", "kept_temporaries", "listing", "is_quiet"):
        clock.wrap(core, name, "C++")
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
    parser.add_argument(
        "--parts",
        action="store_true",
        help="also what of it torch's texts, compile(), files and C++ take",
    )
    options = parser.parse_args()

    import depyf.torch  # noqa: F401
    import torch._dynamo  # noqa: F401

    import depyf

    clock = watched()
    of_it = Clock()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        begin = time.thread_time()
        if options.way == "capture":
            stack.enter_context(depyf.capture())
        else:
            stack.enter_context(depyf.prepare_debug(folder, page=not options.no_page))
        if options.parts:
            of_it = parts()
        if options.workload == "many":
            many(options.compiles)
        else:
            other(options.workload)
        stack.close()
        total = time.thread_time() - begin
    own = sum(clock.seconds.values())
    told = {"ratio": round(total / (total - own), 3), "seconds": round(total, 3)}
    told["own"] = {name: round(value, 3) for name, value in clock.seconds.items()}
    if options.parts:
        told["parts"] = {name: round(value, 4) for name, value in of_it.seconds.items()}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
