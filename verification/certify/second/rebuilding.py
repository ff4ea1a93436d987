"""The bound of thm-F (a) on a rebuilt state typed again, in mpmath intervals and without logarithms.

    ‖e_0‖_a ≤ σ (1 + ρ + … + ρ^{N−1}),     ρ = s (1 + 2u c_z)/q,     σ = (s (δz + 2√a δy) + δz)/q,
    q = 1 − u ((s + 1) c_z + h (3|w| + 4α) c_y),     c_y = 1/r,   c_z = √a/r,   r = √(a(1 − ah²/4)),
    δz = u (Z + h ((3|w| + 4α) Y + 8)) + 8ν,     δy = u (Y + hZ) + ν,

s the largest ‖B(κ)‖_a at both ends of κ; Y, Z the largest |y|, |z| of the computed run.
"""

from __future__ import annotations

from typing import Any

from verification.certify.second.intervals import iv

BITS_AND_SMALLEST = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149), "float64": (53, -1074)}
"""Of a format (IEEE 754, and bfloat16): p digits of a significand, the first one counted, and 2^e the smallest positive
number, a subnormal one.
"""


def roundings(name: str) -> tuple[Any, Any]:
    """u = 2^−p, half a unit of the last place at 1, and ν, half the smallest positive number."""
    digits, exponent = BITS_AND_SMALLEST[name]
    return iv.mpf(1) / 2**digits, iv.mpf(1) / 2 ** (1 - exponent)


def rest(n: Any) -> Any:
    """q of the namespace n of intervals: w, h, alpha, form, u. It must be positive."""
    r = iv.sqrt(n.form * (4 - n.form * n.h**2)) / 2
    heavy = abs(n.w) * 3 + n.alpha * 4
    return 1 - n.u * ((_growth(n, r) + 1) * iv.sqrt(n.form) + n.h * heavy) / r


def bound(n: Any, steps: int) -> Any:
    """The right side; n has Y, Z, nu as well."""
    r, left = iv.sqrt(n.form * (4 - n.form * n.h**2)) / 2, rest(n)
    s, root = _growth(n, r), iv.sqrt(n.form)
    kick = n.u * (n.Z + n.h * ((abs(n.w) * 3 + n.alpha * 4) * n.Y + 8)) + 8 * n.nu
    drift = n.u * (n.Y + n.h * n.Z) + n.nu
    noise = (s * (kick + 2 * root * drift) + kick) / left
    factor = s * (1 + 2 * n.u * root / r) / left
    total = iv.mpf(0)
    for _ in range(steps):
        total = total * factor + noise
    return total


def size(y: Any, z: Any, form: Any, h: Any) -> Any:
    """√Q_a(y, z)."""
    square = (z - form * h * y / 2) ** 2 + form * (1 - form * h**2 / 4) * y**2
    return iv.sqrt(square)


def _growth(n: Any, r: Any) -> Any:
    sizes = []
    for kappa in (n.alpha, n.alpha + n.w):  # both ends, in one order or the other
        half = abs(kappa - n.form) * n.h / r / 2
        sizes.append(half + iv.sqrt(half**2 + 1))
    return iv.mpf([max(each.a for each in sizes), max(each.b for each in sizes)])
