"""Linear steps of antisymmetric networks, exactly, in two ways: from matrices, and by stepping the equations.

    symplectic_euler   p₊ = p − η D₁ S q, q₊ = q + η D₂ S p₊          leapfrog   y₊ = y₋ + 2 η D W y
    forward_euler      y₊ = y + η D W y        explicit_midpoint   y₊ = y + η W (y + η W y/2)

A network is typed as {"eta", "weight" row by row, "slopes"}; both slopes of symplectic Euler one after the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import Ordering, fmpq, fmpq_mat, fmpq_mpoly_ctx

from odernn.bounds.arnn import THRESHOLDS, Scheme
from verification.certify.power_bounded import grows
from verification.claim import Decided, Parameters
from verification.exact_text import matrix_of, number, numbers, rational, rationals, text_of

F = Fraction
Vector = list[Fraction]

TRACES: dict[str, list[Fraction]] = {"symplectic_euler": [F(2), F(0), F(-1)], "leapfrog": [F(0), F(2)]}
DETERMINANTS: dict[str, list[int]] = {"symplectic_euler": [1], "leapfrog": [1]}
MODULI: dict[str, list[Fraction]] = {
    "forward_euler": [F(1), F(0), F(1)],
    "explicit_midpoint": [F(1), F(0), F(0), F(0), F(1, 4)],
}
"""As polynomials in a, the constant first: what ``odernn.bounds.arnn.step_matrix`` gives, typed once more."""


def mode(scheme: Scheme, a: Fraction) -> list[Vector]:
    """The step of one mode, column by column from the equations; of the leapfrog for y_l = i^l c_l."""
    match scheme:
        case "symplectic_euler":

            def step(state: Vector) -> Vector:
                p = state[0] - a * state[1]
                return [p, state[1] + a * p]

        case "leapfrog":

            def step(state: Vector) -> Vector:
                return [2 * a * state[0] - state[1], state[0]]

        case "forward_euler":

            def step(state: Vector) -> Vector:
                return [state[0] - a * state[1], state[1] + a * state[0]]

        case "explicit_midpoint":

            def step(state: Vector) -> Vector:
                x, y = state[0] - a * state[1] / 2, state[1] + a * state[0] / 2
                return [state[0] - a * y, state[1] + a * x]

        case _:
            raise ValueError(f"scheme is {scheme!r}; no step is typed for it.")
    return columns(step, 2)


def columns(step: Callable[[Vector], Vector], size: int) -> list[Vector]:
    """The matrix of a linear map, from the images of the unit vectors."""
    images = [step([F(i == j) for i in range(size)]) for j in range(size)]
    return [list(row) for row in zip(*images, strict=True)]


# --- networks


def random_network(scheme: Scheme, size: int, rng: random.Random) -> Parameters:
    """Rational weights of the right symmetry, slopes in (0, 1], and η below the threshold by the largest row sum."""
    sign = 1 if scheme == "symplectic_euler" else -1
    weight = [[F(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            entry = F(rng.randint(-6, 6), rng.randint(1, 3))
            weight[i][j] = entry if sign == 1 or i != j else F(0)
            weight[j][i] = sign * weight[i][j]
    row_sum = max(sum(map(abs, row), F(0)) for row in weight) or F(1)
    eta = F(THRESHOLDS[scheme]) * rng.choice((F(1, 2), F(9, 10), F(99, 100))) / row_sum
    count = 2 * size if scheme == "symplectic_euler" else size
    slopes = [F(rng.randint(1, 8), 8) for _ in range(count)]
    return {"eta": rational(eta), "weight": text_of(weight), "slopes": rationals(slopes)}


def _typed(scheme: Scheme, parameters: Parameters) -> tuple[Fraction, list[Vector], list[Vector]]:
    """η, the weight, and the slopes of each half."""
    slopes = numbers(parameters, "slopes")
    size = len(slopes) // (2 if scheme == "symplectic_euler" else 1)
    return number(parameters, "eta"), matrix_of(numbers(parameters, "weight"), size), matrix_of(slopes, size)


def threshold_form(scheme: Scheme, parameters: Parameters, level: Fraction) -> list[Vector]:
    """level I − η² WᵀW: positive definite iff η max|λ| < √level, for a symmetric or antisymmetric W."""
    eta, W, _ = _typed(scheme, parameters)
    size = len(W)
    square = [[sum((W[k][i] * W[k][j] for k in range(size)), F(0)) for j in range(size)] for i in range(size)]
    return [[level * (i == j) - eta**2 * square[i][j] for j in range(size)] for i in range(size)]


def network(scheme: Scheme, parameters: Parameters) -> list[list[Any]]:
    """The matrix of the step, assembled from blocks with FLINT."""
    eta, W, slopes = _typed(scheme, parameters)
    size = len(W)
    weight = fmpq_mat([[_fmpq(x) for x in row] for row in W]) * _fmpq(eta)
    one = [[fmpq(int(i == j)) for j in range(size)] for i in range(size)]
    if scheme == "symplectic_euler":
        first, second = (_diagonal(diagonal) * weight for diagonal in slopes)
        return _blocks(one, (-first).tolist(), second.tolist(), (fmpq_mat(one) - second * first).tolist())
    zero = [[fmpq(0)] * size for _ in range(size)]
    return _blocks((_diagonal(slopes[0]) * weight * fmpq(2)).tolist(), one, one, zero)


def network_again(scheme: Scheme, parameters: Parameters) -> list[Vector]:
    """The same by stepping unit vectors in fractions."""
    eta, W, slopes = _typed(scheme, parameters)
    size = len(W)

    def pushed(weights: Vector, state: Vector) -> Vector:
        return [
            eta * weight * sum((x * y for x, y in zip(row, state, strict=True)), F(0))
            for weight, row in zip(weights, W, strict=True)
        ]

    def step(state: Vector) -> Vector:
        one, other = state[:size], state[size:]
        if scheme == "symplectic_euler":
            p = [x - y for x, y in zip(one, pushed(slopes[0], other), strict=True)]
            return [*p, *(x + y for x, y in zip(other, pushed(slopes[1], p), strict=True))]
        return [*(x + 2 * y for x, y in zip(other, pushed(slopes[0], one), strict=True)), *one]

    return columns(step, 2 * size)


def _diagonal(values: Sequence[Fraction]) -> fmpq_mat:
    return fmpq_mat([[_fmpq(x) if i == j else fmpq(0) for j in range(len(values))] for i, x in enumerate(values)])


def _blocks(a: list[Any], b: list[Any], c: list[Any], d: list[Any]) -> list[list[Any]]:
    top = [[*x, *y] for x, y in zip(a, b, strict=True)]
    return top + [[*x, *y] for x, y in zip(c, d, strict=True)]


def _fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


# --- one neuron with ReLU and without inputs


def falls_for_ever(parameters: Parameters) -> Decided:
    """p of one neuron, S = 1, along 32 steps, each branch of ReLU by its sign: it falls by the same in each, q stays.

    Then it does so for ever: the slopes depend on the signs of q and p, and neither changes while p ≤ 0 falls.
    """
    a, q, p = (number(parameters, name) for name in ("a", "q", "p"))
    orbit = [(p, q)]
    for _ in range(32):
        if q > 0:
            p -= a * q
        if p > 0:
            q += a * p
        orbit.append((p, q))
    falls = {before - after for (before, _), (after, _) in pairwise(orbit)}
    repeated = len(falls) == 1 and min(falls) > 0 and all(p <= 0 and q_n == q for p, q_n in orbit)
    return Decided(repeated, f"32 steps: p from {orbit[0][0]} to {p}, q = {q}")


# --- words of slopes that change with time


def word_matrix(scheme: Scheme, a: Any, slopes: Sequence[Any]) -> list[list[Any]]:
    """The product of the steps of one mode, over any ring; slopes (kick, drift) a step of symplectic Euler, one a step
    of the leapfrog (there without the factor i of each step).
    """
    x, y = [a * 0 + 1, a * 0], [a * 0, a * 0 + 1]
    if scheme == "symplectic_euler":
        for kick, drift in zip(slopes[::2], slopes[1::2], strict=True):
            x = [u - a * kick * v for u, v in zip(x, y, strict=True)]
            y = [v + a * drift * u for u, v in zip(x, y, strict=True)]
        return [x, y]
    for slope in slopes:
        x, y = [2 * a * slope * u - v for u, v in zip(x, y, strict=True)], x
    return [x, y]


def word(scheme: Scheme, a: Fraction, slopes: Sequence[Fraction]) -> list[list[Any]]:
    """``word_matrix`` over Q."""
    return word_matrix(scheme, _fmpq(a), [_fmpq(s) for s in slopes])


def word_trace(a: Any, slopes: Sequence[Any]) -> Any:
    """The trace of a word of symplectic Euler."""
    (x, _), (_, y) = word_matrix("symplectic_euler", a, slopes)
    return x + y


def driven_runs(scheme: Scheme, a: Fraction, slopes: Sequence[Fraction], least: Fraction) -> Decided:
    """Whether the word grows, once more, from runs of the network."""
    matrix = driven_matrix(scheme, a, slopes, least)
    growth = grows(matrix)
    return Decided(growth.violated, f"differences of {len(matrix) + 1} runs of {len(slopes)} slopes: {growth.text}")


def driven_matrix(scheme: Scheme, a: Fraction, slopes: Sequence[Fraction], least: Fraction) -> list[Vector]:
    """The matrix of the word from runs of the network: σ(x) = max(x, least·x), all runs with the same biases.

    One run starts at 0 and one at each unit vector. Before each half step a bias is chosen, the same for all, that puts
    the pre-activations of all of them above 0 where the slope is to be 1 and below where it is to be ``least``. Their
    differences after the word are the columns of its matrix.
    """
    size = 2 if scheme == "symplectic_euler" else 4
    runs: list[Vector] = [[F(0)] * size, *([F(i == j) for i in range(size)] for j in range(size))]

    def sigma(arguments: list[Fraction], slope: Fraction) -> list[Fraction]:
        bias = 1 - min(arguments) if slope == 1 else -1 - max(arguments)
        return [max(x + bias, least * (x + bias)) for x in arguments]

    if scheme == "symplectic_euler":
        for kick, drift in zip(slopes[::2], slopes[1::2], strict=True):
            forces = sigma([q for _, q in runs], kick)
            runs = [[p - a * f, q] for (p, q), f in zip(runs, forces, strict=True)]
            moves = sigma([p for p, _ in runs], drift)
            runs = [[p, q + a * v] for (p, q), v in zip(runs, moves, strict=True)]
    else:  # W = [[0, −1], [1, 0]], both neurons with the same slope, state (y_l, y_{l−1})
        for slope in slopes:
            first, second = (sigma([F(s) * run[k] for run in runs], slope) for s, k in ((-1, 1), (1, 0)))
            runs = [
                [run[2] + 2 * a * u, run[3] + 2 * a * v, run[0], run[1]]
                for run, u, v in zip(runs, first, second, strict=True)
            ]
    differences = [[x - y for x, y in zip(run, runs[0], strict=True)] for run in runs[1:]]
    return [list(row) for row in zip(*differences, strict=True)]


# --- W − Wᵀ − γ I


def anti_hermitian(size: int, gamma: Fraction) -> Decided:
    """Every entry of X + Xᵀ as a polynomial in the entries of W."""
    ring = fmpq_mpoly_ctx.get([f"w{i}_{j}" for i in range(size) for j in range(size)], Ordering.degrevlex)
    W = matrix_of(ring.gens(), size)  # type: ignore[arg-type]
    shift: Any = _fmpq(gamma)
    X: list[list[Any]] = [[W[i][j] - W[j][i] - shift * int(i == j) for j in range(size)] for i in range(size)]
    sums = [X[i][j] + X[j][i] for i in range(size) for j in range(size)]
    wrong = [entry for entry in sums if entry != 0]
    return Decided(bool(wrong), f"X + Xᵀ = {wrong[0]} on the diagonal" if wrong else "X + Xᵀ = 0 as polynomials")


def anti_hermitian_again(size: int, gamma: Fraction) -> Decided:
    """At integer matrices in fractions: xᵀ X x = 0 for x = e_i and e_i + e_j."""
    rng = random.Random(size)
    W = [[F(rng.randint(-9, 9)) for _ in range(size)] for _ in range(size)]
    forms = []
    for i in range(size):
        for j in range(size):
            x = [F(k in (i, j)) for k in range(size)]
            pairs = [(k, l) for k in range(size) for l in range(size)]
            forms.append(sum((x[k] * x[l] * (W[k][l] - W[l][k] - (gamma if k == l else 0)) for k, l in pairs), F(0)))
    return Decided(any(forms), f"xᵀ X x = {max(forms, key=abs)}")


def damped_identity() -> Decided:
    """|1 − ηγ + iηλ|² − 1 = η (η (γ² + λ²) − 2γ), as polynomials."""
    ring = fmpq_mpoly_ctx.get(["eta", "gamma", "frequency"], Ordering.degrevlex)
    eta, gamma, frequency = ring.gens()
    left = (1 - eta * gamma) ** 2 + (eta * frequency) ** 2 - 1
    gap = left - eta * (eta * (gamma**2 + frequency**2) - 2 * gamma)
    return Decided(not gap.is_zero(), "|1 − ηγ + iηλ|² − 1 = η (η (γ² + λ²) − 2γ)")
