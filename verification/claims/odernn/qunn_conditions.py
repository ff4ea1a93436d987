# Claims: ode-Q3
"""Niu, Chuang, Horesh 2019, Section 3.2: does some choice of parameters let a QUNN meet I and II of Theorem 1?

    z_i = σ(W_i z_{i−1}) in plain form, z_i = z_{i−1} + σ(W_i z_{i−1}) in ResNet form, i = 1 … N, any W_i
    M_ij = b_i a_ij + b_j a_ji − b_i b_j ≥ 0,     b_i ≥ 0

(32)–(35) are not legible; α_i, β_i and the data stand in W_i. Layers as *blocks* of one step of N midpoint rules,
a_ij = 1 for j < i, a_ii = 1/2, b_i = 1, meet both conditions with M = 0, for every W_i: stage i reads block i − 1 and
writes block i, and the half of its own output in a_ii is read by nobody. Layers as stages that do not enter
themselves, a_ii = 0, cannot (thm-1-expl).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import torch
from flint import Ordering, fmpq, fmpq_mat, fmpq_mpoly_ctx

from odernn.cells.qunn import QUNN
from odernn.exact.definiteness import inertia, semidefiniteness
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.certify import contraction_check
from verification.certify.second import pointwise_step as second_forms
from verification.certify.typed_step import ContractionReading
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import SYMMETRIC, Constant, Integer, Matrix, in_blocks, in_rows
from verification.measure.qunn_clock import Unknown
from verification.parameters import Parameter, declared, rationals

HALF = Fraction(1, 2)
PLAIN, RESNET = "plain", "ResNet"


# --- layers as blocks of one step: both conditions hold


def blocks_case(form: str, own: Fraction = HALF) -> Case:
    """Conditions I and II, and that the step computes the layers, for every σ. a_ii = ``own``: M_ii = 2 own − 1.

    The state has the blocks 0 … N. Plain form: from (z_0, 0, …, 0), stage i writes block i. ResNet form: from
    (z_0, …, z_0), it writes every block from i on. Both end at (z_0, z_1, …, z_N).
    """

    def first(parameters: Parameters) -> Decided:
        d, N = (int(number(parameters, name)) for name in ("d", "N"))
        A, B = _coefficients(N, own)
        signs = [semidefiniteness(BlockTableau(A, B).burrage_butcher(), name="M")]
        signs += [semidefiniteness(block, name="B_i") for block in B]
        failing = ", ".join(sorted({sign.because for sign in signs if not sign.holds}))
        names = [f"z{r}" for r in range(d)]
        names += [f"W{i}_{r}{c}" for i in range(1, N + 1) for r in range(d) for c in range(d)]
        names += [f"sigma{k}" for k in range(2 * d * N)]  # more than d N: another table computes other layers
        free: list[Any] = list(fmpq_mpoly_ctx.get(names, Ordering.degrevlex).gens())
        start, entries, sigma = free[:d], free[d : -2 * d * N], Unknown(free[-2 * d * N :])
        weights = [[entries[(i * d + r) * d :][:d] for r in range(d)] for i in range(N)]
        equal = _step(form, A, B, start, weights, sigma) == _layers(form, start, weights, sigma)
        shown = f"{failing or 'M ≥ 0, every B_i ≥ 0'}; the step {'is' if equal else 'is not'} the layers z_1 … z_{N}"
        return Decided(bool(failing) or not equal, shown)

    def second(parameters: Parameters) -> Decided:
        d, N = (int(number(parameters, name)) for name in ("d", "N"))
        drawn = random.Random(10 * N + d)
        start = [Fraction(drawn.randint(-5, 5), 3) for _ in range(d)]
        weights = [[[Fraction(drawn.randint(-5, 5), 2) for _ in range(d)] for _ in range(d)] for _ in range(N)]
        equal = _by_midpoints(form, start, weights, own) == _typed_layers(form, start, weights)
        holds = second_forms.is_semidefinite(_typed_tensor(N, own)) and equal
        return Decided(not holds, f"minors of M not negative, b_i = 1; equal in fractions at drawn W_i: {equal}")

    places = ({"d": str(d), "N": str(N)} for d in (1, 2) for N in (1, 2, 3, 4))
    return decided(
        f"{form} form, layers as blocks of one step",
        "conditions I and II: M ≥ 0, every B_i ≥ 0",
        at(*places),
        first,
        second,
        box="d ≤ 2, N ≤ 4, all W_i and z_0, the values of σ as symbols",
        claimed="some table meets both",
        names=("polynomials", "midpoint rules in fractions"),
    )


Rows = list[list[Any]]
Sigma = Callable[[Any], Any]


def _coefficients(N: int, own: Fraction) -> tuple[list[list[Rows]], list[Rows]]:
    """A and B as matrices on N + 1 blocks of size 1: numbers times the identity."""

    def times_identity(x: Fraction) -> Rows:
        value = fmpq(x.numerator, x.denominator)
        return [[value * int(r == c) for c in range(N + 1)] for r in range(N + 1)]

    zero, one = Fraction(0), Fraction(1)
    A = [[times_identity(one if j < i else own if j == i else zero) for j in range(N)] for i in range(N)]
    return A, [times_identity(one) for _ in range(N)]


def _starts(form: str, start: Sequence[Any], N: int) -> list[list[Any]]:
    rest = start if form == RESNET else [0 * x for x in start]
    return [list(start), *(list(rest) for _ in range(N))]


def _written(form: str, block: int, stage: int) -> bool:
    """Whether the field of a stage, from 1, is σ(W_i ·) there, and not 0."""
    return block == stage or (form == RESNET and block > stage)


def _step(
    form: str, A: Sequence[Sequence[Rows]], B: Sequence[Rows], start: Sequence[Any], weights: list[Rows], sigma: Sigma
) -> list[list[Any]]:
    """Blocks 1 … N of y₊ = y + Σ B_i k_i, k_i = f_i(y + Σ_j A_ij k_j), stage by stage: stage i, from 1, reads block
    i − 1, where neither it nor a later one has written.
    """
    blocks = _starts(form, start, len(B))
    slopes: list[list[Any]] = []

    def after(block: int, coefficients: Sequence[Rows]) -> list[Any]:
        """A block of y and what the known stages add to it; a coefficient couples blocks."""
        total = list(blocks[block])
        for j, slope in enumerate(slopes):
            factor = sum((coefficients[j][block][s] for s in range(len(blocks)) if _written(form, s, j + 1)), fmpq(0))
            total = [x + factor * k for x, k in zip(total, slope, strict=True)]
        return total

    for i, weight in enumerate(weights):
        slopes.append([sigma(x) for x in _image(weight, after(i, A[i]))])
    return [after(block, B) for block in range(1, len(blocks))]


def _image(weight: Rows, vector: Sequence[Any]) -> list[Any]:
    return [sum((w * x for w, x in zip(row, vector, strict=True)), 0 * vector[0]) for row in weight]


def _layers(form: str, start: Sequence[Any], weights: list[Rows], sigma: Sigma) -> list[list[Any]]:
    """z_1 … z_N, one layer after the other."""
    states = [list(start)]
    for weight in weights:
        after = [sigma(x) for x in _image(weight, states[-1])]
        states.append(after if form == PLAIN else [x + y for x, y in zip(states[-1], after, strict=True)])
    return states[1:]


def _typed_tensor(N: int, own: Fraction) -> list[list[Fraction]]:
    """M_ij = b_i a_ij + b_j a_ji − b_i b_j of the numbers a_ij and b_i."""
    a = [[Fraction(int(j < i)) if j != i else own for j in range(N)] for i in range(N)]
    return [[a[i][j] + a[j][i] - 1 for j in range(N)] for i in range(N)]


def _by_midpoints(form: str, start: list[Fraction], weights: list[Rows], own: Fraction) -> list[list[Fraction]]:
    """N rules v ← v + k, k = f_i(v + ``own`` k), one after the other, with σ(u) = u|u| + 1/2.

    k is found by iteration. Raises ArithmeticError if it is not the same after a second round.
    """
    others = start if form == RESNET else [Fraction(0)] * len(start)
    v = [start, *([others] * len(weights))]
    for i, weight in enumerate(weights):
        slope = [[Fraction(0) for _ in start] for _ in v]
        for _ in range(2):
            seen = [v[i][r] + own * slope[i][r] for r in range(len(start))]
            inside = [sum((w * x for w, x in zip(row, seen, strict=True)), Fraction(0)) for row in weight]
            before = slope
            slope = [
                [(u * abs(u) + HALF) * (block == i + 1 or (form == RESNET and block > i + 1)) for u in inside]
                for block in range(len(v))
            ]
        if slope != before:
            raise ArithmeticError(f"rule {i + 1} of {form} form reads what it writes")
        v = [[x + k for x, k in zip(*pair, strict=True)] for pair in zip(v, slope, strict=True)]
    return v[1:]


def _typed_layers(form: str, start: list[Fraction], weights: list[Rows]) -> list[list[Fraction]]:
    """The layers themselves with σ(u) = u|u| + 1/2, by recursion."""

    def layer(i: int, r: int) -> Fraction:
        if i == 0:
            return start[r]
        u = sum((x * layer(i - 1, c) for c, x in enumerate(weights[i - 1][r])), Fraction(0))
        return Fraction(u * abs(u) + HALF + (layer(i - 1, r) if form == RESNET else 0))

    return [[layer(i, r) for r in range(len(start))] for i in range(1, len(weights) + 1)]


# --- layers as stages that do not enter themselves: condition I fails


def one_after_another_case(own: Fraction = Fraction(0)) -> Case:
    """Layers one after another: is M ≥ 0 for some G > 0? A_ii = 0, so that M_ii = −B_iᵀ G B_i, and some B_i ≠ 0, or the
    step does nothing. One block of M decides it. Stages that read ``own``·B_i k_i of themselves are implicit.
    """

    def ask(_: Budget, __: int) -> Attempt:
        places = [{"D": str(D), "B": _unit_text(D), "G": _unit_text(D)} for D in (1, 2, 3)]
        violating = [place for place in places if check(place).opinions[0].violated]
        text = f"{len(violating)} of {len(places)} have a block of M that is not ≥ 0"
        return Attempt(text, len(places), found=text, claimed="none", candidates=tuple(violating))

    def check(parameters: Parameters) -> Check:
        D = int(number(parameters, "D"))
        flat = {name: numbers(parameters, name) for name in ("B", "G")}
        B, G = (fmpq_mat(D, D, [fmpq(x.numerator, x.denominator) for x in flat[name]]) for name in ("B", "G"))
        block = B.transpose() * G * B * fmpq((2 * own - 1).numerator, (2 * own - 1).denominator)
        weights, metric = ([values[r * D : (r + 1) * D] for r in range(D)] for values in flat.values())
        again = [
            [
                sum(
                    (
                        weights[k][r] * metric[k][l] * own * weights[l][c]
                        + own * weights[k][r] * metric[k][l] * weights[l][c]
                        - weights[k][r] * metric[k][l] * weights[l][c]
                        for k in range(D)
                        for l in range(D)
                    ),
                    Fraction(0),
                )
                for c in range(D)
            ]
            for r in range(D)
        ]
        signs = inertia(G.tolist())
        minors = [second_forms.determinant([row[:k] for row in metric[:k]]) for k in range(1, D + 1)]
        shown = "; ".join(", ".join(map(str, row)) for row in again)
        return Check(
            opinions=(
                Opinion("flint", inertia(block.tolist()).negative > 0, f"inertia of M_ii {inertia(block.tolist())}"),
                Opinion("fractions", not second_forms.is_semidefinite(again), f"M_ii = [{shown}], by its minors"),
            ),
            premises=(
                Premise("G > 0", f"inertia {signs}", signs.positive == D and all(minor > 0 for minor in minors)),
                Premise("B_i ≠ 0", f"largest entry {max(map(abs, flat['B']))}", any(flat["B"])),
            ),
            words=f"A_ii = {own} B_i, B_i = ({parameters['B']}), G = ({parameters['G']}): M_ii = [{shown}]; at "
            "A_ii = 0 M_ii = −B_iᵀ G B_i is no better for any other B_i ≠ 0 and G > 0 (thm-1-expl)",
        )

    parameters = declared(
        Parameter("D", Integer(1, 3)),
        Parameter("B", Matrix("D", "D")),
        Parameter("G", Matrix("D", "D", structure=SYMMETRIC)),
    )
    return Case("layers one after another", "condition I: M ≥ 0 for some G > 0", ask, parameters.guards(check))


def _unit_text(D: int) -> str:
    return " ".join(str(int(r == c)) for r in range(D) for c in range(D))


def chain_case(form: str, depth: int) -> Case:
    """The layers z_i = σ(W_i z_{i−1}) as stages: M for G = I, on one component.

    ResNet form: k_i = σ(W_i Y_i) − Y_i, A_ij = B_i = 1 for j < i. Plain form: k_0 = y, k_i = σ(W_i k_{i−1}), y₊ = k_N.
    α, β and the data are in W_i, no coefficient holds them.
    """
    if form == "ResNet":
        S = depth
        a = [[int(j < i) for j in range(S)] for i in range(S)]
        b = [1] * S
    else:
        S = depth + 1
        a = [[int(j == i - 1) - int(j == 0 and i > 0) for j in range(S)] for i in range(S)]
        b = [-1] + [0] * (depth - 1) + [1]
    flat = " ".join(str(x) for row in a for x in row)
    parameters = {"D": "1", "S": str(S), "eta": "1", "a": flat, "b": " ".join(map(str, b)), "N": " ".join(["0"] * S)}

    def ask(_: Budget, __: int) -> Attempt:
        text = f"explicit chain of {S} stages"
        bad = check(parameters).opinions[0].violated
        return Attempt(text, 1, found="M ≱ 0" if bad else "M ≥ 0", claimed="M ≥ 0", candidates=(parameters,) * bad)

    def check(given: Parameters) -> Check:
        contraction = contraction_check.check(given, ContractionReading(sign=0))
        tensor = next(p for p in contraction.premises if p.text.startswith("M"))
        diagonal = [-(Fraction(weight) ** 2) for weight in given["b"].split()]  # 2 b_i a_ii − b_i², a_ii = 0
        return Check(
            opinions=(
                Opinion("flint", not tensor.holds, str(tensor.margin)),
                Opinion("fractions", min(diagonal) < 0, f"diagonal of M: {', '.join(map(str, diagonal))}"),
            ),
            words=f"{form} form, N = {depth}, any α, β and data: diagonal of M = ({', '.join(map(str, diagonal))})",
        )

    tables = {"a": in_rows("S"), "b": in_rows("S"), "N": in_blocks("D")}
    chain = declared(*(Parameter(name, Constant(text), layout=tables.get(name)) for name, text in parameters.items()))
    return Case(f"{form} form, N = {depth}", "condition I: M ≥ 0", ask, chain.guards(check))


def _pair(values: tuple[Fraction, Fraction]) -> str:
    return f"({values[0]}, {values[1]})"


def residual_case() -> Case:
    """One linear layer z ↦ z + β R ⊗ P z, d = 1, T = 1, P the exchange of two clock states: is it non-expansive?"""

    def ask(_: Budget, __: int) -> Attempt:
        named = [{"beta": b, "x": x} for x in ("1", "2") for b in ("1", "-1", "1/2", "1/100")]
        violating = [p for p in named if check(p).opinions[0].violated]
        text = f"{len(violating)} of {len(named)} choices of β and data expand"
        return Attempt(text, len(named), found=text, claimed="none", candidates=tuple(violating[:2]))

    def check(parameters: Parameters) -> Check:
        beta, x = number(parameters, "beta"), number(parameters, "x")
        r = beta * x * x
        z = (Fraction(1), Fraction(1) if r > 0 else Fraction(-1))
        after = (1 + r * z[1], z[1] + r)
        growth = (after[0] ** 2 + after[1] ** 2) / 2
        exact = fmpq(beta.numerator, beta.denominator) * fmpq(x.numerator, x.denominator) ** 2
        largest = 1 + abs(exact)  # the eigenvalues of [[1, r], [r, 1]] are 1 ± r
        return Check(
            opinions=(
                Opinion("fractions", growth > 1, f"{_pair(z)} to {_pair(after)}: ‖z‖² times {growth}"),
                Opinion("flint", bool(largest > 1), f"largest singular value 1 + |r| = {largest}"),
            ),
            words=f"α = 1, β = {beta}, x_l = x_(l−1) = {x}, σ = id: ‖W‖ = {largest}",
        )

    parameters = declared(*rationals("beta", "x", nonzero=True))
    return Case("ResNet form, α = 1, one layer", "‖W z‖ ≤ ‖z‖", ask, parameters.guards(check))


def bounded_case() -> Case:
    """α_i = β_i = 1/2, |x| ≤ 1: ``QUNN.non_expansion``, |α| + |β||x||x'| ≤ 1 in exact arithmetic."""

    def first(parameters: Parameters) -> Decided:
        depth = int(parameters["layers"])
        network = QUNN(2, block_length=depth + 1, depth=depth, dtype=torch.float64)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.fill_(0.5)
        (guarantee,) = network.non_expansion(1.0)
        return Decided(not (guarantee.holds and guarantee.exact), guarantee.because)

    def second(parameters: Parameters) -> Decided:
        """W = α I + β r P, P the exchange of two clock states: α ± β r with r = x_l x_(l−1) in [−1, 1], at its ends."""
        half = Fraction(1, 2)
        largest = max(abs(half + sign * half * r) for sign in (1, -1) for r in (Fraction(1), Fraction(-1)))
        return Decided(largest > 1, f"largest eigenvalue {largest} in each of {parameters['layers']} layers")

    return decided(
        "α_i = β_i = 1/2, |x_l| ≤ 1",
        "every layer is non-expansive",
        at(*({"layers": depth} for depth in ("1", "2", "4", "8"))),
        first,
        second,
        box="α = β = 1/2, N = 1, 2, 4, 8: not by Theorem 1, but by ‖W_i‖ ≤ |α| + |β| s",
        claimed="non-expansive",
        names=("QUNN", "fractions"),
    )


CLAIMS = (
    Claim(
        id="ode-Q3",
        source=Source("odernn", "Sec. 3.2"),
        statement="QUNN: some choice of the parameters of (32) and (35) satisfies conditions I and II of Theorem 1; "
        "asked of layers as blocks of N midpoint rules; also tried: layers as stages that do not enter themselves, two "
        "tables of numbers, and layers that are non-expansive by other means",
        semantics="real",
        cases=(
            *(blocks_case(form) for form in (PLAIN, RESNET)),
            one_after_another_case(),
            *(chain_case(form, depth) for form in (RESNET, PLAIN) for depth in (1, 2, 4)),
            residual_case(),
            bounded_case(),
        ),
    ),
)
