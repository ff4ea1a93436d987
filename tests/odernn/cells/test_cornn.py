"""coRNN: its scheme, both readings of the damping, when the linear part is stable, its initial weights, the paper."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from odernn.cells.cornn import CoRNN, CoRNNLayer, LinearStability

F64 = torch.float64
DAMPINGS = ("explicit", "implicit")


def network(hidden_size: int = 4, num_layers: int = 1, *, seed: int = 0, **options) -> CoRNN:
    options = {"dt": 0.2, "gamma": 1.3, "epsilon": 0.7} | options
    generator = torch.Generator().manual_seed(seed)
    return CoRNN(3, hidden_size, num_layers, **options, generator=generator, dtype=F64)


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def one_step(model: CoRNN, u: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        _, (y, z) = model(u.unsqueeze(0), (y.unsqueeze(0), z.unsqueeze(0)))
    return y[0], z[0]


# --- the scheme


def test_with_explicit_damping_a_step_kicks_along_its_field_and_drifts_with_the_new_velocity():
    model = network()
    layer, dt = model.layers[0], 0.2
    u, y, z = normal(5, 3), normal(5, 4, seed=2), normal(5, 4, seed=3)
    new_y, new_z = one_step(model, u, y, z)
    with torch.no_grad():
        velocity, force = layer.field()((y, z), layer.drives(u))
    assert torch.equal(velocity, z)
    torch.testing.assert_close(new_z, z + dt * force, rtol=0, atol=1e-14)
    torch.testing.assert_close(new_y, y + dt * new_z, rtol=0, atol=1e-14)


def test_with_implicit_damping_the_new_velocity_solves_its_equation():
    model = network(damping="implicit")
    layer, dt, gamma, epsilon = model.layers[0], 0.2, 1.3, 0.7
    u, y, z = normal(5, 3), normal(5, 4, seed=2), normal(5, 4, seed=3)
    new_y, new_z = one_step(model, u, y, z)
    with torch.no_grad():
        controlled = torch.tanh(y @ layer.W.T + z @ layer.W_z.T + u @ layer.V.T + layer.b)
    torch.testing.assert_close(new_z, z + dt * (controlled - gamma * y - epsilon * new_z), rtol=0, atol=1e-14)
    torch.testing.assert_close(new_y, y + dt * new_z, rtol=0, atol=1e-14)


def test_the_two_readings_of_the_damping_differ_by_the_square_of_the_step():
    """z_n differs by dt ε (z_n − z_{n−1}), of order dt², and y_n by another factor dt."""
    u, y, z = normal(1, 3), normal(1, 4, seed=2), normal(1, 4, seed=3)
    gaps = []
    for dt in (1e-2, 5e-3, 2.5e-3):
        explicit, implicit = (one_step(network(dt=dt, damping=damping), u, y, z) for damping in DAMPINGS)
        gaps.append([float((a - b).abs().max()) for a, b in zip(explicit, implicit, strict=True)])
    for coarse, fine in itertools.pairwise(gaps):
        assert 7.5 < coarse[0] / fine[0] < 8.5 and 3.8 < coarse[1] / fine[1] < 4.2


def test_the_published_code_is_explicit_damping_with_one_linear_layer_for_all_three_inputs():
    model = network()
    layer = model.layers[0]
    joint = torch.nn.Linear(3 + 4 + 4, 4, dtype=F64)
    with torch.no_grad():
        joint.weight.copy_(torch.cat((layer.V, layer.W_z, layer.W), dim=1))  # on (u, z, y)
        joint.bias.copy_(layer.b)
        y = z = torch.zeros(2, 4, dtype=F64)
        u = normal(30, 2, 3)
        for n in range(30):
            z = z + 0.2 * (torch.tanh(joint(torch.cat((u[n], z, y), 1))) - 1.3 * y - 0.7 * z)
            y = y + 0.2 * z
        output, (end_y, end_z) = model(u)
    torch.testing.assert_close(end_y[0], y, rtol=0, atol=1e-12)
    torch.testing.assert_close(end_z[0], z, rtol=0, atol=1e-12)
    assert torch.equal(output[-1], end_y[0])


class Products(TorchDispatchMode):
    """Counts matrix products."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.overloadpacket.__name__ in {"mm", "addmm", "bmm", "matmul"}
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("damping", DAMPINGS)
def test_a_step_has_one_matrix_product(damping):
    model, products = network(damping=damping), Products()
    with torch.no_grad(), products:
        model(normal(9, 2, 3))
    assert products.count == 9 + 1  # and one for the inputs of all times


