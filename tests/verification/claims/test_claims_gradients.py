"""Bounds on gradients and Jacobian products: answers, witnesses again by autograd, mutants, engines, the ascent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache, partial

import flint
import pytest
import torch

from odernn.published.networks import ROWS
from tests.tiers import only, slow, without
from tests.verification.claims.both_typings import balls_at, both_sides, inequality_of, intervals_at
from tests.verification.claims.claim_rows import doubt_of
from verification import verdict
from verification.adversary import gradient_ascent as ascent
from verification.answer import answer
from verification.cases import chain_gradients, chain_jacobians, three_norms, top_layer_gradients
from verification.cases.chain_gradients import hyperbolic
from verification.cases.chain_jacobians import JacobianForm
from verification.cases.inequality import Inequality
from verification.cases.network_gradient import gradient_parameters
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.second.intervals import iv
from verification.certify.second.neuron_chain import Adjoints
from verification.claim import Case, Claim
from verification.claims.unicornn import gradient_bounds, jacobian_bounds, one_error
from verification.domains import BUDGETS
from verification.measure import gradient_forms
from verification.measure.gradient_forms import ICML_43, SAM_41, SAM_69, SAM_70, GradientForm
from verification.parameters import Guarded
from verification.verdict import doubt_about

CLAIMS = {each.id: each for module in (jacobian_bounds, gradient_bounds) for each in module.CLAIMS}
IDS = (
    "sam-54",
    "icml-(27)",
    "both-68",
    "sam-69",
    "icml-(42)",
    "icml-3.1",
    "icml-C.2",
    "sam-3.2",
    "sam-D.2",
    "sam-3.2-uniform",
    "both-5-no-assumptions",
)
SMOKE = BUDGETS["smoke"]
CASES = [(name, case) for name in IDS for case in CLAIMS[name].cases]


@cache
def judged_case(name: str, domain: str, quantity: str) -> verdict.Judgement:
    claim = CLAIMS[name]
    return answer(claim, claim.case(domain, quantity), SMOKE, 0)


def judged(case: Case) -> verdict.Judgement:
    return answer(Claim("made", CLAIMS["sam-54"].source, "made", "real", (case,)), case, SMOKE, 0)


def test_the_eleven_statements_are_on_trial() -> None:
    assert sorted(CLAIMS) == sorted(IDS)
    assert len(CASES) == 82


@pytest.mark.slow
def test_all_are_decided_under_smoke() -> None:
    found = [judged_case(name, case.domain, case.quantity) for name, case in CASES]
    decided = {verdict.PROVED, verdict.REFUTED, verdict.INAPPLICABLE}
    searched = [  # rungs of nearness: it may hold there; and one network for each half
        each for each in found if "initialisation's range" in each.domain or each.claim == "both-5-no-assumptions"
    ]
    assert {each.verdict for each in searched} <= {verdict.REFUTED, verdict.NOT_REFUTED}
    rest = {each.verdict for each in found if each not in searched}
    assert rest <= decided, [each.because for each in found]
    refused = [each.domain for each in found if each.verdict == verdict.INAPPLICABLE]
    assert set(refused) == {f"printed {row.name}" for row in ROWS if row.alpha == 0}


PROVED = {
    ("sam-54", "l = L"),
    ("both-68", "l = L"),
    ("sam-69", "sam (69), l = L, θ not V^1"),
    ("sam-3.2", "T ≤ 1"),
    ("sam-D.2", "free"),
}


AT_WEIGHTS = [row for row in CASES if "printed" not in row[1].domain][::3]
AT_A_ROW = [row for row in CASES if row[1].domain in ("printed psMNIST-128", "printed IMDB")][:2]


@pytest.mark.parametrize(
    ("name", "case"),
    only(CASES, *AT_WEIGHTS, *AT_A_ROW),
    ids=lambda x: x if isinstance(x, str) else f"{x.domain} {x.quantity}",
)
def test_what_holds_is_proved_and_every_refutation_certifies_from_its_text(name: str, case: Case) -> None:
    found = judged_case(name, case.domain, case.quantity)
    assert (found.verdict == verdict.PROVED) == ((name, case.domain) in PROVED)
    if found.verdict == verdict.REFUTED:
        assert case.check is not None
        check = case.check(json.loads(found.witness)["parameters"])
        assert not doubt_about(check, case)
        assert {opinion.backend for opinion in check.opinions} in ({"balls", "mpmath"}, {"exact", "mpmath"})
        assert bool(check.limit) or case.reading != "limit"


# --- the witnesses once more: float64, the recursion typed here, autograd for the derivatives


def floats(text: str) -> list[float]:
    return [float(Q(word)) for word in text.split()]


def losses(p: dict[str, str]) -> tuple[list[list[torch.Tensor]], list[torch.Tensor], list[torch.Tensor]]:
    """(own copies of b, w, V of every layer for each step), outputs y^L_n, errors; one copy a step: contributions."""
    N, h, alpha = int(p["N"]), float(Q(p["dt"])) / 2, float(Q(p["alpha"]))
    u, target = ([values[n % len(values)] for n in range(N)] for values in (floats(p["u"]), floats(p["target"])))
    copies = [
        [torch.tensor(floats(p[name]), dtype=torch.float64, requires_grad=True) for name in ("b", "w", "V")]
        for _ in range(N)
    ]
    depth = len(p["w"].split())
    y, z = ([torch.zeros((), dtype=torch.float64)] * depth for _ in range(2))
    outputs = []
    for n in range(N):
        b, w, V = copies[n]
        below = torch.tensor(u[n], dtype=torch.float64)
        for q in range(depth):
            force = torch.tanh(w[q] * y[q] + V[q] * below + b[q]) + alpha * y[q]
            z[q] = z[q] - h * force
            y[q] = below = y[q] + h * z[q]
        outputs.append(below)
    return copies, outputs, [output - t for output, t in zip(outputs, target, strict=True)]


def autograd(p: dict[str, str], theta: str, *, step: int = 0) -> float:
    """|dE/dθ|, or with ``step`` the part of E_N through θ at that step."""
    copies, _, errors = losses(p)
    place, layer = "bwV".index(theta), int(p["layer"]) - 1
    E = errors[-1] ** 2 / 2 if step else (torch.stack(errors) ** 2).mean() / 2
    slopes = torch.autograd.grad(E, [each[place] for each in copies])
    return abs(float(slopes[step - 1][layer])) if step else abs(sum(float(s[layer]) for s in slopes))


SUMMANDS = ("sam-69", "icml-(42)")
GRADIENTS = [
    (name, case)
    for name, case in CASES
    if name in (*SUMMANDS, "icml-3.1", "icml-C.2", "sam-3.2", "sam-D.2", "sam-3.2-uniform")
]


@pytest.mark.slow
def test_autograd_finds_the_measured_side_of_every_refuted_gradient_bound() -> None:
    count = 0
    for name, case in GRADIENTS:
        found = judged_case(name, case.domain, case.quantity)
        if found.verdict != verdict.REFUTED or case.domain in ("printed RR", "printed HR"):
            continue
        p = json.loads(found.witness)["parameters"]
        theta = "V" if "V^1" in case.quantity else "b"
        measured = autograd(p, theta, step=1 if name in SUMMANDS else 0)
        assert found.log_worst == pytest.approx(math.log(measured), abs=1e-6), (name, case.domain)
        assert found.log_bound is not None and found.log_worst is not None and found.log_worst > found.log_bound
        count += 1
    assert count == 32


def last_state(p: dict[str, str], x: torch.Tensor) -> torch.Tensor:
    """X^L_N of the chain, x being added to X^l_k."""
    h, alpha = float(Q(p["dt"])) / 2, float(Q(p["alpha"]))
    w, V, b, u = (floats(p[name]) for name in ("w", "V", "b", "u"))
    k, layer = int(p["k"]), int(p["layer"])
    y, z = ([torch.zeros((), dtype=torch.float64)] * len(w) for _ in range(2))
    for n in range(1, int(p["N"]) + 1):
        for q in range(len(w)):
            below = y[q - 1] if q else u[n - 1 if len(u) > 1 else 0]
            z[q] = z[q] - h * (torch.tanh(w[q] * y[q] + V[q] * below + b[q]) + alpha * y[q])
            y[q] = y[q] + h * z[q]
            if (n, q) == (k, layer - 1):
                y[q], z[q] = y[q] + x[0], z[q] + x[1]
    return torch.stack([y[-1], z[-1]])


@pytest.mark.parametrize(("name", "expected"), [("sam-54", 4), slow(("icml-(27)", 8))])
def test_autograd_finds_the_measured_side_of_every_refuted_jacobian_bound(name: str, expected: int) -> None:
    count = 0
    for case in CLAIMS[name].cases:
        found = judged_case(name, case.domain, case.quantity)
        p = json.loads(found.witness)["parameters"] if found.verdict == verdict.REFUTED else {}
        if "w" not in p or int(p["N"]) > 100:  # of every network in a box: no weights are named
            continue
        J = torch.autograd.functional.jacobian(partial(last_state, p), torch.zeros(2, dtype=torch.float64))
        measured = math.log(float(J.abs().sum(1).max()))
        assert found.log_worst == pytest.approx(measured, abs=1e-9), (name, case.domain)
        count += 1
    assert count == expected


@pytest.mark.parametrize("finer", [slow(1), 2, slow(3)])
def test_the_lower_bounds_hold_at_finer_and_finer_steps(finer: int) -> None:
    """What is claimed for all dt' ≤ dt, at the same T, against autograd at dt/2 and dt/3."""
    for name, case in GRADIENTS:
        if case.reading != "limit":
            continue
        p = json.loads(judged_case(name, case.domain, case.quantity).witness)["parameters"]
        theta = "V" if "V^1" in case.quantity else "b2" if "l < L" in case.domain else "b"
        form = gradient_forms.ICML_42 if name in SUMMANDS else gradient_forms.ICML_MAIN
        low = chain_gradients.uniform(form, theta).check(p).log_measured
        assert low is not None
        dt = Q(p["dt"]) / finer
        q = {**p, "dt": str(dt), "N": str(int(p["N"]) * finer)}
        measured = autograd(q, theta[0], step=1 if form.of_one_step else 0)
        measured /= float(dt) if form.of_one_step else 1.0
        assert math.log(measured) >= low - 1e-9


