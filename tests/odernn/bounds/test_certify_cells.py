"""The formulas of ``certify``, typed again: over all paths, signs and slopes of small networks; orthogonal maps."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import _cell_attacks as attacks
from odernn.bounds import certify, gradient
from odernn.bounds.gradient import LayerConstants
from odernn.bounds.network import arnn, cornn, euler, orthogonal, sweeps
from odernn.bounds.network.response_sums import response_sums
from odernn.bounds.network.sweeps import StepConstants
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.arnn_1_2 import ARNN12
from odernn.cells.arnn_2_2 import ARNN22
from odernn.cells.cornn import CoRNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.indrnn import IndRNN
from odernn.cells.lipschitz import LipschitzRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.urnn import URNN
from tests.odernn.bounds.small_networks import F64, bent, drawn, norm, vertices
from tests.tiers import spread

# --- sums over paths


@pytest.mark.parametrize("steps", [1, 2, 30])
def test_a_sweep_is_the_sum_over_all_earlier_steps(steps: int) -> None:
    rng = np.random.default_rng(steps)
    rates, source, start = rng.normal(size=steps), rng.normal(size=(steps, 1)), np.array([0.3])
    found = sweeps.geometric(rates)(source, start)[:, 0]
    for n in range(1, steps + 1):
        terms = [math.exp(source[j - 1, 0] + rates[j:n].sum()) for j in range(1, n + 1)]
        expected = math.log(sum(terms) + math.exp(0.3 + rates[:n].sum()))
        assert 0 <= found[n - 1] - expected < 1e-10 * steps
    constant = sweeps.geometric(0.25)(source, start)
    assert constant == pytest.approx(sweeps.geometric(np.full(steps, 0.25))(source, start), rel=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gradients_of_a_stack_are_those_of_all_lattice_paths(depth: int) -> None:
    """With constants that do not change in time thm-C-path is the sum of binomials of thm-G."""
    steps, rate, climb, readout, direct, error = 17, 0.13, -0.4, 0.2, -1.1, 0.7
    same = StepConstants(sweeps.geometric(rate), np.array([climb]), readout, {"w": np.full((steps, 1), direct)})
    found = sweeps.log_gradients([same] * depth, np.full(steps, error))
    levels = [
        LayerConstants(
            rate=rate, log_climbs={q: climb + (readout if q else 0.0)}, log_output=readout, log_direct={"w": direct}
        )
        for q in range(depth)
    ]
    for source in range(1, depth + 1):
        expected = gradient.log_gradient_bound(
            levels, source=source, parameter="w", log_error=error, outputs=1, steps=steps
        )
        assert 0 <= found[source - 1]["w"] - expected < 1e-9


def test_products_that_are_bounded_in_pairs_are_a_sum_with_their_constant() -> None:
    """thm-C-path (b): steps of norms 3 and 1/3 in turn have products of at most 3, and no step is by 1."""
    rng, steps = np.random.default_rng(0), 9
    for start in (0, 1):
        J = [np.diag([3.0, 1 / 3] if (n + start) % 2 else [1 / 3, 3.0]) for n in range(steps)]
        q = rng.normal(size=(steps, 2))
        g = np.linalg.norm(q, axis=1)
        bound = np.exp(sweeps.geometric(0.0)(np.log(3.0 * g)[:, None], np.array([sweeps.NOTHING]))[:, 0])
        change = np.zeros(2)
        for n in range(steps):
            change = J[n] @ change + q[n]
            assert np.linalg.norm(change) <= bound[n] and bound[n] == pytest.approx(3 * g[: n + 1].sum())


def test_a_learned_start_is_carried_to_every_step() -> None:
    layer = StepConstants(sweeps.geometric(0.5), np.array([0.0]), 0.0, {}, {"h0": np.array([0.2])})
    assert sweeps.log_gradients([layer], np.zeros(8))[0]["h0"] == pytest.approx(0.2 + 4.0, abs=1e-9)


@pytest.mark.parametrize(
    ("M", "tight"),
    [
        ([[0.96, 0.2], [-0.2, 1.0]], True),  # a rotation
        ([[0.7, 0.1], [-0.3, 0.9]], True),
        ([[1.0, 0.3], [0.0, 1.0]], True),  # grows linearly
        ([[-1.4, 0.5], [-1.0, 0.4]], False),  # an unstable step
    ],
)
def test_sums_of_responses_are_upper_ends_of_those_in_fifty_digits(M: list[list[float]], tight: bool) -> None:
    steps, kick = 60, [0.04, 0.2]
    found = response_sums(np.array([M]), np.array([kick]), steps, sizes=np.abs(np.array([M])), is_kept=True)
    with mpmath.workdps(50):
        matrix, power = mpmath.matrix(M), mpmath.eye(2)
        total, totals = mpmath.matrix(2, 1), mpmath.matrix(2, 2)
        for n in range(steps):
            response = power * mpmath.matrix(kick)
            total = mpmath.matrix([total[i] + abs(response[i]) for i in (0, 1)])
            totals = mpmath.matrix([[totals[i, j] + abs(power[i, j]) for j in (0, 1)] for i in (0, 1)])
            power = matrix * power
            for i in (0, 1):
                excess = found.sums[n, i, 0] - float(mpmath.log(total[i]))
                assert excess >= 0 and (excess < 1e-9 or not tight)
        for i, j in itertools.product((0, 1), repeat=2):
            if totals[i, j]:
                assert found.powers[i, j, 0] >= float(mpmath.log(totals[i, j]))


# --- coRNN


@pytest.mark.parametrize("damping", ["explicit", "implicit"])
def test_suprema_of_cornn_are_those_over_all_signs(damping: Any) -> None:
    layer = CoRNN(1, 1, dt=0.4, gamma=2.0, epsilon=0.7, damping=damping, dtype=F64).layers[0]
    step, steps = cornn.CoupledStep.of(layer), 9
    best = np.zeros(2)
    for signs in itertools.product((-1.0, 1.0), repeat=steps):
        y = z = 0.0
        for s in signs:
            z = z + 0.4 * (s - 2.0 * y - (0.7 * z if damping == "explicit" else 0.0))
            z = z if damping == "explicit" else z / 1.28
            y = y + 0.4 * z
        best = np.maximum(best, np.abs([y, z]))
    found = np.exp(cornn.responses_of(step, steps).sums[-1, :, 0])
    assert found == pytest.approx(best, rel=1e-10) and (found >= best).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_rate_of_cornn_bounds_every_choice_of_slopes_in_its_norm(seed: int) -> None:
    layer = bent(CoRNN(1, 2, dt=0.3, gamma=1.5, epsilon=0.8, dtype=F64), seed).layers[0]
    step = cornn.CoupledStep.of(layer)
    L, rate = cornn.best_norm(layer, step)
    assert rate <= cornn.step_rate(layer, step, np.eye(2))
    wide = torch.kron(torch.from_numpy(L), torch.eye(2, dtype=F64))
    dt, worst = 0.3, 0.0
    for D in vertices(2):
        kick = torch.cat((D @ layer.W, D @ layer.W_z), dim=1).detach()
        eye = torch.eye(2, dtype=F64)
        z = torch.cat((-dt * 1.5 * eye, (1 - dt * 0.8) * eye), dim=1) + dt * kick
        J = torch.cat((torch.cat((eye, 0 * eye), dim=1) + dt * z, z))
        worst = max(worst, norm(wide @ J @ torch.linalg.inv(wide)))
    assert 0.7 * math.exp(rate) < worst <= math.exp(rate) * (1 + 1e-12)


# --- explicit steps


@pytest.mark.parametrize(("n", "lowest"), [(2, 0.0), (3, 0.0), (4, 0.0), (3, -0.25)])
def test_the_rate_of_a_skew_step_bounds_every_choice_of_slopes(n: int, lowest: float) -> None:
    for seed, dt, gamma in itertools.product(range(3), (0.05, 0.5), (0.0, 0.4)):
        W = torch.randn(n, n, generator=drawn(seed), dtype=F64)
        S = W - W.T
        A = S - gamma * torch.eye(n, dtype=F64)
        rate = euler.skew_step_rate(dt, gamma, norm(S), lowest_slope=lowest)
        worst = max(norm(torch.eye(n, dtype=F64) + dt * D @ A) for D in vertices(n, lowest))
        assert worst <= math.exp(rate) * (1 + 1e-12)
        assert n > 2 or lowest or math.log(worst) > 0.4 * rate


@pytest.mark.parametrize("method", ["euler", "midpoint"])
def test_the_rate_of_a_lipschitz_rnn_bounds_every_choice_of_slopes(method: Any) -> None:
    options = {"beta_a": 0.8, "gamma_a": 0.9, "beta_w": 0.6, "gamma_w": 0.2, "method": method, "dtype": F64}
    for seed, dt in itertools.product(range(3), (0.05, 0.4)):
        layer = bent(LipschitzRNN(1, 3, dt=dt, **options), seed, 0.5).layers[0]
        A, W = (matrix.detach() for matrix in layer.matrices())
        mu = layer.field().constants().one_sided_lipschitz
        rate, plain = euler.lipschitz_rates(A, W, dt, is_midpoint=method == "midpoint", mu=mu)
        eye, worst = torch.eye(3, dtype=F64), 0.0
        for D, D_2 in itertools.product(vertices(3), repeat=2):
            G, G_2 = A + D @ W, A + D_2 @ W
            J = eye + dt * G if method == "euler" else eye + dt * G @ (eye + 0.5 * dt * G_2)
            worst = max(worst, norm(J))
        assert 0.5 * math.exp(rate) < worst <= math.exp(rate) * (1 + 1e-12)
        linear = eye + dt * A + (0.5 * dt * dt * A @ A if method == "midpoint" else 0.0)
        assert plain == pytest.approx(math.log(norm(linear)), abs=1e-9)


def test_a_contracting_lipschitz_rnn_has_a_negative_rate() -> None:
    network = LipschitzRNN(1, 3, dt=0.1, beta_a=1.0, gamma_a=3.0, beta_w=1.0, gamma_w=0.0, generator=drawn(), dtype=F64)
    lines = certify(network, input_bound=1.0, steps=100).layers[0]
    assert lines["‖∂h_N/∂h_1‖₂"].log < -1.0  # type: ignore[operator]
    assert lines["‖h_n‖₂, n ≤ N"].log < math.log(3**0.5)  # type: ignore[operator]


def test_the_rates_of_arnns_bound_every_choice_of_slopes() -> None:
    eye = torch.eye(2, dtype=F64)
    for seed, dt in itertools.product(range(4), (0.03, 0.2, 0.6)):
        network = bent(ARNN12(1, 2, dt=dt, dtype=F64), seed)
        S = torch.randn(2, 2, generator=drawn(seed), dtype=F64)
        S = S + S.T
        step, worst = arnn.step_of(network.layers[0], norm(S), 50), 0.0
        for D, D_2 in itertools.product(vertices(2), repeat=2):
            kick = torch.cat((torch.cat((eye, 0 * eye), dim=1), torch.cat((-dt * D @ S, eye), dim=1)))
            drift = torch.cat((torch.cat((eye, dt * D_2 @ S), dim=1), torch.cat((0 * eye, eye), dim=1)))
            worst = max(worst, norm(drift @ kick))
        assert math.log(worst) <= step.rate + step.log_odd + 1e-12 and math.log(worst) > 0.4 * step.rate
        W = S.triu(1) - S.triu(1).T
        leap = arnn.step_of(bent(ARNN22(1, 2, dt=dt, dtype=F64), seed).layers[0], norm(W), 50)
        jacobians = [
            torch.cat((torch.cat((2 * dt * D @ W, eye), dim=1), torch.cat((eye, 0 * eye), dim=1))) for D in vertices(2)
        ]
        for count in (1, 2, 3):
            products = (
                torch.linalg.multi_dot([eye.new_tensor(np.eye(4)), *word])
                for word in itertools.product(jacobians, repeat=count)
            )
            assert math.log(max(norm(J) for J in products)) <= count * leap.rate + leap.log_odd + 1e-12
        middle = arnn.step_of(
            bent(ARNN22(1, 2, dt=dt, scheme="explicit_midpoint", dtype=F64), seed).layers[0], norm(W), 50
        )
        for D, D_2 in itertools.product(vertices(2), repeat=2):
            assert math.log(norm(eye + dt * D @ W @ (eye + 0.5 * dt * D_2 @ W))) <= middle.rate + 1e-12


# --- lower bounds


SMALL: tuple[tuple[Any, str], ...] = (
    (lambda: bent(AntisymmetricRNN(1, 2, dt=0.4, gamma=0.3, dtype=F64), 1), "‖∂h_N/∂h_1‖₂"),
    (lambda: bent(AntisymmetricRNN(1, 3, dt=0.2, gamma=0.0, dtype=F64), 2), "‖∂h_N/∂h_1‖₂"),
    (
        lambda: bent(LipschitzRNN(1, 2, dt=0.3, beta_a=0.9, gamma_a=0.3, beta_w=0.9, gamma_w=0.3, dtype=F64), 1),
        "‖∂h_N/∂h_1‖₂",
    ),
    (lambda: bent(CoRNN(1, 2, dt=0.4, gamma=1.0, epsilon=0.3, dtype=F64), 3), "‖∂X_N/∂X_1‖₂, X = (y, z)"),
    (lambda: bent(ARNN12(1, 2, dt=0.3, dtype=F64), 4), "‖∂X_N/∂X_1‖₂, X = (q, p)"),
    (lambda: bent(ARNN22(1, 2, dt=0.3, dtype=F64), 5), "‖∂X_N/∂X_1‖₂, X = (y, previous)"),
    (lambda: bent(ARNN22(1, 3, dt=0.3, scheme="forward_euler", dtype=F64), 5), "‖∂X_N/∂X_1‖₂, X = y"),
)


@pytest.mark.parametrize(("build", "quantity"), spread(SMALL, 3))
def test_a_bound_from_below_is_met_by_drives_and_one_from_above_by_none(build: Any, quantity: str) -> None:
    """The drive −W h puts a unit at slope 1, a large one at slope 0: all such words, by the cell's own step."""
    network = build()
    layer = network.layers[0]
    width, sizes, make = attacks.free_step(network, 1)
    steps = 4 if width == 2 else 3
    lines = certify(network, input_bound=1.0, steps=steps).layers[0]
    step, worst = make(0), 0.0
    choices = itertools.product((False, True), repeat=width)
    for word in itertools.product(choices, repeat=steps - 1):
        state = tuple(0.1 * torch.ones(1, size, dtype=F64) for size in sizes)
        J = torch.eye(sum(sizes), dtype=F64)
        for chosen in word:
            drive = _drive(layer, state, chosen)
            J = _jacobian(step, state, drive, sizes) @ J
            state = step(state, drive)
        worst = max(worst, norm(J))
    upper, lower = lines[quantity].log, lines["the same, from below"].log
    assert upper is not None and lower is not None
    assert lower - 1e-9 <= math.log(worst) <= upper + 1e-9


