# Claims: icml-C.1-table6 · both-F-Delta · icml-S15 · both-2-T1 · both-alpha0 · sam-E-computable
"""Printed formulas and printed hyperparameters: the variants of F and Δ, the propositions at Table 6."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, TypeAlias

import flint
import numpy as np

from odernn.bounds import icml, sharp
from odernn.bounds.numbers import BALLS
from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases.inequality import ALPHA_POSITIVE, BITS, SIGMA_INSIDE, STEP_BELOW_ONE, Inequality
from verification.cases.related import Small
from verification.certify import suprema
from verification.certify.second import intervals as second
from verification.claim import BOTH, Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget, printed_name
from verification.exact_text import number, rational
from verification.kinds import Constant, Integer, Kind, Rational
from verification.measure.published_forms import (
    ICML_12,
    ICML_S7,
    ICML_S15,
    ICML_S39,
    SAM_14,
    SAM_32,
    SAM_42,
    SAM_66,
    SAM_67,
    Delta,
    Root,
    with_ones,
)
from verification.parameters import Declaration, Parameter, declared

Form: TypeAlias = Root | Delta


# --- the printed variants of F and Δ

_POINT = {"alpha": "1", "dt": "1/2", "T": "1", "m": "1"}


LARGEST = 10**4
ANY_TIME = Rational(above=0, most=LARGEST)
UNIT_TIME = Constant(1)


def _of_forms(horizon: Kind = ANY_TIME) -> Declaration:
    return declared(
        Parameter("alpha", Rational(above=0, most=LARGEST)),
        Parameter("dt", Rational(above=0, below=1)),
        Parameter("T", horizon),
        Parameter("m", Integer(1, LARGEST)),
    )


def same_case(first: Form, second_form: Form, quantity: str, horizon: Kind = ANY_TIME) -> Case:
    """Two printed variants are the same number; for (14), T = 1."""

    def ask(_: Budget, __: int) -> Attempt:
        if first == second_form:
            return Attempt("", 1, proof="the same terms: factor under the root, powers of 1 + 2α dt³ and of e^{ᾱT}")
        return Attempt("α = 1, dt = 1/2, T = 1, m = 1", 1, candidates=(_POINT,))

    def balls(p: Any) -> tuple[Any, Any]:
        p = with_ones(p, BALLS.exact(1))
        return abs(first.ball(p) - second_form.ball(p)), 0 * p.alpha

    def intervals(p: Any) -> tuple[Any, Any]:
        p = with_ones(p, second.iv.mpf(1))
        return abs(first.interval(p) - second_form.interval(p)), second.iv.mpf(0)

    inequality = Inequality(balls, intervals, (ALPHA_POSITIVE, STEP_BELOW_ONE), parameters=_of_forms(horizon))
    return Case("all α, dt, T", quantity, ask, inequality.check)


def sufficient_case(form: Form, needed: Form, quantity: str, horizon: Kind = ANY_TIME) -> Case:
    """The printed variant is at least what the state bounds (32), S(7) give; for (14), T = 1."""

    def ask(_: Budget, __: int) -> Attempt:
        implied = form.implies(needed)  # type: ignore[arg-type]
        proof = "every factor and power is at least the one needed, and 1 + 2α dt³, e^{ᾱT} ≥ 1" if implied else ""
        return Attempt("terms compared", 1, proof=proof, candidates=() if implied else (_POINT,))

    def balls(p: Any) -> tuple[Any, Any]:
        p = with_ones(p, BALLS.exact(1))
        return needed.ball(p), form.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        p = with_ones(p, second.iv.mpf(1))
        return needed.interval(p), form.interval(p)

    inequality = Inequality(balls, intervals, (ALPHA_POSITIVE, STEP_BELOW_ONE), parameters=_of_forms(horizon))
    return Case("all α, dt, T = 1" if horizon == UNIT_TIME else "all α, dt, T", quantity, ask, inequality.check)


# --- rows of Table 6


def _of_rows(make: Callable[[PublishedRow], Case]) -> tuple[Case, ...]:
    return tuple(map(make, ROWS))


def _needs_alpha(row: PublishedRow) -> Attempt | None:
    if row.alpha > 0:
        return None
    return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")


_BITS_A_STEP = 6
"""A step of the recurrence widens balls by less than 2^6: 1 + h + h²α + hα with αh² < 4, h < 1, in both back-ends."""


def square_root_case(row: PublishedRow, quantity: str, factor: Fraction = Fraction(2)) -> Case:
    """icml S(7) at a row: the exact supremum over all inputs, every n ≤ N, against √(factor(1 + 2βt_n)) (/√α for y)."""

    def ask(_: Budget, __: int) -> Attempt:
        if (refused := _needs_alpha(row)) is not None:
            return refused
        dt, alpha = float(max(row.dt)), float(row.alpha)
        sup = np.array(sharp.log_supremum(alpha=alpha, step_size=dt, steps=row.steps, quantity=quantity))
        bound = icml.log_position if quantity == "position" else icml.log_momentum
        claimed = bound(alpha=alpha, time=dt * np.arange(1, row.steps + 1)) + math.log(factor / 2) / 2
        worst = int(np.argmax(sup - claimed))
        point = {"alpha": rational(row.alpha), "dt": rational(max(row.dt)), "N": str(worst + 1), "sigma": "9999/10000"}
        return Attempt(
            tried=f"the exact supremum (thm-S) at h = dt, n = 1..{row.steps}",
            evaluations=row.steps,
            log_measured=float(sup[worst]),
            log_claimed=float(claimed[worst]),
            candidates=(point,) if sup[worst] > claimed[worst] else (),
            proof=suprema.square_root_rows(row, factor),
        )

    def balls(p: Any) -> tuple[Any, Any]:
        beta = (1 + 2 * p.alpha).max(4 * p.alpha**2)
        right = (BALLS.exact(factor) * (1 + 2 * beta * p.N * p.dt)).sqrt()
        return suprema.balls(p, quantity), right / p.alpha.sqrt() if quantity == "position" else right

    def intervals(p: Any) -> tuple[Any, Any]:
        low, high = p.alpha * 2 + 1, (p.alpha * 2) ** 2
        beta = second.iv.mpf([max(low.a, high.a), max(low.b, high.b)])
        square = (p.dt * p.N * beta * 2 + 1) * factor.numerator / factor.denominator
        return suprema.intervals(p, int(p.texts["N"]), quantity), second.iv.sqrt(
            square / p.alpha if quantity == "position" else square
        )

    premises = (ALPHA_POSITIVE, STEP_BELOW_ONE, SIGMA_INSIDE)
    name = "max |y|" if quantity == "position" else "max |z|"
    parameters = declared(
        Parameter("alpha", Constant(row.alpha)),
        Parameter("dt", Constant(max(row.dt))),
        Parameter("N", Small(1, row.steps)),
        Parameter("sigma", Rational(above=0, below=1)),
    )
    bits = BITS + _BITS_A_STEP * row.steps
    check = Inequality(balls, intervals, premises, bits=bits, parameters=parameters).check
    return Case(printed_name(row), name, ask, check if row.alpha > 0 else None, reading="printed")


def horizon_case(row: PublishedRow, longest: Fraction = Fraction(1)) -> Case:
    """T = N dt ≤ 1 in every layer: the time variable t of the equation runs over [0, 1]."""
    is_printed = not any(note.startswith("N = ") for note in row.notes)

    def ask(_: Budget, __: int) -> Attempt:
        if not is_printed:
            return Attempt("", 0, inapplicable="the number of steps of this row is not printed")
        T = row.steps * max(row.dt)
        point = {"dt": rational(max(row.dt)), "N": str(row.steps)}
        text = f"N dt = {float(T):g}"
        return Attempt(
            text,
            row.num_layers,
            log_measured=math.log(T),
            log_claimed=math.log(longest),
            candidates=(point,) if longest < T else (),
            proof="" if longest < T else f"{text} ≤ {longest}, exactly",
        )

    check = Inequality(
        lambda p: (p.N * p.dt, BALLS.exact(longest)),
        lambda p: (p.dt * p.N, second.iv.mpf(longest.numerator) / longest.denominator),
        (STEP_BELOW_ONE,),
        parameters=declared(Parameter("dt", Constant(max(row.dt))), Parameter("N", Constant(row.steps))),
    ).check
    return Case(printed_name(row), "T = N dt", ask, check if is_printed else None, reading="printed")


def hypothesis_case(row: PublishedRow) -> Case:
    """The hypotheses α > 0 and dt < 1 of the gradient propositions at a row."""

    def ask(_: Budget, __: int) -> Attempt:
        holds = row.alpha > 0 and max(row.dt) < 1
        text = f"α = {rational(row.alpha)}, largest dt = {rational(max(row.dt))}"
        point = {"alpha": rational(row.alpha), "dt": rational(max(row.dt))}
        return Attempt(
            text,
            2,
            found=text,
            claimed="α > 0, dt < 1",
            proof=f"{text}, exactly" if holds else "",
            candidates=() if holds else (point,),
        )

    def check(parameters: Parameters) -> Check:
        alpha, dt = number(parameters, "alpha"), number(parameters, "dt")
        a, h = (second.number(parameters[name]) for name in ("alpha", "dt"))
        return Check(
            opinions=(
                Opinion("exact", alpha <= 0 or dt >= 1, f"α = {alpha}, dt = {dt}"),
                Opinion("mpmath", bool(a.b <= 0 or h.a >= 1), f"α in [{a.a}, {a.b}], dt in [{h.a}, {h.b}]"),
            ),
            words=f"α = {alpha}, dt = {dt}: the hypotheses α > 0, dt < 1 do not hold",
        )

    parameters = declared(Parameter("alpha", Constant(row.alpha)), Parameter("dt", Constant(max(row.dt))))
    return Case(printed_name(row), "α > 0, dt < 1", ask, parameters.guards(check), reading="printed")


LARGEST_FLOAT32 = (2**24 - 1) * 2**104


def _bound_41_ball(row: PublishedRow, w: int, target: int) -> Any:
    """log of (41) with V̄ = 1: Σ_{q<L} dt^q · T e^{w̄T}(Ȳ + F)Δ, F and Δ of (42)."""
    dt, alpha = BALLS.exact(max(row.dt)), BALLS.exact(row.alpha)
    T = row.steps * dt
    p = with_ones(SimpleNamespace(alpha=alpha, dt=dt, T=T, m=BALLS.exact(row.hidden_size)), BALLS.exact(1))
    geometric = (1 - dt**row.num_layers) / (1 - dt)
    F = SAM_32.ball(p) / alpha.sqrt()
    return geometric.log() + T.log() + (w + alpha).max(2) * T + (target + F).log() + SAM_42.ball(p).log()


def _bound_41_interval(row: PublishedRow, w: int, target: int) -> Any:
    iv = second.iv
    dt, alpha = second.number(str(max(row.dt))), second.number(str(row.alpha))
    p = with_ones(SimpleNamespace(alpha=alpha, dt=dt, T=dt * row.steps, m=iv.mpf(row.hidden_size)), iv.mpf(1))
    layers = sum((dt**q for q in range(1, row.num_layers)), start=iv.mpf(1))
    rate = iv.mpf([max(2, (alpha + w).a), max(2, (alpha + w).b)])
    F = iv.sqrt(SAM_32.interval(p) ** 2 / alpha)
    return iv.log(layers * p.T * (F + target) * SAM_42.interval(p)) + rate * p.T


def _both_41(row: PublishedRow, w: int, target: int) -> tuple[Any, Any]:
    with second.iv.workprec(BITS), flint.ctx.workprec(BITS):
        return _bound_41_ball(row, w, target), _bound_41_interval(row, w, target)


def computable_case(row: PublishedRow) -> Case:
    """log₁₀ of (41) with ‖w^L‖_∞ = V̄ = Ȳ = 1: a finite number."""

    def ask(_: Budget, __: int) -> Attempt:
        if (refused := _needs_alpha(row)) is not None:
            return refused
        first, again = _both_41(row, 1, 1)
        agree = abs(float(first.mid()) - float(again.mid)) < 1e-9 * float(again.mid)
        finite = bool(first.is_finite() and again.b - again.a < 1 and agree)
        decades = float(first.mid()) / math.log(10)
        shown, text = f"10^{decades:.1f}", f"(41) = 10^{decades:.1f} with ‖w‖_∞ = V̄ = Ȳ = 1"
        return Attempt(text, 2, found=shown, claimed="finite", proof=text if finite else "", twice=BOTH)

    return Case(printed_name(row), "log₁₀ of (41)", ask, reading="printed")


def float_case(row: PublishedRow, largest: int = LARGEST_FLOAT32) -> Case:
    """(41) in float32: its smallest value over all networks of the row is w = 0, V̄ = 1, Ȳ = 0."""

    def ask(_: Budget, __: int) -> Attempt:
        if (refused := _needs_alpha(row)) is not None:
            return refused
        first, again = _both_41(row, 0, 0)
        limit = math.log(largest)
        decades = float(first.mid()) / math.log(10)
        overflows = bool(first.lower() > limit + 1) and bool(again.a > limit + 1)
        fits = bool(first.upper() < limit) and bool(again.b < limit)
        most = f"the largest float32 10^{limit / math.log(10):.1f}"
        text = f"(41) is at least 10^{decades:.1f} for every network of the row, {most}"
        return Attempt(
            text,
            2,
            found=f"10^{decades:.1f}",
            claimed=f"at most {most}",
            vacuous=text if overflows else "",
            proof=f"{text}, w = 0, V̄ = 1, Ȳ = 0" if fits else "",
            twice=BOTH,
        )

    return Case(printed_name(row), "(41) in float32", ask, reading="printed")


CLAIMS = (
    Claim(
        id="icml-C.1-table6",
        source=Source("library", "docs/derivations/state_bounds.md, what follows; icml S(7) at Table 6"),
        origin="library",
        statement="the bound of icml-C.1 at the (N, dt, α) of Table 6, where α > 0: max_i |y_n| ≤ √((2/α)(1 + 2βt_n)), "
        "max_i |z_n| ≤ √(2(1 + 2βt_n)) for all n ≤ N; β = max{1 + 2α, 4α²} (by thm-S-Q, not by the printed proof)",
        semantics="real",
        cases=tuple(square_root_case(row, quantity) for row in ROWS for quantity in ("position", "momentum")),
    ),
    Claim(
        id="both-F-Delta",
        source=Source("sam", "(14), (42), (66), (67); icml (12), S(39)"),
        statement="the printed F and Δ are at least what (32) and S(7) give: F ≥ bound on |y|, Δ ≥ 2 + "
        "(bound on |z|) + (2+α)(bound on |y|), and S(39) has the Δ of (12); also tried: that the other variants "
        "are equal, of which (14), (66), (67) put factors outside of a root",
        semantics="reading",
        cases=(
            same_case(SAM_14, SAM_42, "Δ of (14) = Δ of (42), T = 1", UNIT_TIME),
            same_case(SAM_14.y, SAM_42.y, "F of (14) = F of (42), T = 1", UNIT_TIME),
            same_case(SAM_66, SAM_42, "Δ of (66) = Δ of (42)"),
            same_case(SAM_67, SAM_42.y, "F of (67) = F of (42)"),
            same_case(ICML_S39, ICML_12, "Δ of S(39) = Δ of icml (12)"),
            sufficient_case(SAM_42, Delta(SAM_32, SAM_32), "Δ of (42) ≥ 2 + Z + (2+α)Y by (32)"),
            sufficient_case(SAM_66, Delta(SAM_32, SAM_32), "Δ of (66) ≥ 2 + Z + (2+α)Y by (32)"),
            sufficient_case(SAM_67, SAM_32, "F of (67) ≥ Y by (32)"),
            sufficient_case(ICML_12, ICML_S39, "Δ of icml (12) ≥ 2 + Z + (2+α)Y by S(7)"),
            sufficient_case(SAM_14, Delta(SAM_32, SAM_32), "Δ of (14) ≥ 2 + Z + (2+α)Y by (32)", UNIT_TIME),
            sufficient_case(SAM_14.y, SAM_32, "F of (14) ≥ Y by (32)", UNIT_TIME),
            sufficient_case(SAM_42.y, SAM_32, "F of (42) ≥ Y by (32)"),
            sufficient_case(ICML_12.y, ICML_S7, "F of icml (12) ≥ Y by S(7)"),
        ),
    ),
    Claim(
        id="icml-S15",
        source=Source("icml", "S(15), S(42)"),
        statement="Δ of S(15) is at least 2 + (bound on |z|) + (2+α)(bound on |y|) by S(7), as S(42), which takes it "
        "after S(39), needs: Δ = 2 + √(1+2βT) + (2+α)√((2/α)(1+2βT)); also tried: that it is the Δ of (12)",
        semantics="reading",
        cases=(
            sufficient_case(ICML_S15, ICML_S39, "2 + Z + (2+α)Y by S(7) ≤ Δ of S(15)"),
            same_case(ICML_S15, ICML_12, "Δ of S(15) = Δ of icml (12)"),
        ),
    ),
    Claim(
        id="both-2-T1",
        source=Source("sam", "Sec. 2, (1), (5); icml the same; Table 6"),
        statement="the time of (1) and (5) runs over [0, 1]; a question of this library: "
        "whether that holds of the networks of Table 6, T = N dt ≤ 1, 0 < dt < 1",
        semantics="reading",
        cases=_of_rows(horizon_case),
    ),
    Claim(
        id="both-alpha0",
        source=Source("sam", "Prop. 3.2, icml Prop. 3.1, Table 6"),
        statement="a question of this library: whether the hypotheses of the "
        "gradient propositions, α > 0 and dt < 1, hold at the rows of Table 6",
        semantics="reading",
        cases=_of_rows(hypothesis_case),
    ),
    Claim(
        id="sam-E-computable",
        source=Source("sam", "App. E, (41)"),
        statement="(41) is finite and can be evaluated for the trained network: for all "
        "finite weights, asked at ‖w^L‖_∞ = V̄ = Ȳ = 1; (41) = ((1−dt^L)/(1−dt)) T e^{w̄^L "
        "T} V̄ (Ȳ + F)Δ, w̄^L = max{2, ‖w^L‖_∞ + α}; also tried: its value in float32",
        semantics="real",
        cases=(*_of_rows(computable_case), *_of_rows(float_case)),
    ),
)
