# Claims: both-novanish · both-novanish-norm · both-exploding-mitigated · icml-3.1-T3
"""Whether contributions of early steps can vanish, and gradients grow, exponentially in the number of steps.

The network of this file is one neuron with V = 1, c = 0 (h = dt/2) and inputs that are free: an input is named by the
slope σ′(A_{j−1}) ∈ (0, 1] that it makes, A_{j−1} = −artanh √(1 − σ′), x_j = A_{j−1} − w y_{j−1}. With rational slopes
every factor B(α + w σ′) is rational, and a slope of 1 is pre-activation 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
from flint import arb, fmpq_mpoly_ctx

from odernn.bounds.numbers import BALLS
from odernn.published.sources import Source
from verification.certify.second.intervals import iv
from verification.domains import Budget
from verification.measure import scaling
from verification.question import (
    Attempt,
    Case,
    Check,
    Hypothesis,
    Opinion,
    Parameters,
    Question,
    number,
    numbers,
    rationals,
)

BITS = 256


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
    found = []
    for slope in reversed(slopes):
        q = q + h * p
        p = p - h * (alpha + w * slope) * q
        found.append((p, q))
    return found


# --- the contribution of step k decays


DECAY_STEPS = 160
KICK = Fraction(3, 4)
"""The slope of step 1: tanh A = −1/2 sets the neuron in motion, so that y_{k−1} is not zero."""


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

    return Case(domain, "|∂E_k/∂w|", ask, decay_check, reading="limit")


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
        found = decay.along(alpha, h, near)
        return Attempt(
            tried=f"one neuron, α = {alpha}, V = 1, c = 0, dt = {dt}: CMA-ES over w with a beam over slopes (rate "
            f"{rate:.4g} a step at w = {near:.4g}), then words at w = {found.w}",
            evaluations=count + found.evaluations,
            log_measured=found.log_factor,
            log_claimed=0.0,
            found=found.text,
            claimed="no exponential decay in n − k",
            candidates=tuple(
                {"dt": str(dt), "target": "1", "kick": str(KICK), **parameters} for parameters in found.parameters
            ),
            control=share,
        )

    return Case(domain, "|∂E_k/∂w|", ask, decay_check, reading="limit", is_search=True)


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
    found = {}
    for k in range(len(slopes), 0, -1):
        q = q + h * p
        if k in ks:
            found[k] = abs((positions[-1] - target) * h * slopes[k - 1] * positions[k - 1] * q)
        p = p - h * (alpha + w * slopes[k - 1]) * q
    return [found[k] for k in ks]


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
    before, iv.prec = iv.prec, BITS
    try:
        second = _interval_contributions(parameters, (early, late))
        share = iv.mpf(allowed.numerator) / allowed.denominator
        shown = " and ".join(f"{float(value.mid):.5g}" for value in second)
        other = Opinion("mpmath", bool((share * second[1] - second[0]).a > 0), shown)
    finally:
        iv.prec = before
    return Check(
        opinions=(opinion, other),
        premises=(
            Hypothesis("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
            Hypothesis("α > 0, so that y_{k−1} is bounded", str(alpha), alpha > 0 and alpha * h * h < 4),
            Hypothesis("slopes in (0, 1]", str(min(slopes)), all(0 < s <= 1 for s in slopes)),
            Hypothesis("early k ≪ n", str(Fraction(steps, 10) - early), 10 * early <= steps),
            Hypothesis("whole periods between the kick and the tail", str(steps - len(slopes)), whole and apart > 0),
            Hypothesis("two periods or more", str(first_free - 1), first_free - 1 >= 2 * len(word)),
            Hypothesis("early k after the kick", str(early - 1), early >= 2),
            Hypothesis("late k before the tail", str(first_free - late), late <= first_free),
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


# --- the norm of the product does not


def determinant_is_one() -> str:
    """det B(κ) = 1 as a polynomial in h and κ; "" if it is not."""
    ring = fmpq_mpoly_ctx.get(("h", "kappa"))
    h, kappa = ring.gens()
    columns = []
    for y, z in ((ring.constant(1), ring.constant(0)), (ring.constant(0), ring.constant(1))):
        z = z - h * kappa * y
        columns.append((y + h * z, z))
    determinant = columns[0][0] * columns[1][1] - columns[0][1] * columns[1][0]
    if determinant - ring.constant(1) != ring.constant(0):
        return ""
    return "det B(κ) = 1 as a polynomial in h and κ: ‖Φ(n,k)‖² ≥ |det Φ(n,k)| = 1 for all n, k, weights and inputs"


def _norms(budget: Budget, seed: int) -> Attempt:
    """The smallest norm of random products, in floats, beside the proof."""
    import torch

    from verification.measure.gradient import log_norms_of_products

    batch = {"smoke": 64, "standard": 512, "deep": 4096}[budget.name]
    generator = torch.Generator().manual_seed(seed % 2**63)
    w = 18 * torch.rand(batch, generator=generator, dtype=torch.float64) - 9
    slopes = torch.rand(100, batch, generator=generator, dtype=torch.float64)
    norms = log_norms_of_products(1 + w * slopes, torch.full((batch,), 0.1, dtype=torch.float64))
    smallest = float(norms.min())
    return Attempt(
        tried=f"{batch} random products of 100 factors, |w| ≤ 9, α = 1, h = 1/10",
        evaluations=norms.numel(),
        log_measured=-smallest,
        log_claimed=0.0,
        proof=determinant_is_one(),
    )


# --- the gradient grows

GROWTH_STEPS = 40
"""N of the smaller of the two certified horizons; the other is twice it."""


def _bias_gradient(alpha: Fraction, w: Fraction, h: Fraction, steps: int) -> Fraction:
    """dE/db exactly, zero input and states, ȳ = 1: y = 0 always, E = (1/N) Σ (y_n − 1)²/2, w used with slope 1.

    dE/db = −(1/N) Σ_n ∂y_n/∂b, where ∂X_n/∂b follows z′ = z − h (κ y + 1), y′ = y + h z′, κ = α + w.
    """
    y = z = total = Fraction(0)
    for _ in range(steps):
        z = z - h * ((alpha + w) * y + 1)
        y = y + h * z
        total -= y
    return total / steps


def growth_case(alpha: Fraction, w: Fraction, dt: Fraction, *, domain: str, power: int = 3) -> Case:
    """Does |dE/db| stay below const · T^power as N → ∞ at fixed dt and weights?"""

    def ask(_: Budget, __: int) -> Attempt:
        h = dt / 2
        values = [_bias_gradient(alpha, w, h, GROWTH_STEPS * 2**i) for i in range(3)]
        slopes = scaling.local_slopes([2.0**i for i in range(3)], [float(v) for v in values])
        parameters = {"alpha": str(alpha), "w": str(w), "dt": str(dt), "steps": str(GROWTH_STEPS)}
        steep = slopes[-1] > power + scaling.HALF_A_POWER
        return Attempt(
            tried=f"one neuron, α = {alpha}, w = {w}, c = 0, dt = {dt}, zero input and states, ȳ = 1; N = "
            + ", ".join(str(GROWTH_STEPS * 2**i) for i in range(3)),
            evaluations=3,
            found=f"local slopes in T {slopes[0]:.1f}, {slopes[1]:.1f}",
            claimed=f"slope {power} or less",
            candidates=(parameters,) if steep else (),
        )

    def check(parameters: Parameters) -> Check:
        return growth_check(parameters, power)

    return Case(domain, "|dE/db|", ask, check, reading="limit")


def growth_check(parameters: Parameters, power: int) -> Check:
    """Doubling N multiplies |dE/db| by more than 2^power; the eigenvalue of B(α + w) carries it to all N."""
    alpha, w, dt = (number(parameters, name) for name in ("alpha", "w", "dt"))
    steps, h = int(number(parameters, "steps")), dt / 2
    values = [_bias_gradient(alpha, w, h, count) for count in (steps, 2 * steps)]
    first = Opinion(
        "exact",
        abs(values[1]) > 2**power * abs(values[0]),
        f"|dE/db| = {float(values[0]):.6g} and {float(values[1]):.6g}",
    )
    before, iv.prec = iv.prec, BITS
    try:
        second = [_interval_bias_gradient(alpha, w, h, count) for count in (steps, 2 * steps)]
        gap = second[1] - 2**power * second[0]
        shown = " and ".join(f"{float(value.mid):.6g}" for value in second)
        other = Opinion("mpmath", bool(gap.a > 0), f"|dE/db| = {shown}")
    finally:
        iv.prec = before
    eigenvalue = contracting_eigenvalue(alpha, w, h)
    limit = ""
    if eigenvalue is not None:
        limit = (
            f"thm-J (c): trace B(α + w) = λ + 1/λ, λ = {eigenvalue} over Q, so [B^m]_12 = h (λ^(−m) − λ^m)/(1/λ − λ)"
            f", and |dE/db| ≥ (h/N) [B^N]_12, of order ({1 / eigenvalue})^N/N, for every N"
        )
    return Check(
        opinions=(first, other),
        premises=(
            Hypothesis("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
            Hypothesis("α > 0", str(alpha), alpha > 0),
        ),
        limit=limit,
        words=f"α = {alpha}, w = {w}, dt = {dt}, zero input, ȳ = 1, N = {steps} and {2 * steps}: {first.text}",
    )


def _interval_bias_gradient(alpha: Fraction, w: Fraction, h: Fraction, steps: int) -> Any:
    """|dE/db| once more: (h/N) Σ_m (N − m + 1) [B^m]_12, the entries by u_{m+1} = (trace) u_m − u_{m−1}."""
    step = iv.mpf(h.numerator) / h.denominator
    kappa = alpha + w
    trace = 2 - step**2 * (iv.mpf(kappa.numerator) / kappa.denominator)
    last, this, total = iv.mpf(0), step, iv.mpf(0)
    for m in range(1, steps + 1):
        total = total + (steps - m + 1) * this
        last, this = this, trace * this - last
    return step * total / steps


def _fixed_horizon(budget: Budget, _: int) -> Attempt:
    """|dE/db| of the same network at T = 2, N doubling."""
    ladder = scaling.fixed_horizon(Fraction(2), 16, {"smoke": 5, "standard": 6, "deep": 7}[budget.name])
    values = []
    for horizon, steps in ladder.rungs:
        h = float(horizon) / steps / 2
        y = z = total = 0.0
        for _n in range(steps):
            z -= h * (-5 * y + 1)
            y += h * z
            total -= y
        values.append(total / steps)
    slope = scaling.fit([float(dt) for dt in ladder.steps], values)
    return Attempt(
        tried=f"one neuron, α = 4, w = −9, c = 0, zero input and states, ȳ = 1, T = 2: {slope.describe()}",
        evaluations=len(values),
        found=slope.describe(),
        claimed="bounded: slope 0",
    )


# --- the printed bound of icml, as a function of T


def printed_bound(horizon: arb, alpha: arb, growth: arb, weights: arb, target: arb) -> arb:
    """T (1 + 2γT) V̄ (Ȳ + F) Δ of icml (12), L = 1, with K = ``growth``; V̄ = ``weights``, Ȳ = ``target``."""
    gamma = growth + growth**2 / 2
    beta = (1 + 2 * alpha).max(4 * alpha**2)
    square = 2 * (1 + 2 * beta * horizon)
    F = (square / alpha).sqrt()
    return horizon * (1 + 2 * gamma * horizon) * weights * (target + F) * (2 + square.sqrt() + (2 + alpha) * F)


HORIZONS = {"smoke": 24, "standard": 40, "deep": 60}


def bound_growth_case(power: int) -> Case:
    """Does the printed bound grow at most as T^power, T = 1, 2, 4, …?"""

    def ask(budget: Budget, _: int) -> Attempt:
        slopes = []
        with flint.ctx.workprec(BITS):
            for alpha in (arb(1) / 100, arb(1), arb(100)):
                values = [
                    printed_bound(arb(2) ** i, alpha, alpha + 2, arb(1), arb(1)) for i in range(HORIZONS[budget.name])
                ]
                slopes.append([float(((b / a).log() / arb(2).log()).upper()) for a, b in pairwise(values)])
        largest = max(map(max, slopes))
        parameters = {"alpha": "1", "K": "3", "horizon": str(2**20)}
        return Attempt(
            tried=f"T = 1 to 2^{HORIZONS[budget.name] - 1}, α = 1/100, 1, 100, in balls",
            evaluations=sum(map(len, slopes)),
            found=f"local slopes in T at most {largest:.6f}",
            claimed=f"slope {power} or less",
            candidates=(parameters,) if largest > power + scaling.HALF_A_POWER else (),
        )

    def check(parameters: Parameters) -> Check:
        alpha, growth, horizon = (number(parameters, name) for name in ("alpha", "K", "horizon"))
        with flint.ctx.workprec(BITS):
            args = (BALLS.exact(alpha), BALLS.exact(growth), arb(1), arb(1))
            ratio = printed_bound(BALLS.exact(2 * horizon), *args) / printed_bound(BALLS.exact(horizon), *args)
            first = Opinion("balls", bool(ratio > 2**power), f"doubling T multiplies the bound by {ratio.str(8)}")
        before, iv.prec = iv.prec, BITS
        try:
            again = _interval_bound(2 * horizon, alpha, growth) / _interval_bound(horizon, alpha, growth)
            second = Opinion("mpmath", bool(again.a > 2**power), f"factor {float(again.mid):.8f}")
        finally:
            iv.prec = before
        limit = "all terms of the product are positive and T · T · √T · √T is one: the bound is ≥ const T³"
        return Check(
            opinions=(first, second),
            limit=limit if power < 3 else "",
            words=f"α = {alpha}, K = {growth}, T = {horizon}: {first.text}",
        )

    return Case("all T ≥ 1", "right side of (12)", ask, check, reading="limit")


def _interval_bound(horizon: Fraction, alpha: Fraction, growth: Fraction) -> Any:
    """V̄ = Ȳ = 1."""
    T, a, K = (iv.mpf(value.numerator) / value.denominator for value in (horizon, alpha, growth))
    b = max(1 + 2 * alpha, 4 * alpha * alpha)
    energy = 2 + 4 * T * b.numerator / b.denominator
    state = iv.sqrt(energy / a)
    return (T + (2 * K + K**2) * T**2) * (1 + state) * (2 + iv.sqrt(energy) + (2 + a) * state)


ALPHA, W, DT = Fraction(4), Fraction(-9), Fraction(1, 5)
"""h = 1/10, κ₋ = −5: λ + 1/λ = 2.05, λ = 4/5."""

QUESTIONS = (
    Question(
        id="both-novanish",
        source=Source("sam", "Sec. 3, D.3, D.4"),
        statement="for k ≪ n |∂E_k^{(n,L)}/∂θ| does not tend to 0 exponentially fast: the vanishing gradient problem, "
        "with respect to recurrent connections, is mitigated",
        semantics="real",
        cases=(
            decay_case(ALPHA, W, DT, domain="dt fixed, n → ∞, w < −α"),
            resonant_decay_case(ALPHA, DT, domain="dt fixed, n → ∞, −α < w < 0"),
        ),
    ),
    Question(
        id="both-novanish-norm",
        source=Source("sam", "Sec. 3"),
        statement="the product Φ(n,k) of Jacobians of the hidden state does not tend to 0 in norm",
        semantics="real",
        cases=(Case("all weights, inputs, α, h", "‖Φ(n,k)‖ ≥ 1", _norms),),
    ),
    Question(
        id="both-exploding-mitigated",
        source=Source("sam", "Sec. 3"),
        statement="the exploding gradient problem is mitigated: with fixed weights no gradient grows exponentially",
        semantics="real",
        cases=(
            growth_case(ALPHA, W, DT, domain="dt fixed, N → ∞"),
            Case("T = 2 fixed, dt → 0", "|dE/db|", _fixed_horizon),
        ),
    ),
    Question(
        id="icml-3.1-T3",
        source=Source("icml", "Sec. 3"),
        statement="the bound (12) grows at most as (N dt)³; there is no exponential growth of the gradient with "
        "respect to the number of time steps",
        semantics="slope",
        cases=(
            bound_growth_case(3),
            growth_case(ALPHA, W, DT, domain="dt fixed, N → ∞"),
            Case("T = 2 fixed, dt → 0", "|dE/db|", _fixed_horizon),
        ),
    ),
)
