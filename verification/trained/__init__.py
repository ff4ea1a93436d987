"""A user's trained network on trial: what holds for these weights and this data, and with what slack.

    files.py               weights from a file: safetensors, or .pt without any code; and of which network they are
    published_unicornn.py  the names in a state_dict of the published UnICORNN code
    loading.py             the network, with every tensor where it belongs
    runs.py                the network on sequences: states, gradients
    row.py                 a row: a statement, its premises, bound and measurement, and a verdict
    state_rows.py          bounds on states
    own_rows.py            bounds on states from a cell's own equation
    gradient_rows.py       bounds on gradients;  jacobian_rows.py: on products of step Jacobians
    certificates.py        violations, decided by two back-ends
    rebuilding_rows.py     what stepping back in float32 and bfloat16 loses
    orthogonal_rows.py     recurrent matrices that should be orthogonal
    weight_rows.py         margins of the weights, and measurements of any cell
    trial.py               all of it for one network

``odernn verify --checkpoint`` prints and keeps the rows; docs/checkpoints.md says how to read them.
"""

from __future__ import annotations

from verification.training import TrainingError


class CheckpointError(TrainingError):
    """A file that is no checkpoint of the network that it is said to be: what, where, and the next step; one line."""
