"""Random and adversarial instances of the theorems in docs/derivations, in batches: is a bound ever exceeded?

Every trial runs its own recurrence in torch float64 (or the named dtype) and returns how many instances it tried, how
many exceeded the bound, and how near the nearest came. Used by tests/odernn/bounds/test_bounds_trials.py in small
and by benchmarks/bounds_tightness.py with a large one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from odernn.bounds import certify, forms, jacobian, reconstruction, sensitivity, sharp, words
from odernn.cells.unicornn import UnICORNN

F64 = torch.float64
SLACK = 1e-9
"""Logarithms closer than this count as equal: the measured side is rounded, too."""


@dataclass(frozen=True)
class Trial:
    """instances tried, violations among them, and the largest log(measured) − log(bound); 0 is equality."""

    name: str
    instances: int
    violations: int
    best_log_ratio: float


def _judge(name: str, log_measured: Tensor, log_bound: Tensor) -> Trial:
    excess = (log_measured - log_bound).flatten()
    if not len(excess):
        return Trial(name, 0, 0, -math.inf)
    assert not excess.isnan().any(), f"{name}: not a number"
    return Trial(name, excess.numel(), int((excess > SLACK).sum()), float(excess.max()))


def _uniform(generator: torch.Generator, low: float, high: float, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(*shape, generator=generator, dtype=F64)


def _neurons(generator: torch.Generator, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """α, w, h of every regime: α in {0} ∪ (10⁻³, 40), h in (0.003, 1), w of both signs, up to 30 α and beyond."""
    alpha = 10 ** _uniform(generator, -3, 1.6, count)
    alpha[torch.rand(count, generator=generator) < 0.1] = 0.0
    h = 10 ** _uniform(generator, -2.5, 0, count)
    w = torch.randn(count, generator=generator, dtype=F64) * 10 ** _uniform(generator, -2, 1.5, count)
    return alpha, w, h


def _patterns(generator: torch.Generator, steps: int, count: int) -> Tensor:
    """Numbers in [0, 1], (steps, count): a third uniform, a third of random blocks of 0 and 1, a third periodic."""
    found = torch.rand(steps, count, generator=generator, dtype=F64)
    third = count // 3
    switches = torch.rand(steps, third, generator=generator) < 0.2
    found[:, :third] = (switches.cumsum(0) % 2).to(F64)
    n = torch.arange(steps, dtype=F64)[:, None]
    period = 10 ** _uniform(generator, 0, 2, third)
    phase = _uniform(generator, 0, 1, third)
    found[:, third : 2 * third] = ((n / period + phase) % 1 < 0.5).to(F64)
    return found


def states(generator: torch.Generator, instances: int, steps: int = 60, scale: float = 1.0) -> Iterator[Trial]:
    """thm-S: |y_N|, |z_N| for |s| ≤ 1 against the suprema; half of the instances have the extremal signs.

    ``scale`` multiplies the bound: a planted fault if it is smaller than one.
    """
    alpha, _, h = _neurons(generator, instances)
    logs = sharp.log_suprema_at(alpha=alpha.numpy(), step_size=h.numpy(), steps=steps)
    s = 2 * _patterns(generator, steps, instances) - 1
    for index, quantity in enumerate(("position", "momentum")):
        drive = s.clone()
        half = instances // 2
        y, z = torch.zeros_like(h), torch.ones_like(h)
        for n in range(steps - 1, -1, -1):  # the response to a unit kick, in reverse, is the extremal control
            z = z - h * alpha * y
            y = y + h * z
            drive[n, :half] = -torch.sign((y, z)[index])[:half]
        y, z = torch.zeros_like(h), torch.zeros_like(h)
        for n in range(steps):
            z = z - h * (drive[n] + alpha * y)
            y = y + h * z
        measured = (y, z)[index].abs().clamp_min(1e-300).log()
        yield _judge(f"thm-S, {quantity}", measured, torch.from_numpy(logs[index]) + math.log(scale))


def _norm_log(product: Tensor, form: Tensor, h: Tensor) -> Tensor:
    """log ‖Φ‖_a of matrices (…, 2, 2) of determinant 1: Q_a = CᵀC, and the singular values are s and 1/s."""
    root = (form * (1 - form * h * h / 4)).sqrt()
    lower = -form * h / 2
    a, b, c, d = product[..., 0, 0], product[..., 0, 1], product[..., 1, 0], product[..., 1, 1]
    # C Φ C⁻¹ with C = [[r, 0], [−ah/2, 1]]
    first, second = a - b * lower, b * root
    third, fourth = (lower * a + c - (lower * b + d) * lower) / root, lower * b + d
    return torch.asinh(torch.hypot(first - fourth, second + third) / 2)  # s − 1/s, without cancellation near s = 1


def products(generator: torch.Generator, instances: int, steps: int = 60, power: float = 1.0) -> Iterator[Trial]:
    """thm-J (a) and thm-V (a): 0 ≤ log ‖Φ(n, 0)‖_a ≤ Σ asinh(…) at n = 1, 10 and N, best and random forms.

    ``power`` multiplies the bound: a planted fault if it is smaller than one.
    """
    alpha, w, h = _neurons(generator, instances)
    h = torch.where(h * h * (alpha + w.abs()) > 30, (30 / (alpha + w.abs())).sqrt(), h)
    slopes = _patterns(generator, steps, instances)
    low, high = alpha + w.clamp(max=0), alpha + w.clamp(min=0)
    ends = {"kappa_low": low.numpy(), "kappa_high": high.numpy(), "step_size": h.numpy()}
    tenth = instances // 10
    slopes[:, -tenth:] = 1.0  # constant inputs
    p, q, _ = words.quarter_words(**ends)
    phase = torch.arange(steps, dtype=F64)[:, None] % torch.from_numpy(p + q)
    at_low = (phase < torch.from_numpy(p)) == (w < 0)
    slopes[:, -2 * tenth : -tenth] = at_low.to(F64)[:, -2 * tenth : -tenth]
    form = torch.from_numpy(forms.best_form(**ends))
    scattered = torch.rand(instances, generator=generator, dtype=F64) * 3.98 / h**2 + 0.01 / h**2
    form[::3] = scattered[::3]
    bound = torch.zeros_like(h)
    product = torch.eye(2, dtype=F64).expand(instances, 2, 2)
    for n in range(1, steps + 1):
        kappa = alpha + w * slopes[n - 1]
        product = (
            torch.stack(
                [torch.stack([1 - h * h * kappa, h], -1), torch.stack([-h * kappa, torch.ones_like(h)], -1)], -2
            )
            @ product
        )
        bound = bound + torch.from_numpy(jacobian.log_norm(kappa=kappa.numpy(), form=form.numpy(), step_size=h.numpy()))
        if n in (1, 10, steps):
            usable = bound < 150
            size = _norm_log(product, form, h)[usable]
            yield _judge(f"thm-J (a), n = {n}", size, power * bound[usable])
            yield _judge("thm-V (a)", -size, torch.zeros_like(size))


def sensitivities(generator: torch.Generator, instances: int, pieces: int = 12, factor: float = 1.0) -> Iterator[Trial]:
    """thm-C (a): piecewise constant slopes and forcings, solved exactly by matrix exponentials.

    ``factor`` multiplies the exponent: a planted fault if it is smaller than one.
    """
    alpha, w, _ = _neurons(generator, instances)
    low, high = alpha + w.clamp(max=0), alpha + w.clamp(min=0)
    form = torch.from_numpy(sensitivity.best_form(kappa_low=low.numpy(), kappa_high=high.numpy()))
    form = torch.where((torch.rand(instances, generator=generator) < 0.3) & (alpha > 0), alpha, form).clamp_min(1e-6)
    rate = torch.from_numpy(sensitivity.growth_rate(kappa_low=low.numpy(), kappa_high=high.numpy(), form=form.numpy()))
    frequency = (alpha + w.abs()).sqrt().clamp_min(1e-2)
    state = torch.randn(instances, 3, generator=generator, dtype=F64)
    state[:, 2] = 1.0
    state[::2, :2] = 0.0
    start = (form * state[:, 0] ** 2 + state[:, 1] ** 2).sqrt()
    time, forcing = torch.zeros_like(start), torch.zeros_like(start)
    slopes = _patterns(generator, pieces, instances)
    for n in range(pieces):
        duration = _uniform(generator, 0, math.pi / 2, instances) / frequency
        resonant = torch.arange(instances) % 3 == 1
        kappa = alpha + w * slopes[n]
        duration = torch.where(resonant & (kappa > 0), math.pi / 2 / kappa.clamp_min(1e-4).sqrt(), duration)
        push = slopes[n] * torch.randn(instances, generator=generator, dtype=F64) * (0.0 if n else 1.0)
        push = torch.where(start == 0, push + (0.3 * slopes[n]), 0 * push)
        system = torch.zeros(instances, 3, 3, dtype=F64)
        system[:, 0, 1], system[:, 1, 0], system[:, 1, 2] = 1.0, -kappa, -push
        state = (torch.linalg.matrix_exp(system * duration[:, None, None]) @ state[..., None])[..., 0]
        time, forcing = time + duration, forcing + push.abs() * duration
        measured = (form * state[:, 0] ** 2 + state[:, 1] ** 2).sqrt()
        bound = (start + forcing).clamp_min(1e-300).log() + factor * rate * time
        yield _judge("thm-C (a)", measured.clamp_min(1e-300).log() - SLACK, bound)


def _run(
    parameters: dict[str, list[Tensor]],
    edges: list[dict[int, str]],
    u: Tensor,
    *,
    shifted: bool,
    dt: list[float],
    alpha: list[float],
) -> list[Tensor]:
    """All states of a stack with its own parameters for every sample of the batch: y^1 .. y^L, (time, batch, m)."""
    levels = [u]
    for q, seen in enumerate(edges):
        h = dt[q] * torch.sigmoid(parameters["c"][q])
        y = z = torch.zeros_like(h)
        rows = []
        for n in range(len(u)):
            x = parameters["b"][q]
            for level, name in seen.items():
                row = n - 1 if shifted else n
                below = levels[level][row] if row >= 0 else torch.zeros_like(levels[level][0])
                x = x + torch.einsum("bij,bj->bi", parameters[name][q], below)
            z = z - h * (torch.tanh(parameters["w"][q] * y + x) + alpha[q] * y)
            y = y + h * z
            rows.append(y)
        levels.append(torch.stack(rows))
    return levels[1:]


def _copies(parameter: Tensor | None, count: int) -> Tensor:
    """A leaf of its own for each sample, (count, …)."""
    if parameter is None:
        return torch.empty(0)
    return parameter.detach().expand(count, *parameter.shape).clone().requires_grad_()


def random_network(generator: torch.Generator, *, dtype: torch.dtype = F64) -> tuple[UnICORNN, int]:
    """A small network of any regime and the number of steps to run it for."""

    def choice(*values: float) -> float:
        return values[int(torch.randint(len(values), (1,), generator=generator))]

    layers = int(choice(1, 1, 2, 3, 4))
    network = UnICORNN(
        int(choice(1, 2)),
        int(choice(1, 1, 2, 4)),
        layers,
        dt=[choice(0.02, 0.1, 0.3, 0.9) for _ in range(layers)],
        alpha=choice(0.0, 0.3, 1.0, 4.0, 20.0),
        index="sam" if choice(0, 0, 1) else "icml",
        residual_skip=2 if layers > 2 and choice(0, 1) else None,
        dtype=dtype,
        generator=generator,
    )
    with torch.no_grad():
        for layer in network.layers:
            layer.w.copy_(torch.randn(layer.w.shape, generator=generator) * choice(0.3, 3, 10))
            layer.c.copy_(torch.randn(layer.c.shape, generator=generator) * choice(0.5, 4))
            layer.b.copy_(torch.randn(layer.b.shape, generator=generator) * choice(0, 1))
            for matrix in (layer.V, layer.Lambda):
                if matrix is not None:
                    matrix.copy_(torch.randn(matrix.shape, generator=generator) * choice(0.3, 2))
    return network, int(choice(1, 2, 4, 8, 25))


def gradients(
    generator: torch.Generator, networks: int, inputs: int, generations: int = 3, shift: float = 0.0
) -> Iterator[Trial]:
    """thm-G, thm-G-inf and thm-S on whole networks: every gradient of ``inputs`` inputs, evolved upwards.

    Own recurrence with parameters of its own for each sample, so that one backward pass gives all samples' gradients.
    Targets oppose the outputs. ``shift`` is added to the bounds on gradients: a planted fault if negative.
    """
    for _ in range(networks):
        network, steps = random_network(generator)
        bound, aim = 10 ** float(_uniform(generator, -1, 1, 1)), 10 ** float(_uniform(generator, -1, 1, 1))
        report = certify(network, input_bound=bound, target_bound=aim, steps=steps)
        edges = []
        for number in range(1, network.num_layers + 1):
            below, skip = network.sources(number)
            edges.append({below: "V"} if skip is None else {below: "V", skip: "Lambda"})
        u = (2 * torch.rand(steps, inputs, network.input_size, generator=generator, dtype=F64) - 1) * bound
        u[:, ::2] = bound * u[:, ::2].sign()
        for generation in range(generations):
            parameters = {
                name: [_copies(getattr(layer, name), inputs) for layer in network.layers]
                for name in ("w", "b", "c", "V", "Lambda")
            }
            rows = _run(
                parameters,
                edges,
                u,
                shifted=network.index == "sam",
                dt=network.dt.tolist(),
                alpha=network.alpha.tolist(),
            )
            target = -aim * rows[-1].detach().sign()
            last_only = generation % 2 == 1
            error = (rows[-1] - target).square().sum(-1) / 2
            (error[-1] if last_only else error.mean(0)).sum().backward()
            score = torch.full((inputs,), -math.inf, dtype=F64)
            for index, layer in enumerate(report.layers):
                reached = rows[index].detach().abs().amax(0).clamp_min(1e-300).log()
                yield _judge("thm-S in a network", reached, torch.tensor(layer.log_positions, dtype=F64))
                for name, log_bound in layer.gradients.items():
                    grad = parameters[name][index].grad
                    if grad is None:  # "sam" in its first steps
                        continue
                    size = grad.abs().flatten(1).amax(1).clamp_min(1e-300).log()
                    title = f"{log_bound.theorem}, {name}, N {'≥' if steps >= 8 else '<'} 8"
                    yield _judge(title, size, torch.tensor(log_bound.value + shift, dtype=F64))
                    score = torch.maximum(score, size - log_bound.value)
            best = score.argsort(descending=True)[: max(1, inputs // 5)]
            u = u[:, best.repeat(6)[:inputs]].clone()
            flips = torch.rand(u.shape, generator=generator) < 0.15
            u = torch.where(flips, (2 * torch.rand(u.shape, generator=generator, dtype=F64) - 1) * bound, u)
            u[:, : len(best)] = u[:, : len(best)].sign() * bound


def rebuilt_networks(generator: torch.Generator, networks: int, inputs: int, shift: float = 0.0) -> Iterator[Trial]:
    """thm-F (a): ``UnICORNN.inverse`` in float32 against the bound of ``certify``, all layers."""
    for _ in range(networks):
        network, steps = random_network(generator, dtype=torch.float32)
        steps *= 8
        report = certify(network, input_bound=3.0, steps=steps)
        u = (6 * torch.rand(steps, inputs, network.input_size, generator=generator) - 3).float()
        with torch.no_grad():
            y, z = network.inverse(network(u)[1], u)
        for index, layer in enumerate(report.layers):
            if layer.log_rebuilt_position is None or layer.may_overflow:
                continue
            logs = (layer.log_rebuilt_position, layer.log_rebuilt_momentum)
            for start, log_bound in zip((y[index], z[index]), logs, strict=True):
                if log_bound is not None:
                    size = start.double().abs().amax(-1).clamp_min(1e-300).log()
                    size = size[size.isfinite()]  # the hypothesis: nothing overflowed on the way back, either
                    assert len(size) == inputs or log_bound > 60, "an overflow that the bound excludes"
                    yield _judge("thm-F (a), networks", size, torch.tensor(log_bound + shift, dtype=F64))


def rebuilt_neurons(
    generator: torch.Generator, dtype: torch.dtype, instances: int, steps: int = 50, shift: float = 0.0
) -> Iterator[Trial]:
    """thm-F (a): single neurons stepped there and back in any dtype, by the recurrence written out here."""
    precision = reconstruction.PRECISIONS[str(dtype).removeprefix("torch.")]
    alpha, w, h = (v.to(dtype) for v in _neurons(generator, instances))
    h = torch.where(h.double() ** 2 * (alpha + w.abs()).double() > 3, (h / 8).to(dtype), h)
    x = (torch.randn(steps, instances, generator=generator, dtype=F64) * 2).to(dtype)
    y, z = torch.zeros_like(h), torch.zeros_like(h)
    for n in range(steps):
        z = z - h * (torch.tanh(w * y + x[n]) + alpha * y)
        y = y + h * z
    for n in range(steps - 1, -1, -1):
        y = y - h * z
        z = z + h * (torch.tanh(w * y + x[n]) + alpha * y)
    a, b, c = (v.double().numpy() for v in (alpha, w, h))
    ends = {"kappa_low": a + np.minimum(b, 0), "kappa_high": a + np.maximum(b, 0), "step_size": c}
    form = forms.form_within(rate=jacobian.rate_bound(form=forms.best_form(**ends), **ends) + 0.3 / steps, **ends)
    still = forms.form_within(rate=0.3 / steps, kappa_low=a, kappa_high=a, step_size=c)
    common = {"unit_roundoff": precision.unit_roundoff, "underflow": precision.underflow, "w": b, "alpha": a}
    size = reconstruction.state_growth(form=still, step_size=c, **common).log_after(steps)
    root = jacobian.root(form=still, step_size=c)
    growth = reconstruction.error_growth(
        form=form,
        step_size=c,
        log_position=size - np.log(root),
        log_momentum=size + np.log(still) / 2 - np.log(root),
        **common,
    )
    log_error = growth.log_after(steps) + shift
    root = jacobian.root(form=form, step_size=c)
    for start, log_reading in ((y, -np.log(root)), (z, np.log(form) / 2 - np.log(root))):
        finite = start.isfinite()
        measured = start.double().abs().clamp_min(1e-300).log()
        log_bound = torch.from_numpy(log_error + log_reading)
        yield _judge(f"thm-F (a), {precision.name}", measured[finite], log_bound[finite])


def summary(trials: Iterator[Trial]) -> dict[str, Trial]:
    """Trials of one name added up."""
    found: dict[str, Trial] = {}
    for trial in trials:
        old = found.get(trial.name, Trial(trial.name, 0, 0, -math.inf))
        found[trial.name] = Trial(
            trial.name,
            old.instances + trial.instances,
            old.violations + trial.violations,
            max(old.best_log_ratio, trial.best_log_ratio),
        )
    return found


LOW = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


def everything(generator: torch.Generator, size: int) -> Iterator[Trial]:
    """All trials; ``size`` = 1 is about fifty thousand instances and ten seconds of one core."""
    yield from states(generator, 4000 * size)
    yield from products(generator, 4000 * size)
    yield from sensitivities(generator, 800 * size)
    yield from gradients(generator, 20 * size, 40)
    yield from rebuilt_networks(generator, 20 * size, 40)
    for dtype in LOW:
        yield from rebuilt_neurons(generator, dtype, 1000 * size)
