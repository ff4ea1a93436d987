"""Steps of explicit methods made as one operator are the steps made one by one, with all their derivatives."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, jvp, vmap

from odernn import tableaus
from odernn.integrators import explicit_rows, one_step
from tests.odernn.integrators.batched import HYPERPARAMETERS, U, everything, group_by_group, network, relative
from tests.odernn.integrators.stepping import F64, normal
from tests.tiers import spread

METHODS = ("euler", "heun 3", "rk4", "kutta 3/8", "dormand prince 5(4)")
"""One stage; stages that see the one before; stages that see some, and all, of those before."""
CASES = list(itertools.product(HYPERPARAMETERS, METHODS))
AGREE = 1e-13


def ran() -> mock._patch:
    """The operator, watched."""
    return mock.patch.object(one_step, "explicit_rows", wraps=explicit_rows.explicit_rows)


@pytest.mark.parametrize(("field", "method"), spread(CASES, 12))
def test_rows_and_gradients_are_those_of_single_steps(field: str, method: str):
    cell = network(field, method, 0.4)
    with group_by_group():
        expected = everything(cell, U)
    with ran() as operator:
        found = everything(cell, U)
    assert operator.call_count == 1 and relative(found, expected) < AGREE


def test_a_planted_fault_is_seen():
    cell = network("coupled_oscillator", "rk4", 0.4)
    with group_by_group():
        expected = everything(cell, U)
    original = one_step.explicit_rows

    def wrong(coefficients, form, *rest):
        return original(coefficients, dataclasses.replace(form, W=form.W * (1.0 + 1e-9)), *rest)

    with mock.patch.object(one_step, "explicit_rows", wrong):
        assert relative(everything(cell, U), expected) > 100 * AGREE


@pytest.mark.parametrize("inputs", ["linear", "given"])
@pytest.mark.parametrize("field", ["gated_antisymmetric", "coupled_oscillator"])
def test_every_stage_may_have_its_own_drive(field: str, inputs: str):
    cell = network(field, "rk4", 0.4, inputs=inputs)
    u = U if inputs == "linear" else torch.cat((U, U.flip(0), 2 * U, -U), -1)
    with group_by_group():
        expected = everything(cell, u)
    with ran() as operator:
        assert relative(everything(cell, u), expected) < AGREE
    assert operator.call_count == 1


@pytest.mark.parametrize("field", ["antisymmetric", "gated_antisymmetric", "separable_hamiltonian"])
def test_second_derivatives_are_those_of_single_steps(field: str):
    cell = network(field, "rk4", 0.4)
    leaves = [U.clone().requires_grad_(), *cell.parameters()]

    def second() -> list[Tensor]:
        rows, _ = cell(leaves[0])
        first = torch.autograd.grad((rows**3).sum(), leaves, create_graph=True)
        return list(torch.autograd.grad(sum((each**2).sum() for each in first), leaves))

    with group_by_group():
        expected = second()
    assert relative(second(), expected) < AGREE


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_forward_mode_makes_steps_one_by_one():
    cell = network("antisymmetric", "rk4", 0.4)
    step = normal(*U.shape, seed=5)
    with ran() as operator:
        _, tangent = jvp(lambda u: cell(u)[0], (U,), (step,))
        weights = {key: value.detach() for key, value in cell.named_parameters()}
        _, by_weights = jvp(lambda given: functional_call(cell, given, (U,))[0], (weights,), (weights,))
    assert operator.call_count == 0
    u = U.clone().requires_grad_()
    slope = torch.autograd.grad((cell(u)[0] ** 2).sum(), u)[0]
    torch.testing.assert_close((slope * step).sum(), (2 * cell(U)[0] * tangent).sum())
    assert by_weights.any()


def test_float32_is_as_close_to_float64_as_its_digits():
    for field in HYPERPARAMETERS:
        cell = network(field, "rk4", 0.4, hidden=16)
        single = copy.deepcopy(cell).float()
        assert relative([single(U.float())[0].detach().double()], [cell(U)[0].detach()]) < 1e-5, field


def test_a_graph_holds_the_operator_and_an_exported_one_single_steps():
    cell = network("semilinear", "rk4", 0.4)
    torch._dynamo.reset()
    u = U.clone().requires_grad_()
    wanted, found = (run(u)[0] for run in (cell, torch.compile(cell, backend="aot_eager", fullgraph=True)))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-13)
    both = [torch.autograd.grad((rows**2).sum(), [u, *cell.parameters()]) for rows in (wanted, found)]
    torch.testing.assert_close(both[1], both[0], rtol=1e-12, atol=1e-12)
    exported = torch.export.export(cell, (U,))
    assert "explicit_rows" not in str(exported.graph)
    torch.testing.assert_close(exported.module()(U)[0], wanted, rtol=0, atol=1e-13)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_the_operators_keep_what_torch_asks_of_them():
    for field in ("gated_antisymmetric", "coupled_oscillator"):
        form = network(field, "rk4", 0.4).layers[0].field.value().dense_form()
        x, shift = form.arguments(normal(3, 2, 12 if form.is_gated else 6, seed=1))
        tensors = [x, shift, normal(2, form.W.shape[1], seed=2), torch.tensor(0.4, dtype=F64), form.W, form.U, form.L]
        given = [None if each is None else each.detach().requires_grad_() for each in tensors]
        table = tableaus.get("rk4")
        A, b = [float(a) for row in table.A for a in row], [float(b) for b in table.b]
        torch.library.opcheck(torch.ops.odernn.explicit_rows, (*given, A, b))


def test_weights_are_mapped_over_one_by_one_and_samples_together():
    cell = network("monotone", "heun 3", 0.4)
    weights = {key: torch.stack([value, 1.1 * value]).detach() for key, value in cell.named_parameters()}

    def loss(given: dict[str, Tensor], u: Tensor) -> Tensor:
        return functional_call(cell, given, (u,))[0].square().sum()

    alone = [grad(loss)({key: value[i] for key, value in weights.items()}, U) for i in range(2)]
    mapped = vmap(grad(loss), (0, None))(weights, U)
    for i in range(2):
        for key, value in alone[i].items():
            torch.testing.assert_close(mapped[key][i], value, rtol=1e-12, atol=1e-12)
    with ran() as operator:
        rows = vmap(lambda u: cell(u.unsqueeze(1))[0].squeeze(1), 1, 1)(U)
    torch.testing.assert_close(rows, cell(U)[0], rtol=0, atol=1e-13)
    assert operator.call_count == 1


@pytest.mark.parametrize("shape", [(0, 2, 3), (3, 0, 3)])
def test_no_steps_and_no_samples(shape: tuple[int, ...]):
    for field in ("gated_antisymmetric", "coupled_oscillator"):
        cell, u = network(field, "rk4", 0.4), torch.zeros(shape, dtype=F64, requires_grad=True)
        rows, _ = cell(u)
        rows.sum().backward()
        assert rows.shape == (*shape[:2], 6) and u.grad is not None
        assert all(each.grad is not None and not each.grad.any() for each in cell.parameters())


def test_a_report_of_explicit_steps_has_nothing_that_was_solved():
    report = network("antisymmetric", "rk4", 0.4).report(U)[0]
    assert report.residual is None and report.iterations == (0,) * 4 and report.converged.all()
    assert report.converged.shape == (4, 7)


def test_pairs_whose_stages_are_not_one_after_the_other_are_stepped_one_by_one():
    cell = network("separable_hamiltonian", "symplectic euler vt", 0.4)
    with ran() as operator:
        cell(U)
    assert operator.call_count == 0
