"""Costates, evolution and words: near a known optimum, far from it with a planted fault, and inconclusive then."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from odernn.bounds import jacobian, sharp
from odernn.bounds import words as shipped
from odernn.published.sources import Source
from tests.tiers import only
from verification import verdict
from verification.adversary import (
    AMPLITUDE,
    chain,
    decay,
    effective_steps,
    evolution,
    gradient_ascent,
    pontryagin,
    portfolio,
    words,
)
from verification.answer import answer
from verification.cases import chain_jacobians, controls
from verification.cases.controls import CONTROL_POINTS
from verification.cases.shares import KnownShare, shares
from verification.certify import balls
from verification.claim import Attempt, Case, Claim
from verification.claims.unicornn import vanishing
from verification.domains import BUDGETS, SearchPoint, point_to_plain
from verification.measure.gradient import log_norms_of_products
from verification.parameters import RefusedError
from verification.run import jobs
from verification.run.job import Job, Settings
from verification.system import UNICORNN
from verification.verdict import Judgement, doubt_about

SMOKE = BUDGETS["smoke"]
SHORT = tuple(replace(point, steps=60) for point in CONTROL_POINTS)
GPU = (
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
)


pytestmark = pytest.mark.usefixtures("one_thread")


DEVICES = ["cpu", pytest.param("cuda", marks=GPU)]


# --- every adversary and its share


@pytest.fixture(scope="module")
def found_shares() -> tuple[KnownShare, ...]:
    return shares()


@pytest.mark.slow
def test_shares_are_the_same_again(found_shares: tuple[KnownShare, ...]) -> None:
    assert shares() == found_shares


def test_every_adversary_reaches_nine_tenths_of_a_known_optimum_and_none_more_than_all_of_it(
    found_shares: tuple[KnownShare, ...],
) -> None:
    found = found_shares
    assert {each.adversary for each in found} == {
        *portfolio.ADVERSARIES,
        "matched signs",
        "constant input",
        "sign ascent",
        "CMA-ES, beam inside",
        "pontryagin, κ",
        "words",
        "driven stacks",
    }
    assert len(found) == 25 + 8 * len(controls.DEEP_LAYERS)
    for each in found:
        assert 0.9 <= each.share <= 1 + 1e-6, each
    # the problem is linear in tanh: its signs are the optimum, up to tanh(10) = 1 − 4.1e-9
    assert all(each.share > 1 - 5e-9 for each in found if each.adversary in ("matched signs", "constant input"))


# --- deeper layers


@pytest.mark.parametrize("layer", [2, 3, 4])
@pytest.mark.parametrize("quantity", ["position", "momentum"])
def test_the_optimum_of_a_deeper_layer_is_reached_by_an_input_of_the_first_one(layer: int, quantity: str) -> None:
    """thm-S is the optimum, not only a bound: the input that reaches it is worked out, and certifies in balls."""
    point = controls.deep_control_point(layer)
    h = effective_steps(point)[0]
    known = math.exp(sharp.log_supremum(alpha=1.0, step_size=h, steps=16, quantity=quantity)[-1])
    assert controls.float_optimum(UNICORNN, point, h, quantity, 16) == pytest.approx(known, rel=1e-13)
    response, (y, z) = [], (0.0, 1.0)
    for _ in range(16):
        z -= h * y
        y += h * z
        response.append(y if quantity == "position" else z)
    signs = [-math.copysign(1.0, each) for each in reversed(response)]
    values = controls.through_layers(signs, layer, alpha=1.0, step_size=h)
    instance = chain(point, layer, 0.0, torch.tensor(values, dtype=torch.float64), "unicornn")
    where = {"layer": layer, "step": 16, "steps": 16}
    for factor, said in ((1 - Fraction(1, 10**12), "violates"), (controls.SOUNDNESS, "holds")):
        claim = controls.control_claim(UNICORNN, factor, "control")
        part = next(part for part in claim.bound.parts if part.quantity == quantity)
        assert balls.decide(claim, part, instance, **where).status == said
    with pytest.raises(ValueError, match="would need s"):
        controls.through_layers(signs, layer, alpha=1.0, step_size=h / 20)


@pytest.mark.parametrize("layer", [2, 3])
def test_the_control_of_a_deeper_layer_passes_and_prints_every_share(layer: int) -> None:
    spec = {
        "kind": "control",
        "system": "unicornn",
        "layer": layer,
        "budget": "smoke",
        "point": point_to_plain(controls.deep_control_point(layer)),
    }
    data = jobs.perform(Job("", spec), Settings()).data
    assert data["passed"] and data["group"] == f"control layer {layer}"
    for report in data["reports"]:
        assert set(report["shares"]) == set(portfolio.ADVERSARIES) and 0.97 < report["best"] <= 1 + 1e-12
        assert all(f"{name} " in report["sentence"] for name in portfolio.ADVERSARIES)


@pytest.mark.parametrize("name", ["structured", "beam", "pontryagin"])
def test_an_adversary_that_sees_the_first_layer_only_fails_the_control_of_the_second(monkeypatch, name: str) -> None:
    """It passes the control of layer 1, and gives layer 2 the best input of layer 1."""
    real = portfolio.ADVERSARIES[name]

    def shallow(system, point, layer, budget, device):
        return [
            replace(found, instance=chain(point, layer, 0.0, first_input(found), system.name))
            for found in real(system, point, 1, budget, device)
        ]

    def first_input(found) -> torch.Tensor:
        return torch.tensor([float(values[0]) for values in found.instance.inputs], dtype=torch.float64)

    monkeypatch.setitem(portfolio.ADVERSARIES, name, shallow)
    first = {"kind": "control", "system": "unicornn", "budget": "smoke", "point": point_to_plain(SHORT[0])}
    assert jobs.perform(Job("", first), Settings()).data["passed"]
    second = first | {"layer": 2, "point": point_to_plain(controls.deep_control_point(2))}
    found = jobs.perform(Job("", second), Settings()).data
    assert not found["passed"] and min(report["shares"][name] for report in found["reports"]) < 0.9


# --- costates


def network(depth: int = 1, alpha: float = 1.0) -> pontryagin.Chain:
    return pontryagin.Chain(UNICORNN, (0.1, 0.07, 0.13)[:depth], alpha)


def test_costates_are_the_derivatives_that_autograd_takes_through_the_run() -> None:
    """One layer, w ≠ 0, controls that do not saturate; λ_n by shifting the state after step n."""
    generator = torch.Generator().manual_seed(1)
    controls = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    w, is_momentum = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([False, True, True])
    chain = network()
    states = chain.run(controls, w)
    found = pontryagin.costates(chain, states, controls, w, is_momentum)
    for n in (0, 5, 11):
        start = torch.stack([states[0][n + 1, 0], states[1][n + 1, 0]]).requires_grad_()
        y, z = start[0], start[1]
        for control in controls[n + 1 :]:
            y, z = chain.of_layer(0, y, z, control, w)
        last = torch.where(is_momentum, z, y).abs().sum()
        (expected,) = torch.autograd.grad(last, start)
        torch.testing.assert_close(found[n], expected.T, rtol=1e-10, atol=1e-14)


def gently(chain: pontryagin.Chain, controls: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """y_N, z_N of the last layer along the real run, where a layer sees the one below through y/width, and zeros added
    to (y, z) of the first layer after every step, to be differentiated by. Only the slopes are gentle, not the values.
    """
    states = chain.run(controls, w)
    widths = states[0][1:].abs().amax(dim=0)
    moved = torch.zeros(*controls.shape, 2, dtype=torch.float64, requires_grad=True)
    y, z = list(states[0][0]), list(states[1][0])
    for n, control in enumerate(controls, 1):
        for layer in range(len(chain.step_sizes)):
            x = y[layer - 1] / widths[layer - 1] if layer else control
            found = chain.of_layer(layer, y[layer], z[layer], x, w)
            real = states[0][n, layer], states[1][n, layer]
            y[layer], z[layer] = (r + each - each.detach() for r, each in zip(real, found, strict=True))
            if layer == 0:
                y[0], z[0] = y[0] + moved[n - 1, :, 0], z[0] + moved[n - 1, :, 1]
    return y[-1], z[-1], moved


def random_chain(depth: int) -> tuple[pontryagin.Chain, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(depth)
    controls = torch.randn(14, 4, generator=generator, dtype=torch.float64)
    w = torch.tensor([-2.0, 0.5, 3.0, -0.3], dtype=torch.float64)
    return network(depth, alpha=1.7), controls, w, torch.tensor([False, True, True, False])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_costates_of_deeper_layers_are_the_derivatives_along_all_paths(depth: int) -> None:
    chain, controls, w, is_momentum = random_chain(depth)
    found = pontryagin.costates(chain, chain.run(controls, w), controls, w, is_momentum)
    y, z, moved = gently(chain, controls, w)
    (expected,) = torch.autograd.grad(torch.where(is_momentum, z, y).abs().sum(), moved)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-14)
    assert float(found.abs().amax(dim=(0, 2)).min()) > 1e-6  # no column is all zero


def random_only(where: SearchPoint, layer: int, sweeps: int = 4) -> list[float]:
    """Shares of the supremum of layer ``layer`` from controls that are random at every step, w = 0: |y_N|, |z_N|."""
    steps = tuple(effective_steps(where)[:layer])
    generator = torch.Generator().manual_seed(0)
    starts = AMPLITUDE * (torch.randint(0, 3, (where.steps, 8), generator=generator) - 1).double()
    is_momentum = torch.arange(2).repeat_interleave(8) == 1
    chain = pontryagin.Chain(UNICORNN, steps, float(where.alpha))
    found = pontryagin.ascend(chain, starts.repeat(1, 2), torch.zeros(16, dtype=torch.float64), is_momentum, sweeps)
    best = found.values.reshape(2, -1).amax(dim=1)
    return [
        float(best[i])
        / math.exp(
            sharp.log_supremum(alpha=float(where.alpha), step_size=steps[-1], steps=where.steps, quantity=quantity)[-1]
        )
        for i, quantity in enumerate(("position", "momentum"))
    ]


@pytest.mark.parametrize(("alpha", "dt", "steps"), [("1/4", "1/10", 400), ("10", "1/10", 200), ("1", "1/10", 120)])
def test_in_the_second_layer_random_starts_alone_come_near_the_supremum(alpha: str, dt: str, steps: int) -> None:
    where = SearchPoint("free", Fraction(alpha), (Fraction(dt),) * 2, steps, 1, 1, "made up")
    assert min(random_only(where, 2)) >= 0.94


def test_in_the_second_layer_random_starts_fall_short_with_costates_of_the_wrong_sign(monkeypatch) -> None:
    where = SearchPoint("free", Fraction(1, 4), (Fraction(1, 10),) * 2, 400, 1, 1, "made up")
    monkeypatch.setattr(pontryagin, "costates", flipped(pontryagin.costates))
    assert max(random_only(where, 2)) < 0.9


def test_no_sweep_loses_and_the_first_is_the_optimum_where_the_problem_is_linear() -> None:
    generator = torch.Generator().manual_seed(3)
    starts = 10 * (torch.randint(0, 3, (80, 8), generator=generator) - 1).double()
    for w in (0.0, -4.0):
        values = [
            pontryagin.ascend(network(), starts, starts.new_full((8,), w), torch.zeros(8).bool(), sweeps).values
            for sweeps in (0, 1, 4)
        ]
        assert (values[1] >= values[0]).all() and (values[2] >= values[1]).all()
        if w == 0:
            torch.testing.assert_close(values[1], values[2], rtol=1e-12, atol=0)


def ascended_anew(chain: pontryagin.Chain, controls: torch.Tensor, w: torch.Tensor, sweeps: int) -> torch.Tensor:
    """The values of ``ascend`` on |y_N| from controls that do not rest, all variants of all columns run every time."""
    generator = torch.Generator().manual_seed(pontryagin.SEED)
    is_position = torch.zeros(controls.shape[1]).bool()
    ends = chain.run(controls, w)[0][-1, -1]
    signs, values = torch.where(ends < 0, -1.0, 1.0).double(), ends.abs()
    for _ in range(sweeps):
        options, gains = pontryagin.hamiltonian_gains(chain, chain.run(controls, w), controls, w, is_position)
        variants = [controls, *pontryagin._best_shares(controls, options, gains)]
        variants.append(pontryagin._random_share(controls, options, gains, generator))
        reached = torch.stack([values, *(signs * chain.run(variant, w)[0][-1, -1] for variant in variants[1:])])
        best, which = reached.max(dim=0)
        if not (best > values * (1 + pontryagin.LEAST_GAIN)).any():
            break
        controls, values = torch.stack(variants)[which, :, torch.arange(len(which))].T, best
    return values


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_is_not_run_again_changes_nothing(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator, count = torch.Generator().manual_seed(depth), 12
    starts = 10 * (torch.randint(0, 3, (60, count), generator=generator) - 1).double()
    w = torch.tensor([0.0, -1.0, 1.0, -4.0]).double().repeat(3)
    monkeypatch.setattr(pontryagin, "_delayed", lambda network, controls, states, *_: (controls, states))
    chain, before = network(depth), starts.clone()
    found = pontryagin.ascend(chain, starts, w, torch.zeros(count).bool(), 6)
    assert torch.equal(found.values, ascended_anew(chain, starts, w, 6)) and torch.equal(starts, before)
    assert torch.equal(found.values, chain.run(found.controls, w)[0][-1, -1].abs())


def flipped(real: Callable) -> Callable:
    return lambda *given: -real(*given)


def test_costates_of_the_wrong_sign_fail_the_power_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what is left is the random starts. The control of all claims then fails: inconclusive."""
    monkeypatch.setattr(pontryagin, "costates", flipped(pontryagin.costates))
    for point in SHORT:
        spec = {"kind": "control", "system": "unicornn", "point": point_to_plain(point), "budget": "smoke"}
        data = jobs.perform(Job("", spec), Settings()).data
        assert data["passed"] is False
        for report in data["reports"]:
            assert report["shares"]["pontryagin"] < 0.9 < report["shares"]["beam"]
            assert not report["passed"] and report["best"] == report["shares"]["pontryagin"]


