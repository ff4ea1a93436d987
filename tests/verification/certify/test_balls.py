"""The ball back-end: its trajectories enclose the real ones, and each of its statuses is a proof."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import flint
import pytest
import torch
from mpmath import mp, mpf

from odernn.cells.unicornn import UnICORNN
from tests.verification.state_claims import with_bound
from verification.certify import balls
from verification.certify.second import intervals as second
from verification.claim import Hypothesis
from verification.instance import Group, Inputs, Instance, Layer, to_plain
from verification.system import UNICORNN

DIGITS = 60
NETWORKS = [(seed, 1 + seed % 3) for seed in range(9)]
QUANTITIES, NORMS = ("position", "momentum"), ("max", "euclidean")


def ends(ball: flint.arb) -> tuple[mpf, mpf]:
    with flint.ctx.workprec(8192):  # midpoint and radius are dyadic: nothing is rounded
        pairs = [end.man_exp() for end in (ball.lower(), ball.upper())]
    low, high = (mp.ldexp(mpf(int(man)), int(exp)) for man, exp in pairs)
    return low, high


def one_neuron(*, x: str = "1/2", steps: int = 1, w: str = "0", dt: str = "1/10", alpha: str = "1") -> Instance:
    layer = Layer(Fraction(dt), (Group(1, Fraction(w), Fraction(0)),), ((Fraction(1),),))
    return Instance(Fraction(alpha), (layer,), Inputs(1, ((steps, (Fraction(x),)),)))


def module_of(instance: Instance) -> UnICORNN:
    """The instance as the product's own network: groups written out as neurons, entries of V repeated."""
    size, alpha = instance.hidden_size, float(instance.alpha)
    model = UnICORNN(
        instance.inputs.size,
        size,
        len(instance.layers),
        dt=[float(l.dt) for l in instance.layers],
        alpha=alpha,
        dtype=torch.float64,
    )
    widths = [1] * instance.inputs.size
    with torch.no_grad():
        for layer, parameters in zip(instance.layers, model.layers, strict=True):
            counts = torch.tensor([group.multiplicity for group in layer.groups])
            for name, own in (("w", "w"), ("c", "c"), ("b", "bias")):
                values = torch.tensor([float(getattr(g, own)) for g in layer.groups], dtype=torch.float64)
                getattr(parameters, name).copy_(values.repeat_interleave(counts))
            V = torch.tensor([[float(v) for v in row] for row in layer.input_weights], dtype=torch.float64)
            V = V.repeat_interleave(counts, dim=0).repeat_interleave(torch.tensor(widths), dim=1)
            parameters.V.copy_(V)
            widths = counts.tolist()
    return model


def narrow_and_around(ball: flint.arb, value: mpf) -> bool:
    """The oracle's own error is far below 10^-70."""
    low, high = ends(ball)
    return low - mpf(10) ** -70 <= value <= high + mpf(10) ** -70 and high - low < mpf(10) ** -35


@pytest.mark.parametrize(("seed", "layers"), NETWORKS)
def test_balls_enclose_the_point_trajectory_of_every_group(seed, layers, random_instance, point_trajectory):
    instance = random_instance(seed, layers=layers)
    moved = dataclasses.replace(instance, alpha=instance.alpha + Fraction(1, 10**30))
    with mp.workdps(DIGITS + 20):
        y, z = point_trajectory(instance)
        other_y, other_z = point_trajectory(moved)
        for number in range(1, layers + 1):
            with flint.ctx.workprec(200):
                found = balls.trajectory(instance, layer=number, step=instance.steps, exact_step=UNICORNN.exact_step)
            first = itertools.accumulate([0, *(g.multiplicity for g in instance.layers[number - 1].groups[:-1])])
            for g, i in enumerate(first):
                assert narrow_and_around(found[0][g], y[number - 1][i])
                assert narrow_and_around(found[1][g], z[number - 1][i])
                assert not narrow_and_around(found[0][g], other_y[number - 1][i])  # α off by 10^-30 is another run
                assert not narrow_and_around(found[1][g], other_z[number - 1][i])


