"""Every bound for one network: ``certify``."""

from odernn.bounds.network.network_bounds import certify
from odernn.bounds.network.report import LayerBounds, LogBound, NetworkBounds

__all__ = ["LayerBounds", "LogBound", "NetworkBounds", "certify"]
