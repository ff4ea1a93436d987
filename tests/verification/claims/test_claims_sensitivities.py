"""Gradients of the differential equation, the lines of the verification of backpropagation, the step (38): answers,
every witness once more by a numerical solver or autograd, planted falsehoods and truths.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from typing import Any

import flint
import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from tests.tiers import where
from tests.verification.claims import claim_rows as rows
from tests.verification.claims.both_typings import inequality_of
from verification import verdict
from verification.answer import answer
from verification.cases import energy_step, rest_sensitivities
from verification.cases.identity import PathIdentity
from verification.certify import linear_flow
from verification.certify.second import exact_network as again
from verification.claim import Case, Check, Claim, Parameters
from verification.claims.unicornn import backpropagation, elementary, sensitivities
from verification.domains import BUDGETS
from verification.measure import energy_growth
from verification.measure import exact_network as net
from verification.measure.exact_network import Layered, Shape
from verification.verdict import doubt_about

SMOKE = BUDGETS["smoke"]
MODULES = (elementary, backpropagation, sensitivities)
CLAIMS: dict[str, Claim] = {claim.id: claim for module in MODULES for claim in module.CLAIMS}
IDS = ("sam-D.1-elem", "both-B-verification", "both-3-novanish-ODE")
CASES = [(name, case) for name in IDS for case in CLAIMS[name].cases]


def judged(case: Case) -> verdict.Judgement:
    claim = Claim("made", CLAIMS["sam-D.1-elem"].source, "made", "real", (case,))
    found = answer(claim, case, SMOKE, 0)
    assert found.verdict != verdict.ERROR, found.because
    return found


def witness_of(found: verdict.Judgement) -> dict[str, str]:
    parameters: dict[str, str] = json.loads(found.witness)["parameters"]
    return parameters


def floats(parameters: dict[str, str], name: str) -> list[float]:
    return [float(Q(word)) for word in parameters[name].split()]


def novanish(domain: str, quantity: str) -> Case:
    return CLAIMS["both-3-novanish-ODE"].case(domain, quantity)


EXPECTED = {
    ("zero start, |A| ≤ a", "max over [0, t], θ = b"): verdict.PROVED,
    ("zero start, b varies", "max over [0, t], every θ"): verdict.REFUTED,
    ("zero start, inputs unbounded, t → ∞", "(y_θ, z_θ), θ = b"): verdict.REFUTED,
    ("zero start, |A| ≤ a, t → ∞", "(y_θ, z_θ), θ = b"): verdict.PROVED,
    ("zero start, |A| ≤ a, t → ∞", "(y_θ, z_θ), θ = w"): verdict.REFUTED,
    ("θ changed at time s only, t − s → ∞", "(y_θ, z_θ)"): verdict.REFUTED,
    ("θ changed at time s only, all ways", "‖Φ(t, s)‖₂ ≥ 1"): verdict.PROVED,
}


def test_what_comes_out_for_the_gradients_of_the_ode() -> None:
    claim = CLAIMS["both-3-novanish-ODE"]
    found = {(case.domain, case.quantity): answer(claim, case, SMOKE, 0) for case in claim.cases}
    assert {place: each.verdict for place, each in found.items()} == EXPECTED
    for place, each in found.items():
        if each.verdict == verdict.REFUTED:
            case = claim.case(*place)
            assert case.check is not None
            check = case.check(witness_of(each))
            assert not doubt_about(check, case)
            assert {opinion.backend for opinion in check.opinions} == {"balls", "mpmath"}
            assert check.limit


def test_what_comes_out_for_the_elementary_inequalities() -> None:
    found = {case.quantity: judged(case).verdict for case in CLAIMS["sam-D.1-elem"].cases}
    assert found == {
        "a(a−b), b(a−b)": verdict.PROVED,
        "(a+b+c)²": verdict.PROVED,
        "G": verdict.PROVED,
        "H_n": verdict.PROVED,
    }


@pytest.mark.parametrize(
    ("name", "case"),
    where(CASES, lambda row: (row[1].domain, row[1].quantity) == ("N ≤ 16", "line 5: a_k")),
    ids=lambda x: x if isinstance(x, str) else f"{x.domain} {x.quantity}",
)
def test_each_case_is_decided_the_same_whatever_it_is_called(name: str, case: Case) -> None:
    found = answer(CLAIMS[name], case, SMOKE, 0)
    other = answer(replace(CLAIMS[name], id="another"), case, SMOKE, 0)
    assert (found.verdict, found.because) == (other.verdict, other.because)


def test_the_files_name_no_verdict() -> None:
    for module in MODULES:
        rows.assert_names_no_verdict(module)


# --- the differential equation once more, by DOP853: (2) and (8) together, the input as a function of t and y


def run(
    alpha: float,
    w: float,
    pre: Callable[[float, float], float],
    C: Callable[[float, float], float],
    ends: list[float],
    start: tuple[float, float] = (0.0, 0.0),
) -> list[np.ndarray]:
    """(y, z, y_θ, z_θ) on each of the stretches between 0 and the ``ends``; A = pre(t, y), C = C(t, y)."""

    def field(t: float, x: np.ndarray) -> list[float]:
        s = math.tanh(pre(t, x[0]))
        slope = 1 - s * s
        return [x[1], -(s + alpha * x[0]), x[3], -(alpha + w * slope) * x[2] - slope * C(t, x[0])]

    state, t, found = np.array([0.0, 0.0, *start]), 0.0, []
    for end in ends:
        eps = 1e-12 * (end - t)
        times = np.linspace(t, end, 200)
        each = solve_ivp(
            field, (t, end - eps), state, "DOP853", rtol=1e-11, atol=1e-16, t_eval=np.minimum(times, end - eps)
        )
        found.append(each.y)
        state, t = each.y[:, -1], end
    return found


def largest(x: np.ndarray) -> float:
    return float(np.abs(x[2:]).max())


def test_a_bounded_input_brings_the_derivatives_by_w_back_to_0_and_keeps_them_there() -> None:
    p = witness_of(judged(novanish("zero start, |A| ≤ a, t → ∞", "(y_θ, z_θ), θ = w")))
    alpha, w, s = (float(Q(p[name])) for name in ("alpha", "w", "s"))
    period = 2 * math.pi / math.sqrt(alpha)
    up, rest = run(alpha, w, lambda t, _: math.atanh(s) if t < period else 0.0, lambda _, y: y, [period, 3 * period])
    assert largest(up) > 0.2 and largest(rest) < 1e-8


def test_they_do_not_come_back_if_the_two_frequencies_are_incommensurable() -> None:
    """The planted falsehood: any ratio r > 1 of the frequencies."""
    case = rest_sensitivities.return_case(is_whole=False)
    assert case.check is not None
    for r in ("3/2", "5/2", "7/3"):
        w = (Q(r) ** 2 - 1) / (1 - Q(1, 4))
        check = case.check({"alpha": "1", "s": "1/2", "r": r, "w": str(w)})
        assert [opinion.violated for opinion in check.opinions] == [False, False]


def test_at_rest_the_gradient_is_0_for_ever_which_no_case_counts() -> None:
    """b = u = 0: the degenerate reading that the statement names."""
    for source in (lambda t, y: y, lambda t, y: 0.0):
        assert largest(run(1.0, -2.0, lambda t, y: -2 * y, source, [20.0])[0]) == 0.0
    claim = CLAIMS["both-3-novanish-ODE"]
    assert "at rest" in claim.statement and not any("≢" in case.quantity for case in claim.cases)


def test_the_gradient_is_below_the_certified_size_for_every_theta_and_falls_with_the_bias() -> None:
    case = novanish("zero start, b varies", "max over [0, t], every θ")
    p = witness_of(judged(case))
    alpha, w, V, size, b, t = (float(Q(p[k])) for k in ("alpha", "w", "V", "u", "b", "t"))
    assert case.check is not None
    bound = float(case.check(p).opinions[0].text.split()[-1])
    assert bound < float(Q(p["floor"]))
    sources: list[Callable[[float, float], float]] = [
        lambda t, y: y,
        lambda t, y: size * math.sin(9 * t),
        lambda t, y: 1.0,
    ]
    for C in sources:
        sizes = []
        for bias in (b, -b, b - 1):
            drive = lambda t, y, bias=bias: w * y + V * size * math.sin(9 * t) + bias  # noqa: E731
            sizes.append(largest(run(alpha, w, drive, C, [t])[0]))
        assert 0 < max(sizes[:2]) < bound
        assert sizes[2] > 5 * sizes[0]  # e² ≈ 7.4


def test_the_floor_holds_for_random_bounded_inputs_and_is_attained() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        alpha, w, a, t = rng.uniform(0, 3), rng.uniform(-4, 4), rng.uniform(0, 2), rng.uniform(0.1, 5)
        rates, shifts = rng.uniform(1, 20, 2), rng.uniform(0, 6, 2)
        drive = lambda s, y, a=a, rates=rates, shifts=shifts: (  # noqa: E731
            a * math.sin(rates[0] * s + shifts[0]) * math.sin(rates[1] * s + shifts[1])
        )
        floor = (1 - math.tanh(a) ** 2) * t / (1 + (alpha + abs(w)) * t)
        assert floor <= largest(run(alpha, w, drive, lambda s, y: 1.0, [t])[0])
    assert largest(run(0.0, 0.0, lambda s, y: 0.0, lambda s, y: 1.0, [2.0])[0]) == pytest.approx(2.0)


def test_the_pulses_fade() -> None:
    p = witness_of(judged(novanish("zero start, inputs unbounded, t → ∞", "(y_θ, z_θ), θ = b")))
    (alpha,), (w,), slopes = (floats(p, name) for name in ("alpha", "w", "slopes"))
    ends = np.cumsum([2 * math.pi / math.sqrt(alpha + w * s) for s in slopes])

    def held(t: float, _: float) -> float:
        return math.atanh(math.sqrt(1 - slopes[min(int(np.searchsorted(ends, t, "right")), len(slopes) - 1)]))

    sizes = [largest(x) for x in run(alpha, w, held, lambda t, y: 1.0, list(ends))]
    for s, size in zip(slopes, sizes, strict=True):
        kappa = alpha + w * s
        assert size == pytest.approx(s * max(2 / kappa, 1 / math.sqrt(kappa)), rel=1e-3)
    assert sizes[-1] < sizes[0] / 1000


def test_what_a_change_at_one_time_leaves_decays() -> None:
    p = witness_of(judged(novanish("θ changed at time s only, t − s → ∞", "(y_θ, z_θ)")))
    (alpha,), (w,), slopes = (floats(p, name) for name in ("alpha", "w", "slopes"))
    turn = [math.pi / 2 / math.sqrt(alpha + w * s) for s in slopes]
    ends = np.cumsum(turn * 20)

    def held(t: float, _: float) -> float:
        return math.atanh(math.sqrt(1 - slopes[int(np.searchsorted(ends, t, "right")) % 2]))

    runs = run(alpha, w, held, lambda t, y: 0.0, list(ends), (0.0, 1.0))
    factor = math.sqrt((alpha + w * slopes[1]) / (alpha + w * slopes[0]))
    for k in range(1, 21):
        assert abs(runs[2 * k - 1][3, -1]) == pytest.approx(factor**k, rel=1e-4)
    assert max(float(np.abs(x[0]).max()) for x in runs) < 10  # the neuron itself stays bounded: so do the inputs


def test_the_neuron_is_off_resonance_where_its_map_over_a_pair_has_no_eigenvalue_1() -> None:
    """cos √α(t₁ + t₂) in floats against the polynomial over Q; κ = 4/9, 4/25 turn the neuron of α = 1 by 2π."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        alpha, one, two = (Q(int(rng.integers(1, 60)), int(rng.integers(1, 60))) for _ in range(3))
        angle = math.pi / 2 * (math.sqrt(alpha / one) + math.sqrt(alpha / two))
        assert (sensitivities.off_resonance(alpha, [one, two]) > 0) or 2 - 2 * math.cos(angle) < 1e-9
    for k in (1, 2, 5):
        for share in (Q(1, 4), Q(3, 8), Q(1, 2), Q(1, 9)):
            roots = 4 * k * share, 4 * k * (1 - share)
            assert sensitivities.off_resonance(Q(3), [3 / root**2 for root in roots]) == 0
    assert sensitivities.off_resonance(Q(1), [Q(4, 9), Q(4, 25)]) == 0
    assert sensitivities.off_resonance(Q(1), [Q(4, 9), Q(-1)]) < 0 and sensitivities.off_resonance(Q(1), [Q(1)]) < 0


