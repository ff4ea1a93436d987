"""How far inputs may move before a score does: oscillators with tanh, about one run.   docs/derivations/radii.md

    |⟨r, y'_N − y_N⟩| ≤ ‖r 𝓛_N‖_* ε + ⟨|r|, E_N(ε)⟩      for every u' with ‖u' − u‖ ≤ ε

thm-R. 𝓛_n is ∂y_n/∂(u_1 … u_N) at the run, E_n what the curvature of tanh, and rounding, add to it:

    E_n = Σ_{k≤n} |Φ(n, k)(h, 1)ᵀ| hq (s_k |V| E_k^{below} + T(A_k, δ_k))
    δ_k = ‖∂A_k/∂u‖_* ε + |w| E_{k−1} + |V| E_k^{below}

A step is z_n = q (z_{n−1} − h (tanh A_n + α y_{n−1})), y_n = y_{n−1} + h z_n, A_n = w y_{n−1} + V y_n^{below} + b:
UnICORNN with q = 1, DampedUnICORNN with its q. All in float64, rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from odernn.bounds.radii.norms import Norm
from odernn.bounds.reconstruction import PRECISIONS, Precision

CURVATURE = 0.76980036
"""max |tanh''| = 4/(3√3), rounded up."""

DOUBLE = PRECISIONS["float64"]


@dataclass(frozen=True, eq=False)
class OscillatorSteps:
    """One layer's step in float64: w, h, q, b (m,), α a number, V (m, below); Y, Z (m,) bound every computed state."""

    w: Tensor
    h: Tensor
    q: Tensor
    alpha: float
    V: Tensor
    b: Tensor
    Y: Tensor
    Z: Tensor


@dataclass(frozen=True, eq=False)
class ReadOut:
    """Scores R y + c of the last row, or of the mean of all: R (classes, m), c (classes,), float64."""

    R: Tensor
    c: Tensor
    of_mean: bool


@dataclass(eq=False)
class _LinearLayer:
    """What is carried through time of a layer: the run, its derivative 𝓛 by all inputs, and norms of its rows.

    y, z (B, m);  Dy, Dz (B, m, N d);  of every step so far, each (B, m): positions |y_n|, argument A, moduli that A is
    a sum of, slope s, norms of the rows of ∂A_n, ∂y_n, ∂z_n by u, and what rounding makes of those of ∂A_n (lost)
    """

    y: Tensor
    z: Tensor
    Dy: Tensor
    Dz: Tensor
    positions: list[Tensor] = field(default_factory=list)
    arguments: list[Tensor] = field(default_factory=list)
    moduli: list[Tensor] = field(default_factory=list)
    lost: list[Tensor] = field(default_factory=list)
    slopes: list[Tensor] = field(default_factory=list)
    by_argument: list[Tensor] = field(default_factory=list)
    by_position: list[Tensor] = field(default_factory=list)
    by_momentum: list[Tensor] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Linearised:
    """A run and its derivative: every layer's, and of what the read-out sees.

    seen (B, m), its derivative by the inputs (B, m, N d), the norms of the rows of that (B, m), and what ``seen`` is a
    sum of, in moduli (B, m)
    """

    layers: Sequence[_LinearLayer]
    seen: Tensor
    derivative: Tensor
    by_seen: Tensor
    moduli: Tensor


def gamma(terms: int, unit_roundoff: float) -> float:
    """k u/(1 − k u) for sums of that many products and 8 further operations."""
    return (terms + 8) * unit_roundoff / (1 - (terms + 8) * unit_roundoff)


def linearised(stack: Sequence[OscillatorSteps], inputs: Tensor, norm: Norm, *, of_mean: bool) -> Linearised:
    """The run on inputs (N, B, d), its derivative by them, and the norms of the rows of that."""
    steps, batch, size = inputs.shape
    columns = steps * size
    zero = [inputs.new_zeros(batch, len(layer.h)) for layer in stack]
    wide = [inputs.new_zeros(batch, len(layer.h), columns) for layer in stack]
    layers = [_LinearLayer(o, o.clone(), D, D.clone()) for o, D in zip(zero, wide, strict=True)]
    total, total_D = torch.zeros_like(zero[-1]), torch.zeros_like(wide[-1])
    for n in range(steps):
        seen = (n + 1) * size
        below, D_below, rows_below = inputs[n], None, inputs.new_ones(batch, size)
        for layer, at in zip(stack, layers, strict=True):
            if D_below is None:
                VD = inputs.new_zeros(batch, len(layer.h), seen)
                VD[:, :, seen - size :] = layer.V
            else:
                VD = layer.V @ D_below
            _step(layer, at, below, VD, rows_below, seen, norm, size)
            below, D_below, rows_below = at.y, at.Dy[:, :, :seen], at.by_position[-1]
        if of_mean:
            total, total_D = total + layers[-1].y, total_D + layers[-1].Dy
    if of_mean:
        rows, sizes = (torch.stack(of).mean(dim=0) for of in (layers[-1].by_position, layers[-1].positions))
        return Linearised(layers, total / steps, total_D / steps, rows, sizes)
    return Linearised(layers, layers[-1].y, layers[-1].Dy, layers[-1].by_position[-1], layers[-1].positions[-1])


