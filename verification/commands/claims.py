"""``odernn claims``: the statements on trial."""

from __future__ import annotations

import hashlib
from pathlib import Path

from odernn.published.sources import PAPERS, Source
from verification.claim import Claim
from verification.commands.options import Action, ClaimsOption, FormatOption
from verification.commands.terminal import DONE, out
from verification.registry import Registered, Registry
from verification.report.formats import renderer
from verification.report.table import Column, Table

COLUMNS = (
    Column("claim"),
    Column("source", width=24),
    Column("bounds", width=12),
    Column("hypotheses", width=26),
    Column("kind"),
    Column("dominated by"),
    Column("statement", width=60),
)


def command(claims_dirs: ClaimsOption = None, format: FormatOption = "text") -> Action:
    """List the claims: statement, hypotheses, source."""
    return Action(lambda: run(claims_dirs=tuple(claims_dirs or ()), format=format))


def run(*, claims_dirs: tuple[Path, ...], format: str) -> int:
    render = renderer(format)
    # bounds on states first, as in every table
    entries = sorted(Registry(claims_dirs), key=lambda entry: entry.claim.state_bound is None)
    out(
        render(
            Table(
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
        )
    )
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
