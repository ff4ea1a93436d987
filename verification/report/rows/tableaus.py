"""Tables about methods: one method's fact sheet, two side by side, the whole catalogue. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odernn.certificate import Certificate
from odernn.properties import absolute_monotonicity
from odernn.properties.fact_sheet import INERTIA, SINGLE, Skipped, decided, questions, skipped
from odernn.properties.nystrom import nystrom_facts
from odernn.tableaus.methods import Method, in_stages, is_exact
from odernn.tableaus.nystrom import NystromTableau
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau
from odernn.written.formulas import named_fields as fields_without_a_radical
from odernn.written.formulas import typeset
from verification.report.numbers import NOT_AVAILABLE, plural
from verification.report.rows import butcher
from verification.report.table import Cell, Column, Entry, Table

WORDS = {True: "yes", False: "no", None: "undecided"}
NUMBERS = frozenset({"order", "order on separable systems", "stage order", "B(p)", "C(q)", "D(r)", "embedded order"})
"""Properties whose value says more than yes or no."""

INTERVALS = frozenset({"imaginary stability interval", "real stability interval", absolute_monotonicity.PROPERTY})
CONVENTIONS = (
    "Algebraically stable: bᵢ ≥ 0 and M = BA + AᵀB − bbᵀ ≥ 0 for the tableau as given; B- and BN-stable: after "
    "merging equal stages. Inertia: positive, negative, zero eigenvalues."
)

NYSTROM = "For y″ = g(y): Yᵢ = y₀ + cᵢ h v₀ + h² Σ āᵢⱼ g(Yⱼ). Root of a failing tree: z for v₁, y for y₁."


@dataclass(frozen=True)
class MethodSheet:
    """A method with everything that was decided about it, by property."""

    method: Method
    found: Mapping[str, Certificate]
    skipped: Mapping[str, Skipped]

    @property
    def names(self) -> dict[str, str]:
        """Letters for the generators of number fields, by label, as the array above the table uses them."""
        return {field.label: name for name, field in fields_without_a_radical(_entries(self.method)).items()}

    def evidence(self, property: str) -> str:
        return typeset(self.found[property].because, self.names)

    def verdict(self, property: str) -> str:
        """The property's value in one word."""
        certificate = self.found.get(property)
        return NOT_AVAILABLE if certificate is None else verdict(certificate, property)


def sheet(method: Method, *properties: str) -> MethodSheet:
    """All facts, or those of the named properties."""
    if isinstance(method, NystromTableau):
        return MethodSheet(method, {certificate.property: certificate for certificate in nystrom_facts(method)}, {})
    left_out = {omitted.property: omitted for omitted in skipped(method, *properties)}
    asked = [name for name in properties or questions() if name not in left_out]
    return MethodSheet(method, dict(zip(asked, decided(method, *properties), strict=True)), left_out)


def _entries(method: Method) -> list[Any]:
    table = in_stages(method)
    halves = (table.position, table.momentum) if isinstance(table, PartitionedTableau) else (table,)
    return [entry for half in halves if isinstance(half, ButcherTableau) for entry in half.entries]


def verdict(certificate: Certificate, property: str) -> str:
    """ "4", "yes", "2√2", "(2, 1, 0)": what the property is, in one word."""
    value = certificate.value
    if property in NUMBERS:
        number = "every" if value == math.inf else str(value)
        return number if certificate.exact or certificate.holds is False else f"{number} (rounded)"
    if property in INTERVALS:
        return typeset(str(value))
    if property == "R(z)":
        return f"degree {len(value.numerator) - 1}/{len(value.denominator) - 1}"
    if property == INERTIA:
        return str(value)
    if property == "principal error" and value is not None:
        return f"{float(value.norm.mid()):.4g}"
    return WORDS[certificate.holds]


# --- one method -------------------------------------------------------------------------------------------------


