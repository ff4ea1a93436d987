"""Contributions of single steps against autograd and the sum over all lattice paths; slopes of known functions."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint
import pytest
import torch

from odernn.bounds.numbers import BALLS
from odernn.cells.unicornn import UnICORNN
from verification.certify import scalar_stack
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second import scalar_stack as scalar_stack_second
from verification.certify.second.intervals import iv
from verification.measure import gradient, scaling

TOLERANCE = 1e-12
STACKS = [(1, None, True), (2, None, True), (3, None, False), (4, 2, True), (5, 2, True), (5, 3, False), (7, 2, True)]


def network(layers: int, skip: int | None, multiscale: bool) -> UnICORNN:
    """w with both signs and V of order 1, so that no route is negligible."""
    generator = torch.Generator().manual_seed(layers)
    net = UnICORNN(
        2,
        3,
        layers,
        dt=0.4,
        alpha=0.7,
        multiscale=multiscale,
        residual_skip=skip,
        dtype=torch.float64,
        generator=generator,
    )
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return net


def data(steps: int, batch: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    return (
        torch.randn(steps, batch, 2, generator=generator, dtype=torch.float64),
        torch.randn(batch, 3, generator=generator, dtype=torch.float64),
    )


@pytest.mark.parametrize(("layers", "skip", "multiscale"), STACKS)
def test_the_contributions_add_up_to_the_gradient_of_autograd(layers, skip, multiscale):
    net, n = network(layers, skip, multiscale), 9
    inputs, target = data(12, batch=4)
    found = gradient.contributions(gradient.run(gradient.weights_of(net), inputs), n, target)
    output, _ = net(inputs)
    net.zero_grad()
    (0.5 * (output[n - 1] - target).square().sum()).backward()
    compared = 0
    for number, (layer, each) in enumerate(zip(net.layers, found, strict=True), 1):
        below, skipped = net.sources(number)
        names = {"w": layer.w, "b": layer.b, "c": layer.c, f"V{below}": layer.V}
        if skipped is not None:
            names[f"V{skipped}"] = layer.Lambda
        for name, parameter in names.items():
            if parameter is not None:
                total = each[name].sum(dim=(0, 1))
                scale = float(parameter.grad.abs().max()) + 1e-300
                assert float((total - parameter.grad).abs().max()) <= TOLERANCE * max(1.0, scale), (number, name)
                compared += 1
    assert compared >= 3 * layers


@pytest.mark.parametrize(("layers", "skip"), [(1, None), (3, None), (5, 2)])
def test_every_single_contribution_is_the_derivative_with_weights_of_its_own_at_every_step(layers, skip):
    weights, n = gradient.weights_of(network(layers, skip, True)), 7
    inputs, target = data(n)
    found = gradient.contributions(gradient.run(weights, inputs), n, target)
    own = [layer.w.repeat(n, 1).detach().requires_grad_() for layer in weights]  # row k − 1 is used at step k only
    y = [torch.zeros(1, 3, dtype=torch.float64) for _ in weights]
    z = list(y)
    for k in range(n):
        levels = [inputs[k]]
        for q, layer in enumerate(weights):
            x = sum(levels[level] @ matrix.T for level, matrix in layer.edges.items()) + layer.bias
            z[q] = z[q] - layer.step_size * (torch.tanh(own[q][k] * y[q] + x) + layer.alpha * y[q])
            y[q] = y[q] + layer.step_size * z[q]
            levels.append(y[q])
    (0.5 * (y[-1] - target).square().sum()).backward()
    for q in range(layers):
        assert float((found[q]["w"][:, 0] - own[q].grad).abs().max()) <= TOLERANCE * float(own[q].grad.abs().max())


def blocks(states: gradient.Trajectory, layer: int, level: int | None, n: int) -> torch.Tensor:
    """dX^layer_n/dX^layer_{n−1} (level None) or dX^layer_n/dX^level_n, in coordinates (y_1..y_m, z_1..z_m)."""
    weights = states.layers[layer - 1]
    h, slope = torch.diag(weights.step_size), torch.diag(states.slopes[layer - 1][n - 1, 0])
    one = torch.eye(len(weights.w), dtype=torch.float64)
    if level is None:
        kappa = torch.diag(states.kappa(layer)[n - 1, 0])
        return torch.cat([torch.cat([one - h @ h @ kappa, h], 1), torch.cat([-h @ kappa, one], 1)])
    kick = -h @ slope @ weights.edges[level]
    return torch.cat([torch.cat([h @ kick, 0 * one], 1), torch.cat([kick, 0 * one], 1)])


def all_paths(states: gradient.Trajectory, here: tuple[int, int], end: tuple[int, int]) -> tuple[torch.Tensor, int]:
    """The sum over all monotone lattice paths of the products of blocks, and how many there are."""
    n, layer = here
    if here == end:
        return torch.eye(2 * len(states.layers[0].w), dtype=torch.float64), 1
    total, count = torch.zeros(()), 0
    if n < end[0]:
        rest, number = all_paths(states, (n + 1, layer), end)
        total, count = total + rest @ blocks(states, layer, None, n + 1), count + number
    for above in range(layer + 1, end[1] + 1):
        if layer in states.layers[above - 1].edges:
            rest, number = all_paths(states, (n, above), end)
            total, count = total + rest @ blocks(states, above, layer, n), count + number
    return total, count


@pytest.mark.parametrize(
    ("layers", "skip", "paths"), [(1, None, 1), (2, None, 5), (3, None, 15), (4, 2, None), (5, 3, None)]
)
def test_the_kernel_is_the_sum_over_all_lattice_paths(layers, skip, paths):
    states = gradient.run(gradient.weights_of(network(layers, skip, True)), data(6)[0])
    n, m = 6, 3
    kernel = gradient.kernels(states, n)
    for k in (2, 5, 6):
        total, count = all_paths(states, (k, 1), (n, layers))
        h = states.layers[0].step_size
        expected = total[:m] @ torch.cat([torch.diag(h), torch.eye(m, dtype=torch.float64)])
        assert float((kernel[k - 1, 0] - expected).abs().max()) <= TOLERANCE * float(expected.abs().max())
        if k == 2 and paths:
            assert count == math.comb(n - k + layers - 1, layers - 1) == paths


def test_a_single_climb_is_not_the_kernel():
    """The planted fault: only the path that climbs at time n, as in the published formula for three layers."""
    states = gradient.run(gradient.weights_of(network(3, None, True)), data(6)[0])
    one = torch.eye(6, dtype=torch.float64)
    for n in range(3, 7):
        one = blocks(states, 1, None, n) @ one
    one = blocks(states, 3, 2, 6) @ blocks(states, 2, 1, 6) @ one
    total, _ = all_paths(states, (2, 1), (6, 3))
    assert float((one - total).abs().max()) > 0.1 * float(total.abs().max())


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_without_force_the_kernel_is_a_binomial_coefficient(layers):
    V, h, n = 1.5, 0.25, 8
    ones = torch.ones(1, dtype=torch.float64)
    stack = tuple(gradient.LayerWeights(0 * ones, h * ones, 0.0, {q: V * ones[:, None]}) for q in range(layers))
    found = gradient.kernels(gradient.run(stack, torch.zeros(n, 1, 1)), n)[:, 0, 0, 0]
    for k in range(1, n + 1):
        power = 2 * layers - 1
        expected = (-V) ** (layers - 1) * h**power * math.comb(n - k + power, power)
        assert float(found[k - 1]) == pytest.approx(expected, rel=1e-13)


def test_norms_of_products_neither_overflow_nor_drop_below_one():
    h = torch.tensor([0.1, 0.2], dtype=torch.float64)
    kappa = torch.tensor([[-5.0, 2.0]], dtype=torch.float64).repeat(4000, 1)
    found = gradient.log_norms_of_products(kappa, h)
    assert bool((found >= -1e-12).all()) and float(found[-1, 0]) > 850  # e^850 is no float
    assert float(found[-1, 0] - found[-2, 0]) == pytest.approx(math.log(1.25), rel=1e-9)
    direct = torch.eye(2, dtype=torch.float64)
    for _ in range(20):
        direct = torch.tensor([[1 - 0.04 * 2.0, 0.2], [-0.2 * 2.0, 1.0]], dtype=torch.float64) @ direct
    assert float(found[19, 1]) == pytest.approx(math.log(float(torch.linalg.matrix_norm(direct, ord=2))), abs=1e-12)


SCALAR = [
    ScalarStack(w=Fraction(1, 3)),
    ScalarStack(layers=3, w=Fraction(-2, 3), v=Fraction(3, 2)),
    ScalarStack(layers=5, skip=2, w=Fraction(1, 2)),
    ScalarStack(layers=5, skip=3, horizon=Fraction(4), offset=2, ratio=Fraction(0)),
]


@pytest.mark.parametrize("stack", SCALAR)
def test_balls_intervals_and_torch_agree_on_a_contribution(stack):
    """Carried forward in balls, backward in mpmath, and backward in torch."""
    steps = 48
    with flint.ctx.workprec(192):
        ball = scalar_stack.contribution(scalar_stack.run(stack, steps, BALLS))
    with iv.workprec(192):
        interval = scalar_stack_second.value(stack.to_text(), steps, "contribution")
    one = torch.ones(1, dtype=torch.float64)
    layers = []
    for q in range(1, stack.layers + 1):
        matrix = float(stack.v) * one[:, None]
        edges = {q - 1: matrix} | ({q - stack.skip - 1: matrix} if stack.skip and q > stack.skip + 1 else {})
        h = float(stack.horizon) / steps / 2 * one
        layers.append(gradient.LayerWeights(float(stack.w) * one, h, float(stack.alpha), edges, (q == 1) * one))
    states = gradient.run(tuple(layers), torch.zeros(steps, 1, 1))
    each = gradient.contributions(states, steps, torch.ones(1, 1, dtype=torch.float64))[0]["w"][:, 0, 0]
    assert float(each[stack.step(steps) - 1]) == pytest.approx(float(ball), rel=1e-11)
    assert float(interval.delta) <= 1e-40 and float(ball.rad()) <= 1e-40
    assert float(interval.mid) == pytest.approx(float(ball), rel=1e-15)


def test_the_names_of_a_stack_are_read_back():
    for stack in SCALAR:
        assert ScalarStack.from_text(stack.to_text()) == stack
    with pytest.raises(ValueError, match="is an integer"):
        ScalarStack.from_text(SCALAR[0].to_text() | {"layers": "3/2"})
    with pytest.raises(ValueError, match="none of the steps"):
        replace(SCALAR[0], ratio=Fraction(1, 7)).step(16)


# --- slopes


@pytest.mark.parametrize("power", [-2, 0, 1, 3, 7])
def test_the_slope_of_a_power_is_its_exponent(power):
    sizes = [2.0**-i for i in range(7)]
    slope = scaling.fit(sizes, [-3 * x**power for x in sizes])
    assert slope.value == pytest.approx(power, abs=1e-12) and slope.error <= 1e-12
    assert slope.is_near(power) and not slope.is_near(power + 1) and len(slope.local) == 6


def test_a_perturbed_power_is_seen_with_its_error():
    sizes = [2.0**-i for i in range(4, 12)]
    slope = scaling.fit(sizes, [x**2 * (1 + x) for x in sizes])
    assert slope.low < slope.value < slope.high and 2 < slope.finest < slope.local[0] < 2.1
    noise = [1.1, 0.9] * 4
    noisy = scaling.fit(sizes, [x**2 * e for x, e in zip(sizes, noise, strict=True)])
    assert noisy.low < 2 < noisy.high and noisy.error > slope.error


@pytest.mark.parametrize(
    ("sizes", "values"),
    [
        ([1, 2, 4], [1, 2, 3]),
        ([1] * 6 + [0], [1] * 7),
        ([2.0**-i for i in range(6)], [1, 1, 1, 0, 1, 1]),
        ([2.0**-i for i in range(6)], [1, 1, 1, math.nan, 1, 1]),
    ],
)
def test_what_has_no_slope_is_refused(sizes, values):
    with pytest.raises(scaling.SlopeError):
        scaling.fit(sizes, values)


def test_ladders_refine_one_thing_only():
    at_horizon = scaling.fixed_horizon(Fraction(3), 8, 5)
    assert len(at_horizon.rungs) == 6 and {T for T, _ in at_horizon.rungs} == {3} and at_horizon.rungs[-1][1] == 256
    at_steps = scaling.fixed_steps(Fraction(3), 8, 5)
    assert {N for _, N in at_steps.rungs} == {8} and at_steps.steps[-1] == Fraction(3, 8 * 32)
