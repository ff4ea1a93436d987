"""``odernn claims``: the statements on trial."""

from __future__ import annotations

import hashlib
from pathlib import Path

from odernn.published.sources import PAPERS, Source
from verification.claim import Claim
from verification.commands.options import Action, ClaimsOption, FormatOption
from verification.commands.terminal import DONE, out
from verification.question import Question
from verification.registry import Registered, RegisteredQuestion, Registry
from verification.report.formats import renderer
from verification.report.table import Column, Table

COLUMNS = (
    Column("claim"),
    Column("source", width=24),
    Column("bounds", width=12),
    Column("premises", width=26),
    Column("kind"),
    Column("dominated by"),
    Column("statement", width=60),
)


def command(claims_dirs: ClaimsOption = None, format: FormatOption = "text") -> Action:
    """List the claims: statement, premises, source."""
    return Action(lambda: run(claims_dirs=tuple(claims_dirs or ()), format=format))


def run(*, claims_dirs: tuple[Path, ...], format: str) -> int:
    render = renderer(format)
    registry = Registry(claims_dirs)
    bounds, questions = list(registry), list(registry.questions())
    out(
        render(
            Table(
                title=f"{len(bounds) + len(questions)} claims",
                columns=COLUMNS,
                rows=(
                    *(_row(entry.claim) for entry in bounds),
                    *(_question_row(entry.question) for entry in questions),
                ),
                caption=(
                    "published, asymptotic: tried at the printed values and in the limit dt → 0; library: a theorem of "
                    "this library, with a proof, tried all the same.",
                    *_papers(
                        [*(entry.claim.source for entry in bounds), *(entry.question.source for entry in questions)]
                    ),
                ),
                records=(*map(_record, bounds), *map(_question_record, questions)),
            )
        )
    )
    return DONE


def _kind(claim: Claim) -> str:
    return f"{claim.origin}, asymptotic" if claim.asymptotic else claim.origin


def _papers(sources: list[Source]) -> list[str]:
    """The full references of the sources' keys, in the order in which they occur."""
    keys = dict.fromkeys(source.key for source in sources)
    return [f"{key}: {PAPERS[key]}." for key in keys if key in PAPERS]


def _row(claim: Claim) -> tuple[str, ...]:
    return (
        claim.id,
        str(claim.source),
        ", ".join(part.symbol for part in claim.parts),
        "; ".join(premise.text for premise in claim.premises) or "none",
        _kind(claim),
        claim.dominated_by or "–",
        claim.statement,
    )


def _question_row(question: Question) -> tuple[str, ...]:
    quantities = dict.fromkeys(case.quantity for case in question.cases)
    return (
        question.id,
        str(question.source),
        ", ".join(quantities),
        "in the statement",
        f"{question.origin}, {question.semantics}",
        question.dominated_by or "–",
        question.statement,
    )


def _question_record(registered: RegisteredQuestion) -> dict[str, object]:
    question = registered.question
    return {
        "claim": question.id,
        "slug": question.slug,
        "source": str(question.source),
        "statement": question.statement,
        "semantics": question.semantics,
        "cases": [f"{case.domain} | {case.quantity}" for case in question.cases],
        "origin": question.origin,
        "dominated_by": question.dominated_by,
        "version": question.version,
        "file": registered.path.name,
        "sha256": hashlib.sha256(registered.path.read_bytes()).hexdigest(),
    }


def _record(registered: Registered) -> dict[str, object]:
    claim = registered.claim
    return {
        "claim": claim.id,
        "slug": claim.slug,
        "source": str(claim.source),
        "statement": claim.statement,
        "parts": [f"{part.quantity}/{part.norm}" for part in claim.parts],
        "premises": [premise.text for premise in claim.premises],
        "asymptotic": claim.asymptotic,
        "origin": claim.origin,
        "system": claim.system.name,
        "dominated_by": claim.dominated_by,
        "version": claim.version,
        "file": registered.path.name,
        "sha256": hashlib.sha256(registered.path.read_bytes()).hexdigest(),
    }
