"""How a verdict follows from premises, bound and measurement; and the bounds on states, gradients and Jacobians."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from odernn import UnICORNN
from odernn.bounds.network import certify
from tests.verification.trained.networks import sample, unicornn
from verification import verdict
from verification.claim import Premise
from verification.registry import Registry
from verification.trained import certificates, gradient_rows, jacobian_rows, rebuilding_rows, runs, state_rows
from verification.trained.row import BoundComparison, Certified, Row, judged, margin, said, uncertified
from verification.trained.runs import Sample
from verification.witness.check import check
from verification.witness.file import read

FLOAT32 = 128 * math.log(2)
BLANK = Row("bound", 1, "q", "a claim")


@functools.cache
def claims() -> Registry:
    """The claims that come with the library, read once."""
    return Registry()


def forbidden(place: int) -> Certified:
    pytest.fail("nothing is violated, and there is nothing to certify")


def state_rows_of(network: UnICORNN, found: Sample, given: Registry | None = None) -> dict[tuple[str, int, str], Row]:
    rows = state_rows.rows(network, runs.states(network, found), found, given or claims(), log_largest=FLOAT32)
    return {(row.statement, row.layer, row.quantity): row for row in rows}


# --- verdicts


def test_verdicts_follow_from_the_numbers() -> None:
    below = judged(BLANK, lambda: BoundComparison([1.0, 3.0], [0.5, 2.9], forbidden, place=lambda i: f"n = {i + 1}"))
    assert (below.verdict, below.at) == (verdict.NOT_REFUTED, "n = 2")
    assert below.slack == pytest.approx(0.1 / math.log(10)) and below.log_bound == 3.0
    falling = judged(BLANK, lambda: BoundComparison([1.0, 9.0], [0.5, 2.9], forbidden, place=lambda i: f"n = {i + 1}"))
    assert (falling.at, falling.log_measured, falling.log_largest) == ("n = 1", 0.5, 2.9)  # nearest early, largest late
    proved = judged(BLANK, lambda: BoundComparison(1.0, 0.5, forbidden, proof=lambda: "for every input"))
    assert (proved.verdict, proved.because) == (verdict.PROVED, "for every input")
    vacuous = judged(BLANK, lambda: BoundComparison(200.0, 0.5, forbidden, proof=lambda: "for every input"))
    assert vacuous.verdict == verdict.VACUOUS
    for wrong in (math.nan, math.inf):
        assert judged(BLANK, lambda w=wrong: BoundComparison(1.0, [0.0, w], forbidden)).verdict == verdict.INCONCLUSIVE
    with pytest.raises(FloatingPointError, match="not finite"):
        judged(BLANK, lambda: BoundComparison(math.inf, 0.5, forbidden))


@pytest.mark.parametrize(("excess", "violated"), [(2e-9, True), (1e-10, False), (-1e-3, False)])
def test_a_violation_must_exceed_rounding_and_be_certified(excess: float, violated: bool) -> None:
    def ask(certify: Any) -> BoundComparison:
        return BoundComparison([1.0, 1.0], [0.0, 1.0 + excess], certify)

    asked: list[int] = []

    def certify(place: int) -> Certified:
        asked.append(place)
        return Certified(True, "by two back-ends", "a witness")

    row = judged(BLANK, lambda: ask(certify))
    assert (row.verdict, row.witness) == ((verdict.REFUTED, "a witness") if violated else (verdict.NOT_REFUTED, ""))
    assert asked == ([1] if violated else [])
    row = judged(BLANK, lambda: ask(uncertified("nobody can")))
    assert row.verdict == (verdict.SUSPECT if violated else verdict.NOT_REFUTED)
    assert row.because == ("exceeded in float64, not certified: nobody can" if violated else "on this data")


def test_outside_its_premises_a_bound_is_not_computed() -> None:
    row = replace(BLANK, premises=(Premise("α > 0", -0.5, False), Premise("dt < 1", 0.25, True)))
    found = judged(row, lambda: pytest.fail("its premise fails"))
    assert found.verdict == verdict.INAPPLICABLE and found.because == "premise α > 0 FAILS by 0.5"
    assert said(row.premises[1]) == "dt < 1 holds by 0.25" and found.slack is None


def test_margins_count_neurons() -> None:
    assert margin(1, "m", [0.5, 0.25, 3.0], source="").because == "for all 3 neurons"
    found = margin(1, "m", [0.5, -0.25, 0.0, math.nan], source="")
    assert found.verdict == "fails" and found.because == "for 1 of 4 neurons" and math.isnan(found.value or 0)
    assert margin(1, "m", [0.5, -0.25], source="").at == "neuron 2"


# --- states


def simulated(network: UnICORNN, inputs: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """(y, z), (time, K, m), of every layer, by a loop in numpy."""
    below, found = inputs, []
    for number, layer in enumerate(network.layers):
        w, c, b, V = (p.detach().numpy() for p in (layer.w, layer.c, layer.b, layer.V))
        h, alpha = float(network.dt[number]) / (1 + np.exp(-c)), float(network.alpha[number])
        y = z = np.zeros((below.shape[1], len(w)))
        rows = []
        for u in below:
            z = z - h * (np.tanh(w * y + u @ V.T + b) + alpha * y)
            y = y + h * z
            rows.append((y, z))
        found.append((np.stack([y for y, _ in rows]), np.stack([z for _, z in rows])))
        below = found[-1][0]
    return found


def test_slack_on_states_recomputed() -> None:
    """icml S(7) and sam (32), typed once more, on a trajectory of numpy's."""
    network, found = unicornn(alpha=1.5), sample()
    rows = state_rows_of(network, found)
    n = np.arange(1, 13)
    t, T, m = 0.2 * n, 0.2 * 12, 3
    beta = max(1 + 3.0, 4 * 1.5**2)
    abar = 96**0.25 * math.sqrt(1.5)
    for number, (y, z) in enumerate(simulated(network, found.inputs.numpy()), 1):
        S7 = np.sqrt(2 * (1 + 2 * beta * t))
        ratios = np.abs(y).max(axis=(1, 2)) / (S7 / math.sqrt(1.5))
        row = rows["icml-C.1", number, "max abs(yₙ)"]
        assert row.log_largest == pytest.approx(math.log(np.abs(y).max()), abs=1e-9)
        assert row.log_measured == pytest.approx(math.log(np.abs(y).max(axis=(1, 2))[ratios.argmax()]), abs=1e-9)
        assert row.slack == pytest.approx(-math.log10(ratios.max()), abs=1e-9)
        assert row.at == f"n = {int(ratios.argmax()) + 1}" and row.verdict == verdict.PROVED
        S32 = math.sqrt(2 * m * T * (1 + 3.0 * 0.2**3) * math.exp(abar * T))
        assert rows["sam-D.1-a", number, "‖zₙ‖₂"].slack == pytest.approx(
            math.log10(S32 / np.sqrt((z**2).sum(axis=2)).max()), abs=1e-9
        )
    assert len({row.slack for row in rows.values() if row.slack is not None}) >= 12