def test_three_norms_by_hand() -> None:
    """κ = 0: with j = n − k, dy² = −h²Σ(…) of y¹ moved by (h, 1)·kick; two equal outputs double the sum."""
    case = CLAIMS["both-68"].case("l < L", "|∂E_{k,l}/∂θ|")
    p = json.loads(judged_case("both-68", case.domain, case.quantity).witness)["parameters"]
    h, steps, m = Q(9, 20), 12, int(p["neurons"])

    def column(y1: Q, z1: Q) -> tuple[Q, Q]:
        z2 = -h * y1
        y2 = h * z2
        for _ in range(2, steps + 1):
            y1 = y1 + h * z1
            z2 = z2 - h * y1
            y2 = y2 + h * z2
        return y2, z2

    by_y, by_z = column(Q(1), Q(0)), column(Q(0), Q(1))
    norm = max(abs(by_y[i]) + abs(by_z[i]) for i in range(2))
    moved = column(-h * h, -h)[0]
    assert abs(m * moved) > norm * h
    check = three_norms.three_norms_check(p)
    assert check.log_measured == pytest.approx(math.log(abs(m * moved)), abs=1e-12)
    assert check.log_claimed == pytest.approx(math.log(norm * h), abs=1e-12)


# --- what was not refuted, made false


