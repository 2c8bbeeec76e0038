"""A compiled program that is slow, for three reasons; docs/questions/slow_program.md finds them.

depyf run --breaks slow.py
depyf run --recompiles slow.py
depyf run --profile slow.py
"""

import torch


def forward(x, weight, scale):
    y = x @ weight
    if y.sum() > 0:  # 1. Python waits for the tensor's value
        y = y * scale
    return y


def step(x):
    # 3. so little work that guards and Python around the graph take longer than the graph
    return x + 1


compiled = torch.compile(forward, backend="eager")
compiled_step = torch.compile(step, backend="eager")
weight = torch.ones(8, 8)

for size in range(2, 8):
    for mode in ("small", "large"):
        # 2. a Python number that is another one at each call
        compiled(torch.ones(size, 8), weight, size if mode == "small" else float(size))

x = torch.ones(4)
for _ in range(2000):
    x = compiled_step(x)
print(x.sum())
