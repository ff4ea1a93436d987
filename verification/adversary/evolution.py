"""CMA-ES over weights, with a beam over the inputs inside every evaluation. All restarts run as one batch.

``evolve`` is the (μ/μ_w, λ)-CMA-ES of Hansen (arXiv:1604.00772) with its default constants, every restart with a mean,
a step size and a covariance of its own. A member of the population is a row of real numbers; what it means as weights
inside the hypotheses is the objective's business (``between`` maps the line to an open interval). The objectives here
ask a beam for the inputs: hold a control for some steps, keep the best ``width`` per member, all members at once.

    RowGrowth  how fast a row e_y B_n ⋯ B_k grows with n − k over w and slopes σ′ ∈ {0, 1/9, 1}, a step, in the dual of
               the norm Q_a of thm-J. det B = 1: the same factors shrink another row as fast
    position   |y_N| of one neuron over w, V, b and inputs
    gradient   log|dE/db| of layer l of a chain over w, V, b, ȳ and inputs, measured by ``gradient_ascent``

The controls give the first two to problems whose optimum is known: where w may fall far below −α the row grows at most
by 2 asinh(h√W/2) a step (thm-J (c)); where w stays above −α/2 only long words grow, at least as fast as the one of
two quarter periods (thm-J (d)); and |y_N| ≤ h Σ |U_j| whatever w is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from odernn.bounds.words import best_word
from verification.adversary import CPU, gradient_ascent

Objective: TypeAlias = Callable[[Tensor], Tensor]
"""(members, dimension) → (members,): to be maximised."""

SLOPES = (1.0, 1 / 9, 0.0)
INPUTS = (-1.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Evolved:
    """Of every restart the best value and the point where it was reached; how often the objective was taken."""

    values: Tensor
    points: Tensor
    evaluations: int

    @property
    def best(self) -> Tensor:
        return self.points[int(self.values.argmax())]


def evolve(
    objective: Objective, start: Tensor, *, sigma: float, population: int, generations: int, seed: int
) -> Evolved:
    """start (restarts, dimension). Draws come from the CPU's generator, so every device sees the same."""
    restarts, n = start.shape
    options: dict[str, Any] = {"dtype": start.dtype, "device": start.device}
    generator = torch.Generator().manual_seed(seed % 2**63)
    parents = population // 2
    weights = math.log(parents + 0.5) - torch.arange(1, parents + 1, **options).log()
    weights = weights / weights.sum()
    mass = float(1 / weights.square().sum())
    c_sigma = (mass + 2) / (n + mass + 5)
    damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (n + 1)) - 1) + c_sigma
    c_c = (4 + mass / n) / (n + 4 + 2 * mass / n)
    c_one = 2 / ((n + 1.3) ** 2 + mass)
    c_mu = min(1 - c_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
    length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # E‖N(0, I)‖

    mean, size = start.clone(), torch.full((restarts,), sigma, **options)
    covariance = torch.eye(n, **options).repeat(restarts, 1, 1)
    path_size, path = torch.zeros(restarts, n, **options), torch.zeros(restarts, n, **options)
    values, points = torch.full((restarts,), -math.inf, **options), start.clone()
    for generation in range(1, generations + 1):
        scales, axes = torch.linalg.eigh(covariance)
        scales = scales.clamp(min=1e-30).sqrt()
        normal = torch.randn(restarts, population, n, generator=generator, dtype=start.dtype, device=CPU)
        normal = normal.to(start.device)
        steps = (normal * scales[:, None]) @ axes.mT
        tried = mean[:, None] + size[:, None, None] * steps
        fitness = objective(tried.reshape(-1, n)).reshape(restarts, population)
        fitness = torch.where(torch.isfinite(fitness), fitness, -math.inf)
        order = _ranked(fitness)
        top = fitness.gather(1, order[:, :1])[:, 0]
        better = top > values
        values = torch.where(better, top, values)
        best = tried.gather(1, order[:, :1, None].expand(-1, 1, n))[:, 0]
        points = torch.where(better[:, None], best, points)
        elite = steps.gather(1, order[:, :parents, None].expand(-1, parents, n))
        moved = torch.einsum("k,rkn->rn", weights, elite)
        mean = mean + size[:, None] * moved
        white = ((moved[:, None] @ axes) / scales[:, None]) @ axes.mT
        path_size = (1 - c_sigma) * path_size + math.sqrt(c_sigma * (2 - c_sigma) * mass) * white[:, 0]
        norm = path_size.norm(dim=1)
        expected = math.sqrt(1 - (1 - c_sigma) ** (2 * generation))
        calm = (norm / expected < (1.4 + 2 / (n + 1)) * length).to(start.dtype)[:, None]
        path = (1 - c_c) * path + calm * math.sqrt(c_c * (2 - c_c) * mass) * moved
        missing = (1 - calm[:, :, None]) * c_c * (2 - c_c)
        rank_one = path[:, :, None] * path[:, None] + missing * covariance
        rank_mu = torch.einsum("k,rki,rkj->rij", weights, elite, elite)
        covariance = (1 - c_one - c_mu) * covariance + c_one * rank_one + c_mu * rank_mu
        covariance = (covariance + covariance.mT) / 2
        size = size * ((c_sigma / damping) * (norm / length - 1)).clamp(max=1.0).exp()
    return Evolved(values, points, generations * restarts * population)


def _ranked(values: Tensor) -> Tensor:
    """Members of every restart, best first."""
    return values.argsort(dim=1, descending=True, stable=True)


def between(low: float, high: float, x: Tensor) -> Tensor:
    """The line into (low, high)."""
    return low + (high - low) * torch.sigmoid(x)


# --- the beam over inputs


@dataclass(frozen=True, eq=False)
class Held:
    """The best of every member: its ``state`` columns, its score, and the choices (stages, members) that led there."""

    state: tuple[Tensor, ...]
    scores: Tensor
    choices: Tensor


def beam_over_inputs(
    state: tuple[Tensor, ...],
    advance: Callable[[tuple[Tensor, ...], Tensor], tuple[Tensor, ...]],
    score: Callable[[tuple[Tensor, ...]], Tensor],
    *,
    controls: int,
    stages: int,
    width: int,
) -> Held:
    """``state`` (members, 1) each; ``advance(state, choice)`` holds control ``choice`` (members, kept) for a stage."""
    members, device = state[0].shape[0], state[0].device
    parents, chosen = [], []
    for _ in range(stages):
        kept = state[0].shape[1]
        choice = torch.arange(controls, device=device).repeat(kept).expand(members, -1)
        state = advance(tuple(component.repeat_interleave(controls, dim=1) for component in state), choice)
        keep = torch.nan_to_num(score(state), nan=-math.inf).topk(min(width, kept * controls), dim=1).indices
        state = tuple(component.gather(1, keep) for component in state)
        parents.append(keep // controls)
        chosen.append(keep % controls)
    scores, index = torch.nan_to_num(score(state), nan=-math.inf).max(dim=1)
    index = index[:, None]
    best = tuple(component.gather(1, index)[:, 0] for component in state)
    choices = []
    for parent, choice in zip(reversed(parents), reversed(chosen), strict=True):
        choices.append(choice.gather(1, index)[:, 0])
        index = parent.gather(1, index)
    return Held(best, scores, torch.stack(choices[::-1]))


# --- how fast a product of Jacobians grows


@dataclass(frozen=True)
class RowGrowth:
    """One neuron: α, h, the number of steps, steps a slope is held, and the width of the beam."""

    alpha: float
    step_size: float
    steps: int
    hold: int
    width: int = 8

    def __call__(self, w: Tensor) -> Tensor:
        """(members,) → log of ‖e_y B_n ⋯ B_k‖ over that of e_y, a step; the slopes are the beam's."""
        return self.held(w).scores / (self.steps // self.hold * self.hold)

    def held(self, w: Tensor) -> Held:
        alpha, h = self.alpha, self.step_size
        slopes = torch.tensor(SLOPES, dtype=w.dtype, device=w.device)
        stiff = -alpha - w  # W of thm-J (c) where it is positive
        a = torch.where(stiff > 0, stiff / (1 + h * h * stiff / 2), alpha + w / 2)[:, None].clamp(min=1e-12)

        def size(p: Tensor, q: Tensor) -> Tensor:
            # Q_a = [[a, −ah/2], [−ah/2, 1]]: a row is measured by its inverse
            return ((p * p + a * h * p * q + a * q * q) / (a * (1 - a * h * h / 4))).sqrt()

        def advance(state: tuple[Tensor, ...], choice: Tensor) -> tuple[Tensor, ...]:
            p, q, logs = state
            kappa = alpha + w[:, None] * slopes[choice]
            for _ in range(self.hold):
                q = q + h * p
                p = p - h * kappa * q
            scale = size(p, q)
            return p / scale, q / scale, logs + scale.log()

        one = torch.ones_like(w)[:, None]
        return beam_over_inputs(
            (one / size(one, 0 * one), 0 * one, 0 * one),
            advance,
            lambda state: state[2],
            controls=len(SLOPES),
            stages=self.steps // self.hold,
            width=self.width,
        )


def fastest_growth(
    growth: RowGrowth,
    low: float,
    high: float,
    *,
    restarts: int,
    population: int,
    generations: int,
    seed: int,
    device: torch.device = CPU,
) -> tuple[float, float, int]:
    """(rate a step, w, evaluations) over w in (low, high)."""
    start = torch.linspace(0.0, 2.0, restarts, dtype=torch.float64, device=device)[
        :, None
    ]  # nearer to ``high``: small |w| first
    evolved = evolve(
        lambda x: growth(between(low, high, x[:, 0])),
        start,
        sigma=1.5,
        population=population,
        generations=generations,
        seed=seed,
    )
    w = between(low, high, evolved.best[:1])
    return float(growth(w)), float(w), evolved.evaluations


# --- states and gradients


def position(weights: Tensor, *, alpha: float, step_size: float, steps: int, hold: int, width: int) -> Tensor:
    """(members, 3) rows w, V, b → |y_N| of one neuron, the inputs ±1 and 0 by a beam that keeps the largest Q_a."""
    w, V, b = (column[:, None] for column in weights.T)
    inputs = torch.tensor(INPUTS, dtype=weights.dtype, device=weights.device)
    a = max(alpha, 1 / (steps * step_size) ** 2)

    def advance(state: tuple[Tensor, ...], choice: Tensor) -> tuple[Tensor, ...]:
        y, z, n = state
        for _ in range(hold):
            z = z - step_size * (torch.tanh(w * y + V * inputs[choice] + b) + alpha * y)
            y = y + step_size * z
        return y, z, n + 1

    stages = steps // hold

    def score(state: tuple[Tensor, ...]) -> Tensor:
        y, z, n = state
        energy = a * y * y + z * z - a * step_size * y * z
        return torch.where(n >= stages, y.abs(), energy)

    zero = torch.zeros_like(w)
    return beam_over_inputs((zero, zero, zero), advance, score, controls=len(INPUTS), stages=stages, width=width).scores


def gradient(
    weights: Tensor, *, alpha: float, dt: float, steps: int, depth: int, layer: int, width: int
) -> tuple[Tensor, gradient_ascent.Free]:
    """(members, 3 depth + 1) rows w, V, b, ȳ → log|dE/db| of ``layer`` and the point for ``gradient_ascent``.

    The beam chooses the pre-activation of the first layer among −2, 0, 2 at every step (V^1 ≠ 0: the input follows) and
    keeps the largest tangents; then the exact gradient is taken once.
    """
    w, V, b = (weights[:, i * depth : (i + 1) * depth] for i in range(3))
    h, first = dt / 2, torch.where(V[:, :1] < 0, V[:, :1].clamp(max=-1e-3), V[:, :1].clamp(min=1e-3))
    arguments = torch.tensor((-2.0, 0.0, 2.0), dtype=weights.dtype, device=weights.device)

    def advance(state: tuple[Tensor, ...], choice: Tensor) -> tuple[Tensor, ...]:
        below = moved = None
        new: list[Tensor] = []
        for q in range(depth):
            y, z, dy, dz = state[4 * q : 4 * q + 4]
            if below is None or moved is None:
                argument, inside = arguments[choice], w[:, :1] * dy
            else:
                argument = w[:, q : q + 1] * y + V[:, q : q + 1] * below + b[:, q : q + 1]
                inside = w[:, q : q + 1] * dy + V[:, q : q + 1] * moved
            s = torch.tanh(argument)
            dz = dz - h * ((1 - s * s) * (inside + float(q == layer - 1)) + alpha * dy)
            z = z - h * (s + alpha * y)
            below, moved = y + h * z, dy + h * dz
            new += [below, z, moved, dz]
        return tuple(new)

    def score(state: tuple[Tensor, ...]) -> Tensor:
        top, lower = state[-4:], state[:4]
        total = alpha * top[2] ** 2 + top[3] ** 2 + 1e-6 * (alpha * lower[2] ** 2 + lower[3] ** 2)
        return total.clamp(min=gradient_ascent.SMALLEST).log()

    zero = torch.zeros_like(w[:, :1])
    held = beam_over_inputs((zero,) * (4 * depth), advance, score, controls=3, stages=steps, width=width)
    # the inputs that make the chosen arguments: x = (A − b − w y_{n−1})/V
    y, z, u = zero[:, 0], zero[:, 0], []
    for choice in held.choices:
        u.append((arguments[choice] - b[:, 0] - w[:, 0] * y) / first[:, 0])
        z = z - h * (torch.tanh(arguments[choice]) + alpha * y)
        y = y + h * z
    free = {"w": w, "V": torch.cat([first, V[:, 1:]], 1), "b": b, "u": torch.stack(u, 1), "target": weights[:, -1:]}
    by_weight = torch.zeros(weights.shape[0], dtype=torch.bool, device=weights.device)
    value = gradient_ascent.log_gradient(free, alpha=alpha, dt=dt, steps=steps, layer=layer, by_weight=by_weight)
    return value, free


# --- the power control


def growth_control(
    growth: RowGrowth,
    low: float,
    *,
    restarts: int,
    population: int,
    generations: int,
    seed: int,
    device: torch.device = CPU,
) -> float:
    """The share of 2 asinh(h√W/2), W = −α − ``low``, that the same search reaches over w > ``low``.

    thm-J (c): that is the supremum for α ≤ W (3 + h²W/2)/(1 + h²W/2), which the caller has to choose.
    """
    rate, _, _ = fastest_growth(
        growth, low, 0.0, restarts=restarts, population=population, generations=generations, seed=seed, device=device
    )
    return rate / (2 * math.asinh(growth.step_size * math.sqrt(-growth.alpha - low) / 2))


def resonance_control(growth: RowGrowth, low: float, **spent: Any) -> float:
    """The share of the fastest 0^p 1^q of ``odernn.bounds.words`` at ``low`` > −α that the search reaches over w > low.

    thm-J (d): no B(α + w σ′) stretches by itself, and the rate rises as w falls. For α = 4, h = 1/10, low = −2 that is
    the word 0^9 1^9; constant slopes, and words of two letters, reach less than a tenth of it.
    """
    rate, _, _ = fastest_growth(growth, low, 0.0, **spent)
    return rate / _known_word(growth.alpha, low, growth.step_size)


def _known_word(alpha: float, w: float, step_size: float) -> float:
    return best_word(kappa_low=alpha + w, kappa_high=alpha, step_size=step_size)[2]


def position_control(
    *, seed: int, steps: int = 120, population: int = 16, generations: int = 24, width: int = 8,
    device: torch.device = CPU,
) -> float:  # fmt: skip
    """The share of h Σ |U_j| = sup |y_N| that CMA-ES over w, V, b with its beam reaches; α = 1, h = 1/20."""
    alpha, h = 1.0, 0.05
    far = torch.tensor(
        [1.0, 0.3, 1.0], dtype=torch.float64, device=device
    )  # V ≥ 10 in the search's own unit, which starts at 0.5
    y, z, known = 0.0, 1.0, 0.0
    for _ in range(steps):
        z -= h * alpha * y
        y += h * z
        known += h * abs(y)
    corners = [[w, 0.0, b] for w in (1.0, -1.0) for b in (2.0, -2.0)]
    start = torch.tensor(corners, dtype=torch.float64, device=device)
    evolved = evolve(
        lambda x: position(x * far, alpha=alpha, step_size=h, steps=steps, hold=4, width=width),
        start,
        sigma=0.7,
        population=population,
        generations=generations,
        seed=seed,
    )
    reached = position(evolved.best[None] * far, alpha=alpha, step_size=h, steps=steps, hold=4, width=width)
    return float(reached) / known