def mutants() -> Iterator[tuple[str, Callable[[], Case]]]:
    yield "(54), l = L, a tenth", lambda: jacobian_bounds.same_layer_case(Q(1, 10))
    sam = SAM_41
    yield "(41) without e^{w̄T}", lambda: top_layer_gradients.top_layer_case(replace(sam, growth="none"), "free")
    tiny = replace(sam, factor=Q(1, 10**5))
    yield "(41) a hundred-thousandth", lambda: top_layer_gradients.top_layer_case(tiny, "free")
    short = (gradient_bounds.T_AT_MOST_ONE,)
    yield (
        "(13) without e^{w̄}",
        lambda: top_layer_gradients.top_layer_case(replace(gradient_forms.SAM_13, growth="none"), "T ≤ 1", short),
    )
    step = SAM_69
    yield (
        "(69) without e^{w̄T}",
        lambda: top_layer_gradients.top_summand_case(replace(step, growth="none", factor=Q(1, 10))),
    )
    yield "(69), a billionth", lambda: top_layer_gradients.top_summand_case(replace(step, factor=Q(1, 10**9)))


MUTANTS = list(mutants())
SHORT = ("(54), l = L, a tenth", "(69), a billionth")


@pytest.mark.parametrize(
    ("name", "make"),
    without(MUTANTS, *(each for each in MUTANTS if each[0] not in SHORT)),
    ids=[name for name, _ in MUTANTS],
)
def test_mutants_of_what_is_proved_are_refuted(name: str, make: Callable[[], Case]) -> None:
    found = judged(make())
    assert found.verdict == verdict.REFUTED, (name, found.because)


