"""UnICORNN written once more as loops over scalars, and the small networks that the tests of the cell share."""

from __future__ import annotations

import itertools
import math

import torch

from odernn.cells.unicornn import UnICORNN

F64 = torch.float64
INDICES = ("icml", "sam")
#           layers, residual_skip, skip_input
STACKS = [(1, None, True), (2, None, True), (3, None, True), (4, 2, True), (4, 2, False), (5, 3, True)]
VARIANTS = [
    {"index": "icml"},
    {"index": "sam"},
    {"bidirectional": True},
    {"multiscale": False},
    {"bidirectional": True, "multiscale": False, "bias": False},
]


def network(layers: int = 2, *, seed: int = 0, **options) -> UnICORNN:
    """A network with weights away from their initial values, so that nothing is hidden by a zero."""
    generator = torch.Generator().manual_seed(seed)
    options = {"dt": 0.3, "alpha": 0.9, "dtype": F64} | options
    model = UnICORNN(2, 3, layers, generator=generator, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.4 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def start(model: UnICORNN, batch: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """An initial state that is not zero."""
    shape = (len(model.layers), batch, model.hidden_size)
    return normal(*shape, seed=2), normal(*shape, seed=3)


def previous(model: UnICORNN, batch: int = 2) -> dict[str, torch.Tensor]:
    """The keyword previous_input, where the convention has one."""
    return {"previous_input": normal(batch, 2, seed=4)} if model.index == "sam" else {}


def book(model: UnICORNN, u, y0, z0, u0) -> tuple[dict, dict]:
    """y^l_n and z^l_n of one sample as nested loops over scalars; keys are (n, l, i), l = 0 is the input.

    Both directions live on one clock. Neuron i of the reverse direction has the key i + m, starts at n = N + 1 and
    goes down: its step before n is n + 1.
    """
    S, L, m, N = model.residual_skip, model.num_layers, model.hidden_size, len(u)
    y, z = {}, {}
    for n, j in itertools.product(range(N + 1), range(len(u0))):
        y[n, 0, j] = float(u0[j]) if n == 0 else float(u[n - 1][j])
    for l, k in itertools.product(range(1, L + 1), range(model.directions)):
        index, earlier = (l - 1) * model.directions + k, 1 if k else -1
        p = {name: value.tolist() for name, value in model.layers[index].named_parameters()}
        for i in range(m):
            first = N + 1 if k else 0
            y[first, l, i + k * m], z[first, l, i + k * m] = float(y0[index][i]), float(z0[index][i])
        for n, i in itertools.product(range(N, 0, -1) if k else range(1, N + 1), range(m)):
            seen = n if model.index == "icml" else n - 1
            x = p.get("b", [0.0] * m)[i] + sum(V * y[seen, l - 1, j] for j, V in enumerate(p["V"][i]))
            if S is not None and l > S and not (l == S + 1 and not model.skip_input):
                x += sum(V * y[seen, l - S - 1, j] for j, V in enumerate(p["Lambda"][i]))
            h = float(model.dt[l - 1]) / (1 + math.exp(-p["c"][i]) if "c" in p else 1)
            now, before = (n, l, i + k * m), (n + earlier, l, i + k * m)
            s = math.tanh(p["w"][i] * y[before] + x)
            z[now] = z[before] - h * (s + float(model.alpha[l - 1]) * y[before])
            y[now] = y[before] + h * z[now]
    return y, z
