"""Gauss, Radau and Lobatto methods with any number of stages, exactly, without their irrational abscissae.

The abscissae c_1, …, c_s are the roots of a rational polynomial P. A stage vector u is the polynomial u(x) of degree
below s with u(c_i) = u_i, so A is a linear map and b a functional on Q[x]/(P), and both are **rational** for every
family: collocation is ``A u = ∫₀ˣ u mod P``, and the others follow from it. docs/derivations/collocation.md.

    >>> from odernn.tableaus.families import gauss
    >>> gauss(2).form.operator                      # A·1 = x,  A·x = x²/2 = (x − 1/6)/2 mod P
    ((0, -1/12), (1, 1/2))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import flint
from flint import arb, fmpq, fmpq_mat, fmpq_poly

from odernn import notebook
from odernn.exact import coefficients
from odernn.exact.algebraic import Scalar, quadratic_root, real_roots
from odernn.exact.linear_algebra import Rows, Vector
from odernn.published.sources import Source
from odernn.tableaus.stages import StageForm
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

X = fmpq_poly([0, 1])


@dataclass(frozen=True)
class Enclosures:
    """Balls around the coefficients; ``nodes`` are the abscissae of the quadrature, ``c`` the row sums of A."""

    A: Rows
    b: Vector
    c: Vector
    nodes: Vector


@dataclass(frozen=True, eq=False)
class PolynomialTableau:
    """An s-stage method of a family, as the rational linear algebra ``form`` on polynomials modulo ``form.modulus``.

    ``order`` is declared by the source and only to be compared. The stages are ordered by increasing abscissa.
    """

    name: str
    family: str
    stages: int
    form: StageForm
    order: int
    source: Source

    digits = None
    is_float = False
    is_exact = True

    @property
    def modulus(self) -> fmpq_poly:
        """P, monic, whose roots are the abscissae of the quadrature."""
        assert self.form.modulus is not None
        return self.form.modulus

    @property
    def is_consistent(self) -> bool:
        """Σ b_i = 1."""
        return bool(self.form.weigh(self.form.one) == 1)

    def enclosures(self, bits: int = 128) -> Enclosures:
        """Balls around A, b, c, with ``bits`` correct bits or more; entries that are 0 by their formula are exact."""
        # Lagrange polynomials on s nodes have coefficients of about 6ˢ: 2.6 s bits are lost, and 12 s are at hand.
        working = bits + 12 * self.stages + 32
        with flint.ctx.workprec(working):
            nodes = _nodes(self.modulus)
            A, b = _on_stages(self.form, nodes)
            rows = tuple(tuple(arb(a) for a in entries) for entries in A)
            c = tuple(sum(entries, arb(0)) for entries in rows)
            return Enclosures(rows, tuple(map(arb, b)), c, tuple(map(arb, nodes)))

    def butcher(self) -> ButcherTableau:
        """The same method with its coefficients written out, if the abscissae lie in one quadratic field.

        Raises ValueError otherwise (Gauss above 3 stages, Radau above 3, Lobatto above 5); ``form`` serves all exact
        questions, ``rounded`` and ``enclosures`` all numerical ones.
        """
        nodes = _quadratic_nodes(self.modulus)
        if nodes is None:
            raise ValueError(
                f'Tableau "{self.name}": the roots of {self.modulus} do not lie in one quadratic field, so the '
                "coefficients are not written out. Use .form for exact questions, .enclosures(bits) for digits."
            )
        A, b = _on_stages(self.form, nodes)
        return ButcherTableau(A, b, name=self.name, source=self.source, order=self.order)

    def rounded(self) -> ButcherTableau:
        """The coefficients as the nearest doubles; the tableau's ``is_float`` says so."""
        digits = self.enclosures(128)
        A = [[float(a.mid()) for a in entries] for entries in digits.A]
        b = [float(weight.mid()) for weight in digits.b]
        return ButcherTableau(A, b, name=self.name, source=self.source, order=self.order)

    def __repr__(self) -> str:
        return f'PolynomialTableau("{self.name}", {self.stages} stages, {self.source})'

    def _repr_html_(self) -> str:
        return notebook.html("arrays", self)

    def _repr_latex_(self) -> str:
        return notebook.mathematics("arrays", self)


