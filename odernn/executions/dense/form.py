"""What a walk has to know of a recurrence, without its arithmetic: how many planes, and which products of which.

A *plane* is one number for every sample and unit. A step has *stages*, one after the other:

    a = M v                       M (results · n, sources · n), one a stage; v: ``sources`` planes from ``source`` on
    planes of step n = pass(a, x_n, vectors, planes of step n − 1)

In the first stage v are planes of step n − 1, in a later one planes of step n, which an earlier stage has written.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DenseStage:
    """source, sources  the planes v of the record that the matrix reads, none: there is no matrix
    results             the planes of a
    gradient            the first of ``results`` planes of dE/da among the gradients
    is_added            whether dE/v of the matrix comes on top of what the pass leaves there, or is all there is
    """

    source: int = 0
    sources: int = 1
    results: int = 1
    gradient: int = 0
    is_added: bool = True


@dataclass(frozen=True)
class Form:
    """states    planes of the state, the first of the record, which are the rows that come out
    kept      planes of the record after them, for the derivative or for a later stage to read
    drives    for every plane of x the number of the plane of dE/dx among the gradients
    gradients planes of dE/da and dE/dx; one of them may be both
    vectors   coefficients of one number a unit
    numbers   of c after 0, 1 and ½, the same for all units
    """

    states: int
    kept: int
    drives: tuple[int, ...]
    gradients: int
    stages: tuple[DenseStage, ...]
    vectors: int = 0
    numbers: int = 1

    @property
    def costates(self) -> int:
        """Planes that have a derivative of their own: the states, and what a later stage reads."""
        return max(self.states, *(stage.source + stage.sources for stage in self.stages))
