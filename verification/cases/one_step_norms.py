"""Norms of one step of UnICORNN: Jacobian (sam (51)-(53), icml S(24)-S(26)), direct partials (sam (63)-(65)).

h = σ̂ dt with 0 < σ̂ < 1 is the effective step, B(κ) = [[1 − h²κ, h], [−hκ, 1]] with κ = α + w σ'(A), 0 < σ' ≤ 1.
Everything is a polynomial inequality on a box, after the absolute values and maxima are split into their cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from verification.cases.inequality import ALPHA_POSITIVE, SIGMA_INSIDE, STEP_BELOW_ONE, Inequality, Piece, attempt
from verification.certify.positivity import Side
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis
from verification.measure.polynomials import coefficient, variables
from verification.parameters import declared, rationals

_STEP = (
    STEP_BELOW_ONE,
    SIGMA_INSIDE,
)
_NEURON = (
    *_STEP,
    ALPHA_POSITIVE,
    Hypothesis("0 < σ' ≤ 1", lambda p: p.slope * (p.slope <= 1)),
)

LARGEST = 10**6
OF_STEP = rationals("dt", "sigma", above=0, below=1)
OF_NEURON = declared(
    *OF_STEP,
    *rationals("alpha", above=0, most=LARGEST),
    *rationals("w", least=-LARGEST, most=LARGEST),
    *rationals("slope", above=0, most=1),
)

# --- ‖B(κ)‖_∞


def _row_sums() -> Iterator[tuple[int, Any, Any]]:
    """(row, its absolute sum in the case of signs, k) in dt, σ̂, k = |w| + α, r = α/k, σ', for both signs of w."""
    dt, sigma, k, r, slope = variables("dt", "sigma", "k", "r", "slope")
    h = sigma * dt
    for sign_of_w in (1, -1):
        kappa = k * r + sign_of_w * k * (1 - r) * slope
        for sign in (1, -1):
            yield 1, sign_of_w, sign * (1 - h * h * kappa) + h
            yield 2, sign_of_w, 1 + sign * h * kappa


def _neuron_of(sign_of_w: int) -> Any:
    def lift(point: dict[str, Fraction]) -> dict[str, Fraction]:
        k, r = point["k"], point["r"]
        return {
            "dt": point["dt"],
            "sigma": point["sigma"],
            "alpha": k * r,
            "w": sign_of_w * k * (1 - r),
            "slope": point["slope"],
        }

    return lift


_UNIT = (0, 1)


def _first_pieces(factor: Fraction) -> Iterator[Piece]:
    """Row 1 ≤ 1 + dt + (|w| + α)dt², row 2 ≤ 1 + (|w| + α)dt; ``factor`` multiplies the powers of dt beyond 1."""
    dt, _, k, _, _ = variables("dt", "sigma", "k", "r", "slope")
    for row, sign_of_w, left in _row_sums():
        right = 1 + coefficient(factor) * (dt + k * dt * dt if row == 1 else k * dt)
        yield Piece(left, right, (_UNIT, _UNIT, (0, None), _UNIT, _UNIT), _neuron_of(sign_of_w))


def _taylor_pieces(square: Fraction) -> Iterator[Piece]:
    """Both rows ≤ 1 + K dt + ``square``·K²dt², K = max(2, |w| + α)."""
    dt, _, k, _, _ = variables("dt", "sigma", "k", "r", "slope")
    for _, sign_of_w, left in _row_sums():
        for K, side in ((2 + 0 * k, (0, 2)), (k, (2, None))):
            right = 1 + K * dt + coefficient(square) * K * K * dt * dt
            yield Piece(left, right, (_UNIT, _UNIT, side, _UNIT, _UNIT), _neuron_of(sign_of_w))


def _ball_norm(p: Any) -> Any:
    h = p.sigma * p.dt
    kappa = p.alpha + p.w * p.slope
    return (abs(1 - h * h * kappa) + h).max(1 + abs(h * kappa))


