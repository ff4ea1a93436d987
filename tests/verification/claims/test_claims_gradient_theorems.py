"""thm-G, thm-G-inf and what repairs the gradient bounds: answers, both typings, autograd, planted falsehoods."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from odernn.published.sources import Source
from tests.tiers import slow, spread, where, without
from tests.verification.claims.both_typings import both_sides, inequality_of
from tests.verification.claims.claim_rows import FORBIDDEN, SMOKE, doubt_of
from verification import verdict
from verification.adversary import network_ascent
from verification.adversary.network_ascent import AscentPlace
from verification.answer import answer
from verification.cases import chain_gradients, chain_jacobians, corrected_bounds, gradient_theorems
from verification.cases.gradient_theorems import OfChain, chain_case, network_case, with_forms
from verification.cases.network_gradient import THETAS, NetworkGradient
from verification.claim import Case, Claim, Parameters
from verification.claims.library import gradient_theorems as library
from verification.claims.unicornn import gradient_bounds, jacobian_bounds, proof_steps
from verification.measure.corrected_forms import CorrectedGradient, CorrectedJacobian
from verification.measure.gradient_forms import ICML_14, ICML_42, ICML_MAIN, SAM_41
from verification.measure.gradient_theorems import GradientTheorem
from verification.readings.reading import gravity_of, reading_of
from verification.verdict import Judgement

CLAIMS = {claim.id: claim for claim in library.CLAIMS}
CASES = [(claim, case) for claim in library.CLAIMS for case in claim.cases]
PROVED = {
    "thm-G-inf | free | |dE/dθ|",
    "thm-G-inf | free | |dE/dV^1|",
    "thm-G-inf | free | |∂E_{k,l}/∂θ|",
    "thm-G-inf | l < L | ‖dX^L_n/dX^l_k‖_∞",
    "thm-G-inf | any layer | ‖∂⁺X_k/∂θ‖_∞ ≤ dt (2 + F_z + (1+α)F + max(F, U))",
    "thm-G-input | L = 1, |u_n| ≤ F | |dE/dV^1|",
}


@cache
def judged_case(identifier: str, domain: str, quantity: str) -> Judgement:
    claim = CLAIMS[identifier]
    return answer(claim, claim.case(domain, quantity), SMOKE, 0)


def judged(case: Case) -> Judgement:
    return answer(Claim("made", Source("library", "a test"), "made", "real", (case,)), case, SMOKE, 0)


def name_of(row: tuple[Claim, Case]) -> str:
    return f"{row[0].id} | {row[1].domain} | {row[1].quantity}"


def test_the_theorems_and_their_cases_are_on_trial() -> None:
    assert {name: len(claim.cases) for name, claim in CLAIMS.items()} == {
        "thm-G": 20,
        "thm-G-inf": 24,
        "thm-G-input": 1,
        "thm-G-short": 3,
    }
    assert {name_of(row) for row in CASES} >= PROVED


LONG = ("thm-G", 3), ("thm-G-inf", 8)
"""Beside thm-G 0 and thm-G-inf 2."""


@pytest.mark.parametrize(
    ("identifier", "number"),
    where(
        spread([(each.id, n) for each in library.CLAIMS for n in range(len(each.cases))], 16), lambda key: key in LONG
    ),
)
def test_no_case_falls_and_what_a_machine_decides_is_proved(identifier: str, number: int) -> None:
    claim = CLAIMS[identifier]
    case = claim.cases[number]
    found = judged_case(claim.id, case.domain, case.quantity)
    assert (found.verdict == verdict.PROVED) == (name_of((claim, case)) in PROVED), found.because
    if "printed" in case.domain:
        assert found.verdict in (verdict.NOT_REFUTED, verdict.VACUOUS), found.because
    elif found.verdict != verdict.PROVED:
        assert found.verdict == verdict.NOT_REFUTED, found.because
    assert found.slack is not None and found.slack > -1e-9


def test_where_there_is_one_step_the_invariant_forms_have_no_room() -> None:
    """A neuron at rest with a = 2/h²: |dE/db| = ȳh² on both sides."""
    assert judged_case("thm-G", "free", "|dE/db|, all layers").slack == pytest.approx(0, abs=1e-9)


# --- planted falsehoods, refuted by the same machinery

T = GradientTheorem
TENTH = Q(9, 10)


def planted() -> Iterator[tuple[str, Callable[[], Case]]]:
    def chain(theorem: GradientTheorem) -> Case:
        return chain_case("free", "x", OfChain(theorem, "b"), "b", library._formed_chains, with_forms(library.BIAS))

    def closed(form: CorrectedGradient, theta: str = "b") -> Case:
        points = chain_gradients.inputs if theta == "V" else gradient_theorems.chains
        return chain_case("free", "x", form, theta, points, library.BY_INPUT if theta == "V" else library.BIAS)

    yield "thm-G times 9/10, θ = b", lambda: chain(T("thm-G", factor=TENTH))
    yield "thm-G, ω of the top layer alone", lambda: chain(T("thm-G", top_alone=True))
    yield "thm-G without m_l", lambda: network_case(T("thm-G", outputs=False), "b")
    yield "thm-G-inf, w̄ of the top layer alone", lambda: closed(CorrectedGradient(top_alone=True))
    yield "its summands, w̄ of the top layer alone", lambda: closed(CorrectedGradient(of_one_step=True, top_alone=True))
    yield "thm-G-inf with F for the input", lambda: closed(CorrectedGradient(input_seen=False), "V")
    yield "(54) corrected, w̄ of the top layer alone", lambda: corrected_bounds.jacobian_case(_TOP)
    yield "(54) corrected, one path", lambda: corrected_bounds.jacobian_case(CorrectedJacobian(paths=False))
    yield "three norms without m_l", lambda: corrected_bounds.norms_case(outputs=False)
    yield "(65) with F for the input", lambda: corrected_bounds.direct_case(input_seen=False)
    yield "(41), |u| ≤ F, over 44", lambda: corrected_bounds.within_case(replace(SAM_41, factor=Q(1, 44)))
    for text, form, share in (("(12)", ICML_MAIN, 515), ("S(14)", ICML_14, 485), ("S(42)", ICML_42, 485)):
        small = replace(form, factor=Q(1, share))
        yield f"{text}, short, over {share}", lambda small=small: corrected_bounds.short_case(small, "x")
    for theta, factor in (("b", TENTH), ("V", TENTH), ("c", Q(4, 5)), ("w", Q(1, 10))):
        theorem = T("thm-G", factor=factor)
        yield f"thm-G times {factor}, θ = {theta}", lambda theorem=theorem, theta=theta: network_case(theorem, theta)
    yield "thm-G-inf times 2/5", lambda: network_case(T("thm-G-inf", factor=Q(2, 5)), "b")


_TOP = CorrectedJacobian(top_alone=True)


PLANTED = list(planted())


OF_NETWORKS = [row for row in PLANTED if row[0].startswith("thm-G times") or row[0] == "thm-G-inf times 2/5"]
WITHOUT_OUTPUTS = next(row for row in PLANTED if row[0] == "thm-G without m_l")
"""In a second; "three norms without m_l" leaves out the same."""


@pytest.mark.parametrize(
    ("name", "make"), without(PLANTED, WITHOUT_OUTPUTS, *OF_NETWORKS[1:]), ids=[name for name, _ in PLANTED]
)
def test_what_is_planted_is_refuted(name: str, make: Callable[[], Case]) -> None:
    case = make()
    found = judged(case)
    assert found.verdict == verdict.REFUTED, (name, found.because)
    assert not doubt_of(case, json.loads(found.witness)["parameters"])


@pytest.mark.parametrize("missing", ["exponential_case", "climb_case", "pascal"])
def test_a_part_that_is_missing_leaves_no_proof(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace(ask=lambda *_: SimpleNamespace(proof=""))
    monkeypatch.setattr(corrected_bounds, missing, (lambda: "") if missing == "pascal" else (lambda: nothing))
    corrected_bounds._path_parts.cache_clear()
    try:
        assert corrected_bounds.proof_of_paths(SMOKE, 0) == ""
        assert corrected_bounds.proof_of_gradient(CorrectedGradient(), SMOKE, 0) == ""
    finally:
        corrected_bounds._path_parts.cache_clear()


@pytest.mark.parametrize(
    "form", [CorrectedGradient(top_alone=True), CorrectedGradient(input_seen=False), CorrectedGradient(factor=TENTH)]
)
def test_smaller_forms_are_not_covered_by_the_proof(form: CorrectedGradient) -> None:
    assert corrected_bounds.proof_of_gradient(form, SMOKE, 0) == ""
    assert corrected_bounds.proof_of_gradient(CorrectedGradient(), SMOKE, 0)


def test_pascal_s_rule_counts_the_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    assert corrected_bounds.pascal()
    monkeypatch.setattr(corrected_bounds, "comb", lambda n, k: math.comb(n, k) + (k == 3))
    assert corrected_bounds.pascal() == ""


# --- the statements once more, typed here in floats, with autograd for the measured side

CHAIN: Parameters = {
    "alpha": "3/7",
    "dt": "2/5",
    "N": "5",
    "layer": "1",
    "w": "-13/10 3/4",
    "V": "9/7 -8/3",
    "b": "2/5 -1/9",
    "u": "1/2 -2/3 4/5 1 3/8",
    "target": "4/3 -1/2 1/5 2/3 -1",
    "form": "3/2 7",
}


def floats(text: str) -> list[float]:
    return [float(Q(word)) for word in text.split()]


def run_of(p: Parameters) -> tuple[dict[str, torch.Tensor], torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """(leaves w, c, b (L, m) and V (L, m, m), the loss, y and z of every level, (N, m)) of a chain or a network."""
    m, N, alpha, dt = int(p.get("m", "1")), int(p["N"]), float(Q(p["alpha"])), float(Q(p["dt"]))
    depth = len(p["w"].split()) // m
    V = [floats(p[f"V{q + 1}"]) for q in range(depth)] if "m" in p else [[v] for v in floats(p["V"])]
    texts = {name: floats(p.get(name, " ".join(["0"] * depth * m))) for name in ("w", "c", "b")}
    leaves = {
        name: torch.tensor(values, dtype=torch.float64).reshape(depth, m).requires_grad_()
        for name, values in texts.items()
    }
    leaves["V"] = torch.tensor(V, dtype=torch.float64).reshape(depth, m, -1).requires_grad_()
    u, target = (torch.tensor(floats(p[name]), dtype=torch.float64).reshape(-1, m) for name in ("u", "target"))
    u, target = (rows.expand(N, m) if len(rows) == 1 else rows for rows in (u, target))
    h = dt * torch.sigmoid(leaves["c"])
    y, z = ([torch.zeros(m, dtype=torch.float64)] * depth for _ in range(2))
    levels: list[list[torch.Tensor]] = [[] for _ in range(2 * depth)]
    loss = torch.zeros((), dtype=torch.float64)
    for n in range(N):
        below = u[n]
        for q in range(depth):
            force = torch.tanh(leaves["w"][q] * y[q] + leaves["V"][q] @ below + leaves["b"][q]) + alpha * y[q]
            z[q] = z[q] - h[q] * force
            y[q] = below = y[q] + h[q] * z[q]
            levels[q].append(y[q])
            levels[depth + q].append(z[q])
        loss = loss + ((y[-1] - target[n]) ** 2).sum() / (2 * N)
    stacked = [torch.stack(rows).detach() for rows in levels]
    return leaves, loss, [u, *stacked[:depth]], stacked[depth:]


def right_side(p: Parameters, theorem: str, theta: str) -> float:
    """The statement of docs/derivations/gradient_bounds.md, in plain floats."""
    leaves, _, y, z = run_of(p)
    m, l, N, alpha = int(p.get("m", "1")), int(p["layer"]), int(p["N"]), float(Q(p["alpha"]))
    depth, dt = len(leaves["w"]), float(Q(p["dt"]))
    w, V, share = leaves["w"].tolist(), leaves["V"].tolist(), torch.sigmoid(leaves["c"]).tolist()
    h = [[dt * s for s in row] for row in share]
    a = [floats(p["form"])[q * m : (q + 1) * m] for q in range(depth)] if theorem == "thm-G" else []
    Y = [level.abs().max(0).values.tolist() for level in y]
    Z = [[0.0]] + [level.abs().max(0).values.tolist() for level in z]
    r, rates = [[1.0] * len(Y[0])], []
    for q in range(depth):
        if theorem == "thm-G":
            r.append([math.sqrt(a[q][i] * (1 - a[q][i] * h[q][i] ** 2 / 4)) for i in range(m)])
            gaps = [max(abs(alpha + k - a[q][i]) for k in (min(w[q][i], 0), max(w[q][i], 0))) for i in range(m)]
            rates.append(max(math.asinh(h[q][i] * gaps[i] / (2 * r[-1][i])) for i in range(m)))
        else:
            r.append([1.0] * m)
            rates.append(max(h[q]) * max(2.0, max(map(abs, w[q])) + alpha))
    p_, rate = depth - l, max(rates[l - 1 :])
    value = sum(math.comb(j + p_, p_) * math.exp(j * rate) for j in range(N))
    for q in range(l, depth):
        value *= max(h[q][i] * sum(abs(v) / r[q][k] for k, v in enumerate(V[q][i])) for i in range(m))
    stretch = [math.sqrt(x) for x in a[l - 1]] if theorem == "thm-G" else [1.0] * m
    own, rest = h[l - 1], [1 - s for s in share[l - 1]]
    direct = {
        "b": own,
        "w": [own[i] * Y[l][i] for i in range(m)],
        "V": [max(own) * max(Y[l - 1])],
        "c": [own[i] * rest[i] * (1 + alpha * Y[l][i] + stretch[i] * Z[l][i]) for i in range(m)],
    }[theta]
    Ybar = max(map(abs, floats(p["target"])))
    return (m if l < depth else 1) * (Ybar + max(Y[depth])) * max(1 / x for x in r[depth]) * max(direct) * value


@pytest.mark.parametrize("layer", ["1", "2"])
@pytest.mark.parametrize("theorem", ["thm-G", "thm-G-inf"])
def test_both_typings_of_a_chain_are_the_statement(theorem: Any, layer: str) -> None:
    p = {**CHAIN, "layer": layer}
    for theta in "bwV":
        inequality = chain_gradients.finite(OfChain(GradientTheorem(theorem), theta), theta)
        (left, again), (right, other) = both_sides(inequality, p)
        leaves, loss, _, _ = run_of(p)
        (slope,) = torch.autograd.grad(loss, [leaves[theta]])
        measured = abs(float(slope[int(layer) - 1].flatten()[0]))
        assert (left, again) == pytest.approx((measured,) * 2, rel=1e-9)
        assert (right, other) == pytest.approx((right_side(p, theorem, theta),) * 2, rel=1e-9)
    _, ends = both_sides(chain_gradients.finite(OfChain(GradientTheorem(theorem), "c"), "b"), p)
    assert ends == pytest.approx((right_side(p, theorem, "c"),) * 2, rel=1e-9)


NETWORK: Parameters = {
    "m": "2",
    "alpha": "4/3",
    "dt": "1/3",
    "N": "4",
    "layer": "1",
    "neuron": "2",
    "w": "-2 1/2 3/4 -5/3",
    "c": "1/2 -1 2 0",
    "b": "1/4 -1/3 2/5 1",
    "V1": "1 -2 1/2 3/4",
    "V2": "-1 2/3 5/4 1/7",
    "u": "1 -1/2 2 1/3 0 5/4 -1 -5/2",
    "target": "3/2 -1/4",
    "form": "2 7/2 1/3 9",
}


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("theorem", ["thm-G", "thm-G-inf"])
def test_both_typings_of_a_whole_network_are_the_statement(theorem: Any, theta: str) -> None:
    for layer in ("1", "2"):
        p = {**NETWORK, "layer": layer, **({"source": "1"} if theta == "V" else {})}
        case = network_case(GradientTheorem(theorem), theta)
        assert case.check is not None
        if theorem == "thm-G-inf":
            p = {name: text for name, text in p.items() if name != "form"}
        check = case.check(p)
        leaves, loss, _, _ = run_of(p)
        (slope,) = torch.autograd.grad(loss, [leaves[theta]])
        row = slope[int(layer) - 1][1]
        measured = abs(float(row[0] if theta == "V" else row))
        assert check.log_measured == pytest.approx(math.log(measured), abs=1e-9)
        assert check.log_claimed == pytest.approx(math.log(right_side(p, theorem, theta)), abs=1e-9)
        ends = [float(word.split()[-1]) for word in check.opinions[1].text.split(", ")]
        assert ends == pytest.approx([measured, right_side(p, theorem, theta)], rel=1e-9)
        assert not any(opinion.violated for opinion in check.opinions) and all(each.holds for each in check.premises)


@pytest.mark.parametrize("theorem", ["thm-G", "thm-G-inf"])
def test_what_is_planted_into_a_theorem_is_planted_into_both_typings(theorem: Any) -> None:
    """Layer 2 has the smaller rate of the two."""
    p = {**NETWORK, "w": "-9 8 3/4 -5/3"}
    if theorem == "thm-G-inf":
        p = {name: text for name, text in p.items() if name != "form"}
    statement = GradientTheorem(theorem)
    whole = right_side(p, theorem, "b")
    for planted_, share in (
        (replace(statement, outputs=False), 1 / 2),
        (replace(statement, factor=Q(3, 5)), 3 / 5),
        (replace(statement, top_alone=True), None),
    ):
        check = network_case(planted_, "b").check
        assert check is not None
        found = check(p)
        assert found.log_claimed is not None
        size = math.exp(found.log_claimed)
        assert float(found.opinions[1].text.split()[-1]) == pytest.approx(size, rel=1e-9)
        assert size == pytest.approx(share * whole, rel=1e-9) if share else size < 0.9 * whole


@pytest.mark.parametrize("sizes", ["2 1 3", "1/2 4 3", "1/2 4 1/9"])
@pytest.mark.parametrize("direct", [{"y": "1/3", "z": "3"}, {"y": "1/2", "z": "0"}])
@pytest.mark.parametrize("input_seen", [True, False])
def test_both_typings_of_the_direct_effects_are_their_formula(
    sizes: str, direct: dict[str, str], input_seen: bool
) -> None:
    """F, F_z, U; the larger of |∂z|, |∂y| is the one and the other."""
    F, F_z, U = sizes.split()
    p = {"dt": "9/10", "sigma": "1/10", "alpha": "1/5", "s": "1/2", "slope": "1/100", "below": "1/8"}
    p |= {**direct, "F": F, "F_z": F_z, "U": U}
    inequality = inequality_of(corrected_bounds.direct_case(input_seen=input_seen))
    assert inequality is not None
    (left, again), (right, other) = both_sides(inequality, p)
    v = {name: float(Q(text)) for name, text in p.items()}
    h = v["sigma"] * v["dt"]
    push = h * (1 - v["sigma"]) * (v["s"] + v["alpha"] * v["y"])
    entry = h * v["slope"] * max(v["y"], 1, v["below"])
    of_y = max(h * entry, h * push + h * (1 - v["sigma"]) * v["z"])
    assert (of_y > max(entry, push)) == (direct["z"] == "3")
    assert (left, again) == pytest.approx((max(entry, push, of_y),) * 2, rel=1e-12)
    seen = max(v["F"], v["U"]) if input_seen else v["F"]
    stated = v["dt"] * (2 + v["F_z"] + (1 + v["alpha"]) * v["F"] + seen)
    assert (right, other) == pytest.approx((stated,) * 2, rel=1e-12)


@pytest.mark.parametrize("factor", [Q(1), Q(3, 5)])
@pytest.mark.parametrize("of_one_step", [False, True])
def test_the_closed_forms_are_their_formula_and_no_smaller_than_the_form_with_h(of_one_step: bool, factor: Q) -> None:
    for layer in ("1", "2"):
        p = {**CHAIN, "layer": layer}
        _, _, y, z = run_of(p)
        alpha, dt, N, hops = Q(p["alpha"]), Q(p["dt"]), 5, 2 - int(layer)
        F = max(float(level.abs().max()) for level in y[1:])
        F_z = max(float(level.abs().max()) for level in z)
        rate = max(2.0, *(abs(w) + float(alpha) for w in floats(p["w"])[int(layer) - 1 :]))
        ends = (4 / 3 + F) * (2 + F_z + (1 + float(alpha)) * F + max(F, 1.0)) * (8 / 3) ** hops
        if of_one_step:
            grown = math.comb(4 + hops, hops) * float(dt) ** (hops + 1) * math.exp(rate * 4 * float(dt))
        else:
            grown = (
                float((N * dt + hops * dt) ** (hops + 1)) / math.factorial(hops + 1) * math.exp(rate * N * float(dt))
            )
        form = CorrectedGradient(of_one_step=of_one_step, factor=factor)
        _, (right, other) = both_sides(chain_gradients.finite(form, "b"), p)
        assert (right, other) == pytest.approx((ends * grown * float(factor),) * 2, rel=1e-9)
        if not of_one_step and factor == 1:
            assert all(right >= right_side(p, "thm-G-inf", theta) for theta in "bwVc")


def test_the_corrected_jacobian_is_its_formula() -> None:
    p = {**CHAIN, "k": "2", "w": "-13/10 3/4 -5", "V": "9/7 -8/3 1/2", "b": "0 0 0"}
    alpha, dt = float(Q(p["alpha"])), float(Q(p["dt"]))
    for layer, hops, product in (("1", 2, 4 / 3), ("2", 1, 1 / 2)):
        stated = math.comb(3 + hops, hops) * dt**hops * product * math.exp(3 * dt * (5 + alpha))
        for form, share in (
            (CorrectedJacobian(), 1.0),
            (CorrectedJacobian(factor=Q(3, 5)), 3 / 5),
            (CorrectedJacobian(paths=False), 1 / math.comb(3 + hops, hops)),
        ):
            (left, again), (right, other) = both_sides(chain_jacobians.finite(form), {**p, "layer": layer})
            assert (right, other) == pytest.approx((stated * share,) * 2, rel=1e-9)
            assert left == pytest.approx(again, rel=1e-9) and left < stated


# --- the ascent

PLACE = AscentPlace(1.0, 0.5, 4, 2, 2, 1, "V")


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("theorem", ["thm-G", "thm-G-inf"])
def test_the_ascent_compares_what_the_check_compares(theorem: Any, theta: str) -> None:
    at = replace(PLACE, theta=theta)
    free = network_ascent.starts(8, at, seed=3)
    one = {name: value[6:7] for name, value in free.items()}
    statement = GradientTheorem(theorem)
    measured, claimed = (float(side.detach()[0]) for side in network_ascent.log_sides(one, at, statement))
    check = network_case(statement, theta).check
    assert check is not None
    checks = [check(p) for p in network_ascent.typed(one, at, forms=statement.has_forms)]
    assert len(checks) == (4 if theta == "V" else 2)
    sizes = [each.log_measured for each in checks if each.log_measured is not None]
    assert max(sizes) == pytest.approx(measured, abs=1e-4)
    assert checks[0].log_claimed == pytest.approx(claimed, abs=1e-4)


def test_a_derivative_that_is_zero_is_below_every_bound() -> None:
    """One step from rest: θ = w moves nothing."""
    at = AscentPlace(1.0, 0.5, 1, 1, 1, 1, "w")
    measured, claimed = network_ascent.log_sides(network_ascent.starts(4, at, seed=0), at, GradientTheorem("thm-G"))
    assert bool((measured == -math.inf).all()) and bool(torch.isfinite(claimed).all())


# --- what is refused, and what the hypotheses are


def test_a_form_outside_of_its_interval_is_refused() -> None:
    case = CLAIMS["thm-G"].case("free", "|dE/db|, all layers")
    p = {**gradient_theorems.formed(chain_gradients.hyperbolic()).__next__()}
    assert not doubt_of(case, p).startswith("These") and "form" in p
    assert "a dt² < 16" in doubt_of(case, {**p, "form": "10000"})
    assert "rational number > 0" in doubt_of(case, {**p, "form": "0"})


def test_the_hypotheses_of_the_repaired_forms_are_asked() -> None:
    short = CLAIMS["thm-G-short"].case("βT, γT ≤ x₀, l = L", "|dE/dθ| by (12)")
    point = next(corrected_bounds.short_runs())
    assert "βT, γT" in doubt_of(short, {**point, "N": str(2 * int(point["N"]))})
    within = CLAIMS["thm-G-input"].cases[0]
    at_rest = chain_gradients.at_rest(Q(1), Q(1, 4), 4, [Q(-1)], u=10**6)
    assert "|u_n| ≤ F" in doubt_of(within, at_rest)


# --- what follows for the published statements


def graded(claim: Claim, repairs: tuple[str, ...]) -> str:
    """The gravity of a refuted claim from what it and its repairs came to under smoke."""
    cells = [answer(claim, case, SMOKE, 0) for case in claim.cases if "printed" not in case.domain]  # those are notes
    for name in repairs:
        cells += [judged_case(name, case.domain, case.quantity) for case in CLAIMS[name].cases if _is_cheap(case)]
    return gravity_of(claim.id, cells)


def _is_cheap(case: Case) -> bool:
    return "printed" not in case.domain and case.domain != "a network"


@pytest.mark.parametrize(
    ("module", "identifier", "repairs", "grave"),
    [
        slow((jacobian_bounds, "both-68", ("thm-G-inf",), "constant")),
        (gradient_bounds, "sam-3.2", ("thm-G-inf",), "hypothesis"),
        (gradient_bounds, "sam-3.2-uniform", ("thm-G-inf",), "hypothesis"),
        slow((gradient_bounds, "sam-D.2", ("thm-G-inf", "thm-G-input"), "hypothesis")),
        (gradient_bounds, "sam-69", ("thm-G-inf",), "hypothesis"),
        (gradient_bounds, "icml-(42)", ("thm-G-inf", "thm-G-short"), "substance"),
        (proof_steps, "sam-66", ("thm-G-inf",), "hypothesis"),
        (proof_steps, "icml-(39)", ("thm-G-inf",), "hypothesis"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_gravity_of_what_they_repair_follows(
    module: Any, identifier: str, repairs: tuple[str, ...], grave: str
) -> None:
    claim = next(claim for claim in module.CLAIMS if claim.id == identifier)
    assert graded(claim, repairs) == grave


def test_every_repair_of_a_gradient_statement_is_on_trial() -> None:
    ids = ("sam-54", "icml-(27)", "both-68", "sam-69", "icml-(42)", "icml-3.1", "icml-C.2", "sam-3.2")
    ids = (*ids, "sam-D.2", "sam-3.2-uniform", "sam-66", "icml-(39)", "icml-(40)", "icml-3.1-T3")
    for identifier in ids:
        reading = reading_of(identifier)
        assert reading is not None and reading.instead
        assert all(repair.claim for repair in reading.instead), identifier


def test_no_verdict_is_written_into_the_claim_file() -> None:
    assert library.__file__ is not None
    with open(library.__file__, encoding="utf-8") as file:
        text = file.read()
    assert not [word for word in FORBIDDEN if word in text]


def test_the_network_check_is_behind_its_declaration() -> None:
    case = network_case(GradientTheorem("thm-G"), "b")
    assert "form" in doubt_of(case, {name: text for name, text in NETWORK.items() if name != "form"})
    assert isinstance(NetworkGradient("b", lambda p: p, lambda p: p, ()).theta, str)
