"""Networks that the initialisation draws: boxes against drawn networks, chains and what they refuse, path norms."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
import torch

from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import row
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification import verdict
from verification.adversary import step_products
from verification.answer import answer
from verification.cases import initialised
from verification.cases.chain_jacobians import JacobianForm
from verification.cases.inequality import ALPHA_POSITIVE, STEP_BELOW_ONE
from verification.claim import Claim
from verification.claims.unicornn import jacobian_bounds
from verification.domains import BUDGETS, INITIALISED, REAL_RANGE, rung_name
from verification.measure.path_norms import NetworkBatch
from verification.parameters import RefusedError

RR = row("RR")
PREMISES = (ALPHA_POSITIVE, STEP_BELOW_ONE)
BOX = {"alpha": "9", "dt": "11/1000", "low": "0", "high": "1", "c": "1/10", "b": "0", "V": "17187/5000"}
WIDE = {**BOX, "dt": "1/10", "low": "-2", "high": "3", "c": "1", "b": "1/4", "V": "2"}


def judged(case):
    source = jacobian_bounds.CLAIMS[0].source
    return answer(Claim("made", source, "made", "real", cases=(case,)), case, BUDGETS["smoke"], 0)


def ratio(point: dict[str, str], steps: int, rng: np.random.Generator, m: int = 3) -> float:
    """‖dX²_N/dX¹_1‖_∞/‖V²‖_∞ of a network of the box under some inputs, by stepping a basis."""
    low, high, c, b, V = (float(Q(point[name])) for name in ("low", "high", "c", "b", "V"))
    alpha, dt = float(Q(point["alpha"])), float(Q(point["dt"]))
    w, h = rng.uniform(low, high, (2, m)), dt / (1 + np.exp(-rng.uniform(-c, c, (2, m))))
    bias, matrix = rng.uniform(-b, b, (2, m)), rng.uniform(-1, 1, (m, m)) * V / m
    y, z = np.zeros((2, m)), np.zeros((2, m))
    dy, dz = np.zeros((2, m, 2 * m)), np.zeros((2, m, 2 * m))
    for n in range(1, steps + 1):
        drive = rng.normal(0, 10.0 ** rng.integers(-2, 3), m)
        for q in (0, 1):
            s = np.tanh(w[q] * y[q] + drive + bias[q])
            moved = (matrix @ dy[0]) if q else np.zeros((m, 2 * m))
            if n == 1 and q == 0:
                dy[0], dz[0] = np.eye(m, 2 * m), np.eye(m, 2 * m, m)
            else:
                kappa = (alpha + w[q] * (1 - s * s))[:, None]
                dz[q] = dz[q] - h[q][:, None] * (kappa * dy[q] + (1 - s * s)[:, None] * moved)
                dy[q] = dy[q] + h[q][:, None] * dz[q]
            z[q] = z[q] - h[q] * (s + alpha * y[q])
            y[q] = y[q] + h[q] * z[q]
            drive = matrix @ y[0]
    norm = max(np.abs(dy[1]).sum(axis=1).max(), np.abs(dz[1]).sum(axis=1).max())
    return float(norm / np.abs(matrix).sum(axis=1).max())


@pytest.mark.parametrize(("box", "steps"), [(BOX, 2), (BOX, 9), (BOX, 20), (WIDE, 2), (WIDE, 4)])
def test_no_network_of_the_box_is_below_what_either_back_end_encloses(box: dict[str, str], steps: int) -> None:
    point = {**box, "N": str(steps)}
    inequality = inequality_of(initialised.every_network_case(RR, INITIALISED, initialised.drawn_box(RR), PREMISES))
    assert inequality is not None
    (first, again), _ = both_sides(inequality, point)
    rng = np.random.default_rng(steps)
    seen = [ratio(point, steps, rng) for _ in range(60)]
    assert max(first, again) <= min(seen) * (1 + 1e-12)
    assert box is not BOX or min(first, again) > 0.9 * min(seen), "a bound that says little"


def test_every_network_of_rr_breaks_54_and_a_bound_with_more_room_stands() -> None:
    box = initialised.drawn_box(RR)
    cell = judged(initialised.every_network_case(RR, INITIALISED, box, PREMISES))
    assert cell.verdict == verdict.REFUTED and cell.slack == pytest.approx(-0.2538, abs=1e-3)
    assert cell.domain == rung_name(RR, INITIALISED) == "printed RR, as initialised, real inputs"
    coarse = replace(RR, dt=(Q(46, 1000),) * 3)
    assert judged(initialised.every_network_case(coarse, INITIALISED, box, PREMISES)).verdict == verdict.NOT_REFUTED
    some = replace(box, c=Q(5))  # σ̂(−5) = 1/150: such networks obey it
    assert judged(initialised.every_network_case(RR, INITIALISED, some, PREMISES)).verdict == verdict.NOT_REFUTED


def test_the_box_is_that_of_the_initialisation() -> None:
    network = UnICORNN(2, 128, 3, dt=0.011, alpha=9.0, generator=torch.Generator().manual_seed(0))
    box = initialised.drawn_box(RR)
    for number, layer in enumerate(network.layers, 1):
        assert layer.c is not None and layer.b is not None and not layer.b.any()
        assert box.low <= float(layer.w.detach().min()) and float(layer.w.detach().max()) <= box.high
        assert float(layer.c.detach().abs().max()) <= float(box.c) * (1 + 1e-6)
        most = float(layer.V.detach().abs().max())
        assert 0.9 * most <= float(initialised.largest_weight(RR, number)) and most <= math.sqrt(
            6 / 65 / layer.V.shape[1]
        )
    assert float(network.layers[2].V.detach().abs().sum(dim=1).max()) <= box.V


def chain_case(factor: Q = Q(1)):
    finite = functools.partial(jacobian_bounds.finite, JacobianForm("linear", factor=factor))
    return initialised.product_cases(RR, "made", finite)[1]


def test_a_chain_on_digits_breaks_s27_and_a_hundred_times_the_bound_stands() -> None:
    cell = judged(chain_case())
    assert cell.verdict == verdict.REFUTED and cell.domain == rung_name(RR, REAL_RANGE)
    assert judged(chain_case(Q(100))).verdict == verdict.NOT_REFUTED


@pytest.mark.parametrize(
    "change",
    [
        {"w": "2 0 0"},
        {"w": "-1/2 0 0"},
        {"V": "1/10 1/10 1/100"},
        {"V": "1/10 0 1/100"},
        {"b": "0 0 1"},
        {"u": "1"},
        {"N": "1400"},
        {"layer": "2"},
        {"dt": "1/100"},
    ],
)
def test_what_the_initialisation_does_not_draw_is_refused(change: dict[str, str]) -> None:
    check = chain_case().check
    point = dict(next(initialised._on_pixels(RR, 40)))
    assert check is not None and check(point)
    with pytest.raises(RefusedError):
        check({**point, **change})


def test_the_ascent_through_two_layers_reaches_the_largest_of_all_words() -> None:
    alpha, w, h = 4.0, (1.0, 0.5), 0.4
    best = 0.0
    for word in itertools.product((False, True), repeat=8):
        for seed, end in itertools.product(((1.0, 1.0), (1.0, -1.0)), ((0.0, 1.0), (1.0, 0.0))):
            best = max(best, abs(step_products._forward(alpha, w, h, word, seed, end)[0]))
    found = step_products.largest(alpha, w, h, 8)
    assert 0.95 * best <= found.norm <= best * (1 + 1e-12)


@pytest.mark.parametrize("layer", [1, 2])
def test_rows_by_stepping_back_are_those_of_autograd(layer: int) -> None:
    makers = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
    made = [UnICORNN(2, 3, 3, dt=0.3, alpha=2.0, dtype=torch.float64, generator=each) for each in makers]
    u = torch.randn(7, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    batch = NetworkBatch.of(made)
    slopes = batch.slopes(u)
    assert slopes[2].shape == (7, 2, 3)
    found = batch.largest_row_sums(slopes, layer, 7, range(3))
    for k in (0, 1):
        jacobian = torch.autograd.functional.jacobian(
            functools.partial(last_state, batch, u, k, layer), torch.zeros(6, dtype=torch.float64)
        )
        assert float(found[k]) == pytest.approx(float(jacobian.abs().sum(dim=1).max()), rel=1e-10)
    assert (batch.largest_row_sums(slopes, layer, 7, [0]) <= found).all()


def last_state(batch: NetworkBatch, u: torch.Tensor, k: int, layer: int, moved: torch.Tensor) -> torch.Tensor:
    """(y³, z³) at the end, where the state of ``layer`` after the first step is moved."""
    y, z = ([torch.zeros(3, dtype=torch.float64) for _ in range(3)] for _ in range(2))
    for n, x in enumerate(u[:, k]):
        below = x
        for q in range(3):
            w, h, V, b = (values[q][k] for values in (batch.w, batch.h, batch.V, batch.b))
            z[q] = z[q] - h * (torch.tanh(w * y[q] + V @ below + b) + batch.alpha[q] * y[q])
            y[q] = y[q] + h * z[q]
            if n == 0 and q == layer - 1:
                y[q], z[q] = y[q] + moved[:3], z[q] + moved[3:]
            below = y[q]
    return torch.cat([y[2], z[2]])
