"""Numbers that the inverse of the scaled Cayley map reports, and where it draws its lines."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from odernn.orthogonal.signs import (
    cayley_inverse,
    flips,
    lu_signs,
    nearest_orthogonal,
    orthogonality_tolerance,
    pair_flips,
    scaled_cayley_inverse,
)

F64 = torch.float64


def orthogonal(n: int, seed: int) -> Tensor:
    return torch.linalg.qr(torch.randn(n, n, dtype=F64, generator=torch.Generator().manual_seed(seed)))[0]


def test_the_number_of_exchanges_is_that_of_the_exchanges():
    counts = []
    for seed in range(6):
        W = orthogonal(24, seed)
        d = lu_signs(W)
        A = cayley_inverse(W * d)
        counts.append(len(list(flips(A, d))))
        assert pair_flips(A, d).flips == counts[-1] == scaled_cayley_inverse(W).flips
    assert max(counts) > 1


def test_what_is_singular_to_rounding_depends_on_the_largest_singular_value():
    """The smallest at 12 u and at 4 u of the largest, n = 8: beyond n u and within."""
    Q, u = orthogonal(8, 0), 2.0**-53
    for scale in (1e-30, 1.0, 1e30):
        torch.testing.assert_close(nearest_orthogonal(scale * Q), Q, rtol=0, atol=64 * u)
        for smallest, refused in ((12 * u, False), (4 * u, True)):
            W = scale * torch.diag(torch.tensor([1.0] * 7 + [smallest], dtype=F64))
            if refused:
                with pytest.raises(ValueError, match="singular to within rounding"):
                    nearest_orthogonal(W)
            else:
                torch.testing.assert_close(nearest_orthogonal(W), torch.eye(8, dtype=F64), rtol=0, atol=1e-15)


def test_the_tolerance_of_orthogonality_is_16_n_u():
    assert orthogonality_tolerance(512, F64) == 16 * 512 * 2.0**-53 == pytest.approx(9.1e-13, rel=1e-2)
    assert orthogonality_tolerance(512, torch.float32) == 16 * 512 * 2.0**-24 == pytest.approx(4.9e-4, rel=1e-2)
