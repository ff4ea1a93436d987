"""Any cyclic graph as a trainable network: ``GraphRNN``."""

from odernn.architecture.network.network import GraphRNN

__all__ = ["GraphRNN"]
