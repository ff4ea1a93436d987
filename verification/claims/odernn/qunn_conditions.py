# Claims: ode-Q3
"""Niu, Chuang, Horesh 2019, Section 3.2: does some choice of parameters let a QUNN meet I and II of Theorem 1?

    z_i = σ(W_i z_{i−1}) in plain form, z_i = z_{i−1} + σ(W_i z_{i−1}) in ResNet form, i = 1 … N, any W_i
    M_ij = B_iᵀ A_ij + A_jiᵀ B_j − B_iᵀ B_j ≥ 0,     B_i ≥ 0

(32)–(35) are not legible; α_i, β_i and the data stand in W_i. Layers as *blocks* of one step meet both conditions, for
every W_i: stage i writes block i, and the half of its own output in A_ii is read by nobody. Layers as stages that do
not enter themselves, A_ii = 0, cannot (thm-1-expl).
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
    """Conditions I and II, and that the step computes the layers, for every σ with σ(0) = 0.

    Plain form: blocks 0 … N of the state, B_i the projection on block i, A_ij = B_j for j < i; from (z_0, 0, …, 0) to
    (z_0, z_1, …, z_N). ResNet form: two copies of z, B_i the projection on the second, A_ij takes the second into both
    for j < i; from (z_0, z_0) to z_N in the second. A_ii = ``own`` B_i: M_ii = (2 own − 1) B_i, and M_ij = 0 beside it.
    """

    def first(parameters: Parameters) -> Decided:
        d, N = (int(number(parameters, name)) for name in ("d", "N"))
        A, B = _coefficients(form, N, own)
        M = BlockTableau(A, B).burrage_butcher()
        signs = [semidefiniteness(M, name="M"), *(semidefiniteness(block, name="B_i") for block in B)]
        failing = ", ".join(sorted({sign.because for sign in signs if not sign.holds}))
        names = [f"z{r}" for r in range(d)]
        names += [f"W{i}_{r}{c}" for i in range(1, N + 1) for r in range(d) for c in range(d)]
        names += [f"sigma{k}" for k in range(2 * d * N)]  # more than d N: another table computes other layers
        free: list[Any] = list(fmpq_mpoly_ctx.get(names, Ordering.degrevlex).gens())
        start, entries, values = free[:d], free[d : -2 * d * N], free[-2 * d * N :]
        weights = [[entries[(i * d + r) * d :][:d] for r in range(d)] for i in range(N)]
        sigma = Unknown(values)
        equal = _step(form, A, B, start, weights, sigma) == _layers(form, start, weights, sigma)
        shown = f"{failing or 'M ≥ 0, every B_i ≥ 0'}; the step {'is' if equal else 'is not'} the layers z_1 … z_{N}"
        return Decided(bool(failing) or not equal, shown)

    def second(parameters: Parameters) -> Decided:
        d, N = (int(number(parameters, name)) for name in ("d", "N"))
        tensor, weights_hold = _typed_tensor(form, N, own)
        drawn = random.Random(10 * N + d)
        start = [Fraction(drawn.randint(-5, 5), 3) for _ in range(d)]
        weights = [[[Fraction(drawn.randint(-5, 5), 2) for _ in range(d)] for _ in range(d)] for _ in range(N)]
        equal = _typed_step(form, start, weights) == _typed_layers(form, start, weights)
        holds = second_forms.is_semidefinite(tensor) and weights_hold and equal
        return Decided(not holds, f"minors of M and B_i not negative: {holds}; equal in fractions, σ(u) = u|u|")

    places = ({"d": str(d), "N": str(N)} for d in (1, 2) for N in (1, 2, 3, 4))
    return decided(
        f"{form} form, layers as blocks of one step",
        "conditions I and II: M ≥ 0, every B_i ≥ 0",
        at(*places),
        first,
        second,
        box="d ≤ 2, N ≤ 4, all W_i and z_0, the values of σ as symbols",
        claimed="some table meets both",
        names=("polynomials", "fractions"),
    )


Rows = list[list[Any]]
Sigma = Callable[[Any], Any]


def _coefficients(form: str, N: int, own: Fraction) -> tuple[list[list[Rows]], list[Rows]]:
    """A and B on blocks of size 1: every coefficient is a multiple of the identity there."""
    size = N + 1 if form == PLAIN else 2
    zero = [[fmpq(0)] * size for _ in range(size)]

    def unit(r: int, c: int) -> Rows:
        return [[fmpq(int((row, column) == (r, c))) for column in range(size)] for row in range(size)]

    def plus(one: Rows, other: Rows) -> Rows:
        return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]

    half = fmpq(own.numerator, own.denominator)
    B = [unit(i, i) if form == PLAIN else unit(1, 1) for i in range(1, N + 1)]
    below = [block if form == PLAIN else plus(unit(0, 1), unit(1, 1)) for block in B]
    A = [
        [below[j] if j < i else [[half * x for x in row] for row in B[i]] if j == i else zero for j in range(N)]
        for i in range(N)
    ]
    return A, B


def _step(
    form: str, A: Sequence[Sequence[Rows]], B: Sequence[Rows], start: Sequence[Any], weights: list[Rows], sigma: Sigma
) -> list[list[Any]]:
    """y₊ of the step with A and B on blocks of len(start): the layers that it has computed, z_1 … z_N or z_N alone.

    Stage i reads block i − 1 in plain form, block 0 in ResNet form, and writes block i, resp. 1. Raises
    ArithmeticError if a stage reads what it writes: then the step is not computed in this order.
    """
    N, nothing = len(B), [0 * x for x in start]
    blocks = [list(start), *([nothing] * N if form == PLAIN else [list(start)])]
    slopes: list[list[Any]] = []
    for i, weight in enumerate(weights):
        reads, writes = (i, i + 1) if form == PLAIN else (0, 1)
        if any(A[i][j][reads][writes] != 0 for j in range(i, N)):
            raise ArithmeticError(f"stage {i} reads a stage that is not known yet")
        seen = _added(blocks[reads], [(A[i][j][reads][_written(form, j)], slopes[j]) for j in range(i)])
        slopes.append([sigma(x) for x in _image(weight, seen)])
    final = [
        _added(block, [(B[j][r][_written(form, j)], slopes[j]) for j in range(N)]) for r, block in enumerate(blocks)
    ]
    return final[1:]


def _written(form: str, stage: int) -> int:
    return stage + 1 if form == PLAIN else 1


def _added(vector: Sequence[Any], terms: Sequence[tuple[Any, Sequence[Any]]]) -> list[Any]:
    return [x + sum((factor * term[r] for factor, term in terms), 0 * x) for r, x in enumerate(vector)]


def _image(weight: Rows, vector: Sequence[Any]) -> list[Any]:
    return [sum((w * x for w, x in zip(row, vector, strict=True)), 0 * vector[0]) for row in weight]


def _layers(form: str, start: Sequence[Any], weights: list[Rows], sigma: Sigma) -> list[list[Any]]:
    """z_1 … z_N in plain form, [z_N] in ResNet form, one layer after the other."""
    states = [list(start)]
    for weight in weights:
        after = [sigma(x) for x in _image(weight, states[-1])]
        states.append(after if form == PLAIN else [x + y for x, y in zip(states[-1], after, strict=True)])
    return states[1:] if form == PLAIN else states[-1:]


def _typed_tensor(form: str, N: int, own: Fraction) -> tuple[list[list[Fraction]], bool]:
    """M entry by entry from what the coefficients do to unit vectors, and whether every B_i is ≥ 0.

    Plain form: B_i e_r = e_r if r = i. ResNet form: B_i e_r = e_1 if r = 1. Before it a stage passes on what it wrote,
    in ResNet form to both copies. So e_rᵀM_ij e_s is a product of three such vectors.
    """
    size = N + 1 if form == PLAIN else 2

    def written(i: int, r: int) -> list[Fraction]:
        target = i if form == PLAIN else 1
        return [Fraction(int(r == target == c)) for c in range(size)]

    def passed(i: int, j: int, r: int) -> list[Fraction]:
        if i == j:
            return [own * x for x in written(i, r)]
        if j > i:
            return [Fraction(0)] * size
        return written(j, r) if form == PLAIN else [Fraction(int(r == 1))] * size

    def dot(u: list[Fraction], v: list[Fraction]) -> Fraction:
        return sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0))

    places = [(i, r) for i in range(1, N + 1) for r in range(size)]
    tensor = [
        [
            dot(written(i, r), passed(i, j, s))
            + dot(passed(j, i, r), written(j, s))
            - dot(written(i, r), written(j, s))
            for j, s in places
        ]
        for i, r in places
    ]
    weights = [[[written(i, c)[r] for c in range(size)] for r in range(size)] for i in range(1, N + 1)]
    return tensor, all(second_forms.is_semidefinite(weight) for weight in weights)


def _typed_step(form: str, start: list[Fraction], weights: list[Rows]) -> list[list[Fraction]]:
    """The same step with σ(u) = u|u|, in whole vectors of state: stage by stage into one list of numbers."""
    d, N = len(start), len(weights)
    state = start + [Fraction(0)] * (d * N) if form == PLAIN else start + start
    sums = list(state)  # what is seen by the next stage: y + Σ_j A_ij k_j
    final = list(state)
    for i, weight in enumerate(weights):
        source = sums[i * d : (i + 1) * d] if form == PLAIN else sums[:d]
        for r in range(d):
            u = sum((weight[r][c] * source[c] for c in range(d)), Fraction(0))
            place = (i + 1) * d + r if form == PLAIN else d + r
            final[place] += u * abs(u)
            sums[place] += u * abs(u)
            if form == RESNET:
                sums[r] = sums[r] + u * abs(u)
    return [final[k : k + d] for k in range(d, len(final), d)]


def _typed_layers(form: str, start: list[Fraction], weights: list[Rows]) -> list[list[Fraction]]:
    """The layers themselves with σ(u) = u|u|, by recursion: z_1 … z_N in plain form, [z_N] in ResNet form."""

    def layer(i: int, r: int) -> Fraction:
        if i == 0:
            return start[r]
        u = sum((x * layer(i - 1, c) for c, x in enumerate(weights[i - 1][r])), Fraction(0))
        return Fraction(u * abs(u) + (layer(i - 1, r) if form == RESNET else 0))

    chosen = range(1, len(weights) + 1) if form == PLAIN else (len(weights),)
    return [[layer(i, r) for r in range(len(start))] for i in chosen]


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
        "asked of layers as blocks of one step; also tried: layers as stages that do not enter themselves, two tables "
        "of numbers, and layers that are non-expansive by other means",
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
