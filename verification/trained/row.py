"""A row of the ledger of a trained network, and how its verdict follows from premises, bound and measurement.

Verdicts are those of ``verification.verdict``, about these weights:

    inapplicable   a premise fails for these weights
    refuted        the bound is exceeded on this data, and two back-ends prove it
    suspect        exceeded in float64, and not certified: the reason is in the row
    proved         the bound holds for these weights and every input
    vacuous        the bound exceeds the largest number of the weights' dtype
    not-refuted    it holds on these sequences; nothing was searched
    inconclusive   the run, or a gradient, was not finite
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from verification import verdict
from verification.claim import Premise
from verification.report.numbers import minus
from verification.verdict import Findings, Sides

HOLDS, FAILS = "holds", "fails"
HERE = "at the dt of the network"


def said(premise: Premise) -> str:
    """The premise in words: "α > 0 FAILS by 0.5", "one dt, one α, no Λ holds"."""
    by = "" if premise.margin is None else f" by {minus(f'{abs(float(premise.margin)):.3g}')}"
    return f"{premise.text} {'holds' if premise.holds else 'FAILS'}{by}"


@dataclass(frozen=True)
class Row:
    """One line. Logarithms are natural.

    kind         "bound": log_bound against log_measured, with a verdict;  "margin": ``value`` > 0 holds;  "measured"
    statement    id of the claim or theorem, "" where nothing is stated;  source: where it is printed
    layer        from 1; 0 for the network
    origin       "published", "library"
    log_bound    at the place where bound / measured is smallest, and so log_measured
    log_largest  measured where it is largest: another place, if the bound grows
    value        of a margin or a measurement that is no logarithm
    at           where bound / measured is smallest, such as "n = 17"
    witness      text of the file that replays a refutation
    reading      of a statement about "sufficiently small" dt: HERE; "" of all others
    """

    kind: Literal["bound", "margin", "measured"]
    layer: int
    quantity: str
    statement: str = ""
    source: str = ""
    origin: str = "library"
    premises: tuple[Premise, ...] = ()
    log_bound: float | None = None
    log_measured: float | None = None
    log_largest: float | None = None
    value: float | None = None
    verdict: str = ""
    because: str = ""
    at: str = ""
    witness: str = ""
    reading: str = ""

    @property
    def slack(self) -> float | None:
        """bound / measured in decades, log10; None without both, or where the measured side is 0."""
        if self.log_bound is None or self.log_measured is None or self.log_measured == -math.inf:
            return None
        return (self.log_bound - self.log_measured) / verdict.LOG_10

    @property
    def shown(self) -> str:
        """The verdict as a table shows it."""
        return verdict.shown(self.verdict, self.origin)


@dataclass(frozen=True)
class Certified:
    """What the two back-ends say about a violation: ``holds`` if both prove it; the witness as text; or why not.

    reading  of the statement that they decided, where it is another one than that of the row
    """

    holds: bool
    because: str
    witness: str = ""
    reading: str = ""


Certify = Callable[[int], Certified]
"""From the place of the largest measured / bound, an index, to the decision."""


def uncertified(reason: str) -> Certify:
    """For a statement whose violations no certificate here decides."""
    return lambda place: Certified(False, reason)


@dataclass(frozen=True)
class BoundComparison:
    """What ``judged`` needs beside the row's texts.

    log_bounds    float or one for each place (n = 1..N, or each neuron)
    log_measured  the same
    place         from an index to words: "n = 17", "neuron 3"
    certify       asked only where measured > bound beyond rounding
    proof         a sentence if the bound holds for these weights and every input, else ""; asked last
    log_largest   of the dtype of the weights
    """

    log_bounds: Any
    log_measured: Any
    certify: Certify
    place: Callable[[int], str] = lambda index: ""
    proof: Callable[[], str] = lambda: ""
    log_largest: float = verdict.LOG_FLOAT32_MAX
    data: str = "on this data"


def judged(row: Row, ask: Callable[[], BoundComparison]) -> Row:
    """The row with numbers and verdict. ``ask`` is called only if every premise holds: outside them a bound may be
    no number.
    """
    if failing := [premise for premise in row.premises if not premise.holds]:
        return _settled(row, Findings(inapplicable="; ".join(f"premise {said(premise)}" for premise in failing)))
    comparison = ask()
    measured, bounds = (np.atleast_1d(np.asarray(x, float)) for x in (comparison.log_measured, comparison.log_bounds))
    bounds = np.broadcast_to(bounds, measured.shape)
    if not np.isfinite(bounds).all():
        raise FloatingPointError(f"{row.statement}: the bound on {row.quantity} is not finite: {bounds}.")
    worst = int(np.argmax(np.where(np.isnan(measured), math.inf, measured) - bounds))
    sides = Sides(float(measured[worst]), float(bounds[worst]))
    if sides.is_finite:
        row = replace(row, log_bound=sides.log_bound, log_measured=sides.log_measured, at=comparison.place(worst))
        row = replace(row, log_largest=float(measured.max()))
    certified = comparison.certify(worst) if sides.exceeds else Certified(False, "")
    if certified.holds:
        row = replace(row, witness=certified.witness, reading=certified.reading or row.reading)
    findings = Findings(
        certified=(certified.because or "certified by two back-ends") if certified.holds else "",
        doubt=f"exceeded in float64, not certified: {certified.because}" if sides.exceeds else "",
        sides=(sides,),
        log_promised=sides.log_bound,
        log_largest=comparison.log_largest,
        proof=comparison.proof,
        tried=comparison.data,
    )
    return _settled(row, findings)


def _settled(row: Row, findings: Findings) -> Row:
    said, because = verdict.decided(findings)
    return replace(row, verdict=said, because=because)


def in_direction(row: Row, index: int, directions: int) -> Row:
    """The row of ``layers[index]``: torch puts the reverse direction of a layer after the forward one."""
    return replace(row, quantity=f"{row.quantity}, reverse") if index % directions == 1 else row


def margin(layer: int, quantity: str, values: Sequence[float] | Any, *, source: str, because: str = "") -> Row:
    """The smallest of the margins of a layer's neurons: it holds where all are positive; NaN fails."""
    margins = np.atleast_1d(np.asarray(values, float))
    failing = int((~(margins > 0)).sum())
    smallest = math.nan if np.isnan(margins).any() else float(margins.min())
    word = FAILS if failing else HOLDS
    if not because:
        because = f"for {'all' if not failing else f'{margins.size - failing} of'} {margins.size} neurons"
    place = "" if margins.size == 1 else f"neuron {int(np.nanargmin(margins)) + 1}"
    return Row("margin", layer, quantity, source=source, value=smallest, verdict=word, because=because, at=place)
