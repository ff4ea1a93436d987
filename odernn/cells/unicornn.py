"""UnICORNN: the undamped independent controlled oscillatory recurrent network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from odernn import executions
from odernn.cells import _arguments, _unicornn_bptt
from odernn.cells._unicornn_stability import StabilityReport, layer_stability
from odernn.executions import torch_loop
from odernn.recurrence import RecurrenceResult

__all__ = ["CELL", "StabilityReport", "UnICORNN", "UnICORNNLayer"]

Index: TypeAlias = Literal["icml", "sam"]
State: TypeAlias = tuple[Tensor, Tensor]

KAIMING_SLOPE = 8.0
"""Slope of the leaky ReLU in the Kaiming uniform initialisation of V, as in the published code."""


@dataclass(frozen=True)
class _Level:
    """What the layers above see of one level: rows (time, batch, features), and before, the row n = 0."""

    rows: Tensor
    before: Tensor

    def seen(self, *, shifted: bool) -> Tensor:
        """Rows n = 1..N, or n = 0..N−1 if shifted."""
        return torch.cat([self.before.unsqueeze(0), self.rows])[:-1] if shifted else self.rows

    def masked(self, mask: Tensor) -> _Level:
        """The same mask (batch, features) at all times, n = 0 included: "sam" passes that row on, too."""
        return _Level(self.rows * mask, self.before * mask)


class UnICORNNLayer(nn.Module):
    """Parameters of one layer: w, c, b (hidden,), V (hidden, below), Λ (hidden, skipped)."""

    def __init__(
        self, below_size: int, hidden_size: int, skip_size: int | None, *, bias: bool, **factory: Any
    ) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(hidden_size, **factory))
        self.c = nn.Parameter(torch.empty(hidden_size, **factory))
        self.V = nn.Parameter(torch.empty(hidden_size, below_size, **factory))
        self.b = nn.Parameter(torch.empty(hidden_size, **factory)) if bias else None
        self.Lambda = (
            None if skip_size is None else nn.Parameter(torch.empty(hidden_size, skip_size, **factory))
        )

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """w ~ U(0, 1), c ~ U(−0.1, 0.1), b = 0, V and Λ ~ U(−r, r) with r = √(6 / ((1 + 8²) fan_in))."""
        nn.init.uniform_(self.w, 0.0, 1.0, generator=generator)
        nn.init.uniform_(self.c, -0.1, 0.1, generator=generator)
        for matrix in (self.V, self.Lambda):
            if matrix is not None:
                r = math.sqrt(6.0 / ((1.0 + KAIMING_SLOPE**2) * matrix.shape[1]))
                nn.init.uniform_(matrix, -r, r, generator=generator)
        if self.b is not None:
            nn.init.zeros_(self.b)

    def drive(self, below: Tensor, skipped: Tensor | None) -> Tensor:
        """x = V y^{l-1} + b, plus Λ y^{l-S-1} on a residual edge, for any number of leading axes."""
        x = nn.functional.linear(below, self.V, self.b)
        if self.Lambda is not None and skipped is not None:
            x = x + nn.functional.linear(skipped, self.Lambda)
        return x.to(self.w.dtype)  # under autocast the product has fewer digits; the recurrence keeps its own


class UnICORNN(nn.Module):
    """y″ = −[tanh(w ⊙ y + V u + b) + α y] in each layer, kick then drift.   Rusch & Mishra 2021, eq. (6)

        z^l_n = z^l_{n-1} − h^l ⊙ [tanh(w^l ⊙ y^l_{n-1} + x^l_n) + α y^l_{n-1}],     h^l = dt σ̂(c^l)
        y^l_n = y^l_{n-1} + h^l ⊙ z^l_n,                                             σ̂ the logistic function
        x^l_n = V^l y^{l-1}_n + b^l  (+ Λ^l y^{l-S-1}_n for l > S),                  y^0 = u

    input  u : (time, batch, input), or (time, input)      output  y^L : (time, batch, hidden)
    state  (y, z) : each (layers, batch, hidden), zero if not given

    dt, alpha      one number, or one a layer; 0 < dt < 1, alpha ≥ 0. Float64 buffers, also in ``state_dict``
    residual_skip  S ≥ 2: the layer l > S also sees level l−S−1 through Λ^l
    skip_input     whether layer S+1 has its edge, whose source is the input itself
    dropout        in training, one mask a sequence and layer (variational), on what is passed to layers above
    index          "icml": x^l_n sees y^{l-1}_n;  "sam": it sees y^{l-1}_{n-1}, hence u_0, ``previous_input``
    execution      "torch", …: see ``odernn.executions``; also a keyword of the call
    generator      of the initial weights

    Each layer is a symplectic map, and the stack is invertible, for all weights: see ``inverse``.
    """

    dt: Tensor
    alpha: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        alpha: float | Sequence[float],
        residual_skip: int | None = None,
        skip_input: bool = True,
        dropout: float = 0.0,
        batch_first: bool = False,
        index: Index = "icml",
        bias: bool = True,
        execution: str = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = _arguments.positive_integer("input_size", input_size)
        self.hidden_size = _arguments.positive_integer("hidden_size", hidden_size)
        self.num_layers = _arguments.positive_integer("num_layers", num_layers)
        self.residual_skip = _checked_skip(residual_skip)
        self.skip_input = skip_input
        self.dropout = _checked_dropout(dropout)
        self.batch_first = batch_first
        self.index = _checked_index(index)
        self.execution = executions.get(execution).name
        steps, alphas = _checked_dt(dt, num_layers), _checked_alpha(alpha, num_layers)
        self.register_buffer("dt", torch.tensor(steps, dtype=torch.float64, device=device))
        self.register_buffer("alpha", torch.tensor(alphas, dtype=torch.float64, device=device))
        factory = {"device": device, "dtype": dtype}
        self.layers: Sequence[UnICORNNLayer] = nn.ModuleList(  # type: ignore[assignment]
            UnICORNNLayer(
                self._level_size(below),
                hidden_size,
                None if skip is None else self._level_size(skip),
                bias=bias,
                **factory,
            )
            for below, skip in map(self.sources, range(1, num_layers + 1))
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The initialisation of the paper, drawn layer by layer; see ``UnICORNNLayer.reset_parameters``."""
        for layer in self.layers:
            layer.reset_parameters(generator)

    def sources(self, layer: int) -> tuple[int, int | None]:
        """The levels that layer l = 1..L sees: (l−1, l−S−1 or None). Level 0 is the input, level k is y^k."""
        S = self.residual_skip
        if S is None or layer <= S or (layer == S + 1 and not self.skip_input):
            return layer - 1, None
        return layer - 1, layer - S - 1

    def forward(
        self,
        input: Tensor,
        state: State | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
        execution: str | None = None,
    ) -> tuple[Tensor, State]:
        """The outputs y^L_1 .. y^L_N and the state (y, z) of all layers after the last step.

        lengths (batch,), in any order: a sample of length n gives the state after its own step n, and zeros
        as outputs beyond it. previous_input (batch, input) is u_0 of the "sam" convention, zero if not given.
        With batch_first, input and output are (batch, time, ·); the state keeps its layout. Raises ValueError
        for a wrong shape, device or length, TypeError for a wrong dtype.
        """
        found = self._sequences(input, state, previous_input)
        ends = None if lengths is None else _arguments.checked_lengths(lengths, found)
        results = self._run(found, execution, masks=self._dropout_masks(found))
        y = torch.stack([_arguments.at_own_end(result.y, result.y0, ends) for result in results])
        z = torch.stack([_arguments.at_own_end(result.z, result.z0, ends) for result in results])
        return found.output(_arguments.zero_after_end(results[-1].y, ends)), found.state(y, z)

    def states(
        self,
        input: Tensor,
        state: State | None = None,
        *,
        previous_input: Tensor | None = None,
        execution: str | None = None,
    ) -> list[RecurrenceResult]:
        """All y_n and z_n of every layer, without dropout, one ``RecurrenceResult`` a layer.

        Always in the layout of the recurrence, (time, batch, hidden); an unbatched input is a batch of one.
        """
        return self._run(self._sequences(input, state, previous_input), execution, masks=None)

    def inverse(self, state: State, input: Tensor, *, previous_input: Tensor | None = None) -> State:
        """The initial state from the state after the last step and the same input; eq. (7), without dropout.

        The whole stack steps back together and only its current state is kept: O(layers · batch · hidden)
        memory. At time n "icml" steps back the layers L, .., 1, since x^l_n needs y^{l-1}_n; "sam" goes 1,
        .., L, since it needs y^{l-1}_{n-1}. Exact in exact arithmetic, for all weights. Shapes as in
        ``forward``.
        """
        found = self._sequences(input, state, previous_input)
        y, z = (
            [found.u0, *found.y0.unbind()],
            [found.u0, *found.z0.unbind()],
        )  # indexed by level; level 0 has no z
        coefficients = [self._coefficients(l) for l in range(1, self.num_layers + 1)]
        shifted = self.index == "sam"
        order = range(1, self.num_layers + 1) if shifted else range(self.num_layers, 0, -1)
        u = _Level(found.u, found.u0).seen(shifted=shifted)
        for y[0] in reversed(u.unbind()):
            for l in order:
                below, skip = self.sources(l)
                x = self.layers[l - 1].drive(y[below], None if skip is None else y[skip])
                y[l], z[l] = torch_loop.step_back(y[l], z[l], x, **coefficients[l - 1])
        return found.state(torch.stack(y[1:]), torch.stack(z[1:]))

    def effective_steps(self) -> Tensor:
        """h = dt σ̂(c) of every neuron, (layers, hidden), 0 < h < dt."""
        return torch.stack([self._coefficients(l)["step_size"] for l in range(1, self.num_layers + 1)])

    def stability_report(self) -> StabilityReport:
        """Where the weights stand: h²κ against 4 and w against −α, one record a layer; ``print`` it."""
        numbers = range(1, self.num_layers + 1)
        return StabilityReport(tuple(layer_stability(l, **self._coefficients(l)) for l in numbers))

    def bptt(
        self,
        input: Tensor,
        grad_output: Tensor,
        state: State | None = None,
        *,
        previous_input: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """dE/dθ for every parameter, by the published recursion and without autograd or dropout.

        ``grad_output`` is dE/d(output), in the shape of the output; keys are those of ``named_parameters``.
        """
        found = self._sequences(input, state, previous_input)
        with torch.no_grad():
            results = self._run(found, "torch", masks=None)
        expected = found.output(results[-1].y).shape
        if grad_output.shape != expected:
            raise ValueError(
                f"grad_output has shape {tuple(grad_output.shape)} but the output has {tuple(expected)}: "
                "give one derivative for each output."
            )
        if not found.is_batched:
            grad_output = grad_output.unsqueeze(1)
        elif self.batch_first:
            grad_output = grad_output.transpose(0, 1)
        return _unicornn_bptt.gradients(self, found, results, grad_output)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"]
        parts += [f"dt={_brief(self.dt)}", f"alpha={_brief(self.alpha)}"]
        if self.residual_skip is not None:
            parts.append(f"residual_skip={self.residual_skip}, skip_input={self.skip_input}")
        if self.dropout:
            parts.append(f"dropout={self.dropout}")
        if self.batch_first:
            parts.append("batch_first=True")
        if self.layers[0].b is None:
            parts.append("bias=False")
        return ", ".join([*parts, f"index={self.index!r}", f"execution={self.execution!r}"])

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> UnICORNN:
        # dt and alpha move with the module but stay float64: once rounded, .double() would not restore them.
        exact = {"dt": self.dt, "alpha": self.alpha}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, value in exact.items():
            moved = getattr(self, name)
            if moved.dtype != value.dtype:
                setattr(self, name, value.to(moved.device))
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # A dt or alpha that the constructor refuses is refused here too, before anything is overwritten.
        errors: list[str] = rest[-1]
        for name, check in (("dt", _checked_dt), ("alpha", _checked_alpha)):
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor) and value.shape == (self.num_layers,) and not value.is_meta:
                try:
                    check(value.tolist(), self.num_layers)
                except ValueError as error:
                    errors.append(str(error))
        if not errors:
            super()._load_from_state_dict(state_dict, prefix, *rest)

    def _level_size(self, level: int) -> int:
        return self.input_size if level == 0 else self.hidden_size

    def _sequences(
        self, input: Tensor, state: State | None, previous_input: Tensor | None
    ) -> _arguments.Sequences:
        if previous_input is not None and self.index == "icml":
            raise ValueError(
                'previous_input is given, but with index="icml" no layer sees u_0. '
                'Leave it out or use index="sam".'
            )
        return _arguments.sequences(
            input,
            state,
            previous_input,
            like=self.layers[0].w,
            input_size=self.input_size,
            state_size=(self.num_layers, self.hidden_size),
            batch_first=self.batch_first,
        )

    def _coefficients(self, layer: int) -> dict[str, Tensor]:
        """w, h and α of layer l = 1..L in the dtype of the parameters."""
        parameters = self.layers[layer - 1]
        dt, alpha = self.dt[layer - 1].to(parameters.c.dtype), self.alpha[layer - 1].to(parameters.c.dtype)
        return {"w": parameters.w, "step_size": dt * torch.sigmoid(parameters.c), "alpha": alpha}

    def _run(
        self, found: _arguments.Sequences, execution: str | None, *, masks: list[Tensor] | None
    ) -> list[RecurrenceResult]:
        """Layer after layer: the drive for all times at once, then the recurrence."""
        runner = executions.get(self.execution if execution is None else execution)
        shifted = self.index == "sam"
        levels = [_Level(found.u, found.u0)]
        results = []
        for l, layer in enumerate(self.layers, 1):
            below, skip = self.sources(l)
            skipped = None if skip is None else levels[skip].seen(shifted=shifted)
            x = layer.drive(levels[below].seen(shifted=shifted), skipped)
            result = runner.forward(x, **self._coefficients(l), y0=found.y0[l - 1], z0=found.z0[l - 1])
            results.append(result)
            level = _Level(result.y, result.y0)
            levels.append(level if masks is None or l == self.num_layers else level.masked(masks[l - 1]))
        return results

    def _dropout_masks(self, found: _arguments.Sequences) -> list[Tensor] | None:
        """One mask (batch, hidden) for each layer below the last: 0 with probability p, else 1/(1 − p)."""
        if not self.training or self.dropout == 0.0 or self.num_layers == 1:
            return None
        ones = torch.ones_like(found.y0[0])
        return [nn.functional.dropout(ones, self.dropout) for _ in range(self.num_layers - 1)]


