"""Scaled Cayley matrices as the library computes them in a dtype, entries as the rational numbers that floats are."""

from __future__ import annotations

from fractions import Fraction

import torch

from odernn.orthogonal.cayley import scaled_cayley, skew

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def computed(free: list[Fraction], signs: list[int], name: str) -> list[list[Fraction]]:
    """Ŵ by the library in the dtype ``name``; entries as they are stored. ArithmeticError if one is not finite, or the
    factors of I + A have a pivot that is rounded to 0.
    """
    entries = torch.tensor([float(value) for value in free], dtype=torch.float64).to(DTYPES[name])
    try:
        W = scaled_cayley(skew(entries, len(signs)), torch.tensor(signs, dtype=torch.int8))
    except RuntimeError as error:  # of torch.linalg.lu_factor
        raise ArithmeticError(f"a pivot of I + A is 0 in {name}") from error
    if not bool(torch.isfinite(W).all()):
        raise ArithmeticError(f"C(A) D is not finite in {name}")
    return [[Fraction(value) for value in row] for row in W.to(torch.float64).tolist()]
