"""Products of step Jacobians of one UnICORNN neuron: exact norms, rates of growth, and what can vanish.

Theorem names are those of docs/derivations/jacobian_products.md. One step has the Jacobian

    B(κ) = [[1 − h²κ, h], [−hκ, 1]],   κ = α + w σ'(A) between κ₋ = α + min(w, 0) and κ₊ = α + max(w, 0),

and Φ(n, k) = B(κ_n) … B(κ_{k+1}). For 0 < a < 4/h² the form Q_a(y, z) = a y² + z² − a h y z is positive definite; a is
called the *form*, and ‖·‖_a is the norm √Q_a. A rate is a natural logarithm a step: of the growth factor, so that
N · rate bounds log ‖Φ(N, 0)‖_a. Divide by h for a rate per unit of effective time.

Arguments are numbers of the namespace; floats may be arrays over neurons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odernn.bounds.numbers import FLOATS, Numbers


def root(*, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """r_a = √(a(1 − ah²/4)), for which |y| ≤ ‖X‖_a / r_a, sharp; 0 < a < 4/h².   thm-Q (iv)"""
    return numbers.sqrt(form * (1 - form * step_size * step_size / 4))


def log_condition(*, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """log of the least C with ‖Φ‖₂ ≤ C ‖Φ‖_a for every Φ: (1 + a + √((1 − a)² + a²h²))/(2 r_a).   thm-J (b)"""
    spread = numbers.sqrt((1 - form) * (1 - form) + form * form * step_size * step_size)
    return numbers.log((1 + form + spread) / (2 * root(form=form, step_size=step_size, numbers=numbers)))


def log_norm(*, kappa: Any, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """log ‖B(κ)‖_a = log ‖B(κ)⁻¹‖_a = asinh(h|κ − a| / (2 r_a)), exactly; any real κ.   thm-J (a)"""
    distance = step_size * numbers.absolute(kappa - form)
    return numbers.asinh(distance / (2 * root(form=form, step_size=step_size, numbers=numbers)))


def log_product_bound(*, kappas: Iterable[Any], form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """Σ_j asinh(h|κ_j − a| / (2 r_a)) ≥ log ‖Φ‖_a = log ‖Φ⁻¹‖_a ≥ 0, Φ the product over the given κ_j.   thm-J (a)

    An array of floats is summed over its first axis.
    """
    total = numbers.exact(0)
    for kappa in kappas:
        total = total + log_norm(kappa=kappa, form=form, step_size=step_size, numbers=numbers)
    return total


def rate_bound(*, kappa_low: Any, kappa_high: Any, form: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """max over κ in {κ₋, κ₊} of log ‖B(κ)‖_a: an upper bound on the growth rate for *every* a in (0, 4/h²).   thm-J (b)

    Since |κ − a| is convex in κ, no κ between does worse. ``forms.best_form`` is the a that makes it smallest.
    """
    low = log_norm(kappa=kappa_low, form=form, step_size=step_size, numbers=numbers)
    high = log_norm(kappa=kappa_high, form=form, step_size=step_size, numbers=numbers)
    return numbers.maximum(low, high)


def constant_rate(*, kappa: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """log of the spectral radius of B(κ), the rate of a neuron held at this κ.   thm-J (c), (e)

    2 asinh(h√−κ / 2) for κ < 0 (a saddle), arccosh(h²κ/2 − 1) = 2 asinh √(h²κ/4 − 1) for h²κ > 4 (a stiff step),
    and 0 between (a rotation).
    """
    quarter = kappa * step_size * step_size / 4
    saddle = numbers.root_of_positive_part(-quarter)
    stiff = numbers.root_of_positive_part(quarter - 1)
    return 2 * numbers.asinh(numbers.maximum(saddle, stiff))


@dataclass(frozen=True)
class Rate:
    """What is known of the growth rate of one neuron over all inputs: a supremum between ``lower`` and ``upper``.

    lower, upper   natural logarithms a step; the same number if ``is_exact``
    form           the a whose norm grows least; it gives ``upper`` where thm-J (f) is no smaller
    is_exact       thm-J (c) or (e) decides the supremum
    because        the regime and the constant pre-activation or the word that gives ``lower``
    """

    lower: float
    upper: float
    form: float
    is_exact: bool
    because: str


def saddle_decides(*, kappa_low: Any, kappa_high: Any, step_size: Any) -> Any:
    """Whether κ₋ < 0 and κ₊ ≤ W(3 + h²W/2)/(1 + h²W/2), W = −κ₋; the rate is then that of κ₋.   thm-J (c)

    A hypothesis, as a bool or an array of them; exact for exact rationals.
    """
    depth = -kappa_low
    half = step_size * step_size * depth / 2
    return (depth > 0) & (kappa_high * (1 + half) <= depth * (3 + half))


def stiffness_decides(*, kappa_low: Any, kappa_high: Any, step_size: Any) -> Any:
    """Whether h²κ₊ > 4 and 4/h² − κ₋ ≤ W(3 + h²W/2)/(1 + h²W/2), W = κ₊ − 4/h²; the rate is that of κ₊.   thm-J (e)

    The mirror image of ``saddle_decides`` under κ → 4/h² − κ, which changes the sign of the trace only.
    """
    mirror = 4 / (step_size * step_size)
    return saddle_decides(kappa_low=mirror - kappa_high, kappa_high=mirror - kappa_low, step_size=step_size)


def log_vanishing_rate(*, alpha: Any, w: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """2 asinh(h√(|w| − α) / 2): how fast contributions of early steps can vanish, a step, if w < −α < 0.   thm-V (b)

    There are inputs with |dE_k/db| ≤ const · exp(−rate (n − k)); ``vanishing_slopes`` are such. Raises ValueError
    unless 0 < α < −w, where the theorem says nothing (for α = 0 saturated steps do not rotate).
    """
    if not (alpha > 0 and w + alpha < 0):
        raise ValueError(
            f"alpha is {alpha} and w is {w}, but inputs that make gradients vanish exponentially are known for "
            "0 < alpha < −w only. No product of Jacobians is smaller than 1 in norm: use 0 as the lower bound."
        )
    return constant_rate(kappa=alpha + w, step_size=step_size, numbers=numbers)


def contracting_ratio(*, kappa: Any, step_size: Any, numbers: Numbers = FLOATS) -> Any:
    """p_y/p_z of the left eigenvector pᵀB(κ) = λpᵀ with λ = exp(−rate) < 1, κ < 0: (λ − 1)/h.   thm-V (b)"""
    rate = constant_rate(kappa=kappa, step_size=step_size, numbers=numbers)
    return (numbers.exp(-rate) - 1) / step_size


def vanishing_slopes(
    *, alpha: Any, w: Any, step_size: Any, steps: int, saturated: Any, numbers: Numbers = FLOATS
) -> list[Any]:
    """σ'(A_{n-1}), n = 1..steps, for which the sensitivity of y_N to early kicks vanishes at the rate of thm-V (b).

    Backwards from n = N: ``saturated`` ≪ 1 while the functional e_yᵀΦ(N, j) rotates, then one slope in (0, 1] that puts
    it on the contracting left eigenvector of B(α + w), then 1. A first-layer neuron whose inputs are free attains
    them: σ'(A) = 1 at x_n = −w y_{n-1}. In floats the product follows it for |log u| / (2 rate) steps, u the roundoff.
    Raises ValueError as ``log_vanishing_rate``, and if ``steps`` do not suffice for the rotation.
    """
    log_vanishing_rate(alpha=alpha, w=w, step_size=step_size, numbers=numbers)
    target = contracting_ratio(kappa=alpha + w, step_size=step_size, numbers=numbers)
    kappa = alpha + w * saturated
    drifted = 1 / step_size  # p_y/p_z of e_yᵀ after the drift
    for count in range(steps):
        slope = ((drifted - target) / step_size - alpha) / w
        if slope > saturated and slope <= 1:
            return [numbers.exact(1)] * (steps - count - 1) + [slope] + [saturated] * count
        ratio = drifted - step_size * kappa
        drifted = ratio / (1 + step_size * ratio)
    raise ValueError(
        f"steps is {steps}, fewer than it takes to rotate the functional at alpha = {alpha}, step_size = {step_size}. "
        "Take more steps, about 2/(h√α)."
    )


def log_saturation(*, preactivation: Any, numbers: Numbers = FLOATS) -> Any:
    """log 4 − 2|A| ≥ log σ'(A): the factor that every contribution of a step carries.   thm-V (c)"""
    return numbers.log(numbers.exact(4)) - 2 * numbers.absolute(preactivation)


def regimes(*, kappa_low: Any, kappa_high: Any, step_size: Any) -> np.ndarray:
    """Where each neuron stands, an array of strings.

    "rotating"  0 < κ₋ and h²κ₊ < 4: every step turns; growth by resonance alone
    "marginal"  κ₋ = 0 or h²κ₊ = 4, and neither is passed: steps may shear
    "saddle"    κ₋ < 0: some pre-activations give a real eigenvalue e^{rate} > 1   (hyperbolic)
    "stiff"     h²κ₊ > 4: some give a real eigenvalue −e^{rate} < −1; "saddle, stiff" both
    """
    low, high, h = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size)))
    stiffness = high * h * h
    names = np.full(low.shape, "rotating", dtype=object)
    names[(low == 0) | (stiffness == 4)] = "marginal"
    names[low < 0] = "saddle"
    names[stiffness > 4] = "stiff"
    names[(low < 0) & (stiffness > 4)] = "saddle, stiff"
    return names
