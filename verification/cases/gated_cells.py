"""LSTM and GRU as nested ODE networks: the same map in exact numbers, and where their slopes are not bounded."""

from __future__ import annotations

import math
import random
from typing import Any

import flint
import mpmath
from flint import Ordering, arb, fmpq, fmpq_mpoly_ctx, fmpq_poly

from odernn.cells.odernn import realisations
from verification.cases.decision import at, decided
from verification.certify.second.intervals import iv
from verification.claim import Case, Decided, Parameters
from verification.exact_text import number, numbers
from verification.measure import cell_formulas as formulas
from verification.measure import gated_nesting as nesting
from verification.measure import tableau_algebra as algebra

BITS = 192
LAYERS, WIDTHS = (1, 2), (1, 2)
NESTED = {("lstm", "gated"): 2, ("lstm", "constant"): 4, ("gru", "gated"): 2, ("gru", "constant"): 4}
"""n of one layer."""
BLOCKS = {"lstm": 2, "gru": 1}
"""t."""


# --- LSTM and GRU


def cell_case(kind: str, form: realisations.Form) -> Case:
    """Equal outputs and states, and (n, t), for L layers one on top of the other within a step."""
    nested, blocks = NESTED[kind, form], BLOCKS[kind]

    def first(parameters: Parameters) -> Decided:
        L, d = (int(number(parameters, name)) for name in ("L", "d"))
        make = realisations.lstm if kind == "lstm" else realisations.gru
        tableau = make(d, form=form)
        n = algebra.depth(tableau, L)
        differ = algebra.lstm_differs(tableau, L, d) if kind == "lstm" else algebra.gru_differs(tableau, L, d)
        wrong = differ or (n, tableau.t) != (nested * L, blocks)
        return Decided(wrong, f"{'different' if differ else 'equal'} outputs, (n, t) = ({n}, {tableau.t}) at L = {L}")

    def second(parameters: Parameters) -> Decided:
        L, d = (int(number(parameters, name)) for name in ("L", "d"))
        differ = formulas.differs(kind, form, L, d, random.Random(17 * L + d))
        return Decided(differ, "the formulas differ" if differ else "the formulas agree at random rationals")

    return decided(
        f"{form} coefficients",
        f"an ODERNN with the same outputs, (n, t) = ({nested} L, {blocks})",
        at(*({"L": str(L), "d": str(d)} for L in LAYERS for d in WIDTHS)),
        first,
        second,
        box="L ≤ 2, d ≤ 2, all weights, states and inputs, any functions in place of tanh and the logistic one: "
        "polynomials",
        claimed="equal",
        names=("polynomials", "formulas in fractions"),
    )


def bounded_slopes_case(kind: str) -> Case:
    """Constant coefficients and functions with bounded slopes make a map with bounded slopes, whatever n and t are.

    With one gate that reads h and the rest of the weights 0, the new state is gate(h)·x with x free: between h and
    h' it changes by (gate(h) − gate(h')) x, without a bound.
    """
    factor, article = ("c", "an") if kind == "LSTM" else ("the other component of h", "a")

    def first(parameters: Parameters) -> Decided:
        one, other = (arb(fmpq(*x.as_integer_ratio())) for x in numbers(parameters, "h"))
        with flint.ctx.workprec(BITS):
            change = ((one / 2).tanh() - (other / 2).tanh()) / 2
            return Decided(bool(change != 0), f"the state changes by {change.str(6, radius=False)} times {factor}")

    def second(parameters: Parameters) -> Decided:
        with iv.workprec(BITS):
            one, other = (iv.mpf(x.numerator) / x.denominator for x in numbers(parameters, "h"))
            change = 1 / (1 + iv.exp(-one)) - 1 / (1 + iv.exp(-other))
            return Decided(0 not in change, f"by {mpmath.nstr(change.mid, 6)} times {factor}")

    return decided(
        "constant coefficients, functions with bounded slopes, any n and t",
        f"an ODERNN with the states of {article} {kind}",
        at({"h": "1 0"}),
        first,
        second,
        box="one gate with weight 1, all other weights 0",
        is_box=False,
        claimed="equal",
        names=("balls", "mpmath"),
    )


