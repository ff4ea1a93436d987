"""``certify`` of an IntegratorRNN, thm-C-field: what one step adds, and states that inputs drive as far as is said."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from odernn import IntegratorRNN, families, fields, tableaus
from odernn.bounds import certify
from odernn.bounds.network import field as certification
from odernn.bounds.network.field import log_at_rest
from odernn.bounds.network.sweeps import NOTHING
from odernn.fields.field import Constants, DenseForm, Field
from odernn.integrators import prepared
from odernn.integrators.guarantees import push_from_rest
from odernn.integrators.responses import StepResponse, step_response, uncoupled_part
from tests.odernn.bounds.small_networks import F64, drawn

METHODS = {
    "implicit midpoint": families.gauss(1),
    "gauss 2": families.gauss(2),
    "radau iia 3": families.radau_iia(3),
    "rk4": tableaus.get("rk4"),
    "stoermer verlet": tableaus.get("stoermer verlet"),
}
UNCOUPLED: dict[str, tuple[Any, dict[str, float]]] = {
    "Oscillator": (fields.Oscillator, {"alpha": 0.7}),
    "CoupledOscillator": (fields.CoupledOscillator, {"gamma": 1.3, "epsilon": 0.2}),
    "SeparableHamiltonian": (fields.SeparableHamiltonian, {}),
    "Antisymmetric": (fields.Antisymmetric, {"gamma": 0.1}),
    "Monotone": (fields.Monotone, {}),
}


def field_of(name: str, hidden: int = 3) -> Field:
    kind, options = UNCOUPLED[name]
    found: Field = kind.random(hidden, **options, generator=drawn(3), dtype=F64)
    return found


def states_bound(network: IntegratorRNN, steps: int) -> tuple[float, str]:
    line = certify(network, input_bound=2000.0, steps=steps).layers[0]["‖X_n‖₂, n ≤ N"]
    assert line.log is not None
    return math.exp(line.log), line.theorem


def test_a_push_from_rest_is_what_one_step_can_do() -> None:
    for method, kind in itertools.product(("rk4", "euler"), (fields.Monotone, fields.Semilinear)):
        field = kind.random(3, generator=drawn(1), dtype=F64)
        network = IntegratorRNN(field, tableaus.get(method), dt=0.2, input_size=3, dtype=F64)
        rest = max(
            float(field((torch.zeros(3, dtype=F64),), x)[0].norm())
            for x in 30 * torch.randn(200, 3, generator=drawn(2), dtype=F64)
        )
        push = push_from_rest(network.layers[0].method, field, 0.2, rest)
        step = network.layers[0].stepper()
        drives = 30 * torch.randn(200, 3, generator=drawn(2), dtype=F64)
        moved = float(step((torch.zeros(200, 3, dtype=F64),), drives)[0].detach().norm(dim=1).max())
        assert push is not None and 0.3 * push < moved <= push
    stiff = fields.Semilinear.random(3, generator=drawn(1), dtype=F64)
    assert push_from_rest(families.gauss(1), stiff, 50.0, 1.0) is None


def test_a_field_at_rest_is_as_large_as_its_bound_under_large_drives_and_no_larger() -> None:
    for kind, options in (
        (fields.Oscillator, {"alpha": 1.3}),
        (fields.Monotone, {}),
        (fields.CoupledOscillator, {"gamma": 1.0, "epsilon": 0.5}),
        (fields.SeparableHamiltonian, {}),
    ):
        field = kind.random(4, **options, generator=drawn(1), dtype=F64)
        rest = tuple(torch.zeros(4, dtype=F64) for _ in field.blocks)
        drives = 40.0 * torch.tensor(list(itertools.product((-1.0, 1.0), repeat=4)), dtype=F64)
        largest = max(float(torch.cat(field(rest, x)).norm()) for x in drives)
        bound = math.exp(log_at_rest(field))
        assert 0.25 * bound < largest <= bound, kind
        if kind is fields.Oscillator:
            assert largest > (1 - 1e-9) * bound  # every neuron is pushed by 1


# --- (b): a step is linear in the state and in what activations add


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps_differ", [False, True])
def test_a_response_is_what_a_step_does_with_saturated_stages(method: str, steps_differ: bool) -> None:
    """tanh is ±1 to all digits, of any sign in each stage: the step itself, by the solver of the library."""
    field = field_of("Oscillator")
    h = torch.tensor([0.2, 0.11, 0.3] if steps_differ else [0.2] * 3, dtype=F64)
    L = uncoupled_part(field.dense_form(), 2)
    assert L is not None
    response = step_response(METHODS[method], field, L, h.numpy())
    assert response is not None
    step = prepared(METHODS[method], field, h)
    stages = response.added.shape[2] // 2
    for signs in itertools.product((-1.0, 1.0), repeat=stages):
        y, z = torch.randn(2, 3, generator=drawn(1), dtype=F64)
        found = torch.stack(step((y, z), [torch.full((3,), 60.0 * sign, dtype=F64) for sign in signs]).state)
        for i in range(3):
            expected = response.state[i] @ [float(y[i]), float(z[i])] - response.added[i][:, stages:] @ signs
            assert found[:, i].numpy() == pytest.approx(expected, rel=1e-9, abs=1e-10)
    assert (response.state_error < 1e-15).all() and (response.added_error < 1e-15).all()


def resonant(network: IntegratorRNN, steps: int) -> Tensor:
    """Inputs ±2000 whose signs push along one of 32 directions at the last step, (steps, 32, 1)."""
    layer = network.layers[0]
    field = layer.field.value()
    R, stages = response_of(layer, field)
    if len(field.blocks) == 1:
        return torch.full((steps, 1, 1), 2000.0, dtype=F64)
    signs = np.empty((steps, 32, 1))
    for place, angle in enumerate(np.linspace(0, math.pi, 32, endpoint=False)):
        seen = np.array([math.cos(angle), math.sin(angle)])
        for n in reversed(range(steps)):
            signs[n, place] = np.sign(seen @ stages)
            seen = seen @ R
    return torch.tensor(2000.0 * signs)


def response_of(layer: Any, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """R and Σ P_i of the first neuron, from what one step does: x' = L x + v, v in the last block."""
    L = uncoupled_part(field.dense_form(), len(field.blocks))
    assert L is not None
    response = step_response(layer.method, field, L, np.full(L.shape[2], float(layer.step_sizes().max())))
    assert response is not None
    return response.state[0], response.added[0].reshape(len(L), len(L), -1)[:, -1].sum(axis=1)


