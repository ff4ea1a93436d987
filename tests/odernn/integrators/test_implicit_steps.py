"""A step solves the equations of the book, its gradient is that of the solution, linear fields need no iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn import tableaus
from odernn.fields.field import Constants, Field, State
from odernn.fields.oscillator import Oscillator
from odernn.integrators import prepared, step
from odernn.properties.symmetry import symplectic_conjugate, transpose
from odernn.tableaus import families
from odernn.tableaus.tableau import ButcherTableau, Composition
from tests.odernn.integrators.stepping import (
    F64,
    Damped,
    IteratedDamped,
    IteratedLinear,
    Linear,
    Pendulum,
    Relaxation,
    book_of_oscillator,
    book_stages,
    book_step,
    halves,
    normal,
)
from tests.tiers import spread, where

W, ALPHA = np.array([0.8, -0.5, 1.7]), 1.1
OSCILLATOR = Oscillator(torch.tensor(W), ALPHA)
PENDULUM = Pendulum(torch.tensor([0.9, 1.3, 0.6], dtype=F64))
RELAXATION = Relaxation(normal(3, 3, seed=1), torch.tensor([0.5, 1.0, 2.0], dtype=F64))
DAMPED = Damped(torch.tensor([0.9, 1.3, 2.0], dtype=F64), torch.tensor([0.1, 0.0, 0.7], dtype=F64))
LINEAR = Linear(normal(3, 3, seed=2))
FIELDS = {"oscillator": OSCILLATOR, "pendulum": PENDULUM, "relaxation": RELAXATION, "damped": DAMPED, "linear": LINEAR}
NEURONS = torch.tensor([0.03, 0.05, 0.04], dtype=F64)  # small, so that the book's fixed-point iteration converges

PAIRS = [name for name in tableaus.names() if not isinstance(tableaus.get(name), ButcherTableau)]
SINGLE = [name for name in tableaus.names() if name not in PAIRS]
GRADED = ("implicit midpoint", "gauss 2", "radau iia 2", "lobatto iiic 2", "kvaerno 3", "lobatto iiia-iiib, order 4")


def book_of(field: Field):
    return book_of_oscillator(W, ALPHA) if isinstance(field, Oscillator) else field.book


def start(field: Field, *, seed: int = 7) -> State:
    return normal(2, 3 * len(field.blocks), seed=seed).chunk(len(field.blocks), -1)


def clocked(stages: int) -> list[Tensor]:
    return [normal(2, 3, seed=100 + i) for i in range(stages)]


# --- the equations


def gap_to_the_book(name: str, field: Field) -> float:
    """Largest difference of a step with one drive a stage and one step a neuron, to the loop in numpy."""
    tables = halves(name)
    state, drives = start(field), clocked(len(tables[0][1]))
    with torch.no_grad():
        found = torch.cat(prepared(tableaus.get(name), field, NEURONS)(state, drives).state, -1).numpy()
    given = torch.cat(state, -1).numpy()
    return max(
        np.abs(
            book_step(
                tables,
                book_of(field),
                given[i],
                [d[i].numpy() for d in drives],
                NEURONS.numpy(),
                blocks=len(field.blocks),
            )
            - found[i]
        ).max()
        for i in range(2)
    )


@pytest.mark.parametrize("name", tableaus.names())
def test_a_step_solves_the_equations_of_the_book(name: str):
    assert gap_to_the_book(name, OSCILLATOR) <= 1e-13


@pytest.mark.parametrize("name", spread(tableaus.names(), 42))
def test_the_closed_form_of_a_linear_field_is_the_step_of_the_book(name: str):
    assert gap_to_the_book(name, DAMPED) <= 1e-13
    assert name in PAIRS or gap_to_the_book(name, LINEAR) <= 1e-13


@pytest.mark.parametrize("name", where([*PAIRS, "gauss 2", "kvaerno 3", "rk4"], lambda name: name.endswith(("6", "8"))))
def test_a_field_that_is_not_separable_is_solved_for_what_makes_it_implicit(name: str):
    assert gap_to_the_book(name, PENDULUM) <= 1e-13


def test_the_whole_catalogue_was_stepped():
    assert (len(tableaus.names()), len(PAIRS), len(SINGLE)) == (126, 21, 105)


def test_a_step_with_a_wrong_coefficient_is_not_the_step_of_the_book():
    A = [[float(a) for a in row] for row in tableaus.GAUSS_2.A]
    A[1][0] += 1e-9
    wrong = ButcherTableau(A, tableaus.GAUSS_2.b, name="gauss 2, misprint")
    state, drives = start(OSCILLATOR), clocked(2)
    right, found = (
        torch.cat(prepared(method, OSCILLATOR, 0.3)(state, drives).state) for method in (tableaus.GAUSS_2, wrong)
    )
    assert 1e-12 < float((right - found).abs().max()) < 1e-9


# --- what is solved together


def sizes(method, field: Field) -> list[int]:
    """The number of slopes in each group that is solved for."""
    return [len(g.nodes) for g in prepared(method, field, 0.1).coefficients.groups if g.is_implicit]


def test_only_slopes_that_depend_on_each_other_are_solved_together():
    midpoints = Composition(tableaus.IMPLICIT_MIDPOINT, ["1/2", "1/4", "1/4"], "three midpoints")
    assert sizes(tableaus.RK4, PENDULUM) == sizes(tableaus.STOERMER_VERLET, OSCILLATOR) == []
    assert sizes(tableaus.get("kvaerno 3"), RELAXATION) == [1, 1, 1]  # its first stage is explicit
    assert sizes(midpoints, RELAXATION) == [1, 1, 1] and sizes(midpoints, PENDULUM) == [2, 2, 2]
    assert sizes(tableaus.get("gauss 3"), PENDULUM) == [6]
    assert sizes(Composition(tableaus.GAUSS_2, ["1/2", "1/2"], "two gauss 2"), RELAXATION) == [2, 2]
    assert sizes(tableaus.get("lobatto iiia 3"), RELAXATION) == [2]
    # Symplectic Euler, Z = z₀ + h g(y₀, Z), then y₁ = y₀ + h f(y₀, Z): Z is implicit, but not if g does not see it.
    assert sizes(tableaus.SYMPLECTIC_EULER, PENDULUM) == [1] and sizes(tableaus.SYMPLECTIC_EULER, OSCILLATOR) == []
    # IIIA: Y₁ = y₀; IIIB: all Z need the forces of Y₁ and Y₂ only. So Y₂ and all Z, and Y₃ after them.
    assert sizes(tableaus.get("lobatto iiia-iiib, order 4"), OSCILLATOR) == [4]


def test_a_family_a_composition_and_a_table_are_stepped_alike():
    state, drive = start(PENDULUM), clocked(1)[0]
    for given, same in (
        (families.gauss(2), tableaus.GAUSS_2),
        (families.lobatto_pair(2), tableaus.STOERMER_VERLET),
        (tableaus.get("yoshida 4"), tableaus.get("yoshida 4").tableau),
    ):
        one, other = (torch.cat(step(method, PENDULUM, state, drive, 0.1)) for method in (given, same))
        assert float((one - other).abs().max()) < 1e-15


# --- shapes


@pytest.mark.parametrize("name", ["gauss 2", "rk4"])
@pytest.mark.parametrize("field", FIELDS)
def test_leading_axes_broadcast_and_samples_do_not_see_each_other(name: str, field: str):
    method, blocks = tableaus.get(name), len(FIELDS[field].blocks)
    drive = normal(4, 2, 3, seed=3)
    state = tuple(normal(2, 3, seed=i) for i in range(blocks))
    report = prepared(method, FIELDS[field], 0.1)(state, drive)
    assert report.converged.shape == (4, 2) and report.converged.all()
    assert {block.shape for block in report.state} == {(4, 2, 3)}
    for i, j in ((0, 0), (3, 1)):
        alone = prepared(method, FIELDS[field], 0.1)(tuple(block[j] for block in state), drive[i, j])
        assert alone.converged.shape == ()
        for block, other in zip(report.state, alone.state, strict=True):
            torch.testing.assert_close(block[i, j], other, rtol=0, atol=1e-15)


def test_a_step_of_numbers_without_axes_is_the_step_of_a_neuron():
    numbers = [torch.tensor(v, dtype=F64) for v in (0.4, -0.7, 0.3, 0.8)]
    y, z, x, w = numbers
    alone = step(tableaus.GAUSS_2, Oscillator(w, ALPHA), (y, z), x, 0.2)
    y, z, x, w = (number.reshape(1) for number in numbers)
    one = step(tableaus.GAUSS_2, Oscillator(w, ALPHA), (y, z), x, torch.tensor([0.2], dtype=F64))
    assert [block.shape for block in alone] == [(), ()]
    assert [float(block) for block in alone] == [float(block) for block in one]
    linear = step(tableaus.GAUSS_2, Damped(w.reshape(1), w.reshape(1)), tuple(numbers[:2]), numbers[2], 0.2)
    assert [block.shape for block in linear] == [(), ()]


def test_a_pair_of_methods_needs_two_blocks():
    with pytest.raises(ValueError, match=r'"stoermer verlet" is a pair.*Relaxation has the block y. Choose one method'):
        prepared(tableaus.STOERMER_VERLET, RELAXATION, 0.1)


def test_wrong_numbers_of_drives_and_blocks_are_refused():
    ready = prepared(tableaus.GAUSS_2, PENDULUM, 0.1)
    with pytest.raises(ValueError, match=r'3 drives but tableau "gauss 2" has 2 stages.*stage_times'):
        ready(start(PENDULUM), clocked(3))
    with pytest.raises(ValueError, match="1 blocks but the field Pendulum has 2: y, z"):
        ready(start(RELAXATION), clocked(2))
    with pytest.raises(TypeError, match=r"tableaus.get"):
        prepared("gauss 2", PENDULUM, 0.1)


# --- linear fields


@pytest.mark.parametrize("field", [LINEAR, IteratedLinear(LINEAR.L)])
def test_implicit_midpoint_on_a_skew_field_is_the_cayley_map(field: Field):
    """y₁ = (I − h S/2)⁻¹ (I + h S/2) y₀, orthogonal."""
    S = (LINEAR.L - LINEAR.L.T).numpy()
    h, (y,) = 0.4, start(LINEAR)
    (found,) = step(tableaus.IMPLICIT_MIDPOINT, type(field)(torch.tensor(S)), (y,), torch.zeros(3, dtype=F64), h)
    expected = np.linalg.solve(np.eye(3) - h / 2 * S, (np.eye(3) + h / 2 * S) @ y.numpy().T).T
    assert np.abs(found.numpy() - expected).max() < 1e-14
    assert float((found.norm(dim=-1) - y.norm(dim=-1)).abs().max()) < 1e-14


@pytest.mark.parametrize("name", ["gauss 3", "hairer wanner sdirk4", "rk4", "lobatto iiia 3"])
def test_the_closed_form_is_what_iteration_finds_for_large_steps(name: str):
    h = torch.tensor([0.3, 1.1, 2.5], dtype=F64)
    stages = tableaus.get(name).stages
    for field, iterated in (
        (LINEAR, IteratedLinear(LINEAR.L)),
        (DAMPED, IteratedDamped(DAMPED.kappa, DAMPED.epsilon)),
    ):
        state, drives = start(field), clocked(stages)
        closed, solved = (prepared(tableaus.get(name), f, h)(state, drives) for f in (field, iterated))
        assert closed.iterations == 0 and closed.residual is None and solved.iterations in (0, 2)
        for one, other in zip(closed.state, solved.state, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_a_pole_of_the_stability_function_is_refused():
    """Implicit Euler with h λ = 1."""
    with pytest.raises(ValueError, match=r'"implicit euler" on the field Linear.*a pole.*Take another step size'):
        prepared(tableaus.get("implicit euler"), Linear(2 * torch.eye(3, dtype=F64)), 0.5)


# --- gradients


def leaves_of(field: Field, stages: int, *, h: Tensor = NEURONS) -> list[Tensor]:
    """State, drives, step sizes, weights."""
    tensors = [*start(field), *clocked(stages), h, *field.tensors().values()]
    return [tensor.clone().requires_grad_() for tensor in tensors]


def run(method, field: Field, leaves: list[Tensor]) -> State:
    blocks, stages = len(field.blocks), method.stages
    state, drives, (h, *weights) = leaves[:blocks], leaves[blocks : blocks + stages], leaves[blocks + stages :]
    own = field.with_tensors(dict(zip(field.tensors(), weights, strict=True)))
    return prepared(method, own, h)(tuple(state), drives).state


def unrolled(method, field: Field, leaves: list[Tensor]) -> State:
    """The same by 60 fixed-point iterations that autograd walks back through."""
    blocks, stages = len(field.blocks), method.stages
    state, drives, (h, *weights) = leaves[:blocks], leaves[blocks : blocks + stages], leaves[blocks + stages :]
    own = field.with_tensors(dict(zip(field.tensors(), weights, strict=True)))
    tables = [[torch.tensor(array) for array in table] for table in halves(method.name)][:blocks]
    k = [torch.zeros(stages, *block.shape, dtype=F64) for block in state]
    x = torch.stack(drives)
    for _ in range(60):
        rows = zip(state, tables, k, strict=True)
        k = list(own(tuple(y + h * torch.einsum("ij,j...->i...", A, slope) for y, (A, _), slope in rows), x))
    rows = zip(state, tables, k, strict=True)
    return tuple(y + h * torch.einsum("i,i...->...", b, slope) for y, (_, b), slope in rows)


def weighted(new_state: State) -> Tensor:
    """A sum with unequal weights of all components of y₁ and z₁."""
    return sum((normal(*block.shape, seed=50 + i) * block).sum() for i, block in enumerate(new_state))


def gradient(new_state: State, leaves: list[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(weighted(new_state), leaves))


def steppable(names: Sequence[str], given: Sequence[str]) -> list[tuple[str, str]]:
    """Methods with fields; a pair of methods needs two blocks."""
    return [(name, field) for name in names for field in given if name not in PAIRS or len(FIELDS[field].blocks) == 2]


FIRST_ORDER = steppable(GRADED, list(FIELDS))
SECOND_ORDER = steppable(
    ("gauss 2", "alexander 2", "symplectic euler vt"), ("pendulum", "relaxation", "damped", "linear")
)


def test_how_many_gradients_were_compared():
    assert (len(FIRST_ORDER), len(SECOND_ORDER)) == (5 * 5 + 3, 2 * 4 + 2)


@pytest.mark.parametrize(("name", "field"), spread(FIRST_ORDER, 14))
def test_the_gradient_is_that_through_a_converged_iteration(name: str, field: str):
    leaves = leaves_of(FIELDS[field], tableaus.get(name).stages)
    found, expected = (gradient(f(tableaus.get(name), FIELDS[field], leaves), leaves) for f in (run, unrolled))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("name", "field"), where(spread(SECOND_ORDER, 5), lambda each: each[1] == "pendulum"))
def test_first_and_second_derivatives_are_those_of_finite_differences(name: str, field: str):
    leaves = leaves_of(FIELDS[field], tableaus.get(name).stages, h=5 * NEURONS)

    def total(*leaves: Tensor) -> Tensor:
        return weighted(run(tableaus.get(name), FIELDS[field], list(leaves)))

    assert torch.autograd.gradcheck(total, leaves, rtol=1e-7, atol=1e-8, fast_mode=True)
    assert torch.autograd.gradgradcheck(total, leaves, rtol=1e-6, atol=1e-7, fast_mode=True)


def test_third_derivatives_are_right_too():
    """d³y₁/dh³ of implicit midpoint on y' = W tanh y, one neuron, against the third difference of first derivatives."""
    field = Relaxation(torch.tensor([[-1.3]], dtype=F64), torch.zeros(1, dtype=F64))
    y, zero = torch.tensor([0.7], dtype=F64), torch.zeros(1, dtype=F64)

    def derivative(value: float, order: int) -> float:
        h = torch.tensor(value, dtype=F64, requires_grad=True)
        (d,) = step(tableaus.IMPLICIT_MIDPOINT, field, (y,), zero, h)
        for _ in range(order):
            (d,) = torch.autograd.grad(d.sum(), h, create_graph=True)
        return float(d.detach())

    e = 1e-3
    difference = (derivative(0.5 + e, 2) - derivative(0.5 - e, 2)) / (2 * e)
    assert derivative(0.5, 3) == pytest.approx(difference, rel=1e-5) and abs(difference) > 0.1