def single(method: Method, places: int | None = None) -> Table:
    """The array, then every property with its evidence."""
    described = sheet(method)
    return Table(
        title=title(method),
        columns=(Column("property"), Column("value"), Column("evidence", width=84)),
        rows=tuple((name, described.verdict(name), described.evidence(name)) for name in described.found),
        caption=(
            *_declared(described),
            *_left_out(described),
            NYSTROM if isinstance(method, NystromTableau) else CONVENTIONS,
        ),
        records=tuple(_record(name, certificate) for name, certificate in described.found.items()),
        figure=butcher.figure([method], places),
    )


def title(method: Method) -> str:
    """Name, size and source."""
    parts = [str(method.name), plural(method.stages, "stage"), str(method.source) if method.source else ""]
    if isinstance(method, Composition):
        parts[1] = f"{len(method.gammas)} × {method.base.name}"
    return " · ".join(part for part in parts if part)


def _declared(described: MethodSheet) -> list[str]:
    """What the source declares, beside what was computed."""
    lines = []
    table = in_stages(described.method)
    pairs = (("order", described.method.order), ("embedded order", getattr(table, "order_hat", None)))
    for name, declared in pairs:
        if declared is not None and name in described.found:
            computed = described.found[name].value
            agrees = "as computed" if computed == declared else f"BUT IT IS {computed}"
            lines.append(f"The source declares {name} {declared}: {agrees}.")
    if not is_exact(described.method):
        lines.append(
            "The coefficients are rounded. What then is decided is decided for all numbers that round to them; "
            '"undecided" shows how near they come.'
        )
    return lines


def _left_out(described: MethodSheet) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for omitted in described.skipped.values():
        if omitted.because != SINGLE:  # nobody misses a pair's questions at one method
            reasons.setdefault(omitted.because, []).append(omitted.property)
    return [f"Not asked: {', '.join(names)} ({because})." for because, names in reasons.items()]


def _record(name: str, certificate: Certificate) -> dict[str, Any]:
    """For programs: everything as plain data, exact numbers as strings."""
    return {
        "property": name,
        "holds": certificate.holds,
        "exact": certificate.exact,
        "value": plain(_value(name, certificate)),
        "witness": plain(certificate.witness),
        "because": certificate.because,
        "margin": plain(certificate.margin),
    }


def _value(name: str, certificate: Certificate) -> Any:
    value = certificate.value
    if name == INERTIA:
        return [value.positive, value.negative, value.zero]
    if name == "principal error" and value is not None:
        return {"order": value.order, "norm": float(value.norm.mid())}
    if name in {"algebraically stable", "AN-stable", "BN-stable", "B-stable"}:
        return None  # the matrix M; its inertia has a row of its own
    return value


