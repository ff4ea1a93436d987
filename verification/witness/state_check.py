"""A bound on states at the run of a witness, recomputed from the exact numbers with zero tolerance.

Premises, trajectory and bound are decided in ball arithmetic and in the independent second back-end, and what the file
records is compared with what they find. No search code, no torch.
"""

from __future__ import annotations

from typing import Any

from odernn.published.networks import ROWS, PublishedRow
from verification.certify import balls, limit
from verification.certify.second import intervals as second
from verification.claim import Claim, Part
from verification.instance import Instance, to_plain
from verification.system import UNICORNN
from verification.witness.state_run import FREE, LIMIT, PRINTED, StateRun, record
from verification.witness.text import WitnessError

SECOND_BITS = (256, 1024, 4096)
MAX_WORK = 500_000
"""``work`` of a run that is certified: half a minute for the second back-end. The longest run of any budget has
448,000.
"""
BALL_EFFORT, SECOND_EFFORT = 2**29, 2**27
"""Work × bits up to which the precision of either back-end is escalated: some ten seconds each."""
MAX_NETWORK_WORK, NETWORK_EFFORT = 2**25, 2**33
"""The same for the route of large witnesses, in ``network_work``: matrix products cost less an entry."""
TANH_WORK = 100
"""What a tanh in balls and in floats with proved roundings costs, in multiplications of a matrix product."""


def work(instance: Instance, *, layer: int, step: int) -> int:
    """Input channels, neuron groups and nonzero weights of the layers that are run, times the steps."""
    layers = instance.layers[:layer]
    weights = sum(v != 0 for one_layer in layers for row in one_layer.input_weights for v in row)
    return step * (instance.inputs.size + weights + sum(len(one_layer.groups) for one_layer in layers))


def network_work(instance: Instance, *, layer: int, step: int) -> int:
    """Entries of V, and TANH_WORK for every neuron group, of the layers that are run, times the steps."""
    layers = instance.layers[:layer]
    return step * sum(len(one_layer.groups) * (len(one_layer.input_weights[0]) + TANH_WORK) for one_layer in layers)


def is_large(claim: Claim, instance: Instance, *, layer: int, step: int) -> bool:
    """Whether the network certificates decide: more than ``MAX_WORK``, and UnICORNN's own recurrence, which they are
    about.
    """
    return claim.bound.system is UNICORNN and work(instance, layer=layer, step=step) > MAX_WORK


