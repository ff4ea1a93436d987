"""Newton's method converges quadratically, sample by sample, and says what it could not do."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from torch import Tensor

from odernn import tableaus
from odernn.fields.field import Constants, State
from odernn.integrators import ConvergenceError, ConvergenceWarning, Newton, prepared
from tests.odernn.integrators.stepping import F64, Pendulum, Relaxation, normal

RELAXATION = Relaxation(normal(3, 3, seed=1), torch.tensor([0.5, 1.0, 2.0], dtype=F64))
GAUSS = tableaus.GAUSS_2


def report(field=RELAXATION, h=0.2, y=None, method=GAUSS, **newton):
    y = normal(4, 3, seed=2) if y is None else y
    state = (y,) * len(field.blocks)
    return prepared(method, field, h, newton=Newton(**newton))(state, torch.zeros_like(y))


def test_the_number_of_right_digits_doubles():
    """‖k^(n+1) − k‖ ≤ C ‖k^(n) − k‖² with a C that does not grow, from the first iterations on."""
    solved = report().state[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        gaps = [
            float((report(max_iterations=n, on_failure="warn", tolerance=1e-15).state[0] - solved).abs().max())
            for n in (1, 2, 3)
        ]
    assert gaps[0] < 1 and gaps[1] < 1e-1 * gaps[0] and gaps[2] < gaps[1] ** 1.7


def test_the_residual_is_that_of_the_stage_equations_and_is_at_rounding():
    """h (k − f(Y)) put together anew for implicit midpoint, k = (y₁ − y₀)/h, Y = (y₀ + y₁)/2."""
    y0, h = normal(4, 3, seed=2), 0.2
    for tolerance in (None, 1e-3):
        found = report(y=y0, h=h, method=tableaus.IMPLICIT_MIDPOINT, tolerance=tolerance)
        (y1,) = found.state
        (slope,) = RELAXATION(((y0 + y1) / 2,), torch.zeros_like(y0))
        expected = (y1 - y0 - h * slope).abs().amax(-1)
        torch.testing.assert_close(found.residual, expected, rtol=1e-9, atol=1e-15)
        assert found.converged.all() and found.residual.shape == (4,)
        assert float(found.residual.max()) < (1e-15 if tolerance is None else 1e-6)  # about the tolerance squared


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 8, 128])
def test_the_default_tolerance_can_be_reached_in_every_dtype_and_size(dtype: torch.dtype, size: int):
    """32 √N eps, with N = 2 · size unknowns, while the residual is a sum of that many roundings; weights of h L ≈ 4."""
    field = Relaxation(2 * normal(size, size, seed=3).to(dtype) / math.sqrt(size), torch.ones(size, dtype=dtype))
    found = report(field, h=1.0, y=normal(4, size, seed=4).to(dtype))
    assert found.converged.all() and found.iterations <= 9 and found.state[0].dtype == dtype
    assert float(found.residual.max()) < 32 * math.sqrt(2 * size) * torch.finfo(dtype).eps


def test_a_rest_point_at_zero_is_found_although_all_sizes_are_zero():
    found = report(y=torch.zeros(2, 3, dtype=F64))
    assert found.converged.all() and found.iterations == 1 and not found.state[0].any()


class Cancelling(Relaxation):
    """y' = tanh(W y + x) − tanh(x), the second one by another formula: at y = 0 it is the rounding errors of both."""

    def __call__(self, state: State, drive: Tensor) -> State:
        return (torch.tanh(state[0] @ self.W.mT + drive) - (1 - 2 / (torch.exp(2 * drive) + 1)),)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        slope = 1 - torch.tanh(state[0] @ self.W.mT + drive) ** 2
        return slope.unsqueeze(-1) * self.W


def test_slopes_that_cancel_do_not_ask_for_more_digits_than_there_are():
    """Without |h| in the scale, 5 of these 200 samples are never small enough beside |y| = 0 and |k| ≈ 10⁻¹⁷."""
    field = Cancelling(normal(5, 5, seed=1), torch.ones(5, dtype=F64))
    found = prepared(GAUSS, field, 0.2)((torch.zeros(200, 5, dtype=F64),), normal(200, 5, seed=3))
    assert found.converged.all() and found.iterations == 1


# --- damping