def _step(
    layer: OscillatorSteps,
    at: _LinearLayer,
    below: Tensor,
    VD: Tensor,
    rows_below: Tensor,
    seen: int,
    norm: Norm,
    size: int,
) -> None:
    """One step of the run and of its derivative by the ``seen`` first columns; the norms are rounded up."""
    w, h, q, alpha = layer.w, layer.h, layer.q, layer.alpha
    A = torch.addcmul(below @ layer.V.T + layer.b, w, at.y)
    t = torch.tanh(A)
    s = 1 - t * t
    Dy, Dz = at.Dy[:, :, :seen], at.Dz[:, :, :seen]
    DA = VD + w[:, None] * Dy
    room = gamma(layer.V.shape[1] + 12, DOUBLE.unit_roundoff)
    before = at.by_position[-1] if at.by_position else torch.zeros_like(at.y)
    lost = room * (w.abs() * before + rows_below @ layer.V.abs().T)
    by_argument = norm.dual(DA, size) + lost
    at.lost.append(lost)
    at.moduli.append(w.abs() * at.y.abs() + below.abs() @ layer.V.abs().T + layer.b.abs())
    at.Dz[:, :, :seen] = q[:, None] * (Dz - h[:, None] * (s[:, :, None] * DA + alpha * Dy))
    at.Dy[:, :, :seen] = Dy + h[:, None] * at.Dz[:, :, :seen]
    at.z = q * (at.z - h * (t + alpha * at.y))
    at.y = at.y + h * at.z
    at.arguments.append(A)
    at.slopes.append(s)
    at.by_argument.append(by_argument)
    at.positions.append(at.y.abs())
    at.by_position.append(norm.dual(at.Dy[:, :, :seen], size))
    at.by_momentum.append(norm.dual(at.Dz[:, :, :seen], size))


def remainders(
    stack: Sequence[OscillatorSteps],
    run: Linearised,
    inputs: Tensor,
    radii: Tensor,
    precision: Precision,
    *,
    of_mean: bool,
) -> Tensor:
    """E(ε), (B, m, K), of what the read-out sees, for K radii of every sequence, (B, K).   thm-R (b), (c)"""
    steps, eps = len(inputs), radii[:, None, :]
    carried = [_Errors.of(layer, at, eps, steps) for layer, at in zip(stack, run.layers, strict=True)]
    total = torch.zeros_like(carried[-1].y)
    for n in range(steps):
        size = inputs[n].abs()[:, :, None] + eps
        below = torch.zeros_like(size)
        for layer, at, errors in zip(stack, run.layers, carried, strict=True):
            errors.step(layer, _At.of(at, n), n, below, size, eps, precision)
            below = errors.y
            size = at.positions[n][:, :, None] + at.by_position[n][:, :, None] * eps + below
        total += carried[-1].y
    return (total / steps if of_mean else carried[-1].y) * (1 + steps * 2.0**-51)


@dataclass(frozen=True, eq=False)
class _At:
    """What ``_LinearLayer`` has of one step, and of rows of ∂y, ∂z before and after it: each (B, m, 1)."""

    argument: Tensor
    moduli: Tensor
    lost: Tensor
    slope: Tensor
    by_argument: Tensor
    by_position: Tensor
    by_momentum: Tensor
    by_next: Tensor

    @classmethod
    def of(cls, at: _LinearLayer, n: int) -> _At:
        nothing = torch.zeros_like(at.y)
        before = (at.by_position[n - 1], at.by_momentum[n - 1]) if n else (nothing, nothing)
        now = at.arguments[n], at.moduli[n], at.lost[n], at.slopes[n], at.by_argument[n]
        return cls(*(each[:, :, None] for each in (*now, *before, at.by_momentum[n])))


