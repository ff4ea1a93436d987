"""Both sides of a refuted inequality over n: those of the witness at its end, and a crossing where there is one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from verification.answer import blank_of
from verification.claim import Claim
from verification.registry import Registry
from verification.report.html.witness_curves import LEAST_STEPS, _curve, stopped, witness_curves
from verification.verdict import LOG_10, REFUTED, Judgement
from verification.witness.file import Witness, to_json

PINS = json.loads((Path(__file__).parents[2] / "pins.json").read_text("utf-8"))


def falling(key: str) -> tuple[Claim, Judgement]:
    """The claim, and its cell of that pin, as refuted by some decades."""
    pinned = PINS[key]["witness"]
    claim = Registry().get(pinned["claim"]).claim
    case = claim.case(pinned["domain"], pinned["quantity"])
    text = to_json(Witness(claim.id, case.domain, case.quantity, pinned["parameters"]))
    return claim, replace(blank_of(claim, case), verdict=REFUTED, slack=-1.0, witness=text)


@pytest.mark.parametrize("key", ["icml-3.1 | L = 1 | |dE/dθ|", "sam-D.2 | free, L = 2 | |dE/dθ|, θ = b^1"])
def test_the_last_point_is_the_witness_and_the_circle_the_first_n_beyond_the_bound(key: str) -> None:
    claim, cell = falling(key)
    case = claim.case(cell.domain, cell.quantity)
    parameters = PINS[key]["witness"]["parameters"]
    (curve,) = witness_curves({claim.id: claim}, [cell]).values()
    check = case.check(parameters)
    assert curve.steps[-1] == int(parameters["N"]) and list(curve.steps) == sorted(set(curve.steps))
    assert curve.measured[-1] == pytest.approx(check.log_measured / LOG_10, rel=1e-12)
    assert curve.bound[-1] == pytest.approx(check.log_claimed / LOG_10, rel=1e-12)
    over = [n for n, left, right in zip(curve.steps, curve.measured, curve.bound, strict=True) if left > right]
    assert over and curve.crossing == over[0]


@pytest.mark.parametrize("start", ["icml-C.1-step | printed", "both-2-T1 | printed"])
def test_parameters_that_are_no_network_or_whose_step_depends_on_n_have_no_curve(start: str) -> None:
    keys = [key for key, pin in PINS.items() if key.startswith(start) and isinstance(pin, dict)]
    keys = [key for key in keys if int(PINS[key]["witness"]["parameters"].get("N", 0)) >= LEAST_STEPS]
    assert keys
    for key in keys:
        claim, cell = falling(key)
        case = claim.case(cell.domain, cell.quantity)
        assert _curve(case, cell) is None


def test_a_network_that_is_stopped_has_the_first_of_its_inputs_and_all_of_its_weights() -> None:
    given = {"N": "9", "w": "1 2", "u": "1 2 3 4 5 6 7 8 9", "alpha": "1"}
    assert stopped(given, 3) == {"N": "3", "w": "1 2", "u": "1 2 3", "alpha": "1"}


@pytest.mark.parametrize(
    "key", ["sco-4.2b | n even, ρ odd, every placement | spectrum of C(A) D", "icml-C.1-step | free | (1 + β dt)^n"]
)
def test_a_witness_without_steps_or_with_few_has_no_curve(key: str) -> None:
    claim, cell = falling(key)
    assert int(PINS[key]["witness"]["parameters"].get("N", 0)) < LEAST_STEPS
    assert witness_curves({claim.id: claim}, [cell]) == {}
