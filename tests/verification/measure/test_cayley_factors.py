"""thm-U2: two Cayley factors between any two unitary matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn.orthogonal.unitary import multiplicative_cayley_update
from verification.measure.cayley_factors import _widest_gap, cayley, two_cayley_factors


def haar(n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    Q, R = torch.linalg.qr(torch.randn(n, n, dtype=torch.complex128, generator=generator))
    return Q * (R.diagonal() / R.diagonal().abs())


def pairs(n: int) -> dict[str, tuple[Tensor, Tensor]]:
    W, one = haar(n, 0), torch.eye(n, dtype=torch.complex128)
    flip = one.clone()
    flip[0, 0] = -1
    return {
        "Haar": (W, haar(n, 1)),
        "equal": (W, W),
        "opposite": (W, -W),
        "cycle": (one, one.roll(1, 0)),
        "one reflection": (one, flip),
        "nearly equal": (W, W @ torch.diag(torch.exp(1e-13j * torch.arange(n, dtype=torch.float64)))),
    }


@pytest.mark.parametrize("n", range(1, 17))
def test_two_equal_factors_lead_from_every_unitary_matrix_to_every_other(n):
    for name, (W0, W1) in pairs(n).items():
        K = two_cayley_factors(W0, W1)
        assert torch.equal(K, -K.mH), name
        assert float(torch.linalg.matrix_norm(K, 2)) <= 1 + 1e-14, name
        assert float((cayley(K) @ cayley(K) @ W0 - W1).abs().max()) <= 1e-12, name


@pytest.mark.parametrize("n", [2, 5, 16])
def test_the_two_factors_are_two_steps_of_the_multiplicative_update(n):
    """With G = K W and step size 1: B = G W* − W G* = 2K, so λ/2 B = K; the loss is Re tr(G* W)."""
    W0, W1 = haar(n, 2), haar(n, 3)
    K = two_cayley_factors(W0, W1)
    W = W0
    for _ in range(2):
        W = multiplicative_cayley_update(W, K @ W, 1.0)
    assert float((W - W1).abs().max()) <= 1e-12


def test_one_step_does_not_reach_minus_the_start_and_real_steps_keep_the_determinant():
    """‖C(K) + I‖ ≥ 2/√(1 + ‖K‖²) for skew-Hermitian K: large K only come near."""
    K = two_cayley_factors(haar(4, 0), haar(4, 1))
    for scale in (1.0, 1e3):
        least = float(torch.linalg.svdvals(cayley(scale * K) + torch.eye(4)).min())
        norm = float(torch.linalg.matrix_norm(scale * K, 2))
        assert least == pytest.approx(2 / math.sqrt(1 + norm**2), rel=1e-9)
    A = torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    W = cayley(A - A.T)
    assert float(torch.linalg.det(W)) == pytest.approx(1, abs=1e-12)


def test_the_angles_are_a_quarter_of_those_of_the_quotient():
    angles = torch.tensor([3.0, -2.0, 0.5], dtype=torch.float64)
    V = haar(3, 4)
    Q = V @ torch.diag(torch.exp(1j * angles)) @ V.mH
    K = two_cayley_factors(torch.eye(3), Q)
    found = np.sort(np.linalg.eigvalsh((1j * K).numpy()))
    assert found == pytest.approx(np.sort(np.tan(angles.numpy() / 4)), abs=1e-14)


@pytest.mark.parametrize(
    ("W0", "W1", "message"),
    [
        (torch.eye(2), 2 * torch.eye(2), "W1 is not unitary"),
        (torch.ones(2, 2), torch.eye(2), "W0 is not unitary"),
        (torch.eye(2), torch.eye(3), "one size"),
        (torch.ones(3), torch.eye(3), "square"),
        (torch.eye(2), torch.eye(2) * float("nan"), "not finite"),
        (torch.empty(0, 0), torch.eye(2), "square"),
    ],
)
def test_what_is_not_unitary_is_refused(W0, W1, message):
    with pytest.raises(ValueError, match=message):
        two_cayley_factors(W0, W1)


@pytest.mark.parametrize("angles", [[0.3], [3.1, -3.1], [0.0, 0.1, 3.0], [-3.0, 0.5, 1.0, 2.9], [-1.0, -1.0, 1.0]])
def test_minus_1_is_put_into_the_middle_of_the_widest_gap(angles):
    """The least |1 + z e^{iθ}| is the largest that any z of modulus 1 has: 2 sin(gap/4), by trying 10,000 of them."""
    z = _widest_gap(torch.tensor(angles, dtype=torch.float64))
    assert abs(z) == pytest.approx(1, abs=1e-15)
    points = np.exp(1j * np.array(angles))
    tried = np.exp(2j * np.pi * np.arange(10_000) / 10_000)
    best = np.abs(1 + tried[:, None] * points[None, :]).min(axis=1).max()
    assert np.abs(1 + z * points).min() >= best - 1e-12
    assert np.abs(1 + z * points).min() <= best + 1e-3