def test_at_resonance_the_neuron_itself_grows_without_bound_and_off_it_stays() -> None:
    def sizes(alpha: float, w: float, slopes: tuple[float, float]) -> list[float]:
        turn = [math.pi / 2 / math.sqrt(alpha + w * s) for s in slopes]
        state, found = np.zeros(2), []
        for _ in range(200):
            for s, t in zip(slopes, turn, strict=True):
                A, r = math.sqrt(1 - s), math.sqrt(alpha)
                y, z = state[0] + A / alpha, state[1]
                cos, sin = math.cos(r * t), math.sin(r * t)
                state = np.array([y * cos + z / r * sin - A / alpha, z * cos - r * y * sin])
            found.append(float(np.abs(state).max()))
        return found

    resonant = sizes(1, -1, (5 / 9, 21 / 25))
    assert resonant[-1] == pytest.approx(2 * resonant[99], rel=1e-6) and resonant[-1] > 10
    p = witness_of(judged(novanish("θ changed at time s only, t − s → ∞", "(y_θ, z_θ)")))
    (alpha,), (w,), (one, two) = (floats(p, name) for name in ("alpha", "w", "slopes"))
    assert max(sizes(alpha, w, (one, two))) < 10


def test_the_drift_brings_the_gradient_back_from_any_state_and_no_further() -> None:
    """max over [s, s + t] ≥ σ'(a)t/(2 + (α + |w|)t) from random states; α = w = 0 from z = t/2 attains it."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        alpha, w, a, t = rng.uniform(0, 3), rng.uniform(-4, 4), rng.uniform(0, 2), rng.uniform(0.1, 5)
        start = tuple(rng.uniform(-0.3, 0.3, 2))
        found = run(alpha, w, lambda s, y: a * math.sin(9 * s), lambda s, y: 1.0, [t], start)[0]  # noqa: B023
        assert largest(found) >= (1 - math.tanh(a) ** 2) * t / (2 + (alpha + abs(w)) * t)
    assert largest(run(0.0, 0.0, lambda s, y: 0.0, lambda s, y: 1.0, [2.0], (-0.25, 1.0))[0]) == pytest.approx(1.0)
    assert rest_sensitivities._window_proof() and not rest_sensitivities._window_proof(Q(101, 100))


def test_the_floor_under_a_bound_of_b_holds_for_runs_and_is_near_them() -> None:
    for most in (1, 4):
        floor = float(rest_sensitivities._floor_at(most))
        worst = min(
            largest(run(1.0, 1.0, lambda t, y, b=b, u=u: y + u + b, lambda t, y: 1.0, [1.0])[0])  # type: ignore[misc]
            for b in (most, -most)
            for u in (1.0, -1.0)
        )
        assert floor <= worst < 100 * floor


def test_of_a_frequency_whose_sign_is_not_certain_neither_flow_says_anything() -> None:
    wide = flint.arb(0, 1e-9)
    assert all(
        part.is_nan() for part in linear_flow.in_balls(flint.arb(1), flint.arb(0), wide, flint.arb(1), flint.arb(1))
    )
    one = again.iv.mpf(1)
    found = linear_flow.in_intervals(one, one, again.iv.mpf([-1e-9, 1e-9]), one, one)
    assert all(not part.a > -math.inf for part in found)


def test_the_area_of_two_solutions_is_kept() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        alpha, w, rate = rng.uniform(0, 3), rng.uniform(-4, 4), rng.uniform(1, 9)
        pair = [
            run(alpha, w, lambda t, y: 2 * math.sin(rate * t), lambda t, y: 0.0, [3.0], start)[0][2:]  # noqa: B023
            for start in ((1.0, 0.0), (0.0, 1.0))
        ]
        determinants = pair[0][0] * pair[1][1] - pair[0][1] * pair[1][0]
        assert np.allclose(determinants, 1, rtol=1e-8)
        assert min(np.linalg.norm(np.array(pair)[:, :, k], 2) for k in range(200)) >= 1 - 1e-8


# --- the lines of the verification once more, by autograd


def trained(plain: dict[str, str]) -> dict[str, Any]:
    """Gradients of E = Σ u_n y_n by autograd, with the states: one neuron, its drives x_n, w and h as leaves."""
    (alpha,), (dt,), (c,), (w,), (b,), (V,) = (floats(plain, k) for k in ("alpha", "dt", "c", "w", "b", "V"))
    u = floats(plain, "u")
    leaves = {
        "w": torch.tensor(w, dtype=torch.float64),
        "dt": torch.tensor(dt, dtype=torch.float64),
        "x": torch.tensor([V * each + b for each in u], dtype=torch.float64),
    }
    for leaf in leaves.values():
        leaf.requires_grad_()
    h = leaves["dt"] / (1 + math.exp(-c))
    ys, zs, ss = ([torch.zeros((), dtype=torch.float64)] for _ in range(3))
    for n in range(1, len(u)):
        s = torch.tanh(leaves["w"] * ys[-1] + leaves["x"][n])
        z = zs[-1] - h * (s + alpha * ys[-1])
        z.retain_grad()
        y = ys[-1] + h * z
        y.retain_grad()
        ys, zs, ss = [*ys, y], [*zs, z], [*ss, s]
    torch.stack([each * y for each, y in zip(u[1:], ys[1:], strict=True)]).sum().backward()
    return {
        "h": float(h.detach()),
        "sigma": 1 / (1 + math.exp(-c)),
        "alpha": alpha,
        "N": len(u) - 1,
        "y": [float(y.detach()) for y in ys],
        "z": [float(z.detach()) for z in zs],
        "s": [float(s.detach()) for s in ss],  # s[0] is unused
        "dz": [z.grad.item() for z in zs[1:] if z.grad is not None],
        "dy": [y.grad.item() for y in ys[1:] if y.grad is not None],
        **{name: leaf.grad for name, leaf in leaves.items()},
    }


TYPED = net.small_network(Shape(1, 1, 4), alpha="3/4", dt="4/5", c="1", w="-3/2", b="1/3", V="5/4", u="0 1 -2 1/2 3")


def test_autograd_finds_what_the_recursion_gives() -> None:
    f = trained(TYPED)
    N, h = f["N"], f["h"]
    with net.at_precision():
        network, _ = net.typed(TYPED, "icml")
        dy, dz = ([float(x) for x in each] for each in backpropagation.published_deltas(network))
        a = [float(x) for x in backpropagation.published_terms(network)]
    assert sum(a) == pytest.approx(float(f["w"]), rel=1e-12)
    for k in range(1, N + 1):
        n = N - k + 1
        assert dz[k - 1] == pytest.approx(f["dz"][n - 1], rel=1e-12)
        assert dy[k - 1] == pytest.approx(f["dy"][n - 1], rel=1e-12)
        assert -dz[k - 1] * h * (1 - f["s"][n] ** 2) == pytest.approx(float(f["x"][n]), rel=1e-12)
    total = sum(dy[N - n] * f["z"][n] - dz[N - n] * (f["s"][n] + f["alpha"] * f["y"][n - 1]) for n in range(1, N + 1))
    assert f["sigma"] * total == pytest.approx(float(f["dt"]), rel=1e-12)


LINES = {
    "line 1": backpropagation.CHAIN_RULE,
    "line 2": backpropagation.MOMENTUM_RULE,
    "line 3": backpropagation.POSITION_RULE,
    "line 4": backpropagation.MOMENTA,
    "line 5": backpropagation.TERMS,
    "x_n": backpropagation.DRIVES,
    "dt": backpropagation.STEP_SIZES,
}


@pytest.mark.parametrize("name", LINES)
def test_no_back_end_sees_a_difference_at_a_network_of_many_entries(name: str) -> None:
    check = LINES[name].check(TYPED)
    assert not any(opinion.violated for opinion in check.opinions)
    assert len({opinion.backend for opinion in check.opinions}) == 2


def _momentum_rule(sign: int, power: int) -> PathIdentity:
    """dE/dz_n = dE/dz_{n+1} + sign · h^power dE/dy_n."""

    def residual(n: Layered) -> list[Any]:
        h, N = n.weights.h[0][0], n.steps
        later = [backpropagation.by_momentum(n, t) for t in range(1, N + 1)] + [0]
        return [later[t - 1] - later[t] - sign * h**power * backpropagation.by_state(n, t) for t in range(1, N + 1)]

    def retyped(n: again.IntervalNetwork) -> list[Any]:
        P, momenta = backpropagation._exact(n)
        momenta = [*momenta, again.iv.mpf(0)]
        return [momenta[t] - momenta[t + 1] - sign * n.h[1][0] ** power * P[t] for t in range(1, n.N + 1)]

    return PathIdentity("icml", residual, retyped, "planted")


def _scaled(
    line: PathIdentity, left: Callable[[Layered], Any], left_again: Callable[[again.IntervalNetwork], Any]
) -> PathIdentity:
    """The line with one of its sides, that of step N (of the sum), taken twice."""
    return PathIdentity(
        "icml",
        lambda n: [line.residual(n)[0] + left(n), *line.residual(n)[1:]],
        lambda n: [*line.retyped(n)[:-1], line.retyped(n)[-1] + left_again(n)],
        "planted",
    )


def _first_term(n: Layered) -> Any:
    return backpropagation.published_terms(n)[0]


def _last_momentum(n: Layered) -> Any:
    return n.weights.h[0][0] * n.levels[n.steps][0][0]


def _last_slope_again(n: Any) -> Any:
    return n.s[n.N][1][0]


def _last_momentum_again(n: again.IntervalNetwork) -> Any:
    return n.y[n.N][0][0] * n.h[1][0]


FALSE_LINES = {
    "line 2, minus": _momentum_rule(-1, 1),
    "line 2, h²": _momentum_rule(1, 2),
    "line 4, 2δ^z": _scaled(backpropagation.MOMENTA, _last_momentum, _last_momentum_again),
    "line 5, a_1 twice": _scaled(
        backpropagation.TERMS,
        _first_term,
        lambda n: -_last_momentum_again(n) * n.s[n.N][1][0] * n.y[n.N - 1][1][0] * n.h[1][0],
    ),
    "x_n without σ'": PathIdentity(
        "icml",
        lambda n: [_last_momentum(n) * n.weights.h[0][0] * (1 - n.slopes[n.steps][0][0])],
        lambda n: [_last_momentum_again(n) * n.h[1][0] * (1 - _last_slope_again(n))],
        "planted",
    ),
    "dt without the drift": PathIdentity(
        "icml",
        lambda n: [n.weights.h[0][0] * n.levels[1][0][0] * n.levels[1][1][0]],
        lambda n: [n.h[1][0] * n.y[1][0][0] * n.z[1][1][0]],
        "planted",
    ),
}


@pytest.mark.parametrize("name", FALSE_LINES)
def test_a_line_with_a_wrong_sign_or_factor_is_refuted(name: str) -> None:
    found = judged(FALSE_LINES[name].case("N ≤ 3", "planted", tuple(Shape(1, 1, N) for N in (1, 2, 3))))
    assert found.verdict == verdict.REFUTED, found.because


LINE_CASES = LINES | {"Σ a_k": backpropagation.GRADIENT, "δ^y": backpropagation.ADJOINTS}
DELTAS = "published_deltas", "_retyped"
MUTATIONS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    # what is mutated: the line that has to notice; function, a piece of its text and what replaces it, both typings
    "δ^z, sign": ("line 4", [(DELTAS[0], "dz[-1] + dy", "dz[-1] - dy"), (DELTAS[1], "h * p[n] + q", "-h * p[n] + q")]),
    "δ^z, factor": (
        "line 4", [(DELTAS[0], "dy[-1] * h)", "dy[-1] * h * 2)"), (DELTAS[1], "= h * p[n]", "= 2 * h * p[n]")]
    ),
    "δ^z, index of the slope": (
        "line 4", [(DELTAS[0], "N - k + 1) * w", "max(N - k, 1)) * w"), (DELTAS[1], "s[n][1]", "s[max(n - 1, 1)][1]")]
    ),
    "δ^z, index of the loss": (
        "line 4",
        [(DELTAS[0], "(network, N - k))", "(network, N - k + 1))"), (DELTAS[1], "y[n - 1][0][0]", "y[n][0][0]")],
    ),
    "δ^y, α": ("x_n", [(DELTAS[0], "+ alpha)", "- alpha)"), (DELTAS[1], "(network.alpha +", "(-network.alpha +")]),
    "δ in dt, loss": (
        "dt", [(DELTAS[0], "N - k))", "N - k) * 2)"), (DELTAS[1], "network.y[n - 1]", "2 * network.y[n - 1]")]
    ),
    "a_k, sign": ("line 5", [("published_terms", "-dz[k - 1]", "dz[k - 1]"), ("_terms_again", "+ q[n]", "- q[n]")]),
    "a_k, index of y": (
        "line 5",
        [("published_terms", "network, N - k)", "network, N - k + 1)"), ("_terms_again", "y[n - 1]", "y[n]")],
    ),
    "a_k, factor σ'": (
        "line 5",
        [("published_terms", " * _slope(network, N - k + 1)", ""), ("_terms_again", " * network.s[n][1][0]", "")],
    ),
    "∂z/∂w, sign": ("line 5", [("_kick_by_w", "-network", "network"), ("_by_w_again", "-network.h", "network.h")]),
    "∂z/∂w, index of y": ("line 5", [("_kick_by_w", "n - 1)", "n)"), ("_by_w_again", "y[n - 1]", "y[n]")]),
    "∂z/∂w, twice": (
        "line 5", [("_kick_by_w", "-network", "-2 * network"), ("_by_w_again", "-network", "-2 * network")]
    ),
    "dE/dw, twice the kick": (
        "Σ a_k",
        [("_kick_by_w", "-network", "-2 * network"),
         ("_gradient_again", "* network.s[n][1][0] * network.y", "* network.y")],
    ),
    "Σ a_k, index": (
        "Σ a_k",
        [("published_terms", "network, N - k)", "network, N - k + 1)"),
         ("_gradient_again", "] * network.y[n - 1]", "] * network.y[n]")],
    ),
    "δ^y, factor h": ("δ^y", [(DELTAS[0], "dz[-1] * h *", "dz[-1] *"), ("_adjoints_again", "- h * dz", "- dz")]),
    "δ^y, loss": (
        "δ^y", [(DELTAS[0], "+ _loss_slope", "- _loss_slope"), ("_adjoints_again", ") + network.y", ") - network.y")]
    ),
    "dE/dz, y does not follow": (
        "line 1",
        [("by_momentum", "(network.weights.h[0][0], 1)", "(0, 1)"), ("_exact", "+ network.h[1][0] * by_y", "")],
    ),
    "dE/dz twice": (
        "line 2", [("by_momentum", ", 1)", ", 2)"), ("_exact", "(by_z +", "(2 * by_z +")]
    ),
    "dE/dy twice": ("line 2", [("by_state", "(1, 0)", "(2, 0)"), ("_exact", "* by_y\n", "* 2 * by_y\n")]),
    "dE/dy, loss": (
        "line 3",
        [("_position_rule", "- _loss_slope(network, n - 1)", "- _loss_slope(network, n)"),
         ("_position_rule_again", "network.y[n - 1]", "network.y[n]")],
    ),
    "dE/dy, κ": (
        "line 3",
        [("_position_rule", "alpha + w *", "alpha - w *"), ("_position_rule_again", "kappa = w *", "kappa = -w *")],
    ),
    "dE/dx, h": ("x_n", [("_drives", "-dz[k - 1] * h *", "-dz[k - 1] *"), ("_drives_again", "+ h * q", "+ q")]),
    "dE/dt, z": (
        "dt", [("_step_sizes", "h * drift(n) + dz", "drift(n) + dz"), ("_step_sizes_again", "* p[n] +", "* 2 * p[n] +")]
    ),
}  # fmt: skip


def mutate(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """Replace a piece of the text of a function of ``backpropagation``, in the namespace that production reads."""
    text = inspect.getsource(getattr(backpropagation, name))
    assert text.count(old) == 1, (name, old, text.count(old))
    made: dict[str, Any] = {}
    exec(compile(text.replace(old, new), "mutant", "exec"), vars(backpropagation), made)
    monkeypatch.setattr(backpropagation, name, made[name])


def of_line(name: str) -> PathIdentity:
    """The line with the functions as they are now in the module, so that a mutated residual is read, too."""
    line = LINE_CASES[name]
    residual, retyped = (getattr(backpropagation, each.__name__) for each in (line.residual, line.retyped))
    return replace(line, residual=residual, retyped=retyped)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutant_of_what_the_lines_read_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line, changes = MUTATIONS[name]
    shapes = tuple(Shape(1, 1, N) for N in (1, 2, 3))
    assert judged(of_line(line).case("N ≤ 3", "line", shapes)).verdict == verdict.PROVED
    for change in changes:
        mutate(monkeypatch, *change)
    found = judged(of_line(line).case("N ≤ 3", "planted", shapes))
    assert found.verdict == verdict.REFUTED, found.because


def test_every_line_has_a_mutant() -> None:
    assert {line for line, _ in MUTATIONS.values()} == set(LINE_CASES)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("_loss_slope", "[n]", "[max(n - 1, 0)]"),
        ("_loss_slope", "return ", "return -"),
        ("_loss_slope", "return ", "return 2 * "),
        ("_slope", "[n]", "[max(n - 1, 1)]"),
        ("published_terms", "-dz", "dz"),
    ],
)
def test_autograd_notices_what_both_sides_of_a_line_share(
    name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is any E, so every Et' satisfies the lines; which one the network has only another run can tell."""
    test_autograd_finds_what_the_recursion_gives()
    mutate(monkeypatch, name, old, new)
    with pytest.raises(AssertionError):
        test_autograd_finds_what_the_recursion_gives()


