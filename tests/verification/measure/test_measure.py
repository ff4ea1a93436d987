"""Envelopes are norms over neurons, largest over the batch; a run of an instance is a run of the product's network."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.cells.unicornn import UnICORNN
from verification.instance import Group, Inputs, Instance, Layer
from verification.measure.hidden_state import (
    NotAChainError,
    envelope,
    run_chains,
    run_instance,
    run_layer,
    run_layers,
)
from verification.system import UNICORNN

F64 = torch.float64


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = F64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("shape", [(5, 3, 4), (1, 1, 1), (7, 2, 1), (2, 1, 9)])
def test_the_envelope_is_numpys_norm_over_neurons_and_maximum_over_the_batch(shape, dtype):
    values = normal(*shape, dtype=dtype)
    array = values.to(F64).numpy()
    for norm, order in (("max", np.inf), ("euclidean", 2)):
        found = envelope(values, norm)
        assert found.dtype == F64 and found.shape == shape[:1]
        expected = np.linalg.norm(array, ord=order, axis=2).max(axis=1)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15 * shape[2])
    if shape[2] > 1:
        assert (envelope(values, "euclidean") > envelope(values, "max")).all()


def test_a_group_counts_as_often_as_it_has_neurons():
    values, counts = normal(6, 2, 3), torch.tensor([4.0, 1.0, 7.0], dtype=F64)
    spread = values.repeat_interleave(counts.long(), dim=2)
    for norm in ("max", "euclidean"):
        torch.testing.assert_close(envelope(values, norm, counts), envelope(spread, norm), rtol=1e-14, atol=0)
    assert (envelope(values, "euclidean", counts) > envelope(values, "euclidean")).all()


@pytest.mark.parametrize("norm", ["max", "euclidean"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_run_that_is_not_finite_stays_visible(norm: str, bad: float):
    values = normal(4, 3, 2)
    values[2, 1, 0] = bad
    found = envelope(values, norm)
    assert torch.isfinite(found[[0, 1, 3]]).all()
    assert torch.isnan(found[2]) if math.isnan(bad) else found[2] == math.inf


@pytest.mark.parametrize("shape", [(5, 0, 4), (5, 3, 0), (0, 2, 2)])
@pytest.mark.parametrize("norm", ["max", "euclidean"])
def test_an_empty_batch_has_envelope_zero(shape, norm: str):
    found = envelope(torch.empty(shape, dtype=F64), norm)
    assert found.shape == shape[:1] and not found.any()


def test_a_layer_run_is_the_products_recurrence():
    from odernn.executions import torch_loop

    x, w, h = normal(20, 3, 4), normal(4, seed=1), torch.sigmoid(normal(4, seed=2))
    y, z = run_layer(UNICORNN, x, w=w, step_size=h, alpha=0.7)
    expected = torch_loop.forward(x, w=w, step_size=h, alpha=0.7)
    assert torch.equal(y, expected.y) and torch.equal(z, expected.z)
    other, _ = run_layer(UNICORNN, x, w=-w, step_size=h, alpha=0.7)
    assert not torch.allclose(y, other)


def instance() -> Instance:
    """Two layers of 6 neurons in groups, two channels, numbers that float64 holds exactly or nearly."""
    first = Layer(
        Fraction(3, 10),
        (Group(4, Fraction(-3, 2), Fraction(1, 3), Fraction(1, 7)), Group(2, Fraction(2), Fraction(-1))),
        ((Fraction(1), Fraction(-1, 2)), (Fraction(3, 5), Fraction(2))),
    )
    second = Layer(
        Fraction(7, 10),
        (Group(1, Fraction(1, 2), Fraction(0)), Group(5, Fraction(-1), Fraction(2), Fraction(-1, 4))),
        ((Fraction(3), Fraction(-4)), (Fraction(1, 3), Fraction(1))),
    )
    runs = ((3, (Fraction(1), Fraction(-2))), (4, (Fraction(1, 3),)), (5, (Fraction(-5, 2), Fraction(0))))
    return Instance(Fraction(6, 5), (first, second), Inputs(2, runs))


def test_a_run_of_an_instance_is_a_run_of_the_network_with_its_groups_written_out():
    each = instance()
    model = UnICORNN(2, 6, 2, dt=[0.3, 0.7], alpha=1.2, dtype=F64)
    with torch.no_grad():
        below = [1, 1]
        for layer, parameters in zip(each.layers, model.layers, strict=True):
            rows = [g for g in layer.groups for _ in range(g.multiplicity)]
            parameters.w.copy_(torch.tensor([float(g.w) for g in rows]))
            parameters.c.copy_(torch.tensor([float(g.c) for g in rows], dtype=F64))
            parameters.b.copy_(torch.tensor([float(g.bias) for g in rows], dtype=F64))
            entries = [
                [float(v) for v, k in zip(row, below, strict=True) for _ in range(k)]
                for g, row in zip(layer.groups, layer.input_weights, strict=True)
                for _ in range(g.multiplicity)
            ]
            parameters.V.copy_(torch.tensor(entries, dtype=F64))
            below = [g.multiplicity for g in layer.groups]
        u = torch.tensor([[float(v) for v in values] for values in each.inputs], dtype=F64)
        results = model.states(u[:, None, :])
    for number, result in enumerate(results, 1):
        y, z, counts = run_instance(UNICORNN, each, number)
        assert y.shape == z.shape == (12, 1, 2)
        assert counts.tolist() == [g.multiplicity for g in each.layers[number - 1].groups]
        for found, expected in ((y, result.y), (z, result.z)):
            spread = found.repeat_interleave(counts.long(), dim=2)
            torch.testing.assert_close(spread, expected, rtol=1e-13, atol=1e-13)
            for norm in ("max", "euclidean"):
                torch.testing.assert_close(
                    envelope(found, norm, counts), envelope(expected, norm), rtol=1e-12, atol=1e-13
                )
    assert not torch.allclose(run_instance(UNICORNN, each, 1)[0], run_instance(UNICORNN, each, 2)[0])


def chains() -> list[Instance]:
    """Three chains of two layers with the same α, h and weight between layers, biased in the first one."""

    def one(w: Fraction, bias: Fraction, drive: Fraction) -> Instance:
        first = Layer(Fraction(3, 10), (Group(2, w, Fraction(1, 3), bias),), ((drive,),))
        second = Layer(Fraction(7, 10), (Group(2, -w, Fraction(0)),), ((Fraction(3, 4),),))
        runs = ((4, (drive,)), (5, (-2 * drive,)), (3, (Fraction(0),)))
        return Instance(Fraction(6, 5), (first, second), Inputs(1, runs))

    return [
        one(Fraction(1, 2), Fraction(1, 7), Fraction(1)),
        one(Fraction(-3), Fraction(0), Fraction(2)),
        one(Fraction(0), Fraction(-5, 2), Fraction(1, 8)),
    ]


@pytest.mark.parametrize("layer", (1, 2))
def test_chains_run_at_once_are_run_as_each_alone(layer: int) -> None:
    networks = chains()
    y, z = run_chains(UNICORNN, networks, layer)
    assert y.shape == z.shape == (12, len(networks))
    for number, network in enumerate(networks):
        alone = run_instance(UNICORNN, network, layer)
        for found, expected in zip((y, z), alone, strict=False):
            torch.testing.assert_close(found[:, number], expected[:, 0, 0], rtol=1e-13, atol=1e-14)
    assert not torch.allclose(y[:, 0], y[:, 1]) and not torch.allclose(y[:, 0], y[:, 2])


@pytest.mark.parametrize("depth", (1, 2, 3))
@pytest.mark.parametrize("steps", (1, 2, 3, 25))
def test_what_is_written_in_place_has_the_bits_of_the_systems_step(depth: int, steps: int) -> None:
    asked = []

    def step(y, z, x, *, w, step_size, alpha):
        asked.append(y.shape)
        return UNICORNN.step(y, z, x, w=w, step_size=step_size, alpha=alpha)

    drive, w = 3 * normal(steps, 7), normal(depth, 7, seed=1)
    given = {"w": w, "step_sizes": (0.3, 0.9, 0.1)[:depth], "alpha": 0.7, "relay": 4.0}
    found = run_layers(UNICORNN, drive, **given)
    expected = run_layers(replace(UNICORNN, step=step), drive, **given)
    assert asked and all(torch.equal(*pair) for pair in zip(found, expected, strict=True))
    y = z = torch.zeros(depth, 7, dtype=F64)
    for n in range(steps):
        y, z, below = y.clone(), z.clone(), drive[n]
        for q, h in enumerate(given["step_sizes"]):
            y[q], z[q] = UNICORNN.step(y[q], z[q], below, w=w[q], step_size=h, alpha=0.7)
            below = 4.0 * y[q]
        for state, rows in zip((y, z), found, strict=True):
            torch.testing.assert_close(rows[n + 1], state, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("wrong", [lambda y: y.sum(), lambda y: y.float()])
def test_a_step_that_changes_the_shape_or_dtype_of_the_state_is_refused(wrong) -> None:
    bad = replace(UNICORNN, name="planted", step=lambda y, z, x, **_: (wrong(y), z))
    with pytest.raises(ValueError, match=r"The step of planted gives a state of .* Wanted"):
        run_layers(bad, normal(5, 7), w=normal(1, 7), step_sizes=(0.3,), alpha=0.7, relay=4.0)


def test_a_run_that_overflows_says_so_by_its_states_alone() -> None:
    """No warning of numpy's: the suite makes errors of them."""
    drive = torch.full((400, 1), 10.0, dtype=F64)
    w = torch.zeros(2, 1, dtype=F64)
    y, _ = run_layers(UNICORNN, drive, w=w, step_sizes=(0.99, 0.99), alpha=1000.0, relay=1.0)
    assert torch.isfinite(y[:20]).all() and not torch.isfinite(y[-1]).any()


