"""What a method and a field together imply for the weights as they are now, each with the theorem and a margin.

A property of the tableau (exact, from its certificate) and a property of the field (a constant of its weights, rounded
to the safe side) imply a property of the step for every input and every pair of states. Where they do not, the answer
is ``None``: nothing is implied, which is not the same as a violation.

With one step h_i a neuron the field is x' = H f(x), H = diag(h_i), and norms are ‖x‖² = Σ x_i²/h_i: monotone f stays
monotone there, Hamiltonian f is Hamiltonian for Σ dy_i ∧ dz_i / h_i, and Runge–Kutta methods commute with the scaling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from flint import fmpq
from torch import Tensor

from odernn.certificate import Certificate
from odernn.exact.algebraic import nearest_float, sign
from odernn.exact.linear_algebra import Rows, diagonalise, entrywise, inverse, transposed
from odernn.fields.field import Constants, Field
from odernn.properties.algebraic_stability import burrage_butcher
from odernn.properties.nonlinear_stability import bn_stability
from odernn.properties.order import order
from odernn.properties.symmetry import adjoint, symmetry
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.methods import Method, about_given, form_of, in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

InputRule: TypeAlias = Literal["hold", "linear", "given"]

_INPUT_ORDERS: dict[str, int | None] = {"hold": 1, "linear": 2, "given": None}
SOLVABLE = "where its stage equations have a solution"
ROUNDING = 2.0**-40
"""Relative allowance, far above what the few float64 operations behind a factor can lose."""


@dataclass(frozen=True)
class Guarantees:
    """One certificate a property; ``if guarantees["contraction"]:`` asks whether it is known to hold.

    contraction    ‖Δx_n‖ ≤ ‖Δx_{n−1}‖ for any two states and the same inputs; margin: in units of the step size, how
                   much larger h may be; value, where it is not implied: a factor by which states at most move apart
    sensitivity    two runs from one state have ‖Δx_N‖ ≤ value · Σ_n ‖Δdrive_n‖, of what the stages see: thm-in of
                   docs/derivations/nonexpansive.md
    solvability    the stage equations have one solution for every state and input; margin: 1 − h L ‖|A|‖
    energy         the energy of the field, at the drive of the step, is conserved or does not increase in it
    symplecticity  the step preserves Σ dy_i ∧ dz_i (/ h_i), on each branch if its equations have several solutions
    reversibility  ρ Φ ρ = Φ⁻¹ for ρ(y, z) = (y, −z), at the same drive
    invertibility  Φ has an inverse; margin: 1 − h L ‖|A*|‖ of the adjoint method, or none needed
    order          of the step on smooth inputs sampled at t_n
    """

    contraction: Certificate
    sensitivity: Certificate
    solvability: Certificate
    energy: Certificate
    symplecticity: Certificate
    reversibility: Certificate
    invertibility: Certificate
    order: Certificate

    def __getitem__(self, name: str) -> Certificate:
        certificate: Certificate = getattr(self, name)
        return certificate

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "not implied"}
        certificates = [getattr(self, name) for name in self.__dataclass_fields__]
        answers = [words[c.holds] if c.value is None or c.holds is None else c.value for c in certificates]
        return "\n".join(
            f"{c.property}: {answer}; {c.because}" for c, answer in zip(certificates, answers, strict=True)
        )


def order_on_inputs(method: Method, inputs: InputRule) -> int:
    """The order of a method whose stages see the input by this rule: at most 1 for "hold", 2 for "linear"."""
    p: int = order(method).value
    limit = _INPUT_ORDERS[inputs]
    return p if limit is None else min(p, limit)


@torch.no_grad()
def guarantees_of(method: Method, field: Field, step_size: Tensor | float, *, inputs: InputRule = "hold") -> Guarantees:
    """What ``method`` on ``field`` with step h, a number or one a neuron, is known to do for inputs by this rule.

    Raises ValueError for a step that is not finite and positive, and for weights that are not finite.
    """
    constants = field.constants()
    steps = torch.as_tensor(step_size, dtype=torch.float64).detach()
    if not bool(torch.isfinite(steps).all() and (steps > 0.0).all()):
        raise ValueError(
            f"step_size has the value {float(steps.min())}, but what is known about a step is known for finite h > 0. "
            "For a step backwards ask about odernn.adjoint(method)."
        )
    h, per_neuron = float(steps.max()), bool(steps.numel() > 1 and (steps != steps.flatten()[0]).any())
    table = in_stages(method)
    solvable = _solvability(table, field, constants, h)
    return Guarantees(
        contraction=_contraction(table, constants, h, solvable, per_neuron),
        sensitivity=_sensitivity(table, field, constants, h),
        solvability=solvable,
        energy=_energy(table, field, constants, h, per_neuron, inputs),
        symplecticity=_symplecticity(table, field, solvable, per_neuron),
        reversibility=_reversibility(table, field, solvable, inputs),
        invertibility=_invertibility(table, field, constants, h),
        order=_order(method, inputs),
    )


# --- contraction


def _contraction(
    method: Method, constants: Constants, h: float, solvable: Certificate, per_neuron: bool
) -> Certificate:
    """BN-stability on a monotone field, or circle contractivity on a cocoercive one, or a bound on the growth.

    For Δ two solutions, thm-E gives ‖Δx₁‖² = ‖Δx₀‖² + 2h Σ b_i ⟨ΔY_i, Δk_i⟩ − h² Σ m_ij ⟨Δk_i, Δk_j⟩. If the field is
    monotone and b ≥ 0, M ≥ 0, nothing grows (Burrage, Butcher 1979). If ⟨ΔY, Δk⟩ ≤ −ν ‖Δk‖², it suffices that
    M + (2ν/h) diag(b) ≥ 0 (Dahlquist, Jeltsch 1979; 2006): explicit Euler on a gradient field of constant 1/ν, h ≤ 2ν.
    """
    name = "contraction"
    where = " in ‖x‖² = Σ xᵢ²/hᵢ" if per_neuron else ""
    if constants.lipschitz == 0.0:
        return Certificate(name, True, True, None, "the field does not depend on the state: differences stay")
    if isinstance(method, PartitionedTableau):
        return _growth(method, constants, h, f"no theorem about partitioned methods is used; {_monotone(constants)}")
    if constants.one_sided_lipschitz <= 0.0:
        stable = bn_stability(method)
        condition = "" if solvable else f", {SOLVABLE}"
        if stable:
            text = f"BN-stable ({stable.because.split(':')[0]}) and the field is monotone{where}{condition}"
            return about_given(method, Certificate(name, True, True, None, text))
        if constants.cocoercivity is not None and constants.cocoercivity > 0.0:
            ratio = Fraction(2) * Fraction(constants.cocoercivity) / Fraction(h)
            radius = circle_contractivity_radius(method)
            limit = 2.0 * constants.cocoercivity * radius
            contracts = _is_positive_semidefinite(_circle_form(method, ratio))
            text = f"h = {h:.3g} {'≤' if contracts else '>'} {limit:.3g} = 2νρ, circle of radius ρ = {radius:.3g}"
            text += f", ν = {constants.cocoercivity:.3g}"
            if contracts:
                certificate = Certificate(name, True, True, None, f"{text}{where}{condition}", margin=limit - h)
                return about_given(method, certificate)
            return _growth(method, constants, h, text, limit - h)
        return _growth(method, constants, h, f"not BN-stable: {stable.because.split(':')[0]}")
    return _growth(method, constants, h, _monotone(constants))


def _sensitivity(method: Method, field: Field, constants: Constants, h: float) -> Certificate:
    """h D for one stage with b = 1, ½ ≤ a ≤ 1 on a monotone field, D its Lipschitz constant by the drive; else None.

    A property of the tableau says nothing of two drives alone: the stages have to be bounded, too (BSI-stability).
    """
    name, slope = "sensitivity", field.drive_lipschitz()
    if constants.one_sided_lipschitz > 0.0:
        return Certificate(name, None, False, None, _monotone(constants))
    if not (isinstance(method, ButcherTableau) and method.stages == 1 and method.b == (1,)):
        return Certificate(name, None, False, None, f"no theorem here on perturbed drives of {_named(method)}")
    ((a,),) = method.A
    if sign(2 * a - 1) < 0 or sign(1 - a) < 0:
        return Certificate(name, None, False, None, f"{_named(method)} has its stage at a = {a}, not in [1/2, 1]")
    if slope is None:
        return Certificate(name, None, False, None, f"how {type(field).__name__} depends on its drive is not bounded")
    value = h * slope * (1 + ROUNDING)
    text = f"one stage, 1/2 ≤ a ≤ 1, monotone field: from one state ‖Δx_N‖ ≤ {value:.3g} Σ ‖Δdrive_n‖"
    return about_given(method, Certificate(name, True, True, None, text, value=value))


def _monotone(constants: Constants) -> str:
    mu = constants.one_sided_lipschitz
    if mu <= 0.0:
        return "the field is monotone"
    return f"the field is not known to be monotone: its one-sided Lipschitz constant is only known to be ≤ {mu:.3g}"


def _growth(method: Method, constants: Constants, h: float, why: str, margin: float | None = None) -> Certificate:
    """Not implied, with the factor 1 + hL Σ |b_i| ℓ_i, ℓ = (I − hL|A|)⁻¹ 1, by which two states at most move apart."""
    A, b = _moduli(method)
    with np.errstate(over="ignore", invalid="ignore"):
        stages = stage_growth(h * constants.lipschitz * A)
        bound = None if stages is None else float((1.0 + h * constants.lipschitz * (b @ stages)) * (1 + ROUNDING))
    text, factor = why, None
    if bound is not None and math.isfinite(bound):
        factor = bound
        text += f"; two states move apart by at most a factor {factor:.3g} a step"
    return Certificate("contraction", None, False, None, text, margin=margin, value=factor)


def stage_growth(matrix: Any) -> Any:
    """An upper bound on ℓ = 1 + Mℓ for M ≥ 0, None where there is none: by substitution, or from above.

    From ℓ = 1/(1 − ‖M‖), which exceeds its own image, the iteration falls towards the solution and never below it.
    """
    size = len(matrix)
    if not np.triu(matrix).any():
        growth = np.ones(size)
        for i in range(size):
            growth[i] = (1.0 + matrix[i, :i] @ growth[:i]) * (1 + ROUNDING)
        return growth
    norm = _row_norm(matrix) * (1 + ROUNDING)
    if norm >= 1.0:
        return None
    growth = np.full(size, 1.0 / (1.0 - norm))
    for _ in range(200):
        growth = (1.0 + matrix @ growth) * (1 + ROUNDING)
    return growth


def push_from_rest(method: Method, field: Field, step_size: Tensor | float, at_rest: float) -> float | None:
    """h F Σ |b_i| ℓ_i ≥ ‖Φ_h(0; x)‖ for every x with ‖f(0; x)‖ ≤ F = ``at_rest``, ℓ = (I − hL|A|)⁻¹ 1, h the largest.

    ‖k_i‖ ≤ F + L ‖Y_i‖ and ‖Y_i‖ ≤ h Σ |a_ij| ‖k_j‖. None where hL|A| leaves no such ℓ: then the stages need not be
    near zero.
    """
    h = float(torch.as_tensor(step_size, dtype=torch.float64).detach().max())
    A, b = _moduli(in_stages(method))
    stages = stage_growth(h * field.constants().lipschitz * A)
    return None if stages is None else float(h * at_rest * (b @ stages) * (1 + ROUNDING))


def _circle_form(method: Method, ratio: Fraction) -> Rows:
    r = fmpq(ratio.numerator, ratio.denominator)
    return entrywise(lambda m, g: m + r * g, burrage_butcher(method), form_of(method).gram)


def _is_positive_semidefinite(matrix: Rows) -> bool:
    return diagonalise(matrix).violation is None


def circle_contractivity_radius(method: Method) -> float:
    """The largest ρ with M + diag(b)/ρ ≥ 0: inf if M ≥ 0, 0 if there is none. Explicit Euler: 1.

    A step then contracts on every field with ⟨Δf, Δx⟩ ≤ −ν ‖Δf‖² as long as h ≤ 2νρ. In floats; a decision about a
    given h is made exactly. Dahlquist, Jeltsch, BIT 46 (2006) 5-28 (technical report 1979).
    """
    form = form_of(method)
    if not _is_positive_semidefinite(form.gram):
        return 0.0
    M, gram = (
        np.array([[nearest_float(x) for x in row] for row in rows]) for rows in (burrage_butcher(method), form.gram)
    )
    if _is_positive_semidefinite(burrage_butcher(method)):
        return float("inf")
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-14 * max(values.max(), 1e-300)
    if not kept.all() and np.abs(M @ vectors[:, ~kept]).max() > 1e-14:
        return 0.0  # a stage without weight that M sees
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    return float(-1.0 / np.linalg.eigvalsh(scaled.T @ M @ scaled).min())


# --- solvability and invertibility


def _solvability(method: Method, field: Field, constants: Constants, h: float) -> Certificate:
    """Explicit methods; fixed-point iteration, hL‖|A|‖ < 1; a monotone field and D as in Hairer, Wanner 1996, IV.14."""
    name = "solvability"
    if _is_explicit(method, field):
        return Certificate(name, True, True, None, "explicit: there is nothing to solve")
    A, _ = _moduli(method)
    margin = 1.0 - h * constants.lipschitz * _row_norm(A) * (1 + ROUNDING)
    if margin > 0.0:
        text = f"fixed-point iteration contracts: 1 − hL‖|A|‖ = {margin:.3g}"
        return Certificate(name, True, True, None, text, margin)
    if constants.one_sided_lipschitz <= 0.0 and isinstance(method, ButcherTableau):
        because = _solvable_when_monotone(method)
        if because:
            return about_given(method, Certificate(name, True, True, None, f"monotone field, and {because}", margin))
    text = f"hL‖|A|‖ = {1.0 - margin:.3g} ≥ 1, and the field is not monotone; the solver reports its residual"
    return Certificate(name, None, False, None, text, margin)


def _solvable_when_monotone(method: ButcherTableau) -> str | None:
    """Why h Σ a_ij f(Y_j) = Y_i − y₀ has one solution for every monotone f, if a condition of IV.14 shows it.

    D > 0 diagonal with DA⁻¹ + A⁻ᵀD > 0 suffices (Crouzeix, Hundsdorfer, Spijker 1983; Hairer, Wanner 1996, Theorem
    IV.14.2). Tried are D = B, BC⁻¹, B(C⁻¹ − I), which serve Radau and Gauss (IV.14.5).
    """
    if method.is_diagonally_implicit:
        return "aᵢᵢ ≥ 0 stage by stage" if all(sign(method.A[i][i]) >= 0 for i in range(method.stages)) else None
    if any(sign(c) <= 0 for c in method.c) or method.stages > 5:
        return None
    try:
        back = inverse(method.A)
    except (ValueError, ZeroDivisionError):  # a singular A: an explicit stage among implicit ones
        return None
    candidates = {
        "D = B": method.b,
        "D = BC⁻¹": tuple(b / c for b, c in zip(method.b, method.c, strict=True)),
        "D = B(C⁻¹ − I)": tuple(b * (1 - c) / c for b, c in zip(method.b, method.c, strict=True)),
    }
    for text, diagonal in candidates.items():
        if any(sign(d) <= 0 for d in diagonal):
            continue
        scaled = tuple(tuple(d * entry for entry in row) for d, row in zip(diagonal, back, strict=True))
        pivots = diagonalise(entrywise(lambda x, y: x + y, scaled, transposed(scaled))).pivots
        if all(sign(pivot) > 0 for pivot in pivots):
            return f"DA⁻¹ + A⁻ᵀD > 0 for {text}"
    return None


def _invertibility(method: Method, field: Field, constants: Constants, h: float) -> Certificate:
    """Φ_h⁻¹ = Φ*_{−h}: explicit for compositions of shears, else its stage equations must be solvable."""
    name = "invertibility"
    back = in_stages(adjoint(method))
    if _is_explicit(back, field):
        return Certificate(name, True, True, None, f"the inverse is {_named(back)} with step −h, and is explicit")
    A, _ = _moduli(back)
    margin = 1.0 - h * constants.lipschitz * _row_norm(A) * (1 + ROUNDING)
    if margin > 0.0:
        text = f"the stages of the adjoint with step −h are a contraction: 1 − hL‖|A*|‖ = {margin:.3g}"
        return Certificate(name, True, True, None, text, margin)
    text = f"hL‖|A*|‖ = {1.0 - margin:.3g} ≥ 1 for the adjoint method"
    return Certificate(name, None, False, None, text, margin)


def _is_explicit(method: Method, field: Field) -> bool:
    """Whether the stages can be computed one by one on this field."""
    if isinstance(method, ButcherTableau):
        if method.is_explicit:
            return True
        method = PartitionedTableau(method.name, method.source, method, method)
    return isinstance(method, PartitionedTableau) and field.is_separable and method.separable_order() is not None


# --- structure


def _symplecticity(method: Method, field: Field, solvable: Certificate, per_neuron: bool) -> Certificate:
    name = "symplecticity"
    if field.energy_law != "conserved" or len(field.blocks) != 2:
        return Certificate(name, None, False, None, f"{type(field).__name__} is not Hamiltonian in (y, z)")
    certified = symplecticity(method, separable=field.is_separable)
    where = " for Σ dyᵢ ∧ dzᵢ / hᵢ" if per_neuron else ""
    kind = "separable Hamiltonian field" if field.is_separable else "Hamiltonian field"
    # A method that is not symplectic on all such fields may be on this one: no is not implied.
    holds = True if certified.holds else None
    branch = "" if solvable else ", on each branch of solutions of its stage equations"
    because = f"{certified.because} on a {kind}{where}{branch}"
    return Certificate(name, holds, certified.exact, certified.witness, because, certified.margin)


def _energy(
    method: Method, field: Field, constants: Constants, h: float, per_neuron: bool, inputs: InputRule
) -> Certificate:
    """Quadratic invariants, and the convex energy of a gradient field under the two Euler methods."""
    name = "energy"
    if field.energy_law is None:
        return Certificate(name, None, False, None, f"{type(field).__name__} has no energy")
    if field.is_linear and field.energy_law == "conserved at zero drive" and isinstance(method, ButcherTableau):
        text = "quadratic and conserved by the field at zero drive" + (", as Σ xᵢ²/hᵢ" if per_neuron else "")
        if symplecticity(method):
            return about_given(method, Certificate(name, True, True, None, f"M = 0: {text}, it is conserved"))
        stable = bn_stability(method)
        if stable:
            text = f"{stable.because.split(':')[0]}: {text}, it does not increase"
            return about_given(method, Certificate(name, True, True, None, text))
        return Certificate(name, None, False, None, f"{text}, but M is not ≥ 0")
    if inputs != "hold":
        return Certificate(name, None, False, None, "the energy changes with the drive, which changes within the step")
    if constants.cocoercivity and field.energy_law == "non-increasing" and isinstance(method, ButcherTableau):
        decided = _gradient_energy(method, constants.cocoercivity, h)
        if decided is not None:
            return decided
    if field.energy_law == "conserved":
        near = symplecticity(method, separable=field.is_separable)
        text = "not conserved exactly" + ("; symplectic: a modified energy nearly is" if near else "")
        return Certificate(name, None, False, None, text)
    return Certificate(name, None, False, None, f"no theorem here about {_named(method)} and this energy")


def _gradient_energy(method: ButcherTableau, cocoercivity: float, h: float) -> Certificate | None:
    """The energy V of x' = −∇V(x), V convex with ∇V of Lipschitz constant 1/ν, at constant drive.

    Implicit Euler: V(x₀) ≥ V(x₁) + ⟨∇V(x₁), x₀ − x₁⟩ = V(x₁) + h‖∇V(x₁)‖². Explicit Euler: V(x₁) ≤ V(x₀) −
    h (1 − h/2ν) ‖∇V(x₀)‖².
    """
    if method.stages != 1 or method.b != (1,):
        return None
    if method.A == ((1,),):
        text = "convex energy, implicit Euler: it does not increase, for every h"
        return Certificate("energy", True, True, None, text)
    if method.A == ((0,),):
        margin = 2.0 * cocoercivity - h
        holds = True if margin >= 0.0 else None
        text = f"convex energy with gradient of constant 1/ν, explicit Euler: 2ν − h = {margin:.3g}"
        return Certificate("energy", holds, bool(holds), None, text, margin)
    return None


def _reversibility(method: Method, field: Field, solvable: Certificate, inputs: InputRule) -> Certificate:
    name = "reversibility"
    symmetric = symmetry(method)
    if not field.is_reversible:
        return Certificate(name, None, False, None, f"{type(field).__name__} is not reversible under (y, z) → (y, −z)")
    if symmetric and inputs != "hold":
        text = "symmetric on a reversible field, but backwards the stages would have to see their drives in reverse"
        return Certificate(name, None, False, None, text)
    if symmetric and not solvable:
        text = "symmetric on a reversible field, but its stage equations may have several solutions"
        return Certificate(name, None, False, None, text)
    if symmetric:
        text = f"symmetric ({symmetric.because}) on a reversible field"
        return Certificate(name, True, symmetric.exact, symmetric.witness, text)
    return Certificate(name, None, False, None, f"not symmetric: {symmetric.because}")


def _order(method: Method, inputs: InputRule) -> Certificate:
    certified = order(method)
    p = order_on_inputs(method, inputs)
    rule = {"hold": "held inputs allow 1", "linear": "interpolated inputs allow 2", "given": "inputs at stage times"}
    return Certificate(
        "order", True, certified.exact, None, f"the method has order {certified.value}, {rule[inputs]}", value=p
    )


# --- coefficients in floats


def _moduli(method: Method) -> tuple[Any, Any]:
    """(|A|, |b|) in floats, of a partitioned method the larger of both, of a family the rounded ones."""
    if isinstance(method, PartitionedTableau):
        halves = [_moduli(method.position), _moduli(method.momentum)]
        return np.maximum(halves[0][0], halves[1][0]), np.maximum(halves[0][1], halves[1][1])
    if not isinstance(method, ButcherTableau):
        return _moduli(method.rounded())
    A = np.array([[abs(nearest_float(a)) for a in row] for row in method.A])
    return A, np.array([abs(nearest_float(b)) for b in method.b])


def _row_norm(A: Any) -> float:
    return float(A.sum(axis=1).max())


def _named(method: Method) -> str:
    return f'"{method.name}"'


__all__ = [
    "Guarantees",
    "InputRule",
    "circle_contractivity_radius",
    "guarantees_of",
    "order_on_inputs",
    "push_from_rest",
]
