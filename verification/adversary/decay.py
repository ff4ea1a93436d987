"""Inputs whose contributions decay: a word in B(α + w σ′) made rational, last steps that turn e_y onto its eigenvector.

Everything is exact: a row e_y B_n ⋯ B_j is carried back in time, q ← q + h p, p ← p − h κ q, and slopes σ′ ∈ (0, 1] are
rational. det B = 1, so a word that stretches one row shrinks another, its contracting left eigenvector, as fast; along
it the row is λ^m after m periods, for every m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from verification.adversary import words

ROTATING = Fraction(1, 9)
"""Slope of the nearly saturated steps that turn the row e_y B_n ⋯ B_j until it can be tuned."""
MOST_TURNS = 200
SATURATED = Fraction(1, 50)
"""The slope of the saturated steps of a word: tanh A = −0.99."""
MOST_CHANGED = Fraction(1, 5)
"""A saturated step stays nearly saturated when its slope is changed to make an eigenvalue rational."""
MOST_DENOMINATOR = 1000
GRID = 16
"""w is rounded to sixteenths of α."""
PERIODS = 24
"""Of the words that the inputs to certify hold."""
NO_RATE = 1e-9
"""Per step; below it a word rotates, and its rate is rounding."""


@dataclass(frozen=True)
class Decaying:
    """At ``w``: log of the factor by which a period shrinks the row, and exact parameters, none if none were found."""

    w: Fraction
    log_factor: float
    text: str
    evaluations: int
    parameters: tuple[dict[str, str], ...]


def along(alpha: Fraction, h: Fraction, near: float) -> Decaying:
    """The fastest word at a rational w near ``near`` in (−α, 0), and its inputs."""
    w = alpha * min(
        max(Fraction(round(GRID * near / float(alpha)), GRID), Fraction(1 - GRID, GRID)), Fraction(-1, GRID)
    )
    word = words.search(float(alpha + w), float(alpha + w * SATURATED), float(h))
    if word.rate <= NO_RATE:
        return Decaying(w, 0.0, "no decay found", word.evaluations, ())
    slopes, eigenvalue = rational_word(alpha, w, h, [SATURATED if letter else Fraction(1) for letter in word.letters])
    text = f"factor {math.exp(-word.rate):.6g} a step of n − k: word {word.text}, 1 saturated"
    parameters = inputs_of(alpha, w, h, slopes, eigenvalue) if slopes else None
    exact = (parameters,) if parameters else ()
    return Decaying(w, word.rate * len(word.letters), text, word.evaluations, exact)


def tail_to(alpha: Fraction, w: Fraction, h: Fraction, ratio: Fraction) -> list[Fraction]:
    """Slopes of the last steps, in order of time, after which e_y B_n ⋯ B_j has p_y/p_z = ``ratio``; [] if none."""
    p, q = Fraction(1), Fraction(0)
    backwards: list[Fraction] = []
    for _ in range(MOST_TURNS):
        q_next = q + h * p
        slope = ((p / q_next - ratio) / h - alpha) / w  # then p_y = p − h κ q_next is ratio times q_next
        if 0 < slope <= 1:
            return [slope, *backwards[::-1]]
        q = q_next
        p = p - h * (alpha + w * ROTATING) * q
        backwards.append(ROTATING)
    return []


def period_matrix(alpha: Fraction, w: Fraction, h: Fraction, word: list[Fraction]) -> list[list[Fraction]]:
    """B_last ⋯ B_first over Q for the slopes of one period, in order of time."""
    rows = []
    for p, q in ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))):
        for slope in reversed(word):
            q = q + h * p
            p = p - h * (alpha + w * slope) * q
        rows.append([p, q])
    return rows


def rational_word(alpha: Fraction, w: Fraction, h: Fraction, word: list[Fraction]) -> tuple[list[Fraction], Fraction]:
    """The word with one slope below 1 changed so that its matrix has a rational eigenvalue λ, and λ; ([], 0) if none.

    det = 1, and the trace is affine in every slope: trace = λ + 1/λ is solved for the slope, λ near the eigenvalue.
    """
    trace = [period_matrix(alpha, w, h, word)[i][i] for i in (0, 1)]
    sign = 1 if sum(trace) > 0 else -1
    half = abs(float(sum(trace))) / 2
    if half <= 1:
        return [], Fraction(0)
    near = half - math.sqrt(half * half - 1)
    for index in (i for i, slope in enumerate(word) if slope < 1):
        at = []
        for slope in (Fraction(0), Fraction(1)):
            matrix = period_matrix(alpha, w, h, [*word[:index], slope, *word[index + 1 :]])
            at.append(matrix[0][0] + matrix[1][1])
        for denominator in range(2, MOST_DENOMINATOR):
            for numerator in (math.floor(near * denominator), math.ceil(near * denominator)):
                if not 0 < numerator < denominator or at[0] == at[1]:
                    continue
                eigenvalue = sign * Fraction(numerator, denominator)
                slope = (eigenvalue + 1 / eigenvalue - at[0]) / (at[1] - at[0])
                if 0 < slope <= MOST_CHANGED:
                    return [*word[:index], slope, *word[index + 1 :]], eigenvalue
    return [], Fraction(0)


def inputs_of(
    alpha: Fraction, w: Fraction, h: Fraction, word: list[Fraction], eigenvalue: Fraction
) -> dict[str, str] | None:
    """α, w, the word, the tail and the number of steps as text; None if no tail of MOST_TURNS steps meets a vector.

    The word may begin at any of its letters: the one with the shortest tail is taken.
    """
    shortest: tuple[list[Fraction], list[Fraction]] | None = None
    for shift in range(len(word)):
        turned = word[shift:] + word[:shift]
        matrix = period_matrix(alpha, w, h, turned)
        if not matrix[0][1]:
            continue
        tail = tail_to(alpha, w, h, (eigenvalue - matrix[1][1]) / matrix[0][1])  # p M_12 = (λ − M_22) q
        if tail and (shortest is None or len(tail) < len(shortest[1])):
            shortest = turned, tail
    if shortest is None:
        return None
    turned, tail = shortest
    steps = 1 + PERIODS * len(word) + len(tail)
    lists = {name: " ".join(map(str, values)) for name, values in (("word", turned), ("tail", tail))}
    return {"alpha": str(alpha), "w": str(w), "steps": str(steps), **lists}