def _with(network: Instance, number: int, **changes: object) -> Instance:
    """One layer of it changed; what is no field of a layer is one of its group."""
    layer = network.layers[number - 1]
    of_layer = {name: value for name, value in changes.items() if name in ("dt", "input_weights", "groups")}
    of_group = {name: value for name, value in changes.items() if name not in of_layer}
    if of_group:
        of_layer["groups"] = (replace(layer.groups[0], **of_group),)
    layers = list(network.layers)
    layers[number - 1] = replace(layer, **of_layer)
    return replace(network, layers=tuple(layers))


DIFFERENCES = {
    "α of network 3": lambda n: replace(n, alpha=Fraction(1)),
    "N of network 3": lambda n: replace(n, inputs=Inputs(1, ((3, (Fraction(1),)),))),
    "system of network 3": lambda n: replace(n, system="another"),
    "dt or c in layer 1 of network 3": lambda n: _with(n, 1, dt=Fraction(1, 5)),
    "dt or c in layer 2 of network 3": lambda n: _with(n, 2, c=Fraction(1)),
    "bias in layer 2 of network 3 is 1": lambda n: _with(n, 2, bias=Fraction(1)),
    "2 groups in layer 1 of network 3": lambda n: _with(n, 1, groups=n.layers[0].groups * 2),
    "weights [1.5, 2.5]": lambda n: _with(n, 2, input_weights=((Fraction(5, 4),),)),
    "weights [1.5, 3.0]": lambda n: _with(n, 1, multiplicity=4),
}


@pytest.mark.parametrize("said", DIFFERENCES)
def test_what_is_no_chain_like_the_others_is_refused_by_name(said: str) -> None:
    """Each of these differences moves the states, and was overlooked once in all networks but the first."""
    networks = chains()
    changed = DIFFERENCES[said](networks[2])
    with pytest.raises(NotAChainError, match=re.escape(said)):
        run_chains(UNICORNN, [*networks[:2], changed], 2)
    if changed.system == networks[2].system and len(changed.layers[0].groups) == 1:
        alone, before = (run_instance(UNICORNN, each, 2)[0] for each in (changed, networks[2]))
        assert alone.shape != before.shape or not torch.allclose(alone, before)
