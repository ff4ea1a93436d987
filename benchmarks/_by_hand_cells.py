"""Six cells forward, and every number of a network that follows from it: numpy, without the library.

h = dt/(1 + e^−c), K = max(2, max|w| + α), β = max(1 + 2α, 4α²), T = N dt, F = √(2(1 + 2βT)).

    UnICORNN   z −= h (tanh(w y + V x + b) + α y),  y += h z;   κ = α + w (1 − tanh²)
               icml-C.1    |y_n| ≤ √(2(1 + 2βn dt)/α)                    icml-(25)   ‖J_n‖_∞ ≤ 1 + K dt + (K dt)²/2
               both-51-53  ‖J_n‖_∞ ≤ e^{K dt}                            J_n = [[1 − h²κ, h], [−hκ, 1]] of each unit
               icml-(27)   ‖J_n ⋯ J_1‖_∞ ≤ 1 + (2K + K²) n dt            sam-54      ‖J_n ⋯ J_1‖_∞ ≤ e^{K n dt}
               thm-S       Σ of |y|, |z| of the free oscillator after one kick of h
               sam-D.1-a   ‖y_n‖ ≤ √((2mT/α)(1 + 2α dt³) e^{ᾱT}),  ᾱ = 96^{1/4} max(1, √α)
               icml-3.1    |dE/dθ| ≤ T (1 + … + dt^{L−1}) (1 + (2K + K²)T) Π max(1, ‖V‖_∞) Δ F/√α,  E = (1/N) Σ ½|y_n|²
                           Δ = 2 + F + (2 + α) F/√α, F of the middle of icml-C.2 is √(1 + 2βT)
    coRNN      z += dt (tanh(W y + W_z z + V x + b) − γ y − ε z),  y += dt z;   Σ of |y|, |z| after one kick of 1
               the factors of the chain rule: ``_by_hand_chain``
    scoRNN     W = (I + A)⁻¹(I − A)D,  expRNN  W = e^A;   h = modReLU(W h + U x; b);   G += ‖U x‖ + ‖b⁺‖, G *= ‖W‖
               sco-5.5.1-A ‖WᵀW − I‖_F ≤ 5 √n eps/sin(π/2n) if max|a| ≤ 1
               thm-O-float ‖WᵀW − I‖_F ≤ 2r + r²,  r = ‖(I − A)D − (I + A)W‖_F;   κ(I + A) ≤ √(1 + (max|a| cot(π/2n))²)
    LinOSS     z += dt (B x − A y),  y += dt z;   S_n = dt Σ|B x|,  |z_n| ≤ S_n/r,  |y_n| ≤ min(S_n/(r√A), dt ΣS/r)
               ‖Mⁿ‖₂ ≤ √(λ₊/λ₋) of [[A, −dt A/2], [−dt A/2, 1]]
    LSTM       i, f, g, o = σ, σ, tanh, σ of W_i x + b_i + W_h h + b_h;   c = f c + i g,  h = o tanh c

A number is log₁₀(bound/measured), the least; of a size that nothing bounds minus log₁₀, the largest; or a margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import _by_hand_chain
import _by_hand_gradients as gradients
import numpy as np
from _by_hand_gradients import Layer
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = dict[str, float]
PLACES = 5
"""Steps whose Jacobians have a spectrum in the record."""


def least(logs: Any, sizes: Any) -> float:
    """min of log₁₀(bound/size) over what is not 0, from natural logarithms of bounds."""
    moving = sizes > 0
    return float(np.min(np.broadcast_to(logs, sizes.shape)[moving] - np.log(sizes[moving]))) / math.log(10)


def keep(found: Numbers, key: str, value: float) -> None:
    found[key] = min(value, found.get(key, math.inf))


def keep_size(found: Numbers, key: str, size: float) -> None:
    """Of what nothing bounds; ∞ of 0, which the record writes as 0."""
    keep(found, key, -math.log10(size) if size > 0 else math.inf)


def keep_gradients(found: Numbers, norms: Array, sizes: Mapping[str, float]) -> None:
    keep_size(found, "state gradients | largest norm dE/dX_n | ", float(norms.max()))
    keep_size(found, "state gradients | first over last | ", float(norms[0] / norms[-1]) if norms[-1] > 0 else 0.0)
    for name, size in sizes.items():
        keep_size(found, f"parameter gradients | abs dE/d{name}, task | ", size)


def spectral_steps(count: int) -> list[int]:
    return sorted({round(value) for value in np.linspace(1, count, PLACES)})


# --- UnICORNN


def unicornn(layers: Sequence[Layer], network: Mapping[str, Any], readout: Layer, u: Array, targets: Any) -> Numbers:
    found: Numbers = {}
    dts = np.broadcast_to(np.asarray(network["dt"], float), (len(layers),))
    alphas = np.broadcast_to(np.asarray(network["alpha"], float), (len(layers),))
    traces = list(_oscillators(layers, dts, alphas, u))
    for trace, layer, dt, alpha in zip(traces, layers, dts, alphas, strict=True):
        _states_of_oscillators(found, trace, float(dt), float(alpha))
        _steps_of_oscillators(found, trace, float(dt), float(alpha))
        h, w = trace["h"], layer["w"]
        keep(found, "margins | 4 − h²(α + max(w, 0)) | ", float((4 - h * h * (alpha + np.maximum(w, 0))).min()))
        keep(found, "margins | w + α | ", float((w + alpha).min()))
        keep(found, "margins | 4 − h²α | ", float((4 - h * h * alpha).min()))
    _gradients_of_oscillators(found, traces, layers, dts, alphas, readout, targets)
    for key, slack in _by_hand_chain.slacks(traces, layers, float(dts[0]), float(alphas[0])).items():
        keep(found, key, slack)
    keep_size(found, "inverse | error in float32 | ", rebuilt(layers, dts, alphas, u))
    return found


def _oscillators(layers: Sequence[Layer], dts: Array, alphas: Array, u: Array) -> Iterator[dict[str, Array]]:
    """Of each layer: below, y, z, s = tanh(…), by step, and h, w."""
    below = u
    for layer, dt, alpha in zip(layers, dts, alphas, strict=True):
        w, h = layer["w"], dt / (1 + np.exp(-layer["c"]))
        drive = below @ layer["V"].T + layer["b"]
        y, z, rows = np.zeros_like(drive[0]), np.zeros_like(drive[0]), []
        for x in drive:
            s = np.tanh(w * y + x)
            z = z - h * (s + alpha * y)
            y = y + h * z
            rows.append((y, z, s))
        y, z, s = (np.array(each) for each in zip(*rows, strict=True))
        yield {"below": below, "y": y, "z": z, "s": s, "h": h, "w": w}
        below = y


def _states_of_oscillators(found: Numbers, trace: Mapping[str, Array], dt: float, alpha: float) -> None:
    y, z, h = np.abs(trace["y"]), np.abs(trace["z"]), trace["h"]
    N, m = len(y), y.shape[2]
    grown = np.log(1 + 2 * max(1 + 2 * alpha, 4 * alpha * alpha) * np.arange(1, N + 1)[:, None, None] * dt)
    keep(found, "states | abs y | icml-C.1", least((math.log(2 / alpha) + grown) / 2, y))
    keep(found, "states | abs z | icml-C.1", least((math.log(2) + grown) / 2, z))
    keep_size(found, "states | largest abs y | ", float(y.max()))
    keep_size(found, "states | largest abs z | ", float(z.max()))
    position, momentum, sums = np.zeros_like(h), np.ones_like(h), []
    total = [np.zeros_like(h), np.zeros_like(h)]
    for _ in range(N):
        momentum = momentum - h * alpha * position
        position = position + h * momentum
        total = [total[0] + h * np.abs(position), total[1] + h * np.abs(momentum)]
        sums.append(total)
    bounds = np.log(np.array(sums))
    for index, (name, sizes) in enumerate((("y", y), ("z", z))):
        largest = bounds[:, index].max(1)[:, None]
        keep(found, f"states | abs {name} | thm-S", least(largest, sizes.max((1, 2))[:, None]))
        keep(found, f"states | largest abs {name} | thm-S", least(bounds[-1, index], sizes.max((0, 1))))
    T, rate = N * dt, 96**0.25 * max(1.0, math.sqrt(alpha))
    energy = math.log(2 * m * T * (1 + 2 * alpha * dt**3)) + rate * T
    keep(found, "states | norm y | sam-D.1-a", least((energy - math.log(alpha)) / 2, np.linalg.norm(y, axis=2)))
    keep(found, "states | norm z | sam-D.1-a", least(energy / 2, np.linalg.norm(z, axis=2)))


def _steps_of_oscillators(found: Numbers, trace: Mapping[str, Array], dt: float, alpha: float) -> None:
    h, w, N = trace["h"], trace["w"], len(trace["s"])
    kappa = alpha + w * (1 - trace["s"] ** 2)
    norms = np.maximum(np.abs(1 - h * h * kappa) + h, np.abs(h * kappa) + 1)
    K = max(2.0, float(np.abs(w).max()) + alpha)
    step = "step Jacobians | ‖dXₙ/dXₙ₋₁‖∞ | "
    keep(found, f"{step}icml-(25)", least(math.log(1 + K * dt + (K * dt) ** 2 / 2), norms))
    keep(found, f"{step}both-51-53", least(K * dt, norms))
    logs, n = grown_through(h, kappa), np.arange(1, N + 1)
    for name, bounds in (("icml-(27)", np.log(1 + (2 * K + K * K) * n * dt)), ("sam-54", K * n * dt)):
        slacks = (bounds - logs) / math.log(10)
        keep(found, f"step Jacobians | ‖dXₙ/dX₀‖∞ | {name}", float(slacks.min()))
        keep(found, f"step Jacobians | ‖dX_N/dX₀‖∞, at N | {name}", float(slacks[-1]))


def grown_through(h: Array, kappa: Array) -> Array:
    """log ‖J_n ⋯ J_1‖_∞ by n, the largest over units and sequences: (y, z) of two starts, stepped and rescaled."""
    y, z = np.zeros((2, *kappa.shape[1:])), np.zeros((2, *kappa.shape[1:]))
    y[0], z[1], scale, logs = 1.0, 1.0, np.zeros(kappa.shape[1:]), []
    for of_step in kappa:
        z = z - h * of_step * y
        y = y + h * z
        largest = np.maximum(np.abs(y).max(0), np.abs(z).max(0))
        y, z, scale = y / largest, z / largest, scale + np.log(largest)
        logs.append(float((scale + np.log(np.maximum(np.abs(y).sum(0), np.abs(z).sum(0)))).max()))
    return np.array(logs)


def _gradients_of_oscillators(
    found: Numbers,
    traces: Sequence[Mapping[str, Array]],
    layers: Sequence[Layer],
    dts: Array,
    alphas: Array,
    readout: Layer,
    targets: Any,
) -> None:
    """Along time of the task's loss; |dE/dθ| of E = (1/N) Σ ½|y_n|² against icml-3.1 and icml-C.2."""
    N, largest = len(traces[0]["y"]), 0.0
    by_task = gradients.loss_sources(traces[-1]["y"], readout, targets)
    by_square = traces[-1]["y"] / N
    for trace, layer, alpha in reversed(list(zip(traces, layers, alphas, strict=True))):
        norms, _, by_task = gradients.of_unicornn(trace, trace["below"], by_task, layer, float(alpha))
        keep_gradients(found, norms, {})
        _, sizes, by_square = gradients.of_unicornn(trace, trace["below"], by_square, layer, float(alpha))
        largest = max(largest, *sizes.values())
    alpha, dt, T = float(alphas[0]), float(dts[0]), N * float(dts[0])
    K, root = max(2.0, float(np.abs(layers[-1]["w"]).max()) + alpha), math.sqrt(alpha)
    growth = 1 + 2 * max(1 + 2 * alpha, 4 * alpha * alpha) * T
    F = math.sqrt(2 * growth)
    right = T * sum(dt**q for q in range(len(layers))) * (1 + (2 * K + K * K) * T) * F / root
    right *= math.prod(max(1.0, float(np.abs(layer["V"]).sum(1).max())) for layer in layers)
    for name, middle in (("icml-3.1", F), ("icml-C.2", math.sqrt(growth))):
        delta = 2 + middle + (2 + alpha) * F / root
        keep(found, f"parameter gradients | abs dE/dθ | {name}", math.log10(right * delta / largest))


