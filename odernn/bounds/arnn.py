"""Powers of one step of antisymmetric networks, slopes held fixed: radii, thresholds, and drives that break them.

Niu, Chuang, Horesh 2019 (ARNN), Theorem 2; proofs in docs/derivations/arnn.md. A mode iλ of an anti-Hermitian weight,
slope s, step η: a = η s |λ|. Its step is a 2 × 2 matrix, and of determinant 1 for the two ARNNs:

    symplectic_euler    p₊ = p − a q, q₊ = q + a p₊               trace 2 − a²     bounded powers iff a < 2
    leapfrog            y₊ = y₋ + 2 i a y, divided by i           trace 2 a        bounded powers iff a < 1
    forward_euler       y₊ = (1 + i a) y                          modulus² 1 + a²  never
    explicit_midpoint   y₊ = (1 + i a − a²/2) y                   modulus² 1 + a⁴/4  never
    implicit_midpoint   y₊ = (1 + i a/2)/(1 − i a/2) y            modulus 1        always

All of a > 0. These are statements about *constant* slopes: ``resonant_word`` gives slopes 0 and s that change in time
and whose product grows, for every a > 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from odernn.bounds.numbers import FLOATS, Numbers

if TYPE_CHECKING:
    from odernn.cells.arnn_1_2 import ARNN12Layer
    from odernn.cells.arnn_2_2 import LeapfrogLayer
    from odernn.certificate import Certificate

Scheme: TypeAlias = Literal["symplectic_euler", "leapfrog", "forward_euler", "explicit_midpoint", "implicit_midpoint"]
Matrix: TypeAlias = tuple[tuple[Any, Any], tuple[Any, Any]]

THRESHOLDS: Mapping[Scheme, float] = {
    "symplectic_euler": 2.0,
    "leapfrog": 1.0,
    "forward_euler": 0.0,
    "explicit_midpoint": 0.0,
    "implicit_midpoint": math.inf,
}
"""Powers of the step of a mode stay bounded iff 0 < a < this; at it they grow linearly (a = 0 apart)."""


def step_matrix(scheme: Scheme, a: Any) -> Matrix:
    """The step of a mode as a real 2 × 2 matrix, over any ring with 1/2 (implicit_midpoint: any field).

    symplectic_euler on (p, q); leapfrog on (y_l, y_{l−1}) as i times [[2a, −1], [1, 0]] in the basis (y_l, i y_{l−1}):
    this returns the real factor, whose powers have the same moduli. The others are (1 + …) as [[re, −im], [im, re]].

    Raises ValueError for an unknown scheme.
    """
    one = 0 * a + 1
    if scheme == "symplectic_euler":
        return (one, -a), (a, one - a * a)
    if scheme == "leapfrog":
        return (2 * a, -one), (one, 0 * a)
    if scheme == "forward_euler":
        return (one, -a), (a, one)
    if scheme == "explicit_midpoint":
        real = one - a * a / 2
        return (real, -a), (a, real)
    if scheme == "implicit_midpoint":
        length = 4 + a * a
        real, imaginary = (4 - a * a) / length, 4 * a / length
        return (real, -imaginary), (imaginary, real)
    raise ValueError(f"scheme is {scheme!r}. Choose from: {', '.join(THRESHOLDS)}.")


def log_radius(scheme: Scheme, a: Any, numbers: Numbers = FLOATS) -> Any:
    """Natural logarithm of the spectral radius of the step of a mode.   thm-ARNN

        symplectic_euler   2 log(h + √(h² − 1)), h = max(a/2, 1)           leapfrog   log(h + √(h² − 1)), h = max(a, 1)
        forward_euler      log(1 + a²)/2      explicit_midpoint   log(1 + a⁴/4)/2      implicit_midpoint   0

    a ≥ 0 is a number of the namespace; of floats an array may be given. Raises ValueError for an unknown scheme.
    """
    if scheme == "symplectic_euler":
        return 2 * _log_of_larger_root(a / 2, numbers)
    if scheme == "leapfrog":
        return _log_of_larger_root(a, numbers)
    if scheme == "forward_euler":
        return numbers.log(1 + a * a) / 2
    if scheme == "explicit_midpoint":
        return numbers.log(1 + a * a * a * a / 4) / 2
    if scheme == "implicit_midpoint":
        return 0 * a
    raise ValueError(f"scheme is {scheme!r}. Choose from: {', '.join(THRESHOLDS)}.")


def _log_of_larger_root(h: Any, numbers: Numbers) -> Any:
    """log(h + √(h² − 1)) of max(h, 1): the roots of x² − 2 h x + 1."""
    h = numbers.maximum(h, numbers.exact(1))
    return numbers.log(h + numbers.root_of_positive_part((h - 1) * (h + 1)))


def largest_damped_step(gamma: Any, frequency: Any) -> Any:
    """2 γ/(γ² + λ²): forward Euler of y' = (iλ − γ) y does not grow iff η is at most this.   thm-ARNN

    γ ≥ 0 and λ are numbers of any one kind, exact ones too; not both 0.
    """
    return 2 * gamma / (gamma * gamma + frequency * frequency)


def resonant_word(scheme: Scheme, a: Fraction | int) -> tuple[tuple[int, ...], ...]:
    """Slopes 0 or 1 (times s) of as many steps as there are entries, whose product has an eigenvalue outside the unit
    circle: for every a > 0, however small.   thm-ARNN-drive

        symplectic_euler   (1, 1), (0, 1), …, (0, 1)     m steps, slopes of (p, q): the product is that of one step with
                           two slopes of product m, trace 2 − m a² < −2: m is the least integer with m a² > 4
        leapfrog           1, then m − 1 times 0, 1      2m − 1 steps: the product is that of one step with m a in place
                           of a, m the least integer with m a > 1

    Raises ValueError for a ≤ 0 and for another scheme.
    """
    if a <= 0:
        raise ValueError(f"a is {a}, but a = η s |λ| > 0: a mode that does not turn has no resonance.")
    if scheme == "symplectic_euler":
        return ((1, 1), *((0, 1),) * math.floor(4 / Fraction(a) ** 2))
    if scheme == "leapfrog":
        return ((1,), *((0,), (1,)) * math.floor(1 / Fraction(a)))
    raise ValueError(f'scheme is {scheme!r}. Words are known of "symplectic_euler" and "leapfrog".')


def frozen_slopes(layer: ARNN12Layer | LeapfrogLayer) -> Certificate:
    """Whether η max|λ| of the layer's weight, as it is now, is below the threshold of its scheme.   thm-ARNN, L_s = 1

    Then powers of the step at constant slopes in (0, 1] are bounded, those of the leapfrog at equal slopes in time. It
    is decided exactly for the floats that are stored (η, and the free entries of the weight): θ² I − η² WᵀW > 0, θ = 2
    or 1, by its rational pivots; ``margin`` is the smallest pivot. Its ``holds`` is False also at the threshold, where
    powers grow at slopes 1. Of slopes that change with time it says nothing: see ``resonant_word``.

    Raises TypeError for another layer.
    """
    from flint import fmpq

    from odernn.cells.arnn_1_2 import ARNN12Layer, symmetric
    from odernn.cells.arnn_2_2 import LeapfrogLayer
    from odernn.certificate import Certificate
    from odernn.exact.linear_algebra import diagonalise, entrywise, product, transposed
    from odernn.orthogonal.cayley import skew

    if isinstance(layer, ARNN12Layer):
        scheme: Scheme = "symplectic_euler"
        weight = symmetric(layer.free.detach(), layer.hidden_size)
    elif isinstance(layer, LeapfrogLayer):
        scheme, weight = "leapfrog", skew(layer.free.detach(), layer.hidden_size)
    else:
        raise TypeError(f"frozen_slopes has no threshold for {type(layer).__name__}. Give a layer of ARNN12 or ARNN22.")

    def exact(value: float) -> Any:
        return fmpq(*value.as_integer_ratio())

    W = tuple(tuple(map(exact, row)) for row in weight.tolist())
    square = exact(float(layer.dt)) ** 2
    level = exact(THRESHOLDS[scheme]) ** 2
    size = len(W)
    bound = tuple(tuple(level if i == j else fmpq(0) for j in range(size)) for i in range(size))
    form = entrywise(lambda x, y: x - square * y, bound, product(transposed(W), W))
    pivots = diagonalise(form).pivots
    smallest = min(pivots)
    margin = Fraction(int(smallest.p), int(smallest.q))
    return Certificate(
        f"dt max|λ| < {THRESHOLDS[scheme]:g}",
        bool(smallest > 0),
        True,
        None,
        f"{THRESHOLDS[scheme]:g}² I − dt² WᵀW has the smallest pivot {float(margin):.6g}",
        margin=margin,
    )
