"""Steps that are solved for a whole batch with one matrix are those of Newton's method, with all their derivatives."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import warnings
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounter

from odernn import fields, tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.integrators import (
    ConvergenceError,
    ConvergenceWarning,
    Newton,
    batch_walk,
    one_step,
    prepared,
    stage_system,
)
from odernn.integrators import batch_rows as batch_rows_module
from odernn.integrators.batch_solver import SharedIteration
from odernn.integrators.stage_system import StageSystem
from odernn.integrators.transformation import Mode
from tests.odernn.integrators.batched import CASES, U, everything, group_by_group, network, relative
from tests.odernn.integrators.stepping import F64, normal
from tests.tiers import spread

AGREE = 1e-12
"""Both are solved to a few hundred roundings of 2.2e-16, relative to the largest entry."""


# --- conformance


@pytest.mark.parametrize(("case", "h"), spread(itertools.product(CASES, (0.1, 1.0, 3.0)), 16))
def test_rows_and_gradients_are_those_of_every_sample_solved_on_its_own(case: tuple[str, str], h: float):
    """From steps that a few iterations solve to steps that most samples need their own matrix for."""
    cell = network(*case, h)
    with group_by_group():
        expected = everything(cell, U)
    assert relative(everything(cell, U), expected) < AGREE


@pytest.mark.parametrize(("field", "h"), [("antisymmetric", 0.1), ("gated_antisymmetric", 3.0), ("monotone", 3.0)])
def test_a_long_sequence_whose_shared_matrix_is_made_again_has_the_same_rows_and_gradients(
    field: str, h: float, monkeypatch: pytest.MonkeyPatch
):
    made: list[str] = []
    for module in (batch_rows_module, batch_walk):
        original = module.shared_factor

        def counted(*given, original=original, name=module.__name__):
            made.append(name)
            return original(*given)

        monkeypatch.setattr(module, "shared_factor", counted)
    u = 3 * normal(40, 5, 3, seed=4)
    cell = network(field, "gauss 2", h)
    found = everything(cell, u)
    with group_by_group():
        expected = everything(network(field, "gauss 2", h), u)
    assert relative(found, expected) < 1e-11
    assert batch_rows_module.__name__ in made and (h == 0.1 or batch_walk.__name__ in made)


def test_where_the_shared_matrix_does_not_exist_every_sample_has_its_own():
    """Of x' = x/4 + tanh x by the implicit Euler method with h = 1: 1 − 1/4 − 3/4 = 0. The states are far from 3/4."""
    field = fields.get("semilinear")(0.25 * torch.eye(3, dtype=F64), torch.eye(3, dtype=F64))
    state, drive = 4 + normal(4, 3, seed=1).abs(), normal(4, 3, seed=2)
    step = one_step.prepared(tableaus.get("implicit euler"), field, 1.0)
    assert step.system is not None and not bool(step.system.P.isfinite().all())
    with group_by_group():
        own = one_step.prepared(tableaus.get("implicit euler"), field, 1.0)
    both = []
    for each in (step, own):
        start = state.clone().requires_grad_()
        (end,) = each((start,), drive).state
        both.append([end.detach(), *torch.autograd.grad((end**3).sum(), start)])
    assert relative(*both) < 1e-12


@pytest.mark.parametrize("field", ["oscillator", "monotone"])
def test_samples_with_step_sizes_of_their_own_are_stepped_with_them(field: str):
    made = fields.get(field).random(3, **({"alpha": 1.2} if field == "oscillator" else {}), dtype=F64)
    state, drive = tuple(normal(2, 3, seed=i) for i in range(len(made.blocks))), normal(2, 3, seed=9)
    h = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=F64)
    both = prepared(tableaus.GAUSS_2, made, h)(state, drive).state
    for i in range(2):
        alone = prepared(tableaus.GAUSS_2, made, h[i])(tuple(b[i] for b in state), drive[i]).state
        for one, other in zip(both, alone, strict=True):
            torch.testing.assert_close(one[i], other, rtol=0, atol=1e-14)


def test_widths_that_do_not_fit_are_refused():
    field = fields.get("antisymmetric").random(3, gamma=0.1, dtype=F64)
    step = one_step.prepared(tableaus.get("gauss 2"), field, 0.1)
    with pytest.raises(ValueError, match=r"drive has shape \(4, 6\).*3 entries"):
        step((normal(4, 3, seed=1),), normal(4, 6, seed=2))
    with pytest.raises(ValueError, match=r"block \w+ has shape \(4, 1\).*3 entries"):
        step((normal(4, 1, seed=1),), normal(4, 3, seed=2))


