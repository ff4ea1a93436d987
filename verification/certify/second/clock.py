"""Clock Hamiltonians once more: in integers and fractions, from the gates alone, without the matrices of the library.

A gate is the tuple of the images of the words 0 … 2^n − 1; the place of a word at time l is l 2^n + word.

``kernel_of`` bounds the kernel of H from both sides: H v = 0 entry by entry, and elimination modulo a prime. A minor
that is not 0 modulo a prime is not 0, so the rank modulo the prime is a lower bound of the rank, and a kernel vector an
upper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

Gates: TypeAlias = tuple[tuple[int, ...], ...]
"""Of a circuit, in the order in which they act."""

PRIME = 2_147_483_647


def _bits(gates: Gates) -> int:
    return len(gates[0]).bit_length() - 1


def entries(gates: Gates, word: int, with_input: bool = True) -> dict[tuple[int, int], int]:
    """The nonzero entries of 2H, or of 2H_prop, gathered row by row: the path of the clock, the gates, the price of
    wrong bits.
    """
    words, T = len(gates[0]), len(gates)
    doubled: dict[tuple[int, int], int] = {}
    for l in range(T + 1):
        for x in range(words):
            here = l * words + x
            wrong = bin(x ^ word).count("1") if l == 0 and with_input else 0
            doubled[here, here] = (1 if l in (0, T) else 2) + 2 * wrong
            if l < T:
                there = (l + 1) * words + gates[l][x]
                doubled[here, there] = doubled[there, here] = -1
    return doubled


def is_symmetric(gates: Gates, word: int) -> bool:
    doubled = entries(gates, word)
    return all(doubled.get((j, i)) == value for (i, j), value in doubled.items())


def is_sum_of_squares(gates: Gates, word: int) -> bool:
    """Whether 2H = Σ_l Σ_x (e_(l, U_l x) − e_(l−1, x))(…)ᵀ + 2 Σ wrong bits e e ᵀ: then H ≥ 0."""
    words = len(gates[0])
    squares: dict[tuple[int, int], int] = {}
    for l, gate in enumerate(gates):
        for x, image in enumerate(gate):
            one, other = (l + 1) * words + image, l * words + x
            for i, sign in ((one, 1), (other, -1)):
                for j, second in ((one, 1), (other, -1)):
                    squares[i, j] = squares.get((i, j), 0) + sign * second
    for x in range(words):
        squares[x, x] = squares.get((x, x), 0) + 2 * sum((x >> b & 1) != (word >> b & 1) for b in range(_bits(gates)))
    return {k: v for k, v in squares.items() if v} == {k: v for k, v in entries(gates, word).items() if v}


def negative_pivots(gates: Gates, word: int, level: Fraction) -> int:
    """How many eigenvalues of H are below ``level``, by elimination without exchanges in fractions.

    2H − 2·level is block tridiagonal along the runs of the circuit: it is a direct sum of paths, one for each start,
    whose pivots are a recursion. A pivot of 0 raises ZeroDivisionError: then ``level`` is an eigenvalue of a minor.
    """
    count = 0
    doubled = entries(gates, word)
    words = len(gates[0])
    for start in range(words):
        x, pivot = start, Fraction(0)
        for l in range(len(gates) + 1):
            here = l * words + x
            diagonal = doubled[here, here] - 2 * level
            pivot = diagonal - (1 / pivot if l else 0)
            count += pivot < 0
            if l < len(gates):
                x = gates[l][x]
    return count


def kernel_places(gates: Gates, word: int) -> list[int]:
    """The words U_l … U_1 x, l = 0 … T, by looking each up."""
    reached = [word]
    while len(reached) <= len(gates):
        reached.append(gates[len(reached) - 1][reached[-1]])
    return reached


@lru_cache(maxsize=1024)
def kernel_of(gates: Gates, word: int, with_input: bool = True) -> tuple[bool, int]:
    """(whether H v = 0 for the closed form v, an upper bound of the dimension of the kernel), in integers."""
    words = len(gates[0])
    history = {l * words + place for l, place in enumerate(kernel_places(gates, word))}
    size = (len(gates) + 1) * words
    image = [0] * size
    rows: list[dict[int, int]] = [{} for _ in range(size)]
    for (row, column), value in entries(gates, word, with_input).items():
        image[row] += value * (column in history)
        rows[row][column] = value
    return not any(image), size - _rank_modulo_prime(rows)


def _rank_modulo_prime(rows: Sequence[dict[int, int]]) -> int:
    """By sparse elimination."""
    pivots: dict[int, dict[int, int]] = {}
    for row in rows:
        rest = {column: value % PRIME for column, value in row.items() if value % PRIME}
        while rest:
            column = min(rest)
            if column not in pivots:
                inverse = pow(rest[column], -1, PRIME)
                pivots[column] = {k: v * inverse % PRIME for k, v in rest.items()}
                break
            factor = rest[column]
            for k, v in pivots[column].items():
                reduced = (rest.get(k, 0) - factor * v) % PRIME
                if reduced:
                    rest[k] = reduced
                else:
                    rest.pop(k, None)
    return len(pivots)


def computed(name: str, word: int) -> int:
    """What a circuit computes, by arithmetic; defined where the last bit is free of other uses, and there as an xor."""
    bits = [word >> b & 1 for b in range(4)]
    match name:
        case "not":
            return word ^ 1
        case "half adder":
            a, b, c = bits[:3]
            total = a + b
            return a | (total % 2) << 1 | (c ^ total // 2) << 2
        case "full adder":
            a, b, c, d = bits
            total = a + b + c
            return a | b << 1 | (total % 2) << 2 | (d ^ total // 2) << 3
    raise ValueError(f"No circuit {name!r} is known here.")


def independent_terms(gates: Gates, word: int, with_input: bool) -> int:
    """The rank of the terms of H as vectors, in fractions: terms written down here once more."""
    words = len(gates[0])
    vectors: list[dict[tuple[int, int], Fraction]] = []
    if with_input:
        for b in range(_bits(gates)):
            vectors.append({(x, x): Fraction(1) for x in range(words) if (x >> b & 1) != (word >> b & 1)})
    for l, gate in enumerate(gates):
        vectors.append({((l + 1) * words + image, l * words + x): Fraction(-1, 2) for x, image in enumerate(gate)})
    rank, rows = 0, vectors
    while rows:
        first, *rows = rows
        if not first:
            continue
        rank += 1
        pivot, value = next(iter(first.items()))
        reduced = []
        for row in rows:
            factor = row.get(pivot, Fraction(0)) / value
            merged = {k: row.get(k, Fraction(0)) - factor * first.get(k, Fraction(0)) for k in {*row, *first}}
            reduced.append({k: v for k, v in merged.items() if v})
        rows = reduced
    return rank


# --- (38) and (39): the matrices of the clock as rows of integers


def _rows(steps: int, sign: int) -> list[list[int]]:
    rows = [[0] * (steps + 1) for _ in range(steps + 1)]
    for l in range(steps):
        rows[l + 1][l] = 1
        rows[l][l + 1] = sign
    return rows


def is_unitary(steps: int, sign: int) -> tuple[bool, str]:
    """Does it keep the length of every basis vector?"""
    lengths = [sum(row[k] ** 2 for row in _rows(steps, sign)) for k in range(steps + 1)]
    return any(length != 1 for length in lengths), f"lengths² of the images of |l⟩: {lengths}"


def is_nilpotent(steps: int, sign: int) -> tuple[bool, str]:
    """Strictly triangular."""
    wrong = [(i, j) for i, row in enumerate(_rows(steps, sign)) for j, x in enumerate(row) if x and i <= j]
    return bool(wrong), "strictly lower triangular" if not wrong else f"entries at {wrong}"


def is_hermitian(steps: int, sign: int) -> tuple[bool, str]:
    rows = _rows(steps, sign)
    wrong = [(i, j) for i, row in enumerate(rows) for j, x in enumerate(row) if rows[j][i] != x]
    return bool(wrong), f"{len(wrong)} entries differ from those of the transpose"


def has_cosines(steps: int, sign: int, ends: int = 2) -> tuple[bool, str]:
    """Every k = 1 … T + 1 has an eigenvector, A v = (ζ^k + ζ^−k) v: v_l = ζ^(k(l+1)) − ζ^(−k(l+1)), ζ^(2(T+ends)) = 1.

    In the group ring of Z/2(T + ends): lists of integers, exact. The cosines are different, so that these are all.
    """
    period, rows = 2 * (steps + ends), _rows(steps, sign)

    def power(exponent: int, factor: int = 1) -> list[int]:
        return [factor * int(place == exponent % period) for place in range(period)]

    def plus(*terms: list[int]) -> list[int]:
        return [sum(entries) for entries in zip(*terms, strict=True)]

    def turned(x: list[int], by: int) -> list[int]:
        return [x[(place - by) % period] for place in range(period)]

    wrong = []
    for k in range(1, steps + 2):
        v = [plus(power(k * (l + 1)), power(-k * (l + 1), -1)) for l in range(steps + 1)]
        images = [plus(*([a * y for y in x] for a, x in zip(row, v, strict=True))) for row in rows]
        if images != [plus(turned(x, k), turned(x, -k)) for x in v]:
            wrong.append(k)
    text = f"no eigenvector for k = {wrong}" if wrong else f"an eigenvector for each of {steps + 1} cosines"
    return bool(wrong), text


def is_imaginary(steps: int, sign: int) -> tuple[bool, str]:
    """trace A² = Σ λ²: positive for real eigenvalues that are not all 0; and Aᵀ = −A has imaginary ones only."""
    rows, size = _rows(steps, sign), steps + 1
    trace = sum(rows[i][k] * rows[k][i] for i in range(size) for k in range(size))
    return trace > 0, f"trace A² = {trace}"
