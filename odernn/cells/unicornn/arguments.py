"""The hyperparameters and arguments that only UnICORNN has, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from torch import Tensor

from odernn.cells.common import arguments
from odernn.cells.common.sequences import Sequences
from odernn.executions.recurrence import Backward, checked_backward

Index: TypeAlias = Literal["icml", "sam"]
Scheme: TypeAlias = Literal["exact", "sam7"]

INITIAL_C = (-0.1, 0.1)
"""Between what c is drawn, in both versions of the paper."""


def check_dt(values: Sequence[float]) -> None:
    """Nothing, or an error about the first layer whose dt is not in (0, 1)."""
    for layer, value in enumerate(values, 1):
        if not 0.0 < value < 1.0:
            raise ValueError(f"dt of layer {layer} is {value}, but the network is defined for 0 < dt < 1.")


def check_alpha(values: Sequence[float]) -> None:
    """Nothing, or an error about the first layer whose α is negative or not finite."""
    for layer, value in enumerate(arguments.per_layer("alpha", values, len(values)), 1):
        if value < 0.0:
            raise ValueError(f"alpha of layer {layer} is {value}, but the restoring force needs alpha ≥ 0.")


def checked_initial_c(given: Sequence[float]) -> tuple[float, float]:
    """(low, high), or an error unless low ≤ high are two finite numbers."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence) or len(given) != 2:
        raise ValueError(f"initial_c is {given!r}, but c is drawn from U(low, high): give the two numbers.")
    low, high = (arguments.number(f"initial_c[{index}]", entry) for index, entry in enumerate(given))
    if not -math.inf < low <= high < math.inf:
        raise ValueError(f"initial_c is {given!r}, but U(low, high) needs finite numbers low ≤ high.")
    return low, high


def checked_skip(residual_skip: int | None) -> int | None:
    """S if it is None or an integer ≥ 2."""
    if residual_skip is None:
        return None
    arguments.positive_integer("residual_skip", residual_skip)
    if residual_skip < 2:
        raise ValueError(
            f"residual_skip is {residual_skip}, but an edge from layer l−S−1 to layer l needs S ≥ 2. "
            "Give None for a stack without residual edges."
        )
    return residual_skip


def checked_index(index: Index, *, bidirectional: bool) -> Index:
    """``index`` if it names a convention, and one that has a reverse direction if there is to be one."""
    if index not in ("icml", "sam"):
        raise ValueError(
            f'index is {index!r}, but the conventions are "icml" (x_n sees the layer below at n) and "sam" (at n−1).'
        )
    if bidirectional and index == "sam":
        raise ValueError(
            'bidirectional is True with index="sam", in which step n sees the row before it: the first step of the '
            'reverse direction would see a row after the last, u_{N+1}, and there is none. Use index="icml".'
        )
    return index


def checked_mode(backward: str, execution: str) -> Backward:
    """``backward`` if it names a mode. Whether an execution offers it, the execution says when it is called."""
    return checked_backward(backward, execution, get_args(Backward))


def checked_scheme(scheme: Scheme, index: Index) -> Scheme:
    """``scheme`` if it names an inverse of this index convention."""
    if scheme not in ("exact", "sam7"):
        raise ValueError(f'scheme is {scheme!r}. Choose from: "exact" and, with index="sam", "sam7".')
    if scheme == "sam7" and index != "sam":
        raise ValueError(
            f'scheme is "sam7", the map printed for index="sam", but index is {index!r}, where the same map is exact. '
            'Use scheme="exact".'
        )
    return scheme


def checked_previous(previous_input: Tensor | None, sequences: Sequences, index: Index, like: Tensor) -> Tensor:
    """u_0 as (batch, input), zero if it is not given; only "sam" has one."""
    if previous_input is None:
        return sequences.u.new_zeros(sequences.u.shape[1:])
    if index == "icml":
        raise ValueError(
            'previous_input is given, but with index="icml" no layer sees u_0. Leave it out or use index="sam".'
        )
    return sequences.row_before(previous_input, like)
