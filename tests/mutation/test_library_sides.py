"""Sides, premises and slopes of the theorems of the library against plain floats, where mutants survived.

As ``test_sides.py``: where a maximum takes its other term, an absolute value its other sign, a premise is nearly met.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

from odernn.bounds.numbers import FLOATS
from odernn.published.networks import row
from tests.mutation.test_sides import agree
from tests.tiers import slow
from tests.verification.claims.both_typings import in_both, inequality_of
from verification.cases import (
    activation_slopes,
    binades,
    growth_factors,
    initialised,
    invariant_form,
    ode_theorems,
    orbit_separation,
    rebuilding,
    small_shares,
    step_products,
    vanishing_inputs,
)
from verification.certify import float_replay
from verification.certify.divergence import Stack
from verification.certify.float_replay import FORMATS
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second import cayley as second_cayley
from verification.certify.second import rotation_mesh as second_mesh
from verification.claim import Case
from verification.claims.unicornn import elementary
from verification.domains import RANGE
from verification.measure import cayley_exact, rotation_mesh
from verification.registry import Registry


def right_of(case: Case, point: dict[str, str]) -> list[float]:
    inequality = inequality_of(case)
    assert inequality is not None
    return [sides[1] for sides in in_both(inequality.balls, inequality.intervals, point, inequality.lists)]


def left_of(case: Case, point: dict[str, str]) -> list[float]:
    inequality = inequality_of(case)
    assert inequality is not None
    return [sides[0] for sides in in_both(inequality.balls, inequality.intervals, point, inequality.lists)]


# --- oscillators


@pytest.mark.parametrize(
    ("alpha", "w", "a"),
    [("2", "-5", "1/2"), ("2", "5", "1/2"), ("3", "-5", "9"), ("1", "4", "9"), ("5", "-1", "1/2")],
)
def test_the_sensitivity_grows_at_the_rate_of_the_farther_end(alpha: str, w: str, a: str) -> None:
    point = {"alpha": alpha, "w": w, "a": a, "y0": "-1/3", "z0": "1/2"}
    point |= {"times": "1/2 3/4", "slopes": "1/3 1", "forces": "-2 5"}
    ends = [abs(float(Q(alpha)) + end - float(Q(a))) for end in (0.0, float(Q(w)))]
    root = math.sqrt(float(Q(a)))
    pushed = math.sqrt(float(Q(a)) / 9 + 1 / 4) + 2 / 3 * 0.5 + 5 * 0.75
    expected = math.log(pushed) + max(ends) / (2 * root) * 1.25
    assert right_of(ode_theorems.sensitivity_case(), point) == pytest.approx([expected] * 2, rel=1e-12)


@pytest.mark.parametrize(
    ("low", "gap", "a"),
    [
        ("-1", "2", "1/2"),
        ("-1", "2", "5"),
        ("-2", "8", "3"),
        ("-1", "5", "7"),
        ("1", "3", "2"),
        ("3/2", "1", "1/4"),
        ("-1", "7/2", "1/2"),
    ],
)
def test_the_best_form_is_that_of_either_case(low: str, gap: str, a: str) -> None:
    start, end, form = float(Q(low)), float(Q(low) + Q(gap)), float(Q(a))
    is_deep = start < 0 and end <= -3 * start
    best = math.sqrt(-start) if is_deep else (end - start) / 2 / math.sqrt(2 * (start + end))
    rate = max(abs(form - start), abs(end - form)) / (2 * math.sqrt(form))
    agree(ode_theorems.form_case(), {"low": low, "gap": gap, "a": a}, best, rate)


def test_the_supremum_reads_the_size_of_a_falling_state() -> None:
    point = {"alpha": "2", "times": "1/2", "s": "1"}
    falling, rising = (left_of(ode_theorems.supremum_case("|z|"), point | {"s": s}) for s in ("1", "-1"))
    expected = math.sin(math.sqrt(2) / 2) / math.sqrt(2)
    assert falling == rising == pytest.approx([expected] * 2, rel=1e-12)


# --- products of steps


def products(alpha: float, w: float, slopes: list[float], h: float) -> np.ndarray:
    whole = np.eye(2)
    for slope in slopes:
        kappa = alpha + w * slope
        whole = np.array([[1 - h * h * kappa, h], [-h * kappa, 1]]) @ whole
    return whole


@pytest.mark.parametrize(("alpha", "w"), [("1/2", "-9"), ("1/2", "3/4"), ("1/2", "5"), ("1", "-1/2")])
@pytest.mark.parametrize("longest", [None, Q(1)])
def test_the_layer_bound_has_the_larger_of_two_and_the_weights(alpha: str, w: str, longest: Q | None) -> None:
    """One slope or three: both row sums of the product are the larger one somewhere."""
    case = step_products.layer_case(longest)
    for slopes, dt in (("1/2", "1/50"), ("1/4 1 1/2", "1/100"), ("1 1 1", "1/3")):
        given = list(map(float, map(Q, slopes.split())))
        point = {"alpha": alpha, "w": w, "slopes": slopes, "sigma": "3/4", "dt": dt}
        whole = products(float(Q(alpha)), float(Q(w)), given, 0.75 * float(Q(dt)))
        K, t = max(abs(float(Q(w))) + float(Q(alpha)), 2.0), len(given) * float(Q(dt))
        expected = math.exp(K * t) if longest is None else 1 + (2 * K + K * K) * t
        agree(case, point, float(np.linalg.norm(whole, np.inf)), expected)


@pytest.mark.parametrize(("alpha", "w", "dt", "steps"), [("1/16", "1/16", "1/2", 30), ("3", "5", "1/10", 19)])
def test_the_norm_of_a_layer_reads_the_size_of_entries_that_all_are_negative(
    alpha: str, w: str, dt: str, steps: int
) -> None:
    """Within the third quarter of a turn, where the first row is the larger one, and where the second is."""
    point = {"alpha": alpha, "w": w, "slopes": " ".join(["1"] * steps), "sigma": "3/4", "dt": dt}
    whole = products(float(Q(alpha)), float(Q(w)), [1.0] * steps, 0.75 * float(Q(dt)))
    assert whole[0, 0] < 0 and whole[0, 1] < 0 and whole[1, 1] < 0
    expected = float(np.linalg.norm(whole, np.inf))
    assert left_of(step_products.layer_case(), point) == pytest.approx([expected] * 2, rel=1e-12)


@pytest.mark.parametrize(("h", "share"), [("1/3", "1/4"), ("3", "4/5"), ("1/10", "1/400")])
@pytest.mark.parametrize("count", [1, 7])
def test_a_product_keeps_the_form_of_its_own_steps(h: str, share: str, count: int) -> None:
    """κ = a = 4 share/h²: ‖Φ‖_a = 1, which is less than 101/100 and not less than 1."""
    a = 4 * Q(share) / Q(h) ** 2
    place = {"h": h, "share": share, "kappa": " ".join([str(a)] * count)}
    for least, is_violated in ((Q(101, 100), True), (Q(1), False)):
        check = vanishing_inputs.size_case(least).check
        assert check is not None
        assert [opinion.violated for opinion in check(place).opinions] == [is_violated] * 2


def test_the_premise_of_the_linear_bound_is_gamma_times_the_time() -> None:
    case = step_products.layer_case(Q(1))
    inequality = inequality_of(case)
    assert inequality is not None
    for alpha, w, gamma in ((Q(1, 2), Q(-9), Q(19, 2) + Q(19, 2) ** 2 / 2), (Q(0), Q(1), Q(4))):
        point = {"alpha": str(alpha), "w": str(w), "slopes": "1 1/2 1/3", "sigma": "1/2", "dt": "1/100"}
        margins = [premise.margin for premise in inequality.decide(point).premises if "γ" in premise.text]
        assert margins == [str(1 - gamma * 3 * Q(1, 100))]


def test_the_premise_of_the_linear_growth_is_beta_times_the_time() -> None:
    longest = Q(5, 4)
    inequality = inequality_of(growth_factors.linear_case(longest))
    assert inequality is not None
    for alpha, N, dt in ((Q(1, 2), 3, Q(1, 50)), (Q(9), 7, Q(1, 300))):
        point = {"alpha": str(alpha), "N": str(N), "dt": str(dt)}
        margins = [premise.margin for premise in inequality.decide(point).premises if "βt_n" in premise.text]
        assert margins == [str(longest - max(1 + 2 * alpha, 4 * alpha**2) * N * dt)]


@pytest.mark.parametrize(("letters", "rate"), [("0", 0.0), ("1", None), ("0 1", None)])
def test_the_rate_of_a_word_is_the_spectral_radius(letters: str, rate: float | None) -> None:
    from verification.cases import word_rates

    kappas, h = (2.0, -3.0), 0.25
    whole = np.eye(2)
    for letter in letters.split():
        kappa = kappas[int(letter)]
        whole = np.array([[1 - h * h * kappa, h], [-h * kappa, 1]]) @ whole
    expected = max(math.log(max(abs(np.linalg.eigvals(whole)))) / len(letters.split()), 0.0)
    assert rate is None or expected == pytest.approx(rate, abs=1e-12)
    balls = word_rates._rate_in_balls((flint.arb(2), flint.arb(-3)), list(map(int, letters.split())), flint.arb("0.25"))
    iv = step_products.second.iv
    box = word_rates._rate_in_intervals((iv.mpf(2), iv.mpf(-3)), letters, iv.mpf("0.25"))
    assert [float(balls.mid()), float(box.mid)] == pytest.approx([expected] * 2, abs=1e-12)


@pytest.mark.parametrize("name", ["SADDLE", "MIRROR", "SWITCHED"])
def test_identities_behind_a_rate_vanish_in_both_typings(name: str) -> None:
    """Exactly, at places where every letter is positive; a run hears the second typing of a case alone."""
    from verification.cases import word_rates

    identity = getattr(word_rates, name)
    for shift in range(4):
        place = {letter: Q(2 * k + 3 + shift, k + 2) for k, letter in enumerate(identity.names)}
        for typing in (identity.residual, identity.retyped):
            entries = typing(place)
            assert len(entries) >= 1 and all(entry == 0 for entry in entries), (typing.__name__, place, entries)


# --- the invariant form


@pytest.mark.parametrize(
    ("a", "h", "is_positive"),
    [("1", "19/10", True), ("1", "21/10", False), ("-1", "1/2", False), ("100", "19/100", True), ("3", "4/3", False),
     ("1/100", "19", True), ("16", "1/4", True), ("0", "1", False), ("2", "1", True)],
)  # fmt: skip
def test_both_back_ends_say_where_the_form_is_positive(a: str, h: str, is_positive: bool) -> None:
    case = next(c for c in Registry().get("thm-Q").claim.cases if c.quantity == "where Q_a > 0")
    assert case.check is not None
    first, second = case.check({"a": a, "h": h}).opinions
    assert second.text == f"positive definite: {is_positive}" and not first.violated and not second.violated


@pytest.mark.parametrize("of_hamiltonian", [True, False])
@pytest.mark.parametrize("factor", [Q(1), Q(3, 5)])
@pytest.mark.parametrize(("N", "x", "w"), [(1, "1/3", "2"), (3, "-5/4", "-3/2"), (2, "0", "1")])
def test_the_modified_energy_changes_as_in_floats(of_hamiltonian: bool, factor: Q, N: int, x: str, w: str) -> None:
    alpha, h, y, z, W, X = 0.75, 0.3, 0.4, -1.5, float(Q(w)), float(Q(x))
    point = {"N": str(N), "alpha": "3/4", "w": w, "x": x, "h": "3/10", "y": "2/5", "z": "-3/2"}
    energies, tilts, cubes = [], [], 0.0
    for n in range(N + 1):
        f = math.tanh(W * y + X) + alpha * y
        energies.append((alpha * y * y + z * z) / 2 + math.log(math.cosh(W * y + X)) / W)
        tilts.append(h * z * f / 2)
        if n < N:
            z -= h * f
            y += h * z
            cubes += abs(z) ** 3
    right = float(factor) * W * W * h**3 * cubes / (9 * math.sqrt(3))
    if of_hamiltonian:
        left, right = abs(energies[-1] - energies[0]), right + abs(tilts[0]) + abs(tilts[-1])
    else:
        left = abs(energies[-1] - tilts[-1] - energies[0] + tilts[0])
    inequality = inequality_of(invariant_form.modified_case(of_hamiltonian=of_hamiltonian, factor=factor))
    assert inequality is not None
    found = in_both(inequality.balls, inequality.intervals, point, inequality.lists)
    assert found == [pytest.approx([left, right], rel=1e-9)] * 2


@pytest.mark.parametrize(("alpha", "h"), [slow(("1/100", "1/3")), ("20", "1/5"), slow(("9", "3/8"))])
def test_without_weights_the_orbits_part_by_the_invariant_form(alpha: str, h: str) -> None:
    case = orbit_separation.linear_case()
    assert case.check is not None
    check = case.check({"alpha": alpha, "h": h, "eps": "1/1000"})
    share = float(Q(alpha)) * float(Q(h)) ** 2 / 4
    sizes = [float(Q(h)) / math.sqrt(rest * (1 - share)) for rest in (float(Q(alpha)), 1.0)]
    assert check.log_claimed == pytest.approx(math.log(max(sizes)), rel=1e-9) and "N = 400" in check.words


def test_both_typings_of_the_distance_of_two_orbits_are_one_number() -> None:
    stack = Stack(Q(2), (Q(-7, 2), Q(3)), (Q(1, 20), Q(1, 7)), (Q(1), Q(-3, 2)), (Q(0), Q(1, 3)), (Q(5),))
    for shares, steps in (([Q(1, 9), Q(2, 3)], 1), ([Q(1, 9), Q(2, 3)], 12), (orbit_separation.best_shares(stack), 30)):
        separation = orbit_separation.Separation(factor=Q(9, 10), reach=Q(3, 4))
        with flint.ctx.workprec(128), step_products.second.iv.workprec(128):
            first, again = (typed(stack, shares, steps) for typed in (separation.of, separation.again))
        assert float(again.mid) == pytest.approx(float(first.mid()), rel=1e-12)


# --- any network of a box, small shares, rounding


@pytest.mark.parametrize("damping", ["1/2", "13"])
@pytest.mark.parametrize(("low", "high"), [("-5", "1"), ("0", "1"), ("1", "4"), ("-1/2", "1/4")])
def test_the_right_side_of_every_network_has_the_largest_weight(low: str, high: str, damping: str) -> None:
    published = replace(row("psMNIST-128"), alpha=Q(damping))
    box = initialised.WeightBox(Q(low), Q(high), Q(1, 2), Q(0), Q(3))
    case = initialised.every_network_case(published, RANGE, box, ())
    alpha, dt = float(published.alpha), float(published.dt[-1])
    for N in (2, 5):
        point = {"alpha": str(published.alpha), "dt": str(published.dt[-1]), "low": low, "high": high}
        point |= {"c": "1/2", "b": "0", "V": "3", "N": str(N)}
        size = max(max(abs(float(Q(low))), abs(float(Q(high)))) + alpha, 2.0)
        expected = dt * math.exp(size * (N - 1) * dt)
        assert right_of(case, point) == pytest.approx([expected] * 2, rel=1e-12)


@pytest.mark.parametrize("quantity", ["remainder", "factor"])
def test_slopes_of_small_shares_are_those_of_floats(quantity: Any) -> None:
    stack = ScalarStack(alpha=Q(1, 2), w=Q(-3, 2), b=Q(1, 3), target=Q(2), horizon=Q(1))
    coarse, fine = (abs(float(small_shares._first(stack, j, quantity, FLOATS))) for j in (2, 4))
    expected = math.log(coarse / fine) / math.log(16)
    for slope in (small_shares._ball_slope, small_shares._interval_slope):
        low, high = slope(stack, 2, quantity)
        assert low <= high and [low, high] == pytest.approx([expected] * 2, abs=1e-9)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_exponents_are_those_of_the_binary_logarithm(name: str) -> None:
    form = FORMATS[name]
    for value in (Q(1), Q(3, 2), Q(-7, 4), Q(1, 3), Q(-2), Q(1023, 1024), Q(5, 7), Q(4), Q(1, 8), Q(-9, 64)):
        expected = math.frexp(abs(value))[1] - 1
        assert binades.exponent(value, form) == max(expected, form.least)
    assert binades.exponent(Q(1, 2**3000), form) == form.least


# --- a neuron stepped back, and the slope of modReLU


@pytest.mark.parametrize("name", ["float16", "float32"])
@pytest.mark.parametrize(
    ("w", "h", "alpha", "form", "x"),
    [
        ("-3/2", "1/4", "1/2", "5/4", "1 -2 1/2 3"),
        ("-3/2", "1/4", "1/2", "5/4", "33/32 -9/32 11/8 -57/32 -1/4 3/2 31/16 -5/32 3/4 -5/32 -1/4 53/32"),
        ("2", "1/2", "1", "2", "-1 -1/4 5"),
        ("1", "1/8", "0", "1/4", "0 0"),
    ],
)
@pytest.mark.parametrize("factor", [Q(1), Q(2, 3)])
def test_both_back_ends_bound_what_rounding_leaves_of_a_run(
    name: str, w: str, h: str, alpha: str, form: str, x: str, factor: Q
) -> None:
    """The size is that of the replayed state in the form, the bounds are one number."""
    check = rebuilding.check_of(name, factor)({"w": w, "h": h, "alpha": alpha, "form": form, "x": x})
    neuron = float_replay.Neuron(Q(w), Q(h), Q(alpha), FORMATS[name])
    y = z = Q(0)
    drives = [Q(word) for word in x.split()]
    for drive in drives:
        y, z = neuron.step((y, z), drive)
    for drive in reversed(drives):
        y, z = neuron.unstep((y, z), drive)
    a, step = float(Q(form)), float(Q(h))
    size = math.sqrt((float(z) - a * step * float(y) / 2) ** 2 + a * (1 - a * step * step / 4) * float(y) ** 2)
    first, second = (opinion.text for opinion in check.opinions)
    numbers = re.findall(r"-?[0-9.]+(?:e[+-]?[0-9]+)?", first.removeprefix("‖e_0‖_a"))
    again = re.findall(r"at (?:least|most) (-?[0-9.]+(?:e[+-]?[0-9]+)?)", second)
    assert float(numbers[0]) == pytest.approx(size, rel=1e-4, abs=1e-30)
    assert float(numbers[1]) == pytest.approx(float(again[1]), rel=1e-4) and float(again[1]) > 0
    assert check.log_measured == (pytest.approx(math.log(size), rel=1e-6) if size else None)
    assert not any(opinion.violated for opinion in check.opinions)


@pytest.mark.parametrize("e", [1, -1])
@pytest.mark.parametrize("r", [Q(1), Q(3), Q(100)])
@pytest.mark.parametrize("a", [Q(1, 2), Q(2), Q(500)])
@pytest.mark.parametrize("k", [Q(-9, 10), Q(1, 3), Q(9, 10)])
def test_both_back_ends_say_by_how_much_modrelu_rises(e: int, r: Q, a: Q, k: Q) -> None:
    """An active z with a bias of either sign rises by h, and 2h is not that."""
    place = {"e": str(e), "r": str(r), "a": str(a), "k": str(k)}
    h = k * min(r, a)
    true, planted = (activation_slopes.active_slope_case(slope).check for slope in (1, 2))
    assert true is not None and planted is not None
    for check, is_violated in ((true(place), False), (planted(place), True)):
        assert [opinion.text for opinion in check.opinions] == [f"{h} for h = {h}"] * 2
        assert [opinion.violated for opinion in check.opinions] == [is_violated] * 2


def test_the_premise_on_a_slope_of_the_energy_step_is_one_less_its_square() -> None:
    inequalities = (inequality_of(case) for claim in elementary.CLAIMS for case in claim.cases)
    found = [i for i in inequalities if i is not None and any(p.text == "|s| < 1" for p in i.hypotheses)]
    assert found
    for inequality in found:
        (premise,) = (p for p in inequality.hypotheses if p.text == "|s| < 1")
        assert premise.at(SimpleNamespace(s=Q(-2, 3))).margin == "5/9"


# --- meshes of rotations


def rotations_of(W: np.ndarray) -> tuple[list[tuple[int, np.ndarray]], np.ndarray]:
    """[[e c, −e s], [s, c]] at their places, in order, and the phases after them: in floats, by the turns."""
    A, left, right = W.astype(complex), [], []
    for turn in rotation_mesh.turns(len(W)):
        k = turn.place
        if turn.is_right:
            x, y = A[turn.row, k : k + 2]
            G = np.array([[y, x.conj()], [-x, y.conj()]]) / np.hypot(abs(x), abs(y))
            A[:, k : k + 2] = A[:, k : k + 2] @ G
            right.insert(0, (k, G.conj().T))
        else:
            x, y = A[k : k + 2, turn.column]
            G = np.array([[x.conj(), y.conj()], [-y, x]]) / np.hypot(abs(x), abs(y))
            A[k : k + 2] = G @ A[k : k + 2]
            left.append((k, G.conj().T))
    assert np.abs(A - np.diag(np.diagonal(A))).max() < 1e-13
    phases, rotations = np.ones(len(W), dtype=complex), []
    for at, (k, block) in enumerate([*left, *right, (None, None)]):
        if at == len(left):
            phases = phases * np.diagonal(A)
        if block is None:
            break
        (a, b), (c, d) = phases[k : k + 2, None] * block
        s, t = c / abs(c), d / abs(d)
        e = a / s * abs(d) - b / t * abs(c)
        phases[k : k + 2] = s, t
        rotations.append((k, np.array([[e * abs(d), -e * abs(c)], [abs(c), abs(d)]])))
    return rotations, phases


def random_unitary(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    return np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]


@pytest.mark.parametrize("n", range(1, 8))
def test_what_is_decided_of_a_mesh_in_steps_is_the_matrix_when_put_together(n: int) -> None:
    """Multiplied layer by layer, which two of the layers in wrong order are not."""
    W = random_unitary(n)
    rotations, phases = rotations_of(W)
    assert len(rotations) == n * (n - 1) // 2 and np.abs(np.abs(phases) - 1).max() < 1e-12
    layers: list[dict[int, np.ndarray]] = [{} for _ in range(n)]
    for k, block in rotations:
        after = [i for i, layer in enumerate(layers) if {k - 1, k, k + 1} & set(layer)]
        layers[next(i for i in range(max(after, default=-1) + 1, n) if i % 2 == k % 2)][k] = block
    assert rotation_mesh.layers(n) == sum(map(bool, layers)) == (n if n > 2 else n - 1)
    whole = np.eye(n, dtype=complex)
    for layer in layers:
        for k, block in layer.items():
            whole[:, k : k + 2] = whole[:, k : k + 2] @ block
    assert np.abs(whole * phases - W).max() < 1e-12


@pytest.mark.parametrize("n", range(1, 9))
def test_the_entries_that_layers_cannot_reach_are_those_of_their_product(n: int) -> None:
    """Rows of ones stand for a rotation: what is 0 then is 0 for all angles."""
    for count in range(n + 1):
        product = np.eye(n, dtype=int)
        for layer in range(count):
            for k in range(layer % 2, n - 1, 2):
                product[:, k : k + 2] = product[:, k : k + 2].sum(axis=1, keepdims=True)
        places = [(int(i), int(j)) for i, j in np.argwhere(product == 0)]
        assert rotation_mesh.beyond(n, count) == places
        full = [[second_cayley.ONE] * n for _ in range(n)]
        assert second_mesh.entries_beyond(full, count) == len(places)


@pytest.mark.parametrize("n", range(2, 7))
def test_a_unitary_matrix_is_turned_diagonal_and_another_one_triangular(n: int) -> None:
    """Exactly, in both back-ends: every turn is unitary. No turn is needed where both entries are 0."""
    rng = random.Random(n)
    W = cayley_exact.rational_unitary(n, rng)
    zero = flint.fmpq_mat(n, n)
    other = flint.fmpq_mat(n, n, [flint.fmpq(rng.randint(1, 9), 4) for _ in range(n * n)])
    signs = cayley_exact.embedded(cayley_exact.signed_permutation(n, rng), zero)
    for matrix, left in ((W, 0), (signs, 0), (cayley_exact.embedded(other, zero), n * (n - 1) // 2)):
        rows = second_cayley.read(cayley_exact.complex_text(matrix), "W")
        assert rotation_mesh.is_turned_diagonal(matrix) == (left == 0)
        assert second_mesh.entries_left(rows) == left


def test_turns_in_another_order_leave_something(monkeypatch: pytest.MonkeyPatch) -> None:
    W = cayley_exact.rational_unitary(4, random.Random(2))
    monkeypatch.setattr(rotation_mesh, "turns", lambda n, turns=rotation_mesh.turns: turns(n)[::-1])
    assert not rotation_mesh.is_turned_diagonal(W) and not rotation_mesh.ends_triangular(4)


def test_turns_are_n_layers_and_neither_more_nor_fewer() -> None:
    for n in range(3, 12):
        fits = [layers for layers in range(2 * n) if second_mesh.layers_are_the_turns(n, layers)]
        assert fits == [n] == [rotation_mesh.layers(n)]


def test_turns_that_end_triangular_are_those_that_leave_what_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """By columns alone, row by row from below, all fits (Reck et al. 1994); from the left to the right it does not."""
    Turn = rotation_mesh.Turn
    rows = [Turn(True, j, i, j) for i in (3, 2, 1) for j in range(i)]
    for turns, good in (
        (rows, True),
        (sorted(rows, key=lambda turn: -turn.column), False),
        (rows[1:], False),
        (rows[:-1], False),
    ):
        monkeypatch.setattr(rotation_mesh, "turns", lambda n, turns=turns: turns)
        assert rotation_mesh.ends_triangular(4) == good
    monkeypatch.setattr(rotation_mesh, "turns", lambda n: rows)
    assert rotation_mesh.layers(4) == 5  # a triangle has 2n − 3


@pytest.mark.parametrize("names", ["icml", "sam"])
def test_the_whole_step_is_symplectic_in_intervals_and_a_false_area_would_be_seen(names: str) -> None:
    """Of one layer of two neurons, in either indexing; ω pairs y and z of each neuron."""
    from verification.certify.second import exact_network

    one = {"layers": "1", "neurons": "2", "skip": "0", "alpha": "1/2", "dt": "1/3", "c": "0 1/2", "w": "1 -2"}
    one |= {"b": "1/4 0", "V": "1 0 0 1", "u": "1 2 1/2 -1", "Lambda": ""}
    holds = exact_network.run(one, names == "sam", exact_network.symplectic_defect)
    assert holds[0] is False, holds
    falsely = exact_network.run(one, names == "sam", lambda n: [x + 1 for x in exact_network.symplectic_defect(n)])
    assert falsely[0] is True
