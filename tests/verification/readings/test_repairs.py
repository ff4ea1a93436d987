"""What is true instead: every claim that is refuted in its meant reading names it, and it is on trial.

Which claims these are, the pins say; a case that was renamed since is of no pin.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from odernn.published.networks import ROWS
from verification import verdict
from verification.answer import blank_of
from verification.claim import ClaimError
from verification.commands import expectations
from verification.domains import FREE, printed_name
from verification.readings import reading as readings
from verification.readings.reading import REPAIRS, Repair, gravity_of, read, reading_of, verdict_of
from verification.registry import Registry
from verification.verdict import Judgement

REGISTRY = Registry(())
PINNED = expectations.read(Path(__file__).parents[1] / "pins.json")


@cache
def judgements() -> tuple[Judgement, ...]:
    """What the pins say of every case, as a run would."""
    found = []
    for cell, said in PINNED.items():
        identifier, domain, *layer, quantity = cell.split(" | ", 2 if " | layer " not in cell else 3)
        if identifier not in REGISTRY.ids():  # renamed since; that the pins are those of today, test_pins says
            continue
        claim = REGISTRY.get(identifier).claim
        blank = Judgement(
            claim=identifier,
            domain=domain,
            layer=int(layer[0].removeprefix("layer ")) if layer else 0,
            quantity=quantity,
            norm="",
            symbol=quantity,
            reading="",
            verdict=said,
            because="",
            origin=claim.origin,
            system="",
        )
        found.append(blank)
    return tuple(found)


def refuted() -> list[str]:
    """Claims whose meant reading is refuted, in cases that there are."""
    fallen = dict.fromkeys(
        each.claim
        for each in judgements()
        if each.verdict == verdict.REFUTED
        and (reading := reading_of(each.claim)) is not None
        and readings.name_of(each) in reading.cases
    )
    return list(fallen)


def cases_of(identifier: str) -> set[str]:
    claim = REGISTRY.get(identifier).claim
    if claim.state_bound is None:
        return {f"{case.domain} | {case.quantity}" for case in claim.cases}
    return {f"{domain} | {part.quantity}" for domain in (FREE, *map(printed_name, ROWS)) for part in claim.bound.parts}


def repairs_of(identifier: str) -> tuple[Repair, ...]:
    reading = reading_of(identifier)
    assert reading is not None
    return reading.instead


@pytest.mark.parametrize("identifier", refuted())
def test_what_is_true_instead_is_named_and_is_on_trial(identifier: str) -> None:
    repairs = repairs_of(identifier)
    assert repairs, "nothing is said to hold instead: name a repair, or say in ``untried`` that none is known"
    for repair in repairs:
        assert repair.what and repair.kind in REPAIRS
        assert not repair.claim or repair.claim in REGISTRY.ids()
        assert not repair.case or repair.case in cases_of(repair.claim)


def without_a_claim() -> list[tuple[str, Repair]]:
    """Repairs that nobody tries and that do not say why, of all readings."""
    return [
        (identifier, repair)
        for identifier, reading in readings.all_readings().items()
        for repair in reading.instead
        if not repair.claim and not repair.untried
    ]


def test_no_repair_is_prose() -> None:
    assert not without_a_claim()


def test_exact_formulas_for_gradients_of_several_layers_are_on_trial() -> None:
    """Every repair by thm-R and thm-ML is theirs."""
    named = [
        (identifier, repair)
        for identifier in refuted()
        for repair in repairs_of(identifier)
        if any(word in repair.what for word in ("thm-R ", "thm-R,", "thm-R-short", "thm-ML"))
    ]
    assert len(named) >= 11
    for identifier, repair in named:
        assert repair.claim in ("thm-R", "thm-R-short", "thm-ML", "both-104"), (identifier, repair.what)


@pytest.mark.parametrize("identifier", refuted())
def test_the_gravity_is_known_once_its_repairs_are_pinned(identifier: str) -> None:
    tried = {each.claim for each in judgements()}
    grave = gravity_of(identifier, judgements())
    assert grave or any(repair.claim and repair.claim not in tried for repair in repairs_of(identifier))


@pytest.mark.parametrize(
    ("identifier", "meant", "grave"),
    [
        ("both-104", verdict.REFUTED, "slip"),
        ("both-106/79", verdict.REFUTED, "constant"),
        ("both-D.5-Slarge", verdict.PROVED, ""),
        ("both-2.1-frequency", verdict.PROVED, ""),
    ],
)
def test_the_claims_on_residual_edges_and_frequency_have_their_gravity(identifier: str, meant: str, grave: str) -> None:
    """Two are refuted in notes only; (104) and (106) fall, and thm-ML's formula and power hold."""
    assert verdict_of(each for each in judgements() if each.claim == identifier) == meant
    assert gravity_of(identifier, judgements()) == grave


