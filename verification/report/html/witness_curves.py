"""Both sides of a refuted inequality over n: the network of its witness, stopped after n steps, in floats.

left(n) and right(n) of the parameters with N = n and the lists of N numbers cut to their first n
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from verification.claim import Case, Claim, ClaimError, Parameters
from verification.parameters import Guarded
from verification.readings.reading import meant
from verification.report.pictures.against_bounds import BoundCurve
from verification.report.rows.claims import is_question
from verification.verdict import LOG_10, REFUTED, Judgement
from verification.witness.file import from_json

MOST_POINTS = 20
"""Of a curve, evenly in log n; each is a run of n steps in balls."""
LEAST_STEPS, MOST_STEPS = 8, 4000
COUNT = "N"
"""The name that a case gives to its number of steps."""
NETWORK, NOT_STOPPED = frozenset({COUNT, "dt", "w"}), frozenset({"m", "T"})
"""Parameters of a chain that n steps stop. With T in the place of dt fewer steps are longer ones; m says that it is a
whole network, which has no curve yet.
"""


def witness_curves(claims: Mapping[str, Claim], judgements: Iterable[Judgement]) -> dict[str, BoundCurve]:
    """By claim: of the meant cells that fall, and whose witness has steps, the one that fails by most."""
    by_claim: dict[str, list[Judgement]] = {}
    for cell in judgements:
        if is_question(cell) and cell.claim in claims:
            by_claim.setdefault(cell.claim, []).append(cell)
    found = {}
    for claim, cells in by_claim.items():
        falling = [cell for cell in meant(cells) if cell.verdict == REFUTED and cell.witness and cell.slack is not None]
        for cell in sorted(falling, key=lambda cell: cell.slack or 0.0):
            curve = _curve(claims[claim].case(cell.domain, cell.quantity), cell)
            if curve is not None:
                found[claim] = curve
                break
    return found


def _curve(case: Case, cell: Judgement) -> BoundCurve | None:
    """None for a witness without steps, or whose sides are not those of one inequality."""
    if not isinstance(case.check, Guarded) or case.check.sizes is None:
        return None
    given = from_json(cell.witness).parameters
    if not isinstance(given, dict) or not set(given) >= NETWORK or set(given) & NOT_STOPPED:
        return None
    if not LEAST_STEPS <= int(given[COUNT]) <= MOST_STEPS:
        return None
    last = int(given[COUNT])
    steps = sorted({round(n) for n in np.geomspace(1, last, MOST_POINTS)})
    sides = [(n, *_sides(case.check, stopped(given, n))) for n in steps]
    known = [(n, left / LOG_10, right / LOG_10) for n, left, right in sides if left is not None and right is not None]
    if len(known) < LEAST_STEPS or known[-1][0] != last:
        return None
    over = [n for n, left, right in known if left > right]
    return BoundCurve(
        symbol=cell.symbol,
        network="",
        where=f"{cell.domain}: the witness, stopped after n steps",
        steps=tuple(n for n, *_ in known),
        measured=tuple(left for _, left, _ in known),
        bound=tuple(right for *_, right in known),
        crossing=over[0] if over else None,
    )


def _sides(check: Guarded, parameters: Parameters) -> tuple[float | None, float | None]:
    """Nothing where a shorter run has no such number: a place of it lies beyond its end."""
    assert check.sizes is not None
    try:
        return check.sizes(dict(parameters))
    except (ArithmeticError, ClaimError, IndexError, ValueError):
        return None, None


def stopped(parameters: Parameters, n: int) -> dict[str, str]:
    """The same network after n steps: N = n, and of every list of N numbers the first n."""
    last = int(parameters[COUNT])
    cut = {name: _first(text, last, n) for name, text in parameters.items()}
    return {**cut, COUNT: str(n)}


def _first(text: str, last: int, n: int) -> str:
    words: Sequence[str] = text.split()
    return " ".join(words[:n]) if len(words) == last else text
