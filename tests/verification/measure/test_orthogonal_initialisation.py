"""thm-init: the spectrum at initialisation against eigenvalues of W, exact polynomials, and the pinned numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.stats import kstest, uniform

from odernn.bounds.numbers import BALLS
from odernn.orthogonal.cayley import block_angles, scaled_cayley, signs_of
from verification.measure.orthogonal_initialisation import (
    Blocks,
    SpectralLaw,
    eigen_angles,
    kolmogorov_distance,
    log_failure_probability,
    spectral_law,
)


def angles_of(A: torch.Tensor, signs: torch.Tensor) -> np.ndarray:
    """Eigen-angles of the computed W in (−π, π], sorted; −π is π."""
    found = np.angle(np.linalg.eigvals(scaled_cayley(A, signs).numpy()))
    return np.sort(np.where(found < -math.pi + 1e-7, found + 2 * math.pi, found))


def test_a_third_of_pi_gives_the_pinned_eigenvalues() -> None:
    assert eigen_angles(np.array([math.pi / 3]), [1, 1]) == pytest.approx([-math.pi / 3, math.pi / 3])
    s = math.tan(math.pi / 6)
    W = scaled_cayley(torch.tensor([[0.0, s], [-s, 0.0]], dtype=torch.float64), torch.ones(2))
    assert np.sort_complex(np.linalg.eigvals(W.numpy())) == pytest.approx(np.exp(1j * math.pi / 3 * np.array([-1, 1])))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_angles_are_those_of_the_computed_matrix_for_every_sign(n: int) -> None:
    A = block_angles(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    t = 2 * np.arctan(np.diag(A.numpy(), 1)[0::2])
    for signs in itertools.product((1, -1), repeat=n):
        expected = eigen_angles(t[: n // 2], signs)
        np.testing.assert_allclose(angles_of(A, torch.tensor(signs)), expected, atol=1e-7)  # −1 twice: √u apart


def test_the_blocks_are_counted() -> None:
    assert Blocks.of([1, 1, -1, -1, 1, -1, -1]) == Blocks(kept=1, reflected=1, mixed=1, last=-1)
    assert Blocks.of([1, 1, -1, -1, 1, -1, -1]).size == 7
    for n in range(1, 7):
        for signs in itertools.product((1, -1), repeat=n):
            assert Blocks.of(signs).left == signs.count(-1)
    with pytest.raises(ValueError, match="signs"):
        Blocks.of([1, 0])


def test_the_distance_at_2000_is_below_the_pinned_one() -> None:
    """Half of the blocks reflected: 0.02 at n = 2000; the theorem gives a risk of 0.7 percent, this seed is fixed."""
    n = 2000
    t = np.random.default_rng(0).uniform(0, math.pi / 2, n // 2)
    signs = signs_of(n, n // 2).tolist()
    assert kolmogorov_distance(eigen_angles(t, signs)) <= 0.02
    assert math.exp(log_failure_probability(n, 0.02)) == pytest.approx(4 * math.exp(-6.4))
    with_balls = log_failure_probability(n, BALLS.exact(Fraction(1, 50)), numbers=BALLS)
    assert float(with_balls) == pytest.approx(math.log(4) - 6.4)


@pytest.mark.parametrize("groups", [1, 2])
def test_the_bound_on_the_risk_holds_and_is_not_idle(groups: int) -> None:
    """2,000 draws at n = 64: the share beyond d is below the bound, and at half of d far above it."""
    n, generator = 64, np.random.default_rng(1)
    reach = math.pi / 2 if groups == 1 else math.pi
    signs = signs_of(n, 0 if groups == 1 else n // 2).tolist()
    distances = np.array(
        [
            kolmogorov_distance(eigen_angles(generator.uniform(0, math.pi / 2, n // 2), signs), -reach, reach)
            for _ in range(2000)
        ]
    )
    d = math.sqrt((math.log(2 * groups) - math.log(0.05)) / (4 * groups * n))
    risk = math.exp(log_failure_probability(n, d, groups=groups))
    assert risk == pytest.approx(0.05)
    assert (distances > d).mean() <= risk + 3 * math.sqrt(risk / 2000)
    assert (distances > d / 2).mean() > 2 * risk


@pytest.mark.slow
def test_the_law_is_the_one_that_is_drawn() -> None:
    """Shares of arcs and atoms by drawing, for all D with n = 5; distances against a fine histogram."""
    generator = np.random.default_rng(2)
    for signs in itertools.product((1, -1), repeat=5):
        law = spectral_law(Blocks.of(signs))
        angles = np.concatenate([eigen_angles(generator.uniform(0, math.pi / 2, 2), signs) for _ in range(2000)])
        atoms = [(angles == 0.0).mean(), (angles == math.pi).mean()]
        assert atoms == pytest.approx([float(law.at_one), float(law.at_minus_one)])
        right = (np.abs(angles) < math.pi / 2).mean() - atoms[0]
        assert right == pytest.approx(float(law.right), abs=1e-12)
        assert law.right + law.left + law.at_one + law.at_minus_one == 1
        assert kolmogorov_distance(angles) == pytest.approx(float(law.distance), abs=0.03)  # 1.36/√4000


@pytest.mark.parametrize("reach", [math.pi, math.pi / 2])
def test_the_distance_of_a_sample_is_that_of_kolmogorov_and_smirnov(reach: float) -> None:
    """scipy's two-sided statistic, for samples that lie too far to the left, too far to the right, and neither."""
    generator = np.random.default_rng(3)
    for low, high in ((-1.0, 0.2), (-0.2, 1.0), (-1.0, 1.0)):
        angles = reach * generator.uniform(low, high, 57)
        expected = kstest(angles, uniform(-reach, 2 * reach).cdf).statistic
        assert kolmogorov_distance(angles, -reach, reach) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("signs", "distance"),
    [([1], "1/2"), ([-1], "1"), ([1, -1], "1/2"), ([1, 1], "1/4"), ([1, 1, 1], "1/4"), ([-1, -1, 1], "1/6")],
)
def test_distances_of_laws_by_hand(signs: list[int], distance: str) -> None:
    """[−1, −1, 1]: F is 1/3 from −π/2 to 0 and 2/3 from there to π/2, where the uniform law passes 1/2."""
    assert spectral_law(Blocks.of(signs)).distance == Fraction(distance)


def test_only_whole_blocks_are_uniform() -> None:
    assert spectral_law(Blocks.of([1, 1, -1, -1])).is_uniform
    assert spectral_law(Blocks.of([1, 1, -1, -1])).distance == 0
    assert spectral_law(Blocks.of([1] * 6)).is_uniform_on_the_right
    assert not spectral_law(Blocks.of([1] * 7)).is_uniform_on_the_right
    mixed = spectral_law(Blocks.of([1, 1, 1, -1, -1, -1]))
    assert mixed == SpectralLaw(Fraction(1, 3), Fraction(1, 3), Fraction(1, 6), Fraction(1, 6))
    assert not mixed.is_uniform and mixed.distance == Fraction(1, 6)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="angle a block"):
        eigen_angles(np.zeros(2), [1, 1])
    for n, groups in ((6, 2), (5, 1), (8, 3)):
        with pytest.raises(ValueError, match="groups"):
            log_failure_probability(n, 0.1, groups=groups)
