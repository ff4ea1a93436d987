"""Solutions of implicit equations under torch.func, after torch.export, and in what they refuse: steps and ODERNNs."""

from __future__ import annotations

import functools
import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, jacrev, jvp, vjp, vmap

from odernn import fields, tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.odernn import ODERNN
from odernn.integrators import ConvergenceError, batch_rows, prepared
from tests.odernn.integrators.stepping import F64, Pendulum, Relaxation, normal
from tests.tiers import only

U = normal(3, 2, 3, seed=1)  # (time, batch, input)


def integrator(field: str, **options) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(2)
    made = fields.get(field).random(4, generator=generator, dtype=F64)
    return IntegratorRNN(made, tableaus.GAUSS_2, 0.1, input_size=3, generator=generator, dtype=F64, **options)


CELLS = {
    "monotone": lambda: integrator("monotone"),
    "separable, a step a neuron": lambda: integrator("separable_hamiltonian", learn_steps=True),
    "odernn": lambda: ODERNN(
        3, 2, tableau=tableaus.GAUSS_2, eta=0.1, generator=torch.Generator().manual_seed(2), dtype=F64
    ),
    "pendulum": lambda: IntegratorRNN(
        Pendulum(torch.tensor([0.9, 1.3], dtype=F64)),
        tableaus.GAUSS_2,
        0.1,
        input_size=3,
        generator=torch.Generator().manual_seed(2),
        dtype=F64,
    ),
}
"""The field of the last one has no dense form: its steps are solved one by one, by ``ImplicitFunction``."""
EVERY = pytest.mark.parametrize("label", CELLS)


def loss(cell: torch.nn.Module, parameters: dict[str, Tensor], u: Tensor) -> Tensor:
    return (functional_call(cell, parameters, (u,))[0] ** 3).sum()


def made(label: str) -> tuple[torch.nn.Module, dict[str, Tensor]]:
    cell = CELLS[label]()
    return cell, {name: value.detach().requires_grad_() for name, value in cell.named_parameters()}


# --- torch.func


@EVERY
def test_torch_func_grad_is_the_gradient(label: str):
    cell, parameters = made(label)
    found = grad(functools.partial(loss, cell))(parameters, U)
    expected = torch.autograd.grad(loss(cell, parameters, U), list(parameters.values()))
    for one, other in zip(found.values(), expected, strict=True):
        assert other.any()
        torch.testing.assert_close(one, other, rtol=0, atol=1e-15)


@EVERY
def test_torch_func_grad_of_grad_is_the_second_derivative(label: str):
    cell, parameters = made(label)

    def of_inputs(u: Tensor) -> Tensor:
        return loss(cell, parameters, u)

    u = U.clone().requires_grad_()
    (first,) = torch.autograd.grad(of_inputs(u), u, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), u)
    torch.testing.assert_close(grad(lambda u: grad(of_inputs)(u).square().sum())(U), second, rtol=1e-12, atol=1e-18)
    hessian = torch.autograd.functional.hessian(of_inputs, U)
    assert hessian.any()
    torch.testing.assert_close(jacrev(jacrev(of_inputs))(U), hessian, rtol=1e-12, atol=1e-15)


@EVERY
def test_vjp_and_jacrev_agree_with_backward(label: str):
    cell, _ = made(label)
    jacobian = torch.autograd.functional.jacobian(lambda u: cell(u)[0], U)
    torch.testing.assert_close(jacrev(lambda u: cell(u)[0])(U), jacobian, rtol=0, atol=1e-15)
    output, pull = vjp(lambda u: cell(u)[0], U)
    torch.testing.assert_close(pull(torch.ones_like(output))[0], jacobian.sum((0, 1, 2)), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("field", ["pendulum", "relaxation"])
def test_a_step_has_a_gradient_by_its_weights_inside_torch_func(field: str):
    """Both kinds: neurons that are solved alone, and those that are solved together."""
    start = {
        "pendulum": Pendulum(torch.tensor([0.9, 1.3, 0.6], dtype=F64)),
        "relaxation": Relaxation(normal(3, 3, seed=1), torch.tensor([0.5, 1.0, 2.0], dtype=F64)),
    }[field]
    (name,) = start.weights
    state, drive = tuple(normal(2, 3, seed=i) for i in range(len(start.blocks))), normal(2, 3, seed=9)

    def total(weight: Tensor, h: Tensor) -> Tensor:
        found = prepared(tableaus.GAUSS_2, start.with_tensors({name: weight}), h)(state, drive).state
        return sum(block.square().sum() for block in found)

    arguments = [start.tensors()[name].clone().requires_grad_(), torch.tensor(0.2, dtype=F64, requires_grad=True)]
    expected = torch.autograd.grad(total(*arguments), arguments)
    found = grad(total, argnums=(0, 1))(*(argument.detach() for argument in arguments))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-14)


# --- refusals


def test_samples_that_are_mapped_over_are_solved_as_one_batch(monkeypatch: pytest.MonkeyPatch):
    cell, _ = made("monotone")
    solved: list[int] = []

    class Counted(batch_rows.SequenceSolver):
        def __init__(self, *given, **named):
            solved.append(given[0].x.shape[1])
            super().__init__(*given, **named)

    monkeypatch.setattr(batch_rows, "SequenceSolver", Counted)
    vmap(lambda u: cell(u.unsqueeze(1))[0], 1)(U)
    assert solved == [U.shape[1]]