@pytest.mark.parametrize("inputs", ["linear", "given"])
@pytest.mark.parametrize("field", ["gated_antisymmetric", "coupled_oscillator"])
def test_every_stage_may_have_its_own_drive(field: str, inputs: str):
    cell = network(field, "gauss 2", 0.7, inputs=inputs)
    u = U if inputs == "linear" else torch.cat((U, U.flip(0)), -1)
    with group_by_group():
        expected = everything(cell, u)
    assert relative(everything(cell, u), expected) < AGREE


def test_float32_is_as_close_to_float64_as_its_digits():
    for field, method in CASES[::3]:
        cell = network(field, method, 1.0, hidden=16)
        single = copy.deepcopy(cell).float()
        found = [each.double() for each in everything_in_single(single)]
        assert relative(found, everything_in_single(cell)) < 3e-4, (field, method)


def everything_in_single(cell: IntegratorRNN) -> list[Tensor]:
    cell.zero_grad()
    rows, _ = cell(U.to(cell.layers[0].V.dtype))
    rows.square().sum().backward()
    return [rows.detach(), *(parameter.grad for parameter in cell.parameters())]


@pytest.mark.parametrize("field", ["monotone", "gated_antisymmetric", "semilinear"])
def test_second_derivatives_are_those_of_every_sample_solved_on_its_own(field: str):
    cell = network(field, "radau iia 3", 0.8)

    def second() -> list[Tensor]:
        u = U[:2].clone().requires_grad_()
        leaves = [u, *cell.parameters()]
        first = torch.autograd.grad((cell(u)[0] ** 3).sum(), leaves, create_graph=True)
        return list(torch.autograd.grad(sum(each.square().sum() for each in first), leaves))

    with group_by_group():
        expected = second()
    assert relative(second(), expected) < 1e-11


def test_third_derivatives_by_the_step_are_right_too():
    field = fields.Monotone(torch.tensor([[1.3]], dtype=F64))
    y, x = torch.tensor([[0.7]], dtype=F64), torch.tensor([[0.2]], dtype=F64)

    def derivative(value: float, order: int) -> float:
        h = torch.tensor(value, dtype=F64, requires_grad=True)
        (d,) = prepared(tableaus.IMPLICIT_MIDPOINT, field, h)((y,), x).state
        for _ in range(order):
            (d,) = torch.autograd.grad(d.sum(), h, create_graph=True)
        return float(d.detach())

    e = 1e-3
    difference = (derivative(0.5 + e, 2) - derivative(0.5 - e, 2)) / (2 * e)
    assert derivative(0.5, 3) == pytest.approx(difference, rel=1e-5) and abs(difference) > 0.01


def test_a_step_has_leading_axes_and_none():
    field = fields.Antisymmetric(normal(3, 3, seed=1), 0.1)
    ready = prepared(tableaus.GAUSS_2, field, 0.5)
    y, x = normal(2, 3, seed=2), normal(4, 2, 3, seed=3)
    report = ready((y,), x)
    assert report.converged.shape == report.residual.shape == (4, 2) and report.iterations > 1
    alone = ready((y[1],), x[3, 1])
    assert alone.converged.shape == () and type(alone.iterations) is int
    torch.testing.assert_close(report.state[0][3, 1], alone.state[0], rtol=0, atol=AGREE)


def test_nothing_to_do_is_done():
    cell = network("monotone", "gauss 2", 0.5)
    for u in (U[:0], U[:, :0]):
        rows, _ = cell(u)
        rows.sum().backward()
        assert rows.shape == (*u.shape[:2], 6) and cell.report(u)[0].converged.all()


# --- regimes


def uneven() -> tuple[IntegratorRNN, Tensor]:
    """A monotone field on 64 samples that stay near zero, where all slopes are 1, and one, the 37th, that saturates."""
    generator = torch.Generator().manual_seed(0)
    field = fields.Monotone.random(6, generator=generator, dtype=F64)
    cell = IntegratorRNN(field, tableaus.GAUSS_2, 2.0, input_size=3, bias=False, dtype=F64, generator=generator)
    u = 0.01 * normal(2, 64, 3, seed=5)
    u[:, 37] = 30 * u[:, 37].sign()
    return cell, u


