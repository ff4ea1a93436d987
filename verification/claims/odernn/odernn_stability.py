# Claims: ode-T1 · ode-T1-1st · ode-T1-sign · ode-T1-diff · ode-T1-dyn · ode-T1-nec
"""Theorem 1 of the ODERNN paper, reading by reading: M ≥ 0 and B_i ≥ 0 are said to make a step BN-stable.

Def. 2 has lost its formulas. Its words have a sign, ≥ 0, that the cited theorem has not, and leave open whether
differences are meant and which coefficients; condition II and (5) leave open where transposes belong. So each choice is
a case of its own. "Some norm" means: no norm contracts, because powers of one and the same step are unbounded. The
formula of (5) is lost; "M without transposes" is one guess at it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_poly

from odernn import tableaus
from odernn.exact.algebraic import Algebraic, enclosure
from odernn.properties.monotone_data import MonotoneData
from odernn.properties.nonlinear_stability import bn_stability
from odernn.properties.unstable_problems import RotationProblem
from odernn.published.sources import Source
from odernn.tableaus.methods import in_stages, is_exact
from odernn.tableaus.tableau import ButcherTableau
from verification.cases.energy_balance import Balance, implied_case
from verification.cases.pointwise_pieces import piece_case
from verification.cases.pointwise_steps import pointwise_case
from verification.cases.typed_steps import (
    HALF_WEIGHTS,
    MOST_TABLES,
    TURNED_WEIGHTS,
    UNIT_WEIGHTS,
    step_of,
    step_of_method,
)
from verification.certify import contraction_check
from verification.certify import typed_step_exact as typed_step_first
from verification.certify.second import stage_problems
from verification.certify.typed_step import ContractionReading, Matrix, MatrixTable, parsed, written
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, rationals
from verification.kinds import Constant, Listed, Rational
from verification.parameters import Declaration, Parameter, declared
from verification.parameters import rationals as rational_parameters

SIZES = {"smoke": 4, "standard": 8, "deep": 16}
SCALAR = tuple(Balance(1, stages, "scalar", printed=True) for stages in (1, 2, 3))
"""Multiples of the identity act on each component alone, so that D = 1 is every D."""
MATRIX = tuple(Balance(2, stages) for stages in (1, 2, 3))
SIGNS = "components add up; b_i ≥ 0, (u−v)·(f_i(u)−f_i(v)) ≤ 0 and M ≥ 0 make both corrections ≤ 0 (thm-1*)"
Family = Callable[[Budget], Iterator[Parameters]]


def searched(
    domain: str, quantity: str, reading: ContractionReading, family: Family, parameters: Declaration | None = None
) -> Case:
    """Every step of a family, the simplest first, in exact arithmetic. ``parameters``: the steps of the domain."""

    def ask(budget: Budget, _: int) -> Attempt:
        tried, worst, violating = 0, 0.0, []
        for typed in family(budget):
            step = parsed(typed)
            tried += 1
            if typed_step_first.violation(step, reading)[0]:
                violating.append(typed)
                worst = max(worst, typed_step_first.growth(step, reading) or 0.0)
        grown = f"{len(violating)} of {tried} steps push two solutions apart"
        return Attempt(
            tried=f"{tried} steps with small rational coefficients, exact: {grown}",
            evaluations=tried,
            log_measured=math.log(worst) if worst else None,
            log_claimed=0.0 if worst else None,
            found=grown,
            claimed="none",
            candidates=tuple(violating[:3]),
        )

    meant = parameters or step_of(reading, tables=MOST_TABLES)
    return Case(domain, quantity, ask, contraction_check.guarded(meant, reading))


# --- families of steps


def _diagonal(*entries: Fraction | int) -> Matrix:
    return tuple(
        tuple(Fraction(x) if i == j else Fraction(0) for j in range(len(entries))) for i, x in enumerate(entries)
    )


def _turn(rate: Fraction | int) -> Matrix:
    """rate · J, J = [[0, 1], [−1, 0]]: skew."""
    return ((Fraction(0), Fraction(rate)), (-Fraction(rate), Fraction(0)))


def _plus(S: Matrix, T: Matrix) -> Matrix:
    return tuple(tuple(x + y for x, y in zip(*rows, strict=True)) for rows in zip(S, T, strict=True))


def _by(factor: Fraction | int, S: Matrix) -> Matrix:
    return tuple(tuple(factor * x for x in row) for row in S)


ZERO = _diagonal(0, 0)
HALF = Fraction(1, 2)


def midpoints(weight: str = "identity", largest: int | None = None) -> Family:
    """A = P/2, B = P, P = diag(1, p), f = s J, p = 1, 2, …: M = 0 with G = I and with G = P⁻¹."""

    def family(budget: Budget) -> Iterator[Parameters]:
        rates: tuple[Fraction | int, ...] = (1, 2, HALF)
        for p, rate in itertools.product(range(1, (largest or SIZES[budget.name]) + 1), rates):
            P = _diagonal(1, p)
            G = None if weight == "identity" else _diagonal(1, Fraction(1, p))
            yield written([MatrixTable(((_by(HALF, P),),), (P,))], [_turn(rate)], G=G)

    return family


def turned_midpoints(most: int = 4) -> Family:
    """A = P/2 + k P⁻¹ J, B = P, P = diag(1, p), f = s J: B A + Aᵀ B − B² = k (J + Jᵀ) = 0."""

    def family(budget: Budget) -> Iterator[Parameters]:
        for p, k, rate in itertools.product(range(1, SIZES[budget.name] + 1), range(most + 1), (1, -1, 2, -2)):
            P, P_inverse = _diagonal(1, p), _diagonal(1, Fraction(1, p))
            turned = tuple(_turn(k * P_inverse[r][r])[r] for r in range(2))  # k P⁻¹ J
            yield written([MatrixTable(((_plus(_by(HALF, P), turned),),), (P,))], [_turn(rate)])

    return family


def alternating(tables: int, least: int = 1, most: int | None = None) -> Family:
    """A midpoint with P = diag(1, p), then one with diag(p, 1), as two stages of one table or as two tables."""

    def family(budget: Budget) -> Iterator[Parameters]:
        for p, eta in itertools.product(range(least, (most or SIZES[budget.name]) + 1), (Fraction(1), HALF)):
            P, Q = _diagonal(1, p), _diagonal(p, 1)
            if tables == 2:
                members = [MatrixTable(((_by(HALF, P),),), (P,)), MatrixTable(((_by(HALF, Q),),), (Q,))]
                yield written(members, [_turn(1)], eta=eta)
            else:
                A = ((_by(HALF, P), ZERO), (P, _by(HALF, Q)))
                yield written([MatrixTable(A, (P, Q))], [_turn(1), _turn(1)], eta=eta)

    return family


def turned_couplings(turns: int = 1) -> Family:
    """B_1 = B_2 = I, A_11 = A_22 = I/2, A_12 = I/2 + x J, A_21 = I/2 − x J, f_1 = −r I, f_2 = s J: A_12 + A_21 = I.

    Without transposes M = 0; with them M_12 = 2x J. ``turns=0`` leaves out x: both are 0.
    """

    def family(budget: Budget) -> Iterator[Parameters]:
        unit = _diagonal(1, 1)
        half, rates = _by(HALF, unit), (1, -1, 2, -2)
        for x, r, s in itertools.product(range(1, SIZES[budget.name] + 1), (Fraction(1), HALF, Fraction(2)), rates):
            A = ((half, _plus(half, _turn(turns * x))), (_plus(half, _turn(-turns * x)), half))
            yield written([MatrixTable(A, (unit, unit))], [_by(-r, unit), _turn(s)])

    return family


def outward(method: str) -> Family:
    """A scalar method with f_i(y) = s y, s > 0."""

    def family(budget: Budget) -> Iterator[Parameters]:
        tableau = in_stages(tableaus.get(method))
        for rate in (1, HALF, 3):
            A = tuple(tuple(((_fraction(a),),) for a in row) for row in tableau.A)
            B = tuple(((_fraction(b),),) for b in tableau.b)
            yield written([MatrixTable(A, B)], [((Fraction(rate),),)] * tableau.stages)

    return family


def unstable(method: str) -> Family:
    """The problem y' = λ(t) y, Re λ ≤ 0, that the library builds for a scalar method which is not BN-stable."""

    def family(_: Budget) -> Iterator[Parameters]:
        tableau = in_stages(tableaus.get(method))
        problem = bn_stability(tableau).witness
        if isinstance(problem, RotationProblem):
            rates = zip(problem.real, problem.imaginary, strict=True)
            fields = [_plus(_by(_fraction(re), _diagonal(1, 1)), _turn(_fraction(im))) for re, im in rates]
            yield {
                "D": "2",
                "S": str(tableau.stages),
                "eta": "1",
                "a": rationals([_fraction(a) for row in tableau.A for a in row]),
                "b": rationals([_fraction(b) for b in tableau.b]),
                "N": rationals([x for N in fields for row in N for x in row]),
            }

    return family


