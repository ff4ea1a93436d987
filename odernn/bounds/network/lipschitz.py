"""How far two runs on different inputs can part: stacks of nonexpansive layers.   docs/derivations/nonexpansive.md

    ‖h_n − h'_n‖ ≤ Σ_j c_j ‖u_{n−j} − u'_{n−j}‖,      c^l_j = ω_l c^l_{j−1} + ‖V^l‖ c^{l−1}_j,   c^0 = (1, 0, 0, …)

thm-Lip. One layer with ω = 1: ‖V‖ for every input, so ‖V‖ √N ‖u − u'‖₂. Natural logarithms, rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from odernn.bounds.network.report import QuantityBound, power_of, unknown
from odernn.bounds.network.states import outward
from odernn.bounds.network.sweeps import NOTHING, Logs, linear_growth

OVER_ALL = "‖h_N − h'_N‖ / ‖u − u'‖₂"
A_STEP = "‖h_N − h'_N‖ / max_n ‖u_n − u'_n‖"
OF_MEAN = "‖h̄ − h̄'‖ / ‖u − u'‖₂, h̄ the mean"
COMPUTED = "‖ĥ_N − ĥ'_N‖ / ‖u − u'‖₂ as computed, but for rounding"
ROUNDED = "‖ĥ_N − ĥ'_N‖ as computed: rounding"
ABOUT_ALL = "all N inputs may change"


@dataclass(frozen=True, eq=False)
class Reach:
    """What a change of the inputs becomes in one level: log c_j (N,), of the exact W and of the computed one.

    log_error  of ‖ĥ_n − h_n‖, h_n by the computed W in exact arithmetic, (N,); None with ``computed``: none is known
    """

    exact: Logs
    computed: Logs | None
    log_error: Logs | None

    @classmethod
    def of_inputs(cls, steps: int) -> Reach:
        """Level 0: an input that changes is itself at one time."""
        one = np.full(steps, NOTHING)
        one[0] = 0.0
        return cls(one, one, np.full(steps, NOTHING))

    def above(self, log_size: float, log_computed: float, log_V: float, log_rounding: Logs | None) -> Reach:
        """Of the next level: ‖W‖ exact and computed, ‖V‖, and what a step of it rounds off, (N,).   thm-Lip (c), (d)"""
        exact = linear_growth(log_size, log_V + self.exact)
        if self.computed is None or self.log_error is None or log_rounding is None:
            return Reach(exact, None, None)
        computed = linear_growth(log_computed, log_V + self.computed)
        error = linear_growth(log_computed, np.logaddexp(log_V + self.log_error, log_rounding))
        return Reach(exact, computed, error)


def lines(reach: Reach, theorem: str, of_rounding: str = "thm-Lip (d)") -> Iterator[QuantityBound]:
    """The largest over all pairs of inputs: of exact runs, and of two runs in the dtype."""
    yield QuantityBound(OVER_ALL, euclidean(reach.exact), theorem, ABOUT_ALL)
    yield QuantityBound(A_STEP, total(reach.exact), theorem, ABOUT_ALL)
    yield QuantityBound(OF_MEAN, euclidean(averaged(reach.exact)), theorem, ABOUT_ALL)
    if reach.computed is None or reach.log_error is None:
        yield unknown(COMPUTED, "it may overflow, or no theorem here on its rounding, in this layer or one below")
        return
    both = float(outward(math.log(2) + float(reach.log_error.max())))
    about = f"|u|, |u'| ≤ U: add {power_of(both)}, twice what a run may round off"
    yield QuantityBound(COMPUTED, euclidean(reach.computed), of_rounding, about)
    yield QuantityBound(ROUNDED, both, of_rounding, "|u|, |u'| ≤ U")


def euclidean(logs: Logs) -> float:
    """log (Σ c_j²)^{1/2}."""
    return total(2 * logs) / 2


def total(logs: Logs) -> float:
    """log Σ c_j."""
    found = float(np.logaddexp.reduce(logs))
    return float(outward(found, len(logs) * (1.0 + abs(found))))


def averaged(logs: Logs) -> Logs:
    """log (1/N) Σ_{i≤j} c_i: what the mean of h_1 … h_N sees of an input j steps before the end."""
    sums = np.logaddexp.accumulate(logs)
    return np.asarray(outward(sums - math.log(len(logs)), len(logs) * (1.0 + np.abs(sums))))