def test_a_search_beyond_its_horizon_is_silent_and_its_trajectories_are_counted() -> None:
    point = SHORT[0]
    assert pontryagin.search(UNICORNN, point, 1, replace(SMOKE, pontryagin_steps=59)) == []
    few, many = (
        pontryagin.search(UNICORNN, point, 1, replace(SMOKE, pontryagin_starts=n))[0].evaluations for n in (4, 40)
    )
    assert 0 < few < many


@pytest.mark.parametrize("device", DEVICES)
def test_thousands_of_controls_are_one_call(device: str) -> None:
    generator = torch.Generator().manual_seed(5)
    starts = 10 * (torch.randint(0, 3, (40, 2048), generator=generator) - 1).double().to(device)
    w = torch.zeros(2048, dtype=torch.float64, device=device)
    found = pontryagin.ascend(network(2), starts, w, torch.arange(2048) % 2 == 0, 1)
    assert found.finite and found.values.shape == (2048,) and found.values.device.type == device
    assert found.evaluations == 2048 * (1 + 1 + len(pontryagin.SHARES))
    low = torch.full((2048,), -3.0, dtype=torch.float64, device=device)
    kappa = torch.where(starts > 0, low, low + 4)
    h, form = torch.full_like(low, 0.1), torch.full_like(low, 2.0)
    grown = pontryagin.grow(kappa, low=low, high=low + 4, step_size=h, form=form, sweeps=2)
    assert (grown.logs > 0).all() and grown.logs.device.type == device


