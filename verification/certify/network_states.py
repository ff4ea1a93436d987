"""The first opinion on a bound on states, for networks too large for ``balls``: matrix products of balls (``network``).

The same decision by the same comparison (``balls.outcome_of``); only the trajectory comes from elsewhere, and its
accuracy is asked for in advance instead of the precision being doubled. ``second.network_states`` is the other opinion.
"""

from __future__ import annotations

import flint

from verification.certify import balls, network
from verification.claim import Claim, Part
from verification.instance import Instance
from verification.system import UNICORNN

ACCURACIES = (64, 256, 1024)
"""Relative radii 2^-64, …; the first is below ``balls.TIGHT``, so that what certifies can be recorded."""


def decide(
    claim: Claim,
    part: Part,
    instance: Instance,
    *,
    layer: int,
    step: int,
    steps: int,
    max_bits: int = network.MAX_BITS,
) -> balls.Outcome:
    """Does the instance violate the claim's part at ``step``, with every premise? As ``balls.decide``, but for
    UnICORNN's own recurrence only.

    A run that ``max_bits`` do not enclose is "undecided". Raises ValueError unless 1 ≤ step ≤ steps, or for another
    system; StepBeyondInputsError if the instance has fewer inputs.
    """
    if claim.bound.system is not UNICORNN:
        raise ValueError(f'The network certificate is about "{UNICORNN.name}", not about "{claim.bound.system.name}".')
    if not 1 <= step <= steps:
        raise ValueError(f"Step {step} is not one of the claim's steps 1 to {steps}.")
    if step > instance.steps:
        raise balls.StepBeyondInputsError(f"Step {step} lies beyond the {instance.steps} inputs of the instance.")
    data = network.of_groups(instance.truncated(step), layer)
    outcome = None
    for accuracy in ACCURACIES:
        try:
            run, bits = network.sharp_run(data, accuracy, max_bits)
        except network.UndecidedError:
            break
        with flint.ctx.workprec(bits):
            values = (run.y if part.quantity == "position" else run.z)[step][layer - 1]
            outcome = balls.outcome_of(claim, part, instance, values, layer=layer, step=step, steps=steps, bits=bits)
        if outcome.status != "undecided" and outcome.is_tight:
            return outcome
    if outcome is not None:
        return outcome
    with flint.ctx.workprec(balls.FIRST_BITS):  # nothing is known of the state; the premises are
        unknown = [flint.arb("nan")] * len(instance.layers[layer - 1].groups)
        return balls.outcome_of(
            claim, part, instance, unknown, layer=layer, step=step, steps=steps, bits=balls.FIRST_BITS
        )