def rebuilt(layers: Sequence[Layer], dts: Array, alphas: Array, u: Array) -> float:
    """The largest |ỹ_n − ŷ_n|, |z̃_n − ẑ_n| in float32: all layers forward, then back on the rebuilt rows below."""
    kind = np.float32
    V, b, w = ([layer[name].astype(kind) for layer in layers] for name in ("V", "b", "w"))
    one = kind(1)
    h = [kind(dt) * (one / (one + np.exp(-layer["c"].astype(kind)))) for layer, dt in zip(layers, dts, strict=True)]
    a = [kind(alpha) for alpha in alphas]
    zero = [np.zeros((u.shape[1], len(each)), kind) for each in w]
    y, z, worst = list(zero), list(zero), 0.0
    kept, inputs, L = [list(zip(y, z, strict=True))], u.astype(kind), range(len(layers))
    for below in inputs:
        for q in L:
            z[q] = z[q] - h[q] * (np.tanh(w[q] * y[q] + (below @ V[q].T + b[q])) + a[q] * y[q])
            y[q] = y[q] + h[q] * z[q]
            below = y[q]
        kept.append(list(zip(y, z, strict=True)))
    for n in range(len(inputs), 0, -1):
        for q in reversed(L):
            below = inputs[n - 1] if q == 0 else y[q - 1]
            y[q] = y[q] - h[q] * z[q]
            z[q] = z[q] + h[q] * (np.tanh(w[q] * y[q] + (below @ V[q].T + b[q])) + a[q] * y[q])
            pairs = zip((y[q], z[q]), kept[n - 1][q], strict=True)
            worst = max(worst, *(float(np.abs(back.astype(float) - there).max()) for back, there in pairs))
    return worst


