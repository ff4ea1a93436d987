"""No forged parameters certify: nine files that once did; draws and mutations for all cases that are not refuted."""

from __future__ import annotations

import random
import re
from collections import Counter
from fractions import Fraction

import pytest

from tests.tiers import slow
from tests.verification.forgery.forge import Tally, Target, attack, mutated, targets
from verification.claim import Case, Check, ClaimError, Opinion
from verification.kinds import Rational
from verification.parameters import Parameter, declared
from verification.registry import Registry
from verification.witness.check import check
from verification.witness.file import Witness

FORGED = {
    "an order that the file claims": ("thm-rev", "2-2-ARNN, leapfrog", "order 2", {"order": "3"}),
    "a diagonal that is not ±1": (
        "thm-O-float", "any A, float32", "score ≤ 2r + r², r = ‖(I − A)D − (I + A)Ŵ‖_F", {"A": "-1/10", "D": "1 -3"},
    ),
    "a cubic field for linear ones": (
        "thm-deg", "linear fields, n ≤ 4", "degree 1", {"a": "0 0 1 0", "b": "0 1", "f": "0 0 0 1"},
    ),
    "no layers": ("both-D.5-example", "L = 7, S = 3", "ν and the powers", {"L": "0", "S": "-3"}),
    "a matrix that is not skew": (
        "sco-3.2b", "exact arithmetic", "Wᵀ W − I after a step", {"A": "7", "V": "1", "lambda": "1"},
    ),
    "another γ": ("ode-4-chang", "γ = 0", "W − Wᵀ − γ I is anti-Hermitian", {"n": "2", "gamma": "1/10"}),
    "another α": ("icml-C.1-step", "printed RR", "(1 + β dt)^n", {"alpha": "30", "T": "400", "N": "4000"}),
    "entries that were dropped": ("icml-C.1-step", "free", "(1 + β dt)^n", {"alpha": "1 7", "T": "2", "N": "4"}),
    "a size without measure": ("ode-4-chang", "γ = 0", "W − Wᵀ − γ I is anti-Hermitian", {"n": "1000", "gamma": "0"}),
}  # fmt: skip


CHAIN = ("a_{i+1,i} ≠ 0 for all i, b_n ≠ 0", "degree qⁿ")
FORGED["a field without its degree"] = ("ode-D1-n", *CHAIN, {"a": "0 0 1 0", "b": "0 1", "f": "1 0"})
FORGED["a linear field that the step cancels"] = ("thm-deg", *CHAIN, {"a": "0", "b": "-1", "f": "0 1"})


@pytest.mark.parametrize("name", FORGED)
def test_what_once_certified_is_refused(name: str) -> None:
    claim, domain, quantity, parameters = FORGED[name]
    with pytest.raises(ClaimError, match=r"[Pp]arameter"):
        check(Witness(claim, domain, quantity, parameters), Registry())


