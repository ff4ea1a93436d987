"""A limit of growth: whatever is learned, N steps of a neuron grow by at most G in the form of a = α + w/2."""

from __future__ import annotations

import copy
import math
import pickle

import mpmath
import pytest
import torch

from odernn import UnICORNN
from odernn.bounds import certify
from odernn.bounds.network.unicornn import rates_of_forms
from odernn.bounds.network.weights import weights_of
from odernn.cells.unicornn.growth import STIFFEST, GrowthLimit
from tests.odernn.cells.unicornn_book import F64, VARIANTS, network, normal

LIMITS = [(1.001, 1), (3.0, 64), (1e3, 784), (1e20, 5)]
"""(G, N)."""


def growth_of(w: float, h: float, alpha: float, steps: int) -> mpmath.mpf:
    """exp(N asinh(h |w| / (4 r_a))) with 60 digits, from thm-J (a) as printed; None of h, w, α is rounded."""
    if w == 0:
        return mpmath.mpf(1 if alpha else "inf")
    with mpmath.workdps(60):
        w, h, alpha = mpmath.mpf(w), mpmath.mpf(h), mpmath.mpf(alpha)
        a = alpha + w / 2
        kappas = alpha + min(w, 0), alpha + max(w, 0)
        norms = [mpmath.asinh(h * abs(kappa - a) / (2 * mpmath.sqrt(a * (1 - a * h * h / 4)))) for kappa in kappas]
        return mpmath.exp(steps * max(norms))


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize(("growth", "steps"), LIMITS)
def test_no_learned_number_passes_the_limit(growth: float, steps: int, dtype) -> None:
    generator = torch.Generator().manual_seed(steps)
    count, limit = 60, GrowthLimit(growth, steps)
    h = torch.rand(count, generator=generator, dtype=F64) ** 4 * 0.999
    h[:4], h[9:12] = torch.tensor([1e-300, 1e-7, 0.5, 0.99999]), torch.tensor([0.01, 0.3, 0.9])
    alpha = torch.rand(count, generator=generator, dtype=F64) * torch.minimum(STIFFEST / h**2, torch.tensor(40.0))
    alpha[4:9] = torch.tensor([0.0, 1e-30, 1e-8, 0.0, 0.0])
    alpha[9:12] = STIFFEST / h[9:12] ** 2
    h, alpha = h.to(dtype), alpha.to(dtype)
    for free in (-math.inf, -90.0, -3.0, 0.0, 3.0, 90.0, math.inf):
        w = limit.within(torch.full((count,), free, dtype=dtype), h, alpha)
        assert w.dtype == dtype and w.isfinite().all()
        found = [growth_of(*each, steps) for each in zip(w.tolist(), h.tolist(), alpha.tolist(), strict=True)]
        assert max(found) <= growth


@pytest.mark.parametrize(("growth", "steps"), LIMITS[1:3])
def test_the_ends_are_those_of_the_limit(growth: float, steps: int) -> None:
    """Where they are no more than a hundred times as near to 0 as α: nearer, a rounding of w is much of the growth."""
    limit = GrowthLimit(growth, steps)
    for h, alpha in ((0.01, 0.5), (0.3, 5.0), (0.241, 12.53), (0.9, 2.0), (0.05, 30.0)):
        for free in (-math.inf, math.inf):
            w = limit.within(torch.tensor([free]), torch.tensor([h], dtype=F64), torch.tensor(alpha, dtype=F64))
            assert 0.9999 * growth < growth_of(float(w), h, alpha, steps) <= growth


def test_the_issue_s_figures() -> None:
    """At h = dt/2 of psMNIST-128 and -256 a growth of 10³ over 784 steps admits these |w|."""
    limit = GrowthLimit(1e3, 784)
    for dt, alpha, admitted in ((0.482, 12.53, 0.46), (0.19, 30.65, 1.95)):
        ends = limit.interval(torch.tensor([dt / 2], dtype=F64), torch.tensor(alpha, dtype=F64))
        assert min(abs(float(end)) for end in ends) == pytest.approx(admitted, rel=0.03)


def test_a_wider_interval_would_be_found() -> None:
    """The check of the limit sees an interval that is a hundred-thousandth too wide."""
    limit, h, alpha = GrowthLimit(3.0, 64), torch.tensor([0.3], dtype=F64), torch.tensor(5.0, dtype=F64)
    for end in limit.interval(h, alpha):
        assert growth_of(float(end) * (1 - 1e-5), 0.3, 5.0, 64) < 3 < growth_of(float(end) * (1 + 1e-5), 0.3, 5.0, 64)