# --- the other cells


def cornn(layers: Sequence[Layer], network: Mapping[str, Any], readout: Layer, u: Array, targets: Any) -> Numbers:
    (layer,) = layers
    dt, gamma, epsilon = (float(network[name]) for name in ("dt", "gamma", "epsilon"))
    drive = u @ layer["V"].T + layer["b"]
    y, z, size = np.zeros_like(drive[0]), np.zeros_like(drive[0]), drive.shape[2]
    rows, moved, sums = [], [0.0, 0.0], []
    for n, x in enumerate(drive):
        s = np.tanh(y @ layer["W"].T + z @ layer["W_z"].T + x)
        z = z + dt * (s - gamma * y - epsilon * z)
        y = y + dt * z
        rows.append((y, z, s))
        moved[1] += dt * ((n == 0) - gamma * moved[0] - epsilon * moved[1])  # one kick of 1, then none
        moved[0] += dt * moved[1]
        sums.append(np.abs(moved))
    trace = dict(zip("yzs", (np.array(each) for each in zip(*rows, strict=True)), strict=True))
    bounds, found = np.log(np.cumsum(sums, axis=0)), Numbers()
    for index, name in enumerate("yz"):
        sizes = np.abs(trace[name])
        keep(found, f"states | abs {name} | own equation", least(bounds[:, index][:, None, None], sizes))
        keep(found, f"states | largest abs {name} | own equation", least(bounds[-1, index], sizes.max(0)))
        keep_size(found, f"states | largest abs {name} | ", float(sizes.max()))
    found["margins | 4 − (dt²γ ± 2dtε) | "] = 4 - dt * dt * gamma - 2 * dt * epsilon
    eye = np.eye(size)
    for n in spectral_steps(len(u)):
        slope = dt * (1 - trace["s"][n - 1, 0] ** 2)[:, None]
        z_y, z_z = slope * layer["W"] - dt * gamma * eye, slope * layer["W_z"] + (1 - dt * epsilon) * eye
        J = np.block([[eye + dt * z_y, dt * z_z], [z_y, z_z]])
        keep_size(found, "step Jacobians | σ_max | ", float(np.linalg.norm(J, 2)))
    source = gradients.loss_sources(trace["y"], readout, targets)
    numbers = {"dt": dt, "gamma": gamma, "epsilon": epsilon}
    keep_gradients(found, *gradients.of_cornn(trace, u, source, layer, numbers))
    return found


