"""Anybody's model on trial: what its recurrent layers do with inputs of one's own, measured, and in words.

    model_trial.py  ``trial``: one forward and one backward pass, all that is measured of it
    layers.py       finds its recurrences: cells of odernn, torch.nn.LSTM, GRU, RNN, and cells called step by step
    exponents.py    ∂X_n/∂X_{n−1}: Lyapunov exponents along the inputs, spectra
    found.py        what came of it: the verdict in words, tables, JSON
    loading.py      FILE:NAME and the files of inputs, for ``odernn verify --model``

docs/models.md says what is measured, and how to read it.
"""

from __future__ import annotations

from verification.models.found import LayerTrial
from verification.models.model_trial import trial
from verification.models.trial_result import ModelTrial

__all__ = ["LayerTrial", "ModelTrial", "trial"]
