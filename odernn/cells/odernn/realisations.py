"""LSTM, GRU and simple recurrent layers as n-t-ODERNNs: the same outputs and states, from a table of coefficients.

Niu, Chuang, Horesh 2019, Claims 1 and 2. In two forms, both with η = 1 and with a linear stage k_0 = y that cancels y:

- *gated*: coefficients affine in the state and in earlier stages. LSTM (n, t) = (2, 2), GRU (2, 1).
- *constant*: all coefficients are constant; the products with gates are made of squares, 4ab = (a + b)² − (a − b)².
  LSTM (4, 2), GRU (4, 1).

Claim 4, the clockwork network, needs coefficients that depend on the time: ``clockwork`` is its table at one time.

**The price of the constant form.** (a + b)² and (a − b)² are each rounded to u = 2⁻⁵³ (float64) of themselves, so a
product is off by up to about u (|a| + |b|)², not by u |ab|. With gates in [0, 1] the cell state c of an LSTM is off by
some u (1 + |c|)² a step (largest found: 1.5 of these): absolute errors grow with c², and float32 loses c near 10⁴.
The gated form is off by some u (1 + |c|), like torch's own.

    >>> import torch
    >>> cell = as_odernn(torch.nn.LSTM(3, 8), form="gated")
    >>> cell.n, cell.t
    (2, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from odernn.cells.odernn.network import ODERNN, Coefficient, Gate, MatrixTableau, ODERNNLayer, Stage

__all__ = ["Form", "as_odernn", "clockwork", "gru", "lstm", "simple"]

Form: TypeAlias = Literal["gated", "constant"]

SUM_AND_DIFFERENCE = [[1, 1], [1, -1]]


def lstm(hidden_size: int, *, form: Form = "gated", bias: bool = True) -> MatrixTableau:
    """An LSTM layer, y = (h, c), gates in torch's order:   Hochreiter, Schmidhuber 1997; Gers et al. 2000

        i, f, o = σ̂(W h + U u + b),  g = tanh(W h + U u + b),   c₊ = f ⊙ c + i ⊙ g,   h₊ = o ⊙ tanh(c₊)

    gated: k_0 = y, k_1 = (i, f, g, o), k_2 = tanh(c₊); f has the gate c, g the gate i, and k_2 the gate o.
    constant: k_2 = (f ± c)², k_3 = (i ± g)², k_4 = tanh(c₊), k_5 = (o ± k_4)².
    """
    d = hidden_size
    gates = Stage((("sigmoid", 2 * d), ("tanh", d), ("sigmoid", d)), reads=(0,), bias=bias)
    y = _constant_stage((("identity", 2 * d),), K=1.0)
    cell_output = _constant_stage((("tanh", d),), reads=(1,), K=1.0)
    if _checked_form(form) == "gated":
        # Gate of k_1 = (i, f, g, o): c on f, i on g; then M adds both to c. Stage 0 takes y away.
        on_f_and_g = Gate(y=[[0, 0], [0, 1], [0, 0], [0, 0]], stages={1: _table(4, 4, {(2, 0): 1})})
        new_c = Coefficient(_table(2, 4, {(1, 1): 1, (1, 2): 1}), on_f_and_g)
        new_h = Coefficient(_table(2, 1, {(0, 0): 1}), Gate(stages={1: [[0, 0, 0, 1]]}))
        return MatrixTableau(
            d,
            {0: y, 1: gates, 2: cell_output},
            {(2, 0): -1.0, (2, 1): new_c},
            {0: -1.0, 1: new_c, 2: new_h},
            ("h", "c"),
        )
    squares = _constant_stage((("square", 2 * d),), K=SUM_AND_DIFFERENCE)
    to_c, to_h = _table(2, 2, {(1, 0): 0.25, (1, 1): -0.25}), _table(2, 2, {(0, 0): 0.25, (0, 1): -0.25})
    return MatrixTableau(
        d,
        {0: y, 1: gates, 2: squares, 3: squares, 4: cell_output, 5: squares},
        {
            (2, 0): _table(2, 2, {(0, 0): -1}), (2, 1): _table(2, 4, {(0, 1): 1}),                      # (f, c)
            (3, 0): -1.0, (3, 1): _table(2, 4, {(0, 0): 1, (1, 2): 1}),                                 # (i, g)
            (4, 0): -1.0, (4, 2): to_c, (4, 3): to_c,                                                   # (0, c₊)
            (5, 0): -1.0, (5, 1): _table(2, 4, {(0, 3): 1}), (5, 4): _table(2, 1, {(1, 0): 1}),         # (o, tanh c₊)
        },
        {0: -1.0, 2: to_c, 3: to_c, 5: to_h},
        ("h", "c"),
    )  # fmt: skip


def gru(hidden_size: int, *, form: Form = "gated", bias: bool = True) -> MatrixTableau:
    """A GRU layer, y = h, with the reset gate on W_n h + b_hn, as in torch:   Cho et al. 2014

        r, z = σ̂(W h + U u + b),  q = W_n h + b_hn,   g = tanh(r ⊙ q + U_n u + b_n),   h₊ = g + z ⊙ (h − g)

    gated: k_0 = h, k_1 = (r, z), k_3 = q (linear), k_2 = g; r has the gate q, and g and −h have the gate 1 − z.
    constant: k_2, k_3 = (r ± q)², k_4 = g, k_5, k_6 = (z ± (h − g))², k_7 = q (linear).
    """
    d = hidden_size
    y = _constant_stage((("identity", d),), K=1.0)
    gates = Stage((("sigmoid", 2 * d),), bias=bias)
    recurrent = Stage((("identity", d),), sees_input=False, bias=bias)
    candidate = Stage((("tanh", d),), K=1.0, bias=bias)
    if _checked_form(form) == "gated":
        keep = Gate(1.0, stages={1: [[0, -1]]})  # 1 − z
        return MatrixTableau(
            d,
            {0: y, 1: gates, 2: candidate, 3: recurrent},
            {(2, 0): -1.0, (2, 1): Coefficient([[1, 0]], Gate(stages={3: [[1], [0]]}))},
            {0: Coefficient(-1.0, keep), 2: Coefficient(1.0, keep)},
            ("h",),
        )
    square = _constant_stage((("square", d),), K=1.0)
    return MatrixTableau(
        d,
        {0: y, 1: gates, 2: square, 3: square, 4: candidate, 5: square, 6: square, 7: recurrent},
        {
            (2, 0): -1.0, (2, 1): [[1, 0]], (2, 7): 1.0,            # r + q
            (3, 0): -1.0, (3, 1): [[1, 0]], (3, 7): -1.0,           # r − q
            (4, 0): -1.0, (4, 2): 0.25, (4, 3): -0.25,              # r ⊙ q
            (5, 1): [[0, 1]], (5, 4): -1.0,                         # h + z − g
            (6, 0): -2.0, (6, 1): [[0, 1]], (6, 4): 1.0,            # z + g − h
        },
        {0: -1.0, 4: 1.0, 5: 0.25, 6: -0.25},
        ("h",),
    )  # fmt: skip


def simple(hidden_size: int, *, nonlinearity: str = "tanh", bias: bool = True) -> MatrixTableau:
    """h₊ = σ(W h + U u + b) as (n, t) = (1, 1): k_0 = h, k_1 = σ(…), B_0 = −I, B_1 = I.   Elman 1990

    With an orthogonal W this is the real case of the unitary network (Claim 3).
    """
    y = _constant_stage((("identity", hidden_size),), K=1.0)
    return MatrixTableau(
        hidden_size,
        {0: y, 1: Stage(((nonlinearity, hidden_size),), bias=bias)},
        {},
        {0: -1.0, 1: 1.0},
        ("h",),
    )


def clockwork(periods: Sequence[int], sizes: Sequence[int], time: int, *, bias: bool = True) -> MatrixTableau:
    """The step of a clockwork layer at the time l as (n, t) = (1, 1): k_0 = h, k_1 = tanh(W h + U u + b),

        B_1 = −B_0 = diag(1 for the neurons of every group whose period divides l, else 0)

    Koutník et al. 2014; Niu, Chuang, Horesh 2019, Claim 4. ``sizes`` are the numbers of neurons of the groups. Stage 1
    has a full matrix: give it W = ``ClockworkLayer.recurrent_matrix()``, with its zeros. There are lcm(T_1, …, T_g)
    different tables. Raises ValueError if there are not as many sizes as periods.
    """
    if len(periods) != len(sizes):
        raise ValueError(f"periods has {len(periods)} groups and sizes {len(sizes)}. Give one of each a group.")
    acting = [float(time % period == 0) for period, size in zip(periods, sizes, strict=True) for _ in range(size)]
    d = len(acting)
    B = torch.diag(torch.tensor(acting, dtype=torch.float64))
    y = _constant_stage((("identity", d),), K=1.0)
    return MatrixTableau(d, {0: y, 1: Stage((("tanh", d),), bias=bias)}, {}, {0: -B, 1: B}, ("h",))


def as_odernn(module: nn.Module, form: Form = "gated") -> ODERNN:
    """The ODERNN with the outputs and the states of a torch.nn.LSTM, GRU or RNN, from rounding errors apart.

    Layers, directions, bias, batch_first, dropout (a new mask every step, as in torch, but not torch's own random
    numbers), dtype, device and training mode are those of the module; the state is (h, c) of an LSTM and h of the
    others, each (layers · directions, batch, hidden). An RNN has one form. Weights are *copied*: the result owns its
    own, and training one leaves the other as it is. The two biases of torch are added where only their sum counts. The
    coefficients are constants, and no weight has been added, so that training stays among the networks of that kind.

    The accuracy of form="constant" falls with the square of the cell state; see the module's docstring.

    Raises TypeError for any other module, ValueError for projections (proj_size), for an unknown form and for
    dropout = 1.
    """
    _checked_form(form)
    if isinstance(module, nn.LSTM):
        if module.proj_size > 0:
            raise ValueError(
                f"The LSTM has proj_size={module.proj_size}: its h and its c have different widths, but the blocks of "
                "an ODERNN have one. Use an LSTM with proj_size=0."
            )
        tableau, copy = lstm(module.hidden_size, form=form, bias=module.bias), _copy_lstm
    elif isinstance(module, nn.GRU):
        tableau, copy = gru(module.hidden_size, form=form, bias=module.bias), _copy_gru
    elif isinstance(module, nn.RNN):
        tableau = simple(module.hidden_size, nonlinearity=module.nonlinearity, bias=module.bias)
        copy = _copy_simple
    else:
        raise TypeError(
            f"as_odernn has no tableau for {type(module).__name__}. Give a torch.nn.LSTM, a torch.nn.GRU or a "
            "torch.nn.RNN; for anything else write a MatrixTableau and give it to ODERNN."
        )
    like = next(module.parameters())
    result = ODERNN(
        module.input_size,
        module.hidden_size,
        module.num_layers,
        tableau=tableau,
        dropout=module.dropout,
        dropout_mask="step",
        batch_first=module.batch_first,
        bidirectional=module.bidirectional,
        device=like.device,
        dtype=like.dtype,
    )
    with torch.no_grad():
        for index, layer in enumerate(result.layers):
            number, direction = divmod(index, result.directions)
            suffix = f"_l{number}" + ("_reverse" if direction else "")
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if module.bias else ("weight_ih", "weight_hh")
            copy(layer, {name: getattr(module, name + suffix) for name in names})
    return result.train(module.training)


def _copy_lstm(layer: ODERNNLayer, weights: dict[str, Tensor]) -> None:
    _copy(layer, K_1=weights["weight_hh"], U_1=weights["weight_ih"])
    if "bias_ih" in weights:
        _copy(layer, b_1=weights["bias_ih"] + weights["bias_hh"])


def _copy_gru(layer: ODERNNLayer, weights: dict[str, Tensor]) -> None:
    """torch has the rows (r, z, n); of the n rows the recurrent part is a stage of its own."""
    d = layer.hidden_size
    linear = max(i for i, stage in layer.structure.stages.items() if stage.is_linear)
    candidate = next(i for i, stage in layer.structure.stages.items() if stage.segments == (("tanh", d),))
    U, K = weights["weight_ih"], weights["weight_hh"]
    _copy(layer, K_1=K[: 2 * d], U_1=U[: 2 * d], **{f"K_{linear}": K[2 * d :], f"U_{candidate}": U[2 * d :]})
    if "bias_ih" in weights:
        input_bias, state_bias = weights["bias_ih"], weights["bias_hh"]
        _copy(
            layer,
            b_1=input_bias[: 2 * d] + state_bias[: 2 * d],
            **{f"b_{linear}": state_bias[2 * d :], f"b_{candidate}": input_bias[2 * d :]},
        )


def _copy_simple(layer: ODERNNLayer, weights: dict[str, Tensor]) -> None:
    _copy_lstm(layer, weights)


def _copy(layer: ODERNNLayer, **values: Tensor) -> None:
    for name, value in values.items():
        layer.get_parameter(name).copy_(value)


def _constant_stage(segments: tuple[tuple[str, int], ...], *, K: Any, reads: tuple[int, ...] | None = None) -> Stage:
    """A stage without weights."""
    return Stage(segments, reads=reads, K=K, sees_input=False, bias=False)


def _table(rows: int, columns: int, entries: dict[tuple[int, int], float]) -> Tensor:
    """A table of blocks, zero but for the entries named."""
    table = torch.zeros(rows, columns, dtype=torch.float64)
    for place, value in entries.items():
        table[place] = value
    return table


def _checked_form(form: Form) -> Form:
    if form not in ("gated", "constant"):
        raise ValueError(f'form is {form!r}. Choose from: "gated", "constant".')
    return form
