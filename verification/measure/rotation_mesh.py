"""A unitary matrix as n layers of rotations of neighbours and n phases, EURNN at full capacity: W = F⁽¹⁾ … F⁽ⁿ⁾ D.

Layer l rotates the pairs (k, k + 1) of places with k ≡ l mod 2 by [[e^{iφ} cos θ, −e^{iφ} sin θ], [sin θ, cos θ]]. As
Clements et al. 2016 (Optica 3, 1460) have it: the entries below the diagonal are made 0 along its parallels, from the
right along one and from the left along the next, so that the last n layers fit; then all phases are moved to the right.
"""

from __future__ import annotations

import cmath
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Complex = NDArray[np.complex128]


class Turn(NamedTuple):
    """A rotation of the places ``place`` and ``place`` + 1 in a layer, which count from 0."""

    layer: int
    place: int
    theta: float
    phi: float


def random_unitary(n: int, seed: int) -> Complex:
    """By the Haar measure."""
    rng = np.random.default_rng(seed)
    Q, R = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
    diagonal = np.diagonal(R)
    return np.asarray(Q * (diagonal / abs(diagonal)), dtype=np.complex128)


def _unit(rows: list[list[complex]]) -> Complex:
    """Two orthogonal rows of one length, made unit vectors."""
    G = np.array(rows, dtype=np.complex128)
    return np.asarray(G / np.linalg.norm(G[0]), dtype=np.complex128)


def _blocks(W: Complex) -> tuple[list[tuple[int, Complex]], Complex, list[tuple[int, Complex]]]:
    """(left, D, right), W = Π left · D · Π right, each a 2 × 2 unitary block at a place; D diagonal."""
    A, n = W.astype(np.complex128), len(W)
    left: list[tuple[int, Complex]] = []
    right: list[tuple[int, Complex]] = []
    for parallel in range(1, n):
        for j in range(parallel):
            if (parallel + n) % 2 == 0:
                row, k = n - 1 - j, parallel - 1 - j
                x, y = A[row, k], A[row, k + 1]
                G = _unit([[y, x.conjugate()], [-x, y.conjugate()]])
                A[:, k : k + 2] = A[:, k : k + 2] @ G
                right.insert(0, (k, G.conj().T))
            else:
                row, k = n - parallel + j, j
                x, y = A[row - 1, k], A[row, k]
                G = _unit([[x.conjugate(), y.conjugate()], [-y, x]])
                A[row - 1 : row + 1] = G @ A[row - 1 : row + 1]
                left.append((row - 1, G.conj().T))
    return left, np.diagonal(A).copy(), right


def mesh(W: Complex) -> tuple[list[Turn], list[float]]:
    """The rotations, layer by layer, and the angles of D, of a unitary W without entries that vanish on the way."""
    n = len(W)
    left, D, right = _blocks(W)
    passed, turns, busy = np.ones(n, dtype=np.complex128), [], [0] * n
    for at, (k, block) in enumerate([*left, *right]):
        if at == len(left):
            passed = passed * D
        B = passed[k : k + 2, None] * block
        theta = math.atan2(abs(B[1, 0]), abs(B[1, 1]))
        alpha, beta = cmath.phase(B[1, 0]), cmath.phase(B[1, 1])
        phi = cmath.phase(B[0, 0]) - alpha if abs(B[0, 0]) >= abs(B[0, 1]) else cmath.phase(-B[0, 1]) - beta
        passed[k : k + 2] = cmath.rect(1, alpha), cmath.rect(1, beta)
        layer = max(busy[k : k + 2])
        layer += (layer - k) % 2
        busy[k : k + 2] = [layer + 1] * 2
        turns.append(Turn(layer, k, theta, phi))
    if not right:
        passed = passed * D
    return sorted(turns), [cmath.phase(z) for z in passed]


def product_of(turns: list[Turn], phases: list[float], layers: int) -> list[list[complex]]:
    """F⁽¹⁾ … F⁽ᴸ⁾ D in Python's complex numbers, from the angles alone; rotations of later layers are left out."""
    n = len(phases)
    W: list[list[Any]] = [[complex(a == b) for b in range(n)] for a in range(n)]
    for turn in turns:
        if turn.layer >= layers:
            continue
        e, c, s = cmath.exp(1j * turn.phi), math.cos(turn.theta), math.sin(turn.theta)
        for row in W:
            x, y = row[turn.place], row[turn.place + 1]
            row[turn.place], row[turn.place + 1] = x * e * c + y * s, y * c - x * e * s
    return [[z * cmath.exp(1j * phase) for z, phase in zip(row, phases, strict=True)] for row in W]


def apart(W: Complex, layers: int) -> float:
    """‖W − F⁽¹⁾ … F⁽ᴸ⁾ D‖_F with the angles of the mesh of W."""
    turns, phases = mesh(W)
    return float(np.linalg.norm(np.array(product_of(turns, phases, layers)) - W))


def rounding(n: int) -> float:
    """What rounding may do: each of the n(n − 1)/2 rotations is applied twice, to a matrix of norm √n, and moves it by
    at most 16 eps of that each time.
    """
    return 16 * n * (n - 1) * math.sqrt(n) * float(np.finfo(np.float64).eps)