def test_slack_follows_the_weights() -> None:
    network, found = unicornn(), sample()
    before = state_rows_of(network, found)["icml-C.1", 1, "max abs(yₙ)"]
    with torch.no_grad():
        network.layers[0].V.mul_(0.25)
        network.layers[0].b.mul_(0.25)
    after = state_rows_of(network, found)["icml-C.1", 1, "max abs(yₙ)"]
    assert before.log_bound is not None and after.slack is not None and before.slack is not None
    assert after.slack > before.slack + 0.3


def test_a_weight_change_that_breaks_a_premise_changes_the_row() -> None:
    found = sample()
    rows = state_rows_of(unicornn(alpha=0.0), found)
    assert rows["icml-C.1", 1, "max abs(yₙ)"].verdict == verdict.INAPPLICABLE
    assert rows["sam-D.1-b", 1, "‖yₙ‖₂"].verdict == verdict.PROVED
    assert rows["thm-S", 1, "max abs(yₙ)"].shown == verdict.THEOREM_TESTED
    rows = state_rows_of(unicornn(alpha=0.0, dt=[0.2, 0.6]), found)
    assert rows["sam-D.1-b", 1, "‖yₙ‖₂"].verdict == verdict.PROVED  # layer 1 has dt = 0.2
    row = rows["sam-D.1-b", 2, "‖yₙ‖₂"]
    assert row.verdict == verdict.INAPPLICABLE and row.because.startswith("premise dt < 1/2 FAILS by 0.2")
    rows = state_rows_of(unicornn(alpha=0.0, dt=[0.6, 0.2]), found)  # layer 1 feeds layer 2
    assert all(rows["sam-D.1-b", layer, "‖yₙ‖₂"].verdict == verdict.INAPPLICABLE for layer in (1, 2))
    stiff = state_rows_of(unicornn(alpha=30.0, dt=0.9), found)["thm-S-Q", 1, "max abs(yₙ)"]
    assert stiff.verdict == verdict.INAPPLICABLE and "α dt² < 4" in stiff.because
    rows = state_rows_of(unicornn(alpha=30.0, dt=0.9), found)
    assert rows["icml-C.1", 1, "max abs(yₙ)"].verdict != verdict.PROVED  # αh² may pass 4: the proof gives way


