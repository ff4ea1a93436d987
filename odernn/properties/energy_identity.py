"""The energy balance of a step with matrix coefficients, exactly; and which steps no weight G can make dissipative.

    ‖Δy₊‖_G² = ‖Δy‖_G² + 2η Σ_i w_iᵀ G B_i g_i − η² Σ_ij g_iᵀ M_ij g_j,     w_i = Δy + η Σ_j A_ij g_j,  g_i = Δk_i

thm-E; mc-1 and mc-5 of docs/derivations/matrix_coefficients.md. Niu, Chuang, Horesh 2019, (5), gives M without
transposes and without G, for which the identity fails. Whether a class of fields makes both corrections ≤ 0 is asked by
``odernn.properties.block_coefficients.contraction`` (thm-1*).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odernn.certificate import Certificate
from odernn.exact import coefficients
from odernn.exact.linear_algebra import ONE, Vector, dot, matrix_vector, quadratic_form
from odernn.properties.block_coefficients import BlockTableau, positive_step

__all__ = ["EnergyBalance", "energy_balance", "some_weight_is_possible"]


@dataclass(frozen=True)
class EnergyBalance:
    """The four terms of the identity, exact scalars.

    before, after  ‖Δy‖_G² and ‖Δy₊‖_G²      work  2η Σ w_iᵀ G B_i g_i      dissipation  η² Σ g_iᵀ M_ij g_j
    """

    before: Any
    work: Any
    dissipation: Any
    after: Any

    @property
    def defect(self) -> Any:
        """after − (before + work − dissipation): 0 for every choice of numbers."""
        return self.after - (self.before + self.work - self.dissipation)


def energy_balance(
    blocks: BlockTableau, difference: Sequence[Any], slopes: Sequence[Sequence[Any]], *, step: Any = 1, G: Any = None
) -> EnergyBalance:
    """The balance of one step from the differences of two solutions.

    difference  Δy (D,)      slopes  g_i = Δk_i (p_i,) of each stage      step  η > 0      G  symmetric, D × D; else the
                identity. With 0 for the second solution it is the balance of a single one.

    ``after`` is computed from Δy₊ itself and ``dissipation`` from M, so that ``defect`` compares two ways. Raises
    ValueError for numbers that do not fit the blocks, and for a step that is not positive.
    """
    weight = blocks.weight(G)
    eta = positive_step(step) or ONE
    d = _vector(difference, blocks.size, "difference")
    if len(slopes) != blocks.stages:
        raise ValueError(f"slopes has {len(slopes)} rows for {blocks.stages} stages. Give the g_i of each stage.")
    g = [
        _vector(row, width, f"slopes of stage {i + 1}")
        for i, (row, width) in enumerate(zip(slopes, blocks.widths, strict=True))
    ]
    pushed = [matrix_vector(B, row) for B, row in zip(blocks.B, g, strict=True)]
    work: Any = 0
    for i, push in enumerate(pushed):
        w = _moved(d, eta, [matrix_vector(A, row) for A, row in zip(blocks.A[i], g, strict=True)])
        work = work + 2 * eta * dot(w, matrix_vector(weight, push))
    joined = tuple(itertools.chain(*g))
    return EnergyBalance(
        before=quadratic_form(weight, d),
        work=work,
        dissipation=eta * eta * quadratic_form(blocks.burrage_butcher(weight), joined),
        after=quadratic_form(weight, _moved(d, eta, pushed)),
    )


def some_weight_is_possible(blocks: BlockTableau) -> Certificate:
    """Whether explicit stages leave room for a G > 0 with M(G) ≥ 0 (thm-1-expl).

    no    a stage has A_ii = 0 and B_i ≠ 0: then M_ii = −B_iᵀ G B_i, and ``witness`` (i, x), stages from 1, has
          xᵀ M_ii x = −‖B_i x‖_G² < 0 for every G > 0. That zero is meant to be zero, so that it stands for rounded
          coefficients too
    yes   all B_i = 0: M = 0
    None  no stage with B_i ≠ 0 is explicit, which decides nothing: see ``odernn.properties.contraction_weights``
    """
    name = "some G > 0 has M ≥ 0"
    live = [i for i, B in enumerate(blocks.B) if any(x != 0 for row in B for x in row)]
    for i in live:
        if all(x == 0 for row in blocks.A[i][i] for x in row):
            column = next(c for c in range(blocks.widths[i]) if any(row[c] != 0 for row in blocks.B[i]))
            x = tuple(ONE if k == column else 0 * ONE for k in range(blocks.widths[i]))
            text = f"A_ii = 0 and B_i ≠ 0 for i = {i + 1}: eᵀM_ii e = −‖B_i e‖_G² < 0, e = e_{column + 1}"
            return Certificate(name, False, True, (i + 1, x), text)
    if not live:
        return Certificate(name, True, True, None, "every B_i = 0, so M = 0")
    return Certificate(name, None, False, None, "no stage with B_i ≠ 0 is explicit")


def _vector(values: Sequence[Any], size: int, name: str) -> Vector:
    found: Vector = tuple(coefficients.scalar(x, name) for x in values)
    if len(found) != size:
        raise ValueError(f"{name} has {len(found)} entries; the blocks ask for {size}.")
    return found


def _moved(d: Vector, eta: Any, moves: Sequence[Vector]) -> Vector:
    return tuple(x + eta * sum((move[r] for move in moves), 0 * ONE) for r, x in enumerate(d))