def driven_alike(name: str, method: str, *, learn_steps: bool = False) -> IntegratorRNN:
    network = IntegratorRNN(
        field_of(name), METHODS[method], dt=0.2, input_size=1, learn_steps=learn_steps, dtype=F64, generator=drawn(4)
    )
    with torch.no_grad():
        network.layers[0].V.copy_(torch.tensor([[1.0], [1.2], [0.8]]))
    return network


def share_reached(network: IntegratorRNN, steps: int) -> float:
    bound, _ = states_bound(network, steps)
    with torch.no_grad():
        _, state = network(resonant(network, steps))
    blocks = state if isinstance(state, tuple) else (state,)
    return float(torch.cat(blocks, -1).norm(dim=-1).max()) / bound


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps", [1, 6, 40])
def test_saturated_inputs_drive_an_oscillator_as_far_as_is_said(method: str, steps: int) -> None:
    """By (a) it was a third of the line for 6 steps, and 10⁻⁵ of it for 40."""
    assert 0.985 < share_reached(driven_alike("Oscillator", method), steps) <= 1.0


@pytest.mark.parametrize("steps", [300, 900, 2000])
def test_growing_steps_drive_an_oscillator_as_far_as_is_said_however_many_they_are(steps: int) -> None:
    """Explicit Euler: beyond 700 steps the line was 10¹³⁰ times what inputs reach."""
    network = driven_alike("Oscillator", "rk4")
    layer = network.layers[0]
    layer.method, layer.inputs = tableaus.EULER, "hold"
    assert 0.98 < share_reached(network, steps) <= 1.0


@pytest.mark.parametrize(
    ("name", "least"),
    [("CoupledOscillator", 0.98), ("Antisymmetric", 0.99), ("SeparableHamiltonian", 0.6), ("Monotone", 0.8)],
)
def test_other_fields_are_driven_no_further(name: str, least: float) -> None:
    """As far as is said where activations see the drive and nothing else counts; V saturates all of them."""
    for method, steps in itertools.product(METHODS, (1, 30)):
        if len(field_of(name).blocks) == 1 and method == "stoermer verlet":  # a pair of methods is for two blocks
            continue
        assert least < share_reached(driven_alike(name, method), steps) <= 1.0, (method, steps)


def test_neurons_with_steps_of_their_own_have_a_bound() -> None:
    network = driven_alike("Oscillator", "gauss 2", learn_steps=True)
    h = network.layers[0].step_sizes().detach()
    assert float(h.min()) < float(h.max())
    assert 0.9 < share_reached(network, 6) <= 1.0


