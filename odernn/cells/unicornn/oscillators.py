"""The layers of a UnICORNN: weights and hyperparameters, which level sees which, and the drives of the recurrences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from odernn import executions
from odernn.cells.common import arguments
from odernn.cells.common.representation import brief
from odernn.cells.common.sequences import Sequences
from odernn.cells.recurrent import Manners, RecurrentNetwork
from odernn.cells.unicornn.arguments import (
    INITIAL_C,
    Index,
    check_alpha,
    check_dt,
    checked_index,
    checked_initial_c,
    checked_mode,
    checked_skip,
)
from odernn.cells.unicornn.growth import LIMIT, check_forms, check_same_limit, checked_limit
from odernn.cells.unicornn.layer import UnICORNNLayer
from odernn.executions.recurrence import Backward, StepCoefficients


class OscillatorStack(RecurrentNetwork):
    """What a ``UnICORNN`` is made of; its docstring has the equations and the arguments."""

    dt: Tensor
    alpha: Tensor
    layers: Sequence[UnICORNNLayer]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        alpha: float | Sequence[float],
        multiscale: bool = True,
        initial_c: Sequence[float] = INITIAL_C,
        residual_skip: int | None = None,
        skip_input: bool = True,
        index: Index = "icml",
        bias: bool = True,
        growth: float | None = None,
        steps: int | None = None,
        execution: str = "torch",
        backward: Backward = "stored",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.residual_skip = checked_skip(residual_skip)
        self.skip_input = skip_input
        self.multiscale = multiscale
        self.index: Index = checked_index(index, bidirectional=self.bidirectional)
        self.execution = executions.ready(execution).name
        self.backward: Backward = checked_mode(backward, execution)
        dts, alphas = arguments.per_layer("dt", dt, num_layers), arguments.per_layer("alpha", alpha, num_layers)
        self.register_exact("dt", dts, check_dt, device=device)
        self.register_exact("alpha", alphas, check_alpha, device=device)
        drawn = checked_initial_c(initial_c)
        self.limit = checked_limit(growth, steps, dts, alphas)
        if self.limit is not None:
            given = self.limit.growth, self.limit.steps
            self.register_exact(LIMIT, given, partial(check_same_limit, growth=given[0], steps=given[1]), device=device)
        self.layers = nn.ModuleList(  # type: ignore[assignment]
            UnICORNNLayer(
                self._level_size(below),
                hidden_size,
                None if skip is None else self._level_size(skip),
                bias=bias,
                multiscale=multiscale,
                initial_c=drawn,
                limit=self.limit,
                device=device,
                dtype=dtype,
            )
            for below, skip in map(self.sources, range(1, num_layers + 1))
            for _ in range(self.directions)
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The initialisation of the paper; with a limit of growth w is drawn as there, then as near as is admitted."""
        super().reset_parameters(generator)
        for index, layer in enumerate(self.layers):
            layer.limit_growth(self.dt[index // self.directions], self.alpha[index // self.directions])

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """A state whose dt and α, each admissible alone, leave a limited network without its forms is refused."""
        values = [state_dict.get(prefix + name, own) for name, own in (("dt", self.dt), ("alpha", self.alpha))]
        are_read = all(isinstance(v, Tensor) and v.shape == self.dt.shape and not v.is_meta for v in values)
        if self.limit is not None and are_read:
            errors: list[str] = rest[-1]
            try:
                check_forms(*(each.tolist() for each in values))
            except ValueError as error:
                errors.append(str(error))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def sources(self, layer: int) -> tuple[int, int | None]:
        """The levels that layer l = 1..L sees: (l−1, l−S−1 or None). Level 0 is the input, level k is y^k."""
        S = self.residual_skip
        if S is None or layer <= S or (layer == S + 1 and not self.skip_input):
            return layer - 1, None
        return layer - 1, layer - S - 1

    def coefficients(self, index: int) -> StepCoefficients:
        """w, h and α of ``layers[index]``, in the dtype of the parameters."""
        number = index // self.directions
        return self.layers[index].coefficients(self.dt[number], self.alpha[number])

    def _level_size(self, level: int) -> int:
        return self.input_size if level == 0 else self.output_size

    def drive(self, index: int, levels: Sequence[Tensor]) -> Tensor:
        """x of ``layers[index]``, from what is seen of the levels below."""
        below, skip = self.sources(index // self.directions + 1)
        return self.layers[index].drive(levels[below], None if skip is None else levels[skip])

    def level(self, sequences: Sequences, rows: Sequence[Tensor]) -> Tensor:
        """y^l_1 .. y^l_N, (time, batch, hidden · directions), from the rows of its directions."""
        return rows[0] if len(rows) == 1 else torch.cat([rows[0], sequences.reversed(rows[1])], dim=-1)

    def seen(self, rows: Tensor, before: Tensor) -> Tensor:
        """Rows n = 1..N of a level, or n = 0..N−1 in the "sam" convention; ``before`` is n = 0."""
        return torch.cat([before.unsqueeze(0), rows])[:-1] if self.index == "sam" else rows

    def shown_options(self) -> list[str]:
        parts = [f"dt={brief(self.dt)}", f"alpha={brief(self.alpha)}"]
        if not self.multiscale:
            parts.append("multiscale=False")
        elif self.layers[0].initial_c != INITIAL_C:
            parts.append(f"initial_c={self.layers[0].initial_c}")
        if self.residual_skip is not None:
            parts.append(f"residual_skip={self.residual_skip}, skip_input={self.skip_input}")
        if self.layers[0].b is None:
            parts.append("bias=False")
        if self.limit is not None:
            parts.append(f"growth={self.limit.growth:g}, steps={self.limit.steps}")
        parts += [f"index={self.index!r}", f"execution={self.execution!r}"]
        return parts if self.backward == "stored" else [*parts, f"backward={self.backward!r}"]
