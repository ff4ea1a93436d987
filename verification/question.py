"""Questions: published statements that are not bounds on hidden states, each with checks of its own.

A claim (``verification.claim``) is an inequality for the states of a network, and one search serves all of them. A
question asks something else: an identity, a slope, a norm, a count, an inverse in floats. It brings, case by case,

    ask(budget, seed) -> Attempt      what was tried, the worst found in floats, and *candidates*: exact parameters of
                                      suspected violations, best first; or a proof; nothing here is a verdict
    check(parameters) -> Check        the two sides at exact parameters by two independent back-ends, and the premises

``verification.answer`` turns the two into a judgement by rules that know no question's id: a candidate refutes only if
every premise holds at it and both back-ends prove the violation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from odernn.published.sources import Source
from verification.claim import ClaimError, slug
from verification.domains import Budget

Parameters: TypeAlias = Mapping[str, str]
"""Exact numbers as text, "3/4", "-2" or a list "1 -1/2 3", by name: what a reader types in to see the violation."""

Semantics: TypeAlias = Literal["real", "alg", "comb", "slope", "float", "reading"]
"""What kind of statement it is: analysis, algebra, counting, a scaling law, floating point, a comparison of text."""

SEMANTICS: tuple[Semantics, ...] = ("real", "alg", "comb", "slope", "float", "reading")


@dataclass(frozen=True)
class Attempt:
    """What asking brought to light.

    tried         what was done, e.g. "2,000 random rational points, exact arithmetic"
    evaluations   how many times the two sides were compared
    log_measured, log_claimed     natural logarithms of both sides of the worst comparison, where they are sizes
    found, claimed                the same as text, where they are not ("slope 1.00 ± 0.01", "slope 3")
    candidates    exact parameters of suspected violations, best first
    proof         how the statement was proved by machine over the domain, "" if it was not
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
    control: float | None = None
    vacuous: str = ""
    inapplicable: str = ""

    def __post_init__(self) -> None:
        for name in ("log_measured", "log_claimed", "control"):
            value = getattr(self, name)
            if value is not None and math.isnan(value):
                raise ClaimError(f"Attempt: {name} is nan. A comparison that is not finite is no comparison: drop it.")


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
class Hypothesis:
    """A premise at the candidate: proved to hold, with its margin as text."""

    text: str
    margin: str
    holds: bool


@dataclass(frozen=True)
class Check:
    """The statement at exact parameters.

    opinions   of two back-ends that share no code but the definition of the parameters
    premises   every hypothesis of the statement
    limit      for the reading "limit": the theorem that carries the violation to dt → 0, with its numbers; else ""
    words      the violation in one sentence that a reader can follow
    apart      what the two back-ends say that cannot both be true, "" if there is nothing: then one of them is wrong
    """

    opinions: tuple[Opinion, ...]
    premises: tuple[Hypothesis, ...] = ()
    limit: str = ""
    words: str = ""
    log_measured: float | None = None
    log_claimed: float | None = None
    apart: str = ""


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
class Question:
    """A statement on trial; ``cases`` and ``places`` have distinct (domain, quantity)."""

    id: str
    source: Source
    statement: str
    semantics: Semantics
    cases: tuple[Case, ...]
    origin: str = "published"
    dominated_by: str = ""
    version: int = 1
    places: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        if self.semantics not in SEMANTICS:
            raise ClaimError(f'Question "{self.id}": semantics is {self.semantics!r}; it is one of {SEMANTICS}.')
        if not self.cases:
            raise ClaimError(f'Question "{self.id}" has no cases: there would be nothing to answer.')
        places = [(at.domain, at.quantity) for at in self.cases]
        places += [(at.domain, at.quantity) for at in self.places]
        if len(set(places)) != len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise ClaimError(f'Question "{self.id}": two cases are both {twice}. Give each its own domain or quantity.')

    @property
    def slug(self) -> str:
        return slug(self.id)

    @property
    def is_asymptotic(self) -> bool:
        """Whether it is about sufficiently small dt, which its cases then read as printed values or as a limit."""
        return any(case.reading for case in self.cases)

    def case(self, domain: str, quantity: str) -> Case:
        """The case of that place. Raises ClaimError, with the known ones, if there is none."""
        for case in self.cases:
            if (case.domain, case.quantity) == (domain, quantity):
                return case
        known = "; ".join(f"{case.domain}, {case.quantity}" for case in self.cases)
        raise ClaimError(f'Question "{self.id}" has no case ({domain}, {quantity}). It has: {known}.')

    def checked_at(self, domain: str, quantity: str) -> Case | Place:
        """The case or the place where a counterexample says to be. Raises ClaimError as ``case`` does."""
        for place in self.places:
            if (place.domain, place.quantity) == (domain, quantity):
                return place
        return self.case(domain, quantity)


# --- exact parameters as text


def rational(value: Fraction | int | float) -> str:
    """An exact number as text; a float stands for the exact double it is."""
    return str(Fraction(value))


def rationals(values: list[Fraction] | tuple[Fraction, ...]) -> str:
    """Several exact numbers as text."""
    return " ".join(map(rational, values))


def number(parameters: Parameters, name: str) -> Fraction:
    """One exact number by name. Raises ClaimError if it is missing or is no number."""
    values = numbers(parameters, name)
    if len(values) != 1:
        raise ClaimError(f'Parameter "{name}" is "{parameters[name]}", but it is one number.')
    return values[0]


def numbers(parameters: Parameters, name: str) -> list[Fraction]:
    """A list of exact numbers by name. Raises ClaimError if it is missing or holds something else."""
    if name not in parameters:
        raise ClaimError(f'Parameter "{name}" is missing. There are: {", ".join(parameters) or "none"}.')
    try:
        return [Fraction(word) for word in parameters[name].split()]
    except (ValueError, ZeroDivisionError):
        raise ClaimError(f'Parameter "{name}" is "{parameters[name]}", but it holds exact numbers.') from None


def matrix_of(numbers: Sequence[Fraction], columns: int) -> list[list[Fraction]]:
    """Numbers row by row as a matrix."""
    return [list(numbers[start : start + columns]) for start in range(0, len(numbers), columns)]


def text_of(matrix: Iterable[Iterable[Any]]) -> str:
    """A matrix row by row as the text of a parameter."""
    return " ".join(str(entry) for row in matrix for entry in row)