def test_of_two_bounds_the_smaller_one_is_said() -> None:
    """Contraction on a monotone field knows the norm of U; few activations and one step leave (a) the smaller one."""
    wide = fields.Monotone.random(3, drive_size=60, generator=drawn(3), dtype=F64)
    coupled = fields.Semilinear.random(3, generator=drawn(3), dtype=F64)
    assert uncoupled_part(coupled.dense_form(), 1) is None
    for field, theorem in ((wide, "thm-C-field (b)"), (coupled, "thm-C-field (a)")):
        network = IntegratorRNN(field, families.gauss(1), dt=0.05, input_size=1, dtype=F64)
        assert states_bound(network, 5)[1] == theorem


@dataclass(frozen=True, eq=False)
class Turning(Field):
    """(y, z)' = (z, −y) + U tanh(W (y, z) + x), U = 0: activations play no part."""

    blocks: ClassVar[tuple[str, ...]] = ("y", "z")
    weights: ClassVar[tuple[str, ...]] = ("W",)

    W: Tensor  # (hidden, 2 hidden)

    @property
    def hidden_size(self) -> int:
        return len(self.W)

    def __call__(self, state: tuple[Tensor, ...], drive: Tensor) -> tuple[Tensor, ...]:
        y, z = state
        return z + 0 * drive, -y

    def jacobian(self, state: tuple[Tensor, ...], drive: Tensor) -> Tensor:
        return self._turn().expand(*state[0].shape[:-1], -1, -1)

    def _turn(self) -> Tensor:
        return torch.kron(self.W.new_tensor([[0.0, 1.0], [-1.0, 0.0]]), torch.eye(self.hidden_size, dtype=self.W.dtype))

    def dense_form(self) -> DenseForm:
        return DenseForm(self.W, U=torch.zeros_like(self.W.mT), L=self._turn())

    def constants(self) -> Constants:
        return Constants(lipschitz=1.0, one_sided_lipschitz=0.0, cocoercivity=None)


def test_states_that_nothing_drives_stay_at_rest() -> None:
    """X_0 = 0, and so is X_n = Rⁿ X_0; the least line that certify has, as for L = 0."""
    network = IntegratorRNN(
        Turning(torch.randn(2, 4, generator=drawn(1), dtype=F64)), families.gauss(1), dt=0.1, input_size=1, dtype=F64
    )
    line = certify(network, input_bound=1.0, steps=5).layers[0]["‖X_n‖₂, n ≤ N"]
    assert line.log == NOTHING
    _, state = network(torch.randn(5, 1, 1, generator=drawn(2), dtype=F64))
    assert all(not block.any() for block in state)


def _shortened(response: StepResponse) -> StepResponse:
    return replace(response, added=0.98 * response.added)


def _without_the_last(sums: Any) -> Any:
    return lambda M, kick, steps, **given: sums(M, kick, steps - 1, **given)


def test_a_step_that_grows_without_end_has_a_finite_line_or_says_why() -> None:
    """1 + h²κ/2 a step and more: sums beyond the largest float, and coefficients that are."""
    for alpha, steps in ((50.0, 3000), (1e38, 9)):
        field = fields.Oscillator(torch.ones(3, dtype=F64), alpha=alpha)
        line = certify(
            IntegratorRNN(field, tableaus.EULER, dt=0.5, input_size=1, dtype=F64), input_bound=1.0, steps=steps
        ).layers[0]["‖X_n‖₂, n ≤ N"]
        assert math.isfinite(line.log) if line.log is not None else "no theorem" in line.about


FAULTS: dict[str, dict[str, Any]] = {
    "the last response is lost": {"response_sums": _without_the_last(certification.response_sums)},
    "a step adds less": {"step_response": lambda *arguments: _shortened(step_response(*arguments))},
    "only two directions are looked at": {"DIRECTIONS": 2, "between": lambda directions: 1.0},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, planted in FAULTS[fault].items():
        monkeypatch.setattr(certification, name, planted)
    assert share_reached(driven_alike("Oscillator", "gauss 2"), 6) > 1.0


def test_fields_that_oscillate_with_their_input_have_no_bound_at_rest() -> None:
    network = IntegratorRNN(
        fields.LinearOscillator(torch.ones(2, dtype=F64)), tableaus.get("rk4"), dt=0.1, input_size=1, dtype=F64
    )
    lines = certify(network, input_bound=1.0, steps=3).layers[0]
    assert "as large as its input" in lines["‖X_n‖₂, n ≤ N"].about
    assert lines["‖∂X_N/∂X_1‖₂, X = (y, z)"].log is not None
