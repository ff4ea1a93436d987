"""‖W*W − I‖_F of recurrent matrices along training by gradients, for several ways to keep W orthogonal.

    scaled Cayley       W = C(A) D made anew from A in every step              Helfrich, Willmott, Ye 2018 (scoRNN)
    multiplicative      W ← (I + λ/2 B)⁻¹(I − λ/2 B) W, real or complex        Wisdom et al. 2016 (full-capacity uRNN)
    restricted          D_3 R_2 F⁻¹ D_2 Π R_1 F D_1 from its 7n numbers        Arjovsky et al. 2016 (uRNN)
    exponential         exp(A) from A                                          Lezcano-Casado, Martínez-Rubio 2019
    torch …             torch.nn.utils.parametrizations.orthogonal, its maps "cayley", "matrix_exp", "householder"

Every step moves along −∂L/∂W for the linear loss L = Re tr(G*W), G a fresh normal matrix: what a stochastic gradient is
to rounding, without a task. The score is formed in more digits than W has (``orthogonal.unitary.unitarity_score``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal

from odernn.orthogonal.cayley import block_angles, free_entries, scaled_cayley, signs_of, skew
from odernn.orthogonal.restricted_unitary import restricted_unitary
from odernn.orthogonal.unitary import expm_skew, multiplicative_cayley_update, unitarity_score
from verification.measure import scaling
from verification.measure.scaling import Slope

REMADE = ("scaled Cayley", "restricted", "exponential", "torch cayley", "torch matrix_exp", "torch householder")
"""W is a function of free numbers, made anew in every step."""
MULTIPLIED = ("multiplicative", "multiplicative, complex")
"""W itself is multiplied by an orthogonal matrix in every step."""
STEP_SIZE = 0.1


@dataclass(frozen=True)
class Drift:
    """Scores after ``updates`` steps, powers of two apart and the last one; of float32 or float64.

    condition   the largest κ₂(I + A) met, for the scaled Cayley map; nan for others
    """

    method: str
    updates: tuple[int, ...]
    scores: tuple[float, ...]
    condition: float

    @property
    def slope(self) -> Slope:
        """The exponent of the score in the number of updates."""
        return scaling.fit(self.updates, self.scores)

    @property
    def growth(self) -> float:
        """Last score over first."""
        return self.scores[-1] / self.scores[0]


def checkpoints(updates: int) -> tuple[int, ...]:
    """16, 32, 64, … and the last."""
    powers = [2**k for k in range(4, 40) if 2**k < updates]
    return (*powers, updates)


def drift(method: str, dtype: torch.dtype, *, n: int, updates: int, seed: int) -> Drift:
    """Scores of W along ``updates`` steps.   (n, n), dtype float32 or float64 (or the complex type of its precision)

    Raises ValueError for an unknown method.
    """
    kept, scores, condition = checkpoints(updates), [], math.nan
    for count, (W, A) in zip(range(1, updates + 1), _path(method, dtype, n, seed), strict=False):
        if count in kept:
            scores.append(unitarity_score(W))
            if A is not None:
                condition_of_A = _condition(A)
                condition = condition_of_A if math.isnan(condition) else max(condition, condition_of_A)
    return Drift(method, kept, tuple(scores), condition)


def _condition(A: Tensor) -> float:
    singular = torch.linalg.svdvals(torch.eye(len(A), dtype=torch.float64) + A.to(torch.float64))
    return float(singular[0] / singular[-1])


def _gradients(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    while True:
        yield (torch.randn(shape, generator=generator, dtype=wide) / shape[-1]).to(dtype)


def _path(method: str, dtype: torch.dtype, n: int, seed: int) -> Iterator[tuple[Tensor, Tensor | None]]:
    """W after each update, and A where there is one that κ(I + A) is about."""
    generator = torch.Generator().manual_seed(seed + 1)
    start = free_entries(block_angles(n, generator=generator, dtype=torch.float64))
    signs = signs_of(n, n // 2 // 2 * 2)
    if method in MULTIPLIED:
        field = dtype if method == "multiplicative" else _complex_of(dtype)
        W = scaled_cayley(skew(start, n), signs).to(field)
        for G in _gradients((n, n), field, seed):
            W = multiplicative_cayley_update(W, G, STEP_SIZE)
            yield W, None
    elif method.startswith("torch "):
        yield from _torch_path(method.removeprefix("torch "), dtype, scaled_cayley(skew(start, n), signs), seed)
    elif method == "restricted":
        yield from _restricted_path(dtype, n, generator, seed)
    elif method in ("scaled Cayley", "exponential"):
        free = start.to(dtype).requires_grad_()

        def matrix() -> Tensor:
            A = skew(free, n)
            return scaled_cayley(A, signs) if method == "scaled Cayley" else expm_skew(A)

        for W in _descent([free], matrix, dtype, seed):
            yield W, skew(free.detach(), n) if method == "scaled Cayley" else None
    else:
        raise ValueError(f"method is {method!r}. Choose from: {', '.join((*REMADE, *MULTIPLIED))}.")


def _complex_of(dtype: torch.dtype) -> torch.dtype:
    return torch.complex64 if dtype == torch.float32 else torch.complex128


def _descent(parameters: list[Tensor], matrix: Callable[[], Tensor], dtype: torch.dtype, seed: int) -> Iterator[Tensor]:
    """W before each step of gradient descent on its parameters; the next one is made from what they have become."""
    W = matrix()
    for G in _gradients(tuple(W.shape), dtype, seed):
        yield W.detach()
        loss = (W * G.conj()).real.sum() if W.is_complex() else (W * G).sum()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= STEP_SIZE * gradient
        W = matrix()


def _restricted_path(
    dtype: torch.dtype, n: int, generator: torch.Generator, seed: int
) -> Iterator[tuple[Tensor, Tensor | None]]:
    angles = ((2 * torch.rand(3, n, generator=generator, dtype=torch.float64) - 1) * math.pi).to(dtype)
    reflectors = torch.randn(2, 2, n, generator=generator, dtype=torch.float64).to(dtype)
    permutation = torch.randperm(n, generator=generator)
    angles, reflectors = angles.requires_grad_(), reflectors.requires_grad_()

    def matrix() -> Tensor:
        return restricted_unitary(angles, reflectors, permutation)

    for W in _descent([angles, reflectors], matrix, _complex_of(dtype), seed):
        yield W, None


def _torch_path(name: str, dtype: torch.dtype, W: Tensor, seed: int) -> Iterator[tuple[Tensor, Tensor | None]]:
    layer = nn.Linear(len(W), len(W), bias=False, dtype=dtype)
    with torch.no_grad():
        layer.weight.copy_(W.to(dtype))
    orthogonal(layer, orthogonal_map=name)
    for weight in _descent(list(layer.parameters()), lambda: layer.weight, dtype, seed):
        yield weight, None
