"""What each time step contributes to a gradient of UnICORNN, exactly, in stacks of any depth.

Theorem names are those of docs/derivations/multilayer_paths.md. A unit kick of z in neuron p of layer l during step k
reaches y_n in neuron i of layer L with the factor K_{ip}(n, k), the sum over all monotone lattice paths from (k, l) to
(n, L); for E = ½|y^L_n − ȳ_n|²

    dE_k/dw^{l,p} = −h σ'(A^{l,p}_{k-1}) y^{l,p}_{k-1} Σ_i (y^{L,i}_n − ȳ^i_n) K_{ip}(n, k).            thm-R, thm-ML

Everything here is rational arithmetic in the entries of a ``Linearisation``: float64 arrays, or object arrays of
fractions, in which it is exact. Steps count from 1, layers from 1, level 0 is the input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from odernn.cells.unicornn import UnICORNN


@dataclass(frozen=True, eq=False)
class Linearisation:
    """The first variation of one run of a stack of L layers with m neurons each over N steps.

    step_sizes  (L, m)     h of every neuron
    kappas      (L, N, m)  κ_n = α + w σ'(A_{n-1}); row n − 1 belongs to step n
    slopes      (L, N, m)  σ'(A_{n-1})
    edges       for each layer the matrices (m, below) of the levels that it sees, V and, on residual edges, Λ
    is_shifted  whether step n sees the levels below at n − 1 ("sam") and not at n ("icml")
    """

    step_sizes: np.ndarray
    kappas: np.ndarray
    slopes: np.ndarray
    edges: Sequence[Mapping[int, np.ndarray]]
    is_shifted: bool = False

    def __post_init__(self) -> None:
        layers, _, size = self.kappas.shape
        if self.slopes.shape != self.kappas.shape or self.step_sizes.shape != (layers, size):
            raise ValueError(
                f"kappas has shape {self.kappas.shape}, slopes {self.slopes.shape} and step_sizes "
                f"{self.step_sizes.shape}, but they are (layers, steps, hidden) twice and (layers, hidden)."
            )
        if len(self.edges) != layers:
            raise ValueError(f"edges has {len(self.edges)} entries for {layers} layers: give one mapping a layer.")

    @property
    def num_layers(self) -> int:
        """L."""
        return len(self.kappas)

    @property
    def steps(self) -> int:
        """N."""
        return int(self.kappas.shape[1])


def impulse(kappas: np.ndarray, step_size: np.ndarray | float) -> np.ndarray:
    """[B_n … B_k]_12 for n = k, k+1, …, the y that a unit kick of z in step k has become; (steps, …).   thm-R

    ``kappas`` (steps, …) are κ_k, κ_{k+1}, …. For constant κ with 0 < κh² < 4 it is sin((n−k+1)θ)/r_κ, sin θ = h r_κ.
    """
    rows = np.empty_like(kappas)
    position, momentum = 0 * kappas[0], 1 + 0 * kappas[0]
    for n, kappa in enumerate(kappas):
        momentum = momentum - step_size * kappa * position
        position = position + step_size * momentum
        rows[n] = position
    return rows


def kernels(run: Linearisation, *, start: int, source: int = 1) -> np.ndarray:
    """K^{(q)}_{ip}(n, k) for q = l..L and n = k..N, shape (L − l + 1, N − k + 1, m, m).   thm-ML

    k = ``start``, l = ``source``. Stepping the first variation forwards from a unit kick adds up all lattice paths
    (k, l) → (n, q): each is climbed at times k ≤ j_{l+1} ≤ … ≤ j_q ≤ n.
    """
    _check_source(run, source)
    _check_step(run, "start", start)
    size = run.kappas.shape[2]
    zero = 0 * run.step_sizes[0][:, None] * np.ones((1, size), dtype=int)
    y, z = [zero.copy() for _ in run.edges], [zero.copy() for _ in run.edges]
    variations = np.empty((run.num_layers - source + 1, run.steps - start + 1, size, size), dtype=zero.dtype)
    kick = zero + np.eye(size, dtype=int)
    for n in range(start, run.steps + 1):
        before = list(y)
        for layer in range(source, run.num_layers + 1):
            q = layer - 1
            h, slope = run.step_sizes[q][:, None], run.slopes[q, n - 1][:, None]
            push = run.kappas[q, n - 1][:, None] * y[q]
            for level, weights in run.edges[q].items():
                if level >= source:
                    push = push + slope * (weights @ (before if run.is_shifted else y)[level - 1])
            z[q] = z[q] - h * push
            if layer == source and n == start:
                z[q] = z[q] + kick
            y[q] = y[q] + h * z[q]
            variations[layer - source, n - start] = y[q]
    return variations


def kick_sensitivities(run: Linearisation, *, end: int, error: np.ndarray, source: int = 1) -> np.ndarray:
    """Σ_i error_i K_{ip}(n, k) for k = 1..n and every neuron p of layer ``source``, shape (n, m); n = ``end``.   thm-ML

    The adjoint of ``kernels``: all k in one sweep back from step n, and no m × m kernel is formed.
    """
    _check_source(run, source)
    _check_step(run, "end", end)
    zero = 0 * run.step_sizes[0]
    p, r = [zero.copy() for _ in run.edges], [zero.copy() for _ in run.edges]
    p[-1] = p[-1] + error
    sensitivities = np.empty((end, len(zero)), dtype=p[-1].dtype)
    for n in range(end, 0, -1):
        pending = [zero.copy() for _ in run.edges]
        for q in range(run.num_layers - 1, source - 2, -1):
            h = run.step_sizes[q]
            kick = r[q] + h * p[q]
            for level, weights in run.edges[q].items():
                if level >= source:
                    target = pending if run.is_shifted else p
                    target[level - 1] = target[level - 1] - weights.T @ (h * run.slopes[q, n - 1] * kick)
            p[q], r[q] = p[q] - h * run.kappas[q, n - 1] * kick, kick
        p = [mine + late for mine, late in zip(p, pending, strict=True)]
        sensitivities[n - 1] = r[source - 1]
    return sensitivities


def weight_contributions(
    run: Linearisation, *, positions: np.ndarray, end: int, error: np.ndarray, source: int = 1
) -> np.ndarray:
    """dE^{(n,L)}_{k,l}/dw^{l,p} for k = 1..n, shape (n, m): their sum over k is dE_n/dw^l.   thm-R, thm-ML

    ``positions`` (≥ n, m) are y^l_0, y^l_1, …; ``error`` (m,) is y^L_n − ȳ_n, n = ``end``, l = ``source``.
    """
    sensitivities = kick_sensitivities(run, end=end, error=error, source=source)
    q = source - 1
    contributions: np.ndarray = -run.step_sizes[q] * run.slopes[q, :end] * positions[:end] * sensitivities
    return contributions


def same_time_blocks(run: Linearisation, *, step: int, source: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The y-y and z-y entries of dX^L_n/dX^l_n, each (m, m): within one step, l = ``source`` < L.   thm-ML (5)

    Order h^{2p} and h^{2p−1} for shortest routes of p hops; zero for the "sam" convention, where no climb is free.
    """
    _check_source(run, source)
    _check_step(run, "step", step)
    size = run.kappas.shape[2]
    zero = 0 * run.step_sizes[0][:, None] * np.ones((1, size), dtype=int)
    y: list[np.ndarray] = [zero for _ in run.edges]
    y[source - 1] = zero + np.eye(size, dtype=int)
    z = zero
    for q in range(source, run.num_layers):
        h, slope = run.step_sizes[q][:, None], run.slopes[q, step - 1][:, None]
        push = zero
        for level, weights in run.edges[q].items():
            if level >= source and not run.is_shifted:
                push = push + weights @ y[level - 1]
        z = -h * slope * push
        y[q] = h * z
    return y[-1], z


