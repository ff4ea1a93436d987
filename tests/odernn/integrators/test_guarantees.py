"""What method and field are said to imply is never violated by trying, and is sharp where it says so."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from odernn import tableaus
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.arnn_1_2 import ARNN12
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.unicornn import UnICORNN
from odernn.fields.antisymmetric import Antisymmetric
from odernn.fields.hamiltonian import SeparableHamiltonian
from odernn.fields.monotone import Monotone
from odernn.fields.oscillator import Oscillator
from odernn.fields.skew_linear import SkewLinear
from odernn.integrators import prepared
from odernn.integrators.guarantees import circle_contractivity_radius, guarantees_of, order_on_inputs
from odernn.tableaus import families
from odernn.tableaus.tableau import PartitionedTableau
from tests.tiers import spread

F64 = torch.float64
EULER = tableaus.get("euler")


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def steps(method, field, h, states: torch.Tensor, drive: torch.Tensor) -> torch.Tensor:
    """One step of every state (batch, blocks · hidden)."""
    blocks = states.split(field.hidden_size, dim=-1)
    with torch.no_grad():
        return torch.cat(prepared(method, field, h)(tuple(blocks), drive).state, dim=-1)


def largest_ratio(method, field, h, scales=(1e-3, 0.1, 1.0, 10.0, 100.0)) -> float:
    """The largest ‖Δx₁‖/‖Δx₀‖ over pairs near and far, in ‖x‖² = Σ x_i²/h_i."""
    size = field.hidden_size * len(field.blocks)
    h = torch.as_tensor(h, dtype=F64)
    weight = (1.0 / h).expand(field.hidden_size).repeat(len(field.blocks)).sqrt()
    worst = 0.0
    for k, scale in enumerate(scales):
        drive = normal(1, field.drive_size, seed=90 + k).expand(200, -1)
        x = normal(200, size, seed=k, scale=3.0)
        other = x + normal(200, size, seed=50 + k, scale=scale)
        moved = steps(method, field, h, x, drive) - steps(method, field, h, other, drive)
        worst = max(worst, float(((moved * weight).norm(dim=1) / ((x - other) * weight).norm(dim=1)).max()))
    return worst


BN_STABLE = {
    "implicit euler": tableaus.IMPLICIT_EULER,
    "implicit midpoint": tableaus.IMPLICIT_MIDPOINT,
    "gauss 2": families.gauss(2),
    "gauss 3": families.gauss(3),
    "radau iia 2": families.radau_iia(2),
    "radau iia 3": families.radau_iia(3),
    "lobatto iiic 3": families.lobatto_iiic(3),
}


@pytest.mark.parametrize(("name", "per_neuron"), spread(itertools.product(BN_STABLE, [False, True]), 4))
def test_bn_stable_methods_contract_on_monotone_fields_at_any_step(name, per_neuron):
    method = BN_STABLE[name]
    h = torch.tensor([0.3, 2.0, 7.0], dtype=F64) if per_neuron else 3.0
    for field in (Monotone(normal(4, 3)), SkewLinear(normal(3, 3))):
        found = guarantees_of(method, field, h)
        assert found["contraction"] and found.solvability.holds in (True, None)
        assert largest_ratio(method, field, h) <= 1.0 + 1e-9
        assert ("Σ xᵢ²/hᵢ" in found.contraction.because) == per_neuron


def test_contraction_is_not_implied_for_methods_that_do_expand():
    field = SkewLinear(normal(3, 3))
    for method in (EULER, tableaus.RK4):
        found = guarantees_of(method, field, 3.0)
        assert found.contraction.holds is None and found.contraction.value >= largest_ratio(method, field, 3.0) > 1.0


@pytest.mark.parametrize(
    ("name", "radius"), [("euler", 1.0), ("rk4", 1.0), ("heun 2", 1.0), ("kutta 3/8", 2 * 3**0.5 - 3)]
)
def test_explicit_methods_contract_on_gradient_fields_up_to_their_circle(name, radius):
    method = tableaus.get(name)
    rho = circle_contractivity_radius(method)
    assert rho == pytest.approx(radius, rel=1e-9)
    field = Monotone(normal(4, 3))
    limit = 2.0 * field.constants().cocoercivity * rho
    inside, outside = guarantees_of(method, field, 0.999 * limit), guarantees_of(method, field, 1.001 * limit)
    assert inside["contraction"] and inside.contraction.margin == pytest.approx(0.001 * limit, rel=1e-6)
    assert outside.contraction.holds is None and outside.contraction.margin < 0.0
    assert largest_ratio(method, field, 0.999 * limit) <= 1.0 + 1e-12
    h = torch.tensor([0.2, 0.7, 0.999], dtype=F64) * limit
    assert guarantees_of(method, field, h)["contraction"] and largest_ratio(method, field, h) <= 1.0 + 1e-12


def test_the_circle_of_explicit_euler_is_sharp():
    """One neuron at rest: y' = −k² tanh(y) has slope −k², and 1 − hk² < −1 beyond h = 2ν."""
    field = Monotone(torch.tensor([[2.0]], dtype=F64))
    nu = field.constants().cocoercivity
    assert nu == pytest.approx(0.25, rel=1e-12)
    near = torch.tensor([[1e-4], [-1e-4]], dtype=F64)
    for factor, contracts in ((0.999, True), (1.001, False)):
        moved = steps(EULER, field, 2.0 * nu * factor, near, torch.zeros(1, 1, dtype=F64))
        assert (float(moved[0] - moved[1]).__abs__() <= 2e-4) == contracts
        assert bool(guarantees_of(EULER, field, 2.0 * nu * factor)["contraction"]) == contracts


