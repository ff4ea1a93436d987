"""Gradients of archived networks, typed by hand: backward through every cell in numpy, without the library.

With G_n = ∂E/∂X_n of the state after step n, E'_n the part that does not come through X_{n+1}, and a = ∂E/∂(drive):

    UnICORNN   Q̂ = Q + h P;   a = −h s' Q̂;   P ← P − h κ Q̂,  Q ← Q̂;             s' = 1 − tanh²,  κ = α + w s'
    coRNN      Q̂ = Q + dt P;  a = dt s' Q̂;   P ← P − dt γ Q̂ + a W,  Q ← (1 − dt ε) Q̂ + a W_z
    LinOSS     Q̂ = Q + dt P;  a = dt Q̂;      P ← P − dt A Q̂,  Q ← Q̂
    scoRNN, expRNN   a = G where |z| + b > 0;  G ← a W
    LSTM       g of c_n = Q + P o (1 − tanh² c);   a = (g g' i', g c f', …);   P ← a W_h,  Q ← g f

P, Q belong to y, z (of the LSTM h, c). Arrays are (time, sequence, unit); a gradient is one sequence's, and its largest
entry over sequences is what the record has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Layer = Mapping[str, Array]
Sizes = dict[str, float]


def loss_sources(rows: Array, readout: Mapping[str, Array], targets: NDArray[Any]) -> Array:
    """∂E/∂(row n) of the task's loss: cross entropy or squared error, of the last row or a mean over all."""
    reads_all = targets.ndim > 1 and targets.shape[:2] == rows.shape[:2]
    read = rows if reads_all else rows[-1:]
    outputs = read @ readout["weight"].T + readout["bias"]
    if np.issubdtype(targets.dtype, np.integer):
        grown = np.exp(outputs - outputs.max(-1, keepdims=True))
        slope = grown / grown.sum(-1, keepdims=True)
        place = targets.reshape(slope.shape[:2])[..., None]
        np.put_along_axis(slope, place, np.take_along_axis(slope, place, -1) - 1, -1)
    else:
        slope = 2 * (outputs - targets.reshape(outputs.shape)) / outputs.shape[-1]
    found = np.zeros_like(rows)
    found[-len(read) :] = slope @ readout["weight"] / len(read)
    return found


def shifted(rows: Array) -> Array:
    """Rows one step earlier, zero first."""
    return np.concatenate([np.zeros_like(rows[:1]), rows[:-1]])


def outer(a: Array, b: Array) -> float:
    """The largest entry, over sequences, of Σ_n a_n b_nᵀ."""
    return float(np.abs(np.einsum("nki,nkj->kij", a, b)).max())


def summed(a: Array) -> float:
    """The same of Σ_n a_n."""
    return float(np.abs(a.sum(0)).max())


def norm(*parts: Array) -> float:
    return float(np.sqrt(sum(float((part * part).sum()) for part in parts)))


def enlarge(sizes: Sizes, **found: float) -> None:
    for name, size in found.items():
        sizes[name] = max(size, sizes.get(name, 0.0))


def carried(trace: Mapping[str, Array], source: Array, alpha: float) -> tuple[Array, Array, Array]:
    """Of one layer of UnICORNN, by step: ∂E/∂(drive), ∂E/∂h of that step alone, and ‖G_n‖."""
    y, z, s, h, w = (trace[name] for name in ("y", "z", "s", "h", "w"))
    P, Q = np.zeros_like(y[0]), np.zeros_like(y[0])
    before, drives, steps, norms = shifted(y), np.zeros_like(y), np.zeros_like(y), np.zeros(len(y))
    for n in range(len(y) - 1, -1, -1):
        P = P + source[n]
        norms[n] = norm(P, Q)
        full = Q + h * P
        drives[n] = -h * (1 - s[n] ** 2) * full
        steps[n] = P * z[n] - full * (s[n] + alpha * before[n])
        P, Q = P - h * alpha * full + w * drives[n], full
    return drives, steps, norms


def of_unicornn(
    trace: Mapping[str, Array], below: Array, source: Array, layer: Mapping[str, Array], alpha: float
) -> tuple[Array, Sizes, Array]:
    """One layer: ‖G_n‖ by n, the largest |dE/dθ| of w, b, c, V, and ∂E/∂(row below)."""
    drives, steps, norms = carried(trace, source, alpha)
    before, slope = shifted(trace["y"]), trace["h"] / (1 + np.exp(layer["c"]))  # dh/dc = dt σ̂ (1 − σ̂)
    sizes: Sizes = {}
    enlarge(sizes, w=summed(drives * before), b=summed(drives), c=summed(steps * slope), V=outer(drives, below))
    return norms, sizes, drives @ layer["V"]


