"""The cyclic graph of a module, found by running it: ``graph_of``.

probe           which modules, which nodes, and the graph from all rounds
interventions   what one time step reads: change one state, hold the others
unrolled        what the nodes of a whole sequence read, and one graph from that
"""

from odernn.architecture.probe.probe import HasNodeValues, HasStepForm, ProbeError, graph_of, graph_of_step
from odernn.cells.step_form import StepForm

__all__ = ["HasNodeValues", "HasStepForm", "ProbeError", "StepForm", "graph_of", "graph_of_step"]
