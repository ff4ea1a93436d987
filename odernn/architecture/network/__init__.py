"""Any cyclic graph as a trainable network: ``GraphRNN``.

network                 the module;   ``torch_modules``  torch.nn.RNN and LSTM as networks of graphs
parameters, sizes       one matrix an edge, one bias a node: names, shapes, numbers, how they lie in tensors
units                   what a node computes from what it reads
plan                    the order of evaluation, and what can be computed at once
forward_pass, steps     one pass: component after component, and the steps of one that reads itself
"""

from odernn.architecture.network.network import GraphRNN

__all__ = ["GraphRNN"]
