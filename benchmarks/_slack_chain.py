"""The factors of the chain rule that the papers bound, of a trained UnICORNN: E_n = ½|y^L_n|², the target 0, so Ȳ = 0.

    quantity                      at most                     by                    over
    |∂E_n/∂X^L_n| = |y^L_n|       F                           icml-(40), sam-67     every n and neuron
    |∂⁺X^l_k/∂θ|                  dt Δ                        icml-(39), sam-66     every k, l, neuron and θ, V¹ too
    |∂E^{(n,L)}_{k,l}/∂θ|         dt^{L−l+1} g V̄ F Δ          icml-(42), sam-69     every k, l, θ;  n = N, N/2, N/4, …
    |∂E_n/∂θ|                     S T g V̄ F Δ                 icml-(43), sam-70     every θ;  the same n

S = 1 + dt + … + dt^{L−1},  V̄ = Π max(1, ‖V^q‖_∞),  g = 1 + 2γT (icml), e^{w̄T} (sam). F and Δ are those printed at the
place (``verification.measure.published_forms``). ∂⁺ is by the step alone, X_{k−1} and the row below given; the third
is a summand of the fourth. icml-(41), sam-68 are the product of the other three: their right side is measured, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import torch
from numpy.typing import NDArray

from odernn.bounds.numbers import BALLS
from odernn.cells.unicornn import UnICORNN
from verification.measure import gradient
from verification.measure.gradient import Trajectory
from verification.measure.gradient_forms import ICML_42, ICML_43, SAM_69, SAM_70
from verification.measure.published_forms import ICML_S7, ICML_S39, SAM_66, SAM_67
from verification.trained import gradient_rows, runs
from verification.trained.runs import Sample, larger
from verification.training import network as task_network
from verification.training.network import TaskNetwork

ERROR, LOCAL, SUMMAND, AT_ONE_TIME = "abs dE_n/dX_n", "abs d⁺X_k/dθ", "abs dE_k/dθ", "abs dE_n/dθ"
BY = {
    ERROR: ("icml-(40)", "sam-67"),
    LOCAL: ("icml-(39)", "sam-66"),
    SUMMAND: ("icml-(42)", "sam-69"),
    AT_ONE_TIME: ("icml-(43)", "sam-70"),
}
Array = NDArray[np.float64]
Sizes = dict[str, list[tuple[int, float]]]
"""By quantity: (layer, its largest size)."""


def log_bounds(network: UnICORNN, run: Trajectory) -> Iterator[tuple[str, str, Any, Any]]:
    """(quantity, statement, log bound, log measured) of every layer; both None where a premise fails."""
    steps, sizes = len(run.levels[0]), measured(run)
    applies = all(premise.holds for premise in gradient_rows.premises_of(network, ICML_43, steps))
    for quantity, statements in BY.items():
        for statement in statements:
            for layer, size in sizes[quantity]:
                logs = (log_right(network, statement, steps, layer), runs.log_size(size)) if applies else (None, None)
                yield quantity, statement, *logs


# --- the right sides


def log_right(network: UnICORNN, statement: str, steps: int, layer: int) -> float:
    """log of the right side at Ȳ = 0, from balls of 128 bits."""
    whole = {"icml-(42)": ICML_42, "sam-69": SAM_69, "icml-(43)": ICML_43, "sam-70": SAM_70}
    if statement in whole:
        return gradient_rows.log_right_side(network, whole[statement], steps, layer)
    with flint.ctx.workprec(128):
        alpha, dt, N, m = (
            BALLS.exact(Fraction(value))
            for value in (float(network.alpha[0]), float(network.dt[0]), steps, network.hidden_size)
        )
        at = SimpleNamespace(alpha=alpha, dt=dt, T=N * dt, m=m)
        if statement in BY[ERROR]:
            right = (ICML_S7 if statement == "icml-(40)" else SAM_67).ball(at) / alpha.sqrt()
        else:
            right = (ICML_S39 if statement == "icml-(39)" else SAM_66).ball(at) * dt
        return float(right.log().mid())


# --- what is measured


def measured(run: Trajectory) -> Sizes:
    """The largest of every quantity: of the first one of the last layer, of the others of each."""
    depth = len(run.layers)
    found: Sizes = {ERROR: [(depth, largest(run.levels[-1]))], LOCAL: [], SUMMAND: [], AT_ONE_TIME: []}
    found[LOCAL] = [(layer, immediate(run, layer)) for layer in range(1, depth + 1)]
    for n in times(len(run.levels[0])):
        summands, sums = contributions(run, n)
        found[SUMMAND] += summands
        found[AT_ONE_TIME] += sums
    return found


def times(steps: int) -> list[int]:
    """N, N/2, N/4, … 1."""
    return [steps >> power for power in range(steps.bit_length())]


def largest(*sizes: torch.Tensor) -> float:
    """The largest modulus; NaN if there is one."""
    return larger(*(float(size.abs().max()) for size in sizes))


def immediate(run: Trajectory, layer: int) -> float:
    """max |∂⁺y_k/∂θ|, |∂⁺z_k/∂θ| over k: z_k = z_{k−1} − h (s + α y_{k−1}), y_k = y_{k−1} + h z_k, s = tanh(A).

    Of w, b, V the derivative of z is −h s' times y_{k−1}, 1, x_k, and of y it is h times that. Of c, whose ∂h/∂c is
    h (1 − σ̂), they are −h (1 − σ̂)(s + α y_{k−1}) and h (1 − σ̂)(z_k − h (s + α y_{k−1})).
    """
    own, before = run.layers[layer - 1], run.previous(layer).abs()
    h, slope, force = own.step_size, run.slopes[layer - 1], run.forces[layer - 1]
    rows = [run.levels[level].abs().amax(dim=2, keepdim=True) for level in own.edges]
    factor = torch.stack([before, torch.ones_like(before), *(row.expand_as(before) for row in rows)]).amax(dim=0)
    kicks = h * slope * factor
    found = [kicks, h * kicks]
    if own.sigma is not None:
        moved = h * (1 - own.sigma)
        found += [moved * force, moved * (run.momenta[layer - 1] - h * force)]
    return largest(*found)


def contributions(run: Trajectory, n: int) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Of every layer the largest |∂E^{(n,L)}_{k,l}/∂θ| over k and θ, and the largest |∂E_n/∂θ|, their sum over k.

    As ``gradient.contributions``, without the products of all pairs of rows: of V a largest one is the product of two
    largest, and a sum is one product of matrices.
    """
    back = gradient.adjoint(run, n, run.levels[-1][n - 1])
    summands, sums = [], []
    for index, layer in enumerate(run.layers):
        p, q, g = back.p[index], back.q[index], back.g[index]
        each = [g, g * run.previous(index + 1)[:n]]
        if layer.sigma is not None:
            direct = run.momenta[index][:n] * p - run.forces[index][:n] * (q + layer.step_size * p)
            each.append(layer.step_size * (1 - layer.sigma) * direct)
        rows = [run.levels[level][:n] for level in layer.edges]
        products = [g.abs().amax(dim=2) * row.abs().amax(dim=2) for row in rows]
        matrices = [torch.einsum("nki,nkj->kij", g, row) for row in rows]
        summands.append((index + 1, largest(*each, *products)))
        sums.append((index + 1, largest(*(one.sum(dim=0) for one in each), *matrices)))
    return summands, sums


