"""Every field is its formula, has the Jacobian, the symmetry and the energy law it reports; and planted lies are seen.

The checks are functions of a field, so that a new field inherits them by appearing in the folder: it needs a row in
HYPERPARAMETERS and an oracle in RIGHT_HAND_SIDES.
"""

from __future__ import annotations

import dataclasses
import math
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn import fields
from odernn.fields.field import DenseForm, Field, State
from tests.tiers import only, spread

EPS = torch.finfo(torch.float64).eps
HIDDEN = 4

HYPERPARAMETERS = {
    "antisymmetric": {"gamma": 0.3},
    "coupled_oscillator": {"gamma": 1.7, "epsilon": 0.6},
    "gated_antisymmetric": {"gamma": 0.3},
    "linear_oscillator": {},
    "monotone": {"drive_size": 5},
    "oscillator": {"alpha": 0.9},
    "semilinear": {},
    "separable_hamiltonian": {"drive_size": 5, "kinetic_size": 3},
    "skew_linear": {},
}
ALL = pytest.mark.parametrize("name", fields.names())


def make(name: str, *, seed: int = 0, hidden: int = HIDDEN, dtype: torch.dtype = torch.float64) -> Field:
    """Random weights, twice the initial ones so that nothing is nearly linear; for the oscillator of both signs."""
    generator = torch.Generator().manual_seed(seed)
    field = fields.get(name).random(hidden, **HYPERPARAMETERS[name], generator=generator, dtype=torch.float64)
    shift = 0.5 if name == "oscillator" else 0.0
    return field.with_tensors({k: (2.0 * (v - shift)).to(dtype) for k, v in field.tensors().items()})


