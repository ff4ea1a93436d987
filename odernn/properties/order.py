"""The order of a method, decided exactly by rooted trees, with the first condition that fails.

A Runge–Kutta method has order p iff Φ(t) = 1/γ(t) for each tree t of order ≤ p (``trees`` says what these are);
Hairer, Nørsett, Wanner 1993, Theorem II.2.13; for partitioned methods Hairer, Lubich, Wanner 2006, Section III.2.2.

**Which trees are looked at.** Let C(η) and D(ζ) hold, e(t) = Φ(t) − 1/γ(t), and let t be a tree of order n.

1.  If a vertex of t other than the root has k − 1 leaves, k ≤ η, and no other children, then Φ and 1/γ of t are 1/k
    times those of the tree in which its parent has k leaves instead of it: e(t) = e(t')/k, t' of order n.
2.  If the root of t has k − 1 leaves, k ≤ ζ, and one other child u, then e(t) = (e(u) − e(t''))/k, where t'' of order n
    is u with k more leaves on its root.

t' and t'' come before t in the order of trees, and u has lower order. So if the conditions below order n hold, the
*first* failing tree of order n has neither shape: only the other trees are made and tested, and the failing tree that
is reported does not depend on η and ζ. If n ≤ η + ζ + 1 and n ≤ 2η + 2, only the bushy tree [τ, …, τ] is left: a tree
with one branch that is no leaf has at least 1 + ζ + (η + 1) vertices, one with two such branches at least 1 + 2(η + 1).
That is Butcher's theorem: B(p), C(η) and D(ζ) with p ≤ η + ζ + 1 and p ≤ 2η + 2 imply order p (Hairer, Wanner 1996,
Theorem IV.5.1). A pair of methods with the same c is treated alike, C with the matrix of the vertex; D and the colour
of the root need the same b too, for then it does not matter which of the two weighs the root.

**Rounded coefficients** (printed digits, floats) do not have the order that is meant. Each Φ(t) is enclosed in a ball
that holds its value for every method whose coefficients are within the radii of ``Rounding`` around the given ones, so
the tolerance of each condition follows from the digits, the number of stages and the size of the coefficients. A ball
without 1/γ(t) is a proof that no such method satisfies the condition; balls with 1/γ(t) are consistent with order p.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import enclosure
from odernn.exact.coefficients import row
from odernn.properties.elementary_weights import ElementaryWeights, FormSpace, exact_spaces
from odernn.properties.simplifying_assumptions import Assumptions, Rounding, rounding, short, vanishes
from odernn.properties.trees import CLOCKED, PARTITIONED, ROOTED, SEPARABLE, Family, Tree, tree_count, trees
from odernn.tableaus.methods import Method, about_given, form_of, forms_of, in_one_field, is_exact, resolve, roundings
from odernn.tableaus.stages import StageForm, stagewise
from odernn.tableaus.tableau import ButcherTableau

ALL_TREES = 20_000
"""With rounded coefficients all conditions of an order are tested if they are no more, else not the superfluous."""

MOST_ERRORS = 100_000
"""The largest number of error coefficients that ``principal_error`` computes."""


_NAMES = {
    ROOTED.links: "order",
    PARTITIONED.links: "order",
    SEPARABLE.links: "order on separable systems",
    CLOCKED.links: "order with these abscissae",
}


@dataclass(frozen=True)
class FailedCondition:
    """The tree of an order condition that fails, and by how much: ``residual`` = Φ(t) − 1/γ(t)."""

    tree: Tree
    residual: Any

    @property
    def weight(self) -> Any:
        """Φ(t)."""
        return self.residual + fmpq(1, self.tree.density)

    def __str__(self) -> str:
        expected = "1" if self.tree.density == 1 else f"1/{self.tree.density}"
        return f"Φ({self.tree}) − {expected} = {short(self.residual)}"


@dataclass(frozen=True)
class _System:
    """The kind of differential equation, and a form for each colour of its trees."""

    family: Family
    forms: tuple[StageForm, ...]

    def weights(self) -> ElementaryWeights:
        return ElementaryWeights(self.family.colours, exact_spaces(self.forms))

    def with_one_root(self) -> _System:
        """If all weights are the same, a root of the first colour stands for all of them."""
        if self.family == PARTITIONED and self.forms[0].weights == self.forms[1].weights:
            return replace(self, family=replace(self.family, roots=self.family.colours[:1]))
        return self

    def without_superfluous(self, given: Sequence[Assumptions], zero: Callable[[Any], bool]) -> Family:
        """The family without the trees that the module's docstring calls superfluous."""
        family = self.family
        if family == CLOCKED:
            return family
        nodes = zip(given[0].power(1), given[-1].power(1), strict=True)
        if not all(zero(c - c_hat) for c, c_hat in nodes):
            return family
        bushes = tuple(_largest(each.c, zero, len(self.forms[0].weights)) for each in given)
        leaves = family.leaves if family.links == SEPARABLE.links else family.colours[:1]
        family = replace(family, bushes=bushes, leaves=leaves)
        if any(form.weights != self.forms[0].weights for form in self.forms):
            return family
        return replace(family, lone=tuple(_largest(each.d, zero, len(self.forms[0].weights)) for each in given))