# --- along time


def oscillator_gradients(model: TaskNetwork, sample: Sample) -> list[Array]:
    """‖∂E/∂X_n‖₂ of every layer of a UnICORNN, n = 1 … N, over y, z, units and sequences.

    With p, q = ∂E/∂y_n, ∂E/∂z_n and q̂_n = q_n + h p_n, what z_n does within its own step, too:
        p_{n−1} = e_{n−1} + p_n − h (α + w s'_n) q̂_n,   q_{n−1} = q̂_n,   s' = 1 − tanh²
    e is what a row does outside of its layer: to the readout, or to the layer above, Vᵀ (−h s'_n q̂_n).
    """
    network = model.recurrent
    assert isinstance(network, UnICORNN)
    states = runs.states(network, sample)
    top = states[-1][0].clone().requires_grad_()
    read = top[-1] if sample.spec.reads == "last" else top
    loss = task_network.loss_sum(model.readout(read), sample.targets, sample.spec, sample.real)
    source = torch.autograd.grad(loss, top)[0].numpy()
    found: list[Array] = []
    for index in range(network.num_layers - 1, -1, -1):
        own = {name: value.detach().numpy() for name, value in network.coefficients(index).items()}
        layer, y = network.layers[index], states[index][0].numpy()
        below = sample.inputs if index == 0 else states[index - 1][0]
        with torch.no_grad():
            drive = torch.nn.functional.linear(below, layer.V, layer.b).numpy()
        before = np.concatenate([np.zeros_like(y[:1]), y[:-1]])
        slope = 1 - np.tanh(own["w"] * before + drive) ** 2
        h, stiffness = own["step_size"], own["alpha"] + own["w"] * slope
        p, q, norms = np.zeros_like(y[0]), np.zeros_like(y[0]), np.zeros(len(y))
        kicks = np.zeros_like(y)
        for n in range(len(y) - 1, -1, -1):
            p = p + source[n]
            norms[n] = math.sqrt(float((p * p).sum() + (q * q).sum()))
            q = q + h * p
            kicks[n] = -h * slope[n] * q
            p = p - h * stiffness[n] * q
        source = kicks @ layer.V.detach().numpy()
        found.append(norms)
    return found[::-1]