def orthogonal(layers: Sequence[Layer], network: Mapping[str, Any], readout: Layer, u: Array, targets: Any) -> Numbers:
    (layer,) = layers
    is_cayley, size = network["cell"] == "scornn", network["hidden_size"]
    A = np.zeros((size, size))
    A[np.triu_indices(size, 1)] = layer["free"]
    A -= A.T
    turns, vectors = np.linalg.eigh(1j * A)  # A = V (−i turns) V*
    if is_cayley:
        W, inside = np.linalg.solve(np.eye(size) + A, (np.eye(size) - A) * layer["signs"]), "U"
    else:
        W, inside = ((vectors * np.exp(-1j * turns)) @ vectors.conj().T).real, "V"
    drive, b = u @ layer[inside].T, layer["b"]
    spectral, lifted = float(np.linalg.norm(W, 2)), float(np.linalg.norm(np.maximum(b, 0)))
    h, G = np.zeros_like(drive[0]), np.zeros(u.shape[1])
    logs, rows = [], []
    for x in drive:
        z = h @ W.T + x
        h = np.sign(z) * np.maximum(np.abs(z) + b, 0)
        G = spectral * G + np.linalg.norm(x, axis=1) + lifted
        logs.append(np.log(np.maximum(G, 1e-300)))
        rows.append((z, h))
    trace = dict(zip("zh", (np.array(each) for each in zip(*rows, strict=True)), strict=True))
    sizes = np.linalg.norm(trace["h"], axis=2)
    found = {
        "states | norm h | own equation": least(np.array(logs), sizes),
        "states | largest norm h | own equation": least(np.max(logs, axis=0), sizes.max(0)),
    }
    keep_size(found, "states | largest abs h | ", float(np.abs(trace["h"]).max()))
    for n in spectral_steps(len(u)):
        passed = (np.abs(trace["z"][n - 1, 0]) + b > 0) & (trace["z"][n - 1, 0] != 0)
        largest = float(np.linalg.norm(passed[:, None] * W, 2))
        if largest > 0:
            keep(found, "step Jacobians | σ_max | own equation", math.log10(spectral / largest))
    _matrix(found, A, layer["signs"] if is_cayley else None, turns, vectors)
    source = gradients.loss_sources(trace["h"], readout, targets)
    norms, own, slopes = gradients.of_orthogonal(trace, u, source, W, b, inside)
    own["free"] = (
        gradients.free_of_cayley(A, W, layer["signs"], slopes)
        if is_cayley
        else gradients.free_of_exponential(turns, vectors, slopes)
    )
    keep_gradients(found, norms, own)
    return found


