"""Norms and eigenvalues: both ways agree with each other and with matrices whose spectrum is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.tiers import slow
from verification.certify import network, spectra
from verification.certify.spectra import Range

FLOATS = {"inf": spectra.infinity_norm, "two": spectra.two_norm, "radius": spectra.spectral_radius}
BALLS = {
    "inf": spectra.infinity_norm_in_balls,
    "two": spectra.two_norm_in_balls,
    "radius": spectra.spectral_radius_in_balls,
}


@dataclass(frozen=True)
class Known:
    """A matrix with its radii."""

    middle: np.ndarray
    radius: np.ndarray

    @staticmethod
    def of(rows: Any, radius: float = 0.0) -> Known:
        middle = np.array(rows, dtype=float)
        return Known(middle, np.full(middle.shape, radius))


def holds(found: Range, value: float, width: float) -> bool:
    return found.upper is not None and found.lower <= value <= found.upper and found.upper - found.lower < width


def rotation(angle: float) -> list[list[float]]:
    return [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]


@pytest.mark.parametrize("way", [FLOATS, BALLS], ids=["floats", "balls"])
def test_matrices_whose_norms_are_known(way):
    diagonal, shear = Known.of(np.diag([3.0, -5.0, 2.0])), Known.of([[1.0, 2.0], [0.0, 1.0]])
    for name, value in (("inf", 5), ("two", 5), ("radius", 5)):
        assert holds(way[name](diagonal), value, 1e-8)
    assert holds(way["inf"](shear), 3, 1e-8)
    assert holds(way["two"](shear), 1 + math.sqrt(2), 1e-8)  # the golden mean's square root of 3 + 2√2
    turned = np.kron(np.diag([1.0, 1.5]), rotation(0.7))
    assert holds(way["radius"](Known.of(turned)), 1.5, 1e-8)


def test_both_ways_agree_on_random_matrices_and_faults_are_told_apart():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 12):
        matrix = Known.of(rng.standard_normal((size, size)), 1e-12)
        other = Known(matrix.middle.copy(), matrix.radius)
        other.middle[0, 0] += 1e-3
        for name in FLOATS:
            first, second, third = BALLS[name](matrix), FLOATS[name](matrix), FLOATS[name](other)
            assert first.upper is not None and second.upper is not None and third.upper is not None
            assert max(first.lower, second.lower) <= min(first.upper, second.upper)
            # Arb widens eigenvalues of matrices that are not exact
            assert first.upper - first.lower < (1e-4 if name == "radius" else 1e-9)
            assert second.upper - second.lower < 1e-6
            if name != "inf":
                assert first.lower > third.upper or first.upper < third.lower, name


@pytest.mark.parametrize("count", [50, slow(200)])
def test_every_matrix_within_the_radii_is_covered(count: int):
    rng = np.random.default_rng(1)
    matrix = Known.of(rng.standard_normal((4, 4)), 1e-3)
    for _ in range(count):
        inside = matrix.middle + 1e-3 * rng.choice([-1.0, 1.0], size=(4, 4))
        for way in (FLOATS, BALLS):
            for name, value in (
                ("inf", np.abs(inside).sum(axis=1).max()),
                ("two", np.linalg.norm(inside, 2)),
                ("radius", np.abs(np.linalg.eigvals(inside)).max()),
            ):
                found = way[name](matrix)
                assert found.lower <= value * (1 + 1e-12)
                assert found.upper is None or value * (1 - 1e-12) <= found.upper
    assert BALLS["two"](matrix).upper is not None and FLOATS["two"](matrix).upper is not None


def test_a_double_eigenvalue_is_handled_in_balls_and_undecided_in_floats():
    free = Known.of([[1.0, 0.5], [0.0, 1.0]])  # a free particle
    assert holds(spectra.spectral_radius_in_balls(free), 1, 1e-6)
    found = spectra.spectral_radius(free)
    assert found.upper is None or found.upper < 1 + 1e-6
    if found.upper is None:
        assert "multiple" in found.because or "dependent" in found.because
    assert holds(spectra.radius_of_blocks(spectra.traces_of_blocks(free)), 1, 1e-6)


def jacobian(seed: int, index: Any) -> Any:
    """Of six steps of three layers of three neurons; one neuron is a saddle."""
    rng = np.random.default_rng(seed)
    layers = [
        {
            "dt": 0.4,
            "alpha": 0.5,
            "w": rng.standard_normal(3) - [0, 0, 3],
            "c": rng.standard_normal(3),
            "b": rng.standard_normal(3),
            "V": rng.standard_normal((3, 2 if l == 0 else 3)),
        }
        for l in range(3)
    ]
    data = network.of_arrays(layers, rng.standard_normal((8, 2)), index=index, previous=(0.0, 0.0))
    return network.certify_jacobian(data, last=8, first=2)[0]


@pytest.mark.parametrize("index", ["icml", "sam"])
def test_the_eigenvalues_of_a_network_are_those_of_its_blocks(index):
    saddles = 0
    for seed in range(4):
        matrix = jacobian(seed, index)
        by_blocks = spectra.radius_of_blocks(spectra.traces_of_blocks(matrix))
        assert by_blocks.upper is not None and by_blocks.upper - by_blocks.lower < 1e-12 * by_blocks.upper
        for found in (spectra.spectral_radius(matrix), spectra.spectral_radius_in_balls(matrix)):
            assert found.upper is not None
            assert max(found.lower, by_blocks.lower) <= min(found.upper, by_blocks.upper)
        two, second = spectra.two_norm_in_balls(matrix), spectra.two_norm(matrix)
        assert two.upper is not None and second.upper is not None
        assert max(two.lower, second.lower) <= min(two.upper, second.upper) and two.lower >= by_blocks.upper * (
            1 - 1e-9
        )
        saddles += by_blocks.lower > 1.1
    assert saddles
    with pytest.raises(ValueError, match="not block triangular"):
        spectra.traces_of_blocks(Known(matrix.middle.T, matrix.radius.T))


def test_an_eigenvalue_disc_of_a_wrong_diagonalisation_is_not_believed(monkeypatch):
    """Eigenvectors that are none make the discs wide, never wrong."""
    eig = np.linalg.eig
    monkeypatch.setattr(np.linalg, "eig", lambda A: (eig(A)[0], eig(A)[1] + 1e-3 * np.eye(len(A))))
    matrix = Known.of(np.random.default_rng(2).standard_normal((4, 4)))
    found, truth = spectra.spectral_radius(matrix), spectra.spectral_radius_in_balls(matrix)
    assert found.upper is not None and truth.upper is not None
    assert found.lower <= truth.lower and truth.upper <= found.upper and found.upper - found.lower > 1e-4
