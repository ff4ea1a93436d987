"""The inequalities of the proofs, the ODE bounds and the printed forms: answers, witnesses again by floats, mutants."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import flint
import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp

from odernn.bounds.numbers import BALLS
from odernn.published.networks import ROWS, row
from tests.tiers import only, spread, without
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification import verdict
from verification.answer import answer
from verification.cases import chain_ends, ode_sensitivities, ode_states, one_step_norms
from verification.cases.inequality import Inequality
from verification.certify import linear_flow
from verification.certify.positivity import is_nonnegative
from verification.certify.second import intervals as second
from verification.certify.second.intervals import iv
from verification.claim import Case, Check, Claim, Opinion
from verification.claims.unicornn import ode_bounds, printed_forms, proof_steps, step_norms
from verification.domains import BUDGETS
from verification.measure import ode, published_forms
from verification.measure.polynomials import variables
from verification.measure.published_forms import Delta, Root
from verification.verdict import doubt_about

MODULES = (step_norms, proof_steps, ode_bounds, printed_forms)
CLAIMS = {claim.id: claim for module in MODULES for claim in module.CLAIMS}
SMOKE = BUDGETS["smoke"]
IDS = (
    "icml-C.1-H",
    "icml-C.1-step",
    "icml-C.1-table6",
    "sam-C.1-a",
    "sam-C.1-a-proof",
    "sam-C.1-b",
    "sam-27",
    "sam-3.1",
    "sam-C.2",
    "sam-C.2-alpha0",
    "icml-(25)",
    "both-51-53",
    "both-63-65",
    "sam-30",
    "sam-66",
    "icml-(39)",
    "sam-67",
    "icml-(40)",
    "both-F-Delta",
    "icml-S15",
    "both-2-T1",
    "both-alpha0",
    "sam-E-computable",
)


def judged(case: Case) -> verdict.Judgement:
    claim = Claim("made", CLAIMS["sam-27"].source, "made", "real", (case,))
    return answer(claim, case, SMOKE, 0)


def witness_of(found: verdict.Judgement) -> dict[str, str]:
    parameters: dict[str, str] = json.loads(found.witness)["parameters"]
    return parameters


def test_all_statements_are_on_trial() -> None:
    assert sorted(CLAIMS) == sorted(IDS)


@pytest.mark.parametrize("name", without(IDS, "both-63-65", "sam-3.1", "sam-67"))  # beside sam-66, sam-C.2
def test_each_family_is_decided_under_smoke(name: str) -> None:
    claim = CLAIMS[name]
    found = [answer(claim, case, SMOKE, 0) for case in claim.cases]
    decided = {verdict.PROVED, verdict.REFUTED, verdict.VACUOUS, verdict.INAPPLICABLE}
    assert {each.verdict for each in found} <= decided, [each.because for each in found]
    for case, each in zip(claim.cases, found, strict=True):
        if each.verdict == verdict.REFUTED:
            assert case.check is not None
            check = case.check(witness_of(each))
            assert not doubt_about(check, case) and {o.backend for o in check.opinions} >= {"mpmath"}


# --- each refutation once more, in floats, typed independently


def test_witness_against_the_growth_step_in_plain_floats_at_its_step_and_at_finer_ones() -> None:
    found = judged(proof_steps.power_case())
    p = {name: float(Q(value)) for name, value in witness_of(found).items()}
    beta = max(1 + 2 * p["alpha"], 4 * p["alpha"] ** 2)
    for refine in (1, 2, 16, 1024):
        steps = int(p["N"]) * refine
        power = 1.0
        for _ in range(steps):
            power *= 1 + beta * p["T"] / steps
        assert power > 1 + 2 * beta * steps * (p["T"] / steps)


@pytest.mark.parametrize(("index", "component"), [(2, 0), (3, 1)])
def test_witness_against_the_undamped_bound_for_every_horizon_by_dop853(index: int, component: int) -> None:
    found = judged(CLAIMS["sam-C.1-b"].cases[index])
    assert found.verdict == verdict.REFUTED
    p = {name: float(Q(value)) for name, value in witness_of(found).items()}
    run = solve_ivp(lambda t, x: [x[1], -np.tanh(p["b"])], (0, p["t"]), [0, 0], method="DOP853", rtol=1e-12, atol=1e-12)
    assert run.y[component, -1] ** 2 > math.e**2


def simulate(alpha: float, dt: float, sigma: float, drive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """y_n and z_n for w = 0, the pre-activations given."""
    y = z = 0.0
    ys, zs = [y], [z]
    for x in drive:
        z -= sigma * dt * (math.tanh(x) + alpha * y)
        y += sigma * dt * z
        ys.append(y)
        zs.append(z)
    return np.array(ys), np.array(zs)


@pytest.mark.parametrize("refine", [1, 4])
@pytest.mark.parametrize(("name", "is_partial"), [("icml-(39)", True), ("icml-(40)", False)])
def test_limit_witnesses_by_running_the_recurrence_with_the_square_wave(
    name: str, is_partial: bool, refine: int
) -> None:
    case = next(c for c in CLAIMS[name].cases if c.reading == "limit" and "V^1" not in c.domain)
    p = {k: float(Q(v)) for k, v in witness_of(judged(case)).items()}
    sigma = 1 / (1 + math.exp(-p["c"]))
    dt = p["dt"] / refine
    steps = round(p["T"] / dt)
    t = dt * np.arange(1, steps + 1)
    drive = -p["amplitude"] * np.sign(np.sin(math.sqrt(p["alpha"]) * sigma * (p["T"] - t)))
    drive[-1] = 0.0
    y, _ = simulate(p["alpha"], dt, sigma, drive)
    growth = 1 + 2 * max(1 + 2 * p["alpha"], 4 * p["alpha"] ** 2) * p["T"]
    F = math.sqrt(2 / p["alpha"] * growth)
    if is_partial:
        assert sigma * abs(y[-2]) > 2 + math.sqrt(2 * growth) + (2 + p["alpha"]) * F  # σ'(0) = 1
    else:
        assert abs(y[-1]) > F


@pytest.mark.parametrize("name", ["sam-66", "icml-(39)"])
def test_input_witnesses_by_a_difference_quotient_in_the_input_weight(name: str) -> None:
    found = judged(CLAIMS[name].cases[1])
    p = {k: float(Q(v)) for k, v in witness_of(found).items()}
    eps = 1e-9
    _, z = simulate(p["alpha"], p["dt"], p["sigma"], np.array([eps * p["u"]]))
    derivative = abs(z[-1]) / eps / p["dt"]
    growth, step = 1 + 2 * max(1 + 2 * p["alpha"], 4 * p["alpha"] ** 2) * p["T"], 1 + 2 * p["alpha"] * p["dt"] ** 3
    assert p["alpha"] == 1
    root = math.sqrt(2 * p["T"]) * math.exp(96**0.25 * p["T"])
    sam = 2 + root * math.sqrt(step) + 3 * root * step
    icml = 2 + math.sqrt(2 * growth) + 3 * math.sqrt(2 * growth)
    assert derivative > (sam if name == "sam-66" else icml)


def test_witness_against_the_indices_of_sam_by_a_difference_quotient() -> None:
    found = judged(one_step_norms.shifted_case())
    p = {k: float(Q(v)) for k, v in witness_of(found).items()}
    eps = 1e-9
    _, z = simulate(1.0, p["dt"], p["sigma"], np.array([0.0, eps * p["before"]]))  # step 2 sees u_1
    assert abs(z[-1] - z[-2]) / eps > p["dt"] * (1 + max(abs(p["now"]), 1))


# --- mutants: a true statement changed a little is refuted by the same machinery

state, sensitivity, Bound = ode_states.state_case, ode_sensitivities.sensitivity_case, ode_states.Bound
SAM, SAM_0 = ode_bounds.SENSITIVITY, ode_bounds.SENSITIVITY_UNDAMPED
MUTANTS: dict[str, Callable[[], Case]] = {
    "H: beta/4": lambda: proof_steps.energy_case(factor=Q(1, 4)),
    "H: added term/3": lambda: proof_steps.energy_case(constant=Q(1, 3)),
    "H: added term gone": lambda: proof_steps.energy_case(constant=Q(0)),
    "step: beta T <= 3/2": lambda: proof_steps.power_case(longest=Q(3, 2)),
    "rest: 4 -> 40": lambda: proof_steps.rest_case(constant=Q(40)),
    "(25): square gone": lambda: one_step_norms.growth_case(square=Q(0)),
    "(25): square/2": lambda: one_step_norms.growth_case(square=Q(1, 4)),
    "(51): factor 1/2": lambda: one_step_norms.first_case(factor=Q(1, 2)),
    "(51): factor 9/10": lambda: one_step_norms.first_case(factor=Q(9, 10)),
    "(51): square -1": lambda: one_step_norms.taylor_case(square=Q(-1)),
    "(51b): square -1/2": lambda: one_step_norms.middle_case(square=Q(-1, 2)),
    "(52): exponent/3": lambda: one_step_norms.exponential_case(multiple=Q(1, 3)),
    "(52): sign": lambda: one_step_norms.exponential_case(multiple=Q(-1)),
    "(53): dt^2": lambda: one_step_norms.climb_case(power=2),
    "(63): alpha y dropped": lambda: one_step_norms.partial_case("(63)", drop="y"),
    "(64): z dropped": lambda: one_step_norms.partial_case("(64)", drop="z"),
    "(64): alpha y dropped": lambda: one_step_norms.partial_case("(64)", drop="y"),
    "(65): y dropped": lambda: one_step_norms.partial_case("(65)", drop="y"),
    "(65): 2 dropped": lambda: one_step_norms.partial_case("(65)", drop="1"),
    "(23) y: e -> 1/2": lambda: state("t", ode_states.POSITION, Bound(factor=Q(1, 2)), horizon=1),
    "(23) y: rate -1": lambda: state("t", ode_states.POSITION, Bound(rate=Q(-1)), horizon=1),
    "(23) z: e -> 9/10": lambda: state("t", ode_states.MOMENTUM, Bound(factor=Q(9, 10)), horizon=1),
    "C.1 proof: t^3": lambda: state("t", ode_states.ENERGY, Bound(power=3, growth=Q(1)), horizon=1),
    "C.1 proof: e^-t": lambda: state("t", ode_states.ENERGY, Bound(power=1, growth=Q(-1)), horizon=1),
    "(24) y: e^2 -> 1/5": lambda: state(
        "t", ode_states.UNDAMPED_POSITION, Bound(factor=Q(1, 5)), horizon=1, undamped=True
    ),
    "(24) z: e^-2": lambda: state("t", ode_states.UNDAMPED_MOMENTUM, Bound(rate=Q(-2)), horizon=1, undamped=True),
    "(27): 1 -> 1/5": lambda: ode_bounds.forcing_case(least=Q(1, 5)),
    "(27): c/2": lambda: ode_bounds.forcing_case(factor=Q(1, 2)),
    "(28) y: no force": lambda: sensitivity(replace(SAM, force=Q(0)), "y_θ"),
    "(28) z: no force": lambda: sensitivity(replace(SAM, force=Q(0)), "z_θ"),
    "(28) y: no start": lambda: sensitivity(replace(SAM, start=Q(0)), "y_θ"),
    "(28) z: no growth": lambda: sensitivity(replace(SAM, floor=Q(0), square=Q(0)), "z_θ"),
    "(28) z: decay": lambda: sensitivity(replace(SAM, floor=Q(-2), square=Q(-1)), "z_θ"),
    "(29) y: no growth": lambda: sensitivity(replace(SAM_0, floor=Q(0), square=Q(0), offset=Q(0)), "y_θ"),
    "(29) z: start/20": lambda: sensitivity(replace(SAM_0, start=Q(1, 60)), "z_θ"),
    "(66): e gone": lambda: chain_ends.sam_partial_case(
        Delta(z=Root(growth=Q(0)), y=Root(factor=Q(1, 10), growth=Q(0)), constant=Q(0))
    ),
    "(67): e gone": lambda: chain_ends.sam_output_case(Root(growth=Q(0))),
    "(67): sign of the exponent": lambda: chain_ends.sam_output_case(Root(growth=Q(-1))),
    "S(7) at Table 6: factor/5": lambda: printed_forms.square_root_case(row("psMNIST-128"), "position", Q(2, 5)),
    "S(7) at Table 6, z: factor/5": lambda: printed_forms.square_root_case(row("psMNIST-128"), "momentum", Q(2, 5)),
    "S(39) = (12): factor": lambda: printed_forms.same_case(
        replace(published_forms.ICML_S39, constant=Q(1)), published_forms.ICML_12, "made"
    ),
    "(42) by (32): growth/2": lambda: printed_forms.sufficient_case(
        Root(growth=Q(1, 4)), published_forms.SAM_32, "made"
    ),
}


@pytest.mark.parametrize(
    "name", spread(MUTANTS, 20), ids=[f"mutant {k + 1} of {len(MUTANTS)}: {n}" for k, n in enumerate(MUTANTS)]
)
def test_a_mutant_of_a_true_statement_is_refuted(name: str) -> None:
    found = judged(MUTANTS[name]())
    assert found.verdict == verdict.REFUTED, (found.verdict, found.because)


# --- soundness

TRUE = {
    "step, beta T <= 5/4": lambda: proof_steps.power_case(longest=Q(5, 4)),
    "(24) y sharp": lambda: state(
        "t", ode_states.UNDAMPED_POSITION, Bound(factor=Q(1, 4) + Q(1, 10**12), power=4), horizon=1, undamped=True
    ),
    "(24) z sharp": lambda: state(
        "t", ode_states.UNDAMPED_MOMENTUM, Bound(factor=1 + Q(1, 10**12), power=2), horizon=1, undamped=True
    ),
    "(51) slack": lambda: one_step_norms.first_case(factor=1 + Q(1, 10**12)),
    "(53)": lambda: one_step_norms.climb_case(),
    "(63) without its 1, which max(…, 1) covers": lambda: one_step_norms.partial_case("(63)", drop="1"),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_statement_with_no_more_slack_than_1e_12_is_never_refuted(name: str) -> None:
    assert judged(TRUE[name]()).verdict in {verdict.PROVED, verdict.NOT_REFUTED}


def test_neither_back_end_certifies_a_true_inequality_with_slack_1e_12() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        alpha, t, b = (str(Q(int(rng.integers(1, 100)), int(rng.integers(1, 100)))) for _ in range(3))
        sharp = Inequality(
            lambda p: (
                -linear_flow.in_balls(0 * p.t, 0 * p.t, p.alpha, p.b.tanh(), p.t)[0],
                p.b.tanh() * (1 - (p.alpha.sqrt() * p.t).cos()) / p.alpha * (1 + SLACK),
            ),
            lambda p: (
                -linear_flow.in_intervals(0 * p.t, 0 * p.t, p.alpha, second.tanh(p.b), p.t)[0],
                (1 - 2 / (iv.exp(2 * p.b) + 1)) * (1 - iv.cos(iv.sqrt(p.alpha) * p.t)) / p.alpha * (1 + SLACK),
            ),
        )
        check = sharp.check({"alpha": alpha, "t": t, "b": b})
        assert not any(opinion.violated for opinion in check.opinions)


SLACK = 1e-12


@pytest.mark.parametrize(("square", "holds"), [(Q(1, 4), True), (Q(1, 4) - Q(1, 10**12), False)])
def test_bernstein_positivity_decides_a_touching_parabola_and_one_just_below(square: Q, holds: bool) -> None:
    """x² − x + c touches 0 at the middle of [0, 1] for c = 1/4."""
    (x,) = variables("x")
    found = is_nonnegative(x * x - x + one_step_norms.coefficient(square), ((0, 1),))
    assert found.holds is holds
    assert holds or (found.point is not None and found.point[0] ** 2 - found.point[0] + square < 0)


def test_bernstein_positivity_on_an_unbounded_side_agrees_with_sampling() -> None:
    x, y = variables("x", "y")
    assert is_nonnegative((x**2 - x + 1) * (1 + y), ((0, None), (0, None))).holds is True
    below = is_nonnegative(x**2 - 3 * x * y + y**2, ((0, None), (0, None)))
    assert below.holds is False and below.point is not None
    a, b = below.point
    assert a * a - 3 * a * b + b * b < 0


def test_the_closed_flow_agrees_with_dop853_for_all_signs_of_kappa() -> None:
    for kappa in (4.0, 0.0, -3.0):
        run = solve_ivp(
            lambda t, x, k=kappa: [x[1], -k * x[0] - 0.7], (0, 1.3), [0.4, -1.1], "DOP853", rtol=1e-12, atol=1e-13
        )
        assert np.allclose(ode.flow(0.4, -1.1, kappa, 0.7, 1.3), run.y[:, -1], rtol=1e-10)


def test_sensitivity_mutant_witness_by_dop853_of_neuron_and_sensitivity_together() -> None:
    """The full system with the input that holds the pre-activation: y, z and y_θ, z_θ, four quarters."""
    case = sensitivity(replace(SAM, floor=Q(0), square=Q(0)), "z_θ")
    p = witness_of(judged(case))
    alpha, w, C = (float(Q(p[k])) for k in ("alpha", "w", "C"))
    state = [0.0, 0.0, float(Q(p["y0"])), float(Q(p["z0"]))]
    before = alpha * state[2] ** 2 + state[3] ** 2
    for a, force in zip(p["preactivations"].split(), p["forces"].split(), strict=True):
        held, c = float(Q(a)), float(Q(force))

        def field(t: float, x: np.ndarray, held: float = held, c: float = c) -> list[float]:
            u = held - w * x[0]
            A = w * x[0] + u
            slope = 1 - math.tanh(A) ** 2
            return [x[1], -(math.tanh(A) + alpha * x[0]), x[3], -(alpha + w * slope) * x[2] - slope * c]

        state = solve_ivp(field, (0, 0.25), state, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert state[3] ** 2 > before + C


def test_rows_without_a_printed_number_of_steps_or_with_alpha_0_are_inapplicable_or_refuted() -> None:
    horizons = {each.name: judged(printed_forms.horizon_case(each)).verdict for each in ROWS}
    assert horizons["IMDB"] == verdict.INAPPLICABLE and horizons["RR"] == verdict.REFUTED
    hypotheses = {each.name: judged(printed_forms.hypothesis_case(each)).verdict for each in ROWS}
    assert {n for n, v in hypotheses.items() if v == verdict.REFUTED} == {e.name for e in ROWS if e.alpha == 0}
    assert judged(printed_forms.horizon_case(row("RR"), longest=Q(50))).verdict == verdict.PROVED


def test_bound_41_in_plain_floats_of_logarithms() -> None:
    """RR: log₁₀ of (41) with ‖w‖ = V̄ = Ȳ = 1, in float64 logarithms."""
    alpha, dt, N, m, L = 9.0, 0.011, 4000, 128, 3
    T = N * dt
    rate = 96**0.25 * 3 * T
    energy = math.log(2 * m * T * (1 + 2 * alpha * dt**3)) + rate
    F = (energy - math.log(alpha)) / 2
    delta = np.logaddexp(math.log(2), np.logaddexp(energy / 2, math.log(2 + alpha) + F))
    total = math.log((1 - dt**L) / (1 - dt)) + math.log(T) + max(2, 1 + alpha) * T + np.logaddexp(0, F) + delta
    found = judged(printed_forms.computable_case(row("RR")))
    assert found.found == f"10^{total / math.log(10):.1f}"


def test_a_larger_number_format_makes_41_meaningful() -> None:
    assert judged(printed_forms.float_case(row("RR"))).verdict == verdict.VACUOUS
    assert judged(printed_forms.float_case(row("RR"), largest=10**2000)).verdict == verdict.PROVED


# --- the two typings of every inequality, side by side: a slip in one of them is noticed where nothing is violated, too

GENERIC = (
    {
        "alpha": "3/7",
        "dt": "2/9",
        "sigma": "5/8",
        "T": "4/5",
        "m": "3",
        "N": "5",
        "y": "3/5",
        "z": "7/9",
        "s": "2/3",
        "w": "-13/10",
        "slope": "3/4",
        "K": "23/10",
        "k": "11/5",
        "v": "9/7",
        "below": "5/4",
        "before": "8/5",
        "now": "6/5",
        "u": "7/5",
        "c": "1/3",
        "amplitude": "11/10",
        "t": "5/9",
        "b": "4/7",
        "C": "6/7",
        "y0": "1/9",
        "z0": "2/9",
        "preactivations": "1/3 -2/5 1/2 3/8",
        "forces": "2/7 1/5 -1/4 3/11",
    },
    {
        "alpha": "19/6",
        "dt": "3/5",
        "sigma": "2/7",
        "T": "9/7",
        "m": "2",
        "N": "4",
        "y": "8/5",
        "z": "1/9",
        "s": "-1/4",
        "w": "27/10",
        "slope": "1/3",
        "K": "16/5",
        "k": "7/9",
        "v": "2/7",
        "below": "3/4",
        "before": "-1/5",
        "now": "-2/3",
        "u": "-3/5",
        "c": "-1/4",
        "amplitude": "4/5",
        "t": "6/5",
        "b": "-3/2",
        "C": "3/2",
        "y0": "-2/3",
        "z0": "3/7",
        "preactivations": "-4/3 2/5 1 -3/8",
        "forces": "-1/7 4/5 1/4 1",
    },
    {
        "alpha": "1/11",
        "dt": "6/7",
        "sigma": "7/8",
        "T": "1/3",
        "m": "1",
        "N": "3",
        "y": "1/7",
        "z": "5/3",
        "s": "5/6",
        "w": "-1/12",
        "slope": "8/9",
        "K": "2",
        "k": "9/2",
        "v": "5",
        "below": "1/8",
        "before": "3",
        "now": "1/2",
        "u": "9/4",
        "c": "2",
        "amplitude": "1/6",
        "t": "1/4",
        "b": "5/2",
        "C": "1/5",
        "y0": "4/3",
        "z0": "-1/8",
        "preactivations": "2 -3/4 1/8 -5/3",
        "forces": "1/9 -2 3/5 1/2",
    },
)


def inequalities() -> list[Inequality]:
    """Of every case of these files, and of the mutants, whose factors are not 1."""
    cases = [case for claim in CLAIMS.values() for case in claim.cases]
    cases += [make() for make in MUTANTS.values()]
    return [inequality for inequality in map(inequality_of, cases) if inequality is not None]


@pytest.mark.parametrize("point", GENERIC)
def test_both_typings_of_every_inequality_agree_at_generic_parameters(point: dict[str, str]) -> None:
    compared = 0
    for inequality in inequalities():
        for ball, interval in both_sides(inequality, point):
            assert ball == pytest.approx(interval, rel=1e-12, abs=1e-15)
            compared += 1
    assert compared >= 218


def test_both_typings_agree_where_drift_exceeds_the_kick_the_input_is_large_and_negative_and_m_is_one() -> None:
    point = {name: text for name, text in GENERIC[0].items() if name != "m"} | {
        "z": "90",
        "now": "-9/4",
        "sigma": "1/9",
        "y": "1/50",
        "u": "1/7",
        "dt": "8/9",
        "slope": "1/30",
        "v": "1/100",
    }
    for inequality in inequalities():
        for ball, interval in both_sides(inequality, point):
            assert ball == pytest.approx(interval, rel=1e-12, abs=1e-15)


def test_the_printed_forms_in_plain_floats() -> None:
    a, dt, T, m = 1.7, 0.6, 0.8, 3.0
    p = SimpleNamespace(alpha=flint.arb(a), dt=flint.arb(dt), T=flint.arb(T), m=flint.arb(m))
    step, rate = 1 + 2 * a * dt**3, 96**0.25 * max(1, math.sqrt(a))
    beta = max(1 + 2 * a, 4 * a * a)

    def sam(power: float, growth: float) -> float:
        return math.sqrt(2 * m * T) * step**power * math.exp(growth * rate * T)

    def icml(factor: float) -> float:
        return math.sqrt(factor * (1 + 2 * beta * T))

    def delta(z: float, y: float) -> float:
        return 2 + z + (2 + a) * y / math.sqrt(a)

    expected = {
        "SAM_32": sam(0.5, 0.5),
        "SAM_67": sam(1, 1),
        "ICML_S7": icml(2),
        "SAM_42": delta(sam(0.5, 0.5), sam(0.5, 0.5)),
        "SAM_14": delta(sam(0.5, 1), sam(0.5, 1)),
        "SAM_66": delta(sam(0.5, 1), sam(1, 1)),
        "ICML_12": delta(icml(2), icml(2)),
        "ICML_S15": delta(icml(1), icml(2)),
        "ICML_S39": delta(icml(2), icml(2)),
    }
    for name, value in expected.items():
        assert float(getattr(published_forms, name).ball(p).mid()) == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize(("w", "target"), [(1, 1), (0, 0), (40, 3)])
def test_both_typings_of_bound_41_agree_to_forty_digits(w: int, target: int) -> None:
    rows = [each for each in ROWS if each.alpha > 0]
    for each in rows:
        ball, interval = printed_forms._both_41(each, w, target)
        with flint.ctx.workprec(256):
            again = flint.arb(mp.nstr(mp.make_mpf(interval._mpi_[0]), 60))
            assert float(abs(ball - again).upper()) < 1e-40 * float(ball.mid())
    assert len(rows) >= 4


def test_the_means_of_sines_in_balls_are_those_of_floats() -> None:
    for shape in (ode_states.POSITION, ode_states.MOMENTUM, ode_states.POSITION_ALONE):
        for x in (0.3, 1.2, 1.6, 2.4, 3.3, 4.9, 7.1, 13.0, 29.5):
            with flint.ctx.workprec(96):
                assert float(shape.of_ball(flint.arb(x)).mid()) == pytest.approx(float(shape.of_float(x)), rel=1e-9)


@pytest.mark.parametrize(("w", "target"), [(0, 0), (1, 1), (9, 2), (-7, 4)])
def test_bound_41_in_plain_floats_where_every_number_of_the_row_counts(w: int, target: int) -> None:
    made = replace(row("psMNIST-128"), dt=(Q(1, 5), Q(1, 3), Q(1, 4)), alpha=Q(1, 2), steps=2, hidden_size=3)
    a, dt, T, m = 0.5, 1 / 3, 2 / 3, 3.0
    root = math.sqrt(2 * m * T * (1 + 2 * a * dt**3)) * math.exp(96**0.25 * T / 2)
    delta = 2 + root + (2 + a) * root / math.sqrt(a)
    layers = 1 + dt + dt**2
    expected = math.log(layers * T * (target + root / math.sqrt(a)) * delta) + max(2, w + a) * T
    ball, interval = printed_forms._both_41(made, w, target)
    assert float(ball.mid()) == pytest.approx(expected, rel=1e-12)
    assert float(interval.mid) == pytest.approx(expected, rel=1e-12)


def test_a_supremum_in_balls_is_that_of_the_pieces_or_of_the_tail() -> None:
    for shape in (ode_states.POSITION, ode_states.MOMENTUM, ode_states.ENERGY, ode_states.POSITION_ALONE):
        x = np.geomspace(1e-4, 60, 20000)
        found, reached = float(ode_states.supremum_ball(shape).upper()), float(np.max(shape.of_float(x) ** 2))
        assert reached <= found < reached + 0.02
    rising = replace(ode_states.POSITION, of_ball=lambda x: x)  # largest at FAR = 64, and never beyond
    assert float(ode_states.supremum_ball(rising).mid()) == pytest.approx(64**2, rel=1e-12)
    for tail in (Q(1), Q(1, 2)):
        low = replace(ode_states.POSITION, of_ball=lambda x: 1 / flint.arb(8), tail=tail)
        expected = (float(tail) * (2 / math.pi + 2 / 64)) ** 2
        assert float(ode_states.supremum_ball(low).mid()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("t", "u"), [("3", "1/2"), ("1", "1/2"), ("1", "5/2"), ("3", "9")])
def test_the_forcing_is_the_largest_of_state_input_and_one(t: str, u: str) -> None:
    """At t = 3, beyond the premises, the state decides; at t ≤ 1 it never does."""
    point = {"alpha": "1/9", "b": "20", "t": t, "u": u, "c": "1/4"}
    y = 9 * (1 - math.cos(float(Q(t)) / 3)) * math.tanh(20)
    made = SimpleNamespace(texts=point, **{name: BALLS.exact(Q(text)) for name, text in point.items()})
    inequality = inequality_of(ode_bounds.forcing_case())
    assert isinstance(inequality, Inequality)
    left, _ = inequality.balls(made)
    assert float(left.mid()) == pytest.approx(max(y * y, float(Q(u)) ** 2, 1.0), rel=1e-9)


@pytest.mark.parametrize("point", GENERIC)
@pytest.mark.parametrize("floor", [Q(1, 7), Q(90)])
def test_both_typings_of_the_growth_of_sensitivities_agree_where_no_constant_is_whole(
    point: dict[str, str], floor: Q
) -> None:
    for undamped in (False, True):
        growth = ode_sensitivities.SensitivityBound(
            undamped, offset=Q(5, 3), square=Q(3, 4), floor=floor, start=Q(2, 3), force=Q(4, 5)
        )
        for quantity in ("y_θ", "z_θ"):
            inequality = inequality_of(ode_sensitivities.sensitivity_case(growth, quantity))
            assert isinstance(inequality, Inequality)
            for ball, interval in both_sides(inequality, point):
                assert ball == pytest.approx(interval, rel=1e-12)


def test_parameters_of_a_whole_network_are_decided_by_its_own_check() -> None:
    own = Check((Opinion("balls", True, "own"),))
    bound = Inequality(
        lambda p: (p.m, p.m), lambda p: (p.m, p.m), network=lambda given: own if given["m"] == "2" else None
    )
    assert bound.decide({"m": "2"}) is own
    assert bound.decide({"m": "3"}) is None and replace(bound, network=None).decide({"m": "2"}) is not own


# --- sam (32) by the steps of its proof


@pytest.mark.parametrize("quantity", only(["position", "momentum"], "position"))
def test_the_bound_of_sam_is_proved_and_less_than_it_is_not(quantity: str) -> None:
    """The planted falsehoods: a hundredth of the factor 2 under the root, and no exponential with a tenth of it."""
    roots = (Root(), Root(factor=Q(1, 50)), Root(factor=Q(1, 5), growth=Q(0)))
    made = [judged(chain_ends.sam_state_case(quantity, root)).verdict for root in roots]
    assert made == [verdict.PROVED, verdict.REFUTED, verdict.REFUTED]


def test_the_undamped_bound_of_sam_is_proved_and_less_than_it_is_not() -> None:
    """(33). The planted falsehoods: no exponential, and a thousandth of the factor; e^T is true, and not proved so."""
    forms = ((Q(2), 2), (Q(2), 0), (Q(1, 500), 2), (Q(2), 1))
    made = [judged(chain_ends.undamped_state_case(factor, rate)).verdict for factor, rate in forms]
    assert made == [verdict.PROVED, verdict.REFUTED, verdict.REFUTED, verdict.NOT_REFUTED]
    assert not chain_ends.undamped_rises(3, Q(2), 2)  # without the term that T³ needs


def test_the_undamped_supremum_is_that_of_the_recursion_and_typed_twice() -> None:
    point = {"dt": "2/5", "sigma": "3/4", "N": "7"}
    left, right = both_sides(inequality_of(chain_ends.undamped_state_case()), point)
    y, _ = simulate(0.0, 0.4, 0.75, np.full(7, -50.0))
    assert left == pytest.approx((y[-1], y[-1]), rel=1e-12)
    assert right == pytest.approx([math.sqrt(2 * 2.8 * math.exp(5.6))] * 2, rel=1e-12)
