# Claims: both-100 · both-87
"""What the proofs of sam Props D.3, D.4 (icml C.3, C.4) leave out on the way: (84) to (73), and the last line of (100).

sam (75), (84)-(88), (99), (100); icml S(48), S(57)-S(61), S(72), S(73). ∂⁺z_k = −h σ′(A_{k−1}) y_{k−1} and
∂⁺y_k = h ∂⁺z_k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import flint
from flint import fmpq, fmpq_mpoly_ctx

from odernn.bounds.numbers import BALLS, FLOATS, Numbers
from odernn.published.sources import Source
from verification.certify import scalar_stack
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second import scalar_stack as scalar_stack_second
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import brief, number
from verification.kinds import Constant, Kind, Rational
from verification.measure.scaling import HALF_A_POWER
from verification.parameters import Parameter, declared, rationals

# --- the last line of (100): dt⁴ ∂⁺y_k [Ḡ, dt⁻¹H̄] is dropped


Row: TypeAlias = Literal["y", "z"]
BITS = 192
STACK = ScalarStack(layers=3)
LADDER = {"smoke": (64, 128, 256), "standard": (64, 128, 256, 512, 1024), "deep": (64, 128, 256, 512, 1024, 2048)}
CERTIFIED_STEPS = 32


def _dropped(stack: ScalarStack, steps: int, row: Row, numbers: Numbers) -> Any:
    """The dropped term in the rows of y, dt⁴Ḡ ∂⁺y_k, or of z, dt³H̄ ∂⁺y_k."""
    states = scalar_stack.run(stack, steps, numbers)
    k, h = stack.step(steps), states.h
    direct = -h * h * states.slope[0][k] * states.y[0][k - 1]
    below = -h * h * states.slope[1][steps] * states.v
    above = -h * states.slope[2][steps] * states.v
    return (h * above if row == "y" else above) * below * direct


def _dropped_again(stack: ScalarStack, steps: int, row: Row) -> Any:
    run = scalar_stack_second.in_intervals(stack.to_text(), steps)
    gains = run.gain[run.k][0] * run.gain[steps][1] * run.gain[steps][2]
    return -(run.h ** (6 if row == "y" else 5)) * run.v**2 * gains * run.y[run.k - 1][0]


def _powers(row: Row) -> int:
    """The power of h in the dropped term, from the blocks D = −h²σ′V, E = −hσ′V and ∂⁺y_k as polynomials."""
    ring = fmpq_mpoly_ctx.get(("h", "v", "s", "p", "q", "y"))
    h, v, s, p, q, y = ring.gens()
    term = (-(h**2) * q * v if row == "y" else -h * q * v) * (-(h**2) * p * v) * (-(h**2) * s * y)
    return min(monomial[0] for monomial in term.monoms())


def dropped_case(row: Row, power: int) -> Case:
    """The dropped term is at most C dt^power, in the rows of y or of z; k = 1 + n/16, T = 1."""

    def ask(budget: Budget, _: int) -> Attempt:
        ladder = LADDER[budget.name]
        values = [abs(float(_dropped(STACK, steps, row, FLOATS))) for steps in ladder]
        slope = math.log2(values[-2] / values[-1])
        proof = ""
        if _powers(row) >= power:
            proof = (
                f"the term is h^{_powers(row)} times V² σ′ σ′ σ′ y_{{k−1}}, a polynomial in h; h < dt, 0 < σ′ ≤ 1, and "
                "|y_{k−1}| is at most a number free of dt at fixed T (thm-S)"
            )
        given = STACK.to_text() | {"steps": str(CERTIFIED_STEPS)}
        return Attempt(
            tried=f"{STACK.describe()}: slope {slope:.3f} at the finest",
            evaluations=len(ladder),
            found=f"slope {slope:.2f} at the finest",
            claimed=f"slope {power} or more",
            candidates=(given,) if slope < power - HALF_A_POWER else (),
            proof=proof,
        )

    def check(parameters: Parameters) -> Check:
        stack, steps = ScalarStack.from_text(parameters), int(parameters["steps"])
        opinions = (
            _opinion("balls", lambda: _ball_slope(stack, steps, row), power),
            _opinion("mpmath", lambda: _interval_slope(stack, steps, row), power),
        )
        dt, k = stack.horizon / steps, stack.step(steps)
        return Check(
            opinions=opinions,
            premises=(
                Premise("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
                Premise("k ≤ n/10", str(Fraction(steps, 10) - k), 10 * k <= steps),
            ),
            limit=_limit(stack, row) if _powers(row) < power else "",
            words=f"{stack.describe()}, N = {steps} and {2 * steps}: {opinions[0].text}, claimed {power} or more",
        )

    weights = dict.fromkeys(("v", "b"), Rational(nonzero=True, least=-10, most=10))
    free: dict[str, Kind] = {"alpha": Rational(above=0, most=5), "target": Rational(), **weights}
    parameters = declared(
        *(Parameter(name, free.get(name, Constant(Fraction(getattr(STACK, name))))) for name in scalar_stack.FIELDS),
        Parameter("steps", Constant(CERTIFIED_STEPS)),
    )
    relation = f"dropped term in the rows of {row} ≤ C dt^{power}"
    return Case("L = 3, T = 1, k = 1 + n/16", relation, ask, parameters.guards(check), reading="limit")


def _ball_slope(stack: ScalarStack, steps: int, row: Row) -> tuple[float, float]:
    with flint.ctx.workprec(BITS):
        coarse, fine = (abs(_dropped(stack, count, row, BALLS)) for count in (steps, 2 * steps))
        if coarse.contains(0) or fine.contains(0):
            raise ValueError("a ball contains 0")
        slope = (coarse / fine).log() / flint.arb(2).log()
        return float(slope.lower()), float(slope.upper())


def _interval_slope(stack: ScalarStack, steps: int, row: Row) -> tuple[float, float]:
    with iv.workprec(BITS):
        coarse, fine = (abs(_dropped_again(stack, count, row)) for count in (steps, 2 * steps))
        if 0 in coarse or 0 in fine:
            raise ValueError("an enclosure contains 0")
        slope = iv.log(coarse / fine) / iv.log(iv.mpf(2))
        return float(slope.a), float(slope.b)


def _opinion(backend: str, slope: Callable[[], tuple[float, float]], power: int) -> Opinion:
    try:
        low, high = slope()
    except ValueError as error:
        return Opinion(backend, False, str(error))
    return Opinion(backend, high < power - HALF_A_POWER, f"slope {(low + high) / 2:.6f}")


def _limit(stack: ScalarStack, row: Row) -> str:
    """w = 0: y_m = −tanh(b) h Σ_{j≤m} [B^j]_12, [B^j]_12 = sin(jθ)/r > 0 while jθ < π; |y| ≤ τ(τ + h)/2 above."""
    if stack.w != 0 or not stack.alpha > 0 or 0 in (stack.b, stack.v):
        return ""
    with flint.ctx.workprec(BITS):
        root, time = BALLS.exact(stack.alpha).sqrt(), BALLS.exact(stack.horizon / 2)
        if not root * time < flint.arb.pi() / 2:
            return ""
        early = time * BALLS.exact(stack.ratio)
        reached = BALLS.exact(stack.b).tanh() * (1 - (root * early).cos()) / BALLS.exact(stack.alpha)
        if reached.contains(0):
            return ""
    return (
        f"thm-R: at fixed T y_{{k−1}} tends to {(-reached).str(6, radius=False)} (w = 0, √α τ < π/2: a sum of terms of "
        f"one sign), and σ′ ≥ sech²(|v| τ²) > 0 in the layers above: the term is of order dt^{_powers(row)} exactly"
    )


# --- (84) to (73): what C leaves, times ∂⁺X_k


def follows_case(most: Fraction = Fraction(1)) -> Case:
    """From dX_n/dX_k = C + dt R: |(1, 0)(C + dt R)∂⁺X_k − t_n σ̂ ∂⁺z_k| ≤ most · dt² |y_{k−1}| (1 + |R_11| + |R_12|).

    t = t_n, g = σ̂, s = σ′, y = y_{k−1}; the left side is dt² |g s y| |g(1 + dt R_11) + R_12|.
    """

    def difference(v: dict[str, Any]) -> Any:
        z = -v["dt"] * v["g"] * v["s"] * v["y"]
        left = (1 + v["dt"] * v["R11"]) * v["dt"] * v["g"] * z + (v["t"] * v["g"] + v["dt"] * v["R12"]) * z
        return left - v["t"] * v["g"] * z

    names = ("dt", "g", "s", "y", "t", "R11", "R12")

    def ask(_: Budget, __: int) -> Attempt:
        ring = fmpq_mpoly_ctx.get(names)
        symbols = dict(zip(names, ring.gens(), strict=True))
        dt, g, s, y, _t, R11, R12 = ring.gens()
        rest = difference(symbols) + dt**2 * g * s * y * (g * (1 + dt * R11) + R12)
        text = "the difference is −dt² σ̂ σ′ y_{k−1} (σ̂(1 + dt R_11) + R_12) as a polynomial; 0 < σ̂, σ′, dt < 1"
        proved = rest == 0 and most >= 1
        given = {"dt": "1/2", "g": "9/10", "s": "9/10", "y": "1", "t": "1", "R11": "1", "R12": "0"}
        return Attempt(text, 1, proof=text if proved else "", candidates=() if proved else (given,))

    def check(parameters: Parameters) -> Check:
        exact = {name: number(parameters, name) for name in names}
        left = abs(difference(exact))
        right = most * exact["dt"] ** 2 * abs(exact["y"]) * (1 + abs(exact["R11"]) + abs(exact["R12"]))
        v = {name: fmpq(x.numerator, x.denominator) for name, x in exact.items()}
        kick = v["g"] * v["s"] * v["y"] * v["dt"]  # −∂⁺z_k
        gap = kick * v["dt"] * v["g"] + v["dt"] * (v["R11"] * v["dt"] * v["g"] * kick + v["R12"] * kick)
        size = v["dt"] ** 2 * abs(v["y"]) * (1 + abs(v["R11"]) + abs(v["R12"])) * fmpq(most.numerator, most.denominator)
        return Check(
            opinions=(
                Opinion("fractions", left > right, f"{brief(left)} against {brief(right)}"),
                Opinion("flint", bool(abs(gap) > size), f"{_brief(abs(gap))} against {_brief(size)}"),
            ),
            words=", ".join(f"{name} = {text}" for name, text in parameters.items()),
        )

    parameters = declared(
        *rationals("dt", "g", "s", above=0, below=1), *rationals("y", "R11", "R12"), *rationals("t", above=0)
    )
    return Case("any R, t_n", "|row of y − printed| ≤ C dt²", ask, parameters.guards(check))


def _brief(value: Any) -> str:
    return brief(Fraction(int(value.p), int(value.q)))


CLAIMS = (
    Claim(
        id="both-100",
        source=Source("sam", "(100); icml S(73)"),
        statement="L = 3: dt⁴(∂⁺y_k + C_12 ∂⁺z_k)[Ḡ, dt⁻¹H̄] + O(dt⁶) = dt⁴ C_12 ∂⁺z_k [Ḡ, dt⁻¹H̄] + O(dt⁶), as ∂⁺y_k = "
        "O(dt²): what is dropped is O(dt⁶); also tried: O(dt⁵) in the rows of z",
        semantics="slope",
        cases=(dropped_case("y", 6), dropped_case("z", 6), dropped_case("z", 5)),
    ),
    Claim(
        id="both-87",
        source=Source("sam", "(87), (88); icml S(60), S(61)"),
        statement="if dX_n/dX_k = C + O(dt), the row of y of (dX_n/dX_k)∂⁺X_k is t_n σ̂ ∂⁺z_k + O(dt²), ∂⁺y_k = O(dt²) "
        "included: (73) follows from (84), which is tried by itself",
        semantics="alg",
        cases=(follows_case(),),
    ),
)
