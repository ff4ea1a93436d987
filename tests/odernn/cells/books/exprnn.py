"""expRNN once more: exp(A) from the eigenvectors of the Hermitian matrix iA, and modReLU unit by unit."""

from __future__ import annotations

from functools import partial

import numpy as np

from odernn.cells.exprnn import ExpRNN
from tests.odernn.orthogonal import orthogonal_book as book

INVERTIBLE = False

_case = partial(book.case, ExpRNN, drive="V", reach=1.5)

CASES = {
    "even": _case(4),
    "odd": _case(5, initial="henaff"),
    "some units silent": _case(4, b=(-0.6, 0.2)),
    "without bias": _case(3, bias=False),
    "trained initial state": _case(3, learn_initial_state=True),
}


def recurrent_matrix(free, n):
    """exp(A): A = −i (iA), and iA is Hermitian."""
    values, vectors = np.linalg.eigh(1j * book.skew_matrix(free, n))
    return (vectors @ np.diag(np.exp(-1j * values)) @ vectors.conj().T).real


def layer(network, number, parameters, below, state):
    W = recurrent_matrix(parameters["free"], len(state[0]))
    return [book.hidden_states(W, parameters["V"], parameters.get("b"), below, state[0])]