def _jacobian(step: Any, state: Any, drive: Tensor, sizes: tuple[int, ...]) -> Tensor:
    joined = torch.cat(state, dim=1)[0].detach()
    return torch.autograd.functional.jacobian(
        lambda x: torch.cat(step(x[None].split(sizes, dim=1), drive), dim=1)[0], joined
    ).detach()


def _drive(layer: Any, state: Any, chosen: tuple[bool, ...]) -> Tensor:
    """The drive that makes every argument of tanh 0 where chosen, and 40 elsewhere: two fixed points of a search."""
    x = torch.zeros(1, len(chosen), dtype=F64, requires_grad=True)
    for _ in range(4):  # the arguments are affine in the drive, and those of a second half in that of the first
        arguments = _arguments(layer, state, x.detach())
        x = x.detach() - arguments + torch.tensor([[0.0 if each else 40.0 for each in chosen]], dtype=F64)
    return x.detach()


def _arguments(layer: Any, state: Any, x: Tensor) -> Tensor:
    """What tanh is applied to, by the equations in the docstrings of the cells."""
    with torch.no_grad():
        if isinstance(layer, ARNN12(1, 1, dt=0.1).layers[0].__class__):
            q, p = state
            S = torch.zeros(len(q[0]), len(q[0]), dtype=F64)
            rows, columns = torch.triu_indices(len(S), len(S))
            S[rows, columns] = S[columns, rows] = layer.free
            first = q @ S + x[:, : len(S)]
            return torch.cat((first, (p - layer.dt * first.tanh()) @ S + x[:, len(S) :]), dim=1)
        if hasattr(layer, "W_z"):
            return state[0] @ layer.W.T + state[1] @ layer.W_z.T + x
        if hasattr(layer, "M_W"):
            return state[0] @ layer.matrices()[1].T + x
        n = state[0].shape[1]
        W = torch.zeros(n, n, dtype=F64)
        rows, columns = torch.triu_indices(n, n, 1)
        W[rows, columns] = layer.free
        return state[0] @ (W - W.T - getattr(layer, "gamma", 0.0) * torch.eye(n, dtype=F64)).T + x


