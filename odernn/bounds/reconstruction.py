"""Stepping a UnICORNN layer back in floating point: how far the rebuilt states are from those that were computed.

Theorem names are those of docs/derivations/reconstruction.md. Forward, x̂_n is the rounded step of x̂_{n-1}; backward,
x̃_{n-1} is the rounded inverse step of x̃_n, from x̃_N = x̂_N. Their difference e_n obeys

    ‖e_{n-1}‖_a ≤ ρ ‖e_n‖_a + σ,        so  ‖e_0‖_a ≤ σ (1 + ρ + … + ρ^{N−1}),                          thm-F (a)

with ρ close to e^ω, ω the rate of thm-J, and σ the noise of one step there and back. This module has ρ and σ for a
unit roundoff u; the lemma on what one rounding loses (b); a law of the typical error, which is an estimate and never a
bound (c); and accumulators that lose nothing (d).

One operation errs by at most u |result| + ν, ν half the smallest positive number, and tanh by 4u |result| + 4ν, as
``executions.recurrence`` admits; no operation overflows. Operations may be fused. Numbers are of one namespace; float
arguments may be arrays over neurons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odernn.bounds import jacobian
from odernn.bounds.gradient import FLOOR, StateLogs
from odernn.bounds.numbers import FLOATS, Numbers

LARGEST_ROUNDOFF = 2.0**-7
"""The constants 3, 4 and 8 of ``step_noise`` cover products of errors up to this u; bfloat16 has 2⁻⁸."""


@dataclass(frozen=True)
class Precision:
    """A floating-point format with round to nearest: u, ν and the logarithm of its largest number."""

    name: str
    unit_roundoff: float
    underflow: float
    log_largest: float


PRECISIONS = {
    "bfloat16": Precision("bfloat16", 2.0**-8, 2.0**-134, 128 * math.log(2)),
    "float16": Precision("float16", 2.0**-11, 2.0**-25, 16 * math.log(2)),
    "float32": Precision("float32", 2.0**-24, 2.0**-150, 128 * math.log(2)),
    "float64": Precision("float64", 2.0**-53, 2.0**-1074, 1024 * math.log(2)),
}
"""ν of float64 is twice what it is: half the smallest number has no float64."""


@dataclass(frozen=True)
class ErrorRecursion:
    """A recursion E ← ρE + σ of bounds on a norm: log ρ > 0 and log σ; after n steps from zero, ``log_after(n)``."""

    log_factor: Any
    log_noise: Any

    def log_after(self, steps: int, *, numbers: Numbers = FLOATS) -> Any:
        """log of σ (1 + ρ + … + ρ^{n−1})."""
        return self.log_noise + log_geometric_sum(rate=self.log_factor, steps=steps, numbers=numbers)


def log_geometric_sum(*, rate: Any, steps: int, numbers: Numbers = FLOATS) -> Any:
    """log (1 + e^ω + … + e^{(n−1)ω}) for ω = ``rate`` > 0, without overflow."""
    whole, one = -numbers.expm1(-steps * rate), -numbers.expm1(-rate)
    return (steps - 1) * rate + numbers.log(whole) - numbers.log(one)


def state_growth(
    *, w: Any, step_size: Any, alpha: Any, form: Any, unit_roundoff: Any, underflow: Any, numbers: Numbers = FLOATS
) -> ErrorRecursion:
    """How ‖x̂_n‖_a of the *computed* states can grow from zero, whatever the drive.   thm-F (a), magnitudes

    ρ = (e^{ω(α)} + u h (3|w| + 4α)/r) / q,  σ = (h (1 + 8u) + (8 + √a) ν) / q,  q = 1 − 4u/√(1 − ah²/4).
    With a = α, ω(α) = 0. Then |ŷ_n| ≤ ‖x̂_n‖/r and |ẑ_n| ≤ ‖x̂_n‖/√(1 − ah²/4).
    """
    u, nu, h = unit_roundoff, underflow, step_size
    per_y, per_z = _readings(form, h, numbers)
    rest = _remainder(1 - 4 * u * per_z, unit_roundoff, form)
    rate = numbers.exp(jacobian.log_norm(kappa=alpha, form=form, step_size=h, numbers=numbers))
    factor = (rate + u * h * _stiffness(w, alpha, numbers) * per_y) / rest
    noise = (h * (1 + 8 * u) + (8 + numbers.sqrt(form)) * nu) / rest
    return ErrorRecursion(numbers.log(factor), numbers.log(noise))


def step_noise(
    *,
    w: Any,
    step_size: Any,
    alpha: Any,
    log_position: Any,
    log_momentum: Any,
    unit_roundoff: Any,
    underflow: Any,
    numbers: Numbers = FLOATS,
) -> tuple[Any, Any]:
    """Logs of |δz| ≤ u [Z + h((3|w| + 4α)Y + 8)] + 8ν and |δy| ≤ u (Y + hZ) + ν, one rounded step.   thm-F (a)

    Y, Z are bounds on |y|, |z| before and after the step, given as logarithms. The kick z ± h(tanh(w y + x) + α y)
    errs by δz, the drift y ± h z by δy; x is a number of the format.
    """
    u, nu, h = unit_roundoff, underflow, step_size
    log, add = numbers.log, numbers.log_add_exp
    weight = h * _stiffness(w, alpha, numbers)
    small = log(8 * h * u + 8 * nu)
    kick = add(add(log(u) + log_momentum, small), log(u) + log(weight + u) + log_position)
    drift = add(add(log(u) + log_position, log(u * h) + log_momentum), log(nu + 0 * h))
    return kick, drift


def error_growth(
    *,
    w: Any,
    step_size: Any,
    alpha: Any,
    form: Any,
    log_position: Any,
    log_momentum: Any,
    unit_roundoff: Any,
    underflow: Any,
    numbers: Numbers = FLOATS,
) -> ErrorRecursion:
    """ρ and σ of ‖e_{n−1}‖_a ≤ ρ‖e_n‖_a + σ for a neuron whose drive is the same numbers both ways.   thm-F (a)

        ρ = e^ω (1 + 2u c_z)/q,        q = 1 − u [(e^ω + 1) c_z + h (3|w| + 4α) c_y],
        σ = { e^ω (δz + 2√a δy) + δz } / q,        c_y = 1/r,  c_z = 1/√(1 − ah²/4),

    with δz, δy of ``step_noise`` at Y, Z = bounds on the *computed* states (logarithms), ω = max_κ log ‖B(κ)‖_a.
    Raises ValueError if q ≤ 0: the format is too coarse for a bound in this form.
    """
    u, h = unit_roundoff, step_size
    per_y, per_z = _readings(form, h, numbers)
    low, high = alpha + _negative(w, numbers), alpha + _positive(w, numbers)
    rate = jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=h, numbers=numbers)
    growth = numbers.exp(rate)
    lost = u * ((growth + 1) * per_z + h * _stiffness(w, alpha, numbers) * per_y)
    log_rest = numbers.log(_remainder(1 - lost, unit_roundoff, form))
    kick, drift = step_noise(
        w=w,
        step_size=h,
        alpha=alpha,
        log_position=log_position,
        log_momentum=log_momentum,
        unit_roundoff=u,
        underflow=underflow,
        numbers=numbers,
    )
    both = numbers.log_add_exp(kick, numbers.log(2 * numbers.sqrt(form)) + drift)
    noise = numbers.log_add_exp(rate + both, kick)
    return ErrorRecursion(rate + numbers.log(1 + 2 * u * per_z) - log_rest, noise - log_rest)


def sum_roundoff(*, terms: int, unit_roundoff: float) -> float:
    """γ_k = ku/(1 − ku), k = ``terms``: a sum of products, in any order, errs by at most γ_k Σ |products|.

    k counts the roundings that one product may go through. Raises ValueError if ku ≥ 1.
    """
    lost = terms * unit_roundoff
    if lost >= 1:
        raise ValueError(
            f"terms is {terms} at unit roundoff {unit_roundoff}: a sum of that many rounded products may have no digit "
            "left, and no bound follows. Use a finer format."
        )
    return lost / (1 - lost)


def log_drive_noise(
    *,
    edges: Mapping[int, np.ndarray],
    bias: np.ndarray,
    states: Sequence[StateLogs],
    step_size: np.ndarray,
    roundoff: float,
    underflow: float,
) -> np.ndarray:
    """log of 2h [γ (Σ_r |V_ir| Y_r + |b_i|) + kν], (m,): the drive summed in another order on the way back.   thm-F (a)

    ``states`` are bounds on the computed states of levels 0.., γ = ``roundoff``. Float64.
    """
    log_sum = np.log(np.abs(bias) + underflow)
    count = 1
    for level, matrix in edges.items():
        logs = states[level].positions
        largest = logs.max()
        scaled = np.abs(matrix) @ np.exp(logs - largest)
        log_sum = np.logaddexp(log_sum, largest + np.log(np.maximum(scaled, FLOOR)))
        count += matrix.shape[1]
    log_noise: np.ndarray = np.log(2 * step_size) + np.logaddexp(
        np.log(roundoff) + log_sum, math.log(count * underflow)
    )
    return log_noise


def _readings(form: Any, step_size: Any, numbers: Numbers) -> tuple[Any, Any]:
    """c_y = 1/r_a and c_z = 1/√(1 − ah²/4): |y| ≤ c_y ‖x‖_a, |z| ≤ c_z ‖x‖_a."""
    root = jacobian.root(form=form, step_size=step_size, numbers=numbers)
    return 1 / root, numbers.sqrt(form) / root


def _stiffness(w: Any, alpha: Any, numbers: Numbers) -> Any:
    return 3 * numbers.absolute(w) + 4 * alpha


def _negative(w: Any, numbers: Numbers) -> Any:
    return -numbers.maximum(-w, numbers.exact(0))


def _positive(w: Any, numbers: Numbers) -> Any:
    return numbers.maximum(w, numbers.exact(0))


def _remainder(rest: Any, unit_roundoff: Any, form: Any) -> Any:
    """``rest`` if it is positive and u is in the range of the constants."""
    if not unit_roundoff <= LARGEST_ROUNDOFF:
        raise ValueError(
            f"unit_roundoff is {unit_roundoff}, but the bound on one step is derived for u ≤ 2⁻⁷. "
            "Compute in a format with at least 7 bits, such as bfloat16."
        )
    if not np.all(rest > 0):
        raise ValueError(
            f"unit_roundoff {unit_roundoff} is too coarse at form {form}: one step may lose the state altogether, and "
            "no bound follows. Use a finer format, or a form further from 0 and 4/h²."
        )
    return rest


# --- (b) what one rounding loses -------------------------------------------------------------------------------------


def is_returned_exactly(before: np.ndarray, increment: np.ndarray) -> np.ndarray:
    """Where the binade lemma promises fl(fl(y + d) − d) = y: a sufficient condition, elementwise.   thm-F (b)

    True if the exponent of fl(y + d) is not larger than that of y, y is not a power of two or zero, and y + d is no
    tie, |fl(y + d) − (y + d)| ≠ ulp(y)/2. ``before`` and ``increment`` are floats of one dtype, finite; where their sum
    overflows nothing comes back.
    """
    if before.dtype != increment.dtype:
        raise TypeError(f"before has dtype {before.dtype} but increment has {increment.dtype}. Convert one of them.")
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum that overflows the rest is not a number
        after = before + increment
        # the rounding error of the sum, exactly: Knuth's two-sum
        recovered = after - before
        lost = (before - (after - recovered)) + (increment - recovered)
    mantissa, exponent = np.frexp(before)
    _, exponent_after = np.frexp(after)
    is_power = np.abs(mantissa) == 0.5
    is_tie = np.abs(lost) == np.spacing(np.abs(before)) / 2
    is_small = np.isfinite(after) & (exponent_after <= exponent)  # frexp gives an infinity the exponent 0
    is_returned: np.ndarray = (before != 0) & (after != 0) & is_small & ~is_power & ~is_tie
    return is_returned


# --- (c) an estimate -------------------------------------------------------------------------------------------------

CLOSED_LAW = 1 / (2 * math.sqrt(math.log(2)))
"""√(2 · 2.164/12) = 0.6006: mean ulp² of a number with log-uniform mantissa is (3/2 / log 2) u² x²."""


def estimated_log_error(*, unit_roundoff: float, steps: int, rms_energy_root: float) -> float:
    """log of 0.60 u √N rms_n √(αy_n² + z_n²) ≈ rms √Q_α(e_0). **An estimate, never a bound.**   thm-F (c)

    For α > 0 and neurons near w = 0, whose states change binade nearly every step: N independent roundings of y and z
    there and back, which B(α) then rotates. Measured errors were between 0.6 and 1.8 times it.
    """
    return math.log(CLOSED_LAW * unit_roundoff * math.sqrt(steps) * rms_energy_root)


# --- (d) accumulators that lose nothing ------------------------------------------------------------------------------

Integers = np.ndarray
"""int64 arrays, added and subtracted modulo 2⁶⁴."""


def fixed_step(
    y: Integers, z: Integers, *, kick: Callable[[Integers], Integers], drift: Callable[[Integers], Integers]
) -> tuple[Integers, Integers]:
    """Z ← Z − g(Y), Y ← Y + k(Z) in int64 modulo 2⁶⁴, on a grid of the caller's choice.   thm-F (d)

    ``kick`` = g and ``drift`` = k are any functions to int64 that give the same integers when asked again.
    """
    z = z - kick(y)
    y = y + drift(z)
    return y, z


def fixed_step_back(
    y: Integers, z: Integers, *, kick: Callable[[Integers], Integers], drift: Callable[[Integers], Integers]
) -> tuple[Integers, Integers]:
    """The inverse of ``fixed_step``, exactly: addition of a known integer is a bijection modulo 2⁶⁴.   thm-F (d)"""
    y = y - drift(z)
    z = z + kick(y)
    return y, z
