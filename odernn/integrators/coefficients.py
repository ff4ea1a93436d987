"""The coefficients of a method as floats, and the order in which its slopes can be computed.

Coefficients become floats here, one correctly rounded number each, and nowhere earlier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from odernn.exact.algebraic import nearest_float
from odernn.fields.field import Field, SeparableField
from odernn.integrators.transformation import Mode, modes_of
from odernn.tableaus.families import PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import resolve
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau

Scheme: TypeAlias = ButcherTableau | PartitionedTableau | Composition | PolynomialTableau | PolynomialPair
"""What can be stepped with."""

FloatRow: TypeAlias = tuple[float, ...]
FloatMatrix: TypeAlias = tuple[FloatRow, ...]
Node: TypeAlias = tuple[int, int]
"""(block β, stage i), both from 0: the slope k_i of the block β."""

MOST_KEPT = 512
"""How many methods are kept as floats: the catalogue for each kind of field."""


@dataclass(frozen=True, eq=False)
class SlopeGroup:
    """Slopes that are computed together, by block and then by stage; implicit if they depend on each other.

    ``stages``, those that occur, ascending. Here and in ``FloatCoefficients`` there are no properties, which
    ``torch.compile`` could not trace on what it takes for a constant.
    """

    nodes: tuple[Node, ...]
    stages: tuple[int, ...]
    is_implicit: bool


@dataclass(frozen=True, eq=False)
class FloatCoefficients:
    """A method for a field of so many blocks.

    A[β], b[β]   the table of each block
    c            when the stages see the drive: A[0]·1, the abscissae of the positions
    groups       the slopes in an order in which they can be computed, see ``groups_of``
    is_one_table whether all blocks have the same A
    modes        Butcher's transformation of A of an implicit method, if all blocks have the same A and it has one
    is_separable whether the groups are those of a separable field
    """

    name: str
    A: tuple[FloatMatrix, ...]
    b: tuple[FloatRow, ...]
    c: FloatRow
    groups: tuple[SlopeGroup, ...]
    is_one_table: bool
    modes: tuple[Mode, ...] | None
    is_separable: bool


def coefficients_for(scheme: Scheme | FloatCoefficients, field: Field) -> FloatCoefficients:
    """One table a block of the field; of a pair, (position, momentum) for the (first, second) block.

    What has been made for such a field is returned as it is.
    Raises ValueError if a pair of methods meets a field that has not two blocks, and for floats that were made for
    another number of blocks, or for a field that is separable where this one is not, or is not where it is; TypeError
    for what is no method.
    """
    blocks, is_separable = len(field.blocks), isinstance(field, SeparableField)
    if isinstance(scheme, FloatCoefficients):
        if (len(scheme.A), scheme.is_separable) != (blocks, is_separable):
            raise ValueError(
                f'The floats of tableau "{scheme.name}" were made for {_kind(len(scheme.A), scheme.is_separable)}, but '
                f"{type(field).__name__} is {_kind(blocks, is_separable)}. Make them for this field: "
                "coefficients_for(method, field)."
            )
        return scheme
    floats: FloatCoefficients = _coefficients(scheme, blocks, is_separable)
    if len(floats.A) != blocks:
        raise ValueError(
            f'Tableau "{floats.name}" is a pair of methods, one for the positions and one for the momenta, but the '
            f"field {type(field).__name__} has the {'block' if blocks == 1 else 'blocks'} {', '.join(field.blocks)}. "
            "Choose one method for all, e.g. tableaus.GAUSS_2, or a field with two blocks."
        )
    return floats


def _kind(blocks: int, is_separable: bool) -> str:
    return f"a {'separable ' if is_separable else ''}field with {blocks} {'block' if blocks == 1 else 'blocks'}"


_KEPT: dict[tuple[int, int, bool], tuple[Scheme, FloatCoefficients]] = {}


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]  # exact numbers are not traced
def _coefficients(scheme: Scheme, blocks: int, is_separable: bool) -> FloatCoefficients:
    """The floats of this very object, kept; without hashing its exact coefficients, which takes longer than a step."""
    key = (id(scheme), blocks, is_separable)
    if key not in _KEPT:
        floats = _rounded(scheme, blocks, is_separable)
        if len(_KEPT) >= MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = (scheme, floats)  # the object is kept, so that its id is not used again
    return _KEPT[key][1]


def _rounded(scheme: Scheme, blocks: int, is_separable: bool) -> FloatCoefficients:
    method = resolve(scheme)
    if isinstance(method, PolynomialTableau | PolynomialPair):
        method = method.rounded()
    if not isinstance(method, ButcherTableau | PartitionedTableau):
        raise TypeError(
            f"{scheme!r} of type {type(scheme).__name__} cannot be stepped with. "
            'Give a tableau, a composition or a member of a family, e.g. tableaus.get("gauss 4").'
        )
    tables = (method,) * blocks if isinstance(method, ButcherTableau) else (method.position, method.momentum)
    A = tuple(tuple(tuple(map(nearest_float, entries)) for entries in table.A) for table in tables)
    b = tuple(tuple(map(nearest_float, table.b)) for table in tables)
    c = tuple(map(nearest_float, tables[0].c))
    groups = groups_of(A, is_separable)
    is_implicit = any(group.is_implicit for group in groups)
    modes = modes_of(tables[0].A) if is_implicit and isinstance(method, ButcherTableau) else None
    return FloatCoefficients(method.name, A, b, c, groups, all(each == A[0] for each in A), modes, is_separable)


def groups_of(A: tuple[FloatMatrix, ...], is_separable: bool) -> tuple[SlopeGroup, ...]:
    """The slopes in an order in which each group depends on itself and on earlier ones only.

    k_i of block β reads the stage values Y_i it is a function of (all blocks; of a separable field the other one), and
    Y_i of block γ reads the k_j with a_ij ≠ 0. The groups are the strongly connected components of that relation: one
    slope each for an explicit method, one stage each for a diagonally implicit one, one factor each for a composition
    of implicit methods, everything for a fully implicit method.
    """
    s, blocks = len(A[0]), len(A)
    nodes = [(block, i) for block in range(blocks) for i in range(s)]
    needs = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for row, (block, i) in enumerate(nodes):
        for other in [1 - block] if is_separable else range(blocks):
            needs[row, other * s : (other + 1) * s] = [a != 0 for a in A[other][i]]
    for through in range(len(nodes)):  # Warshall: the transitive closure
        needs |= np.outer(needs[:, through], needs[through])

    def rank(row: int) -> tuple[int, bool, int, int]:
        """What a slope needs is needed by all that need the slope: more needs come later, a circle before its heirs."""
        block, i = nodes[row]
        return int(needs[row].sum()), not needs[row, row], i, block

    groups: list[SlopeGroup] = []
    done: set[int] = set()
    for row in sorted(range(len(nodes)), key=rank):
        if row in done:
            continue
        circle = [other for other in range(len(nodes)) if needs[row, other] and needs[other, row]]
        members = circle or ([row] if is_separable else _same_stage(nodes, needs, row))
        done.update(members)
        own = tuple(nodes[member] for member in members)
        groups.append(SlopeGroup(own, tuple(sorted({i for _, i in own})), bool(circle)))
    return tuple(groups)


def _same_stage(nodes: list[Node], needs: np.ndarray, row: int) -> Iterable[int]:
    """The explicit slopes of one stage that come from one evaluation of f, all blocks of which need the same."""
    return [
        other
        for other, (_, i) in enumerate(nodes)
        if i == nodes[row][1] and not needs[other, other] and np.array_equal(needs[other], needs[row])
    ]
