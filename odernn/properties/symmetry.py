"""Adjoint, transposed, symplectically conjugate and composed methods, and which methods are symmetric: exactly.

    adjoint                a*_ij = b_{s+1−j} − a_{s+1−i,s+1−j},   b*_j = b_{s+1−j}      Φ*_h = Φ_{−h}⁻¹
    symmetric              Φ* = Φ
    transposed             Aᵗ = B⁻¹AᵀB,          bᵗ = b
    symplectic conjugate   Â = 1bᵀ − B⁻¹AᵀB,     b̂ = b       the partner that makes ((A, b), (Â, b)) symplectic

Hairer, Lubich, Wanner 2006, Theorem V.2.3 and eq. (VI.4.3); Scherer, Türke, Reflected and transposed Runge–Kutta
methods, BIT 23 (1983) 262–266. Nothing that a source declares about a method is handed on to a derived one.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq, fmpq_poly

from odernn.certificate import Certificate
from odernn.exact.coefficients import subscript
from odernn.exact.linear_algebra import Rows, Vector, entrywise, inverse, matrix_vector, outer, product, transposed
from odernn.exact.polynomials import monic, shift_reflect
from odernn.properties.reducibility import are_equivalent, equal_stages
from odernn.tableaus.families import PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, about_given, direct_sum, form_of, in_stages, is_exact, resolve
from odernn.tableaus.stages import StageForm, stagewise
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Tableau, composed

PROPERTY = "symmetric"
UNKNOWN: Any = None  # the declared order of a derived method: nobody has declared one


def adjoint_coefficients(A: Rows, b: Vector) -> tuple[Rows, Vector]:
    """a*_ij = b_{s+1−j} − a_{s+1−i,s+1−j},   b*_j = b_{s+1−j}: 1bᵀ − A with the stages numbered backwards."""
    s = len(b)
    A_star = tuple(tuple(b[s - 1 - j] - A[s - 1 - i][s - 1 - j] for j in range(s)) for i in range(s))
    return A_star, b[::-1]


def transposed_operator(form: StageForm) -> Rows:
    """B⁻¹AᵀB, B = diag(b), in any basis G⁻¹A'ᵀG. Raises ZeroDivisionError if a weight is 0."""
    A, B = form.operator, form.gram
    return product(inverse(B), product(transposed(A), B))


def symmetry(method: Method) -> Certificate:
    """Whether the method equals its adjoint, up to the numbering of stages and stages that do not matter.

    ``witness`` tells the partner of each stage where they pair off; else the stages, from 1, that have none.
    """
    method = in_stages(method)
    other = adjoint(method)
    if not isinstance(method, ButcherTableau | PartitionedTableau):
        holds = are_equivalent(method, other)
        sign_ = "=" if holds else "≠"
        return Certificate(PROPERTY, holds, True, None, f"method {sign_} adjoint in the basis of polynomials")
    tables = _halves(method)
    lonely, order = _partners(tables, _halves(other))
    if not lonely:
        text = "a_ij + a_σ(i)σ(j) = b_j, b_σ(j) = b_j"
        if order is None:
            certificate = Certificate(PROPERTY, True, True, None, "adjoint = method after merging equal stages")
        else:
            certificate = Certificate(PROPERTY, True, True, order, f"{text} for σ = ({', '.join(map(str, order))})")
        return about_given(method, certificate)
    text = f"no stage of the adjoint equals stage {lonely[0]}"
    explicit = all(table.is_explicit and sum(table.b, fmpq(0)) != 0 for table in tables)
    if is_exact(method) or (explicit and len(tables) == 1):
        return Certificate(PROPERTY, False, True, lonely, text)
    return Certificate(PROPERTY, None, False, lonely, f"{text}, but the coefficients are rounded")


def adjoint(method: Method) -> Method:
    """Φ*_h = Φ_{−h}⁻¹. A partitioned method gives the pair of adjoints; in the basis of polynomials x becomes 1 − x."""
    method = resolve(method)
    if isinstance(method, PartitionedTableau):
        position, momentum = (_adjoint(half, f"{half.name}, adjoint") for half in (method.position, method.momentum))
        return PartitionedTableau(f"{method.name}, adjoint", method.source, position, momentum)
    if isinstance(method, ButcherTableau):
        return _adjoint(method, f"{method.name}, adjoint")
    if isinstance(method, PolynomialPair):
        first, second = (_polynomial(half, "adjoint", _adjoint_form(half.form)) for half in _halves(method))
        return PolynomialPair(f"{method.name}, adjoint", first, second, order=UNKNOWN, source=method.source)
    return _polynomial(method, "adjoint", _adjoint_form(form_of(method)))