# --- true statements are not refuted by the same machinery


def test_bounds_that_have_room_are_not_refuted() -> None:
    """(54), S(27) with dt^{L−l} taken off and stiff layers away; the gradient bounds times 1e100."""
    roomy = JacobianForm("exponential", power=1, factor=Q(10))
    assert judged(jacobian_bounds.free_case("l < L, all w equal", "made", roomy)).verdict == verdict.NOT_REFUTED
    safe = replace(SAM_41, factor=Q(10**100))
    for theta, points in (("b", chain_gradients.stiff_below), ("V", chain_gradients.inputs)):
        of_any = gradient_parameters(theta, whole="no")
        case = gradient_bounds.menu_case("made", "made", safe, theta, points, of_any)
        assert judged(case).verdict == verdict.NOT_REFUTED
    safe = replace(gradient_forms.ICML_MAIN, factor=Q(10**100))
    found = judged(gradient_bounds.limit_case("L = 1", safe, "b", chain_gradients.hyperbolic))
    assert found.verdict == verdict.NOT_REFUTED


@pytest.mark.slow
def test_a_linear_growth_that_is_replaced_by_an_exponential_has_no_limit_violation() -> None:
    """(27) with e^{w̄t} in place of 1 + 2γt holds for l = L."""
    found = judged(jacobian_bounds._limit_case("l = L", "made", JacobianForm("exponential")))
    assert found.verdict == verdict.NOT_REFUTED


def test_within_the_interval_of_the_equation_bounds_that_hold_are_not_violated() -> None:
    """(27) with e^{w̄t}, and (12) times 1e100, where those of icml fall: at T = 1, N = 20."""
    points = [p for p in chain_gradients.within_one() if p["N"] == "20"]
    safe = replace(gradient_forms.ICML_MAIN, factor=Q(10**100))
    case = gradient_bounds.limit_case("L = 1, T ≤ 1", safe, "b", lambda: points, (gradient_bounds.T_AT_MOST_ONE,))
    assert all(doubt_of(case, p) for p in points)
    case = jacobian_bounds._limit_case("l = L, T ≤ 1", "made", JacobianForm("exponential"))
    assert all(doubt_of(case, p) for p in chain_jacobians.within_one() if p["N"] == "20")


@pytest.mark.parametrize("change", [{"dt": "2"}, {"dt": "1/1000"}, {"w": "-1/2"}, {"b": "1"}, {"V": "1"}])
def test_a_premise_that_fails_leaves_a_doubt(change: dict[str, str]) -> None:
    case = CLAIMS["icml-3.1"].case("L = 1", "|dE/dθ|")
    p = json.loads(judged_case("icml-3.1", case.domain, case.quantity).witness)["parameters"]
    assert doubt_of(case, {**p, **change})


@pytest.mark.parametrize(
    ("name", "quantity"), [("icml-3.1", "|dE/dθ|"), ("icml-(27)", "‖dX^L_n/dX^l_k‖_∞, with (n−k)dt")]
)
def test_within_the_interval_of_the_equation_no_longer_run_will_do(name: str, quantity: str) -> None:
    """What falls at T = 10 and 5 is no witness where T ≤ 1, and what falls at T = 1 is one."""
    top = "L = 1" if name == "icml-3.1" else "l = L"
    longer, within = (CLAIMS[name].case(domain, quantity) for domain in (top, f"{top}, T ≤ 1"))
    p = json.loads(judged_case(name, longer.domain, quantity).witness)["parameters"]
    assert Q(p["dt"]) * int(p["N"]) > 1 and "T = N dt ≤ 1" in doubt_of(within, p)
    p = json.loads(judged_case(name, within.domain, quantity).witness)["parameters"]
    assert Q(p["dt"]) * int(p["N"]) == 1 and not doubt_of(within, p)


