"""In which norm inputs are moved, and its dual: the largest ⟨row, δu⟩ over ‖δu‖ ≤ 1."""

from __future__ import annotations

from enum import Enum

from torch import Tensor


class Norm(Enum):
    """SEQUENCE  ‖δu‖² = Σ_n ‖δu_n‖₂², all steps together;  STEP  max_n ‖δu_n‖₂, each step on its own."""

    SEQUENCE = "sequence"
    STEP = "step"

    def dual(self, rows: Tensor, size: int) -> Tensor:
        """Of rows (…, n · size), float64, rounded up: (Σ_n ‖row_n‖²)^{1/2}, or Σ_n ‖row_n‖."""
        room = 1 + (rows.shape[-1] + 8) * 2.0**-51
        if self is Norm.SEQUENCE:
            found: Tensor = rows.norm(dim=-1)
        else:
            found = rows.unflatten(-1, (-1, size)).norm(dim=-1).sum(dim=-1)
        return found * room
