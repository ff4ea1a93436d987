"""thm-F on trial: both typings against the statement, runs against plain numpy, the lemma's hypotheses, falsehoods."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction as Q
from functools import cache
from types import SimpleNamespace

import flint
import numpy as np
import pytest
import torch

from odernn.bounds import reconstruction
from odernn.bounds.numbers import BALLS
from odernn.published.networks import ROWS
from odernn.published.sources import Source
from tests.tiers import spread
from tests.verification.claims.claim_rows import FORBIDDEN, SMOKE, doubt_of
from verification import verdict
from verification.answer import answer
from verification.cases import binades, rebuilding
from verification.cases.binades import HYPOTHESES, accumulator_case, hypotheses, lemma_case
from verification.cases.rebuilding import Neurons, free_case
from verification.certify.float_replay import FORMATS
from verification.certify.second import intervals as second
from verification.certify.second import rebuilding as again
from verification.claim import Case, Claim
from verification.claims.library import rebuilt_states
from verification.verdict import Judgement

CLAIM = rebuilt_states.CLAIMS[0]


@cache
def judged_case(number: int) -> Judgement:
    return answer(CLAIM, CLAIM.cases[number], SMOKE, 0)


def judged(case: Case) -> Judgement:
    return answer(Claim("made", Source("library", "a test"), "made", "float", (case,)), case, SMOKE, 0)


def test_all_formats_are_tried_free_chaotic_and_at_every_row() -> None:
    names = [f"{case.domain} | {case.quantity}" for case in CLAIM.cases]
    assert len(names) == 4 + 4 + 4 * len(ROWS) + 4 + 1
    for name in FORMATS:
        assert f"{name} | {rebuilding.QUANTITY}" in names and f"{name}, chaotic | {rebuilding.QUANTITY}" in names
        assert all(f"printed {row.name} | {rebuilding.QUANTITY}, {name}" in names for row in ROWS)


@pytest.mark.parametrize("number", spread(range(len(CLAIM.cases)), 14))
def test_no_case_falls(number: int) -> None:
    found = judged_case(number)
    proved = CLAIM.cases[number].domain == "bfloat16" and CLAIM.cases[number].quantity.startswith("fl")
    assert found.verdict == (verdict.PROVED if proved else verdict.NOT_REFUTED), found.because
    if found.slack is not None:
        assert found.slack > 1 and found.control is not None and found.control > 0.9


def planted() -> list[tuple[str, Callable[[], Case]]]:
    made: list[tuple[str, Callable[[], Case]]] = []
    for name in FORMATS:
        factor = Q(1, 10**4 if name == "bfloat16" else 1000)
        made.append((f"{name}, {factor} of the bound", lambda name=name, factor=factor: free_case(name, factor)))  # type: ignore[misc]
        for dropped in HYPOTHESES:
            made.append((f"{name} without {dropped}", lambda name=name, dropped=dropped: lemma_case(name, dropped)))  # type: ignore[misc]
    return [*made, ("accumulators that end", lambda: accumulator_case(saturated=True))]


PLANTED = planted()


@pytest.mark.parametrize(("name", "make"), PLANTED, ids=[name for name, _ in PLANTED])
def test_what_is_planted_is_refuted(name: str, make: Callable[[], Case]) -> None:
    case = make()
    found = judged(case)
    assert found.verdict == verdict.REFUTED, (name, found.because)
    assert not doubt_of(case, json.loads(found.witness)["parameters"])


# --- the bound

POINT = {"w": "-3/4", "h": "3/16", "alpha": "5/4", "form": "7/8"}
"""Numbers of every format."""
LARGEST = Q(5, 4), Q(3, 2)


def stated(point: dict[str, str], name: str, steps: int) -> float:
    """docs/derivations/reconstruction.md, thm-F (a), in plain floats."""
    w, h, alpha, a = (float(Q(point[key])) for key in ("w", "h", "alpha", "form"))
    u, nu = reconstruction.PRECISIONS[name].unit_roundoff, reconstruction.PRECISIONS[name].underflow
    Y, Z = map(float, LARGEST)
    r = math.sqrt(a * (1 - a * h * h / 4))
    c_y, c_z = 1 / r, math.sqrt(a) / r
    e = max(math.exp(math.asinh(h * abs(k - a) / (2 * r))) for k in (alpha + w, alpha))
    q = 1 - u * ((e + 1) * c_z + h * (3 * abs(w) + 4 * alpha) * c_y)
    kick = u * (Z + h * ((3 * abs(w) + 4 * alpha) * Y + 8)) + 8 * nu
    drift = u * (Y + h * Z) + nu
    rho, sigma = e * (1 + 2 * u * c_z) / q, (e * (kick + 2 * math.sqrt(a) * drift) + kick) / q
    return sigma * sum(rho**j for j in range(steps))


@pytest.mark.parametrize("change", [{}, {"form": "5"}, {"w": "2"}, {"form": "1/8", "w": "1/4"}])
@pytest.mark.parametrize("name", FORMATS)
def test_both_typings_of_the_bound_are_the_statement(name: str, change: dict[str, str]) -> None:
    """The library has u² Y more in δz, so that no logarithm is of 0."""
    point = POINT | change
    precision = reconstruction.PRECISIONS[name]
    with flint.ctx.workprec(128), second.iv.workprec(128):
        balls = {key: BALLS.exact(Q(text)) for key, text in point.items()}
        growth = reconstruction.error_growth(
            w=balls["w"],
            step_size=balls["h"],
            alpha=balls["alpha"],
            form=balls["form"],
            log_position=BALLS.exact(LARGEST[0]).log(),
            log_momentum=BALLS.exact(LARGEST[1]).log(),
            unit_roundoff=BALLS.exact(precision.unit_roundoff),
            underflow=BALLS.exact(precision.underflow),
            numbers=BALLS,
        )
        first = float(growth.log_after(7, numbers=BALLS).exp().mid())
        n = SimpleNamespace(**{key: second.number(text) for key, text in point.items()})
        n.u, n.nu = again.roundings(name)
        n.Y, n.Z = (second.number(str(value)) for value in LARGEST)
        other = float(again.bound(n, 7).mid)
    assert other == pytest.approx(stated(point, name, 7), rel=1e-12)
    assert first == pytest.approx(stated(point, name, 7), rel=1e-12 + 2 * precision.unit_roundoff)
    assert first >= other * (1 - 1e-12)


@pytest.mark.parametrize("name", FORMATS)
def test_both_tables_of_formats_are_those_of_the_machine(name: str) -> None:
    """u is half of torch's eps, ν half the smallest subnormal number; of float64 the library takes twice that."""
    facts = torch.finfo(getattr(torch, name))
    precision = reconstruction.PRECISIONS[name]
    u, nu = (Q(int(x.a._mpi_[0][1])) * Q(2) ** int(x.a._mpi_[0][2]) for x in again.roundings(name))
    assert u == Q(facts.eps) / 2 == Q(precision.unit_roundoff)
    assert nu == Q(facts.smallest_normal) * Q(facts.eps) / 2
    assert Q(precision.underflow) == nu * (2 if name == "float64" else 1)
    assert FORMATS[name].precision == 1 - math.log2(2 * u)


