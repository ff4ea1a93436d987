"""Whole networks: both back-ends against each other, against the float64 cell, and against many digits."""

from __future__ import annotations

import copy
import dataclasses
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import torch
from mpmath import mp, mpf

from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import ROWS
from verification.certify import balls, network
from verification.certify.network import Enclosed, NetworkData
from verification.certify.second import network as network_second
from verification.certify.second.network import FloatNetwork, NotEnclosedError
from verification.measure import network as measured
from verification.system import UNICORNN

SHAPES = [(4, 2, 1, 14, "icml"), (4, 2, 2, 14, "icml"), (4, 3, 3, 14, "sam"), (6, 1, 3, 40, "icml")]
"""m, d, L, N, index."""


def random_cell(shape: tuple[int, int, int, int, Any], seed: int = 0) -> tuple[UnICORNN, dict[str, Any], NetworkData]:
    """A cell with every parameter random, the arguments of its call, and the same as data."""
    m, d, L, N, index = shape
    g = torch.Generator().manual_seed(seed)

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(*size, generator=g, dtype=torch.float64)

    dt, alpha = [0.1 + 0.2 * l for l in range(L)], [1.3 + l for l in range(L)]
    cell = UnICORNN(d, m, L, dt=dt, alpha=alpha, index=index, dtype=torch.float64, generator=g)
    with torch.no_grad():
        for layer in cell.layers:
            for parameter in (layer.w, layer.c, layer.b):
                parameter.copy_(normal(m))
            layer.V.mul_(2)
    given = {
        "u": normal(N, 1, d),
        "state": (normal(L, 1, m), normal(L, 1, m)),
        "target": normal(N, 1, m),
        "options": {"previous_input": normal(1, d)} if index == "sam" else {},
    }
    layers = [
        {name: getattr(layer, name).detach().numpy() for name in ("w", "c", "b", "V")}
        | {"dt": dt[l], "alpha": alpha[l], "y0": given["state"][0][l, 0].numpy(), "z0": given["state"][1][l, 0].numpy()}
        for l, layer in enumerate(cell.layers)
    ]
    data = network.of_arrays(
        layers,
        given["u"][:, 0].numpy(),
        index=index,
        target=given["target"][:, 0].numpy(),
        previous=given["options"]["previous_input"][0].numpy() if index == "sam" else (),
    )
    return cell, given, data


def agree(first: Enclosed, second: Any, narrow: float) -> bool:
    return first.meets(second) and float(second.radius.max()) < narrow


def within(true: Enclosed, box: Any) -> bool:
    """Whether the box holds the true array, which is known much better."""
    return bool((np.abs(true.middle - box.middle) <= box.radius + true.radius).all())


@pytest.mark.parametrize("shape", SHAPES)
def test_states_of_both_back_ends_and_of_the_cell_agree(shape):
    cell, given, data = random_cell(shape)
    first, second = network.certify_states(data), FloatNetwork(data.to_plain()).states()
    runs = cell.states(given["u"], given["state"], **given["options"])
    assert len(runs) == len(second) == len(first.y) == shape[2]
    for l, run in enumerate(runs):
        for found, other, own in ((first.y[l], second[l][0], run.y), (first.z[l], second[l][1], run.z)):
            assert agree(found, other, 1e-8)
            assert float(found.radius.max()) < 1e-14
            computed = own[:, 0].detach().numpy()
            assert np.abs(computed - found.middle[1:]).max() < 1e-12
            # the cell's rounding is of the size of the second opinion's radius, not of the first one's
            assert (np.abs(computed - other.middle[1:]) <= 40 * other.radius[1:]).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_both_back_ends_and_of_the_cell_agree(shape):
    cell, given, data = random_cell(shape)
    first, second = network.certify_gradients(data), FloatNetwork(data.to_plain()).gradient()
    output, _ = cell(given["u"], given["state"], **given["options"])
    loss = ((output - given["target"]) ** 2).sum() / (2 * len(given["u"]))
    loss.backward()
    assert abs(float(loss.detach()) - float(first.loss.middle)) < 1e-12
    miss = ((output - given["target"]) / len(given["u"])).detach()
    recursion = cell.bptt(given["u"], miss, given["state"], **given["options"])
    checked = 0
    for l, layer in enumerate(cell.layers):
        for name in network.PARAMETERS:
            found = first.layers[l][name]
            assert agree(found, second[l][name], 1e-8)
            assert float(found.radius.max()) <= 2.0**-45 * float(np.abs(found.middle).max())
            for computed in (getattr(layer, name).grad, recursion[f"layers.{l}.{name}"]):
                assert np.abs(computed.numpy() - found.middle).max() < 1e-12
            checked += 1
    assert checked == 4 * shape[2]