def _matrix(found: Numbers, A: Array, signs: Array | None, turns: Array, vectors: NDArray[Any]) -> None:
    """W in float32, as the layer has it, by elimination or, of e^A, rounded from float64."""
    n, eye, kind = len(A), np.eye(len(A)), np.float32
    name = "orthogonality | ‖W*W − I‖_F | "
    if signs is None:
        W = ((vectors * np.exp(-1j * turns)) @ vectors.conj().T).real.astype(kind).astype(float)
        keep_size(found, name, float(np.linalg.norm(W.T @ W - eye)))
        return
    narrow = A.astype(kind)
    one = np.eye(n, dtype=kind)
    W = (eliminated(one + narrow, one - narrow) * signs.astype(kind)).astype(float)
    error, residual = np.linalg.norm(W.T @ W - eye), np.linalg.norm((eye - A) * signs - (eye + A) @ W)
    keep_size(found, name, float(error))
    keep(found, f"{name}thm-O-float (a)", math.log10(residual * (2 + residual) / error))
    singular, entry = np.linalg.svd(eye + A, compute_uv=False), float(np.abs(A).max())
    condition = float(singular[0] / singular[-1])
    bound = math.sqrt(1 + (entry / math.tan(math.pi / (2 * n))) ** 2)
    found["orthogonality | κ(I + A) | thm-SC-norm"] = math.log10(bound / condition)
    if entry <= 1:
        law = 5 * math.sqrt(n) * float(np.finfo(kind).eps) / math.sin(math.pi / (2 * n))
        keep(found, f"{name}sco-5.5.1-A", math.log10(law / error))
    found["margins | 1 − eps κ(I + A) | thm-O-float (b)"] = 1 - float(np.finfo(kind).eps) * condition
    found["margins | 1 − max|a_ij| | sco-T3.1"] = 1 - entry


def eliminated(M: NDArray[np.float32], B: NDArray[np.float32]) -> NDArray[np.float32]:
    """M⁻¹B by rows with pivots, all in the dtype of M: numpy's own solver works in float64 and rounds at the end."""
    rows, n = np.concatenate([M, B], axis=1), len(M)
    for k in range(n):
        pivot = k + int(np.abs(rows[k:, k]).argmax())
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k + 1 :] -= (rows[k + 1 :, k] / rows[k, k])[:, None] * rows[k]
    X = rows[:, n:].copy()
    for k in range(n - 1, -1, -1):
        X[k] = (X[k] - rows[k, k + 1 : n] @ X[k + 1 :]) / rows[k, k]
    return X