def test_a_hard_sample_gets_its_own_matrix_and_leaves_the_others_alone():
    cell, u = uneven()
    with mock.patch.object(batch_walk, "solve", side_effect=batch_walk.solve) as own:
        found = everything(cell, u, from_zero=True)
    assert [call.args[0].c.shape[0] for call in own.call_args_list] == [1, 1]
    with group_by_group():
        assert relative(found, everything(cell, u, from_zero=True)) < AGREE


@pytest.mark.parametrize("method", ["implicit midpoint", "gauss 2", "radau iia 3"])
@pytest.mark.parametrize("w", [1e6, 1e8, 1e15])
def test_saturated_stages_are_solved_however_large_the_matrix_between_them(method: str, w: float):
    """tanh is 1 there, so the step is that of y' = z, z' = −1 − y; a correction by the shared slope is about r/w."""
    y, zero = torch.ones(3, 1), torch.zeros(3, 1)
    found = prepared(tableaus.get(method), fields.Oscillator(torch.tensor([w]), 1.0), 1.0)((y, zero), zero)
    constant = fields.Oscillator(torch.tensor([1e-9], dtype=F64), 1.0)
    state, drive = (y.to(F64), zero.to(F64)), zero.to(F64) + 50
    expected = prepared(tableaus.get(method), constant, 1.0)(state, drive).state
    assert found.converged.all()
    for one, other in zip(found.state, expected, strict=True):
        torch.testing.assert_close(one.to(F64), other, rtol=0, atol=2e-6)


def test_the_sample_that_is_not_solved_is_named():
    cell, u = uneven()
    real = batch_walk.solve

    def hurried(equations: object, _: Newton) -> object:
        return real(equations, Newton(max_iterations=1))

    message = (
        r'Tableau "gauss 2" on the field Monotone: the stage equations of 1 of 64 samples are not solved after 1 '
        r"iterations; the worst is sample 37, where the residual max \|h \(k − f\(Y\)\)\| is"
    )
    with mock.patch.object(batch_walk, "solve", hurried), pytest.raises(ConvergenceError, match=message):
        cell(u)


def test_what_is_not_finite_is_named():
    cell = network("monotone", "gauss 2", 0.5)
    u = U.clone()
    u[2, 4, 0] = math.nan
    message = (
        "step 3: the stage equations of 1 of 7 samples are not solved; the worst is sample 4. There is NaN or infi"
    )
    with pytest.raises(ConvergenceError, match=message + "nity in the drive"):
        cell(u)


@pytest.mark.filterwarnings("ignore::odernn.integrators.ConvergenceWarning")
def test_a_sample_that_is_not_a_number_leaves_the_others_their_shared_matrix(monkeypatch: pytest.MonkeyPatch):
    slopes: list[Tensor] = []
    for module in (batch_rows_module, batch_walk):
        original = module.shared_factor

        def kept(K: Tensor, slope: Tensor | float, original=original) -> Tensor:
            slopes.append(torch.as_tensor(slope))
            return original(K, slope)

        monkeypatch.setattr(module, "shared_factor", kept)
    cell = network("monotone", "gauss 2", 3.0, newton=Newton(on_failure="warn"))
    u = 3 * normal(40, 5, 3, seed=4)
    others = [0, 1, 3, 4]
    wanted = cell(u[:, others])[0]
    slopes.clear()
    u[2:, 2] = math.nan
    rows = cell(u)[0]
    rows[:, others].square().sum().backward()
    assert len(slopes) >= 2 and all(each.isfinite().all() for each in slopes)  # one forwards, one backwards
    assert relative([rows[:, others].detach()], [wanted.detach()]) < 1e-11


def test_warned_of_it_the_steps_go_on():
    cell = network("monotone", "gauss 2", 3.0, newton=Newton(max_iterations=2, on_failure="warn"))
    with pytest.warns(ConvergenceWarning, match="samples are not solved"):
        report = cell.report(5 * U)[0]
    assert not report.converged.all() and report.residual.isfinite().all() and report.residual.max() > 1e-6


def test_a_given_tolerance_leaves_about_its_square():
    exact = network("monotone", "gauss 2", 1.0)
    coarse = copy.deepcopy(exact)
    coarse.layers[0].newton = Newton(tolerance=1e-3)
    gap = float((coarse(U)[0] - exact(U)[0]).abs().max().detach())
    assert 1e-12 < gap < 1e-5
    assert max(coarse.report(U)[0].iterations) < min(exact.report(U)[0].iterations)