def _interval_norm(p: Any) -> Any:
    step = p.dt * p.sigma
    stiffness = p.slope * p.w + p.alpha
    rows = (step + abs(step**2 * stiffness - 1), abs(stiffness * step) + 1)
    return second.iv.mpf([max(x.a for x in rows), max(x.b for x in rows)])


def _interval_largest(*values: Any) -> Any:
    return second.iv.mpf([max(x.a for x in values), max(x.b for x in values)])


def first_case(factor: Fraction = Fraction(1)) -> Case:
    """(51), first inequality."""

    def balls(p: Any) -> tuple[Any, Any]:
        k, f = abs(p.w) + p.alpha, coefficient(factor)
        return _ball_norm(p), (1 + f * (p.dt + k * p.dt**2)).max(1 + f * k * p.dt)

    def intervals(p: Any) -> tuple[Any, Any]:
        k = p.alpha + abs(p.w)
        f = second.iv.mpf(factor.numerator) / factor.denominator
        return _interval_norm(p), _interval_largest(1 + f * p.dt * (1 + k * p.dt), 1 + f * p.dt * k)

    over = "0 ≤ σ̂, dt, σ' ≤ 1, α ≥ 0, all w"
    return Case(
        "free",
        "‖B‖_∞ ≤ max(1 + dt + (|w|+α)dt², 1 + (|w|+α)dt)",
        lambda budget, seed: attempt(_first_pieces(factor), over),
        Inequality(balls, intervals, _NEURON, parameters=OF_NEURON).check,
    )


def taylor_case(square: Fraction = Fraction(1, 2), *, norm: str = "‖B‖_∞") -> Case:
    """‖B‖_∞ ≤ 1 + K dt + K²dt²/2, K = max(2, |w| + α)."""

    def balls(p: Any) -> tuple[Any, Any]:
        x = (abs(p.w) + p.alpha).max(2) * p.dt
        return _ball_norm(p), 1 + x + coefficient(square) * x * x

    def intervals(p: Any) -> tuple[Any, Any]:
        K = _interval_largest(abs(p.w) + p.alpha, second.iv.mpf(2))
        return _interval_norm(p), (K * p.dt) ** 2 * square.numerator / square.denominator + K * p.dt + 1

    return Case(
        "free",
        f"{norm} ≤ 1 + K dt + K²dt²/2",
        lambda budget, seed: attempt(_taylor_pieces(square), "0 ≤ σ̂, dt, σ' ≤ 1, α ≥ 0, all w"),
        Inequality(balls, intervals, _NEURON, parameters=OF_NEURON).check,
    )


def exponential_case(multiple: Fraction = Fraction(1)) -> Case:
    """(52): ‖B‖_∞ ≤ e^{K dt}; ``multiple`` multiplies the exponent. Proved by its first three Taylor terms."""

    def ask(_: Any, __: int) -> Attempt:
        conclusion = "every further term K³dt³/3!, … of e^{K dt} is positive"
        return attempt(_exponential_pieces(multiple), "0 ≤ σ̂, dt, σ' ≤ 1, α ≥ 0, all w", conclusion)

    def balls(p: Any) -> tuple[Any, Any]:
        return _ball_norm(p), (coefficient(multiple) * (abs(p.w) + p.alpha).max(2) * p.dt).exp()

    def intervals(p: Any) -> tuple[Any, Any]:
        K = _interval_largest(abs(p.w) + p.alpha, second.iv.mpf(2))
        return _interval_norm(p), second.iv.exp(p.dt * K * multiple.numerator / multiple.denominator)

    check = Inequality(balls, intervals, _NEURON, parameters=OF_NEURON).check
    return Case("free", "‖dX_j/dX_{j−1}‖_∞ ≤ e^{w̄ dt}", ask, check)


def _exponential_pieces(multiple: Fraction) -> Iterator[Piece]:
    dt, _, k, _, _ = variables("dt", "sigma", "k", "r", "slope")
    for _, sign_of_w, left in _row_sums():
        for K, side in ((2 + 0 * k, (0, 2)), (k, (2, None))):
            x = coefficient(multiple) * K * dt
            yield Piece(left, 1 + x + x * x / 2, (_UNIT, _UNIT, side, _UNIT, _UNIT), _neuron_of(sign_of_w))


