# Claims: ode-eq5 · thm-E · thm-1-expl · ode-T1-expl
"""The Burrage–Butcher tensor of a step with matrix coefficients: what (5) gives with and without transposes, and
whether the realisations of LSTM, GRU, URNN and CW-RNN, all of them explicit, satisfy the conditions of Theorem 1.
The formula of (5) is lost; "M without transposes" is one guess at it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from odernn import tableaus
from odernn.cells.odernn import realisations
from odernn.cells.odernn.tableau import MatrixTableau
from odernn.exact.definiteness import semidefiniteness
from odernn.published.sources import Source
from odernn.tableaus.methods import in_stages
from odernn.tableaus.tableau import ButcherTableau
from verification.cases.energy_balance import Balance
from verification.claim import Attempt, Case, Check, Claim, ClaimError, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Choice, Integer, Rational
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
)
