"""thm-ARNN and thm-ARNN-drive: radii against eigenvalues in numpy, the cells' own Jacobians, and words of slopes."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from odernn import ARNN12, ARNN22, AntisymmetricRNN
from odernn.bounds import arnn
from odernn.bounds.numbers import BALLS

SCHEMES = tuple(arnn.THRESHOLDS)
F = Fraction


def radius(scheme: str, a: float) -> float:
    return math.exp(float(arnn.log_radius(scheme, a)))


@pytest.mark.parametrize(("scheme", "below", "above"), [("symplectic_euler", 1.999, 2.01), ("leapfrog", 0.999, 1.01)])
def test_pinned_radii(scheme, below, above):
    assert radius(scheme, below) == pytest.approx(1, abs=1e-9)
    assert radius(scheme, above) > 1.001


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("a", [0.1, 0.75, 1.0, 1.5, 1.999, 2.0, 3.25])
def test_the_radius_is_that_of_the_matrix(scheme, a):
    """Eigenvalues of a double root are known to √eps only."""
    largest = np.abs(np.linalg.eigvals(np.array(arnn.step_matrix(scheme, a)))).max()
    assert radius(scheme, a) == pytest.approx(largest, rel=1e-7)
    assert (largest > 1 + 1e-7) == (a > arnn.THRESHOLDS[scheme])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_balls_enclose_the_floats(scheme):
    with flint.ctx.workprec(128):
        ball = arnn.log_radius(scheme, BALLS.exact(F(5, 2)), BALLS)
    assert float(ball) == pytest.approx(float(arnn.log_radius(scheme, 2.5)), rel=1e-14, abs=1e-15)


def test_at_the_threshold_there_is_a_jordan_block():
    (a, b), (c, d) = arnn.step_matrix("symplectic_euler", F(2))
    rest = np.array([[a + 1, b], [c, d + 1]], dtype=object)
    assert rest.any() and not (rest @ rest).any()


def test_the_step_of_arnn12_has_these_matrices():
    """The Jacobian of the cell at q = p = 0 with ReLU replaced by tanh: slopes 1."""
    network = ARNN12(1, 3, dt=0.4, shared=True, dtype=torch.float64)
    layer = network.layers[0]
    with torch.no_grad():
        layer.free.copy_(torch.tensor([1.0, 0.5, -0.25, -2.0, 0.75, 1.5]))
    zero = torch.zeros(1, 3, dtype=torch.float64)
    step = layer.stepper()

    def flat(state):
        q, p = step((state[None, :3], state[None, 3:]), zero.new_zeros(1, 3))
        return torch.cat([q[0], p[0]])

    J = torch.autograd.functional.jacobian(flat, torch.zeros(6, dtype=torch.float64)).numpy()
    from odernn.cells.arnn_1_2 import symmetric

    modes = 0.4 * np.abs(np.linalg.eigvalsh(symmetric(layer.free.detach(), 3).numpy()))
    wanted = np.concatenate([np.linalg.eigvals(np.array(arnn.step_matrix("symplectic_euler", a))) for a in modes])
    found = np.linalg.eigvals(J)
    for value in wanted:
        assert np.abs(found - value).min() < 1e-8


@pytest.mark.parametrize("scheme", ["symplectic_euler", "leapfrog"])
@pytest.mark.parametrize("a", [F(3, 2), F(1), F(3, 4), F(1, 2), F(1, 10), F(1, 37)])
def test_a_resonant_word_grows_and_is_the_shortest_of_its_kind(scheme, a):
    def trace(word):
        x, y = [F(1), F(0)], [F(0), F(1)]
        for slopes in word:
            if scheme == "symplectic_euler":
                kick, drift = slopes
                x = [u - a * kick * v for u, v in zip(x, y, strict=True)]
                y = [v + a * drift * u for u, v in zip(x, y, strict=True)]
            else:
                x, y = [2 * a * slopes[0] * u - v for u, v in zip(x, y, strict=True)], x
        return x[0] + y[1]

    word = arnn.resonant_word(scheme, a)
    m = len(word) if scheme == "symplectic_euler" else (len(word) + 1) // 2
    expected = 2 - m * a * a if scheme == "symplectic_euler" else 2 * a * m
    assert abs(trace(word)) == abs(expected) > 2
    shorter = word[:-1] if scheme == "symplectic_euler" else word[:-2]
    assert not shorter or abs(trace(shorter)) <= 2


@pytest.mark.parametrize(("gamma", "frequency"), [(F(1, 10), F(3)), (F(2), F(0)), (F(1), F(1))])
def test_the_largest_damped_step_is_sharp(gamma, frequency):
    eta = arnn.largest_damped_step(gamma, frequency)
    for step, sign in ((eta, 0), (eta * F(99, 100), -1), (eta * F(101, 100), 1)):
        beyond = (1 - step * gamma) ** 2 + (step * frequency) ** 2 - 1
        assert (beyond > 0) - (beyond < 0) == sign
    assert arnn.largest_damped_step(0, 1) == 0  # undamped: no step at all


@pytest.mark.parametrize(("share", "grows"), [(0.99, False), (1.01, True)])
def test_the_step_of_antisymmetric_rnn_has_that_threshold(share, grows):
    """W − Wᵀ = [[0, λ], [−λ, 0]], γ = 1/4, at h = 0, where the slopes are 1."""
    gamma, frequency = 0.25, 1.5
    eta = share * arnn.largest_damped_step(gamma, frequency)
    layer = AntisymmetricRNN(1, 2, dt=eta, gamma=gamma, bias=False, dtype=torch.float64).layers[0]
    with torch.no_grad():
        layer.free.fill_(frequency)
    step, drive = layer.stepper(), torch.zeros(1, 2, dtype=torch.float64)
    J = torch.autograd.functional.jacobian(lambda h: step((h[None],), drive)[0][0], torch.zeros(2, dtype=torch.float64))
    assert (np.abs(np.linalg.eigvals(J.numpy())).max() > 1) == grows


def test_a_layer_is_decided_exactly():
    """η max|λ| one unit in the last place below 2, at 2, and above."""
    network = ARNN12(1, 2, dt=1.0, dtype=torch.float64)
    layer = network.layers[0]
    for entry, holds in ((math.nextafter(2.0, 0.0), True), (2.0, False), (math.nextafter(2.0, 3.0), False)):
        with torch.no_grad():
            layer.free.copy_(torch.tensor([0.0, entry, 0.0], dtype=torch.float64))  # S = [[0, x], [x, 0]]
        found = arnn.frozen_slopes(layer)
        assert (found.holds, found.exact) == (holds, True)
        assert (found.margin > 0) == holds


@pytest.mark.parametrize(("size", "dt"), [(2, 0.5), (3, 0.25)])
def test_the_margin_is_the_smallest_pivot(size, dt):
    """S diagonal: the pivots are 4 − dt² S_ii², by hand."""
    layer = ARNN12(1, size, dt=dt, dtype=torch.float64).layers[0]
    entries = [1.0, -3.0, 2.0][:size]
    with torch.no_grad():
        layer.free.copy_(torch.diag(torch.tensor(entries, dtype=torch.float64))[tuple(torch.triu_indices(size, size))])
    found = arnn.frozen_slopes(layer)
    assert found.holds and found.margin == 4 - F(dt) ** 2 * 9
    layer = ARNN22(1, 2, dt=dt, dtype=torch.float64).layers[0]
    with torch.no_grad():
        layer.free.fill_(1.5)
    assert arnn.frozen_slopes(layer).margin == 1 - F(dt) ** 2 * F(9, 4)


def test_random_layers_agree_with_the_spectral_radius():
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        one = ARNN12(1, 5, dt=0.9, generator=generator, dtype=torch.float64).layers[0]
        other = ARNN22(1, 5, dt=0.45, generator=generator, dtype=torch.float64).layers[0]
        from odernn.cells.arnn_1_2 import symmetric
        from odernn.orthogonal.cayley import skew

        for layer, W, threshold in ((one, symmetric(one.free, 5), 2), (other, skew(other.free, 5), 1)):
            size = float(layer.dt) * float(torch.linalg.eigvals(W.detach()).abs().max())
            assert arnn.frozen_slopes(layer).holds == (size < threshold)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="Choose from"):
        arnn.log_radius("heun", 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Choose from"):
        arnn.step_matrix("heun", 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no resonance"):
        arnn.resonant_word("leapfrog", F(0))
    with pytest.raises(ValueError, match="Words are known"):
        arnn.resonant_word("forward_euler", F(1))
    with pytest.raises(TypeError, match="no threshold"):
        arnn.frozen_slopes(ARNN22(1, 2, dt=0.1, scheme="forward_euler").layers[0])  # type: ignore[arg-type]
