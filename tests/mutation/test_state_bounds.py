"""The bounds of thm-S as claims: all steps at once in floats are the single steps, and the largest over neurons."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from odernn.bounds import sharp
from odernn.bounds.numbers import FLOATS
from verification.claims.library import sharp_state

STEPS, SIZES = 6, np.array([0.2, 0.7, 0.4])


@pytest.mark.parametrize("part", sharp_state.CLAIMS[0].bound.parts, ids=lambda part: part.quantity)
def test_the_suprema_of_all_steps_are_those_of_each_step(part):
    setting = SimpleNamespace(alpha=6.0, step_sizes=SIZES, steps=STEPS, step=np.arange(1, STEPS + 1))
    found = part.bound(setting, FLOATS)
    arguments = {"alpha": 6.0, "quantity": part.quantity}
    for n in range(1, STEPS + 1):
        expected = max(sharp.log_supremum_at(step_size=h, steps=n, **arguments) for h in SIZES)
        assert found[n - 1] == pytest.approx(expected, rel=1e-13)
    assert found.shape == (STEPS,)


@pytest.mark.parametrize("part", sharp_state.CLAIMS[1].bound.parts, ids=lambda part: part.quantity)
def test_the_invariant_bound_of_all_steps_is_that_of_the_largest_step_size(part):
    n = np.arange(1, STEPS + 1)
    found = part.bound(SimpleNamespace(alpha=6.0, step_sizes=SIZES, steps=STEPS, step=n), FLOATS)
    largest = sharp.log_invariant_bound(alpha=6.0, step_size=0.7, step=n, quantity=part.quantity)
    assert found == pytest.approx(largest, rel=1e-14)
