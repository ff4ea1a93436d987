"""The coefficients of one layer as buffers or parameters, in the three ways in which they are written.

    "scalar"    A_ij = a_ij I,  B_i = b_i I         A (s × s), B (s): one number each
    "weighted"  A_ij = a_ij P,  B_i = b_i P         and P = L Lᵀ > 0 by its factor L (D × D), lower triangular
    "matrix"    any, also gated                     A_i_j, B_i, and of gates A_i_j_gate, A_i_j_gate_y, A_i_j_gate_k_q

Constant ones are float64 buffers, which keep their digits and their range; learned ones are parameters in the dtype of
the layer. Which coefficients there are is fixed by the tableau; a table of numbers is zero elsewhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from odernn.cells.common.exact_buffers import Check, ExactBuffers
from odernn.cells.odernn.parts import Coefficient, Gate
from odernn.cells.odernn.tableau import MatrixTableau


@dataclass(frozen=True)
class OnPattern:
    """Finite numbers, zero where the tableau has none: another pattern is another method, perhaps an implicit one."""

    name: str
    pattern: tuple[bool, ...]

    def __call__(self, values: Sequence[float]) -> None:
        check_finite(values, self.name)
        for place, (value, is_there) in enumerate(zip(values, self.pattern, strict=True)):
            if value != 0 and not is_there:
                raise ValueError(
                    f"{self.name}: entry {place} of the table, row by row, is {value}, but the tableau of this cell "
                    "has a zero there. Build the cell with the tableau that these coefficients belong to."
                )


@dataclass(frozen=True)
class Finite:
    """Finite numbers."""

    name: str

    def __call__(self, values: Sequence[float]) -> None:
        check_finite(values, self.name)


@dataclass(frozen=True)
class CholeskyFactor:
    """A lower triangular D × D matrix with a positive diagonal, row by row."""

    size: int

    def __call__(self, values: Sequence[float]) -> None:
        check_finite(values, "L")
        rows = torch.tensor(values, dtype=torch.float64).reshape(self.size, self.size)
        if not (torch.equal(rows, rows.tril()) and bool((rows.diagonal() > 0).all())):
            raise ValueError("L is not lower triangular with positive diagonal. Give the Cholesky factor of P = L Lᵀ.")


def register_exact_tensor(
    module: ExactBuffers, name: str, value: Tensor, check: Check, *, device: torch.device | str | None
) -> None:
    """``register_exact`` for a value of any shape; ``check`` is given its entries row by row."""
    module.register_exact(name, value.flatten().tolist(), check, device=device)
    module.register_buffer(name, module.get_buffer(name).reshape(value.shape))


def check_finite(values: Sequence[float], name: str) -> None:
    """Nothing, or an error about the first value that is not finite."""
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{name} holds {value}. Give finite coefficients.")


class LayerCoefficients(ExactBuffers, ABC):
    """The coefficients of a layer with the stages and the pattern of ``structure``."""

    def __init__(self, structure: MatrixTableau, *, learned: bool, **factory: Any) -> None:
        super().__init__()
        self.structure, self.learned, self._factory = structure, learned, factory

    def hold(self, name: str, value: Tensor, check: Check) -> None:
        """``value`` under ``name``: a parameter if learned, else an exact buffer."""
        if self.learned:
            dtype = self._factory["dtype"] or torch.get_default_dtype()
            self.register_parameter(name, nn.Parameter(value.to(device=self._factory["device"], dtype=dtype)))
        else:
            register_exact_tensor(self, name, value, check, device=self._factory["device"])

    def held(self, name: str) -> Tensor:
        """What ``hold`` keeps."""
        value: Tensor = getattr(self, name)
        return value

    @abstractmethod
    def values(self) -> dict[str, Tensor]:
        """The matrices A_i_j and B_i and their gates by name, in the dtype in which they are kept; see ``names``."""

    def tableau(self) -> MatrixTableau:
        """The structure with the coefficients as they are now, in float64 and without gradients."""
        values = self.values()
        A = {(i, j): self._now(c, f"A_{i}_{j}", values) for (i, j), c in self.structure.A.items()}
        B = {i: self._now(c, f"B_{i}", values) for i, c in self.structure.B.items()}
        return replace(self.structure, A=A, B=B)

    def _now(self, coefficient: Coefficient, name: str, values: Mapping[str, Tensor]) -> Coefficient:
        gate = coefficient.gate
        if gate is None:
            return Coefficient(values[name])
        stages = {q: values[f"{name}_gate_k_{q}"] for q in gate.stages}
        return Coefficient(values[name], Gate(values.get(f"{name}_gate"), values.get(f"{name}_gate_y"), stages))


class ScalarCoefficients(LayerCoefficients):
    """a_ij and b_i as one table A and one row B, alone or times P = L Lᵀ."""

    def __init__(self, structure: MatrixTableau, P: Tensor | None, *, learned: bool, **factory: Any) -> None:
        super().__init__(structure, learned=learned, **factory)
        self.places = {i: place for place, i in enumerate(structure.stages)}
        s = len(self.places)
        A, B = torch.zeros(s, s, dtype=torch.float64), torch.zeros(s, dtype=torch.float64)
        for (i, j), coefficient in structure.A.items():
            A[self.places[i], self.places[j]] = coefficient.matrix
        for i, coefficient in structure.B.items():
            B[self.places[i]] = coefficient.matrix
        self.hold("A", A, OnPattern("A", tuple((A != 0).flatten().tolist())))
        self.hold("B", B, OnPattern("B", tuple((B != 0).tolist())))
        self.is_weighted = P is not None
        if P is not None:
            self.hold("L", torch.linalg.cholesky(P), CholeskyFactor(structure.size))

    def values(self) -> dict[str, Tensor]:
        A, B = self.held("A"), self.held("B")
        values = {f"A_{i}_{j}": A[self.places[i], self.places[j]] for i, j in self.structure.A}
        values |= {f"B_{i}": B[self.places[i]] for i in self.structure.B}
        if self.is_weighted:
            L = self.held("L").tril()
            P = L @ L.T
            values = {name: value * P for name, value in values.items()}
        return values


class MatrixCoefficients(LayerCoefficients):
    """Every coefficient in the form in which the structure has it."""

    def __init__(self, structure: MatrixTableau, *, learned: bool, **factory: Any) -> None:
        super().__init__(structure, learned=learned, **factory)
        self.names: list[str] = []
        for (i, j), coefficient in structure.A.items():
            self._hold_all(f"A_{i}_{j}", coefficient)
        for i, coefficient in structure.B.items():
            self._hold_all(f"B_{i}", coefficient)

    def _hold_all(self, name: str, coefficient: Coefficient) -> None:
        values = {name: coefficient.matrix}
        gate = coefficient.gate
        if gate is not None:
            if gate.constant is not None:
                values[f"{name}_gate"] = gate.constant
            if gate.y is not None:
                values[f"{name}_gate_y"] = gate.y
            values |= {f"{name}_gate_k_{q}": matrix for q, matrix in gate.stages.items()}
        for label, value in values.items():
            self.hold(label, value, Finite(label))
            self.names.append(label)

    def values(self) -> dict[str, Tensor]:
        return {name: self.held(name) for name in self.names}