@pytest.mark.parametrize(("seed", "layers"), NETWORKS)
def test_balls_agree_with_the_product_to_twelve_digits(seed, layers, random_instance):
    instance = random_instance(seed, layers=layers)
    u = torch.tensor([[float(v) for v in values] for values in instance.inputs], dtype=torch.float64)
    with torch.no_grad():
        results = module_of(instance).states(u[:, None, :])
    for number, result in enumerate(results, 1):
        counts = torch.tensor([group.multiplicity for group in instance.layers[number - 1].groups])
        for step in (1, 5, instance.steps):
            y, z = balls.trajectory(instance, layer=number, step=step, exact_step=UNICORNN.exact_step)
            for found, row in ((y, result.y[step - 1, 0]), (z, result.z[step - 1, 0])):
                expected = torch.tensor([float(v.mid()) for v in found], dtype=torch.float64).repeat_interleave(counts)
                torch.testing.assert_close(row, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("quantity", "norm"), [*itertools.product(QUANTITIES, NORMS)])
@pytest.mark.parametrize("seed", range(4))
def test_a_bound_a_trillionth_below_the_value_is_violated_and_one_above_holds_in_both_back_ends(
    seed, quantity, norm, random_instance, measured_value, constant_claim
):
    layers = 1 + seed % 3
    instance = random_instance(100 + seed, layers=layers)
    value = measured_value(instance, layers, quantity, norm)
    for factor, status in ((1 - Fraction(1, 10**12), "violates"), (1 + Fraction(1, 10**12), "holds")):
        claim = constant_claim(value * factor, quantity=quantity, norm=norm)
        where = {"layer": layers, "step": instance.steps, "steps": instance.steps}
        outcome = balls.decide(claim, claim.bound.parts[0], instance, **where)
        assert outcome.status == status and outcome.bits <= 256
        assert outcome.is_refutation is (status == "violates")
        if status == "violates":
            assert outcome.is_tight and outcome.measured[0] > outcome.bound[1]
        other = second.decide(
            to_plain(instance), quantity=quantity, norm=norm, bound=claim.bound.parts[0].second_bound, **where
        )
        assert other["status"] == status
        assert other["measured"] == pytest.approx(outcome.measured, abs=1e-13)
        assert other["bound"] == pytest.approx(outcome.bound, abs=1e-13)


def test_precision_grows_until_a_slack_below_the_first_precision_is_decided(measured_value, constant_claim):
    instance = one_neuron(steps=5, w="1")
    value = measured_value(instance, 1, "position", "max")
    bits = []
    for digits in (12, 45):
        for sign, status in ((-1, "violates"), (1, "holds")):
            claim = constant_claim(value * (1 + sign * Fraction(1, 10**digits)))
            outcome = balls.decide(claim, claim.bound.parts[0], instance, layer=1, step=5, steps=5)
            assert outcome.status == status
            bits.append(outcome.bits)
    assert bits[:2] == [balls.FIRST_BITS] * 2 and min(bits[2:]) > balls.FIRST_BITS


def test_at_the_first_precision_alone_a_tiny_slack_stays_undecided(measured_value, constant_claim):
    instance = one_neuron(steps=5, w="1")
    claim = constant_claim(measured_value(instance, 1, "position", "max") * (1 - Fraction(1, 10**45)))
    where = {"layer": 1, "step": 5, "steps": 5}
    outcome = balls.decide(claim, claim.bound.parts[0], instance, max_bits=balls.FIRST_BITS, **where)
    assert outcome.status == "undecided" and not outcome.is_refutation


def test_equality_is_never_a_violation(made_up_claim):
    # y_1 = −h² tanh(x) for every w, so the bound is attained exactly
    claim = made_up_claim(
        lambda s, numbers: 2 * numbers.log(s.step_sizes[0]) + numbers.log(numbers.tanh(numbers.exact(Fraction(1, 2)))),
        lambda s, iv: iv.log(s.step_sizes[0] ** 2 * (1 - 2 / (iv.exp(iv.mpf(1)) + 1))),
    )
    instance = one_neuron(x="1/2", w="3")
    where = {"layer": 1, "step": 1, "steps": 1}
    outcome = balls.decide(claim, claim.bound.parts[0], instance, max_bits=1024, **where)
    assert outcome.status in ("undecided", "holds") and outcome.bits == 1024
    for bits in (64, 256, 1024):
        other = second.decide(
            to_plain(instance),
            quantity="position",
            norm="max",
            bound=claim.bound.parts[0].second_bound,
            bits=bits,
            **where,
        )
        assert other["status"] != "violates"


