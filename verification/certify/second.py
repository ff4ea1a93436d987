"""The second back-end: mpmath interval arithmetic, typed independently; imports nothing from odernn or verification.

Input is the witness's plain data (strings, lists, dicts), parsed here once more. The duplication is intended: an
error in the ball back-end, in its parser or in its recurrence would have to be made twice in the same way to go unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath


class Intervals:
    """mpmath's interval context with exp and log made enclosures; what a claim's ``second_bound`` receives as ``iv``.

    +, −, ×, /, integer powers, sqrt, cos and π of ``mpmath.iv`` round outward. Its exp and log round an
    approximation that carries few guard bits and can miss the true value by a fraction of the last place: here every
    end is moved outward by 2^(WIDENING − precision), relatively, and for log absolutely as well. Non-integer powers
    are not offered: use sqrt.
    """

    WIDENING = 4

    @property
    def prec(self) -> int:
        return int(mpmath.iv.prec)

    @prec.setter
    def prec(self, bits: int) -> None:
        mpmath.iv.prec = bits

    def _margin(self) -> Any:
        return mpmath.iv.mpf([-1, 1]) * mpmath.iv.mpf(2) ** (self.WIDENING - self.prec)

    def mpf(self, value: Any) -> Any:
        return mpmath.iv.mpf(value)

    def exp(self, x: Any) -> Any:
        return mpmath.iv.exp(x) * (1 + self._margin())

    def log(self, x: Any) -> Any:
        return mpmath.iv.log(x) * (1 + self._margin()) + self._margin()

    def sqrt(self, x: Any) -> Any:
        return mpmath.iv.sqrt(x)

    def cos(self, x: Any) -> Any:
        return mpmath.iv.cos(x)

    @property
    def pi(self) -> Any:
        return +mpmath.iv.pi

    @property
    def inf(self) -> Any:
        return mpmath.iv.inf


iv = Intervals()


def tanh(x: Any) -> Any:
    """tanh x, increasing, end by end as 1 − 2/(e^{2x} + 1); mpmath's intervals have no tanh.

    Beyond ±precision the end is ±1 up to 2^(−precision) > 2e^{−2x}: e^x of a huge x is never formed.
    """
    return iv.mpf([_tanh_end(x.a, upper=False), _tanh_end(x.b, upper=True)])


def _tanh_end(end: Any, *, upper: bool) -> Any:
    """The lower or upper end of tanh at one point."""
    ulp = iv.mpf(2) ** -iv.prec
    if end > iv.prec:
        return iv.mpf(1) if upper else 1 - ulp
    if end < -iv.prec:
        return ulp - 1 if upper else iv.mpf(-1)
    value = 1 - 2 / (iv.exp(2 * iv.mpf(end)) + 1)
    return value.b if upper else value.a


def logistic(x: Any) -> Any:
    return 1 / (1 + iv.exp(-x))


def number(text: str) -> Any:
    """The interval of an exact number written as an integer, p/q or a hex float."""
    if "0x" in text:
        exact = Fraction(float.fromhex(text))
    elif "/" in text:
        above, _, under = text.partition("/")
        exact = Fraction(int(above), int(under))
    else:
        exact = Fraction(int(text))
    return iv.mpf(exact.numerator) / iv.mpf(exact.denominator)


def unicornn_step(y: Any, z: Any, x: Any, w: Any, h: Any, alpha: Any, tanh: Callable[[Any], Any]) -> tuple[Any, Any]:
    """One step of (5) of the papers, the force first."""
    force = tanh(x + y * w) + y * alpha
    momentum = z - force * h
    return y + momentum * h, momentum


def decide(
    plain: dict[str, Any],
    *,
    layer: int,
    step: int,
    steps: int,
    quantity: str,
    norm: str,
    bound: Callable[[Any, Any], Any],
    step_function: Callable[..., tuple[Any, Any]] = unicornn_step,
    bits: int = 256,
) -> dict[str, Any]:
    """Is ‖quantity of layer ``layer`` at ``step``‖ above the bound? {"status", "measured", "bound"} with log
    enclosures.

    ``status`` is "violates" (measured > bound proved), "holds" (measured ≤ bound proved) or "undecided" at this
    precision. ``layer`` counts from 1; ``steps`` is N of the claim (T = N·dt). ValueError unless 1 ≤ step ≤ steps.
    """
    if not 1 <= step <= steps:
        raise ValueError(f"Step {step} is not one of the claim's steps 1 to {steps}.")
    before = iv.prec
    iv.prec = bits
    try:
        setting, measured = _measure(plain, layer, step, steps, quantity, norm, step_function)
        if not measured.b > 0:
            return {"status": "undecided", "measured": None, "bound": None}
        log_bound = bound(setting, iv)
        log_measured = iv.log(measured) if measured.a > 0 else iv.mpf([-iv.inf, iv.log(measured).b])
        status = (
            "violates" if log_measured.a > log_bound.b else "holds" if log_measured.b <= log_bound.a else "undecided"
        )
        return {
            "status": status,
            "measured": (float(log_measured.a), float(log_measured.b)),
            "bound": (float(log_bound.a), float(log_bound.b)),
        }
    finally:
        iv.prec = before


def _measure(
    plain: dict[str, Any],
    layer: int,
    step: int,
    steps: int,
    quantity: str,
    norm: str,
    step_function: Callable[..., Any],
) -> tuple[Any, Any]:
    """(setting of the bound, interval of the norm) after ``step`` steps from the zero state, index convention icml."""
    alpha = number(plain["alpha"])
    network = []
    for entry in plain["layers"][:layer]:
        groups = entry["groups"]
        dt = number(entry["dt"])
        network.append(
            SimpleNamespace(
                dt=dt,
                count=[group["multiplicity"] for group in groups],
                w=[number(group["w"]) for group in groups],
                h=[dt * logistic(number(group["c"])) for group in groups],
                b=[number(group["bias"]) for group in groups],
                v=[[number(entry) for entry in row] for row in entry["input_weights"]],
                seen=[[s for s, entry in enumerate(row) if entry != "0"] for row in entry["input_weights"]],
                y=[iv.mpf(0) for _ in groups],
                z=[iv.mpf(0) for _ in groups],
            )
        )
    size = plain["inputs"]["size"]
    done = 0
    for count, texts in plain["inputs"]["runs"]:
        values = [number(text) for text in texts]
        values = values * size if len(values) == 1 else values
        for _ in range(min(count, step - done)):
            done += 1
            source, weight = values, [1] * size
            for each in network:
                for g in range(len(each.w)):
                    drive = each.b[g]
                    for s in each.seen[g]:
                        drive = drive + weight[s] * each.v[g][s] * source[s]
                    each.y[g], each.z[g] = step_function(each.y[g], each.z[g], drive, each.w[g], each.h[g], alpha, tanh)
                source, weight = list(each.y), each.count
    if done != step:
        raise ValueError(f"step {step} lies beyond the {done} inputs")
    top = network[-1]
    values = [abs(v) for v in (top.y if quantity == "position" else top.z)]
    if norm == "max":
        measured = iv.mpf([max(v.a for v in values), max(v.b for v in values)])
    else:
        measured = iv.sqrt(sum(k * v**2 for k, v in zip(top.count, values, strict=True)))
    setting = SimpleNamespace(
        alpha=alpha,
        dt=top.dt,
        step=step,
        steps=steps,
        hidden_size=sum(top.count),
        step_sizes=top.h,
        time=top.dt * step,
        horizon=top.dt * steps,
    )
    return setting, measured


def uniform_lower_bound(
    *, alpha: str, horizon: str, dt: str, c: str, amplitude: str, quantity: str, bits: int = 256
) -> tuple[float, Any]:
    """thm-S-limit typed again: (lower end as a float, lower end) of |y_N| or |z_N|, for every step T/N ≤ dt."""
    before = iv.prec
    iv.prec = bits
    try:
        a, T, s, A = number(alpha), number(horizon), logistic(number(c)), number(amplitude)
        h0 = s * number(dt)
        frequency = iv.sqrt(a)
        turns = frequency * s * T
        rho = 1 + a * h0**2 / 7
        theta = frequency * h0 * rho
        delta = turns * (rho - 1) + theta
        error = turns * rho * (theta / 2 + 2 * delta)
        start = turns if quantity == "position" else turns + iv.pi / 2
        half_turns = int(float((start / iv.pi).a))
        while not (start - half_turns * iv.pi).a >= 0:
            half_turns -= 1
        area = 2 * half_turns + 1 - iv.cos(start - half_turns * iv.pi) - (0 if quantity == "position" else 1)
        value = tanh(A) * (area - error) / rho / (a if quantity == "position" else frequency)
        return float(value.a), value.a
    finally:
        iv.prec = before
