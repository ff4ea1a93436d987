"""The steps that a case is about, as parameters: sizes, tables, the fields of the stages, and the weight G.

    step_of(reading, …)             any blocks A and B, or those of a family: what B_i are, and what B says of A
    step_of_method(tableau, …)      A_ij = a_ij P, B_i = b_i P with the numbers of one method; the fields are free

What they mean is said in ``verification.certify.typed_step``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from odernn.tableaus.tableau import ButcherTableau
from verification.cases.related import Related, short
from verification.certify.typed_step import ContractionReading
from verification.kinds import SYMMETRIC, Constant, Integer, Kind, Matrix, Rational, Rows, Values, in_blocks, in_rows
from verification.parameters import Declaration, Parameter, Rule, declared

LARGEST = 8
"""Rows of M, D·S: the second back-end goes through all principal minors."""
LARGEST_IN_EVERY_NORM = 2
"""Rows of R whose powers are decided."""
MOST_TABLES = 4
MOST_LETTERS = 1_500
"""Of all numbers of a step."""


@dataclass(frozen=True)
class BlockFamily:
    """What the blocks of a case have in common: ``impose`` changes what was read, or drawn, to blocks that have it."""

    text: str
    impose: Callable[[Any, Values], Any]

    def of(self, kind: Kind) -> Kind:
        return Related(kind, self.text, self.impose)


FREE = BlockFamily("they are any", lambda blocks, _: blocks)


def _unit_blocks(weights: Sequence[Sequence[Fraction]], values: Values) -> tuple[tuple[Fraction, ...], ...]:
    D = values["D"]
    unit = tuple(Fraction(int(r == c)) for r in range(D) for c in range(D))
    return tuple(unit * values["S"] for _ in weights)


def _turned(A: Sequence[Sequence[Fraction]], values: Values) -> tuple[tuple[Fraction, ...], ...]:
    """k is read off P (A − P/2) = k J; 0 where P has no inverse."""
    (P,) = values["B"]
    (block,) = A
    p, q, r, s = P
    determinant = p * s - q * r
    k = p * (block[1] - q / 2) + q * (block[3] - s / 2)
    turned = [k * x / determinant if determinant else Fraction(0) for x in (q, s, -p, -r)]  # k P⁻¹ J
    return (tuple(x / 2 + y for x, y in zip(P, turned, strict=True)),)


def _falling(fields: Sequence[Sequence[Fraction]], values: Values) -> tuple[tuple[Fraction, ...], ...]:
    D = values["D"]
    return tuple(tuple(-abs(x) if k % (D + 1) == 0 else Fraction(0) for k, x in enumerate(N)) for N in fields)


@dataclass(frozen=True)
class DrawnFalling:
    """Matrices of which most that are drawn fall, N + Nᵀ ≤ 0, or P⁻¹N or PN does: so few do at random that a search
    among all would try nothing. Any may be typed in.
    """

    blocks: Matrix
    P: tuple[tuple[Fraction, ...], ...] | None = None

    def __str__(self) -> str:
        return str(self.blocks)

    def read(self, text: str, values: Values) -> Any:
        return self.blocks.read(text, values)

    def write(self, value: Any) -> str:
        return self.blocks.write(value)

    def show(self, value: Any) -> str:
        return self.blocks.show(value)

    def draw(self, rng: random.Random, values: Values) -> tuple[tuple[Fraction, ...], ...]:
        drawn = self.blocks.draw(rng, values)
        if rng.random() < 0.1:
            return drawn
        before = None if self.P is None else rng.choice((None, self.P, _adjugate(self.P)))
        return tuple(_fallen(block, values["D"], before) for block in drawn)


def _adjugate(P: Sequence[Sequence[Fraction]]) -> tuple[tuple[Fraction, ...], ...]:
    """det(P) P⁻¹ of two rows."""
    (p, q), (r, s) = P
    return (s, -q), (-r, p)


def _fallen(block: Sequence[Fraction], D: int, P: Sequence[Sequence[Fraction]] | None) -> tuple[Fraction, ...]:
    """Of X: (X − Xᵀ)/2 − XXᵀ/4, times P from the left if there is one, in short numbers on the way."""
    X = [[Fraction(x).limit_denominator(64) for x in block[D * r : D * (r + 1)]] for r in range(D)]
    every = range(D)
    N = [
        [(X[r][c] - X[c][r]) / 2 - sum((X[r][k] * X[c][k] for k in every), Fraction(0)) / 4 for c in every]
        for r in every
    ]
    if P is not None:
        N = [[sum((P[r][k] * N[k][c] for k in every), Fraction(0)) for c in every] for r in every]
    return tuple(x for row in N for x in row)


UNIT_WEIGHTS = BlockFamily("every B_i is I", _unit_blocks)
HALF_WEIGHTS = BlockFamily("A = P/2, B = P", lambda _, v: tuple(tuple(x / 2 for x in table) for table in v["B"]))
"""Of A, for one stage."""
TURNED_WEIGHTS = BlockFamily("A = P/2 + kP⁻¹J, B = P", _turned)
"""Of A, for one stage and two components."""
FALLING_FIELDS = BlockFamily("every N_i is diagonal and ≤ 0", _falling)


def step_of(
    reading: ContractionReading,
    *,
    stages: tuple[int, int] = (1, LARGEST),
    sizes: tuple[int, int] = (1, LARGEST),
    tables: int = 1,
    weights: BlockFamily = FREE,
    couplings: BlockFamily = FREE,
) -> Declaration:
    """Steps with so many stages and components and up to so many tables, taken in turn."""
    decided = sizes[0], min(sizes[1], LARGEST_IN_EVERY_NORM if reading.norm == "every" else LARGEST)
    of_weights = Rows(Rational(), lambda v: v["S"] * v["D"] ** 2, lambda _: range(1, tables + 1))
    of_couplings = Matrix(lambda v: len(v["B"]), lambda v: v["S"] ** 2 * v["D"] ** 2)
    return declared(
        Parameter("D", _size(decided)),
        Parameter("S", _size(stages)),
        Parameter("eta", Rational(above=0)),
        Parameter("B", weights.of(of_weights), order="B_1, …, B_S of each table", layout=in_blocks("D")),
        Parameter("A", couplings.of(of_couplings), order="A_11, A_12, …, A_SS of each table", layout=in_blocks("D")),
        Parameter("N", Matrix("S", lambda v: v["D"] ** 2), order="N_1, …, N_S", layout=in_blocks("D")),
        *([Parameter("G", Matrix("D", "D", structure=SYMMETRIC), optional=True)] if _has_weight(reading) else []),
        rules=(
            Rule(f"D·S is at most {LARGEST}", lambda v: v["D"] * v["S"] <= LARGEST),
            short(MOST_LETTERS, "eta", "A", "B", "N", "G"),
        ),
    )


def step_of_method(
    tableau: ButcherTableau,
    sizes: tuple[int, int],
    *,
    names: tuple[str, str] = ("a", "b"),
    fields: BlockFamily = FREE,
    P: Sequence[Sequence[Fraction]] | None = None,
    G: Sequence[Sequence[Fraction]] | None = None,
) -> Declaration:
    """Steps of this method: rational numbers a_ij and b_i, and P and G, if there are any, are those of the case."""
    most = sizes[0], min(sizes[1], LARGEST // tableau.stages)
    texts = (_text(tableau.A), _text([tableau.b]))
    constants = [
        Parameter(name, Constant(text), layout=in_rows(tableau.stages)) for name, text in zip(names, texts, strict=True)
    ]
    blocks = [
        Parameter(name, Constant(_text(X)), layout=in_rows(len(X))) for name, X in (("P", P), ("G", G)) if X is not None
    ]
    return declared(
        Parameter("D", _size(most)),
        Parameter("S", Constant(tableau.stages)),
        Parameter("eta", Rational(above=0)),
        *constants,
        *blocks,
        Parameter("N", _fields_of(fields, P), order="N_1, …, N_S", layout=in_blocks("D")),
        rules=(short(MOST_LETTERS, "eta", "N"),),
    )


def _fields_of(fields: BlockFamily, P: Sequence[Sequence[Fraction]] | None) -> Kind:
    blocks = Matrix("S", lambda v: v["D"] ** 2)
    return fields.of(
        blocks if fields is not FREE else DrawnFalling(blocks, None if P is None else tuple(map(tuple, P)))
    )


def _size(limits: tuple[int, int]) -> Kind:
    least, most = limits
    return Constant(least) if least == most else Integer(least, most)


def _has_weight(reading: ContractionReading) -> bool:
    return reading.weighted or reading.norm == "weighted"


def _text(rows: Any) -> str:
    return " ".join(str(x) for row in rows for x in row)