def set_neuron(network: UnICORNN, *, w: float, c: float) -> None:
    """One neuron that sees the first input, without bias."""
    layer = network.layers[0]
    with torch.no_grad():
        for parameter, value in ((layer.w, w), (layer.c, c), (layer.b, 0.0)):
            assert parameter is not None
            parameter.fill_(value)
        layer.V.copy_(torch.tensor([[1.0, 0.0]]))


def resonant(dt: float, steps: int) -> tuple[UnICORNN, Sample]:
    """One neuron, w = 0, h almost dt, driven at its resonance by ±20: |y| grows like 2T/π, the bound like √T."""
    network = unicornn(1, 1, dt=dt, alpha=1.0)
    set_neuron(network, w=0, c=12)
    theta = 2 * math.asin(dt / 2)
    wave = torch.sign(torch.sin(theta * torch.arange(steps, 0, -1, dtype=torch.float64)))
    inputs = torch.stack([20 * wave, 0 * wave], dim=1)[:, None]
    return network, sample(steps, inputs=inputs)


def test_the_published_state_bound_is_refuted_where_it_is_false() -> None:
    """icml S(7) beyond T ≈ 40, on a wave at resonance: both back-ends agree, and sam's bound stands."""
    network, found = resonant(0.25, 240)
    rows = state_rows_of(network, found)
    row = rows["icml-C.1", 1, "max abs(yₙ)"]
    assert row.verdict == verdict.REFUTED and row.slack is not None and row.slack < -0.05, row
    assert "bits by two back-ends" in row.because and certificates.READ_HERE in row.because and row.witness == ""
    assert rows["sam-D.1-a", 1, "‖yₙ‖₂"].verdict == verdict.VACUOUS  # e^{94}
    assert rows["thm-S", 1, "max abs(yₙ)"].verdict == verdict.NOT_REFUTED
    assert abs(rows["thm-S", 1, "max abs(yₙ)"].slack or 1) < 1e-9  # the supremum is nearly reached
    short = state_rows_of(*resonant(0.25, 40))["icml-C.1", 1, "max abs(yₙ)"]
    assert short.verdict != verdict.REFUTED


FALSE_CLAIM = '''
"""A false statement."""
from odernn.tableaus.tableau import Source
from verification.claim import Claim, Hypothesis, Part, StateBound

CLAIMS = (
    Claim(
        id="my.False",
        source=Source("nobody", "p. 1"),
        statement="|z_n| ≤ t_n / 1000",
        semantics="real",
        state_bound=StateBound(
            (Part("momentum", "max", lambda s, n: n.log(s.time / 1000), lambda s, iv: iv.log(s.time / 1000)),),
            (Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),),
        ),
    ),
)
'''


def test_a_false_claim_is_refuted_by_the_trained_weights_and_replayed(tmp_path: Path) -> None:
    (tmp_path / "false.py").write_text(FALSE_CLAIM, encoding="utf-8")
    registry = Registry((tmp_path,))
    row = state_rows_of(unicornn(), sample(), registry)["my.False", 2, "max abs(zₙ)"]
    assert row.verdict == verdict.REFUTED and re.search(r"two back-ends, at n = (\d+)$", row.because)
    first, largest = (int(each.rsplit("n = ")[1]) for each in (row.because, row.at))
    assert first < largest  # the first clear violation takes fewer steps
    (tmp_path / "w.json").write_text(row.witness, encoding="utf-8")
    outcome = check(read(tmp_path / "w.json"), registry)
    assert outcome.certified, outcome.lines
    for options, words in (
        ({"residual_skip": 2, "num_layers": 3}, "residual edges"),
        ({"multiscale": False}, "without c"),
        ({"index": "sam"}, '"sam"'),
        ({"alpha": [1.0, 2.0]}, "several α"),
    ):
        layers = int(options.pop("num_layers", 2))  # type: ignore[call-overload]
        row = state_rows_of(unicornn(3, layers, **options), sample(), registry)["my.False", 2, "max abs(zₙ)"]
        assert row.verdict == verdict.SUSPECT and "no certificate covers" in row.because and words in row.because