@dataclass(frozen=True, eq=False)
class PolynomialPair:
    """A partitioned method whose halves are written modulo one polynomial; ``PartitionedTableau`` is one of tables."""

    name: str
    position: PolynomialTableau
    momentum: PolynomialTableau
    order: int
    source: Source

    digits = None
    is_float = False
    is_exact = True

    @property
    def stages(self) -> int:
        return self.position.stages

    @property
    def forms(self) -> tuple[StageForm, StageForm]:
        """(position, momentum), both in the basis 1, x, …, x^{s−1}."""
        return self.position.form, self.momentum.form

    @property
    def is_consistent(self) -> bool:
        """Σ b_i = Σ b̂_i = 1."""
        return self.position.is_consistent and self.momentum.is_consistent

    def butcher(self) -> PartitionedTableau:
        """The same pair with its coefficients written out; ValueError as for ``PolynomialTableau.butcher``."""
        return PartitionedTableau(self.name, self.source, self.position.butcher(), self.momentum.butcher(), self.order)

    def rounded(self) -> PartitionedTableau:
        """The coefficients as the nearest doubles."""
        return PartitionedTableau(self.name, self.source, self.position.rounded(), self.momentum.rounded(), self.order)

    def __repr__(self) -> str:
        return f'PolynomialPair("{self.name}", {self.stages} stages, {self.source})'

    def _repr_html_(self) -> str:
        return notebook.html("arrays", self)

    def _repr_latex_(self) -> str:
        return notebook.mathematics("arrays", self)


# The abscissae. Hairer, Wanner 1996, Section IV.5, the formulas between (5.1) and (5.4).


def gauss_nodes(s: int) -> fmpq_poly:
    """dˢ/dxˢ xˢ(x − 1)ˢ, monic: the shifted Legendre polynomial."""
    return _derivative(X**s * (X - 1) ** s, s)


def radau_left_nodes(s: int) -> fmpq_poly:
    """d^{s−1}/dx^{s−1} xˢ(x − 1)^{s−1}, monic: c₁ = 0."""
    return _derivative(X**s * (X - 1) ** (s - 1), s - 1)


def radau_right_nodes(s: int) -> fmpq_poly:
    """d^{s−1}/dx^{s−1} x^{s−1}(x − 1)ˢ, monic: c_s = 1."""
    return _derivative(X ** (s - 1) * (X - 1) ** s, s - 1)


def lobatto_nodes(s: int) -> fmpq_poly:
    """d^{s−2}/dx^{s−2} x^{s−1}(x − 1)^{s−1}, monic: c₁ = 0 and c_s = 1."""
    return _derivative(X ** (s - 1) * (X - 1) ** (s - 1), s - 2)


def _derivative(polynomial: fmpq_poly, times: int) -> fmpq_poly:
    for _ in range(times):
        polynomial = polynomial.derivative()
    return polynomial / polynomial.leading_coefficient()


# The matrix. Columns are the coordinates of A·1, A·x, …, A·x^{s−1}.


def interpolatory(modulus: fmpq_poly, columns: Sequence[fmpq_poly]) -> StageForm:
    """The form with the quadrature bᵀu = ∫₀¹ (u mod P), which is B(s), and the given A·x^k."""
    s = int(modulus.degree())
    moments = [fmpq(1, k + 1) for k in range(s)]
    for m in range(s, 2 * s - 1):  # x^m = −Σ_j p_j x^{m−s+j} mod P
        moments.append(-sum((modulus[j] * moments[m - s + j] for j in range(s)), fmpq(0)))
    operator = tuple(tuple(column[i] for column in columns) for i in range(s))
    gram = tuple(tuple(moments[i + j] for j in range(s)) for i in range(s))
    one = (fmpq(1), *[fmpq(0)] * (s - 1))
    return StageForm(operator, tuple(moments[:s]), one, gram, modulus)


def collocation(modulus: fmpq_poly) -> StageForm:
    """C(s): A·x^k = x^{k+1}/(k+1) mod P."""
    return interpolatory(modulus, _integrals(modulus, int(modulus.degree())))


def transposed(form: StageForm) -> StageForm:
    """The symplectic conjugate, â_ij = b_j − b_j a_ji/b_i; it has D(s) if ``form`` has C(s).

    In coordinates Â' = 1wᵀ − G⁻¹A'ᵀG. Hairer, Lubich, Wanner 2006, eq. (VI.4.3).
    """
    G, A = fmpq_mat(form.gram), fmpq_mat(form.operator)
    conjugate = fmpq_mat([[x * w for w in form.weights] for x in form.one]) - G.solve(A.transpose() * G)
    return StageForm(_rows(conjugate), form.weights, form.one, form.gram, form.modulus)


