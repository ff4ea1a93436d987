"""torch.nn.RNN and torch.nn.LSTM as networks of graphs: which graph, and which parameter is which.

Layer l, from 1, is the node "h{l}", its reverse direction "h{l} reverse" with a loop of σ = −1. The graph is the
catalogue's ``stack`` if there is no reverse direction. With k = l − 1:

    weight.in->h1:0              weight_ih_l0
    weight.h{l-1}->h{l}:0        weight_ih_l{k}; with a reverse direction below, its columns of that direction
    weight.h{l}->h{l}:1          weight_hh_l{k}                       (reverse: …_reverse, weight.h{l} reverse->…:-1)
    bias.h{l}                    bias_ih_l{k} + bias_hh_l{k}

torch orders the gates of an LSTM i, f, z, o; a network of a graph z, i, o, f. With carry="all" the edge h{l-1} -> h{l}
has a forget gate that torch's LSTM has not: its rows are zero and its bias is −∞, which makes it exactly 0. An initial
state (layers, batch, hidden) of torch is {"h1": h[0:1], "h2": h[1:2], …} here, without the entries of the reverse
direction, which starts from zero.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from odernn.architecture import catalogue
from odernn.architecture.graph import RNNGraph
from odernn.architecture.network.parameters import GraphWeights, edge_name, name
from odernn.architecture.network.units import Carry, ForgetReads
from odernn.architecture.walks import Edge

_REVERSE = " reverse"


def _checked(module: nn.Module) -> nn.RNNBase:
    """The module, if a network of a graph can be the same function."""
    if not isinstance(module, nn.RNN | nn.LSTM):
        raise TypeError(f"A {type(module).__name__} is no torch.nn.RNN or torch.nn.LSTM. Build GraphRNN from a graph.")
    if isinstance(module, nn.RNN) and module.nonlinearity != "tanh":
        raise ValueError(f"The nonlinearity is {module.nonlinearity!r}, but the units of a graph have tanh.")
    if module.proj_size:
        raise ValueError(f"proj_size is {module.proj_size}, but the units of a graph have no projection. Use 0.")
    if module.dropout:
        raise ValueError(f"dropout is {module.dropout}, but a network of a graph has none. Set it to 0.")
    return module


def graph_of(module: nn.Module) -> RNNGraph:
    """The graph of the layers of a torch.nn.RNN or torch.nn.LSTM, a node a layer and direction."""
    module = _checked(module)
    if not module.bidirectional:
        return catalogue.stack(module.num_layers)
    edges, below = [], ["in"]
    for l in range(1, module.num_layers + 1):
        here = [f"h{l}", f"h{l}{_REVERSE}"]
        edges += [Edge(low, node, 0) for low in below for node in here]
        edges += [Edge(here[0], here[0], 1), Edge(here[1], here[1], -1)]
        below = here
    edges += [Edge(node, "out", 0) for node in below]
    nodes = dict.fromkeys(["in", *(edge.head for edge in edges)], 0)
    return RNNGraph(f"bidirectional-{module.num_layers}", 1, nodes, tuple(edges), ("in",), ("out",))


def arguments_of(module: nn.Module, carry: Carry, forget_reads: ForgetReads) -> dict[str, Any]:
    """The arguments of ``GraphRNN`` for the graph of the module.

    Forget gates that torch has not are closed by their bias, so that the network may need one where torch has none.
    """
    module = _checked(module)
    arguments: dict[str, Any] = {
        "hidden_size": module.hidden_size,
        "input_size": module.input_size,
        "bias": module.bias,
        "batch_first": module.batch_first,
        "device": module.weight_ih_l0.device,
        "dtype": module.weight_ih_l0.dtype,
    }
    if not isinstance(module, nn.LSTM):
        return arguments
    has_closed_gates = carry == "all" and module.num_layers > 1
    if has_closed_gates and forget_reads == "own":
        raise ValueError(
            'With carry="all" and forget_reads="own" no forget gate of an upper layer reads the layer below, as those '
            'of torch.nn.LSTM do. Pass carry="delayed" or forget_reads="all".'
        )
    lstm = {"unit": "multidimensional-lstm", "carry": carry, "forget_reads": forget_reads}
    return arguments | lstm | {"bias": module.bias or has_closed_gates}


def state_dict_of(module: nn.Module, network: GraphWeights) -> dict[str, Tensor]:
    """The parameters of the module under the names, and in the gate order, of the network of its graph."""
    module = _checked(module)
    parameters: dict[str, Tensor] = {}
    for layer in range(module.num_layers):
        for direction in range(2 if module.bidirectional else 1):
            suffix = f"_l{layer}" + ("_reverse" if direction else "")
            node = f"h{layer + 1}" + (_REVERSE if direction else "")
            loop = Edge(node, node, -1 if direction else 1)
            parameters["weight." + edge_name(loop)] = _rows(
                network, loop, getattr(module, f"weight_hh{suffix}").detach()
            )
            entering = getattr(module, f"weight_ih{suffix}").detach()
            below = [edge for edge in network.wiring.into[node] if edge.tail != node]
            for edge, columns in zip(below, entering.chunk(len(below), dim=1), strict=True):
                parameters["weight." + edge_name(edge)] = _rows(network, edge, columns)
            if network.has_bias:
                bias = torch.zeros_like(entering[:, 0])
                if module.bias:
                    bias = getattr(module, f"bias_ih{suffix}").detach() + getattr(module, f"bias_hh{suffix}").detach()
                parameters["bias." + name(node)] = _bias(network, node, loop, bias)
    return parameters


def _rows(network: GraphWeights, edge: Edge, matrix: Tensor) -> Tensor:
    """The rows i, f, z, o of torch as those that the edge feeds; zeros for forget gates that torch has not."""
    if not network.unit.has_cells:
        return matrix
    i, f, z, o = matrix.chunk(4)
    carried = network.wiring.carried[edge.head]
    return torch.cat(
        (z, i, o, *(f if carried_edge.tail == edge.head else torch.zeros_like(f) for carried_edge in carried))
    )


def _bias(network: GraphWeights, node: str, loop: Edge, bias: Tensor) -> Tensor:
    if not network.unit.has_cells:
        return bias
    i, f, z, o = bias.chunk(4)
    closed = torch.full_like(f, -math.inf)
    return torch.cat((z, i, o, *(f if edge == loop else closed for edge in network.wiring.carried[node])))
