"""IntegratorRNN once more: the classical methods written out stage by stage, fields in numpy.

Which method a case is supposed to be is written here, as the network's ``book_label``; the library is not asked.
"""

from __future__ import annotations

import numpy as np
import torch

from odernn import tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.fields.antisymmetric import Antisymmetric
from odernn.fields.monotone import Monotone
from odernn.fields.oscillator import Oscillator
from odernn.fields.skew_linear import SkewLinear
from odernn.tableaus import families

DT = 0.2
HIDDEN = 3


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def _normal(*shape: int, seed: int = 6) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def case(label, field, method, **options):
    """A builder of networks that the step ``label`` of this book describes."""

    def build(**manners):
        network = IntegratorRNN(
            field, method, DT, input_size=2, generator=_generator(), dtype=torch.float64, **options, **manners
        )
        network.book_label = label
        return network

    return build


OSCILLATOR = Oscillator(_normal(HIDDEN).abs(), 1.3)
ANTISYMMETRIC = Antisymmetric(_normal(HIDDEN, HIDDEN), 0.1)

_DESCRIBED = {
    "symplectic euler": (OSCILLATOR, tableaus.SYMPLECTIC_EULER, {"learn_steps": True}),
    "stoermer verlet": (OSCILLATOR, tableaus.STOERMER_VERLET, {}),
    "rk4 on antisymmetric": (ANTISYMMETRIC, tableaus.RK4, {}),
    "cayley": (SkewLinear(_normal(HIDDEN, HIDDEN)), tableaus.IMPLICIT_MIDPOINT, {"learn_steps": True}),
    "gauss 2 on monotone": (Monotone(_normal(4, HIDDEN)), families.gauss(2), {}),
    "implicit midpoint on oscillator": (OSCILLATOR, tableaus.IMPLICIT_MIDPOINT, {"learn_steps": True}),
    "linear inputs": (ANTISYMMETRIC, tableaus.RK4, {"inputs": "linear"}),
}
CASES = {label: case(label, field, method, **options) for label, (field, method, options) in _DESCRIBED.items()}
INVERTIBLE = tuple(label for label in CASES if label != "linear inputs")
ONE_DIRECTION = ("linear inputs",)
LOOKS_BACK = ("linear inputs",)


def layer(network, number, parameters, below, state, previous):
    step = _STEPS[network.book_label]
    p = parameters
    drives = below @ p["V"].T + p["b"]
    h = p["dt"] / (1.0 + np.exp(-p["c"])) if "c" in p else p["dt"]
    earlier = p["V"] @ previous + p["b"] if network.inputs == "linear" else None
    rows = []
    x = tuple(np.array(block) for block in state)
    for n, drive in enumerate(drives):
        x = step(p, h, x, drive, drives[n - 1] if n else earlier)
        rows.append(x)
    if not rows:
        return [np.zeros((0, HIDDEN)) for _ in state]
    return [np.stack(block) for block in zip(*rows, strict=True)]


def _force(p, y, x):
    return -(np.tanh(p["field.w"] * y + x) + p["field.alpha"] * y)


def _symplectic_euler(p, h, state, x, _):
    """Kick, then drift: Rusch & Mishra 2021, eq. (6)."""
    y, z = state
    z = z + h * _force(p, y, x)
    return y + h * z, z


def _stoermer_verlet(p, h, state, x, _):
    """Hairer, Lubich & Wanner 2006, Table II.2.1: Lobatto IIIA for y and IIIB for z, half a kick, a drift, half a kick.

    Z_1 = Z_2 = z + h/2 F(Y_1)      Y_1 = y,   Y_2 = y + h/2 (Z_1 + Z_2)      z₊ = z + h/2 (F(Y_1) + F(Y_2))
    """
    y, z = state
    middle = z + h / 2 * _force(p, y, x)
    end = y + h * middle
    return end, z + h / 2 * (_force(p, y, x) + _force(p, end, x))


def _antisymmetric(p, y, x):
    W = p["field.W"]
    return np.tanh((W - W.T - p["field.gamma"] * np.eye(HIDDEN)) @ y + x)


def _rk4(p, h, state, x, _):
    return _rk4_with_inputs(p, h, state, (x, x, x))


def _rk4_linear(p, h, state, x, before):
    return _rk4_with_inputs(p, h, state, (before, (before + x) / 2, x))


def _rk4_with_inputs(p, h, state, inputs):
    (y,) = state
    first, middle, last = inputs
    k1 = _antisymmetric(p, y, first)
    k2 = _antisymmetric(p, y + h / 2 * k1, middle)
    k3 = _antisymmetric(p, y + h / 2 * k2, middle)
    k4 = _antisymmetric(p, y + h * k3, last)
    return (y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4),)


def _cayley(p, h, state, x, _):
    (y,) = state
    S = p["field.W"] - p["field.W"].T
    half = np.diag(h) @ S / 2
    eye = np.eye(HIDDEN)
    return (np.linalg.solve(eye - half, (eye + half) @ y + h * x),)


def _solved(residual, guess):
    """A root by Newton's method with differences of the complex step: not the library's Jacobians."""
    k = guess
    for _ in range(50):
        r = residual(k)
        J = np.stack([residual(k + 1e-30j * e).imag / 1e-30 for e in np.eye(len(k))], axis=1)
        change = np.linalg.solve(J, r)
        k = k - change
        if np.abs(change).max() < 1e-14 * (1 + np.abs(k).max()):
            break
    return k


def _gauss_2(p, h, state, x, _):
    (y,) = state
    K = p["field.K"]
    root = np.sqrt(3.0) / 6
    A = np.array([[0.25, 0.25 - root], [0.25 + root, 0.25]])

    def field(v):
        return -K.T @ np.tanh(K @ v + x)

    def residual(flat):
        k = flat.reshape(2, HIDDEN)
        return np.concatenate([k[i] - field(y + h * (A[i, 0] * k[0] + A[i, 1] * k[1])) for i in range(2)])

    k = _solved(residual, np.concatenate([field(y)] * 2)).reshape(2, HIDDEN)
    return (y + h / 2 * (k[0] + k[1]),)


def _implicit_midpoint(p, h, state, x, _):
    y, z = state

    def residual(flat):
        k, l = flat[:HIDDEN], flat[HIDDEN:]
        return np.concatenate([k - (z + h / 2 * l), l - _force(p, y + h / 2 * k, x)])

    flat = _solved(residual, np.concatenate([z, _force(p, y, x)]))
    return y + h * flat[:HIDDEN], z + h * flat[HIDDEN:]


_STEPS = {
    "symplectic euler": _symplectic_euler,
    "stoermer verlet": _stoermer_verlet,
    "rk4 on antisymmetric": _rk4,
    "linear inputs": _rk4_linear,
    "cayley": _cayley,
    "gauss 2 on monotone": _gauss_2,
    "implicit midpoint on oscillator": _implicit_midpoint,
}
