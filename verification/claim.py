"""Claims: the statements on trial, and the cases in which each of them is tried. Nothing here says what the verdict is.

A claim file (``verification.registry`` finds it) exports ``CLAIMS``. A case *asks* something, an identity, a slope, a
norm, a count, an inverse in floats:

    ask(budget, seed) -> Attempt      what was tried, the worst found in floats, and *candidates*: exact parameters of
                                      suspected violations, best first; or a proof; nothing here is a verdict
    check(parameters) -> Check        the two sides at exact parameters by two independent back-ends, and the premises

``verification.answer`` turns the two into a judgement by rules that know no claim's id: a candidate refutes only if
every premise holds at it and both back-ends prove the violation. A bound on hidden states is a case of a kind of its
own, ``StateBound``: an inequality for every layer and step, for which one search serves all claims.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from odernn.bounds.numbers import Exact, Numbers
from odernn.published.sources import Source
from verification.domains import Budget
from verification.system import UNICORNN, System

QUANTITIES = ("position", "momentum")
NORMS = ("max", "euclidean")
ENCLOSURES = frozenset({"balls", "mpmath", "floats"})
"""Back-ends that may find nothing where their numbers are too wide."""
EXECUTIONS = frozenset({"numpy", "torch", "replay", "LAPACK", "counter", "tracemalloc"})
"""Back-ends that run a program in floats, or count what it holds: two of them need not agree to the last bit."""
BOTH = "by both back-ends"
"""Of a proof: two computations that share no code decided it."""
SYMBOLS = {
    ("position", "max"): "max abs(yₙ)",
    ("momentum", "max"): "max abs(zₙ)",
    ("position", "euclidean"): "‖yₙ‖₂",
    ("momentum", "euclidean"): "‖zₙ‖₂",
}

Parameters: TypeAlias = Mapping[str, str]
"""Exact numbers as text, "3/4", "-2" or a list "1 -1/2 3", by name: what a reader types in to see the violation."""

Semantics: TypeAlias = Literal["real", "alg", "comb", "slope", "float", "reading"]
"""What kind of statement it is: analysis, algebra, counting, a scaling law, floating point, a comparison of text."""

SEMANTICS: tuple[Semantics, ...] = ("real", "alg", "comb", "slope", "float", "reading")


class ClaimError(ValueError):
    """A claim that cannot be found, loaded or told from another one."""


@dataclass(frozen=True)
class Hypothesis:
    """What a statement supposes, as a margin: it holds where margin > 0, or ≥ 0 if it is not ``strict``.

    ``margin(values)`` is a number of the namespace of the values, a Fraction, a ball or a float, or a truth value.
    ``second_margin(values)`` is the margin typed independently for the second back-end: a violation of a bound on
    states is certified only if both prove every hypothesis. Elsewhere the kinds of the parameters
    (``verification.parameters``) say what a place is made of, and the margin is exact.
    """

    text: str
    margin: Callable[[Any], Any]
    strict: bool = True
    second_margin: Callable[[Any], Any] | None = None

    def holds(self, margin: Any) -> bool:
        """Certain for balls: False also means "not proved"."""
        return bool(margin > 0 if self.strict else margin >= 0)

    def at(self, values: Any) -> Premise:
        """The premise at exact values."""
        margin = Fraction(self.margin(values))
        return Premise(self.text, str(margin), self.holds(margin))


@dataclass(frozen=True)
class Premise:
    """A hypothesis at one place: by how much it holds, as text or as a float (None: it has no measure), and whether."""

    text: str
    margin: str | float | None
    holds: bool


@dataclass(frozen=True)
class Attempt:
    """What asking brought to light.

    tried         what was done, e.g. "2,000 random rational points, exact arithmetic"
    evaluations   how many times the two sides were compared
    log_measured, log_claimed     natural logarithms of both sides of the worst comparison, where they are sizes
    found, claimed                the same as text, where they are not ("slope 1.00 ± 0.01", "slope 3")
    candidates    exact parameters of suspected violations, best first
    proof         how the statement was proved by machine over the domain, "" if it was not
    twice         who decided the proof a second time, with other code: needed where there is no check
    control       the smallest share of a known optimum that an adversary of this family reached on its sibling problem
    vacuous, inapplicable         why there is nothing to try, "" otherwise
    """

    tried: str
    evaluations: int
    log_measured: float | None = None
    log_claimed: float | None = None
    found: str = ""
    claimed: str = ""
    candidates: tuple[Parameters, ...] = ()
    proof: str = ""
    twice: str = ""
    control: float | None = None
    vacuous: str = ""
    inapplicable: str = ""

    def __post_init__(self) -> None:
        for name in ("log_measured", "log_claimed", "control"):
            value = getattr(self, name)
            if value is not None and math.isnan(value):
                raise ClaimError(f"Attempt: {name} is nan. A comparison that is not finite is no comparison: drop it.")


GIVEN = "{given}"
"""In the words of a check: its parameters, laid out by the declaration (``Declaration.laid_out``)."""


@dataclass(frozen=True)
class Opinion:
    """What one back-end proves about the two sides at exact parameters. ``violated``: certainly, or it is False."""

    backend: str
    violated: bool
    text: str


@dataclass(frozen=True)
class Decided:
    """Whether the statement certainly fails at a place, and what was found there."""

    violated: bool
    text: str


@dataclass(frozen=True)
class Check:
    """The statement at exact parameters.

    opinions   of two back-ends that share no code but the definition of the parameters
    premises   every hypothesis of the statement, at these parameters
    limit      for the reading "limit": the theorem that carries the violation to dt → 0, with its numbers; else ""
    words      the violation in one sentence that a reader can follow
    apart      what two enclosures say that cannot both be true, "" if there is nothing
    partial    whether one of the two may find nothing where the statement fails
    """

    opinions: tuple[Opinion, ...]
    premises: tuple[Premise, ...] = ()
    limit: str = ""
    words: str = ""
    log_measured: float | None = None
    log_claimed: float | None = None
    apart: str = ""
    partial: bool = False

    @property
    def contradiction(self) -> str:
        """What cannot both be true, "" if there is nothing: two enclosures apart, or one back-end that proves a
        violation where the other decides that there is none. Then one of them is wrong.
        """
        if self.apart or self.partial or len(self.opinions) != 2:
            return self.apart
        first, second = self.opinions
        if first.violated == second.violated or EXECUTIONS.intersection(f"{first.backend} {second.backend}".split()):
            return ""
        silent = second if first.violated else first
        if ENCLOSURES.intersection(silent.backend.split()):
            return ""  # they may be too wide
        return "; ".join(f"{opinion.backend} finds {opinion.text}" for opinion in self.opinions)


@dataclass(frozen=True)
class Case:
    """One row of the ledger: where it is asked and about what.

    domain         "free", "printed nCIFAR", "L = 3", "float16", …
    quantity       what is compared
    reading        "" , or "printed" / "limit" for statements about sufficiently small dt
    is_search      whether ``ask`` searches: then it must report the share of a known optimum that it reaches
    """

    domain: str
    quantity: str
    ask: Callable[[Budget, int], Attempt]
    check: Callable[[Parameters], Check] | None = None
    reading: str = ""
    is_search: bool = False


@dataclass(frozen=True)
class Place:
    """Where nobody asks, but counterexamples from elsewhere are checked: networks that somebody trained."""

    domain: str
    quantity: str
    check: Callable[[Parameters], Check]
    reading: Literal[""] = ""


@dataclass(frozen=True)
class Setting:
    """The quantities that premises and bounds may use, as numbers of one namespace.

    Published bounds speak of dt: t_n = ``time`` = n·dt and T = ``horizon`` = N·dt. Sharp ones speak of the effective
    steps h = dt·σ̂(c), one a neuron group (``step_sizes``). ``step`` is n (an int, or an array 1..N for floats).
    """

    alpha: Any
    dt: Any
    step: Any
    steps: Any
    hidden_size: int
    step_sizes: Any
    time: Any
    horizon: Any

    @staticmethod
    def of(
        numbers: Numbers, *, alpha: Exact, dt: Exact, step: Any, steps: int, hidden_size: int, step_sizes: Any
    ) -> Setting:
        """The setting of step n of an N-step run with nominal step dt."""
        dt_number = numbers.exact(dt)
        return Setting(
            numbers.exact(alpha), dt_number, step, steps, hidden_size, step_sizes, step * dt_number, steps * dt_number
        )


@dataclass(frozen=True)
class Part:
    """One inequality of a claim: log ‖quantity of layer l at step n‖ ≤ bound, for every n ≤ N and every layer.

    ``bound(setting, numbers)`` returns a natural logarithm. ``second_bound(setting, iv)`` is the same bound typed
    independently for mpmath's interval context; ``setting`` then is a plain namespace of intervals.
    """

    quantity: str
    norm: str
    bound: Callable[[Setting, Numbers], Any]
    second_bound: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES or self.norm not in NORMS:
            raise ClaimError(
                f"Part ({self.quantity!r}, {self.norm!r}): quantity is one of {QUANTITIES}, norm one of {NORMS}."
            )

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.quantity, self.norm]


@dataclass(frozen=True)
class StateBound:
    """A case about hidden states: every part, in every layer of every network that the hypotheses admit.

    ``asymptotic`` says that the statement is meant for dt → 0 ("dt ≪ 1 sufficiently small"); it then is tried at the
    printed values and in the limit.
    """

    parts: tuple[Part, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    asymptotic: bool = False
    system: System = UNICORNN

    @property
    def second_hypotheses(self) -> tuple[tuple[str, Callable[[Any], Any] | None, bool], ...]:
        """(text, margin typed again, strict) of every hypothesis: what the second back-end is asked."""
        return tuple((hypothesis.text, hypothesis.second_margin, hypothesis.strict) for hypothesis in self.hypotheses)


@dataclass(frozen=True)
class Claim:
    """A statement on trial; ``cases`` and ``places`` have distinct (domain, quantity).

    ``state_bound`` is its case about hidden states, if it has one. ``origin`` is "published" or "library" (a theorem of
    this library, with a proof). ``dominated_by`` may name a sharper theorem: an annotation, never a verdict.
    """

    id: str
    source: Source
    statement: str
    semantics: Semantics
    cases: tuple[Case, ...] = ()
    origin: str = "published"
    dominated_by: str = ""
    version: int = 1
    places: tuple[Place, ...] = ()
    state_bound: StateBound | None = None

    def __post_init__(self) -> None:
        if self.semantics not in SEMANTICS:
            raise ClaimError(f'Claim "{self.id}": semantics is {self.semantics!r}; it is one of {SEMANTICS}.')
        if not self.cases and self.state_bound is None:
            raise ClaimError(f'Claim "{self.id}" has no cases: there would be nothing to try.')
        places = [(at.domain, at.quantity) for at in self.cases]
        places += [(at.domain, at.quantity) for at in self.places]
        if len(set(places)) != len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise ClaimError(f'Claim "{self.id}": two cases are both {twice}. Give each its own domain or quantity.')

    @property
    def slug(self) -> str:
        return slug(self.id)

    @property
    def is_asymptotic(self) -> bool:
        """Whether it is about sufficiently small dt, which its cases then read as printed values or as a limit."""
        return any(case.reading for case in self.cases) or (self.state_bound is not None and self.bound.asymptotic)

    @property
    def bound(self) -> StateBound:
        """Its case about hidden states. Raises ClaimError if it has none."""
        if self.state_bound is None:
            raise ClaimError(f'Claim "{self.id}" is no bound on hidden states: it has cases with checks of their own.')
        return self.state_bound

    def case(self, domain: str, quantity: str) -> Case:
        """The case of that place. Raises ClaimError, with the known ones, if there is none."""
        for case in self.cases:
            if (case.domain, case.quantity) == (domain, quantity):
                return case
        known = "; ".join(f"{case.domain}, {case.quantity}" for case in self.cases)
        raise ClaimError(f'Claim "{self.id}" has no case ({domain}, {quantity}). It has: {known}.')

    def checked_at(self, domain: str, quantity: str) -> Case | Place:
        """The case or the place where a counterexample says to be. Raises ClaimError as ``case`` does."""
        for place in self.places:
            if (place.domain, place.quantity) == (domain, quantity):
                return place
        return self.case(domain, quantity)


def slug(identifier: str) -> str:
    """Lower case, runs of other characters become ``-``."""
    return re.sub(r"[^a-z0-9]+", "-", identifier.lower()).strip("-")


def admissible(bound: StateBound, setting: Setting) -> list[tuple[Hypothesis, Any, bool]]:
    """Every hypothesis with its margin at the setting and whether it (certainly) holds."""
    margins = [(hypothesis, hypothesis.margin(setting)) for hypothesis in bound.hypotheses]
    return [(hypothesis, margin, hypothesis.holds(margin)) for hypothesis, margin in margins]
