"""A derivative of the loss of a whole network against a published bound, by both back-ends, from a file to a verdict.

The network is made: m = 64, L = 3, N = 200, every number another one but the second input, which is large and reaches
no neuron (its weights are 0), so that the derivative by one of these weights exceeds the bound of sam (41).
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from odernn.cells.unicornn import UnICORNN
from tests.tiers import slow
from verification.cases import network_gradient
from verification.cases.network_gradient import NetworkGradient
from verification.certify.second import intervals as second
from verification.certify.second import network_gradient as network_gradient_second
from verification.claim import Parameters
from verification.cli import main
from verification.parameters import RefusedError
from verification.registry import Registry
from verification.witness.check import check
from verification.witness.file import LONGEST_TEXT, MOST_PARAMETERS, Witness, from_json, to_json, write

M, DEPTH, STEPS = 64, 3, 200
PLACE = ("sam-D.2", "free, any inputs", "|dE/dθ|, θ = V^1")
BEYOND = Fraction(1, 4)


def words(values: Any) -> str:
    return " ".join(str(v) for v in values)


def made(
    *, theta: str = "V", m: int = M, depth: int = DEPTH, steps: int = STEPS, large: int = 10**9, seed: int = 0
) -> dict[str, str]:
    """Random networks of short numbers with T = 1; the second channel holds ``large`` and has no weight."""
    noise = random.Random(seed)

    def around(centre: int, size: int, count: int) -> list[Fraction]:
        return [centre + Fraction(noise.randint(-8, 8) or 1, size) for _ in range(count)]

    found = {
        "alpha": "1",
        "dt": f"1/{steps}",
        "N": str(steps),
        "m": str(m),
        "layer": "1",
        "neuron": "2",
        **({"source": "2"} if theta == "V" else {}),
        "w": words(around(-1, 16, depth * m)),
        "c": words(around(2, 16, depth * m)),
        "b": words(around(0, 32, depth * m)),
        "target": words(around(2, 64, m)),
        "u": words(v for first in around(0, 8, steps) for v in (first, large)),
        "V1": words(v for first in around(0, 16, m) for v in (first, 0)),
    }
    return found | {f"V{q}": words(around(1, 16, m * m)) for q in range(2, depth + 1)}


@pytest.fixture(scope="module")
def parameters() -> dict[str, str]:
    return made()


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


def in_torch(parameters: Parameters, theta: str) -> float:
    """|dE/dθ| by autograd through the cell."""
    m, steps = int(parameters["m"]), int(parameters["N"])
    depth = len(parameters["w"].split()) // m

    def numbers(name: str, *shape: int) -> torch.Tensor:
        return torch.tensor([float(Fraction(v)) for v in parameters[name].split()], dtype=torch.float64).reshape(shape)

    channels = len(parameters["V1"].split()) // m
    dt, alpha = (float(Fraction(parameters[name])) for name in ("dt", "alpha"))
    cell = UnICORNN(channels, m, depth, dt=[dt] * depth, alpha=[alpha] * depth, dtype=torch.float64)
    with torch.no_grad():
        for q, layer in enumerate(cell.layers):
            for name in ("w", "c", "b"):
                getattr(layer, name).copy_(numbers(name, depth, m)[q])
            layer.V.copy_(numbers(f"V{q + 1}", m, channels if q == 0 else m))
    output, _ = cell(numbers("u", -1, 1, channels).expand(steps, 1, channels))
    (((output - numbers("target", -1, 1, m)) ** 2).sum() / (2 * steps)).backward()
    slopes = getattr(cell.layers[int(parameters["layer"]) - 1], theta).grad[int(parameters["neuron"]) - 1]
    return abs(float(slopes[int(parameters["source"]) - 1] if theta == "V" else slopes))


def bounded(theta: str, bound: Fraction) -> NetworkGradient:
    """|dE/dθ| ≤ bound."""
    return NetworkGradient(
        theta,
        lambda p: p.alpha * 0 + network_gradient.BALLS.exact(bound),
        lambda p: p.alpha * 0 + second.iv.mpf(bound.numerator) / bound.denominator,
        (),
    )


@pytest.mark.slow
def test_a_network_of_sixty_four_neurons_in_three_layers_violates_a_published_bound_on_the_command_line(
    parameters, tmp_path, capsys
) -> None:
    path = tmp_path / "network.json"
    write(Witness(*PLACE, parameters), path)
    assert main(["witness", "verify", str(path)]) == 0
    said = capsys.readouterr().out
    for line in ("balls    violates", "floats   violates", "premise  0 < dt < 1", "certified"):
        assert line in said
    assert "L = 3, m = 64, N = 200, θ = V of neuron 2 of layer 1" in said


def certified(parameters: Parameters, registry: Registry) -> bool:
    try:
        return check(Witness(*PLACE, dict(parameters)), registry).certified
    except RefusedError as refused:
        assert "arameter" in str(refused)
        return False


def test_the_same_network_with_a_small_input_or_another_place_is_refused(registry) -> None:
    parameters = made(m=6, steps=20)
    assert certified(parameters, registry)
    assert not certified(made(m=6, steps=20, large=1), registry)
    assert not certified({**parameters, "layer": "3"}, registry)  # an input from layer 2, no large one
    assert not certified({**parameters, "source": "1"}, registry)
    for name, value in (
        ("alpha", "-1"),
        ("dt", "2"),
        ("layer", "4"),
        ("neuron", "7"),
        ("N", "21"),
        ("m", "5"),
        ("source", "3"),
    ):
        assert not certified({**parameters, name: value}, registry), name


@pytest.mark.parametrize(("theta", "layer"), [("b", 1), slow(("w", 1)), slow(("c", 2)), ("V", 2), slow(("b", 2))])
def test_each_number_moved_so_that_the_bound_is_no_longer_exceeded_is_refused(theta: str, layer: int) -> None:
    """The bound is set just below what the network reaches; either direction of every kind of number."""
    base = made(theta=theta, m=5, depth=2, steps=12, large=1, seed=1) | {"layer": str(layer)}
    reached = in_torch(base, theta)
    below, above = (Fraction(reached) * (1 + off) for off in (-Fraction(1, 10**6), Fraction(1, 10**6)))
    opinions = [bounded(theta, bound).check(base).opinions for bound in (below, above)]
    assert [[each.violated for each in pair] for pair in opinions] == [[True, True], [False, False]]
    refused = tried = 0
    for name in ("alpha", "dt", "w", "c", "b", "u", "target", "V1", "V2"):
        for by in (Fraction(1, 50), -Fraction(1, 50)):
            values = [Fraction(v) for v in base[name].split()]
            values[1 if len(values) > 1 else 0] += by * (values[0] if name == "dt" else 1)
            moved = {**base, name: words(values)}
            size = in_torch(moved, theta)
            if abs(size - float(below)) <= 1e-5 * size:
                continue  # a number that this derivative does not feel
            answers = [each.violated for each in bounded(theta, below).check(moved).opinions]
            assert answers == [size > below] * 2, (name, by)
            tried, refused = tried + 1, refused + (not any(answers))
    assert tried >= 10 and 4 <= refused < tried


@pytest.mark.parametrize("fault", ["balls", "floats"])
def test_a_fault_in_one_of_the_two_back_ends_certifies_nothing(monkeypatch, fault: str) -> None:
    base = made(theta="b", m=4, depth=2, steps=10, large=1)
    claim = bounded("b", Fraction(in_torch(base, "b")) * (1 - Fraction(1, 10**6)))
    if fault == "balls":
        real = network_gradient.network.certify_gradients

        def smaller(*given: Any, **options: Any) -> Any:
            found = real(*given, **options)
            halves = [
                {name: replace(box, middle=box.middle / 2) for name, box in each.items()} for each in found.layers
            ]
            return replace(found, layers=tuple(halves))

        monkeypatch.setattr(network_gradient.network, "certify_gradients", smaller)
    else:
        real_of = network_gradient_second.FloatNetwork.gradient_of

        def smaller_box(self: Any, source: int, columns: Any) -> Any:
            box = real_of(self, source, columns)
            return type(box)(box.middle / 2, box.radius)

        monkeypatch.setattr(network_gradient_second.FloatNetwork, "gradient_of", smaller_box)
    assert sorted(each.violated for each in claim.check(base).opinions) == [False, True]


def test_both_sides_read_the_norms_of_the_statement_alike() -> None:
    base = made(m=3, depth=2, steps=4, seed=5)
    exact = network_gradient._Read(base, "b").norms(Fraction)
    _, again = network_gradient_second.sides(base, "b")
    V = [np.array([float(Fraction(v)) for v in base[name].split()]).reshape(3, -1) for name in ("V1", "V2")]
    assert [float(v) for v in exact.V] == pytest.approx([np.abs(each).sum(axis=1).max() for each in V])
    for name in ("w", "V", "target"):
        first = [float(v) for v in getattr(exact, name)]
        assert first == pytest.approx([float(second.iv.mpf(v).mid) for v in getattr(again, name)], rel=1e-12)
    assert (exact.m, again.texts) == (3, {"w": "0 0", "N": "4", "layer": "1"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"N": "1000000000"}, '"N"'),
        ({"N": "60000", "u": "1 2", "target": "1 2 3"}, "products"),
        ({"m": "0"}, "whole number"),
        ({"neuron": "1/2"}, "whole number"),
        ({"neuron": "4"}, "a place of θ"),
        ({"w": "1 2 3 4"}, "rows of 3"),
        ({"u": "1 2 3"}, "rows of 2"),
        ({"target": "1 2 3 4 5 6"}, "rows of 3"),
        ({"layer": "3"}, "a place of θ"),
        ({"V2": "1 2 3"}, "rows of 3"),
        ({"V3": "1 2 3 1 2 3 1 2 3"}, "does not go with the others"),
    ],
)
def test_what_is_no_network_is_refused_with_the_reason(changes: dict[str, str], message: str) -> None:
    base = made(theta="b", m=3, depth=2, steps=4) | changes
    with pytest.raises(RefusedError, match=message):
        bounded("b", BEYOND).check(base)


def test_a_matrix_of_floats_fits_into_a_file() -> None:
    """64 × 64 float64 numbers of any size as fractions."""
    values = [Fraction(v) for v in np.random.default_rng(0).standard_normal(64 * 64).tolist()]
    text = words(values)
    assert len(text) < LONGEST_TEXT
    file = to_json(Witness(*PLACE, {"V1": text}))
    assert from_json(file).parameters["V1"] == text and json.loads(file)


def small_network(layers: int) -> Parameters:
    """One neuron a layer, one input, one step."""
    ones = " ".join(["1"] * layers)
    between = {f"V{q}": "1" for q in range(1, layers + 1)}
    place = {"m": "1", "alpha": "1", "dt": "1/2", "N": "1", "layer": "1", "neuron": "1"}
    return place | {"w": ones, "c": ones, "b": ones} | between | {"u": "1", "target": "1"}


def test_a_bound_is_asked_of_networks_of_one_to_fifty_two_layers_and_of_no_others() -> None:
    above, below = bounded("b", Fraction(10**6)).check, bounded("b", Fraction(1, 10**30)).check
    for layers in (1, 52):
        assert not any(opinion.violated for opinion in above(small_network(layers)).opinions)
    assert all(opinion.violated for opinion in below(small_network(1)).opinions)
    for layers in (0, 53):
        with pytest.raises(RefusedError):
            above(small_network(layers))


def test_a_file_holds_networks_of_as_many_layers_as_are_read() -> None:
    """V of θ and the matrix of every layer: 64 parameters at 52 layers."""
    declaration = bounded("V", BEYOND).check.declaration
    for depth in (1, 52, 53):
        deep = made(m=2, depth=depth, steps=1) | {"dt": "1/2"}
        if depth <= 52:
            assert len(declaration.read(deep)) == len(deep) <= MOST_PARAMETERS
        else:
            assert len(deep) > MOST_PARAMETERS
            with pytest.raises(RefusedError):
                declaration.read(deep)
