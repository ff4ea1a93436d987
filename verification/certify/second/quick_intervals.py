"""mpmath's interval type with +, −, × and / of finite numbers in one function each: the same ends, sooner.

An end is mpmath's (sign, mantissa, exponent, bits), mantissa odd or the number 0; the value is ±mantissa · 2^exponent.
What is not finite, holds 0 where a sign decides, or needs exponents far apart is left to mpmath's own operations, from
which ``tests/verification/certify/second/test_quick_intervals.py`` shows no difference, end for end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from mpmath.ctx_iv import MPIntervalContext
from mpmath.libmp import from_int, fzero, mpf_exp, mpi_pow_int, round_floor

End: TypeAlias = tuple[int, int, int, int]
Ends: TypeAlias = tuple[End, End]

FAR = 2000
"""Exponents that differ by more are added by mpmath, which shifts no further than it needs."""
SMALL = 2**30
"""Whole numbers below are exact at ``LEAST_BITS``."""
LEAST_BITS = 32

context: Any = MPIntervalContext()
"""A context of its own: ``mpmath.iv`` stays as it is."""

_Interval: Any = context.mpf
_bits: list[int] = context._prec
_new = object.__new__


def _made(ends: Ends) -> Any:
    interval = _new(_Interval)
    interval._mpi_ = ends
    return interval


def _rounded(value: int, exponent: int, bits: int, up: bool) -> End:
    """value · 2^exponent as an end of at most so many bits, towards +∞ if ``up``, else towards −∞."""
    if not value:
        return fzero  # type: ignore[no-any-return]
    over = value.bit_length() - bits
    if over > 0:
        value = -(-value >> over) if up else value >> over
        exponent += over
    zeros = (value & -value).bit_length() - 1
    if zeros:
        value >>= zeros
        exponent += zeros
    if value < 0:
        return 1, -value, exponent, value.bit_length()
    return 0, value, exponent, value.bit_length()


def _sum(s: End, t: End, minus: int, bits: int, up: bool) -> End | None:
    """s + t, or s − t where ``minus`` is 1; None for what mpmath adds."""
    s_sign, s_value, s_exponent, _ = s
    t_sign, t_value, t_exponent, _ = t
    if not s_value or not t_value:
        return None
    if s_sign:
        s_value = -s_value
    if t_sign != minus:
        t_value = -t_value
    apart = s_exponent - t_exponent
    if apart > 0:
        if apart > FAR:
            return None
        return _rounded((s_value << apart) + t_value, t_exponent, bits, up)
    if apart < -FAR:
        return None
    return _rounded(s_value + (t_value << -apart), s_exponent, bits, up)


def _added(s: Ends, t: Ends, bits: int) -> Ends | None:
    low = _sum(s[0], t[0], 0, bits, False)
    high = _sum(s[1], t[1], 0, bits, True)
    return None if low is None or high is None else (low, high)


def _subtracted(s: Ends, t: Ends, bits: int) -> Ends | None:
    low = _sum(s[0], t[1], 1, bits, False)
    high = _sum(s[1], t[0], 1, bits, True)
    return None if low is None or high is None else (low, high)


def _multiplied(s: Ends, t: Ends, bits: int) -> Ends | None:
    """Of two intervals without 0: the ends nearer to 0 give the smaller modulus, the others the larger one."""
    (s_sign, near, near_exponent, _), (s_other, far, far_exponent, _) = s
    (t_sign, t_near, t_near_exponent, _), (t_other, t_far, t_far_exponent, _) = t
    if s_sign != s_other or t_sign != t_other or not (near and far and t_near and t_far):
        return None
    if s_sign:
        near, near_exponent, far, far_exponent = far, far_exponent, near, near_exponent
    if t_sign:
        t_near, t_near_exponent, t_far, t_far_exponent = t_far, t_far_exponent, t_near, t_near_exponent
    if s_sign == t_sign:
        return (
            _rounded(near * t_near, near_exponent + t_near_exponent, bits, False),
            _rounded(far * t_far, far_exponent + t_far_exponent, bits, True),
        )
    return (
        _rounded(-far * t_far, far_exponent + t_far_exponent, bits, False),
        _rounded(-near * t_near, near_exponent + t_near_exponent, bits, True),
    )


def _quotient(above: int, under: int, exponent: int, bits: int, up: bool) -> End:
    """above/under · 2^exponent, under > 0; a last bit that is not 0 stands for the rest of the division."""
    shift = max(bits + 4 + under.bit_length() - above.bit_length(), 0)
    whole, rest = divmod(above << shift, under)
    return _rounded(2 * whole + (1 if rest else 0), exponent - shift - 1, bits, up)


def _divided(s: Ends, t: Ends, bits: int) -> Ends | None:
    """Of two intervals without 0."""
    (s_sign, near, near_exponent, _), (s_other, far, far_exponent, _) = s
    (t_sign, t_near, t_near_exponent, _), (t_other, t_far, t_far_exponent, _) = t
    if s_sign != s_other or t_sign != t_other or not (near and far and t_near and t_far):
        return None
    if s_sign:
        near, near_exponent, far, far_exponent = far, far_exponent, near, near_exponent
    if t_sign:
        t_near, t_near_exponent, t_far, t_far_exponent = t_far, t_far_exponent, t_near, t_near_exponent
    if s_sign == t_sign:
        return (
            _quotient(near, t_far, near_exponent - t_far_exponent, bits, False),
            _quotient(far, t_near, far_exponent - t_near_exponent, bits, True),
        )
    return (
        _quotient(-far, t_near, far_exponent - t_near_exponent, bits, False),
        _quotient(-near, t_far, near_exponent - t_far_exponent, bits, True),
    )


@lru_cache(maxsize=4096)
def _whole(value: int) -> Ends:
    end = from_int(value)
    return end, end


def _ends(value: Any) -> Ends | None:
    """Of an interval or a small whole number; None for what mpmath converts."""
    kind = value.__class__
    if kind is _Interval:
        return value._mpi_  # type: ignore[no-any-return]
    if kind is int and -SMALL < value < SMALL and _bits[0] >= LEAST_BITS:
        return _whole(value)
    return None


def _operators(quick: Callable[[Ends, Ends, int], Ends | None], name: str) -> None:
    """Put before mpmath's operator and its reflection."""
    slow, slow_reflected = (getattr(_Interval, f"__{side}{name}__") for side in ("", "r"))

    def operate(s: Any, t: Any) -> Any:
        other = _ends(t)
        found = None if other is None else quick(s._mpi_, other, _bits[0])
        return slow(s, t) if found is None else _made(found)

    def reflected(s: Any, t: Any) -> Any:
        other = _ends(t)
        found = None if other is None else quick(other, s._mpi_, _bits[0])
        return slow_reflected(s, t) if found is None else _made(found)

    setattr(_Interval, f"__{name}__", operate)
    setattr(_Interval, f"__r{name}__", reflected)