def _rows(matrix: fmpq_mat) -> Rows:
    return tuple(map(tuple, matrix.tolist()))


def _integrals(modulus: fmpq_poly, count: int) -> list[fmpq_poly]:
    """∫₀ˣ x^k mod P for k < count."""
    return [X ** (k + 1) / (k + 1) % modulus for k in range(count)]


def _with_column(modulus: fmpq_poly, node: int, column: Callable[[fmpq_poly], fmpq_poly]) -> StageForm:
    """C(s − 1) and A e = column(e), where e is 1 at the rational abscissa ``node`` and 0 at the others."""
    s = int(modulus.degree())
    indicator = modulus // (X - node)
    indicator = indicator / indicator(fmpq(node))
    columns = _integrals(modulus, s - 1)
    known = sum((indicator[k] * columns[k] for k in range(s - 1)), fmpq_poly([0]))
    return interpolatory(modulus, [*columns, (column(indicator) - known) / indicator[s - 1]])


def _iiic(modulus: fmpq_poly) -> StageForm:
    """C(s − 1) and a_i1 = b_1."""
    return _with_column(modulus, 0, lambda e: fmpq_poly([e.integral()(fmpq(1))]))


def _iiic_star(modulus: fmpq_poly) -> StageForm:
    """C(s − 1) and a_is = 0."""
    return _with_column(modulus, 1, lambda e: fmpq_poly([0]))


def _iiif(modulus: fmpq_poly) -> StageForm:
    """C(s − 1) and ∫₀¹ p A x^{s−1} = ∫₀¹ p xˢ/s for every p of degree below s: Gauss's A' on other abscissae."""
    s = int(modulus.degree())
    return interpolatory(modulus, [*_integrals(modulus, s - 1), X**s / s % gauss_nodes(s)])


def _adjusted(form: Callable[[fmpq_poly], StageForm]) -> Callable[[fmpq_poly], StageForm]:
    """The symplectic conjugates of a family."""
    return lambda modulus: transposed(form(modulus))


def _mean(one: Callable[[fmpq_poly], StageForm], other: Callable[[fmpq_poly], StageForm]) -> Any:
    """The family with the mean matrix of two families that share their quadrature."""

    def form(modulus: fmpq_poly) -> StageForm:
        first, second = one(modulus), other(modulus)
        half = (fmpq_mat(first.operator) + fmpq_mat(second.operator)) / 2
        return StageForm(_rows(half), first.weights, first.one, first.gram, modulus)

    return form


@dataclass(frozen=True)
class _Family:
    name: str
    nodes: Callable[[int], fmpq_poly]
    form: Callable[[fmpq_poly], StageForm]
    order: Callable[[int], int]
    smallest: int
    source: Source

    def __call__(self, s: int) -> PolynomialTableau:
        _check_stages(self.name, s, self.smallest)
        return PolynomialTableau(f"{self.name} {s}", self.name, s, self.form(self.nodes(s)), self.order(s), self.source)


def _check_stages(family: str, s: int, smallest: int) -> None:
    if not isinstance(s, int) or isinstance(s, bool):
        raise TypeError(f'Family "{family}": the number of stages is {s!r}, but it is an int. Write e.g. {smallest}.')
    if s < smallest:
        raise ValueError(
            f'Family "{family}": there is no method with s = {s} stages; the smallest has s = {smallest}. '
            f'Write "{family} {smallest}" or more.'
        )


_BUTCHER = Source("butcher1964b", "Radau quadrature")
_JAY = Source("jay2015", "Section 2")
_FANGZONG = Source("fangzong2016", "pp. 6–10")