@dataclass(eq=False)
class _Errors:
    """E of a layer: |E^y_n| ≤ y, |E^z_n| ≤ z, (B, m, K), and what they are made of.

    A change g (h, 1)ᵀ + η (1, 0)ᵀ that enters at step k is Φ(n, k) times that at step n. carried (B, m, 2, 2N) has
    Φ(n, k)(h, 1)ᵀ in its column 2k and Φ(n, k)(1, 0)ᵀ in the next; entered (B, m, 2N, K) has g and η, sizes.
    """

    y: Tensor
    z: Tensor
    carried: Tensor
    entered: Tensor

    @classmethod
    def of(cls, layer: OscillatorSteps, at: _LinearLayer, eps: Tensor, steps: int) -> _Errors:
        batch, units = at.y.shape
        nothing = at.y.new_zeros(batch, units, eps.shape[2])
        return cls(
            nothing,
            nothing,
            at.y.new_zeros(batch, units, 2, 2 * steps),
            at.y.new_zeros(batch, units, 2 * steps, eps.shape[2]),
        )

    def step(
        self, layer: OscillatorSteps, at: _At, n: int, below: Tensor, size: Tensor, eps: Tensor, precision: Precision
    ) -> None:
        """From n to n + 1 steps; ``below`` bounds E of the layer below, ``size`` the moduli of its computed states."""
        h, q, w, V = layer.h[:, None], layer.q[:, None], layer.w.abs()[:, None], layer.V.abs()
        s, alpha, u = at.slope, layer.alpha, DOUBLE.unit_roundoff
        room = 1 + (V.shape[1] + 8) * 4 * u
        pushed = V @ below
        delta = (at.by_argument * eps + w * self.y + pushed) * room
        bent = remainder_of_tanh(at.argument, delta, 4 * gamma(V.shape[1], u) * at.moduli)
        off, kick, drift = _rounded_off(layer, size, precision)
        by_z = 16 * u * (at.by_momentum + h * (s * at.by_argument + alpha * at.by_position)) + h * s * at.lost
        by_y = 4 * u * (at.by_position + h * at.by_next)
        kept_z = q * (self.z + h * (alpha + w * s) * self.y)
        lost_z, lost_y = 32 * u * kept_z, 32 * u * (self.y + h * kept_z)
        g = h * q * (s * pushed + bent + off) + kick + q * by_z * eps + lost_z
        eta = drift + by_y * eps + lost_y + h * lost_z
        self.entered[:, :, 2 * n], self.entered[:, :, 2 * n + 1] = g * room, eta * room
        self._carry(layer, alpha + layer.w * s[:, :, 0], n)
        found = self.carried[..., : 2 * n + 2].abs() @ self.entered[:, :, : 2 * n + 2] * (1 + (n + 8) * 8 * u)
        self.y, self.z = found[:, :, 0], found[:, :, 1]

    def _carry(self, layer: OscillatorSteps, k: Tensor, n: int) -> None:
        """Multiply what entered before by M(k), and let (h, 1)ᵀ and (1, 0)ᵀ enter."""
        h, before = layer.h[:, None], self.carried[..., : 2 * n]
        y, z = before[:, :, 0], before[:, :, 1]
        z.sub_(h * k[:, :, None] * y).mul_(layer.q[:, None])
        y.add_(h * z)
        self.carried[:, :, 0, 2 * n], self.carried[:, :, 1, 2 * n] = layer.h, 1.0
        self.carried[:, :, 0, 2 * n + 1] = 1.0


def remainder_of_tanh(A: Tensor, delta: Tensor, spread: Tensor) -> Tensor:
    """T ≥ |tanh(A + d) − tanh A − s d| for |d| ≤ δ, s within ``spread`` of tanh' at a point within it of A.

    Smallest of the Taylor remainders by |tanh''| and |tanh'''| ≤ 2, and |d| max(s, 1 − s) of a secant in (0, 1].
    """
    t = torch.tanh(A)
    s = 1 - t * t
    bend = 2 * t.abs() * s + 2 * spread + 2.0**-48
    taylor = torch.minimum(bend / 2 + delta / 3, torch.full_like(delta, CURVATURE / 2)) * delta
    secant = torch.maximum(s, 1 - s)
    return (torch.minimum(taylor, secant) + spread + 2.0**-48) * delta * (1 + 2.0**-48)


def _rounded_off(layer: OscillatorSteps, size: Tensor, precision: Precision) -> tuple[Tensor, Tensor, Tensor]:
    """What a step of a run in the dtype, and of the run here, rounds off: of A, along (h, 1)ᵀ, along (1, 0)ᵀ.

    As thm-damp (f), ∞ where a run in the dtype may overflow; ``size`` (B, below, K) bounds the moduli of what V
    multiplies.
    """
    width, moduli = layer.V.shape[1], layer.V.abs() @ size + layer.b.abs()[:, None]
    h, q, w, Y, Z = (each[:, None] for each in (layer.h, layer.q, layer.w.abs(), layer.Y, layer.Z))
    off, kick, drift = torch.zeros_like(moduli), torch.zeros_like(h), torch.zeros_like(h)
    for each in (precision, DOUBLE):
        u, nu = each.unit_roundoff, each.underflow
        room = gamma(width, u)
        off += (room + 4 * u * (1 + room)) * moduli + 4 * u * w * Y + 64 * (width + 1) * nu
        moved = q * (Z + h * (1 + layer.alpha * Y))
        one = 16 * u * moved + 64 * nu
        kick, drift = kick + one, drift + 4 * u * (Y + h * (moved + one)) + 64 * nu
    may_overflow = (moduli + w * Y + Z + (1 + h) * (1 + layer.alpha) * (1 + Y)) >= math.exp(precision.log_largest - 1)
    return off.masked_fill(may_overflow, torch.inf), kick, drift
