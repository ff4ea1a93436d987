"""Checks of single places against floats: every number that either back-end prints, and what it says of it."""

from __future__ import annotations

import math
import re
from fractions import Fraction as Q
from typing import Any

import numpy as np
import pytest

from verification.cases import layer_blocks
from verification.claim import Case
from verification.claims.odernn import odernn_stability, qunn_conditions
from verification.claims.unicornn import hamiltonian, structure
from verification.measure.exact_network import Shape, small_network

NUMBER = re.compile(r"-?[0-9]+(?:[.][0-9]+)?(?:e[-+][0-9]+)?(?:/[0-9]+)?")


def opinions(case: Case, **parameters: Any) -> tuple[list[bool], list[list[float]]]:
    """Of both back-ends: whether it is violated, and the numbers that are printed."""
    assert case.check is not None
    checked = case.check({name: str(value) for name, value in parameters.items()})
    texts = [re.sub(r"\+/- [0-9.e+-]+", "", opinion.text) for opinion in checked.opinions]
    found = [[float(Q(number) if "/" in number else number) for number in NUMBER.findall(text)] for text in texts]
    return [opinion.violated for opinion in checked.opinions], found


PLACES = [(Q(2, 3), Q(-5, 4), Q(7, 8), Q(3, 2)), (Q(-7, 4), Q(1, 3), Q(-2, 5), Q(0)), (Q(1), Q(2), Q(-1), Q(5, 3))]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("sign", "power"), [(1, -1), (-1, -1), (1, 0), (1, 1), (-1, 2)])
def test_the_force_of_a_potential_is_its_difference_quotient(place: tuple[Q, ...], sign: int, power: int) -> None:
    w, y, x, alpha = map(float, place)

    def energy(y: float) -> float:
        return sign * w**power * math.log(math.cosh(w * y + x)) + alpha * y * y / 2

    force = (energy(y + 1e-5) - energy(y - 1e-5)) / 2e-5
    gap = force - (math.tanh(w * y + x) + alpha * y)
    names = dict(zip(("w", "y", "x", "alpha"), place, strict=True))
    violated, numbers = opinions(hamiltonian.hamiltonian_case(sign, power), **names)
    assert violated == [abs(gap) > 1e-6] * 2
    if violated[0]:
        assert [each[-1] for each in numbers] == pytest.approx([gap, gap], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("asymptotic", [True, False])
@pytest.mark.parametrize("damping", [0, 1, 3])
@pytest.mark.parametrize(("alpha", "w"), [("0", "-1"), ("1/4", "-1"), ("1/4", "1/2"), ("2", "3"), ("0", "1/3")])
def test_a_fixed_point_is_as_stable_as_its_eigenvalues_say(asymptotic: bool, damping: int, alpha: str, w: str) -> None:
    kappa = float(Q(alpha) + Q(w))
    ends = np.linalg.eigvals(np.array([[0.0, 1.0], [-kappa, -damping]])).real
    stable = bool((ends < -1e-12).all() if asymptotic else (ends < 1e-12).all())
    case = hamiltonian.fixed_point_case(asymptotic=asymptotic, damping=damping)
    violated, numbers = opinions(case, alpha=alpha, w=w)
    assert violated == [stable] * 2
    assert numbers[0][0] == pytest.approx(kappa)
    assert numbers[0][-1] == -2 * damping
    assert numbers[1][0] == -damping / 2
    assert numbers[1][2] == pytest.approx(damping**2 / 4 - kappa)


@pytest.mark.parametrize("power", [Q(1), Q(1, 2)])
@pytest.mark.parametrize(("w", "alpha"), [("1/5", "7/3"), ("0", "1"), ("0", "4"), ("-1/2", "3/4")])
def test_the_frequency_is_the_root_of_the_stiffness(power: Q, w: str, alpha: str) -> None:
    frequency = math.sqrt(Q(w) + Q(alpha))
    violated, numbers = opinions(hamiltonian.frequency_case(Q(w), power), alpha=alpha)
    assert violated == [abs(frequency - float(Q(alpha)) ** power) > 1e-9] * 2
    assert [each[0] for each in numbers] == pytest.approx([frequency] * 2, rel=1e-7)


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("damping", [0, 1, 2])
@pytest.mark.parametrize(("alpha", "h"), [("7/4", "1/4"), ("5", "7/8"), ("30", "7/8"), ("18", "1/2"), ("1/64", "1/8")])
def test_an_oscillation_keeps_its_amplitude_as_its_matrix_says(
    discrete: bool, damping: int, alpha: str, h: str
) -> None:
    a, step = float(Q(alpha)), float(Q(h))
    kick = np.array([[1, 0], [-step * a, 1 - step * damping]])
    matrix = np.array([[1, step], [0, 1]]) @ kick if discrete else np.array([[0, 1], [-a, -damping]])
    trace, determinant = np.trace(matrix), np.linalg.det(matrix)
    oscillates = trace**2 < 4 * determinant - 1e-12
    kept = oscillates and bool(determinant >= 1 - 1e-12 if discrete else trace >= 0)
    violated, numbers = opinions(hamiltonian.damping_case(discrete=discrete, damping=damping), alpha=alpha, h=h)
    assert violated == [kept] * 2
    assert numbers[0][-1] == pytest.approx(trace, abs=1e-9)
    assert [numbers[1][0], numbers[1][-1]] == pytest.approx([trace, determinant], abs=1e-9)
    assert numbers[0][-2] == pytest.approx(determinant if discrete else trace / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("offset", "factor"), [(Q(1, 2), Q(1, 2)), (Q(1, 2), Q(1)), (Q(0), Q(1, 2)), (Q(1, 3), Q(2, 3))]
)
@pytest.mark.parametrize("u", ["7/3", "-7/3", "1/9"])
def test_a_squashed_number_lies_where_floats_see_it(offset: Q, factor: Q, u: str) -> None:
    value = float(offset) + float(factor) * math.tanh(float(Q(u)) / 2)
    violated, numbers = opinions(structure.between_zero_and_one(offset, factor), u=u)
    assert violated == [not 0 < value < 1] * 2
    assert [each[0] for each in numbers] == pytest.approx([value] * 2, rel=1e-9)


RUNS = [
    {},
    {"V": "0"},
    {"V": "0", "u": "100 60"},
    {"V": "0", "u": "-100 60"},
    {"b": "20", "V": "1", "w": "0", "u": "0 0 0 -20", "alpha": "1", "dt": "9/10"},
    {"V": "0", "u": "9 14", "alpha": "4"},
    {"V": "0", "u": "-9 -14", "alpha": "4"},
    {"b": "6", "V": "1/9", "u": "3 40 -2 9", "alpha": "1/9"},
    {"b": "-6", "V": "1/9", "u": "-3 40 60 -9", "alpha": "3"},
    {"b": "1/9", "V": "0", "w": "1/9", "u": "0 -300 200 -300", "alpha": "1/9"},
    {"b": "20", "V": "1", "w": "0", "u": "0 0 0 1/2", "alpha": "1/100", "dt": "9/10"},
    {"b": "-20", "V": "1", "w": "0", "u": "0 0 0 -1/2", "alpha": "1/100", "dt": "9/10"},
]


@pytest.mark.parametrize("indices", ["icml", "sam"])
@pytest.mark.parametrize("change", RUNS)
@pytest.mark.parametrize("c", [1, 40])
def test_the_derivative_by_a_weight_is_that_of_the_last_step(indices: str, change: dict[str, str], c: int) -> None:
    """|h σ'(A) u| against dt (1 + α|y_{n−1}| + max(|y_{n−1}|, |u_n|, 1)), u the input that the indices read."""
    given = {"V": "1/2", "w": "2/3", "b": "1/5", "u": "10 1/3", "alpha": "3/2", "dt": "1/3", "c": str(c)} | change
    u = [float(Q(word)) for word in given["u"].split()]
    V, w, b, alpha, dt = (float(Q(given[name])) for name in ("V", "w", "b", "alpha", "dt"))
    h, y, z = dt / (1 + math.exp(-c)), 0.0, 0.0
    for n in range(1, len(u)):
        read, before = u[n] if indices == "icml" else u[n - 1], y
        A = w * y + V * read + b
        z -= h * (math.tanh(A) + alpha * y)
        y += h * z
    left = h * (1 - math.tanh(A) ** 2) * abs(read)
    right = dt * (1 + alpha * abs(before) + max(abs(before), abs(u[-1]), 1.0))
    network = small_network(Shape(1, 1, len(u) - 1), **given)
    violated, numbers = opinions(layer_blocks.gradient_by_V(indices), **network)
    assert violated == [left > right] * 2
    assert numbers[0][-2:] == pytest.approx([left, right], rel=1e-4)
    if violated[1]:
        assert numbers[1][0] == pytest.approx(left - right, rel=1e-9)


@pytest.mark.parametrize("Y", [("1", "2"), ("1/3", "-3/2"), ("5/2", "7/4"), ("-1", "-2")])
def test_two_solutions_of_the_midpoint_rule_part_as_their_stages_say(Y: tuple[str, str]) -> None:
    stages = np.array([float(Q(word)) for word in Y])
    field = -stages * (stages - 2) ** 2
    starts, ends = stages - field / 2, stages + field / 2
    violated, numbers = opinions(odernn_stability.single_case(), c=2, Y=" ".join(Y))
    before, after = abs(np.diff([starts, ends])).ravel()
    assert violated == [bool(after > before)] * 2
    assert numbers[0] == pytest.approx([before, after])
    assert numbers[1] == pytest.approx([*starts, *ends])


def test_a_shift_with_several_solutions_of_the_stage_equation_is_refused() -> None:
    with pytest.raises(ValueError, match="shift² < 6"):
        odernn_stability.single_case(3)


@pytest.mark.parametrize("gate", ["relu(y)", "1"])
@pytest.mark.parametrize(
    "place", [("2", "1/2", "1/3", "-1"), ("1", "0", "2", "-2"), ("3", "5/4", "1", "7/5"), ("1", "2", "3", "3")]
)
def test_two_states_of_a_gated_method_move_as_floats_do(gate: str, place: tuple[str, ...]) -> None:
    g, c, u, v = (float(Q(word)) for word in place)
    ends = []
    for y in (u, v):
        b = g * (max(y, 0.0) if gate == "relu(y)" else 1.0)
        low, high = min(y, c), max(y, c)  # Y − y − (b/2) relu(c − Y) rises: bisection
        for _ in range(200):
            Y = (low + high) / 2
            low, high = (low, Y) if Y - y - b / 2 * max(c - Y, 0.0) > 0 else (Y, high)
        ends.append(y + b * max(c - Y, 0.0))
    gap = abs(ends[0] - ends[1])
    names = dict(zip("gcuv", place, strict=True))
    violated, numbers = opinions(odernn_stability.gated_case(gate), **names)
    assert violated == [gap > abs(u - v) + 1e-12] * 2
    assert numbers[0] == pytest.approx([abs(u - v), gap])
    assert numbers[1][-2:] == pytest.approx([(u - v) ** 2, gap**2])


@pytest.mark.parametrize(("beta", "x"), [("-2/3", "3/2"), ("1/5", "-4"), ("7", "1/3"), ("-1/5", "1")])
def test_a_residual_layer_stretches_by_its_largest_singular_value(beta: str, x: str) -> None:
    r = float(Q(beta)) * float(Q(x)) ** 2
    matrix = np.array([[1, r], [r, 1]])
    violated, numbers = opinions(qunn_conditions.residual_case(), beta=beta, x=x)
    assert violated == [True, True]
    start, end, growth = np.array(numbers[0][:2]), np.array(numbers[0][2:4]), numbers[0][4]
    assert end == pytest.approx(matrix @ start)
    assert [growth, numbers[1][-1] ** 2] == pytest.approx([(end @ end) / (start @ start)] * 2)
    assert numbers[1][-1] == pytest.approx(np.linalg.svd(matrix)[1].max())


@pytest.mark.parametrize(("form", "depth"), [("ResNet", 1), ("ResNet", 4), ("plain", 1), ("plain", 3)])
def test_the_diagonal_of_a_chain_is_that_of_its_matrix(form: str, depth: int) -> None:
    if form == "ResNet":
        A, b = np.tril(np.ones((depth, depth)), -1), np.ones(depth)
    else:
        A, b = np.diag(np.ones(depth), -1), np.zeros(depth + 1)
        A[1:, 0] -= 1
        b[0], b[-1] = -1, 1
    M = np.diag(b) @ A + A.T @ np.diag(b) - np.outer(b, b)
    violated, numbers = opinions(qunn_conditions.chain_case(form, depth))
    assert violated == [bool(np.linalg.eigvalsh(M).min() < -1e-12)] * 2
    assert numbers[1] == np.diag(M).tolist()


@pytest.mark.parametrize("own", [Q(0), Q(1, 3), Q(1, 2), Q(2)])
@pytest.mark.parametrize(
    ("B", "G"),
    [([[2]], [[3]]), ([[1, 2], [0, -3]], [[2, 1], [1, 2]]), ([[1, 2, 0], [0, 0, 1], [4, 1, 1]], np.diag([1, 2, 5]))],
)
def test_a_block_of_m_on_the_diagonal_is_that_of_its_layer(own: Q, B: list[list[int]], G: Any) -> None:
    """A_ii = own B_i: M_ii = (2 own − 1) BᵀGB, its inertia and its entries."""
    weights, metric = np.array(B), np.array(G)
    M = (2 * float(own) - 1) * weights.T @ metric @ weights
    values = np.linalg.eigvalsh(M)
    flat = {name: " ".join(map(str, table.flatten())) for name, table in (("B", weights), ("G", metric))}
    violated, (inertia, entries) = opinions(qunn_conditions.one_after_another_case(own), D=len(B), **flat)
    assert violated == [bool(values.min() < -1e-9)] * 2
    assert inertia == [(values > 1e-9).sum(), (values < -1e-9).sum(), (abs(values) <= 1e-9).sum()]
    assert entries == pytest.approx(M.flatten().tolist())


@pytest.mark.parametrize(
    ("B", "G", "failing"),
    [
        ("1 0 0 1", "1 0 0 -1", "G > 0"),
        ("1 0 0 1", "-1 0 0 -1", "G > 0"),
        ("1 0 0 1", "1 1 1 1", "G > 0"),
        ("0 0 0 0", "1 0 0 1", "B_i ≠ 0"),
        ("0 0 0 5", "1 0 0 1", ""),
    ],
)
def test_a_layer_needs_a_norm_and_a_weight(B: str, G: str, failing: str) -> None:
    check = qunn_conditions.one_after_another_case().check
    assert check is not None
    premises = check({"D": "2", "B": B, "G": G}).premises
    assert [premise.text for premise in premises if not premise.holds] == [failing] * bool(failing)
    assert premises[1].margin == f"largest entry {max(abs(int(x)) for x in B.split())}"
