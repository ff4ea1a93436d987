"""Any cyclic graph of a recurrent network as a trainable torch module.

>>> import torch
>>> from odernn.architecture import GraphRNN, get
>>> network = GraphRNN(get("td"), hidden_size=16, input_size=3)
>>> output, state = network(torch.randn(50, 8, 3))
>>> output.shape, state["h2"].shape
(torch.Size([50, 8, 16]), torch.Size([1, 8, 16]))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from odernn.architecture.network import torch_modules
from odernn.architecture.network.forward_pass import ForwardPass, Windows
from odernn.architecture.network.parameters import GraphWeights
from odernn.architecture.network.units import Carry, ForgetReads
from odernn.cells.common import arguments
from odernn.cells.common.sequences import Sequences, sequences

__all__ = ["GraphRNN", "GraphState"]

GraphState: TypeAlias = dict[str, Tensor] | tuple[dict[str, Tensor], dict[str, Tensor]]
"""Past values by node, (window, batch, size), oldest first; a pair (h, c) for units with cells."""


class GraphRNN(GraphWeights):
    """The network of an RNN cyclic graph.   Zhang et al. 2016, Appendices B.1 and B.2

        tanh                    h_v(t) = tanh(Σ_e W_e h_u(t − σ) + b_v)          over the edges e = (u, v, σ) into v
        multidimensional-lstm   c_v(t) = σ(i) tanh(z) + Σ_e σ(f_e) c_u(t − σ),   h_v(t) = σ(o) tanh(c_v(t))
                                z, i, o and each f_e are a sum Σ_e W_e h_u(t − σ) + b_v with rows of its own

    One matrix an edge, so that parallel edges have matrices of their own (the source writes W(u), which multigraphs
    leave open). At the times t ≡ time(v) modulo the period m, node v has a value. A node is, by its place in the graph,

    - an input that no edge enters: x(t) itself. An input that edges enter is a unit that adds W_x x(t)
    - an output that is no input and that no edge leaves: a read-out, no unit. It passes on what it reads, side by side
      in the order of ``graph.edges``, or with ``output_size`` Σ_e W_e h_u(t − σ) + b_v. Other outputs are read as is
    - a unit, otherwise

    graph         an RNNGraph, whose conditions were checked when it was built. Edges may have σ < 0, and the cycles of
                  a component may all have negative σ-sums: it then runs from the last time to the first
    hidden_size   of every unit, or a mapping unit → size
    input_size    of x, which every input node sees in full
    unit          "tanh" or "multidimensional-lstm"
    output_size   None, or the size of every read-out, which then has weights
    bias          whether there are b_v
    carry         (lstm) which edges between units bring their cell state and a forget gate: "delayed", those with
                  σ ≠ 0, so that a stack is torch.nn.LSTM; "all", as the source prints the sum over all of In(v)
    forget_reads  (lstm) "all": f_e reads every edge; "own": no carried edge but e. The source prints
                  f_u = σ(Σ_{u'} W_{f_u}(u') h_u), which may mean either; its equal-parameter sizes are those of "own"
    cell_output   (lstm) "tanh": h = σ(o) tanh(c), as in torch.nn.LSTM; "identity": h = σ(o) c, as printed
    batch_first   as in torch.nn.RNN: layout of input and output, not of the state
    generator     of the initial weights, U(−r, r) with r = 1/√(size of the node), as in torch.nn.RNN

    Parameters are ``weight.tail->head:σ``, ``weight.x->node`` and ``bias.node`` (a full stop in a name becomes "·"),
    with ``gates(node)`` the rows of each gate. ``output_layout`` has, for each residue of time modulo the period, the
    columns of each output node; ``output_width`` is the largest over the residues, and rows that need fewer columns end
    in zeros. ``windows`` (and ``cell_windows``) are how many past values of each node there are in a state.

    Raises ValueError and TypeError for arguments that fit no network.
    """

    def forward(
        self,
        input: Tensor | PackedSequence,
        state: GraphState | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        start: int = 0,
    ) -> tuple[Any, GraphState]:
        """The values of the outputs at every time, and the state after the last.

        input    (time, batch, input), with batch_first (batch, time, input); (time, input) unbatched; PackedSequence.
                 Row k, from 0, is x(start + k)
        state    by node, for each that an edge with σ > 0 leaves: its values before ``start``, the oldest first,
                 (window, batch, size), window = ⌈largest σ / m⌉; a pair (h, c) of such dictionaries for units with
                 cells. Zero if not given. ``initial_state`` has the form
        lengths  (batch,), in any order: outputs beyond a sample's own end are zero, its state is that at its own end,
                 and its padding is not read
        start    the time of the first row, which matters for a period m > 1: what acts when. To go on where a call
                 stopped, pass its state and start + number of rows

        Where an edge looks ahead (σ < 0), all that lies at or after the end of a sample counts as zero, inputs and
        states; a sequence that is cut is then not the whole one. ``looks_ahead`` says whether that is so.

        Returns the output in the layout of the input, with the columns of ``output_layout`` (rows at whose time no
        output acts are zero), and the state in the form of ``state``. Raises ValueError for a wrong shape, device, node
        or length, TypeError for a wrong type or dtype.
        """
        if not isinstance(start, int) or isinstance(start, bool):
            raise TypeError(f"start is {start!r}, but it is the time of the first row: give an integer.")
        sequences = self._sequences(input, lengths, batch_first=self.batch_first)
        past_h, past_c = self._past(state, sequences)
        run = ForwardPass(self, sequences, past_h, past_c, start)
        for component in self.components:
            run.evaluate(component)
        h = self._final(run, run.h, past_h)
        output: Any = sequences.output(run.output())
        return output, (h, self._final(run, run.c, past_c)) if self.unit.has_cells else h

    def node_values(self, input: Tensor) -> dict[str, dict[int, tuple[Tensor, ...]]]:
        """The values of the units at their times 0 … N − 1 from zero states, and the rows of the output as "out".

        input (time, batch, input), whatever batch_first; unit → time → h or (h, c), each (batch, size). It is what
        ``probe.graph_of`` looks at (``probe.HasNodeValues``): the graph itself plays no part there.
        """
        sequences = self._sequences(input, None, batch_first=False)
        run = ForwardPass(self, sequences, *self._past(None, sequences), 0)
        for component in self.components:
            run.evaluate(component)
        times, m = self.graph.nodes, self.graph.period
        values: dict[str, dict[int, tuple[Tensor, ...]]] = {}
        for node in self.wiring.nodes("unit"):
            rows = [run.h[node][self.windows[node] :]]
            rows += [run.c[node][self.cell_windows[node] :]] if self.unit.has_cells else []
            values[node] = {times[node] + k * m: parts for k, parts in enumerate(zip(*rows, strict=True))}
        acting = {times[node] for node in self.graph.outputs}
        values["out"] = {time: (row,) for time, row in enumerate(run.output()) if time % m in acting}
        return values

    def _sequences(self, input: Any, lengths: Any, *, batch_first: bool) -> Sequences:
        """The input as (time, batch, input); the state of a graph, windows by node, is checked here and not there."""
        return sequences(
            input,
            None,
            lengths,
            like=arguments.computing(self._like),
            input_size=self.input_size,
            state_names=(),
            state_sizes=(),
            count=0,
            batch_first=batch_first,
        )

    def initial_state(self, batch_size: int | None = None) -> GraphState:
        """Zeros in the form of the state; without a batch size for unbatched input."""
        blocks = tuple(
            {
                node: self._like.new_zeros(self._shape(window, batch_size, node))
                for node, window in windows.items()
                if window
            }
            for windows in self._all_windows()
        )
        return blocks[0] if len(blocks) == 1 else (blocks[0], blocks[1])

    def _all_windows(self) -> tuple[dict[str, int], ...]:
        return (self.windows, self.cell_windows) if self.unit.has_cells else (self.windows,)

    def _shape(self, window: int, batch_size: int | None, node: str) -> tuple[int, ...]:
        return (window, self.sizes[node]) if batch_size is None else (window, batch_size, self.sizes[node])

    def _final(self, run: ForwardPass, values: Windows, past: Windows) -> Windows:
        windows = run.final(values, past)
        return windows if run.found.is_batched else {node: rows.squeeze(1) for node, rows in windows.items()}

    def _past(self, state: Any, layout: Sequences) -> tuple[Windows, Windows]:
        """The windows of all nodes, (window, batch, size), empty ones too."""
        given: tuple[Any, ...] = (None, None)
        if state is not None:
            given = state if self.unit.has_cells else (state,)
            if not isinstance(given, tuple | list) or len(given) != len(self._all_windows()):
                raise TypeError(f"state is a {type(state).__name__}, but it is the pair (h, c) that forward returns.")
        labels = ("h", "c") if self.unit.has_cells else ("state",)
        past = [
            self._past_of(label, by_node, windows, layout)
            for label, by_node, windows in zip(labels, given, self._all_windows(), strict=False)
        ]
        return past[0], past[1] if self.unit.has_cells else {}

    def _past_of(self, label: str, given: Any, windows: dict[str, int], layout: Sequences) -> Windows:
        batch = layout.u.shape[1]
        needed = [node for node, window in windows.items() if window]
        if given is not None:
            if not isinstance(given, Mapping):
                raise TypeError(f"{label} is a {type(given).__name__}, but it is a dictionary of windows by node.")
            if set(given) != set(needed):
                raise ValueError(f"{label} has the nodes {sorted(given)}, but the network needs {sorted(needed)}.")
        past = {}
        for node, window in windows.items():
            if given is None or not window:
                past[node] = self._like.new_zeros((window, batch, self.sizes[node]))
                continue
            rows = given[node]
            shape = self._shape(window, batch if layout.is_batched else None, node)
            if not isinstance(rows, Tensor):
                raise TypeError(f"{label} of {node} is a {type(rows).__name__}, but it is a tensor.")
            if tuple(rows.shape) != shape:
                raise ValueError(f"{label} of {node} has shape {tuple(rows.shape)}, but the network needs {shape}.")
            arguments.check_alike(f"{label} of {node}", rows, self._like)
            past[node] = rows if layout.is_batched else rows.unsqueeze(1)
        return past

    @classmethod
    def from_torch(cls, module: nn.Module, *, carry: Carry = "delayed", forget_reads: ForgetReads = "all") -> Self:
        """The same function as a torch.nn.RNN or torch.nn.LSTM; see ``torch_modules`` for the mapping of weights.

        Both options are those of the constructor, for an LSTM. Raises TypeError for another module, ValueError for one
        with a ReLU, a projection or dropout, and for options whose units cannot be torch's.
        """
        network = cls(torch_modules.graph_of(module), **torch_modules.arguments_of(module, carry, forget_reads))
        network.load_state_dict(torch_modules.state_dict_of(module, network))
        return network

    def extra_repr(self) -> str:
        parts = [repr(self.graph).removeprefix("RNNGraph(").removesuffix(")")]
        parts += [f"hidden_size={self.hidden_size}, input_size={self.input_size}, unit={self.unit_name!r}"]
        if self.output_size is not None:
            parts.append(f"output_size={self.output_size}")
        if self.unit.has_cells:
            parts += [
                f"{option}={value!r}"
                for option, value in vars(self.unit).items()
                if value != getattr(type(self.unit), option)
            ]
        parts += [] if self.has_bias else ["bias=False"]
        return ", ".join(parts + (["batch_first=True"] if self.batch_first else []))
