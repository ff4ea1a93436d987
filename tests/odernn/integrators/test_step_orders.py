"""The error of implicit, partitioned and composed methods falls with their order, also with a clock in the drive."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from odernn import tableaus
from odernn.fields.oscillator import Oscillator
from odernn.integrators import prepared
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau
from tests.odernn.integrators.stepping import F64, Pendulum, Relaxation, book_of_oscillator, normal
from tests.tiers import spread, where

END = 2.0
SLACK = 0.25
REFERENCE = 1e-13  # relative tolerance of the reference solutions
FLOOR = 100 * REFERENCE  # every error that a slope is taken of must be above
STEPS = {True: (10, 14, 20), False: (12, 15, 19)}  # by order ≤ 4, so that the errors stay above the floor
FINER = {"yoshida 4 of midpoints": (16, 21, 27)}  # with coefficients above 1

W = np.array([0.8, -0.5, 1.7])
OSCILLATOR = Oscillator(torch.tensor(W), 1.1)
PENDULUM = Pendulum(torch.tensor([0.9, 1.3, 0.6], dtype=F64))
RELAXATION = Relaxation(normal(3, 3, seed=1), torch.tensor([0.5, 1.0, 2.0], dtype=F64))
TWO_BLOCKS = np.array([[0.4, 1.2, -0.8, -0.7, 0.3, 0.9], [-1.1, 0.5, 0.2, 0.6, -1.0, 0.4]])
ONE_BLOCK = np.array([[0.4, 1.2, -0.8], [-0.7, 0.3, 1.5]])


def held(t: float) -> np.ndarray:
    return np.array([0.3, -0.2, 0.5])


def clock(t: float) -> np.ndarray:
    return np.array([np.sin(1.1 * t + 0.3), np.cos(1.3 * t), 0.8 * np.cos(t)])


def slow_clock(t: float) -> np.ndarray:
    return 0.4 * clock(t)


PROBLEMS = {
    "oscillator, held drive": (OSCILLATOR, book_of_oscillator(W, 1.1), held, TWO_BLOCKS),
    "oscillator": (OSCILLATOR, book_of_oscillator(W, 1.1), clock, TWO_BLOCKS),
    "pendulum": (PENDULUM, PENDULUM.book, slow_clock, 0.6 * TWO_BLOCKS),
    "relaxation": (RELAXATION, RELAXATION.book, clock, ONE_BLOCK),
}
ONE_METHOD = {
    name: tableaus.get(name)
    for name in (
        "gauss 1",
        "gauss 2",
        "gauss 3",
        "radau iia 2",
        "radau iia 3",
        "lobatto iiic 3",
        "lobatto iiia 3",
        "alexander 2",
        "alexander 3",
    )
} | {
    "yoshida 4 of midpoints": Composition(
        tableaus.IMPLICIT_MIDPOINT, tableaus.get("yoshida 4").gammas, "yoshida 4 of midpoints", order=4
    ),
}
PAIRS = {
    name: tableaus.get(name)
    for name in ("symplectic euler vt", "stoermer verlet", "lobatto iiia-iiib, order 4", "lobatto iiia-iiib 4")
}
CASES = [(name, problem) for name in ONE_METHOD for problem in PROBLEMS if problem != "oscillator, held drive"] + [
    (name, problem) for name in PAIRS for problem in PROBLEMS if problem != "relaxation"
]


@functools.cache
def reference(problem: str) -> np.ndarray:
    _, book, drive, starts = PROBLEMS[problem]
    return np.array(
        [
            solve_ivp(
                lambda t, x: book(x, drive(t)), (0, END), start, method="DOP853", rtol=REFERENCE, atol=REFERENCE
            ).y[:, -1]
            for start in starts
        ]
    )


@torch.no_grad()
def error(method, problem: str, steps: int, stage_times: tuple[float, ...] | None = None) -> float:
    field, _, drive, starts = PROBLEMS[problem]
    h = END / steps
    step = prepared(method, field, h)
    state = torch.tensor(starts).chunk(len(field.blocks), -1)
    for n in range(steps):
        drives = [torch.tensor(drive((n + c) * h)) for c in stage_times or step.stage_times]
        report = step(state, drives)
        assert report.converged.all()
        state = report.state
    return float(np.linalg.norm(torch.cat(state, -1).numpy() - reference(problem)))


def slope(method, problem: str, order: int, **options) -> float:
    counts = FINER.get(method.name, STEPS[order <= 4])
    errors = [error(method, problem, steps, **options) for steps in counts]
    assert min(errors) > FLOOR
    return float(np.polyfit(np.log(END / np.array(counts)), np.log(errors), 1)[0])


@pytest.mark.parametrize(("name", "problem"), where(spread(CASES, 7), lambda each: each[0] == "yoshida 4 of midpoints"))
def test_the_error_falls_with_the_order(name: str, problem: str):
    method = (ONE_METHOD | PAIRS)[name]
    assert slope(method, problem, method.order) == pytest.approx(method.order, abs=SLACK)


def test_how_many_slopes_were_taken():
    assert len(CASES) == 10 * 3 + 4 * 3


def test_one_wrong_coefficient_costs_the_order():
    """Gauss 2 with a₁₂ off by a hundredth has Σ b_i c_i ≠ 1/2: order 1. With b off as well, it converges to nothing."""
    A, b = tableaus.GAUSS_2.A, tableaus.GAUSS_2.b
    wrong = ButcherTableau(
        [[A[0][0], float(A[0][1]) + 0.01], [*map(float, A[1])]], [0.5, 0.5], name="gauss 2, misprint"
    )
    assert slope(wrong, "relaxation", 4) < 2
    inconsistent = ButcherTableau(A, [b[0], "0.49"], name="gauss 2, weights misprinted")
    assert slope(inconsistent, "relaxation", 4) < 0.5


def test_a_wrong_clock_costs_the_order_on_a_problem_with_a_clock_only():
    """Radau IIA 3 with all drives sampled at the end of the step, which is what holding the input means."""
    radau = tableaus.get("radau iia 3")
    assert slope(radau, "relaxation", 1, stage_times=(1.0, 1.0, 1.0)) == pytest.approx(1, abs=SLACK)
    autonomous = error(radau, "oscillator, held drive", 13, stage_times=(1.0, 1.0, 1.0))
    assert autonomous == error(radau, "oscillator, held drive", 13)


def test_the_momenta_see_the_clock_of_the_positions():
    """Lobatto IIIA–IIIB is of order 4 with the times of IIIA; at other times of the right number it is not."""
    pair = tableaus.get("lobatto iiia-iiib, order 4")
    assert isinstance(pair, PartitionedTableau)
    assert prepared(pair, OSCILLATOR, 0.1).stage_times == tuple(float(c) for c in pair.position.c) == (0.0, 0.5, 1.0)
    assert slope(pair, "oscillator", 4, stage_times=(0.0, 0.25, 1.0)) < 2


@pytest.mark.parametrize("name", ["radau iia 2", "radau iia 3", "lobatto iiic 3", "implicit euler", "alexander 2"])
def test_an_l_stable_method_follows_a_stiff_problem_where_an_explicit_one_explodes(name: str):
    """Prothero & Robinson 1974: y' = λ(y − φ) + φ', φ = sin t, λ = −10⁶, h = 1/20; the solution is φ.

    For λ → −∞ an L-stable method returns to φ at each end of a step, with an error below h/|λ| (implicit Euler: half).
    """
    stiffness, h, steps = -1e6, 0.05, 40
    field = Relaxation(torch.zeros(1, 1, dtype=F64), torch.tensor([-stiffness], dtype=F64))

    def follow(method) -> float:
        step, (y,) = prepared(method, field, h), (torch.zeros(1, dtype=F64),)
        for n in range(steps):
            times = [(n + c) * h for c in step.stage_times]
            drives = [torch.tensor([np.cos(t) - stiffness * np.sin(t)], dtype=F64) for t in times]
            (y,) = step((y,), drives).state
        return abs(float(y) - np.sin(steps * h))

    assert follow(tableaus.get(name)) < -h / stiffness
    assert not follow(tableaus.RK4) < 1e100
