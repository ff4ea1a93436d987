"""thm-H-grad: exact ranks over the rationals, the pinned float32 run, and what has no lower bound."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.bounds import hidden_gradient
from odernn.cells.scornn import ScoRNN
from verification.certify.second.modrelu_run import orthogonal_matrix


def rational_orthogonal(n: int, generator: random.Random) -> list[list[Fraction]]:
    free = [Fraction(generator.randint(-3, 3), generator.randint(1, 3)) for _ in range(n * (n - 1) // 2)]
    return orthogonal_matrix(free, [Fraction(generator.choice((-1, 1))) for _ in range(n)])


def test_singular_values_and_isometric_dimensions_of_random_products() -> None:
    generator, full = random.Random(0), 0
    for _ in range(150):
        n, steps = generator.randint(2, 5), generator.randint(1, 4)
        W = rational_orthogonal(n, generator)
        active = [[int(generator.random() < 0.75) for _ in range(n)] for _ in range(steps)]
        silent = [row.count(0) for row in active]
        J = hidden_gradient.jacobian(W, active)
        dimension = hidden_gradient.isometric_dimension(J)
        inertia = hidden_gradient.contraction_inertia(J)
        assert inertia.is_semidefinite and inertia.zero == dimension
        least = hidden_gradient.least_isometric_dimension(n, silent)
        assert dimension >= least == max(n - sum(silent), 0)
        full += dimension == least
        assert (dimension == n) == (sum(silent) == 0)
        singular = np.linalg.svd(np.array([[float(x) for x in row] for row in J]), compute_uv=False)
        assert (singular <= 1 + 1e-12).all()
        assert int((singular > 1 - 1e-9).sum()) == dimension
        if hidden_gradient.log_least_norm(n, silent) is not None:
            assert singular[0] == pytest.approx(1.0)
    assert full > 75  # the count is not idle


def test_half_as_many_silent_units_would_be_too_few() -> None:
    """One silent unit in a rotation leaves exactly n − 1 directions: n − ⌊r/2⌋ is refuted."""
    W = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]
    J = hidden_gradient.jacobian(W, [[1, 0]])
    assert hidden_gradient.isometric_dimension(J) == 1 < hidden_gradient.least_isometric_dimension(2, [0])


def test_a_product_can_be_zero_after_two_steps() -> None:
    one = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    J = hidden_gradient.jacobian(one, [[1, 0], [0, 1]])
    assert all(x == 0 for row in J for x in row)
    assert hidden_gradient.log_least_norm(2, [1, 1]) is None and hidden_gradient.log_least_norm(2, [1, 0]) == 0.0


def test_gradients_keep_their_norm_for_300_steps_with_nonnegative_biases() -> None:
    network = ScoRNN(2, 40, rho=20, generator=torch.Generator().manual_seed(0))
    layer = network.layers[0]
    with torch.no_grad():
        layer.b.uniform_(0.0, 0.01, generator=torch.Generator().manual_seed(1))
    drives = layer.drives(torch.randn(300, 3, 2, generator=torch.Generator().manual_seed(2)))
    step = layer.stepper()
    (h,) = step((torch.zeros(3, 40),), drives[0])
    first = h
    first.retain_grad()
    for x in drives[1:]:
        (h,) = step((h,), x)
    h.retain_grad()
    (h @ torch.randn(40, generator=torch.Generator().manual_seed(3))).sum().backward()
    ratio = torch.linalg.vector_norm(first.grad, dim=1) / torch.linalg.vector_norm(h.grad, dim=1)
    assert (ratio - 1).abs().max() < 1e-5


def test_a_defect_of_W_is_paid_for_by_half_a_power_a_step() -> None:
    generator = np.random.default_rng(0)
    Q = np.linalg.qr(generator.normal(size=(6, 6)))[0]
    W = Q @ np.diag(1 + 0.01 * generator.uniform(size=6))
    defect = np.linalg.norm(W.T @ W - np.eye(6), 2)
    for steps in (1, 10, 200):
        norm = np.linalg.norm(np.linalg.matrix_power(W, steps), 2)
        assert math.log(norm) <= hidden_gradient.log_largest_gain(defect=defect, steps=steps) + 1e-12
    D = np.diag([1.0, 1.1])
    growth = math.log(np.linalg.norm(np.linalg.matrix_power(D, 7), 2))
    assert growth == pytest.approx(hidden_gradient.log_largest_gain(defect=0.21, steps=7))


def test_more_silent_units_than_units_are_refused() -> None:
    with pytest.raises(ValueError, match="silent"):
        hidden_gradient.least_isometric_dimension(3, [4])
