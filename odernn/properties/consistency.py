"""Consistency, decided exactly: whether a step follows the field at all, order 1.

    Σ b_i = bᵀ1 = 1

Hairer, Nørsett, Wanner 1993, Section II.1. Of a partitioned method both sums. The residual is Σ b_i − 1.
"""

from __future__ import annotations

from typing import Any

from odernn.certificate import Certificate
from odernn.exact.text import equals
from odernn.tableaus.methods import Method, forms_of, in_stages, is_exact
from odernn.tableaus.stages import StageForm


def weight_sum(form: StageForm) -> Any:
    """bᵀ1."""
    return form.weigh(form.one)


def consistency(method: Method) -> Certificate:
    """Whether Σ b_i = 1, of a pair also Σ b̂_i = 1; for rounded coefficients as far as they tell."""
    table = in_stages(method)
    sums = [weight_sum(form) for form in forms_of(table)]
    wrong = next(((k, value) for k, value in enumerate(sums) if value != 1), None)
    letters = ("b",) if len(sums) == 1 else ("b", "b̂")
    holds: bool | None = wrong is None
    because = " = ".join(f"Σ {letter}ᵢ" for letter in letters) + " = 1"
    exact, margin = is_exact(table), None
    if wrong is not None:
        because = f"Σ {letters[wrong[0]]}ᵢ {equals(wrong[1])}"
    if not exact:
        margin = max(abs(float(value - 1)) for value in sums)
        holds = None if table.is_consistent else False
        because = f"Σ bᵢ = 1 to {margin:.1g}, which rounding explains" if holds is None else because
    return Certificate("consistent", holds, exact or holds is False, None, because, margin=margin)
