# Claims: sam-70
"""The bound on the gradient of the error at one time, sam (70): (69) summed over layers and steps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odernn.published.sources import Source
from verification.cases.chain_gradients import at_rest
from verification.cases.network_gradient import gradient_parameters
from verification.cases.nominate import first_violation
from verification.cases.top_layer_gradients import last_error, top_error_case
from verification.claim import Attempt, Case, Claim, Parameters
from verification.domains import Budget
from verification.measure.gradient_forms import SAM_70, GradientForm

BELOW = gradient_parameters("b", whole="no", depths=range(2, 3), layer=lambda _: range(1, 2))


def _stiff_below() -> Iterator[Parameters]:
    """T = 1, dt = 1/10, L = 2: w^2 = −1 = −α, the layer below stiffer and stiffer."""
    for size in (10, 100, 1000, 10**4, 10**5):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-size), Fraction(-1)])


def below_case(form: GradientForm = SAM_70) -> Case:
    """θ = b^1 of two layers: the bound has w^L only."""
    inequality = last_error(form, BELOW)

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((inequality,), _stiff_below(), "two layers at rest, simplest first")

    return Case("sam (70), L = 2", "|∂E_n/∂θ|, θ = b^1", ask, inequality.check)


CLAIMS = (
    Claim(
        id="sam-70",
        source=Source("sam", "(70)"),
        statement="for every n and θ: |∂E_n/∂θ| ≤ ((1−dt^L)/(1−dt)) T e^{w̄^L T} V̄ (Ȳ + F) Δ, F, Δ of (42), w̄^L = "
        "max(2, ‖w^L‖_∞ + α); α > 0, dt < 1",
        semantics="real",
        cases=(top_error_case(SAM_70), below_case()),
    ),
)
