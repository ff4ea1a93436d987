"""The uRNN once more: W factor by factor as dense complex matrices, modReLU unit by unit in polar form."""

from __future__ import annotations

import cmath
from functools import partial

import numpy as np

from odernn.cells.urnn import URNN
from tests.odernn.orthogonal import orthogonal_book as book

INVERTIBLE = False


_case = partial(book.case, URNN, drive="V")

CASES = {
    "restricted": _case(4, capacity="restricted"),
    "restricted by its matrix, odd": _case(3, capacity="restricted", product="matrix"),
    "full": _case(4, capacity="full"),
    "some units silent": _case(4, capacity="restricted", b=(-0.6, 0.2)),
    "full without bias": _case(3, capacity="full", bias=False),
    "trained initial state": _case(3, capacity="restricted", learn_initial_state=True),
}


def recurrent_matrix(p):
    """D_3 R_2 F⁻¹ D_2 Π R_1 F D_1, seven matrices; or the sum of the two parts."""
    if "W" in p:
        return p["W"][0] + 1j * p["W"][1]
    n = p["angles"].shape[1]
    F = np.array([[cmath.exp(-2j * cmath.pi * j * k / n) / n**0.5 for k in range(n)] for j in range(n)])
    D = [np.diag([cmath.exp(1j * t) for t in row]) for row in p["angles"]]
    vectors = [np.array([re + 1j * im for re, im in zip(*pair, strict=True)]) for pair in p["reflectors"]]
    R = [np.eye(n) - 2 * np.outer(v, v.conj()) / np.vdot(v, v) for v in vectors]
    shuffled = np.eye(n)[p["permutation"].astype(int)]  # row i is e_π(i)
    return D[2] @ R[1] @ F.conj().T @ D[1] @ shuffled @ R[0] @ F @ D[0]


def layer(network, number, parameters, below, state):
    W = recurrent_matrix(parameters)
    n, V = len(W), parameters["V"]
    h = [complex(state[0][i], state[0][n + i]) for i in range(n)]
    rows = []
    for u in below:
        z = []
        for i in range(n):
            drive = complex(sum(V[i, k] * u[k] for k in range(len(u))), sum(V[n + i, k] * u[k] for k in range(len(u))))
            z.append(sum(W[i, j] * h[j] for j in range(n)) + drive)
        if "b" in parameters:
            h = [cmath.rect(max(abs(z[i]) + parameters["b"][i], 0.0), cmath.phase(z[i])) for i in range(n)]
        else:
            h = z
        rows.append([value.real for value in h] + [value.imag for value in h])
    return [np.array(rows).reshape(-1, 2 * n)]
