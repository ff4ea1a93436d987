"""Butcher's transformation puts A together again, for every method that has one; and says where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from odernn import tableaus
from odernn.exact.algebraic import nearest_float
from odernn.integrators.transformation import Mode, modes_of
from odernn.tableaus.tableau import ButcherTableau

METHODS = [name for name in tableaus.names() if isinstance(tableaus.get(name), ButcherTableau)]
WITHOUT = {"alexander 2", "kvaerno 3", "lobatto iiic* 3", "tr-bdf2", "qin zhang", "norsett thomsen 1"}
"""A double eigenvalue: of diagonally implicit methods with one diagonal entry, and 0 of three explicit stages."""


def numbers(mode: Mode) -> tuple[complex, np.ndarray]:
    return complex(*mode.eigenvalue), np.array([[complex(*entry) for entry in row] for row in mode.projector])


@pytest.mark.parametrize("name", METHODS)
def test_eigenvalues_and_projectors_are_those_of_the_exact_coefficients(name: str):
    """Σ λ E = A, A E = λ E, E² = E, tr E = 1, with each conjugate pair written once."""
    A = np.array([[nearest_float(entry) for entry in row] for row in tableaus.get(name).A])
    modes = modes_of(tableaus.get(name).A)
    if modes is None:
        eigenvalues = np.linalg.eigvals(A)
        gaps = np.abs(eigenvalues[:, None] - eigenvalues)[~np.eye(len(A), dtype=bool)]
        assert gaps.min() < 1e-2 or len(A) > 8  # numpy tells a double eigenvalue apart only to the root of eps
        return
    total = np.zeros_like(A)
    for mode in modes:
        value, E = numbers(mode)
        assert np.abs(A @ E - value * E).max() < 1e-14 and np.abs(E @ E - E).max() < 1e-13
        assert abs(np.trace(E) - 1) < 1e-14 and value != 0 and value.imag >= 0
        assert mode.weight == (2.0 if value.imag else 1.0)
        total += mode.weight * (value * E).real
    assert np.abs(total - A).max() < 1e-14


def test_the_eigenvalues_of_gauss_and_radau_are_the_printed_ones():
    """Hairer, Wanner 1996, Section IV.8: 1/4 ± i/(4√3) of Gauss 2; of Radau IIA 3 one is real."""
    (gauss,) = modes_of(tableaus.GAUSS_2.A)
    assert complex(*gauss.eigenvalue) == pytest.approx(0.25 + 1j / (4 * 3**0.5), abs=1e-16)
    radau = modes_of(tableaus.get("radau iia 3").A)
    assert sorted(mode.weight for mode in radau) == [1.0, 2.0]
    assert modes_of(tableaus.get("trapezoidal").A)[0].eigenvalue == (0.5, 0.0)  # 0 needs no factor


def test_a_double_eigenvalue_has_no_transformation():
    assert all(modes_of(tableaus.get(name).A) is None for name in WITHOUT)
