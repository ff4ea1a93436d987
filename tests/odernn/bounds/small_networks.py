"""What the tests of ``certify`` share: small networks with drawn weights, all choices of slopes, a norm."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

F64 = torch.float64


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def bent(network: Any, seed: int = 0, size: float = 1.0) -> Any:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(size * torch.randn(parameter.shape, generator=drawn(seed), dtype=F64))
    return network


def vertices(n: int, lowest: float = 0.0) -> Iterator[Tensor]:
    """All diagonal matrices with entries 1 or ``lowest``."""
    for slopes in itertools.product((lowest, 1.0), repeat=n):
        yield torch.diag(torch.tensor(slopes, dtype=F64))


def norm(matrix: Tensor) -> float:
    return float(torch.linalg.matrix_norm(matrix, 2))
