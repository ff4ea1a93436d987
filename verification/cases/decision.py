"""Statements that are decided place by place, exactly, by two computations that share no code.

A *place* is a set of exact parameters: the numbers of an instance, or the size of an identity in symbols. ``decided``
makes a case of it: every place is decided by both, the statement is proved over the box if it holds at all of them, and
a place where it fails is a candidate that anyone can type in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from verification.cases.related import OneOf
from verification.claim import GIVEN, Attempt, Case, Check, ClaimError, Decided, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Constant, Values
from verification.parameters import Declaration, Parameter, declared

EXACT, AGAIN = "flint", "fractions"


Decision: TypeAlias = Callable[[Parameters], Decided]
Places: TypeAlias = Callable[[Budget, int], Iterable[Parameters]]
Premises: TypeAlias = Callable[[Parameters], tuple[Premise, ...]]


def no_premises(_: Parameters) -> tuple[Premise, ...]:
    return ()


@dataclass(frozen=True)
class FixedPlaces:
    """The same places for every budget."""

    places: tuple[Parameters, ...]

    def __call__(self, _: Budget, __: int) -> tuple[Parameters, ...]:
        return self.places


def at(*places: Parameters) -> FixedPlaces:
    """The same places for every budget: a case that says nothing else is asked about them alone."""
    return FixedPlaces(places)


def listed(names: Sequence[str], places: Callable[[], Iterable[Parameters]]) -> Declaration:
    """The parameters of one of the places, all of which have these names; they are made when they are needed."""

    @cache
    def known() -> tuple[Parameters, ...]:
        return tuple(places())

    def word(name: str, before: Sequence[str]) -> Parameter:
        def words(values: Values) -> list[str]:
            fitting = (place for place in known() if all(place[other] == values[other] for other in before))
            return list(dict.fromkeys(place[name] for place in fitting))

        return Parameter(name, OneOf(words))

    return declared(*(word(name, names[:number]) for number, name in enumerate(names)))


def premise(text: str, margin: Any, *, strict: bool = True) -> Premise:
    """A hypothesis by its margin, an exact number: positive, or not negative if not ``strict``."""
    return Premise(text, str(margin), bool(margin > 0 if strict else margin >= 0))


def decided(
    domain: str,
    quantity: str,
    places: Places,
    first: Decision,
    second: Decision,
    *,
    box: str,
    claimed: str,
    parameters: Declaration | None = None,
    premises: Premises = no_premises,
    names: tuple[str, str] = (EXACT, AGAIN),
    limit: Callable[[Parameters], str] = lambda _: "",
    is_box: bool = True,
    partial: bool = False,
) -> Case:
    """The case. ``box`` says in words what the places are; ``is_box`` is False where they are a sample of it only, so
    that holding at all of them proves nothing. ``limit`` carries a violation at one place beyond it. ``partial``: one
    of the two may find nothing where the statement fails, such as powers that grow too slowly. ``parameters`` declares
    what a place is made of; those of ``at`` are one of its places, if nothing is said.

    Raises ArithmeticError while asking if the two computations contradict each other at a place, RefusedError if a
    place is outside the declaration.
    """
    declaration = _of_fixed(places) if parameters is None else parameters

    def ask(budget: Budget, seed: int) -> Attempt:
        named = list(places(budget, seed))
        for place in named:
            declaration.read(place)  # a case asks nothing that it would refuse
        tried = [place for place in named if all(hypothesis.holds for hypothesis in premises(place))]
        failed: list[tuple[Parameters, str]] = []
        last = ""
        for place in tried:
            one = first(place)
            if one.violated:
                failed.append((place, one.text))
                continue
            other, last = second(place), one.text
            if other.violated:
                raise ArithmeticError(f"{_shown(place)}: {names[0]} finds {one.text}, {names[1]} finds {other.text}")
        if failed:
            violation = failed[0][1]
            return Attempt(
                box, len(tried), found=violation, claimed=claimed, candidates=tuple(p for p, _ in failed[:3])
            )
        text = f"{box}: {len(tried)} {'case' if len(tried) == 1 else 'cases'}, each decided by {names[0]}, {names[1]}"
        proof = f"{text}; {last}" if is_box and tried else ""
        return Attempt(text, len(tried), found=last, claimed=claimed, proof=proof)

    def check(parameters: Parameters) -> Check:
        one, other = first(parameters), second(parameters)
        return Check(
            opinions=(Opinion(names[0], one.violated, one.text), Opinion(names[1], other.violated, other.text)),
            premises=premises(parameters),
            limit=limit(parameters),
            words=f"{GIVEN}: {one.text}",
            partial=partial,
        )

    def look(parameters: Parameters) -> bool | None:
        holds = all(hypothesis.holds for hypothesis in premises(parameters))
        return first(parameters).violated if holds else None

    return Case(domain, quantity, ask, declaration.guards(check, look))


def _of_fixed(places: Places) -> Declaration:
    if not isinstance(places, FixedPlaces):
        raise ClaimError("Places that depend on the budget or the seed need a declaration of their parameters.")
    if len(places.places) == 1:
        return declared(*(Parameter(name, Constant(text)) for name, text in places.places[0].items()))
    return listed(tuple(places.places[0]), lambda: places.places)


def _shown(place: Parameters) -> str:
    return ", ".join(f"{name} = {value}" for name, value in place.items())