def _exact_method(name: str) -> ButcherTableau:
    method = in_stages(tableaus.get(name))
    assert isinstance(method, ButcherTableau)
    return method


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


# --- necessity of condition I over the catalogue


def catalogue_case() -> Case:
    def ask(_: Budget, __: int) -> Attempt:
        contracting, pushed, open_ = 0, 0, []
        for name in tableaus.names():
            method = in_stages(tableaus.get(name))
            if not isinstance(method, ButcherTableau) or not is_exact(method) or not _nonnegative(method):
                continue
            certificate = bn_stability(method)
            problem = certificate.witness
            if not _agrees(method, bool(certificate.holds), problem):
                raise ArithmeticError(f"{name}: mpmath does not find what is decided exactly: {certificate.because}")
            if certificate.holds:
                contracting += 1
            elif isinstance(problem, RotationProblem | MonotoneData) and problem.growth > 1:
                pushed += 1
            else:
                open_.append(name)
        text = (
            f"{contracting + pushed} exact methods with b_i ≥ 0: {contracting} have M ≥ 0 after merging equal stages; "
            f"for each of the {pushed} others a monotone problem with |Δy₁| > |Δy₀| is computed, exactly"
        )
        if open_:
            return Attempt(f"{text}; none for {', '.join(open_)}", contracting + pushed)
        again = "M and the problems also in mpmath, 80 digits"
        return Attempt(
            text, contracting + pushed, found="0 exceptions", claimed="0 exceptions", proof=text, twice=again
        )

    return Case("catalogue, b_i ≥ 0, equal stages merged", "M ≱ 0 ⇒ |Δy₁| > |Δy₀|", ask)


