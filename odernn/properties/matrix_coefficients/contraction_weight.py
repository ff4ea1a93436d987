"""A weight G > 0 in which a step with matrix coefficients contracts: sought, and found, or shown not to exist.

All premises of ``contraction`` are linear in G (mc-5 to mc-7):

    M(G) ≥ 0, or M(G) + (2/η) diag(λ_r(G)/L_r) ≥ 0;     G B_i = β_i I, β_i ≥ 0, for all monotone fields;
    G B_i e_r = −λ_r k_r, λ_r ≥ 0, for stages with restricted slopes

The equations are solved exactly (``weight_space``); what is left is a linear matrix inequality, decided by
``exact.matrix_inequalities``. ``docs/derivations/matrix_coefficients.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from odernn.certificate import Certificate
from odernn.exact.algebraic import sign
from odernn.exact.definiteness import semidefiniteness
from odernn.exact.linear_algebra import (
    ONE,
    ZERO,
    Rows,
    Vector,
    outer,
    product,
    transposed,
)
from odernn.exact.matrix_inequalities import Pencil, decide
from odernn.exact.text import equals
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.contraction import check_fields, contraction, positive_step, sector_diagonal
from odernn.properties.matrix_coefficients.stage_monotonicity import Fields, SlopeRestricted, dissipation, multiplier
from odernn.properties.matrix_coefficients.weight_space import LARGEST_SEARCH, combined, weight_basis
from odernn.tableaus.methods import AS_PRINTED

PROPERTY = "a weight G satisfies the premises of contraction"
LARGEST_TENSOR = 256
"""Rows of M up to which it is assembled for each G of a basis; whether signs forbid a G is seen for more."""
NO_PROOF = "no G was found, which does not show that there is none"


def weight_pencil(blocks: BlockTableau, basis: Sequence[Rows], fields: Fields = "weighted", step: Any = None) -> Pencil:
    """The inequalities for G = Σ v_k basis[k]: blocks G, M(G) with its term in η, and what must not be negative."""
    multipliers = [_multipliers(blocks, G, fields) for G in basis]
    tensors = [blocks.burrage_butcher(G) for G in basis]
    if step is not None and not isinstance(fields, str):
        slopes = [slope for stage in fields for slope in stage.slopes]
        tensors = [
            _plus_diagonal(M, sector_diagonal(values, slopes, step))
            for M, values in zip(tensors, multipliers, strict=True)
        ]
    pencil = [tuple(basis), tuple(tensors)]
    for place in range(len(multipliers[0])):
        if any(values[place] != 0 for values in multipliers):
            pencil.append(tuple(((values[place],),) for values in multipliers))
    if not isinstance(fields, str):
        for i, stage in enumerate(fields):
            linear = [r for r, slope in enumerate(stage.slopes) if slope is None]
            if linear:
                pencil.append(tuple(dissipation(product(G, blocks.B[i]), stage.K, linear) for G in basis))
    return Pencil(tuple(pencil))


def contraction_weight(blocks: BlockTableau, fields: Fields = "weighted", step: Any = None) -> Certificate:
    """Whether some G > 0 satisfies all premises of ``contraction(blocks, G, fields, step)``.

    yes    ``witness`` G, checked exactly; ``value`` the certificate of ``contraction``
    no     proved, of the premises, which are sufficient for contraction, not necessary: ``witness`` is a
           ``NegativeCoupling``, or Z of ``weight_pencil(…)``: Z ≥ 0, Z⁰ ≠ 0, orthogonal to all
    None   none was found, which does not show that there is none; or the coefficients are rounded, and what holds of
           the numbers as given may not hold of those that are meant
    """
    factor = positive_step(step)
    check_fields(fields, blocks.stages)
    if not isinstance(fields, str):
        _check_stages(blocks, fields)
        coupled = _negative_coupling(blocks, fields)
        if coupled is not None:
            return _about_given(blocks, coupled)
    if sum(blocks.widths) > LARGEST_TENSOR:
        text = f"M has {sum(blocks.widths)} > {LARGEST_TENSOR} rows, and was not assembled: {NO_PROOF}"
        return Certificate(PROPERTY, None, False, None, text)
    basis = weight_basis(blocks, fields)
    if basis is None:
        text = f"D = {blocks.size} > {LARGEST_SEARCH} and the equations do not determine G: {NO_PROOF}"
        return Certificate(PROPERTY, None, False, None, text)
    if not basis:
        return _about_given(
            blocks, Certificate(PROPERTY, False, True, (), "its equations have only the solution G = 0")
        )
    pencil = weight_pencil(blocks, basis, fields, factor)
    explicit = _always_negative(blocks, pencil) if factor is None else None
    if explicit is not None:
        return explicit
    decision = decide(pencil, _candidates(basis, blocks))
    if decision.holds:
        G = combined(decision.witness, basis)
        certificate = contraction(blocks, G, fields, step)
        if certificate:
            text = f"{decision.because}: {certificate.because}"
            return Certificate(PROPERTY, True, certificate.exact, G, text, margin=certificate.margin, value=certificate)
        return Certificate(PROPERTY, None, False, G, certificate.because, certificate.margin, certificate)
    if decision.holds is False:
        because = decision.because if len(basis) > 1 else _why_not(blocks, basis[0], fields, step)
        return _about_given(blocks, replace(decision, property=PROPERTY, because=because))
    return Certificate(PROPERTY, None, False, None, f"{decision.because}; {NO_PROOF}", margin=decision.margin)


@dataclass(frozen=True)
class NegativeCoupling:
    """Why no G makes component r of stage i G-monotone: the numbers (K_i B_i)_qr and (K_i B_i)_rq, from 0.

    C = K_i B_i must have λ_q C_qr = λ_r C_rq and −λ_r C_rr = ‖B_i e_r‖_G² > 0: a negative diagonal, and pairs of one
    sign. ``entries`` (C_qr, C_rq) violates that; r = q for the diagonal.
    """

    stage: int
    q: int
    r: int
    entries: tuple[Any, Any]


def _why_not(blocks: BlockTableau, G: Rows, fields: Fields, step: Any) -> str:
    """The premise that fails for the G which the equations determine but for a factor, of the sign with trace G ≥ 0."""
    if sum((G[i][i] for i in range(len(G))), ZERO) < 0:
        G = tuple(tuple(-x for x in row) for row in G)
    return f"the equations determine G but for a factor, and {contraction(blocks, G, fields, step).because}"


def _negative_coupling(blocks: BlockTableau, stages: Sequence[SlopeRestricted]) -> Certificate | None:
    for i, stage in enumerate(stages):
        C = product(stage.K, blocks.B[i])
        columns = transposed(blocks.B[i])
        live = [r for r, slope in enumerate(stage.slopes) if slope is not None and any(columns[r]) and any(stage.K[r])]
        for r in live:
            if sign(C[r][r]) >= 0:
                text = f"stage {i + 1}, component {r + 1}: kᵀB e {equals(C[r][r])} ≥ 0, but −λ kᵀB e = ‖B e‖_G² > 0"
                return Certificate(PROPERTY, False, True, NegativeCoupling(i, r, r, (C[r][r], C[r][r])), text)
        for r in live:
            for q in live:
                if sign(C[q][r]) != sign(C[r][q]):
                    text = (
                        f"stage {i + 1}: (K B)_qr {equals(C[q][r])} and (K B)_rq {equals(C[r][q])} for q, r = {q + 1}, "
                        f"{r + 1}, but λ_q (K B)_qr = λ_r (K B)_rq with λ > 0"
                    )
                    return Certificate(PROPERTY, False, True, NegativeCoupling(i, q, r, (C[q][r], C[r][q])), text)
    return None


def _always_negative(blocks: BlockTableau, pencil: Pencil) -> Certificate | None:
    """Z = e_r e_rᵀ in M where M(G)_rr = ⟨N, G⟩ with N ≤ 0, N ≠ 0: explicit stages have N = −B e_r e_rᵀ Bᵀ (mc-5)."""
    size, undecided = sum(blocks.widths), None
    stages = [i for i, width in enumerate(blocks.widths) for _ in range(width)]
    for r, i in enumerate(stages):
        e = tuple(ONE if k == r else ZERO for k in range(size))
        Z = outer(e, e)
        N = blocks.dual(Z)
        negative = tuple(tuple(-x for x in row) for row in N)
        if not _any(N) or not semidefiniteness(negative):
            continue
        zeros = [tuple((ZERO,) * len(block[0]) for _ in block[0]) for block in pencil.blocks[2:]]
        text = f"M_rr = −‖·‖_G² < 0 for r = {r + 1} and every G > 0: ⟨e eᵀ, M(G)⟩ = ⟨N, G⟩ with N ≤ 0, N ≠ 0"
        certificate = Certificate(PROPERTY, False, True, (negative, Z, *zeros), text)
        if not _any(blocks.A[i][i]):  # a zero is meant to be zero: N ≤ 0 whatever B_i is
            return certificate
        undecided = undecided or _about_given(blocks, certificate)
    return undecided


def _about_given(blocks: BlockTableau, certificate: Certificate) -> Certificate:
    """A "no" about rounded coefficients leaves those that are meant open."""
    if blocks.is_exact:
        return certificate
    return replace(certificate, holds=None, exact=False, because=f"{certificate.because}{AS_PRINTED}; {NO_PROOF}")


def _multipliers(blocks: BlockTableau, G: Rows, fields: Fields) -> list[Any]:
    """β_i, or the λ_r of all stages, 0 for linear components and zero rows: what must not be negative."""
    if fields == "weighted":
        return []
    if fields == "monotone":
        return [product(G, B)[0][0] for B in blocks.B]
    factors: list[Any] = []
    for B, stage in zip(blocks.B, fields, strict=True):
        assert isinstance(stage, SlopeRestricted)
        for g, k, slope in zip(transposed(product(G, B)), stage.K, stage.slopes, strict=True):
            factors.append(multiplier(g, k, slope))
    return factors


def _candidates(basis: Sequence[Rows], blocks: BlockTableau) -> list[Vector]:
    """The identity among all symmetric matrices; of a few that are determined, the sums with equal weights."""
    if len(basis) == blocks.size * (blocks.size + 1) // 2 > 1:
        return [tuple(ONE if _any(G) and _is_diagonal(G) else ZERO for G in basis)]
    return [] if len(basis) == 1 else [tuple(ONE for _ in basis), tuple(-ONE for _ in basis)]


def _check_stages(blocks: BlockTableau, stages: Sequence[SlopeRestricted]) -> None:
    shapes = [(len(stage.K), len(stage.K[0])) for stage in stages]
    expected = [(width, blocks.size) for width in blocks.widths]
    if shapes != expected:
        raise ValueError(f"The stages have K of shapes {shapes}, but the coefficients ask for {expected}.")


def _is_diagonal(G: Rows) -> bool:
    return all(x == 0 or p == q for p, row in enumerate(G) for q, x in enumerate(row))


def _any(block: Rows) -> bool:
    return any(x != 0 for row in block for x in row)


def _plus_diagonal(M: Rows, diagonal: Sequence[Any]) -> Rows:
    return tuple(tuple(x + (diagonal[i] if i == j else ZERO) for j, x in enumerate(row)) for i, row in enumerate(M))