def test_every_neuron_has_its_own_bound() -> None:
    network, found = unicornn(), sample()
    states, bounds = runs.states(network, found), certify(network, input_bound=1.0, steps=12)
    rows = state_rows.neuron_rows(states, bounds, found)
    assert [row.verdict for row in rows] == [verdict.NOT_REFUTED] * 4
    y = simulated(network, found.inputs.numpy())[0][0]
    slacks = np.array(bounds.layers[0].log_positions) - np.log(np.abs(y).max(axis=(0, 1)))
    assert rows[0].slack == pytest.approx(slacks.min() / math.log(10)) and rows[0].at == f"neuron {slacks.argmin() + 1}"
    lowered = tuple(log - 4.0 for log in bounds.layers[0].log_positions)  # planted
    wrong = replace(bounds, layers=(replace(bounds.layers[0], log_positions=lowered), bounds.layers[1]))
    assert state_rows.neuron_rows(states, wrong, found)[0].verdict == verdict.SUSPECT


# --- gradients


def test_gradients_are_those_of_the_published_recursion() -> None:
    """``bptt`` has no autograd in it: dE/dy_n = y_n/N."""
    network, found = unicornn(), sample(count=2)
    expected: dict[str, float] = {}
    for index in range(2):
        u = found.inputs[:, index : index + 1]
        with torch.no_grad():
            y = network(u)[0]
        for name, value in network.bptt(u, y / 12).items():
            expected[name] = max(expected.get(name, 0.0), float(value.abs().max()))
    assert runs.half_square_gradients(network, found) == pytest.approx(expected, rel=1e-10)


def right_side(network: UnICORNN, steps: int) -> float:
    """icml (12) at ȳ = 0, in floats, typed once more."""
    dt, alpha, L = float(network.dt[0]), float(network.alpha[0]), network.num_layers
    T = steps * dt
    K = max(2.0, float(network.layers[-1].w.detach().abs().max()) + alpha)
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    F = math.sqrt(2 / alpha * (1 + 2 * beta * T))
    Delta = 2 + math.sqrt(2 * (1 + 2 * beta * T)) + (2 + alpha) * F
    V = math.prod(max(1.0, float(layer.V.detach().abs().sum(dim=1).max())) for layer in network.layers)
    return (1 - dt**L) / (1 - dt) * T * (1 + 2 * (K + K * K / 2) * T) * V * F * Delta


def gradient_rows_of(network: UnICORNN, found: Sample) -> dict[tuple[str, int], Row]:
    gradients = runs.half_square_gradients(network, found)
    rows = gradient_rows.published_rows(network, gradients, found, claims(), log_largest=FLOAT32)
    return {(row.statement, row.layer): row for row in rows}


def test_slack_on_gradients_recomputed() -> None:
    network, found = unicornn(), sample()
    with torch.no_grad():
        for layer in network.layers:  # row sums and column sums above 1, and different
            layer.V.copy_(torch.linspace(-3.0, 2.0, layer.V.numel()).reshape(layer.V.shape))
    row = gradient_rows_of(network, found)["icml-3.1", 2]
    assert row.log_bound == pytest.approx(math.log(right_side(network, 12)), rel=1e-12)
    sizes = runs.half_square_gradients(network, found)
    assert row.log_measured == pytest.approx(math.log(max(sizes[f"layers.1.{p}"] for p in "wbcV")), rel=1e-12)
    assert row.verdict == verdict.NOT_REFUTED and row.source == "icml, Prop. 3.1, (12)"


