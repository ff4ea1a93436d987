"""Claims: published bounds on hidden states, in the form in which they are put to the test.

A claim file (``verification.registry`` finds it) exports ``CLAIMS``. Nothing in a claim says what the verdict will be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from odernn.bounds.numbers import Exact, Numbers
from odernn.published.sources import Source
from verification.system import UNICORNN, System

QUANTITIES = ("position", "momentum")
NORMS = ("max", "euclidean")


class ClaimError(ValueError):
    """A claim that cannot be found, loaded or told from another one."""


@dataclass(frozen=True)
class Setting:
    """The quantities that premises and bounds may use, as numbers of one namespace.

    Published bounds speak of dt: t_n = ``time`` = n·dt and T = ``horizon`` = N·dt. Sharp ones speak of the effective
    steps h = dt·σ̂(c), one a neuron group (``step_sizes``). ``step`` is n (an int, or an array 1..N for floats).
    """

    alpha: Any
    dt: Any
    step: Any
    steps: Any
    hidden_size: int
    step_sizes: Any
    time: Any
    horizon: Any

    @staticmethod
    def of(
        numbers: Numbers, *, alpha: Exact, dt: Exact, step: Any, steps: int, hidden_size: int, step_sizes: Any
    ) -> Setting:
        """The setting of step n of an N-step run with nominal step dt."""
        dt_number = numbers.exact(dt)
        return Setting(
            numbers.exact(alpha), dt_number, step, steps, hidden_size, step_sizes, step * dt_number, steps * dt_number
        )


@dataclass(frozen=True)
class Premise:
    """A hypothesis as a margin: it holds where margin > 0 (or ≥ 0 if ``strict`` is False).

    ``second_margin(setting, iv)`` is the margin typed independently for mpmath's intervals, as ``Part.second_bound`` is
    the bound. Without it the second back-end cannot prove the premise, so that no violation is certified.
    """

    text: str
    margin: Callable[[Setting, Numbers], Any]
    strict: bool = True
    second_margin: Callable[[Any, Any], Any] | None = None

    def holds(self, margin: Any) -> bool:
        """Certain for balls: False also means "not proved"."""
        return bool(margin > 0 if self.strict else margin >= 0)


@dataclass(frozen=True)
class Part:
    """One inequality of a claim: log ‖quantity of layer l at step n‖ ≤ bound, for every n ≤ N and every layer.

    ``bound(setting, numbers)`` returns a natural logarithm. ``second_bound(setting, iv)`` is the same bound typed
    independently for mpmath's interval context; ``setting`` then is a plain namespace of intervals.
    """

    quantity: str
    norm: str
    bound: Callable[[Setting, Numbers], Any]
    second_bound: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES or self.norm not in NORMS:
            raise ClaimError(
                f"Part ({self.quantity!r}, {self.norm!r}): quantity is one of {QUANTITIES}, norm one of {NORMS}."
            )

    @property
    def symbol(self) -> str:
        letter = {"position": "yₙ", "momentum": "zₙ"}[self.quantity]
        return f"max abs({letter})" if self.norm == "max" else f"‖{letter}‖₂"


@dataclass(frozen=True)
class Claim:
    """A statement on trial.

    ``asymptotic`` says that the statement is meant for dt → 0 ("dt ≪ 1 sufficiently small"); it then is tried at the
    printed values and in the limit. ``origin`` is "published" or "library" (a theorem of this library, with a proof).
    ``dominated_by`` may name a sharper theorem: an annotation, never a verdict.
    """

    id: str
    source: Source
    statement: str
    parts: tuple[Part, ...]
    premises: tuple[Premise, ...] = ()
    asymptotic: bool = False
    origin: str = "published"
    system: System = UNICORNN
    dominated_by: str = ""
    version: int = 1

    @property
    def slug(self) -> str:
        return slug(self.id)

    @property
    def second_premises(self) -> tuple[tuple[str, Callable[[Any, Any], Any] | None, bool], ...]:
        """(text, margin typed again, strict) of every premise: what the second back-end is asked."""
        return tuple((premise.text, premise.second_margin, premise.strict) for premise in self.premises)


def slug(identifier: str) -> str:
    """Lower case, runs of other characters become ``-``."""
    return re.sub(r"[^a-z0-9]+", "-", identifier.lower()).strip("-")


def admissible(claim: Claim, instance_setting: Setting, numbers: Numbers) -> list[tuple[Premise, Any, bool]]:
    """Every premise with its margin at the setting and whether it (certainly) holds."""
    margins = [(premise, premise.margin(instance_setting, numbers)) for premise in claim.premises]
    return [(premise, margin, premise.holds(margin)) for premise, margin in margins]
