"""How far inputs move networks whose step is nonexpansive: soft thresholds, orthogonal maps, implicit steps.

    |S(z) − S(z')| ≤ |z − z'|, S = modReLU(·; b), b ≤ 0      ‖δh_N‖² ≤ N Σ ‖δx_n‖²      ‖d₊‖ ≤ ‖d‖ + h‖e‖

Networks are rational, W = C(A) D, runs are exact; drives x = V u are what is changed. thm-Lip, thm-in.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mpoly_ctx

from odernn.bounds.numbers import BALLS
from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality, Piece, attempt
from verification.cases.nominate import first_violation
from verification.cases.related import Related, short
from verification.cases.scornn_parameters import ABOVE, Steps, order, signs
from verification.certify import modrelu_run
from verification.certify.second import modrelu_run as modrelu_run_second
from verification.certify.second.intervals import iv
from verification.claim import GIVEN, Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import numbers
from verification.exact_text import rationals as written
from verification.kinds import Listed, Matrix, Rational, Values
from verification.parameters import Parameter, declared, rationals


def norm(x: Any, y: Any) -> Any:
    """√(x² + y²) in balls, whose power of a ball with 0 in it is no number."""
    return BALLS.root_of_positive_part(x * x + y * y)


# --- (a): modReLU with b ≤ 0


def threshold_case(factor: Fraction = Fraction(1)) -> Case:
    """|S(z) − S(z')| ≤ ``factor`` |z − z'| for complex z, z'; real ones lie among them."""
    ring = fmpq_mpoly_ctx.get(("s", "t", "c", "k"))
    s, t, c, k = ring.gens()
    scale = fmpq(factor.numerator, factor.denominator) ** 2
    half_line = (Fraction(0), None)
    box = (half_line, half_line, half_line, (Fraction(0), Fraction(2)))

    def lift(outside: bool) -> Callable[[dict[str, Fraction]], dict[str, Fraction]]:
        def place(point: dict[str, Fraction]) -> dict[str, Fraction]:
            """On the real line, where k is 0 or 2: of the sign of 1 − k."""
            size = point["c"] + point["t"] if outside else point["t"]
            b = -point["c"] if outside else -point["c"] - point["t"]
            other = size if point["k"] <= 1 else -size
            return {"x": point["s"] - b, "y": Fraction(0), "u": other, "v": Fraction(0), "b": b}

        return place

    def apart(r: Any, q: Any) -> Any:
        """|z − z'|² of moduli r, q and 1 − k the cosine of the angle between them."""
        return r * r + q * q - 2 * r * q * (1 - k)

    def ask(_: Budget, __: int) -> Attempt:
        both = Piece(apart(s, t), scale * apart(s + c, t + c), box, lift(True))
        one = Piece(s * s, scale * apart(s + t + c, t), box, lift(False))  # of radius c + t, |z'| = t
        text = "squared distances: |z| = c + s and |z'| = c + t; |z'| = t ≤ c' = c + t and |z| = c' + s; inside S = 0"
        return attempt((both, one), "s, t, c ≥ 0, 0 ≤ k = 1 − cos ≤ 2", text)

    def balls(p: Any) -> tuple[Any, Any]:
        def moved(x: Any, y: Any) -> tuple[Any, Any]:
            square = x * x + y * y
            if square == 0:
                return x, y
            size = square.sqrt()
            kept = BALLS.maximum(size + p.b, BALLS.exact(0)) / size
            return x * kept, y * kept

        (x, y), (u, v) = moved(p.x, p.y), moved(p.u, p.v)
        return norm(x - u, y - v), norm(p.x - p.u, p.y - p.v) * BALLS.exact(factor)

    def intervals(p: Any) -> tuple[Any, Any]:
        def beside(x: Any, y: Any) -> tuple[Any, Any]:
            """z less its projection on the disc."""
            square = x**2 + y**2
            if square.b <= 0:
                return x, y
            share = -p.b / iv.sqrt(square)
            share = iv.mpf([min(share.a, 1), min(share.b, 1)])
            return x - x * share, y - y * share

        (x, y), (u, v) = beside(p.x, p.y), beside(p.u, p.v)
        square = (u - x) ** 2 + (v - y) ** 2
        distance = iv.sqrt((p.u - p.x) ** 2 + (p.v - p.y) ** 2)
        return iv.sqrt(iv.mpf([max(square.a, 0), max(square.b, 0)])), distance * factor.numerator / factor.denominator

    parameters = declared(*rationals("x", "y", "u", "v"), Parameter("b", Rational(most=0)))
    inequality = Inequality(balls, intervals, parameters=parameters)
    return Case("b ≤ 0, z and z' complex", "|S(z) − S(z')| ≤ |z − z'|", ask, inequality.check)


# --- (b), (c): networks


@dataclass(frozen=True)
class InputStatement:
    """left ≤ right of a pair of exact runs: states δh_1 … δh_N, rows of changes δx_1 … δx_N, each a list of fractions.

    For ``layers`` layers, of which the second sees the first through the identity.
    """

    quantity: str
    left: Callable[[list[list[Any]]], Any]
    share: Callable[[int], Fraction]
    layers: int = 1


def _square(row: Sequence[Any]) -> Any:
    return sum((x * x for x in row), 0 * row[0])


def _of_mean(rows: list[list[Any]]) -> Any:
    means = [sum(column, 0 * column[0]) / len(rows) for column in zip(*rows, strict=True)]
    return _square(means)


LAST = InputStatement("‖δh_N‖² ≤ N ‖δx‖²", lambda rows: _square(rows[-1]), lambda N: Fraction(N))
MEAN = InputStatement("‖δh̄‖² ≤ (N + 1)(2N + 1)/(6N) ‖δx‖²", _of_mean, lambda N: Fraction((N + 1) * (2 * N + 1), 6 * N))
STACKED = InputStatement(
    "‖δh²_N‖² ≤ N(N + 1)(2N + 1)/6 ‖δx‖²",
    lambda rows: _square(rows[-1]),
    lambda N: Fraction(N * (N + 1) * (2 * N + 1), 6),
    layers=2,
)
MOST_UNITS, LONGEST, MOST_LETTERS = 3, 16, 1_200


def input_case(statement: InputStatement, factor: Fraction = Fraction(1)) -> Case:
    """Two runs of one network, drives x and x + change; ``factor`` of the right side is a planted falsehood."""

    def share(p: Parameters) -> Fraction:
        return factor * statement.share(len(p["drive"].split()) // len(p["D"].split()))

    def sides(p: Parameters) -> tuple[fmpq, fmpq]:
        n = len(p["D"].split())
        drive, change = numbers(p, "drive"), numbers(p, "change")
        moved = [a + b for a, b in zip(drive, change, strict=True)]
        runs = [_rows(p, each, statement.layers) for each in (drive, moved)]
        rows = [[b - a for a, b in zip(*pair, strict=True)] for pair in zip(*runs, strict=True)]
        right = sum((modrelu_run.exact(x) ** 2 for x in change), fmpq(0)) * modrelu_run.exact(share(p))
        assert len(rows) * n == len(drive)
        return statement.left(rows), right

    def sides_again(p: Parameters) -> tuple[Fraction, Fraction]:
        drive, change = ([Fraction(word) for word in p[name].split()] for name in ("drive", "change"))
        first = _rows_again(p, drive, statement.layers)
        other = _rows_again(p, [x + d for x, d in zip(drive, change, strict=True)], statement.layers)
        rows = [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(first, other, strict=True)]
        return statement.left(rows), share(p) * sum(d**2 for d in change)

    def check(p: Parameters) -> Check:
        (left, right), (left_again, right_again) = sides(p), sides_again(p)
        text = f"{float(Fraction(int(left.p), int(left.q))):.10g} against {float(right_again):.10g}"
        again = Opinion("fractions", left_again > right_again, f"{float(left_again):.10g} of {float(right_again):.10g}")
        return Check(opinions=(Opinion("flint", left > right, text), again), words=f"W = C(A) D; {GIVEN}: {text}")

    def ask(budget: Budget, seed: int) -> Attempt:
        tried, worst, best, reached = 0, Fraction(-1), None, 0.0
        for p, is_attained in _networks(budget, seed, statement):
            left, right = sides(p)
            tried += 1
            ratio = Fraction(int((left / right).p), int((left / right).q)) if right else Fraction(0)
            if is_attained:
                reached = max(reached, float(ratio * factor))
            if ratio > worst:
                worst, best = ratio, p
        assert best is not None
        return Attempt(
            f"{tried} pairs of rational runs of up to {MOST_UNITS} units, changes along W⁻ᵏe among them, exactly",
            tried,
            log_measured=math.log(worst) if worst > 0 else None,
            log_claimed=0.0 if worst > 0 else None,
            candidates=(best,) if worst > 1 else (),
            control=reached,
        )

    each_unit = order("D")
    kinds = [
        Parameter("D", signs((1, MOST_UNITS))),
        Parameter("A", Listed(Rational(), lambda v: len(v["D"]) * (len(v["D"]) - 1) // 2), order=ABOVE),
        Parameter("b", Listed(Rational(most=0), each_unit)),
        Parameter("h", Listed(Rational(), each_unit)),
        Parameter("drive", Steps("D", LONGEST, Rational()), order="a row a step"),
        Parameter("change", Matrix(lambda v: len(v["drive"]), each_unit, Rational()), order="a row a step"),
    ]
    parameters = declared(*kinds, rules=[short(MOST_LETTERS, "A", "b", "h", "drive", "change")])
    domain = "all b ≤ 0" + (", two layers" if statement.layers == 2 else "")
    return Case(domain, statement.quantity, ask, parameters.guards(check), is_search=True)


def _rows(p: Parameters, drive: Sequence[Fraction], layers: int) -> list[list[fmpq]]:
    """h_1 … h_N of the last layer; every layer has the same weights and start."""
    n, b = len(p["D"].split()), [modrelu_run.exact(x) for x in numbers(p, "b")]
    for _ in range(layers):
        run = modrelu_run.run({**p, "drive": written(list(drive)), "v": p["h"]})
        rows = [
            [z + bias if z + bias > 0 else z - bias if z - bias < 0 else fmpq(0) for z, bias in zip(z, b, strict=True)]
            for z in run.z
        ]
        drive = [Fraction(int(x.p), int(x.q)) for row in rows for x in row]
    assert all(len(row) == n for row in rows)
    return rows


def _rows_again(p: Parameters, drive: Sequence[Fraction], layers: int) -> list[list[Fraction]]:
    """By the second back-end's W: h = z less its projection on [b, −b]."""
    free, signed = ([Fraction(word) for word in p[name].split()] for name in ("A", "D"))
    W = modrelu_run_second.orthogonal_matrix(free, signed)
    b, start = ([Fraction(word) for word in p[name].split()] for name in ("b", "h"))
    for _ in range(layers):
        h, rows = list(start), []
        for step in range(len(drive) // len(b)):
            x = drive[step * len(b) : (step + 1) * len(b)]
            z = [sum((w * y for w, y in zip(row, h, strict=True)), e) for row, e in zip(W, x, strict=True)]
            h = [y - max(min(y, -bias), bias) for y, bias in zip(z, b, strict=True)]
            rows.append(h)
        drive = [y for row in rows for y in row]
    return rows


def _networks(budget: Budget, seed: int, statement: InputStatement) -> Iterator[tuple[Parameters, bool]]:
    """Changes that add up, at W = I, of b = 0 and of b = −1 under drives beyond it; then W and all at random."""
    for steps, b in ((1, 0), (4, 0), (9, 0), (6, -1)):
        change = [Fraction(1 if statement is LAST else steps - k) for k in range(steps)]
        # a drive that keeps z beyond −b in every layer
        yield _plain([], [1], [b], [Fraction(0)], [Fraction(2 - 4 * b)] * steps, change), True
    rng = random.Random(seed)
    for _ in range({"smoke": 40, "standard": 300, "deep": 2000}[budget.name]):
        n, steps = rng.randint(1, MOST_UNITS), rng.randint(1, 8)
        free = [Fraction(rng.randint(-4, 4), rng.randint(1, 4)) for _ in range(n * (n - 1) // 2)]
        signed = [rng.choice((1, -1)) for _ in range(n)]
        biases = [Fraction(-rng.randint(0, 4), 8) for _ in range(n)]
        drive = [Fraction(rng.randint(-8, 8), 4) for _ in range(n * steps)]
        change = [Fraction(rng.randint(-8, 8), 8) for _ in range(n * steps)]
        if rng.random() < 0.5:
            change = _aligned(free, signed, n, steps)
        yield _plain(free, signed, biases, [Fraction(rng.randint(-4, 4), 2) for _ in range(n)], drive, change), False


def _aligned(free: list[Fraction], signed: list[int], n: int, steps: int) -> list[Fraction]:
    """W^{−(N−k)} e for k = 1..N: what adds up where no unit is silent."""
    W = modrelu_run_second.orthogonal_matrix(free, [Fraction(x) for x in signed])
    e, rows = [Fraction(int(i == 0), 4) for i in range(n)], []
    for _ in range(steps):
        rows.append(e)
        e = [sum((W[j][i] * e[j] for j in range(n)), Fraction(0)) for i in range(n)]
    return [x.limit_denominator(500) for row in reversed(rows) for x in row]


def _plain(free: Any, signed: Any, b: Any, h: Any, drive: Any, change: Any) -> Parameters:
    texts = {"A": free, "D": signed, "b": b, "h": h, "drive": drive, "change": change}
    return {name: written([Fraction(x) for x in values]) for name, values in texts.items()}


# --- (b): all rows of a run

MOST_ROWS = 80


def rows_case(factor: int = 1) -> Case:
    """Σ_n (x_1 + … + x_n)² ≤ Σ x_n² / (4 sin²(π/(4N + 2))); ``factor`` of the sine is a planted falsehood."""

    def balls(p: Any) -> tuple[Any, Any]:
        total, left, right = arb(0), arb(0), arb(0)
        for x in p.x:
            total += x
            left, right = left + total * total, right + x * x
        return left, right / (4 * (arb.pi() * factor / (4 * len(p.x) + 2)).sin() ** 2)

    def intervals(p: Any) -> tuple[Any, Any]:
        rows = [sum(p.x[: n + 1], iv.mpf(0)) for n in range(len(p.x))]
        cosine = iv.cos(iv.pi * factor / (2 * len(p.x) + 1))  # 4 sin² x = 2 − 2 cos 2x
        return sum((y**2 for y in rows), iv.mpf(0)), sum((x**2 for x in p.x), iv.mpf(0)) / (2 - 2 * cosine)

    parameters = declared(Parameter("x", Listed(Rational(), (1, MOST_ROWS))))
    inequality = Inequality(balls, intervals, lists=("x",), parameters=parameters)

    def points(seed: int) -> Iterator[Parameters]:
        for N in (1, 2, 3, 10, 40, MOST_ROWS):
            image = np.linalg.svd(np.tril(np.ones((N, N))))[2][0]
            yield {"x": written([Fraction(float(x)).limit_denominator(10**6) for x in image])}
            rng = random.Random(seed + N)
            yield {"x": written([Fraction(rng.randint(-9, 9), 4) for _ in range(N)] or [Fraction(1)])}

    def ask(_: Budget, seed: int) -> Attempt:
        return first_violation((inequality,), points(seed), "the singular vectors of the sum, and at random")

    return Case("one layer, W = I, b = 0", "Σ ‖δh_n‖² ≤ ‖δx‖²/(4 sin²(π/(4N + 2)))", ask, inequality.check)


# --- thm-in: one implicit step


def _parts(v: Mapping[str, Any]) -> list[Any]:
    """⟨d₊ − d, D⟩ against a|d₊|² − (1 − a)|d|² + (1 − 2a)⟨d, d₊⟩, and (p − q)(ap + (1 − a)q) in p, q."""
    a, d, e = v["a"], (v["d1"], v["d2"]), (v["e1"], v["e2"])
    D = [(1 - a) * x + a * y for x, y in zip(d, e, strict=True)]
    left = sum((y - x) * z for x, y, z in zip(d, e, D, strict=True))
    p2, q2 = e[0] * e[0] + e[1] * e[1], d[0] * d[0] + d[1] * d[1]
    cross = d[0] * e[0] + d[1] * e[1]
    p, q = v["e1"], v["d1"]
    product = (p - q) * (a * p + (1 - a) * q) - (a * p * p - (1 - a) * q * q + (1 - 2 * a) * p * q)
    return [left - (a * p2 - (1 - a) * q2 + (1 - 2 * a) * cross), product]


def _parts_again(v: Mapping[str, Any]) -> list[Any]:
    a, total, product = v["a"], 0 * v["a"], v["d1"] * v["e1"]
    for x, y in ((v["d1"], v["e1"]), (v["d2"], v["e2"])):
        total = total + (y - x) * (x + a * (y - x)) - a * y**2 + (1 - a) * x**2 - (1 - 2 * a) * (x * y)
    square = a * v["e1"] ** 2 - product * (2 * a - 1) - (1 - a) * v["d1"] ** 2
    return [total, square - (v["e1"] - v["d1"]) * (v["d1"] + a * (v["e1"] - v["d1"]))]


STEP = PolynomialIdentity(
    ("a", "d1", "d2", "e1", "e2"),
    _parts,
    _parts_again,
    "⟨d₊ − d, D⟩ against a|d₊|² − (1 − a)|d|² + (1 − 2a)⟨d, d₊⟩, and (p − q)(ap + (1 − a)q)",
)


def step_case(least: Fraction = Fraction(1, 2)) -> Case:
    """|d₊| ≤ |d| + h|e|, d₊ = d + h(g + e), ⟨g, D⟩ ≤ 0, for ``least`` ≤ a ≤ 1; below ½ it is false."""

    def monotone(g: tuple[Fraction, ...], v: Values) -> tuple[Fraction, ...]:
        """g, shortened or turned so that ⟨g, D⟩ ≤ 0, D = d + ah(g + e)."""
        for _ in range(2):
            for scale in (Fraction(1), Fraction(-1), *(Fraction(s, 2**k) for k in range(1, 12) for s in (1, -1))):
                tried = tuple(scale * x for x in g)
                if _pairing(tried, v) <= 0:
                    return tried
        return (Fraction(0), Fraction(0))

    def balls(p: Any) -> tuple[Any, Any]:
        after = [d + p.h * (g + e) for d, g, e in zip(p.d, p.g, p.e, strict=True)]
        return norm(*after), norm(*p.d) + p.h * norm(*p.e)

    def intervals(p: Any) -> tuple[Any, Any]:
        after = [p.h * g + (p.h * e + d) for d, g, e in zip(p.d, p.g, p.e, strict=True)]
        sizes = [iv.sqrt(x**2 + y**2) for x, y in (after, p.d, p.e)]
        return sizes[0], sizes[2] * p.h + sizes[1]

    pair = Listed(Rational(), 2)
    parameters = declared(
        *rationals("a", least=least, most=1),
        *rationals("h", above=0),
        Parameter("d", pair),
        Parameter("e", pair),
        Parameter("g", Related(pair, "⟨g, d + ah(g + e)⟩ ≤ 0", monotone)),
    )
    inequality = Inequality(balls, intervals, lists=("d", "e", "g"), parameters=parameters)

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        rng = random.Random(seed)
        for _ in range({"smoke": 60, "standard": 600, "deep": 6000}[budget.name]):
            values: dict[str, Any] = {"a": rng.choice((least, Fraction(1), (1 + least) / 2)), "h": Fraction(1)}
            for name in ("d", "e"):
                values[name] = tuple(Fraction(rng.randint(-8, 8), 8) for _ in range(2))
            values["g"] = monotone(_nearly_normal(values, rng), values)
            yield {name: written(list(x) if isinstance(x, tuple) else [x]) for name, x in values.items()}

    def ask(budget: Budget, seed: int) -> Attempt:
        seen = first_violation((inequality,), points(budget, seed), "g all but orthogonal to the stage, at random")
        identity = STEP.ask(budget, seed).proof if least >= Fraction(1, 2) and not seen.candidates else ""
        proof = identity and (
            f"{identity}; 1 − 2a ≤ 0 and ⟨d, d₊⟩ ≤ |d||d₊|; ⟨d₊ − d, D⟩ ≤ h|e|(a|d₊| + (1 − a)|d|) as ⟨g, D⟩ ≤ 0"
        )
        return Attempt(
            proof or seen.tried,
            seen.evaluations,
            seen.log_measured,
            seen.log_claimed,
            candidates=seen.candidates,
            proof=proof,
        )

    return Case(f"{least} ≤ a ≤ 1, monotone f", "‖d₊‖ ≤ ‖d‖ + h‖e‖", ask, inequality.check)


def _pairing(g: Sequence[Fraction], v: Values) -> Fraction:
    stage = [d + v["a"] * v["h"] * (x + e) for d, x, e in zip(v["d"], g, v["e"], strict=True)]
    return sum((x * y for x, y in zip(g, stage, strict=True)), Fraction(0))


def _nearly_normal(v: Mapping[str, Any], rng: random.Random) -> tuple[Fraction, Fraction]:
    """A g with ⟨g, D⟩ just below 0: on the circle |g + m|² = |m|², m half of (d + ahe)/(ah), moved inwards."""
    scale = v["a"] * v["h"] or Fraction(1)
    m = [(d + scale * e) / (2 * scale) for d, e in zip(v["d"], v["e"], strict=True)]
    t = Fraction(rng.randint(-12, 12), 4)  # the rational circle
    cosine, sine = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    inwards = Fraction(999, 1000)
    return inwards * (cosine * m[0] - sine * m[1] - m[0]), inwards * (sine * m[0] + cosine * m[1] - m[1])
