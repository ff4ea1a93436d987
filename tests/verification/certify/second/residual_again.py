"""The inequalities of ``residual`` checked once more in balls, step by step; nothing from odernn or ``residual``.

``recheck`` takes the numbers of a certificate (frames, errors, radii) as claims and shares no formula's code with it.
A step is right if, with B, κ and the residual in balls and F as recorded,

    ‖F_n B(κ) F_{n−1}⁻¹‖ turn_{n−1} ε_{n−1} + ‖F_n residual‖ ≤ ε_n,   ‖F'_n F_n⁻¹‖ ≤ turn_n,   ‖rows of F_n⁻¹‖ ε_n ≤
    radii.

The start is right if ‖F_0 e_0‖ ≤ ε_0 for every start that is allowed, besides the last two for n = 0. If it and every
step from 1 to n are right, the enclosure of y_n and z_n is: that is the theorem.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flint import arb, ctx

BITS = 160


def recheck(
    run: Any,
    y: Any,
    z: Any,
    *,
    w: Any,
    step_sizes: list[Any],
    alpha: Any,
    drive: Any,
    start: tuple[Any, Any],
    drive_radius: Any = None,
    force_radius: Any = None,
    start_radius: tuple[Any, Any] | None = None,
    steps: Iterable[int] | None = None,
) -> list[str]:
    """What is wrong with the certificate ``run`` (kept norms) at the start and ``steps``, all if None: empty if right.

    Arrays as given to ``residual.certify``, w and alpha one number a neuron; ``step_sizes`` holds balls of the true h.
    ``start`` is the (y_0, z_0) that the run should have, one number a neuron each, true up to ``start_radius``.
    """
    wrong: list[str] = []
    with ctx.workprec(BITS):
        for i, h in enumerate(step_sizes):
            neuron = _Neuron(run, y[:, i], z[:, i], arb(float(w[i])), h, arb(float(alpha[i])), i)
            radii = [0.0, 0.0] if start_radius is None else [float(each[i]) for each in start_radius]
            begun = neuron.wrong_at_the_start([float(each[i]) for each in start], radii)
            wrong += [f"neuron {i + 1}, start: {text}" for text in begun]
            for n in range(1, run.steps + 1) if steps is None else steps:
                extra = [0.0 if each is None else float(each[n - 1][i]) for each in (drive_radius, force_radius)]
                wrong += [f"neuron {i + 1}, step {n}: {text}" for text in neuron.wrong(n, drive[n - 1, i], *extra)]
    return wrong


class _Neuron:
    def __init__(self, run: Any, y: Any, z: Any, w: Any, h: Any, alpha: Any, place: int) -> None:
        self.run, self.y, self.z, self.w, self.h, self.alpha, self.i = run, y, z, w, h, alpha, place

    def recorded(self, name: str, n: int) -> Any:
        return arb(float(getattr(self.run.norms, name)[n, self.i]))

    def frame(self, name: str, n: int) -> list[Any]:
        return [arb(float(v)) for v in getattr(self.run.norms, name)[n, self.i]]

    def wrong(self, n: int, drive: float, drive_radius: float, force_radius: float) -> list[str]:
        before, after = self.frame("departure", n - 1), self.frame("arrival", n)
        y0, y1, z0, z1 = (arb(float(v)) for v in (self.y[n - 1], self.y[n], self.z[n - 1], self.z[n]))
        h, w = self.h, self.w
        A = w * y0 + arb(float(drive))
        s = A.tanh()
        # residuals of the computed sequence under the true recurrence
        kick = abs(z1 - z0 + h * (s + self.alpha * y0)).upper()
        drift = abs(y1 - y0 - h * z1).upper()
        slope = 1 - s * s
        width = (abs(w) * arb(float(self.run.y_radius[n - 1, self.i])) + drive_radius).upper()
        bend, steepest = _secants(A, width)
        kappa = self.alpha + w * slope
        middle = h.mid()
        B = [1 - middle * middle * kappa, middle, -middle * kappa, arb(1)]
        inverse = _inverse(before)
        push = _norm(*(abs(after[j] * h + after[j + 1]).upper() for j in (0, 2)))
        lever = _norm(inverse[0], inverse[1])
        # B of the true h is that of the middle and at most rad h times its derivative: balls would widen twice
        by_h = [-2 * h * kappa, arb(1), -kappa, arb(0)]
        moved = [abs(each).upper() for each in _times(_times(after, by_h), inverse)]
        growth = _spectral(_times(_times(after, B), inverse)) + arb(h.rad()) * _norm(
            _norm(*moved[:2]), _norm(*moved[2:])
        )
        growth = growth + abs(w) * bend * h.upper() * push * lever
        forcing = kick + h.upper() * (drive_radius * steepest + force_radius)
        found = growth * self.recorded("turn", n - 1) * self.recorded("error", n - 1)
        found = found + forcing * push + drift * _norm(after[0], after[2])
        answers = []
        if not found <= self.recorded("error", n):
            answers.append(f"the error is up to {found.str(6)}, not {float(self.recorded('error', n))!r}")
        return answers + self.wrong_frames_or_radii(n)

    def wrong_at_the_start(self, start: list[float], radii: list[float]) -> list[str]:
        """The error of y and z is a box; a norm is largest at one of its corners."""
        a, b, c, d = (abs(each) for each in self.frame("arrival", 0))
        y, z = (
            abs(arb(float(given[0])) - true) + radius
            for given, true, radius in zip((self.y, self.z), start, radii, strict=True)
        )
        found = _norm(a * y + b * z, c * y + d * z)
        answers = []
        if not found <= self.recorded("error", 0):
            answers.append(f"the error is up to {found.str(6)}, not {float(self.recorded('error', 0))!r}")
        return answers + self.wrong_frames_or_radii(0)

    def wrong_frames_or_radii(self, n: int) -> list[str]:
        answers = []
        after = self.frame("arrival", n)
        turned = _spectral(_times(self.frame("departure", n), _inverse(after)))
        if not turned <= self.recorded("turn", n) * (1 + arb(2) ** -100):  # a frame that stays has norm 1 exactly
            answers.append(f"the change of frame costs up to {turned.str(6)}, not {float(self.recorded('turn', n))!r}")
        rows = _inverse(after)
        for name, row in (("y_radius", rows[:2]), ("z_radius", rows[2:])):
            if not _norm(*row) * self.recorded("error", n) <= arb(float(getattr(self.run, name)[n, self.i])):
                answers.append(f"{name} is too small")
        return answers


def _secants(A: Any, width: Any) -> tuple[Any, Any]:
    """(largest distance from σ'(A), largest value) of the secant slopes (σ(A + δ) − σ(A))/δ, |δ| ≤ ``width``.

    docs/derivations/long_horizons.md, "Secants once more": the least is the one outward, δ = width for A ≥ 0, where
    tanh (A + δ) − tanh A = tanh δ (1 − tanh A tanh (A + δ)); the largest is at most σ' + |σ''|δ/2 + δ²/9, and 1.
    """
    t = abs(A).tanh()
    slope = 1 - t * t
    if not width > 0:
        return arb(0), slope.upper()
    least = width.tanh() / width * (1 - t * (abs(A) + width).tanh())
    most = (slope + t * slope * width + width * width / 9).upper()
    steepest = most if most < 1 else arb(1)
    below, above = (slope - least).upper(), (steepest - slope).upper()
    return (below if below > above else above), steepest


def _norm(x: Any, y: Any) -> Any:
    return (x * x + y * y).sqrt()


def _times(left: list[Any], right: list[Any]) -> list[Any]:
    (a, b, c, d), (e, f, g, i) = left, right
    return [a * e + b * g, a * f + b * i, c * e + d * g, c * f + d * i]


def _inverse(F: list[Any]) -> list[Any]:
    a, b, c, d = F
    determinant = a * d - b * c
    return [d / determinant, -b / determinant, -c / determinant, a / determinant]


def _spectral(D: list[Any]) -> Any:
    """The larger singular value, from above."""
    a, b, c, d = D
    p, s, q = a * a + c * c, b * b + d * d, a * b + c * d
    half = (p - s) / 2  # arb ** 2 is not a number where 0 is inside
    return ((p + s) / 2 + (half * half + q * q).upper().sqrt()).sqrt().upper()