def free_kernel(*, step_size: Any, weight: Any, num_layers: int, steps: int) -> Any:
    """(−V)^{L−1} h^{2L−1} C(n−k+2L−1, 2L−1): K for α = w = 0, σ' = 1, m = 1; n − k = ``steps``.   thm-ML"""
    paths = math.comb(steps + 2 * num_layers - 1, 2 * num_layers - 1)
    return (-weight) ** (num_layers - 1) * step_size ** (2 * num_layers - 1) * paths


def small_time_kernel(run: Linearisation, *, dt: float, start: int, time: float) -> np.ndarray:
    """The leading power of K^{(L)} for small t = t_n − t_k, (m, m), over the shortest routes, p hops.   thm-ML (2), (3)

    (−1)^p t^{2p+1}/(2p+1)! Σ_routes D_L V^L … D_{l'} V^{l'} diag(σ̂_1), D_q = diag(σ̂_q² σ'_q) at step k = ``start``,
    with σ̂ = h/dt. The remainder is a factor 1 + O(t) + O(dt/t); O(t²) where σ' does not change.
    """
    _check_step(run, "start", start)
    scales = run.step_sizes / dt
    sums: list[dict[int, np.ndarray]] = [{0: np.diag(scales[0])}]
    for q in range(1, run.num_layers):
        gain = (scales[q] ** 2 * run.slopes[q, start - 1])[:, None]
        by_hops: dict[int, np.ndarray] = {}
        for level, weights in run.edges[q].items():
            for hops, matrix in (sums[level - 1] if level else {}).items():
                term = gain * (weights @ matrix)
                by_hops[hops + 1] = by_hops[hops + 1] + term if hops + 1 in by_hops else term
        sums.append(by_hops)
    p = min(sums[-1])
    leading: np.ndarray = (-1) ** p * time ** (2 * p + 1) / math.factorial(2 * p + 1) * sums[-1][p]
    return leading


