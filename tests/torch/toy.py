"""The toy example with a backend from the command line; see examples/toy.py."""

import sys

import torch


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def main(compiled):
    a, b = torch.linspace(-3, 3, 10), torch.linspace(-1, 2, 10)
    return [compiled(a, b), compiled(a, -b), compiled(b, a), compiled(-a, -b)]


if __name__ == "__main__":
    import depyf

    backend, folder = sys.argv[1:3]
    with depyf.prepare_debug(folder):
        found = main(torch.compile(toy_example, backend=backend))
    if len(sys.argv) > 3:
        torch.save(found, sys.argv[3])
    print("toy ran")