def test_the_growth_that_is_maximised_is_that_of_the_product() -> None:
    """log ‖Φ‖_a against the spectral norm of R Φ R⁻¹, and the euclidean one up to the condition of R."""
    generator = torch.Generator().manual_seed(7)
    kappa = 6 * torch.rand(30, 5, generator=generator, dtype=torch.float64) - 2
    h, a = torch.full((5,), 0.2, dtype=torch.float64), torch.full((5,), 3.0, dtype=torch.float64)
    logs, before, after = pontryagin._stretched(kappa, h, a)
    plain = log_norms_of_products(kappa, h)[-1]
    Q = torch.tensor([[3.0, -0.3], [-0.3, 1.0]], dtype=torch.float64)
    R = torch.linalg.cholesky(Q).mT
    for i in range(5):
        product = torch.eye(2, dtype=torch.float64)
        for each in kappa[:, i]:
            k = float(each)
            product = torch.tensor([[1 - 0.04 * k, 0.2], [-0.2 * k, 1.0]], dtype=torch.float64) @ product
        expected = torch.linalg.matrix_norm(R @ product @ torch.linalg.inv(R), ord=2).log()
        assert float(logs[i]) == pytest.approx(float(expected), rel=1e-10)
        assert abs(float(plain[i] - logs[i])) <= math.log(float(torch.linalg.cond(R))) + 1e-9
    assert before.shape == after.shape == (30, 5, 2)


