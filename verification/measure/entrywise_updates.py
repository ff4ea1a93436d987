"""What gradient methods keep of one entry of A and subtract from it, over any numbers: polynomials, or rationals.

    SGD with momentum   m ← μ m + g                                    − λ m
    RMSprop             v ← α v + (1 − α) g²                           − λ g/(√v + ε)
    RMSprop, centred    v as above, m ← α m + (1 − α) g                − λ g/(√(v − m²) + ε)
    Adam                m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g²  − λ m̂/(√v̂ + ε), m̂ = m/(1 − β₁ᵏ), v̂ = v/(1 − β₂ᵏ)

Every step is λ · numerator/(√under + ε): opposite for opposite numerators and equal numbers under the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

METHODS = ("SGD with momentum", "RMSprop", "RMSprop, centred", "Adam")


@dataclass(frozen=True)
class EntryState:
    """m and v of an entry, the numerator of its next step and what stands under the root."""

    m: Any
    v: Any
    numerator: Any
    under: Any


def advanced(method: str, m: Any, v: Any, g: Any, first: Any, second: Any) -> EntryState:
    """After a gradient g; ``first`` is μ, α or β₁, ``second`` β₂. Adam without the factors of m̂ and v̂."""
    square = g * g
    match method:
        case "SGD with momentum":
            m = first * m + g
            return EntryState(m, v, m, 0 * g)
        case "RMSprop":
            v = first * v + (1 - first) * square
            return EntryState(m, v, g, v)
        case "RMSprop, centred":
            m, v = first * m + (1 - first) * g, first * v + (1 - first) * square
            return EntryState(m, v, g, v - m * m)
        case "Adam":
            m, v = first * m + (1 - first) * g, second * v + (1 - second) * square
            return EntryState(m, v, m, v)
    raise ValueError(f"No method {method!r}. There are: {', '.join(METHODS)}.")


def is_odd(method: str, symbols: Sequence[Any]) -> bool:
    """One update takes (m, v) and g to the opposite of what (−m, v) and −g go to, with equal v: as polynomials in m, v,
    g and the two rates. By induction the entry beside it takes the opposite step, after any number of updates.
    """
    m, v, g, first, second = symbols
    one, other = advanced(method, m, v, g, first, second), advanced(method, -m, v, -g, first, second)
    return bool(
        one.m == -other.m and one.v == other.v and one.numerator == -other.numerator and one.under == other.under
    )


def after(method: str, gradients: Sequence[Any], rates: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """(numerator, under the root) of every step, from m = v = 0."""
    zero = 0 * gradients[0]
    m, v, made = zero, zero, []
    for k, g in enumerate(gradients, 1):
        state = advanced(method, m, v, g, rates["first"], rates["second"])
        m, v = state.m, state.v
        is_adam = method == "Adam"
        made.append(
            (
                state.numerator / (1 - rates["first"] ** k) if is_adam else state.numerator,
                state.under / (1 - rates["second"] ** k) if is_adam else state.under,
            )
        )
    return made
