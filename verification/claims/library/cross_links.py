# Claims: x-1 · x-2 · thm-x
"""Between the papers: the Cayley map as an implicit midpoint step, and two descriptions of the clockwork network."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq_mpoly_ctx

from odernn.architecture import catalogue
from odernn.cells.odernn import realisations
from odernn.published.sources import Source
from odernn.tableaus import get
from verification.cases.decision import at, decided
from verification.claim import Case, Claim, Decided, Parameters
from verification.exact_text import numbers

Rows = list[list[Any]]


# --- x-1: C(−ηW/2) = (I − ηW/2)⁻¹ (I + ηW/2)


def _product(one: Rows, other: Rows) -> Rows:
    columns = list(zip(*other, strict=True))
    return [[_sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in one]


def _sum(terms: Any) -> Any:
    total: Any = None
    for term in terms:
        total = term if total is None else total + term
    return total


def _determinant(matrix: Rows) -> Any:
    """By the first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    return _sum((-1) ** j * entry * _determinant(_minor(matrix, 0, j)) for j, entry in enumerate(matrix[0]))


def _minor(matrix: Rows, i: int, j: int) -> Rows:
    return [[x for k, x in enumerate(row) if k != j] for r, row in enumerate(matrix) if r != i]


def _adjugate(matrix: Rows) -> Rows:
    size = len(matrix)
    if size == 1:
        return [[matrix[0][0] * 0 + 1]]
    return [[(-1) ** (i + j) * _determinant(_minor(matrix, j, i)) for j in range(size)] for i in range(size)]


def _skew_symbols(size: int) -> tuple[Rows, Rows, Any]:
    """ηW, I and 1 over the polynomials in the entries of ηW."""
    names = [f"w{i}_{j}" for i in range(size) for j in range(i + 1, size)] or ["w"]
    gens: list[Any] = list(fmpq_mpoly_ctx.get(names, Ordering.degrevlex).gens())
    zero, one = 0 * gens[0], 0 * gens[0] + 1
    W = [[zero] * size for _ in range(size)]
    for entry, (i, j) in zip(gens, itertools.combinations(range(size), 2), strict=False):
        W[i][j], W[j][i] = entry, -entry
    return W, [[one if i == j else zero for j in range(size)] for i in range(size)], one


def _cayley(size: int) -> tuple[Rows, Any, Rows, Rows]:
    """Numerator and denominator of C(−ηW/2), ηW and I."""
    W, identity, _ = _skew_symbols(size)
    minus, plus = (
        [[e + s * w / 2 for e, w in zip(*rows, strict=True)] for rows in zip(identity, W, strict=True)] for s in (-1, 1)
    )
    return _product(_adjugate(minus), plus), _determinant(minus), W, identity


def _skew_numbers(size: int) -> list[list[Fraction]]:
    rng = random.Random(size)
    W = [[Fraction(0)] * size for _ in range(size)]
    for i, j in itertools.combinations(range(size), 2):
        W[i][j] = Fraction(rng.randint(-9, 9), rng.randint(1, 5))
        W[j][i] = -W[i][j]
    return W