# --- orthogonal maps


@pytest.mark.parametrize(
    ("network", "names"),
    [
        (ScoRNN(1, 4, rho=2, dtype=F64), ("free",)),
        (ExpRNN(1, 4, dtype=F64), ("free",)),
        (URNN(1, 3, capacity="restricted", dtype=F64), ("angles", "reflectors")),
        (URNN(1, 3, capacity="full", dtype=F64), ("W",)),
    ],
)
def test_the_parameters_of_a_map_turn_it_no_faster_than_is_said(network: Any, names: tuple[str, ...]) -> None:
    for seed, size in itertools.product(range(3), (0.01, 1.0)):
        layer = bent(network, seed, size).layers[0]
        said = orthogonal.map_of(layer).turns
        assert set(said) == set(names)
        for name in names:
            value = getattr(layer, name).detach().clone()

            def matrix(x: Tensor, layer: Any = layer, name: str = name) -> Tensor:
                (W,) = torch.func.functional_call(_Matrix(layer), {f"layer.{name}": x}, ())
                return torch.view_as_real(W) if W.is_complex() else W[..., None]

            slopes = torch.autograd.functional.jacobian(matrix, value).flatten(3)
            for place in range(slopes.shape[-1]):
                parts = slopes[..., place]
                dW = torch.complex(parts[..., 0], parts[..., 1]) if parts.shape[-1] == 2 else parts[..., 0]
                assert norm(dW) <= math.exp(said[name]) * (1 + 1e-9)
            if name == "free" and size == 0.01 and isinstance(network, ScoRNN):
                # at A = 0, where W = D: 2
                largest = max(norm(slopes[..., 0, place]) for place in range(slopes.shape[-1]))
                assert largest > 1.99


