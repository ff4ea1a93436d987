"""thm-O-float: bounds on ‖WᵀW − I‖ against exact defects of computed matrices, and the pinned drift."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from flint import arb

from odernn.bounds import cayley_rounding
from odernn.bounds.numbers import BALLS
from odernn.orthogonal.cayley import block_angles, scaled_cayley, signs_of
from odernn.orthogonal.unitary import unitarity_score
from verification.certify import orthogonality_defect as exact
from verification.measure import orthogonality_drift
from verification.measure.computed_cayley import computed


def test_a_matrix_near_an_orthogonal_one_has_at_most_that_score() -> None:
    """diag(1 + δ, 1, 1) is δ away from I and has the score 2δ + δ²: the bound is attained."""
    for delta in (1e-3, 0.5):
        W = np.diag([1 + delta, 1.0, 1.0])
        bound = math.exp(cayley_rounding.log_score_from_distance(delta))
        assert np.linalg.norm(W.T @ W - np.eye(3)) == pytest.approx(bound, rel=1e-12)
        halves = cayley_rounding.log_accumulated_score(start=delta / 2, errors=delta / 2)
        assert math.exp(halves) == pytest.approx(bound)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_residual_bounds_the_exact_score_of_every_computed_matrix(name: str) -> None:
    generator = random.Random(0)
    for _ in range(60):
        n = generator.randint(2, 5)
        scale = Fraction(2) ** generator.randint(-3, 22)
        free = [Fraction(generator.randint(-1024, 1024), 1024) * scale for _ in range(n * (n - 1) // 2)]
        signs = [generator.choice((-1, 1)) for _ in range(n)]
        for compute in (computed, exact.replayed):
            W = compute(free, signs, name)
            squared = exact.squared_score(W)
            if squared == 0:
                continue
            r = arb(exact.squared_residual(free, signs, W)).sqrt()
            bound = cayley_rounding.log_score_from_residual(r, numbers=BALLS)
            assert arb(squared).sqrt().log() <= bound


def test_half_of_the_residual_bound_would_be_violated() -> None:
    """W = (1 + ε) C(A) D has r = ε‖I + A‖_F and the score 2ε√n: at A = 0 they agree to first order."""
    W = [[Fraction(1025, 1024), Fraction(0)], [Fraction(0), Fraction(1)]]
    r = math.sqrt(float(exact.squared_residual([Fraction(0)], [1, 1], W)))
    score = math.sqrt(float(exact.squared_score(W)))
    assert score > 0.999 * math.exp(cayley_rounding.log_score_from_residual(r))


def test_backward_errors_bound_the_distance() -> None:
    """Columns of solutions with matrices off by exactly η‖I + A‖₂."""
    generator = np.random.default_rng(0)
    for n in (3, 6):
        A = 5 * generator.normal(size=(n, n))
        M, N = np.eye(n) + (A - A.T), np.eye(n) - (A - A.T)
        condition, eta = np.linalg.cond(M), 1e-4
        columns = []
        for c in range(n):
            E = generator.normal(size=(n, n))
            columns.append(np.linalg.solve(M + E * (eta * np.linalg.norm(M, 2) / np.linalg.norm(E, 2)), N[:, c]))
        W = np.stack(columns, axis=1)
        bound = cayley_rounding.log_score_from_backward_error(n, backward_error=eta, condition=condition)
        assert math.log(np.linalg.norm(W.T @ W - np.eye(n))) <= bound


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("eta", [1e-4, 0.1])
def test_the_distance_of_the_backward_error_bound_is_attained(n: int, eta: float) -> None:
    """A = 0, E_c = −η e_c e_cᵀ: W = I/(1 − η) is η √n/(1 − η) away from I, the δ of the bound with κ = 1."""
    W, tolerance = np.eye(n) / (1 - eta), 8 * 2.0**-53 / eta  # W − I cancels: u/η of what is left
    bound = cayley_rounding.log_score_from_backward_error(n, backward_error=eta, condition=1.0)
    attained = cayley_rounding.log_score_from_distance(float(np.linalg.norm(W - np.eye(n))))
    assert bound == pytest.approx(attained, abs=tolerance)
    score = math.log(np.linalg.norm(W.T @ W - np.eye(n)))
    assert score <= bound + tolerance  # with equality at n = 1, else to first order in η
    twice = cayley_rounding.log_score_from_backward_error(n, backward_error=eta / 2, condition=2.0)
    assert twice == pytest.approx(bound, abs=1e-12)


def test_the_expected_score_is_the_printed_formula() -> None:
    """5 √n eps κ: 5 · 8 · 2^-23 · 3 at n = 64."""
    found = cayley_rounding.log_expected_score(64, eps=2.0**-23, condition=3.0)
    assert math.exp(found) == pytest.approx(120 * 2.0**-23, rel=1e-13)


def test_a_singular_problem_has_no_bound() -> None:
    with pytest.raises(ValueError, match="re_sign"):
        cayley_rounding.log_score_from_backward_error(3, backward_error=1e-7, condition=1e7)


@pytest.mark.parametrize("n", [2, 16, 64, 512])
def test_scores_of_float32_are_below_five_root_n_eps_kappa(n: int) -> None:
    """Pinned: block angles, uniform entries in [−1, 1], the same times 100, and sign(j − i), of the largest norm."""
    generator = torch.Generator().manual_seed(n)
    uniform = (2 * torch.rand(n, n, generator=generator, dtype=torch.float64) - 1).triu(1)
    eps = 2.0**-23
    skew, upper = uniform - uniform.T, torch.ones(n, n, dtype=torch.float64).triu(1)
    for A in (block_angles(n, generator=generator, dtype=torch.float64), skew, 100 * skew, upper - upper.T):
        computed = A.to(torch.float32)
        singular = torch.linalg.svdvals(torch.eye(n, dtype=torch.float64) + computed.to(torch.float64))
        condition = float(singular[0] / singular[-1])
        assert eps * condition < 1
        score = unitarity_score(scaled_cayley(computed, signs_of(n, n // 2, "prefix")))
        assert score <= math.exp(cayley_rounding.log_expected_score(n, eps=eps, condition=condition))


@pytest.mark.slow
def test_the_drift_of_the_pinned_run() -> None:
    """n = 64, 1500 updates in float32: scaled Cayley below 1e-5, multiplicative with a slope in [0.4, 1.1]."""
    cayley = orthogonality_drift.drift("scaled Cayley", torch.float32, n=64, updates=1500, seed=0)
    assert max(cayley.scores) < 1e-5 and abs(cayley.slope.value) < 0.1
    for dtype in (torch.float32, torch.float64):
        multiplied = orthogonality_drift.drift("multiplicative", dtype, n=64, updates=1500, seed=0)
        assert 0.4 <= multiplied.slope.value <= 1.1
        assert multiplied.growth > 10
    assert multiplied.updates[-1] == 1500 and math.isnan(multiplied.condition)


@pytest.mark.parametrize("method", [*orthogonality_drift.REMADE, *orthogonality_drift.MULTIPLIED])
def test_every_method_starts_at_rounding_level(method: str) -> None:
    found = orthogonality_drift.drift(method, torch.float64, n=8, updates=20, seed=0)
    assert found.updates == (16, 20) and max(found.scores) < 200 * 2.0**-52


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="scaled Cayley"):
        orthogonality_drift.drift("Gram-Schmidt", torch.float32, n=4, updates=2, seed=0)
