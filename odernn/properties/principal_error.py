"""The leading term of the local error of a Runge–Kutta method, exactly.

    y₁ − y(h) = h^{p+1} Σ_{|t| = p+1} T(t) F(t)(y₀) + O(h^{p+2}),      T(t) = (Φ(t) − 1/γ(t))/σ(t)

Hairer, Nørsett, Wanner 1993, Section II.3. The residuals are those of the order conditions of the first order that is
not reached; ‖T‖₂ is enclosed in a ball.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import enclosure
from odernn.properties.order import order, residual, system_of
from odernn.properties.trees import Tree, tree_count, trees
from odernn.tableaus.methods import Method, form_of

MOST_ERRORS = 100_000
"""The largest number of error coefficients that ``principal_error`` computes."""


def principal_error(method: Method) -> Certificate:
    """The error coefficients of order p + 1 of a Runge–Kutta method, as ``value`` a ``PrincipalError``.

    Those of rounded coefficients belong to the numbers as given, with the order p with which they are consistent;
    ``exact`` then is false. Where there are more than ``MOST_ERRORS`` trees, ``holds`` and ``value`` are ``None``.
    """
    form_of(method)
    p = order(method)
    system = system_of(method, None, separable=False)
    n = p.value + 1
    if tree_count(n) > MOST_ERRORS:
        because = f"there are {tree_count(n)} trees of order {n}; at most {MOST_ERRORS} are evaluated"
        return Certificate("principal error", None, False, None, because)
    weights = system.weights()
    terms = tuple((tree, residual(weights, tree) / tree.symmetry) for tree in trees(n))
    squared = sum((error * error for _, error in terms), fmpq(0))
    norm = enclosure(squared, 128).sqrt()
    error = PrincipalError(n, terms, squared, norm)
    because = f"‖T‖₂ = {float(norm.mid()):.6g} over {len(terms)} {'tree' if len(terms) == 1 else 'trees'} of order {n}"
    return Certificate("principal error", True if p.exact else None, p.exact, None, because, value=error)


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
