"""The library's theorems on states, step Jacobians and structure: verdicts, false variants, values by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as Q
from types import ModuleType

import flint
import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp

from odernn.bounds import forms, jacobian, sharp
from odernn.bounds.numbers import BALLS
from odernn.published.networks import ROWS, PublishedRow
from tests.tiers import without
from tests.verification.claims import claim_rows as rows
from tests.verification.claims.both_typings import both_sides, inequality_of
from verification.cases import (
    growth_factors,
    invariant_form,
    layered_maps,
    ode_states,
    ode_theorems,
    orbit_separation,
    square_root_times,
    step_products,
    vanishing_inputs,
    word_rates,
)
from verification.cases.driven_stacks import FREE, TWO_CONSTANT
from verification.certify.divergence import Stack
from verification.claim import Case, Claim
from verification.claims.library import energy_states, layer_structure, oscillator_theorems, step_jacobians
from verification.parameters import RefusedError

MODULES = (energy_states, layer_structure, oscillator_theorems, step_jacobians)
CLAIMS: dict[str, Claim] = {claim.id: claim for module in MODULES for claim in module.CLAIMS}
P, N = "proved", "not-refuted"
EXPECTED = {
    "thm-S-exp": [],
    "thm-S-root": [],
    "thm-S-span": [P, N, N],
    "thm-S-step": [P, P],
    "thm-J": [P, P, P, P, P, P, P, N, N, N, P],
    "thm-J-inf": [P, P],
    "thm-V": [P, N, P],
    "thm-Q": [P, P, P, P],
    "thm-Q-mod": [P, P],
    "thm-vol": [P] * 8,
    "thm-C": [P, N, N, P, P, P, N, N, N],
}


@pytest.mark.parametrize("family", MODULES)
def test_a_claim_file_names_no_verdict(family: ModuleType) -> None:
    rows.assert_names_no_verdict(family)


@pytest.mark.parametrize("name", without(EXPECTED, "thm-J"))
def test_every_case_is_answered(name: str) -> None:
    assert rows.verdicts_of(CLAIMS[name]) == EXPECTED[name]
    assert set(EXPECTED) == set(CLAIMS)


# --- planted falsehoods

PLANTED: dict[str, Callable[[], Case]] = {
    "9/10 of βt_n in the exponent": lambda: growth_factors.exponential_case(Q(9, 10)),
    "1 + 2βt_n up to βt_n = 3/2": lambda: growth_factors.linear_case(Q(3, 2)),
    "t ≤ 21β(1 − αdt²/4)/5": lambda: square_root_times.span_case(Q(21, 5)),
    "S(7) up to T = 30β": lambda: square_root_times.supremum_case("position", Q(30)),
    "twice the shear of a step": lambda: step_products.norm_identity(2).case("all a, h, κ", "‖B(κ)‖_a"),
    "99/100 of the norm of a product": lambda: step_products.product_case(Q(99, 100)),
    "e^{9K(n−k)dt/10}": lambda: step_products.layer_case(multiple=Q(9, 10)),
    "1 + 12γ(n−k)dt/25": lambda: step_products.layer_case(growth_factors.RANGE, Q(6, 25)),
    "9/10 of the rate of a form": lambda: word_rates.form_case(Q(9, 10)),
    "99/100 of the rate of a saddle": lambda: word_rates.saddle_case(factor=Q(99, 100)),
    "a saddle with ten times its reach": lambda: word_rates.saddle_case(reach=Q(10)),
    "99/100 of the rate of a stiff step": lambda: word_rates.saddle_case(mirrored=True, factor=Q(99, 100)),
    "half of the resonant rate": lambda: word_rates.resonance_case(8),
    "9/10 of the separation, one neuron": lambda: orbit_separation.separation_case(
        "one", FREE, orbit_separation.Separation(Q(9, 10))
    ),
    "9/10 of the separation, two layers": lambda: orbit_separation.separation_case(
        "two", TWO_CONSTANT, orbit_separation.Separation(Q(9, 10))
    ),
    "w = 0, a hundredth of the distance": lambda: orbit_separation.linear_case(Q(1, 100)),
    "‖Φ‖_a ≥ 101/100": lambda: vanishing_inputs.size_case(Q(101, 100)),
    "11/10 of the rate of vanishing": lambda: vanishing_inputs.vanishing_case(Q(11, 10)),
    "σ' ≤ 3.9 e^{−2|A|}": lambda: vanishing_inputs.saturation_case(Q(39, 10)),
    "Q_a with 9/10 of the kick": lambda: invariant_form.invariant_identity(Q(9, 10)).case("all a, h", "Q_a"),
    "11/10 of r_a²": lambda: invariant_form.sharp_identity(Q(11, 10)).case("all a, h", "Q_a"),
    "Q_a > 0 up to ah² = 5": lambda: invariant_form.definite_case(Q(5)),
    "half of the change of H̃": lambda: invariant_form.modified_case(of_hamiltonian=False, factor=Q(1, 2)),
    "H̃ kept to O(h³)": lambda: invariant_form.modified_case(of_hamiltonian=False, power=1),
    "half of the change of H": lambda: invariant_form.modified_case(of_hamiltonian=True, factor=Q(1, 2)),
    "a full W always symplectic": lambda: layered_maps.full_identity(2, 0).case("m = 2", "DFᵀ J DF"),
    "9/10 of λ_a": lambda: ode_theorems.sensitivity_case(Q(9, 10)),
    "twice the rise of E_a": lambda: ode_theorems.growth_identity(2).case("all", "E_a"),
    "11/10 of the best rate": lambda: ode_theorems.form_case(Q(11, 10)),
    "95/100 of sup |y|": lambda: ode_theorems.supremum_case("|y|", Q(95, 100)),
    "95/100 of sup |z|": lambda: ode_theorems.supremum_case("|z|", Q(95, 100)),
    "|y|² ≤ t⁴/5": lambda: ode_states.state_case(
        "all t", ode_states.POSITION_ALONE, ode_states.Bound(Q(1, 5), power=4), horizon=None
    ),
}


LONG = ("9/10 of the separation, one neuron", "9/10 of the separation, two layers")  # beside w = 0, in the same way


@pytest.mark.parametrize("name", without(PLANTED, *LONG))
def test_a_false_variant_is_refuted(name: str) -> None:
    judgement = rows.verdict_of(PLANTED[name]())
    assert judgement.verdict == "refuted", judgement.because


@pytest.mark.parametrize(
    "case",
    [growth_factors.linear_case(Q(5, 4)), growth_factors.exponential_case(Q(11, 10)), invariant_form.definite_case()],
)
def test_a_weaker_variant_stays_proved(case: Case) -> None:
    assert rows.verdict_of(case).verdict == "proved"


# --- thm-S-exp, thm-S-root


def test_the_range_ends_below_the_root_of_the_exponential_against_the_line() -> None:
    with mp.workdps(30):
        root = mp.findroot(lambda x: mp.exp(x) - 1 - 2 * x, 1.25)
        assert 0 < root - mp.mpf(growth_factors.RANGE.numerator) / growth_factors.RANGE.denominator < mp.mpf("1e-10")
        assert abs(1 + 2 * root - mp.mpf("3.5128624")) < 1e-7
    assert growth_factors.below_line(growth_factors.RANGE) and not growth_factors.below_line(Q("1.2564312087"))


@pytest.mark.parametrize("quantity", ["position", "momentum"])
@pytest.mark.parametrize("alpha", [0.01, 0.25, 0.8, 1.0, 4.0, 30.0])
def test_the_exponential_is_above_the_supremum_and_the_square_root_is_in_its_range(alpha: float, quantity: str) -> None:
    """The supremum by the extremal control, stepped in floats, for h = dt."""
    part = ("position", "momentum").index(quantity)
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    for dt in (0.001, 0.05, 0.5, 0.99):
        y, z, total = 0.0, 1.0, 0.0
        for n in range(1, 60):
            z -= dt * alpha * y
            y += dt * z
            total += dt * abs((y, z)[part])
            bound = float(sharp.log_exponential_bound(alpha=alpha, time=n * dt, quantity=quantity))
            assert math.log(total) <= bound
            if beta * n * dt <= growth_factors.RANGE:
                root = 2 * (1 + 2 * beta * n * dt) / (alpha if part == 0 else 1)
                assert total <= math.sqrt(root)


def test_both_typings_of_the_state_bounds_are_the_formula() -> None:
    with flint.ctx.workprec(128):
        log_bound = sharp.log_exponential_bound(
            alpha=BALLS.exact(Q(1, 4)), time=BALLS.exact(2), quantity="position", numbers=BALLS
        )
    assert abs(float(log_bound) - math.log(math.sqrt(8)) - 1.5) < 1e-12  # β = 3/2, t = 2


@pytest.mark.parametrize("row", [row for row in ROWS if row.alpha > 0], ids=lambda row: row.name)
def test_the_square_root_lasts_longer_than_every_printed_run_with_a_spring(row: PublishedRow) -> None:
    alpha, dt = row.alpha, row.dt[-1]
    span = 4 * max(1 + 2 * alpha, 4 * alpha**2) * (1 - alpha * dt**2 / 4)
    assert row.steps * dt <= span


@pytest.mark.parametrize("alpha", [0.01, 0.25, 1.0, 9.0])
def test_the_square_root_is_above_the_supremum_in_its_span_and_below_it_at_last(alpha: float) -> None:
    """The supremum of the equation at rest, ∫|sin √α s| ds/√α, against √((2/α)(1 + 2βt)): up to 4β, and at 4π²β."""
    beta = max(1 + 2 * alpha, 4 * alpha**2)

    def supremum(t: float) -> float:
        turns, rest = divmod(math.sqrt(alpha) * t, math.pi)
        return (2 * turns + 1 - math.cos(rest)) / alpha

    for part in (0.01, 0.1, 0.5, 1.0):
        t = 4 * beta * part
        assert supremum(t) <= math.sqrt(2 / alpha * (1 + 2 * beta * t))
    late = 4 * math.pi**2 * beta
    assert supremum(late) > math.sqrt(2 / alpha * (1 + 2 * beta * late))


# --- thm-Q, thm-Q-mod, thm-vol


def test_the_values_of_the_form_at_a_2_and_h_one_half() -> None:
    a, h = Q(2), Q(1, 2)

    def form(y: Q, z: Q) -> Q:
        return a * y * y + z * z - a * h * y * z

    assert (form(Q(1), Q(0)), form(h, Q(1)), a - a * a * h * h / 4) == (2, 1, Q(7, 4))
    y, z = Q(3), Q(-5, 7)
    pushed = z - h * a * y
    assert form(y + h * pushed, pushed) == form(y, z)


def test_the_modified_hamiltonian_drifts_by_h_squared_and_the_hamiltonian_by_h() -> None:
    """Slopes over T = 2 in floats, for w = 2, α = 1, x = 1/2."""

    def change(h: float) -> tuple[float, float]:
        y, z, worst = 0.3, 1.0, [0.0, 0.0]
        start: tuple[float, float] | None = None
        for _ in range(round(2 / h) + 1):
            f = math.tanh(2 * y + 0.5) + y
            energy = (y * y + z * z) / 2 + math.log(math.cosh(2 * y + 0.5)) / 2
            both = energy, energy - h * z * f / 2
            start = both if start is None else start
            worst = [max(w, abs(b - s)) for w, b, s in zip(worst, both, start, strict=True)]
            z -= h * f
            y += h * z
        return worst[0], worst[1]

    coarse, fine = change(0.02), change(0.002)
    assert abs(math.log10(coarse[0] / fine[0]) - 1) < 0.05 and abs(math.log10(coarse[1] / fine[1]) - 2) < 0.05


def test_the_two_typings_of_the_modified_hamiltonian_agree() -> None:
    inequality = inequality_of(CLAIMS["thm-Q-mod"].cases[0])
    assert inequality is not None
    point = {"N": "5", "alpha": "3/2", "w": "-7/4", "h": "1/5", "x": "1/3", "y": "1/2", "z": "-2"}
    for first, again in both_sides(inequality, point):
        assert math.isclose(first, again, rel_tol=1e-12)
    (left, _), (right, _) = both_sides(inequality, point)
    assert 0 < left <= right


def test_a_full_matrix_is_symplectic_where_its_product_with_the_steps_is_symmetric() -> None:
    h, s, W = np.array([0.2, 0.5]), np.array([0.5, 1.0]), np.array([[1.0, 5.0], [1.0, -2.0]])
    J = np.array([[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]])

    def defect(W: np.ndarray) -> float:
        kick, drift = np.eye(4), np.eye(4)
        for i in range(2):
            drift[2 * i, 2 * i + 1] = h[i]
            for j in range(2):
                kick[2 * i + 1, 2 * j] -= h[i] * (s[i] * W[i, j] + 3 * (i == j))
        DF = drift @ kick
        assert abs(np.linalg.det(DF) - 1) < 1e-12
        return float(np.abs(DF.T @ J @ DF - J).max())

    assert defect(W) < 1e-12 and abs(defect(W.T) - 2.4) < 1e-12  # 0.1·5 against 0.5·1; 0.1·1 against 0.5·5


# --- thm-J, thm-J-inf


@pytest.mark.parametrize(
    ("kappa", "a", "h", "value"),
    [(3, 2, Q(3, 10), 1.1144089982), (-1, 2, Q(3, 10), 1.3772838751), (0, 1, Q(1, 2), math.sqrt(5 / 3))],
)
def test_both_typings_give_the_norm_of_a_step(kappa: int, a: int, h: Q, value: float) -> None:
    inequality = inequality_of(CLAIMS["thm-J"].cases[1])
    assert inequality is not None
    sides = both_sides(inequality, {"h": str(h), "share": str(a * h * h / 4), "kappa": str(kappa)})
    assert np.allclose(np.exp(sides), value, rtol=1e-10)
    frame = np.array([[math.sqrt(a * (1 - a * h * h / 4)), 0], [-a * float(h) / 2, 1]])
    step = np.array([[1 - float(h) ** 2 * kappa, float(h)], [-float(h) * kappa, 1]])
    assert math.isclose(np.linalg.norm(frame @ step @ np.linalg.inv(frame), 2), value, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("case", "point", "rate"),
    [
        (3, {"h": "1/20", "W": "5", "other": "2", "letters": "0"}, 2.2349049935 / 20),
        (3, {"h": "1/5", "W": "8", "other": "4", "letters": "0"}, 2.7920110829 / 5),
        (6, {"h": "1/3", "W": "9/2", "other": "0", "letters": "1"}, math.log(2)),
    ],
)
def test_the_rate_is_attained_by_a_constant_word(case: int, point: dict[str, str], rate: float) -> None:
    inequality = inequality_of(CLAIMS["thm-J"].cases[case])
    assert inequality is not None
    assert np.allclose(both_sides(inequality, point), rate, rtol=1e-9)


@pytest.mark.parametrize(
    ("low", "high", "h", "runs", "lower", "upper"),
    [(9, 11, "1/10", (6, 4), 0.1000060, 0.1601213), (1, 2, "1/20", (28, 24), 0.1308583, 0.2042163)],
)
def test_words_at_resonance_and_their_bound(
    low: int, high: int, h: str, runs: tuple[int, int], lower: float, upper: float
) -> None:
    """Both typings of rates per unit of time; runs of the fastest two-letter word."""
    inequality = inequality_of(CLAIMS["thm-J"].cases[4])
    assert inequality is not None
    letters = " ".join(["0"] * runs[0] + ["1"] * runs[1])
    sides = both_sides(inequality, {"h": h, "low": str(low), "gap": str(high - low), "letters": letters})
    assert np.allclose(np.array(sides) / float(Q(h)), [[lower] * 2, [upper] * 2], atol=1e-7)


def test_two_orbits_are_bounded_by_numpy_as_by_balls() -> None:
    """The recursion once more, and the orbits by floats with a difference that floats can see."""
    stack = Stack(Q(1), (Q(-3), Q(2)), (Q(1, 5), Q(1, 10)), (Q(1), Q(-2)), (Q(0), Q(1, 3)), (Q(1), Q(-1)))
    shares = orbit_separation.best_shares(stack)
    steps = 40
    with flint.ctx.workprec(96):
        bound = math.exp(float(orbit_separation.Separation().of(stack, shares, steps).mid()))
    rows_of = []
    for w, h, share in zip((-3.0, 2.0), (0.2, 0.1), map(float, shares), strict=True):
        a = 4 * share / h**2
        r = math.sqrt(a * (1 - share))
        growth = max(math.exp(math.asinh(h * abs(kappa - a) / (2 * r))) for kappa in (1 + min(w, 0), 1 + max(w, 0)))
        rows_of.append((growth, r))
    one, two = 0.0, 0.0
    for n in range(steps):
        one = rows_of[0][0] * one + (0.2 if n == 0 else 0.0)
        two = rows_of[1][0] * two + 0.1 * 2 * one / rows_of[0][1]
    assert math.isclose(bound, two * max(1 / rows_of[1][1], 1 / math.sqrt(1 - float(shares[1]))), rel_tol=1e-9)
    ends = []
    for eps in (0.0, 1e-6):
        y, z = [0.0, 0.0], [0.0, 0.0]
        for n in range(steps):
            below = (1.0, -1.0)[n % 2] + (eps if n == 0 else 0.0)
            for q, (w, h, V, b) in enumerate(((-3.0, 0.2, 1.0, 0.0), (2.0, 0.1, -2.0, 1 / 3))):
                z[q] -= h * (math.tanh(w * y[q] + V * below + b) + y[q])
                y[q] += h * z[q]
                below = y[q]
        ends.append((y[1], z[1]))
    assert max(abs(p - q) for p, q in zip(*ends, strict=True)) / 1e-6 <= bound


def test_the_forms_of_a_separation_are_those_of_the_bounds() -> None:
    stack = Stack(Q(2), (Q(-7),), (Q(1, 20),), (Q(1),), (Q(0),), (Q(0),))
    best = forms.best_form(kappa_low=-5.0, kappa_high=2.0, step_size=0.05)
    assert abs(float(orbit_separation.best_shares(stack)[0]) - best * 0.05**2 / 4) < 1e-6


# --- thm-V


def test_the_contracting_eigenvalue_and_saturation() -> None:
    rate = float(jacobian.log_vanishing_rate(alpha=1.0, w=-6.0, step_size=0.05))
    assert abs(math.exp(-rate) - 0.8942720446) < 1e-10
    inequality = inequality_of(CLAIMS["thm-V"].cases[2])
    assert inequality is not None
    (left, left_again), (right, _) = both_sides(inequality, {"A": "20"})
    assert math.isclose(left, left_again, rel_tol=1e-12) and left <= right == pytest.approx(4 * math.exp(-40))


def test_slopes_of_the_library_make_contributions_vanish_in_floats() -> None:
    """Slopes of the library's function, run once more with numpy from the last step back."""
    slopes = jacobian.vanishing_slopes(alpha=1.0, w=-6.0, step_size=0.1, steps=60, saturated=1e-6)
    row, seen = np.array([1.0, 0.0]), []
    for slope in reversed(slopes):
        kappa = 1 - 6 * slope
        row = row @ np.array([[1 - 0.01 * kappa, 0.1], [-0.1 * kappa, 1.0]])
        seen.append(abs(row[1]))
    tail = sum(1 for slope in slopes if slope != 1)
    rate = 2 * math.asinh(0.1 * math.sqrt(5) / 2)
    assert np.allclose(np.diff(np.log(seen[tail : tail + 20])), -rate, rtol=1e-4)
    assert min(slopes) > 0 and max(slopes) <= 1


