"""Linear systems whose matrix is factored once, for the solution and for all its derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from odernn.executions.autocast import without_autocast


def factored(M: Tensor) -> tuple[Tensor, Tensor]:
    """LU factors and pivots of M, without its history, for ``solve``.

    Where a pivot is 0 the CPU raises torch's LinAlgError; on a CUDA device X is then not finite, see ``unchecked``.
    """
    if M.is_cuda:
        return unchecked(M)
    LU, pivots = torch.linalg.lu_factor(M.detach())
    return LU, pivots


def unchecked(M: Tensor) -> tuple[Tensor, Tensor]:
    """The same without a look at the pivots: the host would have to wait for the device, and a CUDA graph cannot."""
    LU, pivots, _ = torch.linalg.lu_factor_ex(M.detach())
    return LU, pivots


def solve(M: Tensor, B: Tensor, LU: Tensor, pivots: Tensor, transposed: bool) -> Tensor:
    """X = M⁻¹ B, or M⁻ᵀ B if ``transposed``, from the LU factors of M as torch.linalg.lu_factor gives them.

    Not torch.linalg.solve: its double backward factors anew, and its backward inside torch.autocast multiplies in
    bfloat16. Here every derivative of any order, by M and by B, is a solve with the same factors and autocast off.
    """
    X: Tensor
    if torch.compiler.is_compiling():
        X = _TracedSolve.apply(M, B, LU, pivots, transposed)  # type: ignore[no-untyped-call]
    else:
        X = _Solve.apply(M, B, LU, pivots, transposed)  # type: ignore[no-untyped-call]
    return X


class _Solve(torch.autograd.Function):
    """In both modes of differentiation, and under torch.func."""

    generate_vmap_rule = True

    @staticmethod
    def forward(M: Tensor, B: Tensor, LU: Tensor, pivots: Tensor, transposed: bool) -> Tensor:
        X: Tensor = torch.linalg.lu_solve(LU, pivots, B, adjoint=transposed)
        return X

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        M, _, LU, pivots, ctx.transposed = inputs
        ctx.save_for_backward(M, LU, pivots, output)
        ctx.save_for_forward(M, LU, pivots, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        M, LU, pivots, X = ctx.saved_tensors
        dM, dB = _pulled_back(gradients[0], M, LU, pivots, X, ctx.transposed)
        return dM, dB, None, None, None

    @staticmethod
    def jvp(ctx: Any, dM: Tensor, dB: Tensor, *_: Any) -> Tensor:
        M, LU, pivots, X = ctx.saved_tensors
        with without_autocast(M):
            return solve(M, dB - (dM.mT if ctx.transposed else dM) @ X, LU, pivots, ctx.transposed)


class _TracedSolve(torch.autograd.Function):
    """The same without forward mode and in the older form of a Function, which is what torch.compile can trace."""

    @staticmethod
    def forward(ctx: Any, M: Tensor, B: Tensor, LU: Tensor, pivots: Tensor, transposed: bool) -> Tensor:
        X: Tensor = torch.linalg.lu_solve(LU, pivots, B, adjoint=transposed)
        ctx.transposed = transposed
        ctx.save_for_backward(M, LU, pivots, X)
        return X

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        M, LU, pivots, X = ctx.saved_tensors
        dM, dB = _pulled_back(gradients[0], M, LU, pivots, X, ctx.transposed)
        return dM, dB, None, None, None


def _pulled_back(
    gradient: Tensor, M: Tensor, LU: Tensor, pivots: Tensor, X: Tensor, transposed: bool
) -> tuple[Tensor, Tensor]:
    """The cotangents of M and B."""
    with without_autocast(M):
        dB = solve(M, gradient, LU, pivots, not transposed)
        return (-X @ dB.mT if transposed else -dB @ X.mT), dB
