"""What every exact decision works on: a Runge–Kutta method as linear algebra on its stages, in any basis.

A method gives the functional b, the operator A, the vector 1 and the *stagewise product* of stage vectors. Order,
stability and symplecticity need nothing else, and all of it may be written in another basis V of the stage space:

    A' = V⁻¹ A V,     w = Vᵀ b,     G = Vᵀ diag(b) V,     M' = Vᵀ(BA + AᵀB − bbᵀ)V = G A' + A'ᵀ G − w wᵀ.

In the basis of stages G = diag(b). For a method whose s abscissae are the distinct roots of a polynomial P, the basis
1, x, …, x^{s−1} of Q[x]/(P) makes A', w and G **rational** even where the abscissae are not (Gauss, Radau, Lobatto of
any s): the stagewise product is multiplication modulo P, and inertia does not depend on the basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_poly

from odernn.exact.linear_algebra import Rows, Vector


@dataclass(frozen=True)
class StageForm:
    """The linear algebra of a method in one basis of its stage space; entries are exact scalars (``exact.algebraic``).

    operator  A', s × s          one      coordinates of the vector 1 = (1, …, 1)
    weights   w, so that bᵀu = Σ w_i u_i in coordinates
    gram      G = Vᵀ diag(b) V
    modulus   None in the basis of stages; else P, and coordinates are those of polynomials modulo P
    """

    operator: Rows
    weights: Vector
    one: Vector
    gram: Rows
    modulus: fmpq_poly | None = None

    @property
    def dimension(self) -> int:
        return len(self.weights)

    def apply(self, u: Vector) -> Vector:
        """A u."""
        return tuple(_dot(row, u) for row in self.operator)

    def weigh(self, u: Vector) -> Any:
        """bᵀ u."""
        return _dot(self.weights, u)

    def product(self, u: Vector, v: Vector) -> Vector:
        """The stagewise product of two stage vectors."""
        if self.modulus is None:
            return tuple(x * y for x, y in zip(u, v, strict=True))
        remainder = (fmpq_poly(list(u)) * fmpq_poly(list(v))) % self.modulus
        return tuple(remainder[k] for k in range(self.dimension))


def stagewise(A: Sequence[Sequence[Any]], b: Sequence[Any]) -> StageForm:
    """The form in the basis of stages: G = diag(b), 1 = (1, …, 1)."""
    s = len(b)
    zero = fmpq(0)
    gram = tuple(tuple(b[i] if i == j else zero for j in range(s)) for i in range(s))
    return StageForm(tuple(map(tuple, A)), tuple(b), (fmpq(1),) * s, gram)


def _dot(u: Vector, v: Vector) -> Any:
    total: Any = fmpq(0)
    for x, y in zip(u, v, strict=True):
        if x != 0 and y != 0:
            total = total + x * y
    return total