def transpose(method: Method) -> Method:
    """(B⁻¹AᵀB, b). Raises ValueError if a weight is 0, for then there is none."""
    return _derived(method, "transposed", _transposed_operator(method))


def symplectic_conjugate(method: Method) -> Method:
    """(1bᵀ − B⁻¹AᵀB, b): Lobatto IIIB of Lobatto IIIA. Raises ValueError if a weight is 0, for then there is none."""
    form = form_of(method)
    rows = entrywise(lambda x, y: x - y, outer(form.one, form.weights), _transposed_operator(method))
    return _derived(method, "symplectic conjugate", rows)


def composition(first: Tableau, second: Tableau, fractions: Any = (1, 1), name: str | None = None) -> Tableau:
    """A step of ``first`` with h times the first fraction, then one of ``second`` with h times the second."""
    parts = list(zip((first, second), fractions, strict=True))
    return composed(parts, name or f"{first.name}, then {second.name}")


def _halves(method: Method) -> tuple[Any, ...]:
    """Position and momentum, or the one method itself."""
    if isinstance(method, PartitionedTableau | PolynomialPair):
        return (method.position, method.momentum)
    return (method,)


def _partners(
    tables: tuple[ButcherTableau, ...], adjoints: tuple[ButcherTableau, ...]
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The stages whose class carries a weight in the difference, and where there are none the pairing i ↦ σ(i)."""
    s = tables[0].stages
    sums = [direct_sum(t.form, a.form) for t, a in zip(tables, adjoints, strict=True)]
    classes = equal_stages([form.operator for form in sums])
    lonely = [
        i % s + 1
        for members in classes
        for i in members
        if any(sum((form.weights[k] for k in members), fmpq(0)) != 0 for form in sums)
    ]
    if lonely:
        return tuple(sorted(set(lonely))), None
    if any(len(members) != 2 for members in classes):
        return (), None
    pairs = sorted((i, k - s) for i, k in classes)
    return (), tuple(s - k for _, k in pairs)  # the adjoint numbers its stages backwards


def _adjoint(table: ButcherTableau, name: str) -> ButcherTableau:
    return _table(table, *adjoint_coefficients(table.A, table.b), name)


def _table(like: ButcherTableau, A: Any, b: Any, name: str) -> ButcherTableau:
    return ButcherTableau(A, b, name=name, source=like.source, digits=like.digits, is_float=like.is_float)


def _adjoint_form(form: StageForm) -> StageForm:
    if form.modulus is None:
        return stagewise(*adjoint_coefficients(form.operator, form.weights))
    rows = entrywise(lambda x, y: x - y, outer(form.one, form.weights), form.operator)
    powers = [shift_reflect((fmpq(0),) * k + (fmpq(1),)) for k in range(form.dimension)]
    reflect = transposed([p + (fmpq(0),) * (form.dimension - len(p)) for p in powers])  # u(x) ↦ u(1 − x)
    modulus = fmpq_poly(list(monic(shift_reflect(tuple(form.modulus.coeffs())))))
    operator = product(reflect, product(rows, reflect))
    weights = matrix_vector(transposed(reflect), form.weights)
    gram = product(transposed(reflect), product(form.gram, reflect))
    return StageForm(operator, weights, matrix_vector(reflect, form.one), gram, modulus)


def _transposed_operator(method: Method) -> Rows:
    """B⁻¹AᵀB. Raises ValueError if there is none."""
    form = form_of(method)
    try:
        return transposed_operator(form)
    except ZeroDivisionError:
        zero = [subscript(j) for j, weight in enumerate(form.weights, 1) if form.modulus is None and weight == 0]
        where = f"b{zero[0]} = 0" if zero else "a weight is 0"
        raise ValueError(f"{resolve(method)!r} has no transposed method: {where}, and B⁻¹AᵀB divides by it.") from None


def _derived(method: Method, remark: str, operator: Rows) -> Method:
    method = resolve(method)
    if isinstance(method, ButcherTableau):
        return _table(method, operator, method.b, f"{method.name}, {remark}")
    form = form_of(method)
    return _polynomial(method, remark, StageForm(operator, form.weights, form.one, form.gram, form.modulus))


def _polynomial(method: Method, remark: str, form: StageForm) -> Method:
    """The same kind of thing with another form."""
    if not isinstance(method, PolynomialTableau):
        return form
    name, family = (f"{label}, {remark}" for label in (method.name, method.family))
    return PolynomialTableau(name, family, method.stages, form, UNKNOWN, method.source)