def _midpoint_step(W: Sequence[Sequence[Fraction]], y: Sequence[Fraction]) -> list[Fraction]:
    """y + k with k = W (y + k/2), from the tableau A = 1/2, b = 1 of the library, the stage solved by elimination."""
    tableau: Any = get("implicit midpoint")
    a, b = Fraction(str(tableau.A[0][0])), Fraction(str(tableau.b[0]))
    size = len(y)
    rows = [
        [Fraction(i == j) - a * W[i][j] for j in range(size)]
        + [sum((w * x for w, x in zip(W[i], y, strict=True)), Fraction(0))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(size):
            if r != i:
                rows[r] = [x - rows[r][i] * z for x, z in zip(rows[r], rows[i], strict=True)]
    return [x + b * row[-1] for x, row in zip(y, rows, strict=True)]


def cayley_case(what: str) -> Case:
    """``step``: y₊ = y + ηW (y + y₊)/2 for y₊ = C y;  ``norm``: CᵀC = I."""

    def first(parameters: Parameters) -> Decided:
        size = int(parameters["n"])
        C, denominator, W, identity = _cayley(size)
        if what == "norm":
            transposed = [list(column) for column in zip(*C, strict=True)]
            gap = _minus(_product(transposed, C), [[denominator * denominator * x for x in row] for row in identity])
        else:
            scaled = [[denominator * x for x in row] for row in identity]
            middle = [[(x + z) / 2 for x, z in zip(*rows, strict=True)] for rows in zip(C, scaled, strict=True)]
            gap = _minus(_minus(C, scaled), _product(W, middle))
        wrong = [x for row in gap for x in row if x != 0]
        return Decided(bool(wrong), "the residual is 0" if not wrong else f"the residual is {wrong[0]}")

    def second(parameters: Parameters) -> Decided:
        size = int(parameters["n"])
        W = _skew_numbers(size)
        y = [Fraction(k + 1, k + 2) for k in range(size)]
        after = _midpoint_step(W, y)
        if what == "norm":
            return Decided(sum(x * x for x in after) != sum(x * x for x in y), "the same length at random rationals")
        # (I + A) y₊ = (I − A) y with A = −ηW/2, which is what y₊ = C(A) y means
        sides = [
            (
                x - sum(w * z for w, z in zip(row, after, strict=True)) / 2,
                u + sum(w * z for w, z in zip(row, y, strict=True)) / 2,
            )
            for x, u, row in zip(after, y, W, strict=True)
        ]
        return Decided(any(left != right for left, right in sides), "equal at random rationals")

    quantity = {"step": "C(−ηW/2) y is one step of the implicit midpoint rule", "norm": "‖C(−ηW/2) y‖ = ‖y‖"}[what]
    return decided(
        "n ≤ 4, Wᵀ = −W",
        quantity,
        at(*({"n": str(n)} for n in (1, 2, 3, 4))),
        first,
        second,
        box="all antisymmetric W of size n ≤ 4, η and y: polynomials",
        claimed="equal",
        names=("polynomials", "stages in fractions"),
    )


def _minus(one: Rows, other: Rows) -> Rows:
    return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]


def _volume(vectors: Sequence[Sequence[Fraction]]) -> Fraction:
    """The determinant of two or three vectors, by the rule of Sarrus."""
    if len(vectors) == 2:
        (a, b), (c, d) = vectors
        return a * d - b * c
    (a, b, c), (d, e, f), (g, h, i) = vectors
    return a * e * i + b * f * g + c * d * h - c * e * g - b * d * i - a * f * h


def scaled_case() -> Case:
    """W = C(A) D with D ≠ I: det C = 1 for every A, so with det D = −1 no step of a skew field."""

    def first(parameters: Parameters) -> Decided:
        signs = numbers(parameters, "D")
        size = len(signs)
        C, denominator, _, _ = _cayley(size)
        always_one = _determinant(C) == denominator**size
        sign = math.prod(signs)
        return Decided(bool(always_one and sign != 1), f"det C(A) = 1 for every A, det C(A)D = {sign}")

    def second(parameters: Parameters) -> Decided:
        """A step of a skew field at random rationals, and its determinant by another rule."""
        signs = numbers(parameters, "D")
        size, W = len(signs), _skew_numbers(len(signs))
        steps = [_midpoint_step(W, [Fraction(i == j) for i in range(size)]) for j in range(size)]
        odd = sum(sign < 0 for sign in signs) % 2 == 1
        return Decided(_volume(steps) == 1 and odd, "a step of determinant 1, here an odd number of −1")

    return decided(
        "D with an odd number of −1",
        "the scaled transform C(A) D is one step of the implicit midpoint rule, Wᵀ = −W",
        at({"D": "1 -1"}, {"D": "1 1 -1"}),
        first,
        second,
        box="n = 2, 3",
        is_box=False,
        claimed="a step",
        names=("polynomials", "fractions"),
    )


# --- x-2: number of clocks, period, order

PERIODS = ((1, 2), (1, 2, 4), (1, 2, 4, 8), (2, 3), (1, 3, 4), (1, 2, 3))


def _places() -> list[dict[str, str]]:
    return [{"periods": " ".join(map(str, periods))} for periods in PERIODS]


def _typed(parameters: Parameters) -> list[int]:
    return [int(x) for x in numbers(parameters, "periods")]


def _repeats(periods: Sequence[int]) -> int:
    """The smallest shift of time that leaves the set of acting groups as it is, at every time."""
    longest = math.prod(periods)
    acting = [tuple(l % period == 0 for period in periods) for l in range(2 * longest)]
    return next(m for m in range(1, longest + 1) if acting[m:] == acting[:-m])


def period_case() -> Case:
    """m of the graph is the period of the tables."""

    def first(parameters: Parameters) -> Decided:
        periods = _typed(parameters)
        m = catalogue.clockwork(periods).period
        tables = [realisations.clockwork(periods, [1] * len(periods), l).B[1].matrix.tolist() for l in range(2 * m)]
        shift = next(k for k in range(1, 2 * m) if tables[k:] == tables[:-k])
        return Decided(shift != m, f"m = {m}, tables repeat after {shift}")

    def second(parameters: Parameters) -> Decided:
        periods = _typed(parameters)
        return Decided(_repeats(periods) != math.lcm(*periods), f"{_repeats(periods)} by trying shifts")

    return decided(
        "clockwork networks",
        "the coefficients of the ODERNN repeat after the m of the graph",
        at(*_places()),
        first,
        second,
        box="six sets of periods",
        claimed="the same m",
        names=("graph and tables", "shifts"),
    )


def clocks_case(quantity: str, what: str) -> Case:
    """``clocks``: m is the number of clocks;  ``order``: t is m."""

    def first(parameters: Parameters) -> Decided:
        periods = _typed(parameters)
        m = catalogue.clockwork(periods).period
        other = len(periods) if what == "clocks" else realisations.clockwork(periods, [1] * len(periods), 0).t
        return Decided(m != other, f"m = {m}, {'clocks' if what == 'clocks' else 't'} = {other}")

    def second(parameters: Parameters) -> Decided:
        periods = _typed(parameters)
        other = len(set(periods)) if what == "clocks" else 1  # one block h: h(l) needs h(l − 1) alone
        return Decided(_repeats(periods) != other, f"{_repeats(periods)} against {other}")

    return decided(
        "clockwork networks",
        quantity,
        at(*_places()),
        first,
        second,
        box="six sets of periods",
        claimed="equal",
        names=("graph and tables", "shifts"),
    )


CLAIMS = (
    Claim(
        id="x-1",
        source=Source("library", "docs/derivations/cayley_midpoint.md; odernn (9)–(10), scornn Sec. 3.1"),
        statement="the Cayley transform of a skew matrix is one step of the implicit midpoint "
        "rule for y' = W y, and preserves norms; also tried: the scaled transform with det D = −1",
        semantics="alg",
        origin="library",
        dominated_by="thm-x",
        cases=(cayley_case("step"), cayley_case("norm"), scaled_case()),
    ),
    Claim(
        id="x-2",
        source=Source("library", "docs/derivations/cell_realisations.md; odernn Sec. 2.2, complexity Sec. 2"),
        statement="clockwork RNN: the coefficients of its ODERNN have the period m of its "
        "graph; also tried: m as the number of clocks, and as the order of the recurrence",
        semantics="comb",
        origin="library",
        cases=(
            period_case(),
            clocks_case("the period number is the number of clocks", "clocks"),
            clocks_case("the order t of the recurrence is the period number", "order"),
        ),
    ),
    Claim(
        id="thm-x",
        source=Source("library", "docs/derivations/cayley_midpoint.md"),
        statement="y₊ = y + η W (y + y₊)/2 with Wᵀ = −W is y₊ = C(−ηW/2) y, and ‖y₊‖ = ‖y‖",
        semantics="alg",
        origin="library",
        cases=(cayley_case("step"), cayley_case("norm")),
    ),
)
