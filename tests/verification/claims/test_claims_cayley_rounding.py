"""Claims about orthogonality in floats: verdicts, exact defects against decimals, false variants that must turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction as Q
from types import ModuleType

import numpy as np
import pytest
import torch

from odernn.orthogonal.cayley import scaled_cayley, skew
from odernn.orthogonal.unitary import unitarity_score
from tests.tiers import without
from tests.verification.claims import claim_rows as rows
from verification.certify import orthogonality_defect as exact
from verification.claim import Case
from verification.claims.scornn import cayley_rounding as rounding
from verification.claims.scornn import machine_precision as precision
from verification.domains import BUDGETS
from verification.measure import machine_precision, orthogonality_drift
from verification.measure.computed_cayley import DTYPES, computed
from verification.measure.orthogonality_drift import Drift
from verification.parameters import RefusedError

CLAIMS = {each.id: each for each in (*rounding.CLAIMS, *precision.CLAIMS)}
ON_A_GPU = "inapplicable"
EXPECTED = {
    "sco-5.5.1": ["not-refuted"] * 8 + ["refuted"] * 2,
    "sco-5.5.1-A": ["refuted"] * 2 + ["not-refuted"] * 2,
    "sco-5.5.1-gpu": ["proved"] + ["refuted"] * 3 + [ON_A_GPU] * 2,
    "sco-5.5.1-growth": ["not-refuted"] * 7,
    "thm-O-float": ["not-refuted"] * 2,
}


@pytest.fixture
def _no_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The verdicts are those of a machine without a GPU, wherever the tests run."""
    monkeypatch.setattr(machine_precision, "device_available", lambda: False)
    yield


@pytest.mark.usefixtures("_no_device")
@pytest.mark.parametrize("name", without(EXPECTED, "sco-5.5.1", "sco-5.5.1-growth", "sco-5.5.1-A"))
def test_every_case_is_answered(name: str) -> None:
    assert rows.verdicts_of(CLAIMS[name]) == EXPECTED[name]
    assert set(EXPECTED) == set(CLAIMS)


@pytest.mark.parametrize("family", (rounding,))
def test_a_claim_file_names_no_verdict(family: ModuleType) -> None:
    rows.assert_names_no_verdict(family)


def verdict_of(case: Case) -> str:
    return str(rows.verdict_of(case).verdict)


# Computed matrices, exactly.

LARGE = [Q(-1441792), Q(-2293760), Q(2162688)]


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_both_defects_are_the_sums_of_decimals(name: str) -> None:
    """Entries of floats have finite decimal expansions: 400 digits hold every product."""
    for free in (LARGE, [Q(1, 2), Q(-1, 4), Q(3, 8)]):
        W = computed(free, [1, -1, 1], name)
        with localcontext() as context:
            context.prec = 400
            rows = [[Decimal(x.numerator) / Decimal(x.denominator) for x in row] for row in W]
            gaps = [abs(sum(rows[k][i] * rows[k][j] for k in range(3)) - (i == j)) for i in range(3) for j in range(3)]
            largest = max(gaps)
        assert float(exact.defect(W)) == float(exact.defect_again(W)) == pytest.approx(float(largest), rel=1e-12)
        assert exact.defect(W) == exact.defect_again(W)
        score = math.sqrt(float(exact.squared_score(W)))
        stored = torch.tensor([[float(x) for x in row] for row in W], dtype=DTYPES[name])
        assert unitarity_score(stored) == pytest.approx(score, rel=1e-6, abs=1e-20)


def test_the_replay_solves_the_system() -> None:
    """Small entries: within a few u of the exact C(A) D; and one rounding an operation on a 2x2 by hand."""
    free, signs = [Q(1, 2), Q(-1, 4), Q(3, 8)], [1, -1, 1]
    A = skew(torch.tensor([float(x) for x in free], dtype=torch.float64), 3)
    reference = scaled_cayley(A, torch.tensor(signs), refine=True)
    for name, u in (("float32", 2.0**-24), ("float64", 2.0**-53)):
        W = np.array([[float(x) for x in row] for row in exact.replayed(free, signs, name)])
        assert np.abs(W - reference.numpy()).max() < 8 * u
    s = np.float32(1 / 3)
    one = np.float32(1)
    pivot = one + s * s
    first = (one - -s * -s) / pivot  # W_22 = (1 − s·s)/(1 + s·s) after elimination by −s
    W = exact.replayed([Q(float(s))], [1, 1], "float32")
    assert float(W[1][1]) == float(first)


