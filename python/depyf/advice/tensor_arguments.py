"""Which of torch's functions and methods take a tensor in place of a Python float, in a graph."""

from typing import Iterable

#: name -> a call with a tensor `v` where a float may stand; `x` and `y` are tensors of three
#: numbers. tests/torch/test_advice.py compiles each without a break, once for all values of `v`.
TAKE_TENSORS = {
    "add_": "x.clone().add_(y, alpha=v)",
    "addcmul_": "x.clone().addcmul_(y, y, value=v)",
    "clamp": "x.clamp(max=v)",
    "clamp_": "x.clone().clamp_(max=v)",
    "clamp_max": "x.clamp_max(v)",
    "clamp_min": "x.clamp_min(v)",
    "clip": "x.clip(max=v)",
    "div": "x.div(v)",
    "div_": "x.clone().div_(v)",
    "fill_": "x.clone().fill_(v)",
    "fmod": "x.fmod(v)",
    "lerp": "x.lerp(y, v)",
    "lerp_": "x.clone().lerp_(y, v)",
    "masked_fill": "x.masked_fill(x > 1, v)",
    "masked_fill_": "x.clone().masked_fill_(x > 1, v)",
    "mul": "x.mul(v)",
    "mul_": "x.clone().mul_(v)",
    "pow": "x.pow(v)",
    "pow_": "x.clone().pow_(v)",
    "remainder": "x.remainder(v)",
    "where": "torch.where(x > 1, v, x)",
}


def hedge(called: Iterable[str]) -> str:
    """How a sentence ends that advises a tensor for what some functions are given: "instead" where
    all of them take one, "" where one is not known to.
    """
    return "instead" if all(one in TAKE_TENSORS for one in called) else ""
