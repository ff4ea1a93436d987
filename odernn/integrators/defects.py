"""How far a step is from symplectic, reversible or symmetric, measured at one state.

All take the step as a function of states, so that a method, a cell and a hand-written map are measured alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from odernn.fields.field import State

Flow: TypeAlias = Callable[[State], Sequence[Tensor]]
"""x₀ → x₁."""


def symplecticity_defect(flow: Flow, state: State) -> float:
    """max |JᵀΩJ − Ω| of the Jacobian J of the flow at the state (y, z), Ω = [[0, I], [−I, 0]].

    Each component of y, also of every sample, makes a canonical pair with the same component of z. J is taken by
    automatic differentiation. Hairer, Lubich, Wanner 2006, Definition VI.2.1. Raises ValueError unless there are two
    blocks of one shape.
    """
    y, z = _halves(state, "symplecticity")
    n = y.numel()

    def flat(x: Tensor) -> Tensor:
        new = flow((x[:n].reshape(y.shape), x[n:].reshape(z.shape)))
        return torch.cat([block.flatten() for block in new])

    J = torch.autograd.functional.jacobian(flat, torch.cat([y.flatten(), z.flatten()]).detach())
    identity = torch.eye(n, dtype=J.dtype, device=J.device)
    omega = torch.block_diag(identity, -identity).roll(n, 1)
    return float((J.T @ omega @ J - omega).abs().max())


def reversibility_defect(forward_flow: Flow, state: State) -> float:
    """max |ρ Φ ρ Φ(x) − x| with ρ(y, z) = (y, −z): how far a step, walked back with reversed momenta, misses its start.

    Hairer, Lubich, Wanner 2006, eq. (V.1.4): ρ ∘ Φ = Φ⁻¹ ∘ ρ. Raises ValueError unless there are two blocks.
    """
    _halves(state, "reversibility")
    return _distance(_reflected(forward_flow(_reflected(forward_flow(state)))), state)


def symmetry_defect(flow: Callable[[State, float], Sequence[Tensor]], state: State, step_size: float) -> float:
    """max |Φ_{−h}(Φ_h(x)) − x|, zero for symmetric methods. Hairer, Lubich, Wanner 2006, Definition II.3.1."""
    return _distance(flow(tuple(flow(state, step_size)), -step_size), state)


def _halves(state: State, what: str) -> State:
    if len(state) != 2 or state[0].shape != state[1].shape:
        raise ValueError(
            f"The state has blocks of the shapes {[tuple(block.shape) for block in state]}, but {what} is about "
            "positions y and momenta z of one shape. Give the state (y, z) of a field with two blocks."
        )
    return state


def _reflected(state: Sequence[Tensor]) -> State:
    y, z = state
    return y, -z


def _distance(tensors: Sequence[Tensor], wanted: Sequence[Tensor]) -> float:
    return max(float((a - b).detach().abs().max()) for a, b in zip(tensors, wanted, strict=True))
