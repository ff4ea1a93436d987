"""Orthogonal and unitary recurrent matrices kept so by other means than the scaled Cayley map: updates, exponentials.

    W ← (I + λ/2 B)⁻¹ (I − λ/2 B) W,   B = G W* − W G*,   G = ∂L/∂W      Wisdom et al. 2016 (full-capacity uRNN)
    W = exp(A),   Aᵀ = −A                                                Lezcano-Casado, Martínez-Rubio 2019 (expRNN)

The first moves W itself, by a product with a unitary matrix: rounding errors of all steps stay in W. The second makes W
anew from free entries, as ``orthogonal.cayley.ScaledCayley`` does. ``unitarity_score`` measures what rounding leaves,
in more digits than W has. The product of Arjovsky et al. 2016 is in ``odernn.orthogonal.restricted_unitary``.

    W, G    (n, n)       real or complex, of single or double precision
    free    (n(n−1)/2,)  strict upper triangle of A, row by row, as in ``odernn.orthogonal.cayley``
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor, nn

from odernn.exact.integers import positive_integer
from odernn.executions.autocast import without_autocast
from odernn.orthogonal.cayley import free_entries, nearest_orthogonal, skew
from odernn.orthogonal.signs import check_dtype, check_finite, check_square, in_float64, orthogonality_tolerance

__all__ = [
    "MultiplicativeCayley",
    "SkewExponential",
    "complex_modrelu",
    "expm_skew",
    "multiplicative_cayley_update",
    "pair_of",
    "real_form",
    "skew_logarithm",
    "unitarity_score",
    "unitary_of",
]

REAL_DTYPES = {torch.complex64: torch.float32, torch.complex128: torch.float64}


# --- the multiplicative update


@torch.no_grad()
def multiplicative_cayley_update(W: Tensor, gradient: Tensor, step_size: float) -> Tensor:
    """W⁺ = (I + λ/2 B)⁻¹ (I − λ/2 B) W with B = G W* − W G*.   (n, n), (n, n) -> (n, n)       Wisdom et al. 2016

    G is the gradient as torch has it: of a real L, with ∂L/∂Re W + i ∂L/∂Im W for a complex W, so that L changes by
    Re tr(G* dW). B is skew-Hermitian, exactly also in floats, its Cayley transform unitary: in exact arithmetic W⁺ is
    as far from unitary as W is. Rounding adds of size u in every step and nothing takes it away.

    L descends: dL/dλ = −½ ‖B‖_F² at λ = 0. *Proof.* dW/dλ = −B W there. With P = W G*, B = P* − P, so

        dL/dλ = −Re tr(G* B W) = −Re tr(P (P* − P)) = −½ ‖P − P*‖_F².  ∎

    For every unitary W, whatever G is. One LU factorisation. Not differentiable; arguments are not written to.

    Raises ValueError for shapes that do not fit and a step size that is not finite, TypeError for a wrong dtype.
    """
    _check_field("W", W)
    if gradient.shape != W.shape or gradient.dtype != W.dtype or gradient.device != W.device:
        given = f"{tuple(gradient.shape)} {gradient.dtype} on {gradient.device}"
        raise ValueError(
            f"gradient is {given}, but W is {tuple(W.shape)} {W.dtype} on {W.device}. Give ∂L/∂W, as autograd does."
        )
    if not math.isfinite(step_size):
        raise ValueError(f"step_size is {step_size}, but a step is finite. Give a finite number, 0 for none.")
    with without_autocast(W):
        P = gradient @ W.mH
        half = (0.5 * step_size) * (P - P.mH)
        identity = torch.eye(len(W), dtype=W.dtype, device=W.device)
        updated: Tensor = torch.linalg.solve(identity + half, W - half @ W)
        return updated


def unitary_of(pair: Tensor) -> Tensor:
    """Re W + i Im W from ``pair`` (2, n, n), the two side by side as a real parameter keeps them. Differentiable."""
    return torch.complex(pair[0], pair[1])


def pair_of(W: Tensor) -> Tensor:
    """(2, n, n), real and imaginary part of W: the inverse of ``unitary_of``. Differentiable."""
    return torch.stack((W.real, W.imag))


def real_form(W: Tensor) -> Tensor:
    """[[Re W, −Im W], [Im W, Re W]] (2n, 2n), which acts on (Re h, Im h) as W does on h; a real W as it is."""
    if not W.is_complex():
        return W
    return torch.cat((torch.cat((W.real, -W.imag), dim=1), torch.cat((W.imag, W.real), dim=1)))


class MultiplicativeCayley(torch.optim.Optimizer):
    """``multiplicative_cayley_update`` as an optimizer of unitary weights, beside another one of all other weights.

        cayley = MultiplicativeCayley(network.unitary_parameters(), lr=1e-3)
        others = torch.optim.RMSprop(network.other_parameters(), lr=1e-3)

    params  each (n, n), real or complex, or (2, n, n), the real and the imaginary part of a complex one
    lr      λ > 0

    Weights without a gradient stay. Whether weights are unitary is not looked at: see ``unitarity_score``. Raises
    ValueError for a parameter of another shape and an lr that is not finite and positive.
    """

    def __init__(self, params: Iterable[Any], lr: float) -> None:
        super().__init__(params, {"lr": lr})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        lr = param_group.get("lr", self.defaults["lr"])
        if not (math.isfinite(lr) and lr > 0.0):
            raise ValueError(f"lr is {lr}, but a step down is finite and positive.")
        super().add_param_group(param_group)
        for parameter in self.param_groups[-1]["params"]:
            _check_unitary_parameter(parameter)

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One update of every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.dim() == 2:
                    parameter.copy_(multiplicative_cayley_update(parameter, parameter.grad, group["lr"]))
                else:
                    W, G = unitary_of(parameter), unitary_of(parameter.grad)
                    parameter.copy_(pair_of(multiplicative_cayley_update(W, G, group["lr"])))
        return loss


def _check_unitary_parameter(parameter: Tensor) -> None:
    shape = tuple(parameter.shape)
    is_pair = len(shape) == 3 and shape[0] == 2 and not parameter.is_complex()
    if not (len(shape) == 2 or is_pair) or shape[-1] != shape[-2] or not shape[-1]:
        raise ValueError(
            f"A parameter has shape {shape} and dtype {parameter.dtype}, but a unitary weight is (n, n), or (2, n, n) "
            "of real and imaginary part. Give the other parameters to another optimizer."
        )
    _check_precision("A parameter", parameter)


def complex_modrelu(z: Tensor, b: Tensor) -> Tensor:
    """z/|z| max(|z| + b, 0), 0 at z = 0; z (.., 2n) has n real parts and then n imaginary ones, b is (n,).

    Arjovsky et al. 2016. In the plane of an active unit the Jacobian is 1 along z and 1 + b/|z| across it: it is no
    projection, as that of ``orthogonal.cayley.modrelu`` is. For b ≤ 0 the function is non-expansive, soft thresholding
    of |z|. Squares neither overflow nor underflow. The authors' code divides by |z| + 1e-5 (amarshah/complex_RNN).

    Raises ValueError when b does not fit z.
    """
    if z.shape[-1] != 2 * b.shape[-1] or b.dim() != 1:
        raise ValueError(
            f"b has shape {tuple(b.shape)} but z has {tuple(z.shape)}: real and imaginary parts of n units are 2n "
            f"numbers, and b is one bias a unit. Give it the shape ({z.shape[-1] // 2},)."
        )
    parts = z.unflatten(-1, (2, -1))
    # |z| = m √(..) for every m > 0, so that no derivative needs to pass through m.
    m = parts.detach().abs().amax(dim=-2, keepdim=True)
    m = torch.where(m > 0.0, m, torch.ones_like(m))
    scaled = parts / m
    square = scaled.square().sum(dim=-2, keepdim=True)
    is_zero = square == 0.0
    root = torch.where(is_zero, torch.ones_like(square), square).sqrt()
    size = torch.relu(m * root + b)
    activation: Tensor = (scaled * torch.where(is_zero, torch.zeros_like(size), size / root)).flatten(-2)
    return activation


# --- the exponential


def expm_skew(A: Tensor) -> Tensor:
    """exp(A), orthogonal for Aᵀ = −A and unitary for A* = −A.   (n, n) -> (n, n)       Lezcano-Casado et al. 2019

    The values of A are not looked at. Differentiable to every order. Its image is the component det W = 1 of the
    orthogonal group, where it is onto; a single A serves ``orthogonal.cayley.scaled_cayley`` with all signs +1 for the
    W without eigenvalue −1 only. ``torch.autocast`` has no effect on it.

    Single precision is computed in double and rounded once. Of double precision a Newton–Schulz step takes away what
    scaling and squaring leave, thousands of u at ‖A‖ = 64. Measured for n = 2 … 512, ‖A‖₂ in [0, 64], real and
    complex, ‖W*W − I‖₂ stays below 2u, about what the rounding of the entries alone makes; u is 2⁻²⁴ or 2⁻⁵³. Errors
    of A are multiplied by ‖A‖ still, as in every way to compute it. The step is no part of derivatives: where W is
    unitary, the derivative of scaling and squaring is that of exp already. It is left out where W is far from unitary:
    of an A that is not skew this is exp(A), too. A device without double precision is none for it.

    Raises ValueError when A is not square, TypeError for a dtype of other than single or double precision.
    """
    _check_field("A", A)
    wide = torch.complex128 if A.is_complex() else torch.float64
    with without_autocast(A):
        W: Tensor = torch.linalg.matrix_exp(A.to(wide))
        if wide != A.dtype:
            return W.to(A.dtype)
        given = W.detach()
        residual = _residual(given)
        is_near = residual.abs().amax() < _NEARLY  # no look at the host
        return W + torch.where(is_near, 0.5 * (given @ residual), torch.zeros_like(given))


_NEARLY = 2.0**-20
"""The largest entry of I − W*W of a W that rounding alone keeps from being unitary."""
_FRONT = 2.0**25
"""1 in units of the last place of the front part of an entry."""


def _residual(W: Tensor) -> Tensor:
    """I − W*W of a nearly unitary W in half as many digits more than W has: its error is of size n 2⁻²⁵ u.

    W = H + L, H a multiple of 2⁻²⁵ and |L| ≤ 2⁻²⁶ (real and imaginary parts each). Products of entries of H are
    multiples of 2⁻⁵⁰, and partial sums of H*H at most 1 or so by Cauchy and Schwarz: 53 bits hold them, BLAS sums them
    exactly in any order. What is left, H*L + (H*L)* + L*L, is of size √n 2⁻²⁵, and is rounded as such.
    """
    parts = torch.view_as_real(W) if W.is_complex() else W
    front = torch.round(parts * _FRONT) / _FRONT
    H = torch.view_as_complex(front) if W.is_complex() else front
    L = W - H
    across = H.mH @ L
    eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
    return (eye - H.mH @ H) - (across + across.mH + L.mH @ L)


def skew_logarithm(W: Tensor) -> Tensor:
    """The principal logarithm: skew A with exp(A) = W and eigenvalues iθ, −π ≤ θ ≤ π, for W orthogonal, det W = 1.

    (n, n) -> (n, n), computed in float64 by a real Schur form, returned in the dtype of W; not differentiable. Raises
    ValueError when W is not square, not orthogonal to within ``orthogonality_tolerance``, or has det W = −1, TypeError
    for a dtype other than float32 and float64.
    """
    from scipy.linalg import schur  # torch has no Schur form

    check_square("W", W)
    check_dtype("W", W)
    check_finite("W", W)
    wide = in_float64(W)
    defect = float((wide.T @ wide - torch.eye(len(W), dtype=wide.dtype)).abs().max())
    if defect > orthogonality_tolerance(len(W), W.dtype):
        raise ValueError(
            f"W is not orthogonal: max |WᵀW − I| is {defect:.3g}. Give orthogonal.signs.nearest_orthogonal(W), or "
            "project=True where a module takes it."
        )
    T, Z = schur(nearest_orthogonal(wide).numpy(), output="real")
    vectors = torch.from_numpy(Z)
    A = vectors @ _plane_logarithms(torch.from_numpy(T)) @ vectors.T
    return (0.5 * (A - A.T)).to(device=W.device, dtype=W.dtype)


def _plane_logarithms(T: Tensor) -> Tensor:
    """The logarithm of a real Schur form of an orthogonal matrix: blocks 1, −1 and rotations by θ.

    LAPACK leaves an exact 0 below every block of one row. Two blocks −1 are a rotation by π.
    """
    n = len(T)
    angles, lone, place = torch.zeros_like(T), [], 0
    while place < n:
        if place + 1 < n and T[place + 1, place] != 0.0:
            a, b, c, d = T[place : place + 2, place : place + 2].flatten().tolist()
            angles[place + 1, place] = math.atan2(c - b, a + d)
            place += 2
            continue
        if T[place, place] < 0.0:
            lone.append(place)
        place += 1
    if len(lone) % 2:
        raise ValueError(
            "W has determinant −1, but exp(A) of a skew A has determinant 1. Change the sign of one row of W, or use "
            "odernn.orthogonal.cayley.ScaledCayley, which reaches both."
        )
    for one, other in zip(lone[::2], lone[1::2], strict=True):
        angles[other, one] = math.pi
    return angles - angles.T


class SkewExponential(nn.Module):
    """free -> W = exp(A) as a parametrisation of a square weight of any module.   (n(n−1)/2,) -> (n, n)

        register_parametrization(linear, "weight", SkewExponential(n))

    n        size of the weight
    project  a weight that is not orthogonal is replaced by its polar factor when it is assigned; else it is an error

    Assigning a W with determinant 1 to the weight sets ``free`` to its principal logarithm. Lezcano-Casado,
    Martínez-Rubio 2019. Raises ValueError and TypeError as ``expm_skew`` and ``skew_logarithm``.
    """

    def __init__(self, n: int, *, project: bool = False) -> None:
        super().__init__()
        self.n = positive_integer("n", n)
        self.project = project

    def forward(self, free: Tensor) -> Tensor:
        """W = exp(A), differentiable in the free entries of A.   (n(n−1)/2,) -> (n, n)"""
        check_dtype("The free parameter of SkewExponential", free)
        return expm_skew(skew(free, self.n))

    def right_inverse(self, W: Tensor) -> Tensor:
        """Free entries of the principal logarithm of W.   (n, n) -> (n(n−1)/2,)"""
        if tuple(W.shape) != (self.n, self.n):
            raise ValueError(
                f"W has shape {tuple(W.shape)}, but this parametrisation has n = {self.n}. "
                "Make it as SkewExponential(n) for an (n, n) weight."
            )
        return free_entries(skew_logarithm(nearest_orthogonal(W) if self.project else W))

    def extra_repr(self) -> str:
        return f"n={self.n}, project={self.project}"


# --- the score


@torch.no_grad()
def unitarity_score(W: Tensor) -> float:
    """‖W*W − I‖_F of W as it stands in the machine, in more digits than W has.

    Of a W of single precision in float64. Of one of double precision by slices of few bits whose products BLAS sums
    without any rounding: the matrix W*W − I then has an error below n^{3/2} 2⁻⁷⁰ max(1, max|w|²) in this norm, 1e-17
    at n = 512, where evaluating in float64 leaves 1e-14. The norm itself is rounded as norms are in float64.

    Raises ValueError when W is not square or not finite, and in double precision for n > 4096, 2048 if complex;
    TypeError for a wrong dtype.
    """
    _check_field("W", W)
    real = real_form(W.detach().cpu()).to(torch.float64)
    if not bool(torch.isfinite(real).all()):
        raise ValueError("W has an entry that is not finite, so it has no score. Look for the step that made it.")
    is_single = W.dtype in (torch.float32, torch.complex64)
    gram = _gram_of_single(real) if is_single else _gram_of_double(real)
    # The real form of a complex matrix has every entry twice.
    return float(torch.linalg.matrix_norm(gram)) / math.sqrt(len(real) / len(W))


def _gram_of_single(W: Tensor) -> Tensor:
    return W.T @ W - torch.eye(len(W), dtype=W.dtype)


SLICES, SLICE_BITS, LARGEST = 4, 20, 4096


def _gram_of_double(W: Tensor) -> Tensor:
    """WᵀW − I. W = Σ_s S_s, S_s a multiple of c 2^{−20 s}, |S_s| ≤ c 2^{−20 (s−1)}, c ≥ max|w| a power of two.

    So every product of two entries of S_s, S_t is a multiple of c² 2^{−20 (s+t)}, and a sum of 2¹² of them is at most
    c² 2^{−20 (s+t−2) + 12}: 52 bits hold it, in any order of summation. Dropped are the remainder of S_4, at most
    c 2⁻⁸¹, and none where |w| ≥ c 2⁻²⁷, and products with s + t > 5. What cancels with I is summed first, exactly.
    """
    n = len(W)
    if n > LARGEST:
        raise ValueError(f"W has {n} real rows, but sums of slices are exact up to {LARGEST}. Take a smaller W.")
    largest = float(W.abs().max())
    c = 2.0 ** math.ceil(math.log2(largest)) if largest > 0.0 else 1.0
    slices, rest = [], W
    for place in range(1, SLICES + 1):
        unit = c * 2.0 ** (-SLICE_BITS * place)
        part = torch.round(rest / unit) * unit
        slices.append(part)
        rest = rest - part
    total = -torch.eye(n, dtype=W.dtype)
    for order in range(2, SLICES + 2):
        for s in range(1, order):
            total = total + slices[s - 1].T @ slices[order - s - 1]
    return total


# --- validation


def _check_field(name: str, W: Tensor) -> None:
    check_square(name, W)
    _check_precision(name, W)


def _check_precision(name: str, W: Tensor) -> None:
    if W.dtype not in (*REAL_DTYPES, *REAL_DTYPES.values()):
        raise TypeError(
            f"{name} has dtype {W.dtype}, but a matrix is unitary to rounding only in single or double precision, real "
            "or complex. Keep the parameter in one of them."
        )