def test_premises_of_the_gradient_propositions() -> None:
    found = sample()
    rows = gradient_rows_of(unicornn(), found)
    assert "T = N dt ≤ 1 FAILS by 1.4" in rows["sam-3.2", 1].because
    assert gradient_rows_of(unicornn(dt=0.05), found)["sam-3.2", 1].verdict == verdict.NOT_REFUTED
    for options in ({"dt": [0.2, 0.3]}, {"alpha": [1.0, 2.0]}):
        assert "one dt, one α, no Λ FAILS" in gradient_rows_of(unicornn(**options), found)["icml-3.1", 1].because
    assert "no Λ FAILS" in gradient_rows_of(unicornn(3, 3, residual_skip=2), found)["sam-D.2", 1].because
    assert "α > 0 FAILS" in gradient_rows_of(unicornn(alpha=0.0), found)["icml-C.2", 1].because


@pytest.mark.parametrize("theta", ["w", "b", "c", "V"])
def test_a_false_gradient_bound_is_refuted(monkeypatch: pytest.MonkeyPatch, theta: str) -> None:
    """Planted: the right side 10⁻¹⁸ times the printed one. The gradient of that parameter is made the largest."""
    small = replace(gradient_rows.ICML_MAIN, factor=Fraction(1, 10**18))
    monkeypatch.setattr(gradient_rows, "PUBLISHED", {"icml-3.1": small})
    network, found = unicornn(), sample(count=2)
    sizes = {f"layers.{layer}.{name}": 1e-30 for layer in (0, 1) for name in "wbcV"}
    for layer in (0, 1):
        name = f"layers.{layer}.{theta}"
        sizes[name] = runs.half_square_gradients(network, found)[name]
    rows = gradient_rows.published_rows(network, sizes, found, claims(), log_largest=FLOAT32)
    assert [row.verdict for row in rows] == [verdict.REFUTED] * 2, [row.because for row in rows]
    assert all(row.at == f"θ = {theta}" and f"θ = {theta} of neuron" in row.because for row in rows), rows
    without = unicornn(bias=False)
    sizes = {name: value for name, value in sizes.items() if not name.endswith(".b")}
    if theta != "b":
        rows = gradient_rows.published_rows(without, sizes, found, claims(), log_largest=FLOAT32)
        assert rows[0].verdict == verdict.SUSPECT and "without b" in rows[0].because


def test_a_violation_that_the_certificates_cannot_follow_stays_suspect() -> None:
    """A saddle, w = −17: icml (12) grows like T³ at fixed weights, the gradient like e^{4T}; errors grow alike."""
    network = unicornn(1, 1, dt=0.1, alpha=1.0)
    set_neuron(network, w=-17, c=12)
    inputs = torch.full((90, 1, 2), 1e-17, dtype=torch.float64)
    rows = gradient_rows_of(network, sample(90, inputs=inputs))
    row = rows["icml-3.1", 1]
    assert row.verdict == verdict.SUSPECT and (row.slack or 0) < -2 and "floats: " in row.because, row
    assert rows["sam-D.2", 1].verdict == verdict.VACUOUS  # e^{18 T} is larger


def test_theorems_on_gradients_stand_and_a_planted_smaller_bound_does_not() -> None:
    network, found = unicornn(), sample()
    gradients = runs.half_square_gradients(network, found)
    bounds = certify(network, input_bound=found.largest_input, steps=12, target_bound=0.0)
    rows = gradient_rows.theorem_rows(gradients, bounds, found)
    assert len(rows) == 8 and all(row.verdict == verdict.NOT_REFUTED and (row.slack or -1) > 0 for row in rows)
    larger = {name: value * math.exp(12) for name, value in gradients.items()}
    assert any(row.verdict == verdict.SUSPECT for row in gradient_rows.theorem_rows(larger, bounds, found))


def test_the_bound_on_the_loss_scales_with_its_error() -> None:
    """thm-G is proportional to |∂E/∂y|: with E = ½|y|²/N itself as the loss it is the bound of E at Ȳ = 0, or less."""
    network, found = unicornn(), sample()
    bounds = certify(network, input_bound=found.largest_input, steps=12, target_bound=0.0)
    with torch.no_grad():
        error = float(network(found.inputs)[0].abs().max())
    loss = runs.LossGradients(runs.half_square_gradients(network, found), error)
    plain = gradient_rows.theorem_rows(loss.parameters, bounds, found)
    for scaled, own in zip(gradient_rows.loss_rows(loss, bounds, found), plain, strict=True):
        assert scaled.log_bound is not None and own.log_bound is not None and scaled.verdict == verdict.NOT_REFUTED
        assert scaled.log_bound - own.log_bound == pytest.approx(
            math.log(error) - bounds.layers[1].log_position, abs=1e-9
        )
        assert scaled.log_bound < own.log_bound


