"""``odernn claims``: the statements on trial."""

from __future__ import annotations

import hashlib
from pathlib import Path

from odernn.published.sources import PAPERS, Source
from verification.claim import Claim
from verification.commands.options import Action, ClaimsOption, ColumnsOption, FormatOption, WidthOption
from verification.commands.results import rendered
from verification.commands.terminal import DONE, out
from verification.registry import Registered, Registry
from verification.report.table import Column, Table

COLUMNS = (
    Column("claim", least=14),
    Column("source", width=24, least=16),
    Column("bounds", width=12, least=12, spare=True),
    Column("hypotheses", width=26, least=18, spare=True),
    Column("kind", least=11),
    Column("dominated by", least=9, spare=True),
    Column("statement", width=60, least=34),
)


def command(
    claims_dirs: ClaimsOption = None,
    format: FormatOption = "text",
    columns: ColumnsOption = None,
    width: WidthOption = None,
) -> Action:
    """List the claims: statement, hypotheses, source."""
    dirs = tuple(claims_dirs or ())
    return Action(lambda: run(claims_dirs=dirs, format=format, columns=columns, width=width))


def run(*, claims_dirs: tuple[Path, ...], format: str, columns: str | None = None, width: int | None = None) -> int:
    """Print the table, in text as wide as the terminal. UsageError as ``rendered``."""
    # bounds on states first, as in every table
    entries = sorted(Registry(claims_dirs), key=lambda entry: entry.claim.state_bound is None)
    table = Table(
        title=f"{len(entries)} claims",
        columns=COLUMNS,
        rows=tuple(_row(entry.claim) for entry in entries),
        caption=(
            "published, asymptotic: tried at the printed values and in the limit dt → 0; library: a theorem of "
            "this library, with a proof, tried all the same.",
            *_papers([entry.claim.source for entry in entries]),
        ),
        records=tuple(map(_record, entries)),
    )
    out(rendered(table, format, columns=columns, width=width))
    return DONE


def _papers(sources: list[Source]) -> list[str]:
    """The full references of the sources' keys, in the order in which they occur."""
    keys = dict.fromkeys(source.key for source in sources)
    return [f"{key}: {PAPERS[key]}." for key in keys if key in PAPERS]


def _row(claim: Claim) -> tuple[str, ...]:
    bound, kind = claim.state_bound, f"{claim.origin}, {claim.semantics}"
    quantities, hypotheses = dict.fromkeys(case.quantity for case in claim.cases), "in the statement"
    if bound is not None:
        quantities = dict.fromkeys((*(part.symbol for part in bound.parts), *quantities))
        hypotheses = "; ".join(hypothesis.text for hypothesis in bound.hypotheses) or "none"
        kind = f"{claim.origin}, asymptotic" if bound.asymptotic else claim.origin
    named = (claim.dominated_by or "–", claim.statement)
    return (claim.id, str(claim.source), ", ".join(quantities), hypotheses, kind, *named)


def _record(registered: Registered) -> dict[str, object]:
    claim = registered.claim
    record: dict[str, object] = {
        "claim": claim.id,
        "slug": claim.slug,
        "source": str(claim.source),
        "statement": claim.statement,
        "semantics": claim.semantics,
        "cases": [f"{case.domain} | {case.quantity}" for case in claim.cases],
        "origin": claim.origin,
        "dominated_by": claim.dominated_by,
        "version": claim.version,
        "file": registered.path.name,
        "sha256": hashlib.sha256(registered.path.read_bytes()).hexdigest(),
    }
    if claim.state_bound is not None:
        record |= {
            "parts": [f"{part.quantity}/{part.norm}" for part in claim.bound.parts],
            "hypotheses": [hypothesis.text for hypothesis in claim.bound.hypotheses],
            "asymptotic": claim.bound.asymptotic,
            "system": claim.bound.system.name,
        }
    return record