_ALL = (
    _Family("gauss", gauss_nodes, collocation, lambda s: 2 * s, 1, Source("hairer1996", "(IV.5.1), C(s)")),
    _Family("radau i", radau_left_nodes, collocation, lambda s: 2 * s - 1, 1, _BUTCHER),
    _Family(
        "radau ia",
        radau_left_nodes,
        _adjusted(collocation),
        lambda s: 2 * s - 1,
        1,
        Source("hairer1996", "(IV.5.2), D(s)"),
    ),
    _Family("radau ii", radau_right_nodes, _adjusted(collocation), lambda s: 2 * s - 1, 1, _BUTCHER),
    _Family(
        "radau iia", radau_right_nodes, collocation, lambda s: 2 * s - 1, 1, Source("hairer1996", "(IV.5.3), C(s)")
    ),
    _Family("lobatto iiia", lobatto_nodes, collocation, lambda s: 2 * s - 2, 2, Source("hairer1996", "(IV.5.4), C(s)")),
    _Family(
        "lobatto iiib",
        lobatto_nodes,
        _adjusted(collocation),
        lambda s: 2 * s - 2,
        2,
        Source("hairer1996", "(IV.5.4), D(s)"),
    ),
    _Family(
        "lobatto iiic",
        lobatto_nodes,
        _iiic,
        lambda s: 2 * s - 2,
        2,
        Source("hairer1996", "(IV.5.4), C(s-1) and a_i1 = b_1"),
    ),
    _Family("lobatto iiic*", lobatto_nodes, _iiic_star, lambda s: 2 * s - 2, 2, _JAY),
    _Family("lobatto iiid", lobatto_nodes, _mean(_iiic, _iiic_star), lambda s: 2 * s - 2, 2, _JAY),
    _Family("lobatto iiie", lobatto_nodes, _mean(collocation, _adjusted(collocation)), lambda s: 2 * s - 2, 2, _JAY),
    # The order is what the source declares, and not the order: docs/derivations/collocation.md.
    _Family("lobatto iiif", lobatto_nodes, _iiif, lambda s: 2 * s, 2, _FANGZONG),
    _Family("lobatto iiig", lobatto_nodes, _mean(_iiif, _adjusted(_iiif)), lambda s: 2 * s, 2, _FANGZONG),
)
_PAIR = "lobatto iiia-iiib"
FAMILIES = MappingProxyType({family.name: family for family in _ALL})
"""Every family of single methods by name."""


def gauss(s: int) -> PolynomialTableau:
    """Gauss, s ≥ 1: C(s) on the roots of the shifted Legendre polynomial. Order 2s."""
    return FAMILIES["gauss"](s)


def radau_i(s: int) -> PolynomialTableau:
    """Radau I of Butcher, s ≥ 1: c₁ = 0 and C(s). Order 2s − 1."""
    return FAMILIES["radau i"](s)


def radau_ia(s: int) -> PolynomialTableau:
    """Radau IA of Ehle, s ≥ 1: c₁ = 0 and D(s), the symplectic conjugate of Radau I. Order 2s − 1."""
    return FAMILIES["radau ia"](s)


def radau_ii(s: int) -> PolynomialTableau:
    """Radau II of Butcher, s ≥ 1: c_s = 1 and D(s), the symplectic conjugate of Radau IIA. Order 2s − 1."""
    return FAMILIES["radau ii"](s)


def radau_iia(s: int) -> PolynomialTableau:
    """Radau IIA of Ehle and Axelsson, s ≥ 1: c_s = 1 and C(s). Order 2s − 1."""
    return FAMILIES["radau iia"](s)


def lobatto_iiia(s: int) -> PolynomialTableau:
    """Lobatto IIIA, s ≥ 2: C(s). Order 2s − 2."""
    return FAMILIES["lobatto iiia"](s)


def lobatto_iiib(s: int) -> PolynomialTableau:
    """Lobatto IIIB, s ≥ 2: D(s), the symplectic conjugate of IIIA. Order 2s − 2."""
    return FAMILIES["lobatto iiib"](s)


def lobatto_iiic(s: int) -> PolynomialTableau:
    """Lobatto IIIC of Chipman, s ≥ 2: C(s − 1) and a_i1 = b_1. Order 2s − 2."""
    return FAMILIES["lobatto iiic"](s)


def lobatto_iiic_star(s: int) -> PolynomialTableau:
    """Lobatto IIIC*, Butcher's Lobatto III, s ≥ 2: C(s − 1) and a_is = 0, conjugate to IIIC. Order 2s − 2."""
    return FAMILIES["lobatto iiic*"](s)


def lobatto_iiid(s: int) -> PolynomialTableau:
    """Lobatto IIID, s ≥ 2: the mean of IIIC and IIIC*, symplectic. Order 2s − 2."""
    return FAMILIES["lobatto iiid"](s)


def lobatto_iiie(s: int) -> PolynomialTableau:
    """Lobatto IIIE, s ≥ 2: the mean of IIIA and IIIB, symplectic. Order 2s − 2."""
    return FAMILIES["lobatto iiie"](s)


