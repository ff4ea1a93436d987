"""Effective order: how accurate a method is after a change of variables that is made once and undone once.

A method β has **effective order** p if there is a starting method α with

    α β = E α     up to order p,     that is     β = α⁻¹ E α + O(h^{p+1}),                                    (1)

E being the exact flow: n steps of β between one α and one α⁻¹ are n steps of order p, for the cost of β. Every method
of order p has effective order p or more, with α = 1. J. C. Butcher, The effective order of Runge–Kutta methods,
Lecture Notes in Mathematics 109 (1969) 133–139; Butcher 2016, Section 389. "Conjugate to a method of order p" in
Hairer, Lubich, Wanner 2006, Section VI.8.

On elementary weights the product is the composition of B-series, the left factor first,

    (αβ)(t) = α(t) + Σ_s β(s) Π α(t ∖ s)          over the subtrees s with the root of t, and the trees that fall off,

so α(t) cancels in (1), and in the equations of order n the weights of order n − 1 are the highest. They occur linearly,

    (Lα)(t) = [α(u) if t = [u]] − Σ α(t without one leaf),     L from the trees of order n − 1 to those of order n,

and L is injective for n ≥ 3: it is the commutator with the vector field f itself, and in the free Lie algebra to which
the B-series belong only the multiples of f commute with f. So α is unique but for a step of E, which α(τ) = 0 fixes,
and (1) is solved order by order: each gives the next weights of α, and for every vector of the left null space of L one
condition on β alone: 1, 1, 1, 2, 5, 11, 28, … of them for p = 1, 2, …. docs/derivations/effective_order.md.

On y' = λy everything commutes, so α changes nothing and R(z) = eᶻ + O(z^{p+1}): the conditions of the tall trees, by
which the effective order is at most that of R(z) and at most 2s.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from flint import Ordering, fmpq, fmpq_mat, fmpq_mpoly_ctx

from odernn.certificate import Certificate
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.order import order
from odernn.properties.simplifying_assumptions import short
from odernn.properties.stage_spaces import exact_spaces
from odernn.properties.trees import PARTITIONED, ROOTED, SEPARABLE, Family, Tree, trees
from odernn.tableaus.methods import Method, forms_of, is_exact

__all__ = ["Conjugacy", "FailedCombination", "conditions", "effective_order", "series_product", "subtrees"]

PROPERTY = "effective order"
MOST_TREES = 1000
"""Orders with more trees are not decided: above 10, for pairs above 6, on separable systems above 9."""

MOST_TERMS = 5
"""A condition of more trees is not written out."""

Weights: TypeAlias = Callable[[Tree], Any]
Forest: TypeAlias = tuple[Tree, ...]


def series_product(first: Weights, second: Weights, tree: Tree) -> Any:
    """(αβ)(t) = α(t) + Σ_s β(s) Π α(t ∖ s), the elementary weight of a step of α followed by one of β.

    Hairer, Lubich, Wanner 2006, Theorem III.1.10.
    ``first`` and ``second`` give α(t) and β(t) for trees; those of the empty tree are 1.
    """
    total = first(tree)
    for (s, forest), times in subtrees(tree).items():
        fallen = math.prod(map(first, forest), start=fmpq(1))
        if fallen != 0:
            total = total + times * second(s) * fallen
    return total


def exact_flow(tree: Tree) -> fmpq:
    """E(t) = 1/γ(t)."""
    return fmpq(1, tree.density)


def residual(alpha: Weights, beta: Weights, tree: Tree) -> Any:
    """(αβ)(t) − (Eα)(t): β has effective order p if and only if some α makes this 0 for every t of order ≤ p."""
    return series_product(alpha, beta, tree) - series_product(exact_flow, alpha, tree)


def effective_order(method: Method, *, separable: bool = False) -> Certificate:
    """The effective order of a method as ``value``; ``witness`` is a ``Conjugacy``. ``holds``: it is at least 1.

    separable   a partitioned method, on y' = f(z), z' = g(y) only

    ``None`` with a lower bound as ``value``: the coefficients are rounded, or the orders that ``MOST_TREES`` admits are
    all reached and R(z) has a higher one. ValueError for one method and ``separable``.
    """
    forms = forms_of(method)
    if separable and len(forms) == 1:
        raise ValueError("Only a partitioned method can be asked for its effective order on separable systems.")
    family = ROOTED if len(forms) == 1 else SEPARABLE if separable else PARTITIONED
    name = f"{PROPERTY} on separable systems" if separable else PROPERTY
    classical = order(method, separable=separable) if separable else order(method)
    if not is_exact(method):
        because = f"at least {classical.value}, the order; the coefficients are rounded"
        return Certificate(name, None, False, None, because, margin=classical.margin, value=classical.value)
    value, conjugacy, tried = _solved(ElementaryWeights(family.colours, exact_spaces(forms)), family, classical.value)
    if not tried:
        because = f"at least {value}; of order {value + 1} there are more than {MOST_TREES} trees"
        return Certificate(name, None, False, conjugacy, because, value=value)
    nonzero = sum(1 for weight in conjugacy.start.values() if weight != 0)
    start = "α = 1" if nonzero == 0 else f"α with {nonzero} {'weight' if nonzero == 1 else 'weights'} ≠ 0"
    return Certificate(name, value >= 1, True, conjugacy, f"{start}; {conjugacy.failed}", value=value)


def conditions(p: int, *, separable: bool | None = None) -> tuple[tuple[Tree, Any], ...]:
    """The conditions of effective order p on the elementary weights: pairs (t, β(t) as a polynomial in other weights).

    Each condition is solved for the weight of one tree, in which it is linear, and the conditions of lower orders are
    substituted, so that the right sides hold free weights only. They are ``fmpq_mpoly`` in b1, b2, …, the weights of
    the trees in their order: b1 = β(τ), b2 = β([τ]), b3 = β([τ,τ]), …, the numbers of Butcher 2016.
    ``separable``: of a pair on separable systems (True) or on all (False). p ≥ 1; those of order p alone.
    """
    family = ROOTED if separable is None else SEPARABLE if separable else PARTITIONED
    known = [tree for n in range(1, p + 1) for tree in trees(n, family)]
    ring = fmpq_mpoly_ctx.get([f"b{k}" for k in range(1, len(known) + 1)], Ordering.degrevlex)
    symbols = dict(zip(known, ring.gens(), strict=True))
    start: dict[Tree, Any] = {}
    of_order: list[tuple[Tree, Any]] = []
    for n in range(1, p + 1):
        fresh = list(trees(n, family))
        operator = _operator(n, family)
        residuals = [_from_known(symbols.__getitem__, start, tree) for tree in fresh]
        of_order = []
        for combination in operator.null:
            i, factor = combination[0]
            total = _sum(other * residuals[j] for j, other in combination)
            of_order.append((fresh[i], symbols[fresh[i]] - total / factor))
        symbols |= dict(of_order)
        start |= operator.solved([_from_known(symbols.__getitem__, start, tree) for tree in fresh])
    return tuple(of_order)


@dataclass(frozen=True)
class FailedCombination:
    """The condition on the method that fails: Σ λ_t r(t) = ``residual`` ≠ 0.

    coefficients   (t, λ_t), a left null vector of L
    residual       r(t) = β(t) − 1/γ(t) + what the weights of α that are known contribute
    """

    coefficients: tuple[tuple[Tree, Any], ...]
    residual: Any

    def __str__(self) -> str:
        if len(self.coefficients) > MOST_TERMS:
            n = self.coefficients[0][0].order
            return f"Σ λ_t r(t) = {short(self.residual)} over {len(self.coefficients)} trees of order {n}"
        terms = " ".join(
            f"{'−' if factor < 0 else '+'} {'' if abs(factor) == 1 else f'{abs(factor)}·'}r({tree})"
            for tree, factor in self.coefficients
        )
        return f"{terms.removeprefix('+ ')} = {short(self.residual)}"


@dataclass(frozen=True)
class Conjugacy:
    """Why the effective order is what it is.

    start    α(t) for the trees of order below the effective order, with α(τ) = 0, of the first colour for a pair; up to
             the order alone α is 1, and not all of these trees are listed
    failed   the condition of the next order that is violated, ``None`` if that order was not tried
    """

    start: Mapping[Tree, Any]
    failed: FailedCombination | None


def _solved(beta: Weights, family: Family, known: int) -> tuple[int, Conjugacy, bool]:
    """(effective order, evidence, whether the next order was tried); below ``known`` α is 1."""
    start: dict[Tree, Any] = {}
    for n in itertools.count(1):
        fresh = list(itertools.islice(trees(n, family), MOST_TREES + 1))
        if len(fresh) > MOST_TREES:
            value = max(known, n - 1)
            failed = _tall_condition(value + 1, beta) if family == ROOTED else None
            return value, Conjugacy(MappingProxyType(start), failed), failed is not None
        if n <= known:
            start |= dict.fromkeys(trees(n - 1, family), fmpq(0)) if n > 1 else {}
            continue
        operator = _operator(n, family)
        residuals = [_from_known(beta, start, tree) for tree in fresh]
        for combination in operator.null:
            total = _sum(factor * residuals[i] for i, factor in combination)
            if total != 0:
                failed = FailedCombination(tuple((fresh[i], factor) for i, factor in combination), total)
                return n - 1, Conjugacy(MappingProxyType(start), failed), True
        start |= operator.solved(residuals)
    raise AssertionError("unreachable")


def _tall_condition(n: int, beta: Weights) -> FailedCombination | None:
    """β([[…[τ]…]]) − 1/n!, the coefficient of zⁿ in R(z) − eᶻ, if it is not 0."""
    tall = Tree()
    for _ in range(n - 1):
        tall = Tree([tall])
    defect = beta(tall) - exact_flow(tall)
    return None if defect == 0 else FailedCombination(((tall, fmpq(1)),), defect)


def _from_known(beta: Weights, start: Mapping[Tree, Any], tree: Tree) -> Any:
    """The residual at t with 0 for the weights of α that are not known yet: of t itself and of the order below."""
    known = tree.order - 1
    return residual(lambda s: start[s] if s.order < known else fmpq(0), beta, tree)


@functools.cache
def subtrees(tree: Tree) -> Mapping[tuple[Tree, Forest], int]:
    """The subtrees s ≠ ∅ with the root of t, each with the trees t ∖ s that fall off, and how often they occur."""
    kept: Counter[tuple[Forest, Forest]] = Counter({((), ()): 1})
    for child in tree.children:
        branches = [((), (child,), 1), *(((s,), forest, times) for (s, forest), times in subtrees(child).items())]
        extended: Counter[tuple[Forest, Forest]] = Counter()
        for (on, off), count in kept.items():
            for more, fallen, times in branches:
                extended[on + more, tuple(sorted(off + fallen))] += count * times
        kept = extended
    occurrences: Counter[tuple[Tree, Forest]] = Counter()
    for (on, off), count in kept.items():
        occurrences[Tree(on, tree.colour), off] += count
    return MappingProxyType(occurrences)


@dataclass(frozen=True)
class _Operator:
    """L for one order, solved once: ``unknowns``, the rows of a left inverse, and the left null space, sparse."""

    unknowns: tuple[Tree, ...]
    fixed: tuple[Tree, ...]
    inverse: tuple[tuple[tuple[int, fmpq], ...], ...]
    null: tuple[tuple[tuple[int, fmpq], ...], ...]

    def solved(self, residuals: list[Any]) -> dict[Tree, Any]:
        """The weights of α of order n − 1, from r + Lα = 0."""
        weights: dict[Tree, Any] = dict.fromkeys(self.fixed, fmpq(0))
        for tree, row in zip(self.unknowns, self.inverse, strict=True):
            weights[tree] = -_sum(factor * residuals[i] for i, factor in row)
        return weights


@functools.cache
def _operator(n: int, family: Family) -> _Operator:
    rows = list(trees(n, family))
    columns = list(trees(n - 1, family)) if n > 1 else []
    fixed = columns[:1] if n == 2 else []  # α(τ) = 0: a step of E before α changes nothing
    columns = columns[len(fixed) :]
    place = {tree: j for j, tree in enumerate(columns)}
    width = len(columns)
    augmented = [[fmpq(0)] * width + [fmpq(i == k) for k in range(len(rows))] for i in range(len(rows))]
    for i, tree in enumerate(rows):
        for (s, forest), times in subtrees(tree).items():
            if s.order == 1 and len(forest) == 1 and forest[0] in place:
                augmented[i][place[forest[0]]] += times
            if s in place:
                augmented[i][place[s]] -= times
    reduced, rank = fmpq_mat(augmented).rref()
    table = [[reduced[i, j] for j in range(reduced.ncols())] for i in range(rank)]
    if any(table[j][k] != (j == k) for j in range(width) for k in range(width)):
        raise AssertionError(f"The trees of order {n - 1} do not determine a starting method.")
    return _Operator(
        tuple(columns),
        tuple(fixed),
        tuple(map(_sparse, (row[width:] for row in table[:width]))),
        tuple(map(_sparse, (row[width:] for row in table[width:]))),
    )


def _sparse(row: list[fmpq]) -> tuple[tuple[int, fmpq], ...]:
    return tuple((i, x) for i, x in enumerate(row) if x != 0)


def _sum(terms: Iterator[Any]) -> Any:
    return sum(terms, fmpq(0))
