"""The stage space of a method with one matrix and one weight vector, in four arithmetics.

    A u,     bᵀu,     u ∘ v,     v ↦ bᵀ(u ∘ v),     f ↦ f A

Exact in any basis; in the basis of stages exact, with integers (rationals over one common denominator: no greatest
common divisors), and with balls for coefficients that are known to some digits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import flint
from flint import arb, fmpq, fmpz

from odernn.exact.algebraic import enclosure
from odernn.exact.linear_algebra import Vector, matrix_vector, transposed
from odernn.tableaus.stages import StageForm


def exact_spaces(forms: Sequence[StageForm]) -> list[Space]:
    """One space for each form, with integers where all coefficients are rational and belong to stages."""
    entries = [a for form in forms for row in form.operator for a in row] + [b for form in forms for b in form.weights]
    if any(form.modulus is not None for form in forms):
        return [FormSpace(form) for form in forms]
    if all(isinstance(entry, fmpq) for entry in entries):
        denominator = _common([a for form in forms for row in form.operator for a in row])
        return [IntegerSpace(form, denominator) for form in forms]
    return [StageSpace(form, lambda a: a) for form in forms]


class Space(ABC):
    """The stage space of a method with the operator A and the functional b; vectors are coordinates in some basis."""

    one: Vector

    @abstractmethod
    def apply(self, u: Vector) -> Vector:
        """A u."""

    @abstractmethod
    def weigh(self, u: Vector) -> Any:
        """bᵀ u."""

    @abstractmethod
    def product(self, u: Vector, v: Vector) -> Vector:
        """The stagewise product u ∘ v."""

    @abstractmethod
    def dual(self, u: Vector) -> Vector:
        """The functional v ↦ bᵀ(u ∘ v), by its values on the basis."""

    @abstractmethod
    def pull_back(self, functional: Vector) -> Vector:
        """The functional v ↦ functional(A v)."""

    def weight(self, raw: Any, order: int) -> Any:
        """Φ(t) for a tree of this order from what the recursion gives."""
        return raw


class FormSpace(Space):
    """Exact scalars in the basis of the form."""

    def __init__(self, form: StageForm) -> None:
        self.form = form
        self.one = form.one
        self._columns = transposed(form.operator)

    def apply(self, u: Vector) -> Vector:
        return self.form.apply(u)

    def weigh(self, u: Vector) -> Any:
        return self.form.weigh(u)

    def product(self, u: Vector, v: Vector) -> Vector:
        return self.form.product(u, v)

    def dual(self, u: Vector) -> Vector:
        return matrix_vector(self.form.gram, u)

    def pull_back(self, functional: Vector) -> Vector:
        return matrix_vector(self._columns, functional)


class StageSpace(Space):
    """The basis of stages with entries of any ring; ``ring`` makes its elements from the exact entries that are not 0.

    A row of A is multiplied as its difference to the row before where that has fewer nonzero entries: a step of a
    composition repeats what the steps before it have added, so A u costs s operations there and not s².
    """

    def __init__(self, form: StageForm, ring: Callable[[Any], Any]) -> None:
        if form.modulus is not None:
            raise ValueError("A form in a basis of polynomials has no rows that belong to stages. Use FormSpace.")
        self.zero = ring(fmpq(1)) * 0
        self.one = (self.zero + 1,) * form.dimension
        self._ring = ring
        self.weights = tuple(map(self._entry, form.weights))
        self._rows: list[tuple[bool, list[tuple[int, Any]]]] = []
        before: Sequence[Any] = (fmpq(0),) * form.dimension
        for row in form.operator:
            own = [(j, a) for j, a in enumerate(row) if a != 0]
            changed = [j for j, (a, old) in enumerate(zip(row, before, strict=True)) if a != old]
            if len(changed) < len(own):
                entries = [(j, self._entry(row[j]) - self._entry(before[j])) for j in changed]
                self._rows.append((True, entries))
            else:
                self._rows.append((False, [(j, ring(a)) for j, a in own]))
            before = row

    def _entry(self, entry: Any) -> Any:
        return self._ring(entry) if entry != 0 else self.zero

    def apply(self, u: Vector) -> Vector:
        result: list[Any] = []
        value = self.zero
        for continues, entries in self._rows:
            if not continues:
                value = self.zero
            for j, a in entries:
                value = value + a * u[j]
            result.append(value)
        return tuple(result)

    def weigh(self, u: Vector) -> Any:
        value = self.zero
        for b, x in zip(self.weights, u, strict=True):
            value = value + b * x
        return value

    def product(self, u: Vector, v: Vector) -> Vector:
        return tuple(x * y for x, y in zip(u, v, strict=True))

    def dual(self, u: Vector) -> Vector:
        return self.product(self.weights, u)

    def pull_back(self, functional: Vector) -> Vector:
        result = [self.zero] * len(self.one)
        rest = self.zero  # of the rows that continue, each adds its functional to what the first of them adds
        for (continues, entries), value in zip(reversed(self._rows), reversed(functional), strict=True):
            rest = rest + value
            for j, a in entries:
                result[j] = result[j] + rest * a
            if not continues:
                rest = self.zero
        return tuple(result)


class IntegerSpace(StageSpace):
    """Integers over the common denominators D of A and d of b: Φ(t) = raw / (d D^{ρ(t) − 1})."""

    def __init__(self, form: StageForm, denominator: fmpz) -> None:
        self.denominator = denominator
        self.weight_denominator = _common(form.weights)
        super().__init__(form, lambda a: (a * denominator).p)
        self.weights = tuple((b * self.weight_denominator).p for b in form.weights)

    def weight(self, raw: Any, order: int) -> fmpq:
        return fmpq(raw, self.weight_denominator * self.denominator ** (order - 1))


class BallSpace(StageSpace):
    """Coefficients that are known up to ``radius``: a ball holds Φ(t) for every method within these radii; 0 is exact.

    Taking differences of rows does no harm: what two rows share has the radius it has in the first of them, and the
    difference of two balls around different entries holds all differences.
    """

    def __init__(self, form: StageForm, radius: Callable[[Any], Any], bits: int) -> None:
        self.bits = bits
        with flint.ctx.workprec(bits):
            super().__init__(form, lambda a: enclosure(a, bits) + arb(0, radius(a)))


def _common(values: Sequence[fmpq]) -> fmpz:
    result = fmpz(1)
    for value in values:
        result = result.lcm(value.q)
    return result
