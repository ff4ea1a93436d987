"""y'' + κy = −f with constant κ and f, in closed form: in balls, and typed again for mpmath's intervals."""

from __future__ import annotations

from typing import Any

from flint import arb

from verification.certify.second.intervals import iv


def in_balls(y: Any, z: Any, kappa: Any, force: Any, time: Any) -> tuple[Any, Any]:
    """(y, z) after ``time``; by the sign of κ. Of a κ that is neither certainly signed nor exactly 0: nothing, nan."""
    if kappa > 0:
        root = kappa.sqrt()
        c, s = (root * time).cos(), (root * time).sin() / root
    elif kappa < 0:
        root = (-kappa).sqrt()
        c, s = (root * time).cosh(), (root * time).sinh() / root
    elif kappa == 0:
        return y + z * time - force * time * time / 2, z - force * time
    else:
        return arb.nan(), arb.nan()
    return c * y + s * z - (1 - c) / kappa * force, -kappa * s * y + c * z - s * force


def in_intervals(y: Any, z: Any, kappa: Any, force: Any, time: Any) -> tuple[Any, Any]:
    """The same, typed again: about the equilibrium −f/κ; sin x = cos(x − π/2), cosh and sinh by exp."""
    if kappa.a > 0:
        frequency = iv.sqrt(kappa)
        angle = frequency * time
        cosine, sine = iv.cos(angle), iv.cos(angle - iv.pi / 2)
    elif kappa.b < 0:
        frequency = iv.sqrt(-kappa)
        up, down = iv.exp(frequency * time), iv.exp(-frequency * time)
        cosine, sine = (up + down) / 2, (up - down) / 2
    elif kappa.a == 0 == kappa.b:
        return y + (z - force * time / 2) * time, z - time * force
    else:
        return iv.mpf([-iv.inf, iv.inf]), iv.mpf([-iv.inf, iv.inf])
    rest = -force / kappa
    away = y - rest
    turn = -frequency * sine if kappa.a > 0 else frequency * sine
    return rest + away * cosine + z * sine / frequency, away * turn + z * cosine