def test_switching_products_reach_thm_j_and_run_the_wrong_way_with_the_sign_flipped(monkeypatch) -> None:
    assert 0.999 < pontryagin.growth_control() <= 1 + 1e-9
    real = pontryagin._stretched

    def flipped(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        logs, before, after = real(*given)
        return logs, before, -after

    monkeypatch.setattr(pontryagin, "_stretched", flipped)
    assert pontryagin.growth_control() < 0.9


# --- evolution


def unranked(values: torch.Tensor) -> torch.Tensor:
    """The planted fault: the selection step removed, what is left is a random walk."""
    return torch.arange(values.shape[1], device=values.device).expand_as(values)


def test_the_evolution_strategy_minimises_a_rotated_ellipsoid_in_every_restart(monkeypatch) -> None:
    n = 5
    generator = torch.Generator().manual_seed(11)
    axes, _ = torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))
    sizes = torch.logspace(0, 4, n, dtype=torch.float64)

    def ellipsoid(x: torch.Tensor) -> torch.Tensor:
        return -(((x - 1.5) @ axes).square() * sizes).sum(dim=1)

    start = torch.zeros(3, n, dtype=torch.float64)
    spent = {"sigma": 0.5, "population": 12, "generations": 200, "seed": 2}
    found = evolution.evolve(ellipsoid, start, **spent)
    assert found.evaluations == 3 * 12 * 200
    assert (found.values > -1e-8).all()
    again = evolution.evolve(ellipsoid, start, **spent)
    assert torch.equal(again.points, found.points)
    monkeypatch.setattr(evolution, "_ranked", unranked)
    assert (evolution.evolve(ellipsoid, start, **spent).values < -1e-2).all()


