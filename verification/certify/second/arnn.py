"""ARNN steps typed once more, for one mode, without the code of ``reversals`` or of the cells: fractions and numpy.

One neuron of symplectic Euler has the state (p, q) and the weight S; the leapfrog has W = [[0, −w], [w, 0]] and the
state y_{l−1}, y_l, two numbers each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

F = Fraction
STABILITY: dict[str, tuple[list[Fraction], list[Fraction]]] = {
    "explicit midpoint": ([F(1), F(1), F(1, 2)], [F(1)]),
    "implicit midpoint": ([F(1), F(1, 2)], [F(1), F(-1, 2)]),
}
"""R(z) as numerator and denominator, constants first."""


def distance(scheme: str, kind: str, texts: Mapping[str, str], *, odd: bool) -> Fraction:
    """How far the reversal of one step is from the state that it started from: 0 iff the statement holds there.

    ``texts`` holds exact numbers by name, separated by spaces.
    """
    eta = F(texts["eta"])
    weight, first, second, x, y = (
        list(map(F, texts[name].split())) for name in ("weight", "first", "second", "x", "y")
    )

    def sigma(u: Fraction) -> Fraction:
        return F(u.numerator, u.denominator + abs(u.numerator)) if odd else max(u, F(0))

    if scheme == "symplectic_euler":
        p, q = _reversed_euler(kind, eta, weight[0], first[0], second[0], x[0], y[0], sigma)
        return max(abs(p - x[0]), abs(q - y[0]))
    if scheme == "implicit_midpoint":
        return _missed_midpoint(eta, weight, first, x, sigma)
    w = -weight[1]
    old, new = _reversed_leapfrog(kind, eta, w, first, tuple(x), tuple(y), sigma)
    return max(abs(u - v) for u, v in zip((*old, *new), (*x, *y), strict=True))


def _missed_midpoint(
    eta: Fraction,
    weight: Sequence[Fraction],
    b: Sequence[Fraction],
    m: Sequence[Fraction],
    sigma: Callable[[Fraction], Fraction],
    theta: Fraction = F(1, 2),
) -> Fraction:
    """The step from y to y₊ with the force at m = (1 − θ) y + θ y₊: how far y is from the same rule with −η from y₊."""

    def force(u: Sequence[Fraction]) -> list[Fraction]:
        size = len(u)
        return [sigma(sum((weight[i * size + j] * u[j] for j in range(size)), b[i])) for i in range(size)]

    pushed = force(m)
    y = [u - theta * eta * f for u, f in zip(m, pushed, strict=True)]
    after = [u + (1 - theta) * eta * f for u, f in zip(m, pushed, strict=True)]
    pulled = force([(1 - theta) * v + theta * u for u, v in zip(y, after, strict=True)])
    return max(abs(u - (v - eta * f)) for u, v, f in zip(y, after, pulled, strict=True))


def _reversed_euler(
    kind: str,
    eta: Fraction,
    s: Fraction,
    b: Fraction,
    c: Fraction,
    p: Fraction,
    q: Fraction,
    sigma: Callable[[Fraction], Fraction],
) -> tuple[Fraction, Fraction]:
    p1 = p - eta * sigma(s * q + b)
    q1 = q + eta * sigma(s * p1 + c)
    if kind == "invertible":
        q0 = q1 - eta * sigma(s * p1 + c)
        return p1 + eta * sigma(s * q0 + b), q0
    if kind == "symmetric":
        p0 = p1 + eta * sigma(s * q1 + b)
        return p0, q1 - eta * sigma(s * p0 + c)
    if kind == "exchange":
        q0 = q1 - eta * sigma(s * p1 + b)
        return p1 + eta * sigma(s * q0 + c), q0
    minus_p = -p1 - eta * sigma(s * q1 + b)
    return -minus_p, q1 + eta * sigma(s * minus_p + c)


def _reversed_leapfrog(
    kind: str,
    eta: Fraction,
    w: Fraction,
    b: Sequence[Fraction],
    x: tuple[Fraction, ...],
    y: tuple[Fraction, ...],
    sigma: Callable[[Fraction], Fraction],
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """(y_{l−1}, y_l) → (y_l, y_{l+1}) and back; W y = (w' y₂, −w' y₁) with w' = −w."""

    def force(u: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
        return sigma(-w * u[1] + b[0]), sigma(w * u[0] + b[1])

    f = force(y)
    z = (x[0] + 2 * eta * f[0], x[1] + 2 * eta * f[1])
    if kind == "conjugate":
        g = force((y[0], -y[1]))
        return (z[0] + 2 * eta * g[0], z[1] - 2 * eta * g[1]), y
    sign = {"invertible": -1, "symmetric": -1, "swap": 1}[kind]
    return (z[0] + sign * 2 * eta * f[0], z[1] + sign * 2 * eta * f[1]), y


# --- float64


def returned(scheme: str, states: Any, steps: int, eta: float) -> Any:
    """``states`` (count, 2 or 4) after ``steps`` steps with tanh and as many of the inverse, in float64."""
    if scheme == "symplectic_euler":
        p, q = states.T
        for _ in range(steps):
            p = p - eta * np.tanh(q)
            q = q + eta * np.tanh(p)
        for _ in range(steps):
            q = q - eta * np.tanh(p)
            p = p + eta * np.tanh(q)
        return np.stack([p, q], axis=1)
    x, y = states[:, :2], states[:, 2:]
    for _ in range(steps):
        x, y = y, x + 2 * eta * np.tanh(np.stack([-y[:, 1], y[:, 0]], axis=1))
    for _ in range(steps):
        x, y = y - 2 * eta * np.tanh(np.stack([-x[:, 1], x[:, 0]], axis=1)), x
    return np.concatenate([x, y], axis=1)


# --- global errors


def global_errors(scheme: str, refinements: int) -> tuple[list[float], list[float]]:
    """(η, |error at t = 1|) of q' = tanh(0.8 p + 0.3), p' = −tanh(0.8 q − 0.2) from (1, 1/2), N = 16, 32, …

    The leapfrog starts from the exact value at η. The solution is that of the classical Runge–Kutta method.
    """
    steps, errors = [], []
    for k in range(refinements + 1):
        count = 16 * 2**k
        eta = 1 / count
        steps.append(eta)
        errors.append(float(np.abs(_run(scheme, count) - _solution(1.0)).max()))
    return steps, errors


def _field(state: Any) -> Any:
    p, q = state
    return np.array([-np.tanh(0.8 * q - 0.2), np.tanh(0.8 * p + 0.3)])


@lru_cache(maxsize=16)
def _solution(time: float) -> Any:
    """The classical Runge–Kutta method with steps of 1/4096 at most."""
    count = max(1, round(4096 * time))
    h, state = time / count, np.array([1.0, 0.5])
    for _ in range(count):
        a = _field(state)
        b = _field(state + h / 2 * a)
        c = _field(state + h / 2 * b)
        state = state + h / 6 * (a + 2 * b + 2 * c + _field(state + h * c))
    return state


def _run(scheme: str, count: int) -> Any:
    eta, state = 1 / count, np.array([1.0, 0.5])
    if scheme == "leapfrog":
        previous, state = state, _solution(eta)
        for _ in range(count - 1):
            previous, state = state, previous + 2 * eta * _field(state)
        return state
    for _ in range(count):
        if scheme == "symplectic_euler":
            p = state[0] - eta * np.tanh(0.8 * state[1] - 0.2)
            state = np.array([p, state[1] + eta * np.tanh(0.8 * p + 0.3)])
        elif scheme == "explicit_midpoint":
            state = state + eta * _field(state + eta / 2 * _field(state))
        else:
            after = state + eta * _field(state)
            for _ in range(14):  # a contraction with a factor below 0.4 η ≤ 1/40
                after = state + eta * _field((state + after) / 2)
            state = after
    return state