def _largest(residuals: Callable[[int], Sequence[Any]], zero: Callable[[Any], bool], limit: int) -> int:
    """The largest k ≤ limit for which the residuals of 1, …, k are zero."""
    return next((k - 1 for k in range(1, limit + 1) if not all(map(zero, residuals(k)))), limit)


def order(method: Method, *, c: Any = None, separable: bool = False, as_printed: bool = False) -> Certificate:
    """The order of a method as ``value``; ``witness`` is the first ``FailedCondition``, of order value + 1.

    c            abscissae that a program uses in f(t, y) where they are not A·1: then the order for y' = f(t, y)
    separable    a partitioned method on y' = f(z), z' = g(y) only
    as_printed   take rounded coefficients for the numbers meant

    ``holds`` says whether the order is at least 1. For rounded coefficients it is ``None``, ``value`` is the largest
    order with which they are consistent, and ``margin`` the largest residual of the conditions that count as satisfied.
    Compositions and partitioned methods are decided for general y' = f(y), or y' = f(y, z), z' = g(y, z).
    """
    system = _system(method, c, separable)
    name = _NAMES[system.family.links]
    value, failed = _exact_order(system)
    rounded = None if as_printed else rounding(method)
    if rounded is None:
        return Certificate(name, value >= 1, True, failed, str(failed), value=value)
    consistent, first, margin = _consistent_order(system, rounded)
    because = f"consistent with order {consistent} to {rounded.text}; as given exactly of order {value}: {failed}"
    return Certificate(name, None, False, first, because, margin=margin, value=consistent)


def embedded_order(tableau: ButcherTableau, *, as_printed: bool = False) -> Certificate:
    """The order of the embedded method (A, b̂). Raises ValueError if there is none."""
    embedded = tableau.embedded
    if embedded is None:
        raise ValueError(f'Tableau "{tableau.name}" has no embedded method. Give it b_hat, or ask for order(tableau).')
    return replace(order(embedded, as_printed=as_printed), property="embedded order")