def test_the_residual_is_zero_at_the_exact_matrix_only() -> None:
    """a_12 = 1/2: C(A) turns by cos = 3/5, sin = 4/5. A residual that is too large would only make the bound looser."""
    free, signs = [Q(1, 2)], [1, -1]
    W = [[Q(3, 5), Q(4, 5)], [Q(4, 5), Q(-3, 5)]]
    assert exact.squared_residual(free, signs, W) == 0 == exact.squared_score(W)
    assert exact.squared_residual(free, [1, 1], W) != 0
    W[0][0] += Q(1, 8)  # R = −(I + A) times the error: (1/8)² (1 + 1/4)
    assert str(exact.squared_residual(free, signs, W)) == "5/256"
    assert [exact.unit_roundoff(name) for name in ("float32", "float64")] == [Q(1, 2**24), Q(1, 2**53)]


def test_the_condition_of_a_drift_is_the_largest_that_was_met() -> None:
    A = torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    A = A - A.T
    assert orthogonality_drift._condition(A) == pytest.approx(np.linalg.cond(np.eye(5) + A.numpy()), rel=1e-12)
    found = orthogonality_drift.drift("scaled Cayley", torch.float64, n=6, updates=100, seed=1)
    path = orthogonality_drift._path("scaled Cayley", torch.float64, 6, 1)
    met = [
        orthogonality_drift._condition(A)
        for k, (_, A) in zip(range(1, 101), path, strict=False)
        if k in (16, 32, 64, 100)
    ]
    assert found.updates == (16, 32, 64, 100) and found.condition == max(met) > min(met)


def test_the_replay_pivots() -> None:
    """Without pivoting the growth of 2^20 would leave no digit in float32."""
    W = exact.replayed([Q(2**20), Q(1), Q(1)], [1, 1, 1], "float32")
    assert exact.defect(W) < Q(1, 2)


def test_the_law_is_u_times_the_condition_number() -> None:
    """Entries 16 times as large, a defect 16 times as large up to the scatter of medians of 40 draws: exact, n = 3."""
    medians = []
    for power in (6, 10, 14):
        found = []
        for parameters in rounding.large_entries([power], trials=40):
            free = [Q(word) for word in parameters["A"].split()]
            found.append(float(exact.defect(computed(free, [1, 1, 1], "float64"))))
        medians.append(np.median(found))
    slopes = np.diff(np.log2(medians)) / 4
    assert (np.abs(slopes - 1) < 0.35).all()


LOST = {"A": "-1441792 -2293760 2162688", "D": "1 1 1"}


@pytest.mark.parametrize("A", ["0 0 0", "1/2 1/4 1/8"])
def test_a_witness_without_violation_does_not_count(A: str) -> None:
    case = CLAIMS["sco-5.5.1-A"].cases[0]
    assert not rows.doubt_of(case, LOST)
    assert rows.doubt_of(case, {**LOST, "A": A})


@pytest.mark.parametrize("change", [{"A": "1/3 1/3 1/3"}, {"D": "1 1 2"}, {"A": "1 1"}, {"A": f"1 1 {2**40}"}])
def test_what_is_no_matrix_of_floats_is_refused(change: dict[str, str]) -> None:
    case = CLAIMS["sco-5.5.1-A"].cases[0]
    assert case.check is not None
    with pytest.raises(RefusedError, match=f'"{next(iter(change))}"'):
        case.check({**LOST, **change})


def test_a_generous_limit_is_not_violated_by_small_entries() -> None:
    small = rounding.large_entries([-6])  # |a_ij| ≤ 1
    case = rounding.computed_case("float32", "small", "order", rounding._of_the_order("float32"), small)
    assert not case.ask(BUDGETS["smoke"], 0).candidates
    strict = rounding.computed_case("float32", "small", "order", lambda _: Q(1, 2**25), small)
    assert verdict_of(strict) == "refuted"


# Searches and drifts.


def test_the_ascent_reaches_the_largest_condition_number() -> None:
    generator = np.random.default_rng(0)
    best = max(rounding.climb(rounding.condition, 5, generator)[0] for _ in range(6))
    assert best == pytest.approx(rounding.worst_condition(5), rel=1e-9)
    assert rounding.worst_condition(3) == pytest.approx(2.0)
    for n in (5, 64):
        assert rounding.worst_condition(n) == pytest.approx(1 / math.sin(math.pi / (2 * n)))


def test_a_hundredth_of_the_bound_is_exceeded() -> None:
    assert verdict_of(rounding.bounded_case("float32", factor=0.01)) == "suspect"


def drifting(exponent: float) -> Drift:
    updates = (16, 32, 64, 128, 256, 512)
    return Drift("planted", updates, tuple(1e-6 * k**exponent for k in updates), 2.0)


