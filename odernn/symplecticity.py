"""Which Runge-Kutta methods are symplectic: an exact decision.

A method (A, b) preserves every quadratic invariant, hence the symplectic form, if

    M = BA + AᵀB − bbᵀ = 0,   B = diag(b),    i.e.   b_i a_ij + b_j a_ji − b_i b_j = 0     (VI.4.2)

and a partitioned method ((A, b), (Â, b̂)) if

    b_i â_ij + b̂_j a_ji − b_i b̂_j = 0     (VI.4.3)      and      b = b̂     (VI.4.4)

in Hairer, Lubich, Wanner 2006, Theorems VI.4.3 and VI.4.6. The conditions are also necessary once equal
stages are merged (Theorem VI.7.10), so a violated one is reported as "not symplectic" only after merging.
"""

from __future__ import annotations

from odernn.certificate import Certificate
from odernn.tableau import ButcherTableau, Matrix, PartitionedTableau, Q, Row, subscript, total

PROPERTY = "symplectic"


def symplecticity(tableau: ButcherTableau | PartitionedTableau) -> Certificate:
    """Whether the method is symplectic on every Hamiltonian system.

    ``value`` is the defect, the entry of largest size in the violated condition, and ``witness`` its place
    (i, j) counted from 1, or (i,) for b_i ≠ b̂_i; places refer to the method after merging equal stages.
    """
    A, b, A_hat, b_hat = _coefficients(tableau)
    merged = False
    if _violation(A, b, A_hat, b_hat) is not None:
        classes = _equal_stages((A, A_hat))
        merged = len(classes) < len(b)
        A, b = _merge(A, b, classes)
        A_hat, b_hat = _merge(A_hat, b_hat, classes)
    violation = _violation(A, b, A_hat, b_hat)
    remark = " after merging equal stages" if merged else ""
    if violation is None:
        return Certificate(PROPERTY, True, True, None, f"defect = 0{remark}", value=Q(0))
    place, defect = violation
    formula = f"{_formula(place, partitioned=isinstance(tableau, PartitionedTableau))} = {defect}{remark}"
    if len(place) == 1:
        formula += "; symplectic on separable systems only"
    return Certificate(PROPERTY, False, True, place, formula, value=defect)


def _coefficients(tableau: ButcherTableau | PartitionedTableau) -> tuple[Matrix, Row, Matrix, Row]:
    if isinstance(tableau, PartitionedTableau):
        return tableau.position.A, tableau.position.b, tableau.momentum.A, tableau.momentum.b
    return tableau.A, tableau.b, tableau.A, tableau.b


def _violation(A: Matrix, b: Row, A_hat: Matrix, b_hat: Row) -> tuple[tuple[int, ...], Q] | None:
    """Place (from 1) and size of the worst violation of (VI.4.3), else of (VI.4.4), else ``None``."""
    stages = range(len(b))
    coupling = [
        ((i + 1, j + 1), b[i] * A_hat[i][j] + b_hat[j] * A[j][i] - b[i] * b_hat[j])
        for i in stages
        for j in stages
    ]
    weights = [((i + 1,), b[i] - b_hat[i]) for i in stages]
    for entries in (coupling, weights):
        place, defect = max(entries, key=lambda entry: abs(entry[1]))
        if defect != 0:
            return place, defect
    return None


def _equal_stages(matrices: tuple[Matrix, ...]) -> list[list[int]]:
    """The coarsest classes of stages that coincide on every differential equation.

    Stages i and k coincide iff each class K has Σ_{j∈K} a_ij = Σ_{j∈K} a_kj. Starting from one class and
    splitting until this holds gives the coarsest such partition (S-reducibility, Hairer, Wanner 1996,
    Definition IV.12.17).
    """
    classes = [list(range(len(matrices[0])))]
    while True:
        signatures: dict[tuple[Q, ...], list[int]] = {}
        for i in range(len(matrices[0])):
            sums = tuple(total(A[i][j] for j in members) for A in matrices for members in classes)
            signatures.setdefault(sums, []).append(i)
        refined = list(signatures.values())
        if len(refined) == len(classes):
            return refined
        classes = refined


def _merge(A: Matrix, b: Row, classes: list[list[int]]) -> tuple[Matrix, Row]:
    """The method with one stage for each class of equal stages."""
    merged = tuple(
        tuple(total(A[members[0]][j] for j in columns) for columns in classes) for members in classes
    )
    return merged, tuple(total(b[i] for i in members) for members in classes)


def _formula(place: tuple[int, ...], *, partitioned: bool) -> str:
    i, ij, ji = subscript(place[0]), subscript(*place), subscript(*reversed(place))
    if len(place) == 1:
        return f"b{i} − b̂{i}"
    j = subscript(place[1])
    if partitioned:
        return f"b{i}â{ij} + b̂{j}a{ji} − b{i}b̂{j}"
    return f"b{i}a{ij} + b{j}a{ji} − b{i}b{j}"