def test_numbers_that_are_not_finite_are_never_the_best() -> None:
    found = evolution.evolve(
        lambda x: torch.where(x[:, 0] > 0, torch.nan, x[:, 0]),
        torch.zeros(2, 1, dtype=torch.float64),
        sigma=1.0,
        population=8,
        generations=10,
        seed=0,
    )
    assert torch.isfinite(found.values).all() and (found.values <= 0).all()


@pytest.mark.parametrize("device", DEVICES)
def test_thousands_of_members_are_one_call(device: str) -> None:
    growth = evolution.RowGrowth(4.0, 0.1, steps=40, hold=4)
    w = torch.linspace(-9, 0, 3000, dtype=torch.float64, device=device)
    rates = growth(w)
    assert rates.shape == (3000,) and rates.device.type == device and bool(torch.isfinite(rates).all())
    assert float(rates[0]) > float(rates[-1])
    start = torch.zeros(4, 3, dtype=torch.float64, device=device)
    found = evolution.evolve(
        lambda x: evolution.position(x, alpha=1.0, step_size=0.05, steps=20, hold=4, width=8),
        start,
        sigma=0.5,
        population=256,
        generations=2,
        seed=0,
    )
    assert found.values.shape == (4,) and found.points.device.type == device


def test_what_the_inner_beam_chose_is_what_its_score_says() -> None:
    growth = evolution.RowGrowth(4.0, 0.1, steps=60, hold=3)
    w = torch.tensor([-3.0, -0.5], dtype=torch.float64)
    held = growth.held(w)
    assert held.choices.shape == (20, 2)
    for i in range(2):
        a = 4 + float(w[i]) / 2
        dual = torch.linalg.inv(torch.tensor([[a, -a * 0.05], [-a * 0.05, 1]], dtype=torch.float64))
        row = start = torch.tensor([1.0, 0.0], dtype=torch.float64)
        for choice in held.choices[:, i]:
            kappa = 4 + float(w[i]) * evolution.SLOPES[int(choice)]
            B = torch.tensor([[1 - 0.01 * kappa, 0.1], [-0.1 * kappa, 1.0]], dtype=torch.float64)
            for _ in range(3):
                row = row @ B
        grown = (row @ dual @ row).log() / 2 - (start @ dual @ start).log() / 2
        assert float(held.scores[i]) == pytest.approx(float(grown), rel=1e-9)


def test_no_growth_that_the_evolution_finds_exceeds_the_bound_of_thm_j() -> None:
    growth = evolution.RowGrowth(4.0, 0.1, steps=400, hold=4, width=16)
    for w in (-9.0, -3.0, -0.5):
        found = float(growth(torch.tensor([w], dtype=torch.float64)))
        known = shipped.rate(alpha=4.0, w=w, step_size=0.1)
        assert 0.9 * known.lower < found <= known.upper + math.log(10) / 400


@pytest.mark.slow
def test_the_controls_of_evolution_pass_and_fail_without_selection(monkeypatch) -> None:
    growth = evolution.RowGrowth(4.0, 0.1, steps=120, hold=4)
    shares = [
        evolution.growth_control(growth, -9.0, restarts=2, population=8, generations=12, seed=seed) for seed in range(3)
    ]
    assert all(0.9 < share <= 1 + 1e-9 for share in shares)
    assert all(0.9 < evolution.position_control(seed=seed) <= 1 + 1e-9 for seed in range(3))
    monkeypatch.setattr(evolution, "_ranked", unranked)
    assert all(evolution.position_control(seed=seed) < 0.9 for seed in range(3))


@pytest.mark.slow
def test_the_gradient_under_the_beam_is_that_of_the_ascent_and_comes_as_far() -> None:
    """Two layers, θ = b^1, weights in [−4, 4], targets in [−3, 3]: both searches with some 2,500 evaluations."""
    depth, place = 2, {"alpha": 1.0, "dt": 0.5, "steps": 20}

    def objective(x: torch.Tensor) -> torch.Tensor:
        inside = torch.cat([x[:, :-1].clamp(-4, 4), x[:, -1:].clamp(-3, 3)], dim=1)
        return evolution.gradient(inside, **place, depth=depth, layer=1, width=8)[0]

    start = torch.full((2, 3 * depth + 1), 0.5, dtype=torch.float64)
    evolved = evolution.evolve(objective, start, sigma=1.0, population=16, generations=20, seed=0)

    def clamped(free: gradient_ascent.Free) -> torch.Tensor:
        sizes = {"w": 4.0, "V": 4.0, "b": 4.0, "target": 3.0}
        inside = {
            name: value.clamp(-sizes[name], sizes[name]) if name in sizes else value for name, value in free.items()
        }
        by_weight = torch.zeros(64, dtype=torch.bool)
        return gradient_ascent.log_gradient(inside, **place, layer=1, by_weight=by_weight)

    ascended = gradient_ascent.maximise(clamped, gradient_ascent.starts(64, depth, 20, alpha=1.0, dt=0.5, seed=0), 40)
    assert float(evolved.values.max()) > float(ascended.values.max())