NAMES = {
    "monotone": 'Tableau "gauss 2" on the field Monotone: the stage equations',
    "separable, a step a neuron": 'Tableau "gauss 2" on the field SeparableHamiltonian: the stage equations',
    "odernn": r"ODERNN \(stages 1, 2; its step size is eta\): the stage equations",
    "pendulum": 'Tableau "gauss 2" on the field Pendulum: the stage equations',
}


@pytest.mark.parametrize("label", [label for label in CELLS if label != "pendulum"])
def test_vmap_over_samples_is_a_batch_and_over_weights_a_loop(label: str):
    cell, parameters = made(label)
    rows, _ = cell(U)
    torch.testing.assert_close(vmap(lambda u: cell(u.unsqueeze(1))[0].squeeze(1), 1, 1)(U), rows, rtol=0, atol=1e-14)
    many = vmap(grad(functools.partial(loss, cell)), (None, 1))(parameters, U.unsqueeze(2))
    for i in range(2):
        alone = grad(functools.partial(loss, cell))(parameters, U[:, i : i + 1])
        for name, one in alone.items():
            torch.testing.assert_close(many[name][i], one, rtol=0, atol=1e-14)
    weights = {name: torch.stack((value.detach(), 1.1 * value.detach())) for name, value in parameters.items()}
    both = vmap(lambda given: functional_call(cell, given, (U,))[0])(weights)
    torch.testing.assert_close(both[0], rows, rtol=0, atol=1e-14)
    assert not torch.allclose(both[1], rows)


@pytest.mark.parametrize("label", ["pendulum"])
def test_vmap_is_refused_with_what_to_do_instead(label: str):
    cell, parameters = made(label)
    message = rf"{NAMES[label]} cannot be solved inside torch.func.vmap: how many .* call the step or cell once with"
    with pytest.raises(NotImplementedError, match=message):
        vmap(lambda u: cell(u.unsqueeze(1))[0], 1)(U)
    with pytest.raises(NotImplementedError, match=message):
        vmap(grad(functools.partial(loss, cell)), (None, 1))(parameters, U.unsqueeze(2))
    same = vmap(lambda factor: factor * cell(U)[0])(torch.ones(2, dtype=F64))  # nothing implicit is mapped over
    torch.testing.assert_close(same[1], cell(U)[0], rtol=0, atol=0)


@EVERY
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own, at its first forward mode
def test_forward_mode_is_refused_with_what_to_do_instead(label: str):
    cell, _ = made(label)
    with pytest.raises(NotImplementedError, match=rf"{NAMES[label]} have no forward-mode derivative.*jacrev"):
        jvp(lambda u: cell(u)[0], (U,), (U,))


def test_an_input_that_is_not_finite_is_named_by_an_odernn_too():
    cell, _ = made("odernn")
    u = U.clone()
    u[1, 1, 0] = math.nan
    message = r"eta\), step 2: the stage equations of 1 of 2 samples are not solved; the worst is sample 1\. There is"
    with pytest.raises(ConvergenceError, match=message + " NaN or infinity in the drive, which no step size and no"):
        cell(u)


# --- torch.export and torch.compile


@pytest.mark.parametrize(
    ("strict", "label"),
    only(itertools.product((False, True), CELLS), (False, "monotone"), (True, "odernn"), (False, "pendulum")),
)
def test_what_is_one_operator_is_exported(label: str, strict: bool):
    """How often Newton iterates depends on numbers that an export has not; module and method stay as they were."""
    cell, parameters = made(label)
    if label != "pendulum":
        exported = torch.export.export(cell, (U,), strict=strict).module()
        torch.testing.assert_close(exported(U)[0], cell(U)[0], rtol=0, atol=1e-14)
        return
    message = r"cannot be solved in torch\.export|torch\.compiler\.disable"
    with pytest.raises(Exception, match=message):
        torch.export.export(cell, (U,), strict=strict)
    expected = CELLS[label]()(U)[0]
    torch.testing.assert_close(cell(U)[0], expected, rtol=0, atol=0)
    assert all(value.isfinite().all() for value in grad(functools.partial(loss, cell))(parameters, U).values())
    assert type(expected) is Tensor


def test_a_field_without_a_dense_form_is_refused_on_meta_by_name():
    cell, _ = made("pendulum")
    message = f"{NAMES['pendulum']} cannot be solved on meta: how many iterations they take depends on numbers"
    with pytest.raises(NotImplementedError, match=message):
        cell.to("meta")(U.to("meta"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch's own, where a graph ends
@pytest.mark.parametrize("label", ["odernn", "pendulum"])
def test_a_compiled_cell_has_the_gradient(label: str):
    cell, parameters = made(label)
    compiled, u = torch.compile(cell, backend="eager"), U[:1]
    for found, expected in zip(
        torch.autograd.grad((compiled(u)[0] ** 3).sum(), list(cell.parameters())),
        torch.autograd.grad(loss(cell, parameters, u), list(parameters.values())),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
