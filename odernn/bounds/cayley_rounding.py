"""How orthogonal a computed W is.   thm-O-float, docs/derivations/orthogonality_in_floats.md

The *score* of W is ‖WᵀW − I‖_F. Three bounds, as natural logarithms, for W ≈ C(A) D, C(A) = (I + A)⁻¹(I − A), Aᵀ = −A:

    from the residual    whatever computed W: R = (I − A)D − (I + A)W gives 2r + r², r = ‖R‖_F
    from the solver      columns with backward errors ≤ η‖I + A‖₂: δ = η κ √n/(1 − η κ) gives 2δ + δ²
    multiplicative       W_{k+1} = Q_k W_k + F_k, Q_k orthogonal: δ_k = δ_0 + Σ‖F_j‖_F gives 2δ_k + δ_k²

The first two do not depend on how many updates went before: W is made anew from A. The third grows with k.
"""

from __future__ import annotations

from typing import Any

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.exact.integers import positive_integer

__all__ = [
    "log_accumulated_score",
    "log_expected_score",
    "log_score_from_backward_error",
    "log_score_from_distance",
    "log_score_from_residual",
]

TYPICAL = 5
"""The constant of ``log_expected_score``: from measurements, not from a proof."""


def log_score_from_distance(distance: Any, *, numbers: Numbers = FLOATS) -> Any:
    """log of 2δ + δ²: ‖WᵀW − I‖_F for a W within δ = ``distance`` > 0 (Frobenius) of an orthogonal matrix."""
    return numbers.log(distance) + numbers.log(2 + distance)


def log_score_from_residual(residual: Any, *, numbers: Numbers = FLOATS) -> Any:
    """log of 2r + r², r = ‖(I − A)D − (I + A)W‖_F > 0 of the W at hand.   thm-O-float (a)

    No hypothesis on the solver: ‖(I + A)⁻¹‖₂ ≤ 1 for every skew-symmetric A, so W is within r of C(A) D. Form the
    residual exactly, or in more digits than W has.
    """
    return log_score_from_distance(residual, numbers=numbers)


def log_score_from_backward_error(n: int, *, backward_error: Any, condition: Any, numbers: Numbers = FLOATS) -> Any:
    """log of 2δ + δ², δ = η κ √n/(1 − η κ).   thm-O-float (b)

    Every column of W solves a system whose matrix is off by at most η ‖I + A‖₂, η = ``backward_error``; κ =
    ``condition`` ≥ κ₂(I + A). For |a_ij| ≤ 1, κ ≤ n (thm-SC-norm). Numbers of the namespace. ValueError unless η κ < 1
    is certain: beyond, the solver guarantees nothing.
    """
    positive_integer("n", n)
    product = backward_error * condition
    if not product < 1:
        raise ValueError(
            f"backward_error · condition is {product}, not below 1: I + A is singular to working precision and nothing "
            "follows. Bring max|a_ij| down (odernn.orthogonal.resigning.re_sign), or use a wider dtype."
        )
    return log_score_from_distance(product * numbers.sqrt(numbers.exact(n)) / (1 - product), numbers=numbers)


def log_accumulated_score(*, start: Any, errors: Any, numbers: Numbers = FLOATS) -> Any:
    """log of 2δ + δ², δ = start + errors: after multiplicative updates with rounding errors F_j.   thm-O-float (c)

    start   ‖W_0 − orthogonal‖_F;  errors  Σ_j ‖F_j‖_F, k · f if every update is off by at most f. Their sum is > 0.
    """
    return log_score_from_distance(start + errors, numbers=numbers)


def log_expected_score(n: int, *, eps: Any, condition: Any, numbers: Numbers = FLOATS) -> Any:
    """log of 5 √n eps κ(I + A), eps = 2u: what scaled Cayley matrices keep below in practice, while eps κ < 1, n ≤ 512.

    Not proved: partial pivoting has no better proof than ``log_score_from_backward_error`` with an η that is u times a
    power of n and the growth of pivots. Use a solver that works in the dtype of W.
    """
    positive_integer("n", n)
    return numbers.log(TYPICAL * eps * condition) + numbers.log(numbers.exact(n)) / 2
