# Claims: both-2.2-invertible-float
"""both-2.2-invertible-float: is the computed layer invertible, as the exact one is?"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from odernn.published.sources import Source
from verification.cases.related import FormatNumber
from verification.certify import float_replay
from verification.certify.float_replay import FORMATS
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers, rational, rationals
from verification.kinds import Constant, Listed
from verification.measure import float_steps
from verification.parameters import Declaration, Parameter, declared

NEURON = {"w": 0.5, "h": 0.125, "alpha": 1.0}
"""Numbers of every format."""
WINDOWS = {"smoke": 3, "standard": 8, "deep": 20}
STEPS = {"smoke": 300, "standard": 1000, "deep": 5000}


def _images(name: str) -> Callable[[Budget, int], Attempt]:
    """All pairs of 256 consecutive y from 1/4 on and 256 consecutive z from 2^−k on, k = 2, 4, …"""

    def ask(budget: Budget, seed: int) -> Attempt:
        cell, x = float_steps.neuron(**NEURON, name=name), 0.25
        tried = [
            (k, float_steps.images(cell, x, 0.25, 2.0**-k, name)) for k in range(2, 2 + 2 * WINDOWS[budget.name], 2)
        ]
        k, worst = min(tried, key=lambda each: each[1].images)
        candidates = tuple(
            {
                **_weights(),
                "x": rational(x),
                "y": rationals([Fraction(state[0]) for state in images.collision]),
                "z": rationals([Fraction(state[1]) for state in images.collision]),
            }
            for _, images in sorted(tried, key=lambda each: each[1].images)
            if images.collision
        )
        return Attempt(
            tried=f"{len(tried)} windows of {worst.states:,} states, every one stepped once in {name}",
            evaluations=sum(images.states for _, images in tried),
            found=f"{worst.images:,} images of {worst.states:,} states (y from 1/4, z from 2^-{k}, consecutive)",
            claimed=f"{worst.states:,} images",
            candidates=candidates,
        )

    return ask


def _weights() -> dict[str, str]:
    return {key: rational(value) for key, value in NEURON.items()}


def _images_check(name: str) -> Callable[[Parameters], Check]:
    library = float_steps.LIBRARY[name]

    def check(parameters: Parameters) -> Check:
        x, y, z = number(parameters, "x"), numbers(parameters, "y"), numbers(parameters, "z")
        states = list(zip(y, z, strict=True))
        replay, cell = _both(parameters, name)
        differ = len(states) == 2 and states[0] != states[1]
        exact = [replay.step(state, x) for state in states]
        stepped = cell.step(float_steps.array(_floats(y), name), float_steps.array(_floats(z), name), _one(x, name))
        computed = list(zip(*(float_steps.doubles(column).tolist() for column in stepped), strict=True))
        return Check(
            opinions=(
                Opinion("replay", differ and exact[0] == exact[-1], f"images {_pairs(exact)}, tanh rounded correctly"),
                Opinion(library, differ and computed[0] == computed[-1], f"images {_pairs(computed)} in {name}"),
            ),
            words=f"in {name}, w = {parameters['w']}, h = {parameters['h']}, α = {parameters['alpha']}, x = {x}: the "
            f"states (y, z) = {_pairs(states)} have the same image {_pairs(computed[:1])}",
        )

    return check


LARGEST_POWER = 10
"""Numbers of a modulus up to 2 to this power: nothing overflows."""
_NEURON = tuple(Parameter(key, Constant(Fraction(value))) for key, value in NEURON.items())


def _two_states(name: str) -> Declaration:
    value = FormatNumber(name, LARGEST_POWER)
    return declared(*_NEURON, Parameter("x", value), *(Parameter(key, Listed(value, 2)) for key in "yz"))


def _inputs(name: str) -> Declaration:
    return declared(*_NEURON, Parameter("x", Listed(FormatNumber(name, LARGEST_POWER), (1, 1000))))


def _both(parameters: Parameters, name: str) -> tuple[float_replay.Neuron, float_steps.FloatNeuron]:
    w, h, alpha = (number(parameters, key) for key in ("w", "h", "alpha"))
    return (
        float_replay.Neuron(w, h, alpha, FORMATS[name]),
        float_steps.neuron(float(w), float(h), float(alpha), name),
    )


def _floats(values: list[Fraction]) -> list[float]:
    return [float(value) for value in values]


def _one(value: Fraction, name: str) -> object:
    return float_steps.array(float(value), name)


def _pairs(states: object) -> str:
    return " and ".join(f"({float(y)!r}, {float(z)!r})" for y, z in states)  # type: ignore[attr-defined]


def _rebuilt(name: str) -> Callable[[Budget, int], Attempt]:
    """Inputs uniform in [−1, 1], multiples of 1/64 (in every format); the fewest steps after which 0 is missed."""

    def ask(budget: Budget, seed: int) -> Attempt:
        inputs = np.random.default_rng(seed).integers(-64, 65, STEPS[budget.name]) / 64
        cell = float_steps.neuron(**NEURON, name=name)
        errors = {
            steps: max(float_steps.reconstruction(cell, inputs[:steps].tolist(), name))
            for steps in (*range(1, 65), len(inputs))
        }
        missed = [steps for steps, error in errors.items() if error > 0]
        last = errors[len(inputs)]
        return Attempt(
            tried=f"from (0, 0) through {len(inputs)} inputs in {name} and back, and through the first 1 to 64 of them",
            evaluations=len(errors),
            found=f"{last:.2e} after {len(inputs)} steps; first at N = {missed[0]}" if missed else "0",
            claimed="0",
            candidates=tuple(
                {**_weights(), "x": rationals([Fraction(x) for x in inputs[:steps].tolist()])} for steps in missed[:2]
            ),
        )

    return ask


def _rebuilt_check(name: str) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        inputs = numbers(parameters, "x")
        replay, cell = _both(parameters, name)
        state = (Fraction(0), Fraction(0))
        for x in inputs:
            state = replay.step(state, x)
        for x in reversed(inputs):
            state = replay.unstep(state, x)
        exact = max(map(abs, state))
        computed = max(float_steps.reconstruction(cell, _floats(inputs), name))
        return Check(
            opinions=(
                Opinion("replay", exact > 0, f"|reconstructed − true| = {float(exact):.6g}, tanh rounded correctly"),
                Opinion(float_steps.LIBRARY[name], computed > 0, f"|reconstructed − true| = {computed:.6g} in {name}"),
            ),
            words=f"in {name}, from (0, 0) through N = {len(inputs)} inputs and back by the inverse formulas: the "
            f"initial state is missed by {computed:.3g}",
        )

    return check


CLAIMS = (
    Claim(
        id="both-2.2-invertible-float",
        source=Source("icml", "Discussion"),
        statement="invertibility is guaranteed by the Hamiltonian structure of the discrete dynamics, for the computed "
        "map in floating point, every operation rounded, too",
        semantics="float",
        cases=tuple(
            Case(name, quantity, ask(name), parameters(name).guards(check(name)))
            for name in FORMATS
            for quantity, ask, check, parameters in (
                ("injectivity of one step", _images, _images_check, _two_states),
                ("|reconstructed − true|", _rebuilt, _rebuilt_check, _inputs),
            )
        ),
    ),
)