def plain(value: Any) -> Any:
    """JSON's numbers where they are exact, else text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return str(value)


# --- two methods ------------------------------------------------------------------------------------------------


def comparison(first: Method, second: Method, places: int | None = None) -> Table:
    """Both arrays and both fact sheets; "≠" marks where the methods differ."""
    one, other = sheet(first), sheet(second)
    names = [name for name in questions() if name in one.found or name in other.found]
    rows, records = [], []
    for name in names:
        differs = one.verdict(name) != other.verdict(name)
        rows.append(("≠" if differs else "", name, _compared(one, name, differs), _compared(other, name, differs)))
        records.append(
            {
                "property": name,
                "differs": differs,
                **{
                    f"{side}_{key}": value
                    for side, described in (("first", one), ("second", other))
                    for key, value in _of(described, name).items()
                },
            }
        )
    count = sum(record["differs"] for record in records)
    return Table(
        title=f"{first.name} and {second.name}: {plural(count, 'difference')} in {len(names)} properties",
        columns=(Column(""), Column("property"), Column(str(first.name), width=52), Column(str(second.name), width=52)),
        rows=tuple(rows),
        caption=(CONVENTIONS,),
        records=tuple(records),
        figure=butcher.figure([first, second], places),
    )


def _of(described: MethodSheet, name: str) -> dict[str, Any]:
    certificate = described.found.get(name)
    if certificate is None:
        return {"holds": None, "value": None, "because": described.skipped[name].because}
    record = _record(name, certificate)
    return {key: record[key] for key in ("holds", "value", "because")}


def _compared(described: MethodSheet, name: str, differs: bool) -> Entry:
    if name not in described.found:
        return NOT_AVAILABLE
    said = described.verdict(name)
    return Cell(f": {described.evidence(name)}", strong=said) if differs else f"{said}: {described.evidence(name)}"


# --- many methods -----------------------------------------------------------------------------------------------

COMPANION = ("order", "algebraically stable", "symplectic", "A-stable")


def companion(
    methods: Sequence[Method], report: Callable[[str, int, int], None] = lambda kind, described, total: None
) -> Table:
    """One row a method: order with the first failing tree, M, and what follows from it."""
    rows, records = [], []
    for number, method in enumerate(methods):
        report("deciding", number, len(methods))
        described = sheet(method, *COMPANION)
        rows.append(_companion_row(described))
        records.append({"tableau": str(method.name), "stages": method.stages, **_companion_record(described)})
    return Table(
        title=plural(len(methods), "tableau"),
        columns=(
            Column("tableau", least=14),
            Column("order", "right"),
            Column("failing tree", width=40, least=14, spare=True),
            Column("M = BA+AᵀB−bbᵀ", width=48, least=18),
            Column("algebraically stable"),
            Column("symplectic"),
            Column("A-stable"),
        ),
        rows=tuple(rows),
        caption=(
            "Order: the first tree whose condition fails; “rounded”: the source prints decimals, consistent with this "
            "order and with no higher. M: 0, its pivots, or a vector v or weight b that decides. “–”: a question about "
            "one Runge–Kutta method, and this one has two.",
        ),
        records=tuple(records),
    )


def _companion_row(described: MethodSheet) -> tuple[Entry, ...]:
    failed = described.found["order"].witness
    M = NOT_AVAILABLE
    if "algebraically stable" in described.found:
        M = described.evidence("algebraically stable").partition(";")[0].removeprefix("M = ")
    return (
        str(described.method.name),
        described.verdict("order"),
        NOT_AVAILABLE if failed is None else str(failed.tree),
        M,
        *(described.verdict(name) for name in COMPANION[1:]),
    )


def _companion_record(described: MethodSheet) -> dict[str, Any]:
    failed = described.found["order"].witness
    record: dict[str, Any] = {
        "order": plain(described.found["order"].value),
        "order_is_exact": described.found["order"].exact,
        "failing_tree": None if failed is None else str(failed.tree),
        "residual": None if failed is None else str(failed.residual),
    }
    for name in COMPANION[1:]:
        certificate = described.found.get(name)
        key = name.replace(" ", "_").replace("-", "_")
        record[key] = None if certificate is None else certificate.holds
        record[f"{key}_because"] = None if certificate is None else certificate.because
    return record


def listing(entries: Iterable[Method], families: Mapping[str, int], nystrom: Sequence[NystromTableau] = ()) -> Table:
    """The names that the command takes."""
    rows = [
        (entry.name, kind(entry), str(entry.stages), str(entry.order or NOT_AVAILABLE), str(entry.source or ""))
        for entry in entries
    ]
    rows += [(f"{name} S", "family", f"S ≥ {smallest}", NOT_AVAILABLE, "") for name, smallest in families.items()]
    title = f"{len(rows) - len(families)} tableaus and {len(families)} families"
    rows += [(method.name, "nystrom", str(method.stages), str(method.order), str(method.source)) for method in nystrom]
    return Table(
        title=f"{title}, {plural(len(nystrom), 'Runge–Kutta–Nyström method')}" if nystrom else title,
        columns=(
            Column("name"),
            Column("kind"),
            Column("stages", "right"),
            Column("declared order", "right"),
            Column("source", width=60),
        ),
        rows=tuple(rows),
        caption=("A member of a family is called by its number of stages: radau iia 10.",),
    )


def kind(method: Method) -> str:
    if isinstance(method, Composition):
        return "composition"
    if isinstance(method, PartitionedTableau):
        return "partitioned"
    return "explicit" if method.is_explicit else "diagonally implicit" if method.is_diagonally_implicit else "implicit"
