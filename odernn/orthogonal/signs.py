"""The inverse of the scaled Cayley map: signs D and a skew-symmetric A with bounded entries such that W = C(A) D.

Signs from an elimination that chooses them (``lu_signs``), then exchanges of pairs while an entry is too large
(``pair_flips``), each an update of rank two. Helfrich, Willmott, Ye 2018 (scoRNN), Sec. 3; O'Dorney 2014. Decisions are
made in float64 on the CPU, whatever the dtype and the device of the argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from odernn.executions.recurrence import UNIT_ROUNDOFF

DEFAULT_TAU = 1 + 2.0**-20
"""Entries of A up to here are left alone: 1, the bound that can be reached, and room for rounding."""

REFRESH_EVERY = 64
"""Flips after which A is recomputed from W D, so that the rounding errors of the updates do not accumulate."""

REFRESH_BELOW = 2.0**8
"""C(A) D is taken as the W of a refresh only once max |a_ij| is at most this: its own error is of size u κ(I + A)."""


class Representation(NamedTuple):
    """W = C(A) D: A (n, n) skew-symmetric, ``signs`` (n,) the diagonal of D, and the number of pair flips it took."""

    A: Tensor
    signs: Tensor
    flips: int


class Flip(NamedTuple):
    """One exchange: the pair j < k (from 0), and A and the signs *after* it, float64 on the CPU."""

    j: int
    k: int
    A: Tensor
    signs: Tensor


def cayley_inverse(Z: Tensor) -> Tensor:
    """A = (I + Z)⁻¹(I − Z) for orthogonal Z without eigenvalue −1, exactly skew-symmetric.   (n, n) -> (n, n)

    Computed in float64, returned in the dtype of Z; not differentiable. Raises ValueError when Z is not square, not
    finite or not orthogonal (``orthogonality_tolerance``), and when −1 is an eigenvalue of Z to within rounding.
    """
    X = _cayley_of(_checked_orthogonal("Z", Z, None))
    # Of X, not of its skew part: a reflection is symmetric, and its huge X too. Near 1/(n u) only noise is left.
    largest = float(X.abs().max())
    if not largest * len(Z) * UNIT_ROUNDOFF[Z.dtype] < 2.0**-4:
        raise ValueError(
            f"Z has the eigenvalue -1 to within rounding (the largest entry of its Cayley transform is {largest:.1e}), "
            "so it is not C(A) for any A. Use scaled_cayley_inverse(Z), which finds signs that avoid this."
        )
    return _skew_part(X).to(device=Z.device, dtype=Z.dtype)


def lu_signs(W: Tensor) -> Tensor:
    """Signs d with |det(W + D)| ≥ 1, so that W D has no eigenvalue −1.   (n, n) -> (n,) int8

    Gaussian elimination on W + D without pivoting; d_k = sign(s_kk) for the Schur entry s_kk of W at step k, with
    sign(0) = +1, so the pivot s_kk + d_k has modulus at least 1. O(n³), no search.

    Raises ValueError when W is not square, not finite or not orthogonal (``orthogonality_tolerance``).
    """
    return _lu_signs(_checked_orthogonal("W", W, None)).to(W.device)


def flip_pair(A: Tensor, j: int, k: int) -> Tensor:
    """The Cayley transform of C(A) with columns j and k negated: the pivot transform of A on S = {j, k}, from 0.

    With α = a_jk ≠ 0 and r, s outside S,

        a'_jk = −1/α    a'_jr = −a_kr/α    a'_kr = a_jr/α    a'_rs = a_rs − (a_jr a_ks − a_kr a_js)/α

    It is its own inverse, multiplies det(I + C(A)) by α² and costs O(n²); A' is exactly skew-symmetric.
    """
    alpha = A[j, k].clone()
    p, q = A[j] / alpha, A[k].clone()
    p[j] = p[k] = q[j] = q[k] = 0
    pq = torch.outer(p, q)
    new = A - (pq - pq.T)  # p carries the 1/α: no product of two large entries can overflow
    row_j, row_k = -q / alpha, p
    row_k[j] = 1 / alpha
    new[j], new[:, j] = row_j, -row_j
    new[k], new[:, k] = row_k, -row_k  # a'_jk with it
    return new


def flips(A: Tensor, signs: Tensor, tau: float = DEFAULT_TAU, *, W: Tensor | None = None) -> Iterator[Flip]:
    """The exchanges that bring max |a_ij| down to ``tau``, the largest entry first; C(A) D stays the same.

    Each multiplies det(I + W D) ≤ 2ⁿ by a_jk² > τ², so there are at most (n log 2 − log det(I + W D)) / (2 log τ).
    Every ``REFRESH_EVERY`` flips A is recomputed from W D, W = C(A) D if it is not given. A tau closer to 1 than
    8 n² u is read as 1 + 8 n² u (u of float64): ties within rounding could flip for ever.

    Arguments are those of ``pair_flips``, which checks them. Raises RuntimeError if a signature comes back, which
    exact arithmetic excludes.
    """
    A, signs = in_float64(A), signs.detach().cpu().to(torch.int8)
    reference = None if W is None else in_float64(W)
    n = len(A)
    threshold = max(tau, 1 + 8 * n**2 * UNIT_ROUNDOFF[torch.float64])
    seen = {signs.numpy().tobytes()}
    while n > 1:
        magnitudes = A.abs()
        j, k = sorted(divmod(int(magnitudes.argmax()), n))
        largest = float(magnitudes[j, k])
        if largest <= threshold:
            return
        if reference is None and largest <= REFRESH_BELOW:
            reference = _cayley_of(A) * signs.to(A.dtype)
        A, signs = flip_pair(A, j, k), signs.clone()
        signs[[j, k]] *= -1
        if signs.numpy().tobytes() in seen:
            raise RuntimeError(
                f"The signature after flip {len(seen)} was there before (|a_jk| = {largest:.17g}, tau = {tau:.17g}): "
                "tau - 1 is below the rounding errors of A. Raise tau."
            )
        seen.add(signs.numpy().tobytes())
        if (len(seen) - 1) % REFRESH_EVERY == 0 and reference is not None:
            A = _skew_part(_cayley_of(reference * signs))
        yield Flip(j, k, A, signs)


def pair_flips(A: Tensor, signs: Tensor, tau: float = DEFAULT_TAU) -> Representation:
    """The same C(A) D with max |a_ij| ≤ ``tau``, by exchanging pairs of signs.   See ``flips``, ``flip_pair``

    Computed in float64; A returns in its dtype and on its device, signs as int8. Raises ValueError when A is not
    square, not finite or not skew-symmetric, when signs are not n numbers ±1, when tau < 1.
    """
    check_square("A", A)
    check_dtype("A", A)
    check_finite("A", A)
    checked_tau(tau)
    if not torch.equal(A.detach(), -A.detach().T):
        defect = float((A.detach() + A.detach().T).abs().max())
        raise ValueError(f"A is not skew-symmetric: max|A + A^T| is {defect:.3g}. Build it with skew(free, n).")
    checked = checked_signs(signs, len(A)).clone()
    B, count = A.detach().clone(), 0
    for flip in flips(A, checked, tau):
        B, checked, count = flip.A, flip.signs, count + 1
    return Representation(B.to(device=A.device, dtype=A.dtype), checked.to(A.device), count)


def scaled_cayley_inverse(W: Tensor, tau: float = DEFAULT_TAU, *, tolerance: float | None = None) -> Representation:
    """A and signs with W = C(A) D and max |a_ij| ≤ ``tau`` (to rounding).   (n, n) -> (n, n), (n,), number of flips

    ``lu_signs``, the Cayley transform of W D, then ``flips``. Exists for every orthogonal W when tau ≥ 1 (O'Dorney
    2014); for the 2x2 exchange matrix no smaller tau would do. Computed in float64; A returns in the dtype and on the
    device of W, signs as int8; not differentiable.

    Raises ValueError when W is not square, not finite, or max |WᵀW − I| exceeds ``tolerance``
    (``orthogonality_tolerance`` if not given), when tau < 1; TypeError for a dtype other than float32 and float64.
    """
    checked_tau(tau)
    exact = _checked_orthogonal("W", W, tolerance)
    signs = _lu_signs(exact)
    A, count = _skew_part(_cayley_of(exact * signs)), 0
    for flip in flips(A, signs, tau, W=exact):
        signs, count = flip.signs, count + 1
    if count:
        A = _skew_part(_cayley_of(exact * signs))
    return Representation(A.to(device=W.device, dtype=W.dtype), signs.to(W.device), count)


def nearest_orthogonal(W: Tensor) -> Tensor:
    """The orthogonal polar factor U Vᵀ of W = U Σ Vᵀ, the nearest orthogonal matrix in every unitarily invariant norm.

    Computed in float64, returned in the dtype of W; not differentiable. Raises ValueError when W is not square, not
    finite or singular to within rounding of its dtype: then there are several nearest.
    """
    check_square("W", W)
    check_dtype("W", W)
    check_finite("W", W)
    U, S, Vh = torch.linalg.svd(in_float64(W))
    polar: Tensor = U @ Vh
    smallest, limit = float(S[-1]), len(W) * UNIT_ROUNDOFF[W.dtype] * float(S[0])
    if smallest <= limit:
        raise ValueError(
            f"W is singular to within rounding: its smallest singular value is {smallest:.3g}, at most {limit:.3g}. "
            "Several orthogonal matrices are nearest; start from another W, for instance nn.init.orthogonal_(W)."
        )
    return polar.to(device=W.device, dtype=W.dtype)


def orthogonality_tolerance(n: int, dtype: torch.dtype) -> float:
    """16 n u, the largest max |WᵀW − I| that passes for rounding: 9e-13 in float64, 5e-4 in float32 at n = 512.

    Rounding an orthogonal W to the dtype leaves 2u; a backward stable W = C(A) D with κ(I + A) ≤ n leaves at most
    2 c n² u and in runs about n u (thm-O-float); QR and SVD leave less.
    """
    return 16 * n * UNIT_ROUNDOFF[dtype]


def in_float64(A: Tensor) -> Tensor:
    """The values of A in float64 on the CPU, where signs are decided."""
    return A.detach().cpu().to(torch.float64)


def _cayley_of(Z: Tensor) -> Tensor:
    """(I + Z)⁻¹(I − Z) of a float64 Z; nan everywhere when I + Z is singular."""
    identity = torch.eye(len(Z), dtype=Z.dtype)
    X: Tensor
    X, info = torch.linalg.solve_ex(identity + Z, identity - Z)
    return X if int(info) == 0 else torch.full_like(Z, math.nan)


def _skew_part(X: Tensor) -> Tensor:
    return (X - X.T) / 2


def _lu_signs(W: Tensor) -> Tensor:
    S = W.clone()
    signs = torch.ones(len(W), dtype=torch.int8)
    for k in range(len(W)):
        s_kk = float(S[k, k])
        signs[k] = 1 if s_kk >= 0 else -1
        pivot = s_kk + (1 if s_kk >= 0 else -1)
        S[k + 1 :, k + 1 :].addr_(S[k + 1 :, k], S[k, k + 1 :], alpha=-1 / pivot)
    return signs


def _checked_orthogonal(name: str, W: Tensor, tolerance: float | None) -> Tensor:
    """W in float64 on the CPU, or an error."""
    check_square(name, W)
    check_dtype(name, W)
    check_finite(name, W)
    exact = in_float64(W)
    limit = orthogonality_tolerance(len(W), W.dtype) if tolerance is None else tolerance
    defect = float((exact.T @ exact - torch.eye(len(W), dtype=exact.dtype)).abs().max())
    if not defect <= limit:
        raise ValueError(
            f"{name} is not orthogonal: max|{name}^T {name} - I| is {defect:.3g}, more than {limit:.3g}. "
            f"nearest_orthogonal({name}) projects it, as ScaledCayley(n, project=True) does with a weight."
        )
    return exact


def checked_tau(tau: float) -> float:
    """``tau`` if it is at least 1, or ValueError."""
    if not tau >= 1:
        raise ValueError(
            f"tau is {tau}, but below 1 some orthogonal matrices have no signs: for the 2x2 exchange matrix "
            f"|a_12| = 1 whatever D. Give tau >= 1; the default is 1 + 2^-20."
        )
    return float(tau)


def checked_signs(signs: Tensor, n: int) -> Tensor:
    """``signs`` as int8 if they are n numbers ±1, or ValueError."""
    if tuple(signs.shape) != (n,):
        raise ValueError(f"signs has shape {tuple(signs.shape)}, but n = {n}. Give one sign a column of W.")
    wrong = signs[(signs != 1) & (signs != -1)]
    if len(wrong):
        raise ValueError(f"signs holds {wrong[0].item()}, but the diagonal of D is +1 or -1. See signs_of(n, rho).")
    return signs.detach().to(torch.int8)


def check_square(name: str, A: Tensor) -> None:
    """ValueError unless A is one square matrix."""
    if A.dim() != 2 or A.shape[0] != A.shape[1] or not len(A):
        raise ValueError(f"{name} has shape {tuple(A.shape)}, but it is one square matrix. Give it as (n, n), n >= 1.")


def check_dtype(name: str, A: Tensor) -> None:
    """TypeError unless float32 or float64."""
    if A.dtype not in UNIT_ROUNDOFF:
        raise TypeError(
            f"{name} has dtype {A.dtype}, but a matrix is orthogonal to rounding only in float32 and float64. Keep the "
            "parameter in one of them; for mixed precision use torch.autocast, which leaves this map alone."
        )


def check_finite(name: str, A: Tensor) -> None:
    """ValueError about the first entry that is not finite."""
    bad = torch.nonzero(~torch.isfinite(A.detach()))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"{name} is not finite: entry {place} (from 0) is {A[place].item()}, one of {len(bad)}. "
            "Look for a diverged step or a division by zero before it."
        )
