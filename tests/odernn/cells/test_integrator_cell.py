"""IntegratorRNN beyond its book: reports, the rules for inputs, copies, and what is refused."""

from __future__ import annotations

import copy
import io

import pytest
import torch

from odernn import tableaus
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.unicornn import UnICORNN
from odernn.fields.antisymmetric import Antisymmetric
from odernn.fields.monotone import Monotone
from odernn.fields.oscillator import Oscillator
from odernn.integrators import ConvergenceError, ConvergenceWarning, Newton
from odernn.tableaus import families

F64 = torch.float64


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def network(field=None, method=tableaus.RK4, dt=0.1, **options) -> IntegratorRNN:
    field = Antisymmetric(normal(3, 3), 0.1) if field is None else field
    options = {"input_size": 2, "dtype": F64, "generator": torch.Generator().manual_seed(1)} | options
    return IntegratorRNN(field, method, dt, **options)


def test_unicornn_is_the_oscillator_times_symplectic_euler():
    cell = UnICORNN(2, 5, dt=0.3, alpha=1.2, dtype=F64, generator=torch.Generator().manual_seed(2))
    layer = cell.layers[0]
    pair = network(Oscillator(layer.w.detach(), 1.2), tableaus.SYMPLECTIC_EULER, 0.3, learn_steps=True)
    with torch.no_grad():
        for mine, theirs in ((pair.layers[0].V, layer.V), (pair.layers[0].b, layer.b), (pair.layers[0].c, layer.c)):
            mine.copy_(theirs)
    u = normal(20, 3, 2)
    assert torch.equal(pair(u)[0], cell(u)[0])


def test_the_report_has_residuals_of_every_step_and_layer():
    net = network(Monotone(normal(4, 3)), families.gauss(2), 0.5, num_layers=2)
    u = normal(6, 4, 2)
    reports = net.report(u)
    assert len(reports) == 2
    for report in reports:
        assert report.residual.shape == report.converged.shape == (6, 4) and len(report.iterations) == 6
        assert bool(report.converged.all()) and float(report.residual.max()) < 1e-12 and min(report.iterations) >= 1
    explicit = network().report(u)[0]
    assert explicit.residual is None and bool(explicit.converged.all())
    assert network(Monotone(normal(4, 3)), families.gauss(2)).report(u[:0])[0].converged.shape == (0, 4)


def test_what_does_not_converge_raises_or_warns_as_was_chosen():
    hard = Monotone(40.0 * normal(4, 3))
    u = normal(2, 2, 2)
    with pytest.raises(ConvergenceError, match=r"stage equations of .* samples are not solved"):
        network(hard, families.gauss(2), 5.0, newton=Newton(max_iterations=1))(u)
    warning = network(hard, families.gauss(2), 5.0, newton=Newton(max_iterations=1, on_failure="warn"))
    with pytest.warns(ConvergenceWarning):
        output, _ = warning(u)
    assert bool(torch.isfinite(output).all())


def test_given_inputs_that_are_held_are_the_same_as_held_inputs():
    held, given = network(), network(inputs="given")
    u = normal(5, 2, 2)
    torch.testing.assert_close(given(u.repeat(1, 1, 4))[0], held(u)[0], rtol=0, atol=1e-14)


def test_linear_inputs_need_the_previous_input_to_cut_a_sequence():
    net = network(inputs="linear", num_layers=2)
    u = normal(6, 2, 2)
    whole, end = net(u, previous_input=normal(2, 2, seed=5))
    first, middle = net(u[:4], previous_input=normal(2, 2, seed=5))
    second, found = net(u[4:], middle, previous_input=u[3])
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-13)
    torch.testing.assert_close(found, end, rtol=0, atol=1e-13)
    assert not torch.allclose(net(u[4:], middle)[0], whole[4:])


def test_the_field_of_another_cell_is_copied_with_neither_graph_nor_a_second_set_of_weights():
    field = AntisymmetricRNN(2, 40, dt=0.1, gamma=0.1).layers[0].field()
    net = IntegratorRNN(field, tableaus.RK4, 0.1, input_size=2)
    assert torch.equal(copy.deepcopy(net).layers[0].field.W, net.layers[0].field.W)
    file = io.BytesIO()
    torch.save(net, file)
    weights = sum(parameter.numel() for parameter in net.parameters()) * 4
    assert file.tell() < 1.5 * weights + 20000
    file.seek(0)
    again = torch.load(file, weights_only=False)
    u = torch.randn(3, 2, 2)
    assert torch.equal(again(u)[0], net(u)[0])


def test_every_layer_may_have_its_own_step_and_field():
    fields = [Antisymmetric(normal(3, 3, seed=k), 0.1) for k in (1, 2)]
    net = network(fields, dt=[0.1, 0.7], num_layers=2)
    assert [float(layer.dt) for layer in net.layers] == [0.1, 0.7]
    assert torch.equal(net.layers[1].field.W, fields[1].W) and "dt=" in repr(net)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dt": 0.0}, ValueError, r"dt is 0\.0, but it must be finite and positive"),
        ({"dt": [0.1, 0.2]}, ValueError, "dt has 2 entries but num_layers is 1"),
        ({"dt": None}, TypeError, "dt is None"),
        ({"method": "rk4"}, TypeError, r"integrator is 'rk4', which is no .* tableaus\.get\('rk4'\)"),
        ({"field": Antisymmetric}, TypeError, "field is .* with its initial weights"),
        ({"field": [Antisymmetric(normal(3, 3), 0.1)] * 3}, ValueError, "field has 3 entries but there are 1"),
        ({"field": Oscillator(normal(4, 3), 1.0)}, ValueError, "Oscillator for many fields at once"),
        ({"method": tableaus.STOERMER_VERLET}, ValueError, "treats positions and momenta differently"),
        ({"newton": "raise"}, TypeError, "newton is 'raise'"),
        ({"inputs": "cubic"}, ValueError, "inputs is 'cubic'"),
        ({"inputs": "linear", "bidirectional": True}, ValueError, "looks back at the input before the first"),
        ({"inputs": "given", "num_layers": 2}, ValueError, "needs the inputs at the stage times"),
    ],
)
def test_a_wrong_argument_of_the_constructor_is_named(change, error, message):
    with pytest.raises(error, match=message):
        network(**change)


def test_wrong_inputs_are_named():
    u = normal(4, 2, 2)
    with pytest.raises(ValueError, match=r'with inputs="given" .* 4 · 2 = 8 numbers'):
        network(inputs="given")(u)
    with pytest.raises(ValueError, match='inputs="hold" never looks back'):
        network()(u, previous_input=u[0])
    with pytest.raises(TypeError, match="previous_input is a int"):
        network(inputs="linear")(u, previous_input=3)
    with pytest.raises(ValueError, match="previous_input has shape"):
        network(inputs="linear")(u, previous_input=u[0, 0])
    with pytest.raises(NotImplementedError, match="the inverse is built for held drives"):
        net = network(inputs="linear")
        net.inverse(net(u)[1], u)


def test_a_hyperparameter_that_the_field_refuses_is_refused_on_loading():
    net = network()
    saved = {key: value.clone() for key, value in net.state_dict().items()}
    saved["layers.0.field.gamma"] = torch.tensor(-1.0, dtype=F64)
    with pytest.raises(RuntimeError, match="gamma"):
        net.load_state_dict(saved)
    assert float(net.layers[0].field.gamma) == 0.1