# --- words


def test_words_find_the_golden_ratio_and_constants_do_not() -> None:
    pair, golden = torch.tensor(words.GOLDEN, dtype=torch.float64), math.log((1 + math.sqrt(5)) / 2)
    found = words.enumerated(pair, 8)
    assert found.rate == pytest.approx(golden, rel=1e-12) and sorted(found.letters) == [0, 1]
    assert words.enumerated(pair, 1).rate < 0.1 * golden
    assert words.control() > 0.999
    assert words.control(blocks=1) < 0.9  # crippled: no word of two letters


def at_most_two_letters(pair: torch.Tensor, *_: object, **__: object) -> words.Word:
    return ENUMERATED(pair, 2)


ENUMERATED = words.enumerated


def cripple_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """No long words: what is left are constant inputs and words of two letters."""
    for name in ("two_letter", "balanced", "enumerated"):
        monkeypatch.setattr(words, name, at_most_two_letters)
    monkeypatch.setattr(words, "_quarter", lambda *_: 1)  # nothing held


def test_the_controls_fail_without_long_words_and_without_switching_slopes(monkeypatch: pytest.MonkeyPatch) -> None:
    growth, spent = (
        evolution.RowGrowth(4.0, 0.1, steps=120, hold=4),
        {"restarts": 2, "population": 8, "generations": 12},
    )
    assert all(0.9 < evolution.resonance_control(growth, -2.0, seed=seed, **spent) <= 1 for seed in range(3))
    monkeypatch.setattr(evolution, "SLOPES", (1.0,))
    assert all(evolution.resonance_control(growth, -2.0, seed=seed, **spent) < 0.2 for seed in range(3))
    assert evolution.growth_control(growth, -9.0, seed=0, **spent) > 0.9  # constants are all that thm-J (c) asks for
    cripple_words(monkeypatch)
    for alpha, w, h in words.RESONANT:
        assert words.search(alpha + w, alpha, h).rate < 0.1 * evolution._known_word(alpha, w, h)
    assert words.control() < 0.2


def test_the_known_word_of_the_controls_is_nearly_the_fastest_power_product_of_its_kind() -> None:
    for alpha, w, h in words.RESONANT:
        low, high = words.factors(alpha + w, alpha, h)
        rates = {
            (p, q): float(
                torch.linalg.eigvals(torch.linalg.matrix_power(high, q) @ torch.linalg.matrix_power(low, p))
                .abs()
                .max()
                .log()
            )
            / (p + q)
            for p in range(1, 30)
            for q in range(1, 30)
        }
        p, q = max(rates, key=lambda word: rates[word])
        known = evolution._known_word(alpha, w, h)
        assert min(p, q) > 7 and 0.99 * rates[p, q] < known <= rates[p, q] * (1 + 1e-9)
        assert any(known == pytest.approx(rate, rel=1e-9) for rate in rates.values())


def test_branch_and_bound_encloses_the_radius_of_pairs_that_are_known() -> None:
    golden = math.log((1 + math.sqrt(5)) / 2)
    found = words.gripenberg(torch.tensor(words.GOLDEN, dtype=torch.float64), length=30, delta=0.02)
    assert found.word.rate <= golden + 1e-12 and golden <= found.upper <= golden + 0.03
    # a common norm: 1.1 and 0.9 times rotations; the radius is 1.1
    turns = [[[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]] for t in (0.7, 1.9)]
    pair = torch.tensor([1.1, 0.9], dtype=torch.float64)[:, None, None] * torch.tensor(turns, dtype=torch.float64)
    found = words.gripenberg(pair, length=12, delta=1e-6)
    assert found.word.letters == (0,) and found.word.rate == pytest.approx(math.log(1.1), rel=1e-12)
    assert found.upper == pytest.approx(math.log(1.1), abs=2e-6)


@pytest.mark.parametrize(("alpha", "w", "h"), [(4, -3.9, 0.1), (4, -0.5, 0.1), (9, 2, 0.1), (1, 1, 0.05), (4, 9, 0.1)])
def test_words_grow_as_they_say_and_never_slower_than_the_shipped_ones(alpha: float, w: float, h: float) -> None:
    low, high = alpha + min(w, 0), alpha + max(w, 0)
    found, known = words.search(low, high, h), shipped.rate(alpha=alpha, w=w, step_size=h)
    assert known.lower * (1 - 1e-9) <= found.rate <= known.upper
    kappa = torch.tensor([high if letter else low for letter in found.letters], dtype=torch.float64)
    periods = 40
    product = torch.eye(2, dtype=torch.float64)
    for each in kappa:
        k = float(each)
        product = torch.tensor([[1 - h * h * k, h], [-h * k, 1.0]], dtype=torch.float64) @ product
    powered = torch.linalg.matrix_power(product, periods)
    grown = float(torch.linalg.eigvals(powered).abs().max().log()) / (periods * len(kappa))
    assert grown == pytest.approx(found.rate, rel=1e-9)