@pytest.mark.parametrize("shape", [*SHAPES[:3], pytest.param(SHAPES[3], marks=pytest.mark.slow)])
def test_jacobian_products_of_both_back_ends_agree_with_autograd(shape):
    m, _, L, N, _ = shape
    cell, given, data = random_cell(shape)
    k = 5
    found, _ = network.certify_jacobian(data, last=N, first=k)
    assert agree(found, FloatNetwork(data.to_plain()).jacobian(N, k), 1e-8)

    def onward(flat: torch.Tensor) -> torch.Tensor:
        state = flat.reshape(L, m, 2)
        options = {"previous_input": given["u"][k - 1]} if shape[4] == "sam" else {}
        _, (y, z) = cell(given["u"][k:], (state[..., 0][:, None], state[..., 1][:, None]), **options)
        return torch.stack([y[:, 0], z[:, 0]], -1).reshape(-1)

    _, (y, z) = cell(given["u"][:k], given["state"], **given["options"])
    start = torch.stack([y[:, 0], z[:, 0]], -1).reshape(-1).detach()
    assert np.abs(torch.autograd.functional.jacobian(onward, start).numpy() - found.middle).max() < 1e-12


def test_both_contain_a_run_with_sixty_digits():
    _, _, data = random_cell((3, 2, 2, 12, "sam"), seed=3)
    data = dataclasses.replace(data, inputs=tuple(tuple(v / 3 for v in row) for row in data.inputs))  # no floats
    layers = [dataclasses.replace(data.layers[0], alpha=Fraction(1, 3), w=tuple(w / 7 for w in data.layers[0].w))]
    data = dataclasses.replace(data, layers=(*layers, data.layers[1]))

    def real(value: Fraction) -> mpf:
        return mpf(value.numerator) / value.denominator

    with mp.workdps(60):
        u = [[real(v) for v in row] for row in (data.previous, *data.inputs)]
        y = [[[real(v) for v in layer.y0]] for layer in data.layers]
        z = [[[real(v) for v in layer.z0]] for layer in data.layers]
        for n in range(1, data.steps + 1):
            for l, layer in enumerate(data.layers):
                below = u[n - 1] if l == 0 else y[l - 1][n - 1]
                new_y, new_z = [], []
                for i in range(3):
                    h = real(layer.dt) / (1 + mp.exp(-real(layer.c[i])))
                    A = real(layer.w[i]) * y[l][-1][i] + mp.fdot(map(real, layer.V[i]), below) + real(layer.b[i])
                    new_z.append(z[l][-1][i] - h * (mp.tanh(A) + real(layer.alpha) * y[l][-1][i]))
                    new_y.append(y[l][-1][i] + h * new_z[-1])
                y[l].append(new_y)
                z[l].append(new_z)
        first, second = network.certify_states(data), FloatNetwork(data.to_plain()).states()
        for l in range(2):
            for true, boxes in ((y[l], (first.y[l], second[l][0])), (z[l], (first.z[l], second[l][1]))):
                for box in boxes:
                    rows = zip((t for row in true for t in row), box.middle.ravel(), box.radius.ravel(), strict=True)
                    off = [abs(t - mpf(float(m))) / (mpf(float(r)) + mpf(10) ** -55) for t, m, r in rows]
                    assert 1e-6 < max(off) <= 1


