"""The second opinion on a bound on states of a large network: float64 with proved roundings (``network``).

Input is the witness's plain data, parsed here once more; nothing from odernn or from the first opinion. The bound and
the premises are those typed for mpmath's intervals, as in ``second``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verification.certify.second import intervals as second
from verification.certify.second.network import FloatNetwork, NotEnclosedError

BITS = 256
"""Of the intervals in which bound, premises and norm are formed; the states are float64 numbers with radii."""


def decide(
    plain: dict[str, Any],
    *,
    layer: int,
    step: int,
    steps: int,
    quantity: str,
    norm: str,
    bound: Callable[[Any, Any], Any],
    premises: Sequence[second.Premise] = (),
) -> dict[str, Any]:
    """Is ‖quantity of layer ``layer`` at ``step``‖ above the bound? As ``second.decide``, for UnICORNN's recurrence.

    "undecided" also where float64 does not enclose the run; "because" then says why, else it is "".
    """
    with second.iv.workprec(BITS):
        settings = [second.setting_of(plain, layer=l, step=step, steps=steps) for l in range(1, layer + 1)]
        proofs = second.premises_at(settings, premises)
        try:
            box = FloatNetwork(_network(plain, layer, step)).states()[-1][0 if quantity == "position" else 1]
        except (NotEnclosedError, OverflowError) as error:
            return {
                "status": "undecided",
                "measured": None,
                "bound": None,
                "premises": proofs,
                "because": str(error),
            }
        ends = zip(box.lower[-1].tolist(), box.upper[-1].tolist(), strict=True)
        values = [second.iv.mpf([lower, upper]) for lower, upper in ends]
        answer = second.compared(settings, values, norm=norm, bound=bound, premises=premises)
        return {**answer, "because": ""}


def _network(plain: dict[str, Any], layer: int, step: int) -> dict[str, Any]:
    """The first layers and steps as ``network`` reads them: a group is one neuron, and its weights upward count
    it as often as it has members.
    """
    size = plain["inputs"]["size"]
    rows: list[list[str]] = []
    for count, texts in plain["inputs"]["runs"]:
        row = texts * size if len(texts) == 1 else texts
        rows += [row] * min(count, step - len(rows))
    if len(rows) != step:
        raise ValueError(f"step {step} lies beyond the {len(rows)} inputs")
    members, layers = [1] * size, []
    for entry in plain["layers"][:layer]:
        groups = entry["groups"]
        V = [[_times(k, text) for k, text in zip(members, row, strict=True)] for row in entry["input_weights"]]
        zero = ["0"] * len(groups)
        own = {name: [group[field] for group in groups] for name, field in (("w", "w"), ("c", "c"), ("b", "bias"))}
        layers.append({"dt": entry["dt"], "alpha": plain["alpha"], "V": V, "y0": zero, "z0": zero, **own})
        members = [group["multiplicity"] for group in groups]
    return {"layers": layers, "index": "icml", "previous": [], "inputs": rows, "target": []}


def _times(count: int, text: str) -> str:
    return text if count == 1 else str(count * second.fraction(text))