class _Matrix(torch.nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self) -> tuple[Tensor]:
        return (self.layer.recurrent_matrix(),)


@pytest.mark.parametrize("dtype", [torch.float32, F64, torch.complex64, torch.complex128])
def test_the_score_of_a_computed_map_is_bounded_by_its_exact_value(dtype: torch.dtype) -> None:
    Q, _ = torch.linalg.qr(torch.randn(5, 5, dtype=dtype, generator=drawn()))
    with mpmath.workdps(60):
        W = mpmath.matrix([[mpmath.mpc(complex(x)) for x in row] for row in Q.tolist()])
        gram = W.H * W - mpmath.eye(5)
        exact = float(mpmath.sqrt(mpmath.fsum(abs(x) ** 2 for x in gram)))
    found = orthogonal.score_bound(Q)
    assert exact <= found < 1.01 * exact + (1e-14 if dtype in (torch.float32, torch.complex64) else 1e-18)


def test_a_stored_unitary_matrix_counts_with_what_it_is_off() -> None:
    network = URNN(1, 3, capacity="full", generator=drawn(), dtype=F64)
    with torch.no_grad():
        network.layers[0].W.mul_(1.05)
    lines = certify(network, input_bound=1.0, steps=21).layers[0]
    assert lines["‖∂h_N/∂h_1‖₂"].log == pytest.approx(20 * math.log(1.05), rel=1e-6)
    assert lines["the same, from below"].log < 20 * math.log(1.05)  # type: ignore[operator]


