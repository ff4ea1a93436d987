"""A second witness of the order: how fast the error falls, in float64, on problems that are nonlinear.

The exact order of a table is decided by its trees (``test_catalogue.py``); here the table is only run. A slope can
mislead, as that of Tsitouras' estimator does on y' = y cos 5t, so there are two problems, each with several starts.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from odernn import tableaus
from odernn.fields.oscillator import Oscillator
from odernn.integrators import step
from odernn.tableaus.tableau import ButcherTableau, Composition
from tests.tiers import spread, where

SLACK = 0.2
REFERENCE = 1e-13  # relative tolerance of the reference solutions
FLOOR = 100 * REFERENCE  # below it, a measured error is that of the reference
FEWEST, MOST, MOST_IN_TORCH = 4, 128, 64

EXPLICIT = [
    name
    for name in tableaus.names()
    if isinstance(tableaus.get(name), ButcherTableau) and tableaus.get(name).is_explicit
]
SPLIT = [
    name
    for name in tableaus.names()
    if not isinstance(tableaus.get(name), ButcherTableau)
    and (tableaus.get(name).tableau if isinstance(tableaus.get(name), Composition) else tableaus.get(name)).is_explicit
]


def rigid_body(t: float, y: np.ndarray) -> np.ndarray:
    """Euler's equations of a free rigid body: autonomous, quadratic.   y : (3, starts)"""
    return np.array([-2 * y[1] * y[2], 1.25 * y[0] * y[2], -0.5 * y[0] * y[1]])


def clocked(t: float, y: np.ndarray) -> np.ndarray:
    """y' = sin(z + t), z' = cos(t z) − sin y: the clock comes in, and not as a factor.   y : (2, starts)"""
    return np.array([np.sin(y[1] + t), np.cos(t * y[1]) - np.sin(y[0])])


# Several starts, so that a leading error term that happens to vanish for one of them does not hide the slope.
PROBLEMS = {
    "rigid body": (rigid_body, np.array([[1.0, 0.2, -0.8, 0.6], [0.7, 1.1, 0.5, -0.9], [0.9, -0.6, 1.0, 0.4]]), 2.0),
    "clocked": (clocked, np.array([[0.8, -1.2, 0.1, 2.0], [-0.3, 0.6, 1.4, -0.5]]), 3.0),
}


@functools.cache
def reference(problem: str) -> np.ndarray:
    f, starts, end = PROBLEMS[problem]
    ends = [
        solve_ivp(f, (0.0, end), start, method="DOP853", rtol=REFERENCE, atol=REFERENCE).y[:, -1] for start in starts.T
    ]
    return np.array(ends).T


def run(method: ButcherTableau, problem: str, steps: int, c: list[float] | None = None) -> np.ndarray:
    """The textbook loop in numpy, from the table's floats; ``c`` are the abscissae of the clock, if not A·1."""
    f, y, end = PROBLEMS[problem]
    A, b = np.array([[float(a) for a in row] for row in method.A]), np.array([float(b) for b in method.b])
    nodes = A.sum(axis=1) if c is None else np.array(c)
    h = end / steps
    for n in range(steps):
        slopes = np.zeros((len(b), *y.shape))
        for i in range(len(b)):
            slopes[i] = f((n + nodes[i]) * h, y + h * np.tensordot(A[i], slopes, 1))
        y = y + h * np.tensordot(b, slopes, 1)
    return y


def slope(error_after, most: int) -> float:
    """log₂ of the ratio of the two errors with the most steps that both are above the floor."""
    measured, steps = None, FEWEST
    before = error_after(steps)
    while steps < most:
        steps *= 2
        error = error_after(steps)
        if error < FLOOR:
            break
        measured, before = math.log2(before / error), error
    assert measured is not None, f"the error after {FEWEST} steps is {before:.1e}: nothing to measure"
    return measured


def slope_of(method: ButcherTableau, problem: str, c: list[float] | None = None) -> float:
    return slope(lambda steps: float(np.linalg.norm(run(method, problem, steps, c) - reference(problem))), MOST)


@pytest.mark.parametrize(("name", "problem"), spread(itertools.product(EXPLICIT, PROBLEMS), 31))
def test_the_error_of_an_explicit_method_falls_with_its_order(name: str, problem: str):
    method = tableaus.get(name)
    assert slope_of(method, problem) >= method.order - SLACK


def test_the_slope_of_a_false_table_tells_it():
    """Tsitouras' estimator in place of the method, and RK42 with the misprinted row, are below the declared order."""
    assert slope_of(tableaus.TSITOURAS_5_4.embedded, "rigid body") < 5 - SLACK
    rk42 = tableaus.RK42
    misprint = ButcherTableau([*rk42.A[:3], [1, -2, 1, 0]], rk42.b)
    assert all(slope_of(misprint, problem) < 1 + SLACK for problem in PROBLEMS)


