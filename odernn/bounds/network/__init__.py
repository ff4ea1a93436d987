"""Every bound for one network: ``certify``."""

from odernn.bounds.network.network_bounds import LayerBounds, LogBound, NetworkBounds, certify

__all__ = ["LayerBounds", "LogBound", "NetworkBounds", "certify"]
