"""DampedUnICORNN: whatever is learned, every neuron contracts by 1/(1 + rate h) in one form; what certify says."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from benchmarks import _cell_attacks as attacks
from benchmarks._cell_kinds import KINDS
from odernn.bounds import certify
from odernn.bounds.network import damped, lipschitz
from odernn.cells.damped_unicornn import DampedUnICORNN
from tests.tiers import slow

F64 = torch.float64
SETTINGS = {
    "mild": {"dt": 0.5, "alpha": 4.0, "gamma": 2.0, "rate": 0.4},
    "slow": {"dt": 0.9, "alpha": 1.0, "gamma": 0.01, "rate": 0.002},
    "near overdamped": {"dt": 0.3, "alpha": 1.02 * 1.0 * 3.0, "gamma": 4.0, "rate": 1.0},
    "near the fastest rate": {"dt": 0.4, "alpha": 9.0, "gamma": 1.011 * (2 + 0.4), "rate": 1.0},
    "stiff": {"dt": 1.0, "alpha": 4.3, "gamma": 1.0, "rate": 0.2},
}


def drawn(
    setting: str = "mild", seed: int = 0, size: tuple[int, int, int] = (2, 6, 1), **options: Any
) -> DampedUnICORNN:
    generator = torch.Generator().manual_seed(seed)
    return DampedUnICORNN(*size, **{**SETTINGS[setting], "dtype": F64, "generator": generator, **options})  # type: ignore[arg-type]


def rate_of(w: float, h: float, alpha: float, q: float) -> mpmath.mpf:
    """The least ρ with a P for both ends, with 60 digits: the three cases of thm-damp (b), in half traces."""
    with mpmath.workdps(60):
        w, h, alpha, q = map(mpmath.mpf, (w, h, alpha, q))
        v = sorted((1 + q - h * h * q * k) / (2 * mpmath.sqrt(q)) for k in (alpha, alpha + w))
        if v[1] > 1 and v[0] >= 2 / v[1] - v[1]:
            log = mpmath.acosh(v[1])
        elif v[0] < -1 and v[1] <= 2 / v[0] - v[0]:
            log = mpmath.acosh(-v[0])
        else:
            log = mpmath.asinh((v[1] - v[0]) / (2 * mpmath.sqrt(1 - (sum(v) / 2) ** 2)))
        return mpmath.sqrt(q) * mpmath.exp(log)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("setting", SETTINGS)
def test_no_learned_number_passes_the_rate(setting: str, dtype: torch.dtype) -> None:
    network = drawn(setting, size=(1, 40, 1), dtype=dtype)
    (layer,), rate = network.layers, SETTINGS[setting]["rate"]
    generator = torch.Generator().manual_seed(1)
    for free in (-math.inf, -90.0, -3.0, 0.0, 3.0, 90.0, math.inf):
        with torch.no_grad():
            layer.free_w.fill_(free)
            layer.c.copy_(10 * torch.randn(40, generator=generator))
            layer.c[:2] = torch.tensor([-math.inf, math.inf])
            w, h, alpha, q = layer.coefficients()
        assert w.dtype == dtype and w.isfinite().all()
        for each in zip(w.tolist(), h.tolist(), itertools.repeat(float(alpha)), q.tolist()):
            assert rate_of(*each) <= 1 / (1 + mpmath.mpf(each[1]) * rate)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("free", [-math.inf, math.inf])
def test_the_ends_are_those_of_the_rate_and_beyond_them_there_is_none(setting: str, free: float) -> None:
    network = drawn(setting, size=(1, 5, 1))
    (layer,), r = network.layers, SETTINGS[setting]["rate"]
    with torch.no_grad():
        layer.free_w.fill_(free)
        w, h, alpha, q = layer.coefficients()
    for each in zip(w.tolist(), h.tolist(), [float(alpha)] * 5, q.tolist(), strict=True):
        wanted = 1 / (1 + each[1] * r)
        assert rate_of(*each) <= wanted < rate_of(each[0] * (1 + 2e-6), *each[1:])


@pytest.mark.parametrize("setting", ["mild", "stiff"])
def test_words_of_twelve_letters_contract_and_products_of_unlimited_ones_may_not(setting: str) -> None:
    """Every word in M(k₋), M(k₊): spectral radius ≤ ρⁿ at the ends of the interval, above 1 at ten times as much w."""
    layer = drawn(setting, size=(1, 1, 1)).layers[0]
    _, h, _, q = (each.detach().reshape(-1)[0].item() for each in layer.coefficients())
    alpha, rho = SETTINGS[setting]["alpha"], 1 / (1 + h * SETTINGS[setting]["rate"])
    for end in (each.detach() for each in layer.interval()):
        for times, contracts in ((1.0, True), (10.0, False)):
            pair = [
                np.array([[1 - h * h * q * k, h * q], [-h * q * k, q]]) for k in (alpha, alpha + times * float(end))
            ]
            words, largest = np.eye(2)[None], 0.0
            for n in range(1, 13):
                words = np.concatenate([M @ words for M in pair])
                largest = max(largest, float(np.abs(np.linalg.eigvals(words)).max()) ** (1 / n))
            assert (largest <= rho * (1 + 1e-9)) if contracts else largest > 1


def test_no_form_of_any_kind_does_better_than_the_closed_form() -> None:
    """max ‖M(k±)‖_P at the P of thm-damp (b) is its ρ, and forms around it, near and far, have no less: three cases."""
    rng, cases = np.random.default_rng(0), set()
    for w, h, alpha, gamma in ((2.0, 0.5, 4.0, 1.0), (0.5, 0.3, 1.0, 5.0), (3.0, 1.2, 6.0, 2.0), (-2.5, 0.5, 4.0, 1.0)):
        q = 1 / (1 + h * gamma)
        pair = [np.array([[1 - h * h * q * k, h * q], [-h * q * k, q]]) for k in (alpha, alpha + w)]

        def worst(x: float, y: float, pair: list[np.ndarray] = pair) -> float:
            F = np.array([[y, 0.0], [x, 1.0]])  # P = FᵀF
            return max(float(np.linalg.norm(F @ M @ np.linalg.inv(F), 2)) for M in pair)

        wanted, s = float(rate_of(w, h, alpha, q)), math.sqrt(q)
        low, high = sorted((1 + q - h * h * q * k) / (2 * s) for k in (alpha, alpha + w))
        is_slow, is_stiff = high > 1 and low >= 2 / high - high, low < -1 and high <= 2 / low - low
        u = 1 / high if is_slow else 1 / low if is_stiff else (low + high) / 2
        x, y = (u - s) / (h * s), math.sqrt(1 - u * u) / (h * s)  # P = TᵀQ_aT over q, a = 2(1 − u)/h²
        cases.add((is_slow, is_stiff))
        assert worst(x, y) == pytest.approx(wanted, rel=1e-10)
        for size in 10.0 ** rng.uniform(-5, 1, 400):
            assert worst(x + size * rng.normal(), y * math.exp(size * rng.normal())) >= wanted * (1 - 1e-12)
    assert len(cases) == 3


def test_certify_finds_the_least_rate_and_says_what_is_promised() -> None:
    network = drawn(size=(2, 8, 2))
    report = certify(network, input_bound=1.0, steps=300)
    for layer, bounds in zip(network.layers, report.layers, strict=True):
        w, h, alpha, q = (each.detach().expand(8).tolist() for each in layer.coefficients())
        rates = [float(rate_of(*each)) for each in zip(w, h, alpha, q, strict=True)]
        step = damped.DampedStep.of(layer)
        found = np.exp(damped.NeuronForms.candidates(step, step.slopes)[0].rate)
        np.testing.assert_allclose(found, rates, rtol=1e-11)
        assert (found >= rates).all()
        assert any("thm-damp (c) ≤ 1/(1 + 0.4 h)" in line for line in bounds.says)
    (layer,) = certify(drawn(rate=0.12345678), input_bound=1.0, steps=3).layers
    assert any("≤ 1/(1 + 0.12345678 h)" in line for line in layer.says)  # six digits would promise 0.123457
    free = drawn(rate=None)
    with torch.no_grad():
        free.layers[0].w.fill_(20.0)
    says = certify(free, input_bound=1.0, steps=3).layers[0].says
    assert says[0].startswith("6 of 6 neurons contract in no form P: a factor ≤ 1.")


def test_bounds_do_not_grow_with_the_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damped, "LONGEST", 400)
    network, kept = drawn(size=(2, 5, 2)), ("|y_n|, n ≤ N", lipschitz.OVER_ALL, lipschitz.A_STEP, "|dE/dθ|, θ = c")
    short, long, longest = (certify(network, input_bound=1.0, steps=n) for n in (200, 400, 500))
    for a, b, c in zip(short.layers, long.layers, longest.layers, strict=True):
        for quantity in kept:
            assert a[quantity].log is not None and c[quantity].log is not None
            assert b[quantity].log == pytest.approx(a[quantity].log, abs=1e-6)
            assert b[quantity].log <= c[quantity].log + 1e-9 < b[quantity].log + 1.0  # another sum beyond LONGEST steps


def test_the_fault_of_a_forgotten_condition_of_P_is_found(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    """A change of norm left out, a rate that is the determinant's, a drive that enters with h²: attacks exceed each."""
    of = damped.NeuronForms.of.__func__  # type: ignore[attr-defined]

    def planted(**changes: Any) -> bool:
        def wrong(cls: type, step: Any, slopes: Any, form: Any) -> damped.NeuronForms:
            found = of(cls, step, slopes, form)
            values = {**vars(found), **{name: change(found, step) for name, change in changes.items()}}
            return damped.NeuronForms(**values)

        monkeypatch.setattr(damped.NeuronForms, "of", classmethod(wrong))
        generator = torch.Generator().manual_seed(3)
        networks = (KINDS["DampedUnICORNN"](generator) for _ in range(8))
        return any(each.is_exceeded for net in networks for each in attacks.attack(net, generator, tries=6, steps=5))

    assert planted(condition=lambda found, step: 0 * found.condition)
    assert planted(rate=lambda found, step: np.log(step.q) / 2)
    assert planted(position=lambda found, step: found.position + np.log(step.h))