def lobatto_iiif(s: int) -> PolynomialTableau:
    """Lobatto IIIF of Wang and Liao, s ≥ 2: Gauss's A' and R(z) on Lobatto's abscissae. Order 2s − 2, declared 2s."""
    return FAMILIES["lobatto iiif"](s)


def lobatto_iiig(s: int) -> PolynomialTableau:
    """Lobatto IIIG, s ≥ 2: the mean of IIIF and its symplectic conjugate, symplectic. Order 2s − 2, declared 2s."""
    return FAMILIES["lobatto iiig"](s)


def lobatto_pair(s: int) -> PolynomialPair:
    """Lobatto IIIA for the positions, IIIB for the momenta, s ≥ 2; Störmer–Verlet if s = 2. Order 2s − 2."""
    _check_stages(_PAIR, s, 2)
    source = Source("hairer2006", "Theorem IV.2.3 and Section VI.4.2")
    return PolynomialPair(f"{_PAIR} {s}", lobatto_iiia(s), lobatto_iiib(s), 2 * s - 2, source)


def named(name: str) -> PolynomialTableau | PolynomialPair | None:
    """The member of a family that a name such as "radau iia 5" says; ``None`` if it names no family.

    Raises ValueError if the family has no member with that many stages.
    """
    member = family_of(name)
    if member is None:
        return None
    family, s = member
    return lobatto_pair(s) if family == _PAIR else FAMILIES[family](s)


def family_of(name: str) -> tuple[str, int] | None:
    """("radau iia", 5) of "radau iia 5"; ``None`` if the name names no family."""
    match = re.fullmatch(r"\s*(.*?)\s+(-?\d{1,6})\s*", name.casefold())
    if match is None:
        return None
    family = " ".join(match[1].split())
    return (family, int(match[2])) if family == _PAIR or family in FAMILIES else None


# From polynomials back to stages.


def _on_stages(form: StageForm, nodes: Sequence[Any]) -> tuple[Rows, Vector]:
    """(A, b): column j of A is A ℓ_j at the nodes, and b_j = bᵀℓ_j, with ℓ_j the Lagrange polynomials.

    The nodes are balls or exact scalars. A rational node gives exact polynomials, so an entry 0 stays an exact 0.
    """
    assert form.modulus is not None
    s = form.dimension
    columns, weights = [], []
    for node in nodes:
        ell = _lagrange(form.modulus, node)
        image = [_dot(form.operator[i], ell) for i in range(s)]
        columns.append([_value(image, other) for other in nodes])
        weights.append(_dot(form.weights, ell))
    return tuple(zip(*columns, strict=True)), tuple(weights)


def _lagrange(modulus: fmpq_poly, node: Any) -> list[Any]:
    """Coefficients of ℓ(x) = P(x)/((x − node) P'(node)), by synthetic division."""
    s = int(modulus.degree())
    quotient: list[Any] = [fmpq(1)] * s
    for k in range(s - 1, 0, -1):
        quotient[k - 1] = node * quotient[k] + modulus[k]
    scale = _value(quotient, node)
    return [coefficient / scale for coefficient in quotient]


def _value(coefficients: Sequence[Any], point: Any) -> Any:
    value: Any = fmpq(0)
    for coefficient in reversed(coefficients):
        value = value * point + coefficient
    return value


def _dot(u: Sequence[Any], v: Sequence[Any]) -> Any:
    return sum((x * y for x, y in zip(u, v, strict=True) if x != 0), fmpq(0))


def _nodes(modulus: fmpq_poly) -> list[Any]:
    """The roots of P, ascending, at the precision in force: rational ones exact, the others balls."""
    nodes: list[Any] = []
    for factor, _ in modulus.factor()[1]:
        monic = fmpq_poly(factor) / fmpq_poly(factor).leading_coefficient()
        nodes += [-monic[0]] if monic.degree() == 1 else real_roots(monic)
    return sorted(nodes, key=lambda node: float(arb(node).mid()))


def _quadratic_nodes(modulus: fmpq_poly) -> list[Scalar] | None:
    """The roots of P, ascending, if they are rational or lie in one quadratic field."""
    nodes: list[Scalar] = []
    for factor, _ in modulus.factor()[1]:
        monic = fmpq_poly(factor) / fmpq_poly(factor).leading_coefficient()
        if monic.degree() > 2:
            return None
        nodes += [-monic[0]] if monic.degree() == 1 else [quadratic_root(monic, 0), quadratic_root(monic, 1)]
    return sorted(nodes) if len(coefficients.fields(nodes)) < 2 else None