def peak_law(*, frequency: float, weight: float, num_layers: int, time: float) -> float:
    """2|V|^{L−1} T'^{L−1}/((L−1)! (2ω₀)^L): how high |K^{(L)}| rises by effective time T'.   thm-ML (4)

    For identical neurons that stay linear, σ' = 1, ω₀ = √(α + w); the ratio tends to 1 as ω₀T' → ∞, h → 0.
    """
    L = num_layers
    return 2 * abs(weight * time) ** (L - 1) / (math.factorial(L - 1) * (2 * frequency) ** L)


def linearise(network: UnICORNN, input: Tensor, *, previous_input: Tensor | None = None) -> Linearisation:
    """The ``Linearisation`` of one run of a network on one sequence, (time, input), from zero state, in float64.

    Without dropout. Raises ValueError for a batch or for a bidirectional network, whose paths go both ways in time.
    """
    if network.bidirectional:
        raise ValueError("The network is bidirectional, but lattice paths run one way in time. Take one direction.")
    if input.dim() != 2:
        raise ValueError(f"input has shape {tuple(input.shape)}, but one sequence is (time, input). Choose a sample.")
    results = network.states(input, previous_input=previous_input)
    before = input[0] * 0 if previous_input is None else previous_input
    levels = [_with_start(input, before)] + [_with_start(result.y[:, 0], result.y0[0]) for result in results]
    shifted = network.index == "sam"
    steps_of, kappas, slopes, edges = [], [], [], []
    for index, layer in enumerate(network.layers):
        coefficients = network.coefficients(index)
        w, h, alpha = (_array(v) for v in (coefficients["w"], coefficients["step_size"], coefficients["alpha"]))
        below, skip = network.sources(index + 1)
        seen = {below: _array(layer.V)} | ({} if skip is None or layer.Lambda is None else {skip: _array(layer.Lambda)})
        drive = sum((levels[level][:-1] if shifted else levels[level][1:]) @ matrix.T for level, matrix in seen.items())
        drive = drive if layer.b is None else drive + _array(layer.b)
        slope = 1 - np.tanh(w * levels[index + 1][:-1] + drive) ** 2
        steps_of.append(h)
        slopes.append(slope)
        kappas.append(alpha + w * slope)
        edges.append(seen)
    return Linearisation(np.array(steps_of), np.array(kappas), np.array(slopes), edges, shifted)


def _array(value: Tensor) -> np.ndarray:
    array: np.ndarray = value.detach().double().cpu().numpy()
    return array


def _with_start(rows: Tensor, start: Tensor) -> np.ndarray:
    """Rows n = 0..N of a level."""
    return np.concatenate([_array(start)[None], _array(rows)])


def _check_source(run: Linearisation, source: int) -> None:
    if not 1 <= source <= run.num_layers:
        raise ValueError(f"source is layer {source}, but the run has layers 1 to {run.num_layers}.")


def _check_step(run: Linearisation, name: str, value: int) -> None:
    if not 1 <= value <= run.steps:
        raise ValueError(f"{name} is step {value}, but the run has steps 1 to {run.steps}.")