def test_a_large_start_is_bounded_where_it_is_largest() -> None:
    network = URNN(1, 3, capacity="full", learn_initial_state=True, generator=drawn(), dtype=F64)
    with torch.no_grad():
        network.layers[0].W.mul_(0.5)
        network.layers[0].h0.fill_(100.0)
    lines = certify(network, input_bound=0.0, steps=9).layers[0]
    exact = 0.5 * 100.0 * 6**0.5
    for quantity in ("‖h_n‖₂, n ≤ N", "‖ĥ_n‖₂ as computed"):
        assert lines[quantity].log == pytest.approx(math.log(exact), abs=1e-9)
    silent = ScoRNN(1, 2, rho=0, dtype=F64)
    assert certify(bent(IndRNN(1, 2), 0, 0.0), input_bound=1.0, steps=3).layers[0]["‖∂h_N/∂h_1‖₂"].log < -1000  # type: ignore[operator]
    assert certify(silent, input_bound=0.0, steps=3).layers[0]["‖h_n‖₂, n ≤ N"].log < -600  # type: ignore[operator]


def test_what_biases_allow_is_said() -> None:
    network = ExpRNN(1, 3, generator=drawn(), dtype=F64)
    with torch.no_grad():
        network.layers[0].b.copy_(torch.tensor([-0.1, 0.0, 0.2]))
    mixed = certify(network, input_bound=1.0, steps=5).layers[0]
    assert mixed["‖h_N − h'_N‖ / ‖h_1 − h'_1‖"].log is None and "fall silent" in " ".join(mixed.says)
    complex_units = URNN(1, 3, capacity="restricted", generator=drawn(), dtype=F64)
    with torch.no_grad():
        complex_units.layers[0].b.fill_(0.2)
    stretched = certify(complex_units, input_bound=1.0, steps=5).layers[0]
    assert stretched["‖∂h_N/∂h_1‖₂"].log is None and stretched["|dE/dθ|, θ = V"].log is None
    assert stretched["‖h_n‖₂, n ≤ N"].log is not None