NARROW = 32
"""e^x is evaluated once on intervals shorter than 2^−``NARROW``."""


def exp_of_narrow(x: Any, around_one: Any) -> Any:
    """e^x = e^a e^{x − a}, a the lower end; None unless x is finite and short. ``around_one`` is [1 − m, 1 + m]: times
    e^a rounded down it holds e^a.

    With δ the length of x, (1 + m) e^δ ≤ 1 + m + δ (1 + 2^−30) where δ < 2^−32 and m < 2^−32.
    """
    if x.__class__ is not _Interval or _bits[0] < LEAST_BITS + 16:
        return None
    (low, high), bits = x._mpi_, _bits[0]
    least, largest = around_one._mpi_
    if low != high:
        length = _sum(high, low, 1, bits, True)
        if length is None or length[2] + length[3] > -NARROW:
            return None
        stretched = _rounded(length[1] * (2**30 + 1), length[2] - 30, bits, True)
        largest = _sum(largest, stretched, 0, bits, True)
    elif not low[1]:
        return None
    at_low = mpf_exp(low, bits, round_floor)
    return None if largest is None else _made((at_low, at_low)) * _made((least, largest))


_slow_power = _Interval.__pow__


def _power(s: Any, exponent: Any) -> Any:
    """A whole power; any other is mpmath's."""
    if exponent.__class__ is not int or not -SMALL < exponent < SMALL or _bits[0] < LEAST_BITS:
        return _slow_power(s, exponent)
    ends = s._mpi_
    found = _multiplied(ends, ends, _bits[0]) if exponent == 2 else None
    return _made(mpi_pow_int(ends, exponent, _bits[0]) if found is None else found)


_operators(_added, "add")
_operators(_subtracted, "sub")
_operators(_multiplied, "mul")
_operators(_divided, "truediv")
_Interval.__pow__ = _power
