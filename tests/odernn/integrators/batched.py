"""Networks on every field with a dense form, and the same ones solved group by group, each sample on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch
from torch import Tensor

from odernn import fields, tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.integrators import one_step
from tests.odernn.integrators.stepping import F64, normal

HYPERPARAMETERS = {
    "antisymmetric": {"gamma": 0.3},
    "coupled_oscillator": {"gamma": 1.7, "epsilon": 0.6},
    "gated_antisymmetric": {"gamma": 0.3},
    "monotone": {"drive_size": 5},
    "oscillator": {"alpha": 1.3},
    "semilinear": {},
    "separable_hamiltonian": {"drive_size": 5, "kinetic_size": 3},
}
PAIR = "lobatto iiia-iiib, order 4"
METHODS = ("implicit midpoint", "gauss 2", "radau iia 3", "lobatto iiia 3", "kvaerno 3", PAIR)
"""One to three modes, a singular A, an A without a transformation, and two tables of which no A is made."""
CASES = [
    (field, method)
    for field in HYPERPARAMETERS
    for method in METHODS
    if method != PAIR or len(fields.get(field).blocks) == 2
]
U = normal(4, 7, 3, seed=2)  # (time, batch, input)


def network(field: str, method: str, h: float, *, hidden: int = 6, **options: object) -> IntegratorRNN:
    generator = torch.Generator().manual_seed(0)
    made = fields.get(field).random(hidden, **HYPERPARAMETERS[field], generator=generator, dtype=F64)
    given = {"learn_steps": True, "input_size": 3, "dtype": F64, "generator": generator} | options
    return IntegratorRNN(made, tableaus.get(method), h, **given)


@contextmanager
def group_by_group() -> Iterator[None]:
    """Steps are made as those of a field without a dense form are."""
    with mock.patch.object(one_step, "stage_system", lambda *_: None):
        yield


def everything(cell: IntegratorRNN, u: Tensor, *, from_zero: bool = False) -> list[Tensor]:
    """The rows, and the derivatives by inputs, by all weights and by the first state of a cubic of the rows."""
    u = u.clone().requires_grad_()
    blocks = len(cell.layers[0].state_names)
    size = 0.0 if from_zero else 1.0
    start = tuple((size * normal(1, u.shape[1], cell.hidden_size, seed=9 + i)).requires_grad_() for i in range(blocks))
    rows, _ = cell(u, start if blocks > 1 else start[0])
    leaves = [u, *start, *cell.parameters()]
    return [rows.detach(), *torch.autograd.grad((rows**3).sum(), leaves)]


def relative(found: list[Tensor], expected: list[Tensor]) -> float:
    return max(
        float((a - b).abs().max()) / max(float(b.abs().max()), 1e-30) for a, b in zip(found, expected, strict=True)
    )
