"""Fused recurrences of layers: one contract, one walk through time and one back, for all cells but UnICORNN.

A step is a few products of the state with matrices that are the same for all times, and arithmetic on every unit by
itself. A recurrence is therefore a *form* (``form.py``: how many planes of numbers, which products of which) and its
*passes*, the arithmetic and its derivative (``passes/``, one file each, with the equation at its top). What is done
with them is written once:

    forwards    a = M v;   planes of step n = pass(a, x_n, planes of step n − 1)           a stage; there may be two
    backwards   g = dE/da and the costates = pass(planes, costates);   costates + Mᵀ g     the stages last to first
    over time   dE/dM = Σ_n g_n v_nᵀ, and from dE/dx those by u, V and b of x = V u + b    a product a piece of time

``operator.py`` makes two operators of torch of it, ``walk.py`` goes through time piece by piece, and the kernels are in
``cpu.kernels``: ``walk.py`` takes eight samples at a time through all steps of a piece in one compiled call (numba, the
extra ``fast``), ``product.py`` is its product, with matrices that are packed once a call. Samples do not see each
other, so that threads share them. x, and dE/da, exist a piece at a time.

Layout as in ``executions.recurrence``: u (time, batch, below), states (batch, hidden), row n−1 is step n. float32 and
float64. Differentiable once and in reverse mode; the loops of the cells differentiate twice and in both modes. Where
autocast is on, x comes from the cell, in the digits that autocast gives it; the recurrence has all digits.

A field of the form L y + U φ(W y + P x) (``fields.Field.dense_form``) fits: [L; W] is the matrix of ``semilinear``, and
a U that is not the identity would be a stage of its own. The cells here have the identity, so nothing has such a stage.

On a CUDA device ``orthogonal`` is one launch with W on the chip, up to so many units (``cuda.odernn_kernels``); the
others have no kernel there.
"""

from __future__ import annotations

from odernn.executions.dense.form import DenseStage, Form
from odernn.executions.dense.layers import FusedLayer, FusedNetwork, Name, NameOnCPU
from odernn.executions.dense.rows import (
    DenseRecurrence,
    at_hand,
    check_device,
    orthogonal,
    orthogonal_recurrence,
    rows,
    unavailable_because,
)

__all__ = [
    "DenseRecurrence",
    "DenseStage",
    "Form",
    "FusedLayer",
    "FusedNetwork",
    "Name",
    "NameOnCPU",
    "at_hand",
    "check_device",
    "orthogonal",
    "orthogonal_recurrence",
    "rows",
    "unavailable_because",
]
