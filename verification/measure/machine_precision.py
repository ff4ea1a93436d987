"""The precision of a dtype, measured where it computes."""

from __future__ import annotations

import torch

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}


def measured_epsilon(name: str, device: str = "cpu") -> float:
    """The smallest 2^−k with fl(1 + 2^−k) > 1, by additions on the device: the spacing of numbers after 1."""
    one = torch.ones((), dtype=DTYPES[name], device=device)
    eps = one.clone()
    while bool(one + eps / 2 > one):
        eps = eps / 2
    return float(eps)


def device_available() -> bool:
    """Whether torch has a CUDA device to compute on."""
    return torch.cuda.is_available()
