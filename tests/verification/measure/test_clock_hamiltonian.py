"""thm-clock: truth tables, spectra by numpy, the frame of the clock, and circuits that are none."""

from __future__ import annotations

import math

import flint
import numpy as np
import pytest

from odernn.bounds.numbers import BALLS
from verification.measure import clock_hamiltonian as clock

CIRCUITS = (clock.NOT, clock.HALF_ADDER, clock.FULL_ADDER)
every_circuit = pytest.mark.parametrize("circuit", CIRCUITS, ids=lambda c: c.name)


def H(circuit: clock.Circuit, word: int, **options) -> np.ndarray:
    return np.array(clock.hamiltonian(circuit, word, **options), dtype=float) / 2


def test_the_adders_add():
    for word in range(8):
        a, b, c = (word >> k & 1 for k in range(3))
        half, full = clock.HALF_ADDER.run(word & 3)[-1], clock.FULL_ADDER.run(word)[-1]
        assert (half >> 1 & 1) + 2 * (half >> 2 & 1) == a + b and half & 1 == a
        assert (full >> 2 & 1) + 2 * (full >> 3 & 1) == a + b + c and full & 3 == word & 3
    assert [c.steps for c in CIRCUITS] == [1, 2, 5] and [c.bits for c in CIRCUITS] == [1, 3, 4]


@pytest.mark.parametrize(("steps", "value"), [(1, 0.2928932), (2, 0.1339746), (3, 0.0761205), (5, 0.0340742)])
def test_pinned_gaps(steps, value):
    assert float(clock.gap(steps)) == pytest.approx(value, abs=5e-8)
    with flint.ctx.workprec(128):
        ball = clock.gap(steps, BALLS)
        assert ball.overlaps(1 - (BALLS.pi() / (2 * (steps + 1))).cos())


def test_the_gap_falls_like_the_square_of_the_length():
    assert float(clock.gap(10**6)) * 8 * (10**6 + 1) ** 2 == pytest.approx(math.pi**2, rel=1e-9)


@every_circuit
def test_spectrum_kernel_and_gap(circuit):
    """numpy's eigenvalues of a symmetric matrix of norm at most n + 1 are right to size · eps · norm."""
    tolerance = circuit.size * 2.3e-16 * (circuit.bits + 1)
    for word in range(2**circuit.bits):
        values = np.linalg.eigvalsh(H(circuit, word))
        assert abs(values[0]) < tolerance and abs(values[1] - float(clock.gap(circuit.steps))) < tolerance
        assert sum(abs(values - float(clock.gap(circuit.steps))) < tolerance) == circuit.bits
        vector = np.array(clock.kernel(circuit, word))
        assert not (np.array(clock.hamiltonian(circuit, word)) @ vector).any()
        assert vector @ vector == circuit.steps + 1
        assert vector[-(2**circuit.bits) :].nonzero()[0].tolist() == [circuit.run(word)[-1]]


@every_circuit
def test_propagation_alone_has_the_spectrum_of_a_path(circuit):
    values = np.linalg.eigvalsh(H(circuit, 0, with_input=False))
    wanted = np.repeat(clock.propagation_spectrum(circuit.steps), 2**circuit.bits)
    assert np.abs(values - wanted).max() < circuit.size * 2.3e-16 * 2


@every_circuit
def test_hopping_alone_has_the_lowest_energy_of_a_path_with_open_ends(circuit):
    """−cos(π/(T + 2)) with the factor ½."""
    hopping = H(circuit, 0, with_input=False)
    np.fill_diagonal(hopping, 0)
    lowest = np.linalg.eigvalsh(hopping)[0]
    assert lowest == pytest.approx(-math.cos(math.pi / (circuit.steps + 2)), abs=1e-13)


@every_circuit
def test_there_is_one_term_a_gate_and_one_a_bit(circuit):
    found = clock.terms(circuit, 1)
    assert len(found) == circuit.steps + circuit.bits
    assert clock.dense(circuit.size, found) == clock.hamiltonian(circuit, 1)
    assert len(clock.terms(circuit, 1, with_input=False)) == circuit.steps


def test_a_missing_price_makes_another_history_free():
    """Planted: without the price of one bit the kernel has two dimensions."""
    circuit = clock.HALF_ADDER
    cheap = [term for term in clock.terms(circuit, 0) if term.name != "input bit 1"]
    values = np.linalg.eigvalsh(np.array(clock.dense(circuit.size, cheap), dtype=float))
    assert sum(abs(values) < 1e-12) == 2


def test_what_is_no_circuit_is_refused():
    with pytest.raises(ValueError, match="does not permute"):
        clock.Circuit("and", 2, ((0, 0, 0, 3),))
    with pytest.raises(ValueError, match="Give one or more"):
        clock.Circuit("nothing", 1, ())
    with pytest.raises(ValueError, match="not different bits"):
        clock.controlled_not(2, (0,), 0)
    with pytest.raises(ValueError, match=r"words 0\.\.1"):
        clock.hamiltonian(clock.NOT, 2)
    for function in (clock.gap, clock.propagation_spectrum):
        with pytest.raises(ValueError, match="at least one gate"):
            function(0)