@pytest.mark.parametrize("method", [EULER, tableaus.RK4, tableaus.IMPLICIT_MIDPOINT, families.gauss(2)], ids=str)
def test_where_nothing_is_implied_the_growth_factor_is_a_bound(method):
    field = Antisymmetric(normal(3, 3), 0.1)
    for h in (0.01, 0.1, 0.3):
        found = guarantees_of(method, field, h).contraction
        assert found.holds is None and "not known to be monotone" in found.because
        if found.value is not None:
            assert largest_ratio(method, field, h) <= found.value
    assert guarantees_of(method, field, 0.01).contraction.value is not None


def test_the_energy_of_a_skew_field_is_kept_or_lost_as_its_tableau_says():
    field, zero = SkewLinear(normal(3, 3)), torch.zeros(1, 3, dtype=F64)
    h = torch.tensor([0.2, 0.5, 0.9], dtype=F64)
    x = normal(50, 3)
    energy = lambda v: (v**2 / h).sum(dim=1)  # noqa: E731
    for method, law in (
        (tableaus.IMPLICIT_MIDPOINT, "conserved"),
        (families.gauss(3), "conserved"),
        (families.radau_iia(2), "does not increase"),
    ):
        found = guarantees_of(method, field, h).energy
        assert found and law in found.because
        ratio = energy(steps(method, field, h, x, zero)) / energy(x)
        assert float(ratio.max()) <= 1.0 + 1e-12
        assert (float(ratio.min()) >= 1.0 - 1e-12) == (law == "conserved")
    assert guarantees_of(tableaus.RK4, field, h).energy.holds is None


def test_the_energy_of_a_gradient_field_does_not_increase_under_the_euler_methods():
    field = Monotone(normal(4, 3))
    x, drive = normal(200, 3, scale=3.0), normal(1, 4)
    limit = 2.0 * field.constants().cocoercivity
    for method, h in ((tableaus.IMPLICIT_EULER, 50.0), (EULER, limit)):
        assert guarantees_of(method, field, h).energy.holds is True
        after = steps(method, field, h, x, drive)
        assert bool((field.energy((after,), drive) <= field.energy((x,), drive) + 1e-12).all())
    assert guarantees_of(EULER, field, 1.01 * limit).energy.holds is None


HAMILTONIAN = [Oscillator(normal(3), 1.2), SeparableHamiltonian(normal(4, 3), normal(5, 3))]