def test_an_instance_with_groups_is_the_same_run_as_in_the_present_back_end(random_instance):
    for seed in range(4):
        instance = random_instance(seed, layers=2)
        first = network.certify_states(network.of_instance(instance))
        with flint.ctx.workprec(200):
            y, z = balls.trajectory(instance, layer=2, step=instance.steps, exact_step=UNICORNN.exact_step)
            for found, values in ((first.y[1], y), (first.z[1], z)):
                counts = [group.multiplicity for group in instance.layers[1].groups]
                neurons = [v for v, count in zip(values, counts, strict=True) for _ in range(count)]
                for low, high, value in zip(found.lower[-1], found.upper[-1], neurons, strict=True):
                    assert low <= value <= high


@pytest.mark.parametrize("seed", range(4))
def test_a_negative_alpha_is_enclosed_with_radii_that_are_none_below_zero(seed):
    """What many digits say of force, κ, states, gradients and Jacobian lies within; α = −4/3 is no float64 number."""
    _, _, data = random_cell((3, 2, 2, 12, "icml"), seed=seed)
    alphas = (Fraction(-4, 3), Fraction(-5, 2))
    layers = [dataclasses.replace(each, alpha=alpha) for each, alpha in zip(data.layers, alphas, strict=True)]
    data = dataclasses.replace(data, layers=tuple(layers))
    second = FloatNetwork(data.to_plain())
    states, truth = second.states(), network.certify_states(data)
    for l, layer in enumerate(second.layers):
        assert (layer.kappa_radius > 0).all() and (layer.force_radius > 0).all()
        assert within(truth.y[l], states[l][0]) and within(truth.z[l], states[l][1])
    with flint.ctx.workprec(400):
        run = network.BallRun(data)
        for l, (layer, own) in enumerate(zip(second.layers, run.layers, strict=True)):
            kappa, force = zip(
                *((own.kappa(s[l]), f[l]) for s, f in zip(run.slopes[1:], run.forces[1:], strict=True)), strict=True
            )
            for exact, middle, radius in (
                (kappa, layer.kappa, layer.kappa_radius),
                (force, layer.force, layer.force_radius),
            ):
                assert within(Enclosed.of([list(row) for row in exact]), Enclosed(middle, radius))
    gradients, jacobian = network.certify_gradients(data), network.certify_jacobian(data, last=12, first=0)[0]
    for l, found in enumerate(second.gradient()):
        assert all(within(gradients.layers[l][name], found[name]) for name in network.PARAMETERS)
    assert within(jacobian, second.jacobian(12, 0))


def test_a_restoring_force_alone_has_a_radius_above_zero_for_either_sign_of_alpha():
    """With w next to 0 the rounding of α decides the radius of κ."""
    own = {"w": [1e-12], "b": [0.1], "c": [0.0], "V": [[1.0]], "y0": [0.5], "dt": 0.1}
    radii = []
    for alpha in (2.5, -2.5):
        data = network.of_arrays([own | {"alpha": alpha}], np.ones((5, 1)))
        (layer,) = FloatNetwork(data.to_plain()).layers
        radii.append(layer.kappa_radius)
        assert (layer.kappa_radius >= 2.0**-52).all()
    assert np.allclose(*radii, rtol=1e-3, atol=0)


def test_a_radius_below_zero_is_refused():
    with pytest.raises(ArithmeticError, match="wrong sign"):
        network_second.FloatBox(np.zeros(2), np.array([0.0, -1e-20]))


def planted(data: NetworkData) -> dict[str, NetworkData]:
    """Each differs from the data in what a mistake would make of it."""
    first = data.layers[0]
    other = "sam" if data.index == "icml" else "icml"
    changed = {
        "w": dataclasses.replace(first, w=(-first.w[0], *first.w[1:])),
        "c": dataclasses.replace(first, c=tuple(-c for c in first.c)),
        "alpha": dataclasses.replace(first, alpha=first.alpha * (1 + Fraction(1, 10**6))),
        "V": dataclasses.replace(first, V=first.V[::-1]),
        "start": dataclasses.replace(first, z0=tuple(z + Fraction(1, 10**6) for z in first.z0)),
    }
    found = {name: dataclasses.replace(data, layers=(layer, *data.layers[1:])) for name, layer in changed.items()}
    return found | {"index": dataclasses.replace(data, index=other)}