def test_a_false_premise_is_no_refutation(constant_claim):
    instance = one_neuron(x="4", steps=6, dt="9/10")
    where = {"layer": 1, "step": 6, "steps": 6}
    small = Fraction(1, 10**6)
    true = (Hypothesis("dt < 1", lambda s: 1 - s.dt), Hypothesis("α ≥ 1", lambda s: s.alpha - 1, False))
    false = (*true, Hypothesis("dt < 1/2", lambda s: 1 - 2 * s.dt))
    # a margin of exactly 0 fails a strict premise, and a transcendental 0 is never proved
    edge = (Hypothesis("dt < 9/10", lambda s: 9 - 10 * s.dt),)
    unproved = (Hypothesis("0 ≥ 0", lambda s: (s.dt**0.5) ** 2 - s.dt, False),)
    for premises, refuted in ((true, True), (false, False), (edge, False), (unproved, False)):
        claim = constant_claim(small, hypotheses=premises)
        outcome = balls.decide(claim, claim.bound.parts[0], instance, **where)
        assert outcome.status == "violates" and outcome.is_refutation is refuted
        assert [text for text, *_ in outcome.premises] == [p.text for p in premises]


def test_a_state_that_is_exactly_zero_is_below_every_bound(constant_claim):
    claim = constant_claim(Fraction(1, 10**300))
    outcome = balls.decide(claim, claim.bound.parts[0], one_neuron(x="0", steps=9), layer=1, step=9, steps=9)
    assert outcome.status == "holds" and not outcome.is_refutation


def test_a_bound_that_is_no_number_is_undecided_even_for_a_zero_state(made_up_claim):
    claim = made_up_claim(lambda s, numbers: numbers.log(numbers.exact(-1)), None)
    where = {"layer": 1, "step": 2, "steps": 2, "max_bits": 256}
    assert balls.decide(claim, claim.bound.parts[0], one_neuron(x="1", steps=2), **where).status == "undecided"
    assert balls.decide(claim, claim.bound.parts[0], one_neuron(x="0", steps=2), **where).status == "undecided"


def test_a_ball_around_zero_may_still_be_proved_small_but_never_large(made_up_claim):
    # two drives that cancel: z_2 = −h (tanh x + tanh(−x)) with α = 0, w = 0, a ball that holds 0
    layer = Layer(Fraction(1, 10), (Group(1, Fraction(0), Fraction(1)),), ((Fraction(1),),))
    inputs = Inputs(1, ((1, (Fraction(1, 3),)), (1, (Fraction(-1, 3),))))
    instance = Instance(Fraction(0), (layer,), inputs)
    for value, expected in ((Fraction(1, 10**9), "holds"), (Fraction(1, 10**9999), "undecided")):
        claim = made_up_claim(lambda s, n, value=value: n.log(n.exact(value)), None, quantity="momentum")
        outcome = balls.decide(claim, claim.bound.parts[0], instance, layer=1, step=2, steps=2, max_bits=512)
        assert outcome.status == expected and not outcome.is_refutation


def test_the_step_asked_for_lies_within_the_inputs(constant_claim):
    claim = constant_claim(Fraction(1))
    with pytest.raises(balls.StepBeyondInputsError, match="Step 4 lies beyond the 3 inputs"):
        balls.decide(claim, claim.bound.parts[0], one_neuron(steps=3), layer=1, step=4, steps=9)


def test_the_bound_is_asked_at_the_nominal_horizon_and_the_top_layers_step(made_up_claim, random_instance):
    instance = random_instance(5, layers=2)
    seen = []
    claim = made_up_claim(lambda s, numbers: seen.append(s) or numbers.exact(0), None)
    balls.decide(claim, claim.bound.parts[0], instance, layer=2, step=3, steps=11)
    setting, dt = seen[0], instance.layers[1].dt
    assert (setting.step, setting.steps, setting.hidden_size) == (3, 11, 6)
    assert len(setting.step_sizes) == len(instance.layers[1].groups)
    for ball, value in ((setting.dt, dt), (setting.time, 3 * dt), (setting.horizon, 11 * dt)):
        assert ball.overlaps(flint.arb(flint.fmpq(value.numerator, value.denominator)))


