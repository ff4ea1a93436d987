"""Every bound for one network: ``certify``.

network_bounds  the theorems put together for the weights of a network
report          what comes out, and as text
weights         the coefficients of a network as the bounds need them
states          bounds on |y_n| and |z_n| of each neuron, of the exact recurrence and of the computed one
"""

from odernn.bounds.network.network_bounds import certify
from odernn.bounds.network.report import LayerBounds, LogBound, NetworkBounds

__all__ = ["LayerBounds", "LogBound", "NetworkBounds", "certify"]
