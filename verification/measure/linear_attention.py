"""What a QUNN computes when σ is the identity: linear attention over the inputs of a block, in any exact arithmetic.

Niu, Chuang, Horesh 2019 (QUNN), (32)–(36), as reconstructed; proof in docs/derivations/qunn.md. In torch, and for
several QUNNs on top of each other, ``odernn.QUNN`` and its ``attention_weights``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["attention_weights", "linear_outputs"]


def attention_weights(alpha: Sequence[Any], beta: Sequence[Any]) -> list[Any]:
    """w_i = β_i Π_{j≠i} α_j, i = 1 … N. Raises ValueError if there are not as many α as β."""
    if len(alpha) != len(beta):
        raise ValueError(f"alpha has {len(alpha)} layers and beta {len(beta)}. Give two numbers a layer.")
    weights = []
    for i, weight in enumerate(beta):
        for j, factor in enumerate(alpha):
            if j != i:
                weight = weight * factor
        weights.append(weight)
    return weights


def linear_outputs(block: Sequence[Sequence[Any]], alpha: Sequence[Any], beta: Sequence[Any]) -> list[list[Any]]:
    """o_k = Σ_{i=1}^{min(k,N)} w_i ⟨x_{k−i}, x_k⟩ x_{k−i+1}, k = 0 … (length of the block) − 1.   thm-QUNN

    ``block`` holds the inputs x_0, x_1, … ∈ R^d of one block, at most T of them; keys x_{k−i}, values x_{k−i+1}. The
    scalars are of any one kind with + and ×. No division: α_i = 0 is a number like others.
    """
    weights = attention_weights(alpha, beta)
    outputs = []
    for k, x in enumerate(block):
        total = [0 * entry for entry in x]
        for i in range(1, min(k, len(weights)) + 1):
            key, value = block[k - i], block[k - i + 1]
            likeness = 0 * x[0]
            for a, b in zip(key, x, strict=True):
                likeness = likeness + a * b
            total = [t + weights[i - 1] * likeness * entry for t, entry in zip(total, value, strict=True)]
        outputs.append(total)
    return outputs
