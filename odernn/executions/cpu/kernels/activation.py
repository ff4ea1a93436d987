"""What passes share: an activation, tanh or relu, its slope from its value, and the logistic function, of vectors."""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.compilation import CONTRACT, compiled
from odernn.executions.cpu.kernels.tanh import tanh_contracted
from odernn.executions.cpu.kernels.vector import everywhere, where_smaller


@compiled(CONTRACT)
def activation(a: Any, is_relu: Any, zero: Any) -> Any:
    """max(a, 0) if ``is_relu`` is not 0, else tanh a; NaN stays NaN."""
    if is_relu != zero:
        return where_smaller(a, zero, everywhere(zero, a), a)
    return tanh_contracted(a)


@compiled(CONTRACT)
def slope(s: Any, is_relu: Any, zero: Any, one: Any) -> Any:
    """Its derivative where its value is s; of relu 0 at 0, where s itself is that; NaN stays NaN."""
    if is_relu != zero:
        return where_smaller(everywhere(zero, s), s, everywhere(one, s), s)
    return one - s * s


@compiled(CONTRACT)
def logistic(a: Any, half: Any) -> Any:
    """1/(1 + exp(−a)) = ½ + ½ tanh(a/2): an error of two units of 1, not of itself, where it is small."""
    return half + half * tanh_contracted(half * a)
