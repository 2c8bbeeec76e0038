"""Guards cost time at every call; a program that knows which code fits can do without them.

One hundred sub-modules each add an integer attribute of their own, and torch.compile guards on each of those integers. The
program calls the module 10,000 times and never changes one of them, so checking them is wasted. The wrapper below compiles
once and then runs that code directly.

    python examples/custom_dispatch.py
"""

import time

import torch
from depyf.optimization import TorchCompileWrapperWithCustomDispatcher


class Layer(torch.nn.Module):
    """Adds its own number."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x + self.number


class Model(torch.nn.Module):
    """A hundred layers, one behind the other."""

    def __init__(self, count=100):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(number) for number in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class WithoutGuards(TorchCompileWrapperWithCustomDispatcher):
    """Compiles at the first call, and runs that code at every later one."""

    def __init__(self, model, backend="inductor"):
        self.model = model
        super().__init__(torch.compile(self.forward, backend=backend), use_custom_dispatcher=True)

    def forward(self, x):
        return self.model(x)

    def __call__(self, x):
        if not self.compiled_codes:
            return self.compiled_callable(x)
        with self.dispatch_to_code(0):
            return self.forward(x)


def seconds(call, x, calls):
    """Elapsed seconds of so many calls, and the last result."""
    begin = time.perf_counter()
    for _ in range(calls):
        result = call(x)
    return time.perf_counter() - begin, result


def main(calls=10000, backend="inductor"):
    """Prints what the calls take with guards and without them."""
    x = torch.ones(1)
    # what torch 2.5 and later do unasked; before, torch takes it that modules do not change. Earlier ones keep the configuration
    # of torch.compile, and compare it at each call.
    with torch._dynamo.config.patch(guard_nn_modules=True):
        model = Model()
        with_guards = torch.compile(model, backend=backend)
        without_guards = WithoutGuards(model, backend)
        with_guards(x), without_guards(x)
        slow, expected = seconds(with_guards, x, calls)
        fast, result = seconds(without_guards, x, calls)
    assert torch.equal(expected, result)
    print("%d calls with guards:    %.3f s" % (calls, slow))
    print("%d calls without guards: %.3f s, %.1f times faster" % (calls, fast, slow / fast))
    return slow / fast


if __name__ == "__main__":
    main()
