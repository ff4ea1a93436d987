"""QUNN: layers made of the data themselves, products of consecutive inputs of a block, with two numbers a layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Rational
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.clocked import ClockedLayer, ClockedNetwork, Time, checked_integer
from odernn.cells.common import arguments
from odernn.cells.common.representation import differing
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, StepFunction
from odernn.certificate import Certificate
from odernn.executions.autocast import without_autocast

__all__ = ["CELL", "QUNN", "QUNNLayer"]

Sigma: TypeAlias = Literal["tanh", "identity"]


def _identity(x: Tensor) -> Tensor:
    return x


SIGMAS: dict[Sigma, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "identity": _identity}
"""Monotone functions of class C¹ with σ(0) = 0 and 0 ≤ σ' ≤ 1."""


class QUNNLayer(ClockedLayer):
    """beta (N,), and alpha (N,) unless residual: then all α_i are 1 and alpha is None.

    The state is the window of the block, x_l, x_{l−1}, …, x_{l−r} side by side, (batch, (r + 1) d), with zeros for what
    lies before the block; r = min(N, T − 1), as in a block of T inputs no layer i ≥ T has an x_{l−i}. The output is a
    function of the window alone, so it is computed for all times at once.
    """

    state_names: tuple[str, ...] = ("window",)
    like_name: str = "beta"

    def __init__(
        self,
        input_size: int,
        *,
        block_length: int,
        depth: int,
        activation: Sigma = "tanh",
        residual: bool = False,
        normalised: bool = False,
        skew: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, input_size)
        self.block_length, self.depth, self.reach = block_length, depth, min(depth, block_length - 1)
        self.activation: Sigma = arguments.one_of("activation", activation, tuple(SIGMAS))
        self.normalised, self.skew = normalised, skew
        self.alpha = None if residual else nn.Parameter(torch.empty(depth, device=device, dtype=dtype))
        self.beta = nn.Parameter(torch.empty(depth, device=device, dtype=dtype))

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """(r + 1) d."""
        return ((self.reach + 1) * self.hidden_size,)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """α_i = 1, β_i ~ U(−a, a) with a = 1/√(N d), normalised 1/√N: the paper prints none.

        For inputs with components of size 1 the output is then of about that size.
        """
        if self.alpha is not None:
            nn.init.ones_(self.alpha)
        a = (self.depth * (1 if self.normalised else self.hidden_size)) ** -0.5
        nn.init.uniform_(self.beta, -a, a, generator=generator)

    def drives(self, below: Tensor) -> Tensor:
        """x itself: no weight stands before the data."""
        return below

    def steppers(self) -> Callable[[Time], StepFunction]:
        return self._stepper

    def _stepper(self, time: Time) -> StepFunction:
        k, d = time % self.block_length, self.hidden_size

        def step(state: State, x: Tensor) -> State:
            (before,) = state
            if isinstance(k, Tensor):
                ages = torch.arange(1, self.reach + 1, device=x.device).repeat_interleave(d)
                return (torch.cat((x, torch.where(ages <= k, before[:, :-d], before.new_zeros(()))), dim=1),)
            kept = min(k, self.reach) * d
            forgotten = x.new_zeros((len(x), self.reach * d - kept))
            return (torch.cat((x, before[:, :kept], forgotten), dim=1),)

        return step

    def output(self, rows: State) -> Tensor:
        """o_l of windows (..., (r + 1) d)."""
        (windows,) = rows
        with without_autocast(windows):
            seen = windows.unflatten(-1, (self.reach + 1, self.hidden_size)).unbind(-2)
            factors = _unit(seen) if self.normalised else seen
            return self._with_skew_layers(seen[0], factors) if self.skew else self._with_layers(seen[0], factors)

    def _coefficients(self) -> list[tuple[Tensor | float, Tensor]]:
        """(α_i, β_i)."""
        alphas: tuple[Tensor | float, ...] = (1.0,) * self.depth if self.alpha is None else self.alpha.unbind()
        return list(zip(alphas, self.beta.unbind(), strict=True))

    def _with_layers(self, x: Tensor, factors: tuple[Tensor, ...]) -> Tensor:
        """Of z_i only p_i, its part on e_k, and o_i, that on e_{k+1}: see ``QUNN`` for why no other part matters."""
        sigma = SIGMAS[self.activation]
        p, o = sigma(x), torch.zeros_like(x)
        for i, (alpha, beta) in enumerate(self._coefficients(), 1):
            turned = alpha * o
            if i <= self.reach:
                write, read = factors[i - 1], factors[i]
                turned = turned + beta * write * (read * p).sum(dim=-1, keepdim=True)
            p, o = sigma(alpha * p), sigma(turned)
        return o

    def _with_skew_layers(self, x: Tensor, factors: tuple[Tensor, ...]) -> Tensor:
        """All of z_i, (..., d, T + 1), column c its part on e_{k+c}: R ⊗ P moves columns on, its transpose back."""
        sigma = SIGMAS[self.activation]
        z = nn.functional.pad(sigma(x).unsqueeze(-1), (0, self.block_length))
        for i, (alpha, beta) in enumerate(self._coefficients(), 1):
            turned = alpha * z
            if i <= self.reach:
                write, read = factors[i - 1].unsqueeze(-1), factors[i].unsqueeze(-1)
                onward = write * (read * z).sum(dim=-2, keepdim=True).roll(1, -1)
                back = read * (write * z).sum(dim=-2, keepdim=True).roll(-1, -1)
                turned = turned + beta * (onward - back)
            z = sigma(turned)
        return z[..., 1]

    def non_expansion(self, radius: float) -> Certificate:
        """Whether every layer z_{i−1} ↦ z_i is non-expansive for all inputs with |x| ≤ radius, for the weights as now:
        if so |o_l| ≤ |x_l|. Decided in exact arithmetic on the given floats; rounding of the steps is not counted.

            ‖W_i‖₂ ≤ |α_i| + |β_i| s,   s = radius², normalised 1;     skew: ‖W_i‖₂ ≤ √(α_i² + 4 β_i² s²)

        *Proof.* ‖R_i ⊗ P‖₂ = |x_{l−i+1}| |x_{l−i}|, and β_i (R ⊗ P − (R ⊗ P)ᵀ) is skew, so normal, of norm ≤ 2 |β_i| s;
        |σ(a) − σ(b)| ≤ |a − b| and σ(0) = 0. ∎

        ``margin`` is the smallest 1 − (the bound on ‖W_i‖₂), of the squares if skew, and ``witness`` its i, from 1. A
        bound above 1 implies nothing: then ``holds`` is None. No residual layer with β_i ≠ 0 has one below.
        """
        arguments.positive("radius", [radius])
        exact = Fraction(radius) if isinstance(radius, Rational) else Fraction(arguments.number("radius", radius))
        s = Fraction(1) if self.normalised else exact**2
        betas = arguments.exact("beta", self.beta)
        betas[self.reach :] = [Fraction(0)] * (self.depth - self.reach)
        alphas = [Fraction(1)] * self.depth if self.alpha is None else arguments.exact("alpha", self.alpha)
        margins = [
            1 - (a * a + 4 * (b * s) ** 2) if self.skew else 1 - (abs(a) + abs(b) * s)
            for a, b in zip(alphas, betas, strict=True)
        ]
        margin = min(margins)
        bound = "α² + 4 β² s²" if self.skew else "|α| + |β| s"
        return Certificate(
            "every layer is non-expansive",
            True if margin >= 0 else None,
            True,
            1 + margins.index(margin),
            f"max ({bound}) = {float(1 - margin):.6g} over {self.depth} layers, s = {float(s):.6g}",
            margin=margin,
        )


