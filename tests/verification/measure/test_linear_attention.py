"""thm-QUNN: the closed form against the cell in torch, its pins, and exact arithmetic throughout."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from odernn import QUNN
from verification.measure.linear_attention import attention_weights, linear_outputs


@pytest.mark.parametrize(("length", "depth", "d"), [(4, 4, 2), (5, 2, 3), (3, 6, 1)])
def test_a_linear_qunn_computes_it(length, depth, d):
    generator = torch.Generator().manual_seed(length)
    cell = QUNN(d, block_length=length, depth=depth, activation="identity", dtype=torch.float64)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    x = torch.randn(2 * length, 1, d, generator=generator, dtype=torch.float64)
    layer = cell.layers[0]
    alpha, beta = layer.alpha.tolist(), layer.beta.tolist()
    found = cell(x)[0][:, 0].detach()
    for start in (0, length):
        wanted = torch.tensor(linear_outputs(x[start : start + length, 0].tolist(), alpha, beta), dtype=torch.float64)
        torch.testing.assert_close(found[start : start + length], wanted, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(
        cell.attention_weights()[0], torch.tensor(attention_weights(alpha, beta)[: layer.reach], dtype=torch.float64)
    )


@pytest.mark.parametrize("period", [1, 2, 3])
def test_one_layer_predicts_a_periodic_orthonormal_sequence(period):
    """α = 1, only β_p = 1: o_l = x_{l+1} for k ≥ p."""
    length = 8
    basis = [[Fraction(i == j % period) for i in range(period)] for j in range(length + 1)]
    beta = [Fraction(i == period) for i in range(1, period + 2)]
    outputs = linear_outputs(basis[:length], [Fraction(1)] * len(beta), beta)
    assert all(outputs[k] == basis[k + 1] for k in range(period, length))
    assert all(not any(outputs[k]) for k in range(period))


def test_an_alpha_of_zero_is_a_number_like_others():
    assert attention_weights([0, 2, 3], [5, 7, 11]) == [30, 0, 0]


def test_layers_need_two_numbers_each():
    with pytest.raises(ValueError, match="two numbers a layer"):
        attention_weights([1], [1, 2])