# --- the linear part


def matrix(damping: str, dt, gamma, epsilon):
    """The step of (y, z) without σ, entry by entry from the scheme; exact for fractions."""
    delta = 1 if damping == "explicit" else 1 / (1 + dt * epsilon)
    keep = 1 - dt * epsilon if damping == "explicit" else delta
    z_row = (-dt * gamma * delta, keep)
    return ((1 + dt * z_row[0], dt * z_row[1]), z_row)


def saturated(damping: str, dt: float, gamma: float, epsilon: float) -> CoRNNLayer:
    return CoRNNLayer(1, 1, dt=dt, gamma=gamma, epsilon=epsilon, damping=damping, dtype=F64)


def jacobian(layer: CoRNNLayer) -> torch.Tensor:
    """Of the layer's own step where b is so large that tanh is constant to the last digit."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(0.3)
        layer.b.fill_(60.0)
    step = layer.stepper()

    def flat(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(step((x[:1].reshape(1, 1), x[1:].reshape(1, 1)), layer.b.reshape(1, 1)), dim=1)[0]

    return torch.autograd.functional.jacobian(flat, torch.tensor([0.4, -0.2], dtype=F64))


HYPERPARAMETERS = [
    (dt, gamma, epsilon)
    for dt in (0.05, 0.4, 0.9, 1.7)
    for gamma in (0.3, 2.0, 9.0, 40.0)
    for epsilon in (0.1, 0.9, 2.0, 7.0)
]


@pytest.mark.parametrize("damping", DAMPINGS)
def test_the_saturated_step_contracts_exactly_where_the_quantity_is_below_4(damping):
    margins = []
    for dt, gamma, epsilon in HYPERPARAMETERS:
        layer = saturated(damping, dt, gamma, epsilon)
        J = jacobian(layer)
        torch.testing.assert_close(J, torch.tensor(matrix(damping, dt, gamma, epsilon), dtype=F64), rtol=0, atol=1e-13)
        radius, margin = float(torch.linalg.eigvals(J).abs().max()), layer.linear_stability().margin
        assert (radius < 1.0) == (margin > 0.0), (dt, gamma, epsilon, radius, margin)
        margins.append(margin)
    assert 15 < sum(margin > 0 for margin in margins) < len(HYPERPARAMETERS) - 10 and len(margins) == 64


def test_the_limit_of_one_damping_is_not_that_of_the_other():
    """A planted falsehood: dt² γ = 4 + dt ε is stable with implicit damping and unstable with explicit damping."""
    dt, epsilon = 0.5, 2.0
    gamma = (4.0 + dt * epsilon) / dt**2
    implicit, explicit = (saturated(damping, dt, gamma, epsilon) for damping in ("implicit", "explicit"))
    assert explicit.linear_stability().margin < 0 < implicit.linear_stability().margin
    radii = [float(torch.linalg.eigvals(jacobian(each)).abs().max()) for each in (implicit, explicit)]
    assert radii[0] < 1 < radii[1]


@pytest.mark.parametrize("damping", DAMPINGS)
def test_at_the_limit_minus_one_is_an_eigenvalue_exactly(damping):
    dt, epsilon = Fraction(1, 3), Fraction(5, 7)
    sign = 1 if damping == "explicit" else -1
    gamma = (4 - sign * 2 * dt * epsilon) / dt**2
    (a, b), (c, d) = matrix(damping, dt, gamma, epsilon)
    assert (a + 1) * (d + 1) - b * c == 0
    assert abs(a * d - b * c) < 1  # the other eigenvalue is minus the determinant: powers stay bounded
    assert a * d - b * c == (1 - dt * epsilon if damping == "explicit" else 1 / (1 + dt * epsilon))


def test_the_report_names_quantity_and_margin():
    report = LinearStability("explicit", 3.0)
    assert report.margin == 1.0 and "dt² γ + 2 dt ε = 3" in str(report) and " are within" in str(report)
    report = str(LinearStability("implicit", 5.0))
    assert "dt² γ − 2 dt ε = 5" in report and "not within" in report
    stack = network(num_layers=2, dt=[0.1, 0.2], bidirectional=True).linear_stability()
    assert [round(each.quantity, 12) for each in stack] == [0.153, 0.153, 0.332, 0.332]


# --- initial weights, hyperparameters


def test_initial_weights_are_those_of_one_linear_layer_on_inputs_and_both_states():
    d, m = 40, 60
    model = CoRNN(d, m, dt=0.1, gamma=1.0, epsilon=1.0, generator=torch.Generator().manual_seed(5))
    r = 1.0 / math.sqrt(d + 2 * m)
    weights = {name: value.detach() for name, value in model.layers[0].named_parameters()}
    assert {name: tuple(value.shape) for name, value in weights.items()} == {
        "W": (m, m),
        "W_z": (m, m),
        "V": (m, d),
        "b": (m,),
    }
    for name in ("W", "W_z", "V"):
        values = weights[name].flatten()
        assert values.abs().max() <= r and values.abs().max() > 0.99 * r
        sigmas = 5.0 / math.sqrt(values.numel())
        assert abs(float(values.mean())) < sigmas * r / math.sqrt(3)
        assert abs(float((values**2).mean()) - r**2 / 3) < sigmas * r**2
    assert 0.5 * r < weights["b"].abs().max() <= r and len(set(weights["b"].tolist())) == m
    again = CoRNN(d, m, dt=0.1, gamma=1.0, epsilon=1.0, generator=torch.Generator().manual_seed(5))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_hyperparameters_may_differ_between_layers_and_survive_pickling():
    model = network(num_layers=2, dt=[0.1, 0.2], gamma=3.0, epsilon=[0.4, 0.5])
    assert [float(layer.dt) for layer in model.layers] == [0.1, 0.2]
    assert "dt=[0.1, 0.2], gamma=3.0, epsilon=[0.4, 0.5], damping='explicit'" in repr(model)
    u = normal(4, 2, 3)
    assert torch.equal(pickle.loads(pickle.dumps(model))(u)[0], model(u)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, "dt is 0.0, but it must be finite and positive"),
        ({"gamma": -1.0}, "gamma is -1.0, but it must be finite and positive"),
        ({"epsilon": 0.0}, "epsilon is 0.0, but it must be finite and positive"),
        ({"epsilon": math.nan}, "epsilon of layer 1 is nan, which is not finite"),
        ({"gamma": [1.0, 2.0]}, "gamma has 2 entries but num_layers is 1"),
        ({"damping": "none"}, "damping is 'none'. Choose from: 'explicit', 'implicit'"),
    ],
)
def test_a_wrong_hyperparameter_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        network(**options)


def test_a_stored_hyperparameter_that_the_constructor_refuses_is_refused_when_loaded():
    model = network()
    stored = model.state_dict()
    stored["layers.0.epsilon"] = torch.tensor(-1.0, dtype=F64)
    with pytest.raises(RuntimeError, match=r"epsilon is -1\.0"):
        model.load_state_dict(stored)


# --- the paper


@pytest.mark.parametrize(
    ("name", "sizes", "dt", "gamma", "epsilon"),
    [
        ("psMNIST", (1, 256), 0.076, 0.4, 8.0),
        ("nCIFAR", (96, 128), 0.034, 1.3, 12.7),
        ("IMDB", (100, 128), 0.054, 4.9, 4.8),
    ],
)
def test_a_published_network_has_the_values_of_the_authors_code(name, sizes, dt, gamma, epsilon):
    model = CoRNN.from_paper(name)
    layer = model.layers[0]
    assert (model.input_size, model.hidden_size) == sizes and model.num_layers == 1
    assert (float(layer.dt), float(layer.gamma), float(layer.epsilon)) == (dt, gamma, epsilon)
    assert layer.damping == "explicit" and model.linear_stability()[0].margin > 2


def test_arguments_win_and_what_is_not_printed_is_asked_for():
    assert CoRNN.from_paper("psMNIST", hidden_size=8, damping="implicit", bias=False).layers[0].V.shape == (8, 1)
    with pytest.raises(LookupError, match="Did you mean 'EigenWorms'"):
        CoRNN.from_paper("EigenWorm")
    with pytest.raises(TypeError, match=r"'EigenWorms' is printed without dt, gamma, epsilon: .* Give them"):
        CoRNN.from_paper("EigenWorms")
    with pytest.raises(TypeError, match="without epsilon"):
        CoRNN.from_paper("Lorenz96", dt=0.1, gamma=1.0)
    assert CoRNN.from_paper("EigenWorms", dt=0.1, gamma=1.0, epsilon=2.0).hidden_size == 32
