"""The book of ODERNN: Niu, Chuang, Horesh 2019, Definition 1, every case with its equations written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from odernn import tableaus
from odernn.cells.odernn import ODERNN, Coefficient, Gate, MatrixTableau, Stage

INVERTIBLE = False

HIDDEN = 3

Array = np.ndarray[Any, np.dtype[np.float64]]
Weights = Mapping[str, Array]


def _away(network: ODERNN) -> ODERNN:
    """Weights, and to a smaller extent coefficients, that are not the initial ones."""
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            size = 0.05 if "coefficients" in name else 0.3
            weight += size * torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
    return network


def _odernn(tableau: Any, **options: Any) -> ODERNN:
    generator = torch.Generator().manual_seed(5)
    return _away(ODERNN(2, HIDDEN, tableau=tableau, generator=generator, dtype=torch.float64, **options))


def _matrix(rows: int, columns: int, seed: int) -> Any:
    return 0.5 * np.random.default_rng(seed).normal(size=(rows, columns))


def matrix(**manners: Any) -> ODERNN:
    """Two stages of 4 and 5 neurons, two blocks; the second stage reads the second block only."""
    D = 2 * HIDDEN
    stages = {1: Stage((("tanh", 3), ("sigmoid", 1))), 2: Stage((("sigmoid", 5),), reads=(1,))}
    A, B = {(2, 1): _matrix(D, 4, 1)}, {1: _matrix(D, 4, 2), 2: _matrix(D, 5, 3)}
    return _odernn(MatrixTableau(HIDDEN, stages, A, B, ("q", "p")), eta=0.25, **manners)


def gated(**manners: Any) -> ODERNN:
    """k_1 in two segments multiplies itself and the state, as in an LSTM, with learned coefficients."""
    d = HIDDEN
    first = Stage((("sigmoid", d), ("tanh", d)), reads=(0,))
    stages = {1: first, 2: Stage((("tanh", d),), reads=(1,), sees_input=False)}
    swap = Gate(y=[[0, 1], [0, 0]], stages={1: [[0, 0], [1, 0]]})  # m on the first half of k_1, that half on the second
    A = {(2, 1): Coefficient([[0, 0], [-1, 1]], swap)}
    B = {1: Coefficient([[0, 0.5], [-1, 1]], swap), 2: Coefficient([[1], [0]], Gate(0.5, stages={1: [[1, 0]]}))}
    return _odernn(MatrixTableau(d, stages, A, B, ("h", "m")), eta=0.5, learn_coefficients=True, **manners)


def scalar(**manners: Any) -> ODERNN:
    """Heun's method, stages with weights of their own."""
    return _odernn(tableaus.HEUN_2, eta=0.2, **manners)


def weighted(**manners: Any) -> ODERNN:
    """Coefficients a_ij P of the explicit midpoint rule, one set of weights for both stages, two blocks."""
    factor = np.tril(_matrix(2 * HIDDEN, 2 * HIDDEN, 4)) + np.eye(2 * HIDDEN)
    options = {"coefficients": "weighted", "P": factor @ factor.T, "share_stages": True, "blocks": 2, "bias": False}
    return _odernn(tableaus.EXPLICIT_MIDPOINT, eta=0.2, **options, **manners)


def implicit(**manners: Any) -> ODERNN:
    """The implicit midpoint rule, η small enough for its stage equation to be a contraction."""
    return _odernn(tableaus.IMPLICIT_MIDPOINT, eta=0.3, **manners)


CASES: dict[str, Callable[..., ODERNN]] = {
    "matrix": matrix,
    "gated": gated,
    "scalar": scalar,
    "weighted": weighted,
    "implicit midpoint": implicit,
}


def layer(network: ODERNN, number: int, parameters: Weights, below: Array, state: tuple[Array, ...]) -> list[Array]:
    """The rows n = 1..N of every block."""
    step = _step_of(network)
    y, rows = np.concatenate(state), []
    for u in below:
        y = step(parameters, y, u)
        rows.append(y)
    return np.split(np.array(rows).reshape(len(below), len(y)), len(state), axis=1)


def _step_of(network: ODERNN) -> Callable[[Weights, Array, Array], Array]:
    names = network.structure.block_names
    if names == ("q", "p"):
        return _matrix_step
    if names == ("h", "m"):
        return _gated_step
    if names == ("y1", "y2"):
        return _weighted_step
    return _heun_step if len(network.structure.stages) == 2 else _midpoint_step


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))


def _matrix_step(w: Weights, y: Array, u: Array) -> Array:
    eta = w["eta"]
    a = w["K_1"] @ y + w["U_1"] @ u + w["b_1"]
    k_1 = np.append(np.tanh(a[:3]), _sigmoid(a[3:]))
    p = (y + eta * w["coefficients.A_2_1"] @ k_1)[HIDDEN:]
    k_2 = _sigmoid(w["K_2"] @ p + w["U_2"] @ u + w["b_2"])
    return np.asarray(y + eta * (w["coefficients.B_1"] @ k_1 + w["coefficients.B_2"] @ k_2))


def _gated_step(w: Weights, y: Array, u: Array) -> Array:
    eta, d = w["eta"], HIDDEN

    def blocks(table: Array) -> Array:
        return np.kron(table, np.eye(d))

    def coefficient(name: str) -> Array:
        gate = np.zeros(w[f"coefficients.{name}"].shape[1] * d)
        gate += w.get(f"coefficients.{name}_gate", 0.0)
        gate += blocks(w[f"coefficients.{name}_gate_k_1"]) @ k_1
        if f"coefficients.{name}_gate_y" in w:
            gate += blocks(w[f"coefficients.{name}_gate_y"]) @ y
        return np.asarray(blocks(w[f"coefficients.{name}"]) @ np.diag(gate))

    a = w["K_1"] @ y[:d] + w["U_1"] @ u + w["b_1"]
    k_1 = np.concatenate([_sigmoid(a[:d]), np.tanh(a[d:])])
    Y_2 = y + eta * coefficient("A_2_1") @ k_1
    k_2 = np.tanh(w["K_2"] @ Y_2[d:] + w["b_2"])
    return np.asarray(y + eta * (coefficient("B_1") @ k_1 + coefficient("B_2") @ k_2))


def _heun_step(w: Weights, y: Array, u: Array) -> Array:
    eta = w["eta"]
    k_1 = np.tanh(w["K_1"] @ y + w["U_1"] @ u + w["b_1"])
    k_2 = np.tanh(w["K_2"] @ (y + eta * k_1) + w["U_2"] @ u + w["b_2"])
    return np.asarray(y + eta * (k_1 + k_2) / 2)


def _weighted_step(w: Weights, y: Array, u: Array) -> Array:
    h_P = w["eta"] * w["coefficients.L"] @ w["coefficients.L"].T

    def f(Y: Array) -> Array:
        return np.asarray(np.tanh(w["K_1"] @ Y + w["U_1"] @ u))

    return np.asarray(y + h_P @ f(y + h_P @ f(y) / 2))


def _midpoint_step(w: Weights, y: Array, u: Array) -> Array:
    eta, middle = w["eta"], y
    for _ in range(200):  # a contraction: η ‖K‖ / 2 < 1
        middle = y + eta / 2 * np.tanh(w["K_1"] @ middle + w["U_1"] @ u + w["b_1"])
    return np.asarray(2 * middle - y)
