"""How the contribution of an early step to dE/dw decays with the number of steps after it.

The network is one neuron with V = 1, c = 0 (h = dt/2) and inputs that are free: an input is named by the slope
σ′(A_{j−1}) ∈ (0, 1] that it makes, A_{j−1} = −artanh √(1 − σ′), x_j = A_{j−1} − w y_{j−1}. With rational slopes every
factor B(α + w σ′) is rational, and a slope of 1 is pre-activation 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
from flint import arb

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import BITS
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers, rationals
from verification.kinds import Constant, Integer, Kind, Listed, Rational, Values
from verification.parameters import Declaration, Parameter, Rule, declared

ALPHA, W, DT = Fraction(4), Fraction(-9), Fraction(1, 5)
"""h = 1/10, κ₋ = −5: λ + 1/λ = 2.05, λ = 4/5."""


def contracting_eigenvalue(alpha: Fraction, w: Fraction, h: Fraction) -> Fraction | None:
    """λ < 1 of B(α + w) if λ + 1/λ = 2 + h²(|w| − α) has a rational solution."""
    trace = 2 - h * h * (alpha + w)
    square = trace * trace - 4
    if trace <= 2:
        return None
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return (trace - root) / 2 if root * root == square else None


def tuned_tail(alpha: Fraction, w: Fraction, h: Fraction) -> list[Fraction]:
    """Slopes of the last steps, in order of time, after which e_y B_n ⋯ B_j is a left eigenvector for λ; [] if none."""
    from verification.adversary.decay import tail_to

    eigenvalue = contracting_eigenvalue(alpha, w, h)
    return [] if eigenvalue is None else tail_to(alpha, w, h, (eigenvalue - 1) / h)


def row_by_row(alpha: Fraction, w: Fraction, h: Fraction, slopes: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """(p, q) = e_y B_n ⋯ B_k for k = n, n−1, .., 1, exactly; q is the factor [B_n ⋯ B_k]_12 of the contribution."""
    p, q = Fraction(1), Fraction(0)
    rows = []
    for slope in reversed(slopes):
        q = q + h * p
        p = p - h * (alpha + w * slope) * q
        rows.append((p, q))
    return rows


# --- the contribution of step k decays


DECAY_STEPS = 160
KICK = Fraction(3, 4)
"""The slope of step 1: tanh A = −1/2 sets the neuron in motion, so that y_{k−1} is not zero."""


MOST_DECAY_STEPS, MOST_LETTERS, MOST_TAIL, MOST_BITS = 4096, 512, 256, 2**14


def decay_parameters(alpha: Fraction, w: Kind, dt: Fraction) -> Declaration:
    """A neuron and its slopes: a kick, whole periods of a word, a tail; the word is one slope of 1 if none is given."""
    slopes = Rational(above=0, most=1)

    def whole(values: Values) -> bool:
        repeated, word = values["steps"] - 1 - len(values["tail"]), len(values.get("word", (1,)))
        return bool(repeated >= word and repeated % word == 0)

    def bits(values: Values) -> int:
        given = (*values.get("word", ()), *values["tail"], values["kick"])
        return sum(slope.denominator.bit_length() for slope in given)

    return declared(
        Parameter("alpha", Constant(alpha)),
        Parameter("w", w),
        Parameter("dt", Constant(dt)),
        Parameter("target", Rational()),
        Parameter("steps", Integer(2, MOST_DECAY_STEPS)),
        Parameter("kick", slopes),
        Parameter("word", Listed(slopes, (1, MOST_LETTERS)), optional=True, order="slopes, again and again"),
        Parameter("tail", Listed(slopes, (1, MOST_TAIL)), order="slopes of the last steps"),
        rules=(
            Rule("the steps are a kick, whole periods of the word and the tail", whole),
            Rule(f"the denominators of the slopes have {MOST_BITS} bits together", lambda v: bits(v) <= MOST_BITS),
        ),
    )


def decay_case(alpha: Fraction, w: Fraction, dt: Fraction, *, domain: str) -> Case:
    """Is there an input whose contributions to dE/dw decay like λ^{n−k}?"""

    def ask(_: Budget, __: int) -> Attempt:
        from verification.adversary.decay import MOST_TURNS

        h = dt / 2
        tail = tuned_tail(alpha, w, h)
        network = f"one neuron, α = {alpha}, w = {w}, V = 1, c = 0, dt = {dt}"
        if not tail:
            return Attempt(tried=f"{network}: no input of this kind", evaluations=MOST_TURNS, found="no decay found")
        eigenvalue = contracting_eigenvalue(alpha, w, h)
        assert eigenvalue is not None
        parameters = {
            "alpha": str(alpha),
            "w": str(w),
            "dt": str(dt),
            "target": "1",
            "steps": str(DECAY_STEPS),
            "kick": str(KICK),
            "tail": rationals(tail),
        }
        return Attempt(
            tried=f"{network}: {len(tail)} last inputs tuned, pre-activation 0 before them",
            evaluations=DECAY_STEPS,
            found=f"factor {float(eigenvalue):.6g} a step of n − k",
            claimed="no exponential decay in n − k",
            candidates=(parameters,),
        )

    check = decay_parameters(alpha, Constant(w), dt).guards(decay_check)
    return Case(domain, "|∂E_k/∂w|", ask, check, reading="limit")


SEARCH = {"smoke": (2, 8, 12), "standard": (4, 16, 24), "deep": (8, 32, 40)}
"""Restarts, population and generations of the search over w."""
STIFFEST = 2.25
"""The control's w may fall to −STIFFEST α: W = 1.25 α, and α ≤ W (3 + h²W/2)/(1 + h²W/2), as thm-J (c) asks."""