@pytest.mark.parametrize(
    ("identifier", "meant", "grave"),
    [
        ("sam-66", verdict.REFUTED, "hypothesis"),
        ("icml-(39)", verdict.REFUTED, "hypothesis"),
        ("sam-67", verdict.PROVED, ""),
        ("icml-(40)", verdict.REFUTED, "constant"),
    ],
)
def test_the_ends_of_the_chain_rule_are_judged_for_each_paper(identifier: str, meant: str, grave: str) -> None:
    """sam bounds the states by (32), which holds, icml by S(7), which does not; both forget the input of θ = V^1."""
    assert verdict_of(each for each in judgements() if each.claim == identifier) == meant
    assert gravity_of(identifier, judgements()) == grave


@pytest.mark.parametrize("identifier", ["icml-C.1", "icml-(40)", "both-100", "both-106/79"])
def test_a_bound_that_holds_with_other_constants_or_powers_is_a_matter_of_a_constant(identifier: str) -> None:
    assert gravity_of(identifier, judgements()) == "constant"


@pytest.mark.parametrize("identifier", ["sam-66", "icml-(39)", "sam-3.2", "sam-D.2", "sam-69", "sam-70", "sam-54"])
def test_a_bound_on_the_inputs_is_a_hypothesis_and_so_is_one_layer(identifier: str) -> None:
    """They name no bound on u, or lose a power of dt for l < L."""
    assert gravity_of(identifier, judgements()) == "hypothesis"


def test_what_is_true_of_one_of_two_named_methods_is_a_hypothesis() -> None:
    """The flow, as the first method has it, keeps every autonomous H; the second is an integrator."""
    assert gravity_of("both-2.2-exactH", judgements()) == "hypothesis"


@pytest.mark.parametrize("identifier", ["icml-3.1", "icml-C.2"])
def test_an_exponential_in_the_place_of_linear_growth_is_another_statement_also_with_bounded_inputs(
    identifier: str,
) -> None:
    repairs = [repair for repair in repairs_of(identifier) if "|u| ≤ U" in repair.what]
    assert [(repair.claim, repair.kind) for repair in repairs] == [("thm-G-inf", "another statement")]
    assert gravity_of(identifier, judgements()) == "substance"


def run_with(proved: str) -> list[Judgement]:
    """The pins, and every case of one claim with a verdict."""
    claim = REGISTRY.get(proved).claim
    cells = [replace(blank_of(claim, case), verdict=verdict.NOT_REFUTED) for case in claim.cases]
    return [each for each in judgements() if each.claim != proved] + cells


@pytest.mark.parametrize(
    ("identifier", "theorem"),
    [
        *((name, "thm-ML") for name in ("both-46", "both-92")),
        *((name, "thm-R") for name in ("both-84", "both-3.3/3.2-repr")),
        ("ode-T5-herm", "thm-clock"),
    ],
)
def test_a_formula_that_is_a_theorem_of_ours_makes_a_slip(identifier: str, theorem: str) -> None:
    assert gravity_of(identifier, run_with(theorem)) == "slip"
    without = [each for each in run_with(theorem) if each.claim != theorem]
    assert gravity_of(identifier, without) == ""
    fallen = [replace(each, verdict=verdict.REFUTED) if each.claim == theorem else each for each in run_with(theorem)]
    assert gravity_of(identifier, fallen) == "substance"


def test_a_repair_with_a_claim_gives_no_reason_for_having_none() -> None:
    text = (
        '[a]\nplace = "p"\nmeant = "m"\nbecause = "b"\ncases = ["x | y"]\n[[a.instead]]\nkind = "formula"\nwhat = "w"\n'
    )
    (reading,) = read(f'{text}untried = "nothing of its kind is known to hold"\n', "paper.toml")
    assert reading.instead[0].untried
    with pytest.raises(ClaimError, match="names a claim and says why none"):
        read(f'{text}untried = "u"\nclaim = "thm-R"\n', "paper.toml")
