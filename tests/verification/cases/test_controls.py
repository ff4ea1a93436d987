"""Controls: the optimum that the power control asks for is thm-S, and no true inequality ever certifies as violated."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from odernn.bounds import sharp
from verification.cases import controls
from verification.certify import balls
from verification.certify.second import intervals as second
from verification.instance import Group, Inputs, Instance, Layer, to_plain
from verification.system import UNICORNN, System

QUANTITIES = ("position", "momentum")
SATURATING = Fraction(64)
"""tanh(64) = 1 − 5e-56: a bang-bang run that stays below the optimum by less than any slack here."""


def bang_bang(alpha: Fraction, dt: Fraction, c: Fraction, n: int, quantity: str) -> Instance:
    """w = 0 and x_i = ∓64, opposite to the sign of the response at n to a kick at i: the optimal run."""
    h = dt / Fraction(1 + math.exp(-c))
    y, z, response = Fraction(0), Fraction(1), []
    for _ in range(n):
        z = z - h * alpha * y
        y = y + h * z
        response.append(y if quantity == "position" else z)
    values = [-math.copysign(float(SATURATING), r) for r in reversed(response)]
    layer = Layer(dt, (Group(1, Fraction(0), c),), ((Fraction(1),),))
    return Instance(alpha, (layer,), Inputs.from_values(values, 1))


def cases(count: int) -> list[tuple[Fraction, Fraction, Fraction, int, str]]:
    rng = random.Random(20211)
    return [
        (
            Fraction(rng.choice((0, 1, rng.randint(1, 4000))), rng.choice((1, 10, 100))),
            Fraction(rng.randint(1, 999), 1000),
            Fraction(rng.randint(-300, 600), 100),
            rng.randint(1, 9),
            rng.choice(QUANTITIES),
        )
        for _ in range(count)
    ]


def statuses(factor: Fraction, alpha: Fraction, dt: Fraction, c: Fraction, n: int, quantity: str) -> tuple[str, str]:
    """What the two back-ends say about "measured ≤ factor × optimum" at the optimal run."""
    claim = controls.control_claim(UNICORNN, factor, "control")
    part = next(part for part in claim.bound.parts if part.quantity == quantity)
    instance = bang_bang(alpha, dt, c, n, quantity)
    where = {"layer": 1, "step": n, "steps": n}
    first = balls.decide(claim, part, instance, **where)
    other = second.decide(to_plain(instance), quantity=quantity, norm="max", bound=part.second_bound, **where)
    return first.status, other["status"]


def test_a_thousand_true_inequalities_with_slack_1e_12_are_proved_and_none_certifies_as_violated():
    found = [statuses(controls.SOUNDNESS, *case) for case in cases(1000)]
    assert len(found) == 1000 and set(found) == {("holds", "holds")}


def test_nine_tenths_of_the_optimum_is_refuted_by_both_back_ends():
    found = [statuses(controls.POWER, *case) for case in cases(60)]
    assert set(found) == {("violates", "violates")}


def test_a_false_inequality_with_slack_1e_12_is_refuted_too():
    # the check above is not passed by back-ends that call everything true
    found = [statuses(1 - Fraction(1, 10**12), *case) for case in cases(60)]
    assert set(found) == {("violates", "violates")}


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("point", controls.CONTROL_POINTS, ids=lambda point: point.group)
def test_the_optimum_found_by_running_the_system_is_thm_s(point, quantity: str):
    h = float(point.dt[0])
    log_exact = sharp.log_supremum_at(alpha=float(point.alpha), step_size=h, steps=point.steps, quantity=quantity)
    known = controls.float_optimum(UNICORNN, point, h, quantity, point.steps)
    assert known == pytest.approx(math.exp(log_exact), rel=1e-10)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_optimum_over_the_rationals_is_that_of_all_sign_patterns(quantity: str):
    alpha, h, n = Fraction(3), Fraction(2, 5), 7
    largest = Fraction(0)
    for signs in itertools.product((-1, 1), repeat=n):
        y = z = Fraction(0)
        for s in signs:
            z -= h * (s + alpha * y)
            y += h * z
        largest = max(largest, abs(y if quantity == "position" else z))
    for step in (UNICORNN.exact_step, UNICORNN.second_step):
        assert controls.optimum(step, alpha, h, n, quantity, Fraction(1)) == largest


def test_another_system_gets_its_own_optimum():
    def explicit_euler(y, z, x, w, h, alpha, tanh):
        return y + h * z, z - h * (tanh(w * y + x) + alpha * y)

    euler = System("explicit-euler", explicit_euler, explicit_euler, explicit_euler)
    for quantity in QUANTITIES:
        found, plain = (
            controls.optimum(system.exact_step, Fraction(3), Fraction(2, 5), 40, quantity, Fraction(1))
            for system in (euler, UNICORNN)
        )
        assert found > 2 * plain  # explicit Euler gains energy


def test_the_control_claim_speaks_of_its_system_and_of_both_quantities():
    claim = controls.control_claim(UNICORNN, controls.POWER, "power")
    assert [part.quantity for part in claim.bound.parts] == list(QUANTITIES)
    assert claim.bound.system is UNICORNN and not claim.bound.hypotheses and "9/10" in claim.statement