CELL = UnICORNN


def _checked_dt(dt: float | Sequence[float], num_layers: int) -> list[float]:
    values = _arguments.per_layer("dt", dt, num_layers)
    for layer, value in enumerate(values, 1):
        if not 0.0 < value < 1.0:
            raise ValueError(f"dt of layer {layer} is {value}, but the network is defined for 0 < dt < 1.")
    return values


def _checked_alpha(alpha: float | Sequence[float], num_layers: int) -> list[float]:
    values = _arguments.per_layer("alpha", alpha, num_layers)
    for layer, value in enumerate(values, 1):
        if value < 0.0:
            raise ValueError(f"alpha of layer {layer} is {value}, but the restoring force needs alpha ≥ 0.")
    return values


def _checked_skip(residual_skip: int | None) -> int | None:
    if residual_skip is None:
        return None
    _arguments.positive_integer("residual_skip", residual_skip)
    if residual_skip < 2:
        raise ValueError(
            f"residual_skip is {residual_skip}, but an edge from layer l−S−1 to layer l needs S ≥ 2. "
            "Give None for a stack without residual edges."
        )
    return residual_skip


def _checked_dropout(dropout: float) -> float:
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout is {dropout}, but it is a probability below 1.")
    return float(dropout)


def _checked_index(index: Index) -> Index:
    if index not in ("icml", "sam"):
        raise ValueError(
            f'index is {index!r}, but the conventions are "icml" (x_n sees the layer below at n) '
            'and "sam" (at n−1).'
        )
    return index


def _brief(values: Tensor) -> str:
    """One number if all layers agree, else the list."""
    if values.is_meta:
        return "?"
    numbers = values.tolist()
    return repr(numbers[0]) if len(set(numbers)) == 1 else repr(numbers)
