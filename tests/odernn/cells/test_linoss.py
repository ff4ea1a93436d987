"""LinOSS: its two schemes in exact arithmetic, its stability guard, the scan, the inverse."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
import torch

from odernn import tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.linoss import CLAMPED, LinOSS

F64 = torch.float64
EPS = torch.finfo(F64).eps
SCHEMES = ("imex", "im")

every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def linoss(A: list[float], *, dt: float, seed: int = 3, **options) -> LinOSS:
    network = LinOSS(2, len(A), dt=dt, generator=torch.Generator().manual_seed(seed), dtype=F64, **options)
    with torch.no_grad():
        for layer in network.layers:
            layer.A_raw.copy_(torch.tensor(A, dtype=F64))
    return network


def exact_run(scheme: str, A: Fraction, dt: Fraction, x: list[Fraction], y: Fraction, z: Fraction):
    """All (y_n, z_n) in rational numbers; the implicit step solved for (y_n, z_n) as a 2x2 system."""
    rows = []
    for drive in x:
        if scheme == "imex":
            z = z + dt * (drive - A * y)
            y = y + dt * z
        else:  # z_n + dt A y_n = z + dt x,  y_n − dt z_n = y
            right = z + dt * drive
            determinant = 1 + dt * dt * A
            y, z = (y + dt * right) / determinant, (right - dt * A * y) / determinant
            assert z == rows_check(right, dt, A, y)
        rows.append((y, z))
    return rows


def rows_check(right: Fraction, dt: Fraction, A: Fraction, y: Fraction) -> Fraction:
    """z_n from the first equation and the new y_n."""
    return right - dt * A * y


# --- both executions


DYADIC = {"imex": ([1.0, 2.0, 0.5], 0.5), "im": ([3.0, 1.0, 7.0], 1.0)}
"""1 + dt² A is a power of two for "im", so that few short steps lose no bit."""


@every_scheme
@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_loop_and_scan_are_the_rational_recurrence_to_the_last_bit_where_nothing_is_rounded(scheme, steps):
    A, dt = DYADIC[scheme]
    u = torch.randint(-4, 5, (steps, 2, 2), generator=torch.Generator().manual_seed(1)).double()
    state = tuple(torch.randint(-4, 5, (1, 2, 3), generator=torch.Generator().manual_seed(s)).double() for s in (2, 3))
    found = {}
    for execution in ("torch", "parallel"):
        network = linoss(A, dt=dt, scheme=scheme, execution=execution)
        with torch.no_grad():
            network.layers[0].B.copy_(torch.tensor([[1.0, -2.0], [0.5, 1.0], [2.0, 0.0]]))
            output, (y, z) = network(u, state)
            drives = network.layers[0].drives(u)
        found[execution] = (output, y, z)
        for b, i in itertools.product(range(2), range(3)):
            x = [Fraction(float(drive)) for drive in drives[:, b, i]]
            start = [Fraction(float(block[0, b, i])) for block in state]
            rows = exact_run(scheme, Fraction(A[i]), Fraction(dt), x, *start)
            assert [Fraction(float(value)) for value in output[:, b, i]] == [y for y, _ in rows]
            assert (Fraction(float(y[0, b, i])), Fraction(float(z[0, b, i]))) == rows[-1]
    assert all(map(torch.equal, found["torch"], found["parallel"]))


@every_scheme
@pytest.mark.parametrize("steps", [0, 1, 5, 64, 100])
def test_the_scan_is_the_loop_up_to_rounding_with_its_gradients(scheme, steps):
    networks = [
        linoss([0.2, 1.0, 3.0], dt=0.6, scheme=scheme, num_layers=2, execution=execution)
        for execution in ("torch", "parallel")
    ]
    u, state = normal(steps, 3, 2), (normal(2, 3, 3, seed=4), normal(2, 3, 3, seed=5))
    results, gradients = [], []
    for network in networks:
        output, (y, z) = network(u, state, lengths=[steps, steps // 2, 0])
        total = output.square().sum() + y.sum() + z.square().sum()
        results.append((output, y, z))
        if steps:
            gradients.append(torch.autograd.grad(total, list(network.parameters())))
    # A stable step loses a few roundings a step; powers of M are bounded by 2/√(4 − dt² A) ≤ 1.2, times dt or 1/dt.
    size = 1 + max(float(each.detach().abs().max()) for each in results[0] if each.numel())
    torch.testing.assert_close(*results, rtol=0, atol=64 * (steps + 1) * EPS * size)
    if steps:
        scale = 1 + max(float(each.abs().max()) for each in gradients[0])
        torch.testing.assert_close(*gradients, rtol=0, atol=640 * (steps + 1) * EPS * scale)


def test_a_scan_with_a_wrong_power_is_seen(monkeypatch):
    network = linoss([0.2, 1.0, 3.0], dt=0.6, execution="parallel")
    u = normal(9, 1, 2)
    wanted = linoss([0.2, 1.0, 3.0], dt=0.6)(u)[0]
    torch.testing.assert_close(network(u)[0], wanted, rtol=0, atol=1e-12)
    (layer,) = network.layers
    (a, b), (c, d) = layer.matrix()
    monkeypatch.setattr(layer, "matrix", lambda: ((a, c), (b, d)))  # transposed
    assert float((network(u)[0] - wanted).detach().abs().max()) > 1e-3


def test_an_execution_that_does_not_exist_is_refused_when_it_is_used_too():
    with pytest.raises(ValueError, match='execution is "cuda"'):
        linoss([1.0], dt=0.5, execution="cuda")
    network = linoss([1.0], dt=0.5)
    with pytest.raises(ValueError, match='execution is "fast"'):
        network.layers[0].execution = "fast"
    network.layers[0]._execution = "fast"
    with pytest.raises(ValueError, match='execution is "fast"'):
        network(normal(3, 1, 2))


# --- what the steps are


@every_scheme
def test_the_matrix_of_a_step_has_the_determinant_of_its_scheme(scheme):
    """imex 1: the step preserves dy ∧ dz. im 1/(1 + dt² A)."""
    network = linoss([0.5, 2.0, 6.0], dt=0.7, scheme=scheme)
    (a, b), (c, d) = (tuple(entry.detach() for entry in row) for row in network.layers[0].matrix())
    J = torch.autograd.functional.jacobian(
        lambda s: torch.cat(network(torch.zeros(1, 1, 2, dtype=F64), (s[None, None, :3], s[None, None, 3:]))[1], dim=2)[
            0, 0
        ],
        normal(6),
    )
    torch.testing.assert_close(J, torch.cat((torch.cat((a.diag(), b.diag()), 1), torch.cat((c.diag(), d.diag()), 1))))
    share = torch.ones(3, dtype=F64) if scheme == "imex" else 1 / (1 + 0.49 * torch.tensor([0.5, 2.0, 6.0], dtype=F64))
    torch.testing.assert_close(a * d - b * c, share)
    M = torch.stack((torch.stack((a, b), -1), torch.stack((c, d), -1)), -2)
    assert float((torch.linalg.eigvals(M).abs().square() - share.unsqueeze(1)).abs().max()) <= 1e-13


@every_scheme
def test_it_is_of_first_order_for_the_driven_oscillator(scheme):
    """y″ = −A y + f with constant f: y = f/A + (y_0 − f/A) cos ωt + z_0/ω sin ωt, ω = √A."""
    A, f, y0, z0, end = 2.0, 0.7, 0.3, -0.4, 1.5
    omega = math.sqrt(A)
    wanted = f / A + (y0 - f / A) * math.cos(omega * end) + z0 / omega * math.sin(omega * end)
    errors = []
    for steps in (100, 200, 400):
        network = linoss([A], dt=end / steps, scheme=scheme)
        with torch.no_grad():
            network.layers[0].B.copy_(torch.tensor([[f, 0.0]]))
            start = tuple(torch.full((1, 1, 1), value, dtype=F64) for value in (y0, z0))
            errors.append(abs(float(network(torch.ones(steps, 1, 2, dtype=F64), start)[0][-1]) - wanted))
    assert all(1.9 < one / other < 2.1 for one, other in itertools.pairwise(errors)) and errors[0] > 1e-4


@every_scheme
def test_the_inverse_is_exact_where_nothing_is_rounded(scheme):
    A, dt = DYADIC[scheme]
    network = linoss(A, dt=dt, scheme=scheme)
    with torch.no_grad():
        network.layers[0].B.copy_(torch.tensor([[1.0, -2.0], [0.5, 1.0], [2.0, 0.0]]))
        u = torch.randint(-4, 5, (6, 1, 2), generator=torch.Generator().manual_seed(1)).double()
        state = tuple(
            torch.randint(-4, 5, (1, 1, 3), generator=torch.Generator().manual_seed(s)).double() for s in (2, 3)
        )
        _, end = network(u, state)
        assert all(map(torch.equal, network.inverse(end, u), state)) and not torch.equal(end[0], state[0])


@pytest.mark.parametrize("A", [[2.0], [0.5, 2.0], [0.5, 2.0, 1.0]])
@pytest.mark.parametrize(("scheme", "method"), [("imex", tableaus.SYMPLECTIC_EULER), ("im", tableaus.IMPLICIT_EULER)])
def test_it_is_its_field_times_its_method(scheme, method, A):
    """Two neurons, one implicit stage: matrices (2, 2, 2), and a right side (2, 2) that torch can take for vectors."""
    network = linoss(A, dt=0.5, scheme=scheme)
    (layer,) = network.layers
    general = IntegratorRNN(
        layer.field().with_tensors({"A": layer.frequencies().detach()}), method, 0.5, input_size=2
    ).double()
    with torch.no_grad():
        general.layers[0].V.copy_(layer.B)
        general.layers[0].b.zero_()
        u, state = normal(20, 3, 2), tuple(normal(1, 3, len(A), seed=seed) for seed in (4, 5))
        torch.testing.assert_close(general(u, state), network(u, state), rtol=0, atol=1e-13)


def test_guarantees_are_those_of_symplectic_and_of_implicit_euler():
    (imex,), (im,) = (linoss([0.5, 2.0], dt=0.5, scheme=scheme).guarantees() for scheme in SCHEMES)
    assert imex["symplecticity"].holds and im["symplecticity"].holds is not True
    assert all(found["invertibility"].holds and found["order"].value == 1 for found in (imex, im))
    assert not imex["contraction"].holds


def test_imex_and_im_differ():
    u = normal(5, 1, 2)
    one, other = (linoss([1.0, 2.0], dt=0.5, scheme=scheme)(u)[0].detach() for scheme in SCHEMES)
    assert float((one - other).abs().max()) > 1e-2


# --- stability


def peak(network: LinOSS, steps: int) -> float:
    with torch.no_grad():
        n = network.hidden_size
        state = tuple(torch.ones(1, 1, n, dtype=F64) for _ in range(2))
        return float(network(torch.zeros(steps, 1, 2, dtype=F64), state)[0].abs().max())


@pytest.mark.parametrize(
    ("scheme", "square", "bounded"),
    [
        ("imex", 1.0, True),
        ("imex", 3.99, True),
        ("imex", 4.0, False),
        ("imex", 4.25, False),
        ("imex", 0.0, False),
        ("im", 0.01, True),
        ("im", 100.0, True),
        ("im", 0.0, False),
    ],
)
def test_powers_are_bounded_just_where_the_certificate_says(scheme, square, bounded):
    """dt = 1/2, exact in binary. Unbounded: linearly at both ends, exponentially above 4."""
    network = linoss([4.0 * square], dt=0.5, scheme=scheme, guard="none")
    (found,) = network.power_boundedness()
    assert found.holds is bounded and found.exact
    assert found.margin == (min(Fraction(square), 4 - Fraction(square)) if scheme == "imex" else Fraction(square))
    ratio = peak(network, 400) / peak(network, 40)
    if bounded:
        assert ratio < 1.5
    elif square in (0.0, 4.0):
        assert 9.0 < ratio < 10.0  # 201 : 21 and 601 : 61
    else:
        assert ratio > 1e30


def test_nothing_is_decided_about_a_frequency_that_is_not_finite():
    network = linoss([1.0, 2.0], dt=0.5, scheme="im")
    with torch.no_grad():
        network.layers[0].A_raw[1] = math.nan
    with pytest.raises(ValueError, match="A has the entry nan at 1"):
        network.power_boundedness()


def test_the_guard_refuses_at_the_first_double_above_four_and_not_at_four():
    network = linoss([1.0, 16.0], dt=0.5)
    u = normal(3, 1, 2)
    network(u)
    with torch.no_grad():
        network.layers[0].A_raw[1] = math.nextafter(16.0, 17.0)
    state = (torch.zeros(1, 1, 2, dtype=F64), torch.zeros(1, 1, 2, dtype=F64))
    for call in (lambda: network(u), lambda: network.inverse(state, u), network.power_boundedness):
        with pytest.raises(ValueError, match="IMEX step is stable up to 4"):
            call()
    with pytest.raises(ValueError, match=r'dt² A reaches 4\.0+\d+, but .*guard="clamp"'):
        network(u)
    loose = linoss([16.5], dt=0.5, guard="none")
    assert torch.isfinite(loose(u)[0]).all()


def test_the_clamp_cuts_just_below_four_without_a_gradient_there():
    network = linoss([1.0, 30.0], dt=0.5, guard="clamp")
    (layer,) = network.layers
    assert layer.frequencies().tolist() == [1.0, CLAMPED / 0.25]
    (gradient,) = torch.autograd.grad(network(normal(5, 1, 2))[0].sum(), layer.A_raw)
    assert gradient[0] != 0.0 and gradient[1] == 0.0
    assert network.power_boundedness()[0] and peak(network, 4000) < 1.5 * peak(network, 400)
    assert linoss([1.0, 30.0], dt=0.5, scheme="im").layers[0].frequencies().tolist() == [1.0, 30.0]


def test_a_compiled_network_stops_too():
    network = linoss([16.5], dt=0.5)
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError, match="above 4"):
        compiled(normal(3, 1, 2))


@pytest.mark.parametrize("dt", [0.1, 1.0, 5.0])
def test_initial_weights_are_stable_and_drawn_as_stated(dt):
    for scheme in SCHEMES:
        network = LinOSS(4, 500, dt=dt, scheme=scheme, generator=torch.Generator().manual_seed(1), dtype=F64)
        (layer,) = network.layers
        top = min(1.0, 2.0 / dt**2) if scheme == "imex" else 1.0
        assert 0.95 * top < float(layer.A_raw.detach().max()) <= top and float(layer.A_raw.detach().min()) >= 0
        assert float(layer.B.detach().abs().max()) <= 0.5 and network.power_boundedness()[0]


def test_what_it_does_not_know_is_refused():
    for options, message in (
        ({"scheme": "ex"}, "scheme is 'ex'"),
        ({"guard": "warn"}, "guard is 'warn'"),
        ({"dt": 0.0}, "dt is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            LinOSS(2, 3, **{"dt": 0.5, **options})
    text = repr(LinOSS(2, 3, 2, dt=[0.5, 0.25], guard="clamp", execution="parallel"))
    assert "dt=[0.5, 0.25]" in text and "guard='clamp'" in text and "execution='parallel'" in text
