"""Verdicts: what the evidence allows to say, and how verdicts add up. Plain data in, plain data out (DESIGN.md,
Verdicts).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verification.question import Case, Check, Place

REFUTED = "refuted"
ERROR = "error"
SUSPECT = "suspect"
INCONCLUSIVE = "inconclusive"
NOT_REFUTED = "not-refuted"
VACUOUS = "vacuous"
INAPPLICABLE = "inapplicable"
PROVED = "proved"

PRECEDENCE = (REFUTED, ERROR, SUSPECT, INCONCLUSIVE, NOT_REFUTED, PROVED, VACUOUS, INAPPLICABLE)
"""When verdicts of several cells are added up, the first of these that occurs; ``proved`` needs every cell (see
aggregate).
"""

LEAST_CONTROL = 0.9
"""An adversary that does not reach this share of a known optimum says nothing by finding nothing."""
NEAR = 1e-9
"""Relative sizes closer than this are not told apart: a comparison of floats, over 1e4 steps too, may exceed by this
much through rounding alone.
"""
LOG_10 = math.log(10.0)
"""Natural logarithms divided by it are decades."""

THEOREM_TESTED = "theorem, tested"
"""How ``not-refuted`` of a library theorem is shown: it has a proof, and the adversaries did not break it."""


def aggregate(verdicts: Iterable[str]) -> str:
    """refuted > error > suspect > inconclusive > not-refuted > vacuous > inapplicable; proved only if all cells are.

    Inapplicable cells say nothing and are left out as long as another cell speaks; a mixture of proved and vacuous
    cells is a bound that was not refuted anywhere: ``not-refuted`` would claim a search, so it is ``vacuous``.
    """
    cells = [verdict for verdict in verdicts]
    if unknown := set(cells) - set(PRECEDENCE):
        raise ValueError(f"Unknown verdict {sorted(unknown)[0]!r}; known are {', '.join(PRECEDENCE)}.")
    speaking = [verdict for verdict in cells if verdict != INAPPLICABLE]
    if not speaking:
        return INAPPLICABLE
    if all(verdict == PROVED for verdict in speaking):
        return PROVED
    for verdict in (REFUTED, ERROR, SUSPECT, INCONCLUSIVE, NOT_REFUTED, VACUOUS):
        if verdict in speaking:
            return verdict
    raise AssertionError("unreachable")


def doubt_about(check: Check, case: Case | Place) -> str:
    """Why a candidate does not refute, "" if it does: every premise, two back-ends, and a limit where one is meant."""
    if unproved := [premise.text for premise in check.premises if not premise.holds]:
        return f"a candidate violates the statement, but a premise is not proved there: {'; '.join(unproved)}"
    if len({opinion.backend for opinion in check.opinions}) < 2:
        return "a candidate has the opinion of one back-end only"
    if silent := [opinion.text for opinion in check.opinions if not opinion.violated]:
        return f"a candidate does not certify: {'; '.join(silent)}"
    if case.reading == "limit" and not check.limit:
        return "no limit argument: certified at finite dt only"
    return ""


@dataclass(frozen=True)
class Judgement:
    """One cell of the ledger: a claim's part on one layer of one domain. Logs are natural; None = not available.

    ``slack`` = log10(bound) − log10(worst) at ``critical_step``, the n at which worst/bound is largest, of the trial at
    ``point``. ``log_bound`` and ``log_exact`` (thm-S) belong to ``step``: N, and then ``log_worst`` is the largest
    value over n ≤ N; or, if refuted, the violated n of the witness. ``log_data`` and ``log_range`` are the largest
    values over n on real input and on the worst input in the data's range, for the row's own network. A question's
    judgement has layer 0, ``found`` and ``claimed`` as text where they are not sizes, and ``log_worst``, ``log_bound``
    of its worst comparison where they are.
    """

    claim: str
    domain: str
    layer: int
    quantity: str
    norm: str
    symbol: str
    reading: str
    verdict: str
    because: str
    origin: str = "published"
    system: str = "unicornn"
    point: str = ""
    step: int | None = None
    critical_step: int | None = None
    log_bound: float | None = None
    log_data: float | None = None
    log_range: float | None = None
    log_worst: float | None = None
    log_exact: float | None = None
    slack: float | None = None
    evaluations: int = 0
    control: float | None = None
    adversary: str = ""
    dominated_by: str = ""
    witness: str = ""
    found: str = ""
    claimed: str = ""

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def shown(self) -> str:
        """The verdict as a table shows it."""
        if self.origin == "library" and self.verdict == NOT_REFUTED:
            return THEOREM_TESTED
        return self.verdict
