"""Re-signing a scaled Cayley weight during training: other signs, smaller entries of A, the same W.

With D fixed, training moves W = C(A) D towards matrices for which A is unbounded. ``re_sign`` then exchanges pairs of
signs (``orthogonal.cayley.flips``): W does not move, max |a_ij| comes down to tau, and what the optimizer remembers
is carried to the new coordinates A'. Let S be the set of all indices whose sign has changed, R the others. The
exchange takes x, y = Ax to x' = Tx, y' = A'x' with x'_S = −y_S, x'_R = x_R, and with it

    dA = Tᵀ dA' T      T = I with the rows of S replaced by those of −A, the *old* A

(proof: differentiate (I + A') T = F (I + A), F = diag(−1 on S, 1 on R); that gives dA' T = T⁻ᵀ dA, because the
exchange is its own inverse, so that T⁻¹ is I with the rows of S replaced by those of −A').
For the free entries i < j that is a Jacobian J = ∂A/∂A', and with the skew matrix M of m and the symmetric one V of v

    gradients, first moments   m' = Jᵀ m          M' = T M Tᵀ
    second moments             v' = (J ∘ J)ᵀ v    v'_ab = Σ_{p<q} (T_ap T_bq − T_bp T_aq)² v_pq

the variance of Jᵀ g when the entries of g are uncorrelated. For one pair this is O(n²). J is that of the whole
change: applying the second line pair after pair would forget the correlations in between, and after a hundred pairs
v overflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from odernn.executions.recurrence import UNIT_ROUNDOFF
from odernn.orthogonal.cayley import ScaledCayley, free_entries, skew
from odernn.orthogonal.signs import checked_tau, flips, in_float64

Moments = Literal["transform", "reset"]

FIRST_MOMENTS = ("exp_avg", "momentum_buffer", "grad_avg")
"""State of SGD, Adam, AdamW, RMSprop with the units of the gradient (RMSprop's momentum apart, see ``re_sign``)."""

SECOND_MOMENTS = ("exp_avg_sq", "square_avg", "max_exp_avg_sq")
"""State of Adam, AdamW, RMSprop with the units of the squared gradient."""


def re_sign(
    cayley: ScaledCayley,
    free: nn.Parameter,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    moments: Moments = "transform",
    tau: float | None = None,
) -> int:
    """If max |a_ij| > ``tau``, exchange pairs of signs until it is not; the number of exchanges.

    cayley     the parametrisation, ``module.parametrizations.weight[0]``; its signs change
    free       its parameter, ``module.parametrizations.weight.original``; its values change, and ``free.grad`` if
               there is one becomes the gradient in the new coordinates
    optimizer  SGD, RMSprop, Adam, AdamW, or another whose state has the same names; its state of ``free`` changes
    moments    "transform" as in the head of this module, or "reset" to zero; ``step`` counters stay, so after a reset
               Adam's first updates are up to (1 − β₁)/√(1 − β₂) times the learning rate
    tau        bound on |a_ij|, that of ``cayley`` if not given

    Centred RMSprop divides by √(v − m²): there v − m² is transformed as the second moment, and v' = (v − m²)' + m'².
    The momentum of RMSprop sums gradients divided by s = √v + eps: it is transformed as (Jᵀ(s b))/s'.

    "transform" is exact at one point, but moments are sums over the path. Where SGD with momentum jumps over the bound,
    m' = a_jk² m is too large, jumps again and can run away (it ends in the error below); v' gathers many v, which slows
    Adam after many exchanges. "reset" has neither effect. An exchanged entry lands at 1/tau: with tau = 1.1 it has
    room, with the default it may go back and forth.

    W is unchanged up to u κ(I + A) of the dtype of ``free``. Call it between steps, outside forward and backward. When
    it raises, nothing was changed: ValueError for a shape, a tau below 1, an entry that is not finite, an optimizer
    that does not hold ``free``, state that it cannot carry over; RuntimeError as ``flips``.
    """
    if moments not in ("transform", "reset"):
        raise ValueError(f'moments is {moments!r}. Give "transform" or "reset".')
    limit = cayley.tau if tau is None else checked_tau(tau)
    A = skew(free.detach(), cayley.n)
    state = _moments_of(free, optimizer, moments)
    largest = float(A.abs().max())
    if largest <= limit:
        return 0
    if not largest < float("inf"):
        raise ValueError(
            f"free is not finite: max|a_ij| is {largest}. An earlier step diverged; go back to a checkpoint from "
            "before it and lower the learning rate."
        )
    last, count = None, 0
    for flip in flips(A, cayley.signs, limit):
        last, count = flip, count + 1
    if last is None:
        return 0
    S = torch.nonzero(last.signs != cayley.signs.cpu()).flatten()
    A = in_float64(A)
    changes = [(free, free_entries(last.A).to(free)), (cayley.signs, last.signs.to(cayley.signs))]
    if free.grad is not None:
        gradient = pull_back_first(skew(in_float64(free.grad), cayley.n), A, S)
        changes.append((free.grad, free_entries(gradient).to(free.grad)))
    for name, value in (state.zeroed() if moments == "reset" else state.carried(A, S)).items():
        old = state.tensors[name]
        new = value.to(old)
        if not bool(torch.isfinite(new).all()):
            raise ValueError(
                f"{name} of the optimizer would not be finite in {old.dtype} after the change of signs "
                f'(max|a_ij| was {largest:.3g}). Use moments="reset", or re-sign more often.'
            )
        changes.append((old, new))
    with torch.no_grad():
        for old, new in changes:
            old.copy_(new)
    return count


@dataclass(frozen=True)
class _OptimizerMoments:
    """The tensors that an optimizer keeps for one parameter, in its shape, by their names; ``eps`` of its group."""

    tensors: Mapping[str, Tensor]
    eps: float

    @property
    def is_centred(self) -> bool:
        """RMSprop(centered=True): √(v − m²) is what it divides by."""
        return "square_avg" in self.tensors and "grad_avg" in self.tensors

    @property
    def momentum_is_divided(self) -> bool:
        """RMSprop with momentum: the buffer sums g/s, not g."""
        return "square_avg" in self.tensors and "momentum_buffer" in self.tensors

    def zeroed(self) -> dict[str, Tensor]:
        return {name: torch.zeros_like(old) for name, old in self.tensors.items()}

    def carried(self, A: Tensor, S: Tensor) -> dict[str, Tensor]:
        """Every tensor in the coordinates after the exchange of S, in float64 on the CPU; A is the one before."""
        n = len(A)
        first = {name: in_float64(m) for name, m in self.tensors.items() if name in FIRST_MOMENTS}
        second = {name: in_float64(v) for name, v in self.tensors.items() if name in SECOND_MOMENTS}
        if self.is_centred:
            second["square_avg"] = (second["square_avg"] - first["grad_avg"] ** 2).clamp(min=0)
        if self.momentum_is_divided:
            first["momentum_buffer"] = first["momentum_buffer"] * (second["square_avg"].sqrt() + self.eps)

        first = {name: free_entries(pull_back_first(skew(m, n), A, S)) for name, m in first.items()}
        second = {
            name: free_entries(pull_back_second((upper := skew(v, n).triu()) + upper.T, A, S))
            for name, v in second.items()
        }
        if self.momentum_is_divided:
            first["momentum_buffer"] = first["momentum_buffer"] / (second["square_avg"].sqrt() + self.eps)
        if self.is_centred:
            # The optimizer subtracts again in its own dtype, whose rounding must not leave √ of a negative number.
            dtype = self.tensors["square_avg"].dtype
            mean = in_float64(first["grad_avg"].to(dtype))
            second["square_avg"] = (second["square_avg"] + mean**2) * (1 + 4 * UNIT_ROUNDOFF[dtype])
        return first | second


def _moments_of(free: nn.Parameter, optimizer: torch.optim.Optimizer | None, moments: Moments) -> _OptimizerMoments:
    """What must change with ``free``, or ValueError for an optimizer or a state that cannot be carried over."""
    if optimizer is None:
        return _OptimizerMoments({}, 0.0)
    group = next((group for group in optimizer.param_groups if any(p is free for p in group["params"])), None)
    if group is None:
        raise ValueError(
            f"The {type(optimizer).__name__} does not hold free (shape {tuple(free.shape)}). Give the optimizer that "
            "updates it, made after register_parametrization from module.parameters()."
        )
    tensors: dict[str, Tensor] = {}
    for name, value in optimizer.state.get(free, {}).items():
        if _is_scalar(value):
            continue
        if not isinstance(value, Tensor) or value.shape != free.shape:
            kind = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"type {type(value).__name__}"
            raise ValueError(
                f"{type(optimizer).__name__} keeps {name!r} of {kind} for free, which is not one number an entry and "
                "cannot be carried to new signs. Use SGD, RMSprop, Adam or AdamW."
            )
        if moments == "transform" and name not in FIRST_MOMENTS + SECOND_MOMENTS:
            raise ValueError(
                f"{type(optimizer).__name__} keeps {name!r} for free, and how it changes with the signs is not known "
                f'(known: {", ".join(FIRST_MOMENTS + SECOND_MOMENTS)}). Use moments="reset", or SGD, RMSprop, Adam '
                "or AdamW."
            )
        tensors[name] = value
    return _OptimizerMoments(tensors, float(group.get("eps", 0.0)))


def _is_scalar(value: Any) -> bool:
    """Counters and the like, and what an optimizer has not made yet: nothing that belongs to an entry of A."""
    return value is None or isinstance(value, (bool, int, float)) or (isinstance(value, Tensor) and value.dim() == 0)


def pull_back_first(M: Tensor, A: Tensor, S: Tensor) -> Tensor:
    """M' = T M Tᵀ for the exchange of the signs S; M (n, n) skew-symmetric, A the matrix before. O(n² |S|)

    m'_RR = m_RR    m'_SR = −(A M)_SR    m'_SS = −(A M A)_SS
    """
    rows = A[S] @ M
    new = M.clone()
    new[S], new[:, S] = -rows, rows.T
    corner = rows @ A[S].T
    new[S[:, None], S] = (corner - corner.T) / 2
    return new


def pull_back_second(V: Tensor, A: Tensor, S: Tensor) -> Tensor:
    """v' = (J ∘ J)ᵀ v for the exchange of the signs S; V (n, n) symmetric with zero diagonal, A before. O(n² |S|²)

    With Q = A ∘ A and the row a_i of A,

        v'_RR = v_RR    v'_SR = (Q V)_SR    v'_ij = (Q V Q)_ij − (a_i ∘ a_j)ᵀ V (a_i ∘ a_j)    for i, j in S
    """
    A_S = A[S]
    rows = A_S**2 @ V
    new = V.clone()
    new[S], new[:, S] = rows, rows.T
    corner = rows @ (A_S**2).T
    for i, row in enumerate(A_S):
        mixed = row * A_S
        corner[i] -= ((mixed @ V) * mixed).sum(1)
    corner = (corner + corner.T) / 2
    corner.clamp_(min=0).fill_diagonal_(0)  # a sum of squares: below 0 by rounding only
    new[S[:, None], S] = corner
    return new