# --- the two engines and the ascent


TYPED = {
    "alpha": "1/2",
    "dt": "2/3",
    "N": "6",
    "layer": "1",
    "w": "-3 1/2",
    "V": "1 2",
    "b": "1/4 -1/2",
    "u": "1 2 -1 1/2 3 0",
    "target": "1 0 2 1 1 1",
}


def engines(p: dict[str, str]) -> tuple[NeuronChain, Adjoints]:
    return NeuronChain(balls_at(p, LISTS)), Adjoints(intervals_at(p, LISTS))


@pytest.mark.parametrize("layer", [1, 2])
def test_both_engines_and_autograd_agree_on_a_moving_network(layer: int) -> None:
    with iv.workprec(128), flint.ctx.workprec(128):
        forward, backward = engines(TYPED)
        p = {**TYPED, "layer": str(layer)}
        for theta in "wbV":
            values = float(forward.gradient(layer, theta).mid()), float(backward.gradient(layer, theta).a.mid)
            assert values == pytest.approx((autograd(p, theta),) * 2, rel=1e-10)
            parts = (forward.contribution(layer, theta, 3), backward.contribution(layer, theta, 3))
            sizes = float(parts[0].mid()), float(parts[1].a.mid)
            assert sizes == pytest.approx((autograd(p, theta, step=3),) * 2, rel=1e-10)
        norms = forward.jacobian_norm(layer, 2), backward.jacobian_norm(layer, 2)
        assert float(norms[0].mid()) == pytest.approx(float(norms[1].a.mid), rel=1e-12)


@pytest.mark.parametrize(("alpha", "w", "are_states_known"), [("1/2", -(10**200), True), (str(10**100), 1, False)])
def test_of_a_chain_whose_numbers_are_too_large_the_second_engine_knows_nothing(
    alpha: str, w: int, are_states_known: bool
) -> None:
    """Products of slopes that may be 0 or 1 at w = −10²⁰⁰, and states at h²α > 4: such integers filled 4 GB."""
    large = {"alpha": alpha, "N": "200", "w": f"{w} 0", "u": "1", "target": "1"}
    with iv.workprec(128):
        chain = Adjoints(intervals_at({**TYPED, **large}, LISTS))
        found = [chain.gradient(1, "b"), chain.last_gradient(1, "b"), chain.contribution(1, "w", 1)]
        found.append(chain.jacobian_norm(1, 1))
        peaks = [chain.peak(chain.rows, 1), chain.peak(chain.momenta, 2)]
    assert all(each.a == 0 and each.b == iv.inf for each in found)
    assert all((peak.b < iv.inf) is are_states_known for peak in peaks)


def test_the_ascent_measures_what_autograd_measures_and_reaches_the_known_optimum() -> None:
    free = ascent.starts(8, 2, 6, alpha=0.5, dt=2 / 3, seed=1)
    rows = {name: torch.tensor([floats(TYPED[name])], dtype=torch.float64) for name in ("w", "V", "b", "u")}
    target = torch.tensor([[1.5]], dtype=torch.float64)
    p = {**TYPED, "target": "3/2"}
    for by_weight, theta in ((False, "b"), (True, "w")):
        found = ascent.log_gradient(
            {**rows, "target": target}, alpha=0.5, dt=2 / 3, steps=6, layer=1, by_weight=torch.tensor([by_weight])
        )
        assert float(found.exp()) == pytest.approx(autograd(p, theta), rel=1e-10)
    assert {name: tuple(value.shape) for name, value in free.items()}["u"] == (8, 6)
    assert ascent.control(1.0, 0.5, 20, seed=0) > 0.999
    assert ascent.control(1.0, 0.5, 20, seed=0, iterations=1) < 0.9


