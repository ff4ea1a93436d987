"""nonexpansive=True: b = −|v| whatever is learned, in every execution, copy and state, and the same map without it."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.urnn import URNN
from odernn.orthogonal.cayley import modrelu
from odernn.orthogonal.unitary import complex_modrelu

F64 = torch.float64


def cell_of(kind: type, **options: Any) -> Callable[..., Any]:
    def made(seed: int = 0, **more: Any) -> Any:
        generator = torch.Generator().manual_seed(seed)
        return kind(2, 4, 2, generator=generator, dtype=F64, **{"nonexpansive": True, **options, **more})

    return made


CELLS = {
    "ScoRNN": cell_of(ScoRNN, rho=2),
    "ScoRNN, glorot": cell_of(ScoRNN, rho=2, initial="glorot"),
    "ExpRNN": cell_of(ExpRNN),
    "URNN, restricted": cell_of(URNN, capacity="restricted"),
    "URNN, full": cell_of(URNN, capacity="full"),
}


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@pytest.mark.parametrize("name", CELLS)
def test_it_is_the_map_with_that_b_and_is_kept_by_states_copies_and_pickles(name: str) -> None:
    model, u = CELLS[name](), normal(6, 3, 2, scale=3.0)
    with torch.no_grad():
        for layer in model.layers:
            layer.free_b.copy_(normal(4, seed=7, scale=0.3))  # of both signs
    wanted = model(u)[0]
    free = model.unlimited()
    assert torch.equal(free(u)[0], wanted) and free.unlimited() is free and not free.layers[0].nonexpansive
    for layer, other in zip(model.layers, free.layers, strict=True):
        assert not hasattr(layer, "b") and other.free_b is None
        assert torch.equal(other.b, -layer.free_b.abs()) and bool((other.b <= 0).all())
    other = CELLS[name](seed=5)
    other.load_state_dict(model.state_dict())
    for each in (other, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(each(u)[0], wanted)
    for one, another in ((other, free), (free, model)):
        with pytest.raises(RuntimeError, match=r"Missing key.*b"):
            one.load_state_dict(another.state_dict())
    assert "nonexpansive=True" in str(model) and "nonexpansive" not in str(free)


@pytest.mark.parametrize("name", CELLS)
def test_a_free_network_has_the_order_of_parameters_and_what_is_frozen(name: str) -> None:
    model = CELLS[name](learn_initial_state=True)
    model.layers[0].free_b.requires_grad_(False)
    free = model.unlimited()
    assert list(free.state_dict()) == list(CELLS[name](learn_initial_state=True, nonexpansive=False).state_dict())
    asked = [parameter.requires_grad for parameter in model.parameters()]
    assert [parameter.requires_grad for parameter in free.parameters()] == asked and asked.count(False) == 1
    model.layers[0].free_biases()  # of two layers, one
    assert model.layers[1].nonexpansive and list(model.unlimited().state_dict()) == list(free.state_dict())


@pytest.mark.parametrize("name", CELLS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    model, u = CELLS[name](), normal(3, 2, 2, seed=2, scale=3.0)
    with torch.no_grad():  # away from v = 0, where |v| has a corner
        for k, layer in enumerate(model.layers):
            layer.free_b.copy_(normal(4, seed=k).sign() * (0.02 + 0.05 * normal(4, seed=9).abs()))
            layer.like.copy_(normal(*layer.like.shape, seed=k))
    names = [key for key, _ in model.named_parameters() if key.endswith(("free_b", "V", "U"))]
    values = [dict(model.named_parameters())[key].detach().requires_grad_() for key in names]

    def run(*given: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.functional_call(model, dict(zip(names, given, strict=True)), (u,))[0]
        return found

    assert torch.autograd.gradcheck(run, values)


@pytest.mark.parametrize("name", CELLS)
def test_no_training_makes_b_positive_and_no_pair_of_states_parts(name: str) -> None:
    """Adam at rates that throw v about, far and through 0."""
    for rate in (0.3, 3.0):
        model = CELLS[name]()
        moved = [p for key, p in model.named_parameters() if not key.endswith(".W")]
        made, crossed = torch.optim.Adam(moved, lr=rate), 0
        for step in range(6):
            made.zero_grad()
            (-(model(normal(5, 3, 2, seed=step, scale=2.0))[0] ** 2).mean()).backward()
            made.step()
            crossed += sum(int((layer.free_b > 0).sum()) for layer in model.layers)
            assert all(bool((layer.biases() <= 0).all()) for layer in model.layers)
        assert crossed
        assert all(each.is_lipschitz for each in model.hidden_jacobians())
    u = normal(5, 1, 2)
    start = normal(2, 1, model.layers[0].state_sizes[0], scale=5.0)
    other = start + normal(*start.shape, seed=3, scale=1e-3)
    with torch.no_grad():
        apart = [model.unlimited()(u, state)[1][0] for state in (start, other)]
    assert float((apart[0] - apart[1]).norm()) <= float((start - other).norm()) * (1 + 1e-12)


@pytest.mark.parametrize("execution", ["torch", "cpu"])
@pytest.mark.parametrize("name", ["ScoRNN", "ExpRNN"])
def test_executions_agree(name: str, execution: str) -> None:
    model, u = CELLS[name](execution=execution), normal(9, 3, 2, scale=3.0)
    plain = model.unlimited()
    plain.execution = "torch"
    for each in plain.layers:
        each.execution = "torch"
    torch.testing.assert_close(model(u)[0], plain(u)[0], rtol=1e-12, atol=1e-12)
    model(u)[0].square().sum().backward()
    plain(u)[0].square().sum().backward()
    for layer, other in zip(model.layers, plain.layers, strict=True):
        torch.testing.assert_close(layer.free_b.grad, -layer.free_b.sign() * other.b.grad, rtol=1e-9, atol=1e-9)


def test_weights_begin_near_those_without_it_and_v_is_not_zero() -> None:
    for name, most in (("ScoRNN", 1e-4), ("ScoRNN, glorot", 0.01), ("ExpRNN", 0.01), ("URNN, full", 1e-4)):
        model, plain = CELLS[name](), CELLS[name](nonexpansive=False)
        v = model.layers[0].free_b.detach()
        assert bool((v != 0).all()) and float(v.abs().max()) <= most
        assert float((model.layers[0].biases() - plain.layers[0].b).detach().abs().max()) <= 2 * most


@pytest.mark.parametrize("name", CELLS)
def test_without_a_bias_the_activation_is_the_identity(name: str) -> None:
    model = CELLS[name](bias=False)
    assert model.layers[0].free_b is None and model.layers[0].biases() is None and not model.layers[0].has_bias
    u = normal(4, 2, 2)
    torch.testing.assert_close(model(2 * u)[0], 2 * model(u)[0])
    assert model.unlimited().layers[0].b is None


def test_soft_thresholds_of_the_library_are_nonexpansive_and_a_positive_bias_is_not() -> None:
    """Real and complex, 10⁵ pairs near the discs' edges and far; distances in float64."""
    z, b = normal(100_000, 4, scale=2.0), -normal(4, seed=1).abs()
    other = z + normal(100_000, 4, seed=2) * torch.rand(100_000, 1, dtype=F64) ** 8
    pairs = complex_modrelu(z, b[:2]) - complex_modrelu(other, b[:2])
    for moved, apart in (
        ((modrelu(z, b) - modrelu(other, b)).abs(), (z - other).abs()),
        (pairs.unflatten(-1, (2, -1)).norm(dim=1), (z - other).unflatten(-1, (2, -1)).norm(dim=1)),
    ):
        assert float((moved - apart).max()) <= 1e-14 and float((moved / apart)[apart > 1e-3].max()) > 0.999
    near = torch.tensor([[1e-9, -1e-9]], dtype=F64)
    for b_i, parts in ((-0.5, False), (0.5, True)):
        moved = modrelu(near, torch.full((2,), b_i, dtype=F64))
        assert (float((moved[0, 0] - moved[0, 1]).abs()) > 0.9) is parts
    assert math.isclose(float(modrelu(near, torch.full((2,), 0.5, dtype=F64))[0, 0]), 0.5, rel_tol=1e-6)
