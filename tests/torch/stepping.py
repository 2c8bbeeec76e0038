"""A program to step through: compiles, dumps, then runs once more without compiling. Arguments:
backend, folder.
"""

import sys

import depyf
import torch


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def main():
    compiled = torch.compile(toy_example, backend=sys.argv[1])
    a, b = torch.arange(10.0), torch.ones(10)
    with depyf.prepare_debug(sys.argv[2]):
        plain = compiled(a, b)
        compiled(a, -b)
    print("ready")  # a debugger stops here first
    with depyf.debug(pause=False):
        result = compiled(a, b)
        other = compiled(
            torch.arange(7.0), torch.ones(7)
        )  # fits no entry: runs as written, compiles nothing
    assert torch.equal(result, plain)
    assert torch.equal(other, toy_example(torch.arange(7.0), torch.ones(7)))
    print("finished")


if __name__ == "__main__":
    main()
