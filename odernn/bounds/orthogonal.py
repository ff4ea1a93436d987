"""What bounded entries of a skew-symmetric A buy: norm, condition, eigen-angles; and what a large angle costs.

W = C(A) D, C(A) = (I + A)⁻¹(I − A), Aᵀ = −A of size n. Proofs in docs/derivations/scaled_cayley.md; names of the
theorems are those of that page. Natural logarithms, over a number namespace: ``numbers.FLOATS`` or ``numbers.BALLS``.

    size         n ≥ 2, an integer
    log_entry    log max |a_ij|, of real A; 0 for the representation that ``odernn.orthogonal.cayley`` finds
    angle        largest modulus φ of an eigen-angle of C(A), 0 < φ < π, a number of the namespace
"""

from __future__ import annotations

from typing import Any

from odernn.bounds.numbers import FLOATS, Exact, Numbers
from odernn.exact.integers import positive_integer


def log_spectral_norm(*, size: int, log_entry: Exact = 0, numbers: Numbers = FLOATS) -> Any:
    """log of max |a_ij| cot(π/(2n)), a bound on ‖A‖₂.   thm-SC-norm

    Attained for every n by a_ij = max |a_ij| sign(j − i). Raises ValueError for n < 2.
    """
    return numbers.exact(log_entry) + numbers.log(_cotangent_of_half_step(size, numbers))


def log_condition(*, size: int, log_entry: Exact = 0, numbers: Numbers = FLOATS) -> Any:
    """log of √(1 + ‖A‖₂²) with ``log_spectral_norm``, a bound on κ₂(I + A); 1/sin(π/(2n)) ≤ n at max |a_ij| = 1.
    thm-SC-norm

    Attained where A has the eigenvalue 0 too: for odd n by the matrix of ``log_spectral_norm``.
    """
    log_square = 2 * log_spectral_norm(size=size, log_entry=log_entry, numbers=numbers)
    return numbers.log_add_exp(numbers.exact(0), log_square) / 2


def log_largest_angle(*, size: int, numbers: Numbers = FLOATS) -> Any:
    """log of π − π/n, a bound on the eigen-angles of C(A) if all |a_ij| ≤ 1.   thm-SC-norm"""
    return numbers.log(numbers.pi() - numbers.pi() / numbers.exact(_checked(size)))


def log_smallest_entry(*, angle: Any, size: int, numbers: Numbers = FLOATS) -> Any:
    """log of tan(φ/2) tan(π/(2n)): every A whose C(A) has an eigen-angle φ has max |a_ij| at least that.
    thm-SC-norm

    The least that is possible: the matrix of ``log_spectral_norm``, scaled, has just that. At n = 2 it is tan(φ/2).
    """
    return _log_tangent(angle / 2, numbers) - numbers.log(_cotangent_of_half_step(size, numbers))


def log_simple_smallest_entry(*, angle: Any, size: int, numbers: Numbers = FLOATS) -> Any:
    """log of tan(φ/2)/(n − 1), by row sums: at most ``log_smallest_entry``, with equality at n = 2.   thm-SC-norm"""
    return _log_tangent(angle / 2, numbers) - numbers.log(numbers.exact(_checked(size) - 1))


def log_most_flips(*, size: int, log_tau: Exact, numbers: Numbers = FLOATS) -> Any:
    """log of n log 2/(2 log τ), a bound on the exchanges of ``odernn.orthogonal.cayley.pair_flips`` after ``lu_signs``.
    thm-SC-exist

    Every exchange multiplies det(I + W D), which starts at 1 or more and never exceeds 2ⁿ, by more than τ². Raises
    ValueError unless τ > 1: at τ = 1 the number is finite, at most 2ⁿ⁻¹.
    """
    if not log_tau > 0:
        raise ValueError(f"log_tau is {log_tau}: the bound is for tau > 1. At tau = 1 there are at most 2^(n-1) flips.")
    log_two = numbers.log(numbers.exact(2))
    return numbers.log(numbers.exact(_checked(size)) * log_two / (2 * numbers.exact(log_tau)))


def log_complex_entry(*, numbers: Numbers = FLOATS) -> Any:
    """log √2: for unitary W, D in {±1}ⁿ can be chosen with |a_jj| ≤ 1 and |a_jk| ≤ √2.   thm-SC-comp

    Attained: for W = C(A), A = [[i, 1 + i], [−1 + i, i]], no D in {±1}² does better.
    """
    return numbers.log(numbers.exact(2)) / 2


def _cotangent_of_half_step(size: int, numbers: Numbers) -> Any:
    """cot(π/(2n)) = cos(π/(2n))/cos(π/2 − π/(2n))."""
    step = numbers.pi() / numbers.exact(2 * _checked(size))
    return numbers.cos(step) / numbers.cos(numbers.pi() / 2 - step)


def _log_tangent(x: Any, numbers: Numbers) -> Any:
    return numbers.log(numbers.cos(numbers.pi() / 2 - x)) - numbers.log(numbers.cos(x))


def _checked(size: int) -> int:
    positive_integer("size", size)
    if size < 2:
        raise ValueError(f"size is {size}, but a skew-symmetric matrix with an entry has n >= 2 rows.")
    return size