def _agrees(method: ButcherTableau, holds: bool, problem: Any) -> bool:
    """Whether the second back-end finds the same: the form semidefinite, or the problem monotone and pushed apart."""
    A, b = [_decimals(row) for row in method.A], _decimals(method.b)
    if holds or problem is None:
        return stage_problems.has_nonnegative_form(A, b) == holds
    if isinstance(problem, RotationProblem):
        rate_at = dict(zip(problem.abscissae, zip(problem.real, problem.imaginary, strict=True), strict=True))
        abscissae = [sum(row[1:], row[0]) for row in method.A]  # of all stages, the equal ones too
        rates, points = [_decimals(rate_at[c]) for c in abscissae], [_decimals([c]) for c in abscissae]
        return stage_problems.grows(A, b, rates, points) and not stage_problems.has_nonnegative_form(A, b)
    rates, positions, slopes = (
        [_decimals(row) for row in rows] for rows in (problem.rates, problem.positions, problem.slopes)
    )
    (radius_squared,) = _decimals([problem.radius_squared])
    return (
        stage_problems.grows(A, b, rates, positions)
        and stage_problems.is_monotone(A, rates, positions, slopes, radius_squared)
        and not stage_problems.has_nonnegative_form(A, b)
    )


def _decimals(values: Iterable[Any]) -> list[str]:
    return [
        enclosure(value, 4 * stage_problems.DIGITS).mid().str(stage_problems.DIGITS, radius=False) for value in values
    ]


