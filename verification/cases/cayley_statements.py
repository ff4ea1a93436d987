"""A statement about orthogonal or unitary matrices as a case: decided in symbols, or broken at exact matrices.

Asking tries ``decide`` first, which returns what was decided and over which matrices, or "". If it decides nothing the
points are gone through in FLINT's rationals, and those where the statement is broken become candidates. Checking
decides at one typed point, in FLINT and once more in plain fractions (``certify.second.cayley``).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from verification.cases.related import short
from verification.claim import GIVEN, Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.parameters import Declaration

Found: TypeAlias = tuple[bool, str]
"""Whether the statement is certainly broken at a point, and both sides as text."""
Premises: TypeAlias = Callable[[Parameters], tuple[Premise, ...]]


DRAWS = {"smoke": 4, "standard": 10, "deep": 50}
"""How many points of an identity are drawn."""
MOST_LETTERS = 2_000
"""Of a point that is typed: determinants of six rows in fractions multiply its numbers thousands of times."""


def no_premise(_: Parameters) -> tuple[Premise, ...]:
    return ()


@dataclass(frozen=True)
class Statement:
    """words   the two sides
    decide  what was decided in symbols, and over what; "" if the statement is not true, or not decided
    points  exact parameters, the plainest first
    first, second   whether it is broken at a point: in FLINT, in plain fractions
    parameters      what a point is made of: orthogonal, unitary and skew matrices by their kinds
    premises        what else the statement asks
    """

    words: str
    decide: Callable[[], str]
    points: Callable[[Budget, int], Iterable[Parameters]]
    first: Callable[[Parameters], Found]
    second: Callable[[Parameters], Found]
    found: str = ""
    claimed: str = ""
    parameters: Declaration = field(kw_only=True)
    premises: Premises = field(default=no_premise, kw_only=True)

    def case(self, domain: str, quantity: str) -> Case:
        names = [parameter.name for parameter in self.parameters.parameters]
        declaration = replace(self.parameters, rules=(*self.parameters.rules, short(MOST_LETTERS, *names)))
        return Case(domain, quantity, self.ask, declaration.guards(self.check, self.look))

    def ask(self, budget: Budget, seed: int) -> Attempt:
        points = list(self.points(budget, seed))
        broken = list(itertools.islice((p for p in points if self.first(p)[0]), 3))
        proof = self.decide()
        if broken:
            tried = f"{self.words}: {len(points)} exact points"
            return Attempt(
                tried, len(points), found=self.first(broken[0])[1], claimed=self.claimed, candidates=tuple(broken)
            )
        tried = f"{self.words}: {len(points)} exact points" + (f"; {proof}" if proof else "")
        return Attempt(tried, len(points), found=self.found, claimed=self.claimed, proof=proof)

    def look(self, parameters: Parameters) -> bool | None:
        """Whether it is broken in FLINT; None where a premise fails."""
        holds = all(premise.holds for premise in self.premises(parameters))
        return self.first(parameters)[0] if holds else None

    def check(self, parameters: Parameters) -> Check:
        first, second = self.first(parameters), self.second(parameters)
        return Check(
            opinions=(Opinion("flint", *first), Opinion("fractions", *second)),
            premises=self.premises(parameters),
            words=f"{GIVEN}: {first[1]}",
        )


def identity_case(
    domain: str,
    quantity: str,
    decide: Callable[[], str],
    first: Callable[[Parameters], Iterable[Any]],
    second: Callable[[Parameters], Iterable[Any]],
    parameters: Declaration,
) -> Case:
    """An identity that is decided in symbols. ``first`` and ``second`` return left − right at one point, by entries,
    each typed for its back-end: numbers, or pairs of them that are complex.
    """

    def broken(differences: Callable[[Parameters], Iterable[Any]]) -> Callable[[Parameters], Found]:
        def at(point: Parameters) -> Found:
            unequal = sum(any(x != 0 for x in (z if isinstance(z, tuple) else (z,))) for z in differences(point))
            return unequal > 0, f"{unequal} entries of left − right are not 0" if unequal else "left = right"

        return at

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for _ in range(DRAWS[budget.name]):
            yield parameters.draw(rng)

    statement = Statement(
        quantity, decide, points, broken(first), broken(second), "equal", "equal", parameters=parameters
    )
    return statement.case(domain, quantity)


def up_to(most: int, fact: Callable[[int], bool], *, least: int = 1) -> bool:
    """Whether the fact was decided for every size from ``least`` to ``most``."""
    return all(fact(n) for n in range(least, most + 1))


def listed(*facts: tuple[str, bool]) -> str:
    """The texts of facts that were decided, joined; "" if one of them does not hold."""
    return "; ".join(text for text, _ in facts) if all(holds for _, holds in facts) else ""
