"""Tables about methods in floating-point numbers: one method, and what is left of the catalogue. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from odernn.exact.algebraic import enclosure
from odernn.exact.coefficients import subscript
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.facts_as_given import MOST_TREES, FactsAsGiven, facts_as_given
from odernn.properties.rounding import FORMATS, as_given, rounded
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.families import PolynomialPair
from odernn.tableaus.methods import Method, in_stages
from odernn.tableaus.tableau import PartitionedTableau
from odernn.written.formulas import typeset
from verification.measure.catalogue_distance import Neighbour, distance, nearest_methods
from verification.report.numbers import NOT_AVAILABLE, minus, plural
from verification.report.rows.tableaus import WORDS, plain
from verification.report.table import Column, Entry, Table

__all__ = ["FORMATS", "GIVEN", "companion", "single"]

GIVEN = "given"
"""In place of a format: the numbers as they are written, nothing rounded."""

EXACTLY = (
    "About the numbers themselves, decided exactly: a program that steps with them steps with this method. "
    "λ_min: the smallest eigenvalue of M; −λ_min, where it is negative, is the spectral distance from M to the "
    "positive semi-definite matrices. Defect: the largest entry of the violated condition of symplecticity."
)


def single(method: Method, format: str) -> Table:
    """The method in the format: what holds, and by how much not; and the nearest methods of the catalogue."""
    table = as_given(method) if format == GIVEN else rounded(method, format)
    facts = facts_as_given(table)
    near = nearest_methods(table, 2)
    rows = [*_verdicts(facts), *_conditions(facts), *_neighbours(near)]
    if format != GIVEN:
        rows.append(_from_original(distance(table, method)))
    return Table(
        title=f"{table.name} · {plural(table.stages, 'stage')}" + (", as given" if format == GIVEN else ""),
        columns=(Column("property"), Column("value"), Column("evidence", width=84)),
        rows=tuple((name, value, evidence) for name, value, evidence, _ in rows),
        caption=(EXACTLY, *_left_out(facts)),
        records=tuple({"property": name, "value": value, "exact": exact} for name, value, _, exact in rows),
    )


Row = tuple[str, str, str, Any]
"""Property, value, evidence, and the number behind it, exactly, for programs."""


def _verdicts(facts: FactsAsGiven) -> list[Row]:
    rows: list[Row] = []
    if facts.algebraic_stability is not None and facts.smallest_eigenvalue is not None:
        stable, low = facts.algebraic_stability, facts.smallest_eigenvalue
        rows = [
            ("algebraically stable", WORDS[stable.holds], typeset(stable.because), stable.holds),
            ("λ_min(M)", number(low.lower), "enclosed by exact decisions", [str(low.lower), str(low.upper)]),
            ("min bᵢ", number(facts.smallest_weight), "", str(facts.smallest_weight)),
        ]
    symplectic = facts.symplecticity
    return [
        *rows,
        ("symplectic", WORDS[symplectic.holds], typeset(symplectic.because), symplectic.holds),
        ("defect", number(abs(symplectic.value)), "", str(symplectic.value)),
        ("order", str(facts.order.value), typeset(facts.order.because), facts.order.value),
    ]


def _conditions(facts: FactsAsGiven) -> list[Row]:
    return [
        (f"conditions of order {q}", number(failed.residual), f"largest at {failed.tree}", str(failed.residual))
        for q, failed in enumerate(facts.residuals, 1)
    ]


def _left_out(facts: FactsAsGiven) -> list[str]:
    last, declared = len(facts.residuals), facts.method.order
    if declared is None or last >= declared:
        return []
    return [f"Conditions of order {last + 1} to {declared}: not listed, there are more than {MOST_TREES} of one order."]


def _neighbours(near: Sequence[Neighbour]) -> list[Row]:
    names = ("nearest method", "next nearest")
    rows: list[Row] = []
    for name, neighbour in zip(names, near, strict=False):
        rows.append((name, neighbour.name, _where(neighbour), number(neighbour.distance)))
    return rows or [("nearest method", NOT_AVAILABLE, "the catalogue has none with so many stages", None)]


def _from_original(neighbour: Neighbour) -> Row:
    return ("largest rounding", number(neighbour.distance), _where(neighbour), neighbour.distance.str(15, radius=False))


def _where(neighbour: Neighbour) -> str:
    """The largest difference and its place; and the renumbering of the stages, if there is one."""
    s = len(neighbour.renumbering)
    places = [
        (abs(x), f"a{subscript(i % s + 1, j + 1)}", i // s)
        for i, row in enumerate(neighbour.A)
        for j, x in enumerate(row)
    ]
    places += [(abs(x), f"b{subscript(i % s + 1)}", i // s) for i, x in enumerate(neighbour.b)]
    if neighbour.is_equal:
        text = "equal, coefficient by coefficient"
    else:
        _, place, half = max(places, key=lambda entry: float(entry[0].mid()))
        of = "" if len(neighbour.b) == s else f" of the {('position', 'momentum')[half]}"
        text = f"off by at most {number(neighbour.distance)}, at {place}{of}"
    if neighbour.renumbering != tuple(range(s)):
        text += f"; its stages in the order {', '.join(str(k + 1) for k in neighbour.renumbering)}"
    return text


def number(value: Any) -> str:
    """Three digits of an exact number or a ball."""
    ball = value if hasattr(value, "mid") else enclosure(value, 64)
    return minus(f"{float(ball.mid()):.3g}")


# --- the catalogue ----------------------------------------------------------------------------------------------


def companion(
    methods: Sequence[Method], format: str, report: Callable[[str, int, int], None] = lambda kind, done, total: None
) -> Table:
    """One row for every method that is algebraically stable or symplectic: what is left of it in the format."""
    rows: list[tuple[Entry, ...]] = []
    records: list[dict[str, Any]] = []
    for position, method in enumerate(methods):
        report("deciding", position, len(methods))
        was_stable, was_symplectic = _holds_exactly(method)
        if not (was_stable or was_symplectic):
            continue
        facts = facts_as_given(rounded(method, format))
        stable = None if facts.algebraic_stability is None else facts.algebraic_stability.holds
        low = facts.smallest_eigenvalue
        worst = max((abs(failed.residual) for failed in facts.residuals), default=0)
        rows.append(
            (
                str(method.name),
                WORDS[stable] if was_stable else NOT_AVAILABLE,
                number(low.lower) if was_stable and low is not None else NOT_AVAILABLE,
                WORDS[facts.symplecticity.holds] if was_symplectic else NOT_AVAILABLE,
                number(abs(facts.symplecticity.value)) if was_symplectic else NOT_AVAILABLE,
                number(worst),
            )
        )
        records.append(
            {
                "tableau": str(method.name),
                "format": format,
                "was_algebraically_stable": was_stable,
                "algebraically_stable": stable,
                "was_symplectic": was_symplectic,
                "symplectic": facts.symplecticity.holds,
                "defect": plain(facts.symplecticity.value),
                "smallest_eigenvalue": None if low is None else [str(low.lower), str(low.upper)],
                "largest_residual": str(worst),
            }
        )
    return Table(
        title=f"{plural(len(rows), 'method')} in {format}",
        columns=(
            Column("tableau"),
            Column("algebraically stable"),
            Column("λ_min(M)", "right"),
            Column("symplectic"),
            Column("defect", "right"),
            Column("order conditions", "right"),
        ),
        rows=tuple(rows),
        caption=(summary(records, format), EXACTLY, "Order conditions: the largest residual up to the declared order."),
        records=tuple(records),
    )


def summary(records: Sequence[dict[str, Any]], format: str) -> str:
    """How many keep what they had."""
    stable = [record["algebraically_stable"] for record in records if record["was_algebraically_stable"]]
    symplectic = [record["symplectic"] for record in records if record["was_symplectic"]]
    return (
        f"{format}: {sum(stable)} of {len(stable)} algebraically stable methods still are, and {sum(symplectic)} of "
        f"{len(symplectic)} symplectic ones."
    )


def _holds_exactly(method: Method) -> tuple[bool, bool]:
    """Whether the method itself is algebraically stable, and symplectic, for the coefficients of its source."""
    table = in_stages(method)
    is_pair = isinstance(table, PartitionedTableau | PolynomialPair)
    return (not is_pair and algebraic_stability(table).holds is True), symplecticity(table).holds is True
