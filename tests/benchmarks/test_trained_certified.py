"""Certificates about a trained network: both enclosures contain what numpy computes, and a bound too large stands."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

import flint
import numpy as np
import pytest

from tests.benchmarks.scripts import BENCHMARKS, imported

certified = imported("trained_certified")
by_hand = imported("trained_by_hand")


def made(size: int, seed: int) -> list[dict[str, np.ndarray]]:
    """Three layers of float32 weights, the first with two inputs."""
    rng = np.random.default_rng(seed)
    shapes = {"V": lambda q: (size, size if q else 2), "b": lambda _: (size,), "w": lambda _: (size,)}
    layers = [
        {name: rng.normal(0, 0.5, shape(q)).astype(np.float32).astype(float) for name, shape in shapes.items()}
        for q in range(3)
    ]
    return [layer | {"c": rng.uniform(-0.1, 0.1, size).astype(np.float32).astype(float)} for layer in layers]


@pytest.mark.parametrize("moved", [1, 2])
def test_both_enclosures_are_the_tangents_of_the_other_script(moved: int) -> None:
    """Backward in balls and in integers, forward in numpy."""
    layers, u = made(6, moved), np.random.default_rng(3).uniform(0, 1, (12, 2)).astype(np.float32).astype(float)
    largest, neuron, of_y = certified.chosen(layers, u, moved)
    forward = by_hand.measured(layers, float(certified.DT), float(certified.ALPHA), np.vstack([u, u[:1]]), moved)
    assert largest == pytest.approx(forward[12], rel=1e-12)
    with flint.ctx.workprec(certified.BITS):
        ball = certified.by_balls(layers, u, moved, neuron, of_y, dt=certified.DT, alpha=certified.ALPHA)
        ends = certified._rational(ball.lower()), certified._rational(ball.upper())
    low, high = certified.by_integers(layers, u, moved, neuron, of_y, dt=certified.DT, alpha=certified.ALPHA)
    assert ends[0] <= high and low <= ends[1] and high - low < Fraction(1, 10**60)
    assert float(low) == pytest.approx(largest, rel=1e-12)


def test_an_integer_enclosure_grows_with_what_it_is_made_of() -> None:
    Mid, unit = imported("_adjoint_in_integers").Mid, 2**certified.BITS
    a, b = Mid([3 * unit], [unit // 4]), Mid([-2 * unit], [unit // 8])
    product = a * b
    ends = [x * y for x in (Fraction(11, 4), Fraction(13, 4)) for y in (Fraction(-17, 8), Fraction(-15, 8))]
    assert Fraction(int(product.m[0] - product.r[0]), unit) <= min(ends)
    assert Fraction(int(product.m[0] + product.r[0]), unit) >= max(ends)


@pytest.mark.parametrize("statement", ["icml-(27)", "sam-54"])
def test_a_bound_that_is_a_million_times_larger_is_not_exceeded(statement: str) -> None:
    layers, u = made(4, 0), np.ones((6, 2))
    with flint.ctx.workprec(certified.BITS):
        small = certified.certified(layers, u, statement, 2, Fraction(1, 10**6))
        large = certified.certified(layers, u, statement, 2, 10**6)
    assert small["agree"] and small["exceeds"] and small["decades at least"] > 0
    assert large["agree"] and not large["exceeds"]


def last_state(layers: list[dict[str, np.ndarray]], u: np.ndarray, moved: int, by: np.ndarray) -> np.ndarray:
    """(y, z) of the last layer, X^moved_1 moved; the layer below enters at n − 1."""
    size, dt = len(by), float(certified.DT)
    y, z = np.zeros((2, 3, size))
    for n, x in enumerate(u):
        below = [x, *y[:-1]]
        A = np.array([a["w"] * b + a["V"] @ c + a["b"] for a, b, c in zip(layers, y, below, strict=True)])
        h = np.array([dt / (1 + np.exp(-layer["c"])) for layer in layers])
        z = z - h * (np.tanh(A) + certified.ALPHA * y)
        y = y + h * z
        if n == 0:
            y[moved - 1] += by
    return np.concatenate([y[-1], z[-1]])


def test_with_the_other_index_the_rows_are_those_of_differences() -> None:
    """The share of y^2_1 in a row, one input neuron at a time; central differences."""
    layers, u = made(4, 2), np.random.default_rng(5).uniform(0, 1, (9, 2))
    moves = 1e-4 * np.eye(4)
    by_y = np.array([(last_state(layers, u, 2, e) - last_state(layers, u, 2, -e)) / 2e-4 for e in moves]).T
    largest, neuron, of_y = certified.chosen(layers, u, 2, is_late=True)
    same, *_ = certified.chosen(layers, u, 2)
    share = np.abs(by_y[neuron if of_y else 4 + neuron]).sum()
    assert 0 < share <= largest * (1 + 1e-6) and largest < same


def test_both_typings_of_the_bounds_are_one() -> None:
    """Exactly, but for e^x."""
    for moved, steps in ((1, 7), (2, 100)):
        with flint.ctx.workprec(certified.BITS):
            found = certified.bounds(made(4, 1), moved, steps)
        again = certified.bounds_again(made(4, 1), moved, dt=certified.DT, alpha=certified.ALPHA, steps=steps)
        assert found[:2] == again[:2] and found[0] < found[1]
        assert abs(found[2] / again[2] - 1) < Fraction(1, 10**80)


def test_the_record_is_of_the_archived_weights_and_agrees_with_the_page() -> None:
    record = json.loads(certified.RESULT.read_text("utf-8"))
    path = BENCHMARKS / "results" / record["network"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == record["sha256 of the weights"]
    runs = json.loads((BENCHMARKS / "results" / "nearness.json").read_text("utf-8"))["trained"]
    (run,) = [each for each in runs if each["row"] == "RR" and each["configuration"]["training"]["seed"] == 0]
    (at,) = [each for each in run["along"] if each["step"] == 17]
    for row in record["rows"]:
        assert row["agree"] and row["exceeds"]
        assert row["decades at least"] == pytest.approx(-at["slack"][0][row["statement"]], abs=1e-5)