def first_opinion(claim: Claim, part: Part, instance: Instance, *, layer: int, step: int, steps: int) -> balls.Outcome:
    """The balls' decision, with precision escalated until it decides, as far as ``BALL_EFFORT`` goes; of a large
    instance, in matrix products and as far as ``NETWORK_EFFORT`` goes.
    """
    if is_large(claim, instance, layer=layer, step=step):
        max_bits = min(balls.MAX_BITS, NETWORK_EFFORT // network_work(instance, layer=layer, step=step))
        from verification.certify import network_states  # of large networks only

        return network_states.decide(claim, part, instance, layer=layer, step=step, steps=steps, max_bits=max_bits)
    max_bits = min(balls.MAX_BITS, BALL_EFFORT // work(instance, layer=layer, step=step))
    return balls.decide(claim, part, instance, layer=layer, step=step, steps=steps, max_bits=max_bits)


def second_opinion(
    claim: Claim, part: Part, instance: Instance, *, layer: int, step: int, steps: int
) -> dict[str, Any]:
    """The second back-end's decision, with precision escalated until it decides, as far as ``SECOND_EFFORT`` goes; of a
    large instance, by float64 with proved roundings.
    """
    plain = to_plain(instance)
    asked: dict[str, Any] = {
        "layer": layer,
        "step": step,
        "steps": steps,
        "quantity": part.quantity,
        "norm": part.norm,
        "bound": part.second_bound,
        "premises": claim.bound.second_hypotheses,
    }
    if is_large(claim, instance, layer=layer, step=step):
        from verification.certify.second import network_states

        return network_states.decide(plain, **asked)
    answer: dict[str, Any] = {"status": "undecided", "measured": None, "bound": None}
    effort = work(instance, layer=layer, step=step)
    for bits in SECOND_BITS:
        if bits > SECOND_BITS[0] and effort * bits > SECOND_EFFORT:
            break
        answer = second.decide(plain, step_function=claim.bound.system.second_step, bits=bits, **asked)
        if answer["status"] != "undecided":
            break
    return answer


def check_run(claim: Claim, part: Part, domain: str, run: StateRun) -> tuple[bool, list[str]]:
    """Whether the run violates the part of the bound, and every sentence of the evidence.

    ``domain`` is where the statement is read: "free" at any run, "printed" at a row of Table 6, "limit" at every
    dt ≤ dt₀. WitnessError if the run is about another system, or too long to be replayed.
    """
    system = claim.bound.system.name
    if run.instance.system != system:
        raise WitnessError(f'the instance runs "{run.instance.system}", the claim is about "{system}".')
    _refuse_endless(run, claim)
    try:
        certified, lines = _recompute(run, claim, part)
        reading_holds, line = _check_domain(run, claim, part, domain)
    except Exception as error:  # numbers that are out of a formula's domain, or a user's own claim
        return False, [f"error    the claim cannot be evaluated: {type(error).__name__}: {error}"]
    return certified and reading_holds, [*lines, *([line] if line else [])]


def _refuse_endless(run: StateRun, claim: Claim) -> None:
    """WitnessError for a run that takes too long by either route."""
    where = {"layer": run.layer, "step": run.step}
    effort = work(run.instance, **where)
    if effort <= MAX_WORK:
        return
    spent = f"{run.step} steps of {effort // run.step} channels, groups and weights are too many to replay"
    if claim.bound.system is not UNICORNN:
        raise WitnessError(f"{spent}; at most {MAX_WORK} in all for a system of one's own.")
    if (large := network_work(run.instance, **where)) > MAX_NETWORK_WORK:
        raise WitnessError(
            f"{spent}; at most {MAX_WORK} in all, or {MAX_NETWORK_WORK} in matrix products, where it is {large}."
        )


def _recompute(run: StateRun, claim: Claim, part: Part) -> tuple[bool, list[str]]:
    """Whether both back-ends prove the violation, premises included, and the file records what they find."""
    where = {"layer": run.layer, "step": run.step, "steps": run.steps}
    first = first_opinion(claim, part, run.instance, **where)
    lines = [
        f"premise  {text}: margin {margin:.6g}, {'holds' if proved else 'NOT PROVED'}"
        for text, margin, proved in first.premises
    ]
    lines.append(
        f"balls    {first.status} at {first.bits} bits: log measured ≥ {first.measured[0]:.10g}, "
        f"log bound ≤ {first.bound[1]:.10g}"
    )
    certified = first.is_refutation
    if certified:
        other = second_opinion(claim, part, run.instance, **where)
        certified = second.is_refutation(other)
        name = "floats" if is_large(claim, run.instance, layer=run.layer, step=run.step) else "mpmath"
        sides = f"log measured {other['measured']}, log bound {other['bound']}"
        lines.append(f"{name}   {other['status']}: {other.get('because') or sides}")
        lines += [f"mpmath   premise {text}: {_margin_text(*proof)}" for text, *proof in other["premises"]]
    for name, recorded, recomputed in (
        ("log_measured", run.log_measured, first.measured[0]),
        ("log_bound", run.log_bound, first.bound[1]),
    ):
        if recorded != record(recomputed):
            certified = False
            lines.append(f"recorded {name} = {recorded!r}, recomputed {record(recomputed)}: the file was changed")
    return certified, lines


def _margin_text(margin: float | None, proved: bool) -> str:
    if margin is None:
        return "NOT PROVED: its margin is not typed for intervals (Premise.second_margin)"
    return f"margin {margin:.6g}, {'holds' if proved else 'NOT PROVED'}"


def _is_of_row(instance: Instance, steps: int, row: PublishedRow) -> bool:
    """Whether the instance runs the first layers of the row's network: its α, dt, N, m and d."""
    dt = tuple(layer.dt for layer in instance.layers)
    shape = (instance.hidden_size, instance.inputs.size, steps)
    return (instance.alpha, dt) == (row.alpha, row.dt[: len(dt)]) and shape == (
        row.hidden_size,
        row.input_size,
        row.steps,
    )


def _check_domain(run: StateRun, claim: Claim, part: Part, domain: str) -> tuple[bool, str]:
    """What an asymptotic claim asks beyond one violation: a row of the paper's table, or every dt ≤ dt₀."""
    asked = (PRINTED, LIMIT) if claim.bound.asymptotic else (FREE,)
    if domain not in asked:
        return False, f"domain   is {domain}; this claim is read as {' or '.join(asked)}"
    if (run.limit is not None) != (domain == LIMIT):
        return False, f"limit    {'missing from' if domain == LIMIT else 'in'} a witness that is read as {domain}"
    if domain == FREE:
        return True, ""
    if domain == PRINTED:
        rows = [row.name for row in ROWS if _is_of_row(run.instance, run.steps, row)]
        return bool(rows), f"printed  hyperparameters of {rows[0]}" if rows else "printed  of no row of Table 6"
    top, data = run.instance.layers[run.layer - 1], run.limit
    assert data is not None
    if (data.alpha, data.horizon, data.layer) != (run.instance.alpha, run.steps * top.dt, run.layer):
        return False, "limit    its α, T or layer are not those of the instance"
    outcome = limit.check(claim, part, data)
    return outcome.holds, f"limit    {outcome.because}"
