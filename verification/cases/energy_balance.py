"""The energy identity of steps with matrix coefficients as a polynomial identity, in the forms in which it is stated.

    ‖Δy₊‖_G² = ‖Δy‖_G² + 2η Σ_i w_iᵀ G B_i g_i − η² Σ_ij g_iᵀ M_ij g_j,     w_i = ΔY_i,  g_i = Δk_i

mc-1 of docs/derivations/matrix_coefficients.md. The unknowns are all entries of A_ij, B_i, G, Δy, g_i, and η: that the
g_i are values of a field is not used. With G = I and M_ij = B_i A_ij + B_j A_ji − B_i B_j it is what (5) of Niu, Chuang
and Horesh (2019) says where its transposes are lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from verification.cases.identity import PolynomialIdentity
from verification.claim import Attempt, Case, Check, Parameters
from verification.domains import Budget

Blocks: TypeAlias = Literal["any", "symmetric B", "symmetric", "diagonal", "scalar"]
"""Which blocks are meant: any; B_i symmetric; A_ij and B_i symmetric; both diagonal; multiples of the identity."""


@dataclass(frozen=True)
class Balance:
    """The identity for S stages on D components.

    printed   M without transposes, and G = I; else M with transposes, and any symmetric G
    work, dissipation   the factors 2 and 1 in front of the two corrections; others are planted falsehoods
    """

    size: int
    stages: int
    blocks: Blocks = "any"
    printed: bool = False
    work: int = 2
    dissipation: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        of_blocks = {
            name for row in self._names_of_blocks() for block in row for name in itertools.chain(*block) if name
        }
        weights = set() if self.printed else {name for row in self._G() for name in row}
        vectors = {f"d{r}" for r in range(self.size)}
        vectors |= {f"g{i}_{r}" for i in range(self.stages) for r in range(self.size)}
        return tuple(sorted(of_blocks | weights | vectors | {"eta"}))

    def identity(self) -> PolynomialIdentity:
        tensor = "without transposes" if self.printed else "with transposes and G"
        words = f"energy identity, M {tensor}, blocks {self.blocks}, D = {self.size}, S = {self.stages}"
        return PolynomialIdentity(self.names, self.residual, self.again, words)

    def case(self, domain: str, quantity: str) -> Case:
        """The identity for all entries; what is named against it has as many zeros and ones as keep it failing."""
        identity = self.identity()

        def ask(budget: Budget, seed: int) -> Attempt:
            attempt = identity.ask(budget, seed)
            text = f"{identity.words}: polynomials in {len(self.names)} unknowns"
            proof = f"{text}: the difference is 0" if attempt.proof else ""
            plainest = tuple(_plainest(identity, p) for p in attempt.candidates[:1])
            return replace(attempt, tried=text, proof=proof, candidates=plainest)

        def check(parameters: Parameters) -> Check:
            checked = identity.check(parameters)
            shown = ", ".join(f"{name} = {value}" for name, value in parameters.items() if value != "0")
            return replace(
                checked,
                words=f"{identity.words}: {checked.opinions[0].text} at {shown}, all others 0 "
                "(Aij_rc: entry (r, c) of A_ij)",
            )

        return Case(domain, quantity, ask, identity.declaration.guards(check))

    def residual(self, v: Mapping[str, Any]) -> list[Any]:
        """Left minus right, M by its blocks."""
        A, B, G, d, g = self._typed(v)
        eta, stages = v["eta"], range(self.stages)
        w = [_sum([d, *(_scale(eta, _apply(A[i][j], g[j])) for j in stages)]) for i in stages]
        after = _sum([d, *(_scale(eta, _apply(B[i], g[i])) for i in stages)])
        right = _dot(d, _apply(G, d))
        for i in stages:
            right = right + self.work * eta * _dot(w[i], _apply(G, _apply(B[i], g[i])))
            for j in stages:
                right = right - self.dissipation * eta * eta * _dot(
                    g[i], _apply(tensor_block(A, B, G, i, j, printed=self.printed), g[j])
                )
        return [_dot(after, _apply(G, after)) - right]

    def again(self, v: Mapping[str, Any]) -> list[Any]:
        """The same by vectors p_i = B_i g_i, and no block of M."""
        A, B, G, d, g = self._typed(v)
        eta, stages, places = v["eta"], range(self.stages), range(self.size)
        p = [[sum(B[i][r][c] * g[i][c] for c in places) for r in places] for i in stages]
        q = [[sum(A[i][j][r][c] * g[j][c] for j in stages for c in places) for r in places] for i in stages]
        total = [sum(p[i][r] for i in stages) for r in places]
        gain = sum(G[r][c] * total[r] * (2 * eta * d[c] + eta * eta * total[c]) for r in places for c in places)
        work = sum(G[r][c] * (d[r] + eta * q[i][r]) * p[i][c] for i in stages for r in places for c in places)
        if self.printed:
            lost = 0 * eta
            for i, j in itertools.product(stages, repeat=2):
                for r, k, c in itertools.product(places, repeat=3):
                    lost += g[i][r] * g[j][c] * (B[i][r][k] * (A[i][j][k][c] - B[j][k][c]) + B[j][r][k] * A[j][i][k][c])
        else:
            lost = sum(G[r][c] * (2 * p[i][r] * q[i][c]) for i in stages for r in places for c in places)
            lost = lost - sum(G[r][c] * total[r] * total[c] for r in places for c in places)
        return [gain - self.work * eta * work + self.dissipation * eta * eta * lost]

    def _typed(self, v: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        zero, one = 0 * v["eta"], 0 * v["eta"] + 1

        def entries(block: list[list[str]]) -> list[list[Any]]:
            return [[v[name] if name else zero for name in row] for row in block]

        *rows, weights = self._names_of_blocks()
        A = [[entries(block) for block in row] for row in rows]
        B = [entries(block) for block in weights]
        places = range(self.size)
        G = [[one if r == c else zero for c in places] for r in places] if self.printed else entries(self._G())
        return A, B, G, [v[f"d{r}"] for r in places], [[v[f"g{i}_{r}"] for r in places] for i in range(self.stages)]

    def _names_of_blocks(self) -> list[list[list[list[str]]]]:
        """Rows A_i1 … A_iS, and then B_1 … B_S; "" stands for 0."""
        stages = range(self.stages)
        A = [[self._block(f"A{i}{j}", self.blocks in ("any", "symmetric B")) for j in stages] for i in stages]
        return [*A, [self._block(f"B{i}", self.blocks == "any") for i in stages]]

    def _block(self, letter: str, free: bool) -> list[list[str]]:
        places = range(self.size)
        if free:
            return [[f"{letter}_{r}{c}" for c in places] for r in places]
        if self.blocks == "scalar":
            return [[letter if r == c else "" for c in places] for r in places]
        if self.blocks == "diagonal":
            return [[f"{letter}_{r}" if r == c else "" for c in places] for r in places]
        return [[f"{letter}_{min(r, c)}{max(r, c)}" for c in places] for r in places]

    def _G(self) -> list[list[str]]:
        return [[f"G{min(r, c)}{max(r, c)}" for c in range(self.size)] for r in range(self.size)]


def tensor_block(A: Any, B: Any, G: Any, i: int, j: int, *, printed: bool = False) -> list[list[Any]]:
    """M_ij = B_iᵀ G A_ij + A_jiᵀ G B_j − B_iᵀ G B_j, or, without transposes, B_i A_ij + B_j A_ji − B_i B_j."""
    if printed:
        first, second, square = _product(B[i], A[i][j]), _product(B[j], A[j][i]), _product(B[i], B[j])
    else:
        first = _product(_flip(B[i]), _product(G, A[i][j]))
        second = _product(_flip(A[j][i]), _product(G, B[j]))
        square = _product(_flip(B[i]), _product(G, B[j]))
    return [[x + y - z for x, y, z in zip(*rows, strict=True)] for rows in zip(first, second, square, strict=True)]


def _plainest(identity: PolynomialIdentity, parameters: Parameters) -> Parameters:
    """Each number becomes 0, else 1, if the two sides stay different."""
    plain = dict(parameters)
    for name in plain:
        for value in ("0", "1"):
            if identity.check({**plain, name: value}).opinions[0].violated:
                plain[name] = value
                break
    return plain


def implied(balances: tuple[Balance, ...], text: str, seed: int) -> Attempt:
    """A statement that follows from the identities by the signs of their terms, which ``text`` names."""
    failed = [b for b in balances if any(entry != 0 for entry in b.residual(_symbols(b)))]
    shapes = ", ".join(f"(D, S) = ({b.size}, {b.stages})" for b in balances)
    tried = f"energy identity as polynomials in all entries, {shapes}"
    if failed:
        return Attempt(tried, len(balances), found="the identity fails", claimed=text)
    proof = f"{tried}: the difference is 0; {text}"
    twice = [balance.identity().vanishes_again(seed) for balance in balances]
    return Attempt(tried, len(balances), found="0", claimed="0", proof=proof, twice=twice[0])


def implied_case(domain: str, quantity: str, balances: tuple[Balance, ...], text: str) -> Case:
    def ask(_: Budget, seed: int) -> Attempt:
        return implied(balances, text, seed)

    return Case(domain, quantity, ask)


def _symbols(balance: Balance) -> dict[str, Any]:
    from flint import Ordering, fmpq_mpoly_ctx

    ring = fmpq_mpoly_ctx.get(list(balance.names), Ordering.degrevlex)
    return dict(zip(balance.names, ring.gens(), strict=True))


def _apply(S: Any, v: Any) -> list[Any]:
    return [_dot(row, v) for row in S]


def _dot(u: Any, v: Any) -> Any:
    first, *rest = (x * y for x, y in zip(u, v, strict=True))
    for term in rest:
        first = first + term
    return first


def _sum(vectors: list[list[Any]]) -> list[Any]:
    total = vectors[0]
    for vector in vectors[1:]:
        total = [x + y for x, y in zip(total, vector, strict=True)]
    return total


def _scale(factor: Any, v: list[Any]) -> list[Any]:
    return [factor * x for x in v]


def _product(S: Any, T: Any) -> list[list[Any]]:
    columns = _flip(T)
    return [[_dot(row, column) for column in columns] for row in S]


def _flip(S: Any) -> list[list[Any]]:
    return [list(column) for column in zip(*S, strict=True)]
