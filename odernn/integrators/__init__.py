"""One step of any Runge–Kutta method on any field, in torch: explicit, implicit, partitioned, composed.

>>> import torch
>>> from odernn import tableaus
>>> from odernn.fields.oscillator import Oscillator
>>> field = Oscillator(torch.ones(3, dtype=torch.float64), alpha=1.0)
>>> step = prepared(tableaus.GAUSS_2, field, 0.1)
>>> y = z = x = torch.zeros(3, dtype=torch.float64)
>>> report = step((y + 1, z), x)
>>> report.iterations, bool(report.converged)
(4, True)

    coefficients        a method as floats, and the order in which its slopes can be computed
    one_step            ``step``, and ``prepared`` for many of them;   ``explicit``  stage values, slopes, new values
    explicit_rows       the steps of an explicit method on a field in dense form as one operator; ``explicit_stages``
                        their equations, and the adjoint in torch's operations
    stage_system        all stages on a field in dense form as one equation; ``transformation``  A by its eigenvalues;
                        ``matrices``  dense ones, or neuron by neuron;   ``activations``  entrywise functions
    batch_rows          the steps of a sequence as one operator; ``batch_walk``, ``batch_solver``  how it solves a batch
    newton              what is solved sample by sample;   ``implicit``, ``implicit_function``  on fields without a form
    linear              linear fields in closed form
    defects             how far a step is from symplectic, reversible or symmetric
    responses           a step as a linear map of the state and of what activations add
    guarantees          what method and field together imply for the weights as they are
"""

from odernn.integrators.coefficients import FloatCoefficients, coefficients_for
from odernn.integrators.defects import reversibility_defect, symmetry_defect, symplecticity_defect
from odernn.integrators.newton import ConvergenceError, ConvergenceWarning, Newton
from odernn.integrators.one_step import Step, StepReport, prepared, step

__all__ = [
    "ConvergenceError",
    "ConvergenceWarning",
    "FloatCoefficients",
    "Newton",
    "Step",
    "StepReport",
    "coefficients_for",
    "prepared",
    "reversibility_defect",
    "step",
    "symmetry_defect",
    "symplecticity_defect",
]
