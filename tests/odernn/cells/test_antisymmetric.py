"""AntisymmetricRNN: Euler steps of its field, one matrix for gate and force, when modes grow, its initial weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from odernn import tableaus
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.fields.antisymmetric import Antisymmetric, GatedAntisymmetric
from odernn.integrators import step

F64 = torch.float64


def network(hidden_size: int = 5, **options) -> AntisymmetricRNN:
    options = {"dt": 0.25, "gamma": 0.3} | options
    generator = torch.Generator().manual_seed(2)
    model = AntisymmetricRNN(3, hidden_size, **options, generator=generator, dtype=F64)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".b" in name:
                parameter.normal_(generator=generator)
    return model


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_a_step_is_explicit_euler_of_the_field_of_the_layer(gated, gamma):
    model = network(gated=gated, gamma=gamma)
    layer, h, u = model.layers[0], normal(6, 5, seed=3), normal(7, 6, 3)
    field = layer.field()
    assert type(field) is (GatedAntisymmetric if gated else Antisymmetric)
    with torch.no_grad():
        rows, end = model(u, h.unsqueeze(0))
        for n in range(7):
            (h,) = step(tableaus.EULER, field, (h,), layer.drives(u[n]), 0.25)
            torch.testing.assert_close(rows[n], h, rtol=0, atol=1e-13)
    assert torch.equal(end[0], rows[-1])


def test_the_free_entries_are_the_upper_triangle_row_by_row_and_the_difference_is_antisymmetric_exactly():
    model = network(4)
    with torch.no_grad():
        model.layers[0].free.copy_(torch.arange(1.0, 7.0, dtype=F64))
    W = model.layers[0].field().W.detach()
    assert W.tolist() == [[0, 1, 2, 3], [0, 0, 4, 5], [0, 0, 0, 6], [0, 0, 0, 0]]
    assert sum(p.numel() for p in model.parameters()) == 6 + 4 * 3 + 4
    model = network(9)
    A = model.layers[0].field().A.detach()
    assert torch.equal(A + A.T, -2 * 0.3 * torch.eye(9, dtype=F64))


def test_a_full_matrix_would_train_entries_that_do_nothing():
    """W and W + P, P symmetric, have the same W − Wᵀ: n(n+1)/2 directions of an n × n matrix."""
    W, P = normal(4, 4), normal(4, 4, seed=2)
    P = P + P.T
    torch.testing.assert_close((W + P) - (W + P).T, W - W.T, rtol=0, atol=1e-14)


class Products(TorchDispatchMode):
    """Counts matrix products."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.overloadpacket.__name__ in {"mm", "addmm", "bmm", "matmul"}
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("gated", [False, True])
def test_a_step_has_one_matrix_product_since_the_gate_shares_it(gated):
    model, products = network(gated=gated), Products()
    with torch.no_grad(), products:
        model(normal(9, 2, 3))
    assert products.count == 9 + 1


# --- growth of modes (thm-ARNN): at the origin with zero input, the slope is 1


def radius(model: AntisymmetricRNN) -> float:
    """Spectral radius of the step at the origin without input."""
    layer = model.layers[0]
    advance = layer.stepper()
    drive = torch.zeros(1, layer.hidden_size, dtype=F64)
    J = torch.autograd.functional.jacobian(
        lambda h: advance((h.unsqueeze(0),), drive)[0][0], torch.zeros(layer.hidden_size, dtype=F64)
    )
    return float(torch.linalg.eigvals(J).abs().max())


def test_without_diffusion_every_step_of_euler_grows_by_the_root_of_one_plus_the_square():
    for dt in (0.01, 0.1, 1.0):
        model = network(6, dt=dt, gamma=0.0)
        largest = float(torch.linalg.eigvals(model.layers[0].field().A.detach()).abs().max())
        assert radius(model) == pytest.approx(math.hypot(1.0, dt * largest), rel=1e-12) and radius(model) > 1


@pytest.mark.parametrize(("factor", "grows"), [(0.999, False), (1.001, True)])
def test_with_diffusion_no_mode_grows_exactly_up_to_the_bound_on_the_step(factor, grows):
    gamma = 0.4
    free = network(6, gamma=gamma)
    largest = float(torch.linalg.eigvals(free.layers[0].field().S.detach()).abs().max())
    bound = 2 * gamma / (gamma**2 + largest**2)
    assert (radius(network(6, gamma=gamma, dt=factor * bound)) > 1.0) is grows


# --- initial weights, hyperparameters, the paper


@pytest.mark.parametrize("sigma_w", [0.0, 1.0, 4.0])
def test_initial_weights_are_normal_as_in_the_appendix_of_the_paper(sigma_w):
    m, n = 40, 150
    generator = torch.Generator().manual_seed(1)
    model = AntisymmetricRNN(m, n, dt=0.1, gamma=0.1, gated=True, sigma_w=sigma_w, generator=generator)
    layer = model.layers[0]
    assert torch.count_nonzero(layer.b) == torch.count_nonzero(layer.b_g) == 0
    for values, deviation in ((layer.free, sigma_w / math.sqrt(n)), (layer.V, m**-0.5), (layer.V_g, m**-0.5)):
        values = values.detach().flatten().double()
        spread = 5 * deviation / math.sqrt(values.numel())
        assert abs(float(values.mean())) <= spread and abs(float(values.std()) - deviation) <= spread
    assert not torch.equal(layer.V, layer.V_g)


def test_one_neuron_has_no_free_entry_and_decays():
    model = AntisymmetricRNN(1, 1, dt=0.5, gamma=1.0, dtype=F64)
    assert model.layers[0].free.shape == (0,)
    with torch.no_grad():
        output, _ = model(torch.zeros(60, 1, 1, dtype=F64), torch.ones(1, 1, 1, dtype=F64))
    assert 0 < output[-1].item() < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": -0.1}, "dt is -0.1, but it must be finite and positive"),
        ({"gamma": -0.1}, "gamma is -0.1, but it must be finite and not negative"),
        ({"sigma_w": -1.0}, "sigma_w is -1.0, but it must be finite and not negative"),
        ({"gamma": [0.1, 0.2]}, "gamma has 2 entries but num_layers is 1"),
    ],
)
def test_a_wrong_hyperparameter_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        network(**options)


@pytest.mark.parametrize(("name", "gated"), [("nCIFAR", False), ("nCIFAR gated", True)])
def test_a_published_network_asks_for_what_no_source_gives(name, gated):
    with pytest.raises(TypeError, match=f"'{name}' is printed without dt, gamma: .*Chang et al. 2019, App. C"):
        AntisymmetricRNN.from_paper(name)
    with pytest.raises(TypeError, match="without gamma"):
        AntisymmetricRNN.from_paper(name, dt=0.01)
    model = AntisymmetricRNN.from_paper(name, dt=0.01, gamma=0.1)
    assert (model.input_size, model.hidden_size, model.num_layers) == (96, 256, 1)
    assert model.layers[0].gated is gated and ("gated=True" in repr(model)) is gated