def test_two_words_are_longer_than_the_shipped_quarter_periods() -> None:
    for w, gain in ((-3.9, 1.3), (-0.5, 1.1)):
        shorter = shipped.best_word(kappa_low=4 + w, kappa_high=4.0, step_size=0.1)[2]
        assert words.search(4 + w, 4.0, 0.1).rate > gain * shorter


@pytest.mark.parametrize("device", DEVICES)
def test_a_hundred_thousand_words_are_one_batch(device: str) -> None:
    pair = words.factors(0.5, 4.0, 0.3, device=torch.device(device))
    found = words.enumerated(pair, 16)
    assert found.evaluations == 2**17 - 2 and found.rate > 0.1
    assert words.two_letter(pair, (40, 40)).evaluations == 41 * 41 - 1
    assert words.gripenberg(pair, length=12, delta=0.01).upper >= found.rate


def test_words_drive_products_of_jacobians_further_than_constants_do() -> None:
    """The points of (54), l = L: α = 1, w = 8, T = 10, and the same network at rest and saturated."""
    from verification.cases.nominate import glance

    inequality = chain_jacobians.finite(chain_jacobians.JacobianForm("exponential"))
    points = list(chain_jacobians.resonant())
    assert len(points) == 6
    gains = []
    for point in points:
        logs = []
        for u in (point["u"], "0", "1000"):
            seen = glance(inequality, {**point, "u": u})
            assert seen is not None and seen[0] < seen[1]
            logs.append(seen[0])
        gains.append(logs[0] - max(logs[1:]))
    assert max(gains) > 2 and sum(gain > 0 for gain in gains) >= 5


# --- contributions that decay for −α < w < 0


CASE = vanishing.CLAIMS[0].cases[1]


@pytest.fixture(scope="module")
def decaying() -> Judgement:
    return answer(vanishing.CLAIMS[0], CASE, SMOKE, 0)


def test_contributions_decay_though_no_single_factor_contracts(decaying: Judgement) -> None:
    found = decaying
    assert found.verdict == verdict.REFUTED and found.control is not None and found.control > 0.9
    p = json.loads(found.witness)["parameters"]
    assert -Fraction(p["alpha"]) < Fraction(p["w"]) < 0
    assert CASE.check is not None and not doubt_about(CASE.check(p), CASE)


@pytest.mark.slow
def test_the_decay_once_more_by_autograd(decaying: Judgement) -> None:
    """Contributions of all steps in float64: over whole periods they fall by λ², to a tenth, until rounding shows."""
    p = json.loads(decaying.witness)["parameters"]
    word, tail = ([float(Fraction(x)) for x in p[name].split()] for name in ("word", "tail"))
    alpha, w, h, kick = (float(Fraction(p[name])) for name in ("alpha", "w", "dt", "kick"))
    h, periods = h / 2, 8
    slopes = [kick, *word * periods, *tail]
    with torch.no_grad():
        y = z = torch.zeros((), dtype=torch.float64)
        inputs = []
        for slope in slopes:
            argument = -math.atanh(math.sqrt(1 - slope))
            inputs.append(argument - w * float(y))
            z = z - h * (math.tanh(argument) + alpha * y)
            y = y + h * z
    copies = torch.full((len(slopes),), w, dtype=torch.float64, requires_grad=True)
    y = z = torch.zeros((), dtype=torch.float64)
    for own, u in zip(copies, inputs, strict=True):
        z = z - h * (torch.tanh(own * y + u) + alpha * y)
        y = y + h * z
    (parts,) = torch.autograd.grad((y - 1) ** 2 / 2, copies)
    mean = [parts[1 + i * len(word) : 1 + (i + 1) * len(word)].abs().max() for i in range(periods)]
    rate = -float((mean[0] / mean[-1]).log()) / (periods - 1)
    assert rate == pytest.approx(-math.log(16 / 49), rel=0.25)


def test_another_word_a_worse_tail_and_steps_that_are_no_whole_periods_leave_a_doubt(decaying: Judgement) -> None:
    assert CASE.check is not None
    p = json.loads(decaying.witness)["parameters"]
    first, rest = p["tail"].split(" ", 1)
    letters = p["word"].split()
    for change in (
        {"tail": f"{Fraction(first) + Fraction(1, 10**9)} {rest}"},
        {"word": " ".join([*letters[:-1], str(Fraction(letters[-1]) / 2)])},
    ):
        assert doubt_about(CASE.check({**p, **change}), CASE), change
    with pytest.raises(RefusedError, match="whole periods"):
        CASE.check({**p, "steps": str(int(p["steps"]) + 1)})
    with pytest.raises(RefusedError, match="it is 1/5 in this case"):
        CASE.check({**p, "dt": "1"})


