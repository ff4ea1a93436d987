"""The verdict of a trial: what an engineer asks of a recurrent layer, answered in words.

Can it blow up?           bounds on its states that hold for all inputs; else why there is none, and what was seen
Does the gradient arrive? ‖∂E/∂X_1‖ against ‖∂E/∂X_N‖; how many last steps have 99 % of Σ ‖∂E/∂X_n‖²
Does it remember?         e^{λN}, what is left at N of a difference at the start, λ the largest exponent:
                          at least a half: it remembers; less than 1/1000: it forgets; between them it fades.
                          More than twice: near states part; more than 1000 times: it is unstable
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from verification.models.exponents import SampleExponents
from verification.models.found import LayerTrial, TrialFigures
from verification.models.ledger import CellLedger
from verification.monitors import Measurement
from verification.report.numbers import plural
from verification.trained.row import Row, said

SHARE = 0.99
STEEP = 3.0
"""Decades between the gradients of the first and the last step from which on they are said to vanish or explode."""

LARGEST_LOG = 88.0
"""Of a float32, rounded down."""

REFUTED_IN_GENERAL = frozenset({"icml S(7)"})
"""Bounds that the monitors compare, and that do not hold of all weights and inputs (icml-C.1 of the ledger)."""
EARLY = 0.25
"""Of the steps: silence up to there is a beginning."""

KEPT, FORGOTTEN = math.log(2), STEEP * math.log(10)
"""|λ| N up to which distances are kept, and from which on they are lost, or explode: as gradients are."""


def verdict(trial: TrialFigures) -> tuple[str, ...]:
    """For each layer what may blow up, what vanishes, what it remembers; what does not hold comes first."""
    lines = [line for layer in trial.layers for line in _broken(layer)]
    lines += [line for ledger in trial.ledgers for line in _exceeded(ledger)]
    for layer in trial.layers:
        head = f"{layer.name or 'the model'} ({layer.kind}{_first_of(layer.calls)})"
        lines += [f"{head}: {text}" for text in (_states(layer), _gradients(layer), _memory(layer)) if text]
    lines += [line for ledger in trial.ledgers for line in _compared(ledger)]
    if not trial.layers:
        lines.append(
            "No recurrence was found: no cell of odernn, no torch.nn.LSTM, GRU or RNN, and no module that is called "
            "again and again with what it returned. Put one step of the recurrence into a module of its own."
        )
        if trial.input_gradients is not None:
            lines.append(f"Inputs: {_ratio(trial.input_gradients, 'input')}.")
    return tuple(lines)


def _first_of(calls: int) -> str:
    return f", the first of {calls} calls" if calls > 1 else ""


def _broken(layer: LayerTrial) -> Iterator[str]:
    if layer.broken_at:
        yield f"{layer.name}: the state is not finite first at n = {layer.broken_at}."
    for each in layer.measurements:
        if each.quantity.startswith("non_finite"):
            block = each.quantity.removeprefix("non_finite_")
            yield f"{layer.name}: the state {block} is {each.value} first at n = {each.n}."
        elif each.holds is False:
            yield f"{layer.name}: {quantity(each)} is {short(each.value)}; {each.bound or 'it'} does not hold."


# --- states -----------------------------------------------------------------------------------------------------------


def _states(layer: LayerTrial) -> str:
    """Bounds that hold for all inputs, if every block has one that these numbers can hold; else what was seen."""
    seen = "the largest entries are " + ", ".join(f"{name} {short(value)}" for name, value in layer.largest.items())
    if not layer.largest or any(not math.isfinite(value) for value in layer.largest.values()):
        return ""
    if layer.bound:
        return f"bounded for all inputs: {layer.bound}; on these {seen}."
    about = [each for each in layer.bounded if each.quantity.startswith("largest_") and each.n is not None]
    if over := [each.bound for each in about if each.holds is False]:
        return f"it exceeds {', '.join(dict.fromkeys(over))}; {seen}."
    about = [each for each in about if each.bound not in REFUTED_IN_GENERAL]
    tightest: dict[str, Measurement] = {}
    for each in about:
        kept = tightest.get(each.quantity)
        if kept is None or (each.log_bound or 0.0) < (kept.log_bound or 0.0):
            tightest[each.quantity] = each
    if {f"largest_{name}" for name in layer.largest} - set(tightest):
        return f"its states have no bound for all inputs, because {layer.unbounded}; on these {seen}."
    by = ", ".join(dict.fromkeys(each.bound for each in tightest.values()))
    if any((each.log_bound or 0.0) > LARGEST_LOG for each in tightest.values()):
        return f"its bound ({by}) is beyond the largest float, so that it excludes no overflow; on these inputs {seen}."
    nearest = min(slack(each) for each in tightest.values())
    near = f"; where they come nearest to a bound, they are {share_of(nearest)} of it" if math.isfinite(nearest) else ""
    return f"bounded for all inputs up to step {layer.steps} ({by}); on these {seen}{near}."


# --- gradients --------------------------------------------------------------------------------------------------------


def _gradients(layer: LayerTrial) -> str:
    if layer.gradients is None:
        return ""
    if len(layer.gradients) == 1 and layer.calls > 1:
        return (
            f"it is called {layer.calls} times with one step each, and one call is looked at: nothing is seen of its "
            "gradients over time. Give it the whole sequence at once, or put its cell into the loop."
        )
    is_reverse = layer.name.endswith("_reverse")
    return f"{_ratio(layer.gradients, 'state', is_reverse=is_reverse, contracts=_contracts(layer))}."


def _contracts(layer: LayerTrial) -> bool:
    """Whether differences shrink on every sample that was followed, and in every step whose Jacobian was written out.

    Exponents alone are of the last steps, too, on which E may not depend: those shrink what the steps before stretch.
    """
    exponents = [each.largest[0] for each in layer.samples]
    norms = [each.largest for each in layer.spectra]
    return bool(exponents and norms) and max(exponents) < 0 and max(norms) <= 1


def _ratio(norms: NDArray[np.float64], what: str, *, is_reverse: bool = False, contracts: bool = False) -> str:
    every = len(norms)
    if not np.isfinite(norms).all():
        return f"gradients by the {what}s are not finite first at step {int(np.argmin(np.isfinite(norms))) + 1}"
    if not norms.any():
        return f"E does not depend on its {what}s"
    if every < 2:
        return "there is one step only, so that no gradient goes back in time"
    count = int(np.flatnonzero(norms)[-1]) + 1
    until = f"E does not depend on its {what}s after step {count} of {every}" if count < every else ""
    if is_reverse and until:
        until += " (it goes backward: its step 1 reads the last input)"
    if count == 1:
        return f"{until}, so that no gradient goes through its recurrence"
    return (f"{until}; " if until else "") + _change(norms[:count], "X" if what == "state" else "u", contracts)


def _change(norms: NDArray[np.float64], letter: str, contracts: bool = False) -> str:
    """Of gradients whose last one is not 0."""
    count = len(norms)
    if norms[0] == 0:
        first = int(np.flatnonzero(norms)[0]) + 1
        return (
            f"gradients vanish: those before step {first} are 0, by underflow or silent units, and that of step "
            f"{count} is not"
        )
    decades = math.log10(norms[0] / norms[-1])
    half = math.log10(norms[0] / norms[count // 2]) if norms[count // 2] > 0 else math.inf
    grows = decades > STEEP
    goes_on = grows and half > STEEP / 2
    explodes = goes_on and not contracts
    change = "vanish" if decades < -STEEP else "explode" if explodes else "neither vanish nor explode"
    last = remembered(norms)
    late = ""
    if goes_on and contracts:
        late = ", as E hardly depends on its last steps: its own steps make differences smaller"
    elif grows and not explodes:
        late = ", nearly all of it within the last steps, on which E hardly depends"
    return (
        f"gradients {change}: that of step 1 is 10^{decades:.1f} of step {count}'s{late}; the last {last} of {count} "
        f"steps have {100 * SHARE:.0f} % of Σ ‖∂E/∂{letter}_n‖², their squares summed"
    )


def remembered(norms: NDArray[np.float64]) -> int:
    """The smallest m so that the last m steps have ``SHARE`` of Σ ‖∂E/∂X_n‖²; scaled, as squares underflow."""
    scaled = norms / norms.max()
    squares = np.cumsum(scaled[::-1] ** 2)
    return int(np.searchsorted(squares, SHARE * squares[-1])) + 1


# --- memory -----------------------------------------------------------------------------------------------------------


def _memory(layer: LayerTrial) -> str:
    if layer.exponents is None:
        return f"no Lyapunov exponents: {layer.reason}." if layer.reason else ""
    if math.isnan(float(layer.exponents[0])):
        return "no Lyapunov exponents: a Jacobian is not finite."
    radius = max((each.radius for each in layer.spectra), default=math.nan)
    seen = f"; eigenvalues of the step's Jacobians up to {short(radius)}" if math.isfinite(radius) else ""
    lasting = [each for each in layer.samples if each.used > 0]
    if not lasting:
        return f"forgets its past entirely: the product of its step Jacobians is 0{seen}."
    begun = _silence(layer.samples)
    grade = _grade(layer.exponents, lasting, layer.samples)
    return f"{begun}{grade}{seen}."


def _silence(samples: Sequence[SampleExponents]) -> str:
    """Where the product of Jacobians is 0 up to some step, and what that means."""
    silent = [each for each in samples if each.silent]
    if not silent:
        return ""
    first, last = min(each.silent for each in silent), max(each.silent for each in silent)
    until = str(first) if first == last else f"{first} … {last}"
    on = f"on {len(silent)} of {plural(len(samples), 'sample')}"
    if all(each.silent <= EARLY * each.steps for each in silent):
        return f"its units are silent at first, to step {until} {on} (its Jacobians are 0 there); from then on it "
    return f"nothing from before step {until} is left at the end {on}, where its Jacobians are 0; after that it "


def _grade(middle: NDArray[np.float64], samples: Sequence[SampleExponents], every: Sequence[SampleExponents]) -> str:
    """e^{λN} in words, λ the median over the samples; N the steps after the silent ones, the median likewise."""
    largest, steps = float(middle[0]), int(np.median([each.used for each in samples]))
    ends = [each.largest[0] for each in every]
    spread = f" ({min(ends):.2g} … {max(ends):.2g} on {len(every)} samples)" if len(every) > 1 else ""
    rate = f"exponent {largest:.2g} a step{spread}"
    total = largest * steps
    folding = f"by a factor of e in {1 / abs(largest):.3g} steps" if largest and math.isfinite(largest) else ""
    if total == -math.inf:
        return f"forgets its start at once: {rate}"
    if abs(total) <= KEPT:
        kept = int((np.abs(middle) * steps <= KEPT).sum())
        directions = f"at least {kept} directions keep" if kept > 1 else "at least one direction keeps"
        return f"remembers over {plural(steps, 'step')}: {rate}, {directions} distances within a factor of 2"
    if total < -FORGOTTEN:
        return f"forgets its start: {rate}, near states meet {folding}"
    if total < 0:
        return f"fades: {rate}, after {plural(steps, 'step')} {_percent(math.exp(total))} of a difference is left"
    if total < FORGOTTEN:
        return f"parts near states a little: {rate}, by a factor of {math.exp(total):.3g} over {plural(steps, 'step')}"
    return f"is unstable on these inputs: {rate}, near states part {folding}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


# --- all that is proved of a cell of the library ----------------------------------------------------------------------


def _where(ledger: CellLedger, row: Row) -> str:
    prefix = f"{ledger.name}." if ledger.name else ""
    return f"{prefix}layers.{row.layer - 1}" if row.layer else ledger.name or "the model"


def exceeds(row: Row) -> bool:
    """Whether these numbers are above the bound, proved or in float64."""
    return row.kind == "bound" and row.verdict in ("refuted", "suspect")


def _exceeded(ledger: CellLedger) -> Iterator[str]:
    for row in ledger.rows:
        if exceeds(row):
            assert row.slack is not None
            yield (
                f"{_where(ledger, row)}: {row.quantity} exceeds {row.statement} by {-row.slack:.3g} decades at "
                f"{row.at or 'this run'}; {row.because}."
            )


def _compared(ledger: CellLedger) -> Iterator[str]:
    """How many bounds hold, which are exceeded, and which do not apply."""
    head = ledger.name or "the model"
    if ledger.reason:
        yield f"{head}: what is proved of it was not compared, because {ledger.reason}."
        return
    rows = ledger.bounds
    if not rows:
        return
    holding = [row for row in rows if row.verdict not in ("inapplicable", "inconclusive") and not exceeds(row)]
    over = sorted({row.statement for row in rows if exceeds(row)})
    failing = {row.statement: row for row in rows if row.verdict == "inapplicable"}
    parts = [f"{len(holding)} of its {plural(len(rows), 'bound')} hold on {plural(ledger.samples, 'sample')}"]
    tight = [row.slack for row in holding if row.slack is not None]
    if tight:
        nearest = max(min(tight), 0.0)
        parts[0] += f"; what was seen is at most {share_of(nearest)} of its bound"
    parts.append("exceeded: " + ", ".join(over) if over else "none is exceeded")
    if undecided := sum(row.verdict == "inconclusive" for row in rows):
        parts.append(f"{undecided} undecided, as a number is not finite")
    for statement, row in failing.items():
        premise = next((each for each in row.premises if not each.holds), None)
        count = sum(row.verdict == "inapplicable" and row.statement == statement for row in rows)
        other = f"{plural(count, 'bound')} of {statement} {'does' if count == 1 else 'do'} not apply"
        parts.append(f"{other}: {said(premise) if premise else row.because}")
    yield f"{head}: " + "; ".join(parts) + "."


# --- numbers ----------------------------------------------------------------------------------------------------------


def slack(each: Measurement) -> float:
    """log₁₀(bound/measured)."""
    assert each.log_bound is not None
    return (each.log_bound - math.log(each.value)) / math.log(10) if each.value > 0 else math.inf


def share_of(decades: float) -> str:
    """10^−decades, as a percentage where that can be read.

    >>> share_of(0.0), share_of(0.57), share_of(12.3)
    ('100 %', '26.9 %', '10^-12.3')
    """
    return f"{100 * 10**-decades:.3g} %" if decades < 3 else f"10^-{decades:.1f}"


def quantity(each: Measurement) -> str:
    """As the tables of what is proved name it: max abs(cₙ) for "largest_c"."""
    if each.quantity.startswith("largest_"):
        return f"max abs({each.quantity.removeprefix('largest_')}ₙ)"
    return f"‖{each.quantity.removeprefix('norm_')}ₙ‖₂" if each.quantity.startswith("norm_") else each.quantity


def short(value: float) -> str:
    return f"{value:.3g}"