def test_a_wrong_recurrence_is_noticed_by_the_other_back_end(measured_value, constant_claim):
    def drifts_first(y, z, x, w, h, alpha, tanh):
        return y + h * z, z - h * (tanh(w * y + x) + alpha * y)

    instance = one_neuron(x="2", steps=8, w="1")
    claim = constant_claim(measured_value(instance, 1, "position", "max") * Fraction(999, 1000))
    part, where = claim.bound.parts[0], {"layer": 1, "step": 8, "steps": 8}
    asked = {"quantity": "position", "norm": "max", "bound": part.second_bound, **where}
    assert balls.decide(claim, part, instance, **where).status == "violates"
    assert second.decide(to_plain(instance), **asked)["status"] == "violates"
    assert second.decide(to_plain(instance), step_function=drifts_first, **asked)["status"] == "holds"
    wrong = with_bound(claim, system=dataclasses.replace(UNICORNN, exact_step=drifts_first))
    assert balls.decide(wrong, part, instance, **where).status == "holds"


def test_a_wrong_second_bound_is_noticed(measured_value, made_up_claim):
    instance = one_neuron(x="2", steps=8, w="1")
    value = measured_value(instance, 1, "position", "max") * Fraction(999, 1000)
    claim = made_up_claim(
        lambda s, numbers: numbers.log(numbers.exact(value)),
        lambda s, iv: iv.log(2 * iv.mpf(value.numerator) / iv.mpf(value.denominator)),  # 2 too many
    )
    where = {"layer": 1, "step": 8, "steps": 8}
    assert balls.decide(claim, claim.bound.parts[0], instance, **where).status == "violates"
    other = second.decide(
        to_plain(instance), quantity="position", norm="max", bound=claim.bound.parts[0].second_bound, **where
    )
    assert other["status"] == "holds"


def test_premises_are_asked_of_every_layer_below_the_measured_one(constant_claim):
    """dt = 5 in layer 1 breaks "dt < 1" for the network, although layer 2 has dt = 1/10."""
    wide = one_neuron(x="4", steps=3, dt="5").layers[0]
    fine = one_neuron(x="4", steps=3, dt="1/10").layers[0]
    premises = (Hypothesis("dt < 1", lambda s: 1 - s.dt),)
    claim = constant_claim(Fraction(1, 10**9), hypotheses=premises)
    inputs = Inputs(1, ((3, (Fraction(4),)),))
    for layers, refuted in (((fine, fine), True), ((wide, fine), False)):
        outcome = balls.decide(
            claim, claim.bound.parts[0], Instance(Fraction(1), layers, inputs), layer=2, step=3, steps=3
        )
        assert outcome.status == "violates" and outcome.is_refutation is refuted


def test_a_step_beyond_the_statements_horizon_is_refused(constant_claim):
    """With N = 1, T = dt: the bound of a longer run would be read at the wrong horizon."""
    claim = constant_claim(Fraction(1, 10**9))
    with pytest.raises(ValueError, match="Step 3 is not one of the claim's steps 1 to 1"):
        balls.decide(claim, claim.bound.parts[0], one_neuron(x="4", steps=3), layer=1, step=3, steps=1)


def test_a_bound_that_left_the_ball_arithmetic_is_refused(made_up_claim):
    claim = made_up_claim(lambda s, numbers: float(s.alpha.mid()), None)
    with pytest.raises(TypeError, match="returned a float, not a ball"):
        balls.decide(claim, claim.bound.parts[0], one_neuron(x="4", steps=3), layer=1, step=3, steps=3)


@pytest.mark.parametrize(("upper", "room"), [(0.0, 1.0), (0.5, 1.0), (-10.0, 10.0), (300.0, 300.0)])
def test_ends_are_tight_up_to_their_size_and_below_one_to_one(upper: float, room: float):
    """upper − lower ≤ TIGHT max(1, |upper|), of both; only a violation is asked."""
    tight = (upper - 0.9 * balls.TIGHT * room, upper)
    loose = (upper - 1.1 * balls.TIGHT * room, upper)
    for measured, bound, expected in ((tight, tight, True), (tight, loose, False), (loose, tight, False)):
        assert balls.Outcome("violates", measured, bound, 64, ()).is_tight is expected
        assert balls.Outcome("holds", measured, bound, 64, ()).is_tight
