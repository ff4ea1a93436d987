"""Pontryagin's principle: forward with a control, costates backward, the Hamiltonian maximised at every step by itself.

For the last |y_N| or |z_N| of a layer, x_n = f(x_{n−1}, u_n) and the control u_n ∈ {−A, 0, A} of the first layer,

    λ_N = ± e_y or ± e_z,     λ_{n−1} = (∂f/∂x)ᵀ λ_n,     H_n(u) = ⟨λ_n, f(x_{n−1}, u)⟩.

Successive approximations: all steps, or only the share of them where H_n gains most, or a random half, go to the
maximiser of H_n; of these variants and the old control the best is kept, so that a sweep never loses. For w = 0 the
costates know nothing of the control and the first sweep is the optimum. Starts are held controls at random and, in
deeper layers, what beam and structured found. Between layers the adversaries' relay is a switch and has no slope: the
costates see it gently, as wide as the layer below moves, and only what the real recurrence does is compared.

``grow`` is the same for a product of Jacobians B(κ_n) ⋯ B(κ_1), κ_n ∈ {κ₋, κ₊}, in the norm Q_a of thm-Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from verification.adversary import (
    AMPLITUDE,
    CPU,
    RELAY_WEIGHT,
    Found,
    beam,
    chain,
    effective_steps,
    resonance,
    structured,
)
from verification.domains import Budget, SearchPoint
from verification.measure.hidden_state import array_of, run_layers
from verification.system import System

CONTROLS = (-AMPLITUDE, 0.0, AMPLITUDE)
RECURRENT_WEIGHTS = (0.0, -1.0, 1.0, -4.0)
SHARES = (1.0, 1 / 4, 1 / 16, 1 / 64)
"""Of the steps whose Hamiltonian can gain, those with the largest gain. Near an optimum of a recurrence that is not
linear in tanh all of them at once overshoot."""
RANDOM_SHARE = 1 / 2
HELD_PIECES = 12
SEED = 0
LEAST_GAIN = 1e-12
"""Relative: below it the values differ by rounding."""


@dataclass(frozen=True)
class Chain:
    """A chain of single neurons, one a layer: only the last has a recurrent weight. ``search`` says what drives it."""

    system: System
    step_sizes: tuple[float, ...]
    alpha: float

    def of_layer(self, number: int, y: Tensor, z: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        recurrent = w if number == len(self.step_sizes) - 1 else torch.zeros_like(w)
        return self.system.step(y, z, x, w=recurrent, step_size=self.step_sizes[number], alpha=self.alpha)

    def run(self, controls: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """y, z (1 + time, layers, batch) from the zero state, which is row 0; controls (time, batch), w (batch,)."""
        recurrent = torch.cat([w.new_zeros(len(self.step_sizes) - 1, w.numel()), w[None]])
        return run_layers(
            self.system, controls, w=recurrent, step_sizes=self.step_sizes, alpha=self.alpha, relay=RELAY_WEIGHT
        )


@dataclass(frozen=True, eq=False)
class Ascent:
    """The best of every column: ``controls`` (time, batch) and the |y_N| or |z_N| that they reach."""

    controls: Tensor
    values: Tensor
    evaluations: int
    finite: bool


def search(system: System, point: SearchPoint, layer: int, budget: Budget, device: torch.device = CPU) -> list[Found]:
    """The best instance for each quantity at ``layer``; [] beyond the budget's horizon."""
    if point.steps > budget.pontryagin_steps:
        return []
    network = Chain(system, tuple(effective_steps(point)[:layer]), float(point.alpha))
    controls, w = (tensor.to(device) for tensor in _starts(system, point, layer, budget, device))
    is_momentum = torch.arange(2, device=device).repeat_interleave(w.numel()) == 1
    ascent = ascend(network, controls.repeat(1, 2), w.repeat(2), is_momentum, budget.pontryagin_sweeps)
    values = torch.nan_to_num(ascent.values, nan=-1.0).reshape(2, -1)
    best = []
    for number, quantity in enumerate(("position", "momentum")):
        index = int((values[number] >= (1 - structured.TIE) * values[number].max()).to(torch.int8).argmax())  # plainest
        column = ascent.controls[:, number * w.numel() + index]
        instance = chain(point, layer, float(w[index]), column, system.name)
        best.append(Found("pontryagin", quantity, instance, ascent.evaluations, ascent.finite))
    return best


