"""What is exactly true of the numbers of one method, floats and printed decimals taken for the numbers meant.

    missed by:   max(0, −λ_min(M)) of M ≥ 0,     max |m_ij| of M = 0,     |Φ(t) − 1/γ(t)| of the order conditions

M = BA + AᵀB − bbᵀ. The first is the distance in the spectral norm to the nearest positive semi-definite matrix.

    >>> from odernn import tableaus
    >>> from odernn.properties.facts_as_given import facts_as_given
    >>> from odernn.properties.rounding import rounded
    >>> print(facts_as_given(rounded(tableaus.get("radau iia 2"), "float32")).smallest_eigenvalue)
    -9.31323e-09
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from odernn.certificate import Certificate
from odernn.exact.linear_algebra import ZERO
from odernn.properties.algebraic_stability import algebraic_stability, burrage_butcher
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.order import FailedCondition, order, residual
from odernn.properties.rounding import as_given
from odernn.properties.smallest_eigenvalue import Interval, smallest_eigenvalue
from odernn.properties.stage_spaces import exact_spaces
from odernn.properties.symplecticity import symplecticity
from odernn.properties.trees import PARTITIONED, ROOTED, tree_count, trees
from odernn.tableaus.methods import Method, forms_of
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

MOST_TREES = 1000
"""Orders with more conditions are left out of the residuals: for pairs, orders above 6."""


def facts_as_given(method: Method, *, orders: int | None = None) -> FactsAsGiven:
    """Everything that is exactly true of the method's numbers as they are given.

    orders   up to which order the residuals of the order conditions are listed; not given: the declared order, else
             the computed one
    """
    table = as_given(method)
    certificate = order(table)
    most = orders if orders is not None else table.order or certificate.value
    residuals = condition_residuals(table, most)
    if isinstance(table, PartitionedTableau):
        return FactsAsGiven(table, None, None, None, symplecticity(table), certificate, residuals)
    return FactsAsGiven(
        table,
        algebraic_stability(table),
        smallest_eigenvalue(burrage_butcher(table)),
        min(table.b),
        symplecticity(table),
        certificate,
        residuals,
    )


def condition_residuals(method: Method, orders: int) -> tuple[FailedCondition, ...]:
    """For q = 1, …, orders the tree of order q with the largest |Φ(t) − 1/γ(t)|, the first one of several.

    Orders with more than ``MOST_TREES`` conditions, and those above, are left out.
    """
    forms = forms_of(method)
    family = ROOTED if len(forms) == 1 else PARTITIONED
    weights = ElementaryWeights(family.colours, exact_spaces(forms))
    worst = []
    for q in range(1, orders + 1):
        if tree_count(q, len(family.colours)) > MOST_TREES:
            break
        conditions = [FailedCondition(tree, residual(weights, tree)) for tree in trees(q, family)]
        worst.append(max(conditions, key=lambda failed: abs(failed.residual)))
    return tuple(worst)


@dataclass(frozen=True)
class FactsAsGiven:
    """What is exactly true of the numbers of one method.

    method                the method, its coefficients taken for the numbers meant
    algebraic_stability   the certificate; ``None`` for a pair, which has no M
    smallest_eigenvalue   of M, as an enclosure; ``None`` for a pair
    smallest_weight       min b_i; ``None`` for a pair
    symplecticity         the certificate; its ``value`` is the largest entry of the violated condition, 0 if there
                          is none
    order                 the certificate
    residuals             for q = 1, 2, … the condition of order q that is missed by most, as far as they were asked
    """

    method: ButcherTableau | PartitionedTableau
    algebraic_stability: Certificate | None
    smallest_eigenvalue: Interval | None
    smallest_weight: Any
    symplecticity: Certificate
    order: Certificate
    residuals: tuple[FailedCondition, ...]

    @property
    def distance_to_semidefinite(self) -> Interval | None:
        """max(0, −λ_min(M)), the spectral distance from M to the positive semi-definite matrices."""
        if self.smallest_eigenvalue is None:
            return None
        low, high = self.smallest_eigenvalue.lower, self.smallest_eigenvalue.upper
        return Interval(max(ZERO, -high), max(ZERO, -low))
