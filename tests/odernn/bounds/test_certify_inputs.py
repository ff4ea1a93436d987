"""What certify says of two runs on different inputs: closed forms, attained, never exceeded; None where b > 0."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import _cell_attacks as attacks
from odernn import IntegratorRNN, fields, tableaus
from odernn.bounds import certify
from odernn.bounds.network import lipschitz
from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.urnn import URNN
from tests.tiers import slow
from verification.adversary.input_slopes import computed_ratio, is_about_inputs, rounding_found

F64 = torch.float64


def drawn(kind: type, seed: int, size: tuple[int, int, int] = (2, 4, 1), **options: Any) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return kind(*size, generator=generator, dtype=F64, **options)


def constants_of(network: Any, steps: int, layer: int = 1) -> dict[str, float]:
    report = certify(network, input_bound=1.0, steps=steps)
    return {line.quantity: math.exp(line.log) for line in report.layers[layer - 1].bounds if line.log is not None}


@pytest.mark.parametrize("steps", [1, 2, 7, 784])
def test_one_layer_has_the_closed_forms(steps: int) -> None:
    network = drawn(ExpRNN, 0, nonexpansive=True)
    V = float(torch.linalg.matrix_norm(network.layers[0].V.detach(), 2))
    found = constants_of(network, steps)
    wanted = {
        lipschitz.OVER_ALL: V * math.sqrt(steps),
        lipschitz.A_STEP: V * steps,
        lipschitz.OF_MEAN: V * math.sqrt((steps + 1) * (2 * steps + 1) / (6 * steps)),
    }
    for quantity, value in wanted.items():
        assert value <= found[quantity] <= value * (1 + 1e-8), quantity


def test_stacks_have_binomials() -> None:
    """ω = 1: c_j = Π‖V‖ C(j + l − 1, l − 1), summed as floats with other code."""
    network, steps = drawn(ExpRNN, 1, (2, 4, 3), nonexpansive=True), 20
    product = 1.0
    for number, layer in enumerate(network.layers, 1):
        product *= float(torch.linalg.matrix_norm(layer.V.detach(), 2))
        c = product * np.array([math.comb(j + number - 1, number - 1) for j in range(steps)], dtype=float)
        found = constants_of(network, steps, number)
        mean = np.array([c[: j + 1].sum() / steps for j in range(steps)])
        for quantity, value in (
            (lipschitz.OVER_ALL, float(np.linalg.norm(c))),
            (lipschitz.A_STEP, float(c.sum())),
            (lipschitz.OF_MEAN, float(np.linalg.norm(mean))),
        ):
            assert value * (1 - 1e-12) <= found[quantity] <= value * (1 + 1e-8), (number, quantity)


@pytest.mark.parametrize("bias", [0.0, -0.5])
def test_the_bounds_are_attained(bias: float) -> None:
    """W = I, V = 2I: changes that add up, under drives that keep every unit beyond −b."""
    steps, network = 9, drawn(ScoRNN, 0, (4, 4, 1), rho=0)
    layer = network.layers[0]
    with torch.no_grad():
        layer.free.zero_(), layer.U.copy_(2 * torch.eye(4, dtype=F64)), layer.b.fill_(bias)
        u = torch.full((steps, 1, 4), 1.0, dtype=F64)
        for quantity, change in (
            (lipschitz.OVER_ALL, torch.full((steps,), 1 / math.sqrt(steps), dtype=F64)),
            (lipschitz.A_STEP, torch.ones(steps, dtype=F64)),
            (lipschitz.OF_MEAN, torch.arange(steps, 0, -1, dtype=F64)),
        ):
            d = change if quantity == lipschitz.A_STEP else change / change.norm()
            moved = u.clone()
            moved[:, 0, 0] += d
            rows = network(moved)[0] - network(u)[0]
            size = float((rows.mean(0) if quantity == lipschitz.OF_MEAN else rows[-1]).norm())
            bound = constants_of(network, steps)[quantity]
            assert 1 - 1e-8 < size / bound <= 1, quantity


KINDS = {
    "ScoRNN": lambda seed, **more: drawn(ScoRNN, seed, (2, 4, 2), rho=2, initial="glorot", **more),
    "ExpRNN": lambda seed, **more: drawn(ExpRNN, seed, (2, 4, 2), **more),
    "URNN, full": lambda seed, **more: drawn(URNN, seed, (2, 3, 2), capacity="full", **more),
    "URNN, matrix": lambda seed, **more: drawn(URNN, seed, (2, 3, 1), capacity="restricted", product="matrix", **more),
}


def adversarial(kind: str, seed: int) -> Any:
    """Trained against the bound: Adam on −‖h_N‖², which throws v, V and A far."""
    network = KINDS[kind](seed, nonexpansive=True)
    moved = [p for key, p in network.named_parameters() if not key.endswith(".W")]
    optimizer = torch.optim.Adam(moved, lr=0.1)
    u = torch.randn(6, 4, 2, generator=torch.Generator().manual_seed(seed), dtype=F64)
    for _ in range(8):
        optimizer.zero_grad()
        (-(network(u)[0][-1] ** 2).mean()).backward()
        optimizer.step()
    return network


@pytest.mark.parametrize("seed", [0, slow(1), slow(2), slow(3)])
@pytest.mark.parametrize("kind", KINDS)
def test_no_line_is_exceeded_by_trained_networks(kind: str, seed: int, one_thread: None) -> None:
    generator = torch.Generator().manual_seed(seed)
    network = adversarial(kind, seed)
    judged = attacks.attack(network, generator, tries=4, steps=5) + attacks.attack_in_float32(network, generator)
    judged = [each for each in judged if is_about_inputs(each.quantity)]
    assert {each.quantity for each in judged} == {
        lipschitz.OVER_ALL, lipschitz.A_STEP, lipschitz.OF_MEAN, lipschitz.COMPUTED, lipschitz.ROUNDED,
    }  # fmt: skip
    assert not [each for each in judged if each.is_exceeded]
    assert max(each.share for each in judged) > 0.2


def test_a_constant_without_the_inputs_of_all_steps_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """‖V‖ alone, as if one input could change: the attack finds it."""
    of = lipschitz.euclidean
    monkeypatch.setattr(lipschitz, "euclidean", lambda logs: of(logs[-1:]))
    network = drawn(ExpRNN, 3, (2, 4, 1), nonexpansive=True)
    judged = attacks.attack(network, torch.Generator().manual_seed(0), tries=4, steps=5)
    assert {each.quantity for each in judged if each.is_exceeded} >= {lipschitz.OVER_ALL}


def test_float32_is_within_its_rounding_term_and_a_ten_thousandth_of_it_is_not_enough() -> None:
    """N = 200, inputs of both signs: 2‖ĥ_N − h_N‖ against the bound; pairs that differ by a few units of roundoff."""
    narrow = drawn(ScoRNN, 2, (3, 16, 1), rho=4, initial="glorot", nonexpansive=True).float()
    report = certify(narrow, input_bound=1.0, steps=200).layers[0]
    u = torch.rand(200, 12, 3, generator=torch.Generator().manual_seed(1)) * 2 - 1
    u[:, 1] = u[:, 0] + 1e-6 * u[:, 2]
    bound = report[lipschitz.ROUNDED].log
    found = rounding_found(attacks.run, narrow, 1, u.clamp(-1, 1))
    assert found <= math.exp(bound) and found > 1e-4 * math.exp(bound)
    ratio = computed_ratio(attacks.run, narrow, 1, u.clamp(-1, 1), bound)
    assert math.log(max(ratio, 1e-300)) <= report[lipschitz.COMPUTED].log
    with torch.no_grad():
        last = attacks.run(narrow, u)[0]["h"][-1, :2].double()
    apart = float((last[0] - last[1]).norm() / (u[:, 0].double() - u[:, 1].double()).norm())
    assert apart < math.exp(report[lipschitz.COMPUTED].log) + math.exp(bound) / 1e-6


def test_an_ordinary_cell_has_them_while_its_biases_are_not_positive() -> None:
    network = drawn(ScoRNN, 0, (2, 4, 2), rho=2)
    quantities = [line.quantity for line in certify(network, input_bound=1.0, steps=5).layers[1].bounds]
    assert lipschitz.A_STEP in quantities
    with torch.no_grad():
        network.layers[0].b[1] = 1e-12
    report = certify(network, input_bound=1.0, steps=5)
    for layer in report.layers:
        assert layer[lipschitz.OVER_ALL].log is None and "jump by 2b" in layer[lipschitz.OVER_ALL].about
        assert not any("two runs end" in sentence for sentence in layer.says)
    kept = certify(drawn(ScoRNN, 0, (2, 4, 1), rho=2, nonexpansive=True), input_bound=1.0, steps=5).layers[0]
    assert any("b = −|v| for all parameters" in each and "two runs end" in each for each in kept.says)
    assert any("free_b" in line.quantity and line.log is not None for line in kept.bounds)


def test_products_by_factors_have_no_rounding_term() -> None:
    network = drawn(URNN, 0, (2, 4, 1), capacity="restricted", nonexpansive=True)
    layer = certify(network, input_bound=1.0, steps=5).layers[0]
    assert layer[lipschitz.COMPUTED].log is None and layer[lipschitz.OVER_ALL].log is not None


def test_where_a_run_overflows_no_rounding_is_certified() -> None:
    """V = (3, 1)·10³⁸ takes float32 to NaN, in this layer and above it."""
    network: Any = ExpRNN(1, 2, 2, nonexpansive=True, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.layers[0].V.copy_(torch.tensor([[3e38], [1e38]]))
        assert bool(network(torch.ones(4, 1, 1))[0].isnan().any())
    for layer in certify(network, input_bound=1.0, steps=4).layers:
        assert layer[lipschitz.COMPUTED].log is None and "overflow" in layer[lipschitz.COMPUTED].about
        assert not any(line.quantity == lipschitz.ROUNDED for line in layer.bounds)


@pytest.mark.parametrize("c", [1.3, 0.7])
def test_a_stored_matrix_enters_by_its_norm(c: float) -> None:
    """ω = c: W is c times a unitary one, V = 2I, b = 0, so that the whole map is linear and changes can line up."""
    network, steps = drawn(URNN, 0, (4, 2, 1), capacity="full", nonexpansive=True), 7
    layer = network.layers[0]
    with torch.no_grad():
        layer.free_b.zero_(), layer.W.mul_(c), layer.V.copy_(2 * torch.eye(4, dtype=F64))
    u = torch.randn(steps, 4, generator=torch.Generator().manual_seed(1), dtype=F64)
    J = torch.autograd.functional.jacobian(lambda v: network(v[:, None])[0][-1, 0], u).flatten(1)
    share = float(torch.linalg.matrix_norm(J, 2)) / constants_of(network, steps)[lipschitz.OVER_ALL]
    assert 1 - 1e-9 < share <= 1


def test_the_rounding_of_two_layers_is_that_of_a_plain_loop() -> None:
    """thm-Lip (d) and thm-C-orth (b) typed again step by step, with torch's norms; inputs of two numbers, a start."""
    generator, steps, bound = torch.Generator().manual_seed(3), 40, 1.0
    options: dict[str, Any] = {"initial": "glorot", "nonexpansive": True, "learn_initial_state": True}
    network: Any = ScoRNN(2, 6, 2, rho=2, generator=generator, **options)
    report = certify(network, input_bound=bound, steps=steps)
    u = 2.0**-24

    def norm(A: torch.Tensor) -> float:
        return float(torch.linalg.matrix_norm(A.detach().double(), 2))

    def gamma(k: int) -> float:
        return (k + 8) * u / (1 - (k + 8) * u)

    below, entries, missed = [bound * math.sqrt(2)] * (steps + 1), [bound] * (steps + 1), [0.0] * (steps + 1)
    for layer, found in zip(network.layers, report.layers, strict=True):
        W, V = layer.recurrent_matrix().detach(), layer.U.detach()
        (m, d), rows = V.shape, float(V.double().abs().sum(1).norm())
        states, errors = [float(layer.h0.detach().double().norm())], [0.0]
        for n in range(1, steps + 1):
            X = min(norm(V) * below[n], rows * entries[n]) + gamma(d) * min(norm(V.abs()) * below[n], rows * entries[n])
            sums = gamma(m + 1) * (norm(W.abs()) * states[-1] + X)
            rounded = sums + gamma(d) * norm(V.abs()) * below[n] + 32 * u * (norm(W) * states[-1] + X + sums)
            errors.append(norm(W) * errors[-1] + norm(V) * missed[n] + rounded)
            kept = (norm(W) + gamma(m + 1) * norm(W.abs())) * states[-1]
            states.append((1 + 32 * u) * (kept + (1 + gamma(m + 1)) * X))
        below, entries, missed = states, states, errors
        assert 2 * max(errors) == pytest.approx(math.exp(found[lipschitz.ROUNDED].log), rel=1e-8)


