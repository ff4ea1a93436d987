"""Clock Hamiltonians once more: in integers and fractions, from the circuit alone, without the matrices of the library.

Places are l 2^n + word, as in ``verification.measure.clock_hamiltonian``.
"""

from __future__ import annotations

from fractions import Fraction

from verification.measure.clock_hamiltonian import Circuit
from verification.question import Decided


def entries(circuit: Circuit, word: int, with_input: bool = True) -> dict[tuple[int, int], int]:
    """The nonzero entries of 2H, or of 2H_prop, gathered row by row: the path of the clock, the gates, the price of
    wrong bits.
    """
    words, T = 2**circuit.bits, circuit.steps
    found: dict[tuple[int, int], int] = {}
    for l in range(T + 1):
        for x in range(words):
            here = l * words + x
            wrong = bin(x ^ word).count("1") if l == 0 and with_input else 0
            found[here, here] = (1 if l in (0, T) else 2) + 2 * wrong
            if l < T:
                there = (l + 1) * words + circuit.gates[l][x]
                found[here, there] = found[there, here] = -1
    return found


def is_symmetric(circuit: Circuit, word: int) -> bool:
    found = entries(circuit, word)
    return all(found.get((j, i)) == value for (i, j), value in found.items())


def is_sum_of_squares(circuit: Circuit, word: int) -> bool:
    """Whether 2H = Σ_l Σ_x (e_(l, U_l x) − e_(l−1, x))(…)ᵀ + 2 Σ wrong bits e e ᵀ: then H ≥ 0."""
    words = 2**circuit.bits
    found: dict[tuple[int, int], int] = {}
    for l, gate in enumerate(circuit.gates):
        for x, image in enumerate(gate):
            one, other = (l + 1) * words + image, l * words + x
            for i, sign in ((one, 1), (other, -1)):
                for j, second in ((one, 1), (other, -1)):
                    found[i, j] = found.get((i, j), 0) + sign * second
    for x in range(words):
        found[x, x] = found.get((x, x), 0) + 2 * sum((x >> b & 1) != (word >> b & 1) for b in range(circuit.bits))
    return {k: v for k, v in found.items() if v} == {k: v for k, v in entries(circuit, word).items() if v}


def negative_pivots(circuit: Circuit, word: int, level: Fraction) -> int:
    """How many eigenvalues of H are below ``level``, by elimination without exchanges in fractions.

    2H − 2·level is block tridiagonal along the runs of the circuit: it is a direct sum of paths, one for each start,
    whose pivots are a recursion. A pivot of 0 raises ZeroDivisionError: then ``level`` is an eigenvalue of a minor.
    """
    count = 0
    found = entries(circuit, word)
    words = 2**circuit.bits
    for start in range(words):
        x, pivot = start, Fraction(0)
        for l in range(circuit.steps + 1):
            here = l * words + x
            diagonal = found[here, here] - 2 * level
            pivot = diagonal - (1 / pivot if l else 0)
            count += pivot < 0
            if l < circuit.steps:
                x = circuit.gates[l][x]
    return count


def kernel_places(circuit: Circuit, word: int) -> list[int]:
    """The words U_l … U_1 x, l = 0 … T, by looking each up."""
    found = [word]
    while len(found) <= len(circuit.gates):
        found.append(circuit.gates[len(found) - 1][found[-1]])
    return found


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


def independent_terms(circuit: Circuit, word: int, with_input: bool) -> int:
    """The rank of the terms of H as vectors, in fractions: terms written down here once more."""
    words = 2**circuit.bits
    vectors: list[dict[tuple[int, int], Fraction]] = []
    if with_input:
        for b in range(circuit.bits):
            vectors.append({(x, x): Fraction(1) for x in range(words) if (x >> b & 1) != (word >> b & 1)})
    for l, gate in enumerate(circuit.gates):
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


def is_unitary(steps: int, sign: int) -> Decided:
    """Does it keep the length of every basis vector?"""
    lengths = [sum(row[k] ** 2 for row in _rows(steps, sign)) for k in range(steps + 1)]
    return Decided(any(length != 1 for length in lengths), f"lengths² of the images of |l⟩: {lengths}")


def is_nilpotent(steps: int, sign: int) -> Decided:
    """Strictly triangular."""
    wrong = [(i, j) for i, row in enumerate(_rows(steps, sign)) for j, x in enumerate(row) if x and i <= j]
    return Decided(bool(wrong), "strictly lower triangular" if not wrong else f"entries at {wrong}")


def is_hermitian(steps: int, sign: int) -> Decided:
    rows = _rows(steps, sign)
    wrong = [(i, j) for i, row in enumerate(rows) for j, x in enumerate(row) if rows[j][i] != x]
    return Decided(bool(wrong), f"{len(wrong)} entries differ from those of the transpose")


def is_imaginary(steps: int, sign: int) -> Decided:
    """trace A² = Σ λ²: positive for real eigenvalues that are not all 0; and Aᵀ = −A has imaginary ones only."""
    rows, size = _rows(steps, sign), steps + 1
    trace = sum(rows[i][k] * rows[k][i] for i in range(size) for k in range(size))
    return Decided(trace > 0, f"trace A² = {trace}")
