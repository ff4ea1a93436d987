"""Biases of modReLU: free, or b = −|v| with v learned, where modReLU is soft thresholding and nonexpansive.

    modReLU(z; b)_i = z_i/|z_i| max(|z_i| + b_i, 0);   b ≤ 0:  |modReLU(z; b) − modReLU(z'; b)| ≤ |z − z'|   thm-Lip (a)

With an orthogonal W no input moves the network's states further apart than docs/derivations/nonexpansive.md says.
"""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from odernn.cells.common.learned_initial_states import LearnedInitialStates
from odernn.cells.recurrent import RecurrentLayer

START = 1e-4
"""v ~ U(−START, START) where b would begin at 0: at v = 0 no gradient passes."""


class ModReLULayer(RecurrentLayer, ABC):
    """b (n,), or with ``nonexpansive`` free_b (n,) in its place; without a bias None, and modReLU is the identity.

    A nonexpansive layer has no ``b``: ``biases`` has the one that it makes of ``free_b``.
    """

    nonexpansive: bool
    b: nn.Parameter | None
    free_b: nn.Parameter | None
    h0: nn.Parameter | None

    def make_biases(self, empty: Callable[[int], nn.Parameter], *, bias: bool, nonexpansive: bool) -> None:
        """The parameter without values, of ``hidden_size`` numbers."""
        self.nonexpansive = nonexpansive
        learned = empty(self.hidden_size) if bias else None
        self.free_b = learned if nonexpansive else None
        if not nonexpansive:
            self.b = learned

    def reset_biases(self, width: float, generator: torch.Generator | None) -> None:
        """b ~ U(−width, width), and with ``nonexpansive`` minus its modulus; see ``START`` for a width of 0."""
        if self.free_b is not None:
            width = width or START
            nn.init.uniform_(self.free_b, -width, width, generator=generator)
        elif not self.nonexpansive and self.b is not None:
            nn.init.uniform_(self.b, -width, width, generator=generator) if width else nn.init.zeros_(self.b)

    def biases(self) -> Tensor | None:
        """b (n,) with the weights as they are now, differentiable; None without."""
        if self.nonexpansive:
            return None if self.free_b is None else -self.free_b.abs()
        return self.b

    def free_biases(self) -> None:
        """Make b the parameter, with the value and in the place that ``free_b`` gave it, frozen if that was."""
        b = self.biases()
        for name, parameter in list(self.named_parameters(recurse=False)):
            delattr(self, name)
            if name == "free_b" and b is not None:
                name, parameter = "b", nn.Parameter(b.detach().clone(), requires_grad=parameter.requires_grad)
            self.register_parameter(name, parameter)
        self.nonexpansive, self.free_b = False, None
        if b is None:
            self.b = None

    @property
    def has_bias(self) -> bool:
        """Whether a threshold is learned; without, the activation is the identity."""
        return self.biases() is not None


class ModReLUNetwork(LearnedInitialStates, ABC):
    """A network of such layers."""

    def unlimited(self) -> Self:
        """The same map with a free b, a parameter with the values that ``nonexpansive`` made of ``free_b``.

        The network itself if its b is free already.
        """
        if not any(layer.nonexpansive for layer in self.layers):
            return self
        found = copy.deepcopy(self)
        for layer in found.layers:
            if layer.nonexpansive:
                layer.free_biases()
        return found