@pytest.mark.parametrize("networks", [2, slow(15)])
def test_no_line_is_exceeded_with_a_rate(networks: int, one_thread: None) -> None:
    generator = torch.Generator().manual_seed(networks)
    for _ in range(networks):
        network = KINDS["DampedUnICORNN, rate"](generator)
        found = attacks.attack(network, generator, tries=4) + attacks.attack_in_float32(network, generator)
        assert not [each for each in found if each.is_exceeded]


def test_gradients_are_those_of_finite_differences() -> None:
    network = drawn(size=(2, 3, 2))
    names, u = [name for name, _ in network.named_parameters()], torch.randn(3, 2, 2, dtype=F64)

    def run(*given: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = torch.func.functional_call(network, dict(zip(names, given, strict=True)), (u,))[0]
        return output

    assert torch.autograd.gradcheck(run, [each.detach().requires_grad_() for each in network.parameters()])


def test_optimizers_keep_the_rate_and_states_are_kept() -> None:
    network, u = drawn(dtype=torch.float32), torch.randn(12, 3, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=50.0)
    for _ in range(30):
        optimizer.zero_grad()
        (-network(u)[0].square().sum()).backward()
        optimizer.step()
    w, h, alpha, q = network.layers[0].coefficients()
    for each in zip(w.tolist(), h.tolist(), [float(alpha)] * 6, q.tolist(), strict=True):
        assert rate_of(*each) <= 1 / (1 + mpmath.mpf(each[1]) * 0.4)
    other = drawn(seed=4, dtype=torch.float32)
    other.load_state_dict(network.state_dict())
    for each in (other, copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert torch.equal(each(u)[0], network(u)[0])
    state = network.state_dict() | {"layers.0.constants": torch.tensor([0.5, 4.0, 0.5, 0.4], dtype=F64)}
    with pytest.raises(RuntimeError, match=r"gamma = 0.5.*Choose gamma ≥ 0.88"):
        other.load_state_dict(state)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gamma": 0.0}, "gamma is 0.0, but a damped step has a finite gamma > 0"),
        ({"alpha": -1.0}, r"alpha is -1.0, but the restoring force needs a finite alpha ≥ 0"),
        ({"rate": -0.1}, r"rate is -0.1, but a damped step has a finite rate > 0"),
        ({"rate": 1.0}, r"rate is 1 with gamma = 2, .* Choose gamma ≥ 2.525"),
        ({"rate": [0.4, 0.4]}, r"rate is \[0.4, 0.4\], a list. Give a number"),
        ({"rate": True}, "rate is True, a bool. Give a number"),
        ({"alpha": 0.5}, r"alpha is 0.5 with gamma = 2, .* Choose alpha ≥ 0.6464"),
        ({"dt": 2.0}, "the step is too stiff"),
        ({"gamma": 0.005, "rate": 1e-4}, r"gamma dt is 0.0025, .* Choose gamma dt ≥ 0.003906"),
        ({"execution": "cpu"}, "DampedUnICORNN has no argument execution: the loop of torch is its only one"),
    ],
)
def test_what_no_rate_allows_is_refused_with_the_number(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        drawn(**changed)


def test_friction_is_seen_in_states_and_undone_by_the_inverse() -> None:
    """Without a force the momentum falls by q a step: h = dt, γ = 1/dt halves it."""
    network = DampedUnICORNN(1, 1, dt=0.5, alpha=0.0, gamma=2.0, multiscale=False, dtype=F64)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    start = (torch.zeros(1, 1, 1, dtype=F64), torch.ones(1, 1, 1, dtype=F64))
    u = torch.zeros(3, 1, 1, dtype=F64)
    output, (y, z) = network(u, start)
    assert z.item() == 1 / 8 and output[:, 0, 0].tolist() == [0.25, 0.375, 0.4375]
    assert [each.item() for each in network.inverse((y, z), u)] == [0.0, 1.0]