def test_forms_in_floats_are_the_forms_in_balls() -> None:
    free = {name: torch.tensor([floats(TYPED[name])], dtype=torch.float64) for name in ("w", "V", "b", "u")}
    free["target"] = torch.tensor([[2.0]], dtype=torch.float64)
    p = {**TYPED, "layer": "2", "target": "2"}
    for form in (SAM_41, gradient_forms.SAM_13, gradient_forms.ICML_MAIN, gradient_forms.ICML_14):
        balls, intervals = sides_of(form, p)
        assert float(top_layer_gradients._float_form(form, free, 0.5, 2 / 3, 6)[0]) == pytest.approx(balls, rel=1e-10)
        assert balls == pytest.approx(intervals, rel=1e-12)


def sides_of(form: GradientForm, p: dict[str, str]) -> tuple[float, float]:
    with iv.workprec(128), flint.ctx.workprec(128):
        ours, again = form.ball(balls_at(p, LISTS)), form.interval(intervals_at(p, LISTS))
        return float(ours.log().mid()), float(iv.log(again).a.mid)


def test_no_verdict_is_written_into_the_claim_files() -> None:
    for module in (gradient_bounds, jacobian_bounds):
        assert module.__file__ is not None
        with open(module.__file__, encoding="utf-8") as file:
            text = file.read()
        for word in ("refuted", "not-refuted", "suspect", "vacuous", "verdict"):
            assert word not in text


# --- the two typings of every inequality, side by side: a slip in one of them is noticed where nothing is violated, too

GENERIC: tuple[dict[str, str], ...] = (
    {
        "alpha": "3/7",
        "dt": "2/9",
        "N": "5",
        "k": "2",
        "layer": "1",
        "w": "-13/10",
        "V": "9/7",
        "b": "2/5",
        "u": "3/8",
        "target": "4/3",
        "C": "2",
    },
    {
        "alpha": "7/4",
        "dt": "1/3",
        "N": "4",
        "k": "1",
        "layer": "1",
        "w": "-19/6 -7/2",
        "V": "3/5 -8/3",
        "b": "1/4 -1/9",
        "u": "1/2 -2/3 4/5 1",
        "target": "-3/2 1/5 2/3 1/7",
        "C": "3",
    },
    {
        "alpha": "1/5",
        "dt": "3/8",
        "N": "6",
        "k": "3",
        "layer": "2",
        "w": "-1/2 5/7 -12/5",
        "V": "7/5 5/4 -4/3",
        "b": "1/3 2/9 -1/2",
        "u": "5/4",
        "target": "2/7",
        "C": "1/2",
    },
)
FORMS = [getattr(gradient_forms, name) for name in ("SAM_13", "SAM_41", "ICML_MAIN", "ICML_14", "SAM_69", "ICML_42")]
NORMS = [
    JacobianForm(growth, is_last, power, factor)
    for growth in ("exponential", "linear")
    for is_last, power, factor in ((False, 0, Q(1)), (True, 0, Q(1)), (False, 1, Q(3, 5)))
]


def inequalities_at(point: dict[str, str]) -> Iterator[Inequality]:
    """Those whose bounds mean something for this network."""
    for form in [*FORMS, replace(SAM_69, power=1, factor=Q(3, 5)), replace(SAM_41, growth="none")]:
        yield from (chain_gradients.finite(form, theta) for theta in ("w", "b", "V"))
        if point["layer"] == "1":
            yield from (chain_gradients.uniform(form, theta) for theta in ("b", "V"))
        if form.of_one_step and len(point["w"].split()) == 2:
            yield chain_gradients.uniform(form, "b2")
    for norms in NORMS:
        yield from (chain_jacobians.finite(norms), jacobian_bounds._same_layer(norms))
        if len(point["w"].split()) == 2:
            yield jacobian_bounds._one_layer_up(norms)


@pytest.mark.parametrize("point", GENERIC)
def test_both_typings_of_every_inequality_agree_at_generic_networks(point: dict[str, str]) -> None:
    compared = 0
    for inequality in inequalities_at(point):
        for ball, again in both_sides(inequality, point):
            assert ball == pytest.approx(again, rel=1e-12)
            compared += 1
    assert compared >= 72
    for kind in ("w^l", "u"):
        check = gradient_bounds.unbounded_case(kind).check
        assert isinstance(check, Guarded)
        assert len({opinion.violated for opinion in check.check(point).opinions}) == 1