def test_the_residual_is_that_of_the_stage_equations():
    """h (k − f(Y)) of implicit midpoint, k = (y₁ − y₀)/h, Y = (y₀ + y₁)/2, put together anew; also of U φ."""
    for name in ("semilinear", "monotone"):
        cell = network(name, "implicit midpoint", 0.5, learn_steps=False, newton=Newton(tolerance=1e-3))
        layer, field = cell.layers[0], cell.layers[0].field.value()
        y1 = cell(U[:1])[0][0]
        (slope,) = field((y1 / 2,), layer.drives(U[0]))
        expected = (y1 - 0.5 * slope).abs().amax(-1)
        found = cell.report(U[:1])[0].residual[0]
        torch.testing.assert_close(found, expected.detach(), rtol=1e-6, atol=1e-14)
        assert float(found.max()) > 1e-12


def test_at_a_pole_of_the_linear_part_the_slopes_are_solved_for():
    """Implicit Euler with h L = 1: I − h L is singular, I − h (L + D W) is not."""
    field = fields.Semilinear(torch.eye(3, dtype=F64), -4 * torch.eye(3, dtype=F64))
    ready = prepared(tableaus.get("implicit euler"), field, 1.0)
    y, x = normal(2, 3, seed=1), normal(2, 3, seed=2)
    assert ready.system is None
    report = ready((y,), x)
    (y1,) = report.state
    torch.testing.assert_close(y + field((y1,), x)[0], y1, rtol=0, atol=1e-14)


# --- planted faults


def with_P(change) -> object:
    made = stage_system.stage_system

    def planted(*given: object) -> StageSystem | None:
        system = made(*given)
        return None if system is None else dataclasses.replace(system, P=change(system.P))

    return mock.patch("odernn.integrators.one_step.stage_system", planted)


def is_noticed(cell: IntegratorRNN) -> bool:
    try:
        cell(U)
    except ConvergenceError:
        return True
    return False


@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.5])
def test_a_matrix_that_does_not_belong_to_the_stages_is_noticed_by_the_residual(size: float):
    """P alone is wrong; the iteration, which never looks at K, believes it."""
    cell = network("antisymmetric", "gauss 2", 1.0)
    with with_P(lambda P: (1 + size) * P):
        assert is_noticed(cell)
    with with_P(lambda P: P.mT):
        assert is_noticed(cell)
    assert not is_noticed(cell)


def test_a_wrong_transformation_is_noticed_by_the_residual():
    real = stage_system._shared_factor

    def planted(coefficients, *rest):
        modes = tuple(
            Mode(mode.eigenvalue, tuple(tuple((a + 1e-4, b) for a, b in row) for row in mode.projector), mode.weight)
            for mode in coefficients.modes
        )
        return real(dataclasses.replace(coefficients, modes=modes), *rest)

    cell = network("monotone", "radau iia 3", 1.0)
    with mock.patch.object(stage_system, "_shared_factor", planted):
        assert is_noticed(cell)


def test_a_shared_slope_other_than_that_of_the_matrix_is_noticed_by_the_residual():
    """P is made for 3/4, the iteration adds 0.7 of δz to p."""
    made = SharedIteration.__init__

    def planted(self, PT, slope):
        made(self, PT, 0.7 if isinstance(slope, float) else slope)

    cell = network("antisymmetric", "gauss 2", 1.0)
    with mock.patch.object(SharedIteration, "__init__", planted):
        assert is_noticed(cell)


@pytest.mark.parametrize("fault", ["P", "slopes", "transposed"])
def test_a_wrong_derivative_is_noticed_by_the_comparison(fault: str):
    """What a wrong factor in the backward pass does to gradients is far above what conformance admits."""
    cell = network("monotone", "gauss 2", 1.0)
    with group_by_group():
        expected = everything(cell, U)
    real = batch_walk.multiplied

    def planted(shared, K, slope, right, mu):
        if fault == "P":
            return real(SharedIteration(0.999 * shared.PT, shared.slope), K, slope, right, mu)
        if fault == "slopes":
            return real(shared, K, 0.999 * slope, right, mu)
        return real(SharedIteration(shared.PT.mT.contiguous(), shared.slope), K, slope, right, mu)

    with mock.patch("odernn.integrators.batch_rows.multiplied", planted):
        found = everything(cell, U)
    assert relative(found[:1], expected[:1]) < AGREE and relative(found, expected) > 1e5 * AGREE


# --- one graph