def growth_case(square: Fraction = Fraction(1, 2)) -> Case:
    """1 + K dt + K²dt²/2 ≤ 1 + γ dt with γ = K + ``square``·K²."""

    def ask(_: Any, __: int) -> Attempt:
        K, dt = variables("K", "dt")
        right = 1 + (K + coefficient(square) * K * K) * dt
        return attempt([Piece(1 + K * dt + K * K * dt * dt / 2, right, ((2, None), _UNIT))], "K ≥ 2, 0 ≤ dt ≤ 1")

    def balls(p: Any) -> tuple[Any, Any]:
        return 1 + p.K * p.dt + (p.K * p.dt) ** 2 / 2, 1 + (p.K + coefficient(square) * p.K**2) * p.dt

    def intervals(p: Any) -> tuple[Any, Any]:
        x = p.dt * p.K
        return x**2 / 2 + x + 1, x * (p.K * square.numerator / square.denominator + 1) + 1

    premises = (_STEP[0], Hypothesis("K ≥ 2", lambda p: p.K - 2, strict=False))
    parameters = declared(*rationals("dt", above=0, below=1), *rationals("K", least=2))
    check = Inequality(balls, intervals, premises, parameters=parameters).check
    return Case("free", "1 + K dt + K²dt²/2 ≤ 1 + γ dt", ask, check)


def middle_case(square: Fraction = Fraction(1, 2)) -> Case:
    """(51), second inequality: max(1 + dt + k dt², 1 + k dt) ≤ 1 + K dt + K²dt²/2, k = |w| + α, K = max(2, k)."""

    def ask(_: Any, __: int) -> Attempt:
        k, dt = variables("k", "dt")
        pieces = [
            Piece(left, 1 + K * dt + coefficient(square) * K * K * dt * dt, (side, _UNIT))
            for left in (1 + dt + k * dt * dt, 1 + k * dt)
            for K, side in ((2 + 0 * k, (0, 2)), (k, (2, None)))
        ]
        return attempt(pieces, "|w| + α ≥ 0, 0 ≤ dt ≤ 1")

    def balls(p: Any) -> tuple[Any, Any]:
        x = p.k.max(2) * p.dt
        return (1 + p.dt + p.k * p.dt**2).max(1 + p.k * p.dt), 1 + x + coefficient(square) * x**2

    def intervals(p: Any) -> tuple[Any, Any]:
        K = _interval_largest(p.k, second.iv.mpf(2))
        right = 1 + p.dt * K * (1 + K * p.dt * square.numerator / square.denominator)
        return _interval_largest(1 + p.dt * (1 + p.k * p.dt), 1 + p.dt * p.k), right

    premises = (_STEP[0], Hypothesis("|w| + α > 0", lambda p: p.k))
    parameters = declared(*rationals("dt", above=0, below=1), *rationals("k", above=0))
    check = Inequality(balls, intervals, premises, parameters=parameters).check
    return Case("free", "max(…) ≤ 1 + K dt + K²dt²/2", ask, check)


def climb_case(power: int = 1) -> Case:
    """(53): the rows (D, E) of dX^q_k/dX^{q−1}_k have absolute sums h²σ'v, hσ'v ≤ ‖V^q‖_∞ dt^power."""

    def ask(_: Any, __: int) -> Attempt:
        dt, sigma, slope, v = variables("dt", "sigma", "slope", "v")
        h = sigma * dt
        box = (_UNIT, _UNIT, _UNIT, (0, None))
        pieces = [Piece(left, v * dt**power, box) for left in (h * h * slope * v, h * slope * v)]
        return attempt(pieces, "0 ≤ σ̂, dt, σ' ≤ 1, ‖V‖_∞ ≥ 0")

    def balls(p: Any) -> tuple[Any, Any]:
        h = p.sigma * p.dt
        return (h**2 * p.slope * p.v).max(h * p.slope * p.v), p.v * p.dt**power

    def intervals(p: Any) -> tuple[Any, Any]:
        entry = p.dt * p.sigma * p.slope * p.v
        return _interval_largest(entry * p.dt * p.sigma, entry), p.dt**power * p.v

    premises = (
        *_STEP,
        Hypothesis("0 < σ' ≤ 1", lambda p: p.slope * (p.slope <= 1)),
        Hypothesis("v = ‖V‖_∞ > 0", lambda p: p.v),
    )
    parameters = declared(*OF_STEP, *rationals("slope", above=0, most=1), *rationals("v", above=0))
    check = Inequality(balls, intervals, premises, parameters=parameters).check
    return Case("free", "‖dX^q_k/dX^{q−1}_k‖_∞ ≤ ‖V^q‖_∞ dt", ask, check)


