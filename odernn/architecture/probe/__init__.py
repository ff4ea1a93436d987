"""The cyclic graph of a module, found by running it: ``graph_of``."""

from odernn.architecture.probe.probe import HasNodeValues, HasStepForm, ProbeError, graph_of, graph_of_step
from odernn.cells.step_form import StepForm

__all__ = ["HasNodeValues", "HasStepForm", "ProbeError", "StepForm", "graph_of", "graph_of_step"]
