"""Planted falsehoods: a wrong bound, a wrong cell, a wrong tableau, a bound that is too small on the paper's rows.

Every statement here is false and must come out refuted; `tests/test_verifier.py` and
`tests/verification/cases/test_judge.py` load this folder as a user would with `--claims`.
"""

from typing import Any

import torch

from odernn import integrators
from odernn.bounds import sharp
from odernn.bounds.numbers import Numbers
from odernn.fields.oscillator import Oscillator
from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau
from verification.claim import Claim, Hypothesis, Part, Setting, StateBound
from verification.system import System

NOWHERE = Source("planted", "no page")
INVARIANT = (
    Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),
    Hypothesis("α dt² < 4", lambda s: 4 - s.alpha * s.dt**2, second_margin=lambda s: 4 - s.alpha * s.dt**2),
)


def invariant_part(quantity: str, share: int = 1) -> Part:
    """thm-S-Q divided by ``share``."""

    def bound(s: Setting, numbers: Numbers) -> Any:
        h = s.step_sizes[0]
        step = numbers.exact(s.step) if isinstance(s.step, int) else s.step
        log_bound = sharp.log_invariant_bound(alpha=s.alpha, step_size=h, step=step, quantity=quantity, numbers=numbers)
        return log_bound - numbers.log(numbers.exact(share))

    def second_bound(s: Any, iv: Any) -> Any:
        h = s.step_sizes[0]
        under = 1 - s.alpha * h**2 / 4
        return iv.log(s.step * h / iv.sqrt(s.alpha * under if quantity == "position" else under) / share)

    return Part(quantity, "max", bound, second_bound)


def _doubled_activation(y: Any, z: Any, x: Any, w: Any, h: Any, alpha: Any, tanh: Any) -> tuple[Any, Any]:
    z = z - h * (2 * tanh(w * y + x) + alpha * y)
    return y + h * z, z


WRONG_CELL = System(
    "doubled activation",
    lambda y, z, x, *, w, step_size, alpha: _doubled_activation(y, z, x, w, step_size, alpha, torch.tanh),
    _doubled_activation,
    _doubled_activation,
)

_EXPLICIT_EULER = ButcherTableau(name="euler", source=NOWHERE, A=[[0]], b=[1])
WRONG_TABLEAU = PartitionedTableau(
    name="both explicit", source=NOWHERE, position=_EXPLICIT_EULER, momentum=_EXPLICIT_EULER
)


def _integrated(y: Any, z: Any, x: Any, *, w: Any, step_size: Any, alpha: Any) -> tuple[Any, Any]:
    """The product's own integrator, given the wrong tableau."""
    one = torch.ones((), dtype=y.dtype)
    return integrators.step(WRONG_TABLEAU, Oscillator(w * one, alpha * one), (y, z), x, step_size * one)


def _drift_first(y: Any, z: Any, x: Any, w: Any, h: Any, alpha: Any, tanh: Any) -> tuple[Any, Any]:
    return y + h * z, z - h * (tanh(w * y + x) + alpha * y)


NOT_SYMPLECTIC = System("both explicit", _integrated, _drift_first, _drift_first)

CLAIMS = (
    Claim(
        id="planted wrong bound",
        source=NOWHERE,
        statement="|y_n|, |z_n| ≤ half of thm-S-Q",
        semantics="real",
        state_bound=StateBound(
            parts=(invariant_part("position", 2), invariant_part("momentum", 2)), hypotheses=INVARIANT
        ),
    ),
    Claim(
        id="planted wrong cell",
        source=NOWHERE,
        statement="thm-S-Q for a cell that counts its activation twice",
        semantics="real",
        state_bound=StateBound(
            parts=(invariant_part("position"), invariant_part("momentum")), hypotheses=INVARIANT, system=WRONG_CELL
        ),
    ),
    Claim(
        id="planted wrong tableau",
        source=NOWHERE,
        statement="thm-S-Q for explicit Euler in both variables",
        semantics="real",
        state_bound=StateBound(
            parts=(invariant_part("position"), invariant_part("momentum")), hypotheses=INVARIANT, system=NOT_SYMPLECTIC
        ),
    ),
    Claim(
        id="planted asymptotic",
        source=NOWHERE,
        statement="dt ≪ 1: |y_n| ≤ √(2/α), |z_n| ≤ √2 (icml S(7) with β = 0)",
        semantics="real",
        state_bound=StateBound(
            parts=(
                Part(
                    "position",
                    "max",
                    lambda s, numbers: (numbers.log(numbers.exact(2)) - numbers.log(s.alpha)) / 2 + 0 * s.time,
                    lambda s, iv: iv.log(2 / s.alpha) / 2,
                ),
                Part(
                    "momentum",
                    "max",
                    lambda s, numbers: numbers.log(numbers.exact(2)) / 2 + 0 * s.time,
                    lambda s, iv: iv.log(iv.mpf(2)) / 2,
                ),
            ),
            hypotheses=(Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),),
            asymptotic=True,
        ),
    ),
)