@pytest.mark.parametrize("field", HAMILTONIAN, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize(
    "name", ["symplectic euler vt", "stoermer verlet", "implicit midpoint", "gauss 2", "rk4", "euler"]
)
def test_structure_is_measured_where_it_is_said(field, name):
    method = families.gauss(2) if name == "gauss 2" else tableaus.get(name)
    h = torch.tensor([0.02, 0.03, 0.05], dtype=F64)
    found = guarantees_of(method, field, h)
    drive = normal(field.drive_size, seed=3)
    step = prepared(method, field, h)

    def flow(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(step((x[None, :3], x[None, 3:]), drive[None]).state, dim=-1)[0]

    x = normal(6, seed=4)
    J = torch.autograd.functional.jacobian(flow, x)
    zero, weight = torch.zeros(3, 3, dtype=F64), torch.diag(1.0 / h)
    form = torch.cat([torch.cat([zero, weight], 1), torch.cat([-weight, zero], 1)])
    symplectic = float((J.T @ form @ J - form).abs().max())
    flip = torch.cat([torch.ones(3, dtype=F64), -torch.ones(3, dtype=F64)])
    reversible = float((flip * flow(flip * flow(x)) - x).abs().max())
    assert (found.symplecticity.holds is True) == (symplectic < 1e-11)
    assert (found.reversibility.holds is True) == (reversible < 1e-11)
    assert found.invertibility.holds is True
    if name in ("symplectic euler vt", "stoermer verlet"):
        assert "is explicit" in found.invertibility.because and found.solvability.because.startswith("explicit")


def test_large_steps_are_not_said_to_be_invertible_or_solvable():
    field = Antisymmetric(normal(3, 3), 0.1)
    found = guarantees_of(tableaus.IMPLICIT_MIDPOINT, field, 50.0)
    assert found.solvability.holds is None and found.solvability.margin < 0.0
    assert found.invertibility.holds is None and found.contraction.value is None
    assert "reports its residual" in found.solvability.because


def test_monotone_stages_are_solvable_for_gauss_and_radau_at_any_step():
    field = Monotone(normal(4, 3))
    for method, diagonal in (
        (families.gauss(2), "> 0 for D = B"),
        (families.gauss(3), "> 0 for D = B"),
        (families.radau_iia(2), "> 0 for D = B"),
        (tableaus.IMPLICIT_MIDPOINT, "aᵢᵢ ≥ 0"),
    ):
        found = guarantees_of(method, field, 1e3).solvability
        assert found and diagonal in found.because


@pytest.mark.parametrize(("rule", "order"), [("hold", 1), ("linear", 2), ("given", 4)])
def test_the_rule_for_inputs_limits_the_order_as_it_says(rule, order):
    """y' = tanh(Ay + Vu(t) + b) for smooth u on [0, 1], against a much finer run with inputs at the stage times."""
    method = tableaus.RK4
    assert order_on_inputs(method, rule) == order

    def signal(t: torch.Tensor) -> torch.Tensor:
        return torch.stack([torch.sin(3 * t), torch.cos(2 * t)], dim=-1)

    def end(n: int, rule: str) -> torch.Tensor:
        net = IntegratorRNN(
            Antisymmetric(normal(3, 3), 0.1),
            method,
            1.0 / n,
            input_size=2,
            inputs=rule,
            generator=torch.Generator().manual_seed(1),
            dtype=F64,
        )
        t = torch.arange(n, dtype=F64) / n
        if rule == "given":
            u = torch.cat([signal(t + float(c) / n) for c in (0.0, 0.5, 0.5, 1.0)], dim=-1)
        else:
            u = signal(t + 1.0 / n)
        extra = {"previous_input": signal(torch.zeros(1, dtype=F64))} if rule == "linear" else {}
        with torch.no_grad():
            return net(u[:, None], **extra)[1][0, 0]

    exact = end(640, "given")
    errors = [float((end(n, rule) - exact).norm()) for n in (10, 20, 40)]
    slopes = [math.log2(a / b) for a, b in itertools.pairwise(errors)]
    assert all(abs(slope - order) < 0.25 for slope in slopes), slopes


def test_a_layer_states_its_guarantees_for_the_weights_as_they_are_now():
    net = IntegratorRNN(Monotone(normal(4, 3)), EULER, 0.1, input_size=2, num_layers=2, dtype=F64)
    first, second = net.guarantees()
    assert first["contraction"] and second["contraction"]
    text = str(first)
    for word in ("contraction: yes", "order: 1", "solvability: yes", "symplecticity: not implied"):
        assert word in text
    with torch.no_grad():
        net.layers[0].field.K.mul_(10.0)
    assert net.guarantees()[0].contraction.holds is None and net.guarantees()[1]["contraction"]


@pytest.mark.parametrize("rule", ["linear", "given"])
def test_what_holds_at_one_drive_is_not_implied_for_stages_that_see_several(rule):
    """Störmer–Verlet on the reversible oscillator, measured with a drive that changes within the step."""
    field, h = Oscillator(torch.ones(1, dtype=F64), 1.0), 0.3
    found = guarantees_of(tableaus.STOERMER_VERLET, field, h, inputs=rule)
    assert found.reversibility.holds is None and "in reverse" in found.reversibility.because
    step = prepared(tableaus.STOERMER_VERLET, field, h)
    one = torch.ones(1, 1, dtype=F64)
    drives = [float(i) * one for i in range(len(step.stage_times))]
    y, z = step((0.4 * one, -0.7 * one), drives).state
    y, z = step((y, -z), drives).state
    assert abs(float(y) - 0.4) + abs(float(z) - 0.7) > 1e-3
    assert guarantees_of(tableaus.IMPLICIT_EULER, Monotone(normal(4, 3)), h, inputs=rule).energy.holds is None


def test_reversibility_is_not_implied_where_the_stages_may_have_several_solutions():
    field = Oscillator(torch.tensor([-2.0, 1.0, 3.0], dtype=F64), 0.7)
    found = guarantees_of(tableaus.IMPLICIT_MIDPOINT, field, 2.0)
    assert found.solvability.holds is None and found.reversibility.holds is None
    assert "on each branch" in found.symplecticity.because
    assert guarantees_of(tableaus.IMPLICIT_MIDPOINT, field, 0.2)["reversibility"]


@pytest.mark.parametrize("name", ["dop853", "dormand prince 8(7)", "fehlberg 7(8)", "rk4"])
@pytest.mark.parametrize("h", [0.1, 4.0])
def test_growth_factors_of_long_explicit_methods_are_bounds(name, h):
    field = Antisymmetric(5.0 * normal(3, 3), 0.1)
    found = guarantees_of(tableaus.get(name), field, h).contraction
    assert found.holds is None and found.value >= max(1.0, largest_ratio(tableaus.get(name), field, h))


@pytest.mark.parametrize("step_size", [0.0, -0.1, math.nan, math.inf, torch.tensor([0.1, -0.1, 0.1])])
def test_steps_that_are_none_are_refused(step_size):
    with pytest.raises(ValueError, match=r"step_size has the value .* finite h > 0"):
        guarantees_of(EULER, Monotone(normal(4, 3)), step_size)


@pytest.mark.parametrize("every_so_many", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_every_method_says_something_about_every_field_without_failing(every_so_many):
    """Degenerate weights, too: a field that does not depend on the state, and one that is very steep."""
    every = [
        Monotone(normal(4, 3)),
        Monotone(torch.zeros(4, 3, dtype=F64)),
        Monotone(1e80 * normal(4, 3)),
        SkewLinear(normal(3, 3)),
        Antisymmetric(normal(3, 3), 0.1),
        *HAMILTONIAN,
    ]
    asked = 0
    names = tableaus.names()[::every_so_many]
    for name in names:
        for field in every[:2] if tableaus.get(name).stages > 8 else every:
            method = tableaus.get(name)
            if isinstance(method, PartitionedTableau) and len(field.blocks) == 1:
                continue
            found = guarantees_of(method, field, 0.1)
            value = found.contraction.value
            assert value is None or (math.isfinite(value) and value >= 1.0), (name, field)
            asked += 1
    assert asked > 5 * len(names) > 0
    assert guarantees_of(EULER, every[1], 0.1)["contraction"]


def test_named_cells_state_what_their_field_and_method_imply():
    """UnICORNN: shears, hence invertible and symplectic. AntisymmetricRNN: not contractive, whatever γ."""
    (found,) = UnICORNN(2, 5, dt=0.3, alpha=1.2).guarantees()
    assert found["invertibility"] and found["symplecticity"] and "dzᵢ / hᵢ" in found.symplecticity.because
    assert found.reversibility.holds is None  # symplectic Euler is not symmetric
    for gated in (False, True):
        (found,) = AntisymmetricRNN(2, 5, dt=0.1, gamma=3.0, gated=gated).guarantees()
        assert found.contraction.holds is None and found.contraction.value > 1.0
    with pytest.raises(NotImplementedError, match="ARNN12Layer is not one of the library's fields"):
        ARNN12(2, 3, dt=0.1).guarantees()


# --- sensitivity to the drive


ONE_STAGE = {"implicit midpoint": tableaus.IMPLICIT_MIDPOINT, "implicit euler": tableaus.IMPLICIT_EULER}


def moved_by_drives(method, field, h, count: int = 12) -> float:
    """The largest ‖Δx_N‖ / Σ ‖Δdrive_n‖ of runs from one state, drives near and far."""
    worst = 0.0
    for scale in (1e-3, 1.0, 30.0):
        x = other = normal(200, field.hidden_size, seed=1, scale=2.0)
        total = torch.zeros(200, dtype=F64)
        for n in range(count):
            drive = normal(200, field.drive_size, seed=n, scale=2.0)
            change = normal(1, field.drive_size, seed=99, scale=scale) if n % 3 else 0 * drive[:1]
            x, other = steps(method, field, h, x, drive), steps(method, field, h, other, drive + change)
            total += change.norm(dim=1)
            worst = max(worst, float(((x - other).norm(dim=1) / total.clamp(min=1e-300)).max()))
    return worst


@pytest.mark.parametrize("per_neuron", [False, True])
@pytest.mark.parametrize("name", ONE_STAGE)
def test_drives_move_states_by_no_more_than_is_said(name: str, per_neuron: bool) -> None:
    h = torch.tensor([0.9, 0.05, 0.4], dtype=F64) if per_neuron else 0.4
    for field in (Monotone(normal(4, 3)), SkewLinear(normal(3, 3)), SkewLinear(0 * normal(3, 3))):
        certificate = guarantees_of(ONE_STAGE[name], field, h).sensitivity
        assert certificate.holds and "from one state" in certificate.because
        found = moved_by_drives(ONE_STAGE[name], field, h)
        assert found <= certificate.value * (1 + 1e-6)
        if isinstance(field, SkewLinear) and not per_neuron and not field.S.any():
            assert found > 0.999 * certificate.value  # attained where the field does not see the state


def test_sensitivity_is_not_implied_by_stability_alone_nor_without_a_constant_of_the_drive() -> None:
    monotone = Monotone(normal(4, 3))
    for method, words in (
        (families.gauss(2), "no theorem here on perturbed drives"),
        (EULER, "has its stage at a = 0"),
        (tableaus.SYMPLECTIC_EULER, "no theorem here on perturbed drives"),
    ):
        certificate = guarantees_of(method, monotone, 0.1).sensitivity
        assert certificate.holds is None and certificate.value is None and words in certificate.because
    rough = guarantees_of(tableaus.IMPLICIT_EULER, Antisymmetric(normal(3, 3), 0.1), 0.1).sensitivity
    assert rough.holds is None and "not known to be monotone" in rough.because

    class Doubled(SkewLinear):
        """Sees twice the drive: it does not inherit the constant."""

        def __call__(self, state, drive):
            return super().__call__(state, 2 * drive)

    unknown = guarantees_of(tableaus.IMPLICIT_EULER, Doubled(normal(3, 3)), 0.1).sensitivity
    assert unknown.holds is None and "Doubled" in unknown.because
