"""The cyclic graph of a module, found by running it: ``graph_of``."""

from odernn.architecture.probe.interventions import ProbeError
from odernn.architecture.probe.probe import HasNodeValues, graph_of, graph_of_step

__all__ = ["HasNodeValues", "ProbeError", "graph_of", "graph_of_step"]