def test_a_wrong_sign_index_or_parameter_is_told_apart_by_each_back_end():
    _, _, data = random_cell(SHAPES[1])
    truth, gradient = network.certify_states(data), network.certify_gradients(data)
    jacobian, _ = network.certify_jacobian(data, last=14, first=3)
    for name, faulty in planted(data).items():
        other = FloatNetwork(faulty.to_plain())
        assert not all(truth.y[l].meets(other.states()[l][0]) for l in range(2)), name
        assert not all(gradient.layers[0][p].meets(other.gradient()[0][p]) for p in network.PARAMETERS), name
        assert not jacobian.meets(other.jacobian(14, 3)), name
    missed = dataclasses.replace(data, target=tuple(tuple(-v for v in row) for row in data.target))
    assert not gradient.layers[1]["b"].meets(FloatNetwork(missed.to_plain()).gradient()[1]["b"])


def test_a_fault_in_either_derivative_is_told_apart_by_the_other(monkeypatch):
    _, _, data = random_cell(SHAPES[1])
    truth = network.certify_gradients(data)
    jacobian, _ = network.certify_jacobian(data, last=14, first=3)
    second = FloatNetwork(data.to_plain())
    back = FloatNetwork._back

    def wrong_sign(*arguments: Any) -> Any:
        P, Q, error, delta, radius = back(*arguments)
        return P, Q, error, -delta, radius

    monkeypatch.setattr(FloatNetwork, "_back", staticmethod(wrong_sign))
    assert not jacobian.meets(second.jacobian(14, 3))
    passed_on = network_second._passed_on

    def a_little_more(*arguments: Any, **options: Any) -> Any:
        dA, radius = passed_on(*arguments, **options)
        return dA * 1.00001, radius

    monkeypatch.setattr(network_second, "_passed_on", a_little_more)
    wrong = second.gradient()
    assert not truth.layers[0]["w"].meets(wrong[0]["w"]) and truth.layers[1]["w"].meets(wrong[1]["w"])
    kappa = network._BallLayer.kappa
    monkeypatch.setattr(network._BallLayer, "kappa", lambda self, slopes: [k - self.alpha for k in kappa(self, slopes)])
    faulty = network.certify_gradients(data)
    assert not faulty.layers[1]["w"].meets(truth.layers[1]["w"])


def test_without_the_tube_the_second_opinion_is_too_narrow(monkeypatch):
    """Dropping the errors of the states from the slopes is seen by many digits: the radii mean something."""
    _, _, data = random_cell((4, 2, 2, 40, "icml"), seed=1)
    truth = network.certify_states(data)
    monkeypatch.setattr(network_second, "above", lambda x: x * 0)
    monkeypatch.setattr(network_second.residual, "above", lambda x: x * 1e-3)
    narrow = FloatNetwork(data.to_plain()).states()
    assert not all(truth.y[l].meets(narrow[l][0]) and truth.z[l].meets(narrow[l][1]) for l in range(2))


def test_precision_is_raised_as_far_as_needed_and_no_further():
    _, _, data = random_cell((2, 1, 1, 400, "icml"))
    coarse, fine = network.certify_states(data, accuracy=20), network.certify_states(data, accuracy=200)
    assert coarse.bits < fine.bits and coarse.y[0].meets(fine.y[0])
    with pytest.raises(network.UndecidedError, match="need about"):
        network.certify_states(data, accuracy=500, max_bits=520)


def test_an_unstable_network_is_not_enclosed_by_floats_and_says_where():
    noise = np.random.default_rng(0).standard_normal(1500)
    inputs = (2 * np.sin(0.37 * np.arange(1500)) + 0.6 * noise)[:, None]
    own = {"b": [0.0], "V": [[1.0]], "c": [9.0]}
    quiet, wild = {"dt": 0.1, "alpha": 1.0, "w": [0.5]} | own, {"dt": 0.3, "alpha": 0.1, "w": [3.0]} | own
    data = network.of_arrays([wild, quiet], inputs)
    with pytest.raises(NotEnclosedError, match="layer 1: after step"):
        FloatNetwork(data.to_plain())