@pytest.mark.parametrize("sizes", [(math.nan, 1.0), (1.0, math.nan), (math.nan, math.inf), (0.0, math.nan)])
def test_the_largest_of_sizes_is_nan_if_one_is(sizes: tuple[float, float]) -> None:
    """``max(0.0, nan)`` is 0.0."""
    assert math.isnan(runs.larger(*sizes)) and math.isnan(runs.log_size(runs.larger(*sizes)))
    assert runs.larger(1.0, math.inf) == math.inf and runs.log_size(math.inf) == math.inf
    named = {f"layers.0.{name}": value for name, value in zip("wb", sizes, strict=True)}
    rows = gradient_rows.published_rows(unicornn(3, 1), named, sample(), claims(), log_largest=FLOAT32)
    assert {row.verdict for row in rows if row.statement != "sam-3.2"} == {verdict.INCONCLUSIVE}
    assert runs.larger(1.0, 2.0) == 2.0 and runs.log_size(0.0) == -math.inf


def test_a_gradient_that_overflows_is_inconclusive_and_never_small() -> None:
    """A saddle at rest, w = −10³⁰: after eleven steps ∞ · 0 = NaN in the derivatives. The states are finite."""
    network, found = unicornn(2, 2), sample(24, inputs=torch.zeros(24, 1, 2))
    with torch.no_grad():
        network.layers[0].w.fill_(-1e30)
        network.layers[0].b.zero_()
        network.layers[1].b.fill_(1.0)
    gradients = runs.half_square_gradients(network, found)
    assert any(not math.isfinite(value) for name, value in gradients.items() if name.startswith("layers.0"))
    rows = gradient_rows.published_rows(network, gradients, found, claims(), log_largest=FLOAT32)
    words = {row.verdict for row in rows if row.layer == 1 and row.statement != "sam-3.2"}
    assert words == {verdict.INCONCLUSIVE}, rows
    bounds = certify(network, input_bound=0.0, steps=24, target_bound=0.0)
    rows = gradient_rows.theorem_rows(gradients, bounds, found)
    assert verdict.INCONCLUSIVE in {row.verdict for row in rows if row.layer == 1}
    rows = gradient_rows.loss_rows(runs.LossGradients(gradients, math.nan), bounds, found)
    assert {row.verdict for row in rows} == {verdict.INCONCLUSIVE} and len(rows) == 8


@pytest.mark.parametrize(("dt", "steps", "holds"), [(0.1, 10, False), (0.125, 8, True), (0.25, 5, False)])
def test_the_premise_on_the_horizon_is_exact(dt: float, steps: int, holds: bool) -> None:
    """Ten times the float 0.1 is 1 in floats, and more than 1: certificates know it, and so does the row."""
    row = gradient_rows_of(unicornn(dt=dt), sample(steps))["sam-3.2", 1]
    (premise,) = [each for each in row.premises if each.text.startswith("T = ")]
    assert premise.holds == holds and (row.verdict == verdict.INAPPLICABLE) == (not holds)
    assert premise.margin == (float(1 - steps * Fraction(dt)))


# --- Jacobians


def jacobian_rows_of(network: UnICORNN, found: Sample) -> dict[tuple[str, int], Row]:
    rows = jacobian_rows.rows(network, runs.trajectory(network, found), found, claims(), log_largest=FLOAT32)
    return {(row.statement, row.layer): row for row in rows}


