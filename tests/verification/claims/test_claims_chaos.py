"""Exponents and separations: known values, both back-ends against each other, and orbits that do not diverge."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction as Q

import mpmath
import numpy as np
import pytest
import torch

from tests.tiers import only, slow
from tests.verification.claims.claim_rows import doubt_of
from verification.adversary import chaos as adversary
from verification.answer import answer
from verification.cases import driven_stacks
from verification.certify import divergence
from verification.certify.divergence import Loop, Stack
from verification.claims.unicornn import chaos
from verification.domains import BUDGETS
from verification.measure import lyapunov

SMOKE = BUDGETS["smoke"]
EPS = Q(1, 10**20)
SADDLES = [((2, -7, 0.05), 2.2349049935), ((4, -12, 0.2), 2.7920110829), ((0, -1, 0.0343), 0.9999509861)]


def claim(name: str):  # type: ignore[no-untyped-def]
    return next(each for each in chaos.CLAIMS if each.id == name)


def one(alpha: str, w: str, h: str, *inputs: str) -> Stack:
    return Stack(Q(alpha), (Q(w),), (Q(h),), (Q(1),), (Q(0),), tuple(map(Q, inputs)))


def tensors(stack: Stack) -> list[torch.Tensor]:
    rows = [[[float(value)] for value in row] for row in (stack.w, stack.h, stack.V, stack.b, stack.input)]
    return [torch.tensor([float(stack.alpha)]).double(), *(torch.tensor(row, dtype=torch.float64) for row in rows)]


@pytest.mark.parametrize(("at", "rate"), SADDLES)
def test_the_exponent_at_a_saddle_is_the_theorems(at: tuple[float, float, float], rate: float) -> None:
    """thm-J(c), to 1e-6 by the estimate and to its printed digits by the formula."""
    assert lyapunov.saddle_exponent(*at) == pytest.approx(rate, abs=1e-10)
    alpha, w, h = (str(Q(str(value))) for value in at)
    assert lyapunov.of_stacks(*tensors(one(alpha, w, h, "0")), 3000).late.item() == pytest.approx(rate, abs=1e-6)


@pytest.mark.slow
def test_without_feedback_no_exponent_is_positive() -> None:
    late = lyapunov.of_stacks(*tensors(one("1", "0", "1/8", "2", "-1", "1/2")), 20000).late.item()
    assert abs(late) < 1e-3


def test_lorenz_96_has_the_jacobian_of_its_field() -> None:
    field, jacobian = lyapunov.lorenz96(8.0)
    x = np.array([0.3, -1.2, 2.0, 0.7, 4.0])
    differences = np.column_stack([(field(x + 1e-6 * e) - field(x - 1e-6 * e)) / 2e-6 for e in np.eye(5)])
    assert np.abs(differences - jacobian(x)).max() < 1e-7
    # the equation, index by index
    assert field(x)[0] == pytest.approx((x[1] - x[3]) * x[4] - x[0] + 8.0)


@pytest.mark.parametrize("rate", [-0.5, 0.25])
def test_both_integrators_give_a_known_exponent(rate: float) -> None:
    """x' = A x with A = diag(rate, −1, −2) in a rotated basis."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    A = rotation @ np.diag([rate, -1.0, -2.0]) @ rotation.T
    arguments = (lambda x: A @ x, lambda x: A[:, :, None], np.zeros((3, 2)))
    assert lyapunov.by_runge_kutta(*arguments, dt=0.05, transient=40, horizon=10) == pytest.approx(rate, abs=1e-6)
    assert lyapunov.by_dop853(*arguments, every=1.0, transient=40, horizon=10) == pytest.approx(rate, abs=1e-6)


CHAOTIC = one("159/50", "-176/25", "209/500", *["83/50"] * 3, *["-83/50"] * 3)
CALM = one("1", "-1/2", "1/10", "1/2", "-1/2")


@pytest.mark.parametrize("stack", [CHAOTIC, CALM])
def test_the_two_enclosures_agree_and_contain_a_run_in_multiple_precision(stack: Stack) -> None:
    steps = 300
    balls, intervals = divergence.in_balls(stack, EPS, steps), divergence.in_intervals(stack, EPS, steps)
    for name in ("separation", "half", "full", "radius"):
        assert getattr(balls, name) == pytest.approx(getattr(intervals, name), rel=1e-9)
    # a third recurrence: mpmath at 200 digits, product of matrices
    with mpmath.workdps(200):
        a, w, h = (mpmath.mpf(v.numerator) / v.denominator for v in (stack.alpha, stack.w[0], stack.h[0]))
        product, ends = mpmath.eye(2), []
        for shift in (mpmath.mpf(0), mpmath.mpf(10) ** -20):
            y = z = mpmath.mpf(0)
            for n in range(steps):
                x = stack.input[n % len(stack.input)]
                s = mpmath.tanh(w * y + mpmath.mpf(x.numerator) / x.denominator + (shift if n == 0 else 0))
                if not shift:
                    kappa = a + w * (1 - s * s)
                    product = mpmath.matrix([[1 - h * h * kappa, h], [-h * kappa, 1]]) * product
                z -= h * (s + a * y)
                y += h * z
            ends.append((y, z))
        gap = max(abs(p - q) for p, q in zip(*ends, strict=True))
        assert float(mpmath.log(gap * 10**20)) == pytest.approx(balls.separation, abs=1e-9)
        assert float(mpmath.log(max(abs(entry) for entry in product))) == pytest.approx(balls.full, abs=1e-9)


def parameters(stack: Stack, steps: int) -> dict[str, str]:
    return dict(driven_stacks.written(stack, steps))