class Steep(Relaxation):
    """y' = −50 arctan(y): an undamped Newton iteration far from the root overshoots more each time."""

    def __call__(self, state: State, drive: Tensor) -> State:
        return (-50 * torch.atan(state[0]),)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        return torch.diag_embed(-50 / (1 + state[0] ** 2))


def test_an_iteration_that_overshoots_is_damped_and_converges():
    """Implicit Euler, y₁ + 50 h arctan y₁ = y₀, has one solution for every h; without halvings it is not found."""
    field, y0, h = Steep(RELAXATION.W, RELAXATION.decay), torch.tensor([[15.0, -1.0, 6.0]], dtype=F64), 1.0
    found = report(field, h=h, y=y0, method=tableaus.get("implicit euler"))
    (y1,) = found.state
    assert found.converged.all() and found.iterations < 20
    torch.testing.assert_close(y1 + 50 * h * torch.atan(y1), y0, rtol=1e-13, atol=1e-13)
    with pytest.raises(ConvergenceError):
        report(field, h=h, y=y0, method=tableaus.get("implicit euler"), max_halvings=0)


class GradientFlow(Relaxation):
    """y' = −Wᵀ tanh(W y + x), the gradient flow of Σ log cosh(W y + x): ⟨Δf, Δy⟩ ≤ 0."""

    def __call__(self, state: State, drive: Tensor) -> State:
        return (-torch.tanh(state[0] @ self.W.mT + drive) @ self.W,)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        slope = 1 - torch.tanh(state[0] @ self.W.mT + drive) ** 2
        return -self.W.mT @ (slope.unsqueeze(-1) * self.W)

    def constants(self) -> Constants:
        return Constants(float(torch.linalg.matrix_norm(self.W, 2)) ** 2, 0.0)


@pytest.mark.parametrize("name", ["implicit euler", "gauss 2", "radau iia 2"])
def test_algebraically_stable_methods_on_a_monotone_field_are_solved_for_every_step_size(name: str):
    """Their stage equations have one solution for all h, Hairer & Wanner 1996, Theorem IV.14.3; h L goes up to 10⁴."""
    field = GradientFlow(normal(6, 6, seed=5) * 4, torch.zeros(6, dtype=F64))
    y = normal(8, 6, seed=6)
    for h in (0.1, 1.0, 10.0):
        found = prepared(tableaus.get(name), field, h)((y,), normal(8, 6, seed=7))
        assert found.converged.all() and h * field.constants().lipschitz > 10


# --- samples on their own


def test_a_sample_does_not_depend_on_how_long_others_iterate():
    """A hard sample and an easy one: what has converged is not touched again."""
    field = Steep(RELAXATION.W, RELAXATION.decay)
    easy, hard = torch.full((1, 3), 0.01, dtype=F64), torch.full((1, 3), 7.0, dtype=F64)
    together = report(field, y=torch.cat((easy, hard)))
    alone = report(field, y=easy)
    assert alone.iterations < together.iterations
    assert torch.equal(together.state[0][:1], alone.state[0])


def test_neurons_that_do_not_interact_converge_on_their_own():
    field = Pendulum(torch.ones(3, dtype=F64))
    y = torch.tensor([[0.01, 1.0, 0.01]], dtype=F64)
    together = report(field, y=y, h=0.4)
    alone = prepared(GAUSS, Pendulum(torch.ones(1, dtype=F64)), 0.4)((y[:, :1],) * 2, torch.zeros(1, 1, dtype=F64))
    assert alone.iterations < together.iterations
    assert torch.equal(together.state[0][:, :1], alone.state[0])


def test_each_neuron_has_its_own_step():
    field = Pendulum(torch.ones(3, dtype=F64))
    y = torch.tensor([[0.3, 0.3, 0.3]], dtype=F64)
    together = report(field, y=y, h=torch.tensor([0.1, 0.2, 0.3], dtype=F64)).state
    for i, h in enumerate((0.1, 0.2, 0.3)):
        for block, alone in zip(together, report(field, y=y, h=h).state, strict=True):
            torch.testing.assert_close(block[:, i], alone[:, i], rtol=0, atol=1e-15)


# --- failures


class Rootless(Relaxation):
    """y' = (1 + y²)/h: the equation of implicit Euler, k = (1 + (y + h k)²)/h, has no real solution for h = 1."""

    def __call__(self, state: State, drive: Tensor) -> State:
        return (1 + state[0] ** 2,)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        return torch.diag_embed(2 * state[0])


