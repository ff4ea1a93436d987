"""thm-C-sums: sums of the moduli of responses, against direct products in sixty digits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from odernn import CoRNN
from odernn.bounds import certify
from odernn.bounds.network import response_sums as module
from odernn.bounds.network.response_sums import PowerBound, response_sums
from odernn.bounds.network.states import ROUNDOFF

STEPS = 1200
MATRICES = {
    "Euler on an oscillator": [[1.0, 0.3], [-0.21, 1.0]],
    "grows fast": [[-1.4, 0.5], [-1.0, 1.9]],
    "grows, of one eigenvector": [[1.05, 1.0], [0.0, 1.05]],
    "grows, and far from normal": [[1.01, 400.0], [0.0, 0.97]],
    "rotates": [[0.96, 0.2], [-0.2, 1.0]],
    "grows linearly": [[1.0, 0.3], [0.0, 1.0]],
    "decays": [[0.7, 0.1], [-0.3, 0.9]],
    "decays from a hump": [[0.99, 30.0], [0.0, 0.98]],
}
EXTREME = {
    "nothing": [[0.0, 0.0], [0.0, 0.0]],
    "nilpotent": [[0.0, 1.0], [0.0, 0.0]],
    "nilpotent and full": [[1.0, 4.0], [-0.25, -1.0]],
    "an entry that is large alone": [[0.5, 1e15], [0.0, 0.5]],
    "an entry that is next to zero": [[0.5, 1.0], [1e-50, 0.5]],
    "grows beyond floats at once": [[1.0 - 1e60, 1.0], [-1e60, 1.0]],
    "squares are below floats": [[0.0, 1e-200], [1e-200, 1e-210]],
}
KICK = [0.04, 0.2]


def directly(M: list[list[float]], kick: list[float], steps: int, e: tuple[float, float]) -> list[Any]:
    """Σ_{j<n} |e·M^j k|, n = 1..N, by products of numbers of sixty digits."""
    (a, b), (c, d) = ([mpmath.mpf(entry) for entry in row] for row in M)
    y, z = (mpmath.mpf(entry) for entry in kick)
    total, found = mpmath.mpf(0), []
    for _ in range(steps):
        total += abs(e[0] * y + e[1] * z)
        found.append(total)
        y, z = a * y + b * z, c * y + d * z
    return found


def excess(log_bound: float, value: Any) -> float:
    return float(mpmath.mpf(float(log_bound)) - mpmath.log(value)) if value else math.inf


@pytest.mark.parametrize("kind", MATRICES)
def test_every_sum_is_an_upper_end_and_nothing_more_at_all_lengths(kind: str) -> None:
    """Between 1 and 1200 steps there is no place where a bound becomes another one."""
    M, e = MATRICES[kind], (0.6, -0.8)
    sizes = np.abs(np.array([M]))
    directions = np.array([[1.0, 0.0], [0.0, 1.0], list(e)])
    found = response_sums(np.array([M]), np.array([KICK]), STEPS, sizes=sizes, is_kept=True, directions=directions)
    with mpmath.workdps(60):
        for place, direction in enumerate(((1.0, 0.0), (0.0, 1.0), e)):
            exact = directly(M, KICK, STEPS, direction)
            gaps = [excess(found.sums[n, place, 0], exact[n]) for n in range(STEPS)]
            assert min(gaps) >= 0, (direction, min(gaps))
            allowed = 1e-6 if kind == "grows, and far from normal" else 1e-9  # measured: 5.4e-8, else 3.1e-10
            assert max(gap for gap in gaps if gap < math.inf) < allowed, direction
        for column, unit in enumerate(([1.0, 0.0], [0.0, 1.0])):
            for row, direction in enumerate(((1.0, 0.0), (0.0, 1.0))):
                power = directly(M, unit, STEPS, direction)[-1]
                assert excess(found.powers[row, column, 0], power) >= 0


@pytest.mark.parametrize("kind", MATRICES)
def test_powers_are_within_their_bound(kind: str) -> None:
    """‖S M^l S⁻¹‖ ≤ P ρ^l, of M and of matrices that differ from it by roundings; attained up to a factor of three."""
    M, steps = np.array(MATRICES[kind]), 200
    rng = np.random.default_rng(0)
    shifted = M + ROUNDOFF * np.abs(M) * rng.uniform(-2, 2, (5, 2, 2))
    for each in (M, *shifted):
        bound = PowerBound.of(M[None], np.abs(M[None]), steps)
        tilt, rate, size = (mpmath.mpf(float(part[0])) for part in (bound.tilt, bound.rate, bound.size))
        with mpmath.workdps(60):
            matrix, power, shares = mpmath.matrix(each.tolist()), mpmath.eye(2), []
            for _ in range(steps):
                scaled = mpmath.matrix([[power[0, 0], power[0, 1] / tilt], [power[1, 0] * tilt, power[1, 1]]])
                square = sum(abs(entry) ** 2 for entry in scaled)
                determinant = mpmath.det(scaled)
                norm = mpmath.sqrt((square + mpmath.sqrt(abs(square**2 - 4 * determinant**2))) / 2)
                shares.append(norm / (size * rate ** len(shares)))
                power = matrix * power
            assert max(shares) <= 1 and max(shares[1:]) > 0.3


@pytest.mark.parametrize("kind", EXTREME)
@pytest.mark.parametrize("steps", [2, 40, 3000])
def test_sums_of_extreme_steps_are_upper_ends_and_nothing_more(kind: str, steps: int) -> None:
    M = EXTREME[kind]
    found = response_sums(np.array([M]), np.array([KICK]), steps, sizes=np.abs(np.array([M]))).sums[-1, :, 0]
    with mpmath.workdps(60):
        exact = [directly(M, KICK, steps, (1.0, 0.0))[-1], directly(M, KICK, steps, (0.0, 1.0))[-1]]
    assert all(0 <= excess(bound, value) < 1e-7 for bound, value in zip(found, exact, strict=True)), found


def test_sums_that_no_logarithm_is_found_of_are_infinite() -> None:
    M = np.array([[[0.5, 1e300], [0.0, 0.5]]])
    assert (response_sums(M, np.array([KICK]), 40, sizes=np.abs(M)).sums == np.inf).all()


def test_a_network_of_nilpotent_steps_has_states_of_one_kick() -> None:
    """dt = γ = ε = 1: z_n = σ_n − y_{n−1} and y_n = y_{n−1} + z_n = σ_n, |y_n| ≤ 1 and |z_n| ≤ 2."""
    network = CoRNN(1, 4, dt=1.0, gamma=1.0, epsilon=1.0, damping="explicit", dtype=torch.float64)
    layer = certify(network, input_bound=1.0, steps=3000).layers[0]
    assert layer["|y_n|, n ≤ N"].log == pytest.approx(0.0, abs=1e-7)  # measured: 6e-9
    assert layer["|z_n|, n ≤ N"].log == pytest.approx(math.log(2), abs=1e-5)  # measured: 3e-6


def lost_digits() -> tuple[list[list[float]], list[list[float]]]:
    """Eigenvalues 2 and ½, and kicks next to the eigenvector of ½: what rounding adds of the other one soon is all."""
    c, s = math.cos(0.4), math.sin(0.4)
    M = [[2 * c * c + 0.5 * s * s, 1.5 * c * s], [1.5 * c * s, 2 * s * s + 0.5 * c * c]]
    return M, [[-s * (1 + 2.0**-50 * j), c] for j in range(8)]


def smallest_excess() -> float:
    M, kicks = lost_digits()
    with mpmath.workdps(60):
        gaps = []
        for kick in kicks:
            found = response_sums(np.array([M]), np.array([kick]), 70, sizes=np.abs(np.array([M])), is_kept=True)
            exact = directly(M, kick, 70, (1.0, 0.0))
            gaps += [excess(found.sums[n, 0, 0], exact[n]) for n in range(70)]
    return min(gaps)


def test_where_all_digits_are_lost_the_bound_knows() -> None:
    assert smallest_excess() >= 0


def test_without_what_rounding_takes_the_bound_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PowerBound.of.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(
        PowerBound, "of", classmethod(lambda cls, *given: replace(real(cls, *given), loss=np.zeros(len(given[0]))))
    )
    assert smallest_excess() < -1e-3


@pytest.mark.parametrize("kind", ["decays", "decays from a hump"])
def test_a_sum_that_decays_is_left_early_and_is_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    M, taken = np.array([MATRICES[kind]]), []
    given = {"sizes": np.abs(M), "directions": np.array([[0.6, -0.8]])}
    real = np.stack
    monkeypatch.setattr(module.np, "stack", lambda *arrays: (taken.append(1), real(*arrays))[1])
    early = response_sums(M, np.array([KICK]), 200_000, **given)
    assert len(taken) < 10_000  # one stack a step, and one at the end
    monkeypatch.setattr(module, "LOOK", 10**9)
    whole = response_sums(M, np.array([KICK]), 20_000, **given)
    gap = early.sums[-1, 0, 0] - whole.sums[-1, 0, 0]
    assert -1e-9 < gap < 1e-7  # the allowance for the number of additions grows with N
