"""Unitary matrices from 7n real numbers, applied in O(n log n).

    W = D_3 R_2 F⁻¹ D_2 Π R_1 F D_1                                      Arjovsky, Shah, Bengio 2016 (uRNN)

    D_k = diag(e^{iθ_k})    R_k = I − 2 v_k v_k*/(v_k* v_k)    F the unitary discrete Fourier transform
    Π h = (h_{π(1)}, …, h_{π(n)}) for a fixed permutation π

    angles       (3, n)      θ_1, θ_2, θ_3
    reflectors   (2, 2, n)   real and imaginary part of v_1, then of v_2; no v_k is 0
    permutation  (n,)        π, entries 0..n−1

U(n) has n² dimensions, so for n > 7 the count alone says that most unitary matrices have no such form (Wisdom et al.
2016). It is so for every n ≥ 6: seven directions of the parameters change nothing, see ``redundant_directions``, so the
image has at most 7n − 7 dimensions, and 7n − 7 < n² from n = 6 on.
"""

from __future__ import annotations

import torch
from torch import Tensor

from odernn.executions.autocast import without_autocast

__all__ = ["apply_restricted", "parameter_count", "redundant_directions", "restricted_unitary"]


def parameter_count(n: int) -> int:
    """7n: three times n angles and twice 2n reals."""
    return 7 * n


def redundant_directions(angles: Tensor, reflectors: Tensor, permutation: Tensor) -> Tensor:
    """Seven directions in the space of parameters along which W stands still.   -> (7, 7n), the angles first

        v_k ↦ c v_k, c ≠ 0 complex                    two real directions each: R_k is the same
        θ_j ↦ θ_j + t, θ_3 ↦ θ_3 − t                  for j = 1 and 2: a phase moves through all factors
        v_2 ↦ v_2 + t X v_2,  v_1 ↦ v_1 + t K* X K v_1,   K = F⁻¹ D_2 Π,   X = P − P*,   P = R_2 K R_1 K*

    *Proof* of the last. P is a product of two reflections, of v_2 and of K v_1, and W = D_3 P K F D_1. X is
    skew-Hermitian and commutes with the unitary P. Turning both vectors by e^{tX} turns P into e^{tX} P e^{−tX} = P. ∎

    They are independent for almost all parameters if n ≥ 2. Not differentiable; errors as ``apply_restricted``.
    """
    n = angles.shape[-1]
    _check_shapes(n, angles, reflectors, permutation)
    angles, reflectors = angles.detach(), reflectors.detach()
    v = torch.complex(reflectors[:, 0], reflectors[:, 1])
    D = torch.exp(1j * angles[1])
    moved = torch.fft.ifft(D * v[0, permutation], norm="ortho")
    turned = torch.stack([_commutator(moved, v[1], vector) for vector in (moved, v[1])])
    back = torch.empty_like(v[0])
    back[permutation] = D.conj() * torch.fft.fft(turned[0], norm="ortho")
    zero, ones = torch.zeros_like(v[0]), torch.ones_like(angles[0])
    tangents = [(v[0], zero), (1j * v[0], zero), (zero, v[1]), (zero, 1j * v[1]), (back, turned[1])]
    rows = [
        torch.cat((angles.new_zeros(3 * n), *(part for w in pair for part in (w.real, w.imag)))) for pair in tangents
    ]
    for phases in ((1.0, 0.0, -1.0), (0.0, 1.0, -1.0)):
        rows.append(torch.cat((*(c * ones for c in phases), reflectors.new_zeros(4 * n))))
    return torch.stack(rows)


def _commutator(a: Tensor, b: Tensor, h: Tensor) -> Tensor:
    """(R_b R_a − R_a R_b) h for the reflections of a and b."""
    one, other = (torch.stack((w.real, w.imag)) for w in (a, b))
    return _reflected(_reflected(h, one), other) - _reflected(_reflected(h, other), one)


def apply_restricted(h: Tensor, angles: Tensor, reflectors: Tensor, permutation: Tensor) -> Tensor:
    """W h for complex h (..., n), factor by factor: two Fourier transforms, two dot products, three phases.

    Differentiable. ``torch.autocast`` has no effect on it. Raises ValueError for shapes that do not fit.
    """
    n = h.shape[-1]
    _check_shapes(n, angles, reflectors, permutation)
    with without_autocast(angles):
        D = torch.complex(torch.cos(angles), torch.sin(angles))
        if not h.numel():  # MKL refuses to transform nothing
            return D[2] * h
        h = _reflected(torch.fft.fft(D[0] * h, norm="ortho"), reflectors[0])
        h = torch.fft.ifft(D[1] * h[..., permutation], norm="ortho")
        return D[2] * _reflected(h, reflectors[1])


def restricted_unitary(angles: Tensor, reflectors: Tensor, permutation: Tensor) -> Tensor:
    """W (n, n), complex: its columns are ``apply_restricted`` of the unit vectors, O(n² log n). Differentiable."""
    n = angles.shape[-1]
    like = torch.complex(angles, angles)
    return apply_restricted(torch.eye(n, dtype=like.dtype, device=like.device), angles, reflectors, permutation).mT


def _reflected(h: Tensor, reflector: Tensor) -> Tensor:
    """h − 2 v (v* h)/(v* v)."""
    v = torch.complex(reflector[0], reflector[1])
    share = (h * v.conj()).sum(dim=-1, keepdim=True) * (2.0 / reflector.square().sum())
    return h - share * v


def _check_shapes(n: int, angles: Tensor, reflectors: Tensor, permutation: Tensor) -> None:
    wanted = {"angles": (angles, (3, n)), "reflectors": (reflectors, (2, 2, n)), "permutation": (permutation, (n,))}
    for name, (value, shape) in wanted.items():
        if tuple(value.shape) != shape:
            raise ValueError(f"{name} has shape {tuple(value.shape)}, but vectors of size {n} need {shape}.")
