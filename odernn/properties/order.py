"""The order of a method, decided exactly by rooted trees, with the first condition that fails.

    order p  ⟺  Φ(t) = 1/γ(t) for every rooted tree t with at most p vertices

Φ(t) is the elementary weight and γ(t) the density of t: ``elementary_weights`` and ``trees``. Hairer, Nørsett, Wanner
1993, Theorem II.2.13; for partitioned methods Hairer, Lubich, Wanner 2006, Section III.2.2.

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
from odernn.exact.coefficients import row
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.error_radii import Rounding, rounding, vanishes
from odernn.properties.simplifying_assumptions import Assumptions, short
from odernn.properties.stage_spaces import FormSpace, exact_spaces
from odernn.properties.trees import CLOCKED, PARTITIONED, ROOTED, SEPARABLE, Family, Tree, tree_count, trees
from odernn.tableaus.methods import Method, forms_of, in_one_field
from odernn.tableaus.stages import StageForm, stagewise
from odernn.tableaus.tableau import ButcherTableau

ALL_TREES = 20_000
"""With rounded coefficients all conditions of an order are tested if they are no more, else not the superfluous."""


_NAMES = {
    ROOTED.links: "order",
    PARTITIONED.links: "order",
    SEPARABLE.links: "order on separable systems",
    CLOCKED.links: "order with these abscissae",
}


def residual(weights: Callable[[Tree], Any], tree: Tree) -> Any:
    """Φ(t) − 1/γ(t): a method has order p if and only if this is 0 for every tree t of order ≤ p."""
    return weights(tree) - fmpq(1, tree.density)


def order(method: Method, *, c: Any = None, separable: bool = False, as_printed: bool = False) -> Certificate:
    """The order of a method as ``value``; ``witness`` is the first ``FailedCondition``, of order value + 1.

    c            abscissae that a program uses in f(t, y) where they are not A·1: then the order for y' = f(t, y)
    separable    a partitioned method on y' = f(z), z' = g(y) only
    as_printed   take rounded coefficients for the numbers meant

    ``holds`` says whether the order is at least 1. For rounded coefficients it is ``None``, ``value`` is the largest
    order with which they are consistent, and ``margin`` the largest residual of the conditions that count as satisfied.
    Compositions and partitioned methods are decided for general y' = f(y), or y' = f(y, z), z' = g(y, z).
    """
    system = system_of(method, c, separable)
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
class OrderSystem:
    """The kind of differential equation, and a form for each colour of its trees."""

    family: Family
    forms: tuple[StageForm, ...]

    def weights(self) -> ElementaryWeights:
        return ElementaryWeights(self.family.colours, exact_spaces(self.forms))

    def with_one_root(self) -> OrderSystem:
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
        bushes = tuple(_largest(assumptions.c, zero, len(self.forms[0].weights)) for assumptions in given)
        leaves = family.leaves if family.links == SEPARABLE.links else family.colours[:1]
        family = replace(family, bushes=bushes, leaves=leaves)
        if any(form.weights != self.forms[0].weights for form in self.forms):
            return family
        return replace(
            family, lone=tuple(_largest(assumptions.d, zero, len(self.forms[0].weights)) for assumptions in given)
        )


def _largest(residuals: Callable[[int], Sequence[Any]], zero: Callable[[Any], bool], limit: int) -> int:
    """The largest k ≤ limit for which the residuals of 1, …, k are zero."""
    return next((k - 1 for k in range(1, limit + 1) if not all(map(zero, residuals(k)))), limit)


def system_of(method: Method, c: Any, separable: bool) -> OrderSystem:
    """The system that decides the order of a method, which may have abscissae of its own."""
    forms = forms_of(method)
    if len(forms) == 2:
        if c is not None:
            raise ValueError("A partitioned method for y' = f(y, z) has no abscissae of its own: leave out c.")
        return OrderSystem(SEPARABLE if separable else PARTITIONED, forms).with_one_root()
    if separable:
        raise ValueError("Only a partitioned method can be asked for its order on separable systems.")
    if c is None:
        return OrderSystem(ROOTED, forms)
    nodes = row(c, "c", "order")
    if forms[0].modulus is not None or len(nodes) != forms[0].dimension:
        raise ValueError(f"c has {len(nodes)} entries, but they belong to {forms[0].dimension} stages of a table.")
    zero = fmpq(0)
    clock = [[x if i == j else zero for j in range(len(nodes))] for i, x in enumerate(nodes)]  # Â1 = c
    timed, form = in_one_field(stagewise(clock, (zero,) * len(nodes)), forms[0])
    if timed.apply(timed.one) == form.apply(form.one):
        return OrderSystem(ROOTED, forms)
    return OrderSystem(CLOCKED, (stagewise(timed.operator, form.weights), form))


def _exact_order(system: OrderSystem) -> tuple[int, FailedCondition]:
    """Ends at 2s + 1 at the latest, for no quadrature with s real nodes integrates Π(x − c_i)²."""
    weights = system.weights()
    family = system.without_superfluous([Assumptions(FormSpace(form)) for form in system.forms], vanishes)
    eta, zeta = family.bushes[0], family.lone[0]
    # Butcher's theorem (the module's docstring): up to here only the bushy tree, the first of its order, is left.
    bare = min(eta + zeta + 1, 2 * eta + 2) if len(family.colours) == 1 else 0
    for n in itertools.count(1):
        for tree in itertools.islice(trees(n, family), 1 if n <= bare else None):
            defect = residual(weights, tree)
            if defect != 0:
                return n - 1, FailedCondition(tree, defect)
    raise AssertionError("unreachable")


def _consistent_order(system: OrderSystem, rounded: Rounding) -> tuple[int, FailedCondition | None, float]:
    """The largest order, at most 2s, with which the coefficients are consistent; first failure; largest residual."""
    margin, limit = 0.0, 2 * system.forms[0].dimension
    with rounded.working():
        spaces = rounded.spaces(system.forms)
        weights = ElementaryWeights(system.family.colours, spaces)
        fewer = system.without_superfluous([Assumptions(space) for space in spaces], vanishes)
        for n in range(1, limit + 1):
            family = system.family if tree_count(n, len(system.family.colours)) <= ALL_TREES else fewer
            for tree in trees(n, family):
                defect = residual(weights, tree)
                if not defect.contains(0):
                    return n - 1, FailedCondition(tree, residual(system.weights(), tree)), margin
                margin = max(margin, abs(float(defect.mid())))
    return limit, None, margin
