"""Printed numbers of parameters of EURNN and oRNN: by hand, by tensors, and numbers that are no count of theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tiers import where
from tests.verification.claims import claim_rows as rows
from verification.claims.scornn import quoted_counts as quoted

(CLAIM,) = quoted.CLAIMS
ORNN = quoted.QuotedNetwork("oRNN", 128, 2, 1, 16, "2.6k")
EURNN = quoted.QuotedNetwork("EURNN", 512, 2, 1, 2, "3k")


@pytest.mark.parametrize(
    "case", where(CLAIM.cases, lambda case: "EURNN, n = 512, some L" in case.domain), ids=lambda case: case.domain
)
def test_every_printed_number_is_a_count(case):
    judgement = rows.judged(CLAIM, case)
    assert judgement.verdict == rows.PROVED, judgement.because


def test_counts_by_hand():
    """16 · 128 and 16 · 128 − 120 reflections, 256 in, 128 out, 128 + 1 biases; 2 · 512 angles, 1024 in, 512 out."""
    counts = quoted.by_formula("oRNN", 128, 2, 1, 16)
    assert counts["full vectors; matrices, hidden bias, readout bias"] == 2048 + 256 + 128 + 129
    assert counts["no leading zeros; matrices"] == 1928 + 384
    counts = quoted.by_formula("EURNN", 512, 2, 1, 2)
    assert counts["2 angles; matrices, hidden bias, readout bias"] == 1024 + 1024 + 512 + 513
    assert counts["1 angle, phases; matrices, initial state"] == 512 + 512 + 1536 + 512


@pytest.mark.parametrize(("model", "n", "factors"), [("oRNN", 7, 3), ("oRNN", 4, 4), ("EURNN", 8, 3), ("EURNN", 6, 1)])
def test_both_counts_are_the_same(model, n, factors):
    assert quoted.by_formula(model, n, 3, 5, factors) == quoted.by_tensors(model, n, 3, 5, factors)
    assert len(quoted.by_formula(model, n, 3, 5, factors)) == {"oRNN": 16, "EURNN": 32}[model]


@pytest.mark.parametrize(
    "row",
    [replace(ORNN, printed="3.1k"), replace(ORNN, factors=32), replace(EURNN, printed="9k"), replace(EURNN, n=128)],
)
def test_another_number_is_refuted(row):
    assert rows.verdict_of(quoted.quoted_case("d", row)).verdict == rows.REFUTED
