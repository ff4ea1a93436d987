# Claims: thm-S · thm-S-Q
"""thm-S and thm-S-Q: the library's own state bounds. A violation found here would be an error of ours, and is looked
for.
"""

from functools import reduce
from typing import Any

import numpy as np

from odernn.bounds import sharp
from odernn.bounds.numbers import Numbers
from odernn.published.sources import Source
from verification.claim import Claim, Hypothesis, Part, Setting, StateBound


def _supremum(quantity: str) -> Part:
    def bound(s: Setting, numbers: Numbers) -> Any:
        """max over the effective steps of the layer: for n = 1..N at once in floats, at one n in balls."""
        if isinstance(s.step, int):
            logs = [
                sharp.log_supremum_at(alpha=s.alpha, step_size=h, steps=s.step, quantity=quantity, numbers=numbers)
                for h in s.step_sizes
            ]
            return reduce(numbers.maximum, logs)
        logs = sharp.log_supremum(alpha=s.alpha, step_size=s.step_sizes, steps=s.steps, quantity=quantity)
        return np.max(np.array(logs).reshape(s.steps, -1), axis=1)

    def second_bound(s: Any, iv: Any) -> Any:
        """Σ |U_j| or Σ |U_j − U_{j-1}| by Reinsch's form of the Chebyshev recursion, typed again for intervals."""
        logs = []
        for h in s.step_sizes:
            slope = s.alpha * h**2
            chebyshev, difference, total = iv.mpf(1), iv.mpf(1), iv.mpf(0)  # U_0 and U_0 − U_{-1}
            for _ in range(s.step):
                total += abs(chebyshev if quantity == "position" else difference)
                difference -= slope * chebyshev
                chebyshev += difference
            logs.append(iv.log(total * h ** (2 if quantity == "position" else 1)))
        return iv.mpf([max(value.a for value in logs), max(value.b for value in logs)])

    return Part(quantity=quantity, norm="max", bound=bound, second_bound=second_bound)


def _invariant(quantity: str) -> Part:
    def bound(s: Setting, numbers: Numbers) -> Any:
        steps = s.step_sizes if isinstance(s.step, int) else [np.max(s.step_sizes)]
        step = numbers.exact(s.step) if isinstance(s.step, int) else s.step
        logs = [
            sharp.log_invariant_bound(alpha=s.alpha, step_size=h, step=step, quantity=quantity, numbers=numbers)
            for h in steps
        ]
        return reduce(numbers.maximum, logs)

    def second_bound(s: Any, iv: Any) -> Any:
        logs = []
        for h in s.step_sizes:
            under = 1 - s.alpha * h**2 / 4
            squared = (s.step * h) ** 2 / (s.alpha * under if quantity == "position" else under)
            logs.append(iv.log(squared) / 2)
        return iv.mpf([max(value.a for value in logs), max(value.b for value in logs)])

    return Part(quantity=quantity, norm="max", bound=bound, second_bound=second_bound)


CLAIMS = (
    Claim(
        id="thm-S",
        source=Source("library", "docs/derivations/state_bounds.md, thm-S"),
        statement="|y_n| ≤ h² Σ_{j≤n} |U_{j-1}(1 − αh²/2)| and |z_n| ≤ h Σ_{j≤n} |U_{j-1} "
        "− U_{j-2}| for all n, l, all weights and inputs, in exact arithmetic; α ≥ 0, "
        "zero initial state. Exact: the supremum in the first layer over free inputs",
        semantics="real",
        state_bound=StateBound(
            parts=(_supremum("position"), _supremum("momentum")),
            hypotheses=(Hypothesis("α ≥ 0", lambda s: s.alpha, strict=False, second_margin=lambda s: s.alpha),),
        ),
        origin="library",
    ),
    Claim(
        id="thm-S-Q",
        source=Source("library", "docs/derivations/state_bounds.md, thm-S (invariant form)"),
        statement="|y_n| ≤ n h/r_α and |z_n| ≤ n h/√(1 − αh²/4), r_α = √(α(1 − αh²/4)), for all n, l, all weights and "
        "inputs; 0 < αh² < 4, zero initial state",
        semantics="real",
        state_bound=StateBound(
            parts=(_invariant("position"), _invariant("momentum")),
            hypotheses=(
                Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),
                Hypothesis(
                    "α dt² < 4 (so αh² < 4)",
                    lambda s: 4 - s.alpha * s.dt * s.dt,
                    second_margin=lambda s: 4 - s.dt**2 * s.alpha,
                ),
            ),
        ),
        origin="library",
        dominated_by="thm-S",
    ),
)