FULL = {"W": "0 1 0 0", "h": "1/4 1/8", "alpha": "0"}
OUTSIDE = {
    "a neuron that does not see the other": ("both-2-onlypossible", "m = 2, full W", "explicit and invertible", FULL),
    "the same, its volume": ("both-2-onlypossible", "m = 2, full W", "volume-preserving", FULL),
    "a neuron at rest, k = n/2": (
        "both-72", "k = 1", "|remainder of (73)| ≥ C dt²",
        {"alpha": "1", "w": "0", "v": "1", "b": "0", "target": "0", "steps": "2"},
    ),
    "a method that does nothing": (
        "ode-D1-n", "every explicit table of n stages", "degree qⁿ", {"b": "0", "a": "0", "f": "0 0 1"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_once_certified_beside_its_statement_fails_a_premise(name: str) -> None:
    """Of refuted cases: parameters that are read, and are not what the statement is about."""
    claim, domain, quantity, parameters = OUTSIDE[name]
    found = check(Witness(claim, domain, quantity, parameters), Registry())
    assert not found.certified
    assert any(line.startswith("premise") and not line.endswith("holds") for line in found.lines)


KNOWN = list(targets())


def test_what_once_failed_is_decided() -> None:
    """A step size that no float holds: it divided by 0 in the words of a check."""
    target = next(t for t in KNOWN if t.name.startswith("icml-D-nochaos | one neuron, periodic input | λ_N"))
    assert target.case.check is not None
    place = {"V": "-20", "alpha": "19", "b": "-5/8", "eps": "1/1000000", "h": f"1/{10**400}", "input": "-13 5"}
    check = target.case.check(place | {"steps": "102", "w": "8"})
    assert not any(opinion.violated for opinion in check.opinions) and "≥ -inf" in check.words


def test_a_number_that_no_float_holds_is_refused() -> None:
    """α = 10^−400 is 0 as a float, by which a rule divided."""
    target = next(t for t in KNOWN if t.name.startswith("thm-V | 0 < α < −w | log"))
    assert target.case.check is not None
    with pytest.raises(ClaimError, match="half a turn"):
        target.case.check({"alpha": f"1/{10**400}", "h": "17/32", "steps": "300", "w": "-707/80"})


LONG = re.compile(r"printed .* \| (\|dE/dθ\||‖dX)|n\^\(3/4\)|\(107\)/\(80\) .*L = 7|gradient descent")
"""Gradients over hundreds of steps and high orders: most of the time for one case in twenty."""


def some_of_every_claim(every_so_many: int = 1) -> list[Target]:
    """Of the cases of a claim without the long ones, if it has others, every ninth, the first among them.

    ``every_so_many``: of every second, third ... claim.
    """
    by_claim: dict[str, list[Target]] = {}
    for target in sorted(KNOWN, key=lambda each: bool(LONG.search(each.name))):
        if not LONG.search(target.name) or target.claim.id not in by_claim:
            by_claim.setdefault(target.claim.id, []).append(target)
    return [target for each in list(by_claim.values())[::every_so_many] for target in each[::9]]


@pytest.mark.timeout(3600)  # all of them take ten minutes on a busy machine
@pytest.mark.parametrize(
    ("count", "attacked"),
    [(1, some_of_every_claim(3)), slow((1, some_of_every_claim())), slow((4, KNOWN))],
    ids=["some of every third claim", "some", "all, four times"],
)
def test_nothing_forged_certifies_and_nothing_declared_fails(count: int, attacked: list[Target]) -> None:
    tally = Tally()
    claims = len({target.claim.id for target in KNOWN})
    assert len({target.claim.id for target in attacked}) in (claims, -(-claims // 3))
    for target in attacked:
        attack(target, count, random.Random(target.name), tally)
    assert not tally.certified, tally.certified[:3]
    assert not tally.failed, tally.failed[:3]
    assert sum(tally.kinds.values()) == 4 * count * len(attacked)
    assert tally.kinds["drawn, refused"] == 0 < tally.kinds["mutated, refused"]


# --- the attack itself


def planted(violated: bool) -> Target:
    """A check that forgets its premise, or not, on a case that is said to hold for x > 0."""
    known = KNOWN[0]

    def hole(texts: dict[str, str]) -> Check:
        found = violated and texts["x"].startswith("-")
        return Check((Opinion("one", found, ""), Opinion("two", found, "")))

    guarded = declared(Parameter("x", Rational())).guards(hole)
    return Target(known.claim, Case("here", "x", lambda _, __: None, guarded), is_refuted=False)  # type: ignore[arg-type, return-value]


def test_a_hole_is_found() -> None:
    for violated in (True, False):
        tally = Tally()
        attack(planted(violated), 20, random.Random(5), tally)
        assert bool(tally.certified) is violated


def test_what_only_cancels_at_plain_numbers_is_found() -> None:
    """1 + b λ = 0 has no volume: drawn numbers do not meet it."""

    def hole(texts: dict[str, str]) -> Check:
        found = 1 + Fraction(texts["b"]) * Fraction(texts["rate"]) == 0
        return Check((Opinion("one", found, ""), Opinion("two", found, "")))

    guarded = declared(*(Parameter(name, Rational()) for name in ("b", "rate"))).guards(hole)
    target = Target(KNOWN[0].claim, Case("here", "x", lambda _, __: None, guarded), is_refuted=False)  # type: ignore[arg-type, return-value]
    for count, is_found in ((0, False), (4, True)):
        tally = Tally()
        attack(target, 30, random.Random(7), tally, mutations=0, plain_ones=count, extreme_ones=0)
        assert bool(tally.certified) is is_found


def test_what_fails_at_extreme_numbers_only_is_found() -> None:
    """0 < 1 − x < 10^−30 or x > 10^30: no number that is drawn, changed or plain."""

    def hole(texts: dict[str, str]) -> Check:
        x = Fraction(texts["x"])
        found = 0 < 1 - x < Fraction(1, 10**30) or x > 10**30
        return Check((Opinion("one", found, ""), Opinion("two", found, "")))

    guarded = declared(Parameter("x", Rational())).guards(hole)
    target = Target(KNOWN[0].claim, Case("here", "x", lambda _, __: None, guarded), is_refuted=False)  # type: ignore[arg-type, return-value]
    for count, is_found in ((0, False), (1, True)):
        tally = Tally()
        attack(target, 60, random.Random(8), tally, extreme_ones=count)
        assert bool(tally.certified) is is_found


def test_mutations_are_of_every_kind_and_change_the_text() -> None:
    rng, texts = random.Random(6), {"A": "0 1/2 -1/2 0", "n": "2"}
    changes = [mutated(texts, rng) for _ in range(400)]
    assert sum(change != texts for change in changes) > 350
    sizes = Counter(len(change.get("A", "").split(" ")) for change in changes)
    assert {1, 3, 4, 5} <= set(sizes)
    assert any("n" not in change for change in changes)
