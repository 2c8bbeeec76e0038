"""Why did this recompile? Each call below differs from the ones before in one thing."""

import torch


# Reasons are the same with every backend; this one is the quickest.
@torch.compile(backend="eager")
def scaled_mean(x, scale):
    return (x * scale).mean(0)


def main():
    scaled_mean(torch.ones(8, 4), 2)
    scaled_mean(torch.ones(16, 4), 2)  # another size
    scaled_mean(torch.ones(16, 4), 3)  # another number
    scaled_mean(torch.ones(16, 4, dtype=torch.float64), 3)  # another dtype
    with torch.no_grad():
        scaled_mean(torch.ones(16, 4), 3)  # another state of torch


if __name__ == "__main__":
    main()
