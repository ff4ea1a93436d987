"""Methods whose last stage is the new value, and whose last slope is the first of the next step: exactly.

    stiffly accurate: a_sj = b_j for all j;      first same as last: also a_1j = 0 for all j, s > 1

Hairer, Wanner 1996, Prop. IV.3.8; Hairer, Nørsett, Wanner 1993, Section II.5. In a basis of polynomials the first
stage is the one at 0 and the last the one at 1. Of rounded coefficients a difference counts if roundings do not
explain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.linear_algebra import Vector
from odernn.properties.simplifying_assumptions import short
from odernn.tableaus.methods import Method, about_given, form_of, is_exact, resolve, roundings
from odernn.tableaus.stages import StageForm
from odernn.tableaus.tableau import ButcherTableau


def residual(form: StageForm) -> Vector | None:
    """a_sj − b_j for all j, 0 if the method is stiffly accurate; ``None`` if no stage is at 1."""
    last = _stage_at(form, 1)
    return None if last is None else tuple(a - b for a, b in zip(last, form.weights, strict=True))


def stiff_accuracy(method: Method) -> Certificate:
    """a_sj = b_j: the last stage is the new value. ``witness`` is (j, a_sj − b_j), j from 1.

    In a basis of polynomials the last stage is the one at 1, and j is a power of x. Hairer, Wanner 1996, Prop. IV.3.8.
    """
    form = form_of(method)
    gaps = residual(form)
    start = 1 if form.modulus is None else 0
    first = None if gaps is None else next(((j, gap) for j, gap in enumerate(gaps, start) if gap != 0), None)
    holds = gaps is not None and first is None
    because = "a_sj = b_j" if holds else "no abscissa is 1"
    if first is not None:
        because = f"a_sj − b_j = {short(first[1])} at j = {first[0]}"
    certificate = Certificate("stiffly accurate", holds, True, first, because)
    if first is None or is_exact(method):
        return about_given(method, certificate)
    differences = _last_row_differences(resolve(method))
    sure = next(((j, gap) for j, gap, slack in differences if abs(gap) > slack), None)
    if sure is not None:
        return replace(certificate, witness=sure, because=f"a_sj − b_j = {short(sure[1])} at j = {sure[0]}")
    text = f"{because}, but the coefficients are rounded"
    margin = max(abs(gap) for _, gap, _ in differences)
    return replace(certificate, holds=None, exact=False, because=text, margin=margin)


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


def _last_row_differences(tableau: ButcherTableau) -> list[tuple[int, Any, Any]]:
    """(j, a_sj − b_j, how far that may be off), j from 1."""
    errors, weight_errors = roundings(tableau)
    columns = zip(residual(tableau.form) or (), errors[-1], weight_errors, strict=True)
    return [(j, gap, da + db) for j, (gap, da, db) in enumerate(columns, 1)]


def _stage_at(form: StageForm, end: int) -> Sequence[Any] | None:
    """The first (end 0) or last (end 1) row of A; of polynomials the functional (A u)(end), if end is an abscissa."""
    if form.modulus is None:
        return form.operator[-end]
    if form.modulus(fmpq(end)) != 0:
        return None
    return form.operator[0] if end == 0 else [sum(column, fmpq(0)) for column in zip(*form.operator, strict=True)]