def resonant_decay_case(alpha: Fraction, dt: Fraction, *, domain: str) -> Case:
    """The same over all −α < w < 0, where no single B(α + w σ′) contracts but words in them do.   thm-J (b), (d)

    CMA-ES over w with a beam over slopes finds where products grow fastest; there the fastest periodic word is made
    rational, and the last steps turn e_y onto its contracting left eigenvector. The controls ask for nine tenths of
    rates that are known: of constant inputs where w may fall below −α, and of long words where it stays above −α/2.
    """
    h = dt / 2

    def ask(budget: Budget, seed: int) -> Attempt:
        from verification.adversary import decay, evolution, words

        restarts, population, generations = SEARCH[budget.name]
        growth = evolution.RowGrowth(float(alpha), float(h), steps=120, hold=4)

        def over(search: Callable[..., Any], *range_of_w: float) -> Any:
            return search(
                growth, *range_of_w, restarts=restarts, population=population, generations=generations, seed=seed
            )

        rate, near, count = over(evolution.fastest_growth, -float(alpha), 0.0)
        share = min(
            over(evolution.growth_control, -STIFFEST * float(alpha)),
            over(evolution.resonance_control, -float(alpha) / 2),
            evolution.position_control(seed=seed),
            words.control(),
        )
        decaying = decay.along(alpha, h, near)
        return Attempt(
            tried=f"one neuron, α = {alpha}, V = 1, c = 0, dt = {dt}: CMA-ES over w with a beam over slopes (rate "
            f"{rate:.4g} a step at w = {near:.4g}), then words at w = {decaying.w}",
            evaluations=count + decaying.evaluations,
            log_measured=decaying.log_factor,
            log_claimed=0.0,
            found=decaying.text,
            claimed="no exponential decay in n − k",
            candidates=tuple(
                {"dt": str(dt), "target": "1", "kick": str(KICK), **parameters} for parameters in decaying.parameters
            ),
            control=share,
        )

    check = decay_parameters(alpha, Rational(above=-alpha, below=0), dt).guards(decay_check)
    return Case(domain, "|∂E_k/∂w|", ask, check, reading="limit", is_search=True)


def _word(parameters: Parameters) -> list[Fraction]:
    """Slopes of one period between the kick and the tail; pre-activation 0 throughout if none is given."""
    return numbers(parameters, "word") if "word" in parameters else [Fraction(1)]