def _starts(
    system: System, point: SearchPoint, layer: int, budget: Budget, device: torch.device = CPU
) -> tuple[Tensor, Tensor]:
    """Controls (time, starts) and w (starts,), on the CPU: held ones at random, and in deeper layers, first, what the
    structured inputs and the beam found. In the first layer theirs are the optimum already, and the power control,
    which is asked there, would measure them.
    """
    columns, weights = [], []
    for adversary in (structured, beam) if layer > 1 else ():
        for start in adversary.search(system, point, layer, budget, device):
            values = [float(values[0]) for values in start.instance.inputs]
            columns.append(torch.tensor(values, dtype=torch.float64, device=CPU))
            weights.append(float(start.instance.layers[-1].groups[0].w))
    generator = torch.Generator().manual_seed(SEED)
    theta = resonance(float(point.alpha), effective_steps(point)[layer - 1])
    hold = max(1, int(min(math.pi / 2 / theta if theta else math.inf, point.steps / HELD_PIECES)))
    shape = (-(-point.steps // hold), budget.pontryagin_starts)
    held = AMPLITUDE * (torch.randint(0, 3, shape, generator=generator, device=CPU) - 1).to(torch.float64)
    columns += list(held.repeat_interleave(hold, dim=0)[: point.steps].T)
    weights += [RECURRENT_WEIGHTS[i % len(RECURRENT_WEIGHTS)] for i in range(budget.pontryagin_starts)]
    return torch.stack(columns, dim=1), torch.tensor(weights, dtype=torch.float64, device=CPU)


def ascend(network: Chain, controls: Tensor, w: Tensor, is_momentum: Tensor, sweeps: int) -> Ascent:
    """``sweeps`` sweeps of every column by itself, fewer once none gains. All tensors on the device of ``controls``.

    A column that the last sweep left alone keeps its gains, and loses again with the same shares of them: these are
    counted, and not run again.
    """
    generator = torch.Generator().manual_seed(SEED)
    is_momentum = is_momentum.to(controls.device)
    states = network.run(controls, w)
    evaluations, finite = controls.shape[1], _is_finite(states)
    controls, states = _delayed(network, controls.clone(), states, w, is_momentum)
    signs = _signs(states, is_momentum)  # of the starts: what grows with the wrong sign is no gain
    values = signs * _last(states, is_momentum)
    moved = columns = torch.arange(controls.shape[1], device=controls.device)
    options, gains = torch.empty_like(controls), torch.empty_like(controls)
    for _ in range(sweeps):
        y, z, *of_moved = (component[..., moved] for component in (*states, controls, w, is_momentum))
        options[:, moved], gains[:, moved] = hamiltonian_gains(network, (y, z), *of_moved)
        shares = _best_shares(controls[:, moved], options[:, moved], gains[:, moved])
        tried = torch.cat([*shares, _random_share(controls, options, gains, generator)], dim=1)
        whose = torch.cat([moved.repeat(len(SHARES)), columns])
        reached = network.run(tried, w[whose])
        evaluations += (len(SHARES) + 1) * len(columns)
        finite = finite and _is_finite(reached)
        variants = torch.arange(1, 1 + len(SHARES), device=whose.device).repeat_interleave(len(moved))
        at = torch.cat([variants, 1 + len(SHARES) + 0 * columns]), whose
        of_variants = values.new_full((2 + len(SHARES), len(columns)), -math.inf)
        of_variants[0], of_variants[at] = values, signs[whose] * _last(reached, is_momentum[whose])
        best, which = torch.nan_to_num(of_variants, nan=-1.0).max(dim=0)
        if not bool((best > values * (1 + LEAST_GAIN)).any()):
            break
        places = torch.zeros_like(of_variants, dtype=torch.long)
        places[at] = torch.arange(len(whose), device=whose.device)
        moved, values = which.nonzero()[:, 0], best
        chosen = places[which[moved], moved]
        for kept, new in ((states[0], reached[0]), (states[1], reached[1]), (controls, tried)):
            kept[..., moved] = new[..., chosen]
    return Ascent(controls, values, evaluations, finite)


def _delayed(
    network: Chain, controls: Tensor, states: tuple[Tensor, Tensor], w: Tensor, is_momentum: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Every column after a rest that puts its largest value at step N; unchanged if the system does not rest."""
    if any(bool(component.any()) for component in network.run(torch.zeros_like(controls[:1]), w)):
        return controls, states
    sizes = torch.where(is_momentum, states[1][:, -1], states[0][:, -1]).abs()
    late = torch.nan_to_num(sizes, nan=0.0).flip(0).argmax(dim=0)
    time = torch.arange(sizes.shape[0], device=controls.device)[:, None] - late

    def waited(of_time: Tensor) -> Tensor:
        return of_time.gather(0, time.clamp(min=0)[:, None].expand(-1, of_time.shape[1], -1))

    begun = time[1:] > 0
    later = torch.where(begun, controls.gather(0, (time[1:] - 1).clamp(min=0)), torch.zeros_like(controls))
    return later, (waited(states[0]), waited(states[1]))


def costates(network: Chain, states: tuple[Tensor, Tensor], controls: Tensor, w: Tensor, is_momentum: Tensor) -> Tensor:
    """(time, batch, 2): the derivative of the functional with respect to (y_n, z_n) of the first layer, all paths."""
    y, z = states
    now = y.new_zeros(2 * len(network.step_sizes), controls.shape[1])
    now[-2:] = torch.stack([~is_momentum, is_momentum]) * _signs(states, is_momentum)
    through, of_first = _slopes(network, y, z, controls, w)
    rows = y.new_empty(len(through), *now.shape)
    costate, of_steps = array_of(now), array_of(rows)
    of_steps[-1] = costate
    with np.errstate(all="ignore"):
        for n, jacobian in zip(range(len(through) - 2, -1, -1), reversed(list(array_of(through))), strict=False):
            of_steps[n] = costate = (jacobian * costate[:, None]).sum(0)
    return (of_first * rows[:, :, None]).sum(dim=1).mT


def hamiltonian_gains(
    network: Chain, states: tuple[Tensor, Tensor], controls: Tensor, w: Tensor, is_momentum: Tensor
) -> tuple[Tensor, Tensor]:
    """The control that maximises H_n, and what it gains over the present one: (time, batch) each."""
    by_first = costates(network, states, controls, w, is_momentum)
    y, z = states[0][:-1, 0], states[1][:-1, 0]
    with torch.no_grad():

        def hamiltonian(control: Tensor) -> Tensor:
            new_y, new_z = network.of_layer(0, y, z, control, w)
            return by_first[..., 0] * new_y + by_first[..., 1] * new_z

        offers = torch.stack([hamiltonian(torch.full_like(controls, value)) for value in CONTROLS])
        largest, which = offers.max(dim=0)
        gains = torch.nan_to_num(largest - hamiltonian(controls), nan=0.0, posinf=0.0, neginf=0.0)
    return torch.tensor(CONTROLS, dtype=controls.dtype, device=controls.device)[which], gains


def _best_shares(controls: Tensor, options: Tensor, gains: Tensor) -> list[Tensor]:
    """The control with some of its steps at their maximiser: the best SHARES of those that gain."""
    order = gains.argsort(dim=0, descending=True)
    places = torch.arange(len(order), device=order.device)[:, None].expand_as(order)
    rank = torch.empty_like(order).scatter_(0, order, places)
    able = gains > 0
    count = able.sum(dim=0)
    return [torch.where(able & (rank < (share * count).ceil()), options, controls) for share in SHARES]


def _random_share(controls: Tensor, options: Tensor, gains: Tensor, generator: torch.Generator) -> Tensor:
    """The control with a random half of the steps that gain at their maximiser: the same steps of every column."""
    random = torch.rand(gains.shape[0], generator=generator, dtype=torch.float64, device=CPU).to(gains.device)
    return torch.where((gains > 0) & (random[:, None] < RANDOM_SHARE), options, controls)


def _slopes(network: Chain, y: Tensor, z: Tensor, controls: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """∂x_n/∂x_{n−1} (time, 2L, 2L, batch) and ∂x_n/∂(y, z of layer 1 at n) (time, 2L, 2, batch): by autograd,
    all steps at once, since a neuron's step is a function of its own (y, z, x)."""
    depth, (time, batch) = len(network.step_sizes), controls.shape
    through = y.new_zeros(time, 2 * depth, 2 * depth, batch)
    of_first = y.new_zeros(time, 2 * depth, 2, batch)
    of_first[:, :2] = torch.eye(2, dtype=y.dtype, device=y.device)[..., None]
    for number in range(depth):
        width = None
        x = controls
        if number:
            width = y[1:, number - 1].abs().amax(dim=0).clamp(min=torch.finfo(y.dtype).tiny)
            x = y[1:, number - 1] / width
        before = (y[:-1, number], z[:-1, number], x)
        leaves = [tensor.detach().clone().requires_grad_() for tensor in before]
        new = network.of_layer(number, leaves[0], leaves[1], leaves[2], w)
        for row, tensor in enumerate(new, start=2 * number):
            slopes = torch.autograd.grad(tensor.sum(), leaves, retain_graph=True, allow_unused=True)
            by_y, by_z, by_x = (_or_zero(slope, x) for slope in slopes)
            through[:, row, 2 * number], through[:, row, 2 * number + 1] = by_y, by_z
            if width is not None:
                climb, y_below = (by_x / width)[:, None], 2 * number - 2
                through[:, row] += climb * through[:, y_below]
                of_first[:, row] = climb * of_first[:, y_below]
    return through, of_first


def _or_zero(slope: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if slope is None else slope


def _last(states: tuple[Tensor, Tensor], is_momentum: Tensor) -> Tensor:
    """y_N or z_N of the last layer, (batch,)."""
    y, z = states
    return torch.where(is_momentum, z[-1, -1], y[-1, -1])


def _signs(states: tuple[Tensor, Tensor], is_momentum: Tensor) -> Tensor:
    """1 where the last value is not negative, else −1."""
    last = _last(states, is_momentum)
    return torch.where(last < 0, -torch.ones_like(last), torch.ones_like(last))


def _is_finite(states: tuple[Tensor, Tensor]) -> bool:
    return all(bool(torch.isfinite(end)) for component in states for end in component.aminmax())


# --- products of Jacobians


@dataclass(frozen=True, eq=False)
class SteeredProduct:
    """κ (time, batch), the log of the largest growth of Q_a^{1/2} found for it, and how many products were run."""

    kappa: Tensor
    logs: Tensor
    evaluations: int


def grow(kappa: Tensor, *, low: Tensor, high: Tensor, step_size: Tensor, form: Tensor, sweeps: int) -> SteeredProduct:
    """From κ (time, batch): H_n(κ) = ⟨p_n, B(κ) x_{n−1}⟩ is affine in κ, so its maximum is at ``low`` or ``high``.

    x_0 is the direction that the product stretches most. low, high, step_size h and form a ∈ (0, 4/h²) are (batch,).
    """
    generator = torch.Generator().manual_seed(SEED)
    logs, before, after = _stretched(kappa, step_size, form)
    evaluations = kappa.shape[1]
    for _ in range(sweeps):
        y = before[..., 0]
        slope = y * (after[..., 1] + step_size * after[..., 0])  # −∂H/∂κ over h
        options = torch.where(slope >= 0, low, high)
        gains = slope * (kappa - options)
        shares = _best_shares(kappa, options, gains)
        tried = torch.cat([*shares, _random_share(kappa, options, gains, generator)], dim=1)
        count = tried.shape[1] // kappa.shape[1]
        wide = [parameter.repeat(count) for parameter in (step_size, form)]
        new_logs, new_before, new_after = _stretched(tried, *wide)
        evaluations += tried.shape[1]
        best, which = new_logs.reshape(count, -1).max(dim=0)
        better = best > logs * (1 + LEAST_GAIN)
        if not bool(better.any()):
            break
        columns = which * kappa.shape[1] + torch.arange(kappa.shape[1], device=kappa.device)
        kappa = torch.where(better, tried[:, columns], kappa)
        before = torch.where(better[:, None], new_before[:, columns], before)
        after = torch.where(better[:, None], new_after[:, columns], after)
        logs = torch.where(better, best, logs)
    return SteeredProduct(kappa, logs, evaluations)


def _stretched(kappa: Tensor, h: Tensor, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log ‖Φ‖_a (batch,), and the directions x_{n−1} before and the costates p_n after every step, (time, batch, 2).

    ‖Φ‖_a is the largest singular value of R Φ R⁻¹, Q_a = RᵀR; scaled at every step, so nothing overflows.
    """
    root = a.sqrt()
    # Q_a = a y² + z² − a h y z = (z − a h y/2)² + a (1 − a h²/4) y²
    depth = root * (1 - a * h * h / 4).clamp(min=0).sqrt()
    zero, one = torch.zeros_like(h), torch.ones_like(h)
    R = torch.stack([torch.stack([depth, zero], -1), torch.stack([-a * h / 2, one], -1)], -2)
    B = torch.stack(
        [
            torch.stack([1 - h * h * kappa, (h + 0 * kappa)], -1),
            torch.stack([-h * kappa, torch.ones_like(kappa)], -1),
        ],
        -2,
    )
    steps = R @ B @ torch.linalg.inv(R)
    size, product = torch.zeros_like(h), torch.eye(2, dtype=h.dtype, device=h.device).expand(h.shape[0], 2, 2)
    for factor in steps:
        product = factor @ product
        scale = product.abs().amax(dim=(1, 2), keepdim=True)
        product, size = product / scale, size + scale[:, 0, 0].log()
    _, singular, right = torch.linalg.svd(product)
    x = right[:, :1].mT
    befores, afters = [], []
    for factor in steps:
        befores.append(x)
        x = factor @ x
        x = x / x.norm(dim=1, keepdim=True)
    p = x
    for factor in reversed(steps.unbind()):
        afters.append(p)
        p = factor.mT @ p
        p = p / p.norm(dim=1, keepdim=True)
    plain = torch.linalg.inv(R) @ torch.stack(befores)
    dual = R.mT @ torch.stack(afters[::-1])
    return singular[:, 0].log() + size, plain[..., 0], dual[..., 0]


def growth_control(*, steps: int = 200, starts: int = 4, sweeps: int = 12, device: torch.device = CPU) -> float:
    """The smallest share of thm-J (c), ‖Φ‖_a ≤ exp(2N asinh(h√W/2)) with a = W/(1 + h²W/2), over three (α, w, h)."""
    alpha, w, h = torch.tensor(
        ((2.0, -7.0, 0.05), (4.0, -12.0, 0.2), (0.0, -1.0, 0.0343)), dtype=torch.float64, device=device
    ).T.repeat_interleave(starts, dim=1)
    stiff = -alpha - w
    generator = torch.Generator().manual_seed(SEED)
    mixed = torch.rand(steps, alpha.numel(), generator=generator, dtype=torch.float64, device=CPU).to(device)
    steered = grow(
        alpha + w * mixed.round(),
        low=alpha + w,
        high=alpha,
        step_size=h,
        form=stiff / (1 + h * h * stiff / 2),
        sweeps=sweeps,
    )
    shares = steered.logs / (2 * steps * torch.asinh(h * stiff.sqrt() / 2))
    return float(shares.reshape(3, starts).amax(dim=1).min())
