"""LinOSS once more, neuron by neuron; the implicit step by a 2x2 system for (y_n, z_n) and Cramer's rule."""

from __future__ import annotations

import numpy as np
import torch

from odernn.cells.linoss import LinOSS

HIDDEN = 3
INVERTIBLE = True


def _case(*, A=(0.3, 3.0), **options):
    def build(*, num_layers=1, **manners):
        network = LinOSS(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(6)
        with torch.no_grad():
            for layer in network.layers:
                layer.A_raw.uniform_(*A, generator=generator)
                layer.B.normal_(0.0, 0.8, generator=generator)
        return network

    return build


CASES = {
    "imex": _case(dt=0.7),
    "im": _case(dt=0.7, scheme="im"),
    "imex, parallel": _case(dt=0.7, execution="parallel"),
    "im, parallel": _case(dt=0.7, scheme="im", execution="parallel"),
    "clamped": _case(dt=1.1, guard="clamp", A=(1.0, 6.0)),
    "some A below 0": _case(dt=0.3, A=(-2.0, 2.0)),
}


def layer(network, number, parameters, below, state):
    p, dt, rule = parameters, float(parameters["dt"]), network.layers[0]
    y, z = (list(map(float, block)) for block in state)
    ys, zs = [], []
    for u in below:
        for i in range(HIDDEN):
            A = max(float(p["A_raw"][i]), 0.0)
            if rule.guard == "clamp" and rule.scheme == "imex":
                A = min(A, 4.0 * 1023 / 1024 / dt**2)
            x = sum(p["B"][i, k] * u[k] for k in range(len(u)))
            if rule.scheme == "im":  # z + dt A y = z_old + dt x and y − dt z = y_old
                determinant = 1.0 + dt * dt * A
                right = z[i] + dt * x
                y[i], z[i] = (y[i] + dt * right) / determinant, (right - dt * A * y[i]) / determinant
            else:
                z[i] += dt * (x - A * y[i])
                y[i] += dt * z[i]
        ys.append(list(y))
        zs.append(list(z))
    return [np.array(ys).reshape(-1, HIDDEN), np.array(zs).reshape(-1, HIDDEN)]