def nothing(like: Any) -> Any:
    """Zeros in the shape of an answer."""
    return type(like)(map(nothing, like)) if isinstance(like, list | tuple) else 0 * like


SIDES = {
    "line 1": (("by_w", "by_momentum"), ("_by_w_again", "_exact")),
    "line 2": (("by_momentum", "by_state"), ()),  # the second typing has both sides from one call: see the mutants
    "line 3": (("by_state",), ("_exact",)),
    "line 4": (("published_deltas", "by_momentum"), ("_retyped", "_exact")),
    "line 5": (("published_terms", "forward"), ("_retyped", "_by_w_again")),
    "x_n": (("published_deltas", "forward"), ("_retyped", "_pushed")),
    "dt": (("published_deltas", "forward"), ("_retyped", "_pushed")),
    "Σ a_k": (("published_terms", "by_w"), ()),
    "δ^y": (("published_deltas", "by_state"), ()),
}


@pytest.mark.parametrize("name", SIDES)
def test_each_side_of_each_line_is_not_zero_by_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One side at a time is taken away, in one typing at a time: what is left is the other."""
    line, tried = LINE_CASES[name], 0
    for index, sides in enumerate(SIDES[name]):
        for side in sides:
            real = getattr(backpropagation, side)
            with monkeypatch.context() as patch:
                patch.setattr(backpropagation, side, lambda *given, real=real, **named: nothing(real(*given, **named)))
                opinions = line.check(TYPED).opinions
                assert [each.violated for each in opinions] == [index == 0, index == 1], (side, opinions)
            tried += 1
    assert tried >= 2


# --- planted falsehoods and truths about the ODE and (38)

SHORT = ("(38): added terms dropped", "(38): dt dropped")
FALSE: dict[str, Callable[[], Case]] = {
    "floor times 101/100": lambda: rest_sensitivities.floor_case(Q(101, 100)),
    "floor times 2": lambda: rest_sensitivities.floor_case(Q(2)),
    "|b| ≤ 4: 10^5 times the floor": lambda: rest_sensitivities.saturation_case(4, times=10**5),
    "|b| ≤ 16: 10^5 times the floor": lambda: rest_sensitivities.saturation_case(16, times=10**5),
    "slopes ≥ 1/10: 100 times the floor": lambda: rest_sensitivities.fading_case(Q(1, 10), factor=Q(100)),
    "slopes ≥ 1/10: 9 times the floor": lambda: rest_sensitivities.fading_case(Q(1, 10), factor=Q(9)),
    "‖Φ‖ ≥ 1 with damping": lambda: sensitivities.norm_case(damping=1),
    "(38): dt dropped": lambda: elementary.step_case(linear=Q(0)),
    "(38): −dt": lambda: elementary.step_case(linear=Q(-1)),
    "(38): dt/2": lambda: elementary.step_case(linear=Q(1, 2)),
    "(38): 4α²dt⁴ dropped": lambda: elementary.step_case(fourth=Q(0)),
    "(38): −4α²dt⁴": lambda: elementary.step_case(fourth=Q(-4)),
    "(38): added terms dropped": lambda: elementary.step_case(added=Q(0)),
    "(38): added terms/3": lambda: elementary.step_case(added=Q(1, 3)),
    "G: 40α²dt⁴": lambda: elementary.growth_case({**energy_growth.GROWTH, 4: 40}),
    "G: 9dt": lambda: elementary.growth_case({**energy_growth.GROWTH, 1: 9}),
    "G: 20αdt²": lambda: elementary.growth_case({**energy_growth.GROWTH, 2: 20}),
    "(a+b+c)²: 4, 4, 1": lambda: elementary.squares_case((4, 4, 1)),
    "(a+b+c)²: 3, 4, 2": lambda: elementary.squares_case((3, 4, 2)),
    "a(a−b): a third": lambda: elementary.identities_case(Q(1, 3)),
}
TRUE: dict[str, Callable[[], Case]] = {
    "floor times 99/100": lambda: rest_sensitivities.floor_case(Q(99, 100)),
    **{f"|b| ≤ {most}": lambda most=most: rest_sensitivities.saturation_case(most) for most in (1, 4, 16, 64)},  # type: ignore[misc]
    "slopes ≥ 1/10": lambda: rest_sensitivities.fading_case(least=Q(1, 10)),
    "slopes ≥ 1/10⁵": lambda: rest_sensitivities.fading_case(least=Q(1, 10**5)),
    "(38): 2dt": lambda: elementary.step_case(linear=Q(2)),
    "G: 5α²dt⁴, which term by term does not prove": lambda: elementary.growth_case({**energy_growth.GROWTH, 4: 5}),
    "G: 3α²dt⁴": lambda: elementary.growth_case({**energy_growth.GROWTH, 4: 3}),
    "(a+b+c)²: 3, 3, 3": lambda: elementary.squares_case((3, 3, 3)),
}


@pytest.mark.parametrize("name", where(FALSE, lambda name: name.startswith("(38)") and name not in SHORT))
def test_a_planted_falsehood_is_refuted(name: str) -> None:
    case = FALSE[name]()
    found = judged(case)
    assert found.verdict == verdict.REFUTED, found.because
    assert case.check is not None
    real = case.check

    def blind(parameters: Parameters) -> Check:
        check = real(parameters)
        return replace(check, opinions=tuple(replace(each, violated=False) for each in check.opinions))

    assert judged(replace(case, check=blind)).verdict == verdict.SUSPECT  # a check that never sees a violation


def test_without_w_no_kick_is_nominated() -> None:
    """The statement falls at other w, which the search over the declaration finds."""
    assert not sensitivities.kick_case((Q(0),)).ask(SMOKE, 0).candidates
    assert sensitivities.kick_case((Q(1),)).ask(SMOKE, 0).candidates


@pytest.mark.parametrize("name", TRUE)
def test_a_planted_truth_is_not(name: str) -> None:
    assert judged(TRUE[name]()).verdict in {verdict.PROVED, verdict.NOT_REFUTED}


def test_five_is_true_and_not_proved_and_four_is_both() -> None:
    assert judged(elementary.growth_case({**energy_growth.GROWTH, 4: 5})).verdict == verdict.NOT_REFUTED
    assert judged(elementary.growth_case()).verdict == verdict.PROVED


def test_the_coefficients_are_those_of_the_page_in_both_typings_and_in_floats() -> None:
    for alpha, h in ((Q(3, 7), Q(2, 9)), (Q(5), Q(7, 8)), (Q(1, 9), Q(3, 4))):
        expected = 1 + h + 2 * alpha * h**2 + 4 * alpha**2 * h**4
        again_ = energy_growth.growth_sum_again(
            energy_growth.GROWTH, *(again.iv.mpf(x.numerator) / x.denominator for x in (alpha, h))
        )
        assert float(again_.mid) == pytest.approx(float(expected), rel=1e-12)
        balls = energy_growth.growth_sum(
            energy_growth.GROWTH, *(flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in (alpha, h))
        )
        assert float(balls.mid()) == pytest.approx(float(expected), rel=1e-12)
        left, right = elementary._log_growth_parts(energy_growth.GROWTH, float(h), float(alpha))
        assert left == pytest.approx(math.log(expected), rel=1e-12)
        assert right == pytest.approx(96**0.25 * max(1.0, math.sqrt(alpha)) * float(h), rel=1e-12)


def test_growth_or_a_constant_that_falls_with_the_step_is_no_proof_however_large() -> None:
    """Semidefinite at h = dt says nothing of h < dt unless both rise with dt."""
    plain = lambda alpha, h: energy_growth.growth_sum(energy_growth.GROWTH, alpha, h)  # noqa: E731
    added = lambda alpha, h: 2 * h + 4 * alpha * h**4  # noqa: E731
    falling = lambda alpha, h: 10 - h + 10 * alpha + 10 * alpha**2  # noqa: E731
    assert energy_step.proof((plain, plain), added).proof
    for growth, constant in (((falling, plain), added), ((plain, falling), added), ((plain, plain), falling)):
        found = energy_step.proof(growth, constant)
        assert not found.proof and not found.candidates


def test_the_step_38_in_plain_floats_at_the_witness_of_a_mutant() -> None:
    p = {k: float(Q(v)) for k, v in witness_of(judged(elementary.step_case(linear=Q(0)))).items()}
    h, alpha, dt = p["sigma"] * p["dt"], p["alpha"], p["dt"]
    z = p["z"] - h * (p["s"] + alpha * p["y"])
    y = p["y"] + h * z
    before, after = alpha * p["y"] ** 2 + p["z"] ** 2, alpha * y**2 + z**2
    G = 1 + dt + 2 * alpha * dt**2 + 4 * alpha**2 * dt**4
    added = 2 * dt + 4 * alpha * dt**4
    assert (G - dt) * before + added < after <= G * before + added


@pytest.mark.parametrize(
    ("domain", "quantity", "change"),
    [
        ("zero start, b varies", "max over [0, t], every θ", {"floor": "0"}),
        ("zero start, b varies", "max over [0, t], every θ", {"b": "1"}),
        ("zero start, b varies", "max over [0, t], every θ", {"alpha": "-1"}),
        ("zero start, inputs unbounded, t → ∞", "(y_θ, z_θ), θ = b", {"w": "-1"}),
        ("zero start, inputs unbounded, t → ∞", "(y_θ, z_θ), θ = b", {"slopes": "1 1/2 1/4096"}),
        ("zero start, inputs unbounded, t → ∞", "(y_θ, z_θ), θ = b", {"slopes": "1 1 1 1"}),
        ("θ changed at time s only, t − s → ∞", "(y_θ, z_θ)", {"slopes": "1/10 1"}),
        ("θ changed at time s only, t − s → ∞", "(y_θ, z_θ)", {"alpha": "0"}),
        ("θ changed at time s only, t − s → ∞", "(y_θ, z_θ)", {"w": "-1", "slopes": "5/9 21/25"}),  # at resonance
    ],
)
def test_a_premise_or_a_limit_that_fails_leaves_a_doubt(domain: str, quantity: str, change: dict[str, str]) -> None:
    case = novanish(domain, quantity)
    p = witness_of(judged(case))
    assert not rows.doubt_of(case, p)
    assert rows.doubt_of(case, {**p, **change})


# --- the two typings side by side: a slip in one of them is noticed where nothing is violated, too

FLOORS = (("1/2", "3/4", "1/3"), ("2", "-5/2", "1/4"), ("1/2", "-3", "1/9"), ("0", "0", "2"), ("9", "4", "1"))
BIASES = (("1/2", "-3/4", "2/3", "5/4", "9"), ("3", "5/4", "-1", "2", "-20"), ("0", "0", "0", "1/3", "0"))
PAIRS = (("1/2", "3/4"), ("3", "-5/4"))
STATE = {"alpha": "3/7", "dt": "2/9", "sigma": "5/8", "y": "3/5", "z": "7/9", "s": "-2/3"}
POINTS: list[tuple[Case, dict[str, str]]] = [
    *((rest_sensitivities.floor_case(), {"alpha": alpha, "w": w, "t": "7/5", "a": a}) for alpha, w, a in FLOORS),
    *(
        (
            rest_sensitivities.saturation_case(),
            {"alpha": alpha, "w": w, "V": V, "u": "3/2", "t": t, "floor": "1/7", "b": b},
        )
        for alpha, w, V, t, b in BIASES
    ),
    *((rest_sensitivities.fading_case(), {"alpha": alpha, "w": w, "slopes": "1 1/2 1/5"}) for alpha, w in PAIRS),
    *(
        (rest_sensitivities.fading_case(Q(1, 5), Q(3, 7)), {"alpha": alpha, "w": w, "slopes": "1 1/2 1/5"})
        for alpha, w in PAIRS
    ),
    *((sensitivities.kick_case(), {"alpha": alpha, "w": w, "slopes": "1/3 3/4"}) for alpha, w in PAIRS),
    *((sensitivities.norm_case(), {"alpha": alpha, "w": w, "t": "6/5"}) for alpha, w in (*PAIRS, ("3", "-5"))),
    *((sensitivities.norm_case(1), {"alpha": alpha, "w": w, "t": "6/5"}) for alpha, w in (*PAIRS, ("3", "-5"))),
    (elementary.step_case(), STATE),
    (elementary.step_case(Q(2, 3), Q(5, 7), Q(3, 4)), STATE),
]


@pytest.mark.parametrize("index", range(len(POINTS)))
def test_both_typings_give_the_same_two_sides(index: int) -> None:
    case, point = POINTS[index]
    inequality = inequality_of(case)
    assert inequality is not None
    balls, intervals = inequality.decide(point).opinions
    left, right = map(float, balls.text.split(" against "))
    low, high, top = map(float, re.findall(r"(?<=[\[ ])-?\d[\d.e+-]*(?=[\],]|$)", intervals.text))
    assert [low, high, top] == pytest.approx([left, left, right], rel=1e-8)
    assert math.isfinite(left) and right > 0


@pytest.mark.parametrize(
    ("coefficients", "fourth_power", "holds"),
    [
        ({0: 1, 1: 1, 2: 2, 4: 4}, 96, True),
        ({0: 1, 1: 1, 2: 2, 4: 4}, 95, False),  # sharp in the term of fourth order
        ({0: 1, 1: 1, 2: 2, 4: 5}, 96, False),
        ({0: 1, 1: 4, 2: 2}, 96, False),
        ({0: 2, 1: 1}, 96, False),
        ({}, 96, False),
        ({-1: 1}, 96, False),
        ({0: 1, -2: 0, 1: 1}, 96, False),
        ({0: 1, 1: -1}, 96, False),
        ({0: 1}, -96, False),
    ],
)
def test_term_by_term_below_an_exponential(coefficients: dict[int, int], fourth_power: int, holds: bool) -> None:
    assert bool(energy_step.below_exponential(coefficients, fourth_power)) is holds
    if holds:
        c = fourth_power**0.25
        for r in (1e-3, 0.1, 1.0, 10.0):
            assert sum(a * r**k for k, a in coefficients.items()) <= math.exp(c * r)
