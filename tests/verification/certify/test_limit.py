"""dt → 0: a certificate holds for every small step, and direct runs at such steps confirm it; true bounds get none."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import flint
import pytest
from mpmath import mp, mpf

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS
from tests.verification.state_claims import with_bound
from verification.certify import balls, limit
from verification.certify.limit import LimitData
from verification.certify.second import intervals as second
from verification.claim import Hypothesis
from verification.instance import Group, Inputs, Instance, Layer, to_plain
from verification.registry import Registry
from verification.system import UNICORNN

ICML = Registry().get("icml-C.1").claim
SAM = Registry().get("sam-D.1-a").claim
PARTS = {part.quantity: part for part in ICML.bound.parts}
CERTIFIED = [
    ("1/4", "40", 1, "position"),
    ("1/4", "40", 1, "momentum"),
    ("1/100", "15", 1, "position"),
    ("1/100", "15", 1, "momentum"),
    ("1/100", "15", 2, "position"),
    ("1/100", "15", 2, "momentum"),
]


def data(alpha: str, horizon: str, layer: int = 1, dt: str = "1/10") -> LimitData:
    return LimitData(Fraction(alpha), Fraction(horizon), Fraction(20), Fraction(12), layer, Fraction(dt))


def square_wave(found: LimitData, N: int, quantity: str) -> Instance:
    """The data of a certificate as a run of N steps: the sampled wave in layer 1, the bias alone in layer 2."""
    dt, amplitude = found.horizon / N, found.amplitude
    group = Group(1, Fraction(0), found.c)
    if found.layer == 2:  # V² = 0; what layer 1 does is of no account
        top = Layer(dt, (dataclasses.replace(group, bias=-amplitude),), ((Fraction(0),),))
        return Instance(found.alpha, (Layer(dt, (group,), ((Fraction(1),),)), top), Inputs(1, ((N, (Fraction(1),)),)))
    wave = math.sin if quantity == "position" else math.cos
    sigma, root = 1 / (1 + math.exp(-float(found.c))), math.sqrt(found.alpha)
    phases = [root * sigma * float(dt) * (N - n) for n in range(1, N + 1)]
    values = [math.copysign(float(amplitude), -wave(phase)) for phase in phases]
    layer = Layer(dt, (group,), ((Fraction(1),),))
    return Instance(found.alpha, (layer,), Inputs.from_values(values, 1))


@pytest.mark.parametrize(("alpha", "horizon", "layer", "quantity"), CERTIFIED)
def test_the_printed_icml_bound_fails_at_every_small_step_and_direct_runs_confirm_it(alpha, horizon, layer, quantity):
    part = PARTS[quantity]
    outcome = limit.certify(ICML, part, data(alpha, horizon, layer))
    assert outcome.holds and outcome.measured > outcome.bound > 0
    found = outcome.data
    assert (found.alpha, found.horizon, found.layer) == (Fraction(alpha), Fraction(horizon), layer)
    assert str(found.dt) in outcome.because and "thm-S-limit" in outcome.because
    finer = dataclasses.replace(found, dt=found.dt / 3)
    assert limit.check(ICML, part, found).holds and limit.check(ICML, part, finer).holds
    least = math.ceil(found.horizon / found.dt)
    for N in (least, least + 1, math.ceil(1.37 * least)):
        instance = square_wave(found, N, quantity)
        where = {"layer": layer, "step": N, "steps": N}
        run = balls.decide(ICML, part, instance, **where)
        assert run.is_refutation
        assert run.measured[0] >= math.log(outcome.measured) - 1e-12  # the uniform bound is below the run
    other = second.decide(
        to_plain(square_wave(found, least, quantity)),
        layer=layer,
        step=least,
        steps=least,
        quantity=quantity,
        norm="max",
        bound=part.second_bound,
    )
    assert other["status"] == "violates"


def first_crossing(alpha: Fraction, quantity: str) -> mpf:
    """The least T at which the supremum of the continuous model meets the printed bound (σ̂ = tanh = 1)."""
    a = mpf(alpha.numerator) / alpha.denominator
    root, beta = mp.sqrt(a), max(1 + 2 * a, 4 * a**2)

    def excess(T: mpf) -> mpf:
        x = root * T if quantity == "position" else root * T + mp.pi / 2
        half_waves = int(mp.floor(x / mp.pi))
        area = 2 * half_waves + 1 - mp.cos(x - half_waves * mp.pi) - (0 if quantity == "position" else 1)
        bound = mp.sqrt(2 * (1 + 2 * beta * T))
        return area / a - bound / root if quantity == "position" else area / root - bound

    low, high = mpf(0), next(mpf(k) / 8 for k in range(1, 4000) if excess(mpf(k) / 8) > 0)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return low


@pytest.mark.parametrize("quantity", ["position", "momentum"])
@pytest.mark.parametrize("alpha", ["1/4", "1/100"])
def test_the_certificate_appears_at_the_crossover_and_not_just_below_it(alpha: str, quantity: str):
    crossing = Fraction(int(10**9 * first_crossing(Fraction(alpha), quantity)), 10**9)
    part = PARTS[quantity]
    above, below = (data(alpha, str(crossing * (1 + sign * Fraction(1, 1000)))) for sign in (1, -1))
    assert limit.certify(ICML, part, above).holds
    outcome = limit.certify(ICML, part, below)
    assert not outcome.holds and "does not exceed" in outcome.because
    assert 0 < outcome.measured < outcome.bound


def true_claims(made_up_claim) -> list:
    """Statements that hold in the limit, with margins from large to a millionth, and that do not look at dt."""
    claims = []
    for factor in (Fraction(2), 1 + Fraction(1, 10**6)):
        for quantity in ("position", "momentum"):

            def bound(s, numbers, quantity=quantity, factor=factor):
                """factor · sup of the continuous model over σ̂ ≤ 1: increasing in T, so σ̂ = 1 is the largest."""
                phase = numbers.sqrt(s.alpha) * s.time
                start = phase if quantity == "position" else phase + numbers.pi() / 2
                k = int(float(start / numbers.pi()))
                area = 2 * k + 1 - numbers.cos(start - k * numbers.pi()) - (0 if quantity == "position" else 1)
                over = s.alpha if quantity == "position" else numbers.sqrt(s.alpha)
                return numbers.log(numbers.exact(factor) * area / over)

            claims.append(made_up_claim(bound, lambda s, iv: iv.mpf(0), quantity=quantity, asymptotic=True))
    return claims


@pytest.mark.parametrize("where", [("1/4", "40"), ("1/100", "15"), ("10", "3")])
def test_a_true_statement_gets_no_certificate(where, made_up_claim):
    claims = true_claims(made_up_claim)
    assert len(claims) == 4
    for claim in claims:
        assert not limit.certify(claim, claim.bound.parts[0], data(*where)).holds
    for part in SAM.bound.parts:
        assert not limit.certify(SAM, part, data(*where)).holds


@pytest.mark.parametrize("quantity", ["position", "momentum"])
def test_a_statement_a_thousandth_below_the_limit_gets_one(quantity, made_up_claim):
    # α = 1, T = 2π up to 6e-7: ∫|sin| = ∫|cos| = 4 over a whole period
    horizon = "710/113"
    claim = made_up_claim(
        lambda s, numbers: numbers.log(numbers.exact(Fraction("3.996"))),
        lambda s, iv: iv.log(iv.mpf("3.996")),
        quantity=quantity,
    )
    assert limit.certify(claim, claim.bound.parts[0], data("1", horizon)).holds


def test_a_bound_that_counts_steps_has_no_limit_argument(made_up_claim):
    for ask in (lambda s: s.step, lambda s: s.steps, lambda s: s.step_sizes[0]):
        claim = made_up_claim(
            lambda s, numbers, ask=ask: numbers.log(numbers.exact(1) + 0 * ask(s)), lambda s, iv: iv.mpf(0)
        )
        outcome = limit.check(claim, claim.bound.parts[0], data("1/4", "40", dt="1/100"))
        assert not outcome.holds and "no limit argument" in outcome.because


@pytest.mark.parametrize("alpha", ["0", "-1"])
def test_the_theorem_asks_for_positive_alpha(alpha: str):
    outcome = limit.certify(ICML, ICML.bound.parts[0], data(alpha, "40"))
    assert not outcome.holds and "α > 0" in outcome.because


def test_the_theorem_speaks_of_unicornn_only():
    other = with_bound(ICML, system=dataclasses.replace(UNICORNN, name="explicit-euler"))
    outcome = limit.certify(other, other.bound.parts[0], data("1/4", "40"))
    assert not outcome.holds and "UnICORNN" in outcome.because


def test_a_replay_asks_for_the_system_too():
    other = with_bound(ICML, system=dataclasses.replace(UNICORNN, name="explicit-euler"))
    assert not limit.check(other, other.bound.parts[0], data("1/4", "40", dt="1/100")).holds


@pytest.mark.parametrize("quantity", ["position", "momentum"])
def test_a_deeper_layer_needs_a_drive_that_does_not_switch(quantity: str):
    outcome = limit.certify(ICML, PARTS[quantity], data("1/4", "40", layer=2))
    assert not outcome.holds and "half-wave" in outcome.because
    # √α T = 2: less than π, more than π/2
    between = limit.certify(ICML, PARTS[quantity], data("1", "2", layer=2))
    assert ("half-wave" in between.because) is (quantity == "momentum")
    beyond = limit.certify(ICML, PARTS[quantity], data("1", "22/7", layer=2))  # just above π
    assert "half-wave" in beyond.because


def test_premises_are_proved_on_the_whole_interval_of_steps():
    part = ICML.bound.parts[0]
    cases = [
        (Hypothesis("dt < 1", lambda s: 1 - s.dt, second_margin=lambda s: 1 - s.dt), True),
        (Hypothesis("T ≥ 40", lambda s: s.horizon - 40, False, lambda s: s.horizon - 40), True),
        (Hypothesis("dt > 1/1000", lambda s: 1000 * s.dt - 1), False),
        (Hypothesis("α > 1", lambda s: s.alpha - 1), False),
    ]
    for premise, expected in cases:
        claim = with_bound(ICML, hypotheses=(*ICML.bound.hypotheses, premise))
        outcome = limit.check(claim, part, data("1/4", "40", dt="1/100"))
        assert outcome.holds is expected and ("premise" in outcome.because) is not expected


def test_both_back_ends_must_agree():
    part = PARTS["position"]
    wrong = dataclasses.replace(part, second_bound=lambda s, iv: part.second_bound(s, iv) + iv.log(10))
    where = data("1/4", "40", dt="1/100")
    assert limit.check(ICML, part, where).holds
    outcome = limit.check(ICML, wrong, where)
    assert not outcome.holds and "second back-end does not confirm" in outcome.because


def test_the_two_typings_of_the_uniform_lower_bound_agree():
    texts = itertools.product(("1/4", "3"), ("40", "7/2"), ("1/100", "1/4096"), ("20", "-1/2"), ("12", "1/3"))
    for alpha, horizon, dt, c, amplitude in texts:
        for quantity in ("position", "momentum"):
            shown, _ = second.uniform_lower_bound(
                alpha=alpha, horizon=horizon, dt=dt, c=c, amplitude=amplitude, quantity=quantity
            )
            with flint.ctx.workprec(256):
                exact = {n: BALLS.exact(Fraction(t)) for n, t in (("alpha", alpha), ("horizon", horizon), ("dt", dt))}
                ball = sharp.uniform_lower_bound(
                    **exact,
                    sigma=1 / (1 + (-BALLS.exact(Fraction(c))).exp()),
                    quantity=quantity,
                    amplitude=BALLS.exact(Fraction(amplitude)),
                    numbers=BALLS,
                )
                assert ball.rad() < 1e-60
                assert shown == pytest.approx(float(ball.mid()), rel=1e-14)


def test_giving_up_comes_after_the_last_halving():
    outcome = limit.certify(ICML, PARTS["position"], data("1", "1"))
    assert not outcome.holds and outcome.data.dt == Fraction(1, 10) / 2 ** (limit.HALVINGS - 1)
