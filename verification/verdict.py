"""Verdicts: what the evidence allows to say, and how verdicts add up. Plain data in, plain data out.

Three ladders bring evidence: bounds on states (``cases.state_bound.judge``), cases (``answer``) and
trained networks (``trained.row``). Each writes it down as ``Findings``; ``RULES`` alone say what follows:

    the first rule that has a reason gives the verdict; the gravest word is asked for first
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verification.claim import Case, Check, Place

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

LOG_FLOAT32_MAX = math.log((2 - 2.0**-23) * 2.0**127)

THEOREM_TESTED = "theorem, tested"
"""How ``not-refuted`` of a library theorem is shown: it has a proof, and the adversaries did not break it."""


# --- one cell: from findings to a verdict


@dataclass(frozen=True)
class Sides:
    """One comparison in floats: natural logarithms of what was measured (−inf for 0) and of what is claimed.

    Raises FloatingPointError if the claimed side is not finite or 0: inf is never a bound.
    """

    log_measured: float
    log_bound: float
    where: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.log_bound) or self.log_bound == math.inf:
            raise FloatingPointError(f"the bound is not finite: its logarithm is {self.log_bound}")

    @property
    def is_finite(self) -> bool:
        return not math.isnan(self.log_measured) and self.log_measured < math.inf

    @property
    def exceeds(self) -> bool:
        """By more than rounding may."""
        return self.is_finite and self.log_measured > self.log_bound + NEAR


@dataclass(frozen=True)
class Findings:
    """What came to light about one cell. Reasons are sentences, and "" where there is none.

    inapplicable   the premise that no instance satisfies here
    certified      a violation that two back-ends prove, with every premise and, where one is meant, the limit
    doubt          a violation that was nominated, and why it is not certified
    sides          comparisons in floats that the verdict speaks about
    not_finite     what else should have been finite
    log_promised   the bound that a reader gets, and log_largest the largest number of the ``dtype`` it is meant in
    vacuous        why the statement says nothing here
    proof          how the statement was proved here, or a function that tries to, asked if nothing graver was found
    untried        why nothing was tried that speaks about the statement
    power          why the search says nothing by finding nothing
    tried          what was done
    """

    inapplicable: str = ""
    certified: str = ""
    doubt: str = ""
    sides: tuple[Sides, ...] = ()
    not_finite: str = ""
    log_promised: float | None = None
    log_largest: float | None = None
    dtype: str = "number of its dtype"
    vacuous: str = ""
    proof: str | Callable[[], str] = ""
    untried: str = ""
    power: str = ""
    tried: str = ""


def _exceeding(findings: Findings) -> str:
    for sides in findings.sides:
        if sides.exceeds:
            ratio = f"10^{(sides.log_measured - sides.log_bound) / LOG_10:.3g}"
            return (
                f"in floats {ratio} times the bound{sides.where and f' {sides.where}'}, and no certificate settles it"
            )
    return ""


def _not_finite(findings: Findings) -> str:
    broken = any(not sides.is_finite for sides in findings.sides)
    return findings.not_finite or ("what was measured is not finite" if broken else "")


def _vacuous(findings: Findings) -> str:
    promised, largest = findings.log_promised, findings.log_largest
    if promised is not None and largest is not None and promised > largest:
        return f"the bound 10^{promised / LOG_10:.1f} exceeds the largest {findings.dtype}"
    return findings.vacuous


def _proof(findings: Findings) -> str:
    return findings.proof() if callable(findings.proof) else findings.proof


RULES: tuple[tuple[str, Callable[[Findings], str]], ...] = (
    (INAPPLICABLE, lambda findings: findings.inapplicable),
    (REFUTED, lambda findings: findings.certified),
    (SUSPECT, lambda findings: findings.doubt),
    (SUSPECT, _exceeding),
    (INCONCLUSIVE, _not_finite),
    (VACUOUS, _vacuous),
    (PROVED, _proof),
    (INCONCLUSIVE, lambda findings: findings.untried),
    (INCONCLUSIVE, lambda findings: findings.power and f"control-failed: {findings.power}"),
    (NOT_REFUTED, lambda findings: findings.tried),
)
"""What is said, and the reason for it: the first that has one. What is not finite is no evidence for a bound, and what
is vacuous or proved needs no search."""


def decided(findings: Findings) -> tuple[str, str]:
    """The verdict, and because of what."""
    for verdict, reason in RULES:
        if because := reason(findings):
            return verdict, because
    return INCONCLUSIVE, "nothing was tried"


# --- several cells


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
    """Why a candidate does not refute, "" if it does: every premise, two back-ends that do not contradict each other,
    and a limit where one is meant.
    """
    if unproved := [premise.text for premise in check.premises if not premise.holds]:
        violates = any(opinion.violated for opinion in check.opinions)
        begin = "a candidate violates the statement, but a premise" if violates else "a premise"
        return f"{begin} is not proved there: {'; '.join(unproved)}"
    if len({opinion.backend for opinion in check.opinions}) < 2:
        return "a candidate has the opinion of one back-end only"
    if check.contradiction:
        return f"the back-ends contradict each other: {check.contradiction}"
    if silent := [opinion.text for opinion in check.opinions if not opinion.violated]:
        return f"a candidate does not certify: {'; '.join(silent)}"
    if case.reading == "limit" and not check.limit:
        return "no limit argument: certified at finite dt only"
    return ""


def shown(verdict: str, origin: str) -> str:
    """The verdict as a table shows it: a theorem of the library that stands is "theorem, tested"."""
    return THEOREM_TESTED if origin == "library" and verdict == NOT_REFUTED else verdict


@dataclass(frozen=True)
class Judgement:
    """One cell of the ledger: a claim's part on one layer of one domain. Logs are natural; None = not available.

    ``slack`` = log10(bound) − log10(worst) at ``critical_step``, the n at which worst/bound is largest, of the trial at
    ``point``. ``log_bound`` and ``log_exact`` (thm-S) belong to ``step``: N, and then ``log_worst`` is the largest
    value over n ≤ N; or, if refuted, the violated n of the witness. ``log_data`` and ``log_range`` are the largest
    values over n on real input and on the worst input in the data's range, for the row's own network. A case's
    judgement has layer 0, ``found`` and ``claimed`` as text where they are not sizes, and ``log_worst``, ``log_bound``
    of its worst comparison where they are. ``given``: the parameters of the witness, laid out for readers.
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
    given: str = ""

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def shown(self) -> str:
        """The verdict as a table shows it."""
        return shown(self.verdict, self.origin)