def test_an_equation_without_solution_is_an_error_that_names_the_worst_sample():
    y = torch.tensor([[-1.0] * 3, [1.0] * 3, [2.0] * 3], dtype=F64)
    euler = tableaus.get("implicit euler")
    with pytest.raises(ConvergenceError) as caught:
        report(Rootless(RELAXATION.W, RELAXATION.decay), h=1.0, y=y, method=euler)
    text = str(caught.value)
    assert 'Tableau "implicit euler" on the field Rootless: the stage equations of 2 of 3 samples' in text
    for part in ("the worst is sample 2", "(tolerance 1.23e-14", "h L = 11", "smaller step size", 'on_failure="warn"'):
        assert part in text, text


def test_a_warning_leaves_the_other_samples_as_they_are():
    y = torch.tensor([[-1.0] * 3, [1.0] * 3], dtype=F64)
    field, euler = Rootless(RELAXATION.W, RELAXATION.decay), tableaus.get("implicit euler")
    with pytest.warns(ConvergenceWarning, match="1 of 2 samples"):
        found = report(field, h=1.0, y=y, method=euler, on_failure="warn")
    assert found.converged.tolist() == [True, False] and found.residual[1] > 0.1
    torch.testing.assert_close(found.state[0][0], torch.zeros(3, dtype=F64), rtol=0, atol=1e-7)  # a double root


NOT_FINITE = {
    "the state": (r"1 of 4 samples", r"y at the beginning or in an earlier stage"),
    "the drive": (r"1 of 4 samples", r"the drive"),
    "the weights": (r"4 of 4 samples", r"W of the field"),
    "the step size": (r"4 of 4 samples", r"the step size"),
}


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("where", NOT_FINITE)
def test_what_is_not_finite_is_named_instead_of_the_advice_to_iterate_more(where: str, value: float):
    y, x, W, h = normal(4, 3, seed=2), normal(4, 3, seed=3), RELAXATION.W.clone(), torch.tensor(0.2, dtype=F64)
    {"the state": y, "the drive": x, "the weights": W, "the step size": h}[where].reshape(-1)[-1] = value
    with pytest.raises(ConvergenceError) as caught:
        prepared(GAUSS, Relaxation(W, RELAXATION.decay), h)((y,), x)
    count, name = NOT_FINITE[where]
    text = str(caught.value)
    assert f"{count} are not solved; the worst is sample {3 if count.startswith('1') else 0}" in text, text
    assert f"There is NaN or infinity in {name}, which no step size and no number of iterations mends" in text, text
    assert "smaller" not in text and "max_iterations" not in text and 'Newton(on_failure="warn")' in text, text


def test_an_equation_without_solution_beside_a_drive_that_is_infinite_and_harmless_keeps_its_advice():
    """y' = (1 + y²)/h does not see the drive."""
    y, x = torch.tensor([[1.0] * 3, [-1.0] * 3], dtype=F64), torch.tensor([[0.0] * 3, [math.inf] * 3], dtype=F64)
    with pytest.raises(ConvergenceError, match=r"1 of 2 samples.*sample 0.*Take a smaller step size"):
        prepared(tableaus.get("implicit euler"), Rootless(RELAXATION.W, RELAXATION.decay), 1.0)((y,), x)


def test_a_singular_matrix_is_a_failure_and_not_an_exception_of_torch():
    """Implicit Euler on y' = y with h = 1: y₁ (1 − h) = y₀."""
    field = Relaxation(torch.zeros(1, 1, dtype=F64), -torch.ones(1, dtype=F64))
    with pytest.raises(ConvergenceError, match="1 of 1 samples"):
        report(field, h=1.0, y=torch.ones(1, 1, dtype=F64), method=tableaus.get("implicit euler"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"tolerance": math.inf}, "tolerance is inf"),
        ({"max_iterations": 0}, "max_iterations is 0, but it counts. Give an int of at least 1"),
        ({"max_iterations": True}, "max_iterations is True"),
        ({"max_halvings": -1}, "max_halvings is -1"),
        ({"on_failure": "ignore"}, 'on_failure is \'ignore\'. Write "raise" or "warn"'),
    ],
)
def test_options_out_of_range_are_refused(options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        Newton(**options)
