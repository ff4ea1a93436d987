"""What one step does to y' = λ(t)y: the function K(Z) of all z_i = hλ(t_0 + c_i h) together.

    K(Z) = 1 + bᵀZ(I − AZ)⁻¹1,   Z = diag(z),      |K|² − 1 = 2 Σ b_i Re z_i |w_i|² − ūᵀMu,   w = (I − AZ)⁻¹1,  u = Zw

With all z_i = z it is R(z). A method is AN-stable if |K(Z)| ≤ 1 for all Re z_i ≤ 0, z_i = z_j where c_i = c_j.
Hairer, Wanner 1996, Section IV.12. Evaluated exactly, real and imaginary parts apart, in any basis of the stage space:
Zw is the stagewise product of z and w.
"""

from __future__ import annotations

from collections.abc import Iterator

from flint import fmpq

from odernn.exact.algebraic import Scalar, sign
from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
    entrywise,
    identity,
    rank,
    solve,
    transposed,
)
from odernn.exact.text import decimal
from odernn.tableaus.stages import StageForm

MOST_HALVINGS = 2**16
"""Steps down to 2⁻⁶⁵⁵³⁶ are tried: the violation is beaten by terms of higher order only where it is about as small."""


def amplification(form: StageForm, real: Vector, imaginary: Vector) -> tuple[tuple[Vector, Vector], Scalar] | None:
    """w = (I − AZ)⁻¹1 as real and imaginary part, and |K(Z)|², K(Z) = 1 + bᵀZw; ``None`` if I − AZ is singular."""
    w = _stages(form, real, imaginary)
    if w is None:
        return None
    re = 1 + form.weigh(form.product(real, w[0])) - form.weigh(form.product(imaginary, w[1]))
    im = form.weigh(form.product(real, w[1])) + form.weigh(form.product(imaginary, w[0]))
    return w, re * re + im * im


def _stages(form: StageForm, real: Vector, imaginary: Vector) -> tuple[Vector, Vector] | None:
    """w = (I − AZ)⁻¹1 as real and imaginary part, ``None`` if the matrix is singular."""
    size = form.dimension
    unit = identity(size)

    def through(z: Vector) -> Rows:  # A Z
        return transposed([form.apply(form.product(z, e)) for e in unit])

    X, Y = through(real), through(imaginary)
    D = entrywise(lambda e, x: e - x, unit, X)
    rows = [d + y for d, y in zip(D, Y, strict=True)]
    rows += [tuple(-value for value in y) + d for d, y in zip(D, Y, strict=True)]
    right = [[x] for x in form.one] + [[ZERO]] * size
    solution = solve(rows, right)
    if solution is None or rank(rows) < 2 * size:
        return None
    values = tuple(row[0] for row in solution)
    return values[:size], values[size:]


def grown(form: StageForm, real: Vector, imaginary: Vector) -> tuple[Vector, Vector, tuple[Vector, Vector], Scalar]:
    """Halve the rates until |K|² > 1; returns them, w = (I − AZ)⁻¹1 (real and imaginary part) and |K|²."""
    for step in small_numbers():
        x, y = (tuple(step * r for r in part) for part in (real, imaginary))
        response = amplification(form, x, y)
        if response is not None and sign(response[1] - 1) > 0:
            return x, y, *response
    raise ArithmeticError("No step was small enough, although b or M has a negative direction.")


def small_numbers() -> Iterator[fmpq]:
    """1, 1/2, 1/4, 1/8, 1/16, 1/64, …: powers of two, the exponents growing by half."""
    exponent = 0
    while exponent < MOST_HALVINGS:
        yield fmpq(1, 2**exponent)
        exponent = max(exponent + 1, exponent * 3 // 2)


def growth_text(growth: Scalar) -> str:
    """1 + the excess to six digits, which may be far below the resolution of a double."""
    return f"1 + {decimal(growth - 1)}"