def _slopes(parameters: Parameters) -> list[Fraction]:
    steps, tail, word = int(number(parameters, "steps")), numbers(parameters, "tail"), _word(parameters)
    return [number(parameters, "kick"), *word * ((steps - 1 - len(tail)) // len(word)), *tail]


def _ball_contributions(parameters: Parameters, ks: tuple[int, int]) -> list[arb]:
    """|∂E_k/∂w| at two k: states in balls, the change of w carried forward."""
    alpha, w, target = (BALLS.exact(number(parameters, name)) for name in ("alpha", "w", "target"))
    h = BALLS.exact(number(parameters, "dt") / 2)
    slopes = [BALLS.exact(value) for value in _slopes(parameters)]
    y = z = arb(0)
    tangents: dict[int, tuple[arb, arb]] = {}
    for step, slope in enumerate(slopes, 1):
        old = y
        z = z - h * (-(1 - slope).sqrt() + alpha * y)
        y = y + h * z
        for k, (dy, dz) in tangents.items():
            dz = dz - h * (alpha + w * slope) * dy
            tangents[k] = (dy + h * dz, dz)
        if step in ks:
            dz = -h * slope * old
            tangents[step] = (h * dz, dz)
    return [abs((y - target) * tangents[k][0]) for k in ks]


def _interval_contributions(parameters: Parameters, ks: tuple[int, int]) -> list[Any]:
    """The same in mpmath intervals, backward."""

    def exact(value: Fraction) -> Any:
        return iv.mpf(value.numerator) / value.denominator

    alpha, w, target = (exact(number(parameters, name)) for name in ("alpha", "w", "target"))
    h = exact(number(parameters, "dt") / 2)
    slopes = [exact(value) for value in _slopes(parameters)]
    positions, momentum = [iv.mpf(0)], iv.mpf(0)
    for slope in slopes:
        momentum = momentum - h * (alpha * positions[-1] - iv.sqrt(1 - slope))
        positions.append(positions[-1] + h * momentum)
    p, q = iv.mpf(1), iv.mpf(0)
    by_k = {}
    for k in range(len(slopes), 0, -1):
        q = q + h * p
        if k in ks:
            by_k[k] = abs((positions[-1] - target) * h * slopes[k - 1] * positions[k - 1] * q)
        p = p - h * (alpha + w * slopes[k - 1]) * q
    return [by_k[k] for k in ks]


def decay_check(parameters: Parameters) -> Check:
    """The contributions of two early steps against λ^{n−k}; and, over Q, the eigenvector that carries it to all n.

    Both steps have the same place in the period of the word, of r steps. y_{k−1}: |.| ≤ k h/r_α (thm-S), and if the
    word is pre-activation 0, on an orbit of B(α) from the kick of step 1, |.| ≤ h/r_α; |y_n − ȳ| ≤ n h/r_α + |ȳ|.
    """
    alpha, w, dt = (number(parameters, name) for name in ("alpha", "w", "dt"))
    steps, tail, word, h = int(number(parameters, "steps")), numbers(parameters, "tail"), _word(parameters), dt / 2
    rows = [(Fraction(1), Fraction(0)), *row_by_row(alpha, w, h, [*word, *tail])]
    turn, carried = rows[len(tail)], rows[-1]
    eigenvalue = carried[1] / turn[1] if turn[1] else Fraction(0)
    is_eigen = carried[0] == eigenvalue * turn[0] and 0 < abs(eigenvalue) < 1
    early = max(1, 1 + steps // 16)
    apart = max(0, (steps // 2 - early) // (2 * len(word)))  # pairs of periods between the two steps
    late = early + 2 * apart * len(word)
    allowed = (abs(eigenvalue) if is_eigen else Fraction(1, 2)) ** apart  # half the decay, in the logarithm
    slopes = _slopes(parameters)
    whole = len(slopes) == steps
    first_free = steps - len(tail)  # the last step before the tail
    with flint.ctx.workprec(BITS):
        first = _ball_contributions(parameters, (early, late))
        opinion = Opinion(
            "balls",
            bool(first[0] < BALLS.exact(allowed) * first[1]),
            f"{first[0].str(5, radius=False)} at k = {early}, {first[1].str(5, radius=False)} at k = {late}",
        )
    with iv.workprec(BITS):
        second = _interval_contributions(parameters, (early, late))
        share = iv.mpf(allowed.numerator) / allowed.denominator
        shown = " and ".join(f"{float(value.mid):.5g}" for value in second)
        other = Opinion("mpmath", bool((share * second[1] - second[0]).a > 0), shown)
    return Check(
        opinions=(opinion, other),
        premises=(
            Premise("early k ≪ n", str(Fraction(steps, 10) - early), 10 * early <= steps),
            Premise("whole periods between the kick and the tail", str(steps - len(slopes)), whole and apart > 0),
            Premise("two periods or more", str(first_free - 1), first_free - 1 >= 2 * len(word)),
            Premise("early k after the kick", str(early - 1), early >= 2),
            Premise("late k before the tail", str(first_free - late), late <= first_free),
        ),
        limit=_decay_limit(turn, eigenvalue, len(tail), word) if is_eigen and whole else "",
        words=f"α = {alpha}, w = {w}, dt = {dt}, n = {steps}: |∂E_k/∂w| is {opinion.text}",
    )


def _decay_limit(turn: tuple[Fraction, Fraction], eigenvalue: Fraction, free: int, word: list[Fraction]) -> str:
    if word == [1]:
        return (
            f"thm-V (b): over Q, e_y B_n ⋯ B_j = ({turn[0] / turn[1]}, 1) q for the {free} last steps is a left "
            f"eigenvector of B(α + w) for λ = {eigenvalue}, and every earlier pre-activation after step 1 is 0: for "
            f"all n and 2 ≤ k ≤ n − {free} the factor of y_{{k−1}}, which is bounded, is const · λ^(n−k); for every h "
            "the rate is 2 asinh(h √(|w| − α)/2)"
        )
    return (
        f"as in thm-V (b), with a word for B(α + w), thm-J (b): over Q, e_y B_n ⋯ B_j of the {free} last steps is a "
        f"left eigenvector for λ = {eigenvalue} of the product over {len(word)} steps that all earlier steps but the "
        f"first repeat; for all n that are 1 + {free} plus whole periods, and k a period less, the factor of y_{{k−1}} "
        f"is smaller by |λ|, and |y_{{k−1}}|, |y_n| ≤ n h/r (thm-S): |∂E_k/∂w| ≤ const · n² |λ|^((n−k)/{len(word)})"
    )
