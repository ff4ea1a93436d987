"""Orthogonal recurrent matrices by the scaled Cayley transform, in both directions.

    W = C(A) D,   C(A) = (I + A)⁻¹(I − A),   Aᵀ = −A,   D = diag(±1)

Helfrich, Willmott, Ye 2018 (scoRNN), Sec. 3. Every orthogonal W has such a form with |a_ij| ≤ 1 (O'Dorney 2014; for
unitary W and D Kahan 2006): ``scaled_cayley_inverse`` finds it, ``ScaledCayley`` makes it a parametrisation of any
weight, and ``odernn.resigning`` keeps it during training.

    free    (n(n−1)/2,)  strict upper triangle of A, row by row: a_12, a_13, .., a_1n, a_23, ..
    A, W    (n, n)       skew-symmetric, orthogonal
    signs   (n,)         the diagonal of D, int8 where this module makes it

float32 and float64. Signs are decided in float64 on the CPU, whatever the dtype and the device of the argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from odernn.recurrence import UNIT_ROUNDOFF

DEFAULT_TAU = 1 + 2.0**-20
"""Entries of A up to here are left alone: 1, the bound that can be reached, and room for rounding."""

REFRESH_EVERY = 64
"""Flips after which A is recomputed from W D, so that the rounding errors of the updates do not accumulate."""

REFRESH_BELOW = 2.0**8
"""C(A) D is taken as the W of a refresh only once max |a_ij| is at most this: its own error is of size u κ(I + A)."""

Placement = Literal["aligned", "prefix", "random"]


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


# ---------------------------------------------------------------------------------------------------- the two maps


def skew(free: Tensor, n: int) -> Tensor:
    """A with a_ij = free for i < j, row by row, and a_ji = −a_ij exactly.   (n(n−1)/2,) -> (n, n)

    Differentiable. Raises ValueError when ``free`` does not have n(n−1)/2 entries.
    """
    _check_count("n", n)
    if tuple(free.shape) != (n * (n - 1) // 2,):
        raise ValueError(
            f"free has shape {tuple(free.shape)}, but a skew-symmetric matrix with n = {n} has n(n-1)/2 = "
            f"{n * (n - 1) // 2} free entries. Give a vector of that length."
        )
    rows, columns = torch.triu_indices(n, n, 1, device=free.device)
    upper = free.new_zeros(n, n).index_put((rows, columns), free)
    return upper - upper.T


def free_entries(A: Tensor) -> Tensor:
    """The strict upper triangle of A row by row, the inverse of ``skew``.   (n, n) -> (n(n−1)/2,)

    The lower triangle is not read. Raises ValueError when A is not square.
    """
    _check_square("A", A)
    rows, columns = torch.triu_indices(len(A), len(A), 1, device=A.device)
    return A[rows, columns]


def scaled_cayley(A: Tensor, signs: Tensor, *, refine: bool = False) -> Tensor:
    """W = (I + A)⁻¹(I − A) D.   (n, n), (n,) -> (n, n)       Helfrich, Willmott, Ye 2018, Sec. 3

    A is skew-symmetric as ``skew`` makes it, ``signs`` is ±1; the values are not looked at. Differentiable to every
    order in A; one LU factorisation serves the map and all its derivatives:

        V = (I + A)⁻ᵀ (∂L/∂W) (D + Wᵀ),   ∂L/∂a_ij = (Vᵀ − V)_ij   for a_ij = −a_ji, i < j

    (there Thm. 3.2). ``torch.autocast`` has no effect on it, in either direction. The error of W is of size
    u ‖I + A‖₂, where ‖A‖₂ < 2n/π if all |a_ij| ≤ 1; ``refine`` adds one step of iterative refinement, at twice
    the cost: at n = 512 in float64 the Householder matrix of (1, .., 1), where all |a_ij| = 1, then has an error of
    1e-16 instead of 1e-12.

    Raises ValueError for shapes that do not fit, TypeError for a dtype other than float32 and float64.
    """
    _check_square("A", A)
    _check_dtype("A", A)
    if tuple(signs.shape) != (len(A),):
        raise ValueError(f"signs has shape {tuple(signs.shape)}, but A has n = {len(A)} rows. Give one sign a column.")
    with _without_autocast(A):
        identity = torch.eye(len(A), dtype=A.dtype, device=A.device)
        M = identity + A
        LU, pivots = torch.linalg.lu_factor(M.detach())
        Z = _solve(M, identity - A, LU, pivots, False)
        if refine:
            Z = Z + _solve(M, identity - A - M @ Z, LU, pivots, False)
        return Z * signs.to(A.dtype)


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


# ------------------------------------------------------------------------------------------------ the inverse problem


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
    row_j[k] = -1 / alpha
    row_k[j] = 1 / alpha
    new[j], new[:, j] = row_j, -row_j
    new[k], new[:, k] = row_k, -row_k
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
            reference = scaled_cayley(A, signs)
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
    _check_square("A", A)
    _check_dtype("A", A)
    _check_finite("A", A)
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
    _check_square("W", W)
    _check_dtype("W", W)
    _check_finite("W", W)
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


# ------------------------------------------------------------------------------------------------- parametrisation


class ScaledCayley(nn.Module):
    """free -> W = C(A) D as a parametrisation of a square weight of any module.   (n(n−1)/2,) -> (n, n)

        register_parametrization(linear, "weight", ScaledCayley(n))
        register_parametrization(rnn, "weight_hh_l0", ScaledCayley(n, project=True))

    The free parameter is then ``module.parametrizations.weight.original`` and this object
    ``module.parametrizations.weight[0]``. Assigning an orthogonal matrix to the weight, and registration does, sets
    both A and the signs, with max |a_ij| ≤ tau; ``initialise_`` sets given signs; ``odernn.resigning.re_sign`` keeps
    the bound during training. Every reading of the weight factors I + A, and nn.RNN reads it more than once a call:
    wrap the call in ``torch.nn.utils.parametrize.cached()``. (nn.RNN also keeps the last W, so torch cannot deep-copy
    it after a call; its state_dict is complete.)

    n        size of the weight
    tau      bound on |a_ij| in ``right_inverse`` and, unless said otherwise, in ``re_sign``; at least 1
    project  a weight that is not orthogonal is replaced by its polar factor; otherwise it is an error
    signs    the diagonal of D until W is assigned, all +1 if not given; a buffer of int8, part of the state_dict

    Helfrich, Willmott, Ye 2018. Raises ValueError and TypeError as ``scaled_cayley`` and ``scaled_cayley_inverse``.
    """

    signs: Tensor

    def __init__(
        self, n: int, *, tau: float = DEFAULT_TAU, project: bool = False, signs: Tensor | None = None
    ) -> None:
        super().__init__()
        _check_count("n", n)
        self.n = n
        self.tau = checked_tau(tau)
        self.project = project
        start = torch.ones(n, dtype=torch.int8) if signs is None else checked_signs(signs, n)
        self.register_buffer("signs", start.clone())

    def forward(self, free: Tensor) -> Tensor:
        """W = C(A) D, differentiable in the free entries of A.   (n(n−1)/2,) -> (n, n)"""
        _check_dtype("The free parameter of ScaledCayley", free)
        return scaled_cayley(skew(free, self.n), self.signs)

    def right_inverse(self, W: Tensor) -> Tensor:
        """Free entries of an A with W = C(A) D for the signs that are set here.   (n, n) -> (n(n−1)/2,)"""
        if tuple(W.shape) != (self.n, self.n):
            raise ValueError(
                f"W has shape {tuple(W.shape)}, but this parametrisation has n = {self.n}. "
                f"Make it as ScaledCayley(n) for an (n, n) weight."
            )
        found = scaled_cayley_inverse(nearest_orthogonal(W) if self.project else W, self.tau)
        with torch.no_grad():
            self.signs.copy_(found.signs)
        return free_entries(found.A)

    @torch.no_grad()
    def initialise_(
        self,
        free: Tensor,
        rho: int,
        *,
        placement: Placement = "aligned",
        generator: torch.Generator | None = None,
    ) -> None:
        """Overwrite ``free`` and the signs with ``block_angles`` and ``signs_of``: the start of scoRNN, D as given."""
        if tuple(free.shape) != (self.n * (self.n - 1) // 2,):
            raise ValueError(
                f"free has shape {tuple(free.shape)}, but n = {self.n} has {self.n * (self.n - 1) // 2} free entries. "
                "Give module.parametrizations.<weight>.original."
            )
        signs = signs_of(self.n, rho, placement, generator=generator)
        free.copy_(free_entries(block_angles(self.n, generator=generator, dtype=torch.float64)))
        self.signs.copy_(signs)

    def extra_repr(self) -> str:
        return f"n={self.n}, tau={self.tau!r}, project={self.project}"

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Signs that the constructor refuses are refused here too, before anything is overwritten.
        errors: list[str] = rest[-1]
        value = state_dict.get(prefix + "signs")
        if isinstance(value, Tensor) and value.shape == self.signs.shape and not value.is_meta:
            try:
                checked_signs(value, self.n)
            except ValueError as error:
                errors.append(str(error))
                return
        super()._load_from_state_dict(state_dict, prefix, *rest)


def block_angles(
    n: int,
    *,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """A = blockdiag of [[0, s], [−s, 0]], s = tan(t/2), t ~ U[0, π/2], and a last 0 if n is odd.   -> (n, n)

    s = √((1 − cos t)/(1 + cos t)) of Helfrich, Willmott, Ye 2018, Sec. 4.2: C(A) turns the planes by the angles t,
    its eigenvalues are e^{±it}, and 0 ≤ s ≤ 1. The dtype is torch's default unless given.
    """
    _check_count("n", n)
    drawn_on = None if generator is None else generator.device
    t = torch.rand(n // 2, generator=generator, dtype=torch.float64, device=drawn_on) * (math.pi / 2)
    above = torch.zeros(n - 1, dtype=torch.float64, device=drawn_on)
    above[0::2] = torch.tan(t / 2)
    A = torch.diag(above, 1)
    return (A - A.T).to(device=device, dtype=torch.get_default_dtype() if dtype is None else dtype)


def signs_of(n: int, rho: int, placement: Placement = "aligned", *, generator: torch.Generator | None = None) -> Tensor:
    """The diagonal of D with ρ entries −1.   -> (n,) int8       Helfrich, Willmott, Ye 2018, Sec. 4.2

    aligned   on the first ρ/2 of the 2x2 blocks of ``block_angles``, which turns their e^{±it} into −e^{±it}; ρ even
    prefix    on the first ρ coordinates; if ρ is odd, one block becomes a reflection with eigenvalues 1 and −1
    random    on ρ coordinates drawn without replacement by ``generator``

    Raises TypeError when ρ is not an integer, ValueError when it is outside 0..n, or odd with ``aligned``.
    """
    _check_count("n", n)
    if isinstance(rho, bool) or not isinstance(rho, int):
        raise TypeError(f"rho is {rho!r}, but it counts the entries -1: give an integer in 0..{n}.")
    if not 0 <= rho <= n:
        raise ValueError(f"rho is {rho}, but it counts the entries -1 among n = {n}: give an integer in 0..{n}.")
    if placement not in ("aligned", "prefix", "random"):
        raise ValueError(f'placement is {placement!r}. Give "aligned", "prefix" or "random".')
    if placement == "aligned" and rho % 2:
        raise ValueError(
            f'rho is {rho}, but placement "aligned" puts the -1s on whole 2x2 blocks. '
            'Give an even rho, or placement="prefix".'
        )
    signs = torch.ones(n, dtype=torch.int8)
    if placement == "random":
        drawn_on = None if generator is None else generator.device
        signs[torch.randperm(n, generator=generator, device=drawn_on)[:rho].cpu()] = -1
    else:
        signs[:rho] = -1
    return signs


def modrelu(z: Tensor, b: Tensor) -> Tensor:
    """sign(z) max(|z| + b, 0) with sign(0) = 0; z (.., n), b broadcastable to it.

    Its Jacobian by z is diag(1 where |z| + b > 0 and z ≠ 0, else 0), by b the same times sign(z): autograd of the
    formula gives just these, because torch takes |.|' and max(., 0)' as 0 at 0. Helfrich, Willmott, Ye 2018, Sec. 4.1.

    Raises ValueError when b does not fit z.
    """
    axes = zip(reversed(b.shape), reversed(z.shape), strict=False)
    if b.dim() > z.dim() or any(size not in (1, full) for size, full in axes):
        raise ValueError(
            f"b has shape {tuple(b.shape)} but z has {tuple(z.shape)}: b is one bias for each unit. "
            f"Give it the shape {tuple(z.shape[-1:])}."
        )
    return torch.sign(z) * torch.relu(z.abs() + b)


# ------------------------------------------------------------------------------------------------------------ inside


class _Solve(torch.autograd.Function):
    """X = M⁻¹ B, or M⁻ᵀ B, from the LU factors of M.

    Not torch.linalg.solve: its double backward factors anew, and its backward inside torch.autocast multiplies in
    bfloat16. Here every derivative of any order is a solve with the same factors, with autocast off.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(M: Tensor, B: Tensor, LU: Tensor, pivots: Tensor, transposed: bool) -> Tensor:
        X: Tensor = torch.linalg.lu_solve(LU, pivots, B, adjoint=transposed)
        return X

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        M, _, LU, pivots, ctx.transposed = inputs
        ctx.save_for_backward(M, LU, pivots, output)
        ctx.save_for_forward(M, LU, pivots, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        M, LU, pivots, X = ctx.saved_tensors
        with _without_autocast(M):
            dB = _solve(M, gradients[0], LU, pivots, not ctx.transposed)
            dM = -X @ dB.mT if ctx.transposed else -dB @ X.mT
        return dM, dB, None, None, None

    @staticmethod
    def jvp(ctx: Any, dM: Tensor, dB: Tensor, *_: Any) -> Tensor:
        M, LU, pivots, X = ctx.saved_tensors
        with _without_autocast(M):
            return _solve(M, dB - (dM.mT if ctx.transposed else dM) @ X, LU, pivots, ctx.transposed)


def _solve(M: Tensor, B: Tensor, LU: Tensor, pivots: Tensor, transposed: bool) -> Tensor:
    X: Tensor = _Solve.apply(M, B, LU, pivots, transposed)  # type: ignore[no-untyped-call]
    return X


def _without_autocast(like: Tensor) -> AbstractContextManager[Any]:
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()


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
    _check_square(name, W)
    _check_dtype(name, W)
    _check_finite(name, W)
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


def _check_count(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}, but it is the size of a matrix: give an integer of at least 1.")


def _check_square(name: str, A: Tensor) -> None:
    if A.dim() != 2 or A.shape[0] != A.shape[1] or not len(A):
        raise ValueError(f"{name} has shape {tuple(A.shape)}, but it is one square matrix. Give it as (n, n), n >= 1.")


def _check_dtype(name: str, A: Tensor) -> None:
    if A.dtype not in UNIT_ROUNDOFF:
        raise TypeError(
            f"{name} has dtype {A.dtype}, but a matrix is orthogonal to rounding only in float32 and float64. Keep the "
            "parameter in one of them; for mixed precision use torch.autocast, which leaves this map alone."
        )


def _check_finite(name: str, A: Tensor) -> None:
    bad = torch.nonzero(~torch.isfinite(A.detach()))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"{name} is not finite: entry {place} (from 0) is {A[place].item()}, one of {len(bad)}. "
            "Look for a diverged step or a division by zero before it."
        )