@pytest.mark.parametrize("factor", [Q(1), Q(3, 4)])
def test_both_typings_of_the_product_of_three_norms_agree(factor: Q) -> None:
    parameters = {
        **three_norms.equal_outputs(2),
        "target": "3/5 -7/4",
        "k": "2",
        "w": "-1/3 2/5 3/4 -1/6",
        "b": "1/5 -2/3 1/2 3/7",
    }
    with flint.ctx.workprec(256):
        balls = [float(x.mid()) for x in three_norms.three_norms_in_balls(parameters, factor)]
    with iv.workprec(256):
        again = [float(x.mid) for x in three_norms.three_norms_in_intervals(parameters, factor)]
    assert balls == pytest.approx(again, rel=1e-12)


@pytest.mark.parametrize("steps", ["3", "6"])
def test_both_typings_of_the_climb_agree_where_the_steps_between_take_no_unit_of_time(steps: str) -> None:
    point = GENERIC[1] | {"N": steps}
    for norms in NORMS:
        (left, again), _ = both_sides(jacobian_bounds._one_layer_up(norms), point)
        assert left == pytest.approx(again, rel=1e-12)
        assert left == pytest.approx(float(8 * (int(steps) - 1) * Q(1, 3) / 6), rel=1e-12)


@pytest.mark.parametrize(("kind", "theta"), [("w^l", "b"), ("u", "V")])
def test_the_gradient_without_a_bound_is_that_of_autograd_for_layer_one(kind: str, theta: str) -> None:
    inequality = inequality_of(gradient_bounds.unbounded_case(kind))
    assert inequality is not None
    measured, constant = both_sides(inequality, {**TYPED, "C": "7/3"})
    assert measured == pytest.approx((autograd(TYPED, theta),) * 2, rel=1e-10)
    assert constant == pytest.approx((7 / 3, 7 / 3))


@pytest.mark.parametrize("u", ["3/8", "-5/2"])
def test_the_uniform_floor_by_the_input_weight_reads_the_size_of_a_negative_input(u: str) -> None:
    """ȳ|u|(T/2)²/6, T = N dt = 10/9."""
    point = GENERIC[0] | {"u": u}
    left, _ = both_sides(chain_gradients.uniform(SAM_41, "V"), point)
    assert left == pytest.approx((4 / 3 * abs(float(Q(u))) * (5 / 9) ** 2 / 6,) * 2, rel=1e-13)


@pytest.mark.parametrize("target", ["-3/5 -7/4", "3/5 7/2"])
def test_the_three_norms_are_those_of_numpy(target: str) -> None:
    """The Jacobian by autograd; errors of either sign, rows of mixed signs. α = 1, h = 9/20, X^1_11 moved, N = 12."""
    p = {
        **three_norms.equal_outputs(2),
        "target": target,
        "k": "11",
        "w": "-9 8 3/4 -6",
        "b": "1/5 -2/3 1/2 3/7",
        "V": "0 0 0 0 1 -2 3 1/2",
    }
    w, b, V = (torch.tensor(floats(p[k])[-4:], dtype=torch.float64).reshape(2, 2) for k in ("w", "b", "V"))
    slopes = []

    def top(moved: torch.Tensor) -> torch.Tensor:
        none = torch.zeros(2, dtype=torch.float64)
        y, z = [none, none], [none, none]
        for n in range(1, 13):
            for q in range(2):
                s = torch.tanh(w[q] * y[q] + (V @ y[0] if q else none) + b[q])
                z[q] = z[q] - 0.45 * (s + y[q])
                y[q] = y[q] + 0.45 * z[q]
                if (n, q) == (11, 0):
                    y[0], z[0] = y[0] + moved[0::2], z[0] + moved[1::2]
                    slopes.append(1 - float(s[0].detach()) ** 2)
        return torch.stack([y[1], z[1]], 1).reshape(-1)

    jacobian = torch.autograd.functional.jacobian(top, torch.zeros(4, dtype=torch.float64))
    x = -0.45 * slopes[0] * torch.tensor([0.45, 1.0, 0.0, 0.0], dtype=torch.float64)
    errors = top(0 * x)[0::2] - torch.tensor(floats(target), dtype=torch.float64)
    left = float((errors @ (jacobian @ x)[0::2]).abs())
    right = float(errors.abs().max() * jacobian.abs().sum(1).max() * x.abs().max()) * 3 / 4
    with iv.workprec(256):
        again = [float(each.mid) for each in three_norms.three_norms_in_intervals(p, Q(3, 4))]
        with flint.ctx.workprec(256):
            balls = [float(each.mid()) for each in three_norms.three_norms_in_balls(p, Q(3, 4))]
    assert [balls, again] == [pytest.approx([left, right], rel=1e-9)] * 2


