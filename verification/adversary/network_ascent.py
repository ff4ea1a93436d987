"""Ascent on |dE/dθ| over a right side of thm-G or thm-G-inf: whole small networks, everything free but α, dt, N, L, m.

    A = w ⊙ y_{n−1} + V y^{q−1}_n + b,   z ← z − h ⊙ (tanh A + α y),   y ← y + h ⊙ z,   h = dt σ̂(c),   y⁰ = u ∈ ℝᵐ

Free are w, c, b, V of every layer, u_n, one target ȳ for all steps and, for thm-G, one form a in (0, 4/dt²) a neuron,
which the adversary chooses as badly for the theorem as it can. Of all θ of one name in one layer the largest derivative
counts; the states are bounded by their own maxima. Starts are those of ``gradient_ascent`` spread over the neurons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from verification.adversary import CPU
from verification.adversary.gradient_ascent import SMALLEST, Free
from verification.claim import Parameters
from verification.exact_text import rational, rationals
from verification.measure.gradient_theorems import GradientTheorem

DIGITS = 10**6
"""Candidates are rounded to fractions with denominators up to it."""


@dataclass(frozen=True)
class AscentPlace:
    """Where an ascent goes on: hyperparameters, and the layer and name of θ."""

    alpha: float
    dt: float
    steps: int
    depth: int
    width: int
    layer: int
    theta: str


def starts(count: int, at: AscentPlace, *, seed: int) -> Free:
    """A quarter at rest with w below −α and no input, a quarter saturated, the rest noise; (trajectories, numbers)."""
    generator = torch.Generator().manual_seed(seed % 2**63)
    neurons = at.depth * at.width

    def noise(size: int) -> Tensor:
        return torch.randn(count, size, generator=generator, dtype=torch.float64, device=CPU)

    free = {
        "w": 3 * noise(neurons),
        "c": 3 + noise(neurons),
        "b": noise(neurons),
        "V": noise(neurons * at.width),
        "u": noise(at.steps * at.width),
        "target": 3 * noise(at.width),
        "t": noise(neurons),
    }
    quarter = count // 4
    sizes = torch.logspace(-1, 3, quarter, dtype=torch.float64, device=CPU)
    free["w"][:quarter] = -at.alpha - sizes[:, None]
    for name in ("b", "u"):
        free[name][:quarter] = 0.0
    free["V"][:quarter, : at.width**2] = 0.0
    free["t"][:quarter] = 0.0
    free["target"][:quarter] = free["target"][:quarter].abs()
    free["b"][quarter : 2 * quarter] *= 10
    return free


def log_sides(free: Free, at: AscentPlace, theorem: GradientTheorem) -> tuple[Tensor, Tensor]:
    """log of the largest |dE/dθ| and of its bound, (trajectories,); differentiable."""
    count, depth, m, N = len(free["w"]), at.depth, at.width, at.steps
    w, c, b, t = (free[name].reshape(count, depth, m) for name in ("w", "c", "b", "t"))
    V, u = free["V"].reshape(count, depth, m, m), free["u"].reshape(count, N, m)
    if not torch.is_grad_enabled() or not w.requires_grad:
        w, c, b, V = (value.detach().requires_grad_() for value in (w, c, b, V))
    share = torch.sigmoid(c)
    h = at.dt * share
    y, z = ([torch.zeros_like(w[:, 0])] * depth for _ in range(2))
    largest = [[torch.zeros_like(w[:, 0]) for _ in range(depth)] for _ in range(2)]
    loss = torch.zeros_like(w[:, 0, 0])
    for n in range(N):
        below = u[:, n]
        for q in range(depth):
            drive = (V[:, q] @ below[:, :, None])[:, :, 0] + b[:, q]
            z[q] = z[q] - h[:, q] * (torch.tanh(w[:, q] * y[q] + drive) + at.alpha * y[q])
            y[q] = below = y[q] + h[:, q] * z[q]
            largest[0][q] = torch.maximum(largest[0][q], y[q].abs())
            largest[1][q] = torch.maximum(largest[1][q], z[q].abs())
        loss = loss + ((y[-1] - free["target"]) ** 2).sum(1) / (2 * N)
    leaf = {"w": w, "c": c, "b": b, "V": V}[at.theta]
    (slope,) = torch.autograd.grad(loss.sum(), [leaf], create_graph=torch.is_grad_enabled())
    size = slope[:, at.layer - 1].abs().flatten(1).amax(1)
    measured = torch.where(size > 0, size.clamp(min=SMALLEST).log(), -math.inf)  # 0 is below every bound
    form = 4 / at.dt**2 * torch.sigmoid(t)
    levels = [u.abs().amax((1, 2))[:, None].expand(count, m), *largest[0]]
    bound = _log_bound(at, theorem, w=w, V=V.abs(), h=h, rest=1 - share, form=form, y=levels, z=largest[1], free=free)
    return measured, bound


def _log_bound(
    at: AscentPlace,
    theorem: GradientTheorem,
    *,
    w: Tensor,
    V: Tensor,
    h: Tensor,
    rest: Tensor,
    form: Tensor,
    y: list[Tensor],
    z: list[Tensor],
    free: Free,
) -> Tensor:
    l, depth, p = at.layer - 1, at.depth, at.depth - at.layer
    one, first = torch.ones_like(h), depth - 1 if theorem.top_alone else l
    root = torch.sqrt(form * (1 - form * h * h / 4)) if theorem.has_forms else one
    if theorem.has_forms:
        ends = torch.maximum((at.alpha + w.clamp(max=0) - form).abs(), (at.alpha + w.clamp(min=0) - form).abs())
        rates = torch.asinh(h * ends / (2 * root))[:, first:].amax((1, 2))
    else:
        stiff = (w.abs().amax(2) + at.alpha).clamp(min=2.0)
        rates = (h.amax(2) * stiff)[:, first:].amax(1)
    j = torch.arange(at.steps, dtype=torch.float64, device=CPU)
    counts = sum(((j + i) / i).log() for i in range(1, p + 1)) + 0 * j
    total = torch.logsumexp(counts + j * rates[:, None], 1)
    for q in range(l + 1, depth):
        climbs = h[:, q] * (V[:, q] / root[:, q - 1, None, :]).sum(2)
        total = total + climbs.amax(1).clamp(min=SMALLEST).log()
    stretch = form.sqrt() if theorem.has_forms else one
    direct = {
        "b": h[:, l],
        "w": h[:, l] * y[l + 1],
        "V": h[:, l] * y[l].amax(1, keepdim=True),
        "c": h[:, l] * rest[:, l] * (1 + at.alpha * y[l + 1] + stretch[:, l] * z[l]),
    }[at.theta]
    error = free["target"].abs().amax(1) + y[-1].amax(1)
    outputs = math.log(at.width) if p and theorem.outputs else 0.0
    sizes = (direct.amax(1), error, (1 / root[:, -1]).amax(1))
    return total + outputs + sum(size.clamp(min=SMALLEST).log() for size in sizes)


def typed(free: Free, at: AscentPlace, *, forms: bool) -> Iterator[Parameters]:
    """The only trajectory as text, once for the neuron, or the neuron and source, of every θ of that name."""
    m, depth = at.width, at.depth
    values = {name: [_short(x) for x in value[0].tolist()] for name, value in free.items()}
    dt = Fraction(at.dt).limit_denominator(1000)
    common = {"m": str(m), "alpha": rational(Fraction(at.alpha)), "dt": rational(dt), "N": str(at.steps)}
    common["layer"] = str(at.layer)
    rest = {name: rationals(values[name]) for name in ("w", "c", "b")}
    for q in range(depth):
        rest[f"V{q + 1}"] = rationals(values["V"][q * m * m : (q + 1) * m * m])
    rest |= {name: rationals(values[name]) for name in ("u", "target")}
    if forms:
        share = torch.sigmoid(free["t"][0]).tolist()
        inside = [min(max(_short(x), Fraction(1, DIGITS)), 1 - Fraction(1, DIGITS)) for x in share]
        rest["form"] = rationals([4 / dt**2 * x for x in inside])
    for neuron in range(1, m + 1):
        for source in range(1, m + 1) if at.theta == "V" else (0,):
            yield {**common, "neuron": str(neuron), **({"source": str(source)} if source else {}), **rest}


def _short(x: float) -> Fraction:
    return Fraction(x).limit_denominator(DIGITS)
