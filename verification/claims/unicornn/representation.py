# Claims: both-72 · both-77 · both-80 · both-84 · both-3.3/3.2-repr · both-3.3-fixed-n · both-3.3-Odt · both-3.3-nok
"""One layer: first-order forms of Jacobian products and of the contribution of step k to dE/dw.

sam (16), (72)-(86), icml (14), S(45)-S(59).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import flint
from flint import arb, fmpq_mpoly_ctx

from odernn.bounds.numbers import BALLS, FLOATS
from odernn.published.sources import Source
from verification.cases import order as orders
from verification.cases import small_shares
from verification.cases.kick_factors import change_case, lower_case, upper_case
from verification.cases.lattice_paths import contributions
from verification.cases.order import WEIGHTS, Symbol, both_sides, order_case, stack_parameters
from verification.certify import scalar_stack
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second import scalar_stack as scalar_stack_second
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Constant, Integer, Rational
from verification.measure.exact_network import Shape

T1 = ScalarStack(horizon=Fraction(1), offset=1, ratio=Fraction(1, 16))
T4 = replace(T1, horizon=Fraction(4), target=Fraction(4))
T1_FIRST, T4_FIRST = (replace(family, offset=1, ratio=Fraction(0)) for family in (T1, T4))
T1_FIXED, T4_FIXED = (replace(family, offset=2, ratio=Fraction(0)) for family in (T1, T4))
STEPWISE = ScalarStack(w=Fraction(1, 2), offset=-1, ratio=Fraction(1))
"""k = n − 1: one factor."""
MOST_FACTORS = 8


# --- (77), (80) at fixed n − k: polynomials in h and κ_j


def first_order_form(factors: int) -> str:
    """How B(κ_m) ⋯ B(κ_1) = I + h [[0, m], [−Σκ, 0]] + O(h²) was decided, "" if it is false; m = ``factors``.

    B is composed from the kick and the drift; the difference is a polynomial in h and the κ_j.
    """
    ring = fmpq_mpoly_ctx.get(("h", *(f"k{j}" for j in range(1, factors + 1))))
    h, *kappas = ring.gens()
    columns = []
    for y, z in ((ring.constant(1), ring.constant(0)), (ring.constant(0), ring.constant(1))):
        for kappa in kappas:
            z = z - h * kappa * y
            y = y + h * z
        columns.append((y, z))
    (a, c), (b, d) = columns
    rest = (a - 1, b - factors * h, c + h * sum(kappas), d - 1)
    if any(monomial[0] < 2 for entry in rest for monomial in entry.monoms()):
        return ""
    return "the difference is a polynomial in h and the κ_j without terms of degree 0, 1 in h; |κ_j| ≤ α + |w|, h < dt"


def _proved(case: Case, prove: Callable[[], str]) -> Case:
    """The case with a proof added, if there is one and the slope does not speak against it."""

    def ask(budget: Budget, seed: int) -> Attempt:
        attempt = case.ask(budget, seed)
        return attempt if attempt.candidates else replace(attempt, proof=prove())

    return replace(case, ask=ask)


def one_more_factor(shift: int = 0) -> str:
    """The step of the induction on m = n − k, for any m: from I + h [[0, m], [−K, 0]] + h² R with any R and K = Σκ, a
    factor B(κ) from the left leads to the same form of m + 1 and K + κ. ``shift`` ≠ 0 would claim another K.
    """
    ring = fmpq_mpoly_ctx.get(("h", "m", "K", "kappa", "a", "b", "c", "d"))
    h, m, K, kappa, a, b, c, d = ring.gens()
    rest = []
    for y, z in ((1 + h**2 * a, h**2 * c - h * K), (h * m + h**2 * b, 1 + h**2 * d)):
        z = z - h * kappa * y
        rest.append((y + h * z, z))
    (p, q), (r, s) = rest
    left = (p - 1, r - h * (m + 1), q + h * (K + kappa + shift), s - 1)
    if any(monomial[0] < 2 for entry in left for monomial in entry.monoms()):
        return ""
    return (
        "and from any m = n − k to m + 1: B(κ)(I + h [[0, m], [−K, 0]] + h² R) = I + h [[0, m + 1], [−K − κ, 0]] + h² "
        "R', R' a polynomial in h, κ, m, K and R, so bounded for each m"
    )


def _all_factors() -> str:
    first, step = first_order_form(1), one_more_factor()
    return f"one factor: {first}; {step}" if first and step else ""


# --- no dependence on k

K_STEPS = 128
NCIFAR = ScalarStack(horizon=Fraction(126), alpha=Fraction(13), ratio=Fraction(1, 100))
NCIFAR_STEPS = 1000
WIDE = 100


def _kernel_ratio(stack: ScalarStack, steps: int = K_STEPS) -> float:
    """[B_n ⋯ B_k]_12 at the step k of the stack by its value at k = 2, in floats."""
    states = scalar_stack.run(stack, steps, FLOATS)
    late, early = (scalar_stack.jacobian_product(states, k)[0][1] for k in (stack.step(steps), 2))
    return float(late / early)


def _k_dependence(_: Budget, __: int) -> Attempt:
    """∂E_k/∂w by σ′(A_{k−1}) y_{k−1}, which is −h (y_n − ȳ) [B_n ⋯ B_k]_12, at two k ≤ n/10 for several T."""
    stacks = [replace(T1, horizon=Fraction(T)) for T in ("1", "4", "13/2", "12")]
    ratios = {stack: _kernel_ratio(stack) for stack in stacks}
    worst = min(ratios, key=lambda stack: ratios[stack])
    text = ", ".join(f"{ratio:.3f} at T = {stack.horizon}" for stack, ratio in ratios.items())
    return Attempt(
        tried=f"the value at k = 1 + n/16 by that at k = 2, α = 1, w = 0, n = {K_STEPS}: {text}",
        evaluations=len(stacks),
        found=f"ratio {ratios[worst]:.3f}",
        claimed="ratio 1",
        candidates=(worst.to_text() | {"steps": str(K_STEPS)},) if ratios[worst] < 0.5 else (),
    )


def _k_dependence_at_nCIFAR(_: Budget, __: int) -> Attempt:
    """The same at k = 1 + n/100, where √α σ̂ T/100 = 2.27: the sign turns, not for T near some value only."""
    ratio = _kernel_ratio(NCIFAR, NCIFAR_STEPS)
    return Attempt(
        tried=f"the value at k = 1 + n/100 by that at k = 2: {NCIFAR.describe()}, n = {NCIFAR_STEPS}",
        evaluations=1,
        found=f"ratio {ratio:.3f}",
        claimed="ratio 1",
        candidates=(NCIFAR.to_text() | {"steps": str(NCIFAR_STEPS)},) if ratio < 0.5 else (),
    )


AT_NCIFAR = stack_parameters(
    NCIFAR,
    steps=Constant(NCIFAR_STEPS),
    kinds={**WEIGHTS, "alpha": Constant(NCIFAR.alpha), "b": Rational(nonzero=True)},
)

K_DEPENDENCE = stack_parameters(
    T1,
    steps=Integer(1, K_STEPS),
    kinds={**WEIGHTS, "alpha": Rational(above=0), "b": Rational(nonzero=True), "horizon": Rational(above=0, most=100)},
)


def _k_dependence_check(parameters: Parameters) -> Check:
    """Violated if the two values have opposite signs; in the limit sin(√α(1 − ρ)τ) and sin(√α τ) have, by thm-R.

    The recurrence widens enclosures by about e^{√α τ} in all: so many more bits, for α up to ``WIDE``.
    """
    stack, steps = ScalarStack.from_text(parameters), int(parameters["steps"])
    late = stack.step(steps)
    bits = orders.BITS + math.ceil(2 * math.sqrt(min(stack.alpha, Fraction(WIDE))) * stack.horizon)
    with flint.ctx.workprec(bits):
        states = scalar_stack.run(stack, steps, BALLS)
        values = [scalar_stack.jacobian_product(states, k)[0][1] for k in (2, late)]
        first = Opinion("balls", bool(values[0] * values[1] < 0), " and ".join(v.str(8) for v in values))
        root, time = BALLS.exact(stack.alpha).sqrt(), BALLS.exact(stack.horizon / 2)
        ends = [(root * time * part).sin() / root for part in (arb(1), 1 - BALLS.exact(stack.ratio))]
        limit = ""
        if stack.w == 0 and bool(ends[0] * ends[1] < 0):
            limit = (
                f"thm-R: as dt → 0 the two tend to sin(√α (τ − s))/√α, {ends[0].str(6, radius=False)} at s = 0 and "
                f"{ends[1].str(6, radius=False)} at s = {stack.ratio} τ"
            )
    with iv.workprec(bits):
        second = scalar_stack_second.kernels(stack.to_text(), steps, (2, late))
        opposite = bool((second[0] * second[1]).b < 0)
        other = Opinion("mpmath", opposite, " and ".join(str(float(v.mid)) for v in second))
    dt = stack.horizon / steps
    return Check(
        opinions=(first, other),
        premises=(
            Premise("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
            Premise("k ≤ n/10", str(Fraction(steps, 10) - late), 10 * late <= steps),
        ),
        limit=limit,
        words=f"{stack.describe()}, n = {steps}: the factor is {first.text} at k = 2 and k = {late}: opposite signs",
    )


# --- the O of (72), read at k = 1


def _both_bounds(_: Budget, __: int) -> Attempt:
    """The remainder of (73) at k = 1, the first step that it names: y_0 = 0."""
    stack = T1_FIRST
    value = orders.measured(stack, orders.CERTIFIED_STEPS, "remainder, L = 1")
    candidate = stack.to_text() | {"steps": str(orders.CERTIFIED_STEPS)}
    return Attempt(
        tried="the remainder of (73) at k = 1",
        evaluations=1,
        found=f"remainder {abs(value)}",
        claimed="≥ C dt², C > 0",
        candidates=(candidate,) if value == 0 else (),
    )


FIRST_STEP = stack_parameters(T1_FIRST)


def _both_bounds_check(parameters: Parameters) -> Check:
    stack, steps = ScalarStack.from_text(parameters), int(parameters["steps"])
    with flint.ctx.workprec(orders.BITS):
        value = orders.quantity_of(scalar_stack.run(stack, steps, BALLS), "remainder, L = 1")
    second = scalar_stack_second.value(stack.to_text(), steps, "remainder, L = 1")
    zero = bool(value.is_zero())
    dt, k = stack.horizon / steps, stack.step(steps)
    return Check(
        opinions=(
            Opinion("balls", zero, f"remainder {value.str(6)}"),
            Opinion("mpmath", second.a == 0 and second.b == 0, f"remainder {second}"),
        ),
        premises=(
            Premise("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
            Premise("k ≤ n/10", str(Fraction(steps, 10) - k), 10 * k <= steps),
            Premise("the neuron moves: b ≠ 0", str(abs(stack.b)), stack.b != 0),
        ),
        limit="y_0 = 0 is a factor of the contribution and of its printed form, for every dt" if zero else "",
        words=f"{stack.describe()}, N = {steps}: the remainder is exactly 0",
    )


PRODUCT = Symbol(symbol="‖dX_n/dX_k − printed‖")
REMAINDER = Symbol(symbol="|∂E_k/∂w − printed|")
CONTRIBUTION = Symbol(symbol="|∂E_k/∂w|")
EXACT = contributions("icml").case(
    "L = 1, m ≤ 2, n ≤ 4",
    "∂E_k/∂w with [B_n ⋯ B_k]_12",
    (*(Shape(1, 1, N) for N in range(1, 5)), Shape(1, 2, 2), Shape(1, 2, 3)),
)
"""The contribution of step k, an identity (thm-R)."""
LONG = "T = {T}, k = 1 + n/16"
SHORT = "T = {T}, k = 2"
SMALL = "T = {T}, k = n^(3/4)"

CLAIMS = (
    Claim(
        id="both-72",
        source=Source("sam", "(72)"),
        statement="β = O(γ) means C γ ≤ β ≤ C′ γ with C, C′ > 0 for scalars, ‖M‖ ≤ C′ γ for matrices; a "
        "question of this library: whether the scalar remainder O(dt²) of (73), 1 ≤ k ≪ n, is so bounded below",
        semantics="reading",
        cases=(
            Case(
                "k = 1",
                "|remainder of (73)| ≥ C dt²",
                _both_bounds,
                FIRST_STEP.guards(_both_bounds_check),
                reading="limit",
            ),
        ),
    ),
    Claim(
        id="both-77",
        source=Source("sam", "(77)-(79)"),
        statement="dX_j/dX_{j−1} = I + dt C_j + O(dt²), C_j = [[0, σ̂], [−σ̂(w σ′(A_{j−1}) + α), 0]] for each neuron",
        semantics="slope",
        cases=(
            _proved(
                order_case(STEPWISE, "(80)", 2, "at most", domain="all h, κ", symbol="‖dX_j/dX_{j−1} − printed‖"),
                lambda: first_order_form(1),
            ),
        ),
    ),
    Claim(
        id="both-80",
        source=Source("sam", "(80)-(82)"),
        statement="n − k fixed: dX_n/dX_k = I + dt C + O(dt²), C = [[0, (n−k)σ̂], [−(n−k)ασ̂ "
        "− σ̂ w Σ σ′(A_{j−1}), 0]]; also tried: t_n fixed, where the paper has (84)",
        semantics="slope",
        cases=(
            _proved(
                order_case(
                    replace(STEPWISE, offset=-MOST_FACTORS),
                    "(80)",
                    2,
                    "at most",
                    domain="every fixed n − k",
                    **PRODUCT,
                ),
                _all_factors,
            ),
            order_case(T1_FIRST, "(80)", 2, "at most", domain="T = 1, k = 1", **PRODUCT),
        ),
    ),
    Claim(
        id="both-84",
        source=Source("sam", "(84)-(86)"),
        statement="for k ≪ n, t_n fixed dX_n/dX_k = C + O(dt), C = [[1, t_n σ̂], [−t_n ασ̂ − σ̂ w dt Σ σ′(A_{j−1}), 1]]",
        semantics="slope",
        cases=(
            order_case(T1_FIRST, "(84)", 1, "at most", domain="T = 1, k = 1", **PRODUCT),
            order_case(T4_FIRST, "(84)", 1, "at most", domain="T = 4, k = 1", **PRODUCT),
        ),
    ),
    Claim(
        id="both-3.3/3.2-repr",
        source=Source("sam", "(16), (73)"),
        statement="∂E_k^{(n,1)}/∂w = −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ_n) + "
        "O(dt²) for 1 ≤ k ≪ n at fixed t_n; also tried: a remainder of at least c dt²",
        semantics="slope",
        cases=(
            order_case(T1, "remainder, L = 1", 2, "at most", domain=LONG.format(T=1), **REMAINDER),
            order_case(T4, "remainder, L = 1", 2, "at most", domain=LONG.format(T=4), **REMAINDER),
            *(
                small_shares.case(
                    stack, "remainder", Fraction(2), domain=SMALL.format(T=T), symbol="|∂E_k/∂w − printed| ≤ C dt^2"
                )
                for T, stack in ((1, T1), (4, T4))
            ),
            *both_sides(T1_FIXED, "remainder, L = 1", 2, domain=SHORT.format(T=1), **REMAINDER),
            *both_sides(T4_FIXED, "remainder, L = 1", 2, domain=SHORT.format(T=4), **REMAINDER),
        ),
    ),
    Claim(
        id="both-3.3-fixed-n",
        source=Source("sam", "(16), (73)"),
        statement="a question of this library, (16) at fixed n and k, dt → 0: "
        "∂E_k^{(n,1)}/∂w = −dt σ̂² t_n σ′(A_{k−1}) y_{k−1} (y_n − ȳ_n) + O(dt²)",
        semantics="slope",
        cases=both_sides(T1_FIXED, "remainder, L = 1", 2, domain="n = 32, k = 2", fixed_n=32, **REMAINDER),
    ),
    Claim(
        id="both-3.3-Odt",
        source=Source("sam", "after (16)"),
        statement="with all weights O(1) the leading term of ∂E_k^{(n,1)}/∂w is O(dt), and of that order where "
        "y_{k−1}, σ′(A_{k−1}) and y_n − ȳ_n are of order 1 and κ* t² ≤ 4, κ* = α + |w|, t = (n−k+1)h: it is "
        "−h σ′(A_{k−1}) y_{k−1} (y_n − ȳ_n) F, and F = [B_n ⋯ B_k]_12 is bounded at fixed t_n and away from 0 there; "
        "also tried: of that order at k = 2",
        semantics="slope",
        cases=(
            EXACT,
            upper_case(),
            lower_case(),
            *both_sides(T1, "contribution", 1, domain=LONG.format(T=1), **CONTRIBUTION),
            *both_sides(T1_FIXED, "contribution", 1, domain=SHORT.format(T=1), **CONTRIBUTION),
        ),
    ),
    Claim(
        id="both-3.3-nok",
        source=Source("sam", "after (16)"),
        statement="∂E_k^{(n,1)}/∂w depends on k through σ′(A_{k−1}) y_{k−1} alone, 1 ≤ k ≪ n: its other factor is one "
        "number up to O(k/n), as F = [B_n ⋯ B_k]_12 changes by O(h) from one k to the next; also tried: of one sign "
        "for k ≤ n/10, and for k ≤ n/100 at the T of nCIFAR",
        semantics="real",
        cases=(
            EXACT,
            change_case(),
            *(
                small_shares.case(
                    replace(T1, horizon=T),
                    "factor",
                    Fraction(1, 4),
                    domain=SMALL.format(T=T),
                    symbol="|factor at k − factor at 2| ≤ C k/n",
                )
                for T in (Fraction(1), Fraction(13, 2))
            ),
            Case(
                "fixed T, k ≤ n/10",
                "∂E_k/∂w by σ′(A_{k−1}) y_{k−1}",
                _k_dependence,
                K_DEPENDENCE.guards(_k_dependence_check),
                reading="limit",
            ),
            Case(
                "T = 126, α = 13, k ≤ n/100",
                "∂E_k/∂w by σ′(A_{k−1}) y_{k−1}",
                _k_dependence_at_nCIFAR,
                AT_NCIFAR.guards(_k_dependence_check),
                reading="limit",
            ),
        ),
    ),
)
