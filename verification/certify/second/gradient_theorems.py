"""The right sides of thm-G and thm-G-inf typed again, in mpmath intervals, without logarithms; imports nothing else.

    m_l (Ȳ + Ŷ_L) o g_θ Π_{q>l} v_q Σ_{j<N} C(j+p, p) s^j,    p = L − l,   s the largest growth of a step, layers q ≥ l

With one number a in (0, 4/h²) a neuron, r = √(a(1 − ah²/4)): s = g/2 + √(1 + g²/4), g = h|κ − a|/r at both ends of κ;
v_q = max_i h Σ_r |V_ir|/r_r; o = max 1/r. In the maximum norm: s = exp(max h · max(2, max|w| + α)), v = max h Σ|V|,
o = 1. A bound or a weight that is 0 counts as 2^−1000, as in the functions of the library.
"""

from __future__ import annotations

from typing import Any

from verification.certify.second.intervals import iv


def bound(n: Any, layer: int, theta: str, *, invariant: bool, outputs: bool = True, top_alone: bool = False) -> Any:
    """n has alpha, steps, target, and by layer w, h, rest, V, form; y, z by level from 0. ``layer`` from 1.

    ``outputs`` False leaves m_l out, ``top_alone`` the growth of the lower layers: planted falsehoods.
    """
    depth = len(n.w)
    roots = [[iv.mpf(1)] * len(n.y[0])]
    for q in range(depth):
        sizes = zip(n.form[q], n.h[q], strict=True) if invariant else ()
        roots.append([iv.sqrt((4 - a * h * h) * a) / 2 for a, h in sizes] or [iv.mpf(1)] * len(n.w[q]))
    growth = _most(
        [_growth(n, q, roots[q + 1], invariant) for q in range(depth - 1 if top_alone else layer - 1, depth)]
    )
    value = _paths(growth, depth - layer, n.steps)
    for q in range(layer, depth):
        rows = [
            h * sum((abs(V) / r for V, r in zip(row, roots[q], strict=True)), iv.mpf(0))
            for h, row in zip(n.h[q], n.V[q], strict=True)
        ]
        value = value * _floored(_most(rows))
    value = value * _most([1 / r for r in roots[-1]]) * _direct(n, layer - 1, theta, invariant)
    value = value * (_floored(n.target) + _floored(_most(n.y[-1])))
    return value * len(n.w[-1]) if outputs and layer < depth else value


def _growth(n: Any, q: int, roots: list[Any], invariant: bool) -> Any:
    """The most by which one step of layer q, from 0, stretches a change of the state."""
    if not invariant:
        stiff = _most([iv.mpf(2), n.alpha + _most([abs(w) for w in n.w[q]])])
        return iv.exp(_most(n.h[q]) * stiff)
    sizes = []
    for w, h, a, r in zip(n.w[q], n.h[q], n.form[q], roots, strict=True):
        for kappa in (n.alpha, n.alpha + w):  # both ends, in one order or the other
            half = abs(kappa - a) * h / r / 2
            sizes.append(half + iv.sqrt(1 + half**2))
    return _most(sizes)


def _paths(growth: Any, hops: int, steps: int) -> Any:
    """Σ_{j<N} C(j+p, p) s^j, each term from the one before."""
    term, total = iv.mpf(1), iv.mpf(1)
    for j in range(1, steps):
        term = term * growth * (j + hops) / j
        total = total + term
    return total


def _direct(n: Any, q: int, theta: str, invariant: bool) -> Any:
    """The largest direct effect of θ on a state of layer q, from 0; y of that layer is y[q + 1]."""
    if theta == "b":
        return _most(n.h[q])
    if theta == "w":
        return _most([h * _floored(y) for h, y in zip(n.h[q], n.y[q + 1], strict=True)])
    if theta == "V":
        return _most(n.h[q]) * _most([_floored(y) for y in n.y[q]])
    stretch = [iv.sqrt(a) for a in n.form[q]] if invariant else [iv.mpf(1)] * len(n.w[q])
    parts = zip(n.h[q], n.rest[q], n.y[q + 1], n.z[q + 1], stretch, strict=True)
    return _most([h * rest * (1 + n.alpha * y + e * z) for h, rest, y, z, e in parts])


def _floored(value: Any) -> Any:
    return _most([value, iv.mpf(2) ** -1000])


def _most(values: list[Any]) -> Any:
    return iv.mpf([max(value.a for value in values), max(value.b for value in values)])