def test_data_that_does_not_fit_is_refused():
    _, _, data = random_cell(SHAPES[0])
    layer = data.layers[0]
    with pytest.raises(ValueError, match="V of layer 1 has 3 entries; expected 2"):
        dataclasses.replace(data, layers=(dataclasses.replace(layer, V=tuple((*row, Fraction(0)) for row in layer.V)),))
    with pytest.raises(ValueError, match="13 targets for 14 steps"):
        dataclasses.replace(data, target=data.target[1:])
    with pytest.raises(ValueError, match="no network"):
        dataclasses.replace(data, index="other")
    with pytest.raises(ValueError, match="not within"):
        network.certify_jacobian(data, last=3, first=3)


def printed_rows_hold(monkeypatch: pytest.MonkeyPatch, row: Any, batch: int) -> dict[str, float]:
    """The measured envelopes of a row on digits lie in their enclosures; largest relative width by layer."""
    monkeypatch.setattr(measured, "BATCH", batch)
    seen: list[Any] = []
    original = measured._envelopes
    monkeypatch.setattr(measured, "_envelopes", lambda cell, u: seen.append((cell, u)) or original(cell, u))
    _, arrays = measured.on_data(row, "digits", None, 0)
    ((cell, u),) = seen
    layers = [
        {"dt": float(cell.dt[l]), "alpha": float(cell.alpha[l])}
        | {name: getattr(layer, name).detach().numpy() for name in ("w", "c", "b", "V")}
        for l, layer in enumerate(cell.layers)
    ]
    plain = network.of_arrays(layers, u[:1, 0].numpy()).to_plain()["layers"]
    with torch.no_grad():
        runs = [(run.y.numpy(), run.z.numpy()) for run in cell.states(u)]
    widths = {}
    for number, boxes in enumerate(network_second.enclose_runs(plain, u.numpy(), runs), 1):
        for quantity, box in zip(("position", "momentum"), boxes, strict=True):
            for norm in ("max", "euclidean"):
                found, values = network_second.envelope(box, norm), arrays[f"{number}/{quantity}/{norm}"]
                assert ((found.lower <= values * (1 + 1e-13)) & (values <= found.upper * (1 + 1e-13))).all()
                large = values > 1e-3 * values.max()
                assert not (values * 1.001 <= found.upper)[large].any() and large.mean() > 0.5
                widths[f"{number}/{quantity}/{norm}"] = float(found.radius.max() / values.max())
    return widths


def test_measured_maxima_of_a_printed_row_on_data_are_proved(monkeypatch):
    row = dataclasses.replace(next(r for r in ROWS if r.name == "psMNIST-128"), steps=80)
    widths = printed_rows_hold(monkeypatch, row, batch=2)
    assert len(widths) == 12 and max(widths.values()) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_measured_maxima_of_every_printed_row_on_data_are_proved(monkeypatch, row):
    widths = printed_rows_hold(monkeypatch, row, batch=4)
    assert len(widths) == 4 * row.num_layers and max(widths.values()) < 1e-4


@pytest.mark.slow
def test_sixty_four_neurons_a_layer_in_three_layers():
    _, _, data = random_cell((64, 3, 3, 60, "icml"))
    second = FloatNetwork(data.to_plain())
    states = network.certify_states(data)
    assert all(agree(states.y[l], second.states()[l][0], 1e-6) for l in range(3))
    first, other = network.certify_gradients(data), second.gradient()
    assert all(agree(first.layers[l][p], other[l][p], 1e-4) for l in range(3) for p in network.PARAMETERS)
    jacobian, _ = network.certify_jacobian(data, last=60, first=56)
    assert agree(jacobian, second.jacobian(60, 56), 1e-6)
    faulty = copy.deepcopy(data.to_plain())
    faulty["layers"][1]["V"][63][63] = "1/3"
    assert not states.y[2].meets(FloatNetwork(faulty).states()[2][0])
