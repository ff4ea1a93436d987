"""All steps of an explicit method as one operator, against steps one by one under autograd."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
import torch.utils.checkpoint
from torch import Tensor

from odernn import fields, tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.integrators import coefficients_for, one_step
from odernn.integrators import explicit_rows as rows_of
from tests.odernn.integrators.batched import HYPERPARAMETERS, U, everything, network, relative
from tests.odernn.integrators.stepping import F64, normal
from tests.tiers import only

AGREE = 1e-13
DENSE = [name for name in HYPERPARAMETERS if name != "oscillator"]
METHODS = ("rk4", "heun 3", "kutta 3/8", "dormand prince 5(4)", "explicit midpoint")
"""With rows of A of one entry and of several, b with a zero, and stages that nothing but b or nothing at all reads."""


@contextmanager
def one_by_one() -> Iterator[None]:
    with mock.patch.object(one_step, "explicit_rows", lambda *_: None):
        yield


@contextmanager
def counted() -> Iterator[list[int]]:
    calls, real = [], rows_of._rows

    def call(*given: object) -> object:
        calls.append(1)
        return real(*given)

    with mock.patch.object(rows_of, "_rows", call):
        yield calls


@pytest.mark.parametrize("method", METHODS)
def test_rows_and_gradients_are_those_of_steps_one_by_one(method: str) -> None:
    """With steps of their own for all neurons, one number, and drives that differ from stage to stage."""
    with counted() as calls:
        for field in DENSE:
            for options in ({}, {"learn_steps": False}, {"learn_steps": False, "inputs": "linear"}):
                cell = network(field, method, 0.5, **options)
                with one_by_one():
                    expected = everything(cell, U)
                assert relative(everything(cell, U), expected) < AGREE, (field, options)
    assert len(calls) == 3 * len(DENSE)


def second(cell: IntegratorRNN) -> list[Tensor]:
    u = U[:2, :2].clone().requires_grad_()
    rows, _ = cell(u)
    leaves = [u, *cell.parameters()]
    first = torch.autograd.grad((rows**3).sum(), leaves, create_graph=True)
    return list(torch.autograd.grad(sum((each**2).sum() for each in first), leaves))


@pytest.mark.parametrize("field", DENSE)
def test_derivatives_of_derivatives_are_those_of_steps_one_by_one(field: str) -> None:
    cell = network(field, "rk4", 0.5)
    with one_by_one():
        expected = second(cell)
    assert relative(second(cell), expected) < 1e-12


@pytest.mark.parametrize("field", only(["monotone", "semilinear", "gated_antisymmetric"], "semilinear"))
def test_gradients_are_those_of_differences(field: str) -> None:
    cell = network(field, "kutta 3/8", 0.5, hidden=3)
    names = [name for name, _ in cell.named_parameters()]

    def run(u: Tensor, *weights: Tensor) -> Tensor:
        return torch.func.functional_call(cell, dict(zip(names, weights, strict=True)), (u,))[0]

    given = (U[:2, :2].clone().requires_grad_(), *cell.parameters())
    assert torch.autograd.gradcheck(run, given) and torch.autograd.gradgradcheck(run, given)


def test_no_steps_and_no_samples_have_gradients_of_zero() -> None:
    for field in DENSE:
        for u in (U[:0], U[:, :0]):
            cell = network(field, "rk4", 0.5)
            rows, state = cell(u)
            assert rows.shape == (*u.shape[:2], 6)
            last = state if isinstance(state, Tensor) else state[0]
            (rows.sum() + last.sum()).backward()
            assert all(p.grad is None or not p.grad.any() for p in cell.parameters())


@pytest.mark.parametrize("field", ["monotone", "separable_hamiltonian", "antisymmetric"])
@torch.no_grad()
def test_a_thousand_steps_in_float32_are_off_by_no_more_than_steps_one_by_one(field: str) -> None:
    """W y is a state of its own and drifts from y by roundings that add up as those of y do: four times theirs at most.

    On inputs that keep the state small, so that errors are not magnified.
    """
    cell = network(field, "rk4", 0.05, learn_steps=False)
    u = 0.1 * normal(1000, 3, 3, seed=4)
    expected = cell(u)[0]
    narrow = copy.deepcopy(cell).float()
    found = narrow(u.float())[0]
    with one_by_one():
        usual = narrow(u.float())[0]
    size = expected.abs().max()
    errors = [float((each.double() - expected).abs().max() / size) for each in (found, usual)]
    assert errors[0] <= 4 * errors[1] + 1e-6, errors


def test_which_methods_and_fields_have_the_operator() -> None:
    field = fields.Monotone.random(3, dtype=F64)
    table = {name: rows_of.explicit_table(coefficients_for(tableaus.get(name), field)) for name in ("rk4", "euler")}
    assert table["rk4"] is not None and table["euler"] is None
    assert rows_of.explicit_table(coefficients_for(tableaus.get("gauss 2"), field)) is None
    with counted() as calls:
        network("oscillator", "rk4", 0.5)(U)  # neurons that do not interact
        network("separable_hamiltonian", "stoermer verlet", 0.5)(U)  # a pair of methods
    assert not calls


# --- as torch wants operators to be


@pytest.mark.parametrize(
    "field", only(["gated_antisymmetric", "separable_hamiltonian", "coupled_oscillator"], "separable_hamiltonian")
)
def test_a_compiled_network_is_one_graph_with_its_gradients(field: str) -> None:
    cell = network(field, "rk4", 0.5)
    expected = everything(cell, U, from_zero=True)
    torch._dynamo.reset()
    run = torch.compile(lambda u: cell(u), backend="aot_eager", fullgraph=True)
    u = U.clone().requires_grad_()
    rows, _ = run(u)
    found = torch.autograd.grad((rows**3).sum(), [u, *cell.parameters()])
    blocks = len(cell.layers[0].state_names)
    assert relative([rows.detach(), *found], [*expected[:2], *expected[2 + blocks :]]) < AGREE


def test_vmap_forward_mode_meta_and_export_answer() -> None:
    cell = network("monotone", "rk4", 0.5)
    expected = cell(U)[0]
    tangent = normal(*U.shape, seed=5)
    mapped = torch.func.vmap(lambda u: cell(u)[0])(torch.stack((U, 2 * U)))
    torch.testing.assert_close(mapped, torch.stack((expected, cell(2 * U)[0])), rtol=0, atol=1e-13)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch's own
        rows, moved = torch.func.jvp(lambda u: cell(u)[0], (U,), (tangent,))
    h = 1e-6
    slope = (cell(U + h * tangent)[0] - cell(U - h * tangent)[0]) / (2 * h)
    torch.testing.assert_close(rows, expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(moved, slope, rtol=0, atol=1e-7)
    on_meta = copy.deepcopy(cell).to("meta")(U.to("meta"))[0]
    assert on_meta.shape == expected.shape and on_meta.is_meta
    exported = torch.export.export(cell, (U,)).module()
    torch.testing.assert_close(exported(U)[0], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("field", DENSE)
def test_jacobians_and_hessians_of_torch_func_are_those_of_steps_one_by_one(field: str) -> None:
    """jacrev pulls back when the transform that saved tensors has ended; hessian is forward mode over reverse mode."""
    cell = network(field, "rk4", 0.5, hidden=3)
    weights, u = {name: weight.detach() for name, weight in cell.named_parameters()}, U[:2, :2]

    def run(given: dict[str, Tensor], u: Tensor) -> Tensor:
        return torch.func.functional_call(cell, given, (u,))[0]

    def found() -> list[Tensor]:
        by_weights = torch.func.jacrev(run)(weights, u)
        twice = torch.func.jacrev(torch.func.jacrev(lambda u: (run(weights, u) ** 3).sum()))(u)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch's own
            hessian = torch.func.hessian(lambda u: (run(weights, u) ** 3).sum())(u)
        assert all(by.abs().max() > 1e-6 for by in (*by_weights.values(), twice))
        return [*by_weights.values(), twice, hessian]

    with one_by_one():
        expected = found()
    assert relative(found(), expected) < 1e-12


def test_a_penalty_on_gradients_is_checkpointed_and_a_pull_back_has_a_tangent() -> None:
    cell = network("semilinear", "rk4", 0.5, hidden=3)

    def penalty(u: Tensor) -> Tensor:
        (by_u,) = torch.autograd.grad((cell(u)[0] ** 3).sum(), u, create_graph=True)
        return (by_u**2).sum()

    def found() -> list[Tensor]:
        u = U[:2, :2].clone().requires_grad_()
        value = torch.utils.checkpoint.checkpoint(penalty, u, use_reentrant=False)
        rows, pull = torch.func.vjp(lambda u: cell(u)[0], U[:2, :2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch's own
            moved = torch.func.jvp(lambda by: pull(by)[0], (rows.detach(),), (torch.ones_like(rows),))
        return [*torch.autograd.grad(value, [u, *cell.parameters()]), *(each.detach() for each in moved)]

    with one_by_one():
        expected = found()
    assert relative(found(), expected) < 1e-12


@pytest.mark.parametrize("field", DENSE)
def test_rows_may_be_changed_in_place(field: str) -> None:
    """As by a residual connection, or by an activation of torch with inplace=True."""
    cell, found = network(field, "rk4", 0.5), []
    for double in (lambda rows: rows.mul_(2), lambda rows: 2 * rows):
        u = U.clone().requires_grad_()
        rows = double(cell(u)[0])
        found.append([rows.detach(), *torch.autograd.grad((rows**3).sum(), [u, *cell.parameters()])])
    assert relative(*found) < AGREE


def test_a_gradient_of_each_sample_is_its_own() -> None:
    cell = network("semilinear", "rk4", 0.5)
    weights = dict(cell.named_parameters())

    def loss(given: dict[str, Tensor], u: Tensor) -> Tensor:
        return (torch.func.functional_call(cell, given, (u.unsqueeze(1),))[0] ** 2).sum()

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 1))(weights, U[:, :3])
    for sample in range(3):
        own = torch.autograd.grad(loss(weights, U[:, sample]), list(weights.values()))
        assert relative([each[sample].detach() for each in found.values()], list(own)) < AGREE


def test_the_operator_is_what_torch_asks_of_operators() -> None:
    W, U_, L = (normal(3, 4, seed=1), normal(4, 3, seed=2), normal(4, 4, seed=3))
    x, y0, h = normal(2, 5, 3, seed=4), normal(5, 4, seed=5), torch.tensor(0.3, dtype=F64)
    given = [each.requires_grad_() for each in (x, y0, W, U_, L)]
    A, b = [0.0, 0.0, 0.5, 0.0], [0.25, 0.75]
    torch.library.opcheck(torch.ops.odernn.explicit_rows, (given[0], None, *given[1:], h, A, b))


# --- planted faults


@pytest.mark.parametrize("fault", ["slopes", "weights", "stages"])
def test_a_fault_in_the_explicit_operator_is_noticed(fault: str) -> None:
    cell = network("separable_hamiltonian", "rk4", 0.5)
    with one_by_one():
        expected = everything(cell, U)
    real = {"slopes": rows_of.slopes_of, "weights": rows_of._weighted, "stages": rows_of._row}
    planted = {
        "slopes": ("slopes_of", lambda *given: (0.999 * real["slopes"](*given)[0], None)),
        "weights": ("_weighted", lambda b, terms, out: real["weights"](0.999 * b, terms, out)),
        "stages": ("_row", lambda row: [(j, 1.001 * a) for j, a in real["stages"](row)]),
    }
    with mock.patch.object(rows_of, *planted[fault]):
        assert relative(everything(cell, U), expected) > 1e5 * AGREE
