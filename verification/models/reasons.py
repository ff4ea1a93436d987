"""Why nothing here bounds the states of a layer for all inputs: the property that is missing, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from torch import nn

from odernn.bounds.network.certification import FAMILIES
from odernn.cells.cornn import CoRNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.linoss import LinOSS
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from odernn.cells.urnn import URNN
from verification.measure import own_equations
from verification.models.layers import RunLayer
from verification.models.recurrent_weights import RecurrentWeight

FROM_ZERO = "what is proved of it is about runs from zero states, and this one starts elsewhere"
KEEPS = "its W keeps norms and its modReLU is unbounded, so that every input may add ‖V u_n‖ to its states"

UNBOUNDED: Mapping[type[nn.Module], str] = MappingProxyType(
    {
        ScoRNN: KEEPS,
        ExpRNN: KEEPS,
        URNN: KEEPS,
        LinOSS: "its states are linear in its inputs, so that they are as large as these",
        CoRNN: "the sum of its responses leaves the range of floats: its saturated step is not stable",
    }
)
"""Of cells of the library, from zero states."""


def why_unbounded(layer: RunLayer, weights: Sequence[RecurrentWeight]) -> str:
    """No sentence, but what stands after "because"."""
    module = layer.module
    is_bounded = isinstance(module, (UnICORNN, CoRNN)) or own_equations.is_gated(module)
    if is_bounded and not layer.starts_at_zero:
        return FROM_ZERO
    if isinstance(module, nn.RNNBase) and module.proj_size > 0:
        return "its h_n is W_hr times what the gates bound, and no theorem here is about a projection"
    if _is_relu(module):
        return _of_relu(weights)
    known = next((text for kind, text in UNBOUNDED.items() if isinstance(module, kind)), "")
    if known:
        return known
    if isinstance(module, RecurrentNetwork) and type(module).__name__ in FAMILIES:
        return "a trial compares it with none; what is proved of its states odernn.bounds.certify prints"
    if isinstance(module, RecurrentNetwork):
        return f"no theorem here is about the states of {type(module).__name__}"
    return f"no theorem here is about the class {layer.kind}"


def _is_relu(module: object) -> bool:
    if isinstance(module, nn.RNNBase):
        return module.mode == "RNN_RELU"
    return isinstance(module, nn.RNNCell) and module.nonlinearity == "relu"


def _of_relu(weights: Sequence[RecurrentWeight]) -> str:
    """‖h_n‖ ≤ ‖W_hh‖ ‖h_{n−1}‖ + ‖W_ih u_n + b‖, since |relu(x)| ≤ |x|."""
    norm = next((each.norm for each in weights), None)
    if norm is None:
        return "relu is unbounded"
    if norm >= 1:
        return f"relu is unbounded, and ‖W_hh‖₂ = {norm:.3g} ≥ 1"
    factor = 1 / (1 - norm)
    return (
        f"relu is unbounded; as ‖W_hh‖₂ = {norm:.3g} < 1, ‖h_n‖₂ stays below {factor:.3g} times the largest "
        "‖W_ih u_n + b‖₂, whatever that is"
    )
