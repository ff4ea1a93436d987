"""How steep modReLU is where it is active, and how steep tanh is."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flint import fmpq

from verification.cases.cayley_statements import Found, Statement, listed
from verification.cases.inequality import Inequality
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import SIGN, Rational
from verification.measure import cayley_symbols as symbolic
from verification.measure.polynomials import variables
from verification.parameters import Parameter, declared

PLACES = tuple(
    (e, r, a, k) for e in (1, -1) for r in (1, 3, 100) for a in (Fraction(1, 2), 2, 5) for k in (Fraction(-1, 2), 1)
)
"""sign(z), |z|, |z| + b, and h as a share of how far both reach; b = a − r is of either sign."""


def active_slope_case(slope: int = 1) -> Case:
    """modReLU(z + h) − modReLU(z) = h for every active z ≠ 0 and all |h| < min(|z|, |z| + b). ``slope`` h: planted.

    With a = |z| + b > 0, so b = a − |z| is free, and h = k min(|z|, a), −1 < k < 1.
    """

    def decide() -> str:
        r, b, h = symbolic.symbols("r", "b", "h")
        rises = all(s * (r + s * h + b) - s * (r + b) == slope * h for s in (1, -1))
        return listed(
            (
                "z = s r, s = ±1: z + h keeps the sign and stays active, so both values are s(|z| + b), with "
                "|z + h| = r + s h, and differ by h, as polynomials in r, b and h",
                rises,
            ),
        )

    def points(_: Budget, __: int) -> Iterator[Parameters]:
        for e, r, a, k in PLACES:
            yield {"e": str(e), "r": str(r), "a": str(a), "k": str(k * Fraction(9, 10))}

    def first(p: Parameters) -> Found:
        """In FLINT: ReLU(t) = (t + |t|)/2."""
        e, r, a, k = (fmpq(*number(p, name).as_integer_ratio()) for name in ("e", "r", "a", "k"))
        z, b, h = e * r, a - r, k * min(r, a)

        def value(x: fmpq) -> fmpq:
            t = abs(x) + b
            return (t + abs(t)) / 2 * (1 if x > 0 else -1)

        rise = value(z + h) - value(z)
        return rise != slope * h, f"{rise} for h = {h}"

    def again(p: Parameters) -> Found:
        """In fractions, by the two branches of each z."""
        e, r, a, k = (Fraction(p[name]) for name in ("e", "r", "a", "k"))
        b, h = a - r, k * (r if r < a else a)
        values = []
        for x in (e * r, e * r + h):
            size = -x if x < 0 else x
            values.append(Fraction(0) if size + b < 0 else x * (size + b) / size)
        return values[1] - values[0] != slope * h, f"{values[1] - values[0]} for h = {h}"

    positive = Rational(above=0)
    parameters = declared(
        Parameter("e", SIGN),
        Parameter("r", positive),
        Parameter("a", positive),
        Parameter("k", Rational(above=-1, below=1)),
    )
    statement = Statement("values at z and z + h", decide, points, first, again, "h", "h", parameters=parameters)
    return statement.case("any b, z ≠ 0 active", "modReLU(z + h) − modReLU(z) = h, |h| < min(|z|, |z| + b)")


def tanh_slope_case(factor: int = 1) -> Case:
    """tanh′(z) = 1 − tanh²(z) ≤ 1/(1 + ``factor`` z²), which is false for a factor above 1."""

    def ask(_: Budget, __: int) -> Attempt:
        (X,) = variables("X")
        # With X = e^z: 4X² cosh² z = (X² + 1)², 4X² sinh² z = (X² − 1)².
        same = (X**2 + 1) ** 2 - (X**2 - 1) ** 2 == 4 * X**2
        text = (
            "1/tanh′(z) = cosh² z = 1 + sinh² z, as polynomials in e^z, and |sinh z| ≥ |z|, every coefficient of its "
            "series being positive"
        )
        proof = text if same and factor <= 1 else ""
        return Attempt(text, 1, claimed="≤ 1/(1 + z²)", proof=proof, candidates=() if proof else ({"z": "1/2"},))

    check = Inequality(
        lambda p: (1 - p.z.tanh() ** 2, 1 / (1 + factor * p.z * p.z)),
        lambda p: (1 - second.tanh(p.z) ** 2, 1 / (p.z**2 * factor + 1)),
        parameters=declared(Parameter("z", Rational(least=-1000, most=1000))),
    ).check
    return Case("any z", "tanh′(z) ≤ 1/(1 + z²)", ask, check)