# --- the error at one time


def test_the_gradient_of_the_last_error_is_its_difference_quotient_and_typed_twice() -> None:
    network = {"w": "-3 1/2", "V": "1 2", "b": "1/3 -1/4", "u": "1/2", "target": "2"}
    point = {"alpha": "1", "dt": "1/5", "N": "12", "layer": "1", **network}
    left, again = both_sides(top_layer_gradients.last_error(SAM_70, one_error.BELOW), point)[0]
    assert left == pytest.approx(again, rel=1e-12)

    def error(b: float) -> float:
        w, V, bias, h, y, z = (-3.0, 0.5), (1.0, 2.0), (b, -0.25), 0.1, [0.0, 0.0], [0.0, 0.0]
        for _ in range(12):
            below = 0.5
            for q in range(2):
                z[q] -= h * (math.tanh(w[q] * y[q] + V[q] * below + bias[q]) + y[q])
                y[q] += h * z[q]
                below = y[q]
        return (y[1] - 2) ** 2 / 2

    quotient = abs(error(1 / 3 + 1e-5) - error(1 / 3 - 1e-5)) / 2e-5
    assert left == pytest.approx(quotient, rel=1e-7)


def test_of_the_error_at_one_time_the_top_layer_is_proved_and_a_smaller_bound_refuted() -> None:
    """The planted falsehood: 10⁻¹² of the bound. Without e^{w̄T} nothing is proved: F and Δ are large."""
    claim = one_error.CLAIMS[0]
    forms = (SAM_70, replace(SAM_70, growth="none"), replace(SAM_70, factor=Q(1, 10**12)))
    made = [answer(claim, top_layer_gradients.top_error_case(form), SMOKE, 0).verdict for form in forms]
    assert made == [verdict.PROVED, verdict.NOT_REFUTED, verdict.REFUTED]
    assert answer(claim, claim.cases[1], SMOKE, 0).verdict == verdict.REFUTED


def test_of_the_error_at_one_time_linear_growth_falls_at_every_smaller_step_and_a_large_multiple_of_it_does_not() -> (
    None
):
    """S(43); and 10⁵⁰ times its right side, which the same points do not reach, is not refuted."""
    claim = one_error.CLAIMS[1]
    for case in claim.cases:
        found = answer(claim, case, SMOKE, 0)
        assert found.verdict == verdict.REFUTED and "for every smaller dt" in found.because
    larger = replace(ICML_43, factor=Q(10**50))
    assert answer(claim, one_error.small_step_error_case("d", hyperbolic(), form=larger), SMOKE, 0).verdict == (
        verdict.NOT_REFUTED
    )


def test_the_error_of_smaller_steps_is_at_least_what_is_certified_of_them() -> None:
    """(cosh(R₀) − 1)/W in both typings, below |∂E_n/∂b| by the recursion at dt, dt/2, dt/5 at the same T."""
    point = {
        "alpha": "1/2",
        "dt": "1/3",
        "N": "9",
        "layer": "1",
        "w": "-4",
        "V": "0",
        "b": "0",
        "u": "0",
        "target": "2",
    }
    least, again = both_sides(one_error._for_smaller_steps(ICML_43), point)[0]
    assert least == pytest.approx(again, rel=1e-12)
    for finer in (1, 2, 5):
        smaller = {**point, "dt": f"1/{3 * finer}", "N": str(9 * finer)}
        exact, _ = both_sides(top_layer_gradients.last_error(ICML_43, one_error.ALONE), smaller)[0]
        assert least < exact < 2 * least
