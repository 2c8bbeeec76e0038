#!/usr/bin/env python3
"""What looking costs: plain torch.compile against depyf.capture, depyf.prepare_debug and
TORCH_COMPILE_DEBUG=1.

Every measurement is a fresh process with cold caches. The ways are interleaved, and their order
turns from round to round, so that a machine that slows down slows all of them. Printed are ratios
of medians to plain torch.compile, and the noise: how far the median of one half of the plain rounds
is from that of the other half.

    python bench/overhead.py --backend inductor --workload toy --rounds 7
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

WAYS = ("plain", "capture", "prepare_debug", "TORCH_COMPILE_DEBUG")


def toy():
    """The toy example, both branches: (function, list of arguments, whether to run backward)."""
    import torch

    def toy_example(a, b):
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    return (
        toy_example,
        [(torch.randn(10), torch.ones(10)), (torch.randn(10), -torch.ones(10))],
        False,
    )


def encoder():
    """Two layers of a transformer encoder with a graph break between them, forward and backward."""
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(
                torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
                for _ in range(2)
            )

        def forward(self, x):
            x = self.layers[0](x)
            torch._dynamo.graph_break()
            return self.layers[1](x).sum()

    return Encoder(), [(torch.randn(2, 8, 32),)], True


def recompiles():
    """One function compiled for six shapes: many small compiles."""
    import torch

    def function(x):
        return (x.sin() + x.cos()).relu() * x.shape[0]

    torch._dynamo.config.automatic_dynamic_shapes = False
    return function, [(torch.randn(size),) for size in range(2, 8)], False


WORKLOADS = {"toy": toy, "encoder": encoder, "recompiles": recompiles}


def cpu_seconds():
    """Processor seconds of this process and of the children that it has waited for (inductor's
    compilers).
    """
    import resource
    import time

    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(way, workload, backend, folder):
    """Runs one workload in this process and prints the seconds from before the first compile to
    after the block.
    """
    import contextlib
    import time

    import torch
    import torch._dynamo

    if backend == "inductor":
        import torch._inductor.compile_fx

    if way in ("capture", "prepare_debug"):
        import depyf
        import depyf.recompile

        block = depyf.capture() if way == "capture" else depyf.prepare_debug(folder)
    else:
        block = contextlib.nullcontext()
    torch.manual_seed(0)
    function, calls, backward = WORKLOADS[workload]()
    begin, begin_cpu = time.perf_counter(), cpu_seconds()
    with block:
        compiled = torch.compile(function, backend=backend)
        for arguments in calls:
            result = compiled(*arguments)
            if backward:
                result.backward()
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - begin_cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu}))


def run(way, options):
    """One measurement in a fresh process with cold caches; returns its seconds and processor
    seconds.
    """
    folder = tempfile.mkdtemp(prefix="depyf-bench-")
    try:
        environment = dict(os.environ)
        environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "cache")
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        environment.pop("TORCH_COMPILE_DEBUG", None)
        if way == "TORCH_COMPILE_DEBUG":
            environment["TORCH_COMPILE_DEBUG"] = "1"
        done = subprocess.run(
            [
                sys.executable,
                os.path.abspath(__file__),
                "--measure",
                way,
                "--workload",
                options.workload,
                "--backend",
                options.backend,
                "--folder",
                os.path.join(folder, "dump"),
            ],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise SystemExit("%s failed:\n%s" % (way, done.stderr))
        return json.loads(done.stdout.strip().splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table(label, values):
    """Prints ratios of medians to plain; returns the noise of plain: its two halves' medians apart,
    over its median.
    """
    plain = statistics.median(values["plain"])
    print("%-22s %10s %8s %18s" % (label, "median s", "ratio", "min .. max"))
    for way, found in values.items():
        median = statistics.median(found)
        spread = "%.3f .. %.3f" % (min(found), max(found))
        print("%-22s %10.3f %8.3f %18s" % (way, median, median / plain, spread))
    halves = [
        statistics.median(part) for part in (values["plain"][::2], values["plain"][1::2]) if part
    ]
    noise = abs(halves[0] - halves[-1]) / plain
    print("noise of plain: %.1f %%" % (100 * noise))
    return noise


def main(arguments=None):
    """Runs the rounds and prints the table; with --json also writes the figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--workload", default="toy", choices=sorted(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.measure, options.workload, options.backend, options.folder)
        return
    ways = list(dict.fromkeys(["plain"] + options.ways))
    seconds = {way: [] for way in ways}
    for number in range(options.rounds):
        turn = number % len(ways)
        for way in ways[turn:] + ways[:turn]:
            seconds[way].append(run(way, options))
    title = "%s, backend %s, %d rounds, cold caches"
    print(title % (options.workload, options.backend, options.rounds))
    noise = {}
    for unit, label in (("seconds", "elapsed"), ("cpu", "processor")):
        values = {way: [one[unit] for one in found] for way, found in seconds.items()}
        noise[unit] = table(label, values)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump(
                {"options": vars(options), "seconds": seconds, "noise": noise}, stream, indent=1
            )


if __name__ == "__main__":
    main()