def _system(method: Method, c: Any, separable: bool) -> _System:
    forms = forms_of(method)
    if len(forms) == 2:
        if c is not None:
            raise ValueError("A partitioned method for y' = f(y, z) has no abscissae of its own: leave out c.")
        return _System(SEPARABLE if separable else PARTITIONED, forms).with_one_root()
    if separable:
        raise ValueError("Only a partitioned method can be asked for its order on separable systems.")
    if c is None:
        return _System(ROOTED, forms)
    nodes = row(c, "c", "order")
    if forms[0].modulus is not None or len(nodes) != forms[0].dimension:
        raise ValueError(f"c has {len(nodes)} entries, but they belong to {forms[0].dimension} stages of a table.")
    zero = fmpq(0)
    clock = [[x if i == j else zero for j in range(len(nodes))] for i, x in enumerate(nodes)]  # Â1 = c
    timed, form = in_one_field(stagewise(clock, (zero,) * len(nodes)), forms[0])
    if timed.apply(timed.one) == form.apply(form.one):
        return _System(ROOTED, forms)
    return _System(CLOCKED, (stagewise(timed.operator, form.weights), form))


def _exact_order(system: _System) -> tuple[int, FailedCondition]:
    """Ends at 2s + 1 at the latest, for no quadrature with s real nodes integrates Π(x − c_i)²."""
    weights = system.weights()
    family = system.without_superfluous([Assumptions(FormSpace(form)) for form in system.forms], vanishes)
    eta, zeta = family.bushes[0], family.lone[0]
    # Butcher's theorem (the module's docstring): up to here only the bushy tree, the first of its order, is left.
    bare = min(eta + zeta + 1, 2 * eta + 2) if len(family.colours) == 1 else 0
    for n in itertools.count(1):
        for tree in itertools.islice(trees(n, family), 1 if n <= bare else None):
            residual = weights.residual(tree)
            if residual != 0:
                return n - 1, FailedCondition(tree, residual)
    raise AssertionError("unreachable")


def _consistent_order(system: _System, rounded: Rounding) -> tuple[int, FailedCondition | None, float]:
    """The largest order, at most 2s, with which the coefficients are consistent; first failure; largest residual."""
    margin, limit = 0.0, 2 * system.forms[0].dimension
    with rounded.working():
        spaces = rounded.spaces(system.forms)
        weights = ElementaryWeights(system.family.colours, spaces)
        fewer = system.without_superfluous([Assumptions(space) for space in spaces], vanishes)
        for n in range(1, limit + 1):
            family = system.family if tree_count(n, len(system.family.colours)) <= ALL_TREES else fewer
            for tree in trees(n, family):
                residual = weights.residual(tree)
                if not residual.contains(0):
                    return n - 1, FailedCondition(tree, system.weights().residual(tree)), margin
                margin = max(margin, abs(float(residual.mid())))
    return limit, None, margin


@dataclass(frozen=True)
class PrincipalError:
    """The leading term of the local error, h^{p+1} Σ T(t) F(t)(y₀) over the trees of order p + 1.

        T(t) = (Φ(t) − 1/γ(t))/σ(t) = −α(t) e(t)/(p + 1)!,     e(t) = 1 − γ(t)Φ(t)

    with F the elementary differentials and e, α as in Hairer, Nørsett, Wanner 1993, Section II.3; the sign is numerical
    minus exact solution. ``norm`` is a ball around ‖T‖₂, which Dormand and Prince 1980 minimise.
    """

    order: int
    terms: tuple[tuple[Tree, Any], ...]
    norm_squared: Any
    norm: Any


def principal_error(method: Method) -> Certificate:
    """The error coefficients of order p + 1 of a Runge–Kutta method, as ``value`` a ``PrincipalError``.

    Those of rounded coefficients belong to the numbers as given, with the order p with which they are consistent;
    ``exact`` then is false. Where there are more than ``MOST_ERRORS`` trees, ``holds`` and ``value`` are ``None``.
    """
    form_of(method)
    p = order(method)
    system = _system(method, None, separable=False)
    n = p.value + 1
    if tree_count(n) > MOST_ERRORS:
        because = f"there are {tree_count(n)} trees of order {n}; at most {MOST_ERRORS} are evaluated"
        return Certificate("principal error", None, False, None, because)
    weights = system.weights()
    terms = tuple((tree, weights.residual(tree) / tree.symmetry) for tree in trees(n))
    squared = sum((error * error for _, error in terms), fmpq(0))
    norm = enclosure(squared, 128).sqrt()
    error = PrincipalError(n, terms, squared, norm)
    because = f"‖T‖₂ = {float(norm.mid()):.6g} over {len(terms)} {'tree' if len(terms) == 1 else 'trees'} of order {n}"
    return Certificate("principal error", True if p.exact else None, p.exact, None, because, value=error)