class QUNN(ClockedNetwork):
    """Layers that multiply by products of the data, two numbers each.   Niu, Chuang & Horesh 2019 (QUNN), (32)–(36)

    T inputs are a block, k = l mod T the place in it, e_0 … e_T the states of a clock, P e_c = e_{c+1 mod T+1}:

        z_0 = σ(x_l ⊗ e_k),    z_i = σ(W_i z_{i−1}),    W_i = α_i I ⊗ I + β_i R_i ⊗ P,    i = 1 … N
        R_i = x_{l−i+1} x_{l−i}ᵀ if i ≤ k, else 0;       o_l = (I ⊗ e_{k+1}ᵀ) z_N

    input  x : (time, batch, d), or (time, d)      output  o of the last layer : (time, batch, d)
    state  the window of the block, (layers, batch, (r + 1) d), r = min(N, T − 1), the newest first, zero if not given

    block_length  T ≥ 2; at a time that T divides all inputs before are forgotten
    depth         N; T if not given, as in the source. Layers i ≥ T have no R_i: their β_i change nothing
    activation    σ of all layers, "tanh" or "identity"
    residual      whether all α_i are 1, the form of a residual network
    normalised    whether R_i is divided by |x_{l−i+1}| |x_{l−i}|; 0 where one of them is 0
    skew          whether R_i ⊗ P is replaced by R_i ⊗ P − (R_i ⊗ P)ᵀ
    start         time of the first row of an input, 0; ``forward`` takes a ``start``, too
    generator     of the initial weights, see ``QUNNLayer.reset_parameters``

    ``num_layers`` stacks whole QUNNs, each of N of these layers; the other arguments are those of ``RecurrentNetwork``,
    but there is no reverse direction, which would double d from one QUNN to the next: ValueError. The formulas of the
    source are not in its text; these are a reconstruction. What is handed on in time are inputs, no hidden state: the
    graph of such a network has no cycle, and no measures of ``odernn.architecture``.

    **Linear attention.** With σ the identity, w_i = β_i Π_{j≠i} α_j, without skew,

        o_l = Σ_{i=1}^{min(k, N)} w_i ⟨x_{l−i}, x_l⟩ x_{l−i+1}                         keys x_{l−i}, values x_{l−i+1}

    **The clock can be left out.** Without skew the parts of z_i on the e_c obey, for every σ with σ(0) = 0,

        p_0 = σ(x_l),  p_i = σ(α_i p_{i−1});     o_0 = 0,  o_i = σ(α_i o_{i−1} + β_i x_{l−i+1} ⟨x_{l−i}, p_{i−1}⟩)

    with p_i on e_k, o_i on e_{k+1}, o_l = o_N, and β_i = 0 for i > k: O(N d) a step. *Proof.* The part of W_i z on e_c
    reads those of z on e_c and e_{c−1}, and σ acts on each part alone. z_0 lives on e_k. What reaches e_{k−1} has been
    moved on T times, modulo T + 1; but R_i = 0 for i > k, so at most k ≤ T − 1 layers move anything. ∎ So neither T + 1
    clock states nor N ≤ T are needed: with two states and any N the outputs are the same.
    """

    holds: ClassVar[str] = "|o| ≤ |x| for inputs up to a radius that the weights decide (non_expansion())"

    def __init__(
        self,
        input_size: int,
        num_layers: int = 1,
        *,
        block_length: int,
        depth: int | None = None,
        activation: Sigma = "tanh",
        residual: bool = False,
        normalised: bool = False,
        skew: bool = False,
        start: int = 0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, input_size, num_layers, **manners)
        if self.bidirectional:
            raise ValueError(
                "bidirectional is True, but a QUNN gives d features for d, and both directions side by side are 2 d. "
                "Make two networks and give one of them the reversed input."
            )
        self.block_length, self.depth = _checked_block(block_length, depth)
        self.start = checked_integer("start", start)
        self.layers = self.stacked(  # type: ignore[assignment]
            lambda _, size: QUNNLayer(
                size,
                block_length=self.block_length,
                depth=self.depth,
                activation=activation,
                residual=residual,
                normalised=normalised,
                skew=skew,
                device=device,
                dtype=dtype,
            )
        )
        self.reset_parameters(generator)

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """block_length = ⌈M⌉, at least 2: an output sees the inputs of its own block alone, the last M at its end.

        The depth is the same unless given, so that a step costs O(M d). Raises ValueError for a sequence of one step:
        an output is a product of inputs before.
        """
        M = memory_in_steps(steps, memory, hidden_size)
        if steps == 1:
            raise ValueError("steps is 1, but a block has at least 2 inputs: choose another cell for such sequences.")
        return {"block_length": min(steps, max(2, math.ceil(M)))}

    @staticmethod
    def parameter_count(
        block_length: int, *, depth: int | None = None, residual: bool = False, num_layers: int = 1
    ) -> int:
        """2 N parameters a QUNN, N if residual, whatever d is; N = T if not given."""
        depth = _checked_block(block_length, depth)[1]
        return arguments.positive_integer("num_layers", num_layers) * depth * (1 if residual else 2)

    def attention_weights(self) -> tuple[Tensor, ...]:
        """w_i = β_i Π_{j≠i} α_j, (r,), of every QUNN of the stack: its outputs if σ is the identity. Differentiable.

        Raises ValueError for another σ and with skew, where outputs are no such sums.
        """
        first = self.layers[0]
        if first.activation != "identity" or first.skew:
            what = "skew is True" if first.skew else f"activation is {first.activation!r}"
            raise ValueError(f'{what}, but only a linear QUNN is attention. Make it with activation="identity".')
        return tuple(_attention(layer) for layer in self.layers)

    def non_expansion(self, radius: float) -> tuple[Certificate, ...]:
        """``QUNNLayer.non_expansion`` of every QUNN of the stack: where all hold, |o_l| ≤ |x_l| ≤ radius throughout."""
        return tuple(layer.non_expansion(radius) for layer in self.layers)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        options = differing(
            residual=(first.alpha is None, False), normalised=(first.normalised, False), skew=(first.skew, False)
        )
        sizes = f"block_length={self.block_length}, depth={self.depth}, activation={first.activation!r}"
        return [sizes, *options, *self.shown_clock()]


CELL = QUNN


def _unit(vectors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """x/|x|, and 0 for 0; there the derivative, which does not exist, is taken to be the identity."""
    squares = [x.square().sum(dim=-1, keepdim=True) for x in vectors]
    ones = [torch.ones_like(square) for square in squares]
    lengths = [torch.where(square > 0, square, one).sqrt() for square, one in zip(squares, ones, strict=True)]
    return tuple(x / length for x, length in zip(vectors, lengths, strict=True))


def _attention(layer: QUNNLayer) -> Tensor:
    """Products without one factor, not quotients by it: an α_i may be 0."""
    count = layer.reach
    alpha = torch.ones_like(layer.beta) if layer.alpha is None else layer.alpha
    rest = torch.eye(layer.depth, dtype=alpha.dtype, device=alpha.device)[:count]
    return layer.beta[:count] * (alpha * (1 - rest) + rest).prod(dim=1)


def _checked_block(block_length: int, depth: int | None) -> tuple[int, int]:
    length = arguments.positive_integer("block_length", block_length)
    if length < 2:
        raise ValueError("block_length is 1, but an input alone in its block has none before it. Give at least 2.")
    return length, length if depth is None else arguments.positive_integer("depth", depth)
