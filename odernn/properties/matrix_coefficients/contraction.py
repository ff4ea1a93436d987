"""Contraction of a step with matrix coefficients in the norm of G: the premises that imply it, decided exactly.

    G > 0,   M(G) ≥ 0,   each stage G-monotone with weight B_i      ⇒  ‖Δy₊‖_G ≤ ‖Δy‖_G, all η > 0 (mc-2)
    G > 0,   M(G) + (2/η) diag(λ_r/L_r) ≥ 0,   G B_i e_r = −λ_r k_r, λ_r ≥ 0  ⇒  ‖Δy₊‖_G ≤ ‖Δy‖_G, this η (mc-4)

The premises are sufficient: where one fails the answer is ``None``. ``docs/derivations/matrix_coefficients.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from odernn.certificate import Certificate
from odernn.exact import coefficients
from odernn.exact.algebraic import sign
from odernn.exact.definiteness import semidefiniteness
from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
)
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.stage_monotonicity import Fields, SlopeRestricted, stage_monotonicity
from odernn.tableaus.methods import AS_PRINTED


def sector_diagonal(multipliers: Sequence[Any], slopes: Sequence[Any], step: Any) -> Vector:
    """(2/η) λ_r/L_r of each component, 0 of a linear one: what a step η > 0 may add to the diagonal of M."""
    return tuple(ZERO if L is None else 2 * x / (step * L) for x, L in zip(multipliers, slopes, strict=True))


def contraction(blocks: BlockTableau, G: Any = None, fields: Fields = "weighted", step: Any = None) -> Certificate:
    """Whether the theorems imply ‖y₊ − y'₊‖_G ≤ ‖y − y'‖_G for all pairs of states and the same drives.

    step None: for every η > 0 (mc-2): G > 0, M ≥ 0, and each stage G-monotone with weight B_i. A number η > 0 with
    given stages (mc-4): instead of M ≥ 0, M + (2/η) diag(λ_r / slope_r) ≥ 0, which explicit steps can satisfy. Always:
    where the stage equations have a solution. ``value``: the premises, each a Certificate; ``None``: the theorems do
    not imply it, which is not a violation. Raises ValueError for a step that is not positive, as all signs turn there.
    """
    weight, factor = blocks.weight(G), positive_step(step)
    check_fields(fields, blocks.stages)
    premises = [weight_is_definite(weight)]
    multipliers: list[tuple[Any, ...]] = []
    if fields != "weighted":
        for i in range(blocks.stages):
            monotone = stage_monotonicity(blocks, weight, i, None if fields == "monotone" else fields[i])
            premises.append(monotone)
            multipliers.append(monotone.value if isinstance(monotone.value, tuple) else ())
    extra = None
    if factor is not None and not isinstance(fields, str) and all(premises):
        extra = sector_term(multipliers, fields, factor)
    premises.append(blocks.positivity(weight, extra=extra))
    asked = "contraction in ‖·‖_G"
    failed = next((premise for premise in premises if not premise), None)
    if failed is not None:
        words = "is not satisfied" if failed.holds is False else "is undecided"
        text = f"the premise “{failed.property}” {words}: {failed.because}"
        return Certificate(asked, None, False, failed.witness, text, margin=failed.margin, value=tuple(premises))
    first, *fields_hold, last = premises
    whys = ", ".join(dict.fromkeys(premise.because.removesuffix(AS_PRINTED) for premise in fields_hold))
    text = f"{first.property} ({first.because}); " + (f"all stages G-monotone ({whys}); " if fields_hold else "")
    text += f"{last.property} ({last.because})"
    is_certain = all(premise.exact for premise in premises)
    text += "" if is_certain or text.endswith(AS_PRINTED) else AS_PRINTED
    return Certificate(asked, True, is_certain, None, text, margin=premises[-1].margin, value=tuple(premises))


def check_fields(fields: Fields, stages: int) -> None:
    """Raises ValueError for an unknown class of fields, or for another number of them than of stages."""
    if isinstance(fields, str):
        if fields not in ("weighted", "monotone"):
            raise ValueError(f'fields is "{fields}". Give "weighted", "monotone", or one SlopeRestricted a stage.')
    elif len(fields) != stages:
        raise ValueError(f"contraction: {len(fields)} fields for {stages} stages. Give one for each stage.")


def weight_is_definite(G: Rows) -> Certificate:
    """Whether G > 0."""
    certificate = semidefiniteness(G, name="G")
    if certificate.holds is not True:
        return replace(certificate, property="G > 0")
    if certificate.value.zero == 0:
        return replace(certificate, property="G > 0")
    return Certificate("G > 0", False, True, None, f"G is singular, inertia {certificate.value}", margin=ZERO)


def positive_step(step: Any) -> Any:
    """η as an exact number, ``None`` if not given. Raises ValueError if it is not positive."""
    if step is None:
        return None
    eta = coefficients.scalar(step, "η")
    if sign(eta) <= 0:
        raise ValueError(f"The step η is {step}, but the theorems are about η > 0. Give a positive step.")
    return eta


def sector_term(multipliers: Sequence[Sequence[Any]], stages: Sequence[SlopeRestricted], step: Any) -> Rows:
    """(2/η) diag(λ_r/L_r) over all stages."""
    diagonal = [
        term
        for values, stage in zip(multipliers, stages, strict=True)
        for term in sector_diagonal(values, stage.slopes, step)
    ]
    return tuple(tuple(d if i == j else ZERO for j in range(len(diagonal))) for i, d in enumerate(diagonal))