def stiff_accuracy(method: Method) -> Certificate:
    """a_sj = b_j: the last stage is the new value. ``witness`` is (j, a_sj − b_j), j from 1.

    In a basis of polynomials the last stage is the one at 1, and j is a power of x. Hairer, Wanner 1996, Prop. IV.3.8.
    """
    form = form_of(method)
    last = _stage_at(form, 1)
    found = None if last is None else _first_difference(last, form)
    holds = last is not None and found is None
    because = "a_sj = b_j" if holds else "no abscissa is 1"
    if found is not None:
        because = f"a_sj − b_j = {short(found[1])} at j = {found[0]}"
    certificate = Certificate("stiffly accurate", holds, True, found, because)
    if found is None or is_exact(method):
        return about_given(method, certificate)
    differences = _last_row_differences(resolve(method))
    sure = next(((j, gap) for j, gap, slack in differences if abs(gap) > slack), None)
    if sure is not None:
        return replace(certificate, witness=sure, because=f"a_sj − b_j = {short(sure[1])} at j = {sure[0]}")
    text = f"{because}, but the coefficients are rounded"
    margin = max(abs(gap) for _, gap, _ in differences)
    return replace(certificate, holds=None, exact=False, because=text, margin=margin)


def _last_row_differences(tableau: ButcherTableau) -> list[tuple[int, Any, Any]]:
    """(j, a_sj − b_j, how far that may be off), j from 1."""
    errors, weight_errors = roundings(tableau)
    columns = zip(tableau.A[-1], tableau.b, errors[-1], weight_errors, strict=True)
    return [(j, a - b, da + db) for j, (a, b, da, db) in enumerate(columns, 1)]


def first_same_as_last(method: Method) -> Certificate:
    """a_1j = 0 and a_sj = b_j with s > 1: the last slope of a step is the first of the next."""
    form, stiff = form_of(method), stiff_accuracy(method)
    first = _stage_at(form, 0)
    explicit = first is not None and all(a == 0 for a in first)
    holds = bool(stiff) and explicit and form.dimension > 1
    because = f"a_1j = 0, {stiff.because}" if explicit else "a_1j ≠ 0 for some j"
    if form.dimension == 1:
        because = "one stage only"
    certificate = Certificate("fsal", holds, True, stiff.witness, because)
    if is_exact(method) or form.dimension == 1 or stiff.holds is False:
        return certificate
    if not explicit:
        errors = roundings(resolve(method))[0][0]
        if any(abs(a) > da for a, da in zip(resolve(method).A[0], errors, strict=True)):
            return certificate
        because += ", but the coefficients are rounded"
    if holds:
        return about_given(method, certificate)
    return replace(certificate, holds=None, exact=False, because=because, margin=stiff.margin)


def _stage_at(form: StageForm, end: int) -> Sequence[Any] | None:
    """The first (end 0) or last (end 1) row of A; of polynomials the functional (A u)(end), if end is an abscissa."""
    if form.modulus is None:
        return form.operator[-end]
    if form.modulus(fmpq(end)) != 0:
        return None
    return form.operator[0] if end == 0 else [sum(column, fmpq(0)) for column in zip(*form.operator, strict=True)]


def _first_difference(row_of_A: Sequence[Any], form: StageForm) -> tuple[int, Any] | None:
    shift = form.modulus is None
    pairs = enumerate(zip(row_of_A, form.weights, strict=True))
    return next(((j + shift, a - b) for j, (a, b) in pairs if a != b), None)
