"""scoRNN once more: Helfrich, Willmott & Ye 2018, W by a plain solve and modReLU unit by unit."""

from __future__ import annotations

from functools import partial

import numpy as np

from odernn.cells.scornn import ScoRNN
from tests.odernn.orthogonal import orthogonal_book as book

INVERTIBLE = False

_case = partial(book.case, ScoRNN, drive="U", reach=1.0)

CASES = {
    "aligned": _case(4, rho=2),
    "prefix, odd sizes": _case(5, rho=3, signs="prefix"),
    "random": _case(4, rho=3, signs="random"),
    "some units silent": _case(4, rho=2, b=(-0.6, 0.2)),
    "without bias": _case(3, rho=2, bias=False),
    "trained initial state": _case(4, rho=0, learn_initial_state=True),
}


def recurrent_matrix(free, signs):
    """(I + A)⁻¹(I − A) D."""
    A, one = book.skew_matrix(free, len(signs)), np.eye(len(signs))
    return np.linalg.solve(one + A, one - A) @ np.diag(signs)


def layer(network, number, parameters, below, state):
    W = recurrent_matrix(parameters["free"], parameters["cayley.signs"])
    return [book.hidden_states(W, parameters["U"], parameters.get("b"), below, state[0])]
