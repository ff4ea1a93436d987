"""Sentences on a printed table: a relation between the numbers of some columns of a row.

Decided in fractions and once more in the decimals that are printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

from odernn.published.complexity import PrintedRow
from verification.cases.related import OneOf
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.parameters import Parameter, declared

FRACTIONS, DECIMALS = "fractions", "decimals"
"""The two back-ends of printed numbers: rationals, and the digits as they are."""


@dataclass(frozen=True)
class Relation:
    """What should hold between the numbers of some columns, typed for fractions and once more for decimals."""

    text: str
    holds: Callable[..., bool]
    again: Callable[..., bool]


LESS = Relation("increasing in this order", lambda l, r: l < r, lambda l, r: r.compare(l) == 1)
NOT_MORE = Relation("nowhere decreasing in this order", lambda l, r: l <= r, lambda l, r: r.compare(l) != -1)


def columns_case(
    row: PrintedRow, quantity: str, groups: Callable[[], Iterable[tuple[str, ...]]], relation: Relation
) -> Case:
    """The relation holds between the numbers of every group of columns of a row; ``groups`` may take time."""

    def words(columns: Sequence[str], numbers: Sequence[str]) -> str:
        listed = ", ".join(f"{column}: {number}" for column, number in zip(columns, numbers, strict=True))
        return f"{row.table}, {row.name}: {listed}"

    def ask(_: Budget, __: int) -> Attempt:
        known = tuple(groups())
        if not known:
            raise ValueError(f"{row.table}, {row.name}: {quantity} compares no columns. Name a group.")
        wrong = [columns for columns in known if not relation.holds(*map(row.value, columns))]
        text = f"{row.table}, {row.name}: {_listed(row)}; {quantity}, in {len(known)} comparisons"
        if not wrong:
            return Attempt(text, len(known), found=_listed(row), claimed=quantity, proof=text)
        candidates = [
            {"columns": json.dumps(columns), "numbers": " ".join(row.numbers[column] for column in columns)}
            for columns in wrong
        ]
        shown = words(wrong[0], candidates[0]["numbers"].split())
        return Attempt(text, len(known), found=shown, claimed=quantity, candidates=tuple(candidates))

    def check(parameters: Parameters) -> Check:
        columns, numbers = tuple(json.loads(parameters["columns"])), parameters["numbers"].split()
        shown = words(columns, numbers)
        return Check(
            opinions=(
                Opinion(FRACTIONS, not relation.holds(*map(Fraction, numbers)), f"{shown}, not {relation.text}"),
                Opinion(DECIMALS, not relation.again(*map(Decimal, numbers)), f"{shown}, not {relation.text}"),
            ),
            words=f"{shown}, not {relation.text}",
        )

    @cache
    def known() -> dict[str, str]:
        """Groups of columns as JSON, and the numbers that are printed there."""
        return {json.dumps(group): " ".join(row.numbers[column] for column in group) for group in groups()}

    parameters = declared(
        Parameter("columns", OneOf(lambda _: list(known()))),
        Parameter("numbers", OneOf(lambda values: [known()[values["columns"]]])),
    )
    return Case(f"{row.table}: {row.name}", quantity, ask, parameters.guards(check))


def _listed(row: PrintedRow) -> str:
    return ", ".join(f"{column}: {number}" for column, number in row.numbers.items())
