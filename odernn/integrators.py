"""One step of a tableau on a vector field, in torch.

The drive is held constant over the step, which is what a recurrent network does with its input. Coefficients
become floats here, one correctly rounded number each, and nowhere earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from torch import Tensor

from odernn.algebraic import nearest_float
from odernn.tableau import ButcherTableau, PartitionedTableau, Row

State: TypeAlias = tuple[Tensor, Tensor]


class SeparableField(Protocol):
    """y' = velocity(z), z' = force(y; drive): each half depends on the other half only."""

    def velocity(self, z: Tensor) -> Tensor: ...

    def force(self, y: Tensor, drive: Tensor) -> Tensor: ...


def step(
    tableau: ButcherTableau | PartitionedTableau,
    field: SeparableField,
    state: State,
    drive: Tensor,
    step_size: Tensor | float,
) -> State:
    """One step (y₀, z₀) → (y₁, z₁) of a method that is explicit, or explicit on separable systems.

        Y_i = y₀ + h Σ_j a_ij velocity(Z_j),   Z_i = z₀ + h Σ_j â_ij force(Y_j; x)

    with Â = A for a ButcherTableau. y, z, drive : (..., hidden); step_size h a number, or a tensor with one
    step a neuron, broadcastable to the state. Differentiable in every tensor. Hairer, Lubich, Wanner 2006,
    eq. (II.2.2). Raises NotImplementedError when the stages would have to be solved for.
    """
    pair = _pair(tableau)
    order = pair.separable_order()
    if order is None:
        raise NotImplementedError(
            f'Tableau "{tableau.name}" is implicit even on separable systems: its stages depend on each '
            "other in a circle and would have to be solved for. "
            "Choose one with is_explicit, e.g. tableaus.SYMPLECTIC_EULER or tableaus.RK4."
        )
    y, z = state
    velocities: dict[int, Tensor] = {}
    forces: dict[int, Tensor] = {}
    for kind, i in order:
        if kind == "y":
            forces[i] = field.force(_advance(y, pair.position.A[i], velocities, step_size), drive)
        else:
            velocities[i] = field.velocity(_advance(z, pair.momentum.A[i], forces, step_size))
    return _advance(y, pair.position.b, velocities, step_size), _advance(z, pair.momentum.b, forces, step_size)


def _pair(tableau: ButcherTableau | PartitionedTableau) -> PartitionedTableau:
    """A method as a partitioned one: the same table for both halves."""
    if isinstance(tableau, PartitionedTableau):
        return tableau
    return PartitionedTableau(tableau.name, tableau.source, tableau, tableau, tableau.order)


def _advance(start: Tensor, coefficients: Row, slopes: Mapping[int, Tensor], step_size: Tensor | float) -> Tensor:
    """start + h Σ_j coefficient_j slope_j. Slopes with coefficient 0 may not exist yet: not asked for."""
    terms = [slopes[j] * nearest_float(a) for j, a in enumerate(coefficients) if a != 0]
    if not terms:
        return start
    increment = terms[0]
    for term in terms[1:]:
        increment = increment + term
    return start + step_size * increment
