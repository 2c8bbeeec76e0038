"""Runs small programs under torch.compile and leaves a dump of each: `program.py FOLDER`."""

import os
import sys

import torch

import depyf

torch.manual_seed(0)


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def toy(folder):
    with depyf.prepare_debug(folder):
        compiled = torch.compile(toy_example)
        a, b = torch.linspace(-3, 3, 10), torch.linspace(-1, 2, 10)
        compiled(a, b)
        compiled(a, -b)


class Layer(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = torch.nn.Linear(size, size)
        self.outer = torch.nn.Linear(size, size)

    def forward(self, x):
        return x + self.outer(torch.relu(self.inner(x)))


class Model(torch.nn.Module):
    def __init__(self, size, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(size) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def training(folder, depth=20):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        compiled = torch.compile(Model(8, depth), backend="aot_eager")
        compiled(torch.ones(2, 8)).sum().backward()


def scaled(x, factor, values):
    y = x * factor
    for value in values:
        y = y + value
    return y


def recompiles(folder):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        compiled = torch.compile(scaled, backend="eager")
        compiled(torch.ones(3), 1.0, [1])
        compiled(torch.ones(4), 1.0, [1])
        compiled(torch.ones(4), 2.0, [1])
        compiled(torch.ones(4), 2.0, [1, 2])
        compiled(torch.ones(4, dtype=torch.float64), 2.0, [1, 2])


def ranks(folder):
    for rank, sizes in ((0, [3]), (1, [3, 3])):
        torch._dynamo.reset()
        with depyf.prepare_debug(os.path.join(folder, "rank_%d" % rank)):
            torch.compile(scaled, backend="eager")(torch.ones(3), 1.0, sizes)


def nothing(folder):
    with depyf.prepare_debug(folder):
        pass


if __name__ == "__main__":
    for program in (toy, training, recompiles, ranks, nothing):
        program(os.path.join(sys.argv[1], program.__name__))