def of_cornn(
    trace: Mapping[str, Array], below: Array, source: Array, layer: Mapping[str, Array], numbers: Mapping[str, float]
) -> tuple[Array, Sizes]:
    y, z, s = (trace[name] for name in ("y", "z", "s"))
    dt, gamma, epsilon = numbers["dt"], numbers["gamma"], numbers["epsilon"]
    P, Q, drives, norms = np.zeros_like(y[0]), np.zeros_like(y[0]), np.zeros_like(y), np.zeros(len(y))
    for n in range(len(y) - 1, -1, -1):
        P = P + source[n]
        norms[n] = norm(P, Q)
        full = Q + dt * P
        drives[n] = a = dt * (1 - s[n] ** 2) * full
        P, Q = P - dt * gamma * full + a @ layer["W"], (1 - dt * epsilon) * full + a @ layer["W_z"]
    sizes: Sizes = {}
    enlarge(sizes, W=outer(drives, shifted(y)), W_z=outer(drives, shifted(z)), V=outer(drives, below), b=summed(drives))
    return norms, sizes


def of_linoss(
    y: Array, below: Array, source: Array, layer: Mapping[str, Array], A: Array, dt: float
) -> tuple[Array, Sizes, Array]:
    P, Q, fulls, norms = np.zeros_like(y[0]), np.zeros_like(y[0]), np.zeros_like(y), np.zeros(len(y))
    for n in range(len(y) - 1, -1, -1):
        P = P + source[n]
        norms[n] = norm(P, Q)
        fulls[n] = full = Q + dt * P
        P, Q = P - dt * A * full, full
    is_free = (layer["A_raw"] > 0) & (layer["A_raw"] == A)
    sizes: Sizes = {}
    enlarge(sizes, A_raw=summed(-dt * fulls * shifted(y) * is_free), B=outer(dt * fulls, below))
    return norms, sizes, dt * fulls @ layer["B"]


def of_orthogonal(
    trace: Mapping[str, Array], below: Array, source: Array, W: Array, b: Array, inside: str
) -> tuple[Array, Sizes, Array]:
    """‖G_n‖, the largest |dE/dθ| of b and of the input's matrix, and dE/dW of each sequence."""
    z, h = trace["z"], trace["h"]
    G, drives, norms = np.zeros_like(h[0]), np.zeros_like(h), np.zeros(len(h))
    for n in range(len(h) - 1, -1, -1):
        G = G + source[n]
        norms[n] = norm(G)
        drives[n] = a = G * ((np.abs(z[n]) + b > 0) & (z[n] != 0))
        G = a @ W
    sizes: Sizes = {}
    enlarge(sizes, b=summed(drives * np.sign(z)), **{inside: outer(drives, below)})
    return norms, sizes, np.einsum("nki,nkj->kij", drives, shifted(h))


def free_of_cayley(A: Array, W: Array, signs: Array, slopes: Array) -> float:
    """The largest |dE/da_ij|, i < j, of W = (I + A)⁻¹(I − A)D:  V = (I + A)⁻ᵀ (dE/dW)(D + Wᵀ),  dE/da = Vᵀ − V."""
    V = np.linalg.solve((np.eye(len(A)) + A).T[None], slopes @ (np.diag(signs) + W.T))
    return float(np.abs(V.transpose(0, 2, 1) - V).max())


def free_of_exponential(turns: Array, vectors: NDArray[Any], slopes: Array) -> float:
    """The same of W = e^A, A = V (−i turns) V*: by the divided differences of e^x."""
    half = (turns[:, None] - turns[None]) / 2
    divided = np.exp(1j * (turns[:, None] + turns[None]) / 2) * np.sinc(half / np.pi)
    M = (vectors @ (divided * (vectors.conj().T @ slopes @ vectors)) @ vectors.conj().T).real
    return float(np.abs(M - M.transpose(0, 2, 1)).max())


def of_lstm(trace: Mapping[str, Array], below: Array, source: Array, layer: Mapping[str, Array]) -> tuple[Array, Sizes]:
    h, c, gates = trace["h"], trace["c"], trace["gates"]
    before = shifted(c)
    P, Q, drives, norms = np.zeros_like(h[0]), np.zeros_like(h[0]), np.zeros_like(gates), np.zeros(len(h))
    for n in range(len(h) - 1, -1, -1):
        P = P + source[n]
        norms[n] = norm(P, Q)
        i, f, g, o = np.split(gates[n], 4, axis=1)
        moved = Q + P * o * (1 - np.tanh(c[n]) ** 2)
        parts = (moved * g * i * (1 - i), moved * before[n] * f * (1 - f), moved * i * (1 - g * g))
        drives[n] = a = np.concatenate([*parts, P * np.tanh(c[n]) * o * (1 - o)], axis=1)
        P, Q = a @ layer["weight_hh_l0"], moved * f
    sizes: Sizes = {}
    enlarge(sizes, weight_ih_l0=outer(drives, below), weight_hh_l0=outer(drives, shifted(h)))
    enlarge(sizes, bias_ih_l0=summed(drives), bias_hh_l0=summed(drives))
    return norms, sizes
