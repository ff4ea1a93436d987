"""Which Runge-Kutta methods are symplectic: an exact decision.

A method (A, b) preserves every quadratic invariant, hence the symplectic form, if

    M = BA + AᵀB − bbᵀ = 0,   B = diag(b),    i.e.   b_i a_ij + b_j a_ji − b_i b_j = 0     (VI.4.2)

and a partitioned method ((A, b), (Â, b̂)) if

    b_i â_ij + b̂_j a_ji − b_i b̂_j = 0     (VI.4.3)      and      b = b̂     (VI.4.4)

in Hairer, Lubich, Wanner 2006, Theorems VI.4.3 and VI.4.6; on separable Hamiltonians T(z) + V(y) (VI.4.3) alone
suffices. The conditions are also necessary once equal stages are merged (Theorem VI.7.10), so a violated one is
reported as "not symplectic" only after merging. On polynomials modulo the node polynomial the matrices are GA' + A'ᵀG
− wwᵀ and GÂ' + A'ᵀĜ − wŵᵀ, and merging means to look only at vectors that are constant on equal stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odernn.certificate import Certificate
from odernn.exact.coefficients import subscript
from odernn.exact.linear_algebra import ZERO, Rows, Vector, dot, entrywise, matrix_vector, outer, product, transposed
from odernn.exact.text import equals
from odernn.properties.equal_within_rounding import near_stages, possibly_equal_stages
from odernn.properties.generated_spaces import generated
from odernn.properties.reducibility import equal_stages
from odernn.tableaus.methods import Method, about_given, forms_of, in_stages, is_exact, roundings
from odernn.tableaus.stages import StageForm, stagewise
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Q

PROPERTY = "symplectic"
SEPARABLE_ONLY = "; symplectic on separable systems only"


def residual(position: StageForm, momentum: StageForm) -> Rows:
    """BÂ + AᵀB̂ − bb̂ᵀ, B = diag(b)   (VI.4.3), of one method BA + AᵀB − bbᵀ   (VI.4.2): 0 if it is symplectic.

    Entry (i, j) is b_i â_ij + b̂_j a_ji − b_i b̂_j. In any basis the same with G for B and w for b.
    """
    A, B, b = position.operator, position.gram, position.weights
    A_hat, B_hat, b_hat = momentum.operator, momentum.gram, momentum.weights
    return entrywise(lambda x, y, z: x + y - z, product(B, A_hat), product(transposed(A), B_hat), outer(b, b_hat))


def symplecticity(method: Method, *, separable: bool = False) -> Certificate:
    """Whether the method is symplectic on every Hamiltonian system, or with ``separable`` on every T(z) + V(y).

    ``value`` is the defect, the entry of largest size in the violated condition, and ``witness`` its place (i, j)
    counted from 1, or (i,) for b_i ≠ b̂_i; places refer to the method after merging equal stages. A defect that
    rounded coefficients can explain leaves the question undecided.
    """
    method = in_stages(method)
    if not isinstance(method, ButcherTableau | PartitionedTableau):
        return _in_any_basis(forms_of(method), separable=separable)
    tables = (method, method) if isinstance(method, ButcherTableau) else (method.position, method.momentum)
    position, momentum = (_Half(table.A, table.b, *roundings(table)) for table in tables)
    merged = False
    if _violation(position, momentum, separable=separable) is not None:
        position, momentum, merged = _merge(position, momentum, separable=separable)
    violation = _violation(position, momentum, separable=separable)
    remark = " after merging equal stages" if merged else ""
    if violation is None:
        certificate = Certificate(PROPERTY, True, True, None, f"defect = 0{remark}", value=Q(0))
        return about_given(method, certificate)
    place, defect, slack = violation
    formula = f"{_formula(place, partitioned=isinstance(method, PartitionedTableau))} {equals(defect)}{remark}"
    if len(place) == 1:
        formula += SEPARABLE_ONLY
    if abs(defect) <= slack:
        formula += f", but the coefficients are rounded: it may be off by {float(slack):.1g}"
        return Certificate(PROPERTY, None, False, place, formula, margin=abs(defect), value=defect)
    if not is_exact(method):
        halves = [_Half(table.A, table.b, *roundings(table)) for table in tables]
        near = _explained_by_near_stages(halves[0], halves[1], separable=separable)
        if near is not None:
            formula += f", but {near or 'the coefficients are rounded'}"
            return Certificate(PROPERTY, None, False, place, formula, margin=abs(defect), value=defect)
    return Certificate(PROPERTY, False, True, place, formula, value=defect)


@dataclass(frozen=True)
class _Half:
    """(A, b) with the possible errors of both; ``classes`` are of the stages that A's columns and b belong to."""

    A: Rows
    b: Vector
    errors: Rows
    weight_errors: Vector

    @property
    def form(self) -> StageForm:
        return stagewise(self.A, self.b)

    def merged(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> _Half:
        def sums(S: Rows, leaders: Sequence[Sequence[int]]) -> Rows:
            return tuple(tuple(sum((S[i[0]][j] for j in js), ZERO) for js in columns) for i in leaders)

        every = [range(1)]
        b, weight_errors = ((w,) for w in (self.b, self.weight_errors))
        return _Half(sums(self.A, rows), sums(b, every)[0], sums(self.errors, rows), sums(weight_errors, every)[0])


def _violation(position: _Half, momentum: _Half, *, separable: bool) -> tuple[tuple[int, ...], Any, Any] | None:
    """Place (from 1), size and possible error of the worst violation of (VI.4.3), else of (VI.4.4), else ``None``.

    One that rounding cannot explain comes before one that it can.
    """
    violations: list[tuple[tuple[int, ...], Any, Any]] = [
        ((i + 1, j + 1), defect, _coupling_error(position, momentum, i, j))
        for i, row in enumerate(residual(position.form, momentum.form))
        for j, defect in enumerate(row)
        if defect != 0
    ]
    if not violations and not separable:
        weights = zip(position.b, momentum.b, position.weight_errors, momentum.weight_errors, strict=True)
        violations = [((i,), x - y, dx + dy) for i, (x, y, dx, dy) in enumerate(weights, 1) if x != y]
    return max(violations, key=lambda entry: (abs(entry[1]) > entry[2], abs(entry[1])), default=None)


def _explained_by_near_stages(position: _Half, momentum: _Half, *, separable: bool) -> str | None:
    """``None`` if no method that may be meant is symplectic, else which stages may be equal in one that is, if any are.

    Where stages are equal the conditions are those on the sums over equal stages; so the sums over all that may be
    equal vanish for every symplectic method that may be meant.
    """
    Y, Z = _classes(position, momentum, separable=separable, near=True)
    b, b_hat = position.b, momentum.b
    defects = residual(position.form, momentum.form)
    for rows in Z:
        for columns in Y:
            defect = slack = ZERO
            for i in rows:
                for j in columns:
                    defect += defects[i][j]
                    slack += _coupling_error(position, momentum, i, j)
            if abs(defect) > slack:
                return None
    for members in () if separable else Z:
        difference = sum((b[i] - b_hat[i] for i in members), ZERO)
        if abs(difference) > sum((position.weight_errors[i] + momentum.weight_errors[i] for i in members), ZERO):
            return None
    return near_stages(Z if len(Z) < len(b) else Y)


def _coupling_error(position: _Half, momentum: _Half, i: int, j: int) -> Any:
    """How far b_i â_ij + b̂_j a_ji − b_i b̂_j may be off."""
    x, dx, y, dy = position.b[i], position.weight_errors[i], momentum.b[j], momentum.weight_errors[j]
    a, da, a_hat, da_hat = position.A[j][i], position.errors[j][i], momentum.A[i][j], momentum.errors[i][j]
    pairs = ((x, dx, a_hat, da_hat), (y, dy, a, da), (x, dx, y, dy))
    return sum((abs(p) * dq + abs(q) * dp + dp * dq for p, dp, q, dq in pairs), ZERO)


def _merge(position: _Half, momentum: _Half, *, separable: bool) -> tuple[_Half, _Half, bool]:
    """Equal stages merged. On separable systems f reads Z_i and g reads Y_i: each may be equal without the other."""
    s = len(position.b)
    Y, Z = _classes(position, momentum, separable=separable, near=False)
    return position.merged(Y, Z), momentum.merged(Z, Y), len(Y) + len(Z) < 2 * s


def _classes(
    position: _Half, momentum: _Half, *, separable: bool, near: bool
) -> tuple[list[list[int]], list[list[int]]]:
    """The classes of equal Y_i and of equal Z_i, with ``near`` of those that may be equal."""

    def equal(matrices: Sequence[Rows], errors: Sequence[Rows], apart: Sequence[int] | None = None) -> list[list[int]]:
        return possibly_equal_stages(matrices, errors, apart) if near else equal_stages(matrices, apart)

    s = len(position.b)
    if not separable:
        classes = equal((position.A, momentum.A), (position.errors, momentum.errors))
        return classes, classes
    zeros = (ZERO,) * s
    both, errors = (
        tuple(zeros + row for row in of_momentum) + tuple(row + zeros for row in of_position)  # Z_1 … Z_s, Y_1 … Y_s
        for of_momentum, of_position in ((momentum.A, position.A), (momentum.errors, position.errors))
    )
    classes = equal((both,), (errors,), [0] * s + [1] * s)
    Z = [members for members in classes if members[0] < s]
    Y = [[i - s for i in members] for members in classes if members[0] >= s]
    return Y, Z


def _in_any_basis(forms: Sequence[StageForm], *, separable: bool) -> Certificate:
    position, momentum = forms[0], forms[-1]
    coupling = residual(position, momentum)
    weights = tuple(x - y for x, y in zip(position.weights, momentum.weights, strict=True))
    merged = ""
    vectors = None
    if any(x != 0 for row in coupling for x in row) or any(x != 0 for x in weights):
        vectors = generated(forms)
        if len(vectors) < position.dimension:
            coupling = tuple(tuple(dot(u, matrix_vector(coupling, v)) for v in vectors) for u in vectors)
            weights = tuple(dot(weights, u) for u in vectors)
            merged = " after merging equal stages"
    entries = [((i, j), x) for i, row in enumerate(coupling, 1) for j, x in enumerate(row, 1)]
    place, defect = max(entries, key=lambda entry: abs(entry[1]))
    if defect != 0:
        formula = f"entry {place} of GÂ + AᵀĜ − wŵᵀ {equals(defect)} in the basis 1, x, …{merged}"
        return Certificate(PROPERTY, False, True, place, formula, value=defect)
    i, defect = max(enumerate(weights, 1), key=lambda entry: abs(entry[1]))
    if defect != 0 and not separable:
        formula = f"entry {i} of w − ŵ {equals(defect)} in the basis 1, x, …{merged}{SEPARABLE_ONLY}"
        return Certificate(PROPERTY, False, True, (i,), formula, value=defect)
    return Certificate(PROPERTY, True, True, None, f"defect = 0{merged}", value=Q(0))


def _formula(place: tuple[int, ...], *, partitioned: bool) -> str:
    i, ij, ji = subscript(place[0]), subscript(*place), subscript(*reversed(place))
    if len(place) == 1:
        return f"b{i} − b̂{i}"
    j = subscript(place[1])
    if partitioned:
        return f"b{i}â{ij} + b̂{j}a{ji} − b{i}b̂{j}"
    return f"b{i}a{ij} + b{j}a{ji} − b{i}b{j}"