def linoss(layers: Sequence[Layer], network: Mapping[str, Any], readout: Layer, u: Array, targets: Any) -> Numbers:
    found: Numbers = {}
    below, dt, traces = u, float(network["dt"]), []
    for layer in layers:
        A = np.minimum(np.maximum(layer["A_raw"], 0), 4 * (1 - 2.0**-10) / dt**2)
        drive = below @ layer["B"].T
        y, z, rows = np.zeros_like(drive[0]), np.zeros_like(drive[0]), []
        for x in drive:
            z = z + dt * (x - A * y)
            y = y + dt * z
            rows.append((y, z))
        y, z = (np.array(each) for each in zip(*rows, strict=True))
        r, S = np.sqrt(1 - A * dt * dt / 4), dt * np.abs(drive).cumsum(0)
        with np.errstate(divide="ignore", invalid="ignore"):  # an A of 0 has the second of the two only
            near = np.fmin(S / (np.sqrt(A) * r), dt * S.cumsum(0) / r)
            for name, bound, states in (("y", near, y), ("z", S / r, z)):
                keep(found, f"states | abs {name} | own equation", least(np.log(bound), np.abs(states)))
                largest = np.abs(states).max(0)
                keep(found, f"states | largest abs {name} | own equation", least(np.log(bound[-1]), largest))
                keep_size(found, f"states | largest abs {name} | ", float(largest.max()))
        keep(found, "margins | 4 − dt²A | ", 4 - float((dt * dt * A).max()))
        keep(found, "margins | A | ", float(A.min()))
        _powers(found, A, dt, len(u))
        traces.append((layer, below, y, A))
        below = y
    source = gradients.loss_sources(below, readout, targets)
    for layer, rows_below, y, A in reversed(traces):
        norms, own, source = gradients.of_linoss(y, rows_below, source, layer, A, dt)
        keep_gradients(found, norms, own)
    return found


def _powers(found: Numbers, A: Array, dt: float, steps: int) -> None:
    """σmax of one step, which does not change along the run, and ‖Mⁿ‖₂ of the units with A > 0, n ≤ N."""
    one = np.ones_like(A)
    M = np.stack([one - dt * dt * A, dt * one, -dt * A, one], axis=-1).reshape(-1, 2, 2)
    keep_size(found, "step Jacobians | σ_max | ", float(np.linalg.norm(M, 2, axis=(1, 2)).max()))
    M, A = M[A > 0], A[A > 0]
    form = np.stack([A, -dt * A / 2, -dt * A / 2, np.ones_like(A)], axis=-1).reshape(-1, 2, 2)
    ends, power, largest = np.linalg.eigvalsh(form), M.copy(), np.zeros_like(A)
    for _ in range(steps):
        largest = np.maximum(largest, np.linalg.norm(power, 2, axis=(1, 2)))
        power = power @ M
    if len(A):
        keep(found, "step Jacobians | norm M^n | own equation", least(np.log(ends[:, 1] / ends[:, 0]) / 2, largest))


def lstm(layers: Sequence[Layer], network: Mapping[str, Any], readout: Layer, u: Array, targets: Any) -> Numbers:
    (layer,) = layers
    W, size = layer["weight_hh_l0"], network["hidden_size"]
    drive = u @ layer["weight_ih_l0"].T + layer["bias_ih_l0"] + layer["bias_hh_l0"]
    h = np.zeros((u.shape[1], size))
    c, rows = np.zeros_like(h), []
    for x in drive:
        i, f, g, o = np.split(x + h @ W.T, 4, axis=1)
        i, f, g, o = 1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-f)), np.tanh(g), 1 / (1 + np.exp(-o))
        c = f * c + i * g
        h = o * np.tanh(c)
        rows.append((h, c, np.concatenate([i, f, g, o], axis=1)))
    trace = dict(zip(("h", "c", "gates"), (np.array(each) for each in zip(*rows, strict=True)), strict=True))
    found: Numbers = {}
    for name in ("h", "c"):
        keep_size(found, f"states | largest abs {name} | ", float(np.abs(trace[name]).max()))
    before = gradients.shifted(trace["c"])
    for n in spectral_steps(len(u)):
        i, f, g, o = (each[:, None] for each in np.split(trace["gates"][n - 1, 0], 4))
        of_i, of_f, of_g, of_o = np.split(W, 4)
        c_h = i * (1 - i) * g * of_i + f * (1 - f) * before[n - 1, 0][:, None] * of_f + i * (1 - g * g) * of_g
        tanh = np.tanh(trace["c"][n - 1, 0])[:, None]
        h_h, h_c = o * (1 - o) * tanh * of_o + o * (1 - tanh**2) * c_h, o * (1 - tanh**2) * f * np.eye(size)
        J = np.block([[h_h, h_c], [c_h, f * np.eye(size)]])
        keep_size(found, "step Jacobians | σ_max | ", float(np.linalg.norm(J, 2)))
    source = gradients.loss_sources(trace["h"], readout, targets)
    keep_gradients(found, *gradients.of_lstm(trace, u, source, layer))
    return found