@pytest.mark.parametrize(("field", "method"), spread(CASES, 2))
def test_a_compiled_network_is_one_graph_with_its_gradients(field: str, method: str):
    cell = network(field, method, 0.5)
    expected = everything(cell, U)
    torch._dynamo.reset()
    found = compiled(cell)
    assert relative(found, expected) < AGREE


def compiled(cell: IntegratorRNN) -> list[Tensor]:
    run = torch.compile(
        lambda u, *start: cell(u, start if len(start) > 1 else start[0]), backend="aot_eager", fullgraph=True
    )
    u = U.clone().requires_grad_()
    blocks = len(cell.layers[0].state_names)
    start = tuple(normal(1, 7, cell.hidden_size, seed=9 + i).requires_grad_() for i in range(blocks))
    rows, _ = run(u, *start)
    return [rows.detach(), *torch.autograd.grad((rows**3).sum(), [u, *start, *cell.parameters()])]


def test_a_compiled_graph_raises_what_does_not_converge():
    cell = network("monotone", "gauss 2", 3.0)
    torch._dynamo.reset()
    run = torch.compile(cell, backend="eager", fullgraph=True)
    u = U.clone()
    u[0, 5] = math.nan
    with pytest.raises(ConvergenceError, match="1 of 7 samples are not solved; the worst is sample 5"):
        run(u)
    torch.testing.assert_close(run(U)[0], cell(U)[0], rtol=0, atol=AGREE)


def test_an_exported_network_computes_the_same_and_raises_the_same():
    cell = network("gated_antisymmetric", "radau iia 3", 0.5)
    exported = torch.export.export(cell, (U,)).module()
    torch.testing.assert_close(exported(U)[0], cell(U)[0], rtol=0, atol=1e-14)
    with pytest.raises(ConvergenceError, match="NaN"):
        exported(math.nan * U)


def test_on_the_meta_device_there_are_shapes():
    cell = copy.deepcopy(network("semilinear", "gauss 2", 0.5)).to("meta")
    rows, state = cell(U.to("meta"))
    assert rows.shape == (4, 7, 6) and state.shape == (1, 7, 6) and rows.is_meta
    rows.sum().backward()


def test_the_operators_are_what_torch_asks_of_operators():
    cell = network("gated_antisymmetric", "gauss 2", 0.5)
    with torch.no_grad():
        step = cell.layers[0].prepared()
        system = step.system
        x, shift = stage_system.drives_of(step.form, system, [cell.layers[0].drives(U)])
    weights = [each.clone().requires_grad_() for each in (system.start_matrix(x.shape[-1]), system.K, system.Q)]
    given = [x.clone().requires_grad_(), shift.clone().requires_grad_(), normal(7, 6).requires_grad_(), *weights, None]
    activation = (system.activation.names, system.activation.sizes)
    options = (system.slope, *activation, system.HU, system.step_size, None, 50, 12, True, "Here", [7])
    torch.library.opcheck(torch.ops.odernn.implicit_rows, (*given, system.P, *options))


@pytest.mark.slow  # two compilations
def test_one_graph_serves_batches_of_every_size():
    for method in ("gauss 2", "rk4"):
        cell = network("semilinear", method, 0.5)
        torch._dynamo.reset()
        graphs = CompileCounter()
        compiled = torch.compile(cell, backend=graphs, dynamic=True, fullgraph=True)
        for batch in (5, 7, 8):  # none is the number of steps or of inputs, which torch would take for the same
            u = normal(4, batch, 3, seed=batch)
            torch.testing.assert_close(compiled(u)[0], cell(u)[0], rtol=0, atol=1e-13)
        assert graphs.frame_count == 1


def test_under_autocast_the_steps_keep_their_digits():
    cell = copy.deepcopy(network("monotone", "gauss 2", 0.5)).float()
    u = U.float()
    drives = cell.layers[0].drives
    with torch.autocast("cpu", dtype=torch.bfloat16):
        given = drives(u).detach()
        with mock.patch.object(cell.layers[0], "drives", lambda _: given.float()):
            rows, _ = cell(u)
    rows.sum().backward()
    found = [parameter.grad for parameter in cell.layers[0].field.parameters()]
    cell.zero_grad()
    with mock.patch.object(cell.layers[0], "drives", lambda _: given.float()):
        expected, _ = cell(u)
        expected.sum().backward()
    assert torch.equal(rows, expected)
    assert all(map(torch.equal, found, [parameter.grad for parameter in cell.layers[0].field.parameters()]))


def test_without_failures_nothing_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network("monotone", "gauss 2", 0.5)(U)
