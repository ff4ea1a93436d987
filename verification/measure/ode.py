"""The continuous model of UnICORNN in floats: exact suprema where it is linear in its control, and flows."""

from __future__ import annotations

from typing import Any

import numpy as np


def sine_area(x: Any) -> Any:
    """∫_0^x |sin|: sup α|y(t)| over |s| ≤ 1 at x = √α t, for y'' = −(αy + s) from rest."""
    turns = np.floor(np.asarray(x) / np.pi)
    return 2 * turns + 1 - np.cos(x - turns * np.pi)


def cosine_area(x: Any) -> Any:
    """∫_0^x |cos|: sup √α|z(t)|."""
    return sine_area(np.asarray(x) + np.pi / 2) - 1


def largest_mean_sine() -> float:
    """sup over x of (1/x)∫_0^x |sin| = sin x* with tan(x*/2) = x*, 0 < x* < π."""
    from scipy.optimize import brentq  # half a second, and few runs ask

    return float(np.sin(brentq(lambda x: np.sin(x / 2) - x * np.cos(x / 2), 1.0, 3.0)))


def flow(y: Any, z: Any, kappa: Any, force: Any, time: Any) -> tuple[Any, Any]:
    """y'' + κy = −f with constant κ and f, after ``time``; arrays broadcast.

    With c = cos √κ t, s = sin(√κ t)/√κ and q = (1 − c)/κ, each entire in κ:
    y(t) = c y + s z − q f, z(t) = −κ s y + c z − s f.
    """
    root = np.sqrt(np.asarray(kappa, dtype=complex))
    half = np.sinc(root * time / (2 * np.pi))  # sin(√κ t/2)/(√κ t/2); entire
    c = np.cos(root * time).real
    s = (np.sinc(root * time / np.pi) * time).real
    q = (half * half * time * time / 2).real
    return c * y + s * z - q * force, -kappa * s * y + c * z - s * force