def test_products_of_jacobians_are_those_of_autograd() -> None:
    """dX_n/dX_0 of one layer by autograd through its own steps, against the rows."""
    network, found = unicornn(3, 1), sample(count=1)
    layer, coefficients = network.layers[0], network.coefficients(0)
    drives = (found.inputs @ layer.V.T + layer.b).detach()[:, 0]

    def to_the_end(state: torch.Tensor) -> torch.Tensor:
        y, z = state[:3], state[3:]
        out = []
        for x in drives:
            z = z - coefficients["step_size"] * (torch.tanh(coefficients["w"] * y + x) + y)
            y = y + coefficients["step_size"] * z
            out.append(torch.cat([y, z]))
        return torch.stack(out)

    J = torch.autograd.functional.jacobian(to_the_end, torch.zeros(6, dtype=torch.float64)).detach()  # (n, 6, 6)
    norms = J.abs().sum(dim=2).amax(dim=1)
    K = max(2.0, float(layer.w.detach().abs().max()) + 1.0)
    n = torch.arange(1.0, 13.0, dtype=torch.float64)
    rows = jacobian_rows_of(network, found)
    for name, logs in (("icml-(27)", torch.log1p((2 * K + K * K) * n * 0.2)), ("sam-54", K * n * 0.2)):
        slack = float((logs - norms.log()).min()) / math.log(10)
        assert rows[name, 1].slack == pytest.approx(slack, abs=1e-9)
    first = norms[0]  # one step
    assert (
        rows["icml-(25)", 1].log_measured is not None and math.exp(rows["icml-(25)", 1].log_measured) >= first - 1e-12
    )


def test_the_norm_of_a_form_is_that_of_its_quadratic_form() -> None:
    """‖M‖_a² = max Q_a(Mx)/Q_a(x), the largest eigenvalue of a pencil."""
    from scipy.linalg import eigh

    a, h = 2.5, 0.7
    Q = np.array([[a, -a * h / 2], [-a * h / 2, 1.0]])
    M = np.random.default_rng(0).normal(size=(2, 2))
    expected = math.sqrt(eigh(M.T @ Q @ M, Q, eigvals_only=True)[-1])
    norm = jacobian_rows._norm_of_form(torch.tensor([a], dtype=torch.float64), torch.tensor([h], dtype=torch.float64))
    assert float(norm(torch.from_numpy(M)[None])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("options", [{"multiscale": False}, {"dt": 1e-6}, {"dt": 0.9, "alpha": 0.5}])
def test_a_norm_that_nothing_changes_is_no_violation(options: dict[str, Any]) -> None:
    """w = 0: every step is a rotation in the form's norm, the bound is reached, and rounding stays within 10⁻¹².

    By the eigenvalues of MᵀM the largest one came out up to 1.5·10⁻⁸ too large, and the theorem as suspect.
    """
    network, found = unicornn(8, 1, **options), sample()
    with torch.no_grad():
        network.layers[0].w.zero_()
    row = jacobian_rows_of(network, found)["thm-J", 1]
    assert row.verdict == verdict.NOT_REFUTED and abs(row.slack or 0) < 1e-12, row


def test_the_rate_of_a_saddle_is_reached_and_half_of_it_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest σ' = 1 all along: thm-J (c) says that nothing grows faster, and the row comes close to its bound."""
    network = unicornn(2, 1)
    with torch.no_grad():
        network.layers[0].w.fill_(-9.0)
        network.layers[0].b.zero_()
    found = sample(60, inputs=torch.zeros(60, 1, 2))
    row = jacobian_rows_of(network, found)["thm-J", 1]
    assert row.verdict == verdict.NOT_REFUTED and (row.slack or -1) >= 0
    assert row.log_measured is not None and row.log_bound is not None
    original = jacobian_rows.jacobian.rate_bound
    monkeypatch.setattr(jacobian_rows.jacobian, "rate_bound", lambda **k: original(**k) / 2)
    assert jacobian_rows_of(network, found)["thm-J", 1].verdict == verdict.SUSPECT


# --- stepping back


def test_what_stepping_back_loses_in_two_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    network, found = unicornn(dtype=torch.float32), sample()
    rows = rebuilding_rows.rows(network, found)
    assert len(rows) == 2 * 2 * 3 and {row.quantity.split(", ")[1] for row in rows} == {"float32", "bfloat16"}
    bounds = [row for row in rows if row.kind == "bound"]
    assert len(bounds) == 8 and all(row.verdict == verdict.NOT_REFUTED and (row.slack or -1) > 0 for row in bounds)
    laws = [row for row in rows if row.kind == "measured"]
    assert all("an estimate, never a bound" in row.because and row.verdict == "" for row in laws)

    from odernn.executions import torch_loop

    original = torch_loop.step_back
    monkeypatch.setattr(torch_loop, "step_back", lambda y, z, x, **k: original(y + 0.01, z, x, **k))  # planted
    assert rebuilding_rows.rows(network, found)[0].verdict == verdict.SUSPECT
