"""Exact contributions of every step and layer to a gradient of UnICORNN, and the lattice sums that they are.

    ∂E^{(n,L)}_{k,l}/∂θ = (∂E_n/∂X^L_n) (dX^L_n/dX^l_k) (∂⁺X^l_k/∂θ),        E_n = ½ |y^L_n − ȳ|²,

with the total derivative of the L-layer recursion in the middle: all routes through the grid of times and layers. The
recursion is carried backward from (n, L); with p, q the derivatives with respect to y^l_k, z^l_k and κ = α + w σ′

    q_k = q_{k+1} + h p_{k+1},     p_k = p_{k+1} − h κ_{k+1} q_k + Σ over layers above, at time k, of Vᵀ g,
    g_k = −h σ′(A_{k−1}) (q_k + h p_k),

and each contribution is local: g y_{k−1} for w, g for b, g y_below for V, h (1 − σ̂) (z p − (s + α y)(q + h p)) for c.
Arrays are (time, batch, hidden), float64, on the device of the weights; row n − 1 is step n. Layers and steps count
from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.cells.unicornn import UnICORNN


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """w, h, σ̂ (hidden,) with σ̂ None without c; α a number; ``edges`` from a level below to its matrix; b or None."""

    w: Tensor
    step_size: Tensor
    alpha: float
    edges: Mapping[int, Tensor]
    bias: Tensor | None = None
    sigma: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """All that a run leaves behind. ``levels[0]`` is the input, ``levels[l]`` is y^l.

    momenta, slopes, forces    z_n, σ′(A_{n−1}) and s_n + α y_{n−1} of layer l at index l − 1
    """

    layers: tuple[LayerWeights, ...]
    levels: tuple[Tensor, ...]
    momenta: tuple[Tensor, ...]
    slopes: tuple[Tensor, ...]
    forces: tuple[Tensor, ...]

    def previous(self, level: int) -> Tensor:
        """y_{n−1} of layer ``level`` in row n − 1: zero in the first."""
        y = self.levels[level]
        return torch.cat([torch.zeros_like(y[:1]), y[:-1]])

    def kappa(self, layer: int) -> Tensor:
        """κ_n = α + w σ′(A_{n−1}), (time, batch, hidden)."""
        weights = self.layers[layer - 1]
        return weights.alpha + weights.w * self.slopes[layer - 1]


def weights_of(network: UnICORNN) -> tuple[LayerWeights, ...]:
    """The coefficients of a network, detached and in float64: one direction, index convention "icml", no dropout."""
    network, weights = network.unlimited(), []
    for number, layer in enumerate(network.layers, 1):
        below, skipped = network.sources(number)
        edges = {below: layer.V.detach().double()}
        if skipped is not None and layer.Lambda is not None:
            edges[skipped] = layer.Lambda.detach().double()
        dt, alpha = network.dt[number - 1].double(), float(network.alpha[number - 1])
        sigma = None if layer.c is None else torch.sigmoid(layer.c.detach().double())
        step_size = dt.expand(layer.hidden_size) if sigma is None else dt * sigma
        bias = None if layer.b is None else layer.b.detach().double()
        weights.append(LayerWeights(layer.w.detach().double(), step_size, alpha, edges, bias, sigma))
    return tuple(weights)


def run(layers: tuple[LayerWeights, ...], inputs: Tensor) -> Trajectory:
    """From zero states on inputs (time, batch, input)."""
    levels = [inputs.double()]
    momenta: list[Tensor] = []
    slopes: list[Tensor] = []
    forces: list[Tensor] = []
    for layer in layers:
        drive = sum((levels[level] @ matrix.T for level, matrix in layer.edges.items()), levels[0].new_zeros(()))
        drive = drive if layer.bias is None else drive + layer.bias
        y = z = torch.zeros_like(drive[0])
        rows: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        for x in drive:
            s = torch.tanh(layer.w * y + x)
            force = s + layer.alpha * y
            z = z - layer.step_size * force
            y = y + layer.step_size * z
            rows.append((y, z, 1 - s * s, force))
        for place, values in zip((levels, momenta, slopes, forces), zip(*rows, strict=True), strict=True):
            place.append(torch.stack(values))
    return Trajectory(layers, tuple(levels), tuple(momenta), tuple(slopes), tuple(forces))


@dataclass(frozen=True, eq=False)
class Adjoint:
    """p, q of every layer for k = 1..n, and g = −h σ′ (q + h p): derivatives of a number with respect to y, z, x."""

    p: tuple[Tensor, ...]
    q: tuple[Tensor, ...]
    g: tuple[Tensor, ...]


def adjoint(trajectory: Trajectory, n: int, seed: Tensor) -> Adjoint:
    """Backward from (n, L), where the derivative with respect to y^L_n is ``seed`` (batch, hidden)."""
    layers, depth = trajectory.layers, len(trajectory.layers)
    zeros = [torch.zeros_like(y[:n]) for y in trajectory.levels[1:]]
    inherited = zeros  # by each layer, at every time, from the layers above
    inherited[-1][n - 1] = seed
    adjoints: list[tuple[Tensor, Tensor, Tensor]] = []
    for index in range(depth - 1, -1, -1):
        layer, kappa = layers[index], trajectory.kappa(index + 1)
        p, q = inherited[index][n - 1], torch.zeros_like(seed)
        rows = [(p, q)]
        for k in range(n - 1, 0, -1):  # kappa[k] belongs to the step from k to k + 1
            q = q + layer.step_size * p
            p = p - layer.step_size * kappa[k] * q + inherited[index][k - 1]
            rows.append((p, q))
        ps, qs = (torch.stack(series[::-1]) for series in zip(*rows, strict=True))
        g = -layer.step_size * trajectory.slopes[index][:n] * (qs + layer.step_size * ps)
        adjoints.append((ps, qs, g))
        for level, matrix in layer.edges.items():
            if level > 0:
                inherited[level - 1] = inherited[level - 1] + g @ matrix
    p_all, q_all, g_all = zip(*adjoints[::-1], strict=True)
    return Adjoint(p_all, q_all, g_all)


def contributions(trajectory: Trajectory, n: int, target: Tensor) -> tuple[dict[str, Tensor], ...]:
    """∂E^{(n,L)}_{k,l}/∂θ for k = 1..n; entry l − 1 maps "w", "b", "c" to (n, batch, hidden).

    Matrices are (n, batch, hidden, below) under the name "V<level>" of the level that they read. Their sum over l and k
    is the gradient of E_n, for every sample of the batch on its own.
    """
    back = adjoint(trajectory, n, trajectory.levels[-1][n - 1] - target)
    by_layer = []
    for index, layer in enumerate(trajectory.layers):
        p, q, g = back.p[index], back.q[index], back.g[index]
        by_name = {"w": g * trajectory.previous(index + 1)[:n], "b": g}
        for level in layer.edges:
            by_name[f"V{level}"] = g[..., :, None] * trajectory.levels[level][:n, :, None, :]
        if layer.sigma is not None:
            direct = trajectory.momenta[index][:n] * p - trajectory.forces[index][:n] * (q + layer.step_size * p)
            by_name["c"] = layer.step_size * (1 - layer.sigma) * direct
        by_layer.append(by_name)
    return tuple(by_layer)


def kernels(trajectory: Trajectory, n: int) -> Tensor:
    """K^{(L)}_{ip}(n, k) for k = 1..n, (n, batch, outputs i, neurons p of layer 1): a sum over all lattice paths.

    ∂E^{(n,L)}_{k,1}/∂w^{1,p} = −h_p σ′(A_{k−1}) y_{k−1} Σ_i (y^{L,i}_n − ȳ^i) K_ip(n, k); K = [B_n ⋯ B_k]_12 if L = 1.
    """
    outputs = trajectory.levels[-1].shape[2]
    by_output = []
    for i in range(outputs):
        seed = torch.zeros_like(trajectory.levels[-1][0])
        seed[:, i] = 1.0
        back = adjoint(trajectory, n, seed)
        by_output.append(back.q[0] + trajectory.layers[0].step_size * back.p[0])
    return torch.stack(by_output, dim=2)


def _spectral_norm(matrices: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.matrix_norm(matrices, ord=2)
    return norm


def log_norms_of_products(
    kappa: Tensor, step_size: Tensor, norm: Callable[[Tensor], Tensor] = _spectral_norm
) -> Tensor:
    """log of a norm, spectral unless given, of B(κ_n) ⋯ B(κ_1) for n = 1..N; kappa (time, ...), rescaled every step.

    Nothing overflows: the product is kept with largest entry 1, and its size in a logarithm. ``norm`` takes matrices
    (..., 2, 2) and is homogeneous.
    """
    one, zero = torch.ones_like(kappa[0]), torch.zeros_like(kappa[0])
    entries = [one, zero, zero, one]
    size = torch.zeros_like(kappa[0])
    logs = []
    for kappa_n in kappa:
        a, b, c, d = entries
        lower = (c - step_size * kappa_n * a, d - step_size * kappa_n * b)
        new = (a + step_size * lower[0], b + step_size * lower[1], *lower)
        scale = torch.stack(new).abs().amax(dim=0)
        entries = [value / scale for value in new]
        size = size + scale.log()
        matrix = torch.stack(entries, dim=-1).reshape(*kappa.shape[1:], 2, 2)
        logs.append(size + norm(matrix).log())
    return torch.stack(logs)