def test_a_chaotic_neuron_counts_and_a_calm_one_does_not() -> None:
    case = claim("icml-D-nochaos").case("one neuron, periodic input", "λ_N and separation, N steps")
    assert not doubt_of(case, parameters(CHAOTIC, 600))
    assert doubt_of(case, parameters(CALM, 600))


def test_growth_like_a_power_does_not_count() -> None:
    """α = w = 0: ‖Φ(n, 0)‖ grows like n h, however far apart two orbits may get."""
    found = divergence.in_balls(one("0", "0", "1/2", "0"), EPS, 400)
    assert 0 < found.full < 1.2 * found.half
    assert not chaos._diverges(dataclasses.replace(found, separation=100.0))


@pytest.mark.parametrize(
    "change", [{"h": "3/2"}, {"alpha": "-1"}, {"w": "-176/25 1", "h": "1/2 1/2", "V": "1 1", "b": "0 0"}]
)
def test_a_premise_that_fails_is_seen(change: dict[str, str]) -> None:
    case = claim("icml-D-nochaos").case("one neuron, periodic input", "λ_N and separation, N steps")
    assert doubt_of(case, {**parameters(CHAOTIC, 100), **change})


def test_a_negative_weight_is_no_candidate_against_weights_between_0_and_1() -> None:
    case = claim("icml-D-nochaos-wpos").case("one neuron, 0 < w < 1, periodic input", "λ_N and separation, N steps")
    assert '"w"' in doubt_of(case, parameters(CHAOTIC, 600))


# --- loops


@pytest.fixture(scope="module")
def loop() -> Loop:
    return adversary.loops((Q(1, 10),), Q(9, 10), Q(1, 2))[0][0]


def test_a_loop_closes_exactly_and_its_rate_is_the_floats(loop: Loop) -> None:
    first, second = divergence.loop_by_steps(loop), divergence.loop_by_matrices(loop)
    assert first.closes and second.closes
    assert first.trace == second.trace and first.radius == second.radius
    assert first.rate == pytest.approx(second.rate, rel=1e-12)
    product = np.eye(2)
    for s in map(float, loop.s):
        kappa = 0.1 + 0.9 * (1 - s * s)
        product = np.array([[1 - 0.25 * kappa, 0.5], [-0.5 * kappa, 1.0]]) @ product
    rate = math.log(max(abs(np.linalg.eigvals(product)))) / (len(loop.s) * 0.5)
    assert first.rate == pytest.approx(rate, rel=1e-9) and rate > 0.1


def test_the_signs_of_a_loop_do_not_change_its_jacobian(loop: Loop) -> None:
    mirrored = dataclasses.replace(loop, s=tuple(-s for s in loop.s))
    assert divergence.loop_by_steps(mirrored) == divergence.loop_by_steps(loop)
    assert divergence.signs(8) == [1, -1, -1, 1, -1, 1, 1, -1]


def test_a_loop_separates_alike_in_both_back_ends(loop: Loop) -> None:
    balls, intervals = divergence.loop_in_balls(loop, EPS, 12), divergence.loop_in_intervals(loop, EPS, 12)
    assert balls == pytest.approx(intervals, rel=1e-12)
    assert balls > math.log(1e6)


def test_a_loop_that_does_not_close_or_grow_does_not_count(loop: Loop) -> None:
    case = claim("icml-D-nochaos-wpos").cases[0]
    text = {
        "alpha": "1/10",
        "w": "9/10",
        "h": "1/2",
        "eps": str(EPS),
        "s": " ".join(map(str, loop.s)),
    }
    assert not doubt_of(case, text)
    assert doubt_of(case, {**text, "s": text["s"] + " 1/2"})
    assert doubt_of(case, {**text, "s": "0 0 0 0"})  # at rest: closes, and is elliptic
    assert doubt_of(case, {**text, "w": "11/10"})


def test_the_controls_are_reached() -> None:
    assert adversary.stack_control(2000) == pytest.approx(1, abs=1e-6)
    assert 0.9 <= adversary.loop_control() <= 1 + 1e-9


ANSWERS = [
    (each, case)
    for each in chaos.CLAIMS
    for case in each.cases
    if "0 < w < 1" not in case.domain or "prescribed" in case.domain
]


@pytest.mark.parametrize(
    ("asked", "case"),
    only(ANSWERS, *(ANSWERS[k] for k in (0, 6, 9))),
    ids=lambda x: getattr(x, "id", getattr(x, "domain", "")),
)
def test_every_case_is_answered(asked, case) -> None:  # type: ignore[no-untyped-def]
    judgement = answer(asked, case, SMOKE, seed=0)
    expected = "not-refuted" if asked.id == "icml-D-lorenz96" else "refuted"
    assert judgement.verdict == expected, judgement.because


def test_how_many_cases_there_are() -> None:
    assert (len(chaos.CLAIMS), len(ANSWERS)) == (5, 11)


@pytest.mark.parametrize(("forcing", "chaotic"), [slow((8.0, False)), (0.5, True)])
def test_a_chaotic_system_said_to_be_calm_does_not_pass(forcing: float, chaotic: bool) -> None:
    """The planted falsehood: Lorenz 96 with F = 8 is not chaotic, and with F = 1/2, where x = F attracts, is."""
    case = claim("icml-D-lorenz96").cases[0]
    wrong = dataclasses.replace(case, ask=chaos._lorenz(forcing, chaotic))
    assert answer(claim("icml-D-lorenz96"), wrong, SMOKE, seed=0).verdict == "suspect"
