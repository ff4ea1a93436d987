"""A row's network is measured as the paper writes it: every layer, every step, both quantities, on inputs in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.published.networks import PublishedRow
from verification.domains import BUDGETS
from verification.measure import network
from verification.tasks import sequences
from verification.tasks.images import ImageSource

ROW = PublishedRow(
    name="made up",
    dt=(Fraction(3, 10), Fraction(7, 10), Fraction(1, 5)),
    alpha=Fraction(5, 2),
    steps=40,
    input_size=3,
    hidden_size=5,
    num_layers=3,
    batch=1,
    outputs=1,
)
UNDAMPED = replace(ROW, alpha=Fraction(0), dt=(Fraction(1, 500), Fraction(1, 5), Fraction(1, 50)))
BUDGET = replace(BUDGETS["smoke"], range_inputs=9)
SEED = 2**60 - 3  # a job's seed has 60 bits


pytestmark = pytest.mark.usefixtures("one_thread")


def loud(row: PublishedRow, seed: int = 0):
    """The row's network with weights so large and so unequal that no term of the recurrence is negligible."""
    model = network.build(row, seed)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def noise(row: PublishedRow, batch: int) -> torch.Tensor:
    return torch.rand(row.steps, batch, row.input_size, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def by_hand(row: PublishedRow, model, u: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of one row from a loop over batch, layers and time, with dt and α of the row; float64 scalars."""
    m, expected = row.hidden_size, {}
    alpha = row.alpha.numerator / row.alpha.denominator
    for j in range(u.shape[1]):
        below = [list(u[n, j]) for n in range(row.steps)]
        for number, layer in enumerate(model.layers, 1):
            w, c, V, b = ([] if p is None else p.detach().tolist() for p in (layer.w, layer.c, layer.V, layer.b))
            dt = row.dt[number - 1].numerator / row.dt[number - 1].denominator
            h = [dt / (1 + math.exp(-each)) for each in c]
            y, z = [0.0] * m, [0.0] * m
            rows = []
            for n in range(row.steps):
                for i in range(m):
                    x = sum(V[i][k] * below[n][k] for k in range(len(below[n]))) + b[i]
                    z[i] = z[i] - h[i] * (math.tanh(w[i] * y[i] + x) + alpha * y[i])
                    y[i] = y[i] + h[i] * z[i]
                rows.append(list(y))
                for quantity, state in (("position", y), ("momentum", z)):
                    for norm, value in (("max", max(map(abs, state))), ("euclidean", math.hypot(*state))):
                        array = expected.setdefault(f"{number}/{quantity}/{norm}", np.zeros(row.steps))
                        array[n] = max(array[n], value)
            expected[f"{number}/step_sizes"] = np.array(h)
            below = rows
    return expected


def assert_alike(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], rtol: float = 1e-10) -> None:
    assert set(found) == set(expected)
    for key, array in expected.items():
        assert found[key].dtype == np.float64
        np.testing.assert_allclose(found[key], array, rtol=rtol, err_msg=key)


# --- envelopes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [ROW, UNDAMPED], ids=["stiff", "undamped"])
def test_the_envelopes_are_those_of_the_recurrence_written_as_a_loop(row):
    model, u = loud(row), noise(row, 4)
    expected = by_hand(row, model, u.numpy())
    assert len(expected) == 3 * (2 * 2 + 1)
    for number in "123":  # position and momentum, the norms and the layers are told apart by these numbers
        parts = [expected[f"{number}/{q}/{n}"] for q in ("position", "momentum") for n in ("max", "euclidean")]
        assert all(not np.allclose(a, b, rtol=1e-3) for i, a in enumerate(parts) for b in parts[:i])
    assert_alike(network._envelopes(model, u), expected)


def test_the_network_of_a_row_has_its_shape_its_alpha_and_the_dt_of_every_layer():
    model = network.build(ROW, SEED)
    assert [tuple(layer.V.shape) for layer in model.layers] == [(5, 3), (5, 5), (5, 5)]
    assert model.dt.tolist() == [0.3, 0.7, 0.2] and model.alpha.tolist() == [2.5] * 3
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}
    steps = model.effective_steps().detach().numpy()
    for number, layer in enumerate(model.layers):
        sigmoid = 1 / (1 + np.exp(-layer.c.detach().numpy()))
        np.testing.assert_allclose(steps[number], float(ROW.dt[number]) * sigmoid, rtol=1e-15)


@pytest.mark.parametrize("size", [1, 2 * 8 * 40 * 5, 3 * 8 * 40 * 5 + 7], ids=["one", "two", "three"])
def test_a_batch_measured_in_chunks_is_the_batch_measured_at_once(monkeypatch, size):
    model, u = loud(ROW), noise(ROW, 7)
    whole = network._envelopes(model, u)
    seen, states = [], model.states
    monkeypatch.setattr(network, "CHUNK_BYTES", size)
    monkeypatch.setattr(model, "states", lambda chunk: seen.append(chunk) or states(chunk))
    assert_alike(network._envelopes(model, u), whole, rtol=1e-12)
    assert len(seen) == {1: 7, 3200: 4, 4807: 3}[size]
    assert torch.equal(torch.cat(seen, dim=1), u)
    assert all(chunk.shape[1] == 1 or chunk.shape[1] * 8 * 40 * 5 <= size for chunk in seen)
    # every key feels the batch: the first and the last element alone are less than the whole
    for part in (u[:, :1], u[:, -1:]):
        alone = network._envelopes(model, part)
        assert all((alone[key] < whole[key]).any() for key in whole if "step" not in key)


# --- waves in the range -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 9, 32])
@pytest.mark.parametrize("row", [ROW, UNDAMPED], ids=["stiff", "undamped"])
def test_waves_stay_in_the_unit_interval_and_reach_both_ends(row, count):
    u = network.waves_in_range(network.build(row, SEED), row, count)
    assert u.shape == (row.steps, count, row.input_size) and u.dtype == torch.float64
    assert torch.isfinite(u).all() and not u.requires_grad
    assert float(u.min()) == 0.0 and float(u.max()) == 1.0
    assert set(u.unique().tolist()) == {0.0, 1.0}  # square waves
    assert torch.equal(u, network.waves_in_range(network.build(row, SEED), row, count))
    if count > 2:
        assert not torch.equal(u, network.waves_in_range(network.build(row, SEED + 1), row, count))


def test_a_wave_drives_its_neuron_as_hard_as_the_range_allows():
    model, count = network.build(ROW, SEED), 12
    u = network.waves_in_range(model, ROW, count).numpy()
    V = model.layers[0].V.detach().numpy()
    order = np.argsort(-np.abs(V).sum(axis=1))
    for k in range(count):
        row = V[order[k % len(order)]]
        drive, ends = u[:, k] @ row, (row[row > 0].sum(), row[row < 0].sum())
        distance = np.minimum(np.abs(drive - ends[0]), np.abs(drive - ends[1]))
        assert np.all(distance <= 1e-15 * row.size), k
        assert k == 0 or (np.ptp(drive) > 0), "only the first wave, of frequency 0, never switches"


@pytest.mark.parametrize("row", [ROW, UNDAMPED], ids=["stiff", "undamped"])
def test_the_frequencies_sweep_the_resonances_of_all_layers(row):
    count = 32
    steps = network.build(row, SEED).effective_steps().detach()
    found = network._resonances(steps, float(row.alpha), count)
    assert found.shape == (count,) and found[:2].tolist() == [0.0, math.pi]
    assert torch.isfinite(found).all() and float(found.min()) >= 0 and float(found.max()) <= math.pi
    if row.alpha > 0:
        theta = np.arccos(1 - float(row.alpha) * steps.numpy() ** 2 / 2)  # cos θ = 1 − αh²/2
        assert found[2:].min() < theta.min() and found[2:].max() > theta.max()
        assert found[2:].min() > 0.8 * theta.min() and found[2:].max() < 1.2 * theta.max()
    else:
        assert float(found[2:].max()) > 0


# --- on_data and on_range ---------------------------------------------------------------------------------------


def made_source(bad: float | None = None) -> ImageSource:
    images = np.random.default_rng(3).random((50, 7))
    if bad is not None:
        images[0, 0] = bad
    return ImageSource("made", images, "nowhere", "0" * 64)


@pytest.fixture
def source(monkeypatch):
    """The made images in place of the digits."""
    monkeypatch.setattr(network, "load_source", lambda task, folder: made_source())


def captured(monkeypatch) -> list:
    """(network, input) of every measurement from here on."""
    calls, original = [], network._envelopes
    monkeypatch.setattr(network, "_envelopes", lambda model, u: calls.append((model, u)) or original(model, u))
    return calls


def test_real_and_worst_input_meet_the_same_network_and_another_seed_another(monkeypatch, source):
    calls = captured(monkeypatch)
    for seed in (SEED, SEED + 1):
        on_data = network.on_data(ROW, "digits", None, seed)[1]
        in_range = network.on_range(ROW, BUDGET, seed)[1]
        assert set(on_data) == set(in_range)
        for number in "123":
            assert np.array_equal(on_data[f"{number}/step_sizes"], in_range[f"{number}/step_sizes"])
    states = [model.state_dict() for model, _ in calls]
    for first, second in ((states[0], states[1]), (states[2], states[3])):
        assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(states[0]["layers.0.V"], states[2]["layers.0.V"])
    assert all(torch.equal(states[0][name], each) for name, each in network.build(ROW, SEED).state_dict().items())


def test_real_input_is_the_source_laid_end_to_end_and_measured_by_the_same_recurrence(source):
    row = replace(ROW, kind="noise-padded")
    for each in (ROW, row):
        data, arrays = network.on_data(each, "digits", None, SEED)
        u = sequences.build(
            made_source(), steps=40, input_size=3, batch=network.BATCH, kind=each.kind, seed=SEED % 2**32
        )
        assert_alike(arrays, by_hand(each, network.build(each, SEED), u))
        assert data == {"source": made_source().describe(), "finite": True}
    assert not np.array_equal(arrays["1/position/max"], network.on_data(ROW, "digits", None, SEED)[1]["1/position/max"])


def test_worst_input_is_the_waves_measured_by_the_same_recurrence():
    data, arrays = network.on_range(ROW, BUDGET, SEED)
    model = network.build(ROW, SEED)
    u = network.waves_in_range(model, ROW, BUDGET.range_inputs)
    assert_alike(arrays, by_hand(ROW, model, u.numpy()))
    assert data == {"inputs": 9, "finite": True}
    again = network.on_range(ROW, BUDGET, SEED)[1]
    assert all(np.array_equal(arrays[key], again[key]) for key in arrays)


@pytest.mark.parametrize("quantity", ["w", "c", "b"])
def test_a_network_that_is_not_finite_in_one_neuron_is_reported(monkeypatch, source, quantity):
    model = network.build(ROW, SEED)
    with torch.no_grad():
        getattr(model.layers[2], quantity)[4] = math.nan
    monkeypatch.setattr(network, "build", lambda row, seed: model)
    for data, arrays in (network.on_data(ROW, "digits", None, SEED), network.on_range(ROW, BUDGET, SEED)):
        assert data["finite"] is False
        assert np.isnan(arrays["3/position/max"]).any() and np.isfinite(arrays["2/position/max"]).all()


@pytest.mark.parametrize("size", [1, network.CHUNK_BYTES], ids=["chunks", "whole"])
def test_one_batch_element_that_is_not_a_number_is_reported_also_from_its_own_chunk(monkeypatch, size):
    monkeypatch.setattr(network, "CHUNK_BYTES", size)
    monkeypatch.setattr(network, "load_source", lambda task, folder: made_source(math.nan))
    data, arrays = network.on_data(ROW, "digits", None, SEED)
    assert data["finite"] is False and np.isnan(arrays["1/position/max"]).all()


def test_overflow_without_a_nan_is_reported(monkeypatch):
    row = replace(ROW, steps=2)
    model = network.build(row, SEED)
    model.alpha.fill_(1e250)  # z_2 ≈ 1e248 has a square beyond float64
    monkeypatch.setattr(network, "build", lambda row, seed: model)
    data, arrays = network.on_range(row, BUDGET, SEED)
    assert data["finite"] is False
    assert not any(np.isnan(array).any() for array in arrays.values())
