#!/usr/bin/env python3
"""What calls cost after compiling: code that depyf put in torch's place against torch's own, in one
process.

The program is compiled twice from two copies, once as it is and once inside depyf.prepare_debug;
the calls are interleaved. Printed is the ratio of processor time per call, the least of all rounds,
and the noise: the same for two copies of the first.

    python bench/steady.py --rounds 30
"""

import argparse
import shutil
import tempfile
import time

SOURCE = """
import torch

def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b
"""


def copy():
    """A fresh toy example with globals of its own."""
    names = {}
    exec(compile(SOURCE, "<toy>", "exec"), names)
    return names["toy_example"]


def measure(rounds=30, calls=500, backend="eager"):
    """Processor seconds per call, the least of the rounds: plain, plain once more, replaced by
    depyf.
    """
    import depyf
    import torch

    arguments = [(torch.randn(10), torch.ones(10)), (torch.randn(10), -torch.ones(10))]
    torch._dynamo.reset()
    functions = []
    folder = tempfile.mkdtemp(prefix="depyf-bench-")
    try:
        for way in ("plain", "again", "replaced"):
            compiled = torch.compile(copy(), backend=backend)
            functions.append((way, compiled))
            if way == "replaced":
                with depyf.prepare_debug(folder) as run:
                    for pair in arguments:
                        compiled(*pair)
                assert all(entry.replaced for entry in run.entries()), "nothing was replaced"
            for pair in arguments:
                compiled(*pair)
        best = {}
        for number in range(rounds):
            turn = number % len(functions)
            for way, compiled in functions[turn:] + functions[:turn]:
                begin = time.process_time()
                for _ in range(calls):
                    for pair in arguments:
                        compiled(*pair)
                seconds = (time.process_time() - begin) / (2 * calls)
                best[way] = min(best.get(way, seconds), seconds)
        return best
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments=None):
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--backend", default="eager")
    options = parser.parse_args(arguments)
    found = measure(options.rounds, options.calls, options.backend)
    print("torch's own code: %.2f us a call" % (1e6 * found["plain"]))
    print(
        "depyf's code:     %.2f us a call, ratio %.3f"
        % (1e6 * found["replaced"], found["replaced"] / found["plain"])
    )
    print("noise:            %.1f %%" % (100 * abs(found["again"] / found["plain"] - 1)))


if __name__ == "__main__":
    main()
