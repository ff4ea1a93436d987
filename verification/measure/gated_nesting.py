"""How deep an LSTM is nested if coefficients may be gated: whether n counts what goes through a gate decides it.

*Gates do not count*, n is the longest chain of nonlinear stages along the A_ij alone: then a gate carries any k_q past
n, diag(k_q) 1 = k_q with a constant stage, and n = 1 is enough (``relayed_lstm``). *Gates count*: then the states of an
explicit table with n = 1 are polynomials in functions σ(polynomial), meromorphic in ℂ on every complex line if σ is
meromorphic. tanh(σ̂(z)), a state of one LSTM unit, is not: its poles are iπ + δ_k with

    e^(−δ_k) = 1 + i t_k,     t_k = 1/(π(k + ½)),     for then σ̂(iπ + δ_k) = i/t_k, where tanh has a pole,

and δ_k → 0. docs/derivations/cell_realisations.md has the theorem for L layers.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import acb, arb

from odernn.cells.odernn import Coefficient, Gate, MatrixTableau, Stage
from verification.claim import Decided

BITS = 192
ONE = 3
"""The stage of ``relayed_lstm`` that is constant: its bias is meant to be 1."""


# --- a table without a chain of nonlinear stages along the A_ij


def relayed_lstm(hidden_size: int) -> MatrixTableau:
    """An LSTM layer, y = (h, c), in which the arguments of all nonlinear stages are made by linear ones and gates.

    k_0 = y, k_1 = (i, f, g, o), k_3 = 1 (its bias), k_4 = diag(g) k_3, k_2 = tanh(diag(f) c + diag(i) k_4).
    """
    d = hidden_size
    kept = Coefficient(1.0, Gate(constant=-1.0, stages={1: [[0, 0, 0, 0], [0, 1, 0, 0]]}))  # (−h, (f − 1) c)
    added = Coefficient([[0], [1]], Gate(stages={1: [[1, 0, 0, 0]]}))
    constant: dict[str, Any] = {"sees_input": False}
    return MatrixTableau(
        d,
        {
            0: Stage((("identity", 2 * d),), K=1.0, bias=False, **constant),
            1: Stage((("sigmoid", 2 * d), ("tanh", d), ("sigmoid", d)), reads=(0,)),
            2: Stage((("tanh", d),), reads=(1,), K=1.0, bias=False, **constant),
            3: Stage((("identity", d),), reads=(0,), K=0.0, **constant),
            4: Stage((("identity", d),), reads=(1,), K=1.0, bias=False, **constant),
        },
        {
            (4, 0): Coefficient(-1.0), (4, 3): Coefficient([[0], [1]], Gate(stages={1: [[0, 0, 1, 0]]})),
            (2, 0): kept, (2, 4): added,
        },
        {0: kept, 4: added, 2: Coefficient([[1], [0]], Gate(stages={1: [[0, 0, 0, 1]]}))},
        ("h", "c"),
    )  # fmt: skip


def relayed_gru(hidden_size: int) -> MatrixTableau:
    """A GRU layer in which the argument of tanh is made by a linear stage and a gate.

    k_0 = h, k_1 = (r, z), k_3 = q (linear), k_2 = tanh(diag(r) k_3 + …); h₊ = h + diag(1 − z)(k_2 − k_0).
    """
    d = hidden_size
    keep = Gate(1.0, stages={1: [[0, -1]]})  # 1 − z
    reset = Coefficient(1.0, Gate(stages={1: [[1, 0]]}))
    constant: dict[str, Any] = {"sees_input": False}
    return MatrixTableau(
        d,
        {
            0: Stage((("identity", d),), K=1.0, bias=False, **constant),
            1: Stage((("sigmoid", 2 * d),)),
            2: Stage((("tanh", d),), K=1.0),
            3: Stage((("identity", d),), **constant),
        },
        {(2, 0): Coefficient(-1.0), (2, 3): reset},
        {0: Coefficient(-1.0, keep), 2: Coefficient(1.0, keep)},
        ("h",),
    )


def chain_along_A(tableau: MatrixTableau, layers: int) -> int:
    """Nested nonlinear stages, gates not counted: stage i comes after j if A_ij ≠ 0; layer l + 1 reads the h of l."""
    below, deepest = 0, 0
    for _ in range(layers):
        depths: dict[int, int] = {}
        for (i,) in tableau.groups:
            stage = tableau.stages[i]
            before = [depths[j] for j in tableau.columns[i]] + [below if stage.sees_input else 0]
            depths[i] = max(before) + int(not stage.is_linear)
        below, deepest = max(depths[i] for i in tableau.B), max(deepest, *depths.values())
    return deepest


EDGES: Mapping[int, Sequence[int]] = {0: (), 1: (), 2: (0, 4), 3: (), 4: (0, 3)}
"""The stages that A leads to each of k_0 … k_4 of ``relayed_lstm``, written off its docstring."""
NONLINEAR = frozenset({1, 2})
ENDS = (0, 2, 4)
"""The stages of which y₊ is made."""
GRU_EDGES: Mapping[int, Sequence[int]] = {0: (), 1: (), 2: (0, 3), 3: ()}
"""Of ``relayed_gru``, whose stages 1 and 2 read the layer below."""


def chain_again(
    layers: int,
    edges: Mapping[int, Sequence[int]] = EDGES,
    ends: Sequence[int] = ENDS,
    reading: Sequence[int] = (1,),
) -> int:
    """The same of the edges above, by recursion; the stages ``reading`` read the layer below."""

    def longest(stage: int, layer: int) -> int:
        below = [longest(end, layer - 1) for end in ends] if stage in reading and layer > 1 else []
        return max([*(longest(other, layer) for other in edges[stage]), *below], default=0) + (stage in NONLINEAR)

    return max(longest(stage, layer) for stage in edges for layer in range(1, layers + 1))


# --- poles that come together

INNER: Mapping[str, Callable[[Any], Any]] = {"logistic": lambda z: 1 / (1 + (-z).exp()), "identity": lambda z: z}
"""What stands inside tanh. With the identity the poles are π apart, which is the planted falsehood."""


def pole_near(k: int, inner: str) -> Decided:
    """Whether tanh(inner(z)) has a pole at a distance below 1/k from iπ: a zero of cosh(inner(z)), by interval Newton.

    Of the identity the nearest of all is tried.
    """
    near = cmath.pi * 1j - (cmath.log(1 + 1j / (cmath.pi * (k + 0.5))) if inner == "logistic" else cmath.pi * 0.5j)
    with flint.ctx.workprec(BITS):
        centre, function = acb(near.real, near.imag), INNER[inner]
        for _ in range(3):  # the doubles of the start to the working precision
            centre = acb(*(part.mid() for part in _newton(centre, centre, function)))
        radius = arb(2) ** -40 / k**2  # any would do, as what follows checks it: F'' grows like k²
        reach = arb(0, 1) * radius
        box = acb(centre.real + reach, centre.imag + reach)
        zero = acb(*_newton(centre, box, function))
        distance = abs(zero - acb(0, arb.pi()))
        certain = bool(abs(zero - centre) < radius) and bool(distance < arb(1) / k)
        text = f"tanh({inner}(z)) has a pole at the distance {distance.str(5, radius=False)} from iπ"
        return Decided(certain, text if certain else f"{text}, which is not certainly below 1/{k}")


def _newton(centre: acb, box: acb, function: Callable[[Any], Any]) -> tuple[arb, arb]:
    """centre − F/F' for F = cosh ∘ function, F' over the box; function' is s(1 − s) of the logistic one, 1 of z."""
    image = function(box)
    slope = image * (1 - image) if function is INNER["logistic"] else acb(1)
    moved = centre - function(centre).cosh() / (image.sinh() * slope)
    return moved.real, moved.imag


def pole_near_again(k: int, inner: str) -> Decided:
    """By the closed form, in fractions: |δ_k| = |log(1 + it)| ≤ t/(1 − t) < 1/k with t < 1/(3(k + ½)), as π > 3.

    And σ̂(iπ + δ) = 1/(1 − e^(−δ)) = i/t, as Gaussian rationals at a rational t.
    """
    if inner != "logistic":
        return Decided(False, "poles iπ(j + ½), at least π/2 > 1 from iπ")
    t = 1 / (3 * (k + Fraction(1, 2)))
    one_minus = (Fraction(0), -t)  # 1 − (1 + it)
    square = one_minus[0] ** 2 + one_minus[1] ** 2
    inverse = (one_minus[0] / square, -one_minus[1] / square)
    bound = t / (1 - t)
    return Decided(
        inverse == (Fraction(0), 1 / t) and bound < Fraction(1, k), f"|δ| ≤ {bound} < 1/{k}, σ̂(iπ + δ) = i/t"
    )
