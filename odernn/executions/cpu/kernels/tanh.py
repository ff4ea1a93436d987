"""The tanh of the cpu executions, for numbers and for vectors; see ``kernels.vector``.

The fast one, in float32: with a = |x|, k = round(2a / ln 2) and r = a − k (ln 2)/2, the product fused,

    (exp(2a) − 1)/2 = 2^k [r + r² E(r)] + (2^k − 1)/2 =: e,        tanh a = e / (1 + e).

For small a it is k = 0, nothing cancels, and three roundings are left: of e, of 1 + e, of the quotient. Largest
relative error of all float32, where products are fused: 3.11 u, at 0.064; in ulp 2.61, at 0.061.

The blended one, in float64 and, where sums are exact and this error is all there is, in float32:

    |x| < 0.6: a + a s P(s), s = a²;  else 1 − 2/(exp(2a) + 1), with exp(v) = 2^k (1 + r + r² E(r)).

It takes half as long again; largest of all float32: 1.34 ulp, at 0.631, and 2.47 u, at 0.601.

P and E minimise the largest weighted relative error (Lawson's iteration in 50 digits on Chebyshev points). All are odd,
at most 1, and NaN for NaN.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import overload

from odernn.executions.cpu.kernels.compilation import CONTRACT, PLAIN, full_width, kernel
from odernn.executions.cpu.kernels.vector import (
    Vector,
    divided,
    elements_1,
    elements_4,
    every_4,
    first_1,
    load,
    magnitude,
    power_of_two,
    smaller,
    store,
    where_smaller,
    with_sign,
)

_F = np.float32
_E0, _E1, _E2, _E3, _E4 = (
    _F(c) for c in (0.999999868224, 0.6666608038, 0.3333471558048, 0.13390050559984, 0.04420625403648)
)
_ONE, _HALF, _TOP = _F(1), _F(0.5), _F(9.02)  # tanh 9.02 rounds to 1
_ROUND, _PER = _F(12582912.0), _F(2.88539008)  # 1.5·2²³: the sum's last bits are k; 2/ln 2
_HALF_LN2 = _F(0.34657359028)  # off by 9.5e-10, of which k ≤ 26 times is 0.04 u of tanh at most


def _tanh32(x: Any) -> Any:
    a = smaller(magnitude(x), _TOP)
    t = a * _PER + _ROUND
    k = t - _ROUND
    r = a - k * _HALF_LN2
    p = r + (r * r) * ((((r * _E4 + _E3) * r + _E2) * r + _E1) * r + _E0)
    scale = power_of_two(t)
    e = scale * p + (scale * _HALF - _HALF)
    return with_sign(divided(e, e + _ONE), x)


_P0, _P1, _P2, _P3, _P4 = (
    _F(c) for c in (-0.333332979952, 0.133319239612, -0.0537838173295, 0.0207959308296, -0.00589511310224)
)
_D0, _D1, _D2, _D3, _D4 = (
    _F(c) for c in (0.499999934112, 0.16666520095, 0.0416683944756, 0.00836878159999, 0.00138144543864)
)
_TWO, _SMALL, _PER_LN2 = _F(2), _F(0.6), _F(1.44269504)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)


def _blended32(x: Any) -> Any:
    a = smaller(magnitude(x), _TOP)
    s = a * a
    small = a + a * s * ((((_P4 * s + _P3) * s + _P2) * s + _P1) * s + _P0)
    v = a + a
    t = v * _PER_LN2 + _ROUND
    k = t - _ROUND
    r = (v - k * _LN2_HIGH) - k * _LN2_LOW
    e = _ONE + (r + r * r * ((((_D4 * r + _D3) * r + _D2) * r + _D1) * r + _D0))
    large = _ONE - _TWO / (e * power_of_two(t) + _ONE)
    return with_sign(where_smaller(a, _SMALL, small, large), x)


_p0, _p1, _p2, _p3 = -0.33333333333333124954, 0.13333333333299653465, -0.053968253949291926404, 0.02186948800248593535
_p4, _p5, _p6 = -0.0088632267765384646035, 0.0035920373724547614539, -0.0014552153298524209311
_p7, _p8, _p9, _p10 = (
    0.00058718830085189705362,
    -0.00023039660270356192218,
    0.000079313714085638009962,
    -0.00001717860839762439832,
)
_e0, _e1, _e2, _e3 = 0.5000000000000010734, 0.16666666666666410159, 0.041666666666529085351, 0.0083333333334955971055
_e4, _e5, _e6 = 0.001388888894394779994, 0.00019841269504924662118, 0.00002480149273857247716
_e7, _e8, _e9 = 2.7557587138536548296e-6, 2.7630386691005017444e-7, 2.5000043681004279596e-8
_round, _per_ln2 = 6755399441055744.0, 1.4426950408889634  # 1.5·2⁵²
_ln2_high, _ln2_low = 0.693147180369123816490, 1.90821492927058770002e-10  # the high part has 33 bits: k high is exact
_small, _top = 0.6, 19.1  # tanh 19.1 rounds to 1


def _blended64(x: Any) -> Any:
    a = smaller(magnitude(x), _top)
    s = a * a
    p = (((((s * _p10 + _p9) * s + _p8) * s + _p7) * s + _p6) * s + _p5) * s + _p4
    small = a + a * s * ((((p * s + _p3) * s + _p2) * s + _p1) * s + _p0)
    v = a + a
    t = v * _per_ln2 + _round
    k = t - _round
    r = (v - k * _ln2_high) - k * _ln2_low
    q = ((((r * _e9 + _e8) * r + _e7) * r + _e6) * r + _e5) * r + _e4
    e = 1.0 + (r + r * r * ((((q * r + _e3) * r + _e2) * r + _e1) * r + _e0))
    large = 1.0 - 2.0 / (e * power_of_two(t) + 1.0)
    return with_sign(where_smaller(a, _small, small, large), x)


def tanh_contracted(x: Any) -> Any:
    raise NotImplementedError


def tanh_plain(x: Any) -> Any:
    raise NotImplementedError


def _is_float32(x: Any) -> bool:
    return bool((x.dtype if isinstance(x, Vector) else x) == types.float32)


def _chosen(x: Any) -> Any:
    return _tanh32 if _is_float32(x) else _blended64


def _chosen_plain(x: Any) -> Any:
    return _blended32 if _is_float32(x) else _blended64


overload(tanh_contracted, jit_options=cast(Any, CONTRACT))(_chosen)
overload(tanh_plain, jit_options=cast(Any, PLAIN))(_chosen_plain)


@kernel(CONTRACT)
def tanh(x: Any, out: Any, is_plain: bool) -> None:
    """out[k] = tanh x[k], as the kernels compute it; ``is_plain``: as in the exact mode."""
    full_width()
    if is_plain:
        for k in range(len(x)):
            out[k] = tanh_plain(x[k])
    else:
        for k in range(len(x)):
            out[k] = tanh_contracted(x[k])


@kernel(CONTRACT)
def tanh_of_vectors(x: Any, out: Any) -> None:
    """The same by vectors of one and of four registers, the last ones by halves."""
    full_width()
    size, short = elements_4(x), elements_1(x)
    j = 0
    while j + size <= len(x):
        store(out, j, tanh_contracted(load(x, j, every_4())), every_4())
        j += size
    while j < len(x):
        mask = first_1(len(x) - j, x)
        store(out, j, tanh_contracted(load(x, j, mask)), mask)
        j += short