def test_a_wrong_entry_of_the_second_table_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float16 with a digit more has half the roundoff, and no longer the bound of the first table."""
    monkeypatch.setitem(again.BITS_AND_SMALLEST, "float16", (12, -24))
    with pytest.raises(AssertionError):
        test_both_tables_of_formats_are_those_of_the_machine("float16")
    with pytest.raises(AssertionError):
        test_both_typings_of_the_bound_are_the_statement("float16", {})


@pytest.mark.parametrize("form", ["7/8", "3"])
def test_the_size_of_an_error_is_the_invariant_form(form: str) -> None:
    with second.iv.workprec(128):
        y, z, a, h = (second.number(text) for text in ("1/3", "-2/7", form, "3/16"))
        size = float(again.size(y, z, a, h).mid)
    a_, h_ = float(Q(form)), 3 / 16
    assert size**2 == pytest.approx(a_ / 9 + 4 / 49 + a_ * h_ * 2 / 21, rel=1e-12)


# --- the runs


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_batch_is_rebuilt_as_plain_numpy_rebuilds_it(name: str) -> None:
    rng = np.random.default_rng(5)
    neurons = Neurons(
        rng.normal(size=3), np.array([0.1, 0.3, 0.02]), np.array([1.0, 4.0, 0.0]), rng.normal(size=(40, 3))
    )
    run = rebuilding.rebuild(neurons, name)
    w, h, alpha, x = (values.astype(name) for values in (neurons.w, neurons.h, neurons.alpha, neurons.x))
    y, z = np.zeros(3, dtype=name), np.zeros(3, dtype=name)
    largest = np.zeros((2, 3))
    for drive in x:
        z = z - h * (np.tanh(w * y + drive) + alpha * y)
        y = y + h * z
        largest = np.maximum(largest, np.abs([y, z]))
    for drive in x[::-1]:
        y = y - h * z
        z = z + h * (np.tanh(w * y + drive) + alpha * y)
    assert run.y.tolist() == y.tolist() and run.z.tolist() == z.tolist()
    assert [run.largest_y.tolist(), run.largest_z.tolist()] == largest.tolist()
    assert run.given.w.tolist() == w.astype(float).tolist() and 0.5 < run.rounded <= 1


def test_what_a_sum_lost_is_at_most_half_an_ulp_and_nearly_that_somewhere() -> None:
    rng = np.random.default_rng(0)
    for name in FORMATS:
        neurons = rebuilding.drawn(SMOKE, int(rng.integers(100)))
        assert 0.9 < rebuilding.rebuild(neurons, name).rounded <= 1


def test_chaotic_neurons_have_positive_exponents_and_stay_bounded() -> None:
    neurons, exponent = rebuilding.chaotic(SMOKE, 0)
    assert exponent > 0.05 and bool((neurons.w < 0).all())
    run = rebuilding.rebuild(neurons, "float64")
    assert float(run.largest_y.max()) < 1000


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_neurons_of_a_row_are_as_it_is_initialised(row) -> None:  # type: ignore[no-untyped-def]
    neurons = rebuilding.initialised(row, SMOKE, 0)
    assert bool(((neurons.w >= 0) & (neurons.w <= 1)).all()) and set(neurons.alpha.tolist()) == {float(row.alpha)}
    share = np.array([h / float(row.dt[i % row.num_layers]) for i, h in enumerate(neurons.h.tolist())])
    assert bool(((share >= 1 / (1 + math.exp(0.1))) & (share <= 1 / (1 + math.exp(-0.1)))).all())
    assert len(neurons.x) == min(row.steps, rebuilding.ROW_STEPS["smoke"])


def test_a_format_that_is_too_coarse_says_nothing() -> None:
    case = CLAIM.case("bfloat16", rebuilding.QUANTITY)
    doubt = doubt_of(case, {"w": "0", "h": "1", "alpha": "3", "form": "1/1000000", "x": "1 -1"})
    assert "fine enough" in doubt
    coarse = Neurons(np.zeros(1), np.ones(1), np.array([3.999]), np.ones((3, 1)))
    attempt = rebuilding.searched(coarse, "bfloat16", "made")
    assert attempt.vacuous and not attempt.candidates


def test_what_overflows_is_no_violation() -> None:
    case = CLAIM.case("float16", rebuilding.QUANTITY)
    p = {"w": "0", "h": "1", "alpha": "16", "form": "1", "x": " ".join(["1"] * 9)}
    assert case.check is not None
    check = case.check(p)
    assert {premise.text: premise.holds for premise in check.premises}["nothing overflows"] is False
    assert [(opinion.violated, opinion.text) for opinion in check.opinions] == [(False, "something overflows")] * 2
    assert check.log_measured is check.log_claimed is None and doubt_of(case, p)
    assert rebuilding.look_of("float16")(p) is None


@pytest.mark.parametrize("change", [{"h": "0"}, {"h": "-1/2"}, {"alpha": "-1"}, {"form": "1000"}, {"w": "1/3"}])
def test_what_is_no_neuron_of_the_format_is_refused(change: dict[str, str]) -> None:
    case = CLAIM.case("float16", rebuilding.QUANTITY)
    assert "parameter" in doubt_of(case, {**POINT, "x": "1 1/2", **change}).lower()


# --- the lemma


def test_the_hypotheses_are_those_of_the_library() -> None:
    rng = np.random.default_rng(2)
    for dtype in (np.float16, np.float32, np.float64):
        form = FORMATS[dtype.__name__]
        y = (rng.integers(1024, 2048, 400) / 1024).astype(dtype)
        d = (rng.normal(size=400) * np.exp2(rng.integers(-14, 3, 400))).astype(dtype)
        promised = reconstruction.is_returned_exactly(y, d)
        for i in range(400):
            known = hypotheses(Q(float(y[i])), Q(float(d[i])), form)
            assert all(known.values()) == bool(promised[i]), (y[i], d[i], known)
        assert 40 < int(promised.sum()) < 400


def test_exponents_are_those_of_frexp_and_end_at_subnormals() -> None:
    half = FORMATS["float16"]
    for value in (1.0, 1.5, 2.0, 0.999, 3e-4, 65504.0):
        assert binades.exponent(Q(value), half) == max(math.frexp(value)[1] - 1, -14)
    assert binades.exponent(Q(1, 2**24), half) == -14


def test_both_ways_through_all_of_bfloat16_agree_and_a_rounding_that_truncates_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for k in (-11, -9, -8, -1, 0, 2):
        assert binades._torch_at(k) == binades._integers_at(k)
    spoken = sum(binades._torch_at(k)[0] for k in binades._EXPONENTS)
    assert spoken > 200_000
    monkeypatch.setattr(binades, "_nearest", lambda values: (values >> 11) << 11)
    assert judged(lemma_case("bfloat16")).verdict != verdict.PROVED


def test_accumulators_come_back_by_numpy_and_by_integers() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        y, z = (int(v) for v in rng.integers(-(2**62), 2**62, 2))
        kick, drift = (int(v) | 1 for v in rng.integers(1, 2**59, 2))
        for by in (binades._by_numpy, binades._by_integers):
            assert by(y, z, kick, drift, 20, False) == (y, z)
    values = rng.integers(-(2**62), 2**62, 20)
    again_ = [binades._hashed_again(int(v) % 2**64, 12345) for v in values]
    assert [int(v) % 2**64 for v in binades._hashed(values, 12345)] == again_


def test_no_verdict_is_written_into_the_claim_file() -> None:
    assert rebuilt_states.__file__ is not None
    with open(rebuilt_states.__file__, encoding="utf-8") as file:
        text = file.read()
    assert not [word for word in FORBIDDEN if word in text]