def limited(seed: int = 0, **options) -> UnICORNN:
    return network(2, seed=seed, growth=3.0, steps=20, **options)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_gradients_are_those_of_finite_differences_and_of_the_published_recursion(variant) -> None:
    model, u = limited(**variant), normal(3, 2, 2)
    parameters = list(model.parameters())
    names = [name for name, _ in model.named_parameters()]

    def run(*given):
        return torch.func.functional_call(model, dict(zip(names, given, strict=True)), (u,))[0]

    assert torch.autograd.gradcheck(run, [each.detach().requires_grad_() for each in parameters])
    output = model(u)[0]
    by_output = normal(*output.shape, seed=9)
    wanted = torch.autograd.grad(output, parameters, by_output)
    found = model.bptt(u, by_output)
    assert list(found) == names
    torch.testing.assert_close([found[name] for name in names], list(wanted), rtol=1e-12, atol=1e-12)


def test_without_its_limit_it_is_the_same_map_and_both_are_kept_by_state_dict_copies_and_pickles() -> None:
    model, u = limited(), normal(7, 2, 2)
    wanted = model(u)[0]
    free = model.unlimited()
    assert torch.equal(free(u)[0], wanted) and free.limit is None and free.unlimited() is free
    assert all(not hasattr(layer, "w") and layer.free_w is not None for layer in model.layers)
    other = limited(seed=5)
    other.load_state_dict(model.state_dict())
    for each in (other, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(each(u)[0], wanted)
    with pytest.raises(RuntimeError, match=r"Missing key.*free_w"):
        other.load_state_dict(free.state_dict())


def test_weights_begin_as_without_a_limit_where_it_admits_them() -> None:
    options = {"dt": 0.3, "alpha": 5.0, "dtype": F64}
    plain, wide, narrow = (
        UnICORNN(2, 50, generator=torch.Generator().manual_seed(1), **options, **limit)
        for limit in ({}, {"growth": 1e6, "steps": 20}, {"growth": 1.3, "steps": 100})
    )
    w = [each.coefficients(0)["w"].detach() for each in (plain, wide, narrow)]
    torch.testing.assert_close(w[1], w[0], rtol=1e-9, atol=1e-9)
    high = narrow.limit.interval(narrow.coefficients(0)["step_size"].detach(), narrow.alpha[0])[1]
    assert float(w[0].min()) < float(high.min()) < float(w[0].max()) and bool((w[2] <= high).all())
    assert plain.layers[0].V.equal(wide.layers[0].V)  # what is drawn after w is drawn as without


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_a_trained_network_grow_by_no_more_and_certify_knows(seed: int) -> None:
    """Adam at a rate that throws weights far: Jacobians over N steps, in the form, and what certify says."""
    model = limited(seed, dt=0.9, alpha=[0.0, 4.0])
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    for step in range(30):
        optimizer.zero_grad()
        u = normal(20, 4, 2, seed=step)
        (-(model(u)[0] ** 2).mean()).backward()
        optimizer.step()
    rates = []
    for index in range(2):
        found = {name: value.detach().double() for name, value in model.coefficients(index).items()}
        w, h, alpha = found["w"], found["step_size"], float(found["alpha"])
        a = alpha + w / 2
        for _ in range(50):
            slopes = torch.randint(0, 2, (20, *w.shape), generator=torch.Generator().manual_seed(seed))
            product = torch.eye(2, dtype=F64).expand(*w.shape, 2, 2)
            for slope in slopes:
                kappa = alpha + w * slope
                first = torch.stack([1 - h**2 * kappa, h], -1)
                product = torch.stack([first, torch.stack([-h * kappa, torch.ones_like(h)], -1)], -2) @ product
            form = torch.stack(
                [torch.stack([a, -a * h / 2], -1), torch.stack([-a * h / 2, torch.ones_like(a)], -1)], -2
            )
            root = torch.linalg.cholesky(form)
            norms = torch.linalg.matrix_norm(root.mT @ product @ torch.linalg.inv(root.mT), ord=2)
            assert float(norms.max()) <= 3.0 * (1 + 1e-12)
            rates.append(math.log(float(norms.max())) / math.log(3.0))
    assert max(rates) > 0.1
    report = certify(model, input_bound=1.0, steps=20)
    says = [sentence for layer in report.layers for sentence in layer.says if "for all weights" in sentence]
    assert len(says) == 2 and all("20 steps of a neuron grow by ≤ 3 in ‖·‖_a" in each for each in says)
    here = [float(each.split("by ≤ ")[-1].split(" for")[0]) for each in says]
    assert all(1.0 <= value <= 3.0 for value in here) and max(here) > 1.2
    rates = [float(rates_of_forms(weights_of(model.unlimited()), index).max()) for index in range(2)]
    assert here == pytest.approx([math.exp(20 * rate) for rate in rates], abs=1e-3)


@pytest.mark.parametrize("steps", [20, 400])
def test_no_gradient_by_what_is_learned_exceeds_the_bound_of_certify(steps: int) -> None:
    """One neuron driven against its momentum: dE/dc grows through w, beyond what h alone would give."""
    model = UnICORNN(1, 1, dt=0.44, alpha=20.0, growth=1.05, steps=steps, dtype=F64)
    layer = model.layers[0]
    with torch.no_grad():
        layer.V.fill_(4.0), layer.free_w.zero_(), layer.c.zero_()
        y, z, inputs = torch.zeros(1, 1, dtype=F64), torch.zeros(1, 1, dtype=F64), []
        for _ in range(steps):
            inputs.append(torch.where(z < 0, 1.0, -1.0).to(F64))
            _, (y, z) = model(inputs[-1][None], (y[None], z[None]))
            y, z = y[0], z[0]
    output, _ = model(torch.stack(inputs))
    (0.5 * (output[-1] + output[-1].detach().sign()) ** 2).sum().backward()
    report = certify(model, input_bound=1.0, target_bound=1.0, steps=steps).layers[0]
    bounds = {line.quantity.split("θ = ")[1]: line.log for line in report.bounds if "θ = " in line.quantity}
    gradients = {name: float(each.grad.abs().max()) for name, each in layer.named_parameters()}
    assert set(bounds) == set(gradients)
    for name, size in gradients.items():
        assert math.log(size) <= bounds[name], name


def test_an_admitted_weight_stays_where_it_is_drawn_however_wide_the_interval() -> None:
    options = {"dt": 0.05, "alpha": 0.5, "dtype": F64}
    plain, wide = (
        UnICORNN(2, 200, generator=torch.Generator().manual_seed(1), **options, **limit)
        for limit in ({}, {"growth": 10.0, "steps": 5})
    )
    torch.testing.assert_close(wide.coefficients(0)["w"], plain.coefficients(0)["w"], rtol=1e-6, atol=1e-6)


def test_a_state_of_another_limit_is_refused_and_frozen_parameters_have_gradients_by_the_recursion() -> None:
    model, other = limited(), network(2, growth=1e3, steps=20)
    with pytest.raises(RuntimeError, match=r"growth, steps are 3, 20 in the state, but 1000, 20 in the network"):
        other.load_state_dict(model.state_dict())
    u, by_output = normal(4, 2, 2), normal(4, 2, 3, seed=3)
    wanted = model.bptt(u, by_output)
    model.requires_grad_(False)
    assert all(torch.equal(each, wanted[name]) for name, each in model.bptt(u, by_output).items())


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ["dt", "alpha", "both"])
def test_a_state_whose_forms_do_not_exist_is_refused_and_keeps_dt_and_alpha(name: str, strict: bool) -> None:
    """α dt² > 3.999, each of the two admissible alone; without a limit of growth such a state is one like any other."""
    names = ["dt", "alpha"] if name == "both" else [name]
    options = {"dt": 0.3, "alpha": [1.0, 2.0], "dtype": F64}
    stiff = UnICORNN(2, 3, 2, **{**options, "dt": 0.9 if "dt" in names else 0.3}, growth=3.0, steps=20)
    state = stiff.state_dict()
    if "alpha" in names:
        state["alpha"] = torch.tensor([1.0, 45.0] if name == "alpha" else [1.0, 4.95], dtype=F64)
    else:
        state["dt"], state["alpha"] = torch.tensor([0.3, 0.95], dtype=F64), torch.tensor([1.0, 4.5], dtype=F64)
    model = UnICORNN(2, 3, 2, **options, growth=3.0, steps=20)
    before = model.dt.tolist(), model.alpha.tolist()
    with pytest.raises(RuntimeError, match=r"alpha dt² of layer 2 is 4\.0.*Choose alpha dt² ≤ 3\.999"):
        model.load_state_dict(state, strict=strict)
    assert (model.dt.tolist(), model.alpha.tolist()) == before
    alone = UnICORNN(2, 3, 2, **options, growth=3.0, steps=20)
    with pytest.raises(RuntimeError, match=r"alpha dt² of layer 2"):
        alone.load_state_dict({"alpha": torch.tensor([1.0, 45.0], dtype=F64)}, strict=False)
    free = {key: value for key, value in state.items() if key in ("dt", "alpha")}
    UnICORNN(2, 3, 2, **options).load_state_dict(free, strict=False)


REFUSED = [
    ({"growth": 3.0}, "growth=3.0 is given without steps"),
    ({"steps": 3}, "steps=3 is given without growth"),
    ({"growth": 1.0, "steps": 3}, "growth is 1.0, but no product of steps shrinks"),
    ({"growth": math.nan, "steps": 3}, "growth is nan"),
    ({"growth": math.inf, "steps": 3}, "growth is inf"),
    ({"growth": 1e100, "steps": 1}, r"more than e\^10 a step"),
    ({"growth": 2.0, "steps": 0}, "steps"),
    ({"growth": 2.0, "steps": 9, "dt": 0.9, "alpha": 5.0}, r"alpha dt² of layer 1 is 4\.05"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_is_no_limit_is_refused(options, words) -> None:
    with pytest.raises(ValueError, match=words):
        UnICORNN(2, 3, **{"dt": 0.3, "alpha": 1.0, **options})