def test_a_wrong_clock_is_seen_on_a_problem_with_a_clock_only():
    """Why one problem is not autonomous: RK4 whose last two abscissae are exchanged."""
    clock = [0.0, 0.5, 1.0, 0.5]
    assert slope_of(tableaus.RK4, "rigid body", clock) >= 4 - SLACK
    assert slope_of(tableaus.RK4, "clocked", clock) < 1 + SLACK


# --- one step in torch, with the drive held constant

W, ALPHA, X, START, END = 0.8, 1.1, 0.3, (0.4, -0.7), 4.0


def tensor(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


@functools.cache
def oscillator_reference() -> np.ndarray:
    def f(t: float, v: np.ndarray) -> list[float]:
        return [v[1], -(math.tanh(W * v[0] + X) + ALPHA * v[0])]

    return solve_ivp(f, (0.0, END), START, method="DOP853", rtol=REFERENCE, atol=REFERENCE).y[:, -1]


def oscillator_error(name: str, steps: int) -> float:
    method = tableaus.get(name)
    method = method.tableau if isinstance(method, Composition) else method
    field, state = Oscillator(tensor(W), ALPHA), (tensor(START[0]), tensor(START[1]))
    for _ in range(steps):
        state = step(method, field, state, tensor(X), END / steps)
    return float(np.linalg.norm(torch.cat(state).numpy() - oscillator_reference()))


@pytest.mark.parametrize("name", where(spread(SPLIT, 8), lambda name: name.endswith(("6", "8"))))
def test_the_error_of_a_step_in_torch_falls_with_the_order_of_the_splitting(name: str):
    assert slope(lambda steps: oscillator_error(name, steps), MOST_IN_TORCH) >= tableaus.get(name).order - SLACK


@pytest.mark.parametrize("name", EXPLICIT)
def test_a_step_in_torch_is_the_loop_in_numpy(name: str):
    """The field of the oscillator is separable and autonomous, so the clock of the loop is not used."""
    method = tableaus.get(name)
    A, b = np.array([[float(a) for a in row] for row in method.A]), np.array([float(b) for b in method.b])
    h, v = 0.25, np.array(START)
    slopes = np.zeros((len(b), 2))
    for i in range(len(b)):
        y, z = v + h * (A[i] @ slopes)
        slopes[i] = z, -(math.tanh(W * y + X) + ALPHA * y)
    expected = v + h * (b @ slopes)
    state = step(method, Oscillator(tensor(W), ALPHA), (tensor(v[0]), tensor(v[1])), tensor(X), h)
    growth = 1 + np.abs(A).sum() + np.abs(b).sum()
    assert np.abs(torch.cat(state).numpy() - expected).max() <= 8 * len(b) * growth * np.finfo(float).eps


THETA = 1 / (2 - 2 ** (1 / 3))
XI, LAMBDA, CHI = 0.1786178958448091, -0.2123418310626054, -0.06626458266981849
FLOWS = {
    "ruth 3": [("V", 7 / 24), ("T", 2 / 3), ("V", 3 / 4), ("T", -2 / 3), ("V", -1 / 24), ("T", 1)],
    "forest ruth 4": [
        ("T", THETA / 2), ("V", THETA), ("T", (1 - THETA) / 2), ("V", 1 - 2 * THETA), ("T", (1 - THETA) / 2),
        ("V", THETA), ("T", THETA / 2),
    ],
    "pefrl 4": [
        ("T", XI), ("V", 1 / 2 - LAMBDA), ("T", CHI), ("V", LAMBDA), ("T", 1 - 2 * (CHI + XI)),
        ("V", LAMBDA), ("T", CHI), ("V", 1 / 2 - LAMBDA), ("T", XI),
    ],
    "stoermer verlet tvt": [("T", 1 / 2), ("V", 1), ("T", 1 / 2)],
}  # fmt: skip


@pytest.mark.parametrize("name", FLOWS)
def test_a_splitting_kicks_and_drifts_as_its_source_says(name: str):
    """The table is a composition of symplectic Euler steps; on H = V + T it must be the kicks and drifts themselves."""
    (y, z), h = START, 0.3
    for flow, fraction in FLOWS[name]:
        if flow == "V":
            z -= fraction * h * (math.tanh(W * y + X) + ALPHA * y)
        else:
            y += fraction * h * z
    state = step(tableaus.get(name), Oscillator(tensor(W), ALPHA), tuple(map(tensor, START)), tensor(X), h)
    assert [float(part) for part in state] == pytest.approx([y, z], rel=1e-14)


def test_how_many_methods_were_run():
    assert len(EXPLICIT) >= 59 and len(SPLIT) >= 20