def test_a_planted_wrong_jacobian_is_found_by_the_gradient_and_by_the_number_of_iterations():
    class Wrong(Relaxation):
        def jacobian(self, state: State, drive: Tensor) -> Tensor:
            return 0.8 * super().jacobian(state, drive)

    h = torch.full((3,), 0.2, dtype=F64)
    leaves = leaves_of(RELAXATION, 2, h=h)
    wrong = Wrong(RELAXATION.W, RELAXATION.decay)
    right_values, values = (run(tableaus.GAUSS_2, field, leaves) for field in (RELAXATION, wrong))
    torch.testing.assert_close(values, right_values, rtol=0, atol=1e-12)  # a solution is a solution
    right, found = gradient(right_values, leaves), gradient(values, leaves)
    assert max(float((one - other).abs().max()) for one, other in zip(right, found, strict=True)) > 1e-3
    iterations = [prepared(tableaus.GAUSS_2, f, h)(start(f), clocked(2)).iterations for f in (RELAXATION, wrong)]
    assert iterations[0] <= 5 and iterations[1] >= 9


def test_without_gradients_no_graph_is_built():
    leaves = leaves_of(RELAXATION, 2)
    with torch.no_grad():
        (y,) = run(tableaus.GAUSS_2, RELAXATION, leaves)
    assert not y.requires_grad
    (y,) = run(tableaus.GAUSS_2, RELAXATION, leaves)
    assert y.requires_grad