@pytest.mark.parametrize("method", [tableaus.IMPLICIT_MIDPOINT, tableaus.IMPLICIT_EULER], ids=lambda each: each.name)
def test_inputs_of_implicit_steps(method: Any) -> None:
    """Skew fields attain it: S = 0 adds h V u up; monotone ones stay below in an attack, and held inputs are meant."""
    field = fields.SkewLinear(torch.zeros(3, 3, dtype=F64))
    network = IntegratorRNN(field, method, dt=0.25, input_size=3, dtype=F64, bias=False)
    steps, V = 6, network.layers[0].V.detach()
    bound = constants_of(network, steps)[lipschitz.OVER_ALL]
    top = torch.linalg.svd(V)[2][0]
    with torch.no_grad():
        moved = float(network((top / math.sqrt(steps)).expand(steps, 1, 3))[0][-1].norm())
    assert 1 - 1e-7 < moved / bound <= 1
    monotone = fields.Monotone.random(3, generator=torch.Generator().manual_seed(0), dtype=F64)
    seeded = torch.Generator().manual_seed(2)
    network = IntegratorRNN(monotone, method, dt=0.4, input_size=2, generator=seeded, dtype=F64)
    judged = attacks.attack(network, torch.Generator().manual_seed(1), tries=4, steps=5)
    judged = [each for each in judged if is_about_inputs(each.quantity)]
    assert len(judged) == 3 and not any(each.is_exceeded for each in judged) and max(x.share for x in judged) > 0.1
    linear = IntegratorRNN(monotone, method, dt=0.4, input_size=2, inputs="linear", dtype=F64)
    assert certify(linear, input_bound=1.0, steps=5).layers[0][lipschitz.OVER_ALL].log is None


def test_a_reach_is_one_input_long_at_level_zero() -> None:
    reach = lipschitz.Reach.of_inputs(4)
    assert lipschitz.total(reach.exact) == pytest.approx(0.0, abs=1e-9)
    above = replace(reach).above(math.log(2), math.log(2), math.log(3), None)
    assert np.exp(above.exact) == pytest.approx([3, 6, 12, 24]) and above.computed is None
