"""UnICORNN: the undamped independent controlled oscillatory recurrent network."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from odernn import executions
from odernn.cells.common import arguments
from odernn.cells.common.sequences import Sequences, State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.unicornn.arguments import Scheme, check_alpha, checked_previous, checked_scheme
from odernn.cells.unicornn.growth import LIMIT
from odernn.cells.unicornn.layer import UnICORNNLayer
from odernn.cells.unicornn.oscillators import OscillatorStack
from odernn.executions.autocast import is_autocasting
from odernn.executions.recurrence import Backward, RecurrenceOutputs, RecurrenceResult

if TYPE_CHECKING:
    from odernn.cells.unicornn.stability import StabilityReport
    from odernn.cells.unicornn.stack import StackOptions
    from odernn.integrators.guarantees import Guarantees

__all__ = ["CELL", "UnICORNN", "UnICORNNLayer"]


class UnICORNN(OscillatorStack):
    """y″ = −[tanh(w ⊙ y + V u + b) + α y] in each layer, kick then drift.   Rusch & Mishra 2021, eq. (6)

        z^l_n = z^l_{n-1} − h^l ⊙ [tanh(w^l ⊙ y^l_{n-1} + x^l_n) + α y^l_{n-1}],     h^l = dt σ̂(c^l)
        y^l_n = y^l_{n-1} + h^l ⊙ z^l_n,                                             σ̂ the logistic function
        x^l_n = V^l y^{l-1}_n + b^l  (+ Λ^l y^{l-S-1}_n for l > S),                  y^0 = u

    input  u : (time, batch, input), (time, input) or packed      output  y^L : (time, batch, hidden · directions)
    state  (y, z) : each (layers · directions, batch, hidden), zero if not given

    dt, alpha      one number, or one a layer; 0 < dt < 1, alpha ≥ 0. Float64 buffers, also in ``state_dict``
    multiscale     False: no c, every neuron steps with h = dt; the ablation of the paper
    initial_c      (low, high): c is drawn from U(low, high), in the paper U(−0.1, 0.1), where all neurons begin with
                   nearly the same h; U(−4, 0) spreads it over 0.02 dt to 0.5 dt
    residual_skip  S ≥ 2: the layer l > S also sees level l−S−1 through Λ^l
    skip_input     whether layer S+1 has its edge, whose source is the input itself
    index          "icml": x^l_n sees y^{l-1}_n;  "sam": it sees y^{l-1}_{n-1}, hence u_0, ``previous_input``
    bidirectional  each layer also runs from the end of a sample to its start, with weights of its own and the layer's
                   dt and alpha; level l is then the pair of both, of 2 · hidden features. Not with "sam"
    growth, steps  G > 1 and N: w is made of a learned number so that N steps of any neuron grow by at most G in its
                   invariant form, whatever is learned (``growth.GrowthLimit``); needs α dt² < 4
    dropout, dropout_mask, batch_first     as in ``RecurrentNetwork``; "locked" is the dropout of the paper
    execution      "torch", …: see ``odernn.executions``; also a keyword of the call
    backward       "stored", "reversible", "exact": how the backward pass gets the states, see ``recurrence.Backward``;
                   also a keyword of the call. Not every execution has all three
    generator      of the initial weights

    ``layers`` holds the ``UnICORNNLayer`` of layer l in direction k at index (l − 1) · directions + k, as in torch.
    Each is a symplectic map, and the stack is invertible, for all weights: see ``inverse``.
    """

    holds: ClassVar[str] = (
        "every step is symplectic and invertible (inverse()) for all weights; no neuron's step is stiff where "
        "h²(α + max(w, 0)) < 4 (stability_report())"
    )

    @classmethod
    def suggest(
        cls,
        steps: int,
        *,
        memory: float | None = None,
        hidden_size: int | None = None,
        alpha: float = 1.0,
        largest_w: float = 3.0,
    ) -> dict[str, Any]:
        """dt, alpha and initial_c for time scales from a few steps to M, and steps that stay rotations.

            dt = min(0.9, 1.8/√(α + w)),     α = 1,     c ~ U(c_low, 0) with dt σ̂(c_low) = 1/M

        A neuron's time runs by h = dt σ̂(c) a step, so that it takes 1/h steps to answer: 2/dt, a few, at c = 0, and M
        at c_low, with all between. In the paper all c are near 0, so that one number, dt, has to fit M.
        α: the force is at most 1 and is balanced at |y| ≤ 1/α, so that α = 1 keeps y of the size of a tanh. A step
        rotates while 0 < h²κ < 4, κ = α + w σ'. h < dt, so dt²(α + w) ≤ 1.8² < 4 holds whatever c becomes, for all
        weights up to ``largest_w`` = w: they begin in (0, 1). κ > 0 is w σ' > −α, which w > −α ensures and no dt can:
        below, a step stretches one direction. For M ≤ 2/dt all c begin at 0.
        """
        M = memory_in_steps(steps, memory, hidden_size)
        check_alpha([alpha])
        arguments.not_negative("largest_w", [largest_w])
        dt = min(0.9, 1.8 / math.sqrt(max(alpha + largest_w, 1.0)))
        low = -math.log(M * dt - 1.0) if M * dt > 2.0 else 0.0
        return {"dt": dt, "alpha": float(alpha), "initial_c": (low, 0.0)}

    @classmethod
    def from_paper(cls, row: str, **overrides: Any) -> Self:
        """The network of a row of the paper's Table 6, untrained: its sizes, dt of every layer, α and dropout.

        ``overrides`` are arguments of the constructor; they win. Raises LookupError for a name that the table does
        not have, with the nearest. The readout to the row's ``outputs`` is the caller's:

            >>> network = UnICORNN.from_paper("psMNIST-128", bias=False)
            >>> network.hidden_size, network.dt.tolist()
            (128, [0.482, 0.482, 0.482])
        """
        from odernn.published import networks as published

        printed = published.row(row)
        options: dict[str, Any] = {
            "input_size": printed.input_size,
            "hidden_size": printed.hidden_size,
            "num_layers": printed.num_layers,
            "dt": [float(dt) for dt in printed.dt],
            "alpha": float(printed.alpha),
            "dropout": float(printed.dropout),
        }
        return cls(**(options | overrides))

    def forward(
        self,
        input: Tensor | PackedSequence,
        state: State | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
        execution: str | None = None,
        backward: Backward | None = None,
    ) -> tuple[Any, State]:
        """The outputs y^L_1 .. y^L_N and the state (y, z) of all layers after the last step.

        As ``RecurrentNetwork.forward``; previous_input (batch, input) is u_0 of the "sam" convention, zero if not
        given. The reverse direction's state is the one at n = 1, after its own last step; as the state before a
        sequence it is the one after the end. Raises ValueError for a wrong shape, device or length, TypeError for a
        wrong dtype.
        """
        sequences = self.sequences_of(input, state, lengths)
        before = self._before(sequences, previous_input)
        output, final = self._outputs(sequences, before, execution, self.backward if backward is None else backward)
        return sequences.output(output), sequences.final(final)

    def states(
        self,
        input: Tensor | PackedSequence,
        state: State | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
        execution: str | None = None,
    ) -> list[RecurrenceResult]:
        """All y_n and z_n, without dropout: one ``RecurrenceResult`` for each of ``layers``, in their order.

        Always in the layout of the recurrence, (time, batch, hidden); an unbatched input is a batch of one. A reverse
        direction's rows are in its own direction of time: row 0 is its first step, at each sample's own end. Rows
        beyond a sample's length are zero, in both directions.
        """
        sequences = self.sequences_of(input, state, lengths)
        _, results = self._results(sequences, self._before(sequences, previous_input), execution)
        return [replace(r, y=sequences.zero_after_end(r.y), z=sequences.zero_after_end(r.z)) for r in results]

    def inverse(
        self,
        state: State,
        input: Tensor | PackedSequence,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
        scheme: Scheme = "exact",
    ) -> State:
        """The initial state from the state after the last step and the same input; without dropout.

        "exact" is the inverse in exact arithmetic, for all weights: eq. (7) of the ICML paper, or the same with
        y^{l-1}_{n-1} for the "sam" convention. "sam7", with index="sam" only, is the map printed as (7) in the SAM
        report, which sees y^{l-1}_n where the step saw y^{l-1}_{n-1}: no inverse, kept for trial.

        One direction steps all layers back together in O(layers · batch · hidden) memory; both directions go up layer
        by layer and keep the rows below. Shapes as in ``forward``; a sample of length n is stepped back n times.
        """
        from odernn.cells.unicornn.inverse import layer_by_layer, together  # a forward pass needs nothing of it

        sequences = self.sequences_of(input, state, lengths)
        if checked_scheme(scheme, self.index) == "sam7" and previous_input is not None:
            raise ValueError('previous_input is given, but scheme="sam7" sees u_1 .. u_N only. Leave it out.')
        before = self._before(sequences, previous_input)
        if self.bidirectional:
            return sequences.final(layer_by_layer(self, sequences))
        shifted = self.index == "sam" and scheme == "exact"
        return sequences.final(together(self, sequences, before, shifted=shifted))

    def bptt(
        self,
        input: Tensor | PackedSequence,
        grad_output: Tensor | PackedSequence,
        state: State | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """dE/dθ for every parameter, by the published recursion and without autograd or dropout.

        ``grad_output`` is dE/d(output), in the shape of the output, packed if the output is; beyond a sample's length
        the output is constant and ``grad_output`` is not read. Keys are those of ``named_parameters``.
        """
        from odernn.cells.unicornn.bptt import gradients, rows_of  # a forward pass needs nothing of it

        sequences = self.sequences_of(input, state, lengths)
        with torch.no_grad():
            levels, results = self._results(sequences, self._before(sequences, previous_input), "torch")
        expected = sequences.output(self.level(sequences, [result.y for result in results[-self.directions :]]))
        rows = rows_of(grad_output, sequences, expected)
        return gradients(self, sequences, levels, results, rows)

    def effective_steps(self) -> Tensor:
        """h of every neuron, (layers · directions, hidden): dt σ̂(c) in (0, dt), or dt if not ``multiscale``."""
        return torch.stack([self.coefficients(index)["step_size"] for index in range(len(self.layers))])

    def stability_report(self) -> StabilityReport:
        """Where the weights stand: h²κ against 4 and w against −α, one record for each of ``layers``; ``print`` it."""
        from odernn.cells.unicornn.stability import StabilityReport, layer_stability

        records = []
        for index in range(len(self.layers)):
            number, direction = divmod(index, self.directions)
            records.append(layer_stability(number + 1, is_reverse=direction == 1, **self.coefficients(index)))
        return StabilityReport(tuple(records))

    def guarantees(self) -> tuple[Guarantees, ...]:
        """Of symplectic Euler on the oscillator of each of ``layers``, every neuron with its own step."""
        from odernn import tableaus
        from odernn.fields.oscillator import Oscillator
        from odernn.integrators.guarantees import guarantees_of  # exact algebra, which a forward pass does not need

        guarantees = []
        for index in range(len(self.layers)):
            coefficients = self.coefficients(index)
            field = Oscillator(coefficients["w"], float(coefficients["alpha"]))
            guarantees.append(guarantees_of(tableaus.SYMPLECTIC_EULER, field, coefficients["step_size"]))
        return tuple(guarantees)

    def unlimited(self) -> UnICORNN:
        """The same map without a limit of growth: w is a parameter, with the values that the limit made of ``free_w``.

        The network itself if it has no limit.
        """
        if self.limit is None:
            return self
        found = copy.deepcopy(self)
        found.limit = None
        found.drop_exact(LIMIT)
        for index, layer in enumerate(found.layers):
            w = self.coefficients(index)["w"].detach().clone()
            layer.limit, layer.free_w, layer.w = None, None, nn.Parameter(w)
        return found

    def log_slopes_of_w(self, index: int) -> dict[str, float]:
        """log max |dw/dθ| over the neurons of ``layers[index]``, θ = free_w and c; of a network with a limit."""
        layer, number = self.layers[index], index // self.directions
        one = torch.ones_like(layer.like[:, 0])
        slopes = layer.pulled(self.dt[number], self.alpha[number], one, torch.zeros_like(one))
        return {name: math.log(max(float(slope.abs().max()), 5e-324)) for name, slope in slopes.items()}

    def _before(self, sequences: Sequences, previous_input: Tensor | None) -> Tensor:
        """u_0, (batch, input)."""
        return checked_previous(previous_input, sequences, self.index, self.layers[0].like)

    def _outputs(
        self, sequences: Sequences, before: Tensor, execution: str | None, backward: Backward
    ) -> tuple[Tensor, State]:
        """y^L_1 .. y^L_N, (time, batch, hidden · directions), and the states of all layers after each sample's end."""
        runner = executions.ready(self.execution if execution is None else execution)
        levels = [self.seen(sequences.u, before)]
        runs: list[RecurrenceOutputs] = []
        for number in range(1, self.num_layers + 1):
            runs += [
                self._run_layer(runner, (number - 1) * self.directions + direction, levels, sequences, backward)
                for direction in range(self.directions)
            ]
            rows = self.level(sequences, [run.y for run in runs[-self.directions :]])
            if number < self.num_layers:
                rows, before = self.dropped(rows, sequences.state[0][len(runs) - 1])
                levels.append(self.seen(rows, before))
        return rows, (torch.stack([run.y_last for run in runs]), torch.stack([run.z_last for run in runs]))

    def _run_layer(
        self,
        runner: executions.Execution,
        index: int,
        levels: Sequence[Tensor],
        sequences: Sequences,
        backward: Backward,
    ) -> RecurrenceOutputs:
        """``layers[index]`` on what is seen of the levels below, in its own direction of time."""
        layer, is_reverse = self.layers[index], index % self.directions == 1
        y0, z0 = (block[index] for block in sequences.state)
        if layer.Lambda is None and not is_autocasting(layer.like):
            below = levels[self.sources(index // self.directions + 1)[0]]
            return runner.layer_outputs(
                sequences.reversed(below) if is_reverse else below,
                layer.V,
                layer.b,
                **self.coefficients(index),
                y0=y0,
                z0=z0,
                lengths=sequences.lengths,
                backward=backward,
            )
        x = self.drive(index, levels)
        if is_reverse:
            x = sequences.reversed(x)
        return runner.outputs(x, **self.coefficients(index), y0=y0, z0=z0, lengths=sequences.lengths, backward=backward)

    def _results(
        self, sequences: Sequences, before: Tensor, execution: str | None
    ) -> tuple[list[Tensor], list[RecurrenceResult]]:
        """What the layers above see of the levels 0..L, (time, batch, features), and all states of all ``layers``.

        Layer after layer, without dropout: the drive for all times at once, then the recurrence.
        """
        runner = executions.ready(self.execution if execution is None else execution)
        y0, z0 = sequences.state
        levels = [self.seen(sequences.u, before)]
        results: list[RecurrenceResult] = []
        for _ in range(self.num_layers):
            for direction in range(self.directions):
                index = len(results)
                x = self.drive(index, levels)
                if direction == 1:
                    x = sequences.reversed(x)
                results.append(runner.forward(x, **self.coefficients(index), y0=y0[index], z0=z0[index]))
            rows = self.level(sequences, [result.y for result in results[-self.directions :]])
            levels.append(self.seen(rows, results[-1].y0))
        return levels, results

    def last(
        self,
        input: Tensor | PackedSequence,
        state: State | None = None,
        **options: Unpack[StackOptions],
    ) -> State:
        """The state (y, z) of all layers after the last step, for a loss that needs nothing else; y[-1] is y^L_N.

        Trained in O(time · batch · input + layers · batch · hidden) memory: all layers go through time together, in
        chunks, forwards and then backwards, and no layer's rows are held. Shapes as in ``forward``; the options, and
        two calls that also give the rows, are in ``odernn.cells.unicornn.stack``. Not for both directions.
        """
        from odernn.cells.unicornn.stack import last  # a forward pass needs nothing of it

        return last(self, input, state, **options)


CELL = UnICORNN