def point(field: Field, *leading: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> tuple[State, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    state = tuple(torch.randn(*leading, field.hidden_size, generator=generator, dtype=dtype) for _ in field.blocks)
    return state, torch.randn(*leading, field.drive_size, generator=generator, dtype=dtype)


# The right-hand sides once more, one sample in float64 numpy, entry by entry.


def _sum(matrix: np.ndarray, vector: np.ndarray, i: int) -> float:
    return math.fsum(float(matrix[i, j]) * float(vector[j]) for j in range(len(vector)))


def _antisymmetric(f, y, x, i):
    pull = math.fsum((float(f["W"][i, j]) - float(f["W"][j, i])) * float(y[j]) for j in range(len(y)))
    return pull - f["gamma"] * y[i] + x[i]


def _monotone(f, y, x):
    sigma = [math.tanh(_sum(f["K"], y, k) + x[k]) for k in range(len(x))]
    return [-math.fsum(float(f["K"][k, i]) * sigma[k] for k in range(len(x))) for i in range(len(y))]


RIGHT_HAND_SIDES = {
    "antisymmetric": lambda f, y, x: [[math.tanh(_antisymmetric(f, y, x, i)) for i in range(len(y))]],
    "gated_antisymmetric": lambda f, y, x: [
        [
            math.tanh(_antisymmetric(f, y, x, i)) / (1 + math.exp(-_antisymmetric(f, y, x[len(y) :], i)))
            for i in range(len(y))
        ]
    ],
    "skew_linear": lambda f, y, x: [[_sum(f["W"], y, i) - _sum(f["W"].T, y, i) + x[i] for i in range(len(y))]],
    "monotone": lambda f, y, x: [_monotone(f, y, x)],
    "linear_oscillator": lambda f, y, z, x: [list(z), [x[i] - f["A"][i] * y[i] for i in range(len(y))]],
    "semilinear": lambda f, y, x: [[_sum(f["A"], y, i) + math.tanh(_sum(f["W"], y, i) + x[i]) for i in range(len(y))]],
    "separable_hamiltonian": lambda f, y, z, x: [
        [-v for v in _monotone({"K": f["L"]}, z, np.zeros(len(f["L"])))],
        _monotone(f, y, x),
    ],
    "oscillator": lambda f, y, z, x: [
        list(z),
        [-math.tanh(f["w"][i] * y[i] + x[i]) - f["alpha"] * y[i] for i in range(len(y))],
    ],
    "coupled_oscillator": lambda f, y, z, x: [
        list(z),
        [
            math.tanh(_sum(f["W"], y, i) + _sum(f["W_z"], z, i) + x[i]) - f["gamma"] * y[i] - f["epsilon"] * z[i]
            for i in range(len(y))
        ],
    ],
}

# The checks.


def flat(field: Field, state: Tensor, drive: Tensor) -> Tensor:
    """f with the blocks of one sample one after the other."""
    return torch.cat(field(state.chunk(len(field.blocks), -1), drive), -1)


def dense_jacobian(field: Field, state: State, drive: Tensor) -> Tensor:
    """``field.jacobian`` as (..., blocks · hidden, blocks · hidden), whatever its layout."""
    found = field.jacobian(state, drive)
    if field.couples_neurons:
        return found
    *leading, n, b, _ = found.shape
    whole = torch.zeros(*leading, b, n, b, n, dtype=found.dtype)
    for i in range(n):
        whole[..., :, i, :, i] = found[..., i, :, :]
    return whole.reshape(*leading, b * n, b * n)


def assert_jacobian(field: Field) -> None:
    """The Jacobian is the derivative by automatic differentiation, at states of several sizes.

    The slope 1 − tanh² carries a few roundings of 1, and those of its argument: absolute errors, even if it is tiny.
    """
    for seed, scale in enumerate((0.1, 1.0, 5.0)):
        state, drive = point(field, 3, seed=seed)
        state = tuple(scale * block for block in state)
        found = dense_jacobian(field, state, drive)
        for sample in range(3):
            x = torch.cat([block[sample] for block in state])
            expected = torch.autograd.functional.jacobian(lambda x, u=drive[sample]: flat(field, x, u), x)
            tolerance = 4 * len(x) * EPS * field.constants().lipschitz * (1 + float(x.abs().max()))
            torch.testing.assert_close(found[sample], expected, rtol=0, atol=tolerance)


def energy_rate(field: Field, state: State, drive: Tensor) -> tuple[Tensor, Tensor]:
    """dH/dt = ∇H·f along the flow, and an allowance for the rounding errors of the sum."""
    state = tuple(block.clone().requires_grad_() for block in state)
    gradient = torch.autograd.grad(field.energy(state, drive).sum(), state)
    terms = [g * f for g, f in zip(gradient, field(state, drive), strict=True)]
    rate, size = sum(t.sum(-1) for t in terms), sum(t.abs().sum(-1) for t in terms)
    assert isinstance(rate, Tensor) and isinstance(size, Tensor)
    return rate.detach(), 64 * field.hidden_size * EPS * size.detach()


def assert_energy_law(field: Field) -> None:
    """The energy does what ``energy_law`` says, and not more: a stronger law would have been reported."""
    state, drive = point(field, 50)
    if field.energy_law is None:
        with pytest.raises(NotImplementedError, match="has no energy"):
            field.energy(state, drive)
        return
    rate, tolerance = energy_rate(field, state, drive)
    if field.energy_law == "conserved":
        assert bool((rate.abs() <= tolerance).all())
    elif field.energy_law == "non-increasing":
        assert bool((rate <= tolerance).all()) and bool((rate < -tolerance).any())
    else:
        assert field.energy_law == "conserved at zero drive"
        assert bool((rate.abs() > tolerance).any())
        rate, tolerance = energy_rate(field, state, torch.zeros_like(drive))
        assert bool((rate.abs() <= tolerance).all())


def assert_reversibility(field: Field) -> None:
    """f(ρx) = −ρ f(x) to the last digit if and only if ``is_reversible``."""
    assert len(field.blocks) == 2 or not field.is_reversible
    if len(field.blocks) == 2:
        (y, z), drive = point(field, 50)
        forward, backward = field((y, z), drive), field((y, -z), drive)
        defect = torch.cat((forward[0] + backward[0], forward[1] - backward[1]), -1).abs().amax()
        assert (float(defect) <= 4 * EPS) == field.is_reversible


def assert_separability(field: Field) -> None:
    """Block y' ignores y and the drive, and block z' ignores z, if and only if ``is_separable``."""
    assert len(field.blocks) == 2 or not field.is_separable
    if len(field.blocks) == 2:
        (y, z), drive = point(field, 10)
        (y2, z2), drive2 = point(field, 10, seed=2)
        same_velocity = torch.equal(field((y, z), drive)[0], field((y2, z), drive2)[0])
        same_force = torch.equal(field((y, z), drive)[1], field((y, z2), drive)[1])
        assert (same_velocity and same_force) == field.is_separable


def assert_linearity(field: Field) -> None:
    """f(x + v; u) − f(x; u) = J v with one J for all x and u if and only if ``is_linear``."""
    state, drive = point(field, 20)
    other, _ = point(field, 20, seed=2)
    moved = tuple(a + b for a, b in zip(state, other, strict=True))
    J = dense_jacobian(field, tuple(b[0] for b in state), drive[0])
    difference = torch.cat(field(moved, drive), -1) - torch.cat(field(state, drive), -1)
    defect = difference - torch.cat(other, -1) @ J.mT
    tolerance = 64 * field.hidden_size * EPS * (1 + float(J.abs().max()))
    assert (float(defect.abs().max()) <= tolerance) == field.is_linear


def assert_coupling(field: Field) -> None:
    """Component i of f reacts to another component of state or drive if and only if ``couples_neurons``."""
    state, drive = point(field)
    n, per_neuron = field.hidden_size, field.drive_size // field.hidden_size
    value = torch.stack(field(state, drive))
    reacts = False
    for j in range(n):
        moved = tuple(block.clone() for block in state)
        for block in moved:
            block[j] += 1.0
        changed = drive.clone()
        changed[j * per_neuron : (j + 1) * per_neuron] += 1.0
        moved_value = torch.stack(field(moved, changed))
        others = [i for i in range(n) if i != j]
        reacts |= not torch.equal(value[:, others], moved_value[:, others])
    assert reacts == field.couples_neurons


def written_out(M: torch.Tensor) -> torch.Tensor:
    """A matrix of diagonals, entry [i, j, k] that of neuron k, as the matrix of all neurons."""
    return M if M.dim() == 2 else torch.cat([torch.cat([torch.diag(d) for d in row], -1) for row in M])


def assert_dense_form(field: Field) -> None:
    """L y + U φ(W y + B x) is f, to rounding; fields that are not linear have one."""
    form = field.dense_form()
    assert (form is not None) == (not field.is_linear)
    if form is not None:
        assert (form.W.dim() == 2) == field.couples_neurons
        parts = {"W": form.W, "U": form.U, "L": form.L}
        form = dataclasses.replace(
            form, **{name: part if part is None else written_out(part) for name, part in parts.items()}
        )
        state, drive = point(field, 20)
        y, (x, shift) = torch.cat(state, -1), form.arguments(drive)
        a = y @ form.W.mT + x
        p = torch.tanh(a) if shift is None else torch.sigmoid(a + shift) * torch.tanh(a)
        found = p if form.U is None else p @ form.U.mT
        found = found if form.L is None else found + y @ form.L.mT
        expected = torch.cat(field(state, drive), -1)
        assert float((found - expected).abs().max()) <= 64 * EPS * (1 + float(expected.abs().max()))


CHECKS = {
    "jacobian": assert_jacobian,
    "energy law": assert_energy_law,
    "reversibility": assert_reversibility,
    "separability": assert_separability,
    "linearity": assert_linearity,
    "coupling": assert_coupling,
    "dense form": assert_dense_form,
}


# Every field.


def test_the_catalogue_has_nine_fields_and_all_are_tried():
    assert len(fields.names()) == len(HYPERPARAMETERS) == len(RIGHT_HAND_SIDES) == 9
    assert set(fields.names()) == set(HYPERPARAMETERS) == set(RIGHT_HAND_SIDES)
    assert len(CHECKS) == 7


@ALL
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("seed", only(range(3), 0))
def test_the_field_is_what_it_reports(name: str, check: str, seed: int):
    CHECKS[check](make(name, seed=seed))


@ALL
@pytest.mark.parametrize("check", CHECKS)
def test_one_neuron_is_no_exception(name: str, check: str):
    if check != "coupling":  # one neuron has no other
        hidden = 1
        field = fields.get(name).random(
            hidden,
            **{key: value for key, value in HYPERPARAMETERS[name].items() if not key.endswith("size")},
            generator=torch.Generator().manual_seed(0),
            dtype=torch.float64,
        )
        if name == "skew_linear":  # y' = x: with S = 0 the energy is the same law, the Jacobian zero
            assert not field.jacobian(*point(field)).any()
            return
        CHECKS[check](field)


@ALL
def test_the_right_hand_side_is_the_formula_entry_by_entry(name: str):
    for seed in range(5):
        field = make(name, seed=seed)
        state, drive = point(field, seed=seed + 10)
        attributes = {
            item.name: value.numpy() if isinstance(value := getattr(field, item.name), Tensor) else value
            for item in dataclasses.fields(field)
        }
        expected = RIGHT_HAND_SIDES[name](attributes, *(block.numpy() for block in state), drive.numpy())
        for block, row in zip(field(state, drive), expected, strict=True):
            assert np.abs(block.numpy() - np.array(row)).max() <= 1e-14


@ALL
def test_a_change_of_one_weight_is_seen_by_that_comparison(name: str):
    field = make(name)
    state, drive = point(field)
    for weight in field.weights:
        value = getattr(field, weight).clone()
        value.view(-1)[1] += 1e-6
        changed = field.with_tensors({weight: value})(state, drive)
        assert max(float((a - b).abs().max()) for a, b in zip(changed, field(state, drive), strict=True)) > 1e-10


@ALL
@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_every_leading_axis_is_a_batch(name: str, leading: tuple[int, ...]):
    field = make(name)
    state, drive = point(field, *leading)
    n, b = field.hidden_size, len(field.blocks)
    assert [block.shape for block in field(state, drive)] == [(*leading, n)] * b
    matrices = (b * n, b * n) if field.couples_neurons else (n, b, b)
    assert field.jacobian(state, drive).shape == (*leading, *matrices)
    if field.energy_law is not None:
        assert field.energy(state, drive).shape == leading


@ALL
def test_states_and_drives_are_broadcast_against_each_other(name: str):
    field = make(name)
    state, _ = point(field, 3)
    _, drive = point(field, 2, 1)
    whole = tuple(block.expand(2, 3, -1) for block in state), drive.expand(2, 3, -1)
    for few, all_ in zip(field(state, drive), field(*whole), strict=True):
        torch.testing.assert_close(few, all_, rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(field.jacobian(state, drive), field.jacobian(*whole), rtol=1e-14, atol=1e-14)
    if field.energy_law is not None:
        torch.testing.assert_close(field.energy(state, drive), field.energy(*whole), rtol=1e-14, atol=1e-14)


@ALL
@pytest.mark.parametrize("as_tensor", [False, True])
def test_single_precision_stays_single_and_is_close(name: str, as_tensor: bool):
    """A hyperparameter is a number or a float64 tensor without axes; neither raises the precision."""
    field, double = make(name, dtype=torch.float32), make(name)
    if as_tensor:
        numbers = {
            item.name: torch.tensor(getattr(field, item.name), dtype=torch.float64)
            for item in dataclasses.fields(field)
            if item.name not in field.weights
        }
        field = field.with_tensors(numbers)
        assert set(field.tensors()) == {item.name for item in dataclasses.fields(field)}
    state, drive = point(double, 3)
    single = tuple(block.float() for block in state), drive.float()
    pairs = [*zip(field(*single), double(state, drive), strict=True)]
    pairs.append((field.jacobian(*single), double.jacobian(state, drive)))
    if field.energy_law is not None:
        pairs.append((field.energy(*single), double.energy(state, drive)))
    for found, expected in pairs:
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@ALL
def test_tensors_go_out_and_come_back(name: str):
    field = make(name)
    state, drive = point(field, 3)
    tensors = field.tensors()
    assert set(field.weights) == set(tensors)
    again = field.with_tensors(tensors)
    assert again is not field and type(again) is type(field)
    assert all(torch.equal(a, b) for a, b in zip(again(state, drive), field(state, drive), strict=True))
    doubled = field.with_tensors({key: 2 * value for key, value in tensors.items()})
    assert not torch.equal(torch.cat(doubled(state, drive)), torch.cat(field(state, drive)))
    assert all(torch.equal(getattr(doubled, key), 2 * value) for key, value in tensors.items())


@ALL
def test_gradients_reach_every_weight_through_the_field_and_its_jacobian(name: str):
    field = make(name)
    field = field.with_tensors({key: value.requires_grad_() for key, value in field.tensors().items()})
    state, drive = point(field, 3)
    weights = list(field.tensors().values())
    through_value = torch.autograd.grad(sum(block.square().sum() for block in field(state, drive)), weights)
    through_jacobian = torch.autograd.grad(field.jacobian(state, drive).square().sum(), weights)
    assert all(bool(g.any()) for g in (*through_value, *through_jacobian))


@ALL
def test_a_field_is_frozen(name: str):
    field = make(name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(field, field.weights[0], torch.zeros(()))


@ALL
def test_initial_weights_come_from_the_generator_and_have_the_dtype_asked_for(name: str):
    def draw(seed: int) -> Field:
        generator = torch.Generator().manual_seed(seed)
        return fields.get(name).random(HIDDEN, **HYPERPARAMETERS[name], generator=generator, dtype=torch.float32)

    first, same, other = draw(0), draw(0), draw(1)
    for weight in first.weights:
        assert getattr(first, weight).dtype == torch.float32
        assert torch.equal(getattr(first, weight), getattr(same, weight))
        assert not torch.equal(getattr(first, weight), getattr(other, weight))


def everything(field: Field, state: State, drive: Tensor) -> tuple[Tensor, ...]:
    energy = () if field.energy_law is None else (field.energy(state, drive),)
    return *field(state, drive), field.jacobian(state, drive), *energy


@pytest.mark.parametrize("name", spread(fields.names(), 3))
def test_a_field_made_and_evaluated_inside_a_compiled_function_is_one_graph(name: str):
    field = make(name)
    state, drive = point(field, 3)
    torch._dynamo.reset()  # it gives up on a function that it has compiled for eight fields

    @torch.compile(fullgraph=True, backend="eager")
    def compiled(weights: dict[str, Tensor]) -> tuple[Tensor, ...]:
        return everything(field.with_tensors(weights), state, drive)

    for found, value in zip(compiled(field.tensors()), everything(field, state, drive), strict=True):
        torch.testing.assert_close(found, value, rtol=1e-14, atol=1e-14)


# What single fields promise.


def test_the_antisymmetric_energy_falls_at_the_rate_gamma_sigma_squared():
    field = make("antisymmetric")
    state, drive = point(field, 50)
    rate, tolerance = energy_rate(field, state, drive)
    expected = -0.3 * (field(state, drive)[0] ** 2).sum(-1)
    assert bool(((rate - expected).abs() <= tolerance).all())


def test_without_diffusion_the_antisymmetric_energy_is_conserved():
    field = dataclasses.replace(make("antisymmetric"), gamma=0.0)
    rate, tolerance = energy_rate(field, *point(field, 50))
    assert bool((rate.abs() <= tolerance).all())


def test_the_energy_of_the_antisymmetric_field_has_no_sign_along_the_gated_one():
    gated = dataclasses.replace(make("gated_antisymmetric"), gamma=0.05)
    plain = fields.Antisymmetric(gated.W, 0.05)
    state, drive = point(gated, 200)
    sigma = plain(state, drive[..., :HIDDEN])[0]
    rate = ((sigma @ plain.A) * gated(state, drive)[0]).sum(-1)
    assert bool((rate > 0.01).any()) and bool((rate < -0.01).any())


def test_the_potential_of_the_monotone_field_falls_at_the_rate_of_its_speed_squared():
    field = make("monotone")
    state, drive = point(field, 50)
    rate, tolerance = energy_rate(field, state, drive)
    assert bool(((rate + (field(state, drive)[0] ** 2).sum(-1)).abs() <= 2 * tolerance).all())


def test_velocity_and_force_of_the_separable_field_are_the_derivatives_of_its_energy():
    field = make("separable_hamiltonian")
    (y, z), drive = point(field, 20)
    y.requires_grad_(), z.requires_grad_()
    dy, dz = torch.autograd.grad(field.energy((y, z), drive).sum(), (y, z))
    torch.testing.assert_close(field.velocity(z), dz, rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(field.force(y, drive), -dy, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["antisymmetric", "monotone", "separable_hamiltonian"])
def test_energies_are_sums_of_log_cosh(name: str):
    field = make(name)
    state, drive = point(field, 5)
    matrix = (field.A if name == "antisymmetric" else field.K).numpy()
    arguments = [state[0].numpy() @ matrix.T + drive.numpy()]
    if name == "separable_hamiltonian":
        arguments.append(state[1].numpy() @ field.L.numpy().T)
    expected = sum((np.logaddexp(a, -a) - math.log(2)).sum(-1) for a in arguments)
    np.testing.assert_allclose(field.energy(state, drive).numpy(), expected, rtol=1e-13)


def test_energies_do_not_overflow_far_out():
    for name in ("antisymmetric", "monotone", "separable_hamiltonian"):
        field = make(name)
        state, drive = point(field)
        assert bool(field.energy(tuple(1e5 * block for block in state), drive).isfinite())


def test_the_skew_linear_jacobian_is_one_matrix_seen_by_all_samples():
    field = make("skew_linear")
    jacobian = field.jacobian(*point(field, 7, 5))
    assert jacobian.stride()[:2] == (0, 0) and jacobian.data_ptr() == field.S.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_skew_part_is_skew_to_the_last_digit_and_evaluated_once(dtype: torch.dtype):
    for name in ("antisymmetric", "skew_linear"):
        field = make(name, dtype=dtype)
        assert torch.equal(field.S, -field.S.mT)
        assert field.S is field.S
    assert field.with_tensors({"W": 2 * field.W}).S is not field.S


def test_the_gated_field_is_the_plain_one_where_the_gate_is_open():
    gated = make("gated_antisymmetric")
    state, drive = point(gated, 5)
    drive[..., HIDDEN:] = 100.0
    plain = fields.Antisymmetric(gated.W, gated.gamma)
    torch.testing.assert_close(gated(state, drive)[0], plain(state, drive[..., :HIDDEN])[0], rtol=1e-14, atol=1e-15)


def test_a_gated_drive_of_another_size_is_refused():
    gated = make("gated_antisymmetric", hidden=1)
    with pytest.raises(RuntimeError, match="split"):
        gated((torch.zeros(1, dtype=torch.float64),), torch.zeros(1, dtype=torch.float64))


# Planted lies: each is refuted by the check that is there for it.


class _JacobianOfTheOtherSign(fields.Monotone):
    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        return -super().jacobian(state, drive)


class _TransposedJacobian(fields.Antisymmetric):
    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        return super().jacobian(state, drive).mT


class _ForgottenGateSlope(fields.GatedAntisymmetric):
    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        (y,) = state
        x, x_g = drive.chunk(2, -1)
        gate, force = torch.sigmoid(y @ self.A.mT + x_g), torch.tanh(y @ self.A.mT + x)
        return (gate * (1 - force**2)).unsqueeze(-1) * self.A


class _ForgottenDamping(fields.CoupledOscillator):
    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        return dataclasses.replace(fields.CoupledOscillator(*self.tensors().values(), self.gamma, 0.0)).jacobian(
            state, drive
        )


class _ConservedForeverAntisymmetric(fields.Antisymmetric):
    energy_law = "conserved"


class _EnergyOfTheNegativeFlow(fields.Monotone):
    def energy(self, state: State, drive: Tensor) -> Tensor:
        return -super().energy(state, drive)


class _DampedHamiltonian(fields.SeparableHamiltonian):
    """A damping −z/10: odd in z where reversibility and the energy law need none."""

    def __call__(self, state: State, drive: Tensor) -> State:
        velocity, force = super().__call__(state, drive)
        return velocity, force - 0.1 * state[1]


class _UndriftedHamiltonian(fields.SeparableHamiltonian):
    """A velocity that is not odd."""

    def velocity(self, z: Tensor) -> Tensor:
        return super().velocity(z) + 0.1


class _ReversibleNetwork(fields.CoupledOscillator):
    is_reversible = True


class _SeparableNetwork(fields.CoupledOscillator):
    is_separable = True


class _LinearMonotone(fields.Monotone):
    is_linear = True


class _UnnoticedLinear(fields.SkewLinear):
    is_linear = False


class _CoupledOscillators(fields.Oscillator):
    couples_neurons = True


class _UncoupledNetwork(fields.SkewLinear):
    couples_neurons = False


class _ForgottenLinearPart(fields.Semilinear):
    def dense_form(self) -> DenseForm:
        return DenseForm(self.W)


class _LostForm(fields.Monotone):
    def __call__(self, state: State, drive: Tensor) -> State:
        return super().__call__(state, drive)


PLANTED = [
    (_ForgottenLinearPart, "dense form"),
    (_LostForm, "dense form"),
    (_JacobianOfTheOtherSign, "jacobian"),
    (_TransposedJacobian, "jacobian"),
    (_ForgottenGateSlope, "jacobian"),
    (_ForgottenDamping, "jacobian"),
    (_ConservedForeverAntisymmetric, "energy law"),
    (_EnergyOfTheNegativeFlow, "energy law"),
    (_DampedHamiltonian, "energy law"),
    (_DampedHamiltonian, "reversibility"),
    (_UndriftedHamiltonian, "reversibility"),
    (_ReversibleNetwork, "reversibility"),
    (_DampedHamiltonian, "separability"),
    (_SeparableNetwork, "separability"),
    (_LinearMonotone, "linearity"),
    (_UnnoticedLinear, "linearity"),
    (_CoupledOscillators, "coupling"),
    (_UncoupledNetwork, "coupling"),
]


@pytest.mark.parametrize(("planted", "check"), PLANTED, ids=lambda p: p if isinstance(p, str) else p.__name__)
def test_a_planted_lie_is_refuted(planted: type[Field], check: str):
    honest = planted.__mro__[1]
    name = next(name for name in fields.names() if fields.get(name) is honest)
    field = make(name)
    CHECKS[check](field)
    attributes = {item.name: getattr(field, item.name) for item in dataclasses.fields(field)}
    with pytest.raises(AssertionError):
        CHECKS[check](planted(**attributes))


def test_a_field_with_another_right_hand_side_does_not_inherit_the_form():
    assert _DampedHamiltonian.dense_form is _UndriftedHamiltonian.dense_form is Field.dense_form
    assert _JacobianOfTheOtherSign.dense_form is Field.dense_form
    assert _EnergyOfTheNegativeFlow.dense_form is fields.Monotone.dense_form


def test_every_check_refutes_a_planted_lie():
    assert {check for _, check in PLANTED} == set(CHECKS)


# The registry.


def test_names_are_those_of_the_classes_and_attributes_are_the_classes():
    assert [fields.get(name).__name__ for name in fields.names()] == [
        "Antisymmetric",
        "CoupledOscillator",
        "GatedAntisymmetric",
        "LinearOscillator",
        "Monotone",
        "Oscillator",
        "Semilinear",
        "SeparableHamiltonian",
        "SkewLinear",
    ]
    for name in fields.names():
        assert getattr(fields, fields.get(name).__name__) is fields.get(name)
        assert fields.get(name).__name__ in dir(fields)


def test_an_unknown_field_is_answered_with_the_nearest_name():
    with pytest.raises(KeyError, match='Did you mean "antisymmetric"'):
        fields.get("antisymetric")
    with pytest.raises(KeyError, match="There are: antisymmetric, "):
        fields.get("xyz")
    with pytest.raises(AttributeError, match="It offers: Antisymmetric"):
        _ = fields.LSTM


def test_the_table_of_the_package_lists_every_field():
    rows = re.findall(r"^([A-Z]\w+) +y' = ", fields.__doc__ or "", flags=re.MULTILINE)
    assert sorted(rows) == [fields.get(name).__name__ for name in fields.names()]


def test_importing_the_package_imports_no_field_and_no_torch():
    probe = (
        "import sys, odernn.fields\n"
        "found = [m for m in sys.modules if m == 'torch' or m.startswith('odernn.fields.')]\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True)


# What the constructors refuse.

SQUARE, WIDE, VECTOR = torch.zeros(3, 3), torch.zeros(2, 3), torch.zeros(3)
REFUSED = {
    "W is not square": (lambda: fields.Antisymmetric(WIDE, 0.1), r"W has shape \(2, 3\).*square"),
    "W is a vector": (lambda: fields.SkewLinear(VECTOR), r"W has shape \(3,\).*matrix"),
    "W is empty": (lambda: fields.SkewLinear(torch.zeros(0, 0)), r"W has shape \(0, 0\)"),
    "W is of integers": (lambda: fields.SkewLinear(SQUARE.long()), "W has dtype torch.int64"),
    "gamma < 0": (lambda: fields.Antisymmetric(SQUARE, -0.1), "gamma is -0.1, which is negative"),
    "gamma is not a number": (lambda: fields.GatedAntisymmetric(SQUARE, math.nan), "gamma is nan.*not finite"),
    "gamma is a vector": (lambda: fields.Antisymmetric(SQUARE, VECTOR), r"gamma has shape \(3,\)"),
    "W_z is not square": (lambda: fields.CoupledOscillator(SQUARE, WIDE, 1.0, 1.0), r"W_z has shape \(2, 3\)"),
    "W_z of another size": (
        lambda: fields.CoupledOscillator(SQUARE, torch.zeros(2, 2), 1.0, 1.0),
        "W has 3 columns but W_z has 2",
    ),
    "epsilon < 0": (lambda: fields.CoupledOscillator(SQUARE, SQUARE, 1.0, -1e-9), "epsilon is -1e-09"),
    "epsilon is infinite": (lambda: fields.CoupledOscillator(SQUARE, SQUARE, 1.0, math.inf), "epsilon is inf.*finite"),
    "K is a vector": (lambda: fields.Monotone(VECTOR), r"K has shape \(3,\)"),
    "L of another size": (lambda: fields.SeparableHamiltonian(WIDE, torch.zeros(2, 4)), "K has 3 columns but L has 4"),
    "no neurons": (lambda: fields.Monotone.random(0), "hidden_size is 0"),
    "a fractional size": (lambda: fields.SeparableHamiltonian.random(3, kinetic_size=1.5), "kinetic_size is 1.5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_field_that_cannot_be_is_refused_with_thing_value_and_reason(case: str):
    build, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        build()


def test_weights_that_are_no_tensors_are_refused():
    with pytest.raises(TypeError, match="K is a list, but weights are tensors"):
        fields.Monotone([[1.0]])
