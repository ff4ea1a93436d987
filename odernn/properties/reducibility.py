"""Stages that do not matter: reductions of a Runge–Kutta method to an equivalent one with fewer stages.

Dahlquist–Jeltsch: stages are *unused* if no weight and no other stage reads them: b_j = 0 and a_ij = 0 for all j in
the set and i outside. Hundsdorfer–Spijker: stages are *equal* if they coincide on every differential equation: the
coarsest partition into classes K with Σ_{j∈K} a_ij = Σ_{j∈K} a_kj whenever i, k share a class; each class becomes one
stage, its weight the sum. Hairer, Wanner 1996, Section IV.12.

The functions that are constant on classes are the smallest set of stage vectors that contains 1 and is closed under
sums, stagewise products and A. So equal stages can be merged in any basis of the stage space, and two methods have
the same B-series iff the difference of their weights vanishes on that set, taken for both methods side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_poly

from odernn.exact.coefficients import total
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
from odernn.tableaus.methods import Method, direct_sum, form_of, forms_of, in_one_field, resolve
from odernn.tableaus.stages import StageForm, stagewise
from odernn.tableaus.tableau import ButcherTableau


@dataclass(frozen=True)
class Reduction:
    """An equivalent method with fewer stages, or the same one if nothing was found.

    method    the reduced method: a tableau of a tableau, else a ``StageForm``
    unused    the stages left out, counted from 1          classes   the sets of equal stages that became one, from 1
    stages    number of stages before; in a basis other than that of stages ``unused`` and ``classes`` are empty
    """

    method: Method
    stages: int
    unused: tuple[int, ...] = ()
    classes: tuple[tuple[int, ...], ...] = ()

    @property
    def is_trivial(self) -> bool:
        """Whether the method is irreducible in the sense asked."""
        return form_of(self.method).dimension == self.stages

    def __str__(self) -> str:
        if self.is_trivial:
            return "irreducible"
        parts = [f"stages {', '.join(map(str, members))} are equal" for members in self.classes]
        if self.unused:
            parts.append(f"unused: {', '.join(map(str, self.unused))}")
        return "; ".join(parts) or f"{self.stages} stages become {form_of(self.method).dimension}"


def dj_reduction(method: Method) -> Reduction:
    """Leave out the unused stages (Dahlquist, Jeltsch 1979)."""
    form = form_of(method)
    if form.modulus is not None:
        return Reduction(_without_unused(method, form), form.dimension)
    used = [j for j in range(form.dimension) if form.weights[j] != 0]
    for i in used:  # grows while it is read
        used += [j for j in range(form.dimension) if j not in used and form.operator[i][j] != 0]
    used.sort()
    if not used or len(used) == form.dimension:  # b = 0 uses no stage, and a tableau has at least one
        return Reduction(resolve(method), form.dimension)
    A = [[form.operator[i][j] for j in used] for i in used]
    unused = tuple(j + 1 for j in range(form.dimension) if j not in used)
    reduced = _like(method, A, [form.weights[j] for j in used], "used stages")
    return Reduction(reduced, form.dimension, unused=unused)


def hs_reduction(method: Method) -> Reduction:
    """Merge equal stages (Hundsdorfer, Spijker 1981)."""
    form = form_of(method)
    if form.modulus is not None:
        return Reduction(_merged_form(method, form), form.dimension)
    classes = equal_stages([form.operator])
    if len(classes) == form.dimension:
        return Reduction(resolve(method), form.dimension)
    A, b = merge(form.operator, form.weights, classes)
    named = tuple(tuple(i + 1 for i in members) for members in classes if len(members) > 1)
    return Reduction(_like(method, A, b, "equal stages merged"), form.dimension, classes=named)


def reduction(method: Method) -> Reduction:
    """Merge equal stages and leave out unused ones until neither is left. Stages keep the numbers they have here."""
    merged = hs_reduction(method)
    result = dj_reduction(merged.method)
    if result.is_trivial:
        return merged
    stages = form_of(method).dimension
    if form_of(method).modulus is not None:
        return Reduction(result.method, stages)
    gone = {i for members in merged.classes for i in members[1:]}
    first = [i for i in range(1, stages + 1) if i not in gone]  # the stage of the method given that leads each class
    members_of = {members[0]: members for members in merged.classes}
    unused = [i for k in result.unused for i in members_of.get(first[k - 1], (first[k - 1],))]
    classes = tuple(members for members in merged.classes if members[0] not in unused)
    return Reduction(result.method, stages, tuple(sorted(unused)), classes)


def equal_stages(matrices: Sequence[Rows], apart: Sequence[Any] | None = None) -> list[list[int]]:
    """The coarsest classes of stages (from 0) that coincide on every differential equation.

    Start from one class and split it by the row sums over the classes until nothing splits. Several matrices are
    those of a partitioned method, whose stages are equal if they are in every component. Stages with different labels
    in ``apart`` never are.
    """
    labels = [0] * len(matrices[0]) if apart is None else list(apart)
    classes = [[i for i, label in enumerate(labels) if label == one] for one in dict.fromkeys(labels)]
    while True:
        signatures: dict[tuple[Any, ...], list[int]] = {}
        for i, label in enumerate(labels):
            sums = tuple(total(A[i][j] for j in members) for A in matrices for members in classes)
            signatures.setdefault((label, *sums), []).append(i)
        refined = list(signatures.values())
        if len(refined) == len(classes):
            return refined
        classes = refined


def possibly_equal_stages(
    matrices: Sequence[Rows], errors: Sequence[Rows], apart: Sequence[Any] | None = None
) -> list[list[int]]:
    """Classes (from 0) outside which no two stages are equal, whatever numbers within the errors are meant.

    As ``equal_stages``, but rows stay together that are joined by a chain of rows with sums that agree within the
    errors: by induction every class of equal stages of the method that is meant lies in one of these classes.
    """
    labels = [0] * len(matrices[0]) if apart is None else list(apart)
    classes = [[i for i, label in enumerate(labels) if label == one] for one in dict.fromkeys(labels)]
    while True:
        rows = [
            [
                (total(A[i][j] for j in members), total(E[i][j] for j in members))
                for A, E in zip(matrices, errors, strict=True)
                for members in classes
            ]
            for i in range(len(labels))
        ]
        refined = [part for members in classes for part in _joined(members, rows)]
        if len(refined) == len(classes):
            return classes
        classes = sorted(refined)


def near_stages(classes: Sequence[Sequence[int]]) -> str:
    """Which stages (from 1) may be equal, in words; nothing if there are none."""
    named = [", ".join(str(i + 1) for i in members) for members in classes if len(members) > 1]
    return "; ".join(f"stages {members} are equal within the roundings" for members in named)


def _joined(members: Sequence[int], rows: Sequence[Sequence[tuple[Any, Any]]]) -> list[list[int]]:
    """The members that are joined by a chain of rows which agree; a row is of pairs (value, error)."""

    def near(i: int, k: int) -> bool:
        return all(abs(x - y) <= dx + dy for (x, dx), (y, dy) in zip(rows[i], rows[k], strict=True))

    parts: list[list[int]] = []
    for i in members:
        touched = [part for part in parts if any(near(i, k) for k in part)]
        parts = [part for part in parts if part not in touched] + [sorted(sum(touched, [i]))]
    return parts


def merge(A: Rows, b: Vector, classes: Sequence[Sequence[int]]) -> tuple[Rows, Vector]:
    """The method with one stage for each class of equal stages."""
    merged = tuple(tuple(total(A[members[0]][j] for j in columns) for columns in classes) for members in classes)
    return merged, tuple(total(b[i] for i in members) for members in classes)


def are_equivalent(first: Method, second: Method) -> bool:
    """Whether two methods have the same B-series, that is, are one map on every differential equation.

    After merging equal stages and leaving out unused ones this is equality up to the numbering of stages.
    """
    left, right = forms_of(first), forms_of(second)
    if len(left) != len(right):
        return False
    unified = in_one_field(*left, *right)
    left, right = unified[: len(left)], unified[len(left) :]
    if all(form.modulus is None for form in left + right):
        sums = [direct_sum(x, y) for x, y in zip(left, right, strict=True)]
        classes = equal_stages([form.operator for form in sums])
        return all(total(form.weights[i] for i in members) == 0 for form in sums for members in classes)
    difference = [x.weights + tuple(-w for w in y.weights) for x, y in zip(left, right, strict=True)]
    vectors = generated(left, right)
    return all(dot(weights, u) == 0 for u in vectors for weights in difference)


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


def _like(method: Method, A: Sequence[Sequence[Any]], b: Sequence[Any], remark: str) -> Method:
    method = resolve(method)
    if isinstance(method, ButcherTableau):
        name = f"{method.name}, {remark}"
        return ButcherTableau(A, b, name=name, source=method.source, digits=method.digits, is_float=method.is_float)
    return stagewise(A, b)


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


def _merged_form(method: Method, form: StageForm) -> Method:
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


def _without_unused(method: Method, form: StageForm) -> Method:
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
