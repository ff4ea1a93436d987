"""The table of docs/derivations/certificates.md is that of the recorded attacks, on every kind of network."""

from __future__ import annotations

import json

from benchmarks._cell_kinds import KINDS
from tests.benchmarks.scripts import imported

script = imported("cell_certificates")


def test_the_table_is_that_of_the_results() -> None:
    result = json.loads(script.RESULT.read_text("utf-8"))
    assert "\n".join(script.page(result)) in script.PAGE.read_text("utf-8")
    assert list(result["kinds"]) == list(KINDS)
    assert all(found["exceeded"] == 0 and found["lines"] > 30 for found in result["kinds"].values())


def test_every_quantity_has_a_column() -> None:
    groups = {script.group_of(q) for q in ("|y_n|, n ≤ N", "|ŷ_n| as computed", "‖∂h_N/∂h_1‖₂", "|dE/dθ|, θ = V")}
    assert groups == {*script.GROUPS, script.GRADIENTS}
    assert script._cells({"|y_n|, n ≤ N": 0.5, "|dE/dθ|, θ = b": 0.1, "|dE/dθ|, θ = V": 0.02}) == (
        "0.5",
        "–",
        "–",
        "0.02 (V) … 0.1 (b)",
    )