def _nonnegative(method: ButcherTableau) -> bool:
    return all((b.sign() if isinstance(b, Algebraic) else b) >= 0 for b in method.b)


# --- <y, f(y)> instead of differences


def single_case(shift: int = 2) -> Case:
    """f(y) = −y (y − shift)², implicit midpoint: two solutions whose stages are 1 and ``shift``; 0 is monotone.

    y f(y) = −(y (y − shift))² ≤ 0 for all y, and the stage equation Y − f(Y)/2 = y has one solution: its left side has
    the derivative 1 + (3Y² − 4 shift Y + shift²)/2, which has no real root for shift² < 6.
    """
    if shift * shift >= 6:
        raise ValueError(f"shift is {shift}; the stage equation has one solution for shift² < 6.")

    def ask(budget: Budget, _: int) -> Attempt:
        grid = [Fraction(k, 2) for k in range(-2 * SIZES[budget.name], 2 * SIZES[budget.name] + 1)]
        pairs = sorted(itertools.combinations(grid, 2), key=lambda uv: (abs(uv[0]) + abs(uv[1]), uv))
        named = [{"c": str(shift), "Y": rationals(list(pair))} for pair in pairs]
        violating = [p for p in named if check(p).opinions[0].violated]
        text = f"{len(violating)} of {len(named)} pairs of stage values are pushed apart"
        return Attempt(text, len(named), found=text, claimed="none", candidates=tuple(violating[:2]))

    def check(parameters: Parameters) -> Check:
        c = number(parameters, "c")
        first, second = map(Fraction, parameters["Y"].split())
        y = fmpq_poly([0, 1])
        f = -y * (y - fmpq(c.numerator, c.denominator)) ** 2
        values = [(fmpq(Y.numerator, Y.denominator), f(fmpq(Y.numerator, Y.denominator))) for Y in (first, second)]
        before, after = ((values[0][0] - values[1][0]) + s * (values[0][1] - values[1][1]) / 2 for s in (-1, 1))
        slopes = [-Y * (Y - c) * (Y - c) for Y in (first, second)]
        starts = [Y - k / 2 for Y, k in zip((first, second), slopes, strict=True)]
        ends = [Y + k / 2 for Y, k in zip((first, second), slopes, strict=True)]
        return Check(
            opinions=(
                Opinion("flint", bool(abs(after) > abs(before)), f"|Δy| from {abs(before)} to {abs(after)}"),
                Opinion(
                    "fractions",
                    (ends[0] - ends[1]) ** 2 > (starts[0] - starts[1]) ** 2,
                    f"y: {_listed(starts)} to {_listed(ends)}",
                ),
            ),
            words=f"f(y) = −y (y − {c})², implicit midpoint, η = 1, stages {first} and {second}: the distance grows "
            f"from {abs(before)} to {abs(after)}",
        )

    parameters = declared(Parameter("c", Constant(shift)), Parameter("Y", Listed(Rational(), 2)))
    return Case("implicit midpoint, y f(y) ≤ 0", "|Δy₊| ≤ |Δy|", ask, parameters.guards(check))


def _listed(values: list[Fraction]) -> str:
    return ", ".join(map(str, values))


# --- coefficients that are gated by the state