# --- the direct partials ∂X_k/∂θ, θ in {w, b, V, c}

_PARTIAL_NAMES = ("dt", "sigma", "alpha", "y", "z", "s", "below", "slope")
_PARTIAL_BOX = (_UNIT, _UNIT, (0, None), (0, None), (0, None), _UNIT, (0, None), _UNIT)
_PARTIAL_OVER = "0 ≤ σ̂, dt, σ', |s| ≤ 1, α, |y_{k−1}|, |z_k|, |y^{l−1}_k| ≥ 0, θ in {w, b, V, c}"
PARTIAL_PREMISES = (
    *_NEURON,
    Hypothesis("|s| < 1", lambda p: 1 - p.s * p.s),
    Hypothesis("sizes are not negative", lambda p: min(p.y, p.z, p.below), strict=False),
)


OF_PARTIAL = (
    *OF_STEP,
    *rationals("alpha", above=0),
    *rationals("y", "z", "below", least=0),
    *rationals("s", above=-1, below=1),
    *rationals("slope", above=0, most=1),
)


def partials_in_balls(p: Any) -> tuple[Any, Any]:
    """The largest |∂z_k/∂θ| and |∂y_k/∂θ|, θ in {w, b, V, c}."""
    h = p.sigma * p.dt
    entry = h * p.slope * p.y.max(1).max(p.below)
    push = h * (1 - p.sigma) * (p.s + p.alpha * p.y)
    drift = (h * entry).max(h * push + h * (1 - p.sigma) * p.z)
    return entry.max(push), drift


def partials_in_intervals(p: Any) -> tuple[Any, Any]:
    """The same, typed again."""
    step = p.dt * p.sigma
    largest = _interval_largest(p.y, p.below, second.iv.mpf(1))
    of_c = step * (1 - p.sigma) * (p.alpha * p.y + p.s)
    of_z = _interval_largest(largest * step * p.slope, of_c)
    of_y = _interval_largest(largest * step**2 * p.slope, step * (of_c + (1 - p.sigma) * p.z))
    return of_z, of_y


def _partials() -> Iterator[tuple[Any, Any, Any, Side]]:
    """(largest |∂z|, largest |∂y|, the entry of max(|y|, |y^{l−1}|, 1) compared with, range of |y|) for w, V, b, c."""
    dt, sigma, alpha, y, z, s, below, slope = variables(*_PARTIAL_NAMES)
    h, one = sigma * dt, 1 + 0 * dt
    for source in (y, below):
        yield h * slope * source, h * h * slope * source, source, (0, None)
    push = h * (1 - sigma) * (s + alpha * y)
    for largest, side in ((one, (0, 1)), (y, (1, None))):
        yield h * slope, h * h * slope, largest, side
        yield push, h * push + h * (1 - sigma) * z, largest, side


def _without_input(point: dict[str, Fraction]) -> dict[str, Fraction]:
    return {**point, "below": Fraction(0)}


