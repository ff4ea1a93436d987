# Claims: icml-7-inverse · sam-7-inverse · both-symplectic-Llayer
"""(7), the map printed as the inverse of a step, after a step of icml (6) and after a step of sam (6) = (31); and the
state map of all L layers: is it symplectic, is it invertible?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from odernn.published.sources import Source
from verification.cases.identity import PathIdentity, StateIdentity
from verification.cases.layered_maps import (
    CHANGING,
    CONSTANT,
    ICML_INVERSE,
    there_and_back,
    there_and_back_again,
)
from verification.certify.second import exact_network as again
from verification.claim import Claim
from verification.measure import exact_network as net
from verification.measure.exact_network import Shape, State, Weights

ONE, TWO, THREE = (tuple(Shape(L, m, 1) for m in (1, 2)) for L in (1, 2, 3))
LARGER = (Shape(2, 4, 1), Shape(4, 2, 1), Shape(6, 3, 1))


def _with_constant_input(
    weights: Weights, before: State, u_before: Sequence[Any], u: Sequence[Any], sigma: Callable[[Any], Any]
) -> list[Any]:
    """The same where u_{n−1} = u_n."""
    return there_and_back(weights, before, u, u, sigma)


SAM = StateIdentity("sam", there_and_back, there_and_back_again, "(7) after a step of sam (6) = (31)", CHANGING)
SAM_CONSTANT = StateIdentity(
    "sam",
    _with_constant_input,
    there_and_back_again,
    "(7) after a step of sam (31), constant input",
    CONSTANT,
    constant_input=True,
)
SYMPLECTIC = PathIdentity(
    "icml", net.symplectic_defect, again.symplectic_defect, "DFᵀ J_{mL} DF against J_{mL}, F the step of (6)"
)
SYMPLECTIC_SAM = PathIdentity(
    "sam", net.symplectic_defect, again.symplectic_defect, "DFᵀ J_{mL} DF against J_{mL}, F the step of (31)"
)

PRINTED = (
    "y_{n−1} = y_n − dt σ̂(c) z_n, z_{n−1} = z_n + dt σ̂(c) [σ(w y_{n−1} + V y^{l−1}_n + b) + α y_{n−1}]  (7)  inverts"
)

CLAIMS = (
    Claim(
        id="icml-7-inverse",
        source=Source("icml", "(6), (7)"),
        statement=f"{PRINTED} icml (6), whose input is V y^{{l−1}}_n",
        semantics="alg",
        cases=(
            ICML_INVERSE.case("L ≤ 3, m ≤ 2", "(7) after (6)", ONE + TWO + THREE),
            ICML_INVERSE.sampled("L ≤ 6", "(7) after (6)", LARGER),
        ),
    ),
    Claim(
        id="sam-7-inverse",
        source=Source("sam", "(6), (7), (31)"),
        statement=f"{PRINTED} sam (6) = (31), whose input is V y^{{l−1}}_{{n−1}}, y⁰_n = u_n",
        semantics="alg",
        cases=(
            SAM.case("L = 1", "(7) after (31)", ONE),
            SAM_CONSTANT.case("L = 1, constant input", "(7) after (31)", ONE),
            SAM_CONSTANT.case("L = 2, constant input", "(7) after (31)", TWO),
        ),
    ),
    Claim(
        id="both-symplectic-Llayer",
        source=Source("sam", "Section 2.3, for the L-layer network (6)"),
        statement="the L-layer network is a symplectic Euler scheme of a Hamiltonian system, so it is "
        "invertible: DFᵀ J_{mL} DF = J_{mL} for the state map F of L layers with given input; F has an inverse",
        semantics="alg",
        cases=(
            SYMPLECTIC.case("L = 1, m ≤ 2", "DFᵀ J DF, icml indices", ONE),
            SYMPLECTIC.case("L = 2, m ≤ 2", "DFᵀ J DF, icml indices", TWO),
            SYMPLECTIC_SAM.case("L = 2, m ≤ 2", "DFᵀ J DF, sam indices", TWO),
            ICML_INVERSE.case("L ≤ 3, m ≤ 2", "inverse", ONE + TWO + THREE),
        ),
    ),
)