def gated_case(gate: str = "relu(y)") -> Case:
    """k_1 = relu(y), B_2 = diag(g k_1), A_22 = B_2/2, k_2 = f(Y_2), f(Y) = relu(c − Y).

    B_2 ≥ 0, M = B_2 A_22 + A_22 B_2 − B_2 B_2 = 0 at every state, and f is pointwise, nonlinear and non-increasing.
    """

    def ask(budget: Budget, _: int) -> Attempt:
        grid = [str(k) for k in range(-SIZES[budget.name] // 2, SIZES[budget.name] // 2 + 1)]
        pairs = sorted(itertools.combinations(grid, 2), key=lambda uv: abs(int(uv[0])) + abs(int(uv[1])))
        named = [{"g": g, "c": c, "u": u, "v": v} for g, c, (u, v) in itertools.product(("1", "2"), ("10", "1"), pairs)]
        violating = [p for p in named if check(p).opinions[0].violated]
        text = f"{len(violating)} of {len(named)} pairs of states are pushed apart"
        return Attempt(text, len(named), found=text, claimed="none", candidates=tuple(violating[:2]))

    def check(parameters: Parameters) -> Check:
        g, c, u, v = (number(parameters, name) for name in ("g", "c", "u", "v"))
        exact = [fmpq(x.numerator, x.denominator) for x in (g, c, u, v)]
        ends = []
        for y in exact[2:]:
            b = exact[0] * (max(y, fmpq(0)) if gate == "relu(y)" else fmpq(1))
            active = (y + b * exact[1] / 2) / (1 + b / 2)  # Y where f is c − Y; else Y = y
            ends.append(y + b * (exact[1] - active if active < exact[1] else fmpq(0)))
        closed = [_gated_again(g if gate == "relu(y)" else None, g, c, y) for y in (u, v)]
        gap, other = abs(ends[0] - ends[1]), (closed[0] - closed[1]) ** 2
        return Check(
            opinions=(
                Opinion("flint", bool(gap > abs(exact[2] - exact[3])), f"|Δy| from {abs(u - v)} to {gap}"),
                Opinion("fractions", other > (u - v) ** 2, f"Δy² from {(u - v) ** 2} to {other}"),
            ),
            words=f"b = {g} {gate}, A = b/2, f(Y) = relu({c} − Y), η = 1: the states {u} and {v} move from "
            f"{abs(u - v)} to {gap} apart",
        )

    parameters = declared(*rational_parameters("g", least=0), *rational_parameters("c", "u", "v"))
    domain = "class (c): coefficients gated by the state"
    return Case(domain, f"|Δy₊| ≤ |Δy|, gate {gate}", ask, parameters.guards(check))


def _gated_again(relu: Fraction | None, g: Fraction, c: Fraction, y: Fraction) -> Fraction:
    """y where y ≥ c, else (y (2 − b) + 2bc)/(2 + b), the midpoint rule of f(Y) = c − Y solved by hand."""
    b = g if relu is None else (relu * y if y > 0 else Fraction(0))
    return y if y >= c else (y * (2 - b) + 2 * b * c) / (2 + b)


# --- the claims

ORDINARY, EVERY = ContractionReading(), ContractionReading(norm="every")
ONE, TWO = (1, 1), (2, 2)
"""Stages or components, from … to …."""
_SOURCE = Source("odernn", "Thm 1")
_STATEMENT = "if M ≥ 0 and every B_i ≥ 0 the ODERNN is BN-stable"
NO_TRANSPOSES = ContractionReading(tensor="printed", norm="every")

CLAIMS = (
    Claim(
        id="ode-T1",
        source=_SOURCE,
        statement=f"{_STATEMENT}; A_ij, B_i in R^(D×D), pointwise nonlinear f_i that are monotone with the sign of "
        "the cited theorem, (u−v)ᵀ(f_i(u)−f_i(v)) ≤ 0, or with that of Definition 2, ≥ 0. The witnesses "
        "have symmetric B > 0 and M = 0: neither transposes nor a lost letter matter to them, nor, with two "
        "stages, the norm. Also tried: linear fields, M without transposes, and f_i monotone with weight B_i",
        semantics="real",
        cases=(
            pointwise_case("S = 1, f(y) = ReLU(b − y)", -1),
            pointwise_case("S = 1, f(y) = ReLU(b + y), the printed sign", 1),
            piece_case("S = 2, f_i(y) = ReLU(b_i − y)", -1),
            searched("S = 1", "‖Δy₊‖₂ ≤ ‖Δy‖₂", ORDINARY, midpoints(), step_of(ORDINARY, stages=ONE)),
            searched("S = 2", "some norm", EVERY, alternating(1), step_of(EVERY, stages=TWO)),
            searched(
                "S = 2, B_i = I, M without transposes",
                "some norm",
                NO_TRANSPOSES,
                turned_couplings(),
                step_of(NO_TRANSPOSES, stages=TWO, weights=UNIT_WEIGHTS),
            ),
            implied_case(
                "(u−v)ᵀB_i(f_i(u)−f_i(v)) ≤ 0, M with transposes, D = 2, S ≤ 3",
                "‖Δy₊‖₂ ≤ ‖Δy‖₂",
                MATRIX,
                "with G = I the weighted monotonicity and M ≥ 0 make both corrections ≤ 0 (thm-1*)",
            ),
        ),
    ),
    Claim(
        id="ode-T1-1st",
        source=_SOURCE,
        statement=f"{_STATEMENT}; one stage, matrix coefficients, (u−v)ᵀ(f(u)−f(v)) ≤ 0",
        semantics="real",
        cases=(
            searched(
                "A = P/2, B = P",
                "‖Δy₊‖₂ ≤ ‖Δy‖₂",
                ORDINARY,
                midpoints(),
                step_of(ORDINARY, stages=ONE, couplings=HALF_WEIGHTS),
            ),
            searched(
                "A = P/2 + kP⁻¹J, B = P",
                "some norm",
                EVERY,
                turned_midpoints(),
                step_of(EVERY, stages=ONE, sizes=TWO, couplings=TURNED_WEIGHTS),
            ),
        ),
    ),
    Claim(
        id="ode-T1-sign",
        source=Source("odernn", "Def. 2, Thm 1"),
        statement=f"{_STATEMENT}; with the sign that Definition 2 has in words: (u−v)ᵀ(f_i(u)−f_i(v)) ≥ 0",
        semantics="real",
        cases=tuple(
            searched(
                method,
                "|Δy₊| ≤ |Δy|",
                ContractionReading(sign=1, norm="every"),
                outward(method),
                step_of_method(_exact_method(method), ONE, names=("A", "B")),
            )
            for method in ("implicit midpoint", "radau iia 2", "lobatto iiic 2")
        ),
    ),
    Claim(
        id="ode-T1-diff",
        source=Source("odernn", "Def. 2, Thm 1"),
        statement=f"{_STATEMENT}; scalar coefficients, y·f_i(y) ≤ 0 in place of the differences; for pairs of "
        "solutions, and for one solution, ‖y₊‖ ≤ ‖y‖",
        semantics="real",
        cases=(
            single_case(),
            implied_case(
                "S ≤ 3, every D",
                "‖y₊‖ ≤ ‖y‖",
                SCALAR,
                "components add up; with 0 for the second solution, b_i ≥ 0, Y_i·k_i ≤ 0 and M ≥ 0 make both "
                "corrections ≤ 0 (thm-1*)",
            ),
        ),
    ),
    Claim(
        id="ode-T1-dyn",
        source=Source("odernn", "Claim 1, Sec. 2.3, Thm 1"),
        statement=f"{_STATEMENT}; coefficients that are functions of time, scalars and matrices, and gates that are "
        "computed anew from the perturbed state; conditions I and II at every time and state",
        semantics="real",
        cases=(
            implied_case("class (b): scalar coefficients of time, S ≤ 3", "‖Δy₊‖ ≤ ‖Δy‖ at each step", SCALAR, SIGNS),
            searched(
                "class (b): matrix coefficients of time",
                "some norm",
                EVERY,
                alternating(2),
                step_of(EVERY, stages=(1, 2), tables=MOST_TABLES),
            ),
            gated_case(),
        ),
    ),
    Claim(
        id="ode-T1-nec",
        source=_SOURCE,
        statement="questions of this library: the conclusion of Theorem 1 for scalar methods "
        "with b_i ≥ 0 without condition I, and whether condition I is necessary for it",
        semantics="real",
        cases=(
            *(
                searched(
                    method,
                    "|Δy₊| ≤ |Δy|",
                    ContractionReading(tensor="any", norm="every", shared=True),
                    unstable(method),
                    step_of_method(_exact_method(method), (1, 2)),
                )
                for method in ("euler", "heun 3", "rk4", "trapezoidal", "lobatto iiia 3", "lobatto iiib 3")
            ),
            catalogue_case(),
        ),
    ),
)
