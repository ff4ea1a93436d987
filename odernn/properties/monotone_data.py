"""An autonomous monotone problem, given by its values at finitely many points, that a method pushes apart. All exact.

    (f(p) − f(q))ᵀ(p − q) ≤ 0 for all points p, q,      |y₁ − ŷ₁|² > |y₀ − ŷ₀|²

Stages with equal c_i but different z_i need more than the t of y' = λ(t)y. Add to y components x with slopes g_i at the
stages, such that the points x_i are distinct and (g_i − g_j)ᵀ(x_i − x_j) < 0: they tell the stages apart in y's stead,
which is possible if no two stages are equal. With Re z_i < 0 and |y₀| small enough the slopes (g_i, z_i y_i) at
(x_i, y_i) and (g_i, 0) at (x_i, 0) are strictly monotone: (f − f')ᵀ(p − p') < 0 for different points. Then p ↦ p + βf
does not expand on these finitely many points for some β > 0, it extends to all of Rⁿ without expanding (Kirszbraun
1934), and with it f extends to a Lipschitz field with (f − f')ᵀ(p − p') ≤ 0 everywhere. This *autonomous* problem is
the one that Hundsdorfer and Spijker's theorem promises; it is written down and checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from odernn.exact.algebraic import Scalar, sign
from odernn.exact.linear_algebra import (
    ONE,
    ZERO,
    Rows,
    Vector,
    dot,
    identity,
    matrix_vector,
    solve,
    transposed,
)
from odernn.properties.amplification import amplification, grown, growth_text, small_numbers
from odernn.tableaus.stages import StageForm


def monotone_data(form: StageForm, real: Vector, imaginary: Vector) -> MonotoneData:
    real, imaginary, w, growth = _damped(form, *grown(form, real, imaginary)[:2])
    positions, slopes = _separated(form)
    rates, stages = tuple(zip(real, imaginary, strict=True)), tuple(zip(*w, strict=True))
    moving = [_times(z, y) for z, y in zip(rates, stages, strict=True)]
    radius_squared = ONE
    for i in range(form.dimension):
        for j in range(i):
            strict = dot(_minus(positions[i], positions[j]), _minus(slopes[i], slopes[j]))
            other = dot(_minus(stages[i], stages[j]), _minus(moving[i], moving[j]))
            while sign(strict + radius_squared * other) >= 0:
                radius_squared /= 2
    return MonotoneData(positions, slopes, rates, stages, radius_squared, growth)


@dataclass(frozen=True)
class MonotoneData:
    """An autonomous field given at 2s points of R^{k+2}, monotone there, and two solutions, y₀ = (r, 0) and ŷ₀ = 0.

    Stage i of the first is at (x_i, r·w_i) with slope (g_i, z_i·r·w_i), of the second at (x_i, 0) with slope (g_i,
    0).

    positions, slopes   s rows x_i and g_i of k entries, x = x₀ + A g     rates   z_i = re + i·im as pairs
    stages              w_i as pairs                radius_squared   r²           growth   |y₁ − ŷ₁|²/|y₀ − ŷ₀|² > 1
    """

    positions: Rows
    slopes: Rows
    rates: Rows
    stages: Rows
    radius_squared: fmpq
    growth: Scalar

    def is_monotone(self) -> bool:
        """(f(p) − f(q))ᵀ(p − q) < 0 for every two different points, f(p) = f(q) for equal ones."""
        points, slopes = [], []
        for x, g, z, w in zip(self.positions, self.slopes, self.rates, self.stages, strict=True):
            for moving in (w, (ZERO, ZERO)):
                points.append((x, moving))
                slopes.append((g, _times(z, moving)))
        for a, (p, f) in enumerate(zip(points, slopes, strict=True)):
            for q, e in zip(points[:a], slopes[:a], strict=True):
                rest = dot(_minus(p[0], q[0]), _minus(f[0], e[0]))
                value = rest + self.radius_squared * dot(_minus(p[1], q[1]), _minus(f[1], e[1]))
                if (p == q and f != e) or (p != q and sign(value) >= 0):
                    return False
        return True

    def __str__(self) -> str:
        return (
            f"a monotone field on {2 * len(self.positions)} points of R{_power(len(self.positions[0]) + 2)}: "
            f"|y₁ - ŷ₁|²/|y₀ - ŷ₀|² = {growth_text(self.growth)}"
        )


def _damped(form: StageForm, real: Vector, imaginary: Vector) -> tuple[Vector, Vector, tuple[Vector, Vector], Scalar]:
    """All real parts lowered by so little that still |K|² > 1: then none is 0."""
    for delta in small_numbers():
        x = tuple(part - delta for part in real)
        response = amplification(form, x, imaginary)
        if response is not None and sign(response[1] - 1) > 0:
            return x, imaginary, *response
    raise ArithmeticError("No damping was small enough, although |K|² > 1 without any.")


def _separated(form: StageForm) -> tuple[Rows, Rows]:
    """Distinct points x_i with slopes g_i, x = x₀ + Ag and (g_i − g_j)ᵀ(x_i − x_j) < 0, if no stages are equal.

    Component k solves x' = −x + q with x₀ = 0, where q_i depends only on what the components before tell of stage i;
    its size is reduced until the earlier components' strict decrease outweighs it.
    """
    s, kappa = form.dimension, ONE
    damping = None
    while damping is None:  # I + κA must be regular
        damping = solve(
            [
                [e + kappa * a for e, a in zip(es, row, strict=True)]
                for es, row in zip(identity(s), form.operator, strict=True)
            ],
            identity(s),
        )
        kappa = kappa if damping is not None else kappa / 2
    columns: list[tuple[Vector, Vector]] = []
    labels, seed = [0] * s, 1
    while len(set(labels)) < s:
        q = tuple(fmpq(1 + (label * (label + seed) * seed) % 97) for label in labels)
        x = matrix_vector(damping, form.apply(q))
        g = tuple(a - kappa * b for a, b in zip(q, x, strict=True))
        seed += 1
        keys = list(zip(labels, x, strict=True))
        order = {key: n for n, key in enumerate(dict.fromkeys(keys))}
        if len(order) == len(set(labels)):
            if seed > 50:
                raise ArithmeticError("The stages could not be told apart: merge equal stages first.")
            continue
        size = ONE
        while not _decreasing([*columns, (tuple(size * a for a in x), tuple(size * a for a in g))], order, keys):
            size /= 2
        columns.append((tuple(size * a for a in x), tuple(size * a for a in g)))
        labels = [order[key] for key in keys]
    return transposed([x for x, _ in columns]), transposed([g for _, g in columns])


def _decreasing(columns: Sequence[tuple[Vector, Vector]], order: dict[Any, int], keys: Sequence[Any]) -> bool:
    """(g_i − g_j)ᵀ(x_i − x_j) < 0 for all stages that are told apart."""
    for i, key in enumerate(keys):
        for j in range(i):
            if order[key] == order[keys[j]]:
                continue
            value: Any = ZERO
            for x, g in columns:
                value = value + (x[i] - x[j]) * (g[i] - g[j])
            if sign(value) >= 0:
                return False
    return True


def _times(z: Sequence[Any], w: Sequence[Any]) -> Vector:
    """Product of two complex numbers given as pairs."""
    return (z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0])


def _minus(u: Sequence[Any], v: Sequence[Any]) -> Vector:
    return tuple(x - y for x, y in zip(u, v, strict=True))


def _power(k: int) -> str:
    return str(k).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
