"""The stage vectors that a method tells apart, in any basis: its reductions where stages have no numbers.

    V = span{1, Au, u ∘ v : u, v ∈ V},      V* = span{b, Aᵀf, f(u ∘ ·) : f ∈ V*}

V is the smallest set of stage vectors that contains 1 and is closed under sums, stagewise products and A: the vectors
that are constant on equal stages. V* is the smallest set of functionals that contains b and is closed under Aᵀ and
products: those that read the stages in use. Both can be written in the basis of polynomials modulo the node polynomial,
where ``odernn.properties.reducibility`` restricts a method to them. Hairer, Wanner 1996, Section IV.12.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from flint import fmpq, fmpq_poly

from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
    dot,
    identity,
    matrix_vector,
    nullspace,
    product,
    solve,
    transposed,
)
from odernn.exact.polynomials import gcd
from odernn.tableaus.methods import Method, resolve
from odernn.tableaus.stages import StageForm


def generated(*sides: Sequence[StageForm]) -> list[Vector]:
    """A basis of the smallest space of stage vectors with 1 that is closed under products and every operator.

    These are the vectors that are constant on equal stages.
    Each side is the forms of one method in one basis; vectors of several sides are written one after the other.
    """
    cuts = list(itertools.accumulate((side[0].dimension for side in sides), initial=0))

    def parts(u: Vector) -> Iterator[tuple[Sequence[StageForm], Vector]]:
        for side, start, end in zip(sides, cuts, cuts[1:], strict=False):
            yield side, u[start:end]

    span, basis, queue = _Span(), list[Vector](), [tuple(x for side in sides for x in side[0].one)]
    while queue and len(basis) < cuts[-1]:
        u = queue.pop(0)
        if not span.add(u):
            continue
        basis.append(u)
        for k in range(len(sides[0])):
            queue.append(tuple(x for side, part in parts(u) for x in side[k].apply(part)))
        for v in basis[1:]:
            pairs = zip(parts(u), parts(v), strict=True)
            queue.append(tuple(x for (side, p), (_, q) in pairs for x in side[0].product(p, q)))
    return basis


def merged_form(method: Method, form: StageForm) -> Method:
    """Equal stages merged in the basis of polynomials: restrict everything to the vectors constant on classes."""
    basis = generated([form])
    size = len(basis)
    if size == form.dimension:
        return resolve(method)
    relation: Rows | None = None
    k = 0
    while relation is None:  # a vector with different values on different classes: its powers are a basis
        element = tuple(dot([fmpq(k) ** i for i in range(size - 1)], column) for column in zip(*basis[1:], strict=True))
        powers = [form.one]
        for _ in range(size):
            powers.append(form.product(powers[-1], element or form.one))
        columns = transposed(powers[:size])
        relation = None if nullspace(columns) else solve(columns, [[x] for x in powers[size]])
        k += 1
    modulus = fmpq_poly([-row[0] for row in relation] + [1])
    operator = solve(columns, product(form.operator, columns)) or ()
    gram = product(powers[:size], product(form.gram, columns))
    return StageForm(operator, matrix_vector(powers[:size], form.weights), identity(size)[0], gram, modulus)


def without_unused(method: Method, form: StageForm) -> Method:
    """Unused stages left out in the basis of polynomials.

    The functionals read from the stages in use are the smallest set that contains b and is closed under u ↦ Aᵀu and
    products; the polynomials they all kill are the multiples of the node polynomial of the used stages.
    """
    size, x = form.dimension, (fmpq(0), fmpq(1))
    if size == 1 or form.modulus is None:
        return resolve(method)
    unit = identity(size)
    shift = transposed([form.product(unit[k], x + (ZERO,) * (size - 2)) for k in range(size)])
    span, queue = _Span(), [form.weights]
    while queue and len(span.rows) < size:
        u = queue.pop(0)
        if span.add(u):
            queue += [matrix_vector(transposed(S), u) for S in (form.operator, shift)]
    if len(span.rows) in (0, size):
        return resolve(method)
    node: tuple[Any, ...] = ()
    for vector in nullspace(list(span.rows.values())):
        node = gcd(node, tuple(fmpq_poly(list(vector)).coeffs()))
    modulus = fmpq_poly(list(node))
    kept = int(modulus.degree())
    columns = [fmpq_poly([row[k] for row in form.operator]) % modulus for k in range(kept)]
    operator = tuple(tuple(column[i] for column in columns) for i in range(kept))
    powers = [fmpq_poly([0] * k + [1]) % modulus for k in range(2 * kept)]
    moments = [dot(form.weights[:kept], [p[i] for i in range(kept)]) for p in powers]
    gram = tuple(tuple(moments[i + j] for j in range(kept)) for i in range(kept))
    return StageForm(operator, form.weights[:kept], identity(kept)[0], gram, modulus)


class _Span:
    """A growing subspace, kept as rows with leading ones that no other row repeats below."""

    def __init__(self) -> None:
        self.rows: dict[int, Vector] = {}

    def add(self, vector: Vector) -> bool:
        """Whether the vector was new."""
        for column in range(len(vector)):
            if vector[column] == 0:
                continue
            row = self.rows.get(column)
            if row is None:
                lead = vector[column]
                self.rows[column] = tuple(x / lead if x != 0 else x for x in vector)
                return True
            factor = vector[column]
            vector = tuple(x - factor * y if y != 0 else x for x, y in zip(vector, row, strict=True))
        return False
