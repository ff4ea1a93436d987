"""Trained initial states of cells with one block."""

from __future__ import annotations

import dataclasses
from abc import ABC
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from odernn.cells.common.sequences import Sequences
from odernn.cells.recurrent import RecurrentNetwork


class LearnedInitialStates(RecurrentNetwork, ABC):
    """A network whose layers have ``h0`` (state,), or None in all of them: the state where none is given."""

    def sequences_of(
        self, input: Tensor | PackedSequence, state: Any, lengths: Tensor | Sequence[int] | None
    ) -> Sequences:
        sequences = super().sequences_of(input, state, lengths)
        starts = [layer.h0 for layer in self.layers]
        if state is not None or starts[0] is None:
            return sequences
        h = torch.stack(starts).unsqueeze(1).expand(-1, sequences.u.shape[1], -1)
        return dataclasses.replace(sequences, state=(h,))
