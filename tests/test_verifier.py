"""The verifier on trial: planted falsehoods are refuted and replayed, true statements never are, controls do their
work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.tiers import without
from verification.registry import Registry
from verification.run.execute import execute
from verification.run.job import Settings
from verification.run.plan import Plan
from verification.run.plan import plan as planned
from verification.run.store import Store
from verification.verdict import NOT_REFUTED, PROVED, REFUTED, VACUOUS, Judgement
from verification.witness.check import check
from verification.witness.file import from_json

Cell: TypeAlias = tuple[str, int]
Judged: TypeAlias = Callable[[str, Cell], list[Judgement]]
PLANTED = Path(__file__).parent / "planted"
FALSEHOODS = ("planted wrong bound", "planted wrong cell", "planted wrong tableau", "planted asymptotic")
TRUTHS = ("sam-D.1-a", "thm-S", "thm-S-Q")
CELLS = (("free", 1), ("printed nCIFAR", 1), ("printed psMNIST-128", 2))
FAST = CELLS[1]
"""The other cells take a minute of searches, and belong to the full tier."""
TIERS = [cell if cell == FAST else pytest.param(cell, marks=pytest.mark.slow) for cell in CELLS]
every_cell = pytest.mark.parametrize("cell", TIERS, ids=str)


def only(plan: Plan, claim: str, cell: Cell) -> Plan:
    """The part of a plan that judges a claim at a (domain, layer) cell."""
    wanted = ("judge", claim, *cell)
    judging = [
        job
        for job in plan.judging
        if (job.kind, job.spec["claim"], job.spec.get("domain"), job.spec.get("layer")) == wanted
    ]
    needed = {key for job in judging for key in job.needs}
    return Plan(plan.settings, tuple(job for job in plan.measuring if job.key in needed), tuple(judging))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry((PLANTED,))


@pytest.fixture(scope="module")
def judged(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """Planted and true claims at one cell through the whole chain: search, measure, control, certify, store."""
    settings = Settings(claims=(*FALSEHOODS, *TRUTHS), claims_dirs=(str(PLANTED),))
    whole = planned(settings, registry)
    with Store(tmp_path_factory.mktemp("verifier") / "store.sqlite", writable=True) as store:

        @cache
        def judge(claim: str, cell: Cell) -> list[Judgement]:
            plan = only(whole, claim, cell)
            assert len(plan.judging) == 1
            return execute(plan, store, workers=0)

        yield judge


@pytest.fixture(scope="module")
def judgements(judged: Judged) -> list[Judgement]:
    """At all cells."""
    return [judgement for claim in (*FALSEHOODS, *TRUTHS) for cell in CELLS for judgement in judged(claim, cell)]


@pytest.mark.parametrize(
    "claim", without(FALSEHOODS, "planted wrong tableau", "planted wrong cell")
)  # searched for seconds
@every_cell
@pytest.mark.parametrize("quantity", ["position", "momentum"])
def test_planted_falsehood_is_refuted(
    judged: Judged, registry: Registry, claim: str, cell: Cell, quantity: str
) -> None:
    (found,) = [j for j in judged(claim, cell) if j.quantity == quantity]
    assert (found.claim, (found.domain, found.layer)) == (claim, cell)
    assert found.verdict == REFUTED, found.because
    assert found.slack is not None and found.slack < 0
    replayed = check(from_json(found.witness), registry)
    assert replayed.certified, replayed.lines
    text = "\n".join(replayed.lines)
    assert "balls    violates" in text and "mpmath   violates" in text


@pytest.mark.slow
def test_asymptotic_falsehood_is_refuted_in_both_readings(judgements: list[Judgement]) -> None:
    found = {(j.domain, j.reading) for j in judgements if j.claim == "planted asymptotic" and j.verdict == REFUTED}
    assert found == {("free", "limit"), ("printed nCIFAR", "printed"), ("printed psMNIST-128", "printed")}


@every_cell
def test_true_statements_are_never_refuted(judged: Judged, cell: Cell) -> None:
    true = [j for claim in TRUTHS for j in judged(claim, cell)]
    assert len(true) == len(TRUTHS) * 2
    assert {j.verdict for j in true} <= {NOT_REFUTED, PROVED, VACUOUS}
    assert all(not j.witness for j in true)


@pytest.mark.parametrize("cell", TIERS[:2], ids=str)
def test_adversaries_come_within_a_thousandth_of_the_exact_supremum_in_the_first_layer(
    judged: Judged, cell: Cell
) -> None:
    first = [j for j in judged("thm-S", cell) if j.layer == 1]
    assert len(first) == 2
    assert all(j.slack is not None and abs(j.slack) < 5e-4 for j in first)


@every_cell
def test_no_run_exceeds_the_exact_supremum(judged: Judged, cell: Cell) -> None:
    product = [j for claim in TRUTHS for j in judged(claim, cell) if j.log_worst is not None]
    assert len(product) == len(TRUTHS) * 2
    assert all(j.log_worst <= j.log_exact + 1e-8 for j in product)


def test_witness_of_one_claim_does_not_refute_another(judged: Judged, registry: Registry) -> None:
    found = next(j for j in judged("planted wrong bound", FAST) if j.quantity == "position")
    text = found.witness.replace("planted wrong bound", "thm-S-Q")
    assert text != found.witness
    assert not check(from_json(text), registry).certified
