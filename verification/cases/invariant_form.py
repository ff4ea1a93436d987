"""The invariant form Q_a(y, z) = a y² + z² − a h y z of one neuron without σ: what thm-Q says, and what is left of it
where σ acts: a modified Hamiltonian (thm-Q-mod).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import flint

from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality, Piece, attempt
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, rational
from verification.kinds import Integer
from verification.measure.polynomials import coefficient, variables
from verification.parameters import Parameter, Rule, declared, rationals

# --- (i), (iii), (v): identities


def _form(v: Mapping[str, Any], y: Any, z: Any) -> Any:
    return v["a"] * y * y + z * z - v["a"] * v["h"] * y * z


def _invariant(v: Mapping[str, Any], kick: Fraction = Fraction(1)) -> list[Any]:
    """Q_a after a step of B(a), which kicks by h·a, or by ``kick`` of it, minus Q_a before."""
    y, z, h = v["y"], v["z"], v["h"]
    pushed = z - coefficient(kick) * h * v["a"] * y
    return [_form(v, y + h * pushed, pushed) - _form(v, y, z)]


def _invariant_again(v: Mapping[str, Any], kick: Fraction = Fraction(1)) -> list[Any]:
    """By the matrix: (B(a)ᵀ G B(a) − G) on (y, z), G = [[2a, −ah], [−ah, 2]], half of it."""
    a, h, y, z = v["a"], v["h"], v["y"], v["z"]
    slope = a * kick.numerator / kick.denominator
    rows = ((1 - h**2 * slope, h), (-h * slope, 1))
    moved = [row[0] * y + row[1] * z for row in rows]

    def double(p: Any, q: Any) -> Any:
        return p * (2 * a * p - a * h * q) + q * (2 * q - a * h * p)

    return [(double(*moved) - double(y, z)) / 2]


def invariant_identity(kick: Fraction = Fraction(1)) -> PolynomialIdentity:
    """Q_a∘B(a) = Q_a; ``kick`` other than 1 is a planted falsehood."""
    return PolynomialIdentity(
        ("a", "h", "y", "z"),
        lambda v: _invariant(v, kick),
        lambda v: _invariant_again(v, kick),
        "Q_a after the step B(a) against Q_a before it",
    )


INVARIANT = invariant_identity()


def _values(v: Mapping[str, Any]) -> list[Any]:
    """Q(0, 1) = 1, Q(h, 1) = 1, Q(1, 0) = a; det B(κ) = 1 and B(κ)(0, 1) = (h, 1)."""
    h, kappa = v["h"], v["kappa"]
    one, zero = 1 + 0 * h, 0 * h
    pushed = one - h * kappa * zero
    det = (1 - h * h * kappa) * one + h * h * kappa
    return [
        _form(v, zero, one) - 1,
        _form(v, h, one) - 1,
        _form(v, one, zero) - v["a"],
        det - 1,
        zero + h * pushed - h,
        pushed - 1,
    ]


def _values_again(v: Mapping[str, Any]) -> list[Any]:
    """Q as a product of two rows with G; the determinant from the images of (1, 0) and (0, 1)."""
    a, h, kappa = v["a"], v["h"], v["kappa"]

    def form(y: Any, z: Any) -> Any:
        return (y * (2 * a * y - a * h * z) + z * (2 * z - a * h * y)) / 2

    columns = []
    for y, z in ((1, 0), (0, 1)):
        momentum = z - h * (kappa * y)
        columns.append((y + h * momentum, momentum))
    (p, q), (r, s) = columns
    return [form(0, 1) - 1, form(h, 1) - 1, form(1, 0) - a, p * s - q * r - 1, r - h, s - 1]


VALUES = PolynomialIdentity(
    ("a", "h", "kappa"), _values, _values_again, "Q_a(0, 1), Q_a(h, 1), Q_a(1, 0), det B(κ), B(κ)e_z against 1, 1, a, …"
)


# --- (iv): the sharp bounds on y and z


def _sharp(v: Mapping[str, Any], share: Fraction = Fraction(1)) -> list[Any]:
    """4(Q − r_a²y²) = (2z − ahy)², 4(Q − (1 − ah²/4)z²) = a(2y − hz)²; ``share`` of r_a² and 1 − ah²/4."""
    a, h, y, z = v["a"], v["h"], v["y"], v["z"]
    rest = coefficient(share) * (4 - a * h * h)
    return [
        4 * _form(v, y, z) - a * rest * y * y - (2 * z - a * h * y) * (2 * z - a * h * y),
        4 * _form(v, y, z) - rest * z * z - a * (2 * y - h * z) * (2 * y - h * z),
    ]


def _sharp_again(v: Mapping[str, Any], share: Fraction = Fraction(1)) -> list[Any]:
    """The same completed squares about the tips (1, ah/2) and (h/2, 1), where the squares are 0."""
    a, h, y, z = v["a"], v["h"], v["y"], v["z"]
    quadratic = a * y**2 + z**2 - y * z * a * h
    rest = (1 - a * h**2 / 4) * share.numerator / share.denominator
    away, aside = z - y * a * h / 2, y - z * h / 2
    return [4 * (quadratic - rest * a * y**2 - away**2), 4 * (quadratic - rest * z**2 - aside**2 * a)]


def sharp_identity(share: Fraction = Fraction(1)) -> PolynomialIdentity:
    """|y| ≤ √Q_a/r_a and |z| ≤ √Q_a/√(1 − ah²/4), with equality at (1, ah/2) and at (h/2, 1)."""
    return PolynomialIdentity(
        ("a", "h", "y", "z"),
        lambda v: _sharp(v, share),
        lambda v: _sharp_again(v, share),
        "Q_a − r_a²y² against (z − ahy/2)², Q_a − (1 − ah²/4)z² against a(y − hz/2)²",
    )


SHARP = sharp_identity()


# --- (ii): where Q_a is positive definite


def definite_case(end: Fraction = Fraction(4)) -> Case:
    """Q_a is positive definite exactly for 0 < ah² < ``end``; the theorem has 4."""

    def ask(budget: Budget, seed: int) -> Attempt:
        grid = [{"a": rational(a), "h": rational(h)} for a in _FORMS for h in _STEPS]
        failing = [place for place in grid if check(place).opinions[0].violated]
        parts = (SHARP.ask(budget, seed).proof, VALUES.ask(budget, seed).proof) if end == 4 and not failing else ("",)
        proof = "; ".join(parts) if all(parts) else ""
        if proof:
            proof += "; so Q_a > 0 off 0 if a > 0 and ah² < 4, Q_a(1, 0) = a, and Q_a = r_a² ≤ 0 at (1, ah/2) if not"
        return Attempt(
            f"{len(grid)} pairs (a, h)",
            len(grid),
            found="elsewhere" if failing else "there",
            claimed="there",
            candidates=tuple(failing[:3]),
            proof=proof,
        )

    def check(parameters: Parameters) -> Check:
        a, h = number(parameters, "a"), number(parameters, "h")
        claimed = 0 < a * h * h < end
        exact = flint.fmpq_mat(2, 2, [_q(a), _q(-a * h / 2), _q(-a * h / 2), flint.fmpq(1)])
        first = exact[0, 0] > 0 and exact.det() > 0
        # the smallest value over the line z = 1 and at (1, 0): a y² − ahy + 1 has its lowest point at y = h/2
        again = a > 0 and a * (h / 2) ** 2 - a * h * (h / 2) + 1 > 0
        return Check(
            opinions=(
                Opinion("flint", bool(first) != claimed, f"det = {exact.det()}, Q_a(1, 0) = {a}"),
                Opinion("fractions", again != claimed, f"positive definite: {again}"),
            ),
            words=f"a = {a}, h = {h}: Q_a is {'' if again else 'not '}positive definite, ah² = {a * h * h}",
        )

    parameters = declared(*rationals("a"), *rationals("h", above=0))
    return Case("all a, h > 0", "where Q_a > 0", ask, parameters.guards(check))


_FORMS = tuple(map(Fraction, ("-1", "0", "1/100", "1", "2", "39/10", "4", "41/10", "100")))
_STEPS = tuple(map(Fraction, ("1/100", "1/2", "1", "19/10", "2")))


def _q(value: Fraction) -> Any:
    return flint.fmpq(value.numerator, value.denominator)


# --- thm-Q-mod: H̃ = H − (h/2) z f(y), f = ∂H/∂y = tanh(wy + x) + αy


def _modified(v: Mapping[str, Any]) -> list[Any]:
    """H̃ after the step minus before, against U(y') − U(y) − (y' − y)(f + f')/2."""
    z, h, f, f_after, U, U_after = (v[name] for name in ("z", "h", "f", "f_after", "U", "U_after"))
    pushed = z - h * f
    before, after = z * z / 2 + U - h * z * f / 2, pushed * pushed / 2 + U_after - h * pushed * f_after / 2
    return [2 * (after - before) - 2 * (U_after - U) + h * pushed * (f + f_after)]


def _modified_again(v: Mapping[str, Any]) -> list[Any]:
    """Kinetic, potential and mixed parts apart: (z' − z)(z' + z) = −hf(2z − hf)."""
    z, h, f, g = v["z"], v["h"], v["f"], v["f_after"]
    kinetic = -h * f * (2 * z - h * f)
    mixed = h * (z * f - (z - h * f) * g)
    moved = h * (z - h * f)
    gain = v["U_after"] - v["U"]
    return [kinetic + 2 * gain + mixed - (2 * gain - moved * f - moved * g)]


MODIFIED = PolynomialIdentity(
    ("z", "h", "f", "f_after", "U", "U_after"),
    _modified,
    _modified_again,
    "H̃(X') − H̃(X) against the error of the trapezoidal rule for U over [y, y']",
)
MOST_STEPS, LARGEST = 64, 20
_CURVATURE = "|σ''| = 2|s|(1 − s²) ≤ 4/(3√3), s = tanh"


def modified_case(*, of_hamiltonian: bool, factor: Fraction = Fraction(1), power: int = 0) -> Case:
    """A neuron under a constant input, N steps: the change of H̃ is at most w²h³ Σ|z_n|³/(9√3); that of H itself at
    most (h/2)(|z_0 f_0| + |z_N f_N|) more. ``factor`` of w²h³ and ``power`` of h more there are planted falsehoods.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        y, z, cubes, ends = p.y, p.z, flint.arb(0), []
        for n in range(round(float(p.N)) + 1):
            A = p.w * y + p.x
            f = A.tanh() + p.alpha * y
            H = (p.alpha * y * y + z * z) / 2 + ((A.exp() + (-A).exp()) / 2).log() / p.w
            ends.append((H, p.h * z * f / 2))
            if n < round(float(p.N)):
                z = z - p.h * f
                y = y + p.h * z
                cubes += abs(z) ** 3
        (H0, tilt0), (H1, tilt1) = ends[0], ends[-1]
        right = coefficient(factor) * p.w**2 * p.h ** (3 + power) * cubes / (9 * flint.arb(3).sqrt())
        if of_hamiltonian:
            return abs(H1 - H0), right + abs(tilt0) + abs(tilt1)
        return abs(H1 - tilt1 - H0 + tilt0), right

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv

        def energy(y: Any, z: Any) -> tuple[Any, Any]:
            up = iv.exp(2 * (p.w * y + p.x))  # log cosh A = log(e^{2A} + 1) − A − log 2
            force = (up - 1) / (up + 1) + y * p.alpha
            return (iv.log(up + 1) - p.x) / p.w - y + (z**2 + y**2 * p.alpha) / 2, force

        position, momentum, total = p.y, p.z, iv.mpf(0)
        start, force = energy(position, momentum)
        lean = [force * momentum * p.h / 2]
        for _ in range(int(p.texts["N"])):
            momentum = momentum - force * p.h
            position = momentum * p.h + position
            total = total + abs(momentum) ** 3
            end, force = energy(position, momentum)
        lean.append(force * momentum * p.h / 2)
        right = total * p.w**2 * p.h ** (3 + power) / iv.sqrt(iv.mpf(243)) * factor.numerator / factor.denominator
        if of_hamiltonian:
            return abs(end - start), abs(lean[0]) + abs(lean[1]) + right
        return abs((end - lean[1]) - (start - lean[0])), right

    parameters = declared(
        Parameter("N", Integer(1, MOST_STEPS)),
        *rationals("alpha", least=0, most=LARGEST),
        *rationals("w", least=-LARGEST, most=LARGEST, nonzero=True),
        *rationals("h", above=0, below=1),
        *rationals("x", "y", "z", least=-LARGEST, most=LARGEST),
        rules=(Rule("h²(α + |w|) ≤ 4", lambda v: v["h"] ** 2 * (v["alpha"] + abs(v["w"])) <= 4),),
    )
    inequality = Inequality(balls, intervals, parameters=parameters)

    def ask(budget: Budget, seed: int) -> Attempt:
        sides, at, count = _largest_change(budget, seed, of_hamiltonian, float(factor), power)
        violates = sides[0] > sides[1] + 1e-9
        proof = "" if violates or factor < 1 or power else _trapezoid(budget, seed)
        candidates: tuple[Parameters, ...] = (at,) if violates else ()
        return Attempt(proof or f"{count} orbits", count, *sides, candidates=candidates, proof=proof)

    quantity = "|H(X_N) − H(X_0)|" if of_hamiltonian else "|H̃(X_N) − H̃(X_0)|"
    return Case("one neuron, constant input", quantity, ask, inequality.check)


def _trapezoid(budget: Budget, seed: int) -> str:
    identity = MODIFIED.ask(budget, seed).proof
    (v,) = variables("v")
    rest = (1 - 3 * v) * (1 - 3 * v) * (4 - 3 * v)
    positive = attempt([Piece(0 * v, 4 - 3 * v, ((0, 1),))], "v in [0, 1]").proof
    if not (identity and positive and 4 - 27 * v * (1 - v) * (1 - v) - rest == 0):
        return ""
    return (
        f"{identity}; that error is U'''·(y' − y)³/12, U''' = w²σ'', and {_CURVATURE}, as 4 − 27v(1 − v)² = "
        "(1 − 3v)²(4 − 3v) ≥ 0 at v = s²; summed over the steps, H = H̃ + (h/2) z f"
    )


def _largest_change(
    budget: Budget, seed: int, of_hamiltonian: bool, factor: float, power: int
) -> tuple[tuple[float, float], Parameters, int]:
    """Logarithms of both sides at the worst of random orbits in floats, and its parameters."""
    import numpy as np

    count = {"smoke": 2000, "standard": 20000, "deep": 200000}[budget.name]
    rng = np.random.default_rng(seed)
    drawn: dict[str, Any] = {
        "alpha": np.round(rng.uniform(0, 4, count), 2),
        "w": np.round(np.exp(rng.uniform(-3, 2.9, count)), 2) * rng.choice([-1, 1], count),
        "h": np.round(np.exp(rng.uniform(-4.6, -0.1, count)), 2),
        "x": np.round(rng.uniform(-2, 2, count), 2),
        "y": np.round(rng.uniform(-2, 2, count), 2),
        "z": np.round(rng.uniform(-4, 4, count), 2),
    }
    alpha, w, h, x = (drawn[name] for name in ("alpha", "w", "h", "x"))
    y, z = drawn["y"].copy(), drawn["z"].copy()
    steps = rng.integers(1, 9, count)
    cubes, first, last = np.zeros(count), None, None
    with np.errstate(all="ignore"):
        for n in range(9):
            f = np.tanh(w * y + x) + alpha * y
            energy = (alpha * y * y + z * z) / 2 + (np.logaddexp(w * y + x, -w * y - x) - np.log(2)) / w
            state = np.array([energy, h * z * f / 2])
            first = state if first is None else first
            last = state if last is None else np.where(steps >= n, state, last)
            going = steps > n
            z = np.where(going, z - h * f, z)
            y = np.where(going, y + h * z, y)
            cubes += np.where(going, np.abs(z) ** 3, 0)
        assert first is not None and last is not None
        right = factor * w**2 * h ** (3 + power) * cubes / (9 * np.sqrt(3))
        if of_hamiltonian:
            left, right = np.abs(last[0] - first[0]), right + np.abs(first[1]) + np.abs(last[1])
        else:
            left = np.abs(last[0] - last[1] - first[0] + first[1])
        known = (left > 1e-7) & np.isfinite(right) & (right > 0) & (h * h * (alpha + np.abs(w)) <= 4)
        gap = np.where(known, np.log(left) - np.log(right), -np.inf)
    worst = int(np.argmax(gap))
    at = {name: rational(Fraction(str(float(values[worst])))) for name, values in drawn.items()}
    return (float(np.log(left[worst])), float(np.log(right[worst]))), {**at, "N": str(int(steps[worst]))}, count
