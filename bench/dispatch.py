#!/usr/bin/env python3
"""What guards cost at every call, and what a call costs that does without them.

The module of examples/custom_dispatch.py (N sub-modules, torch guards on the integer of each) is
called with guards, with `TorchCompileWrapperWithCustomDispatcher`, and, as the bound that nothing
can beat, the compiled graph alone. The calls are interleaved; printed is the processor time of one,
the least of all rounds.

    python bench/dispatch.py --modules 100 1000
"""

import argparse
import importlib.util
import os
import time


def example():
    """The module examples/custom_dispatch.py."""
    path = os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "examples", "custom_dispatch.py"
    )
    spec = importlib.util.spec_from_file_location("custom_dispatch", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(modules=100, backend="inductor", rounds=30, calls=200):
    """Processor seconds of one call in each way."""
    import torch

    torch._dynamo.reset()
    shown = example()
    x = torch.ones(1)
    # torch 2.5 and later guard on modules unasked; earlier ones keep the configuration of
    # torch.compile, and compare it at each call
    with torch._dynamo.config.patch(guard_nn_modules=True):
        model = shown.Model(modules)
        guarded, free = torch.compile(model, backend=backend), shown.WithoutGuards(model, backend)
        assert torch.equal(guarded(x), free(x)) and torch.equal(free(x), guarded(x))
        code = free.compiled_codes[0]
        graph = free.forward.__func__.__globals__[
            next(name for name in code.co_names if name.startswith("__compiled_fn_"))
        ]
        ways = {"guarded": guarded, "without guards": free, "graph alone": graph}
        best = {}
        for _ in range(rounds):
            for way, call in ways.items():
                begin = time.process_time()
                for _ in range(calls):
                    call(x)
                seconds = (time.process_time() - begin) / calls
                best[way] = min(best.get(way, seconds), seconds)
    return best


def main(arguments=None):
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", type=int, nargs="+", default=[100])
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args(arguments)
    print("| sub-modules | guarded | without guards | graph alone | times faster |")
    print("| --- | --- | --- | --- | --- |")
    for modules in options.modules:
        found = measure(modules, options.backend, options.rounds)
        print(
            "| %d | %.1f us | %.1f us | %.1f us | %.1f |"
            % (
                modules,
                1e6 * found["guarded"],
                1e6 * found["without guards"],
                1e6 * found["graph alone"],
                found["guarded"] / found["without guards"],
            )
        )


if __name__ == "__main__":
    main()