def one_stage_case() -> Case:
    """n = 1 and constant coefficients: y₊ is a sum of functions of one linear form each (y is one, too).

    Let Π_i D_i, D_i = α_i ∂_h + β_i ∂_c, annihilate the N functions, (α_i, β_i) pairwise independent. It turns
    gate(h) c into Πα gate^(N) c + Σ_i β_i Π_{j≠i} α_j gate^(N−1), and gate^(k) is not 0. So some α_i = 0; then
    β_i Π_{j≠i} α_j = 0 although β_i ≠ 0 and no other α_j vanishes.
    """

    def first(parameters: Parameters) -> Decided:
        N = int(number(parameters, "N"))
        ring = fmpq_mpoly_ctx.get(
            [f"{kind}{i}" for kind in ("a", "b") for i in range(N)] + ["h", "c"], Ordering.degrevlex
        )
        gens: list[Any] = list(ring.gens())
        alpha, beta, (dh, dc) = gens[:N], gens[N : 2 * N], gens[2 * N :]
        operator = ring.constant(1)
        for a, b in zip(alpha, beta, strict=True):
            operator = operator * (a * dh + b * dc)
        once = operator.derivative(2 * N + 1).subs({"c": 0, "h": 1})  # what falls on c takes one ∂_c
        never = operator.subs({"c": 0, "h": 1})
        holds = never == math.prod(alpha[1:], start=alpha[0])
        for i in range(N):
            others = [a for j, a in enumerate(alpha) if j != i]
            holds = holds and once.subs({f"a{i}": 0}) == math.prod(others, start=beta[i])
        gate = fmpq_poly([0, 1])
        for _ in range(N):
            gate = gate.derivative() * fmpq_poly([0, 1, -1])  # s' = s − s²
            holds = holds and gate.degree() > 0
        return Decided(bool(holds), f"gate(h) c is no sum of {N} functions of linear forms")

    def second(parameters: Parameters) -> Decided:
        N = int(number(parameters, "N"))
        return Decided(formulas.is_no_ridge_sum(N, random.Random(N)), f"the same at random rational forms, N = {N}")

    return decided(
        "L = 1, constant coefficients, any functions",
        "an ODERNN with the states of an LSTM, n = 1, at most 6 linear forms",
        at(*({"N": str(N)} for N in (6, 5, 4, 3, 2, 1))),
        first,
        second,
        box="N = 1 … 6 linear forms",
        is_box=False,
        claimed="equal",
        names=("polynomials", "fractions"),
    )


def relayed_case(kind: str = "lstm") -> Case:
    """n counted along the A_ij alone: what gates carry is not counted, and n ≤ L (idle stages make it n = L).

    A GRU has one block, and an idle one makes t = 2.
    """
    blocks = BLOCKS[kind]

    def first(parameters: Parameters) -> Decided:
        L, d = (int(number(parameters, name)) for name in ("L", "d"))
        tableau = nesting.relayed_lstm(d) if kind == "lstm" else nesting.relayed_gru(d)
        n = nesting.chain_along_A(tableau, L)
        if kind == "lstm":
            differ = algebra.lstm_differs(tableau, L, d, one=nesting.ONE)
        else:
            differ = algebra.gru_differs(tableau, L, d)
        words = f"{'different' if differ else 'equal'} outputs, (n, t) = ({n}, {tableau.t}) at L = {L}"
        return Decided(
            differ or n > L or tableau.t != blocks, f"{words}; n = {algebra.depth(tableau, L)} with gates counted"
        )

    def second(parameters: Parameters) -> Decided:
        L, d = (int(number(parameters, name)) for name in ("L", "d"))
        differ = formulas.differs(kind, "relayed", L, d, random.Random(19 * L + d))
        n = nesting.chain_again(L) if kind == "lstm" else nesting.chain_again(L, nesting.GRU_EDGES, (0, 2), (1, 2))
        return Decided(differ or n > L, f"the formulas {'differ' if differ else 'agree'}, the longest chain has {n}")

    return decided(
        "gated coefficients, n along the A_ij alone",
        f"an ODERNN with the same outputs, n ≤ L, t {'=' if blocks == 2 else '≤'} 2",
        at(*({"L": str(L), "d": str(d)} for L in LAYERS for d in WIDTHS)),
        first,
        second,
        box="L ≤ 2, d ≤ 2, all weights, states and inputs, any functions in place of tanh and the logistic one: "
        "polynomials",
        claimed="equal",
        names=("polynomials", "formulas in fractions"),
    )


def poles_case(kind: str = "LSTM", inner: str = "logistic") -> Case:
    """Gates counted, L = n = 1: the states are meromorphic in ℂ, so a bounded set holds finitely many poles.

    An LSTM unit with i g = 0, c = 1, o = 1/2 and the forget gate σ̂(z), z its input, has h₊ = tanh(σ̂(z))/2; so has a GRU
    unit with h = 0, update gate 1/2, q = 1 and the reset gate σ̂(z). It has a pole nearer to iπ than 1/k for every k.
    ``inner`` "identity" is the planted falsehood: tanh(z).
    """

    def distance(parameters: Parameters) -> int:
        return int(number(parameters, "k"))

    return decided(
        "gated coefficients, gates counted in n, tanh, logistic, relu, square and linear stages",
        f"an ODERNN with the states of {'an' if kind == 'LSTM' else 'a'} {kind}, L = n = 1",
        at(*({"k": str(2**j)} for j in (10, 5, 0))),
        lambda p: nesting.pole_near(distance(p), inner),
        lambda p: nesting.pole_near_again(distance(p), inner),
        box="poles of tanh(σ̂(z)) nearer to iπ than 1/k",
        is_box=False,
        claimed="finitely many",
        limit=lambda _: "for every k: 0 < |δ_k| ≤ t/(1 − t) < 1/k, t = 1/(π(k + ½)): iπ is a limit of poles",
        names=("balls", "fractions"),
    )