def partial_case(line: str, drop: str = "") -> Case:
    """Line "(63)", "(64)" or "(65)"; ``drop`` leaves one term of its right side out: "1", "y" or "z"."""

    def ask(_: Any, __: int) -> Attempt:
        dt, _, alpha, y, z, _, below, _ = variables(*_PARTIAL_NAMES)
        pieces = []
        for push, drift, compared, side in _partials():
            box = tuple(
                side if name == "y" else usual for name, usual in zip(_PARTIAL_NAMES, _PARTIAL_BOX, strict=True)
            )
            lift = dict if compared == below else _without_input
            bracket = (0 if drop == "1" else 1) + (0 if drop == "y" else alpha * y) + compared
            if line == "(63)":
                pairs = [(push, dt * bracket)]
            elif line == "(64)":
                pairs = [(drift, (0 if drop == "z" else dt * z) + dt * dt * bracket)]
            else:
                states = (0 if drop == "z" else z) + (0 if drop == "y" else (1 + alpha) * y) + below
                right = dt * ((0 if drop == "1" else 2) + states)
                pairs = [(push, right), (drift, right)]
            pieces += [Piece(left, right, box, lift) for left, right in pairs]
        return attempt(pieces, _PARTIAL_OVER)

    def balls(p: Any) -> tuple[Any, Any]:
        of_z, of_y = partials_in_balls(p)
        bracket = (0 if drop == "1" else 1) + (0 if drop == "y" else p.alpha * p.y) + p.y.max(1).max(p.below)
        if line == "(63)":
            return of_z, p.dt * bracket
        if line == "(64)":
            return of_y, (0 if drop == "z" else p.dt * p.z) + p.dt**2 * bracket
        rest = (0 if drop == "z" else p.z) + (0 if drop == "y" else (1 + p.alpha) * p.y) + p.below
        return of_z.max(of_y), p.dt * ((0 if drop == "1" else 2) + rest)

    def intervals(p: Any) -> tuple[Any, Any]:
        of_z, of_y = partials_in_intervals(p)
        largest = _interval_largest(p.y, p.below, second.iv.mpf(1))
        kept = {name: second.iv.mpf(name != drop) for name in ("1", "y", "z")}
        bracket = largest + kept["y"] * p.y * p.alpha + kept["1"]
        if line == "(63)":
            return of_z, bracket * p.dt
        if line == "(64)":
            return of_y, (bracket * p.dt + kept["z"] * p.z) * p.dt
        total = kept["1"] * 2 + kept["z"] * p.z + kept["y"] * (p.y + p.alpha * p.y) + p.below
        return _interval_largest(of_z, of_y), total * p.dt

    what = {"(63)": "|∂z_k/∂θ|", "(64)": "|∂y_k/∂θ|", "(65)": "‖∂X_k/∂θ‖_∞"}[line]
    check = Inequality(balls, intervals, PARTIAL_PREMISES, parameters=declared(*OF_PARTIAL)).check
    return Case("indices of icml", what, ask, check)


def shifted_case() -> Case:
    """(63) for the recursion (31) of sam, whose step k sees y^{l−1}_{k−1}, not y^{l−1}_k; first layer, w = V = b = 0.

    That neuron rests, A = 0 and σ' = 1: |∂z_k/∂V| = h |u_{k−1}| against dt (1 + max(|u_k|, 1)).
    """

    def ask(_: Any, __: int) -> Attempt:
        dt, sigma, before, now = variables("dt", "sigma", "before", "now")
        box = (_UNIT, _UNIT, (0, None), (0, 1))
        return attempt([Piece(sigma * dt * before, 2 * dt + 0 * now, box)], "a first-layer neuron at rest, |u_k| ≤ 1")

    def balls(p: Any) -> tuple[Any, Any]:
        return p.sigma * p.dt * abs(p.before), p.dt * (1 + abs(p.now).max(1))

    def intervals(p: Any) -> tuple[Any, Any]:
        return abs(p.before) * p.dt * p.sigma, (_interval_largest(abs(p.now), second.iv.mpf(1)) + 1) * p.dt

    parameters = declared(*OF_STEP, *rationals("before", "now"))
    check = Inequality(balls, intervals, _STEP, parameters=parameters).check
    return Case("indices of sam", "|∂z_k/∂V^1|", ask, check)
