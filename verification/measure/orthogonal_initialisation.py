"""The spectrum of W = C(A) D at scoRNN's initialisation, exactly.   thm-init

    A = blockdiag([[0, s_j], [−s_j, 0]], ..) and a 0 if n is odd,   s_j = tan(t_j/2),   t_j ~ U[0, π/2],   D = diag(±1)

W is block diagonal, too. By the signs of D on a 2x2 block its eigenvalues are

    + +   e^{±it}                a rotation by t
    − −   −e^{±it}               the same reflected across the imaginary axis
    + −   1 and −1               a reflection, whatever t is

Helfrich, Willmott, Ye 2018, Sec. 4.2; ``odernn.orthogonal.cayley.block_angles`` and ``signs_of`` make A and D.
Proofs: docs/derivations/orthogonal_initialisation.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.exact.integers import positive_integer

__all__ = ["Blocks", "SpectralLaw", "eigen_angles", "kolmogorov_distance", "log_failure_probability", "spectral_law"]


@dataclass(frozen=True)
class Blocks:
    """How many 2x2 blocks have both signs +1, both −1, and one of each; the sign of the last 1x1 block, 0 if none."""

    kept: int
    reflected: int
    mixed: int
    last: int

    @classmethod
    def of(cls, signs: Sequence[int]) -> Blocks:
        """Of the diagonal of D. Raises ValueError for anything but ±1."""
        if any(sign not in (1, -1) for sign in signs) or not len(signs):
            raise ValueError(f"signs is {list(signs)!r}, but the diagonal of D holds +1 and -1. See signs_of(n, rho).")
        pairs = Counter(sum(pair) for pair in zip(signs[0::2], signs[1::2], strict=False))
        return cls(pairs[2], pairs[-2], pairs[0], int(signs[-1]) if len(signs) % 2 else 0)

    @property
    def size(self) -> int:
        """n."""
        return 2 * (self.kept + self.reflected + self.mixed) + abs(self.last)

    @property
    def left(self) -> int:
        """How many eigenvalues have a negative real part, whatever the t_j in [0, π/2) are: the number of −1s in D."""
        return 2 * self.reflected + self.mixed + (self.last == -1)


@dataclass(frozen=True)
class SpectralLaw:
    """The law of the angle, in (−π, π], of an eigenvalue of W taken at random: four arcs and two atoms.

    right   probability of |angle| < π/2, where the angle is uniform (atom at 0 not counted)
    left    of |angle| > π/2, uniform, too (atom at π not counted)
    at_one, at_minus_one   the atoms: eigenvalues 1 and −1
    """

    right: Fraction
    left: Fraction
    at_one: Fraction
    at_minus_one: Fraction

    @property
    def is_uniform(self) -> bool:
        """Uniform on the whole circle."""
        return self.right == self.left == Fraction(1, 2)

    @property
    def is_uniform_on_the_right(self) -> bool:
        """Uniform on the right half circle."""
        return self.right == 1

    @property
    def distance(self) -> Fraction:
        """sup |F(x) − G(x)| for the distribution functions F of the angle and G of the uniform law on (−π, π].

        Both are piecewise linear, with ends at ±π/2, at 0 and at π: one of these has the largest difference, on one
        of its sides.
        """
        quarter = Fraction(1, 4)
        below = [self.left / 2, self.left / 2 + self.right / 2]  # F at −π/2 and just before 0
        at = [below[0], below[1] + self.at_one, below[1] + self.at_one + self.right / 2]  # .. and at 0, at π/2
        before_pi = at[2] + self.left / 2
        return max(
            abs(at[0] - quarter),
            abs(below[1] - 2 * quarter),
            abs(at[1] - 2 * quarter),
            abs(at[2] - 3 * quarter),
            abs(before_pi - 1),
        )


def spectral_law(blocks: Blocks) -> SpectralLaw:
    """The law of the angle of a random eigenvalue over t_j ~ U[0, π/2] and the choice of the eigenvalue.   thm-init"""
    n = blocks.size
    positive_integer("the size of blocks", n)
    return SpectralLaw(
        Fraction(2 * blocks.kept, n),
        Fraction(2 * blocks.reflected, n),
        Fraction(blocks.mixed + (blocks.last == 1), n),
        Fraction(blocks.mixed + (blocks.last == -1), n),
    )


def eigen_angles(t: NDArray[np.float64], signs: Sequence[int]) -> NDArray[np.float64]:
    """All n eigen-angles of C(A) D in (−π, π], sorted; t (⌊n/2⌋,), signs (n,).   thm-init

    Raises ValueError when the lengths do not fit.
    """
    n = len(signs)
    if len(t) != n // 2:
        raise ValueError(f"t has {len(t)} angles, but n = {n} signs make {n // 2} blocks. Give one angle a block.")
    first, second = np.asarray(signs[0 : n - 1 : 2]), np.asarray(signs[1::2])
    upper = np.where(first != second, math.pi, np.where(first > 0, t, math.pi - t))
    lower = np.where(first != second, 0.0, -upper)
    last = [0.0 if signs[-1] > 0 else math.pi] if n % 2 else []
    return np.sort(np.concatenate((upper, lower, last)))


def kolmogorov_distance(angles: NDArray[np.float64], low: float = -math.pi, high: float = math.pi) -> float:
    """sup |F_n(x) − (x − low)/(high − low)|, F_n the share of the angles that are ≤ x; angles within [low, high]."""
    sorted_angles = np.sort(np.asarray(angles, dtype=np.float64))
    uniform = np.clip((sorted_angles - low) / (high - low), 0.0, 1.0)
    count = len(sorted_angles)
    places = np.arange(count)
    return float(max(np.max((places + 1) / count - uniform), np.max(uniform - places / count)))


def log_failure_probability(n: int, distance: Any, *, groups: int = 2, numbers: Numbers = FLOATS) -> Any:
    """log of 2g exp(−4 g n d²): bounds P(Kolmogorov distance of the eigen-angles to the uniform law > d).   thm-init

    groups = 1: ρ = 0, against the right half circle. groups = 2: half of the blocks reflected, against the circle; at
    n = 2000, d = 0.02 it is 0.0067. ``distance`` is a number of the namespace, d > 0. Raises ValueError unless groups
    is 1 or 2 and n a positive multiple of 2 · groups.
    """
    positive_integer("n", n)
    if groups not in (1, 2) or n % (2 * groups):
        raise ValueError(
            f"n is {n} and groups {groups}, but n/(2 groups) blocks are kept and as many reflected, if groups = 2. "
            "Give groups=1 and an even n, or groups=2 and a multiple of 4."
        )
    return numbers.log(numbers.exact(2 * groups)) - 4 * groups * n * distance * distance
