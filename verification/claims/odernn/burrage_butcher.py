# Claims: ode-eq5 · thm-E · thm-1-expl · ode-T1-expl · ode-Q3
"""The Burrage–Butcher tensor of a step with matrix coefficients: what (5) gives with and without transposes, and
whether the realisations of LSTM, GRU, URNN, CW-RNN and QUNN, all of them explicit, satisfy the conditions of Theorem 1.
The formula of (5) is lost; "M without transposes" is one guess at it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from flint import Ordering, fmpq, fmpq_mat, fmpq_mpoly_ctx

from odernn import tableaus
from odernn.cells.odernn import realisations
from odernn.cells.odernn.tableau import MatrixTableau
from odernn.cells.qunn import QUNN
from odernn.exact.definiteness import inertia, semidefiniteness
from odernn.published.sources import Source
from odernn.tableaus.methods import in_stages
from odernn.tableaus.tableau import ButcherTableau
from verification.cases.decision import at, decided
from verification.cases.energy_balance import Balance
from verification.certify import contraction_check
from verification.certify.second import pointwise_step as second_forms
from verification.certify.typed_step import ContractionReading
from verification.claim import Attempt, Case, Check, Claim, ClaimError, Decided, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import SYMMETRIC, Choice, Constant, Integer, Matrix, Rational, in_blocks, in_rows
from verification.parameters import Parameter, Rule, declared, rationals

# --- the constructions of Claims 1-4: M_ii = −B_iᵀ G B_i where A_ii = 0

SIZE = 2
"""Width of a block; every coefficient is a multiple of the identity of its block."""
PERIODS = (1, 2)


@functools.cache
def _tableaus() -> dict[str, Callable[[], MatrixTableau]]:
    return {
        "LSTM, gated": lambda: realisations.lstm(SIZE, form="gated"),
        "LSTM, constant": lambda: realisations.lstm(SIZE, form="constant"),
        "GRU, gated": lambda: realisations.gru(SIZE, form="gated"),
        "GRU, constant": lambda: realisations.gru(SIZE, form="constant"),
        "URNN": lambda: realisations.simple(SIZE),
        "CW-RNN": lambda: realisations.clockwork(PERIODS, (1, 1), 0),
        "URNN, leak form": lambda: MatrixTableau.scalar(_euler(), SIZE),
    }


def _euler() -> ButcherTableau:
    method = in_stages(tableaus.get("euler"))
    assert isinstance(method, ButcherTableau)
    return method


TYPED_AGAIN: dict[str, dict[str, tuple[str, ...]]] = {
    "LSTM, gated": {"0": ("-1",)},
    "LSTM, constant": {"0": ("-1",), "2": ("1/4", "-1/4"), "3": ("1/4", "-1/4"), "5": ("1/4", "-1/4")},
    "GRU, gated": {"0": ("z-1",), "2": ("1-z",)},
    "GRU, constant": {"0": ("-1",), "4": ("1",), "5": ("1/4",), "6": ("-1/4",)},
    "URNN": {"0": ("-1",), "1": ("1",)},
    "CW-RNN": {"0": ("-1",), "1": ("1",)},
    "URNN, leak form": {"1": ("1",)},
}
"""B_i of stages whose gates look at nothing but z, the update gate, written off the update y + Σ B_i k_i: factors of
the blocks of k_i, at a time at which every clock acts. No stage reads itself. In leak form k_1 = σ(W y + V x) − y."""


def condition_case(name: str, condition: str) -> Case:
    """Whether a construction satisfies condition I, M ≥ 0 for some G > 0, or II, B_i ≥ 0."""

    def ask(_: Budget, __: int) -> Attempt:
        tableau = _tableaus()[name]()
        stages = [int(i) for i in TYPED_AGAIN[name] if _relevant(tableau, int(i), condition)]
        named = [{"stage": str(i), "component": "1", "z": "1/2"} for i in stages]
        violating = [p for p in named if check(p).opinions[0].violated]
        text = f"{len(violating)} of {len(stages)} stages tried violate it"
        proof = ""
        if condition == "II" and not violating and set(tableau.B) == set(stages):
            certificates = [semidefiniteness(_exact(tableau, i), name=f"B_{i}") for i in stages]
            proof = "; ".join(certificate.because for certificate in certificates) if all(certificates) else ""
        return Attempt(text, len(stages), found=text, claimed="none", candidates=tuple(violating[:2]), proof=proof)

    def check(parameters: Parameters) -> Check:
        stage, component, z = (number(parameters, key) for key in ("stage", "component", "z"))
        tableau = _tableaus()[name]()
        i = int(stage)
        column = _column(tableau, i, int(component) - 1, z)
        explicit = (i, i) not in tableau.A
        entry = column[int(component) - 1]
        first = explicit and any(column) if condition == "I" else entry < 0
        again = [_evaluated(text, z) for text in TYPED_AGAIN[name].get(str(i), ())]
        second = any(again) if condition == "I" else bool(again) and again[0] < 0
        shown = f"(B_{i} e)ᵀ = ({', '.join(map(str, column))})"
        words = (
            f"A_{i}{i} = 0, so eᵀM_{i}{i} e = −‖B_{i} e‖_G² < 0 for every G > 0"
            if condition == "I"
            else f"eᵀB_{i} e < 0"
        )
        return Check(
            opinions=(
                Opinion("tableau", bool(first), f"{shown}, A_{i}{i} {'= 0' if explicit else '≠ 0'}"),
                Opinion("fractions", second, f"B_{i} has the blocks {[str(x) for x in again]}"),
            ),
            premises=(Premise("both have the same B_i e", shown, [x for x in column if x] == again[:1]),),
            words=f"{name}, stage {i}, e = e_{component}: {shown}; {words}",
        )

    parameters = declared(
        Parameter("stage", Choice(tuple(TYPED_AGAIN[name]))),
        Parameter("component", Integer(1, 2 * SIZE)),
        Parameter("z", Rational(above=0, below=1)),
        rules=[Rule("the state has that component", lambda v: v["component"] <= _tableaus()[name]().size)],
    )
    text = {"I": "I: M ≥ 0 for some G > 0", "II": "II: B_i ≥ 0"}[condition]
    return Case(name, text, ask, parameters.guards(check))


def _relevant(tableau: MatrixTableau, i: int, condition: str) -> bool:
    """Condition II is about square B_i."""
    return condition == "I" or tableau.stages[i].size == tableau.size


def _column(tableau: MatrixTableau, i: int, component: int, z: Fraction) -> list[Fraction]:
    """B_i e_component at a state whose gates k_1 that B_i looks at have the value z."""
    coefficient = tableau.B[i]
    columns = tableau.stages[i].size
    rows = _dense(coefficient.matrix, tableau.size, columns)
    factor = Fraction(1)
    if coefficient.gate is not None:
        gates = coefficient.gate.stages
        if coefficient.gate.y is not None or set(gates) != {1}:
            raise ClaimError(
                f"B_{i} has a gate that looks at the state or at several stages; none of these is checked."
            )
        (table,) = gates.values()
        weight = sum((Fraction(float(x)) for x in table.flatten().tolist()), Fraction(0))
        constant = coefficient.gate.constant
        factor = Fraction(float(constant.flatten()[0]) if isinstance(constant, torch.Tensor) else float(constant))
        factor += weight * z
    return [Fraction(float(row[component])) * factor for row in rows]


def _exact(tableau: MatrixTableau, i: int) -> list[list[fmpq]]:
    """The square B_i without gate."""
    rows = _dense(tableau.B[i].matrix, tableau.size, tableau.size)
    return [[fmpq(*float(x).as_integer_ratio()) for x in row] for row in rows]


def _dense(matrix: Any, rows: int, columns: int) -> list[list[float]]:
    """A number or a table of blocks in full."""
    table = torch.as_tensor(matrix, dtype=torch.float64)
    if table.ndim == 0:
        table = table * torch.eye(rows, dtype=torch.float64)
    if table.shape != (rows, columns):
        table = torch.kron(table, torch.eye(rows // table.shape[0], dtype=torch.float64))
    full: list[list[float]] = table.tolist()
    return full


def _evaluated(text: str, z: Fraction) -> Fraction:
    return {"1-z": 1 - z, "z-1": z - 1}[text] if "z" in text else Fraction(text)


# --- thm-1-expl


def explicit_case(size: int, coefficient: int = -1) -> Case:
    """A_ii = 0 ⇒ M_ii = −B_iᵀ G B_i, all entries free; another ``coefficient`` is the planted falsehood."""
    places = range(size)
    names = [f"B{r}{c}" for r in places for c in places] + [f"G{r}{c}" for r in places for c in range(r, size)]

    def entries(v: dict[str, Any], a: Any) -> list[Any]:
        B = [[v[f"B{r}{c}"] for c in places] for r in places]
        G = [[v[f"G{min(r, c)}{max(r, c)}"] for c in places] for r in places]
        differences = []
        for r in places:
            for c in places:
                square = sum((B[k][r] * G[k][l] * B[l][c] for k in places for l in places), 0 * a)
                M = sum((B[k][r] * G[k][l] * a + a * G[l][k] * B[k][c] for k in places for l in places), -square)
                differences.append(M - coefficient * square)
        return differences

    def entries_again(v: dict[str, Fraction]) -> list[Fraction]:
        """M_ii by G B_i, with A_ii G B_i and its transpose put down as 0; B_iᵀ G B_i by polarisation of ‖B_i x‖_G²."""
        B = [[v[f"B{r}{c}"] for c in places] for r in places]
        GB = [
            [sum((v[f"G{min(k, l)}{max(k, l)}"] * B[l][c] for l in places), Fraction(0)) for c in places]
            for k in places
        ]

        def square(x: list[int]) -> Fraction:
            image = [sum((b * entry for b, entry in zip(row, x, strict=True)), Fraction(0)) for row in B]
            return sum(
                (v[f"G{min(k, l)}{max(k, l)}"] * image[k] * image[l] for k in places for l in places), Fraction(0)
            )

        differences = []
        for r in places:
            for c in places:
                one, other = [int(k == r) for k in places], [int(k == c) for k in places]
                both = [x + y for x, y in zip(one, other, strict=True)]
                polarised = (square(both) - square(one) - square(other)) / 2
                M = 0 + 0 - sum((B[k][r] * GB[k][c] for k in places), Fraction(0))
                differences.append(M - coefficient * polarised)
        return differences

    def ask(_: Budget, __: int) -> Attempt:
        ring = fmpq_mpoly_ctx.get(names, Ordering.degrevlex)
        symbols = dict(zip(names, ring.gens(), strict=True))
        text = f"A_ii = 0, all entries of B_i and G as unknowns, D = {size}"
        if all(entry == 0 for entry in entries(symbols, 0 * ring.gens()[0])):
            proof = f"{text}: M_ii + B_iᵀ G B_i = 0; so xᵀM_ii x = −‖B_i x‖_G² < 0 for some x unless B_i = 0"
            return Attempt(text, size * size, found="0", claimed="0", proof=proof)
        return Attempt(text, size * size, found="differs", claimed="0", candidates=({name: "1" for name in names},))

    def check(parameters: Parameters) -> Check:
        exact = {name: number(parameters, name) for name in names}
        flints = {name: fmpq(x.numerator, x.denominator) for name, x in exact.items()}
        first, second = entries(flints, fmpq(0)), entries_again(exact)
        return Check(
            opinions=(
                Opinion("flint", any(x != 0 for x in first), str(first)),
                Opinion("fractions", any(second), str(second)),
            ),
            words="M_ii differs",
        )

    parameters = declared(*rationals(*names))
    return Case(f"D = {size}", "M_ii + B_iᵀ G B_i", ask, parameters.guards(check))


# --- QUNN


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
        id="ode-eq5",
        source=Source("odernn", "Def. 1 (5)"),
        statement="(5) enters the stability analysis; its formula is lost, and tried is M_ij = "
        "B_i A_ij + B_j A_ji − B_i B_j, without transposes: ‖Δy₊‖² = ‖Δy‖² + 2η Σ w_i·B_i g_i "
        "− η² Σ g_iᵀ M_ij g_j where transposes make no difference (scalar or diagonal blocks; "
        "S = 1, B symmetric); also tried: other blocks, and M with transposes and a weight G",
        semantics="alg",
        cases=(
            Balance(2, 2, "scalar", printed=True).case("scalar blocks, D = S = 2", "M without transposes"),
            Balance(2, 2, "diagonal", printed=True).case("diagonal blocks, D = S = 2", "M without transposes"),
            Balance(2, 1, "symmetric B", printed=True).case("S = 1, B symmetric", "M without transposes"),
            Balance(2, 1, printed=True).case("S = 1, any blocks", "M without transposes"),
            Balance(2, 2, "symmetric", printed=True).case("S = 2, symmetric blocks", "M without transposes"),
            Balance(2, 2).case("S = 2, any blocks", "M with transposes and G"),
        ),
        dominated_by="thm-E",
    ),
    Claim(
        id="thm-E",
        source=Source("library", "docs/derivations/matrix_coefficients.md, mc-1"),
        statement="‖Δy₊‖_G² = ‖Δy‖_G² + 2η Σ w_iᵀ G B_i g_i − η² Σ g_iᵀ "
        "M_ij g_j, every symmetric G, coefficients equal for both solutions",
        semantics="alg",
        cases=tuple(
            Balance(D, S).case(f"D = {D}, S = {S}", "energy identity")
            for D, S in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2))
        ),
        origin="library",
    ),
    Claim(
        id="thm-1-expl",
        source=Source("library", "docs/derivations/matrix_coefficients.md, mc-5"),
        statement="A_ii = 0 implies M_ii = −B_iᵀ G B_i; so with G > 0 and A_ii = 0 for all i, M ≥ 0 iff every B_i = 0",
        semantics="alg",
        cases=tuple(explicit_case(size) for size in (1, 2, 3)),
        origin="library",
    ),
    Claim(
        id="ode-T1-expl",
        source=Source("odernn", "Sec. 3"),
        statement="some ODERNN of the kind of an LSTM's satisfies conditions I and II of "
        "Theorem 1; asked of the constructions of Claims 1-4, of which nobody claims it",
        semantics="real",
        cases=(
            *(condition_case(name, "I") for name in TYPED_AGAIN),
            *(condition_case(name, "II") for name in TYPED_AGAIN),
        ),
        dominated_by="thm-1-expl",
    ),
    Claim(
        id="ode-Q3",
        source=Source("odernn", "Sec. 3.2"),
        statement="QUNN: some choice of the parameters of (32) and (35) satisfies conditions I "
        "and II of Theorem 1; asked of all networks whose layers follow one another, the parameters in the "
        "weights; also tried: two reconstructed tables, and layers that are non-expansive by other means",
        semantics="real",
        cases=(
            one_after_another_case(),
            *(chain_case(form, depth) for form in ("ResNet", "plain") for depth in (1, 2, 4)),
            residual_case(),
            bounded_case(),
        ),
        dominated_by="thm-1-expl",
    ),
)
