"""benchmarks/_slack_chain.py: what it measures is what torch differentiates, and its right sides are those printed."""

from __future__ import annotations

import math

import pytest
import torch

from odernn.cells.unicornn import UnICORNN
from tests.benchmarks.scripts import imported
from verification.measure import gradient

chain = imported("_slack_chain")
NAMES = ("w", "b", "c", "V")
STEPS, DT, ALPHA = 6, 0.4, 1.5


def network() -> UnICORNN:
    torch.manual_seed(2)
    made = UnICORNN(2, 5, 2, dt=DT, alpha=ALPHA, dtype=torch.float64)
    with torch.no_grad():
        for layer in made.layers:
            for name, size in (("w", 3.0), ("V", 2.0)):
                getattr(layer, name).mul_(size)
            layer.b.normal_()
    return made


def inputs() -> torch.Tensor:
    return torch.randn(STEPS, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def step(own: dict[str, torch.Tensor], y: torch.Tensor, z: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    h = DT * torch.sigmoid(own["c"])
    z = z - h * (torch.tanh(own["w"] * y + own["V"] @ x + own["b"]) + ALPHA * y)
    return y + h * z, z


def unrolled(made: UnICORNN, u: torch.Tensor, n: int) -> tuple[torch.Tensor, dict[tuple[int, int, str], torch.Tensor]]:
    """E_n of one sequence, every step and layer with parameters of its own: their gradients are the summands."""
    copies = {
        (k, q, name): getattr(layer, name).detach().clone().requires_grad_()
        for k in range(1, n + 1)
        for q, layer in enumerate(made.layers, 1)
        for name in NAMES
    }
    states = [(torch.zeros(5, dtype=torch.float64),) * 2 for _ in made.layers]
    for k in range(1, n + 1):
        below = u[k - 1]
        for q in range(1, len(states) + 1):
            own = {name: copies[k, q, name] for name in NAMES}
            states[q - 1] = step(own, *states[q - 1], below)  # type: ignore[assignment]
            below = states[q - 1][0]
    return (states[-1][0] ** 2).sum() / 2, copies


@pytest.mark.parametrize("n", [6, 3, 1])
def test_summands_and_their_sums_are_those_of_torch_with_parameters_of_every_step(n: int) -> None:
    made, u = network(), inputs()
    summands, sums = chain.contributions(gradient.run(gradient.weights_of(made), u), n)
    for layer in (1, 2):
        single, total = 0.0, 0.0
        for k in range(u.shape[1]):
            loss, copies = unrolled(made, u[:, k], n)
            keys = [key for key in copies if key[1] == layer]
            found = dict(zip(keys, torch.autograd.grad(loss, [copies[key] for key in keys]), strict=True))
            single = max(single, *(float(value.abs().max()) for value in found.values()))
            for name in NAMES:
                whole = sum(found[key] for key in keys if key[2] == name)
                total = max(total, float(whole.abs().max()))  # type: ignore[union-attr]
        assert dict(summands)[layer] == pytest.approx(single, rel=1e-10)
        assert dict(sums)[layer] == pytest.approx(total, rel=1e-10)


def test_the_immediate_derivative_is_that_of_one_step_alone() -> None:
    made, u = network(), inputs()
    run = gradient.run(gradient.weights_of(made), u)
    for layer in (1, 2):
        size = 0.0
        for k in range(STEPS):
            for one in range(u.shape[1]):
                own = {name: getattr(made.layers[layer - 1], name).detach() for name in NAMES}
                y, z = (torch.zeros(5, dtype=torch.float64),) * 2
                if k:
                    y, z = run.levels[layer][k - 1, one], run.momenta[layer - 1][k - 1, one]
                x = run.levels[layer - 1][k, one]
                for name in NAMES:

                    def of(theta: torch.Tensor, name: str = name, own: dict = own, at: tuple = (y, z, x)) -> tuple:
                        return step({**own, name: theta}, *at)

                    for part in torch.autograd.functional.jacobian(of, own[name]):
                        size = max(size, float(part.abs().max()))
        assert chain.immediate(run, layer) == pytest.approx(size, rel=1e-10)


def typed_again(statement: str, layer: int, w: float, V: list[float], m: int) -> float:
    """Right sides in floats, from the papers' formulas: T = N dt, Ȳ = 0."""
    T, L = STEPS * DT, len(V)
    beta, K = max(1 + 2 * ALPHA, 4 * ALPHA**2), max(2.0, w + ALPHA)
    Q, rate = 1 + 2 * ALPHA * DT**3, 96**0.25 * max(1.0, math.sqrt(ALPHA))
    bar, root = math.prod(max(1.0, each) for each in V), math.sqrt(1 + 2 * beta * T)
    F = math.sqrt(2 / ALPHA) * root
    if statement == "icml-(40)":
        return F
    if statement == "sam-67":
        return math.sqrt(2 * m * T / ALPHA) * Q * math.exp(rate * T)
    if statement == "icml-(39)":
        return DT * (2 + math.sqrt(2) * root + (2 + ALPHA) * F)
    if statement == "sam-66":
        last = (2 + ALPHA) * math.sqrt(2 * m * T / ALPHA) * Q * math.exp(rate * T)
        return DT * (2 + math.sqrt(2 * m * T * Q) * math.exp(rate * T) + last)
    energy = math.sqrt(2 * m * T * Q * math.exp(rate * T))
    if statement in ("icml-(42)", "icml-(43)"):
        right = (1 + (2 * K + K * K) * T) * bar * F * (2 + root + (2 + ALPHA) * F)
    else:
        of_y = energy / math.sqrt(ALPHA)
        right = math.exp(K * T) * bar * of_y * (2 + energy + (2 + ALPHA) * of_y)
    is_summand = statement in ("icml-(42)", "sam-69")
    return right * (DT ** (L - layer + 1) if is_summand else T * (1 - DT**L) / (1 - DT))


def test_right_sides_are_the_printed_ones_and_every_layer_has_its_own() -> None:
    made = network()
    w = float(made.layers[-1].w.detach().abs().max())
    V = [float(layer.V.detach().abs().sum(dim=1).max()) for layer in made.layers]
    asked = 0
    for statements in chain.BY.values():
        for statement in statements:
            for layer in (1, 2):
                again = math.log(typed_again(statement, layer, w, V, 5))
                assert chain.log_right(made, statement, STEPS, layer) == pytest.approx(again, rel=1e-10), statement
                asked += 1
    assert asked == 16
    assert chain.times(6) == [6, 3, 1] and chain.times(8) == [8, 4, 2, 1]


def test_nothing_is_bounded_where_a_premise_fails_and_a_larger_error_is_found() -> None:
    made, u = network(), inputs()
    run = gradient.run(gradient.weights_of(made), u)
    found = list(chain.log_bounds(made, run))
    assert {statement for _, statement, *_ in found} == {name for pair in chain.BY.values() for name in pair}
    assert all(bound > size for *_, bound, size in found)
    free = UnICORNN(2, 5, 2, dt=DT, alpha=0.0, dtype=torch.float64)
    rows = list(chain.log_bounds(free, gradient.run(gradient.weights_of(free), u)))
    assert rows and all(bound is None and size is None for *_, bound, size in rows)
    with torch.no_grad():
        made.layers[0].V.zero_()  # then no input saturates tanh, and dX/dV grows with it
    far = gradient.run(gradient.weights_of(made), 1e6 * u)
    assert chain.immediate(far, 1) > math.exp(chain.log_right(made, "icml-(39)", STEPS, 1))