def test_a_step_in_inference_mode_leaves_nothing_behind_that_gradients_cannot_use():
    method = tableaus.get("lobatto iiid 3")  # first used here, so its tables are made in inference mode
    with torch.inference_mode():
        run(method, RELAXATION, leaves_of(RELAXATION, 3))
    leaves = leaves_of(RELAXATION, 3)
    assert all(torch.isfinite(part).all() for part in gradient(run(method, RELAXATION, leaves), leaves))


# --- the discrete adjoint


class Costate(Field):
    """λ' = J(Y; x)ᵀ λ, what carries a cotangent back along a field; the drive is (Y, x)."""

    def __init__(self, of: Field, sign: float) -> None:
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "sign", sign)

    @property
    def hidden_size(self) -> int:
        return self.of.hidden_size

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        Y, x = drive.chunk(2, -1)
        return self.sign * self.of.jacobian((Y,), x).mT

    def __call__(self, state: State, drive: Tensor) -> State:
        return ((self.jacobian(state, drive) @ state[0].unsqueeze(-1)).squeeze(-1),)

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def with_tensors(self, tensors: dict[str, Tensor]) -> Field:
        return self

    def constants(self) -> Constants:
        return self.of.constants()


@pytest.mark.parametrize("name", ["gauss 2", "gauss 3", "radau iia 2", "radau iia 3", "lobatto iiic 3", "rk4"])
def test_backpropagation_is_a_step_of_the_transposed_method_and_undone_by_the_symplectic_conjugate(name: str):
    """λ₀ = λ₁ + h Σ b_i JᵢᵀΛ_i: forwards in s = −t by (B⁻¹AᵀB, b), and λ₀ → λ₁ by 1bᵀ − B⁻¹AᵀB. Sanz-Serna 2016."""
    method, h = tableaus.get(name), 0.1
    (y,), drives = start(RELAXATION), clocked(method.stages)
    y = y[0].clone().requires_grad_()
    drives = [x[0] for x in drives]
    after = normal(3, seed=9)
    (before,) = torch.autograd.grad(prepared(method, RELAXATION, h)((y,), drives).state[0], y, after)
    numbers = [x.numpy() for x in drives]
    Y, _ = book_stages(halves(name), RELAXATION.book, y.detach().numpy(), numbers, h, blocks=1)
    seen = [torch.cat((torch.tensor(stage), x)) for stage, x in zip(Y, drives, strict=True)]
    (found,) = prepared(transpose(method), Costate(RELAXATION, 1.0), h)((after,), seen).state
    torch.testing.assert_close(found, before, rtol=0, atol=1e-14)
    (back,) = prepared(symplectic_conjugate(method), Costate(RELAXATION, -1.0), h)((before,), seen).state
    torch.testing.assert_close(back, after, rtol=0, atol=1e-14)
    if name.startswith(("radau", "rk4")):  # not its own conjugate: the method itself is another map
        (other,) = prepared(method, Costate(RELAXATION, 1.0), h)((after,), seen).state
        assert float((other - before).abs().max()) > 1e-6


# --- torch.compile


@pytest.mark.parametrize(
    ("name", "field"), spread([("rk4", "pendulum"), ("stoermer verlet", "oscillator"), ("gauss 2", "linear")], 1)
)
def test_explicit_steps_and_closed_forms_are_one_graph(name: str, field: str):
    method, given = tableaus.get(name), FIELDS[field]
    leaves = leaves_of(given, method.stages)
    compiled = torch.compile(lambda leaves: run(method, given, leaves), backend="eager", fullgraph=True)
    for one, other in zip(compiled(leaves), run(method, given, leaves), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-15)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch's own, where a graph ends
def test_an_iteration_is_left_out_of_the_graph():
    method, leaves = tableaus.GAUSS_2, leaves_of(RELAXATION, 2)
    compiled = torch.compile(lambda leaves: run(method, RELAXATION, leaves), backend="eager")
    found, expected = (gradient(new, leaves) for new in (compiled(leaves), run(method, RELAXATION, leaves)))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-15)