@pytest.mark.parametrize(
    ("exponent", "sides", "holds"),
    [
        (0.5, rounding.grows, True),
        (-0.1, rounding.grows, False),
        (0.5, rounding.accumulates, True),
        (0.2, rounding.accumulates, False),
        (1.0, rounding.at_most_linear, True),
        (1.2, rounding.at_most_linear, False),
        (0.1, rounding.does_not_grow, True),
        (0.4, rounding.does_not_grow, False),
    ],
)
def test_a_planted_drift_is_told_from_its_opposite(exponent: float, sides, holds: bool) -> None:  # type: ignore[no-untyped-def]
    measured, claimed = sides(drifting(exponent), 8)
    assert (measured <= claimed) == holds


def test_a_score_above_the_expected_one_is_seen() -> None:
    measured, claimed = rounding.below_expectation("float32")(drifting(0.0), 64)
    assert measured <= claimed  # 1e-6 against 5 · 8 · 2^-23 · 2 = 9.5e-6
    measured, claimed = rounding.below_expectation("float64")(drifting(0.0), 64)
    assert measured > claimed


def test_a_tenth_of_the_residual_bound_is_refuted() -> None:
    assert verdict_of(rounding.residual_case("float32", factor=Q(1, 10))) == "refuted"


# Machine precision.


@pytest.mark.parametrize("name", machine_precision.DTYPES)
def test_measured_epsilon_is_that_of_the_format(name: str) -> None:
    assert machine_precision.measured_epsilon(name) == torch.finfo(machine_precision.DTYPES[name]).eps
    assert machine_precision.measured_epsilon(name) == 2 * float(Q(1, 2 ** rounding.FORMATS[name].precision))


@pytest.mark.parametrize("k", ["22", "24", "52"])
def test_another_epsilon_is_not_that_of_float32(k: str) -> None:
    case = CLAIMS["sco-5.5.1-gpu"].cases[2]
    assert not rows.doubt_of(case, {"k": "23"})
    assert rows.doubt_of(case, {"k": k})


@pytest.mark.parametrize("formats", [("float64", "float64"), ("float64", "float32"), ("float32", "bfloat16")])
def test_a_format_that_is_no_coarser_is_refuted(formats: tuple[str, str]) -> None:
    case = precision.in_use_case(*formats)
    assert verdict_of(case) == "refuted"
    assert not rows.doubt_of(case, dict(zip(("GPU", "CPU"), formats, strict=True)))
    assert verdict_of(precision.in_use_case("bfloat16", "float32")) == "proved"


def test_a_device_would_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device as precise as the CPU refutes; one with a larger eps does not."""
    case = precision.device_case("float32")
    monkeypatch.setattr(machine_precision, "device_available", lambda: True)
    here = 2.0**-23
    monkeypatch.setattr(machine_precision, "measured_epsilon", lambda name, device="cpu": here)
    assert verdict_of(case) == "refuted"
    monkeypatch.setattr(
        machine_precision, "measured_epsilon", lambda name, device="cpu": here if device == "cpu" else 2 * here
    )
    assert verdict_of(case) == "not-refuted"
    assert "premise" in rows.doubt_of(case, {"k": "23"})


def test_without_a_device_nothing_is_said_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the format says of eps is no measurement of a GPU."""
    monkeypatch.setattr(machine_precision, "device_available", lambda: False)
    assert "a CUDA device measures" in rows.doubt_of(precision.device_case("float32"), {"k": "23"})


@pytest.mark.gpu
def test_a_gpu_has_the_same_epsilon() -> None:
    if not machine_precision.device_available():
        pytest.skip("needs a CUDA device: torch.cuda.is_available() is False")
    for name in ("float32", "float64"):
        assert machine_precision.measured_epsilon(name, "cuda") == machine_precision.measured_epsilon(name)


@pytest.mark.parametrize("claim", ["sco-5.5.1-A", "thm-O-float"])
def test_entries_of_which_no_matrix_is_computed_violate_nothing(claim):
    """1 is lost beside 2^64: the last pivot of I + A is 0 in float32. Found by the attack on the checks."""
    cases = (case for each in rounding.CLAIMS if each.id == claim for case in each.cases)
    (case,) = (case for case in cases if case.domain == "any A, float32")
    large = str(2**32)
    checked = case.check({"A": " ".join([large] * 3), "D": "1 1 1"})
    assert [(opinion.violated, opinion.text) for opinion in checked.opinions] == [
        (False, "no Ŵ: a pivot of I + A is 0 in float32")
    ] * 2