@pytest.mark.parametrize("change", [{"w": "1"}, {"alpha": "0"}, {"steps": "20"}])
def test_the_vanishing_is_about_saddles_and_enough_steps(change: dict[str, str]) -> None:
    case = CLAIMS["thm-V"].cases[1]
    assert case.check is not None
    with pytest.raises(RefusedError):
        case.check({"alpha": "1", "w": "-6", "h": "1/20", "steps": "160", **change})


# --- thm-C


def test_a_switched_run_is_that_of_an_ode_solver() -> None:
    inequality = inequality_of(CLAIMS["thm-C"].cases[0])
    assert inequality is not None
    point = {"alpha": "3/2", "w": "-4", "a": "5/2", "y0": "1/2", "z0": "-1", "times": "1 1/2", "slopes": "1 1/4"}
    (left, left_again), (right, right_again) = both_sides(inequality, {**point, "forces": "1 -2"})
    state = np.array([0.5, -1.0])
    for slope, force, time in ((1.0, 1.0, 1.0), (0.25, -2.0, 0.5)):
        kappa = 1.5 - 4 * slope
        found = solve_ivp(
            lambda _, X, k=kappa, f=slope * force: (X[1], -k * X[0] - f), (0, time), state, rtol=1e-11, atol=1e-12
        )
        state = found.y[:, -1]
    assert math.isclose(left, math.log(2.5 * state[0] ** 2 + state[1] ** 2) / 2, abs_tol=1e-8)
    assert math.isclose(left, left_again, abs_tol=1e-12) and math.isclose(right, right_again, abs_tol=1e-12)
    rate = max(abs(-2.5 - 2.5), abs(1.5 - 2.5)) / (2 * math.sqrt(2.5))
    assert math.isclose(right, math.log(math.sqrt(2.5 * 0.25 + 1) + 1 + 0.25) + 1.5 * rate, abs_tol=1e-12)


