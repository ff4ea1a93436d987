"""Every unitary matrix from every other by two equal Cayley factors: W₁ = C(K) C(K) W₀, K skew-Hermitian, ‖K‖₂ ≤ 1.

    C(K) = (I + K)⁻¹(I − K)

So two updates of the full-capacity uRNN reach every unitary matrix (docs/derivations/scaled_cayley.md, thm-U2). Real
factors keep the determinant: real updates from W₀ never reach W₁ with det W₁ ≠ det W₀, and for real W₀ and W₁ the K
found here is complex in general.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from odernn.executions.recurrence import UNIT_ROUNDOFF


def cayley(K: Tensor) -> Tensor:
    """C(K) = (I + K)⁻¹(I − K).   (n, n) -> (n, n), complex128 for what is complex"""
    identity = torch.eye(len(K), dtype=K.dtype, device=K.device)
    factor: Tensor = torch.linalg.solve(identity + K, identity - K)
    return factor


def two_cayley_factors(W0: Tensor, W1: Tensor) -> Tensor:
    """K with W₁ = C(K)² W₀, exactly skew-Hermitian, ‖K‖₂ ≤ 1 up to rounding.   (n, n), (n, n) -> (n, n) complex128

    Q = W₁ W₀* has eigen-angles θ in (−π, π], K the eigenvalues −i tan(θ/4), so C(K) = √Q with angles θ/2. Eigenvectors
    are those of the Hermitian matrix i C(zQ), |z| = 1, where z puts −1 into the middle of the widest gap between the
    eigenvalues of zQ: they are orthonormal however close eigenvalues of Q are, and ‖C(zQ)‖₂ ≤ cot(π/(2n)).

    Raises ValueError when the matrices are not square of one shape, not finite, or not unitary to 64 n u (float64).
    """
    for name, W in (("W0", W0), ("W1", W1)):
        _check_unitary(name, W)
    if W0.shape != W1.shape:
        raise ValueError(f"W0 is {tuple(W0.shape)} and W1 {tuple(W1.shape)}. Give two matrices of one size.")
    Q = W1.to(torch.complex128) @ W0.to(torch.complex128).mH
    z = _widest_gap(torch.linalg.eigvals(Q).angle())
    hermitian = 1j * cayley(z * Q)
    _, V = torch.linalg.eigh((hermitian + hermitian.mH) / 2)
    angles = (V.mH @ Q @ V).diagonal().angle()
    K = (V * (-1j * torch.tan(angles / 4))) @ V.mH
    skew: Tensor = (K - K.mH) / 2
    return skew


def _widest_gap(angles: Tensor) -> complex:
    """z of modulus 1 such that −1 lies in the middle of the widest gap between the angles after adding that of z."""
    ordered = torch.sort(angles).values
    following = torch.cat((ordered[1:], ordered[:1] + 2 * math.pi))
    widest = int((following - ordered).argmax())
    middle = float((following + ordered)[widest]) / 2
    return complex(math.cos(math.pi - middle), math.sin(math.pi - middle))


def _check_unitary(name: str, W: Tensor) -> None:
    if W.dim() != 2 or W.shape[0] != W.shape[1] or not len(W):
        raise ValueError(f"{name} has shape {tuple(W.shape)}, but it is one square matrix (n, n), n >= 1.")
    wide = W.detach().to(torch.complex128)
    if not bool(torch.isfinite(torch.view_as_real(wide)).all()):
        raise ValueError(f"{name} is not finite. Look for a diverged step before it.")
    defect = float((wide.mH @ wide - torch.eye(len(W), dtype=torch.complex128, device=W.device)).abs().max())
    allowed = 64 * len(W) * UNIT_ROUNDOFF[torch.float64]
    if defect > allowed:
        raise ValueError(
            f"{name} is not unitary: max|W* W - I| is {defect:.3g}, and {allowed:.3g} is what rounding explains. "
            "Compute it in float64, or take its polar factor first."
        )
