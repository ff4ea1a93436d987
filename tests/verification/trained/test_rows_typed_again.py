"""Every published row of a small trained network, typed once more from the papers: numpy loops, autograd, no library.

Bounds by their printed right sides, states by a loop over steps and samples, gradients by autograd through that loop,
Jacobians as whole matrices of a layer. Weights are large, so that ‖w‖ + α, row sums of V and m all matter.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn import UnICORNN
from odernn.published.sources import Source
from tests.verification.state_claims import with_bound
from tests.verification.trained.networks import sample, unicornn
from verification import verdict
from verification.claim import Check, Claim, Hypothesis, Opinion, Part, StateBound
from verification.registry import Registry
from verification.tasks.task import TaskSpec
from verification.trained import certificates, gradient_rows, jacobian_rows, runs, state_rows
from verification.trained.row import Row
from verification.trained.runs import Sample
from verification.training.network import TaskNetwork

LAYERS, HIDDEN, DT, ALPHA, STEPS = 3, 4, 0.1, 1.7, 9
T = STEPS * DT
FLOAT32 = 128 * math.log(2)


@functools.cache
def claims() -> Registry:
    """The claims that come with the library, read once."""
    return Registry()


def network() -> UnICORNN:
    """Weights of size 1 to 3 in every layer."""
    made = unicornn(HIDDEN, LAYERS, dt=DT, alpha=ALPHA)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(1.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return made


def states(made: UnICORNN, inputs: Tensor) -> list[tuple[Tensor, Tensor]]:
    """(y, z) of each layer, (time, hidden), for one sequence: definitions 1.2, one step after the other."""
    below, found = list(inputs), []
    for layer in made.layers:
        assert layer.c is not None
        h, y = DT / (1 + torch.exp(-layer.c)), torch.zeros(HIDDEN, dtype=torch.float64)
        z, rows, momenta = y, [], []
        for x in below:
            z = z - h * (torch.tanh(layer.w * y + layer.V @ x + layer.b) + ALPHA * y)
            y = y + h * z
            rows.append(y)
            momenta.append(z)
        below = rows
        found.append((torch.stack(rows), torch.stack(momenta)))
    return found


def gradients(made: UnICORNN, losses: list[Tensor]) -> dict[str, float]:
    """The largest entry over losses, by parameter."""
    named = dict(made.named_parameters())
    each = [torch.autograd.grad(loss, list(named.values()), retain_graph=True) for loss in losses]
    return {name: max(float(one[i].abs().max()) for one in each) for i, name in enumerate(named)}


def slack(bounds: Any, measured: Any) -> float:
    return float(np.min(np.log10(np.asarray(bounds) / np.asarray(measured))))


def assert_slacks(rows: list[Row], expected: dict[tuple[str, int, str], float]) -> None:
    found = {(row.statement, row.layer, row.quantity): row.slack for row in rows}
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-9), key


def test_states() -> None:
    made, found = network(), sample(STEPS)
    every = [states(made, found.inputs[:, k]) for k in range(found.count)]
    t = DT * np.arange(1, STEPS + 1)
    s7 = np.sqrt(2 * (1 + 2 * max(1 + 2 * ALPHA, 4 * ALPHA**2) * t))
    abar = 96**0.25 * math.sqrt(ALPHA)
    s32 = math.sqrt(2 * HIDDEN * T * (1 + 2 * ALPHA * DT**3) * math.exp(abar * T))
    expected = {}
    for q in range(LAYERS):
        for part, symbol, scale in ((0, "yₙ", math.sqrt(ALPHA)), (1, "zₙ", 1.0)):
            values = np.stack([one[q][part].detach().numpy() for one in every])
            expected["icml-C.1", q + 1, f"max abs({symbol})"] = slack(s7 / scale, np.abs(values).max(axis=(0, 2)))
            expected["sam-D.1-a", q + 1, f"‖{symbol}‖₂"] = slack(s32 / scale, np.linalg.norm(values, axis=2).max())
    rows = state_rows.rows(made, runs.states(made, found), found, claims(), log_largest=FLOAT32)
    assert_slacks(rows, expected)


def test_states_without_alpha() -> None:
    made = network()
    made.alpha.zero_()
    found = sample(STEPS)
    rows = state_rows.rows(made, runs.states(made, found), found, claims(), log_largest=FLOAT32)
    (row,) = [row for row in rows if (row.statement, row.layer, row.quantity) == ("sam-D.1-b", 2, "‖yₙ‖₂")]
    assert row.log_bound == pytest.approx(math.log(2 * HIDDEN * T * math.exp(2 * T)) / 2, rel=1e-12)


def right_sides(made: UnICORNN) -> dict[str, float]:
    """icml (12), S(14); sam (13), (41), at ȳ = 0."""
    K = max(2.0, float(made.layers[-1].w.detach().abs().max()) + ALPHA)
    V = math.prod(max(1.0, float(layer.V.detach().abs().sum(dim=1).max())) for layer in made.layers)
    geometric = (1 - DT**LAYERS) / (1 - DT) * V
    root = math.sqrt(2 * (1 + 2 * max(1 + 2 * ALPHA, 4 * ALPHA**2) * T))
    found, F = {}, root / math.sqrt(ALPHA)
    for name, Z in (("icml-3.1", root), ("icml-C.2", root / math.sqrt(2))):
        found[name] = geometric * T * (1 + 2 * (K + K * K / 2) * T) * F * (2 + Z + (2 + ALPHA) * F)
    abar = 96**0.25 * math.sqrt(ALPHA)
    for name, horizon, root in (
        ("sam-3.2", 1.0, math.sqrt(2 * HIDDEN * (1 + 2 * ALPHA * DT**3)) * math.exp(abar)),
        ("sam-D.2", T, math.sqrt(2 * HIDDEN * T * (1 + 2 * ALPHA * DT**3) * math.exp(abar * T))),
    ):
        F = root / math.sqrt(ALPHA)
        found[name] = geometric * horizon * math.exp(K * horizon) * F * (2 + root + (2 + ALPHA) * F)
    return found


def test_gradients() -> None:
    made, found = network(), sample(STEPS)
    losses = [states(made, found.inputs[:, k])[-1][0].square().sum() / (2 * STEPS) for k in range(found.count)]
    sizes = gradients(made, losses)
    expected = {
        (name, q + 1, "abs(dE/dθ)"): slack(bound, max(v for key, v in sizes.items() if key.startswith(f"layers.{q}.")))
        for name, bound in right_sides(made).items()
        for q in range(LAYERS)
    }
    own = runs.half_square_gradients(made, found)
    assert own == pytest.approx(sizes, rel=1e-10)
    assert_slacks(gradient_rows.published_rows(made, own, found, claims(), log_largest=FLOAT32), expected)


def test_jacobians() -> None:
    made, found = network(), sample(STEPS)
    n = np.arange(1, STEPS + 1)
    expected = {}
    for q, layer in enumerate(made.layers):
        assert layer.c is not None
        K = max(2.0, float(layer.w.detach().abs().max()) + ALPHA)
        h = (DT / (1 + torch.exp(-layer.c))).detach()
        steps, products = np.zeros(STEPS), np.zeros(STEPS)
        for k in range(found.count):
            every = states(made, found.inputs[:, k])
            below = found.inputs[:, k] if q == 0 else every[q - 1][0]
            before = torch.cat([torch.zeros(1, HIDDEN, dtype=torch.float64), every[q][0][:-1]])
            J = torch.eye(2 * HIDDEN, dtype=torch.float64)
            for i in range(STEPS):
                slope = 1 - torch.tanh(layer.w * before[i] + layer.V @ below[i] + layer.b) ** 2
                kappa = (ALPHA + layer.w * slope).detach()
                kick = torch.eye(2 * HIDDEN, dtype=torch.float64)
                kick[HIDDEN:, :HIDDEN] = torch.diag(-h * kappa)
                drift = torch.eye(2 * HIDDEN, dtype=torch.float64)
                drift[:HIDDEN, HIDDEN:] = torch.diag(h)
                J = drift @ kick @ J
                steps[i] = max(steps[i], float((drift @ kick).abs().sum(dim=1).max()))
                products[i] = max(products[i], float(J.abs().sum(dim=1).max()))
        one, whole = "‖dXₙ/dXₙ₋₁‖∞", "‖dXₙ/dX₀‖∞"
        expected["icml-(25)", q + 1, one] = slack(1 + K * DT + (K * DT) ** 2 / 2, steps)
        expected["both-51-53", q + 1, one] = slack(math.exp(K * DT), steps)
        expected["icml-(27)", q + 1, whole] = slack(1 + 2 * (K + K * K / 2) * n * DT, products)
        expected["sam-54", q + 1, whole] = slack(np.exp(K * n * DT), products)
    rows = jacobian_rows.rows(made, runs.trajectory(made, found), found, claims(), log_largest=FLOAT32)
    assert_slacks(rows, expected)


@pytest.mark.parametrize("reads", ["last", "every"])
def test_gradients_of_the_task_s_loss(reads: str) -> None:
    """E of one sequence, and max |∂E_n/∂y_n| with E = (1/N) Σ E_n where every row is read."""
    made, found = network(), sample(STEPS)
    readout = torch.nn.Linear(HIDDEN, 1, dtype=torch.float64)
    spec: TaskSpec = replace(found.spec, reads=reads)  # type: ignore[arg-type]
    targets = found.targets if reads == "last" else found.inputs[:, :, 0]
    losses, error = [], 0.0
    for k in range(found.count):
        rows = states(made, found.inputs[:, k])[-1][0]
        read = readout(rows)[:, 0]
        loss = (read[-1] - targets[k]) ** 2 if reads == "last" else ((read - targets[:, k]) ** 2).mean()
        (dy,) = torch.autograd.grad(loss, [rows], retain_graph=True)
        error = max(error, float(dy.abs().max()) * (1 if reads == "last" else STEPS))
        losses.append(loss)
    expected = gradients(made, losses)
    shape = targets if reads == "last" else targets[..., None]
    own = runs.loss_gradients(TaskNetwork(made, readout, reads), Sample(found.inputs, shape, None, spec))
    assert own.error == pytest.approx(error, rel=1e-10) and own.parameters == pytest.approx(expected, rel=1e-9)


# --- a verdict needs both back-ends, and a proof every step and the norm


def constant(log_bound: float, norm: str) -> Claim:
    """max over n of |y_n| in that norm is at most e^log_bound: a statement for tests."""

    def log(setting: Any, numbers: Any) -> Any:
        return 0 * setting.time + log_bound

    bound = StateBound((Part("position", norm, log, log),))
    return Claim("my.Constant", Source("nobody", "p. 1"), "|y_n| ≤ C", "real", state_bound=bound)


def proof(made: UnICORNN, claim: Claim) -> str:
    return state_rows._proof(made, claim, claim.bound.parts[0], 1, STEPS)


@pytest.mark.parametrize("norm", ["max", "euclidean"])
def test_a_proof_covers_every_step_and_every_neuron(norm: str) -> None:
    """√Q_α grows by at most h a step: |y_n| ≤ n h/r, r² = α(1 − αh²/4), the form of thm-S that increases with h."""
    made = network()
    assert made.layers[0].c is not None
    h = float((DT / (1 + torch.exp(-made.layers[0].c.detach()))).max())
    neurons = 1.0 if norm == "max" else math.sqrt(HIDDEN)
    first = neurons * h / math.sqrt(ALPHA * (1 - ALPHA * h * h / 4))
    assert proof(made, constant(math.log(STEPS * first * 1.001), norm))
    assert not proof(made, constant(math.log(STEPS * first * 0.999), norm))
    assert not proof(made, constant(math.log(first * 1.001), norm))  # it holds at n = 1


def test_a_proof_has_every_premise() -> None:
    """n < N does not hold at n = N."""
    claim = constant(9.0, "max")
    premise = Hypothesis("n < N", lambda s: s.steps - s.step, second_margin=lambda s: s.steps - s.step)
    assert proof(network(), claim) and not proof(network(), with_bound(claim, hypotheses=(premise,)))


@pytest.mark.parametrize("silent", ["first", "second"])
def test_one_back_end_refutes_nothing(monkeypatch: pytest.MonkeyPatch, silent: str) -> None:
    """The state is above e^{-20}, and both prove it; where one is made to see nothing, the claim stays suspect."""
    made, u, claim = network(), sample(STEPS).inputs[:, 0], constant(-20.0, "max")

    def certified() -> certificates.Certified:
        return certificates.of_state(made, u, claim, claim.bound.parts[0], layer=1, step=3, steps=STEPS)

    assert certified().holds, certified().because
    if silent == "first":
        real = certificates.first_opinion
        monkeypatch.setattr(certificates, "first_opinion", lambda *a, **k: replace(real(*a, **k), status="undecided"))
    else:
        again = certificates.second_opinion
        monkeypatch.setattr(certificates, "second_opinion", lambda *a, **k: {**again(*a, **k), "status": "undecided"})
    found = certified()
    assert not found.holds and found.witness == ""
    assert ("the second back-end does not confirm" in found.because) == (silent == "second")


@pytest.mark.parametrize("silent", [0, 1])
def test_one_back_end_refutes_no_gradient_bound(silent: int) -> None:
    made, u = network(), sample(STEPS).inputs[:, 0]
    place = next(each for each in claims().get("sam-D.2").claim.places if each.quantity.endswith("b of any layer"))

    def check(parameters: Any) -> Check:
        words = [Opinion(name, index != silent, "seen") for index, name in enumerate(("balls", "floats"))]
        return replace(place.check(parameters), opinions=tuple(words))

    found = certificates.of_gradient(made, u, "b", check, layer=1, entry=(0,), witness_of=("sam-D.2", place))
    assert not found.holds and found.witness == "" and ("balls", "floats")[silent] in found.because


def one_still_and_one_driven() -> tuple[UnICORNN, Sample]:
    """Without biases the first sequence, of zeros, moves nothing; the second does."""
    made = network()
    with torch.no_grad():
        for layer in made.layers:
            assert layer.b is not None
            layer.b.zero_()
    inputs = torch.zeros(STEPS, 2, 2, dtype=torch.float64)
    inputs[:, 1] = 1.0
    return made, sample(STEPS, inputs=inputs)


def test_a_violation_is_certified_on_the_sequence_that_has_it() -> None:
    made, found = one_still_and_one_driven()
    planted = [SimpleNamespace(claim=constant(-20.0, "max"))]
    registry: Any = SimpleNamespace(state_bounds=lambda: planted)
    rows = state_rows.rows(made, runs.states(made, found), found, registry, log_largest=FLOAT32)
    assert [row.verdict for row in rows] == [verdict.REFUTED] * LAYERS, rows


def test_a_gradient_is_certified_on_the_sequence_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made, found = one_still_and_one_driven()
    small = replace(gradient_rows.PUBLISHED["icml-3.1"], factor=Fraction(1, 10**24))
    monkeypatch.setattr(gradient_rows, "PUBLISHED", {"icml-3.1": small})
    sizes = runs.half_square_gradients(made, found)
    rows = gradient_rows.published_rows(made, sizes, found, claims(), log_largest=FLOAT32)
    assert [row.verdict for row in rows] == [verdict.REFUTED] * LAYERS, rows