@pytest.mark.parametrize("quantity", ["|y|", "|z|"])
def test_both_typings_of_a_supremum_are_the_integral(quantity: str) -> None:
    inequality = inequality_of(ode_theorems.supremum_case(quantity))
    assert inequality is not None
    for alpha, time in (("1/4", "3"), ("4", "5"), ("9", "1/3"), ("2", "20")):
        _, right = both_sides(inequality, {"alpha": alpha, "times": time, "s": "-1"})
        grid = np.linspace(0, float(Q(time)), 400001)
        root = math.sqrt(float(Q(alpha)))
        kernel = np.abs(np.sin(root * grid)) / root if quantity == "|y|" else np.abs(np.cos(root * grid))
        assert np.allclose(right, np.trapezoid(kernel, grid), rtol=1e-8)


def test_without_restoring_force_the_state_bounds_are_attained() -> None:
    """α = 0, s = −1 throughout: y = t²/2 and z = t."""
    for index, power in ((4, 4), (5, 2)):
        case = CLAIMS["thm-C"].cases[index]
        inequality = inequality_of(case)
        assert inequality is not None
        (left, _), (right, _) = both_sides(inequality, {"alpha": "0", "t": "3", "b": "-20"})
        assert math.isclose(left, right, rel_tol=1e-15) and math.isclose(right, 3**power / (4 if power == 4 else 1))


def test_a_case_without_the_spring_is_about_no_other_alpha() -> None:
    """Of thm-C: what is said of α = 0 is tried at 0 and refuses 1, what is said of all α > 0 the other way round."""
    at_zero = []
    for case in CLAIMS["thm-C"].cases:
        declaration = case.check.declaration  # type: ignore[union-attr]
        if "all t" not in case.domain or [each.name for each in declaration.parameters] != ["alpha", "t", "b"]:
            continue
        taken = []
        for alpha in ("0", "1"):
            try:
                declaration.read({"alpha": alpha, "t": "1/2", "b": "1"})
                taken.append(alpha)
            except RefusedError:
                pass
        assert taken == (["0"] if "α = 0" in case.domain else ["1"]), (case.domain, case.quantity)
        at_zero.append("α = 0" in case.domain)
    assert at_zero == [False, False, False, True, True]
