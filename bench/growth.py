#!/usr/bin/env python3
"""What looking costs as programs grow: many compiles in one block, and programs of growing size.

depyf's own processor time and memory are measured, torch's are not: time inside the bytecode hook,
the trace handler and the end of the block; memory allocated by depyf's files. Printed are both per
compile (or per operation) at half the size and at full size; where they are linear the ratio is 1.

    python bench/growth.py --compiles 200 --operations 400
"""

import argparse
import gc
import linecache
import shutil
import tempfile
import time
import tracemalloc


class Meter:
    """Processor time that depyf itself takes, by wrapping the three places where torch and the
    program enter it.
    """

    def __init__(self):
        import importlib

        self.seconds = 0.0
        self._depth = 0
        self._capture = importlib.import_module("depyf.torch.capture")
        self._kept = []

    def __enter__(self):
        for owner, name in (
            (self._capture.Hub, "hooked"),
            (self._capture.Hub, "traced"),
            (self._capture.Session, "finish"),
        ):
            function = getattr(owner, name)
            self._kept.append((owner, name, function))
            setattr(owner, name, self._timed(function))
        return self

    def _timed(self, function):
        def timed(*arguments):
            begin = time.process_time()
            self._depth += 1
            try:
                return function(*arguments)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.process_time() - begin

        return timed

    def __exit__(self, *error):
        for owner, name, function in self._kept:
            setattr(owner, name, function)


def program(operations, number=0):
    """A function of so many operations with a graph break in the middle; text and function."""
    lines = ["def program_%d(x):" % number]
    for position in range(operations):
        lines.append("    x = x * %d + %d" % (position + 2, number))
        if position == operations // 2:
            lines.append("    torch._dynamo.graph_break()")
    lines.append("    return x")
    import torch

    names = {"torch": torch}
    # with its source at hand: torch up to 2.9 wraps a function that has none in one of its own
    filename = "<program %d of %d operations>" % (number, operations)
    linecache.cache[filename] = (0, None, [line + "\n" for line in lines], filename)
    exec(compile("\n".join(lines) + "\n", filename, "exec"), names)
    return names["program_%d" % number]


def run(sizes, folder):
    """Compiles programs of these sizes in one block; depyf's (seconds, bytes held at the end of the
    block).
    """
    import depyf
    import depyf.torch
    import torch

    torch._dynamo.reset()
    functions = [program(size, number) for number, size in enumerate(sizes)]
    gc.collect()
    tracemalloc.start()
    with Meter() as meter:
        with depyf.prepare_debug(folder) as found:
            for function in functions:
                torch.compile(function, backend="eager")(torch.ones(3))
        gc.collect()
        # what depyf itself allocated and still holds, and not what torch makes when depyf asks it
        # something
        kept = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(True, "*/depyf/*"), tracemalloc.Filter(True, "*<string>")]
        )
        held = sum(statistic.size for statistic in kept.statistics("filename"))
        tracemalloc.stop()
    assert len(list(found.entries())) == 2 * len(sizes), "a program was not compiled as expected"
    assert all(entry.replaced for entry in found.entries()), "a program was not proven"
    return meter.seconds, held


LABELS = ("compiles", "operations", "growing programs")


def measure(compiles, operations, labels=LABELS):
    """Ratios of cost per compile, and per operation, at full size to those at half size; 1 is
    linear.
    """
    folder = tempfile.mkdtemp(prefix="depyf-bench-")
    results = {}
    try:
        run([4, 4], folder + "/warm")
        for label, half, full in (
            ("compiles", [4] * (compiles // 2), [4] * compiles),
            ("operations", [operations // 2], [operations]),
            (
                "growing programs",
                [4 + number // 4 for number in range(compiles // 2)],
                [4 + number // 4 for number in range(compiles)],
            ),
        ):
            if label not in labels:
                continue
            small = run(half, folder + "/half_" + label)
            large = run(full, folder + "/full_" + label)
            # a compile costs something however small the program is
            factor = (sum(full) + 8 * len(full)) / float(sum(half) + 8 * len(half))
            results[label] = {
                "seconds": (small[0], large[0]),
                "bytes": (small[1], large[1]),
                "time ratio": large[0] / small[0] / factor,
                "memory ratio": large[1] / small[1] / factor,
            }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return results


def main(arguments=None):
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiles", type=int, default=200)
    parser.add_argument("--operations", type=int, default=400)
    options = parser.parse_args(arguments)
    import torch._dynamo  # noqa: F401 - before anything is measured

    print(
        "%-18s %9s %9s %7s %11s %11s %7s"
        % ("", "half, s", "full, s", "ratio", "half, KiB", "full, KiB", "ratio")
    )
    for label, found in measure(options.compiles, options.operations).items():
        print(
            "%-18s %9.3f %9.3f %7.2f %11.0f %11.0f %7.2f"
            % (
                (label,)
                + found["seconds"]
                + (found["time ratio"],)
                + tuple(size / 1024.0 for size in found["bytes"])
                + (found["memory ratio"],)
            )
        )


if __name__ == "__main__":
    main()
