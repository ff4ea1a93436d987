"""Orthogonal recurrent matrices by the scaled Cayley transform, in both directions.

    W = C(A) D,   C(A) = (I + A)⁻¹(I − A),   Aᵀ = −A,   D = diag(±1)

Helfrich, Willmott, Ye 2018 (scoRNN), Sec. 3. Every orthogonal W has such a form with |a_ij| ≤ 1 (O'Dorney 2014; for
unitary W and D Kahan 2006): ``scaled_cayley_inverse`` finds it, ``ScaledCayley`` makes it a parametrisation of any
weight, and ``odernn.orthogonal.resigning`` keeps it during training.

    free    (n(n−1)/2,)  strict upper triangle of A, row by row: a_12, a_13, .., a_1n, a_23, ..
    A, W    (n, n)       skew-symmetric, orthogonal
    signs   (n,)         the diagonal of D, int8 where this module makes it

float32 and float64. Signs are decided in float64 on the CPU, whatever the dtype and the device of the argument.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from odernn.exact.integers import positive_integer
from odernn.executions.autocast import without_autocast
from odernn.orthogonal.factored_solve import factored, solve
from odernn.orthogonal.signs import (
    DEFAULT_TAU,
    Flip,
    Representation,
    cayley_inverse,
    check_dtype,
    check_square,
    checked_signs,
    checked_tau,
    flip_pair,
    flips,
    in_float64,
    lu_signs,
    nearest_orthogonal,
    orthogonality_tolerance,
    pair_flips,
    scaled_cayley_inverse,
)

__all__ = [
    "DEFAULT_TAU",
    "Flip",
    "Placement",
    "Representation",
    "ScaledCayley",
    "block_angles",
    "cayley_inverse",
    "flip_pair",
    "flips",
    "free_entries",
    "in_float64",
    "lu_signs",
    "modrelu",
    "nearest_orthogonal",
    "orthogonality_tolerance",
    "pair_flips",
    "scaled_cayley",
    "scaled_cayley_inverse",
    "signs_of",
    "skew",
]

Placement = Literal["aligned", "prefix", "random"]


def skew(free: Tensor, n: int) -> Tensor:
    """A with a_ij = free for i < j, row by row, and a_ji = −a_ij exactly.   (n(n−1)/2,) -> (n, n)

    Differentiable. Raises ValueError when ``free`` does not have n(n−1)/2 entries.
    """
    positive_integer("n", n)
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
    check_square("A", A)
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
    check_square("A", A)
    check_dtype("A", A)
    if tuple(signs.shape) != (len(A),):
        raise ValueError(f"signs has shape {tuple(signs.shape)}, but A has n = {len(A)} rows. Give one sign a column.")
    with without_autocast(A):
        identity = torch.eye(len(A), dtype=A.dtype, device=A.device)
        M = identity + A
        LU, pivots = factored(M)
        Z = solve(M, identity - A, LU, pivots, False)
        if refine:
            Z = Z + solve(M, identity - A - M @ Z, LU, pivots, False)
        return Z * signs.to(A.dtype)


class ScaledCayley(nn.Module):
    """free -> W = C(A) D as a parametrisation of a square weight of any module.   (n(n−1)/2,) -> (n, n)

        register_parametrization(linear, "weight", ScaledCayley(n))
        register_parametrization(rnn, "weight_hh_l0", ScaledCayley(n, project=True))

    The free parameter is then ``module.parametrizations.weight.original`` and this object
    ``module.parametrizations.weight[0]``. Assigning an orthogonal matrix to the weight, and registration does, sets
    both A and the signs, with max |a_ij| ≤ tau; ``initialise_`` sets given signs; ``resigning.re_sign`` keeps
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

    def __init__(self, n: int, *, tau: float = DEFAULT_TAU, project: bool = False, signs: Tensor | None = None) -> None:
        super().__init__()
        positive_integer("n", n)
        self.n = n
        self.tau = checked_tau(tau)
        self.project = project
        start = torch.ones(n, dtype=torch.int8) if signs is None else checked_signs(signs, n)
        self.register_buffer("signs", start.clone())

    def forward(self, free: Tensor) -> Tensor:
        """W = C(A) D, differentiable in the free entries of A.   (n(n−1)/2,) -> (n, n)"""
        check_dtype("The free parameter of ScaledCayley", free)
        return scaled_cayley(skew(free, self.n), self.signs)

    def right_inverse(self, W: Tensor) -> Tensor:
        """Free entries of an A with W = C(A) D for the signs that are set here.   (n, n) -> (n(n−1)/2,)"""
        if tuple(W.shape) != (self.n, self.n):
            raise ValueError(
                f"W has shape {tuple(W.shape)}, but this parametrisation has n = {self.n}. "
                f"Make it as ScaledCayley(n) for an (n, n) weight."
            )
        representation = scaled_cayley_inverse(nearest_orthogonal(W) if self.project else W, self.tau)
        with torch.no_grad():
            self.signs.copy_(representation.signs)
        return free_entries(representation.A)

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
    positive_integer("n", n)
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
    positive_integer("n", n)
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
