"""Feynman's clock Hamiltonian of a reversible Boolean circuit, exactly: H, its kernel, its spectrum, its terms.

Niu, Chuang, Horesh 2019, Theorem 5 and Appendix A, as reconstructed; proofs in docs/derivations/clock_hamiltonian.md.
Gates U_1 … U_T permute the words of n bits; on R^(2^n) ⊗ R^(T+1), |l⟩ the states of the clock, and for an input x,

    H = H_in + H_prop,      H_in = Σ_b |bit b ≠ x_b⟩⟨bit b ≠ x_b| ⊗ |0⟩⟨0|
    H_prop = ½ Σ_{l=1}^T ( I ⊗ |l⟩⟨l| + I ⊗ |l−1⟩⟨l−1| − U_l ⊗ |l⟩⟨l−1| − U_lᵀ ⊗ |l−1⟩⟨l| )

A word is an integer, bit b of it is (word >> b) & 1. Matrices are 2H, tuples of rows of integers; the place of
|word⟩ ⊗ |l⟩ in them is l 2^n + word. Energies of ψ' = −H ψ and of i ψ' = H ψ have the unit 1/time.

    >>> HALF_ADDER.run(0b011)[-1]  # carry 1, sum 0, first summand 1
    5
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from odernn.bounds.numbers import FLOATS, Numbers

__all__ = [
    "FULL_ADDER",
    "HALF_ADDER",
    "NOT",
    "Circuit",
    "Term",
    "controlled_not",
    "dense",
    "gap",
    "hamiltonian",
    "kernel",
    "propagation_spectrum",
    "terms",
]

Rows: TypeAlias = tuple[tuple[int, ...], ...]
Entries: TypeAlias = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class Circuit:
    """Gates in the order in which they act, each the tuple of the images of the words 0 … 2^bits − 1.

    Raises ValueError if there is no bit or no gate, or if a gate is no permutation of the words.
    """

    name: str
    bits: int
    gates: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if self.bits < 1 or not self.gates:
            raise ValueError(f'Circuit "{self.name}" has {self.bits} bits, {len(self.gates)} gates. Give one or more.')
        for number, gate in enumerate(self.gates, 1):
            if sorted(gate) != list(range(2**self.bits)):
                raise ValueError(
                    f'Circuit "{self.name}": gate {number} does not permute the {2**self.bits} words: only a '
                    "reversible gate is unitary. Make it reversible with one more bit, as controlled_not does."
                )

    @property
    def steps(self) -> int:
        """T, the number of gates."""
        return len(self.gates)

    @property
    def size(self) -> int:
        """2^n (T + 1), the dimension of the space of H."""
        return (1 << self.bits) * (self.steps + 1)

    def run(self, word: int) -> tuple[int, ...]:
        """x, U_1 x, U_2 U_1 x, …: T + 1 words."""
        words = [word]
        for gate in self.gates:
            words.append(gate[words[-1]])
        return tuple(words)


def controlled_not(bits: int, controls: Sequence[int], target: int) -> tuple[int, ...]:
    """The gate that inverts ``target`` where all ``controls`` are 1: NOT, CNOT, Toffoli for 0, 1, 2 controls.

    Raises ValueError if the target is a control or a bit does not exist.
    """
    used = (*controls, target)
    if len(set(used)) < len(used) or any(not 0 <= bit < bits for bit in used):
        raise ValueError(f"controls {tuple(controls)} and target {target} are not different bits of 0..{bits - 1}.")
    mask = sum(1 << bit for bit in controls)
    return tuple(word ^ (1 << target) if word & mask == mask else word for word in range(2**bits))


NOT = Circuit("not", 1, (controlled_not(1, (), 0),))
HALF_ADDER = Circuit("half adder", 3, (controlled_not(3, (0, 1), 2), controlled_not(3, (0,), 1)))
"""(a, b, 0) → (a, a + b mod 2, carry): T = 2, n = 3."""
FULL_ADDER = Circuit(
    "full adder",
    4,
    (
        controlled_not(4, (0, 1), 3),
        controlled_not(4, (0,), 1),
        controlled_not(4, (1, 2), 3),
        controlled_not(4, (1,), 2),
        controlled_not(4, (0,), 1),
    ),
)
"""(a, b, c, 0) → (a, b, a + b + c mod 2, carry): T = 5, n = 4; the last gate restores b."""


@dataclass(frozen=True)
class Term:
    """One summand of H, as the nonzero entries of its double."""

    name: str
    entries: Entries


def terms(circuit: Circuit, word: int, *, with_input: bool = True) -> tuple[Term, ...]:
    """The n terms of H_in, unless left out, and the T terms of H_prop, one a gate. Raises ValueError for no word."""
    words = 2**circuit.bits
    if not 0 <= word < words:
        raise ValueError(f'word is {word}, but circuit "{circuit.name}" has {circuit.bits} bits: words 0..{words - 1}.')
    summands = []
    for bit in range(circuit.bits if with_input else 0):
        wrong = (other for other in range(words) if (other ^ word) >> bit & 1)
        summands.append(Term(f"input bit {bit}", {(other, other): 2 for other in wrong}))
    for l, gate in enumerate(circuit.gates, 1):
        here, before = l * words, (l - 1) * words
        entries: dict[tuple[int, int], int] = {}
        for other, image in enumerate(gate):
            entries[here + other, here + other] = entries[before + other, before + other] = 1
            entries[here + image, before + other] = entries[before + other, here + image] = -1
        summands.append(Term(f"gate {l}", entries))
    return tuple(summands)


def dense(size: int, summands: Iterable[Term]) -> Rows:
    """The sum of terms as a (size × size) matrix."""
    rows = [[0] * size for _ in range(size)]
    for term in summands:
        for (row, column), value in term.entries.items():
            rows[row][column] += value
    return tuple(map(tuple, rows))


def hamiltonian(circuit: Circuit, word: int, *, with_input: bool = True) -> Rows:
    """2 H for the input ``word``, or 2 H_prop; integers, symmetric, positive semi-definite.   thm-clock"""
    return dense(circuit.size, terms(circuit, word, with_input=with_input))


def kernel(circuit: Circuit, word: int) -> tuple[int, ...]:
    """Σ_l U_l … U_1 |x⟩ ⊗ |l⟩, which spans the kernel of H.   thm-clock

    Its length is √(T+1); normalised, the part on |T⟩ is the output of the circuit times 1/√(T+1).
    """
    vector = [0] * circuit.size
    for l, reached in enumerate(circuit.run(word)):
        vector[l * 2**circuit.bits + reached] = 1
    return tuple(vector)


def gap(steps: int, numbers: Numbers = FLOATS) -> Any:
    """1 − cos(π/(2(T+1))) = 2 sin²(π/(4(T+1))), the smallest nonzero eigenvalue of H, T ≥ 1 gates, n ≥ 1.   thm-clock

    About π²/(8 (T+1)²). ψ' = −H ψ comes to the kernel at least as fast as e^(−gap·t). Not a logarithm.
    Raises ValueError for T < 1.
    """
    _checked(steps)
    sine = numbers.cos(numbers.pi() * (2 * steps + 1) / (4 * steps + 4))  # sin x = cos(π/2 − x), without 1 − 1
    return 2 * sine * sine


def propagation_spectrum(steps: int) -> tuple[float, ...]:
    """1 − cos(π k/(T+1)), k = 0 … T, the eigenvalues of H_prop, each 2^n times.   thm-clock

    Raises ValueError for T < 1.
    """
    _checked(steps)
    return tuple(2 * math.sin(math.pi * k / (2 * (steps + 1))) ** 2 for k in range(steps + 1))


def _checked(steps: int) -> None:
    if steps < 1:
        raise ValueError(f"steps is {steps}, but a clock needs at least one gate.")