@pytest.mark.parametrize(
    "case", only(vanishing.CLAIMS[0].cases[:2], vanishing.CLAIMS[0].cases[0]), ids=["constant", "resonant"]
)
def test_a_horizon_without_room_for_the_tail_and_two_periods_leaves_a_doubt(case: Case) -> None:
    """The statement is about k ≪ n: neither of the two k may lie in the tail, nor may the tail fill the horizon."""
    assert case.check is not None
    p = dict(case.ask(SMOKE, 0).candidates[0])
    tail, word = (len(p.get(name, "1").split()) for name in ("tail", "word"))
    tried = 0
    for steps in (-5, 0, 1, 2, 10, 12, 16, 17, 20, *range(1 + tail, 1 + tail + 2 * word)):
        if 1 + steps // 16 + 2 * word <= steps - tail and steps - 1 - tail >= 2 * word:
            continue
        tried += 1
        try:
            doubt = doubt_about(case.check({**p, "steps": str(steps)}), case)
        except RefusedError as reason:
            doubt = str(reason)
        assert any(word in doubt for word in ("steps", "periods", "tail")), (steps, doubt)
    assert tried >= 9
    assert not doubt_about(case.check({**p, "steps": str(int(p["steps"]) + 2 * word)}), case)


@pytest.mark.parametrize(("alpha", "w", "h"), [(4, -3, Fraction(1, 10)), (1, Fraction(-1, 2), Fraction(1, 4))])
def test_a_word_is_made_rational_and_keeps_its_eigenvalue(alpha: int, w: Fraction, h: Fraction) -> None:
    at = Fraction(alpha), Fraction(w), h
    word = words.search(float(alpha + w), float(alpha + w * decay.SATURATED), float(h))
    slopes, eigenvalue = decay.rational_word(*at, [decay.SATURATED if each else Fraction(1) for each in word.letters])
    (a, b), (c, d) = decay.period_matrix(*at, slopes)
    assert a * d - b * c == 1 and a + d == eigenvalue + 1 / eigenvalue and 0 < abs(eigenvalue) < 1
    assert all(0 < slope <= 1 for slope in slopes)
    assert abs(math.log(abs(eigenvalue))) / len(slopes) == pytest.approx(word.rate, rel=0.25)
    assert decay.rational_word(*at, [Fraction(1)] * 5) == ([], 0)


# --- a weak search decides nothing


def growth_question(low: float, factor: float) -> tuple[Claim, Case]:
    """ "A row of B(κ) products grows at most by factor × 2 asinh(h√W/2) a step", asked of the evolution alone."""

    def ask(_: object, seed: int) -> Attempt:
        growth = evolution.RowGrowth(4.0, 0.1, steps=120, hold=4)
        spent = {"restarts": 2, "population": 8, "generations": 12, "seed": seed}
        rate, _, count = evolution.fastest_growth(growth, low, 0.0, **spent)
        known = float(jacobian.constant_rate(kappa=4 + low, step_size=0.1))
        share = min(evolution.growth_control(growth, low, **spent), evolution.position_control(seed=seed))
        return Attempt("evolution", count, rate, factor * known, control=share)

    case = Case("made", "rate", ask, is_search=True)
    return Claim("made", Source("library", "test"), "made", "real", (case,)), case


@pytest.mark.slow
def test_a_crippled_evolution_leaves_a_true_statement_inconclusive(monkeypatch) -> None:
    whole = answer(*growth_question(-9.0, 1.0 + 1e-6), SMOKE, 0)
    assert whole.verdict == verdict.NOT_REFUTED and whole.control is not None and whole.control > 0.9
    false = answer(*growth_question(-9.0, 0.9), SMOKE, 0)
    assert false.verdict == verdict.SUSPECT
    monkeypatch.setattr(evolution, "_ranked", unranked)
    crippled = answer(*growth_question(-9.0, 1.0 + 1e-6), SMOKE, 0)
    assert crippled.verdict == verdict.INCONCLUSIVE and "control-failed" in crippled.because


def test_without_switching_slopes_and_long_words_the_decay_is_not_found_and_nothing_is_said(monkeypatch) -> None:
    monkeypatch.setattr(evolution, "SLOPES", (1.0,))
    cripple_words(monkeypatch)
    found = answer(vanishing.CLAIMS[0], CASE, SMOKE, 0)
    assert found.verdict == verdict.INCONCLUSIVE and "control-failed" in found.because
